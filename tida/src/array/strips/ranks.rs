//! Strips between ranks: messages that are sent once they are made, and wait for who takes them once they are there.
//!
//! Where a pair of places has mailboxes, three things are sent: a note as soon as the planes are packed, with the
//! letters that are in no mailbox, and what is in mailboxes that the other rank does not open; how the node ended that
//! gave them, once that is known; and, the other way, that the mailboxes were read.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Carried;
use crate::acc::TileAcc;
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::borders::StripFault;
use crate::memory::mailbox::{Mailbox, Note, Pair};
use crate::memory::node::{Node, Work};
use crate::memory::transport::{Letter, Message};
use crate::ranks::{Bytes, Parcel, Slot, Stretch, Target, World};
use crate::record::driver::Core;
use crate::record::strips::TRACED;

/// A letter that goes to another rank.
struct Posted {
    letter: Option<Letter>,
    bytes: usize,
    /// Held until it is sent.
    _sent: Option<Arc<Sent>>,
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

/// A letter that goes to another rank from the mailbox that it lies in, which is free again once it is sent.
struct Mailed {
    stretch: Stretch,
    _mailbox: Mailbox,
}

impl Mailed {
    fn new(mailbox: Mailbox, bytes: usize) -> Mailed {
        Mailed { stretch: Stretch::new(mailbox.memory.clone(), bytes), _mailbox: mailbox }
    }
}

impl Parcel for Mailed {
    fn bytes(&mut self) -> &[u8] {
        &[]
    }

    fn on_device(&self) -> Option<&Stretch> {
        Some(&self.stretch)
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
    pair: Pair,
    slot: Slot,
    /// The other rank.
    rank: usize,
    recorded: &'static Location<'static>,
}

impl<'a> Between<'a> {
    /// That of a pair of places in a call of this number; none if both are of this rank.
    pub fn of(acc: &'a TileAcc, pair: Pair, call: u64, recorded: &'static Location<'static>) -> Option<Between<'a>> {
        let world = acc.world()?;
        let rank = [pair.0, pair.1].map(|place| acc.rank_of(place)).into_iter().find(|rank| *rank != world.rank())?;
        Some(Between { world, pair, slot: slot_of(acc, pair, call), rank, recorded })
    }

    /// Records that the message goes to the other rank, or why it does not, once the node that makes it has ended.
    /// Gives a node that ends when it is sent.
    pub fn record_send(
        self,
        place: &TileAcc,
        give: &[Carried],
        made: &Arc<Node>,
        message: Arc<dyn Message>,
    ) -> Arc<Node> {
        let Between { world, slot, rank: to, recorded, .. } = self;
        let sizes: Vec<usize> = give.iter().map(|(strips, _)| strips.given().bytes).collect();
        let (world, core) = (world.clone(), place.core().clone());
        let node = core.expect("fill_ghosts: sent", recorded);
        let sent = Arc::new(Sent { core: core.clone(), node: node.clone() });
        let work = Work::Sends(Box::new(move |node, failure| {
            let made = failure.map_or_else(|| message.receive(), Err);
            let handed = made.inspect_err(|error| world.fail(to, slot, error)).map(|letters| {
                let posted = |(letter, bytes)| -> Box<dyn Parcel> {
                    Box::new(Posted { letter: Some(letter), bytes, _sent: Some(sent.clone()) })
                };
                world.send(to, slot, letters.into_iter().zip(sizes).map(posted).collect());
            });
            core.finish(node, handed)
        }));
        place.record_node("fill_ghosts: send", recorded, &[], std::slice::from_ref(made), work);
        node
    }

    /// A node that ends when the message of the other rank is there.
    pub fn record_arrival(self, place: &TileAcc, take: &[Carried], message: &Arc<dyn Message>) -> Arc<Node> {
        let Between { world, slot, rank: from, recorded, .. } = self;
        let sizes = take.iter().map(|(strips, _)| Some(strips.taken().bytes)).collect();
        let message = message.clone();
        world.expect(place.core(), (from, slot), sizes, ("fill_ghosts", recorded), move |pieces| {
            let letters = pieces.into_iter().map(|piece| Letter::Values(piece.into_words()));
            message.send(letters.collect())
        })
    }

    /// A message that is given in mailboxes, for letters of so many bytes: its note goes to the other rank as soon as
    /// the message is handed over.
    pub fn give(&self, fault: Option<StripFault>, sizes: Vec<usize>) -> Arc<Given> {
        let Between { world, pair, slot, rank: to, .. } = *self;
        let early = fault == Some(StripFault::ReusedEarly);
        Arc::new(Given { world: world.clone(), pair, slot, to, sizes, early, is_told: AtomicBool::new(false) })
    }

    /// Records that the other rank is told how the node ended that gives, which may be long after the message was
    /// handed over.
    pub fn record_end(self, place: &TileAcc, given: Arc<Given>, made: &Arc<Node>) {
        let core = place.core().clone();
        let work = Work::Sends(Box::new(move |node, failure| {
            let Given { world, slot, to, is_told, .. } = &*given;
            tracing::trace!(target: TRACED, "how it ended is given");
            match &failure {
                None => world.send(*to, slot.end(), vec![Box::new(Bytes::default())]),
                // The other rank waits for the note, or has it.
                Some(error) if is_told.load(Ordering::Acquire) => world.fail(*to, slot.end(), error),
                Some(error) => world.fail(*to, *slot, error),
            }
            core.finish(node, failure.map_or(Ok(()), Err))
        }));
        place.record_node("fill_ghosts: send", self.recorded, &[], std::slice::from_ref(made), work);
    }

    /// The message that the other rank gives in mailboxes, and a node: the message is handed over when the note is
    /// here, and the node ends as the one ends that gives.
    pub fn record_coming(self, place: &TileAcc, take: &[Carried]) -> (Arc<Node>, Arc<dyn Message>) {
        let Between { world, pair, slot, rank: from, recorded } = self;
        let core = place.core().clone();
        let node = core.expect("fill_ghosts", recorded);
        let sizes = take.iter().map(|(strips, _)| strips.taken().bytes).collect();
        let (world, letters) = (world.clone(), Mutex::default());
        let coming = Arc::new(Coming { world, core, node: node.clone(), pair, slot, from, sizes, recorded, letters });
        coming.clone().wait_for_note();
        (node, coming)
    }
}

/// A message in mailboxes, where it is given.
#[derive(Debug)]
pub(super) struct Given {
    world: Arc<World>,
    pair: Pair,
    slot: Slot,
    to: usize,
    sizes: Vec<usize>,
    /// A mistake for tests: mailboxes are used again before they are read.
    early: bool,
    /// The note is on its way.
    is_told: AtomicBool,
}

impl Message for Given {
    fn send(&self, letters: Vec<Letter>) -> Result<(), Error> {
        let Given { world, slot, to, .. } = self;
        let notes = letters.iter().map(|letter| match letter {
            Letter::Mailbox(mailbox) => mailbox.note(),
            _ => Note::Values,
        });
        let note = Bytes::of(&Note::encode(&notes.collect::<Vec<_>>()));
        let mut pieces: Vec<Box<dyn Parcel>> = Vec::new();
        let mut mailed: Vec<Box<dyn Parcel>> = Vec::new();
        for (letter, bytes) in letters.into_iter().zip(&self.sizes) {
            match letter {
                Letter::Mailbox(mailbox) if mailbox.note() == Note::Message => {
                    mailed.push(Box::new(Mailed::new(mailbox, *bytes)));
                }
                Letter::Mailbox(mailbox) if self.early => drop(mailbox),
                Letter::Mailbox(mailbox) => mailbox.sent(),
                here => pieces.push(Box::new(Posted { letter: Some(here), bytes: *bytes, _sent: None })),
            }
        }
        tracing::trace!(target: TRACED, "the note is given");
        self.is_told.store(true, Ordering::Release);
        world.send(*to, *slot, vec![Box::new(note)]);
        world.send(*to, slot.values(), pieces);
        world.send(*to, slot.devices(), mailed);
        Ok(())
    }

    fn receive(&self) -> Result<Vec<Letter>, Error> {
        Ok(Vec::new())
    }

    fn room(&self, device: &DeviceCore, bytes: usize) -> Option<Mailbox> {
        self.world.mailboxes().take(device, self.pair, bytes)
    }
}

/// A message in mailboxes, where it is taken.
struct Coming {
    world: Arc<World>,
    core: Arc<Core>,
    /// Ends as the node of the other rank does that gives.
    node: Arc<Node>,
    pair: Pair,
    slot: Slot,
    from: usize,
    sizes: Vec<usize>,
    recorded: &'static Location<'static>,
    letters: Mutex<Vec<Came>>,
}

/// A letter that is here.
enum Came {
    Values(Vec<u128>),
    /// In a mailbox of this rank.
    Here(Mailbox),
    /// In a mailbox of this number of the other rank, which has so many bytes.
    Mailbox {
        number: u64,
        bytes: usize,
        exported: Arc<[u8]>,
        reads: Reads,
    },
}

/// Tells another rank that its mailbox was read, or will not be.
struct Reads {
    world: Arc<World>,
    from: usize,
    number: u64,
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.world.was_read(self.from, self.number);
    }
}

impl Coming {
    /// Has `then` told what the other rank gives, or the node end with why it does not.
    fn expect(
        self: Arc<Coming>,
        slot: Slot,
        sizes: Vec<Option<usize>>,
        then: impl FnOnce(Arc<Coming>, Vec<Bytes>) + Send + 'static,
    ) {
        let text = format!("fill_ghosts at {}", self.recorded);
        self.world.clone().expect_by((self.from, slot), sizes, text, move |came| match came {
            Ok(pieces) => then(self, pieces),
            Err(error) => self.core.arrived(&self.node, Err(error)),
        });
    }

    /// Waits for the note, then for the letters that come by themselves, then for how it ended.
    fn wait_for_note(self: Arc<Coming>) {
        let slot = self.slot;
        self.expect(slot, vec![None], move |coming, pieces| {
            tracing::trace!(target: TRACED, "the note is here");
            let note = pieces.first().map(Bytes::as_slice).unwrap_or_default();
            let Some(notes) = Note::decode(note, coming.sizes.len()) else {
                let found = format!("a note of {} bytes from rank {}", note.len(), coming.from);
                let advice = "run one build of the program on all ranks";
                let error = Error::new(ErrorKind::Ranks, "take ghosts from another rank", found, advice);
                return coming.core.arrived(&coming.node, Err(error));
            };
            let sizes_of = |kind: Note| {
                let of_kind = notes.iter().zip(&coming.sizes).filter(move |(note, _)| **note == kind);
                of_kind.map(|(_, bytes)| *bytes)
            };
            let sizes: Vec<Option<usize>> = sizes_of(Note::Values).map(Some).collect();
            let mailed = sizes_of(Note::Message).map(|bytes| (coming.room_for(bytes), bytes)).collect();
            match sizes.is_empty() {
                true => coming.wait_for_mailed(notes, Vec::new(), mailed),
                false => coming.expect(slot.values(), sizes, |coming, pieces| {
                    coming.wait_for_mailed(notes, pieces, mailed);
                }),
            }
        });
    }

    /// A mailbox on the device here for so many bytes of one that is not opened; none if there is no room.
    fn room_for(&self, bytes: usize) -> Option<Mailbox> {
        self.world.mailboxes().take(self.core.device.as_ref()?, self.pair, bytes)
    }

    /// Waits for what was in mailboxes of the other rank: it comes into mailboxes here, or into the host's memory.
    fn wait_for_mailed(self: Arc<Coming>, notes: Vec<Note>, pieces: Vec<Bytes>, mailed: Vec<(Option<Mailbox>, usize)>) {
        if mailed.is_empty() {
            return self.is_here(notes, pieces, Vec::new());
        }
        let target = |(mailbox, bytes): &(Option<Mailbox>, usize)| match mailbox {
            Some(mailbox) => Target::Device(Stretch::new(mailbox.memory.clone(), *bytes)),
            None => Target::Host(Bytes::new(*bytes)),
        };
        let (from, into) = ((self.from, self.slot.devices()), mailed.iter().map(target).collect());
        let text = format!("fill_ghosts at {}", self.recorded);
        self.world.clone().expect_into(from, into, text, move |came| match came {
            Ok(came) => {
                tracing::trace!(target: TRACED, "what was in mailboxes is here");
                let letter = |(mailbox, bytes): (Option<Mailbox>, Bytes)| match mailbox {
                    Some(mailbox) => Came::Here(mailbox),
                    None => Came::Values(bytes.into_words()),
                };
                let mailed = mailed.into_iter().map(|(mailbox, _)| mailbox).zip(came).map(letter).collect();
                self.is_here(notes, pieces, mailed);
            }
            Err(error) => self.core.arrived(&self.node, Err(error)),
        });
    }

    fn is_here(self: Arc<Coming>, notes: Vec<Note>, pieces: Vec<Bytes>, mailed: Vec<Came>) {
        let (mut pieces, mut mailed) = (pieces.into_iter(), mailed.into_iter());
        let mut values = || Came::Values(pieces.next().unwrap_or_default().into_words());
        let letter = |note: Note| match note {
            Note::Values => values(),
            Note::Message => mailed.next().unwrap_or_else(|| Came::Values(Vec::new())),
            Note::Mailbox { number, bytes, exported } => {
                let reads = Reads { world: self.world.clone(), from: self.from, number };
                Came::Mailbox { number, bytes, exported, reads }
            }
        };
        *self.letters() = notes.into_iter().map(letter).collect();
        self.core.handed(&self.node);
        let end = self.slot.end();
        self.expect(end, vec![Some(0)], |coming, _| {
            tracing::trace!(target: TRACED, "how it ended is here");
            coming.core.arrived(&coming.node, Ok(()));
        });
    }

    fn letters(&self) -> MutexGuard<'_, Vec<Came>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A letter for who takes it: one in a mailbox is opened here.
    fn open(&self, came: Came) -> Result<Letter, Error> {
        let (number, bytes, exported, reads) = match came {
            Came::Values(values) => return Ok(Letter::Values(values)),
            Came::Here(mailbox) => return Ok(Letter::Mailbox(mailbox)),
            Came::Mailbox { number, bytes, exported, reads } => (number, bytes, exported, reads),
        };
        let Some(device) = &self.core.device else {
            let (tried, advice) = ("open a mailbox of another rank", "report this as a bug of tida");
            return Err(Error::new(ErrorKind::Device, tried, "a place without a device", advice));
        };
        let read = Box::new(move || drop(reads));
        let from = (self.pair, number);
        self.world.mailboxes().open(device.backend(), from, (bytes, exported), read).map(Letter::Mailbox)
    }
}

impl std::fmt::Debug for Coming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coming").field("pair", &self.pair).field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl Message for Coming {
    fn send(&self, _letters: Vec<Letter>) -> Result<(), Error> {
        Ok(())
    }

    fn receive(&self) -> Result<Vec<Letter>, Error> {
        let came = std::mem::take(&mut *self.letters());
        came.into_iter().map(|came| self.open(came)).collect()
    }
}
