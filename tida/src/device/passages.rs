//! Memory on both sides that boxes of an array pass through, packed, on their way between host and device.

use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Backend, HostBlock, Memory};
use crate::error::Error;

/// Bytes of the smallest passage: large enough on the host to be pinned.
const LEAST: usize = 1 << 12;
const LEAST_ON_HOST: usize = 1 << 16;

/// Bytes of all passages that are kept for the next box.
const KEPT: usize = 64 << 20;

/// Memory that one box at a time passes through.
#[derive(Debug)]
pub(crate) struct Passage {
    bytes: usize,
    pub host: HostBlock,
    /// Made once a box is packed on the device.
    device: Option<Memory>,
}

/// The passages of a device that nobody has.
#[derive(Debug, Default)]
pub(crate) struct Passages(Mutex<Vec<Passage>>);

impl Passage {
    /// Its memory on the device.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn on_device(&mut self, backend: &Arc<dyn Backend>) -> Result<&Memory, Error> {
        match &mut self.device {
            Some(memory) => Ok(memory),
            none => Ok(none.insert(Memory::new(backend, self.bytes)?)),
        }
    }
}

impl Passages {
    /// A passage for so many bytes.
    pub fn take(&self, backend: &Arc<dyn Backend>, bytes: usize) -> Passage {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (0..kept.len()).filter(|n| kept[*n].bytes >= bytes).min_by_key(|n| kept[*n].bytes);
        if let Some(number) = fits {
            return kept.swap_remove(number);
        }
        drop(kept);
        let bytes = bytes.max(LEAST).next_power_of_two();
        Passage { bytes, host: HostBlock::new(backend, bytes.max(LEAST_ON_HOST)), device: None }
    }

    /// Gives it back once nothing uses it.
    pub fn give(&self, passage: Passage) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = kept.iter().map(|other| other.bytes).sum();
        if held + passage.bytes <= KEPT {
            kept.push(passage);
        }
    }
}
