//! A recorded kernel as the scheduler runs it. All of it but [`Form`] is compiled once, whatever the kernel.

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::analysis::Analysis;

use super::along::waits;
use super::ask::Pass;
use super::one_region::{Alone, Ends, Regions};
use crate::backend::cpu;
use crate::device::plans::Hints;
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::blocks::BlockList;
use crate::launch::capture::{CapturedValue, integers};
use crate::launch::carry::{self, ThroughDevice};
use crate::launch::decoded::{Codes, Wholes};
use crate::launch::device::OnDevice;
use crate::launch::fused::OneStep;
use crate::launch::native::NativeForm;
use crate::launch::needs::{Needs, Unproven};
use crate::launch::prepare::Prepared;
use crate::launch::quoted::Quoted;
use crate::launch::site::Site;
use crate::launch::step::Launch;
use crate::launch::sweep::SweepLaunch;
use crate::memory::node::{Done, Queue};
use crate::program::colour::CellColour;
use crate::program::order::{Carry, Order};
use crate::record::wait::InKernel;

/// What is compiled for each kernel: its closure, with what it holds of its arguments.
pub(super) trait Form: Send + Sync {
    /// The arguments as a device finds them.
    fn on_device(&self) -> SmallVec<[OnDevice<'_>; 8]>;

    /// The ends of the regions of each argument that is a whole array of several.
    fn ends(&self) -> SmallVec<[Ends<'_>; 8]>;

    /// Runs over a box.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run(&self, cells: &GridBox<4>, part: &Part<'_>) -> Result<(), Error>;
}

/// How a kernel runs over a box inside one region.
pub(super) struct Part<'a> {
    pub region: usize,
    pub run_checked: bool,
    pub valid_only: u16,
    /// Rows that are swept through all planes of the box before the next ones.
    pub rows: i64,
    /// No one else touches the memory of what is written meanwhile, nor reads other cells of it.
    pub apart: bool,
    /// Where arrays are that are not on the host.
    pub sites: Option<&'a [Option<Site>]>,
    /// The regions that have all that is read of whole arrays.
    pub alone: &'a [Option<usize>],
    pub pass: &'a Pass<'a>,
}

/// A kernel in its native form.
pub(super) struct Native {
    /// How its cells run in order, if they do, and what is carried to those that come first.
    pub order: Option<Order>,
    pub carry: Option<Carry>,
    /// The colour of the cells that run, if not all do.
    pub colour: Option<CellColour>,
    pub quoted: Quoted,
    pub form: Box<dyn Form>,
    pub run_checked: bool,
    /// The first read that is, and whether tiles are grown.
    pub needs: (Unproven, bool),
    pub valid_only: u16,
    /// Threads of a block on a device, if asked for.
    pub block: Option<[u32; 3]>,
    /// Cells along the first axis that a thread of a device takes, if asked for.
    pub march: Option<u32>,
    /// What is to be cached on a device, if asked for.
    pub cache: Hints,
    /// Rows that are swept through all planes of a box before the next ones.
    pub rows: i64,
    /// An argument of another resolution that does not move along with the cell.
    pub uneven: Option<usize>,
    /// It is no step of several in one launch: arguments of another resolution are found by other numbers than a
    /// cell's.
    pub alone: bool,
    /// Whole arrays that hold codes, decoded once.
    pub wholes: Wholes,
    pub prepared: Arc<Prepared>,
}

/// How two parts of a sweep ended: with the failure of the first of two cells in row-major order.
fn together(first: Result<(), Error>, second: Result<(), Error>) -> Result<(), Error> {
    match (first, second) {
        (Err(first), Err(second)) => Err(if second.is_before(&first) { second } else { first }),
        (first, second) => first.and(second),
    }
}

impl Launch for Native {
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error> {
        let along = self.order.zip(self.carry);
        let crosses = |along: &_| carry::crosses(self.form.on_device(), &self.prepared.args, (region, &cells), *along);
        let Some(carried) = along.filter(crosses) else {
            // SAFETY: handed on.
            return unsafe { self.run_at(region, cells, None) };
        };
        // SAFETY: the caller's promise: the region before is read by this sweep, and is not written meanwhile.
        unsafe {
            let args = self.form.on_device();
            let bridges = carry::OnHost::take(args, &self.prepared.args, (region, &cells), carried);
            let first = self.run_at(region, bridges.head, Some(&bridges.sites(self.prepared.kernel.args.len())));
            bridges.give();
            let rest = if bridges.rest.is_empty() { Ok(()) } else { self.run_at(region, bridges.rest, None) };
            together(first, rest)
        }
    }

    fn grain(&self) -> [i64; 4] {
        std::array::from_fn(|axis| if self.order.is_some_and(|order| order.axis == axis) { i64::MAX } else { 1 })
    }

    unsafe fn run_on(&self, region: usize, cells: GridBox<4>, sites: &[Option<Site>]) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.run_at(region, cells, Some(sites)) }
    }

    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        let native: [Arc<dyn Launch>; 1] = [self.clone()];
        // SAFETY: the caller's promise; `check` has proven every access in range or has it checked, for the tiles that
        // these boxes are part of; `self` holds the arrays.
        let put = |queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]| unsafe {
            let sweep = self.on_device(NativeForm { sweeps: &native, fold: None });
            sweep.enqueue(queue, self.form.on_device(), boxes, self.clone())
        };
        let Some(along) = self.order.zip(self.carry) else { return put(queue, boxes) };
        if carry::is_in_window(queue, self.form.on_device(), &self.prepared.args) {
            return put(queue, boxes);
        }
        let crosses =
            |of: &(usize, GridBox<4>)| carry::crosses(self.form.on_device(), &self.prepared.args, (of.0, &of.1), along);
        let mut held = Vec::new();
        let ends = queue.enqueue(|| {
            let mut ends = Vec::new();
            for layer in along.0.layers(boxes) {
                let (crossing, others): (Vec<_>, Vec<_>) = layer.into_iter().partition(crosses);
                if !others.is_empty() {
                    ends.push(put(queue, &others)?);
                }
                if crossing.is_empty() {
                    continue;
                }
                held.push(ThroughDevice::new(&crossing, along));
                let Some(through) = held.last_mut() else { continue };
                let args = self.form.on_device();
                // SAFETY: the caller's promise: what comes from the region before is read by this sweep.
                unsafe { through.bring(queue, args, &self.prepared.args)? };
                ends.push(put(&Queue { rings: &through.rings(queue), ..*queue }, &through.heads())?);
                // SAFETY: as above; these cells are among those that the sweep writes.
                unsafe { through.give(queue)? };
                let rest = through.rest();
                if !rest.is_empty() {
                    ends.push(put(queue, &rest)?);
                }
            }
            Ok(ends)
        })?;
        Ok(Box::new(move || {
            let ended = ends.into_iter().map(|end| end()).fold(Ok(()), together);
            drop(held);
            ended
        }))
    }

    unsafe fn enqueue_list(self: Arc<Self>, queue: &Queue<'_>, list: &Arc<BlockList>) -> Result<Done, Error> {
        let native: [Arc<dyn Launch>; 1] = [self.clone()];
        // SAFETY: as in `enqueue`: lists have no order.
        unsafe {
            let sweep = SweepLaunch { list: Some(list), ..self.on_device(NativeForm { sweeps: &native, fold: None }) };
            sweep.enqueue(queue, self.form.on_device(), list.spans(), self.clone())
        }
    }

    fn needs(&self) -> Option<Needs> {
        let downwards = self.order.is_some_and(|order| order.backward && order.axis + self.prepared.kernel.rank == 4);
        let of_level = || Some(Needs::of_level(&self.prepared, self.uneven?));
        let needs = Needs::of(&self.prepared, self.needs.1, self.needs.0).or_else(of_level);
        needs.or_else(|| downwards.then(|| Needs::downwards(&self.prepared)))
    }

    fn step(&self) -> Option<OneStep<'_>> {
        let in_place = self.order.is_some() || self.colour.is_some();
        let other = self.alone || self.run_checked || self.valid_only != 0 || in_place;
        let alone = other || self.prepared.steps.is_none();
        (!alone).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn part(&self) -> Option<OneStep<'_>> {
        let around = self.prepared.reads_around_writes() || self.order.is_some() || self.colour.is_some();
        let alone = self.run_checked || self.valid_only != 0 || self.prepared.is_coded || around;
        (!alone).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn beside(&self) -> Option<OneStep<'_>> {
        let in_place = self.order.is_some() || self.colour.is_some();
        let other = self.run_checked || self.valid_only != 0 || self.prepared.is_coded || in_place;
        (!other).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn line(&self) -> Option<OneStep<'_>> {
        let alone = self.order.is_none() || self.carry.is_some() || self.run_checked;
        let other = alone || self.valid_only != 0 || self.prepared.is_coded || self.prepared.analysis.may_fault;
        (!other).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn is_sure(&self) -> bool {
        let Analysis { complete, may_fault, counts, .. } = self.prepared.analysis;
        let later = |value: &CapturedValue| matches!(value, CapturedValue::Deferred(_));
        let known = !self.quoted.captures.list.iter().any(later);
        known && complete && !(may_fault || counts || self.run_checked || self.order.is_some() || self.colour.is_some())
    }

    fn rows(&self) -> i64 {
        self.rows
    }

    fn order(&self) -> Option<Order> {
        self.order
    }

    fn carry(&self) -> Option<Carry> {
        self.carry
    }

    fn colour(&self) -> Option<CellColour> {
        self.colour
    }

    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.form.on_device()
    }
}

impl Native {
    /// The sweep as a device launches it.
    fn on_device<'a>(&'a self, native: NativeForm<'a>) -> SweepLaunch<'a> {
        SweepLaunch {
            prepared: &self.prepared,
            captures: &self.quoted.captures,
            checked: self.run_checked,
            valid_only: self.valid_only,
            block: self.block,
            march: self.march,
            cache: self.cache,
            order: self.order,
            colour: self.colour,
            native,
            list: None,
        }
    }

    /// Runs over a box inside one region, of arrays on the host or where `sites` says.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run_at(&self, region: usize, cells: GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        if !self.prepared.is_coded {
            // SAFETY: handed on.
            return unsafe { self.run_values(region, cells, sites) };
        }
        let codes = Codes {
            prepared: &self.prepared,
            captures: &self.quoted.captures,
            valid_only: self.valid_only,
            wholes: &self.wholes,
            grain: self.grain(),
        };
        // SAFETY: the caller's promise, of the boxes that are handed on as of the whole.
        unsafe {
            codes.each(self.form.on_device(), (region, cells), sites, &|cells, sites| {
                // Arrays on the host that hold values are found as by any other kernel.
                self.run_values(region, cells, Some(sites).filter(|sites| sites.iter().any(Option::is_some)))
            })
        }
    }

    /// The same of arrays that hold values.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run_values(&self, region: usize, cells: GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        let _running = InKernel::enter();
        let (captures, rank) = (&self.quoted.captures, self.prepared.kernel.rank);
        let may_fault = self.run_checked || self.prepared.may_fault(&cells, captures);
        let ends = self.form.ends();
        // The first cell that raises a fault is the first of the whole box. Parts come from the first cell to the last.
        let backward = self.order.is_some_and(|order| order.backward);
        if may_fault || backward || cells.is_empty() || ends.iter().all(Option::is_none) {
            // SAFETY: handed on.
            return unsafe { self.run_part(region, cells, sites, &[], may_fault) };
        }
        let captures = integers(&self.prepared.analysis, captures);
        let regions = Regions { analysis: &self.prepared.analysis, captures: &captures, ends: &ends, rank };
        // SAFETY: handed on, for parts that are the whole together; the analysis says which regions they read.
        let mut run = |part, alone: &Alone| unsafe { self.run_part(region, part, sites, alone, false) };
        regions.each(cells, &mut run)
    }

    /// The same of a box, with the regions that have all that it reads of whole arrays.
    ///
    /// # Safety
    /// As [`Launch::run`]; nothing else is read of those arrays.
    unsafe fn run_part(
        &self,
        region: usize,
        cells: GridBox<4>,
        sites: Option<&[Option<Site>]>,
        alone: &[Option<usize>],
        may_fault: bool,
    ) -> Result<(), Error> {
        let overwrites = self.prepared.analysis.args.iter().all(|arg| arg.must_write || !arg.may_write);
        // What is read of other cells lies in the same memory.
        let in_place = self.prepared.reads_around_writes();
        let pass = Pass::new(&self.quoted, &self.prepared.kernel.numbers, may_fault);
        let pass = pass.overwriting(overwrites).in_place(in_place, self.order, self.prepared.kernel.rank);
        let around = self.prepared.around_writes.filter(|_| !may_fault && cpu::stores_some());
        let pass = pass.coloured(self.colour, around);
        let pass = pass.waiting(self.order.is_some_and(|order| waits(&self.prepared, order)));
        let apart = sites.is_none() && !in_place;
        let (run_checked, valid_only, rows, pass) = (self.run_checked, self.valid_only, self.rows, &pass);
        // SAFETY: handed on.
        unsafe { self.form.run(&cells, &Part { region, run_checked, valid_only, rows, apart, sites, alone, pass })? };
        pass.fault(&self.prepared)
    }
}
