//! Strips between places of this process whose arrays stream: when the chains of both have ended, what is given and
//! where it goes to are in the host's memory. It is copied once, by all threads, and no message is made. The chains
//! start once the next sweep of each place is recorded: what that overwrites does not come to the host.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use super::direct::carried;
use super::{Carried, Exchanged, touches};
use crate::acc::TileAcc;
use crate::grid::GridBox;
use crate::memory::ghosts::borders::StripFault;
use crate::memory::mailbox::Pair;
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{Mode, Side, Tracker};
use crate::program::schedule::Kept;

/// What of a call is copied so.
pub(super) struct Here<'a>(Vec<Between<'a>>);

/// What one place takes of another one.
struct Between<'a> {
    from: &'a TileAcc,
    to: &'a TileAcc,
    give: Vec<Carried>,
    take: Vec<Carried>,
    /// The node that ends when what is given is there.
    ready: Arc<Node>,
}

impl<'a> Here<'a> {
    /// Takes those of the pairs of places out between which all arrays stream that give anything, and records that
    /// what they give comes to the host.
    pub fn of(
        acc: &'a TileAcc,
        arrays: &[Exchanged<'_>],
        pairs: &mut Vec<Pair>,
        recorded: &'static Location<'static>,
    ) -> Here<'a> {
        let streams = |(strips, tracker): &Carried| tracker.side() == Side::Chain && !strips.gives_ghosts();
        let mut all = Vec::new();
        let taken = pairs.clone();
        pairs.retain(|pair| {
            let Some((from, to)) = acc.place(pair.0).zip(acc.place(pair.1)) else { return true };
            let (give, take) = carried(arrays, *pair);
            if !give.iter().chain(&take).all(streams) {
                return true;
            }
            let touched = touches(&give, |s| s.given(), Mode::Read);
            let left = give.iter().map(|(_, tracker)| (tracker, left(tracker, (arrays, &taken, pair.0))));
            from.core().hold_chain(recorded, &left.collect::<Vec<_>>());
            let ready = from.record_node("fill_ghosts: give", recorded, &touched, &[], Work::Host(Box::new(|| Ok(()))));
            all.push(Between { from, to, give, take, ready });
            false
        });
        Here(all)
    }

    /// Records that it is copied.
    pub fn record_taken(self, fault: Option<StripFault>, recorded: &'static Location<'static>) {
        let take = |Between { from, to, give, take, ready }: Between<'a>| {
            let touched = touches(&take, |s| s.taken(), Mode::Update);
            let read = touches(&give, |s| s.given(), Mode::Look);
            let work = Work::Host(Box::new(move || {
                // As if it had been taken before it was there.
                let copied = if fault == Some(StripFault::MissingWait) { 0 } else { give.len() };
                for ((strips, from), (_, to)) in give.iter().zip(&take).take(copied) {
                    // SAFETY: the storages are those of the arrays; the touches of this node, and of the two of the
                    // place that gives, keep all work away that writes what is given, or touches what is taken.
                    unsafe { strips.copy_here(from.storage(), to.storage()) };
                }
                Ok(())
            }));
            (from, read, to.record_node("fill_ghosts: take", recorded, &touched, &[ready], work))
        };
        // Who writes what is given comes after the last ones. Until they are recorded only the caller records work on
        // these arrays.
        let taken: Vec<_> = self.0.into_iter().map(take).collect();
        for (from, read, node) in taken {
            from.record_node("fill_ghosts: given", recorded, &read, &[node], Work::Host(Box::new(|| Ok(()))));
        }
    }
}

/// The planes of a part that its place does not take, where it takes all planes beyond them between these pairs of
/// places.
fn left(tracker: &Tracker, (arrays, pairs, place): (&[Exchanged<'_>], &[Pair], usize)) -> Option<Range<i64>> {
    let facts = tracker.planar()?.facts();
    let (axis, domain) = (4 - facts.rank, facts.domain());
    let taken = pairs.iter().filter(|pair| pair.1 == place).flat_map(|pair| carried(arrays, *pair).1);
    let taken = taken.filter(|(_, other)| std::ptr::eq(&**other, tracker));
    let taken = taken.flat_map(|(strips, _)| strips.boxes().taken.to_vec());
    let is_whole = |cells: &GridBox<4>| {
        (axis + 1..4).all(|axis| cells.lo[axis] <= domain.lo[axis] && domain.hi[axis] <= cells.hi[axis])
    };
    let mut taken: Vec<_> = taken.filter(|(_, cells)| is_whole(cells)).map(|(_, c)| c.lo[axis]..c.hi[axis]).collect();
    taken.sort_unstable_by_key(|planes| planes.start);
    let mut left = facts.valid.clone();
    for planes in &taken {
        left.start = if planes.contains(&left.start) { planes.end } else { left.start };
    }
    for planes in taken.iter().rev() {
        left.end = if planes.contains(&(left.end - 1)) { planes.start } else { left.end };
    }
    // At an end where it takes none its ghosts are left too.
    let all = Kept::ALL.planes;
    let start = if left.start == facts.valid.start { all.start } else { left.start };
    let end = if left.end == facts.valid.end { all.end } else { left.end };
    (left.start < left.end).then_some(start..end)
}
