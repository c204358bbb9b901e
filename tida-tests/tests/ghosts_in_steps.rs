//! Steps between which kernels set ghosts run as one launch: the bits of single steps on the CPU, whatever the faces,
//! the stencil, the depth and the captured values, in core and out of core, and whatever comes between.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.

use proptest::prelude::*;
use tida::acc::{Compile, TileAccBuilder};
use tida::array::Side;
use tida::prelude::*;
use tida::{Fuse, Stats, fill_ghosts_with};
use tida_tests::{on_a_device, on_cpu, value};

/// A program of steps on two arrays.
#[derive(Clone, Debug)]
struct Program {
    shape: [usize; 3],
    /// Faces whose ghosts kernels set, by axis: the low one and the high one.
    open: [[bool; 2]; 3],
    /// What lies beyond the other faces of each axis.
    others: [Other; 3],
    /// Kernels of faces read two cells inwards.
    far: bool,
    /// There are two layers of ghosts, and kernels of faces read the cell as far inside as each is outside.
    deep: bool,
    /// Reads cells along several axes at once too.
    corners: bool,
    /// Captured values change from step to step.
    varied: bool,
    actions: Vec<Action>,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Steps(usize),
    /// Steps before each of which the program pauses: the device is done with the kernels that set ghosts by then.
    Pauses(usize),
    /// A sum on the device, of what comes next.
    Sum,
    /// A kernel adds all ghosts within reach to each cell, without new ghosts: those of the steps before count.
    Collect,
    /// A step before which one face is set by another kernel.
    Other,
}

/// What lies beyond faces that no kernel sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    Fixed,
    /// If kernels set none of the axis.
    Periodic,
    Mirrored,
    Nearest,
    Negated,
}

impl Other {
    fn boundary(self, alone: bool) -> Boundary<f64> {
        match self {
            Other::Periodic if alone => Boundary::Periodic,
            Other::Fixed | Other::Periodic => Boundary::Fixed(0.25),
            Other::Mirrored => Boundary::ReflectEven,
            Other::Nearest => Boundary::Extrapolate(0),
            Other::Negated => Boundary::ReflectOdd,
        }
    }
}

type Array = TileArray<f64, 3>;

/// Kernels that read two cells inwards; of the last axis they compute with the coordinates along it too.
fn set_from_two(u: &mut Array, face: (usize, Side), time: f64) -> tida::Result<()> {
    let part = 0.125 * time;
    match face {
        (2, Side::Low) => fill_ghosts_with(
            face,
            u,
            kernel!(|u, at| u[at] = 1.25 * u[at + [0, 0, 1]] - 0.25 * u[at + [0, 0, 2]] + part * at[2] as f64),
        ),
        (2, Side::High) => fill_ghosts_with(
            face,
            u,
            kernel!(|u, at| u[at] = if u[at - [0, 0, 2]] > 0.5 { part } else { 0.5 * u[at - [0, 0, 1]] }),
        ),
        (1, Side::Low) => {
            fill_ghosts_with(face, u, kernel!(|u, at| u[at] = 0.5 * u[at + [0, 1, 0]] + part * u[at + [0, 2, 0]]))
        }
        (1, Side::High) => fill_ghosts_with(face, u, kernel!(|u, at| u[at] = 0.75 * u[at - [0, 2, 0]] + part)),
        (_, Side::Low) => {
            fill_ghosts_with(face, u, kernel!(|u, at| u[at] = part + (u[at + [1, 0, 0]] * u[at + [2, 0, 0]]).min(0.5)))
        }
        (_, Side::High) => {
            fill_ghosts_with(face, u, kernel!(|u, at| u[at] = 0.5 * u[at - [1, 0, 0]] - part * u[at - [2, 0, 0]]))
        }
    }
}

/// Kernels of two layers, which compute with all coordinates.
fn set_mirrored(u: &mut Array, face: (usize, Side), time: f64, [n0, n1, n2]: [i64; 3]) -> tida::Result<()> {
    let part = 0.125 * time;
    macro_rules! mirrored {
        (|$i:ident, $j:ident, $k:ident| $inside:expr, $far:expr) => {
            fill_ghosts_with(
                face,
                u,
                kernel!(|u, at| {
                    let [$i, $j, $k] = at;
                    u[at] = part + 0.5 * u[$inside] / $far as f64 + 0.001 * ($i + 2 * $j - $k) as f64;
                }),
            )
        };
    }
    match face {
        (2, Side::Low) => mirrored!(|i, j, k| [i, j, -1 - k], (1 - k)),
        (2, Side::High) => mirrored!(|i, j, k| [i, j, 2 * n2 - 1 - k], (k - n2 + 2)),
        (1, Side::Low) => mirrored!(|i, j, k| [i, -1 - j, k], (2 - j)),
        (1, Side::High) => mirrored!(|i, j, k| [i, 2 * n1 - 1 - j, k], 2),
        (_, Side::Low) => mirrored!(|i, j, k| [-1 - i, j, k], (1 - i)),
        (_, Side::High) => mirrored!(|i, j, k| [2 * n0 - 1 - i, j, k], (i + 1)),
    }
}

/// A step that reads two cells far.
fn deep(u: &Array, next: &mut Array, rate: f64, corners: bool) -> tida::Result<()> {
    let part = if corners { 0.25 } else { 0.0 };
    for tile in TileIter::new(u) {
        match corners {
            true => compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    let (a, b) = (u[at - [2, 1, 0]] - u[at + [2, 0, 2]], u[at - [0, 2, 1]] + u[at + [1, 2, 2]]);
                    let c = u[at + [0, -1, -2]] * part + u[at + [-1, 1, 1]];
                    next[at] = (0.5 * u[at] + rate * (a + b - c)).min(1.0).max(0.0);
                }),
            )?,
            false => compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    let (a, b) = (u[at - [2, 0, 0]] - u[at + [2, 0, 0]], u[at - [0, 2, 0]] + u[at + [0, 2, 0]]);
                    let c = u[at - [0, 0, 2]] * 0.5 + u[at + [0, 0, 1]] - u[at + [0, 0, 2]];
                    next[at] = 0.5 * u[at] + rate * (a + b + c);
                }),
            )?,
        }
    }
    Ok(())
}

fn set(u: &mut Array, (axis, side): (usize, Side), time: f64) -> tida::Result<()> {
    let (half, third) = (0.5 * time, [0.25, time]);
    match (axis, side) {
        (2, Side::Low) => fill_ghosts_with(
            (2, side),
            u,
            kernel!(|u, at| {
                let inside = u[at + [0, 0, 1]];
                u[at] = if inside > 0.5 { half - inside } else { inside * 0.75 + 0.01 * (at[0] + 2 * at[1]) as f64 };
            }),
        ),
        (2, Side::High) => {
            fill_ghosts_with((2, side), u, kernel!(|u, at| u[at] = 0.5 * time - 0.5 * u[at - [0, 0, 1]]))
        }
        (1, Side::Low) => fill_ghosts_with(
            (1, side),
            u,
            kernel!(|u, at| {
                let inside = u[at + [0, 1, 0]];
                if inside < third[0] {
                    u[at] = 0.125 * third[1];
                    return;
                }
                u[at] = inside - 0.001 * (at[0] * at[2]) as f64;
            }),
        ),
        (1, Side::High) => {
            fill_ghosts_with((1, side), u, kernel!(|u, at| u[at] = (u[at - [0, 1, 0]] * time).sqrt().min(1.0)))
        }
        (_, Side::Low) => {
            fill_ghosts_with((0, side), u, kernel!(|u, at| u[at] = 0.9 * u[at + [1, 0, 0]] + 0.01 * at[2] as f64))
        }
        (_, Side::High) => {
            fill_ghosts_with((0, side), u, kernel!(|u, at| u[at] = -0.5 * u[at - [1, 0, 0]] + 0.002 * at[1] as f64))
        }
    }
}

impl Program {
    fn faces(&self) -> impl Iterator<Item = (usize, Side)> + '_ {
        let all = (0..3).rev().flat_map(|axis| [(axis, Side::Low), (axis, Side::High)]);
        all.filter(|(axis, side)| self.open[*axis][*side as usize])
    }

    fn ghosts(&self, u: &mut Array, time: f64) -> tida::Result<()> {
        u.fill_ghosts()?;
        let set = if self.far { set_from_two } else { set };
        self.faces().try_for_each(|face| match self.deep {
            true => set_mirrored(u, face, time, self.shape.map(|n| n as i64)),
            false => set(u, face, time),
        })
    }

    fn step(&self, u: &Array, next: &mut Array, rate: f64) -> tida::Result<()> {
        if self.deep {
            return deep(u, next, rate, self.corners);
        }
        for tile in TileIter::new(u) {
            match self.corners {
                true => compute(
                    &tile,
                    (&mut *next, u),
                    kernel!(|next, u, at| {
                        let mut sum = 0.0;
                        for k in -1..2 {
                            for j in -1..2 {
                                for i in -1..2 {
                                    sum += (1 + k + 2 * j) as f64 * u[at + [k, j, i]] + 0.01 * i as f64;
                                }
                            }
                        }
                        next[at] = (0.5 * u[at] + rate * sum).min(1.0).max(0.0);
                    }),
                )?,
                false => compute(
                    &tile,
                    (&mut *next, u),
                    kernel!(|next, u, at| {
                        let (a, b) = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]], u[at - [0, 1, 0]] - u[at + [0, 1, 0]]);
                        let c = u[at - [0, 0, 1]] * 0.5 + u[at + [0, 0, 1]];
                        next[at] = 0.5 * u[at] + rate * (a + 2.0 * b + c);
                    }),
                )?,
            }
        }
        Ok(())
    }

    /// The bits of both arrays and of what was found meanwhile; what can be seen of ghosts is among them.
    fn run(&self, acc: &TileAcc) -> tida::Result<Vec<u64>> {
        let mut builder = Array::builder(self.shape).ghost(1 + usize::from(self.deep));
        for (axis, other) in self.others.into_iter().enumerate() {
            builder = builder.boundary_axis(axis, other.boundary(self.open[axis] == [false; 2]));
        }
        for (axis, side) in self.faces() {
            builder = builder.boundary_face(axis, side, Boundary::Open);
        }
        let mut u = builder.build(acc)?;
        u.fill(|at| value(1, at))?;
        let mut next = u.like()?;
        next.fill(|at| value(2, at))?;
        // (Ghosts of fixed value that no fill has ever set have no value.)
        next.fill_ghosts()?;
        let (mut found, mut number) = (Vec::new(), 0);
        for action in &self.actions {
            let count = if let Action::Steps(count) | Action::Pauses(count) = action { *count } else { 1 };
            match action {
                Action::Steps(_) | Action::Pauses(_) | Action::Other => {
                    for _ in 0..count {
                        number += 1;
                        let time = if self.varied { 0.25 + 0.125 * number as f64 } else { 0.75 };
                        self.ghosts(&mut u, time)?;
                        if let (Action::Other, Some((0, side))) = (action, self.faces().last()) {
                            fill_ghosts_with((0, side), &mut u, kernel!(|u, at| u[at] = 0.3 * at[1] as f64))?;
                        }
                        if matches!(action, Action::Pauses(_)) {
                            std::thread::sleep(std::time::Duration::from_millis(20));
                        }
                        self.step(&u, &mut next, if self.varied { 0.01 * number as f64 } else { 0.0625 })?;
                        std::mem::swap(&mut u, &mut next);
                    }
                }
                Action::Sum => {
                    let sum: f64 = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
                    found.push(sum.to_bits());
                }
                Action::Collect => {
                    // Of the array that is overwritten next, too.
                    for array in [&mut u, &mut next] {
                        array.allow_stale_ghosts();
                        let mut seen = array.like()?;
                        self.step(array, &mut seen, 0.5)?;
                        found.extend(seen.read_box(seen.domain())?.into_iter().map(f64::to_bits));
                    }
                }
            }
        }
        for array in [&u, &next] {
            found.extend(array.read_box(array.domain())?.into_iter().map(f64::to_bits));
        }
        Ok(found)
    }

    /// Compares with the CPU, and says how many steps ran with others.
    fn check(&self, builder: TileAccBuilder) -> Option<u64> {
        Some(self.stats(builder)?.1.fused_steps)
    }

    /// The same, with all that was counted, and where.
    fn stats(&self, builder: TileAccBuilder) -> Option<(Device, Stats)> {
        let acc = on_a_device(builder)?;
        let (found, expected) = (self.run(&acc).unwrap(), self.run(&on_cpu()).unwrap());
        let first = found.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!((first, found.len()), (None, expected.len()), "{self:?}");
        Some((acc.device(), acc.stats()))
    }
}

fn builder(depth: u32) -> TileAccBuilder {
    let for_ever = std::time::Duration::from_secs(600);
    TileAcc::builder().pause(for_ever).patience(for_ever).compile(Compile::Wait).fuse(Fuse::Steps(depth))
}

fn steps(shape: [usize; 3], open: [[bool; 2]; 3], corners: bool, varied: bool) -> Program {
    let others = [Other::Fixed; 3];
    Program { shape, open, others, far: false, deep: false, corners, varied, actions: vec![Action::Steps(13)] }
}

/// One face, several, all; with what has no ghosts left to memory.
#[test]
fn steps_with_ghosts_by_kernels_run_together() {
    let no = [false; 2];
    let faces = [
        [no, no, [true, false]],
        [no, no, [false, true]],
        [no, [true, false], no],
        [[false, true], no, no],
        [[true; 2], no, [true; 2]],
        [[true; 2]; 3],
    ];
    for open in faces {
        for varied in [false, true] {
            let Some(fused) = steps([9, 11, 37], open, false, varied).check(builder(3)) else { return };
            assert!(fused >= 9, "{fused} of 13 steps, {open:?}");
        }
    }
}

/// Beside faces that a fill sets: of a periodic axis, or from cells inwards.
#[test]
fn steps_run_together_beside_faces_that_fills_set() {
    use Other::{Fixed, Mirrored, Nearest, Periodic};
    let (no, both) = ([false; 2], [true; 2]);
    for (open, others) in [
        ([no, no, both], [Periodic, Fixed, Fixed]),
        ([no, both, no], [Periodic, Fixed, Periodic]),
        ([both, no, no], [Fixed, Periodic, Periodic]),
        ([no, [true, false], both], [Mirrored, Nearest, Fixed]),
        ([[false, true], no, [true, false]], [Nearest, Periodic, Mirrored]),
    ] {
        for varied in [false, true] {
            let program = Program { others, ..steps([9, 11, 37], open, false, varied) };
            let Some(fused) = program.check(builder(3)) else { return };
            assert!(fused >= 9, "{fused} of 13 steps, {program:?}");
        }
    }
    // Beyond edges: of an axis that comes later as the kernels set them, of one before as a fill takes them from there.
    // The low faces of the last two axes compute with coordinates of the ghosts that a fill takes.
    let high = [false, true];
    for (open, others) in [
        ([both, no, no], [Fixed, Periodic, Mirrored]),
        ([no, high, no], [Periodic, Nearest, Periodic]),
        ([no, no, high], [Periodic, Nearest, Mirrored]),
        ([both, no, high], [Fixed, Periodic, Fixed]),
        ([no, [true, false], no], [Periodic, Nearest, Periodic]),
        ([no, no, both], [Periodic, Periodic, Fixed]),
        ([no, no, both], [Mirrored, Nearest, Fixed]),
    ] {
        let program = Program { others, ..steps([7, 9, 33], open, true, true) };
        let Some(fused) = program.check(builder(3)) else { return };
        assert!(fused >= 9, "{fused} of 13 steps, {program:?}");
    }
}

/// A device that is done with what set ghosts before the step comes that computes them.
#[test]
fn steps_run_together_on_a_device_that_waits_for_the_program() {
    use Other::{Fixed, Periodic};
    let (no, both) = ([false; 2], [true; 2]);
    for open in [[no, no, both], [both, both, both]] {
        let of = steps([9, 11, 37], open, false, true);
        let program = Program { others: [Periodic, Fixed, Fixed], actions: vec![Action::Pauses(13)], ..of };
        let Some(fused) = program.check(builder(3)) else { return };
        assert!(fused >= 9, "{fused} of 13 steps, {program:?}");
    }
}

/// Kernels of faces that read two cells inwards.
#[test]
fn steps_with_ghosts_from_two_cells_run_together() {
    let no = [false; 2];
    for (open, corners) in [
        ([no, no, [false, true]], false),
        ([[true; 2], no, [true, false]], false),
        ([[true; 2]; 3], false),
        ([[true; 2]; 3], true),
    ] {
        let program = Program { far: true, ..steps([5, 6, 34], open, corners, true) };
        let Some(fused) = program.check(builder(3)) else { return };
        assert!(fused >= 9, "{fused} of 13 steps, {program:?}");
    }
}

/// Kernels of faces that set two layers, each ghost from the cell as far inside.
#[test]
fn steps_with_two_layers_of_ghosts_run_together() {
    let no = [false; 2];
    for (open, others, corners) in [
        ([no, no, [true; 2]], Other::Fixed, false),
        ([[true; 2]; 3], Other::Fixed, false),
        ([[true; 2]; 3], Other::Fixed, true),
        ([no, [true, false], no], Other::Mirrored, false),
        ([no, [true, false], no], Other::Negated, false),
    ] {
        let program = Program { deep: true, others: [others; 3], ..steps([5, 6, 34], open, corners, true) };
        let Some(fused) = program.check(builder(3)) else { return };
        assert!(fused >= 9, "{fused} of 13 steps, {program:?}");
    }
}

/// Beside faces beyond which a fill mirrors and negates; between such faces alone, too.
#[test]
fn steps_run_together_beside_faces_that_negate() {
    use Other::{Fixed, Negated, Periodic};
    let (no, both) = ([false; 2], [true; 2]);
    for (open, others, corners) in [
        ([no; 3], [Negated; 3], false),
        ([no; 3], [Negated; 3], true),
        ([no; 3], [Fixed, Negated, Periodic], true),
        ([no; 3], [Negated, Fixed, Negated], true),
        ([no, no, both], [Negated, Fixed, Fixed], true),
        ([both, no, no], [Fixed, Negated, Negated], true),
        ([[false, true], no, [true, false]], [Negated; 3], true),
    ] {
        let program = Program { others, ..steps([7, 9, 33], open, corners, true) };
        let Some(fused) = program.check(builder(3)) else { return };
        assert!(fused >= 9, "{fused} of 13 steps, {program:?}");
    }
}

/// Planes that stream: a pass over the link serves several steps.
#[test]
fn steps_over_planes_that_stream_run_together() {
    let program = Program { actions: vec![Action::Steps(16)], ..steps([80, 12, 64], [[true; 2]; 3], false, true) };
    let bytes = 2 * 82 * 14 * 192 * 8;
    for (far, deep) in [(false, false), (true, false), (false, true)] {
        let program = Program { far, deep, ..program.clone() };
        let Some(fused) = program.check(builder(3).memory_limit(bytes / 2)) else { return };
        assert!(fused >= 9, "{fused} of 16 steps, {far}, {deep}");
        program.check(builder(3).memory_limit(bytes / 4));
    }
    let program = Program { open: [[false; 2]; 3], others: [Other::Negated; 3], ..program };
    let Some(fused) = program.check(builder(3).memory_limit(bytes / 2)) else { return };
    assert!(fused >= 9, "{fused} of 16 steps");
}

/// Where cells beyond edges and corners are read, all faces have to be known.
#[test]
fn edges_and_corners_are_computed_in_the_order_of_axes() {
    let Some(fused) = steps([7, 9, 33], [[true; 2]; 3], true, true).check(builder(3)) else { return };
    assert!(fused >= 9, "{fused} of 13 steps");
}

/// Steps by themselves beside faces that negate, each of one launch on a GPU: there few fills and kernels of faces run.
/// What can be seen of ghosts is as elsewhere. (Which of these programs CUDA's plans let compute ghosts is known of the
/// first one alone.)
#[test]
fn steps_by_themselves_compute_ghosts() {
    use Other::{Fixed, Negated, Periodic};
    let (no, both, high) = ([false; 2], [true; 2], [false, true]);
    let programs = [
        ([high, no, no], [Negated; 3], false, true),
        ([no, both, no], [Negated; 3], false, true),
        ([no; 3], [Negated, Fixed, Negated], false, true),
        ([no, no, both], [Negated, Fixed, Fixed], false, true),
        ([no; 3], [Fixed, Negated, Fixed], true, true),
        ([no, both, no], [Periodic, Fixed, Negated], false, false),
        ([high, no, no], [Negated; 3], true, false),
    ];
    for (n, (open, others, corners, one)) in programs.into_iter().enumerate() {
        let program = Program { others, ..steps([8, 9, 37], open, corners, true) };
        let (few, more) = (Action::Steps(8), [Action::Steps(25), Action::Collect]);
        let actions = more.into_iter().chain([few, Action::Sum, Action::Steps(7), Action::Collect]).collect();
        let program = Program { actions, ..program };
        let Some((device, stats)) = program.stats(builder(1)) else { return };
        assert_eq!(stats.fused_steps, 0);
        let as_gpu = std::env::var("TIDA_PLAN").is_ok_and(|list| list.split(',').any(|word| word == "gpu"));
        println!("{} launches, {program:?}", stats.launches);
        if one && (device == Device::Cuda && n == 0 || device == Device::OpenCl && as_gpu) {
            assert!(stats.launches < 110, "{} launches, {program:?}", stats.launches);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn any_program_has_the_bits_of_the_cpu(
        shape in [2_usize..9, 2_usize..9, 2_usize..70],
        open in prop::array::uniform3(prop::array::uniform2(any::<bool>())),
        others in prop::array::uniform3(prop_oneof![
            2 => Just(Other::Fixed),
            2 => Just(Other::Periodic),
            1 => Just(Other::Mirrored),
            1 => Just(Other::Nearest),
            2 => Just(Other::Negated),
        ]),
        (all, corners, varied) in (any::<bool>(), any::<bool>(), any::<bool>()),
        (far, deep) in prop_oneof![Just((false, false)), Just((true, false)), Just((false, true))],
        depth in prop_oneof![2 => 3_u32..6, 1 => Just(1)],
        actions in prop::collection::vec(prop_oneof![
            4 => (1_usize..12).prop_map(Action::Steps),
            1 => (1_usize..6).prop_map(Action::Pauses),
            1 => Just(Action::Sum),
            1 => Just(Action::Collect),
            1 => Just(Action::Other),
        ], 1..5),
    ) {
        let open = if all { [[true; 2]; 3] } else { open };
        Program { shape, open, others, far, deep, corners, varied, actions }.check(builder(depth));
    }
}
