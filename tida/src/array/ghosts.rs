//! Filling ghost cells.
//!
//! The same for every cut (AMReX's `FillBoundary`, TiDA-acc §IV): first each region's ghosts inside the domain take
//! the values of the regions that own them. Then come the faces of the domain, axis by axis from the last to the
//! first; the ghosts beyond a face take in the ghosts of the axes done before, so that edges and corners have one
//! meaning: a ghost that lies outside on several axes is decided by the first of these axes.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use super::TileArray;
use crate::acc::TileAcc;
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::memory::element::Element;
use crate::memory::ghosts::device::DeviceCopies;
use crate::memory::ghosts::fill::{self, Which};
use crate::memory::ghosts::owed::{DeviceFill, Owed};
use crate::memory::ghosts::plan::GhostPlan;
use crate::memory::node::{Queue, Work};
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Side, Touch, Tracker};
use crate::parallel;
use crate::record::wait::outside_kernels;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Fills the ghosts of all regions. Recorded: returns at once.
    ///
    /// Ghosts inside the domain take the values of the regions that own them. Ghosts outside take what the
    /// [`Boundary`](crate::Boundary) of their face says. A ghost that lies outside on several axes takes that of the
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
    /// None of its own. Failed work shows in what reads the array.
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
    /// their own on a device until this is called once.
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
        self.acc.core().separate(&self.tracker);
        self.tracker.ghosts_allowed();
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
    let Some(first) = fills.first() else { return Ok(()) };
    let acc = first.acc.clone();
    if !fills.iter().all(|fill| fill.acc.is(&acc)) {
        return Err(Error::new(
            ErrorKind::Argument,
            "fill the ghosts of several arrays in one call",
            "arrays of different accelerators",
            "use one call for the arrays of each accelerator",
        ));
    }
    let trackers: Vec<Arc<Tracker>> = fills.iter().map(|fill| fill.tracker.clone()).collect();
    let mut fixed = false;
    let (mut on_host, mut on_device, mut on_both) = (Vec::new(), Vec::new(), Vec::new());
    let (mut host_touches, mut device_touches, mut both_touches) = (Vec::new(), Vec::new(), Vec::new());
    for fill in fills {
        let Some(run) = fill.run else { continue };
        if acc.core().chain_ghosts(recorded, &fill.tracker, fill.fixed) {
            continue;
        }
        let touch = Touch::new(&fill.tracker, None, Mode::Update);
        match run {
            Run::Host(run) => {
                on_host.push(run);
                host_touches.push(touch);
            }
            Run::Device(run, storage) => {
                fixed |= fill.fixed;
                let planar = touch.tracker.planar().filter(|_| !fill.fixed);
                let owed = planar.and_then(|planar| Owed::of(planar.facts(), &run, recorded)).map(Arc::new);
                on_device.push((run, storage, owed));
                device_touches.push(touch);
            }
            Run::Both(run) => {
                on_both.push(run);
                both_touches.push(touch);
            }
        }
    }
    if !on_host.is_empty() {
        acc.record("fill_ghosts", host_touches, move || {
            let runs: Vec<_> = on_host.into_iter().map(|run| Mutex::new(Some(run))).collect();
            parallel::each(runs.len(), 1, &|n| {
                let run = runs[n].lock().unwrap_or_else(PoisonError::into_inner).take();
                run.into_iter().for_each(|run| run());
            });
            Ok(())
        });
    }
    if !on_device.is_empty() {
        let work = Work::Device(Box::new(move |queue| {
            let held = fill_on_device(queue, recorded, on_device)?;
            Ok(Box::new(move || {
                drop(held);
                Ok(())
            }))
        }));
        acc.core().record_fill(recorded, &device_touches, fixed, work);
    }
    if let (false, Some(device)) = (on_both.is_empty(), acc.core().device.clone()) {
        acc.record_on_both("fill_ghosts", both_touches, move || {
            device.backend().caught_up();
            on_both.into_iter().try_for_each(|run| run(&device))
        });
    }
    trackers.iter().for_each(|tracker| tracker.ghosts_filled());
    Ok(())
}

/// Arrays whose ghosts can be filled in one call of [`fill_ghosts`]: `&mut` of an array, and tuples, arrays and vectors
/// of them.
pub trait GhostFill {
    /// Adds what is to be done.
    #[doc(hidden)]
    fn list(self, fills: &mut Vec<Fill>);
}

/// What filling the ghosts of one array takes.
#[doc(hidden)]
pub struct Fill {
    acc: TileAcc,
    tracker: Arc<Tracker>,
    /// The work; none if nothing has changed.
    run: Option<Run>,
    /// Ghosts of fixed value do not hold it.
    fixed: bool,
}

/// A fill of an array's ghosts on a device, the array's memory, and what is known of them if the fill may wait.
type OnDevice = (Arc<DeviceFill>, Arc<Storage>, Option<Arc<Owed>>);

/// What a fill uses.
type Used = (Arc<DeviceCopies>, Arc<Storage>);

/// Fills ghosts of arrays on the device, or leaves that to who reads them; gives what it uses.
fn fill_on_device(
    queue: &Queue<'_>,
    recorded: &'static Location<'static>,
    fills: Vec<OnDevice>,
) -> Result<Vec<Used>, Error> {
    let (mut now, mut held) = (Vec::new(), Vec::new());
    for (fill, storage, owed) in fills {
        storage.filled(true);
        match owed {
            Some(owed) => storage.owe_ghosts(&owed),
            None => now.push((fill, storage)),
        }
    }
    if !now.is_empty() {
        queue.put("fill_ghosts", recorded, || {
            for (fill, storage) in now {
                storage.forget_ghosts();
                held.extend(fill(queue.device, queue.stream, &storage)?.map(|copies| (copies, storage)));
            }
            Ok(())
        })?;
    }
    Ok(held)
}

/// Does the work, on both sides.
type BothRun = dyn FnOnce(&Arc<DeviceCore>) -> Result<(), Error> + Send;

/// The work of filling the ghosts of one array.
enum Run {
    Host(Box<dyn FnOnce() + Send>),
    Device(Arc<DeviceFill>, Arc<Storage>),
    Both(Box<BothRun>),
}

impl std::fmt::Debug for Fill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fill").finish_non_exhaustive()
    }
}

impl<T: Element, const D: usize> GhostFill for &mut TileArray<T, D> {
    fn list(self, fills: &mut Vec<Fill>) {
        let plan = self.ghost_plan.get_or_init(|| GhostPlan::new(&self.layout, &self.boundaries));
        let fixed = !self.tracker.fixed_ghosts_hold();
        let fresh = self.tracker.ghosts_fresh() && !fixed && !self.tracker.are_ghosts_set();
        let run = (!fresh && plan.has_work(fixed)).then(|| {
            let (layout, storage, plan) = (self.layout.clone(), self.storage.clone(), self.ghost_plan.clone());
            let planar = self.tracker.planar().cloned();
            let side = self.tracker.side();
            if side == Side::Both && self.acc.core().try_reserve(&[&self.tracker]) {
                return Run::Both(Box::new(move |device: &Arc<DeviceCore>| match plan.get() {
                    // SAFETY: the plan was made for this layout and `T`; recorded touches keep all others away.
                    Some(plan) => unsafe { plan.fill_both(device, &layout, &storage, &layout.element, fixed) },
                    None => Ok(()),
                }));
            }
            if side == Side::Device && self.acc.core().try_reserve(&[&self.tracker]) {
                // It may outlive its node in the array's memory, of which it has no part.
                let run: Arc<DeviceFill> = Arc::new(move |device, stream, storage| {
                    let copies = match (&planar, plan.get()) {
                        (Some(planar), _) => planar.fill_whole(device, storage.row().is_some(), fixed)?,
                        (None, Some(plan)) => plan.on_device(device, &layout, &layout.element, fixed)?,
                        // Made above.
                        (None, None) => return Ok(None),
                    };
                    let memory = storage.device_memory(device)?;
                    // SAFETY: the plan was made for this layout and `T`, and regions lie where the layout says;
                    // recorded touches, or those of who reads the ghosts, keep all others away, and their node holds
                    // the array. The tables are held by the node, or with the array's memory.
                    unsafe { copies.run(stream, &memory, &memory)? };
                    Ok(Some(copies))
                });
                return Run::Device(run, storage);
            }
            // Ghost planes between regions come home from a row as the neighbours were there, or before they were.
            let which = if fixed || storage.stays_in_row() { Which::All } else { Which::Moving };
            Run::Host(Box::new(move || {
                if let Some(plan) = plan.get() {
                    storage.filled(false);
                    // SAFETY: the plan was made for this layout and `T`; recorded touches keep all others away.
                    unsafe { fill::run(plan, &layout, &storage, &layout.element, which) }
                }
            }))
        });
        fills.push(Fill { acc: self.acc.clone(), tracker: self.tracker.clone(), run, fixed });
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
