//! Programs that repeat themselves run in rounds (decisions [0072](../../../docs/decisions/0072-rounds.md) and
//! [0079](../../../docs/decisions/0079-one-mechanism.md)).
//!
//! Once the same work came twice, one time after the other, what comes next is expected. As long as it comes, sweeps
//! and fills of ghosts are held back without nodes; a stretch of them becomes one node, which touches what all of it
//! touches. Its launches are made once and put into the stream again when the same stretch comes again
//! (`run/round.rs`). So does what is held back when anything else is recorded or waited for, however short it is.

mod cuts;
mod parts;

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::{Arc, MutexGuard, Weak};

use self::cuts::{Array, Cut, touched};
use self::parts::{OTHER, Part, TilePart, is, pays, word_of_fill};
use super::driver::{Core, Recorder, lock};
use super::fuse::{Fuses, Fusing, HeldNode, lie_whole};
use super::recording::{GiveLaunch, TileWork, touch_all};
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{Mode, Touch, Tracker};
use crate::program::period::Periods;
use crate::run::op::{Op, Sweep};

/// A round of short periods has about so many sweeps and fills.
const LENGTH: usize = 96;

/// The first one after a wait has about so many, and each later one twice as many, so that work starts early.
const FIRST: usize = 24;

/// Rounds that may be under way.
const UNDER_WAY: usize = 8;

/// Loops that are remembered.
const KNOWN: usize = 4;

/// Stretches of a loop that are remembered.
const CUTS: usize = 16;

/// What is known of how a program repeats itself.
#[derive(Default)]
pub(super) struct Rounds {
    periods: Periods,
    /// The loop that goes on.
    now: Option<Box<Loop>>,
    /// Loops that did.
    known: Vec<Loop>,
    under_way: VecDeque<Arc<Node>>,
}

/// What repeats itself.
#[derive(Default)]
struct Loop {
    /// One period, and its parts as far as they came so far.
    words: Vec<u64>,
    parts: Vec<Part>,
    /// The arrays of these parts, each once.
    arrays: Vec<Weak<Tracker>>,
    /// Where in the period the next part is, and how many came.
    at: usize,
    seen: usize,
    /// It does not pay.
    refused: bool,
    /// What is held back, and how much of it is enough to start with.
    pending: Vec<Pending>,
    goal: usize,
    /// Finds the steps that may run as one launch, in the second and third period.
    steps: Fusing,
    /// Bytes of the arrays that the sweeps of the first period touch.
    bytes: usize,
    cuts: Vec<Arc<Cut>>,
}

/// What is held back.
struct Pending {
    name: &'static str,
    recorded: &'static Location<'static>,
    /// The values that its kernel has captured, by number: others have another one.
    captured: u64,
    op: Op,
}

impl Sweep {
    /// The same, with the ghosts of this array filled next, or of none.
    fn with_filled(&self, filled: Option<&Arc<Tracker>>) -> Sweep {
        let refilled = filled.map(|tracker| tracker.storage().clone()).into_iter().collect();
        let (launch, boxes, arrays) = (self.launch.clone(), self.boxes.clone(), self.arrays.clone());
        let of = Sweep::of(launch, &[]);
        Sweep { boxes, arrays, turn: self.turn, refilled, ..of }
    }
}

impl Loop {
    fn new(words: Vec<u64>) -> Loop {
        let mut made = Loop { words, ..Loop::default() };
        made.starts_anew();
        made
    }

    /// Parts of a period.
    fn period(&self) -> usize {
        self.words.len()
    }

    /// So many parts are held back at least: whole periods, if they are short.
    fn periods(&self, parts: usize) -> usize {
        self.period() * (parts / self.period()).max(1)
    }

    /// Work starts early again.
    fn starts_anew(&mut self) {
        self.goal = self.periods(FIRST);
    }

    /// The next part, if it came before.
    fn next(&self) -> Option<&Part> {
        self.parts.get(self.at)
    }

    /// The next part has come.
    fn came(&mut self) {
        (self.at, self.seen) = ((self.at + 1) % self.period(), self.seen + 1);
    }

    /// Whether it is known what it is made of. Its first period runs as if there were no rounds.
    fn is_known(&self) -> bool {
        self.seen >= self.period()
    }

    /// Whether it is not known yet which steps run together: a step is found by the one before it.
    fn learns(&self) -> bool {
        self.seen < 3 * self.period()
    }

    /// What comes for the first time.
    fn learn<'a>(&mut self, part: impl FnOnce() -> Part, arrays: impl Iterator<Item = &'a Arc<Tracker>>) {
        if self.next().is_some() {
            return;
        }
        let part = part();
        for tracker in arrays {
            if part.tile().is_some() {
                self.bytes += tracker.storage().device_bytes();
            }
            if !self.arrays.iter().any(|known| is(known, tracker)) {
                self.arrays.push(Arc::downgrade(tracker));
            }
        }
        self.parts.push(part);
    }

    /// Whether all arrays have their room on the device.
    fn has_room(&self) -> bool {
        self.arrays.iter().all(|array| array.upgrade().is_none_or(|tracker| tracker.storage().is_reserved()))
    }

    /// Holds a tile back. Says whether its kernel takes turns with others: these run together by themselves.
    fn hold(&mut self, tile: &TileWork<'_>, launch: GiveLaunch<'_>, fuses: Fuses) -> bool {
        let learns = self.learns() && fuses.some();
        let Some(Part::Tile(part)) = self.parts.get_mut(self.at) else { return false };
        let (sweep, captured) = part.sweep(tile, launch);
        if learns {
            self.steps.opened(tile, &*sweep.launch, self.seen as u64, fuses.most());
        }
        let (turn, op) = (sweep.turn, Op::Sweep(sweep));
        self.pending.push(Pending { name: tile.name, recorded: tile.recorded, captured, op });
        turn.is_some_and(|turn| turn.cycle.kernels > 1)
    }

    /// The ghosts of an array are filled after what was held back last.
    fn is_filled(&mut self, tracker: &Arc<Tracker>) {
        let before = (self.at + self.period() - 1) % self.period();
        let Some(Pending { op: Op::Sweep(sweep), .. }) = self.pending.last_mut() else { return };
        let known = sweep.refilled.first().is_some_and(|storage| Arc::ptr_eq(storage, tracker.storage()));
        if known || !sweep.array(tracker).is_some_and(|array| array.write) {
            return;
        }
        *sweep = Arc::new(sweep.with_filled(Some(tracker)));
        if let Some(Part::Tile(part)) = self.parts.get_mut(before) {
            part.is_now(sweep);
        }
    }

    /// Holds the fill of an array's ghosts back.
    fn hold_fill(&mut self, recorded: &'static Location<'static>, tracker: &Arc<Tracker>, fixed: bool) {
        self.is_filled(tracker);
        let op = Op::Fill { tracker: tracker.clone(), fixed };
        self.pending.push(Pending { name: "fill_ghosts", recorded, captured: 0, op });
    }

    /// No fill of ghosts follows what was held back last.
    fn ends(&mut self) {
        if let Some(Pending { op: Op::Sweep(sweep), .. }) = self.pending.last_mut()
            && !sweep.refilled.is_empty()
        {
            *sweep = Arc::new(sweep.with_filled(None));
        }
    }

    /// How what is held back runs: to the end, or as much of it as steps run together. Nothing if it runs by itself.
    fn cut(&mut self, core: &Core, all: bool) -> Option<Arc<Cut>> {
        let held = self.pending.len();
        let of = ((self.at + self.period() - held % self.period()) % self.period(), held, all);
        let known = self.cuts.iter().position(|cut| cut.of == of).map(|known| self.cuts.remove(known));
        let (cut, compiled) = match known.filter(|cut| cut.is_of(&self.pending)) {
            Some(cut) => (cut, true),
            None => {
                let (made, compiled) = Cut::new(core, of, &self.pending)?;
                // What came in the second period may not know yet which steps it runs with.
                (Arc::new(made), compiled && self.seen >= 2 * self.period() + held)
            }
        };
        if compiled {
            if self.cuts.len() >= CUTS {
                // It was not used for longest.
                self.cuts.remove(0);
            }
            self.cuts.push(cut.clone());
        }
        Some(cut)
    }
}

impl Rounds {
    /// Whether nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.now.as_ref().is_none_or(|now| now.pending.is_empty())
    }

    /// The loop no more goes on.
    fn end(&mut self) {
        let Some(now) = self.now.take().filter(|now| now.refused || !now.learns()) else { return };
        if self.known.len() >= KNOWN {
            self.known.remove(0);
        }
        self.known.push(*now);
    }

    /// A period ends here, which may be that of a loop that is known.
    fn begin(&mut self, period: usize) {
        let last = self.periods.last(period);
        let turned = |words: &[u64]| {
            let from =
                |from: &usize| words[*from..] == last[..period - from] && words[..*from] == last[period - from..];
            (words.len() == period).then(|| (0..period).find(from)).flatten()
        };
        let mut known = self.known.iter().enumerate();
        let Some((number, at)) = known.find_map(|(number, known)| Some((number, turned(&known.words)?))) else {
            self.now = last.iter().any(|word| *word != OTHER).then(|| Box::new(Loop::new(last.to_vec())));
            return;
        };
        if !self.known[number].refused {
            let mut known = self.known.remove(number);
            known.at = at;
            known.steps.forget();
            known.starts_anew();
            self.now = Some(Box::new(known));
        }
    }
}

impl Core {
    /// Whether programs may run in rounds.
    fn makes_rounds(&self) -> bool {
        let no_trials = self.device.as_ref().is_some_and(|device| !device.asked.tune);
        self.rules.rounds && no_trials && self.timeline.is_none() && !self.rules.is_place
    }

    /// The recorder, with room for a node of a round if one may begin.
    pub(super) fn with_room_for_rounds(self: &Arc<Core>) -> MutexGuard<'_, Recorder> {
        let recorder = lock(&self.recorder);
        if recorder.rounds.now.is_none() || !recorder.rounds.is_empty() || !self.unfinished.is_full() {
            return recorder;
        }
        drop(recorder);
        self.wait_for_room();
        lock(&self.recorder)
    }

    /// Work of this word comes. Gives the loop that expects it, if one does; else what is held back starts.
    fn expects<'a>(
        self: &Arc<Core>,
        recorder: &'a mut Recorder,
        word: u64,
        is_it: impl FnOnce(&Part) -> bool,
    ) -> Option<&'a mut Loop> {
        let searches = recorder.rounds.periods.searches();
        let period = recorder.rounds.periods.add(word);
        let foreseen = recorder.rounds.periods.searches() == searches;
        let other = recorder.rounds.now.as_ref().is_some_and(|now| !now.next().is_none_or(is_it));
        if foreseen && !other && recorder.rounds.now.is_some() {
            return recorder.rounds.now.as_deref_mut();
        }
        self.flush_round(recorder);
        match foreseen && other {
            // It is not what it was.
            true => recorder.rounds.now = None,
            false => recorder.rounds.end(),
        }
        if let Some(period) = period {
            recorder.rounds.begin(period);
        }
        None
    }

    /// Holds a tile back, if a loop expects it, and gives a node to wait for, if too many rounds are under way.
    pub(super) fn round_tile(
        self: &Arc<Core>,
        recorder: &mut Recorder,
        tile: &TileWork<'_>,
        launch: GiveLaunch<'_>,
    ) -> Option<Option<Arc<Node>>> {
        if !self.makes_rounds() {
            return None;
        }
        let usual = tile.may_repeat() && recorder.chain.is_none();
        let word = if usual { tile.word() } else { OTHER };
        let is_it = |part: &Part| match part {
            Part::Tile(part) => usual && part.is_of(tile),
            Part::Other => !usual,
            Part::Fill(..) => false,
        };
        let now = self.expects(recorder, word, is_it)?;
        let arrays = tile.touches.iter().map(|touch| &touch.tracker).filter(|_| usual);
        now.learn(|| if usual { Part::Tile(Box::new(TilePart::of(tile))) } else { Part::Other }, arrays);
        let holds = usual && now.is_known();
        if now.learns() && holds && self.fuses().some() {
            let turn = now.steps.next(tile).filter(|_| lie_whole(tile.touches));
            if let Some(Part::Tile(part)) = now.parts.get_mut(now.at) {
                part.turn = turn;
            }
        }
        let turn = now.next().and_then(Part::tile).and_then(|part| part.turn);
        // What comes next may have its work done by this sweep, if it is no step.
        let last = turn.is_none() && recorder.rounds.periods.expected() == Some(OTHER);
        if !holds || last || !self.begins(recorder) {
            self.passes(recorder);
            return None;
        }
        let now = recorder.rounds.now.as_mut()?;
        if now.hold(tile, launch, self.fuses()) {
            now.refused = true;
        }
        recorder.batch.sweep(tile.recorded);
        Some(self.came(recorder))
    }

    /// Whether a fill of ghosts is held back, since a loop expects it.
    pub(super) fn round_fill(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        fills: &[(Arc<Tracker>, bool)],
    ) -> bool {
        if !self.makes_rounds() {
            return false;
        }
        let mut recorder = self.with_room_for_rounds();
        let one = match fills {
            [fill] if recorder.chain.is_none() => Some(fill),
            _ => None,
        };
        let word = one.map_or(OTHER, |(tracker, fixed)| word_of_fill(tracker, *fixed));
        let is_it = |part: &Part| match part {
            Part::Fill(known, of) => one.is_some_and(|(tracker, fixed)| of == fixed && is(known, tracker)),
            Part::Other => one.is_none(),
            Part::Tile(_) => false,
        };
        let Some(now) = self.expects(&mut recorder, word, is_it) else { return false };
        let part = || one.map_or(Part::Other, |(tracker, fixed)| Part::Fill(Arc::downgrade(tracker), *fixed));
        now.learn(part, one.map(|(tracker, _)| tracker).into_iter());
        // A round does not begin with a fill: the sweep before would not know that it is followed by one.
        let Some((tracker, fixed)) = one.filter(|_| !now.pending.is_empty()) else {
            self.passes(&mut recorder);
            return false;
        };
        now.hold_fill(recorded, tracker, *fixed);
        self.fill_came(recorder, recorded);
        true
    }

    /// The same of the fill of one array by itself, before anything is made for it. Nothing is said of fills that are
    /// not held back.
    pub fn repeats_fill(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        tracker: &Arc<Tracker>,
        fixed: bool,
    ) -> bool {
        let mut recorder = lock(&self.recorder);
        let Rounds { periods, now: Some(now), .. } = &mut recorder.rounds else { return false };
        let follows = match now.pending.last() {
            // Then it is on the device.
            Some(Pending { op: Op::Sweep(sweep), .. }) => sweep.array(tracker).is_some_and(|array| array.write),
            _ => false,
        };
        let is_next = follows
            && matches!(now.next(), Some(Part::Fill(known, known_fixed)) if is(known, tracker) && *known_fixed == fixed);
        let word = word_of_fill(tracker, fixed);
        if !is_next || periods.expected() != Some(word) {
            return false;
        }
        periods.add(word);
        now.hold_fill(recorded, tracker, fixed);
        self.fill_came(recorder, recorded);
        true
    }

    /// A fill was held back.
    fn fill_came(self: &Arc<Core>, mut recorder: MutexGuard<'_, Recorder>, recorded: &'static Location<'static>) {
        recorder.count += 1;
        recorder.batch.fill(recorded);
        let ahead = self.came(&mut recorder);
        drop(recorder);
        ahead.iter().for_each(|node| self.wait_for_end(node));
    }

    /// Work is recorded that no round has.
    pub(super) fn round_other(self: &Arc<Core>, recorder: &mut Recorder) {
        if self.makes_rounds()
            && let Some(now) = self.expects(recorder, OTHER, |part| matches!(part, Part::Other))
        {
            now.learn(|| Part::Other, std::iter::empty());
            self.passes(recorder);
        }
    }

    /// What is expected comes, and is not held back.
    fn passes(self: &Arc<Core>, recorder: &mut Recorder) {
        self.flush_round(recorder);
        if let Some(now) = &mut recorder.rounds.now {
            now.steps.forget();
            now.came();
        }
        self.pays(recorder);
    }

    /// Whether the next part is held back: else it runs by itself. Before the first one, all that is open is started.
    fn begins(self: &Arc<Core>, recorder: &mut Recorder) -> bool {
        match &recorder.rounds.now {
            // Nothing that is held back changes who has room.
            Some(now) if !now.pending.is_empty() => return true,
            Some(now) if now.has_room() => {}
            _ => return false,
        }
        self.close_all(recorder);
        self.start_some(recorder, true);
        recorder.fusing.forget();
        self.wake_driver(recorder);
        true
    }

    /// Makes no more rounds of a loop that does not pay.
    fn pays(self: &Arc<Core>, recorder: &mut Recorder) {
        let Some(now) = recorder.rounds.now.as_mut() else { return };
        now.refused |= now.seen == now.period() && !pays(&now.parts, now.bytes, self.rules.joins);
        if now.refused {
            self.flush_round(recorder);
            recorder.rounds.end();
        }
    }

    /// A part was held back: that may be enough. Gives a node to wait for, if too many are under way.
    fn came(self: &Arc<Core>, recorder: &mut Recorder) -> Option<Arc<Node>> {
        recorder.rounds.now.as_mut()?.came();
        self.pays(recorder);
        let now = recorder.rounds.now.as_mut()?;
        // A sweep knows which ghosts are filled next.
        if now.pending.len() < now.goal || matches!(now.next(), Some(Part::Fill(..))) {
            return None;
        }
        self.put_round(recorder, false);
        let Rounds { under_way, .. } = &mut recorder.rounds;
        under_way.retain(|node| !node.is_finished());
        (under_way.len() > UNDER_WAY).then(|| under_way[0].clone())
    }

    /// What is held back does not wait for more.
    pub(super) fn flush_round(self: &Arc<Core>, recorder: &mut Recorder) {
        if !recorder.rounds.is_empty() {
            self.put_round(recorder, true);
        }
    }

    /// Makes a node of what is held back: of all of it, or of as much as steps run together.
    fn put_round(self: &Arc<Core>, recorder: &mut Recorder, all: bool) {
        let Some(mut now) = recorder.rounds.now.take() else { return };
        if all {
            now.ends();
        }
        match now.cut(self, all).filter(|_| !now.refused) {
            Some(cut) if cut.runs == 0 => now.goal += now.periods(LENGTH),
            Some(cut) if self.is_sure(&cut) => {
                let rest = now.pending.split_off(cut.runs);
                let pending = std::mem::replace(&mut now.pending, rest);
                let lines = [&pending[0], &pending[pending.len() - 1]].map(|one| one.recorded);
                recorder.batch.starts(cut.shares(&pending), lines);
                recorder.rounds.under_way.extend(self.start_round(&cut, pending));
                now.goal = (2 * now.goal).min(now.periods(LENGTH));
            }
            _ => {
                let held = std::mem::take(&mut now.pending).into_iter().map(|one| self.made(one));
                recorder.fusing.held.extend(held);
                self.start_some(recorder, true);
            }
        }
        if all {
            recorder.batch.no_more();
            now.starts_anew();
        }
        recorder.rounds.now = Some(now);
    }

    /// Whether nothing that a round waits for can fail: that would fail all of it, also what does not need it.
    fn is_sure(&self, cut: &Cut) -> bool {
        let mut before = Vec::new();
        for array in &cut.arrays {
            let Some(tracker) = array.tracker.upgrade() else { continue };
            array.regions.iter().for_each(|(region, _)| tracker.pending(Some(*region), false, &mut before));
        }
        before.iter().all(|node| node.is_sure())
    }

    /// Makes a node of a round.
    fn start_round(self: &Arc<Core>, cut: &Cut, pending: Vec<Pending>) -> Option<Arc<Node>> {
        let node = self.sure(pending.first()?, &cut.arrays);
        let (tape, arrays, pieces) = (cut.tape.clone(), cut.touched(), cut.pieces(pending));
        node.set_work(Work::Device(Box::new(move |queue| {
            // SAFETY: the graph keeps all work that conflicts away until this node has finished.
            unsafe { tape.put(queue, arrays, pieces) }
        })));
        if node.release() {
            self.start_node(node.clone());
        }
        Some(node)
    }

    /// The node of what was held back, by itself.
    fn made(self: &Arc<Core>, held: Pending) -> HeldNode {
        let node = self.sure(&held, &touched(&[&held.op]));
        HeldNode::new(node, Some(held.op))
    }

    /// A node for this, and perhaps for more that was held back, which touches these. No cell of it can fail.
    fn sure(&self, first: &Pending, arrays: &[Array]) -> Arc<Node> {
        let node = Node::new(first.name, first.recorded, true, None);
        node.set_sure();
        self.unfinished.add();
        self.after_evictions(&node);
        // What is held back has them.
        let trackers: Vec<_> = arrays.iter().filter_map(|array| array.tracker.upgrade()).collect();
        for (array, tracker) in arrays.iter().zip(&trackers) {
            for (region, touch) in &array.regions {
                let (read, write) = (touch.read.boxes(), touch.write.boxes());
                for n in 0..read.len().max(write.len()) {
                    tracker.add(*region, &node, read.get(n).copied(), write.get(n).copied());
                }
            }
            // It waits for those who read the ghosts too: see `OpenSweep::is_refilled`.
            if array.refilled {
                touch_all(&node, &Touch::new(tracker, None, Mode::Move));
            }
        }
        self.residents.use_now(&trackers.iter().collect::<Vec<_>>());
        node
    }
}
