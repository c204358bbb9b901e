use tida::prelude::*;

#[kernel_fn]
fn upwind<T: Real>(speed: T, left: T, right: T) -> T {
    if speed > T::lit(0.0) { left } else { right }
}

#[kernel_fn]
fn mean<T: Real, const N: usize>(of: [T; N]) -> T {
    let mut sum = T::lit(0.0);
    for n in 0..N {
        sum += of[n];
    }
    sum / N as T
}

#[kernel_fn]
fn twice<T>(x: T) -> T {
    x + x
}

#[kernel_fn]
fn larger<T>(x: T) -> T
where
    T: Number,
{
    x + T::lit(1)
}

#[kernel_fn]
fn half<T: Element>(x: T) -> T {
    x * T::lit(0.5)
}

fn without<T: Real>(next: &mut TileArray<T, 1>, u: &TileArray<T, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = upwind(u[at], u[at - [1]], u[at + [1]])))?;
    }
    Ok(())
}

fn one_of_two<T: Real>(next: &mut TileArray<T, 1>, u: &TileArray<T, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = mean::<T>([u[at], u[at]])))?;
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = mean([u[at], u[at]])))?;
    }
    Ok(())
}

fn moved(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at - 1] + u[at + 1]))?;
    }
    Ok(())
}

fn main() {}
