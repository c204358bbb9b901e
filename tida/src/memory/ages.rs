//! How old the ghosts of an array are, and who has set them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::copies::{Copies, Swept};

/// How old the ghosts of an array are.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    /// Counts writes of cells, recorded or by the host.
    cells: AtomicU64,
    /// `cells + 1` at the last ghost fill; 0 before the first.
    ghosts: AtomicU64,
    /// Fixed ghosts hold their values.
    fixed: AtomicBool,
    /// Something other than a fill has set ghosts since the last fill.
    set: AtomicBool,
    /// A kernel has set ghosts that fills set too, and no cell is newer: they hold other values than those of a fill.
    replaced: AtomicBool,
    /// The axis beyond whose faces a kernel has last set ghosts as a part of the last fill, and 1; 0 if none has.
    face: AtomicUsize,
    /// The user has said that ghosts may be older than the cells.
    stale_allowed: AtomicBool,
    /// What its parts have as cells of one another, if it lies on several places.
    copies: OnceLock<Copies>,
}

impl Ages {
    /// Cells were written (recorded or by the host): ghosts are now older than them.
    pub fn cells_written(&self) {
        self.count_write();
        self.copies().inspect(|copies| copies.lost());
    }

    fn count_write(&self) {
        self.face.store(0, Ordering::Relaxed);
        self.cells.fetch_add(1, Ordering::Relaxed);
        self.replaced.store(false, Ordering::Relaxed);
    }

    /// A kernel has written cells of a part of the array, and says what became of the part's copies, and how many
    /// planes are good beyond all parts then.
    pub fn cells_swept(&self, part: usize, sides: [Swept; 2], depths: [i64; 2]) {
        self.count_write();
        self.copies().inspect(|copies| copies.swept(part, sides, depths));
    }

    /// A number that changes with each write of cells.
    pub fn version(&self) -> u64 {
        self.cells.load(Ordering::Relaxed)
    }

    /// Its parts have copies of one another.
    pub fn hold_copies(&self, copies: Copies) {
        let _ = self.copies.set(copies);
    }

    /// What its parts have as cells of one another.
    pub fn copies(&self) -> Option<&Copies> {
        self.copies.get()
    }

    /// Ghosts were filled: they are as new as the cells.
    pub fn ghosts_filled(&self) {
        self.face.store(0, Ordering::Relaxed);
        self.ghosts.store(self.cells.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.stale_allowed.store(false, Ordering::Relaxed);
        self.set.store(false, Ordering::Relaxed);
        self.replaced.store(false, Ordering::Relaxed);
        self.fixed.store(true, Ordering::Relaxed);
    }

    /// A kernel has set ghosts beyond a face of this axis, as a part of the fill.
    pub fn face_set(&self, axis: usize) {
        self.face.store(axis + 1, Ordering::Relaxed);
    }

    /// The axis of the last face whose ghosts a kernel has set since the last fill.
    pub fn last_face(&self) -> Option<usize> {
        self.face.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Ghosts count as new as the cells, whatever they hold.
    pub fn ghosts_allowed(&self) {
        self.ghosts.store(self.cells.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.stale_allowed.store(true, Ordering::Relaxed);
    }

    /// Whether ghosts count as new as the cells because the user has said so.
    pub fn is_stale_allowed(&self) -> bool {
        self.stale_allowed.load(Ordering::Relaxed)
    }

    /// Ghost cells were written by something other than `fill_ghosts`; where that may have been `fixed` ones, their
    /// values must be put back.
    pub fn ghosts_overwritten(&self, fixed: bool) {
        if fixed {
            self.ghosts_lost();
        }
        self.set.store(true, Ordering::Relaxed);
        self.copies().inspect(|copies| copies.ghosts_lost());
    }

    /// A kernel has written ghosts alone, perhaps some that `fill_ghosts` sets.
    pub fn ghosts_written(&self, filled: bool) {
        self.ghosts_overwritten(filled);
        if filled {
            self.replaced.store(true, Ordering::Relaxed);
        }
    }

    /// Whether ghosts that may be read hold other values than those of a fill, where fills set them.
    pub fn has_other_ghosts(&self) -> bool {
        self.is_stale_allowed() || self.replaced.load(Ordering::Relaxed)
    }

    /// Ghost cells have no value before they are filled: fixed values must be put back.
    pub fn ghosts_lost(&self) {
        self.fixed.store(false, Ordering::Relaxed);
    }

    /// Whether ghosts outlive their cells: the user has set them, or may read them though they are older. Otherwise
    /// they have no value from the time that their cells are written to the next fill, but for those that a fill leaves
    /// to the user.
    pub fn keeps_ghosts(&self) -> bool {
        self.are_ghosts_set() || self.is_stale_allowed()
    }

    /// Whether something other than a fill has set ghosts since the last fill: others may be copies of those.
    pub fn are_ghosts_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }

    /// Whether ghosts are as new as the cells.
    pub fn ghosts_fresh(&self) -> bool {
        self.ghosts.load(Ordering::Relaxed) == self.cells.load(Ordering::Relaxed) + 1
    }

    /// Whether constant (fixed) ghosts still hold their values since the last fill.
    pub fn fixed_ghosts_hold(&self) -> bool {
        self.fixed.load(Ordering::Relaxed)
    }

    /// Takes over the ages of an array of which this one is now a copy, ghosts included.
    pub fn copied_from(&self, other: &Ages) {
        if other.ghosts_fresh() {
            self.ghosts.store(self.cells.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            self.cells_written();
        }
        self.fixed.store(other.fixed_ghosts_hold(), Ordering::Relaxed);
        self.set.store(other.are_ghosts_set(), Ordering::Relaxed);
        self.replaced.store(other.replaced.load(Ordering::Relaxed), Ordering::Relaxed);
        match (self.copies(), other.copies()) {
            (Some(copies), Some(others)) => copies.copied_from(others),
            (Some(copies), None) => copies.ghosts_lost(),
            (None, _) => {}
        }
    }
}
