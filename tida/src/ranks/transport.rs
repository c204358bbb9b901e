//! What carries messages from rank to rank.

use super::bytes::Bytes;

/// A piece of a message: memory that stays as it is until it is sent.
pub trait Parcel: Send {
    /// What is sent.
    fn bytes(&mut self) -> &[u8];
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
    /// Starts to send a piece.
    fn send(&mut self, to: usize, tag: u64, parcel: Box<dyn Parcel>) -> Result<(), String>;
    /// The next piece of a rank, or of any one, of this tag, if it is there.
    fn receive(&mut self, from: Option<usize>, tag: u64) -> Result<Option<Bytes>, String>;
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
