use tida::num_complex::Complex64;
use tida::prelude::*;

#[kernel_fn]
fn power(z: Complex64, w: Complex64) -> Complex64 {
    z.powc(w)
}

#[kernel_fn]
fn root(z: Complex64) -> Complex64 {
    z.sqrt()
}

#[kernel_fn]
fn ordered(z: Complex64, w: Complex64) -> bool {
    z < w
}

#[kernel_fn]
fn mixed(z: Complex64, n: i32) -> Complex64 {
    z * n + 2 * z
}

#[kernel_fn]
fn of_two_precisions(z: Complex64, x: f32) -> Complex64 {
    z * x
}

#[kernel_fn]
fn rest(z: Complex64) -> Complex64 {
    z % 2.0
}

fn largest(z: &TileArray<Complex64, 1>) -> tida::Result<()> {
    reduce(z, Max, kernel!(|z, at| z[at]))?;
    Ok(())
}

fn a_part(z: &TileArray<[f64; 2], 1>) -> tida::Result<()> {
    reduce(z, Sum, kernel!(|z, at| z[at]))?;
    Ok(())
}

fn of_integers(a: &TileArray<i32, 1>) -> tida::Result<i32> {
    dot(a, a)
}

fn shared(b: &mut TileArray<Complex64, 1>, a: &TileArray<Complex64, 1>) -> tida::Result<()> {
    for tile in a.tiles() {
        compute_groups(&tile, [64], (&mut *b, a), group_kernel!(|b, a, group| {
            let s = group.fetch(a, [1], [1]);
            group.each(|t| b[t.at()] = s[t - [1]]);
        }))?;
    }
    Ok(())
}

fn main() {}
