//! Which boxes of ghosts are copied from where; made once for an array's geometry.

use std::ops::Range;

use super::device::DeviceGhosts;
use super::mixed::MixedGhosts;
use super::planes::Part;
use crate::grid::GridBox;
use crate::memory::element::{Element, Place};
use crate::memory::layout::{Boundaries, Boundary, Centering, Layout};

/// Copies of more cells are cut, so that threads can share them.
const LARGEST_COPY: usize = 1 << 15;

/// How the ghosts of an array are filled.
#[derive(Debug)]
pub(crate) struct GhostPlan<const D: usize> {
    /// One after the other; within a phase nothing reads what another copy writes.
    pub(super) phases: Vec<Phase<D>>,
    /// The fixed values that copies name.
    pub(super) fixed: Vec<FixedValue>,
    /// The same for a device.
    pub(super) device: DeviceGhosts,
    /// The same for regions on both sides.
    pub(super) mixed: MixedGhosts<D>,
}

/// Copies that may run at once.
#[derive(Debug, Default)]
pub(super) struct Phase<const D: usize> {
    /// The axis whose faces they are for; none for ghosts inside the domain.
    pub(super) axis: Option<usize>,
    /// Copies of values that change.
    pub(super) moving: Vec<GhostCopy<D>>,
    /// Ghosts of fixed value, which stay once written.
    pub(super) fixed: Vec<GhostCopy<D>>,
}

/// Sets the ghosts `cells` of a region.
#[derive(Clone, Debug)]
pub(super) struct GhostCopy<const D: usize> {
    pub(super) region: usize,
    pub(super) cells: GridBox<D>,
    pub(super) from: From<D>,
}

/// What ghosts are set to.
#[derive(Clone, Debug)]
pub(super) enum From<const D: usize> {
    /// Another box.
    Box(Source<D>),
    /// Another box, negated.
    Negated(Source<D>),
    /// Continued from the two nearest values: `near + distance · (near − far)`.
    Line { near: Source<D>, far: Source<D>, distance: i64 },
    /// A fixed value, by its number.
    Fixed(usize),
}

/// The cells at `at + shift` in a region's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<const D: usize> {
    pub(super) region: usize,
    pub(super) shift: [i64; D],
}

impl<const D: usize> GhostCopy<D> {
    /// The boxes that it reads, by their distance from the ghosts.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source<D>> {
        let (first, second) = match &self.from {
            From::Box(source) | From::Negated(source) => (Some(source), None),
            From::Line { near, far, .. } => (Some(near), Some(far)),
            From::Fixed(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The cells of one of its sources.
    pub(super) fn read_by(&self, source: &Source<D>) -> GridBox<D> {
        let shifted = |at: [i64; D]| std::array::from_fn(|d| at[d] + source.shift[d]);
        GridBox { lo: shifted(self.cells.lo), hi: shifted(self.cells.hi) }
    }

    /// The planes along an axis that it reads.
    pub(super) fn reads(&self, axis: usize) -> Range<i64> {
        let planes = self.sources().map(|source| self.read_by(source)).map(|cells| cells.lo[axis]..cells.hi[axis]);
        let both = |one: Range<i64>, other: Range<i64>| one.start.min(other.start)..one.end.max(other.end);
        planes.reduce(both).unwrap_or(self.cells.lo[axis]..self.cells.lo[axis])
    }
}

/// The bits of each component of an element.
pub(super) type FixedValue = Vec<u64>;

impl<const D: usize> GhostPlan<D> {
    /// The plan for an array of that geometry.
    pub(crate) fn new<T: Element>(layout: &Layout<D>, boundaries: &Boundaries<T, D>) -> Self {
        let (device, mixed) = (DeviceGhosts::default(), MixedGhosts::default());
        let mut plan = GhostPlan { phases: Vec::new(), fixed: Vec::new(), device, mixed };
        plan.push(inner(layout));
        for axis in (0..D).rev() {
            let mut phase = Phase { axis: Some(axis), ..Phase::default() };
            for (side, boundary) in boundaries[axis].iter().enumerate() {
                if let Boundary::Fixed(value) = boundary {
                    plan.fixed.push(match &layout.coding {
                        Some(coding) => coding.bits(*value),
                        None => components(value),
                    });
                }
                for region in 0..layout.regions.len() {
                    let face = Face { layout, region, axis, side };
                    face.copies(boundary, plan.fixed.len().saturating_sub(1), &mut phase);
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

    /// The phases of one part of a fill, for an array of one region.
    pub(super) fn part(&self, part: Part) -> impl Iterator<Item = &Phase<D>> {
        self.phases.iter().filter(move |phase| match phase.axis {
            Some(0) => part == Part::Ends,
            _ => part == Part::Edges,
        })
    }

    fn push(&mut self, phase: Phase<D>) {
        if !phase.moving.is_empty() || !phase.fixed.is_empty() {
            self.phases.push(Phase { axis: phase.axis, moving: split(phase.moving), fixed: split(phase.fixed) });
        }
    }
}

/// The ghosts inside the domain: from the regions that own them.
fn inner<const D: usize>(layout: &Layout<D>) -> Phase<D> {
    let mut phase = Phase::default();
    for (number, region) in layout.regions.iter().enumerate() {
        let inside = region.grown.intersect(&layout.domain());
        for owner in layout.owners(&inside).filter(|owner| *owner != number) {
            let cells = layout.regions[owner].valid.intersect(&inside);
            let from = From::Box(Source { region: owner, shift: [0; D] });
            phase.moving.push(GhostCopy { region: number, cells, from });
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
}

impl<const D: usize> Face<'_, D> {
    /// Adds the copies that fill them.
    fn copies<T>(&self, boundary: &Boundary<T>, fixed: usize, phase: &mut Phase<D>) {
        let slab = self.slab();
        if slab.is_empty() {
            return;
        }
        let axis = self.axis;
        let last = self.layout.shape[axis] as i64 - 1;
        match boundary {
            Boundary::Periodic => {
                let period = self.layout.cuts.cells[axis] as i64;
                self.owned(slab, if self.side == 0 { period } else { -period }, phase);
            }
            Boundary::Fixed(_) => {
                phase.fixed.push(GhostCopy { region: self.region, cells: slab, from: From::Fixed(fixed) });
            }
            Boundary::Open => self.owned(slab, 0, phase),
            Boundary::ReflectEven | Boundary::ReflectOdd => {
                let odd = matches!(boundary, Boundary::ReflectOdd);
                // The face lies half a cell below cell 0, or at face 0.
                let skip = (self.layout.centering[axis] == Centering::Cell) as i64;
                for (layer, depth) in self.layers(slab) {
                    let mirror = self.inwards(depth - skip, last);
                    for (cells, source) in self.sources(layer, mirror) {
                        let from = if odd { From::Negated(source) } else { From::Box(source) };
                        phase.moving.push(GhostCopy { region: self.region, cells, from });
                    }
                }
            }
            Boundary::Extrapolate(order) => {
                for (layer, depth) in self.layers(slab) {
                    for (cells, near) in self.sources(layer, self.inwards(0, last)) {
                        if *order == 0 {
                            phase.moving.push(GhostCopy { region: self.region, cells, from: From::Box(near) });
                            continue;
                        }
                        for (cells, far) in self.sources(cells, self.inwards(1, last)) {
                            let from = From::Line { near, far, distance: depth };
                            phase.moving.push(GhostCopy { region: self.region, cells, from });
                        }
                    }
                }
            }
        }
    }

    /// The ghosts: beyond the face; along the axes done before all of the region's memory, along those to come only
    /// what is inside the domain. Empty if the region does not touch the face.
    fn slab(&self) -> GridBox<D> {
        let grown = self.layout.regions[self.region].grown;
        let domain = self.layout.domain();
        let mut slab = grown;
        for d in 0..self.axis {
            slab.lo[d] = slab.lo[d].max(domain.lo[d]);
            slab.hi[d] = slab.hi[d].min(domain.hi[d]);
        }
        if self.side == 0 {
            slab.hi[self.axis] = domain.lo[self.axis];
        } else {
            slab.lo[self.axis] = domain.hi[self.axis];
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
    fn sources(&self, layer: GridBox<D>, plane: i64) -> Vec<(GridBox<D>, Source<D>)> {
        let mut shift = [0; D];
        shift[self.axis] = plane - layer.lo[self.axis];
        let wanted = shifted(layer, shift);
        if self.layout.regions[self.region].grown.contains_box(&wanted) {
            return vec![(layer, Source { region: self.region, shift })];
        }
        let back = shift.map(|s| -s);
        let owners = self.layout.owners(&wanted);
        owners
            .map(|region| {
                let part = self.layout.realm(region).intersect(&wanted);
                (shifted(part, back), Source { region, shift })
            })
            .collect()
    }

    /// Copies from the regions that own the cells `along` further on the axis.
    fn owned(&self, slab: GridBox<D>, along: i64, phase: &mut Phase<D>) {
        let mut shift = [0; D];
        shift[self.axis] = along;
        let wanted = shifted(slab, shift);
        let back = shift.map(|s| -s);
        for region in self.layout.owners(&wanted) {
            if along == 0 && region == self.region {
                continue;
            }
            let cells = shifted(self.layout.realm(region).intersect(&wanted), back);
            phase.moving.push(GhostCopy { region: self.region, cells, from: From::Box(Source { region, shift }) });
        }
    }
}

fn shifted<const D: usize>(cells: GridBox<D>, shift: [i64; D]) -> GridBox<D> {
    GridBox { lo: std::array::from_fn(|d| cells.lo[d] + shift[d]), hi: std::array::from_fn(|d| cells.hi[d] + shift[d]) }
}

/// Cuts large copies along their first long axis.
fn split<const D: usize>(copies: Vec<GhostCopy<D>>) -> Vec<GhostCopy<D>> {
    let mut todo = copies;
    todo.reverse();
    let mut done = Vec::with_capacity(todo.len());
    while let Some(copy) = todo.pop() {
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
        todo.extend([high, low]);
    }
    done
}

/// The bits of each component of a value.
pub(super) fn components<T: Element>(value: &T) -> FixedValue {
    // Planes of eight elements each, so that every component is aligned.
    const PLANE: usize = 8;
    let types = T::TYPE.component_types();
    let mut memory = vec![0u64; T::TYPE.bytes().max(1)];
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: the memory holds planes of 8 elements of every component, and element 0 is written.
    unsafe { T::place(base, PLANE, 0).store(*value) };
    let mut offset = 0;
    types
        .iter()
        .map(|ty| {
            let mut bits = [0; 8];
            // SAFETY: the plane of this component starts at `offset`, inside the memory.
            unsafe { std::ptr::copy_nonoverlapping(base.add(offset), bits.as_mut_ptr(), ty.size()) };
            offset += PLANE * ty.size();
            u64::from_le_bytes(if cfg!(target_endian = "little") { bits } else { little(bits, ty.size()) })
        })
        .collect()
}

/// The first `size` bytes in reverse.
fn little(bits: [u8; 8], size: usize) -> [u8; 8] {
    let mut reversed = [0; 8];
    (0..size).for_each(|n| reversed[n] = bits[size - 1 - n]);
    reversed
}
