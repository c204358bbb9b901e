//! Loops and choices of kernels beside what they do written out: on one thread, over cells that stay in its caches.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tida::prelude::*;

const CELLS: [usize; 2] = [128, 512];

/// Sweeps that are waited for together.
const SWEEPS: usize = 20;

type Array = TileArray<f64, 2>;

/// A form, and its sweeps.
type Form = (&'static str, fn(&mut Array, &Array) -> tida::Result<()>);

/// A loop that records the sweeps of a kernel.
macro_rules! form {
    ($name:literal, $kernel:expr) => {
        ($name, |next, u| {
            for _ in 0..SWEEPS {
                for tile in TileIter::new(u) {
                    compute(&tile, (&mut *next, u), $kernel)?;
                }
            }
            u.acc().sync()
        })
    };
}

const FIVE: &[Form] = &[
    form!(
        "written out",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            sum += u[at + [0, 2]];
            sum += u[at + [0, 1]];
            sum += u[at];
            sum += u[at - [0, 1]];
            sum += u[at - [0, 2]];
            next[at] = sum;
        })
    ),
    form!(
        "-2..=2",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for r in -2..=2 {
                sum += u[at + [0, r]];
            }
            next[at] = sum;
        })
    ),
    form!(
        "(-2..=2).rev()",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for r in (-2..=2).rev() {
                sum += u[at + [0, r]];
            }
            next[at] = sum;
        })
    ),
    form!(
        "[2, 1, 0, -1, -2]",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for r in [2, 1, 0, -1, -2] {
                sum += u[at + [0, r]];
            }
            next[at] = sum;
        })
    ),
];

const THREE: &[Form] = &[
    form!(
        "written out",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            sum += u[at - [0, 2]];
            sum += u[at];
            sum += u[at + [0, 2]];
            next[at] = sum;
        })
    ),
    form!(
        "(-2..=2).step_by(2)",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for r in (-2..=2).step_by(2) {
                sum += u[at + [0, r]];
            }
            next[at] = sum;
        })
    ),
    form!(
        "(-2..=2).rev().step_by(2)",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for r in (-2..=2).rev().step_by(2) {
                sum += u[at + [0, r]];
            }
            next[at] = sum;
        })
    ),
    form!(
        "[(0, -2), (0, 0), (0, 2)]",
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for (y, x) in [(0, -2), (0, 0), (0, 2)] {
                sum += u[at + [y, x]];
            }
            next[at] = sum;
        })
    ),
];

const CHOICES: &[Form] = &[
    form!(
        "if, else if",
        kernel!(|next, u, at| {
            let x = u[at] as i32;
            next[at] = if x == 0 {
                1.0
            } else if x < 4 {
                2.0 * u[at + [0, 1]]
            } else if x == 7 || x == 9 {
                0.25
            } else {
                u[at]
            };
        })
    ),
    form!(
        "match",
        kernel!(|next, u, at| {
            next[at] = match u[at] as i32 {
                0 => 1.0,
                ..=3 => 2.0 * u[at + [0, 1]],
                7 | 9 => 0.25,
                _ => u[at],
            };
        })
    ),
];

/// A star of this radius, by a loop that a constant bounds.
fn star<const R: usize>(next: &mut Array, u: &Array) -> tida::Result<()> {
    for _ in 0..SWEEPS {
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    let mut sum = u[at];
                    for r in 1..=R as i64 {
                        sum += u[at + [0, r]] + u[at - [0, r]] + (u[at + [r, 0]] + u[at - [r, 0]]);
                    }
                    next[at] = sum;
                }),
            )?;
        }
    }
    u.acc().sync()
}

const STAR_OF_FOUR: &[Form] = &[
    form!(
        "written out",
        kernel!(|next, u, at| {
            let mut sum = u[at];
            sum += u[at + [0, 1]] + u[at - [0, 1]] + (u[at + [1, 0]] + u[at - [1, 0]]);
            sum += u[at + [0, 2]] + u[at - [0, 2]] + (u[at + [2, 0]] + u[at - [2, 0]]);
            sum += u[at + [0, 3]] + u[at - [0, 3]] + (u[at + [3, 0]] + u[at - [3, 0]]);
            sum += u[at + [0, 4]] + u[at - [0, 4]] + (u[at + [4, 0]] + u[at - [4, 0]]);
            next[at] = sum;
        })
    ),
    ("1..=R as i64", star::<4>),
];

const STAR_OF_EIGHT: &[Form] = &[
    form!(
        "1..=8",
        kernel!(|next, u, at| {
            let mut sum = u[at];
            for r in 1..=8 {
                sum += u[at + [0, r]] + u[at - [0, r]] + (u[at + [r, 0]] + u[at - [r, 0]]);
            }
            next[at] = sum;
        })
    ),
    ("1..=R as i64", star::<8>),
];

fn sweeps(c: &mut Criterion, name: &str, forms: &[Form]) -> tida::Result<()> {
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).build()?;
    let mut u = Array::builder(CELLS).ghost(8).boundary(Boundary::Periodic).build(&acc)?;
    u.fill(|[j, i]| ((j * 7 + i * 3) % 11) as f64)?;
    u.fill_ghosts()?;
    let mut next = u.like()?;
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements((CELLS[0] * CELLS[1] * SWEEPS) as u64));
    for (form, run) in forms {
        group.bench_function(*form, |b| b.iter(|| run(&mut next, &u).expect("the sweeps run")));
    }
    group.finish();
    Ok(())
}

fn control(c: &mut Criterion) {
    let all = [
        ("sum of five cells", FIVE),
        ("sum of three cells", THREE),
        ("choice of four", CHOICES),
        ("star of radius 4", STAR_OF_FOUR),
        ("star of radius 8", STAR_OF_EIGHT),
    ];
    for (name, forms) in all {
        sweeps(c, name, forms).expect("the arrays can be built");
    }
}

criterion_group!(benches, control);
criterion_main!(benches);
