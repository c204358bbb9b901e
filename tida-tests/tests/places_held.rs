//! Steps that are held over strips, and planes that stream, on two places that are one device: simulated, and a GPU
//! where `TIDA_REQUIRE_CUDA` is set. Few cells, so that `compute-sanitizer` can watch them
//! (docs/decisions/0113-planes-nobody-looks-at.md).

use tida::TileAccBuilder;
use tida::prelude::*;
use tida_tests::on_cpu;
use tida_tests::several::{bits, step, value};

const SHAPE: [usize; 3] = [96, 8, 32];
const STEPS: usize = 24;

/// Heat of 7 points, periodic, which holds so many planes of its neighbours: its cells, read at one place in between.
fn heat(acc: &TileAcc, overlap: usize) -> Vec<u64> {
    let builder = TileArray::<f64, 3>::builder(SHAPE).ghost(1).boundary(Boundary::Periodic).overlap(overlap);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| value(at, 4)).unwrap();
    let mut cells = Vec::new();
    for steps in [STEPS, STEPS + 5] {
        (0..steps).for_each(|_| step(&mut u, &mut next));
        cells.extend(bits(&u.read_box(u.domain()).unwrap()));
    }
    cells
}

/// The devices, and a builder of two places on each.
fn places() -> Vec<(&'static str, TileAccBuilder)> {
    let mut kinds = vec!["sim:2"];
    if std::env::var_os("TIDA_REQUIRE_CUDA").is_some() {
        kinds.push("cuda:0,0");
    }
    kinds.into_iter().map(|kind| (kind, tida_tests::unhurried().devices([kind]).threads(2))).collect()
}

#[test]
fn steps_are_held_over_strips() {
    let expected = heat(&on_cpu(), 0);
    for planes in [3, 6] {
        for (kind, builder) in places() {
            for edges in [0, u64::MAX] {
                let builder = builder.clone().edges_from(edges).fuse(Fuse::Steps(3));
                let acc = builder.build().unwrap();
                assert!(heat(&acc, planes) == expected, "{kind}, {planes} planes, edges from {edges}");
                let fused = acc.stats().fused_steps;
                assert!(fused >= 2 * STEPS as u64, "{kind}, {planes} planes: {fused} steps shared launches");
            }
        }
    }
}

#[test]
fn planes_stream() {
    let expected = heat(&on_cpu(), 0);
    for planes in [6, 12] {
        for (kind, builder) in places() {
            for fuse in [Fuse::Off, Fuse::Steps(3)] {
                let acc = builder.clone().memory_limit(300u64 << 10).fuse(fuse).build().unwrap();
                assert!(heat(&acc, planes) == expected, "{kind}, {planes} planes, {fuse:?}");
                let passes: u64 = acc.streamed().iter().map(|chain| chain.passes).sum();
                assert!(passes >= 8, "{kind}, {planes} planes, {fuse:?}: {passes} passes");
            }
        }
    }
}
