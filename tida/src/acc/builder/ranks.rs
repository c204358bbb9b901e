//! Accelerators of several ranks.

use std::fmt::Write as _;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::super::{TileAcc, settings};
use super::TileAccBuilder;
use crate::backend::{COPIES, Memory, has_cores};
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::memory::mailbox::{Agreed, LEAST};
use crate::ranks::{Bytes, FakeRank, World};

/// Whether a program runs on several ranks: see [`TileAccBuilder::ranks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ranks {
    /// This process is alone.
    #[default]
    Off,
    /// The processes that `mpirun` or another launcher of MPI has started.
    Mpi,
}

impl TileAccBuilder {
    /// Runs the same program on several processes, the *ranks*, which a launcher of MPI starts (`mpirun -n 4 heat`):
    /// arrays are parted among them as among places, and each rank has a part in its memory. Results do not change.
    /// Without it the environment variable `TIDA_RANKS` decides (`mpi` or `off`).
    ///
    /// Every rank makes the same calls in the same order. A loop over the tiles of an array goes over those of this
    /// rank, or over one empty tile if it has none. The guide's chapter on several processes says which calls
    /// concern all ranks, and what arrays on ranks cannot do yet.
    ///
    /// It needs tida's feature `mpi`, and Open MPI or MPICH where the program runs; the environment variable `TIDA_MPI`
    /// names its library, if that is not found. MPI starts once in a process, and ends when the accelerator and its
    /// arrays are gone: a program has one accelerator of ranks. Ranks of one host share its cores, unless
    /// [`threads`](Self::threads) are asked for. Each takes the next one of its devices, unless one is named; those on
    /// one device share its memory.
    ///
    /// ```no_run
    /// use tida::Ranks;
    /// use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().ranks(Ranks::Mpi).build()?;
    /// let mut u = TileArray::<f64, 3>::builder([512, 512, 512]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// u.fill_value(1.0)?; // each rank its own part
    /// let sum = reduce(&u, Sum, kernel!(|u, at| u[at]))?; // the same on all ranks
    /// if acc.rank() == 0 {
    ///     println!("{sum} on {} ranks", acc.ranks());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn ranks(mut self, ranks: Ranks) -> Self {
        self.on.ranks = Some(ranks);
        self
    }

    /// Runs on ranks that are threads of one process. For tests.
    #[doc(hidden)]
    pub fn fake_ranks(mut self, rank: FakeRank) -> Self {
        self.on.fake_ranks = Some(rank);
        self
    }

    /// Starts to exchange messages with other ranks, if there are to be any.
    ///
    /// # Errors
    /// Settings that are not understood, or that ranks do not have; no MPI.
    pub(super) fn world(&self) -> Result<Option<Arc<World>>, Error> {
        let timeout = settings::ranks_timeout()?;
        let asked = match (&self.on.fake_ranks, self.on.ranks) {
            (Some(_), _) => Ranks::Mpi,
            (None, Some(ranks)) => ranks,
            (None, None) => settings::ranks()?,
        };
        if asked == Ranks::Off {
            return Ok(None);
        }
        let refused =
            |found: &str, advice: &str| Error::new(ErrorKind::Argument, "run on several ranks", found, advice);
        if self.room.backed.is_some() {
            return Err(refused("arrays that lie in files (`backed_by`)", "keep arrays in memory, or leave ranks out"));
        }
        if self.on.device.map_or_else(settings::device, |device| Ok(Some(device)))? == Some(super::Device::Hybrid) {
            return Err(refused("the device `hybrid`", "choose one device, or several by `devices`"));
        }
        match &self.on.fake_ranks {
            Some(rank) => World::fake(rank.clone(), timeout).map(Some),
            None => World::mpi(timeout).map(Some),
        }
    }
}

/// What ranks tell one another when an accelerator is built.
type Told = (&'static str, &'static Location<'static>);

/// The text that each rank tells all others in a call.
///
/// # Errors
/// A rank that failed, or that runs another program.
fn told(world: &World, call: u64, own: Result<String, Error>, recorded: Told) -> Result<Vec<String>, Error> {
    let all = world.gather(call, own.map(|text| Bytes::of(text.as_bytes())), recorded)?;
    Ok(all.iter().map(|bytes| String::from_utf8_lossy(bytes.as_slice()).into_owned()).collect())
}

/// Threads of this rank, where nobody says how many: those that it may use, shared with ranks of its host that may use
/// some of the same.
///
/// # Errors
/// Ranks that run another program.
pub(super) fn threads_of(world: &World, call: u64, recorded: &'static Location<'static>) -> Result<usize, Error> {
    let mine = std::thread::available_parallelism().map_or(1, usize::from);
    let own = format!("{} {}", world.host().first, processors());
    let all = told(world, call, Ok(own.clone()), ("the threads of an accelerator", recorded))?;
    Ok((mine / sharing(&own, &all)).max(1))
}

/// How many ranks, of which each tells its host and its processors, share some with one of them.
fn sharing(own: &str, all: &[String]) -> usize {
    let of = |text: &str| text.split_once(' ').map(|(host, list)| (host.to_owned(), ranges(list)));
    let own = of(own);
    let shares = |other: &&String| {
        own.as_ref().zip(of(other)).is_none_or(|((host, mine), (other, theirs))| {
            let overlaps = || mine.iter().any(|one| theirs.iter().any(|two| one.0 <= two.1 && two.0 <= one.1));
            *host == other && (mine.is_empty() || theirs.is_empty() || overlaps())
        })
    };
    all.iter().filter(shares).count().max(1)
}

/// The processors that this process may use, as the system lists them (`0-7,16`); nothing where it does not.
fn processors() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

/// First and last number of each stretch of such a list.
fn ranges(list: &str) -> Vec<(u32, u32)> {
    let one = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    };
    list.split(',').filter_map(one).collect()
}

/// Places that are on one device, of any ranks, share what is free there. Each rank has opened its devices, or not.
///
/// # Errors
/// A rank that could not open its devices.
pub(super) fn share_among_ranks(
    world: &World,
    built: Result<Vec<TileAcc>, Error>,
    recorded: &'static Location<'static>,
) -> Result<Vec<TileAcc>, Error> {
    let call = world.call("the devices of an accelerator", recorded);
    let line = |place: &TileAcc| {
        let device = place.core().device.as_ref()?;
        Some(format!("{} {} {}\n", world.host().first, device.free(), device.backend().identity()?))
    };
    let own = built.as_ref().map(|places| places.iter().filter_map(line).collect::<String>()).map_err(Error::clone);
    let all = told(world, call, own, ("the devices of an accelerator", recorded))?.concat();
    let places = built?;
    for device in places.iter().filter_map(|place| place.core().device.as_ref()) {
        let Some(identity) = device.backend().identity() else { continue };
        let (free, sharing) = free_there(&all, world.host().first, &identity);
        device.share(free, sharing);
        let own = places.iter().filter_map(|place| place.core().device.as_ref()?.backend().identity());
        let others = sharing as usize > own.filter(|of| *of == identity).count();
        if others && device.backend().is_had_in_turns() && world.host().number == 0 {
            tracing::warn!(
                device = %device.backend().facts().name,
                "ranks share a GPU, and have it one after the other: NVIDIA's MPS (`nvidia-cuda-mps-control -d`, before \
                 the program starts) lets them have it at once"
            );
        }
    }
    Ok(places)
}

/// What is free on a device of a host by who finds least there, and how many places are on it.
fn free_there(all: &str, host: usize, identity: &str) -> (u64, u64) {
    let of = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let (on, free, device) = (parts.next()?, parts.next()?, parts.next()?);
        (on.parse() == Ok(host) && device == identity).then(|| free.parse::<u64>().ok()).flatten()
    };
    all.lines().filter_map(of).fold((u64::MAX, 0), |(least, places), free| (least.min(free), places + 1))
}

/// Finds out which places give places of other ranks what they do in mailboxes. Of ranks of one host each device has
/// one to try, of which all others that reach it read what is there; unless none is to be `opened`. For others MPI is
/// asked whether it takes memory of devices. Not where places are to be `apart`. All ranks know then.
///
/// # Errors
/// A rank that runs another program.
pub(super) fn agree_on_mailboxes(
    world: &World,
    places: &[TileAcc],
    (apart, opened): (bool, bool),
    recorded: &'static Location<'static>,
) -> Result<(), Error> {
    let about = ("the mailboxes of an accelerator", recorded);
    let first = world.rank() * places.len();
    let devices = || places.iter().enumerate().filter_map(|(n, at)| Some((first + n, at.core().device.as_ref()?)));
    // Held until all ranks have looked.
    let mut tries = Vec::new();
    let mut line = |(place, device): (usize, &Arc<DeviceCore>)| {
        let (memory, exported) = Trial::make(place, device).ok().flatten()?;
        tries.push(memory);
        Some(format!("{} {place} {exported}\n", world.host().first))
    };
    let opened = opened && !apart;
    let own = if opened { devices().filter_map(&mut line).collect() } else { String::new() };
    let all = told(world, world.call(about.0, recorded), Ok(own), about)?.concat();
    let mut found = String::new();
    for trial in all.lines().filter_map(Trial::of).filter(|trial| trial.host == world.host().first && opened) {
        let others = devices().filter(|_| trial.place / places.len() != world.rank());
        for (to, device) in others.filter(|(_, device)| trial.is_read_by(device)) {
            let _ = writeln!(found, "{} {to}", trial.place);
            tracing::debug!(from = trial.place, to, device = %device.backend().facts().name, "mailboxes between ranks");
        }
    }
    for (place, device) in devices().filter(|_| world.takes_devices() && !apart) {
        // One that has addresses.
        if Memory::new(device.backend(), 1).is_ok_and(|memory| device.backend().address(&memory).is_some()) {
            let _ = writeln!(found, "{place}");
            tracing::debug!(place, device = %device.backend().facts().name, "MPI takes memory of this device");
        }
    }
    let all = told(world, world.next(), Ok(found), about)?.concat();
    let pair = |line: &str| line.split_once(' ').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let opened = all.lines().filter_map(pair).collect();
    world.mailboxes().agree(Agreed { opened, in_messages: all.lines().filter_map(|line| line.parse().ok()).collect() });
    if world.mailboxes().are_some() && !has_cores() {
        tracing::warn!(
            rank = world.rank(),
            processors = processors(),
            "threads of this rank wait for one another's core while strips are due: `mpirun --bind-to none`, or four \
             cores a rank, give them more"
        );
    }
    Ok(())
}

/// A mailbox to try: whose place it is, on which host, and what others open it by.
#[derive(Debug, PartialEq, Eq)]
struct Trial {
    host: usize,
    place: usize,
    exported: Vec<u8>,
}

impl Trial {
    /// What is in it: something that tells places apart.
    fn values(place: usize) -> [u8; 16] {
        (0x7469_6461_u128 << 64 | place as u128).to_le_bytes()
    }

    /// One of a place with this device, and what others open it by, in hexadecimal digits; none where the device shares
    /// no memory.
    fn make(place: usize, device: &DeviceCore) -> Result<Option<(Memory, String)>, Error> {
        let (backend, values) = (device.backend(), Trial::values(place));
        let memory = Memory::new(backend, LEAST)?;
        let Some(exported) = memory.export()? else { return Ok(None) };
        // SAFETY: the memory has more bytes, and the values are there until the copy is done.
        unsafe { backend.upload(COPIES, &memory, 0, values.as_ptr(), values.len())? };
        backend.record(COPIES)?.finish()?;
        Ok(Some((memory, exported.iter().map(|byte| format!("{byte:02x}")).collect())))
    }

    /// The one of a line.
    fn of(line: &str) -> Option<Trial> {
        let mut parts = line.split(' ');
        let (host, place, digits) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
        let byte = |n: usize| u8::from_str_radix(digits.get(n..n + 2)?, 16).ok();
        let exported = (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>()?;
        Some(Trial { host, place, exported })
    }

    /// Whether a device finds in it what is there.
    fn is_read_by(&self, device: &DeviceCore) -> bool {
        let (backend, mut values) = (device.backend(), [0; 16]);
        let mut looked = || {
            // SAFETY: a rank that is waiting has exported so many bytes.
            let memory = unsafe { Memory::of_other(backend, &self.exported, LEAST)? };
            // SAFETY: the memory has more bytes, and the place for them is there until the copy is done.
            unsafe { backend.download(COPIES, &memory, 0, values.as_mut_ptr(), values.len()) }
                .and_then(|()| backend.record(COPIES)?.finish())
        };
        match looked() {
            Ok(()) => values == Trial::values(self.place),
            Err(error) => {
                tracing::debug!(%error, from = self.place, "no mailboxes between these ranks");
                false
            }
        }
    }
}

/// A time in seconds, from the text of a variable.
pub(in crate::acc) fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim().parse::<f64>().ok().filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_processors_that_both_may_use() {
        let all = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let bound = all(&["0 0-7", "0 8-15", "0 0-7", "3 0-7", "0 "]);
        // Two are bound to these, and one may use any; another host has processors of these numbers too.
        assert_eq!(sharing("0 0-7", &bound), 3);
        assert_eq!(sharing("0 8-15", &bound), 2);
        assert_eq!(sharing("3 0-7", &bound), 1);
        assert_eq!(sharing("0 ", &bound), 4);
        assert_eq!(ranges("0-3,8, 10-11"), [(0, 3), (8, 8), (10, 11)]);
        assert_eq!(ranges(""), []);
    }

    #[test]
    fn a_trial_is_what_a_line_says() {
        let trial = Trial { host: 3, place: 12, exported: vec![0, 255, 16] };
        assert_eq!(Trial::of("3 12 00ff10"), Some(trial));
        assert_eq!([Trial::of("3 12"), Trial::of("3 12 0"), Trial::of("3 x 00")], [None, None, None]);
    }

    #[test]
    fn a_device_is_shared_by_places_of_its_host_alone() {
        let all = "0 700 cuda 1a\n0 500 cuda 1a\n0 900 cuda 2b\n4 100 cuda 1a\n";
        assert_eq!(free_there(all, 0, "cuda 1a"), (500, 2));
        assert_eq!(free_there(all, 0, "cuda 2b"), (900, 1));
        assert_eq!(free_there(all, 4, "cuda 1a"), (100, 1));
    }
}
