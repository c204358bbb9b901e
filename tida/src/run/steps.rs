//! Steps that follow one another on two arrays that alternate: which may run as one launch.

use std::sync::Arc;

use tida_kernels::plan::fuse::{Face, Faces};

use super::op::Op;
use crate::device::core::DeviceCore;
use crate::grid::GridBox;
use crate::launch::fused::{depth, why_single};
use crate::launch::step::{Launch, Together};
use crate::memory::ghosts::planes::PlaneFacts;
use crate::memory::tracker::Tracker;
use crate::program::fuse::{Following, Pair, Recorded, Sides, following};

/// What an array is known by.
pub(crate) fn identity(tracker: &Arc<Tracker>) -> usize {
    Arc::as_ptr(tracker) as usize
}

/// Steps that follow one another, and what they launch.
pub(crate) struct Steps {
    following: Following,
    launches: Vec<Arc<dyn Launch>>,
}

/// The steps that follow one another from the first of these operations on; nothing if that is none.
pub(crate) fn steps<'a>(ops: impl Iterator<Item = Option<&'a Op>> + Clone) -> Option<Steps> {
    let recorded = |op: Option<&'a Op>| op.map_or(Recorded::Other, Op::recorded);
    let following = following(ops.clone().map(recorded))?;
    let mut at = following.steps.iter().copied().peekable();
    let step = |(number, op): (usize, Option<&Op>)| {
        at.next_if_eq(&number).and(op).and_then(Op::kernel).map(|sweep| sweep.as_step().clone())
    };
    let launches = ops.enumerate().filter_map(step).take(following.steps.len()).collect();
    Some(Steps { following, launches })
}

impl Steps {
    /// The arrays of the first one, and how far any of them reads.
    pub fn pair(&self) -> &Pair {
        &self.following.pair
    }

    /// Whether they compute ghosts that kernels have set.
    pub fn computes(&self) -> bool {
        !self.following.computed.is_empty()
    }

    /// Where the sweeps of the first step of each kernel are.
    pub fn kernels(&self) -> &[usize] {
        self.following.sweeps(1)
    }

    /// How many of them there are.
    pub fn count(&self) -> usize {
        self.launches.len()
    }

    /// Where the second one is.
    pub fn second(&self) -> Option<usize> {
        self.following.steps.get(1).copied()
    }

    /// How many of what was recorded are these steps and what lies between them.
    pub fn held(&self) -> usize {
        self.following.steps.last().map_or(1, |last| last + 1)
    }

    /// See [`Following::first`].
    pub fn first(&self, steps: u32) -> Option<usize> {
        self.following.first(steps)
    }

    /// How many run together over boxes like `cells`, at most `most`, and whether it could be more if more were there;
    /// of planes that stream, or of arrays that have room.
    pub fn together(
        &self,
        device: &DeviceCore,
        (cells, faces): (&GridBox<4>, &Faces),
        (most, streams): (u32, bool),
    ) -> (u32, bool) {
        let all = (&*self.launches, self.following.kernels);
        let depth = |most: u32| depth(all, device, (cells, faces), (most, streams));
        let wanted = depth(most);
        // The step after them overwrites what they do not leave.
        let there = self.launches.len() as u32 - 1;
        (if wanted <= there { wanted } else { depth(there.min(most)) }, wanted > there)
    }

    /// Why they run one by one over such boxes.
    pub fn why_single(&self, device: &DeviceCore, of: (&GridBox<4>, &Faces)) -> &'static str {
        why_single((&*self.launches, self.following.kernels), device, of)
    }

    /// What lies beyond the faces of their box; nothing if a block cannot know.
    pub fn faces<'a>(&self, facts_of: impl Fn(usize) -> Option<&'a PlaneFacts>, cells: &GridBox<4>) -> Option<Faces> {
        let computed = self.following.computed;
        let negated = self.launches.first().map_or([[0; 2]; 4], |launch| launch.negated());
        let mut faces = faces(self.pair(), &facts_of, cells, (self.following.filled, computed), &negated)?;
        if !self.following.alike {
            // An array whose ghosts no step reads may never have had its fixed values.
            let constant = faces.iter_mut().flatten().filter(|face| **face == Face::Constant);
            constant.for_each(|face| *face = Face::Memory);
        }
        if !computed.is_empty() && facts_of(self.pair().out)?.domain() != *cells {
            return None;
        }
        let beyond = faces.as_flattened_mut().iter_mut().enumerate().filter(|(side, _)| computed.has(*side));
        beyond.for_each(|(_, face)| *face = Face::Even);
        Some(faces)
    }

    /// So many steps over a box, with what lies beyond it.
    pub fn over(&self, steps: u32, cells: GridBox<4>, planes: i64, faces: Faces) -> Together {
        Together { steps, kernels: self.following.kernels, cells, planes, faces }
    }

    /// What they launch.
    pub fn launches(&self, steps: u32) -> Arc<[Arc<dyn Launch>]> {
        let count = self.following.kernels.max(steps as usize);
        self.launches.iter().take(count).cloned().collect()
    }
}

/// What lies beyond the faces of a box for steps between which ghosts are filled or not, and beyond some faces
/// computed, or mirrored with components that they negate; nothing if a block cannot know.
fn faces<'a>(
    pair: &Pair,
    facts_of: impl Fn(usize) -> Option<&'a PlaneFacts>,
    cells: &GridBox<4>,
    (filled, computed): (bool, Sides),
    negated: &[[u64; 2]; 4],
) -> Option<Faces> {
    let mut faces = [[Face::Memory; 2]; 4];
    let (out, inp) = (facts_of(pair.out)?, facts_of(pair.inp)?);
    if out.domain() != inp.domain() || out.faces != inp.faces || out.negated != inp.negated {
        return None;
    }
    if !filled {
        return Some(faces);
    }
    let domain = out.domain();
    for (axis, sides) in faces.iter_mut().enumerate() {
        let halo = pair.halo[axis];
        let outside = [cells.lo[axis] - halo < domain.lo[axis], cells.hi[axis] + halo > domain.hi[axis]];
        let whole = cells.lo[axis] == domain.lo[axis] && cells.hi[axis] == domain.hi[axis];
        for (side, face) in sides.iter_mut().enumerate().filter(|(side, _)| outside[*side]) {
            if computed.has(2 * axis + side) {
                continue;
            }
            let mirrors = (negated[axis][side] != 0).then_some(Face::Even);
            *face = mirrors.or(out.faces[axis][side]).filter(|face| *face == Face::Memory || whole)?;
            let fixed = out.fixed[axis][side].is_some() && out.fixed[axis][side] == inp.fixed[axis][side];
            let ends = [cells.lo[axis] == domain.lo[axis], cells.hi[axis] == domain.hi[axis]];
            if fixed && ends[side] && *face == Face::Memory {
                *face = Face::Constant;
            }
        }
    }
    // Beyond a corner is what lies beyond the first of its axes: where that is memory, of cells that no step writes,
    // their own ghosts would have to be there.
    let moves = faces.iter().flatten().any(|face| !face.is_held());
    (!moves || *cells == domain).then_some(faces)
}
