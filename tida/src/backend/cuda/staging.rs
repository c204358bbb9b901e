//! Copies of host memory that is not pinned: through pinned buffers, piece by piece.
//!
//! The driver would copy such memory too, but on the thread that asks and at a fraction of the link's speed. Here a
//! lane is a stream with one pinned buffer: the host copies a piece into the buffer (in the stream's order, on several
//! threads) and the link takes it from there, or the other way round, while the next piece is under way in another
//! lane. The stream that asked waits for the lanes by events: for the caller nothing differs from a copy of pinned
//! memory.
//!
//! Copies of few bytes are left to the driver. It reads the host's memory at the call, before what the stream waits for
//! is done. So nothing that an upload may read is still to come: downloads that the driver makes are waited for (it
//! waits itself), and once one went through lanes, all uploads of such memory do.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, OnceLock, PoisonError};

use super::Context;
use super::probe::call;
use super::sys::{self, CUstream};
use crate::backend::Memory;
use crate::error::Error;

/// Bytes of a buffer. Smaller pieces cost more calls, larger ones more time until the first is on its way.
const BUFFER: usize = 8 << 20;

/// Copies of fewer bytes are the driver's, which has buffers for those.
const WORTH_STAGING: usize = 1 << 20;

/// Lanes for each direction.
const LANES: usize = 3;

/// Threads that copy between memory and buffers, at most: more do not make the host's memory faster.
const THREADS: usize = 8;

/// The lanes of a device.
#[derive(Debug, Default)]
pub(super) struct Staging {
    up: Vec<Lane>,
    down: Vec<Lane>,
    /// They could not be made.
    failed: bool,
    /// A download went through them.
    went_down: bool,
}

/// A stream with a pinned buffer that its pieces pass through in order.
#[derive(Debug)]
struct Lane {
    stream: CUstream,
    buffer: *mut c_void,
}

// SAFETY: handles of the driver, which any thread may use.
unsafe impl Send for Lane {}

/// Where host memory is copied to or from.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Up(*const u8),
    Down(*mut u8),
}

/// A piece that the host copies.
struct Piece {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
}

// SAFETY: whoever made it keeps the memory for whoever runs it.
unsafe impl Send for Piece {}
// SAFETY: as above; its parts are apart.
unsafe impl Sync for Piece {}

impl Context {
    /// Copies memory that is not pinned, in the order of the stream; `false` if that is left to the driver.
    ///
    /// # Safety
    /// As [`crate::backend::Backend::upload`] and [`crate::backend::Backend::download`].
    ///
    /// # Errors
    /// What the driver reports.
    pub(super) unsafe fn stage(
        self: &Arc<Context>,
        stream: usize,
        (memory, at): (&Memory, usize),
        way: Way,
        bytes: usize,
    ) -> Result<bool, Error> {
        let driver = self.enter()?;
        // Held until all is in the lanes: pieces of one copy stay together.
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let is_up = matches!(way, Way::Up(_));
        if bytes < WORTH_STAGING && !(is_up && staging.went_down) {
            return Ok(false);
        }
        if staging.up.is_empty() && !staging.failed {
            let lanes = || (0..LANES).map(|_| self.lane()).collect::<Result<Vec<Lane>, Error>>();
            match lanes().and_then(|up| Ok((up, lanes()?))) {
                Ok((up, down)) => (staging.up, staging.down) = (up, down),
                Err(error) => {
                    tracing::warn!(%error, "no buffers for memory that is not pinned: its copies are slow");
                    staging.failed = true;
                }
            }
        }
        if staging.failed {
            return Ok(false);
        }
        staging.went_down |= !is_up;
        let lanes = if is_up { &staging.up } else { &staging.down };
        let before = self.mark(self.stream(stream)?)?;
        let followed = lanes.iter().try_for_each(|lane| self.follow(lane.stream, before));
        self.give_back(before, false);
        followed?;
        for (n, start) in (0..bytes).step_by(BUFFER).enumerate() {
            let (lane, bytes) = (&lanes[n % LANES], BUFFER.min(bytes - start));
            let device = memory.raw + (at + start) as u64;
            // SAFETY: both memories have these bytes, by the caller's promise; the buffer has room for a piece, and the
            // lane's earlier pieces have left it when this one's turn comes.
            unsafe {
                match way {
                    Way::Up(from) => {
                        self.on_host(lane, Piece { from: from.add(start), to: lane.buffer.cast(), bytes })?;
                        call!(driver, cuMemcpyHtoDAsync_v2(device, lane.buffer, bytes, lane.stream))?;
                    }
                    Way::Down(to) => {
                        call!(driver, cuMemcpyDtoHAsync_v2(lane.buffer, device, bytes, lane.stream))?;
                        self.on_host(lane, Piece { from: lane.buffer.cast_const().cast(), to: to.add(start), bytes })?;
                    }
                }
            }
        }
        for lane in lanes {
            let after = self.mark(lane.stream)?;
            let followed = self.follow(self.stream(stream)?, after);
            self.give_back(after, false);
            followed?;
        }
        Ok(true)
    }

    /// A stream and its buffer.
    fn lane(&self) -> Result<Lane, Error> {
        let driver = self.enter()?;
        let (mut stream, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the place for the answer is valid; destroyed with the context.
        unsafe { call!(driver, cuStreamCreateWithPriority(&mut stream, sys::CU_STREAM_NON_BLOCKING, 0)) }?;
        // SAFETY: as above.
        let made = unsafe { call!(driver, cuMemHostAlloc(&mut buffer, BUFFER, 0)) };
        if let Err(error) = made {
            self.drop_lane(&Lane { stream, buffer });
            return Err(error);
        }
        Ok(Lane { stream, buffer })
    }

    /// Lets the host copy a piece when the lane comes to it.
    ///
    /// # Safety
    /// The memories hold the bytes, and are left alone, until that is done.
    unsafe fn on_host(&self, lane: &Lane, piece: Piece) -> Result<(), Error> {
        let piece = Box::into_raw(Box::new(piece));
        // SAFETY: `copy_piece` takes the box that it is given, once.
        let launched = unsafe { call!(self.driver, cuLaunchHostFunc(lane.stream, copy_piece, piece.cast())) };
        if launched.is_err() {
            // SAFETY: the driver has not taken it.
            drop(unsafe { Box::from_raw(piece) });
        }
        launched
    }

    /// For the end of the context, which is current: nothing is under way in the lanes.
    pub(super) fn drop_staging(&mut self) {
        let staging = std::mem::take(self.staging.get_mut().unwrap_or_else(PoisonError::into_inner));
        for lane in staging.up.iter().chain(&staging.down) {
            self.drop_lane(lane);
        }
    }

    fn drop_lane(&self, lane: &Lane) {
        // SAFETY: made by `lane`, and given back once.
        let codes = unsafe {
            let waited = (self.driver.cuStreamSynchronize)(lane.stream);
            [waited, (self.driver.cuStreamDestroy_v2)(lane.stream)]
        };
        codes.into_iter().for_each(|code| self.ignore("cuStreamDestroy", code));
        if !lane.buffer.is_null() {
            // SAFETY: as above; the lane has ended.
            let code = unsafe { (self.driver.cuMemFreeHost)(lane.buffer) };
            self.ignore("cuMemFreeHost", code);
        }
    }
}

/// Copies a piece, on a thread of the driver's.
unsafe extern "C" fn copy_piece(piece: *mut c_void) {
    // SAFETY: `on_host` gave the driver this box, for one call.
    let piece = unsafe { Box::from_raw(piece.cast::<Piece>()) };
    match copiers() {
        Some(pool) => pool.scope(|scope| {
            for n in 0..THREADS {
                let piece = &piece;
                scope.spawn(move |_| piece.copy(n));
            }
        }),
        None => (0..THREADS).for_each(|n| piece.copy(n)),
    }
}

impl Piece {
    /// Copies a part in [`THREADS`].
    fn copy(&self, n: usize) {
        let part = self.bytes.div_ceil(THREADS).next_multiple_of(4096);
        let start = (n * part).min(self.bytes);
        let bytes = part.min(self.bytes - start);
        // SAFETY: both memories have the bytes, and whoever made the piece keeps others away; parts do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.from.add(start), self.to.add(start), bytes) };
    }
}

/// The threads that copy, the driver's own if none can be had.
fn copiers() -> Option<&'static rayon::ThreadPool> {
    static COPIERS: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS));
    let start =
        || rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("tida-copy-{i}")).build();
    COPIERS.get_or_init(|| start().ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_piece_is_copied() {
        for bytes in [0usize, 1, 4095, 4096, 100_000, 1_000_003] {
            let from: Vec<u8> = (0..bytes).map(|n| (n * 31 % 251) as u8).collect();
            let mut to = vec![0xffu8; bytes];
            let piece = Box::new(Piece { from: from.as_ptr(), to: to.as_mut_ptr(), bytes });
            // SAFETY: both vectors are there until it returns.
            unsafe { copy_piece(Box::into_raw(piece).cast()) };
            assert!(from == to);
        }
    }
}
