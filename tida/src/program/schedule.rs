//! In which order the planes of a chain of recorded work run, and what moves over the link meanwhile
//! (docs/decisions/0007-chains.md).
//!
//! Arrays are planes along their first axis. A device holds a window of `W` planes of each, in memory that wraps
//! around: plane `k` of a pass lies in slot `(k + shift) mod W`. In one pass over the link every operation of the pass
//! follows the one before it as closely as what it reads allows: time is skewed by the halo. All is decided by
//! frontiers: operation `i` has done its planes below `f_i`.
//!
//! Where the ends of the axis belong together, it is unwrapped: plane `k` and plane `k + period` are one and the same
//! plane of the host (`periodic.rs`).
//!
//! Nothing here knows of devices: a schedule is a list of blocks, and what each has to wait for.

mod kept;
mod periodic;
mod scale;
mod skew;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use smallvec::SmallVec;

pub(crate) use kept::Kept;
use kept::trimmed;
use periodic::same;
pub(crate) use periodic::unwrapped;
use scale::down;
pub(crate) use scale::{Scale, scales, up};
pub(crate) use skew::Skew;

use super::steps::{After, Move, Step};

/// An operation of a chain: at each of its planes it reads planes around it and writes the plane itself.
#[derive(Clone, Debug)]
pub(crate) struct PlaneOp {
    /// The planes that it writes.
    pub planes: Range<i64>,
    /// Each array that it touches, once.
    pub accesses: SmallVec<[Access; 4]>,
    /// Steps of the program that it does.
    pub steps: usize,
    /// Planes of the finest array that each of its own has; it has whole ones.
    pub scale: i64,
}

/// What an operation does to one array.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Number of the array.
    pub array: usize,
    /// What it reads there.
    pub read: Option<Reach>,
    /// Whether it writes there.
    pub write: Option<Write>,
    /// Planes of the finest array that each of this one has.
    pub scale: i64,
}

/// Which planes are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At plane `k`, the planes `k + lo` to `k + hi`, both included.
    Around(i64, i64),
    /// The same, as far as those are some of these.
    Within(i64, i64, Range<i64>),
    /// These planes. Such an operation runs all its planes at once.
    Planes(Range<i64>),
}

/// How a plane is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// All of it that anyone looks at later.
    Whole,
    /// A part: the rest stays as it was.
    Part,
}

/// Some planes of an array, by its own numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    pub array: usize,
    pub planes: Range<i64>,
}

/// A step of the schedule, a *block*: planes that come, and the number of each operation that advances with its planes
/// by its own numbers.
pub(crate) type PlaneStep = Step<Planes, (usize, Range<i64>)>;

/// The planes among these of an array that no such move has.
pub(crate) fn unmoved<'a>(
    planes: &Range<i64>,
    array: usize,
    moves: impl Iterator<Item = &'a Move<Planes>>,
) -> Vec<i64> {
    let of = moves.map(|one| &one.piece).filter(|piece| piece.array == array);
    let moved: BTreeSet<i64> = of.flat_map(|piece| piece.planes.clone()).collect();
    planes.clone().filter(|plane| !moved.contains(plane)).collect()
}

/// Operations that advance together, once over the arrays.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// Numbers of the operations.
    pub ops: Range<usize>,
    /// The planes that it touches.
    pub planes: Range<i64>,
    /// Plane `k` lies in slot `(k + shift) mod W`; of an array of scale `s`, in slot `(k + shift / s) mod (W / s)`.
    pub shift: i64,
    /// Number of its first block.
    pub first_block: usize,
}

/// The whole chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    pub passes: Vec<Pass>,
    pub blocks: Vec<PlaneStep>,
}

/// The window is too small for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooSmall {
    /// Number of the operation.
    pub op: usize,
}

/// An upload takes over the slots of the block so many before: one is loaded, one computed and one stored at a time.
const APART: i64 = 3;

/// Operations from which on a pass is bound by computing.
const MANY: usize = 64;

/// Operations below which it is bound by the link.
const FEW: usize = 8;

/// Orders a chain over windows of `window` planes of each array, at most `thick` planes a block. `kept` says of each
/// what someone looks at when all is done: what the last pass leaves of the rest is not stored, and what only the rest
/// needs is not done.
///
/// Arrays are of different resolution if operations say so (`scale.rs`); the window then has whole planes of all of
/// them.
///
/// With a `period` the planes of the schedule are those of the unwrapped axis, of which the host has `0..period`: all
/// operations are of these planes, and none runs all of them at once.
///
/// # Errors
/// An operation that does not fit even alone and plane by plane.
pub(crate) fn schedule(
    ops: &[PlaneOp],
    kept: &[Kept],
    window: i64,
    thick: i64,
    period: Option<i64>,
) -> Result<Schedule, TooSmall> {
    let arrays = kept.len();
    let ops = &*if period.is_none() { trimmed(ops, kept) } else { Cow::Borrowed(ops) };
    let mut schedule = Schedule::default();
    let mut made = Made { free: Vec::new(), stored: vec![Vec::new(); arrays], stores: Vec::new(), period };
    let unit = unit(ops);
    // A plane has left before it comes again.
    let room = period.map_or(window, |period| window.min(period));
    let (mut first, mut entered) = (0, 0);
    while first < ops.len() {
        let left = ops.len() - first;
        // Where many operations share a pass, launching them counts more than the first and the last block.
        let most = if work(&ops[first..]) >= MANY { (2 * thick).min((window / 8).max(1)).max(thick) } else { thick };
        let (count, chosen) = longest(&ops[first..], arrays, room, most).ok_or(TooSmall { op: first })?;
        // Passes of about one length: the last would be bound by the link otherwise.
        let ops_now = first..first + left.div_ceil(left.div_ceil(count));
        // Few operations wait for the link: there the first and the last block count, while nothing else moves.
        let thick = if work(&ops[ops_now.clone()]) < FEW { (chosen / 4).max(chosen.min(2)) } else { chosen };
        let (own, later) = (&ops[ops_now.clone()], &ops[ops_now.end..]);
        // The unwrapped planes of a pass follow those of the one before: its first ones were stored long ago.
        let own = period.map_or(Cow::Borrowed(own), |period| Cow::Owned(unwrapped(own, arrays, period, entered)));
        let skew = Skew::of(&own, later, kept, period);
        let planes = skew.all();
        let planes = down(planes.start, unit)..up(planes.end, unit);
        let (shift, first_block) = (entered - planes.start, schedule.blocks.len());
        // The planes of the next pass take over the slots of this one's, in order.
        (first, entered) = (ops_now.end, entered + planes.end - planes.start);
        let pass = Pass { ops: ops_now, planes, shift, first_block };
        made.pass(&own, &pass, &skew, Cut { window, thick }, &mut schedule.blocks);
        schedule.passes.push(pass);
    }
    Ok(schedule)
}

/// Planes of the finest array that one of the coarsest has.
pub(crate) fn unit(ops: &[PlaneOp]) -> i64 {
    ops.iter().flat_map(|op| &op.accesses).map(|access| access.scale).fold(1, i64::max)
}

/// The fewest planes of a window that each operation fits into.
pub(crate) fn least_window(ops: &[PlaneOp], arrays: usize) -> i64 {
    let alone = |op: &PlaneOp| {
        let mut skew = Skew::new(arrays);
        skew.add(op);
        skew.slots() + 1
    };
    ops.iter().map(alone).max().unwrap_or(0)
}

/// How many of the first operations fit into one pass, and with blocks of how many planes.
fn longest(ops: &[PlaneOp], arrays: usize, window: i64, thick: i64) -> Option<(usize, i64)> {
    let fitting = |thick: i64, apart: i64| {
        let mut skew = Skew::new(arrays);
        ops.iter()
            .take_while(|op| {
                skew.add(op);
                skew.slots() + apart * thick <= window
            })
            .count()
    };
    let finest = fitting(1, APART);
    if finest == 0 {
        let count = fitting(1, 1);
        return (count > 0).then_some((count, 1));
    }
    // Thin blocks leave more room for operations, thick ones keep the device busier.
    let mut thick = thick.max(1);
    loop {
        let count = fitting(thick, APART);
        let passes = |count: usize| ops.len().div_ceil(count.max(1));
        // Where passes are bound by computing all the same, one more costs little.
        let computes = work(&ops[..count]) >= MANY && passes(count) <= passes(finest) + 1;
        if computes && ops.iter().any(|op| op.steps > 1) {
            // The ends of a launch are computed twice: as thick as it goes.
            let thicker = (thick..2 * thick).rev().find(|thick| passes(fitting(*thick, APART)) == passes(count));
            return Some(thicker.map_or((count, thick), |thick| (fitting(thick, APART), thick)));
        }
        if thick == 1 || computes || (count * 4 >= finest * 3 && passes(count) * 3 <= passes(finest) * 4) {
            // Somewhat thinner ones where that saves a pass over the link.
            let thinner = (thick - thick / 2..thick).rev().map(|thick| (fitting(thick, APART), thick));
            let fewer = { thinner }.find(|(fewer, _)| !computes && passes(*fewer) < passes(count));
            return Some(fewer.unwrap_or((count.max(1), thick)));
        }
        thick /= 2;
    }
}

/// Operations, those that do several steps as so many.
fn work(ops: &[PlaneOp]) -> usize {
    ops.iter().map(|op| op.steps.max(1)).sum()
}

fn meet(a: &Range<i64>, b: &Range<i64>) -> bool {
    !a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end
}

impl PlaneOp {
    /// Whether it runs over all of its planes at once.
    pub(crate) fn runs_at_once(&self) -> bool {
        self.trigger().is_some()
    }

    /// The level less the lag at which an operation runs that runs at once: as soon as the last plane that it reads has
    /// its value. None if it runs plane by plane.
    fn trigger(&self) -> Option<i64> {
        let ends = self.accesses.iter().filter_map(|access| match &access.read {
            Some(Reach::Planes(planes)) => Some(planes.end),
            _ => None,
        });
        ends.max()
    }

    /// First and last plane (both included) at which the access touches one of `planes`, if any does.
    fn meeting(&self, access: &Access, planes: &Range<i64>) -> Option<(i64, i64)> {
        let (lo, hi) = match access.around() {
            Some((lo, hi)) if access.write.is_some() => (lo.min(0), hi.max(0)),
            around => around.unwrap_or_default(),
        };
        let (first, last) = (self.planes.start.max(planes.start - hi), (self.planes.end - 1).min(planes.end - 1 - lo));
        (!planes.is_empty() && first <= last).then_some((first, last))
    }
}

/// How operations advance together over arrays that stay where they are, `thick` planes at a time: for each step the
/// planes of each operation. Within a step they run in order.
pub(crate) fn steps(ops: &[PlaneOp], arrays: usize, thick: i64) -> Vec<Vec<Range<i64>>> {
    let mut skew = Skew::new(arrays);
    ops.iter().for_each(|op| skew.add(op));
    let all = skew.all();
    let end = skew.end(ops, &all);
    let mut steps = Vec::new();
    let mut before = all.start;
    while before < end {
        let now = Advance { before, level: before + thick, first: before == all.start };
        steps.push(ops.iter().zip(&skew.lags).map(|(op, lag)| now.planes(op, *lag)).collect());
        before = now.level;
    }
    steps
}

/// From one level to another.
#[derive(Clone, Copy, Debug)]
struct Advance {
    before: i64,
    level: i64,
    first: bool,
}

impl Advance {
    /// What of a range is passed `lag` behind the level, in whole planes of this scale.
    fn part(&self, lag: i64, range: &Range<i64>, scale: i64) -> Range<i64> {
        // The first step takes in what lies before it.
        let from = if self.first { range.start } else { down(self.before - lag, scale).max(range.start) };
        from..down(self.level - lag, scale).min(range.end).max(from)
    }

    /// The planes at which an operation runs.
    fn planes(&self, op: &PlaneOp, lag: i64) -> Range<i64> {
        match op.trigger() {
            None => self.part(lag, &op.planes, op.scale),
            Some(trigger) if self.level - lag >= trigger && (self.before - lag < trigger || self.first) => {
                op.planes.clone()
            }
            Some(_) => 0..0,
        }
    }
}

/// How a pass is cut into blocks.
#[derive(Clone, Copy, Debug)]
struct Cut {
    window: i64,
    thick: i64,
}

/// What the blocks made so far leave behind.
#[derive(Debug)]
struct Made {
    /// For each block and array: once the block is done, no plane below this (shifted) needs its slot.
    free: Vec<Vec<i64>>,
    /// For each array the planes that were stored, and the number of the block.
    stored: Vec<Vec<(Range<i64>, usize)>>,
    /// For each block the number of stores that it and those before it have.
    stores: Vec<usize>,
    period: Option<i64>,
}

impl Made {
    /// Adds the blocks of a pass.
    fn pass(&mut self, ops: &[PlaneOp], pass: &Pass, skew: &Skew, cut: Cut, blocks: &mut Vec<PlaneStep>) {
        let all = &pass.planes;
        let end = skew.end(ops, all);
        let mut storing: Vec<Vec<(Range<i64>, usize)>> = vec![Vec::new(); skew.arrays.len()];
        let mut before = all.start;
        while before < end {
            let (level, number) = (before + cut.thick, blocks.len());
            let now = Advance { before, level, first: before == all.start };

            let (mut block, mut runs_after) = (PlaneStep::default(), None);
            for ((number, op), lag) in pass.ops.clone().zip(ops).zip(&skew.lags) {
                let planes = now.planes(op, *lag);
                if !planes.is_empty() {
                    block.runs.push((number, own(&planes, op.scale)));
                }
            }
            for (array, of) in skew.arrays.iter().enumerate().filter(|(_, of)| of.any) {
                let entering = now.part(of.enters, &of.touched, of.scale);
                if !entering.is_empty() {
                    let slots = self.freed(array, entering.end + pass.shift - cut.window);
                    runs_after = runs_after.max(slots);
                    for planes in without(&entering, &of.overwritten).into_iter().filter(|planes| !planes.is_empty()) {
                        let stored = self.stored[array].iter().chain(&storing[array]);
                        let stored = stored.filter(|(other, _)| same(other, &planes, self.period));
                        let stored = stored.map(|(_, block)| *block).max();
                        let after = self.after(slots.max(stored));
                        block.loads.push(Move { piece: Planes { array, planes: own(&planes, of.scale) }, after });
                    }
                }
                let ready = |level: i64| {
                    let open = of.at_once.iter().filter(|once| level - once.lag < once.trigger);
                    let open = open.filter(|once| !once.writes.is_empty()).map(|once| once.writes.start);
                    open.fold(down(level - of.writer.unwrap_or(0), of.scale), i64::min)
                };
                let (from, to) = (ready(before), if level >= end { of.written.end } else { ready(level) });
                let from = if before == all.start { of.written.start } else { from.max(of.written.start) };
                for planes in without(&(from..to.min(of.written.end).max(from)), &of.dead) {
                    if !planes.is_empty() {
                        storing[array].push((planes.clone(), number));
                        let after = After { run: Some(number), ..After::default() };
                        block.stores.push(Move { piece: Planes { array, planes: own(&planes, of.scale) }, after });
                    }
                }
            }
            let last = level >= end;
            let known = self.free.last().cloned();
            let free = skew.arrays.iter().enumerate().map(|(array, of)| {
                let free =
                    if last || !of.any { all.end } else { down(level - of.leaves, of.scale).min(all.end) } + pass.shift;
                known.as_ref().map_or(free, |known| free.max(known[array]))
            });
            self.free.push(free.collect());
            // What runs comes after the runs before it anyway.
            block.runs_after = After { run: None, ..self.after(runs_after) };
            self.stores.push(self.stores.last().unwrap_or(&0) + block.stores.len());
            blocks.push(block);
            before = level;
        }
        for (stored, storing) in self.stored.iter_mut().zip(storing) {
            // Stores are done in order: of planes stored twice the later counts.
            let first = storing.iter().map(|(planes, _)| planes.start).min().unwrap_or(0);
            let last = storing.iter().map(|(planes, _)| planes.end).max().unwrap_or(0);
            match self.period {
                Some(period) => stored.retain(|_| last - first < period),
                None => stored.retain(|(planes, _)| planes.start < first || last < planes.end),
            }
            stored.extend(storing);
        }
    }

    /// What comes after the runs and stores of a block.
    fn after(&self, block: Option<usize>) -> After {
        let stores = block.and_then(|block| self.stores.get(block)).copied().unwrap_or(0);
        After { load: None, run: block, store: stores.checked_sub(1) }
    }

    /// The first block after which no plane below `plane` (shifted) needs its slot; none if no block has to be waited
    /// for.
    fn freed(&self, array: usize, plane: i64) -> Option<usize> {
        if plane <= 0 {
            return None;
        }
        Some(self.free.partition_point(|free| free[array] < plane))
    }
}

/// Planes of the finest array as planes of this scale.
fn own(planes: &Range<i64>, scale: i64) -> Range<i64> {
    planes.start.div_euclid(scale)..planes.end.div_euclid(scale)
}

fn hull(a: &Range<i64>, b: &Range<i64>) -> Range<i64> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// The least range that holds all of these.
pub(crate) fn hull_of(ranges: impl Iterator<Item = Range<i64>>) -> Range<i64> {
    ranges.fold(0..0, |all, range| hull(&all, &range))
}

/// `a` without `b`: up to two ranges.
fn without(a: &Range<i64>, b: &Range<i64>) -> [Range<i64>; 2] {
    if b.is_empty() || b.end <= a.start || a.end <= b.start {
        return [a.clone(), a.end..a.end];
    }
    [a.start..b.start.max(a.start), b.end.min(a.end)..a.end]
}

impl Access {
    /// How far from each plane it reads, if it goes plane by plane.
    pub(super) fn around(&self) -> Option<(i64, i64)> {
        match self.read {
            Some(Reach::Around(lo, hi) | Reach::Within(lo, hi, _)) => Some((lo, hi)),
            _ => None,
        }
    }

    /// The planes that it touches if the operation runs over `planes`.
    fn touched(&self, planes: &Range<i64>) -> Range<i64> {
        let read = match &self.read {
            Some(Reach::Around(lo, hi)) => planes.start + lo..planes.end + hi,
            Some(Reach::Within(lo, hi, all)) => (planes.start + lo).max(all.start)..(planes.end + hi).min(all.end),
            Some(Reach::Planes(range)) => range.clone(),
            None => 0..0,
        };
        let read = down(read.start, self.scale)..up(read.end, self.scale);
        if self.write.is_some() { hull(&read, planes) } else { read }
    }

    fn overwrites(&self) -> bool {
        self.read.is_none() && self.write == Some(Write::Whole)
    }
}

#[cfg(test)]
mod tests;
