#[path = "../support/mod.rs"]
mod support;
use tida::prelude::*;

fn run(tile: &Tile<1>, b: &mut TileArray<f64, 1>, a: &TileArray<f64, 1>) {
    let n = 64;
    let _ = compute_groups(
        tile,
        [64],
        (b, a),
        group_kernel!(|b, a, group| {
            let s = group.fetch(a, [1], [n]);
            let x = group.private(0.0);
            let mut h = 1;
            if a[[0]] > 0.0 {
                return;
            }
            group.each(|t| {
                h *= 2;
                group.each(|t| b[t.at()] = x);
            });
            h = x;
            let late = group.shared::<f64>([64]);
            group.each_around([1], [1], |t| s[t] = x);
            group.barrier();
        }),
    );
}

fn main() {}
