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
use super::driver::{Core, Recorder, TileWork, device_sweep};
use super::node::{Node, Work};
use super::sweep::{ArrayTouch, Fusible, Launch, SweepKey};
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
    out: usize,
    /// The one that is read around each cell.
    inp: usize,
    /// How far, along each of four axes.
    halo: [i64; 4],
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

fn identity(tracker: &Arc<Tracker>) -> usize {
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
        (same && usual && tile.touches.iter().all(lies_whole)).then_some(pair)
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

/// Whether an array is one stretch of memory on the device, from its first plane to the last.
fn lies_whole(touch: &BoxTouch) -> bool {
    touch.tracker.boxes().len() == 1 || touch.tracker.storage().row().is_some()
}

/// Steps that run as one launch.
struct Group {
    steps: u32,
    /// What is held back of them: their sweeps, and the ghost fills between.
    held: usize,
    region: usize,
    cells: GridBox<4>,
    faces: Faces,
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
        // Where each step is, and whether its array's ghosts are filled before the next one.
        let mut steps: Vec<usize> = vec![0];
        let (mut pair, mut filled, mut between) = (first.pair, None, false);
        for (number, one) in held.iter().enumerate().skip(1) {
            // No launch has more, and one step has to follow.
            if steps.len() > LONGEST as usize {
                break;
            }
            match &one.work {
                HeldWork::Ghosts { tracker, fixed: false } if identity(tracker) == pair.out => between = true,
                HeldWork::Ghosts { .. } => break,
                HeldWork::Sweep(step) => {
                    let same = *filled.get_or_insert(between) == between;
                    if !same || step.pair != pair.turned() || step.boxes != first.boxes {
                        break;
                    }
                    (pair, between) = (step.pair, false);
                    steps.push(number);
                }
            }
        }
        let Some(faces) = faces(first, &cells, filled.unwrap_or(false)) else { return (None, false) };
        let wanted = first.launch.depth(device, &cells, &faces, u32::MAX);
        // The step after them overwrites what they do not leave.
        let there = steps.len() as u32 - 1;
        let depth = if wanted <= there { wanted } else { first.launch.depth(device, &cells, &faces, there) };
        let group = (depth > 1).then(|| {
            let held = steps.get(depth as usize - 1).map_or(0, |last| last + 1);
            Group { steps: depth, held, region, cells, faces }
        });
        (group.filter(|group| group.held > 0), wanted > there)
    }

    /// Starts nodes: as one launch, if they are a group.
    fn start_group(self: &Arc<Core>, held: impl Iterator<Item = Held>, group: Option<Group>) {
        let mut leader: Option<Arc<Node>> = None;
        for Held { node, work } in held {
            match (work, &group, &leader) {
                (_, _, Some(leader)) => node.set_work(Work::Within(leader.clone())),
                (HeldWork::Sweep(step), Some(group), None) => {
                    let Group { steps, region, cells, faces, .. } = *group;
                    let launch = step.launch;
                    let run = move |queue: &super::node::Queue<'_>| {
                        queue.device.count_fused(steps);
                        // SAFETY: the graph keeps all work that conflicts away until these nodes have finished. The box is
                        // that of each of the steps.
                        unsafe { launch.clone().enqueue_steps(queue, region, cells, &faces, steps) }
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
fn one_box(boxes: &[(usize, GridBox<4>)]) -> Option<(usize, GridBox<4>)> {
    let (first, rest) = boxes.split_first()?;
    rest.iter().try_fold(*first, |(region, known), (next, cells)| {
        (*next > region).then_some(())?;
        Some((region, union(&known, cells)?))
    })
}

/// What lies beyond the faces of a box for steps between which ghosts are filled or not; nothing if a block cannot know.
fn faces(step: &Step, cells: &GridBox<4>, filled: bool) -> Option<Faces> {
    let mut faces = [[Face::Memory; 2]; 4];
    let trackers = distinct(step.arrays.iter().map(|array| &array.tracker));
    let facts_of = |identity_of: usize| -> Option<&PlaneFacts> {
        let tracker = trackers.iter().find(|tracker| identity(tracker) == identity_of)?;
        Some(tracker.planar()?.facts())
    };
    let (out, inp) = (facts_of(step.pair.out)?, facts_of(step.pair.inp)?);
    if out.domain() != inp.domain() || out.faces != inp.faces {
        return None;
    }
    if !filled {
        return Some(faces);
    }
    let domain = out.domain();
    for (axis, sides) in faces.iter_mut().enumerate() {
        let halo = step.pair.halo[axis];
        let outside = [cells.lo[axis] - halo < domain.lo[axis], cells.hi[axis] + halo > domain.hi[axis]];
        let whole = cells.lo[axis] == domain.lo[axis] && cells.hi[axis] == domain.hi[axis];
        for (side, face) in sides.iter_mut().enumerate().filter(|(side, _)| outside[*side]) {
            *face = out.faces[axis][side].filter(|face| *face == Face::Memory || whole)?;
        }
    }
    // Beyond a corner is what lies beyond the first of its axes: where that is memory, of cells that no step writes, their
    // own ghosts would have to be there.
    let moves = faces.iter().flatten().any(|face| *face != Face::Memory);
    (!moves || *cells == domain).then_some(faces)
}
