//! Steps that run as one launch (Lashgar ch. 6, the ghost-zone optimisation; docs/decisions/0018-fused-steps.md).
//!
//! A program that repeats one kernel, or a few that alternate, on two arrays (`next` from `u`, then `u` from `next`)
//! needs no more of the arrays in between than what the next step reads. Its sweeps, and the ghost fills between them,
//! are held back while more of them are recorded. Of steps that are followed by one that overwrites what they would
//! have left in the other array, the first reads, the last writes, and one launch does all: its blocks keep the steps
//! between to themselves (`launch/fused.rs`). The last step that is held runs by itself, so that both arrays are as
//! the program left them.
//!
//! What places give one another between two steps is held back with them: no launch goes over it, but the step after it
//! counts as one that follows. Strips of one place so wait for steps that another one holds back. So whoever waits
//! starts what is held back before strips at all places ([`Core::start_over_strips`]).
//!
//! A step by itself can compute the ghosts that it reads too. It is held back until the step after it is there, which
//! sets them again; what sets them in between does nothing.
//!
//! Nodes stay what they were: the node of the first step does the launch, those of the others end with it
//! ([`Work::Within`]).

use std::panic::Location;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;
use tida_kernels::plan::fuse::{Asked, Faces};

use super::driver::{Core, Recorder, lock};
use super::faces::negated_of;
use super::in_core::{Label, Several, alone, in_core, together};
use super::recording::{GiveLaunch, TileWork};
use super::strips::Borders;
use super::sweep::{LoopAsked, SweepKey};
use crate::grid::GridBox;
use crate::grid::boxes::union;
use crate::launch::faces::FaceLaunch;
use crate::launch::fused::{OneStep, same, steps_are_compiled};
use crate::launch::ghosted::{ghosted, is_ready_alone};
use crate::launch::pieces::Boxes;
use crate::launch::quoted::KernelId;
use crate::launch::step::{Fusible, Launch, Together};
use crate::memory::ghosts::owed::filling;
use crate::memory::node::{Node, SplitWork, Work};
use crate::memory::tracker::{BoxTouch, Mode, Touch, Tracker, distinct};
use crate::program::fuse::{Cycle, Pair};
use crate::program::place::Kind;
use crate::program::schedule::Scale;
use crate::run::op::{Op, Sweep};
use crate::run::steps::{Steps, identity, steps};

/// So many sweeps are enough to start with, if the device has less than that to do.
const ENOUGH: usize = 24;

/// So many are started in any case: the program is faster than the device.
const MANY: usize = 16 * ENOUGH;

/// Most alternating kernels.
const KERNELS: usize = 4;

/// Most reasons that are told.
const TOLD: usize = 64;

/// Why a step cannot compute the ghosts that it reads, though each could be computed.
const NOT_COMPUTED: &str = "it cannot compute the ghosts that kernels set from what it reads: edges or corners beyond faces \
    that fills set or nobody knows, or cells further inwards than it reads on the other side";
const IN_TURN: &str = "kernels that take turns compute no ghosts";

/// Why steps of one launch do not know what lies beyond the faces of their arrays.
const BEYOND: &str = "what lies beyond a face of its arrays is not the same for both, or a fill that no step can do";

/// Which sweeps may be steps of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fuses {
    None,
    /// None; but steps by themselves may compute the ghosts that they read.
    Alone,
    /// Those of arrays of one component.
    OneComponent,
    All,
}

impl Fuses {
    /// Whether some may.
    pub fn some(self) -> bool {
        self.most() > 0
    }

    /// Components that their arrays have at most.
    pub fn most(self) -> usize {
        match self {
            Fuses::None | Fuses::Alone => 0,
            Fuses::OneComponent => 1,
            Fuses::All => usize::MAX,
        }
    }
}

/// Takes why steps of the kernel at a line run one by one.
pub(super) type Tell<'a> = &'a mut dyn FnMut(&str, &str);

/// What is held back.
#[derive(Default)]
pub(super) struct Fusing {
    /// The last sweeps that were opened, each of the arrays of the one before it with their parts exchanged, if steps
    /// of their kernels may run as one launch.
    last: Vec<OpenedSweep>,
    /// How the last of them go on.
    cycle: Cycle,
    /// What has set ghosts since the last sweep was opened: the device may be done with it before the sweep comes that
    /// reads them. It keeps its array.
    kept: Vec<Arc<FaceLaunch>>,
    /// The last sweep whose kernel is no step, and its arrays.
    other: Option<(KernelId, SmallVec<[usize; 8]>)>,
    /// Why steps run one by one: see [`Batch::apart`](crate::Batch::apart).
    apart: Vec<String>,
    /// The last kernel that cannot compute the ghosts that were set of what it reads, and the arrays.
    refused: Option<(KernelId, [usize; 2])>,
    pub(super) held: Vec<HeldNode>,
}

/// A sweep that was opened.
struct OpenedSweep {
    key: Arc<SweepKey>,
    fusible: Fusible,
    node: u64,
    /// What its tiles read of arrays that do not alternate.
    reads: Vec<Read>,
    /// What has set ghosts of the array that it writes since, in order, if who reads them may compute them. It may be
    /// gone by now, and the arrays with it, if it was [let go](Fusing::let_go).
    sets: Vec<Weak<FaceLaunch>>,
}

impl OpenedSweep {
    fn reads_around(&self) -> bool {
        self.fusible.halo != [0; 4]
    }

    /// Its kernel and the arrays that alternate, in an order that they keep.
    fn kernel_of(&self) -> (KernelId, [usize; 2]) {
        let arg = |number: usize| self.key.args.get(number).copied().unwrap_or_default();
        let (out, inp) = (arg(self.fusible.out), arg(self.fusible.inp));
        (self.key.kernel, [out.min(inp), out.max(inp)])
    }
}

/// What a tile reads of an array, which may be gone by now.
struct Read {
    tracker: Weak<Tracker>,
    touch: (usize, Option<GridBox<4>>, Around, Around, Scale),
}

type Around = Option<(i64, i64)>;

/// A node that is held back.
pub(super) struct HeldNode {
    pub node: Arc<Node>,
    /// What it does; none if it gives or takes strips.
    pub op: Option<Op>,
    /// Strips of what it leaves are given next, from these borders.
    gives: Option<Borders>,
}

impl HeldNode {
    pub fn new(node: Arc<Node>, op: Option<Op>) -> HeldNode {
        HeldNode { node, op, gives: None }
    }

    /// Whether it is a kernel that sets ghosts between steps.
    fn sets_ghosts(&self) -> bool {
        self.op.as_ref().is_some_and(Op::sets_ghosts)
    }
}

/// Whether all that work reads of arrays that do not alternate is read by `first` too, which may then do its work.
fn within(op: &Op, first: &Sweep) -> bool {
    let other = |sweep: &&Arc<Sweep>| sweep.sets.is_none() && !same(&*sweep.launch, &*first.launch);
    let Some(sweep) = op.kernel().filter(other) else { return true };
    let others = sweep.arrays.iter().filter(|array| sweep.turn.is_none_or(|pair| !pair.has(identity(&array.tracker))));
    others.into_iter().all(|other| first.array(&other.tracker).is_some_and(|array| array.reads_all_of(other)))
}

impl Pair {
    fn of(key: &SweepKey, fusible: &Fusible) -> Option<Pair> {
        let (out, inp) = (*key.args.get(fusible.out)?, *key.args.get(fusible.inp)?);
        (out != inp).then_some(Pair { out, inp, halo: fusible.halo, cycle: Cycle::default() })
    }
}

impl Fusing {
    /// Nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a sweep like the last one may share a launch with others.
    pub fn may_share(&self, fuses: Fuses) -> bool {
        self.last.last().is_some_and(|last| last.fusible.components <= fuses.most())
    }

    /// Whether something that is held back touches one of these arrays.
    pub fn holds<'a>(&self, mut trackers: impl Iterator<Item = &'a Arc<Tracker>>) -> bool {
        !self.held.is_empty()
            && trackers
                .any(|tracker| self.held.iter().filter_map(|held| held.op.as_ref()).any(|op| op.touches(tracker)))
    }

    /// Whether strips of these arrays may be held back with their steps: the last one writes the only array, and
    /// the next one may overwrite the other.
    pub fn may_hold_strips(&self, arrays: &[&Arc<Tracker>]) -> bool {
        let last = self.held.iter().rev().filter_map(|held| held.op.as_ref()?.kernel()).find_map(|sweep| sweep.turn);
        let ([array], Some(pair)) = (arrays, last) else { return false };
        pair.out == identity(array)
    }

    /// Strips of what the last step leaves are given next, from these borders.
    pub fn gives(&mut self, borders: &Borders) {
        self.held.last_mut().into_iter().for_each(|last| last.gives = Some(*borders));
    }

    /// Whether strips are held back.
    pub fn holds_strips(&self) -> bool {
        self.held.iter().any(|held| held.op.is_none())
    }

    /// The alternating arrays, if a tile is of a sweep like the last one, or like one of a few before it: it may
    /// have captured other values.
    pub fn next(&mut self, tile: &TileWork<'_>) -> Option<Pair> {
        let streams = tile.can_chain(Kind::Planes) && !tile.has_whole() && tile.runs_as_usual();
        let usual = streams && tile.pace.is_none() && tile.after.is_empty();
        let known = [self.cycle.kernels].into_iter().chain(1..=KERNELS);
        let found = known.filter(|_| usual).find_map(|kernels| Some((kernels, self.like(tile, kernels)?)));
        // Where no step reads around its cells they are not worth waiting for.
        let found = found.filter(|(kernels, _)| self.last.iter().rev().take(*kernels).any(OpenedSweep::reads_around));
        let (kernels, pair) = found.unzip();
        if kernels != Some(self.cycle.kernels) {
            self.cycle = Cycle { number: self.cycle.number + 1, kernels: kernels.unwrap_or(0) };
        }
        Some(Pair { cycle: self.cycle, ..pair? })
    }

    /// The alternating arrays, if a tile is of a sweep like the one so many before it.
    fn like(&self, tile: &TileWork<'_>, kernels: usize) -> Option<Pair> {
        let before = self.last.get(self.last.len().checked_sub(kernels)?)?;
        let (key, fusible, last) = (&before.key, &before.fusible, self.last.last()?);
        let pair = Pair::of(&tile.key, fusible)?;
        let turned = |n: usize| match n {
            _ if kernels.is_multiple_of(2) => n,
            n if n == fusible.out => fusible.inp,
            n if n == fusible.inp => fusible.out,
            n => n,
        };
        let mut args = key.args.clone();
        args.iter_mut().enumerate().for_each(|(n, arg)| *arg = key.args[turned(n)]);
        let same = SweepKey { args, captures: tile.key.captures.clone(), ..SweepKey::clone(key) } == *tile.key;
        // What is read beside is not what the steps between would leave.
        let others = tile.key.args.iter().enumerate().filter(|(n, _)| *n != fusible.out && *n != fusible.inp);
        let apart = others.into_iter().all(|(_, arg)| *arg != pair.out && *arg != pair.inp);
        let follows = pair.follows(&Pair::of(&last.key, &last.fusible)?);
        (same && apart && follows && key.captures.len() == tile.key.captures.len()).then_some(pair)
    }

    /// Records the sweep that was opened last, of this tile and of the node of this number, if it may be a step of
    /// arrays of so many components.
    pub fn opened(&mut self, tile: &TileWork<'_>, launch: &dyn Launch, node: u64, most: usize) {
        self.let_go();
        let key = &tile.key;
        let plain = key.on_device && !key.checked && key.asked == LoopAsked::default();
        let components = |step: &OneStep<'_>| step.prepared.steps.as_ref().map_or(1, |steps| steps.components());
        let step = launch.step().filter(|step| plain && components(step) <= most);
        let Some(fusible) = step.and_then(|step| step.prepared.fusible()) else {
            self.last.clear();
            return self.tell_other(tile, launch);
        };
        let pairs = self.last.last().and_then(|last| Pair::of(&last.key, &last.fusible)).zip(Pair::of(key, &fusible));
        if !pairs.is_some_and(|(before, pair)| pair.follows(&before)) {
            self.last.clear();
        }
        if self.last.len() == KERNELS {
            self.last.remove(0);
        }
        self.last.push(OpenedSweep { key: key.clone(), fusible, node, reads: Vec::new(), sets: Vec::new() });
        self.joined(node, tile.touches);
    }

    /// Records a kernel that sets ghosts of this array. Sweeps before it and after it are steps only if it sets them of
    /// what the last sweep has written, and who reads them may compute them.
    pub fn set(&mut self, tile: &TileWork<'_>, array: usize, face: &Arc<FaceLaunch>) -> bool {
        let refused = self.refused;
        if face.side.is_none() {
            self.tell_after(tile, face.why);
        }
        let of = |last: &&mut OpenedSweep| {
            let known = last.key.args.get(last.fusible.out) == Some(&array) && face.side.is_some();
            known && refused != Some(last.kernel_of())
        };
        let known = self.last.last_mut().filter(of).map(|last| last.sets.push(Arc::downgrade(face)));
        match known {
            Some(()) => self.kept.push(face.clone()),
            None => self.forget(),
        }
        known.is_some()
    }

    /// A sweep like the last one, of this tile, as a step that computes the ghosts that were set since, and those that
    /// a fill negates; itself if there are none. None if it cannot.
    pub fn as_step(
        &mut self,
        tile: &TileWork<'_>,
        pair: &Pair,
        launch: GiveLaunch<'_>,
    ) -> Option<Option<Arc<dyn Launch>>> {
        let Some(last) = self.last.last() else { return Some(None) };
        let negated = negated_of(tile, pair.inp);
        if last.sets.is_empty() && negated.is_none() {
            return Some(None);
        }
        let sets = last.sets.iter().map(Weak::upgrade).collect::<Option<Vec<_>>>()?;
        let domain = negated.or_else(|| Some(sets.first()?.domain))?;
        // Kernels that take turns are one kernel already.
        let alone = self.cycle.kernels == 1;
        let (step, of) = (if alone { ghosted(&launch(), &sets, &domain) } else { None }, last.kernel_of());
        self.refused = step.is_none().then_some(of).or(self.refused);
        if step.is_none() {
            self.tell(&tile.recorded.to_string(), if alone { NOT_COMPUTED } else { IN_TURN });
        }
        step.map(Some)
    }

    /// Why steps of the kernel at a line run one by one.
    fn tell(&mut self, line: &str, why: &str) {
        let told = format!("the kernel at {line}: {why}");
        if self.apart.len() < TOLD && !self.apart.contains(&told) {
            self.apart.push(told);
        }
    }

    /// The same of a kernel that sets ghosts of what the last sweep has written, if that may be a step.
    pub fn tell_after(&mut self, tile: &TileWork<'_>, why: &str) {
        let written = self.last.last().and_then(|last| last.key.args.get(last.fusible.out));
        if written.is_some_and(|array| tile.key.args.contains(array)) {
            self.tell(&tile.recorded.to_string(), why);
        }
    }

    /// The same of a kernel that is no step, if it repeats with its arrays exchanged.
    fn tell_other(&mut self, tile: &TileWork<'_>, launch: &dyn Launch) {
        let sorted = |args: &SmallVec<[usize; 8]>| {
            let mut args = args.clone();
            args.sort_unstable();
            args
        };
        let (kernel, args) = (tile.key.kernel, &tile.key.args);
        let again = self
            .other
            .replace((kernel, args.clone()))
            .is_some_and(|(of, before)| of == kernel && before != *args && sorted(&before) == sorted(args));
        // What is no step has none to give.
        if let Some(step) = launch.beside().filter(|step| again && step.prepared.steps.is_none()) {
            self.tell(&tile.recorded.to_string(), step.prepared.no_steps);
        }
    }

    /// What was told.
    pub fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.apart)
    }

    /// Forgets the last sweeps: other work follows.
    pub fn forget(&mut self) {
        self.last.clear();
        self.let_go();
    }

    /// Keeps nothing of what has set ghosts, and no array for it.
    pub fn let_go(&mut self) {
        self.kept.clear();
    }

    /// The same before a tile that does not touch the array whose ghosts were set.
    pub fn let_go_before(&mut self, tile: &TileWork<'_>) {
        let array = self.last.last().and_then(|last| last.key.args.get(last.fusible.out));
        if !array.is_some_and(|array| tile.key.args.contains(array)) {
            self.let_go();
        }
    }

    /// Records what a tile touches of the sweep of a node, by its number.
    pub fn joined(&mut self, node: u64, touches: &[BoxTouch]) {
        let Some(last) = self.last.last_mut().filter(|last| last.node == node) else { return };
        let pair = Pair::of(&last.key, &last.fusible);
        let others = touches.iter().filter(|touch| pair.is_none_or(|pair| !pair.has(identity(&touch.tracker))));
        last.reads.extend(others.map(|touch| Read {
            tracker: Arc::downgrade(&touch.tracker),
            touch: (touch.region, touch.read, touch.around, touch.across, touch.scale),
        }));
    }

    /// What the other kernels read that alternate with that of the next sweep, of arrays that have their room on the
    /// device: it may be the one that does their work.
    pub fn beside(&self) -> Vec<BoxTouch> {
        let others = self.last.iter().rev().take(self.cycle.kernels.saturating_sub(1));
        let touch = |one: &Read| {
            let (tracker, (region, read, around, across, scale)) = (one.tracker.upgrade()?, one.touch);
            let tracker = Some(tracker).filter(|tracker| tracker.storage().is_reserved())?;
            let (keeps, whole, carried) = (false, false, false);
            Some(BoxTouch { tracker, region, read, write: None, keeps, whole, around, across, scale, carried })
        };
        others.flat_map(|sweep| sweep.reads.iter().filter_map(touch)).collect()
    }
}

/// Whether each array is one stretch of memory on the device, from its first plane to the last, for work that is
/// recorded now.
pub(super) fn lie_whole(touches: &[BoxTouch]) -> bool {
    touches.iter().all(|touch| touch.tracker.boxes().len() == 1 || touch.tracker.storage().stays_in_row())
}

/// Steps that run as one launch.
pub(super) struct StepGroup {
    /// What is held back of them: their sweeps, and the ghost fills between.
    held: usize,
    region: usize,
    together: Together,
    /// How far they read along each axis, all together.
    reach: [i64; 4],
    launches: Arc<[Arc<dyn Launch>]>,
    /// The kernels that set ghosts of what the last step leaves run too.
    sets: bool,
    /// It is one step by itself, with what sets ghosts of what it leaves.
    alone: Option<Alone>,
}

/// A step by itself that computes ghosts.
struct Alone {
    boxes: Boxes,
    /// Fills of what it leaves set ghosts that the step after it does not compute.
    fills: bool,
}

impl StepGroup {
    /// Whether its steps compute ghosts of the array that the first one reads.
    fn computes(&self) -> bool {
        self.alone.is_some() || self.launches.first().is_some_and(|launch| !launch.ghosts().is_empty())
    }

    /// Whether what comes after its step is left out.
    fn leaves_out(&self, op: &Op) -> bool {
        let fills = self.alone.as_ref().is_none_or(|alone| alone.fills);
        !self.sets && (op.sets_ghosts() || !fills && matches!(op, Op::Fill { fixed: false, .. }))
    }

    /// What the node of its first step does: the planes first that are given next, if they are known.
    fn work(&self, label: Label, first: &Arc<Sweep>, faces: &Arc<[Arc<FaceLaunch>]>, gives: Option<Borders>) -> Work {
        let split = gives.filter(|_| faces.is_empty()).and_then(|gives| {
            let (ends, others) = gives.split(&self.together.cells, self.reach[gives.axis])?;
            let planes = ends.iter().map(|part| (part.lo[gives.axis], part.hi[gives.axis])).collect();
            Some((ends, planes, others))
        });
        let over = |parts: Vec<GridBox<4>>, counts: bool| {
            let several =
                Several { region: self.region, together: self.together, launches: self.launches.clone(), counts };
            together(label, first.clone(), several, parts, faces.clone())
        };
        match split {
            None => Work::Device(over(vec![self.together.cells], true)),
            Some((ends, planes, others)) => {
                Work::Split(Box::new(SplitWork { edges: over(ends, false), planes, inside: over(vec![others], true) }))
            }
        }
    }
}

impl Core {
    /// Which sweeps may be held back.
    pub(super) fn fuses(&self) -> Fuses {
        match self.device.as_ref().map(|device| &device.asked.fuse) {
            None => Fuses::None,
            Some(Asked::Off) if self.runs_alone() => Fuses::Alone,
            Some(Asked::Off) => Fuses::None,
            // What the model says of cells of several components was never measured.
            Some(Asked::Auto) => Fuses::OneComponent,
            Some(Asked::Parts(_)) => Fuses::All,
        }
    }

    /// Whether steps by themselves may compute the ghosts that they read.
    fn runs_alone(&self) -> bool {
        self.device.as_ref().is_some_and(|device| {
            let facts = device.backend().facts();
            facts.gpu && !facts.native && !self.rules.is_place && !device.asked.without.ghosts
        })
    }

    /// Which sweeps like this may be held back, and how many components their arrays have at most: steps by themselves
    /// compute ghosts where a fill negates.
    pub(super) fn fuses_of(&self, tile: &TileWork<'_>) -> (Fuses, usize) {
        let negates = |touch: &BoxTouch| touch.tracker.planar().is_some_and(|of| of.facts().negated != [[0; 2]; 4]);
        let alone = self.runs_alone() && tile.touches.iter().any(negates);
        let fuses = self.fuses();
        match fuses {
            Fuses::Alone if !alone => (Fuses::None, 0),
            _ => (fuses, if alone { usize::MAX } else { fuses.most() }),
        }
    }

    /// Records the filling of ghosts on the device, for each array those of fixed value too if that is said: held back
    /// too, if it is of alternating arrays or expected.
    pub fn record_fill(self: &Arc<Core>, recorded: &'static Location<'static>, fills: Vec<(Arc<Tracker>, bool)>) {
        if !self.round_fill(recorded, &fills) {
            let touches: Vec<_> = fills.iter().map(|(tracker, _)| Touch::new(tracker, None, Mode::Update)).collect();
            let fixed = fills.iter().any(|(_, fixed)| *fixed);
            let work = Work::Device(filling(fills, recorded));
            self.record_or_hold("fill_ghosts", recorded, &touches, &[], work, Some(fixed));
        }
    }

    /// Holds the filling of an array's ghosts back, if sweeps of it are; says whether it did.
    pub(super) fn hold_fill(recorder: &mut Recorder, node: &Arc<Node>, touches: &[Touch], fixed: bool) -> bool {
        let [touch] = touches else { return false };
        let held = recorder.fusing.holds([&touch.tracker].into_iter());
        if held {
            let op = Op::Fill { tracker: touch.tracker.clone(), fixed };
            recorder.fusing.held.push(HeldNode::new(node.clone(), Some(op)));
        }
        held
    }

    /// Holds what gives or takes strips of these arrays back, if steps of them are; says whether it did.
    pub(super) fn hold_strips<'a>(
        recorder: &mut Recorder,
        node: &Arc<Node>,
        arrays: impl Iterator<Item = &'a Arc<Tracker>>,
    ) -> bool {
        let held = recorder.fusing.holds(arrays);
        if held {
            recorder.fusing.held.push(HeldNode::new(node.clone(), None));
        }
        held
    }

    /// Starts what is held back before strips, at this place and those beside it: some thread is about to wait for a
    /// node that may come after it.
    pub(super) fn start_over_strips(&self) {
        for core in self.parted.places.get().into_iter().flatten().filter_map(Weak::upgrade) {
            let mut recorder = lock(&core.recorder);
            core.start_closed(&mut recorder);
            if recorder.fusing.holds_strips() {
                core.close_all(&mut recorder);
                core.start_held(&mut recorder, true);
            }
        }
    }

    /// Starts what is held back, if it is enough and the device has little else to do; the rest waits for more.
    pub(super) fn keep_fusing(self: &Arc<Core>, recorder: &mut Recorder) {
        let held = recorder.fusing.held.len();
        let set = recorder.fusing.held.iter().filter(|held| held.sets_ghosts()).count();
        if held - set < ENOUGH {
            return;
        }
        let under_way = self.unfinished.count().saturating_sub(held + recorder.open.len());
        if under_way < ENOUGH / 2 || held >= MANY {
            self.start_held(recorder, false);
        }
    }

    /// Starts what is held back: with `all` to the end, else as many steps as run together.
    pub(super) fn start_held(self: &Arc<Core>, recorder: &mut Recorder, all: bool) {
        self.start_some(recorder, all);
        if all {
            recorder.batch.no_more();
        }
    }

    /// The same, while more of it may come.
    pub(super) fn start_some(self: &Arc<Core>, recorder: &mut Recorder, all: bool) {
        let held = std::mem::take(&mut recorder.fusing.held);
        let ops = held.iter().map(|held| held.op.as_ref()).collect::<Vec<_>>();
        let (mut groups, ..) = self.groups(&ops, all, &mut |line, why| recorder.fusing.tell(line, why));
        for number in 1..groups.len() {
            // Steps that follow compute these ghosts, and they are set again after those.
            let follows = groups[number].1.as_ref().is_some_and(|next| next.computes());
            groups[number - 1].1.iter_mut().for_each(|group| group.sets = !follows);
        }
        let started = groups.iter().map(|(count, _)| count).sum::<usize>();
        if let (Some(first), Some(last)) = (held[..started].first(), held[..started].last()) {
            let ops = held[..started].iter().map(|held| held.op.as_ref());
            let of = shares(ops, groups.iter().map(|(count, _)| *count));
            recorder.batch.starts(of, [first.node.recorded, last.node.recorded]);
        }
        let mut held = held.into_iter();
        for (count, group) in groups {
            self.start_group(held.by_ref().take(count).collect(), group);
        }
        recorder.fusing.held = held.collect();
    }

    /// What runs together of what is held back (none: strips): with `all` to the end, else as many steps as run
    /// together. How many of it each launch has, how many all have, and whether all launches of several steps can be
    /// had now.
    pub(super) fn groups(
        &self,
        held: &[Option<&Op>],
        all: bool,
        tell: Tell<'_>,
    ) -> (Vec<(usize, Option<StepGroup>)>, usize, bool) {
        let (mut groups, mut first, mut single, mut known) = (Vec::new(), 0, 0, true);
        // While a launch is compiled, none of fewer steps is.
        let mut compiling = 0;
        while first < held.len() {
            // Steps that are known to run one by one.
            if first < single {
                groups.push((1, None));
                first += 1;
                continue;
            }
            let (group, more, alone) = self.group(&held[first..], tell);
            if more && !all {
                break;
            }
            single = first + alone;
            let steps = group.as_ref().map_or(0, |group| group.together.steps);
            let group = group.filter(|group| steps >= compiling && self.is_compiled(group));
            if group.is_none() {
                compiling = compiling.max(steps);
                known &= steps == 0;
            }
            let count = group.as_ref().map_or(1, |group| group.held);
            groups.push((count, group));
            first += count;
        }
        (groups, first, known)
    }

    /// How the steps of a group run together: from which region on, and how.
    pub(super) fn shape(group: &StepGroup) -> (usize, Together) {
        (group.region, group.together)
    }

    /// What runs as one launch of what comes first, and whether it could be more if more were there. Also how many of
    /// what comes first run by themselves, if that is all that their steps are good for.
    fn group(&self, held: &[Option<&Op>], tell: Tell<'_>) -> (Option<StepGroup>, bool, usize) {
        let (Some(device), Some(Some(Op::Sweep(first)))) = (&self.device, held.first()) else {
            return (None, false, 1);
        };
        let Some((region, cells)) = one_box(first.boxes()) else { return (None, false, 1) };
        // Of what comes after strips, the next sweep may be a step that follows, and no more.
        let strips = held.iter().position(Option::is_none).unwrap_or(held.len());
        let is_sweep = |op: &Option<&Op>| op.is_some_and(Op::is_sweep);
        let next = held[strips..].iter().position(is_sweep).map_or(held.len(), |next| strips + next + 1);
        let ops: Vec<&Op> = held[..next].iter().copied().flatten().collect();
        let within = ops.iter().copied().take_while(|op| within(op, first));
        let Some(following) = steps(within.map(Some)) else { return (None, false, 1) };
        let trackers = distinct(first.arrays.iter().map(|array| &array.tracker));
        let facts_of = |of: usize| trackers.iter().find(|tracker| identity(tracker) == of)?.planar().map(|p| p.facts());
        // As many as a launch of several has, and the one that follows them.
        let several = following.launches(u32::MAX).len() > 3;
        let place = || first.as_step().step().map_or_else(String::new, |step| step.prepared.place());
        let Some(faces) = following.faces(facts_of, &cells) else {
            if several {
                tell(&place(), BEYOND);
            }
            return (None, false, 1);
        };
        let components = following.launches(1).first().and_then(|launch| launch.step()?.prepared.fusible());
        let shares = components.is_none_or(|of| of.components <= self.fuses().most());
        let most = if shares { u32::MAX } else { 1 };
        let (steps, more) = following.together(device, (&cells, &faces), (most, false));
        if steps == 1 && several && shares {
            tell(&place(), following.why_single(device, (&cells, &faces)));
        }
        // What comes later is no step after these, if other work is between, or strips and a step.
        let may_follow = |op: &Option<&Op>| op.is_none_or(|op| matches!(op, Op::Fill { .. }) || op.sets_ghosts());
        let more = more && following.held() <= strips && held[following.held()..].iter().all(may_follow);
        let by_itself = || self.by_itself(held, (&following, strips), first, (region, cells, faces));
        if let Some((group, waits)) = (steps == 1).then(by_itself).flatten() {
            return (group, more || waits, 1);
        }
        let together = following.over(steps, cells, i64::MAX, faces);
        let (launches, reach) = (following.launches(steps), following.pair().halo.map(|halo| halo * i64::from(steps)));
        let group = following.first(steps);
        let group = group.map(|held| StepGroup { held, region, together, reach, launches, sets: true, alone: None });
        let alone = if steps == 1 && !more { following.held().min(strips) } else { 1 };
        (group, more, alone)
    }

    /// What comes first as a step by itself that computes ghosts, and whether it waits for the step that follows;
    /// nothing if it is none.
    fn by_itself(
        &self,
        held: &[Option<&Op>],
        (following, strips): (&Steps, usize),
        first: &Arc<Sweep>,
        (region, cells, faces): (usize, GridBox<4>, Faces),
    ) -> Option<(Option<StepGroup>, bool)> {
        let launches = following.launches(1);
        let step = launches.first().filter(|step| step.alone().is_some() && self.runs_alone())?;
        // What it leaves out is set again after the step that follows: by kernels, which are there, and by a fill,
        // which is there if one more step is.
        let negates = step.negated() != [[0; 2]; 4];
        let there = following.count() > if negates { 2 } else { 1 };
        let may_follow = |op: &Option<&Op>| op.is_some_and(|op| matches!(op, Op::Fill { .. }) || op.sets_ghosts());
        let more = !there && strips == held.len() && held[following.held()..].iter().all(may_follow);
        if !there {
            return more.then_some((None, true));
        }
        let is_computed = |side: usize| {
            let of = |face: &Arc<FaceLaunch>| face.side == Some(side);
            step.negated().as_flattened()[side] != 0 || step.ghosts().iter().any(of)
        };
        let mut others = faces.as_flattened().iter().enumerate().filter(|(side, _)| !is_computed(*side));
        let alone = Some(Alone { boxes: first.boxes().into(), fills: others.any(|(_, face)| !face.is_held()) });
        let together = following.over(1, cells, i64::MAX, faces);
        let (held, reach) = (following.second()?, following.pair().halo);
        Some((Some(StepGroup { held, region, together, reach, launches, sets: true, alone }), false))
    }

    /// Whether the launch of a group can be had now.
    fn is_compiled(&self, StepGroup { region, together, launches, alone, .. }: &StepGroup) -> bool {
        if let (Some(Alone { boxes, .. }), Some(device), [step, ..]) = (alone, &self.device, &launches[..]) {
            return is_ready_alone(&**step, device, boxes);
        }
        self.device.as_ref().is_none_or(|device| steps_are_compiled(launches, device, *region, together))
    }

    /// Starts nodes: as one launch, if they are a group.
    fn start_group(self: &Arc<Core>, held: Vec<HeldNode>, group: Option<StepGroup>) {
        let mut leader: Option<Arc<Node>> = None;
        let last = held
            .last()
            .and_then(|held| held.op.as_ref()?.kernel())
            .filter(|_| group.as_ref().is_some_and(|of| of.sets));
        let faces: Arc<[Arc<FaceLaunch>]> = last.map_or_else(Default::default, |sweep| sweep.faces.as_slice().into());
        let gives = held.last().and_then(|held| held.gives);
        for HeldNode { node, op, .. } in held {
            let by_itself = group.as_ref().filter(|group| group.alone.is_some());
            match (op, &group, &leader) {
                (Some(Op::Sweep(sweep)), _, None) if by_itself.is_some() => {
                    let faces = if by_itself.is_some_and(|of| of.sets) { &sweep.faces[..] } else { &[] };
                    let faces = faces.into();
                    node.set_work(Work::Device(alone((node.name, node.recorded), sweep, faces)));
                    leader = Some(node.clone());
                }
                (Some(op), _, Some(_)) if by_itself.is_some_and(|of| !of.leaves_out(&op)) => {
                    node.set_work(Work::Device(in_core((node.name, node.recorded), op)));
                }
                (_, _, Some(leader)) => node.set_work(Work::Within(leader.clone())),
                (Some(Op::Sweep(sweep)), Some(group), None) => {
                    let bytes = sweep.arrays.iter().map(|array| array.tracker.storage().device_bytes() as u64);
                    let gives = gives.filter(|_| bytes.sum::<u64>() >= self.rules.edges_from);
                    node.set_work(group.work((node.name, node.recorded), &sweep, &faces, gives));
                    leader = Some(node.clone());
                }
                (Some(op), ..) => node.set_work(Work::Device(in_core((node.name, node.recorded), op))),
                // It has its work.
                (None, ..) => {}
            }
            if node.release() {
                self.start_node(node);
            }
        }
    }
}

/// How many sweeps are among some work, and their launches, of which each does so much of it.
pub(super) fn shares<'a>(
    ops: impl Iterator<Item = Option<&'a Op>>,
    launches: impl Iterator<Item = usize>,
) -> (u64, u64) {
    let mut ops = ops.map(|op| op.and_then(Op::kernel).is_some());
    let sweeps = launches.map(|count| ops.by_ref().take(count).filter(|sweep| *sweep).count() as u64);
    sweeps.filter(|sweeps| *sweeps > 0).fold((0, 0), |(all, launches), sweeps| (all + sweeps, launches + 1))
}

/// The boxes of a sweep as one, if they are: it starts in the first region.
pub(super) fn one_box(boxes: &[(usize, GridBox<4>)]) -> Option<(usize, GridBox<4>)> {
    let (first, rest) = boxes.split_first()?;
    rest.iter().try_fold(*first, |(region, known), (next, cells)| {
        (*next > region).then_some(())?;
        Some((region, union(&known, cells)?))
    })
}
