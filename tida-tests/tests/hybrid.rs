//! Loops that run on the CPU and a device at once: the bits of the CPU, both sides at work by their speeds, and only
//! strips over the link.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one; speeds are those of simulated ones.
#![cfg(feature = "ndarray")]

use std::time::Instant;

use tida::acc::{Span, SpanKind};
use tida::prelude::*;
use tida::{Error, ErrorKind, Math, SimDevice, Sum, reduce};

use tida_tests::{on_a_device, on_cpu, value};

fn simulated(device: SimDevice) -> TileAcc {
    TileAcc::builder().threads(2).simulate(device).build().unwrap()
}

/// Steps of a kernel that reads from all sides, corners too, on both sides at once.
struct Heat {
    boundary: Boundary<f64>,
    regions: [usize; 3],
    steps: usize,
}

fn run(acc: &TileAcc, heat: &Heat) -> Vec<Vec<u64>> {
    let builder = TileArray::<f64, 3>::builder([24, 12, 20]).regions(heat.regions).ghost(1).boundary(heat.boundary);
    let mut u = builder.build(acc).unwrap();
    let mut next = u.like().unwrap();
    u.fill(|at| value(5, at)).unwrap();
    next.fill(|at| value(6, at)).unwrap();
    for _ in 0..heat.steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u).device(Device::Hybrid) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    let far = u[at + [1, 1, 1]] - u[at - [1, 1, 1]] + u[at + [1, 0, -1]] - u[at + [0, -1, 1]];
                    next[at] = 0.5 * u[at] + 0.125 * near + 0.01 * far;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    let bits = |u: &TileArray<f64, 3>| u.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect();
    vec![vec![sum.to_bits()], bits(&u), bits(&next)]
}

#[track_caller]
fn same(acc: &TileAcc, heat: &Heat) {
    let (found, expected) = (run(acc, heat), run(&on_cpu(), heat));
    for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let first = found.iter().zip(expected).position(|(a, b)| a != b);
        let Heat { boundary, regions, steps } = heat;
        assert_eq!(first, None, "the first value of result {n} that differs, {boundary:?}, {regions:?}, {steps} steps");
    }
}

#[test]
fn heat_has_the_bits_of_the_cpu_at_all_boundaries() {
    let all = [
        Boundary::Periodic,
        Boundary::Fixed(1.5),
        Boundary::ReflectEven,
        Boundary::ReflectOdd,
        Boundary::Extrapolate(0),
        Boundary::Extrapolate(1),
    ];
    for boundary in all {
        // Regions of one plane too: there values are made of others on both sides.
        for regions in [[6, 1, 1], [2, 2, 1], [24, 1, 1], [1, 1, 1]] {
            let Some(acc) = on_a_device(TileAcc::builder()) else { return };
            same(&acc, &Heat { boundary, regions, steps: 8 });
        }
    }
}

#[test]
fn arrays_that_do_not_fit_stream() {
    let heat = Heat { boundary: Boundary::Fixed(1.0), regions: [4, 1, 1], steps: 12 };
    let plane = 14 * 32 * 8;
    let Some(acc) = on_a_device(TileAcc::builder().memory_limit(2 * 14 * plane)) else { return };
    same(&acc, &heat);
    assert!(acc.stats().passes > 0);
}

#[test]
fn elements_of_several_components_cross_the_link() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<[f32; 3], 2>::builder([40, 130]).regions([4, 2]).ghost(2);
        let mut u = builder.boundary(Boundary::Periodic).build(acc).unwrap();
        u.fill(|[j, i]| [j as f32, i as f32, (i * j) as f32 / 7.0]).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..6 {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u).device(Device::Hybrid) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        next[at][0] = 0.5 * (u[at + [2, 0]][1] + u[at - [2, 1]][2]);
                        next[at][1] = 0.25 * (u[at + [1, 2]][2] - u[at - [0, 2]][0]);
                        next[at][2] = 0.75 * u[at - [1, 1]][0];
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap().into_iter().flatten().map(f32::to_bits).collect::<Vec<_>>()
    };
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
}

const REGIONS: usize = 16;
const CELLS: usize = 1 << 15;

/// One loop of a kernel that works on each cell alone.
fn work(u: &mut TileArray<f64, 1>) {
    for tile in TileIter::new(u).device(Device::Hybrid) {
        compute(
            &tile,
            &mut *u,
            kernel!(|u, at| {
                let mut x = u[at];
                for _ in 0..20 {
                    x = 0.5 * x + 1.0;
                }
                u[at] = x;
            }),
        )
        .unwrap();
    }
}

/// How many regions the device of so many cells a second has in the last of many loops.
fn regions_of(cells_per_second: f64) -> usize {
    let acc = simulated(SimDevice::new().kernels(cells_per_second, 0.0));
    let mut u = TileArray::<f64, 1>::builder([CELLS]).regions([REGIONS]).build(&acc).unwrap();
    for _ in 0..20 {
        work(&mut u);
        acc.sync().unwrap();
    }
    let before = acc.simulated().unwrap().cells;
    work(&mut u);
    acc.sync().unwrap();
    (acc.simulated().unwrap().cells - before) as usize / (CELLS / REGIONS)
}

/// Cells a second of the kernel on this machine.
fn speed_here() -> f64 {
    let acc = on_cpu();
    let mut u = TileArray::<f64, 1>::builder([CELLS]).regions([REGIONS]).build(&acc).unwrap();
    let loops = |u: &mut TileArray<f64, 1>| {
        let start = Instant::now();
        (0..10).for_each(|_| {
            work(u);
            acc.sync().unwrap();
        });
        start.elapsed().as_secs_f64()
    };
    loops(&mut u);
    10.0 * CELLS as f64 / loops(&mut u)
}

#[test]
fn the_faster_side_has_more_regions() {
    let mut tried = Vec::new();
    // The machine may be busy with other things too.
    for _ in 0..5 {
        let here = speed_here();
        let shares = [here / 1e4, here / 3.0, here, here * 3.0, here * 1e4].map(regions_of);
        let [slowest, slower, as_fast, faster, fastest] = shares;
        println!("{here:e} cells a second here: {shares:?} of {REGIONS} regions on devices of other speeds");
        let in_order = slowest <= slower && slower <= as_fast && as_fast <= faster && faster <= fastest;
        if in_order && slowest <= 1 && fastest >= REGIONS - 1 && (2..REGIONS - 1).contains(&as_fast) {
            return;
        }
        tried.push(shares);
    }
    panic!("of {REGIONS} regions, on devices from slow to fast: {tried:?}");
}

const ROWS: usize = 256;
const COLUMNS: usize = 2048;

/// An array and a loop that takes some steps of the heat equation on it.
fn heat_in_2d(acc: &TileAcc) -> impl FnMut(u64) + '_ {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions([8, 1]).ghost(1);
    let mut u = builder.boundary(Boundary::Fixed(1.0)).build(acc).unwrap();
    u.fill(|[j, i]| value(3, [j, i, 0])).unwrap();
    let mut next = u.like().unwrap();
    move |steps| {
        for _ in 0..steps {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u).device(Device::Hybrid) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let near = u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                        next[at] = u[at] + 0.1 * (near - 4.0 * u[at]);
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        acc.sync().unwrap();
    }
}

#[test]
fn in_the_steady_state_only_strips_move() {
    const STEPS: u64 = 10;
    let cpu = on_cpu();
    let mut run = heat_in_2d(&cpu);
    run(STEPS);
    let start = Instant::now();
    run(STEPS);
    let speed = (STEPS as usize * ROWS * COLUMNS) as f64 / start.elapsed().as_secs_f64();
    let acc = simulated(SimDevice::new().kernels(speed, 0.0));
    let mut run = heat_in_2d(&acc);
    let mut moved = || {
        let before = acc.stats();
        run(STEPS);
        let after = acc.stats();
        (after.h2d_bytes - before.h2d_bytes, after.d2h_bytes - before.d2h_bytes)
    };
    // A row each way and step. On a busy machine the border moves at times.
    let strips = STEPS * (COLUMNS * 8) as u64;
    let mut all = Vec::new();
    for _ in 0..200 {
        all.push(moved());
        if all.len() >= 3 && all[all.len() - 3..].iter().all(|moved| *moved == (strips, strips)) {
            return println!(
                "{strips} bytes each way in {STEPS} steps, after {} of them",
                (all.len() as u64 - 3) * STEPS
            );
        }
    }
    panic!("never three times in a row {strips} each way: {all:?}");
}

/// Length of what spans of both lists have in common.
fn common(a: &[&Span], b: &[&Span]) -> f64 {
    let both = |a: &Span, b: &Span| (a.end.min(b.end) - a.start.max(b.start)).max(0.0);
    a.iter().map(|a| b.iter().map(|b| both(a, b)).sum::<f64>()).sum()
}

#[test]
fn both_sides_of_a_loop_run_at_once() {
    let mut tried = Vec::new();
    for _ in 0..10 {
        let Some(acc) = on_a_device(TileAcc::builder().timeline(true)) else { return };
        if acc.device() == Device::Sim {
            // Its clock is not the host's.
            return;
        }
        let mut u = TileArray::<f64, 1>::builder([16 * CELLS]).regions([REGIONS]).build(&acc).unwrap();
        // So few that the device is not yet left alone, if it is much faster.
        for _ in 0..5 {
            work(&mut u);
            // So spans that overlap are of one loop.
            acc.sync().unwrap();
        }
        let timeline = acc.timeline().unwrap();
        let of = |kind| timeline.spans().iter().filter(|span| span.kind == kind).collect::<Vec<_>>();
        let (host, device) = (of(SpanKind::Cpu), of(SpanKind::Kernel));
        assert!(host.len() >= 3 && device.len() >= 3, "{host:?} {device:?}");
        assert!(host.iter().chain(&device).all(|span| span.name.starts_with("hybrid.rs:")), "{host:?} {device:?}");
        let length = |spans: &[&Span]| spans.iter().map(|span| span.end - span.start).sum::<f64>();
        let part = common(&host, &device) / length(&host).min(length(&device));
        tried.push(part);
        if part > 0.3 {
            return println!("{part:.2} of the shorter side's time is beside the other one");
        }
    }
    panic!("parts of the shorter side's time beside the other one: {tried:?}");
}

#[test]
fn an_accelerator_may_be_hybrid_by_itself() {
    let acc = TileAcc::builder().device(Device::Hybrid).threads(2).simulate(SimDevice::new()).build().unwrap();
    assert_eq!(acc.device(), Device::Sim);
    let mut u = TileArray::<f64, 1>::builder([1024]).regions([4]).build(&acc).unwrap();
    let cells = |u: &mut TileArray<f64, 1>, tiles: TileIter<1>| {
        let before = acc.simulated().unwrap().cells;
        for tile in tiles {
            compute(&tile, &mut *u, kernel!(|u, at| u[at] += at[0] as f64)).unwrap();
        }
        acc.sync().unwrap();
        acc.simulated().unwrap().cells - before
    };
    // The first loop leaves one region to the CPU.
    let tiles = TileIter::new(&u);
    assert_eq!(cells(&mut u, tiles.clone()), 768);
    assert_eq!(cells(&mut u, tiles.clone().device(Device::Sim)), 1024);
    assert_eq!(cells(&mut u, tiles.clone().device(Device::Cpu)), 0);
    assert_eq!(u.read_box(u.domain()).unwrap(), (0..1024).map(|n| 3.0 * n as f64).collect::<Vec<_>>());
    // One region has one side.
    let mut v = TileArray::<f64, 1>::builder([1024]).build(&acc).unwrap();
    let tiles = TileIter::new(&v);
    assert_eq!(cells(&mut v, tiles), 1024);
}

#[test]
fn without_a_device_all_runs_on_the_cpu() {
    let acc = on_cpu();
    let mut u = TileArray::<f64, 1>::builder([256]).regions([4]).build(&acc).unwrap();
    for tile in TileIter::new(&u).device(Device::Hybrid) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = (at[0] as f64).sin())).unwrap();
    }
    assert_eq!(u.read_box(u.domain()).unwrap(), (0..256).map(|n| (n as f64).sin()).collect::<Vec<_>>());
}

#[test]
fn functions_of_each_sides_own_are_refused() {
    let sines = |acc: &TileAcc, device: Option<Device>| -> Result<(), Error> {
        let mut u = TileArray::<f64, 1>::builder([256]).regions([4]).build(acc).unwrap();
        let tiles = TileIter::new(&u);
        for tile in device.map_or(tiles.clone(), |device| tiles.device(device)) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = (at[0] as f64).sin()))?;
        }
        acc.sync()
    };
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let refused = sines(&acc, Some(Device::Hybrid));
    if acc.device() == Device::Sim {
        // It runs what the host runs.
        return refused.unwrap();
    }
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.tried().contains("hybrid.rs") && error.tried().contains("at once"), "{error}");
    assert!(error.found().contains("`sin`") && error.advice().contains("Device::Cpu"), "{error}");
    sines(&acc, None).unwrap();
    // Who has given equal bits up may.
    let Some(fast) = on_a_device(TileAcc::builder().math(Math::Fast)) else { return };
    sines(&fast, Some(Device::Hybrid)).unwrap();
}

#[test]
fn failures_on_either_side_come_out() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    for zero in [3, 250] {
        let mut u = TileArray::<i32, 1>::builder([256]).regions([4]).build(&acc).unwrap();
        u.fill(|[i]| if i == zero { 0 } else { 1 }).unwrap();
        let mut next = u.like().unwrap();
        for tile in TileIter::new(&u).device(Device::Hybrid) {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 5 / u[at])).unwrap();
        }
        assert_eq!(next.read_box(next.domain()).unwrap_err().kind(), ErrorKind::Division);
        acc.sync().unwrap();
        assert!(u.read_box(u.domain()).is_ok());
    }
}
