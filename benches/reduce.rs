//! Reductions: of an array, and of an expression of two.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tida::prelude::*;

const SIDE: usize = 256;

fn reductions(c: &mut Criterion) {
    let arrays = || -> tida::Result<_> {
        let acc = TileAcc::auto()?;
        let mut u = TileArray::<f64, 3>::builder([SIDE; 3]).regions([4, 1, 1]).build(&acc)?;
        u.fill(|[k, j, i]| ((k * 7 + j * 5 + i * 3) % 11) as f64)?;
        let mut v = u.like()?;
        v.fill(|[k, j, i]| ((k + j + i) % 13) as f64)?;
        Ok((u, v))
    };
    let (u, v) = arrays().expect("the arrays can be built");
    let values = vec![1.5f64; SIDE.pow(3)];

    let mut group = c.benchmark_group("reduce 256^3 f64");
    group.sample_size(20).throughput(Throughput::Elements(SIDE.pow(3) as u64));
    group.bench_function("sum", |b| {
        b.iter(|| reduce(&u, Sum, kernel!(|u, at| u[at])).expect("the sum runs"));
    });
    group.bench_function("largest difference of two", |b| {
        b.iter(|| reduce((&u, &v), Max, kernel!(|u, v, at| (u[at] - v[at]).abs())).expect("the maximum runs"));
    });
    group.bench_function("a plain loop's sum, one thread", |b| {
        b.iter(|| std::hint::black_box(&values).iter().sum::<f64>());
    });
    group.finish();
}

criterion_group!(benches, reductions);
criterion_main!(benches);
