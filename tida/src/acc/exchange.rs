//! What ranks tell one another beside values of arrays.

use std::panic::Location;
use std::sync::Arc;

use super::TileAcc;
use crate::error::Error;
use crate::ranks::{Bytes, Slot, World};

impl TileAcc {
    /// Gives all ranks some bytes, or an error, and waits for those of the others: in the order of ranks. Every rank
    /// makes this call. Without ranks what is given comes back. What was recorded before starts.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// let seconds = 1.5f64;
    /// let all = acc.exchange(Ok(seconds.to_ne_bytes().to_vec()))?;
    /// assert_eq!(all.len(), acc.ranks());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// That of the first rank that gave one. A call from inside a kernel.
    #[track_caller]
    pub fn exchange(&self, own: Result<Vec<u8>, Error>) -> Result<Vec<Vec<u8>>, Error> {
        let recorded = Location::caller();
        let Some(world) = self.world() else { return own.map(|own| vec![own]) };
        // Other ranks may need it before they come here.
        self.flush()?;
        let call = world.call("exchange", recorded);
        let own = own.map(|own| Bytes::of(&own));
        let all = world.gather(call, own, ("exchange", recorded))?;
        Ok(all.iter().map(|bytes| bytes.as_slice().to_vec()).collect())
    }

    /// What each rank will tell others later, from any thread: what it has written, for example. Every rank makes this
    /// call. `None` without ranks.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// if let Some(done) = acc.told_later() {
    ///     match acc.rank() {
    ///         0 => (1..acc.ranks()).try_for_each(|rank| done.wait(rank).map(drop))?,
    ///         _ => done.tell(0, b"done"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn told_later(&self) -> Option<ToldLater> {
        let (world, recorded) = (self.world()?.clone(), Location::caller());
        let call = world.call("told later", recorded);
        Some(ToldLater { world, call, recorded })
    }
}

/// What ranks tell one another once each. See [`TileAcc::told_later`].
#[derive(Clone, Debug)]
pub struct ToldLater {
    world: Arc<World>,
    call: u64,
    recorded: &'static Location<'static>,
}

impl ToldLater {
    /// Tells a rank something, once.
    pub fn tell(&self, rank: usize, bytes: &[u8]) {
        self.world.send(rank, self.slot(), vec![Box::new(Bytes::of(bytes))]);
    }

    /// Waits for what a rank tells this one.
    ///
    /// # Errors
    /// Ranks that have ended.
    pub fn wait(&self, rank: usize) -> Result<Vec<u8>, Error> {
        let told = self.world.wait_for((rank, self.slot()), ("what is told later", self.recorded))?;
        Ok(told.as_slice().to_vec())
    }

    fn slot(&self) -> Slot {
        Slot { call: self.call, lane: 0 }
    }
}
