//! Filling the ghosts of an array of which the device has some regions and the host the others.
//!
//! Each phase of a plan is parted by the sides of the regions whose ghosts are set. What these read of regions of the
//! other side comes first, as boxes by themselves (`memory/parts.rs`), to where this side has older copies of those
//! regions. Then each side does its own copies, as if it had all regions.

use std::sync::{Arc, Mutex, PoisonError};

use super::super::parts::{Batch, OfRegion, OnTheWay, packed};
use super::super::storage::Storage;
use super::Which;
use super::compile::{Where, of_parts};
use super::device::DeviceCopies;
use super::host::OnHost;
use super::plan::{GhostCopy, GhostPlan, Phase};
use super::regions::Regional;
use crate::backend::cpu::{Memories, copy_box};
use crate::backend::{Backend, Memory};
use crate::device::core::DeviceCore;
use crate::device::passages::Passage;
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
}

/// The copies of a phase, and what each side reads of the other one's regions.
#[derive(Debug)]
struct Parts {
    host: Vec<GhostCopy>,
    device: DeviceCopies,
    to_host: Vec<OfRegion>,
    to_device: Batch,
}

/// What is on its way across the link, and memory that values pass through.
#[derive(Debug, Default)]
struct Crossing {
    boxes: Vec<OnTheWay>,
    passages: Vec<Passage>,
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
        // Nothing on the device: all of it on the host.
        if !sides.contains(&true) {
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
        let queue = Queue { device, stream: device.any_stream(), rings: &[], refilled: &[], lane: None, notes: None };
        let (run, mut crossing) = (Run { regional: self, mixed: &mixed, queue: &queue, storage }, Crossing::default());
        // SAFETY: the caller's promise; nothing that it put into streams is left when it fails.
        queue.enqueue(|| unsafe { run.all(&mut crossing) })?;
        let passages = crossing.passages.into_iter().chain(crossing.boxes.into_iter().map(|of| of.passage));
        passages.for_each(|passage| device.passages().give(passage));
        Ok(())
    }

    /// The plan for these sides: made once, then looked up.
    fn parted(&self, device: &DeviceCore, sides: Vec<bool>, fixed: bool) -> Result<Arc<Mixed>, Error> {
        let mut known = self.mixed.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |m: &&Arc<Mixed>| m.fixed == fixed && m.sides == sides && Arc::ptr_eq(&m.backend, device.backend());
        if let Some(mixed) = known.iter().find(same) {
            return Ok(mixed.clone());
        }
        let mixed = Arc::new(self.part_by(device, self.plan(), sides, fixed)?);
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push(mixed.clone());
        Ok(mixed)
    }

    fn part_by(&self, device: &DeviceCore, plan: &GhostPlan, sides: Vec<bool>, fixed: bool) -> Result<Mixed, Error> {
        let sites = plan.sites();
        let (mut set, there) = (vec![false; sides.len()], &sides[..]);
        let phase = |Phase { moving, fixed: constant, .. }: &Phase| {
            let constant: &[_] = if fixed { constant } else { &[] };
            let all = || moving.iter().chain(constant);
            all().for_each(|copy| set[copy.region] = true);
            // Copies for one side, and the boxes that they read of the other.
            let [host, on_device] = [false, true].map(|side| all().filter(move |copy| there[copy.region] == side));
            let crossing = |copies: &mut dyn Iterator<Item = &GhostCopy>| {
                let read = |copy: &GhostCopy| -> Vec<OfRegion> {
                    let across = copy.sources().filter(|from| there[from.region] != there[copy.region]);
                    across.map(|from| (from.region, copy.read_by(from))).collect()
                };
                let mut boxes: Vec<OfRegion> = copies.flat_map(read).collect();
                boxes.sort_unstable_by_key(|(region, cells)| (*region, cells.lo, cells.hi));
                boxes.dedup();
                boxes
            };
            let to_device = packed(&self.element, &crossing(&mut on_device.clone()));
            let device = DeviceCopies::new(device, plan.jobs(on_device, |region, _| Where::Region(sites[region])))?;
            Ok(Parts { to_host: crossing(&mut host.clone()), host: host.cloned().collect(), device, to_device })
        };
        let phases = plan.phases.iter().map(phase).collect::<Result<_, Error>>()?;
        Ok(Mixed { backend: device.backend().clone(), sides, fixed, set, phases })
    }
}

/// A fill under way.
struct Run<'a> {
    regional: &'a Regional,
    mixed: &'a Mixed,
    queue: &'a Queue<'a>,
    storage: &'a Arc<Storage>,
}

impl Run<'_> {
    /// # Safety
    /// As [`Regional::fill_both`]. If it fails, who calls waits for the streams and holds what is crossing till then.
    unsafe fn all(&self, crossing: &mut Crossing) -> Result<(), Error> {
        let Run { mixed, queue, storage, .. } = self;
        let memory = storage.device_memory(queue.device)?;
        queue.device.counts.launch(1);
        for (region, (on_device, set)) in mixed.sides.iter().zip(&mixed.set).enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                if *on_device {
                    storage.to_device(queue, region, *set, None)?;
                } else {
                    storage.to_host(queue.device, region, *set)?;
                }
            }
        }
        for parts in &mixed.phases {
            // SAFETY: the caller's promise, for these copies; within a phase none writes what another one touches.
            unsafe { self.phase(parts, &memory, crossing)? };
        }
        queue.device.backend().record(queue.stream)?.finish()
    }

    /// # Safety
    /// As [`Run::all`]. The memory is the array's.
    unsafe fn phase(&self, parts: &Parts, memory: &Memory, crossing: &mut Crossing) -> Result<(), Error> {
        let Run { regional, queue, storage, .. } = self;
        let Queue { device, stream, .. } = **queue;
        let backend = device.backend();
        let array = (&*regional.layout, &regional.element);
        // What the host waits for goes first.
        // SAFETY: the caller's promise.
        let (coming, _) = unsafe { storage.send_boxes(queue, array, &parts.to_host)? };
        let mut come = None;
        if let Some((batch, boxes)) = coming {
            come = Some((batch, boxes.passage.host.start(), backend.record(stream)));
            crossing.boxes.push(boxes);
            backend.flush(stream)?;
        }
        if !parts.to_device.parts.is_empty() {
            let values = device.passages().take(backend, parts.to_device.bytes);
            let from = values.host.start();
            crossing.passages.push(values);
            // SAFETY: the passage is this fill's until all is done; the rest is the caller's promise.
            unsafe {
                self.copy(&parts.to_device, from, true);
                crossing.boxes.push(storage.receive_boxes(queue, array, &parts.to_device, from)?);
            }
        }
        if !parts.device.is_empty() {
            // SAFETY: the copies were made for this array; the rest is the caller's promise.
            let put = || unsafe { parts.device.run(stream, memory, memory) };
            device.timed(SpanKind::Ghost, "fill_ghosts", stream, 0, put)?;
        }
        backend.flush(stream)?;
        if let Some((batch, values, event)) = come {
            event?.finish()?;
            // SAFETY: the boxes have come.
            unsafe { self.copy(&batch, values, false) };
        }
        // SAFETY: the caller's promise.
        unsafe { OnHost::new(regional.plan(), storage) }.copies(&parts.host);
        Ok(())
    }

    /// Copies boxes from the host's memory of their regions to where they lie packed, or the other way round.
    ///
    /// # Safety
    /// The batch has its bytes there. No one else touches the boxes.
    unsafe fn copy(&self, batch: &Batch, there: *mut u8, packs: bool) {
        let Run { regional, storage, .. } = self;
        for part in &batch.parts {
            let base = storage.base(part.region);
            let (to, from) = if packs { (there, base) } else { (base, there) };
            let memories = Memories { to, from: [from.cast_const(); 2] };
            let one = std::slice::from_ref(part);
            let jobs = of_parts((&regional.layout, &regional.element), one, packs, |region| regional.site(region, 0));
            for (kind, boxes) in jobs {
                // SAFETY: the box lies in both memories; the rest is the caller's promise.
                boxes.iter().for_each(|copy| unsafe { copy_box(&kind, copy, memories) });
            }
        }
    }
}
