//! Several steps of a kernel in one launch on a device.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::plan::fuse::{Asked, Chosen, Faces, Parts, Target, choose, single};
use tida_kernels::plan::{Dialect, Goal};

use super::args::OnDevice;
use super::device::{DeviceArg, DeviceLaunch, Extent, Held, SweepLaunch};
use super::prepare::Prepared;
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

    fn extent(&self, cells: &GridBox<4>) -> Extent {
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
        let (facts, parts) = (device.backend().facts(), device.fuse().parts());
        let Facts { machine, most_shared, block_threads, .. } = facts;
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
        let target = Target {
            extent: &key.extent,
            faces,
            machine,
            shared: *most_shared,
            threads: *block_threads,
            work: steps.work,
            others: steps.others,
            unrolled: facts.gpu,
            shuffles: facts.dialect == Dialect::Cuda,
        };
        let forced = !odd || parts != Parts::default();
        let gains = |chosen: &Chosen| forced || chosen.cycles < GAIN * single(steps, &target);
        let chosen = choose(steps, &target, &parts, most, odd).filter(gains).map(Arc::new);
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        if choices.len() >= CHOICES {
            choices.clear();
        }
        choices.insert(key, chosen.clone());
        chosen
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
        let refused = |found: &str| {
            Error::new(
                ErrorKind::Kernel,
                format!("run {steps} steps of the kernel at {} in one launch", prepared.place()),
                found,
                "run it with `TIDA_FUSE=off`, and report this",
            )
        };
        let usual = together.usual(4 - prepared.kernel.rank);
        let Some(chosen) = prepared.chosen(queue.device, &usual, faces, (*steps, false)).filter(|_| !self.checked)
        else {
            return Err(refused("no way to run so many over this box"));
        };
        let launch = DeviceLaunch { within: Some(*cells), ..self.at(queue, args) };
        let mut kept = Held::new();
        let mut put = || {
            let grid = queue.device.backend().facts().grid;
            let mut plan = launch.plan(
                queue.device.backend().facts(),
                queue.device.math(),
                (&prepared.extent(&part), part.cells() as u64),
                false,
            );
            (plan.block, plan.march, plan.fused) = (chosen.block, Some(chosen.planes), Some(chosen.fused.clone()));
            plan.cache.clear();
            plan.registers = 0;
            plan.narrow &= launch.fits(region, cells, &chosen);
            let blocks = plan.blocks(&prepared.extent(&part));
            if (0..3).any(|d| blocks[d] > grid[d]) {
                return Err(refused("more blocks than a launch can have"));
            }
            let commands = launch.commands_of(queue.device, plan, &[(region, part)], &mut kept)?;
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
