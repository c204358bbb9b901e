//! A program that knows tida by another name.

use stencils::prelude::*;

#[kernel_fn(crate = stencils)]
fn half(x: f64) -> f64 {
    0.5 * x
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[element(crate = stencils)]
struct Cell {
    value: f64,
    count: i32,
}

fn main() -> stencils::Result<()> {
    let acc = TileAcc::auto()?;
    let mut u = TileArray::<Cell, 1>::builder([200]).regions([3]).build(&acc)?;
    u.fill(|[i]| Cell { value: i as f64, count: 0 })?;
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut u,), kernel!(|u, at| {
            u[at] = Cell { value: half(u[at].value), count: u[at].count + 1 };
        }))?;
    }
    let sum: f64 = reduce(&u, Sum, kernel!(|u, at| u[at].value + u[at].count as f64))?;
    assert_eq!(sum, 0.5 * 19_900.0 + 200.0);
    Ok(())
}
