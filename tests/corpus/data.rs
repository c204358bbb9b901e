//! Tuples, arrays, structs; elements that have parts; captures.

use tida::prelude::*;
use tida_kernels::element::ScalarType;
use tida_kernels::scalar::Value;

use crate::judge::check;
use crate::scene::{FromScalars, components, over};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Spin {
    axis: [f32; 3],
    up: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Particle {
    mass: f64,
    velocity: [f64; 2],
    spin: Spin,
    id: u32,
}

/// A struct as a value alone.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Pair {
    first: i64,
    second: f64,
}

impl FromScalars for Particle {
    fn from_scalars(next: &mut dyn FnMut(ScalarType) -> Value) -> Self {
        Particle {
            mass: f64::from_scalars(next),
            velocity: <[f64; 2]>::from_scalars(next),
            spin: Spin { axis: <[f32; 3]>::from_scalars(next), up: bool::from_scalars(next) },
            id: u32::from_scalars(next),
        }
    }

    components! { f64, F64; f32, F32; bool, Bool; u32, U32; }
}

#[test]
fn tuples() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<f64>(), scene.array::<f64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let t = (a[at], at[0], (a[at] > 0.0, 3u8));
                let (x, _, (up, n)) = t;
                let mut s = (x, t.2);
                s.0 += 1.0;
                s.1.1 = n + 254;
                (s.1).0 = !up;
                let u = ();
                let _ = u;
                let one = (s.0,);
                let y = if s.1.0 { one.0 } else { t.1 as f64 };
                r[at] = y + s.1.1 as f64;
            })
        );
    });
}

#[test]
fn arrays_of_a_kernel() {
    over::<2>(|scene| {
        let (mut r, a, n) = (scene.array::<f64>(), scene.array::<f64>(), scene.array::<u64>());
        check!(
            scene,
            [r, a, n],
            (&mut r, &a, &n),
            kernel!(|r, a, n, at| {
                let mut w = [a[at], a[at + [0, 1]], 2.0, -1.5];
                let zeros = [0.0; 4];
                let mut m = [[1.0; 3]; 2];
                let k = (n[at] & 3) as usize;
                w[k] *= 2.0;
                m[k & 1][k.min(2)] += w[k];
                m[1] = [w[0], w[1], zeros[k]];
                let copy = m;
                m[0][0] = 9.0;
                let mut sum = 0.0;
                for i in 0..2 {
                    for j in 0..3 {
                        sum += m[i][j] * copy[i][j] + w[i + j];
                    }
                }
                let [p, q] = [w[3], sum];
                r[at] = p + q + copy[1][2];
            })
        );
    });
}

#[test]
fn entries_out_of_range() {
    over::<1>(|scene| {
        let (mut r, n) = (scene.array::<i32>(), scene.array::<u64>());
        check!(
            scene,
            [r, n],
            (&mut r, &n),
            kernel!(|r, n, at| {
                let w = [1, 2, 3, 4, 5, 6, 7, 8];
                r[at] = w[n[at] as usize];
            })
        );
        let (mut r, mut f) = (scene.array::<i32>(), scene.array::<[i32; 9]>());
        check!(
            scene,
            [r, f, n],
            (&mut r, &mut f, &n),
            kernel!(|r, f, n, at| {
                f[at][n[at] as usize] += 3;
                r[at] = f[at][3];
            })
        );
        let mut r = scene.array::<i32>();
        check!(
            scene,
            [r, n],
            (&mut r, &n),
            kernel!(|r, n, at| {
                let mut w = [[0; 2]; 10];
                w[n[at] as usize][1] = 4;
                r[at] = w[0][1] + w[9][0];
            })
        );
    });
}

#[test]
fn elements_with_entries() {
    over::<2>(|scene| {
        let (mut r, f, n) = (scene.array::<[[f32; 3]; 2]>(), scene.array::<[f32; 9]>(), scene.array::<u32>());
        check!(
            scene,
            [r, f, n],
            (&mut r, &f, &n),
            kernel!(|r, f, n, at| {
                let mut density = 0.0;
                for q in 0..9 {
                    density += f[at + [q / 3 - 1, q % 3 - 1]][q as usize];
                }
                let k = (n[at] & 1) as usize;
                r[at][k][2] = density;
                r[at][1 - k] = [f[at][k], f[at - [1, 0]][k + 7], density / 9.0];
                let whole = f[at + [0, 1]];
                r[at][0][k] += whole[k * 3];
                let m = r[at];
                r[at] = [m[1], m[0]];
                r[at][1][1] -= 1.0;
            })
        );
    });
}

#[test]
fn structs() {
    over::<2>(|scene| {
        let (mut p, q) = (scene.array::<Particle>(), scene.array::<Particle>());
        check!(
            scene,
            [p, q],
            (&mut p, &q),
            kernel!(|p, q, at| {
                let old = q[at + [1, 0]];
                p[at].mass += old.mass;
                p[at].velocity[1] = old.velocity[0] * 2.0;
                p[at].spin.axis[2] -= q[at].spin.axis[0];
                p[at].spin.up ^= q[at].spin.up;
                if old.spin.up {
                    p[at].spin = Spin { up: false, axis: [1.0, old.spin.axis[1], 3.0] };
                }
                p[at].id = q[at - [0, 1]].id + 1;
                let mut new = p[at];
                new.velocity = [new.velocity[1], new.mass];
                new.spin.axis[(new.id & 1) as usize] = -1.0;
                if new.id % 3 == 0 {
                    p[at] = new;
                } else {
                    p[at] = Particle { id: 7, mass: 1.0, velocity: old.velocity, spin: new.spin };
                }
            })
        );
    });
}

/// A function over structs.
#[kernel_fn]
fn lean(p: Particle, by: [f64; 2]) -> Particle {
    let mut q = p;
    q.velocity[0] += by[0];
    q.velocity[1] += by[1];
    if q.mass < 0.0 {
        return p;
    }
    q.id += 1;
    q
}

#[kernel_fn]
fn pair(n: i64) -> Pair {
    let made = Pair { second: n as f64 / 2.0, first: n };
    made
}

#[test]
fn structs_as_values() {
    over::<1>(|scene| {
        let (mut p, n) = (scene.array::<Particle>(), scene.array::<i64>());
        check!(
            scene,
            [p, n],
            (&mut p, &n),
            kernel!(|p, n, at| {
                let both = [pair(n[at]), pair(at[0])];
                let which = both[(n[at] & 1) as usize];
                let first = if which.first > 3 { which } else { Pair { first: 1, second: 2.5 } };
                p[at] = lean(p[at], [first.second, both[0].second]);
                p[at].mass = lean(p[at], [1.0, 2.0]).velocity[1] + first.first as f64;
            })
        );
    });
}

/// A solver with its parameters.
struct Solver {
    alpha: f64,
    weights: [f64; 3],
    steps: usize,
    inner: Inner,
}

struct Inner {
    shift: i64,
    on: bool,
}

const SCALE: f64 = 1.5;

impl Solver {
    fn step(&self, scene: &crate::scene::Scene<2>) {
        let (mut r, a) = (scene.array::<f64>(), scene.array::<f64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0.0;
                for q in 0..3 {
                    sum += self.weights[q] * a[at + [0, q as i64 - 1]];
                }
                if self.inner.on {
                    sum += self.alpha * a[at + [self.inner.shift, 0]];
                }
                r[at] = sum * SCALE + self.steps as f64 + f64::MAX.min(std::f64::consts::PI);
            })
        );
    }
}

#[test]
fn captured_fields_and_constants() {
    over::<2>(|scene| {
        let solver = Solver {
            alpha: scene.scalar(),
            weights: [scene.scalar(), 0.5, scene.scalar()],
            steps: scene.scalar::<u64>() as usize,
            inner: Inner { shift: scene.scalar::<i64>().rem_euclid(5) - 2, on: scene.scalar() },
        };
        solver.step(scene);
    });
}

#[test]
fn captures_of_every_type() {
    over::<1>(|scene| {
        let (mut r, mut s, a) = (scene.array::<i64>(), scene.array::<f64>(), scene.array::<i64>());
        let (c8, ci, cu, cl, ck): (u8, i32, u32, i64, u64) =
            (scene.scalar(), scene.scalar(), scene.scalar(), scene.scalar(), scene.scalar());
        let (cf, cd, cb): (f32, f64, bool) = (scene.scalar(), scene.scalar(), scene.scalar());
        let (size, signed) = (ck as usize, cl as isize);
        let (cb8, cs, ct): (i8, i16, u16) = (scene.scalar(), scene.scalar(), scene.scalar());
        let short: [i16; 3] = std::array::from_fn(|_| scene.scalar());
        let table: [i32; 4] = std::array::from_fn(|_| scene.scalar());
        let bits: [bool; 2] = [cb, !cb];
        check!(
            scene,
            [r, s, a],
            (&mut r, &mut s, &a),
            kernel!(|r, s, a, at| {
                let mut x = a[at] + c8 as i64 * ci as i64 - cu as i64 + cl;
                x ^= ck as i64 + size as i64 + signed as i64;
                x += (cb8 as i16 * cs - short[2]) as i64 ^ (ct * ct) as i64;
                for k in 0..4 {
                    x = x * 3 + table[k] as i64;
                }
                let copy = table;
                if bits[(x & 1) as usize] || cb {
                    x -= copy[2] as i64;
                }
                r[at] = x;
                s[at] = cd + cf as f64 * s[at];
            })
        );
    });
}
