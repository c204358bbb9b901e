//! Values that a thread keeps as it marches along axis 0 (SAFARA's inter-iteration scalar replacement, over parallel
//! cells).
//!
//! Reads of one component that differ by a constant along axis 0 alone are reads of one column. A thread that takes the
//! cells of the column one after the other reads each value once and hands it on: a **queue** of registers, one for
//! each offset from the lowest to the highest.

use std::collections::{BTreeMap, BTreeSet};

use super::auto::Latency;
use super::registers::SHORT;
use crate::analysis::{Analysis, ArgUse, ArrayAccess};
use crate::element::ScalarType;
use crate::ir::{Access, Arg, Kernel, has_loop, has_while};

/// Values of the longest queue: offsets further apart are queues of their own.
pub(super) const LONGEST: i64 = 9;

/// A column of one component of an argument that is kept as a thread passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The argument.
    pub arg: usize,
    /// The component.
    pub component: usize,
    /// Offsets of the column from the cell, on all axes but axis 0.
    pub across: Vec<i64>,
    /// Lowest and highest offset along axis 0.
    pub along: (i64, i64),
    /// Different offsets that are read.
    pub reads: u32,
    /// Bytes of a value.
    pub bytes: usize,
}

impl Queue {
    /// 32-bit registers that it takes.
    pub fn registers(&self) -> u32 {
        ((self.along.1 - self.along.0 + 1) * self.bytes.div_ceil(4) as i64) as u32
    }
}

/// The queues of a kernel, by argument, component and column: of reads that happen in every cell, of values that the
/// kernel does not write. [`registers::kept`](super::registers::kept) chooses among them.
pub fn queues(kernel: &Kernel, analysis: &Analysis) -> Vec<Queue> {
    if kernel.rank < 2 || !analysis.complete {
        return Vec::new();
    }
    let mut columns: BTreeMap<(usize, usize, Vec<i64>), Vec<i64>> = BTreeMap::new();
    for (arg, usage) in analysis.args.iter().enumerate() {
        if kernel.args.get(arg).is_none_or(|of| of.access != Access::Read || of.rank != kernel.rank) {
            continue;
        }
        for access in usage.accesses.iter().filter(|access| !access.write && !access.conditional) {
            if let (Some(component), Some(mut offsets)) = (access.component, access.offsets()) {
                let along = offsets.remove(0);
                columns.entry((arg, component as usize, offsets)).or_default().push(along);
            }
        }
    }
    let mut all = Vec::new();
    for ((arg, component, across), mut along) in columns {
        let types = kernel.args[arg].element.component_types();
        let Some(bytes) = types.get(component).map(|ty| ty.size()) else { continue };
        along.sort_unstable();
        along.dedup();
        while let Some(&lo) = along.first() {
            let rest = along.split_off(along.partition_point(|by| by.saturating_sub(lo) < LONGEST));
            if let (Some(&hi), reads @ 2..) = (along.last(), along.len() as u32) {
                all.push(Queue { arg, component, across: across.clone(), along: (lo, hi), reads, bytes });
            }
            along = rest;
        }
    }
    all
}

/// What a march saves, and what it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saving {
    /// Different values that a cell reads.
    pub reads: u32,
    /// Those of them that a march has in registers.
    pub saved: u32,
    /// Reads before the first cell of a march.
    pub first: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// The kernel waits for memory, and has cells to wait with: few planes, no loops, no library functions of `f64`.
    /// Others were not seen to gain.
    pub suits: bool,
    /// A cell is little work: no loops but those that the compiler writes out, no library functions of `f64`. If it
    /// also moves few bytes, a thread should have the loads of several cells under way.
    pub light: bool,
}

/// Planes of components of a kernel that has more reads under way in one cell than a march would add.
const FEW: usize = 6;

/// What a march saves of a kernel's reads.
pub fn saving(kernel: &Kernel, analysis: &Analysis) -> Saving {
    let queues = super::registers::chosen(kernel, analysis, true, super::registers::USUAL, &Latency::TYPICAL).queues;
    let mut seen: Vec<(usize, &ArrayAccess)> = Vec::new();
    for (arg, usage) in analysis.args.iter().enumerate() {
        for access in usage.accesses.iter().filter(|access| !access.write) {
            let same = |(other, known): &(usize, &ArrayAccess)| {
                *other == arg && known.component == access.component && known.index == access.index
            };
            if !seen.iter().any(same) {
                seen.push((arg, access));
            }
        }
    }
    Saving {
        reads: seen.len() as u32,
        saved: queues.iter().map(|queue| queue.reads - 1).sum(),
        first: queues.iter().map(|queue| (queue.along.1 - queue.along.0) as u32).sum(),
        registers: queues.iter().map(Queue::registers).sum(),
        suits: suits(kernel, analysis),
        light: light(kernel, analysis),
    }
}

/// See [`Saving::suits`].
fn suits(kernel: &Kernel, analysis: &Analysis) -> bool {
    let loops = kernel.functions.iter().map(|function| &function.body).chain([&kernel.body]);
    let loops = loops.into_iter().any(|body| has_loop(&body.block));
    planes(kernel, analysis) <= FEW && !loops && !calls_library(kernel, analysis)
}

/// See [`Saving::light`].
fn light(kernel: &Kernel, analysis: &Analysis) -> bool {
    let loops = kernel.functions.iter().any(|function| has_loop(&function.body.block));
    let short = |number: usize| analysis.turns(number as u32).is_some_and(|turns| turns <= SHORT);
    let long = has_while(&kernel.body.block) || !(0..analysis.loops.len()).all(short);
    analysis.complete && !loops && !long && !calls_library(kernel, analysis)
}

/// Whether some function of `f64` is the device's library's.
fn calls_library(kernel: &Kernel, analysis: &Analysis) -> bool {
    let mut arrays = kernel.args.iter().filter(|arg| arg.access != Access::Table);
    analysis.uses_inexact && arrays.any(|arg| arg.element.component_types().contains(&ScalarType::F64))
}

/// The components of arrays that a kernel reads or writes.
fn planes(kernel: &Kernel, analysis: &Analysis) -> usize {
    let of = |(arg, usage): (&Arg, &ArgUse)| {
        let all = arg.element.components();
        let touched: BTreeSet<Option<u32>> = usage.accesses.iter().map(|access| access.component).collect();
        if touched.contains(&None) { all } else { touched.len() }
    };
    let arrays = kernel.args.iter().zip(&analysis.args).filter(|(arg, _)| arg.access != Access::Table);
    arrays.map(of).sum()
}
