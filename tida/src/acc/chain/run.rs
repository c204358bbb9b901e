//! Running a chain: its schedule becomes commands in three streams, ordered by events alone (TiDA-acc §IV-B).

use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::arrive::told_host;
use super::ring::{Piece, Rolling, Window, cells, constant_ghosts};
use super::schedule::{Access, Op, Pass, Planes, Reach, Schedule, Write, least_window, schedule};
use super::segments::{Segment, ring_fill, segments};
use super::{Chain, Events, Kind, Link, LinkWork, Ready, Use, after};
use crate::acc::boxes::union;
use crate::acc::device::{Claim, DeviceCore};
use crate::acc::node::{Done, Queue, Ring};
use crate::acc::timeline::SpanKind;
use crate::array::layout::WideLayout;
use crate::array::storage::Storage;
use crate::array::{GridBox, Part, Planar};
use crate::backend::Event;
use crate::error::{Error, ErrorKind};

/// The streams of a chain.
pub(super) const RUN: usize = 0;
pub(super) const UP: usize = 1;
pub(super) const DOWN: usize = 2;

/// Bytes of the planes that a block of a schedule has of one array, at most: more keep no device busier.
const BLOCK: usize = 256 << 20;

/// Blocks that an array has at least, but for those of [`SMALL`] bytes: while the first is loaded and while the last is
/// stored nothing else runs, and where link and kernels take equally long that time is lost.
const BLOCKS: i64 = 64;

/// Bytes of a block whose kernels take about as long as launching them.
const SMALL: usize = 16 << 20;

/// What an operation of the schedule is.
enum OpWork {
    /// The sweep of a link.
    Sweep(usize),
    /// A part of the ghost fill of a link, of an array.
    Ghosts(usize, usize, Part),
}

/// Runs a chain, and gives the result of each of its nodes, in order.
pub(super) fn run(device: &Arc<DeviceCore>, ready: &Ready) -> Vec<Result<(), Error>> {
    let chain = &ready.chain;
    let mut results: Vec<Result<(), Error>> = chain.links.iter().map(|link| failure(ready, link)).collect();
    skip_dependents(chain, &mut results);
    let done = on_host(device, chain).and_then(|planars| {
        let mut due = vec![false; planars.len()];
        let each = |segment| run_segment(device, chain, &planars, &segment, &mut due, &mut results);
        segments(chain, &planars).into_iter().try_for_each(each)
    });
    match done {
        Ok(()) => results,
        Err(error) => failed(chain, results, &error),
    }
}

/// Brings the arrays to the host.
fn on_host<'a>(device: &DeviceCore, chain: &'a Chain) -> Result<Vec<&'a Arc<dyn Planar>>, Error> {
    let mut planars = Vec::new();
    for tracker in &chain.arrays {
        let planar = tracker.planar().ok_or_else(|| not_planar(tracker.boxes().len()))?;
        // SAFETY: the graph runs this only when no work conflicts with any node of the chain.
        unsafe { tracker.storage().leave_device(device)? };
        tracker.storage().pin(device);
        planars.push(planar);
    }
    Ok(planars)
}

/// Runs a segment to its end. `due` says of each array whether ghosts at its ends were filled on the unwrapped axis alone.
fn run_segment(
    device: &Arc<DeviceCore>,
    chain: &Chain,
    planars: &[&Arc<dyn Planar>],
    segment: &Segment,
    due: &mut [bool],
    results: &mut [Result<(), Error>],
) -> Result<(), Error> {
    for number in segment.links.clone().filter(|number| results[*number].is_ok()) {
        let link = &chain.links[number];
        if let Some(array) = ring_fill(link, planars) {
            due[array] = true;
        }
        fix_ghosts(link, chain, planars);
    }
    if segment.period.is_none() {
        for (array, due) in due.iter_mut().enumerate().filter(|(_, due)| **due) {
            let storage = touched(chain, planars, array);
            // SAFETY: the graph runs this only when no work conflicts with any node of the chain, and no other segment runs.
            unsafe { planars[array].fill_on_host(storage) };
            *due = false;
        }
    }
    let Some(mut running) = Running::prepare(device, chain, planars, segment, results)? else { return Ok(()) };
    let put = running.put();
    running.finish(put, results)
}

/// Gives the nodes of a chain what their launches tell, once all commands are done.
pub(super) fn told(chain: &Chain, results: &mut [Result<(), Error>], done: Vec<(usize, Done)>) {
    for (link, done) in done {
        if let (Err(error), Some(result @ Ok(()))) = (done(), results.get_mut(link)) {
            *result = Err(error.recorded_at(chain.links[link].node.recorded));
        }
    }
}

/// Waits for all that was put into the streams of a chain.
pub(super) fn wait(device: &DeviceCore) -> Result<(), Error> {
    let backend = device.backend();
    let mut result = Ok(());
    for stream in [UP, RUN, DOWN] {
        result = result.and(backend.record(stream).and_then(|event| event.finish()));
    }
    result
}

/// Sets the ghosts of fixed value on the host that a link is to set, before anything of its segment is in a stream.
pub(super) fn fix_ghosts(link: &Link, chain: &Chain, planars: &[&Arc<dyn Planar>]) {
    if let LinkWork::Ghosts { array, fixed: true } = &link.work {
        let storage = touched(chain, planars, *array);
        // SAFETY: the graph runs this only when no work conflicts with any node of the chain, and no other segment runs.
        unsafe { planars[*array].fix_on_host(storage) };
    }
}

/// The memory of an array that the host is about to write.
fn touched<'a>(chain: &'a Chain, planars: &[&Arc<dyn Planar>], array: usize) -> &'a Storage {
    let storage = chain.arrays[array].storage();
    (0..planars[array].facts().layout.regions.len()).for_each(|region| storage.touch_host(region));
    storage
}

/// The failure of what a node needs.
pub(super) fn failure(ready: &Ready, link: &Link) -> Result<(), Error> {
    let failed = ready.failed.iter().find(|(node, _)| Arc::ptr_eq(node, &link.node));
    failed.map_or(Ok(()), |(_, error)| Err(error.clone()))
}

/// All that has not failed yet fails with the chain.
pub(super) fn failed(chain: &Chain, results: Vec<Result<(), Error>>, error: &Error) -> Vec<Result<(), Error>> {
    let with = chain.links.iter().zip(results);
    with.map(|(link, result)| result.and_then(|()| Err(error.clone().recorded_at(link.node.recorded)))).collect()
}

/// What reads data that a failed node should have left does not run.
pub(super) fn skip_dependents(chain: &Chain, results: &mut [Result<(), Error>]) {
    let mut lost: Vec<Option<Error>> = vec![None; chain.arrays.len()];
    for (link, result) in chain.links.iter().zip(results) {
        let (reads, writes): (SmallVec<[usize; 8]>, SmallVec<[usize; 8]>) = match &link.work {
            LinkWork::Sweep { uses, .. } => (
                uses.iter().filter(|one| one.read.is_some()).map(|one| one.array).collect(),
                uses.iter().filter(|one| one.write).map(|one| one.array).collect(),
            ),
            LinkWork::Ghosts { array, .. } => (smallvec![*array], smallvec![*array]),
        };
        if let (Ok(()), Some(error)) = (&result, reads.iter().find_map(|array| lost[*array].clone())) {
            *result = Err(error);
        }
        for array in writes {
            lost[array] = result.as_ref().err().cloned();
        }
    }
}

/// A chain on its way.
pub(super) struct Running<'a> {
    device: &'a Arc<DeviceCore>,
    chain: &'a Chain,
    works: Vec<OpWork>,
    ops: Vec<Op>,
    schedule: Schedule,
    /// The boxes of the sweep of each link that runs, merged across regions.
    boxes: Vec<Vec<GridBox<4>>>,
    arrays: Vec<Rolling>,
    /// Rings of the pass under way, and the pieces that are the regions of their layouts.
    rings: Vec<Ring>,
    pieces: Vec<Piece>,
    /// What tells of faults, with the number of the link.
    done: Vec<(usize, Done)>,
    held: Vec<Box<dyn std::any::Any>>,
    /// The ends of all blocks: a command that fails is told to the event after it alone.
    events: Vec<Arc<dyn Event>>,
    _claim: Option<Claim>,
}

impl<'a> Running<'a> {
    /// Orders a segment, and takes memory for the windows; nothing if no operation is left.
    pub fn prepare(
        device: &'a Arc<DeviceCore>,
        chain: &'a Chain,
        planars: &[&Arc<dyn Planar>],
        segment: &Segment,
        results: &[Result<(), Error>],
    ) -> Result<Option<Running<'a>>, Error> {
        let boxes = |(number, link): (usize, &Link)| match segment.links.contains(&number) {
            true => merged(&link.work),
            false => Vec::new(),
        };
        let boxes: Vec<Vec<GridBox<4>>> = chain.links.iter().enumerate().map(boxes).collect();
        let (works, ops) = operations(chain, planars, segment, &boxes, results);
        if ops.is_empty() {
            return Ok(None);
        }
        let margin = ops.iter().map(reach).max().unwrap_or(0);
        let constant = planars.iter().map(|planar| constant_ghosts(&***planar).len() as i64);
        let mut ghosts = constant.filter(|_| segment.period.is_none()).max().unwrap_or(0);
        let least = least_window(&ops, planars.len()).max(margin + 1);
        let bytes = |window: Window| -> u64 {
            planars.iter().map(|planar| (cells(planar.facts(), window) * planar.facts().element.bytes()) as u64).sum()
        };
        let period = segment.period;
        let grown = planars.iter().map(|planar| planar.facts().grown.end - planar.facts().grown.start);
        let most = period.or(grown.max()).unwrap_or(0);
        let (room, claim) = match chain.kind {
            // Others find the rest.
            Kind::Arriving => {
                let room = bytes(Window { planes: most, margin, ghosts, period }).min(device.room());
                (room, Some(device.claim(room).ok_or_else(|| too_small(chain, planars, device.room(), room))?))
            }
            _ => room(device, chain),
        };
        // The most planes that fit, found by bisection.
        let fitting = |ghosts: i64| {
            let (mut fits, mut too_many) = (0, most + 1);
            while fits + 1 < too_many {
                let middle = fits + (too_many - fits) / 2;
                if bytes(Window { planes: middle, margin, ghosts, period }) <= room {
                    fits = middle
                } else {
                    too_many = middle
                }
            }
            fits
        };
        // Ghost planes stay where there is room to spare.
        let mut fits = fitting(ghosts);
        if fits < 2 * (least + ghosts) {
            (ghosts, fits) = (0, fitting(0));
        }
        let planes = |window: i64| Window { planes: window, margin, ghosts, period };
        let plane =
            planars.iter().map(|planar| planar.facts().stride * planar.facts().element.bytes()).max().unwrap_or(1);
        loop {
            let window = planes(fits);
            let thick = thickness(plane, most, fits);
            let made = if fits >= least { schedule(&ops, planars.len(), fits, thick, period).ok() } else { None };
            let Some(schedule) = made else {
                return Err(too_small(chain, planars, room, bytes(planes(least))));
            };
            let rolling = |(number, (tracker, planar)): (usize, (_, &&Arc<dyn Planar>))| {
                let rolling = Rolling::new(device, tracker, planar, window)?;
                match chain.kind {
                    Kind::Arriving => rolling.keep(device, told_host(chain, number)),
                    _ => Ok(rolling),
                }
            };
            let arrays = chain.arrays.iter().zip(planars).enumerate();
            match arrays.map(rolling).collect::<Result<Vec<_>, Error>>() {
                Ok(arrays) => {
                    return Ok(Some(Running {
                        device,
                        chain,
                        works,
                        ops,
                        schedule,
                        boxes,
                        arrays,
                        rings: Vec::new(),
                        pieces: Vec::new(),
                        done: Vec::new(),
                        held: Vec::new(),
                        events: Vec::new(),
                        _claim: claim,
                    }));
                }
                // Others have taken memory meanwhile: go on with less.
                Err(error) if error.kind() == ErrorKind::Memory && fits > least => {
                    tracing::warn!(%error, planes = fits, "less memory on the device than was free: a smaller window");
                    fits = (fits * 3 / 4).max(least);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes over the arrays.
    pub fn passes(&self) -> usize {
        self.schedule.passes.len()
    }

    /// Waits until all is done that was put into streams, and gives the nodes their results.
    ///
    /// # Errors
    /// `put`, or what a command says at its end.
    pub fn finish(mut self, put: Result<(), Error>, results: &mut [Result<(), Error>]) -> Result<(), Error> {
        let waited = wait(self.device).and_then(|()| self.events.iter().try_for_each(|event| event.finish()));
        told(self.chain, results, std::mem::take(&mut self.done));
        put.and(waited)
    }

    /// Completes arrays that stay on the device, after all else: planes that did not come, and ghosts between regions.
    ///
    /// # Errors
    /// What the driver reports, or memory that the device does not have.
    pub fn leave_whole(&mut self) -> Result<(), Error> {
        let backend = self.device.backend();
        for array in &self.arrays {
            // SAFETY: no one uses the planes that did not come; the graph keeps all other work away.
            unsafe { array.bring_rest(self.device, UP)? };
        }
        for stream in [UP, DOWN] {
            backend.wait(RUN, &*backend.record(stream)?)?;
        }
        for array in &self.arrays {
            let Some(memory) = array.kept() else { continue };
            array.storage().filled(true);
            let copies = array.planar.fill_whole(self.device, array.storage().row().is_some(), true)?;
            // SAFETY: the copies are for arrays of this layout and type; all that came before in the streams is done.
            let put = || unsafe { copies.run(RUN, memory, memory) };
            self.device.timed(SpanKind::Ghost, "ghosts between regions", RUN, 0, put)?;
            self.held.push(Box::new(copies));
        }
        Ok(())
    }

    /// Puts all commands into streams.
    pub fn put(&mut self) -> Result<(), Error> {
        let device = self.device;
        let backend = device.backend().clone();
        let schedule = std::mem::take(&mut self.schedule);
        for array in &self.arrays {
            if array.planar.facts().fixed_edges {
                // SAFETY: no one writes the array on the host before the chain has loaded it, and nothing uses the window.
                unsafe { array.keep_edges(self.device, RUN)? };
            }
        }
        // The last events up to each block.
        let (mut ran, mut stored): (Events, Events) = Default::default();
        let every = told_apart(&schedule);
        let mut passes = schedule.passes.iter().peekable();
        let mut pass: Option<&Pass> = None;
        // Downloads whose end no event marks yet.
        let mut unsaid = false;
        for (number, block) in schedule.blocks.iter().enumerate() {
            if let Some(next) = passes.next_if(|next| next.first_block == number) {
                self.start_pass(next);
                let sweeps = next.ops.clone().filter(|op| matches!(self.works[*op], OpWork::Sweep(_)));
                self.device.count_pass(sweeps.count() as u64);
                pass = Some(next);
            }
            let Some(Pass { shift, .. }) = pass else { break };
            if !block.uploads.is_empty() {
                after(&backend, UP, &ran, block.uploads_after)?;
                after(&backend, UP, &stored, block.uploads_after.map(|number| told_at(number, every)))?;
                for Planes { array, planes } in &block.uploads {
                    let array = &mut self.arrays[*array];
                    let planes = array.coming(planes);
                    if planes.is_empty() {
                        continue;
                    }
                    let (shown, bytes) = (array.window.shown(&planes), array.bytes(&planes));
                    // SAFETY: the schedule loads planes when their slots are free and the host has them; the graph keeps
                    // all other work away.
                    let upload = || unsafe { array.upload(device, UP, planes.clone(), *shift) };
                    device.timed(SpanKind::H2d, format_args!("{shown:?}"), UP, bytes, upload)?;
                }
                let loaded = backend.record(UP)?;
                backend.flush(UP)?;
                backend.wait(RUN, &*loaded)?;
                self.events.push(loaded);
            }
            after(&backend, RUN, &stored, block.runs_after.map(|number| told_at(number, every)))?;
            for Planes { array, planes } in &block.uploads {
                // Not where uploads are, so that the link does not wait for kernels.
                // SAFETY: only operations look there, which come later in this stream; slots are free as for those.
                unsafe { self.arrays[*array].entered(device, RUN, planes.clone(), *shift)? };
            }
            for (op, planes) in &block.runs {
                device.count_launch();
                let (kind, name) = match self.works[*op] {
                    OpWork::Sweep(link) => (SpanKind::Kernel, self.chain.links[link].node.recorded),
                    OpWork::Ghosts(link, ..) => (SpanKind::Ghost, self.chain.links[link].node.recorded),
                };
                let shown = self.arrays.first().map_or(planes.clone(), |array| array.window.shown(planes));
                let name = format_args!("{}:{} {shown:?}", name.file(), name.line());
                device.timed(kind, name, RUN, 0, || self.run_op(*op, planes, *shift))?;
            }
            let end = backend.record(RUN)?;
            backend.flush(RUN)?;
            ran.push(Some(end.clone()));
            self.events.push(end.clone());
            let mut last = stored.last().cloned().flatten();
            if !block.downloads.is_empty() {
                backend.wait(DOWN, &*end)?;
                for Planes { array, planes } in &block.downloads {
                    let array = &mut self.arrays[*array];
                    let shown = array.window.shown(planes);
                    let bytes = if array.goes_home() { array.bytes(planes) } else { 0 };
                    // SAFETY: as above; the operations that write the planes are done.
                    let download = || unsafe { array.download(device, DOWN, planes.clone(), *shift) };
                    device.timed(SpanKind::D2h, format_args!("{shown:?}"), DOWN, bytes, download)?;
                }
                backend.flush(DOWN)?;
                unsaid = true;
            }
            if unsaid && (number == told_at(number, every) || number + 1 == schedule.blocks.len()) {
                let down = backend.record(DOWN)?;
                backend.flush(DOWN)?;
                self.events.push(down.clone());
                (last, unsaid) = (Some(down), false);
            }
            stored.push(last);
        }
        Ok(())
    }

    /// Makes the rings of a pass.
    fn start_pass(&mut self, pass: &Pass) {
        let window = self.arrays.first().map(|array| array.window);
        self.pieces = window.into_iter().flat_map(|window| window.pieces(&pass.planes, pass.shift)).collect();
        let mut layouts: Vec<Arc<WideLayout>> = Vec::new();
        self.rings.clear();
        for array in &self.arrays {
            let layout = array.layout(pass.shift, &self.pieces);
            // Arrays of one form share index arithmetic.
            let same = layouts.iter().find(|other| ***other == layout).cloned();
            let layout = same.unwrap_or_else(|| Arc::new(layout));
            layouts.push(layout.clone());
            self.rings.push(array.ring(layout));
        }
    }

    /// Advances one operation.
    fn run_op(&mut self, op: usize, planes: &Range<i64>, shift: i64) -> Result<(), Error> {
        let device = self.device;
        let queue = Queue { device, stream: RUN, rings: &self.rings };
        match self.works[op] {
            OpWork::Sweep(link) => {
                let LinkWork::Sweep { launch, .. } = &self.chain.links[link].work else { return Ok(()) };
                for access in self.ops[op].accesses.iter().filter(|access| access.write == Some(Write::Whole)) {
                    let array = &mut self.arrays[access.array];
                    if array.planar.facts().fixed_edges {
                        // SAFETY: the schedule runs operations whose slots are free.
                        unsafe { array.restore_edges(device, RUN, planes, shift)? };
                    }
                }
                let Some(first) = self.arrays.first() else { return Ok(()) };
                let axis = 4 - first.planar.facts().rank;
                let from = self.pieces.partition_point(|piece| piece.planes.end <= planes.start);
                let pieces = self.pieces.iter().enumerate().skip(from);
                for (region, piece) in pieces.take_while(|(_, piece)| piece.planes.start < planes.end) {
                    let part = piece.on_host(planes);
                    for cells in &self.boxes[link] {
                        let mut cells = *cells;
                        cells.lo[axis] = cells.lo[axis].max(part.start);
                        cells.hi[axis] = cells.hi[axis].min(part.end);
                        if cells.is_empty() {
                            continue;
                        }
                        // SAFETY: the schedule runs this when what it reads is there and what it writes is free; around
                        // these planes the window holds their neighbours; the graph keeps all other work away.
                        let done = unsafe { launch.clone().enqueue(&queue, &[(region, cells)])? };
                        self.done.push((link, done));
                    }
                }
            }
            OpWork::Ghosts(_, array, part) => {
                let rolling = &mut self.arrays[array];
                for piece in rolling.window.pieces(planes, shift) {
                    let (planes, origin) = (piece.on_host(planes), rolling.window.origin(&piece, shift));
                    let copies = rolling.planar.fill(device, part, planes, origin, rolling.cells)?;
                    // SAFETY: the copies were made for this window, which holds what they read; the rest as above.
                    unsafe { copies.run(RUN, &rolling.memory, &rolling.memory)? };
                    self.held.push(Box::new(copies));
                }
                if part == Part::Ends {
                    rolling.taint(planes, shift);
                }
            }
        }
        for access in self.ops[op].accesses.iter().filter(|access| access.write.is_some()) {
            // SAFETY: as above.
            unsafe { self.arrays[access.array].mirror(device, RUN, planes.clone(), shift)? };
        }
        Ok(())
    }
}

/// Bytes of the device's memory that a chain may take. It has what is promised to no one until the claim ends.
pub(super) fn room(device: &DeviceCore, chain: &Chain) -> (u64, Option<Claim>) {
    let mut free = None;
    while free.is_none() && device.room() > 0 {
        free = device.claim(device.room());
    }
    // What later work was promised for these arrays it takes when the chain is done with them.
    let promised = chain.arrays.iter().map(|tracker| tracker.storage()).filter(|storage| storage.is_claimed());
    let own = chain.room.iter().map(|claim| claim.bytes).chain(free.iter().map(|claim| claim.bytes));
    (own.chain(promised.map(|storage| storage.device_bytes() as u64)).sum::<u64>(), free)
}

/// At every how many blocks the end of the downloads is marked: a mark holds the link up for some microseconds. Never so few that
/// one is waited for that is not there.
fn told_apart(schedule: &Schedule) -> usize {
    let waits = schedule.blocks.iter().enumerate().flat_map(|(number, block)| {
        [block.uploads_after, block.runs_after].into_iter().flatten().map(move |before| number - before.min(number))
    });
    waits.min().map_or(8, |nearest| (nearest / 4).clamp(1, 8))
}

/// The block whose mark is the first to come after the downloads of a block.
fn told_at(number: usize, every: usize) -> usize {
    number / every * every + every - 1
}

/// Planes of `plane` bytes for a block, at most, of arrays of so many planes in windows of `window`.
fn thickness(plane: usize, planes: i64, window: i64) -> i64 {
    let of = |bytes: usize| (bytes / plane.max(1)) as i64;
    (planes / BLOCKS).max(of(SMALL)).min(of(BLOCK)).min(window / 8).max(1)
}

/// Boxes of a sweep, merged across regions.
fn merged(work: &LinkWork) -> Vec<GridBox<4>> {
    let LinkWork::Sweep { boxes, .. } = work else { return Vec::new() };
    let mut boxes: Vec<GridBox<4>> = boxes.iter().map(|(_, cells)| *cells).collect();
    boxes.sort_unstable_by_key(|cells| cells.lo);
    let mut merged: Vec<GridBox<4>> = Vec::new();
    for cells in boxes {
        match merged.last_mut().and_then(|last| union(last, &cells).map(|both| (last, both))) {
            Some((last, both)) => *last = both,
            None => merged.push(cells),
        }
    }
    merged
}

/// The operations of a segment, without those that do not run. On the unwrapped axis all are of the same planes, though a
/// kernel may have nothing to do at some of them.
fn operations(
    chain: &Chain,
    planars: &[&Arc<dyn Planar>],
    Segment { links, period }: &Segment,
    boxes: &[Vec<GridBox<4>>],
    results: &[Result<(), Error>],
) -> (Vec<OpWork>, Vec<Op>) {
    let (mut works, mut ops) = (Vec::new(), Vec::new());
    let mut add = |work: OpWork, op: Op| {
        works.push(work);
        ops.push(op);
    };
    for number in links.clone().filter(|number| results[*number].is_ok()) {
        let link = &chain.links[number];
        let fills_ring = ring_fill(link, planars).is_some();
        match &link.work {
            LinkWork::Sweep { uses, .. } => {
                let Some(axis) = uses.first().map(|one| 4 - planars[one.array].facts().rank) else { continue };
                let planes = boxes[number].iter().map(|cells| cells.lo[axis]..cells.hi[axis]);
                let Some(swept) = planes.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)) else { continue };
                let planes = period.map_or(swept.clone(), |period| 0..period);
                let access = |one: &Use| {
                    let whole = one.read.is_none()
                        && planes == swept
                        && overwrites(planars[one.array], &boxes[number])
                        && edges_are_set(&chain.links[number + 1..], planars[one.array], one.array);
                    let write = if whole { Write::Whole } else { Write::Part };
                    Access {
                        array: one.array,
                        read: one.read.map(|(lo, hi)| Reach::Around(lo, hi)),
                        write: one.write.then_some(write),
                    }
                };
                let accesses = uses.iter().map(access).collect();
                add(OpWork::Sweep(number), Op { planes, accesses });
            }
            // Done on the host.
            LinkWork::Ghosts { .. } if fills_ring && period.is_none() => {}
            LinkWork::Ghosts { array, .. } => {
                let access =
                    |read: Reach| smallvec![Access { array: *array, read: Some(read), write: Some(Write::Part) }];
                let planar = planars[*array];
                if planar.facts().filled_edges {
                    let planes = planar.facts().valid.clone();
                    add(
                        OpWork::Ghosts(number, *array, Part::Edges),
                        Op { planes, accesses: access(Reach::Around(0, 0)) },
                    );
                }
                // What lies beyond the ends of a ring are its planes.
                for end in planar.ends().into_iter().filter(|_| !fills_ring) {
                    let accesses = access(Reach::Planes(end.from));
                    add(OpWork::Ghosts(number, *array, Part::Ends), Op { planes: end.planes, accesses });
                }
            }
        }
    }
    (works, ops)
}

/// Whether boxes cover all values of every plane that they touch.
fn overwrites(planar: &Arc<dyn Planar>, boxes: &[GridBox<4>]) -> bool {
    let (facts, [one]) = (planar.facts(), boxes) else { return false };
    let axis = 4 - facts.rank;
    facts
        .layout
        .regions
        .first()
        .is_some_and(|region| (axis + 1..4).all(|d| one.lo[d] <= region.valid.lo[d] && region.valid.hi[d] <= one.hi[d]))
}

/// Whether no one looks at the ghosts at the edges of an array's planes before `later` has set them.
fn edges_are_set(later: &[Link], planar: &Arc<dyn Planar>, array: usize) -> bool {
    let facts = planar.facts();
    if facts.open_edges || !facts.filled_edges {
        return !facts.open_edges;
    }
    let touches = |link: &&Link| match &link.work {
        LinkWork::Sweep { uses, .. } => uses.iter().any(|one| one.array == array),
        LinkWork::Ghosts { array: other, .. } => *other == array,
    };
    later.iter().find(touches).is_some_and(|link| matches!(link.work, LinkWork::Ghosts { .. }))
}

/// How far from a plane an operation reads.
fn reach(op: &Op) -> i64 {
    let of = |access: &Access| match &access.read {
        Some(Reach::Around(lo, hi)) => lo.abs().max(hi.abs()),
        Some(Reach::Planes(planes)) => {
            (op.planes.end - 1 - planes.start).abs().max((planes.end - 1 - op.planes.start).abs())
        }
        None => 0,
    };
    op.accesses.iter().map(of).max().unwrap_or(0)
}

fn not_planar(regions: usize) -> Error {
    Error::new(
        ErrorKind::Memory,
        "run work on arrays larger than the device's memory",
        format!("an array of {regions} regions that is not cut along its first axis alone"),
        "cut it along its first axis, or raise the memory limit",
    )
}

fn too_small(chain: &Chain, planars: &[&Arc<dyn Planar>], room: u64, needed: u64) -> Error {
    let name = |planar: &&Arc<dyn Planar>| {
        let facts = planar.facts();
        let (planes, bytes) = (facts.grown.end - facts.grown.start, facts.stride * facts.element.bytes());
        let ends = facts.layout.regions.last().map_or([0; 4], |region| region.valid.hi);
        format!("{} of shape {:?}: {planes} planes of {bytes} bytes", facts.element, &ends[4 - facts.rank..])
    };
    let list: Vec<String> = planars.iter().map(name).collect();
    let place = chain.links.first().map_or(String::new(), |link| format!(" recorded at {}", link.node.recorded));
    Error::new(
        ErrorKind::Memory,
        format!("run work{place} with a window of planes of each of {} arrays ({})", list.len(), list.join("; ")),
        format!("room for {room} bytes of arrays on the device, where these need {needed}"),
        "raise the memory limit, or use smaller planes: a shape with a longer first axis",
    )
}
