//! Arrays cut into regions with ghost cells.

mod builder;
#[cfg(feature = "npz")]
mod checkpoint;
pub(crate) mod coding;
#[cfg(feature = "ndarray")]
mod convert;
mod copy;
pub(crate) mod element;
mod files;
mod ghosts;
mod grid_box;
mod host;
pub(crate) mod layout;
mod npy;
pub(crate) mod packed;
mod report;
mod residence;
mod row;
pub(crate) mod rows;
pub(crate) mod storage;
#[cfg(feature = "ndarray")]
mod views;

pub use builder::{IntoGhost, Side, TileArrayBuilder};
#[cfg(feature = "npz")]
pub use checkpoint::{Saved, restore, save};
pub use coding::{ComponentReport, Compress, Saturation, StorageErrors, StorageReport};
pub use element::{Element, ScalarElement};
pub(crate) use ghosts::{DeviceCopies, FillStep, Part, Planar, PlaneFacts, Regional, Site};
pub use ghosts::{GhostFill, fill_ghosts};
pub use grid_box::GridBox;
pub(crate) use host::reserve;
pub use layout::{Boundary, Centering};
#[doc(inline)]
pub use tida_kernels::codec::Format;

use std::sync::{Arc, OnceLock};

use crate::acc::{Mode, TileAcc, Touch, Tracker};
use crate::error::Error;
use crate::tile::TileIter;
use builder::allocate;
use ghosts::GhostPlan;
use layout::{Boundaries, Layout};
use storage::Storage;

/// An array of `D` axes (1 to 4), row-major, last axis contiguous, cut into regions with ghost cells.
///
/// Its values may be recorded work that has not run yet: reading them on the host waits for what they need. An array
/// is `Send` and `Sync`, and holds its [`TileAcc`] alive. Regions as in TiDA-acc §III.
///
/// `Clone` copies all values, ghosts included, as recorded work; if the system has no memory for them it aborts the
/// program, as `Vec` does, where [`try_clone`](TileArray::try_clone) gives an error.
pub struct TileArray<T: Element, const D: usize> {
    pub(crate) acc: TileAcc,
    pub(crate) layout: Arc<Layout<D>>,
    pub(crate) boundaries: Arc<Boundaries<T, D>>,
    /// Memory of every region.
    pub(crate) storage: Arc<Storage>,
    /// What recorded work does to it.
    pub(crate) tracker: Arc<Tracker>,
    /// How its ghosts are filled; made when first needed, the same for all arrays of this geometry.
    ghost_plan: Arc<OnceLock<GhostPlan<D>>>,
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Starts an array of `shape` cells. Along face-centred axes it has one value more.
    pub fn builder(shape: [usize; D]) -> TileArrayBuilder<T, D> {
        TileArrayBuilder::new(shape)
    }

    /// An array of zeros with the same shape, cuts, ghosts, centring, boundaries and formats. Costs nothing until
    /// touched (see [`build`](TileArrayBuilder::build)).
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn like(&self) -> Result<TileArray<T, D>, Error> {
        let storage = Arc::new(self.acc.install(|| allocate(&self.layout, self.storage.shared_row()))?);
        Ok(TileArray {
            acc: self.acc.clone(),
            layout: self.layout.clone(),
            boundaries: self.boundaries.clone(),
            tracker: Tracker::new(
                &self.layout,
                &storage,
                self.tracker.planar().cloned(),
                self.tracker.regional().cloned(),
            ),
            storage,
            ghost_plan: self.ghost_plan.clone(),
        })
    }

    /// Says that the values are not needed any more: they need not be kept or moved. Until they are written again,
    /// reading them gives any value of the type.
    pub fn discard(&mut self) {
        self.tracker.cells_written();
        self.tracker.ghosts_overwritten();
    }

    /// Values on each axis: cells, or cells + 1 where face-centred.
    pub fn shape(&self) -> [usize; D] {
        self.layout.shape
    }

    /// Cells of the domain on each axis, whatever the centring.
    pub fn domain_cells(&self) -> [usize; D] {
        self.layout.cuts.cells
    }

    /// All valid values as a box: from 0 to the shape.
    pub fn domain(&self) -> GridBox<D> {
        self.layout.domain()
    }

    /// Number of regions. They are numbered row-major.
    pub fn regions(&self) -> usize {
        self.layout.regions.len()
    }

    /// The values that a region owns; nothing if there is no such region.
    pub fn region_box(&self, region: usize) -> Option<GridBox<D>> {
        self.layout.regions.get(region).map(|r| r.valid)
    }

    /// The values that a region owns and its ghosts; nothing if there is no such region.
    pub fn grown_box(&self, region: usize) -> Option<GridBox<D>> {
        self.layout.regions.get(region).map(|r| r.grown)
    }

    /// Ghost cells on each axis, low and high side.
    pub fn ghost(&self) -> [[usize; 2]; D] {
        self.layout.ghost
    }

    /// Where values sit on each axis.
    pub fn centering(&self) -> [Centering; D] {
        self.layout.centering
    }

    /// The boundary of each face: low and high side of each axis.
    pub fn boundaries(&self) -> [[Boundary<T>; 2]; D] {
        *self.boundaries
    }

    /// The accelerator that runs what is recorded on this array.
    pub fn acc(&self) -> &TileAcc {
        &self.acc
    }

    /// The tiles of this array, one a region unless [`tile_size`](TileIter::tile_size) says otherwise.
    pub fn tiles(&self) -> TileIter<D> {
        TileIter::new(self)
    }

    /// A touch of one region, or of all.
    fn touch(&self, region: Option<usize>, mode: Mode) -> Touch {
        Touch { tracker: self.tracker.clone(), region, mode }
    }

    /// Waits until the host may read all values.
    fn wait_to_read(&self) -> Result<(), Error> {
        self.acc.wait(&[self.touch(None, Mode::Read)])?;
        self.storage.warn();
        Ok(())
    }

    /// Waits until the host may replace all values, unread.
    fn wait_to_replace(&self) -> Result<(), Error> {
        self.acc.wait(&[self.touch(None, Mode::Overwrite)])
    }

    /// Waits until the host may read, or write too, one region.
    #[cfg(feature = "ndarray")]
    fn wait_for_region(&self, region: usize, write: bool) -> Result<(), Error> {
        self.acc.wait(&[self.touch(Some(region), access(write))])?;
        self.storage.warn();
        Ok(())
    }

    /// Waits until the host may read, or write too, a box inside the domain.
    fn wait_for_box(&self, cells: &GridBox<D>, write: bool) -> Result<(), Error> {
        let touches: Vec<Touch> =
            self.layout.owners(cells).map(|region| self.touch(Some(region), access(write))).collect();
        if touches.len() == self.regions() {
            self.acc.wait(&[self.touch(None, access(write))])?;
        } else {
            self.acc.wait(&touches)?;
        }
        self.storage.warn();
        Ok(())
    }
}

/// What the host does with values that it reads, or changes too.
fn access(write: bool) -> Mode {
    if write { Mode::Update } else { Mode::Read }
}

impl<T: Element, const D: usize> std::fmt::Debug for TileArray<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TileArray")
            .field("element", &format_args!("{}", T::TYPE))
            .field("shape", &self.layout.shape)
            .field("regions", &self.layout.cuts.regions())
            .field("ghost", &self.layout.ghost)
            .field("centering", &self.layout.centering)
            .finish_non_exhaustive()
    }
}
