use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = 2 * u[at]))?;
    }
    Ok(())
}

fn captured(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    let half = 1 / 2;
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at] * half))?;
    }
    Ok(())
}

fn before_the_array(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    let n: i32 = 2;
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = n * u[at]))?;
    }
    Ok(())
}

fn main() {}
