//! Filling ghosts in the host's memory: the one executor of what the compiler gives for it.

use super::super::rows::Shared;
use super::super::storage::Storage;
use super::Which;
use super::plan::{GhostCopy, GhostPlan};
use crate::backend::cpu::{Memories, copy_box};
use crate::parallel;

/// Cells worth a task of their own.
const GRAIN: usize = 1 << 13;

/// An array's memory on the host, and how its ghosts are filled.
#[derive(Clone, Copy)]
pub(super) struct OnHost<'a> {
    plan: &'a GhostPlan,
    storage: &'a Storage,
    /// Where strips are that are read and written, if they are.
    strips: Option<Shared<u8>>,
}

impl<'a> OnHost<'a> {
    /// # Safety
    /// The plan was made for arrays of this geometry and type, and nobody else touches what is set by the calls of this
    /// value, or writes what they read, while they run.
    pub unsafe fn new(plan: &'a GhostPlan, storage: &'a Storage) -> OnHost<'a> {
        OnHost { plan, storage, strips: None }
    }

    /// The same where what copies have in strips is read and written there, from that address on.
    ///
    /// # Safety
    /// It is aligned to 16 bytes and has all of the strips, which no one else touches.
    pub unsafe fn with_strips(self, strips: *mut u8) -> OnHost<'a> {
        OnHost { strips: Some(Shared::new(strips)), ..self }
    }

    /// Fills the ghosts of all regions, in the thread pool that calls it.
    pub fn fill(self, which: Which) {
        for phase in &self.plan.phases {
            let moving: &[_] = if which == Which::Fixed { &[] } else { &phase.moving };
            let constant: &[_] = if which == Which::Moving { &[] } else { &phase.fixed };
            [moving, constant].into_iter().for_each(|copies| self.copies(copies));
        }
    }

    /// Does copies of one phase, in the thread pool that calls it.
    pub fn copies(self, copies: &[GhostCopy]) {
        let cells: usize = copies.iter().map(|copy| copy.cells.cells()).sum();
        let at_least = if cells <= GRAIN { copies.len() } else { copies.len() * GRAIN / cells };
        parallel::each(copies.len(), at_least, &|n| self.copy(&copies[n]));
    }

    /// Does a copy, on the calling thread. Those of one phase may be done at once.
    pub fn copy(self, copy: &GhostCopy) {
        let base = |region: usize, packed: Option<usize>| match (&self.strips, packed) {
            (Some(strips), Some(_)) => strips.get(),
            _ => self.storage.base(region),
        };
        let mut sources = copy.sources().map(|source| base(source.region, source.packed).cast_const());
        let near = sources.next().unwrap_or(std::ptr::null());
        let memories = Memories { to: base(copy.region, copy.packed), from: [near, sources.next().unwrap_or(near)] };
        for (kind, boxes) in self.plan.on_host(copy, self.strips.is_some()) {
            // SAFETY: regions have the cells of the plan's copies; within a phase no copy writes what another touches;
            // the rest was promised when this was made.
            unsafe { copy_box(&kind, &boxes, memories) };
        }
    }
}
