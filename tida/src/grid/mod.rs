//! Boxes of cells, and sets of them.

pub(crate) mod boxes;
mod grid_box;

pub use grid_box::GridBox;
pub(crate) use grid_box::narrow;
