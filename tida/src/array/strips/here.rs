//! Strips between places of this process whose arrays stream: when the chains of both have ended, what is given and
//! where it goes to are in the host's memory. It is copied once, by all threads, and no message is made. The chains
//! start once the next sweep of each place is recorded: what that overwrites does not come to the host.

use std::panic::Location;
use std::sync::Arc;

use super::direct::carried;
use super::{Carried, Exchanged, touches};
use crate::acc::TileAcc;
use crate::memory::ghosts::borders::StripFault;
use crate::memory::mailbox::Pair;
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{Mode, Side};

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
        pairs.retain(|pair| {
            let Some((from, to)) = acc.place(pair.0).zip(acc.place(pair.1)) else { return true };
            let (give, take) = carried(arrays, *pair);
            if !give.iter().chain(&take).all(streams) {
                return true;
            }
            let touched = touches(&give, |s| s.given(), Mode::Read);
            from.core().hold_chain(recorded, &give.iter().map(|(_, tracker)| tracker).collect::<Vec<_>>());
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
