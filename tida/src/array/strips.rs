//! What parts of arrays on several places give one another when ghosts are filled.
//!
//! A part's ghosts beyond a border are cells that another part owns. They go in one message for each pair of places and
//! call, with those of all arrays of the call: packed where they are by a node of the one place (*give*), and set by a
//! node of the other one (*take*), which waits for it. Memory that holds codes gives codes.

use std::panic::Location;
use std::sync::Arc;

use crate::acc::TileAcc;
use crate::device::passages::Passage;
use crate::error::{Error, ErrorKind};
use crate::grid::narrow;
use crate::memory::element::Element;
use crate::memory::ghosts::borders::{StripFault, strips};
use crate::memory::layout::{Boundaries, Layout};
use crate::memory::node::{Done, Node, Queue, Work};
use crate::memory::parts::{Batch, OfRegion, OnTheWay, PackedBox, Sent, packed};
use crate::memory::rows::Row;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Side, Touch, Tracker};
use crate::memory::transport::{Handed, Letter, Message};

/// What one part of an array gives another one.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub from: usize,
    pub to: usize,
    strips: Arc<dyn Strips>,
}

/// Boxes of one part, and the ghosts of another that have their values, whatever the axes.
trait Strips: Send + Sync + std::fmt::Debug {
    /// Where they are, and how they lie packed.
    fn given(&self) -> &Batch;
    /// Where they go to: packed alike.
    fn taken(&self) -> &Batch;
    /// Whether there are ghosts among what is given.
    fn gives_ghosts(&self) -> bool;
    /// Puts a box to where it lies packed, from the host's memory.
    ///
    /// # Safety
    /// The memory is that of the array that gives, in which nobody writes the box; a message begins at the address.
    unsafe fn pack(&self, storage: &Storage, part: &PackedBox, message: *mut u8);
    /// Sets all boxes from where they lie packed, in the host's memory.
    ///
    /// # Safety
    /// The memory is that of the array that takes, whose boxes nobody else touches; a message begins at the address.
    unsafe fn unpack(&self, storage: &Storage, message: *mut u8);
    /// Puts what brings the boxes from a device into the stream of a node; gives that, and the boxes that the host has.
    ///
    /// # Safety
    /// As [`Storage::send_boxes`].
    unsafe fn send(&self, queue: &Queue<'_>, storage: &Storage) -> Result<(Option<Sent>, Vec<OfRegion>), Error>;
    /// Puts what packs the boxes on a device, where they stay, into the stream of a node. Nothing if the host has some.
    ///
    /// # Safety
    /// As [`Storage::move_boxes`].
    unsafe fn pack_there(&self, queue: &Queue<'_>, storage: &Storage) -> Result<Option<OnTheWay>, Error>;
    /// Puts what sets the boxes on a device, from where they lie packed in the host's memory or in a passage of that
    /// device, into the stream of a node.
    ///
    /// # Safety
    /// As [`Storage::receive_boxes`] and [`Storage::move_boxes`].
    unsafe fn receive(&self, queue: &Queue<'_>, storage: &Storage, from: Packed) -> Result<OnTheWay, Error>;
}

/// Where boxes lie packed.
enum Packed {
    /// In the host's memory.
    Host(*mut u8),
    /// On the device that is to unpack them.
    Device(Passage),
}

#[derive(Debug)]
struct Of<const D: usize> {
    from: Arc<Layout<D>>,
    to: Arc<Layout<D>>,
    given: Batch,
    taken: Batch,
    gives_ghosts: bool,
}

impl<const D: usize> Of<D> {
    /// Copies the rows of a box between the memory of a region and where it lies packed.
    ///
    /// # Safety
    /// As [`Strips::pack`] and [`Strips::unpack`].
    unsafe fn rows(layout: &Layout<D>, storage: &Storage, part: &PackedBox, message: *mut u8, packs: bool) {
        let cells = narrow::<D>(&part.cells);
        let length = cells.extent()[D - 1];
        for at in cells.rows() {
            // SAFETY: the row is in the region, and packed in the message; the rest is the caller's promise.
            unsafe {
                let row = Row::new(layout, storage, part.region, at, length);
                let there = Row::packed(layout, part, message, at, length);
                if packs { row.copy_to(&there) } else { there.copy_to(&row) }
            }
        }
    }
}

impl<const D: usize> Strips for Of<D> {
    fn given(&self) -> &Batch {
        &self.given
    }

    fn taken(&self) -> &Batch {
        &self.taken
    }

    fn gives_ghosts(&self) -> bool {
        self.gives_ghosts
    }

    unsafe fn pack(&self, storage: &Storage, part: &PackedBox, message: *mut u8) {
        storage.unpack(part.region);
        // SAFETY: handed on.
        unsafe { Of::rows(&self.from, storage, part, message, true) }
    }

    unsafe fn unpack(&self, storage: &Storage, message: *mut u8) {
        for part in &self.taken.parts {
            // SAFETY: handed on.
            unsafe { Of::rows(&self.to, storage, part, message, false) }
        }
    }

    unsafe fn send(&self, queue: &Queue<'_>, storage: &Storage) -> Result<(Option<Sent>, Vec<OfRegion>), Error> {
        // SAFETY: the array has this layout; the rest is handed on.
        unsafe { storage.send_boxes(queue, (&self.from.wide, &self.from.element), &self.given.boxes()) }
    }

    unsafe fn pack_there(&self, queue: &Queue<'_>, storage: &Storage) -> Result<Option<OnTheWay>, Error> {
        if !storage.are_there(&self.given.boxes()) {
            return Ok(None);
        }
        let array = (&*self.from.wide, &self.from.element);
        // SAFETY: the array has this layout; the rest is handed on.
        unsafe { storage.move_boxes(queue, array, &self.given, None).map(Some) }
    }

    unsafe fn receive(&self, queue: &Queue<'_>, storage: &Storage, from: Packed) -> Result<OnTheWay, Error> {
        let array = (&*self.to.wide, &self.to.element);
        // SAFETY: the array has this layout; the rest is handed on.
        unsafe {
            match from {
                Packed::Host(values) => storage.receive_boxes(queue, array, &self.taken, values),
                Packed::Device(passage) => storage.move_boxes(queue, array, &self.taken, Some(passage)),
            }
        }
    }
}

impl Route {
    /// All that the parts of an array give one another.
    pub(super) fn all<T: Element, const D: usize>(
        parts: &[Arc<Layout<D>>],
        boundaries: &Boundaries<T, D>,
        fault: Option<StripFault>,
    ) -> Vec<Route> {
        let mut routes = Vec::new();
        for (from, giver) in parts.iter().enumerate() {
            for (to, taker) in parts.iter().enumerate() {
                let pairs = strips(giver, taker, boundaries, fault);
                if pairs.is_empty() {
                    continue;
                }
                let (given, taken): (Vec<OfRegion>, Vec<OfRegion>) = pairs.into_iter().unzip();
                let is_ghost = |(region, cells): &OfRegion| !giver.wide.regions[*region].valid.contains_box(cells);
                let strips = Of {
                    gives_ghosts: given.iter().any(is_ghost),
                    given: packed(&giver.element, &given),
                    taken: packed(&taker.element, &taken),
                    from: giver.clone(),
                    to: taker.clone(),
                };
                routes.push(Route { from, to, strips: Arc::new(strips) });
            }
        }
        routes
    }
}

/// An array that gives or takes: what, and where it is.
type Carried = (Arc<dyn Strips>, Arc<Tracker>);

/// An array of a call: its places with the trackers of its parts, and what they give one another.
pub(super) type Exchanged<'a> = (&'a [(TileAcc, Arc<Tracker>)], &'a [Route]);

/// Records that the parts of arrays give one another what they have as ghosts beyond borders.
pub(super) fn exchange(
    acc: &TileAcc,
    arrays: &[Exchanged<'_>],
    fault: Option<StripFault>,
    recorded: &'static Location<'static>,
) {
    let mut pairs: Vec<(usize, usize)> =
        arrays.iter().flat_map(|(_, routes)| routes.iter().map(|route| (route.from, route.to))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    if fault == Some(StripFault::Lost) {
        pairs.pop();
    }
    // All that is given is recorded first, so that no place waits for what is not recorded.
    let mut given = Vec::new();
    for (from, to) in pairs {
        let (mut give, mut take, mut places) = (Vec::new(), Vec::new(), None);
        for (parts, routes) in arrays {
            for route in routes.iter().filter(|route| (route.from, route.to) == (from, to)) {
                let (giver, taker) = (&parts[from], &parts[to]);
                give.push((route.strips.clone(), giver.1.clone()));
                take.push((route.strips.clone(), taker.1.clone()));
                places = Some((&giver.0, &taker.0));
            }
        }
        let Some((giver, taker)) = places else { continue };
        let transport = acc.transport(from, to);
        let bytes: Vec<usize> = take.iter().map(|(strips, _): &Carried| strips.given().bytes).collect();
        let message = transport.begin(&bytes);
        let node = record_give(giver, give, (&message, transport.stays()), recorded);
        let message: Arc<dyn Message> = match fault {
            // As if it had run before the other one.
            Some(StripFault::MissingWait) => Arc::new(Handed::of(bytes.into_iter().map(Letter::new).collect())),
            _ => message,
        };
        given.push((message.arrival().unwrap_or(node), taker, take, message));
    }
    for (node, taker, take, message) in given {
        record_take(taker, take, message, &node, recorded);
    }
}

/// The regions that a message is about, touched in this way.
fn touches(carried: &[Carried], batch: impl Fn(&dyn Strips) -> &Batch, mode: Mode) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    for (strips, tracker) in carried {
        let mut regions: Vec<usize> = batch(&**strips).parts.iter().map(|part| part.region).collect();
        regions.sort_unstable();
        regions.dedup();
        touches.extend(regions.into_iter().map(|region| Touch::new(tracker, Some(region), mode)));
    }
    touches
}

/// Whether all arrays are to be on the device; keeps their room there until it is dropped.
fn there(place: &TileAcc, carried: &[Carried]) -> Option<impl Sized + use<>> {
    let trackers: Vec<&Arc<Tracker>> = carried.iter().map(|(_, tracker)| tracker).collect();
    let all = place.core().device.is_some() && trackers.iter().all(|tracker| tracker.side() == Side::Device);
    all.then(|| place.core().try_reserve(&trackers)).flatten()
}

/// Packs what an array gives in the host's memory.
///
/// # Safety
/// The tracker is that of the array, whose boxes nobody writes meanwhile.
unsafe fn packed_here((strips, tracker): &Carried) -> Letter {
    let mut letter = Letter::new(strips.given().bytes);
    for part in &strips.given().parts {
        // SAFETY: the caller's promise; the letter has room for the batch.
        unsafe { strips.pack(tracker.storage(), part, letter.start()) };
    }
    letter
}

/// Records that a message is made. The letters may stay on the device if who takes them is there.
fn record_give(
    place: &TileAcc,
    give: Vec<Carried>,
    (message, stays): (&Arc<dyn Message>, bool),
    recorded: &'static Location<'static>,
) -> Arc<Node> {
    let has_ghosts = give.iter().any(|(strips, _)| strips.gives_ghosts());
    // Ghosts come to where the array is; cells are looked at where they are.
    let touched = touches(&give, |s| s.given(), if has_ghosts { Mode::Read } else { Mode::Look });
    let kept = if has_ghosts { there(place, &give) } else { None };
    let on_device = place.core().device.is_some() && (!has_ghosts || kept.is_some());
    let message = message.clone();
    let work = if on_device {
        Work::Device(Box::new(move |queue| send(queue, give, message, stays)))
    } else {
        Work::Host(Box::new(move || {
            // SAFETY: the node's touches keep all work away that writes the boxes.
            message.send(give.iter().map(|carried| unsafe { packed_here(carried) }).collect())
        }))
    };
    let node = place.record_node("fill_ghosts: give", recorded, &touched, &[], work);
    drop(kept);
    node
}

/// What an array gives, as the commands of a node bring it.
enum Coming {
    /// All in a passage, which stays on the device or is at the host.
    Passage(OnTheWay, bool),
    /// Some boxes; the host had the others.
    Some(Letter, Option<Sent>),
}

/// Puts what makes a message into the stream of a node. It `stays` where it is for a place on the same device.
fn send(queue: &Queue<'_>, give: Vec<Carried>, message: Arc<dyn Message>, stays: bool) -> Result<Done, Error> {
    let mut all = Vec::new();
    queue.enqueue(|| {
        for (strips, tracker) in &give {
            let storage = tracker.storage();
            if stays {
                // SAFETY: the storage is that of the array; the node's touches keep all work away that writes the
                // boxes.
                if let Some(packed) = unsafe { strips.pack_there(queue, storage)? } {
                    all.push(Coming::Passage(packed, true));
                    continue;
                }
            }
            // SAFETY: as above.
            let (sent, here) = unsafe { strips.send(queue, storage)? };
            if let (Some(_), true) = (&sent, here.is_empty()) {
                // The batch is all that is given, in the same order.
                all.extend(sent.map(|(_, coming)| Coming::Passage(coming, false)));
                continue;
            }
            let mut letter = Letter::new(strips.given().bytes);
            for part in strips.given().parts.iter().filter(|part| here.contains(&(part.region, part.cells))) {
                // SAFETY: as above; the letter has room for the batch.
                unsafe { strips.pack(storage, part, letter.start()) };
            }
            all.push(Coming::Some(letter, sent));
        }
        Ok(())
    })?;
    let device = queue.device.clone();
    Ok(Box::new(move || {
        let letters = give.iter().zip(all).map(|((strips, _), coming)| {
            match coming {
                Coming::Passage(coming, stays) => {
                    Letter::Passage { passage: coming.passage, of: device.clone(), stays, bytes: strips.given().bytes }
                }
                Coming::Some(mut letter, sent) => {
                    if let Some((batch, coming)) = sent {
                        // SAFETY: the batch is in the passage by now, and the letter has room for all.
                        unsafe { add_batch(strips.given(), &batch, coming.passage.host.start(), letter.start()) };
                        device.passages().give(coming.passage);
                    }
                    letter
                }
            }
        });
        message.send(letters.collect())
    }))
}

/// Copies boxes of a batch, which lie packed from an address on, to their places among those of another batch.
///
/// # Safety
/// Both addresses have the bytes of their batches.
unsafe fn add_batch(all: &Batch, some: &Batch, from: *const u8, to: *mut u8) {
    let end = |of: &Batch, start: usize| {
        let next = of.parts.iter().map(|other| other.start).filter(|other| *other > start).min();
        next.unwrap_or(of.bytes)
    };
    for part in &some.parts {
        let place = all.parts.iter().find(|other| (other.region, other.cells) == (part.region, part.cells));
        let Some(place) = place else { continue };
        // What is between parts may differ.
        let bytes = (end(some, part.start) - part.start).min(end(all, place.start) - place.start);
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from.wrapping_add(part.start), to.wrapping_add(place.start), bytes) };
    }
}

/// Records that a message is taken, once the node that makes it has ended.
fn record_take(
    place: &TileAcc,
    take: Vec<Carried>,
    message: Arc<dyn Message>,
    given: &Arc<Node>,
    recorded: &'static Location<'static>,
) {
    let touched = touches(&take, |s| s.taken(), Mode::Update);
    let kept = there(place, &take);
    let work = if kept.is_some() {
        Work::Device(Box::new(move |queue| receive(queue, take, message)))
    } else {
        Work::Host(Box::new(move || {
            for ((strips, tracker), mut letter) in take.iter().zip(message.receive()?) {
                letter.bring_home()?;
                // SAFETY: the storage is that of the array; the node's touches keep all others away.
                unsafe { strips.unpack(tracker.storage(), letter.start()) };
                letter.end();
            }
            Ok(())
        }))
    };
    place.record_node("fill_ghosts: take", recorded, &touched, std::slice::from_ref(given), work);
    drop(kept);
}

/// Puts what takes a message into the stream of a node.
fn receive(queue: &Queue<'_>, take: Vec<Carried>, message: Arc<dyn Message>) -> Result<Done, Error> {
    let (mut coming, mut held) = (Vec::new(), Vec::new());
    queue.enqueue(|| {
        for ((strips, tracker), letter) in take.iter().zip(message.receive()?) {
            let from = match letter {
                Letter::Passage { passage, stays: true, .. } => Packed::Device(passage),
                letter => {
                    held.push(letter);
                    Packed::Host(held.last_mut().map_or(std::ptr::null_mut(), Letter::start))
                }
            };
            // SAFETY: the storage is that of the array, whose regions the node's touches have brought and keep all
            // others from; the letter is held until the work is done.
            coming.push(unsafe { strips.receive(queue, tracker.storage(), from)? });
        }
        Ok(())
    })?;
    let device = queue.device.clone();
    Ok(Box::new(move || {
        coming.into_iter().for_each(|coming| device.passages().give(coming.passage));
        held.into_iter().for_each(Letter::end);
        drop(take);
        Ok(())
    }))
}

/// The error of components of which some are periodic along the axis that is parted, and others are not.
pub(super) fn half_periodic() -> (ErrorKind, &'static str, &'static str) {
    (
        ErrorKind::Boundary,
        "components that are periodic along the first axis beside others that are not, on several places",
        "use arrays of their own for these, or build it on one place, such as `acc.places()[0]`",
    )
}
