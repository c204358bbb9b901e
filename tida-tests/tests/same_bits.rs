//! Sweeps give the bits of plain loops, for any cut, tile, thread count, look-ahead, boundary and centring.
#![cfg(feature = "ndarray")]

use ndarray::{Dim, Dimension, IxDyn};
use proptest::prelude::*;
use tida::array::Side;
use tida::prelude::*;

/// The sweep that is written for each number of axes.
trait Blend<const D: usize>: Real {
    /// Records a weighted sum over the neighbours, corners included.
    fn blend(tile: &Tile<D>, next: &mut TileArray<Self, D>, u: &TileArray<Self, D>, w: [Self; 27]) -> tida::Result<()>;
}

impl<T: Real> Blend<1> for T {
    fn blend(tile: &Tile<1>, next: &mut TileArray<T, 1>, u: &TileArray<T, 1>, w: [T; 27]) -> tida::Result<()> {
        compute(
            tile,
            (next, u),
            kernel!(T; |next, u, at| {
                let mut sum = 0.0;
                for i in -1..=1 {
                    sum += w[(i + 1) as usize] * u[at + [i]];
                }
                next[at] = sum;
            }),
        )
    }
}

impl<T: Real> Blend<2> for T {
    fn blend(tile: &Tile<2>, next: &mut TileArray<T, 2>, u: &TileArray<T, 2>, w: [T; 27]) -> tida::Result<()> {
        compute(
            tile,
            (next, u),
            kernel!(T; |next, u, at| {
                let mut sum = 0.0;
                for j in -1..=1 {
                    for i in -1..=1 {
                        sum += w[(3 * j + i + 4) as usize] * u[at + [j, i]];
                    }
                }
                next[at] = sum;
            }),
        )
    }
}

impl<T: Real> Blend<3> for T {
    fn blend(tile: &Tile<3>, next: &mut TileArray<T, 3>, u: &TileArray<T, 3>, w: [T; 27]) -> tida::Result<()> {
        compute(
            tile,
            (next, u),
            kernel!(T; |next, u, at| {
                let mut sum = 0.0;
                for k in -1..=1 {
                    for j in -1..=1 {
                        for i in -1..=1 {
                            sum += w[(9 * k + 3 * j + i + 13) as usize] * u[at + [k, j, i]];
                        }
                    }
                }
                next[at] = sum;
            }),
        )
    }
}

impl<T: Real> Blend<4> for T {
    fn blend(tile: &Tile<4>, next: &mut TileArray<T, 4>, u: &TileArray<T, 4>, w: [T; 27]) -> tida::Result<()> {
        compute(
            tile,
            (next, u),
            kernel!(T; |next, u, at| {
                let mut sum = 0.0;
                for k in -1..=1 {
                    for j in -1..=1 {
                        for i in -1..=1 {
                            sum += w[(9 * k + 3 * j + i + 13) as usize] * u[at + [k, 0 - k, j, i]];
                        }
                    }
                }
                next[at] = sum;
            }),
        )
    }
}

/// Records the heat stencil over a tile.
fn heat<T: Real, const D: usize>(
    tile: &Tile<D>,
    next: &mut TileArray<T, D>,
    u: &TileArray<T, D>,
    alpha: T,
) -> tida::Result<()> {
    compute(
        tile,
        (next, u),
        kernel!(T; |next, u, at| {
            let mut sum = -2.0 * D as T * u[at];
            for d in 0..D {
                sum += u[at + unit(d)] + u[at - unit(d)];
            }
            next[at] = u[at] + alpha * sum;
        }),
    )
}

/// A field with its boundary, the plain way.
#[derive(Clone)]
struct Plain<T, const D: usize> {
    shape: [usize; D],
    cells: [usize; D],
    centering: [Centering; D],
    boundary: [[Boundary<T>; 2]; D],
    values: Vec<T>,
}

/// What an open ghost holds.
fn open<T: Blend<D>, const D: usize>(at: [i64; D]) -> T {
    T::of(at.iter().fold(0.3, |x, i| (x * 7.7 + 1.3 * *i as f64).sin()))
}

impl<T: Blend<D>, const D: usize> Plain<T, D> {
    fn domain(&self) -> GridBox<D> {
        GridBox::new([0; D], self.shape.map(|n| n as i64))
    }

    fn position(&self, at: [i64; D]) -> usize {
        (0..D).fold(0, |n, d| n * self.shape[d] + at[d] as usize)
    }

    /// The value of a cell or a ghost. Most of the test's time passes here, and nothing is optimised: so no closures.
    fn value(&self, at: [i64; D]) -> T {
        let (mut position, mut d) = (0, 0);
        while d < D {
            if at[d] < 0 || at[d] >= self.shape[d] as i64 {
                return self.ghost(at, d);
            }
            position = position * self.shape[d] + at[d] as usize;
            d += 1;
        }
        self.values[position]
    }

    /// The value of a ghost, outside along this axis, by the definition of the boundaries.
    fn ghost(&self, at: [i64; D], axis: usize) -> T {
        let last = self.shape[axis] as i64 - 1;
        let low = at[axis] < 0;
        let distance = if low { -at[axis] } else { at[axis] - last };
        let moved = |to: i64| {
            let mut at = at;
            at[axis] = to;
            self.value(at)
        };
        let inwards = |n: i64| moved(if low { n } else { last - n });
        let mirror = if self.centering[axis] == Centering::Cell { distance - 1 } else { distance };
        let period = self.cells[axis] as i64;
        match self.boundary[axis][!low as usize] {
            Boundary::Periodic => moved(if low { at[axis] + period } else { at[axis] - period }),
            Boundary::Fixed(value) => value,
            Boundary::ReflectEven => inwards(mirror),
            Boundary::ReflectOdd => -inwards(mirror),
            Boundary::Extrapolate(0) => inwards(0),
            Boundary::Extrapolate(_) => inwards(0) + T::of(distance as f64) * (inwards(0) - inwards(1)),
            Boundary::Open => open(at),
            _ => panic!("the oracle does not know this boundary"),
        }
    }
}

/// One stencil at one cell, in the order of the kernels.
fn stencil<T: Blend<D>, const D: usize>(case: &Sweep<T>, u: &dyn Fn([i64; D]) -> T, at: [i64; D]) -> T {
    let moved = |by: [i64; D]| {
        let (mut to, mut d) = (at, 0);
        while d < D {
            to[d] += by[d];
            d += 1;
        }
        u(to)
    };
    if let Sweep::Heat(alpha) = case {
        let unit = |axis: usize, n: i64| std::array::from_fn(|d| if d == axis { n } else { 0 });
        let c = u(at);
        let mut sum = T::of(-2.0 * D as f64) * c;
        for axis in 0..D {
            sum += moved(unit(axis, 1)) + moved(unit(axis, -1));
        }
        return c + *alpha * sum;
    }
    let Sweep::Blend(weights) = case else { unreachable!() };
    let mut sum = T::ZERO;
    for (n, weight) in weights.iter().take(3usize.pow(D.min(3) as u32)).enumerate() {
        let digits = [n % 3, n / 3 % 3, n / 9].map(|digit| digit as i64 - 1);
        let (mut by, mut d) = ([0; D], 0);
        while d < D {
            by[d] = match (D, d) {
                (4, 0) => digits[2],
                (4, 1) => -digits[2],
                _ => digits[D - 1 - d],
            };
            d += 1;
        }
        sum += *weight * moved(by);
    }
    sum
}

enum Sweep<T> {
    Heat(T),
    Blend([T; 27]),
}

/// What one step does.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// All cells.
    All,
    /// A box of cells; the others keep their values of two steps ago.
    Within([[u8; 2]; 4]),
    /// Two steps with one filling of ghosts: the first over tiles grown by a ghost cell.
    Grown,
}

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 4],
    regions: [usize; 4],
    ghost: [[usize; 2]; 4],
    faces: [bool; 4],
    kinds: [[u8; 2]; 4],
    tile: [usize; 4],
    threads: usize,
    look_ahead: usize,
    blend: bool,
    steps: Vec<Step>,
    salt: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let step =
        || prop_oneof![2 => Just(Step::All), 1 => any::<[[u8; 2]; 4]>().prop_map(Step::Within), 1 => Just(Step::Grown)];
    let geometry =
        (any::<[u8; 4]>(), any::<[u8; 4]>(), any::<[[u8; 2]; 4]>(), any::<[bool; 4]>(), any::<[[u8; 2]; 4]>());
    let tile = proptest::array::uniform4(prop_oneof![Just(0usize), 1usize..6, 20usize..90]);
    let run = (tile, 1usize..5, 1usize..6, any::<bool>(), proptest::collection::vec(step(), 1..5), any::<u64>());
    (geometry, run).prop_map(|((s, r, g, faces, kinds), (tile, threads, look_ahead, blend, steps, salt))| Case {
        shape: s.map(usize::from),
        regions: r.map(usize::from),
        ghost: g.map(|g| g.map(|g| 1 + g as usize % 3)),
        faces,
        kinds: kinds.map(|k| k.map(|k| k % 7)),
        tile,
        threads,
        look_ahead,
        blend,
        steps,
        salt,
    })
}

fn noise(salt: u64, n: usize) -> f64 {
    let z = (salt ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn cells<const D: usize>(b: GridBox<D>) -> Vec<[i64; D]> {
    let mut all = vec![[0; D]];
    for d in 0..D {
        let along = |at: [i64; D]| {
            (b.lo[d]..b.hi[d]).map(move |x| {
                let mut at = at;
                at[d] = x;
                at
            })
        };
        all = all.into_iter().flat_map(along).collect();
    }
    all
}

fn index<const D: usize>(b: GridBox<D>, at: [i64; D]) -> IxDyn {
    IxDyn(&std::array::from_fn::<usize, D, _>(|d| (at[d] - b.lo[d]) as usize))
}

/// Puts NaN into every ghost that a filling decides; behind an open face, the values that belong there.
fn poison<T: Blend<D>, const D: usize>(u: &mut TileArray<T, D>)
where
    Dim<[usize; D]>: Dimension,
{
    let any_open = u.boundaries().iter().flatten().any(|b| matches!(b, Boundary::Open));
    let domain = u.domain();
    for region in 0..u.regions() {
        let (valid, held) = (u.region_box(region).unwrap(), u.grown_box(region).unwrap());
        u.with_grown_region_mut(region, |view| {
            let mut view = view.into_dyn();
            for at in cells(held).into_iter().filter(|at| !valid.contains(*at)) {
                let left_to_user = any_open && !domain.contains(at);
                view[index(held, at)] = if left_to_user { open(at) } else { T::of(f64::NAN) };
            }
        })
        .unwrap();
    }
}

fn check<T: Blend<D>, const D: usize>(case: &Case)
where
    Dim<[usize; D]>: Dimension,
{
    let acc = TileAcc::builder().threads(case.threads).look_ahead(case.look_ahead).build().unwrap();
    // Two steps with one filling need two ghost cells.
    let grown = case.steps.iter().any(|step| matches!(step, Step::Grown));
    let least = 1 + grown as usize;
    let shape: [usize; D] = std::array::from_fn(|d| {
        least
            + match (D, d + 1 == D) {
                (1, _) => case.shape[d] * 2,
                (_, true) => case.shape[d] % if D < 4 { 150 } else { 70 },
                (4, _) => case.shape[d] % 4,
                _ => case.shape[d] % 8,
            }
    });
    let regions: [usize; D] = std::array::from_fn(|d| {
        let most = if d + 1 < D { shape[d] / if grown { 2 } else { 1 } } else { shape[d].div_ceil(64) };
        1 + case.regions[d] % most.clamp(1, 4)
    });
    let probe = TileArray::<u8, D>::builder(shape).regions(regions).build(&acc).unwrap();
    let thinnest = |d: usize| (0..probe.regions()).map(|r| probe.region_box(r).unwrap().extent()[d]).min().unwrap();
    let ghost: [[usize; 2]; D] = std::array::from_fn(|d| case.ghost[d].map(|g| g.max(least).min(thinnest(d))));
    let centering: [Centering; D] =
        std::array::from_fn(|d| if case.faces[d] { Centering::Face } else { Centering::Cell });
    let boundary: [[Boundary<T>; 2]; D] = std::array::from_fn(|d| {
        let kinds = case.kinds[d];
        kinds.map(|kind| match kind {
            _ if kinds[0] == 0 => Boundary::Periodic,
            0 | 1 => Boundary::Fixed(T::of(noise(case.salt, d))),
            2 => Boundary::ReflectEven,
            3 => Boundary::ReflectOdd,
            4 => Boundary::Extrapolate(0),
            5 if shape[d] > 1 => Boundary::Extrapolate(1),
            _ => Boundary::Open,
        })
    });
    let mut builder = TileArray::<T, D>::builder(shape).regions(regions).ghost(ghost).centering(centering);
    for (axis, [low, high]) in boundary.into_iter().enumerate() {
        builder = builder.boundary_face(axis, Side::Low, low).boundary_face(axis, Side::High, high);
    }
    let mut u = builder.build(&acc).unwrap();
    let mut next = u.like().unwrap();
    let start = |salt: u64| -> Plain<T, D> {
        let count: usize = u.shape().iter().product();
        let values = (0..count).map(|n| T::of(noise(salt, n))).collect();
        Plain { shape: u.shape(), cells: shape, centering, boundary, values }
    };
    let (mut old, mut new) = (start(case.salt), start(case.salt ^ 0xff));
    let domain = old.domain();
    for (array, plain) in [(&mut u, &old), (&mut next, &new)] {
        array.fill(|at| plain.value(at.map(|x| x as i64))).unwrap();
        poison(array);
    }
    let sweep = match case.blend {
        true => {
            let points = 3usize.pow(D.min(3) as u32);
            let raw: Vec<f64> = (0..points).map(|n| 1.01 + noise(case.salt ^ 77, n)).collect();
            let total: f64 = raw.iter().sum();
            Sweep::Blend(std::array::from_fn(|n| T::of(raw.get(n).map_or(0.0, |w| w / total))))
        }
        false => Sweep::Heat(T::of(0.24 / D as f64)),
    };
    let run = |tiles: TileIter<D>, next: &mut TileArray<T, D>, u: &TileArray<T, D>| {
        let size = std::array::from_fn(|d| if case.tile[d] == 0 { usize::MAX } else { case.tile[d] });
        for tile in tiles.tile_size(size) {
            match &sweep {
                Sweep::Heat(alpha) => heat(&tile, next, u, *alpha).unwrap(),
                Sweep::Blend(weights) => T::blend(&tile, next, u, *weights).unwrap(),
            }
        }
    };
    let deep = ghost.iter().flatten().all(|g| *g > 1);
    for step in &case.steps {
        u.fill_ghosts().unwrap();
        let before = old.clone();
        match step {
            Step::Grown if deep => {
                run(next.tiles().grown(1), &mut next, &u);
                next.allow_stale_ghosts();
                run(u.tiles(), &mut u, &next);
                let grown = GridBox::new(domain.lo.map(|x| x - 1), domain.hi.map(|x| x + 1));
                let extent = grown.extent();
                let middle: Vec<T> =
                    cells(grown).into_iter().map(|at| stencil(&sweep, &|at| before.value(at), at)).collect();
                let between = |at: [i64; D]| {
                    let (mut n, mut d) = (0, 0);
                    while d < D {
                        n = n * extent[d] + (at[d] - grown.lo[d]) as usize;
                        d += 1;
                    }
                    middle[n]
                };
                for at in cells(domain) {
                    let n = old.position(at);
                    new.values[n] = between(at);
                    old.values[n] = stencil(&sweep, &between, at);
                }
                // Ghosts behind open faces were computed too: back to what the user keeps there.
                poison(&mut next);
                continue;
            }
            Step::Within(ends) => {
                let end = |d: usize, side: usize| (ends[d][side] as usize % (shape[d] + 1)) as i64;
                let part = GridBox::new(
                    std::array::from_fn(|d| end(d, 0).min(end(d, 1))),
                    std::array::from_fn(|d| end(d, 0).max(end(d, 1))),
                );
                run(next.tiles().within(part.lo, part.hi), &mut next, &u);
                for at in cells(part.intersect(&domain)) {
                    let n = new.position(at);
                    new.values[n] = stencil(&sweep, &|at| before.value(at), at);
                }
            }
            _ => {
                run(next.tiles(), &mut next, &u);
                for at in cells(domain) {
                    let n = new.position(at);
                    new.values[n] = stencil(&sweep, &|at| before.value(at), at);
                }
            }
        }
        std::mem::swap(&mut u, &mut next);
        std::mem::swap(&mut old, &mut new);
    }
    let bits = |values: &[T]| values.iter().map(|v| v.bits()).collect::<Vec<_>>();
    assert!(old.values.iter().all(|v| v.partial_cmp(v).is_some()), "NaN in the plain loops");
    assert_eq!(bits(&u.read_box(domain).unwrap()), bits(&old.values), "{case:?}");
    assert_eq!(bits(&next.read_box(domain).unwrap()), bits(&new.values), "{case:?}");
    u.fill_ghosts().unwrap();
    for region in 0..u.regions() {
        let held = u.grown_box(region).unwrap();
        u.with_grown_region(region, |view| {
            let view = view.into_dyn();
            for at in cells(held) {
                assert_eq!(view[index(held, at)].bits(), old.value(at).bits(), "region {region} at {at:?}, {case:?}");
            }
        })
        .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_axis(case in case()) {
        check::<f64, 1>(&case);
        check::<f32, 1>(&case);
    }

    #[test]
    fn two_axes(case in case()) {
        check::<f64, 2>(&case);
        check::<f32, 2>(&case);
    }

    #[test]
    fn three_axes(case in case()) {
        check::<f64, 3>(&case);
        check::<f32, 3>(&case);
    }

    #[test]
    fn four_axes(case in case()) {
        check::<f64, 4>(&case);
        check::<f32, 4>(&case);
    }
}
