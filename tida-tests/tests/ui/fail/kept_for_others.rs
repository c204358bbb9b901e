// A kept kernel is one for the types that it was kept for, and says what it gives.
use tida::prelude::*;

type Field = TileArray<f64, 1>;

fn other_types(u: &mut TileArray<f32, 1>, v: &Field, next: &mut Field) -> tida::Result<()> {
    let step = keep((&mut *next, v), kernel!(|next, v, at| next[at] = v[at]));
    for tile in TileIter::new(v) {
        compute(&tile, (&mut *u, v), step)?;
    }
    Ok(())
}

fn boxed(step: &BoxedKernel<1, (&'static mut Field, &'static Field)>, u: &Field, v: &Field) -> tida::Result<()> {
    for tile in TileIter::new(v) {
        step.compute(&tile, (u, v))?;
    }
    Ok(())
}

fn of_another_value() -> impl Kernel<1, &'static Field, f64> {
    kernel!(|u, at| u[at] > 0.0)
}

fn main() {}
