//! What carries messages from one place to another.
//!
//! There is one [`Transport`] for each pair of places, which is chosen when the accelerator is built. A message has a
//! letter for each array of a call. The place that gives makes the letters and sends them; the place that takes waits
//! for them. Places of this process need no more than a list that both know ([`Within`]). So do places of two ranks at
//! each end: one takes from the list what it sends to the other rank, which puts it into a list there (`strips/ranks`).

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::core::DeviceCore;
use crate::device::passages::Passage;
use crate::error::Error;
use crate::memory::mailbox::Mailbox;

/// What one array gives, on its way: the boxes of a batch, packed.
#[derive(Debug)]
pub(crate) enum Letter {
    /// In memory of the host, aligned as threads copy it.
    Values(Vec<u128>),
    /// In a passage of a device, in the host's memory.
    Passage { passage: Passage, of: Arc<DeviceCore> },
    /// In a mailbox on a device, which a place of another rank opens.
    Mailbox(Mailbox),
}

impl Letter {
    /// So many bytes of zeros.
    pub fn new(bytes: usize) -> Letter {
        Letter::Values(vec![0; bytes.div_ceil(size_of::<u128>())])
    }

    /// Where it lies in the host's memory; one in a mailbox lies nowhere there before it is brought
    /// ([`Letter::into_host`]).
    pub fn start(&mut self) -> *mut u8 {
        match self {
            Letter::Values(values) => values.as_mut_ptr().cast(),
            Letter::Passage { passage, .. } => passage.host.start(),
            Letter::Mailbox(_) => std::ptr::null_mut(),
        }
    }

    /// So many bytes in the host's memory, whatever they lay in.
    ///
    /// # Errors
    /// What a device refuses.
    pub fn into_host(self, bytes: usize) -> Result<Letter, Error> {
        match self {
            Letter::Mailbox(mailbox) => mailbox.bring(bytes).map(Letter::Values),
            here => Ok(here),
        }
    }

    /// Gives back what it lay in.
    pub fn end(self) {
        if let Letter::Passage { passage, of } = self {
            of.passages().give(passage);
        }
    }
}

/// Carries messages from one place to another.
pub(crate) trait Transport: Debug + Send + Sync {
    /// Whether the device of who takes reads the memory of the device of who gives, and both wait for events of one
    /// another in their streams. Then what lies on both needs no message.
    fn reads_there(&self) -> bool {
        false
    }

    /// Begins a message with a letter of so many bytes for each array. Called once for each message, in the order of
    /// the program, before anything of it is recorded.
    fn begin(&self, letters: &[usize]) -> Arc<dyn Message>;
}

/// A message on its way.
pub(crate) trait Message: Debug + Send + Sync {
    /// Sends the letters. Called at most once, by the node that gives; not at all if what it depends on failed.
    ///
    /// # Errors
    /// What keeps them from going.
    fn send(&self, letters: Vec<Letter>) -> Result<(), Error>;

    /// The letters, once what was to be waited for has ended well. Called once.
    ///
    /// # Errors
    /// What kept them from coming.
    fn receive(&self) -> Result<Vec<Letter>, Error>;

    /// Memory on the device of who gives, for a letter of so many bytes that who takes finds there; none if it goes by
    /// way of the host's memory.
    fn room(&self, _device: &DeviceCore, _bytes: usize) -> Option<Mailbox> {
        None
    }
}

/// Between places of this process.
#[derive(Debug)]
pub(crate) struct Within {
    reads_there: bool,
}

impl Within {
    /// Between the devices of two places, if they have any.
    pub fn between(from: Option<&DeviceCore>, to: Option<&DeviceCore>) -> Within {
        Within { reads_there: from.zip(to).is_some_and(|(from, to)| from.is_joined_to(to)) }
    }
}

impl Transport for Within {
    fn reads_there(&self) -> bool {
        self.reads_there
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
