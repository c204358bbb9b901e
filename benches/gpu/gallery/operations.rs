//! Operations one by one: to the device, back, reductions, a launch; on CUDA and on OpenCL (Lashgar Fig. 3.2 and 3.6).

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PinnedHostSlice, PushKernelArg};
use tida::Device;
use tida::prelude::*;
use tida_suite::Result;

use super::lines::held;
use super::{agree, by_hand, gpu, launch};
use crate::Bench;
use crate::cuda::{Gpu, upload};
use crate::heat::noise;
use crate::measure::{Output, Row, Side, Work, in_turn};

const ONE: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    CopyIn,
    CopyOut,
    Highest,
    Sum,
    Launch,
}

const OPERATIONS: [(Operation, &str); 5] = [
    (Operation::CopyIn, "copy in"),
    (Operation::CopyOut, "copy out"),
    (Operation::Highest, "highest"),
    (Operation::Sum, "sum"),
    (Operation::Launch, "launch"),
];

/// An array on one device of tida.
struct Tida {
    acc: TileAcc,
    array: TileArray<f32, 1>,
    one: TileArray<f32, 1>,
    found: f32,
}

impl Tida {
    fn new(device: Device, cells: usize) -> Result<Tida> {
        let acc = TileAcc::builder().device(device).compile(tida::Compile::Wait).build()?;
        let mut array = TileArray::<f32, 1>::builder([cells]).build(&acc)?;
        array.fill(|[i]| noise(i) as f32)?;
        let mut one = TileArray::<f32, 1>::builder([1]).build(&acc)?;
        one.fill(|_| 0.0)?;
        Ok(Tida { acc, array, one, found: 0.0 })
    }

    fn run(&mut self, operation: Operation, times: usize) -> Result<()> {
        let Tida { acc, array, one, found } = self;
        let first = GridBox::new([0], [1]);
        for _ in 0..times {
            match operation {
                // The host writes a cell, so the device needs the array again.
                Operation::CopyIn => {
                    array.write_box(first, &[0.25])?;
                    for tile in TileIter::new(one) {
                        compute(&tile, (&mut *one, all(array)), kernel!(|one, array, at| one[at] = array[[0]] * 2.0))?;
                    }
                    acc.sync()?;
                }
                // The device writes a cell, so the host needs the array again.
                Operation::CopyOut => {
                    for tile in TileIter::new(array).within([0], [1]) {
                        compute(&tile, (&mut *array, all(one)), kernel!(|array, one, at| array[at] = one[[0]] * 0.5))?;
                    }
                    *found = array.read_box(first)?[0];
                }
                Operation::Highest => *found = reduce(&*array, Max, kernel!(|array, at| array[at]))?,
                Operation::Sum => *found = reduce(&*array, Sum, kernel!(|array, at| array[at]))?,
                Operation::Launch => {
                    for tile in TileIter::new(one) {
                        compute(&tile, &mut *one, kernel!(|one, at| one[at] = one[at] * 0.5))?;
                    }
                    acc.sync()?;
                }
            }
        }
        Ok(())
    }
}

/// The same by hand, from pinned memory.
struct Hand<'a> {
    gpu: &'a Gpu,
    one: CudaFunction,
    highest: CudaFunction,
    sum: CudaFunction,
    array: CudaSlice<f32>,
    small: CudaSlice<f32>,
    bits: CudaSlice<i32>,
    host: PinnedHostSlice<f32>,
    found: f32,
}

impl Hand<'_> {
    fn run(&mut self, operation: Operation, times: usize) -> Result<()> {
        let stream = &self.gpu.stream;
        let groups = (self.array.len() / 4) as u32;
        for _ in 0..times {
            match operation {
                Operation::CopyIn => {
                    stream.memcpy_htod(&self.host, &mut self.array)?;
                    launch!(self.gpu, &self.one, ONE, &mut self.small, &self.array);
                    self.gpu.wait()?;
                }
                Operation::CopyOut => {
                    launch!(self.gpu, &self.one, ONE, &mut self.array, &self.small);
                    stream.memcpy_dtoh(&self.array, &mut self.host)?;
                    self.gpu.wait()?;
                }
                Operation::Highest => {
                    stream.memset_zeros(&mut self.bits)?;
                    launch!(self.gpu, &self.highest, held(), &self.array, &groups, &mut self.bits);
                    self.found = f32::from_bits(stream.clone_dtoh(&self.bits)?[0] as u32);
                }
                Operation::Sum => {
                    stream.memset_zeros(&mut self.small)?;
                    launch!(self.gpu, &self.sum, held(), &self.array, &groups, &mut self.small);
                    self.found = stream.clone_dtoh(&self.small)?[0];
                }
                Operation::Launch => {
                    launch!(self.gpu, &self.one, ONE, &mut self.small, &self.array);
                    self.gpu.wait()?;
                }
            }
        }
        Ok(())
    }
}

pub fn operations(bench: &Bench, output: &mut Output) -> Result<()> {
    let (gpu, kernels) = (gpu(bench)?, by_hand(gpu(bench)?)?);
    for cells in [1usize << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26] {
        let start: Vec<f32> = (0..cells).map(|i| noise(i) as f32).collect();
        let mut hand = Hand {
            gpu,
            one: kernels.get("one")?,
            highest: kernels.get("highest")?,
            sum: kernels.get("sum")?,
            array: upload(gpu, &start)?,
            small: gpu.stream.alloc_zeros(1)?,
            bits: gpu.stream.alloc_zeros(1)?,
            host: gpu.pinned(&start)?,
            found: 0.0,
        };
        for device in [Device::Cuda, Device::OpenCl] {
            let mut tida = match Tida::new(device, cells) {
                Ok(tida) => tida,
                Err(error) if device == Device::OpenCl => {
                    println!("not on OpenCL: {error}");
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (operation, name) in OPERATIONS {
                if operation == Operation::Launch && cells > 1 << 10 {
                    continue;
                }
                let case = format!("{name}, {cells} values, {}", device.name());
                tida.run(operation, 1)?;
                hand.run(operation, 1)?;
                let check = match operation {
                    Operation::Highest | Operation::Sum => agree(output, &case, &[tida.found], &[hand.found], 1e-4),
                    _ => String::new(),
                };
                let mut sides: [Side<'_>; 2] =
                    [Box::new(|times| hand.run(operation, times)), Box::new(|times| tida.run(operation, times))];
                let times = in_turn(bench.effort, &mut sides)?;
                drop(sides);
                let work = Work { case, check, cells, bytes: cells * size_of::<f32>() };
                output.row(&Row::new(&work, &times[1], Some(("by hand, CUDA", &times[0]))))?;
                // The sides differ in what they leave in the first cell.
                tida.array.write_box(GridBox::new([0], [1]), &start[..1])?;
                gpu.stream.memcpy_htod(&start[..1], &mut hand.array.slice_mut(..1))?;
            }
        }
    }
    Ok(())
}
