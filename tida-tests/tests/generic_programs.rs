//! Whole programs in generic functions: the bits of plain loops in every precision and rank, on the CPU and on a
//! device; and the text for devices is that of the formula written out for one type and rank.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]

use tida::__private::inner;
use tida::prelude::*;
use tida::{Explanation, Number};
use tida_tests::{everywhere, on_cpu, value};

// (Benches use the rest.)
#[allow(dead_code)]
#[path = "../../tests/support/forms/mod.rs"]
mod forms;

use forms::{Program, Text, WrittenOut};

/// An array in two regions, or one on one axis, that goes on at its other end.
fn grid<T: Element, const D: usize>(acc: &TileAcc, cells: [usize; D]) -> TileArray<T, D> {
    let mut regions = [1; D];
    regions[0] = if D == 1 { 1 } else { 2 };
    TileArray::builder(cells).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap()
}

/// A random number for a cell.
fn random<const D: usize>(seed: u64, at: [usize; D]) -> f64 {
    value(seed, std::array::from_fn(|d| at.get(d).map_or(0, |x| *x)))
}

/// Cells in row-major order.
fn cells_of<const D: usize>(cells: [usize; D]) -> Vec<[usize; D]> {
    let all = (0..cells.iter().product()).map(|n: usize| {
        let (mut at, mut rest) = ([0; D], n);
        for d in (0..D).rev() {
            (at[d], rest) = (rest % cells[d], rest / cells[d]);
        }
        at
    });
    all.collect()
}

/// What plain loops need of a type: nothing of tida.
trait Plain: Copy + PartialEq + std::fmt::Debug + 'static {
    fn from(x: f64) -> Self;
    fn bits(self) -> u64;
    /// `mid + alpha (sum of pairs - 2 D mid)`.
    fn heat(alpha: f64, mid: Self, pairs: &[(Self, Self)]) -> Self;
    /// The transform of 16 values; or the first of it, and zeros.
    fn transform(values: &mut [Self], sums: bool);
}

macro_rules! plain {
    ($($T:ident)*) => {$(
        impl Plain for $T {
            fn from(x: f64) -> $T {
                x as $T
            }
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            fn heat(alpha: f64, mid: $T, pairs: &[($T, $T)]) -> $T {
                let mut around = -2.0 * pairs.len() as $T * mid;
                for (after, before) in pairs {
                    around += after + before;
                }
                mid + alpha as $T * around
            }
            fn transform(values: &mut [$T], sums: bool) {
                for h in [1, 2, 4, 8] {
                    let old = values.to_vec();
                    for (n, x) in values.iter_mut().enumerate() {
                        *x = if n & h == 0 { old[n] + old[n + h] } else { old[n - h] - old[n] };
                    }
                }
                values.iter_mut().enumerate().for_each(|(n, x)| *x = if sums && n > 0 { 0.0 } else { 0.1 * *x });
            }
        }
    )*};
}

plain!(f32 f64);

fn assert_same<T: Plain>(acc: &TileAcc, found: &[T], expected: &[T]) {
    assert_eq!(found.len(), expected.len());
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.bits(), expected.bits(), "{} cell {n}: {found:?} {expected:?}", acc.device().name());
    }
}

/// A step of the example `heat`.
fn heat<T: Real, const D: usize>(next: &mut TileArray<T, D>, u: &TileArray<T, D>, alpha: T) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(T; |next, u, at| {
                let mut around = -2.0 * D as T * u[at];
                for d in 0..D {
                    around += u[at + unit(d)] + u[at - unit(d)];
                }
                next[at] = u[at] + alpha * around;
            }),
        )?;
    }
    Ok(())
}

fn heat_is_that_of_plain_loops<T: Real + Plain, const D: usize>(cells: [usize; D])
where
    tida::ndarray::Dim<[usize; D]>: tida::ndarray::Dimension,
{
    let all = cells_of(cells);
    for acc in everywhere() {
        let mut u = grid::<T, D>(&acc, cells);
        u.fill(|at| T::of(random(3, at))).unwrap();
        let mut next = u.like().unwrap();
        let mut plain: Vec<T> = all.iter().map(|at| <T as Plain>::from(random(3, *at))).collect();
        for _ in 0..3 {
            u.fill_ghosts().unwrap();
            heat(&mut next, &u, lit!(T, 0.1)).unwrap();
            std::mem::swap(&mut u, &mut next);
            let of = |at: [usize; D]| plain[at.iter().zip(cells).fold(0, |n, (x, cells)| n * cells + x)];
            let moved = |mut at: [usize; D], d: usize, by: usize| {
                at[d] = (at[d] + by) % cells[d];
                of(at)
            };
            let pairs = |at| (0..D).map(|d| (moved(at, d, 1), moved(at, d, cells[d] - 1))).collect::<Vec<_>>();
            plain = all.iter().map(|at| T::heat(0.1, of(*at), &pairs(*at))).collect();
        }
        assert_same(&acc, &u.read_box(u.domain()).unwrap(), &plain);
    }
}

#[test]
fn heat_in_every_precision_and_rank() {
    heat_is_that_of_plain_loops::<f32, 1>([37]);
    heat_is_that_of_plain_loops::<f64, 1>([37]);
    heat_is_that_of_plain_loops::<f32, 2>([9, 21]);
    heat_is_that_of_plain_loops::<f64, 2>([9, 21]);
    heat_is_that_of_plain_loops::<f32, 3>([5, 6, 19]);
    heat_is_that_of_plain_loops::<f64, 3>([5, 6, 19]);
    heat_is_that_of_plain_loops::<f64, 4>([3, 2, 4, 7]);
}

/// Conway's game with any number for a live cell, which `T` has for 1.
fn life<T: Number>(next: &mut TileArray<T, 2>, u: &TileArray<T, 2>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let mut live = T::lit(0);
                for j in -1..2 {
                    for i in -1..2 {
                        live += u[at + [j, i]];
                    }
                }
                live -= u[at];
                let alive = live == T::lit(3) || (live == T::lit(2) && u[at] == T::lit(1));
                next[at] = if alive { T::lit(1) } else { T::lit(0) };
            }),
        )?;
    }
    Ok(())
}

fn lives<T: Number>(name: &str) {
    let cells = [14, 40];
    let first = |at: [usize; 2]| random(9, at) > 1.1;
    for acc in everywhere() {
        let mut u = grid::<T, 2>(&acc, cells);
        u.fill(|at| if first(at) { T::ONE } else { T::ZERO }).unwrap();
        let mut next = u.like().unwrap();
        let mut plain: Vec<bool> = cells_of(cells).into_iter().map(first).collect();
        for _ in 0..5 {
            u.fill_ghosts().unwrap();
            life(&mut next, &u).unwrap();
            std::mem::swap(&mut u, &mut next);
            let alive = |j: usize, i: usize| plain[j % cells[0] * cells[1] + i % cells[1]];
            let cell = |at: [usize; 2]| {
                let [j, i] = [at[0] + cells[0], at[1] + cells[1]];
                let around = (j - 1..j + 2).flat_map(|j| (i - 1..i + 2).map(move |i| (j, i)));
                let live = around.filter(|beside| *beside != (j, i) && alive(beside.0, beside.1)).count();
                live == 3 || (live == 2 && alive(j, i))
            };
            plain = cells_of(cells).into_iter().map(cell).collect();
        }
        assert!(plain.iter().filter(|alive| **alive).count() > 10);
        let found: Vec<bool> = u.read_box(u.domain()).unwrap().into_iter().map(|x| x == T::ONE).collect();
        assert_eq!(found, plain, "{name} {}", acc.device().name());
    }
}

#[test]
fn life_with_every_number() {
    lives::<u8>("u8");
    lives::<i32>("i32");
    lives::<u32>("u32");
    lives::<i64>("i64");
    lives::<u64>("u64");
    lives::<f32>("f32");
    lives::<f64>("f64");
}

/// The transform of each 16 values by what a group shares, as the gallery's `dyadic`; or with all but the first zero.
fn transformed<T: Real>(b: &mut TileArray<T, 1>, a: &TileArray<T, 1>, sums: bool) -> tida::Result<()> {
    for tile in TileIter::new(a) {
        compute_groups(
            &tile,
            [16],
            (&mut *b, a),
            group_kernel!(T; |b, a, group| {
                let c = group.channel::<T>([0], [0]);
                let s = group.shared::<T>([16]);
                let x = group.private(0.0);
                group.each(|t| s[t] = a[t.at()]);
                let mut h = 1;
                while h < 16 {
                    group.each(|t| {
                        if t[0] & h == 0 {
                            x = s[t] + s[t + [h]];
                        } else {
                            x = s[t - [h]] - s[t];
                        }
                    });
                    group.each(|t| s[t] = x);
                    h *= 2;
                }
                group.each(|t| c[t] = 0.1 * s[t]);
                group.each(|t| b[t.at()] = if sums && t[0] > 0 { 0.0 } else { c[t] });
            }),
        )?;
    }
    Ok(())
}

fn groups_share<T: Real + Plain>() {
    for (acc, sums) in everywhere().into_iter().flat_map(|acc| [(acc.clone(), false), (acc, true)]) {
        let mut a = TileArray::<T, 1>::builder([64]).build(&acc).unwrap();
        a.fill(|at| T::of(random(5, at))).unwrap();
        let mut b = a.like().unwrap();
        transformed(&mut b, &a, sums).unwrap();
        let mut plain: Vec<T> = (0..64).map(|i| <T as Plain>::from(random(5, [i]))).collect();
        plain.chunks_mut(16).for_each(|values| T::transform(values, sums));
        assert_same(&acc, &b.read_box(b.domain()).unwrap(), &plain);
    }
}

#[test]
fn groups_share_slots_of_every_precision() {
    groups_share::<f32>();
    groups_share::<f64>();
}

#[test]
fn a_slot_holds_any_scalar() {
    fn written<T: tida::array::ScalarElement>(acc: &TileAcc) {
        let mut b = TileArray::<u8, 1>::builder([16]).build(acc).unwrap();
        for tile in b.tiles() {
            compute_groups(
                &tile,
                [16],
                &mut b,
                group_kernel!(|b, group| {
                    let _s = group.shared::<T>([4]);
                    let c = group.channel::<bool>([0], [0]);
                    group.each(|t| c[t] = t[0] > 7);
                    group.each(|t| b[t.at()] = if c[t] { 2 } else { 1 });
                }),
            )
            .unwrap();
        }
        assert_eq!(b.read_box(b.domain()).unwrap(), [[1; 8], [2; 8]].concat());
    }
    for acc in everywhere() {
        written::<u8>(&acc);
        written::<bool>(&acc);
        written::<f64>(&acc);
    }
}

/// A step of the gallery's `hotspot`.
fn chip<T: Real>(next: &mut TileArray<T, 2>, chip: &TileArray<T, 2>, power: &TileArray<T, 2>) -> Explanation {
    let (rate, ambient) = (lit!(T, 0.1), lit!(T, 80.0));
    tida::explain(
        (next, chip, power),
        kernel!(T; |next, chip, power, at| {
            let own = chip[at];
            let along = (chip[at + [1, 0]] + chip[at - [1, 0]] - 2.0 * own) * 0.3;
            let across = (chip[at + [0, 1]] + chip[at - [0, 1]] - 2.0 * own) * 0.2;
            next[at] = own + rate * (power[at] + along + across + (ambient - own) * 0.01);
        }),
    )
    .unwrap()
}

/// The emitted text without the places that it names. Locals that it makes for `if`s are numbered anew: loops that are
/// written out leave their numbers out.
fn emitted(explained: &Explanation) -> String {
    let lines = explained.source().lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim_end());
    let text = lines.collect::<Vec<_>>().join("\n");
    // Kernels are called by their file and line.
    let (before, line) = text.split_once("_rs_").unwrap();
    let file = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
    let line: String = line.chars().take_while(char::is_ascii_digit).collect();
    let name = format!("{file}_rs_{line}");
    assert!(text.matches(&name).count() > 0, "{text}");
    let text = text.replace(&name, "kernel");
    let locals = |text: &str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut found: Vec<String> = Vec::new();
        for word in words.filter(|word| word.strip_prefix("if").is_some_and(|n| n.parse::<u32>().is_ok())) {
            if !found.iter().any(|other| other == word) {
                found.push(word.to_owned());
            }
        }
        found
    };
    let named = |text: String, (n, local): (usize, String)| text.replace(&local, &format!("if_number_{n}"));
    locals(&text).into_iter().enumerate().fold(text, named)
}

/// Both emit the same, which compiles; all that is read is known before the launch.
fn assert_alike(open: &Explanation, written: &Explanation) {
    assert_eq!(emitted(open), emitted(written));
    assert!(emitted(open).len() > 200);
    if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() || written.compile().is_ok() {
        open.compile().unwrap();
    }
    let (open, written) = (inner::analysis(open), inner::analysis(written));
    assert!(open.complete && !open.may_fault);
    let read = |arg: usize, of: &tida_kernels::analysis::Analysis| {
        of.args[arg].accesses.iter().map(|access| (access.write, access.index.clone())).collect::<Vec<_>>()
    };
    assert_eq!(open.args.len(), written.args.len());
    for arg in 0..open.args.len() {
        assert_eq!(read(arg, open), read(arg, written));
    }
}

#[test]
fn hotspot_emits_what_is_written_out() {
    macro_rules! both {
        ($($T:ident)*) => {$({
            let acc = on_cpu();
            let mut u = grid::<$T, 2>(&acc, [20, 40]);
            u.fill_value(1.0).unwrap();
            u.fill_ghosts().unwrap();
            let (mut next, mut power) = (u.like().unwrap(), u.like().unwrap());
            power.fill_value(0.5).unwrap();
            let (rate, ambient): ($T, $T) = (0.1, 80.0);
            let written = tida::explain((&mut next, &u, &power), kernel!(|next, chip, power, at| {
                let own = chip[at];
                let along = (chip[at + [1, 0]] + chip[at - [1, 0]] - 2.0 * own) * 0.3;
                let across = (chip[at + [0, 1]] + chip[at - [0, 1]] - 2.0 * own) * 0.2;
                next[at] = own + rate * (power[at] + along + across + (ambient - own) * 0.01);
            }))
            .unwrap();
            assert_alike(&chip(&mut next, &u, &power), &written);
        })*};
    }
    both!(f32 f64);
}

/// Heat, wave, life, gray-scott, shallow water and lbm, which the benches `generic` time.
#[test]
fn programs_emit_what_is_written_out() {
    fn of<T: WrittenOut>() {
        for name in Program::<T>::NAMES {
            let mut program = Program::<T>::new(&on_cpu(), name, 8).unwrap();
            let (open, written) =
                (program.explained(Text::Open).unwrap(), program.explained(Text::WrittenOut).unwrap());
            assert_eq!(open.len(), if name == "wave" { 3 } else { 1 });
            assert_eq!(open.len(), written.len());
            for (open, written) in open.iter().zip(&written) {
                assert_alike(open, written);
            }
        }
    }
    of::<f32>();
    of::<f64>();
}

#[test]
fn programs_have_the_bits_of_what_is_written_out() {
    fn of<T: WrittenOut>() {
        let after = |acc: &TileAcc, text: Text| {
            Program::<T>::NAMES.map(|name| {
                let mut program = Program::<T>::new(acc, name, 8).unwrap();
                program.steps(text, 5).unwrap();
                (name, program.bits().unwrap())
            })
        };
        let wanted = after(&on_cpu(), Text::WrittenOut);
        for acc in everywhere() {
            for ((name, wanted), (_, found)) in wanted.iter().zip(after(&acc, Text::Open)) {
                assert!(found == *wanted, "{name} on {acc}");
                assert!(found.iter().any(|bits| *bits != found[0]), "{name}: nothing happens");
            }
        }
    }
    of::<f32>();
    of::<f64>();
}
