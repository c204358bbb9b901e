//! Names that came through `macro_rules!` are what they are in plain Rust: a macro's own are not those of who calls it.
#![cfg(feature = "ndarray")]

use tida::prelude::*;

#[kernel_fn]
fn shift(x: f64) -> f64 {
    x + 1.0
}

mod other {
    #[tida::kernel_fn]
    pub fn shift(x: f64) -> f64 {
        x + 2.0
    }
}

fn filled(acc: &TileAcc, value: f64) -> TileArray<f64, 1> {
    let mut u = TileArray::<f64, 1>::builder([4]).build(acc).unwrap();
    u.fill_value(value).unwrap();
    u
}

/// What a kernel gives at the first cell, and what plain Rust says of the same tokens.
macro_rules! both {
    (|$u:ident, $at:ident| { $($before:tt)* } $value:expr) => {{
        let acc = TileAcc::auto().unwrap();
        let mut array = filled(&acc, 0.0);
        for tile in TileIter::new(&array.like().unwrap()) {
            compute(&tile, &mut array, kernel!(|$u, $at| { $($before)* $u[$at] = $value; })).unwrap();
        }
        let plain = { $($before)* $value };
        (array.to_ndarray().unwrap()[0], plain)
    }};
}

/// A macro with an `a` of its own beside that of its caller.
macro_rules! own_capture {
    ($x:expr) => {{
        let a = 1.0f64;
        both!(|u, at| {} a * 100.0 + $x)
    }};
}

macro_rules! own_local {
    ($x:ident) => {
        both!(|u, at| { let b = 1.0f64; let $x = 2.0f64; } b * 10.0 + $x)
    };
}

/// The caller's `b` is no local of the kernel.
macro_rules! beside_a_local {
    ($x:expr) => {
        both!(|u, at| { let b = 1.0f64; } b * 10.0 + $x)
    };
}

macro_rules! own_loop {
    ($x:ident) => {
        both!(|u, at| {
            let mut s = 0.0f64;
            let $x = 100.0f64;
            for i in 0..3 { s += $x + i as f64; }
        } s)
    };
}

macro_rules! fields {
    ($x:expr, $of:ident) => {{
        let $of = Named { a: 5.0 };
        let it = Named { a: 7.0 };
        both!(|u, at| {} it.a * 100.0 + $of.a * 10.0 + $x)
    }};
}

struct Named {
    a: f64,
}

#[test]
fn captures_of_one_name_are_two() {
    let a = 2.0f64;
    let (kernel, plain) = own_capture!(a);
    assert_eq!((kernel, plain), (102.0, 102.0));
    let (kernel, plain) = own_capture!(a + a * a);
    assert_eq!((kernel, plain), (106.0, 106.0));
}

#[test]
fn locals_of_one_name_are_two() {
    let (kernel, plain) = own_local!(b);
    assert_eq!((kernel, plain), (12.0, 12.0));
    let b = 3.0f64;
    let (kernel, plain) = beside_a_local!(b);
    assert_eq!((kernel, plain), (13.0, 13.0));
    let (kernel, plain) = own_loop!(i);
    assert_eq!((kernel, plain), (303.0, 303.0));
}

#[test]
fn fields_of_two_structs_of_one_name_are_two() {
    let a = 1.0f64;
    let (kernel, plain) = fields!(a, it);
    assert_eq!((kernel, plain), (751.0, 751.0));
}

/// Two macros that name the function of their own place by one text.
macro_rules! nearest {
    ($f:path) => {
        both!(|u, at| {} $f(1.0) * 10.0 + shift(1.0))
    };
}

#[test]
fn functions_are_found_by_their_paths() {
    let (kernel, plain) = nearest!(other::shift);
    assert_eq!((kernel, plain), (32.0, 32.0));
    let (kernel, plain) = nearest!(shift);
    assert_eq!((kernel, plain), (22.0, 22.0));
}

/// A name that a macro was given and one that it has written stand for the same if they do in plain Rust.
macro_rules! given {
    ($acc:ident, $u:ident, $at:ident, $x:ident, $body:expr) => {{
        let mut array = filled(&$acc, 3.0);
        for tile in TileIter::new(&array.like().unwrap()) {
            compute(
                &tile,
                &mut array,
                kernel!(|$u, $at| {
                    let $x = $u[$at];
                    $u[$at] = $body + $x;
                }),
            )
            .unwrap();
        }
        array.to_ndarray().unwrap()[0]
    }};
}

#[test]
fn names_that_a_macro_is_given_are_the_callers() {
    let acc = TileAcc::auto().unwrap();
    assert_eq!(given!(acc, u, at, c, c * 10.0), 33.0);
    assert_eq!(given!(acc, w, here, v, v * v), 12.0);
}

/// Captures of one name, in text for a device.
#[test]
fn captures_of_one_name_are_two_parameters() {
    macro_rules! source {
        ($x:expr) => {{
            let a = 1.0f64;
            let acc = TileAcc::auto().unwrap();
            let mut u = filled(&acc, 0.0);
            tida::explain(&mut u, kernel!(|u, at| u[at] = a * 100.0 + $x)).unwrap()
        }};
    }
    let a = 2.0f64;
    let text = source!(a).to_string();
    assert!(text.contains("const f64 a,") && text.contains("const f64 a_2,"), "{text}");
}
