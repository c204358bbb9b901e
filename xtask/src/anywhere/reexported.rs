//! A program that knows tida as a part of another library.

use wrapper::grids::prelude::*;

#[kernel_fn(crate = wrapper::grids)]
fn twice(x: f32) -> f32 {
    x + x
}

fn main() -> wrapper::grids::Result<()> {
    let acc = TileAcc::auto()?;
    let mut u = TileArray::<f32, 1>::builder([128]).regions([2]).build(&acc)?;
    u.fill_value(1.5)?;
    let mut next = u.like()?;
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = twice(u[at])))?;
        compute_groups(&tile, [16], (&mut u, &next), wrapper::grids::group_kernel!(|u, next, group| {
            let line = group.fetch(next, [0], [0]);
            group.each(|t| u[t.at()] = line[t] + 1.0);
        }))?;
    }
    assert_eq!(u.read_box(u.domain())?, vec![4.0; 128]);
    Ok(())
}
