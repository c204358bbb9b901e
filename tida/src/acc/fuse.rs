//! Steps that run as one launch (Lashgar ch. 6, the ghost-zone optimisation; DESIGN.md §6 `channel`).
//!
//! A program that repeats one kernel on two arrays in turn (`next` from `u`, then `u` from `next`) needs no more of the
//! arrays in between than what the next step reads. Its sweeps, and the ghost fills between them, are held back while more
//! of them are recorded. Of steps that are followed by one that overwrites what they would have left in the other array,
//! the first reads, the last writes, and one launch does all: its blocks keep the steps between to themselves
//! (`compute/fused.rs`). The last step that is held runs by itself, so that both arrays are as the program left them.
//!
//! Nodes stay what they were: the node of the first step does the launch, those of the others end with it
//! ([`Work::Within`]).

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tida_kernels::plan::fuse::{Face, Faces, LONGEST};

use super::boxes::union;
use super::chain::can_stream;
use super::device::DeviceCore;
use super::driver::{Core, Recorder, TileWork, device_sweep};
use super::node::{Node, Work};
use super::sweep::{ArrayTouch, Fusible, Launch, SweepKey, Together};
use super::tracker::{BoxTouch, Touch, Tracker, distinct};
use crate::array::{GridBox, PlaneFacts};

/// So many sweeps are enough to start with, if the device has less than that to do.
const ENOUGH: usize = 24;

/// What is held back.
#[derive(Default)]
pub(super) struct Fusing {
    /// The last sweep that was opened, if steps of its kernel may run as one launch.
    last: Option<(SweepKey, Fusible)>,
    held: Vec<Held>,
}

/// A node that is held back.
struct Held {
    node: Arc<Node>,
    work: HeldWork,
}

#[allow(clippy::large_enum_variant)] // most are sweeps
enum HeldWork {
    Sweep(Step),
    /// Fills the ghosts of an array, those of fixed value too if they are not there.
    Ghosts {
        tracker: Arc<Tracker>,
        fixed: bool,
    },
}

impl Held {
    fn recorded(&self) -> Recorded<'_> {
        match &self.work {
            HeldWork::Sweep(step) => Recorded::Sweep(step.pair, &step.boxes),
            HeldWork::Ghosts { tracker, fixed: false } => Recorded::Ghosts(identity(tracker)),
            HeldWork::Ghosts { .. } => Recorded::Other,
        }
    }
}

/// A sweep that is held back.
struct Step {
    launch: Arc<dyn Launch>,
    boxes: Vec<(usize, GridBox<4>)>,
    arrays: SmallVec<[ArrayTouch; 4]>,
    pair: Pair,
}

/// The two arrays that take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The array that is written, by the address of its tracker.
    pub out: usize,
    /// The one that is read around each cell.
    pub inp: usize,
    /// How far, along each of four axes.
    pub halo: [i64; 4],
}

impl Pair {
    fn of(key: &SweepKey, fusible: &Fusible) -> Option<Pair> {
        let (out, inp) = (*key.args.get(fusible.out)?, *key.args.get(fusible.inp)?);
        (out != inp).then_some(Pair { out, inp, halo: fusible.halo })
    }

    /// The same with the arrays' parts exchanged.
    fn turned(self) -> Pair {
        Pair { out: self.inp, inp: self.out, ..self }
    }
}

/// What an array is known by.
pub(super) fn identity(tracker: &Arc<Tracker>) -> usize {
    Arc::as_ptr(tracker) as usize
}

impl Fusing {
    /// Nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether something that is held back touches one of these arrays.
    pub fn holds<'a>(&self, mut trackers: impl Iterator<Item = &'a Arc<Tracker>>) -> bool {
        !self.held.is_empty()
            && trackers.any(|tracker| {
                self.held.iter().any(|held| match &held.work {
                    HeldWork::Sweep(step) => step.arrays.iter().any(|array| Arc::ptr_eq(&array.tracker, tracker)),
                    HeldWork::Ghosts { tracker: filled, .. } => Arc::ptr_eq(filled, tracker),
                })
            })
    }

    /// The arrays that take turns, if a tile is of the sweep that follows the last one in turn.
    pub fn next(&self, tile: &TileWork<'_>) -> Option<Pair> {
        let (last, fusible) = self.last.as_ref()?;
        let pair = Pair::of(&tile.key, fusible).filter(|pair| Pair::of(last, fusible) == Some(pair.turned()))?;
        let turned = |n: usize| match n {
            n if n == fusible.out => fusible.inp,
            n if n == fusible.inp => fusible.out,
            n => n,
        };
        let mut args = last.args.clone();
        args.iter_mut().enumerate().for_each(|(n, arg)| *arg = last.args[turned(n)]);
        let same = SweepKey { args, ..last.clone() } == tile.key;
        let usual = tile.by_planes && tile.pace.is_none() && tile.after.is_empty() && can_stream(tile.touches);
        (same && usual).then_some(pair)
    }

    /// Takes down the sweep that was opened last.
    pub fn opened(&mut self, key: &SweepKey, launch: &dyn Launch) {
        let plain = key.on_device && !key.checked && key.block.is_none() && key.march.is_none();
        let fusible = if plain && key.cache == Default::default() { launch.fusible() } else { None };
        self.last = fusible.map(|fusible| (key.clone(), fusible));
    }

    /// Holds a sweep back that takes no more tiles.
    pub fn sweep(
        &mut self,
        node: Arc<Node>,
        launch: Arc<dyn Launch>,
        boxes: Vec<(usize, GridBox<4>)>,
        arrays: SmallVec<[ArrayTouch; 4]>,
        pair: Pair,
    ) {
        self.held.push(Held { node, work: HeldWork::Sweep(Step { launch, boxes, arrays, pair }) });
    }
}

/// Whether each array is one stretch of memory on the device, from its first plane to the last.
pub(super) fn lie_whole(touches: &[BoxTouch]) -> bool {
    touches.iter().all(|touch| touch.tracker.boxes().len() == 1 || touch.tracker.storage().row().is_some())
}

/// Steps that run as one launch.
struct Group {
    /// What is held back of them: their sweeps, and the ghost fills between.
    held: usize,
    region: usize,
    together: Together,
}

/// What was recorded, for the question which steps follow one another.
pub(super) enum Recorded<'a> {
    /// A sweep of arrays that take turns, over these boxes.
    Sweep(Pair, &'a [(usize, GridBox<4>)]),
    /// A fill of an array's ghosts but for those of fixed value, which are there.
    Ghosts(usize),
    Other,
}

/// Steps that follow one another, on the same boxes of arrays that take turns.
pub(super) struct Following {
    /// Where each of them is.
    steps: Vec<usize>,
    /// The ghosts of the array that a step leaves are filled before the next one.
    pub filled: bool,
}

/// The steps that follow one another from the first on of what was recorded; nothing if that is none.
pub(super) fn following<'a>(mut recorded: impl Iterator<Item = Recorded<'a>>) -> Option<Following> {
    let Some(Recorded::Sweep(mut pair, first)) = recorded.next() else { return None };
    let (mut steps, mut filled, mut between) = (vec![0], None, false);
    for (number, one) in recorded.enumerate() {
        // No launch has more, and one step has to follow.
        if steps.len() > LONGEST as usize {
            break;
        }
        match one {
            Recorded::Ghosts(array) if array == pair.out => between = true,
            Recorded::Sweep(next, boxes) => {
                let same = *filled.get_or_insert(between) == between;
                if !same || next != pair.turned() || boxes != first {
                    break;
                }
                (pair, between) = (next, false);
                steps.push(number + 1);
            }
            _ => break,
        }
    }
    Some(Following { steps, filled: filled.unwrap_or(false) })
}

impl Following {
    /// How many run together over boxes like `cells`, at most `most`, and whether it could be more if more were there.
    pub fn together(
        &self,
        launch: &dyn Launch,
        device: &DeviceCore,
        (cells, faces): (&GridBox<4>, &Faces),
        most: u32,
    ) -> (u32, bool) {
        let wanted = launch.depth(device, cells, faces, most);
        // The step after them overwrites what they do not leave.
        let there = self.steps.len() as u32 - 1;
        let depth = if wanted <= there { wanted } else { launch.depth(device, cells, faces, there) };
        (depth, wanted > there)
    }

    /// How many of what was recorded are these steps and what lies between them; nothing of fewer than two.
    pub fn first(&self, steps: u32) -> Option<usize> {
        let last = self.steps.get((steps as usize).checked_sub(1)?)?;
        (steps > 1).then_some(last + 1)
    }
}

impl Core {
    /// Whether sweeps may be held back.
    pub(super) fn fuses(&self) -> bool {
        self.device.as_ref().is_some_and(|device| !device.fuse().is_off() && device.backend().simulated().is_none())
    }

    /// Records the filling of ghosts on the device: held back too, if it is of arrays that take turns.
    pub fn record_fill(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        fixed: bool,
        work: Work,
    ) -> Arc<Node> {
        self.record_or_hold("fill_ghosts", recorded, touches, &[], work, Some(fixed))
    }

    /// Holds the filling of an array's ghosts back, if sweeps of it are; says whether it did.
    pub(super) fn hold_fill(recorder: &mut Recorder, node: &Arc<Node>, touches: &[Touch], fixed: bool) -> bool {
        let [touch] = touches else { return false };
        let held = recorder.fusing.holds([&touch.tracker].into_iter());
        if held {
            let work = HeldWork::Ghosts { tracker: touch.tracker.clone(), fixed };
            recorder.fusing.held.push(Held { node: node.clone(), work });
        }
        held
    }

    /// Starts what is held back, if it is enough and the device has little else to do; the rest waits for more.
    pub(super) fn keep_fusing(self: &Arc<Core>, recorder: &mut Recorder) {
        let held = recorder.fusing.held.len();
        let under_way = self.unfinished.load(Ordering::Relaxed).saturating_sub(held + recorder.open.len());
        if held >= ENOUGH && under_way < ENOUGH / 2 {
            self.start_held(recorder, false);
        }
    }

    /// Starts what is held back: with `all` to the end, else as many steps as run together.
    pub(super) fn start_held(self: &Arc<Core>, recorder: &mut Recorder, all: bool) {
        let held = std::mem::take(&mut recorder.fusing.held);
        let (mut groups, mut first) = (Vec::new(), 0);
        while first < held.len() {
            let (group, more) = self.group(&held[first..]);
            if more && !all {
                break;
            }
            let count = group.as_ref().map_or(1, |group| group.held);
            groups.push((count, group));
            first += count;
        }
        let mut held = held.into_iter();
        for (count, group) in groups {
            self.start_group(held.by_ref().take(count), group);
        }
        recorder.fusing.held = held.collect();
    }

    /// What runs as one launch of what comes first, and whether it could be more if more were there.
    fn group(&self, held: &[Held]) -> (Option<Group>, bool) {
        let (Some(device), Some(Held { work: HeldWork::Sweep(first), .. })) = (&self.device, held.first()) else {
            return (None, false);
        };
        let Some((region, cells)) = one_box(&first.boxes) else { return (None, false) };
        let Some(following) = following(held.iter().map(Held::recorded)) else { return (None, false) };
        let trackers = distinct(first.arrays.iter().map(|array| &array.tracker));
        let facts_of = |of: usize| trackers.iter().find(|tracker| identity(tracker) == of)?.planar().map(|p| p.facts());
        let Some(faces) = faces(&first.pair, facts_of, &cells, following.filled) else { return (None, false) };
        let (steps, more) = following.together(&*first.launch, device, (&cells, &faces), u32::MAX);
        let together = Together { steps, cells, planes: i64::MAX, faces };
        let group = following.first(steps).map(|held| Group { held, region, together });
        (group, more)
    }

    /// Starts nodes: as one launch, if they are a group.
    fn start_group(self: &Arc<Core>, held: impl Iterator<Item = Held>, group: Option<Group>) {
        let mut leader: Option<Arc<Node>> = None;
        for Held { node, work } in held {
            match (work, &group, &leader) {
                (_, _, Some(leader)) => node.set_work(Work::Within(leader.clone())),
                (HeldWork::Sweep(step), Some(group), None) => {
                    let Group { region, together, .. } = *group;
                    let launch = step.launch;
                    let run = move |queue: &super::node::Queue<'_>| {
                        queue.device.count_fused(together.steps);
                        // SAFETY: the graph keeps all work that conflicts away until these nodes have finished. The box is
                        // that of each of the steps.
                        unsafe { launch.clone().enqueue_steps(queue, (region, together.cells), &together) }
                    };
                    node.set_work(device_sweep(&node, step.arrays, None, 0, run));
                    leader = Some(node.clone());
                }
                (HeldWork::Sweep(Step { launch, boxes, arrays, .. }), None, None) => {
                    // SAFETY: as above; the boxes do not overlap.
                    let run = move |queue: &super::node::Queue<'_>| unsafe { launch.clone().enqueue(queue, &boxes) };
                    node.set_work(device_sweep(&node, arrays, None, 0, run));
                }
                // It has its work.
                (HeldWork::Ghosts { .. }, ..) => {}
            }
            if node.release() {
                self.start_node(node);
            }
        }
    }
}

/// The boxes of a sweep as one, if they are: it starts in the first region.
pub(super) fn one_box(boxes: &[(usize, GridBox<4>)]) -> Option<(usize, GridBox<4>)> {
    let (first, rest) = boxes.split_first()?;
    rest.iter().try_fold(*first, |(region, known), (next, cells)| {
        (*next > region).then_some(())?;
        Some((region, union(&known, cells)?))
    })
}

/// What lies beyond the faces of a box for steps between which ghosts are filled or not; nothing if a block cannot know.
pub(super) fn faces<'a>(
    pair: &Pair,
    facts_of: impl Fn(usize) -> Option<&'a PlaneFacts>,
    cells: &GridBox<4>,
    filled: bool,
) -> Option<Faces> {
    let mut faces = [[Face::Memory; 2]; 4];
    let (out, inp) = (facts_of(pair.out)?, facts_of(pair.inp)?);
    if out.domain() != inp.domain() || out.faces != inp.faces {
        return None;
    }
    if !filled {
        return Some(faces);
    }
    let domain = out.domain();
    for (axis, sides) in faces.iter_mut().enumerate() {
        let halo = pair.halo[axis];
        let outside = [cells.lo[axis] - halo < domain.lo[axis], cells.hi[axis] + halo > domain.hi[axis]];
        let whole = cells.lo[axis] == domain.lo[axis] && cells.hi[axis] == domain.hi[axis];
        for (side, face) in sides.iter_mut().enumerate().filter(|(side, _)| outside[*side]) {
            *face = out.faces[axis][side].filter(|face| *face == Face::Memory || whole)?;
            let fixed = out.fixed[axis][side].is_some() && out.fixed[axis][side] == inp.fixed[axis][side];
            let ends = [cells.lo[axis] == domain.lo[axis], cells.hi[axis] == domain.hi[axis]];
            if fixed && ends[side] && *face == Face::Memory {
                *face = Face::Constant;
            }
        }
    }
    // Beyond a corner is what lies beyond the first of its axes: where that is memory, of cells that no step writes, their
    // own ghosts would have to be there.
    let moves = faces.iter().flatten().any(|face| !face.is_held());
    (!moves || *cells == domain).then_some(faces)
}
