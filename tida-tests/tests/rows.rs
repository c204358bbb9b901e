//! Arrays cut along their first axis alone lie on a device in one row, without ghosts between regions: the bits of the
//! CPU, whatever loops run where, on which regions, and with ghosts that are the regions' own.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, value};

type Field = TileArray<[f32; 3], 3>;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Fills ghosts and blurs, the regions of the mask on the CPU.
    Blur { cpu: u8 },
    /// The same for one region, the cells of the others as they were.
    One { region: usize },
    /// Writes ghosts too, then blurs with those instead of a fill.
    Grown,
    /// Parts the loop between both sides.
    Both,
    /// Goes on with a copy, ghosts and all.
    Clone,
    /// Goes on in an array of other regions, and comes back.
    Copy,
    /// Writes a cell on the host.
    Host { plane: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![Just(0u8), any::<u8>()].prop_map(|cpu| Step::Blur { cpu }),
        2 => (0..5usize).prop_map(|region| Step::One { region }),
        1 => Just(Step::Grown),
        1 => Just(Step::Both),
        1 => Just(Step::Clone),
        1 => Just(Step::Copy),
        1 => (0..11usize).prop_map(|plane| Step::Host { plane }),
    ]
}

fn blur(tile: &Tile<3>, next: &mut Field, u: &Field) {
    compute(
        tile,
        (&mut *next, u),
        kernel!(|next, u, at| {
            for c in 0..3 {
                let (down, up) = (u[at - [1, 0, 0]][c], u[at + [1, 0, 0]][c]);
                let side = u[at + [0, 1, 0]][c] + u[at - [0, 0, 1]][2 - c];
                next[at][c] = 0.5 * u[at][c] + 0.125 * (down + up + side + u[at + [1, 0, 1]][c]);
            }
        }),
    )
    .unwrap();
}

fn field(acc: &TileAcc, shape: [usize; 3], regions: usize, boundaries: [Boundary<[f32; 3]>; 3]) -> Field {
    let mut builder = TileArray::builder(shape).regions([regions, 1, 1]).ghost(2);
    for (axis, boundary) in boundaries.into_iter().enumerate() {
        builder = builder.boundary_axis(axis, boundary);
    }
    builder.build(acc).unwrap()
}

fn run(acc: &TileAcc, regions: usize, boundaries: [Boundary<[f32; 3]>; 3], steps: &[Step], seed: u64) -> Vec<u32> {
    let shape = [11, 5, 70];
    let mut u = field(acc, shape, regions, boundaries);
    u.fill(|at| [0, 1, 2].map(|c| value(seed + c, at) as f32)).unwrap();
    let mut next = u.like().unwrap();
    for (n, step) in steps.iter().enumerate() {
        match *step {
            Step::Blur { cpu } => {
                u.fill_ghosts().unwrap();
                for region in 0..regions {
                    let tiles = TileIter::new(&u);
                    let tiles = if cpu >> region & 1 == 1 { tiles.device(Device::Cpu) } else { tiles };
                    tiles.filter(|tile| tile.region() == region).for_each(|tile| blur(&tile, &mut next, &u));
                }
                std::mem::swap(&mut u, &mut next);
            }
            Step::One { region } => {
                u.fill_ghosts().unwrap();
                let tiles = TileIter::new(&u);
                tiles.filter(|tile| tile.region() == region % regions).for_each(|tile| blur(&tile, &mut next, &u));
                // What its neighbours read then is not what the region held.
                next.fill_ghosts().unwrap();
                for tile in TileIter::new(&u) {
                    blur(&tile, &mut u, &next);
                }
            }
            Step::Grown => {
                u.fill_ghosts().unwrap();
                for tile in TileIter::new(&u).grown(1) {
                    blur(&tile, &mut next, &u);
                }
                next.allow_stale_ghosts();
                for tile in TileIter::new(&u) {
                    blur(&tile, &mut u, &next);
                }
            }
            Step::Both => {
                u.fill_ghosts().unwrap();
                let tiles = TileIter::new(&u);
                let tiles = if acc.device() == Device::Cpu { tiles } else { tiles.device(Device::Hybrid) };
                tiles.for_each(|tile| blur(&tile, &mut next, &u));
                std::mem::swap(&mut u, &mut next);
            }
            Step::Clone => {
                u.fill_ghosts().unwrap();
                let copy = u.try_clone().unwrap();
                for tile in TileIter::new(&copy) {
                    blur(&tile, &mut u, &copy);
                }
            }
            Step::Copy => {
                let mut other = field(acc, shape, 1 + n % 3, boundaries);
                other.copy_from(&u).unwrap();
                next.copy_from(&other).unwrap();
                std::mem::swap(&mut u, &mut next);
            }
            Step::Host { plane } => {
                let cell = GridBox::new([plane as i64, 2, 33], [plane as i64 + 1, 3, 34]);
                u.write_box(cell, &[[n as f32, 0.5, -1.0]]).unwrap();
            }
        }
    }
    let values = [u, next].map(|array| array.to_ndarray().unwrap());
    values.iter().flat_map(|array| array.iter().flatten().map(|x| x.to_bits())).collect()
}

/// A region that keeps its cells is read after its neighbour was swept.
#[test]
fn a_region_may_keep_its_cells() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let boundaries = [Boundary::Fixed([0.25, 1.0, 0.5]), Boundary::Periodic, Boundary::Fixed([0.25, 1.0, 0.5])];
    let steps = [Step::Grown, Step::One { region: 0 }, Step::One { region: 0 }];
    let [got, want] = [&acc, &on_cpu()].map(|acc| run(acc, 2, boundaries, &steps, 0));
    assert!(got == want, "{} of {} values differ", got.iter().zip(&want).filter(|(a, b)| a != b).count(), got.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_row_gives_the_bits_of_regions(
        regions in 2usize..6,
        periodic in any::<[bool; 3]>(),
        steps in prop::collection::vec(step(), 1..9),
        seed in any::<u64>(),
    ) {
        let Some(acc) = on_a_device(TileAcc::builder()) else { return Ok(()) };
        let boundaries = [0, 1, 2].map(|axis| match (periodic[axis], axis) {
            (true, _) => Boundary::Periodic,
            (false, 1) => Boundary::ReflectOdd,
            (false, _) => Boundary::Fixed([0.25, 1.0, 0.5]),
        });
        let (got, want) = [&acc, &on_cpu()].map(|acc| run(acc, regions, boundaries, &steps, seed)).into();
        prop_assert!(got == want, "{} of {} values differ", got.iter().zip(&want).filter(|(a, b)| a != b).count(), got.len());
    }
}

/// Between regions nothing is copied: a step takes one launch, and its ghost fill none.
#[test]
fn ghosts_between_regions_cost_nothing() {
    let acc = TileAcc::builder().simulate(tida::SimDevice::new()).threads(2).build().unwrap();
    let mut u = TileArray::<f64, 2>::builder([64, 64]).regions([8, 1]).ghost(1).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    u.fill(|[j, i]| (j * 64 + i) as f64).unwrap();
    for _ in 0..10 {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = 0.5 * u[at] + 0.25 * (u[at - [1, 0]] + u[at + [1, 0]])),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync().unwrap();
    let (up, down) = acc.bytes_copied();
    // The planes once, with the padding of their rows, and one ghost plane at each end.
    assert!(up as usize <= 66 * 96 * 8 && down == 0, "{up} bytes up, {down} down");
    assert_eq!(u.to_ndarray().unwrap()[[63, 5]].to_bits(), plain()[63 * 64 + 5].to_bits());
}

/// The same in plain loops, with zeros around.
fn plain() -> Vec<f64> {
    let mut u: Vec<f64> = (0..64 * 64).map(|n| n as f64).collect();
    for _ in 0..10 {
        let at = |n: i64| if (0..64 * 64).contains(&n) { u[n as usize] } else { 0.0 };
        u = (0..64 * 64i64).map(|n| 0.5 * at(n) + 0.25 * (at(n - 64) + at(n + 64))).collect();
    }
    u
}
