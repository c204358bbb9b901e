#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    let alpha = 1.0;
    struct Model { alpha: f64 }
    let model = Model { alpha };
    sweep64(kernel!(|next, u, at| {
        at[0] = 3;
        at += [0, 1];
        alpha = 2.0;
        model.alpha += 2.0;
        (next[at], next[at]) = (1.0, 2.0);
        u[at].sqrt() = 1.0;
    }));
}
