//! Programs that repeat themselves run in rounds ([decision 0072](../../../docs/decisions/0072-rounds.md)).
//!
//! Once the same sweeps and fills of ghosts came twice, one after the other, what comes next is expected. As long as it
//! comes, it is held back without nodes; a whole round becomes one node, which touches what all of it touches. Its
//! launches are made once and put into the stream again each time (`run/round.rs`). What was held back of a round that
//! does not go on becomes nodes as if there were no rounds, before anything else is recorded or waited for.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use super::driver::{Core, Recorder, lock};
use super::fuse::{Fusing, HeldNode, Made, lie_whole};
use super::recording::{OPEN, TileWork, touch_all};
use super::repeat::{Known, Later};
use super::sweep::SweepKey;
use crate::grid::GridBox;
use crate::launch::prepare::Mix;
use crate::launch::step::{Launch, Together};
use crate::memory::node::{Node, Work};
use crate::memory::touched::RegionTouch;
use crate::memory::tracker::{BoxTouch, Mode, Touch, Tracker};
use crate::program::fuse::Pair;
use crate::program::period::Periods;
use crate::program::schedule::Scale;
use crate::run::op::{Op, Sweep};
use crate::run::round::{Piece, RoundArray, Tape};

/// A round of short periods has about so many sweeps and fills.
const LENGTH: usize = 96;

/// Rounds that may be under way.
const UNDER_WAY: usize = 8;

/// Rounds in a row that did not go on before no more are tried.
const BROKEN: u32 = 3;

/// Where the sweeps of a round touch arrays of more bytes, on average, launching them is the least.
const SMALL: usize = 96 << 20;

/// Boxes of a region that a round may touch.
const BOXES: usize = 16;

/// What stands for work that no round has.
const OTHER: u64 = 0;

/// What is known of how a program repeats itself.
#[derive(Default)]
pub(super) struct Rounds {
    periods: Periods,
    /// The search that found a period of which no rounds are made.
    refused: Option<u64>,
    round: Option<Round>,
}

/// Rounds of one period, or some of them.
struct Round {
    period: usize,
    /// As far as they came so far.
    parts: Vec<Part>,
    /// Parts of a round.
    length: usize,
    /// Those of this round that came.
    at: usize,
    /// This round did not go on: what comes runs by itself until the next period begins.
    skips: bool,
    /// What is held back.
    pending: Vec<HeldNode>,
    /// Finds the steps that may run as one launch, in the first two periods.
    steps: Fusing,
    seen: usize,
    /// Bytes of the arrays that the sweeps of the first period touch.
    bytes: usize,
    /// The values that are captured, and the launches, by number.
    captured: u64,
    changed: bool,
    plan: Option<Arc<Plan>>,
    arrays: Vec<Array>,
    tape: Arc<Tape>,
    under_way: VecDeque<Arc<Node>>,
    broken: u32,
}

/// For each launch: how many of what is held back are its, and how they run together.
type Plan = Vec<(usize, Option<(usize, Together)>)>;

enum Part {
    Tile(Box<TilePart>),
    Fill(Weak<Tracker>, bool),
}

struct TilePart {
    key: SweepKey,
    region: usize,
    cells: GridBox<4>,
    touches: SmallVec<[Touched; 4]>,
    turn: Option<Pair>,
    sweep: Known,
}

/// A [`BoxTouch`] of an array that may be gone.
struct Touched {
    tracker: Weak<Tracker>,
    of: (usize, Option<GridBox<4>>, Option<GridBox<4>>, bool, bool, Scale),
}

/// What a round touches of an array.
struct Array {
    tracker: Weak<Tracker>,
    regions: Vec<(usize, RegionTouch)>,
    filled: bool,
    /// Ghosts that some sweep leaves are filled next.
    refilled: bool,
}

fn of_touch(touch: &BoxTouch) -> (usize, Option<GridBox<4>>, Option<GridBox<4>>, bool, bool, Scale) {
    (touch.region, touch.read, touch.write, touch.keeps, touch.whole, touch.scale)
}

/// Whether a tracker that may be gone is this one. As long as someone knows it, no other has its address.
fn is(known: &Weak<Tracker>, tracker: &Arc<Tracker>) -> bool {
    std::ptr::eq(known.as_ptr(), Arc::as_ptr(tracker))
}

impl TileWork<'_> {
    /// A word for it; the same for a tile like it that has captured other values.
    fn word(&self) -> u64 {
        let mut hasher = Mix::default();
        let SweepKey { kernel, views, args, captures, .. } = &self.key;
        (kernel, views, args, captures.len(), self.region).hash(&mut hasher);
        (self.cells.lo, self.cells.hi).hash(&mut hasher);
        hasher.finish().max(OTHER + 1)
    }

    /// Whether a round may have it.
    fn may_repeat(&self) -> bool {
        let SweepKey { on_device, checked, order, colour, .. } = &self.key;
        let usual = *on_device && !checked && order.is_none() && colour.is_none();
        usual && self.pace.is_none() && self.after.is_empty() && self.runs_as_usual()
    }
}

impl TilePart {
    fn of(tile: &TileWork<'_>) -> TilePart {
        let touch = |touch: &BoxTouch| Touched { tracker: Arc::downgrade(&touch.tracker), of: of_touch(touch) };
        TilePart {
            key: tile.key.clone(),
            region: tile.region,
            cells: tile.cells,
            touches: tile.touches.iter().map(touch).collect(),
            turn: None,
            sweep: Known::new(),
        }
    }

    fn is_of(&self, tile: &TileWork<'_>) -> bool {
        let same =
            |(known, touch): (&Touched, &BoxTouch)| is(&known.tracker, &touch.tracker) && known.of == of_touch(touch);
        self.key.is_like(&tile.key)
            && (self.region, self.cells) == (tile.region, tile.cells)
            && self.touches.len() == tile.touches.len()
            && self.touches.iter().zip(tile.touches).all(same)
    }

    /// The sweep of a tile like it, and whether it has captured other values than the one before.
    fn sweep(&mut self, tile: &TileWork<'_>, launch: impl FnOnce() -> Arc<dyn Launch>) -> (Arc<Sweep>, bool) {
        let same = self.key.captures == tile.key.captures;
        let known = self.sweep.upgrade().filter(|_| same);
        if let Some(known) = known.as_ref().filter(|known| known.turn == self.turn) {
            return (known.clone(), false);
        }
        let mut sweep = Sweep::of(known.map_or_else(launch, |known| known.launch.clone()), &[]);
        sweep.add(tile.region, tile.cells, tile.touches);
        sweep.turn = self.turn;
        let sweep = Arc::new(sweep);
        self.sweep = Arc::downgrade(&sweep);
        if !same {
            self.key.captures = tile.key.captures.clone();
        }
        (sweep, !same)
    }
}

impl Round {
    fn new(period: usize) -> Round {
        Round {
            period,
            parts: Vec::with_capacity(period),
            length: period * (LENGTH / period).max(1),
            at: 0,
            skips: false,
            pending: Vec::new(),
            steps: Fusing::default(),
            seen: 0,
            bytes: 0,
            captured: 0,
            changed: false,
            plan: None,
            arrays: Vec::new(),
            tape: Arc::default(),
            under_way: VecDeque::new(),
            broken: 0,
        }
    }

    /// Where the next part is, and whether it came before.
    fn next(&self) -> (usize, bool) {
        let next = self.at % self.period;
        (next, next < self.parts.len())
    }

    /// The next part has run by itself.
    fn skip(&mut self) {
        self.at = (self.at + 1) % self.period;
        self.skips = self.at != 0;
    }

    /// Whether it is one of the first, when it is not known yet which steps run together.
    fn is_new(&self) -> bool {
        self.seen <= 2 * self.length
    }

    /// Whether sweeps are small, and would run one by one without rounds too: the first period has come.
    fn pays(&self, joins: bool) -> bool {
        let tiles = self.parts.iter().filter_map(|part| match part {
            Part::Tile(part) => Some(part),
            Part::Fill(..) => None,
        });
        let tiles: Vec<&TilePart> = tiles.map(|part| &**part).collect();
        // Tiles of one loop are one sweep.
        let merge = |(n, part): (usize, &&TilePart)| {
            let others = tiles.iter().skip(n + 1).take(OPEN);
            others.into_iter().any(|other| other.key == part.key && other.cells != part.cells)
        };
        let small = self.bytes / tiles.len().max(1) <= SMALL;
        small && !tiles.iter().enumerate().any(merge) && !(joins && self.may_join())
    }

    /// Whether some sweep reads what the one before it reads, over the same boxes, and neither writes what the other
    /// one touches: by themselves they may run as one.
    fn may_join(&self) -> bool {
        let joins = |pair: &[HeldNode]| {
            let [Op::Sweep(before), Op::Sweep(sweep)] = [&pair[0].op, &pair[1].op] else { return false };
            let both = || sweep.arrays.iter().filter_map(|array| Some((array, before.array(&array.tracker)?)));
            let apart = both().all(|(array, old)| !array.write && !old.write);
            before.turn.or(sweep.turn).is_none() && before.boxes == sweep.boxes && apart && both().next().is_some()
        };
        self.pending.windows(2).any(joins)
    }

    /// What is touched by what is held back; nothing if that is too many boxes.
    fn touched(&self) -> Option<Vec<Array>> {
        let mut arrays: Vec<Array> = Vec::new();
        fn of<'a>(arrays: &'a mut Vec<Array>, tracker: &Arc<Tracker>) -> &'a mut Array {
            let place = arrays.iter().position(|known| is(&known.tracker, tracker)).unwrap_or_else(|| {
                let tracker = Arc::downgrade(tracker);
                arrays.push(Array { tracker, regions: Vec::new(), filled: false, refilled: false });
                arrays.len() - 1
            });
            &mut arrays[place]
        }
        for held in &self.pending {
            match &held.op {
                Op::Sweep(sweep) | Op::Fold(sweep, _) => {
                    for array in &sweep.arrays {
                        let known = of(&mut arrays, &array.tracker);
                        array.regions.iter().for_each(|(region, touch)| known.add(*region, touch));
                        let storage = array.tracker.storage();
                        known.refilled |= sweep.refilled.iter().any(|other| Arc::ptr_eq(other, storage));
                    }
                }
                Op::Fill { tracker, .. } => {
                    let known = of(&mut arrays, tracker);
                    known.filled = true;
                    for (region, all) in tracker.boxes().iter().enumerate() {
                        let mut touch = RegionTouch::default();
                        touch.read.add(*all);
                        touch.write.add(*all);
                        known.add(region, &touch);
                    }
                }
            }
        }
        let few = |(_, touch): &(usize, RegionTouch)| touch.read.boxes().len().max(touch.write.boxes().len()) <= BOXES;
        arrays.iter().all(|array| array.regions.iter().all(few)).then_some(arrays)
    }
}

impl Array {
    /// Adds what is touched next: what was written before is no more read from outside.
    fn add(&mut self, region: usize, touch: &RegionTouch) {
        let place = self.regions.iter().position(|(known, _)| *known == region).unwrap_or_else(|| {
            self.regions.push((region, RegionTouch::default()));
            self.regions.len() - 1
        });
        let known = &mut self.regions[place].1;
        if !known.write.covers(&touch.read) {
            touch.read.boxes().iter().for_each(|cells| known.read.add(*cells));
        }
        touch.write.boxes().iter().for_each(|cells| known.write.add(*cells));
    }
}

impl Rounds {
    /// Whether nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.round.as_ref().is_none_or(|round| round.pending.is_empty())
    }

    /// Adds a word. Gives the period that ends with it, and whether it is what comes next if the words repeat.
    fn add(&mut self, word: u64) -> (Option<usize>, bool) {
        let before = self.periods.searches();
        let period = self.periods.add(word);
        (period, self.periods.searches() == before)
    }

    /// No round goes on with what comes now. Begins rounds with what comes next, if a period ends here.
    fn begin(&mut self, period: Option<usize>) {
        self.round = None;
        let refused = self.refused == Some(self.periods.searches());
        if let Some(period) = period.filter(|period| !refused && !self.periods.has(*period, OTHER)) {
            self.round = Some(Round::new(period));
        }
    }

    /// Makes no more rounds of this period.
    fn refuse(&mut self) {
        self.refused = Some(self.periods.searches());
        self.round = None;
    }
}

impl Core {
    /// Whether programs may run in rounds.
    fn makes_rounds(&self) -> bool {
        let no_trials = self.device.as_ref().is_some_and(|device| !device.asked.tune);
        self.rules.rounds && no_trials && self.timeline.is_none() && !self.is_place
    }

    /// Holds a tile back, if a round expects it; else gives back what makes its kernel. Gives a node to wait for, if
    /// too many rounds are under way.
    pub(super) fn round_tile<F: FnOnce() -> Arc<dyn Launch>>(
        self: &Arc<Core>,
        recorder: &mut Recorder,
        tile: &TileWork<'_>,
        launch: F,
    ) -> Result<Option<Arc<Node>>, F> {
        if !self.makes_rounds() {
            return Err(launch);
        }
        let usual = tile.may_repeat() && recorder.chain.is_none();
        let word = if usual { tile.word() } else { OTHER };
        let (period, repeats) = recorder.rounds.add(word);
        let expected = recorder.rounds.round.as_ref().is_some_and(|round| {
            let (next, came) = round.next();
            usual && repeats && (!came || matches!(&round.parts[next], Part::Tile(part) if part.is_of(tile)))
        });
        if !expected {
            self.break_round(recorder);
            recorder.rounds.begin(period);
            return Err(launch);
        }
        if !self.begins(recorder) {
            return Err(launch);
        }
        let Some(mut round) = recorder.rounds.round.take() else { return Err(launch) };
        let (next, came) = round.next();
        if !came {
            round.parts.push(Part::Tile(Box::new(TilePart::of(tile))));
        }
        let learns = round.seen < 2 * round.period;
        let Some(Part::Tile(part)) = round.parts.get_mut(next) else {
            recorder.rounds.round = Some(round);
            return Err(launch);
        };
        let mut several = false;
        if learns && self.fuses() {
            let turn = round.steps.next(tile).filter(|_| lie_whole(tile.touches));
            // Kernels that take turns run together by themselves.
            several = turn.is_some_and(|turn| turn.cycle.kernels > 1);
            part.turn = turn;
        }
        let (sweep, changed) = part.sweep(tile, launch);
        if learns && self.fuses() {
            round.steps.opened(tile, &*sweep.launch, round.seen as u64);
        }
        round.changed |= changed;
        let bytes = tile.touches.iter().map(|touch| touch.tracker.storage().device_bytes());
        round.bytes += if round.seen < round.period { bytes.sum() } else { 0 };
        let refused = several || !sweep.launch.is_sure();
        let later = Later { name: tile.name, recorded: tile.recorded, work: None };
        round.pending.push(HeldNode { made: Made::Later(later), op: Op::Sweep(sweep) });
        recorder.rounds.round = Some(round);
        if refused {
            self.break_round(recorder);
            recorder.rounds.refuse();
            return Ok(None);
        }
        Ok(self.goes_on(recorder))
    }

    /// Holds a fill of ghosts back, if a round expects it; else gives back what it does.
    pub(super) fn round_fill(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        fixed: bool,
        work: Work,
    ) -> Option<Work> {
        if !self.makes_rounds() {
            return Some(work);
        }
        let mut recorder = lock(&self.recorder);
        let one = match touches {
            [touch] if recorder.chain.is_none() && touch.region.is_none() => Some(&touch.tracker),
            _ => None,
        };
        let word = one.map_or(OTHER, |tracker| {
            let mut hasher = Mix::default();
            (Arc::as_ptr(tracker) as usize, fixed, "fill").hash(&mut hasher);
            hasher.finish().max(OTHER + 1)
        });
        let (period, repeats) = recorder.rounds.add(word);
        let expected = recorder.rounds.round.as_ref().map(|round| {
            let (next, came) = round.next();
            let is_it = |tracker| match round.parts.get(next) {
                Some(Part::Fill(known, known_fixed)) => is(known, tracker) && *known_fixed == fixed,
                Some(Part::Tile(_)) => false,
                None => true,
            };
            // A round does not begin with a fill: the sweep before would not know that it is followed by one.
            (repeats && one.is_some_and(is_it), !came && next == 0)
        });
        let tracker = match (expected, one) {
            (Some((true, true)), _) => return Some(work),
            (Some((true, false)), Some(tracker)) => tracker,
            _ => {
                self.break_round(&mut recorder);
                recorder.rounds.begin(period);
                return Some(work);
            }
        };
        if !self.begins(&mut recorder) {
            return Some(work);
        }
        recorder.count += 1;
        let work = self.with_arrays(("fill_ghosts", recorded), touches, work, false);
        let later = Later { name: "fill_ghosts", recorded, work: Some(work) };
        let op = Op::Fill { tracker: tracker.clone(), fixed };
        if let Some(round) = &mut recorder.rounds.round {
            round.is_filled(tracker);
            if !round.next().1 {
                round.parts.push(Part::Fill(Arc::downgrade(tracker), fixed));
            }
            round.pending.push(HeldNode { made: Made::Later(later), op });
        }
        let ahead = self.goes_on(&mut recorder);
        drop(recorder);
        ahead.iter().for_each(|node| self.wait_for_end(node));
        None
    }

    /// Work is recorded that no round has.
    pub(super) fn round_ends(self: &Arc<Core>, recorder: &mut Recorder) {
        if self.makes_rounds() {
            self.break_round(recorder);
            recorder.rounds.add(OTHER);
            recorder.rounds.begin(None);
        }
    }

    /// Whether the next part is held back: else it runs by itself. Before the first one, all that is open is started.
    fn begins(self: &Arc<Core>, recorder: &mut Recorder) -> bool {
        let full = self.unfinished.is_full();
        let Some(round) = &mut recorder.rounds.round else { return false };
        if round.skips || (full && round.pending.is_empty()) {
            round.skip();
            return false;
        }
        if round.pending.is_empty() {
            self.close_all(recorder);
            self.start_held(recorder, true);
            recorder.fusing.forget();
            self.wake_driver(recorder);
        }
        true
    }

    /// A part was added: the round may be whole. Gives a node to wait for, if too many are under way.
    fn goes_on(self: &Arc<Core>, recorder: &mut Recorder) -> Option<Arc<Node>> {
        let round = recorder.rounds.round.as_mut()?;
        (round.at, round.seen) = (round.at + 1, round.seen + 1);
        if round.seen == round.period && !round.pays(self.rules.joins) {
            self.break_round(recorder);
            recorder.rounds.refuse();
            return None;
        }
        if round.at < round.length {
            return None;
        }
        round.at = 0;
        if round.is_new() {
            match round.touched() {
                Some(arrays) => round.arrays = arrays,
                None => {
                    self.break_round(recorder);
                    recorder.rounds.refuse();
                    return None;
                }
            }
        }
        let mut before = Vec::new();
        for array in &round.arrays {
            let Some(tracker) = array.tracker.upgrade() else { continue };
            array.regions.iter().for_each(|(region, _)| tracker.pending(Some(*region), false, &mut before));
        }
        // What fails before it would fail all of it, also what does not need that.
        if before.iter().any(|node| !node.is_sure()) {
            self.break_round(recorder);
            return None;
        }
        self.start_round(recorder)
    }

    /// Makes a node of a whole round.
    fn start_round(self: &Arc<Core>, recorder: &mut Recorder) -> Option<Arc<Node>> {
        let round = recorder.rounds.round.as_mut()?;
        let pending = std::mem::replace(&mut round.pending, Vec::with_capacity(round.length));
        let Some(HeldNode { made: Made::Later(Later { name, recorded, .. }), .. }) = pending.first() else {
            return None;
        };
        let plan = match round.plan.clone().filter(|_| !(round.changed || round.is_new())) {
            Some(plan) => plan,
            None => {
                let (groups, _, known) = self.groups(&pending, true);
                let shape = |(count, group): (usize, Option<_>)| (count, group.map(|group| Self::shape(&group)));
                let plan = Arc::new(groups.into_iter().map(shape).collect::<Plan>());
                round.plan = known.then(|| plan.clone());
                (round.captured, round.changed) = (round.captured + 1, false);
                plan
            }
        };
        let node = Node::new(name, recorded, true, None);
        node.set_sure();
        self.unfinished.add();
        self.after_evictions(&node);
        let mut arrays = Vec::with_capacity(round.arrays.len());
        for Array { tracker, regions, filled, refilled } in &round.arrays {
            // What is held back has it.
            let Some(tracker) = tracker.upgrade() else { continue };
            let mut modes = Vec::with_capacity(regions.len());
            for (region, touch) in regions {
                let (read, write) = (touch.read.boxes(), touch.write.boxes());
                for n in 0..read.len().max(write.len()) {
                    tracker.add(*region, &node, read.get(n).copied(), write.get(n).copied());
                }
                modes.push((*region, if touch.writes() { Mode::Update } else { Mode::Read }));
            }
            // It waits for those who read the ghosts too: see `OpenSweep::is_refilled`.
            if *refilled {
                touch_all(&node, &Touch::new(&tracker, None, Mode::Move));
            }
            arrays.push(RoundArray { tracker, regions: modes, filled: *filled });
        }
        self.residents.use_now(&arrays.iter().map(|array| &array.tracker).collect::<Vec<_>>());
        let (tape, captured) = (round.tape.clone(), round.captured);
        node.set_work(Work::Device(Box::new(move |queue| {
            // SAFETY: the graph keeps all work that conflicts away until this node has finished.
            unsafe { tape.put(queue, captured, arrays, move || pieces(pending, &plan)) }
        })));
        round.broken = 0;
        round.under_way.retain(|node| !node.is_finished());
        round.under_way.push_back(node.clone());
        let ahead = (round.under_way.len() > UNDER_WAY).then(|| round.under_way[0].clone());
        if node.release() {
            self.start_node(node);
        }
        ahead
    }

    /// What is held back of a round does not wait for the rest of it.
    pub(super) fn break_round(self: &Arc<Core>, recorder: &mut Recorder) {
        let Some(round) = recorder.rounds.round.as_mut().filter(|round| !round.pending.is_empty()) else { return };
        let pending = std::mem::take(&mut round.pending);
        round.at %= round.period;
        round.skips = round.at != 0;
        round.broken += 1;
        if round.seen < 2 * round.period {
            (round.seen, round.bytes, round.steps) = (0, 0, Fusing::default());
        }
        if round.broken >= BROKEN {
            recorder.rounds.refuse();
        }
        recorder.fusing.held.extend(pending);
        recorder.follows_last(None);
        let mut held = std::mem::take(&mut recorder.fusing.held);
        for one in &mut held {
            self.made(one);
        }
        recorder.fusing.held = held;
        self.start_held(recorder, true);
    }
}

impl Round {
    /// The ghosts of an array are filled after what was held back last.
    fn is_filled(&mut self, tracker: &Arc<Tracker>) {
        let before = (self.at + self.period - 1) % self.period;
        let Some(HeldNode { op: Op::Sweep(sweep), .. }) = self.pending.last_mut() else { return };
        let known = sweep.refilled.first().is_some_and(|storage| Arc::ptr_eq(storage, tracker.storage()));
        if known || !sweep.array(tracker).is_some_and(|array| array.write) {
            return;
        }
        let changed = Arc::new(sweep.with_filled(Some(tracker)));
        if let Some(Part::Tile(part)) = self.parts.get_mut(before) {
            part.sweep = Arc::downgrade(&changed);
        }
        *sweep = changed;
    }
}

/// What the launches of a round are made of.
fn pieces(pending: Vec<HeldNode>, plan: &Plan) -> Vec<Piece> {
    let (mut pieces, mut held) = (Vec::with_capacity(plan.len()), pending.into_iter());
    for (count, group) in plan {
        let mut all = held.by_ref().take(*count);
        let Some(HeldNode { made: Made::Later(later), op }) = all.next() else { continue };
        match op {
            Op::Sweep(sweep) => {
                let steps = group.map(|(region, together)| {
                    let others = all.by_ref().filter_map(|held| held.op.kernel().map(|sweep| sweep.launch.clone()));
                    let launches = std::iter::once(sweep.launch.clone()).chain(others);
                    (region, together, launches.take(together.kernels.max(together.steps as usize)).collect())
                });
                let Later { name, recorded, .. } = later;
                pieces.push(Piece::Sweep { sweep, name, recorded, steps });
            }
            Op::Fill { .. } => pieces.extend(later.work.and_then(|work| match work {
                Work::Device(fill) => Some(Piece::Fill(fill)),
                _ => None,
            })),
            Op::Fold(..) => {}
        }
        all.for_each(drop);
    }
    pieces
}
