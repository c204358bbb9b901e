//! What parts of arrays on several places give one another when ghosts are filled.
//!
//! A part's ghosts beyond a border are cells that another part owns. They go in one message for each pair of places and
//! call, with those of all arrays of the call: packed where they are by a node of the one place (*give*), and set by a
//! node of the other one (*take*), which waits for it. Memory that holds codes gives codes.

mod direct;
mod here;
mod ranks;

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use direct::{Direct, carried};
use here::Here;
use ranks::Between;
pub(super) use ranks::not_given;

use crate::acc::TileAcc;
use crate::backend::Memory;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::memory::ghosts::borders::{StripFault, strips};
use crate::memory::ghosts::device::DeviceCopies;
use crate::memory::layout::{Kinds, Layout};
use crate::memory::mailbox::Mailbox;
use crate::memory::node::{Done, Node, Planes, Queue, Work};
use crate::memory::parts::{Batch, Boxed, OfRegion, OnTheWay, PackedBox, Sent, packed};
use crate::memory::rows::{Row, each_row};
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Side, Touch, Tracker};
use crate::memory::transport::{Handed, Letter, Message};
use crate::record::strips::{Borders, TRACED};

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
    /// Whether what is taken are ghosts alone, and no cells that the part computes too.
    fn takes_ghosts(&self) -> bool;
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
    /// Puts what sets the boxes on a device, from where they lie packed in the host's memory, into the stream of a
    /// node.
    ///
    /// # Safety
    /// As [`Storage::receive_boxes`].
    unsafe fn receive(&self, queue: &Queue<'_>, storage: &Storage, from: *mut u8) -> Result<OnTheWay, Error>;
    /// Puts what packs the boxes into a mailbox on the device into the stream of a node; nothing if the device has not
    /// all of them.
    ///
    /// # Safety
    /// As [`Storage::through_mailbox`].
    unsafe fn send_to(&self, queue: &Queue<'_>, storage: &Storage, to: &Arc<Memory>) -> Result<Option<Boxed>, Error>;
    /// Puts what sets the boxes on a device from a mailbox into the stream of a node.
    ///
    /// # Safety
    /// As [`Storage::through_mailbox`].
    unsafe fn receive_from(&self, queue: &Queue<'_>, storage: &Storage, from: &Arc<Memory>) -> Result<Boxed, Error>;
    /// Puts what sets the boxes on a device, from where they are on one whose memory it reaches, into the stream of a
    /// node. Both devices have the regions with their newest values. Gives what is to be held until it is done.
    ///
    /// # Safety
    /// The memories are those of the arrays that give and take. The work comes after all that writes the boxes, and
    /// before all that will.
    unsafe fn copy_over(&self, queue: &Queue<'_>, from: &Storage, to: &Storage) -> Result<Copied, Error>;
    /// Sets all boxes from where they are given, both in the host's memory, on the threads of the pool that calls.
    ///
    /// # Safety
    /// The memories are those of the arrays that give and take, of which nobody writes what is given, or touches what
    /// is taken.
    unsafe fn copy_here(&self, from: &Storage, to: &Storage);
    /// The borders of the part that gives.
    fn borders(&self) -> &Borders;
    /// The boxes that are given and taken, and the planes of the first axis that are given.
    fn boxes(&self) -> &StripsOf;
}

/// The boxes of strips, for who orders work.
#[derive(Debug)]
struct StripsOf {
    given: Arc<[OfRegion]>,
    taken: Arc<[OfRegion]>,
    planes: Planes,
}

/// Copies from device to device, and the memory that they use.
type Copied = (Arc<DeviceCopies>, [Arc<Memory>; 2]);

#[derive(Debug)]
struct Of<const D: usize> {
    from: Arc<Layout<D>>,
    to: Arc<Layout<D>>,
    given: Batch,
    taken: Batch,
    gives_ghosts: bool,
    borders: Borders,
    boxes: StripsOf,
    /// What sets the boxes from device to device, once that was asked for: by whether each array lies in a row there.
    over: [OnceLock<Arc<DeviceCopies>>; 4],
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

    fn takes_ghosts(&self) -> bool {
        self.to.overlap() == [0, 0]
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

    unsafe fn receive(&self, queue: &Queue<'_>, storage: &Storage, from: *mut u8) -> Result<OnTheWay, Error> {
        let array = (&*self.to.wide, &self.to.element);
        // SAFETY: the array has this layout; the rest is handed on.
        unsafe { storage.receive_boxes(queue, array, &self.taken, from) }
    }

    unsafe fn send_to(&self, queue: &Queue<'_>, storage: &Storage, to: &Arc<Memory>) -> Result<Option<Boxed>, Error> {
        let array = (&*self.from.wide, &self.from.element);
        // SAFETY: the array has this layout; the rest is handed on.
        unsafe { storage.through_mailbox(queue, array, &self.given, (to, true)) }
    }

    unsafe fn receive_from(&self, queue: &Queue<'_>, storage: &Storage, from: &Arc<Memory>) -> Result<Boxed, Error> {
        let array = (&*self.to.wide, &self.to.element);
        // SAFETY: the array has this layout; the rest is handed on.
        let put = unsafe { storage.through_mailbox(queue, array, &self.taken, (from, false))? };
        put.ok_or_else(not_there)
    }

    unsafe fn copy_over(&self, queue: &Queue<'_>, from: &Storage, to: &Storage) -> Result<Copied, Error> {
        let (given, taken) = (&self.given.parts, &self.taken.parts);
        let (Some(source), target) = (from.memory_of(given), to.device_memory(queue.device)?) else {
            return Err(not_there());
        };
        let over = &self.over[2 * usize::from(from.row().is_some()) + usize::from(to.row().is_some())];
        let copies = match over.get() {
            Some(copies) => copies.clone(),
            None => {
                let lies = |storage: &Storage, layout: &Layout<D>, part: &PackedBox| {
                    let of = layout.wide.regions[part.region].clone();
                    let site = storage.site(part.region, &of);
                    (of, site, part.cells)
                };
                let ends = given.iter().zip(taken);
                let ends = ends.map(|(given, taken)| (lies(to, &self.to, taken), lies(from, &self.from, given)));
                let made = DeviceCopies::across(queue.device, &self.to.element, &ends.collect::<Vec<_>>())?;
                over.get_or_init(|| Arc::new(made)).clone()
            }
        };
        // SAFETY: the copies are for these layouts; the rest is the caller's promise.
        unsafe { copies.run(queue.stream, &target, &source)? };
        Ok((copies, [source, target]))
    }

    unsafe fn copy_here(&self, from: &Storage, to: &Storage) {
        for (given, taken) in self.given.parts.iter().zip(&self.taken.parts) {
            from.unpack(given.region);
            let (cells, first) = (narrow::<D>(&given.cells), narrow::<D>(&taken.cells).lo);
            each_row(&cells, &|at, length| {
                let there = std::array::from_fn(|axis| first[axis] + at[axis] - cells.lo[axis]);
                // SAFETY: the boxes are alike, and lie in these regions; the rest is the caller's promise.
                unsafe {
                    let row = Row::new(&self.from, from, given.region, at, length);
                    row.copy_to(&Row::new(&self.to, to, taken.region, there, length));
                }
            });
        }
    }

    fn borders(&self) -> &Borders {
        &self.borders
    }

    fn boxes(&self) -> &StripsOf {
        &self.boxes
    }
}

/// The error of cells that were to be on a device.
fn not_there() -> Error {
    let (tried, advice) = ("take ghosts from another place", "report this as a bug of tida");
    Error::new(ErrorKind::Device, tried, "cells that are not on its device", advice)
}

impl Route {
    /// All that the parts of an array give one another.
    pub(super) fn all<const D: usize>(
        parts: &[Arc<Layout<D>>],
        boundaries: &Kinds<D>,
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
                let axis = 4 - D;
                let mut planes: Planes = given.iter().map(|(_, cells)| (cells.lo[axis], cells.hi[axis])).collect();
                planes.sort_unstable();
                planes.dedup();
                let depth = planes.iter().map(|(lo, hi)| hi - lo).max().unwrap_or(0);
                let planes_of = |all: &GridBox<D>| (all.lo[0], all.hi[0]);
                let (held, owned, sides) = (planes_of(&giver.held), planes_of(&giver.owned), giver.borders[0]);
                let strips = Of {
                    borders: Borders { axis, held, owned, sides, depth },
                    boxes: StripsOf { given: given.as_slice().into(), taken: taken.as_slice().into(), planes },
                    gives_ghosts: given.iter().any(is_ghost),
                    given: packed(&giver.element, &given),
                    taken: packed(&taker.element, &taken),
                    from: giver.clone(),
                    to: taker.clone(),
                    over: Default::default(),
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

/// Records that the parts of arrays give one another what they have beyond borders; of each array it is said whether
/// the rest of a fill may be left to who reads its ghosts. What this gives says of which parts it is. Of several ranks
/// this is what one of them gives and takes, in a call of this number.
pub(super) fn exchange(
    (acc, call): (&TileAcc, u64),
    (arrays, leaves): (&[Exchanged<'_>], &[bool]),
    fault: Option<StripFault>,
    recorded: &'static Location<'static>,
) -> Filled {
    let here = acc.places_here();
    let routes = arrays.iter().flat_map(|(_, routes)| routes.iter().map(|route| (route.from, route.to)));
    let mut pairs: Vec<(usize, usize)> = routes.filter(|(from, to)| here.contains(from) || here.contains(to)).collect();
    // All give to the place after theirs first: so what is first to be taken of two is first to be there.
    let places = acc.all_places();
    pairs.sort_unstable_by_key(|(from, to)| ((to + places - from) % places, *from));
    pairs.dedup();
    if fault == Some(StripFault::Lost) {
        pairs.pop();
    }
    let (direct, kept) = Direct::of(acc, (arrays, leaves), &pairs, recorded);
    pairs.retain(|pair| !direct.pairs.contains(pair));
    // All that is given is recorded first, so that no place waits for what is not recorded.
    let here = Here::of(acc, arrays, &mut pairs, recorded);
    let (mut given, mut sent) = (Vec::new(), Vec::new());
    for (from, to) in pairs {
        let (give, take) = carried(arrays, (from, to));
        let bytes: Vec<usize> = take.iter().map(|(strips, _)| strips.given().bytes).collect();
        let between = Between::of(acc, (from, to), call, recorded);
        let in_mailboxes = acc.has_mailboxes((from, to));
        let begin = || acc.transport(from, to).begin(&bytes);
        let (node, taker, message) = match (acc.place(from), acc.place(to), between) {
            (Some(giver), Some(taker), _) => {
                let message = begin();
                (record_give(giver, give, &message, recorded), taker, message)
            }
            (Some(giver), None, Some(between)) if in_mailboxes => {
                let message = between.give(fault, bytes);
                let node = record_give(giver, give, &(message.clone() as Arc<dyn Message>), recorded);
                between.record_end(giver, message, &node);
                continue;
            }
            (None, Some(taker), Some(between)) if in_mailboxes => {
                let (node, message) = between.record_coming(taker, &take);
                given.push((vec![node], taker, take, message));
                continue;
            }
            (Some(giver), None, Some(between)) => {
                let message = begin();
                let node = record_give(giver, give, &message, recorded);
                sent.push(between.record_send(giver, &take, &node, message));
                continue;
            }
            (None, Some(taker), Some(between)) => {
                let message = begin();
                given.push((vec![between.record_arrival(taker, &take, &message)], taker, take, message));
                continue;
            }
            _ => continue,
        };
        let message: Arc<dyn Message> = match fault {
            // As if it had run before the other one.
            Some(StripFault::MissingWait) => Arc::new(Handed::of(bytes.into_iter().map(Letter::new).collect())),
            _ => message,
        };
        given.push((vec![node], taker, take, message));
    }
    direct.record((acc, call), arrays, fault, recorded);
    for (mut after, taker, take, message) in given {
        // Who computes on keeps the thread that sends from its core, if it has no other; and others wait for what that
        // sends.
        let waits = acc.world().is_some_and(|world| !world.has_core()) && taker.core().device.is_none();
        after.extend(sent.iter().filter(|_| waits).cloned());
        record_take(taker, take, message, &after, recorded);
    }
    here.record_taken(fault, recorded);
    drop(kept);
    Filled(direct)
}

/// What an exchange says of the parts of arrays.
pub(crate) struct Filled(Direct);

impl Filled {
    /// Whether the fill of a part is done with.
    pub fn has(&self, tracker: &Arc<Tracker>) -> bool {
        self.0.owes(tracker)
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

/// Records that a message is made.
fn record_give(
    place: &TileAcc,
    give: Vec<Carried>,
    message: &Arc<dyn Message>,
    recorded: &'static Location<'static>,
) -> Arc<Node> {
    let has_ghosts = give.iter().any(|(strips, _)| strips.gives_ghosts());
    // Ghosts come to where the array is; cells are looked at where they are.
    let touched = touches(&give, |s| s.given(), if has_ghosts { Mode::Read } else { Mode::Look });
    let kept = if has_ghosts { there(place, &give) } else { None };
    let on_device = place.core().device.is_some() && (!has_ghosts || kept.is_some());
    let message = message.clone();
    let work = if on_device {
        Work::Device(Box::new(move |queue| send(queue, give, message)))
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
    /// All in a passage.
    Passage(OnTheWay),
    /// All in a mailbox.
    Mailbox { mailbox: Mailbox, _packed: Boxed },
    /// Some boxes; the host had the others.
    Some(Letter, Option<Sent>),
}

/// Puts what makes a message into the stream of a node.
fn send(queue: &Queue<'_>, give: Vec<Carried>, message: Arc<dyn Message>) -> Result<Done, Error> {
    let mut all = Vec::new();
    queue.enqueue(|| {
        for (strips, tracker) in &give {
            let storage = tracker.storage();
            if let Some(mailbox) = message.room(queue.device, strips.given().bytes) {
                // SAFETY: as below; nobody else has the mailbox.
                let packed = unsafe { strips.send_to(queue, storage, &mailbox.memory)? };
                if let Some(_packed) = packed {
                    all.push(Coming::Mailbox { mailbox, _packed });
                    continue;
                }
            }
            // SAFETY: the storage is that of the array; the node's touches keep all work away that writes the boxes.
            let (sent, here) = unsafe { strips.send(queue, storage)? };
            if let (Some(_), true) = (&sent, here.is_empty()) {
                // The batch is all that is given, in the same order.
                all.extend(sent.map(|(_, coming)| Coming::Passage(coming)));
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
    tracing::trace!(target: TRACED, "packing is queued");
    let device = queue.device.clone();
    Ok(Box::new(move || {
        let letters = give.iter().zip(all).map(|((strips, _), coming)| {
            match coming {
                Coming::Passage(coming) => Letter::Passage { passage: coming.passage, of: device.clone() },
                Coming::Mailbox { mailbox, .. } => Letter::Mailbox(mailbox),
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

/// Copies boxes of a batch, which lie packed from an address on, to their places among those of another batch, which
/// has them in the same order. Boxes may be equal: a part as thin as its ghosts gives all of it to both sides of
/// another one.
///
/// # Safety
/// Both addresses have the bytes of their batches.
unsafe fn add_batch(all: &Batch, some: &Batch, from: *const u8, to: *mut u8) {
    let end = |of: &Batch, start: usize| {
        let next = of.parts.iter().map(|other| other.start).filter(|other| *other > start).min();
        next.unwrap_or(of.bytes)
    };
    let mut places = all.parts.iter();
    for part in &some.parts {
        let place = places.find(|other| (other.region, other.cells) == (part.region, part.cells));
        let Some(place) = place else { continue };
        // What is between parts may differ.
        let bytes = (end(some, part.start) - part.start).min(end(all, place.start) - place.start);
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from.wrapping_add(part.start), to.wrapping_add(place.start), bytes) };
    }
}

/// Records that a message is taken, once the node that makes it has ended, and the others of these.
fn record_take(
    place: &TileAcc,
    take: Vec<Carried>,
    message: Arc<dyn Message>,
    after: &[Arc<Node>],
    recorded: &'static Location<'static>,
) {
    let touched = touches(&take, |s| s.taken(), Mode::Update);
    let kept = there(place, &take);
    let work = if kept.is_some() {
        Work::Device(Box::new(move |queue| receive(queue, take, message)))
    } else {
        Work::Host(Box::new(move || {
            for ((strips, tracker), letter) in take.iter().zip(message.receive()?) {
                let mut letter = letter.into_host(strips.taken().bytes)?;
                // SAFETY: the storage is that of the array; the node's touches keep all others away.
                unsafe { strips.unpack(tracker.storage(), letter.start()) };
                letter.end();
            }
            Ok(())
        }))
    };
    place.record_node("fill_ghosts: take", recorded, &touched, after, work);
    drop(kept);
}

/// Puts what takes a message into the stream of a node.
fn receive(queue: &Queue<'_>, take: Vec<Carried>, message: Arc<dyn Message>) -> Result<Done, Error> {
    let (mut coming, mut held, mut boxed) = (Vec::new(), Vec::new(), Vec::new());
    queue.enqueue(|| {
        for ((strips, tracker), letter) in take.iter().zip(message.receive()?) {
            held.push(letter);
            if let Some(Letter::Mailbox(mailbox)) = held.last() {
                // SAFETY: as below; the mailbox is this letter's until it is dropped.
                boxed.push(unsafe { strips.receive_from(queue, tracker.storage(), &mailbox.memory)? });
                continue;
            }
            let from = held.last_mut().map_or(std::ptr::null_mut(), Letter::start);
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
        drop((take, boxed));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::GridBox;
    use crate::memory::element::Element;

    #[test]
    fn equal_boxes_of_a_batch_have_a_place_each() {
        let cells = |lo: i64| GridBox::new([0, 0, 0, lo], [1, 1, 1, lo + 3]);
        let boxes = [(0, cells(0)), (1, cells(3)), (0, cells(0)), (0, cells(6))];
        let (all, some) = (packed(&f64::TYPE, &boxes), packed(&f64::TYPE, &[boxes[0], boxes[2], boxes[3]]));
        let from: Vec<f64> = (1..=some.bytes / 8).map(|n| n as f64).collect();
        let mut to = vec![0.0; all.bytes / 8];
        // SAFETY: both have the bytes of their batches.
        unsafe { add_batch(&all, &some, from.as_ptr().cast(), to.as_mut_ptr().cast()) };
        let three = |of: &[f64], part: &PackedBox| of[part.start / 8..][..3].to_vec();
        for (part, number) in [(0, 0), (2, 1), (3, 2)] {
            assert_eq!(three(&to, &all.parts[part]), three(&from, &some.parts[number]), "box {part}");
        }
        assert_eq!(three(&to, &all.parts[1]), [0.0; 3]);
    }
}
