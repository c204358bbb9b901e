#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        for k in [] {}
        for k in (0..4).skip(1) {}
        for k in (0..4).rev().step_by(2).rev() {}
        for k in (0..4).step_by(0) {}
        for k in weights {}
        for k in 0.. {}
        for mut k in 0..4 {}
        'outer: for k in 0..4 {
            continue 'inner;
        }
        let y = 'block: { 1.0 };
        let x = loop { break 3.0; };
    }));
}
