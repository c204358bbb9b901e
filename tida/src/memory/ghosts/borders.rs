//! What the parts of an array on several places give one another beyond their borders: as ghosts, or as cells that are
//! copies (`Layout::overlapping`).

use super::super::layout::{Boundary, Kinds, Layout};
use super::super::parts::OfRegion;
use crate::grid::GridBox;

/// A mistake in what parts give one another, made on purpose, so that tests are known to find such mistakes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripFault {
    /// The outermost plane of ghosts is not given.
    Shallow,
    /// One part gives another one nothing.
    Lost,
    /// Who takes does not wait for who gives.
    MissingWait,
    /// One plane more counts as good than is.
    Deep,
    /// What lies in mailboxes for another rank is written over before it is read.
    ReusedEarly,
}

/// The boxes that one part of an array gives another one, and the ghosts that they are for: beyond borders of the first
/// axis.
pub(crate) fn strips<const D: usize>(
    from: &Layout<D>,
    to: &Layout<D>,
    boundaries: &Kinds<D>,
    fault: Option<StripFault>,
) -> Vec<(OfRegion, OfRegion)> {
    let mut pairs: Vec<_> = (0..2).flat_map(|side| beyond(from, to, boundaries, side)).collect();
    if fault == Some(StripFault::Shallow) {
        pairs.iter_mut().for_each(|pair| without_outermost(to, pair));
        pairs.retain(|(_, (_, cells))| !cells.is_empty());
    }
    pairs
}

/// The same beyond the border on one side.
fn beyond<const D: usize>(
    from: &Layout<D>,
    to: &Layout<D>,
    boundaries: &Kinds<D>,
    side: usize,
) -> Vec<(OfRegion, OfRegion)> {
    if !to.borders[0][side] {
        return Vec::new();
    }
    let mut ghosts = to.domain();
    // Ghosts that are the user's go along: nothing sets those beside a border anew. A corner is that of its first face.
    let mut users = false;
    for axis in 1..D {
        let is_users = |side| boundaries.any(axis, side, |boundary| matches!(boundary, Boundary::Open));
        if users || is_users(0) {
            ghosts.lo[axis] -= to.ghost[axis][0] as i64;
        }
        if users || is_users(1) {
            ghosts.hi[axis] += to.ghost[axis][1] as i64;
        }
        users |= is_users(0) || is_users(1);
    }
    // Copies that are cells, or ghosts.
    let beyond = |side: usize| match to.overlap() {
        [0, 0] => to.ghost[0][side] as i64,
        overlap => overlap[side],
    };
    (ghosts.lo[0], ghosts.hi[0]) = match side {
        0 => (to.owned.lo[0] - beyond(0), to.owned.lo[0]),
        _ => (to.owned.hi[0], to.owned.hi[0] + beyond(1)),
    };
    // Beyond the domain are the planes of its other end.
    let period = to.cuts.cells[0] as i64;
    let shift = match side {
        0 if to.wraps(0) => period,
        1 if to.wraps(1) => -period,
        _ => 0,
    };
    let moved = |cells: GridBox<D>, by: i64| {
        let mut moved = cells;
        (moved.lo[0], moved.hi[0]) = (cells.lo[0] + by, cells.hi[0] + by);
        moved
    };
    let mut pairs = Vec::new();
    for taker in 0..to.regions.len() {
        let wanted = moved(to.realm(taker).intersect(&ghosts), shift);
        if wanted.is_empty() {
            continue;
        }
        let mut near = wanted;
        (near.lo[0], near.hi[0]) = (near.lo[0].max(from.owned.lo[0]), near.hi[0].min(from.owned.hi[0]));
        for giver in from.owners(&near) {
            let mut has = from.realm(giver);
            (has.lo[0], has.hi[0]) = (from.own(giver).lo[0], from.own(giver).hi[0]);
            let cells = has.intersect(&wanted);
            if !cells.is_empty() {
                pairs.push(((giver, cells.widen()), (taker, moved(cells, -shift).widen())));
            }
        }
    }
    pairs
}

/// Leaves out the ghosts furthest from the cells of the part.
fn without_outermost<const D: usize>(to: &Layout<D>, (given, taken): &mut (OfRegion, OfRegion)) {
    let first = 4 - D;
    if taken.1.lo[first] < to.owned.lo[0] {
        taken.1.lo[first] += 1;
        given.1.lo[first] += 1;
    } else {
        taken.1.hi[first] -= 1;
        given.1.hi[first] -= 1;
    }
}
