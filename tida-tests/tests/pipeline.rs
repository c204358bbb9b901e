//! The pipeline on a simulated device: how long runs take beside what no order of work can beat, what moves over the
//! link, and what failures leave.
//!
//! Planes are rows of 2-D arrays, so that ghosts and padding are a small part of what moves. Where only time and bytes
//! count, the device is a null one: host memory is never touched but at ghosts.
#![cfg(feature = "ndarray")]

use std::time::Duration;

use tida::prelude::*;
use tida::{Fuse, SimDevice, SimReport, Stats};

const PLANES: usize = 1024;
/// Cells of a plane.
const ROW: usize = 1 << 17;
const PLANE_BYTES: f64 = (ROW * 8) as f64;

/// Speeds of the device, in planes: what a plane of [`ROW`] cells takes is what one of 1024² cells takes on an H200
/// with a kernel that is `slower` times as slow as the fastest.
#[derive(Clone, Copy, Debug)]
struct Speeds {
    upload: f64,
    download: f64,
    kernels: f64,
}

const LATENCY: f64 = 8e-6;

impl Speeds {
    fn new(upload: f64, download: f64, slower: f64) -> Speeds {
        Speeds { upload: 55.5e9 / 8.0 * upload, download: 55.5e9 / 8.0 * download, kernels: 200e9 / 8.0 / slower }
    }

    fn device(self) -> SimDevice {
        let device = SimDevice::new().upload(self.upload, LATENCY).download(self.download, LATENCY);
        device.kernels(self.kernels, 2.5e-6).memory(4 << 30).null()
    }

    /// What no order of work can beat: of arrays that go up and come down once, after so many steps, each of which
    /// needs planes `halo` away.
    fn bound(self, arrays_up: usize, arrays_down: usize, steps: usize, halo: usize) -> f64 {
        let up = |planes: usize| planes as f64 * PLANE_BYTES / self.upload;
        let down = |planes: usize| planes as f64 * PLANE_BYTES / self.download;
        let kernels = |planes: usize| (planes * ROW) as f64 / self.kernels;
        // Planes on each side that the last value of a plane depends on, and that depend on the first of it.
        let cone = steps * halo + 1;
        let bounds = [
            LATENCY + up(1) + kernels(steps * PLANES) + LATENCY + down(1),
            LATENCY + up(arrays_up * PLANES) + kernels(steps) + LATENCY + down(cone),
            LATENCY + up(cone) + kernels(steps) + LATENCY + down(arrays_down * PLANES),
        ];
        bounds.into_iter().fold(0.0, f64::max)
    }

    /// The same of heat between two arrays whose first and last planes are neighbours, both wanted in the end: all
    /// planes depend on planes on both sides. The one that is left by the last step but one depends on fewer.
    fn bound_of_a_ring(self, steps: usize) -> f64 {
        let up = |planes: usize| planes as f64 * PLANE_BYTES / self.upload;
        let down = |planes: usize| planes as f64 * PLANE_BYTES / self.download;
        let kernels = |planes: usize| (planes * ROW) as f64 / self.kernels;
        let cone = 2 * (steps - 1) + 1;
        let bounds = [
            LATENCY + up(3) + kernels(steps * PLANES) + LATENCY + down(1),
            LATENCY + up(PLANES) + kernels(steps - 1) + LATENCY + down(cone),
            LATENCY + up(cone) + kernels(steps - 1) + LATENCY + down(2 * PLANES),
        ];
        bounds.into_iter().fold(0.0, f64::max)
    }
}

/// An array of zeros that the host has touched: it moves.
fn array(acc: &TileAcc, planes: usize, row: usize, ghost: usize) -> TileArray<f64, 2> {
    array_between(Boundary::Fixed(0.0), acc, planes, row, ghost)
}

fn array_between(ends: Boundary<f64>, acc: &TileAcc, planes: usize, row: usize, ghost: usize) -> TileArray<f64, 2> {
    let builder = TileArray::<f64, 2>::builder([planes, row]).regions([4, 1]).ghost(ghost);
    let mut u = builder.boundary(Boundary::Fixed(0.0)).boundary_axis(0, ends).build(acc).unwrap();
    for region in 0..u.regions() {
        let lo = u.region_box(region).unwrap().lo;
        u.write_box(GridBox::new(lo, [lo[0] + 1, 1]), &[1.0]).unwrap();
    }
    u
}

fn heat(acc: &TileAcc, u: &mut TileArray<f64, 2>, next: &mut TileArray<f64, 2>, steps: usize) {
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(|next, u, at| {
                    let near = u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                    next[at] = u[at] + 0.1 * (near - 4.0 * u[at]);
                }),
            )
            .unwrap();
        }
        std::mem::swap(u, next);
    }
    acc.sync().unwrap();
}

fn sincos(acc: &TileAcc, u: &mut TileArray<f64, 2>, steps: usize) {
    for _ in 0..steps {
        for tile in TileIter::new(u) {
            compute(&tile, &mut *u, kernel!(|u, at| u[at] += (u[at].sin().powi(2) + u[at].cos().powi(2)).sqrt()))
                .unwrap();
        }
    }
    acc.sync().unwrap();
}

/// What a run with a window of so many planes of each array does, in one chain, one step a launch, however busy this
/// machine is.
fn in_one_chain(device: SimDevice, limit: u64, passes: u64, program: impl Fn(&TileAcc)) -> (SimReport, Stats) {
    one_chain(Fuse::Off, device, limit, passes, program)
}

/// The same with steps that may run as one launch.
fn one_chain(fuse: Fuse, device: SimDevice, limit: u64, passes: u64, program: impl Fn(&TileAcc)) -> (SimReport, Stats) {
    let builder = TileAcc::builder().threads(1).simulate(device).memory_limit(limit).fuse(fuse);
    let acc = builder.patience(Duration::from_secs(600)).build().unwrap();
    program(&acc);
    let ran = (acc.simulated().unwrap(), acc.stats());
    assert_eq!(ran.1.passes, passes, "{:?}", ran.1);
    ran
}

fn limit(arrays: usize, planes: usize, row: usize) -> u64 {
    (arrays * planes * (row + 32) * 8) as u64
}

fn near_the_bound(name: &str, ran: (SimReport, Stats), bound: f64) {
    let ratio = ran.0.makespan / bound;
    println!("{name}: {ratio:.4} x {bound:.4} s, {:?}", ran.0);
    assert!(ratio >= 1.0, "{name}: the bound {bound} is none: {:?}", ran.0);
    assert!(ratio <= 1.05, "{name}: {ratio} times the bound {bound}: {:?}, {}", ran.0, ran.1);
}

#[test]
fn heat_runs_as_fast_as_its_bound() {
    for window in [PLANES / 4, PLANES / 8] {
        let run = |name: &str, speeds: Speeds, steps: usize| {
            let ran = in_one_chain(speeds.device(), limit(2, window, ROW), 1, |acc| {
                let mut u = array(acc, PLANES, ROW, 1);
                let mut next = u.like().unwrap();
                heat(acc, &mut u, &mut next, steps);
            });
            // Both arrays are wanted in the end.
            near_the_bound(&format!("heat, {name}, {window} planes"), ran, speeds.bound(1, 2, steps, 1));
        };
        run("bound by the link", Speeds::new(1.0, 1.0, 1.0), 4);
        run("bound by uploads", Speeds::new(0.25, 1.0, 1.0), 4);
        run("bound by kernels", Speeds::new(1.0, 1.0, 8.0), 16);
        // A plane goes up in as long as two come down, and as eight steps of it take.
        run("balanced", Speeds::new(0.5, 1.0, 2.0 * 8.0 * 200.0 / 55.5 / 8.0), 8);
        run("balanced, many steps", Speeds::new(0.5, 1.0, 2.0 * 8.0 * 200.0 / 55.5 / 16.0), 16);
    }
}

/// The first planes come and go twice, once for the steps that start early. Passes do not wait for one another.
#[test]
fn heat_of_a_ring_runs_as_fast_as_its_bound() {
    for window in [PLANES / 4, PLANES / 8] {
        let run = |name: &str, speeds: Speeds, steps: usize, passes: u64| {
            let ran = in_one_chain(speeds.device(), limit(2, window, ROW), passes, |acc| {
                let mut u = array_between(Boundary::Periodic, acc, PLANES, ROW, 1);
                let mut next = u.like().unwrap();
                heat(acc, &mut u, &mut next, steps);
            });
            near_the_bound(&format!("heat of a ring, {name}, {window} planes"), ran, speeds.bound_of_a_ring(steps));
        };
        run("bound by the link", Speeds::new(1.0, 1.0, 1.0), 4, 1);
        run("bound by uploads", Speeds::new(0.25, 1.0, 1.0), 4, 1);
        run("bound by kernels", Speeds::new(1.0, 1.0, 8.0), 16, 1);
        run("balanced", Speeds::new(0.5, 1.0, 2.0 * 8.0 * 200.0 / 55.5 / 8.0), 8, 1);
        // Of these a window has room for as many as it has planes, less those of three blocks.
        run("several passes", Speeds::new(1.0, 1.0, 4.0), 5 * window / 2, 4);
    }
}

/// Where kernels are the bound, steps that run as one launch take what the library's model says, which is less.
#[test]
fn steps_in_one_launch_take_less_than_one_by_one() {
    let run = |fuse| {
        one_chain(fuse, Speeds::new(1.0, 1.0, 8.0).device(), limit(2, PLANES / 4, ROW), 1, |acc| {
            let mut u = array(acc, PLANES, ROW, 1);
            let mut next = u.like().unwrap();
            heat(acc, &mut u, &mut next, 16);
        })
    };
    let [(single, alone), (several, fused)] = [Fuse::Off, Fuse::Auto].map(run);
    assert!(alone.fused == 0 && fused.fused > 0, "{alone}, {fused}");
    assert!(several.kernel_busy < 0.7 * single.kernel_busy, "{single:?}, {several:?}");
    assert!(several.kernels < single.kernels && several.cells == single.cells, "{single:?}, {several:?}");
}

#[test]
fn sincos_runs_as_fast_as_its_bound() {
    for window in [PLANES / 4, PLANES / 16] {
        let run = |name: &str, speeds: Speeds, steps: usize| {
            let ran = in_one_chain(speeds.device(), limit(1, window, ROW), 1, |acc| {
                sincos(acc, &mut array(acc, PLANES, ROW, 0), steps);
            });
            near_the_bound(&format!("sincos, {name}, {window} planes"), ran, speeds.bound(1, 1, steps, 0));
        };
        run("bound by the link", Speeds::new(1.0, 1.0, 1.0), 1);
        run("bound by kernels", Speeds::new(1.0, 1.0, 100.0), 4);
        run("balanced", Speeds::new(1.0, 1.0, 8.0 * 200.0 / 55.5), 1);
        run("balanced, four kernels", Speeds::new(1.0, 1.0, 2.0 * 200.0 / 55.5), 4);
    }
}

/// Bytes of a plane, with its ghosts and padding, as it moves.
fn moved(row: usize, ghost: usize) -> u64 {
    let acc = TileAcc::builder().threads(1).simulate(SimDevice::new().memory(4 << 30).null()).build().unwrap();
    // On a device that holds the whole array it moves once: so many planes, and the rest of a line.
    let bytes = |planes: usize| {
        let before = acc.bytes_copied().0;
        let builder = TileArray::<f64, 2>::builder([planes, row]).ghost(ghost).boundary(Boundary::Fixed(0.0));
        let mut u = builder.build(&acc).unwrap();
        u.write_box(GridBox::new([0, 0], [1, 1]), &[1.0]).unwrap();
        sincos(&acc, &mut u, 1);
        acc.bytes_copied().0 - before
    };
    (bytes(1024 + 16) - bytes(16)) / 1024
}

#[test]
fn one_pass_moves_each_plane_once() {
    let row = 1 << 12;
    let device = SimDevice::new().null();
    let window = PLANES / 8;
    // In place: all of it up, all of it down.
    let (_, stats) = in_one_chain(device.clone(), limit(1, window, row), 1, |acc| {
        sincos(acc, &mut array(acc, PLANES, row, 0), 20);
    });
    let all = PLANES as u64 * moved(row, 0);
    assert_eq!((stats.h2d_bytes, stats.d2h_bytes), (all, all));
    assert!(stats.steps >= 20);

    // Of two arrays, `next` is overwritten: nothing of it goes up but ghosts, and for each array the plane whose edges
    // are those of every plane that is overwritten. Both are wanted in the end.
    let (sim, stats) = in_one_chain(device, limit(2, window, row), 1, |acc| {
        let mut u = array(acc, PLANES, row, 1);
        let mut next = u.like().unwrap();
        heat(acc, &mut u, &mut next, 20);
    });
    let plane = moved(row, 1);
    let ghosts = 2 * 2 + 2;
    assert!(stats.h2d_bytes <= (PLANES as u64 + ghosts) * plane, "{stats} of planes of {plane}");
    assert!(stats.h2d_bytes >= PLANES as u64 * plane);
    assert_eq!(stats.d2h_bytes, 2 * PLANES as u64 * plane);
    assert_eq!((sim.uploaded, sim.downloaded), (stats.h2d_bytes, stats.d2h_bytes));
}

#[test]
fn zeros_and_what_is_only_read_do_not_move_in_vain() {
    let row = 1 << 12;
    let (_, stats) = in_one_chain(SimDevice::new().null(), limit(3, PLANES / 8, row), 1, |acc| {
        let u = array(acc, PLANES, row, 0);
        let (mut sum, zeros) = (u.like().unwrap(), u.like().unwrap());
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut sum, &u, &zeros), kernel!(|sum, u, zeros, at| sum[at] = u[at] + zeros[at])).unwrap();
        }
        acc.sync().unwrap();
    });
    let all = PLANES as u64 * moved(row, 0);
    // What no one has touched is zero on both sides; what is only read does not come back.
    assert_eq!((stats.h2d_bytes, stats.d2h_bytes), (all, all));
}

/// What heat of 256³ f64, 200 steps, uploads a step with memory for a quarter of both arrays, in parts of the array.
/// Only the clock runs.
fn uploads_a_step(boundary: Boundary<f64>, passes: u64) -> f64 {
    const N: usize = 256;
    const STEPS: usize = 200;
    let build = |acc: &TileAcc| {
        let builder = TileArray::<f64, 3>::builder([N; 3]).regions([4, 1, 1]).ghost(1).boundary(boundary);
        let mut u = builder.build(acc).unwrap();
        for region in 0..u.regions() {
            let lo = u.region_box(region).unwrap().lo;
            u.write_box(GridBox::new(lo, [lo[0] + 1, 1, 1]), &[1.0]).unwrap();
        }
        u
    };
    // An array's bytes: as it moves where there is room.
    let roomy = TileAcc::builder().threads(1).simulate(SimDevice::new().null()).build().unwrap();
    let mut u = build(&roomy);
    for tile in TileIter::new(&u) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] += 1.0)).unwrap();
    }
    roomy.sync().unwrap();
    let (array, _) = roomy.bytes_copied();
    assert!(array >= (N * N * N * 8) as u64);

    let (_, stats) = in_one_chain(SimDevice::new().null(), 2 * array / 4, passes, |acc| {
        let mut u = build(acc);
        let mut next = u.like().unwrap();
        for _ in 0..STEPS {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        next[at] = u[at] + 0.1 * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * u[at]);
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        acc.sync().unwrap();
    });
    let a_step = stats.h2d_bytes as f64 / STEPS as f64 / array as f64;
    println!("{a_step:.5} of the array of {array} bytes a step, {stats}");
    a_step
}

/// A fiftieth of the array a step is four passes over it.
#[test]
fn a_quarter_of_the_memory_costs_a_fiftieth_of_the_array_a_step() {
    let a_step = uploads_a_step(Boundary::Fixed(0.0), 4);
    assert!(a_step <= 1.0 / 50.0, "{a_step} of the array a step");
}

/// Of both arrays the first planes, as many as steps share a pass, come once more.
#[test]
fn a_quarter_of_the_memory_costs_little_more_where_ends_belong_together() {
    // In passes of 40 steps, whose planes at the ends come twice, of both arrays.
    let a_step = uploads_a_step(Boundary::Periodic, 5);
    assert!(a_step <= (1.0 + 3.0 * 40.0 / 256.0) / 40.0, "{a_step} of the array a step");
}

#[test]
fn many_boxes_are_all_run() {
    let (regions, sweeps) = (500, 200);
    let device = SimDevice::new().kernels(1e9, 0.0).null();
    let acc = TileAcc::builder().threads(1).simulate(device).memory_limit(limit(1, 200, 16)).build().unwrap();
    let mut u = TileArray::<f64, 2>::builder([2 * regions, 16]).regions([regions, 1]).build(&acc).unwrap();
    sincos(&acc, &mut u, sweeps);
    let (sim, stats) = (acc.simulated().unwrap(), acc.stats());
    assert_eq!(sim.cells, (2 * regions * 16 * sweeps) as u64);
    assert!(stats.passes > 0);
    // A sweep is two where the recorder was kept waiting between its tiles.
    assert!(stats.steps >= sweeps as u64);
    // A launch is of a block of planes, whatever the regions.
    assert!(sim.kernels < (regions * sweeps / 4) as u64, "{sim:?}");
}

/// Arrays with values, small enough to compute with.
fn filled(acc: &TileAcc, salt: usize) -> TileArray<f64, 2> {
    let builder = TileArray::<f64, 2>::builder([96, 40]).regions([4, 1]).ghost(1).boundary(Boundary::Fixed(0.5));
    let mut u = builder.build(acc).unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17 + salt) % 97) as f64 / 97.0).unwrap();
    u
}

fn bits(u: &TileArray<f64, 2>) -> Vec<u64> {
    u.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

fn heat_bits(acc: &TileAcc) -> [Vec<u64>; 2] {
    let mut u = filled(acc, 3);
    let mut next = u.like().unwrap();
    heat(acc, &mut u, &mut next, 9);
    [bits(&u), bits(&next)]
}

#[test]
fn refused_memory_makes_the_window_smaller() {
    let cpu = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
    let expected = heat_bits(&cpu);
    let run = |device: SimDevice| {
        let acc = TileAcc::builder().threads(1).simulate(device).memory_limit(limit(2, 30, 40)).build().unwrap();
        assert_eq!(heat_bits(&acc), expected);
        acc.stats()
    };
    let whole = run(SimDevice::new());
    assert!(whole.passes > 0);
    // The window of the first array, of the second, and both of them again and again.
    assert!(run(SimDevice::new().fail_allocation(1)).passes > 0);
    assert!(run(SimDevice::new().fail_allocation(2)).passes > 0);
    let often = run([1, 2, 4].into_iter().fold(SimDevice::new(), SimDevice::fail_allocation));
    assert!(often.launches > whole.launches, "a smaller window takes thinner blocks: {often}, {whole}");
}

#[test]
fn too_little_memory_for_anything_names_arrays_and_bytes() {
    let acc = TileAcc::builder().threads(1).simulate(SimDevice::new()).memory_limit(limit(2, 3, 40)).build().unwrap();
    let mut u = filled(&acc, 0);
    let mut next = u.like().unwrap();
    let line = line!();
    let before = bits(&u);
    u.fill_ghosts().unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + u[at - [1, 0]])).unwrap();
    }
    let error = next.to_ndarray().unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), ErrorKind::Memory);
    let text = error.to_string();
    for part in ["2 arrays", "f64 of shape [96, 40]", "98 planes of ", "bytes", "memory limit", "pipeline.rs"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    let needed = text.split("need ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let needed: u64 = needed.and_then(|digits| digits.parse().ok()).expect("the bytes that are needed");
    assert!(error.recorded().is_some_and(|at| at.line() > line));
    // The array that is only read is whole, and as many bytes as the error asks for are enough.
    assert_eq!(bits(&u), before);
    let enough = TileAcc::builder().threads(1).simulate(SimDevice::new()).memory_limit(needed).build().unwrap();
    let mut u = filled(&enough, 0);
    let mut next = u.like().unwrap();
    u.fill_ghosts().unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + u[at - [1, 0]])).unwrap();
    }
    next.to_ndarray().unwrap();
    assert!(enough.stats().passes > 0);
}

fn plus_one(to: &mut TileArray<f64, 2>, from: &TileArray<f64, 2>) {
    for tile in TileIter::new(from) {
        compute(&tile, (&mut *to, from), kernel!(|to, from, at| to[at] = from[at] + 1.0)).unwrap();
    }
}

#[test]
fn a_kernel_that_fails_in_a_chain_poisons_what_depends_on_it_alone() {
    // Blocks come before sweeps: the sweep of the second kernel is the second, whichever block it is of.
    let device = SimDevice::new().fail_kernel(2);
    let acc = TileAcc::builder().threads(1).simulate(device).memory_limit(limit(5, 40, 40)).build().unwrap();
    let a = filled(&acc, 1);
    let [mut before, mut failed, mut after, mut beside] = [(); 4].map(|()| a.like().unwrap());
    let expected: Vec<u64> = a.to_ndarray().unwrap().iter().map(|x| (x + 1.0).to_bits()).collect();
    plus_one(&mut before, &a);
    let line = line!() + 1;
    failing(&mut failed, &a);
    plus_one(&mut after, &failed);
    plus_one(&mut beside, &a);
    let error = after.to_ndarray().unwrap_err();
    assert!(acc.stats().passes > 0);
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.found().contains("fails"), "{error}");
    let recorded = error.recorded().expect("the line that recorded it");
    assert!(recorded.file().ends_with("pipeline.rs") && recorded.line() > line, "{error}");
    assert_eq!(failed.to_ndarray().unwrap_err().recorded().map(|at| at.line()), Some(recorded.line()));
    // What does not depend on it is whole, the array that it read too.
    assert_eq!(bits(&a), bits(&filled(&acc, 1)));
    assert_eq!(bits(&before), expected);
    assert_eq!(bits(&beside), expected);
    acc.sync().unwrap();
    // What is overwritten is whole again.
    plus_one(&mut failed, &a);
    assert_eq!(bits(&failed), expected);
    acc.sync().unwrap();
}

/// What is recorded after a chain, and before it runs, is promised no memory that the chain needs.
#[test]
fn later_work_leaves_a_chain_its_room() {
    let run = |acc: &TileAcc| {
        let mut u = filled(acc, 5);
        let mut next = u.like().unwrap();
        let mut small: Vec<_> = (0..30)
            .map(|n| {
                let mut a = TileArray::<f64, 2>::builder([12, 40]).build(acc).unwrap();
                a.fill(|[j, i]| (j * 40 + i + n) as f64).unwrap();
                a
            })
            .collect();
        heat(acc, &mut u, &mut next, 5);
        for a in &mut small {
            for tile in TileIter::new(a) {
                compute(&tile, &mut *a, kernel!(|a, at| a[at] = 2.0 * a[at] + 1.0)).unwrap();
            }
        }
        // It is waited for first.
        let mut all = vec![bits(&u)];
        all.extend(small.iter().map(bits));
        all
    };
    let acc = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(limit(1, 96, 40)).build().unwrap();
    let on_cpu = TileAcc::builder().device(Device::Cpu).build().unwrap();
    assert_eq!(run(&acc), run(&on_cpu));
    assert!(acc.stats().passes > 0);
}

fn failing(to: &mut TileArray<f64, 2>, from: &TileArray<f64, 2>) {
    for tile in TileIter::new(from) {
        compute(&tile, (&mut *to, from), kernel!(|to, from, at| to[at] = from[at] + 2.0)).unwrap();
    }
}
