//! Running a chain of regions: each is on the device as a whole, with its ghosts, while something works on it.
//!
//! The links of a chain become tasks (`tasks.rs`), which are ordered and given their places in one block of the
//! device's memory (`program/regions.rs`). Here the plan becomes commands in three streams, ordered by events alone.
//! Ghosts are filled where the data is: on the device; on the host while neither the region nor those beside it are
//! newer on the device; and where a region beside it is on the host, its strip alone crosses the link.

mod tasks;

use std::sync::Arc;

use smallvec::SmallVec;

use super::outcome::{failed, failure, skip_dependents};
use super::run::{begin_folds, plan_beside, room};
use super::streams::{DOWN, RUN, Streams, UP};
use super::{Chain, Ready};
use crate::backend::{HostBlock, Memory};
use crate::device::core::DeviceCore;
use crate::device::ledger::{Purpose, Reservation};
use crate::device::timeline::{SpanKind, host_span};
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::compile::Where;
use crate::memory::node::{Near, Queue, Ring};
use crate::program::regions::{Enter, Leave, Plan, RegionStep, order, place};
use tasks::{Array, Tasks, Work, other_of};

/// Strips that are on their way to the device at once, at most.
const STRIPS: usize = 8;

/// The part of the memory that they take, at most, if there is more than one.
const STRIP_PART: usize = 16;

/// Runs a chain, and gives the result of each of its nodes, in order.
pub(super) fn run(device: &Arc<DeviceCore>, ready: &Ready) -> Vec<Result<(), Error>> {
    let chain = &ready.chain;
    let mut results: Vec<Result<(), Error>> = chain.links.iter().map(|link| failure(ready, link)).collect();
    skip_dependents(chain, &mut results);
    let mut running = match Running::prepare(device, chain, &results) {
        Ok(running) => running,
        Err(error) => return failed(chain, results, &error),
    };
    let put = running.put();
    match running.streams.finish(chain, put, &mut results) {
        Err(error) => failed(chain, results, &error),
        Ok(()) => results,
    }
}

/// How the device's memory is used.
#[derive(Clone, Debug)]
struct Room {
    /// Bytes of each item, rounded so that those of about one size take each other's place.
    sizes: Vec<usize>,
    /// Bytes for items. Strips come after them: so many, each of so many bytes.
    items: usize,
    strips: usize,
    strip: usize,
}

/// A chain on its way.
struct Running<'a> {
    /// A load and a run for each step, and a store for each item that leaves.
    streams: Streams<'a>,
    chain: &'a Chain,
    tasks: Tasks,
    plan: Plan,
    room: Room,
    memory: Arc<Memory>,
    /// The host's strips, one for each of the device.
    /// Strips are put into it.
    staging: HostBlock,
    /// The last step that used each strip.
    strip_users: Vec<Option<usize>>,
    next_strip: usize,
    /// Where each item is on the device.
    at: Vec<Option<usize>>,
    _rest: Reservation,
}

impl<'a> Running<'a> {
    /// Brings the arrays to the host, orders the chain, and takes memory for the regions.
    fn prepare(
        device: &'a Arc<DeviceCore>,
        chain: &'a Chain,
        results: &[Result<(), Error>],
    ) -> Result<Running<'a>, Error> {
        let arrays = Array::all(chain)?;
        for array in &arrays {
            // SAFETY: the graph runs this only when no work conflicts with any node of the chain.
            unsafe { array.storage.leave_device(device)? };
            array.storage.pin(device);
        }
        let tasks = Tasks::new(chain, arrays, results);
        let (bytes, rest) = room(device, chain);
        let lists = begin_folds(device, chain, 0..chain.links.len(), results)?;
        let plan = |bytes: u64| {
            let small = |needed: usize| too_small(chain, &tasks, bytes as usize, device.budget(), needed);
            fitted(&tasks, bytes as usize).map_err(small)
        };
        let plan = |bytes| plan_beside(bytes, lists, plan);
        let (memory, room, plan) = device.allocate_planned(bytes, plan, |(room, plan): (Room, Plan)| {
            let memory = device.allocate(Purpose::Chains, room.items + room.strips * room.strip, None)?;
            Ok((memory, room, plan))
        })?;
        Ok(Running {
            streams: Streams::new(device),
            chain,
            strip_users: vec![None; room.strips],
            next_strip: 0,
            at: vec![None; room.sizes.len()],
            memory: Arc::new(memory),
            _rest: rest,
            staging: HostBlock::new(device.backend(), room.strips * room.strip),
            tasks,
            plan,
            room,
        })
    }

    /// Puts all commands into streams.
    fn put(&mut self) -> Result<(), Error> {
        let Plan { steps, last } = std::mem::take(&mut self.plan);
        let entered: usize = steps.iter().flat_map(|step| &step.enters).map(|enter| self.room.sizes[enter.item]).sum();
        self.count_passes(entered);
        // The regions that each link has still to be done in.
        let mut left = vec![0; self.chain.links.len()];
        self.tasks.works.iter().for_each(|work| left[work.link()] += 1);
        for (number, step) in steps.iter().enumerate() {
            for leave in &step.leaves {
                self.leave(leave)?;
                self.streams.device.counts.eviction();
            }
            if step.on_host {
                self.run_on_host(step)?;
                self.streams.nothing_loaded();
                self.streams.nothing_ran();
            } else {
                self.run(number, step)?;
            }
            let link = self.tasks.works[step.task].link();
            left[link] -= 1;
            if left[link] == 0 {
                self.streams.end_fold(link, &self.chain.links[link])?;
            }
        }
        last.iter().try_for_each(|leave| self.leave(leave))
    }

    /// A pass brings as many bytes to the device as all regions have that the chain touches.
    fn count_passes(&self, entered: usize) {
        let all: usize =
            self.tasks.used.iter().zip(&self.room.sizes).filter(|(used, _)| **used).map(|(_, size)| size).sum();
        self.streams.device.counts.pass(self.tasks.sweeps as u64);
        (1..entered.div_ceil(all.max(1))).for_each(|_| self.streams.device.counts.pass(0));
    }

    /// Brings what an item holds to the host, if that needs it.
    fn leave(&mut self, leave: &Leave) -> Result<(), Error> {
        let (device, backend) = (self.streams.device, self.streams.device.backend());
        let Some(at) = self.at[leave.item].take() else { return Ok(()) };
        if !leave.store {
            return Ok(());
        }
        self.streams.wait(DOWN, Some(leave.after_run), None)?;
        let (array, region) = self.tasks.region(leave.item);
        let bytes = array.bytes(region);
        array.storage.touch_host(region);
        // SAFETY: the item has its bytes there, and the plan stores it after the steps that write it, which come before
        // in the stream that was waited for; the graph keeps all other work away from the host's copy.
        let download = || unsafe { backend.download(DOWN, &self.memory, at, array.storage.base(region), bytes) };
        device.timed(SpanKind::D2h, format_args!("R{region}"), DOWN, bytes, download)?;
        device.counts.download(bytes);
        self.streams.stored(true)
    }

    /// Brings an item to its place.
    fn enter(&mut self, enter: &Enter) -> Result<(), Error> {
        let (device, backend) = (self.streams.device, self.streams.device.backend());
        self.streams.wait(UP, enter.after_run, enter.after_store)?;
        self.at[enter.item] = Some(enter.at);
        let (array, region) = self.tasks.region(enter.item);
        let bytes = array.bytes(region);
        // SAFETY: what was there is no one's any more.
        unsafe { backend.poison(UP, &self.memory, enter.at, bytes)? };
        if !enter.load {
            return Ok(());
        }
        if !array.storage.host_touched(region) {
            // SAFETY: as below.
            return unsafe { backend.zero(UP, &self.memory, enter.at, bytes) };
        }
        // SAFETY: the place has the item's bytes and is free once what was waited for is done; the host's copy is the
        // newest by then, and the plan stores no other before this is done.
        let upload = || unsafe { backend.upload(UP, &self.memory, enter.at, array.storage.base(region), bytes) };
        device.timed(SpanKind::H2d, format_args!("R{region}"), UP, bytes, upload)?;
        device.counts.upload(bytes);
        Ok(())
    }

    /// Runs a step on the device.
    fn run(&mut self, number: usize, step: &RegionStep) -> Result<(), Error> {
        let device = self.streams.device;
        step.enters.iter().try_for_each(|enter| self.enter(enter))?;
        let strips = if step.strips.is_empty() { SmallVec::new() } else { self.send_strips(number, step)? };
        if step.enters.is_empty() && step.strips.is_empty() {
            self.streams.nothing_loaded();
        } else {
            self.streams.loaded(false)?;
        }
        for enter in step.enters.iter().filter(|enter| !enter.load) {
            self.fix(enter.item, enter.at)?;
        }
        device.counts.launch(1);
        let work = &self.tasks.works[step.task];
        let place = self.chain.links[work.link()].node.recorded;
        let name = format_args!("{}:{} R{}", place.file(), place.line(), work.region(&self.tasks.arrays));
        match work {
            Work::Sweep { link, region, boxes } => {
                let Some(sweep) = self.chain.links[*link].op.kernel() else { return self.streams.ran() };
                let ring = |array: usize| {
                    let Array { storage, regional, first } = &self.tasks.arrays[array];
                    let start = |region: usize| self.at[first + region].unwrap_or(0);
                    let (storage, layout) = (storage.clone(), regional.layout.clone());
                    let other = other_of(sweep, &self.tasks.arrays[array], boxes);
                    let near = Near::Regions(other.map(|region| (region, start(region))).into_iter().collect());
                    Ring { storage, memory: self.memory.clone(), layout, start: start(*region), near }
                };
                let rings: SmallVec<[Ring; 4]> =
                    self.chain.links[*link].uses.iter().map(|one| ring(one.array)).collect();
                let queue = Queue { device, stream: RUN, rings: &rings, refilled: &[], lane: None, notes: None };
                // SAFETY: the plan runs this when the regions are there; what it reads was checked to lie in them; the
                // graph keeps all other work away.
                let put = || unsafe { sweep.launch.clone().enqueue(&queue, boxes) };
                let done = device.timed(SpanKind::Kernel, name, RUN, 0, put)?;
                self.streams.tells(*link, done);
            }
            Work::Fill { array, part, .. } => {
                let Array { regional, first, .. } = &self.tasks.arrays[*array];
                let Some(part) = regional.parts().get(*part) else { return self.streams.ran() };
                let at = |region: usize| {
                    let strip = strips.iter().find(|(item, _)| *item == first + region);
                    match (strip, self.at[first + region]) {
                        (Some((_, at)), _) => Where::Strip(*at),
                        (None, at) => Where::Region(regional.site(region, at.unwrap_or(0))),
                    }
                };
                let copies = regional.part_on_device(device, part, at)?;
                // SAFETY: the regions are there and so are the strips of the others; the rest as above.
                let put = || unsafe { copies.run(RUN, &self.memory, &self.memory) };
                device.timed(SpanKind::Ghost, name, RUN, 0, put)?;
                self.streams.hold(copies);
            }
            Work::Fix { array, region, .. } => {
                let item = self.tasks.arrays[*array].first + region;
                let at = self.at[item].unwrap_or(0);
                device.timed(SpanKind::Ghost, name, RUN, 0, || self.fix(item, at))?;
            }
        }
        self.streams.ran()
    }

    /// Sets the ghosts of fixed value of an item that is on the device from byte `at` on.
    fn fix(&mut self, item: usize, at: usize) -> Result<(), Error> {
        let (array, region) = self.tasks.region(item);
        let site = array.regional.site(region, at);
        if let Some(copies) = array.regional.fix_on_device(self.streams.device, region, site)? {
            // SAFETY: the region is there, and no one else uses it meanwhile.
            unsafe { copies.run(RUN, &self.memory, &self.memory)? };
            self.streams.hold(copies);
        }
        Ok(())
    }

    /// Sends what a part of a ghost fill needs of regions on the host; gives for each of those its place on the device.
    fn send_strips(&mut self, number: usize, step: &RegionStep) -> Result<SmallVec<[(usize, usize); 8]>, Error> {
        let (device, backend) = (self.streams.device, self.streams.device.backend());
        let mut places = SmallVec::new();
        let Work::Fill { array, part, .. } = &self.tasks.works[step.task] else { return Ok(places) };
        let Array { storage, regional, first } = &self.tasks.arrays[*array];
        let Some(part) = regional.parts().get(*part) else { return Ok(places) };
        let slot = self.next_strip;
        self.next_strip = (slot + 1) % self.room.strips.max(1);
        if let Some(user) = self.strip_users[slot].replace(number) {
            self.streams.wait_on_host(Some(user), None)?;
            self.streams.wait(UP, Some(user), None)?;
        }
        self.streams.wait_on_host(None, step.after_store)?;
        let (host, mut end) = (slot * self.room.strip, 0);
        for (region, bytes) in part.strips.iter().filter(|(region, _)| step.strips.contains(&(first + region))) {
            // SAFETY: the host's copy is the newest, and nothing that was put into a stream writes it.
            unsafe { regional.pack(storage, part, *region, self.staging.part(host + end, *bytes)) };
            places.push((first + region, self.room.items + host + end));
            end += bytes;
        }
        let (from, to) = (self.staging.part(host, end).as_ptr(), self.room.items + host);
        // SAFETY: both have the bytes; those who used them before are done by then, and the host's stay until this is.
        let upload = || unsafe { backend.upload(UP, &self.memory, to, from, end) };
        device.timed(SpanKind::H2d, format_args!("strips of R{}", part.region), UP, end, upload)?;
        device.counts.upload(end);
        Ok(places)
    }

    /// Does a part of a ghost fill on the host, or sets ghosts of fixed value there.
    fn run_on_host(&self, step: &RegionStep) -> Result<(), Error> {
        let work = &self.tasks.works[step.task];
        let (Work::Fill { array, .. } | Work::Fix { array, .. }) = work else { return Ok(()) };
        let Array { storage, regional, .. } = &self.tasks.arrays[*array];
        self.streams.wait_on_host(step.after_load, step.after_store)?;
        let region = work.region(&self.tasks.arrays);
        storage.touch_host(region);
        let place = self.chain.links[work.link()].node.recorded;
        let name = format_args!("{}:{} R{region}", place.file(), place.line());
        let part = match work {
            Work::Fill { part, .. } => regional.parts().get(*part),
            _ => None,
        };
        // SAFETY: the host's copies are the newest, and nothing that was put into a stream uses the region's or writes
        // the others; the graph keeps all other work away.
        host_span(self.streams.device.timeline.as_deref(), name, || unsafe {
            match part {
                Some(part) => regional.part_on_host(storage, part),
                None => regional.fix_on_host(storage, region),
            }
        });
        Ok(())
    }
}

/// How the tasks fit into so many bytes; or how many the largest needs.
fn fitted(tasks: &Tasks, bytes: usize) -> Result<(Room, Plan), usize> {
    let strip = tasks.strip.next_multiple_of(256);
    let most = (bytes / STRIP_PART).checked_div(strip).map_or(0, |strips| strips.clamp(1, STRIPS));
    let exact: Vec<usize> = tasks.sizes();
    let mut needed = 0;
    // What barely fits takes no more than it has to.
    for (sizes, strips) in [(rounded(&exact), most), (exact, most.min(1))] {
        let all: usize = tasks.used.iter().zip(&sizes).filter(|(used, _)| **used).map(|(_, size)| size).sum();
        let items = (bytes.saturating_sub(strips * strip) / 256 * 256).min(all);
        let chosen = order(&tasks.list, &sizes, items);
        match place(&tasks.list, &chosen, &sizes, items) {
            Ok(plan) => return Ok((Room { sizes, items, strips, strip }, plan)),
            Err(small) => needed = small.needed + strips * strip,
        }
    }
    Err(needed)
}

/// Sizes of which those that differ by an eighth or less are one.
fn rounded(sizes: &[usize]) -> Vec<usize> {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut tops: Vec<usize> = Vec::new();
    for size in sorted {
        if tops.last().is_none_or(|top| size < top - top / 8) {
            tops.push(size);
        }
    }
    let top = |size: &usize| tops.iter().rev().find(|top| *top >= size).copied().unwrap_or(*size);
    sizes.iter().map(top).collect()
}

fn too_small(chain: &Chain, tasks: &Tasks, room: usize, budget: u64, needed: usize) -> Error {
    let list: Vec<String> = tasks.arrays.iter().map(Array::describe).collect();
    let place = chain.links.first().map_or(String::new(), |link| format!(" recorded at {}", link.node.recorded));
    let error = Error::new(
        ErrorKind::Memory,
        format!("run work{place} on regions of {} arrays ({})", list.len(), list.join("; ")),
        format!(
            "room for {room} of {budget} bytes of arrays on the device, where the largest regions that go together need \
             {needed}"
        ),
        "raise the memory limit, or cut the arrays into smaller regions",
    );
    let needs = chain.links.iter().find_map(|link| link.op.kernel()?.launch.needs());
    match needs {
        Some(needs) => error.because(&needs.found(None), &needs.advice),
        None => error,
    }
}
