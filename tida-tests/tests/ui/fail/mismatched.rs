#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    let n = 3i32;
    sweep64(kernel!(|next, u, at| {
        next[at] = u[at] + n;
    }));
    sweep64(kernel!(|next, u, at| {
        next[at] = u[at + [0, 0, 1]] & 1.0;
    }));
    sweep64(kernel!(|next, u, at| {
        let i = 1i64;
        let w = [u[at], 2.0];
        next[at] = w[i];
    }));
}
