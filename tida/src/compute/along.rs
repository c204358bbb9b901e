//! Sweeps with an order: each cell may read what was written before it on its own line.

use std::ops::Range;
use std::panic::Location;

use tida_kernels::ir::Access;

use super::args::{ArgInfo, Args, HeldArgs, Infos, Views};
use super::ask::Ask;
use super::check::{Line, Rule};
use super::launch::record;
use super::view::{Checked, InOrder, Mode, Proven};
use crate::array::{Fill, Fillable, give, give_failure};
use crate::error::{Error, ErrorKind};
use crate::launch::prepare::Prepared;
use crate::program::order::Order;
use crate::sealed::Sealed;
use crate::tile::{Tile, TileIter};

/// Which way [`sweep_along`] goes: [`Forward`] or [`Backward`].
pub trait Direction: Sealed + 'static {
    #[doc(hidden)]
    type Proven: Mode;
    #[doc(hidden)]
    type Checked: Mode;
    #[doc(hidden)]
    const BACKWARD: bool;
}

/// From the first cell of each line to the last: of what a kernel writes it may read `u[at - [1, 0]]`, on axis 0.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<i32, 1>::builder([4]).ghost(1).build_slice(&acc, &[1, 2, 3, 4])?;
/// sweep_along(0, Forward, u.tiles(), &mut u, kernel!(|u, at| u[at] += u[at - [1]]))?;
/// assert_eq!(u.read_box(u.domain())?, [1, 3, 6, 10]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Forward;

/// From the last cell of each line to the first: of what a kernel writes it may read `u[at + [1, 0]]`, on axis 0.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<i32, 1>::builder([4]).ghost(1).build_slice(&acc, &[1, 2, 3, 4])?;
/// sweep_along(0, Backward, u.tiles(), &mut u, kernel!(|u, at| u[at] += u[at + [1]]))?;
/// assert_eq!(u.read_box(u.domain())?, [10, 9, 7, 4]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Backward;

/// Cells in any order, of which none reads what another one writes.
pub(super) struct AtOnce;

impl Sealed for AtOnce {}
impl Sealed for Forward {}
impl Sealed for Backward {}

impl Direction for AtOnce {
    type Proven = Proven;
    type Checked = Checked;
    const BACKWARD: bool = false;
}

impl Direction for Forward {
    type Proven = InOrder<Proven, false>;
    type Checked = InOrder<Checked, false>;
    const BACKWARD: bool = false;
}

impl Direction for Backward {
    type Proven = InOrder<Proven, true>;
    type Checked = InOrder<Checked, true>;
    const BACKWARD: bool = true;
}

/// Records a kernel over cells that run one after the other along an axis, and returns: a recurrence, such as a prefix
/// sum or the two sweeps of a tridiagonal solver. Each cell may read what the same call has written before it on its
/// own line. Lines know nothing of one another and run at the same time.
///
/// `axis` is counted from 0, the slowest. `tiles` says which cells: those of all tiles together, so their size does not
/// matter. `args` and the kernel are as in [`compute`](crate::compute()), with one difference. In a `&mut` array the
/// kernel may also read cells before `at` along the axis, at distances that are the same for all cells:
/// `u[at - [1, 0]]` on axis 0 going [`Forward`], `u[at + [1, 0]]` going [`Backward`]. They have their new values. Reads
/// of a `&mut` array across lines are refused.
///
/// Before the first cell of [`within`](TileIter::within) a read finds what was there before the call: cells that the
/// sweep leaves out, or ghosts beyond the face of the domain. Such ghosts must be as new as the cells when the sweep is
/// recorded. How the array is cut changes no bit: a line goes on from region to region with the new values, and reads
/// no ghosts there.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// // Sums along the rows of a table: the cell before the first has the ghost's 0.
/// let mut u = TileArray::<f64, 2>::builder([2, 4]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
/// u.fill(|[row, column]| (10 * row + column) as f64)?;
/// u.fill_ghosts()?;
/// sweep_along(1, Forward, u.tiles(), &mut u, kernel!(|u, at| u[at] += u[at - [0, 1]]))?;
/// assert_eq!(u.read_box(u.domain())?, [0.0, 1.0, 3.0, 6.0, 10.0, 21.0, 33.0, 46.0]);
///
/// // What is left of each cell once half of the next one is taken away, from below.
/// let first = u.tiles().within([0, 0], [1, 4]);
/// sweep_along(0, Backward, first, &mut u, kernel!(|u, at| u[at] -= 0.5 * u[at + [1, 0]]))?;
/// assert_eq!(u.read_box(GridBox::new([0, 0], [1, 4]))?, [-5.0, -9.5, -13.5, -17.0]);
/// # Ok(()) }
/// ```
///
/// A line is one thread's work. For sums along one long line use [`scan`](crate::scan()), for the sum of all cells
/// [`reduce`](crate::reduce()). If several places, or ranks, have parts of a line, each waits for the one before it.
///
/// # Errors
/// Those of [`compute`](crate::compute()); an axis that the arrays do not have; a read of a `&mut` array that is not of
/// a cell before on the same line; ghosts before the first cell that are older than the cells; regions along the axis
/// that are thinner than such reads reach, and ghosts narrower than that where several
/// [places](crate::TileAcc::places) have parts of the lines; grown tiles; a `&mut` array kept in fewer bits
/// ([`storage`](crate::array::TileArrayBuilder::storage)).
#[track_caller]
pub fn sweep_along<const D: usize, O, A, N>(
    axis: usize,
    direction: O,
    tiles: TileIter<D>,
    args: A,
    kernel: N,
) -> Result<(), Error>
where
    O: Direction,
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, O::Proven, D>, Views<A, O::Checked, D>, (), D>) + Clone + Send + Sync + 'static,
{
    let (recorded, _) = (Location::caller(), direction);
    lines::<O, D, A, N>(axis, tiles, &args, kernel, recorded).map_err(|e| e.recorded_at(recorded))
}

fn lines<O, const D: usize, A, N>(
    axis: usize,
    tiles: TileIter<D>,
    args: &A,
    kernel: N,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    O: Direction,
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, O::Proven, D>, Views<A, O::Checked, D>, (), D>) + Clone + Send + Sync + 'static,
{
    let tried = || format!("sweep {} along axis {axis}", if O::BACKWARD { "backward" } else { "forward" });
    let error = |kind, found: String, advice: &str| Error::new(kind, tried(), found, advice);
    if axis >= D {
        return Err(error(ErrorKind::Argument, format!("arrays of {D} axes"), "count axes from 0, the slowest"));
    }
    let infos = args.infos(0);
    refuse_codes::<D, A>(&infos, |found, advice| error(ErrorKind::Argument, found, advice))?;
    let mut tiles: Vec<Tile<D>> = tiles.by_regions().collect();
    if tiles.iter().any(|tile| tile.grown) {
        let advice = "leave out `.grown(..)`: ghosts before the first cells are read as they are";
        return Err(error(ErrorKind::Argument, "grown tiles".into(), advice));
    }
    tiles.iter().try_for_each(|tile| tile.is_a_box(|| format!("sweep along axis {axis}")))?;
    let line = Line { axis, backward: O::BACKWARD, fresh: fresh(&infos) };
    tiles.sort_by_key(|tile| line.order::<D>().start(&tile.cells.widen()));
    let tile_of = |tile: &Tile<D>| {
        let (infos, hold) = (args.infos(tile.place), || args.hold(tile.place));
        record::<O, D, _, _>(tile, Rule::Line(line), &infos, hold, kernel.clone(), recorded)
    };
    let hands_on = tiles.first().filter(|_| axis == 0).and_then(|tile| HandsOn::of::<D, A>(&infos, tile, recorded));
    let Some(hands_on) = hands_on else { return tiles.iter().try_for_each(tile_of) };
    hands_on.each(O::BACKWARD, |place| tiles.iter().filter(|tile| tile.place == place).try_for_each(tile_of))?;
    // A rank that has none of the cells knows that others write them.
    tiles.iter().filter(|tile| tile.is_nowhere()).try_for_each(tile_of)
}

/// A sweep along the first axis over parts that places have: they run one after the other, and each is given what is
/// before its cells, which the place before it has.
struct HandsOn {
    fills: Vec<Fill>,
    /// The places that have cells of the sweep, of all ranks.
    places: Range<usize>,
    /// The number of the call among those that all ranks make.
    call: u64,
    recorded: &'static Location<'static>,
}

impl HandsOn {
    /// That of a sweep of which this is a tile; none of arrays that lie on one place.
    fn of<const D: usize, A: Args<D>>(
        infos: &Infos<'_, D>,
        tile: &Tile<D>,
        recorded: &'static Location<'static>,
    ) -> Option<HandsOn> {
        let bindings = <A::Held as HeldArgs<D>>::BINDINGS.iter();
        let written = infos.iter().zip(bindings).filter_map(|(info, of)| match info {
            ArgInfo::Tiled(tiled) if of.access == Access::Write => Some(tiled.whole),
            _ => None,
        });
        let written: Vec<&dyn Fillable> = written.filter(|array| array.places() > 1).collect();
        let first = written.first()?;
        let (lo, hi) = (tile.all.lo[0], tile.all.hi[0]);
        let has = |place: &usize| first.planes(*place).is_some_and(|planes| planes.start < hi && lo < planes.end);
        let mut places = (0..first.places()).filter(has);
        let start = places.next()?;
        let places = start..places.last().unwrap_or(start) + 1;
        let fills: Vec<Fill> = written.iter().map(|array| array.as_fill()).collect();
        let world = fills.first().filter(|_| first.ranks() > 1).and_then(|fill| fill.acc().world());
        let call = world.map_or(0, |world| world.call(format_args!("sweep_along axis 0 of {lo}..{hi}"), recorded));
        Some(HandsOn { fills, places, call, recorded })
    }

    /// Runs `f` for each place in the order of the sweep, once it is recorded what the place is given.
    ///
    /// # Errors
    /// The first one of `f`; other ranks are told of it in place of what they were to be given.
    fn each(&self, backward: bool, mut f: impl FnMut(usize) -> Result<(), Error>) -> Result<(), Error> {
        let mut done = Ok(());
        for number in self.places.clone() {
            let to = if backward { self.places.start + self.places.end - 1 - number } else { number };
            let from = if backward { Some(to + 1) } else { to.checked_sub(1) };
            let pair = from.filter(|from| self.fills.iter().all(|fill| *from < fill.places())).map(|from| (from, to));
            match (&done, pair) {
                (Ok(()), Some(pair)) => give(&self.fills, pair, self.call, self.recorded),
                (Err(error), Some(pair)) => give_failure(&self.fills, pair, self.call, error),
                (_, None) => {}
            }
            done = done.and_then(|()| f(to));
        }
        done
    }
}

/// Refuses arrays that are written and kept in fewer bits.
pub(super) fn refuse_codes<const D: usize, A: Args<D>>(
    infos: &Infos<'_, D>,
    error: impl FnOnce(String, &'static str) -> Error,
) -> Result<(), Error> {
    let bindings = <A::Held as HeldArgs<D>>::BINDINGS.iter();
    let is_coded = |info: &ArgInfo<'_, D>| info.coding().is_some_and(|coding| coding.changes(true));
    let coded = infos.iter().zip(bindings).position(|(info, of)| of.access == Access::Write && is_coded(info));
    coded.map_or(Ok(()), |n| {
        let found = format!("argument {n}, which is written and kept in fewer bits");
        Err(error(found, "build the array without `.storage(..)`, or copy it into one that is"))
    })
}

/// Bit `n` says that the ghosts of argument `n` are as new as its cells.
pub(super) fn fresh<const D: usize>(infos: &Infos<'_, D>) -> u16 {
    let is_fresh = |info: &ArgInfo<'_, D>| matches!(info, ArgInfo::Tiled(tiled) if tiled.tracker.ages.ghosts_fresh());
    infos.iter().enumerate().fold(0, |bits, (n, info)| bits | u16::from(is_fresh(info)) << n)
}

/// Cycles that a cell waits for the one before it, from which on several lines along the last axis run together. Where
/// cells wait less, memory is what takes long, and it is faster line by line.
const LONG: u32 = 10;

/// Cycles until a value that was stored can be read. Forward the compiler mostly keeps it in a register.
const STORED: u32 = 8;

/// Components of all arrays of a kernel, at most, whose lines run together: more lines than that at once, and what the
/// processor fetches ahead does not come in time.
const STREAMS: usize = 6;

/// Whether the cells of a line wait so long for one another that other lines had best run meanwhile.
pub(super) fn waits(prepared: &Prepared, order: Order) -> bool {
    let arrays = prepared.kernel.args.iter().filter(|arg| arg.access != Access::Table);
    let streams: usize = arrays.map(|arg| arg.element.components()).sum();
    prepared.latency + if order.backward { STORED } else { 0 } >= LONG && streams <= STREAMS
}
