use tida::Element;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
enum Kind {
    A,
    B,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Tuple(f64, f64);

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Empty {}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Unit;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Generic<T> {
    x: T,
}

#[derive(Clone, Copy, Element)]
union Bits {
    a: f32,
    b: u32,
}

fn main() {}
