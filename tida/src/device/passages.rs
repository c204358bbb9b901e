//! Memory on both sides that boxes of an array pass through, packed, on their way between host and device.

use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Backend, HostBlock, Memory};
use crate::error::Error;

/// Bytes of the smallest passage: large enough on the host to be pinned.
const LEAST: usize = 1 << 12;
const LEAST_ON_HOST: usize = 1 << 16;

/// Bytes of all passages that are kept for the next box; more, where more were in use at once: whoever needed them may
/// need them again, and to have memory of the host pinned takes longer than a box does to pass. At most so many.
const KEPT: usize = 64 << 20;
const MOST: usize = 1 << 30;

/// Memory that one box at a time passes through.
#[derive(Debug)]
pub(crate) struct Passage {
    bytes: usize,
    pub host: HostBlock,
    /// Made once a box is packed on the device.
    device: Option<Memory>,
}

/// The passages of a device.
#[derive(Debug, Default)]
pub(crate) struct Passages(Mutex<Pool>);

#[derive(Debug, Default)]
struct Pool {
    /// Those that nobody has: the one given back last is the last.
    free: Vec<Passage>,
    /// Bytes of those that somebody has, and the most that these ever were.
    out: usize,
    most: usize,
}

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

impl Pool {
    fn taken(&mut self, bytes: usize) {
        self.out += bytes;
        self.most = self.most.max(self.out);
    }
}

impl Passages {
    /// A passage for so many bytes.
    pub fn take(&self, backend: &Arc<dyn Backend>, bytes: usize) -> Passage {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (0..pool.free.len()).filter(|n| pool.free[*n].bytes >= bytes).min_by_key(|n| pool.free[*n].bytes);
        if let Some(number) = fits {
            let passage = pool.free.remove(number);
            pool.taken(passage.bytes);
            return passage;
        }
        let bytes = bytes.max(LEAST).next_power_of_two();
        pool.taken(bytes);
        drop(pool);
        Passage { bytes, host: HostBlock::new(backend, bytes.max(LEAST_ON_HOST)), device: None }
    }

    /// Gives it back once nothing uses it.
    pub fn give(&self, passage: Passage) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.out = pool.out.saturating_sub(passage.bytes);
        let limit = pool.most.clamp(KEPT, MOST);
        pool.free.push(passage);
        let mut held: usize = pool.free.iter().map(|other| other.bytes).sum();
        let mut let_go = Vec::new();
        while held > limit {
            let oldest = pool.free.remove(0);
            held -= oldest.bytes;
            let_go.push(oldest);
        }
        // To free memory may wait for the device.
        drop(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acc::TileAcc;

    /// Sizes of the passages that are kept, after boxes of these sizes (in MiB) were on their way together, again and
    /// again.
    fn kept(boxes: &[usize]) -> Vec<usize> {
        let acc = TileAcc::builder().simulate(crate::SimDevice::new()).threads(1).build().unwrap();
        let device = acc.core().device.clone().unwrap();
        let passages = Passages::default();
        for _ in 0..3 {
            let taken: Vec<Passage> = boxes.iter().map(|mib| passages.take(device.backend(), mib << 20)).collect();
            taken.into_iter().for_each(|passage| passages.give(passage));
        }
        let pool = passages.0.lock().unwrap();
        assert_eq!(pool.out, 0);
        pool.free.iter().map(|passage| passage.bytes >> 20).collect()
    }

    #[test]
    fn what_was_in_use_at_once_is_kept() {
        assert_eq!(kept(&[1, 1, 3]), [1, 1, 4]);
        assert_eq!(kept(&[64, 64, 33]), [64, 64, 64]);
        // No more than the most.
        assert_eq!(kept(&[512, 512, 512]).len(), 2);
    }
}
