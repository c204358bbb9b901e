//! Copies of boxes, as the emitted kernel does them (`tida_kernels::emit::copies`).

use std::ptr;

use tida_kernels::emit::copies::{BoxCopy, Kind};

use crate::backend::cpu::{Memories, copy_box};

/// Does the copies, for the scalar type whose emitted kernel would.
///
/// # Safety
/// The addresses are those of live memory that holds all places, in values of that type, and no one else touches what
/// is touched.
pub(super) unsafe fn run(kind: Kind, list: &[BoxCopy], to: u64, from: u64) {
    let from = [ptr::with_exposed_provenance(from as usize); 2];
    let memories = Memories { to: ptr::with_exposed_provenance_mut(to as usize), from };
    // SAFETY: the caller's promise.
    list.iter().for_each(|copy| unsafe { copy_box(&kind, copy, memories) });
}
