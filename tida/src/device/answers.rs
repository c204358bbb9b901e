//! Places in the host's memory that a kernel writes the value of a reduction to: a copy for a few bytes takes as long
//! as a small kernel, and who waits for the value waits for that too.

use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Backend, HostBlock};

/// Bytes of a place.
const PLACE: usize = 16;

/// Places: few reductions are under way at once.
const PLACES: usize = 4096;

/// The places of a device.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    /// Their memory; nothing before it was asked for, and where a device reaches none of the host's.
    block: Option<Option<Arc<Block>>>,
    /// Those that nobody has.
    free: Vec<usize>,
}

#[derive(Debug)]
struct Block {
    host: HostBlock,
    /// Where kernels find it.
    address: u64,
}

/// A place that one reduction has, until it is dropped.
#[derive(Debug)]
pub(crate) struct Answer {
    block: Arc<Block>,
    number: usize,
    home: Arc<Answers>,
}

impl Answers {
    /// A place for up to 16 bytes, if there is one.
    pub fn take(self: &Arc<Answers>, backend: &Arc<dyn Backend>) -> Option<Answer> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Places { block, free } = &mut *places;
        let block = block.get_or_insert_with(|| {
            let host = HostBlock::new(backend, PLACE * PLACES);
            let address = backend.mapped(host.start(), PLACE * PLACES)?;
            free.extend((0..PLACES).rev());
            Some(Arc::new(Block { host, address }))
        });
        Some(Answer { block: block.clone()?, number: free.pop()?, home: self.clone() })
    }
}

impl Answer {
    /// Where kernels find it.
    pub fn address(&self) -> u64 {
        self.block.address + (PLACE * self.number) as u64
    }

    /// What a kernel wrote there that is done.
    pub fn read(&self) -> [u8; PLACE] {
        // SAFETY: the place lies in the block, which has `PLACES` of them, and is aligned to its size. Nobody else has
        // it, and what wrote it is done.
        unsafe { self.block.host.start().add(PLACE * self.number).cast::<[u8; PLACE]>().read_volatile() }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.home.0.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.number);
    }
}
