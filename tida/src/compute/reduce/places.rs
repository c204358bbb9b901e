//! Reductions of arrays on several places.
//!
//! The order of a reduction is fixed by its box: a list of segments, folded by 64. A part of an array has a run of that
//! list. Each place makes its own run, on its device if the arrays are there, which folds the groups of the list that
//! it has whole. One place folds what all have found, so that no bit depends on the places.

use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::fold::{tree, twice};
use super::frame::{Frame, GROUP, Held, slots_of};
use super::job::Job;
use super::natively::NativePart;
use super::ops::{Foldable, Reduction};
use super::run::{Planned, is_at_host, touched, trackers};
use super::stubs::{Run, folded, packed};
use crate::acc::TileAcc;
use crate::array::places::shares_segments;
use crate::compute::args::{ArgInfo, Args, HeldArgs, Infos, TiledInfo, Views};
use crate::compute::ask::Ask;
use crate::compute::deferred::Scalar;
use crate::compute::view::{Checked, Proven};
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::folded::Cells;
use crate::launch::folded::runs::{RunValues, Values};
use crate::launch::native::NativeFold;
use crate::launch::prepare::Prepared;
use crate::launch::site::Site;
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{BoxTouch, Mode, Touch};
use crate::ranks::{Bytes, Parcel, Slot, World};
use crate::tile::NOWHERE;

/// Records a reduction of parts of arrays, each on its place.
///
/// # Errors
/// What can be known now, as of any reduction; segments that two places have a part of.
pub(super) fn on_places<const D: usize, A, R, O, N>(
    args: &A,
    (planned, world): (&Planned<'_, D>, Option<Arc<World>>),
    (op, kernel): (O, &Arc<N>),
    recorded: &'static Location<'static>,
) -> Result<Scalar<O::Output<D>>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    let mut all = Vec::new();
    let mut part = |frame: Frame<D>, place: usize| -> Arc<dyn ReducingPart<D>> {
        let found = Arc::default();
        all.push(Arc::clone(&found));
        let job = Job { frame, kernel: kernel.clone(), held: args.hold(place), op };
        Arc::new(PartOf { job, found, list: OnceLock::new(), of: PhantomData })
    };
    let parts = record_parts(planned, &|place| args.infos(place), world.is_some(), &mut part, recorded)?;
    Ok(record_end(op, planned.cells, (parts, all), world, recorded))
}

/// Gives the arguments of a place.
type GiveInfos<'a, const D: usize> = &'a dyn Fn(usize) -> Infos<'a, D>;

/// Makes what runs the part of a place.
type MakePart<'a, const D: usize> = &'a mut dyn FnMut(Frame<D>, usize) -> Arc<dyn ReducingPart<D>>;

/// The recorded parts of a reduction.
struct Parts {
    acc: TileAcc,
    nodes: Vec<Arc<Node>>,
    /// Slots of the whole list, and the first of those here.
    total: usize,
    start: Option<usize>,
}

/// Records the part of each place.
///
/// # Errors
/// As [`on_places`].
fn record_parts<const D: usize>(
    planned: &Planned<'_, D>,
    infos: GiveInfos<'_, D>,
    on_ranks: bool,
    part: MakePart<'_, D>,
    recorded: &'static Location<'static>,
) -> Result<Parts, Error> {
    let (cells, tried) = (planned.cells, || format!("reduce the kernel at {}", planned.prepared.place()));
    let (mut nodes, mut acc, mut total, mut start) = (Vec::new(), None, 0, None);
    for place in 0.. {
        let infos = infos(place);
        let tiled = infos.iter().find_map(|info| match info {
            ArgInfo::Tiled(tiled) if tiled.level.is_none() => Some(tiled),
            _ => None,
        });
        // Beyond the last part is the array itself. All of it may be one part, which is on one rank.
        let is_part = |tiled: &&TiledInfo<'_, D>| match on_ranks {
            true => tiled.acc.world().is_none(),
            false => tiled.layout.is_part(),
        };
        let Some(tiled) = tiled.filter(is_part) else { break };
        let layout = tiled.layout.clone();
        if shares_segments(&layout.centering) {
            let found = "an array of one axis, centred on faces, on several places";
            return Err(Error::new(
                ErrorKind::Argument,
                tried(),
                found,
                "build it on one place, such as `acc.places()[0]`",
            ));
        }
        total = slots_of(&cells, &layout.domain()).end;
        acc.get_or_insert_with(|| tiled.acc.clone());
        if tiled.tracker.storage().regions() == 0 {
            // Another rank has it.
            continue;
        }
        let slots = slots_of(&cells, &layout.owned);
        start = start.or(Some(slots.start).filter(|_| !slots.is_empty()));
        let touched = touched(&planned.prepared, &planned.quoted, planned.views, (&layout, &cells), &infos)?;
        let Some(touched) = touched else { continue };
        let cells = planned.way.on_device(&layout, &cells, touched.key.on_device);
        let part = part(planned.frame(&touched, layout), place);
        let touch = |touch: &BoxTouch| Touch::new(&touch.tracker, Some(touch.region), Mode::Read);
        let touches: Vec<Touch> = touched.touches.iter().map(touch).collect();
        let trackers = trackers(&infos);
        let folds = !cells.is_empty() && !is_at_host(&trackers);
        // Until it is recorded.
        let kept = folds.then(|| touched.acc.core().try_reserve(&trackers)).flatten();
        let work = match kept.is_some() {
            true => on_device(part, cells)?,
            false => Work::Host(Box::new(move || part.run())),
        };
        nodes.push(touched.acc.record_node("a reduction", recorded, &touches, &touched.after, work));
        drop(kept);
    }
    let Some(acc) = acc else {
        return Err(Error::new(ErrorKind::Argument, tried(), "no region to reduce", "pass an array with cells"));
    };
    Ok(Parts { acc, nodes, total, start })
}

/// What the parts of a reduction have found, each once it has run.
type All<P> = Vec<Arc<OnceLock<Found<P>>>>;

/// Records what makes one value of what all parts find, on this rank or on all.
fn record_end<R: Foldable, O: Reduction<R>, const D: usize>(
    op: O,
    cells: GridBox<D>,
    (parts, all): (Parts, All<O::Partial>),
    world: Option<Arc<World>>,
    recorded: &'static Location<'static>,
) -> Scalar<O::Output<D>> {
    let Parts { acc, nodes, total, start } = parts;
    let value = Arc::new(OnceLock::new());
    let result = value.clone();
    let node = match world {
        None => {
            let work = Work::Host(Box::new(move || {
                let _ = result.set(op.finish(together(op, all.iter().filter_map(|found| found.get())), &cells));
                Ok(())
            }));
            acc.record_node("a reduction", recorded, &[], &nodes, work)
        }
        Some(world) => {
            let call = world.call(format_args!("a reduction over {:?}..{:?}", cells.lo, cells.hi), recorded);
            let own = move || packed(op, runs(start.unwrap_or(0), all.iter().filter_map(|found| found.get())), total);
            let finish = move |all: &[&[u8]]| {
                let _ = result.set(op.finish(folded(op, all, total)?, &cells));
                Ok(())
            };
            between_ranks((&world, call, &acc), &nodes, Box::new(own), Box::new(finish), recorded)
        }
    };
    Scalar::new(acc, node, value)
}

/// The ranks that arrays lie on, if they lie on several.
pub(super) fn world_of<const D: usize>(infos: GiveInfos<'_, D>) -> Option<Arc<World>> {
    infos(NOWHERE).iter().find_map(|info| match info {
        ArgInfo::Tiled(tiled) if tiled.whole.ranks() > 1 => tiled.acc.world().cloned(),
        _ => None,
    })
}

/// The part that a place has of a reduction: what is compiled for each kernel.
pub(super) trait ReducingPart<const D: usize>: Send + Sync {
    fn frame(&self) -> &Frame<D>;

    /// The arguments as a device finds them.
    fn args(&self) -> Held<'_>;

    /// Folds the segments of arrays on the host, and keeps what it finds.
    ///
    /// # Errors
    /// A fault of a cell: of the first one.
    fn run(&self) -> Result<(), Error>;

    /// The same where `sites` says, as a device does that has only a native form: [`ReducingPart::give`] keeps it.
    ///
    /// # Errors
    /// As [`ReducingPart::run`].
    fn list(&self, sites: &[Option<Site>]) -> Result<(), Error>;

    /// Keeps what a device has found, one list for each scalar of a value, of cells with so many before them; or
    /// what was listed; or so many values of no cells.
    fn give(&self, took: Option<SmallVec<[RunValues; 2]>>, before: u64, slots: usize);
}

/// The part that a place has, and where it puts what it finds.
struct PartOf<H, N, R, O: Reduction<R>, const D: usize> {
    job: Job<H, N, O, D>,
    found: Arc<OnceLock<Found<O::Partial>>>,
    list: OnceLock<Vec<O::Partial>>,
    of: PhantomData<fn() -> R>,
}

impl<H, N, R, O, const D: usize> ReducingPart<D> for PartOf<H, N, R, O, D>
where
    R: Foldable,
    O: Reduction<R>,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync + 'static,
{
    fn frame(&self) -> &Frame<D> {
        &self.job.frame
    }

    fn args(&self) -> Held<'_> {
        self.job.held.on_device()
    }

    fn run(&self) -> Result<(), Error> {
        let _ = self.found.set(Found { head: self.job.run_part(None)?, ..Found::default() });
        Ok(())
    }

    fn list(&self, sites: &[Option<Site>]) -> Result<(), Error> {
        let _ = self.list.set(self.job.run_part(Some(sites))?);
        Ok(())
    }

    fn give(&self, took: Option<SmallVec<[RunValues; 2]>>, before: u64, slots: usize) {
        let op = self.job.op;
        let listed = || self.list.get().cloned().unwrap_or_else(|| vec![op.identity(); slots]);
        let all = took.map(|took| found(op, took, before));
        let _ = self.found.set(all.unwrap_or_else(|| Found { head: listed(), ..Found::default() }));
    }
}

/// What a device has found, of the lists of each scalar of a value.
fn found<R, O: Reduction<R>>(op: O, mut took: SmallVec<[RunValues; 2]>, before: u64) -> Found<O::Partial> {
    let mut of = |get: fn(&mut RunValues) -> &mut Values| {
        let mut lists: SmallVec<[Values; 2]> = took.iter_mut().map(|values| std::mem::take(get(values))).collect();
        let others = if lists.len() > 1 { lists.pop() } else { None };
        let one = lists.pop().unwrap_or_default().into_iter().enumerate();
        let value = |(n, (bits, index)): (usize, (u64, u64))| {
            let other = others.as_ref().and_then(|others| others.get(n)).map_or(0, |other| other.0);
            op.folded([bits, other], index.wrapping_add(before))
        };
        one.map(value).collect::<Vec<O::Partial>>()
    };
    Found {
        head: of(|values| &mut values.head),
        groups: of(|values| &mut values.groups),
        rest: of(|values| &mut values.rest),
    }
}

/// What a place has found: values of segments, those of whole groups of the tree, and those of segments after them.
struct Found<P> {
    head: Vec<P>,
    groups: Vec<P>,
    rest: Vec<P>,
}

impl<P> Default for Found<P> {
    fn default() -> Self {
        Found { head: Vec::new(), groups: Vec::new(), rest: Vec::new() }
    }
}

/// Folds what all places have found, in their order: what one place would make of all segments.
fn together<'a, R, O: Reduction<R>>(op: O, all: impl Iterator<Item = &'a Found<O::Partial>>) -> O::Partial
where
    O::Partial: 'a,
{
    let (mut groups, mut loose) = (Vec::new(), Vec::new());
    for found in all {
        loose.extend_from_slice(&found.head);
        if !found.groups.is_empty() {
            // Groups start where groups end.
            groups.append(&mut twice(op, &std::mem::take(&mut loose)));
            groups.extend_from_slice(&found.groups);
        }
        loose.extend_from_slice(&found.rest);
    }
    groups.append(&mut twice(op, &loose));
    tree(op, groups, true)
}

/// The same as runs of the list that starts at a segment, and of that of groups.
fn runs<'a, P: Copy + 'a>(start: usize, all: impl Iterator<Item = &'a Found<P>>) -> Vec<Run<P>> {
    let (mut runs, mut first, mut loose) = (Vec::new(), start, Vec::new());
    for found in all {
        loose.extend_from_slice(&found.head);
        if !found.groups.is_empty() {
            let group = (first + loose.len()) / GROUP;
            runs.push(Run { level: 0, first, values: std::mem::take(&mut loose) });
            runs.push(Run { level: 2, first: group, values: found.groups.clone() });
            first = (group + found.groups.len()) * GROUP;
        }
        loose.extend_from_slice(&found.rest);
    }
    runs.push(Run { level: 0, first, values: loose });
    runs
}

/// The work of a place whose device folds its run of the segments.
///
/// # Errors
/// A kernel that cannot be compiled for parts of values.
fn on_device<const D: usize>(part: Arc<dyn ReducingPart<D>>, cells: SmallVec<[Cells; 2]>) -> Result<Work, Error> {
    let parts = part.frame().prepared.parts()?;
    let (line, run, before) = part.frame().line_of(&part.frame().layout.owned);
    let cells: SmallVec<[Cells; 2]> = cells.into_iter().map(|cells| cells.in_line(line.widen())).collect();
    let native: Arc<dyn NativeFold> = Arc::new(NativePart(part.clone()));
    Ok(Work::Device(Box::new(move |queue| {
        // A native form gives all parts at once.
        let launches = if queue.device.backend().facts().native { 1 } else { parts.len() };
        // SAFETY: the graph runs this node only while nothing writes what it reads; `check` has proven every access in
        // range, or has it checked.
        let launch =
            |of: (&Arc<Prepared>, &Cells)| unsafe { part.frame().run_on_device(queue, part.args(), of, &run, &native) };
        let folded = parts.iter().zip(&cells).take(launches).map(launch).collect::<Result<SmallVec<[_; 2]>, _>>()?;
        let device = queue.device.clone();
        Ok(Box::new(move || {
            let took = folded.into_iter().zip(&parts).map(|(folded, prepared)| folded.take(&device, prepared));
            // A device that computes nothing gives what no cells give.
            let took: Option<SmallVec<[RunValues; 2]>> =
                took.collect::<Result<SmallVec<[_; 2]>, _>>()?.into_iter().collect();
            part.give(took, before, (run.own.end - run.own.start) as usize);
            Ok(())
        }))
    })))
}

/// What is done with the bytes of all ranks.
type Finish = Box<dyn FnOnce(&[&[u8]]) -> Result<(), Error> + Send>;

/// Records that this rank gives all others its bytes once some nodes have ended, and ends with those of all ranks.
fn between_ranks(
    (world, call, acc): (&Arc<World>, u64, &TileAcc),
    nodes: &[Arc<Node>],
    own: Box<dyn FnOnce() -> Bytes + Send>,
    finish: Finish,
    recorded: &'static Location<'static>,
) -> Arc<Node> {
    const NAME: &str = "a reduction";
    let slot = Slot { call, lane: 0 };
    let all: Arc<Vec<OnceLock<Bytes>>> = Arc::new((0..world.ranks()).map(|_| OnceLock::new()).collect());
    let others: Vec<usize> = (0..world.ranks()).filter(|rank| *rank != world.rank()).collect();
    let come = |from: &usize| {
        let (all, from) = (all.clone(), *from);
        world.expect(acc.core(), (from, slot), vec![None], (NAME, recorded), move |mut pieces| {
            let _ = all[from].set(pieces.pop().unwrap_or_default());
            Ok(())
        })
    };
    let mut waits: Vec<Arc<Node>> = others.iter().map(come).collect();
    let (to, known, core) = (world.clone(), all.clone(), acc.core().clone());
    let work = Work::Shared(Box::new(move |node, failure| {
        match &failure {
            Some(error) => others.iter().for_each(|rank| to.fail(*rank, slot, error)),
            None => {
                let bytes = own();
                let copy = || Box::new(Bytes::of(bytes.as_slice())) as Box<dyn Parcel>;
                others.iter().for_each(|rank| to.send(*rank, slot, vec![copy()]));
                let _ = known[to.rank()].set(bytes);
            }
        }
        core.finish(node, failure.map_or(Ok(()), Err))
    }));
    waits.push(acc.record_node("a reduction: send", recorded, &[], nodes, work));
    let work = Work::Host(Box::new(move || {
        finish(&all.iter().filter_map(OnceLock::get).map(Bytes::as_slice).collect::<Vec<_>>())
    }));
    acc.record_node(NAME, recorded, &[], &waits, work)
}
