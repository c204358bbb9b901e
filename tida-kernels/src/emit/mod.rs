//! From a typed kernel and a plan to source text: one writer, two dialects.
//!
//! The text is a prelude of types, the functions it needs, and the kernel; nothing that is not used. Statements keep
//! the user's names and say which line they come from. Both dialects have the same body: what differs is in `dialect`.
//!
//! Without the feature `emit` there is no writer, and every text is empty: for builds that have no device to run it.

#[cfg(not(feature = "emit"))]
mod absent;
#[cfg(feature = "emit")]
mod access;
#[cfg(feature = "emit")]
mod ahead;
#[cfg(feature = "emit")]
mod body;
#[cfg(feature = "emit")]
mod cache;
#[cfg(feature = "emit")]
mod carried;
#[cfg(feature = "emit")]
mod chunks;
#[cfg(feature = "emit")]
mod coarse;
#[cfg(feature = "emit")]
mod codecs;
pub mod copies;
#[cfg(feature = "emit")]
mod dialect;
#[cfg(feature = "emit")]
mod ends;
#[cfg(feature = "emit")]
mod expr;
#[cfg(feature = "emit")]
mod faults;
#[cfg(feature = "emit")]
pub mod fold;
#[cfg(feature = "emit")]
mod fused;
#[cfg(feature = "emit")]
mod ghosts;
#[cfg(feature = "emit")]
mod group;
#[cfg(feature = "emit")]
mod held;
#[cfg(feature = "emit")]
mod helpers;
#[cfg(feature = "emit")]
mod kernel;
#[cfg(feature = "emit")]
mod line;
#[cfg(feature = "emit")]
pub mod link;
#[cfg(feature = "emit")]
mod maps;
#[cfg(feature = "emit")]
mod march;
#[cfg(feature = "emit")]
mod moving;
#[cfg(feature = "emit")]
mod names;
#[cfg(feature = "emit")]
mod planes;
#[cfg(feature = "emit")]
mod rows;
#[cfg(feature = "emit")]
pub mod scan;
#[cfg(feature = "emit")]
mod segments;
#[cfg(feature = "emit")]
mod shared;
#[cfg(feature = "emit")]
mod side;
mod sizes;
#[cfg(feature = "emit")]
mod strips;
#[cfg(feature = "emit")]
mod symbols;
#[cfg(feature = "emit")]
mod tagged;
#[cfg(feature = "emit")]
mod text;
#[cfg(feature = "emit")]
mod types;
#[cfg(feature = "emit")]
mod wide;

#[cfg(not(feature = "emit"))]
pub use absent::{emit, fold, link, scan};

#[cfg(feature = "emit")]
use crate::analysis::Analysis;
#[cfg(feature = "emit")]
use crate::ir::Kernel;
#[cfg(feature = "emit")]
use crate::plan::Plan;
use crate::quote::Span;
use crate::scalar::Fault;

/// Source text, and how to call it.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The whole text.
    pub text: String,
    /// Name of the kernel in it.
    pub entry: String,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// The words (each 64 bits, signed) of one box's geometry, in order. Only what the text uses is in it.
    pub geometry: Vec<Field>,
    /// Bytes of shared memory that a launch asks for, beside what the text declares: CUDA alone.
    pub shared: u32,
    /// For each line of the text (from 0) the user's file and place that it comes from.
    pub lines: Vec<Option<(String, Span)>>,
}

/// A parameter of an emitted kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// Memory of an array argument (all its regions; with [`Plan::points_to_regions`] from the box's region on), or the
    /// values of a table.
    Array(u32),
    /// A captured value: a scalar as it is stored (`bool` as one byte), or an array of scalars one after the other.
    Capture(u32),
    /// The geometry of the box, by value. With [`Plan::many`] that of [`Plan::by_value`] boxes, one after the other.
    Geometry,
    /// Memory with the geometry of each box, one after the other. With [`Plan::many`], unless they are passed by value.
    Boxes,
    /// Each box has `1 << n` blocks along z, and block `z` works on box `z >> n`: that number `n` (`u32`). With
    /// [`Plan::many`].
    LogTiles,
    /// Cells along axis 0 that a thread takes one after the other (`i32`, at least 1). With a plan that
    /// [`marches`](Plan::marches). With a [`fused`](Plan::fused) one the planes of a chunk.
    March,
    /// Memory that says where the regions of a whole array lie: 64-bit words. For an array of `E` axes: the number of
    /// regions along each axis; the shape; for each axis the ends of its regions' valid boxes; then for each region
    /// (row-major) its base, its origin on each axis, its strides on all axes but the last, its plane (see [`Field`]).
    Whole(u32),
    /// The tensor map of a whole array with one region, of the boxes that [`Map`](crate::plan::maps::Map) says: 128
    /// bytes. Along each axis its coordinate 0 is the region's position 0.
    Map(u32),
    /// Number of values of a table (`u64`).
    Length(u32),
    /// Memory of one [`FaultRecord`].
    Fault,
    /// Memory that a reduction writes. [`Goal::Segments`](crate::plan::Goal): one partial a segment, where
    /// an arg-reduction's partial is a struct of the value and, at byte 8, the `u64` index of the cell in the box.
    /// [`Goal::Values`](crate::plan::Goal): one value a cell.
    Out,
}

/// A word of a box's geometry. "Whole" means the whole box that a reduction folds; a sweep has no such fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Cells of the box along an axis of the kernel.
    Extent(u32),
    /// Where a colour begins along an axis: the number of its first cell in the box. Of slanted colours that of the
    /// first cell of the box, as if the colour that runs were 0.
    Colour(u32),
    /// First cell of the box along an axis, global.
    Lo(u32),
    /// Where the region of an argument starts in the argument's memory, in units of the pointer that the kernel is
    /// given: components of the element's scalar type if they all have one type, else bytes.
    Base(u32),
    /// Position of the first cell of the box in a plane of the group.
    First(u32),
    /// Distance between neighbours along an axis (not the last, whose distance is 1) in a plane of the group.
    Stride(u32, u32),
    /// Global coordinate of position 0 of a plane of the group along an axis.
    Origin(u32, u32),
    /// Values in a plane of the group.
    Plane(u32),
    /// First coordinate along an axis that an argument may be read at.
    BoundLo(u32, u32),
    /// One past the last.
    BoundHi(u32, u32),
    /// Number of the box's first row among the rows of the whole.
    FirstRow,
    /// Rows of the whole between neighbours along an axis (not the last).
    RowStep(u32),
    /// Segments in a row of the whole.
    Segments,
    /// Number of the whole's first segment: its first cell along the last axis, divided by 64.
    FirstSegment,
    /// The whole's first cell along the last axis.
    LineLo,
    /// The whole's cells along the last axis.
    LineCells,
    /// The planes that a launch of several steps leaves, by their numbers in the box: the first one.
    PartLo,
    /// One past the last.
    PartHi,
}

/// Counters of values that saturate: a launch of several steps of a kernel that counts has no more steps.
pub const COUNTERS: usize = 8;

/// What a kernel leaves when a cell raises a fault or a value saturates: 136 bytes, zero before the launch. Of several
/// faults it is that of the first cell in row-major order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct FaultRecord {
    /// Of those who write it.
    pub lock: u32,
    /// 0 until a cell has raised a fault; odd while it is written.
    pub version: u32,
    /// 1 division, 2 entry, 3 out of range.
    pub kind: u32,
    /// Nothing.
    pub unused: u32,
    /// Entry: index and length. Out of range: argument, then the index along each axis.
    pub data: [i64; 7],
    /// The cell, with zeros before its coordinates.
    pub cell: [i64; 4],
    /// By argument, or by step of several ([`Plan::fused`]): values that saturated as they were stored.
    pub saturated: [u32; COUNTERS],
}

impl FaultRecord {
    /// The fault, if a cell raised one.
    pub fn fault(&self) -> Option<Fault> {
        let [a, b, c, d, e, ..] = self.data;
        Some(match self.kind {
            _ if self.version == 0 => return None,
            1 => Fault::Division,
            2 => Fault::Entry { index: a as u64, len: b as u64 },
            _ => Fault::OutOfRange { arg: a as u32, index: [b, c, d, e] },
        })
    }
}

/// Emits a kernel.
#[cfg(feature = "emit")]
pub fn emit(kernel: &Kernel, analysis: &Analysis, plan: &Plan) -> Source {
    kernel::emit(kernel, analysis, plan)
}
