//! Threads that may still give commands. The clock of simulated devices that are several stands still meanwhile: so
//! virtual time does not depend on which thread of the host is quick.

use std::cell::Cell;

use super::Backend;

thread_local! {
    /// Pieces of work that the thread is at, one inside of another.
    static PIECES: Cell<usize> = const { Cell::new(0) };
}

/// A piece of work that the calling thread is at, until it is dropped. It was counted before ([`Backend::works`]).
#[must_use]
pub(crate) struct AtWork<'a>(&'a dyn Backend);

impl<'a> AtWork<'a> {
    pub fn on(device: &'a dyn Backend) -> AtWork<'a> {
        PIECES.set(PIECES.get() + 1);
        AtWork(device)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        PIECES.set(PIECES.get().saturating_sub(1));
        self.0.works(1, false);
    }
}

/// That the calling thread waits for others, until it is dropped: it gives no commands meanwhile. A thread that is at
/// no piece of work is one of the program's.
#[must_use]
pub(crate) struct Waits<'a> {
    device: &'a dyn Backend,
    pieces: usize,
}

impl<'a> Waits<'a> {
    pub fn on(device: &'a dyn Backend) -> Waits<'a> {
        let pieces = PIECES.replace(0);
        match pieces {
            0 => device.waits(true),
            pieces => device.works(pieces, false),
        }
        Waits { device, pieces }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        PIECES.set(self.pieces);
        match self.pieces {
            0 => self.device.waits(false),
            pieces => self.device.works(pieces, true),
        }
    }
}

/// Pieces of work that the calling thread is at.
pub(super) fn pieces() -> usize {
    PIECES.get()
}
