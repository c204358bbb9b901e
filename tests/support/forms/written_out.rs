//! The same kernels written out, for each type and rank.

use tida::prelude::*;

use super::{Chemistry, Flow, Pair, Populations, Steps};

/// The kernels that are written out for a type.
pub trait WrittenOut: Real {
    /// Heat conduction in three axes.
    fn heat(alpha: Self) -> impl Kernel<3, Pair<Self, 3>> + Copy;
    /// The velocity through faces across y.
    fn faces_y(c: Self) -> impl Kernel<2, Pair<Self, 2>> + Copy;
    /// The velocity through faces across x.
    fn faces_x(c: Self) -> impl Kernel<2, Pair<Self, 2>> + Copy;
    /// The pressure from these velocities.
    fn pressure(c: Self) -> impl Kernel<2, Steps<Self>> + Copy;
    /// Conway's game.
    fn life() -> impl Kernel<2, Pair<Self, 2>> + Copy;
    /// The reaction of Gray and Scott.
    fn react(spread: [Self; 2], feed: Self, kill: Self) -> impl Kernel<3, Chemistry<Self>> + Copy;
    /// Shallow water.
    fn flow(gravity: Self, ratio: Self) -> impl Kernel<2, Flow<Self>> + Copy;
    /// The lattice Boltzmann method.
    fn lattice(omega: Self) -> impl Kernel<3, Populations<Self>> + Copy;
}

macro_rules! written_out {
    ($($T:ident of $functions:ident;)*) => {$(
        #[allow(dead_code, reason = "rustc does not see calls by methods of a trait that return `impl Kernel`")]
        mod $functions {
            use tida::prelude::*;

            /// What flows through a face of shallow water: height, discharge through the face, discharge along it.
            #[kernel_fn]
            pub fn through(left: [$T; 3], right: [$T; 3], gravity: $T) -> [$T; 3] {
                let [h, q, t] = left;
                let [k, p, s] = right;
                let (u, v) = (q / h, p / k);
                let wave = (u.abs() + (gravity * h).sqrt()).max(v.abs() + (gravity * k).sqrt());
                [
                    0.5 * (q + p - wave * (k - h)),
                    0.5 * (q * u + p * v + 0.5 * gravity * (h * h + k * k) - wave * (p - q)),
                    0.5 * (t * u + s * v - wave * (s - t)),
                ]
            }

            /// What two populations of opposite velocities become.
            #[kernel_fn]
            fn relaxed(pair: [$T; 2], weight: $T, rho: $T, base: $T, along: $T, omega: $T) -> [$T; 2] {
                let even = (4.5 * rho * along).mul_add(along, base);
                let odd = 3.0 * rho * along;
                let [first, second] = pair;
                [
                    omega.mul_add(weight.mul_add(even + odd, -first), first),
                    omega.mul_add(weight.mul_add(even - odd, -second), second),
                ]
            }

            /// The populations after a collision, as in the example `lbm`.
            #[kernel_fn]
            pub fn collided(f: [$T; 19], omega: $T) -> [$T; 19] {
                let resting = f[0] + (f[1] + f[2]) + (f[3] + f[4]) + (f[5] + f[6]);
                let across = (f[7] + f[8]) + (f[9] + f[10]) + (f[11] + f[12]) + (f[13] + f[14]) + (f[15] + f[16]) + (f[17] + f[18]);
                let over = resting + across;
                let rho = 1.0 + over;
                let inverse = 1.0 / rho;
                let x = ((f[1] - f[2]) + (f[7] - f[8]) + (f[9] - f[10]) + (f[11] - f[12]) + (f[13] - f[14])) * inverse;
                let y = ((f[3] - f[4]) + (f[7] - f[8]) - (f[9] - f[10]) + (f[15] - f[16]) + (f[17] - f[18])) * inverse;
                let z = ((f[5] - f[6]) + (f[11] - f[12]) - (f[13] - f[14]) + (f[15] - f[16]) - (f[17] - f[18])) * inverse;
                let base = over - 1.5 * rho * (x * x + y * y + z * z);
                let (near, far) = (1.0 / 18.0, 1.0 / 36.0);
                let [f1, f2] = relaxed([f[1], f[2]], near, rho, base, x, omega);
                let [f3, f4] = relaxed([f[3], f[4]], near, rho, base, y, omega);
                let [f5, f6] = relaxed([f[5], f[6]], near, rho, base, z, omega);
                let [f7, f8] = relaxed([f[7], f[8]], far, rho, base, x + y, omega);
                let [f9, f10] = relaxed([f[9], f[10]], far, rho, base, x - y, omega);
                let [f11, f12] = relaxed([f[11], f[12]], far, rho, base, x + z, omega);
                let [f13, f14] = relaxed([f[13], f[14]], far, rho, base, x - z, omega);
                let [f15, f16] = relaxed([f[15], f[16]], far, rho, base, y + z, omega);
                let [f17, f18] = relaxed([f[17], f[18]], far, rho, base, y - z, omega);
                let f0 = omega.mul_add((1.0 / 3.0).mul_add(base, -f[0]), f[0]);
                [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18]
            }
        }

        impl WrittenOut for $T {
            fn heat(alpha: $T) -> impl Kernel<3, Pair<$T, 3>> + Copy {
                kernel!(|next, u, at| {
                    let mut around = -2.0 * 3u64 as $T * u[at];
                    around += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                    around += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    around += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
                    next[at] = u[at] + alpha * around;
                })
            }

            fn faces_y(c: $T) -> impl Kernel<2, Pair<$T, 2>> + Copy {
                kernel!(|v, p, at| v[at] = v[at] - c * (p[at] - p[at - [1, 0]]))
            }

            fn faces_x(c: $T) -> impl Kernel<2, Pair<$T, 2>> + Copy {
                kernel!(|v, p, at| v[at] = v[at] - c * (p[at] - p[at - [0, 1]]))
            }

            fn pressure(c: $T) -> impl Kernel<2, Steps<$T>> + Copy {
                kernel!(|p, vy, vx, at| {
                    let mut out = 0.0;
                    out += vx[at + [0, 1]] - vx[at];
                    out += vy[at + [1, 0]] - vy[at];
                    p[at] = p[at] - c * out;
                })
            }

            fn life() -> impl Kernel<2, Pair<$T, 2>> + Copy {
                kernel!(|next, u, at| {
                    let mut live = 0.0;
                    live += u[at + [-1, -1]];
                    live += u[at + [-1, 0]];
                    live += u[at + [-1, 1]];
                    live += u[at + [0, -1]];
                    live += u[at];
                    live += u[at + [0, 1]];
                    live += u[at + [1, -1]];
                    live += u[at + [1, 0]];
                    live += u[at + [1, 1]];
                    live -= u[at];
                    let alive = live == 3.0 || (live == 2.0 && u[at] == 1.0);
                    next[at] = if alive { 1.0 } else { 0.0 };
                })
            }

            fn react(spread: [$T; 2], feed: $T, kill: $T) -> impl Kernel<3, Chemistry<$T>> + Copy {
                kernel!(|next_u, next_v, u, v, at| {
                    let (a, b) = (u[at], v[at]);
                    let mut around = [-6.0 * a, -6.0 * b];
                    around[0] += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                    around[1] += v[at + [1, 0, 0]] + v[at - [1, 0, 0]];
                    around[0] += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    around[1] += v[at + [0, 1, 0]] + v[at - [0, 1, 0]];
                    around[0] += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
                    around[1] += v[at + [0, 0, 1]] + v[at - [0, 0, 1]];
                    let rate = a * b * b;
                    next_u[at] = a + 0.5 * (spread[0] * around[0] - rate + feed * (1.0 - a));
                    next_v[at] = b + 0.5 * (spread[1] * around[1] + rate - (feed + kill) * b);
                })
            }

            fn flow(gravity: $T, ratio: $T) -> impl Kernel<2, Flow<$T>> + Copy {
                kernel!(|next_h, next_qy, next_qx, h, qy, qx, at| {
                    let (south, north, west, east) = (at - [1, 0], at + [1, 0], at - [0, 1], at + [0, 1]);
                    let from_west = $functions::through([h[west], qx[west], qy[west]], [h[at], qx[at], qy[at]], gravity);
                    let to_east = $functions::through([h[at], qx[at], qy[at]], [h[east], qx[east], qy[east]], gravity);
                    let from_south = $functions::through([h[south], qy[south], qx[south]], [h[at], qy[at], qx[at]], gravity);
                    let to_north = $functions::through([h[at], qy[at], qx[at]], [h[north], qy[north], qx[north]], gravity);
                    next_h[at] = h[at] - ratio * ((to_east[0] - from_west[0]) + (to_north[0] - from_south[0]));
                    next_qx[at] = qx[at] - ratio * ((to_east[1] - from_west[1]) + (to_north[2] - from_south[2]));
                    next_qy[at] = qy[at] - ratio * ((to_east[2] - from_west[2]) + (to_north[1] - from_south[1]));
                })
            }

            fn lattice(omega: $T) -> impl Kernel<3, Populations<$T>> + Copy {
                kernel!(|next, f, at| {
                    let pulled = [
                        f[at][0],
                        f[at - [0, 0, 1]][1],
                        f[at + [0, 0, 1]][2],
                        f[at - [0, 1, 0]][3],
                        f[at + [0, 1, 0]][4],
                        f[at - [1, 0, 0]][5],
                        f[at + [1, 0, 0]][6],
                        f[at - [0, 1, 1]][7],
                        f[at + [0, 1, 1]][8],
                        f[at - [0, -1, 1]][9],
                        f[at + [0, -1, 1]][10],
                        f[at - [1, 0, 1]][11],
                        f[at + [1, 0, 1]][12],
                        f[at - [-1, 0, 1]][13],
                        f[at + [-1, 0, 1]][14],
                        f[at - [1, 1, 0]][15],
                        f[at + [1, 1, 0]][16],
                        f[at - [-1, 1, 0]][17],
                        f[at + [-1, 1, 0]][18],
                    ];
                    next[at] = $functions::collided(pulled, omega);
                })
            }
        }
    )*};
}

written_out! {
    f32 of functions_f32;
    f64 of functions_f64;
}
