#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

mod functions {
    pub fn plain(x: f64) -> f64 {
        x
    }
}

fn limit(x: f64) -> f64 {
    x
}

fn main() {
    sweep64(kernel!(|next, u, at| {
        next[at] = f64::max(u[at], 0.0) + std::primitive::f64::sqrt(u[at] + 1.0) + f64::mac(1.0);
        next[at] = f64::from(3) + i16::abs(3);
    }));
    sweep64(kernel!(|next, u, at| {
        next[at] = limit(u[at]) + functions::plain(2.0);
    }));
}
