//! What is simulated, and what came of it.

use std::sync::Arc;

use tida_kernels::plan::Dialect;

use super::cluster::{InCluster, Joined};
use super::planted::SimFault;
use crate::backend::Facts;
use crate::bytes::IntoBytes;
use crate::error::{Error, ErrorKind};

/// A device that is simulated: how large, how fast, and what goes wrong on it.
///
/// Give it to [`TileAccBuilder::simulate`](crate::TileAccBuilder::simulate). Kernels run natively, on data that is
/// copied to memory of the device's own. Results are those of any other device. Time is virtual: see [`SimReport`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let device = tida::SimDevice::new().memory(1 << 20).upload(10e9, 1e-6).download(10e9, 1e-6).kernels(1e9, 0.0);
/// let acc = TileAcc::builder().simulate(device).build()?;
/// let mut u = TileArray::<f64, 1>::builder([1000]).build(&acc)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
/// }
/// acc.sync()?;
/// let report = acc.simulated().unwrap();
/// assert_eq!((report.kernels, report.cells), (1, 1000));
/// assert!((report.kernel_busy - 1e-6).abs() < 1e-8); // 1000 cells at 10^9 a second
/// # Ok(()) }
/// ```
///
/// Its clock counts 213 days: it stands still at its end.
///
/// Without changes it is in proportion to an H200: 55.5 GB/s each way after 8 µs, two copy engines, 2·10¹¹ cells a
/// second after 2.5 µs, 4.27 TB/s in its memory. That memory is only 1 GiB.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SimDevice {
    memory: u64,
    /// What was found where it should be, and what to do.
    no_memory: Option<[String; 2]>,
    upload: Speed,
    download: Speed,
    kernels: Speed,
    /// Whether kernels are as fast as the memory that they move, and not as many cells.
    by_bytes: bool,
    memory_speed: f64,
    copy_engines: usize,
    cluster: Option<Arc<InCluster>>,
    failing_kernels: Vec<u64>,
    failing_allocations: Vec<u64>,
    planted: Option<(SimFault, u64)>,
    null: bool,
}

/// What a command takes: so much at once, and so many units (bytes, cells) a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    pub per_second: f64,
    pub latency: f64,
}

/// Virtual time: picoseconds since the device was opened. A cell of a fast kernel takes 5.
pub(super) type Ticks = u64;

const TICKS_A_SECOND: f64 = 1e12;

pub(super) fn seconds(ticks: Ticks) -> f64 {
    ticks as f64 / TICKS_A_SECOND
}

impl Speed {
    pub fn ticks(&self, units: u64) -> Ticks {
        ((self.latency + units as f64 / self.per_second) * TICKS_A_SECOND).round() as Ticks
    }

    pub fn is_sensible(&self) -> bool {
        positive(self.per_second) && self.latency >= 0.0 && self.latency.is_finite()
    }
}

fn positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}

impl Default for SimDevice {
    fn default() -> Self {
        SimDevice {
            memory: 1 << 30,
            no_memory: None,
            upload: Speed { per_second: 55.5e9, latency: 8e-6 },
            download: Speed { per_second: 55.5e9, latency: 8e-6 },
            kernels: Speed { per_second: 200e9, latency: 2.5e-6 },
            by_bytes: false,
            memory_speed: 4.27e12,
            copy_engines: 2,
            cluster: None,
            failing_kernels: Vec::new(),
            failing_allocations: Vec::new(),
            planted: None,
            null: false,
        }
    }
}

impl SimDevice {
    /// A device in proportion to an H200: see the type.
    pub fn new() -> SimDevice {
        SimDevice::default()
    }

    /// Bytes of memory: a number, or text such as `"2GiB"` ([`IntoBytes`]).
    pub fn memory(mut self, bytes: impl IntoBytes) -> Self {
        match bytes.number_of_bytes() {
            Ok(bytes) => (self.memory, self.no_memory) = (bytes, None),
            Err(error) => self.no_memory = Some([error.found().to_owned(), error.advice().to_owned()]),
        }
        self
    }

    /// A copy to the device takes `latency` seconds, and then moves so many bytes a second.
    pub fn upload(mut self, bytes_per_second: f64, latency: f64) -> Self {
        self.upload = Speed { per_second: bytes_per_second, latency };
        self
    }

    /// A copy to the host takes `latency` seconds, and then moves so many bytes a second.
    pub fn download(mut self, bytes_per_second: f64, latency: f64) -> Self {
        self.download = Speed { per_second: bytes_per_second, latency };
        self
    }

    /// 2: one engine for each direction, both at once. 1: one engine for all copies, one after another.
    pub fn copy_engines(mut self, engines: usize) -> Self {
        self.copy_engines = engines;
        self
    }

    /// A kernel takes `latency` seconds, and then computes so many cells a second. Kernels run one after another; one
    /// that computes what another place waits for comes at once, and the one that runs goes on after it.
    pub fn kernels(mut self, cells_per_second: f64, latency: f64) -> Self {
        (self.kernels, self.by_bytes) = (Speed { per_second: cells_per_second, latency }, false);
        self
    }

    /// A kernel takes `latency` seconds, and then moves so many bytes a second: each of its arrays once, where it
    /// computes. So kernels of more or larger arrays take longer. Kernels run as with [`kernels`](Self::kernels).
    ///
    /// ```
    /// use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let device = tida::SimDevice::new().kernels_by_bytes(1e9, 0.0);
    /// let acc = TileAcc::builder().simulate(device).build()?;
    /// let builder = TileArray::<f64, 1>::builder([1000]);
    /// let (mut u, v) = (builder.build(&acc)?, builder.build(&acc)?);
    /// for tile in u.tiles() {
    ///     compute(&tile, (&mut u, &v), kernel!(|u, v, at| u[at] = 2.0 * v[at]))?;
    /// }
    /// acc.sync()?;
    /// let busy = acc.simulated().unwrap().kernel_busy;
    /// assert!((busy - 16e-6).abs() < 1e-7, "{busy}"); // 2 arrays of 8000 bytes
    /// # Ok(()) }
    /// ```
    pub fn kernels_by_bytes(mut self, bytes_per_second: f64, latency: f64) -> Self {
        (self.kernels, self.by_bytes) = (Speed { per_second: bytes_per_second, latency }, true);
        self
    }

    /// Bytes a second that copies within the device and fills read and write. They count as kernels.
    pub fn memory_speed(mut self, bytes_per_second: f64) -> Self {
        self.memory_speed = bytes_per_second;
        self
    }

    /// The `n`-th kernel launched, from 1, fails instead of running.
    pub fn fail_kernel(mut self, n: u64) -> Self {
        self.failing_kernels.push(n);
        self
    }

    /// The `n`-th allocation of memory, from 1, is refused.
    pub fn fail_allocation(mut self, n: u64) -> Self {
        self.failing_allocations.push(n);
        self
    }

    /// Makes a mistake, every so many times that there is a chance for it. For tests that are to find mistakes.
    #[doc(hidden)]
    pub fn plant(mut self, fault: SimFault, every: u64) -> Self {
        self.planted = Some((fault, every));
        self
    }

    /// Only the clock runs: nothing is copied or computed, arrays keep what they hold on the host, and device memory
    /// takes none. Reductions give what they give for no cells. For schedules alone.
    pub fn null(mut self) -> Self {
        self.null = true;
        self
    }

    /// Whether there can be such a device.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`]: speeds that are not above 0, latencies below 0, no memory, engines other than 1 or 2, or failures
    /// of what no one counts.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |found: String, advice: &str| {
            Err(Error::new(ErrorKind::Argument, "simulate a device", found, advice.to_owned()))
        };
        let speeds = [("upload", self.upload), ("download", self.download), ("kernels", self.kernels)];
        if let Some((what, speed)) = speeds.iter().find(|(_, speed)| !speed.is_sensible()) {
            let found = format!("{} a second after {} s for its {what}", speed.per_second, speed.latency);
            return wrong(found, "give a speed above 0 and a latency of 0 or more");
        }
        if !positive(self.memory_speed) {
            return wrong(format!("memory of {} bytes a second", self.memory_speed), "give a speed above 0");
        }
        if let Some([found, advice]) = &self.no_memory {
            return wrong(format!("memory of {found}"), advice);
        }
        if self.memory == 0 {
            return wrong("0 bytes of memory".into(), "give it at least 1");
        }
        let of_none = [("kernel", &self.failing_kernels), ("allocation", &self.failing_allocations)];
        if let Some((what, _)) = of_none.iter().find(|(_, list)| list.contains(&0)) {
            return wrong(format!("that its {what} 0 is to fail"), "count them from 1");
        }
        if !(1..=2).contains(&self.copy_engines) {
            return wrong(format!("{} copy engines", self.copy_engines), "give it 1 or 2");
        }
        Ok(())
    }

    pub(super) fn facts(&self) -> Facts {
        Facts {
            name: if self.null { "a simulated device that computes nothing" } else { "a simulated device" }.into(),
            // What a kernel would look like; it is never compiled.
            dialect: Dialect::Cuda,
            native: true,
            target: "native".into(),
            memory: self.memory,
            ..Facts::of_cuda()
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.memory
    }

    pub(super) fn upload_ticks(&self, bytes: usize) -> Ticks {
        self.upload.ticks(bytes as u64)
    }

    pub(super) fn download_ticks(&self, bytes: usize) -> Ticks {
        self.download.ticks(bytes as u64)
    }

    /// Of a kernel that takes as long as a plain sweep of so many cells, and moves so many bytes.
    pub(super) fn kernel_ticks(&self, cells: u64, bytes: u64) -> Ticks {
        self.kernels.ticks(if self.by_bytes { bytes } else { cells })
    }

    /// As a device of a cluster.
    pub(super) fn in_cluster(mut self, cluster: Arc<InCluster>) -> SimDevice {
        self.cluster = Some(cluster);
        self
    }

    /// How it reads the memory of the device of its cluster that has this number, if it does.
    pub(super) fn reads(&self, giver: usize) -> Option<Joined> {
        self.cluster.as_ref().and_then(|cluster| cluster.from.get(giver).copied().flatten())
    }

    /// Whether the clock of its cluster stands still while threads may give commands.
    pub(super) fn stands(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.stands && cluster.from.len() > 1)
    }

    /// Whether its copies to and from the host wait for those of other devices.
    pub(super) fn shares_host(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.shared_host)
    }

    /// Of a command that reads and writes so many bytes of the device's memory.
    pub(super) fn memory_ticks(&self, bytes: usize) -> Ticks {
        Speed { per_second: self.memory_speed, latency: self.kernels.latency }.ticks(bytes as u64)
    }

    pub(super) fn one_copy_engine(&self) -> bool {
        self.copy_engines == 1
    }

    pub(super) fn is_null(&self) -> bool {
        self.null
    }

    pub(super) fn planted(&self) -> Option<(SimFault, u64)> {
        self.planted
    }

    pub(super) fn kernel_fails(&self, n: u64) -> bool {
        self.failing_kernels.contains(&n)
    }

    pub(super) fn allocation_fails(&self, n: u64) -> bool {
        self.failing_allocations.contains(&n)
    }
}

/// What a simulated device did so far, in seconds of its virtual clock, bytes and cells: see [`SimDevice`].
///
/// The host takes no time. Commands that it gives are there at once, and later ones no earlier than the end of what the
/// host has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SimReport {
    /// Seconds from the start to the end of the last command.
    pub makespan: f64,
    /// Seconds in which data moved to the device.
    pub upload_busy: f64,
    /// Seconds in which data moved to the host.
    pub download_busy: f64,
    /// Seconds in which kernels ran, and copies within the device.
    pub kernel_busy: f64,
    /// Seconds in which data moved here from the memory of other devices.
    pub link_busy: f64,
    /// Bytes moved to the device.
    pub uploaded: u64,
    /// Bytes moved to the host.
    pub downloaded: u64,
    /// Bytes moved here from the memory of other devices.
    pub taken: u64,
    /// Kernels that ran; those that failed count.
    pub kernels: u64,
    /// Cells that they computed.
    pub cells: u64,
}

impl SimReport {
    /// What two devices did together.
    pub(crate) fn with(&self, other: &SimReport) -> SimReport {
        SimReport {
            makespan: self.makespan.max(other.makespan),
            upload_busy: self.upload_busy + other.upload_busy,
            download_busy: self.download_busy + other.download_busy,
            kernel_busy: self.kernel_busy + other.kernel_busy,
            link_busy: self.link_busy + other.link_busy,
            uploaded: self.uploaded + other.uploaded,
            downloaded: self.downloaded + other.downloaded,
            taken: self.taken + other.taken,
            kernels: self.kernels + other.kernels,
            cells: self.cells + other.cells,
        }
    }
}
