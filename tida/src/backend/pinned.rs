//! Memory of the host for copies to and from a device.

use std::sync::Arc;

use super::Backend;

/// Blocks of at least this many bytes are pinned: for smaller ones it takes longer than it saves.
const WORTH_PINNING: usize = 1 << 16;

/// Bytes of a page.
const PAGE: usize = 4096;

#[derive(Clone, Copy, Debug)]
#[repr(align(4096))]
struct Page(#[allow(dead_code)] [u8; PAGE]);

/// A block of the host's memory, of whole pages (they are pinned as a whole, so nobody else may have a part in them)
/// and zero at first; pinned if it is large and the system allows it.
#[derive(Debug)]
pub(crate) struct HostBlock {
    pages: *mut [Page],
    pinned: Option<Arc<dyn Backend>>,
}

// SAFETY: the block is owned; what it points to is plain bytes, and only `start` gives it away.
unsafe impl Send for HostBlock {}
// SAFETY: as above.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    /// A block of at least so many bytes.
    pub fn new(backend: &Arc<dyn Backend>, bytes: usize) -> HostBlock {
        let pages = Box::into_raw(vec![Page([0; PAGE]); bytes.div_ceil(PAGE)].into_boxed_slice());
        // SAFETY: the memory lives until it is unpinned, when this is dropped.
        let pinned = bytes >= WORTH_PINNING && unsafe { backend.pin(pages.cast(), bytes) };
        HostBlock { pages, pinned: pinned.then(|| backend.clone()) }
    }

    /// Its first byte. The block is not borrowed: a device may read one part while another is written.
    pub fn start(&self) -> *mut u8 {
        self.pages.cast()
    }

    /// A part of it, cut off at its end.
    pub fn part(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        let end = (at + bytes).min(PAGE * self.pages.len());
        let at = at.min(end);
        // SAFETY: the part lies in the block, and the borrow keeps other parts from being borrowed; what a device reads
        // meanwhile are other bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start().add(at), end - at) }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if let Some(backend) = &self.pinned {
            // SAFETY: pinned by this backend; who used it has waited for all copies.
            unsafe { backend.unpin(self.start()) }
        }
        // SAFETY: it came from a box, and is given back once.
        drop(unsafe { Box::from_raw(self.pages) });
    }
}
