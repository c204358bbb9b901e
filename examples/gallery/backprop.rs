//! Training a network of three layers by back propagation: Lashgar §3.3.1 (Rodinia's Backprop, 65536 inputs, 16 hidden
//! units).
//!
//! The six stages of a step: two layers forward, the errors of two layers, the change of two layers of weights.
//! Forward, a unit is a sum over all weights that lead to it: one reduction a unit, as OpenACC does in the paper. Its
//! value is captured by the kernel that makes the unit of it, so no stage waits for the host.

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "backprop",
        about: "A network of three layers learns one pattern; --size counts its inputs, a step is a round of training",
        dims: &[1],
        size: [1 << 16, 0, 0],
        steps: 5,
        ghost: 0,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: true,
        look: Look::around(0.0, "weight"),
    },
    small: "--size 1000 --steps 2",
    input: false,
    run,
};

/// Hidden units.
const HIDDEN: usize = 16;
/// How fast it learns, and how much of the last change is made again.
const RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
/// What the output should be.
const TARGET: f32 = 0.1;

/// Input `i`; the first is 1 and carries the bias.
fn input(i: usize) -> f32 {
    if i == 0 { 1.0 } else { plain::random(i) as f32 }
}

/// The weight from input `i` to hidden unit `unit`, at first.
fn weight(unit: usize, i: usize, inputs: usize) -> f32 {
    ((plain::random(unit << 32 | i) - 0.5) / (inputs as f64).sqrt()) as f32
}

/// The weight from hidden unit `unit` to the output, at first.
fn last_weight(unit: usize) -> f32 {
    plain::random(unit << 48) as f32 - 0.5
}

/// What a unit makes of the sum of its inputs.
#[kernel_fn]
fn squash(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum).exp())
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2 * HIDDEN + 7)?;
    let inputs = settings.shape[0] + 1;
    let line = |n: usize| TileArray::<f32, 1>::builder([n]).build(&acc);
    // What each unit reads all of.
    let whole = |n: usize| TileArray::<f32, 1>::builder([n]).everywhere().build(&acc);
    // Rows are hidden units; each is cut along its inputs.
    let mut weights = TileArray::<f32, 2>::builder([HIDDEN, inputs]).regions([1, settings.regions[0]]).build(&acc)?;
    weights.fill(|[unit, i]| weight(unit, i, inputs))?;
    let mut changes = weights.like()?;
    let mut x = whole(inputs)?;
    x.fill(|[i]| input(i))?;
    let mut last_weights = line(HIDDEN)?;
    last_weights.fill(|[unit]| last_weight(unit))?;
    let (mut last_changes, mut hidden, mut errors) = (last_weights.like()?, last_weights.like()?, last_weights.like()?);
    let mut output = line(1)?;
    let (mut answer, mut all_errors) = (whole(1)?, whole(HIDDEN)?);
    let tile_size = [HIDDEN, settings.tile::<1>()?[0]];

    let (rate, momentum, target) = (RATE, MOMENTUM, TARGET);
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        for unit in 0..HIDDEN as i64 {
            let row = GridBox::new([unit, 0], [unit + 1, inputs as i64]);
            let sum = reduce_over_later(row, (&weights, all(&x)), Sum, kernel!(|w, x, at| w[at] * x[[at[1]]]))?;
            for tile in TileIter::new(&hidden).within([unit], [unit + 1]) {
                compute(&tile, &mut hidden, kernel!(|hidden, at| hidden[at] = squash(sum)))?;
            }
        }
        let sum = reduce_later((&last_weights, &hidden), Sum, kernel!(|w, hidden, at| w[at] * hidden[at]))?;
        for tile in TileIter::new(&output) {
            compute(&tile, &mut output, kernel!(|output, at| output[at] = squash(sum)))?;
        }
        answer.copy_from(&output)?;
        for tile in TileIter::new(&hidden) {
            compute(
                &tile,
                (&mut last_weights, &mut last_changes, &mut errors, &hidden, all(&answer)),
                kernel!(|weight, change, error, hidden, output, at| {
                    let (w, h, out) = (weight[at], hidden[at], output[[0]]);
                    let wrong = out * (1.0 - out) * (target - out);
                    error[at] = h * (1.0 - h) * (wrong * w);
                    let c = rate * wrong * h + momentum * change[at];
                    change[at] = c;
                    weight[at] = w + c;
                }),
            )?;
        }
        all_errors.copy_from(&errors)?;
        for tile in TileIter::new(&weights).tile_size(tile_size) {
            compute(
                &tile,
                (&mut weights, &mut changes, all(&all_errors), all(&x)),
                kernel!(|weight, change, error, x, at| {
                    let c = rate * error[[at[0]]] * x[[at[1]]] + momentum * change[at];
                    change[at] = c;
                    weight[at] = weight[at] + c;
                }),
            )?;
        }
        clock.step_of(&weights)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || Ok(settings.map(Picture::middle(&weights)?).axes("unit", "input")))?;
    let found = || {
        let ends = [last_weights.read_box(last_weights.domain())?, output.read_box(output.domain())?];
        Ok([weights.read_box(weights.domain())?, ends.concat()].concat())
    };
    settings.finish_with(&weights, settings.steps, seconds, found, || trained(inputs, settings.steps))
}

/// The same by plain loops: all weights, then the output. Sums have the order that is fixed for every device.
fn trained(inputs: usize, steps: u64) -> Vec<f32> {
    let unit = |sum: f32| 1.0 / (1.0 + (-sum).exp());
    let x: Vec<f32> = (0..inputs).map(input).collect();
    let mut weights: Vec<f32> = (0..HIDDEN * inputs).map(|p| weight(p / inputs, p % inputs, inputs)).collect();
    let mut last_weights: Vec<f32> = (0..HIDDEN).map(last_weight).collect();
    let mut changes = vec![0.0; weights.len()];
    let mut last_changes = [0.0; HIDDEN];
    let mut out = 0.0;
    let dot = |a: &[f32], b: &[f32]| plain::sum(std::iter::once(a.iter().zip(b).map(|(a, b)| a * b).collect()));
    for _ in 0..steps {
        let hidden: Vec<f32> = weights.chunks(inputs).map(|row| unit(dot(row, &x))).collect();
        out = unit(dot(&last_weights, &hidden));
        let wrong = out * (1.0 - out) * (TARGET - out);
        for (j, h) in hidden.iter().enumerate() {
            let error = h * (1.0 - h) * (wrong * last_weights[j]);
            last_changes[j] = RATE * wrong * h + MOMENTUM * last_changes[j];
            last_weights[j] += last_changes[j];
            for (i, x) in x.iter().enumerate() {
                let p = j * inputs + i;
                changes[p] = RATE * error * x + MOMENTUM * changes[p];
                weights[p] += changes[p];
            }
        }
    }
    [weights, last_weights, vec![out]].concat()
}
