//! Methods of structs that kernels call.
#![forbid(unsafe_code)]

use tida::prelude::*;
use tida_tests::{everywhere, on_cpu};

const GRAVITY: f64 = 9.81;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    h: f64,
    speed: [f64; 2],
}

#[kernel_fn]
fn square(x: f64) -> f64 {
    x * x
}

#[kernel_fn]
impl Wave {
    /// A constant of the struct.
    const REST: f64 = 0.25;

    /// Made of one number.
    pub fn of(h: f64) -> Wave {
        Self { h, speed: [Self::REST; 2] }
    }

    fn energy(self) -> f64 {
        0.5 * GRAVITY * square(self.h) + self.kinetic()
    }

    fn kinetic(&self) -> f64 {
        let [x, y] = self.speed;
        0.5 * self.h * (x * x + y * y)
    }

    fn mix(mut self, Self { h, speed }: Self, t: f64) -> Self {
        self.h += (h - self.h) * t;
        for i in 0..2 {
            self.speed[i] = self.speed[i] * (1.0 - t) + speed[i] * t;
        }
        self
    }

    fn turned(&self, by: usize) -> Wave {
        let speed = [self.speed[by % 2], -self.speed[(by + 1) % 2]];
        Self::of(self.h).mix(Wave { h: self.h, speed }, 0.5)
    }
}

/// Another struct with the same fields and names of methods.
mod other {
    use tida::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    pub struct Wave {
        pub h: f64,
        pub speed: [f64; 2],
    }

    #[kernel_fn]
    impl Wave {
        pub fn energy(self) -> f64 {
            -self.h
        }

        /// Numbers have a method of this name: by its path alone.
        pub fn min(self, other: Wave) -> Wave {
            if self.h < other.h { self } else { other }
        }
    }
}

/// A function that calls methods.
#[kernel_fn]
fn total(a: Wave, b: other::Wave) -> f64 {
    a.energy() + b.energy() + other::Wave::min(b, other::Wave { h: 0.0, speed: b.speed }).h
}

/// One cell by the methods on the host.
fn plain(w: Wave, at: [i64; 2]) -> Wave {
    let turned = w.turned(at[1] as usize);
    let b = other::Wave { h: w.h - 0.5, speed: w.speed };
    let mixed = w.mix(Wave::of(total(turned, b)), 0.125);
    Wave { h: mixed.energy() + Wave::kinetic(&turned), ..mixed }
}

fn waves(acc: &TileAcc) -> TileArray<Wave, 2> {
    let mut u = TileArray::builder([6, 11]).regions([2, 1]).build(acc).unwrap();
    u.fill(|[j, i]| Wave { h: (j * 11 + i) as f64 * 0.03, speed: [0.1 * j as f64, 1.0 / (i as f64 + 1.0)] }).unwrap();
    u
}

#[test]
fn methods_are_the_same_in_kernels_and_on_the_host() {
    for acc in everywhere() {
        let u = waves(&acc);
        let mut next = u.like().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let turned = u[at].turned(at[1] as usize);
                    let b = other::Wave { h: u[at].h - 0.5, speed: u[at].speed };
                    let mut mixed = u[at].mix(Wave::of(total(turned, b)), 0.125);
                    mixed.h = mixed.energy() + turned.kinetic();
                    next[at] = mixed;
                }),
            )
            .unwrap();
        }
        let (u, next) = (u.read_box(u.domain()).unwrap(), next.read_box(next.domain()).unwrap());
        for (n, (w, found)) in u.into_iter().zip(next).enumerate() {
            let plain = plain(w, [n as i64 / 11, n as i64 % 11]);
            let bits = |w: Wave| [w.h, w.speed[0], w.speed[1]].map(f64::to_bits);
            assert_eq!(bits(found), bits(plain), "{} {n}", acc.device().name());
        }
        let sum: f64 = reduce(&waves(&acc), Sum, kernel!(|u, at| u[at].energy())).unwrap();
        let cells = waves(&acc);
        let cells = cells.read_box(cells.domain()).unwrap();
        let plain: f64 = cells.into_iter().map(Wave::energy).sum();
        assert!((sum - plain).abs() < 1e-12 * plain, "{}", acc.device().name());
    }
}

/// The numbers of plain Rust: the methods are not their own oracle.
#[test]
fn methods_have_their_values() {
    let w = Wave { h: 2.0, speed: [3.0, 4.0] };
    assert_eq!(w.energy(), 0.5 * 9.81 * 4.0 + 25.0);
    assert_eq!(w.mix(Wave::of(0.0), 0.5), Wave { h: 1.0, speed: [1.625, 2.125] });
    assert_eq!(w.turned(1), Wave { h: 2.0, speed: [2.125, -1.375] });
    assert_eq!(total(w, other::Wave { h: 1.0, speed: [0.0; 2] }), w.energy() - 1.0 + 0.0);
}

/// A function of the type of its receiver: each instance has the method of its own type.
trait Height: Element {
    fn new(h: f64) -> Self;
}

impl Height for Wave {
    fn new(h: f64) -> Wave {
        Wave { h, speed: [0.0; 2] }
    }
}

impl Height for other::Wave {
    fn new(h: f64) -> other::Wave {
        other::Wave { h, speed: [0.0; 2] }
    }
}

fn energy_of<T: Height>(acc: &TileAcc, energy: impl Fn(&TileArray<T, 1>) -> f64) -> f64 {
    let mut u = TileArray::<T, 1>::builder([1]).build(acc).unwrap();
    u.fill_value(T::new(2.0)).unwrap();
    energy(&u)
}

#[test]
fn equal_structs_have_methods_of_their_own() {
    for acc in everywhere() {
        let a = energy_of::<Wave>(&acc, |u| reduce(u, Sum, kernel!(|u, at| u[at].energy())).unwrap());
        let b = energy_of::<other::Wave>(&acc, |u| reduce(u, Sum, kernel!(|u, at| u[at].energy())).unwrap());
        assert_eq!((a, b), (0.5 * 9.81 * 4.0, -2.0), "{}", acc.device().name());
    }
}

/// A loop that all cells of a block take together calls methods too.
#[test]
fn methods_are_called_in_loops() {
    let turns = 40i64;
    for acc in everywhere() {
        let u = waves(&acc);
        let mut sums = TileArray::<f64, 2>::builder([6, 11]).regions([2, 1]).build(&acc).unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut sums, &u),
                kernel!(|sums, u, at| {
                    let mut sum = 0.0;
                    for k in 0..turns {
                        sum += u[at].mix(Wave::of(k as f64), 0.25).energy();
                    }
                    sums[at] = sum;
                }),
            )
            .unwrap();
        }
        let (u, sums) = (u.read_box(u.domain()).unwrap(), sums.read_box(sums.domain()).unwrap());
        for (n, (w, found)) in u.into_iter().zip(sums).enumerate() {
            let mut plain = 0.0;
            (0..turns).for_each(|k| plain += w.mix(Wave::of(k as f64), 0.25).energy());
            assert_eq!(found.to_bits(), plain.to_bits(), "{} {n}", acc.device().name());
        }
    }
}

#[test]
fn the_emitted_text_calls_methods() {
    let acc = on_cpu();
    let u = waves(&acc);
    let mut next = u.like().unwrap();
    let explained =
        tida::explain((&mut next, &u), kernel!(|next, u, at| next[at] = u[at].mix(Wave::of(1.5), 0.5))).unwrap();
    assert!(explained.source().contains("Wave mix_fn(Wave self"), "{}", explained.source());
    if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() {
        explained.compile().unwrap();
    }
}

/// Each calls the other: the launch says so.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Circle {
    x: f64,
}

#[kernel_fn]
impl Circle {
    fn there(self) -> f64 {
        if self.x > 1.0 { self.back() } else { self.x }
    }

    fn back(self) -> f64 {
        Circle { x: self.x - 1.0 }.there()
    }
}

#[test]
fn methods_in_a_circle_are_an_error() {
    let acc = on_cpu();
    let u = TileArray::<Circle, 1>::builder([4]).build(&acc).unwrap();
    let error = reduce(&u, Sum, kernel!(|u, at| u[at].there())).map(|_: f64| ()).unwrap_err();
    assert!(error.to_string().contains("circle"), "{error}");
}
