//! Constants in kernels: what an upper-case path names.
#![forbid(unsafe_code)]

use tida::__private::inner;
use tida::prelude::*;
use tida_tests::{everywhere, on_cpu, value};

const N: usize = 48;

/// An array and its values, with ghosts that repeat it.
fn ring<T: Real>(acc: &TileAcc) -> (TileArray<T, 2>, Vec<T>) {
    let builder = TileArray::builder([N, N]).regions([2, 1]).ghost(8).boundary(Boundary::Periodic);
    let mut u = builder.build(acc).unwrap();
    let start = |[j, i]: [usize; 2]| T::of(value(5, [0, j, i]));
    u.fill(start).unwrap();
    u.fill_ghosts().unwrap();
    (u, (0..N * N).map(|n| start([n / N, n % N])).collect())
}

/// The value of a cell, by plain loops.
fn plain<T: Real>(u: &[T], cell: impl Fn(&dyn Fn(i64, i64) -> T, [i64; 2]) -> T) -> Vec<u64> {
    let n = N as i64;
    let of = |at: [i64; 2]| {
        let u = |j: i64, i: i64| u[((at[0] + j).rem_euclid(n) * n + (at[1] + i).rem_euclid(n)) as usize];
        cell(&u, at).to_f64().to_bits()
    };
    (0..n * n).map(|c| of([c / n, c % n])).collect()
}

/// What a kernel makes of the ring, everywhere, beside plain loops.
macro_rules! same {
    ($T:ty, $kernel:expr, $cell:expr) => {
        for acc in everywhere() {
            let (u, values) = ring::<$T>(&acc);
            let mut next = u.like().unwrap();
            for tile in TileIter::new(&u).tile_size([7, 100]) {
                compute(&tile, (&mut next, &u), $kernel).unwrap();
            }
            let found = next.read_box(next.domain()).unwrap();
            let found: Vec<u64> = found.into_iter().map(|x| Real::to_f64(x).to_bits()).collect();
            assert_eq!(found, plain::<$T>(&values, $cell), "{}", acc.device().name());
        }
    };
}

/// The explanation of a kernel.
macro_rules! explained {
    ($kernel:expr) => {{
        let (u, _) = ring::<f64>(&on_cpu());
        let mut next = u.like().unwrap();
        tida::explain((&mut next, &u), $kernel).unwrap()
    }};
}

/// The emitted text without the places that it names.
fn text(of: &tida::Explanation) -> String {
    let name = of.source().split_once("constants_rs_").unwrap().1;
    let name: String = name.chars().take_while(char::is_ascii_digit).collect();
    let lines = of.source().lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim_end());
    lines.collect::<Vec<_>>().join("\n").replace(&format!("constants_rs_{name}"), "kernel")
}

mod lattice {
    pub const ALONG: [i64; 5] = [0, 1, -1, 2, -3];
    pub static ACROSS: [i64; 5] = [0, -1, 1, -2, 4];
    pub const SMALL: i8 = -3;
}

struct Model {
    damping: f64,
    inner: [f32; 2],
}

const MODEL: Model = Model { damping: 0.375, inner: [0.25, 1.5] };

trait Scheme: Real {
    const W: [Self; 5];
    const SCALE: Self;
    const REACH: usize = 2;
}

impl Scheme for f32 {
    const W: [f32; 5] = [0.1, 0.2, 0.3, 0.15, 0.25];
    const SCALE: f32 = 0.1;
}

impl Scheme for f64 {
    const W: [f64; 5] = [0.1, 0.2, 0.3, 0.15, 0.25];
    const SCALE: f64 = 0.1;
    const REACH: usize = 3;
}

#[test]
fn every_kind_of_constant_has_its_value() {
    const SHIFT: i64 = 2;
    static FACTOR: f64 = 0.7;
    same!(
        f64,
        kernel!(|next, u, at| {
            let mut sum = FACTOR * u[at + [SHIFT, lattice::SMALL as i64]] + MODEL.damping;
            sum += std::f64::consts::PI * MODEL.inner[1] as f64 + f64::EPSILON;
            if at[0] as u8 > u8::MAX / 16 {
                sum -= lattice::ALONG[4] as f64;
            }
            next[at] = sum;
        }),
        |u, at| {
            let mut sum = FACTOR * u(2, -3) + 0.375;
            sum += std::f64::consts::PI * 1.5 + f64::EPSILON;
            if at[0] > 15 {
                sum -= -3.0;
            }
            sum
        }
    );
}

/// Tables of a type, and bounds by its constants.
fn of_a_type<T: Scheme, const R: usize>() {
    same!(
        T,
        kernel!(T; |next, u, at| {
            let mut sum = T::SCALE * u[at];
            for k in 0..5 {
                sum += T::W[k] * u[at + [lattice::ALONG[k], lattice::ACROSS[k]]];
            }
            for r in 1..=T::REACH as i64 {
                sum += T::W[r as usize] * (u[at + [r, 0]] + u[at - [0, r]]);
            }
            for r in (-(R as i64)..=R as i64).rev().step_by(2) {
                sum += 0.1 * u[at + [r, -r]];
            }
            for d in 0..2 * R + 1 {
                sum -= T::W[d % 5] * u[at + [0, d as i64]];
            }
            next[at] = sum;
        }),
        |u, _| {
            let mut sum = T::SCALE * u(0, 0);
            for k in 0..5 {
                sum += T::W[k] * u(lattice::ALONG[k], lattice::ACROSS[k]);
            }
            for r in 1..=T::REACH as i64 {
                sum += T::W[r as usize] * (u(r, 0) + u(0, -r));
            }
            for r in (-(R as i64)..=R as i64).rev().step_by(2) {
                sum += T::SCALE * u(r, -r);
            }
            for d in 0..2 * R + 1 {
                sum -= T::W[d % 5] * u(0, d as i64);
            }
            sum
        }
    );
}

#[test]
fn a_type_has_its_tables_and_bounds() {
    of_a_type::<f64, 1>();
    of_a_type::<f32, 1>();
    of_a_type::<f32, 3>();
}

/// A loop that a constant bounds is short for one instance and long for another.
fn sums<const K: usize>() {
    same!(
        f64,
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for k in 0..K {
                for s in [1, -1] {
                    sum = 0.5 * sum + u[at + [0, s * (k % 8) as i64]];
                }
            }
            next[at] = sum;
        }),
        |u, _| {
            let mut sum = 0.0;
            for k in 0..K {
                for s in [1, -1] {
                    sum = 0.5 * sum + u(0, s * (k % 8) as i64);
                }
            }
            sum
        }
    );
}

#[test]
fn loops_are_as_long_as_their_constants_say() {
    sums::<0>();
    sums::<1>();
    sums::<7>();
    sums::<16>();
    sums::<17>();
    sums::<100>();
}

/// The ends of a type are reached, and no further.
#[test]
fn ranges_up_to_the_last_number_end() {
    const FIRST: u8 = 250;
    same!(
        f64,
        kernel!(|next, u, at| {
            let mut sum = u[at];
            for k in FIRST..=u8::MAX {
                sum += k as f64;
            }
            for _ in u8::MAX..=FIRST {
                sum = 0.0;
            }
            next[at] = sum;
        }),
        |u, _| (250..=255).fold(u(0, 0), |sum, k| sum + f64::from(k))
    );
}

/// A turn may name an entry past the end of a table, if it does not come to it.
#[test]
fn what_is_not_reached_is_no_fault() {
    const TURNS: usize = 4;
    const TWO: [f64; 2] = [0.5, 0.25];
    same!(
        f64,
        kernel!(|next, u, at| {
            let own = [3.0, 4.0];
            let mut sum = u[at];
            for k in 0..TURNS {
                if k < 2 {
                    sum += TWO[k] * own[k];
                }
            }
            next[at] = sum;
        }),
        |u, _| u(0, 0) + 0.5 * 3.0 + 0.25 * 4.0
    );
}

/// As many numbers as nobody wants in the text of a kernel.
const LARGE: [f64; 2048] = {
    let mut table = [0.0; 2048];
    let mut n = 0;
    while n < 2048 {
        table[n] = 1234.5 + (n * n % 977) as f64;
        n += 1;
    }
    table
};

#[test]
fn a_long_table_has_its_entries() {
    same!(
        f64,
        kernel!(|next, u, at| {
            let n = (at[0] * 131 + at[1]).rem_euclid(2048) as usize;
            next[at] = u[at] * LARGE[n] + LARGE[2047];
        }),
        |u, at| u(0, 0) * LARGE[(at[0] * 131 + at[1]) as usize % 2048] + LARGE[2047]
    );
}

/// An entry whose place is known is a number in the text of a kernel. A table of which others are taken is not in it.
#[test]
fn a_table_is_no_text() {
    let some = explained!(kernel!(|next, u, at| next[at] = u[at] * LARGE[(at[0] % 2048) as usize]));
    let one = explained!(kernel!(|next, u, at| next[at] = u[at] * LARGE[2047]));
    let number = explained!(kernel!(|next, u, at| next[at] = u[at] * 2067.5));
    assert_eq!(LARGE[2047], 2067.5);
    assert!(!some.source().contains("2067.5") && some.source().len() < 20_000, "{}", some.source());
    assert!(some.source().contains("LARGE"), "{}", some.source());
    assert_eq!(text(&one), text(&number));
}

/// A loop over up to 32 entries is written out; a longer one takes them from the table.
#[test]
fn short_loops_over_a_table_are_written_out() {
    fn sum<const K: usize>() -> String {
        let of = explained!(kernel!(|next, u, at| {
            let mut sum = 0.0;
            for k in 0..K {
                sum += LARGE[k] * u[at + [0, k as i64 % 8]];
            }
            next[at] = sum;
        }));
        of.source().to_owned()
    }
    assert!(!sum::<9>().contains("LARGE"), "{}", sum::<9>());
    let numbers = |of: String| of.matches("1234.5").count();
    assert_eq!((numbers(sum::<9>()), numbers(sum::<33>())), (1, 0));
    assert!(sum::<33>().contains("LARGE"), "{}", sum::<33>());
    // Bounds that are numbers say the same.
    let of = |source: &tida::Explanation| source.source().contains("LARGE");
    let (last, more) = (
        explained!(kernel!(|next, u, at| {
            let mut sum = u[at];
            for k in 0..32 {
                sum += LARGE[k];
            }
            next[at] = sum;
        })),
        explained!(kernel!(|next, u, at| {
            let mut sum = u[at];
            for k in 0..33 {
                sum += LARGE[k];
            }
            next[at] = sum;
        })),
    );
    assert_eq!((of(&last), of(&more)), (false, true));
}

fn star<const R: usize>() -> tida::Explanation {
    explained!(kernel!(|next, u, at| {
        let mut sum = u[at];
        for r in 1..=R as i64 {
            sum += u[at + [0, r]] + u[at - [r, 0]];
        }
        next[at] = sum;
    }))
}

/// Text and halos of a bound that is a constant, and of offsets out of tables, are those of numbers.
#[test]
fn constants_are_as_good_as_numbers() {
    let numbers = explained!(kernel!(|next, u, at| {
        let mut sum = u[at];
        for r in 1..=3 {
            sum += u[at + [0, r]] + u[at - [r, 0]];
        }
        next[at] = sum;
    }));
    assert_eq!(text(&star::<3>()), text(&numbers));
    assert_ne!(text(&star::<2>()), text(&numbers));
    let tables = explained!(kernel!(|next, u, at| {
        let mut sum = 0.0;
        for k in 0..5 {
            sum += lattice::ALONG[k] as f64 * u[at + [lattice::ALONG[k], lattice::ACROSS[k]]];
        }
        next[at] = sum;
    }));
    let lists = explained!(kernel!(|next, u, at| {
        let (along, across) = ([0, 1, -1, 2, -3], [0, -1, 1, -2, 4]);
        let mut sum = 0.0;
        for k in 0..5 {
            sum += along[k] as f64 * u[at + [along[k], across[k]]];
        }
        next[at] = sum;
    }));
    let reads = |of: &tida::Explanation| inner::analysis(of).report(inner::kernel(of)).lines().skip(1).count();
    assert_eq!(reads(&tables), reads(&lists));
    assert!(!tables.source().contains("ALONG"), "{}", tables.source());
    assert!(inner::captures(&star::<3>()).is_empty());
}
