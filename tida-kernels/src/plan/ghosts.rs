//! Ghosts that a sweep sets as it writes the cells whose values they take.
//!
//! A fill of its own reads what the sweep before it wrote, and writes single values far apart where the face is one of the last
//! axis: for D3Q19 in halves it takes half as long as the sweep. A thread that has the cell at hand stores it there too.

use crate::ir::Kernel;
use crate::plan::{Goal, Plan};

/// Ghosts beyond one face of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Beyond {
    /// How many there are along the axis that take values of cells; 0 where others fill them, or they keep what they hold.
    pub layers: u32,
    /// They are the cells at the other end; else each is the cell as far inside of the face.
    pub wraps: bool,
}

/// The ghosts of an array that a sweep over its whole domain sets. One beyond several faces is what each of them says, axis by
/// axis. No cell is the value of two ghosts along one axis: there are at least as many cells as layers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ghosts {
    /// The argument, which is written.
    pub arg: u8,
    /// Beyond the faces along each axis of the kernel.
    pub faces: Vec<[Beyond; 2]>,
}

impl Plan {
    /// Whether a sweep of such a plan may set ghosts: one from memory, whose threads have one cell each. Those that march, or share
    /// tiles, are bound by the order of their reads.
    pub fn may_set_ghosts(&self, kernel: &Kernel) -> bool {
        let plain = self.goal == Goal::Sweep && self.fused.is_none() && kernel.group.is_none();
        plain && !self.many && !self.checked && !self.caches() && self.marches(kernel.rank).is_none()
    }
}
