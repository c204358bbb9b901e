use tida::prelude::*;

fn step<T: Element>(next: &mut TileArray<T, 1>, u: &TileArray<T, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at - [1]] + u[at + [1]]))?;
    }
    Ok(())
}

fn main() {}
