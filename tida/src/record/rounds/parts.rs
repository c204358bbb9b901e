//! What a loop is made of: sweeps and fills of ghosts, and other work that is not held back.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::grid::GridBox;
use crate::launch::prepare::Mix;
use crate::memory::tracker::{BoxTouch, Tracker};
use crate::program::fuse::Pair;
use crate::program::schedule::Scale;
use crate::record::recording::{GiveLaunch, OPEN, TileWork};
use crate::record::sweep::SweepKey;
use crate::run::op::Sweep;

/// What stands for work that no round has.
pub(super) const OTHER: u64 = 0;

/// Where sweeps touch arrays of more bytes, on average, launching them is the least.
const SMALL: usize = 96 << 20;

/// For each piece of other work there are to be so many sweeps and fills.
const BETWEEN: usize = 4;

/// A part of a loop.
pub(super) enum Part {
    Tile(Box<TilePart>),
    /// A fill of an array's ghosts, those of fixed value too if they are not there.
    Fill(Weak<Tracker>, bool),
    /// Anything else: what is held back runs before it.
    Other,
}

/// A sweep of one tile.
pub(super) struct TilePart {
    key: Arc<SweepKey>,
    region: usize,
    cells: GridBox<4>,
    touches: SmallVec<[Touched; 4]>,
    pub turn: Option<Pair>,
    /// Changes with the values that are captured.
    captured: u64,
    /// It was held back as this, and is so still or is under way.
    sweep: Weak<Sweep>,
}

/// A [`BoxTouch`] of an array that may be gone.
struct Touched {
    tracker: Weak<Tracker>,
    of: (usize, Option<GridBox<4>>, Option<GridBox<4>>, bool, bool, Scale),
}

fn of_touch(touch: &BoxTouch) -> (usize, Option<GridBox<4>>, Option<GridBox<4>>, bool, bool, Scale) {
    (touch.region, touch.read, touch.write, touch.keeps, touch.whole, touch.scale)
}

/// Whether a tracker that may be gone is this one. As long as someone knows it, no other has its address.
pub(super) fn is(known: &Weak<Tracker>, tracker: &Arc<Tracker>) -> bool {
    std::ptr::eq(known.as_ptr(), Arc::as_ptr(tracker))
}

/// A word for a fill of ghosts.
pub(super) fn word_of_fill(tracker: &Arc<Tracker>, fixed: bool) -> u64 {
    let mut hasher = Mix::default();
    (Arc::as_ptr(tracker) as usize, fixed, "fill").hash(&mut hasher);
    hasher.finish().max(OTHER + 1)
}

impl TileWork<'_> {
    /// A word for it; the same for a tile like it that has captured other values.
    pub(super) fn word(&self) -> u64 {
        let mut hasher = Mix::default();
        let SweepKey { kernel, views, args, captures, .. } = &*self.key;
        (kernel, views, args, captures.len(), self.region).hash(&mut hasher);
        (self.cells.lo, self.cells.hi).hash(&mut hasher);
        hasher.finish().max(OTHER + 1)
    }

    /// Whether a round may have it.
    pub(super) fn may_repeat(&self) -> bool {
        let SweepKey { on_device, checked, order, colour, .. } = &*self.key;
        let usual = *on_device && !checked && order.is_none() && colour.is_none();
        usual && self.pace.is_none() && self.after.is_empty() && self.runs_as_usual()
    }
}

impl TilePart {
    pub fn of(tile: &TileWork<'_>) -> TilePart {
        let touch = |touch: &BoxTouch| Touched { tracker: Arc::downgrade(&touch.tracker), of: of_touch(touch) };
        TilePart {
            key: tile.key.clone(),
            region: tile.region,
            cells: tile.cells,
            touches: tile.touches.iter().map(touch).collect(),
            turn: None,
            captured: 0,
            sweep: Weak::new(),
        }
    }

    pub fn is_of(&self, tile: &TileWork<'_>) -> bool {
        let same =
            |(known, touch): (&Touched, &BoxTouch)| is(&known.tracker, &touch.tracker) && known.of == of_touch(touch);
        self.key.is_like(&tile.key)
            && (self.region, self.cells) == (tile.region, tile.cells)
            && self.touches.len() == tile.touches.len()
            && self.touches.iter().zip(tile.touches).all(same)
    }

    /// The sweep of a tile like it, and the number of the values that it has captured.
    pub fn sweep(&mut self, tile: &TileWork<'_>, launch: GiveLaunch<'_>) -> (Arc<Sweep>, u64) {
        let same = self.key.captures == tile.key.captures;
        let known = self.sweep.upgrade().filter(|_| same);
        if let Some(known) = known.as_ref().filter(|known| known.turn == self.turn) {
            return (known.clone(), self.captured);
        }
        let mut sweep = Sweep::of(known.map_or_else(launch, |known| known.launch.clone()), &[]);
        sweep.add(tile.region, tile.cells, tile.touches);
        sweep.turn = self.turn;
        let sweep = Arc::new(sweep);
        self.is_now(&sweep);
        if !same {
            // (Nothing else differs.)
            self.key = tile.key.clone();
            self.captured += 1;
        }
        (sweep, self.captured)
    }

    /// It is held back as this now.
    pub fn is_now(&mut self, sweep: &Arc<Sweep>) {
        self.sweep = Arc::downgrade(sweep);
    }

    /// Whether it reads what the one before it reads, over the same cells, and neither writes what the other one
    /// touches: by themselves they may run as one.
    fn may_join(&self, before: &TilePart) -> bool {
        let both = || {
            let of = |own: &Touched| before.touches.iter().find(|other| other.tracker.ptr_eq(&own.tracker));
            self.touches.iter().filter_map(move |own| Some([own, of(own)?]))
        };
        let apart = both().flatten().all(|touch| touch.of.2.is_none());
        (self.region, self.cells) == (before.region, before.cells) && apart && both().next().is_some()
    }
}

/// Whether it pays to hold back a loop of these parts, whose sweeps touch arrays of so many bytes: they are small, and
/// would run one by one by themselves too.
pub(super) fn pays(parts: &[Part], bytes: usize, joins: bool) -> bool {
    let tiles: Vec<&TilePart> = parts.iter().filter_map(Part::tile).collect();
    let others = parts.iter().filter(|part| matches!(part, Part::Other)).count();
    // Tiles of one loop are one sweep.
    let merges = |(n, part): (usize, &&TilePart)| {
        let others = tiles.iter().skip(n + 1).take(OPEN);
        others.into_iter().any(|other| other.key == part.key && other.cells != part.cells)
    };
    let joined = |pair: &[Part]| match pair {
        [Part::Tile(before), Part::Tile(part)] => part.may_join(before),
        _ => false,
    };
    let many = parts.len() - others >= BETWEEN * others;
    let small = !tiles.is_empty() && bytes / tiles.len() <= SMALL;
    many && small && !tiles.iter().enumerate().any(merges) && !(joins && parts.windows(2).any(joined))
}

impl Part {
    pub fn tile(&self) -> Option<&TilePart> {
        match self {
            Part::Tile(part) => Some(part),
            Part::Fill(..) | Part::Other => None,
        }
    }
}
