//! Threads that read the values of several cells side by side at once: 16 bytes, as memory is fastest.
//!
//! Where each cell reads little, one value a read leaves too few bytes under way, the more so the fewer bits an array
//! keeps (docs/decisions/0020-storage.md). Values of 4 bytes and more are read faster one by one, by as many threads as there are cells.

use super::march::offsets;
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

/// What a thread of a kernel may read at once, if all that each of its cells reads of arrays are few values, some of them narrow and
/// none of a neighbour along the last axis.
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
            let (component, offsets) = (access.component? as usize, offsets(access)?);
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
}

/// What a choice of a plan has to know of a march of several cells side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Cells side by side: 1 where a thread has no use for more.
    pub cells: u32,
    /// Values are handed on along axis 0: before the first cell of a march there are planes to read and to decode.
    pub handed: bool,
    /// Cells that differ along an axis between the first and the last read the same rows.
    pub shared: bool,
}

impl Beside {
    /// One cell a thread.
    pub const ONE: Beside = Beside { cells: 1, handed: false, shared: false };
}

impl Side {
    /// What a choice of a plan has to know of it.
    pub fn beside(&self) -> Beside {
        let mut beside = Beside { cells: self.cells as u32, ..Beside::ONE };
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

/// Bytes of the widest access of a marching thread, and of the values that it makes of them.
const CODES: usize = 8;
const VALUES: usize = 16;

/// 32-bit registers of rows that leave room for the rest.
const ROOM: usize = 48;

/// The longest way along the last axis that a row takes beyond the cells.
const BEYOND: i64 = 2;

/// Whether the threads of a kernel that marches should have several cells side by side, and what they then keep: where an
/// array holds codes, everything is read in every cell at constants from it and everything written is overwritten.
///
/// What memory holds in few bits is then moved at once, a value is decoded where it is read from memory and not in each cell that uses
/// it, and positions are those of all cells. Where nothing is coded memory is the limit without it.
pub fn side(kernel: &Kernel, analysis: &Analysis) -> Option<Side> {
    if kernel.rank < 2 || !analysis.complete || kernel.group.is_some() || has_loop(&kernel.body.block) {
        return None;
    }
    let (mut rows, mut stores): (Vec<Row>, Vec<(usize, usize, usize)>) = (Vec::new(), Vec::new());
    for (arg, usage) in analysis.args.iter().enumerate() {
        let of = kernel.args.get(arg)?;
        if of.access == Access::Table {
            continue;
        }
        let types = of.element.component_types();
        for access in &usage.accesses {
            let component = access.component? as usize;
            let bytes = types.get(component)?.size();
            if access.write {
                if !(of.access == Access::Write && access.at_cell && usage.must_write && !usage.read) {
                    return None;
                }
                if !stores.contains(&(arg, component, bytes)) {
                    stores.push((arg, component, bytes));
                }
                continue;
            }
            if of.access != Access::Read || of.rank != kernel.rank || access.conditional {
                return None;
            }
            let mut before = offsets(access)?;
            let along = before.pop()?;
            if along.abs() > BEYOND {
                return None;
            }
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
    // Lower planes before higher ones.
    rows.sort_by(|a, b| (a.arg, a.component, &a.before).cmp(&(b.arg, b.component, &b.before)));
    let codes = rows.iter().map(|row| row.bytes).chain(stores.iter().map(|store| store.2)).max()?;
    let values = rows.iter().map(Row::value).max()?;
    let cells = (CODES / codes).min(VALUES / values);
    let held = |row: &Row| (cells + (row.along.1 - row.along.0) as usize) * row.value().div_ceil(4);
    let fits = rows.iter().map(held).sum::<usize>() <= ROOM;
    let coded = rows.iter().any(|row| row.codec.is_some());
    (cells >= 2 && fits && coded && !stores.is_empty()).then_some(Side { cells, rows, stores })
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
