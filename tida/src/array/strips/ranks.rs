//! Strips between ranks: messages that are sent once they are made, and wait for who takes them once they are there.

use std::panic::Location;
use std::sync::Arc;

use super::Carried;
use crate::acc::TileAcc;
use crate::error::Error;
use crate::memory::node::{Node, Work};
use crate::memory::transport::{Letter, Message};
use crate::ranks::{Parcel, Slot, World};
use crate::record::driver::Core;

/// A letter that goes to another rank.
struct Posted {
    letter: Option<Letter>,
    bytes: usize,
    /// Held until it is sent.
    _sent: Arc<Sent>,
}

/// What ends a node once all letters that hold it are sent, or will not be.
struct Sent {
    core: Arc<Core>,
    node: Arc<Node>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.core.arrived(&self.node, Ok(()));
    }
}

impl Parcel for Posted {
    fn bytes(&mut self) -> &[u8] {
        let Some(letter) = &mut self.letter else { return &[] };
        let start = letter.start();
        // SAFETY: a letter has room for its batch, in the host's memory; `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts(start, self.bytes) }
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        self.letter.take().into_iter().for_each(Letter::end);
    }
}

/// That of a pair of places of two ranks, in a call of this number.
fn slot_of(acc: &TileAcc, (from, to): (usize, usize), call: u64) -> Slot {
    // Numbers of places in a rank, one beside the other.
    let places = acc.places_here().len();
    Slot { call, lane: ((from % places) * places + to % places) as u64 }
}

/// Tells the rank of the second place why the first one does not give it what it waits for, if that one is here, and
/// the other is not.
pub fn not_given(acc: &TileAcc, (from, to): (usize, usize), call: u64, error: &Error) {
    let here = acc.places_here();
    if let Some(world) = acc.world().filter(|_| here.contains(&from) && !here.contains(&to)) {
        world.fail(acc.rank_of(to), slot_of(acc, (from, to), call), error);
    }
}

/// A message between places of two ranks.
pub(super) struct Between<'a> {
    world: &'a Arc<World>,
    slot: Slot,
    /// The other rank.
    rank: usize,
    message: Arc<dyn Message>,
    recorded: &'static Location<'static>,
}

impl<'a> Between<'a> {
    /// That of a pair of places in a call of this number; none if both are of this rank.
    pub fn of(
        acc: &'a TileAcc,
        (from, to): (usize, usize),
        call: u64,
        message: &Arc<dyn Message>,
        recorded: &'static Location<'static>,
    ) -> Option<Between<'a>> {
        let world = acc.world()?;
        let rank = [from, to].map(|place| acc.rank_of(place)).into_iter().find(|rank| *rank != world.rank())?;
        let slot = slot_of(acc, (from, to), call);
        Some(Between { world, slot, rank, message: message.clone(), recorded })
    }

    /// Records that the message goes to the other rank, or why it does not, once the node that makes it has ended.
    /// Gives a node that ends when it is sent.
    pub fn record_send(self, place: &TileAcc, give: &[Carried], made: &Arc<Node>) -> Arc<Node> {
        let Between { world, slot, rank: to, message, recorded } = self;
        let sizes: Vec<usize> = give.iter().map(|(strips, _)| strips.given().bytes).collect();
        let (world, core) = (world.clone(), place.core().clone());
        let node = core.expect("fill_ghosts: sent", recorded);
        let sent = Arc::new(Sent { core: core.clone(), node: node.clone() });
        let work = Work::Sends(Box::new(move |node, failure| {
            let made = failure.map_or_else(|| message.receive(), Err);
            let handed = made.inspect_err(|error| world.fail(to, slot, error)).map(|letters| {
                let posted = |(letter, bytes)| -> Box<dyn Parcel> {
                    Box::new(Posted { letter: Some(letter), bytes, _sent: sent.clone() })
                };
                world.send(to, slot, letters.into_iter().zip(sizes).map(posted).collect());
            });
            core.finish(node, handed)
        }));
        place.record_node("fill_ghosts: send", recorded, &[], std::slice::from_ref(made), work);
        node
    }

    /// A node that ends when the message of the other rank is there.
    pub fn record_arrival(self, place: &TileAcc, take: &[Carried]) -> Arc<Node> {
        let Between { world, slot, rank: from, message, recorded } = self;
        let sizes = take.iter().map(|(strips, _)| Some(strips.taken().bytes)).collect();
        world.expect(place.core(), (from, slot), sizes, ("fill_ghosts", recorded), move |pieces| {
            let letters = pieces.into_iter().map(|piece| Letter::Values(piece.into_words()));
            message.send(letters.collect())
        })
    }
}
