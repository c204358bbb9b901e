//! Which boxes of ghosts are copied from where; made once for an array's geometry. From here on boxes have four axes,
//! whatever the array has.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::emit::copies::From;

use super::super::coding::Coding;
use super::super::layout::{Boundary, Centering, Kinds, Layout, WideLayout};
use super::planes::FillPart;
use crate::grid::GridBox;

/// Copies of more cells are cut, so that threads can share them.
const LARGEST_COPY: usize = 1 << 15;

/// How the ghosts of an array are filled.
#[derive(Debug)]
pub(crate) struct GhostPlan {
    /// One after the other; within a phase nothing reads what another copy writes.
    pub(super) phases: Vec<Phase>,
    /// The fixed values that copies name.
    pub(super) fixed: Vec<FixedValue>,
    /// How the regions lie in memory, and what of.
    pub(super) layout: Arc<WideLayout>,
    pub(super) coding: Option<Arc<Coding>>,
    pub(super) components: SmallVec<[Component; 8]>,
    /// The first axis of the array.
    pub(super) first: usize,
}

/// A component of an element: its type, and the bytes of those before it.
pub(super) type Component = (ScalarType, usize);

/// Copies that may run at once, in the order of the regions that they set.
#[derive(Debug, Default)]
pub(super) struct Phase {
    /// The axis whose faces they are for; none for ghosts inside the domain.
    pub(super) axis: Option<usize>,
    /// Copies of values that change.
    pub(super) moving: Vec<GhostCopy>,
    /// Ghosts of fixed value, which stay once written.
    pub(super) fixed: Vec<GhostCopy>,
}

/// Sets the ghosts `cells` of a region, or puts them into the region's strip.
#[derive(Clone, Debug)]
pub(super) struct GhostCopy {
    pub(super) region: usize,
    pub(super) cells: GridBox<4>,
    /// The components that it sets.
    pub(super) of: Range<usize>,
    /// Where in the strip, in bytes.
    pub(super) packed: Option<usize>,
    /// Constants are the numbers of fixed values.
    pub(super) from: From<Source>,
}

/// The cells at `at + shift` in a region's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) region: usize,
    pub(super) shift: [i64; 4],
    /// Where they start in the region's strip, in bytes, if they may come in one.
    pub(super) packed: Option<usize>,
}

impl GhostCopy {
    fn new<const D: usize>(region: usize, cells: GridBox<D>, of: &Range<usize>, from: From<Source>) -> GhostCopy {
        GhostCopy { region, cells: cells.widen(), of: of.clone(), packed: None, from }
    }

    /// The boxes that it reads, by their distance from the ghosts.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.from.sources()
    }

    /// The cells of one of its sources.
    pub(super) fn read_by(&self, source: &Source) -> GridBox<4> {
        shifted(self.cells, source.shift)
    }

    /// The planes along an axis that it reads.
    pub(super) fn reads(&self, axis: usize) -> Range<i64> {
        let planes = self.sources().map(|source| self.read_by(source)).map(|cells| cells.lo[axis]..cells.hi[axis]);
        planes.reduce(|a, b| hull(&a, &b)).unwrap_or(self.cells.lo[axis]..self.cells.lo[axis])
    }

    /// The same of some ghosts alone: those in these ranges of the axes from `first` on.
    pub(super) fn within(&self, first: usize, ranges: &[Range<i64>]) -> Option<GhostCopy> {
        let mut cells = self.cells;
        for (axis, range) in (first..4).zip(ranges) {
            cells.lo[axis] = cells.lo[axis].max(range.start);
            cells.hi[axis] = cells.hi[axis].min(range.end);
        }
        (!cells.is_empty()).then(|| GhostCopy { cells, ..self.clone() })
    }
}

/// All from the lower of both starts to the higher of both ends.
pub(super) fn hull(one: &Range<i64>, other: &Range<i64>) -> Range<i64> {
    one.start.min(other.start)..one.end.max(other.end)
}

/// Of copies in the order of their regions, those of one region.
pub(super) fn of_region(copies: &[GhostCopy], region: usize) -> &[GhostCopy] {
    let start = copies.partition_point(|copy| copy.region < region);
    &copies[start..start + copies[start..].partition_point(|copy| copy.region == region)]
}

/// The bits of each component of an element.
pub(super) type FixedValue = Vec<u64>;

impl GhostPlan {
    /// The plan for an array of that geometry.
    pub(crate) fn new<const D: usize>(layout: &Layout<D>, boundaries: &Kinds<D>) -> Self {
        let mut plan = GhostPlan {
            phases: Vec::new(),
            fixed: Vec::new(),
            layout: layout.wide.clone(),
            coding: layout.coding.clone(),
            components: layout.element.placed_components().collect(),
            first: 4 - D,
        };
        plan.push(inner(layout));
        for axis in (0..D).rev() {
            let mut phase = Phase { axis: Some(4 - D + axis), ..Phase::default() };
            let both = (0..2).flat_map(|side| boundaries.of(axis, side).into_iter().map(move |of| (side, of)));
            for (side, (of, boundary)) in both {
                if let Boundary::Fixed(value) = boundary {
                    let bits = &boundaries.fixed[value];
                    plan.fixed.push(layout.coding.as_ref().map_or_else(|| bits.clone(), |coding| coding.bits(bits)));
                }
                if layout.borders[axis][side] {
                    continue;
                }
                for region in 0..layout.regions.len() {
                    let face = Face { layout, region, axis, side, of: &of };
                    face.copies(&boundary, plan.fixed.len().saturating_sub(1), &mut phase);
                }
            }
            plan.push(phase);
        }
        plan
    }

    /// Whether there is anything to do, fixed values included or not.
    pub(crate) fn has_work(&self, fixed: bool) -> bool {
        self.phases.iter().any(|phase| !phase.moving.is_empty() || (fixed && !phase.fixed.is_empty()))
    }

    /// Whether values change beyond some axis up to this one, in the order of axes.
    pub(crate) fn has_work_up_to(&self, axis: usize) -> bool {
        self.phases.iter().any(|phase| phase.axis.is_some_and(|of| of <= axis) && !phase.moving.is_empty())
    }

    /// The phases of one part of a fill, for an array of one region.
    pub(super) fn part(&self, part: FillPart) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(move |phase| (phase.axis == Some(self.first)) == (part == FillPart::Ends))
    }

    fn push(&mut self, Phase { axis, moving, fixed }: Phase) {
        if !moving.is_empty() || !fixed.is_empty() {
            self.phases.push(Phase { axis, moving: split(moving), fixed: split(fixed) });
        }
    }
}

/// The ghosts inside the domain: from the regions that own them, or that have them beyond a border, where they were set
/// before.
fn inner<const D: usize>(layout: &Layout<D>) -> Phase {
    let mut phase = Phase::default();
    for (number, region) in layout.regions.iter().enumerate() {
        let inside = region.grown.intersect(&layout.inside());
        for owner in layout.owners(&inside).filter(|owner| *owner != number) {
            let cells = layout.inner(owner).intersect(&inside);
            let from = From::Box(source(owner, [0; D]));
            phase.moving.push(GhostCopy::new(number, cells, &(0..layout.element.components()), from));
        }
    }
    phase
}

/// The ghosts of one region beyond one face of the domain.
struct Face<'a, const D: usize> {
    layout: &'a Layout<D>,
    region: usize,
    axis: usize,
    side: usize,
    /// Components that have one boundary there.
    of: &'a Range<usize>,
}

impl<const D: usize> Face<'_, D> {
    /// Adds the copies that fill them.
    fn copies(&self, boundary: &Boundary<usize>, fixed: usize, phase: &mut Phase) {
        let slab = self.slab();
        if slab.is_empty() {
            return;
        }
        let axis = self.axis;
        let last = self.layout.shape[axis] as i64 - 1;
        let copy = |cells: GridBox<D>, from: From<Source>| GhostCopy::new(self.region, cells, self.of, from);
        match boundary {
            Boundary::Periodic => {
                let period = self.layout.cuts.cells[axis] as i64;
                self.owned(slab, if self.side == 0 { period } else { -period }, phase);
            }
            Boundary::Fixed(_) => phase.fixed.push(copy(slab, From::Constant(fixed as u64))),
            Boundary::Open => self.owned(slab, 0, phase),
            Boundary::ReflectEven | Boundary::ReflectOdd | Boundary::Extrapolate(_) => {
                for (layer, distance) in self.layers(slab) {
                    // The face lies half a cell below cell 0, or at face 0.
                    let mirror = distance - (self.layout.centering[axis] == Centering::Cell) as i64;
                    let depth = if matches!(boundary, Boundary::Extrapolate(_)) { 0 } else { mirror };
                    for (cells, near) in self.sources(layer, self.inwards(depth, last)) {
                        match boundary {
                            Boundary::ReflectOdd => phase.moving.push(copy(cells, From::Negated(near))),
                            Boundary::Extrapolate(1..) => {
                                let far = self.sources(cells, self.inwards(1, last)).into_iter();
                                let line = |(cells, far)| copy(cells, From::Line { near, far, distance });
                                phase.moving.extend(far.map(line));
                            }
                            _ => phase.moving.push(copy(cells, From::Box(near))),
                        }
                    }
                }
            }
        }
    }

    /// The ghosts: beyond the face; along the axes done before all of the region's memory, along those to come only
    /// what is inside the domain, ghosts beyond borders included. Empty if the region does not touch the face.
    fn slab(&self) -> GridBox<D> {
        let grown = self.layout.regions[self.region].grown;
        let inside = self.layout.inside();
        let mut slab = grown;
        for d in 0..self.axis {
            slab.lo[d] = slab.lo[d].max(inside.lo[d]);
            slab.hi[d] = slab.hi[d].min(inside.hi[d]);
        }
        if self.side == 0 {
            slab.hi[self.axis] = inside.lo[self.axis];
        } else {
            slab.lo[self.axis] = inside.hi[self.axis];
        }
        slab
    }

    /// The planes of a slab with their distances from the outermost valid value.
    fn layers(&self, slab: GridBox<D>) -> impl Iterator<Item = (GridBox<D>, i64)> {
        let (axis, side) = (self.axis, self.side);
        (slab.lo[axis]..slab.hi[axis]).map(move |at| {
            let mut layer = slab;
            (layer.lo[axis], layer.hi[axis]) = (at, at + 1);
            (layer, if side == 0 { -at } else { at - slab.lo[axis] + 1 })
        })
    }

    /// The coordinate `depth` values inwards of the outermost one.
    fn inwards(&self, depth: i64, last: i64) -> i64 {
        if self.side == 0 { depth } else { last - depth }
    }

    /// Where one plane of ghosts finds the plane at coordinate `plane` of the same axis: in the region itself if that
    /// holds it, else in those that own it.
    fn sources(&self, layer: GridBox<D>, plane: i64) -> Vec<(GridBox<D>, Source)> {
        let mut shift = [0; D];
        shift[self.axis] = plane - layer.lo[self.axis];
        let wanted = shifted(layer, shift);
        if self.layout.regions[self.region].grown.contains_box(&wanted) {
            return vec![(layer, source(self.region, shift))];
        }
        let back = shift.map(|s| -s);
        let owners = self.layout.owners(&wanted);
        owners
            .map(|region| {
                let part = self.layout.realm(region).intersect(&wanted);
                (shifted(part, back), source(region, shift))
            })
            .collect()
    }

    /// Copies from the regions that own the cells `along` further on the axis.
    fn owned(&self, slab: GridBox<D>, along: i64, phase: &mut Phase) {
        let mut shift = [0; D];
        shift[self.axis] = along;
        let wanted = shifted(slab, shift);
        let back = shift.map(|s| -s);
        for region in self.layout.owners(&wanted) {
            if along == 0 && region == self.region {
                continue;
            }
            let cells = shifted(self.layout.realm(region).intersect(&wanted), back);
            phase.moving.push(GhostCopy::new(self.region, cells, self.of, From::Box(source(region, shift))));
        }
    }
}

fn shifted<const D: usize>(cells: GridBox<D>, shift: [i64; D]) -> GridBox<D> {
    GridBox { lo: std::array::from_fn(|d| cells.lo[d] + shift[d]), hi: std::array::from_fn(|d| cells.hi[d] + shift[d]) }
}

fn source<const D: usize>(region: usize, shift: [i64; D]) -> Source {
    let shift = std::array::from_fn(|axis| if axis < 4 - D { 0 } else { shift[axis + D - 4] });
    Source { region, shift, packed: None }
}

/// Orders copies by their regions, and cuts large ones along their first long axis.
fn split(mut copies: Vec<GhostCopy>) -> Vec<GhostCopy> {
    copies.sort_by_key(|copy| copy.region);
    let mut done = Vec::with_capacity(copies.len());
    copies.reverse();
    while let Some(copy) = copies.pop() {
        let extent = copy.cells.extent();
        let axis = extent.iter().position(|n| *n > 1).filter(|_| copy.cells.cells() > LARGEST_COPY);
        let Some(axis) = axis else {
            done.push(copy);
            continue;
        };
        let middle = copy.cells.lo[axis] + extent[axis] as i64 / 2;
        let (mut low, mut high) = (copy.clone(), copy);
        low.cells.hi[axis] = middle;
        high.cells.lo[axis] = middle;
        copies.extend([high, low]);
    }
    done
}
