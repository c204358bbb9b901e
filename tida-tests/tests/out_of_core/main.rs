//! Arrays larger than the memory limit: the same bits as with all of them at hand, in fewer bytes over the link.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

mod cells;

use proptest::prelude::*;
use tida::prelude::*;

use cells::{Cells, Floats, Waves};
use tida_tests::{on_cpu, value, with_limit};

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: usize,
    ghost: usize,
    boundaries: [Boundary<f64>; 3],
    steps: usize,
    /// Planes of each array that fit.
    planes: usize,
    /// Fill the ghosts once more at the end.
    fill_last: bool,
    look_ahead: usize,
    seed: u64,
}

/// Everything that the arrays hold in the end, ghosts included where they are as new as the cells.
fn heat(acc: &TileAcc, case: &Case) -> (Vec<Vec<u64>>, f64) {
    let mut builder = TileArray::<f64, 3>::builder(case.shape).regions([case.regions, 1, 1]).ghost(case.ghost);
    for (axis, boundary) in case.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(case.seed, at)).unwrap();
    let mut coefficient = u.like().unwrap();
    coefficient.fill(|at| 0.5 + 0.1 * value(case.seed + 1, at)).unwrap();
    let mut next = u.like().unwrap();
    for step in 0..case.steps {
        u.fill_ghosts().unwrap();
        let dt = 0.1 / (1 + step) as f64;
        for tile in TileIter::new(&u) {
            if case.ghost == 1 {
                compute(
                    &tile,
                    (&mut next, &u, &coefficient),
                    kernel!(|next, u, k, at| {
                        let c = u[at];
                        let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        next[at] = c + dt * k[at] * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * c);
                    }),
                )
                .unwrap();
            } else {
                compute(
                    &tile,
                    (&mut next, &u, &coefficient),
                    kernel!(|next, u, k, at| {
                        let mut sum = 0.0;
                        for d in -2i64..=2 {
                            sum += u[at + [d, 0, 0]] + u[at + [0, d, 0]] + 0.5 * u[at + [0, 0, d]];
                        }
                        next[at] = u[at] + dt * k[at] * (sum - 12.5 * u[at + [1, -1, 1]]);
                    }),
                )
                .unwrap();
            }
        }
        // A second kernel a step, in place.
        for tile in TileIter::new(&next) {
            compute(&tile, &mut next, kernel!(|next, at| next[at] = 0.999 * next[at] + 0.001)).unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    // The host reads ghosts at faces, edges and corners.
    let mut seen = u.like().unwrap();
    if case.fill_last {
        u.fill_ghosts().unwrap();
        let g = case.ghost as i64;
        for tile in TileIter::new(&u).device(Device::Cpu) {
            compute(
                &tile,
                (&mut seen, &u),
                kernel!(|seen, u, at| {
                    let high = u[at + [g, 0, 0]] + 2.0 * u[at + [g, g, 0]] + 3.0 * u[at + [g, g, g]];
                    seen[at] = high + 4.0 * u[at - [g, 0, 0]] + 5.0 * u[at - [0, g, g]] + 6.0 * u[at - [g, g, g]];
                }),
            )
            .unwrap();
        }
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    let bits = |array: &TileArray<f64, 3>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let mut all = vec![bits(&u), bits(&coefficient), bits(&seen)];
    if case.steps > 0 {
        all.push(bits(&next));
    }
    (all, sum)
}

/// Bytes of a plane of one array, about.
fn plane_bytes(case: &Case) -> usize {
    (case.shape[1] + 2 * case.ghost) * (case.shape[2] + 2 * case.ghost).next_multiple_of(16) * 8
}

fn check(case: &Case) -> bool {
    let limit = plane_bytes(case) * 3 * case.planes;
    let Some(acc) = with_limit(limit as u64, case.look_ahead) else { return true };
    let expected = heat(&on_cpu(), case);
    let found = heat(&acc, case);
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
        shape: [40, 12, 20],
        regions: 4,
        ghost: 1,
        boundaries: [Boundary::Fixed(1.0), Boundary::Fixed(2.0), Boundary::Fixed(3.0)],
        steps: 7,
        planes: 20,
        fill_last: false,
        look_ahead: 256,
        seed: 7,
    }
}

#[test]
fn fixed_boundaries_give_the_same_bits() {
    assert!(check(&case()));
    assert!(check(&Case { steps: 1, planes: 12, ..case() }));
    assert!(check(&Case { regions: 1, fill_last: true, ..case() }));
}

#[test]
fn other_boundaries_give_the_same_bits() {
    let mixed = [Boundary::ReflectOdd, Boundary::Periodic, Boundary::Fixed(0.5)];
    assert!(check(&Case { boundaries: mixed, fill_last: true, ..case() }));
    let mixed = [Boundary::Extrapolate(1), Boundary::ReflectEven, Boundary::Periodic];
    assert!(check(&Case { boundaries: mixed, steps: 3, ghost: 2, planes: 30, ..case() }));
    assert!(check(&Case { boundaries: [Boundary::Periodic; 3], steps: 3, ..case() }));
}

/// Ends that belong together: several steps a pass all the same.
#[test]
fn periodic_arrays_are_skewed() {
    let periodic = Case { boundaries: [Boundary::Periodic; 3], steps: 12, ..case() };
    for (name, case) in [
        ("all axes", periodic.clone()),
        ("one region", Case { regions: 1, fill_last: true, ..periodic.clone() }),
        (
            "the first axis",
            Case { boundaries: [Boundary::Periodic, Boundary::Fixed(2.0), Boundary::ReflectOdd], ..periodic.clone() },
        ),
        ("two ghosts", Case { ghost: 2, shape: [50, 9, 12], planes: 30, fill_last: true, ..periodic.clone() }),
        ("few planes", Case { shape: [14, 12, 20], planes: 10, ..periodic.clone() }),
        ("chains that end early", Case { look_ahead: 9, ..periodic.clone() }),
    ] {
        let expected = heat(&on_cpu(), &case);
        // A recorder that is kept waiting ends chains early.
        let mut tries = 0;
        loop {
            let Some(acc) = with_limit((plane_bytes(&case) * 3 * case.planes) as u64, case.look_ahead) else { return };
            assert!(heat(&acc, &case) == expected, "{name}");
            let stats = acc.stats();
            println!("{name}: {stats}");
            if stats.passes > 0 && stats.steps > 2 * stats.passes {
                break;
            }
            tries += 1;
            assert!(tries < 20, "{name}: {stats}");
        }
    }
}

fn boundary() -> impl Strategy<Value = Boundary<f64>> {
    prop_oneof![
        Just(Boundary::Periodic),
        (0.0..2.0).prop_map(Boundary::Fixed),
        Just(Boundary::ReflectEven),
        Just(Boundary::ReflectOdd),
        (0u8..=1).prop_map(Boundary::Extrapolate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_give_the_same_bits(
        shape in (12usize..50, 3usize..9, 3usize..20),
        regions in 1usize..5,
        ghost in 1usize..=2,
        boundaries in [boundary(), boundary(), boundary()],
        steps in 0usize..9,
        planes in 16usize..54,
        fill_last: bool,
        look_ahead in prop_oneof![Just(1usize), Just(5), Just(256)],
        seed: u64,
    ) {
        let shape = [shape.0, shape.1, shape.2];
        check(&Case { shape, regions, ghost, boundaries, steps, planes, fill_last, look_ahead, seed: seed >> 8 });
    }
}

/// A step of a random program over cell-centred arrays `a`, one of faces along the first axis and one along the second.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// In place, at the cell.
    Scale {
        to: usize,
    },
    /// From another array, as far to both sides as the reach `kind` says.
    Blur {
        to: usize,
        from: usize,
        kind: u8,
    },
    /// From two others.
    Blend {
        to: usize,
        from: usize,
        by: usize,
    },
    /// Only some planes, and some cells of each: parts of 16 of each axis.
    Part {
        to: usize,
        from: usize,
        lo: [u8; 2],
        hi: [u8; 2],
    },
    /// Differences at faces, along either axis.
    Gradient {
        along: bool,
        from: usize,
    },
    /// What they change in the cells between them, in place.
    Divergence {
        along: bool,
        to: usize,
    },
    Ghosts {
        of: usize,
    },
    /// The host reads everything.
    Read {
        of: usize,
    },
    /// The host writes a plane.
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
    regions: usize,
    boundaries: [Boundary<f64>; 2],
    /// Planes of each array that fit.
    planes: usize,
    look_ahead: usize,
    steps: Vec<Step>,
    /// Every stencil has its ghosts filled first.
    fill: bool,
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
    let run =
        (20usize..60, prop_oneof![Just(2usize), Just(256)], steps, prop_oneof![4 => Just(true), 1 => Just(false)]);
    let first = prop_oneof![1 => Just(Boundary::Periodic), 2 => boundary()];
    ((20usize..70, 4usize..24), 1usize..7, (first, boundary()), run).prop_map(
        |(shape, regions, boundaries, (planes, look_ahead, steps, fill))| {
            let (shape, boundaries) = ([shape.0, shape.1], [boundaries.0, boundaries.1]);
            Program { shape, regions, boundaries, planes, look_ahead, steps, fill }
        },
    )
}

/// All that a program leaves and gives on the way.
fn run<C: Cells>(acc: &TileAcc, program: &Program) -> Result<Vec<u64>, Error> {
    let build = |centering| {
        let mut builder =
            TileArray::<C::Cell, 2>::builder(program.shape).regions([program.regions, 1]).ghost(2).centering(centering);
        for (axis, boundary) in program.boundaries.iter().enumerate() {
            builder = builder.boundary_axis(axis, C::boundary(boundary));
        }
        builder.build(acc)
    };
    let mut a = Vec::new();
    for n in 0..ARRAYS {
        let mut array = build([Centering::Cell; 2])?;
        array.fill(|[j, i]| C::make(value(n as u64, [j, i, 0])))?;
        a.push(array);
    }
    let mut faces = [build([Centering::Face, Centering::Cell])?, build([Centering::Cell, Centering::Face])?];
    let mut seen = Vec::new();
    let all = |array: &TileArray<C::Cell, 2>| array.read_box(array.domain());
    for step in &program.steps {
        // The array that it writes leaves the list meanwhile.
        let to = match *step {
            Step::Scale { to } | Step::Blur { to, .. } | Step::Blend { to, .. } | Step::Part { to, .. } => to,
            _ => 0,
        };
        if let (Step::Blur { from, .. } | Step::Part { from, .. } | Step::Gradient { from, .. }, true) =
            (*step, program.fill)
        {
            a[from].fill_ghosts()?;
        }
        let mut target = a.swap_remove(to);
        let at = |n: usize| if n + 1 == ARRAYS { to } else { n };
        let mut refused = false;
        match *step {
            Step::Scale { .. } => {
                for tile in TileIter::new(&target) {
                    C::scale(&tile, &mut target)?;
                }
            }
            Step::Blur { from, kind, .. } => {
                for tile in TileIter::new(&target) {
                    refused |= C::blur(&tile, &mut target, &a[at(from)], kind).is_err();
                }
            }
            Step::Blend { from, by, .. } => {
                for tile in TileIter::new(&target).tile_size([7, 100]) {
                    C::blend(&tile, &mut target, &a[at(from)], &a[at(by)])?;
                }
            }
            Step::Part { from, lo, hi, .. } => {
                let at_part = |part: [u8; 2]| [0, 1].map(|d| program.shape[d] as i64 * i64::from(part[d]) / 16);
                for tile in TileIter::new(&target).within(at_part(lo), at_part(hi)) {
                    refused |= C::blur(&tile, &mut target, &a[at(from)], 0).is_err();
                }
            }
            _ => {}
        }
        a.push(target);
        let last = a.len() - 1;
        a.swap(to, last);
        match *step {
            Step::Gradient { along, from } => {
                let face = &mut faces[along as usize];
                for tile in TileIter::new(&*face) {
                    refused |= C::gradient(&tile, &mut *face, &a[from], along).is_err();
                }
            }
            Step::Divergence { along, to } => {
                faces[along as usize].fill_ghosts()?;
                for tile in TileIter::new(&a[to]) {
                    C::divergence(&tile, &mut a[to], &faces[along as usize], along)?;
                }
            }
            Step::Ghosts { of } => a[of].fill_ghosts()?,
            Step::Read { of } => seen.extend(all(&a[of])?.into_iter().flat_map(C::bits)),
            Step::Write { to, plane } => {
                let plane = (plane as usize % program.shape[0]) as i64;
                let row: Vec<C::Cell> = (0..program.shape[1]).map(|i| C::make(i as f64 / 7.0)).collect();
                a[to].write_box(GridBox::new([plane, 0], [plane + 1, row.len() as i64]), &row)?;
            }
            Step::Sum { of } => seen.push(C::sum(&a[of])?.to_bits()),
            Step::Swap { a: one, b } => a.swap(one, b),
            _ => {}
        }
        seen.push(refused as u64);
    }
    for array in a.iter().chain(&faces) {
        seen.extend(all(array)?.into_iter().flat_map(C::bits));
    }
    Ok(seen)
}

/// Runs a program here and there; whether any of it streamed.
fn same_bits(
    program: &Program,
    bytes: usize,
    run: fn(&TileAcc, &Program) -> Result<Vec<u64>, Error>,
) -> Result<bool, TestCaseError> {
    let limit = program.planes * ARRAYS * (program.shape[1] + 20) * bytes;
    let Some(acc) = with_limit(limit as u64, program.look_ahead) else { return Ok(true) };
    let here = run(&on_cpu(), program);
    let there = run(&acc, program);
    match (here, there) {
        (Ok(here), Ok(there)) => {
            let first = here.iter().zip(&there).position(|(a, b)| a != b);
            prop_assert_eq!((first, here.len()), (None, there.len()));
        }
        (Err(here), Err(there)) => prop_assert_eq!(here.kind(), there.kind()),
        // Some of these programs need more of one array than the device has.
        (Ok(_), Err(there)) => prop_assert!(there.kind() == ErrorKind::Memory, "{}", there),
        (Err(here), Ok(_)) => prop_assert!(false, "on the host alone: {}", here),
    }
    Ok(acc.stats().passes > 0)
}

#[test]
fn random_chains_give_the_same_bits() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 60, ..ProptestConfig::default() });
    let streamed = std::cell::Cell::new(0);
    let ran = runner.run(&(program(), 0u8..3), |(program, kind)| {
        let any = match kind {
            0 => same_bits(&program, 8, run::<Floats<f64>>)?,
            1 => same_bits(&program, 4, run::<Floats<f32>>)?,
            _ => same_bits(&program, 16, run::<Waves>)?,
        };
        streamed.set(streamed.get() + u32::from(any));
        Ok(())
    });
    ran.unwrap();
    println!("{} of 60 programs streamed", streamed.get());
    assert!(streamed.get() >= 30, "{} of 60 programs streamed", streamed.get());
}

#[test]
fn arrays_that_are_idle_give_way() {
    // Room for three of the five arrays, which are cut along two axes: none of them streams.
    let bytes = 64 * 128 * 8 * 5 / 4;
    let Some(acc) = with_limit(3 * bytes as u64, 256) else { return };
    let build = || TileArray::<f64, 2>::builder([64, 128]).regions([2, 2]).build(&acc).unwrap();
    let mut arrays: Vec<_> = (0..5).map(|_| build()).collect();
    for (n, array) in arrays.iter_mut().enumerate() {
        array.fill(|[j, i]| value(n as u64, [j, i, 0])).unwrap();
    }
    let mut expected: Vec<Vec<f64>> = arrays.iter().map(|a| a.read_box(a.domain()).unwrap()).collect();
    for round in 0..12 {
        let (to, from) = ((3 * round + 1) % 5, round % 5);
        if to == from {
            continue;
        }
        let [to_array, from_array] = arrays.get_disjoint_mut([to, from]).unwrap();
        for tile in TileIter::new(to_array) {
            compute(&tile, (&mut *to_array, &*from_array), kernel!(|a, b, at| a[at] = 0.5 * a[at] + b[at])).unwrap();
        }
        let source = expected[from].clone();
        expected[to].iter_mut().zip(source).for_each(|(a, b)| *a = 0.5 * *a + b);
    }
    for (array, expected) in arrays.iter().zip(&expected) {
        assert_eq!(&array.read_box(array.domain()).unwrap(), expected);
    }
    let stats = acc.stats();
    assert!(stats.evictions > 0 && stats.passes == 0, "{stats}");
}
