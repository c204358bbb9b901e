//! Steps of arrays of several components that run as one launch, beside boundaries and beside kernels that set ghosts:
//! the bits of single steps on the CPU.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

use std::time::Duration;

use tida::acc::{Compile, TileAccBuilder};
use tida::prelude::*;
use tida::{Fuse, SimDevice};
use tida_tests::{on_a_device, on_cpu, value};

/// Density, momentum and energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Element)]
struct Flow {
    rho: f64,
    momentum: [f64; 2],
    energy: f64,
}

type Array = TileArray<Flow, 2>;

const STEPS: usize = 13;

/// What is beyond the faces of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walls {
    /// Kernels set all of it: momentum across a wall is turned around.
    Closed,
    /// The last axis is closed, the first one periodic; the captured value changes from step to step.
    Channel,
    /// The last axis is closed, beyond the first one there are fixed values.
    Duct,
    /// A fill sets it: periodic along the last axis, the nearest cell along the first.
    Filled,
    /// Fixed values.
    Fixed,
}

impl Walls {
    fn build(self, acc: &TileAcc, shape: [usize; 2]) -> Array {
        let flow = Flow { rho: 1.25, momentum: [0.25, -0.5], energy: 2.0 };
        let builder = Array::builder(shape).ghost(1);
        let builder = match self {
            Walls::Closed => builder,
            Walls::Channel => builder.boundary_axis(0, Boundary::Periodic),
            Walls::Filled => builder.boundary_axis(0, Boundary::Extrapolate(0)).boundary_axis(1, Boundary::Periodic),
            Walls::Fixed => builder.boundary(Boundary::Fixed(flow)),
            Walls::Duct => builder.boundary_axis(0, Boundary::Fixed(flow)),
        };
        builder.build(acc).unwrap()
    }

    fn set(self, u: &mut Array, time: f64) -> tida::Result<()> {
        u.fill_ghosts()?;
        if matches!(self, Walls::Filled | Walls::Fixed) {
            return Ok(());
        }
        fill_ghosts_with(
            (1, Side::Low),
            &mut *u,
            kernel!(|u, at| {
                u[at] = u[at + [0, 1]];
                u[at].momentum[1] = -u[at + [0, 1]].momentum[1];
            }),
        )?;
        fill_ghosts_with(
            (1, Side::High),
            &mut *u,
            kernel!(|u, at| {
                let inside = u[at - [0, 1]];
                u[at].rho = inside.rho;
                u[at].momentum[0] = if inside.momentum[0] > 0.0 { time - inside.momentum[0] } else { time };
                u[at].momentum[1] = -inside.momentum[1];
                u[at].energy = 0.5 * (inside.energy + u[at - [0, 2]].energy);
            }),
        )?;
        if matches!(self, Walls::Channel | Walls::Duct) {
            return Ok(());
        }
        fill_ghosts_with(
            (0, Side::Low),
            &mut *u,
            kernel!(|u, at| {
                let inside = u[at + [1, 0]];
                u[at] = inside;
                u[at].momentum[0] = -inside.momentum[0] + 0.001 * at[1] as f64;
            }),
        )?;
        fill_ghosts_with(
            (0, Side::High),
            &mut *u,
            kernel!(|u, at| {
                u[at] = u[at - [1, 0]];
                u[at].momentum[0] = -u[at - [1, 0]].momentum[0];
            }),
        )
    }
}

/// A step, with cells aside along both axes at once or not.
fn step(u: &Array, next: &mut Array, rate: f64, corners: bool) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        match corners {
            true => compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    let aside = 0.25 * (u[at + [1, 1]].energy + u[at - [1, 1]].rho) + u[at + [-1, 1]].momentum[0];
                    next[at].rho = 0.5 * u[at].rho + rate * (u[at + [0, 1]].momentum[1] - u[at - [0, 1]].momentum[1]);
                    next[at].momentum[0] = 0.5 * u[at].momentum[0] + rate * aside;
                    next[at].momentum[1] = 0.25 * (u[at + [1, -1]].momentum[1] - u[at - [1, 0]].momentum[0]);
                    next[at].energy = 0.5 * u[at].energy + 0.125 * u[at + [1, 0]].rho;
                }),
            )?,
            false => compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    let (low, high, left, right) = (u[at - [1, 0]], u[at + [1, 0]], u[at - [0, 1]], u[at + [0, 1]]);
                    let flow = high.momentum[0] - low.momentum[0] + right.momentum[1] - left.momentum[1];
                    next[at].rho = 0.25 * (low.rho + high.rho + left.rho + right.rho) - rate * flow;
                    next[at].momentum[0] = 0.5 * u[at].momentum[0] - rate * (high.energy - low.energy);
                    next[at].momentum[1] = 0.5 * u[at].momentum[1] - rate * (right.energy - left.energy);
                    next[at].energy = 0.25 * (low.energy + high.energy + left.energy + right.energy);
                }),
            )?,
        }
    }
    Ok(())
}

fn run(acc: &TileAcc, shape: [usize; 2], walls: Walls, corners: bool) -> Vec<u64> {
    let (mut u, mut next) = (walls.build(acc, shape), walls.build(acc, shape));
    u.fill(|[row, column]| {
        let of = |n| value(n, [row, column, 0]);
        Flow { rho: of(1), momentum: [of(2) - 1.0, of(3) - 1.0], energy: of(4) }
    })
    .unwrap();
    for number in 0..STEPS {
        walls.set(&mut u, 0.125 * number as f64).unwrap();
        step(&u, &mut next, 0.0625, corners).unwrap();
        std::mem::swap(&mut u, &mut next);
    }
    let both = [&u, &next].map(|array| array.read_box(array.domain()).unwrap());
    let values = both.into_iter().flatten().flat_map(|Flow { rho, momentum: [a, b], energy }| [rho, a, b, energy]);
    values.map(f64::to_bits).collect()
}

fn builder() -> TileAccBuilder {
    let for_ever = Duration::from_secs(600);
    TileAcc::builder().pause(for_ever).patience(for_ever).compile(Compile::Wait).fuse(Fuse::Steps(3)).threads(2)
}

/// Compares with the CPU, and gives how many steps ran with others, on each device.
fn fused(builder: impl Fn() -> TileAccBuilder, shape: [usize; 2], walls: Walls, corners: bool) -> Vec<u64> {
    let expected = run(&on_cpu(), shape, walls, corners);
    let simulated = builder().simulate(SimDevice::new()).build().unwrap();
    let devices = [simulated].into_iter().chain(on_a_device(builder()));
    let each = devices.map(|acc| {
        let found = run(&acc, shape, walls, corners);
        let wrong = found.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!((wrong, found.len()), (None, expected.len()), "{walls:?} {corners} {:?}", acc.device());
        acc.stats().fused_steps
    });
    each.collect()
}

#[test]
fn steps_run_together() {
    for walls in [Walls::Closed, Walls::Channel, Walls::Duct, Walls::Filled, Walls::Fixed] {
        for corners in [false, true] {
            let steps = fused(builder, [11, 37], walls, corners);
            assert!(steps.iter().all(|steps| *steps >= 9), "{steps:?} of {STEPS} steps, {walls:?} {corners}");
        }
    }
}

/// Arrays for which the device has no room: a pass over the link serves several steps.
#[test]
fn steps_over_planes_that_stream_run_together() {
    let shape = [96, 64];
    let bytes = 2 * (shape[0] + 2) as u64 * 80 * 32;
    for walls in [Walls::Closed, Walls::Fixed] {
        for corners in [false, true] {
            let steps = fused(|| builder().memory_limit(bytes / 2), shape, walls, corners);
            assert!(walls == Walls::Fixed || steps.iter().all(|steps| *steps >= 9), "{steps:?} of {STEPS} steps");
        }
        fused(|| builder().memory_limit(bytes / 4), shape, walls, false);
    }
}

/// What a model says of such cells was not measured: they run together if it is asked for.
#[test]
fn steps_of_several_components_are_asked_for() {
    let automatic = || builder().fuse(Fuse::Auto);
    assert!(fused(automatic, [11, 37], Walls::Closed, false).iter().all(|steps| *steps == 0));
}

/// Complex numbers are two components of one type.
#[cfg(feature = "num-complex")]
#[test]
fn steps_of_complex_numbers_run_together() {
    use tida::num_complex::Complex64;
    let turn = Complex64::new(0.3, 0.4);
    let run = |acc: &TileAcc| {
        let builder = TileArray::<Complex64, 2>::builder([11, 37]).ghost(1).boundary(Boundary::Periodic);
        let mut u = builder.build(acc).unwrap();
        u.fill(|[row, column]| Complex64::new(value(1, [row, column, 0]), value(2, [row, column, 0]) - 1.0)).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..STEPS {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(&tile, (&mut next, &u), kernel!(|v, u, at| v[at] = turn * (u[at - [1, 0]] + u[at + [1, 1]])))
                    .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        let cells = u.read_box(u.domain()).unwrap();
        cells.iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<u64>>()
    };
    let simulated = builder().simulate(SimDevice::new()).build().unwrap();
    for acc in [simulated].into_iter().chain(on_a_device(builder())) {
        assert_eq!(run(&acc), run(&on_cpu()), "{:?}", acc.device());
        assert!(acc.stats().fused_steps >= 9, "{} of {STEPS} steps", acc.stats().fused_steps);
    }
}
