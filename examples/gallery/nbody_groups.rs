//! Bodies that attract one another, over groups: each brings as many bodies as it has threads to where they share them,
//! one lot after the other (`FETCH_ONLY`, Lashgar §6.3.1 and Listing A.8). What the cache of ch. 5 makes of
//! [`nbody`](crate::nbody) by itself, by hand.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Example, Settings};

use crate::nbody::{SOFTENING, steps};
use crate::{Program, nbody};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "nbody_groups",
        about: "Bodies under gravity in groups of 64 bodies (sizes and regions of multiples of 64)",
        ..nbody::PROGRAM.example
    },
    small: "--size 512 --steps 3",
    input: false,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    let n = settings.shape[0];
    if !n.is_multiple_of(64) {
        Err(format!("tried to move {n} bodies in groups; found {n}, no multiple of 64; give one"))?;
    }
    steps(settings, |settings, pull, bodies| {
        let (strips, softening) = (bodies.shape()[0] as i64 / 64, SOFTENING);
        for tile in TileIter::new(pull).tile_size(settings.tile()?) {
            compute_groups(
                &tile,
                [64],
                (&mut *pull, all(bodies)),
                group_kernel!(|pull, bodies, group| {
                    let places = group.shared::<f32>([64, 3]);
                    let masses = group.shared::<f32>([64]);
                    let x = group.private(0.0);
                    let y = group.private(0.0);
                    let z = group.private(0.0);
                    for strip in 0..strips {
                        group.each(|t| {
                            let body = bodies[[strip * 64 + t[0]]];
                            places[[t[0], 0]] = body.x;
                            places[[t[0], 1]] = body.y;
                            places[[t[0], 2]] = body.z;
                            masses[t] = body.mass;
                        });
                        group.each(|t| {
                            let [i] = t.at();
                            let own = bodies[[i]];
                            for j in 0..64 {
                                let dx = places[[j, 0]] - own.x;
                                let dy = places[[j, 1]] - own.y;
                                let dz = places[[j, 2]] - own.z;
                                let square = dx * dx + dy * dy + dz * dz + softening;
                                let strength = masses[[j]] / (square * square.sqrt());
                                x += strength * dx;
                                y += strength * dy;
                                z += strength * dz;
                            }
                        });
                    }
                    group.each(|t| pull[t.at()] = [x, y, z]);
                }),
            )?;
        }
        Ok(())
    })
}
