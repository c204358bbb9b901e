#[path = "../support/mod.rs"]
mod support;
use support::sweep;
use tida::kernel;

fn main() {
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] {
        1.5 => 1,
        _ => 2,
    }));
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match (u[at], 1) {
        (1, 2, 3) => 1,
        _ => 2,
    }));
    sweep::<i32, i32, _>(kernel!(|next, u, at| next[at] = match u[at] {
        1 => 1,
        _ => 2.5,
    }));
    sweep::<i32, i32, _>(kernel!(|next, u, at| for i in (0.0..2.0).rev() {}));
}
