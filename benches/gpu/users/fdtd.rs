//! Maxwell's equations in two dimensions, as Polybench's fdtd-2d has them: three sweeps a step.

use cudarc::driver::PushKernelArg;
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::{About, ByHand, CHECKED, Hand, Layout, Program, Way, contest};
use crate::Bench;
use crate::cuda::{Flags, Gpu, upload};
use crate::heat::noise;
use crate::measure::Output;

const SOURCE: &str = include_str!("../../reference/fdtd.cu");

/// What the first row of `ey` is in each step.
const SENT: f64 = 0.5;

/// Value `c` of a field.
fn start(field: usize, c: usize) -> f64 {
    noise(c.wrapping_mul(3).wrapping_add(field))
}

/// The fields on a square grid.
struct Fields {
    ex: TileArray<f64, 2>,
    ey: TileArray<f64, 2>,
    hz: TileArray<f64, 2>,
}

impl Fields {
    fn new(bench: &Bench, n: usize) -> Result<Fields> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut ex = TileArray::<f64, 2>::builder([n, n]).build(&acc)?;
        let (mut ey, mut hz) = (ex.like()?, ex.like()?);
        for (field, array) in [&mut ex, &mut ey, &mut hz].into_iter().enumerate() {
            array.fill(|[j, i]| start(field, j * n + i))?;
        }
        Ok(Fields { ex, ey, hz })
    }

    fn step(&mut self) -> tida::Result<()> {
        let Fields { ex, ey, hz } = self;
        let n = ex.shape()[0] as i64;
        for tile in TileIter::new(ey).within([0, 0], [1, n]) {
            compute(&tile, &mut *ey, kernel!(|ey, at| ey[at] = SENT))?;
        }
        for tile in TileIter::new(ey).within([1, 0], [n, n]) {
            compute(&tile, (&mut *ey, &*hz), kernel!(|ey, hz, at| ey[at] = ey[at] - 0.5 * (hz[at] - hz[at - [1, 0]])))?;
        }
        for tile in TileIter::new(ex).within([0, 1], [n, n]) {
            compute(&tile, (&mut *ex, &*hz), kernel!(|ex, hz, at| ex[at] = ex[at] - 0.5 * (hz[at] - hz[at - [0, 1]])))?;
        }
        for tile in TileIter::new(hz).within([0, 0], [n - 1, n - 1]) {
            compute(
                &tile,
                (&mut *hz, &*ex, &*ey),
                kernel!(|hz, ex, ey, at| {
                    hz[at] = hz[at] - 0.7 * (ex[at + [0, 1]] - ex[at] + ey[at + [1, 0]] - ey[at]);
                }),
            )?;
        }
        Ok(())
    }
}

impl Program<f64> for Fields {
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.step()?;
        }
        Ok(self.hz.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<Vec<f64>>> {
        [&self.ex, &self.ey, &self.hz].iter().map(|array| Ok(array.read_box(array.domain())?)).collect()
    }
}

pub fn fdtd(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 16 * bench.size;
    let cells = n * n;
    // The sweeps of `ey` and `ex` read two arrays and write one, that of `hz` reads three.
    let about = About {
        case: format!("fdtd f64 {n}^2"),
        cells,
        bytes: 10 * cells * size_of::<f64>(),
        of_copy: Some(0.85),
        of_hand: Some(0.97),
    };
    let mut tida = Fields::new(bench, n)?;
    let hand = bench.gpu.as_ref().map(|gpu| by_hand(gpu, n)).transpose()?.flatten();
    contest((bench, output), &about, &mut tida, hand, || plain(n)).map(drop)
}

fn by_hand(gpu: &Gpu, n: usize) -> Result<ByHand<'_, f64>> {
    let module = gpu.compile(SOURCE, Flags::Exact, &[])?;
    let mut ways = Vec::new();
    for block in [[32, 8, 1], [64, 4, 1], [128, 2, 1], [128, 4, 1], [256, 1, 1], [512, 1, 1]] {
        for depth in [1, 2, 4, 8, 16] {
            ways.push(Way::new(&module, &["fdtd_ey", "fdtd_ex", "fdtd_hz"], block, depth)?);
        }
    }
    let array = |field: usize| upload(gpu, &(0..n * n).map(|c| start(field, c)).collect::<Vec<_>>());
    let arrays = vec![array(0)?, array(1)?, array(2)?];
    let length = n as i32;
    let step: super::Step<'_, f64> = Box::new(move |way, arrays| {
        let [ex, ey, hz] = arrays else { return Ok(()) };
        let config = way.cover([n, n.div_ceil(way.depth), 1]);
        let depth = way.depth as i32;
        let mut launch = gpu.stream.launch_builder(&way.functions[0]);
        launch.arg(&mut *ey).arg(&*hz).arg(&length).arg(&depth).arg(&SENT);
        // SAFETY: the arguments are those of the kernel, over arrays of `n` rows of `n`.
        unsafe { launch.launch(config)? };
        let mut launch = gpu.stream.launch_builder(&way.functions[1]);
        launch.arg(&mut *ex).arg(&*hz).arg(&length).arg(&depth);
        // SAFETY: as above.
        unsafe { launch.launch(config)? };
        let mut launch = gpu.stream.launch_builder(&way.functions[2]);
        launch.arg(&mut *hz).arg(&*ex).arg(&*ey).arg(&length).arg(&depth);
        // SAFETY: as above.
        unsafe { launch.launch(config)? };
        Ok(())
    });
    Ok(Some((Hand::new(gpu, Layout::square::<f64>(n), arrays, &[0, 1, 2], step)?, ways)))
}

/// The same by plain loops.
fn plain(n: usize) -> Vec<Vec<f64>> {
    let [mut ex, mut ey, mut hz] = [0, 1, 2].map(|field| (0..n * n).map(|c| start(field, c)).collect::<Vec<_>>());
    for _ in 0..CHECKED {
        ey[..n].fill(SENT);
        for c in n..n * n {
            ey[c] -= 0.5 * (hz[c] - hz[c - n]);
        }
        for c in (0..n * n).filter(|c| c % n > 0) {
            ex[c] -= 0.5 * (hz[c] - hz[c - 1]);
        }
        for c in (0..n * (n - 1)).filter(|c| c % n < n - 1) {
            hz[c] -= 0.7 * (ex[c + 1] - ex[c] + ey[c + n] - ey[c]);
        }
    }
    vec![ex, ey, hz]
}
