//! The link of a chain whose arrays move packed (`Compress::Link`).
//!
//! Planes are copied by way of **stages**, two for each direction: kernels unpack what has come into the window, or
//! pack what is to go, each in a stream of its own, while the next stage is copied. How many bytes a plane takes is
//! known before it is packed, so that the host never waits for the device: codes have their size, and frames have slots
//! ([`tida_kernels::frames`]). What has no room in its slot kernels read from the host's memory, and write there,
//! themselves.

use std::sync::Arc;

use tida_kernels::emit::link::{BLOCK_CODES, BLOCK_FRAMES, THREADS};
use tida_kernels::frames::{self, VALUES, Word};

use super::streams::{DOWN, UP};
use crate::backend::{Argument, Event, Memory, Native, NativeWork, PACKS};
use crate::device::compiler::Own;
use crate::device::core::DeviceCore;
use crate::device::ledger::Purpose;
use crate::error::Error;
use crate::memory::coding::Coding;
use crate::memory::ghosts::planes::{Planar, PlaneFacts};
use crate::memory::packed::{Chunk, Form, Guess, LEAST_FRAME};
use crate::memory::storage::Storage;

/// Most bytes of a stage: while it is copied, what is done beside it takes little.
const STAGE: usize = 64 << 20;
/// Part of a chain's room that all stages take at most.
const SHARE: u64 = 8;

/// The stages of a chain.
#[derive(Debug)]
pub(super) struct Packs {
    up: Stages,
    down: Stages,
}

/// Two stages of one direction.
#[derive(Debug)]
struct Stages {
    memory: Memory,
    /// Bytes of each.
    bytes: usize,
    /// The end of what was last done with each.
    last: [Option<Arc<dyn Event>>; 2],
    next: usize,
}

/// Neighbouring planes of a component that are packed alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneRun {
    pub region: usize,
    pub chunk: Chunk,
    pub planes: usize,
    /// First byte in the region's memory on the host, and from a plane to the next.
    pub at: usize,
    pub step: usize,
    /// First value in the window's memory, in values of the component's type.
    pub first: usize,
}

impl Packs {
    /// Bytes of a stage, if the arrays of a chain are packed and there is room.
    pub fn stage<'a>(room: u64, arrays: impl Iterator<Item = (&'a Storage, &'a PlaneFacts)>) -> Option<usize> {
        let planes = arrays.filter(|(storage, _)| storage.packs()).map(|(_, facts)| {
            let widest = facts.element.component_types().iter().map(|ty| ty.size()).max().unwrap_or(0);
            (facts.stride * widest).next_multiple_of(ALIGN) + ALIGN
        });
        let least = planes.max()?;
        let most = usize::try_from(room / SHARE / 4).unwrap_or(usize::MAX);
        (least <= most).then(|| STAGE.min(most).max(least) / ALIGN * ALIGN)
    }

    /// Stages of so many bytes.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn new(device: &DeviceCore, stage: usize) -> Result<Packs, Error> {
        Ok(Packs { up: Stages::new(device, stage)?, down: Stages::new(device, stage)? })
    }

    /// Bytes of stages of such a size.
    pub fn bytes(stage: usize) -> u64 {
        4 * stage as u64
    }

    /// Brings planes into a window, or sends them `home`; gives how many bytes cross the link. Planes are in a window
    /// once the stream [`PACKS`]`[0]` comes to it; those that go are ready when [`PACKS`]`[1]` comes to it, and home
    /// once the stream of downloads does.
    ///
    /// # Safety
    /// As [`Backend::upload`](crate::backend::Backend::upload), for the planes on the host and in the window.
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn pass(
        &mut self,
        device: &DeviceCore,
        packing: &Packing,
        window: &Memory,
        run: &PlaneRun,
        home: bool,
    ) -> Result<usize, Error> {
        let (backend, plane) = (device.backend(), packing.plane(run));
        let (stages, first, second) =
            if home { (&mut self.down, PACKS[1], DOWN) } else { (&mut self.up, UP, PACKS[0]) };
        let mut done = 0;
        while done < run.planes {
            let (stage, most) = stages.turn(plane.step);
            let planes = most.min(run.planes - done);
            if let Some(last) = &stages.last[stage] {
                backend.wait(first, &**last)?;
            }
            let staged = (&stages.memory, stage * stages.bytes, plane.step);
            let job = packing.job(run, (done, planes), staged, window);
            let host = packing.storage.base(run.region).wrapping_add(run.at + done * run.step);
            let next = || {
                let mark = backend.mark(first)?;
                backend.flush(first)?;
                backend.wait(second, &*mark)
            };
            // SAFETY: the planes lie in the region, packed as the run says, and in the stage; the rest is the caller's
            // promise.
            unsafe {
                if home {
                    job.put(device, first, true)?;
                    next()?;
                    backend.download_rows(second, staged, (host, run.step), (plane.bytes, planes))?;
                } else {
                    backend.upload_rows(first, staged, (host, run.step), (plane.bytes, planes))?;
                    next()?;
                    job.put(device, second, false)?;
                }
            }
            stages.last[stage] = Some(backend.mark(second)?);
            backend.flush(second)?;
            done += planes;
        }
        Ok(plane.bytes * run.planes)
    }
}

impl Stages {
    fn new(device: &DeviceCore, bytes: usize) -> Result<Stages, Error> {
        Ok(Stages { memory: device.allocate(Purpose::Chains, 2 * bytes, None)?, bytes, last: [None, None], next: 0 })
    }

    /// The next stage, and how many planes of so many bytes it holds.
    fn turn(&mut self, step: usize) -> (usize, usize) {
        let stage = self.next;
        self.next = 1 - stage;
        (stage, (self.bytes / step.max(1)).max(1))
    }
}

/// Planes start at multiples of so many bytes in a stage.
const ALIGN: usize = 128;

/// How the planes of an array are packed on their way home.
#[derive(Debug)]
pub(super) struct Packing {
    storage: Arc<Storage>,
    regions: Vec<PackedRegion>,
}

/// The same for a region.
#[derive(Debug, Default)]
struct PackedRegion {
    /// Where kernels find the region's memory on the host, and what frames keep apart.
    reached: Option<(u64, u64)>,
    /// By component: how its frames are packed.
    guesses: Vec<Guess>,
}

/// A packed plane: bytes, and from one to the next in a stage.
struct PackedPlane {
    bytes: usize,
    step: usize,
}

impl Packing {
    /// How the planes of an array that moves packed should be packed, as they lie on the host now.
    pub fn new(device: &DeviceCore, storage: &Arc<Storage>, planar: &Planar) -> Option<Packing> {
        let coding = storage.coding().filter(|coding| coding.packs())?;
        let facts = planar.facts();
        let region = |number: usize| {
            let frames = (0..coding.components()).any(|component| coding.codec(component).is_none());
            let reached = frames.then(|| reached(device, storage, number)).flatten();
            let mut guesses = vec![Guess::default(); coding.components()];
            if reached.is_some() && storage.host_touched(number) {
                let components = facts.element.placed_components().zip(&mut guesses).enumerate();
                for (component, ((ty, before), guess)) in components {
                    if coding.codec(component).is_none() {
                        *guess = storage.guess(number, ty.size(), &planes(facts, number, (ty.size(), before)));
                    }
                }
            }
            PackedRegion { reached, guesses }
        };
        let regions = (0..facts.layout.regions.len()).map(region).collect();
        Some(Packing { storage: storage.clone(), regions })
    }

    /// Of what says nothing of what is to come, as nobody has written it or all of it is one value, it is thought that
    /// it will be as what others hold there.
    pub fn learn(all: &mut [Option<Packing>]) {
        let mut others: Vec<Guess> = Vec::new();
        for region in all.iter().flatten().map(|packing| &packing.regions) {
            others.resize(others.len().max(region.len()), Guess::default());
            for (other, guess) in others.iter_mut().zip(region).flat_map(|(other, region)| {
                let known = region.guesses.iter().filter(|guess| guess.is_known);
                known.map(|guess| guess.slot).max().map(|slot| (other, slot))
            }) {
                *other = Guess { slot: other.slot.max(guess), is_known: true };
            }
        }
        for packing in all.iter_mut().flatten() {
            for (region, other) in packing.regions.iter_mut().zip(&others).filter(|(_, other)| other.is_known) {
                region.guesses.iter_mut().filter(|guess| !guess.is_known).for_each(|guess| *guess = *other);
            }
        }
    }

    /// How a plane of a component of so many values goes home, if not as it is.
    pub fn chunk(&self, region: usize, component: usize, values: usize, size: usize) -> Option<Chunk> {
        let coding = self.storage.coding()?;
        let form = match coding.codec(component) {
            Some(_) => Form::Codes(component),
            None => {
                let region = self.regions.get(region)?;
                let slot = region.guesses.get(component)?.slot.filter(|_| region.reached.is_some())?;
                (slot < VALUES * size && values >= VALUES).then_some(Form::Frames(slot))?
            }
        };
        Some(Chunk { form, values, size })
    }

    fn plane(&self, run: &PlaneRun) -> PackedPlane {
        let bytes = match run.chunk.form {
            Form::Codes(component) => {
                run.chunk.values * self.storage.coding().map_or(run.chunk.size, |coding| coding.code_size(component))
            }
            Form::Frames(slot) => run.chunk.tail() * run.chunk.size + run.chunk.frames() * slot,
        };
        PackedPlane { bytes, step: bytes.next_multiple_of(ALIGN) }
    }

    /// What is to be done for some planes of a run.
    fn job<'a>(
        &self,
        run: &PlaneRun,
        (from, planes): (usize, usize),
        (stage, stage_at, stage_step): (&'a Memory, usize, usize),
        window: &'a Memory,
    ) -> PackJob<'a> {
        let Chunk { values, size, .. } = run.chunk;
        let at = run.at + from * run.step;
        let (base, apart) = self.regions.get(run.region).and_then(|region| region.reached).unwrap_or_default();
        PackJob {
            chunk: run.chunk,
            coding: self.storage.coding().cloned(),
            planes,
            window,
            in_window: (run.first + from * (run.step / size), run.step / size),
            stage,
            in_stage: (stage_at, stage_step),
            host: (base + at as u64, run.step),
            apart,
            at,
            values,
        }
    }
}

/// Where kernels find a region's memory and what its frames keep apart.
fn reached(device: &DeviceCore, storage: &Storage, region: usize) -> Option<(u64, u64)> {
    let backend = device.backend();
    let (base, bytes) = (storage.base(region), storage.bytes(region));
    let (apart, apart_bytes) = storage.apart(backend, region);
    Some((backend.mapped(base, bytes)?, backend.mapped(apart, apart_bytes)?))
}

/// First byte and number of values of the planes of a component in a region.
fn planes(facts: &PlaneFacts, region: usize, (size, before): (usize, usize)) -> Vec<(usize, usize)> {
    let axis = 4 - facts.rank;
    let Some(of) = facts.layout.regions.get(region) else { return Vec::new() };
    let plane = |plane: i64| {
        let first = (plane - of.origin[axis]) as usize * facts.stride + facts.skip;
        (of.cells as usize * before + first * size, facts.stride.min(of.cells as usize - first))
    };
    (of.valid.lo[axis]..of.valid.hi[axis]).map(plane).collect()
}

/// Planes to pack or to unpack.
struct PackJob<'a> {
    chunk: Chunk,
    coding: Option<Arc<Coding>>,
    planes: usize,
    window: &'a Memory,
    /// First value in the window, and from a plane to the next.
    in_window: (usize, usize),
    stage: &'a Memory,
    /// First byte in the stage, and from a plane to the next.
    in_stage: (usize, usize),
    /// Where kernels find the first plane on the host, and from a plane to the next in bytes.
    host: (u64, usize),
    /// Where they find what frames of the region keep apart.
    apart: u64,
    /// First byte of the first plane in its region.
    at: usize,
    values: usize,
}

impl PackJob<'_> {
    /// Puts it into a stream.
    ///
    /// # Safety
    /// The planes lie in all these memories, and no one else uses them until it is done.
    unsafe fn put(self, device: &DeviceCore, stream: usize, pack: bool) -> Result<(), Error> {
        let backend = device.backend();
        if backend.facts().native {
            let planes = NativePackJob::of(&self);
            let run = move |_| {
                // SAFETY: the caller's promise.
                unsafe { planes.run(pack) };
                Ok(())
            };
            let values = (self.planes * self.values) as u64;
            let work = NativeWork::over((values, 2 * values * self.chunk.size as u64), Box::new(run));
            // SAFETY: handed on.
            return unsafe { backend.launch_native(stream, Native::Work(work)) };
        }
        let long = |n: usize| (n as i64).to_ne_bytes();
        let short = |n: usize| (n as u32).to_ne_bytes();
        let (first, step) = (long(self.in_window.0), long(self.in_window.1));
        let memories = [Argument::Memory(self.window), Argument::Memory(self.stage)];
        let threads = [THREADS, 1, 1];
        match (self.chunk.form, &self.coding) {
            (Form::Codes(component), Some(coding)) => {
                let Some(codec) = coding.codec(component) else { return Ok(()) };
                let kernel = device.compiler().own(Own::Codes(*codec, pack))?;
                let size = coding.code_size(component);
                let (at, stage_step) = (long(self.in_stage.0 / size), long(self.in_stage.1 / size));
                let count = short(self.values);
                let bytes = [&first[..], &step, &at, &stage_step, &count].map(Argument::Bytes);
                let arguments: Vec<Argument<'_>> = memories.into_iter().chain(bytes).collect();
                let blocks = [self.values.div_ceil(BLOCK_CODES as usize) as u32, self.planes as u32, 1];
                // SAFETY: the arguments are those of the kernel; the rest is the caller's promise.
                unsafe { backend.launch(stream, &*kernel, blocks, threads, &arguments) }
            }
            (Form::Frames(slot), _) => {
                let kernel = device.compiler().own(Own::Frames(self.chunk.size, pack))?;
                let (tail, frames) = (self.chunk.tail(), self.chunk.frames());
                let rest = self.host.0 + (tail * self.chunk.size + frames * slot) as u64;
                let (at, stage_step) = (long(self.in_stage.0), long(self.in_stage.1));
                let (tail_bytes, frame_bytes, rate) = (short(tail), short(frames), short(slot));
                let (rest, rest_step) = (rest.to_ne_bytes(), long(self.host.1));
                let (apart, apart_at) = (self.apart.to_ne_bytes(), long(self.at));
                let bytes = [
                    &first[..],
                    &step,
                    &at,
                    &stage_step,
                    &tail_bytes,
                    &frame_bytes,
                    &rate,
                    &rest,
                    &rest_step,
                    &apart,
                    &apart_at,
                ];
                let arguments: Vec<Argument<'_>> = memories.into_iter().chain(bytes.map(Argument::Bytes)).collect();
                let items = frames + usize::from(tail > 0);
                let blocks = [items.div_ceil(BLOCK_FRAMES as usize) as u32, self.planes as u32, 1];
                // SAFETY: as above.
                unsafe { backend.launch(stream, &*kernel, blocks, threads, &arguments) }
            }
            (Form::Codes(_), None) => Ok(()),
        }
    }
}

/// The same in its native form, on memory that the host can address: addresses instead of memories.
struct NativePackJob {
    chunk: Chunk,
    coding: Option<Arc<Coding>>,
    planes: usize,
    /// Of the first plane in the window, in the stage and on the host, and from a plane to the next.
    window: (u64, usize),
    stage: (u64, usize),
    host: (u64, usize),
    apart: u64,
    at: usize,
}

impl NativePackJob {
    fn of(job: &PackJob<'_>) -> NativePackJob {
        let size = job.chunk.size;
        NativePackJob {
            chunk: job.chunk,
            coding: job.coding.clone(),
            planes: job.planes,
            window: (job.window.raw() + (job.in_window.0 * size) as u64, job.in_window.1 * size),
            stage: (job.stage.raw() + job.in_stage.0 as u64, job.in_stage.1),
            host: job.host,
            apart: job.apart,
            at: job.at,
        }
    }

    /// # Safety
    /// As [`PackJob::put`].
    unsafe fn run(&self, pack: bool) {
        let place = |(start, step): (u64, usize), plane: usize| {
            std::ptr::with_exposed_provenance_mut::<u8>(start as usize + plane * step)
        };
        for plane in 0..self.planes {
            let (values, stage) = (place(self.window, plane), place(self.stage, plane));
            match (self.chunk.form, &self.coding) {
                (Form::Codes(component), Some(coding)) => {
                    // SAFETY: the caller's promise.
                    unsafe {
                        match pack {
                            true => drop(coding.encode(component, values, stage, self.chunk.values)),
                            false => coding.decode(component, stage, values, self.chunk.values),
                        }
                    }
                }
                (Form::Frames(slot), _) => {
                    let four = (self.at + plane * self.host.1) / LEAST_FRAME * 4;
                    let apart = place((self.apart, 0), 0).wrapping_add(four);
                    let host = place(self.host, plane);
                    // SAFETY: the caller's promise.
                    unsafe {
                        match self.chunk.size {
                            8 => self.frames::<u64>(slot, (values, stage, host, apart), pack),
                            _ => self.frames::<u32>(slot, (values, stage, host, apart), pack),
                        }
                    }
                }
                (Form::Codes(_), None) => {}
            }
        }
    }

    /// # Safety
    /// As [`PackJob::put`], for one plane.
    unsafe fn frames<W: Word>(
        &self,
        slot: usize,
        (values, stage, host, apart): (*mut u8, *mut u8, *mut u8, *mut u8),
        pack: bool,
    ) {
        let Chunk { size, .. } = self.chunk;
        let (tail, frames, frame) = (self.chunk.tail() * size, self.chunk.frames(), self.chunk.frame());
        // SAFETY: the caller's promise: a plane of values, what is packed of it, what has no room there.
        let (values, packed, rests, apart) = unsafe {
            (
                std::slice::from_raw_parts_mut(values, self.chunk.values * size),
                std::slice::from_raw_parts_mut(stage, tail + frames * slot),
                std::slice::from_raw_parts_mut(host.wrapping_add(tail + frames * slot), frames * (frame - slot)),
                std::slice::from_raw_parts_mut(apart, 4 * frames),
            )
        };
        match pack {
            true => packed[..tail].copy_from_slice(&values[..tail]),
            false => values[..tail].copy_from_slice(&packed[..tail]),
        }
        let each = values[tail..].chunks_exact_mut(frame).zip(packed[tail..].chunks_exact_mut(slot));
        let beside = rests.chunks_exact_mut(frame - slot).zip(apart.chunks_exact_mut(4));
        for ((values, slot), (rest, apart)) in each.zip(beside) {
            if pack {
                let words: Vec<W> = values.chunks_exact(W::BYTES).map(W::read).collect();
                frames::pack(&words, slot, rest, apart);
            } else {
                let mut words = vec![W::default(); VALUES];
                frames::unpack(slot, rest, apart, &mut words);
                values.chunks_exact_mut(W::BYTES).zip(words).for_each(|(to, word)| word.write(to));
            }
        }
    }
}
