//! Filling the ghosts of an array of which the device has some regions and the host the others.
//!
//! Each phase of a plan is parted by the sides of the regions that a copy sets and reads. Copies on one side are done
//! there. Of those that cross only what they read goes over the link: packed into strips on the side that has it, and
//! read from there on the other.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::storage::Storage;
use super::Which;
use super::compile::{Where, packs};
use super::device::DeviceCopies;
use super::host::OnHost;
use super::plan::{GhostCopy, GhostPlan, Phase};
use super::regions::Regional;
use crate::backend::{Backend, HostBlock, Memory};
use crate::device::core::DeviceCore;
use crate::device::timeline::SpanKind;
use crate::error::Error;
use crate::memory::node::Queue;

/// What was made of a plan, for the sides last asked for.
#[derive(Debug, Default)]
pub(super) struct MixedGhosts(Mutex<Vec<Arc<Mixed>>>);

/// Sides kept: those of the arrays of a loop, before and after a border moved.
const KEPT: usize = 4;

/// A plan parted by the sides of the regions.
#[derive(Debug)]
struct Mixed {
    backend: Arc<dyn Backend>,
    /// Of each region, whether the device has it.
    sides: Vec<bool>,
    /// Ghosts of fixed value are set too.
    fixed: bool,
    /// Whether ghosts of each region are set.
    set: Vec<bool>,
    phases: Vec<Parts>,
    /// Bytes of a block.
    bytes: usize,
    /// Blocks that no fill uses now.
    blocks: Mutex<Vec<Block>>,
}

/// The copies of a phase.
#[derive(Debug)]
struct Parts {
    host: Vec<GhostCopy>,
    device: DeviceCopies,
    to_host: Crossing,
    to_device: Crossing,
}

/// Copies whose sources cross the link one way: in one strip.
#[derive(Debug)]
struct Crossing {
    /// What the host does: packs the strip, or sets ghosts from it.
    host: Vec<GhostCopy>,
    /// The other of both.
    device: DeviceCopies,
    /// The place of the strip in a block.
    bytes: Range<usize>,
}

/// Memory on both sides for what crosses.
#[derive(Debug)]
struct Block {
    host: HostBlock,
    device: Memory,
}

impl Block {
    fn new(device: &DeviceCore, bytes: usize) -> Result<Block, Error> {
        Ok(Block { host: HostBlock::new(device.backend(), bytes), device: device.table(bytes)? })
    }
}

impl Regional {
    /// Fills the ghosts of an array whose regions are on both sides, each on the side that has its newest values. Waits
    /// until that is done.
    ///
    /// # Errors
    /// Copies that failed, memory that the device does not have, or no compiler.
    ///
    /// # Safety
    /// `storage` is the memory of an array of this geometry, and no one else uses it meanwhile, on either side.
    pub(crate) unsafe fn fill_both(
        &self,
        device: &Arc<DeviceCore>,
        storage: &Arc<Storage>,
        fixed: bool,
    ) -> Result<(), Error> {
        storage.fill_owed_on_host(device);
        storage.materialize_ghosts_now(device)?;
        let (plan, sides) = (self.plan(), storage.sides());
        // Values that are made of others on both sides, or nothing on the device: all of it on the host.
        if !sides.contains(&true) || plan.phases.iter().any(|phase| phase.moving.iter().any(|c| torn(c, &sides))) {
            for region in 0..sides.len() {
                // SAFETY: the caller's promise.
                unsafe { storage.to_host(device, region, true)? };
            }
            let which = if fixed { Which::All } else { Which::Moving };
            // SAFETY: the caller's promise.
            unsafe { OnHost::new(plan, storage) }.fill(which);
            return Ok(());
        }
        let mixed = self.parted(device, sides, fixed)?;
        let free = mixed.blocks.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut block = match free {
            Some(block) => block,
            None => Block::new(device, mixed.bytes)?,
        };
        let queue = Queue { device, stream: device.any_stream(), rings: &[], refilled: &[], lane: None, notes: None };
        // SAFETY: the caller's promise.
        let run = Run { host: unsafe { OnHost::new(plan, storage) }, mixed: &mixed, queue: &queue, storage };
        // SAFETY: the caller's promise; nothing that it put into streams is left when it fails.
        queue.enqueue(|| unsafe { run.all(&mut block) })?;
        mixed.blocks.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(())
    }

    /// The plan for these sides: made once, then looked up.
    fn parted(&self, device: &DeviceCore, sides: Vec<bool>, fixed: bool) -> Result<Arc<Mixed>, Error> {
        let mut known = self.mixed.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |m: &&Arc<Mixed>| m.fixed == fixed && m.sides == sides && Arc::ptr_eq(&m.backend, device.backend());
        if let Some(mixed) = known.iter().find(same) {
            return Ok(mixed.clone());
        }
        let mixed = Arc::new(Mixed::new(device, self.plan(), sides, fixed)?);
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push(mixed.clone());
        Ok(mixed)
    }
}

impl Mixed {
    fn new(device: &DeviceCore, plan: &GhostPlan, sides: Vec<bool>, fixed: bool) -> Result<Mixed, Error> {
        let sites = plan.sites();
        let mut set = vec![false; sides.len()];
        let mut end = 0;
        let mut phases = Vec::with_capacity(plan.phases.len());
        for Phase { moving, fixed: constant, .. } in &plan.phases {
            let constant: &[_] = if fixed { constant } else { &[] };
            let (mut host, mut on_device, mut down, mut up) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for copy in moving.iter().chain(constant) {
                set[copy.region] = true;
                let from = copy.sources().next().map_or(sides[copy.region], |from| sides[from.region]);
                let list = match (from, sides[copy.region]) {
                    (false, false) => &mut host,
                    (true, true) => &mut on_device,
                    (true, false) => &mut down,
                    (false, true) => &mut up,
                };
                list.push(copy.clone());
            }
            let on = |copies: &[GhostCopy], strip: usize| {
                let at = |region: usize, packed: Option<usize>| match packed {
                    Some(start) => Where::Strip(strip + start),
                    None => Where::Region(sites[region]),
                };
                DeviceCopies::new(device, plan.jobs(copies, at))
            };
            let mut crossing = |mut copies: Vec<GhostCopy>, to_device: bool| {
                let strips = plan.through_strips(&mut copies, |_| Some(0));
                let bytes = end..end + strips.iter().map(|(_, bytes)| bytes).sum::<usize>();
                end = bytes.end;
                let packs = packs(&copies, |_| true);
                let (host, there) = if to_device { (packs, copies) } else { (copies, packs) };
                Ok::<_, Error>(Crossing { host, device: on(&there, bytes.start)?, bytes })
            };
            let (to_host, to_device) = (crossing(down, false)?, crossing(up, true)?);
            phases.push(Parts { host, device: on(&on_device, 0)?, to_host, to_device });
        }
        let backend = device.backend().clone();
        Ok(Mixed { backend, sides, fixed, set, phases, bytes: end, blocks: Mutex::default() })
    }
}

/// Whether a copy reads regions of both sides.
fn torn(copy: &GhostCopy, sides: &[bool]) -> bool {
    let mut from = copy.sources().map(|from| sides[from.region]);
    from.next().is_some_and(|first| from.any(|other| other != first))
}

/// A fill under way.
struct Run<'a> {
    host: OnHost<'a>,
    mixed: &'a Mixed,
    queue: &'a Queue<'a>,
    storage: &'a Arc<Storage>,
}

impl Run<'_> {
    /// # Safety
    /// As [`Regional::fill_both`]. If it fails, who calls waits for the streams.
    unsafe fn all(&self, block: &mut Block) -> Result<(), Error> {
        let Run { mixed, queue, storage, .. } = self;
        let backend = queue.device.backend();
        let memory = storage.device_memory(queue.device)?;
        queue.device.counts.launch(1);
        for (region, (on_device, set)) in mixed.sides.iter().zip(&mixed.set).enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                if *on_device {
                    storage.to_device(queue, region, *set)?;
                } else {
                    storage.to_host(queue.device, region, *set)?;
                }
            }
        }
        for parts in &mixed.phases {
            // SAFETY: the caller's promise, for these copies; within a phase none writes what another one touches.
            unsafe { self.phase(parts, &memory, block)? };
        }
        backend.record(queue.stream)?.finish()
    }

    /// # Safety
    /// As [`Run::all`]. The memory is the array's, and the block that of these sides.
    unsafe fn phase(&self, parts: &Parts, memory: &Memory, block: &mut Block) -> Result<(), Error> {
        let Queue { device, stream, .. } = *self.queue;
        let backend = device.backend();
        let host: *mut u8 = block.host.start();
        let on_device = |copies: &DeviceCopies, to: &Memory, from: &Memory| {
            // SAFETY: the copies were made for this array and this block; the rest is the caller's promise.
            device.timed(SpanKind::Ghost, "fill_ghosts", stream, 0, || unsafe { copies.run(stream, to, from) })
        };
        let Parts { to_host: down, to_device: up, .. } = parts;
        // What the host waits for goes first.
        let mut coming = None;
        if !down.bytes.is_empty() {
            on_device(&down.device, &block.device, memory)?;
            let bytes = down.bytes.len();
            device.counts.download(bytes);
            // SAFETY: both blocks have these bytes, which nothing else uses until the copy has been waited for.
            device.timed(SpanKind::D2h, "ghosts", stream, bytes, || unsafe {
                backend.download(stream, &block.device, down.bytes.start, host.add(down.bytes.start), bytes)
            })?;
            coming = Some(backend.record(stream)?);
            backend.flush(stream)?;
        }
        if !up.bytes.is_empty() {
            // SAFETY: the strip is in the block, aligned, and no copy under way uses it.
            unsafe { self.host.with_strips(host.add(up.bytes.start)) }.copies(&up.host);
            let bytes = up.bytes.len();
            device.counts.upload(bytes);
            // SAFETY: as for the download.
            device.timed(SpanKind::H2d, "ghosts", stream, bytes, || unsafe {
                backend.upload(stream, &block.device, up.bytes.start, host.add(up.bytes.start), bytes)
            })?;
            on_device(&up.device, memory, &block.device)?;
        }
        if !parts.device.is_empty() {
            on_device(&parts.device, memory, memory)?;
        }
        backend.flush(stream)?;
        self.host.copies(&parts.host);
        if let Some(event) = coming {
            event.finish()?;
            // SAFETY: the copy into the block is done.
            unsafe { self.host.with_strips(host.add(down.bytes.start)) }.copies(&down.host);
        }
        Ok(())
    }
}
