//! Chains: recorded work on arrays that do not fit into the device's memory (docs/decisions/0007-chains.md, TiDA-acc
//! §VI).
//!
//! Sweeps and ghost fills of such arrays are collected while they are recorded. When the recorder pauses, or someone
//! waits, or as many wait as the look-ahead allows, they run together: planes of the arrays' first axis stream through
//! windows on the device (`ring.rs`), and each operation follows the one before it as closely as what it reads allows
//! (`program/schedule.rs`, `planes.rs`).
//!
//! A reduction of such arrays is a sweep that writes nothing: it folds planes or regions while they are there, and
//! makes one value once it has had them all.
//!
//! Where arrays are cut along other axes too, whole regions come and go instead (`program/regions.rs`, `regions.rs`).
//!
//! Either way a chain becomes steps (`program/steps.rs`), and one executor puts them into streams (`execute.rs`).
//!
//! Work on arrays that fit and come from the host may run in the same way, once, and leave them on the device
//! (`arrive.rs`).
//!
//! On the host, work on arrays larger than the caches is collected in the same way, and runs over blocks that fit a
//! cache (`wave.rs`).

mod arrive;
mod execute;
mod files;
mod form;
mod link;
mod operations;
mod outcome;
mod packed;
mod planes;
mod regions;
mod ring;
mod segments;
mod streams;
pub(crate) mod wave;

use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::gate::Ready;
use super::op::{Op, Sweep};
use super::steps::identity;
use super::streamed::Ended;
use crate::device::core::DeviceCore;
use crate::device::ledger::Reservation;
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::step::Fold;
use crate::memory::node::{Node, Queue};
use crate::memory::touched::RegionTouch;
use crate::memory::tracker::{BoxTouch, Mode, Tracker};
use crate::program::place::Kind;
use crate::program::schedule::{Kept, Scale, hull_of, scales};

/// Resolutions of the arrays of a chain, at most: a window holds planes of the finest one for each plane of the
/// coarsest. What is coarser is small.
const LEVELS: u32 = 3;

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
    /// Numbers of the arrays that no one looks at afterwards.
    pub discarded: SmallVec<[usize; 4]>,
    /// Numbers of arrays of whose planes all but these are overwritten before anyone looks at them.
    pub overwritten: SmallVec<[(usize, Range<i64>); 2]>,
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
    pub op: Op,
    /// How it uses the arrays that come and go. A fill of ghosts has one.
    pub uses: SmallVec<[Use; 4]>,
}

impl Link {
    /// How its arrays lie beside one that it is over.
    fn ties(&self) -> impl Iterator<Item = (usize, Scale, usize)> {
        let over = self.uses.iter().find(|one| one.scale == Scale::Same);
        over.into_iter().flat_map(|over| self.uses.iter().map(|one| (over.array, one.scale, one.array)))
    }

    /// Whether it changes an array of its chain.
    fn writes(&self, array: usize) -> bool {
        self.use_of(array).is_some_and(|one| one.write)
    }

    /// How it uses an array of its chain, if it does.
    fn use_of(&self, array: usize) -> Option<&Use> {
        self.uses.iter().find(|one| one.array == array)
    }

    /// Whether it is a kernel that sets ghosts beyond a face, of an array that chains on the host work on.
    pub fn is_face(&self) -> bool {
        self.op.is_sweep() && self.uses.iter().any(|one| one.ghosts)
    }

    /// Whether it is a sweep that writes ghosts of an array, or touches one whose ghosts outlive their cells.
    fn has_ghosts_of_the_user(&self, array: usize) -> bool {
        self.use_of(array).is_some_and(|one| one.ghosts || one.keeps)
    }

    /// The array whose ghosts it fills, and whether it sets those of fixed value too if they are not there.
    fn filled(&self) -> Option<(usize, bool)> {
        match (&self.op, self.uses.first()) {
            (Op::Fill { fixed, .. }, Some(one)) => Some((one.array, *fixed)),
            _ => None,
        }
    }
}

/// How work uses an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Use {
    /// Number in the chain.
    pub array: usize,
    /// First and last plane read around each, if it reads; of use where [`can_stream`] has said that they are known.
    pub read: Option<(i64, i64)>,
    /// All planes that it reads, and all rows.
    pub planes: Range<i64>,
    pub rows: Range<i64>,
    /// First and last row read around each, along the second axis.
    pub across: Option<(i64, i64)>,
    /// How its planes lie beside those of the array that the work is over.
    pub scale: Scale,
    pub write: bool,
    /// It reads ghosts.
    pub sees_ghosts: bool,
    /// It writes ghosts, and is no fill of them.
    pub ghosts: bool,
    /// Ghosts outlive their cells: see [`ArrayTouch::keeps`](crate::memory::touched::ArrayTouch::keeps).
    pub keeps: bool,
}

impl Chain {
    /// The number of an array, which is new if it was not there. Whoever calls has recorded all that comes before.
    pub fn array(&mut self, tracker: &Arc<Tracker>) -> usize {
        let known = self.arrays.iter().position(|other| Arc::ptr_eq(other, tracker));
        known.unwrap_or_else(|| {
            let number = self.arrays.len();
            self.arrays.push(tracker.clone());
            number
        })
    }

    /// Takes in an array that is read as a whole.
    pub fn whole(&mut self, tracker: &Arc<Tracker>) {
        if !self.wholes.iter().any(|other| Arc::ptr_eq(other, tracker)) {
            self.wholes.push(tracker.clone());
        }
    }

    /// Why work that touches this can be no part of it, if it cannot: an array cannot be whole and come and go, and
    /// arrays cannot be of too many resolutions.
    pub fn clash(&self, touches: &[BoxTouch]) -> Option<&'static str> {
        // Regions have their own places, whatever the others are.
        let ties = self.kind != Kind::Regions && touches.iter().any(|touch| touch.scale != Scale::Same);
        if ties && self.is_too_deep(touches) {
            return Some("ties its arrays to one more resolution than planes of which stream together");
        }
        let among = |arrays: &[Arc<Tracker>], touch: &BoxTouch| arrays.iter().any(|a| Arc::ptr_eq(a, &touch.tracker));
        let clashes = touches.iter().any(|touch| among(if touch.whole { &self.arrays } else { &self.wholes }, touch));
        clashes.then_some("reads as a whole what streams, or the other way round")
    }

    /// Whether its arrays would be of more than [`LEVELS`] resolutions with work that touches this.
    fn is_too_deep(&self, touches: &[BoxTouch]) -> bool {
        let mut arrays: SmallVec<[usize; 16]> = self.arrays.iter().map(identity).collect();
        let mut number = |touch: &BoxTouch| {
            let one = identity(&touch.tracker);
            let known = arrays.iter().position(|other| *other == one);
            known.unwrap_or_else(|| {
                arrays.push(one);
                arrays.len() - 1
            })
        };
        let mut ties: Vec<(usize, Scale, usize)> = self.links.iter().flat_map(Link::ties).collect();
        if let Some(over) = touches.iter().find(|touch| !touch.whole && touch.scale == Scale::Same).map(&mut number) {
            ties.extend(touches.iter().map(|touch| (over, touch.scale, number(touch))));
        }
        let scales = scales(arrays.len(), &ties);
        scales.is_none_or(|scales| scales.iter().any(|scale| *scale >= 1 << LEVELS))
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
        self.links.iter().filter(|link| link.op.is_sweep()).count()
    }

    /// Number of reductions.
    pub fn folds(&self) -> usize {
        self.links.iter().filter(|link| link.op.fold().is_some()).count()
    }

    /// Adds a sweep.
    pub fn sweep(&mut self, node: Arc<Node>, sweep: Arc<Sweep>) {
        let uses = self.uses(&sweep);
        self.add(Link { node, op: Op::Sweep(sweep), uses });
    }

    /// Adds a reduction.
    pub fn fold(&mut self, node: Arc<Node>, fold: Arc<dyn Fold>, sweep: Sweep) {
        self.lists += fold.bytes(self.kind == Kind::Planes);
        let uses = self.uses(&sweep);
        self.add(Link { node, op: Op::Fold(Arc::new(sweep), fold), uses });
    }

    /// Says that what its links leave in an array is not needed, unless a later one uses it. Planes that stream stay
    /// where they were then.
    pub fn discard(&mut self, tracker: &Arc<Tracker>) {
        let known = self.arrays.iter().position(|other| Arc::ptr_eq(other, tracker));
        let known = known.filter(|array| self.kind == Kind::Planes && !self.is_discarded(*array));
        self.discarded.extend(known);
    }

    /// Says that all planes of an array but these are overwritten before anyone looks at them, unless a later link uses
    /// it.
    pub fn overwritten_but(&mut self, tracker: &Arc<Tracker>, planes: Range<i64>) {
        let known = self.arrays.iter().position(|other| Arc::ptr_eq(other, tracker));
        self.overwritten.extend(known.map(|array| (array, planes)));
    }

    /// What someone looks at of an array afterwards.
    fn kept(&self, array: usize) -> Kept {
        let planes = |array: usize| self.arrays[array].planar().map(|planar| planar.facts().valid.clone());
        let stored = !self.is_discarded(array);
        // Packed planes of a region go home as a whole.
        if self.arrays[array].storage().packs() {
            return Kept { stored, ..Kept::ALL };
        }
        // Of what no one looks at a link leaves what those of others need.
        let of = |number: usize| if stored { number == array } else { planes(number) == planes(array) };
        let kept = self.overwritten.iter().find(|(number, _)| of(*number));
        Kept { planes: kept.map_or(Kept::ALL.planes, |(_, planes)| planes.clone()), stored }
    }

    /// Whether no one looks at an array afterwards.
    fn is_discarded(&self, array: usize) -> bool {
        self.discarded.contains(&array)
    }

    /// Adds a link; what it uses is needed again.
    fn add(&mut self, link: Link) {
        self.discarded.retain(|array| link.use_of(*array).is_none());
        self.overwritten.retain(|(array, _)| link.use_of(*array).is_none());
        self.links.push(link);
    }

    /// How a sweep uses the arrays that come and go.
    fn uses(&mut self, Sweep { boxes, arrays, .. }: &Sweep) -> SmallVec<[Use; 4]> {
        let uses = arrays.iter().filter(|of| !of.whole).map(|of| {
            let (read, across, write, scale) = (of.around, of.across, of.write, of.scale);
            let layout = of.tracker.regional().map(|regional| &regional.layout);
            let valid =
                |region: usize| layout.and_then(|layout| layout.regions.get(region)).map(|region| &region.valid);
            let inside = |(region, cells): &(usize, GridBox<4>)| valid(*region).is_none_or(|v| v.contains_box(cells));
            let ghosts = write && !boxes.iter().all(inside);
            let sees =
                |(region, touch): &(usize, RegionTouch)| valid(*region).is_some_and(|v| !touch.read.is_inside(v));
            let (sees_ghosts, keeps) = (of.regions.iter().any(sees), of.keeps());
            let axis = of.tracker.planar().map_or(0, |planar| 4 - planar.facts().rank);
            let boxes = || of.regions.iter().flat_map(|(_, touch)| touch.read.boxes());
            let along = |axis: usize| hull_of(boxes().map(|cells| cells.lo[axis]..cells.hi[axis]));
            let (planes, rows, array) = (along(axis), along(3.min(axis + 1)), self.array(&of.tracker));
            Use { array, read, planes, rows, across, scale, write, sees_ghosts, ghosts, keeps }
        });
        uses.collect()
    }

    /// Adds a ghost fill.
    pub fn ghosts(&mut self, node: Arc<Node>, tracker: &Arc<Tracker>, fixed: bool) {
        let (array, here) = (self.array(tracker), Some((0, 0)));
        let one = Use { array, read: here, across: here, write: true, ..Use::default() };
        self.add(Link { node, op: Op::Fill { tracker: tracker.clone(), fixed }, uses: smallvec![one] });
    }
}

/// What comes and goes of what a sweep touches; nothing if an array that does is read as a whole too.
fn moving(touches: &[BoxTouch]) -> Option<impl Iterator<Item = &BoxTouch>> {
    let moves = |whole: &BoxTouch| touches.iter().any(|one| !one.whole && Arc::ptr_eq(&one.tracker, &whole.tracker));
    let clash = touches.iter().filter(|touch| touch.whole).any(moves);
    (!clash).then(|| touches.iter().filter(|touch| !touch.whole))
}

/// Whether a sweep that touches this can be part of a chain: arrays cut along their first axis alone, read around each
/// plane or around what lies beside it in an array of half or double the resolution, and no ghosts that differ from the
/// cells beside them, but for those of arrays of one region.
pub(crate) fn can_stream(touches: &[BoxTouch]) -> bool {
    let mut first: Option<usize> = None;
    let is_over = |touch: &BoxTouch| !touch.whole && touch.scale == Scale::Same;
    if !touches.iter().any(is_over) {
        return false;
    }
    let Some(mut moving) = moving(touches) else { return false };
    moving.all(|touch| {
        let Some(planar) = touch.tracker.planar() else { return false };
        let rank = planar.facts().rank;
        let same = *first.get_or_insert(rank) == rank;
        let has_all_ghosts = touch.tracker.boxes().len() == 1 && planar.facts().period.is_none();
        // So few planes could lie beside as many.
        let scaled = touch.scale == Scale::Same || planar.facts().valid.end > 3;
        same && scaled && touch.around.is_some() && (has_all_ghosts || !touch.tracker.ages.is_stale_allowed())
    }) && first.is_some()
}

/// Whether a sweep that touches this can be part of a chain of regions.
pub(crate) fn can_move(touches: &[BoxTouch]) -> bool {
    // From files come planes alone.
    let can = |touch: &BoxTouch| touch.tracker.regional().is_some() && touch.tracker.storage().backing().is_none();
    moving(touches).is_some_and(|mut moving| moving.all(can)) && touches.iter().any(|touch| !touch.whole)
}

/// Runs a chain on a device, and gives the result of each of its nodes, in order: nothing of those that did not run,
/// since their arrays have room and come there as a whole. A failure of one becomes the failure of those that need its
/// data when the nodes finish.
pub(crate) fn run(device: &Arc<DeviceCore>, ready: &Ready<Chain>) -> Vec<Option<Result<(), Error>>> {
    let chain = &ready.work;
    let mut results: Vec<_> = chain.links.iter().map(|link| ready.failure(&link.node).map_or(Ok(()), Err)).collect();
    let ran = find_arrays(device, chain).and_then(|()| match chain.kind {
        Kind::Planes => planes::run(device, chain, &mut results).map(|()| true),
        Kind::Regions => regions::run(device, chain, &mut results).map(|()| true),
        Kind::Arriving => arrive::run(device, chain, &mut results),
    });
    match ran {
        Ok(true) => results.into_iter().map(Some).collect(),
        Ok(false) => results.into_iter().map(|result| result.err().map(Err)).collect(),
        Err(error) => outcome::failed(chain, results, &error).into_iter().map(Some).collect(),
    }
}

/// Brings arrays to where a chain finds them: to the device what is read as a whole, and to the host what comes and
/// goes, but for what arrives.
fn find_arrays(device: &Arc<DeviceCore>, chain: &Chain) -> Result<(), Error> {
    let storages = || chain.arrays.iter().map(|tracker| tracker.storage());
    if chain.kind != Kind::Planes {
        storages().for_each(|storage| {
            storage.fill_owed_on_host(device);
            storage.unpack_all();
        });
    }
    bring_wholes(device, chain)?;
    for storage in storages().filter(|_| chain.kind != Kind::Arriving) {
        // SAFETY: the graph runs this only when no work conflicts with any node of the chain.
        unsafe { storage.leave_device(device)? };
        storage.pin(device);
    }
    Ok(())
}

/// Brings the arrays to the device that are read as a whole.
fn bring_wholes(device: &Arc<DeviceCore>, chain: &Chain) -> Result<(), Error> {
    let queue = Queue { device, stream: streams::RUN, rings: &[], refilled: &[], lane: None, notes: None };
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
