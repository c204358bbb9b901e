#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        next[at] = u[at].squareroot() + u[at].sine() + u[at].mac(2.0) + u[at].max(1.0, 2.0);
        next[at] = (at[0] as f64).sqtr() + 2.5.sine();
        next[at] = [1.0, 2.0].len() as f64 + u[at].clone() + at.iter();
    }));
}
