//! Planes that parts of an array on several places have as cells, which are copies of what other parts own: which of
//! them are good.
//!
//! A sweep that runs over them too keeps them good, but for as many planes at their end as it reads beyond a cell. What
//! a part's own planes were made by, and what copies of them were made by, has a number each: it changes with each
//! sweep, by its kernel and by the numbers of what it has read. So copies are known to be what they are copies of,
//! whatever loop left out the one or the other.
//!
//! A rank knows the numbers of its own parts alone. Where a part lies beside that of another rank, it takes that rank
//! to have done what it has done itself, as ranks run one program; and it tells the other rank its numbers, so that
//! ranks that have not find out. How many planes are good beyond any part is known on all ranks by what the loops
//! were.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is known of one side of a part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edge {
    /// What the part's own planes were made by, as far inwards as others have copies of them.
    pub own: u64,
    /// What its copies beyond them were made by.
    pub copies: u64,
    /// How many of these are good, the nearest first.
    pub depth: i64,
}

/// What a sweep has made of one side of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Swept {
    /// It was not near.
    Untouched,
    /// Some cells were written, and copies of others not.
    Torn,
    /// All were: the part's own planes, and copies that are good to this depth.
    Whole(Edge),
}

/// What the parts of an array have of one another.
#[derive(Debug)]
pub(crate) struct Copies {
    /// Whether a part has some below, and above.
    borders: Vec<[bool; 2]>,
    /// The parts of this rank.
    here: Range<usize>,
    planes: i64,
    /// More planes count as good than are: a mistake made on purpose.
    fault: bool,
    state: Mutex<State>,
}

/// What changes of it.
#[derive(Clone, Debug)]
struct State {
    edges: Vec<[Edge; 2]>,
    /// How many planes are good below and above each part that has some.
    depths: [i64; 2],
    /// The values are the host's, or those of other arrays: no kernel has computed them.
    given: bool,
    /// Ghosts of copies that are the user's are not those of what they are copies of.
    ghosts: bool,
}

/// A number that nothing else has.
fn other() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    mixed(&LAST.fetch_add(1, Ordering::Relaxed))
}

/// The number of what was made by this.
pub(crate) fn mixed(by: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    by.hash(&mut hasher);
    hasher.finish()
}

impl Copies {
    /// Those of parts with these borders, some of which are of this rank, of so many planes.
    pub fn new(borders: Vec<[bool; 2]>, here: Range<usize>, planes: usize, fault: bool) -> Copies {
        let state =
            State { edges: vec![[Edge::default(); 2]; borders.len()], depths: [0; 2], given: true, ghosts: false };
        let copies = Copies { borders, here, planes: planes as i64, fault, state: Mutex::new(state) };
        copies.lost();
        copies
    }

    /// The same for another array.
    pub fn like(&self) -> Copies {
        Copies::new(self.borders.clone(), self.here.clone(), self.planes as usize, self.fault)
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something else than a sweep over copies has written cells.
    pub fn lost(&self) {
        self.with(|state| {
            (state.given, state.depths) = (true, [0; 2]);
            for edge in state.edges.iter_mut().flatten() {
                *edge = Edge { own: other(), copies: other(), depth: 0 };
            }
        });
    }

    /// Ghosts were set by something else than a fill, perhaps copies too.
    pub fn ghosts_lost(&self) {
        self.lost();
        self.with(|state| state.ghosts = true);
    }

    /// All parts hold what those of another array hold, their copies and ghosts too.
    pub fn copied_from(&self, other: &Copies) {
        let state = other.with(|state| state.clone());
        self.with(|own| *own = state);
    }

    /// All parts were given their copies, with ghosts that are the user's: of several ranks in the call of this number.
    pub fn given(&self, call: Option<u64>) {
        self.with(|state| {
            state.ghosts = false;
            // (Twice, unlike the numbers of `other`.)
            let made = call.map_or_else(other, |call| mixed(&(call, call)));
            let depth = self.planes + i64::from(self.fault);
            state.depths = [depth; 2];
            state.edges.iter_mut().flatten().for_each(|edge| *edge = Edge { own: made, copies: made, depth });
        });
    }

    /// What is known of a side of a part.
    pub fn edge(&self, part: usize, side: usize) -> Edge {
        self.with(|state| state.edges.get(part).map_or(Edge::default(), |sides| sides[side]))
    }

    /// How many planes are good below each part that has some, or above.
    pub fn depth(&self, side: usize) -> i64 {
        self.with(|state| state.depths[side])
    }

    /// How many planes parts have of others.
    pub fn planes(&self) -> i64 {
        self.planes
    }

    /// A kernel has written cells of a part, in a loop after which so many planes are good beyond all parts.
    pub fn swept(&self, part: usize, sides: [Swept; 2], depths: [i64; 2]) {
        self.with(|state| {
            (state.given, state.depths) = (false, depths);
            let Some(edges) = state.edges.get_mut(part) else { return };
            for (edge, swept) in edges.iter_mut().zip(sides) {
                match swept {
                    Swept::Untouched => {}
                    Swept::Torn => *edge = Edge { own: other(), copies: other(), depth: 0 },
                    Swept::Whole(made) => *edge = made,
                }
            }
        });
    }

    /// Whether all parts have good copies of so many planes below and above.
    pub fn are_good(&self, planes: [i64; 2]) -> bool {
        let are_all_here = self.here == (0..self.borders.len());
        self.with(|state| {
            !state.ghosts
                && (are_all_here || (0..2).all(|side| state.depths[side] >= planes[side]))
                && self.here.clone().all(|part| {
                    (0..2).filter(|side| self.borders[part][*side] && planes[*side] > 0).all(|side| {
                        let (here, owner) = (state.edges[part][side], self.owner(part, side));
                        let known = self.here.contains(&owner);
                        here.depth >= planes[side] && (!known || here.copies == state.edges[owner][1 - side].own)
                    })
                })
        })
    }

    /// The part that owns what a part has copies of on this side.
    fn owner(&self, part: usize, side: usize) -> usize {
        let parts = self.borders.len();
        (if side == 0 { part + parts - 1 } else { part + 1 }) % parts
    }

    /// What the rank before this one has to say for the copies of both to be good, and what this one says to the next
    /// one: what was made on the sides of their common border.
    pub fn beside(&self) -> [String; 2] {
        let ends = [(self.here.start, 0), (self.here.end.saturating_sub(1), 1)];
        ends.map(|(part, side)| {
            if !self.borders.get(part).is_some_and(|of| of[side]) || self.here.contains(&self.owner(part, side)) {
                return String::new();
            }
            let Edge { own, copies, .. } = self.edge(part, side);
            let (below, above) = if side == 0 { (copies, own) } else { (own, copies) };
            format!("{below:x}/{above:x}")
        })
    }

    /// Whether they are not good, of values that no kernel has computed: those are given once.
    pub fn are_due(&self) -> bool {
        self.with(|state| state.given) && !self.are_good([self.planes; 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(by: u64, depth: i64) -> [Swept; 2] {
        [Swept::Whole(Edge { own: by, copies: by, depth }); 2]
    }

    #[test]
    fn copies_are_good_while_all_parts_do_the_same() {
        let copies = Copies::new(vec![[false, true], [true, true], [true, false]], 0..3, 3, false);
        assert!(!copies.are_good([1, 1]) && copies.are_due() && copies.are_good([0, 0]));
        copies.given(None);
        assert!(copies.are_good([3, 3]) && !copies.are_good([4, 0]) && !copies.are_due());
        for part in 0..3 {
            assert!(part == 0 || !copies.are_good([1, 1]));
            copies.swept(part, whole(7, 2), [2; 2]);
        }
        assert!(copies.are_good([2, 2]) && !copies.are_good([0, 3]));
        copies.swept(1, [Swept::Untouched, Swept::Torn], [0; 2]);
        assert!(!copies.are_good([0, 1]) && !copies.are_due());
        copies.lost();
        assert!(!copies.are_good([1, 0]) && copies.are_due());
        copies.ghosts_lost();
        (0..3).for_each(|part| copies.swept(part, whole(8, 2), [2; 2]));
        assert!(!copies.are_good([1, 1]));
        copies.given(None);
        assert!(copies.are_good([1, 1]));
    }

    #[test]
    fn ranks_tell_one_another_what_they_have_made() {
        let of = |here| Copies::new(vec![[true; 2]; 3], here, 3, false);
        let ranks = [of(0..1), of(1..3)];
        assert!(ranks.iter().all(|copies| copies.are_due()));
        ranks.iter().for_each(|copies| copies.given(Some(4)));
        let agree = |at: usize| ranks[at].beside()[1] == ranks[1 - at].beside()[0];
        assert!(ranks.iter().all(|copies| copies.are_good([3, 3])) && agree(0) && agree(1));
        ranks[0].swept(0, whole(7, 2), [2; 2]);
        [1, 2].into_iter().for_each(|part| ranks[1].swept(part, whole(7, 2), [2; 2]));
        assert!(ranks.iter().all(|copies| copies.are_good([2, 2]) && !copies.are_good([3, 0])) && agree(0) && agree(1));
        // Each rank finds its own good; what they tell one another does not agree.
        ranks[1].swept(1, [Swept::Whole(Edge { own: 8, copies: 8, depth: 1 }), Swept::Untouched], [1; 2]);
        assert!(ranks.iter().all(|copies| copies.are_good([1, 1])) && !agree(0) && agree(1));
        assert_eq!(Copies::new(vec![[true; 2]; 3], 0..3, 3, false).beside(), ["", ""]);
        assert_eq!(Copies::new(vec![[false, true], [true, false]], 0..1, 3, false).beside()[0], "");
    }
}
