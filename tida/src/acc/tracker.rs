//! What recorded work does to one array.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// Per array: the recorded work that touches it, and how old its ghosts are.
///
/// Ages follow the order of recording, not of running.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// Counts writes of cells. A new array has its zeros.
    cells: AtomicU64,
    /// What `cells` was when ghosts were last filled.
    filled: AtomicU64,
    /// Whether constant ghosts were filled, and nothing else has written ghosts since.
    fixed: AtomicBool,
}

impl Default for Tracker {
    fn default() -> Self {
        Tracker { cells: AtomicU64::new(1), filled: AtomicU64::new(0), fixed: AtomicBool::new(false) }
    }
}

/// How a piece of work touches an array.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    /// The array.
    pub tracker: Arc<Tracker>,
    /// One region, or all.
    pub region: Option<usize>,
    /// Reads what was there.
    pub read: bool,
    /// Writes.
    pub write: bool,
}

#[allow(dead_code)]
impl Tracker {
    /// Cells were written (recorded or by the host): ghosts are now older than them.
    pub(crate) fn cells_written(&self) {
        self.cells.fetch_add(1, SeqCst);
    }

    /// Ghosts were filled: they are as new as the cells.
    pub(crate) fn ghosts_filled(&self) {
        self.filled.store(self.cells.load(SeqCst), SeqCst);
        self.fixed.store(true, SeqCst);
    }

    /// Ghost cells were written by something other than `fill_ghosts`: fixed values must be put back.
    pub(crate) fn ghosts_overwritten(&self) {
        self.fixed.store(false, SeqCst);
    }

    /// Whether ghosts are as new as the cells.
    pub(crate) fn ghosts_fresh(&self) -> bool {
        self.filled.load(SeqCst) == self.cells.load(SeqCst)
    }

    /// Whether constant (fixed) ghosts still hold their values since the last fill.
    pub(crate) fn fixed_ghosts_hold(&self) -> bool {
        self.fixed.load(SeqCst)
    }

    /// Takes over the ages of `other`, of which this array is now a copy, ghosts included.
    pub(crate) fn copy_ages(&self, other: &Tracker) {
        if other.ghosts_fresh() {
            self.filled.store(self.cells.load(SeqCst), SeqCst);
        } else {
            self.cells_written();
        }
        self.fixed.store(other.fixed_ghosts_hold(), SeqCst);
    }
}
