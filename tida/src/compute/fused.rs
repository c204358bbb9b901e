//! Several steps of a kernel in one launch on a device.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::plan::fuse::{Asked, Chosen, Faces, Parts, Steps, Target, choose, single};
use tida_kernels::plan::{Dialect, Goal, Plan};

use super::args::OnDevice;
use super::device::{Commands, DeviceArg, DeviceLaunch, Extent, Held, SweepLaunch};
use super::prepare::Prepared;
use super::tune;
use crate::acc::device::DeviceCore;
use crate::acc::node::{Done, Queue};
use crate::acc::sweep::{Fusible, Together};
use crate::array::GridBox;
use crate::backend::Facts;
use crate::error::{Error, ErrorKind};

impl Prepared {
    /// Whether several steps may run as one launch.
    pub fn fusible(&self) -> Option<Fusible> {
        let steps = self.steps.as_ref()?;
        let halo = steps.reach().map(|[below, above]| i64::from(below.max(above)));
        Some(Fusible { out: steps.pair.0, inp: steps.pair.1, halo })
    }

    /// How many steps had best run together: see [`Launch::depth`](crate::acc::sweep::Launch::depth).
    pub fn depth(&self, device: &DeviceCore, cells: &GridBox<4>, faces: &Faces, most: u32) -> u32 {
        let facts = device.backend().facts();
        // A CPU behind OpenCL keeps arrays in its caches, and has no memory that threads share.
        let off = device.fuse().is_off() || (!facts.gpu && *device.fuse() == Asked::Auto);
        if self.steps.is_none() || off || device.backend().simulated().is_some() {
            return 1;
        }
        self.chosen(device, cells, faces, (most, true)).map_or(1, |chosen| chosen.fused.depth.into())
    }

    pub(super) fn extent(&self, cells: &GridBox<4>) -> Extent {
        (4 - self.kernel.rank..4).map(|axis| cells.hi[axis] - cells.lo[axis]).collect()
    }

    /// How so many steps run together, or with `true` an odd number up to that; those are chosen only if they gain something,
    /// unless they are asked for.
    fn chosen(
        &self,
        device: &DeviceCore,
        cells: &GridBox<4>,
        faces: &Faces,
        (most, odd): (u32, bool),
    ) -> Option<Arc<Chosen>> {
        let steps = self.steps.as_ref()?;
        let Facts { machine, most_shared, block_threads, .. } = device.backend().facts();
        let asked = device.fuse().parts();
        // What trials found holds for as many steps as they were.
        let fits = |found: &Parts| found.depth.is_some_and(|depth| depth == most || odd && depth < most);
        let parts = tune::steps::known(self, device, cells, faces).filter(fits).unwrap_or(asked);
        let key = Asking {
            extent: self.extent(cells),
            faces: *faces,
            many: (most, odd),
            parts,
            device: (machine.multiprocessors, *most_shared, *block_threads),
        };
        if let Some(known) = self.choices.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let target = self.target(device, steps, &key.extent, faces);
        let forced = !odd || parts != Parts::default();
        let gains = |chosen: &Chosen| forced || chosen.cycles < GAIN * single(steps, &target);
        let way = |parts: &Parts| choose(steps, &target, parts, most, odd).filter(gains);
        let by_themselves = odd && parts.depth == Some(1);
        let chosen = way(&parts).or_else(|| if by_themselves { None } else { way(&asked) }).map(Arc::new);
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        if choices.len() >= CHOICES {
            choices.clear();
        }
        choices.insert(key, chosen.clone());
        chosen
    }

    /// Why so many steps do not run in one launch.
    fn refused(&self, steps: u32, found: &str) -> Error {
        Error::new(
            ErrorKind::Kernel,
            format!("run {steps} steps of the kernel at {} in one launch", self.place()),
            found,
            "run it with `TIDA_FUSE=off`, and report this",
        )
    }

    /// Where steps over such a box are to run.
    pub(super) fn target<'a>(
        &self,
        device: &'a DeviceCore,
        steps: &Steps,
        extent: &'a [i64],
        faces: &'a Faces,
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
    parts: Parts,
    device: (u32, u64, u32),
}

/// How steps of a kernel run together, as far as it was asked.
pub(crate) type Choices = Mutex<HashMap<Asking, Option<Arc<Chosen>>>>;

impl SweepLaunch<'_> {
    /// Puts a launch of so many steps into a stream. `held` is kept until it is done.
    ///
    /// # Errors
    /// Steps that cannot run together over this box, and what the device refuses.
    ///
    /// # Safety
    /// As [`Launch::enqueue_steps`](crate::acc::sweep::Launch::enqueue_steps).
    pub unsafe fn enqueue_steps(
        self,
        queue: &Queue<'_>,
        args: SmallVec<[OnDevice<'_>; 8]>,
        (region, part): (usize, GridBox<4>),
        together: &Together,
        held: Arc<dyn Any + Send + Sync>,
    ) -> Result<Done, Error> {
        let (prepared, Together { steps, cells, faces, .. }) = (self.prepared, together);
        let usual = together.usual(4 - prepared.kernel.rank);
        let launch = DeviceLaunch { within: Some(*cells), ..self.at(queue, args) };
        if part == *cells && !launch.checked {
            // SAFETY: handed on.
            unsafe { tune::steps::tried(&launch, queue, (region, part), faces) };
        }
        let Some(chosen) = prepared.chosen(queue.device, &usual, faces, (*steps, false)).filter(|_| !launch.checked)
        else {
            return Err(prepared.refused(*steps, "no way to run so many over this box"));
        };
        let mut kept = Held::new();
        let mut put = || {
            let commands = launch.steps_commands(queue.device, (region, part), cells, &chosen, &mut kept)?;
            // SAFETY: handed on; such kernels raise no fault; what the launch uses is kept below.
            unsafe { commands.put(&launch, queue, None) }
        };
        queue.enqueue(&mut put)?;
        Ok(Box::new(move || {
            drop((kept, held));
            Ok(())
        }))
    }
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
        let mut plan = self.plan(device.backend().facts(), device.math(), (&size.0[..], size.1), false);
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
            return Err(self.prepared.refused(chosen.fused.depth.into(), "more blocks than a launch can have"));
        }
        self.commands_of(device, plan, &[(region, part)], held)
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
