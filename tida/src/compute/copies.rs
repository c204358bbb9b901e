//! Loops that run over copies of what other places own too, so that these need not be sent again.

use std::panic::Location;
use std::sync::Arc;

use super::args::{ArgInfo, TiledInfo};
use super::check::Rule;
use crate::array::{Fill, give_copies};
use crate::grid::GridBox;
use crate::launch::capture::{CapturedValue, Captures};
use crate::launch::prepare::Prepared;
use crate::memory::ages::Ages;
use crate::memory::copies::{Copies, Edge, Swept, mixed};
use crate::memory::layout::{Centering, Layout};
use crate::record::sweep::SweepKey;
use crate::tile::Tile;

/// A launch over copies.
pub(super) struct OverCopies {
    /// How many planes of them, below what the place owns and above.
    pub planes: [i64; 2],
    /// Arrays lie on several ranks, which all run this loop alike.
    on_ranks: bool,
}

/// The arrays of a launch that have the tile's cuts.
fn tiled<'i, 'a, const D: usize>(infos: &'i [ArgInfo<'a, D>]) -> impl Iterator<Item = (usize, &'i TiledInfo<'a, D>)> {
    infos.iter().enumerate().filter_map(|(n, info)| match info {
        ArgInfo::Tiled(tiled) => Some((n, tiled)),
        _ => None,
    })
}

/// The copies that a launch over a tile runs over too: where all that it reads has them, and nothing can go wrong in
/// cells whose values are of no use.
pub(super) fn over_copies<const D: usize>(
    tile: &Tile<D>,
    rule: Rule,
    prepared: &Prepared,
    infos: &[ArgInfo<'_, D>],
) -> Option<OverCopies> {
    let layout = &tile.layout;
    if layout.overlap() == [0, 0]
        || !matches!(rule, Rule::Cells)
        || tile.grown
        || tile.listed.is_some()
        || prepared.is_coded
    {
        return None;
    }
    let coordinates = prepared.harmless?;
    let knows = |(n, array): (usize, &TiledInfo<'_, D>)| {
        let plan = &prepared.args[n];
        let halo = plan.halo.as_ref().map_or((0, 0), |halo| halo[0]);
        let stale = halo != (0, 0) && array.tracker.ages.is_stale_allowed();
        let owned = |layout: &Layout<D>| (layout.owned.lo[0], layout.owned.hi[0]);
        array.level.is_none() && plan.others.is_empty() && !stale && owned(array.layout) == owned(layout)
    };
    let across = (1..D).all(|d| tile.cells.lo[d] <= layout.owned.lo[d] && layout.owned.hi[d] <= tile.cells.hi[d]);
    if !across || !tiled(infos).all(knows) {
        return None;
    }
    // Copies of the other end have other coordinates than that; and of faces, the first and the last are two.
    let has_ends = coordinates & 1 != 0 || layout.centering[0] == Centering::Face;
    let on_ranks = tiled(infos).any(|(_, array)| array.whole.ranks() > 1);
    if on_ranks && !is_alike(tile, prepared, infos, has_ends) {
        return None;
    }
    let planes = std::array::from_fn(|side| {
        let (wraps, cells) = (layout.wraps(side), &tile.cells);
        let (at_end, in_loop) = match side {
            0 => (cells.lo[0] == layout.owned.lo[0], tile.all.lo[0] <= layout.held.lo[0].max(0)),
            _ => {
                let end = layout.held.hi[0].min(layout.shape[0] as i64);
                (cells.hi[0] == layout.owned.hi[0], end <= tile.all.hi[0])
            }
        };
        let runs = at_end && in_loop && !(wraps && has_ends);
        let have = tiled(infos).map(|(_, array)| array.layout.overlap()[side]).min();
        have.filter(|_| runs).unwrap_or(0).min(layout.overlap()[side])
    });
    Some(OverCopies { planes, on_ranks })
}

/// Whether a loop runs over all copies of all ranks, as each of them can tell from the loop and the arrays alone: a
/// rank sees its own tiles only, and all have to find the same.
fn is_alike<const D: usize>(tile: &Tile<D>, prepared: &Prepared, infos: &[ArgInfo<'_, D>], has_ends: bool) -> bool {
    let Some(placed) = &tile.alike else { return false };
    placed.parts.iter().enumerate().all(|(place, part)| {
        let (owned, overlap) = (part.layout.owned.lo[0]..part.layout.owned.hi[0], part.layout.overlap());
        let wraps = (0..2).any(|side| part.layout.wraps(side));
        let runs = |(n, array): (usize, &TiledInfo<'_, D>)| {
            let have = array.whole.overlap(place).unwrap_or([0; 2]);
            let enough = (0..2).all(|side| match prepared.args[n].written {
                true => have[side] == overlap[side],
                false => have[side] > 0 || overlap[side] == 0,
            });
            enough && array.whole.planes(place).as_ref() == Some(&owned)
        };
        !(wraps && has_ends) && tiled(infos).all(runs)
    })
}

/// How many planes below a cell, or above, a kernel reads of an argument.
fn reach(prepared: &Prepared, arg: usize, side: usize) -> i64 {
    let (low, high) = prepared.args[arg].halo.as_ref().map_or((0, 0), |halo| halo[0]);
    if side == 0 { (-low).max(0) } else { high.max(0) }
}

/// What a launch is known by, whatever the part of its loop: what it computes from what.
fn made_by<const D: usize>(key: &SweepKey, infos: &[ArgInfo<'_, D>]) -> u64 {
    let wholes = infos.iter().filter_map(|info| match info {
        ArgInfo::Whole { tracker, .. } => Some((Arc::as_ptr(&tracker.ages) as usize, tracker.ages.version())),
        _ => None,
    });
    mixed(&(key.kernel, &*key.captures, &*key.tables, wholes.collect::<Vec<_>>()))
}

impl OverCopies {
    /// What the launch is known by: among ranks by what all of them know it by.
    pub fn made_by<const D: usize>(&self, key: &SweepKey, captures: &Captures, infos: &[ArgInfo<'_, D>]) -> u64 {
        if !self.on_ranks {
            return made_by(key, infos);
        }
        let values = |capture: &CapturedValue| match capture {
            CapturedValue::Scalar(value) => mixed(&value.bits()),
            CapturedValue::Array(_, values) => mixed(&values.iter().map(|value| value.bits()).collect::<Vec<_>>()),
            // The same values on all ranks, which make the same calls.
            CapturedValue::Deferred(later) => mixed(&later.node.recorded),
        };
        mixed(&(key.kernel, captures.list.iter().map(values).collect::<Vec<_>>(), &*key.tables))
    }

    /// Records that places are given copies of arrays that are read and that no kernel has computed: once.
    pub fn give<const D: usize>(
        &self,
        infos: &[ArgInfo<'_, D>],
        prepared: &Prepared,
        recorded: &'static Location<'static>,
    ) {
        let due = |ages: &Arc<Ages>| ages.copies().is_some_and(Copies::are_due);
        let read = tiled(infos).filter(|(n, array)| !prepared.args[*n].written && due(&array.tracker.ages));
        let fills: Vec<Fill> = read.map(|(_, array)| array.whole.as_fill()).collect();
        if let Some(acc) = fills.first().map(|fill| fill.acc().clone()) {
            let call = Fill::held_call(&fills, recorded);
            // Copies are cells, with which no fill is left to readers.
            let _ = give_copies(&fills.iter().collect::<Vec<_>>(), (&acc, call), recorded);
        }
    }

    /// How many planes of an array that is written are good beyond all parts, if all of them run this loop.
    pub fn depths<const D: usize>(&self, infos: &[ArgInfo<'_, D>], prepared: &Prepared) -> [i64; 2] {
        std::array::from_fn(|side| {
            let deep = |(n, array): (usize, &TiledInfo<'_, D>)| {
                let Some(copies) = array.tracker.ages.copies() else { return 0 };
                match prepared.args[n].written && prepared.args[n].must_write {
                    true => copies.planes(),
                    false => (copies.depth(side) - reach(prepared, n, side)).max(0),
                }
            };
            tiled(infos).map(deep).min().unwrap_or(0)
        })
    }

    /// What the launch over these cells has made of both sides of the part, of an array that it writes.
    pub fn swept<const D: usize>(
        &self,
        infos: &[ArgInfo<'_, D>],
        prepared: &Prepared,
        (layout, cells): (&Layout<D>, &GridBox<D>),
        made_by: u64,
    ) -> [Swept; 2] {
        let overlap = layout.overlap();
        std::array::from_fn(|side| {
            // What other places have copies of, and what lies before it.
            let near = match side {
                0 => cells.lo[0] < layout.owned.lo[0] + overlap[0],
                _ => cells.hi[0] > layout.owned.hi[0] - overlap[1],
            };
            let all = match side {
                0 => cells.hi[0] >= layout.owned.lo[0] + overlap[0],
                _ => cells.lo[0] <= layout.owned.hi[0] - overlap[1],
            };
            if !near || overlap[side] == 0 {
                return Swept::Untouched;
            }
            if self.planes[side] == 0 || !all {
                return Swept::Torn;
            }
            let mut made = Edge { own: made_by, copies: made_by, depth: self.planes[side] };
            for (n, array) in tiled(infos).filter(|(n, _)| !(prepared.args[*n].written && prepared.args[*n].must_write))
            {
                let Some(copies) = array.tracker.ages.copies() else { return Swept::Torn };
                let (edge, reach) = (copies.edge(layout.part, side), reach(prepared, n, side));
                made.own = mixed(&(made.own, n, edge.own));
                made.copies = mixed(&(made.copies, n, edge.copies));
                made.depth = made.depth.min(edge.depth - reach).max(0);
            }
            Swept::Whole(made)
        })
    }
}
