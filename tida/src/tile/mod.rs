//! Tiles: boxes of cells to compute on.

mod active;
mod iter;

pub use active::ActiveBlocks;
pub use iter::TileIter;

use std::sync::Arc;

use crate::acc::Device;
use crate::array::places::Placed;
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::blocks::Listed;
use crate::memory::layout::Layout;

/// A box of cells inside one region: what one call of [`compute`](crate::compute()) runs over. Cheap to make and to
/// clone; it holds no borrow of an array. Tiles are as in TiDA-acc §III.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
/// let tiles: Vec<Tile<2>> = TileIter::new(&u).collect();
/// assert_eq!((tiles.len(), tiles[1].region()), (2, 1));
/// assert_eq!(tiles[1].cells(), GridBox::new([2, 0], [4, 8]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Tile<const D: usize> {
    /// Layout of the array it was made from, or of a part of it.
    pub(crate) layout: Arc<Layout<D>>,
    /// Number of its region there.
    pub(crate) region: usize,
    /// The place that has the array, and how many regions of it the places before have.
    pub(crate) place: usize,
    pub(crate) first: usize,
    /// Its cells.
    pub(crate) cells: GridBox<D>,
    /// A box of all cells of the loop that it is one tile of.
    pub(crate) all: GridBox<D>,
    /// Whether it may reach into ghost cells.
    pub(crate) grown: bool,
    /// Where it runs, if not where the accelerator says.
    pub(crate) device: Option<Device>,
    /// Threads of a block on each axis, if they were asked for.
    pub(crate) block: Option<[usize; D]>,
    /// Cells along the first axis that a thread takes, if that was asked for.
    pub(crate) march: Option<usize>,
    /// What is to be cached, if that was asked for.
    pub(crate) cache: Hints,
    /// Of an array that lies on several ranks, which hold planes of one another: how it lies, if all of it is looped
    /// over, on all ranks alike.
    pub(crate) alike: Option<Arc<Placed<D>>>,
    /// The boxes of it that run, if not all of its cells do.
    pub(crate) listed: Option<Listed>,
    /// What is wrong with the way it was asked for; `compute` reports it.
    pub(crate) fault: Option<TileFault>,
}

/// What is wrong with the tiles asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileFault {
    /// Tiles of no cells on this axis.
    Size {
        /// The axis.
        axis: usize,
    },
    /// Threads that take no cell.
    March,
    /// Active blocks of an array with other cuts.
    Active,
    /// Tiles that are grown, of an array that holds planes of other places.
    Held,
    /// Tiles grown by more cells than there are ghosts.
    Grown {
        /// The axis.
        axis: usize,
        /// Cells asked for.
        asked: usize,
        /// Ghosts that there are, on the side with fewer.
        ghosts: usize,
    },
}

/// The place of an empty tile, of a rank that has none of a loop: arrays have no part there.
pub(crate) const NOWHERE: usize = usize::MAX;

impl<const D: usize> Tile<D> {
    /// Whether it stands for the tiles of other ranks.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.place == NOWHERE
    }

    /// Its cells, in global coordinates. A grown tile at the edge of its region has ghost cells too.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([100]).region_size([64]).ghost(1).build(&acc)?;
    /// let boxes: Vec<_> = TileIter::new(&u).map(|tile| tile.cells()).collect();
    /// assert_eq!(boxes, [GridBox::new([0], [64]), GridBox::new([64], [100])]);
    /// assert_eq!(TileIter::new(&u).grown(1).next().unwrap().cells(), GridBox::new([-1], [65]));
    /// # Ok(()) }
    /// ```
    pub fn cells(&self) -> GridBox<D> {
        self.cells
    }

    /// The number of its region, counted from 0, row-major.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([100]).region_size([64]).build(&acc)?;
    /// let regions: Vec<_> = TileIter::new(&u).tile_size([32]).map(|tile| tile.region()).collect();
    /// assert_eq!(regions, [0, 0, 1, 1]);
    /// # Ok(()) }
    /// ```
    pub fn region(&self) -> usize {
        self.first + self.region
    }

    /// Where it runs, if [`TileIter::device`] said so.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([100]).build(&acc)?;
    /// assert_eq!(TileIter::new(&u).next().unwrap().device(), None);
    /// assert_eq!(TileIter::new(&u).device(Device::Cpu).next().unwrap().device(), Some(Device::Cpu));
    /// # Ok(()) }
    /// ```
    pub fn device(&self) -> Option<Device> {
        self.device
    }

    /// The error of a tile that runs over some of its cells alone, of work that `tried` says, which takes whole boxes.
    pub(crate) fn is_a_box(&self, tried: impl FnOnce() -> String) -> Result<(), Error> {
        match self.listed {
            None => Ok(()),
            Some(_) => Err(Error::new(
                ErrorKind::Argument,
                tried(),
                "tiles of active blocks (`.active(..)`), which have holes",
                "leave out `.active(..)`: only `compute` with a `kernel!` takes such tiles",
            )),
        }
    }

    /// The error of a tile that was asked for in a way that cannot be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.fault {
            None => Ok(()),
            Some(TileFault::Size { axis }) => Err(Error::new(
                ErrorKind::Argument,
                "compute on tiles",
                format!("a tile size of 0 on axis {axis}"),
                "give every axis a tile size of at least 1",
            )),
            Some(TileFault::March) => Err(Error::new(
                ErrorKind::Argument,
                "compute on tiles whose threads `march`",
                "0 cells for a thread",
                "let a thread take at least 1 cell",
            )),
            Some(TileFault::Active) => Err(Error::new(
                ErrorKind::Shape,
                "compute on tiles of active blocks",
                "blocks of a mask that is cut in another way, or has another shape",
                "build the mask with the shape and the regions of the array whose tiles these are, and distribute it \
                 alike on several places",
            )),
            Some(TileFault::Held) => Err(Error::new(
                ErrorKind::Ghost,
                "compute on grown tiles",
                "an array that holds planes of other places (`.overlap(..)`)",
                "leave `.overlap(..)` out",
            )),
            Some(TileFault::Grown { axis, asked, ghosts }) => Err(Error::new(
                ErrorKind::Ghost,
                format!("compute on tiles grown by {asked} cells"),
                format!("{ghosts} ghost cells on axis {axis}"),
                "grow tiles by at most the ghost width, or build the array with more ghosts",
            )),
        }
    }
}
