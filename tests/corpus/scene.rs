//! Arrays with random cuts, ghosts, boundaries and data, and plain copies of them.

use std::cell::Cell;

use ndarray::{Dim, Dimension};
use tida::array::{ScalarElement, Side};
use tida::prelude::*;
use tida_kernels::each_scalar;
use tida_kernels::element::ScalarType;
use tida_kernels::scalar::Value;

use crate::draw::{Draw, mix, value};

/// One domain with its cuts.
pub struct Scene<const D: usize> {
    pub acc: TileAcc,
    pub draw: Draw,
    cells: [usize; D],
    regions: [usize; D],
    ghost: [[usize; 2]; D],
    made: Cell<u64>,
}

/// An element of the corpus: made from scalars, read and written component by component.
pub trait FromScalars: Element {
    fn from_scalars(next: &mut dyn FnMut(ScalarType) -> Value) -> Self;

    /// One component of a region of an array that has components of this element, ghosts included.
    fn read<A: Element, const D: usize>(
        array: &TileArray<A, D>,
        region: usize,
        component: usize,
        ty: ScalarType,
    ) -> Result<Vec<Value>, Error>
    where
        Dim<[usize; D]>: Dimension;

    /// Sets it to `value(position)`.
    fn write<A: Element, const D: usize>(
        array: &mut TileArray<A, D>,
        region: usize,
        component: usize,
        ty: ScalarType,
        value: &dyn Fn(usize) -> Value,
    ) where
        Dim<[usize; D]>: Dimension;
}

macro_rules! from_scalars {
    (() $($t:ident $variant:ident)*) => {$(
        impl FromScalars for $t {
            fn from_scalars(next: &mut dyn FnMut(ScalarType) -> Value) -> Self {
                match next(ScalarType::$variant) {
                    Value::$variant(v) => v,
                    other => panic!("{other:?} is no {}", stringify!($t)),
                }
            }

            fn read<A: Element, const D: usize>(
                array: &TileArray<A, D>,
                region: usize,
                component: usize,
                _: ScalarType,
            ) -> Result<Vec<Value>, Error>
            where
                Dim<[usize; D]>: Dimension,
            {
                array.with_grown_component::<$t, _>(region, component, |view| {
                    view.iter().map(|v| Value::$variant(*v)).collect()
                })
            }

            fn write<A: Element, const D: usize>(
                array: &mut TileArray<A, D>,
                region: usize,
                component: usize,
                _: ScalarType,
                value: &dyn Fn(usize) -> Value,
            ) where
                Dim<[usize; D]>: Dimension,
            {
                let fill = |mut view: ndarray::ArrayViewMut<'_, $t, Dim<[usize; D]>>| {
                    view.iter_mut().enumerate().for_each(|(n, x)| *x = <$t>::from_scalars(&mut |_| value(n)));
                };
                array.with_grown_component_mut::<$t, _>(region, component, fill).unwrap();
            }
        }
    )*};
}

each_scalar!(all from_scalars!());

/// The parts of [`FromScalars`] that hand on to the type of each scalar: `components!(f64, F64; ..)`.
macro_rules! components {
    ($($t:ty, $variant:ident;)*) => {
        fn read<A: tida::Element, const D: usize>(
            array: &tida::TileArray<A, D>,
            region: usize,
            component: usize,
            ty: tida_kernels::element::ScalarType,
        ) -> Result<Vec<Value>, tida::Error>
        where
            ndarray::Dim<[usize; D]>: ndarray::Dimension,
        {
            match ty {
                $(tida_kernels::element::ScalarType::$variant => <$t>::read(array, region, component, ty),)*
                other => panic!("{other:?} is not listed"),
            }
        }

        fn write<A: tida::Element, const D: usize>(
            array: &mut tida::TileArray<A, D>,
            region: usize,
            component: usize,
            ty: tida_kernels::element::ScalarType,
            value: &dyn Fn(usize) -> Value,
        ) where
            ndarray::Dim<[usize; D]>: ndarray::Dimension,
        {
            match ty {
                $(tida_kernels::element::ScalarType::$variant => <$t>::write(array, region, component, ty, value),)*
                other => panic!("{other:?} is not listed"),
            }
        }
    };
}

pub(crate) use components;

impl<T: FromScalars, const N: usize> FromScalars for [T; N] {
    fn from_scalars(next: &mut dyn FnMut(ScalarType) -> Value) -> Self {
        std::array::from_fn(|_| T::from_scalars(next))
    }

    fn read<A: Element, const D: usize>(
        array: &TileArray<A, D>,
        region: usize,
        component: usize,
        ty: ScalarType,
    ) -> Result<Vec<Value>, Error>
    where
        Dim<[usize; D]>: Dimension,
    {
        T::read(array, region, component, ty)
    }

    fn write<A: Element, const D: usize>(
        array: &mut TileArray<A, D>,
        region: usize,
        component: usize,
        ty: ScalarType,
        value: &dyn Fn(usize) -> Value,
    ) where
        Dim<[usize; D]>: Dimension,
    {
        T::write(array, region, component, ty, value);
    }
}

impl<const D: usize> Scene<D>
where
    Dim<[usize; D]>: Dimension,
{
    pub fn new(draw: &Draw) -> Self {
        let acc = TileAcc::builder().threads(draw.threads).build().unwrap();
        let from = 4 - D;
        let cells: [usize; D] = std::array::from_fn(|d| match (D, d + 1 == D) {
            (4, true) => draw.cells[3] % 70 + 2,
            (4, false) => draw.cells[d] % 3 + 2,
            (3, false) => draw.cells[from + d].min(4),
            (1, true) => draw.cells[3] * 2,
            _ => draw.cells[from + d],
        });
        // Ghosts are at most as wide as the thinnest region: each has two cells or more.
        let regions: [usize; D] = std::array::from_fn(|d| {
            let most = if d + 1 < D {
                cells[d] / 2
            } else {
                let tail = cells[d] % 64;
                cells[d].div_ceil(64) - (cells[d] > 64 && (1..3).contains(&tail)) as usize
            };
            1 + draw.regions[from + d] % most.max(1)
        });
        let probe = TileArray::<u8, D>::builder(cells).regions(regions).build(&acc).unwrap();
        let thinnest = |d: usize| (0..probe.regions()).map(|r| probe.region_box(r).unwrap().extent()[d]).min().unwrap();
        let ghost =
            std::array::from_fn(|d| draw.more_ghosts[from + d].map(|more| 2 + (more && thinnest(d) > 2) as usize));
        Scene { acc, draw: draw.clone(), cells, regions, ghost, made: Cell::new(0) }
    }

    /// A seed for each thing made in the scene.
    fn seed(&self) -> u64 {
        self.made.set(self.made.get() + 1);
        mix(self.draw.seed, self.made.get())
    }

    /// An array of the scene's cuts with random cells and ghosts; ghosts that a boundary decides are filled.
    pub fn array<T: FromScalars>(&self) -> TileArray<T, D> {
        self.centred([Centering::Cell; D])
    }

    /// As [`array`](Scene::array), with values on faces along some axes.
    pub fn centred<T: FromScalars>(&self, centering: [Centering; D]) -> TileArray<T, D> {
        let seed = self.seed();
        let from = 4 - D;
        let mut count = 0;
        let mut fixed = || {
            T::from_scalars(&mut |ty| {
                count += 1;
                value(ty, self.draw.wildness, mix(seed ^ 1, count))
            })
        };
        let numeric = !T::TYPE.component_types().contains(&ScalarType::Bool);
        let mut builder = TileArray::<T, D>::builder(self.cells).regions(self.regions).ghost(self.ghost);
        builder = builder.centering(centering);
        for d in 0..D {
            let kinds = self.draw.boundary[from + d].map(|kind| kind % 7);
            for (side, kind) in [Side::Low, Side::High].into_iter().zip(kinds) {
                let boundary = match kind {
                    _ if kinds[0] == 0 => Boundary::Periodic,
                    1 if numeric => Boundary::ReflectOdd,
                    2 => Boundary::ReflectEven,
                    3 => Boundary::Extrapolate(0),
                    4 if numeric => Boundary::Extrapolate(1),
                    5 => Boundary::Fixed(fixed()),
                    _ => Boundary::Open,
                };
                builder = builder.boundary_face(d, side, boundary);
            }
        }
        let mut array = builder.build(&self.acc).unwrap();
        scatter(&mut array, seed, self.draw.wildness);
        array.fill_ghosts().unwrap();
        array
    }

    /// An array of its own shape and cuts, to be read whole.
    pub fn whole<T: FromScalars, const E: usize>(&self, cells: [usize; E]) -> TileArray<T, E>
    where
        Dim<[usize; E]>: Dimension,
    {
        let regions = std::array::from_fn(|d| {
            let most = if d + 1 < E { cells[d] } else { cells[d].div_ceil(64) };
            1 + self.draw.regions[d] % most
        });
        let mut array = TileArray::<T, E>::builder(cells).regions(regions).build(&self.acc).unwrap();
        scatter(&mut array, self.seed(), self.draw.wildness);
        array
    }

    /// Values for a table.
    pub fn table<T: FromScalars>(&self, len: usize) -> Vec<T> {
        let (seed, mut n) = (self.seed(), 0);
        let mut next = |ty| {
            n += 1;
            value(ty, self.draw.wildness, mix(seed, n))
        };
        (0..len).map(|_| T::from_scalars(&mut next)).collect()
    }

    /// One random value to capture.
    pub fn scalar<T: FromScalars>(&self) -> T {
        self.table(1)[0]
    }

    /// The tiles to run over.
    pub fn tiles<T: Element>(&self, array: &TileArray<T, D>) -> Vec<Tile<D>> {
        let from = 4 - D;
        let size = std::array::from_fn(|d| match self.draw.tile[from + d] {
            0 => usize::MAX,
            n => n,
        });
        let lo = std::array::from_fn(|d| self.draw.within[from + d][0]);
        let hi = std::array::from_fn(|d| array.shape()[d] as i64 - self.draw.within[from + d][1]);
        TileIter::new(array).tile_size(size).within(lo, hi).collect()
    }
}

/// Random values for every cell and every ghost.
fn scatter<T: FromScalars, const D: usize>(array: &mut TileArray<T, D>, seed: u64, wildness: u8)
where
    Dim<[usize; D]>: Dimension,
{
    for region in 0..array.regions() {
        for (component, ty) in T::TYPE.component_types().into_iter().enumerate() {
            let seed = mix(seed, (region * 64 + component) as u64);
            T::write(array, region, component, ty, &|n| value(ty, wildness, mix(seed, n as u64)));
        }
    }
}

/// The values of one region of an argument, one list a component.
#[derive(Clone, Debug)]
pub struct Part {
    /// What the region owns.
    pub valid: [Vec<i64>; 2],
    /// What it holds.
    pub held: [Vec<i64>; 2],
    /// Row-major over what it holds.
    pub values: Vec<Vec<Value>>,
}

/// A plain copy of an argument.
pub type Copied = Vec<Part>;

/// What can be copied.
pub trait Copies {
    fn copied(&self) -> Result<Copied, Error>;
}

impl<T: FromScalars, const D: usize> Copies for TileArray<T, D>
where
    Dim<[usize; D]>: Dimension,
{
    fn copied(&self) -> Result<Copied, Error> {
        let ends = |b: GridBox<D>| [b.lo.to_vec(), b.hi.to_vec()];
        (0..self.regions())
            .map(|region| {
                let mut values = Vec::new();
                for (component, ty) in T::TYPE.component_types().into_iter().enumerate() {
                    values.push(T::read(self, region, component, ty)?);
                }
                let valid = ends(self.region_box(region).unwrap());
                Ok(Part { valid, held: ends(self.grown_box(region).unwrap()), values })
            })
            .collect()
    }
}

impl<T: ScalarElement> Copies for Vec<T> {
    fn copied(&self) -> Result<Copied, Error> {
        let all = [vec![0], vec![self.len() as i64]];
        let values = self.iter().map(|v| Value::from_bits(T::SCALAR, v.bits())).collect();
        Ok(vec![Part { valid: all.clone(), held: all, values: vec![values] }])
    }
}

/// Runs a test over random scenes.
pub fn over<const D: usize>(test: impl Fn(&Scene<D>))
where
    Dim<[usize; D]>: Dimension,
{
    let cases = if std::env::var_os("TIDA_DEVICE").is_some() { ON_DEVICES } else { CASES };
    crate::draw::each_draw(cases, |draw| test(&Scene::new(draw)));
}

/// Scenes for each kernel.
const CASES: u32 = 48;

/// The same where a device is named, whose compiler takes far longer than the scenes.
const ON_DEVICES: u32 = 16;
