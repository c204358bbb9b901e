//! What carries messages from rank to rank.

use std::sync::Arc;

use super::bytes::Bytes;
use crate::backend::{COPIES, Memory};
use crate::error::Error;

/// A piece of a message: memory that stays as it is until it is sent.
pub trait Parcel: Send {
    /// What is sent, if it is in the host's memory.
    fn bytes(&mut self) -> &[u8];

    /// Where it is on a device, if it is there.
    fn on_device(&self) -> Option<&Stretch> {
        None
    }
}

/// The first bytes of memory of a device.
#[derive(Clone, Debug)]
pub struct Stretch {
    memory: Arc<Memory>,
    bytes: usize,
}

#[cfg_attr(not(feature = "mpi"), allow(dead_code))] // For MPI: threads of one process ask for less.
impl Stretch {
    /// So many bytes, or all that there are.
    pub(crate) fn new(memory: Arc<Memory>, bytes: usize) -> Stretch {
        let bytes = bytes.min(memory.bytes());
        Stretch { memory, bytes }
    }

    /// How many.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the driver's functions find them; none on a device without addresses.
    pub fn address(&self) -> Option<u64> {
        self.memory.backend().address(&self.memory)
    }

    /// What is there, for transports that take no addresses.
    ///
    /// # Errors
    /// What the device refuses.
    pub(super) fn read(&self) -> Result<Bytes, Error> {
        let (backend, mut bytes) = (self.memory.backend(), Bytes::new(self.bytes));
        // SAFETY: both memories have the bytes, and are there until the copy is done; a piece is changed by nobody.
        unsafe { backend.download(COPIES, &self.memory, 0, bytes.start(), self.bytes)? };
        backend.record(COPIES)?.finish().map(|()| bytes)
    }

    /// Puts these bytes there.
    ///
    /// # Errors
    /// What the device refuses.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let (backend, count) = (self.memory.backend(), bytes.len().min(self.bytes));
        // SAFETY: as above; what a piece is received into is used by nobody else.
        unsafe { backend.upload(COPIES, &self.memory, 0, bytes.as_ptr(), count)? };
        backend.record(COPIES)?.finish()
    }
}

/// What a piece that was on a device is received into.
#[derive(Debug)]
pub enum Target {
    Device(Stretch),
    /// Memory of the host, where the device has no room.
    Host(Bytes),
}

#[cfg_attr(not(feature = "mpi"), allow(dead_code))] // As above.
impl Target {
    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        match self {
            Target::Device(stretch) => stretch.bytes(),
            Target::Host(bytes) => bytes.as_slice().len(),
        }
    }

    /// What of it is in the host's memory.
    pub fn into_host(self) -> Bytes {
        match self {
            Target::Device(_) => Bytes::default(),
            Target::Host(bytes) => bytes,
        }
    }
}

impl Parcel for Bytes {
    fn bytes(&mut self) -> &[u8] {
        self.as_slice()
    }
}

/// The ranks of a host, as one of them sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The first of them, which tells the host from others.
    pub first: usize,
    /// The number of this rank among them, from 0 on.
    pub number: usize,
    /// How many they are, this one included.
    pub ranks: usize,
}

/// What carries messages. One thread has it, and asks again and again.
///
/// Pieces of one tag arrive in the order in which they were sent; others may overtake them. Errors are texts.
pub trait Transport {
    /// The number of this rank.
    fn rank(&self) -> usize;
    /// How many ranks there are.
    fn ranks(&self) -> usize;
    /// The ranks of this host.
    fn host(&self) -> Host;
    /// Whether pieces may be on devices.
    fn takes_devices(&self) -> bool;
    /// Starts to send a piece.
    fn send(&mut self, to: usize, tag: u64, parcel: Box<dyn Parcel>) -> Result<(), String>;
    /// The next piece of a rank, or of any one, of this tag, if it is there.
    fn receive(&mut self, from: Option<usize>, tag: u64) -> Result<Option<Bytes>, String>;
    /// Starts to receive a piece that is on a device of a rank. [`Transport::receive`] gives it once it is there: what
    /// of it is in the host's memory.
    fn receive_into(&mut self, from: usize, tag: u64, into: Target) -> Result<(), String>;
    /// Lets go of what is sent; gives how many pieces are still on their way, from this rank or to it.
    fn under_way(&mut self) -> Result<usize, String>;
    /// Tells who started the program.
    fn say(&self, text: &str);
    /// Ends all ranks.
    fn abort(&mut self, why: &str);
    /// Waits until another rank has ended all; ends this process if that takes long.
    fn await_end(&mut self);
    /// Why another rank has ended all, where that does not end this process.
    fn aborted(&self) -> Option<String>;
    /// Every rank has taken leave.
    fn end(&mut self);
}
