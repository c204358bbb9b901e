//! Choosing a device.

mod choice;
mod places;
pub(super) mod ranks;
mod start;

use std::path::Path;
use std::sync::{Arc, Once};
use std::time::Duration;

use tida_kernels::plan::Math;

use self::choice::Choice;
pub use self::ranks::Ranks;
use self::start::{KernelsAsked, On, RoomAsked, RulesAsked};
use super::describe::Missed;
use super::{TileAcc, settings};
use crate::backend::chosen::Opening;
use crate::backend::cpu::Caches;
use crate::backend::sim::{self, SimCluster, SimDevice};
use crate::backend::{cuda, opencl};
use crate::bytes::IntoBytes;
use crate::device::core::Opened;
use crate::error::{Error, ErrorKind};
use crate::memory::backing::FailAfter;
use crate::memory::ghosts::borders::StripFault;

/// Where work runs.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::builder().device(Device::Cpu).build()?;
/// assert_eq!(acc.device(), Device::Cpu);
/// assert_eq!(Device::OpenCl.name(), "opencl"); // as in TIDA_DEVICE=opencl
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// The threads of this machine.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An OpenCL device.
    OpenCl,
    /// A simulated device with a virtual clock: a [`SimDevice`].
    Sim,
    /// The CPU and a device at once (TiDA-acc §III, Fig. 3).
    ///
    /// Each region of a loop goes to one side, the first ones to the device. The speed of the kernel is measured on
    /// each side, and the regions are shared so that both end at the same time. A loop over one region, or over arrays
    /// that do not fit the device, runs on the device alone; if there is no device, all loops run on the CPU. However
    /// a loop is shared, the bits are those of the CPU. So a kernel that calls functions which each side computes in
    /// its own way (`sin`, `exp` and their like) is refused, unless the accelerator was built with [`Math::Fast`].
    ///
    /// Given to [`TileIter::device`](crate::TileIter::device), one loop runs so. Given to [`TileAccBuilder::device`],
    /// all loops run so that do not name a device; those that cannot run on the device alone. That device is the one
    /// that `TIDA_DEVICE` names or [`TileAccBuilder::simulate`] describes, else the best one there is.
    Hybrid,
}

impl Device {
    /// Its name in `TIDA_DEVICE` and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Device::Cpu => "cpu",
            Device::Cuda => "cuda",
            Device::OpenCl => "opencl",
            Device::Sim => "sim",
            Device::Hybrid => "hybrid",
        }
    }

    /// The device of that name.
    pub(super) fn from_name(name: &str) -> Option<Device> {
        let all = [Device::Cpu, Device::Cuda, Device::OpenCl, Device::Sim, Device::Hybrid];
        all.into_iter().find(|d| d.name() == name)
    }

    /// Opens it, or the one of several that was chosen; nothing to open for the host. With `timeline`, its events can
    /// take the time. A simulated one is on the clock of one `beside` it.
    fn open(self, timeline: bool, choice: &Choice, beside: Option<&Opened>) -> Result<Option<Arc<Opened>>, Error> {
        match self {
            // Of a hybrid one, the device beside the CPU is opened.
            Device::Cpu | Device::Hybrid => Ok(None),
            Device::Cuda => {
                let chosen = settings::cuda_device(choice.cuda.clone())?.or_else(|| choice.cuda_in_turn());
                let number = chosen.as_ref().map_or(0, |chosen| chosen.which);
                Opened::find(&format!("cuda {number}"), || cuda::open(chosen)).map(Some)
            }
            Device::OpenCl => open_opencl(true, timeline, choice),
            Device::Sim => simulated(SimDevice::new(), beside).map(Some),
        }
    }
}

/// Opens an OpenCL device: a GPU, with `any` else another one, or the one that was chosen.
fn open_opencl(any: bool, timeline: bool, choice: &Choice) -> Result<Option<Arc<Opened>>, Error> {
    let chosen = settings::opencl_device(choice.opencl.clone());
    let which = chosen.as_ref().map_or("", |chosen| &chosen.which);
    let Choice { turn, as_gpu, .. } = *choice;
    let name = format!("opencl, any: {any}, with times: {timeline}, turn: {turn}, as a GPU: {as_gpu}, {which}");
    let asked = Opening { timed: timeline, as_gpu };
    Opened::find(&name, || opencl::open(any, asked, chosen.as_ref(), turn)).map(Some)
}

/// A simulated device, which no two accelerators share; on the clock of another one.
fn simulated(device: SimDevice, beside: Option<&Opened>) -> Result<Arc<Opened>, Error> {
    Ok(Arc::new(Opened::new(sim::open(device, beside.map(|other| &**other.backend()))?)))
}

/// What there is to run on.
struct Found {
    device: Device,
    /// Nothing is opened for the host.
    opened: Option<Arc<Opened>>,
    /// Better ones that were looked for.
    missed: Vec<Missed>,
}

/// The best device there is: a CUDA device, else a GPU by OpenCL, else the host. What was not found is said once.
///
/// # Errors
/// [`ErrorKind::Argument`]: a device that the builder or the environment names, and that is not among those there: it is not replaced
/// by another.
fn best(timeline: bool, choice: &Choice) -> Result<Found, Error> {
    static SAID: Once = Once::new();
    let cuda = || Device::Cuda.open(timeline, choice, None);
    let opencl = || open_opencl(false, timeline, choice);
    let found = best_of([("CUDA", Device::Cuda, &cuda), ("OpenCL GPU", Device::OpenCl, &opencl)])?;
    if let (Device::Cpu, [cuda, opencl]) = (found.device, &found.missed[..]) {
        SAID.call_once(|| tracing::info!(cuda = %cuda.why, opencl = %opencl.why, "no GPU: kernels run on the CPU"));
    }
    Ok(found)
}

/// What opens a device.
type Open<'a> = &'a dyn Fn() -> Result<Option<Arc<Opened>>, Error>;

/// The first of these that opens, else the host.
fn best_of(all: [(&'static str, Device, Open<'_>); 2]) -> Result<Found, Error> {
    let mut missed = Vec::new();
    for (what, device, open) in all {
        match open() {
            Ok(opened) => return Ok(Found { device, opened, missed }),
            Err(error) if error.kind() == ErrorKind::Argument => return Err(error),
            Err(why) => missed.push(Missed { what, why }),
        }
    }
    Ok(Found { device: Device::Cpu, opened: None, missed })
}

/// Builds a [`TileAcc`]; made by [`TileAcc::builder`]. A builder can build several accelerators.
///
/// A setting that is left out is that of the environment (such as `TIDA_DEVICE`), else a default. Results depend on no
/// setting but [`Math::Fast`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// use tida::{Fuse, Math};
/// let acc = TileAcc::builder()
///     .device(Device::Cpu)
///     .threads(2)
///     .look_ahead(64)
///     .math(Math::Exact)
///     .fuse(Fuse::Off)
///     .build()?;
/// assert_eq!((acc.device(), acc.threads()), (Device::Cpu, 2));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TileAccBuilder {
    on: On,
    threads: Option<usize>,
    rules: RulesAsked,
    kernels: KernelsAsked,
    room: RoomAsked,
    timeline: bool,
    caches: Option<Caches>,
    strip_fault: Option<StripFault>,
}

/// Whether a program waits for the device's compiler: see [`TileAccBuilder::compile`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// use tida::Compile;
/// let acc = TileAcc::builder().compile(Compile::Wait).build()?;
/// # drop(acc);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compile {
    /// As [`Compile::Beside`] on a GPU. On other devices, whose compiler takes the same cores as their kernels, as
    /// [`Compile::Wait`].
    #[default]
    Auto,
    /// The program waits until the fastest form of a kernel is compiled. So each run has the same launches.
    Wait,
    /// A form that can run already runs while a faster one is compiled, which takes over when it is ready.
    Beside,
}

/// How many steps of a program run as one launch on a device: see [`TileAccBuilder::fuse`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::builder().fuse(Fuse::Steps(5)).build()?;
/// assert_eq!(TileAcc::builder().fuse(Fuse::Steps(0)).build().unwrap_err().kind(), ErrorKind::Argument);
/// # drop(acc);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fuse {
    /// On a GPU, for arrays of one component, as many as a model of costs says. One for other arrays and on other
    /// devices.
    #[default]
    Auto,
    /// One.
    Off,
    /// At most so many, from 1 to 31. Launches have an odd number of steps, so that the last step writes the array that
    /// the first one does not read.
    Steps(u32),
}

/// Loops on both sides have no arrays in files.
fn on_both_sides() -> Error {
    Error::new(
        ErrorKind::Argument,
        "keep arrays in files (`backed_by`)",
        "the device `hybrid`, whose loops run on the CPU too",
        "choose one device, or the CPU alone",
    )
}

impl TileAccBuilder {
    /// Runs on this device and on no other, or with [`Device::Hybrid`] on the CPU too. Without it `TIDA_DEVICE`
    /// decides, else the best device there is.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// assert_eq!(acc.device(), Device::Cpu);
    /// # Ok(()) }
    /// ```
    pub fn device(mut self, device: Device) -> Self {
        self.on.device = Some(device);
        self
    }

    /// Runs on a simulated device, [`Device::Sim`], made to this description and used by this accelerator alone.
    /// Without it `Device::Sim` is [`SimDevice::new`].
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new().memory(1 << 20)).build()?;
    /// assert_eq!(acc.device_memory().map(|(all, _)| all), Some(1 << 20));
    /// # Ok(()) }
    /// ```
    pub fn simulate(mut self, device: SimDevice) -> Self {
        self.on.simulated = Some(device);
        self
    }

    /// Runs on several simulated devices, each of them a place, which are joined as the cluster says: see
    /// [`SimCluster`].
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # use tida::{SimCluster, SimDevice};
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate_cluster(SimCluster::of(4, SimDevice::new())).build()?;
    /// assert_eq!(acc.places().len(), 4);
    /// # Ok(()) }
    /// ```
    pub fn simulate_cluster(mut self, cluster: SimCluster) -> Self {
        self.on.cluster = Some(cluster);
        self
    }

    /// Number of threads for native kernels: at most 1024, or four for each processor where that is more. Without it
    /// the environment variable `TIDA_THREADS` decides, else `RAYON_NUM_THREADS`, else there is one for each processor.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).threads(2).build()?;
    /// assert_eq!(acc.threads(), 2);
    /// # Ok(()) }
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Plans go without what is named, in a list such as `no-dim,no-small`: what each is worth. With `gpu` they are
    /// those of a GPU on any OpenCL device. And threads take so many cells along the first axis where a loop does not
    /// say. In the place of `TIDA_PLAN` and `TIDA_MARCH`.
    #[doc(hidden)]
    pub fn plan(mut self, without: &str, march: Option<u32>) -> Self {
        self.kernels.without = Some(without.to_owned());
        self.kernels.march = march;
        self
    }

    /// How long the recorder has to be silent before what it recorded starts. A test that counts launches asks for
    /// much, so that a thread that is kept from its core cuts no loop in two.
    #[doc(hidden)]
    pub fn pause(mut self, time: Duration) -> Self {
        self.rules.pause = Some(time);
        self
    }

    /// Has sweeps over arrays of so many bytes compute first what other places wait for, and no smaller ones.
    #[doc(hidden)]
    pub fn edges_from(mut self, bytes: u64) -> Self {
        self.rules.edges_from = Some(bytes);
        self
    }

    /// How many recorded sweeps, ghost fills and copies may wait to run; recording one more waits. At least 1.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().look_ahead(100).build()?;
    /// assert_eq!(TileAcc::builder().look_ahead(0).build().unwrap_err().kind(), ErrorKind::Argument);
    /// # drop(acc);
    /// # Ok(()) }
    /// ```
    pub fn look_ahead(mut self, sweeps: usize) -> Self {
        self.rules.look_ahead = Some(sweeps);
        self
    }

    /// How kernels compute floats on a device; without it [`Math::Exact`], the bits of the CPU. On the CPU it changes
    /// nothing.
    pub fn math(mut self, math: Math) -> Self {
        self.kernels.math = math;
        self
    }

    /// How long work on arrays that do not fit into the device's memory waits for more work, once nothing is recorded.
    /// Without it 5 ms. The more steps share a pass over the link, the less moves over it. A program that does other
    /// things between its steps may want a longer time. Waiting for a result starts the work at once.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// use std::time::Duration;
    /// use tida::SimDevice;
    /// let builder = TileAcc::builder().simulate(SimDevice::new()).memory_limit("40 KiB");
    /// let acc = builder.patience(Duration::from_secs(60)).build()?;
    /// let mut u = TileArray::<f64, 2>::builder([128, 64]).build(&acc)?; // 64 KiB
    /// for _ in 0..2 {
    ///     for tile in u.tiles() {
    ///         compute(&tile, &mut u, kernel!(|u, at| u[at] += 1.0))?;
    ///     }
    ///     std::thread::sleep(Duration::from_millis(10)); // the program does something else
    /// }
    /// acc.sync()?;
    /// assert_eq!(acc.streamed()[0].sweeps, 2); // both steps shared the passes
    /// # Ok(()) }
    /// ```
    pub fn patience(mut self, time: Duration) -> Self {
        self.rules.patience = Some(time);
        self
    }

    /// Which part of the cells the device takes of a loop on both sides ([`Device::Hybrid`]), from 0 to 1, rounded to
    /// whole regions; the CPU takes the rest. Without it the environment variable `TIDA_HYBRID_SHARE` decides, else the
    /// times that loops take, so that the part may change from run to run. Results do not depend on it.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).hybrid_share(0.75).build()?;
    /// let mut u = TileArray::<f64, 1>::builder([256]).regions([4]).build(&acc)?;
    /// for tile in TileIter::new(&u).device(Device::Hybrid) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?; // three regions on the device, one on the CPU
    /// }
    /// assert_eq!(u.read_box(u.domain())?, [1.0; 256]);
    /// assert!(acc.stats().d2h_bytes > 0);
    /// # Ok(()) }
    /// ```
    pub fn hybrid_share(mut self, part: f64) -> Self {
        self.rules.hybrid_share = Some(part);
        self
    }

    /// Arrays of at least so many bytes, which are on the host and have room on the device, stream there while it
    /// computes: the work runs over some planes while others come and go, and both directions of the link are busy
    /// (TiDA-acc §VI-B). For this the work waits until something else is recorded, and streams if the host then waits
    /// for a result. Without it 32 MiB; `u64::MAX` for never. Bytes are a number or text, such as `"1.5GB"`:
    /// [`IntoBytes`].
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().stream_from("256 MiB").build()?;
    /// # drop(acc);
    /// # Ok(()) }
    /// ```
    pub fn stream_from(mut self, bytes: impl IntoBytes) -> Self {
        self.rules.stream_from = Some(bytes.number_of_bytes());
        self
    }

    /// Bytes of arrays to keep on the device, at most; at least 1: a number, or text such as `"2GiB"` ([`IntoBytes`]).
    /// Without it the environment variable `TIDA_MEMORY_LIMIT` decides, else it is what is free there less a reserve.
    ///
    /// Work on arrays that are larger streams: through windows of planes where they are cut along their first axis
    /// alone, else region by region (TiDA-acc §VI). If a limit is too small for the planes or regions that one step
    /// needs, that work fails. On the CPU it changes nothing, but for arrays that lie in files ([`backed_by`]): of
    /// those so many bytes are in memory.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).memory_limit("8 KiB").build()?;
    /// let mut u = TileArray::<f64, 2>::builder([64, 64]).regions([16, 1]).build(&acc)?; // 32 KiB
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64))?;
    /// }
    /// assert_eq!(u.read_box(GridBox::new([63, 0], [64, 2]))?, [63.0, 63.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// [`backed_by`]: Self::backed_by
    pub fn memory_limit(mut self, bytes: impl IntoBytes) -> Self {
        self.room.memory_limit = Some(bytes.number_of_bytes());
        self
    }

    /// Keeps the values of arrays in files of this folder, in place of the host's memory: for arrays that are larger
    /// than that. The files have no name, so nothing is left of them when the program ends. An array's room on the disk
    /// is taken when it is built.
    ///
    /// Planes of the first axis stream from the disk through the host's memory to the device and back; the more steps
    /// share a pass, the less the disk is used. Without a device, a part of the host's memory takes its place:
    /// [`memory_limit`](Self::memory_limit) says how much, else it is half of what is free. Copies on their way from
    /// and to files take an eighth of that, at most 64 MiB. On the CPU these bytes are a part of the limit; on a device
    /// they are not. Reads and writes by the host take 32 MiB and what is read. Arrays that have room in memory stay
    /// there between their uses. Results do not change.
    ///
    /// Such arrays are cut along their first axis alone, which is not periodic, and no loop over them runs on the CPU
    /// beside a device. There are no views of their regions; [`read_box`](crate::TileArray::read_box) and
    /// [`write_box`](crate::TileArray::write_box) read and write parts of them. A disk that fails is an error of the work
    /// that needed it. The guide's chapter on arrays larger than memory has more.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let folder = std::env::temp_dir(); // a folder of a fast local disk
    /// let acc = TileAcc::builder().device(Device::Cpu).backed_by(folder).memory_limit("256 KiB").build()?;
    /// let mut u = TileArray::<f64, 2>::builder([256, 512]).build(&acc)?; // 1 MiB
    /// for tile in TileIter::new(&u) {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64))?;
    /// }
    /// assert_eq!(u.read_box(GridBox::new([255, 0], [256, 2]))?, [255.0, 255.0]);
    /// # Ok(()) }
    /// ```
    pub fn backed_by(mut self, folder: impl AsRef<Path>) -> Self {
        self.room.backed = Some(folder.as_ref().to_owned());
        self
    }

    /// Reads from files and writes to them fail after so many that went well. For tests.
    #[doc(hidden)]
    pub fn fail_files(mut self, reads: Option<u64>, writes: Option<u64>) -> Self {
        self.room.fails = FailAfter { reads, writes };
        self
    }

    /// Runs several steps of a program as one launch (the ghost-zone optimisation, Lashgar ch. 6). Steps are those of a
    /// loop in which one kernel, or two to four that alternate, writes `next` from `u`, then `u` from `next`, and so
    /// on. The blocks of a launch keep the steps between to themselves, so arrays are read and written once for all of
    /// them. Results do not change, and both arrays are as single steps leave them. Without it the environment variable
    /// `TIDA_FUSE` decides (`auto`, `off`, a number of steps), else [`Fuse::Auto`].
    ///
    /// Such kernels write one array in every cell, and read another of the same type around the cell, at offsets that
    /// are constants. They may read further arrays as always. The arrays have two or three axes and are cut along the
    /// first one alone. Elements with several components of one type, such as complex numbers, run several steps in a
    /// launch only with [`Fuse::Steps`]; those with components of several types run one step a launch. Ghosts are
    /// [filled](crate::TileArray::fill_ghosts) between the steps, or no step reads them. They are of fixed value,
    /// periodic ([`Boundary::Periodic`](crate::Boundary::Periodic)), mirrored or nearest ones, or set by kernels
    /// ([`fill_ghosts_with`](crate::fill_ghosts_with()) says by which). A launch ends at loops that say how they run
    /// (`thread_block`, `march`, `cache`), at kernels in no order that repeats, and at host reads in between. Captured
    /// values may change from step to step.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().fuse(Fuse::Off).build()?; // each step by itself
    /// # drop(acc);
    /// # Ok(()) }
    /// ```
    pub fn fuse(mut self, steps: Fuse) -> Self {
        self.kernels.fuse = Some(steps);
        self
    }

    /// Whether sweeps that follow one another over the same tiles and read the same arrays run as one, which reads
    /// those arrays once. None of them may write an array that another one touches. Results do not change. Without it
    /// the environment variable `TIDA_JOIN` decides (`auto`, `off`), else they do.
    ///
    /// On a device they are one launch, if none of them can fail in a cell and their kernels are small. A reduction of
    /// what the sweep before it wrote runs with that sweep too. So do kernels that set ghosts beyond the last axis from
    /// the cell beside each ([`fill_ghosts_with`](crate::fill_ghosts_with())).
    ///
    /// Not joined are loops that say how they run (`thread_block`, `march`, `cache`), arrays in
    /// [`storage`](crate::array::TileArrayBuilder::storage) of fewer bits, and arrays larger than memory.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().join(false).build()?; // each sweep by itself
    /// # drop(acc);
    /// # Ok(()) }
    /// ```
    pub fn join(mut self, on: bool) -> Self {
        self.rules.join = Some(on);
        self
    }

    /// Whether loops that repeat themselves run in rounds on a device. If sweeps and fills of ghosts come again in the
    /// same order on the same arrays, they are held back until many have come, or until something else is recorded or
    /// waited for. Then all start at once, by launches that were prepared in an earlier round. Results do not change.
    /// Without it the environment variable `TIDA_ROUNDS` decides (`auto`, `off`), else they do.
    ///
    /// Rounds are for sweeps that take about as long as launching them. Sweeps over large arrays, sweeps that may fail
    /// in a cell, and loops of mostly reductions, copies or reads by the host are not held back; nor is anything where
    /// a timeline is recorded or plans are tried (`TIDA_TUNE`). Captured values may change from round to round.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().rounds(false).build()?;
    /// # drop(acc);
    /// # Ok(()) }
    /// ```
    pub fn rounds(mut self, on: bool) -> Self {
        self.rules.rounds = Some(on);
        self
    }

    /// Whether a program waits for the device's compiler where something else can run meanwhile.
    ///
    /// With [`Compile::Beside`] a kernel is compiled in the loop only if there is no other way to go on. Until the
    /// faster form is compiled:
    ///
    /// - steps run by themselves instead of [several](Self::fuse) in a launch,
    /// - sweeps run by themselves instead of as [one](Self::join),
    /// - a kernel runs without values in registers, until it is known how many it has room for,
    /// - the chosen plan runs, until those are compiled that are to be [tried](Self::tune).
    ///
    /// What is on disk is there at once. Results do not change. Which launches there are, and how long the first ones
    /// take, depends on the compiler's time: [`TileAcc::warm_up`] waits for it. Without this the environment variable
    /// `TIDA_COMPILE` decides (`auto`, `wait`, `beside`), else [`Compile::Auto`].
    ///
    /// Arrays larger than the device's memory, whose windows are laid out for what runs, wait for the compiler in any
    /// case.
    pub fn compile(mut self, how: Compile) -> Self {
        self.kernels.compile = Some(how);
        self
    }

    /// Records what runs when, for [`TileAcc::timeline`] and [`Stats::busy`](crate::Stats::busy). Without it nothing
    /// is recorded. It costs two events for each launch or copy, and memory for each. An OpenCL device is opened once
    /// more, with queues that take times.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().timeline(true).build()?;
    /// assert!(acc.timeline()?.spans().is_empty()); // nothing ran yet
    /// # Ok(()) }
    /// ```
    pub fn timeline(mut self, on: bool) -> Self {
        self.timeline = on;
        self
    }

    /// Finds plans of kernels by timed trials. The first launch of a kernel of its size on a device runs with every
    /// plan that is worth a try, at most 16. The fastest is kept, also in the folder of compiled kernels, where the
    /// next program finds it. That launch takes some seconds where plans have to be compiled. Results do not change.
    /// What a loop asks for (`thread_block`, `march`, `cache`) stays. If nothing is said, the environment variable
    /// `TIDA_TUNE` decides: 1 for trials; 0 or nothing for what a model of costs chooses, the same each time.
    ///
    /// Not tried are reductions, kernels that can fail in a cell, launches of few cells, work on arrays that stream
    /// through the device's memory, and loops over a part of an array that the kernel both reads and writes. A
    /// simulated device, an accelerator of [`Device::Hybrid`] and the CPU have no trials.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().tune(true).build()?;
    /// assert_eq!(acc.stats().trials, 0); // no kernel ran yet
    /// # Ok(()) }
    /// ```
    pub fn tune(mut self, on: bool) -> Self {
        self.kernels.tune = Some(on);
        self
    }

    /// No place reads another one's memory, as if their devices did not reach each other: what they give one another
    /// goes by way of the host's memory. For tests.
    #[doc(hidden)]
    pub fn apart(mut self) -> Self {
        self.on.apart = true;
        self
    }

    /// No rank opens memory of another one's devices, as if they were on two hosts. For tests.
    #[doc(hidden)]
    pub fn unopened(mut self) -> Self {
        self.on.unopened = true;
        self
    }

    /// Parts of arrays make a mistake in what they give one another. For tests.
    #[doc(hidden)]
    pub fn plant_strips(mut self, fault: StripFault) -> Self {
        self.strip_fault = Some(fault);
        self
    }

    /// Runs on this device.
    #[cfg(test)]
    pub(crate) fn opened(mut self, device: Arc<Opened>) -> Self {
        self.on.opened = Some(device);
        self.device(Device::Cpu)
    }

    /// Bytes of the caches that sweeps on the host are ordered for, a thread's part of the second level and the last
    /// level; else those of this machine. For tests.
    #[doc(hidden)]
    pub fn caches(mut self, thread: usize, last: usize) -> Self {
        self.caches = Some(Caches { thread, last });
        self
    }

    /// Builds the accelerator: opens its device and starts its threads.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// println!("{acc}"); // such as `CPU, 8 threads, AVX-512`
    /// assert_eq!(TileAcc::builder().threads(0).build().unwrap_err().kind(), ErrorKind::Argument);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A device that is not there or not in this build; one that cannot be simulated; a setting that cannot be, by the
    /// builder or by a variable of the environment. Variables are looked at whatever the device.
    pub fn build(&self) -> Result<TileAcc, Error> {
        let places = self.places()?;
        match (self.world()?, places) {
            (None, None) => self.clone().start(None),
            (world, places) => self.start_places(places.as_deref(), world),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_device_that_opens_is_taken_and_others_leave_their_reasons() {
        let there: Open<'_> = &|| Device::Sim.open(false, &Choice::default(), None);
        let error = |kind| Error::new(kind, "open it", "nothing", "buy one");
        let gone: Open<'_> = &|| Err(error(ErrorKind::Device));
        let wrong: Open<'_> = &|| Err(error(ErrorKind::Argument));
        let never: Open<'_> = &|| panic!("it is not asked for");
        let of = |cuda, opencl| {
            let found = best_of([("CUDA", Device::Cuda, cuda), ("OpenCL GPU", Device::OpenCl, opencl)])?;
            let missed: Vec<_> = found.missed.iter().map(|missed| missed.what).collect();
            Ok::<_, Error>((found.device, found.opened.is_some(), missed.join(", ")))
        };
        assert_eq!(of(there, never).unwrap(), (Device::Cuda, true, String::new()));
        assert_eq!(of(gone, there).unwrap(), (Device::OpenCl, true, "CUDA".into()));
        assert_eq!(of(gone, gone).unwrap(), (Device::Cpu, false, "CUDA, OpenCL GPU".into()));
        // What was named by hand is not replaced.
        assert_eq!(of(wrong, never).unwrap_err().kind(), ErrorKind::Argument);
        assert_eq!(of(gone, wrong).unwrap_err().kind(), ErrorKind::Argument);
    }
}
