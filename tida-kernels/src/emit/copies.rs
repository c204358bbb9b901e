//! Copies of boxes on a device: ghost fills, and copies between arrays.
//!
//! Which box goes where is worked out once, on the host (TiDA-acc §IV-B, "Ghost Cell Update"), and kept on the device
//! as a [`Table`] of pieces of boxes. One launch does a whole table, each warp one piece of it: a row of a large face,
//! or all of an edge or a corner. What a warp needs to know is in one record, and all that it reads is under way at
//! once.

#[cfg(feature = "emit")]
mod text;

#[cfg(feature = "emit")]
pub use text::copies;

#[cfg(not(feature = "emit"))]
pub use super::absent::copies;
use crate::codec::Codec;
use crate::element::ScalarType;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Threads that do a piece.
const WARP: u32 = 32;
/// Pieces that a block does.
const PIECES: u64 = (THREADS / WARP) as u64;
/// Units of [`WIDE`] bytes that a thread reads before it writes the first.
const UNITS: u32 = 8;
/// Values that it does, where they are moved one by one.
const VALUES: u32 = 4;
/// Bytes that a thread moves at once where all places are multiples of them.
const WIDE: u64 = 16;
/// Tables of more pieces than this have larger ones, so that a table stays small beside what it moves.
const MANY: u64 = 1 << 14;
/// Cells of a copy, and distances within its boxes, stay below this: the kernel counts them in 32 bits, and divides
/// exactly.
const NARROW: u64 = 1 << 31;

/// Source text, and how to call it: `entry(to, from, table, pieces)` with the memory to write and to read (they may be
/// the same), that of a [`Table`], and [`Table::pieces`] as `u32`; [`Table::blocks`] blocks of [`THREADS`] threads. All
/// three memories are aligned to 16 bytes.
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

/// What cells are set to, where boxes are said by a `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From<P = Place> {
    /// The cells of another box.
    Box(P),
    /// The cells of another box, negated.
    Negated(P),
    /// `near + distance * (near - far)`.
    Line {
        /// The values next to the face.
        near: P,
        /// The values behind them.
        far: P,
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
    /// Number of pieces.
    pub pieces: u32,
    /// Blocks to launch.
    pub blocks: u32,
}

/// What a kernel of copies is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Values of a type.
    Scalar(ScalarType),
    /// Codes, of which some are computed.
    Codes(Codec),
    /// Values of which some are computed, and rounded.
    Rounded(Codec),
}

impl Kind {
    /// The type of what lies in memory.
    pub fn scalar(&self) -> ScalarType {
        match self {
            Kind::Scalar(scalar) => *scalar,
            Kind::Codes(codec) => codec.code(),
            Kind::Rounded(codec) => codec.value(),
        }
    }
}

/// The scalar type whose kernel does the copies of a component of type `scalar`. Types of one size share a kernel
/// where no values are computed (not even the bits of a NaN change), and integers always do.
pub const fn kernel_type(scalar: ScalarType, computed: bool) -> ScalarType {
    match scalar {
        ScalarType::F32 | ScalarType::F64 if computed => scalar,
        _ => match scalar.size() {
            1 => ScalarType::U8,
            2 => ScalarType::U16,
            4 => ScalarType::U32,
            _ => ScalarType::U64,
        },
    }
}

/// The tables that do all of `copies` between values of a scalar type, of which none may write what another touches, in
/// launches of at most `most_blocks` blocks. Empty boxes are left out.
pub fn tables(copies: &[BoxCopy], scalar: ScalarType, most_blocks: u64) -> Vec<Table> {
    let mut todo: Vec<BoxCopy> = copies.iter().rev().filter(|copy| !copy.extent.contains(&0)).copied().collect();
    let mut simple = Vec::with_capacity(todo.len());
    while let Some(copy) = todo.pop() {
        match copy.halves() {
            Some((low, high)) => todo.extend([high, low]),
            None => simple.push(Simple::new(&copy, scalar)),
        }
    }
    let units: u128 = simple.iter().map(|copy| u128::from(copy.units())).sum();
    let once = u64::from(UNITS * WARP);
    let most = (units / u128::from(MANY)).min(u128::from(NARROW / 2)) as u64;
    let most = most.next_multiple_of(once).max(once);
    let most_pieces = most_blocks.clamp(1, NARROW / PIECES) as usize * PIECES as usize;
    let mut done = Vec::new();
    let mut bytes = Vec::new();
    let mut close = |bytes: &mut Vec<u8>| {
        let pieces = bytes.len() / RECORD;
        if pieces > 0 {
            let blocks = (pieces as u64).div_ceil(PIECES) as u32;
            done.push(Table { bytes: std::mem::take(bytes), pieces: pieces as u32, blocks });
        }
    };
    for copy in &simple {
        copy.pieces(most, |piece| {
            bytes.extend(piece.record());
            if bytes.len() / RECORD >= most_pieces {
                close(&mut bytes);
            }
        });
    }
    close(&mut bytes);
    done
}

/// Bytes of the kernel's `Piece`.
const RECORD: usize = 96;

impl BoxCopy {
    fn cells(&self) -> u128 {
        self.extent.iter().map(|n| u128::from(*n)).fold(1, u128::saturating_mul)
    }

    /// Its two halves along the axis that makes it too large for 32 bits; none if it is not.
    fn halves(&self) -> Option<(BoxCopy, BoxCopy)> {
        let span = |place: &Place, d: usize| u128::from(self.extent[d] - 1) * u128::from(place.steps[d]);
        let far = |place: &&Place| (0..4).map(|d| span(place, d)).sum::<u128>() >= u128::from(NARROW);
        let axis = match std::iter::once(&self.to).chain(self.from.sources()).find(far) {
            Some(place) => (0..4).max_by_key(|d| span(place, *d)),
            None if self.cells() >= u128::from(NARROW) => (0..4).max_by_key(|d| self.extent[*d]),
            None => None,
        }?;
        let middle = self.extent[axis] / 2;
        let (mut low, mut high) = (*self, *self);
        low.extent[axis] = middle;
        high.extent[axis] -= middle;
        let onwards = |place: Place| Place { first: place.first + middle * place.steps[axis], ..place };
        high.from = self.from.map(onwards);
        high.to = onwards(self.to);
        Some((low, high))
    }
}

/// A copy or a piece of it as the kernel sees it: in units, with as few axes as can be.
#[derive(Clone, Copy, Debug)]
struct Simple {
    /// The kernel's word for what is done.
    mode: u32,
    /// Units along each axis; those in front that are not needed have one.
    extent: [u64; 4],
    /// Where they go, where they come from, and the far source; all zero where there is none.
    places: [Place; 3],
    /// The kernel's second word of a line.
    value: u64,
}

impl Simple {
    /// Of a box small enough for 32 bits.
    fn new(copy: &BoxCopy, scalar: ScalarType) -> Simple {
        let nowhere = Place::default();
        let (mode, from, far, value) = match copy.from {
            From::Box(place) => (0, place, nowhere, 0),
            From::Negated(place) => (1, place, nowhere, 0),
            From::Line { near, far, distance } => (2, near, far, distance as u64),
            From::Constant(bits) => (3, nowhere, nowhere, bits),
        };
        let mut simple = Simple { mode, extent: [1; 4], places: [copy.to, from, far], value };
        simple.places.iter_mut().for_each(|place| place.steps = [0; 4]);
        // From the last axis to the first: left out if it has one cell, joined to the one behind it if that ends where
        // its next cell begins.
        let mut next = 4;
        for d in (0..4).rev().filter(|d| copy.extent[*d] > 1) {
            let steps = [copy.to, from, far].map(|place| place.steps[d]);
            let goes_on = |(place, step): (&Place, u64)| place.steps[next] * simple.extent[next] == step;
            if next < 4 && simple.places.iter().zip(steps).all(goes_on) {
                simple.extent[next] *= copy.extent[d];
                continue;
            }
            next -= 1;
            simple.extent[next] = copy.extent[d];
            simple.places.iter_mut().zip(steps).for_each(|(place, step)| place.steps[next] = step);
        }
        simple.widened(WIDE / scalar.size() as u64)
    }

    /// The same in units of `wide` values, if it is made of such.
    fn widened(mut self, wide: u64) -> Simple {
        let [to, from, _] = &self.places;
        let [outer, planes, rows, cells] = self.extent;
        // Rows alone: a piece has one plane, which is to be worth a warp.
        let flat = outer * planes == 1 || rows * cells >= wide * u64::from(4 * WARP);
        let fits = |place: &Place| {
            let [a, b, c, along] = place.steps;
            along == 1 && [place.first, a, b, c].iter().all(|n| n.is_multiple_of(wide))
        };
        if self.mode == 0 && flat && cells > wide && cells.is_multiple_of(wide) && fits(to) && fits(from) {
            self.mode = 4;
            self.extent[3] /= wide;
            for place in &mut self.places {
                place.first /= wide;
                (0..3).for_each(|d| place.steps[d] /= wide);
            }
        }
        self
    }

    fn units(&self) -> u64 {
        self.extent.iter().product()
    }

    /// Cuts it into pieces of up to three axes and `most` units.
    fn pieces(&self, most: u64, mut give: impl FnMut(&Simple)) {
        let mut left = most;
        let mut most_along = [1; 4];
        for d in (if self.mode == 4 { 2 } else { 1 }..4).rev() {
            let n = self.extent[d];
            // Of about one size; whole warps where rows are cut.
            let even = n.div_ceil(n.div_ceil(left.min(n)));
            most_along[d] = if d == 3 && even < n { even.next_multiple_of(WARP.into()).min(n) } else { even };
            left = (left / most_along[d]).max(1);
        }
        let count: [u64; 4] = std::array::from_fn(|d| self.extent[d].div_ceil(most_along[d]));
        for number in 0..count.iter().product() {
            let (mut rest, mut piece) = (number, *self);
            for d in (0..4).rev() {
                let lo = rest % count[d] * most_along[d];
                rest /= count[d];
                piece.extent[d] = most_along[d].min(self.extent[d] - lo);
                piece.places.iter_mut().for_each(|place| place.first += lo * place.steps[d]);
            }
            give(&piece);
        }
    }

    /// The kernel's `Piece`.
    fn record(&self) -> [u8; RECORD] {
        let [_, _, rows, row] = self.extent.map(|n| n as u32);
        let [(by_row, row_shift), (by_plane, plane_shift)] = [row, rows].map(inverse);
        let [to, from, far] = &self.places;
        let mut bytes = [0; RECORD];
        let mut at = 0;
        let mut put = |word: &[u8]| {
            bytes[at..at + word.len()].copy_from_slice(word);
            at += word.len();
        };
        let steps = |place: &Place, last: u32| {
            let [_, plane, row, unit] = place.steps.map(|step| step as u32);
            [plane, row, unit, last]
        };
        [to.first, from.first].iter().for_each(|word| put(&word.to_ne_bytes()));
        let shape = [self.mode | row_shift << 8 | plane_shift << 16, self.units() as u32, row, rows];
        let words = [shape, steps(to, by_row), steps(from, by_plane)];
        words.iter().flatten().for_each(|word| put(&word.to_ne_bytes()));
        [far.first, self.value].iter().for_each(|word| put(&word.to_ne_bytes()));
        steps(far, 0).iter().for_each(|word| put(&word.to_ne_bytes()));
        bytes
    }
}

impl<P: Copy> From<P> {
    /// The boxes that are read: the near one of a line first.
    pub fn sources(&self) -> impl Iterator<Item = &P> + use<'_, P> {
        let (first, second) = match self {
            From::Box(source) | From::Negated(source) => (Some(source), None),
            From::Line { near, far, .. } => (Some(near), Some(far)),
            From::Constant(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The same of other boxes: of each that is read, what `of` makes of it.
    pub fn map<Q>(&self, mut of: impl FnMut(P) -> Q) -> From<Q> {
        match *self {
            From::Box(source) => From::Box(of(source)),
            From::Negated(source) => From::Negated(of(source)),
            From::Line { near, far, distance } => From::Line { near: of(near), far: of(far), distance },
            From::Constant(bits) => From::Constant(bits),
        }
    }

    /// Whether values are computed: they are not those of another box, nor constant.
    pub fn is_computed(&self) -> bool {
        matches!(self, From::Negated(_) | From::Line { .. })
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

    /// What the kernel makes of a table: for each unit what is done, where it goes and where it comes from, in values.
    fn moves(table: &Table, size: u64) -> Vec<(u32, u64, u64)> {
        let mut all = Vec::new();
        assert_eq!((table.bytes.len() / RECORD, table.bytes.len() % RECORD), (table.pieces as usize, 0));
        assert_eq!(u64::from(table.blocks), u64::from(table.pieces).div_ceil(PIECES));
        for record in table.bytes.chunks(RECORD) {
            let long = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().unwrap());
            let word = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().unwrap());
            let [what, units, row_units, rows] = [16, 20, 24, 28].map(word);
            let wide = if what & 255 == 4 { WIDE / size } else { 1 };
            for n in 0..units {
                let row = quotient(n, (word(44), what >> 8 & 31));
                let plane = quotient(row, (word(60), what >> 16));
                let at = [plane, row - plane * rows, n - row * row_units];
                let along = |first: usize| (0..3).map(|d| u64::from(at[d] * word(first + 4 * d))).sum::<u64>();
                let (to, from) = ((long(0) + along(32)) * wide, (long(8) + along(48)) * wide);
                all.extend((0..wide).map(|k| (what & 255, to + k, from + k)));
            }
        }
        all
    }

    #[test]
    fn tables_move_each_cell_once() {
        let shapes = [[1, 1, 512, 512], [1, 1, 1, 1], [3, 4, 5, 6], [2, 2, 16, 16], [1, 16, 16, 2], [1, 1, 1, 3000]];
        for (extent, size) in shapes.into_iter().flat_map(|shape| [1, 4, 8].map(|size| (shape, size))) {
            for (first, steps) in [
                ([32, 64], [1 << 20, 1 << 14, 1 << 11, 1]),
                ([33, 65], [1 << 20, 1 << 14, 1 << 11, 1]),
                ([0, 0], [extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1]),
                ([1, 2], [1 << 20, 1 << 14, 1 << 12, 1 << 13]),
            ] {
                let steps = if extent[2] == 512 { [1 << 26, 1 << 25, 1 << 13, steps[3].min(3)] } else { steps };
                let place = |first| Place { first, steps };
                let copy = BoxCopy { extent, to: place(first[0]), from: From::Box(place(first[1])) };
                let ty = [ScalarType::U8, ScalarType::U32, ScalarType::U64][size / 4];
                for most_blocks in [1, 1 << 20] {
                    let tables = tables(&[copy], ty, most_blocks);
                    assert!(tables.iter().all(|table| u64::from(table.blocks) <= most_blocks));
                    let mut found: Vec<_> = tables.iter().flat_map(|table| moves(table, size as u64)).collect();
                    found.sort_unstable();
                    let cells = GridCells(extent).map(|at| (0..4).map(|d| at[d] * steps[d]).sum::<u64>());
                    let mode = found[0].0;
                    let mut wanted: Vec<_> = cells.map(|at| (mode, first[0] + at, first[1] + at)).collect();
                    wanted.sort_unstable();
                    assert!(found == wanted, "{copy:?}");
                }
            }
        }
    }

    /// Every index below an extent.
    struct GridCells([u64; 4]);

    impl GridCells {
        fn map<T>(self, f: impl Fn([u64; 4]) -> T) -> impl Iterator<Item = T> {
            let [a, b, c, d] = self.0;
            (0..a * b * c * d).map(move |n| f([n / (b * c * d), n / (c * d) % b, n / d % c, n % d]))
        }
    }

    #[test]
    fn rows_of_a_face_are_pieces() {
        // A face between two slabs of 512 x 512 f64: each row is 256 units of 16 bytes.
        let steps = [0, 0, 528, 1];
        let (to, from) = (Place { first: 16, steps }, Place { first: 1 << 20, steps });
        let copy = BoxCopy { extent: [1, 1, 512, 512], to, from: From::Box(from) };
        let [table] = &tables(&[copy], ScalarType::U64, 1 << 20)[..] else { panic!("several tables") };
        assert_eq!((table.pieces, table.blocks), (512, 64));
        assert!(moves(table, 8).iter().all(|(mode, ..)| *mode == 4));
        // A corner, an edge along the first axis, and what is computed are not.
        let corner = BoxCopy { extent: [1; 4], ..copy };
        let edge = BoxCopy { extent: [1, 1, 16, 1], ..copy };
        let odd = BoxCopy { extent: [1, 1, 1, 64], from: From::Negated(from), ..copy };
        let [table] = &tables(&[corner, edge, odd], ScalarType::U64, 1 << 20)[..] else { panic!("several tables") };
        assert_eq!((table.pieces, table.blocks), (3, 1));
        assert_eq!(moves(table, 8).iter().filter(|(mode, ..)| *mode == 0).count(), 17);
    }

    #[test]
    fn large_boxes_are_cut() {
        // 2^34 cells whose source is spread over more than 2^40.
        let to = Place { first: 7, steps: [1 << 24, 1 << 14, 1 << 4, 1] };
        let from = Place { first: 1 << 33, steps: [1 << 31, 1 << 20, 1 << 10, 3] };
        let copy = BoxCopy { extent: [1 << 10, 1 << 10, 1 << 10, 16], to, from: From::Box(from) };
        let tables = tables(&[copy], ScalarType::F64, (1 << 31) - 1);
        let (mut cells, mut pieces, mut last) = (0, 0, None);
        for table in &tables {
            pieces += table.pieces;
            for record in table.bytes.chunks(RECORD) {
                let word = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().unwrap());
                cells += word(16) >> 32;
                let start = (word(0), word(8));
                // In order, and both sides move together.
                assert_eq!((start.0 - 7) >> 24, (start.1 - (1 << 33)) >> 31);
                assert!(last < Some(start));
                last = Some(start);
            }
        }
        assert_eq!(cells, 1 << 34);
        // A table is small beside what it moves.
        assert!(u64::from(pieces) <= 2 * MANY, "{pieces}");
        let small =
            super::tables(&[BoxCopy { extent: [1, 1, 3, 4000], to, from: From::Constant(1) }], ScalarType::F32, 2);
        assert_eq!(small.iter().map(|table| table.blocks).collect::<Vec<_>>(), [2, 2, 2]);
    }
}
