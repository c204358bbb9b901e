//! What recorded work does to one array.

use std::sync::Arc;

/// Per array: the recorded work that touches it, and how old its ghosts are.
#[derive(Debug, Default)]
pub(crate) struct Tracker {}

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
    pub(crate) fn cells_written(&self) {}

    /// Ghosts were filled: they are as new as the cells.
    pub(crate) fn ghosts_filled(&self) {}

    /// Ghost cells were written by something other than `fill_ghosts`: fixed values must be put back.
    pub(crate) fn ghosts_overwritten(&self) {}

    /// Whether ghosts are as new as the cells.
    pub(crate) fn ghosts_fresh(&self) -> bool {
        true
    }

    /// Whether constant (fixed) ghosts still hold their values since the last fill.
    pub(crate) fn fixed_ghosts_hold(&self) -> bool {
        false
    }
}
