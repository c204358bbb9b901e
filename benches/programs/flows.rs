//! Several arrays at once: shallow water in two axes, and the reaction of Gray and Scott in three.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Steps in one run.
const STEPS: usize = 10;

/// What flows through a face, by Lax and Friedrichs with the faster wave of both sides (Rusanov). A side has its
/// height, and its discharges through the face and along it.
#[kernel_fn]
fn through(left: [f64; 3], right: [f64; 3], gravity: f64) -> [f64; 3] {
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

/// The height, and the discharges along `x` and `y`.
struct Water {
    h: TileArray<f64, 2>,
    u: TileArray<f64, 2>,
    v: TileArray<f64, 2>,
}

impl Water {
    fn like(&self) -> tida::Result<Water> {
        Ok(Water { h: self.h.like()?, u: self.u.like()?, v: self.v.like()? })
    }

    fn fill_ghosts(&mut self) -> tida::Result<()> {
        self.h.fill_ghosts()?;
        self.u.fill_ghosts()?;
        self.v.fill_ghosts()
    }
}

/// Shallow water in a periodic basin.
pub fn shallow_water(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 1024;
    let h = TileArray::<f64, 2>::builder([n, n]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    let mut water = Water { u: h.like()?, v: h.like()?, h };
    water.h.fill(|[y, x]| 1.0 + 0.1 * random(y * n + x))?;
    water.u.fill(|[y, x]| 0.1 * random(n * n + y * n + x))?;
    water.v.fill(|[y, x]| 0.1 * random(2 * n * n + y * n + x))?;
    let mut next = water.like()?;
    for array in [&mut next.h, &mut next.u, &mut next.v] {
        array.fill_value(1.0)?;
    }
    let run = |(now, next): &mut (Water, Water)| {
        for _ in 0..STEPS {
            now.fill_ghosts()?;
            flow(now, next)?;
            std::mem::swap(now, next);
        }
        Ok(())
    };
    let result = |(now, _): &(Water, Water)| Ok([values(&now.h)?, values(&now.u)?, values(&now.v)?].concat());
    measured(acc, (water, next), run, result)
}

fn flow(now: &Water, next: &mut Water) -> tida::Result<()> {
    // `ratio` is the time step over a cell's width.
    let (gravity, ratio) = (9.81, 0.05);
    for tile in TileIter::new(&now.h) {
        compute(
            &tile,
            (&mut next.h, &mut next.u, &mut next.v, &now.h, &now.u, &now.v),
            kernel!(|next_h, next_u, next_v, h, u, v, at| {
                let (west, east, south, north) = (at - [0, 1], at + [0, 1], at - [1, 0], at + [1, 0]);
                let (h0, u0, v0) = (h[at], u[at], v[at]);
                let in_w = through([h[west], u[west], v[west]], [h0, u0, v0], gravity);
                let out_e = through([h0, u0, v0], [h[east], u[east], v[east]], gravity);
                let in_s = through([h[south], v[south], u[south]], [h0, v0, u0], gravity);
                let out_n = through([h0, v0, u0], [h[north], v[north], u[north]], gravity);
                next_h[at] = h0 - ratio * (out_e[0] - in_w[0] + out_n[0] - in_s[0]);
                next_u[at] = u0 - ratio * (out_e[1] - in_w[1] + out_n[2] - in_s[2]);
                next_v[at] = v0 - ratio * (out_e[2] - in_w[2] + out_n[1] - in_s[1]);
            }),
        )?;
    }
    Ok(())
}

/// Two substances that react and spread.
struct Substances {
    u: TileArray<f64, 3>,
    v: TileArray<f64, 3>,
}

/// The reaction of Gray and Scott in a periodic box.
pub fn gray_scott(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 128;
    let mut u = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    let mut v = u.like()?;
    let place = |[k, j, i]: [usize; 3]| (k * n + j) * n + i;
    u.fill(|at| 1.0 - 0.5 * random(place(at)))?;
    v.fill(|at| 0.25 + 0.25 * random(7 * place(at)))?;
    let mut next = Substances { u: u.like()?, v: u.like()? };
    next.u.fill_value(0.0)?;
    next.v.fill_value(0.0)?;
    let run = |(now, next): &mut (Substances, Substances)| {
        for _ in 0..STEPS {
            now.u.fill_ghosts()?;
            now.v.fill_ghosts()?;
            react(now, next)?;
            std::mem::swap(now, next);
        }
        Ok(())
    };
    let result = |(now, _): &(Substances, Substances)| Ok([values(&now.u)?, values(&now.v)?].concat());
    measured(acc, (Substances { u, v }, next), run, result)
}

fn react(now: &Substances, next: &mut Substances) -> tida::Result<()> {
    let (spread_u, spread_v, feed, kill, dt) = (0.16, 0.08, 0.035, 0.065, 0.5);
    for tile in TileIter::new(&now.u) {
        compute(
            &tile,
            (&mut next.u, &mut next.v, &now.u, &now.v),
            kernel!(|next_u, next_v, u, v, at| {
                let (a, b) = (u[at], v[at]);
                let around_u = u[at - [0, 0, 1]]
                    + u[at + [0, 0, 1]]
                    + u[at - [0, 1, 0]]
                    + u[at + [0, 1, 0]]
                    + u[at - [1, 0, 0]]
                    + u[at + [1, 0, 0]];
                let around_v = v[at - [0, 0, 1]]
                    + v[at + [0, 0, 1]]
                    + v[at - [0, 1, 0]]
                    + v[at + [0, 1, 0]]
                    + v[at - [1, 0, 0]]
                    + v[at + [1, 0, 0]];
                let made = a * b * b;
                next_u[at] = a + dt * (spread_u * (around_u - 6.0 * a) - made + feed * (1.0 - a));
                next_v[at] = b + dt * (spread_v * (around_v - 6.0 * b) + made - (feed + kill) * b);
            }),
        )?;
    }
    Ok(())
}
