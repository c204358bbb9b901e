//! Arguments of `compute` and `reduce`.

use std::sync::Arc;

use tida_kernels::ir::{Access, Binding};

use super::view::{AllView, Mode, Raw, TableView, View, ViewMut, Whole};
use crate::acc::{TileAcc, Tracker};
use crate::array::element::{Element, Scalar};
use crate::array::layout::{Boundary, Layout};
use crate::array::storage::Storage;
use crate::array::{GridBox, TileArray};

/// One argument of a kernel over cells of `D` axes.
///
/// `&u` is read around the cell; `&mut u` is written at the cell; [`all`]`(&a)` is a whole array of any shape, read
/// only; [`table`]`(&s)` is a small constant table.
pub trait Arg<const D: usize> {
    /// What the native form of a kernel sees.
    #[doc(hidden)]
    type View<M: Mode>: Sync + 'static;
    /// What recorded work holds.
    #[doc(hidden)]
    type Held: Send + Sync + 'static;
    #[doc(hidden)]
    const BINDING: Binding;
    #[doc(hidden)]
    fn info(&self) -> ArgInfo<'_, D>;
    #[doc(hidden)]
    fn hold(&self) -> Self::Held;
    /// The view of one region.
    ///
    /// # Safety
    /// As [`View::new`] and [`ViewMut::new`].
    #[doc(hidden)]
    unsafe fn view<M: Mode>(held: &Self::Held, region: usize, arg: u32, valid_only: bool) -> Self::View<M>;
}

/// What `compute` has to know of an argument.
#[derive(Debug)]
pub enum ArgInfo<'a, const D: usize> {
    /// An array with the tile's cuts.
    Tiled(TiledInfo<'a, D>),
    /// A whole array.
    Whole { acc: &'a TileAcc, tracker: &'a Arc<Tracker>, shape: [i64; 4] },
    /// A table, with its values as bits.
    Table { len: usize, bits: Vec<u64> },
}

/// An array with the tile's cuts.
#[derive(Debug)]
pub struct TiledInfo<'a, const D: usize> {
    pub(crate) acc: &'a TileAcc,
    pub(crate) layout: &'a Arc<Layout<D>>,
    pub(crate) tracker: &'a Arc<Tracker>,
    /// Faces whose ghosts are left to the user.
    pub(crate) open: [[bool; 2]; D],
}

/// What recorded work holds of an array.
#[derive(Debug)]
pub struct HeldArray<const D: usize> {
    storage: Arc<Storage>,
    layout: Arc<Layout<D>>,
}

impl<const D: usize> HeldArray<D> {
    fn raw(&self, region: usize, valid_only: bool) -> Raw<D> {
        let mut raw = self.layout.raw(&self.storage, region);
        if valid_only {
            raw.bounds = self.layout.regions[region].valid;
        }
        raw
    }
}

fn info<T: Element, const D: usize>(array: &TileArray<T, D>) -> ArgInfo<'_, D> {
    ArgInfo::Tiled(TiledInfo {
        acc: &array.acc,
        layout: &array.layout,
        tracker: &array.tracker,
        open: array.boundaries.map(|faces| faces.map(|b| matches!(b, Boundary::Open))),
    })
}

fn held<T: Element, const D: usize>(array: &TileArray<T, D>) -> HeldArray<D> {
    HeldArray { storage: array.storage.clone(), layout: array.layout.clone() }
}

const fn binding<T: Element>(access: Access, rank: usize) -> Binding {
    Binding { access, element: T::TYPE, rank }
}

impl<T: Element, const D: usize> Arg<D> for &TileArray<T, D> {
    type View<M: Mode> = View<T, D, M>;
    type Held = HeldArray<D>;
    const BINDING: Binding = binding::<T>(Access::Read, D);
    fn info(&self) -> ArgInfo<'_, D> {
        info(self)
    }
    fn hold(&self) -> HeldArray<D> {
        held(self)
    }
    unsafe fn view<M: Mode>(held: &HeldArray<D>, region: usize, arg: u32, valid_only: bool) -> View<T, D, M> {
        // SAFETY: the memory lives as long as `held`; the rest is the caller's promise.
        unsafe { View::new(held.raw(region, valid_only), arg) }
    }
}

impl<T: Element, const D: usize> Arg<D> for &mut TileArray<T, D> {
    type View<M: Mode> = ViewMut<T, D, M>;
    type Held = HeldArray<D>;
    const BINDING: Binding = binding::<T>(Access::Write, D);
    fn info(&self) -> ArgInfo<'_, D> {
        info(self)
    }
    fn hold(&self) -> HeldArray<D> {
        held(self)
    }
    unsafe fn view<M: Mode>(held: &HeldArray<D>, region: usize, arg: u32, _: bool) -> ViewMut<T, D, M> {
        // SAFETY: the memory lives as long as `held`; the rest is the caller's promise.
        unsafe { ViewMut::new(held.raw(region, false), arg) }
    }
}

/// A whole array as an argument. See [`all`].
#[derive(Debug)]
pub struct All<'a, T: Element, const E: usize>(&'a TileArray<T, E>);

/// A whole array as an argument of a kernel: any shape, read only, indexed by its own coordinates (valid cells only).
///
/// Indexes that cannot be proven in range are checked at run time; one outside the array is an error at the next host
/// access.
pub fn all<T: Element, const E: usize>(array: &TileArray<T, E>) -> All<'_, T, E> {
    All(array)
}

/// What recorded work holds of a whole array.
#[derive(Debug)]
pub struct HeldWhole<const E: usize> {
    whole: Arc<Whole<E>>,
    /// Keeps the memory alive.
    _storage: Arc<Storage>,
}

impl<T: Element, const E: usize, const D: usize> Arg<D> for All<'_, T, E> {
    type View<M: Mode> = AllView<T, E, M>;
    type Held = HeldWhole<E>;
    const BINDING: Binding = binding::<T>(Access::All, E);
    fn info(&self) -> ArgInfo<'_, D> {
        let mut shape = [1; 4];
        for (axis, n) in self.0.layout.shape.iter().enumerate() {
            shape[axis] = *n as i64;
        }
        ArgInfo::Whole { acc: &self.0.acc, tracker: &self.0.tracker, shape }
    }
    fn hold(&self) -> Self::Held {
        let held = held(self.0);
        let layout = &held.layout;
        let regions = (0..layout.regions.len()).map(|r| held.raw(r, true)).collect();
        // Regions are row-major: the ends of the valid boxes along an axis appear in order.
        let ends = std::array::from_fn(|axis| {
            let mut ends: Vec<i64> = layout.regions.iter().map(|r| r.valid.hi[axis]).collect();
            ends.sort_unstable();
            ends.dedup();
            ends
        });
        let bounds = GridBox::new([0; E], layout.shape.map(|n| n as i64));
        HeldWhole { whole: Arc::new(Whole { regions, ends, bounds }), _storage: held.storage }
    }
    unsafe fn view<M: Mode>(held: &Self::Held, _: usize, arg: u32, _: bool) -> AllView<T, E, M> {
        // SAFETY: the memory lives as long as `held`; the rest is the caller's promise.
        unsafe { AllView::new(held.whole.clone(), arg) }
    }
}

/// A small constant table as an argument. See [`table`].
#[derive(Clone, Debug)]
pub struct Table<T>(Arc<[T]>);

/// A small constant table as an argument of a kernel: read only, indexed by one `usize`. Its values are copied now.
pub fn table<T: Scalar>(values: &[T]) -> Table<T> {
    Table(values.into())
}

impl<T: Scalar, const D: usize> Arg<D> for Table<T> {
    type View<M: Mode> = TableView<T, M>;
    type Held = Arc<[T]>;
    const BINDING: Binding = binding::<T>(Access::Table, 1);
    fn info(&self) -> ArgInfo<'_, D> {
        ArgInfo::Table { len: self.0.len(), bits: self.0.iter().map(|v| v.bits()).collect() }
    }
    fn hold(&self) -> Arc<[T]> {
        self.0.clone()
    }
    unsafe fn view<M: Mode>(held: &Arc<[T]>, _: usize, arg: u32, _: bool) -> TableView<T, M> {
        // SAFETY: the caller's promise.
        unsafe { TableView::new(held.clone(), arg) }
    }
}

/// The arguments of one kernel: one [`Arg`], or a tuple of 1 to 8.
pub trait Args<const D: usize> {
    /// Their views, as a tuple.
    #[doc(hidden)]
    type Views<M: Mode>: Sync + 'static;
    #[doc(hidden)]
    type Held: Send + Sync + 'static;
    #[doc(hidden)]
    const BINDINGS: &'static [Binding];
    #[doc(hidden)]
    fn infos(&self) -> Infos<'_, D>;
    #[doc(hidden)]
    fn hold(&self) -> Self::Held;
    /// The views of one region.
    ///
    /// # Safety
    /// As [`Arg::view`]. Bit `n` of `valid_only` keeps argument `n` to its valid cells.
    #[doc(hidden)]
    unsafe fn views<M: Mode>(held: &Self::Held, region: usize, valid_only: u16) -> Self::Views<M>;
}

/// What `compute` has to know of its arguments.
pub type Infos<'a, const D: usize> = smallvec::SmallVec<[ArgInfo<'a, D>; 8]>;

impl<T: Element, const D: usize> Args<D> for &TileArray<T, D> {
    type Views<M: Mode> = (View<T, D, M>,);
    type Held = HeldArray<D>;
    const BINDINGS: &'static [Binding] = &[<Self as Arg<D>>::BINDING];
    fn infos(&self) -> Infos<'_, D> {
        smallvec::smallvec![self.info()]
    }
    fn hold(&self) -> Self::Held {
        Arg::hold(self)
    }
    unsafe fn views<M: Mode>(held: &Self::Held, region: usize, valid_only: u16) -> Self::Views<M> {
        // SAFETY: the caller's promise.
        (unsafe { <Self as Arg<D>>::view(held, region, 0, valid_only & 1 != 0) },)
    }
}

impl<T: Element, const D: usize> Args<D> for &mut TileArray<T, D> {
    type Views<M: Mode> = (ViewMut<T, D, M>,);
    type Held = HeldArray<D>;
    const BINDINGS: &'static [Binding] = &[<Self as Arg<D>>::BINDING];
    fn infos(&self) -> Infos<'_, D> {
        smallvec::smallvec![self.info()]
    }
    fn hold(&self) -> Self::Held {
        Arg::hold(self)
    }
    unsafe fn views<M: Mode>(held: &Self::Held, region: usize, _: u16) -> Self::Views<M> {
        // SAFETY: the caller's promise.
        (unsafe { <Self as Arg<D>>::view(held, region, 0, false) },)
    }
}

macro_rules! tuple {
    ($($a:ident $n:tt),*) => {
        impl<const D: usize, $($a: Arg<D>),*> Args<D> for ($($a,)*) {
            type Views<M: Mode> = ($($a::View<M>,)*);
            type Held = ($($a::Held,)*);
            const BINDINGS: &'static [Binding] = &[$($a::BINDING),*];
            fn infos(&self) -> Infos<'_, D> {
                smallvec::smallvec![$(self.$n.info()),*]
            }
            fn hold(&self) -> Self::Held {
                ($(self.$n.hold(),)*)
            }
            unsafe fn views<M: Mode>(held: &Self::Held, region: usize, valid_only: u16) -> Self::Views<M> {
                // SAFETY: the caller's promise.
                ($(unsafe { $a::view(&held.$n, region, $n, valid_only & (1 << $n) != 0) },)*)
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, E 3);
tuple!(A 0, B 1, C 2, E 3, F 4);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7);
