//! Arrays cut into regions with ghost cells.

mod bare;
mod builder;
#[cfg(feature = "npz")]
mod checkpoint;
#[cfg(feature = "ndarray")]
mod convert;
mod copy;
mod fields;
mod files;
mod gathered;
mod ghosts;
mod host;
mod later;
mod npy;
mod parts;
pub(crate) mod places;
pub(crate) mod ranks;
mod report;
mod strips;
mod taken;
mod untyped;
#[cfg(feature = "ndarray")]
mod views;

pub use crate::grid::GridBox;
pub use crate::memory::coding::{ComponentReport, Compress, Saturation, StorageErrors, StorageReport};
pub use crate::memory::element::{Element, ScalarElement};
#[doc(hidden)]
pub use crate::memory::ghosts::borders::StripFault;
pub use crate::memory::layout::{Boundary, Centering};
pub use builder::{IntoGhost, OverlapTimes, Side, TileArrayBuilder};
#[cfg(feature = "npz")]
pub use checkpoint::{Saved, restore, save};
pub use fields::Field;
pub(crate) use ghosts::{Fill, Fillable, fill, give, give_copies, give_failure};
pub use ghosts::{GhostFill, fill_ghosts};
pub(crate) use host::reserve;
pub use later::BoxValues;
pub(crate) use ranks::gathered;
pub use taken::{BoxView, Recorded};
#[doc(inline)]
pub use tida_kernels::codec::Format;

use std::sync::Arc;

use crate::acc::TileAcc;
use crate::error::Error;
use crate::memory::coding::paths_of_entries;
use crate::memory::layout::{Boundaries, Layout};
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Touch, Tracker};
use crate::sealed::Sealed;
use places::Placed;

/// An array on a grid of `D` axes (1 to 4), cut into regions with ghost cells.
///
/// Axis 0 is the slowest. Values lie row-major: the last axis is contiguous. Coordinates are global and count from 0,
/// whatever the cut; ghosts below the domain have negative ones. There are no physical units: spacings and times are
/// the program's own.
///
/// Its values may be those of recorded work that has not run yet. Reading them on the host waits for what they need. An
/// array is `Send` and `Sync`, and keeps its [`TileAcc`] alive. Regions are as in TiDA-acc §III.
///
/// `Clone` copies all values, ghosts included, as recorded work. If the system has no memory for them, `Clone` aborts
/// the program, as `Vec` does; [`try_clone`](TileArray::try_clone) gives an error instead.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).ghost(1).build(&acc)?;
/// u.fill(|[row, column]| (10 * row + column) as f64)?;
/// assert_eq!((u.shape(), u.regions()), ([4, 8], 2));
/// assert_eq!(u.read_box(GridBox::new([1, 2], [3, 4]))?, [12.0, 13.0, 22.0, 23.0]);
/// # Ok(()) }
/// ```
pub struct TileArray<T: Element, const D: usize> {
    pub(crate) acc: TileAcc,
    pub(crate) layout: Arc<Layout<D>>,
    pub(crate) boundaries: Arc<Boundaries<T, D>>,
    /// Memory of every region.
    pub(crate) storage: Arc<Storage>,
    /// What recorded work does to it.
    pub(crate) tracker: Arc<Tracker>,
    /// Its parts, if it lies on several places: arrays of one place each. It has no memory of its own then, and shares
    /// the ages of its ghosts with them.
    pub(crate) parts: Vec<TileArray<T, D>>,
    pub(crate) placed: Option<Arc<Placed<D>>>,
}

impl<T: Element, const D: usize> Sealed for TileArray<T, D> {}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Starts an array of `shape` cells, the slowest axis first. Along face-centred axes it has one value more.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f32, 3>::builder([2, 3, 5]).build(&acc)?;
    /// assert_eq!(u.shape(), [2, 3, 5]);
    /// # Ok(()) }
    /// ```
    pub fn builder(shape: [usize; D]) -> TileArrayBuilder<T, D> {
        TileArrayBuilder::new(shape)
    }

    /// An array of zeros with the same shape, cuts, ghosts, centring, boundaries and formats. It takes no memory until
    /// it is touched (see [`build`](TileArrayBuilder::build)).
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).ghost(1).build(&acc)?;
    /// let next = u.like()?;
    /// assert_eq!((next.shape(), next.regions(), next.ghost()), (u.shape(), u.regions(), u.ghost()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn like(&self) -> Result<TileArray<T, D>, Error> {
        self.like_of(&Arc::default())
    }

    /// An array of zeros of another element with the same shape, cuts and centring, without ghosts.
    pub(crate) fn cut_alike<U: Element>(&self) -> Result<TileArray<U, D>, Error> {
        let cuts = &self.layout.cuts;
        let overlap = self.parts.iter().flat_map(|part| part.layout.overlap()).max().unwrap_or(0) as usize;
        let alike = TileArray::builder(cuts.cells).cut_at(cuts).centering(self.layout.centering).overlap(overlap);
        match &self.placed {
            Some(placed) if placed.everywhere => alike.everywhere(),
            Some(placed) => alike.distribute(placed.cells()),
            None => alike,
        }
        .build(&self.acc)
    }

    /// Says that the values are not needed any more, so that they are not moved. Until they are written again, reading
    /// them gives zeros or values that the array had.
    ///
    /// A sweep that overwrites all cells of a region needs no such hint. It is of use at the end of a loop over arrays
    /// that have no room, in files or beyond the device's memory: of two arrays that steps alternate between, only one
    /// goes back then. Where steps in the device's memory wait to run together, the hint is not taken.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
    /// u.fill_value(1.0)?;
    /// u.discard(); // nothing of it goes to a device now
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 2.0))?;
    /// }
    /// assert_eq!(u.read_box(u.domain())?, [2.0; 4]);
    /// # Ok(()) }
    /// ```
    pub fn discard(&mut self) {
        self.tracker.ages.cells_written();
        self.tracker.ages.ghosts_lost();
        self.acc.core().discard(&self.tracker);
        self.parts.iter().for_each(|part| part.acc.core().discard(&part.tracker));
    }

    /// Number of values on each axis: the cells, or one more than the cells where the axis is face-centred.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([4]).centering([Centering::Face]).build(&acc)?;
    /// assert_eq!((u.shape(), u.domain_cells()), ([5], [4]));
    /// # Ok(()) }
    /// ```
    pub fn shape(&self) -> [usize; D] {
        self.layout.shape
    }

    /// Number of cells of the domain on each axis, whatever the centring: what [`builder`](TileArray::builder) was
    /// given.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let faces = TileArray::<f64, 1>::builder([4]).centering([Centering::Face]).build(&acc)?;
    /// assert_eq!((faces.domain_cells(), faces.shape()), ([4], [5]));
    /// # Ok(()) }
    /// ```
    pub fn domain_cells(&self) -> [usize; D] {
        self.layout.cuts.cells
    }

    /// All valid values as a box: from 0 to the shape.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).ghost(1).build(&acc)?;
    /// assert_eq!(u.domain(), GridBox::new([0, 0], [4, 8]));
    /// # Ok(()) }
    /// ```
    pub fn domain(&self) -> GridBox<D> {
        self.layout.domain()
    }

    /// Number of regions. They are numbered row-major.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 128]).regions([2, 2]).build(&acc)?;
    /// assert_eq!(u.regions(), 4);
    /// assert_eq!(u.region_box(1), Some(GridBox::new([0, 64], [2, 128])));
    /// # Ok(()) }
    /// ```
    pub fn regions(&self) -> usize {
        self.layout.regions.len()
    }

    /// The box of values that a region owns (AMReX's valid box); `None` if there is no such region.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([100]).region_size([64]).ghost(1).build(&acc)?;
    /// assert_eq!(u.region_box(1), Some(GridBox::new([64], [100])));
    /// assert_eq!(u.grown_box(1), Some(GridBox::new([63], [101])));
    /// assert_eq!(u.region_box(2), None);
    /// # Ok(()) }
    /// ```
    pub fn region_box(&self, region: usize) -> Option<GridBox<D>> {
        self.layout.regions.get(region).map(|r| r.valid)
    }

    /// The box of values that a region owns and its ghosts (AMReX's grown box); `None` if there is no such region.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).ghost([1, 2]).build(&acc)?;
    /// assert_eq!(u.grown_box(0), Some(GridBox::new([-1, -2], [5, 10])));
    /// # Ok(()) }
    /// ```
    pub fn grown_box(&self, region: usize) -> Option<GridBox<D>> {
        self.layout.regions.get(region).map(|r| r.grown)
    }

    /// Width of the ghosts in cells: `[low, high]` for each axis.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).ghost([1, 2]).build(&acc)?;
    /// assert_eq!(u.ghost(), [[1, 1], [2, 2]]);
    /// # Ok(()) }
    /// ```
    pub fn ghost(&self) -> [[usize; 2]; D] {
        self.layout.ghost
    }

    /// Where values sit on each axis.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).centering([Centering::Face, Centering::Cell]).build(&acc)?;
    /// assert_eq!(u.centering(), [Centering::Face, Centering::Cell]);
    /// # Ok(()) }
    /// ```
    pub fn centering(&self) -> [Centering; D] {
        self.layout.centering
    }

    /// The boundary of each face: `[low, high]` for each axis. Components may have others:
    /// [`field_boundaries`](Self::field_boundaries).
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// assert_eq!(u.boundaries(), [[Boundary::Periodic; 2]]);
    /// # Ok(()) }
    /// ```
    pub fn boundaries(&self) -> [[Boundary<T>; 2]; D] {
        self.boundaries.faces
    }

    /// The boundary that a component has at each face: of a field, of a field of a field, or of an entry, as
    /// [`field_boundary`](TileArrayBuilder::field_boundary) names them. None if there is no such component.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let builder = TileArray::<[f64; 2], 1>::builder([4]).ghost(1).boundary(Boundary::ReflectEven);
    /// let u = builder.field_boundary("1", 0, Side::High, Boundary::ReflectOdd).build(&acc)?;
    /// assert_eq!(u.field_boundaries("0"), Some([[Boundary::ReflectEven; 2]]));
    /// assert_eq!(u.field_boundaries("1"), Some([[Boundary::ReflectEven, Boundary::ReflectOdd]]));
    /// assert_eq!(u.field_boundaries("2"), None);
    /// # Ok(()) }
    /// ```
    pub fn field_boundaries(&self, field: &str) -> Option<[[Boundary<T>; 2]; D]> {
        let number = paths_of_entries(&T::TYPE).iter().position(|path| path == field)?;
        let mut faces = self.boundaries.faces;
        for (other, boundary) in self.boundaries.kinds.others.iter().zip(&self.boundaries.others) {
            if other.components.contains(&number) {
                faces[other.axis][other.side] = *boundary;
            }
        }
        Some(faces)
    }

    /// The accelerator that runs what is recorded on this array.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).threads(2).build()?;
    /// let u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
    /// assert_eq!(u.acc().threads(), 2);
    /// # Ok(()) }
    /// ```
    pub fn acc(&self) -> &TileAcc {
        &self.acc
    }

    /// A touch of one region, or of all.
    fn touch(&self, region: Option<usize>, mode: Mode) -> Touch {
        Touch::new(&self.tracker, region, mode)
    }

    /// Waits until the host may read all values.
    #[track_caller]
    fn wait_to_read(&self) -> Result<(), Error> {
        self.start_all()?;
        self.each_part_of(&self.domain(), &mut |part, _| part.wait_to_read())?;
        self.acc.wait(&[self.touch(None, Mode::Read)])?;
        self.storage.warn();
        Ok(())
    }

    /// Waits until the host may replace all values, unread.
    #[track_caller]
    fn wait_to_replace(&self) -> Result<(), Error> {
        self.acc.wait(&[self.touch(None, Mode::Overwrite)])
    }
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
