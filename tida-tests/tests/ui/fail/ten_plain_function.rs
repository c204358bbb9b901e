use tida::prelude::*;

fn limit(x: f64) -> f64 {
    x.clamp(0.0, 1.0)
}

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = limit(u[at])))?;
    }
    Ok(())
}

fn main() {}
