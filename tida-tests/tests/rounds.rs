//! Programs that repeat themselves, of several kernels on grids of two sizes: the bits of the CPU, whatever comes
//! between, how many rounds there are, and what such programs launch.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::Fuse;
use tida::acc::TileAccBuilder;
use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, unhurried, value};

type Array = TileArray<f64, 2>;
type Bits = Vec<u64>;

/// What a cycle is made of.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// So many steps on the fine grid (or on the coarse one), each after a fill of ghosts.
    Smooth(bool, usize),
    /// The same, with a coefficient that differs from cycle to cycle.
    Varied(usize),
    /// What is left to do on the fine grid, the coarse grid's right side from it, and its start from 0.
    Down,
    /// Corrects the fine grid.
    Up,
    /// Changes each cell of the fine grid where it is, or of the inner ones.
    Scale(bool),
    /// Two sweeps that read the same.
    Two,
    /// Steps of kernels that take turns.
    Turns(usize),
    /// Fills ghosts once more.
    Ghosts,
    /// Adds up, on the device or for the host.
    Later,
    Sum,
    /// Looks at a cell, or sets one.
    Look,
    Set,
    Copy,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (any::<bool>(), 1usize..6).prop_map(|(fine, steps)| Action::Smooth(fine, steps)),
        2 => (1usize..4).prop_map(Action::Varied),
        4 => Just(Action::Down),
        4 => Just(Action::Up),
        3 => any::<bool>().prop_map(Action::Scale),
        1 => Just(Action::Two),
        1 => (1usize..5).prop_map(Action::Turns),
        1 => Just(Action::Ghosts),
    ]
}

/// What ends rounds, or keeps them from coming about.
fn other() -> impl Strategy<Value = Action> {
    prop_oneof![Just(Action::Later), Just(Action::Sum), Just(Action::Look), Just(Action::Set), Just(Action::Copy)]
}

/// A cycle that comes so many times, and what comes after every so many of them.
#[derive(Clone, Debug)]
struct Loop {
    cycle: Vec<Action>,
    times: usize,
    between: Option<(usize, Action)>,
}

fn a_loop() -> impl Strategy<Value = Loop> {
    let between = proptest::option::of((1usize..9, other()));
    let cycle = proptest::collection::vec(prop_oneof![24 => action(), 1 => other()], 1..7);
    (cycle, 1usize..20, between).prop_map(|(cycle, times, between)| Loop { cycle, times, between })
}

fn boundary(number: u8) -> Boundary<f64> {
    [Boundary::Fixed(0.75), Boundary::Periodic, Boundary::ReflectEven, Boundary::Extrapolate(0), Boundary::ReflectOdd]
        [usize::from(number)]
}

struct Level {
    u: Array,
    next: Array,
    f: Array,
    r: Array,
}

fn step(Level { u, next, f, .. }: &mut Level, c: f64) {
    u.fill_ghosts().unwrap();
    for tile in TileIter::new(&*u) {
        compute(
            &tile,
            (&mut *next, &*u, &*f),
            kernel!(|next, u, f, at| {
                let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                next[at] = u[at] + c * (f[at] + around - 4.0 * u[at]);
            }),
        )
        .unwrap();
    }
    std::mem::swap(u, next);
}

struct Program {
    fine: Level,
    coarse: Level,
    seen: Bits,
}

impl Program {
    fn new(acc: &TileAcc, [n, m]: [usize; 2], faces: [u8; 2]) -> Program {
        let level = |seed: u64, shape: [usize; 2]| {
            let array = |number: u64| {
                let faces = faces.map(boundary);
                let builder = TileArray::<f64, 2>::builder(shape).ghost(1);
                let mut array = builder.boundary_axis(0, faces[0]).boundary_axis(1, faces[1]).build(acc).unwrap();
                array.fill(|[j, i]| value(seed + number, [0, j, i]) - 1.0).unwrap();
                array.fill_ghosts().unwrap();
                array
            };
            Level { u: array(0), next: array(1), f: array(2), r: array(3) }
        };
        Program { fine: level(10, [2 * n, 2 * m]), coarse: level(20, [n, m]), seen: Bits::new() }
    }

    fn act(&mut self, action: Action, time: usize) {
        let Program { fine, coarse, seen } = self;
        match action {
            Action::Smooth(true, steps) => (0..steps).for_each(|_| step(fine, 0.2)),
            Action::Smooth(false, steps) => (0..steps).for_each(|_| step(coarse, 0.15)),
            Action::Varied(steps) => (0..steps).for_each(|_| step(fine, 0.01 * (1 + time / 3) as f64)),
            Action::Down => {
                let Level { u, f, r, .. } = fine;
                u.fill_ghosts().unwrap();
                for tile in TileIter::new(&*r) {
                    compute(
                        &tile,
                        (&mut *r, &*u, &*f),
                        kernel!(|r, u, f, at| {
                            let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                            r[at] = f[at] - (4.0 * u[at] - around);
                        }),
                    )
                    .unwrap();
                }
                for tile in TileIter::new(&coarse.f) {
                    compute(
                        &tile,
                        (&mut coarse.f, all(&*r)),
                        kernel!(
                            |f, r, at| f[at] = 0.5 * (r[[at[0] * 2, at[1] * 2]] + r[[at[0] * 2 + 1, at[1] * 2 + 1]])
                        ),
                    )
                    .unwrap();
                }
                coarse.u.fill_value(0.0).unwrap();
            }
            Action::Up => {
                for tile in TileIter::new(&fine.u) {
                    compute(
                        &tile,
                        (&mut fine.u, all(&coarse.u)),
                        kernel!(|u, c, at| u[at] += 0.5 * c[[at[0] / 2, at[1] / 2]]),
                    )
                    .unwrap();
                }
            }
            Action::Scale(whole) => {
                let [n, m] = fine.u.shape().map(|n| n as i64);
                let [lo, hi] = if whole { [[0, 0], [n, m]] } else { [[1, 1], [n - 1, m - 2]] };
                for tile in TileIter::new(&fine.u).within(lo, hi) {
                    compute(&tile, &mut fine.u, kernel!(|u, at| u[at] = 0.875 * u[at] + 0.01)).unwrap();
                }
            }
            Action::Two => {
                let Level { u, next, r, .. } = fine;
                u.fill_ghosts().unwrap();
                for tile in TileIter::new(&*u) {
                    compute(&tile, (&mut *r, &*u), kernel!(|r, u, at| r[at] = u[at + [0, 1]] - u[at])).unwrap();
                    compute(&tile, (&mut *next, &*u), kernel!(|v, u, at| v[at] = u[at + [1, 0]] - u[at])).unwrap();
                }
            }
            Action::Turns(steps) => {
                for _ in 0..steps {
                    let Level { u, next, .. } = fine;
                    u.fill_ghosts().unwrap();
                    for tile in TileIter::new(&*u) {
                        let over = |next: &mut Array, u: &Array| {
                            compute(&tile, (next, u), kernel!(|v, u, at| v[at] = 0.5 * (u[at - [0, 1]] + u[at])))
                        };
                        over(next, u).unwrap();
                    }
                    next.fill_ghosts().unwrap();
                    for tile in TileIter::new(&*u) {
                        compute(
                            &tile,
                            (&mut *u, &*next),
                            kernel!(|u, v, at| u[at] = 0.5 * (v[at - [1, 0]] + v[at + [1, 0]])),
                        )
                        .unwrap();
                    }
                }
            }
            Action::Ghosts => fine.next.fill_ghosts().unwrap(),
            Action::Later => {
                let sum = reduce_later(&fine.u, Sum, kernel!(|u, at| u[at])).unwrap();
                for tile in TileIter::new(&fine.u) {
                    let sum = sum.clone();
                    compute(&tile, &mut fine.u, kernel!(|u, at| u[at] = u[at] + 1e-6 * sum)).unwrap();
                }
            }
            Action::Sum => {
                let sum: f64 = reduce(&fine.u, Sum, kernel!(|u, at| u[at])).unwrap();
                seen.push(sum.to_bits());
            }
            Action::Look => {
                let cells = fine.u.read_box(GridBox::new([1, 1], [2, 3])).unwrap();
                seen.extend(cells.iter().map(|x| x.to_bits()));
            }
            Action::Set => fine.u.write_box(GridBox::new([3, 1], [4, 2]), &[0.25]).unwrap(),
            Action::Copy => fine.f.copy_from(&fine.r).unwrap(),
        }
    }

    fn run(&mut self, loops: &[Loop]) {
        for Loop { cycle, times, between } in loops {
            for time in 1..=*times {
                cycle.iter().for_each(|action| self.act(*action, time));
                if let Some((every, action)) = between.filter(|(every, _)| time.is_multiple_of(*every)) {
                    self.act(action, every);
                }
            }
        }
    }

    fn bits(self) -> Vec<Bits> {
        let bits = |array: &Array| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Bits>();
        let of = |Level { u, next, f, r }: &Level| [u, next, f, r].map(bits);
        [of(&self.fine).to_vec(), of(&self.coarse).to_vec(), vec![self.seen]].concat()
    }
}

fn check(builder: TileAccBuilder, shape: [usize; 2], faces: [u8; 2], loops: &[Loop]) {
    let Some(acc) = on_a_device(builder) else { return };
    let run = |acc: &TileAcc| {
        let mut program = Program::new(acc, shape, faces);
        program.run(loops);
        program.bits()
    };
    let (expected, found) = (run(&on_cpu()), run(&acc));
    let differs = expected.iter().zip(&found).position(|(expected, found)| expected != found);
    assert_eq!(differs, None, "{shape:?}, {faces:?}, {loops:?}");
    acc.sync().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn any_program_gives_the_same_bits(
        shape in [4usize..14, 4usize..30],
        fuse in prop_oneof![Just(Fuse::Auto), Just(Fuse::Off), (3u32..6).prop_map(Fuse::Steps)],
        faces in [0u8..5, 0u8..5],
        loops in proptest::collection::vec(a_loop(), 1..4),
    ) {
        check(TileAcc::builder().fuse(fuse), shape, faces, &loops);
    }
}

/// A cycle of a multigrid method.
const CYCLE: [Action; 5] =
    [Action::Smooth(true, 2), Action::Down, Action::Smooth(false, 8), Action::Up, Action::Smooth(true, 2)];

fn cycles(times: usize, between: Option<(usize, Action)>) -> Loop {
    Loop { cycle: CYCLE.to_vec(), times, between }
}

/// Rounds and launches of so many cycles.
fn counted(builder: TileAccBuilder, loops: &[Loop]) -> Option<[u64; 2]> {
    let acc = on_a_device(builder)?;
    let mut program = Program::new(&acc, [6, 10], [0, 0]);
    acc.sync().unwrap();
    let before = acc.stats();
    program.run(loops);
    acc.sync().unwrap();
    let after = acc.stats();
    Some([after.rounds - before.rounds, after.launches - before.launches])
}

#[test]
fn cycles_become_rounds() {
    let loops = [cycles(40, None)];
    let Some([rounds, launches]) = counted(unhurried().fuse(Fuse::Off), &loops) else { return };
    // Each launches what it would by itself.
    let Some([none, alone]) = counted(unhurried().fuse(Fuse::Off).rounds(false), &loops) else { return };
    assert_eq!((none, launches), (0, alone));
    // One has six cycles, and the first few are needed to see that they repeat.
    assert!(rounds >= 5, "{rounds} rounds");
}

#[test]
fn steps_of_a_round_run_together() {
    let loops = [cycles(40, None)];
    let Some([rounds, launches]) = counted(unhurried().fuse(Fuse::Steps(3)), &loops) else { return };
    let Some([_, alone]) = counted(unhurried().fuse(Fuse::Off), &loops) else { return };
    assert!(rounds >= 5 && launches < alone * 4 / 5, "{rounds} rounds, {launches} launches of {alone}");
}

/// What is looked at or added up after each few cycles ends rounds, which are remembered, and launch no more than what
/// would run without them.
#[test]
fn rounds_that_end_at_other_work_are_remembered() {
    for fuse in [Fuse::Off, Fuse::Steps(3)] {
        for (times, every, action, least) in
            [(60, 2, Action::Look, 22), (30, 1, Action::Sum, 22), (40, 3, Action::Set, 8)]
        {
            let loops = [cycles(times, Some((every, action)))];
            let Some([rounds, launches]) = counted(unhurried().fuse(fuse), &loops) else { return };
            let Some([_, alone]) = counted(unhurried().fuse(fuse).rounds(false), &loops) else { return };
            assert!(rounds >= least, "{rounds} rounds, {fuse:?}, {action:?}");
            // Steps before rounds are known may be apart from those after that.
            assert!(launches <= alone + 4, "{launches} launches, {alone} without rounds, {fuse:?}, {action:?}");
        }
    }
}

/// A loop between two waits is rounds but for its head, however many turns it has.
#[test]
fn loops_between_waits_are_rounds() {
    for steps in [240, 37] {
        let Some(acc) = on_a_device(unhurried().fuse(Fuse::Off)) else { return };
        let mut program = Program::new(&acc, [6, 10], [1, 2]);
        let mut last = acc.stats();
        for time in 0..4 {
            program.run(&[Loop { cycle: vec![Action::Smooth(true, steps)], times: 1, between: None }]);
            acc.sync().unwrap();
            let stats = acc.stats();
            let rounds = stats.rounds - last.rounds;
            // 24, 48, and then 96 sweeps and fills; the rest is one more. The first fill is by itself.
            let expected = if steps == 240 { 7 } else { 3 };
            assert!(time == 0 || rounds == expected, "{rounds} rounds of {steps} steps, {time}");
            last = stats;
        }
    }
}

/// Arrays may be gone before the rounds that nobody waits for.
#[test]
fn arrays_may_be_dropped_in_the_middle_of_a_round() {
    for times in [3, 7, 20, 33] {
        let Some(acc) = on_a_device(TileAcc::builder()) else { return };
        let mut program = Program::new(&acc, [6, 10], [1, 2]);
        program.run(&[cycles(times, None)]);
        drop(program);
        // Others may have their addresses.
        let mut program = Program::new(&acc, [6, 10], [1, 2]);
        program.run(&[cycles(times, None)]);
        let found = program.bits();
        let mut program = Program::new(&on_cpu(), [6, 10], [1, 2]);
        program.run(&[cycles(times, None)]);
        assert!(found == program.bits(), "{times}");
    }
}

/// The first failing cell of the earliest sweep, before and after rounds; work that does not need it goes on.
#[test]
fn failures_are_those_of_the_cpu() {
    let run = |acc: &TileAcc| {
        let mut program = Program::new(acc, [6, 10], [2, 2]);
        let [n, m] = program.fine.u.shape();
        let mut broken = TileArray::<i32, 2>::builder([n, m]).build(acc).unwrap();
        let mut spoilt = program.fine.u.like().unwrap();
        program.run(&[cycles(20, None)]);
        for tile in TileIter::new(&broken) {
            compute(
                &tile,
                (&mut broken, &program.fine.u),
                kernel!(|b, u, at| b[at] = 7 / (u[at] as i32 + at[1] as i32 - 9)),
            )
            .unwrap();
            compute(&tile, (&mut spoilt, &broken), kernel!(|s, b, at| s[at] = 0.5 * b[at] as f64)).unwrap();
        }
        // Rounds of which one array is no good.
        std::mem::swap(&mut program.fine.f, &mut spoilt);
        program.run(&[cycles(20, None)]);
        let error = acc.sync().unwrap_err();
        let failed = program.fine.u.read_box(program.fine.u.domain()).unwrap_err();
        let good = program.coarse.f.read_box(program.coarse.f.domain()).is_ok();
        (error.found().to_owned(), failed.found().to_owned(), good, spoilt.read_box(spoilt.domain()).is_ok())
    };
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
}

/// A value that changes within a stretch of a loop, and not within the next such stretch.
#[test]
fn values_that_change_within_a_round() {
    let loops = |times, every| {
        let cycle = vec![Action::Varied(1), Action::Smooth(true, 1)];
        [Loop { cycle, times, between: Some((every, Action::Set)) }]
    };
    for fuse in [Fuse::Off, Fuse::Steps(3)] {
        for every in 1..6 {
            check(unhurried().fuse(fuse), [4, 8], [0, 0], &loops(40, every));
        }
    }
}
