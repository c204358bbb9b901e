//! Pictures of the arrays of [tida](https://docs.rs/tida): slices and projections as PNG with a scale of colours,
//! animations of steps as APNG, and line plots of what was reduced over time.
//!
//! A [`Picture`] is a map of a plane of values, [`Lines`] a plot of lines, an [`Animation`] several of one of them, a
//! [`Field`] the values that pictures are drawn of. The letters of numbers and names are in this crate: it needs no
//! font of the machine.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod animation;
mod canvas;
mod colours;
mod encode;
mod error;
mod field;
mod lines;
mod picture;
mod ticks;

pub use animation::{Animation, Drawing};
pub use colours::ColourMap;
pub use error::Error;
pub use field::{Field, Number, Projection};
pub use lines::Lines;
pub use picture::Picture;

/// The result of most calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests;
