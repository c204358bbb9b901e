//! Ghosts that a sweep on a device sets as it writes the cells whose values they take, so that a fill has nothing to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tida_kernels::plan::fuse::Face;
use tida_kernels::plan::ghosts::Beyond;

use super::super::grid_box::GridBox;
use super::super::storage::Storage;
use super::planes::PlaneFacts;
use crate::acc::Tracker;

/// The ghosts of an array whose fill is recorded. The sweep recorded just before may set them.
#[derive(Debug)]
pub(crate) struct CellGhosts {
    pub tracker: Arc<Tracker>,
    /// The cells that they take their values from: all of the array.
    pub domain: GridBox<4>,
    /// Beyond the faces along four axes.
    pub faces: [[Beyond; 2]; 4],
    set: AtomicBool,
}

impl CellGhosts {
    /// Those of an array, if each ghost that changes has the value of one cell, and no cell is the value of two along one axis.
    pub(super) fn of(tracker: &Arc<Tracker>) -> Option<Arc<CellGhosts>> {
        let facts = tracker.planar()?.facts();
        let domain = facts.domain();
        let faces = faces(facts, &domain)?;
        let moves = faces.iter().flatten().any(|beyond| beyond.layers > 0);
        moves.then(|| Arc::new(CellGhosts { tracker: tracker.clone(), domain, faces, set: AtomicBool::new(false) }))
    }

    /// Whether they are the ghosts of the array in this storage.
    pub fn is_in(&self, storage: &Arc<Storage>) -> bool {
        Arc::ptr_eq(self.tracker.storage(), storage)
    }

    /// A sweep in a stream before that of the fill sets them.
    pub fn will_be_set(&self) {
        self.set.store(true, Ordering::Release);
    }

    /// Whether sweeps set all that are to be filled.
    pub fn all_set(filled: &[Option<Arc<CellGhosts>>]) -> bool {
        filled.iter().all(|ghosts| ghosts.as_ref().is_some_and(|ghosts| ghosts.are_set()))
    }

    /// Whether a sweep sets them.
    pub fn are_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }
}

fn faces(facts: &PlaneFacts, domain: &GridBox<4>) -> Option<[[Beyond; 2]; 4]> {
    let regions = &facts.layout.regions;
    let (first, last) = (regions.first()?, regions.last()?);
    let mut faces = [[Beyond::default(); 2]; 4];
    for (axis, sides) in faces.iter_mut().enumerate() {
        let layers = [first.valid.lo[axis] - first.grown.lo[axis], last.grown.hi[axis] - last.valid.hi[axis]];
        for (side, beyond) in sides.iter_mut().enumerate().filter(|(side, _)| layers[*side] > 0) {
            let layers = u32::try_from(layers[side]).ok()?;
            *beyond = match facts.faces[axis][side]? {
                Face::Wrap => Beyond { layers, wraps: true },
                Face::Even => Beyond { layers, wraps: false },
                // One layer of the nearest cell is that cell as far inside.
                Face::Nearest if layers == 1 => Beyond { layers, wraps: false },
                Face::Nearest | Face::Follow => return None,
                // They hold what they are to hold.
                Face::Memory | Face::Constant => Beyond::default(),
            };
        }
        let layers: u32 = sides.iter().map(|beyond| beyond.layers).sum();
        if i64::from(layers) > domain.hi[axis] - domain.lo[axis] {
            return None;
        }
    }
    Some(faces)
}
