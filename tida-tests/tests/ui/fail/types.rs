#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        let a: i128 = 3;
        let b: &f64 = 1.0;
        let c: Vec<f64> = 1.0;
        let d = 3u128;
        let e = 1.0 as bool;
        let n = 4;
        let f = [0.0; n];
        let g = 99999999999999999999;
        next[at] = 1.0 as _;
    }));
}
