#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next: f64, u, at| {}));
    sweep64(kernel!(|at| {}));
    sweep64(kernel!(|(a, b), u, at| {}));
    sweep64(kernel!(|mut next, u, at| -> f64 { 1.0 }));
    sweep64(kernel!(|a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, at| {}));
    sweep64(kernel!(3 + 4));
    sweep64(kernel!());
}
