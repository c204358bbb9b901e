//! Memory of the simulated device: host memory that is poisoned whenever its content is no one's.

use std::alloc::{self, Layout};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::probe::SimDevice;
use crate::error::{Error, ErrorKind};

/// Every byte of memory whose content is no one's: a NaN as a float, and no number that a program would expect.
pub(super) const POISON: u8 = 0xff;

/// As [`Backend::allocate`](crate::backend::Backend::allocate) promises.
const ALIGN: usize = 256;

/// Where memory comes from. A handle is the address of the first byte; in a null device an address of nothing.
#[derive(Debug)]
pub(super) struct Pool {
    spec: SimDevice,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of each block by its handle.
    blocks: BTreeMap<u64, usize>,
    /// Those of other ranks.
    others: BTreeMap<u64, usize>,
    used: u64,
    /// Blocks asked for so far.
    asked: u64,
    /// The next handle of a null device.
    next: u64,
    /// Blocks that were given back where a mistake is planted: what comes too late finds memory.
    kept: Vec<(u64, usize)>,
}

impl Pool {
    pub fn new(spec: &SimDevice) -> Pool {
        let state = State { next: ALIGN as u64, ..State::default() };
        Pool { spec: spec.clone(), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn free_bytes(&self) -> u64 {
        self.spec.bytes() - self.lock().used
    }

    /// Poisoned memory.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`]: more than is free, a failure that was asked for, or memory that the host does not have.
    pub fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut state = self.lock();
        state.asked += 1;
        let free = self.spec.bytes() - state.used;
        let refused = |found: String| {
            let advice = "use smaller arrays, or simulate a device with more memory";
            Error::new(ErrorKind::Memory, format!("allocate {bytes} bytes on a simulated device"), found, advice)
        };
        if self.spec.allocation_fails(state.asked) {
            return Err(refused(format!("allocation {}, which is to fail", state.asked)));
        }
        if bytes as u64 > free {
            return Err(refused(format!("{free} of {} bytes free", self.spec.bytes())));
        }
        let raw = if self.spec.is_null() {
            let raw = state.next;
            state.next += (bytes.max(1) as u64).next_multiple_of(ALIGN as u64);
            raw
        } else {
            let layout = Layout::from_size_align(bytes.max(1), ALIGN).map_err(|e| refused(e.to_string()))?;
            // SAFETY: the size is not 0.
            let base = unsafe { alloc::alloc(layout) };
            if base.is_null() {
                return Err(refused("a host without as much memory".into()));
            }
            // SAFETY: just allocated, with so many bytes.
            unsafe { ptr::write_bytes(base, POISON, bytes) };
            base.expose_provenance() as u64
        };
        state.blocks.insert(raw, bytes);
        state.used += bytes as u64;
        Ok(raw)
    }

    /// # Safety
    /// It came from `allocate`, and no work uses it.
    pub unsafe fn free(&self, raw: u64) {
        let mut state = self.lock();
        let Some(bytes) = state.blocks.remove(&raw) else { return };
        state.used -= bytes as u64;
        if self.spec.is_null() {
            return;
        }
        if self.spec.planted().is_some() {
            state.kept.push((raw, bytes));
            return;
        }
        drop(state);
        // SAFETY: the caller's promise.
        unsafe { Pool::give_back(raw, bytes) }
    }

    /// # Safety
    /// A block of so many bytes that came from `allocate`, and no work uses it.
    unsafe fn give_back(raw: u64, bytes: usize) {
        let base = ptr::with_exposed_provenance_mut::<u8>(raw as usize);
        // SAFETY: the block has so many bytes, and the layout is that of its allocation, whose size was a valid one.
        unsafe {
            ptr::write_bytes(base, POISON, bytes);
            alloc::dealloc(base, Layout::from_size_align_unchecked(bytes.max(1), ALIGN));
        }
    }

    /// What another rank opens a block by: simulated ranks are threads of one process.
    pub fn export(raw: u64) -> Vec<u8> {
        [u64::from(std::process::id()), raw].into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Opens a block of another rank, of so many bytes.
    ///
    /// # Errors
    /// One of another process.
    pub fn import(&self, exported: &[u8], bytes: usize) -> Result<u64, Error> {
        let number = |n: usize| exported.get(8 * n..8 * n + 8)?.try_into().ok().map(u64::from_le_bytes);
        let (of, raw) = (number(0), number(1));
        match raw.filter(|_| of == Some(u64::from(std::process::id()))) {
            Some(raw) => {
                self.lock().others.insert(raw, bytes);
                Ok(raw)
            }
            None => Err(Error::new(
                ErrorKind::Device,
                format!("open {bytes} bytes of another rank on a simulated device"),
                "memory of another process",
                "let ranks exchange by the host's memory",
            )),
        }
    }

    /// Closes such a block.
    pub fn let_go(&self, raw: u64) {
        self.lock().others.remove(&raw);
    }

    /// Whether so many bytes from `at` on lie in a block that is not given back.
    pub fn holds(&self, raw: u64, at: usize, bytes: usize) -> bool {
        let state = self.lock();
        let size = state.blocks.get(&raw).or_else(|| state.others.get(&raw));
        size.is_some_and(|size| at.checked_add(bytes).is_some_and(|end| end <= *size))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let blocks: Vec<u64> = self.lock().blocks.keys().copied().collect();
        for raw in blocks {
            // SAFETY: memory holds its backend, so none is in use any more.
            unsafe { self.free(raw) }
        }
        for (raw, bytes) in std::mem::take(&mut self.lock().kept) {
            // SAFETY: as above; these were not given back yet.
            unsafe { Pool::give_back(raw, bytes) }
        }
    }
}
