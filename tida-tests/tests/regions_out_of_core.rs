//! Arrays larger than the memory limit that are cut along several axes: the same bits as with all of them at hand.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::array::TileArrayBuilder;
use tida::prelude::*;

use tida_tests::{on_cpu, value, with_limit};

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: [usize; 3],
    ghost: usize,
    boundaries: [Boundary<f64>; 3],
    steps: usize,
    /// How much of the arrays fits, in percent: with 0, about the regions of one kernel.
    part: usize,
    fill_last: bool,
    look_ahead: usize,
    seed: u64,
}

fn builder(case: &Case) -> TileArrayBuilder<f64, 3> {
    let mut builder = TileArray::<f64, 3>::builder(case.shape).regions(case.regions).ghost(case.ghost);
    for (axis, boundary) in case.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    builder
}

/// Everything that the arrays hold in the end, ghosts included where they are as new as the cells.
fn heat(acc: &TileAcc, case: &Case) -> Result<(Vec<Vec<u64>>, f64), Error> {
    let mut u = builder(case).build(acc)?;
    u.fill(|at| value(case.seed, at))?;
    let mut coefficient = u.like()?;
    coefficient.fill(|at| 0.5 + 0.1 * value(case.seed + 1, at))?;
    let mut next = u.like()?;
    for step in 0..case.steps {
        u.fill_ghosts()?;
        let dt = 0.1 / (1 + step) as f64;
        for tile in TileIter::new(&u) {
            let args = (&mut next, &u, &coefficient);
            match case.ghost {
                0 => compute(&tile, args, kernel!(|next, u, k, at| next[at] = u[at] + dt * k[at] * u[at]))?,
                1 => compute(
                    &tile,
                    args,
                    kernel!(|next, u, k, at| {
                        let c = u[at];
                        let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        let corner = u[at + [1, 1, 1]] - u[at - [1, 1, 1]];
                        next[at] = c + dt * k[at] * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * c + corner);
                    }),
                )?,
                _ => compute(
                    &tile,
                    args,
                    kernel!(|next, u, k, at| {
                        let mut sum = 0.0;
                        for d in -2i64..=2 {
                            sum += u[at + [d, 0, 0]] + u[at + [0, d, 0]] + 0.5 * u[at + [0, 0, d]];
                        }
                        next[at] = u[at] + dt * k[at] * (sum - 12.5 * u[at + [1, -2, 1]]);
                    }),
                )?,
            }
        }
        // A second kernel a step, in place, in tiles that are smaller than regions.
        for tile in TileIter::new(&next).tile_size([3, 4, 100]) {
            compute(&tile, &mut next, kernel!(|next, at| next[at] = 0.999 * next[at] + 0.001))?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    // The host reads ghosts at faces, edges and corners.
    let mut seen = u.like()?;
    if case.fill_last {
        u.fill_ghosts()?;
        let g = case.ghost as i64;
        for tile in TileIter::new(&u).device(Device::Cpu) {
            compute(
                &tile,
                (&mut seen, &u),
                kernel!(|seen, u, at| {
                    let high = u[at + [g, 0, 0]] + 2.0 * u[at + [g, g, 0]] + 3.0 * u[at + [g, g, g]];
                    seen[at] = high + 4.0 * u[at - [g, 0, 0]] + 5.0 * u[at - [0, g, g]] + 6.0 * u[at - [g, g, g]];
                }),
            )?;
        }
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
    let mut all = Vec::new();
    for array in [&u, &coefficient, &seen, &next] {
        all.push(array.to_ndarray()?.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    }
    Ok((all, sum))
}

/// Bytes of each region of an array, at most.
fn region_bytes<const D: usize>(array: &TileArray<f64, D>) -> Vec<usize> {
    let bytes = |region: usize| {
        let extent = array.grown_box(region).unwrap().extent();
        let rows: usize = extent[..D - 1].iter().product();
        ((rows + 1) * (extent[D - 1].next_multiple_of(16) + 16) * 8).next_multiple_of(1024) + 1024
    };
    (0..array.regions()).map(bytes).collect()
}

/// A limit between the regions of one kernel on three arrays, with their strips, and all of the arrays.
fn limit(regions: &[usize], part: usize) -> usize {
    let (largest, all) = (*regions.iter().max().unwrap(), 3 * regions.iter().sum::<usize>());
    let least = 5 * largest;
    least + all.saturating_sub(least) * part / 100
}

/// Compares with the CPU; whether any of it went through a chain.
fn check(case: &Case) -> bool {
    let cpu = on_cpu();
    let limit = limit(&region_bytes(&builder(case).build(&cpu).unwrap()), case.part);
    let Some(acc) = with_limit(limit as u64, case.look_ahead) else { return true };
    let expected = heat(&cpu, case).unwrap();
    let found = heat(&acc, case).unwrap_or_else(|error| panic!("{error} of {case:?}"));
    for (n, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
        let first = found.iter().zip(expected).position(|(a, b)| a != b);
        let [_, ny, nx] = case.shape;
        let place = first.map(|cell| [cell / ny / nx, cell / nx % ny, cell % nx]);
        assert_eq!(place, None, "the first cell that differs of array {n} of {case:?}");
    }
    assert_eq!(found.1.to_bits(), expected.1.to_bits(), "the sum of {case:?}");
    acc.stats().passes > 0
}

fn case() -> Case {
    Case {
        shape: [12, 10, 130],
        regions: [3, 2, 2],
        ghost: 1,
        boundaries: [Boundary::Fixed(1.0), Boundary::Fixed(2.0), Boundary::Fixed(3.0)],
        steps: 4,
        part: 20,
        fill_last: true,
        look_ahead: 256,
        seed: 7,
    }
}

#[test]
fn cuts_along_two_and_three_axes_give_the_same_bits() {
    assert!(check(&case()));
    assert!(check(&Case { part: 0, ..case() }));
    assert!(check(&Case { regions: [1, 3, 1], part: 0, ..case() }));
    assert!(check(&Case { regions: [3, 3, 1], part: 20, steps: 1, ..case() }));
    assert!(check(&Case { ghost: 0, fill_last: false, ..case() }));
    assert!(check(&Case { ghost: 2, part: 5, fill_last: false, ..case() }));
}

#[test]
fn every_boundary_gives_the_same_bits() {
    assert!(check(&Case { boundaries: [Boundary::Periodic; 3], ..case() }));
    assert!(check(&Case { boundaries: [Boundary::Periodic; 3], ghost: 2, part: 0, regions: [3, 2, 2], ..case() }));
    let mixed = [Boundary::ReflectOdd, Boundary::Periodic, Boundary::Fixed(0.5)];
    assert!(check(&Case { boundaries: mixed, ..case() }));
    let mixed = [Boundary::Extrapolate(1), Boundary::ReflectEven, Boundary::Periodic];
    assert!(check(&Case { boundaries: mixed, ghost: 2, ..case() }));
}

fn boundary() -> impl Strategy<Value = Boundary<f64>> {
    prop_oneof![
        2 => Just(Boundary::Periodic),
        1 => (0.0..2.0).prop_map(Boundary::Fixed),
        1 => Just(Boundary::ReflectEven),
        1 => Just(Boundary::ReflectOdd),
        1 => (0u8..=1).prop_map(Boundary::Extrapolate),
    ]
}

#[test]
fn random_runs_give_the_same_bits() {
    const CASES: u32 = 48;
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: CASES, ..Default::default() });
    let moved = std::cell::Cell::new(0);
    let shapes = ((4usize..16, 4usize..12, 4usize..200), (1usize..=3, 2usize..5, 1usize..4), 0usize..=2);
    let runs = (1usize..6, 0usize..70, any::<bool>(), prop_oneof![Just(1usize), Just(5), Just(256)], any::<u64>());
    let ran = runner.run(&(shapes, [boundary(), boundary(), boundary()], runs), |(shape, boundaries, run)| {
        let ((nz, ny, nx), (rz, ry, rx), ghost) = shape;
        let (steps, part, fill_last, look_ahead, seed) = run;
        let (shape, regions) = ([nz, ny, nx], [rz.min(nz / 2), ry.min(ny / 2), rx.min(nx / 64).max(1)]);
        let case = Case { shape, regions, ghost, boundaries, steps, part, fill_last, look_ahead, seed: seed >> 8 };
        moved.set(moved.get() + u32::from(check(&case)));
        Ok(())
    });
    ran.unwrap();
    println!("{} of {CASES} runs went through chains", moved.get());
    assert!(moved.get() >= CASES / 4, "{} of {CASES} runs went through chains", moved.get());
}

/// A step of a random program over cell-centred arrays `a`, one of faces along the first axis and one along the second.
#[derive(Clone, Copy, Debug)]
enum Step {
    Scale {
        to: usize,
    },
    Blur {
        to: usize,
        from: usize,
        kind: u8,
    },
    Blend {
        to: usize,
        from: usize,
        by: usize,
    },
    /// Only a part of the cells: sixteenths of each axis.
    Part {
        to: usize,
        from: usize,
        lo: [u8; 2],
        hi: [u8; 2],
    },
    Gradient {
        along: bool,
        from: usize,
    },
    Divergence {
        along: bool,
        to: usize,
    },
    Ghosts {
        of: usize,
    },
    Read {
        of: usize,
    },
    Write {
        to: usize,
        plane: u8,
    },
    Sum {
        of: usize,
    },
    Swap {
        a: usize,
        b: usize,
    },
}

#[derive(Clone, Debug)]
struct Program {
    shape: [usize; 2],
    regions: [usize; 2],
    boundaries: [Boundary<f64>; 2],
    part: usize,
    look_ahead: usize,
    steps: Vec<Step>,
}

const ARRAYS: usize = 3;

fn other(of: usize, by: usize) -> usize {
    (of + 1 + by % (ARRAYS - 1)) % ARRAYS
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0..ARRAYS;
    prop_oneof![
        2 => n().prop_map(|to| Step::Scale { to }),
        5 => (n(), n(), 0u8..6).prop_map(|(to, by, kind)| Step::Blur { to, from: other(to, by), kind }),
        2 => n().prop_map(|to| Step::Blend { to, from: other(to, 0), by: other(to, 1) }),
        2 => (n(), n(), any::<[u8; 2]>(), any::<[u8; 2]>()).prop_map(|(to, by, lo, hi)| {
            Step::Part { to, from: other(to, by), lo: lo.map(|x| x % 10), hi: hi.map(|x| 10 + x % 7) }
        }),
        2 => (any::<bool>(), n()).prop_map(|(along, from)| Step::Gradient { along, from }),
        2 => (any::<bool>(), n()).prop_map(|(along, to)| Step::Divergence { along, to }),
        1 => n().prop_map(|of| Step::Ghosts { of }),
        1 => n().prop_map(|of| Step::Read { of }),
        1 => (n(), any::<u8>()).prop_map(|(to, plane)| Step::Write { to, plane }),
        1 => n().prop_map(|of| Step::Sum { of }),
        1 => (n(), n()).prop_map(|(a, by)| Step::Swap { a, b: other(a, by) }),
    ]
}

fn program() -> impl Strategy<Value = Program> {
    let steps = proptest::collection::vec(step(), 4..24);
    // Cut along the first axis alone too: what cannot go by planes goes by regions.
    let regions = (1usize..5, prop_oneof![1 => Just(1usize), 5 => 2usize..5]);
    let run = (0usize..60, prop_oneof![Just(2usize), Just(256)], steps);
    ((8usize..40, 8usize..300), regions, [boundary(), boundary()], run).prop_map(
        |(shape, regions, boundaries, (part, look_ahead, steps))| Program {
            shape: [shape.0, shape.1],
            regions: [regions.0.min(shape.0 / 2), regions.1.min(shape.1 / 64).max(1)],
            boundaries,
            part,
            look_ahead,
            steps,
        },
    )
}

fn blur(tile: &Tile<2>, to: &mut TileArray<f64, 2>, from: &TileArray<f64, 2>, kind: u8) -> Result<(), Error> {
    let args = (to, from);
    match kind {
        0 => compute(
            tile,
            args,
            kernel!(|to, u, at| to[at] = 0.25 * (u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]])),
        ),
        1 => compute(tile, args, kernel!(|to, u, at| to[at] = 0.5 * u[at + [2, 2]] + 0.25 * u[at - [2, 2]])),
        2 => compute(tile, args, kernel!(|to, u, at| to[at] += 0.1 * u[at + [1, -1]])),
        3 => compute(
            tile,
            args,
            kernel!(|to, u, at| {
                if at[1] % 3 != 0 {
                    to[at] = 0.9 * u[at - [1, 2]];
                }
            }),
        ),
        // No range of planes is known of this one.
        4 => compute(tile, args, kernel!(|to, u, at| to[at] = 0.8 * u[at + [at[0] * at[0] % 2, 1]])),
        _ => compute(tile, args, kernel!(|to, u, at| to[at] = 0.7 * u[at + [0, 2]] + 0.2 * u[at])),
    }
}

fn build(acc: &TileAcc, program: &Program, centering: [Centering; 2]) -> Result<TileArray<f64, 2>, Error> {
    let mut builder =
        TileArray::<f64, 2>::builder(program.shape).regions(program.regions).ghost(2).centering(centering);
    for (axis, boundary) in program.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    builder.build(acc)
}

/// All that a program leaves and gives on the way.
fn run(acc: &TileAcc, program: &Program) -> Result<Vec<u64>, Error> {
    let mut a = Vec::new();
    for n in 0..ARRAYS {
        let mut array = build(acc, program, [Centering::Cell; 2])?;
        array.fill(|[j, i]| value(n as u64, [j, i, 0]))?;
        a.push(array);
    }
    let mut faces = [
        build(acc, program, [Centering::Face, Centering::Cell])?,
        build(acc, program, [Centering::Cell, Centering::Face])?,
    ];
    let mut seen = Vec::new();
    let all = |array: &TileArray<f64, 2>| array.read_box(array.domain());
    for step in &program.steps {
        match *step {
            Step::Blur { from, .. } | Step::Part { from, .. } | Step::Gradient { from, .. } => a[from].fill_ghosts()?,
            _ => {}
        }
        let mut refused = false;
        match *step {
            Step::Scale { to } => {
                for tile in TileIter::new(&a[to]) {
                    compute(&tile, &mut a[to], kernel!(|u, at| u[at] = 0.99 * u[at] + 0.01))?;
                }
            }
            Step::Blur { to, from, kind } => {
                let [to, from] = a.get_disjoint_mut([to, from]).unwrap();
                for tile in TileIter::new(to) {
                    refused |= blur(&tile, to, from, kind).is_err();
                }
            }
            Step::Part { to, from, lo, hi } => {
                let [to, from] = a.get_disjoint_mut([to, from]).unwrap();
                let at_part = |part: [u8; 2]| [0, 1].map(|d| program.shape[d] as i64 * i64::from(part[d]) / 16);
                for tile in TileIter::new(to).within(at_part(lo), at_part(hi)) {
                    refused |= blur(&tile, to, from, 0).is_err();
                }
            }
            Step::Blend { to, from, by } => {
                let [to, from, by] = a.get_disjoint_mut([to, from, by]).unwrap();
                for tile in TileIter::new(to).tile_size([7, 100]) {
                    let args = (&mut *to, &*from, &*by);
                    compute(&tile, args, kernel!(|to, u, v, at| to[at] = 0.5 * u[at] + 0.4 * v[at]))?;
                }
            }
            Step::Gradient { along, from } => {
                let face = &mut faces[along as usize];
                for tile in TileIter::new(&*face) {
                    let args = (&mut *face, &a[from]);
                    refused |= match along {
                        false => compute(&tile, args, kernel!(|face, u, at| face[at] = u[at] - u[at - [1, 0]])),
                        true => compute(&tile, args, kernel!(|face, u, at| face[at] = u[at] - u[at - [0, 1]])),
                    }
                    .is_err();
                }
            }
            Step::Divergence { along, to } => {
                faces[along as usize].fill_ghosts()?;
                for tile in TileIter::new(&a[to]) {
                    let args = (&mut a[to], &faces[along as usize]);
                    match along {
                        false => compute(&tile, args, kernel!(|u, f, at| u[at] += 0.1 * (f[at + [1, 0]] - f[at])))?,
                        true => compute(&tile, args, kernel!(|u, f, at| u[at] += 0.1 * (f[at + [0, 1]] - f[at])))?,
                    }
                }
            }
            Step::Ghosts { of } => a[of].fill_ghosts()?,
            Step::Read { of } => seen.extend(all(&a[of])?.into_iter().map(f64::to_bits)),
            Step::Write { to, plane } => {
                let plane = (plane as usize % program.shape[0]) as i64;
                let row: Vec<f64> = (0..program.shape[1]).map(|i| i as f64 / 7.0).collect();
                a[to].write_box(GridBox::new([plane, 0], [plane + 1, row.len() as i64]), &row)?;
            }
            Step::Sum { of } => seen.push(reduce(&a[of], Sum, kernel!(|u, at| u[at]))?.to_bits()),
            Step::Swap { a: one, b } => a.swap(one, b),
        }
        seen.push(refused as u64);
    }
    for array in a.iter().chain(&faces) {
        seen.extend(all(array)?.into_iter().map(f64::to_bits));
    }
    Ok(seen)
}

#[test]
fn random_programs_give_the_same_bits() {
    const CASES: u32 = 80;
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: CASES, ..Default::default() });
    let moved = std::cell::Cell::new(0);
    let ran = runner.run(&program(), |program| {
        let cpu = on_cpu();
        let faces = build(&cpu, &program, [Centering::Face; 2]).unwrap();
        let Some(acc) = with_limit(limit(&region_bytes(&faces), program.part) as u64, program.look_ahead) else {
            moved.set(CASES);
            return Ok(());
        };
        match (run(&cpu, &program), run(&acc, &program)) {
            (Ok(here), Ok(there)) => {
                let first = here.iter().zip(&there).position(|(a, b)| a != b);
                prop_assert_eq!((first, here.len()), (None, there.len()));
            }
            (Err(here), Err(there)) => prop_assert_eq!(here.kind(), there.kind()),
            // Windows of planes may need more than there is; regions do not.
            (Ok(_), Err(there)) => prop_assert!(
                there.kind() == ErrorKind::Memory && there.tried().contains("a window of planes"),
                "on the device alone: {}",
                there
            ),
            (Err(here), Ok(_)) => prop_assert!(false, "on the host alone: {}", here),
        }
        moved.set(moved.get() + u32::from(acc.stats().passes > 0));
        Ok(())
    });
    ran.unwrap();
    println!("{} of {CASES} programs went through chains", moved.get());
    assert!(moved.get() >= CASES / 4, "{} of {CASES} programs went through chains", moved.get());
}

/// A chain gives its room back at any time: one that ends while work that needs whole arrays is recorded once left that
/// work without room for them.
#[test]
fn a_chain_that_ends_while_work_is_recorded_leaves_its_room_to_it() {
    use Step::{Blur, Divergence, Ghosts, Gradient, Part, Scale};
    let steps = vec![
        Blur { to: 0, from: 1, kind: 4 },
        Scale { to: 2 },
        Divergence { along: false, to: 0 },
        Ghosts { of: 2 },
        Part { to: 0, from: 2, lo: [9, 8], hi: [16, 13] },
        Blur { to: 2, from: 0, kind: 4 },
        Gradient { along: true, from: 0 },
    ];
    let boundaries = [Boundary::Periodic, Boundary::Extrapolate(0)];
    let program = Program { shape: [34, 104], regions: [4, 1], boundaries, part: 20, look_ahead: 2, steps };
    let cpu = on_cpu();
    let faces = build(&cpu, &program, [Centering::Face; 2]).unwrap();
    let limit = limit(&region_bytes(&faces), program.part) as u64;
    let expected = run(&cpu, &program).unwrap();
    for _ in 0..100 {
        let Some(acc) = with_limit(limit, program.look_ahead) else { return };
        assert!(run(&acc, &program).unwrap() == expected, "the bits of {program:?}");
    }
}

/// A pair of elements, moved as its components.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    height: f64,
    flow: [f32; 2],
    flag: u8,
}

#[test]
fn elements_of_several_components_give_the_same_bits() {
    let run = |acc: &TileAcc| -> Vec<Wave> {
        let builder = TileArray::<Wave, 2>::builder([24, 200]).regions([3, 3]).ghost(1).boundary(Boundary::Periodic);
        let mut u = builder.build(acc).unwrap();
        u.fill(|[j, i]| {
            let x = value(3, [j, i, 0]);
            Wave { height: x, flow: [0.5 * x as f32, 1.0 - x as f32], flag: (i % 5) as u8 }
        })
        .unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..5 {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        next[at].height = 0.5 * (u[at + [1, 1]].height + u[at - [1, 1]].height);
                        next[at].flow = u[at + [0, 1]].flow;
                        next[at].flag = u[at - [1, 0]].flag;
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap()
    };
    // Both arrays take 2 · 9 regions of about 7 KiB.
    let Some(acc) = with_limit(60 << 10, 256) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
    assert!(acc.stats().passes > 0);
}
