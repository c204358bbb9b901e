//! What the language of kernels has, wherever kernels run: `match`, loops in all orders, labels, lists, methods,
//! captured arrays of arrays, constants, short integers. The bits of plain loops, which have the same text.
#![forbid(unsafe_code)]

use tida::Format;
use tida::prelude::*;
use tida_tests::places::{self, Bits, Case};
use tida_tests::{case, value};

/// Rows enough for windows of an eighth; columns for three regions, whose cuts fall on multiples of 64.
const CELLS: [usize; 2] = [128, 140];

const SIDES: [[i64; 2]; 4] = [[0, 1], [0, -1], [1, 0], [-1, 0]];
const GRAVITY: f64 = 9.81;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    h: f64,
    speed: [f64; 2],
}

impl Bits for Wave {
    fn bits(self) -> Vec<u64> {
        [self.h, self.speed[0], self.speed[1]].map(f64::to_bits).to_vec()
    }
}

#[kernel_fn]
impl Wave {
    const REST: f64 = 0.25;

    fn of(h: f64) -> Wave {
        Self { h, speed: [Self::REST; 2] }
    }

    fn energy(&self) -> f64 {
        let [x, y] = self.speed;
        0.5 * GRAVITY * self.h * self.h + 0.5 * self.h * (x * x + y * y)
    }

    fn mix(mut self, Self { h, speed }: Self, t: f64) -> Self {
        self.h += (h - self.h) * t;
        for i in (0..2).rev() {
            self.speed[i] = self.speed[i] * (1.0 - t) + speed[i] * t;
        }
        self
    }
}

/// The lowest of a cell's neighbours, by a list of constants.
#[kernel_fn]
fn side(n: usize) -> [i64; 2] {
    SIDES[n % 4]
}

/// What a cell does, by its value and its place.
#[kernel_fn]
fn kind(x: f64, place: i64) -> i64 {
    match (x > 1.0, place % 7) {
        (true, 0 | 3) => 0,
        (_, n @ 1..=2) => n,
        (false, n) if n > 4 => 3,
        _ => 4,
    }
}

fn first([j, i]: [usize; 2]) -> f64 {
    value(7, [0, j, i])
}

const RANGE: Option<Format> = Some(Format::Range { bits: 16, min: 0.0, max: 2.0 });

fn choices() -> Case<f64, 2> {
    let case = case!(
        "match",
        [f64; 2],
        (CELLS, first),
        |next, u, at| {
            let x = u[at];
            let moved = match kind(x, at[0] + at[1]) {
                0 => u[at + [0, 2]],
                1 => 0.5 * (u[at - [1, 0]] + x),
                2..=3 => match x {
                    y if y < 0.75 => 0.5 * (u[at + [1, 1]] + y),
                    y => 0.5 * (u[at - [2, 1]] + y),
                },
                _ => x,
            };
            next[at] = 0.75 * moved + 0.25 * x;
        },
        |x| match (x * 1000.0) as i64 {
            n @ ..=700 => -n,
            n if n % 2 == 0 => n,
            n => n / 3,
        }
    );
    Case { format: RANGE, ..case }
}

fn loops() -> Case<f64, 2> {
    let weights = [[0.05, 0.1], [0.125, 0.2]];
    let case = case!(
        "loops",
        [f64; 2],
        (CELLS, first),
        |next, u, at| {
            let mut sum = 0.0;
            for r in (-2..=2).rev().step_by(2) {
                sum += 0.1 * u[at + [0, r]];
            }
            for (j, i) in [(0, 1), (1, 0), (-1, -1)] {
                sum += 0.05 * u[at + [j, i]];
            }
            for a in 0..2 {
                for b in (0..2).rev() {
                    sum += weights[a][b] * u[at + [a as i64, b as i64]];
                }
            }
            next[at] = if sum > 1.9 { 0.5 * sum } else { sum };
        },
        |x| {
            let mut n = 0;
            for k in (0..5).rev().step_by(2) {
                n = 3 * n + k * (x * 100.0) as i64;
            }
            n
        }
    );
    // It reads more values than a fold keeps.
    Case { format: RANGE, ends: false, ..case }
}

/// Offsets that are captured: how far they reach is known at each launch, and no kernel is made for them.
fn captures() -> Case<f64, 2> {
    let weights = [[0.25, 0.1], [0.3, 0.35]];
    let steps = [[[0i64, 1], [1, 0]], [[-1, 1], [2, -2]]];
    let by = 2usize;
    let case = case!(
        "captured offsets",
        [f64; 2],
        (CELLS, first),
        |next, u, at| {
            let mut sum = 0.0;
            for a in 0..2 {
                for b in (0..2).rev() {
                    sum += weights[a][b] * u[at + [steps[a][b][0], steps[a][b][1]]];
                }
            }
            for r in (-2i64..3).rev().step_by(by) {
                sum += 0.01 * u[at + [0, r]];
            }
            next[at] = 0.95 * sum;
        },
        |x| (x * 1000.0) as i64
    );
    Case { format: RANGE, fuses: false, joins: false, ends: false, ..case }
}

/// A loop that is left from inside stays a loop: what it reads is checked as it runs, and it runs by itself.
fn labels() -> Case<f64, 2> {
    let far = 2i64;
    let case = case!(
        "labels",
        [f64; 2],
        (CELLS, first),
        |next, u, at| {
            let mut sum = 0.5 * u[at];
            'rows: for r in (-far..=far).rev() {
                for w in [0.01, 0.02, 0.03] {
                    if sum + w > 1.0 && r < 0 {
                        break 'rows;
                    }
                    if w > 0.015 && r % 2 != 0 {
                        continue 'rows;
                    }
                    sum += w * u[at - [r, 0]];
                }
            }
            next[at] = if sum > 0.9 { 0.5 * sum } else { 1.25 * sum };
        },
        |x| {
            let mut n = (x * 1000.0) as i64;
            'halves: loop {
                for _ in 0..3 {
                    if n < 5 {
                        break 'halves;
                    }
                    n /= 2;
                }
                n += 1;
            }
            n
        }
    );
    Case { format: RANGE, fuses: false, joins: false, ends: false, ..case }
}

fn methods() -> Case<Wave, 2> {
    let lowest = 0.125;
    // Its elements have several components, and its functions loops.
    let case = case!(
        "methods",
        [Wave; 2],
        (CELLS, |at| Wave { h: first(at), speed: [0.1 * first([at[1], at[0]]), -0.2] }),
        |next, u, at| {
            let Wave { h, speed } = u[at];
            let mut wave = Wave { h, speed: [speed[1], speed[0]] };
            for n in 0..4usize {
                let [j, i] = [side(n)[0].min(1), side(n)[1].max(-1)];
                wave = wave.mix(Wave::of(0.1 * j as f64 + 0.2 * i as f64), 0.0625);
            }
            wave = wave.mix(u[at + [1, -1]], 0.5).mix(u[at - [0, 2]], 0.25);
            wave.h = match wave.energy() {
                e if e > 4.0 => 0.5 * wave.h,
                e @ 0.5..=1.0 => wave.h + 0.01 * e,
                _ => wave.h.max(lowest),
            };
            next[at] = wave;
        },
        |wave| (wave.energy() * 1000.0) as i64
    );
    Case { fuses: false, joins: false, ends: false, ..case }
}

/// `i16`, whose sums wrap.
fn shorts() -> Case<i16, 2> {
    let scale = [[3i16, -7], [11, 257]];
    let case = case!(
        "short integers",
        [i16; 2],
        (CELLS, |[j, i]| (j * 701 + i * 977) as i16),
        |next, u, at| {
            let mut sum = u[at];
            for r in (-2i64..=2).step_by(2) {
                sum = sum * 3 + u[at + [r, 0]];
            }
            for (a, b) in [(0, 1), (1, 0)] {
                sum += scale[a][b] * u[at - [0, 1]];
            }
            next[at] = match sum {
                -32768..=-1 => -sum,
                0 | 1 => 5,
                n if n % 3 == 0 => n / 3,
                n => n ^ 21,
            };
        },
        plain | next,
        u,
        at | {
            let mut sum: i16 = u[at];
            for r in [-2i64, 0, 2] {
                sum = sum.wrapping_mul(3).wrapping_add(u[at + [r, 0]]);
            }
            for scale in [-7i16, 11] {
                sum = sum.wrapping_add(scale.wrapping_mul(u[at - [0, 1]]));
            }
            next[at] = match sum {
                ..=-1 => sum.wrapping_neg(),
                0 | 1 => 5,
                n if n % 3 == 0 => n / 3,
                n => n ^ 21,
            };
        },
        |x| x as i64
    );
    // Its loop over what is no offset stays one.
    Case { joins: false, ends: false, ..case }
}

/// `u16` and `u8` wrap too, and their matches are of no signs.
macro_rules! unsigned {
    ($name:ident, $T:ident) => {
        fn $name() -> Case<$T, 2> {
            let half = $T::MAX / 2;
            let case = case!(
                "unsigned short integers",
                [$T; 2],
                (CELLS, |[j, i]| (j * 701 + i * 97) as $T),
                |next, u, at| {
                    let mut most = u[at];
                    'all: for j in [-1, 1] {
                        for i in (-1..2).rev() {
                            match u[at + [j, i]] {
                                n if n == most => break 'all,
                                n @ 0..=9 => most += n,
                                n => most = most.max(n),
                            }
                        }
                    }
                    next[at] = if most > half { most * 5 } else { most + 3 };
                },
                plain | next,
                u,
                at | {
                    let mut most: $T = u[at];
                    'all: for j in [-1, 1] {
                        for i in [1, 0, -1] {
                            let n = u[at + [j, i]];
                            if n == most {
                                break 'all;
                            }
                            most = if n < 10 { most.wrapping_add(n) } else { most.max(n) };
                        }
                    }
                    next[at] = if most > half { most.wrapping_mul(5) } else { most.wrapping_add(3) };
                },
                |x| x as i64
            );
            // As `labels`.
            Case { fuses: false, joins: false, ends: false, ..case }
        }
    };
}

unsigned!(words, u16);
unsigned!(bytes, u8);

/// Each kernel in a place.
macro_rules! each_in {
    ($($place:ident)*) => {$(
        #[test]
        fn $place() {
            places::$place(&choices());
            places::$place(&loops());
            places::$place(&captures());
            places::$place(&labels());
            places::$place(&methods());
            places::$place(&shorts());
            places::$place(&words());
            places::$place(&bytes());
        }
    )*};
}

each_in!(cut out_of_core fused hybrid coded beside ending);

/// What cannot be says so.
mod refused {
    use tida::Format;
    use tida::prelude::*;
    use tida_tests::{everywhere, expect, on_cpu};

    #[test]
    fn short_integers_in_fewer_bits() {
        let built = |format| TileArray::<i16, 1>::builder([64]).storage(format).build(&on_cpu()).map(|_| ());
        for format in [Format::Half, Format::Range { bits: 8, min: 0.0, max: 1.0 }] {
            expect(built(format), ErrorKind::Argument, &["for i16", "give formats to f32 and f64 alone"]);
        }
    }

    /// What is known of a captured array is known at the launch; a loop that is left from inside is found out about as
    /// it runs.
    #[test]
    fn reads_past_the_ghosts() {
        let (steps, by) = ([[0i64, 1], [-1, 3]], 3usize);
        for acc in everywhere() {
            let mut u = TileArray::<f64, 1>::builder([70]).ghost(2).boundary(Boundary::Periodic).build(&acc).unwrap();
            u.fill_value(1.0).unwrap();
            u.fill_ghosts().unwrap();
            let mut next = u.like().unwrap();
            let tile = TileIter::new(&u).next().unwrap();
            let listed = compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let mut sum = 0.0;
                    for n in (0..2).rev() {
                        sum += u[at + [steps[1][n]]];
                    }
                    next[at] = sum;
                }),
            );
            expect(listed, ErrorKind::Ghost, &["`u[at + [steps[..]]]`", "reaches [-1]..[73]", "`.ghost(3)`"]);
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let mut sum = 0.0;
                    'all: for r in (-3i64..4).step_by(by) {
                        if sum > 1.5 {
                            break 'all;
                        }
                        sum += u[at + [r]];
                    }
                    next[at] = sum;
                }),
            )
            .unwrap();
            expect(acc.sync(), ErrorKind::OutOfRange, &["a read of `u` at [-3], outside what it holds there"]);
        }
    }
}
