//! Ghost cells against their definition, spelled out cell by cell.
#![cfg(feature = "ndarray")]

use ndarray::{Dim, Dimension, IxDyn};
use proptest::prelude::*;
use tida::array::{ScalarElement, Side};
use tida::prelude::*;

fn acc() -> TileAcc {
    TileAcc::builder().threads(2).build().unwrap()
}

/// A scalar of the tests.
trait Number: ScalarElement {
    fn from(n: i64) -> Self;
    fn negated(self) -> Self;
    fn line(near: Self, far: Self, distance: i64) -> Self;
}

macro_rules! numbers {
    ($($t:ty, $n:ident => $from:expr, $a:ident $negated:expr, ($near:ident $far:ident $distance:ident) $line:expr;)*) => {$(
        impl Number for $t {
            fn from($n: i64) -> Self { $from }
            fn negated(self) -> Self { let $a = self; $negated }
            fn line($near: Self, $far: Self, $distance: i64) -> Self { $line }
        }
    )*};
}

numbers! {
    f64, n => n as f64 / 7.0, a -a, (near far distance) near + distance as f64 * (near - far);
    f32, n => n as f32 / 7.0, a -a, (near far distance) near + distance as f32 * (near - far);
    i32, n => (n as i32).wrapping_mul(1_000_003), a a.wrapping_neg(),
        (near far distance) near.wrapping_add((distance as i32).wrapping_mul(near.wrapping_sub(far)));
    i64, n => n.wrapping_mul(1 << 52 | 77), a a.wrapping_neg(),
        (near far distance) near.wrapping_add(distance.wrapping_mul(near.wrapping_sub(far)));
    i16, n => (n as i16).wrapping_mul(1_003), a a.wrapping_neg(),
        (near far distance) near.wrapping_add((distance as i16).wrapping_mul(near.wrapping_sub(far)));
    u8, n => n as u8, a a.wrapping_neg(),
        (near far distance) near.wrapping_add((distance as u8).wrapping_mul(near.wrapping_sub(far)));
}

/// What every cell, ghost or not, is to hold after a fill.
struct Model<'a, T, const D: usize> {
    shape: [usize; D],
    cells: [usize; D],
    centering: [Centering; D],
    boundary: [[Boundary<T>; 2]; D],
    valid: &'a dyn Fn([i64; D]) -> T,
    /// What the ghost of the region with the nearest value held before.
    before: &'a dyn Fn([i64; D]) -> T,
}

impl<T: Number, const D: usize> Model<'_, T, D> {
    fn value(&self, cell: [i64; D]) -> T {
        let outside = (0..D).find(|d| cell[*d] < 0 || cell[*d] >= self.shape[*d] as i64);
        let Some(axis) = outside else { return (self.valid)(cell) };
        let low = cell[axis] < 0;
        let last = self.shape[axis] as i64 - 1;
        let put = |x: i64| {
            let mut cell = cell;
            cell[axis] = if low { x } else { last - x };
            self.value(cell)
        };
        let distance = if low { -cell[axis] } else { cell[axis] - last };
        let mirror = if self.centering[axis] == Centering::Cell { distance - 1 } else { distance };
        match self.boundary[axis][!low as usize] {
            Boundary::Periodic => {
                let mut cell = cell;
                cell[axis] += self.cells[axis] as i64 * if low { 1 } else { -1 };
                self.value(cell)
            }
            Boundary::Fixed(v) => v,
            Boundary::ReflectEven => put(mirror),
            Boundary::ReflectOdd => put(mirror).negated(),
            Boundary::Extrapolate(0) => put(0),
            Boundary::Extrapolate(_) => T::line(put(0), put(1), distance),
            Boundary::Open => (self.before)(cell),
            _ => panic!("the oracle does not know this boundary"),
        }
    }
}

fn cells<const D: usize>(b: GridBox<D>) -> Vec<[i64; D]> {
    let mut all = vec![[0; D]];
    for d in 0..D {
        all = all
            .into_iter()
            .flat_map(|at| {
                (b.lo[d]..b.hi[d]).map(move |x| {
                    let mut at = at;
                    at[d] = x;
                    at
                })
            })
            .collect();
    }
    all
}

fn index<const D: usize>(b: GridBox<D>, at: [i64; D]) -> IxDyn {
    IxDyn(&std::array::from_fn::<usize, D, _>(|d| (at[d] - b.lo[d]) as usize))
}

/// One value for each cell.
fn hash<const D: usize>(at: [i64; D], salt: i64) -> i64 {
    at.iter().fold(salt, |h, x| (h.wrapping_mul(31).wrapping_add(x + 17)) % 100_003)
}

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 4],
    regions: [usize; 4],
    ghost: [[usize; 2]; 4],
    faces: [bool; 4],
    kinds: [[u8; 2]; 4],
    salt: i64,
}

fn case() -> impl Strategy<Value = Case> {
    (any::<[u8; 4]>(), any::<[u8; 4]>(), any::<[[u8; 2]; 4]>(), any::<[bool; 4]>(), any::<[[u8; 2]; 4]>(), 0i64..1000)
        .prop_map(|(s, r, g, faces, kinds, salt)| Case {
            shape: s.map(|s| s as usize),
            regions: r.map(|r| r as usize),
            ghost: g.map(|g| g.map(|g| g as usize % 4)),
            faces,
            kinds: kinds.map(|k| k.map(|k| k % 7)),
            salt,
        })
}

fn check<T: Number, const D: usize>(case: &Case)
where
    Dim<[usize; D]>: Dimension,
{
    let acc = acc();
    let shape: [usize; D] = std::array::from_fn(|d| {
        1 + case.shape[d]
            % if d + 1 < D {
                6
            } else if D == 4 {
                70
            } else {
                150
            }
    });
    let regions: [usize; D] = std::array::from_fn(|d| {
        let most = if d + 1 < D { shape[d] } else { shape[d].div_ceil(64) };
        1 + case.regions[d] % most
    });
    let thinnest = TileArray::<u8, D>::builder(shape).regions(regions).build(&acc).unwrap();
    let thinnest: [usize; D] = std::array::from_fn(|d| {
        (0..thinnest.regions()).map(|r| thinnest.region_box(r).unwrap().extent()[d]).min().unwrap()
    });
    let ghost: [[usize; 2]; D] = std::array::from_fn(|d| case.ghost[d].map(|g| g.min(thinnest[d])));
    let centering: [Centering; D] =
        std::array::from_fn(|d| if case.faces[d] { Centering::Face } else { Centering::Cell });
    let boundary: [[Boundary<T>; 2]; D] = std::array::from_fn(|d| {
        let kinds = case.kinds[d];
        std::array::from_fn(|side| match if kinds[0] == 0 { 0 } else { kinds[side] } {
            0 if kinds[0] == 0 => Boundary::Periodic,
            0 | 1 => Boundary::Fixed(T::from(case.salt + 10 * d as i64 + side as i64)),
            2 => Boundary::ReflectEven,
            3 => Boundary::ReflectOdd,
            4 => Boundary::Extrapolate(0),
            5 if shape[d] > 1 => Boundary::Extrapolate(1),
            _ => Boundary::Open,
        })
    });
    let mut builder = TileArray::<T, D>::builder(shape).regions(regions).ghost(ghost).centering(centering);
    for (d, [low, high]) in boundary.into_iter().enumerate() {
        builder = builder.boundary_face(d, Side::Low, low).boundary_face(d, Side::High, high);
    }
    let mut u = builder.build(&acc).unwrap();
    let poison = |region: usize, at: [i64; D]| T::from(hash(at, -1 - region as i64));
    for r in 0..u.regions() {
        let b = u.grown_box(r).unwrap();
        u.with_grown_region_mut(r, |v| {
            let mut v = v.into_dyn();
            cells(b).into_iter().for_each(|at| v[index(b, at)] = poison(r, at));
        })
        .unwrap();
    }
    let domain = u.domain();
    let boxes: Vec<_> = (0..u.regions()).map(|r| u.region_box(r).unwrap()).collect();
    let before = |at: [i64; D]| {
        let near = std::array::from_fn(|d| at[d].clamp(0, domain.hi[d] - 1));
        let owner = boxes.iter().position(|b| b.contains(near)).unwrap();
        poison(owner, at)
    };
    // Twice: the second time fixed ghosts are already there.
    for salt in [case.salt, case.salt + 1] {
        let valid = |at: [i64; D]| T::from(hash(at, salt));
        u.fill(|at| valid(at.map(|x| x as i64))).unwrap();
        u.fill_ghosts().unwrap();
        let model = Model { shape: u.shape(), cells: shape, centering, boundary, valid: &valid, before: &before };
        for r in 0..u.regions() {
            let b = u.grown_box(r).unwrap();
            u.with_grown_region(r, |v| {
                let v = v.into_dyn();
                for at in cells(b) {
                    let (seen, wanted) = (v[index(b, at)], model.value(at));
                    assert_eq!(seen, wanted, "region {r} of {regions:?} at {at:?}, shape {shape:?}, {boundary:?}");
                }
            })
            .unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ghosts_are_what_they_are_defined_to_be(case in case()) {
        check::<f64, 1>(&case);
        check::<f64, 2>(&case);
        check::<f64, 3>(&case);
        check::<f64, 4>(&case);
        check::<u8, 2>(&case);
        check::<i16, 2>(&case);
        check::<i32, 3>(&case);
        check::<f32, 1>(&case);
        check::<i64, 1>(&case);
    }
}

#[test]
fn edges_and_corners_belong_to_the_first_axis() {
    let acc = acc();
    let mut u = TileArray::<f64, 2>::builder([2, 3])
        .ghost(1)
        .boundary_axis(0, Boundary::Fixed(7.0))
        .boundary_axis(1, Boundary::ReflectOdd)
        .build(&acc)
        .unwrap();
    u.fill(|[j, i]| (10 * j + i) as f64).unwrap();
    u.fill_ghosts().unwrap();
    let expected = ndarray::array![
        [7.0, 7.0, 7.0, 7.0, 7.0],
        [-0.0, 0.0, 1.0, 2.0, -2.0],
        [-10.0, 10.0, 11.0, 12.0, -12.0],
        [7.0, 7.0, 7.0, 7.0, 7.0],
    ];
    u.with_grown_region(0, |v| assert_eq!(v, expected)).unwrap();
}

#[test]
fn fixed_ghosts_written_over_are_put_back() {
    let acc = acc();
    let mut u = TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Fixed(1.0)).build(&acc).unwrap();
    u.fill_ghosts().unwrap();
    u.with_grown_region_mut(0, |mut v| v.fill(3.0)).unwrap();
    u.fill_ghosts().unwrap();
    u.with_grown_region(0, |v| assert_eq!(v.to_vec(), [1.0, 3.0, 3.0, 3.0, 3.0, 1.0])).unwrap();
    let copy = u.clone();
    copy.with_grown_region(0, |v| assert_eq!(v.to_vec(), [1.0, 3.0, 3.0, 3.0, 3.0, 1.0])).unwrap();
    let mut like = u.like().unwrap();
    like.fill_ghosts().unwrap();
    like.with_grown_region(0, |v| assert_eq!(v.to_vec(), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0])).unwrap();
}

#[test]
fn several_arrays_in_one_call() {
    let acc = acc();
    let build = || TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Periodic).build(&acc).unwrap();
    let mut all = [build(), build(), build()];
    let mut bytes = TileArray::<u8, 2>::builder([2, 2]).ghost(1).boundary(Boundary::Fixed(9)).build(&acc).unwrap();
    all.iter_mut().for_each(|u| u.fill(|[i]| i as f64).unwrap());
    let [a, b, c] = &mut all;
    tida::fill_ghosts((&mut *a, &mut bytes)).unwrap();
    tida::fill_ghosts([b, c]).unwrap();
    for u in &all {
        u.with_grown_region(0, |v| assert_eq!(v.to_vec(), [3.0, 0.0, 1.0, 2.0, 3.0, 0.0])).unwrap();
    }
    bytes.with_grown_region(0, |v| assert_eq!(v[[0, 0]], 9)).unwrap();
    let mut far = TileArray::<f64, 1>::builder([4]).build(&self::acc()).unwrap();
    let e = tida::fill_ghosts((&mut all[0], &mut far)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Argument);
}

#[test]
fn every_component_is_filled() {
    let acc = acc();
    let mut u = TileArray::<[i32; 2], 1>::builder([130])
        .regions([2])
        .ghost(1)
        .boundary_face(0, Side::Low, Boundary::ReflectOdd)
        .boundary_face(0, Side::High, Boundary::Fixed([5, 6]))
        .build(&acc)
        .unwrap();
    u.fill(|[i]| [i as i32 + 1, 2 * i as i32 + 1]).unwrap();
    u.fill_ghosts().unwrap();
    let ends =
        |region, component| u.with_grown_component::<i32, _>(region, component, |v| (v[0], v[v.len() - 1])).unwrap();
    assert_eq!([ends(0, 0), ends(0, 1)], [(-1, 65), (-1, 129)]);
    // Several places cut it finer.
    let last = u.regions() - 1;
    let before = u.region_box(last).unwrap().lo[0] as i32;
    assert_eq!([ends(last, 0), ends(last, 1)], [(before, 5), (2 * before - 1, 6)]);
}
