//! Steps that run as one launch: the bits of single steps on the CPU, whatever the faces, cuts and depth, and whatever
//! else a program does between its steps.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::Fuse;
use tida::acc::{Compile, Stats, TileAccBuilder};
use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, unhurried, value};

type Bits = Vec<u64>;

#[derive(Clone, Copy, Debug)]
enum Action {
    /// So many steps, over all cells or those that lie so far from the faces.
    Steps(usize, i64),
    /// Reads a cell of the array that comes next, on the host.
    Look,
    /// Adds all cells up on the device.
    Sum,
    /// Sets a cell on the host.
    Set,
    /// Steps with another coefficient each.
    Varied(usize),
    /// Steps of so many kernels in turn, with another coefficient each if the third is `true`; in the middle an array
    /// changes that some of them read.
    InTurn(usize, usize, bool),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (1usize..14, 0i64..3).prop_map(|(steps, inside)| Action::Steps(steps, inside.max(1) - 1)),
        1 => Just(Action::Look),
        1 => Just(Action::Sum),
        1 => Just(Action::Set),
        2 => (1usize..9).prop_map(Action::Varied),
        4 => (1usize..14, 2usize..5, any::<bool>()).prop_map(|(n, kernels, varied)| Action::InTurn(n, kernels, varied)),
    ]
}

fn boundary(number: u8) -> Boundary<f64> {
    match number {
        0 => Boundary::Fixed(0.75),
        1 => Boundary::Periodic,
        2 => Boundary::ReflectEven,
        3 => Boundary::Extrapolate(0),
        4 => Boundary::ReflectOdd,
        _ => Boundary::Extrapolate(1),
    }
}

fn step2(u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>, k: &TileArray<f64, 2>, c: f64, inside: i64) {
    let [n, m] = u.shape().map(|n| n as i64);
    for tile in TileIter::new(u).within([inside, inside], [n - inside, m - inside]) {
        compute(
            &tile,
            (&mut *next, u, k),
            kernel!(|next, u, k, at| {
                let side = u[at + [0, 1]] + u[at - [0, 1]];
                let all = u[at - [1, 0]] + u[at + [1, 0]] + side;
                next[at] = u[at] + c * k[at] * (all - 4.0 * u[at]);
            }),
        )
        .unwrap();
    }
}

/// A step of one of several kernels: along x, of each cell by itself, along y, of cells whose numbers are even.
fn one_of(kernel: usize, u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>, k: &TileArray<f64, 2>, c: f64) {
    for tile in TileIter::new(u) {
        match kernel {
            0 => compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| next[at] = u[at] + c * (u[at + [0, 1]] + u[at - [0, 1]] - 2.0 * u[at])),
            ),
            1 => compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at] + c * u[at] * (1.0 - u[at]))),
            2 => compute(
                &tile,
                (k, &mut *next, u),
                kernel!(|k, next, u, at| {
                    let along = u[at + [1, 0]] + u[at - [1, 0]];
                    if k[at] > 0.9 {
                        next[at] = u[at];
                        return;
                    }
                    next[at] = u[at] + k[at] * c * (along - 2.0 * u[at]);
                }),
            ),
            _ => compute(
                &tile,
                (u, &mut *next),
                kernel!(|u, next, at| {
                    let (side, all) = (u[at + [0, 1]] + u[at - [0, 1]], u[at - [1, 0]] + u[at + [1, 0]]);
                    next[at] = if (at[0] + at[1]) % 2 == 0 { 0.25 * (side + all) } else { u[at] };
                }),
            ),
        }
        .unwrap();
    }
}

/// The bits of both arrays and of what was looked at meanwhile.
fn program2(
    acc: &TileAcc,
    shape: [usize; 2],
    regions: usize,
    faces: [u8; 2],
    actions: &[Action],
) -> (Bits, Bits, Bits) {
    let build = || TileArray::<f64, 2>::builder(shape).regions([regions, 1]);
    let mut u =
        build().ghost(1).boundary_axis(0, boundary(faces[0])).boundary_axis(1, boundary(faces[1])).build(acc).unwrap();
    let mut k = build().build(acc).unwrap();
    u.fill(|[j, i]| value(1, [0, j, i])).unwrap();
    k.fill(|[j, i]| value(2, [0, j, i])).unwrap();
    let mut other = k.like().unwrap();
    other.fill(|[j, i]| value(9, [0, j, i])).unwrap();
    let (mut next, mut seen) = (u.like().unwrap(), Bits::new());
    next.fill(|[j, i]| value(3, [0, j, i])).unwrap();
    for (number, action) in actions.iter().enumerate() {
        match *action {
            Action::Steps(steps, inside) => {
                for _ in 0..steps {
                    u.fill_ghosts().unwrap();
                    step2(&u, &mut next, &k, 0.11, inside);
                    std::mem::swap(&mut u, &mut next);
                }
            }
            Action::Varied(steps) => {
                for step in 0..steps {
                    u.fill_ghosts().unwrap();
                    step2(&u, &mut next, &k, 0.01 * (step + number) as f64, 0);
                    std::mem::swap(&mut u, &mut next);
                }
            }
            Action::InTurn(steps, kernels, varied) => {
                for step in 0..steps {
                    if step == steps / 2 {
                        k.copy_from(&other).unwrap();
                    }
                    let kernel = (step + number) % kernels;
                    // The second one needs no ghosts.
                    if kernel != 1 || steps % 2 == 1 {
                        u.fill_ghosts().unwrap();
                    }
                    let c = if varied { 0.01 * (step + number) as f64 } else { 0.11 };
                    one_of(kernel, &u, &mut next, &k, c);
                    std::mem::swap(&mut u, &mut next);
                }
            }
            Action::Look => seen.push(next.read_box(GridBox::new([1, 1], [2, 2])).unwrap()[0].to_bits()),
            Action::Sum => {
                let sum: f64 = reduce(&next, Sum, kernel!(|u, at| u[at])).unwrap();
                seen.push(sum.to_bits());
            }
            Action::Set => u.write_box(GridBox::new([3, 1], [4, 2]), &[0.25]).unwrap(),
        }
    }
    let bits = |array: &TileArray<f64, 2>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Bits>();
    (bits(&u), bits(&next), seen)
}

/// Compares with the CPU; gives how many steps ran together.
fn check2(builder: TileAccBuilder, shape: [usize; 2], regions: usize, faces: [u8; 2], actions: &[Action]) -> u64 {
    let case = format!("{builder:?}, {shape:?} in {regions}, {faces:?}, {actions:?}");
    let Some(acc) = on_a_device(builder) else { return u64::MAX };
    let expected = program2(&on_cpu(), shape, regions, faces, actions);
    let found = program2(&acc, shape, regions, faces, actions);
    for (what, a, b) in [("u", &found.0, &expected.0), ("next", &found.1, &expected.1), ("seen", &found.2, &expected.2)]
    {
        let first = a.iter().zip(b).position(|(a, b)| a != b);
        assert_eq!((first, a.len()), (None, b.len()), "{what}: {case}");
    }
    acc.stats().fused_steps
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn any_program_gives_the_same_bits(
        shape in [12usize..40, 6usize..70],
        (regions, depth) in (1usize..4, 3u32..8),
        faces in [0u8..6, 0u8..6],
        actions in proptest::collection::vec(action(), 1..5),
        beside in any::<bool>(),
    ) {
        let compile = if beside { Compile::Beside } else { Compile::Wait };
        check2(TileAcc::builder().fuse(Fuse::Steps(depth)).compile(compile), shape, regions, faces, &actions);
    }
}

#[test]
fn steps_run_together() {
    // Whatever the faces, as long as a block knows what lies beyond them.
    let actions = [Action::Steps(20, 0)];
    for (faces, fuses) in [([0, 0], true), ([1, 1], true), ([2, 3], true), ([1, 0], true), ([4, 0], false)] {
        let together = check2(unhurried().fuse(Fuse::Steps(3)), [33, 50], 2, faces, &actions);
        assert!(together == u64::MAX || (together >= 15) == fuses, "{together} of 20 steps, {faces:?}");
    }
    // The last step is one by itself, and so is the first, which no other one came before.
    let together = check2(unhurried().fuse(Fuse::Steps(5)), [33, 50], 1, [0, 0], &[Action::Steps(12, 0)]);
    assert!(together == 10 || together == u64::MAX, "{together}");
    assert!([0, u64::MAX].contains(&check2(unhurried().fuse(Fuse::Off), [33, 50], 1, [0, 0], &actions)));
}

/// What a loop reads of a few cells in each step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    Nothing,
    /// Of another array, without waiting; and waiting.
    OtherLater,
    Other,
    /// Of what the step leaves.
    OwnLater,
}

/// Cells of another array that are read in each step end no steps that run as one launch. Cells of what a step leaves
/// end those that lead to it.
#[test]
fn reads_of_a_few_cells_end_the_steps_alone_that_they_read() {
    let cells = GridBox::new([3, 4], [5, 6]);
    let run = |acc: &TileAcc, reads: Reads| {
        let build = |value: f64| {
            let mut array =
                TileArray::<f64, 2>::builder([33, 50]).ghost(1).boundary(Boundary::Fixed(0.75)).build(acc)?;
            array.fill(|[j, i]| value * (j + 2 * i) as f64)?;
            Ok::<_, tida::Error>(array)
        };
        let (mut u, k, mut other) = (build(0.5)?, build(0.01)?, build(2.0)?);
        let (mut next, c) = (u.like()?, 0.75);
        for tile in TileIter::new(&other) {
            compute(&tile, &mut other, kernel!(|u, at| u[at] = c * u[at]))?;
        }
        let (mut later, mut found) = (Vec::new(), Vec::new());
        for _ in 0..14 {
            u.fill_ghosts()?;
            step2(&u, &mut next, &k, 0.1, 0);
            std::mem::swap(&mut u, &mut next);
            match reads {
                Reads::Nothing => {}
                Reads::OtherLater => later.push(other.read_box_later(cells)?),
                Reads::Other => found.extend(other.read_box(cells)?),
                Reads::OwnLater => later.push(u.read_box_later(cells)?),
            }
        }
        acc.sync()?;
        for values in later {
            found.extend(values.get()?);
        }
        found.extend(u.read_box(u.domain())?);
        Ok::<_, tida::Error>(found)
    };
    let mut fused = Vec::new();
    for reads in [Reads::Nothing, Reads::OtherLater, Reads::Other, Reads::OwnLater] {
        let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3))) else { return };
        assert!(run(&acc, reads).unwrap() == run(&on_cpu(), reads).unwrap(), "{reads:?}");
        fused.push(acc.stats().fused_steps);
    }
    // All but the first step and the last.
    assert_eq!(fused, [12, 12, 12, 0]);
}

#[test]
fn steps_of_other_values_and_of_several_kernels_run_together() {
    let together =
        |depth, faces, actions: &[Action]| check2(unhurried().fuse(Fuse::Steps(depth)), [33, 50], 2, faces, actions);
    let found = together(3, [2, 3], &[Action::Varied(9)]);
    assert!(found == 6 || found == u64::MAX, "{found}");
    // The first steps, one of each kernel, are by themselves; so is the last, and the one before the array changes.
    for (kernels, varied, depth, faces, expected) in
        [(2, false, 3, [0, 0], 12), (3, true, 3, [0, 2], 12), (4, true, 5, [2, 3], 10)]
    {
        let found = together(depth, faces, &[Action::InTurn(20, kernels, varied)]);
        assert!(found >= expected, "{found} of 20 steps of {kernels} kernels, {depth} at once, {varied}");
    }
}

#[test]
fn kernels_without_a_turn_run_by_themselves() {
    let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3))) else { return };
    let run = |acc: &TileAcc| {
        let mut u = TileArray::<f64, 2>::builder([30, 40]).ghost(1).build(acc).unwrap();
        u.fill(|[j, i]| value(1, [0, j, i])).unwrap();
        let (mut next, k) = (u.like().unwrap(), u.like().unwrap());
        for kernel in [0, 3, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 0] {
            u.fill_ghosts().unwrap();
            one_of(kernel, &u, &mut next, &k, 0.1);
            std::mem::swap(&mut u, &mut next);
        }
        let bits =
            |array: &TileArray<f64, 2>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Bits>();
        (bits(&u), bits(&next))
    };
    assert!(run(&acc) == run(&on_cpu()));
    // Those that follow one of their own kernel, but for the last: three of the first, and three of the second. Those
    // of the third read no neighbours.
    assert_eq!(acc.stats().fused_steps, 6, "{}", acc.stats());
}

fn program3(acc: &TileAcc, shape: [usize; 3], regions: usize, face: u8, steps: usize) -> (Vec<u32>, Vec<u32>) {
    let boundary = [Boundary::Fixed(0.5f32), Boundary::Periodic, Boundary::ReflectEven][face as usize];
    let mut u =
        TileArray::<f32, 3>::builder(shape).regions([regions, 1, 1]).ghost(1).boundary(boundary).build(acc).unwrap();
    u.fill(|at| value(7, at) as f32).unwrap();
    let (mut next, c) = (u.like().unwrap(), 0.1f32);
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let x = u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
                    let y = u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    let z = u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                    let tilt = if at[2] % 2 == 0 { 0.5f32 } else { 1.0 };
                    next[at] = u[at] + c * tilt * (x + y + z - 6.0 * u[at]);
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let bits = |array: &TileArray<f32, 3>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect();
    (bits(&u), bits(&next))
}

#[test]
fn three_axes_give_the_same_bits() {
    for (shape, regions, face, depth) in
        [([20, 13, 37], 1, 0, 3), ([24, 9, 40], 3, 1, 5), ([9, 20, 33], 2, 2, 3), ([40, 40, 40], 1, 0, 7)]
    {
        let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(depth))) else { return };
        let expected = program3(&on_cpu(), shape, regions, face, 17);
        let found = program3(&acc, shape, regions, face, 17);
        assert!(found == expected, "{shape:?} in {regions}, face {face}, {depth} steps at once");
        assert!(acc.stats().fused_steps >= 10, "{:?}", acc.stats());
    }
}

/// Steps over arrays that do not fit: all that a run depends on.
#[derive(Clone, Debug)]
struct Streamed {
    shape: [usize; 3],
    regions: usize,
    /// Cells that a step reads to each side.
    radius: usize,
    faces: [u8; 3],
    steps: usize,
    /// Cells next to the faces that no step writes.
    inside: i64,
    /// A third array is read.
    coefficient: bool,
    /// By one step of so many.
    kernels: usize,
    /// Each step has another factor.
    varied: bool,
    /// A cell computes with its coordinate along the first axis.
    placed: bool,
    /// Planes of each array that there is room for.
    planes: usize,
    depth: u32,
}

/// The bits of both arrays, and of their ghosts.
fn streamed(acc: &TileAcc, case: &Streamed) -> [Bits; 4] {
    let Streamed { shape, radius, inside, .. } = *case;
    let mut builder = TileArray::<f64, 3>::builder(shape).regions([case.regions, 1, 1]).ghost(radius);
    for (axis, face) in case.faces.iter().enumerate() {
        builder = builder.boundary_axis(axis, boundary(*face));
    }
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(5, at)).unwrap();
    let (mut k, mut next) = (u.like().unwrap(), u.like().unwrap());
    k.fill(|at| value(6, at)).unwrap();
    next.fill(|at| value(7, at)).unwrap();
    let hi = shape.map(|n| n as i64 - inside);
    for step in 0..case.steps {
        u.fill_ghosts().unwrap();
        let coefficient = case.coefficient && step % case.kernels == 0;
        let c = if case.varied { 0.02 + 0.003 * step as f64 } else { 0.1 };
        for tile in TileIter::new(&u).within([inside; 3], hi) {
            match (radius, coefficient) {
                (1, false) if case.placed => compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let near = u[at + [0, 0, 1]] + u[at - [0, 0, 1]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        let tilt = if at[0] % 7 == 0 { 0.05 } else { c };
                        next[at] = u[at] + tilt * (near + u[at + [1, 0, 0]] + u[at - [1, 0, 0]] - 6.0 * u[at]);
                    }),
                ),
                (1, false) => compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let near = u[at + [0, 0, 1]] + u[at - [0, 0, 1]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        let tilt = if at[1] % 3 == 0 { 0.05 } else { c };
                        next[at] = u[at] + tilt * (near + u[at + [1, 0, 0]] + u[at - [1, 0, 0]] - 6.0 * u[at]);
                    }),
                ),
                (1, true) => compute(
                    &tile,
                    (&mut next, &u, &k),
                    kernel!(|next, u, k, at| {
                        let near = u[at + [0, 0, 1]] + u[at - [0, 0, 1]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        let all = near + u[at + [1, 0, 0]] + u[at - [1, 0, 0]] - 6.0 * u[at];
                        next[at] = u[at] + c * k[at] * all;
                    }),
                ),
                _ => compute(
                    &tile,
                    (&mut next, &u, &k),
                    kernel!(|next, u, k, at| {
                        let far = u[at + [2, 0, 0]] + u[at - [2, 0, 0]] + u[at + [0, 2, 0]] + u[at - [0, 2, 0]];
                        let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        let row = u[at + [0, 0, 1]] + u[at - [0, 0, 1]] + u[at + [0, 0, 2]] + u[at - [0, 0, 2]];
                        next[at] = u[at] + 0.02 * k[at] * (far + near + row - 12.0 * u[at]);
                    }),
                ),
            }
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let bits = |array: &TileArray<f64, 3>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Bits>();
    let (in_u, in_next) = (bits(&u), bits(&next));
    let mut ghosts = |array: &mut TileArray<f64, 3>| {
        array.fill_ghosts().unwrap();
        let g = radius as i64;
        for tile in TileIter::new(&*array).device(Device::Cpu) {
            compute(
                &tile,
                (&mut k, &*array),
                kernel!(|k, u, at| {
                    let high = u[at + [g, 0, 0]] + 2.0 * u[at + [g, g, 0]] + 3.0 * u[at + [0, 0, g]];
                    k[at] = high + 4.0 * u[at - [g, 0, 0]] + 5.0 * u[at - [0, g, 0]] + 6.0 * u[at - [0, 0, g]];
                }),
            )
            .unwrap();
        }
        bits(&k)
    };
    [in_u, in_next, ghosts(&mut u), ghosts(&mut next)]
}

/// Compares with the CPU; gives how many steps ran together, if there is a device.
fn check_streamed(case: &Streamed) -> Option<Stats> {
    let [_, y, x] = case.shape.map(|n| n + 2 * case.radius);
    let limit = (y * x.next_multiple_of(16) * 8 * 3 * case.planes) as u64;
    let acc = on_a_device(TileAcc::builder().fuse(Fuse::Steps(case.depth)).memory_limit(limit))?;
    let (expected, found) = (streamed(&on_cpu(), case), streamed(&acc, case));
    for (what, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let first = found.iter().zip(expected).position(|(a, b)| a != b);
        let [_, y, x] = case.shape;
        let place = first.map(|cell| [cell / y / x, cell / x % y, cell % x]);
        assert_eq!(place, None, "array {what}: the first cell that differs of {case:?}, {}", acc.stats());
    }
    Some(acc.stats())
}

/// The same with a recorder that was not kept waiting so long that chains ended early.
fn steps_of(case: &Streamed) -> Option<Stats> {
    let mut last = None;
    for _ in 0..20 {
        let stats = check_streamed(case)?;
        if stats.passes > 0 && stats.fused_steps * 4 >= case.steps as u64 * 3 {
            return Some(stats);
        }
        last = Some(stats);
    }
    last
}

fn few_planes() -> Streamed {
    Streamed {
        shape: [60, 9, 20],
        regions: 3,
        radius: 1,
        faces: [0, 0, 0],
        steps: 21,
        inside: 0,
        coefficient: false,
        kernels: 1,
        varied: false,
        placed: true,
        planes: 24,
        depth: 3,
    }
}

#[test]
fn steps_run_together_in_a_window() {
    let usual = few_planes();
    for (name, case) in [
        ("fixed", usual.clone()),
        ("five steps", Streamed { depth: 5, planes: 40, ..usual.clone() }),
        ("another array", Streamed { coefficient: true, planes: 30, ..usual.clone() }),
        ("other values", Streamed { varied: true, ..usual.clone() }),
        ("two kernels", Streamed { coefficient: true, kernels: 2, planes: 30, ..usual.clone() }),
        ("two planes each way", Streamed { radius: 2, planes: 44, ..usual.clone() }),
        ("mirrors and turns across", Streamed { faces: [0, 2, 1], ..usual.clone() }),
        ("mirrors at the ends", Streamed { faces: [2, 3, 0], ..usual.clone() }),
        ("cells that stay", Streamed { inside: 1, ..usual.clone() }),
        ("periodic", Streamed { faces: [1, 1, 0], planes: 36, placed: false, ..usual.clone() }),
    ] {
        let Some(stats) = steps_of(&case) else { return };
        println!("{name}: {stats}");
        assert!(stats.passes > 0 && stats.fused_steps >= 12, "{name}: {stats}");
    }
    // Ends that neither mirror nor stay; and planes that follow the last one, whose cells have other coordinates.
    let around = Streamed { faces: [1, 1, 0], planes: 36, ..usual.clone() };
    for case in [Streamed { faces: [4, 0, 0], ..usual }, around] {
        let Some(stats) = check_streamed(&case) else { return };
        assert_eq!(stats.fused_steps, 0, "{stats}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn any_window_gives_the_same_bits(
        shape in [8usize..70, 5usize..12, 5usize..20],
        (regions, radius, depth) in (1usize..4, 1usize..3, 3u32..6),
        faces in [0u8..6, 0u8..6, 0u8..6],
        (steps, inside, coefficient, planes) in (1usize..24, 0i64..3, any::<bool>(), 14usize..50),
        (kernels, varied) in (1usize..4, any::<bool>()),
    ) {
        let inside = inside.max(1) - 1;
        let placed = steps % 2 == 0;
        check_streamed(&Streamed { shape, regions, radius, faces, steps, inside, coefficient, kernels, varied, placed, planes, depth });
    }
}

/// Ghosts that the user sets beyond open faces, once, keep no steps from running as one launch.
#[test]
fn steps_with_ghosts_of_the_user_are_fused() {
    let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3))) else { return };
    let run = |acc: &TileAcc| {
        let mut u = TileArray::<f64, 2>::builder([64, 128]).ghost(1).boundary(Boundary::Open).build(acc).unwrap();
        let mut next = u.like().unwrap();
        for array in [&mut u, &mut next] {
            array
                .with_grown_region_mut(0, |mut view| {
                    view.indexed_iter_mut().for_each(|((j, i), x)| *x = (j * i % 7) as f64)
                })
                .unwrap();
        }
        for _ in 0..12 {
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| next[at] =
                        0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]])),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap()
    };
    assert_eq!(run(&acc), run(&on_cpu()));
    assert!(acc.stats().fused > 0, "{:?}", acc.stats());
}
