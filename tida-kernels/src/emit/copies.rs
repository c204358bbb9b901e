//! Copies of boxes on a device: ghost fills, and copies between arrays.
//!
//! Which box goes where is worked out once, on the host (TiDA-acc §IV-B, "Ghost Cell Update"), and kept on the device as
//! a [`Table`]. One launch does a whole table: its copies are laid end to end, and each block takes the next
//! [`CELLS`] cells of that line, so that thousands of corners fill blocks as well as a few large faces do.

use crate::element::ScalarType;
use crate::plan::Dialect;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Cells that a block copies, if there are as many.
pub const CELLS: u64 = 4 * THREADS as u64;
/// Cells of a copy, and distances within its boxes, stay below this: the kernel counts them in 32 bits, and divides
/// exactly.
const NARROW: u64 = 1 << 31;

/// Source text, and how to call it: `entry(to, from, table, copies)` with the memory to write and to read (they may be
/// the same), that of a [`Table`], and [`Table::copies`] as `u32`; [`Table::blocks`] blocks of [`THREADS`] threads.
#[derive(Clone, Debug)]
pub struct CopySource {
    /// The whole text.
    pub text: String,
    /// Name of the kernel in it.
    pub entry: &'static str,
}

/// Sets each cell of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxCopy {
    /// Cells along each axis.
    pub extent: [u64; 4],
    /// Where they are.
    pub to: Place,
    /// What they are set to.
    pub from: From,
}

/// What cells are set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The cells of another box.
    Box(Place),
    /// The cells of another box, negated.
    Negated(Place),
    /// `near + distance * (near - far)`.
    Line {
        /// The values next to the face.
        near: Place,
        /// The values behind them.
        far: Place,
        /// How far from `near` the cells are.
        distance: i64,
    },
    /// One value: its bits, zero-extended.
    Constant(u64),
}

/// Where the cells of a box are, in values of the kernel's scalar type from the start of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Position of the first cell.
    pub first: u64,
    /// Distance between neighbours along each axis.
    pub steps: [u64; 4],
}

/// Copies as the kernel reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What is to lie in memory, aligned to 16 bytes.
    pub bytes: Vec<u8>,
    /// Number of copies.
    pub copies: u32,
    /// Blocks to launch.
    pub blocks: u32,
}

/// The scalar type whose kernel does the copies of a component of type `scalar`. Types of one size share a kernel
/// where no values are computed (not even the bits of a NaN change), and integers always do.
pub const fn kernel_type(scalar: ScalarType, computed: bool) -> ScalarType {
    match scalar {
        ScalarType::F32 | ScalarType::F64 if computed => scalar,
        _ => match scalar.size() {
            1 => ScalarType::U8,
            4 => ScalarType::U32,
            _ => ScalarType::U64,
        },
    }
}

/// The kernel that copies boxes of values of a scalar type.
pub fn copies(dialect: Dialect, scalar: ScalarType) -> CopySource {
    let head = match dialect {
        Dialect::Cuda => CUDA,
        Dialect::OpenCl => OPENCL,
    };
    let word = match scalar.size() {
        1 => "u8",
        4 => "u32",
        _ => "u64",
    };
    let computed = match (scalar, dialect) {
        (ScalarType::F32, Dialect::Cuda) => CUDA_F32,
        (ScalarType::F64, Dialect::Cuda) => CUDA_F64,
        (ScalarType::F32, Dialect::OpenCl) => OPENCL_F32,
        (ScalarType::F64, Dialect::OpenCl) => OPENCL_F64,
        _ => INTEGER,
    };
    CopySource { text: format!("{head}typedef {word} Word;\n{computed}{BODY}"), entry: "tida_copies" }
}

const CUDA: &str = r#"// Copies of boxes. The memory written and the memory read may be the same.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define INLINE __device__ __forceinline__
#define GLOBAL
#define RESTRICT __restrict__
#define BLOCK blockIdx.x
#define THREAD threadIdx.x
#define HIGH(a, b) __umulhi(a, b)
"#;

const OPENCL: &str = r#"// Copies of boxes. The memory written and the memory read may be the same.
typedef uchar u8;
typedef uint u32;
typedef ulong u64;
typedef long i64;
#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
#define INLINE static inline
#define GLOBAL __global
#define RESTRICT restrict
#define BLOCK get_group_id(0)
#define THREAD get_local_id(0)
#define HIGH(a, b) mul_hi(a, b)
"#;

/// Two's complement: the same for signed and unsigned.
const INTEGER: &str = "
INLINE Word negated(Word a) { return (Word)(0 - a); }
INLINE Word line(Word near, Word far, i64 distance) {
    return (Word)(near + (Word)((Word)distance * (Word)(near - far)));
}
";

/// No contraction, whatever the compiler is told.
const CUDA_F32: &str = "
INLINE Word negated(Word a) { return a ^ 0x80000000u; }
INLINE Word line(Word near, Word far, i64 distance) {
    float a = __uint_as_float(near), b = __uint_as_float(far);
    return __float_as_uint(__fadd_rn(a, __fmul_rn((float)distance, __fsub_rn(a, b))));
}
";

const CUDA_F64: &str = "
INLINE Word negated(Word a) { return a ^ 0x8000000000000000ull; }
INLINE Word line(Word near, Word far, i64 distance) {
    double a = __longlong_as_double(near), b = __longlong_as_double(far);
    return __double_as_longlong(__dadd_rn(a, __dmul_rn((double)distance, __dsub_rn(a, b))));
}
";

const OPENCL_F32: &str = "#pragma OPENCL FP_CONTRACT OFF

INLINE Word negated(Word a) { return a ^ 0x80000000u; }
INLINE Word line(Word near, Word far, i64 distance) {
    float a = as_float(near), b = as_float(far);
    float product = (float)distance * (a - b);
    return as_uint(a + product);
}
";

const OPENCL_F64: &str = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

INLINE Word negated(Word a) { return a ^ 0x8000000000000000ul; }
INLINE Word line(Word near, Word far, i64 distance) {
    double a = as_double(near), b = as_double(far);
    double product = (double)distance * (a - b);
    return as_ulong(a + product);
}
";

/// Reads all of a thread's cells before it writes the first, so that the reads are under way together.
const BODY: &str = "
enum { BOX, NEGATED, LINE, CONSTANT };

typedef struct {                    // 128 bytes, in words that one load takes
    u64 to, from;                   // positions of the first cell
    u64 far, value;                 // a line's far source; a constant's bits, or a line's distance
    uint4 extent;                   // x: what is done; y, z, w: cells along the last three axes
    uint4 inverse, shift;           // y, z, w: how to divide by the extent
    uint4 to_step, from_step, far_step;
} Copy;

// n / extent for n < 2^31
INLINE u32 quotient(u32 n, u32 inverse, u32 shift) { return inverse ? HIGH(n, inverse) >> shift : n; }

INLINE u32 along(uint4 step, uint4 at) { return at.x * step.x + at.y * step.y + at.z * step.z + at.w * step.w; }

// The cell with number n of a box.
INLINE uint4 cell_at(u32 n, uint4 extent, uint4 inverse, uint4 shift) {
    u32 row = quotient(n, inverse.w, shift.w), plane = quotient(row, inverse.z, shift.z);
    uint4 at;
    at.x = quotient(plane, inverse.y, shift.y);
    at.y = plane - at.x * extent.y;
    at.z = row - plane * extent.z;
    at.w = n - row * extent.w;
    return at;
}

// The table: the copies; the number of each one's first cell and of one past the last; the copy each block starts in.
KERNEL tida_copies(GLOBAL Word *to, GLOBAL const Word *from, GLOBAL const u64 *RESTRICT table, u32 copies) {
    GLOBAL const Copy *RESTRICT list = (GLOBAL const Copy *)table;
    GLOBAL const u64 *RESTRICT starts = (GLOBAL const u64 *)(list + copies);
    GLOBAL const u32 *RESTRICT first = (GLOBAL const u32 *)(starts + copies + 1);
    u32 block = (u32)BLOCK, low = first[block], last = first[block + 1];
    u64 total = starts[copies], start = (u64)block * 1024 + (u32)THREAD;
    Word words[4];
    u64 targets[4];
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        u64 cell = start + k * 256;
        if (cell >= total) continue;
        for (u32 high = last; low < high;) {
            u32 middle = low + (high - low + 1) / 2;
            if (starts[middle] <= cell) low = middle; else high = middle - 1;
        }
        GLOBAL const Copy *RESTRICT copy = list + low;
        uint4 extent = copy->extent;
        uint4 at = cell_at((u32)(cell - starts[low]), extent, copy->inverse, copy->shift);
        targets[k] = copy->to + along(copy->to_step, at);
        u32 mode = extent.x;
        if (mode == CONSTANT) {
            words[k] = (Word)copy->value;
            continue;
        }
        Word near = from[copy->from + along(copy->from_step, at)];
        if (mode == NEGATED) near = negated(near);
        if (mode == LINE) near = line(near, from[copy->far + along(copy->far_step, at)], (i64)copy->value);
        words[k] = near;
    }
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        if (start + k * 256 < total) to[targets[k]] = words[k];
    }
}
";

/// The tables that do all of `copies`, of which none may write what another touches, in launches of at most
/// `most_blocks` blocks. Empty boxes are left out.
pub fn tables(copies: &[BoxCopy], most_blocks: u64) -> Vec<Table> {
    let most_blocks = most_blocks.clamp(1, NARROW - 1);
    let most_cells = (most_blocks * CELLS).min(NARROW - 1);
    let mut open = Open::default();
    let mut done = Vec::new();
    let mut todo: Vec<BoxCopy> = copies.iter().rev().filter(|copy| !copy.extent.contains(&0)).copied().collect();
    while let Some(copy) = todo.pop() {
        if let Some((low, high)) = copy.halves(most_cells) {
            todo.extend([high, low]);
            continue;
        }
        let cells = copy.cells() as u64;
        if open.cells + cells > most_blocks * CELLS || open.list.len() as u64 == NARROW {
            done.push(std::mem::take(&mut open).table());
        }
        open.push(&copy, cells);
    }
    if open.cells > 0 {
        done.push(open.table());
    }
    done
}

/// A table in the making.
#[derive(Default)]
struct Open {
    cells: u64,
    starts: Vec<u64>,
    list: Vec<[u8; RECORD]>,
}

/// Bytes of the kernel's `Copy`.
const RECORD: usize = 128;

impl Open {
    fn push(&mut self, copy: &BoxCopy, cells: u64) {
        self.starts.push(self.cells);
        self.cells += cells;
        self.list.push(copy.record());
    }

    fn table(self) -> Table {
        let blocks = self.cells.div_ceil(CELLS);
        let mut bytes = Vec::with_capacity(self.starts.len() * (RECORD + 8) + blocks as usize * 4 + 16);
        self.list.iter().for_each(|record| bytes.extend(record));
        self.starts.iter().for_each(|start| bytes.extend(start.to_ne_bytes()));
        bytes.extend(self.cells.to_ne_bytes());
        let mut copy = 0u32;
        for block in 0..=blocks {
            // The last entry is that of a block after the end.
            let cell = (block * CELLS).min(self.cells - 1);
            while self.starts.get(copy as usize + 1).is_some_and(|start| *start <= cell) {
                copy += 1;
            }
            bytes.extend(copy.to_ne_bytes());
        }
        Table { bytes, copies: self.list.len() as u32, blocks: blocks as u32 }
    }
}

impl BoxCopy {
    fn cells(&self) -> u128 {
        self.extent.iter().map(|n| u128::from(*n)).fold(1, u128::saturating_mul)
    }

    /// Its two halves along the axis that makes it too large for 32 bits, or for `most` cells; none if it is not.
    fn halves(&self, most: u64) -> Option<(BoxCopy, BoxCopy)> {
        let span = |place: &Place, d: usize| u128::from(self.extent[d] - 1) * u128::from(place.steps[d]);
        let far = |place: &&Place| (0..4).map(|d| span(place, d)).sum::<u128>() >= u128::from(NARROW);
        let places = [Some(&self.to), self.from.places()[0], self.from.places()[1]];
        let axis = match places.into_iter().flatten().find(far) {
            Some(place) => (0..4).max_by_key(|d| span(place, *d)),
            None if self.cells() > u128::from(most) => (0..4).max_by_key(|d| self.extent[*d]),
            None => None,
        }?;
        let middle = self.extent[axis] / 2;
        let (mut low, mut high) = (*self, *self);
        low.extent[axis] = middle;
        high.extent[axis] -= middle;
        let onwards = |place: Place| Place { first: place.first + middle * place.steps[axis], ..place };
        high.to = onwards(self.to);
        high.from = match self.from {
            From::Box(place) => From::Box(onwards(place)),
            From::Negated(place) => From::Negated(onwards(place)),
            From::Line { near, far, distance } => From::Line { near: onwards(near), far: onwards(far), distance },
            From::Constant(bits) => From::Constant(bits),
        };
        Some((low, high))
    }

    /// The kernel's `Copy`, of a box that is small enough.
    fn record(&self) -> [u8; RECORD] {
        let nowhere = Place::default();
        let (mode, from, far, value) = match self.from {
            From::Box(place) => (0, place, nowhere, 0),
            From::Negated(place) => (1, place, nowhere, 0),
            From::Line { near, far, distance } => (2, near, far, distance as u64),
            From::Constant(bits) => (3, nowhere, nowhere, bits),
        };
        let inner = [1, 2, 3].map(|d| self.extent[d] as u32);
        let inverses = inner.map(inverse);
        // Along an axis of one cell no distance is needed, and any might be too large.
        let steps = |place: Place| (0..4).map(move |d| if self.extent[d] > 1 { place.steps[d] as u32 } else { 0 });
        let mut bytes = [0; RECORD];
        let mut at = 0;
        let mut put = |word: &[u8]| {
            bytes[at..at + word.len()].copy_from_slice(word);
            at += word.len();
        };
        [self.to.first, from.first, far.first, value].iter().for_each(|word| put(&word.to_ne_bytes()));
        let words = [mode].into_iter().chain(inner);
        let words = words.chain([0]).chain(inverses.map(|i| i.0)).chain([0]).chain(inverses.map(|i| i.1));
        words.chain(steps(self.to)).chain(steps(from)).chain(steps(far)).for_each(|word| put(&word.to_ne_bytes()));
        bytes
    }
}

impl From {
    fn places(&self) -> [Option<&Place>; 2] {
        match self {
            From::Box(place) | From::Negated(place) => [Some(place), None],
            From::Line { near, far, .. } => [Some(near), Some(far)],
            From::Constant(_) => [None, None],
        }
    }
}

/// `(m, s)` such that `n / d` is the high half of `n * m`, shifted right by `s`, for all `n < 2^31`; `m` is 0 for 1.
///
/// With `2^s < d <= 2^(s+1)` and `m = ceil(2^(32+s) / d)` the product is too large by less than `n * d`, in units of
/// `1 / d`, which is below `2^(32+s)` as `n < 2^31`.
fn inverse(d: u32) -> (u32, u32) {
    if d <= 1 {
        return (0, 0);
    }
    let s = (d - 1).ilog2();
    ((1u64 << (32 + s)).div_ceil(u64::from(d)) as u32, s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotient(n: u32, (m, s): (u32, u32)) -> u32 {
        if m == 0 { n } else { ((u64::from(n) * u64::from(m)) >> 32) as u32 >> s }
    }

    #[test]
    fn division_is_exact() {
        let edges = |x: u32| [x.wrapping_sub(1), x, x.wrapping_add(1)];
        let powers = (0..32).flat_map(|s| edges(1 << s));
        for d in (1..2000).chain(powers).chain([641, 6_700_417, 715_827_883, 2_147_483_629]) {
            if d == 0 || d >= 1 << 31 {
                continue;
            }
            let multiples = [1, 2, 3, (1 << 30) / d, ((1u32 << 31) - 1) / d].map(|k| k.saturating_mul(d));
            for n in multiples.into_iter().flat_map(edges).chain([0, (1 << 31) - 1, 1 << 30, 0x5555_5555]) {
                if n < 1 << 31 {
                    assert_eq!(quotient(n, inverse(d)), n / d, "{n} / {d}");
                }
            }
        }
    }

    fn words(table: &Table) -> (Vec<u64>, Vec<u32>) {
        let n = table.copies as usize;
        let (starts, first) = table.bytes[RECORD * n..].split_at(8 * (n + 1));
        let starts = starts.chunks(8).map(|b| u64::from_ne_bytes(b.try_into().unwrap()));
        let first = first.chunks(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap()));
        (starts.collect(), first.collect())
    }

    #[test]
    fn blocks_find_their_copies() {
        let place = Place { first: 0, steps: [0, 0, 0, 1] };
        let copy = |n| BoxCopy { extent: [1, 1, 1, n], to: place, from: From::Constant(0) };
        let copies: Vec<_> = [1, 1022, 1, 0, 3000, 5].into_iter().map(copy).collect();
        let tables = tables(&copies, 1 << 20);
        assert_eq!(tables.len(), 1);
        assert_eq!((tables[0].copies, tables[0].blocks), (5, 4));
        let (starts, first) = words(&tables[0]);
        assert_eq!(starts, [0, 1, 1023, 1024, 4024, 4029]);
        assert_eq!(first, [0, 3, 3, 3, 4]);
    }

    #[test]
    fn large_boxes_are_cut() {
        // 2^34 cells whose source is spread over more than 2^40.
        let to = Place { first: 7, steps: [1 << 24, 1 << 14, 1 << 4, 1] };
        let from = Place { first: 1 << 33, steps: [1 << 31, 1 << 20, 1 << 10, 3] };
        let copy = BoxCopy { extent: [1 << 10, 1 << 10, 1 << 10, 16], to, from: From::Box(from) };
        let tables = tables(&[copy], (1 << 31) - 1);
        let cells: u64 = tables.iter().map(|table| *words(table).0.last().unwrap()).sum();
        assert_eq!(cells, 1 << 34);
        let mut last = None;
        for table in &tables {
            for record in table.bytes.chunks(RECORD).take(table.copies as usize) {
                let word = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().unwrap());
                let start = (word(0), word(8));
                // In order, and both sides move together.
                assert_eq!((start.0 - 7) >> 24, (start.1 - (1 << 33)) >> 31);
                assert!(last < Some(start));
                last = Some(start);
            }
        }
        let small = super::tables(&[BoxCopy { extent: [1, 1, 3, 2000], to, from: From::Constant(1) }], 2);
        assert_eq!(small.iter().map(|table| table.blocks).collect::<Vec<_>>(), [2; 4]);
    }
}
