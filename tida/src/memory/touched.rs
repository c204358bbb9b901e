//! What the tiles of a sweep touch of its arrays, taken together.

use std::sync::Arc;

use smallvec::SmallVec;

use super::node::Queue;
use super::tracker::{BoxTouch, Mode, Tracker};
use crate::error::Error;
use crate::grid::GridBox;
use crate::grid::boxes::BoxList;
use crate::program::schedule::Scale;

/// What the tiles of a sweep touch of one array, for the question whether a later tile may go before a later sweep.
#[derive(Clone)]
pub(crate) struct ArrayTouch {
    pub tracker: Arc<Tracker>,
    /// The regions that are touched, by number.
    pub regions: SmallVec<[(usize, RegionTouch); 1]>,
    /// The planes that are read around each plane of the first axis, and of the second: see [`BoxTouch::around`].
    pub around: Option<(i64, i64)>,
    pub across: Option<(i64, i64)>,
    /// See [`BoxTouch::scale`].
    pub scale: Scale,
    /// Some region is written.
    pub write: bool,
    /// It is read as a whole array.
    pub whole: bool,
    /// What is read around a plane is not the same everywhere.
    pub uneven: bool,
}

impl ArrayTouch {
    /// What is touched of a region, if anything is.
    pub fn region(&self, number: usize) -> Option<&RegionTouch> {
        let place = self.regions.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.regions.get(place).map(|(_, touch)| touch)
    }

    /// Whether all that is read of the array in `other` is read here.
    pub fn reads_all_of(&self, other: &ArrayTouch) -> bool {
        other.regions.iter().all(|(region, touch)| {
            touch.read.is_empty() || self.region(*region).is_some_and(|own| own.read.covers(&touch.read))
        })
    }
}

/// Cells of a region that the tiles of a sweep touch.
#[derive(Clone, Default)]
pub(crate) struct RegionTouch {
    pub read: BoxList,
    pub write: BoxList,
    /// See [`BoxTouch::keeps`].
    pub keeps: bool,
}

impl RegionTouch {
    /// Whether any cell is written.
    pub fn writes(&self) -> bool {
        !self.write.is_empty()
    }

    /// How it touches a region whose memory holds all of this box.
    fn mode(&self, all: &GridBox<4>) -> Mode {
        match self.writes() {
            false => Mode::Read,
            true if self.read.is_empty() && !self.keeps && self.write.has(all) => Mode::Overwrite,
            true => Mode::Update,
        }
    }
}

impl ArrayTouch {
    /// Whether all cells of these boxes are read, or all are written.
    pub fn has(&self, boxes: &[(usize, GridBox<4>)]) -> bool {
        boxes.iter().all(|(region, cells)| {
            let touch = self.region(*region);
            touch.is_some_and(|touch| touch.read.has(cells) || touch.write.has(cells))
        })
    }

    /// What pieces of work touch, array by array.
    pub fn of(touches: &[BoxTouch]) -> Vec<ArrayTouch> {
        let mut arrays = Vec::new();
        ArrayTouch::add_to(&mut arrays, touches);
        arrays
    }

    /// Adds what more work touches.
    pub fn add_to(arrays: &mut Vec<ArrayTouch>, touches: &[BoxTouch]) {
        if arrays.is_empty() {
            arrays.reserve_exact(touches.len().min(8));
        }
        for touch in touches {
            let known = arrays.iter().position(|known| Arc::ptr_eq(&known.tracker, &touch.tracker));
            let n = known.unwrap_or_else(|| {
                arrays.push(ArrayTouch::new(&touch.tracker));
                arrays.len() - 1
            });
            arrays[n].add(touch);
        }
    }

    /// Whether its ghosts outlive their cells.
    pub fn keeps(&self) -> bool {
        self.regions.iter().any(|(_, touch)| touch.keeps)
    }

    pub fn new(tracker: &Arc<Tracker>) -> ArrayTouch {
        ArrayTouch {
            tracker: tracker.clone(),
            regions: SmallVec::new(),
            around: None,
            across: None,
            scale: Scale::Same,
            write: false,
            whole: false,
            uneven: false,
        }
    }

    pub fn add(&mut self, touch: &BoxTouch) {
        self.whole |= touch.whole;
        self.uneven |= touch.read.is_some() && touch.around.is_none();
        self.scale = touch.scale;
        let place = self.regions.binary_search_by_key(&touch.region, |(number, _)| *number).unwrap_or_else(|place| {
            self.regions.insert(place, (touch.region, RegionTouch::default()));
            place
        });
        let region = &mut self.regions[place].1;
        region.keeps |= touch.keeps;
        if let Some(cells) = touch.read {
            let both = |known: Option<(i64, i64)>, new: Option<(i64, i64)>| match (known, new) {
                (Some((lo, hi)), Some((low, high))) => Some((lo.min(low), hi.max(high))),
                (known, new) => known.or(new),
            };
            region.read.add(cells);
            // Known if it is for all.
            self.across = match self.around {
                Some(_) => self.across.and_then(|known| both(Some(known), Some(touch.across?))),
                None => touch.across,
            };
            self.around = both(self.around, Some(touch.around.unwrap_or_default()));
        }
        if let Some(cells) = touch.write {
            region.write.add(cells);
            self.write = true;
        }
    }
}

/// The regions that a sweep touches, and how.
pub(crate) fn touched(arrays: &[ArrayTouch]) -> impl Iterator<Item = (&Arc<Tracker>, usize, Mode)> {
    arrays.iter().flat_map(|array| {
        let mode = |region: usize, touch: &RegionTouch| {
            array.tracker.boxes().get(region).map_or(Mode::Update, |all| touch.mode(all))
        };
        array.regions.iter().map(move |(region, touch)| (&array.tracker, *region, mode(*region, touch)))
    })
}

/// Brings the arrays of a sweep to the device. Only from its node.
pub(crate) fn bring(queue: &Queue<'_>, arrays: &[ArrayTouch]) -> Result<(), Error> {
    touched(arrays).try_for_each(|(tracker, region, mode)| {
        // SAFETY: the graph keeps all work that conflicts away until this node has finished.
        unsafe { tracker.to_device(queue, region, mode) }
    })
}
