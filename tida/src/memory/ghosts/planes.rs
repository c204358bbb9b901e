//! Arrays as planes along their first axis: what a chain needs of them (DESIGN.md §4).
//!
//! Where an array is cut along its first axis alone, its regions are stretches of one row of planes, each of the same
//! form. A device that holds some of these planes one after the other needs no ghosts between regions.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tida_kernels::element::ElementType;
use tida_kernels::plan::fuse::Face;

use super::device::DeviceCopies;
use super::fill;
use super::fill::Which;
use super::plan::{GhostPlan, components};
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::layout::{Boundaries, Boundary, Centering, Layout, WideLayout};
use crate::memory::row::whole;
use crate::memory::storage::Storage;

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
    /// Planes have ghosts of fixed value at their edges.
    pub fixed_edges: bool,
    /// They have ghosts there that a fill sets.
    pub filled_edges: bool,
    /// They have ghosts there that are left to the user.
    pub open_edges: bool,
    /// Where the ends of the row belong together: planes after which it begins anew.
    pub period: Option<i64>,
    /// What a fill sets ghosts to beyond each face along four axes (leading ones have none), if a kernel that does
    /// several steps knows how.
    pub faces: [[Option<Face>; 2]; 4],
    /// The bits of fixed values beyond each of these faces, for each component.
    pub fixed: [[Option<Vec<u64>>; 2]; 4],
}

impl PlaneFacts {
    /// The cells of the domain.
    pub fn domain(&self) -> GridBox<4> {
        let regions = &self.layout.regions;
        let ends = regions.first().zip(regions.last());
        ends.map_or(GridBox::new([0; 4], [0; 4]), |(first, last)| GridBox::new(first.valid.lo, last.valid.hi))
    }

    /// Whether the planes of the domain alone are the row that begins anew: each ghost plane is one of them. Of faces
    /// the last one is a plane of its own.
    pub fn is_ring(&self) -> bool {
        self.period == Some(self.valid.end)
    }
}

/// Ghost planes at one end, and the planes that their values come from.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub planes: Range<i64>,
    pub from: Range<i64>,
}

/// A part of a ghost fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
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
pub(crate) trait Planar: Debug + Send + Sync {
    fn facts(&self) -> &PlaneFacts;

    /// The ghost planes that a fill sets from other planes.
    fn ends(&self) -> Vec<End>;

    /// Sets the ghosts of fixed value in the host's memory.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry, and no one else touches it.
    unsafe fn fix_on_host(&self, storage: &Storage);

    /// Fills all ghosts in the host's memory.
    ///
    /// # Safety
    /// As [`Planar::fix_on_host`].
    unsafe fn fill_on_host(&self, storage: &Storage);

    /// The steps of a fill, in order, of an array of one region; ghosts of fixed value are no part of it.
    fn steps(&self) -> Vec<FillStep>;

    /// Does a step for some planes and rows in the host's memory, on the thread that calls it.
    ///
    /// # Safety
    /// The step is one of this array, of one region, and the storage is its memory. No one else touches those planes
    /// and rows, nor writes where their values come from.
    unsafe fn step_on_host(&self, storage: &Storage, step: &FillStep, planes: &Range<i64>, rows: &Range<i64>);

    /// What fills all ghosts in the device's memory of a whole array, those of `fixed` value too. Of a `row`, those
    /// between regions are there.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    fn fill_whole(&self, device: &DeviceCore, row: bool, fixed: bool) -> Result<Arc<DeviceCopies>, Error>;

    /// What sets one part of the ghosts of `planes` in memory whose position 0 is at plane `origin`, with `cells`
    /// values for each component; to be run in that stream alone.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    fn fill(
        &self,
        stream_of: (&DeviceCore, usize),
        part: Part,
        planes: Range<i64>,
        origin: i64,
        cells: usize,
    ) -> Result<DeviceCopies, Error>;
}

/// An array's planes, if it is cut along its first axis alone and has another.
pub(crate) fn planar<T: Element, const D: usize>(
    layout: &Arc<Layout<D>>,
    boundaries: &Arc<Boundaries<T, D>>,
    plan: &Arc<OnceLock<GhostPlan<D>>>,
) -> Option<Arc<dyn Planar>> {
    let counts = layout.cuts.regions();
    if D < 2 || counts[1..].iter().any(|n| *n != 1) || T::TYPE.bytes() == 0 {
        return None;
    }
    let first = layout.regions.first()?;
    let (low, high) = (layout.ghost[0][0] as i64, layout.ghost[0][1] as i64);
    let end = layout.shape[0] as i64;
    let has = |axis: usize, side: usize| layout.ghost[axis][side] > 0;
    let faces = || (1..D).flat_map(|axis| [(axis, 0), (axis, 1)]).filter(|(axis, side)| has(*axis, *side));
    let facts = PlaneFacts {
        rank: D,
        element: layout.element,
        layout: layout.wide.clone(),
        valid: 0..end,
        grown: -low..end + high,
        stride: first.strides[0],
        skip: (first.grown.lo[D - 1] - first.origin[D - 1]) as usize,
        fixed_edges: faces().any(|(axis, side)| matches!(boundaries[axis][side], Boundary::Fixed(_))),
        filled_edges: faces()
            .any(|(axis, side)| !matches!(boundaries[axis][side], Boundary::Fixed(_) | Boundary::Open)),
        open_edges: faces().any(|(axis, side)| matches!(boundaries[axis][side], Boundary::Open)),
        period: ((low > 0 || high > 0) && matches!(boundaries[0][0], Boundary::Periodic))
            .then_some(layout.cuts.cells[0] as i64),
        faces: face_kinds(layout, boundaries),
        fixed: fixed_values(boundaries),
    };
    let (layout, boundaries, plan) = (layout.clone(), boundaries.clone(), plan.clone());
    Some(Arc::new(ArrayPlanes { facts, layout, boundaries, plan, whole: OnceLock::new() }))
}

/// See [`PlaneFacts::faces`].
fn face_kinds<T: Element, const D: usize>(layout: &Layout<D>, boundaries: &Boundaries<T, D>) -> [[Option<Face>; 2]; 4] {
    let mut faces = [[Some(Face::Memory); 2]; 4];
    let sides = |axis: usize| [0, 1].map(|side| (layout.ghost[axis][side] > 0, boundaries[axis][side]));
    let moves = (0..D).flat_map(sides).any(|(there, of)| there && !matches!(of, Boundary::Fixed(_) | Boundary::Open));
    for axis in 0..D {
        let cells = layout.centering[axis] == Centering::Cell;
        faces[4 - D + axis] = std::array::from_fn(|side| match boundaries[axis][side] {
            // What lies beyond its corners is not what the other faces say.
            Boundary::Open if moves => None,
            Boundary::Fixed(_) | Boundary::Open => Some(Face::Memory),
            _ if layout.ghost[axis][side] == 0 => Some(Face::Memory),
            Boundary::Periodic => Some(Face::Wrap).filter(|_| cells),
            Boundary::ReflectEven => Some(Face::Even).filter(|_| cells),
            Boundary::Extrapolate(0) => Some(Face::Nearest),
            Boundary::ReflectOdd | Boundary::Extrapolate(_) => None,
        });
    }
    faces
}

/// See [`PlaneFacts::fixed`].
fn fixed_values<T: Element, const D: usize>(boundaries: &Boundaries<T, D>) -> [[Option<Vec<u64>>; 2]; 4] {
    let mut fixed: [[Option<Vec<u64>>; 2]; 4] = Default::default();
    for (sides, of) in fixed[4 - D..].iter_mut().zip(boundaries) {
        for (value, boundary) in sides.iter_mut().zip(of) {
            if let Boundary::Fixed(known) = boundary {
                *value = Some(components(known));
            }
        }
    }
    fixed
}

#[derive(Debug)]
struct ArrayPlanes<T: Element, const D: usize> {
    facts: PlaneFacts,
    layout: Arc<Layout<D>>,
    boundaries: Arc<Boundaries<T, D>>,
    /// That of the array.
    plan: Arc<OnceLock<GhostPlan<D>>>,
    /// The same array as one region, and how its ghosts are filled.
    whole: OnceLock<Option<(Layout<D>, GhostPlan<D>)>>,
}

impl<T: Element, const D: usize> ArrayPlanes<T, D> {
    fn plan(&self) -> &GhostPlan<D> {
        self.plan.get_or_init(|| GhostPlan::new(&self.layout, &self.boundaries))
    }

    fn whole(&self) -> Option<&(Layout<D>, GhostPlan<D>)> {
        let make = || {
            let layout = whole(&self.layout, &self.layout.element)?;
            let plan = GhostPlan::new(&layout, &self.boundaries);
            Some((layout, plan))
        };
        self.whole.get_or_init(make).as_ref()
    }
}

impl<T: Element, const D: usize> Planar for ArrayPlanes<T, D> {
    fn facts(&self) -> &PlaneFacts {
        &self.facts
    }

    fn ends(&self) -> Vec<End> {
        let Some((_, plan)) = self.whole() else { return Vec::new() };
        let mut ends: Vec<End> = Vec::new();
        let copies = plan.part(Part::Ends).flat_map(|phase| &phase.moving);
        for (cells, from) in copies.map(|copy| (copy.cells, copy.reads(0))) {
            let planes = cells.lo[0]..cells.hi[0];
            // One end lies below the domain, the other above.
            match ends.iter_mut().find(|end| (end.planes.start < 0) == (planes.start < 0)) {
                Some(end) => {
                    end.planes = end.planes.start.min(planes.start)..end.planes.end.max(planes.end);
                    end.from = end.from.start.min(from.start)..end.from.end.max(from.end);
                }
                None => ends.push(End { planes, from }),
            }
        }
        ends
    }

    unsafe fn fix_on_host(&self, storage: &Storage) {
        // SAFETY: the plan is that of the layout and `T`; the rest is the caller's promise.
        unsafe { fill::run(self.plan(), &self.layout, storage, &self.layout.element, Which::Fixed) }
    }

    unsafe fn fill_on_host(&self, storage: &Storage) {
        storage.filled(false);
        // SAFETY: the plan is that of the layout and `T`; the rest is the caller's promise.
        unsafe { fill::run(self.plan(), &self.layout, storage, &self.layout.element, Which::All) }
    }

    fn fill_whole(&self, device: &DeviceCore, row: bool, fixed: bool) -> Result<Arc<DeviceCopies>, Error> {
        match self.whole().filter(|_| row) {
            Some((whole, plan)) => plan.on_device(device, whole, &self.layout.element, fixed),
            None => self.plan().on_device(device, &self.layout, &self.layout.element, fixed),
        }
    }

    fn steps(&self) -> Vec<FillStep> {
        let mut steps: Vec<FillStep> = Vec::new();
        let Some((_, plan)) = self.whole() else { return steps };
        let hull = |a: &Range<i64>, b: &Range<i64>| a.start.min(b.start)..a.end.max(b.end);
        for (phase, copies) in plan.phases.iter().enumerate() {
            let along = copies.axis.filter(|axis| *axis < 2);
            let first = steps.len();
            for copy in &copies.moving {
                let cells = [0, 1].map(|axis| copy.cells.lo[axis]..copy.cells.hi[axis]);
                let from = along.map(|axis| (axis, copy.reads(axis)));
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

    unsafe fn step_on_host(&self, storage: &Storage, step: &FillStep, planes: &Range<i64>, rows: &Range<i64>) {
        let Some((_, plan)) = self.whole() else { return };
        let Some(phase) = plan.phases.get(step.phase) else { return };
        let part = [0, 1].map(|axis| {
            let (cells, wanted) = (&step.cells[axis], [planes, rows][axis]);
            cells.start.max(wanted.start)..cells.end.min(wanted.end)
        });
        // SAFETY: the plan is that of the layout, which is of one region, and `T`; the rest is the caller's promise.
        unsafe { fill::run_part(&phase.moving, &self.layout, storage, &self.layout.element, &part) }
    }

    fn fill(
        &self,
        (device, stream): (&DeviceCore, usize),
        part: Part,
        planes: Range<i64>,
        origin: i64,
        cells: usize,
    ) -> Result<DeviceCopies, Error> {
        let none = Vec::new();
        let Some((whole, plan)) = self.whole() else { return DeviceCopies::new(device, none) };
        let mut placed = whole.clone();
        if let Some(region) = placed.regions.first_mut() {
            region.origin[0] = origin;
            region.cells = cells;
        }
        DeviceCopies::in_stream(device, stream, plan.jobs_of(part, &placed, &self.layout.element, planes))
    }
}
