#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    let name = String::from("wave");
    sweep64(kernel!(|next, u, at| {
        next[at] = name;
    }));
}

fn integer_literal() {
    let offset = 1;
    sweep64(kernel!(|next, u, at| next[at] = u[at + [offset, 0]]));
}

fn lists(weights: &[f64]) {
    let list = vec![1.0, 2.0];
    sweep64(kernel!(|next, u, at| next[at] = u[at] * list[0] + weights[1]));
}
