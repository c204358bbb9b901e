//! Multigrid for Poisson's equation in a box, 0 around it, with arguments of half and double the resolution: a V-cycle
//! leaves a tenth of the residual at most, for cells and for nodes, of even and odd numbers. The bits are the same for
//! any cuts, on every device, and with a part of the memory.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.

mod grids;

use grids::{Grids, Places, Problem};
use tida::prelude::*;
use tida_tests::{everywhere, on_cpu, with_limit};

/// What a cycle may leave of the residual.
const LEFT: f64 = 0.1;

/// Runs cycles; gives the residual before the first and after each, and the solution.
fn solve(acc: &TileAcc, problem: &Problem, cycles: usize) -> tida::Result<(Vec<f64>, Vec<f64>)> {
    let mut grids = Grids::new(acc, problem)?;
    let mut residuals = vec![grids.residual()?];
    for _ in 0..cycles {
        grids.cycle()?;
        residuals.push(grids.residual()?);
    }
    let residuals = residuals.iter().map(Scalar::get).collect::<tida::Result<Vec<f64>>>()?;
    Ok((residuals.into_iter().map(f64::sqrt).collect(), grids.solution()?))
}

fn converges(shape: [usize; 3], places: Places) {
    let problem = Problem { shape, regions: [1; 3], places };
    let (residuals, _) = solve(&on_cpu(), &problem, 6).unwrap();
    let left: Vec<f64> = residuals.windows(2).map(|pair| pair[1] / pair[0]).collect();
    println!("{shape:?} {places:?}: {left:.3?}");
    assert!(left.iter().all(|left| *left <= LEFT), "{shape:?} {places:?}: {left:.3?}");
}

#[test]
fn cells_converge() {
    for shape in [[32, 32, 32], [31, 31, 31], [48, 33, 21], [45, 26, 37]] {
        converges(shape, Places::Cells);
    }
}

#[test]
fn nodes_converge() {
    for shape in [[33, 33, 33], [32, 32, 32], [49, 34, 22], [28, 45, 37]] {
        converges(shape, Places::Nodes);
    }
}

#[test]
fn the_bits_do_not_depend_on_where_and_how() {
    for (shape, places) in [([40, 12, 18], Places::Cells), ([33, 14, 17], Places::Nodes)] {
        let run = |acc: &TileAcc, regions: [usize; 3]| {
            let (residuals, solution) = solve(acc, &Problem { shape, regions, places }, 2).unwrap();
            residuals.into_iter().chain(solution).map(f64::to_bits).collect::<Vec<u64>>()
        };
        let expected = run(&on_cpu(), [1; 3]);
        for acc in everywhere() {
            for regions in [[1; 3], [4, 1, 1], [2, 2, 1]] {
                assert!(run(&acc, regions) == expected, "{shape:?} {places:?} {regions:?} {}", acc.device().name());
            }
        }
    }
}

#[test]
fn a_quarter_of_the_memory() {
    for (shape, places) in [([96, 20, 18], Places::Cells), ([97, 21, 17], Places::Nodes)] {
        for regions in [[6, 1, 1], [6, 2, 1]] {
            let problem = Problem { shape, regions, places };
            let (_, expected) = solve(&on_cpu(), &problem, 2).unwrap();
            let Some(acc) = with_limit(problem.bytes() / 4, 1000) else { return };
            let (_, found) = solve(&acc, &problem, 2).unwrap();
            assert!(found.iter().map(|x| x.to_bits()).eq(expected.iter().map(|x| x.to_bits())), "{problem:?}");
            assert!(acc.stats().passes > 0, "{problem:?} had room");
        }
    }
}
