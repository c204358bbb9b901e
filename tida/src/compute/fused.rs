//! Several steps of a kernel in one launch on a device.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::plan::Goal;
use tida_kernels::plan::fuse::{Asked, Chosen, Faces, Parts, Steps, Target, choose, single};

use super::args::OnDevice;
use super::device::{DeviceArg, DeviceLaunch, Held, SweepLaunch};
use super::prepare::Prepared;
use crate::acc::device::DeviceCore;
use crate::acc::node::{Done, Queue};
use crate::acc::sweep::Fusible;
use crate::array::GridBox;
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
        let (Some(steps), asked) = (&self.steps, device.fuse()) else { return 1 };
        // A CPU behind OpenCL keeps arrays in its caches, and has no memory that threads share.
        if asked.is_off() || device.backend().simulated().is_some() || (!facts.gpu && *asked == Asked::Auto) {
            return 1;
        }
        let extent = self.extent(cells);
        let target = self.target(device, steps, &extent, faces);
        let chosen = choose(steps, &target, &asked.parts(), most, true);
        let forced = asked.parts() != Parts::default();
        let chosen = chosen.filter(|chosen| forced || chosen.cycles < 0.95 * single(steps, &target));
        chosen.map_or(1, |chosen| chosen.fused.depth.into())
    }

    fn extent(&self, cells: &GridBox<4>) -> SmallVec<[i64; 4]> {
        (4 - self.kernel.rank..4).map(|axis| cells.hi[axis] - cells.lo[axis]).collect()
    }

    fn target<'a>(&self, device: &'a DeviceCore, steps: &Steps, extent: &'a [i64], faces: &'a Faces) -> Target<'a> {
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
        }
    }

    /// How so many steps run together.
    fn chosen(&self, device: &DeviceCore, cells: &GridBox<4>, faces: &Faces, steps: u32) -> Option<Chosen> {
        let known = self.steps.as_ref()?;
        let extent = self.extent(cells);
        choose(known, &self.target(device, known, &extent, faces), &device.fuse().parts(), steps, false)
    }
}

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
        (region, cells): (usize, GridBox<4>),
        (faces, steps): (&Faces, u32),
        held: Arc<dyn Any + Send + Sync>,
    ) -> Result<Done, Error> {
        let prepared = self.prepared;
        let refused = |found: &str| {
            Error::new(
                ErrorKind::Kernel,
                format!("run {steps} steps of the kernel at {} in one launch", prepared.place()),
                found,
                "run it with `TIDA_FUSE=off`, and report this",
            )
        };
        let Some(chosen) = prepared.chosen(queue.device, &cells, faces, steps).filter(|_| !self.checked) else {
            return Err(refused("no way to run so many over this box"));
        };
        let launch = self.at(queue, args);
        let mut kept = Held::new();
        let mut put = || {
            let grid = queue.device.backend().facts().grid;
            let mut plan = launch.plan(
                queue.device.backend().facts(),
                queue.device.math(),
                (&prepared.extent(&cells), cells.cells() as u64),
                false,
            );
            (plan.block, plan.march, plan.fused) = (chosen.block, Some(chosen.planes), Some(chosen.fused.clone()));
            plan.cache.clear();
            plan.registers = 0;
            plan.narrow &= launch.fits(region, &cells, &chosen);
            let blocks = plan.blocks(&prepared.extent(&cells));
            if (0..3).any(|d| blocks[d] > grid[d]) {
                return Err(refused("more blocks than a launch can have"));
            }
            let commands = launch.commands_of(queue.device, plan, &[(region, cells)], &mut kept)?;
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
                let last = cells.hi[axis] + i64::from(chosen.fused.reach[axis][1]) - place.origin[axis] + 1;
                last.checked_mul(place.strides[axis]).is_some_and(|most| most <= i64::from(i32::MAX))
            }),
            _ => true,
        })
    }
}
