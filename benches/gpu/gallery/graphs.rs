//! A search over a graph, and a network that learns.

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::breakdown::{Ends, Table, Whole};
use super::{About, ByHand, Twin, compare, gpu, launch};
use crate::Bench;
use crate::cuda::{Gpu, Part, cover, upload};
use crate::heat::noise;
use crate::measure::Output;

pub fn run(bench: &Bench, kernels: &ByHand, output: &mut Output) -> Result<()> {
    let n = 1 << 20;
    let about = About { name: &format!("bfs {n} nodes, a search"), cells: n, bytes: 32 * n, apart: 0.0 };
    compare(bench, output, about, &mut Search::new(bench, kernels, n)?)?;
    let inputs = (1 << 16) + 1;
    let bytes = 5 * HIDDEN * inputs * size_of::<f32>();
    let about = About { name: &format!("backprop {inputs} inputs"), cells: HIDDEN * inputs, bytes, apart: 1e-3 };
    compare(bench, output, about, &mut Network::new(bench, kernels, inputs)?)
}

/// From the host to the host, for [`super::breakdown`].
pub fn wholes(bench: &Bench, kernels: &ByHand, table: &mut Table<'_>) -> Result<()> {
    let n = 1 << 20;
    table.program(&format!("bfs {n} nodes"), 1, 0.0, || Search::new(bench, kernels, n))?;
    let inputs = (1 << 16) + 1;
    table.program(&format!("backprop {inputs} inputs"), 1, 1e-3, || Network::new(bench, kernels, inputs))
}

/// Children of a node.
const CHILDREN: usize = 4;

fn child(n: usize, node: usize, k: usize) -> usize {
    let draw = (noise(node * CHILDREN + k) * 1e9) as usize;
    let width = if draw.is_multiple_of(997) { n } else { n.min(20_000) };
    (node + n + draw / 997 % width - width / 4) % n
}

/// Depths of all nodes below node 0: tida's pull, and Rodinia's push.
struct Search<'a> {
    gpu: &'a Gpu,
    kernels: [CudaFunction; 2],
    acc: TileAcc,
    /// Where each node's parents start, and the parents.
    parents: [TileArray<i32, 1>; 2],
    level: [TileArray<i32, 1>; 2],
    children: [CudaSlice<i32>; 2],
    marks: [CudaSlice<u8>; 3],
    depths: CudaSlice<i32>,
    /// Depths before a search.
    start: CudaSlice<i32>,
    more: CudaSlice<i32>,
    n: usize,
}

impl<'a> Search<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, n: usize) -> Result<Search<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let to: Vec<i32> = (0..n * CHILDREN).map(|e| child(n, e / CHILDREN, e % CHILDREN) as i32).collect();
        let starts: Vec<i32> = (0..=n).map(|node| (node * CHILDREN) as i32).collect();
        let mut edges: Vec<(i32, i32)> = to.iter().enumerate().map(|(e, to)| (*to, (e / CHILDREN) as i32)).collect();
        edges.sort_unstable();
        let mut offsets = vec![0; n + 1];
        edges.iter().for_each(|(to, _)| offsets[*to as usize + 1] += 1);
        (0..n).for_each(|node| offsets[node + 1] += offsets[node]);
        let from: Vec<i32> = edges.iter().map(|(_, from)| *from).collect();
        let array = |values: &[i32]| -> Result<TileArray<i32, 1>> {
            let mut array = TileArray::builder([values.len()]).build(&acc)?;
            array.write_box(array.domain(), values)?;
            Ok(array)
        };
        let zeros = || gpu.stream.alloc_zeros::<u8>(n);
        Ok(Search {
            gpu,
            kernels: [kernels.get("push")?, kernels.get("move_on")?],
            parents: [array(&offsets)?, array(&from)?],
            level: [array(&vec![-1; n])?, array(&vec![-1; n])?],
            children: [upload(gpu, &starts)?, upload(gpu, &to)?],
            marks: [zeros()?, zeros()?, zeros()?],
            depths: gpu.stream.alloc_zeros(n)?,
            start: upload(gpu, &(0..n).map(|node| if node == 0 { 0 } else { -1 }).collect::<Vec<i32>>())?,
            more: gpu.stream.alloc_zeros(1)?,
            acc,
            n,
        })
    }
}

impl Twin for Search<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let Search { level: [level, next], parents: [first, parents], .. } = self;
        for _ in 0..steps {
            for tile in TileIter::new(level) {
                compute(&tile, &mut *level, kernel!(|level, at| level[at] = if at[0] == 0 { 0 } else { -1 }))?;
            }
            let mut reached: Option<Scalar<i32>> = None;
            for depth in 0.. {
                for tile in TileIter::new(next) {
                    compute(
                        &tile,
                        (&mut *next, all(level), all(first), all(parents)),
                        kernel!(|next, level, first, parents, at| {
                            let mut found = level[at];
                            if found < 0 {
                                let end = first[at + [1]];
                                let mut edge = first[at];
                                while found < 0 && edge < end {
                                    if level[[parents[[edge as i64]] as i64]] == depth {
                                        found = depth + 1;
                                    }
                                    edge += 1;
                                }
                            }
                            next[at] = found;
                        }),
                    )?;
                }
                std::mem::swap(level, next);
                let new = reduce_later((&*level, &*next), Max, kernel!(|level, next, at| level[at] - next[at]))?;
                if let Some(old) = reached.replace(new)
                    && old.get()? == 0
                {
                    break;
                }
            }
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let (stream, count) = (&self.gpu.stream, self.n as u32);
        let ([front, reached, seen], [starts, to]) = (&mut self.marks, &self.children);
        let config = cover([self.n, 1, 1], [256, 1, 1]);
        for _ in 0..steps {
            self.gpu.marked(Part::Kernels, || stream.memcpy_dtod(&self.start, &mut self.depths))?;
            for marks in [&mut *front, &mut *reached, &mut *seen] {
                self.gpu.marked(Part::Kernels, || stream.memset_zeros(marks))?;
            }
            self.gpu.marked(Part::Link, || stream.memcpy_htod(&[1], &mut front.slice_mut(..1)))?;
            self.gpu.marked(Part::Link, || stream.memcpy_htod(&[1], &mut seen.slice_mut(..1)))?;
            loop {
                self.gpu.marked(Part::Kernels, || stream.memset_zeros(&mut self.more))?;
                let depths = &mut self.depths;
                launch!(
                    self.gpu,
                    &self.kernels[0],
                    config,
                    starts,
                    to,
                    &mut *front,
                    &mut *reached,
                    &*seen,
                    depths,
                    &count
                );
                launch!(
                    self.gpu,
                    &self.kernels[1],
                    config,
                    &mut *front,
                    &mut *reached,
                    &mut *seen,
                    &mut self.more,
                    &count
                );
                if self.gpu.marked(Part::Link, || stream.clone_dtoh(&self.more))?[0] == 0 {
                    break;
                }
            }
        }
        self.gpu.wait()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let level = &self.level[0];
        let (found, by_hand) = (level.read_box(level.domain())?, self.gpu.stream.clone_dtoh(&self.depths)?);
        Ok([found, by_hand].map(|levels| levels.into_iter().map(|level| level as f32).collect()))
    }
}

/// Hidden units.
const HIDDEN: usize = 16;

#[kernel_fn]
fn squash(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum).exp())
}

/// A network of three layers that learns one pattern.
struct Network<'a> {
    gpu: &'a Gpu,
    kernels: [CudaFunction; 3],
    acc: TileAcc,
    /// Weights and changes of the first layer.
    first: [TileArray<f32, 2>; 2],
    /// Weights and changes of the last one, hidden units, errors, inputs, the output.
    lines: [TileArray<f32, 1>; 6],
    /// Weights, changes; those of the last layer; errors, output, inputs, sums.
    slices: [CudaSlice<f32>; 8],
    inputs: usize,
}

impl<'a> Network<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, inputs: usize) -> Result<Network<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let weight = |at: usize| ((noise(at) - 0.5) / (inputs as f64).sqrt()) as f32;
        let input = |i: usize| if i == 0 { 1.0 } else { noise(7 * i) as f32 };
        let last = |unit: usize| noise(unit) as f32 - 0.5;
        let line = |values: Vec<f32>| -> Result<TileArray<f32, 1>> {
            let mut line = TileArray::builder([values.len()]).build(&acc)?;
            line.write_box(line.domain(), &values)?;
            Ok(line)
        };
        let all = |count: usize, of: &dyn Fn(usize) -> f32| (0..count).map(of).collect::<Vec<f32>>();
        let mut weights = TileArray::<f32, 2>::builder([HIDDEN, inputs]).build(&acc)?;
        weights.fill(|[unit, i]| weight(unit * inputs + i))?;
        let mut changes = weights.like()?;
        changes.fill(|_| 0.0)?;
        let zeros = |count: usize| gpu.stream.alloc_zeros::<f32>(count);
        Ok(Network {
            gpu,
            kernels: [kernels.get("forward")?, kernels.get("units")?, kernels.get("adjust")?],
            first: [weights, changes],
            lines: [
                line(all(HIDDEN, &last))?,
                line(vec![0.0; HIDDEN])?,
                line(vec![0.0; HIDDEN])?,
                line(vec![0.0; HIDDEN])?,
                line(all(inputs, &input))?,
                line(vec![0.0])?,
            ],
            slices: [
                upload(gpu, &all(HIDDEN * inputs, &weight))?,
                zeros(HIDDEN * inputs)?,
                upload(gpu, &all(HIDDEN, &last))?,
                zeros(HIDDEN)?,
                zeros(HIDDEN)?,
                zeros(1)?,
                upload(gpu, &all(inputs, &input))?,
                zeros(HIDDEN)?,
            ],
            acc,
            inputs,
        })
    }
}

impl Twin for Network<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let [weights, changes] = &mut self.first;
        let [last_weights, last_changes, hidden, errors, x, output] = &mut self.lines;
        for _ in 0..steps {
            for unit in 0..HIDDEN as i64 {
                let row = GridBox::new([unit, 0], [unit + 1, self.inputs as i64]);
                let sum = reduce_over_later(row, (&*weights, all(x)), Sum, kernel!(|w, x, at| w[at] * x[[at[1]]]))?;
                for tile in TileIter::new(hidden).within([unit], [unit + 1]) {
                    compute(&tile, &mut *hidden, kernel!(|hidden, at| hidden[at] = squash(sum)))?;
                }
            }
            let sum = reduce_later((&*last_weights, &*hidden), Sum, kernel!(|w, hidden, at| w[at] * hidden[at]))?;
            for tile in TileIter::new(output) {
                compute(&tile, &mut *output, kernel!(|output, at| output[at] = squash(sum)))?;
            }
            for tile in TileIter::new(hidden) {
                compute(
                    &tile,
                    (&mut *last_weights, &mut *last_changes, &mut *errors, &*hidden, all(output)),
                    kernel!(|weight, change, error, hidden, output, at| {
                        let (w, h, out) = (weight[at], hidden[at], output[[0]]);
                        let wrong = out * (1.0 - out) * (0.1 - out);
                        error[at] = h * (1.0 - h) * (wrong * w);
                        let c = 0.3 * wrong * h + 0.3 * change[at];
                        change[at] = c;
                        weight[at] = w + c;
                    }),
                )?;
            }
            for tile in TileIter::new(weights) {
                compute(
                    &tile,
                    (&mut *weights, &mut *changes, all(errors), all(x)),
                    kernel!(|weight, change, error, x, at| {
                        let c = 0.3 * error[[at[0]]] * x[[at[1]]] + 0.3 * change[at];
                        change[at] = c;
                        weight[at] = weight[at] + c;
                    }),
                )?;
            }
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let inputs = self.inputs as u32;
        let [weights, changes, last_weights, last_changes, errors, output, x, sums] = &mut self.slices;
        let rows = |blocks: u32| LaunchConfig {
            grid_dim: (blocks, HIDDEN as u32, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let warp = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        for _ in 0..steps {
            self.gpu.marked(Part::Kernels, || self.gpu.stream.memset_zeros(&mut *sums))?;
            launch!(self.gpu, &self.kernels[0], rows(32), &*weights, &*x, &inputs, &mut *sums);
            launch!(
                self.gpu,
                &self.kernels[1],
                warp,
                &*sums,
                &mut *last_weights,
                &mut *last_changes,
                &mut *errors,
                &mut *output
            );
            let blocks = self.inputs.div_ceil(256) as u32;
            launch!(self.gpu, &self.kernels[2], rows(blocks), &mut *weights, &mut *changes, &*errors, &*x, &inputs);
        }
        self.gpu.wait()
    }

    /// The weights of both layers.
    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let ([first, _], [last, ..], stream) = (&self.first, &self.lines, &self.gpu.stream);
        let found = [first.read_box(first.domain())?, last.read_box(last.domain())?].concat();
        Ok([found, [stream.clone_dtoh(&self.slices[0])?, stream.clone_dtoh(&self.slices[2])?].concat()])
    }
}

impl Whole for Search<'_> {
    fn sources(&mut self) -> Ends<'_> {
        let ([first, parents], [starts, children]) = (&mut self.parents, &mut self.children);
        (vec![first, parents], vec![starts, children, &mut self.start])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.level[0]], vec![&mut self.depths])
    }
}

impl Whole for Network<'_> {
    fn sources(&mut self) -> Ends<'_> {
        let [first_weights, first_changes] = &mut self.first;
        let [last_weights, last_changes, _, _, x, _] = &mut self.lines;
        let [weights, changes, last, changes_of_last, _, _, inputs, _] = &mut self.slices;
        (
            vec![first_weights, first_changes, last_weights, last_changes, x],
            vec![weights, changes, last, changes_of_last, inputs],
        )
    }

    fn targets(&mut self) -> Ends<'_> {
        let ([weights, _], [last_weights, ..]) = (&mut self.first, &mut self.lines);
        let [first, _, last, ..] = &mut self.slices;
        (vec![weights, last_weights], vec![first, last])
    }
}
