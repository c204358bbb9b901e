//! Accelerators of several ranks.

use std::sync::Arc;
use std::time::Duration;

use super::super::settings;
use super::TileAccBuilder;
use crate::error::{Error, ErrorKind};
use crate::ranks::{FakeRank, World};

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
    /// [`threads`](Self::threads) are asked for.
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
        self.ranks = Some(ranks);
        self
    }

    /// Runs on ranks that are threads of one process. For tests.
    #[doc(hidden)]
    pub fn fake_ranks(mut self, rank: FakeRank) -> Self {
        self.fake_ranks = Some(rank);
        self
    }

    /// Starts to exchange messages with other ranks, if there are to be any.
    ///
    /// # Errors
    /// Settings that are not understood, or that ranks do not have; no MPI.
    pub(super) fn world(&self) -> Result<Option<Arc<World>>, Error> {
        let timeout = settings::ranks_timeout()?;
        let asked = match (&self.fake_ranks, self.ranks) {
            (Some(_), _) => Ranks::Mpi,
            (None, Some(ranks)) => ranks,
            (None, None) => settings::ranks()?,
        };
        if asked == Ranks::Off {
            return Ok(None);
        }
        let refused =
            |found: &str, advice: &str| Error::new(ErrorKind::Argument, "run on several ranks", found, advice);
        if self.backed.is_some() {
            return Err(refused("arrays that lie in files (`backed_by`)", "keep arrays in memory, or leave ranks out"));
        }
        if self.device.map_or_else(settings::device, |device| Ok(Some(device)))? == Some(super::Device::Hybrid) {
            return Err(refused("the device `hybrid`", "choose one device, or several by `devices`"));
        }
        match &self.fake_ranks {
            Some(rank) => World::fake(rank.clone(), timeout).map(Some),
            None => World::mpi(timeout).map(Some),
        }
    }
}

/// Threads of a rank, where nobody says how many: its part of the host's cores, or those that the launcher gives it.
pub(super) fn threads_of(on_host: usize) -> usize {
    let mine = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = std::fs::read_to_string("/proc/cpuinfo")
        .map_or(mine, |text| text.lines().filter(|line| line.starts_with("processor")).count());
    // A launcher that binds ranks to cores has shared them out.
    if mine < cores { mine } else { (mine / on_host.max(1)).max(1) }
}

/// A time in seconds, from the text of a variable.
pub(in crate::acc) fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim().parse::<f64>().ok().filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}
