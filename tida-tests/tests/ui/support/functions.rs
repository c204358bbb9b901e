//! Functions of another module.

use tida::kernel_fn;

/// The cube.
#[kernel_fn]
pub(crate) fn cube(x: f64) -> f64 {
    x.powi(3)
}

/// A flux.
#[kernel_fn]
pub(crate) fn flux(m: [f64; 2], density: f64) -> f64 {
    self::cube(m[0]) / density
}
