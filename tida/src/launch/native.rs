//! The native form of a launch, for a device that runs no other: a sweep, several sweeps that run as one, a reduction,
//! or both. It keeps to what the plan says: where that reads cells instead of ghosts, no ghost is read.

use std::sync::Arc;

use smallvec::SmallVec;

use super::around::Around;
use super::device::{DeviceArg, DeviceLaunch, OnDevice};
use super::launched::Launched;
use super::pieces::run_pieces;
use super::site::{OnHost, Site, Sites, sites};
use super::step::Launch;
use crate::backend::{Flaws, InLane, Native, NativeKind, NativeWork};
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::Queue;
use tida_kernels::plan::Plan;

/// What a launch does in its native form, one after the other.
#[derive(Clone, Copy, Default)]
pub(crate) struct NativeForm<'a> {
    pub sweeps: &'a [Arc<dyn Launch>],
    /// The reduction that comes last.
    pub fold: Option<&'a Arc<dyn NativeFold>>,
}

/// A reduction in its native form.
pub(crate) trait NativeFold: Send + Sync {
    /// What it reads.
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]>;

    /// Folds all cells, and keeps the value.
    ///
    /// # Safety
    /// No one writes what it reads.
    unsafe fn run(&self, sites: &[Option<Site>]) -> Result<(), Error>;
}

/// A sweep, or a reduction, where it finds its arrays.
struct Part<W> {
    work: W,
    sites: Sites,
    /// Arguments of which it reads cells instead of ghosts, with the box that it may read.
    inside: SmallVec<[(usize, OnHost, GridBox<4>, Around); 2]>,
}

impl<W> Part<W> {
    /// Where it finds its arrays now.
    ///
    /// # Safety
    /// No one writes what it reads.
    unsafe fn placed(&self, flaws: Flaws) -> Sites {
        let mut sites = self.sites.clone();
        for (arg, site, cells, around) in self.inside.iter().filter(|_| !flaws.reads_ghosts) {
            // SAFETY: the caller's promise.
            sites[*arg] = Some(Site::Own(unsafe { site.read_around(0, *cells, around) }));
        }
        sites
    }
}

/// The bytes that a plain sweep moves for each cell: those of its arrays.
pub(crate) fn moved<'a, 'b: 'a>(args: impl IntoIterator<Item = &'a DeviceArg<'b>>) -> u64 {
    let bytes = args.into_iter().map(|arg| match arg {
        DeviceArg::Tiled(array) => array.element.bytes() as u64,
        DeviceArg::Whole(..) | DeviceArg::Table(..) => 0,
    });
    bytes.sum()
}

impl DeviceLaunch<'_> {
    /// Puts the native form of a launch of this plan into a stream.
    ///
    /// # Errors
    /// Memory that the device does not have, and failures that it was told to simulate.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    pub(super) unsafe fn put_native(
        &self,
        queue: &Queue<'_>,
        boxes: &[(usize, GridBox<4>)],
        plan: &Plan,
        launched: &mut Launched,
    ) -> Result<(), Error> {
        let NativeForm { sweeps, fold } = self.native;
        let part = |args: SmallVec<[OnDevice<'_>; 8]>| self.native_part(queue, boxes, plan, args);
        let sweeps = sweeps
            .iter()
            .map(|work| {
                let Part { sites, inside, .. } = part(work.args())?;
                Ok(Part { work: work.clone(), sites, inside })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let fold = fold.map(|work| {
            let Part { sites, inside, .. } = part(work.args())?;
            Ok::<_, Error>(Part { work: work.clone(), sites, inside })
        });
        let fold = fold.transpose()?;
        let kind = NativeKind {
            reads_inside: sweeps.iter().any(|part| !part.inside.is_empty()),
            several_steps: false,
            several_sweeps: sweeps.len() + usize::from(fold.is_some()) > 1,
        };
        let [cells, takes, moves] = self.native_cells(boxes);
        let (boxes, spreads) = (boxes.to_vec(), queue.device.backend().facts().spreads);
        let in_lane = queue.lane.filter(|_| spreads).and_then(|lane| {
            // What it reads instead of ghosts it finds when it starts.
            let ([Part { work, sites, inside }], None) = (sweeps.as_slice(), &fold) else { return None };
            if !inside.is_empty() || work.grain() != [1; 4] || work.order().is_some() {
                return None;
            }
            let (work, sites) = (work.clone(), sites.clone());
            // SAFETY: the promise of who runs it.
            let run = move |region: usize, cells: GridBox<4>| unsafe { work.run_on(region, cells, &sites) };
            Some(InLane { lane, boxes: boxes.clone(), run: Box::new(run) })
        });
        let run = move |flaws: Flaws| {
            let last = usize::from(flaws.leaves_last);
            let count = sweeps.len() - if fold.is_some() { 0 } else { last };
            for part in sweeps.iter().take(count) {
                // SAFETY: the caller's promise.
                let sites = unsafe { part.placed(flaws) };
                // SAFETY: as above.
                let run = |region: usize, cells: GridBox<4>| unsafe { part.work.run_on(region, cells, &sites) };
                match spreads {
                    true => run_pieces(&boxes, part.work.grain(), &run)?,
                    false => boxes.iter().try_for_each(|(region, cells)| run(*region, *cells))?,
                }
            }
            match fold.filter(|_| last == 0) {
                // SAFETY: as above.
                Some(part) => unsafe { part.work.run(&part.placed(flaws)) },
                None => Ok(()),
            }
        };
        let work = NativeWork { run: Box::new(run), cells, takes, moves, kind, in_lane, outcome: launched.natively() };
        // SAFETY: handed on.
        unsafe { queue.device.backend().launch_native(queue.stream, Native::Work(work)) }
    }

    /// The cells of all parts, and those of a plain sweep that takes as long: what several parts have as arguments is
    /// moved once. And the bytes that it moves.
    fn native_cells(&self, boxes: &[(usize, GridBox<4>)]) -> [u64; 3] {
        let NativeForm { sweeps, fold } = self.native;
        let cells: u64 = boxes.iter().map(|(_, cells)| cells.cells() as u64).sum();
        let parts = (sweeps.len() + usize::from(fold.is_some())) as u64;
        let each = sweeps.iter().map(|sweep| sweep.args().len()).chain(fold.map(|fold| fold.args().len()));
        let (all, here) = (each.sum::<usize>().max(1) as u64, self.args.len() as u64);
        let takes = if parts > 1 { cells * parts * here / all } else { cells * parts };
        [cells * parts, takes, cells * moved(&self.args)]
    }

    /// Where a part of the launch finds its arrays.
    fn native_part(
        &self,
        queue: &Queue<'_>,
        boxes: &[(usize, GridBox<4>)],
        plan: &Plan,
        args: SmallVec<[OnDevice<'_>; 8]>,
    ) -> Result<Part<()>, Error> {
        let mut inside = SmallVec::new();
        for (number, arg) in args.iter().enumerate() {
            let DeviceArg::Tiled(array) = &arg.0 else { continue };
            let ghosts = plan.ghosts.iter().find(|ghosts| match self.args.get(usize::from(ghosts.arg)) {
                Some(DeviceArg::Tiled(other)) => Arc::ptr_eq(other.storage, array.storage),
                _ => false,
            });
            let (Some(ghosts), Some((_, first)), Some((_, last))) = (ghosts, boxes.first(), boxes.last()) else {
                continue;
            };
            let regions = &array.regions.regions;
            if let (Some(from), Some(to)) = (regions.first(), regions.last()) {
                let (domain, grown) = (GridBox::new(first.lo, last.hi), GridBox::new(from.grown.lo, to.grown.hi));
                let site = OnHost::whole(array, queue)?;
                inside.push((number, site, grown, Around::owed(domain, &ghosts.faces)));
            }
        }
        Ok(Part { work: (), sites: sites(queue, args)?, inside })
    }
}
