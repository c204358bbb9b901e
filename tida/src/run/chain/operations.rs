//! What the links of a chain are to its schedule: operations over planes.

use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use tida_kernels::plan::fuse::Face;

use super::segments::{Segment, ring_fill};
use super::{Chain, Link, Use};
use crate::backend::Lane;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::grid::boxes::union;
use crate::launch::step::{Launch, Together};
use crate::memory::ghosts::planes::{FillPart, Planar};
use crate::program::schedule::{Access, PlaneOp, Reach, Scale, Skew, Write, hull_of};
use crate::run::steps::{identity, steps};

/// What an operation of the schedule is.
pub(super) enum OpWork {
    /// The sweep of a link.
    Sweep(usize),
    /// The reduction of a link.
    Fold(usize),
    /// Steps that run together: the sweeps of a link and of some that come after it, with their launches.
    Steps(usize, Together, Arc<[Arc<dyn Launch>]>),
    /// A part of the ghost fill of a link, of an array.
    Ghosts(usize, usize, FillPart),
}

impl OpWork {
    /// Sweeps of the program.
    pub fn sweeps(&self) -> u32 {
        match self {
            OpWork::Sweep(_) => 1,
            OpWork::Steps(_, together, _) => together.steps,
            OpWork::Fold(_) | OpWork::Ghosts(..) => 0,
        }
    }

    /// The link that a launch is of.
    pub fn link(&self) -> usize {
        match self {
            OpWork::Sweep(link) | OpWork::Fold(link) | OpWork::Steps(link, ..) | OpWork::Ghosts(link, ..) => *link,
        }
    }
}

/// How steps may run together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth<'a> {
    pub device: &'a DeviceCore,
    /// Planes that a launch leaves, about.
    pub planes: i64,
    /// Steps of a launch, at most.
    pub most: u32,
}

/// Boxes of a sweep, merged across regions.
pub(super) fn merged(link: &Link) -> Vec<GridBox<4>> {
    let Some(sweep) = link.op.kernel() else { return Vec::new() };
    let mut boxes: Vec<GridBox<4>> = sweep.boxes().iter().map(|(_, cells)| *cells).collect();
    boxes.sort_unstable_by_key(|cells| cells.lo);
    let mut merged: Vec<GridBox<4>> = Vec::new();
    for cells in boxes {
        match merged.last_mut().and_then(|last| union(last, &cells).map(|both| (last, both))) {
            Some((last, both)) => *last = both,
            None => merged.push(cells),
        }
    }
    merged
}

/// The operations of a segment, without those that do not run. On the unwrapped axis all are of the same planes, though
/// a kernel may have nothing to do at some of them.
pub(super) fn operations(
    chain: &Chain,
    planars: &[&Arc<Planar>],
    Segment { links, period, scales }: &Segment,
    boxes: &[Vec<GridBox<4>>],
    results: &[Result<(), Error>],
    depth: Option<Depth<'_>>,
) -> (Vec<OpWork>, Vec<PlaneOp>) {
    let mut all = Vec::new();
    let scale = |array: usize| scales.get(array).copied().unwrap_or(1);
    let mut add = |work: OpWork, sees: Arrays, over: usize, op: PlaneOp| {
        all.push((work, sees, op.in_finest(scale(over), scales)));
    };
    // Links before this one are parts of steps that run together.
    let mut next = links.start;
    for number in links.clone().filter(|number| results[*number].is_ok()) {
        if number < next {
            continue;
        }
        let link = &chain.links[number];
        let fills_ring = ring_fill(link, planars).is_some();
        match link.filled() {
            None => {
                let Some(swept) = Swept::of((chain, number), planars, boxes, *period) else { continue };
                let access = |last: usize, one: &Use| swept.access(last, one);
                let several = depth.and_then(|depth| {
                    let segment = (links.end, *period);
                    several(chain, planars, (number, segment), (&boxes[number], results), depth, access)
                });
                let (over, planes) = (swept.over, swept.planes.clone());
                match several {
                    Some(Several { work, links, sees, accesses }) => {
                        next = number + links;
                        let steps = work.sweeps() as usize;
                        add(work, sees, over, PlaneOp { planes, accesses, steps, scale: 1 });
                    }
                    None => {
                        let accesses = link.uses.iter().map(|one| access(number, one)).collect();
                        let work = if link.op.fold().is_some() { OpWork::Fold(number) } else { OpWork::Sweep(number) };
                        add(work, seen(&link.uses), over, PlaneOp { planes, accesses, steps: 1, scale: 1 });
                    }
                }
            }
            // Done on the host.
            Some(_) if fills_ring && period.is_none() => {}
            Some((array, _)) => {
                fills(array, planars[array], fills_ring, |planes, part, accesses| {
                    let op = PlaneOp { planes, accesses, steps: 0, scale: 1 };
                    add(OpWork::Ghosts(number, array, part), Arrays::new(), array, op);
                });
            }
        }
    }
    let needed: Vec<bool> = (0..all.len()).map(|number| !is_in_vain(chain, &all, number)).collect();
    let needed = all.into_iter().zip(needed).filter(|(_, needed)| *needed);
    needed.map(|((work, _, op), _)| (work, op)).unzip()
}

/// Numbers of arrays of a chain.
type Arrays = SmallVec<[usize; 4]>;

/// The arrays whose ghosts a sweep or a reduction has use for, or sets.
fn seen(uses: &[Use]) -> Arrays {
    uses.iter().filter(|one| one.sees_ghosts || one.ghosts || one.keeps).map(|one| one.array).collect()
}

/// Whether an operation fills ghosts that no one sees until they are filled again: steps that run together read cells
/// in their place.
fn is_in_vain(chain: &Chain, all: &[(OpWork, Arrays, PlaneOp)], number: usize) -> bool {
    let OpWork::Ghosts(link, array, _) = all[number].0 else { return false };
    let sets_fixed = |link: usize| chain.links[link].filled().is_some_and(|(_, fixed)| fixed);
    for (work, sees, _) in &all[number + 1..] {
        match work {
            OpWork::Ghosts(other, of, _) if *of == array && *other != link => {
                return sets_fixed(*other) || !sets_fixed(link);
            }
            _ if sees.contains(&array) => return false,
            _ => {}
        }
    }
    false
}

/// The planes that the sweep or the reduction of a link goes over.
struct Swept<'a> {
    chain: &'a Chain,
    planars: &'a [&'a Arc<Planar>],
    boxes: &'a [Vec<GridBox<4>>],
    number: usize,
    period: Option<i64>,
    /// The array whose planes they are.
    over: usize,
    /// Those with cells of it.
    cells: Range<i64>,
    /// The same; on the unwrapped axis all of them.
    planes: Range<i64>,
    /// It has only ghosts beyond the ends of arrays, and reads planes for them.
    beyond: bool,
}

impl<'a> Swept<'a> {
    /// Nothing if it has no cells.
    fn of(
        (chain, number): (&'a Chain, usize),
        planars: &'a [&'a Arc<Planar>],
        boxes: &'a [Vec<GridBox<4>>],
        period: Option<i64>,
    ) -> Option<Swept<'a>> {
        let uses = &chain.links[number].uses;
        let over = uses.iter().find(|one| one.scale == Scale::Same)?.array;
        let axis = 4 - planars[over].facts().rank;
        let cells = hull_of(boxes[number].iter().map(|cells| cells.lo[axis]..cells.hi[axis]));
        let outside = |one: &Use| {
            let valid = &planars[one.array].facts().valid;
            one.scale != Scale::Same || cells.end <= valid.start || valid.end <= cells.start
        };
        let beyond = uses.iter().all(outside) && uses.iter().any(|one| one.write && one.read.is_some());
        let planes = period.map_or(cells.clone(), |period| 0..period);
        (!cells.is_empty()).then_some(Swept { chain, planars, boxes, number, period, over, cells, planes, beyond })
    }

    /// How an array is touched that the `last` of some links from this one on writes, or that none does.
    fn access(&self, last: usize, one: &Use) -> Access {
        let planar = self.planars[one.array];
        let whole = one.read.is_none()
            && !one.keeps
            && self.planes == self.cells
            && overwrites(planar, &self.boxes[self.number])
            && edges_are_set((self.chain, self.boxes), last + 1, planar, one.array);
        let write = if whole { Write::Whole } else { Write::Part };
        Access {
            array: one.array,
            read: one.read.map(|(lo, hi)| match self.period {
                // All ghost planes beyond one end, as a fill sets them.
                None if self.beyond => Reach::Planes(one.planes.clone()),
                None if one.write || one.scale != Scale::Same => Reach::Within(lo, hi, planar.facts().grown.clone()),
                _ => Reach::Around(lo, hi),
            }),
            write: one.write.then_some(write),
            scale: 1,
        }
    }
}

/// The parts of a ghost fill that streams, with their planes and what they touch.
fn fills(
    array: usize,
    planar: &Planar,
    fills_ring: bool,
    mut add: impl FnMut(Range<i64>, FillPart, SmallVec<[Access; 4]>),
) {
    let access = |read: Reach| smallvec![Access { array, read: Some(read), write: Some(Write::Part), scale: 1 }];
    if planar.facts().edges.filled {
        add(planar.facts().valid.clone(), FillPart::Edges, access(Reach::Around(0, 0)));
    }
    // What lies beyond the ends of a ring are its planes.
    for (planes, from) in planar.ends().filter(|_| !fills_ring) {
        add(planes, FillPart::Ends, access(Reach::Planes(from)));
    }
}

/// Steps that run together.
struct Several {
    work: OpWork,
    /// The links that they are: their sweeps, and the ghost fills between.
    links: usize,
    /// The arrays whose ghosts they read.
    sees: Arrays,
    accesses: SmallVec<[Access; 4]>,
}

/// The steps that run together from a link on, before the link `end`, if any do.
///
/// A launch leaves the array that its last step writes. What the steps between would have left in the other one the
/// step after them overwrites ([`steps`] makes sure that there is one), and what they would have left in this one
/// the last of them. Each step reads planes around those that it leaves, so all of them together read as many times as
/// many.
fn several(
    chain: &Chain,
    planars: &[&Arc<Planar>],
    (number, (end, period)): (usize, (usize, Option<i64>)),
    (boxes, results): (&[GridBox<4>], &[Result<(), Error>]),
    Depth { device, planes, most }: Depth<'_>,
    access: impl Fn(usize, &Use) -> Access,
) -> Option<Several> {
    let [cells] = boxes else { return None };
    let runs = |number: usize| results[number].is_ok().then_some(&chain.links[number].op);
    let following = steps((number..end).map(runs))?;
    let pair = *following.pair();
    let array_of = |of: usize| chain.arrays.iter().position(|tracker| identity(tracker) == of);
    let facts_of = |of: usize| array_of(of).map(|array| planars[array].facts());
    let mut faces = following.faces(facts_of, cells)?;
    let (out, inp) = (array_of(pair.out)?, array_of(pair.inp)?);
    let axis = 4 - planars[out].facts().rank;
    // Nobody has use for what lies beyond a border. As if it was the same in both arrays a launch reads it in the one
    // that it reads anyway; the other one may not be there.
    let beyond = planars[out].regional.borders;
    let is_read = |d: usize, side: usize| faces[d][side].is_held() && pair.halo[d] > 0 && !beyond[d][side];
    let held = following.computes() || (0..8).any(|face| is_read(face / 2, face % 2));
    let mut sees: Arrays = if held { smallvec![out, inp] } else { Arrays::new() };
    let borders = faces[axis].iter_mut().zip(beyond[axis]);
    borders.filter(|(_, border)| *border).for_each(|(face, _)| *face = Face::Constant);
    // What each of the kernels reads of arrays that do not alternate, and how far any of them reads of those that do.
    let mut others: SmallVec<[Use; 4]> = SmallVec::new();
    let (mut lo, mut hi) = (0, 0);
    for sweep in following.kernels() {
        for one in &chain.links[number + sweep].uses {
            let read = one.read.unwrap_or_default();
            if [out, inp].contains(&one.array) {
                (lo, hi) = (read.0.min(lo), read.1.max(hi));
                continue;
            }
            sees.extend(seen(std::slice::from_ref(one)));
            match others.iter_mut().find(|known| known.array == one.array) {
                Some(known) => known.read = known.read.map(|(lo, hi)| (lo.min(read.0), hi.max(read.1))),
                None => others.push(one.clone()),
            }
        }
    }
    let most = match period {
        // Planes follow one another again and again; other arrays would have to be found by other numbers than a
        // cell's.
        // Their ghosts that kernels set have coordinates of the domain.
        Some(period) if faces[axis] == [Face::Wrap; 2] && others.is_empty() && !following.computes() => {
            faces[axis] = [Face::Follow; 2];
            most.min(((period - 1) / (hi - lo).max(1)).clamp(1, most.into()) as u32)
        }
        None if !faces[axis].iter().any(|face| face.wraps()) => most,
        _ => return None,
    };
    let usual = following.over(1, *cells, planes, faces);
    let (steps, _) = following.together(device, (&usual.usual(axis), &faces), (most, true));
    let links = following.first(steps)?;
    let (times, between) = (i64::from(steps), i64::from(steps) - 1);
    // No plane is there beyond the ghosts of an array.
    let reach = |array: usize, lo: i64, hi: i64| match period {
        Some(_) => Reach::Around(lo, hi),
        None => Reach::Within(lo, hi, planars[array].facts().grown.clone()),
    };
    let written = Use { array: out, write: true, ..Use::default() };
    let mut left = access(number + links - 1, &written);
    if faces[axis..].as_flattened().contains(&Face::Memory) {
        // What is beyond the faces of this array has to be in its window too.
        if left.write == Some(Write::Whole) || period.is_some() {
            return None;
        }
        left.read = Some(reach(out, times * lo, times * hi));
    }
    let mut accesses: SmallVec<[Access; 4]> = smallvec![left];
    accesses.push(Access { array: inp, read: Some(reach(inp, times * lo, times * hi)), write: None, scale: 1 });
    for Use { array, read, .. } in others {
        let read = read.map(|(low, high)| reach(array, low + between * lo, high + between * hi));
        accesses.push(Access { array, read, write: None, scale: 1 });
    }
    let together = following.over(steps, *cells, planes, faces);
    Some(Several { work: OpWork::Steps(number, together, following.launches(steps)), links, sees, accesses })
}

/// Whether boxes cover all values of every plane that they touch.
fn overwrites(planar: &Arc<Planar>, boxes: &[GridBox<4>]) -> bool {
    let (facts, [one]) = (planar.facts(), boxes) else { return false };
    let axis = 4 - facts.rank;
    facts
        .layout
        .regions
        .first()
        .is_some_and(|region| (axis + 1..4).all(|d| one.lo[d] <= region.valid.lo[d] && region.valid.hi[d] <= one.hi[d]))
}

/// Whether no one looks at the ghosts at the edges of an array's planes before links from `first` on have set them.
fn edges_are_set(
    (chain, boxes): (&Chain, &[Vec<GridBox<4>>]),
    first: usize,
    planar: &Arc<Planar>,
    array: usize,
) -> bool {
    let facts = planar.facts();
    if !facts.edges.open && !facts.edges.filled {
        return true;
    }
    // What kernels have to set, and fills.
    let (mut open, mut filled) = (planar.open_edges(), !facts.edges.filled);
    for (link, boxes) in chain.links.iter().zip(boxes).skip(first) {
        let Some(one) = link.use_of(array) else { continue };
        if link.filled().is_some() {
            filled = true;
            continue;
        }
        // Who reads cells alone does not look there.
        if one.sees_ghosts || (one.write && !one.ghosts) {
            return open.is_empty() && filled;
        }
        if one.ghosts {
            let before = open.len();
            open.retain(|edge| !boxes.iter().any(|cells| cells.contains_box(edge)));
            // A fill before took in what was there.
            filled &= open.len() == before || !planar.regional.plan().has_work(false);
        }
    }
    open.is_empty() && filled
}

/// How operations of a pass may run together over rows, those that may: each trails those before it by what it reads of
/// them and by what they read of what it overwrites, as along the planes.
pub(super) fn row_lanes(chain: &Chain, works: &[OpWork], boxes: &[Vec<GridBox<4>>]) -> Vec<Option<Lane>> {
    let mut skew = Skew::new(chain.arrays.len());
    let lane = |work: &OpWork| {
        let OpWork::Sweep(number) = work else { return None };
        let uses = &chain.links[*number].uses;
        let planar = uses.first().and_then(|one| chain.arrays[one.array].planar())?;
        let axis = 5 - planar.facts().rank;
        let known = uses.iter().all(|one| (one.read.is_none() || one.across.is_some()) && one.scale == Scale::Same);
        if axis > 3 || !known {
            return None;
        }
        let planes = hull_of(boxes[*number].iter().map(|cells| cells.lo[axis]..cells.hi[axis]));
        let access = |one: &Use| Access {
            array: one.array,
            read: one.read.and(one.across).map(|(lo, hi)| Reach::Around(lo, hi)),
            write: one.write.then_some(Write::Part),
            scale: 1,
        };
        skew.add(&PlaneOp { planes, accesses: uses.iter().map(access).collect(), steps: 1, scale: 1 });
        Some(Lane { axis, lag: skew.last_lag()? })
    };
    works.iter().map(lane).collect()
}

/// How far from a plane an operation reads.
pub(super) fn reach(op: &PlaneOp) -> i64 {
    let of = |access: &Access| match &access.read {
        Some(Reach::Around(lo, hi) | Reach::Within(lo, hi, _)) => lo.abs().max(hi.abs()),
        Some(Reach::Planes(planes)) => {
            (op.planes.end - 1 - planes.start).abs().max((planes.end - 1 - op.planes.start).abs())
        }
        None => 0,
    };
    op.accesses.iter().map(of).max().unwrap_or(0)
}
