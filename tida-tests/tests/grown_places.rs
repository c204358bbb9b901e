//! Loops over grown tiles on several places and ranks: the bits of one place, in ghosts too.

use tida::prelude::*;
use tida::{SimCluster, SimDevice, SimLink};
use tida_tests::on_cpu;
use tida_tests::ranks::{Seen, on_ranks, together};
use tida_tests::several::{Dice, accelerators, bits, value};

/// How many random programs: `TIDA_PLACES_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_PLACES_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// A step of heat on these tiles.
fn star(u: &TileArray<f64, 2>, v: &mut TileArray<f64, 2>, tiles: TileIter<2>) {
    for tile in tiles {
        compute(
            &tile,
            (&mut *v, u),
            kernel!(|v, u, at| {
                let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                v[at] = u[at] + 0.1 * (around - 4.0 * u[at]);
            }),
        )
        .unwrap();
    }
}

/// Steps of which two follow each fill, the first one over grown tiles; and ghosts that loops set by themselves.
fn steps(acc: &TileAcc, places: usize, mut dice: Dice) -> Seen {
    let regions = [places * (1 + dice.roll(2)), 1 + dice.roll(2)];
    let rows = 6 * regions[0] + dice.roll(7);
    let ends = dice.pick(&[Boundary::Periodic, Boundary::ReflectEven, Boundary::Fixed(0.5)]);
    let sides = dice.pick(&[Boundary::Periodic, Boundary::ReflectOdd, Boundary::Extrapolate(1), Boundary::Open]);
    let builder = TileArray::<f64, 2>::builder([rows, 134]).regions(regions).ghost([2, 2]);
    let mut builder = builder.boundary_axis(0, ends).boundary_axis(1, sides);
    if dice.roll(4) == 0 {
        // All of it on the first place.
        builder = builder.distribute([rows]);
    }
    let (mut u, mut v) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    let salt = dice.roll(100);
    u.fill(|at| value(at, salt)).unwrap();
    v.fill(|at| value(at, salt + 1)).unwrap();
    let mut seen = Seen::default();
    for _ in 0..3 + dice.roll(6) {
        u.fill_ghosts().unwrap();
        match dice.roll(5) {
            0 => {
                let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
                seen.shared.push(sum.to_bits());
            }
            1 => {
                // Few places have some of these.
                let row = dice.roll(rows) as i64 - 1;
                for tile in u.tiles().grown(1).within([row, -1], [row + 2, 135]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.25 * u[at] + 1.0)).unwrap();
                }
            }
            2 => {
                // Ghosts alone, of the far side.
                for tile in u.tiles().grown(2).within([-2, 134], [rows as i64 + 2, 136]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * (at[0] + at[1]) as f64)).unwrap();
                }
                u.allow_stale_ghosts();
                let tiles = v.tiles().tile_size([3, 67]);
                star(&u, &mut v, tiles);
                std::mem::swap(&mut u, &mut v);
            }
            _ => {
                let tiles = if dice.roll(3) == 0 { v.tiles().tile_size([3, 67]) } else { v.tiles() };
                star(&u, &mut v, tiles.grown(1));
                v.allow_stale_ghosts();
                let tiles = u.tiles();
                star(&v, &mut u, tiles);
            }
        }
    }
    u.fill_ghosts().unwrap();
    for u in [&u, &v] {
        seen.shared.extend(bits(&u.read_box(u.domain()).unwrap()));
    }
    for region in u.tiles().filter(|tile| !tile.cells().is_empty()).map(|tile| tile.region()) {
        let grown = u.grown_box(region).unwrap();
        seen.regions.push((region, bits(&u.read_grown_box(region, grown).unwrap())));
    }
    seen
}

#[test]
fn grown_tiles_on_places_give_the_bits_of_one() {
    for seed in 0..programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 51);
        let (places, program) = (1 + dice.roll(5), dice.roll(1 << 20) as u64);
        let expected = steps(&on_cpu(), places, Dice(program));
        for (name, acc) in accelerators(places, 2) {
            let got = steps(&acc, places, Dice(program));
            assert!(got == expected, "seed {seed}: {places} places of {name} give other bits");
        }
    }
}

#[test]
fn grown_tiles_on_ranks_give_the_bits_of_one_process() {
    for seed in 0..programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 52);
        let (ranks, program) = ([1, 2, 3, 5, 8][seed as usize % 5], dice.roll(1 << 20) as u64);
        for (kind, places) in [("cpu:1", 1), ("cpu:2", 2), ("sim:1", 1), ("sim:2", 2)] {
            let expected = steps(&on_cpu(), ranks * places, Dice(program));
            let what = format!("seed {seed}: {ranks} ranks of {kind}");
            let run = |acc: &TileAcc| steps(acc, ranks * places, Dice(program));
            let got = together(on_ranks(ranks, seed, |of| of.devices([kind]), run), &what);
            assert!(got.shared == expected.shared, "{what}: other values than those of one place");
            assert!(got.regions == expected.regions, "{what}: other cells or ghosts than those of one place");
        }
    }
}

/// Ghosts that kernels set stay as they are: strips that were to set them before come before, however late they are,
/// and those after come after.
#[test]
fn ghosts_that_kernels_set_come_after_late_strips() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f64, 2>::builder([24, 130]).ghost(2).boundary(Boundary::Periodic);
        let (mut u, mut v) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
        u.fill(|at| value(at, 3)).unwrap();
        let mut seen = Vec::new();
        for turn in 0..6 {
            u.fill_ghosts().unwrap();
            for tile in u.tiles().grown(2).within([24, 0], [26, 130]) {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * (at[0] + at[1]) as f64)).unwrap();
            }
            if turn % 2 == 1 {
                // What was set is overwritten.
                u.fill_ghosts().unwrap();
            }
            u.allow_stale_ghosts();
            for tile in v.tiles() {
                compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = 0.5 * (u[at + [2, 0]] + u[at - [1, 0]])))
                    .unwrap();
            }
            std::mem::swap(&mut u, &mut v);
            seen.extend(bits(&u.read_box(u.domain()).unwrap()));
        }
        seen
    };
    let expected = run(&on_cpu());
    for latency in [0.0, 1e-3] {
        let cluster = SimCluster::of(2, SimDevice::new()).links(SimLink::new(1e9, latency));
        let acc = TileAcc::builder().simulate_cluster(cluster).threads(2).edges_from(0).build().unwrap();
        assert!(run(&acc) == expected, "strips take {latency} s");
    }
}

/// Planes that are held are no ghosts.
#[test]
fn grown_tiles_are_refused_where_planes_are_held() {
    let build = |of: tida::TileAccBuilder| of.device(Device::Cpu);
    on_ranks(2, 53, build, |acc| {
        let mut u = TileArray::<f64, 2>::builder([16, 64]).ghost(1).overlap(3).build(acc).unwrap();
        for tile in u.tiles().grown(1).within([0, 0], [2, 64]) {
            let error = compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Ghost);
            assert!(error.found().contains("overlap"), "{error}");
        }
    });
}
