//! What carries messages from one place to another.
//!
//! There is one [`Transport`] for each pair of places, which is chosen when the accelerator is built. A message has a
//! letter for each array of a call. The place that gives makes the letters and sends them; the place that takes waits
//! for them. Places of this process need no more than a list that both know ([`Within`]). A transport to another
//! process sends and receives in the order in which messages were begun, which both processes know from the program.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use super::node::Node;
use crate::device::core::DeviceCore;
use crate::device::passages::Passage;
use crate::error::Error;

/// What one array gives, on its way: the boxes of a batch, packed.
#[derive(Debug)]
pub(crate) enum Letter {
    /// In memory of the host, aligned as threads copy it.
    Values(Vec<u128>),
    /// In a passage of a device: in the host's memory, or on that device if it is for a place there.
    Passage { passage: Passage, of: Arc<DeviceCore>, stays: bool, bytes: usize },
}

impl Letter {
    /// So many bytes of zeros.
    pub fn new(bytes: usize) -> Letter {
        Letter::Values(vec![0; bytes.div_ceil(size_of::<u128>())])
    }

    /// Where it lies in the host's memory.
    pub fn start(&mut self) -> *mut u8 {
        match self {
            Letter::Values(values) => values.as_mut_ptr().cast(),
            Letter::Passage { passage, .. } => passage.host.start(),
        }
    }

    /// Brings it to the host's memory, if it stayed on a device.
    ///
    /// # Errors
    /// A copy that failed.
    pub fn bring_home(&mut self) -> Result<(), Error> {
        let Letter::Passage { passage, of, stays: true, bytes } = self else { return Ok(()) };
        let to = passage.host.start();
        let from = passage.on_device(of.backend())?;
        // SAFETY: both memories have room for the batch, which the work that packed it has left there.
        unsafe { of.download_now(from, 0, to, *bytes) }
    }

    /// Gives back what it lay in.
    pub fn end(self) {
        if let Letter::Passage { passage, of, .. } = self {
            of.passages().give(passage);
        }
    }
}

/// Carries messages from one place to another.
pub(crate) trait Transport: Debug + Send + Sync {
    /// Whether letters may stay on the device of who gives: who takes is on the same one.
    fn stays(&self) -> bool;

    /// Begins a message with a letter of so many bytes for each array. Called once for each message, in the order of
    /// the program, before anything of it is recorded: for a transport to another process at both ends.
    fn begin(&self, letters: &[usize]) -> Arc<dyn Message>;
}

/// A message on its way.
pub(crate) trait Message: Debug + Send + Sync {
    /// Sends the letters. Called at most once, by the node that gives; not at all if what it depends on failed.
    ///
    /// # Errors
    /// What keeps them from going.
    fn send(&self, letters: Vec<Letter>) -> Result<(), Error>;

    /// What ends when the letters are here, or with the failure of who gives; none if a node of this process gives
    /// them, for which who takes waits.
    fn arrival(&self) -> Option<Arc<Node>> {
        None
    }

    /// The letters, once what was to be waited for has ended well. Called once.
    ///
    /// # Errors
    /// What kept them from coming.
    fn receive(&self) -> Result<Vec<Letter>, Error>;
}

/// Between places of this process.
#[derive(Debug)]
pub(crate) struct Within {
    stays: bool,
}

impl Within {
    /// Between the devices of two places, if they have any.
    pub fn between(from: Option<&DeviceCore>, to: Option<&DeviceCore>) -> Within {
        Within { stays: from.zip(to).is_some_and(|(from, to)| Arc::ptr_eq(from.backend(), to.backend())) }
    }
}

impl Transport for Within {
    fn stays(&self) -> bool {
        self.stays
    }

    fn begin(&self, _letters: &[usize]) -> Arc<dyn Message> {
        Arc::new(Handed::default())
    }
}

/// Letters that one thread leaves for another.
#[derive(Debug, Default)]
pub(crate) struct Handed(Mutex<Vec<Letter>>);

impl Handed {
    /// Letters that are there.
    pub fn of(letters: Vec<Letter>) -> Handed {
        Handed(Mutex::new(letters))
    }
}

impl Message for Handed {
    fn send(&self, letters: Vec<Letter>) -> Result<(), Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(letters);
        Ok(())
    }

    fn receive(&self) -> Result<Vec<Letter>, Error> {
        Ok(std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
