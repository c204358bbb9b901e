//! Recording: calls become nodes, and tiles of one loop a sweep.

use std::panic::Location;
use std::sync::{Arc, MutexGuard};

use super::chains::side;
use super::driver::{Core, Recorder, lock};
use super::fuse::{Fuses, lie_whole};
use super::hybrid::Pace;
use super::place::Place;
use super::sweep::{OpenSweep, SweepKey};
use crate::grid::GridBox;
use crate::launch::blocks::Listed;
use crate::launch::step::Launch;
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{BoxTouch, Mode, Side, Touch};
use crate::program::deps::Need;
use crate::program::place::Kind;
use crate::run::chain::{can_move, can_stream, wave};
use crate::run::op::Sweep;
use crate::run::streamed::Ended;

/// Sweeps that may be open at once: as many kernels a tile loop can interleave and still have its tiles merged.
pub(super) const OPEN: usize = 4;

/// Why work ends what runs together.
pub(super) const APART: &str = "cannot run with it";

/// A tile to compute.
pub(crate) struct TileWork<'a> {
    pub key: Arc<SweepKey>,
    pub region: usize,
    pub cells: GridBox<4>,
    pub touches: &'a [BoxTouch],
    /// Deferred scalars it captures.
    pub after: &'a [Arc<Node>],
    pub name: &'static str,
    pub recorded: &'static Location<'static>,
    pub access: TileAccess,
    /// The boxes that it runs over, if those are not all of its cells.
    pub listed: Option<&'a Listed>,
    /// Measures the sweep, of a loop that runs on both sides.
    pub pace: Option<Arc<Pace>>,
    /// The sweep that has this tile alone, if it is known from a call before.
    pub known: Option<&'a Arc<Sweep>>,
}

/// Which cells the accesses of a tile may go to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TileAccess {
    /// Its reads were proven, and it writes no ghosts between regions: it may run plane by plane.
    pub by_planes: bool,
    /// It may write ghosts.
    pub grown: bool,
    /// It reads other cells of what it writes.
    pub around_writes: bool,
    /// It sets ghosts beyond a face, as a part of a fill.
    pub is_face: bool,
}

impl TileWork<'_> {
    /// A sweep of it alone, of the kernel that `launch` gives.
    fn sweep(&self, launch: GiveLaunch<'_>) -> Arc<Sweep> {
        if let Some(known) = self.known {
            return known.clone();
        }
        let mut sweep = Sweep::of(launch(), &[]);
        self.add_to(&mut sweep);
        Arc::new(sweep)
    }

    /// Adds it to a sweep.
    fn add_to(&self, sweep: &mut Sweep) {
        match self.listed {
            Some(listed) => sweep.add_listed(listed, self.touches),
            None => sweep.add(self.region, self.cells, self.touches),
        }
    }

    /// That it ends a chain.
    pub(super) fn ends(&self, why: &'static str) -> Ended {
        Ended::Beside { name: self.name, recorded: self.recorded, why }
    }

    /// Whether it reads an array as a whole.
    pub fn has_whole(&self) -> bool {
        self.touches.iter().any(|touch| touch.whole)
    }

    /// Whether it writes cells alone, all of them, reads no other cells of what it writes, and touches no array whose
    /// ghosts are not what a fill leaves.
    pub fn runs_as_usual(&self) -> bool {
        !(self.access.grown || self.access.around_writes || self.listed.is_some()) && self.has_ghosts_of_fills()
    }

    /// Whether the ghosts of all arrays that it touches are what a fill leaves, and kernels that are a part of it.
    fn has_ghosts_of_fills(&self) -> bool {
        !self.touches.iter().any(|touch| touch.tracker.ages.has_other_ghosts())
    }

    /// Whether it may be a part of a chain on the host.
    pub fn can_wave(&self) -> bool {
        let usual = self.runs_as_usual() || self.access.is_face && self.has_ghosts_of_fills();
        usual && !self.has_whole() && self.can_chain(Kind::Planes) && wave::can_wave(self.touches)
    }

    /// Whether it may be a part of a chain.
    pub fn can_chain(&self, kind: Kind) -> bool {
        match kind {
            Kind::Planes => self.access.by_planes && can_stream(self.touches),
            Kind::Arriving => {
                let is_backed = self.touches.iter().any(|touch| touch.tracker.storage().backing().is_some());
                let streams = self.access.by_planes && can_stream(self.touches) && !is_backed;
                streams && !self.has_whole() && self.runs_as_usual()
            }
            Kind::Regions => can_move(self.touches),
        }
    }
}

/// Gives the kernel of a tile, the same each time, made when it is first asked for: most tiles join a sweep that has
/// it.
pub(crate) type GiveLaunch<'a> = &'a dyn Fn() -> Arc<dyn Launch>;

impl Core {
    /// Records a tile: joins an open sweep, or opens one of the kernel that `launch` gives. Gives where it will run.
    pub fn record_tile(self: &Arc<Core>, mut tile: TileWork<'_>, launch: GiveLaunch<'_>) -> Side {
        let mut recorder = self.with_room_for_rounds();
        recorder.count += 1;
        tile.pace = tile.pace.or_else(|| recorder.measured.clone());
        recorder.batch.ends_by(tile.ends(APART));
        if let Some(ahead) = self.round_tile(&mut recorder, &tile, launch) {
            drop(recorder);
            ahead.iter().for_each(|node| self.wait_for_end(node));
            return Side::Device;
        }
        self.flush_round(&mut recorder);
        if !tile.access.is_face {
            return self.record_in_sweep(recorder, tile, launch);
        }
        match self.set_by_sweep(&mut recorder, &tile, &launch()) {
            true => Side::Device,
            false => self.record_in_sweep(recorder, tile, launch),
        }
    }

    /// The tile joins an open sweep, if it may join one.
    fn record_in_open(self: &Arc<Core>, recorder: &mut Recorder, tile: &TileWork<'_>) -> Option<Side> {
        // Ghosts were filled since they were opened.
        if recorder.open.iter().any(|sweep| !sweep.work.refilled.is_empty()) {
            self.close_all(recorder);
        }
        let Recorder { open, fusing, .. } = recorder;
        let sweep = joinable(open, tile)?;
        fusing.joined(sweep.node.number, tile.touches);
        tile.add_to(Arc::make_mut(&mut sweep.work));
        add_touches(&sweep.node, tile.touches);
        Some(side(&sweep.node, sweep.kind))
    }

    /// The tile joins an open sweep, or opens one.
    fn record_in_sweep<'a>(
        self: &'a Arc<Core>,
        mut recorder: MutexGuard<'a, Recorder>,
        tile: TileWork<'_>,
        launch: GiveLaunch<'_>,
    ) -> Side {
        if let Some(side) = self.record_in_open(&mut recorder, &tile) {
            return side;
        }
        recorder.fusing.let_go_before(&tile);
        self.keep_short(&mut recorder);
        self.close_chain_of(&mut recorder, &tile);
        let mut place = Place::default();
        if self.device.is_some() || self.unfinished.is_full() {
            drop(recorder);
            self.wait_for_room();
            place = self.prepare_place(&tile);
            recorder = lock(&self.recorder);
            self.flush_round(&mut recorder);
        }
        if recorder.open.len() == OPEN {
            let Recorder { open, chain, fusing, batch, .. } = &mut *recorder;
            self.close_some(open, false, chain.as_mut(), (fusing, batch));
        }
        if self.device.is_none() {
            self.keep_busy(&mut recorder);
        }
        let may_be_step = tile.key.on_device && tile.listed.is_none();
        let (fuses, most) = if may_be_step { self.fuses_of(&tile) } else { (Fuses::None, 0) };
        let waits_for_steps = fuses != Fuses::None;
        let sets = if waits_for_steps { self.set_between(&mut recorder, &tile, launch) } else { None };
        let turn = if waits_for_steps && sets.is_none() { recorder.fusing.next(&tile) } else { None };
        let step = turn.and_then(|pair| recorder.fusing.as_step(&tile, &pair, launch));
        // It may be a step by itself alone.
        let shares = recorder.fusing.may_share(fuses);
        let step = step.filter(|step| shares || step.as_ref().is_some_and(|step| step.alone().is_some()));
        let turn = turn.filter(|_| step.is_some());
        let whole = turn.filter(|_| lie_whole(tile.touches));
        let held = recorder.holds_back(tile.touches.iter().map(|touch| &touch.tracker));
        // Kernels that set ghosts between steps wait with them.
        let waits = held && sets.is_some();
        if whole.is_some() {
            self.keep_fusing(&mut recorder);
        } else if held && !waits {
            // Nothing that is not held back waits for what is: a thread may wait for it alone.
            self.close_all(&mut recorder);
            self.start_held(&mut recorder, true);
        }
        let (chain, kind) = self.chain_for(&mut recorder, &tile, place).unzip();
        let turn = match kind {
            None => whole,
            // Chains find by themselves what runs together.
            Some(Kind::Planes) => turn.filter(|_| shares),
            Some(_) => None,
        };
        let node = self.node(tile.name, tile.recorded, tile.key.on_device, chain);
        recorder.batch.sweep_of(chain, tile.recorded);
        if tile.key.on_device {
            self.after_evictions(&node);
        }
        self.unfinished.add();
        add_touches(&node, tile.touches);
        tile.after.iter().for_each(|before| node.wait_for(before, Need::Value));
        let (mut work, step) = (tile.sweep(launch), step.flatten());
        // It may do the work of the steps after it too.
        let beside = if turn.is_some() && kind.is_none() { recorder.fusing.beside() } else { Vec::new() };
        add_touches(&node, &beside);
        if waits_for_steps && sets.is_none() {
            recorder.fusing.opened(&tile, &*work.launch, node.number, most);
        }
        if work.launch.is_sure() {
            node.set_sure();
        }
        if turn.is_some() || step.is_some() || sets.is_some() {
            let work = Arc::make_mut(&mut work);
            (work.turn, work.step, work.sets) = (turn, step, sets);
            work.touch(&beside);
        }
        let sweep = Box::new(OpenSweep { key: tile.key, node, kind, work, pace: tile.pace, ends: None, waits });
        let side = side(&sweep.node, sweep.kind);
        recorder.open.push(sweep);
        self.wake_driver(&mut recorder);
        side
    }

    /// A node that is still being recorded. Places say whose it is: those of others may start it.
    pub(super) fn node(
        self: &Arc<Core>,
        name: &'static str,
        recorded: &'static Location<'static>,
        on_device: bool,
        chain: Option<u64>,
    ) -> Arc<Node> {
        let node = Node::new(name, recorded, on_device, chain);
        if self.rules.is_place {
            node.set_home(self.clone());
        }
        node
    }

    /// Records any other work.
    pub fn record(
        self: &Arc<Core>,
        name: &'static str,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        after: &[Arc<Node>],
        work: Work,
    ) -> Arc<Node> {
        self.record_or_hold(name, recorded, touches, after, work, None)
    }

    /// As [`Core::record`]; or of a ghost fill, which may be held back, and says whether it sets those of fixed value
    /// too.
    pub(super) fn record_or_hold(
        self: &Arc<Core>,
        name: &'static str,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        after: &[Arc<Node>],
        work: Work,
        fixed: Option<bool>,
    ) -> Arc<Node> {
        let is_on_device = matches!(work, Work::Device(_));
        let is_fill = fixed.is_some();
        let leaves = touches.iter().any(|touch| matches!(touch.mode, Mode::Discard | Mode::Look));
        let takes_memory = matches!(work, Work::Device(_) | Work::Both(_));
        let work = match is_fill && is_on_device {
            // It brings them by itself.
            true => work,
            false => self.with_arrays((name, recorded), touches, work, !leaves),
        };
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        recorder.batch.ends_by(Ended::Beside { name, recorded, why: APART });
        if !is_fill {
            self.round_other(&mut recorder);
        }
        self.flush_round(&mut recorder);
        // Each array is told of, also behind one that no open sweep wrote.
        let mut others = 0;
        for touch in touches.iter().filter(|_| is_fill && is_on_device) {
            others += usize::from(!OpenSweep::is_refilled(&mut recorder.open, &touch.tracker));
        }
        if !is_fill || !is_on_device || others > 0 {
            self.close_all(&mut recorder);
        }
        let trackers = || touches.iter().map(|touch| &touch.tracker);
        let fixed = fixed.filter(|_| touches.len() == 1);
        let holds = recorder.chain_of(trackers()).is_some() || (fixed.is_none() && recorder.fusing.holds(trackers()));
        if holds || recorder.has_in_chain(after) {
            let why = "works on its arrays, or needs its results";
            self.close_chain(&mut recorder, Ended::Beside { name, recorded, why });
        }
        let node = self.node(name, recorded, is_on_device, None);
        match is_fill {
            true => recorder.batch.fill(recorded),
            false => recorder.batch.other(recorded),
        }
        if is_fill && is_on_device {
            node.set_sure();
        }
        self.unfinished.add();
        node.set_work(work);
        if takes_memory {
            self.after_evictions(&node);
        }
        touches.iter().for_each(|touch| touch_all(&node, touch));
        for before in after {
            node.wait_for(before, Need::Value);
        }
        let held = fixed.is_some_and(|fixed| Core::hold_fill(&mut recorder, &node, touches, fixed));
        if !held && node.release() {
            self.start_node(node.clone());
        }
        node
    }

    /// Work that first brings its arrays to where it runs, and on the device has their ghosts filled, if it `reads`
    /// them.
    pub(super) fn with_arrays(
        self: &Arc<Core>,
        (name, recorded): (&'static str, &'static Location<'static>),
        touches: &[Touch],
        work: Work,
        reads: bool,
    ) -> Work {
        let (core, touches) = (self.clone(), touches.to_vec());
        match work {
            Work::Both(work) => Work::Both(Box::new(move || core.on_host(name, recorded, work))),
            Work::Host(work) => Work::Host(Box::new(move || {
                if core.device.is_some() {
                    core.bring_to_host(&touches)?;
                }
                core.on_host(name, recorded, work)
            })),
            Work::Device(work) => Work::Device(Box::new(move |queue| {
                let done = queue.enqueue(|| {
                    for touch in &touches {
                        for region in touch.regions() {
                            // SAFETY: the graph keeps all work that conflicts away until this node has finished.
                            unsafe { touch.tracker.to_device(queue, region, touch.moves())? };
                        }
                    }
                    if !reads {
                        return work(queue);
                    }
                    for touch in &touches {
                        touch.tracker.storage().materialize_ghosts(queue.device, queue.stream)?;
                    }
                    queue.put(name, recorded, || work(queue))
                })?;
                Ok(Box::new(move || {
                    let ended = done();
                    // The copies that brought these arrays use their memory until now.
                    drop(touches);
                    ended
                }))
            })),
            other @ (Work::Cells(_)
            | Work::Shared(_)
            | Work::Sends(_)
            | Work::Within(_)
            | Work::Strips(_)
            | Work::Split(_)) => other,
        }
    }
}

pub(super) fn touch_all(node: &Arc<Node>, touch: &Touch) {
    for (region, all) in touch.tracker.boxes().iter().enumerate() {
        if touch.region.is_none_or(|one| one == region) {
            let Touch { tracker, mode, .. } = touch;
            match mode {
                Mode::Move => tracker.add_move(region, node),
                _ => tracker.add(region, node, mode.reads().then_some(*all), mode.writes().then_some(*all)),
            }
        }
    }
}

pub(super) fn add_touches(node: &Arc<Node>, touches: &[BoxTouch]) {
    for touch in touches {
        touch.tracker.add(touch.region, node, touch.read, touch.write);
    }
}

/// The open sweep that a tile may join: the same kernel and arrays, no cell twice, and no conflict with a sweep
/// recorded later that it would overtake.
fn joinable<'a>(open: &'a mut [Box<OpenSweep>], tile: &TileWork<'_>) -> Option<&'a mut OpenSweep> {
    let (mut found, mut crossed) = (None, None);
    for (i, sweep) in open.iter().enumerate().rev() {
        // A part of a chain has only tiles that a chain can run, and so has what may run as one launch with others.
        let by_planes = sweep.work.turn.is_some().then_some(Kind::Planes);
        let open = sweep.work.faces.is_empty() && sweep.kind.or(by_planes).is_none_or(|kind| tile.can_chain(kind));
        let same = open && (Arc::ptr_eq(&sweep.key, &tile.key) || sweep.key == tile.key);
        if sweep.conflicts(tile.touches, tile.key.on_device, same) {
            return None;
        }
        if same {
            // Nothing overtakes a chain on its arrays, but for other parts of it.
            found = Some(i).filter(|_| crossed.is_none() || crossed == sweep.node.chain);
            break;
        }
        if sweep.node.chain.is_some() && sweep.shares(tile.touches) {
            crossed = sweep.node.chain;
        }
    }
    Some(&mut **open.get_mut(found?)?)
}
