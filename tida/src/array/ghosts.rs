//! Filling ghost cells.
//!
//! The same for every cut (AMReX's `FillBoundary`, TiDA-acc §IV): first each region's ghosts inside the domain take
//! the values of the regions that own them. Then come the faces of the domain, axis by axis from the last to the
//! first; the ghosts beyond a face take in the ghosts of the axes done before, so that edges and corners have one
//! meaning: a ghost that lies outside on several axes is decided by the first of these axes.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use super::TileArray;
use super::strips::{Exchanged, Filled, Route, exchange, not_given};
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::memory::copies::Copies;
use crate::memory::element::Element;
use crate::memory::ghosts::Which;
use crate::memory::ghosts::borders::StripFault;
use crate::memory::ghosts::regions::Regional;
use crate::memory::node::Work;
use crate::memory::tracker::{Mode, Side, Touch, Tracker};
use crate::parallel;
use crate::ranks::World;
use crate::record::wait::outside_kernels;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Fills the ghosts of all regions. Recorded: returns at once.
    ///
    /// Ghosts inside the domain take the values of the regions that own them. Ghosts outside take what the
    /// [`Boundary`](super::Boundary) of their face says. A ghost that lies outside on several axes takes that of the
    /// first of these axes. Behind an open face, the ghosts of the region with the nearest value stay as they are, and
    /// other regions' copies of them are taken from it.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// u.write_box(u.domain(), &[1.0, 2.0, 3.0])?;
    /// u.fill_ghosts()?;
    /// let mut left = u.like()?;
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, (&mut left, &u), kernel!(|left, u, at| left[at] = u[at - [1]]))?;
    /// }
    /// assert_eq!(left.read_box(u.domain())?, [3.0, 1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// None of its own, but for an array that lies in a file and has no room as a whole where that is needed. Failed
    /// work shows in what reads the array.
    #[track_caller]
    pub fn fill_ghosts(&mut self) -> Result<(), Error> {
        fill_ghosts(self)
    }

    /// Lets kernels read the ghosts as they are until the array is written again: ghosts that are older than the cells
    /// beside them, or that the user set. Without it, such a read is an error.
    ///
    /// On a device, call it before the cells are written: ghosts that a fill has set have no defined value once a sweep
    /// has overwritten all cells of their region, since what is overwritten is not brought there. Ghosts that the user
    /// set are brought. Where an array is cut along its first axis alone, ghosts between its regions have no memory of
    /// their own on a device until this is called once. Where it lies in a file
    /// ([`backed_by`](crate::TileAccBuilder::backed_by)) they never have, and this changes nothing for an array of
    /// several regions.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).boundary(Boundary::Fixed(5.0)).build(&acc)?;
    /// u.fill_ghosts()?;
    /// u.fill_value(1.0)?; // the ghosts are older now
    /// u.allow_stale_ghosts();
    /// let mut left = u.like()?;
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, (&mut left, &u), kernel!(|left, u, at| left[at] = u[at - [1]]))?;
    /// }
    /// assert_eq!(left.read_box(u.domain())?, [5.0, 1.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn allow_stale_ghosts(&mut self) {
        if self.untyped().has_ghosts_between() {
            self.parts.iter().for_each(|part| part.acc.core().separate(&part.tracker));
            self.acc.core().separate(&self.tracker);
            self.tracker.ages.ghosts_allowed();
        }
    }
}

/// Fills the ghosts of several arrays in one piece of recorded work: of a tuple, an array or a vector of `&mut
/// TileArray`. See [`TileArray::fill_ghosts`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let builder = TileArray::<f64, 1>::builder([3]).ghost(1).boundary(Boundary::Periodic);
/// let (mut u, mut v) = (builder.build(&acc)?, builder.build(&acc)?);
/// (u.fill(|[i]| i as f64)?, v.fill_value(10.0)?);
/// fill_ghosts((&mut u, &mut v))?;
/// let mut sums = u.like()?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut sums, &u, &v), kernel!(|sums, u, v, at| sums[at] = u[at - [1]] + v[at + [1]]))?;
/// }
/// assert_eq!(sums.read_box(u.domain())?, [12.0, 10.0, 11.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Arrays of different accelerators.
#[track_caller]
pub fn fill_ghosts(arrays: impl GhostFill) -> Result<(), Error> {
    let recorded = Location::caller();
    outside_kernels("fill the ghosts of arrays")?;
    let mut fills = Vec::new();
    arrays.list(&mut fills);
    fill(&fills, recorded)
}

/// The same of arrays that are listed.
///
/// # Errors
/// Arrays of different accelerators.
pub(crate) fn fill(fills: &[Fill], recorded: &'static Location<'static>) -> Result<(), Error> {
    let Some(acc) = fills.first().map(|fill| fill.acc.clone()) else { return Ok(()) };
    if !fills.iter().all(|fill| fill.acc.is(&acc)) {
        return Err(Error::new(
            ErrorKind::Argument,
            "fill the ghosts of several arrays in one call",
            "arrays of different accelerators",
            "use one call for the arrays of each accelerator",
        ));
    }
    if let [fill] = fills
        && fill.repeats(recorded)
    {
        fill.tracker.ages.ghosts_filled();
        return Ok(());
    }
    // What goes to other ranks is decided by the program alone; and a rank does not know of all that others write.
    let shared = acc.ranks() > 1;
    let lacks = |fill: &&Fill| !(fill.has_copies() || !shared && Due::of(&fill.tracker).fresh);
    let call = acc.world().map_or(0, |world| called(world, fills, recorded));
    let filled = give_copies(&fills.iter().filter(lacks).collect::<SmallVec<[&Fill; 4]>>(), (&acc, call), recorded);
    for (number, place) in acc.places_here().zip(acc.places()) {
        let here = fills.iter().filter_map(|fill| fill.tracker_at(number)).filter(|tracker| !filled.has(tracker));
        let here: SmallVec<[&Arc<Tracker>; 4]> = here.collect();
        fill_at(place, (&here, shared), recorded)?;
    }
    fills.iter().for_each(|fill| fill.tracker.ages.ghosts_filled());
    Ok(())
}

/// Says that all ranks fill the ghosts of these arrays; gives the call's number. Of arrays whose planes are not sent,
/// because each rank has made them itself, it tells the ranks beside this one what they were made by.
fn called(world: &World, fills: &[Fill], recorded: &'static Location<'static>) -> u64 {
    let shapes: Vec<&[usize]> = fills.iter().map(|fill| &fill.shape[..]).collect();
    let held: Vec<&Fill> = fills.iter().filter(|fill| fill.has_copies()).collect();
    let what = format!("fill_ghosts of {shapes:?}");
    if held.is_empty() {
        return world.call(what, recorded);
    }
    let shapes: Vec<&[usize]> = held.iter().map(|fill| &fill.shape[..]).collect();
    let what = format!("{what}, where the planes of {shapes:?} are held");
    let beside = held.iter().filter_map(|fill| fill.tracker.ages.copies()).map(Copies::beside);
    let (before, next): (Vec<String>, Vec<String>) = beside.map(|[before, next]| (before, next)).unzip();
    world.call_beside(what, recorded, [before.join(" "), next.join(" ")])
}

/// Records that all places give one another what they have beyond borders, of arrays of an accelerator, in a call of
/// this number; says which parts need no fill of their own then.
pub(crate) fn give_copies(
    fills: &[&Fill],
    (acc, call): (&TileAcc, u64),
    recorded: &'static Location<'static>,
) -> Filled {
    let parted = || fills.iter().filter(|fill| !fill.routes.is_empty());
    let exchanged: Vec<Exchanged<'_>> = parted().map(|fill| (fill.parts.as_slice(), fill.routes.as_slice())).collect();
    let leaves: Vec<bool> = parted().map(|fill| !Due::of(&fill.tracker).fixed).collect();
    let filled = exchange((acc, call), (&exchanged, &leaves), acc.strip_fault(), recorded);
    let call_of_ranks = acc.world().map(|_| call);
    fills.iter().filter_map(|fill| fill.tracker.ages.copies()).for_each(|copies| copies.given(call_of_ranks));
    filled
}

/// Records that one place gives another one what that has of it as ghosts, of arrays of one accelerator. Between ranks
/// both record it, in a call of this number.
pub(crate) fn give(fills: &[Fill], (from, to): (usize, usize), call: u64, recorded: &'static Location<'static>) {
    let Some(acc) = fills.first().map(|fill| &fill.acc) else { return };
    let is_of = |route: &&Route| (route.from, route.to) == (from, to);
    let routes: Vec<Vec<Route>> =
        fills.iter().map(|fill| fill.routes.iter().filter(is_of).cloned().collect()).collect();
    let exchanged: Vec<Exchanged<'_>> =
        fills.iter().zip(&routes).map(|(fill, routes)| (fill.parts.as_slice(), routes.as_slice())).collect();
    let fault = acc.strip_fault().filter(|fault| *fault != StripFault::Lost);
    // No fill was asked for.
    exchange((acc, call), (&exchanged, &vec![false; fills.len()]), fault, recorded);
}

/// Tells the rank of the second place why the first one, if that is here, does not [`give`] it anything.
pub(crate) fn give_failure(fills: &[Fill], pair: (usize, usize), call: u64, error: &Error) {
    if let Some(fill) = fills.first() {
        not_given(&fill.acc, pair, call, error);
    }
}

/// What a fill has to do of an array.
struct Due {
    /// Those of fixed value too.
    fixed: bool,
    /// Nothing: all ghosts are as a fill leaves them.
    fresh: bool,
}

impl Due {
    fn of(tracker: &Tracker) -> Due {
        let fixed = !tracker.ages.fixed_ghosts_hold();
        let set = tracker.ages.are_ghosts_set() || tracker.ages.last_face().is_some();
        Due { fixed, fresh: tracker.ages.ghosts_fresh() && !fixed && !set }
    }
}

/// Fills the ghosts of arrays, or of their parts, that are on one place, `always` or where they are not fresh; those
/// beyond borders are there.
///
/// # Errors
/// An array that lies in a file and has no room.
fn fill_at(
    acc: &TileAcc,
    (trackers, always): (&[&Arc<Tracker>], bool),
    recorded: &'static Location<'static>,
) -> Result<(), Error> {
    let (mut on_host, mut on_device, mut on_both) = (Vec::new(), Vec::new(), Vec::new());
    let [mut host_touches, mut both_touches] = [const { Vec::new() }; 2];
    let mut kept = Vec::new();
    // Chains may take the room of the others.
    let mut left = Vec::new();
    for tracker in trackers.iter().copied() {
        let Due { fixed, fresh } = Due::of(tracker);
        let ghosts = tracker.regional().filter(|ghosts| (always || !fresh) && ghosts.plan().has_work(fixed));
        let of_chain = |_: &&Arc<Regional>| acc.core().chain_ghosts(recorded, tracker, fixed);
        left.extend(ghosts.filter(|ghosts| !of_chain(ghosts)).map(|ghosts| (tracker, ghosts, fixed)));
    }
    for (tracker, ghosts, fixed) in left {
        // Until the fill is recorded.
        let there = matches!(tracker.side(), Side::Both | Side::Device);
        let room = there.then(|| acc.core().try_reserve(&[tracker])).flatten();
        let fits = room.is_some();
        kept.push(room);
        let (ghosts, storage) = (ghosts.clone(), tracker.storage().clone());
        let touch = Touch::new(tracker, None, Mode::Update);
        match tracker.side() {
            Side::Both if fits => {
                on_both.push((ghosts, storage, fixed));
                both_touches.push(touch);
            }
            Side::Device if fits => on_device.push((tracker.clone(), fixed)),
            _ if storage.backing().is_some() => {
                return Err(Error::new(
                    ErrorKind::Memory,
                    "fill the ghosts of an array that lies in a file (`backed_by`)",
                    "no room for it as a whole, and planes that do not stream",
                    "raise the memory limit, or cut it along its first axis alone",
                ));
            }
            _ => {
                // Ghost planes between regions come home from a row as the neighbours were there, or before they were.
                let which = if fixed || storage.stays_in_row() { Which::All } else { Which::Moving };
                on_host.push((ghosts, storage, which));
                host_touches.push(touch);
            }
        }
    }
    if !on_host.is_empty() {
        let work = Work::Host(Box::new(move || {
            parallel::each(on_host.len(), 1, &|n| {
                let (ghosts, storage, which) = &on_host[n];
                // SAFETY: the storage is that of the ghosts' array; recorded touches keep all others away.
                unsafe { ghosts.fill_on_host(storage, *which) }
            });
            Ok(())
        }));
        acc.record_node("fill_ghosts", recorded, &host_touches, &[], work);
    }
    if !on_device.is_empty() {
        acc.core().record_fill(recorded, on_device);
    }
    if let (false, Some(device)) = (on_both.is_empty(), acc.core().device.clone()) {
        let work = Work::Both(Box::new(move || {
            device.backend().caught_up();
            let mut all = on_both.iter();
            // SAFETY: as on the host.
            all.try_for_each(|(ghosts, storage, fixed)| unsafe { ghosts.fill_both(&device, storage, *fixed) })
        }));
        acc.record_node("fill_ghosts", recorded, &both_touches, &[], work);
    }
    drop(kept);
    Ok(())
}

impl Fill {
    /// Whether the fill is held back because the program repeats itself: then no more is to be done.
    fn repeats(&self, recorded: &'static Location<'static>) -> bool {
        let Fill { acc, tracker, parts, routes, .. } = self;
        let Due { fixed, fresh } = Due::of(tracker);
        let alone = parts.is_empty() && routes.is_empty() && acc.ranks() == 1;
        let works = || tracker.regional().is_some_and(|ghosts| ghosts.plan().has_work(fixed));
        alone && !fresh && works() && acc.core().repeats_fill(recorded, tracker, fixed)
    }
}

/// Arrays whose ghosts can be filled in one call of [`fill_ghosts`]: `&mut` of an array, and tuples, arrays and vectors
/// of them.
pub trait GhostFill {
    /// Adds what is to be done.
    #[doc(hidden)]
    fn list(self, fills: &mut Vec<Fill>);
}

/// An array whose ghosts are to be filled.
#[doc(hidden)]
#[derive(Debug)]
pub struct Fill {
    acc: TileAcc,
    tracker: Arc<Tracker>,
    shape: SmallVec<[usize; 4]>,
    /// Of an array on several places, those with its parts, and what they give one another.
    parts: Vec<(TileAcc, Arc<Tracker>)>,
    /// The place of the first of them.
    first: usize,
    routes: Vec<Route>,
    /// Width of its ghosts along the first axis.
    ghost: [i64; 2],
}

/// An array of any element, whose ghosts can be filled.
pub(crate) trait Fillable: std::fmt::Debug {
    /// What has to be known for that.
    fn as_fill(&self) -> Fill;
    /// How many places have a part of it.
    fn places(&self) -> usize;
    /// The planes of the first axis that a place owns, of an array that lies on several.
    fn planes(&self, place: usize) -> Option<Range<i64>>;
    /// How many planes a place holds as cells of others, below its own and above.
    fn overlap(&self, place: usize) -> Option<[i64; 2]>;
    /// Whether a place is of this rank.
    fn is_here(&self, place: usize) -> bool;
    /// How many ranks it lies on, or can: 1 where it is on this one alone.
    fn ranks(&self) -> usize;
}

impl<T: Element, const D: usize> Fillable for TileArray<T, D> {
    fn as_fill(&self) -> Fill {
        let routes = self.placed.as_ref().map_or_else(Vec::new, |placed| placed.routes.clone());
        let parts = self.parts.iter().map(|part| (part.acc.clone(), part.tracker.clone())).collect();
        let ghost = self.layout.ghost.first().map_or([0; 2], |ghost| ghost.map(|planes| planes as i64));
        let shape = SmallVec::from_slice(&self.layout.shape);
        let first = if self.is_everywhere() { self.acc.places_here().start } else { 0 };
        Fill { acc: self.acc.clone(), tracker: self.tracker.clone(), shape, parts, first, routes, ghost }
    }

    fn places(&self) -> usize {
        self.parts.len().max(1)
    }

    fn planes(&self, place: usize) -> Option<Range<i64>> {
        let owned = &self.parts.get(place)?.layout.owned;
        Some(*owned.lo.first()?..*owned.hi.first()?)
    }

    fn overlap(&self, place: usize) -> Option<[i64; 2]> {
        self.parts.get(place).map(|part| part.layout.overlap())
    }

    fn is_here(&self, place: usize) -> bool {
        !self.is_parted() || self.acc.places_here().contains(&place)
    }

    fn ranks(&self) -> usize {
        if self.is_parted() && !self.is_everywhere() { self.acc.ranks() } else { 1 }
    }
}

impl Fill {
    /// The accelerator of the array.
    pub(crate) fn acc(&self) -> &TileAcc {
        &self.acc
    }

    /// How many places have a part of the array.
    pub(crate) fn places(&self) -> usize {
        self.parts.len().max(1)
    }

    /// Says that all ranks give one another the planes that they hold of these arrays, if they lie on several; gives
    /// the call's number.
    pub(crate) fn held_call(fills: &[Fill], recorded: &'static Location<'static>) -> u64 {
        let world = fills.first().and_then(|fill| fill.acc.world());
        let shapes: Vec<&[usize]> = fills.iter().map(|fill| &fill.shape[..]).collect();
        world.map_or(0, |world| world.call(format_args!("the planes of {shapes:?} for a kernel"), recorded))
    }

    /// Whether each place has good copies of what it reads beyond its borders.
    fn has_copies(&self) -> bool {
        self.tracker.ages.copies().is_some_and(|copies| copies.are_good(self.ghost))
    }

    /// What it has on a place.
    fn tracker_at(&self, place: usize) -> Option<&Arc<Tracker>> {
        match self.parts.as_slice() {
            [] => Some(&self.tracker).filter(|_| place == self.acc.places_here().start),
            parts => parts.get(place.checked_sub(self.first)?).map(|(_, tracker)| tracker),
        }
    }
}

impl<T: Element, const D: usize> GhostFill for &mut TileArray<T, D> {
    fn list(self, fills: &mut Vec<Fill>) {
        fills.push(self.as_fill());
    }
}

impl<G: GhostFill, const N: usize> GhostFill for [G; N] {
    fn list(self, fills: &mut Vec<Fill>) {
        self.into_iter().for_each(|array| array.list(fills));
    }
}

impl<G: GhostFill> GhostFill for Vec<G> {
    fn list(self, fills: &mut Vec<Fill>) {
        self.into_iter().for_each(|array| array.list(fills));
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: GhostFill),*> GhostFill for ($($name,)*) {
            #[allow(non_snake_case)]
            fn list(self, fills: &mut Vec<Fill>) {
                let ($($name,)*) = self;
                $($name.list(fills);)*
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C E);
tuples!(A B C E F);
tuples!(A B C E F G);
tuples!(A B C E F G H);
tuples!(A B C E F G H I);
