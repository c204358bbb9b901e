//! What places with devices give one another. Where the device of the one that takes reads the memory of the other, a
//! node of the place that takes reads planes there. Else a node of the place that gives makes a message of them in the
//! host's memory, and a node of the place that takes waits for it. A sweep that writes such planes computes them first,
//! and then the others, while the strips travel (docs/decisions/0068-peer-copies.md, 0092-messages-beside-sweeps.md).

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, Weak};

use super::driver::{Core, lock};
use super::recording::APART;
use super::running::stream_after;
use super::sweep::OpenSweep;
use crate::backend::{AtWork, EDGES, Event, GIVES, STRIPS};
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::{Done, Early, Next, Node, Planes, Queue, SplitWork, StripWork, Way, Work};
use crate::memory::tracker::Tracker;
use crate::program::deps::Need;
use crate::run::op::{Edges, Sweep};
use crate::run::streamed::Ended;

/// Where it is told how far strips are, for who measures it (`benches/ranks.rs`).
pub(crate) const TRACED: &str = "tida::strips";

/// Boxes of an array that strips are read from, or written to.
pub(crate) type StripBoxes = (Arc<Tracker>, Arc<[(usize, GridBox<4>)]>);

/// What a node that gives or takes strips touches.
pub(crate) struct Touched<'a> {
    pub recorded: &'static Location<'static>,
    /// What is read, of the arrays of the place that gives.
    pub read: &'a [StripBoxes],
    pub written: &'a [StripBoxes],
    /// What brings the arrays to the device of the place that gives, if something has to.
    pub after: Option<Arc<Node>>,
    /// The node of the same place and call that does the same of other strips, before: so their order in the stream is
    /// that of the program.
    pub next_to: Option<Arc<Node>>,
}

/// How the planes at the borders of a part of an array lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Borders {
    /// The first axis, of four.
    pub axis: usize,
    /// Its planes in the part, those of these that it owns, and whether there are borders below and above.
    pub held: (i64, i64),
    pub owned: (i64, i64),
    pub sides: [bool; 2],
    /// So many planes are given, at most.
    pub depth: i64,
}

impl Borders {
    /// The planes within `depth` of a border; none if these are all.
    fn planes(&self, depth: i64) -> Option<Planes> {
        let (lo, hi) = self.held;
        let [below, above] = self.sides;
        let ends = [below.then_some((lo, lo + depth)), above.then_some((hi - depth, hi))];
        let apart = hi - lo > depth * (i64::from(below) + i64::from(above));
        apart.then(|| ends.into_iter().flatten().collect())
    }

    /// The boxes of a sweep over these cells at borders whose planes are given, and that of the others. Planes that are
    /// taken next are in none. Nothing where the others are none, or are nearer to a border than so many planes.
    pub(super) fn split(&self, cells: &GridBox<4>, reach: i64) -> Option<(Vec<GridBox<4>>, GridBox<4>)> {
        let (axis, depth, [below, above]) = (self.axis, self.depth, self.sides);
        let (first, end) = (cells.lo[axis], cells.hi[axis]);
        let planes = |lo: i64, hi: i64| {
            let mut part = *cells;
            (part.lo[axis], part.hi[axis]) = (lo, hi);
            part
        };
        let lo = if below { self.owned.0 + depth } else { first };
        let hi = if above { self.owned.1 - depth } else { end };
        let has_all = first <= self.owned.0 && self.owned.1 <= end;
        (has_all && (below || above) && depth >= reach && lo < hi).then(|| {
            let ends = [below.then(|| planes(lo - depth, lo)), above.then(|| planes(hi, hi + depth))];
            (ends.into_iter().flatten().collect(), planes(lo, hi))
        })
    }
}

impl Core {
    /// Closes what is open before strips of these arrays are recorded, and tells sweeps that are still open that the
    /// ghosts of what they write are filled now. Says of each array whether such a sweep writes all its regions on the
    /// device: that one brings them there. Sweeps that write the arrays compute the planes at the borders first, for
    /// which others wait; single sweeps do if no fill keeps the next ones from all cells (`owes`). Steps may be held
    /// back over the strips if this place `takes` some.
    pub fn close_before_strips(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        arrays: &[&Arc<Tracker>],
        (borders, owes, takes): (Option<&Borders>, bool, bool),
    ) -> Vec<bool> {
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        recorder.batch.ends_by(Ended::Beside { name: "fill_ghosts", recorded, why: APART });
        self.flush_round(&mut recorder);
        let mut made = Vec::with_capacity(arrays.len());
        for tracker in arrays {
            let told = OpenSweep::tell_refilled(&mut recorder.open, tracker);
            let sweep = told.and_then(|number| recorder.open.get_mut(number));
            made.push(sweep.is_some_and(|sweep| {
                let regions = sweep.work.array(tracker).map_or(0, |array| array.regions.len());
                regions == tracker.boxes().len()
            }));
        }
        self.close_all(&mut recorder);
        self.are_given(arrays, borders.filter(|_| owes));
        let trackers = || arrays.iter().copied();
        let held = recorder.fusing.holds(trackers());
        // What is taken says where the steps before it end.
        let waits = held && takes && recorder.fusing.may_hold_strips(arrays);
        if recorder.chain_of(trackers()).is_some() || held && !waits {
            let why = "works on its arrays, or needs its results";
            self.close_chain(&mut recorder, Ended::Beside { name: "fill_ghosts", recorded, why });
        } else if let (true, Some(borders)) = (waits, borders) {
            recorder.fusing.gives(borders);
        }
        made
    }

    /// Strips of these arrays are given, at these borders.
    fn are_given(&self, arrays: &[&Arc<Tracker>], borders: Option<&Borders>) {
        let mut given = lock(&self.parted.given);
        let is_of = |known: &Weak<Tracker>| arrays.iter().any(|tracker| known.as_ptr() == Arc::as_ptr(tracker));
        given.retain(|(known, _)| known.strong_count() > 0 && !is_of(known));
        let all = arrays.iter().zip(borders.into_iter().cycle());
        given.extend(all.map(|(tracker, borders)| (Arc::downgrade(tracker), *borders)));
    }

    /// The planes that a sweep is to compute first, if it can and that pays: strips of what it writes were given
    /// before. Whether they are given next is not asked, since by then it may have begun.
    pub(super) fn edges(&self, sweep: &OpenSweep) -> Option<Edges> {
        let work = &sweep.work;
        let writes = |tracker: &Weak<Tracker>| {
            work.arrays.iter().any(|array| array.write && Arc::as_ptr(&array.tracker) == tracker.as_ptr())
        };
        let given = lock(&self.parted.given);
        let written = || given.iter().filter(|(tracker, _)| writes(tracker)).map(|(_, borders)| borders);
        let mut borders = Borders { depth: written().map(|borders| borders.depth).max()?, ..*written().next()? };
        drop(given);
        // What is read may have a border where what is written has none, and wait for strips there.
        for regional in work.arrays.iter().filter_map(|array| array.tracker.regional()) {
            let [below, above] = regional.borders[borders.axis];
            borders.sides = [borders.sides[0] || below, borders.sides[1] || above];
        }
        let plain = sweep.ends.is_none()
            && work.listed.is_none()
            && work.launch.order().is_none()
            && work.launch.colour().is_none()
            && work.launch.grain()[borders.axis] == 1;
        // Arrays whose parts end elsewhere have their ghosts elsewhere.
        let alike = |tracker: &Tracker| {
            let regions = tracker.regional().map_or(&[][..], |regional| &regional.layout.regions);
            let ends = regions.first().zip(regions.last());
            ends.is_some_and(|(a, b)| (a.valid.lo[borders.axis], b.valid.hi[borders.axis]) == borders.held)
        };
        let even = work.arrays.iter().all(|array| !array.whole && !array.uneven && alike(&array.tracker));
        // Ghosts beyond a border are written by strips too, for which the inside does not wait.
        let (axis, held) = (borders.axis, borders.held);
        let inside = work.boxes().iter().all(|(_, cells)| held.0 <= cells.lo[axis] && cells.hi[axis] <= held.1);
        if !plain || !even || !inside {
            return None;
        }
        // Beyond so many planes from a border, nothing beyond it is read.
        let reach = work.arrays.iter().filter_map(|array| array.around).map(|(lo, hi)| hi.max(-lo)).max();
        let depth = borders.depth.max(reach.unwrap_or(0));
        let bytes: u64 = work.arrays.iter().map(|array| array.tracker.storage().device_bytes() as u64).sum();
        let planes = borders.planes(depth).filter(|_| bytes >= self.rules.edges_from)?;
        Some(Edges { axis: borders.axis, planes })
    }

    /// Records that strips are taken from another place, or given to it.
    pub fn record_strips(self: &Arc<Core>, touched: Touched<'_>, work: StripWork) -> Arc<Node> {
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        let node = self.node("fill_ghosts", touched.recorded, true, None);
        self.unfinished.add();
        if let Way::Take(made) = &work.way {
            node.wait_for_message(made);
        }
        // The arrays of this place.
        let here = if matches!(work.way, Way::Give) { touched.read } else { touched.written };
        node.set_work(Work::Strips(Box::new(work)));
        self.after_evictions(&node);
        for (tracker, boxes) in touched.written {
            boxes.iter().for_each(|(region, cells)| tracker.add(*region, &node, None, Some(*cells)));
        }
        // The arrays of any other place keep their room there, and only the caller records work on them now.
        for (tracker, boxes) in touched.read {
            boxes.iter().for_each(|(region, cells)| tracker.add(*region, &node, Some(*cells), None));
        }
        if let Some(before) = &touched.after {
            node.wait_for(before, Need::Data);
        }
        if let Some(before) = &touched.next_to {
            node.wait_for(before, Need::Order);
        }
        let held = Core::hold_strips(&mut recorder, &node, here.iter().map(|(tracker, _)| tracker));
        drop(recorder);
        if !held && node.release() {
            self.start_node(node.clone());
        }
        node
    }

    /// Puts what gives or takes strips into the stream for that. It waits for the planes that are given, and not for
    /// all of the sweep that computes them; and where it takes, of its own place's sweeps for those that read what it
    /// writes.
    pub(super) fn launch_strips(
        self: &Arc<Core>,
        device: &Arc<DeviceCore>,
        node: &Arc<Node>,
        StripWork { work, planes, way }: StripWork,
    ) -> Next {
        let (before, gives) = (node.take_before(), matches!(way, Way::Give));
        let (stream, waits) = (if gives { GIVES } else { STRIPS }, !matches!(way, Way::Read { waits: false }));
        let queue = Queue { device, stream, rings: &[], refilled: &[], lane: None, notes: None };
        // The order of the stream is that of the thread.
        let thread = gives.then(|| lock(&self.threads.handing));
        let mut message = None;
        let ready = self.put_into(&queue, node, &before, || {
            for (other, at) in before.iter().filter_map(|other| Some((other, other.launched()?))) {
                if let (Way::Take(made), Some(event)) = (&way, &at.event)
                    && Arc::ptr_eq(made, other)
                {
                    // It was handed over; devices that do not reach each other know no events of one another.
                    device.backend().after(stream, &**event)?;
                    continue;
                }
                let taken = !gives && other.is_of(self);
                let early = at.early.as_ref().filter(|early| taken || early.has(&planes));
                let apart = waits && (early.is_some() || (at.device, at.stream) != (device.id(), stream));
                let event = early.map(|early| &early.event).or(at.event.as_ref());
                if let Some(event) = event.filter(|_| apart) {
                    device.backend().wait(stream, &**event)?;
                }
            }
            if !gives {
                return Ok((work(&queue)?, None));
            }
            let (done, next) = queue.enqueue(|| self.message(&queue, node, work(&queue)?))?;
            message = Some(next);
            Ok((done, None))
        });
        // Not before this: the node is among those that end now, and who takes the message ends after it.
        let lost = message.and_then(|next| match thread.as_deref() {
            Some(Some(thread)) => thread.send(next).err().map(|lost| lost.0),
            _ => Some(next),
        });
        drop(thread);
        // No such thread: only if it could not be started.
        lost.into_iter().for_each(Handing::finish);
        ready
    }

    /// The message of a node that gives, whose commands are in the stream: `done` hands it over before the node ends,
    /// since its end waits for that of the sweep that it reads from, which goes on. Gives what the end has to do too.
    fn message(self: &Arc<Core>, queue: &Queue<'_>, node: &Arc<Node>, done: Done) -> Result<(Done, Handing), Error> {
        let message = Arc::new(Message { node: node.clone(), state: Mutex::new(State::Coming(done)) });
        let event = queue.device.backend().mark(queue.stream)?;
        queue.device.backend().flush(queue.stream)?;
        event.claim();
        let (core, next) = (self.clone(), Handing { core: self.clone(), event, message: message.clone() });
        Ok((Box::new(move || message.hand_over(&core)), next))
    }

    /// Puts a sweep into two streams: the planes at borders, and the others, which wait for no strips.
    pub(super) fn launch_split(
        self: &Arc<Core>,
        device: &Arc<DeviceCore>,
        node: &Arc<Node>,
        SplitWork { edges, planes, inside }: SplitWork,
    ) -> Next {
        let (before, backend) = (node.take_before(), device.backend());
        let stream = stream_after(device, &before);
        let queue = |stream: usize| Queue { device, stream, rings: &[], refilled: &[], lane: None, notes: None };
        let (first, others) = (queue(EDGES), queue(stream));
        self.put_into(&others, node, &before, || {
            for (other, at) in before.iter().filter_map(|other| Some((other, other.launched()?))) {
                let Some(event) = &at.event else { continue };
                backend.wait(EDGES, &**event)?;
                if !other.brings_strips() && (at.device, at.stream) != (device.id(), stream) {
                    backend.wait(stream, &**event)?;
                }
            }
            // Held while something is under way, if the rest fails.
            let mut begun = None;
            let (event, rest) = others.enqueue(|| {
                begun = Some(edges(&first)?);
                let event = backend.mark(EDGES)?;
                backend.flush(EDGES)?;
                let rest = inside(&others)?;
                backend.wait(stream, &*event)?;
                Ok((event, rest))
            })?;
            let done = Box::new(move || {
                let ended = [begun.map_or(Ok(()), |done| done()), rest()];
                Error::earliest(ended.into_iter().filter_map(Result::err)).map_or(Ok(()), Err)
            });
            Ok((done, Some(Box::new(Early { event, planes }))))
        })
    }
}

/// A message on its way to the host's memory, and the node that makes it.
pub(super) struct Message {
    node: Arc<Node>,
    state: Mutex<State>,
}

enum State {
    /// What hands it over.
    Coming(Done),
    Handed(Result<(), Error>),
}

impl Message {
    /// Hands it over, if nobody has, and starts what has waited for it. Its commands are done.
    fn hand_over(&self, core: &Arc<Core>) -> Result<(), Error> {
        let mut state = lock(&self.state);
        let handed = match std::mem::replace(&mut *state, State::Handed(Ok(()))) {
            State::Handed(result) => result,
            State::Coming(done) => catch_unwind(AssertUnwindSafe(done))
                .unwrap_or_else(|payload| Err(crate::error::panicked(self.node.name, payload))),
        };
        *state = State::Handed(handed.clone());
        drop(state);
        core.handed(&self.node);
        handed
    }
}

/// A message, and when it is in the host's memory.
pub(super) struct Handing {
    core: Arc<Core>,
    event: Arc<dyn Event>,
    message: Arc<Message>,
}

impl Handing {
    /// Waits for the message, and hands it over. What failed on the device is told by the end of the node.
    pub fn finish(self) {
        let Handing { core, event, message } = self;
        let settled = event.settle();
        let _at_work = core.device.as_ref().map(|device| AtWork::on(&**device.backend()));
        if settled.is_ok() {
            let _ = message.hand_over(&core);
        }
    }
}

/// The boxes of a sweep among the planes that it computes first, and the others.
pub(super) fn split(sweep: &Sweep, Edges { axis, planes }: &Edges) -> [Vec<(usize, GridBox<4>)>; 2] {
    let mut all: [Vec<(usize, GridBox<4>)>; 2] = Default::default();
    let cut = |cells: &GridBox<4>, lo: i64, hi: i64| {
        let mut part = *cells;
        (part.lo[*axis], part.hi[*axis]) = (cells.lo[*axis].max(lo), cells.hi[*axis].min(hi));
        part
    };
    for (region, cells) in sweep.boxes() {
        let mut from = i64::MIN;
        for (lo, hi) in planes {
            all[0].push((*region, cut(cells, *lo, *hi)));
            all[1].push((*region, cut(cells, from, *lo)));
            from = *hi;
        }
        all[1].push((*region, cut(cells, from, i64::MAX)));
    }
    all.iter_mut().for_each(|boxes| boxes.retain(|(_, cells)| !cells.is_empty()));
    all
}
