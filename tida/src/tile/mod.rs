//! Tiles: boxes of cells to compute on.

use std::sync::Arc;

use crate::acc::Device;
use crate::array::GridBox;
use crate::array::layout::Layout;

/// A box of cells inside one region.
#[derive(Clone, Debug)]
pub struct Tile<const D: usize> {
    /// Layout of the array it was made from.
    pub(crate) layout: Arc<Layout<D>>,
    /// Number of its region.
    pub(crate) region: usize,
    /// Its cells.
    pub(crate) cells: GridBox<D>,
    /// Whether it may reach into ghost cells.
    pub(crate) grown: bool,
    /// Where it runs, if not where the accelerator says.
    pub(crate) device: Option<Device>,
}

/// The tiles of an array, in row-major order of regions, then of tiles.
#[derive(Clone, Debug)]
pub struct TileIter<const D: usize> {
    pub(crate) layout: Arc<Layout<D>>,
}

impl<const D: usize> Tile<D> {
    pub(crate) fn check(&self) -> Result<(), crate::Error> {
        Ok(())
    }
}
