//! How far the operations of a pass trail behind one another.

use std::ops::Range;

use super::scale::{down, up};
use super::{Kept, PlaneOp, Reach, hull, meet};

/// How far operations of a pass trail behind the planes that enter.
#[derive(Debug)]
pub(crate) struct Skew {
    /// For each operation: at level `l` it has done its planes below `l - lag`.
    pub(super) lags: Vec<i64>,
    pub(super) arrays: Vec<ArraySkew>,
}

/// What is known of an array in one pass.
#[derive(Clone, Debug)]
pub(super) struct ArraySkew {
    /// Planes that operations touch.
    pub(super) touched: Range<i64>,
    /// Planes that the first operation overwrites whole: they are not loaded.
    pub(super) overwritten: Range<i64>,
    /// Planes that are written, and that someone looks at after the pass.
    pub(super) written: Range<i64>,
    /// Planes that a later pass overwrites unread, or that no one looks at when all is done: they are not stored.
    pub(super) dead: Range<i64>,
    /// The greatest lag of those that write plane by plane.
    pub(super) writer: Option<i64>,
    /// The greatest lag of those that read plane by plane, and the same less the reach downwards.
    reader: Option<(i64, i64)>,
    /// Where the last of those ends.
    last: i64,
    /// How far behind the level the first plane enters: loaded planes at the level, others as the first writer has
    /// them.
    pub(super) enters: i64,
    /// How far behind the level the last plane leaves.
    pub(super) leaves: i64,
    /// The operations that run at once.
    pub(super) at_once: Vec<AtOnce>,
    pub(super) any: bool,
    /// Planes of the finest array that each of its own has.
    pub(super) scale: i64,
}

/// An operation that runs at once, when the level less its lag has reached `trigger`.
#[derive(Clone, Debug)]
pub(super) struct AtOnce {
    pub(super) lag: i64,
    pub(super) trigger: i64,
    /// Planes that it reads and writes, where it does.
    pub(super) reads: Range<i64>,
    pub(super) writes: Range<i64>,
}

impl Default for ArraySkew {
    fn default() -> ArraySkew {
        ArraySkew {
            touched: 0..0,
            overwritten: 0..0,
            written: 0..0,
            dead: 0..0,
            writer: None,
            reader: None,
            last: 0,
            enters: 0,
            leaves: 0,
            at_once: Vec::new(),
            any: false,
            scale: 1,
        }
    }
}

impl Skew {
    pub(crate) fn new(arrays: usize) -> Skew {
        Skew { lags: Vec::new(), arrays: vec![ArraySkew::default(); arrays] }
    }

    /// Of the operations of a pass, before those of `later` passes; `kept` says of each array what someone looks at
    /// after all of them.
    pub(super) fn of(ops: &[PlaneOp], later: &[PlaneOp], kept: &[Kept], period: Option<i64>) -> Skew {
        let mut skew = Skew::new(kept.len());
        ops.iter().for_each(|op| skew.add(op));
        for ((number, array), kept) in skew.arrays.iter_mut().enumerate().zip(kept) {
            let next =
                later.iter().filter_map(|op| op.accesses.iter().find(|a| a.array == number).map(|a| (op, a))).next();
            let unread = match next {
                Some((op, access)) if access.overwrites() => op.planes.clone(),
                None if !kept.stored => array.written.clone(),
                None if period.is_none() => {
                    let of = down(kept.planes.start, array.scale)..up(kept.planes.end, array.scale);
                    array.written = array.written.start.max(of.start)..array.written.end.min(of.end);
                    continue;
                }
                _ => continue,
            };
            // Those that come again are stored.
            let last = array.touched.end;
            array.dead = period.map_or(unread, |period| last - period..last);
        }
        skew
    }

    /// Adds the next operation.
    pub(crate) fn add(&mut self, op: &PlaneOp) {
        let (lag, trigger) = (self.lag(op), op.trigger());
        for access in &op.accesses {
            let array = &mut self.arrays[access.array];
            let touched = access.touched(&op.planes);
            if !array.any {
                (array.any, array.scale) = (true, access.scale);
                if access.overwrites() && trigger.is_none() {
                    array.overwritten = op.planes.clone();
                    array.enters = lag;
                }
            }
            array.touched = hull(&array.touched, &touched);
            if access.write.is_some() {
                array.written = hull(&array.written, &op.planes);
            }
            match trigger {
                None => {
                    let lo = access.around().map_or(0, |(lo, _)| lo);
                    if access.write.is_some() {
                        array.writer = array.writer.max(Some(lag));
                    }
                    if access.read.is_some() {
                        let (reader, less_reach) = array.reader.unwrap_or((lag, lag - lo));
                        array.reader = Some((reader.max(lag), less_reach.max(lag - lo)));
                    }
                    array.last = array.last.max(op.planes.end);
                    array.leaves = array.leaves.max(lag - lo.min(0));
                }
                Some(trigger) => {
                    let reads = match &access.read {
                        Some(Reach::Planes(planes)) => planes.clone(),
                        _ => 0..0,
                    };
                    let writes = if access.write.is_some() { op.planes.clone() } else { 0..0 };
                    array.leaves = array.leaves.max(lag + trigger - touched.start);
                    array.at_once.push(AtOnce { lag, trigger, reads, writes });
                }
            }
        }
        self.lags.push(lag);
    }

    /// That of the last operation that was added.
    pub(crate) fn last_lag(&self) -> Option<i64> {
        self.lags.last().copied()
    }

    /// How far behind the level the next operation can follow those before it.
    fn lag(&self, op: &PlaneOp) -> i64 {
        let trigger = op.trigger();
        let mut lag = 0;
        for access in &op.accesses {
            let array = &self.arrays[access.array];
            let hi = access.around().map_or(0, |(_, hi)| hi);
            // Plane by plane behind those that go plane by plane.
            match trigger {
                None => {
                    if access.read.is_some() {
                        lag = lag.max(array.enters.max(array.writer.unwrap_or(0)) + hi.max(0));
                    }
                    if access.write.is_some() {
                        let behind = array.reader.map_or(0, |(_, less_reach)| less_reach);
                        lag = lag.max(array.enters).max(array.writer.unwrap_or(0)).max(behind);
                    }
                }
                // All that goes plane by plane and touches what this one does has passed it when it runs.
                Some(trigger) => {
                    let end = access.touched(&op.planes).end;
                    lag = lag.max(array.enters + end - trigger);
                    if let Some(writer) = array.writer {
                        lag = lag.max(writer + end.min(array.last) - trigger);
                    }
                    if let (Some((reader, less_reach)), true) = (array.reader, access.write.is_some()) {
                        lag = lag.max((reader + array.last).min(less_reach + end) - trigger);
                    }
                }
            }
            // Behind those that run at once.
            for before in &array.at_once {
                let mut wait = |planes: &Range<i64>| match trigger {
                    None => {
                        if let Some((first, _)) = op.meeting(access, planes) {
                            lag = lag.max(before.lag + before.trigger - first - 1);
                        }
                    }
                    Some(trigger) => {
                        if meet(&access.touched(&op.planes), planes) {
                            lag = lag.max(before.lag + before.trigger - trigger);
                        }
                    }
                };
                wait(&before.writes);
                if access.write.is_some() {
                    wait(&before.reads);
                }
            }
        }
        lag
    }

    /// Planes of an array that lie between the first and the last in use, at most.
    pub(super) fn slots(&self) -> i64 {
        self.spans().max().unwrap_or(0)
    }

    /// The same of each array, 0 if it is not in use.
    pub(crate) fn spans(&self) -> impl Iterator<Item = i64> {
        // Of thick planes the first and the last may be used in part.
        self.arrays.iter().map(|array| if array.any { array.leaves - array.enters + array.scale - 1 } else { 0 })
    }

    /// All planes that are touched.
    pub(super) fn all(&self) -> Range<i64> {
        self.arrays.iter().fold(0..0, |all, array| hull(&all, &array.touched))
    }

    /// The level at which all operations are done.
    pub(super) fn end(&self, ops: &[PlaneOp], all: &Range<i64>) -> i64 {
        let ends = ops.iter().zip(&self.lags).map(|(op, lag)| op.trigger().unwrap_or(0).max(op.planes.end) + lag);
        ends.fold(all.end, i64::max)
    }

    /// Levels from the first to the last.
    pub(crate) fn levels(&self, ops: &[PlaneOp]) -> i64 {
        let all = self.all();
        self.end(ops, &all) - all.start
    }
}
