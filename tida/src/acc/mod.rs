//! The accelerator, as users have it: built with settings, asked to wait, and asked what it did.

mod builder;
mod describe;
mod exchange;
pub(crate) mod settings;
mod speeds;

pub use crate::bytes::IntoBytes;
pub use crate::device::timeline::{Busy, Span, SpanKind, Stats, Timeline};
#[cfg(tida_loom)]
#[doc(hidden)]
pub use crate::record::models;
pub use crate::run::batch::{Batch, BatchPart};
pub use crate::run::streamed::{Streamed, StreamedBy};
pub use builder::{Compile, Device, Fuse, Ranks, TileAccBuilder};
pub use exchange::ToldLater;
pub use speeds::PlaceSpeeds;

use std::borrow::Cow;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use crate::backend::sim::SimReport;
use crate::device::timeline::Recorder;
use crate::error::{Error, ErrorKind};
use crate::memory::backing::Folder;
use crate::memory::ghosts::borders::StripFault;
use crate::memory::mailbox::Pair;
use crate::memory::node::{Done, Node, Queue, Work};
use crate::memory::tracker::Touch;
use crate::memory::transport::{Transport, Within};
#[doc(hidden)]
pub use crate::ranks::FakeRank;
use crate::ranks::World;
use crate::record::driver::Core;
use crate::record::wait::outside_kernels;
use describe::Missed;

/// An accelerator: it runs the work that is recorded on its arrays, on the CPU, on a GPU, or on both. Cheap to clone:
/// clones are one accelerator. Arrays keep theirs alive.
///
/// Printed with `{}` it says in one line what it runs on, and why not on more: for example `CPU, 8 threads, AVX-512 (no
/// CUDA: ..)`.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// println!("{acc}");
/// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?; // recorded
/// }
/// acc.sync()?; // everything has run
/// assert_eq!(u.read_box(u.domain())?, [1.0; 4]); // a read waits by itself
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TileAcc {
    handle: Arc<Handle>,
}

/// Ends the driver thread when the last accelerator of its kind is gone.
struct Handle {
    /// Of several places, that of the first.
    core: Arc<Core>,
    /// The places, as accelerators of their own, if they are several: this one has nothing of its own then.
    places: Vec<TileAcc>,
    /// The ranks of the program, if this is an accelerator of several: the places are those of this rank.
    world: Option<Arc<World>>,
    device: Device,
    /// Loops run on both sides if they do not say where.
    hybrid: bool,
    /// Where the values of arrays lie, if not in the host's memory.
    folder: Option<Arc<Folder>>,
    /// A mistake in what parts of arrays give one another, for tests.
    strip_fault: Option<StripFault>,
    /// Of several places, what carries messages from each to each, those from the first place first.
    transports: Vec<Arc<dyn Transport>>,
    /// Better devices that were looked for, and are not there.
    missed: Vec<Missed>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(world) = &self.world {
            // Others may wait for what is still under way here.
            if !std::thread::panicking() && self.core.threads.pool.current_thread_index().is_none() {
                self.places.iter().for_each(|place| drop(place.core().flush(Location::caller())));
                self.places.iter().for_each(|place| place.core().wait_for_all());
            }
            world.leave();
        }
        if !self.places.is_empty() {
            return;
        }
        self.core.shut_down();
        // No command may be under way when the program ends: the driver's library is gone then.
        if self.core.device.is_some() && self.core.threads.pool.current_thread_index().is_none() {
            self.core.wait_for_all();
        }
        // Nor may a compiler.
        if let Some(device) = &self.core.device {
            device.compiler().end();
        }
    }
}

impl TileAcc {
    /// An accelerator on the best device there is: what the environment variable `TIDA_DEVICE` names (`auto`, `cpu`,
    /// `cuda`, `opencl`, `sim`, `hybrid`), else a CUDA device, else a GPU by OpenCL, else the CPU.
    ///
    /// If it falls back to the CPU, a `tracing` event says so once, and so does the accelerator when it is printed with
    /// `{}`. A device that is named is never replaced by another.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::auto()?;
    /// assert!(acc.threads() >= 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `TIDA_DEVICE` names no device, or one that is not there; so may `TIDA_CUDA_DEVICE` and `TIDA_OPENCL_DEVICE`.
    /// Another variable is not understood.
    pub fn auto() -> Result<TileAcc, Error> {
        TileAcc::builder().build()
    }

    /// An accelerator whose device, threads and other settings are chosen.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).threads(1).build()?;
    /// assert_eq!(acc.threads(), 1);
    /// # Ok(()) }
    /// ```
    pub fn builder() -> TileAccBuilder {
        TileAccBuilder::default()
    }

    /// The device that work runs on; with [`Device::Hybrid`], the one beside the CPU.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// assert_eq!(TileAcc::builder().device(Device::Cpu).build()?.device(), Device::Cpu);
    /// # Ok(()) }
    /// ```
    pub fn device(&self) -> Device {
        self.handle.device
    }

    /// Whether loops run on both sides if they do not say where.
    pub(crate) fn is_hybrid(&self) -> bool {
        self.handle.hybrid
    }

    /// Number of threads that run native kernels.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// assert_eq!(TileAcc::builder().device(Device::Cpu).threads(3).build()?.threads(), 3);
    /// # Ok(()) }
    /// ```
    pub fn threads(&self) -> usize {
        self.core().threads.pool.current_num_threads()
    }

    /// The name of the device that kernels run on, by its driver; `None` where they run on the CPU. Of several
    /// [`places`](TileAcc::places), that of the first.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// assert_eq!(acc.device_name(), None);
    /// # Ok(()) }
    /// ```
    pub fn device_name(&self) -> Option<&str> {
        let device = self.core().device.as_ref().filter(|_| self.device() != Device::Cpu)?;
        Some(device.backend().facts().name.as_str())
    }

    /// Bytes of memory of that device: all, and those free now if the driver says. Of several places the sums; places
    /// on one device share its memory, and each counts all of it.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let device = tida::SimDevice::new().memory(1 << 20);
    /// let acc = TileAcc::builder().simulate(device).build()?;
    /// assert_eq!(acc.device_memory(), Some((1 << 20, Some(1 << 20))));
    /// # Ok(()) }
    /// ```
    pub fn device_memory(&self) -> Option<(u64, Option<u64>)> {
        let of = |place: &TileAcc| {
            let backend = place.core().device.as_ref()?.backend();
            Some((backend.facts().memory, backend.free_memory()))
        };
        let sum = |all: (u64, Option<u64>), one: (u64, Option<u64>)| {
            (all.0 + one.0, all.1.zip(one.1).map(|(all, one)| all + one))
        };
        self.places().iter().filter_map(of).reduce(sum)
    }

    /// Of each place with a device: what tells that from others, if other processes may have it, and the most bytes of
    /// arrays there. For tests.
    #[doc(hidden)]
    pub fn shares(&self) -> Vec<(Option<String>, u64)> {
        let devices = self.places().iter().filter_map(|place| place.core().device.as_ref());
        devices.map(|device| (device.backend().identity(), device.budget())).collect()
    }

    /// Bytes of arrays and tables copied so far: to the device, and from it. 0 where kernels run on the CPU.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// assert_eq!(acc.bytes_copied(), (0, 0));
    /// # Ok(()) }
    /// ```
    pub fn bytes_copied(&self) -> (u64, u64) {
        let of = |place: &TileAcc| place.core().device.as_ref().map_or((0, 0), |device| device.counts.copied());
        self.places().iter().map(of).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// What was moved, launched and evicted so far, and how busy everything was. It waits for nothing. After
    /// [`TileAcc::sync`] it counts everything recorded.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).build()?;
    /// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
    /// }
    /// acc.sync()?;
    /// assert_eq!(acc.stats().launches, 1);
    /// # Ok(()) }
    /// ```
    pub fn stats(&self) -> Stats {
        if let [first, others @ ..] = self.handle.places.as_slice() {
            return others.iter().fold(first.stats(), |all, place| all.and(&place.stats()));
        }
        let core = self.core();
        let stats = core.device.as_ref().map_or_else(|| core.host.stats(), |device| device.stats());
        let (file_read_bytes, file_written_bytes) = self.folder().map_or((0, 0), |folder| folder.moved());
        let busy = core.timeline.as_ref().and_then(|recorder| recorder.busy());
        Stats { file_read_bytes, file_written_bytes, busy, ..stats }
    }

    /// What became of work over arrays that have no room as a whole, of the last 64 times that sweeps, ghost fills and
    /// reductions ran together: in which pieces arrays came and went, in how many passes, how many bytes were copied,
    /// read from files and written to them, and why no more work could be a part of it. Oldest first; empty if nothing
    /// streamed. It waits for nothing: call [`TileAcc::sync`] before. Where kernels run on the CPU, it tells of arrays
    /// that do not fit the caches.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).memory_limit("48 KiB").build()?;
    /// let mut u = TileArray::<f64, 2>::builder([64, 128]).build(&acc)?;
    /// for _ in 0..3 {
    ///     for tile in TileIter::new(&u) {
    ///         compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + 1.0))?;
    ///     }
    /// }
    /// acc.sync()?; // three sweeps have used each plane while it was on the device
    /// let [streamed] = &acc.streamed()[..] else { panic!("one chain") };
    /// assert_eq!((streamed.sweeps, streamed.passes), (3, 1));
    /// println!("{streamed}");
    /// # Ok(()) }
    /// ```
    pub fn streamed(&self) -> Vec<Streamed> {
        self.places().iter().flat_map(|place| place.core().streamed()).collect()
    }

    /// What became of recorded work over arrays that have room, of the last 64 batches: how many launches it took, how
    /// many bytes were copied for it, which sweeps ran together and why no more did, and what started it, each with its
    /// line. A batch is what is recorded until the host waits for some of it, [`TileAcc::flush`] is called, nothing is
    /// recorded for a while, or as much waits as [`look_ahead`](TileAccBuilder::look_ahead) allows. Oldest first. It
    /// waits for nothing: call [`TileAcc::sync`] before. [`TileAcc::streamed`] tells of arrays that have no room.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).build()?;
    /// let u = TileArray::<f64, 2>::builder([64, 128]).build(&acc)?;
    /// let (mut v, mut w) = (u.like()?, u.like()?);
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at] + 1.0))?;
    ///     compute(&tile, (&mut w, &u), kernel!(|w, u, at| w[at] = u[at] * 2.0))?;
    /// }
    /// acc.sync()?; // both read `u`: they ran as one
    /// let batches = acc.batches();
    /// let last = batches.last().unwrap();
    /// assert_eq!((last.sweeps, last.launches), (2, 1));
    /// println!("{last}");
    /// # Ok(()) }
    /// ```
    pub fn batches(&self) -> Vec<Batch> {
        self.places().iter().flat_map(|place| place.core().batches()).collect()
    }

    /// What ran when, since the accelerator was built, on all of its places. Waits until everything recorded has run.
    /// It does not say how that went: `sync` and reads do.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).timeline(true).build()?;
    /// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
    /// }
    /// assert!(!acc.timeline()?.spans().is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`]: an accelerator that was built without [`TileAccBuilder::timeline`].
    #[track_caller]
    pub fn timeline(&self) -> Result<Timeline, Error> {
        outside_kernels("give the timeline of an accelerator")?;
        if let [one] = self.handle.places.as_slice() {
            return one.timeline();
        }
        if !self.handle.places.is_empty() {
            self.flush()?;
            let of = |place: &TileAcc| Ok((place.recorder()?.zero(), place.timeline()?));
            return self.places().iter().map(of).collect::<Result<Vec<_>, Error>>().map(Timeline::of_places);
        }
        let recorder = self.recorder()?;
        self.core().wait_for_all();
        Ok(recorder.timeline())
    }

    /// What records its timeline.
    fn recorder(&self) -> Result<&Arc<Recorder>, Error> {
        self.core().timeline.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Argument,
                "give the timeline of an accelerator",
                "that it was built to record none",
                "build it with `TileAcc::builder().timeline(true)`",
            )
        })
    }

    /// Runs `f`, which writes or reads files beside the program, and puts the time that it takes into the timeline, if
    /// there is one: [`Busy::files_overlap`](crate::acc::Busy::files_overlap) says how much of it the program computed
    /// meanwhile. Any thread may call it.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let acc = TileAcc::builder().device(Device::Cpu).timeline(true).build()?;
    /// let path = std::env::temp_dir().join(format!("tida-file-span-{}", std::process::id()));
    /// acc.file_span("notes", || std::fs::write(&path, "written"))?;
    /// assert_eq!(acc.timeline()?.spans()[0].name, "notes");
    /// # std::fs::remove_file(&path)?;
    /// # Ok(()) }
    /// ```
    pub fn file_span<T>(&self, name: impl Into<Cow<'static, str>>, f: impl FnOnce() -> T) -> T {
        let Some(recorder) = &self.core().timeline else { return f() };
        let start = Instant::now();
        let result = f();
        recorder.file_span(name, start, Instant::now());
        result
    }

    /// What the simulated device did so far, if work runs on one. It does not wait for recorded work that has not
    /// started: call [`TileAcc::sync`] first to have all of it. Of several places that are all simulated, it is what
    /// they did together: the time of the last one to end, and sums of all else.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).build()?;
    /// assert_eq!(acc.simulated().map(|report| report.kernels), Some(0));
    /// assert_eq!(TileAcc::builder().device(Device::Cpu).build()?.simulated(), None);
    /// # Ok(()) }
    /// ```
    pub fn simulated(&self) -> Option<SimReport> {
        let of = |place: &TileAcc| Some(place.core().device.as_ref()?.backend().simulated()?.report());
        self.places().iter().map(of).try_fold(SimReport::default(), |all, one| Some(all.with(&one?)))
    }

    /// Starts everything recorded so far, and returns at once. What was waiting for more work of its kind waits no
    /// longer: sweeps that still took tiles, steps that were held back to run as one launch, and chains of work on
    /// arrays larger than the device's memory.
    ///
    /// Recorded work starts by itself: when enough of it waits, when nothing was recorded for a while (0.2 ms, or
    /// [`patience`](TileAccBuilder::patience)), and when a result is waited for. A call says where one batch ends. So a
    /// program that does other things for a time has its work run meanwhile, and one that calls it at the same places
    /// has the same batches each time. More calls than needed cost time: steps before one and after it are not run
    /// together.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([1000]).build(&acc)?;
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = (at[0] as f64).sqrt()))?;
    /// }
    /// acc.flush()?; // it runs ..
    /// let other: f64 = (0..1000).map(|n| n as f64).sum(); // .. while the host does this
    /// assert_eq!((u.read_box(GridBox::new([4], [5]))?[0], other), (2.0, 499500.0));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A call from inside a kernel. Failures of the work itself come out where its results are read, and at
    /// [`TileAcc::sync`].
    #[track_caller]
    pub fn flush(&self) -> Result<(), Error> {
        let called = Location::caller();
        self.places().iter().try_for_each(|place| place.core().flush(called))
    }

    /// Waits until everything recorded has run.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut halves = TileArray::<i32, 1>::builder([4]).build(&acc)?;
    /// for tile in TileIter::new(&halves) {
    ///     compute(&tile, &mut halves, kernel!(|halves, at| halves[at] = 4 / (at[0] as i32 - 1)))?; // divides by 0
    /// }
    /// assert_eq!(acc.sync().unwrap_err().kind(), ErrorKind::Division);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The first failure of recorded work that nobody was told of yet, with the others like it ([`Error::others`]). A
    /// read that gave a failure has told it. Arrays that a failure spoiled give it again when they are read. A call
    /// from inside a kernel is an error too.
    #[track_caller]
    pub fn sync(&self) -> Result<(), Error> {
        match self.places() {
            [one] => one.core().sync(),
            places => Core::sync_all(&places.iter().map(TileAcc::core).collect::<Vec<_>>()),
        }
    }

    /// Waits until everything recorded has run, as [`TileAcc::sync`] does, and until every kernel is ready that is
    /// compiled beside the program ([`TileAccBuilder::compile`]). Gives how many of those became ready since the last
    /// call; 0 where nothing is compiled.
    ///
    /// It is for those who measure. Call it after a few steps of each kind: whatever would still take over later then
    /// does so at once. With timed trials ([`TileAccBuilder::tune`]) plans are compiled and tried, and others are then
    /// compiled for what was found. So steps and calls take turns until a call gives 0.
    ///
    /// ```
    /// use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f32, 2>::builder([64, 64]).ghost([1, 1]).build(&acc)?;
    /// let mut next = u.like()?;
    /// let mut steps = |count: usize| -> tida::Result<()> {
    ///     for _ in 0..count {
    ///         u.fill_ghosts()?;
    ///         for tile in TileIter::new(&u) {
    ///             compute(&tile, (&mut next, &u), kernel!(|next, u, at| {
    ///                 next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
    ///             }))?;
    ///         }
    ///         std::mem::swap(&mut u, &mut next);
    ///     }
    ///     Ok(())
    /// };
    /// steps(30)?;
    /// while acc.warm_up()? > 0 {
    ///     steps(30)?;
    /// }
    /// let start = std::time::Instant::now();
    /// steps(100)?;
    /// acc.sync()?;
    /// println!("{} us a step", start.elapsed().as_secs_f64() * 1e4);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`TileAcc::sync`]. A kernel that cannot be compiled beside is none: the program goes on without it.
    pub fn warm_up(&self) -> Result<u64, Error> {
        self.sync()?;
        let settle = |place: &TileAcc| place.core().device.as_ref().map_or(0, |device| device.compiler().settle());
        Ok(self.places().iter().map(settle).sum())
    }

    /// Its places, each as an accelerator of its own: one for each device that
    /// [`devices`](TileAccBuilder::devices) names. An accelerator on one device is its own only place.
    ///
    /// Arrays that are built on a place lie there alone. What is asked of a place is said of it alone: its
    /// [`stats`](TileAcc::stats), its [`timeline`](TileAcc::timeline), what it is printed as.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["cpu", "sim"]).build()?;
    /// let devices: Vec<Device> = acc.places().iter().map(TileAcc::device).collect();
    /// assert_eq!(devices, [Device::Cpu, Device::Sim]);
    /// let one = TileAcc::builder().device(Device::Cpu).build()?;
    /// assert_eq!(one.places().len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn places(&self) -> &[TileAcc] {
        match self.handle.places.as_slice() {
            [] => std::slice::from_ref(self),
            places => places,
        }
    }

    /// The number of this rank, from 0 on. See [`TileAccBuilder::ranks`]; without ranks it is 0.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// assert_eq!((acc.rank(), acc.ranks()), (0, 1));
    /// # Ok(()) }
    /// ```
    pub fn rank(&self) -> usize {
        self.world().map_or(0, |world| world.rank())
    }

    /// How many ranks run the program; 1 without ranks. See [`TileAccBuilder::ranks`].
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::auto()?;
    /// if acc.rank() == 0 {
    ///     println!("{} ranks", acc.ranks());
    /// }
    /// # assert!(acc.rank() < acc.ranks());
    /// # Ok(()) }
    /// ```
    pub fn ranks(&self) -> usize {
        self.world().map_or(1, |world| world.ranks())
    }

    /// The ranks of the program, if they may be several.
    pub(crate) fn world(&self) -> Option<&Arc<World>> {
        self.handle.world.as_ref()
    }

    /// The places of all ranks: so many.
    pub(crate) fn all_places(&self) -> usize {
        self.places().len() * self.ranks()
    }

    /// The places of this rank, by their numbers among those of all.
    pub(crate) fn places_here(&self) -> Range<usize> {
        let first = self.places().len() * self.rank();
        first..first + self.places().len()
    }

    /// The rank of a place.
    pub(crate) fn rank_of(&self, place: usize) -> usize {
        place / self.places().len()
    }

    /// The folder whose files have the values of arrays, if there is one.
    pub(crate) fn folder(&self) -> Option<&Arc<Folder>> {
        self.handle.folder.as_ref()
    }

    /// A mistake in what parts of arrays give one another, for tests.
    pub(crate) fn strip_fault(&self) -> Option<StripFault> {
        self.handle.strip_fault
    }

    /// A place of this rank, by its number among those of all.
    pub(crate) fn place(&self, number: usize) -> Option<&TileAcc> {
        self.places().get(number.checked_sub(self.places_here().start)?)
    }

    /// Whether a place gives a place of another rank what it does in mailboxes.
    pub(crate) fn has_mailboxes(&self, pair: Pair) -> bool {
        self.world().is_some_and(|world| world.mailboxes().has(pair))
    }

    /// What carries messages from one place to another, of this rank. What goes to another rank and comes from there is
    /// handed over to who sends it, and by who receives it.
    pub(crate) fn transport(&self, from: usize, to: usize) -> Arc<dyn Transport> {
        let (here, places) = (self.places_here(), self.handle.places.len());
        let both = here.contains(&from) && here.contains(&to);
        let of_pair = both.then(|| self.handle.transports.get((from - here.start) * places + to - here.start));
        of_pair.flatten().cloned().unwrap_or_else(|| Arc::new(Within::between(None, None)))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.handle.core
    }

    /// Whether two handles are one accelerator.
    pub(crate) fn is(&self, other: &TileAcc) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle)
    }

    /// Records host-side work on arrays (ghost fill, copies) to run inside the thread pool, after what it depends on.
    #[track_caller]
    pub(crate) fn record(
        &self,
        name: &'static str,
        touches: Vec<Touch>,
        run: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) {
        self.record_node(name, Location::caller(), &touches, &[], Work::Host(Box::new(run)));
    }

    /// As [`TileAcc::record`], of work on the device with the data there. Only where there is one.
    #[track_caller]
    pub(crate) fn record_on_device(
        &self,
        name: &'static str,
        touches: Vec<Touch>,
        run: impl FnOnce(&Queue<'_>) -> Result<Done, Error> + Send + 'static,
    ) {
        self.record_node(name, Location::caller(), &touches, &[], Work::Device(Box::new(run)));
    }

    /// As [`TileAcc::record`], after other nodes too; gives the node.
    pub(crate) fn record_node(
        &self,
        name: &'static str,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        after: &[Arc<Node>],
        work: Work,
    ) -> Arc<Node> {
        self.core().record(name, recorded, touches, after, work)
    }

    /// Waits until the calling thread may touch the arrays as said, and gives the error of failed work that a read
    /// would see. While the caller holds the arrays borrowed, nothing conflicting can be recorded.
    #[track_caller]
    pub(crate) fn wait(&self, touches: &[Touch]) -> Result<(), Error> {
        self.core().wait(touches)
    }

    /// As [`TileAcc::wait`], but regions stay where they are: all of them are brought then, or boxes are taken where
    /// they are, which `brings` says.
    #[track_caller]
    pub(crate) fn wait_in_place(&self, touches: &[Touch], brings: bool) -> Result<(), Error> {
        self.core().wait_in_place(touches, brings)
    }

    /// Makes the host's copies of what is touched the newest. The calling thread has waited for the work that touches
    /// it.
    pub(crate) fn bring(&self, touches: &[Touch]) -> Result<(), Error> {
        self.core().for_host(|| self.core().bring_to_host(touches))
    }

    /// Waits for one node and gives its result.
    #[track_caller]
    pub(crate) fn wait_node(&self, node: &Arc<Node>) -> Result<(), Error> {
        self.core().wait_node(node)
    }

    /// Runs `f`, which calls nothing of the user's, inside the thread pool of recorded work.
    pub(crate) fn install(&self, f: &(dyn Fn() + Sync)) {
        self.core().threads.pool.install(f);
    }

    /// Runs `f`, which calls closures of the user's, by threads of its own. Such closures may wait for recorded work,
    /// whose threads must not wait for them: one that has begun a piece of work, and takes another job while it waits
    /// for the others, would wait for itself.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub(crate) fn install_user(&self, f: &(dyn Fn() + Sync)) -> Result<(), Error> {
        self.core().user_pool()?.install(f);
        Ok(())
    }
}

impl std::fmt::Debug for TileAcc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TileAcc").field("device", &self.handle.device).field("threads", &self.threads()).finish()
    }
}
