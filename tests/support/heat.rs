//! The step that the benches of places and ranks time.

use tida::prelude::*;

/// A step of heat of 7 points, periodic or not as the arrays are: fills the ghosts of `u`, computes `next`, and swaps
/// both.
///
/// # Errors
/// Those of `fill_ghosts` and `compute`.
pub fn step(u: &mut TileArray<f64, 3>, next: &mut TileArray<f64, 3>) -> tida::Result<()> {
    u.fill_ghosts()?;
    for tile in next.tiles() {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| {
                let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                next[at] = u[at] + 0.1 * (around + u[at - [0, 0, 1]] + u[at + [0, 0, 1]] - 6.0 * u[at]);
            }),
        )?;
    }
    std::mem::swap(u, next);
    Ok(())
}
