//! Kernels on their way to run: prepared once for each types of arguments, planned, compiled, and launched on a device.

pub(crate) mod around;
pub(crate) mod blocks;
pub(crate) mod cache;
pub(crate) mod capture;
pub(crate) mod carry;
pub(crate) mod compiled;
pub(crate) mod decoded;
pub(crate) mod device;
pub(crate) mod ending;
pub(crate) mod folded;
pub(crate) mod fused;
pub(crate) mod geometry;
pub(crate) mod ghosts;
pub(crate) mod joined;
pub(crate) mod launched;
pub(crate) mod maps;
pub(crate) mod native;
mod native_steps;
pub(crate) mod needs;
pub(crate) mod pieces;
pub(crate) mod prepare;
pub(crate) mod quoted;
pub(crate) mod registers;
pub(crate) mod rolling;
pub(crate) mod site;
pub(crate) mod step;
pub(crate) mod tune;
