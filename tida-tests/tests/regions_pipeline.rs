//! Arrays larger than the memory limit that are cut along several axes, on a simulated device: what moves over the
//! link, how long it takes, and what failures leave.

use tida::prelude::*;
use tida::{SimDevice, Stats};

use tida_tests::{on_cpu, value};

fn simulated(device: SimDevice, limit: usize) -> TileAcc {
    TileAcc::builder().threads(2).simulate(device).memory_limit(limit as u64).build().unwrap()
}

/// Regions of a 2-D array: so many along each axis.
const CUTS: usize = 4;

fn plate(acc: &TileAcc) -> TileArray<f64, 2> {
    let builder = TileArray::<f64, 2>::builder([512, 512]).regions([CUTS, CUTS]).ghost(1);
    let mut u = builder.boundary(Boundary::Fixed(0.5)).build(acc).unwrap();
    u.fill(|[j, i]| value(5, [j, i, 0])).unwrap();
    u
}

fn diffuse(acc: &TileAcc, steps: usize) -> (Vec<u64>, Stats) {
    let mut u = plate(acc);
    let mut next = u.like().unwrap();
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
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
    let bits = u.read_box(u.domain()).unwrap().into_iter().map(f64::to_bits).collect();
    (bits, acc.stats())
}

fn scale(acc: &TileAcc, steps: usize) -> (Vec<u64>, Stats) {
    let mut u = plate(acc);
    for _ in 0..steps {
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.9 * u[at] + 0.05)).unwrap();
        }
    }
    (u.read_box(u.domain()).unwrap().into_iter().map(f64::to_bits).collect(), acc.stats())
}

/// The run that was recorded without a pause, which would end a chain early: the one that moves least.
fn least(run: impl Fn() -> (Vec<u64>, Stats), expected: &[u64]) -> Stats {
    let stats = (0..5).map(|_| {
        let (bits, stats) = run();
        assert_eq!(bits, expected);
        stats
    });
    stats.min_by_key(|stats| stats.h2d_bytes + stats.d2h_bytes).unwrap()
}

#[test]
fn what_moves_is_bounded() {
    const STEPS: usize = 12;
    let all = scale(&simulated(SimDevice::new(), 1 << 30), 1).1.h2d_bytes;
    assert!(all >= 512 * 512 * 8, "{all}");
    // One array in place, with room for a third of it: it goes up and comes down once, whatever the number of steps.
    let (expected, _) = scale(&on_cpu(), STEPS);
    let stats = least(|| scale(&simulated(SimDevice::new(), all as usize / 3), STEPS), &expected);
    assert_eq!((stats.h2d_bytes, stats.d2h_bytes), (all, all), "{stats}");
    // Two arrays, with room for half of their regions, and for neither as a whole. Sweeps to and fro would load half of
    // one of them at each step; here several steps are done at once, beside strips of ghosts.
    let (expected, _) = diffuse(&on_cpu(), STEPS);
    let stats = least(|| diffuse(&simulated(SimDevice::new(), all as usize - 1), STEPS), &expected);
    let strips = (STEPS * CUTS * CUTS * (4 * 512 / CUTS * 8 + 8 * 16)) as u64;
    let most = all + (STEPS as u64 - 1) * all / 4 + strips;
    println!("{} up, {} down, at most {most}; the array has {all}: {stats}", stats.h2d_bytes, stats.d2h_bytes);
    assert!(stats.h2d_bytes <= most && stats.evictions > 0 && stats.passes > 0, "{stats} for {most}");
    // Each step writes a whole array: what is stored is less.
    assert!(stats.d2h_bytes <= STEPS as u64 * all * 2 / 3, "{stats} for an array of {all}");
}

#[test]
fn copies_run_beside_kernels() {
    let all = scale(&simulated(SimDevice::new(), 1 << 30), 1).1.h2d_bytes;
    // Bringing a region, four steps on it and storing it take equally long; there is room for a third of the regions.
    let device =
        SimDevice::new().upload(1e9, 1e-6).download(1e9, 1e-6).kernels(512.0 * 512.0 * 4.0 * 1e9 / all as f64, 0.0);
    let run = || {
        let acc = simulated(device.clone(), all as usize / 3);
        scale(&acc, 4);
        acc.simulated().unwrap()
    };
    // The fastest was recorded without a pause.
    let sim = (0..5).map(|_| run()).min_by(|a, b| a.makespan.total_cmp(&b.makespan)).unwrap();
    // The first region is loaded before all else, the last is stored after all else.
    let region = 1.0 / (CUTS * CUTS) as f64;
    let bound = sim.upload_busy.max(sim.download_busy).max(sim.kernel_busy) * (1.0 + 2.0 * region);
    println!("{:.3} of the bound: {sim:?}", sim.makespan / bound);
    assert!(sim.makespan <= 1.1 * bound, "{sim:?} for {bound}");
    // With ghosts the host packs strips, and waits for the stores of what it packs.
    let run = || {
        let acc = simulated(device.clone(), all as usize - 1);
        diffuse(&acc, 8);
        acc.simulated().unwrap()
    };
    let sim = (0..5).map(|_| run()).min_by(|a, b| a.makespan.total_cmp(&b.makespan)).unwrap();
    let busiest = sim.upload_busy.max(sim.download_busy).max(sim.kernel_busy);
    println!("{:.3} of what the busiest engine does: {sim:?}", sim.makespan / busiest);
    assert!(sim.makespan < sim.upload_busy + sim.download_busy + sim.kernel_busy, "{sim:?}");
}

#[test]
fn too_little_memory_for_the_regions_of_a_kernel_names_them() {
    let run = |acc: &TileAcc| {
        let mut u = plate(acc);
        let mut next = u.like().unwrap();
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + u[at - [1, 0]])).unwrap();
        }
        (next.read_box(next.domain()), u.read_box(u.domain()))
    };
    let limit = 150 << 10;
    let (next, u) = run(&simulated(SimDevice::new(), limit));
    let error = next.unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), ErrorKind::Memory);
    let text = error.to_string();
    for part in ["2 arrays", "f64 of shape [512, 512]", "16 regions", "153600", "memory limit", "regions_pipeline.rs"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    // The array that is only read is whole, and as many bytes as the error asks for are enough.
    assert!(u.is_ok());
    let needed = text.split("need ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let needed: usize = needed.and_then(|digits| digits.parse().ok()).expect("the bytes that are needed");
    let enough = simulated(SimDevice::new(), needed);
    assert_eq!(run(&enough).0.unwrap(), run(&on_cpu()).0.unwrap());
    assert!(enough.stats().passes > 0);
}

fn plus(to: &mut TileArray<f64, 2>, from: &TileArray<f64, 2>, by: f64) {
    for tile in TileIter::new(from) {
        compute(&tile, (&mut *to, from), kernel!(|to, from, at| to[at] = from[at] + by)).unwrap();
    }
}

#[test]
fn a_kernel_that_fails_poisons_what_depends_on_it() {
    // The first two kernels fill ghosts of fixed value of a region and run the sweep there; the fifth is of another
    // region or of the second sweep.
    for kernel in [1, 2, 5] {
        fail_and_heal(&simulated(SimDevice::new().fail_kernel(kernel), 600 << 10));
    }
}

fn fail_and_heal(acc: &TileAcc) {
    let a = plate(acc);
    let before = a.read_box(a.domain()).unwrap();
    let [mut failed, mut after] = [(); 2].map(|()| a.like().unwrap());
    plus(&mut failed, &a, 1.0);
    plus(&mut after, &failed, 2.0);
    assert_eq!(after.read_box(after.domain()).unwrap_err().kind(), ErrorKind::Device);
    assert!(acc.stats().passes > 0);
    assert_eq!(failed.read_box(failed.domain()).unwrap_err().kind(), ErrorKind::Device);
    acc.sync().unwrap();
    assert_eq!(a.read_box(a.domain()).unwrap(), before);
    // What is overwritten is whole again.
    plus(&mut failed, &a, 1.0);
    assert!(failed.read_box(failed.domain()).unwrap().iter().zip(&before).all(|(x, y)| *x == y + 1.0));
    acc.sync().unwrap();
}

#[test]
fn refused_memory_leaves_fewer_regions() {
    let (expected, _) = diffuse(&on_cpu(), 5);
    for device in
        [SimDevice::new().fail_allocation(1), [1, 2, 3].into_iter().fold(SimDevice::new(), SimDevice::fail_allocation)]
    {
        let (bits, stats) = diffuse(&simulated(device, 2 << 20), 5);
        assert_eq!(bits, expected);
        assert!(stats.passes > 0, "{stats}");
    }
}
