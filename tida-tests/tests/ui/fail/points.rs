#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    let x = 3i64;
    sweep64(kernel!(|next, u, at| {
        next[at] = u[2 * at] + u[at * 2] + u[at + 1] + u[x * at] + u[-at];
        let p = at + [1, 0];
        next[at] += u[p / 2] + p.x + (at as i64) as f64;
        if p == at {
            next[at] = 1.0;
        }
    }));
}
