//! Ghost fill by the axis of the cuts.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tida::prelude::*;

const SIDE: usize = 256;

fn ghosts(c: &mut Criterion) {
    let mut group = c.benchmark_group("fill_ghosts 256^3 f64");
    group.sample_size(20);
    for regions in [[1, 1, 1], [8, 1, 1], [1, 8, 1], [1, 1, 4], [4, 4, 4]] {
        let array = || -> tida::Result<_> {
            let acc = TileAcc::auto()?;
            let mut u = TileArray::<f64, 3>::builder([SIDE; 3])
                .regions(regions)
                .ghost(1)
                .boundary(Boundary::Periodic)
                .build(&acc)?;
            u.fill(|[k, j, i]| (k + j + i) as f64)?;
            Ok(u)
        };
        let mut u = array().expect("the array can be built");
        group.bench_function(BenchmarkId::new("regions", format!("{regions:?}")), |b| {
            b.iter(|| {
                // Or there would be nothing to fill.
                u.write_box(GridBox::new([0; 3], [1; 3]), &[1.0]).expect("a cell can be written");
                u.fill_ghosts().expect("the fill is recorded");
                u.acc().sync().expect("the fill runs");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ghosts);
criterion_main!(benches);
