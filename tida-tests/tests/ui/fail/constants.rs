#[path = "../support/mod.rs"]
mod support;
use std::sync::atomic::AtomicU64;
use support::sweep64;
use tida::kernel;

static COUNT: AtomicU64 = AtomicU64::new(0);
const NAME: &str = "wave";
struct UNIT;

fn main() {
    sweep64(kernel!(|next, u, at| next[at] = COUNT));
    sweep64(kernel!(|next, u, at| next[at] = NAME));
    sweep64(kernel!(|next, u, at| next[at] = UNIT));
}

fn local() {
    let H = 0.1;
    sweep64(kernel!(|next, u, at| next[at] = H * u[at]));
}

fn bound(count: usize) {
    let N = count;
    sweep64(kernel!(|next, u, at| {
        for k in 0..N {
            next[at] = k as f64;
        }
    }));
}
