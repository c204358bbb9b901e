//! What a kernel's native form sees of its arguments.

pub use crate::memory::layout::Raw;
use std::marker::PhantomData;
use std::sync::Arc;

use tida_kernels::scalar::{Fault, fault};

use crate::grid::GridBox;
use crate::memory::element::{Element, Place, ScalarElement};

/// Whether accesses are checked.
pub trait Mode: 'static {
    /// They are.
    const CHECKED: bool;
    /// How cells follow one another.
    const WAY: Way = Way::Any;
    /// Where a view writes, if not where it reads.
    type Writes<const D: usize>: Writes<D>;
}

/// Where a view writes.
pub trait Writes<const D: usize>: Copy {
    /// What writes where this says.
    fn of(raw: Raw<D>) -> Self;
    /// Where it writes, of a view that reads there.
    fn raw<'a>(&'a self, reads: &'a Raw<D>) -> &'a Raw<D>;
    /// The same, to be changed.
    fn raw_mut<'a>(&'a mut self, reads: &'a mut Raw<D>) -> &'a mut Raw<D>;
}

/// Where it reads.
impl<const D: usize> Writes<D> for () {
    #[inline(always)]
    fn of(_: Raw<D>) {}
    #[inline(always)]
    fn raw<'a>(&'a self, reads: &'a Raw<D>) -> &'a Raw<D> {
        reads
    }
    #[inline(always)]
    fn raw_mut<'a>(&'a mut self, reads: &'a mut Raw<D>) -> &'a mut Raw<D> {
        reads
    }
}

/// At a place of its own.
impl<const D: usize> Writes<D> for Raw<D> {
    #[inline(always)]
    fn of(raw: Raw<D>) -> Raw<D> {
        raw
    }
    #[inline(always)]
    fn raw<'a>(&'a self, _: &'a Raw<D>) -> &'a Raw<D> {
        self
    }
    #[inline(always)]
    fn raw_mut<'a>(&'a mut self, _: &'a mut Raw<D>) -> &'a mut Raw<D> {
        self
    }
}

/// How the cells of a line follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As they like: none reads what another one writes.
    Any,
    /// Each comes after those that it may read: from the first to the last along an axis.
    Forward,
    /// From the last to the first.
    Backward,
    /// Those of one colour run, as they like.
    Coloured,
}

impl Way {
    /// Whether cells come one after the other.
    pub const fn is_ordered(self) -> bool {
        matches!(self, Way::Forward | Way::Backward)
    }

    /// That of several views of one kernel.
    pub const fn and(self, other: Way) -> Way {
        match self {
            Way::Any => other,
            way => way,
        }
    }
}

/// Every access was proven in range before the launch.
#[derive(Debug)]
pub struct Proven;

/// Every access is checked.
#[derive(Debug)]
pub struct Checked;

impl Mode for Proven {
    const CHECKED: bool = false;
    type Writes<const D: usize> = ();
}

impl Mode for Checked {
    const CHECKED: bool = true;
    type Writes<const D: usize> = ();
}

/// As `M`, for cells that run in order, from the last to the first if it is `BACKWARD`.
#[derive(Debug)]
pub struct InOrder<M, const BACKWARD: bool>(PhantomData<M>);

impl<M: Mode, const BACKWARD: bool> Mode for InOrder<M, BACKWARD> {
    const CHECKED: bool = M::CHECKED;
    const WAY: Way = if BACKWARD { Way::Backward } else { Way::Forward };
    type Writes<const D: usize> = ();
}

/// As `M`, for cells of one colour.
#[derive(Debug)]
pub struct Coloured<M>(PhantomData<M>);

impl<M: Mode> Mode for Coloured<M> {
    const CHECKED: bool = M::CHECKED;
    const WAY: Way = Way::Coloured;
    type Writes<const D: usize> = Raw<D>;
}

/// A read-only view of an array, indexed by global coordinates.
pub struct View<T, const D: usize, M> {
    raw: Raw<D>,
    arg: u32,
    marker: PhantomData<(T, M)>,
}

/// A view of an array that may be written at `at`.
pub struct ViewMut<T, const D: usize, M: Mode> {
    view: View<T, D, M>,
    writes: M::Writes<D>,
}

impl<const D: usize> Raw<D> {
    /// Position of a global coordinate inside a plane.
    #[inline(always)]
    fn position(&self, at: [i64; D]) -> usize {
        let (mut position, mut d) = (0i64, 0);
        // (No `for`: without optimisation it is four calls for each axis, a third of the time of all tests' kernels.)
        while d < D {
            let offset = at[d].wrapping_sub(self.origin[d]);
            let stride = if d + 1 == D { 1 } else { self.strides[d] as i64 };
            position = position.wrapping_add(offset.wrapping_mul(stride));
            d += 1;
        }
        position as usize
    }
}

// SAFETY: a view is a description of memory; who runs a kernel makes sure that no two threads write one cell.
unsafe impl<T, const D: usize, M> Sync for View<T, D, M> {}
// SAFETY: as above.
unsafe impl<T, const D: usize, M: Mode> Sync for ViewMut<T, D, M> {}

impl<T, const D: usize, M> Clone for View<T, D, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const D: usize, M> Copy for View<T, D, M> {}

impl<T: Element, const D: usize, M: Mode> View<T, D, M> {
    /// A view of `raw`.
    ///
    /// # Safety
    /// `raw` describes live memory of elements `T`. While the view is in use nothing writes what it reads. If `M` is
    /// [`Proven`], the view is only indexed inside `raw.bounds`.
    pub(crate) unsafe fn new(raw: Raw<D>, arg: u32) -> Self {
        View { raw, arg, marker: PhantomData }
    }

    #[inline(always)]
    fn position(&self, at: [i64; D]) -> Option<usize> {
        if M::CHECKED && !self.raw.bounds.contains(at) {
            out_of_range(self.arg, &at);
            return None;
        }
        Some(self.raw.position(at))
    }
}

impl<T: Element, const D: usize, M: Mode> ViewMut<T, D, M> {
    /// A view of `raw` that may be written.
    ///
    /// # Safety
    /// As [`View::new`]; the view is written only inside `raw.bounds`, and no one else accesses the cells written.
    pub(crate) unsafe fn new(raw: Raw<D>, arg: u32) -> Self {
        // SAFETY: handed on.
        ViewMut { view: unsafe { View::new(raw, arg) }, writes: M::Writes::of(raw) }
    }

    /// Where it writes.
    #[inline(always)]
    pub(super) fn raw_mut(&mut self) -> &mut Raw<D> {
        self.writes.raw_mut(&mut self.view.raw)
    }

    /// Where it reads, and the position of a cell there.
    #[inline(always)]
    pub(super) fn raw(&self, at: [i64; D]) -> (&Raw<D>, usize) {
        (&self.view.raw, self.view.raw.position(at))
    }
}

/// An argument that a kernel can read: `u[index]`.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be indexed in a kernel")]
pub trait ReadView {
    /// What indexes it: a point, or a position in a table.
    type Index;
    /// The element found there.
    type Place: Place;
    /// What finds cells that are near to one another.
    type Near<'a>: ReadView<Index = Self::Index, Place = Self::Place> + Copy
    where
        Self: 'a;
    /// The element at `index`. Outside the array it reads zeros and raises a fault.
    fn place(&self, index: Self::Index) -> Self::Place;
    /// What finds all cells between these as the view does, if one region has them.
    fn near(&self, cells: &[Self::Index]) -> Option<Self::Near<'_>>;
}

/// Views whose cells are all in one region.
macro_rules! near_itself {
    () => {
        type Near<'a>
            = &'a Self
        where
            Self: 'a;
        #[inline(always)]
        fn near(&self, _: &[Self::Index]) -> Option<&Self> {
            Some(self)
        }
    };
}

pub(super) use near_itself;

impl<V: ReadView> ReadView for &V {
    type Index = V::Index;
    type Place = V::Place;
    near_itself!();
    #[inline(always)]
    fn place(&self, index: V::Index) -> V::Place {
        V::place(self, index)
    }
}

/// An argument that a kernel can write: `u[at] = v`.
#[diagnostic::on_unimplemented(
    message = "this argument of the kernel is read-only",
    label = "cannot be written",
    note = "pass it as `&mut` in the arguments of `compute`"
)]
pub trait WriteView: ReadView {
    /// The element at `index`, for writing.
    fn place_mut(&self, index: Self::Index) -> Self::Place;
}

impl<T: Element, const D: usize, M: Mode> ReadView for View<T, D, M> {
    type Index = [i64; D];
    type Place = T::Place;
    near_itself!();
    #[inline(always)]
    fn place(&self, at: [i64; D]) -> T::Place {
        match self.position(at) {
            // SAFETY: the position is inside the memory: checked just now, or proven.
            Some(position) => unsafe { T::place(self.raw.base, self.raw.cells, position) },
            None => zero_place::<T>(),
        }
    }
}

impl<T: Element, const D: usize, M: Mode> ReadView for ViewMut<T, D, M> {
    type Index = [i64; D];
    type Place = T::Place;
    near_itself!();
    #[inline(always)]
    fn place(&self, at: [i64; D]) -> T::Place {
        self.view.place(at)
    }
}

impl<T: Element, const D: usize, M: Mode> WriteView for ViewMut<T, D, M> {
    #[inline(always)]
    fn place_mut(&self, at: [i64; D]) -> T::Place {
        let raw = self.writes.raw(&self.view.raw);
        // SAFETY: writes go to `at` alone, which was proven to lie inside the memory.
        unsafe { T::place(raw.base, raw.cells, raw.position(at)) }
    }
}

/// A place that reads as zeros, whatever the element.
#[cold]
fn zero_place<T: Element>() -> T::Place {
    #[repr(align(16))]
    struct Zeros(#[allow(dead_code)] [u8; 16]);
    static ZEROS: Zeros = Zeros([0; 16]);
    // SAFETY: with planes of 0 elements every component lies at the base, which holds 16 zero bytes, valid for any
    // scalar. The place is only loaded from: writes take another path.
    unsafe { T::place((&raw const ZEROS).cast_mut().cast(), 0, 0) }
}

impl<T, const D: usize, M> std::fmt::Debug for View<T, D, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T, const D: usize, M: Mode> std::fmt::Debug for ViewMut<T, D, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

/// `u[index]`, of which a part is read.
#[inline(always)]
pub fn read<V: ReadView>(view: &V, index: V::Index) -> V::Place {
    view.place(index)
}

/// `u[index]`, of which a part is written.
#[inline(always)]
pub fn write<V: WriteView>(view: &V, index: V::Index) -> V::Place {
    view.place_mut(index)
}

/// `u[index]`, read.
#[inline(always)]
pub fn get<V: ReadView>(view: &V, index: V::Index) -> <V::Place as Place>::Value {
    // SAFETY: the view's memory is there as long as the view is, and nobody writes what it reads.
    unsafe { view.place(index).load() }
}

/// `u[index] = value`.
#[inline(always)]
pub fn set<V: WriteView>(view: &V, index: V::Index, value: <V::Place as Place>::Value) {
    // SAFETY: as for `get`; nobody else reads or writes the cell.
    unsafe { view.place_mut(index).store(value) }
}

/// A whole array: its regions, and how to find the one that holds a cell.
#[derive(Debug)]
pub struct Whole<const E: usize> {
    pub(crate) regions: Vec<Raw<E>>,
    /// Ends of the regions' valid boxes along each axis.
    pub(crate) ends: [Vec<i64>; E],
    /// The valid cells.
    pub(crate) bounds: GridBox<E>,
}

// SAFETY: a description of memory, like a view; who runs a kernel makes sure that nothing writes it meanwhile.
unsafe impl<const E: usize> Send for Whole<E> {}
// SAFETY: as above.
unsafe impl<const E: usize> Sync for Whole<E> {}

impl<const E: usize> Whole<E> {
    /// The region that holds a cell inside `bounds`. (Where it stands in a loop over cells the compiler makes no
    /// vectors of it.)
    #[cold]
    #[inline(never)]
    fn region(&self, at: [i64; E]) -> &Raw<E> {
        let mut number = 0;
        #[allow(clippy::needless_range_loop)] // two arrays of one length
        for d in 0..E {
            number = number * self.ends[d].len() + self.ends[d].partition_point(|&end| end <= at[d]);
        }
        &self.regions[number]
    }
}

/// A read-only view of a whole array, of any shape.
pub struct AllView<T, const E: usize, M> {
    whole: Arc<Whole<E>>,
    /// Its region, if it has one alone, or all that is read is in one: beside the view, not behind it, where the
    /// compiler would look it up for each cell.
    alone: Option<Raw<E>>,
    /// Its valid cells, beside the view too.
    bounds: GridBox<E>,
    arg: u32,
    marker: PhantomData<fn() -> (T, M)>,
}

impl<T: Element, const E: usize, M: Mode> AllView<T, E, M> {
    /// A view of `whole`, of which nothing is read but of the region `alone` if that is one.
    ///
    /// # Safety
    /// As [`View::new`]; only the region `alone` is indexed, if that is one.
    pub(crate) unsafe fn new(whole: Arc<Whole<E>>, arg: u32, alone: Option<usize>) -> Self {
        let alone = match whole.regions.as_slice() {
            [one] => Some(*one),
            regions => alone.and_then(|alone| regions.get(alone).copied()),
        };
        let bounds = whole.bounds;
        AllView { whole, alone, bounds, arg, marker: PhantomData }
    }
}

// SAFETY: as for other views.
unsafe impl<T, const E: usize, M> Sync for AllView<T, E, M> {}

impl<T, const E: usize, M> AllView<T, E, M> {
    /// Whether one region has all that is read.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// The region that holds a cell of the array.
    #[inline(always)]
    fn region(&self, at: [i64; E]) -> Raw<E> {
        match self.alone {
            Some(raw) => raw,
            None => *self.whole.region(at),
        }
    }
}

impl<T: Element, const E: usize, M: Mode> ReadView for AllView<T, E, M> {
    type Index = [i64; E];
    type Place = T::Place;
    type Near<'a>
        = View<T, E, M>
    where
        Self: 'a;
    /// (Where accesses are checked none is known to be inside before.)
    #[inline(always)]
    fn near(&self, cells: &[[i64; E]]) -> Option<View<T, E, M>> {
        let whole = &*self.whole;
        let first = cells.first().copied().filter(|at| !M::CHECKED && whole.bounds.contains(*at))?;
        let raw = self.region(first);
        let inside = self.alone.is_some() || cells.iter().all(|at| raw.bounds.contains(*at));
        // SAFETY: the region is part of what the view was made of; between cells inside it, all cells are inside.
        inside.then(|| unsafe { View::new(raw, self.arg) })
    }
    #[inline(always)]
    fn place(&self, at: [i64; E]) -> T::Place {
        if M::CHECKED && !self.bounds.contains(at) {
            out_of_range(self.arg, &at);
            return zero_place::<T>();
        }
        let raw = self.region(at);
        // SAFETY: the position is inside the memory: checked just now, or proven.
        unsafe { T::place(raw.base, raw.cells, raw.position(at)) }
    }
}

/// A view of a table.
pub struct TableView<T, M> {
    values: Arc<[T]>,
    arg: u32,
    marker: PhantomData<fn() -> M>,
}

impl<T: Element, M: Mode> TableView<T, M> {
    /// A view of `values`.
    ///
    /// # Safety
    /// If `M` is [`Proven`], it is only indexed below its length.
    pub(crate) unsafe fn new(values: Arc<[T]>, arg: u32) -> Self {
        TableView { values, arg, marker: PhantomData }
    }
}

impl<T: ScalarElement, M: Mode> ReadView for TableView<T, M> {
    type Index = usize;
    type Place = T::Place;
    near_itself!();
    #[inline(always)]
    fn place(&self, index: usize) -> T::Place {
        if M::CHECKED && index >= self.values.len() {
            out_of_range(self.arg, &[index as i64]);
            return zero_place::<T>();
        }
        // SAFETY: a slice of one scalar type is one plane; the index is inside: checked just now, or proven.
        unsafe { T::place(self.values.as_ptr().cast_mut().cast(), 0, index) }
    }
}

impl<T, const E: usize, M> std::fmt::Debug for AllView<T, E, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.whole.fmt(f)
    }
}

impl<T: std::fmt::Debug, M> std::fmt::Debug for TableView<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.values.fmt(f)
    }
}

/// Raises the fault of a read outside an argument.
#[cold]
fn out_of_range(arg: u32, at: &[i64]) {
    let mut index = [0; 4];
    for (to, from) in index.iter_mut().zip(at) {
        *to = *from;
    }
    fault::raise(Fault::OutOfRange { arg, index });
}
