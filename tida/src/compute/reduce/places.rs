//! Reductions of arrays on several places.
//!
//! The order of a reduction is fixed by its box: a list of segments, folded by 64. A part of an array has a run of that
//! list. Each place makes its own run, on its device if the arrays are there, which folds the groups of the list that
//! it has whole. One place folds what all have found, so that no bit depends on the places.

use std::any::TypeId;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::fold::{tree, twice};
use super::job::{GROUP, Job, slots_of};
use super::natively::NativePart;
use super::ops::{Foldable, Reduction};
use super::run::{is_at_host, on_device_cells, touched, trackers};
use super::stubs::{Run, folded, packed};
use crate::acc::TileAcc;
use crate::array::places::shares_segments;
use crate::compute::args::{ArgInfo, Args, HeldArgs, TiledInfo, Views};
use crate::compute::ask::Ask;
use crate::compute::deferred::Scalar;
use crate::compute::view::{Checked, Proven};
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::decoded::Wholes;
use crate::launch::folded::Cells;
use crate::launch::folded::runs::{RunValues, Values};
use crate::launch::native::NativeFold;
use crate::launch::prepare::Prepared;
use crate::launch::quoted::Quoted;
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{Mode, Touch};
use crate::ranks::{Bytes, Parcel, Slot, World};
use crate::tile::NOWHERE;

/// Records a reduction of parts of arrays, each on its place.
///
/// # Errors
/// What can be known now, as of any reduction; segments that two places have a part of.
pub(super) fn on_places<const D: usize, A, R, O, N>(
    args: &A,
    (cells, op): (GridBox<D>, O),
    (prepared, quoted, kernel): (&Arc<Prepared>, &Arc<Quoted>, &Arc<N>),
    recorded: &'static Location<'static>,
) -> Result<Scalar<O::Output<D>>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    let tried = || format!("reduce the kernel at {}", prepared.place());
    let views = TypeId::of::<Views<A, Proven, D>>();
    let world = world_of(args);
    let (mut all, mut nodes, mut acc) = (Vec::new(), Vec::new(), None);
    // Slots of the whole list, and the first of those here.
    let (mut total, mut start) = (0, None);
    for place in 0.. {
        let infos = args.infos(place);
        let tiled = infos.iter().find_map(|info| match info {
            ArgInfo::Tiled(tiled) if tiled.level.is_none() => Some(tiled),
            _ => None,
        });
        // Beyond the last part is the array itself. All of it may be one part, which is on one rank.
        let is_part = |tiled: &&TiledInfo<'_, D>| match world {
            Some(_) => tiled.acc.world().is_none(),
            None => tiled.layout.is_part(),
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
        let Some(touched) = touched(prepared, quoted, views, (&layout, &cells), &infos)? else { continue };
        let job = Job {
            kernel: kernel.clone(),
            quoted: quoted.clone(),
            held: args.hold(place),
            run_checked: touched.run_checked,
            valid_only: touched.valid_only,
            layout,
            cells,
            op,
            wholes: Wholes::default(),
            prepared: prepared.clone(),
        };
        let touch =
            |touch: &crate::memory::tracker::BoxTouch| Touch::new(&touch.tracker, Some(touch.region), Mode::Read);
        let touches: Vec<Touch> = touched.touches.iter().map(touch).collect();
        let found: Arc<OnceLock<Found<O::Partial>>> = Arc::default();
        all.push(found.clone());
        let cells = on_device_cells::<R, O, D>(&job.layout, &job.cells, touched.key.on_device);
        let trackers = trackers(&infos);
        let folds = !cells.is_empty() && !is_at_host(&trackers);
        // Until it is recorded.
        let kept = folds.then(|| touched.acc.core().try_reserve(&trackers)).flatten();
        let work = match kept.is_some() {
            true => on_device::<_, R, _, _, D>(job, cells, found)?,
            false => Work::Host(Box::new(move || {
                let _ = found.set(Found { head: job.run_part(None)?, ..Found::default() });
                Ok(())
            })),
        };
        nodes.push(touched.acc.record_node("a reduction", recorded, &touches, &touched.after, work));
        drop(kept);
    }
    let Some(acc) = acc else {
        return Err(Error::new(ErrorKind::Argument, tried(), "no region to reduce", "pass an array with cells"));
    };
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
            between_ranks((&world, call, &acc), &nodes, own, finish, recorded)
        }
    };
    Ok(Scalar::new(acc, node, value))
}

/// The ranks that arrays lie on, if they lie on several.
pub(super) fn world_of<const D: usize, A: Args<D>>(args: &A) -> Option<Arc<World>> {
    let infos = args.infos(NOWHERE);
    infos.iter().find_map(|info| match info {
        ArgInfo::Tiled(tiled) if tiled.whole.ranks() > 1 => tiled.acc.world().cloned(),
        _ => None,
    })
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
fn on_device<H, R, O, N, const D: usize>(
    job: Job<H, N, O, D>,
    cells: SmallVec<[Cells; 2]>,
    found: Arc<OnceLock<Found<O::Partial>>>,
) -> Result<Work, Error>
where
    H: HeldArgs<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync + 'static,
{
    let (parts, op) = (job.prepared.parts()?, job.op);
    let (line, run, before) = job.line_of(&job.layout.owned);
    let cells: SmallVec<[Cells; 2]> = cells.into_iter().map(|cells| cells.in_line(line.widen())).collect();
    let (job, list) = (Arc::new(job), Arc::new(OnceLock::new()));
    let native: Arc<dyn NativeFold> = Arc::new(NativePart::<_, _, _, _, R, D>::new(job.clone(), list.clone()));
    Ok(Work::Device(Box::new(move |queue| {
        // A native form gives all parts at once.
        let launches = if queue.device.backend().facts().native { 1 } else { parts.len() };
        // SAFETY: the graph runs this node only while nothing writes what it reads; `check` has proven every access in
        // range, or has it checked.
        let launch = |of: (&Arc<Prepared>, &Cells)| unsafe { job.run_on_device(queue, of, &run, &native) };
        let folded = parts.iter().zip(&cells).take(launches).map(launch).collect::<Result<SmallVec<[_; 2]>, _>>()?;
        let device = queue.device.clone();
        Ok(Box::new(move || {
            let took = folded.into_iter().zip(&parts).map(|(folded, prepared)| folded.take(&device, prepared));
            let took = took.collect::<Result<SmallVec<[_; 2]>, _>>()?;
            let of = |get: fn(&mut RunValues) -> &mut Values, took: &mut [Option<RunValues>]| {
                let mut lists: SmallVec<[Values; 2]> =
                    took.iter_mut().flatten().map(|values| std::mem::take(get(values))).collect();
                let others = if lists.len() > 1 { lists.pop() } else { None };
                let one = lists.pop().unwrap_or_default().into_iter().enumerate();
                let value = |(n, (bits, index)): (usize, (u64, u64))| {
                    let other = others.as_ref().and_then(|others| others.get(n)).map_or(0, |other| other.0);
                    op.folded([bits, other], index.wrapping_add(before))
                };
                one.map(value).collect::<Vec<O::Partial>>()
            };
            let mut took = took;
            let all = match took.iter().all(Option::is_some) {
                true => Found {
                    head: of(|values| &mut values.head, &mut took),
                    groups: of(|values| &mut values.groups, &mut took),
                    rest: of(|values| &mut values.rest, &mut took),
                },
                // A device that computes nothing gives what no cells give.
                false => {
                    let none = || vec![op.identity(); (run.own.end - run.own.start) as usize];
                    Found { head: list.get().cloned().unwrap_or_else(none), ..Found::default() }
                }
            };
            let _ = found.set(all);
            drop(job);
            Ok(())
        }))
    })))
}

/// Records that this rank gives all others its bytes once some nodes have ended, and ends with those of all ranks.
fn between_ranks(
    (world, call, acc): (&Arc<World>, u64, &TileAcc),
    nodes: &[Arc<Node>],
    own: impl FnOnce() -> Bytes + Send + 'static,
    finish: impl FnOnce(&[&[u8]]) -> Result<(), Error> + Send + 'static,
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
