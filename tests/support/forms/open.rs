//! The kernels of generic functions.

use tida::prelude::*;

use super::{Chemistry, Flow, Pair, Populations, Steps};

/// Heat conduction in every rank.
pub fn heat<T: Real, const D: usize>(alpha: T) -> impl Kernel<D, Pair<T, D>> + Copy {
    kernel!(T; |next, u, at| {
        let mut around = -2.0 * D as T * u[at];
        for d in 0..D {
            around += u[at + unit(d)] + u[at - unit(d)];
        }
        next[at] = u[at] + alpha * around;
    })
}

/// The velocity through faces across an axis.
pub fn faces<T: Real, const AXIS: usize>(c: T) -> impl Kernel<2, Pair<T, 2>> + Copy {
    kernel!(|v, p, at| v[at] = v[at] - c * (p[at] - p[at - unit(AXIS)]))
}

/// The pressure from the velocities through the faces of a cell.
pub fn pressure<T: Real>(c: T) -> impl Kernel<2, Steps<T>> + Copy {
    kernel!(T; |p, vy, vx, at| {
        let mut out = 0.0;
        out += vx[at + unit(1)] - vx[at];
        out += vy[at + unit(0)] - vy[at];
        p[at] = p[at] - c * out;
    })
}

/// Conway's game with numbers for cells.
pub fn life<T: Real>() -> impl Kernel<2, Pair<T, 2>> + Copy {
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
    })
}

/// The reaction of Gray and Scott.
pub fn react<T: Real>(spread: [T; 2], feed: T, kill: T) -> impl Kernel<3, Chemistry<T>> + Copy {
    kernel!(T; |next_u, next_v, u, v, at| {
        let (a, b) = (u[at], v[at]);
        let mut around = [-6.0 * a, -6.0 * b];
        for d in 0..3 {
            around[0] += u[at + unit(d)] + u[at - unit(d)];
            around[1] += v[at + unit(d)] + v[at - unit(d)];
        }
        let rate = a * b * b;
        next_u[at] = a + 0.5 * (spread[0] * around[0] - rate + feed * (1.0 - a));
        next_v[at] = b + 0.5 * (spread[1] * around[1] + rate - (feed + kill) * b);
    })
}

/// What flows through a face of shallow water: height, discharge through the face, discharge along it.
#[kernel_fn]
fn through<T: Real>(left: [T; 3], right: [T; 3], gravity: T) -> [T; 3] {
    let [h, q, t] = left;
    let [k, p, s] = right;
    let (u, v) = (q / h, p / k);
    let wave = (u.abs() + (gravity * h).sqrt()).max(v.abs() + (gravity * k).sqrt());
    [
        T::lit(0.5) * (q + p - wave * (k - h)),
        T::lit(0.5) * (q * u + p * v + T::lit(0.5) * gravity * (h * h + k * k) - wave * (p - q)),
        T::lit(0.5) * (t * u + s * v - wave * (s - t)),
    ]
}

/// Shallow water.
pub fn flow<T: Real>(gravity: T, ratio: T) -> impl Kernel<2, Flow<T>> + Copy {
    kernel!(|next_h, next_qy, next_qx, h, qy, qx, at| {
        let (south, north, west, east) = (at - unit(0), at + unit(0), at - unit(1), at + unit(1));
        let from_west = through::<T>([h[west], qx[west], qy[west]], [h[at], qx[at], qy[at]], gravity);
        let to_east = through::<T>([h[at], qx[at], qy[at]], [h[east], qx[east], qy[east]], gravity);
        let from_south = through::<T>([h[south], qy[south], qx[south]], [h[at], qy[at], qx[at]], gravity);
        let to_north = through::<T>([h[at], qy[at], qx[at]], [h[north], qy[north], qx[north]], gravity);
        next_h[at] = h[at] - ratio * ((to_east[0] - from_west[0]) + (to_north[0] - from_south[0]));
        next_qx[at] = qx[at] - ratio * ((to_east[1] - from_west[1]) + (to_north[2] - from_south[2]));
        next_qy[at] = qy[at] - ratio * ((to_east[2] - from_west[2]) + (to_north[1] - from_south[1]));
    })
}

/// What two populations of opposite velocities become.
#[kernel_fn]
fn relaxed<T: Real>(pair: [T; 2], weight: T, rho: T, base: T, along: T, omega: T) -> [T; 2] {
    let even = (T::lit(4.5) * rho * along).mul_add(along, base);
    let odd = T::lit(3.0) * rho * along;
    let [first, second] = pair;
    [
        omega.mul_add(weight.mul_add(even + odd, -first), first),
        omega.mul_add(weight.mul_add(even - odd, -second), second),
    ]
}

/// The populations after a collision, as in the example `lbm`.
#[kernel_fn]
fn collided<T: Real>(f: [T; 19], omega: T) -> [T; 19] {
    let resting = f[0] + (f[1] + f[2]) + (f[3] + f[4]) + (f[5] + f[6]);
    let across = (f[7] + f[8]) + (f[9] + f[10]) + (f[11] + f[12]) + (f[13] + f[14]) + (f[15] + f[16]) + (f[17] + f[18]);
    let over = resting + across;
    let rho = T::lit(1.0) + over;
    let inverse = T::lit(1.0) / rho;
    let x = ((f[1] - f[2]) + (f[7] - f[8]) + (f[9] - f[10]) + (f[11] - f[12]) + (f[13] - f[14])) * inverse;
    let y = ((f[3] - f[4]) + (f[7] - f[8]) - (f[9] - f[10]) + (f[15] - f[16]) + (f[17] - f[18])) * inverse;
    let z = ((f[5] - f[6]) + (f[11] - f[12]) - (f[13] - f[14]) + (f[15] - f[16]) - (f[17] - f[18])) * inverse;
    let base = over - T::lit(1.5) * rho * (x * x + y * y + z * z);
    let (near, far) = (T::lit(1.0) / T::lit(18.0), T::lit(1.0) / T::lit(36.0));
    let [f1, f2] = relaxed::<T>([f[1], f[2]], near, rho, base, x, omega);
    let [f3, f4] = relaxed::<T>([f[3], f[4]], near, rho, base, y, omega);
    let [f5, f6] = relaxed::<T>([f[5], f[6]], near, rho, base, z, omega);
    let [f7, f8] = relaxed::<T>([f[7], f[8]], far, rho, base, x + y, omega);
    let [f9, f10] = relaxed::<T>([f[9], f[10]], far, rho, base, x - y, omega);
    let [f11, f12] = relaxed::<T>([f[11], f[12]], far, rho, base, x + z, omega);
    let [f13, f14] = relaxed::<T>([f[13], f[14]], far, rho, base, x - z, omega);
    let [f15, f16] = relaxed::<T>([f[15], f[16]], far, rho, base, y + z, omega);
    let [f17, f18] = relaxed::<T>([f[17], f[18]], far, rho, base, y - z, omega);
    let f0 = omega.mul_add((T::lit(1.0) / T::lit(3.0)).mul_add(base, -f[0]), f[0]);
    [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18]
}

/// The lattice Boltzmann method in three axes with 19 velocities.
pub fn lattice<T: Real>(omega: T) -> impl Kernel<3, Populations<T>> + Copy {
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
        next[at] = collided::<T>(pulled, omega);
    })
}
