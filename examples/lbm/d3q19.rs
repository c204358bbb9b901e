//! The lattice Boltzmann method in three axes with 19 velocities (D3Q19), collisions after Bhatnagar, Gross and Krook.
//!
//! A cell holds `f - w` for each of its populations `f`, where `w` is what it has in a fluid of density 1 at rest. Such
//! differences are small and their halves are precise (Lehmann et al. 2022, Phys. Rev. E 106, 015308, §III).

use tida::prelude::*;
use tida_suite::Result;

/// The populations of a cell: the first rests, then come pairs of opposite velocities.
pub type Populations<T> = [T; 19];

/// Cells along `[z, y, x]` that a population moves in a step.
pub const VELOCITIES: [[i64; 3]; 19] = [
    [0, 0, 0],
    [0, 0, 1],
    [0, 0, -1],
    [0, 1, 0],
    [0, -1, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 1],
    [0, -1, -1],
    [0, -1, 1],
    [0, 1, -1],
    [1, 0, 1],
    [-1, 0, -1],
    [-1, 0, 1],
    [1, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [-1, 1, 0],
    [1, -1, 0],
];

/// The share of the fluid's density that a population has at rest.
pub fn weight(population: usize) -> f64 {
    match population {
        0 => 1.0 / 3.0,
        1..7 => 1.0 / 18.0,
        _ => 1.0 / 36.0,
    }
}

/// Halves of the populations are kept over this scale (FP16S of the paper): their range is then -2 to 2.
pub const SCALE: f64 = 1.0 / 32768.0;

/// What two populations of opposite velocities become. `base` is what their equilibria share, but for the weight;
/// `along` is the fluid's velocity along the first one's.
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

/// The populations after a collision, which brings each nearer to its equilibrium: all of the way if `omega` is 1.
#[kernel_fn]
fn collided<T: Real>(f: [T; 19], omega: T) -> [T; 19] {
    let resting = f[0] + (f[1] + f[2]) + (f[3] + f[4]) + (f[5] + f[6]);
    let across = (f[7] + f[8]) + (f[9] + f[10]) + (f[11] + f[12]) + (f[13] + f[14]) + (f[15] + f[16]) + (f[17] + f[18]);
    // The density but for the 1 that it has at rest.
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

/// One step: each cell pulls the populations that move to it from its neighbours, and they collide.
///
/// # Errors
/// As `compute`'s.
pub fn step<T: Real>(
    f: &TileArray<Populations<T>, 3>,
    next: &mut TileArray<Populations<T>, 3>,
    tile_size: [usize; 3],
    omega: T,
) -> Result<()> {
    for tile in TileIter::new(f).tile_size(tile_size) {
        compute(
            &tile,
            (&mut *next, f),
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
            }),
        )?;
    }
    Ok(())
}

/// A cell of a vortex of Taylor and Green in the plane of z and x of a box of `n` cells along each axis: the fluid's
/// density and velocity are those of its equilibrium, and the stress is that of a fluid that collides with `omega`.
pub fn vortex<T: Real>(n: usize, speed: f64, omega: f64, [z, _, x]: [usize; 3]) -> Populations<T> {
    let wave = std::f64::consts::TAU / n as f64;
    let (z, x) = (wave * (z as f64 + 0.5), wave * (x as f64 + 0.5));
    // A third of the density is the pressure.
    let over = -0.75 * speed * speed * ((2.0 * x).cos() + (2.0 * z).cos());
    let velocity = [-speed * x.sin() * z.cos(), 0.0, speed * x.cos() * z.sin()];
    // The fluid parts along z and comes together along x.
    let stretch = speed * wave * x.sin() * z.sin();
    let squared: f64 = velocity.iter().map(|v| v * v).sum();
    std::array::from_fn(|n| {
        let [cz, cy, cx] = VELOCITIES[n].map(|c| c as f64);
        let along = cz * velocity[0] + cy * velocity[1] + cx * velocity[2];
        let equilibrium = over + (1.0 + over) * (3.0 * along + 4.5 * along * along - 1.5 * squared);
        let stress = -3.0 / omega * (1.0 + over) * stretch * (cz * cz - cx * cx);
        T::of(weight(n) * (equilibrium + (1.0 - omega) * stress))
    })
}
