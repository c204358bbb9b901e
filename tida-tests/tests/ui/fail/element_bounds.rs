use tida::Element;

#[derive(Debug, PartialEq, Element)]
struct NotCopy {
    x: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Field {
    name: &'static str,
}

fn main() {}
