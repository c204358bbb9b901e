#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        for w in [1.0, 2.0] {
            next[at] += w;
        }
        for k in (0..4).rev() {}
        for k in 0.. {}
        for mut k in 0..4 {}
        'outer: for k in 0..4 {
            break 'outer;
        }
        let x = loop { break 3.0; };
    }));
}
