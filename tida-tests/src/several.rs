//! Programs on several places: which places, and what is compared.

use tida::SimDevice;
use tida::prelude::*;

/// Numbers that look random, the same each time.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }
}

/// The kinds of places, so many of each. Those of little memory have no room for all arrays of as many axes.
pub fn accelerators(places: usize, axes: usize) -> Vec<(String, TileAcc)> {
    let build = |name: &str, builder: tida::TileAccBuilder| (name.to_owned(), builder.build().unwrap());
    let named = |kind: &str| TileAcc::builder().devices([format!("{kind}:{places}")]).threads(2);
    let mut all = vec![
        build("cpu", named("cpu")),
        build("sim", named("sim")),
        build("sim, edges first", named("sim").edges_from(0)),
        build("sim, apart", named("sim").apart()),
        build("sim, apart, edges first", named("sim").apart().edges_from(0)),
        build("sim of little memory", named("sim").simulate(SimDevice::new()).memory_limit(48u64 << (10 + axes))),
        build("both", TileAcc::builder().devices((0..places).map(|n| ["sim", "cpu"][n % 2])).threads(2)),
    ];
    if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() {
        let devices = if two_opencl() { "0,1," } else { "0,0," };
        let list: String = devices.chars().cycle().take(2 * places - 1).collect();
        let named = || TileAcc::builder().devices([format!("opencl:{list}")]).threads(2);
        all.extend([build("opencl", named()), build("opencl, edges first", named().edges_from(0))]);
    }
    if std::env::var_os("TIDA_REQUIRE_CUDA").is_some() {
        let two = TileAcc::builder().device(Device::Cuda).cuda_device(1).build().is_ok();
        let list: String = if two { "0,1," } else { "0,0," }.chars().cycle().take(2 * places - 1).collect();
        let named = || TileAcc::builder().devices([format!("cuda:{list}")]).threads(2);
        all.extend([build("cuda", named()), build("cuda, edges first", named().edges_from(0))]);
        all.push(build("cuda, apart, edges first", named().apart().edges_from(0)));
    }
    all
}

/// Whether there are two OpenCL devices, as with `POCL_DEVICES="pthread pthread"`.
fn two_opencl() -> bool {
    TileAcc::builder().device(Device::OpenCl).opencl_device(1).build().is_ok()
}

/// The bits of numbers.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// A value that no other cell has.
pub fn value<const D: usize>(at: [usize; D], salt: usize) -> f64 {
    let n = at.iter().fold(salt + 1, |n, x| n.wrapping_mul(1009).wrapping_add(x + 7));
    (n % 100_003) as f64 / 256.0
}

/// The cells of an array, and all that each region's memory holds.
pub fn everything<const D: usize>(u: &TileArray<f64, D>) -> Vec<u64> {
    let mut all = bits(&u.read_box(u.domain()).unwrap());
    for region in 0..u.regions() {
        all.extend(bits(&u.read_grown_box(region, u.grown_box(region).unwrap()).unwrap()));
    }
    all
}

/// A step of heat: 7 points, from `u` to `next`, which then change places.
pub fn step(u: &mut TileArray<f64, 3>, next: &mut TileArray<f64, 3>) {
    u.fill_ghosts().unwrap();
    for tile in next.tiles() {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| {
                let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                next[at] = u[at] + 0.1 * (around + u[at - [0, 0, 1]] + u[at + [0, 0, 1]] - 6.0 * u[at]);
            }),
        )
        .unwrap();
    }
    std::mem::swap(u, next);
}
