#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        let n = u.len();
        next[at] = 2.0 * u;
        next = 1.0;
    }));
}
