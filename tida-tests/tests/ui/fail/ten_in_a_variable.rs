use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    let average = kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1]] + u[at + [1]]));
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), average)?;
    }
    Ok(())
}

fn main() {}
