//! Ghosts that kernels set: on a device the sweep before sets those beyond the last axis that follow from the cell
//! beside each, and the kernels of opposite faces are one launch, with the bits that all have by themselves.

use proptest::prelude::*;
use tida::acc::{Compile, TileAccBuilder};
use tida::array::Side;
use tida::prelude::*;
use tida::{Fuse, fill_ghosts_with};
use tida_tests::{on_a_device, on_cpu, value};

type Pair = [f64; 2];

/// What happens between the sweep that writes an array and the one that reads its ghosts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Both faces of the last axis, and those before.
    Walls,
    /// The high face, by a kernel with a captured value that changes.
    Inflow,
    /// Low faces from a cell further in: by a launch of its own.
    Far,
    /// As [`Step::Walls`], but a sum is taken first.
    Summed,
    /// As [`Step::Walls`], with a sweep of other arrays between.
    Apart,
}

const ALL: [Step; 5] = [Step::Walls, Step::Inflow, Step::Far, Step::Summed, Step::Apart];

/// What ghosts of the low face follow from, of one component and of two.
fn low(u: &mut TileArray<Pair, 3>, time: f64) -> tida::Result<()> {
    fill_ghosts_with(
        (2, Side::Low),
        u,
        kernel!(|u, at| {
            let inside = u[at + [0, 0, 1]];
            let turned = if inside[0] > 0.5 { -inside[1] } else { inside[1] * time };
            u[at] = [inside[0] + 0.01 * at[1] as f64, turned];
        }),
    )
}

fn high(u: &mut TileArray<Pair, 3>, time: f64) -> tida::Result<()> {
    fill_ghosts_with(
        (2, Side::High),
        u,
        kernel!(|u, at| {
            let (k, last) = (at[0], at[2]);
            u[at] = [2.0 * time - u[at - [0, 0, 1]][0], u[[k, at[1], last - 1]][1] + last as f64];
        }),
    )
}

fn far(u: &mut TileArray<Pair, 3>) -> tida::Result<()> {
    fill_ghosts_with((2, Side::Low), u, kernel!(|u, at| u[at] = u[at + [0, 0, 2]]))
}

/// The other axes: one with another array, and one by branches and captured values.
fn across(u: &mut TileArray<Pair, 3>, other: &TileArray<f64, 3>, time: f64) -> tida::Result<()> {
    fill_ghosts_with(
        (1, Side::Low),
        (&mut *u, other),
        kernel!(|u, v, at| {
            let inside = u[at + [0, 1, 0]];
            u[at] = [inside[0] + v[at + [0, 1, 0]], inside[1] * v[at]];
        }),
    )?;
    fill_ghosts_with(
        (1, Side::High),
        (&mut *u, other),
        kernel!(|u, v, at| {
            let inside = u[at - [0, 1, 0]];
            u[at] = [inside[1] - v[at], inside[0]];
        }),
    )?;
    let (first, second) = (0.5 * time, 0.25 - time);
    fill_ghosts_with(
        (0, Side::High),
        &mut *u,
        kernel!(|u, at| {
            let inside = u[at - [1, 0, 0]];
            u[at] = if inside[0] > first { inside } else { [first, inside[1] + at[2] as f64] };
        }),
    )?;
    fill_ghosts_with((0, Side::Low), u, kernel!(|u, at| u[at] = [second * u[at + [1, 0, 0]][1], at[1] as f64]))
}

/// The array after these steps, ghosts as the last sweep found them, and sweeps whose work another one did.
fn run(acc: &TileAcc, shape: [usize; 3], regions: usize, steps: &[Step]) -> tida::Result<(Vec<u64>, u64)> {
    let builder = TileArray::<Pair, 3>::builder(shape).regions([regions, 1, 1]).ghost(1).boundary(Boundary::Open);
    let mut u = builder.build(acc)?;
    u.fill(|at| [value(1, at), value(2, at)])?;
    let mut next = u.like()?;
    let other = TileArray::<f64, 3>::builder(shape).regions([regions, 1, 1]).ghost(1);
    let mut other = other.boundary(Boundary::Fixed(0.75)).build(acc)?;
    let (mut found, mut sums) = (Vec::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        let time = 0.25 + number as f64;
        u.fill_ghosts()?;
        match step {
            Step::Inflow => {
                far(&mut u)?;
                high(&mut u, time)?;
            }
            Step::Far => {
                high(&mut u, time)?;
                far(&mut u)?;
            }
            Step::Summed | Step::Walls | Step::Apart => {
                if *step == Step::Summed {
                    sums.push(reduce_later(&u, Sum, kernel!(|u, at| u[at][1]))?);
                }
                if *step == Step::Apart {
                    for tile in TileIter::new(&other) {
                        compute(&tile, &mut other, kernel!(|v, at| v[at] = v[at] + time))?;
                    }
                }
                low(&mut u, time)?;
                high(&mut u, time)?;
            }
        }
        other.fill_ghosts()?;
        across(&mut u, &other, time)?;
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let (a, b) = (u[at + [1, 1, -1]], u[at + [0, -1, 1]]);
                    let (c, d) = (u[at - [0, 0, 1]], u[at + [0, 0, 1]]);
                    next[at] = [0.25 * (a[0] + b[0] + c[0] + d[1]), 0.25 * (a[1] - b[1] + c[1] + d[0])];
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    for array in [&u, &next] {
        found.extend(array.read_box(array.domain())?.into_iter().flatten().map(f64::to_bits));
    }
    found.extend(other.read_box(other.domain())?.into_iter().map(f64::to_bits));
    for sum in sums {
        found.push(sum.get()?.to_bits());
    }
    Ok((found, acc.stats().joined))
}

fn builder() -> TileAccBuilder {
    TileAcc::builder().pause(std::time::Duration::from_secs(600)).compile(Compile::Wait)
}

/// The sweep sets both faces of the last axis, and those of each other axis are one launch, on a device that has
/// kernels of its own.
#[test]
fn several_run_as_one() {
    let Some(acc) = on_a_device(builder()) else { return };
    let native = acc.device() == Device::Sim;
    let (shape, all) = ([5, 7, 40], 6);
    // Both of the last axis go with each sweep but that before the first step, where the two are one launch. Those of
    // the other two axes are one launch each.
    let (first, after) = (1 + 2, (all - 1) * (2 + 2));
    let cases = [
        (1, Step::Walls, first + after),
        // The one from further in is not set by the sweep, nor opposite to one that is a launch of its own.
        (1, Step::Far, first + (all - 1) * (1 + 2)),
        // Not after other work.
        (1, Step::Apart, all * first),
        // A sum goes with the sweep.
        (1, Step::Summed, all * first + (all - 1)),
        // Several regions have several boxes.
        (5, Step::Walls, 0),
    ];
    for (regions, step, expected) in cases {
        let Some(acc) = on_a_device(builder()) else { return };
        let (found, joined) = run(&acc, shape, regions, &vec![step; all as usize]).unwrap();
        assert!(found == run(&on_cpu(), shape, regions, &vec![step; all as usize]).unwrap().0, "{step:?}");
        // A device whose kernels are native runs those of faces by themselves.
        let sums = if step == Step::Summed { all - 1 } else { 0 };
        assert_eq!(joined, if native { sums } else { expected }, "{regions} {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_steps_have_the_bits_of_the_cpu(
        steps in prop::collection::vec(prop::sample::select(ALL.to_vec()), 2..9),
        shape in [2_usize..9, 2_usize..9, 2_usize..70],
        fuse in any::<bool>(),
        waits in any::<bool>(),
    ) {
        let fuse = if fuse { Fuse::Auto } else { Fuse::Off };
        let builder = if waits { builder() } else { TileAcc::builder() };
        if let Some(acc) = on_a_device(builder.fuse(fuse)) {
            let (found, _) = run(&acc, shape, 1, &steps).unwrap();
            prop_assert!(found == run(&on_cpu(), shape, 1, &steps).unwrap().0);
        }
    }
}
