//! Running a chain of regions: each is on the device as a whole, with its ghosts, while something works on it.
//!
//! The links of a chain become tasks (`tasks.rs`), which are ordered and given their places in one block of the
//! device's memory (`program/regions.rs`). Here is what moves and runs where for the steps of the plan. Ghosts are
//! filled where the data is: on the device; on the host while neither the region nor those beside it are newer on the
//! device; and where a region beside it is on the host, its strip alone crosses the link.

mod tasks;

use std::sync::Arc;

use smallvec::SmallVec;

use super::Chain;
use super::execute::{Site, execute};
use super::planes::{begin_folds, plan_beside, room};
use super::streams::{DOWN, RUN, Streams, UP};
use crate::backend::{HostBlock, Memory};
use crate::device::core::DeviceCore;
use crate::device::ledger::{Purpose, Reservation};
use crate::device::timeline::{SpanKind, host_span};
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::compile::Where;
use crate::memory::node::{Near, Queue, Ring};
use crate::program::regions::{Plan, RegionPiece, RegionStep, order, place};
use crate::program::steps::{After, Move};
use tasks::{Array, Tasks, Work, other_of};

/// Strips that are on their way to the device at once, at most.
const STRIPS: usize = 8;

/// The part of the memory that they take, at most, if there is more than one.
const STRIP_PART: usize = 16;

/// Runs a chain whose arrays are on the host.
///
/// # Errors
/// Too little room, and what the driver reports.
pub(super) fn run(device: &Arc<DeviceCore>, chain: &Chain, results: &mut [Result<(), Error>]) -> Result<(), Error> {
    let (mut slots, plan) = Slots::prepare(device, chain, results)?;
    slots.count(device, &plan);
    let mut streams = Streams::new(device);
    let put = execute(&mut streams, chain, &mut slots, &plan.steps);
    streams.finish(chain, put, results)
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

/// The slots of a chain on its way.
struct Slots<'a> {
    chain: &'a Chain,
    tasks: Tasks,
    room: Room,
    memory: Arc<Memory>,
    /// The host's strips, one for each of the device.
    /// Strips are put into it.
    staging: HostBlock,
    /// The last step that used each strip.
    strip_users: Vec<Option<usize>>,
    next_strip: usize,
    /// The step under way, and where the strips are that its fill reads, of which items.
    step: usize,
    strips: SmallVec<[(usize, usize); 8]>,
    /// Where each item is on the device, or was.
    at: Vec<Option<usize>>,
    _rest: Reservation,
}

impl<'a> Slots<'a> {
    /// Orders the chain, and takes memory for the regions.
    fn prepare(
        device: &Arc<DeviceCore>,
        chain: &'a Chain,
        results: &[Result<(), Error>],
    ) -> Result<(Slots<'a>, Plan), Error> {
        let tasks = Tasks::new(chain, Array::all(chain)?, results);
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
        let slots = Slots {
            chain,
            strip_users: vec![None; room.strips],
            next_strip: 0,
            step: 0,
            strips: SmallVec::new(),
            at: vec![None; room.sizes.len()],
            memory: Arc::new(memory),
            _rest: rest,
            staging: HostBlock::new(device.backend(), room.strips * room.strip),
            tasks,
            room,
        };
        Ok((slots, plan))
    }

    /// Counts evictions and passes: a pass brings as many bytes to the device as all regions have that the chain
    /// touches.
    fn count(&self, device: &DeviceCore, plan: &Plan) {
        let entered = plan.steps.iter().flat_map(|step| &step.loads).filter_map(|load| match load.piece {
            RegionPiece::Item { item, .. } => Some(self.room.sizes[item]),
            RegionPiece::Strips { .. } => None,
        });
        let used = self.tasks.used.iter().zip(&self.room.sizes).filter(|(used, _)| **used);
        let (entered, all) = (entered.sum::<usize>(), used.map(|(_, size)| size).sum::<usize>());
        device.counts.pass(self.tasks.sweeps as u64);
        (1..entered.div_ceil(all.max(1))).for_each(|_| device.counts.pass(0));
        (0..plan.evictions).for_each(|_| device.counts.eviction());
    }

    /// Does a part of a ghost fill on the host, or sets ghosts of fixed value there.
    fn run_on_host(&self, device: &DeviceCore, work: &Work) -> Result<(), Error> {
        let (Work::Fill { array, .. } | Work::Fix { array, .. }) = work else { return Ok(()) };
        let Array { storage, regional, .. } = &self.tasks.arrays[*array];
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
        host_span(device.timeline.as_deref(), name, || unsafe {
            match part {
                Some(part) => regional.part_on_host(storage, part),
                None => regional.fix_on_host(storage, region),
            }
        });
        Ok(())
    }

    /// Sets the ghosts of fixed value of an item that is on the device.
    fn fix(&mut self, streams: &mut Streams<'_>, item: usize) -> Result<(), Error> {
        let (array, region) = self.tasks.region(item);
        let site = array.regional.site(region, self.at[item].unwrap_or(0));
        if let Some(copies) = array.regional.fix_on_device(streams.device, region, site)? {
            // SAFETY: the region is there, and no one else uses it meanwhile.
            unsafe { copies.run(RUN, &self.memory, &self.memory)? };
            streams.hold(copies);
        }
        Ok(())
    }

    /// Sends what a part of a ghost fill needs of regions on the host, once it comes after this there.
    fn send_strips(
        &mut self,
        streams: &mut Streams<'_>,
        (task, items): (usize, &[usize]),
        after: After,
    ) -> Result<(), Error> {
        let backend = streams.device.backend();
        let Work::Fill { array, part, .. } = &self.tasks.works[task] else { return Ok(()) };
        let Array { storage, regional, first } = &self.tasks.arrays[*array];
        let Some(part) = regional.parts().get(*part) else { return Ok(()) };
        let slot = self.next_strip;
        self.next_strip = (slot + 1) % self.room.strips.max(1);
        if let Some(user) = self.strip_users[slot].replace(self.step) {
            streams.wait_on_host(After { load: Some(user), ..After::default() })?;
            streams.wait(UP, After { run: Some(user), ..After::default() })?;
        }
        streams.wait_on_host(after)?;
        let (host, mut end) = (slot * self.room.strip, 0);
        for (region, bytes) in part.strips.iter().filter(|(region, _)| items.contains(&(first + region))) {
            // SAFETY: the host's copy is the newest, and nothing that was put into a stream writes it.
            unsafe { regional.pack(storage, part, *region, self.staging.part(host + end, *bytes)) };
            self.strips.push((first + region, self.room.items + host + end));
            end += bytes;
        }
        let (from, to) = (self.staging.part(host, end).as_ptr(), self.room.items + host);
        // SAFETY: both have the bytes; those who used them before are done by then, and the host's stay until this is.
        let upload = || unsafe { backend.upload(UP, &self.memory, to, from, end) };
        streams.device.timed(SpanKind::H2d, format_args!("strips of R{}", part.region), UP, end, upload)?;
        streams.device.counts.upload(end);
        Ok(())
    }
}

impl Site<RegionPiece, usize> for Slots<'_> {
    fn begin(&mut self, _: &mut Streams<'_>, number: usize, _: &[RegionStep]) -> Result<(), Error> {
        self.step = number;
        self.strips.clear();
        Ok(())
    }

    fn link(&self, task: &usize) -> usize {
        self.tasks.works[*task].link()
    }

    fn load(&mut self, streams: &mut Streams<'_>, load: &Move<RegionPiece>) -> Result<bool, Error> {
        let (item, at, load) = match &load.piece {
            RegionPiece::Item { item, at, load } => (*item, *at, *load),
            RegionPiece::Strips { task, items } => {
                return self.send_strips(streams, (*task, items), load.after).map(|()| false);
            }
        };
        let (device, backend) = (streams.device, streams.device.backend());
        self.at[item] = Some(at);
        let (array, region) = self.tasks.region(item);
        let bytes = array.bytes(region);
        // SAFETY: what was there is no one's any more.
        unsafe { backend.poison(UP, &self.memory, at, bytes)? };
        if load && array.storage.host_touched(region) {
            // SAFETY: the place has the item's bytes and is free once what was waited for is done; the host's copy is
            // the newest by then, and the plan stores no other before this is done.
            let upload = || unsafe { backend.upload(UP, &self.memory, at, array.storage.base(region), bytes) };
            device.timed(SpanKind::H2d, format_args!("R{region}"), UP, bytes, upload)?;
            device.counts.upload(bytes);
        } else if load {
            // SAFETY: as above.
            unsafe { backend.zero(UP, &self.memory, at, bytes)? };
        }
        Ok(false)
    }

    fn entered(&mut self, streams: &mut Streams<'_>, piece: &RegionPiece) -> Result<(), Error> {
        match piece {
            RegionPiece::Item { item, load: false, .. } => self.fix(streams, *item),
            RegionPiece::Item { .. } | RegionPiece::Strips { .. } => Ok(()),
        }
    }

    fn run(&mut self, streams: &mut Streams<'_>, task: &usize, on_host: bool) -> Result<(), Error> {
        let device = streams.device;
        let work = &self.tasks.works[*task];
        if on_host {
            return self.run_on_host(device, work);
        }
        let place = self.chain.links[work.link()].node.recorded;
        let name = format_args!("{}:{} R{}", place.file(), place.line(), work.region(&self.tasks.arrays));
        match work {
            Work::Sweep { link, region, boxes } => {
                let Some(sweep) = self.chain.links[*link].op.kernel() else { return Ok(()) };
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
                streams.tells(*link, done);
            }
            Work::Fill { array, part, .. } => {
                let Array { regional, first, .. } = &self.tasks.arrays[*array];
                let Some(part) = regional.parts().get(*part) else { return Ok(()) };
                let at = |region: usize| {
                    let strip = self.strips.iter().find(|(item, _)| *item == first + region);
                    match (strip, self.at[first + region]) {
                        (Some((_, at)), _) => Where::Strip(*at),
                        (None, at) => Where::Region(regional.site(region, at.unwrap_or(0))),
                    }
                };
                let copies = regional.part_on_device(device, part, at)?;
                // SAFETY: the regions are there and so are the strips of the others; the rest as above.
                let put = || unsafe { copies.run(RUN, &self.memory, &self.memory) };
                device.timed(SpanKind::Ghost, name, RUN, 0, put)?;
                streams.hold(copies);
            }
            Work::Fix { array, region, .. } => {
                let item = self.tasks.arrays[*array].first + region;
                device.timed(SpanKind::Ghost, name, RUN, 0, || self.fix(streams, item))?;
            }
        }
        Ok(())
    }

    fn store(&mut self, streams: &mut Streams<'_>, store: &Move<RegionPiece>) -> Result<(), Error> {
        let RegionPiece::Item { item, at, .. } = store.piece else { return Ok(()) };
        let (device, backend) = (streams.device, streams.device.backend());
        let (array, region) = self.tasks.region(item);
        let bytes = array.bytes(region);
        array.storage.touch_host(region);
        // SAFETY: the item has its bytes there, and the plan stores it after the steps that write it, which come before
        // in the stream that was waited for; the graph keeps all other work away from the host's copy.
        let download = || unsafe { backend.download(DOWN, &self.memory, at, array.storage.base(region), bytes) };
        device.timed(SpanKind::D2h, format_args!("R{region}"), DOWN, bytes, download)?;
        device.counts.download(bytes);
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
