#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn plain(x: f64) -> f64 {
    x
}

fn main() {
    let f = plain;
    sweep64(kernel!(|next, u, at| {
        next[at] = plain(u[at]);
    }));
    sweep64(kernel!(|next, u, at| {
        next[at] = f(u[at]) + Vec::<f64>::with_capacity(3);
        let x = 1.0;
        next[at] = x(2.0) + (|y| y)(1.0);
    }));
}
