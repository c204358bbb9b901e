//! The macros' native form over small buffers, against plain loops, and what they answer when asked.
#![forbid(unsafe_op_in_unsafe_fn)]

mod harness;

use harness::{Buffer, Views2, quote_of, run, scalars, tree, typed};
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{Access, Binding, Type};
use tida_kernels::quote::{ExprKind, StmtKind};
use tida_kernels::scalar::Value;

use super::ask::{Ask, Pass, Run};
use super::view::{Checked, Proven, View};
use crate::array::GridBox;
use crate::launch::prepare::prepare;
use crate::launch::quoted::Quoted;
use crate::memory::element::Element;
use crate::{kernel, kernel_fn};

const FULL: GridBox<2> = GridBox { lo: [-1, -1], hi: [7, 9] };
const INNER: GridBox<2> = GridBox { lo: [0, 0], hi: [6, 8] };
const WIDTH: usize = 10;

fn wave(i: usize) -> f64 {
    ((i * 37 % 101) as f64 * 0.37).sin()
}

/// Sets `u` to a wave, runs the kernel over the inner box and gives `next`.
fn sweep<N>(kernel: N) -> (Vec<f64>, Vec<f64>, Quoted)
where
    N: for<'b> Fn(Ask<'b, Views2<f64, f64, 2, Proven>, Views2<f64, f64, 2, Checked>, (), 2>) + Send + Sync + 'static,
{
    let (mut next, mut u) = (Buffer::new::<f64>(FULL), Buffer::new::<f64>(FULL));
    let values: Vec<f64> = (0..FULL.cells()).map(wave).collect();
    u.set(&values);
    let quoted = run(&mut next, &mut u, INNER, kernel);
    (values, next.get(), quoted)
}

/// What `cell` gives at each inner cell, by a plain loop; it sees `u` and its position.
fn oracle(u: &[f64], cell: impl Fn(&[f64], usize, [i64; 2]) -> f64) -> Vec<f64> {
    let mut out = vec![0.0; u.len()];
    for j in 0..6 {
        for i in 0..8 {
            let p = (j + 1) * WIDTH + i + 1;
            out[p] = cell(u, p, [j as i64, i as i64]);
        }
    }
    out
}

fn same(a: &[f64], b: &[f64]) {
    let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(a), bits(b));
}

#[test]
fn heat_gives_the_bits_of_a_plain_loop() {
    let alpha = 0.1;
    let (u, next, quoted) = sweep(kernel!(|next, u, at| {
        let c = u[at];
        next[at] = c + alpha * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]] - 4.0 * c);
    }));
    same(
        &next,
        &oracle(&u, |u, p, _| {
            let c = u[p];
            c + alpha * (u[p + 1] + u[p - 1] + u[p + WIDTH] + u[p - WIDTH] - 4.0 * c)
        }),
    );
    let tree = tree(&quoted);
    assert_eq!(
        (tree.args, tree.at, tree.captures),
        (vec!["next".into(), "u".into()], "at".into(), vec!["alpha".into()])
    );
    assert_eq!(scalars(&quoted), [Value::F64(0.1)]);
    assert_eq!(tree.code.body.stmts.len(), 2);
    let StmtKind::Let { init: Some(init), .. } = &tree.code.body.stmts[0].kind else { panic!() };
    assert!(matches!(&init.kind, ExprKind::Load { arg: 1, .. }));
    assert!(quoted.kernel.file.ends_with("macro_tests/mod.rs"));
    assert!(tree.code.body.stmts[0].span.line > quoted.kernel.line);
    assert_eq!(tree.code.body.stmts[0].span.column, 9);
}

/// Parameters of a model.
struct Model {
    alpha: f64,
    weights: [f64; 3],
    inner: Inner,
}

struct Inner {
    shift: i32,
}

const SCALE: f64 = 0.5;
static STEPS: usize = 3;

impl Model {
    fn sweep(&self) -> (Vec<f64>, Vec<f64>, Quoted) {
        sweep(kernel!(|next, u, at| {
            let mut sum = 0.0;
            for k in 0..STEPS {
                sum += self.weights[k] * u[at + [0, k as i64 - 1]];
            }
            next[at] = self.alpha * sum + SCALE * self.inner.shift as f64 + std::f64::consts::PI;
            next[at] -= self.alpha;
        }))
    }
}

#[test]
fn captures_are_fields_and_constants_are_consts_and_statics() {
    let model = Model { alpha: 0.3, weights: [0.25, 0.5, 0.125], inner: Inner { shift: -7 } };
    let (u, next, quoted) = model.sweep();
    let expected = oracle(&u, |u, p, _| {
        let mut sum = 0.0;
        for k in 0..3 {
            sum += model.weights[k] * u[p + k - 1];
        }
        model.alpha * sum + 0.5 * -7.0 + std::f64::consts::PI - model.alpha
    });
    same(&next, &expected);
    assert_eq!(tree(&quoted).captures, ["self.weights", "self.alpha", "self.inner.shift"]);
    assert_eq!(tree(&quoted).code.constants, ["STEPS", "SCALE", "std::f64::consts::PI"]);
    let values = scalars(&quoted);
    assert_eq!(values.len(), 5);
    assert_eq!((values[0], values[4]), (Value::F64(0.25), Value::I32(-7)));
}

mod functions {
    //! Functions and structs from elsewhere.
    use crate::{Element, kernel_fn};

    /// A pair.
    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    pub struct Pair {
        /// Mass.
        pub mass: f32,
        /// Velocity.
        pub velocity: [f64; 2],
        /// Kind.
        pub kind: u8,
    }

    /// A limiter.
    #[kernel_fn]
    pub fn limited(a: f64, b: f64) -> f64 {
        if a * b <= 0.0 {
            return 0.0;
        }
        a.abs().min(b.abs()).copysign(a)
    }

    #[kernel_fn]
    pub fn kinetic(p: Pair, scale: f64) -> f64 {
        0.5 * p.mass as f64 * (p.velocity[0] * p.velocity[0] + p.velocity[1] * p.velocity[1]) * scale
    }
}

#[kernel_fn]
fn slope(w: [f64; 3], mut n: i32) -> (f64, i32) {
    while n > 2 {
        n -= 1;
    }
    (functions::limited(w[2] - w[1], w[1] - w[0]), n)
}

#[test]
fn functions_are_called_by_path() {
    let (u, next, quoted) = sweep(kernel!(|next, u, at| {
        let (s, n) = slope([u[at - [0, 1]], u[at], u[at + [0, 1]]], 5);
        next[at] = functions::limited(s, 10.0) * n as f64;
    }));
    same(
        &next,
        &oracle(&u, |u, p, _| {
            let (s, n) = slope([u[p - 1], u[p], u[p + 1]], 5);
            functions::limited(s, 10.0) * n as f64
        }),
    );
    assert_eq!(tree(&quoted).code.functions, ["slope", "functions::limited"]);
    assert_eq!(quoted.kernel.functions.len(), 2);
    assert_eq!(quoted.kernel.functions[0].functions.len(), 1);
    let slope = tida_kernels::quote::FunctionTree::decode(quoted.kernel.functions[0].tree).expect("a tree");
    assert_eq!((slope.name.as_str(), slope.params.len()), ("slope", 2));
    assert!(slope.result.is_some());
}

#[test]
fn every_construct_gives_the_bits_of_a_plain_loop() {
    let (limit, mask, offset) = (5i64, 0b101u32, [0i64, 1]);
    let (u, next, _) = sweep(kernel!(|next, u, at| {
        let [j, i] = at;
        let mut w = [[0.0; 2]; 3];
        let mut t = (1.5, [2u8, 250], true);
        w[1][0] = u[at];
        w[1][0] += 2.0;
        w[i as usize % 3][1] *= -3.0;
        t.1[0] += t.1[1] + 9;
        t.0 -= 0.25;
        let step = [0, 1];
        let mut here = at + step;
        here -= offset;
        here = here + offset - step;
        let mut count = 0u32;
        let mut k = 0;
        loop {
            k += 1;
            if k == 3 {
                continue;
            } else if k > 6 {
                break;
            }
            count = (count << 1) ^ mask;
            count &= !8;
        }
        let sign = if j > 2 && !(i == limit || i < 1) { -1.0 } else { 1.0 };
        let mut total: f64 = 0.0;
        for q in (0..=2) {
            for _ in 0..2usize {
                total = total + w[q][0];
            }
        }
        {
            let total = 3.0f64;
            w[2][1] = total.sqrt().clamp(0.0, 1.5);
        }
        let late;
        if t.2 {
            late = 1.0
        } else {
            late = 2.0
        };
        let _ = late + 1.0;
        if i == 7 {
            next[at] = 42.0;
            return;
        }
        next[at] = u[here] * sign + total + w[2][1] + count as f64 + t.0 + t.1[0] as f64 + late + (i % 3) as f64
            - (j / 2) as f64
            + -2.0_f64.powi(3)
            + 1e-3
            + at[0] as f64
            + {
                let x = 0x10;
                x as f64
            };
    }));
    let expected = oracle(&u, |u, p, [j, i]| {
        let mut w = [[0.0f64; 2]; 3];
        w[1][0] = u[p] + 2.0;
        w[i as usize % 3][1] *= -3.0;
        let first = 2u8.wrapping_add(250u8.wrapping_add(9));
        let mut count = 0u32;
        for _ in [1, 2, 4, 5, 6] {
            count = ((count << 1) ^ mask) & !8;
        }
        let sign = if j > 2 && !(i == limit || i < 1) { -1.0 } else { 1.0 };
        let mut total: f64 = 0.0;
        for entries in w {
            total += entries[0];
            total += entries[0];
        }
        if i == 7 {
            return 42.0;
        }
        u[p] * sign + total + 1.5 + count as f64 + 1.25 + first as f64 + 1.0 + (i % 3) as f64 - (j / 2) as f64
            + -(2.0f64 * 4.0)
            + 1e-3
            + j as f64
            + 16.0
    });
    same(&next, &expected);
}

#[test]
fn structs_are_places() {
    use functions::{Pair, kinetic};
    let (mut next, mut u) = (Buffer::new::<Pair>(FULL), Buffer::new::<f64>(FULL));
    let values: Vec<f64> = (0..FULL.cells()).map(wave).collect();
    u.set(&values);
    let start: Vec<Pair> =
        values.iter().map(|v| Pair { mass: *v as f32, velocity: [*v, -v], kind: (v * 9.0) as u8 }).collect();
    next.set(&start);
    let pick = 1usize;
    let quoted = run::<Pair, f64, _, 2>(
        &mut next,
        &mut u,
        INNER,
        kernel!(|p, u, at| {
            p[at].velocity[pick] += u[at + [1, 0]];
            p[at].mass = p[at].mass * 2.0;
            let old: Pair = p[at];
            let velocity = p[at].velocity;
            let new =
                functions::Pair { mass: old.mass, velocity: [kinetic(old, 2.0), velocity[0]], kind: old.kind | 1 };
            if new.kind > 3 {
                p[at] = new;
            }
        }),
    );
    let got: Vec<Pair> = next.get();
    for (n, (before, after)) in start.iter().zip(&got).enumerate() {
        let at = [(n / WIDTH) as i64 - 1, (n % WIDTH) as i64 - 1];
        let mut expected = *before;
        if INNER.contains(at) {
            expected.velocity[1] += values[n + WIDTH];
            expected.mass *= 2.0;
            let new =
                Pair { velocity: [kinetic(expected, 2.0), expected.velocity[0]], kind: expected.kind | 1, ..expected };
            if new.kind > 3 {
                expected = new;
            }
        }
        assert_eq!(*after, expected);
    }
    let tree = tree(&quoted);
    assert_eq!(tree.code.structs, ["Pair", "functions::Pair"]);
    assert_eq!(quoted.kernel.structs, [Pair::TYPE, Pair::TYPE]);
    assert_eq!(Pair::TYPE.to_string(), "Pair");
    assert_eq!((Pair::TYPE.components(), Pair::TYPE.bytes()), (4, 21));
}

/// A kernel of one argument that gives a value.
fn values<R: Clone, N>(u: &mut Buffer<1>, zero: R, result: Type, kernel: N) -> Vec<R>
where
    N: for<'b> Fn(Ask<'b, (View<f32, 1, Proven>,), (View<f32, 1, Checked>,), R, 1>) + Send + Sync + 'static,
{
    let cells = u.cells;
    let mut out = vec![zero; cells.cells()];
    let quoted = quote_of(&kernel);
    let typed = typed(&quoted, 1, &[(Access::Read, f32::TYPE)], result);
    let pass = Pass::new(&quoted, &typed.numbers, false);
    // SAFETY: the buffer is live, and `out` has room for a value a cell.
    unsafe {
        let views = (View::new(u.raw(), 0),);
        kernel(Ask::Proven(Run::new(&views, cells, out.as_mut_ptr(), &pass)));
    }
    out
}

#[test]
fn a_kernel_may_be_a_bare_value() {
    let mut u = Buffer::new::<f32>(GridBox { lo: [-2], hi: [3] });
    u.set(&[1.0f32, -2.0, 3.0, -4.0, 5.0]);
    let scalar = Type::Scalar;
    let pair = Type::Tuple([scalar(ScalarType::F32), scalar(ScalarType::I64)].into());
    let doubled = values(&mut u, 0.0, scalar(ScalarType::F32), kernel!(|u, at| u[at] * 2.0));
    assert_eq!(doubled, [2.0, -4.0, 6.0, -8.0, 10.0]);
    assert_eq!(values(&mut u, (0.0, 0), pair, kernel!(|u, at| (u[at].abs(), at[0])))[4], (5.0, 2));
    assert_eq!(values(&mut u, 0u8, scalar(ScalarType::U8), kernel!(|_, _at| 7)), [7; 5]);
    let flags = values(
        &mut u,
        false,
        scalar(ScalarType::Bool),
        kernel!(move |u, at| if u[at] < 0.0 { true } else { at[0] > 1 }),
    );
    assert_eq!(flags, [false, true, false, true, true]);
}

#[test]
fn checked_reads_outside_raise_a_fault() {
    use tida_kernels::scalar::{Fault, fault};
    let mut u = Buffer::new::<f32>(GridBox { lo: [0], hi: [4] });
    let cells = u.cells;
    fn ask<N>(kernel: N, u: &mut Buffer<1>, cells: GridBox<1>) -> Vec<f32>
    where
        N: for<'b> Fn(Ask<'b, (View<f32, 1, Proven>,), (View<f32, 1, Checked>,), f32, 1>) + Send + Sync + 'static,
    {
        let mut out = vec![0.0; cells.cells()];
        let quoted = quote_of(&kernel);
        let typed = typed(&quoted, 1, &[(Access::Read, f32::TYPE)], Type::Scalar(ScalarType::F32));
        let pass = Pass::new(&quoted, &typed.numbers, false);
        // SAFETY: as above.
        unsafe {
            let views = (View::new(u.raw(), 0),);
            kernel(Ask::Checked(Run::new(&views, cells, out.as_mut_ptr(), &pass)));
        }
        out
    }
    fault::take();
    assert_eq!(ask(kernel!(|u, at| u[at + [2]] + 1.0), &mut u, cells), [1.0; 4]);
    assert_eq!(fault::take(), Some(Fault::OutOfRange { arg: 0, index: [4, 0, 0, 0] }));
}

/// A closure of safe code that answers with one kernel and runs another.
fn mixed<P, C, R, const D: usize>(
    answers: impl for<'b> Fn(Ask<'b, P, C, R, D>),
    runs: impl for<'b> Fn(Ask<'b, P, C, R, D>),
) -> impl for<'b> Fn(Ask<'b, P, C, R, D>) {
    move |ask| match ask {
        Ask::Quote(answer) => answers(Ask::Quote(answer)),
        run => runs(run),
    }
}

#[test]
fn a_closure_runs_what_it_quoted_or_nothing() {
    type Views<M> = (View<f32, 1, M>,);
    fn ran<N>(kernel: N) -> (f32, bool)
    where
        N: for<'b> Fn(Ask<'b, Views<Proven>, Views<Checked>, f32, 1>),
    {
        let mut u = Buffer::new::<f32>(GridBox { lo: [0], hi: [1] });
        let quoted = quote_of(&kernel);
        let typed = typed(&quoted, 1, &[(Access::Read, f32::TYPE)], Type::Scalar(ScalarType::F32));
        let pass = Pass::new(&quoted, &typed.numbers, false);
        let mut out = [-1.0];
        // SAFETY: one cell, one value.
        unsafe {
            let views = (View::new(u.raw(), 0),);
            kernel(Ask::Proven(Run::new(&views, u.cells, out.as_mut_ptr(), &pass)));
        }
        (out[0], pass.check().is_ok())
    }
    fn near<N>(kernel: N) -> N
    where
        N: for<'b> Fn(Ask<'b, Views<Proven>, Views<Checked>, f32, 1>),
    {
        kernel
    }
    let adding = |offset: f32, far: [i64; 1]| near(kernel!(|u, at| u[at + far] + offset));
    assert!(ran(adding(-f32::NAN, [0])).1);
    assert_eq!(ran(mixed(adding(2.0, [0]), adding(2.0, [0]))), (2.0, true));
    assert_eq!(ran(mixed(adding(2.0, [0]), adding(2.0, [1 << 40]))), (-1.0, false));
    assert_eq!(ran(mixed(adding(2.0, [0]), adding(-2.0, [0]))), (-1.0, false));
    assert_eq!(ran(mixed(adding(2.0, [0]), near(kernel!(|u, at| u[at + [1 << 40]])))), (-1.0, false));
    assert_eq!(ran(mixed(adding(2.0, [0]), |_| {})), (-1.0, false));
}

#[test]
fn captured_values_decide_at_a_launch_whether_cells_may_raise_faults() {
    const C: [f64; 5] = [-2.5, 1.5, -0.25, 0.03, -0.001];
    for (radius, part, faults) in [
        (1i64, 2i64, false),
        (4, 2, false),
        (5, 2, true),
        (-1, 0, false),
        (4, 0, true),
        (4, -1, true),
        (i64::MAX, 2, true),
    ] {
        type Two<M> = Views2<f64, f64, 2, M>;
        let mut quoted = quote_of::<Two<Proven>, Two<Checked>, (), _, 2>(&kernel!(|next, u, at| {
            let mut sum = u[at];
            for r in 1..radius + 1 {
                sum += C[r as usize] * ((at[1] + 1) / part) as f64;
            }
            next[at] = sum;
        }));
        let bindings = [Access::Write, Access::Read].map(|access| Binding { access, element: f64::TYPE, rank: 2 });
        let views = std::any::TypeId::of::<Two<Proven>>();
        let prepared = prepare(&mut quoted, views, 2, &bindings, || Some(Type::unit())).unwrap();
        assert!(prepared.analysis.may_fault, "what decides is the captures");
        assert_eq!(prepared.may_fault(&INNER.widen(), &quoted.captures), faults, "{radius} {part}");
    }
}

#[test]
fn kernels_are_specialised_for_four_values_of_a_captured_bound() {
    type Two<M> = Views2<f64, f64, 2, M>;
    let prepared = |quoted: &mut Quoted| {
        let bindings = [Access::Write, Access::Read].map(|access| Binding { access, element: f64::TYPE, rank: 2 });
        prepare(quoted, std::any::TypeId::of::<Two<Proven>>(), 2, &bindings, || Some(Type::unit())).unwrap()
    };
    let mut made = Vec::new();
    for radius in [1i64, 2, 3, 4, 5, 6, 1, 5] {
        for dt in (0..20).map(|n| f64::from(n) * 0.1) {
            let mut quoted = quote_of::<Two<Proven>, Two<Checked>, (), _, 2>(&kernel!(|next, u, at| {
                let mut sum = u[at];
                for r in 1..radius + 1 {
                    sum += dt * u[at + [r, 0]];
                }
                next[at] = sum;
            }));
            made.push(prepared(&mut quoted));
        }
    }
    let halo = |of: usize| made[of * 20].args[1].halo.map(|halo| halo[0]);
    assert_eq!(
        std::array::from_fn(halo),
        [
            Some((0, 1)),
            Some((0, 2)),
            Some((0, 3)),
            Some((0, 4)),
            Some((0, 0)),
            Some((0, 0)),
            Some((0, 1)),
            Some((0, 0))
        ],
        "the fifth value and the sixth stay loops"
    );
    made.sort_by_key(std::sync::Arc::as_ptr);
    made.dedup_by_key(|made| std::sync::Arc::as_ptr(made));
    assert_eq!(made.len(), 5, "four values and any other");
}
