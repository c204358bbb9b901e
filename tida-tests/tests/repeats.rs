//! Programs of few cells that repeat themselves: steps without a node of their own, arrays that are filled where they
//! are, and what comes between. The bits and the failures of the CPU, and the number of launches.
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

#[derive(Clone, Copy, Debug)]
enum Action {
    /// So many steps of the inner cells, without ghosts.
    Inner(usize),
    /// So many steps of all cells, each after a fill of ghosts.
    Filled(usize),
    /// The same, each with another coefficient.
    Varied(usize),
    /// So many steps of half of the cells.
    Half(usize),
    /// Steps whose coefficient is a sum that is known later.
    Later(usize),
    /// Sets all cells of the array that the next step reads, or of the one that it writes.
    Fill(bool),
    /// Fills the ghosts of the array that the next step reads once more.
    Ghosts,
    /// Writes a cell on the host, or reads one.
    Set,
    Look,
    /// Adds all cells up on the device.
    Sum,
    /// Copies the array that steps read besides.
    Copy,
    /// Steps on two other arrays, of which nobody waits.
    Others(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let steps = || 1usize..40;
    prop_oneof![
        4 => steps().prop_map(Action::Inner),
        4 => steps().prop_map(Action::Filled),
        2 => steps().prop_map(Action::Varied),
        2 => steps().prop_map(Action::Half),
        1 => (1usize..4).prop_map(Action::Later),
        2 => any::<bool>().prop_map(Action::Fill),
        1 => Just(Action::Ghosts),
        1 => Just(Action::Set),
        1 => Just(Action::Look),
        1 => Just(Action::Sum),
        1 => Just(Action::Copy),
        1 => (1usize..6).prop_map(Action::Others),
    ]
}

fn boundary(number: u8) -> Boundary<f64> {
    [Boundary::Fixed(0.75), Boundary::Periodic, Boundary::ReflectEven, Boundary::Extrapolate(0), Boundary::ReflectOdd]
        [usize::from(number)]
}

/// A step of the cells of a box; `c` is a number or one that is known later.
macro_rules! step {
    ($u:expr, $next:expr, $k:expr, $c:expr, $lo:expr, $hi:expr) => {
        for tile in TileIter::new($u).within($lo, $hi) {
            let c = $c;
            compute(
                &tile,
                (&mut *$next, $u, $k),
                kernel!(|next, u, k, at| {
                    let all = u[at - [1, 0]] + u[at + [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                    next[at] = u[at] + c * k[at] * (all - 4.0 * u[at]);
                }),
            )
            .unwrap();
        }
    };
}

struct Program {
    pairs: [[Array; 2]; 2],
    k: Array,
    other: Array,
    seen: Bits,
}

impl Program {
    fn new(acc: &TileAcc, shape: [usize; 2], faces: [u8; 2]) -> Program {
        let array = |number: u64| {
            let builder = TileArray::<f64, 2>::builder(shape).ghost(1);
            let faces = faces.map(boundary);
            let mut array = builder.boundary_axis(0, faces[0]).boundary_axis(1, faces[1]).build(acc).unwrap();
            array.fill(|[j, i]| value(number, [0, j, i])).unwrap();
            array.fill_ghosts().unwrap();
            array
        };
        Program { pairs: [[array(1), array(2)], [array(3), array(4)]], k: array(5), other: array(6), seen: Bits::new() }
    }

    fn steps(&mut self, pair: usize, steps: usize, filled: bool, inside: [[i64; 2]; 2], c: impl Fn(usize) -> f64) {
        let Program { pairs, k, .. } = self;
        let [u, next] = &mut pairs[pair];
        for step in 0..steps {
            if filled {
                u.fill_ghosts().unwrap();
            }
            step!(&*u, next, &*k, c(step), inside[0], inside[1]);
            std::mem::swap(u, next);
        }
    }

    fn run(&mut self, actions: &[Action]) {
        let [n, m] = self.k.shape().map(|n| n as i64);
        let (all, inner) = ([[0, 0], [n, m]], [[1, 1], [n - 1, m - 1]]);
        for (number, action) in actions.iter().enumerate() {
            match *action {
                Action::Inner(steps) => self.steps(0, steps, false, inner, |_| 0.11),
                Action::Filled(steps) => self.steps(0, steps, true, all, |_| 0.11),
                Action::Varied(steps) => self.steps(0, steps, true, all, |step| 0.01 * (step + number) as f64),
                Action::Half(steps) => self.steps(0, steps, true, [[0, 0], [n / 2, m]], |_| 0.11),
                Action::Others(steps) => self.steps(1, steps, false, inner, |_| 0.07),
                Action::Later(steps) => {
                    for _ in 0..steps {
                        let Program { pairs: [[u, next], _], k, .. } = self;
                        let sum = reduce_later(&*u, Sum, kernel!(|u, at| u[at])).unwrap();
                        u.fill_ghosts().unwrap();
                        for tile in TileIter::new(&*u) {
                            compute(
                                &tile,
                                (&mut *next, &*u, &*k),
                                kernel!(|next, u, k, at| next[at] = u[at] + 1e-6 * sum * k[at] * u[at + [0, 1]]),
                            )
                            .unwrap();
                        }
                        std::mem::swap(u, next);
                    }
                }
                Action::Fill(next) => self.pairs[0][usize::from(next)].fill_value(0.5 + number as f64).unwrap(),
                Action::Ghosts => self.pairs[0][0].fill_ghosts().unwrap(),
                Action::Set => self.pairs[0][0].write_box(GridBox::new([3, 1], [4, 2]), &[0.25]).unwrap(),
                Action::Look => {
                    let seen = self.pairs[0][0].read_box(GridBox::new([1, 1], [2, 2])).unwrap();
                    self.seen.push(seen[0].to_bits());
                }
                Action::Sum => {
                    let sum: f64 = reduce(&self.pairs[0][1], Sum, kernel!(|u, at| u[at])).unwrap();
                    self.seen.push(sum.to_bits());
                }
                Action::Copy => self.k.copy_from(&self.other).unwrap(),
            }
        }
    }

    fn bits(self) -> [Bits; 3] {
        let bits = |array: &Array| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Bits>();
        let [[a, b], [c, d]] = &self.pairs;
        [[bits(a), bits(b)].concat(), [bits(c), bits(d)].concat(), self.seen]
    }
}

fn run(acc: &TileAcc, shape: [usize; 2], faces: [u8; 2], actions: &[Action]) -> [Bits; 3] {
    let mut program = Program::new(acc, shape, faces);
    program.run(actions);
    program.bits()
}

fn check(builder: TileAccBuilder, shape: [usize; 2], faces: [u8; 2], actions: &[Action]) {
    let Some(acc) = on_a_device(builder) else { return };
    let (expected, found) = (run(&on_cpu(), shape, faces, actions), run(&acc, shape, faces, actions));
    assert!(expected == found, "{shape:?}, {faces:?}, {actions:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn any_program_gives_the_same_bits(
        shape in [8usize..40, 8usize..70],
        depth in prop_oneof![Just(1u32), 3u32..8],
        faces in [0u8..5, 0u8..5],
        actions in proptest::collection::vec(action(), 1..7),
    ) {
        let fuse = if depth == 1 { Fuse::Auto } else { Fuse::Steps(depth) };
        check(TileAcc::builder().fuse(fuse), shape, faces, &actions);
    }
}

/// Launches of so many steps: each by itself, and in threes. Those before it is seen that they repeat and those after
/// that do not run together.
#[test]
fn launches_are_counted() {
    for (fuse, steps, filled, most) in [(Fuse::Off, 30, false, 30), (Fuse::Steps(3), 30, false, 14)] {
        let Some(acc) = on_a_device(unhurried().fuse(fuse)) else { return };
        let mut program = Program::new(&acc, [24, 32], [0, 0]);
        acc.sync().unwrap();
        let before = acc.stats();
        program.run(&[if filled { Action::Filled(steps) } else { Action::Inner(steps) }]);
        acc.sync().unwrap();
        let launches = acc.stats().launches - before.launches;
        assert!(launches <= most, "{launches} launches of {steps} steps, {fuse:?}");
    }
}

/// An array that is on a device is filled there, and nothing moves.
#[test]
fn a_fill_is_a_launch() {
    let Some(acc) = on_a_device(unhurried()) else { return };
    let mut program = Program::new(&acc, [24, 32], [0, 0]);
    program.run(&[Action::Inner(2)]);
    acc.sync().unwrap();
    let before = acc.stats();
    program.run(&[Action::Fill(false), Action::Inner(1), Action::Fill(true)]);
    acc.sync().unwrap();
    let after = acc.stats();
    assert_eq!([after.h2d_bytes - before.h2d_bytes, after.d2h_bytes - before.d2h_bytes], [0, 0]);
    assert_eq!(after.launches - before.launches, 3);
    // Other elements are filled on the host.
    let mut flags = TileArray::<bool, 1>::builder([9]).build(&acc).unwrap();
    for tile in TileIter::new(&flags) {
        compute(&tile, &mut flags, kernel!(|flags, at| flags[at] = at[0] % 2 == 0)).unwrap();
    }
    flags.fill_value(true).unwrap();
    assert_eq!(flags.read_box(flags.domain()).unwrap(), [true; 9]);
}

/// The first failing cell of the earliest sweep, after steps that repeat and before more of them.
#[test]
fn failures_are_those_of_the_cpu() {
    let run = |acc: &TileAcc| {
        let mut program = Program::new(acc, [24, 32], [0, 0]);
        program.run(&[Action::Inner(20)]);
        let mut broken = TileArray::<i32, 2>::builder([24, 32]).build(acc).unwrap();
        let u = &program.pairs[0][0];
        for tile in TileIter::new(&broken) {
            compute(
                &tile,
                (&mut broken, u),
                kernel!(|broken, u, at| broken[at] = 7 / (u[at] as i32 + at[1] as i32 - 9)),
            )
            .unwrap();
        }
        program.run(&[Action::Inner(20), Action::Filled(9)]);
        let error = acc.sync().unwrap_err();
        let failed = broken.read_box(broken.domain()).unwrap_err();
        (error.found().to_owned(), failed.found().to_owned(), program.bits())
    };
    let Some(acc) = on_a_device(TileAcc::builder().fuse(Fuse::Steps(3))) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
}

/// Steps that nobody waits for run when the accelerator is dropped, and arrays may be gone before.
#[test]
fn arrays_may_be_dropped_while_steps_are_held_back() {
    for steps in [1, 2, 3, 5, 24, 60, 500] {
        let Some(acc) = on_a_device(TileAcc::builder().fuse(Fuse::Steps(3))) else { return };
        let mut program = Program::new(&acc, [24, 32], [0, 0]);
        program.run(&[Action::Inner(steps)]);
        drop(program);
        acc.sync().unwrap();
    }
}
