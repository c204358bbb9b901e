//! Threads that read the values of several cells side by side at once: 16 bytes, as memory is fastest.
//!
//! Where each cell reads little, one value a read leaves too few bytes under way, the more so the fewer bits an array
//! keeps (docs/decisions/0020-storage.md). Values of 4 bytes and more are read faster one by one, by as many threads as
//! there are cells.

use std::ops::Range;

use super::alike::alike;
use super::planes::Shape;
use crate::analysis::Analysis;
use crate::codec::Codec;
use crate::ir::{Access, ExprKind, Kernel, has_loop};

/// Bytes of the widest read.
const BYTES: usize = 16;

/// Most cells of a thread side by side.
const MOST: usize = 8;

/// Most values of a cell that are read so: what they take in registers.
const READS: usize = 4;

/// A component of an argument that each cell reads once, at constants from it along all axes but the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The argument.
    pub arg: usize,
    /// The component.
    pub component: usize,
    /// Offsets from the cell; 0 along the last axis.
    pub offsets: Vec<i64>,
    /// Bytes of a value.
    pub bytes: usize,
}

/// What a thread reads at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wide {
    /// Cells side by side: 2, 4 or 8, so that no read has more than 16 bytes.
    pub cells: usize,
    /// All reads of arrays.
    pub reads: Vec<Read>,
}

/// Bytes of a value of which several are read at once.
const NARROW: usize = 2;

/// What a thread of a kernel may read at once, if all that each of its cells reads of arrays are few values, some of
/// them narrow and none of a neighbour along the last axis.
pub fn wide(kernel: &Kernel, analysis: &Analysis) -> Option<Wide> {
    let mut reads: Vec<Read> = Vec::new();
    if !analysis.complete || kernel.group.is_some() {
        return None;
    }
    for (arg, usage) in analysis.args.iter().enumerate() {
        let of = kernel.args.get(arg)?;
        for access in usage.accesses.iter().filter(|access| !access.write) {
            match of.access {
                Access::Table => continue,
                Access::Read if of.rank == kernel.rank && !access.conditional => {}
                _ => return None,
            }
            let (component, offsets) = (access.component? as usize, access.offsets()?);
            let bytes = of.element.component_types().get(component)?.size();
            let read = Read { arg, component, offsets, bytes };
            if read.offsets.last() != Some(&0) {
                return None;
            }
            if !reads.contains(&read) {
                reads.push(read);
            }
        }
    }
    if reads.iter().all(|read| read.bytes > NARROW) {
        return None;
    }
    let widest = reads.iter().map(|read| read.bytes).max()?;
    let cells = (BYTES / widest.max(1)).clamp(2, MOST);
    (reads.len() <= READS).then_some(Wide { cells, reads })
}

/// Values of a component around the cells of a thread that has several side by side: a row of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The argument.
    pub arg: usize,
    /// The component.
    pub component: usize,
    /// Offsets from the cells on all axes but the last.
    pub before: Vec<i64>,
    /// Lowest and highest offset along the last axis.
    pub along: (i64, i64),
    /// What memory holds, if not the values.
    pub codec: Option<Codec>,
    /// Bytes of what memory holds.
    pub bytes: usize,
}

impl Row {
    /// Bytes of a value.
    fn value(&self) -> usize {
        self.codec.map_or(self.bytes, |codec| codec.value().size())
    }

    /// The cells whose values it holds, by their number from the first of so many.
    pub fn held(&self, cells: usize) -> Range<i64> {
        self.along.0..cells as i64 + self.along.1
    }

    /// 32-bit registers of those values.
    pub(super) fn registers(&self, cells: usize) -> usize {
        let held = self.held(cells);
        (held.end - held.start).max(0) as usize * self.value().div_ceil(4)
    }
}

/// A march of several cells side by side: what it keeps decoded, and what it stores at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Cells side by side: 2 or 4.
    pub cells: usize,
    /// Everything that is read of arrays.
    pub rows: Vec<Row>,
    /// Everything that is written, argument and component, with the bytes of what memory holds.
    pub stores: Vec<(usize, usize, usize)>,
    /// Arguments that are written whose values from before are taken first: those that a cell reads.
    pub kept: Vec<usize>,
    /// The cells read the same of whole arrays (see `alike`).
    pub alike: bool,
}

/// Planes that a wide stencil asks for ahead of the one that it reads.
pub const AHEAD: i64 = 2;

/// What a choice of a plan has to know of a march of several cells side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Cells side by side: 1 where a thread has no use for more.
    pub cells: u32,
    /// Values are handed on along axis 0: before the first cell of a march there are planes to read and to decode.
    pub handed: bool,
    /// Cells that differ along an axis between the first and the last read the same rows.
    pub shared: bool,
    /// What there is to know of a wide stencil.
    pub stencil: Option<Stencil>,
    /// The cells read the same of whole arrays.
    pub alike: bool,
}

/// What a choice of a plan has to know of a wide stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stencil {
    /// How many cells its reads span along the axis before the last, beyond one.
    pub span: u32,
    /// Bytes of a cell in the planes that are read before the first cell of a march.
    pub before: u32,
    /// Threads that a multiprocessor is to hold, so that each has the registers that it needs.
    pub threads: u32,
    /// Blocks that share planes, if they should.
    pub planes: Option<Shape>,
}

impl Beside {
    /// One cell a thread.
    pub const ONE: Beside = Beside { cells: 1, handed: false, shared: false, stencil: None, alike: false };
}

impl Side {
    /// The row one plane above another, from which values are handed down.
    pub fn above(&self, row: &Row) -> Option<&Row> {
        self.rows.iter().find(|other| {
            (other.arg, other.component) == (row.arg, row.component)
                && other.before[1..] == row.before[1..]
                && other.before[0] == row.before[0] + 1
        })
    }

    /// Whether some array holds codes.
    fn is_coded(&self) -> bool {
        self.rows.iter().any(|row| row.codec.is_some())
    }

    /// Whether it is a wide stencil: no array holds codes, and the cells have reads around them alone.
    pub fn is_stencil(&self) -> bool {
        !self.is_coded() && !self.alike
    }

    /// How many cells reads of one component span along the axis before the last, beyond one.
    fn span(&self) -> u32 {
        let along = |row: &Row| row.before.last().copied().filter(|_| row.before.len() > 1).unwrap_or(0);
        let same = |row: &Row, other: &Row| (row.arg, row.component) == (other.arg, other.component);
        let apart =
            |row: &Row| self.rows.iter().filter(|other| same(row, other)).map(|other| along(row) - along(other)).max();
        self.rows.iter().filter_map(apart).max().unwrap_or(0).unsigned_abs() as u32
    }

    /// Planes of a component from its lowest one that is read up to this row.
    fn below(&self, high: &Row) -> u32 {
        let same = self.rows.iter().filter(|row| (row.arg, row.component) == (high.arg, high.component));
        let low = same.map(|row| row.before[0]).min().unwrap_or(0);
        (high.before[0] - low).unsigned_abs() as u32
    }

    /// Threads that a multiprocessor should hold of a wide stencil: a multiple of 256. How many there are matters more
    /// than that all rows are in registers.
    pub fn threads(&self) -> u32 {
        let held: usize = self.rows.iter().map(|row| row.registers(self.cells)).sum();
        let blocks = REGISTERS / (held + OTHERS) / BLOCK;
        (blocks.clamp(2, 4) * BLOCK) as u32
    }

    /// The rows that no thread has read before: of each component one in the highest plane that is read.
    pub fn first(&self) -> Vec<&Row> {
        let mut first: Vec<&Row> = Vec::new();
        for row in &self.rows {
            let across = |row: &Row| row.before[1..].iter().map(|by| by.unsigned_abs()).sum::<u64>();
            let order = |row: &Row| (row.before[0], std::cmp::Reverse(across(row)));
            match first.iter_mut().find(|other| (other.arg, other.component) == (row.arg, row.component)) {
                Some(other) if order(other) < order(row) => *other = row,
                Some(_) => {}
                None => first.push(row),
            }
        }
        first
    }

    /// What a choice of a plan has to know of it.
    pub fn beside(&self) -> Beside {
        let before = self.first().into_iter().map(|high| self.below(high) * high.bytes as u32).sum();
        let stencil = self.is_stencil().then(|| Stencil {
            span: self.span(),
            before,
            threads: self.threads(),
            planes: Shape::of(self),
        });
        let mut beside = Beside { cells: self.cells as u32, stencil, alike: self.alike, ..Beside::ONE };
        for (n, row) in self.rows.iter().enumerate() {
            for low in &self.rows[..n] {
                let same = (low.arg, low.component) == (row.arg, row.component);
                let apart = low.before.get(1..) != row.before.get(1..);
                // `above` in `emit/side` hands values to the plane below, and no further.
                let next = low.before.first().map(|low| low + 1) == row.before.first().copied();
                beside.handed |= same && !apart && next;
                beside.shared |= same && apart;
            }
        }
        beside
    }
}

/// Bytes of the widest access of codes of a marching thread, and of the values that it makes of them.
const CODES: usize = 8;
const VALUES: usize = 16;

/// 32-bit registers of rows that leave room for the rest, where some are decoded.
const ROOM: usize = 48;

/// The longest way along the last axis that such a row takes beyond the cells.
const BEYOND: i64 = 2;

/// Values that a cell reads of arrays without codes, from which on most of them come from the cache next to the
/// threads: it gives 16 bytes to a thread as fast as 4.
const MANY: usize = 7;

/// Cells that reads span along the axis before the last, beyond one, from which on two cells side by side are worth it.
const FAR: u32 = 4;

/// 32-bit registers that rows of such a kernel are handed on in, and those of all rows.
const HANDED: usize = 72;
const HELD: usize = 176;

/// 32-bit registers of a multiprocessor, those that a thread has for all but its rows, and threads of a block.
const REGISTERS: usize = 1 << 16;
const OTHERS: usize = 36;
const BLOCK: usize = 256;

/// Whether the threads of a kernel that marches should have several cells side by side, and what they then keep: where
/// everything is read in every cell at constants from it and everything written is overwritten, and an array holds
/// codes or a cell reads many values; or where they read alike of whole arrays (see `alike`).
///
/// What memory holds in few bits is then moved at once, a value is decoded where it is read from memory and not in each
/// cell that uses it, and positions are those of all cells. Of wide stencils neighbours along the last axis share what
/// was read. Where nothing is coded and little is read, memory is the limit without it.
pub fn side(kernel: &Kernel, analysis: &Analysis) -> Option<Side> {
    if kernel.rank < 2 || !analysis.complete || kernel.group.is_some() || has_loop(&kernel.body.block) {
        return None;
    }
    stencil(kernel, analysis).or_else(|| alike(kernel, analysis))
}

/// See [`side`], without whole arrays.
fn stencil(kernel: &Kernel, analysis: &Analysis) -> Option<Side> {
    let stores = stores(kernel, analysis)?;
    let (rows, reads) = rows(kernel, analysis, false)?;
    let codes = rows.iter().map(|row| row.bytes).chain(stores.iter().map(|store| store.2)).max()?;
    let values = rows.iter().map(Row::value).max()?.max(codes);
    let side =
        |cells: usize| Side { cells, rows: rows.clone(), stores: stores.clone(), kept: Vec::new(), alike: false };
    if side(1).is_coded() {
        let values = rows.iter().map(Row::value).max()?;
        let cells = (CODES / codes).min(VALUES / values);
        let near = rows.iter().all(|row| -row.along.0 <= BEYOND && row.along.1 <= BEYOND);
        let fits = rows.iter().map(|row| row.registers(cells)).sum::<usize>() <= ROOM;
        return (cells >= 2 && near && fits && !stores.is_empty()).then(|| side(cells));
    }
    let fits = |side: &Side| {
        let handed = side.rows.iter().filter(|row| side.above(row).is_some());
        let handed: usize = handed.map(|row| side.cells * row.value().div_ceil(4)).sum();
        let held: usize = side.rows.iter().map(|row| row.registers(side.cells)).sum();
        handed <= HANDED && held <= HELD && (side.cells > 2 || side.span() >= FAR)
    };
    let most = VALUES / values.max(1);
    (kernel.rank == 3 && reads >= MANY && !stores.is_empty())
        .then(|| [4, 2].into_iter().filter(|cells| *cells <= most).map(side).find(fits))
        .flatten()
}

/// Everything that a kernel writes: argument and component, with the bytes of what memory holds. None if some of it is
/// not overwritten in every cell, or is read.
fn stores(kernel: &Kernel, analysis: &Analysis) -> Option<Vec<(usize, usize, usize)>> {
    let mut stores: Vec<(usize, usize, usize)> = Vec::new();
    for (arg, usage) in analysis.args.iter().enumerate() {
        let of = kernel.args.get(arg)?;
        for access in usage.accesses.iter().filter(|access| access.write) {
            if !(of.access == Access::Write && access.at_cell && usage.must_write && !usage.read) {
                return None;
            }
            let component = access.component? as usize;
            let store = (arg, component, of.element.component_types().get(component)?.size());
            if !stores.contains(&store) {
                stores.push(store);
            }
        }
    }
    Some(stores)
}

/// Everything that a kernel reads of arrays, lower planes before higher ones; and how many different values a cell
/// reads. None if some of it is not read in every cell, at constants from it. Whole arrays are left out if that is
/// said,
/// and so is what the kernel writes.
pub(super) fn rows(kernel: &Kernel, analysis: &Analysis, some: bool) -> Option<(Vec<Row>, usize)> {
    let mut rows: Vec<Row> = Vec::new();
    let mut reads: Vec<(usize, usize, Vec<i64>)> = Vec::new();
    for (arg, usage) in analysis.args.iter().enumerate() {
        let of = kernel.args.get(arg)?;
        if of.access == Access::Table || some && matches!(of.access, Access::All | Access::Write) {
            continue;
        }
        for access in usage.accesses.iter().filter(|access| !access.write) {
            if of.access != Access::Read || of.rank != kernel.rank || access.conditional {
                return None;
            }
            let component = access.component? as usize;
            let bytes = of.element.component_types().get(component)?.size();
            let mut before = access.offsets()?;
            let read = (arg, component, before.clone());
            if !reads.contains(&read) {
                reads.push(read);
            }
            let along = before.pop()?;
            let known = rows.iter_mut().find(|row| (row.arg, row.component, &row.before) == (arg, component, &before));
            match known {
                Some(row) => row.along = (row.along.0.min(along), row.along.1.max(along)),
                None => {
                    let codec = codec(kernel, arg, component);
                    rows.push(Row { arg, component, before, along: (along, along), codec, bytes });
                }
            }
        }
    }
    rows.sort_by(|a, b| (a.arg, a.component, &a.before).cmp(&(b.arg, b.component, &b.before)));
    Some((rows, reads.len()))
}

/// How a component is kept that a kernel reads.
fn codec(kernel: &Kernel, of: usize, base: usize) -> Option<Codec> {
    let body = &kernel.body;
    body.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::Decode(codec, code) => match &body[*code].kind {
            ExprKind::Load { arg, component, .. } if (*arg as usize, component.base as usize) == (of, base) => {
                Some(*codec)
            }
            _ => None,
        },
        _ => None,
    })
}
