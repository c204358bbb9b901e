//! The macros' native form over small buffers, against plain loops, and what they answer when asked.
#![forbid(unsafe_op_in_unsafe_fn)]

use tida_kernels::quote::{ExprKind, KernelTree, StmtKind};
use tida_kernels::scalar::Value;

use super::ask::{Answer, Ask, Quoted, Run};
use super::capture::CapturedValue;
use super::view::{Checked, Proven, Raw, View, ViewMut};
use crate::array::GridBox;
use crate::array::element::Element;
use crate::{kernel, kernel_fn};

/// A buffer of elements, one plane a component.
struct Buffer<const D: usize> {
    bytes: Vec<u64>,
    cells: GridBox<D>,
}

impl<const D: usize> Buffer<D> {
    fn new<T: Element>(cells: GridBox<D>) -> Self {
        Buffer { bytes: vec![0; cells.cells() * T::TYPE.bytes() / 8 + 1], cells }
    }

    fn raw(&mut self) -> Raw<D> {
        let extent = self.cells.extent();
        let mut strides = [1; D];
        for d in (0..D - 1).rev() {
            strides[d] = strides[d + 1] * extent[d + 1];
        }
        Raw {
            base: self.bytes.as_mut_ptr().cast(),
            cells: self.cells.cells(),
            origin: self.cells.lo,
            strides,
            bounds: self.cells,
        }
    }

    fn set<T: Element>(&mut self, values: &[T]) {
        use crate::array::element::Place;
        let raw = self.raw();
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the buffer has this many elements.
            unsafe { T::place(raw.base, raw.cells, i) }.store(*value);
        }
    }

    fn get<T: Element>(&mut self) -> Vec<T> {
        use crate::array::element::Place;
        let raw = self.raw();
        // SAFETY: the buffer has this many elements.
        (0..raw.cells).map(|i| unsafe { T::place(raw.base, raw.cells, i) }.load()).collect()
    }
}

type Views2<A, B, const D: usize, M> = (ViewMut<A, D, M>, View<B, D, M>);

fn quote_of<P, C, R, N, const D: usize>(kernel: &N) -> Quoted
where
    N: for<'b> Fn(Ask<'b, P, C, R, D>),
{
    let mut quote = None;
    kernel(Ask::Quote(Answer { quote: &mut quote }));
    quote.expect("a kernel answers")
}

/// Runs over `cells`, proven and checked, and gives the quotation.
fn run<A: Element, B: Element, N, const D: usize>(
    next: &mut Buffer<D>,
    u: &mut Buffer<D>,
    cells: GridBox<D>,
    kernel: N,
) -> Quoted
where
    N: for<'b> Fn(Ask<'b, Views2<A, B, D, Proven>, Views2<A, B, D, Checked>, (), D>) + Send + Sync + 'static,
{
    let (a, b) = (next.raw(), u.raw());
    let before = next.bytes.clone();
    // SAFETY: the buffers are live and the tests index inside them.
    unsafe {
        let views: Views2<A, B, D, Proven> = (ViewMut::new(a, 0), View::new(b, 1));
        kernel(Ask::Proven(Run::new(&views, cells, std::ptr::NonNull::dangling().as_ptr())));
    }
    let proven = std::mem::replace(&mut next.bytes, before);
    let a = next.raw();
    // SAFETY: as above.
    unsafe {
        let views: Views2<A, B, D, Checked> = (ViewMut::new(a, 0), View::new(b, 1));
        kernel(Ask::Checked(Run::new(&views, cells, std::ptr::NonNull::dangling().as_ptr())));
    }
    assert_eq!(proven, next.bytes, "proven and checked forms differ");
    quote_of(&kernel)
}

fn tree(quoted: &Quoted) -> KernelTree {
    KernelTree::decode(quoted.kernel.tree).expect("a tree")
}

fn scalars(quoted: &Quoted) -> Vec<Value> {
    quoted
        .captures
        .list
        .iter()
        .flat_map(|c| match c {
            CapturedValue::Scalar(v) => vec![*v],
            CapturedValue::Array(_, values) => values.to_vec(),
            CapturedValue::Deferred(ty, _) => vec![Value::from_bits(*ty, 0)],
        })
        .collect()
}

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
    assert!(quoted.kernel.file.ends_with("macro_tests.rs"));
    assert!(tree.code.body.stmts[0].span.line > quoted.kernel.line);
    assert_eq!(tree.code.body.stmts[0].span.column, 9);
}
