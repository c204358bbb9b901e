#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        if let 3 = at[0] {
            next[at] = 1.0;
        }
        let Some(x) = u[at] else { return };
        let ref y = x;
        while let 3 = at[0] {}
    }));
}
