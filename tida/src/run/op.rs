//! Recorded work as data: what the recorder, chains and launches of several sweeps know it by.

use std::sync::Arc;

use super::steps::identity;
use crate::error::Error;
use crate::grid::GridBox;
use crate::grid::boxes::union;
use crate::launch::blocks::Listed;
use crate::launch::faces::{FaceLaunch, enqueue_with_faces};
use crate::launch::pieces::Boxes;
use crate::launch::step::{Fold, Launch};
use crate::memory::node::{Done, Planes, Queue};
use crate::memory::storage::Storage;
use crate::memory::touched::{ArrayTouch, bring};
use crate::memory::tracker::{BoxTouch, Tracker};
use crate::program::fuse::{Pair, Recorded, Sides};
use crate::program::order::Order;

/// A kernel over boxes, and what it touches there.
#[derive(Clone)]
pub(crate) struct Sweep {
    pub launch: Arc<dyn Launch>,
    /// Boxes of regions. They do not overlap.
    pub boxes: Boxes,
    /// Its boxes, if all are of one list: then there are no others.
    pub listed: Option<Listed>,
    /// What it touches, array by array.
    pub arrays: Vec<ArrayTouch>,
    /// It is the next of steps that may run together, on alternating arrays.
    pub turn: Option<Pair>,
    /// The same sweep as such a step, if that computes ghosts that kernels have set.
    pub step: Option<Arc<dyn Launch>>,
    /// It sets ghosts of this array, which who reads them may compute.
    pub sets: Option<(usize, Arc<FaceLaunch>)>,
    /// Kernels that set ghosts of what it leaves, whose work it does.
    pub faces: Vec<Arc<FaceLaunch>>,
    /// Arrays that it writes and whose ghosts are filled next.
    pub refilled: Vec<Arc<Storage>>,
}

/// Planes along an axis that a sweep computes before others.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    pub axis: usize,
    pub planes: Planes,
}

/// What a recorded node does, where more than the node itself has to know it.
#[derive(Clone)]
pub(crate) enum Op {
    /// Runs a kernel over boxes.
    Sweep(Arc<Sweep>),
    /// Runs a kernel that writes nothing, and makes one value of what it finds: a reduction.
    Fold(Arc<Sweep>, Arc<dyn Fold>),
    /// Fills the ghosts of an array, those of fixed value too if they are not there.
    Fill { tracker: Arc<Tracker>, fixed: bool },
}

impl Sweep {
    /// A kernel that touches this, without boxes.
    pub fn of(launch: Arc<dyn Launch>, touches: &[BoxTouch]) -> Sweep {
        Sweep {
            launch,
            boxes: Boxes::new(),
            listed: None,
            arrays: ArrayTouch::of(touches),
            turn: None,
            step: None,
            sets: None,
            faces: Vec::new(),
            refilled: Vec::new(),
        }
    }

    /// What it is as a step.
    pub fn as_step(&self) -> &Arc<dyn Launch> {
        self.step.as_ref().unwrap_or(&self.launch)
    }

    /// Adds a tile.
    pub fn add(&mut self, region: usize, cells: GridBox<4>, touches: &[BoxTouch]) {
        self.list_no_more();
        match self.boxes.last_mut() {
            Some((r, last)) if *r == region => match union(last, &cells) {
                Some(merged) => *last = merged,
                None => self.boxes.push((region, cells)),
            },
            _ => self.boxes.push((region, cells)),
        }
        self.merge_rows();
        self.touch(touches);
    }

    /// Adds a tile that has these boxes alone.
    pub fn add_listed(&mut self, listed: &Listed, touches: &[BoxTouch]) {
        let goes_on = match &mut self.listed {
            Some(known) => known.goes_on(listed),
            None if self.boxes.is_empty() => {
                self.listed = Some(listed.clone());
                true
            }
            None => false,
        };
        if !goes_on {
            self.list_no_more();
            self.boxes.extend_from_slice(listed.boxes());
        }
        self.touch(touches);
    }

    /// Has its boxes for itself.
    fn list_no_more(&mut self) {
        if let Some(listed) = self.listed.take() {
            self.boxes.extend_from_slice(listed.boxes());
        }
    }

    /// The boxes that it runs over.
    pub fn boxes(&self) -> &[(usize, GridBox<4>)] {
        self.listed.as_ref().map_or(&self.boxes, Listed::boxes)
    }

    /// Adds what is touched.
    pub fn touch(&mut self, touches: &[BoxTouch]) {
        ArrayTouch::add_to(&mut self.arrays, touches);
    }

    /// Rows of tiles become slabs, slabs a region.
    fn merge_rows(&mut self) {
        while let [.., (r0, a), (r1, b)] = self.boxes.as_slice() {
            if r0 != r1 {
                return;
            }
            let Some(merged) = union(a, b) else { return };
            let region = *r0;
            self.boxes.truncate(self.boxes.len() - 2);
            self.boxes.push((region, merged));
        }
    }

    /// What it touches of an array.
    pub fn array(&self, tracker: &Arc<Tracker>) -> Option<&ArrayTouch> {
        self.arrays.iter().find(|array| Arc::ptr_eq(&array.tracker, tracker))
    }

    /// How its cells run in order, if they do.
    pub fn order(&self) -> Option<Order> {
        self.launch.order()
    }

    /// As [`Sweep::enqueue`], over these of its boxes.
    ///
    /// # Errors
    /// As [`Launch::enqueue`].
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    pub unsafe fn enqueue_boxes(&self, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        // SAFETY: handed on.
        unsafe { self.launch.clone().enqueue(queue, boxes) }
    }

    /// Number of its cells.
    pub fn cells(&self) -> u64 {
        self.boxes().iter().map(|(_, cells)| cells.cells() as u64).sum()
    }

    /// Brings its arrays to the device. Only from its node.
    ///
    /// # Errors
    /// Memory that the device does not have, and copies that fail.
    pub fn bring(&self, queue: &Queue<'_>) -> Result<(), Error> {
        bring(queue, &self.arrays)
    }

    /// Puts its kernel into a stream. The arrays are there.
    ///
    /// # Errors
    /// As [`Launch::enqueue`].
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    pub unsafe fn enqueue(&self, queue: &Queue<'_>) -> Result<Done, Error> {
        // SAFETY: handed on.
        unsafe {
            match self.listed.as_ref().and_then(Listed::whole) {
                _ if !self.faces.is_empty() => enqueue_with_faces((&self.launch, self.boxes()), &self.faces, queue),
                Some(list) => self.launch.clone().enqueue_list(queue, list),
                None => self.launch.clone().enqueue(queue, self.boxes()),
            }
        }
    }
}

/// The faces beyond which these kernels set ghosts that who reads them may compute.
fn sides(faces: &[Arc<FaceLaunch>]) -> Sides {
    faces.iter().filter_map(|face| face.side).collect()
}

impl Op {
    /// The kernel that it runs, if it does.
    pub fn kernel(&self) -> Option<&Arc<Sweep>> {
        match self {
            Op::Sweep(sweep) | Op::Fold(sweep, _) => Some(sweep),
            Op::Fill { .. } => None,
        }
    }

    /// Whether it runs a kernel that writes.
    pub fn is_sweep(&self) -> bool {
        matches!(self, Op::Sweep(_))
    }

    /// Whether it runs a kernel that sets ghosts between steps.
    pub fn sets_ghosts(&self) -> bool {
        self.kernel().is_some_and(|sweep| sweep.sets.is_some())
    }

    /// What a reduction does besides running over boxes, if it is one.
    pub fn fold(&self) -> Option<&Arc<dyn Fold>> {
        match self {
            Op::Fold(_, fold) => Some(fold),
            Op::Sweep(_) | Op::Fill { .. } => None,
        }
    }

    /// Whether it touches an array.
    pub fn touches(&self, tracker: &Arc<Tracker>) -> bool {
        match self {
            Op::Sweep(sweep) | Op::Fold(sweep, _) => sweep.array(tracker).is_some(),
            Op::Fill { tracker: filled, .. } => Arc::ptr_eq(filled, tracker),
        }
    }

    /// What it is for the question which steps follow one another.
    pub fn recorded(&self) -> Recorded<'_, Boxes> {
        match self {
            Op::Sweep(sweep) => match sweep.turn {
                Some(pair) => {
                    let step = sweep.as_step();
                    let kernel = step.step().map(|step| Arc::as_ptr(step.prepared) as usize);
                    let set = [step.ghosts(), &sweep.faces].map(sides);
                    Recorded::Sweep { pair, kernel, boxes: &sweep.boxes, set }
                }
                None => match &sweep.sets {
                    Some((array, face)) => Recorded::Set(*array, sides(std::slice::from_ref(face))),
                    None => Recorded::Other,
                },
            },
            Op::Fill { tracker, fixed: false } => Recorded::Ghosts(identity(tracker)),
            Op::Fold(..) | Op::Fill { .. } => Recorded::Other,
        }
    }
}
