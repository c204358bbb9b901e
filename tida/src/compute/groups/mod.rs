//! `compute_groups`: kernels whose cells talk through the memory that a block of threads shares (Lashgar ch. 6, `fcw`).

pub(crate) mod native;

use std::any::TypeId;
use std::cell::LazyCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use smallvec::SmallVec;
use tida_kernels::ir::{LowerInput, Type, lower_group};

use self::native::{AskGroups, RunGroups};
use super::args::{self, ArgInfo, Args, HeldArgs, How, Views};
use super::ask::{Answer, Pass};
use super::check::{Rule, Target, Touches, check};
use super::launch::{launch_written, others_write};
use super::view::{Checked, Proven};
use crate::acc::TileAcc;
use crate::backend::cpu;
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::launch::decoded::{Codes, Wholes};
use crate::launch::device::OnDevice;
use crate::launch::native::NativeForm;
use crate::launch::needs::{Needs, Unproven};
use crate::launch::prepare::{Prepared, capture_type};
use crate::launch::quoted::{KernelId, Quoted};
use crate::launch::scanned::Scanned;
use crate::launch::site::Site;
use crate::launch::step::Launch;
use crate::launch::sweep::SweepLaunch;
use crate::memory::node::{Done, Queue};
use crate::record::recording::{TileAccess, TileWork};
use crate::record::wait::{InKernel, outside_kernels};
use crate::tile::Tile;

/// Records a kernel over the cells of a tile, group by group, and returns.
///
/// A group is a box of `extent` cells with a thread for each. Groups start at multiples of their extent; those at an
/// array's end are smaller. The kernel ([`group_kernel!`](crate::group_kernel)) runs in phases. Between them the
/// threads of a group exchange values through shared arrays. Groups know nothing of each other. On the CPU a phase is a
/// loop; on a device a group is a block of threads and its phases end in barriers. The bits are the same. `args` are as
/// those of [`compute`](super::compute()).
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut a = TileArray::<f64, 1>::builder([8]).build(&acc)?;
/// a.fill(|[i]| i as f64)?;
/// let mut b = a.like()?;
/// for tile in TileIter::new(&a) {
///     compute_groups(&tile, [4], (&mut b, &a), group_kernel!(|b, a, group| {
///         let shared = group.fetch(a, [0], [0]);
///         let other = group.private(0.0);
///         group.each(|t| other = shared[t + [if t[0] & 1 == 0 { 1 } else { -1 }]]); // the partner in a pair
///         group.each(|t| b[t.at()] = other);
///     }))?;
/// }
/// assert_eq!(b.read_box(b.domain())?, [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0]);
/// # Ok(()) }
/// ```
///
/// Groups do what the pragma `fcw` does (fetch, channel, write back; Lashgar ch. 6). Its five kinds are written so:
///
/// - `FETCH_ONLY`: `let s = group.fetch(a, [1], [1]);`, which phases read. The pivot is `s[t]`; there is 1 cell before
///   it and 1 after.
/// - `CHANNEL_ONLY`: `let c = group.channel::<f64>([1], [1]);` or `group.shared::<f64>([256, 17])`, written in a phase
///   and read in later ones.
/// - `FETCH_CHANNEL`: a fetched array that phases write, too.
/// - `CHANNEL_WB`: a channel that a last phase writes back, `group.each(|t| b[t.at()] = c[t]);`.
/// - `FETCH_CHANNEL_WB`: both, also in place: `let s = group.fetch(b, [0], [0]);` of an array that is written back.
///
/// # Errors
/// As [`compute`](super::compute()). Besides: a tile whose edges are no multiples of `extent` (an array's end aside);
/// an index outside what a group has; two threads of a phase that would meet in one slot; a written array that is
/// fetched with cells beside the group; more shared memory than the device has.
#[track_caller]
pub fn compute_groups<const D: usize, A, N>(tile: &Tile<D>, extent: [usize; D], args: A, kernel: N) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(AskGroups<'b, Views<A, Proven, D>, Views<A, Checked, D>, D>) + Send + Sync + 'static,
{
    let recorded = Location::caller();
    record(tile, extent, args, kernel, None).map_err(|e| e.recorded_at(recorded))
}

/// What a step of a scan does on the CPU, given the views of its arguments and a box.
pub(super) type Plain<V, const D: usize> = Box<dyn Fn(&V, &GridBox<D>) + Send + Sync>;

/// What a step of a scan is besides a kernel over groups.
pub(super) struct Step<V, const D: usize> {
    /// What devices have a kernel of their own for.
    pub scanned: Scanned,
    /// What it does on the CPU, with the bits of the kernel.
    pub plain: Plain<V, D>,
    /// Its boxes have whole lines: then the kernel says what it reads and writes, at its own cell alone.
    pub lines: bool,
}

/// The same of a step of a scan.
#[track_caller]
pub(super) fn compute_scanned<const D: usize, A, N>(
    tile: &Tile<D>,
    extent: [usize; D],
    args: A,
    kernel: N,
    scanned: Step<Views<A, Proven, D>, D>,
) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(AskGroups<'b, Views<A, Proven, D>, Views<A, Checked, D>, D>) + Send + Sync + 'static,
{
    let recorded = Location::caller();
    record(tile, extent, args, kernel, Some(scanned)).map_err(|e| e.recorded_at(recorded))
}

#[track_caller]
fn record<const D: usize, A, N>(
    tile: &Tile<D>,
    extent: [usize; D],
    args: A,
    kernel: N,
    scanned: Option<Step<Views<A, Proven, D>, D>>,
) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(AskGroups<'b, Views<A, Proven, D>, Views<A, Checked, D>, D>) + Send + Sync + 'static,
{
    outside_kernels("compute a kernel over the groups of a tile")?;
    tile.check()?;
    let mut quoted = None;
    kernel(AskGroups::Quote(Answer { quote: &mut quoted }));
    let mut quoted = quoted.ok_or_else(|| {
        Error::new(
            ErrorKind::Kernel,
            "ask a kernel what it does",
            "a closure that does not answer",
            "write it with `group_kernel!(|u, group| ..)`",
        )
    })?;
    let views = TypeId::of::<Views<A, Proven, D>>();
    let prepared = prepare::<D, A::Held>(&quoted, views, extent)?;
    quoted.take_tables(&prepared.tables);
    let infos = args.infos(tile.place);
    args::refuse_on_ranks(&infos, &|| format!("compute the kernel over groups at {}", prepared.place()))?;
    if tile.cells.is_empty() {
        others_write(&infos, &prepared, tile);
        return Ok(());
    }
    tile.is_a_box(|| format!("compute the kernel over groups at {}", prepared.place()))?;
    whole_groups(&prepared, tile, extent)?;
    let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding))?;
    args::separate(&infos, tile);
    let target = Target {
        layout: &tile.layout,
        region: tile.region,
        cells: tile.cells,
        all: tile.all,
        copies: [0; 2],
        rule: Rule::Cells,
        grown: tile.grown,
        holes: false,
        device: tile.device,
        block: Some(extent),
        march: None,
        cache: Hints::default(),
    };
    let mut touches = Touches::new();
    let checked = check(&prepared, quoted.id, &quoted.captures, views, &target, &infos, &mut touches)?;
    if checked.key.on_device {
        has_room(&prepared, checked.acc)?;
    }
    let work = TileWork {
        key: Arc::new(checked.key),
        region: tile.region,
        cells: tile.cells.widen(),
        touches: &touches,
        after: &checked.after,
        name: "a kernel over groups",
        recorded: Location::caller(),
        access: TileAccess { grown: tile.grown, ..TileAccess::default() },
        listed: None,
        pace: None,
        known: None,
    };
    let (run_checked, valid_only, block) = (checked.run_checked, checked.valid_only, work.key.asked.block);
    let needs = (checked.unproven, tile.grown);
    let launch = LazyCell::new(|| -> Arc<dyn Launch> {
        Arc::new(Native::<A::Held, N, D> {
            kernel,
            quoted,
            held: args.hold(tile.place),
            run_checked,
            needs,
            valid_only,
            block,
            extent: extent.map(|n| n as i64),
            prepared: prepared.clone(),
            wholes: Wholes::new(),
            scanned,
        })
    });
    let side = checked.acc.core().record_tile(work, &|| launch.clone());
    launch_written(&infos, &prepared, (tile, Rule::Cells), side);
    Ok(())
}

type Key = (KernelId, TypeId, Vec<usize>, Vec<Type>);

/// Kernels prepared so far, the failures too.
type Cache = HashMap<Key, Result<Arc<Prepared>, Error>>;

static CACHE: LazyLock<RwLock<Cache>> = LazyLock::new(RwLock::default);

/// All kernels over groups prepared so far.
pub(crate) fn prepared() -> Vec<Arc<Prepared>> {
    let cache = CACHE.read().unwrap_or_else(PoisonError::into_inner);
    cache.values().filter_map(|made| made.as_ref().ok().cloned()).collect()
}

/// Types and analyses a kernel for groups of this extent, or finds it done.
fn prepare<const D: usize, H: HeldArgs<D>>(
    quoted: &Quoted,
    views: TypeId,
    extent: [usize; D],
) -> Result<Arc<Prepared>, Error> {
    let captures: Vec<Type> = quoted.captures.list.iter().map(capture_type).collect();
    let key = (quoted.id, views, extent.to_vec(), captures);
    if let Some(done) = CACHE.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return done.clone();
    }
    let result = Some(Type::unit());
    let input = LowerInput {
        kernel: quoted.kernel,
        methods: &quoted.methods,
        rank: D,
        args: H::BINDINGS,
        captures: &key.3,
        result,
    };
    let extent = extent.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let made = lower_group(&input, &extent).map_err(Error::of_kernel).and_then(Prepared::new).map(Arc::new);
    CACHE.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(made).clone()
}

/// Checks that no group is cut by an edge of the tile: what a group computes must not depend on how arrays are cut.
fn whole_groups<const D: usize>(prepared: &Prepared, tile: &Tile<D>, extent: [usize; D]) -> Result<(), Error> {
    let cut = (0..D).find(|&d| {
        let n = extent[d].max(1) as i64;
        let (lo, hi, end) = (tile.cells.lo[d], tile.cells.hi[d], tile.layout.shape[d] as i64);
        lo < 0 || hi > end || lo % n != 0 || (hi % n != 0 && hi != end)
    });
    let Some(axis) = cut else { return Ok(()) };
    Err(Error::new(
        ErrorKind::Argument,
        format!("compute the kernel at {} over groups of {extent:?} cells", prepared.place()),
        format!("a tile from {} to {} along axis {axis}, which cuts a group", tile.cells.lo[axis], tile.cells.hi[axis]),
        format!(
            "build the array with `.cut_at_multiples({extent:?})`, give tiles such sizes (`.tile_size(..)`), and do not \
             grow them"
        ),
    ))
}

/// Checks that the device has room for what a group shares.
fn has_room(prepared: &Prepared, acc: &TileAcc) -> Result<(), Error> {
    let (Some(group), Some(device)) = (&prepared.kernel.group, &acc.core().device) else { return Ok(()) };
    let (bytes, facts) = (group.bytes(), device.backend().facts());
    if bytes <= facts.shared {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Memory,
        format!("compute the kernel at {} over groups of {:?} cells", prepared.place(), group.extent),
        format!("{bytes} bytes that a group shares, where a block of {} has {}", facts.name, facts.shared),
        "have smaller groups, or share less; tiles with `.device(Device::Cpu)` have no such limit",
    ))
}

/// A kernel over groups in its native form, with what it holds of its arguments.
struct Native<H: HeldArgs<D>, N, const D: usize> {
    kernel: N,
    quoted: Quoted,
    held: H,
    run_checked: bool,
    /// The first read that is, and whether tiles are grown.
    needs: (Unproven, bool),
    valid_only: u16,
    /// Threads of a block on a device.
    block: Option<[u32; 3]>,
    extent: [i64; D],
    prepared: Arc<Prepared>,
    wholes: Wholes,
    /// The step of a scan that it is.
    scanned: Option<Step<H::Views<Proven>, D>>,
}

impl<H, N, const D: usize> Launch for Native<H, N, D>
where
    H: HeldArgs<D>,
    N: for<'b> Fn(AskGroups<'b, H::Views<Proven>, H::Views<Checked>, D>) + Send + Sync + 'static,
{
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.run_at(region, cells, None) }
    }

    unsafe fn run_on(&self, region: usize, cells: GridBox<4>, sites: &[Option<Site>]) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.run_at(region, cells, Some(sites)) }
    }

    fn grain(&self) -> [i64; 4] {
        let mut grain = std::array::from_fn(|d| (d + D).checked_sub(4).map_or(1, |axis| self.extent[axis]));
        if self.scanned.as_ref().is_some_and(|step| step.lines) {
            grain[3] = i64::MAX;
        }
        grain
    }

    fn needs(&self) -> Option<Needs> {
        Needs::of(&self.prepared, self.needs.1, self.needs.0)
    }

    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.held.on_device()
    }

    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        if let Some(step) = self.scanned.as_ref().filter(|_| !self.prepared.is_coded) {
            // SAFETY: the caller's promise, and that of what is a step of a scan.
            if let Some(held) = unsafe { step.scanned.enqueue(queue, &self.held.on_device(), boxes)? } {
                return Ok(Box::new(move || {
                    drop((held, self));
                    Ok(())
                }));
            }
        }
        let native: [Arc<dyn Launch>; 1] = [self.clone()];
        let how = SweepLaunch {
            prepared: &self.prepared,
            captures: &self.quoted.captures,
            checked: self.run_checked,
            valid_only: self.valid_only,
            block: self.block,
            march: None,
            cache: Hints::default(),
            order: None,
            colour: None,
            native: NativeForm { sweeps: &native, fold: None },
            list: None,
        };
        let args: SmallVec<_> = self.held.on_device();
        // SAFETY: the caller's promise; `check` has proven every access of an array in range or has it checked, for the
        // tiles that these boxes are part of; `self` holds the arrays.
        unsafe { how.enqueue(queue, args, boxes, self.clone()) }
    }
}

impl<H, N, const D: usize> Native<H, N, D>
where
    H: HeldArgs<D>,
    N: for<'b> Fn(AskGroups<'b, H::Views<Proven>, H::Views<Checked>, D>) + Send + Sync + 'static,
{
    /// Runs over a box of whole groups inside one region, of arrays on the host or where `sites` says.
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
        // SAFETY: the caller's promise, of the boxes of whole groups that are handed on as of all of it.
        unsafe {
            codes.each(self.held.on_device(), (region, cells), sites, &|cells, sites| {
                self.run_values(region, cells, Some(sites))
            })
        }
    }

    /// The same of arrays that hold values.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run_values(&self, region: usize, cells: GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        let _running = InKernel::enter();
        let cells = narrow(&cells);
        // What a group shares is checked as it is accessed.
        let pass = Pass::new(&self.quoted, &self.prepared.kernel.numbers, true);
        let how =
            How { valid_only: self.valid_only, cells: &cells, starts: [std::ptr::null_mut(); _], sites, alone: &[] };
        if let Some(step) = self.scanned.as_ref().filter(|step| step.lines || !self.run_checked) {
            // SAFETY: the caller's promise; `check` has proven every access of the kernel in range. A step with whole
            // lines has those of its own cell alone.
            let views = unsafe { self.held.views::<Proven>(region, how) };
            (step.plain)(&views, &cells);
            return Ok(());
        }
        cpu::vectorised(
            #[inline(always)]
            || {
                let (extent, pass) = (self.extent, &pass);
                if self.run_checked {
                    // SAFETY: the caller's promise; the views check themselves.
                    let views = unsafe { self.held.views::<Checked>(region, how) };
                    (self.kernel)(AskGroups::Checked(RunGroups { views: &views, cells, extent, pass }));
                } else {
                    // SAFETY: the caller's promise; `check` has proven every access in range, for the tiles that these
                    // cells are part of.
                    let views = unsafe { self.held.views::<Proven>(region, how) };
                    (self.kernel)(AskGroups::Proven(RunGroups { views: &views, cells, extent, pass }));
                }
            },
        );
        pass.check()?;
        pass.fault(&self.prepared)
    }
}
