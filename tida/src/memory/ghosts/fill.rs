//! Running a plan: copies of boxes, at the speed of memory.

use std::ops::Range;

use smallvec::SmallVec;

use tida_kernels::codec::{Codec, Rounded};
use tida_kernels::element::{ElementType, ScalarType};

use super::plan::{From, GhostCopy, GhostPlan, Source};
use crate::grid::GridBox;
use crate::memory::layout::Layout;
use crate::memory::rows::Shared;
use crate::memory::storage::Storage;
use crate::parallel;

/// Which ghosts are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those whose values change.
    Moving,
    /// Those of fixed value.
    Fixed,
    All,
}

/// The components of an element.
type Components = SmallVec<[(ScalarType, usize); 8]>;

/// How a component is kept, if not as it is.
fn codec_of<const D: usize>(layout: &Layout<D>, component: usize) -> Option<&Codec> {
    layout.coding.as_deref()?.codec(component)
}

/// Cells worth a task of their own.
const GRAIN: usize = 1 << 13;
/// Rows at least this long are copied as rows; shorter ones across, along the axis before.
const SHORT_ROW: usize = 8;

/// Fills the ghosts of all regions, those of fixed value only if `fixed`. Runs in the thread pool that calls it.
///
/// # Safety
/// `plan` was made for `layout` and elements of type `element`, `storage` is the memory of such an array, and no one
/// else accesses it meanwhile.
pub(crate) unsafe fn run<const D: usize>(
    plan: &GhostPlan<D>,
    layout: &Layout<D>,
    storage: &Storage,
    element: &ElementType,
    which: Which,
) {
    for phase in &plan.phases {
        let moving: &[_] = if which == Which::Fixed { &[] } else { &phase.moving };
        let constant: &[_] = if which == Which::Moving { &[] } else { &phase.fixed };
        for copies in [moving, constant] {
            // SAFETY: the caller's promise.
            unsafe { run_copies(plan, copies, layout, storage, element) };
        }
    }
}

/// Does copies of one phase.
///
/// # Safety
/// As [`run`], for what these copies touch.
pub(super) unsafe fn run_copies<const D: usize>(
    plan: &GhostPlan<D>,
    copies: &[GhostCopy<D>],
    layout: &Layout<D>,
    storage: &Storage,
    element: &ElementType,
) {
    let components: Components = element.placed_components().collect();
    each(
        copies,
        |copy| copy.cells.cells(),
        |copy| {
            for (component, &(ty, before)) in components.iter().enumerate() {
                let codec = codec_of(layout, component);
                let work = Work { layout, storage, copy, before, codec, packed: None };
                // SAFETY: the caller's promise; within a phase no copy writes what another one touches.
                unsafe { work.component(ty, |value| plan.fixed[value][component]) };
            }
        },
    );
}

/// Calls `f` with each copy, on all threads if they have many cells.
fn each<T: Sync>(copies: &[T], cells_of: impl Fn(&T) -> usize, f: impl Fn(&T) + Send + Sync) {
    let cells: usize = copies.iter().map(cells_of).sum();
    let at_least = if cells <= GRAIN { copies.len() } else { copies.len() * GRAIN / cells };
    parallel::each(copies.len(), at_least, &|n| f(&copies[n]));
}

/// A copy of no fixed value, and where the values that it sets lie packed: for each component the first byte in a
/// block.
#[derive(Clone, Debug)]
pub(super) struct Packed<const D: usize> {
    pub copy: GhostCopy<D>,
    pub at: SmallVec<[usize; 4]>,
}

/// Which way packed values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// What copies would set is written into the block.
    In,
    /// Ghosts are set from the block.
    Out,
}

/// Does copies to or from a block in which their values lie packed.
///
/// # Safety
/// As [`run_copies`], of a plan for such an array; the block has the places, aligned for their types, and no one else
/// accesses them.
pub(super) unsafe fn run_packed<const D: usize>(
    copies: &[Packed<D>],
    way: Way,
    block: *mut u8,
    layout: &Layout<D>,
    storage: &Storage,
    element: &ElementType,
) {
    let (components, block) = (element.placed_components().collect::<Components>(), Shared::new(block));
    each(
        copies,
        |packed| packed.copy.cells.cells(),
        |Packed { copy, at }| {
            for (component, (&(ty, before), at)) in components.iter().zip(at).enumerate() {
                let codec = codec_of(layout, component);
                let packed = Some((way, block.get().wrapping_add(*at)));
                // SAFETY: the caller's promise; within a phase no copy writes what another one touches.
                unsafe { Work { layout, storage, copy, before, codec, packed }.component(ty, |_| 0) };
            }
        },
    );
}

/// Does copies, of no fixed value, where they set ghosts in `part` of the first two axes. All on the calling thread.
///
/// # Safety
/// The copies are some of one phase of a plan for `layout` and elements of type `element`, `storage` is the memory of
/// such an array. No one else touches the ghosts that are set, nor writes their sources.
pub(super) unsafe fn run_part<const D: usize>(
    copies: &[GhostCopy<D>],
    layout: &Layout<D>,
    storage: &Storage,
    element: &ElementType,
    part: &[Range<i64>; 2],
) {
    let components: Components = element.placed_components().collect();
    for copy in copies {
        let mut cells = copy.cells;
        for (axis, part) in part.iter().enumerate().take(D) {
            cells.lo[axis] = cells.lo[axis].max(part.start);
            cells.hi[axis] = cells.hi[axis].min(part.end);
        }
        if cells.is_empty() {
            continue;
        }
        let copy = GhostCopy { cells, ..copy.clone() };
        for (component, &(ty, before)) in components.iter().enumerate() {
            let codec = codec_of(layout, component);
            // SAFETY: the caller's promise; within a phase no copy writes what another one touches.
            unsafe { Work { layout, storage, copy: &copy, before, codec, packed: None }.component(ty, |_| 0) };
        }
    }
}

/// One copy of one component.
struct Work<'a, const D: usize> {
    layout: &'a Layout<D>,
    storage: &'a Storage,
    copy: &'a GhostCopy<D>,
    /// Bytes of an element's components before this one.
    before: usize,
    /// How it is kept, if not as it is.
    codec: Option<&'a Codec>,
    /// What is set lies packed there, or comes from there.
    packed: Option<(Way, *mut u8)>,
}

/// A type whose values ghosts can be computed from.
trait Number: Copy {
    fn negated(self) -> Self;
    fn line(near: Self, far: Self, distance: i64) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
            fn line(near: Self, far: Self, distance: i64) -> Self {
                near.wrapping_add((distance as $t).wrapping_mul(near.wrapping_sub(far)))
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn negated(self) -> Self {
                -self
            }
            fn line(near: Self, far: Self, distance: i64) -> Self {
                near + distance as $t * (near - far)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64);
floats!(f32 f64);

impl<const D: usize> Work<'_, D> {
    /// # Safety
    /// The component at `before` has this type, and no one else accesses its ghosts, nor writes its sources.
    unsafe fn component(&self, ty: ScalarType, fixed: impl Fn(usize) -> u64) {
        // SAFETY: types of one size have the same memory layout, and two's complement makes signed and unsigned
        // arithmetic the same; the rest is the caller's promise.
        unsafe {
            if let Some((Way::Out, block)) = self.packed {
                return match ty.size() {
                    1 => self.copied::<u8>(self.block(block)),
                    2 => self.copied::<u16>(self.block(block)),
                    4 => self.copied::<u32>(self.block(block)),
                    _ => self.copied::<u64>(self.block(block)),
                };
            }
            if let (From::Line { .. } | From::Negated(_), Some(codec)) = (&self.copy.from, self.codec) {
                if self.layout.rounds().is_some() {
                    return match ty {
                        ScalarType::F32 => self.rounded::<f32>(codec),
                        _ => self.rounded::<f64>(codec),
                    };
                }
                return match ty.size() {
                    1 => self.computed::<u8>(&|a| codec.negated(a), &|near, far, by| codec.line(near, far, by)),
                    2 => self.computed::<u16>(&|a| codec.negated(a), &|near, far, by| codec.line(near, far, by)),
                    _ => self.computed::<u32>(&|a| codec.negated(a), &|near, far, by| codec.line(near, far, by)),
                };
            }
            match (&self.copy.from, ty) {
                (From::Line { .. } | From::Negated(_), ScalarType::F32) => self.number::<f32>(),
                (From::Line { .. } | From::Negated(_), ScalarType::F64) => self.number::<f64>(),
                // The builder refuses these.
                (From::Line { .. } | From::Negated(_), ScalarType::Bool) => {}
                (From::Line { .. } | From::Negated(_), _) => match ty.size() {
                    1 => self.number::<u8>(),
                    2 => self.number::<u16>(),
                    4 => self.number::<u32>(),
                    _ => self.number::<u64>(),
                },
                (From::Box(source), _) => match ty.size() {
                    1 => self.copied::<u8>(self.source(source)),
                    2 => self.copied::<u16>(self.source(source)),
                    4 => self.copied::<u32>(self.source(source)),
                    _ => self.copied::<u64>(self.source(source)),
                },
                (From::Fixed(value), _) => match ty.size() {
                    1 => self.constant(fixed(*value) as u8),
                    2 => self.constant(fixed(*value) as u16),
                    4 => self.constant(fixed(*value) as u32),
                    _ => self.constant(fixed(*value)),
                },
            }
        }
    }

    /// # Safety
    /// As `component`, of a type laid out as `S`.
    unsafe fn number<S: Number>(&self) {
        // SAFETY: handed on.
        unsafe { self.computed::<S>(&S::negated, &S::line) }
    }

    /// # Safety
    /// As `component`, of the type `S`, which the codec is for.
    unsafe fn rounded<S: Number + Rounded>(&self, codec: &Codec) {
        let line = |near, far, by| S::line(near, far, by).rounded(codec);
        // SAFETY: handed on.
        unsafe { self.computed::<S>(&|a| a.negated().rounded(codec), &line) }
    }

    /// # Safety
    /// As `component`, of a type laid out as `S`.
    unsafe fn computed<S: Copy>(&self, negated: &dyn Fn(S) -> S, line: &dyn Fn(S, S, i64) -> S) {
        let target = self.target::<S>();
        match &self.copy.from {
            From::Negated(source) => {
                let source = self.source::<S>(source);
                self.lines(|at, axis, n| {
                    let (to, step) = target.line(at, axis);
                    let (from, stride) = source.line(at, axis);
                    for i in 0..n {
                        // SAFETY: both lines have n cells inside their regions.
                        unsafe { to.add(i * step).write(negated(from.add(i * stride).read())) };
                    }
                });
            }
            From::Line { near, far, distance } => {
                let (near, far) = (self.source::<S>(near), self.source::<S>(far));
                self.lines(|at, axis, n| {
                    let (to, step) = target.line(at, axis);
                    let (near, stride) = near.line(at, axis);
                    let (far, pace) = far.line(at, axis);
                    for i in 0..n {
                        // SAFETY: all three lines have n cells inside their regions.
                        unsafe {
                            let value = line(near.add(i * stride).read(), far.add(i * pace).read(), *distance);
                            to.add(i * step).write(value);
                        }
                    }
                });
            }
            _ => {}
        }
    }

    /// # Safety
    /// As `component`, of a type laid out as `S`.
    unsafe fn copied<S: Copy>(&self, source: Plane<S, D>) {
        let target = self.target::<S>();
        self.lines(|at, axis, n| {
            let (to, step) = target.line(at, axis);
            let (from, stride) = source.line(at, axis);
            if axis + 1 == D {
                // SAFETY: both rows have n cells inside their regions, and ghosts are not their own source.
                unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
            } else {
                for i in 0..n {
                    // SAFETY: both lines have n cells inside their regions.
                    unsafe { to.add(i * step).write(from.add(i * stride).read()) };
                }
            }
        });
    }

    /// # Safety
    /// As `component`, of a type laid out as `S`.
    unsafe fn constant<S: Copy>(&self, value: S) {
        let target = self.target::<S>();
        self.lines(|at, axis, n| {
            let (to, step) = target.line(at, axis);
            for i in 0..n {
                // SAFETY: the line has n cells inside its region.
                unsafe { to.add(i * step).write(value) };
            }
        });
    }

    /// Calls `f` with the first cell, the axis and the length of each line of the box: its rows, or where these are
    /// short the lines along the axis before.
    fn lines(&self, f: impl Fn([i64; D], usize, usize)) {
        let extent = self.copy.cells.extent();
        let across = D >= 2 && extent[D - 1] < SHORT_ROW && extent[D - 2] > extent[D - 1];
        let axis = if across { D - 2 } else { D - 1 };
        let mut starts: GridBox<D> = self.copy.cells;
        starts.hi[axis] = starts.lo[axis] + 1;
        starts.points().for_each(|at| f(at, axis, extent[axis]));
    }

    fn target<S>(&self) -> Plane<S, D> {
        match self.packed {
            Some((Way::In, block)) => self.block(block),
            _ => self.plane(self.copy.region, [0; D]),
        }
    }

    fn source<S>(&self, source: &Source<D>) -> Plane<S, D> {
        self.plane(source.region, source.shift)
    }

    fn plane<S>(&self, region: usize, shift: [i64; D]) -> Plane<S, D> {
        let held = &self.layout.regions[region];
        let base = self.storage.base(region).wrapping_add(held.cells * self.before).cast();
        let origin = std::array::from_fn(|d| held.origin[d] - shift[d]);
        Plane { base, origin, strides: held.strides }
    }

    /// The cells of the copy, packed row by row.
    fn block<S>(&self, block: *mut u8) -> Plane<S, D> {
        Plane { base: block.cast(), origin: self.copy.cells.lo, strides: self.copy.cells.packed_strides() }
    }
}

/// Values of one component: a plane of a region, or a packed box.
struct Plane<S, const D: usize> {
    base: *mut S,
    /// What cell the first value is for.
    origin: [i64; D],
    strides: [usize; D],
}

impl<S, const D: usize> Plane<S, D> {
    /// The value for `at`, and the distance to the next along an axis.
    fn line(&self, at: [i64; D], axis: usize) -> (*mut S, usize) {
        let position = (0..D).map(|d| (at[d] - self.origin[d]) as usize * self.strides[d]).sum();
        (self.base.wrapping_add(position), self.strides[axis])
    }
}
