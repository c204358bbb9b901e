//! Chains: recorded work on arrays that do not fit into the device's memory (DESIGN.md §4, TiDA-acc §VI).
//!
//! Sweeps and ghost fills of such arrays are collected while they are recorded. When the recorder pauses, or someone
//! waits, or as many wait as the look-ahead allows, they run together: planes of the arrays' first axis stream through
//! windows on the device (`ring.rs`), and each operation follows the one before it as closely as what it reads allows
//! (`program/schedule.rs`). `run.rs` puts the commands into streams.
//!
//! A reduction of such arrays is a sweep that writes nothing: it folds planes or regions while they are there, and
//! makes one value once it has had them all.
//!
//! Where arrays are cut along other axes too, whole regions come and go instead (`regions.rs`).
//!
//! Work on arrays that fit and come from the host may run in the same way, once, and leave them on the device
//! (`arrive.rs`).
//!
//! On the host, work on arrays larger than the caches is collected in the same way, and runs over blocks that fit a
//! cache (`wave.rs`).

mod arrive;
mod form;
pub(crate) mod lanes;
mod link;
mod operations;
mod packed;
mod regions;
mod ring;
mod run;
mod segments;
pub(crate) mod wave;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::steps::Pair;
use super::streamed::Ended;
use crate::backend::{Backend, Event};
use crate::device::core::DeviceCore;
use crate::device::ledger::Reservation;
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::step::{Fold, Launch};
use crate::memory::node::{Node, Queue};
use crate::memory::touched::{ArrayTouch, RegionTouch};
use crate::memory::tracker::{BoxTouch, Mode, Tracker};
use crate::sync::{AtomicUsize, Mutex, MutexGuard, lock};

/// How a chain moves arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As planes of their first axis, along which alone they are cut.
    #[default]
    Planes,
    /// As regions.
    Regions,
    /// They come from the host to stay on the device as a whole: as planes if the host wants results back.
    Arriving,
}

/// Work that runs together.
#[derive(Default)]
pub(crate) struct Chain {
    pub kind: Kind,
    pub links: Vec<Link>,
    /// Each array that comes and goes, once.
    pub arrays: Vec<Arc<Tracker>>,
    /// Each array that is read as a whole, and is on the device while the others come and go.
    pub wholes: Vec<Arc<Tracker>>,
    /// Room on a device, which chains share: one of them runs at a time.
    pub room: Option<Arc<Reservation>>,
    /// Numbers of the arrays that the host waits for.
    pub wanted: SmallVec<[usize; 4]>,
    /// The host waits for some array.
    pub is_waited_for: bool,
    /// Bytes that its reductions have on the device until they are done.
    pub lists: u64,
    /// Why it took no more work.
    pub ended: Option<Ended>,
}

/// A node of a chain.
pub(crate) struct Link {
    pub node: Arc<Node>,
    pub work: LinkWork,
}

/// What a node of a chain does.
#[allow(clippy::large_enum_variant)] // most are sweeps
pub(crate) enum LinkWork {
    /// Runs a kernel over boxes.
    Sweep {
        launch: Arc<dyn Launch>,
        boxes: Vec<(usize, GridBox<4>)>,
        uses: SmallVec<[Use; 4]>,
        /// What it touches, region by region.
        arrays: SmallVec<[ArrayTouch; 4]>,
        /// It is the next of steps that may run together, on arrays that take turns.
        turn: Option<Pair>,
        /// It writes nothing, and makes one value of what it finds: it is a reduction.
        fold: Option<Arc<dyn Fold>>,
    },
    /// Fills the ghosts of an array, those of fixed value too if they are not there.
    Ghosts { array: usize, fixed: bool },
}

impl LinkWork {
    /// Whether it changes an array of its chain.
    fn writes(&self, array: usize) -> bool {
        match self {
            LinkWork::Sweep { uses, .. } => uses.iter().any(|one| one.array == array && one.write),
            LinkWork::Ghosts { array: filled, .. } => *filled == array,
        }
    }

    /// How a sweep uses an array of its chain, if it is one and does.
    fn use_of(&self, array: usize) -> Option<&Use> {
        match self {
            LinkWork::Sweep { uses, .. } => uses.iter().find(|one| one.array == array),
            LinkWork::Ghosts { .. } => None,
        }
    }

    /// Whether it is a sweep that writes ghosts of an array, or touches one whose ghosts outlive their cells.
    fn has_ghosts_of_the_user(&self, array: usize) -> bool {
        self.use_of(array).is_some_and(|one| one.ghosts || one.keeps)
    }

    fn is_sweep(&self) -> bool {
        matches!(self, LinkWork::Sweep { fold: None, .. })
    }

    /// What a reduction does besides running over boxes, if it is one.
    fn fold(&self) -> Option<&Arc<dyn Fold>> {
        match self {
            LinkWork::Sweep { fold, .. } => fold.as_ref(),
            LinkWork::Ghosts { .. } => None,
        }
    }
}

/// How a sweep uses an array.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// Number in the chain.
    pub array: usize,
    /// First and last plane read around each, if it reads; of use where [`can_stream`] has said that they are known.
    pub read: Option<(i64, i64)>,
    /// The same along the second axis.
    pub across: Option<(i64, i64)>,
    pub write: bool,
    /// It reads ghosts.
    pub sees_ghosts: bool,
    /// It writes ghosts.
    pub ghosts: bool,
    /// Ghosts outlive their cells: see [`Tracker::keeps_ghosts`].
    pub keeps: bool,
}

impl Chain {
    /// The number of an array, which is new if it was not there.
    pub fn array(&mut self, tracker: &Arc<Tracker>) -> usize {
        let known = self.arrays.iter().position(|other| Arc::ptr_eq(other, tracker));
        known.unwrap_or_else(|| {
            self.arrays.push(tracker.clone());
            self.arrays.len() - 1
        })
    }

    /// Takes in an array that is read as a whole.
    pub fn whole(&mut self, tracker: &Arc<Tracker>) {
        if !self.wholes.iter().any(|other| Arc::ptr_eq(other, tracker)) {
            self.wholes.push(tracker.clone());
        }
    }

    /// Whether work that touches this can be no part of it: an array cannot be whole and come and go.
    pub fn clashes(&self, touches: &[BoxTouch]) -> bool {
        let among = |arrays: &[Arc<Tracker>], touch: &BoxTouch| arrays.iter().any(|a| Arc::ptr_eq(a, &touch.tracker));
        touches.iter().any(|touch| among(if touch.whole { &self.arrays } else { &self.wholes }, touch))
    }

    /// Links from which on arrays that arrive had better be on the device as a whole: so many steps take longer than
    /// the link, and follow one another too far apart.
    pub fn most_links(&self) -> usize {
        let planes = self.arrays.iter().filter_map(|tracker| tracker.planar()).map(|planar| planar.facts().valid.end);
        planes.min().map_or(0, |planes| (planes / 2) as usize)
    }

    /// The host waits for an array: for all of it, or for boxes that it takes where they are.
    pub fn wanted_on_host(&mut self, tracker: &Arc<Tracker>, whole: bool) {
        let array = self.arrays.iter().position(|other| Arc::ptr_eq(other, tracker));
        self.is_waited_for |= array.is_some();
        self.wanted.extend(array.filter(|_| whole));
    }

    /// Whether it touches an array.
    pub fn holds(&self, tracker: &Arc<Tracker>) -> bool {
        self.arrays.iter().chain(&self.wholes).any(|other| Arc::ptr_eq(other, tracker))
    }

    /// Number of sweeps.
    pub fn sweeps(&self) -> usize {
        self.links.iter().filter(|link| link.work.is_sweep()).count()
    }

    /// Number of reductions.
    pub fn folds(&self) -> usize {
        self.links.iter().filter(|link| link.work.fold().is_some()).count()
    }

    /// Adds a sweep.
    pub fn sweep(
        &mut self,
        node: Arc<Node>,
        launch: Arc<dyn Launch>,
        (boxes, turn): (Vec<(usize, GridBox<4>)>, Option<Pair>),
        arrays: SmallVec<[ArrayTouch; 4]>,
    ) {
        let uses = self.uses(&boxes, &arrays);
        self.links.push(Link { node, work: LinkWork::Sweep { launch, boxes, uses, arrays, turn, fold: None } });
    }

    /// Adds a reduction.
    pub fn fold(
        &mut self,
        node: Arc<Node>,
        fold: Arc<dyn Fold>,
        boxes: Vec<(usize, GridBox<4>)>,
        arrays: SmallVec<[ArrayTouch; 4]>,
    ) {
        self.lists += fold.bytes(self.kind == Kind::Planes);
        let (uses, launch) = (self.uses(&boxes, &arrays), fold.clone());
        self.links
            .push(Link { node, work: LinkWork::Sweep { launch, boxes, uses, arrays, turn: None, fold: Some(fold) } });
    }

    /// How a sweep over these boxes uses the arrays that come and go.
    fn uses(&mut self, boxes: &[(usize, GridBox<4>)], arrays: &[ArrayTouch]) -> SmallVec<[Use; 4]> {
        let uses = arrays.iter().filter(|of| !of.whole).map(|of| {
            let (read, across, write) = (of.around, of.across, of.write);
            let layout = of.tracker.regional().map(|regional| &regional.layout);
            let valid =
                |region: usize| layout.and_then(|layout| layout.regions.get(region)).map(|region| &region.valid);
            let inside = |(region, cells): &(usize, GridBox<4>)| valid(*region).is_none_or(|v| v.contains_box(cells));
            let ghosts = write && !boxes.iter().all(inside);
            let sees =
                |(region, touch): (&usize, &RegionTouch)| valid(*region).is_some_and(|v| !touch.read.is_inside(v));
            let (sees_ghosts, keeps) = (of.regions.iter().any(sees), of.keeps());
            Use { array: self.array(&of.tracker), read, across, write, sees_ghosts, ghosts, keeps }
        });
        uses.collect()
    }

    /// Adds a ghost fill.
    pub fn ghosts(&mut self, node: Arc<Node>, tracker: &Arc<Tracker>, fixed: bool) {
        let array = self.array(tracker);
        self.links.push(Link { node, work: LinkWork::Ghosts { array, fixed } });
    }
}

/// What comes and goes of what a sweep touches; nothing if an array that does is read as a whole too.
fn moving(touches: &[BoxTouch]) -> Option<impl Iterator<Item = &BoxTouch>> {
    let moves = |whole: &BoxTouch| touches.iter().any(|one| !one.whole && Arc::ptr_eq(&one.tracker, &whole.tracker));
    let clash = touches.iter().filter(|touch| touch.whole).any(moves);
    (!clash).then(|| touches.iter().filter(|touch| !touch.whole))
}

/// Whether a sweep that touches this can be part of a chain: arrays cut along their first axis alone, read around each
/// plane, and no ghosts that differ from the cells beside them, but for those of arrays of one region.
pub(crate) fn can_stream(touches: &[BoxTouch]) -> bool {
    let mut first: Option<usize> = None;
    let Some(mut moving) = moving(touches) else { return false };
    moving.all(|touch| {
        let Some(planar) = touch.tracker.planar() else { return false };
        let rank = planar.facts().rank;
        let same = *first.get_or_insert(rank) == rank;
        let has_all_ghosts = touch.tracker.boxes().len() == 1 && planar.facts().period.is_none();
        same && touch.around.is_some() && (has_all_ghosts || !touch.tracker.is_stale_allowed())
    }) && first.is_some()
}

/// Whether a sweep that touches this can be part of a chain of regions.
pub(crate) fn can_move(touches: &[BoxTouch]) -> bool {
    let can = |touch: &BoxTouch| touch.tracker.regional().is_some();
    moving(touches).is_some_and(|mut moving| moving.all(can)) && touches.iter().any(|touch| !touch.whole)
}

/// Runs a chain on a device, and gives the result of each of its nodes, in order.
pub(crate) fn run(device: &Arc<DeviceCore>, ready: &Ready) -> Vec<Result<(), Error>> {
    if ready.chain.kind != Kind::Planes {
        ready.chain.arrays.iter().for_each(|tracker| tracker.storage().unpack_all());
    }
    if let Err(error) = bring_wholes(device, &ready.chain) {
        let results = ready.chain.links.iter().map(|link| run::failure(ready, link)).collect();
        return run::failed(&ready.chain, results, &error);
    }
    match ready.chain.kind {
        Kind::Planes => run::run(device, ready),
        Kind::Regions => regions::run(device, ready),
        Kind::Arriving => arrive::run(device, ready),
    }
}

/// Brings the arrays to the device that are read as a whole.
fn bring_wholes(device: &Arc<DeviceCore>, chain: &Chain) -> Result<(), Error> {
    let queue = Queue { device, stream: run::RUN, rings: &[], refilled: &[] };
    let regions = |tracker: &Arc<Tracker>| 0..tracker.boxes().len();
    let all = chain.wholes.iter().flat_map(|tracker| regions(tracker).map(move |region| (tracker, region)));
    queue.enqueue(|| {
        all.into_iter().try_for_each(|(tracker, region)| {
            // SAFETY: the graph keeps all work that conflicts away until the chain has finished, which writes none of
            // these arrays.
            unsafe { tracker.to_device(&queue, region, Mode::Read) }
        })
    })
}

/// Events of the blocks or steps of a chain.
type Events = Vec<Option<Arc<dyn Event>>>;

/// Lets a stream wait for one of them, if there is one.
fn after(backend: &Arc<dyn Backend>, stream: usize, events: &Events, one: Option<usize>) -> Result<(), Error> {
    match one.and_then(|one| events.get(one)).and_then(|event| event.as_ref()) {
        Some(event) => backend.wait(stream, &**event),
        None => Ok(()),
    }
}

/// Lets a chain run once all that it waits for has finished.
pub(crate) struct Gate {
    /// Nodes that still wait, and one while it still takes nodes.
    waiting: AtomicUsize,
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    chain: Option<Chain>,
    /// Nodes that cannot run, with the failure of what they need.
    failed: Vec<(Arc<Node>, Error)>,
}

impl Gate {
    pub fn new() -> Arc<Gate> {
        Arc::new(Gate { waiting: AtomicUsize::new(1), state: Mutex::default() })
    }

    /// One more node.
    pub fn add(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// A node waits no more; gives the chain if it was the last.
    pub fn arrive(&self, node: &Arc<Node>, failure: Option<Error>) -> Option<Ready> {
        if let Some(error) = failure {
            self.lock().failed.push((node.clone(), error));
        }
        self.release()
    }

    /// The chain takes no more nodes; gives it if none of them waits.
    pub fn close(&self, chain: Chain) -> Option<Ready> {
        self.lock().chain = Some(chain);
        self.release()
    }

    fn release(&self) -> Option<Ready> {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let mut state = self.lock();
        let failed = std::mem::take(&mut state.failed);
        state.chain.take().map(|chain| Ready { chain, failed })
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        lock(&self.state)
    }
}

/// A chain that may run.
pub(crate) struct Ready {
    pub chain: Chain,
    /// Nodes that cannot run.
    pub failed: Vec<(Arc<Node>, Error)>,
}
