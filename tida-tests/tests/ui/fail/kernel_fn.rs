use tida::kernel_fn;

const NAME: &str = "g";
#[allow(non_upper_case_globals)]
const g: f64 = 9.81;

struct Of<const N: usize>;

impl<const N: usize> Of<N> {
    const DOUBLE: usize = 2 * N;
}

#[kernel_fn]
fn constant(x: f64) -> f64 {
    g * x + Of::<3>::DOUBLE as f64
}

#[kernel_fn]
fn of_another_type(x: f64) -> f64 {
    NAME;
    x
}

#[kernel_fn]
fn references(&x: &f64, Some(y): f64, ref z: f64) -> f64 {
    x
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
    of_another_type(1.0);
}
