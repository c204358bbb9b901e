//! Going over the tiles of an array.

use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

use tida_kernels::plan::cache::Cache;

use super::{ActiveBlocks, NOWHERE, Tile, TileFault};
use crate::acc::Device;
use crate::array::TileArray;
use crate::array::places::Placed;
use crate::device::plans::Hints;
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::layout::Layout;

/// Goes over the tiles of an array, in row-major order of regions, then of tiles.
///
/// Results do not depend on the order in which tiles are taken, nor on their size. It holds no borrow of the array, so
/// a loop over the tiles of `u` may write `u`. Tiles and their iterator are as in TiDA-acc §III. The methods that
/// choose tiles start again from the first one.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
/// for tile in TileIter::new(&u).tile_size([1, 8]) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64))?;
/// }
/// assert_eq!(u.read_box(GridBox::new([0, 3], [4, 4]))?, [0.0, 1.0, 2.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct TileIter<const D: usize> {
    pub(crate) layout: Arc<Layout<D>>,
    /// Of an array on several places, its parts there.
    placed: Option<Arc<Placed<D>>>,
    /// Cells of a tile; whole regions where nothing was asked for.
    size: Option<[usize; D]>,
    within: Option<GridBox<D>>,
    active: Option<ActiveBlocks<D>>,
    grown: usize,
    device: Option<Device>,
    block: Option<[usize; D]>,
    march: Option<usize>,
    cache: Hints,
    fault: Option<TileFault>,
    /// As of its tiles, once there is one.
    alike: Option<Arc<Placed<D>>>,
    /// Region of the tiles that come next.
    region: usize,
    /// Tiles of that region.
    tiles: Tiles<D>,
    /// Number of the next of them, on each axis; nothing once the region is done.
    next: Option<[i64; D]>,
    /// Tiles left in all; nothing before the first one.
    left: Option<usize>,
}

/// The tiles of one region.
#[derive(Clone, Copy, Debug)]
struct Tiles<const D: usize> {
    /// The cells of the region; tiles are counted from its low corner.
    valid: GridBox<D>,
    /// The cells wanted, ghosts included.
    wanted: GridBox<D>,
    /// Cells of a tile.
    size: [i64; D],
    /// Numbers of the tiles with a cell wanted.
    numbers: GridBox<D>,
}

impl<const D: usize> TileIter<D> {
    /// The tiles of `array`, one for each region.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
    /// assert_eq!(TileIter::new(&u).len(), u.regions());
    /// # Ok(()) }
    /// ```
    pub fn new<T: Element>(array: &TileArray<T, D>) -> Self {
        let none = GridBox { lo: [0; D], hi: [0; D] };
        TileIter {
            layout: array.layout.clone(),
            placed: array.placed.clone(),
            size: None,
            within: None,
            active: None,
            grown: 0,
            device: None,
            block: None,
            march: None,
            cache: Hints::default(),
            fault: None,
            alike: None,
            region: 0,
            tiles: Tiles { valid: none, wanted: none, size: [1; D], numbers: none },
            next: None,
            left: None,
        }
    }

    /// Cuts each region into tiles of so many cells along each axis, counted from the region's low corner. Tiles at its
    /// high end may be smaller. A size of 0 makes `compute` give an error.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).build(&acc)?;
    /// let tiles: Vec<_> = TileIter::new(&u).tile_size([3, 8]).map(|tile| tile.cells().extent()).collect();
    /// assert_eq!(tiles, [[3, 8], [1, 8]]);
    /// # Ok(()) }
    /// ```
    pub fn tile_size(mut self, size: [usize; D]) -> Self {
        self.size = Some(size);
        self.restart()
    }

    /// Keeps only the cells `lo <= at < hi` (TiDA-acc's lower and upper bounds). Tiles without such cells are left out,
    /// others are clipped. The ghosts of [`grown`](TileIter::grown) tiles are clipped too.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([5]).build(&acc)?;
    /// for tile in TileIter::new(&u).within([1], [4]) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
    /// }
    /// assert_eq!(u.read_box(u.domain())?, [0.0, 1.0, 1.0, 1.0, 0.0]);
    /// # Ok(()) }
    /// ```
    pub fn within(mut self, lo: [i64; D], hi: [i64; D]) -> Self {
        self.within = Some(GridBox { lo, hi });
        self.restart()
    }

    /// Keeps only the cells of these blocks: a mask leaves the others out. There are as many tiles as without, each
    /// with the blocks that lie in it, so a loop without [`tile_size`](TileIter::tile_size) costs no more calls. A
    /// tile's [`cells`](Tile::cells) are then a box around its blocks, and none where it has no block. Cells outside of
    /// all blocks keep their values; where two arrays take turns, each keeps its own. Ghosts of
    /// [`grown`](TileIter::grown) tiles are left out.
    ///
    /// Checks take the loop for one over that whole box, so arrays need ghosts as for all of it. The blocks must be of
    /// a mask with the cuts of this array, else `compute` gives an error. With [`within`](TileIter::within) or
    /// [`tile_size`](TileIter::tile_size) a list is made for each tile, each time.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<i32, 2>::builder([8, 64]).build(&acc)?;
    /// u.fill(|[j, i]| i32::from(j == i))?;
    /// let blocks = ActiveBlocks::new(&u, [4, 16], |u| u == 1)?;
    /// for tile in u.tiles().active(&blocks) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 2))?;
    /// }
    /// assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at]))?, 2 * 2 * 4 * 16);
    /// # Ok(()) }
    /// ```
    pub fn active(mut self, blocks: &ActiveBlocks<D>) -> Self {
        self.active = Some(blocks.clone());
        self.restart()
    }

    /// Grows the tiles at the edges of a region into its ghosts by `cells` cells, as AMReX's `growntilebox` does. More
    /// than the ghost width makes `compute` give an error, and so do arrays that hold planes of other places
    /// ([`overlap`](crate::array::TileArrayBuilder::overlap)).
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).ghost(2).build(&acc)?;
    /// let tile = TileIter::new(&u).grown(1).next().unwrap();
    /// assert_eq!(tile.cells(), GridBox::new([-1, -1], [5, 9]));
    /// # Ok(()) }
    /// ```
    pub fn grown(mut self, cells: usize) -> Self {
        self.grown = cells;
        self.restart()
    }

    /// Runs these tiles on `device`, wherever others run (TiDA-acc's `reset(GPU=true)`): on the CPU, on the device of
    /// the array's accelerator, or with [`Device::Hybrid`] on both at once, each of which gets some of the regions. Any
    /// other device makes `compute` give an error. Only data that is stale where it is needed moves.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
    /// for tile in TileIter::new(&u).device(Device::Cpu) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
    /// }
    /// assert_eq!(u.read_box(u.domain())?, [1.0; 4]);
    /// # Ok(()) }
    /// ```
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Threads of a block on a device along each axis of the array, instead of what tida chooses
    /// ([`explain`](crate::explain()) shows that). Results do not depend on it. None, or more than the device can have,
    /// makes `compute` give an error. The CPU has no blocks.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([4, 8]).build(&acc)?;
    /// for tile in TileIter::new(&u).thread_block([4, 32]) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
    /// }
    /// assert_eq!(u.read_box(u.domain())?, [1.0; 32]);
    /// # Ok(()) }
    /// ```
    pub fn thread_block(mut self, threads: [usize; D]) -> Self {
        self.block = Some(threads);
        self
    }

    /// Cells along the first axis that a thread of a device takes one after the other, instead of what tida chooses
    /// ([`explain`](crate::explain()) shows that). Values of cells that it passed stay in registers (SAFARA). With 1
    /// each thread has one cell. Results do not depend on it.
    ///
    /// Kernels over one axis, and those with reads that are checked as they happen, have one cell a thread in any case.
    /// The CPU does not march. 0 makes `compute` give an error.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([4, 8]).build(&acc)?;
    /// for tile in TileIter::new(&u).march(4) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
    /// }
    /// assert_eq!(u.read_box(u.domain())?, [1.0; 32]);
    /// # Ok(()) }
    /// ```
    pub fn march(mut self, cells: usize) -> Self {
        self.march = Some(cells);
        self.fault = self.find_fault();
        self
    }

    /// How a device serves the reads of an argument (counted from 0, in the order that `compute` is given them),
    /// instead of what tida chooses ([`explain`](crate::explain()) shows that): from a tile in the memory that the
    /// threads of a block share, or with [`Cache::None`] from memory. A tile can hold the rows and columns that a loop
    /// of the kernel walks along, and the cells around `at` (Lashgar ch. 5).
    ///
    /// Results do not depend on it. Reads stay as they are where the block alone does not decide which cells are read,
    /// and on the CPU. A kernel with tiles does not [`march`](TileIter::march).
    ///
    /// `compute` gives an error for an argument that the kernel does not have or that it writes, and for tiles larger
    /// than the shared memory of a block.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// u.fill(|[i]| i as f64)?;
    /// u.fill_ghosts()?;
    /// let mut sums = u.like()?;
    /// for tile in TileIter::new(&u).cache(1, Cache::Tile) {
    ///     compute(&tile, (&mut sums, &u), kernel!(|sums, u, at| sums[at] = u[at - [1]] + u[at + [1]]))?;
    /// }
    /// assert_eq!(sums.read_box(u.domain())?, [4.0, 2.0, 4.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn cache(mut self, argument: usize, how: Cache) -> Self {
        self.cache.set(argument, how);
        self
    }

    /// The same cells, region by region.
    pub(crate) fn by_regions(mut self) -> Self {
        if self.size.is_some_and(|size| !size.contains(&0)) {
            self.size = None;
        }
        self.restart()
    }

    /// Starts from the first tile.
    fn restart(mut self) -> Self {
        self.fault = self.find_fault();
        self.left = None;
        self
    }

    /// Number of all tiles: those of a region are a product over the axes, and so are those of all regions.
    fn number_of_tiles(&self) -> usize {
        let counts = self.layout.cuts.regions();
        let (mut all, mut stride) = (1usize, self.layout.regions.len());
        for (d, count) in counts.into_iter().enumerate() {
            stride /= count;
            // Other ranks have the other layers of the first axis.
            let here = if d == 0 { self.here().start / stride..self.here().end / stride } else { 0..count };
            let tiles = here.map(|part| {
                let (.., numbers) = self.along(part * stride, d);
                (numbers.end - numbers.start) as usize
            });
            all = all.saturating_mul(tiles.sum());
        }
        all
    }

    /// The regions of this rank.
    fn here(&self) -> Range<usize> {
        self.placed.as_ref().map_or(0..self.layout.regions.len(), |placed| placed.here.clone())
    }

    /// Number of all tiles that it gives: a rank that has none of those of a loop has an empty one.
    fn all_tiles(&self) -> usize {
        let is_shared = self.here().len() < self.layout.regions.len();
        match self.number_of_tiles() {
            0 if is_shared && !self.whole().is_empty() => 1,
            tiles => tiles,
        }
    }

    /// The tile of a rank that has none of a loop.
    fn nothing(&self) -> Tile<D> {
        let lo = self.whole().lo;
        Tile {
            layout: self.layout.clone(),
            region: 0,
            place: NOWHERE,
            first: self.here().start,
            cells: GridBox { lo, hi: lo },
            listed: None,
            alike: None,
            all: self.whole(),
            grown: self.grown > 0,
            device: self.device,
            block: self.block,
            march: self.march,
            cache: self.cache,
            fault: self.fault,
        }
    }

    /// Goes to the first tile of a region.
    fn enter(&mut self, region: usize) {
        self.region = region;
        self.next = None;
        if region < self.here().end {
            self.tiles = self.region_tiles(region);
            self.next = (!self.tiles.numbers.is_empty()).then_some(self.tiles.numbers.lo);
        }
    }

    /// What cannot be in what was asked for.
    fn find_fault(&self) -> Option<TileFault> {
        if let Some(axis) = self.size.and_then(|size| size.iter().position(|s| *s == 0)) {
            return Some(TileFault::Size { axis });
        }
        if self.march == Some(0) {
            return Some(TileFault::March);
        }
        let fits = |blocks: &ActiveBlocks<D>| {
            let regions = blocks.layout.regions.iter().zip(&self.layout.regions);
            let alike = blocks.firsts == super::active::firsts(self.placed.as_deref(), self.layout.regions.len());
            alike && blocks.layout.cuts == self.layout.cuts && { regions }.all(|(one, other)| one.valid == other.valid)
        };
        if self.active.as_ref().is_some_and(|blocks| !fits(blocks)) {
            return Some(TileFault::Active);
        }
        let holds = |placed: &Arc<Placed<D>>| placed.parts.iter().any(|part| part.layout.overlap() != [0, 0]);
        if self.grown > 0 && self.placed.as_ref().is_some_and(holds) {
            return Some(TileFault::Held);
        }
        let ghosts = self.layout.ghost.map(|g| g[0].min(g[1]));
        let axis = ghosts.iter().position(|ghosts| self.grown > *ghosts)?;
        Some(TileFault::Grown { axis, asked: self.grown, ghosts: ghosts[axis] })
    }

    /// Whether these are tiles of all cells of an array on several ranks which hold planes of one another, and planes
    /// beside their borders are in one tile each: on all ranks, whose tiles are not all seen here.
    fn is_alike(&self, placed: &Placed<D>) -> bool {
        let planes = placed.parts.iter().flat_map(|part| part.layout.overlap()).max().unwrap_or(0);
        let is_all = self.grown == 0 && self.active.is_none() && self.fault.is_none();
        let has_all = self.within.is_none_or(|within| within.contains_box(&self.layout.domain()));
        let is_whole = |region: usize| {
            (0..D).all(|d| {
                let (size, wanted, numbers) = self.along(region, d);
                let (all, last) = (wanted.end - wanted.start, (numbers.end - 1) * size);
                if d == 0 { size.min(all - last) >= planes } else { size >= all }
            })
        };
        placed.is_on_ranks && planes > 0 && is_all && has_all && (0..self.layout.regions.len()).all(is_whole)
    }

    /// A box of all cells of all tiles.
    fn whole(&self) -> GridBox<D> {
        let grow = |side: usize| self.layout.ghost.map(|g| self.grown.min(g[side]) as i64);
        let all = self.layout.domain().grown(grow(0), grow(1));
        self.within.map_or(all, |within| all.intersect(&within))
    }

    /// Tiles of a region.
    fn region_tiles(&self, region: usize) -> Tiles<D> {
        let valid = self.layout.regions[region].valid;
        let mut tiles = Tiles { valid, wanted: valid, size: [1; D], numbers: GridBox { lo: [0; D], hi: [0; D] } };
        for d in 0..D {
            let (size, wanted, numbers) = self.along(region, d);
            tiles.size[d] = size;
            (tiles.wanted.lo[d], tiles.wanted.hi[d]) = (wanted.start, wanted.end);
            (tiles.numbers.lo[d], tiles.numbers.hi[d]) = (numbers.start, numbers.end);
        }
        tiles
    }

    /// The same along one axis: cells of a tile, the cells that are wanted, and the numbers of the tiles with any.
    fn along(&self, region: usize, d: usize) -> (i64, Range<i64>, Range<i64>) {
        let valid = &self.layout.regions[region].valid;
        let (lo, hi) = (valid.lo[d], valid.hi[d]);
        let grow = |side: usize| self.grown.min(self.layout.ghost[d][side]) as i64;
        let mut wanted = lo - grow(0)..hi + grow(1);
        if let Some(within) = &self.within {
            wanted = wanted.start.max(within.lo[d])..wanted.end.min(within.hi[d]);
        }
        let Some(asked) = self.size else {
            return (hi - lo, wanted.clone(), 0..i64::from(!wanted.is_empty()));
        };
        let size = asked[d].clamp(1, (hi - lo) as usize) as i64;
        // Ghosts go with the tile next to them.
        let number = |at: i64| (at.clamp(lo, hi - 1) - lo) / size;
        let numbers = if wanted.is_empty() { 0..0 } else { number(wanted.start)..number(wanted.end - 1) + 1 };
        (size, wanted, numbers)
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The tiles of this array: one for each region, unless [`tile_size`](TileIter::tile_size) says otherwise. The same
    /// as [`TileIter::new`].
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
    /// assert_eq!(u.tiles().count(), 2);
    /// assert_eq!(u.tiles().tile_size([1, 8]).count(), 4);
    /// # Ok(()) }
    /// ```
    pub fn tiles(&self) -> TileIter<D> {
        TileIter::new(self)
    }
}

impl<const D: usize> Tiles<D> {
    /// Cells of the tile of that number.
    fn cells(&self, number: [i64; D]) -> GridBox<D> {
        let Tiles { valid, wanted, size, .. } = self;
        let mut cells = *wanted;
        for d in 0..D {
            let lo = valid.lo[d] + number[d] * size[d];
            if lo > valid.lo[d] {
                cells.lo[d] = cells.lo[d].max(lo);
            }
            if lo + size[d] < valid.hi[d] {
                cells.hi[d] = cells.hi[d].min(lo + size[d]);
            }
        }
        cells
    }
}

impl<const D: usize> Iterator for TileIter<D> {
    type Item = Tile<D>;

    fn next(&mut self) -> Option<Tile<D>> {
        let left = match self.left {
            Some(left) => left,
            None => {
                self.enter(self.here().start);
                self.alike = self.placed.clone().filter(|placed| self.is_alike(placed));
                match &self.placed {
                    // Those of the region that it is in now.
                    None if self.layout.regions.len() == 1 => self.tiles.numbers.cells(),
                    _ => self.all_tiles(),
                }
            }
        };
        self.left = Some(left.saturating_sub(1));
        if left == 0 {
            return None;
        }
        let number = loop {
            match self.next {
                Some(number) => break number,
                None if self.region < self.here().end => self.enter(self.region + 1),
                None => return Some(self.nothing()),
            }
        };
        let cells = self.tiles.cells(number);
        let (cells, listed) = match &self.active {
            Some(blocks) if self.fault.is_none() => blocks.within(self.region, &cells),
            _ => (cells, None),
        };
        // One box that has them all is a tile like others.
        let listed = listed.filter(|listed| !matches!(listed.boxes(), [(_, one)] if *one == cells.widen()));
        let part = self.placed.as_ref().and_then(|placed| placed.part_of(self.region));
        let (layout, place, first) = match part {
            Some(part) => (&part.layout, part.place, part.first),
            None => (&self.layout, 0, 0),
        };
        let tile = Tile {
            layout: layout.clone(),
            region: self.region - first,
            place,
            first,
            cells,
            listed,
            alike: self.alike.clone(),
            all: self.whole(),
            grown: self.grown > 0,
            device: self.device,
            block: self.block,
            march: self.march,
            cache: self.cache,
            fault: self.fault,
        };
        self.next = self.tiles.numbers.after(number);
        Some(tile)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left.unwrap_or_else(|| self.all_tiles());
        (left, Some(left))
    }
}

impl<const D: usize> ExactSizeIterator for TileIter<D> {}
impl<const D: usize> FusedIterator for TileIter<D> {}
