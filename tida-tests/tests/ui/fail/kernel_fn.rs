use tida::kernel_fn;

const G: f64 = 9.81;

#[kernel_fn]
fn constant(x: f64) -> f64 {
    G * x
}

#[kernel_fn]
fn generic<T>(x: T) -> T {
    x
}

#[kernel_fn(fast)]
unsafe fn dangerous(x: f64) -> f64 {
    x
}

#[kernel_fn]
fn slice(x: &[f64], (a, b): (f64, f64)) -> f64 {
    x[0]
}

#[kernel_fn]
fn recursive(n: u32) -> u32 {
    if n < 2 { 1 } else { n * recursive(n - 1) }
}

struct Model;

impl Model {
    #[kernel_fn]
    fn method(&self, x: f64) -> f64 {
        x
    }
}

#[kernel_fn]
struct NotAFunction;

fn main() {
    constant(1.0);
}
