//! Memory of the device, kept for the next who asks for the same size, and pinned memory of the host.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};

use smallvec::{SmallVec, smallvec};

use super::probe::call;
use super::{Context, sys};
use crate::bytes::bytes_from;
use crate::error::{Error, ErrorKind};

/// Memory that was given back and waits to be used again: giving it to the driver would wait for all work.
#[derive(Debug)]
pub(super) struct Kept {
    by_size: HashMap<usize, Vec<u64>>,
    bytes: usize,
    most: usize,
}

impl Kept {
    /// Keeps up to an eighth of the device's memory, so that other programs find some too.
    pub fn new(memory: u64) -> Kept {
        Kept { by_size: HashMap::new(), bytes: 0, most: (memory / 8) as usize }
    }

    fn take(&mut self, bytes: usize) -> Option<u64> {
        let found = self.by_size.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        Some(found)
    }

    /// Whether it is kept.
    fn put(&mut self, raw: u64, bytes: usize) -> bool {
        let fits = self.bytes.checked_add(bytes).is_some_and(|all| all <= self.most);
        if fits {
            self.by_size.entry(bytes).or_default().push(raw);
            self.bytes += bytes;
        }
        fits
    }

    fn take_all(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.by_size.drain().flat_map(|(_, all)| all).collect()
    }
}

impl Context {
    /// Memory of that size, which is not 0.
    pub(super) fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        if let Some(raw) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take(bytes) {
            return Ok(raw);
        }
        let driver = self.enter()?;
        let ask = || {
            let mut raw = 0;
            // SAFETY: the place for the answer is valid, and the context current.
            let code = unsafe { (driver.cuMemAlloc_v2)(&mut raw, bytes) };
            (code, raw)
        };
        let (mut code, mut raw) = ask();
        if code == sys::CUDA_ERROR_OUT_OF_MEMORY && self.give_all_back() {
            (code, raw) = ask();
        }
        match code {
            0 => Ok(raw),
            _ if code == sys::CUDA_ERROR_OUT_OF_MEMORY => Err(self.out_of_memory(bytes)),
            _ => Err(driver.error("cuMemAlloc", code)),
        }
    }

    fn out_of_memory(&self, bytes: usize) -> Error {
        let found = match self.memory_info() {
            Ok((free, total)) => format!("{free} bytes free of {total}"),
            Err(_) => "less than that free".to_owned(),
        };
        Error::new(
            ErrorKind::Memory,
            format!("allocate {bytes} bytes on the CUDA device"),
            found,
            "drop arrays that are not needed, use smaller regions (`.regions`), or end other programs that use the \
             device (nvidia-smi lists them)",
        )
    }

    /// Bytes free for the driver, and bytes in all.
    fn memory_info(&self) -> Result<(usize, usize), Error> {
        let (driver, mut free, mut total) = (self.enter()?, 0, 0);
        // SAFETY: both places are valid, and the context current.
        unsafe { call!(driver, cuMemGetInfo_v2(&mut free, &mut total)) }?;
        Ok((free, total))
    }

    /// Bytes that can be had, those kept among them.
    pub(super) fn free_memory(&self) -> Result<usize, Error> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).bytes;
        Ok(self.memory_info()?.0 + kept)
    }

    /// # Safety
    /// The memory came from `allocate` with this size, is given back once, and no work uses it.
    pub(super) unsafe fn free(&self, raw: u64, bytes: usize) {
        if !self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(raw, bytes) && self.enter().is_ok() {
            // SAFETY: the caller's promise; it is not in the list.
            let code = unsafe { (self.driver.cuMemFree_v2)(raw) };
            self.ignore("cuMemFree", code);
        }
    }

    /// Gives the driver all that is kept, and says whether that was anything. The context is current.
    fn give_all_back(&self) -> bool {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take_all();
        for raw in &all {
            // SAFETY: `free` put it into the list, where it no longer is; no work uses it.
            let code = unsafe { (self.driver.cuMemFree_v2)(*raw) };
            self.ignore("cuMemFree", code);
        }
        !all.is_empty()
    }

    /// For the end of the context, which is current.
    pub(super) fn drop_kept(&mut self) {
        self.give_all_back();
    }

    /// Pins the pages of a stretch of memory.
    ///
    /// # Safety
    /// The memory lives until it is unpinned.
    pub(super) unsafe fn pin(&self, base: *mut u8, bytes: usize) -> bool {
        let Some((from, to)) = pages(base.addr(), bytes, page_size()) else { return false };
        let Ok(driver) = self.enter() else { return false };
        // Entered before the driver has it: a copy that is split too early is still right.
        if !self.pinned.lock().unwrap_or_else(PoisonError::into_inner).add(from, to) {
            return false;
        }
        // SAFETY: the pages are those of the caller's memory, so they are mapped, and stay so until unpinned: pages of
        // which a part is in use cannot be unmapped.
        let code =
            unsafe { (driver.cuMemHostRegister_v2)(base.wrapping_sub(base.addr() - from).cast(), to - from, PORTABLE) };
        if code != 0 {
            tracing::debug!(bytes, result = driver.text(code), "host memory could not be pinned");
            self.pinned.lock().unwrap_or_else(PoisonError::into_inner).remove(from);
        }
        code == 0
    }

    /// # Safety
    /// No copy uses the memory.
    pub(super) unsafe fn unpin(&self, base: *mut u8) {
        let Some((from, _)) = pages(base.addr(), 1, page_size()) else { return };
        let shared = self.pinned.lock().unwrap_or_else(PoisonError::into_inner).is_shared(from);
        let (Some(shared), Ok(driver)) = (shared, self.enter()) else { return };
        if shared {
            // A copy of a neighbour has used a page of this memory, and may still do so.
            // SAFETY: the context is current.
            let code = unsafe { (driver.cuCtxSynchronize)() };
            self.ignore("cuCtxSynchronize", code);
        }
        // SAFETY: `pin` registered it from this page on, and no copy uses it.
        let code = unsafe { (driver.cuMemHostUnregister)(base.wrapping_sub(base.addr() - from).cast()) };
        self.ignore("cuMemHostUnregister", code);
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner).remove(from);
    }

    /// Whether rows of so many bytes, so far apart, lie in one stretch that is pinned.
    pub(super) fn is_pinned(&self, base: *const u8, step: usize, (bytes, rows): (usize, usize)) -> bool {
        let all = rows.saturating_sub(1).saturating_mul(step).saturating_add(bytes);
        matches!(self.pieces(base, all).as_slice(), [(_, _, true)])
    }

    /// Cuts a stretch of host memory, so that each piece is all pinned or not at all: the driver refuses others.
    /// Offset and length of each, and whether it is pinned.
    pub(super) fn pieces(&self, base: *const u8, bytes: usize) -> SmallVec<[(usize, usize, bool); 1]> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner).pieces(base.addr(), bytes)
    }
}

/// Bytes of host memory that may be pinned: what `TIDA_PINNED_LIMIT` says, else three quarters of the host's memory, so
/// that the system keeps some that it can move.
///
/// # Errors
/// A text that is no number of bytes.
pub(super) fn pinned_limit() -> Result<usize, Error> {
    if let Some(limit) = bytes_from("TIDA_PINNED_LIMIT")? {
        return Ok(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: only asks.
        let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
        if let Ok(pages) = usize::try_from(pages) {
            return Ok(pages.saturating_mul(page_size()) / 4 * 3);
        }
    }
    Ok(usize::MAX)
}

/// The whole pages that hold some bytes.
fn pages(base: usize, bytes: usize, page: usize) -> Option<(usize, usize)> {
    let end = base.checked_add(bytes)?.checked_next_multiple_of(page)?;
    (bytes > 0).then_some((base - base % page, end))
}

/// Bytes of a page.
fn page_size() -> usize {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: only asks.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if let Some(bytes) = usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()) {
            return bytes;
        }
    }
    4096
}

/// Pinned for all devices (`CU_MEMHOSTREGISTER_PORTABLE`): what one downloads, another one may upload.
const PORTABLE: u32 = 1;

/// What is pinned, by all devices of the process: the driver refuses a copy that is pinned in part, whoever pinned it.
pub(super) fn pinned(limit: usize) -> &'static Mutex<Pinned> {
    static PINNED: OnceLock<Mutex<Pinned>> = OnceLock::new();
    PINNED.get_or_init(|| Mutex::new(Pinned::new(limit)))
}

/// Pinned stretches of host memory, in whole pages, none overlapping another.
#[derive(Debug)]
pub(super) struct Pinned {
    /// By first address.
    stretches: BTreeMap<usize, Stretch>,
    bytes: usize,
    /// Most bytes.
    limit: usize,
}

#[derive(Debug)]
struct Stretch {
    end: usize,
    /// Whether a copy has begun or ended outside, so that memory beside the pinned block lies in its pages.
    shared: bool,
}

impl Pinned {
    pub fn new(limit: usize) -> Pinned {
        Pinned { stretches: BTreeMap::new(), bytes: 0, limit }
    }

    /// False if it overlaps one that is there (two blocks that share a page), or is too much.
    fn add(&mut self, from: usize, to: usize) -> bool {
        let free = self.stretches.range(..to).next_back().is_none_or(|(_, last)| last.end <= from)
            && self.bytes.saturating_add(to - from) <= self.limit;
        if free {
            self.bytes += to - from;
            self.stretches.insert(from, Stretch { end: to, shared: false });
        }
        free
    }

    fn remove(&mut self, from: usize) {
        if let Some(stretch) = self.stretches.remove(&from) {
            self.bytes -= stretch.end - from;
        }
    }

    /// Whether the stretch that starts there has been shared, if there is one.
    fn is_shared(&self, from: usize) -> Option<bool> {
        self.stretches.get(&from).map(|stretch| stretch.shared)
    }

    fn pieces(&mut self, base: usize, bytes: usize) -> SmallVec<[(usize, usize, bool); 1]> {
        let end = base.saturating_add(bytes);
        let mut pieces = smallvec![];
        if bytes == 0 {
            return pieces;
        }
        let mut done = end;
        // From the last to the first, each with what follows it.
        for (start, stretch) in self.stretches.range_mut(..end).rev().take_while(|(_, stretch)| stretch.end > base) {
            stretch.shared |= *start > base || stretch.end < end;
            if stretch.end < done {
                pieces.push((stretch.end - base, done - stretch.end, false));
                done = stretch.end;
            }
            let first = (*start).max(base);
            pieces.push((first - base, done - first, true));
            done = first;
        }
        if done > base {
            pieces.push((0, done - base, false));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn memory_is_kept_by_size_up_to_a_limit() {
        let mut kept = Kept::new(800);
        assert!(kept.put(1, 60) && !kept.put(2, 60) && kept.put(3, 40));
        assert_eq!((kept.take(50), kept.take(40), kept.take(40)), (None, Some(3), None));
        assert!(kept.put(4, 10) && kept.bytes == 70);
        let mut all = kept.take_all();
        all.sort();
        assert_eq!((all, kept.bytes, kept.take(60)), (vec![1, 4], 0, None));
        assert!(!kept.put(5, usize::MAX));
    }

    #[test]
    fn no_more_is_pinned_than_the_limit() {
        let mut pinned = Pinned::new(100);
        assert!(pinned.add(0, 60) && !pinned.add(100, 141) && pinned.add(200, 240));
        pinned.remove(0);
        assert!(pinned.add(300, 360) && pinned.bytes == 100);
        assert_eq!(pinned.pieces(290, 20).as_slice(), [(10, 10, true), (0, 10, false)]);
    }

    #[test]
    fn pages_hold_all_bytes() {
        assert_eq!(pages(4096, 4096, 4096), Some((4096, 8192)));
        assert_eq!(pages(4097, 4096, 4096), Some((4096, 12288)));
        assert_eq!(pages(8191, 1, 4096), Some((4096, 8192)));
        assert_eq!(pages(8192, 0, 4096), None);
        assert_eq!(pages(usize::MAX - 10, 5, 4096), None);
        assert!(page_size().is_power_of_two());
    }

    proptest! {
        /// Each piece is pinned as a whole or not at all, and together they are the stretch, each byte once.
        #[test]
        fn pieces_are_pinned_or_not(
            wanted in prop::collection::vec((0usize..60, 1usize..12), 0..8),
            base in 0usize..60,
            bytes in 0usize..40,
        ) {
            let mut pinned = Pinned::new(usize::MAX);
            let mut is_pinned = [false; 128];
            for (from, n) in wanted {
                let free = !is_pinned[from..from + n].contains(&true);
                prop_assert_eq!(pinned.add(from, from + n), free);
                is_pinned[from..from + n].fill(true);
                if !free {
                    // Only what was added counts.
                    is_pinned.fill(false);
                    pinned.stretches.iter().for_each(|(from, stretch)| is_pinned[*from..stretch.end].fill(true));
                }
            }
            let mut seen = [0; 128];
            for (offset, n, whole) in pinned.pieces(base, bytes) {
                prop_assert!(n > 0);
                seen[base + offset..][..n].iter_mut().for_each(|times| *times += 1);
                prop_assert!(is_pinned[base + offset..][..n].iter().all(|pinned| *pinned == whole));
            }
            prop_assert!((0..128).all(|at| seen[at] == (base..base + bytes).contains(&at) as u32));
            for (from, stretch) in &pinned.stretches {
                let touched = bytes > 0 && *from < base + bytes && stretch.end > base;
                let whole = *from <= base && stretch.end >= base + bytes;
                prop_assert_eq!(pinned.is_shared(*from), Some(touched && !whole));
            }
        }
    }
}
