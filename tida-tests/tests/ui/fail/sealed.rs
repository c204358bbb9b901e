// What the library trusts nobody else implements.
use tida::__private::ScalarType;
use tida::prelude::*;

#[derive(Clone, Copy, PartialEq, Debug, Element)]
struct Wide {
    x: [u64; 512],
}

impl tida::array::ScalarElement for Wide {
    const SCALAR: ScalarType = ScalarType::F64;
    fn bits(self) -> u64 {
        0
    }
}

fn main() {}
