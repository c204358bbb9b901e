#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    h: f64,
}

trait Energy {
    fn energy(self) -> f64;
}

#[kernel_fn]
impl Energy for Wave {
    fn energy(self) -> f64 {
        self.h
    }
}

#[kernel_fn]
impl Wave {
    type Height = f64;

    fn raise(&mut self, by: f64) {
        self.h += by;
    }

    fn of<T: Real>(h: T) -> Wave {
        Wave { h: h as f64 }
    }

    fn again(self) -> f64 {
        Self::again(self)
    }

    fn double(self) -> f64 {
        2.0 * self.h
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Plain {
    h: f64,
}

#[kernel_fn]
impl Plain {
    fn height(self) -> f64 {
        self.h
    }
}

impl Wave {
    fn of_the_host(self) -> f64 {
        self.h
    }

    #[kernel_fn]
    fn single(self) -> f64 {
        self.h
    }
}

#[kernel_fn]
fn outside(x: f64) -> f64 {
    x + Self::REST
}

fn main() {
    sweep64(kernel!(|next, u, at| next[at] = Wave { h: u[at] }.double::<f64>()));
}
