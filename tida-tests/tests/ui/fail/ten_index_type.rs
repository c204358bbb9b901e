use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    let dt = 0.1;
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at] + at[0] * dt))?;
    }
    Ok(())
}

fn after_a_float(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| {
            let [i] = at;
            let x = 0.5 * at[0];
            next[at] = u[at] + x * i;
        }))?;
    }
    Ok(())
}

fn main() {}
