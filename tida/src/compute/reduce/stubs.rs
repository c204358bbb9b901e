//! The tree of a reduction, of whose list each rank has a run.
//!
//! A rank folds the groups of 64 that it has whole, level by level. What is left is few values, the *stubs*, each with
//! its level and its place there. With those of all ranks each rank ends the tree, whose shape the list's length fixes:
//! no bit depends on the ranks.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fold::{SEGMENT, level};
use super::ops::Reduction;
use crate::error::{Error, ErrorKind};
use crate::ranks::Bytes;

/// A value of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stub<P> {
    level: usize,
    place: usize,
    value: P,
}

/// Bytes of a stub on its way: level, place, and what the value's bits are.
const BYTES: usize = 5 * size_of::<u64>();

/// A run of the values of a level of the tree.
pub(super) struct Run<P> {
    pub level: usize,
    pub first: usize,
    pub values: Vec<P>,
}

/// What is left of a run, of the tree over a list of so many values.
fn stubs_of<T, O: Reduction<T>>(op: O, run: Run<O::Partial>, total: usize) -> Vec<Stub<O::Partial>> {
    let (Run { level: lowest, mut first, mut values }, mut stubs) = (run, Vec::new());
    let mut total = (0..lowest).fold(total, |total, _| total.div_ceil(SEGMENT));
    for at in lowest.. {
        let end = first + values.len();
        let stub = |place: usize, value: &O::Partial| Stub { level: at, place, value: *value };
        let whole: Range<usize> = match total {
            0 | 1 => end..end,
            // The last group may have fewer.
            _ => first.next_multiple_of(SEGMENT)..if end == total { end } else { end / SEGMENT * SEGMENT },
        };
        let whole = if whole.is_empty() { end..end } else { whole };
        let rest = (first..whole.start).chain(whole.end..end);
        stubs.extend(rest.map(|place| stub(place, &values[place - first])));
        if whole.is_empty() {
            break;
        }
        values = level(op, &values[whole.start - first..whole.end - first]);
        (first, total) = (whole.start / SEGMENT, total.div_ceil(SEGMENT));
    }
    stubs
}

/// The value of the tree over a list of so many values, of the stubs of all ranks.
///
/// # Errors
/// Values that are missing.
fn ended<T, O: Reduction<T>>(op: O, stubs: Vec<Stub<O::Partial>>, mut total: usize) -> Result<O::Partial, Error> {
    let missing = || {
        let advice = "report this as a bug of tida: ranks have reduced other boxes";
        Error::new(ErrorKind::Ranks, "reduce what lies on several ranks", "values that are missing", advice)
    };
    let mut levels: Vec<BTreeMap<usize, O::Partial>> = Vec::new();
    for stub in stubs {
        if levels.len() <= stub.level {
            levels.resize_with(stub.level + 1, BTreeMap::new);
        }
        levels[stub.level].insert(stub.place, stub.value);
    }
    if total == 0 {
        return Ok(op.identity());
    }
    let mut from_below = BTreeMap::new();
    for at in 0.. {
        let mut here = levels.get_mut(at).map(std::mem::take).unwrap_or_default();
        here.append(&mut from_below);
        if total == 1 {
            // A device folds two levels at once, though one may be all there are.
            let root = std::iter::once(&here).chain(levels.get(at + 1..).unwrap_or_default()).find_map(|at| at.get(&0));
            return root.copied().ok_or_else(missing);
        }
        while let Some((place, _)) = here.first_key_value() {
            let group = place / SEGMENT;
            let rest = here.split_off(&((group + 1) * SEGMENT));
            let values: Vec<O::Partial> = here.into_values().collect();
            if values.len() != SEGMENT.min(total - group * SEGMENT) {
                return Err(missing());
            }
            from_below.extend(level(op, &values).first().map(|value| (group, *value)));
            here = rest;
        }
        total = total.div_ceil(SEGMENT);
    }
    Err(missing())
}

/// What this rank gives the others of its runs, of the tree over a list of so many values.
pub(super) fn packed<T, O: Reduction<T>>(op: O, runs: Vec<Run<O::Partial>>, total: usize) -> Bytes {
    let mut bytes = Vec::new();
    for Stub { level, place, value } in runs.into_iter().flat_map(|run| stubs_of(op, run, total)) {
        let ([one, two], index) = op.bits(value);
        for number in [level as u64, place as u64, one, two, index] {
            bytes.extend(number.to_le_bytes());
        }
    }
    Bytes::of(&bytes)
}

/// The value of what all ranks have given.
///
/// # Errors
/// Values that are missing.
pub(super) fn folded<T, O: Reduction<T>>(op: O, all: &[&[u8]], total: usize) -> Result<O::Partial, Error> {
    let stubs = all.iter().flat_map(|bytes| bytes.chunks_exact(BYTES)).map(|bytes| {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |n: usize| u64::from_le_bytes(numbers[n]);
        let value = op.of_bits([number(2), number(3)], number(4));
        Stub { level: number(0) as usize, place: number(1) as usize, value }
    });
    ended(op, stubs.collect(), total)
}

#[cfg(test)]
mod tests {
    use super::super::Sum;
    use super::super::fold::{tree, twice};
    use super::super::frame::GROUP;
    use super::*;

    /// Runs of a list give the value of the list, whatever the runs, and few values travel.
    #[test]
    fn runs_give_the_bits_of_the_list() {
        let mut dice = 7u64;
        let mut roll = |sides: usize| {
            dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (dice >> 33) as usize % sides
        };
        for round in 0..600 {
            let total = [roll(10), roll(200), roll(10_000), roll(300_000)][round % 4];
            let list: Vec<f64> = (0..total).map(|_| (roll(1 << 20) as f64).sqrt() - 500.0).collect();
            let mut cuts: Vec<usize> = (0..roll(8)).map(|_| roll(total + 1)).collect();
            cuts.extend([0, total]);
            cuts.sort_unstable();
            let of_cut = |cut: &[usize]| {
                let part = |from: usize, to: usize| list[from..to].to_vec();
                let (from, to) =
                    (cut[0].next_multiple_of(GROUP), if cut[1] == total { total } else { cut[1] / GROUP * GROUP });
                // As a device does it in every other round: whole groups are folded two levels.
                if round % 8 < 4 || from >= to {
                    return vec![Run { level: 0, first: cut[0], values: part(cut[0], cut[1]) }];
                }
                vec![
                    Run { level: 0, first: cut[0], values: part(cut[0], from) },
                    Run { level: 2, first: from / GROUP, values: twice::<f64, _>(Sum, &list[from..to]) },
                    Run { level: 0, first: to, values: part(to, cut[1]) },
                ]
            };
            let runs = cuts.windows(2).map(|cut| packed::<f64, _>(Sum, of_cut(cut), total));
            let runs: Vec<Bytes> = runs.collect();
            let most = runs.iter().map(|run| run.as_slice().len() / BYTES).max().unwrap_or(0);
            assert!(most <= 4 * 2 * SEGMENT, "{most} values of a run of {total}");
            let runs: Vec<&[u8]> = runs.iter().map(Bytes::as_slice).collect();
            let expected = tree::<f64, _>(Sum, list, false);
            let got = folded::<f64, _>(Sum, &runs, total).unwrap();
            assert_eq!(got.to_bits(), expected.to_bits(), "{total} values, cut at {cuts:?}");
            if total > 1 {
                assert!(folded::<f64, _>(Sum, &runs[1..], total).is_err() || cuts[1] == 0);
            }
        }
    }
}
