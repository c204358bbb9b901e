use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    let half = 1 / 2;
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = 2 * u[at] + half * u[at]))?;
    }
    Ok(())
}

fn main() {}
