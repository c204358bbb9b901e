//! Filling the ghosts of an array of which the device has some regions and the host the others.
//!
//! Each phase of a plan is parted by the sides of the regions that a copy sets and reads. Copies on one side are done
//! there. Of those that cross only the values that are set go over the link: packed into a block on the side that has
//! what they are made of, and set from it on the other.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ElementType;

use super::device::{DeviceCopies, packed_jobs};
use super::fill::{self, Packed, Way, Which};
use super::plan::{GhostCopy, GhostPlan, Phase};
use crate::backend::{Backend, HostBlock, Memory};
use crate::device::core::DeviceCore;
use crate::device::timeline::SpanKind;
use crate::error::Error;
use crate::memory::layout::Layout;
use crate::memory::node::Queue;
use crate::memory::storage::Storage;

/// What was made of a plan, for the sides last asked for.
#[derive(Debug)]
pub(super) struct MixedGhosts<const D: usize>(Mutex<Vec<Arc<Mixed<D>>>>);

impl<const D: usize> Default for MixedGhosts<D> {
    fn default() -> Self {
        MixedGhosts(Mutex::default())
    }
}

/// Sides kept: those of the arrays of a loop, before and after a border moved.
const KEPT: usize = 4;

/// Packed values are aligned to so many bytes.
const ALIGN: usize = 128;

/// A plan parted by the sides of the regions.
#[derive(Debug)]
struct Mixed<const D: usize> {
    backend: Arc<dyn Backend>,
    /// Of each region, whether the device has it.
    sides: Vec<bool>,
    /// Ghosts of fixed value are set too.
    fixed: bool,
    /// Whether ghosts of each region are set.
    set: Vec<bool>,
    phases: Vec<Parts<D>>,
    /// Bytes of a block.
    bytes: usize,
    /// Blocks that no fill uses now.
    blocks: Mutex<Vec<Block>>,
}

/// The copies of a phase.
#[derive(Debug)]
struct Parts<const D: usize> {
    host: Vec<GhostCopy<D>>,
    device: DeviceCopies,
    to_host: Strips<D>,
    to_device: Strips<D>,
}

/// Copies that cross the link one way.
#[derive(Debug)]
struct Strips<const D: usize> {
    copies: Vec<Packed<D>>,
    /// Their place in a block.
    bytes: Range<usize>,
    /// What packs them on the device, or sets ghosts from them there.
    device: DeviceCopies,
}

/// Memory on both sides for what crosses.
#[derive(Debug)]
struct Block {
    host: HostBlock,
    device: Memory,
}

impl Block {
    fn new(backend: &Arc<dyn Backend>, bytes: usize) -> Result<Block, Error> {
        Ok(Block { host: HostBlock::new(backend, bytes), device: Memory::new(backend, bytes)? })
    }
}

impl<const D: usize> GhostPlan<D> {
    /// Fills the ghosts of an array whose regions are on both sides, each on the side that has its newest values. Waits
    /// until that is done.
    ///
    /// # Errors
    /// Copies that failed, memory that the device does not have, or no compiler.
    ///
    /// # Safety
    /// The plan was made for `layout` and elements of type `element`, `storage` is the memory of such an array, and no
    /// one else uses it meanwhile, on either side.
    pub(crate) unsafe fn fill_both(
        &self,
        device: &Arc<DeviceCore>,
        layout: &Layout<D>,
        storage: &Arc<Storage>,
        element: &ElementType,
        fixed: bool,
    ) -> Result<(), Error> {
        storage.settle_ghosts_now(device)?;
        let sides = storage.sides();
        // Values that are made of others on both sides, or nothing on the device: all of it on the host.
        if !sides.contains(&true) || self.phases.iter().any(|phase| phase.moving.iter().any(|c| torn(c, &sides))) {
            for region in 0..layout.regions.len() {
                // SAFETY: the caller's promise.
                unsafe { storage.to_host(device, region, true)? };
            }
            let which = if fixed { Which::All } else { Which::Moving };
            // SAFETY: the caller's promise.
            unsafe { fill::run(self, layout, storage, element, which) };
            return Ok(());
        }
        let mixed = self.parted(device, layout, element, sides, fixed)?;
        let free = mixed.blocks.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut block = match free {
            Some(block) => block,
            None => Block::new(device.backend(), mixed.bytes)?,
        };
        let queue = Queue { device, stream: device.any_stream(), rings: &[], refilled: &[] };
        let run = Run { plan: self, mixed: &mixed, queue: &queue, layout, storage, element };
        // SAFETY: the caller's promise; nothing that it put into streams is left when it fails.
        queue.enqueue(|| unsafe { run.all(&mut block) })?;
        mixed.blocks.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(())
    }

    /// The plan for these sides: made once, then looked up.
    fn parted(
        &self,
        device: &DeviceCore,
        layout: &Layout<D>,
        element: &ElementType,
        sides: Vec<bool>,
        fixed: bool,
    ) -> Result<Arc<Mixed<D>>, Error> {
        let mut known = self.mixed.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |m: &&Arc<Mixed<D>>| m.fixed == fixed && m.sides == sides && Arc::ptr_eq(&m.backend, device.backend());
        if let Some(mixed) = known.iter().find(same) {
            return Ok(mixed.clone());
        }
        let mixed = Arc::new(self.part_by(device, layout, element, sides, fixed)?);
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push(mixed.clone());
        Ok(mixed)
    }

    fn part_by(
        &self,
        device: &DeviceCore,
        layout: &Layout<D>,
        element: &ElementType,
        sides: Vec<bool>,
        fixed: bool,
    ) -> Result<Mixed<D>, Error> {
        let offsets = layout.device_offsets(element.bytes());
        let mut set = vec![false; sides.len()];
        let mut end = 0;
        let mut phases = Vec::with_capacity(self.phases.len());
        for Phase { moving, fixed: constant, .. } in &self.phases {
            let constant: &[_] = if fixed { constant } else { &[] };
            let (mut host, mut on_device, mut down, mut up) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for copy in moving.iter().chain(constant) {
                set[copy.region] = true;
                let from = copy.sources().next().map_or(sides[copy.region], |from| sides[from.region]);
                match (from, sides[copy.region]) {
                    (false, false) => host.push(copy.clone()),
                    (true, true) => on_device.push(copy),
                    (true, false) => down.push(copy),
                    (false, true) => up.push(copy),
                }
            }
            let mut strips = |copies: Vec<&GhostCopy<D>>, way: Way| {
                let start = end;
                let packed = copies.into_iter().map(|copy| pack(copy, element, &mut end));
                let copies: Vec<Packed<D>> = packed.collect();
                let device = DeviceCopies::new(device, packed_jobs(layout, element, &copies, way))?;
                Ok::<_, Error>(Strips { copies, bytes: start..end, device })
            };
            phases.push(Parts {
                host,
                device: DeviceCopies::new(device, self.phase_jobs(layout, &offsets, element, &on_device))?,
                to_host: strips(down, Way::In)?,
                to_device: strips(up, Way::Out)?,
            });
        }
        let backend = device.backend().clone();
        Ok(Mixed { backend, sides, fixed, set, phases, bytes: end, blocks: Mutex::default() })
    }
}

/// Whether a copy reads regions of both sides.
fn torn<const D: usize>(copy: &GhostCopy<D>, sides: &[bool]) -> bool {
    let mut from = copy.sources().map(|from| sides[from.region]);
    from.next().is_some_and(|first| from.any(|other| other != first))
}

/// Gives the values that a copy sets their places in a block.
fn pack<const D: usize>(copy: &GhostCopy<D>, element: &ElementType, end: &mut usize) -> Packed<D> {
    let at: SmallVec<[usize; 4]> = (element.component_types().iter())
        .map(|ty| {
            let start = *end;
            *end = (start + copy.cells.cells() * ty.size()).next_multiple_of(ALIGN);
            start
        })
        .collect();
    Packed { copy: copy.clone(), at }
}

/// A fill under way.
struct Run<'a, const D: usize> {
    plan: &'a GhostPlan<D>,
    mixed: &'a Mixed<D>,
    queue: &'a Queue<'a>,
    layout: &'a Layout<D>,
    storage: &'a Arc<Storage>,
    element: &'a ElementType,
}

impl<const D: usize> Run<'_, D> {
    /// # Safety
    /// As [`GhostPlan::fill_both`]. If it fails, who calls waits for the streams.
    unsafe fn all(&self, block: &mut Block) -> Result<(), Error> {
        let Run { mixed, queue, storage, .. } = self;
        let backend = queue.device.backend();
        let memory = storage.device_memory(queue.device)?;
        queue.device.count_launch();
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
    unsafe fn phase(&self, parts: &Parts<D>, memory: &Memory, block: &mut Block) -> Result<(), Error> {
        let Run { plan, queue, layout, storage, element, .. } = *self;
        let Queue { device, stream, .. } = *queue;
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
            device.count_download(bytes);
            // SAFETY: both blocks have these bytes, which nothing else uses until the copy has been waited for.
            device.timed(SpanKind::D2h, "ghosts", stream, bytes, || unsafe {
                backend.download(stream, &block.device, down.bytes.start, host.add(down.bytes.start), bytes)
            })?;
            coming = Some(backend.record(stream)?);
            backend.flush(stream)?;
        }
        if !up.bytes.is_empty() {
            // SAFETY: the caller's promise; the places are in the block, aligned, and no copy under way uses them.
            unsafe { fill::run_packed(&up.copies, Way::In, host, layout, storage, element) };
            let bytes = up.bytes.len();
            device.count_upload(bytes);
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
        // SAFETY: the caller's promise.
        unsafe { fill::run_copies(plan, &parts.host, layout, storage, element) };
        if let Some(event) = coming {
            event.finish()?;
            // SAFETY: the caller's promise; the copy into the block is done.
            unsafe { fill::run_packed(&down.copies, Way::Out, host, layout, storage, element) };
        }
        Ok(())
    }
}
