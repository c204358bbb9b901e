//! How a kernel is laid out on a device: thread mapping, index arithmetic, which form of accesses.
//!
//! A plan is a value: what is emitted follows from the kernel and its plan alone. `march` and `registers` say which
//! reads a thread keeps in registers, `wide` which it does at once for several cells, `cache` which come from the
//! memory that the threads of a block share, `ghosts` which ghosts it sets, `trials` which plans are worth a try.

pub(crate) mod alike;
pub mod auto;
pub mod cache;
pub mod coarse;
pub mod fuse;
pub mod ghosts;
pub mod join;
pub mod joint;
pub mod lines;
pub mod maps;
pub mod march;
pub mod planes;
pub(crate) mod reads;
pub mod registers;
pub mod room;
pub mod trials;
pub mod wide;

/// Cells of a segment of a reduction, and entries of a group of its tree.
pub const SEGMENT: i64 = 64;

/// The language that is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CUDA C++, for NVRTC.
    Cuda,
    /// OpenCL C 1.2.
    OpenCl,
}

/// How floats are computed on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Math {
    /// As Rust computes them: the bits of the CPU.
    #[default]
    Exact,
    /// Contraction into fused multiply-adds, and the device's fast functions: other bits, within a few units in the
    /// last place of each operation.
    Fast,
}

impl Math {
    /// Whether the bits are those of the CPU.
    pub fn is_exact(self) -> bool {
        match self {
            Math::Exact => true,
            Math::Fast => false,
        }
    }
}

/// How values become one. See `tida::compute::reduce` for their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FoldOp {
    Sum,
    Product,
    Min,
    Max,
    ArgMin,
    ArgMax,
}

/// What a launch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// `compute`: runs the kernel at each cell.
    Sweep,
    /// `reduce`: folds the kernel's values over segments of [`SEGMENT`] cells of the last axis that start at global
    /// multiples of it, one entry of [`Param::Out`](crate::emit::Param) a segment.
    Segments(FoldOp),
    /// `reduce` over cuts that split segments: writes the kernel's value of each cell, row-major over the whole box.
    Values,
}

/// How a kernel is laid out on a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// The language.
    pub dialect: Dialect,
    /// How floats are computed.
    pub math: Math,
    /// What for.
    pub goal: Goal,
    /// Threads of a block along x (the last axis), y (the axis before) and z (the axes before that, folded).
    pub block: [u32; 3],
    /// Several boxes in one launch, their geometry in a table; else one box, its geometry by value.
    pub many: bool,
    /// With `many`: pass the geometry of at most so many boxes by value, and no table. CUDA alone; 0 for a table.
    pub by_value: u8,
    /// Positions within a region fit 32 bits (SAFARA's `small`), with a march also those one step along axis 0 beyond
    /// it.
    pub narrow: bool,
    /// With `narrow`: so do positions within all components of a region, and those are counted from one pointer (see
    /// [`joint`]).
    pub joint: bool,
    /// Reads that were not proven in range are checked as they happen.
    pub checked: bool,
    /// For each argument the number of its geometry: arguments of one layout share index arithmetic (SAFARA's `dim`).
    /// Whole arrays and tables have none; their entry is not looked at.
    pub groups: Vec<u8>,
    /// Cells along axis 0 that a thread takes one after the other, with what it read in registers (see [`march`]); else
    /// each thread has one cell. Sweeps over more than one axis whose reads are all proven march, others do not look at
    /// it.
    pub march: Option<u32>,
    /// Cells side by side along the last axis that a thread takes as it marches (see [`wide::side`]: that many, or 1).
    pub side: u32,
    /// Rows of cells of a thread that marches with cells side by side over three axes, whose block shares the planes
    /// around its cells (see [`planes`]); 0 where it does not.
    pub rows: u32,
    /// Several steps in one launch (see [`fuse`]). Such a plan has no tiles; its `march` are the planes of a chunk.
    pub fused: Option<fuse::Fused>,
    /// The arguments whose reads come from tiles in shared memory, where they can (see [`cache`]). A plan with tiles
    /// does not march.
    pub cache: Vec<cache::Cached>,
    /// Iterations of a walked loop that one tile serves.
    pub width: u32,
    /// Cells of a thread along x and y in a plan with tiles, of a kernel that [can have
    /// several](cache::Sharing::coarse): 1 and 1 in others. Along an axis they are as far from one another as a block
    /// has threads.
    pub cells: [u32; 2],
    /// 32-bit registers of a thread for values that it read before (see [`registers`]).
    pub registers: u32,
    /// What reads cost, by which those values are chosen.
    pub latency: auto::Latency,
    /// What a sweep writes goes past the caches: they are for what it reads. CUDA alone, see [`Plan::streams`].
    pub stream: bool,
    /// The ghosts that a sweep reads the cells of instead, if [`Plan::may_read_inside`]: its box is the whole domain of
    /// the arrays.
    pub ghosts: Vec<ghosts::Ghosts>,
    /// Cells run in order along an axis: a thread takes all cells of a line. Such a sweep neither marches nor has
    /// tiles.
    pub along: Option<Along>,
    /// Only cells of one colour run, each in a thread of its own. Such a sweep neither marches nor has tiles.
    pub colours: Option<Colours>,
}

/// The colours of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Colours {
    /// How far cells of one colour are apart, along each axis of the kernel.
    pub every: [u32; 4],
    /// Along the last axis they begin one cell earlier for each step along another axis: a colour is the sum of the
    /// coordinates, divided by `every` of the last axis, and its remainder.
    pub slanted: bool,
}

impl Colours {
    /// How far cells of a colour are apart along an axis.
    pub fn every(&self, axis: usize) -> i64 {
        self.every.get(axis).map_or(1, |every| i64::from((*every).max(1)))
    }

    /// Cells of one colour along each axis, at most, where there are so many of all.
    pub fn of_one(&self, extent: &mut [i64]) {
        extent.iter_mut().enumerate().for_each(|(axis, n)| *n = (*n + self.every(axis) - 1) / self.every(axis));
    }
}

/// How the cells of a sweep run in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Along {
    /// The axis of the kernel.
    pub axis: u32,
    /// From the last cell to the first.
    pub backward: bool,
    /// Columns of the chunks in which lines along the last axis go through memory that threads share; 0 if they do not.
    pub columns: u32,
    /// Lines of these chunks.
    pub rows: u32,
    /// How many of these chunks are fetched before they are computed, with the one that is; or how many times the cells
    /// ahead. At least two.
    pub ring: u32,
    /// Cells of a line that a thread computes in registers at once, in a chunk or while the next ones come; 0 if it
    /// reads each where it needs it.
    pub ahead: u32,
}

impl Along {
    /// Cell by cell, from memory.
    pub fn new(axis: u32, backward: bool) -> Along {
        Along { axis, backward, columns: 0, rows: 0, ring: 2, ahead: 0 }
    }
}

/// Threads of a block where nothing else is asked for.
const THREADS: u32 = 256;

/// Threads of a block that each take a line: few, so that lines are spread over all multiprocessors.
const LINES: u32 = 64;

/// Threads of a block with several cells side by side each that share rows, and of those along x. Trials found them for
/// heat over three axes in `f32` and in 32 bits of a range (docs/papers/salehi.md).
const FEW: u32 = 128;
const WARP: u32 = 32;

/// Cells that reads span along the axis before the last, beyond one, up to which a block of a wide stencil needs no
/// more rows than 8 (one H100, docs/decisions/0025-wide-stencils.md).
const LOW: u32 = 4;

/// Threads of a block along z, at most.
const DEEP: u32 = 64;

/// So many threads, of which `most` along x. Where a box is thin along x, few lie there: most of them would have no
/// cell.
fn shape(extent: &[i64], most: u32, threads: u32) -> [u32; 3] {
    let along = |axis_from_last: usize| {
        extent.len().checked_sub(axis_from_last + 1).map_or(1, |axis| extent[axis].clamp(1, 1 << 30) as u32)
    };
    let x = along(0).next_power_of_two().min(most);
    let y = along(1).next_power_of_two().min(threads / x);
    let z = along(2).saturating_mul(along(3)).next_power_of_two().min(threads / x / y).min(DEEP);
    [x, y, z]
}

impl Plan {
    /// The mapping for boxes of about these extents (axes of the kernel), over arrays whose widest scalar has `bytes`
    /// bytes: the innermost contiguous axis on x, so that neighbouring threads touch neighbouring cells (MESI-CUDA §4),
    /// and as many threads along it as there are values in 512 bytes: four lines of the memory.
    pub fn mapping(extent: &[i64], bytes: usize) -> [u32; 3] {
        match extent.len() {
            1 => [THREADS, 1, 1],
            _ => shape(extent, (512 / bytes.clamp(2, 8)) as u32, THREADS),
        }
    }

    /// The same for threads that have several cells side by side, where `extent` are threads. If those beside one
    /// another along the axis before the last read the same rows, a warp is wide enough, and a block has few of them:
    /// they end together.
    pub fn mapping_beside(extent: &[i64], bytes: usize, beside: &wide::Beside) -> [u32; 3] {
        let several = beside.cells > 1 && beside.shared && extent.len() > 2;
        match beside.stencil {
            Some(stencil) if several && beside.cells > 2 && stencil.span > LOW => shape(extent, WARP / 2, THREADS),
            Some(_) if several => shape(extent, WARP, THREADS),
            None if several => shape(extent, WARP, FEW),
            _ => Plan::mapping(extent, bytes),
        }
    }

    /// The same for threads that each take a line.
    pub fn mapping_of_lines(along: &Along) -> [u32; 3] {
        match along {
            Along { columns: 1.., rows, .. } => [*rows, (lines::MOVERS + 1) * lines::LANES / rows, 1],
            Along { ahead: 1.., .. } => [lines::LANES, 1, 1],
            _ => [LINES, 1, 1],
        }
    }

    /// The axes of a kernel of so many axes along which threads lie beside one another, the slowest first.
    pub fn axes(&self, rank: usize) -> Vec<usize> {
        let runs = |axis: usize| self.along.is_some_and(|along| along.axis as usize == axis);
        (0..rank).filter(|axis| !runs(*axis)).collect()
    }

    /// Whether lines go chunk by chunk through memory that the threads of a block share.
    pub fn has_chunks(&self) -> bool {
        self.along.is_some_and(|along| along.columns > 0)
    }

    /// Whether cells may read others of what the sweep writes.
    pub fn is_in_place(&self) -> bool {
        self.along.is_some() || self.colours.is_some()
    }

    /// How many cells a thread takes along axis 0 of a kernel of so many axes, if it marches.
    pub fn marches(&self, rank: usize) -> Option<u32> {
        self.march
            .filter(|_| !self.is_in_place())
            .filter(|_| rank > 1 && self.fused.is_none() && self.goal == Goal::Sweep && !self.checked && !self.caches())
    }

    /// How many cells a thread takes along the last axis of a kernel of so many axes.
    pub fn beside(&self, rank: usize) -> u32 {
        self.marches(rank).map_or(1, |_| self.side.max(1))
    }

    /// How many rows of cells a thread takes of a kernel of so many axes, if its block shares planes.
    pub fn shares(&self, rank: usize) -> Option<u32> {
        Some(self.rows).filter(|rows| *rows > 0 && rank == 3 && self.beside(rank) > 1 && self.block[2] == 1)
    }

    /// Whether components are counted from one pointer: in sweeps whose threads have one cell each, from memory.
    pub fn joins(&self, rank: usize) -> bool {
        let one = self.goal == Goal::Sweep && self.fused.is_none() && self.marches(rank).is_none();
        self.joint && self.narrow && one && !self.caches()
    }

    /// Whether stores go past the caches.
    pub fn streams(&self) -> bool {
        self.stream && self.dialect == Dialect::Cuda && self.goal == Goal::Sweep && self.fused.is_none()
    }

    /// Cells of a thread along x and y.
    pub fn cells_of_thread(&self) -> [u32; 2] {
        if self.caches() { self.cells.map(|n| n.max(1)) } else { [1, 1] }
    }

    /// Cells of a block along x, y and z, in plans whose threads do not march.
    pub fn span(&self) -> [u32; 3] {
        let ([x, y, z], [along_x, along_y]) = (self.block, self.cells_of_thread());
        // Warps beside the first one have no lines of their own.
        let y = if self.has_chunks() { 1 } else { y };
        [x * along_x, y * along_y, z]
    }

    /// Blocks along x, y and z that cover a box of these extents (axes of the kernel).
    pub fn blocks(&self, extent: &[i64]) -> [u64; 3] {
        if let Some(fused) = &self.fused {
            return fused.blocks(self.block, self.march.unwrap_or(1), extent).unwrap_or_default();
        }
        let rank = extent.len();
        let mut threads = threads(extent, self.marches(rank).unwrap_or(1), self.beside(rank));
        if let (Some(rows @ 1..), [_, across, _]) = (self.shares(rank), threads.as_mut_slice()) {
            *across = across.unsigned_abs().div_ceil(rows.into()) as i64;
        }
        if let Some(colours) = &self.colours {
            colours.of_one(&mut threads);
        }
        let threads: Vec<i64> = self.axes(rank).into_iter().map(|axis| threads[axis]).collect();
        // Of no line there is nothing to run.
        if extent.iter().any(|n| *n <= 0) { [0; 3] } else { blocks(self.span(), &threads) }
    }

    /// Blocks along x, y and z of a [`Goal::Segments`] over a box of these extents whose first cell along the last axis
    /// is `lo_last`. A block of 256 threads has 8 segments of 8 rows, or 64 segments where there is one axis.
    pub fn segment_blocks(&self, lo_last: i64, extent: &[i64]) -> [u64; 3] {
        let Some((&cells, outer)) = extent.split_last() else { return [0, 0, 0] };
        if cells <= 0 {
            return [0, 0, 0];
        }
        let segments = (lo_last + cells - 1).div_euclid(SEGMENT) - lo_last.div_euclid(SEGMENT) + 1;
        let Some((&rows, outer)) = outer.split_last() else { return [(segments as u64).div_ceil(64), 1, 1] };
        let planes = outer.iter().map(|n| *n.max(&0) as u64).product();
        [(segments as u64).div_ceil(8), (rows.max(0) as u64).div_ceil(8), planes]
    }

    /// Whether a launch gives the address of the region of its box, for arrays with the tile's cuts, and no base: CUDA
    /// has addresses inside memory, and one box one region.
    pub fn points_to_regions(&self) -> bool {
        self.dialect == Dialect::Cuda && !self.many
    }
}

/// Threads along each axis of a box of these extents, each of which takes so many cells along the first axis and along
/// the last.
pub fn threads(extent: &[i64], march: u32, side: u32) -> Vec<i64> {
    let mut threads: Vec<i64> = extent.iter().map(|n| (*n).max(0)).collect();
    let part = |along: &mut i64, cells: u32| *along = along.unsigned_abs().div_ceil(u64::from(cells.max(1))) as i64;
    threads.first_mut().into_iter().for_each(|along| part(along, march));
    threads.last_mut().into_iter().for_each(|along| part(along, side));
    threads
}

/// Blocks of so many threads along x, y and z that cover a box of these extents (axes of the kernel).
pub fn blocks(block: [u32; 3], extent: &[i64]) -> [u64; 3] {
    let along = |from_last: usize| extent.len().checked_sub(from_last + 1).map_or(1, |axis| extent[axis].max(0) as u64);
    let [x, y, z] = block.map(|n| u64::from(n.max(1)));
    [along(0).div_ceil(x), along(1).div_ceil(y), (along(2) * along(3)).div_ceil(z)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_all_their_threads() {
        assert_eq!(Plan::mapping(&[1000], 8), [256, 1, 1]);
        assert_eq!(Plan::mapping(&[512, 512], 8), [64, 4, 1]);
        assert_eq!(Plan::mapping(&[512, 512, 512], 8), [64, 4, 1]);
        assert_eq!(Plan::mapping(&[512, 512, 16], 8), [16, 16, 1]);
        assert_eq!(Plan::mapping(&[512, 2, 3], 8), [4, 2, 32]);
        assert_eq!(Plan::mapping(&[512, 512, 1], 8), [1, 256, 1]);
        assert_eq!(Plan::mapping(&[512, 1, 1], 8), [1, 1, 64]);
        assert_eq!(Plan::mapping(&[4, 4, 2, 3], 8), [4, 2, 16]);
        assert_eq!(Plan::mapping(&[512, 512, 512], 4), [128, 2, 1]);
        assert_eq!(Plan::mapping(&[512, 512, 512], 1), [256, 1, 1]);
        let beside = |cells, shared| wide::Beside { cells, handed: true, shared, ..wide::Beside::ONE };
        assert_eq!(Plan::mapping_beside(&[32, 512, 256], 4, &beside(2, true)), [32, 4, 1]);
        assert_eq!(Plan::mapping_beside(&[32, 2, 256], 4, &beside(2, true)), [32, 2, 2]);
        assert_eq!(Plan::mapping_beside(&[32, 512, 256], 4, &beside(2, false)), [128, 2, 1]);
        assert_eq!(Plan::mapping_beside(&[32, 512, 256], 4, &beside(1, true)), [128, 2, 1]);
        assert_eq!(Plan::mapping_beside(&[512, 256], 4, &beside(2, true)), [128, 2, 1]);
        let of = |span| Some(wide::Stencil { span, before: 0, threads: 512, planes: None });
        let stencil = |cells, span| wide::Beside { stencil: of(span), ..beside(cells, true) };
        assert_eq!(Plan::mapping_beside(&[32, 512, 128], 4, &stencil(4, 4)), [32, 8, 1]);
        assert_eq!(Plan::mapping_beside(&[32, 512, 128], 4, &stencil(4, 8)), [16, 16, 1]);
        assert_eq!(Plan::mapping_beside(&[32, 512, 256], 8, &stencil(2, 8)), [32, 8, 1]);
        assert_eq!(Plan::mapping_beside(&[512, 256], 8, &stencil(2, 8)), [64, 4, 1]);
        assert_eq!(threads(&[9, 5, 7], 4, 2), [3, 5, 4]);
        assert_eq!(threads(&[-1, 0], 1, 1), [0, 0]);
    }
}
