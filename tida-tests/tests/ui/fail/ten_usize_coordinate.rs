use tida::prelude::*;

fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[[at[0] as usize - 1]]))?;
    }
    Ok(())
}

fn main() {}
