//! Kernels wherever they may run: cut along any axes, larger than the device's memory, several steps as one launch, on
//! both sides at once, in fewer bits, with what is recorded beside them. The bits are those of plain loops.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::{Add, Index, IndexMut, Sub};
use std::sync::{Arc, Mutex, PoisonError};

use tida::acc::{Stats, TileAccBuilder};
use tida::prelude::*;
use tida::{Format, Result};

use crate::{on_a_device, on_cpu, unhurried};

/// Steps of a run.
pub const STEPS: usize = 7;

/// Width of the ghosts of all arrays here.
pub const GHOST: usize = 2;

/// An element whose bits can be compared.
pub trait Bits: Element + Copy + Debug {
    /// The bits of its numbers.
    fn bits(self) -> Vec<u64>;

    /// Whether the bits are the same.
    fn is(self, other: Self) -> bool {
        self.bits() == other.bits()
    }
}

macro_rules! bits {
    ($($T:ident)*) => {$(
        impl Bits for $T {
            fn bits(self) -> Vec<u64> {
                self.to_ne_bytes().iter().map(|byte| u64::from(*byte)).collect()
            }

            fn is(self, other: Self) -> bool {
                self.to_ne_bytes() == other.to_ne_bytes()
            }
        }
    )*};
}

bits!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

/// A cell of plain loops.
#[derive(Clone, Copy, Debug)]
pub struct At<const D: usize>(pub [i64; D]);

impl<const D: usize> Add<[i64; D]> for At<D> {
    type Output = At<D>;

    fn add(self, by: [i64; D]) -> At<D> {
        At(std::array::from_fn(|d| self.0[d] + by[d]))
    }
}

impl<const D: usize> Sub<[i64; D]> for At<D> {
    type Output = At<D>;

    fn sub(self, by: [i64; D]) -> At<D> {
        At(std::array::from_fn(|d| self.0[d] - by[d]))
    }
}

impl<const D: usize> Index<usize> for At<D> {
    type Output = i64;

    fn index(&self, d: usize) -> &i64 {
        &self.0[d]
    }
}

/// Cells of plain loops, in row-major order, that go on at their other ends.
#[derive(Clone, Debug)]
pub struct Plain<T, const D: usize> {
    shape: [usize; D],
    values: Vec<T>,
}

impl<T: Copy, const D: usize> Plain<T, D> {
    fn place(&self, at: At<D>) -> usize {
        let on_axis = |d: usize| at.0[d].rem_euclid(self.shape[d] as i64) as usize;
        (0..D).fold(0, |place, d| place * self.shape[d] + on_axis(d))
    }

    fn cells(&self) -> impl Iterator<Item = At<D>> + use<T, D> {
        let shape = self.shape;
        (0..self.values.len()).map(move |mut n| {
            let mut at = [0; D];
            for d in (0..D).rev() {
                (at[d], n) = ((n % shape[d]) as i64, n / shape[d]);
            }
            At(at)
        })
    }
}

impl<T: Copy, const D: usize> Index<At<D>> for Plain<T, D> {
    type Output = T;

    fn index(&self, at: At<D>) -> &T {
        &self.values[self.place(at)]
    }
}

impl<T: Copy, const D: usize> IndexMut<At<D>> for Plain<T, D> {
    fn index_mut(&mut self, at: At<D>) -> &mut T {
        let place = self.place(at);
        &mut self.values[place]
    }
}

/// Records a kernel for a tile.
pub type Step<T, const D: usize> = Box<dyn Fn(&Tile<D>, &mut TileArray<T, D>, &TileArray<T, D>) -> Result<()>>;

/// What a kernel does, cell by cell: the array that it writes, and the one that it reads.
pub type PlainStep<T, const D: usize> = Box<dyn Fn(&mut Plain<T, D>, &Plain<T, D>, At<D>)>;

/// A kernel, and plain loops that do the same.
#[expect(missing_debug_implementations, reason = "closures have none")]
pub struct Case<T: Element, const D: usize> {
    /// What it is called in messages.
    pub name: &'static str,
    /// Cells of its arrays.
    pub cells: [usize; D],
    /// The first value of a cell.
    pub first: fn([usize; D]) -> T,
    /// How its step is recorded: in the call, kept.
    pub ways: Vec<(&'static str, Step<T, D>)>,
    /// Its step by plain loops.
    pub plain: PlainStep<T, D>,
    /// A sum over the cells after all steps, exact in any order, and that of plain loops.
    pub total: fn(&TileArray<T, D>) -> Result<i64>,
    /// Of one cell.
    pub plain_total: fn(T) -> i64,
    /// In how many bits its values may be kept.
    pub format: Option<Format>,
    /// Whether several of its steps can be one launch.
    pub fuses: bool,
    /// Whether it can be one launch with another sweep.
    pub joins: bool,
    /// Whether it can be one launch with the reduction after it.
    pub ends: bool,
}

/// How the arrays of a run lie, and what is beside.
#[derive(Clone, Copy, Debug)]
pub struct Lie<const D: usize> {
    /// Regions along each axis.
    pub regions: [usize; D],
    /// Whether values are kept in fewer bits.
    pub coded: bool,
    /// Whether each step writes a third array too.
    pub beside: bool,
    /// Where the tiles run, if that is said.
    pub device: Option<Device>,
}

impl<const D: usize> Lie<D> {
    /// Cut in so many regions.
    pub fn cut(regions: [usize; D]) -> Lie<D> {
        Lie { regions, coded: false, beside: false, device: None }
    }
}

impl<T: Bits, const D: usize> Case<T, D> {
    /// Bytes that two arrays take, as rows are aligned.
    fn bytes(&self) -> u64 {
        let row = ((self.cells[D - 1] + 2 * GHOST) * size_of::<T>()).next_multiple_of(128);
        (2 * self.cells[..D - 1].iter().product::<usize>() * row) as u64
    }

    fn array(&self, acc: &TileAcc, lie: Lie<D>) -> Result<TileArray<T, D>> {
        let regions = lie.regions;
        let builder = TileArray::<T, D>::builder(self.cells).regions(regions).ghost(GHOST).boundary(Boundary::Periodic);
        let builder = match self.format.filter(|_| lie.coded) {
            Some(format) => builder.storage(format),
            None => builder,
        };
        builder.build(acc)
    }

    /// All cells after the steps, and the sum over them.
    ///
    /// # Errors
    /// As those of the calls.
    pub fn run(&self, acc: &TileAcc, lie: Lie<D>, step: &Step<T, D>) -> Result<(Vec<T>, i64)> {
        let mut u = self.array(acc, lie)?;
        u.fill(self.first)?;
        let mut next = u.like()?;
        let mut third = u.like()?;
        for _ in 0..STEPS {
            u.fill_ghosts()?;
            let tiles = TileIter::new(&u);
            for tile in lie.device.map_or(tiles.clone(), |device| tiles.device(device)) {
                step(&tile, &mut next, &u)?;
                if lie.beside {
                    step(&tile, &mut third, &u)?;
                }
            }
            std::mem::swap(&mut u, &mut next);
        }
        let total = (self.total)(&u)?;
        let cells = u.read_box(u.domain())?;
        if lie.beside {
            assert_same(self.name, acc, &third.read_box(third.domain())?, &cells);
        }
        Ok((cells, total))
    }

    /// The same by plain loops; `coded` if values are kept in fewer bits. Computed once for all places: cases of one
    /// program that have the same name differ in their elements or cells.
    pub fn plainly(&self, coded: bool) -> Arc<(Vec<T>, i64)> {
        type Known = HashMap<(TypeId, &'static str, Vec<usize>, bool), Arc<dyn Any + Send + Sync>>;
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        let key = (TypeId::of::<Self>(), self.name, self.cells.to_vec(), coded);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default().entry(key).or_insert_with(|| Arc::new(self.plain_loops(coded)));
        known.clone().downcast().expect("a case has one type of element")
    }

    fn plain_loops(&self, coded: bool) -> (Vec<T>, i64) {
        let kept = |values: Vec<T>| -> Result<Vec<T>> {
            if !coded {
                return Ok(values);
            }
            // What an array in a format makes of values, without a kernel.
            let mut array = self.array(&on_cpu(), Lie { coded: true, ..Lie::cut([1; D]) })?;
            array.write_box(array.domain(), &values)?;
            array.read_box(array.domain())
        };
        let mut u = Plain { shape: self.cells, values: Vec::new() };
        let zero = Plain { shape: self.cells, values: vec![(); self.cells.iter().product()] };
        u.values = kept(zero.cells().map(|at| (self.first)(at.0.map(|x| x as usize))).collect()).unwrap();
        let mut next = u.clone();
        for _ in 0..STEPS {
            for at in u.cells() {
                (self.plain)(&mut next, &u, at);
            }
            next.values = kept(next.values).unwrap();
            std::mem::swap(&mut u, &mut next);
        }
        let total = u.values.iter().map(|x| (self.plain_total)(*x)).fold(0, i64::wrapping_add);
        (u.values, total)
    }

    /// Compares a run in each way with what plain loops give; what the accelerator counted since it was built.
    pub fn check(&self, acc: &TileAcc, lie: Lie<D>, (cells, total): &(Vec<T>, i64)) -> Stats {
        for (way, step) in &self.ways {
            let context = format!("{}, {way}, {lie:?}", self.name);
            let found = self.run(acc, lie, step).unwrap_or_else(|error| panic!("{context} on {acc}: {error}"));
            assert_same(&context, acc, &found.0, cells);
            assert_eq!(found.1, *total, "{context} on {acc}");
        }
        acc.stats()
    }
}

#[track_caller]
fn assert_same<T: Bits>(context: &str, acc: &TileAcc, found: &[T], wanted: &[T]) {
    assert_eq!(found.len(), wanted.len());
    for (n, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!(found.is(*wanted), "{context} on {acc}: cell {n} is {found:?}, not {wanted:?}");
    }
}

/// On a simulated device, and on the device that there is, each as this says.
pub fn devices(builder: impl Fn() -> TileAccBuilder) -> Vec<TileAcc> {
    let sim = builder().simulate(tida::SimDevice::new()).threads(2).build().unwrap();
    [sim].into_iter().chain(on_a_device(builder())).collect()
}

/// A place where kernels run.
pub type Place<T, const D: usize> = (&'static str, fn(&Case<T, D>));

/// As many regions along the first axis as this, and along the second as that.
fn cuts<const D: usize>(first: usize, second: usize) -> [usize; D] {
    std::array::from_fn(|d| match d {
        0 => first,
        1 => second,
        _ => 1,
    })
}

/// On the CPU, a simulated device and the device that there is, cut along the first axis, along two, along the second.
pub fn cut<T: Bits, const D: usize>(case: &Case<T, D>) {
    let wanted = case.plainly(false);
    for acc in devices(TileAcc::builder).iter().chain([&on_cpu()]) {
        for (first, second) in [(1, 1), (4, 1), (3, 2), (1, 3)] {
            let stats = case.check(acc, Lie::cut(cuts(first, second)), &wanted);
            assert!(stats.launches > 0 || acc.device() == Device::Cpu, "{acc}: {stats}");
        }
    }
}

/// With a quarter and an eighth of the memory that the arrays take, by planes and by regions.
pub fn out_of_core<T: Bits, const D: usize>(case: &Case<T, D>) {
    let wanted = case.plainly(false);
    for part in [4, 8] {
        for (first, second) in [(16, 1), (8, 3)] {
            // In three axes the ghosts of small regions take more than their cells.
            if D == 3 && part == 8 && second > 1 {
                continue;
            }
            for acc in devices(|| TileAcc::builder().memory_limit(case.bytes() / part)) {
                let stats = case.check(&acc, Lie::cut(cuts(first, second)), &wanted);
                let passes = stats.passes > 0 || stats.evictions > 0;
                assert!(passes, "{}, {acc}: all had room: {stats}", case.name);
            }
        }
    }
}

/// Several steps in one launch. Simulated devices run each step by itself.
pub fn fused<T: Bits, const D: usize>(case: &Case<T, D>) {
    let wanted = case.plainly(false);
    let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3))) else { return };
    let stats = case.check(&acc, Lie::cut([1; D]), &wanted);
    assert_eq!(stats.fused > 0, case.fuses, "{}, {acc}: {stats}", case.name);
}

/// On both sides at once.
pub fn hybrid<T: Bits, const D: usize>(case: &Case<T, D>) {
    let wanted = case.plainly(false);
    for acc in devices(TileAcc::builder) {
        for first in [1, 4] {
            let lie = Lie { device: Some(Device::Hybrid), ..Lie::cut(cuts(first, 1)) };
            let stats = case.check(&acc, lie, &wanted);
            assert!(stats.launches > 0, "{}, {acc}: {stats}", case.name);
        }
    }
}

/// In fewer bits, if its values have a format.
pub fn coded<T: Bits, const D: usize>(case: &Case<T, D>) {
    if case.format.is_none() {
        return;
    }
    let wanted = case.plainly(true);
    for acc in devices(TileAcc::builder).iter().chain([&on_cpu()]) {
        for (first, second) in [(1, 1), (3, 2)] {
            case.check(acc, Lie { coded: true, ..Lie::cut(cuts(first, second)) }, &wanted);
        }
    }
}

/// Beside another sweep that reads the same array: both run as one.
pub fn beside<T: Bits, const D: usize>(case: &Case<T, D>) {
    let wanted = case.plainly(false);
    let on_host = unhurried().device(Device::Cpu).threads(2).build().unwrap();
    for acc in on_a_device(unhurried().fuse(Fuse::Off)).iter().chain([&on_host]) {
        let stats = case.check(acc, Lie { beside: true, ..Lie::cut(cuts(3, 1)) }, &wanted);
        // The host joins more.
        let may = acc.device() == Device::Cpu && !case.joins;
        assert!(may || (stats.joined > 0) == case.joins, "{}, {acc}: {stats}", case.name);
    }
}

/// The last sweep and the reduction after it run as one on a device.
pub fn ending<T: Bits, const D: usize>(case: &Case<T, D>) {
    let wanted = case.plainly(false);
    let Some(acc) = on_a_device(unhurried().fuse(Fuse::Off)) else { return };
    let stats = case.check(&acc, Lie::cut([1; D]), &wanted);
    assert_eq!(stats.joined > 0, case.ends, "{}, {acc}: {stats}", case.name);
}

/// A kernel whose text is that of the plain loops too: `case!("name", [f64; 2], (cells, first), |next, u, at| {..}, |x|
/// ..)`. The last is what the sum adds up, an `i64`.
#[macro_export]
macro_rules! case {
    (
        $name:literal, [$T:ty; $D:literal], ($cells:expr, $first:expr),
        |$next:ident, $u:ident, $at:ident| $body:block, |$x:ident| $total:expr
    ) => {
        $crate::case!($name, [$T; $D], ($cells, $first), |$next, $u, $at| $body, plain | $next, $u, $at | $body, |$x| {
            $total
        })
    };
    (
        $name:literal, [$T:ty; $D:literal], ($cells:expr, $first:expr),
        |$next:ident, $u:ident, $at:ident| $body:block,
        plain |$to:ident, $from:ident, $cell:ident| $plain:block, |$x:ident| $total:expr
    ) => {{
        type Array = TileArray<$T, $D>;
        let kept = BoxedKernel::<$D, (&'static mut Array, &'static Array)>::new(kernel!(|$next, $u, $at| $body));
        $crate::places::Case::<$T, $D> {
            name: $name,
            cells: $cells,
            first: $first,
            ways: vec![
                (
                    "in the call",
                    Box::new(move |tile: &Tile<$D>, next: &mut Array, u: &Array| {
                        compute(tile, (next, u), kernel!(|$next, $u, $at| $body))
                    }),
                ),
                ("kept", Box::new(move |tile: &Tile<$D>, next: &mut Array, u: &Array| kept.compute(tile, (next, u)))),
            ],
            plain: Box::new(
                move |$to: &mut $crate::places::Plain<$T, $D>,
                      $from: &$crate::places::Plain<$T, $D>,
                      $cell: $crate::places::At<$D>| $plain,
            ),
            total: |u: &Array| {
                reduce(
                    u,
                    Sum,
                    kernel!(|u, at| {
                        let $x = u[at];
                        $total
                    }),
                )
            },
            plain_total: |$x: $T| $total,
            format: None,
            fuses: true,
            joins: true,
            ends: true,
        }
    }};
}
