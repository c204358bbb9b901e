//! What the plain loops of several programs share. Nothing of tida is used here.

use tida::{Real, lit};

/// The sum of rows of numbers in the order that is fixed for every device: the values of a row go into segments of 64
/// that start at multiples of 64, each segment is folded by halves, and so are the segments' sums, 64 at a time, until
/// one is left.
pub fn sum<T: Real>(rows: impl Iterator<Item = Vec<T>>) -> T {
    let mut sums: Vec<T> = rows.flat_map(|row| row.chunks(64).map(by_halves).collect::<Vec<T>>()).collect();
    while sums.len() > 1 {
        sums = sums.chunks(64).map(by_halves).collect();
    }
    sums[0]
}

/// `v[i] + v[i + 32]`, then 16, 8, 4, 2, 1. What is missing is -0.0, which changes no sum.
fn by_halves<T: Real>(values: &[T]) -> T {
    let mut v = [lit!(T, -0.0); 64];
    v[..values.len()].copy_from_slice(values);
    for half in [32, 16, 8, 4, 2, 1] {
        for i in 0..half {
            v[i] += v[i + half];
        }
    }
    v[0]
}

/// A number from 0 to 1 that a hash makes of an index.
pub fn random(index: usize) -> f64 {
    (hash(index) >> 11) as f64 / (1u64 << 53) as f64
}

/// A hash of an index.
pub fn hash(index: usize) -> u64 {
    let mut bits = (index as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
