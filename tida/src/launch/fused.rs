//! Several steps of a kernel, or of a few that alternate, in one launch on a device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::emit::COUNTERS;
use tida_kernels::ir::{Cycle, Kernel, cycle};
use tida_kernels::plan::fuse::{Asked, Chosen, Faces, Fused, LAUNCH, Parts, Steps, Target, choose, single, why_none};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::scalar::Value;

use super::capture::{CAPTURE, CapturedValue, Captures, capture_bytes};
use super::device::{BY_VALUE, Commands, DeviceArg, DeviceArgs, DeviceLaunch, Extent, Held, OnDevice};
use super::faces::tables;
use super::launched::Launched;
use super::native::{NativeForm, moved};
use super::native_steps::Steps as NativeSteps;
use super::prepare::Prepared;
use super::step::{Fusible, Launch, Together};
use super::sweep::SweepLaunch;
use super::tune;
use crate::backend::Facts;
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};

/// A sweep as a step.
#[derive(Clone, Copy)]
pub(crate) struct OneStep<'a> {
    pub prepared: &'a Arc<Prepared>,
    pub captures: &'a Captures,
}

/// Alternating kernels after one of them, by their addresses: they live as long as the program.
pub(crate) type Cycles = Mutex<HashMap<Vec<usize>, Option<Arc<Prepared>>>>;

/// The kernel of steps of which the first ones are of different kernels, that alternate; none if they cannot run as
/// one launch.
fn as_one(steps: &[OneStep<'_>]) -> Option<Arc<Prepared>> {
    let (first, others) = steps.split_first()?;
    if others.is_empty() {
        return Some(first.prepared.clone());
    }
    let key = others.iter().map(|step| Arc::as_ptr(step.prepared) as usize).collect();
    let mut known = first.prepared.cycles.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(key).or_insert_with(|| made_one(steps)).clone()
}

fn made_one(steps: &[OneStep<'_>]) -> Option<Arc<Prepared>> {
    let of = |step: &OneStep<'_>| step.prepared.steps.as_ref().map(|steps| (steps.pair, steps.work, steps.others));
    let each: Vec<_> = steps.iter().map(of).collect::<Option<_>>()?;
    let kernels: Vec<&Kernel> = steps.iter().map(|step| &step.prepared.kernel).collect();
    let pairs: Vec<(usize, usize)> = each.iter().map(|(pair, ..)| *pair).collect();
    let Cycle { kernel, args } = cycle(&kernels, &pairs)?;
    let mut made = Prepared::new(kernel).ok()?;
    let steps_of = made.steps.as_mut().filter(|steps| Some(&steps.pair) == pairs.first())?;
    // Each step is one of them: the most expensive.
    steps_of.work = each.iter().map(|(_, work, _)| *work).max()?;
    steps_of.others = each.iter().map(|(.., others)| *others).max()?;
    made.is_coded = steps.iter().any(|step| step.prepared.is_coded);
    made.from = Some(args);
    Some(Arc::new(made))
}

/// Bytes of what these have captured.
fn captured(steps: &[OneStep<'_>]) -> usize {
    steps.iter().flat_map(|step| &step.captures.list).map(|capture| capture_bytes(capture).len()).sum()
}

/// Whether some step of these kernels in turn has captured other values than the one of the same kernel before it.
fn vary(steps: &[OneStep<'_>], kernels: usize) -> bool {
    steps.iter().zip(steps.iter().skip(kernels)).any(|(one, next)| !one.captures.same(next.captures))
}

/// A table that the kernels of faces take entries of, as one argument of several steps: those of all of them one after
/// the other, and where those of each step begin.
struct OfSteps {
    bytes: Vec<u8>,
    from: Vec<usize>,
    length: usize,
}

/// The tables of the kernels whose ghosts these steps compute, if they are not the same for all.
fn tables_of(launches: &[Arc<dyn Launch>]) -> Option<Vec<OfSteps>> {
    let count = launches.first()?.set_tables().len() / 2;
    let of = |launch: &Arc<dyn Launch>| {
        let all: Vec<_> = tables(&**launch).collect();
        all.into_iter().rev().take(count).rev().collect::<Vec<_>>()
    };
    let each: Vec<_> = if count == 0 { Vec::new() } else { launches.iter().map(of).collect() };
    if each.iter().all(|tables| Some(tables) == each.first()) {
        return None;
    }
    let one = |number: usize| {
        let mut all = OfSteps { bytes: Vec::new(), from: Vec::new(), length: 0 };
        for (bytes, length) in each.iter().filter_map(|tables| tables.get(number)) {
            all.from.push(all.length);
            all.bytes.extend_from_slice(bytes);
            all.length += length;
        }
        all
    };
    Some((0..count).map(one).collect())
}

/// Whether steps are of the same kernel, and have captured the same values.
pub(crate) fn same(one: &dyn Launch, other: &dyn Launch) -> bool {
    one.step()
        .zip(other.step())
        .is_some_and(|(one, other)| Arc::ptr_eq(one.prepared, other.prepared) && one.captures.same(other.captures))
}

/// How many of these steps, of so many kernels in turn, had best run together over a box of this extent, at most `most`
/// (odd); 1 if single sweeps are as good.
pub(crate) fn depth(
    (launches, kernels): (&[Arc<dyn Launch>], usize),
    device: &DeviceCore,
    (cells, faces): (&GridBox<4>, &Faces),
    (most, streams): (u32, bool),
) -> u32 {
    let steps: Vec<OneStep<'_>> = launches.iter().map_while(|launch| launch.step()).collect();
    let Some(prepared) = steps.get(..kernels).and_then(as_one) else { return 1 };
    prepared.depth(device, cells, faces, (most.min(room(launches, &steps, kernels)), streams))
}

/// Why these steps, of so many kernels in turn, run one by one over a box of this extent.
pub(crate) fn why_single(
    (launches, kernels): (&[Arc<dyn Launch>], usize),
    device: &DeviceCore,
    (cells, faces): (&GridBox<4>, &Faces),
) -> &'static str {
    let steps: Vec<OneStep<'_>> = launches.iter().map_while(|launch| launch.step()).collect();
    let prepared = steps.get(..kernels).and_then(as_one);
    let Some(prepared) = prepared else { return "the kernels that take turns are no kernel of steps" };
    if !device.backend().facts().gpu && device.asked.fuse == Asked::Auto {
        return "on a CPU steps share launches only if that is asked for (`TileAccBuilder::fuse`)";
    }
    let most = prepared.most(room(launches, &steps, kernels));
    prepared.chosen(device, cells, faces, (most, true), false).err().unwrap_or("no step reads around its cells")
}

/// Steps that captured values have room for, of so many kernels in turn.
fn room(launches: &[Arc<dyn Launch>], steps: &[OneStep<'_>], kernels: usize) -> u32 {
    let differ = || vary(steps, kernels) || tables_of(launches).is_some();
    match steps.get(..kernels).map_or(0, captured) {
        bytes if bytes > 0 && differ() => (BY_VALUE / bytes) as u32,
        _ => u32::MAX,
    }
}

impl Prepared {
    /// Whether several steps may run as one launch.
    pub fn fusible(&self) -> Option<Fusible> {
        let steps = self.steps.as_ref()?;
        let halo = steps.reach().map(|[below, above]| i64::from(below.max(above)));
        Some(Fusible { out: steps.pair.0, inp: steps.pair.1, halo, components: steps.components() })
    }

    /// How many steps had best run together: see [`depth`].
    fn depth(&self, device: &DeviceCore, cells: &GridBox<4>, faces: &Faces, (most, streams): (u32, bool)) -> u32 {
        let facts = device.backend().facts();
        // A CPU behind OpenCL keeps arrays in its caches, and has no memory that threads share.
        let off = device.asked.fuse.is_off() || (!facts.gpu && device.asked.fuse == Asked::Auto);
        let around = self.steps.as_ref().is_some_and(|steps| steps.reads_around());
        let most = self.most(most);
        if !around || off {
            return 1;
        }
        self.chosen(device, cells, faces, (most, true), streams).map_or(1, |chosen| chosen.fused.depth.into())
    }

    /// So many steps at most: each has a counter of its own for what saturates.
    fn most(&self, most: u32) -> u32 {
        if self.analysis.counts { most.min(COUNTERS as u32) } else { most }
    }

    pub(super) fn extent(&self, cells: &GridBox<4>) -> Extent {
        (4 - self.kernel.rank..4).map(|axis| cells.hi[axis] - cells.lo[axis]).collect()
    }

    /// How so many steps run together, or with `true` an odd number up to that; those are chosen only if they gain
    /// something, unless they are asked for.
    fn chosen(
        &self,
        device: &DeviceCore,
        cells: &GridBox<4>,
        faces: &Faces,
        (most, odd): (u32, bool),
        streams: bool,
    ) -> Result<Arc<Chosen>, &'static str> {
        let steps = self.steps.as_ref().ok_or(self.no_steps)?;
        let Facts { machine, most_shared, block_threads, .. } = device.backend().facts();
        let asked = device.asked.fuse.parts();
        // What trials found holds for as many steps as they were.
        let fits = |found: &Parts| found.depth.is_some_and(|depth| depth == most || odd && depth < most);
        let parts = tune::steps::known(self, device, cells, faces).filter(fits).unwrap_or(asked);
        let key = Asking {
            extent: self.extent(cells),
            faces: *faces,
            many: (most, odd),
            streams,
            parts,
            device: (machine.multiprocessors, *most_shared, *block_threads),
        };
        if let Some(known) = self.choices.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let target = self.target(device, steps, &key.extent, faces, streams);
        let forced = !odd || parts != Parts::default();
        let gains = |chosen: &Chosen| forced || chosen.cycles < GAIN * single(steps, &target);
        let way = |parts: &Parts| choose(steps, &target, parts, most, odd).filter(gains);
        let by_themselves = odd && parts.depth == Some(1);
        let chosen = way(&parts).or_else(|| if by_themselves { None } else { way(&asked) }).map(Arc::new);
        let chosen = chosen.ok_or_else(|| why_none(steps, &target, &asked));
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        if choices.len() >= CHOICES {
            choices.clear();
        }
        choices.insert(key, chosen.clone());
        chosen
    }

    /// Where steps over such a box are to run.
    pub(super) fn target<'a>(
        &self,
        device: &'a DeviceCore,
        steps: &Steps,
        extent: &'a [i64],
        faces: &'a Faces,
        streams: bool,
    ) -> Target<'a> {
        let facts = device.backend().facts();
        Target {
            extent,
            faces,
            machine: &facts.machine,
            shared: facts.most_shared,
            threads: facts.block_threads,
            work: steps.work,
            others: steps.others,
            unrolled: facts.gpu,
            launch: if facts.gpu && !streams { LAUNCH } else { 0.0 },
            shuffles: facts.dialect == Dialect::Cuda,
        }
    }
}

/// What single steps have to cost more than steps together, as a part of it.
const GAIN: f64 = 0.95;

/// Choices that are remembered.
const CHOICES: usize = 256;

/// What a choice depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asking {
    extent: Extent,
    faces: Faces,
    many: (u32, bool),
    streams: bool,
    parts: Parts,
    device: (u32, u64, u32),
}

/// How steps of a kernel run together, as far as it was asked.
pub(crate) type Choices = Mutex<HashMap<Asking, Result<Arc<Chosen>, &'static str>>>;

/// Steps of one launch.
struct Several {
    prepared: Arc<Prepared>,
    /// What the first of them is given.
    captures: Captures,
    /// What each of them is given, if that differs.
    varied: Option<Vec<Captures>>,
    /// The tables of kernels of faces, if they differ.
    tables: Option<Vec<OfSteps>>,
}

impl Several {
    /// # Errors
    /// Kernels that cannot run together.
    fn of(launches: &[Arc<dyn Launch>], Together { steps, kernels, .. }: &Together) -> Result<Several, Error> {
        let each: Vec<OneStep<'_>> = launches.iter().map_while(|launch| launch.step()).collect();
        let prepared = each.get(..*kernels).and_then(as_one);
        let Some((prepared, steps)) = prepared.zip(each.get(..*steps as usize).filter(|steps| !steps.is_empty()))
        else {
            let place = each.first().map_or_else(String::new, |step| step.prepared.place());
            return Err(refused(&place, *steps, "kernels that run one step a launch"));
        };
        let of_steps = launches.get(..steps.len()).unwrap_or_default();
        let (tables, first) = (tables_of(of_steps), of_steps.first().map_or(0, |launch| launch.set_tables().start));
        let captures = |step| {
            let mut captures = captures_of(&each, *kernels, step);
            for (number, table) in tables.iter().flatten().enumerate() {
                captures.list[first + 2 * number] = CapturedValue::Scalar(Value::I64(table.from[step] as i64));
            }
            captures
        };
        let differ = tables.is_some() || vary(steps, *kernels);
        let varied = differ.then(|| (0..steps.len()).map(captures).collect());
        Ok(Several { prepared, captures: captures(0), varied, tables })
    }

    /// Their arguments, where the commands of `queue` find them.
    fn args<'a>(&self, launches: &'a [Arc<dyn Launch>], queue: &'a Queue<'_>) -> DeviceArgs<'a> {
        let mut args: DeviceArgs<'_> =
            args(launches, &self.prepared).into_iter().map(|arg| arg.0.placed(queue)).collect();
        let tables = self.tables.iter().flatten().rev();
        for (arg, table) in args.iter_mut().rev().zip(tables) {
            *arg = DeviceArg::Table(table.bytes.clone(), table.length);
        }
        args
    }

    /// Their launch over a box.
    fn launch<'a>(&'a self, device: &DeviceCore, cells: &GridBox<4>, args: DeviceArgs<'a>) -> DeviceLaunch<'a> {
        let sweep = SweepLaunch::usual(&self.prepared, &self.captures, NativeForm::default());
        DeviceLaunch { within: Some(*cells), varied: self.varied.as_deref(), ..sweep.on(device, args) }
    }

    /// How they run together.
    ///
    /// # Errors
    /// No way to run so many over this box.
    fn chosen(&self, device: &DeviceCore, together: &Together) -> Result<Chosen, Error> {
        let Together { steps, kernels, faces, .. } = together;
        let usual = together.usual(4 - self.prepared.kernel.rank);
        let chosen = self.prepared.chosen(device, &usual, faces, (*steps, false), false);
        let place = || self.prepared.place();
        let chosen = chosen.map_err(|why| refused(&place(), *steps, why))?;
        let fused = Fused { varied: self.varied.is_some(), kernels: *kernels as u8, ..chosen.fused.clone() };
        Ok(Chosen { fused, ..(*chosen).clone() })
    }

    /// The cells of single steps that take as long as these, as far as the model can tell.
    fn native_cells(&self, device: &DeviceCore, together: &Together, chosen: &Chosen, part: &GridBox<4>) -> u64 {
        let cells = part.cells() as f64 * f64::from(together.steps);
        let usual = together.usual(4 - self.prepared.kernel.rank);
        let of_single = self.prepared.steps.as_ref().map_or(1.0, |steps| {
            let extent = self.prepared.extent(&usual);
            chosen.cycles / single(steps, &self.prepared.target(device, steps, &extent, &together.faces, false))
        });
        (cells * of_single).round() as u64
    }
}

/// Whether steps over the boxes from a region on, which lie in rows, run as one launch now: else, where its kernel can
/// be compiled beside, that is begun if it was not, and single steps run meanwhile. So they do if the device's compiler
/// refuses it.
pub(crate) fn steps_are_compiled(
    launches: &[Arc<dyn Launch>],
    device: &DeviceCore,
    region: usize,
    together: &Together,
) -> bool {
    let ready = || {
        let all = Several::of(launches, together)?;
        let args = args(launches.get(..together.kernels).unwrap_or_default(), &all.prepared);
        let launch = all.launch(device, &together.cells, args.into_iter().map(|arg| arg.0).collect());
        let chosen = all.chosen(device, together)?;
        let plan = launch.steps_plan(device, (region, &together.cells), &together.cells, &chosen);
        Ok::<_, Error>(match device.compiler().is_beside() {
            true => launch.ready_beside(device, &plan).is_some_and(|ready| ready.is_ok()),
            false => launch.ready(device, &plan).is_ok(),
        })
    };
    // What is wrong comes out as it is launched.
    ready().unwrap_or(true)
}

/// Puts the first of these steps into a stream as one launch: it reads the array [`Fusible::inp`] of the first of them,
/// writes [`Fusible::out`] where `part` is, some planes of the box. The arrays lie in rows from its region on, or the
/// region holds the planes around as far as the steps read.
///
/// # Errors
/// Steps that cannot run together over this box, and what the device refuses.
///
/// # Safety
/// As [`Launch::enqueue`]; beyond the box both arrays hold what the faces say.
pub(crate) unsafe fn enqueue_steps(
    launches: &Arc<[Arc<dyn Launch>]>,
    queue: &Queue<'_>,
    (region, part): (usize, GridBox<4>),
    together: &Together,
) -> Result<Done, Error> {
    let Together { steps, cells, faces, .. } = together;
    let all = Several::of(launches, together)?;
    let args = all.args(launches.get(..together.kernels).unwrap_or_default(), queue);
    let (prepared, launch) = (&all.prepared, all.launch(queue.device, cells, args));
    if part == *cells && launch.varied.is_none() && together.kernels == 1 {
        // SAFETY: handed on.
        unsafe { tune::steps::tried(&launch, queue, (region, part), faces) };
    }
    let chosen = all.chosen(queue.device, together)?;
    let mut launched = Launched::default();
    let mut put = || {
        let commands = launch.steps_commands(queue.device, (region, part), cells, &chosen, launched.held())?;
        launched.counts(&launch, queue, &commands, || launch.counting_steps(*steps as usize))?;
        let pair = prepared.steps.as_ref().map(|steps| steps.pair);
        let inside = |arg| pair.is_some_and(|(_, inp)| inp == arg) && launch.steps_know(arg, faces);
        launch.materialize_ghosts(queue, &[(region, part)], inside)?;
        if queue.device.backend().facts().native {
            let reach = chosen.fused.reach.map(|sides| sides.map(i64::from));
            let steps = NativeSteps::new(launches, queue, (region, part), together, reach)?;
            let takes = all.native_cells(queue.device, together, &chosen, &part);
            // SAFETY: as below.
            return unsafe { steps.put(queue, (takes, takes * moved(&launch.args)), launched.natively()) };
        }
        // SAFETY: handed on: `check` has proven every access of the cells of the box in range, for each of the steps;
        // such kernels raise no fault; what the launch uses is kept below.
        unsafe { commands.put(&launch, queue, launched.record()) }
    };
    queue.enqueue(&mut put)?;
    let (held, device, prepared) = (launches.clone(), queue.device.clone(), prepared.clone());
    Ok(Box::new(move || {
        let finished = launched.finish(&device, &prepared);
        drop(held);
        finished
    }))
}

/// Why so many steps do not run in one launch.
pub(super) fn refused(place: &str, steps: u32, found: &str) -> Error {
    let tried = format!("run {steps} steps of the kernel at {place} in one launch");
    Error::new(ErrorKind::Kernel, tried, found, "run it with `TIDA_FUSE=off`, and report this as a bug of tida")
}

/// What the kernel of steps is given for one of them: what each of the kernels in turn has captured, that of the step's
/// own kernel by itself, and which one that is.
fn captures_of(each: &[OneStep<'_>], kernels: usize, step: usize) -> Captures {
    let own = step % kernels.max(1);
    let of = |kernel: usize| if kernel == own { each.get(step) } else { each.get(kernel) };
    let mut list: SmallVec<_> =
        (0..kernels).filter_map(of).flat_map(|step| step.captures.list.iter().cloned()).collect();
    if kernels > 1 {
        list.push(CapturedValue::Scalar(Value::I32(own as i32)));
    }
    Captures { list }
}

/// The arguments of the kernel of steps, or of sweeps that run as one.
pub(super) fn args<'a>(launches: &'a [Arc<dyn Launch>], prepared: &Prepared) -> SmallVec<[OnDevice<'a>; 8]> {
    let Some(from) = &prepared.from else {
        return launches.first().map(|launch| launch.args()).unwrap_or_default();
    };
    let each = launches.iter().map(|launch| launch.args().into_iter().map(Some).collect());
    let mut each: Vec<SmallVec<[_; 8]>> = each.collect();
    from.iter().filter_map(|(kernel, arg)| each.get_mut(*kernel)?.get_mut(*arg)?.take()).collect()
}

impl DeviceLaunch<'_> {
    /// The plan of a launch of several steps that leaves a part of a region's box.
    pub(super) fn steps_plan(
        &self,
        device: &DeviceCore,
        (region, part): (usize, &GridBox<4>),
        cells: &GridBox<4>,
        chosen: &Chosen,
    ) -> Plan {
        let size = (&self.prepared.extent(part), part.cells() as u64);
        let mut plan = self.plan(device.backend().facts(), device.asked.math, (&size.0[..], size.1), false);
        (plan.block, plan.march, plan.fused) = (chosen.block, Some(chosen.planes), Some(chosen.fused.clone()));
        plan.cache.clear();
        plan.registers = 0;
        plan.narrow &= self.fits(region, cells, chosen);
        plan
    }

    /// The launch of several steps with what it is given; what must live until it is done goes into `held`.
    ///
    /// # Errors
    /// As [`DeviceLaunch::commands`], and more blocks than a launch can have.
    pub(super) fn steps_commands(
        &self,
        device: &DeviceCore,
        (region, part): (usize, GridBox<4>),
        cells: &GridBox<4>,
        chosen: &Chosen,
        held: &mut Held,
    ) -> Result<Commands, Error> {
        let plan = self.steps_plan(device, (region, &part), cells, chosen);
        let (blocks, grid) = (plan.blocks(&self.prepared.extent(&part)), device.backend().facts().grid);
        if (0..3).any(|d| blocks[d] > grid[d]) {
            let steps = chosen.fused.depth.into();
            return Err(refused(&self.prepared.place(), steps, "more blocks than a launch can have"));
        }
        self.commands_of(device, plan, &[(region, part)], held)
    }

    /// The bytes of each captured value: those of all steps, if they differ.
    pub fn captured(&self) -> SmallVec<[SmallVec<[u8; CAPTURE]>; 8]> {
        let Some(steps) = self.varied else { return self.captures.list.iter().map(capture_bytes).collect() };
        let of = |n: usize| steps.iter().filter_map(move |one| one.list.get(n)).flat_map(capture_bytes).collect();
        (0..self.captures.list.len()).map(of).collect()
    }

    /// Whether positions of all cells of a box, and of those around it, fit 32 bits.
    fn fits(&self, region: usize, cells: &GridBox<4>, chosen: &Chosen) -> bool {
        debug_assert!(self.goal == Goal::Sweep);
        let axis = 4 - self.prepared.kernel.rank;
        self.args.iter().all(|arg| match arg {
            DeviceArg::Tiled(array) => array.layout.regions.get(region).is_some_and(|place| {
                // The first plane of the box may be far before what a window holds.
                let planes = [
                    cells.lo[axis] - i64::from(chosen.fused.reach[axis][0]) - place.origin[axis] - 1,
                    cells.hi[axis] + i64::from(chosen.fused.reach[axis][1]) - place.origin[axis] + 1,
                ];
                let fits = |at: i64| at.checked_mul(place.strides[axis]).is_some_and(|at| i32::try_from(at).is_ok());
                planes.into_iter().all(fits)
            }),
            _ => true,
        })
    }
}
