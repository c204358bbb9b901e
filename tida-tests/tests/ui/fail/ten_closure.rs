use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| {
            let square = |x| x * x;
            next[at] = square(u[at]) + (|x: f64| 2.0 * x)(u[at]);
        }))?;
    }
    Ok(())
}

fn main() {}
