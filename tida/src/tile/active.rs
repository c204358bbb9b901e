//! Blocks of an array that a mask leaves something to do in.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::array::TileArray;
use crate::array::places::Placed;
use crate::array::ranks::gathered;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::blocks::{BlockList, Listed};
use crate::memory::element::Element;
use crate::memory::layout::Layout;

/// The active blocks of a grid: those in which a mask has a cell to compute. It is made once; then
/// [`TileIter::active`](super::TileIter::active) gives tiles of these blocks alone, and blocks that the mask leaves out
/// cost nothing.
///
/// On the host, blocks beside one another run as one box. On a device all blocks are one launch, whose table of boxes
/// is kept with the list. Results do not depend on the size of blocks. It holds no borrow of an array; clones share one
/// list.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut solid = TileArray::<bool, 2>::builder([64, 64]).build(&acc)?;
/// solid.fill(|[j, i]| j < 32 || i < 16)?;
/// let open = ActiveBlocks::new(&solid, [8, 16], |solid| !solid)?;
/// assert_eq!((open.len(), open.cells()), (12, 12 * 8 * 16)); // of 32 blocks
///
/// let mut u = TileArray::<f64, 2>::builder([64, 64]).build(&acc)?;
/// u.fill_value(0.0)?;
/// for tile in u.tiles().active(&open) {
///     compute(&tile, (&mut u, &solid), kernel!(|u, solid, at| {
///         if !solid[at] {
///             u[at] = 1.0;
///         }
///     }))?;
/// }
/// assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at]))?, 32.0 * 48.0);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ActiveBlocks<const D: usize> {
    /// That of the mask.
    pub(super) layout: Arc<Layout<D>>,
    /// The first region of each part of it on a place. Each part has a list of its own, by the part's regions.
    pub(super) firsts: Vec<usize>,
    /// Of each region a box of all its blocks, and their part of the list. Other ranks' regions have none here.
    pub(super) regions: Arc<[(GridBox<D>, Listed)]>,
    /// How many blocks all ranks have, and how many cells.
    all: [usize; 2],
}

impl<const D: usize> fmt::Debug for ActiveBlocks<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveBlocks").field("blocks", &self.len()).field("cells", &self.cells()).finish()
    }
}

impl<const D: usize> ActiveBlocks<D> {
    /// The blocks of `mask` with a cell whose value `is_active`. Blocks have `size` cells along each axis, counted from
    /// the low corner of each region; those at its high end may be smaller. Reads the mask, and waits for what writes
    /// it.
    ///
    /// Small blocks leave out more cells. Each block that is left costs a little: on the host some hundred cells'
    /// work for each row of blocks, on a device a block of threads or more. Blocks of some thousand cells, longest
    /// along the last axis, suit both.
    ///
    /// On several ranks all make the call, and each lists the blocks of its own regions.
    ///
    /// # Errors
    /// A size of 0, and those of a read of the mask, on any rank.
    #[track_caller]
    pub fn new<T: Element>(
        mask: &TileArray<T, D>,
        size: [usize; D],
        is_active: impl Fn(T) -> bool,
    ) -> Result<Self, Error> {
        if let Some(axis) = size.iter().position(|n| *n == 0) {
            return Err(Error::new(
                ErrorKind::Argument,
                "list the active blocks of a mask",
                format!("a block size of 0 on axis {axis}"),
                "give every axis a block size of at least 1",
            ));
        }
        let recorded = Location::caller();
        let shared = if mask.is_everywhere() { None } else { mask.shared_call("ActiveBlocks::new", recorded) };
        let here = Self::of_regions_here(mask, size, is_active);
        let own = here.as_ref().map_err(Error::clone).map(|here| {
            let blocks = here.blocks().fold([0, 0], |[n, cells], (_, block)| [n + 1, cells + block.cells() as u64]);
            blocks.to_vec()
        });
        let counts = gathered(shared.map(|(world, call)| (&**world, call)), own, ("ActiveBlocks::new", recorded))?;
        let all = [0, 1].map(|n| counts.iter().skip(n).step_by(2).sum::<u64>() as usize);
        here.map(|here| ActiveBlocks { all, ..here })
    }

    /// Lists the blocks of the regions of this rank.
    ///
    /// # Errors
    /// Those of a read of the mask.
    #[track_caller]
    fn of_regions_here<T: Element>(
        mask: &TileArray<T, D>,
        size: [usize; D],
        is_active: impl Fn(T) -> bool,
    ) -> Result<Self, Error> {
        let here = mask.placed.as_ref().map_or(0..mask.regions(), |placed| placed.here.clone());
        let firsts = firsts(mask.placed.as_deref(), mask.regions());
        let ends = firsts.iter().skip(1).copied().chain([mask.regions()]);
        let mut regions = Vec::new();
        for part in firsts.iter().zip(ends).map(|(first, end)| *first..end) {
            let (mut list, mut bounds) = (BlockList::default(), Vec::new());
            for number in part.clone() {
                let (cells, first) = (mask.layout.regions[number].valid, list.spans().len());
                let values = if here.contains(&number) { mask.read_grown_box(number, cells)? } else { Vec::new() };
                let mut bound: Option<GridBox<D>> = None;
                for block in active(&cells, size, &values, &is_active) {
                    bound = Some(bound.map_or(block, |known| hull(&known, &block)));
                    list.add(number - part.start, block.widen());
                }
                let none = GridBox { lo: cells.lo, hi: cells.lo };
                bounds.push((bound.unwrap_or(none), first..list.spans().len()));
            }
            let list = Arc::new(list);
            regions.extend(bounds.into_iter().map(|(cells, spans)| (cells, Listed { list: list.clone(), spans })));
        }
        Ok(ActiveBlocks { layout: mask.layout.clone(), firsts, regions: regions.into(), all: [0; 2] })
    }

    fn blocks(&self) -> impl Iterator<Item = &(usize, GridBox<4>)> {
        let lists = self.firsts.iter().filter_map(|first| self.regions.get(*first));
        lists.flat_map(|(_, listed)| listed.list.blocks())
    }

    /// Number of active blocks, on several ranks of all of them: the same on each. It depends on how the array is cut,
    /// and so on how many ranks there are; [`cells`](Self::cells) does too. Of a mask that is cut
    /// [between blocks](crate::array::TileArrayBuilder::cut_at_multiples) they are the same on any number of ranks.
    pub fn len(&self) -> usize {
        self.all[0]
    }

    /// Whether no block is active.
    pub fn is_empty(&self) -> bool {
        self.all[0] == 0
    }

    /// Cells of the active blocks, those that the mask leaves out within them too.
    pub fn cells(&self) -> usize {
        self.all[1]
    }

    /// The part of the blocks of a region that lies in a box: all of them, or a list of its own.
    pub(super) fn within(&self, region: usize, cells: &GridBox<D>) -> (GridBox<D>, Option<Listed>) {
        let Some((bound, listed)) = self.regions.get(region) else { return (*cells, None) };
        if cells.contains_box(bound) {
            return (*bound, Some(listed.clone()));
        }
        let region = region - self.firsts.iter().copied().filter(|first| *first <= region).max().unwrap_or(0);
        let (mut list, mut all) = (BlockList::default(), None::<GridBox<D>>);
        for (_, block) in listed.list.blocks().iter().filter(|(of, _)| *of == region) {
            let part = block.intersect(&cells.widen());
            if !part.is_empty() {
                list.add(region, part);
                let part = crate::grid::narrow(&part);
                all = Some(all.map_or(part, |known| hull(&known, &part)));
            }
        }
        let spans = 0..list.spans().len();
        let none = GridBox { lo: cells.lo, hi: cells.lo };
        (all.unwrap_or(none), Some(Listed { list: Arc::new(list), spans }))
    }
}

/// The first region of each part of an array of so many regions.
pub(super) fn firsts<const D: usize>(placed: Option<&Placed<D>>, regions: usize) -> Vec<usize> {
    match placed.filter(|_| regions > 0) {
        Some(placed) => placed.owners().iter().map(|part| part.first).collect(),
        None => vec![0],
    }
}

/// A box of both.
fn hull<const D: usize>(a: &GridBox<D>, b: &GridBox<D>) -> GridBox<D> {
    let lo = std::array::from_fn(|d| a.lo[d].min(b.lo[d]));
    GridBox { lo, hi: std::array::from_fn(|d| a.hi[d].max(b.hi[d])) }
}

/// The blocks of a box with a value that is active, row-major.
fn active<T: Copy, const D: usize>(
    cells: &GridBox<D>,
    size: [usize; D],
    values: &[T],
    is_active: impl Fn(T) -> bool,
) -> Vec<GridBox<D>> {
    let extent = cells.extent();
    let blocks: [usize; D] = std::array::from_fn(|d| extent[d].div_ceil(size[d]));
    let mut found = vec![false; blocks.iter().product()];
    let last = extent[D - 1].max(1);
    for (row, values) in values.chunks(last).enumerate() {
        // The number of the first block of the row.
        let (mut rest, mut stride, mut first) = (row, blocks[D - 1], 0);
        for d in (0..D - 1).rev() {
            first += rest % extent[d] / size[d] * stride;
            rest /= extent[d];
            stride *= blocks[d];
        }
        for (n, values) in values.chunks(size[D - 1]).enumerate() {
            found[first + n] = found[first + n] || values.iter().any(|value| is_active(*value));
        }
    }
    let numbers = found.iter().enumerate().filter(|(_, found)| **found);
    let block = |(number, _): (usize, &bool)| {
        let (mut rest, mut block) = (number, *cells);
        for d in (0..D).rev() {
            block.lo[d] += (rest % blocks[d] * size[d]) as i64;
            block.hi[d] = block.hi[d].min(block.lo[d] + size[d] as i64);
            rest /= blocks[d];
        }
        block
    };
    numbers.map(block).collect()
}
