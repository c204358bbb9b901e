//! Axes whose ends belong together, unwrapped: plane `k` and plane `k + period` are the same plane of the host.
//!
//! Operation `i` runs over the planes `a_i..a_i + period`. It starts so far above those before it that where one of
//! them touches plane `k + period`, it does not touch plane `k`, unless both only read it. So the first planes of a
//! pass leave in a mixture of steps, once the operations that start there have done them, and come again after the last
//! ones, for the others. No ghosts are filled at the ends: what lies beyond them comes next.

use std::ops::Range;

use super::{PlaneOp, meet};

/// Operations of one pass with the planes that they run over, from `base` on.
pub(crate) fn unwrapped(ops: &[PlaneOp], arrays: usize, period: i64, base: i64) -> Vec<PlaneOp> {
    // For each array the greatest start of those that write, and of those that read with their reach upwards.
    let mut known: Vec<(Option<i64>, Option<i64>)> = vec![(None, None); arrays];
    let (mut starts, mut lowest) = (Vec::with_capacity(ops.len()), i64::MAX);
    for op in ops {
        let (mut start, mut reach) = (0, 0);
        let around = op.accesses.iter().map(|access| (access, access.around()));
        for (access, read) in around.clone() {
            let (writer, reader) = known[access.array];
            if let (Some((lo, _)), Some(writer)) = (read, writer) {
                start = start.max(writer - lo);
            }
            if access.write.is_some() {
                start = writer.into_iter().chain(reader).fold(start, i64::max);
            }
            reach = reach.min(read.map_or(0, |(lo, _)| lo));
        }
        for (access, read) in around {
            let (writer, reader) = &mut known[access.array];
            if access.write.is_some() {
                *writer = (*writer).max(Some(start));
            }
            if let Some((_, hi)) = read {
                *reader = (*reader).max(Some(start + hi));
            }
        }
        lowest = lowest.min(start + reach);
        starts.push(start);
    }
    let place = |(op, start): (&PlaneOp, i64)| {
        let start = base + start - lowest;
        PlaneOp { planes: start..start + period, accesses: op.accesses.clone(), steps: op.steps, scale: op.scale }
    };
    ops.iter().zip(starts).map(place).collect()
}

/// Whether `later` planes are some of those that came `before`.
pub(super) fn same(before: &Range<i64>, later: &Range<i64>, period: Option<i64>) -> bool {
    let Some(period) = period.filter(|_| !before.is_empty() && !later.is_empty()) else { return meet(before, later) };
    let round = (later.end - 1 - before.start).div_euclid(period) * period;
    meet(&(before.start + round..before.end + round), later)
}
