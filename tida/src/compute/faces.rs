//! Ghosts beyond a face of the domain, set by a kernel.

use std::panic::Location;

use super::along::AtOnce;
use super::args::{ArgInfo, Args, HeldArgs, Infos, TiledInfo, Views};
use super::ask::Ask;
use super::check::Rule;
use super::launch::record;
use super::view::{Checked, Proven};
use crate::acc::Device;
use crate::array::{Fill, Side, fill};
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::layout::Layout;
use crate::memory::tracker;
use crate::record::wait::outside_kernels;
use crate::tile::Tile;
use tida_kernels::ir::Access;

/// Sets the ghosts beyond one face of the domain by a kernel: a boundary that no [`Boundary`](crate::Boundary) knows.
/// It is a part of a ghost fill: call it after [`fill_ghosts`](crate::fill_ghosts()), for axis after axis, the last
/// axis first. Recorded: returns at once.
///
/// `face` is the axis, counted from 0, and the side of it. `args` are as in [`compute`](crate::compute()); of each `&mut`
/// array the ghosts beyond that face are set, which is to be [`Boundary::Open`](crate::Boundary::Open) for it. The
/// kernel runs once for each of these ghosts, whatever the cuts: beyond axes that come before also for those that lie
/// beyond later axes, edges and corners. It writes the ghost, `u[at]`, and reads what it likes of
///
/// - cells of the domain, as far inwards as the thinnest region and the width of ghosts allow,
/// - ghosts beyond axes that come later, which were set before,
/// - other arrays, captured values, tables.
///
/// `u` there is the same array: `u[at + [0, 1]]` is one cell inwards of a low face of axis 1, and
/// `u[[at[0], -1 - at[1]]]` the mirrored cell.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let (rows, spacing, rate, outside) = (4, 0.5, 2.0, 10.0);
/// let mut u = TileArray::<f64, 2>::builder([rows, 64]).ghost(1).boundary_axis(0, Boundary::Periodic).build(&acc)?;
/// u.fill_value(1.0)?;
/// u.fill_ghosts()?;
/// // Robin: the flux through the face is proportional to the difference to what is outside.
/// fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| {
///     let inside = u[at + [0, 1]];
///     u[at] = inside + spacing * rate * (outside - inside);
/// }))?;
/// // Inflow that changes with time.
/// let time = 0.25;
/// fill_ghosts_with((1, Side::High), &mut u, kernel!(|u, at| u[at] = 2.0 * time - u[at - [0, 1]]))?;
/// let mut near = u.like()?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut near, &u), kernel!(|near, u, at| near[at] = u[at - [0, 1]] + u[at + [0, 1]]))?;
/// }
/// let near = near.read_box(near.domain())?;
/// assert_eq!((near[0], near[1], near[63]), (10.0 + 1.0, 2.0, 1.0 - 0.5));
/// # Ok(()) }
/// ```
///
/// It runs wherever arrays are, also out of core as a part of the passes over the link, and gives the same bits there.
/// Captured values may change from call to call: the kernel is not compiled again. Steps that would run as one launch
/// do so where such calls stand between them, if each ghost follows from the nearest two cells inwards, or from the
/// mirrored one (the guide's page on boundaries says when); else they run one by one. On the CPU they are parts of the
/// passes over blocks of the caches, as fills are. On a GPU, ghosts of width 1 beyond the last axis that follow from
/// the cell beside each, of an array of one region, are set by the sweep that wrote the cells, if the calls for them
/// are the first ones after it and the fill. Two calls one after the other for both faces of an axis, with the same
/// arguments, are one launch. Arrays of several regions, and those with other moving boundaries on axes that come
/// before, fill their ghosts once more after each call; so do those on several [places](crate::TileAcc::places), which
/// send one another the ghosts that were set.
///
/// # Errors
/// Those of [`compute`](crate::compute()); a face that has no ghosts or is not open; ghosts that are older than the
/// cells; axes in another order; a read of ghosts that are set later, or together with these.
#[track_caller]
pub fn fill_ghosts_with<const D: usize, A, N>(face: (usize, Side), args: A, kernel: N) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, (), D>) + Clone + Send + Sync + 'static,
{
    let recorded = Location::caller();
    set(face, &args, kernel, recorded).map_err(|e| e.recorded_at(recorded))
}

fn set<const D: usize, A, N>(
    (axis, side): (usize, Side),
    args: &A,
    kernel: N,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, (), D>) + Clone + Send + Sync + 'static,
{
    outside_kernels("set ghosts by a kernel")?;
    let infos = args.infos(0);
    let written = written::<D, A>(&infos);
    let Some(first) = written.first() else {
        return Err(error((axis, side), ErrorKind::Argument, "no `&mut` array among its arguments", "pass one"));
    };
    written.iter().try_for_each(|array| check(array, (axis, side)))?;
    for place in (0..first.whole.places()).filter(|place| first.whole.is_here(*place)) {
        set_on(place, (axis, side), args, &kernel, recorded)?;
    }
    // Ghosts that are copies of these, or lie beyond axes that come before.
    let copied = |array: &&&TiledInfo<'_, D>| {
        let plan = array.tracker.regional().map(|regional| regional.plan());
        array.whole.places() > 1 || plan.is_some_and(|plan| plan.has_work_up_to(4 - D + axis))
    };
    written.iter().filter_map(|array| array.tracker.ages.copies()).for_each(|copies| copies.ghosts_lost());
    let again: Vec<Fill> = written.iter().filter(copied).map(|array| array.whole.as_fill()).collect();
    fill(&again, recorded)?;
    written.iter().for_each(|array| array.tracker.ages.face_set(axis));
    Ok(())
}

/// The arrays of these arguments that are written.
fn written<'i, 'a, const D: usize, A: Args<D>>(infos: &'i Infos<'a, D>) -> Vec<&'i TiledInfo<'a, D>> {
    let bindings = <A::Held as HeldArgs<D>>::BINDINGS.iter();
    let written = infos.iter().zip(bindings).filter_map(|(info, binding)| match info {
        ArgInfo::Tiled(tiled) if binding.access == Access::Write => Some(tiled),
        _ => None,
    });
    written.collect()
}

/// Sets the ghosts beyond the face that a place has.
fn set_on<const D: usize, A, N>(
    place: usize,
    (axis, side): (usize, Side),
    args: &A,
    kernel: &N,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, (), D>) + Clone + Send + Sync + 'static,
{
    let infos = args.infos(place);
    let written = written::<D, A>(&infos);
    let Some(first) = written.first() else { return Ok(()) };
    let all = beyond(first.layout, axis, side);
    let device = match first.tracker.side() {
        tracker::Side::Both => Some(Device::Hybrid),
        tracker::Side::Host => Some(Device::Cpu),
        _ => None,
    };
    for region in 0..first.layout.regions.len() {
        let mut cells = first.layout.outer(region).intersect(&all);
        if axis > 0 {
            // Those beside copies of other places' cells come from there.
            (cells.lo[0], cells.hi[0]) =
                (cells.lo[0].max(first.layout.owned.lo[0]), cells.hi[0].min(first.layout.owned.hi[0]));
        }
        if cells.is_empty() {
            continue;
        }
        let tile = Tile {
            layout: first.layout.clone(),
            region,
            cells,
            all,
            grown: true,
            listed: None,
            alike: None,
            device,
            block: None,
            march: None,
            cache: Hints::default(),
            place,
            first: 0,
            fault: None,
        };
        record::<AtOnce, D, _, _>(&tile, Rule::Face(axis), &infos, || args.hold(place), kernel.clone(), recorded)?;
    }
    Ok(())
}

/// All ghosts that one face decides: beyond a corner it is the first axis that does.
fn beyond<const D: usize>(layout: &Layout<D>, axis: usize, side: Side) -> GridBox<D> {
    let domain = layout.domain();
    let (mut lo, mut hi) = (domain.lo, domain.hi);
    for d in axis..D {
        lo[d] -= layout.ghost[d][0] as i64;
        hi[d] += layout.ghost[d][1] as i64;
    }
    match side {
        Side::Low => hi[axis] = domain.lo[axis],
        Side::High => lo[axis] = domain.hi[axis],
    }
    GridBox { lo, hi }
}

/// Whether a kernel may set the ghosts of an array beyond a face now.
fn check<const D: usize>(array: &TiledInfo<'_, D>, (axis, side): (usize, Side)) -> Result<(), Error> {
    let refused = |kind, found: &str, advice: &str| Err(error((axis, side), kind, found, advice));
    if axis >= D {
        let found = format!("an array of {D} axes");
        return refused(ErrorKind::Argument, &found, "count axes from 0, the slowest");
    }
    if array.layout.ghost[axis][side as usize] == 0 {
        let found = "no ghosts beyond that face";
        return refused(ErrorKind::Ghost, found, "build the array with `.ghost(1)` or wider");
    }
    if !array.open[axis][side as usize] {
        let found = "a face that a fill sets";
        return refused(ErrorKind::Boundary, found, "build the array with `Boundary::Open` there");
    }
    if !array.tracker.ages.ghosts_fresh() {
        let found = "ghosts that are older than the cells beside them";
        let advice = "call `fill_ghosts` first, after the last write of the array";
        return refused(ErrorKind::StaleGhost, found, advice);
    }
    match array.tracker.ages.last_face() {
        Some(before) if before < axis => {
            let found =
                format!("that those beyond axis {before} were set before, which take in those beyond axis {axis}");
            refused(ErrorKind::Ghost, &found, "set ghosts axis by axis, the last axis first, after each `fill_ghosts`")
        }
        _ => Ok(()),
    }
}

fn error(face: (usize, Side), kind: ErrorKind, found: &str, advice: &str) -> Error {
    Error::new(kind, tried(face), found, advice)
}

fn tried((axis, side): (usize, Side)) -> String {
    let side = match side {
        Side::Low => "low",
        Side::High => "high",
    };
    format!("set the ghosts beyond the {side} face of axis {axis} by a kernel")
}
