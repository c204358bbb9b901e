//! Kernels of several kinds, and what `explain` says of their native form. `cargo xtask test` compares that with what
//! the compiler made of each: what has the name of a function here in the assembly is the kernel of that function.

use tida::prelude::*;

/// An array that a kernel writes, and one that it reads.
type Pair = [TileArray<f64, 2>; 2];

/// Runs a kernel over two arrays, and gives the text that `explain` has for it.
macro_rules! kernels {
    ($($name:ident: $args:tt, $kernel:expr;)*) => {
        $(#[inline(never)]
        fn $name([next, u]: &mut Pair) -> tida::Result<String> {
            for tile in TileIter::new(next) {
                compute(&tile, kernels!(args $args next u), $kernel)?;
            }
            Ok(tida::explain(kernels!(args $args next u), $kernel)?.to_string())
        })*

        /// Each kernel by the name of its function.
        const KERNELS: &[(&str, fn(&mut Pair) -> tida::Result<String>)] = &[$((stringify!($name), $name)),*];
    };
    (args (tiles) $next:ident $u:ident) => { (&mut *$next, &*$u) };
    (args (whole) $next:ident $u:ident) => { (&mut *$next, all(&*$u)) };
}

const WEIGHTS: [f64; 4] = [0.1, 0.05, 0.025, 0.0125];

kernels! {
    star: (tiles), kernel!(|next, u, at| {
        next[at] = 0.5 * u[at] + 0.125 * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]]);
    });
    star_by_a_loop: (tiles), kernel!(|next, u, at| {
        let mut s = 0.25 * u[at];
        for r in 1..5 {
            s += WEIGHTS[(r - 1) as usize] * (u[at + [0, r]] + u[at - [0, r]] + u[at + [r, 0]] + u[at - [r, 0]]);
        }
        next[at] = s;
    });
    long: (tiles), kernel!(|next, u, at| {
        let x = u[at];
        let mut s = x;
        s = s * x + 0.01;
        s = s * x + 0.02;
        s = s * x + 0.03;
        s = s * x + 0.04;
        s = s * x + 0.05;
        s = s * x + 0.06;
        s = s * x + 0.07;
        s = s * x + 0.08;
        s = s * x + 0.09;
        s = s * x + 0.10;
        s = s * x + 0.11;
        s = s * x + 0.12;
        s = s * x + 0.13;
        s = s * x + 0.14;
        s = s * x + 0.15;
        s = s * x + 0.16;
        s = s * x + 0.17;
        s = s * x + 0.18;
        s = s * x + 0.19;
        s = s * x + 0.20;
        next[at] = if s > 0.5 { s.sqrt() } else { s / x };
    });
    product: (whole), kernel!(|next, u, at| {
        let mut s = 0.0;
        for k in 0..64 {
            s += u[[at[0], k]] * u[[k, at[1]]];
        }
        next[at] = s;
    });
    coarse: (whole), kernel!(|next, u, at| next[at] = 0.5 * u[[at[0] / 2, at[1] / 2]]);
    // A captured number says where the array is read, the same for all cells of a row.
    paths: (whole), {
        let through = 7i64;
        kernel!(|next, u, at| next[at] = u[at].min(u[[at[0], through]] + u[[through, at[1]]]))
    };
    // Turns of loops change entries of an array: they are all written out, so that entries are in registers.
    median: (tiles), kernel!(|next, u, at| {
        let mut sorted = [0.0; 9];
        for y in 0..3 {
            for x in 0..3 {
                sorted[(3 * y + x) as usize] = u[at + [y - 1, x - 1]];
            }
        }
        for first in 0..5 {
            for other in first + 1..9 {
                let (a, b) = (sorted[first as usize], sorted[other as usize]);
                sorted[first as usize] = a.min(b);
                sorted[other as usize] = a.max(b);
            }
        }
        next[at] = sorted[4];
    });
    chosen: (tiles), kernel!(|next, u, at| {
        let side = if u[at] > 0.5 { u[at + [0, 1]] } else { u[at - [1, 0]] };
        next[at] = 0.5 * (u[at] + side);
    });
    until_it_is_near: (tiles), kernel!(|next, u, at| {
        let a = u[at] + 1.0;
        let mut x = a;
        let mut turns = 0;
        while x * x - a > 1e-9 && turns < 50 {
            x = 0.5 * (x + a / x);
            turns += 1;
        }
        next[at] = x;
    });
    as_often_as_a_cell_says: (tiles), kernel!(|next, u, at| {
        let mut s = 1.5;
        for _ in 0..(at[1] & 7) {
            s = s * 0.75 + u[at];
        }
        next[at] = s;
    });
    looked_up: (whole), kernel!(|next, u, at| {
        next[at] = 0.5 * u[[(at[0] * at[0] * 3) % 64, at[1]]] + 0.25 * u[[at[0], (u[[at[0], at[1]]] * 3.0) as i64]];
    });
}

/// The cells of a colour: each second one of a row, for which there are vectors too.
#[inline(never)]
fn red_black([u, f]: &mut Pair) -> tida::Result<()> {
    u.fill_ghosts()?;
    sweep_colour(
        Colour::red_black(0),
        u.tiles(),
        (u, &*f),
        kernel!(|u, f, at| {
            let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
            u[at] += 1.5 * (0.25 * (around + f[at]) - u[at]);
        }),
    )
}

fn main() -> tida::Result<()> {
    let acc = TileAcc::builder().device(Device::Cpu).build()?;
    let mut u = TileArray::<f64, 2>::builder([64, 128]).ghost(4).boundary(Boundary::Periodic).build(&acc)?;
    u.fill(|[j, i]| 0.25 + ((3 * j + i) % 11) as f64 / 20.0)?;
    u.fill_ghosts()?;
    let next = u.like()?;
    let mut pair = [next, u];
    for (name, kernel) in KERNELS {
        let text = kernel(&mut pair)?;
        let native =
            text.lines().skip_while(|line| *line != "processor").skip(1).take_while(|line| line.starts_with("  "));
        println!("{name}: {}", native.map(str::trim).collect::<Vec<_>>().join("; "));
    }
    red_black(&mut pair)?;
    // (`explain` knows `compute` alone.)
    println!("red_black: vectors of neighbours, of which every second one is stored");
    acc.sync()
}
