//! Sweeps with an order and sweeps over colours on a device, as a share of the speed of a copy.
//!
//! Thomas' algorithm and sums along each axis, of many lines and of few, ADI over three axes, a scan of one line,
//! red-black relaxation in two and three axes. Results are compared with those of the CPU on few cells first. Bytes
//! count each array once for each sweep that touches it: a colour's sweep moves the cells of the other colour too.
//!
//! `TIDA_DEVICE` chooses the device. `-- NAME ..` chooses cases.

use std::process::ExitCode;
use std::time::Instant;

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::thomas::{implicit, implicit_in_place};

/// Times that a case is timed; the median counts.
const ROUNDS: usize = 7;
/// Runs of a case that are timed at once.
const RUNS: usize = 4;

/// A number in `0..1` for each place.
fn random(place: usize) -> f64 {
    (place as u64 * 2_654_435_761 % 1000) as f64 * 1e-3
}

/// A number for each cell of a shape.
fn noise<const D: usize>(shape: [usize; D]) -> impl Fn([usize; D]) -> f64 + Copy + Send + Sync {
    move |at| random(at.iter().zip(shape).fold(0, |place, (n, extent)| place * extent + n))
}

/// So many cells in three axes.
fn cube(n: usize) -> [usize; 3] {
    [n; 3]
}

/// About as many in two.
fn square(n: usize) -> [usize; 2] {
    [(n as f64).powf(1.5) as usize / 32 * 32; 2]
}

/// About as many in few lines along an axis.
fn few<const AXIS: usize>(n: usize) -> [usize; 3] {
    let across = n / 7;
    let mut shape = [across; 3];
    shape[AXIS] = n * n * n / across / across;
    shape
}

/// What runs, and gives its result if it is asked to.
type Run = Box<dyn FnMut(bool) -> tida::Result<Vec<f64>>>;

/// A name, and a program over so many cells an axis.
type Case = (&'static str, fn(&TileAcc, usize) -> tida::Result<(usize, Run)>);

macro_rules! of_type {
    ($t:ident: $copy:ident $thomas:ident $adi:ident $sums:ident $line:ident $sor:ident $cube:ident) => {
        fn $copy(acc: &TileAcc, n: usize) -> tida::Result<(usize, Run)> {
            let mut u = TileArray::<$t, 3>::builder([n; 3]).build(acc)?;
            u.fill(|[k, j, i]| random((k * n + j) * n + i) as $t)?;
            let mut to = u.like()?;
            let run = move |reads: bool| {
                for tile in TileIter::new(&u) {
                    compute(&tile, (&mut to, &u), kernel!(|to, u, at| to[at] = u[at]))?;
                }
                if reads { Ok(to.read_box(to.domain())?.iter().map(|x| f64::from(*x)).collect()) } else { Ok(vec![]) }
            };
            Ok((2 * n * n * n * size_of::<$t>(), Box::new(run)))
        }

        /// What is solved for has so many ghosts.
        fn $thomas<const D: usize, const AXIS: usize>(
            acc: &TileAcc,
            shape: [usize; D],
            ghost: usize,
        ) -> tida::Result<(usize, Run)> {
            let mut u = TileArray::<$t, D>::builder(shape).ghost(ghost).build(acc)?;
            let noise = noise(shape);
            u.fill(|at| noise(at) as $t)?;
            let build = || TileArray::<$t, D>::builder(shape).ghost(1).build(acc);
            let (mut c, mut d, mut x) = (build()?, build()?, build()?);
            c.fill_value(0.0)?;
            d.fill_value(0.0)?;
            let run = move |reads: bool| {
                implicit::<$t, D, AXIS>(&mut x, &u, [&mut c, &mut d], 0.3)?;
                if reads { Ok(x.read_box(x.domain())?.iter().map(|x| f64::from(*x)).collect()) } else { Ok(vec![]) }
            };
            Ok((6 * shape.iter().product::<usize>() * size_of::<$t>(), Box::new(run)))
        }

        /// A step of heat, implicit along one axis after the other.
        fn $adi(acc: &TileAcc, n: usize) -> tida::Result<(usize, Run)> {
            let build = || TileArray::<$t, 3>::builder([n; 3]).ghost(1).build(acc);
            let (mut u, mut c, mut d) = (build()?, build()?, build()?);
            let noise = noise([n; 3]);
            u.fill(|at| noise(at) as $t)?;
            c.fill_value(0.0)?;
            d.fill_value(0.0)?;
            let run = move |reads: bool| {
                implicit_in_place::<$t, 3, 0>(&mut u, [&mut c, &mut d], 0.3)?;
                implicit_in_place::<$t, 3, 1>(&mut u, [&mut c, &mut d], 0.3)?;
                implicit_in_place::<$t, 3, 2>(&mut u, [&mut c, &mut d], 0.3)?;
                if reads { Ok(u.read_box(u.domain())?.iter().map(|x| f64::from(*x)).collect()) } else { Ok(vec![]) }
            };
            Ok((18 * n * n * n * size_of::<$t>(), Box::new(run)))
        }

        fn $sums<const D: usize, const AXIS: usize>(acc: &TileAcc, shape: [usize; D]) -> tida::Result<(usize, Run)> {
            let mut u = TileArray::<$t, D>::builder(shape).build(acc)?;
            let noise = noise(shape);
            u.fill(|at| noise(at) as $t)?;
            let mut sum = TileArray::<$t, D>::builder(shape).ghost(1).build(acc)?;
            let run = move |reads: bool| {
                sweep_along(
                    AXIS,
                    Forward,
                    u.tiles(),
                    (&mut sum, &u),
                    kernel!(|sum, u, at| sum[at] = u[at] + sum[at - unit(AXIS)]),
                )?;
                if reads { Ok(sum.read_box(sum.domain())?.iter().map(|x| f64::from(*x)).collect()) } else { Ok(vec![]) }
            };
            Ok((2 * shape.iter().product::<usize>() * size_of::<$t>(), Box::new(run)))
        }

        /// All cells as one line.
        fn $line(acc: &TileAcc, n: usize) -> tida::Result<(usize, Run)> {
            let n = n * n * n;
            let mut u = TileArray::<$t, 1>::builder([n]).build(acc)?;
            u.fill(|[i]| random(i) as $t)?;
            let mut sum = u.like()?;
            let run = move |reads: bool| {
                scan(Sum, Scan::Inclusive, &mut sum, &u)?;
                if reads { Ok(sum.read_box(sum.domain())?.iter().map(|x| f64::from(*x)).collect()) } else { Ok(vec![]) }
            };
            Ok((2 * n * size_of::<$t>(), Box::new(run)))
        }

        fn $sor(acc: &TileAcc, n: usize) -> tida::Result<(usize, Run)> {
            let n = (n as f64).powf(1.5) as usize / 32 * 32;
            let omega: $t = 1.5;
            let (mut u, mut f) = (TileArray::builder([n, n]).build(acc)?, TileArray::builder([n, n]).build(acc)?);
            u.fill(|[j, i]| random(j * n + i) as $t)?;
            f.fill(|[j, i]| random(i * n + j) as $t)?;
            let run = move |reads: bool| {
                for colour in [0, 1] {
                    sweep_colour(
                        Colour::red_black(colour),
                        u.tiles().within([1, 1], [n as i64 - 1; 2]),
                        (&mut u, &f),
                        kernel!(|u, f, at| {
                            let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                            u[at] += omega * (0.25 * (around + f[at]) - u[at]);
                        }),
                    )?;
                }
                if reads {
                    Ok(u.read_box(u.domain())?.iter().map(|x: &$t| f64::from(*x)).collect())
                } else {
                    Ok(vec![])
                }
            };
            Ok((6 * n * n * size_of::<$t>(), Box::new(run)))
        }

        fn $cube(acc: &TileAcc, n: usize) -> tida::Result<(usize, Run)> {
            let omega: $t = 1.5;
            let (mut u, mut f) = (TileArray::builder([n; 3]).build(acc)?, TileArray::builder([n; 3]).build(acc)?);
            u.fill(|[k, j, i]| random((k * n + j) * n + i) as $t)?;
            f.fill(|[k, j, i]| random((i * n + j) * n + k) as $t)?;
            let run = move |reads: bool| {
                for colour in [0, 1] {
                    sweep_colour(
                        Colour::red_black(colour),
                        u.tiles().within([1; 3], [n as i64 - 1; 3]),
                        (&mut u, &f),
                        kernel!(|u, f, at| {
                            let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                                + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                                + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                            u[at] += omega * ((around + f[at]) / 6.0 - u[at]);
                        }),
                    )?;
                }
                if reads {
                    Ok(u.read_box(u.domain())?.iter().map(|x: &$t| f64::from(*x)).collect())
                } else {
                    Ok(vec![])
                }
            };
            Ok((6 * n * n * n * size_of::<$t>(), Box::new(run)))
        }
    };
}

of_type!(f64: copy_f64 thomas_f64 adi_f64 sums_f64 line_f64 sor_f64 cube_f64);
of_type!(f32: copy_f32 thomas_f32 adi_f32 sums_f32 line_f32 sor_f32 cube_f32);

/// The copies come first: the others are shares of the one of their type.
const CASES: [Case; 34] = [
    ("copy f64", copy_f64),
    ("thomas f64, axis 0 of 3", |acc, n| thomas_f64::<3, 0>(acc, cube(n), 0)),
    ("thomas f64, axis 1 of 3", |acc, n| thomas_f64::<3, 1>(acc, cube(n), 0)),
    ("thomas f64, axis 2 of 3", |acc, n| thomas_f64::<3, 2>(acc, cube(n), 0)),
    ("adi f64, 3-D", adi_f64),
    ("sums f64, axis 0 of 3", |acc, n| sums_f64::<3, 0>(acc, cube(n))),
    ("sums f64, axis 1 of 3", |acc, n| sums_f64::<3, 1>(acc, cube(n))),
    ("sums f64, axis 2 of 3", |acc, n| sums_f64::<3, 2>(acc, cube(n))),
    ("sums f64, axis 0 of 2", |acc, n| sums_f64::<2, 0>(acc, square(n))),
    ("sums f64, axis 1 of 2", |acc, n| sums_f64::<2, 1>(acc, square(n))),
    ("thomas f64, axis 0 of 2", |acc, n| thomas_f64::<2, 0>(acc, square(n), 1)),
    ("thomas f64, axis 1 of 2", |acc, n| thomas_f64::<2, 1>(acc, square(n), 1)),
    ("few f64, axis 0 of 3", |acc, n| sums_f64::<3, 0>(acc, few::<0>(n))),
    ("few f64, axis 2 of 3", |acc, n| sums_f64::<3, 2>(acc, few::<2>(n))),
    ("scan f64", line_f64),
    ("sor f64, 2-D", sor_f64),
    ("sor f64, 3-D", cube_f64),
    ("copy f32", copy_f32),
    ("thomas f32, axis 0 of 3", |acc, n| thomas_f32::<3, 0>(acc, cube(n), 0)),
    ("thomas f32, axis 1 of 3", |acc, n| thomas_f32::<3, 1>(acc, cube(n), 0)),
    ("thomas f32, axis 2 of 3", |acc, n| thomas_f32::<3, 2>(acc, cube(n), 0)),
    ("adi f32, 3-D", adi_f32),
    ("sums f32, axis 0 of 3", |acc, n| sums_f32::<3, 0>(acc, cube(n))),
    ("sums f32, axis 1 of 3", |acc, n| sums_f32::<3, 1>(acc, cube(n))),
    ("sums f32, axis 2 of 3", |acc, n| sums_f32::<3, 2>(acc, cube(n))),
    ("sums f32, axis 0 of 2", |acc, n| sums_f32::<2, 0>(acc, square(n))),
    ("sums f32, axis 1 of 2", |acc, n| sums_f32::<2, 1>(acc, square(n))),
    ("thomas f32, axis 0 of 2", |acc, n| thomas_f32::<2, 0>(acc, square(n), 1)),
    ("thomas f32, axis 1 of 2", |acc, n| thomas_f32::<2, 1>(acc, square(n), 1)),
    ("few f32, axis 0 of 3", |acc, n| sums_f32::<3, 0>(acc, few::<0>(n))),
    ("few f32, axis 2 of 3", |acc, n| sums_f32::<3, 2>(acc, few::<2>(n))),
    ("scan f32", line_f32),
    ("sor f32, 2-D", sor_f32),
    ("sor f32, 3-D", cube_f32),
];

/// Cells along an axis that are compared, and timed on a GPU or elsewhere.
const FEW: usize = 40;
const MANY: [usize; 2] = [448, 96];

fn run() -> Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|part| name.contains(part.as_str()));
    let acc = TileAcc::builder().compile(tida::Compile::Wait).build()?;
    let host = TileAcc::builder().device(Device::Cpu).build()?;
    let n = if acc.device() == Device::Cuda { MANY[0] } else { MANY[1] };
    println!("{} cells an axis of three; GB/s, and the share of a copy's", n);
    let mut copied = 1.0;
    for (name, case) in CASES {
        let is_copy = name.starts_with("copy");
        if !wanted(name) && !is_copy {
            continue;
        }
        let of = |acc: &TileAcc| -> tida::Result<Vec<f64>> {
            let (_, mut run) = case(acc, FEW)?;
            run(false)?;
            run(true)
        };
        if of(&acc)? != of(&host)? {
            Err(format!("{name}: tried to compare with the CPU; found other values; nothing is timed"))?;
        }
        let (bytes, mut run) = case(&acc, n)?;
        run(false)?;
        acc.sync()?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..RUNS {
                run(false)?;
            }
            acc.sync()?;
            times.push(start.elapsed().as_secs_f64() / RUNS as f64);
        }
        times.sort_by(f64::total_cmp);
        let speed = bytes as f64 / times[ROUNDS / 2] * 1e-9;
        if is_copy {
            copied = speed;
        }
        println!("{name:<26} {speed:>8.0} {:>6.2}", speed / copied);
    }
    Ok(())
}

fn main() -> ExitCode {
    tida_suite::exit(run())
}
