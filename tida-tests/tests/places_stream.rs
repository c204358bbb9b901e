//! Places whose arrays have no room and stream by planes: what moves, in how many passes, and which steps run together.

use tida::SimDevice;
use tida::prelude::*;
use tida_tests::on_cpu;
use tida_tests::several::{bits, step, value};

const SHAPE: [usize; 3] = [128, 8, 32];
const PLACES: usize = 2;
const STEPS: usize = 32;
/// Bytes of a plane, with the ghosts at its edges and what rows are aligned to.
const PLANE: u64 = (8 + 2) * 48 * 8;

/// Heat of 7 points that is periodic, with so many planes of neighbours.
fn heat(acc: &TileAcc, overlap: usize) -> TileArray<f64, 3> {
    let builder = TileArray::<f64, 3>::builder(SHAPE).ghost(1).boundary(Boundary::Periodic).overlap(overlap);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| value(at, 4)).unwrap();
    (0..STEPS).for_each(|_| step(&mut u, &mut next));
    acc.sync().unwrap();
    u
}

#[test]
fn steps_between_exchanges_run_together() {
    let expected = heat(&on_cpu(), 0);
    let expected = bits(&expected.read_box(expected.domain()).unwrap());
    for planes in [8, 16] {
        let mut launches = Vec::new();
        for fuse in [Fuse::Off, Fuse::Steps(3)] {
            let acc = tida_tests::unhurried().devices([format!("sim:{PLACES}")]).simulate(SimDevice::new()).threads(2);
            let acc = acc.memory_limit(600u64 << 10).fuse(fuse).build().unwrap();
            let u = heat(&acc, planes);
            let stats = acc.stats();
            assert!(bits(&u.read_box(u.domain()).unwrap()) == expected, "{planes} planes, {fuse:?}");
            // A chain between two exchanges, on each place, which passes over the planes that the place has once.
            let (chains, each) = (STEPS / planes, (SHAPE[0] / PLACES + 2 * planes) as u64);
            let streamed = acc.streamed();
            assert_eq!(streamed.len(), chains * PLACES, "{streamed:?}");
            for (number, chain) in streamed.iter().enumerate() {
                // All planes of the array that is read come. What is followed by an exchange leaves the planes that the
                // place owns: the others are taken next, and the other array is overwritten by the next step. The last
                // chain of a place leaves all of both; for these the ghosts at both ends of both come.
                let (up, down) = match number % chains + 1 < chains {
                    true => (each, (SHAPE[0] / PLACES) as u64),
                    false => (each + 4, 2 * each),
                };
                let moved = (chain.passes, chain.h2d_bytes, chain.d2h_bytes);
                let expected = (1, PLANE * up, PLANE * down);
                assert_eq!(moved, expected, "{planes} planes, {fuse:?}: chain {number}, {chain}");
            }
            // The last step of a chain runs by itself, and so does the first one of all, which repeats none.
            let several = |steps: usize| (steps - 1) / 3 * 3;
            let fused = PLACES * (several(planes - 1) + (chains - 1) * several(planes));
            let fused = if fuse == Fuse::Off { 0 } else { fused };
            assert_eq!(stats.fused_steps, fused as u64, "{planes} planes, {fuse:?}");
            launches.push(stats.launches);
        }
        println!("{planes} planes: launches {launches:?}");
        // Of eight steps four launches are left, and all fills of ghosts are gone but those that single steps read, and
        // the last ones.
        assert!(launches[1] * 7 < launches[0] * 2, "{planes} planes: {launches:?}");
    }
}
