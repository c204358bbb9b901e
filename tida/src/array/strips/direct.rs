//! Strips between places with devices, in streams of their own. The device of the place that takes reads them where
//! they are, if it can: then no message is made. Else the other place makes one.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;

use super::ranks::Between;
use super::{Carried, Exchanged, Route, Strips, receive, send, there, touches};
use crate::acc::TileAcc;
use crate::error::Error;
use crate::memory::ghosts::borders::StripFault;
use crate::memory::ghosts::owed::Owed;
use crate::memory::mailbox::Pair;
use crate::memory::node::{DeviceWork, Node, Planes, Queue, StripWork, Way, Work};
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Tracker};
use crate::memory::transport::{Handed, Letter, Message};
use crate::record::strips::{Borders, StripBoxes, TRACED, Touched};

/// The node that makes a message, and the message.
type Made = (Arc<Node>, Arc<dyn Message>);

/// What of a call goes from device to device.
pub(super) struct Direct {
    /// The pairs of places between which all does.
    pub pairs: Vec<Pair>,
    /// Parts whose own fill is left to who reads their ghosts, once the last strips are there.
    owed: Vec<(Arc<Tracker>, Arc<Owed>)>,
}

impl Direct {
    /// Of these arrays between these pairs of places; of each array it is said whether its fill may be left to readers.
    /// The arrays keep their room until what this gives second is dropped.
    pub fn of(
        acc: &TileAcc,
        (arrays, leaves): (&[Exchanged<'_>], &[bool]),
        pairs: &[Pair],
        recorded: &'static Location<'static>,
    ) -> (Direct, Vec<impl Sized + use<>>) {
        let here = acc.places_here();
        let is_here = |place: usize| here.contains(&place);
        let within = |pair: &Pair| (is_here(pair.0) && is_here(pair.1)) || acc.has_mailboxes(*pair);
        let room = |(place, at): (usize, &TileAcc)| {
            let all: Vec<Carried> = at_place(arrays, place).map(|(strips, tracker, _)| (strips, tracker)).collect();
            let wanted =
                !all.is_empty() && pairs.iter().any(|pair| within(pair) && (pair.0 == place || pair.1 == place));
            if wanted { there(at, &all) } else { None }
        };
        let kept: Vec<_> = here.clone().zip(acc.places()).map(room).collect();
        // Each rank sees to its own places: what it sends and takes is the same in either way.
        let has_room = |place: usize| !is_here(place) || kept[place - here.start].is_some();
        let all = |pair: &Pair| {
            let mut given = carried(arrays, *pair).0.into_iter();
            within(pair) && has_room(pair.0) && has_room(pair.1) && given.all(|(strips, _)| !strips.gives_ghosts())
        };
        let direct: Vec<Pair> = pairs.iter().filter(|pair| all(pair)).copied().collect();
        let mut owed = Vec::new();
        for ((parts, routes), leaves) in arrays.iter().zip(leaves) {
            for (place, (_, tracker)) in parts.iter().enumerate() {
                // Where what is taken are cells, a fill follows that is owed as that of any array.
                let is_left = |route: &Route| route.strips.takes_ghosts() && direct.contains(&(route.from, route.to));
                let mut to_here = routes.iter().filter(|route| route.to == place).peekable();
                let whole = to_here.peek().is_some() && to_here.all(is_left);
                let regional = tracker.regional().filter(|_| whole && *leaves);
                let left = regional.and_then(|regional| Owed::of_part(regional, recorded));
                owed.extend(left.map(|owed| (tracker.clone(), Arc::new(owed))));
            }
        }
        (Direct { pairs: direct, owed }, kept)
    }

    /// Whether the fill of a part is done with.
    pub fn owes(&self, tracker: &Arc<Tracker>) -> bool {
        self.owed_of(tracker).is_some()
    }

    fn owed_of(&self, tracker: &Arc<Tracker>) -> Option<&Arc<Owed>> {
        self.owed.iter().find(|(other, _)| Arc::ptr_eq(other, tracker)).map(|(_, owed)| owed)
    }

    /// Records what goes from device to device.
    pub fn record(
        &self,
        (acc, call): (&TileAcc, u64),
        arrays: &[Exchanged<'_>],
        fault: Option<StripFault>,
        recorded: &'static Location<'static>,
    ) {
        let is_here = |place: usize| self.pairs.iter().any(|pair| pair.0 == place || pair.1 == place);
        let here = acc.places_here().zip(acc.places()).filter(|(place, _)| is_here(*place));
        let made: Vec<Arc<Tracker>> = here.flat_map(|(place, at)| self.close(at, place, arrays, recorded)).collect();
        // What is not on its device yet is brought there before anything is taken.
        let bring = |pair: &Pair| {
            let missing = |(_, tracker): &Carried| !made.iter().any(|made| Arc::ptr_eq(made, tracker));
            let give: Vec<Carried> = carried(arrays, *pair).0.into_iter().filter(missing).collect();
            acc.place(pair.0).filter(|_| !give.is_empty()).map(|place| record_bring(place, give, recorded))
        };
        let brings: Vec<Option<Arc<Node>>> = self.pairs.iter().map(bring).collect();
        // What is given is recorded first, so that no place waits for what is not recorded.
        let made = self.record_gives((acc, call), (arrays, fault), &brings, recorded);
        let mut last: BTreeMap<usize, Arc<Node>> = BTreeMap::new();
        for (number, ((pair, bring), made)) in self.pairs.iter().zip(brings).zip(made).enumerate() {
            let Some(place) = acc.place(pair.1) else { continue };
            let (give, take) = carried(arrays, *pair);
            let to_come = self.pairs[number + 1..].iter().filter(|other| other.1 == pair.1);
            let to_come: Vec<Carried> = to_come.flat_map(|other| carried(arrays, *other).1).collect();
            let is_last = |tracker: &Arc<Tracker>| !to_come.iter().any(|(_, other)| Arc::ptr_eq(other, tracker));
            let ends = || take.iter().map(|(_, tracker)| tracker).filter(|tracker| is_last(tracker));
            let owed = ends().filter_map(|tracker| Some((tracker.storage().clone(), self.owed_of(tracker)?.clone())));
            let owed: LeftToReaders = owed.collect();
            // Who reads any of these ghosts comes after it: only then does it see that they are owed.
            let left = ends().filter_map(|tracker| Some((tracker.clone(), self.owed_of(tracker)?.ghosts_around())));
            let written = take.iter().map(|(strips, tracker)| (tracker.clone(), strips.boxes().taken.clone()));
            let written: Vec<StripBoxes> = written.chain(left).collect();
            let planes = planes(&give);
            let Some((node, message)) = made else {
                let (read, way) = (boxes_given(&give), Way::Read { waits: fault != Some(StripFault::MissingWait) });
                let touched = Touched { recorded, read: &read, written: &written, after: bring, next_to: None };
                let work = StripWork { planes, way, work: reading(give, take, owed, recorded) };
                place.core().record_strips(touched, work);
                continue;
            };
            let message: Arc<dyn Message> = match fault {
                // As if it had been taken before it was there.
                Some(StripFault::MissingWait) => Arc::new(Handed::of(letters(&take))),
                _ => message,
            };
            let next_to = last.get(&pair.1).cloned();
            let touched = Touched { recorded, read: &[], written: &written, after: None, next_to };
            let work = StripWork { planes, way: Way::Take(node), work: taking(take, message, owed) };
            last.insert(pair.1, place.core().record_strips(touched, work));
        }
    }

    /// Records that messages are made between places of which the one that takes does not read the other's memory,
    /// after what brings arrays there: of each pair the node and the message, if there is one. Of what another rank
    /// gives it is a node that ends as the one there.
    fn record_gives(
        &self,
        (acc, call): (&TileAcc, u64),
        (arrays, fault): (&[Exchanged<'_>], Option<StripFault>),
        brings: &[Option<Arc<Node>>],
        recorded: &'static Location<'static>,
    ) -> Vec<Option<Made>> {
        let mut last: BTreeMap<usize, Arc<Node>> = BTreeMap::new();
        let mut record = |(pair, bring): (&Pair, &Option<Arc<Node>>)| {
            let (give, take) = carried(arrays, *pair);
            let between = Between::of(acc, *pair, call, recorded);
            let Some(place) = acc.place(pair.0) else {
                return Some(between?.record_coming(acc.place(pair.1)?, &take));
            };
            let transport = acc.transport(pair.0, pair.1);
            if between.is_none() && transport.reads_there() {
                return None;
            }
            let bytes: Vec<usize> = take.iter().map(|(strips, _)| strips.taken().bytes).collect();
            let to_rank = between.map(|between| (between.give(fault, bytes.clone()), between));
            let message: Arc<dyn Message> = match &to_rank {
                Some((given, _)) => given.clone(),
                None => transport.begin(&bytes),
            };
            let read = boxes_given(&give);
            let next_to = last.get(&pair.0).cloned();
            let touched = Touched { recorded, read: &read, written: &[], after: bring.clone(), next_to };
            let (planes, sent) = (planes(&give), message.clone());
            let work: DeviceWork = Box::new(move |queue| send(queue, give, sent));
            let node = place.core().record_strips(touched, StripWork { planes, way: Way::Give, work });
            last.insert(pair.0, node.clone());
            to_rank.into_iter().for_each(|(given, between)| between.record_end(place, given, &node));
            Some((node, message))
        };
        self.pairs.iter().zip(brings).map(&mut record).collect()
    }

    /// Closes what is open at a place; gives the arrays there that sweeps of it write.
    fn close(
        &self,
        at: &TileAcc,
        place: usize,
        arrays: &[Exchanged<'_>],
        recorded: &'static Location<'static>,
    ) -> Vec<Arc<Tracker>> {
        let (mut trackers, mut borders): (Vec<Arc<Tracker>>, Option<Borders>) = (Vec::new(), None);
        // Sweeps compute edges first where no fill keeps the next ones from all cells.
        let (mut owes, mut takes) = (true, false);
        for (strips, tracker, gives) in at_place(arrays, place) {
            if gives {
                let new = *strips.borders();
                let known = borders.unwrap_or(new);
                owes &= known.held == new.held && known.sides == new.sides && self.owes(&tracker);
                borders = Some(Borders { depth: known.depth.max(new.depth), ..new });
            }
            takes |= !gives;
            if !trackers.iter().any(|known| Arc::ptr_eq(known, &tracker)) {
                trackers.push(tracker);
            }
        }
        let listed: Vec<&Arc<Tracker>> = trackers.iter().collect();
        let made = at.core().close_before_strips(recorded, &listed, (borders.as_ref(), owes, takes));
        trackers.into_iter().zip(made).filter(|(_, made)| *made).map(|(tracker, _)| tracker).collect()
    }
}

/// What arrays give or take at a place: the strips, the tracker there, and whether they are given.
fn at_place<'a>(
    arrays: &'a [Exchanged<'a>],
    place: usize,
) -> impl Iterator<Item = (Arc<dyn Strips>, Arc<Tracker>, bool)> + 'a {
    arrays.iter().flat_map(move |(parts, routes)| {
        let here = routes.iter().filter(move |route| route.from == place || route.to == place);
        here.filter_map(move |route| {
            let (_, tracker) = parts.get(place)?;
            Some((route.strips.clone(), tracker.clone(), route.from == place))
        })
    })
}

/// What a place gives another one, and what that one takes.
pub(super) fn carried(arrays: &[Exchanged<'_>], (from, to): Pair) -> (Vec<Carried>, Vec<Carried>) {
    let of = |route: &&Route| (route.from, route.to) == (from, to);
    let pairs = arrays.iter().flat_map(|(parts, routes)| {
        routes.iter().filter(of).map(move |route| {
            let end = |place: usize| (route.strips.clone(), parts[place].1.clone());
            (end(from), end(to))
        })
    });
    pairs.unzip()
}

/// The planes of the first axis that are given.
fn planes(give: &[Carried]) -> Planes {
    let mut planes = Planes::new();
    for new in give.iter().flat_map(|(strips, _)| &strips.boxes().planes) {
        if !planes.contains(new) {
            planes.push(*new);
        }
    }
    planes
}

/// Records that what is given is brought to the device of the place that gives it.
fn record_bring(place: &TileAcc, give: Vec<Carried>, recorded: &'static Location<'static>) -> Arc<Node> {
    let touched = touches(&give, |s| s.given(), Mode::Look);
    let regions = touches(&give, |s| s.given(), Mode::Read);
    let work = Work::Device(Box::new(move |queue| {
        for touch in &regions {
            for region in touch.regions() {
                // SAFETY: the node's touches keep all work away that writes the regions.
                unsafe { touch.tracker.to_device(queue, region, Mode::Read)? };
            }
        }
        Ok(Box::new(move || {
            drop(regions);
            Ok(())
        }))
    }));
    place.record_node("fill_ghosts: give", recorded, &touched, &[], work)
}

/// Fills that are left to who reads ghosts: of these arrays, once the last strips are there.
type LeftToReaders = Vec<(Arc<Storage>, Arc<Owed>)>;

/// The boxes that arrays give.
fn boxes_given(give: &[Carried]) -> Vec<StripBoxes> {
    give.iter().map(|(strips, tracker)| (tracker.clone(), strips.boxes().given.clone())).collect()
}

/// Letters of zeros.
fn letters(take: &[Carried]) -> Vec<Letter> {
    take.iter().map(|(strips, _)| Letter::new(strips.taken().bytes)).collect()
}

/// Brings what arrays lack of the regions whose ghosts are about to be set.
///
/// # Errors
/// As [`Tracker::to_device`].
fn bring(queue: &Queue<'_>, take: &[Carried]) -> Result<(), Error> {
    for touch in touches(take, |s| s.taken(), Mode::Update) {
        for region in touch.regions() {
            // SAFETY: the node's touches keep all work away that touches the ghosts, and all of the host.
            unsafe { touch.tracker.to_device(queue, region, Mode::Update)? };
        }
    }
    Ok(())
}

/// Leaves fills to who reads ghosts, after what is in the stream.
///
/// # Errors
/// What the device refuses.
fn leave(queue: &Queue<'_>, owed: &LeftToReaders) -> Result<(), Error> {
    for (storage, owed) in owed {
        storage.filled(true);
        match owed.has_some() {
            true => queue.enqueue(|| storage.owe_ghosts_after(owed, queue))?,
            false => storage.forget_ghosts(),
        }
    }
    Ok(())
}

/// What takes strips that the device reads where they are; then fills that are `owed` are left to who reads.
fn reading(
    give: Vec<Carried>,
    take: Vec<Carried>,
    owed: LeftToReaders,
    recorded: &'static Location<'static>,
) -> DeviceWork {
    Box::new(move |queue| {
        let mut held = Vec::new();
        queue.enqueue(|| {
            bring(queue, &take)?;
            let bytes = take.iter().map(|(strips, _)| strips.taken().bytes).sum();
            queue.bring_strips(recorded, bytes, || {
                for ((strips, from), (_, to)) in give.iter().zip(&take) {
                    // SAFETY: the storages are those of the arrays; the node's touches keep work away that writes what
                    // is given, or touches what is taken.
                    held.push(unsafe { strips.copy_over(queue, from.storage(), to.storage())? });
                }
                Ok(())
            })
        })?;
        leave(queue, &owed)?;
        Ok(Box::new(move || {
            drop((held, give, take));
            Ok(())
        }))
    })
}

/// What takes the strips of a message that is there; then fills that are `owed` are left to who reads.
fn taking(take: Vec<Carried>, message: Arc<dyn Message>, owed: LeftToReaders) -> DeviceWork {
    Box::new(move |queue| {
        queue.enqueue(|| bring(queue, &take))?;
        let done = receive(queue, take, message)?;
        tracing::trace!(target: TRACED, "unpacking is queued");
        leave(queue, &owed)?;
        Ok(done)
    })
}
