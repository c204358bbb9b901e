use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    let weights = vec![0.25, 0.75];
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = weights[0] * u[at] + weights[1]))?;
    }
    Ok(())
}

fn main() {}
