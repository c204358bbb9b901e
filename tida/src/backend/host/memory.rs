//! Memory of the host that is lent as that of a device.

use std::alloc::{self, Layout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind};

/// Blocks start at multiples of this.
const ALIGN: usize = 4096;

/// Blocks that were given back and are kept: a chain asks for the same windows as the one before it, and pages of new
/// memory cost time.
const KEPT: usize = 8;

/// So many bytes. A handle is the address of the first byte of a block.
#[derive(Debug)]
pub(super) struct Pool {
    bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    /// Handles and bytes of blocks that nobody has, oldest first.
    kept: Vec<(u64, usize)>,
}

impl Pool {
    pub fn new(bytes: u64) -> Pool {
        Pool { bytes, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn free_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.lock().used)
    }

    /// A block of any content.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`]: more than is free, or than the system has.
    pub fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut state = self.lock();
        let free = self.bytes.saturating_sub(state.used);
        let refused = |found: String| {
            let tried = format!("allocate {bytes} bytes of the host's memory for arrays");
            Error::new(ErrorKind::Memory, tried, found, "raise the memory limit, or use smaller arrays")
        };
        if bytes as u64 > free {
            return Err(refused(format!("{free} of {} bytes free", self.bytes)));
        }
        let same = state.kept.iter().position(|(_, other)| *other == bytes);
        if let Some((raw, _)) = same.map(|number| state.kept.remove(number)) {
            state.used += bytes as u64;
            return Ok(raw);
        }
        // What is kept and what is in use is never more than there is.
        let mut held: u64 = state.kept.iter().map(|(_, bytes)| *bytes as u64).sum();
        while held > free - bytes as u64 && !state.kept.is_empty() {
            let (raw, other) = state.kept.remove(0);
            held -= other as u64;
            // SAFETY: a block that nobody has.
            unsafe { give_back(raw, other) }
        }
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).map_err(|e| refused(e.to_string()))?;
        // SAFETY: the size is not 0.
        let base = unsafe { alloc::alloc_zeroed(layout) };
        if base.is_null() {
            return Err(refused("a system without as much memory".into()));
        }
        state.used += bytes as u64;
        Ok(base.expose_provenance() as u64)
    }

    /// # Safety
    /// It came from `allocate` with this size, and no work uses it.
    pub unsafe fn free(&self, raw: u64, bytes: usize) {
        let mut state = self.lock();
        state.used -= bytes as u64;
        state.kept.push((raw, bytes));
        if state.kept.len() > KEPT {
            let (raw, bytes) = state.kept.remove(0);
            // SAFETY: a block that nobody has.
            unsafe { give_back(raw, bytes) }
        }
    }
}

/// # Safety
/// A block of so many bytes that came from `allocate`, and no one has it any more.
unsafe fn give_back(raw: u64, bytes: usize) {
    let base = std::ptr::with_exposed_provenance_mut::<u8>(raw as usize);
    // SAFETY: the layout is that of its allocation, whose size was a valid one.
    unsafe { alloc::dealloc(base, Layout::from_size_align_unchecked(bytes.max(1), ALIGN)) }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (raw, bytes) in std::mem::take(&mut self.lock().kept) {
            // SAFETY: a block that nobody has; memory that is in use holds its backend.
            unsafe { give_back(raw, bytes) }
        }
    }
}
