//! Copies between the file of an array and a device, of stretches that someone waits for.

use std::sync::Arc;

use super::backing::{ALIGN, Backing};
use super::row::Piece;
use super::storage::Storage;
use crate::backend::{COPIES, Memory};
use crate::device::core::DeviceCore;
use crate::device::timeline::SpanKind;
use crate::error::Error;

/// Bytes that pass through memory of the host at once.
const AT_ONCE: usize = 8 << 20;

impl Storage {
    /// Copies pieces of a region from the file to the device's memory of the array, and waits until that is done. What
    /// comes later in any stream finds them there.
    ///
    /// # Safety
    /// The memory has the pieces, and no one uses them there meanwhile, or writes them in the file.
    ///
    /// # Errors
    /// A read or a copy that failed.
    pub(super) unsafe fn upload_staged(
        &self,
        device: &DeviceCore,
        (region, backing): (usize, &Backing),
        memory: &Arc<Memory>,
        pieces: &[Piece],
    ) -> Result<(), Error> {
        let backend = device.backend();
        let mut passage = device.passages().take(backend, AT_ONCE + 2 * ALIGN);
        let mut copied = Ok(());
        for Piece { host, device: there, bytes } in pieces {
            for done in (0..*bytes).step_by(AT_ONCE) {
                let (at, bytes) = (host + done, AT_ONCE.min(bytes - done));
                let lead = backing.lead(region, at);
                copied = copied.and_then(|()| {
                    backing.read_blocks(region, at, bytes, passage.host.part(0, AT_ONCE + 2 * ALIGN))?;
                    let from = passage.host.start().wrapping_add(lead);
                    let name = format_args!("R{region}");
                    device.timed(SpanKind::H2d, name, COPIES, bytes, || {
                        // SAFETY: both memories have the bytes; the rest is the caller's promise.
                        unsafe { backend.upload(COPIES, memory, there + done, from, bytes) }
                    })?;
                    backend.record(COPIES)?.finish()
                });
            }
        }
        device.passages().give(passage);
        copied
    }

    /// The same the other way round.
    ///
    /// # Safety
    /// The memory has the pieces, and no one writes them there meanwhile, or touches them in the file.
    ///
    /// # Errors
    /// A copy or a write that failed.
    pub(super) unsafe fn download_staged(
        &self,
        device: &DeviceCore,
        (region, backing): (usize, &Backing),
        memory: &Arc<Memory>,
        pieces: &[Piece],
    ) -> Result<(), Error> {
        let backend = device.backend();
        let mut passage = device.passages().take(backend, AT_ONCE + 2 * ALIGN);
        let mut copied = Ok(());
        for Piece { host, device: there, bytes } in pieces {
            for done in (0..*bytes).step_by(AT_ONCE) {
                let (at, bytes) = (host + done, AT_ONCE.min(bytes - done));
                let to = passage.host.start().wrapping_add(backing.lead(region, at));
                copied = copied.and_then(|()| {
                    let piece = std::iter::once((there + done, to, bytes));
                    // SAFETY: both memories have the bytes; the rest is the caller's promise.
                    unsafe { device.download_named(format_args!("R{region}"), memory, piece)? };
                    backing.write_blocks(region, at, bytes, passage.host.part(0, AT_ONCE + 2 * ALIGN))
                });
            }
        }
        device.passages().give(passage);
        copied.and_then(|()| backing.settle())
    }
}
