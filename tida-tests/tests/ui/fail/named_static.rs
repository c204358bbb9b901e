// An item inside a captured path sees no more of a kernel than other code does.
#![forbid(unsafe_code)]
use tida::__private::{Ask, Checked, NoReads, Proven, StaticKernel, Views, body, capture, each};
use tida::prelude::*;

trait Leak {
    fn get() -> &'static StaticKernel;
}

struct H<const N: usize>;

impl<const N: usize> H<N> {
    const C: f64 = 1.0;
}

type A<'a> = (&'a mut TileArray<f64, 1>, &'a TileArray<f64, 1>);

fn same<N: for<'b> Fn(Ask<'b, Views<A<'static>, Proven, 1>, Views<A<'static>, Checked, 1>, (), 1>)>(n: N) -> N {
    n
}

fn leaked() {
    let _ = same(kernel!(|v, u, at| {
        v[at] = u[at] + H::<{ impl Leak for () { fn get() -> &'static StaticKernel { __tida_kernel } } 0 }>::C;
    }));
}

fn main() {
    let real = same(kernel!(|v, u, at| v[at] = u[at]));
    let _ = same(move |ask| match ask {
        Ask::Proven(run) => each(body(run, |_, _| {}), || {}, &[&capture(&1.0f64)], &[], NoReads),
        ask => real(ask),
    });
}
