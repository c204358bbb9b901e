use tida::array::Scalar;
use tida::prelude::*;
use tida::__private::ScalarType;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Pair {
    x: f64,
    y: f64,
}

/// Views of a component would be twice as long as the component.
impl Scalar for Pair {
    const SCALAR: ScalarType = ScalarType::F64;
    fn bits(self) -> u64 {
        0
    }
}

fn main() {}
