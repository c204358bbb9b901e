//! A program that calls itself `tida` and `core`: expansions find the library all the same.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]

extern crate self as core;
extern crate self as tida;
extern crate tida as real;

use real::prelude::*;
use std::assert_eq;

/// What expansions would find in place of the scalar types.
pub mod primitive {
    /// Not this.
    #[allow(non_camel_case_types)]
    pub type u8 = std::primitive::i64;
}

/// What expansions would find in place of what the library has for them.
pub mod __private {
    pub use real::__private::*;

    /// Another cell.
    pub fn get<V: ReadView<Index = [i64; 1]>>(_: &V, _: [i64; 1]) -> f64 {
        std::unreachable!()
    }
    /// Another place.
    pub fn read<V: ReadView<Index = [i64; 1]>>(_: &V, _: [i64; 1]) -> V::Place {
        std::unreachable!()
    }
}

/// The half.
#[kernel_fn(crate = real)]
fn half(x: f64) -> f64 {
    (x * 0.5) as u8 as f64
}

#[derive(Element)]
#[element(crate = real)]
struct Pair {
    a: f64,
    b: u8,
}

impl Clone for Pair {
    fn clone(&self) -> Pair {
        *self
    }
}

impl Copy for Pair {}

impl PartialEq for Pair {
    fn eq(&self, other: &Pair) -> bool {
        self.a == other.a && self.b == other.b
    }
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.a.fmt(f)
    }
}

#[test]
fn kernels_are_what_the_library_says() {
    let acc = TileAcc::auto().unwrap();
    let mut v = TileArray::<f64, 1>::builder([4]).build(&acc).unwrap();
    let mut u = v.like().unwrap();
    let mut pairs = TileArray::<Pair, 1>::builder([4]).build(&acc).unwrap();
    u.fill(|[i]| i as f64).unwrap();
    for tile in TileIter::new(&u) {
        compute(
            &tile,
            (&mut v, &u, &mut pairs),
            kernel!(|v, u, pairs, at| {
                let k = 1099511627776i64 as u8; // 0: a byte
                pairs[at].b = 7;
                v[at] = u[at + [k as i64]] + half(3.0) + pairs[at].b as f64;
            }),
        )
        .unwrap();
        compute(&tile, &mut v, real::kernel!(|v, at| v[at] += 1.0)).unwrap();
    }
    assert_eq!(v.to_ndarray().unwrap().as_slice().unwrap(), [9.0, 10.0, 11.0, 12.0]);
    for tile in TileIter::new(&u) {
        compute_groups(
            &tile,
            [4],
            &mut v,
            group_kernel!(|v, group| {
                group.each(|t| v[t.at()] += 1.0);
            }),
        )
        .unwrap();
    }
    assert_eq!(v.to_ndarray().unwrap()[0], 10.0);
}
