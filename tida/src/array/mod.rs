//! Arrays cut into regions with ghost cells.

pub(crate) mod element;
mod grid_box;
pub(crate) mod layout;
pub(crate) mod storage;

pub use element::Element;
pub use grid_box::GridBox;
pub use layout::{Boundary, Centering};

use std::sync::Arc;

use crate::acc::{TileAcc, Tracker};
use layout::{Boundaries, Layout};
use storage::Storage;

/// An array of `D` axes (1 to 4), row-major, last axis contiguous, cut into regions with ghost cells.
pub struct TileArray<T: Element, const D: usize> {
    pub(crate) acc: TileAcc,
    pub(crate) layout: Arc<Layout<D>>,
    pub(crate) boundaries: Arc<Boundaries<T, D>>,
    /// Memory of every region.
    pub(crate) storage: Arc<Storage>,
    /// What recorded work does to it.
    pub(crate) tracker: Arc<Tracker>,
}

impl<T: Element, const D: usize> std::fmt::Debug for TileArray<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TileArray").field("element", &T::TYPE).field("shape", &self.layout.shape).finish_non_exhaustive()
    }
}
