#[path = "../support/mod.rs"]
mod support;
use support::{sweep, sweep64};
use tida::kernel;

const LIMIT: i32 = 3;

fn main() {
    // What is left has to be said.
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] {
        0 => 1,
        x if x > 0 => 2,
    }));
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] > 0 {
        true => 1,
        false if u[at] < 3 => 2,
    }));
    sweep::<i32, i32, _>(kernel!(|next, u, at| match u[at] {}));
    // No value is left.
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] {
        x => 1,
        2 => 2,
        _ => 3,
    }));
    // A constant, or a name?
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] {
        LIMIT => 1,
        _ => 2,
    }));
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] {
        5..=2 => 1,
        3..3 => 2,
        x | 2 => 3,
        "two" => 4,
        &y => 5,
        [a, b] => 6,
        Some(x) => 7,
        _ => 8,
    }));
    sweep64(kernel!(|next, u, at| next[at] = match at {
        _ => 1.0,
    }));
}
