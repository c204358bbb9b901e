//! The native form of a kernel is what its quotation says, whatever stands around it.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]

use tida::prelude::*;

use tida_tests::{everywhere, expect};

fn acc() -> TileAcc {
    TileAcc::builder().threads(2).build().unwrap()
}

fn line<T: Element>(acc: &TileAcc) -> TileArray<T, 1> {
    TileArray::builder([4]).build(acc).unwrap()
}

/// What a kernel gives at the first cell, and what plain Rust says of the same tokens.
macro_rules! same {
    ($t:ty: $($value:expr;)*) => {$({
        let acc = acc();
        let mut v = line::<$t>(&acc);
        for tile in TileIter::new(&v.like().unwrap()) {
            compute(&tile, &mut v, kernel!(|v, at| v[at] = $value)).unwrap();
        }
        let plain: $t = $value;
        assert_eq!(v.to_ndarray().unwrap()[0].to_ne_bytes(), plain.to_ne_bytes(), "{}", stringify!($value));
    })*};
}

#[test]
#[allow(unused_braces, unused_parens, clippy::all)]
fn a_number_under_a_cast_is_what_it_is_in_rust() {
    same! { i64:
        -(-2147483648) as i64;
        (-(-2147483648)) as i64;
        { 1099511627776 } as i64;
        { { -1099511627776 } } as i64;
        -{ 4294967296 } as i64;
        (-4294967296) as i64;
        !4294967296 as i64;
        !{ -4294967296 } as i64;
        (if 1 < 2 { 7 } else { 8i32 }) as i64;
        (5 + 7) as i64;
        { 3.7 } as i64;
        200 as u8 as i64;
        4294967296u64 as i32 as i64;
    }
    same! { f32:
        { 1.000_000_059_604_644_775_390_625_000_01 } as f32;
        -(-1.000_000_059_604_644_775_390_625_000_01) as f32;
        (1.000_000_059_604_644_775_390_625_000_01f64 + 0.0) as f32;
        { 3. } as f32;
        -{ 16777217 } as f32;
    }
}

/// Such a number moves a read by nothing, as the analysis has it.
#[test]
#[allow(clippy::all)]
fn a_number_under_a_cast_is_an_offset() {
    let acc = acc();
    let (mut u, mut v) = (line::<f64>(&acc), line::<f64>(&acc));
    u.fill(|[i]| i as f64).unwrap();
    for tile in TileIter::new(&u) {
        compute(
            &tile,
            (&mut v, &u),
            kernel!(|v, u, at| {
                let k = -(-2147483648) as i64;
                v[at] = u[at + [k - 2147483648]] + u[at + [{ 1099511627776 } as i64 - 1099511627776]];
            }),
        )
        .unwrap();
    }
    assert_eq!(v.to_ndarray().unwrap().as_slice().unwrap(), [0.0, 2.0, 4.0, 6.0]);
}

#[test]
#[allow(overflowing_literals, clippy::all)]
fn a_number_that_its_type_does_not_have_is_an_error() {
    let acc = acc();
    macro_rules! refused {
        ($at:ident, $t:ty, $value:expr, $($words:expr),*) => {
            let mut v = line::<$t>(&acc);
            let tile = TileIter::new(&v).next().unwrap();
            expect(compute(&tile, &mut v, kernel!(|v, $at| v[$at] = $value)), ErrorKind::Kernel, &[$($words),*]);
        };
    }
    refused!(at, u8, 300, "the number 300", "u8 has 0 to 255", "300i64");
    refused!(at, i32, 2147483648, "i32 has -2147483648 to 2147483647");
    refused!(at, i32, -2147483649, "the number -2147483649");
    refused!(at, i64, 9223372036854775808, "9223372036854775808u64");
    refused!(at, i64, (4294967296 + 0) as i64, "the number 4294967296", "4294967296i64");
    refused!(at, i64, (if at[0] == 0 { 4294967296 } else { 0 }) as i64, "the number 4294967296");
    refused!(at, f32, 1e39, "f32 has numbers up to 3.4028235e38");
    let mut v = line::<i32>(&acc);
    for tile in TileIter::new(&v.like().unwrap()) {
        compute(&tile, &mut v, kernel!(|v, at| v[at] = -2147483648)).unwrap();
    }
    assert_eq!(v.to_ndarray().unwrap()[0], i32::MIN);
}

/// Where a bound is known to hold for one type, rustc takes that for the type of the loop's bounds. A device does not
/// run what rustc made.
#[test]
fn a_number_that_rust_takes_for_another_type_is_an_error() {
    fn record(acc: &TileAcc) -> tida::Result<()>
    where
        std::ops::Range<u8>: Iterator<Item = u8>,
    {
        let (mut v, mut u) = (line::<f64>(acc), line::<f64>(acc));
        u.fill_value(1.0)?;
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut v, &u),
                kernel!(|v, u, at| for i in 250..251 {
                    v[at] = u[at + [(i + 6) as i64 - 256]];
                }),
            )?;
        }
        acc.sync()
    }
    let cpu = TileAcc::builder().device(Device::Cpu).build().unwrap();
    expect(record(&cpu), ErrorKind::Kernel, &["takes for u8", "the analysis for i32", "kernel_forms.rs"]);
}

#[test]
fn a_raw_name_is_the_name() {
    let acc = acc();
    let mut v = line::<f64>(&acc);
    let x = 1.0;
    for tile in TileIter::new(&v.like().unwrap()) {
        compute(
            &tile,
            &mut v,
            kernel!(|v, r#at| {
                let x = 2.0;
                r#v[at] = r#x;
            }),
        )
        .unwrap();
    }
    assert_eq!((v.to_ndarray().unwrap()[0], x), (2.0, 1.0));
}

/// Traits for all types, whose methods take by value and so come before those that take references.
#[allow(dead_code)]
trait Takes: Sized {
    fn component(self, _: usize) -> Self {
        unreachable!()
    }
    fn get(self, _: usize) -> Self {
        unreachable!()
    }
    fn set(self, _: usize, _: f64) {
        unreachable!()
    }
    fn bytes(self) -> usize {
        unreachable!()
    }
    fn load(self) -> Self {
        unreachable!()
    }
    fn store(self, _: f64) {
        unreachable!()
    }
    fn body(self, _: usize) -> Self {
        unreachable!()
    }
    fn each(self, _: usize) {
        unreachable!()
    }
    fn give(self, _: usize) {
        unreachable!()
    }
    fn abs(self) -> Self {
        unreachable!()
    }
    fn place(self, _: usize) -> Self {
        unreachable!()
    }
}

impl<T> Takes for T {}

/// The method that an earlier expansion called.
#[allow(dead_code)]
trait Hijacks {
    fn component(self, entry: usize) -> <u8 as Element>::Place;
}

impl Hijacks for <[u8; 2] as Element>::Place {
    fn component(self, _: usize) -> <u8 as Element>::Place {
        unreachable!()
    }
}

#[derive(Element, Clone, Copy, PartialEq, Debug, Default)]
struct Cell {
    k: [u8; 2],
    x: f64,
}

#[kernel_fn]
fn twice(x: f64) -> f64 {
    2.0 * x.abs()
}

#[test]
fn traits_of_the_users_take_nothing_over() {
    let acc = acc();
    let (mut cells, mut v) = (line::<Cell>(&acc), line::<f64>(&acc));
    cells.fill(|[i]| Cell { k: [i as u8, 10], x: -1.5 }).unwrap();
    for tile in TileIter::new(&v.like().unwrap()) {
        compute(
            &tile,
            (&mut cells, &mut v),
            kernel!(|cells, v, at| {
                let whole = cells[at];
                cells[at].k[1] += cells[at].k[0];
                v[at] = twice(whole.x) + cells[at].k[1] as f64;
            }),
        )
        .unwrap();
    }
    assert_eq!(v.to_ndarray().unwrap().as_slice().unwrap(), [13.0, 14.0, 15.0, 16.0]);
    for tile in TileIter::new(&v.like().unwrap()) {
        compute_groups(
            &tile,
            [4],
            &mut v,
            group_kernel!(|v, group| {
                let x = group.private(0.0);
                group.each(|t| x = v[t.at()]);
                group.each(|t| v[t.at()] = x + 1.0);
            }),
        )
        .unwrap();
    }
    assert_eq!(v.to_ndarray().unwrap()[3], 17.0);
}

#[kernel_fn]
fn sum_of_many(x: f64) -> f64 {
    let mut a = [0.0; 4096];
    a[7] = x;
    a[7] + a[8]
}

/// A cell runs on the stack of a thread of 2 MiB, in programs that are not optimised too.
#[test]
fn what_a_cell_keeps_has_its_room() {
    let acc = acc();
    macro_rules! run {
        ($body:expr) => {{
            let mut v = line::<f64>(&acc);
            let tile = TileIter::new(&v).next().unwrap();
            compute(&tile, &mut v, $body).map(|()| v.to_ndarray().unwrap()[3])
        }};
    }
    let most = run!(kernel!(|v, at| {
        let mut a = [[0.0; 128]; 60];
        a[at[0] as usize][3] = 2.5;
        v[at] = a[3][3];
    }));
    assert_eq!(most.unwrap(), 2.5);
    assert_eq!(run!(kernel!(|v, at| v[at] = sum_of_many(at[0] as f64))).unwrap(), 3.0);
    let words = ["there is room for 65536", "`table(..)`", "kernel_forms.rs"];
    let refused = |result: tida::Result<f64>, what: &str| {
        expect(result.map(drop), ErrorKind::Kernel, &[&words[..], &[what]].concat());
    };
    refused(
        run!(kernel!(|v, at| {
            let a = [[0.0; 512]; 1024];
            v[at] = a[3][3];
        })),
        "`a`, of type [[f64; 512]; 1024]",
    );
    let twice = run!(kernel!(|v, at| v[at] = sum_of_many(at[0] as f64) + sum_of_many(1.0)));
    refused(twice, "a call of `sum_of_many`");
    let table = [1.0; 10000];
    refused(run!(kernel!(|v, at| v[at] = table[3])), "`table`, which is captured");
    refused(run!(kernel!(|v, at| v[at] = [1.0; 10000][at[0] as usize])), "a value of type [f64; 10000]");
}

/// Which of two reads is the value, a third one decides, straight or by way of a local.
macro_rules! chosen {
    ($t:ty, $value:expr) => {
        for acc in everywhere() {
            let builder = TileArray::<$t, 2>::builder([9, 200]).regions([2, 1]).ghost(1).boundary(Boundary::Periodic);
            let (mut u, mut next) = (builder.build(&acc).unwrap(), builder.build(&acc).unwrap());
            let value: fn(usize) -> $t = $value;
            let of = |j: i64, i: i64| value((j.rem_euclid(9) * 200 + i.rem_euclid(200)) as usize);
            u.fill(|[j, i]| of(j as i64, i as i64)).unwrap();
            let mut wall = TileArray::<u8, 2>::builder([9, 200]).regions([2, 1]).ghost(1).build(&acc).unwrap();
            let is_wall = |j: i64, i: i64| ((j * 7 + i * i) % 3) as u8;
            wall.fill(|[j, i]| is_wall(j as i64, i as i64)).unwrap();
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                let recorded = compute(
                    &tile,
                    (&mut next, &u, &wall),
                    kernel!(|next, u, wall, at| {
                        let here = wall[at];
                        let first = if here == 1 { u[at - [0, 1]] } else { u[at + [1, 0]] };
                        next[at] = if wall[at] == 2 { u[at] } else { first };
                    }),
                );
                recorded.unwrap();
            }
            let found = next.read_box(next.domain()).unwrap();
            for (n, found) in found.iter().enumerate() {
                let (j, i) = (n as i64 / 200, n as i64 % 200);
                let wanted = match is_wall(j, i) {
                    1 => of(j, i - 1),
                    2 => of(j, i),
                    _ => of(j + 1, i),
                };
                let name = acc.device().name();
                assert_eq!(found.to_ne_bytes(), wanted.to_ne_bytes(), "{name}: {} {j} {i}", stringify!($t));
            }
        }
    };
}

#[test]
fn a_choice_of_two_reads_is_one_of_them() {
    // (Bits of every kind: -0.0, infinities, numbers that are none.)
    fn bits(n: usize) -> u64 {
        (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
    chosen!(f64, |n| if n % 5 == 0 { -0.0 } else { f64::from_bits(bits(n) | ((n as u64 % 2) * (0x7ff8 << 48))) });
    chosen!(f32, |n| if n % 5 == 0 { -0.0 } else { (bits(n) >> 40) as f32 - 8e6 });
    chosen!(i32, |n| bits(n) as i32);
    chosen!(u8, |n| bits(n) as u8);
    chosen!(u64, bits);
}

/// Methods of numbers whose meaning is Rust's for all values, on every device.
macro_rules! as_in_rust {
    ($t:ty: $values:expr, $($name:literal $of:path;)*) => {
        for acc in everywhere() {
            let values: &[$t] = &$values;
            let many = values.len();
            let of = TileArray::<$t, 1>::builder([many]).build_slice(&acc, values).unwrap();
            $({
                let mut r = TileArray::<$t, 2>::builder([many, many]).build(&acc).unwrap();
                for tile in r.tiles() {
                    compute(&tile, (&mut r, all(&of)), kernel!(|r, of, at| r[at] = $of(of[[at[0]]], of[[at[1]]]))).unwrap();
                }
                let found = r.to_ndarray().unwrap();
                for ((j, i), found) in found.indexed_iter() {
                    let wanted: $t = $of(values[j], values[i]);
                    #[allow(clippy::eq_op)]
                    let same = found.to_ne_bytes() == wanted.to_ne_bytes() || (*found != *found && wanted != wanted);
                    assert!(same, "{} of {:?} and {:?}: {found:?}, not {wanted:?}, on {acc}", $name, values[j], values[i]);
                }
            })*
        }
    };
}

#[kernel_fn]
fn remainder<T: Real>(a: T, b: T) -> T {
    a.rem_euclid(b)
}

#[kernel_fn]
fn quotient<T: Real>(a: T, b: T) -> T {
    a.div_euclid(b)
}

#[kernel_fn]
fn shifted(a: i32, b: i32) -> i32 {
    a.wrapping_shl(b as u32) ^ a.wrapping_shr(b as u32)
}

#[kernel_fn]
fn turned(a: i32, b: i32) -> i32 {
    a.wrapping_neg() ^ b.wrapping_abs() ^ a.wrapping_pow(3)
}

#[test]
fn euclidean_quotients_of_floats_and_wrapping_methods_are_those_of_rust() {
    let values = [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, -0.3, 7.0, -1e300, 5e-324, f64::MAX, f64::INFINITY, f64::NAN];
    as_in_rust! { f64: values,
        "rem_euclid" remainder::<f64>;
        "div_euclid" quotient::<f64>;
    }
    as_in_rust! { f32: values.map(|x| x as f32),
        "rem_euclid" remainder::<f32>;
        "div_euclid" quotient::<f32>;
    }
    as_in_rust! { i32: [0, 1, -1, 7, -7, 31, 32, 33, -33, i32::MAX, i32::MIN, i32::MIN + 1],
        "wrapping shifts" shifted;
        "other wrapping methods" turned;
    }
}
