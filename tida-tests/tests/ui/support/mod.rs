//! A stand-in for `compute`: types a kernel for the arguments, and asks it for its quotation at most.
#![allow(dead_code, unreachable_pub, missing_docs, missing_debug_implementations)]

use tida::__private::{Ask, Checked, Proven, Views};
use tida::prelude::*;

/// What stands for two arrays, of which the first is written.
type Two<A, B, M> = Views<(&'static mut TileArray<A, 2>, &'static TileArray<B, 2>), M, 2>;

/// `next` of `A` is written, `u` of `B` is read, in two dimensions.
pub fn sweep<A: Element, B: Element, N>(_: N)
where
    N: for<'b> Fn(Ask<'b, Two<A, B, Proven>, Two<A, B, Checked>, (), 2>) + Send + Sync + 'static,
{
}

/// `sweep` over `f64`.
pub fn sweep64<N>(kernel: N)
where
    N: for<'b> Fn(Ask<'b, Two<f64, f64, Proven>, Two<f64, f64, Checked>, (), 2>) + Send + Sync + 'static,
{
    sweep::<f64, f64, N>(kernel)
}
