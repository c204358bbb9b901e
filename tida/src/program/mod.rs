//! Orders of work, found without devices, arrays and threads: which planes or regions are worked on when, and what
//! moves meanwhile.

pub(crate) mod colour;
pub(crate) mod deps;
pub(crate) mod fuse;
pub(crate) mod order;
pub(crate) mod period;
pub(crate) mod place;
pub(crate) mod regions;
pub(crate) mod schedule;
pub(crate) mod steps;
