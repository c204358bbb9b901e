//! Steps that follow one another on two arrays that take turns: which may run as one launch.

use std::sync::Arc;

use tida_kernels::plan::fuse::{Face, Faces, LONGEST};

use crate::device::core::DeviceCore;
use crate::grid::GridBox;
use crate::launch::fused::{depth, repeats};
use crate::launch::step::{Launch, Together};
use crate::memory::ghosts::planes::PlaneFacts;
use crate::memory::tracker::Tracker;

/// Sweeps each of which is like the one so many before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Which one, of all that were.
    pub number: u64,
    /// Kernels that take turns; 0 if the last sweep was like none before it.
    pub kernels: usize,
}

/// The two arrays that take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The array that is written, by the address of its tracker.
    pub out: usize,
    /// The one that is read around each cell.
    pub inp: usize,
    /// How far, along each of four axes.
    pub halo: [i64; 4],
    /// The sweeps that it is one of.
    pub cycle: Cycle,
}

impl Pair {
    /// Whether it is of the same arrays, with their parts exchanged.
    pub fn follows(&self, before: &Pair) -> bool {
        self.out == before.inp && self.inp == before.out
    }

    /// Whether an array is one of the two.
    pub fn has(&self, tracker: &Arc<Tracker>) -> bool {
        [self.out, self.inp].contains(&identity(tracker))
    }
}

/// What an array is known by.
pub(crate) fn identity(tracker: &Arc<Tracker>) -> usize {
    Arc::as_ptr(tracker) as usize
}

/// What was recorded, for the question which steps follow one another.
pub(crate) enum Recorded<'a> {
    /// A sweep of arrays that take turns, over these boxes.
    Sweep(Pair, &'a [(usize, GridBox<4>)], &'a Arc<dyn Launch>),
    /// A fill of an array's ghosts but for those of fixed value, which are there.
    Ghosts(usize),
    Other,
}

/// Steps that follow one another, on the same boxes of arrays that take turns.
pub(crate) struct Following {
    /// Where each of them is.
    steps: Vec<usize>,
    launches: Vec<Arc<dyn Launch>>,
    /// Kernels that take turns, as far as they are there.
    kernels: usize,
    /// The arrays of the first one, and how far any of them reads.
    pub pair: Pair,
    /// The ghosts of the array that a step leaves are filled before a next one that reads around its cells.
    filled: bool,
    /// So they are before every one, or before none.
    alike: bool,
}

/// The steps that follow one another from the first on of what was recorded; nothing if that is none.
pub(crate) fn following<'a>(mut recorded: impl Iterator<Item = Recorded<'a>>) -> Option<Following> {
    let Some(Recorded::Sweep(first, boxes, launch)) = recorded.next() else { return None };
    let (mut steps, mut launches, mut last) = (vec![0], vec![launch.clone()], first);
    let (mut filled, mut between, mut halo, mut seen) = (None, false, first.halo, [false; 2]);
    for (number, one) in recorded.enumerate() {
        // No launch has more, and one step has to follow.
        if steps.len() > LONGEST as usize {
            break;
        }
        match one {
            Recorded::Ghosts(array) if array == last.out => between = true,
            Recorded::Sweep(next, others, launch) => {
                let same = next.halo == [0; 4] || *filled.get_or_insert(between) == between;
                let before = launches.len().checked_sub(first.cycle.kernels).and_then(|n| launches.get(n));
                let repeats = before.is_none_or(|before| repeats(&**before, &**launch));
                if !same || !next.follows(&last) || next.cycle != first.cycle || !repeats || others != boxes {
                    break;
                }
                seen[usize::from(between)] = true;
                (last, between) = (next, false);
                halo.iter_mut().zip(next.halo).for_each(|(most, halo)| *most = halo.max(*most));
                steps.push(number + 1);
                launches.push(launch.clone());
            }
            _ => break,
        }
    }
    let kernels = first.cycle.kernels.clamp(1, launches.len());
    let (filled, alike) = (filled.unwrap_or(false), seen != [true; 2]);
    Some(Following { steps, launches, kernels, pair: Pair { halo, ..first }, filled, alike })
}

impl Following {
    /// How many run together over boxes like `cells`, at most `most`, and whether it could be more if more were there.
    pub fn together(&self, device: &DeviceCore, (cells, faces): (&GridBox<4>, &Faces), most: u32) -> (u32, bool) {
        let depth = |most: u32| depth((&self.launches, self.kernels), device, (cells, faces), most);
        let wanted = depth(most);
        // The step after them overwrites what they do not leave.
        let there = self.steps.len() as u32 - 1;
        (if wanted <= there { wanted } else { depth(there.min(most)) }, wanted > there)
    }

    /// What lies beyond the faces of their box; nothing if a block cannot know.
    pub fn faces<'a>(&self, facts_of: impl Fn(usize) -> Option<&'a PlaneFacts>, cells: &GridBox<4>) -> Option<Faces> {
        let mut faces = faces(&self.pair, facts_of, cells, self.filled)?;
        if !self.alike {
            // An array whose ghosts no step reads may never have had its fixed values.
            let constant = faces.iter_mut().flatten().filter(|face| **face == Face::Constant);
            constant.for_each(|face| *face = Face::Memory);
        }
        Some(faces)
    }

    /// So many steps over a box, with what lies beyond it.
    pub fn over(&self, steps: u32, cells: GridBox<4>, planes: i64, faces: Faces) -> Together {
        Together { steps, kernels: self.kernels, cells, planes, faces }
    }

    /// What they launch.
    pub fn launches(&self, steps: u32) -> Arc<[Arc<dyn Launch>]> {
        let count = self.kernels.max(steps as usize);
        self.launches.iter().take(count).cloned().collect()
    }

    /// Where the sweeps of the first steps are.
    pub fn sweeps(&self, steps: u32) -> &[usize] {
        self.steps.get(..self.kernels.max(steps as usize)).unwrap_or_default()
    }

    /// How many of what was recorded are these steps and what lies between them; nothing of fewer than two.
    pub fn first(&self, steps: u32) -> Option<usize> {
        let last = self.steps.get((steps as usize).checked_sub(1)?)?;
        (steps > 1).then_some(last + 1)
    }
}

/// What lies beyond the faces of a box for steps between which ghosts are filled or not; nothing if a block cannot
/// know.
fn faces<'a>(
    pair: &Pair,
    facts_of: impl Fn(usize) -> Option<&'a PlaneFacts>,
    cells: &GridBox<4>,
    filled: bool,
) -> Option<Faces> {
    let mut faces = [[Face::Memory; 2]; 4];
    let (out, inp) = (facts_of(pair.out)?, facts_of(pair.inp)?);
    if out.domain() != inp.domain() || out.faces != inp.faces {
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
            *face = out.faces[axis][side].filter(|face| *face == Face::Memory || whole)?;
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
