//! Arrays as planes along their first axis: what a chain needs of them (docs/decisions/0007-chains.md).
//!
//! Where an array is cut along its first axis alone, its regions are stretches of one row of planes, each of the same
//! form. A device that holds some of these planes one after the other needs no ghosts between regions.

use std::ops::Range;
use std::sync::Arc;

use tida_kernels::element::ElementType;
use tida_kernels::plan::fuse::{Face, Faces};

use super::super::layout::{Boundary, Centering, Kinds, Layout, WideLayout};
use super::super::storage::Storage;
use super::compile::{Site, Where};
use super::device::DeviceCopies;
use super::host::OnHost;
use super::plan::{GhostCopy, Phase, hull};
use super::regions::Regional;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::program::fuse::Sides;

/// The planes of an array.
#[derive(Debug)]
pub(crate) struct PlaneFacts {
    /// Number of axes.
    pub rank: usize,
    pub element: ElementType,
    /// The regions, in the order of their planes.
    pub layout: Arc<WideLayout>,
    /// Planes with values of the domain.
    pub valid: Range<i64>,
    /// These and the ghost planes.
    pub grown: Range<i64>,
    /// Values from one plane to the next, for each component.
    pub stride: usize,
    /// Values before the first value of a plane that is in use.
    pub skip: usize,
    /// The ghosts that planes have at their edges.
    pub edges: Edges,
    /// Where the ends of the row belong together: planes after which it begins anew.
    pub period: Option<i64>,
    /// What a fill sets ghosts to beyond each face along four axes (leading ones have none), if a kernel that does
    /// several steps knows how.
    pub faces: FaceKinds,
    /// The components that a fill negates beyond each face where it mirrors all, as bits: faces of other kinds, and
    /// those where it negates none, have 0. Beyond these `faces` says nothing.
    pub negated: [[u64; 2]; 4],
    /// The bits of fixed values beyond each of these faces, for each component.
    pub fixed: [[Option<Vec<u64>>; 2]; 4],
}

/// What a fill sets ghosts to beyond each face along four axes, if that is known.
pub(super) type FaceKinds = [[Option<Face>; 2]; 4];

/// Which ghosts planes have at their edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edges {
    /// Some have a fixed value.
    pub fixed: bool,
    /// A fill sets some.
    pub filled: bool,
    /// Some are left to the user.
    pub open: bool,
}

impl PlaneFacts {
    /// The cells of the domain.
    pub fn domain(&self) -> GridBox<4> {
        let regions = &self.layout.regions;
        let ends = regions.first().zip(regions.last());
        ends.map_or(GridBox::new([0; 4], [0; 4]), |(first, last)| GridBox::new(first.valid.lo, last.valid.hi))
    }

    /// What a fill sets ghosts anew to beyond each face, if it is known; else, and where it sets none, what memory has.
    pub fn filled(&self) -> Faces {
        self.faces.map(|sides| sides.map(|face| face.unwrap_or(Face::Memory)))
    }

    /// The faces beyond which all components have fixed values.
    pub fn held(&self) -> Sides {
        let fixed = self.fixed.as_flattened();
        (0..fixed.len()).filter(|side| fixed[*side].is_some()).collect()
    }

    /// Whether the planes of the domain alone are the row that begins anew: each ghost plane is one of them. Of faces
    /// the last one is a plane of its own.
    pub fn is_ring(&self) -> bool {
        self.period == Some(self.valid.end)
    }
}

/// A part of a ghost fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FillPart {
    /// The ghosts at the edges of planes, from the same plane.
    Edges,
    /// Ghost planes beyond the ends.
    Ends,
}

/// A step of a ghost fill of an array of one region, for those who do it piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct FillStep {
    /// Number of the phase in the plan.
    phase: usize,
    /// The planes and the rows (along the second axis) that hold the ghosts.
    pub cells: [Range<i64>; 2],
    /// The axis, of these two, along which the values come from elsewhere, and from where.
    pub from: Option<(usize, Range<i64>)>,
}

impl FillStep {
    /// Whether ghosts and the values that they are set to are far apart: the ends belong together.
    pub fn is_far(&self) -> bool {
        self.from.as_ref().is_some_and(|(axis, from)| {
            let cells = &self.cells[*axis];
            (from.start - cells.end).max(cells.start - from.end) > cells.end - cells.start
        })
    }
}

/// An array that is cut along its first axis alone, whatever its type.
#[derive(Debug)]
pub(crate) struct Planar {
    facts: PlaneFacts,
    /// The same array by its regions.
    pub regional: Arc<Regional>,
}

/// An array's planes, if it is cut along its first axis alone and has another.
pub(crate) fn planar<const D: usize>(
    layout: &Arc<Layout<D>>,
    boundaries: &Kinds<D>,
    regional: Option<&Arc<Regional>>,
) -> Option<Arc<Planar>> {
    let (counts, regional) = (layout.cuts.regions(), regional?.clone());
    // Planes beyond a border are another part's.
    if D < 2 || counts[1..].iter().any(|n| *n != 1) || layout.has_bare_borders() {
        return None;
    }
    let first = layout.regions.first()?;
    let (low, high) = (layout.ghost[0][0] as i64, layout.ghost[0][1] as i64);
    let valid = layout.held.lo[0]..layout.held.hi[0];
    let is_border = |side: usize| layout.borders[0][side];
    let has = |axis: usize, side: usize| layout.ghost[axis][side] > 0;
    let faces = || (1..D).flat_map(|axis| [(axis, 0), (axis, 1)]).filter(|(axis, side)| has(*axis, *side));
    let facts = PlaneFacts {
        rank: D,
        element: layout.element,
        layout: layout.wide.clone(),
        grown: valid.start - low..valid.end + high,
        valid,
        stride: first.strides[0],
        skip: (first.grown.lo[D - 1] - first.origin[D - 1]) as usize,
        edges: Edges {
            fixed: faces().any(|(axis, side)| boundaries.any(axis, side, |b| matches!(b, Boundary::Fixed(_)))),
            filled: faces().any(|(axis, side)| boundaries.any(axis, side, moves)),
            open: faces().any(|(axis, side)| boundaries.any(axis, side, |b| matches!(b, Boundary::Open))),
        },
        period: ((low > 0 || high > 0) && matches!(boundaries.faces[0][0], Boundary::Periodic) && !is_border(0))
            .then_some(layout.cuts.cells[0] as i64),
        faces: face_kinds(layout, boundaries),
        negated: negated(layout, boundaries),
        fixed: fixed_values(layout, boundaries),
    };
    Some(Arc::new(Planar { facts, regional }))
}

/// Whether a fill sets ghosts beyond such a face anew each time.
fn moves(boundary: &Boundary<usize>) -> bool {
    !matches!(boundary, Boundary::Fixed(_) | Boundary::Open)
}

/// See [`PlaneFacts::faces`]. None where components differ. What lies beyond a border is in memory.
pub(super) fn face_kinds<const D: usize>(layout: &Layout<D>, boundaries: &Kinds<D>) -> FaceKinds {
    let mut faces = [[Some(Face::Memory); 2]; 4];
    let all = (0..D).flat_map(|axis| [(axis, 0), (axis, 1)]);
    let mut faced = all.filter(|(axis, side)| layout.ghost[*axis][*side] > 0 && !layout.borders[*axis][*side]);
    let moves = faced.any(|(axis, side)| boundaries.any(axis, side, moves));
    for axis in 0..D {
        let cells = layout.centering[axis] == Centering::Cell;
        faces[4 - D + axis] = std::array::from_fn(|side| {
            // Nothing that a cell of the part needs is there, nor beyond its corners.
            if layout.borders[axis][side] {
                return Some(Face::Memory);
            }
            let kind = |boundary: &Boundary<usize>| match boundary {
                _ if layout.borders[axis][side] => Some(Face::Memory),
                // What lies beyond its corners is not what the other faces say.
                Boundary::Open if moves => None,
                Boundary::Fixed(_) | Boundary::Open => Some(Face::Memory),
                _ if layout.ghost[axis][side] == 0 => Some(Face::Memory),
                Boundary::Periodic => Some(Face::Wrap).filter(|_| cells),
                Boundary::ReflectEven => Some(Face::Even).filter(|_| cells),
                Boundary::Extrapolate(0) => Some(Face::Nearest),
                Boundary::ReflectOdd | Boundary::Extrapolate(_) => None,
            };
            let of = boundaries.of(axis, side);
            let first = kind(&of.first()?.1);
            first.filter(|_| of.iter().all(|(_, boundary)| kind(boundary) == first))
        });
    }
    faces
}

/// See [`PlaneFacts::negated`].
fn negated<const D: usize>(layout: &Layout<D>, boundaries: &Kinds<D>) -> [[u64; 2]; 4] {
    let mut negated = [[0; 2]; 4];
    let floats = layout.element.component_types().iter().all(|ty| ty.is_float());
    for (axis, sides) in negated[4 - D..].iter_mut().enumerate() {
        let cells = layout.centering[axis] == Centering::Cell;
        for (side, bits) in sides.iter_mut().enumerate() {
            if !floats || !cells || boundaries.components > 64 || layout.borders[axis][side] {
                continue;
            }
            *bits = boundaries
                .of(axis, side)
                .into_iter()
                .try_fold(0, |bits, (of, boundary)| match boundary {
                    Boundary::ReflectOdd => Some(of.fold(bits, |bits, part| bits | 1 << part)),
                    Boundary::ReflectEven => Some(bits),
                    Boundary::Extrapolate(0) if layout.ghost[axis][side] == 1 => Some(bits),
                    _ => None,
                })
                .unwrap_or(0);
        }
    }
    negated
}

/// See [`PlaneFacts::fixed`]. None where some components have no fixed value.
fn fixed_values<const D: usize>(layout: &Layout<D>, boundaries: &Kinds<D>) -> [[Option<Vec<u64>>; 2]; 4] {
    let mut fixed: [[Option<Vec<u64>>; 2]; 4] = Default::default();
    for (axis, sides) in fixed[4 - D..].iter_mut().enumerate() {
        for (side, value) in sides.iter_mut().enumerate() {
            let mut bits = Vec::new();
            for (of, boundary) in boundaries.of(axis, side) {
                if let Boundary::Fixed(known) = boundary {
                    bits.extend_from_slice(&boundaries.fixed[known][of]);
                }
            }
            let is_face = !layout.borders[axis][side];
            *value = (is_face && bits.len() == boundaries.components).then_some(bits);
        }
    }
    fixed
}

impl Planar {
    pub fn facts(&self) -> &PlaneFacts {
        &self.facts
    }

    /// The ghosts at the edges of planes of the domain that are left to the user, of the array as one region: beyond
    /// each face those that it decides.
    pub fn open_edges(&self) -> Vec<GridBox<4>> {
        let regions = &self.regional.layout.regions;
        let Some((low, high)) = regions.first().zip(regions.last()) else { return Vec::new() };
        let first = 4 - self.facts.rank;
        let faces = (first + 1..4).flat_map(|axis| [(axis, 0), (axis, 1)]);
        let open = faces.filter(|(axis, side)| self.regional.is_open(*axis, *side));
        open.map(|(axis, side)| {
            let mut edge = GridBox { lo: low.valid.lo, hi: high.valid.hi };
            for d in axis..4 {
                (edge.lo[d], edge.hi[d]) = (low.grown.lo[d], high.grown.hi[d]);
            }
            match side {
                0 => edge.hi[axis] = low.valid.lo[axis],
                _ => edge.lo[axis] = high.valid.hi[axis],
            }
            edge
        })
        .collect()
    }

    /// The ghost planes that a fill sets from other planes, with these.
    pub fn ends(&self) -> impl Iterator<Item = (Range<i64>, Range<i64>)> {
        self.steps().into_iter().filter_map(|FillStep { cells: [planes, _], from, .. }| match from {
            Some((0, from)) => Some((planes, from)),
            _ => None,
        })
    }

    /// The steps of a fill, in order, of the array as one region; ghosts of fixed value are no part of it.
    pub fn steps(&self) -> Vec<FillStep> {
        let mut steps: Vec<FillStep> = Vec::new();
        let Some(plan) = &*self.regional.whole else { return steps };
        for (phase, copies) in plan.phases.iter().enumerate() {
            let along = copies.axis.map(|axis| axis - plan.first).filter(|axis| *axis < 2);
            let first = steps.len();
            for copy in &copies.moving {
                let cells = [0, 1].map(|axis| plan.first + axis).map(|axis| copy.cells.lo[axis]..copy.cells.hi[axis]);
                let from = along.map(|axis| (axis, copy.reads(plan.first + axis)));
                // One side lies below the domain, the other above.
                let side = |cells: &[Range<i64>; 2]| along.is_some_and(|axis| cells[axis].start < 0);
                match steps[first..].iter_mut().find(|step| side(&step.cells) == side(&cells)) {
                    Some(step) => {
                        step.cells = [0, 1].map(|axis| hull(&step.cells[axis], &cells[axis]));
                        step.from = step.from.take().zip(from).map(|((axis, a), (_, b))| (axis, hull(&a, &b)));
                    }
                    None => steps.push(FillStep { phase, cells, from }),
                }
            }
        }
        steps
    }

    /// Does a step for some planes and rows in the host's memory, on the thread that calls it.
    ///
    /// # Safety
    /// The step is one of this array, of one region, and the storage is its memory. No one else touches those planes
    /// and rows, nor writes where their values come from.
    pub unsafe fn step_on_host(&self, storage: &Storage, step: &FillStep, planes: &Range<i64>, rows: &Range<i64>) {
        let plan = self.regional.plan();
        let Some(phase) = plan.phases.get(step.phase) else { return };
        let within = [(&step.cells[0], planes), (&step.cells[1], rows)];
        let within = within.map(|(cells, wanted)| cells.start.max(wanted.start)..cells.end.min(wanted.end));
        // SAFETY: the caller's promise.
        let host = unsafe { OnHost::new(plan, storage) };
        phase.moving.iter().filter_map(|copy| copy.within(plan.first, &within)).for_each(|copy| host.copy(&copy));
    }

    /// What sets one part of the ghosts of `planes` in memory whose position 0 is at plane `origin`, with `cells`
    /// values for each component; to be run in that stream alone.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    pub fn fill(
        &self,
        (device, stream): (&DeviceCore, usize),
        part: FillPart,
        planes: Range<i64>,
        origin: i64,
        cells: usize,
    ) -> Result<DeviceCopies, Error> {
        let Some((plan, of)) = self.regional.whole.as_ref().and_then(|plan| Some((plan, plan.layout.regions.first()?)))
        else {
            return DeviceCopies::new(device, Vec::new());
        };
        let shift = (of.origin[plan.first] - origin) * of.strides[plan.first];
        let phase = |phase: &Phase| {
            let within = |copy: &GhostCopy| copy.within(plan.first, std::slice::from_ref(&planes));
            let copies: Vec<GhostCopy> = phase.moving.iter().filter_map(within).collect();
            plan.jobs(&copies, |_, _| Where::Region(Site { start: 0, cells, shift }))
        };
        DeviceCopies::in_stream(device, stream, plan.part(part).flat_map(phase).collect())
    }
}
