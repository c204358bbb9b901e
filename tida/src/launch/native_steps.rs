//! The native form of several steps in one launch. It keeps what is between its steps to itself: it reads the array
//! that the first step reads, as far as all steps reach, and writes the one that the last step writes, in the planes
//! that the launch leaves. What lies beyond the box is what [`Faces`](tida_kernels::plan::fuse::Faces) say.

use std::sync::Arc;

use tida_kernels::element::ElementType;
use tida_kernels::plan::fuse::Face;

use super::around::Around;
use super::device::{DeviceArg, DeviceArray, OnDevice};
use super::fused::refused;
use super::site::{OnHost, Own, Site, Sites, sites};
use super::step::{Launch, Together};
use crate::backend::{Flaws, Native, NativeKind, NativeWork, Outcome};
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::Queue;

/// Steps of a launch.
pub(super) struct Steps {
    steps: Vec<Step>,
    /// The arrays that the first step writes and reads.
    pair: [OnHost; 2],
    region: usize,
    /// The planes that the launch leaves.
    part: GridBox<4>,
    around: Around,
    /// Whether memory has the same beyond faces in both arrays.
    alike: bool,
    /// What a step reads around a cell.
    reach: [[i64; 2]; 4],
}

struct Step {
    launch: Arc<dyn Launch>,
    /// Where the arrays are that take no turns.
    sites: Sites,
    /// The arguments that are written and read in turn.
    pair: [usize; 2],
    /// Whether it counts what saturates.
    counts: bool,
}

impl Step {
    /// # Safety
    /// As [`Steps::run`].
    unsafe fn run(&self, region: usize, cells: &GridBox<4>, [to, from]: [Site; 2]) -> Result<(), Error> {
        let mut sites = self.sites.clone();
        let [out, inp] = self.pair;
        (sites[out], sites[inp]) = (Some(to), Some(from));
        // SAFETY: handed on.
        unsafe { self.launch.run_on(region, *cells, &sites) }
    }

    /// Sets the ghosts in a box that it computes of what it reads, and those that a fill takes from them.
    ///
    /// # Safety
    /// As [`Steps::run`]; the cells beside them are there.
    unsafe fn set_ghosts(
        &self,
        own: &Own,
        read: &GridBox<4>,
        (around, element): (&Around, &ElementType),
    ) -> Result<(), Error> {
        self.launch.ghosts().iter().try_for_each(|face| {
            let (region, cells) = (face.ghosts.0, face.ghosts.1.intersect(read));
            // What follows are tables.
            let mut sites = Sites::from_elem(None, face.launch.args().len());
            sites[0] = Some(Site::Own(own.clone()));
            if cells.is_empty() {
                return Ok(());
            }
            // SAFETY: handed on.
            unsafe { face.launch.run_on(region, cells, &sites)? };
            if let Some(axis) = face.side.map(|side| side / 2) {
                let mut beyond = *read;
                (beyond.lo[axis], beyond.hi[axis]) = (cells.lo[axis], cells.hi[axis]);
                // SAFETY: as above; the memory is this launch's alone.
                unsafe { around.fill_beside(&own.source(), &beyond, axis, element) };
            }
            Ok(())
        })
    }
}

impl Steps {
    /// The first of these steps, as [`enqueue_steps`](super::fused::enqueue_steps) is given them.
    ///
    /// # Errors
    /// Steps that cannot run together, and memory that the device does not have.
    pub fn new(
        launches: &Arc<[Arc<dyn Launch>]>,
        queue: &Queue<'_>,
        (region, part): (usize, GridBox<4>),
        together: &Together,
        reach: [[i64; 2]; 4],
    ) -> Result<Steps, Error> {
        let Together { steps, cells, faces, .. } = together;
        let mut all = Vec::with_capacity(*steps as usize);
        let mut pair = None;
        for launch in launches.iter().take(*steps as usize) {
            let step = launch.step().and_then(|step| Some((step, step.prepared.fusible()?)));
            let Some((step, fusible)) = step else {
                return Err(refused("an unknown place", *steps, "kernels that run one step a launch"));
            };
            let [out, inp] = [fusible.out, fusible.inp];
            let args = launch.args();
            if pair.is_none() {
                let [out, inp] = [args.get(out), args.get(inp)].map(whole);
                let (Some(out), Some(inp)) = (out, inp) else {
                    return Err(refused(&step.prepared.place(), *steps, "arrays that do not alternate"));
                };
                let place = |array: DeviceArray<'_>| OnHost::whole(&array.placed(queue), queue);
                pair = Some([place(out)?, place(inp)?]);
            }
            let counts = step.prepared.analysis.counts;
            let mut sites = sites(queue, launch.args())?;
            for (site, arg) in sites.iter_mut().zip(&args) {
                if let (Some(Site::Device(site)), Some(array)) = (site, whole(Some(arg))) {
                    *site = OnHost::whole(&array.placed(queue), queue)?;
                }
            }
            all.push(Step { launch: launch.clone(), sites, pair: [out, inp], counts });
        }
        let Some(pair) = pair.filter(|_| all.len() == *steps as usize) else {
            return Err(refused("an unknown place", *steps, "fewer of them"));
        };
        let faces_read = faces.as_flattened().iter().zip(reach.as_flattened()).filter(|(_, reach)| **reach > 0);
        let alike = faces_read.into_iter().all(|(face, _)| *face != Face::Memory);
        let negated = launches.first().map_or([[0; 2]; 4], |launch| launch.negated());
        Ok(Steps { steps: all, pair, region, part, around: Around::new(*cells, *faces, negated), alike, reach })
    }

    /// Puts them into a stream. They take as long as so many cells of a plain sweep, which moves so many bytes.
    ///
    /// # Errors
    /// Failures that the device was told to simulate.
    ///
    /// # Safety
    /// As [`Steps::run`], until the launch is done.
    pub unsafe fn put(self, queue: &Queue<'_>, (takes, moves): (u64, u64), outcome: Arc<Outcome>) -> Result<(), Error> {
        let kind = NativeKind { several_steps: self.steps.len() > 1, ..NativeKind::default() };
        let cells = (self.part.cells() * self.steps.len()) as u64;
        // SAFETY: the caller's promise.
        let run = move |flaws| unsafe { self.run(flaws) };
        let work = NativeWork { run: Box::new(run), cells, takes, moves, kind, in_lane: None, outcome };
        // SAFETY: as above.
        unsafe { queue.device.backend().launch_native(queue.stream, Native::Work(work)) }
    }

    /// Runs them.
    ///
    /// # Errors
    /// Those of the kernels.
    ///
    /// # Safety
    /// No one else writes what the launch reads, or touches what it writes.
    unsafe fn run(&self, flaws: Flaws) -> Result<(), Error> {
        let count = self.steps.len();
        let [out, inp] = &self.pair;
        // The cells that each step leaves for the next one, from what the first one reads on.
        let mut left = vec![self.part];
        for _ in 0..count {
            let next = left.last().map_or(self.part, |of| self.around.needed(of, &self.reach));
            left.push(next);
        }
        left.reverse();
        let read = |number: usize| {
            let [below, above] = [0, 1].map(|side| self.reach.map(|reach| reach[side]));
            left[number + 1].grown(below, above)
        };
        // SAFETY: the caller's promise.
        let mut last = unsafe { inp.read_around(self.region, read(0), &self.around) };
        if let Some(first) = self.steps.first() {
            // SAFETY: as above; the memory is this launch's alone.
            unsafe { first.set_ghosts(&last, &read(0), (&self.around, inp.element()))? };
        }
        for (number, step) in self.steps.iter().enumerate() {
            let cells = &left[number + 1];
            if number + 1 == count {
                // SAFETY: as above.
                return unsafe { step.run(self.region, cells, [Site::Device(out.clone()), Site::Own(last)]) };
            }
            if number == 0 && flaws.too_shallow {
                continue;
            }
            let next = Own::new(read(number + 1), inp.element());
            // What is computed for planes that other launches leave is counted by those.
            let own = if step.counts { cells.intersect(&self.part) } else { *cells };
            for (cells, to) in
                std::iter::once((own, next.clone())).chain(rest(cells, &own).map(|cells| (cells, next.spare())))
            {
                if !cells.is_empty() {
                    // SAFETY: as above; the new memory is this launch's alone.
                    unsafe { step.run(self.region, &cells, [Site::Own(to), Site::Own(last.clone())])? };
                }
            }
            // Odd steps have what the array has that the launch writes.
            let held = if number % 2 == 0 && !self.alike { out } else { inp };
            // SAFETY: as above.
            unsafe {
                let held = held.source(self.region);
                self.around.fill(&next.source(), &read(number + 1), (None, &held), inp.element());
                self.steps[number + 1].set_ghosts(&next, &read(number + 1), (&self.around, inp.element()))?;
            }
            last = next;
        }
        Ok(())
    }
}

/// An argument that is an array with the tile's cuts.
fn whole<'a>(arg: Option<&OnDevice<'a>>) -> Option<DeviceArray<'a>> {
    match arg.map(|arg| &arg.0) {
        Some(DeviceArg::Tiled(array)) => Some(*array),
        _ => None,
    }
}

/// The parts of a box beside one inside it.
fn rest(of: &GridBox<4>, without: &GridBox<4>) -> impl Iterator<Item = GridBox<4>> {
    let mut left = *of;
    let mut parts = Vec::new();
    for axis in 0..4 {
        let (mut below, mut above) = (left, left);
        below.hi[axis] = without.lo[axis];
        above.lo[axis] = without.hi[axis];
        parts.extend([below, above]);
        (left.lo[axis], left.hi[axis]) = (without.lo[axis], without.hi[axis]);
    }
    parts.into_iter()
}
