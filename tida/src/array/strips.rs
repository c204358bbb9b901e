//! What parts of arrays on several places give one another when ghosts are filled.
//!
//! A part's ghosts beyond a border are cells that another part owns. They go in one message for each pair of places and
//! call, with those of all arrays of the call: packed where they are by a node of the one place (*give*), and set by a
//! node of the other one (*take*), which waits for it. Memory that holds codes gives codes.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::narrow;
use crate::memory::element::Element;
use crate::memory::ghosts::borders::{StripFault, strips};
use crate::memory::layout::{Boundaries, Layout};
use crate::memory::node::{Done, Node, Queue, Work};
use crate::memory::parts::{Batch, OfRegion, PackedBox, packed};
use crate::memory::rows::Row;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Side, Touch, Tracker};

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
    unsafe fn send(&self, queue: &Queue<'_>, storage: &Storage) -> Result<Sending, Error>;
    /// Puts what sets the boxes on a device into the stream of a node.
    ///
    /// # Safety
    /// As [`Storage::receive_boxes`].
    unsafe fn receive(&self, queue: &Queue<'_>, storage: &Storage, message: &[u8]) -> Result<Done, Error>;
}

/// What is on its way, and the boxes that are not: the host has them.
type Sending = (Option<crate::memory::parts::Sent>, Vec<OfRegion>);

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

    unsafe fn send(&self, queue: &Queue<'_>, storage: &Storage) -> Result<Sending, Error> {
        let boxes: Vec<OfRegion> = self.given.parts.iter().map(|part| (part.region, part.cells)).collect();
        // SAFETY: the array has this layout; the rest is handed on.
        unsafe { storage.send_boxes(queue, (&self.from.wide, &self.from.element), &boxes) }
    }

    unsafe fn receive(&self, queue: &Queue<'_>, storage: &Storage, message: &[u8]) -> Result<Done, Error> {
        let array = (&*self.to.wide, &self.to.element);
        // SAFETY: the array has this layout; the rest is handed on.
        let coming = unsafe { storage.receive_boxes(queue, array, &self.taken, message)? };
        let device = queue.device.clone();
        Ok(Box::new(move || {
            device.passages().give(coming.passage);
            Ok(())
        }))
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

/// Values on their way, aligned as threads copy them.
type Message = Arc<Mutex<Vec<u128>>>;

/// An array that gives or takes: what, where it is, and where in the message its part begins, in bytes.
type Carried = (Arc<dyn Strips>, Arc<Tracker>, usize);

/// An array of a call: its places with the trackers of its parts, and what they give one another.
pub(super) type Exchanged<'a> = (&'a [(TileAcc, Arc<Tracker>)], &'a [Route]);

/// Bytes of a message, of values that are aligned so.
const UNIT: usize = size_of::<u128>();

/// Records that the parts of arrays give one another what they have as ghosts beyond borders.
pub(super) fn exchange(arrays: &[Exchanged<'_>], fault: Option<StripFault>, recorded: &'static Location<'static>) {
    let mut pairs: Vec<(usize, usize)> =
        arrays.iter().flat_map(|(_, routes)| routes.iter().map(|route| (route.from, route.to))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    if fault == Some(StripFault::Lost) {
        pairs.pop();
    }
    let mut messages = Vec::new();
    for (from, to) in pairs {
        let (mut give, mut take, mut bytes, mut places) = (Vec::new(), Vec::new(), 0, None);
        for (parts, routes) in arrays {
            for route in routes.iter().filter(|route| (route.from, route.to) == (from, to)) {
                let (giver, taker) = (&parts[from], &parts[to]);
                give.push((route.strips.clone(), giver.1.clone(), bytes));
                take.push((route.strips.clone(), taker.1.clone(), bytes));
                bytes += route.strips.given().bytes.next_multiple_of(UNIT);
                places = Some((&giver.0, &taker.0));
            }
        }
        messages.extend(places.map(|(giver, taker)| (giver, taker, give, take, bytes)));
    }
    // All that is given is recorded first, so that no place waits for what is not recorded.
    let mut given = Vec::new();
    for (giver, taker, give, take, bytes) in messages {
        let message: Message = Arc::new(Mutex::new(vec![0; bytes / UNIT]));
        let node = record_give(giver, give, &message, recorded);
        // As if it had run before the other one.
        let message = match fault {
            Some(StripFault::MissingWait) => Arc::new(Mutex::new(vec![0; bytes / UNIT])),
            _ => message,
        };
        given.push((node, taker, take, message));
    }
    for (node, taker, take, message) in given {
        record_take(taker, take, message, &node, recorded);
    }
}

/// Runs `f` with the address of a message.
fn with_message<T>(message: &Message, f: impl FnOnce(*mut u8) -> T) -> T {
    f(message.lock().unwrap_or_else(PoisonError::into_inner).as_mut_ptr().cast())
}

/// The regions that a message is about, with how they are touched.
fn touches(
    carried: &[Carried],
    batch: impl Fn(&dyn Strips) -> &Batch,
    mode: impl Fn(&dyn Strips) -> Mode,
) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    for (strips, tracker, _) in carried {
        let mut regions: Vec<usize> = batch(&**strips).parts.iter().map(|part| part.region).collect();
        regions.sort_unstable();
        regions.dedup();
        touches.extend(regions.into_iter().map(|region| Touch::new(tracker, Some(region), mode(&**strips))));
    }
    touches
}

/// Whether all arrays are to be on the device; keeps their room there until it is dropped.
fn there(place: &TileAcc, carried: &[Carried]) -> Option<impl Sized + use<>> {
    let trackers: Vec<&Arc<Tracker>> = carried.iter().map(|(_, tracker, _)| tracker).collect();
    let all = place.core().device.is_some() && trackers.iter().all(|tracker| tracker.side() == Side::Device);
    all.then(|| place.core().try_reserve(&trackers)).flatten()
}

/// Records that a message is made.
fn record_give(
    place: &TileAcc,
    give: Vec<Carried>,
    message: &Message,
    recorded: &'static Location<'static>,
) -> Arc<Node> {
    let has_ghosts = give.iter().any(|(strips, ..)| strips.gives_ghosts());
    // Ghosts come to where the array is; cells are looked at where they are.
    let touched = touches(&give, |s| s.given(), |_| if has_ghosts { Mode::Read } else { Mode::Look });
    let kept = if has_ghosts { there(place, &give) } else { None };
    let on_device = place.core().device.is_some() && (!has_ghosts || kept.is_some());
    let message = message.clone();
    let work = if on_device {
        Work::Device(Box::new(move |queue| send(queue, give, message)))
    } else {
        Work::Host(Box::new(move || {
            with_message(&message, |message| {
                for (strips, tracker, at) in &give {
                    for part in &strips.given().parts {
                        // SAFETY: the storage is that of the array; the node's touches keep all work away that writes
                        // the boxes, and the message has room for them from there on.
                        unsafe { strips.pack(tracker.storage(), part, message.wrapping_add(*at)) };
                    }
                }
            });
            Ok(())
        }))
    };
    let node = place.record_node("fill_ghosts: give", recorded, &touched, &[], work);
    drop(kept);
    node
}

/// Puts what makes a message into the stream of a node.
fn send(queue: &Queue<'_>, give: Vec<Carried>, message: Message) -> Result<Done, Error> {
    let mut coming = Vec::new();
    queue.enqueue(|| {
        for (strips, tracker, at) in give {
            // SAFETY: the storage is that of the array; the node's touches keep all work away that writes the boxes.
            let (sent, here) = unsafe { strips.send(queue, tracker.storage())? };
            with_message(&message, |message| {
                let is_here = |part: &&PackedBox| here.contains(&(part.region, part.cells));
                for part in strips.given().parts.iter().filter(is_here) {
                    // SAFETY: as above, and the message has room for them from there on.
                    unsafe { strips.pack(tracker.storage(), part, message.wrapping_add(at)) };
                }
            });
            coming.extend(sent.map(|sent| (strips, tracker, at, sent)));
        }
        Ok(())
    })?;
    let device = queue.device.clone();
    Ok(Box::new(move || {
        for (strips, tracker, at, (batch, on_the_way)) in coming {
            let from = on_the_way.passage.host.start();
            with_message(&message, |message| {
                for part in &batch.parts {
                    let to = strips.given().parts.iter().find(|to| (to.region, to.cells) == (part.region, part.cells));
                    let Some(to) = to else { continue };
                    let end = |of: &Batch, start: usize| {
                        let next = of.parts.iter().map(|other| other.start).filter(|other| *other > start).min();
                        next.unwrap_or(of.bytes)
                    };
                    let bytes = (end(&batch, part.start) - part.start).min(end(strips.given(), to.start) - to.start);
                    // SAFETY: the box is in the passage by now, packed as in the message, which has room for it.
                    unsafe {
                        let to = message.wrapping_add(at + to.start);
                        std::ptr::copy_nonoverlapping(from.wrapping_add(part.start), to, bytes);
                    }
                }
            });
            device.passages().give(on_the_way.passage);
            drop(tracker);
        }
        Ok(())
    }))
}

/// Records that a message is taken, once the node that makes it has ended.
fn record_take(
    place: &TileAcc,
    take: Vec<Carried>,
    message: Message,
    given: &Arc<Node>,
    recorded: &'static Location<'static>,
) {
    let touched = touches(&take, |s| s.taken(), |_| Mode::Update);
    let kept = there(place, &take);
    let work = if kept.is_some() {
        Work::Device(Box::new(move |queue| {
            let mut ends = Vec::new();
            let values = std::mem::take(&mut *message.lock().unwrap_or_else(PoisonError::into_inner));
            // SAFETY: all of a vector of numbers.
            let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), values.len() * UNIT) };
            queue.enqueue(|| {
                for (strips, tracker, at) in take {
                    let bytes = bytes.get(at..).unwrap_or_default();
                    // SAFETY: the storage is that of the array, whose regions the node's touches have brought and keep
                    // all others from.
                    ends.push((unsafe { strips.receive(queue, tracker.storage(), bytes)? }, tracker));
                }
                Ok(())
            })?;
            Ok(Box::new(move || ends.into_iter().try_for_each(|(end, _)| end())))
        }))
    } else {
        Work::Host(Box::new(move || {
            with_message(&message, |message| {
                for (strips, tracker, at) in &take {
                    // SAFETY: the storage is that of the array; the node's touches keep all others away, and what the
                    // array takes begins there.
                    unsafe { strips.unpack(tracker.storage(), message.wrapping_add(*at)) };
                }
            });
            Ok(())
        }))
    };
    place.record_node("fill_ghosts: take", recorded, &touched, std::slice::from_ref(given), work);
    drop(kept);
}

/// The error of components of which some are periodic along the axis that is parted, and others are not.
pub(super) fn half_periodic() -> (ErrorKind, &'static str, &'static str) {
    (
        ErrorKind::Boundary,
        "components that are periodic along the first axis beside others that are not, on several places",
        "use arrays of their own for these, or build it on one place, such as `acc.places()[0]`",
    )
}
