//! What tests of emitted text share.
#![allow(dead_code)]

pub mod compare;
pub mod faces;
pub mod host;
pub mod nvrtc;
pub mod pocl;
pub mod samples;
pub mod tiles;
