#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        #[cfg(feature = "fast")]
        let a = 1.0;
        const B: f64 = 2.0;
        next[at] = a + B;
    }));
}
