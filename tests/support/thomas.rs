//! Thomas' algorithm along an axis: each line is a tridiagonal system, of a step of heat conduction that is implicit
//! there.

use tida::prelude::*;

/// Sets `x` to what `u` is after an implicit step along an axis: `x - rate * (its second difference) = u`.
///
/// A sweep forward eliminates: it leaves the coefficients in `c` and `d`, whose ghosts are 0. A sweep backward
/// substitutes; ghosts of `x` are what lies beyond the lines' ends.
///
/// # Errors
/// Those of `sweep_along`.
pub fn implicit<T: Real, const D: usize, const AXIS: usize>(
    x: &mut TileArray<T, D>,
    u: &TileArray<T, D>,
    work: [&mut TileArray<T, D>; 2],
    rate: T,
) -> tida::Result<()> {
    let [c, d] = work;
    eliminated::<T, D, AXIS>(u, [&mut *c, &mut *d], rate)?;
    substituted::<T, D, AXIS>(x, [c, d])
}

/// The same of `u` itself.
///
/// # Errors
/// Those of `sweep_along`.
pub fn implicit_in_place<T: Real, const D: usize, const AXIS: usize>(
    u: &mut TileArray<T, D>,
    work: [&mut TileArray<T, D>; 2],
    rate: T,
) -> tida::Result<()> {
    let [c, d] = work;
    eliminated::<T, D, AXIS>(u, [&mut *c, &mut *d], rate)?;
    substituted::<T, D, AXIS>(u, [c, d])
}

fn eliminated<T: Real, const D: usize, const AXIS: usize>(
    u: &TileArray<T, D>,
    [c, d]: [&mut TileArray<T, D>; 2],
    rate: T,
) -> tida::Result<()> {
    sweep_along(
        AXIS,
        Forward,
        u.tiles(),
        (c, d, u),
        kernel!(T; |c, d, u, at| {
            let before = at - unit(AXIS);
            let scale = 1.0 / (1.0 + 2.0 * rate + rate * c[before]);
            c[at] = -rate * scale;
            d[at] = scale * (u[at] + rate * d[before]);
        }),
    )
}

fn substituted<T: Real, const D: usize, const AXIS: usize>(
    x: &mut TileArray<T, D>,
    [c, d]: [&TileArray<T, D>; 2],
) -> tida::Result<()> {
    sweep_along(AXIS, Backward, x.tiles(), (x, c, d), kernel!(|x, c, d, at| x[at] = d[at] - c[at] * x[at + unit(AXIS)]))
}
