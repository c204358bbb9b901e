//! A closure around kernels, in safe code, runs what it answered with or is an error; it never runs unchecked.
#![forbid(unsafe_code)]

use tida::__private::Ask;
use tida::prelude::*;
use tida::{Sum, reduce};

fn array(acc: &TileAcc) -> TileArray<f64, 2> {
    let mut u = TileArray::builder([8, 64]).regions([2, 1]).ghost(1).build(acc).unwrap();
    u.fill(|[j, i]| (j * 64 + i) as f64).unwrap();
    u
}

fn acc() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

/// Answers with one kernel and runs another.
fn mixed<P, C, R, const D: usize>(
    answers: impl for<'b> Fn(Ask<'b, P, C, R, D>) + Send + Sync + 'static,
    runs: impl for<'b> Fn(Ask<'b, P, C, R, D>) + Send + Sync + 'static,
) -> impl for<'b> Fn(Ask<'b, P, C, R, D>) + Send + Sync + 'static {
    move |ask| match ask {
        Ask::Quote(answer) => answers(Ask::Quote(answer)),
        run => runs(run),
    }
}

#[test]
fn compute_refuses_a_kernel_that_it_has_not_analysed() {
    let acc = acc();
    let u = array(&acc);
    let mut next = u.like().unwrap();
    for tile in TileIter::new(&u) {
        let far = 1i64 << 40;
        let kernel = mixed(
            kernel!(|next, u, at| next[at] = u[at]),
            kernel!(|next, u, at| next[at + [far, 0]] = u[at - [far, 0]]),
        );
        compute(&tile, (&mut next, &u), kernel).unwrap();
    }
    let error = acc.sync().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel, "{error}");
    assert!(error.to_string().contains("macro_wrappers.rs"), "{error}");
}

#[test]
fn reduce_refuses_a_closure_that_runs_nothing() {
    let acc = acc();
    let u = array(&acc);
    let answer = mixed(kernel!(|u, at| u[at]), |_| {});
    let error = reduce(&u, Sum, answer).map(|_: f64| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel, "{error}");
}

#[test]
fn a_closure_that_hands_on_is_a_kernel() {
    let acc = acc();
    let u = array(&acc);
    let same = |scale: f64| kernel_of(kernel!(|u, at| scale * u[at]));
    let sum: f64 = reduce(&u, Sum, mixed(same(2.0), same(2.0))).unwrap();
    assert_eq!(sum, 511.0 * 512.0);
    assert!(reduce(&u, Sum, mixed(same(2.0), same(3.0))).map(|_: f64| ()).is_err());
}

/// Gives a kernel its type where no call does.
fn kernel_of<P, C, N>(kernel: N) -> N
where
    N: for<'b> Fn(Ask<'b, (P,), (C,), f64, 2>) + Send + Sync + 'static,
    P: tida::__private::ReadView<Index = [i64; 2], Place = <f64 as Element>::Place>,
    C: tida::__private::ReadView<Index = [i64; 2], Place = <f64 as Element>::Place>,
{
    kernel
}
