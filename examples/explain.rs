//! What tida finds out about the kernels of the other examples: what they read and write, how they are laid out on a
//! device, and the source that runs there.
//!
//! `cargo run --release --example explain` shows all of them; a name, such as `-- heat`, one.

use std::process::ExitCode;

use tida::Explanation;
use tida::prelude::*;
use tida_suite::Result;
use tida_suite::setup::say_where;

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let wanted = std::env::args().nth(1);
    let acc = TileAcc::auto()?;
    say_where("explain", &acc);
    let all = [
        ("heat", heat(&acc)?),
        ("heat in 2-D", heat_2d(&acc)?),
        ("sincos", sincos(&acc)?),
        ("life", life(&acc)?),
        ("jacobi", jacobi(&acc)?),
        ("wave, pressure", wave_pressure(&acc)?),
        ("the sum of all cells", sum(&acc)?),
    ];
    let shown: Vec<_> = all.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| name.starts_with(w))).collect();
    if shown.is_empty() {
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        return Err(format!("tried to explain {wanted:?}; found the kernels {names:?}; name one of them").into());
    }
    for (name, explanation) in shown {
        println!("== {name}\n\n{explanation}");
    }
    Ok(())
}

fn heat(acc: &TileAcc) -> Result<Explanation> {
    let u = TileArray::<f64, 3>::builder([256; 3]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    let mut next = u.like()?;
    let alpha = 0.1;
    let explained = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| {
            let c = u[at];
            next[at] = c + alpha
                * (u[at + [0, 0, 1]]
                    + u[at - [0, 0, 1]]
                    + u[at + [0, 1, 0]]
                    + u[at - [0, 1, 0]]
                    + u[at + [1, 0, 0]]
                    + u[at - [1, 0, 0]]
                    - 6.0 * c);
        }),
    );
    Ok(explained?)
}

fn heat_2d(acc: &TileAcc) -> Result<Explanation> {
    let u = TileArray::<f64, 2>::builder([2048; 2]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    let mut next = u.like()?;
    let alpha = 0.1;
    let explained = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| {
            let c = u[at];
            next[at] = c + alpha * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]] - 4.0 * c);
        }),
    );
    Ok(explained?)
}

fn sincos(acc: &TileAcc) -> Result<Explanation> {
    let mut u = TileArray::<f64, 3>::builder([256; 3]).build(acc)?;
    let iterations = 32u32;
    let explained = tida::explain(
        &mut u,
        kernel!(|u, at| {
            let mut x = u[at];
            for _ in 0..iterations {
                let s = x.sin();
                let c = x.cos();
                x = x + (s * s + c * c).sqrt();
            }
            u[at] = x;
        }),
    );
    Ok(explained?)
}

fn life(acc: &TileAcc) -> Result<Explanation> {
    let u = TileArray::<u8, 2>::builder([512; 2]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    let mut next = u.like()?;
    let explained = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| {
            let above = u[at + [-1, -1]] + u[at + [-1, 0]] + u[at + [-1, 1]];
            let beside = u[at + [0, -1]] + u[at + [0, 1]];
            let below = u[at + [1, -1]] + u[at + [1, 0]] + u[at + [1, 1]];
            let live = above + beside + below;
            next[at] = if live == 3 || (live == 2 && u[at] == 1) { 1 } else { 0 };
        }),
    );
    Ok(explained?)
}

fn jacobi(acc: &TileAcc) -> Result<Explanation> {
    let u = TileArray::<f64, 2>::builder([512; 2]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
    let (mut next, f) = (u.like()?, u.like()?);
    let explained = tida::explain(
        (&mut next, &u, &f),
        kernel!(|next, u, f, at| {
            let around = u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]];
            next[at] = 0.25 * (around + f[at]);
        }),
    );
    Ok(explained?)
}

fn wave_pressure(acc: &TileAcc) -> Result<Explanation> {
    let mut p = TileArray::<f64, 2>::builder([512; 2]).ghost(1).build(acc)?;
    let face = |axis: usize| {
        let mut centering = [Centering::Cell; 2];
        centering[axis] = Centering::Face;
        TileArray::<f64, 2>::builder([512; 2]).ghost(1).centering(centering).boundary(Boundary::Open).build(acc)
    };
    let (vx, vy) = (face(1)?, face(0)?);
    let courant = 0.5;
    let explained = tida::explain(
        (&mut p, &vx, &vy),
        kernel!(|p, vx, vy, at| {
            p[at] = p[at] - courant * (vx[at + [0, 1]] - vx[at] + vy[at + [1, 0]] - vy[at]);
        }),
    );
    Ok(explained?)
}

fn sum(acc: &TileAcc) -> Result<Explanation> {
    let u = TileArray::<f64, 3>::builder([256; 3]).build(acc)?;
    Ok(tida::explain(&u, kernel!(|u, at| u[at]))?)
}
