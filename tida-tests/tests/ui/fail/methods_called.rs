#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    h: f64,
}

#[kernel_fn]
impl Wave {
    fn double(self) -> f64 {
        2.0 * self.h
    }
}

impl Wave {
    fn of_the_host(self) -> f64 {
        self.h
    }
}

fn main() {
    sweep64(kernel!(|next, u, at| next[at] = u[at].squareroot()));
    sweep64(kernel!(|next, u, at| next[at] = u[at].sqtr()));
    sweep64(kernel!(|next, u, at| next[at] = Wave { h: u[at] }.of_the_host()));
    sweep64(kernel!(|next, u, at| next[at] = Wave::of_the_host(Wave { h: u[at] })));
    sweep64(kernel!(|next, u, at| next[at] = Wave { h: u[at] }.double(1.0)));
    sweep64(kernel!(|next, u, at| next[at] = Wave { h: u[at] }.sqrt()));
    sweep64(kernel!(|next, u, at| next[at] = Wave { h: u[at] }.double() as f32));
}
