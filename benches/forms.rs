//! What each form of kernel costs, on the device that `TIDA_DEVICE` names: cells a second of sweeps over 2048² cells of
//! `f64` (4096² on a GPU). docs/KERNELS.md has the figures.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tida::prelude::*;

/// Sweeps that are waited for together.
const SWEEPS: usize = 8;

type Array = TileArray<f64, 2>;

/// What the kernels read and write.
struct Arrays {
    v: Array,
    u: Array,
    /// As `u`, in two regions along each axis, and in 32 bits a value.
    cut: Array,
    coded: Array,
    /// Half as many cells along each axis: in one region, and in four.
    coarse: Array,
    coarse_cut: Array,
    four: TileArray<[f64; 4], 2>,
    weights: Vec<f64>,
}

impl Arrays {
    fn new(acc: &TileAcc) -> tida::Result<Arrays> {
        let n = side(acc);
        let value = |[j, i]: [usize; 2]| 0.25 + ((7 * j + 3 * i) % 32) as f64 / 64.0;
        let builder = |n: usize| TileArray::<f64, 2>::builder([n, n]).ghost(2).boundary(Boundary::Periodic);
        let mut arrays = Arrays {
            v: builder(n).build(acc)?,
            u: builder(n).build(acc)?,
            cut: builder(n).regions([2, 2]).build(acc)?,
            coded: builder(n).storage(Format::F32).build(acc)?,
            coarse: builder(n / 2).build(acc)?,
            coarse_cut: builder(n / 2).regions([2, 2]).build(acc)?,
            four: TileArray::builder([n, n]).build(acc)?,
            weights: vec![0.5, 0.0625, 0.03125],
        };
        for array in [&mut arrays.u, &mut arrays.cut, &mut arrays.coded, &mut arrays.coarse, &mut arrays.coarse_cut] {
            array.fill(value)?;
            array.fill_ghosts()?;
        }
        arrays.four.fill(|at| [value(at); 4])?;
        Ok(arrays)
    }
}

/// Cells along each axis.
fn side(acc: &TileAcc) -> usize {
    if acc.device_name().is_some_and(|name| name.contains("NVIDIA")) { 4096 } else { 2048 }
}

/// Weights of a star by the distance of its cells.
const WEIGHTS: [f64; 3] = [0.5, 0.0625, 0.03125];

/// A form, and its sweeps.
type Form = (&'static str, fn(&mut Arrays) -> tida::Result<()>);

/// A loop that records the sweeps of a kernel over some of the arrays, `$args`, of which `v` is written.
macro_rules! form {
    ($name:literal, |$a:ident| $args:expr, $kernel:expr) => {
        ($name, |$a| {
            for _ in 0..SWEEPS {
                for tile in TileIter::new(&$a.v) {
                    compute(&tile, $args, $kernel)?;
                }
            }
            $a.v.acc().sync()
        })
    };
}

const AROUND: &[Form] = &[
    form!("one cell", |a| (&mut a.v, &a.u), kernel!(|v, u, at| v[at] = 2.0 * u[at])),
    form!(
        "star of 5, written out",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| v[at] =
            0.5 * u[at] + 0.125 * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]]))
    ),
    form!(
        "star of 9, a loop and a const table",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| {
            let mut s = WEIGHTS[0] * u[at];
            for r in 1..3 {
                s += WEIGHTS[r as usize] * (u[at + [0, r]] + u[at - [0, r]] + u[at + [r, 0]] + u[at - [r, 0]]);
            }
            v[at] = s;
        })
    ),
    ("star of 9, a captured radius and table(&weights)", |a| {
        let radius = a.weights.len() as i64 - 1;
        for _ in 0..SWEEPS {
            for tile in TileIter::new(&a.v) {
                compute(
                    &tile,
                    (&mut a.v, &a.u, table(&a.weights)),
                    kernel!(|v, u, w, at| {
                        let mut s = w[0] * u[at];
                        for r in 1..=radius {
                            s += w[r as usize] * (u[at + [0, r]] + u[at - [0, r]] + u[at + [r, 0]] + u[at - [r, 0]]);
                        }
                        v[at] = s;
                    }),
                )?;
            }
        }
        a.v.acc().sync()
    }),
    form!(
        "star of 5 of an array in 32 bits",
        |a| (&mut a.v, &a.coded),
        kernel!(|v, u, at| v[at] =
            0.5 * u[at] + 0.125 * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]]))
    ),
    form!(
        "four values a cell",
        |a| (&mut a.v, &a.four),
        kernel!(|v, f, at| v[at] = f[at][0] + f[at][1] * f[at][2] - f[at][3])
    ),
    form!(
        "if, on a value",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| {
            v[at] = if u[at] > 0.5 { u[at] * 3.0 } else { u[at] + 1.0 };
        })
    ),
    form!("square root and quotient", |a| (&mut a.v, &a.u), kernel!(|v, u, at| v[at] = u[at].sqrt() / (u[at] + 1.0))),
    form!("exponential", |a| (&mut a.v, &a.u), kernel!(|v, u, at| v[at] = u[at].exp())),
];

const LOOPS: &[Form] = &[
    form!(
        "loop of 32 turns",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| {
            let mut s = u[at];
            for k in 0..32 {
                s = s * 0.5 + k as f64;
            }
            v[at] = s;
        })
    ),
    form!(
        "the same by mul_add",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| {
            let mut s = u[at];
            for k in 0..32 {
                s = s.mul_add(0.5, k as f64);
            }
            v[at] = s;
        })
    ),
    form!(
        "loop of at[1] & 63 turns",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| {
            let mut s = u[at];
            for k in 0..(at[1] & 63) {
                s = s * 0.5 + k as f64;
            }
            v[at] = s;
        })
    ),
    form!(
        "while, 32 turns",
        |a| (&mut a.v, &a.u),
        kernel!(|v, u, at| {
            let mut s = u[at];
            let mut k = 0;
            while k < 32 {
                s = s * 0.5 + k as f64;
                k += 1;
            }
            v[at] = s;
        })
    ),
    form!(
        "row times column, 64 turns",
        |a| (&mut a.v, all(&a.u)),
        kernel!(|v, u, at| {
            let mut s = 0.0;
            for k in 0..64 {
                s += u[[at[0], k]] * u[[k, at[1]]];
            }
            v[at] = s;
        })
    ),
    form!(
        "the same of 2 x 2 regions",
        |a| (&mut a.v, all(&a.cut)),
        kernel!(|v, u, at| {
            let mut s = 0.0;
            for k in 0..64 {
                s += u[[at[0], k]] * u[[k, at[1]]];
            }
            v[at] = s;
        })
    ),
];

const ELSEWHERE: &[Form] = &[
    form!(
        "a quotient as index",
        |a| (&mut a.v, all(&a.coarse)),
        kernel!(|v, e, at| {
            v[at] = e[[at[0] / 2, at[1] / 2]];
        })
    ),
    form!(
        "the same of 2 x 2 regions",
        |a| (&mut a.v, all(&a.coarse_cut)),
        kernel!(|v, e, at| {
            v[at] = e[[at[0] / 2, at[1] / 2]];
        })
    ),
    form!(
        "the next cell, held by min",
        |a| (&mut a.v, all(&a.coarse)),
        kernel!(|v, e, at| {
            v[at] = e[[(at[0] / 2 + 1).min(1023), (at[1] / 2 + 1).min(1023)]];
        })
    ),
    form!(
        "an index that a cell says",
        |a| (&mut a.v, &a.u, all(&a.coarse)),
        kernel!(|v, u, e, at| {
            v[at] = e[[at[0] / 2, (u[at] * 64.0) as i64]];
        })
    ),
    form!(
        "the same, held by clamp",
        |a| (&mut a.v, &a.u, all(&a.coarse)),
        kernel!(|v, u, e, at| {
            v[at] = e[[at[0] / 2, ((u[at] * 64.0) as i64).clamp(0, 63)]];
        })
    ),
];

fn sweeps(c: &mut Criterion, name: &str, forms: &[Form]) {
    let acc = TileAcc::auto().expect("there is a device");
    let mut arrays = Arrays::new(&acc).expect("the arrays can be built");
    let mut group = c.benchmark_group(format!("{name}, {}", acc.device_name().unwrap_or("CPU")));
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements((side(&acc).pow(2) * SWEEPS) as u64));
    for (name, sweeps) in forms {
        // What runs needs to be compiled; and what cannot run is told.
        sweeps(&mut arrays).expect("the sweeps run");
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| sweeps(&mut arrays).expect("the sweeps run"))
        });
    }
    group.finish();
}

fn forms(c: &mut Criterion) {
    sweeps(c, "around the cell", AROUND);
    sweeps(c, "loops in the cell", LOOPS);
    sweeps(c, "elsewhere", ELSEWHERE);
}

criterion_group!(benches, forms);
criterion_main!(benches);
