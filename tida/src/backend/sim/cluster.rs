//! Several simulated devices, and what joins them.

use std::sync::Arc;

use super::probe::{SimDevice, Speed, Ticks};
use crate::error::{Error, ErrorKind};

/// How a simulated device reads the memory of another one: see [`SimCluster`].
///
/// What is taken needs `latency` seconds, and then so many bytes a second. A link serves one device that takes at a
/// time, in the order in which they ask. Kernels run meanwhile, of both devices.
///
/// Without changes it is in proportion to NVLink between two H200: 400 GB/s after 3 µs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct SimLink {
    speed: Speed,
    shared: bool,
}

impl Default for SimLink {
    fn default() -> Self {
        SimLink::new(400e9, 3e-6)
    }
}

impl SimLink {
    /// So many bytes a second, after `latency` seconds.
    pub fn new(bytes_per_second: f64, latency: f64) -> SimLink {
        SimLink { speed: Speed { per_second: bytes_per_second, latency }, shared: false }
    }

    /// One link for all that are given it in one call of [`SimCluster`], such as a bus: what one device takes waits for
    /// what others take. Without it each device has a link of its own from each other one.
    pub fn shared(mut self) -> SimLink {
        self.shared = true;
        self
    }
}

/// Several simulated devices on one clock, with what joins them: what a program would take on devices that are not
/// there.
///
/// Give it to [`TileAccBuilder::simulate_cluster`](crate::TileAccBuilder::simulate_cluster): each device is a place.
/// The program is recorded, ordered and given to the devices as for any others; only the devices are simulated.
/// [`TileAcc::simulated`](crate::TileAcc::simulated) says what time all that took, by their clock. Results are those of
/// one place. With devices that are [`null`](SimDevice::null) nothing is computed or copied, so arrays may be far
/// larger than this machine's memory: that is for times alone.
///
/// A device reads the memory of another one over a [`SimLink`]. Without a link, what places give one another goes
/// through the host's memory: it is packed on one device, copied to the host and on to the other device at the speeds
/// of these devices ([`download`](SimDevice::download), [`upload`](SimDevice::upload)), and unpacked there.
///
/// ```
/// use tida::prelude::*;
/// use tida::{SimCluster, SimDevice, SimLink};
/// # fn main() -> tida::Result<()> {
/// let cluster = SimCluster::of(8, SimDevice::new().memory("141 GiB").null()).links(SimLink::new(450e9, 5e-6));
/// let acc = TileAcc::builder().simulate_cluster(cluster).build()?;
/// let builder = TileArray::<f64, 2>::builder([8 << 14, 1 << 14]).ghost(1).boundary(Boundary::Periodic);
/// let (mut u, mut next) = (builder.build(&acc)?, builder.build(&acc)?); // 16 GiB each
/// for tile in u.tiles() {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64))?;
/// }
/// for _ in 0..10 {
///     u.fill_ghosts()?;
///     for tile in next.tiles() {
///         compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1, 0]] + u[at + [1, 0]])))?;
///     }
///     std::mem::swap(&mut u, &mut next);
/// }
/// acc.sync()?;
/// let report = acc.simulated().unwrap();
/// let alone = (11u64 << 31) as f64 / 200e9; // at the speed of one device
/// assert!(report.makespan < alone / 6.5, "{report:?}");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SimCluster {
    devices: Vec<SimDevice>,
    /// What joins a pair, or all: the last one that is about a pair counts.
    joins: Vec<(Option<[usize; 2]>, Option<SimLink>)>,
    shared_host: bool,
}

/// How a device of a cluster reads the memory of another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Joined {
    speed: Speed,
    /// The number of the link in the cluster.
    pub link: usize,
}

impl Joined {
    /// What it takes to read so many bytes.
    pub fn ticks(&self, bytes: u64) -> Ticks {
        self.speed.ticks(bytes)
    }
}

/// What a device of a cluster has with the others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InCluster {
    /// How it reads the memory of each.
    pub from: Box<[Option<Joined>]>,
    /// Whether all of them move data to and from the host one after the other.
    pub shared_host: bool,
    /// Whether its clock stands still while threads may give commands.
    pub stands: bool,
}

impl SimCluster {
    /// These devices. Each reads the memory of each other one over a link as [`SimLink::default`] describes it.
    pub fn new(devices: impl IntoIterator<Item = SimDevice>) -> SimCluster {
        SimCluster { devices: devices.into_iter().collect(), joins: Vec::new(), shared_host: false }
    }

    /// So many devices, all as `device` describes.
    pub fn of(count: usize, device: SimDevice) -> SimCluster {
        SimCluster::new(vec![device; count])
    }

    /// What joins any two devices. It replaces all links that were set before.
    pub fn links(mut self, link: SimLink) -> Self {
        self.joins.push((None, Some(link)));
        self
    }

    /// What joins two devices, by their numbers from 0: one link each way, or a shared one for both.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # use tida::{SimCluster, SimDevice, SimLink};
    /// # fn main() -> tida::Result<()> {
    /// // Two pairs of devices with fast links. All else goes through the host's memory.
    /// let fast = SimLink::new(400e9, 3e-6);
    /// let cluster = SimCluster::of(4, SimDevice::new()).no_links().link([0, 1], fast).link([2, 3], fast);
    /// let acc = TileAcc::builder().simulate_cluster(cluster).build()?;
    /// assert_eq!(acc.places().len(), 4);
    /// # Ok(()) }
    /// ```
    pub fn link(mut self, pair: [usize; 2], link: SimLink) -> Self {
        self.joins.push((Some(pair), Some(link)));
        self
    }

    /// Joins no devices: what they give one another goes through the host's memory.
    pub fn no_links(mut self) -> Self {
        self.joins.push((None, None));
        self
    }

    /// Joins two devices no longer.
    pub fn no_link(mut self, pair: [usize; 2]) -> Self {
        self.joins.push((Some(pair), None));
        self
    }

    /// One way to the host for all devices, and one from it: copies of different devices wait for one another. Without
    /// it each device has its own.
    pub fn shared_host(mut self) -> Self {
        self.shared_host = true;
        self
    }

    /// How many devices it has.
    pub(crate) fn devices(&self) -> usize {
        self.devices.len()
    }

    /// The devices, each with what joins it to the others; the clock `stands` still where somebody asks for their time.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`]: no device, speeds that cannot be, pairs that are none.
    pub(crate) fn into_devices(self, stands: bool) -> Result<Vec<SimDevice>, Error> {
        let SimCluster { devices, joins, shared_host } = self;
        let count = devices.len();
        let wrong = |found: String, advice: &str| Error::new(ErrorKind::Argument, "simulate a cluster", found, advice);
        if count == 0 {
            return Err(wrong("no devices".into(), "give it at least one"));
        }
        let mut from: Vec<Vec<Option<Joined>>> = vec![vec![None; count]; count];
        let mut links = 0;
        for (pair, link) in std::iter::once((None, Some(SimLink::default()))).chain(joins) {
            let speed = link.map(|link| link.speed);
            if let Some(Speed { per_second, latency }) = speed.filter(|speed| !speed.is_sensible()) {
                let found = format!("a link of {per_second} bytes a second after {latency} s");
                return Err(wrong(found, "give a speed above 0 and a latency of 0 or more"));
            }
            if let Some([a, b]) = pair.filter(|[a, b]| a == b || *a.max(b) >= count) {
                let found = format!("devices {a} and {b} of {count} joined");
                return Err(wrong(found, "name two devices, by numbers from 0 below how many there are"));
            }
            let is_meant = |taker: usize, giver: usize| {
                taker != giver && pair.is_none_or(|pair| pair == [taker, giver] || pair == [giver, taker])
            };
            for (taker, row) in from.iter_mut().enumerate() {
                for (_, joined) in row.iter_mut().enumerate().filter(|(giver, _)| is_meant(taker, *giver)) {
                    *joined = link.map(|SimLink { speed, .. }| Joined { speed, link: links });
                    links += usize::from(link.is_some_and(|link| !link.shared));
                }
            }
            links += 1;
        }
        let with = |(device, from): (SimDevice, Vec<Option<Joined>>)| {
            device.in_cluster(Arc::new(InCluster { from: from.into(), shared_host, stands }))
        };
        Ok(devices.into_iter().zip(from).map(with).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(cluster: SimCluster) -> Vec<Vec<Option<usize>>> {
        let devices = cluster.into_devices(true).unwrap();
        let count = devices.len();
        let row = |of: &SimDevice| (0..count).map(|giver| of.reads(giver).map(|joined| joined.link)).collect();
        devices.iter().map(row).collect()
    }

    #[test]
    fn links_are_own_or_shared_and_the_last_word_counts() {
        let three = || SimCluster::of(3, SimDevice::new());
        let all = links(three());
        let mut own: Vec<usize> = all.iter().flatten().flatten().copied().collect();
        own.sort_unstable();
        own.dedup();
        assert_eq!(own.len(), 6);
        assert!((0..3).all(|n| all[n][n].is_none()));
        let bus = links(three().links(SimLink::default().shared()));
        let first = bus[0][1];
        assert!(bus.iter().flatten().flatten().all(|link| Some(*link) == first) && first.is_some());
        let one = links(three().no_links().link([0, 2], SimLink::default()));
        assert!(one[0][2].is_some() && one[2][0].is_some() && one[0][2] != one[2][0]);
        assert_eq!(one.iter().flatten().flatten().count(), 2);
        let apart = links(three().no_link([1, 2]));
        assert_eq!((apart[1][2], apart[2][1]), (None, None));
        assert_eq!(apart.iter().flatten().flatten().count(), 4);
    }

    #[test]
    fn what_cannot_be_joined_is_an_error() {
        let two = || SimCluster::of(2, SimDevice::new());
        for bad in [
            SimCluster::new([]),
            two().link([0, 2], SimLink::default()),
            two().link([1, 1], SimLink::default()),
            two().no_link([5, 0]),
            two().links(SimLink::new(0.0, 0.0)),
            two().links(SimLink::new(1e9, f64::NAN)),
        ] {
            assert_eq!(bad.clone().into_devices(true).unwrap_err().kind(), ErrorKind::Argument, "{bad:?}");
        }
    }
}
