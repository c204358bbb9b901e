//! Whatever features there are: programs run on the CPU, and a device that is not in the build is an error that names
//! the feature.

use tida::prelude::*;

use tida_apart::on_cpu;

/// Heat on a torus by plain loops.
fn plain(steps: usize) -> Vec<f64> {
    let mut u: Vec<f64> = (0..24 * 40).map(|n| (n % 7) as f64).collect();
    for _ in 0..steps {
        u = (0..u.len())
            .map(|n| {
                let (j, i) = (n / 40, n % 40);
                let at = |j: usize, i: usize| u[(j % 24) * 40 + i % 40];
                let c = at(j, i);
                c + 0.1 * (at(j, i + 1) + at(j, i + 39) + at(j + 1, i) + at(j + 23, i) - 4.0 * c)
            })
            .collect();
    }
    u
}

#[test]
fn a_program_runs_without_any_feature() -> tida::Result<()> {
    let acc = on_cpu();
    let boundary = Boundary::Periodic;
    let mut u = TileArray::<f64, 2>::builder([24, 40]).regions([3, 1]).ghost(1).boundary(boundary).build(&acc)?;
    u.fill(|[j, i]| ((j * 40 + i) % 7) as f64)?;
    let mut next = u.like()?;
    let alpha = 0.1;
    for _ in 0..5 {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let c = u[at];
                    next[at] =
                        c + alpha * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]] - 4.0 * c);
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    assert_eq!(u.read_box(u.domain())?, plain(5));
    let most: f64 = reduce(&u, Max, kernel!(|u, at| u[at]))?;
    assert_eq!(most, plain(5).into_iter().fold(f64::MIN, f64::max));
    Ok(())
}

#[cfg(not(all(feature = "cuda", feature = "opencl")))]
#[test]
fn a_device_that_is_not_in_the_build_names_its_feature() {
    for (device, feature, built) in
        [(Device::Cuda, "cuda", cfg!(feature = "cuda")), (Device::OpenCl, "opencl", cfg!(feature = "opencl"))]
    {
        if !built {
            let parts =
                [&*format!("without its feature `{feature}`"), &format!("add \"{feature}\" to the features of tida")];
            tida_apart::expect(TileAcc::builder().device(device).build().map(drop), ErrorKind::Device, &parts);
        }
    }
    // What is chosen by itself is there.
    if cfg!(not(any(feature = "cuda", feature = "opencl"))) {
        assert_eq!(TileAcc::builder().build().map(|acc| acc.device()).ok(), Some(Device::Cpu));
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn the_crate_ndarray_is_there() -> tida::Result<()> {
    use tida::ndarray::{Array1, array};
    let u = TileArray::from_ndarray(&on_cpu(), &array![1.0, 2.0, 3.0].view())?;
    assert_eq!(u.to_ndarray()?, Array1::from(vec![1.0, 2.0, 3.0]));
    Ok(())
}

#[test]
fn an_error_says_what_it_came_from() -> tida::Result<()> {
    use std::error::Error as _;
    use std::io;
    let path = std::env::temp_dir().join("tida-no-such-file.npy");
    let mut u = TileArray::<f64, 1>::builder([8]).build(&on_cpu())?;
    let error = u.load_npy(&path).unwrap_err();
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::NotFound), "{error}");
    assert!(TileArray::<f64, 1>::builder([0]).build(&on_cpu()).unwrap_err().source().is_none());
    Ok(())
}
