//! Arrays of different resolution in one schedule.
//!
//! All planes are counted in planes of the finest array: plane `k` of an array of scale `s` is `k * s..(k + 1) * s`. So
//! a coarser array has fewer planes that are thicker, and lags and windows are those of the finest one, whatever an
//! operation works on. Only what is done at last is counted in an array's own planes again.

use super::{Access, PlaneOp, Reach};

/// How the planes of an array lie beside those of the array that an operation writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// One beside one: around plane `k` means around plane `k`.
    #[default]
    Same,
    /// One beside two: around plane `k / 2`, rounded down.
    Coarse,
    /// Two beside one: around plane `2 * k`.
    Fine,
}

impl Scale {
    /// The plane that lies beside a plane of the operation.
    pub fn beside(self, plane: i64) -> i64 {
        match self {
            Scale::Same => plane,
            Scale::Coarse => plane.div_euclid(2),
            Scale::Fine => 2 * plane,
        }
    }

    /// Planes of the operation after which the other array is as many planes further, and how many.
    pub fn steps(self) -> (i64, i64) {
        match self {
            Scale::Same => (1, 1),
            Scale::Coarse => (2, 1),
            Scale::Fine => (1, 2),
        }
    }
}

/// The scales of arrays of which some lie beside others: `pairs` are an array, how another one lies beside it, and that
/// one. Of the finest arrays among those that are tied to one another it is 1. None if two ties say otherwise.
pub(crate) fn scales(arrays: usize, pairs: &[(usize, Scale, usize)]) -> Option<Vec<i64>> {
    // Powers of two, of each array against the first one that it is tied to.
    let mut known: Vec<Option<(usize, i32)>> = vec![None; arrays];
    for first in 0..arrays {
        if known[first].is_some() {
            continue;
        }
        known[first] = Some((first, 0));
        let mut open = vec![first];
        while let Some(here) = open.pop() {
            let Some((_, power)) = known[here] else { continue };
            for (other, more) in pairs.iter().filter_map(|pair| tie(pair, here)) {
                match known[other] {
                    Some((_, already)) if already != power + more => return None,
                    Some(_) => {}
                    None => {
                        known[other] = Some((first, power + more));
                        open.push(other);
                    }
                }
            }
        }
    }
    let known: Vec<(usize, i32)> = known.into_iter().flatten().collect();
    let least = |group: usize| known.iter().filter(|one| one.0 == group).map(|one| one.1).min().unwrap_or(0);
    known.iter().map(|(group, power)| 1i64.checked_shl((power - least(*group)) as u32)).collect()
}

/// The other array of a pair that has this one, and how many times as thick its planes are, as a power of two.
fn tie(&(one, scale, other): &(usize, Scale, usize), here: usize) -> Option<(usize, i32)> {
    let more = match scale {
        Scale::Same => 0,
        Scale::Coarse => 1,
        Scale::Fine => -1,
    };
    match here {
        _ if one == here => Some((other, more)),
        _ if other == here => Some((one, -more)),
        _ => None,
    }
}

/// A number of planes of the finest array, rounded down to planes of an array of this scale.
pub(super) fn down(planes: i64, scale: i64) -> i64 {
    planes.div_euclid(scale) * scale
}

/// The same, rounded up.
pub(crate) fn up(planes: i64, scale: i64) -> i64 {
    -down(-planes, scale)
}

impl PlaneOp {
    /// An operation that is given in its own planes, and what it reads in those of each array, as the schedule has it.
    pub fn in_finest(self, scale: i64, scales: &[i64]) -> PlaneOp {
        let access = |access: Access| {
            let own = scales.get(access.array).copied().unwrap_or(1);
            let range = |planes: std::ops::Range<i64>| planes.start * own..planes.end * own;
            // Of the planes beside a plane, from the first that starts to the last that ends. What the next planes of
            // a coarser operation need starts where the operation is, or up to one of its planes before.
            let around = |lo: i64, hi: i64| match own >= scale {
                true => (lo * own - (own - scale), hi * own + (own - scale)),
                false => (lo * own - (scale - own), (hi + 1) * own - scale),
            };
            let read = access.read.map(|read| match read {
                Reach::Around(lo, hi) => {
                    let (lo, hi) = around(lo, hi);
                    Reach::Around(lo, hi)
                }
                Reach::Within(lo, hi, all) => {
                    let (lo, hi) = around(lo, hi);
                    Reach::Within(lo, hi, range(all))
                }
                Reach::Planes(planes) => Reach::Planes(range(planes)),
            });
            Access { read, scale: own, ..access }
        };
        PlaneOp {
            planes: self.planes.start * scale..self.planes.end * scale,
            accesses: self.accesses.into_iter().map(access).collect(),
            steps: self.steps,
            scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, scales};

    #[test]
    fn scales_follow_from_what_lies_beside_what() {
        use Scale::{Coarse, Fine, Same};
        for (arrays, pairs, found) in [
            (2, vec![], Some(vec![1, 1])),
            (3, vec![(0, Coarse, 1), (1, Coarse, 2)], Some(vec![1, 2, 4])),
            (4, vec![(0, Fine, 1), (2, Same, 0), (3, Coarse, 2)], Some(vec![2, 1, 2, 1])),
            (4, vec![(2, Fine, 3)], Some(vec![1, 1, 2, 1])),
            (2, vec![(0, Coarse, 1), (1, Coarse, 0)], None),
            (3, vec![(0, Coarse, 1), (1, Same, 2), (0, Same, 2)], None),
        ] {
            assert_eq!(scales(arrays, &pairs), found, "{pairs:?}");
        }
    }
}
