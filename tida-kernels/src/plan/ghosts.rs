//! Ghosts that a sweep does not read: it reads the cells whose values they are to have.
//!
//! A fill stores single values far apart where the face is one of the last axis, and each read of them takes a sector
//! of its own: for D3Q19 in halves that costs half as much as the sweep. A thread beyond whose cell the domain ends
//! goes on at the other end.

use crate::analysis::{ArrayAccess, IndexForm, Symbol};
use crate::ir::{Access, Kernel};
use crate::plan::fuse::Face;
use crate::plan::{Goal, Plan};

/// Ghosts beyond one face of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Beyond {
    /// How many there are along the axis that are to have values of cells; 0 where memory holds what is read there.
    pub layers: u32,
    /// They are the cells at the other end; else each is the cell as far inside of the face.
    pub wraps: bool,
}

impl Beyond {
    /// Whether they have the values that steps in one launch find beyond such a face. One layer of the nearest cell is
    /// that cell as far inside.
    pub fn is_of(self, face: Face) -> bool {
        match face {
            Face::Wrap => self.wraps,
            Face::Even => !self.wraps,
            Face::Nearest => !self.wraps && self.layers == 1,
            Face::Memory | Face::Constant | Face::Follow => false,
        }
    }
}

/// The ghosts of an array of which a sweep over its whole domain reads the cells instead. One beyond several faces is
/// what each of them says, axis by axis. There are at least as many cells as layers along each axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ghosts {
    /// The argument, which is read.
    pub arg: u8,
    /// Beyond the faces along each axis of the kernel.
    pub faces: Vec<[Beyond; 2]>,
}

impl Plan {
    /// Whether a sweep of such a plan may read cells instead of ghosts: one from memory, whose threads have one cell
    /// each. Those that march, or share tiles, are bound by the order of their reads.
    pub fn may_read_inside(&self, kernel: &Kernel) -> bool {
        let plain = self.goal == Goal::Sweep && self.fused.is_none() && kernel.group.is_none();
        plain
            && !self.is_in_place()
            && !self.many
            && !self.checked
            && !self.caches()
            && self.marches(kernel.rank).is_none()
    }

    /// Whether it reads cells instead of ghosts of an argument.
    pub fn reads_inside(&self, arg: usize) -> bool {
        self.ghosts.iter().any(|ghosts| usize::from(ghosts.arg) == arg)
    }
}

/// Whether all reads of an argument are of the cell, or at constants from it, so that it takes little to find the cell
/// inside.
pub fn reads_near<'a>(access: Access, mut accesses: impl Iterator<Item = &'a ArrayAccess>) -> bool {
    let near = |access: &ArrayAccess| {
        access.index.iter().enumerate().all(|(axis, form)| match form {
            IndexForm::Affine(form) => form.terms == [(Symbol::At(axis as u32), 1)],
            IndexForm::Opaque(_) => false,
        })
    };
    access == Access::Read && accesses.all(near)
}
