//! Ways to find what the threads of a block share, and where it is fetched from (Lashgar Fig. 5.5 and 5.6), all by
//! hand: why tida's tiles have a fixed width, and why each thread finds its own places.

use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};
use tida_suite::Result;

use super::{agree, gpu, launch};
use crate::Bench;
use crate::cuda::{Flags, cover, upload};
use crate::heat::noise;
use crate::measure::{Output, Row, Side, Work, in_turn};

/// Values of WIDTH and SCOPE.
const WIDTHS: [&str; 3] = ["fixed", "from arguments", "agreed on"];
const SCOPES: [&str; 2] = ["private", "communicating"];

pub fn sharing(bench: &Bench, output: &mut Output) -> Result<()> {
    let gpu = gpu(bench)?;
    let source = include_str!("../../reference/sharing.cu");
    let n = 4 * bench.size;
    let slice =
        |from: usize, count: usize| upload(gpu, &(0..count).map(|at| noise(from + at) as f32).collect::<Vec<_>>());
    let (a, b) = (slice(0, n * n)?, slice(n * n, n * n)?);
    let mut c = gpu.stream.alloc_zeros::<f32>(n * n)?;
    let count = 128 * bench.size;
    let bodies = slice(0, 4 * count)?;
    let mut planes = gpu.stream.alloc_zeros::<f32>(3 * count)?;
    let gemm = gpu.compile(include_str!("../../reference/gemm.cu"), Flags::Exact, &[])?.load_function("gemm")?;
    let nbody = gpu.compile(include_str!("../../reference/nbody.cu"), Flags::Exact, &[])?.load_function("nbody")?;
    let (length, bodies_of, softening) = (n as i32, count as i32, 0.01f32);
    let product = |of: &CudaFunction, c: &mut CudaSlice<f32>, steps: usize| -> Result<()> {
        for _ in 0..steps {
            launch!(gpu, of, cover([n, n, 1], [32, 32, 1]), &mut *c, &a, &b, &length);
        }
        gpu.wait()
    };
    let pulls = |of: &CudaFunction, planes: &mut CudaSlice<f32>, steps: usize| -> Result<()> {
        for _ in 0..steps {
            launch!(gpu, of, cover([count, 1, 1], [256, 1, 1]), &mut *planes, &bodies, &bodies_of, &softening);
        }
        gpu.wait()
    };
    product(&gemm, &mut c, 1)?;
    let sums = gpu.stream.clone_dtoh(&c)?;
    pulls(&nbody, &mut planes, 1)?;
    let forces = gpu.stream.clone_dtoh(&planes)?;
    for (width, width_name) in WIDTHS.iter().enumerate() {
        for (scope, scope_name) in SCOPES.iter().enumerate() {
            let definitions = [format!("-DWIDTH={width}"), format!("-DSCOPE={scope}")];
            let definitions = definitions.each_ref().map(String::as_str);
            let module = gpu.compile(source, Flags::Exact, &definitions)?;
            let (tiled, pulled) = (module.load_function("product")?, module.load_function("pulls")?);
            let way = format!("width {width_name}, scope {scope_name}");

            let case = format!("gemm {n}^2 by hand, {way}");
            product(&tiled, &mut c, 1)?;
            let check = agree(output, &case, &gpu.stream.clone_dtoh(&c)?, &sums, 0.0);
            let target = std::cell::RefCell::new(&mut c);
            let mut sides: [Side<'_>; 2] = [
                Box::new(|steps| product(&gemm, &mut target.borrow_mut(), steps)),
                Box::new(|steps| product(&tiled, &mut target.borrow_mut(), steps)),
            ];
            let times = in_turn(bench.effort, &mut sides)?;
            drop(sides);
            let work = Work { case, check, cells: n.pow(3), bytes: 12 * n * n };
            output.row(&Row::new(&work, &times[1], Some(("no tiles, by hand", &times[0]))))?;

            let case = format!("nbody {count} by hand, {way}");
            pulls(&pulled, &mut planes, 1)?;
            let check = agree(output, &case, &gpu.stream.clone_dtoh(&planes)?, &forces, 0.0);
            let target = std::cell::RefCell::new(&mut planes);
            let mut sides: [Side<'_>; 2] = [
                Box::new(|steps| pulls(&nbody, &mut target.borrow_mut(), steps)),
                Box::new(|steps| pulls(&pulled, &mut target.borrow_mut(), steps)),
            ];
            let times = in_turn(bench.effort, &mut sides)?;
            drop(sides);
            let work = Work { case, check, cells: count.pow(2), bytes: 28 * count };
            output.row(&Row::new(&work, &times[1], Some(("no tiles, by hand", &times[0]))))?;
        }
    }
    Ok(())
}
