//! Sweeps that read the same arrays run as one, with the bits that they have by themselves.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::acc::{Compile, TileAccBuilder};
use tida::prelude::*;
use tida_tests::{on_a_device, unhurried, value};

type Plane = TileArray<f64, 2>;
type Bits = Vec<Vec<u64>>;

fn bits(arrays: &[Plane]) -> Bits {
    arrays.iter().map(|array| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()).collect()
}

/// So many arrays in regions, with random values.
fn planes(acc: &TileAcc, shape: [usize; 2], regions: [usize; 2], count: u64) -> Vec<Plane> {
    let build = |n| {
        let builder = TileArray::builder(shape).ghost(1).regions(regions).boundary(Boundary::Periodic);
        let mut array = builder.build(acc).unwrap();
        array.fill(|[j, i]| value(n, [0, j, i])).unwrap();
        array
    };
    (0..count).map(build).collect()
}

/// What a step does: each kernel writes an array of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    /// Differences of two arrays.
    Along,
    /// Differences of one of them and another one, changed in place where it is.
    InPlace,
    /// Values by a branch, from a captured one.
    Branch,
    /// The coordinates, and two arrays at the cell.
    Coordinates,
}

const ALL: [Kernel; 4] = [Kernel::Along, Kernel::InPlace, Kernel::Branch, Kernel::Coordinates];

/// Records the kernel over the tiles of a size, whatever is recorded between.
fn record(kernel: Kernel, tile: &Tile<2>, out: &mut Plane, [a, b]: [&Plane; 2], c: f64) -> tida::Result<()> {
    match kernel {
        Kernel::Along => compute(
            tile,
            (out, a, b),
            kernel!(|out, a, b, at| {
                let d = a[at + [0, 1]] - a[at - [0, 1]];
                out[at] = d * c + b[at + [1, 0]];
            }),
        ),
        Kernel::InPlace => compute(
            tile,
            (a, out, b),
            kernel!(|a, out, b, at| {
                let d = a[at + [1, 0]] - a[at - [1, 0]];
                out[at] += 0.1 * d + b[at];
            }),
        ),
        Kernel::Branch => compute(
            tile,
            (out, a),
            kernel!(|next, a, at| {
                let d = if a[at] > c { a[at - [1, 1]] } else { -a[at + [1, 1]] };
                next[at] = 0.5 * d;
            }),
        ),
        Kernel::Coordinates => compute(
            tile,
            (b, a, out),
            kernel!(|a, d, out, at| {
                out[at] = a[at] * d[at] + c * (at[0] - at[1]) as f64;
            }),
        ),
    }
}

/// Steps of these kernels, one loop after the other or in one; the arrays after them.
fn program(
    acc: &TileAcc,
    (shape, regions): ([usize; 2], [usize; 2]),
    (kernels, in_one): (&[Kernel], bool),
    steps: usize,
) -> tida::Result<Bits> {
    let mut read = planes(acc, shape, regions, 2);
    let mut written = planes(acc, shape, regions, kernels.len() as u64);
    for step in 0..steps {
        read.iter_mut().try_for_each(TileArray::fill_ghosts)?;
        let c = 0.3 + 0.1 * step as f64;
        let two = [&read[0], &read[1]];
        let tiles = || TileIter::new(two[0]).tile_size([5, 40]);
        if in_one {
            for tile in tiles() {
                for (kernel, out) in kernels.iter().zip(&mut written) {
                    record(*kernel, &tile, out, two, c)?;
                }
            }
        } else {
            for (kernel, out) in kernels.iter().zip(&mut written) {
                tiles().try_for_each(|tile| record(*kernel, &tile, out, two, c))?;
            }
        }
        std::mem::swap(&mut read[step % 2], &mut written[0]);
    }
    let (a, b) = (bits(&read), bits(&written));
    acc.sync()?;
    Ok([a, b].concat())
}

/// Compares with sweeps by themselves on the CPU; gives what was counted.
fn check(
    builder: TileAccBuilder,
    on_device: bool,
    place: ([usize; 2], [usize; 2]),
    how: (&[Kernel], bool),
    steps: usize,
) -> Option<tida::acc::Stats> {
    let case = format!("{builder:?}, {place:?}, {how:?}");
    let acc = match on_device {
        true => on_a_device(builder)?,
        false => builder.device(Device::Cpu).threads(2).build().unwrap(),
    };
    let alone = TileAcc::builder().device(Device::Cpu).threads(2).join(false).build().unwrap();
    let expected = program(&alone, place, how, steps).unwrap();
    assert_eq!(alone.stats().joined, 0);
    let found = program(&acc, place, how, steps).unwrap();
    for (number, (a, b)) in found.iter().zip(&expected).enumerate() {
        let first = a.iter().zip(b).position(|(a, b)| a != b);
        assert_eq!((first, a.len()), (None, b.len()), "array {number}: {case}");
    }
    Some(acc.stats())
}

#[test]
fn sweeps_of_the_same_arrays_are_one() {
    use self::Kernel::*;
    let steps = 4;
    for on_device in [false, true] {
        for regions in [[1, 1], [3, 1], [2, 2]] {
            for in_one in [false, true] {
                for kernels in [&[Along, Branch][..], &[InPlace, Coordinates], &ALL] {
                    let how = (kernels, in_one);
                    let run = |join| check(unhurried().join(join), on_device, ([23, 131], regions), how, steps);
                    let (Some(one), Some(apart)) = (run(true), run(false)) else { return };
                    let expected = (kernels.len() - 1) * steps;
                    assert_eq!((one.joined, apart.joined), (expected as u64, 0), "{on_device}, {regions:?}, {how:?}");
                    assert_eq!(apart.launches - one.launches, if on_device { one.joined } else { 0 });
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn any_kernels_give_the_same_bits(
        shape in [4usize..40, 128usize..150],
        regions in [1usize..4, 1usize..3],
        kernels in proptest::collection::vec(0usize..4, 2..5),
        (in_one, steps, on_device) in (any::<bool>(), 1usize..4, any::<bool>()),
    ) {
        let kernels: Vec<Kernel> = kernels.into_iter().map(|n| ALL[n]).collect();
        check(TileAcc::builder().compile(Compile::Beside), on_device, (shape, regions), (&kernels, in_one), steps);
    }
}

/// Two loops that are recorded one after the other.
struct Two {
    acc: TileAcc,
    a: Plane,
    x: Plane,
    y: Plane,
}

impl Two {
    fn new(acc: TileAcc) -> Two {
        let [a, x, y] = planes(&acc, [20, 140], [2, 1], 3).try_into().unwrap();
        Two { acc, a, x, y }
    }

    /// Inner cells.
    fn inner(&self) -> TileIter<2> {
        TileIter::new(&self.a).within([2, 2], [18, 130])
    }

    fn x_from_a(&mut self, tiles: TileIter<2>) {
        for tile in tiles {
            compute(&tile, (&mut self.x, &self.a), kernel!(|x, a, at| x[at] = a[at - [0, 1]] + a[at])).unwrap();
        }
    }

    fn y_from_a(&mut self, tiles: TileIter<2>) {
        for tile in tiles {
            compute(&tile, (&mut self.y, &self.a), kernel!(|y, a, at| y[at] = a[at + [1, 0]] - a[at])).unwrap();
        }
    }
}

type Pairs = (&'static str, u64, fn(&mut Two));

/// Pairs of sweeps, and how many of them run as one with the one before.
const PAIRS: [Pairs; 11] = [
    ("both read one array", 1, |two| {
        two.x_from_a(two.inner());
        two.y_from_a(two.inner());
    }),
    ("the second reads what the first writes, beside the cell", 0, |two| {
        two.x_from_a(two.inner());
        for tile in two.inner() {
            let arrays = (&mut two.y, &two.x, &two.a);
            compute(&tile, arrays, kernel!(|y, x, a, at| y[at] = x[at + [0, 1]] + a[at])).unwrap();
        }
    }),
    ("the second reads what the first writes, at the cell", 0, |two| {
        two.x_from_a(two.inner());
        for tile in two.inner() {
            compute(&tile, (&mut two.y, &two.x, &two.a), kernel!(|y, x, a, at| y[at] = x[at] + a[at])).unwrap();
        }
    }),
    ("the second writes what the first reads", 0, |two| {
        for tile in two.inner() {
            compute(&tile, (&mut two.x, &two.y, &two.a), kernel!(|x, y, a, at| x[at] = y[at + [0, 1]] - a[at]))
                .unwrap();
        }
        two.y_from_a(two.inner());
    }),
    ("both write one array", 0, |two| {
        two.x_from_a(two.inner());
        for tile in two.inner() {
            compute(&tile, (&mut two.x, &two.a), kernel!(|x, a, at| x[at] += a[at + [0, 1]])).unwrap();
        }
    }),
    ("other boxes", 0, |two| {
        two.x_from_a(two.inner());
        two.y_from_a(TileIter::new(&two.a).within([3, 2], [18, 130]));
    }),
    ("fewer regions", 0, |two| {
        two.x_from_a(two.inner());
        two.y_from_a(TileIter::new(&two.a).within([2, 2], [9, 130]));
    }),
    ("nothing in common", 0, |two| {
        two.x_from_a(two.inner());
        for tile in two.inner() {
            compute(&tile, &mut two.y, kernel!(|y, at| y[at] = 2.0 * y[at])).unwrap();
        }
    }),
    ("a read that is checked", 0, |two| {
        two.x_from_a(two.inner());
        for tile in two.inner() {
            compute(
                &tile,
                (&mut two.y, &two.a),
                kernel!(|y, a, at| y[at] = a[[at[0], (a[at] * 2.0) as i64 + 3]] + a[at]),
            )
            .unwrap();
        }
    }),
    ("blocks that were asked for", 0, |two| {
        two.x_from_a(two.inner());
        two.y_from_a(two.inner().thread_block([2, 32]));
    }),
    ("something between", 0, |two| {
        two.x_from_a(two.inner());
        let sum: f64 = reduce(&two.a, Sum, kernel!(|a, at| a[at])).unwrap();
        assert!(sum > 0.0);
        two.y_from_a(two.inner());
    }),
];

#[test]
fn sweeps_that_need_one_another_run_by_themselves() {
    let accelerators = |join| {
        let cpu = unhurried().join(join).device(Device::Cpu).threads(2).build().unwrap();
        [Some(cpu), on_a_device(unhurried().join(join))]
    };
    for (what, joined, run) in PAIRS {
        let of = |acc: Option<TileAcc>| {
            let mut two = Two::new(acc?);
            for array in [&mut two.a, &mut two.x, &mut two.y] {
                array.fill_ghosts().unwrap();
            }
            run(&mut two);
            let bits = bits(&[two.x, two.y]);
            two.acc.sync().unwrap();
            Some((bits, two.acc.stats().joined))
        };
        let alone = of(accelerators(false).into_iter().next().unwrap()).unwrap();
        assert_eq!(alone.1, 0, "{what}");
        for found in accelerators(true).into_iter().filter_map(of) {
            assert_eq!(found, (alone.0.clone(), joined), "{what}");
        }
    }
}

#[test]
fn each_sweep_fails_for_itself() {
    let cpu = unhurried().device(Device::Cpu).threads(2).build().unwrap();
    for (acc, is_cpu) in [(Some(cpu), true), (on_a_device(unhurried()), false)] {
        let Some(acc) = acc else { return };
        let mut a = TileArray::<i32, 2>::builder([90, 300]).build(&acc).unwrap();
        a.fill(|[j, i]| i32::from(j * 300 + i != 12345 && j * 300 + i != 17000)).unwrap();
        let (mut x, mut y, mut z) = (a.like().unwrap(), a.like().unwrap(), a.like().unwrap());
        let (mut first, mut second) = (0, 0);
        for tile in TileIter::new(&a) {
            first = line!() + 1;
            compute(&tile, (&mut x, &a), kernel!(|x, a, at| x[at] = 7 / a[at])).unwrap();
            compute(&tile, (&mut y, &a), kernel!(|y, a, at| y[at] = 7 + a[at])).unwrap();
            second = line!() + 1;
            compute(&tile, (&mut z, &a), kernel!(|z, a, at| z[at] = [3, 4][(2 - 2 * a[at]) as usize])).unwrap();
        }
        // Each by its own cells; what did not fail is there.
        assert_eq!(y.read_box(GridBox::new([41, 45], [41 + 1, 45 + 1])).unwrap(), [7]);
        let fails = |array: &TileArray<i32, 2>, kind, line: u32| {
            let error = array.to_ndarray().unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(&format!("join.rs:{line}")), "{error}");
        };
        fails(&x, ErrorKind::Division, first);
        fails(&z, ErrorKind::OutOfRange, second);
        assert_eq!(acc.stats().joined, if is_cpu { 2 } else { 0 });
        // What reads what failed fails, and what runs with it does not.
        let (mut p, mut q) = (a.like().unwrap(), a.like().unwrap());
        for tile in TileIter::new(&a) {
            compute(&tile, (&mut p, &a, &x), kernel!(|p, a, x, at| p[at] = a[at] + x[at])).unwrap();
            compute(&tile, (&mut q, &a, &y), kernel!(|q, a, y, at| q[at] = a[at] + y[at])).unwrap();
        }
        fails(&p, ErrorKind::Division, first);
        assert_eq!(q.read_box(GridBox::new([0, 0], [1, 2])).unwrap(), [9, 9]);
    }
}
