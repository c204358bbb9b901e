#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub)]
//! The macros under the strictest lints.
#[path = "../support/mod.rs"]
mod support;
use support::{sweep, sweep64};
use tida::{Element, kernel, kernel_fn};

#[path = "../support/functions.rs"]
mod functions;

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
pub struct State {
    density: f64,
    /// Momentum.
    pub momentum: [f64; 2],
}

#[kernel_fn]
impl State {
    /// Density at rest.
    pub const REST: f64 = 1.0;

    /// At rest.
    #[must_use]
    pub fn at_rest() -> Self {
        Self { density: Self::REST, momentum: [0.0; 2] }
    }

    fn moved(&self, State { momentum: [x, y], .. }: Self, by: f64) -> State {
        State { momentum: [self.momentum[0] + by * x, self.momentum[1] + by * y], density: self.density }
    }
}

#[kernel_fn]
fn square(x: f64) -> f64 {
    x * x
}

struct Model {
    alpha: f64,
}

impl Model {
    fn step(&self, weights: [f64; 3]) {
        sweep64(kernel!(|next, u, at| {
            next[at] = self.alpha * square(u[at]) + functions::cube(u[at - [0, 1]]) * weights[1];
        }));
        sweep::<State, f64, _>(kernel!(|q, u, at| {
            let s = q[at];
            let mut pair = (s.density, 2);
            pair.1 += 1;
            q[at].momentum[0] += u[at] * pair.0;
            let density = functions::flux(s.momentum, s.density);
            q[at] = State { density, momentum: [density * pair.1 as f64; 2] }.moved(State::at_rest(), 0.5);
        }));
    }
}

fn main() {
    Model { alpha: 0.5 }.step([1.0, 2.0, 3.0]);
}
