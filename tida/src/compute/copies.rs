//! Loops that run over copies of what other places own too, so that these need not be sent again.

use std::panic::Location;
use std::sync::Arc;

use super::args::{ArgInfo, TiledInfo};
use super::check::Rule;
use crate::array::{Fill, give_copies};
use crate::grid::GridBox;
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
    Some(OverCopies { planes })
}

/// What a launch is known by, whatever the part of its loop: what it computes from what.
pub(super) fn made_by<const D: usize>(key: &SweepKey, infos: &[ArgInfo<'_, D>]) -> u64 {
    let wholes = infos.iter().filter_map(|info| match info {
        ArgInfo::Whole { tracker, .. } => Some((Arc::as_ptr(&tracker.ages) as usize, tracker.ages.version())),
        _ => None,
    });
    mixed(&(key.kernel, &*key.captures, &*key.tables, wholes.collect::<Vec<_>>()))
}

impl OverCopies {
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
            // Copies are cells, with which no fill is left to readers; ranks have none of one another.
            let _ = give_copies(&fills.iter().collect::<Vec<_>>(), (&acc, 0), recorded);
        }
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
                let (edge, halo) = (copies.edge(layout.part, side), prepared.args[n].halo.as_ref());
                let (low, high) = halo.map_or((0, 0), |halo| halo[0]);
                let reach = if side == 0 { (-low).max(0) } else { high.max(0) };
                made.own = mixed(&(made.own, n, edge.own));
                made.copies = mixed(&(made.copies, n, edge.copies));
                made.depth = made.depth.min(edge.depth - reach).max(0);
            }
            Swept::Whole(made)
        })
    }
}
