//! Arguments of `compute` and `reduce`.

pub use crate::launch::device::OnDevice;
use std::marker::PhantomData;
use std::sync::Arc;

use tida_kernels::ir::{Access, Binding};

use super::levels::Level;
use super::one_region::Ends;
use super::view::{AllView, Mode, TableView, View, ViewMut, Whole};
use crate::acc::{Device, TileAcc};
use crate::array::{Fillable, TileArray};
use crate::backend::cpu::{EXCLUSIVE, Starts};
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::capture::push_bits;
use crate::launch::device::{DeviceArg, DeviceArray};
use crate::launch::site::Site;
use crate::memory::coding::Coding;
use crate::memory::element::{Element, ScalarElement};
use crate::memory::layout::{Layout, Raw};
use crate::memory::storage::Storage;
use crate::memory::tracker::{BoxTouch, Tracker};
use crate::tile::Tile;

/// One argument of a kernel over cells of `D` axes.
///
/// | argument | in the kernel |
/// |---|---|
/// | `&u` | read around the cell: `u[at + [0, 1]]` |
/// | `&mut u` | written at the cell: `u[at] = 1.0`; read there too |
/// | [`coarse`](super::coarse())`(&c)`, [`fine`](super::fine())`(&f)` | an array of half or double the resolution, read by its own coordinates: `c[[at[0] / 2]]`, `f[[2 * at[0] + 1]]` |
/// | [`all`]`(&a)` | a whole array of any shape, read only, by its own coordinates: `a[[0, 3]]` |
/// | [`table`]`(&s)` | a small constant table, by one `usize`: `s[2]` |
pub trait Arg<const D: usize> {
    /// What recorded work holds.
    #[doc(hidden)]
    type Held: HeldArg<D>;
    #[doc(hidden)]
    fn info(&self, place: usize) -> ArgInfo<'_, D>;
    #[doc(hidden)]
    fn hold(&self, place: usize) -> Self::Held;
}

/// What recorded work holds of an argument.
pub trait HeldArg<const D: usize>: Send + Sync + 'static {
    /// What the native form of a kernel sees.
    type View<M: Mode>: Sync + 'static;
    /// What the kernel is typed for.
    const BINDING: Binding;
    /// The view of one region.
    ///
    /// # Safety
    /// As [`View::new`] and [`ViewMut::new`].
    unsafe fn view<M: Mode>(&self, region: usize, arg: u32, how: How<'_, D>) -> Self::View<M>;
    /// The memory of the cells of a box, first byte and length, if it holds nothing else that others may touch while
    /// the box is written.
    fn exclusive(&self, _region: usize, _cells: &GridBox<D>) -> Option<(*mut u8, usize)> {
        None
    }
    /// What the device needs of it.
    fn on_device(&self) -> OnDevice<'_>;
    /// The ends of its regions, of a whole array of several.
    fn ends(&self) -> Ends<'_> {
        None
    }
}

/// How the views of a region are made.
#[derive(Clone, Copy, Debug)]
pub struct How<'a, const D: usize> {
    /// Bit `n` keeps argument `n` to its valid cells.
    pub(crate) valid_only: u16,
    /// The cells that run.
    pub(crate) cells: &'a GridBox<D>,
    /// Where the memory of those cells starts, for arguments that have it to themselves; null for others.
    pub(crate) starts: Starts,
    /// Where each argument's array is, if not on the host; none of a table.
    pub(crate) sites: Option<&'a [Option<Site>]>,
    /// The region of a whole array that has all that these cells read of it, where that is known.
    pub(crate) alone: &'a [Option<usize>],
}

impl<const D: usize> How<'_, D> {
    /// Where the array of argument `arg` is, if not on the host.
    fn site(&self, arg: u32) -> Option<&Site> {
        self.sites?.get(arg as usize)?.as_ref()
    }
}

/// What `compute` has to know of an argument.
#[derive(Debug)]
pub enum ArgInfo<'a, const D: usize> {
    /// An array with the tile's cuts, or those of another resolution.
    Tiled(TiledInfo<'a, D>),
    /// A whole array.
    Whole { acc: &'a TileAcc, tracker: &'a Arc<Tracker>, shape: [i64; 4] },
    /// A table, with its values as bits.
    Table { len: usize, bits: Vec<u64> },
    /// What cannot be an argument, as an error says it.
    Refused { found: &'static str, advice: &'static str },
}

impl<const D: usize> ArgInfo<'_, D> {
    /// Whether it is an array of another resolution, of which these touches say that it is not read around what lies
    /// beside each plane.
    pub(super) fn is_uneven(&self, touches: &[BoxTouch]) -> bool {
        let ArgInfo::Tiled(tiled) = self else { return false };
        let of = |touch: &BoxTouch| Arc::ptr_eq(&touch.tracker, tiled.tracker) && touch.around.is_none();
        tiled.level.is_some() && touches.iter().any(of)
    }

    /// Why it cannot be an argument, of tiles that may be `grown`: the kind of error, what is wrong, and what to do.
    /// Those beyond a `face` of the domain are.
    pub(super) fn refused(&self, grown: bool, face: bool) -> Option<(ErrorKind, &'static str, &'static str)> {
        match self {
            ArgInfo::Refused { found, advice } => Some((ErrorKind::Argument, found, advice)),
            ArgInfo::Tiled(tiled) if grown && !face && tiled.layout.overlap() != [0, 0] => Some((
                ErrorKind::Ghost,
                "which holds planes of other places (`.overlap(..)`), over grown tiles",
                "leave `.overlap(..)` out",
            )),
            ArgInfo::Tiled(tiled)
                if grown && tiled.layout.regions.len() > 1 && tiled.tracker.storage().backing().is_some() =>
            {
                Some((
                    ErrorKind::Ghost,
                    "which lies in a file (`backed_by`) in several regions, over grown tiles",
                    "build it with one region: those have no ghosts between them there",
                ))
            }
            _ => None,
        }
    }

    /// Whether it is an array of another resolution than the tile's.
    pub(super) fn has_other_cuts(&self) -> bool {
        matches!(self, ArgInfo::Tiled(tiled) if tiled.level.is_some())
    }

    /// How the array is coded, if it is.
    pub(crate) fn coding(&self) -> Option<&Arc<Coding>> {
        match self {
            ArgInfo::Tiled(tiled) => tiled.tracker.storage().coding(),
            ArgInfo::Whole { tracker, .. } => tracker.storage().coding(),
            ArgInfo::Table { .. } | ArgInfo::Refused { .. } => None,
        }
    }
}

/// Takes arrays apart whose ghosts between regions are to be memory of their own, for a loop over these tiles.
pub(super) fn separate<const D: usize>(infos: &[ArgInfo<'_, D>], tile: &Tile<D>) {
    if tile.grown || tile.device == Some(Device::Hybrid) {
        for info in infos {
            if let ArgInfo::Tiled(array) = info {
                array.acc.core().separate(array.tracker);
            }
        }
    }
}

/// Refuses what cannot be an argument beside arrays on several ranks, so that all ranks do, those too that have nothing
/// to do.
///
/// # Errors
/// The first of these.
pub(super) fn refuse_on_ranks<const D: usize>(
    infos: &[ArgInfo<'_, D>],
    tried: &dyn Fn() -> String,
) -> Result<(), Error> {
    let on_ranks = |info: &ArgInfo<'_, D>| matches!(info, ArgInfo::Tiled(tiled) if tiled.whole.ranks() > 1);
    if !infos.iter().any(on_ranks) {
        return Ok(());
    }
    let refused = infos.iter().enumerate().find_map(|(n, info)| match info {
        ArgInfo::Refused { found, advice } => Some((n, found, advice)),
        _ => None,
    });
    refused.map_or(Ok(()), |(n, found, advice)| {
        Err(Error::new(ErrorKind::Argument, tried(), format!("argument {n}, {found}"), *advice))
    })
}

/// An array with the tile's cuts.
#[derive(Debug)]
pub struct TiledInfo<'a, const D: usize> {
    pub(crate) acc: &'a TileAcc,
    pub(crate) layout: &'a Arc<Layout<D>>,
    pub(crate) tracker: &'a Arc<Tracker>,
    /// Faces whose ghosts are left to the user.
    pub(crate) open: [[bool; 2]; D],
    /// Its resolution, if it is another than the tile's: then it has cuts of its own.
    pub(crate) level: Option<Level>,
    /// The array, of which this may be the part on a place.
    pub(crate) whole: &'a dyn Fillable,
}

impl<const D: usize> TiledInfo<'_, D> {
    /// Whether a box has ghosts that are not left to the user. Beyond several faces the first of their axes decides.
    pub(super) fn reaches_set_faces(&self, cells: &GridBox<D>) -> bool {
        let shape = |d: usize| self.layout.shape[d] as i64;
        let inside = |d: usize| cells.lo[d] < shape(d) && cells.hi[d] > 0;
        (0..D).take_while(|d| *d == 0 || inside(d - 1)).any(|d| {
            let beyond = [cells.lo[d] < 0, cells.hi[d] > shape(d)];
            (0..2).any(|side| beyond[side] && !self.open[d][side])
        })
    }
}

/// What recorded work holds of an array.
#[derive(Debug)]
struct Memory<const D: usize> {
    storage: Arc<Storage>,
    layout: Arc<Layout<D>>,
}

/// What recorded work holds of an array that it reads.
#[derive(Debug)]
pub struct HeldRef<T, const D: usize>(Memory<D>, PhantomData<fn() -> T>);

/// What recorded work holds of an array that it writes.
#[derive(Debug)]
pub struct HeldMut<T, const D: usize>(Memory<D>, PhantomData<fn() -> T>);

impl<const D: usize> Memory<D> {
    fn on_device(&self) -> DeviceArray<'_> {
        let layout = self.storage.on_device_as(&self.layout.wide);
        DeviceArray {
            storage: &self.storage,
            layout,
            element: self.layout.element,
            regions: &self.layout.wide,
            ring: None,
        }
    }

    fn raw_of(&self, region: usize, arg: u32, valid_only: bool, how: How<'_, D>) -> Raw<D> {
        match how.site(arg) {
            Some(site) => site.raw(region, valid_only),
            None => self.raw(region, valid_only),
        }
    }

    fn raw(&self, region: usize, valid_only: bool) -> Raw<D> {
        let mut raw = self.layout.raw(&self.storage, region);
        if valid_only {
            raw.bounds = self.layout.regions[region].valid;
        }
        raw
    }
}

fn info<T: Element, const D: usize>(all: &TileArray<T, D>, place: usize) -> ArgInfo<'_, D> {
    let array = all.on(place);
    ArgInfo::Tiled(TiledInfo {
        acc: &array.acc,
        layout: &array.layout,
        tracker: &array.tracker,
        open: array.boundaries.kinds.open(),
        level: None,
        whole: all,
    })
}

fn memory<T: Element, const D: usize>(array: &TileArray<T, D>) -> Memory<D> {
    Memory { storage: array.storage.clone(), layout: array.layout.clone() }
}

const fn binding<T: Element>(access: Access, rank: usize) -> Binding {
    Binding { access, element: T::TYPE, rank }
}

impl<T: Element, const D: usize> Arg<D> for &TileArray<T, D> {
    type Held = HeldRef<T, D>;
    fn info(&self, place: usize) -> ArgInfo<'_, D> {
        info(self, place)
    }
    fn hold(&self, place: usize) -> HeldRef<T, D> {
        HeldRef(memory(self.on(place)), PhantomData)
    }
}

impl<T: Element, const D: usize> HeldArg<D> for HeldRef<T, D> {
    type View<M: Mode> = View<T, D, M>;
    const BINDING: Binding = binding::<T>(Access::Read, D);
    #[inline(always)]
    unsafe fn view<M: Mode>(&self, region: usize, arg: u32, how: How<'_, D>) -> View<T, D, M> {
        // SAFETY: the memory lives as long as `self`; the rest is the caller's promise.
        unsafe { View::new(self.0.raw_of(region, arg, how.valid_only & (1 << arg) != 0, how), arg) }
    }
    fn on_device(&self) -> OnDevice<'_> {
        OnDevice(DeviceArg::Tiled(self.0.on_device()))
    }
}

impl<T: Element, const D: usize> Arg<D> for &mut TileArray<T, D> {
    type Held = HeldMut<T, D>;
    fn info(&self, place: usize) -> ArgInfo<'_, D> {
        if self.is_everywhere() {
            return ArgInfo::Refused {
                found: "of which each place has all (`.everywhere()`), written by a kernel",
                advice: "write an array that is built without `.everywhere()`, and `copy_from` it",
            };
        }
        info(self, place)
    }
    fn hold(&self, place: usize) -> HeldMut<T, D> {
        HeldMut(memory(self.on(place)), PhantomData)
    }
}

impl<T: Element, const D: usize> HeldArg<D> for HeldMut<T, D> {
    type View<M: Mode> = ViewMut<T, D, M>;
    const BINDING: Binding = binding::<T>(Access::Write, D);
    #[inline(always)]
    unsafe fn view<M: Mode>(&self, region: usize, arg: u32, how: How<'_, D>) -> ViewMut<T, D, M> {
        let mut raw = self.0.raw_of(region, arg, false, how);
        if let Some(start) = how.starts.get(arg as usize).copied().filter(|start| !start.is_null()) {
            // The same address as before, but derived from the slice that the run has to itself.
            let r = &self.0.layout.regions[region];
            raw.base = start.wrapping_sub(r.position(how.cells.lo) * T::TYPE.bytes());
        }
        // SAFETY: the memory lives as long as `self`; the rest is the caller's promise.
        unsafe { ViewMut::new(raw, arg) }
    }
    fn exclusive(&self, region: usize, cells: &GridBox<D>) -> Option<(*mut u8, usize)> {
        // More components lie in planes far apart, with other cells between them.
        if T::TYPE.components() != 1 || cells.is_empty() || self.0.layout.codes().is_some() {
            return None;
        }
        let r = &self.0.layout.regions[region];
        // A stretch of one axis, whole along those after it: the cells follow one another, with only padding and
        // ghosts between, which count as written with them.
        let extent = cells.extent();
        let axis = (0..D).find(|&d| extent[d] > 1).unwrap_or(D - 1);
        let whole = |d: usize| cells.lo[d] <= r.valid.lo[d] && r.valid.hi[d] <= cells.hi[d];
        if !(axis + 1..D).all(whole) {
            return None;
        }
        let (first, last) = (r.position(cells.lo), r.position(cells.hi.map(|x| x - 1)));
        let bytes = T::TYPE.bytes();
        // SAFETY: both positions are inside the region's memory.
        Some((unsafe { self.0.storage.base(region).add(first * bytes) }, (last + 1 - first) * bytes))
    }
    fn on_device(&self) -> OnDevice<'_> {
        OnDevice(DeviceArg::Tiled(self.0.on_device()))
    }
}

/// A whole array as an argument. See [`all`].
#[derive(Debug)]
pub struct All<'a, T: Element, const E: usize>(&'a TileArray<T, E>);

/// A whole array as an argument of a kernel: any shape, read only, indexed by its own coordinates (valid cells only).
/// Indexes that cannot be proven in range are checked as the kernel runs; one outside the array is an error at the next
/// host access.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut matrix = TileArray::<f64, 2>::builder([2, 3]).build(&acc)?;
/// matrix.fill(|[row, column]| (row * 3 + column) as f64)?;
/// let mut vector = TileArray::<f64, 1>::builder([3]).build(&acc)?;
/// vector.fill_value(2.0)?;
/// let mut product = TileArray::<f64, 1>::builder([2]).build(&acc)?;
/// for tile in TileIter::new(&product) {
///     compute(&tile, (&mut product, all(&matrix), all(&vector)), kernel!(|product, matrix, vector, at| {
///         let [row] = at;
///         let mut sum = 0.0;
///         for k in 0..3 {
///             sum += matrix[[row, k]] * vector[[k]];
///         }
///         product[at] = sum;
///     }))?;
/// }
/// assert_eq!(product.read_box(product.domain())?, [6.0, 24.0]);
/// # Ok(()) }
/// ```
pub fn all<T: Element, const E: usize>(array: &TileArray<T, E>) -> All<'_, T, E> {
    All(array)
}

/// What recorded work holds of a whole array.
#[derive(Debug)]
pub struct HeldWhole<T, const E: usize> {
    whole: Arc<Whole<E>>,
    /// Keeps the memory alive.
    memory: Memory<E>,
    marker: PhantomData<fn() -> T>,
}

impl<T: Element, const E: usize, const D: usize> Arg<D> for All<'_, T, E> {
    type Held = HeldWhole<T, E>;
    fn info(&self, place: usize) -> ArgInfo<'_, D> {
        if self.0.is_parted() && !self.0.is_everywhere() {
            return ArgInfo::Refused {
                found: "an array on several places as a whole (`all`), of which each place has a part alone",
                advice: "build it with `.everywhere()`, or `copy_from` it into an array that is: each place has all of \
                         it then",
            };
        }
        let array = self.0.on(place);
        let mut shape = [1; 4];
        for (axis, n) in array.layout.shape.iter().enumerate() {
            shape[axis] = *n as i64;
        }
        ArgInfo::Whole { acc: &array.acc, tracker: &array.tracker, shape }
    }
    fn hold(&self, place: usize) -> Self::Held {
        let held = memory(self.0.on(place));
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
        HeldWhole { whole: Arc::new(Whole { regions, ends, bounds }), memory: held, marker: PhantomData }
    }
}

impl<T: Element, const E: usize, const D: usize> HeldArg<D> for HeldWhole<T, E> {
    type View<M: Mode> = AllView<T, E, M>;
    const BINDING: Binding = binding::<T>(Access::All, E);
    #[inline(always)]
    unsafe fn view<M: Mode>(&self, _: usize, arg: u32, how: How<'_, D>) -> AllView<T, E, M> {
        let whole = match how.site(arg) {
            Some(site) => Arc::new(Whole {
                regions: (0..self.whole.regions.len()).map(|region| site.raw(region, true)).collect(),
                ends: self.whole.ends.clone(),
                bounds: self.whole.bounds,
            }),
            None => self.whole.clone(),
        };
        // SAFETY: the memory lives as long as `self`; the rest is the caller's promise.
        unsafe { AllView::new(whole, arg, how.alone.get(arg as usize).copied().flatten()) }
    }
    fn on_device(&self) -> OnDevice<'_> {
        OnDevice(DeviceArg::Whole(self.memory.on_device(), E))
    }
    fn ends(&self) -> Ends<'_> {
        (self.whole.regions.len() > 1).then(|| self.whole.ends.iter().map(Vec::as_slice).collect())
    }
}

/// A small constant table as an argument. See [`table`].
#[derive(Clone, Debug)]
pub struct Table<T>(Arc<[T]>);

/// A small constant table as an argument of a kernel: read only, indexed by one `usize`. The values are copied at once.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
/// let weights = [0.5, 2.0];
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut u, table(&weights)), kernel!(|u, weights, at| u[at] = weights[(at[0] % 2) as usize]))?;
/// }
/// assert_eq!(u.read_box(u.domain())?, [0.5, 2.0, 0.5, 2.0]);
/// # Ok(()) }
/// ```
pub fn table<T: ScalarElement>(values: &[T]) -> Table<T> {
    Table(values.into())
}

impl<T: ScalarElement, const D: usize> Arg<D> for Table<T> {
    type Held = Table<T>;
    fn info(&self, _: usize) -> ArgInfo<'_, D> {
        ArgInfo::Table { len: self.0.len(), bits: self.0.iter().map(|v| v.bits()).collect() }
    }
    fn hold(&self, _: usize) -> Table<T> {
        Table(self.0.clone())
    }
}

impl<T: ScalarElement, const D: usize> HeldArg<D> for Table<T> {
    type View<M: Mode> = TableView<T, M>;
    const BINDING: Binding = binding::<T>(Access::Table, 1);
    #[inline(always)]
    unsafe fn view<M: Mode>(&self, _: usize, arg: u32, _: How<'_, D>) -> TableView<T, M> {
        // SAFETY: the caller's promise.
        unsafe { TableView::new(self.0.clone(), arg) }
    }
    fn on_device(&self) -> OnDevice<'_> {
        let mut bytes = Vec::with_capacity(self.0.len() * T::SCALAR.size());
        self.0.iter().for_each(|value| push_bits(T::SCALAR, value.bits(), &mut bytes));
        OnDevice(DeviceArg::Table(bytes, self.0.len()))
    }
}

/// The arguments of one kernel: one [`Arg`], or a tuple of 1 to 16.
pub trait Args<const D: usize> {
    /// What recorded work holds.
    #[doc(hidden)]
    type Held: HeldArgs<D>;
    #[doc(hidden)]
    fn infos(&self, place: usize) -> Infos<'_, D>;
    #[doc(hidden)]
    fn hold(&self, place: usize) -> Self::Held;
}

/// What recorded work holds of the arguments of one kernel.
pub trait HeldArgs<const D: usize>: Send + Sync + 'static {
    /// Their views, as a tuple.
    type Views<M: Mode>: Sync + 'static;
    /// What the kernel is typed for.
    const BINDINGS: &'static [Binding];
    /// The views of one region.
    ///
    /// # Safety
    /// As [`HeldArg::view`].
    unsafe fn views<M: Mode>(&self, region: usize, how: How<'_, D>) -> Self::Views<M>;
    /// [`HeldArg::exclusive`] of the first arguments.
    fn exclusive(&self, region: usize, cells: &GridBox<D>) -> [Option<(*mut u8, usize)>; EXCLUSIVE];
    /// [`HeldArg::on_device`] of each argument.
    fn on_device(&self) -> smallvec::SmallVec<[OnDevice<'_>; 8]>;
    /// [`HeldArg::ends`] of each argument.
    fn ends(&self) -> smallvec::SmallVec<[Ends<'_>; 8]>;
}

/// The views of arguments `A`.
pub type Views<A, M, const D: usize> = <<A as Args<D>>::Held as HeldArgs<D>>::Views<M>;

/// What `compute` has to know of its arguments.
pub type Infos<'a, const D: usize> = smallvec::SmallVec<[ArgInfo<'a, D>; 8]>;

impl<T: Element, const D: usize> Args<D> for &TileArray<T, D> {
    type Held = (HeldRef<T, D>,);
    fn infos(&self, place: usize) -> Infos<'_, D> {
        smallvec::smallvec![self.info(place)]
    }
    fn hold(&self, place: usize) -> Self::Held {
        (Arg::hold(self, place),)
    }
}

impl<T: Element, const D: usize> Args<D> for &mut TileArray<T, D> {
    type Held = (HeldMut<T, D>,);
    fn infos(&self, place: usize) -> Infos<'_, D> {
        smallvec::smallvec![self.info(place)]
    }
    fn hold(&self, place: usize) -> Self::Held {
        (Arg::hold(self, place),)
    }
}

macro_rules! tuple {
    ($($a:ident $n:tt),*) => {
        impl<const D: usize, $($a: Arg<D>),*> Args<D> for ($($a,)*) {
            type Held = ($($a::Held,)*);
            fn infos(&self, place: usize) -> Infos<'_, D> {
                smallvec::smallvec![$(self.$n.info(place)),*]
            }
            fn hold(&self, place: usize) -> Self::Held {
                ($(self.$n.hold(place),)*)
            }
        }

        impl<const D: usize, $($a: HeldArg<D>),*> HeldArgs<D> for ($($a,)*) {
            type Views<M: Mode> = ($($a::View<M>,)*);
            const BINDINGS: &'static [Binding] = &[$($a::BINDING),*];
            #[inline(always)]
            unsafe fn views<M: Mode>(&self, region: usize, how: How<'_, D>) -> Self::Views<M> {
                // SAFETY: the caller's promise.
                ($(unsafe { self.$n.view(region, $n, how) },)*)
            }
            fn exclusive(&self, region: usize, cells: &GridBox<D>) -> [Option<(*mut u8, usize)>; EXCLUSIVE] {
                let mut all = [None; EXCLUSIVE];
                $(if let Some(one) = all.get_mut($n) {
                    *one = self.$n.exclusive(region, cells);
                })*
                all
            }
            fn on_device(&self) -> smallvec::SmallVec<[OnDevice<'_>; 8]> {
                smallvec::smallvec![$(self.$n.on_device()),*]
            }
            fn ends(&self) -> smallvec::SmallVec<[Ends<'_>; 8]> {
                smallvec::smallvec![$(self.$n.ends()),*]
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
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12, P 13);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12, P 13, Q 14);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12, P 13, Q 14, R 15);
