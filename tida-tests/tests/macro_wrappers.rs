//! A closure around kernels, in safe code, runs what it answered with or is an error; it never runs unchecked.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

use tida::__private::{Ask, Checked, Proven, Views};
use tida::prelude::*;

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

/// Reads a cell and writes it to another array, in an instance of its own for each `N`.
fn step<const N: usize>() -> impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static {
    typed(kernel!(|next, u, at| next[at] = u[at]))
}

type Pair<M> = Views<(&'static mut TileArray<f64, 2>, &'static TileArray<f64, 2>), M, 2>;

fn typed<N: for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>)>(kernel: N) -> N {
    kernel
}

#[test]
fn an_instance_of_a_generic_function_is_no_other() {
    let acc = acc();
    let u = array(&acc);
    let mut next = u.like().unwrap();
    let mut run = |one: bool| {
        for tile in TileIter::new(&u) {
            match one {
                true => compute(&tile, (&mut next, &u), mixed(step::<2>(), step::<2>())).unwrap(),
                false => compute(&tile, (&mut next, &u), mixed(step::<2>(), step::<3>())).unwrap(),
            }
        }
        acc.sync()
    };
    run(true).unwrap();
    assert_eq!(run(false).unwrap_err().kind(), ErrorKind::Kernel);
}

/// What comes of a kernel.
fn outcome(
    kernel: impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static,
) -> Option<ErrorKind> {
    let acc = acc();
    let mut u = array(&acc);
    u.fill_ghosts().unwrap();
    let mut next = u.like().unwrap();
    compute(&TileIter::new(&u).next().unwrap(), (&mut next, &u), kernel).unwrap();
    acc.sync().err().map(|error| error.kind())
}

/// What a body reads is up to a constant of a type, by way of a function.
trait Away {
    const CELLS: i64;
    const WEIGHTS: [[f64; 2]; 2] = [[1.0, 2.0], [3.0, 4.0]];
}

struct Near;
struct Far;

impl Away for Near {
    const CELLS: i64 = 1;
}

impl Away for Far {
    const CELLS: i64 = 1 << 40;
}

#[kernel_fn]
fn away<A: Away>() -> i64 {
    A::CELLS * A::WEIGHTS[0][0] as i64
}

/// The same by a const parameter.
#[kernel_fn]
fn by<const N: usize>() -> i64 {
    let mut sum = 0;
    for _ in 0..N {
        sum += 1 << (10 * (N as i64 - 1));
    }
    sum
}

fn reads_away<A: Away + 'static>()
-> impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static {
    typed(kernel!(|next, u, at| next[at] = u[at - [0, away::<A>()]]))
}

fn reads_by<const N: usize>() -> impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static {
    typed(kernel!(|next, u, at| next[at] = u[at - [0, by::<N>()]]))
}

/// The same in the kernel itself: by an entry of a table of the type, and by a bound.
fn reads_entry<A: Away + 'static>()
-> impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static {
    typed(kernel!(|next, u, at| next[at] = u[at - [0, A::CELLS * A::WEIGHTS[0][0] as i64]]))
}

fn reads_within<const N: usize>() -> impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static
{
    typed(kernel!(|next, u, at| {
        let mut sum = 0.0;
        for r in 0..N as i64 {
            sum += u[at - [0, 1 << (10 * r)]];
        }
        next[at] = sum;
    }))
}

fn rounds<T: Real>() -> impl for<'b> Fn(Ask<'b, Pair<Proven>, Pair<Checked>, (), 2>) + Send + Sync + 'static {
    typed(kernel!(T; |next, u, at| next[at] = (u[at] as T * 0.1) as f64))
}

/// What shapes a body tells kernels apart: constants by way of a trait, const parameters, precisions.
#[test]
fn a_body_of_other_constants_is_no_other() {
    assert_eq!(outcome(mixed(reads_away::<Near>(), reads_away::<Near>())), None);
    assert_eq!(outcome(mixed(reads_away::<Near>(), reads_away::<Far>())), Some(ErrorKind::Kernel));
    assert_eq!(outcome(mixed(reads_by::<1>(), reads_by::<1>())), None);
    assert_eq!(outcome(mixed(reads_by::<1>(), reads_by::<4>())), Some(ErrorKind::Kernel));
    assert_eq!(outcome(mixed(reads_entry::<Near>(), reads_entry::<Near>())), None);
    assert_eq!(outcome(mixed(reads_entry::<Near>(), reads_entry::<Far>())), Some(ErrorKind::Kernel));
    assert_eq!(outcome(mixed(reads_within::<1>(), reads_within::<1>())), None);
    assert_eq!(outcome(mixed(reads_within::<1>(), reads_within::<4>())), Some(ErrorKind::Kernel));
    assert_eq!(outcome(mixed(rounds::<f32>(), rounds::<f32>())), None);
    assert_eq!(outcome(mixed(rounds::<f32>(), rounds::<f64>())), Some(ErrorKind::Kernel));
    assert_eq!(outcome(mixed(rounds::<f64>(), rounds::<f32>())), Some(ErrorKind::Kernel));
}

/// A body by itself is run with the constants of its own instance.
#[test]
fn each_instance_has_its_constants() {
    assert_eq!(outcome(reads_away::<Near>()), None);
    assert_eq!(outcome(reads_by::<1>()), None);
    assert_eq!(outcome(reads_away::<Far>()), Some(ErrorKind::OutOfRange));
    assert_eq!(outcome(reads_by::<4>()), Some(ErrorKind::OutOfRange));
}

#[test]
fn a_closure_that_runs_every_second_time_is_an_error() {
    // Planes that are swept in stripes: the closure is called several times for one box.
    let calls = |every: usize| {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        fn some_times<P, C, const D: usize>(
            every: usize,
            kernel: impl for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync + 'static,
        ) -> impl for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync + 'static {
            move |ask| match ask {
                Ask::Quote(answer) => kernel(Ask::Quote(answer)),
                run => {
                    if CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(every) {
                        kernel(run)
                    }
                }
            }
        }
        CALLS.store(0, Ordering::Relaxed);
        let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
        let mut u = TileArray::<f64, 3>::builder([2, 4096, 64]).build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, some_times(every, kernel!(|u, at| u[at] = 2.0))).unwrap();
        }
        (acc.sync().map_err(|e| e.kind()), CALLS.load(Ordering::Relaxed))
    };
    let (whole, all) = calls(1);
    assert_eq!(whole, Ok(()));
    let (half, few) = calls(2);
    assert_eq!(half, Err(ErrorKind::Kernel));
    // No box goes on after a call that ran nothing.
    assert!(1 < few && few < all, "{few} calls of {all}");
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
