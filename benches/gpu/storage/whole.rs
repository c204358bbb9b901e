//! Programs from values on the host to values on the host, raw and in fewer bits (Salehi Fig. 6.8 to 6.10 and 6.12):
//! memory that is allotted, codes made of the values, copies, kernels, and the result's values.

use std::hint::black_box;
use std::time::Instant;

use tida::Math;
use tida::array::ScalarElement;
use tida::prelude::*;
use tida_suite::Result;

use super::figures::{Chip, Matrices, range, start, watts};
use super::{Add, Kept, Product, Program};
use crate::Bench;
use crate::heat::noise;
use crate::measure::{Output, Row, Work, median};

/// A program that starts with values on the host.
trait Whole: Program {
    type Value: ScalarElement;

    /// The values of its arrays of `n` cells along each axis.
    fn values(n: usize) -> Vec<Vec<Self::Value>>;

    /// Its arrays.
    fn of(acc: &TileAcc, n: usize, format: Format, values: &[Vec<Self::Value>]) -> Result<Self>;

    /// What it computed.
    fn result(&self) -> Result<Vec<Self::Value>>;
}

/// The values of two matrices.
fn two(n: usize) -> Vec<Vec<f32>> {
    [0, n * n].map(|first| (first..first + n * n).map(|cell| noise(cell) as f32).collect()).to_vec()
}

/// Two matrices of such values.
fn matrices(acc: &TileAcc, n: usize, format: Format, values: &[Vec<f32>]) -> Result<[TileArray<f32, 2>; 2]> {
    let build = |values: &[f32]| TileArray::<f32, 2>::builder([n; 2]).storage(format).build_slice(acc, values);
    Ok([build(&values[0])?, build(&values[1])?])
}

impl Whole for Add {
    type Value = f32;

    fn values(n: usize) -> Vec<Vec<f32>> {
        two(n)
    }

    fn of(acc: &TileAcc, n: usize, format: Format, values: &[Vec<f32>]) -> Result<Add> {
        let [a, b] = matrices(acc, n, format, values)?;
        // Sums of two values are in the range too.
        let sum = TileArray::<f32, 2>::builder([n; 2]).storage(format).saturation(Saturation::Ignore).build(acc)?;
        Ok(Add([sum, a, b]))
    }

    fn result(&self) -> Result<Vec<f32>> {
        Ok(self.0[0].read_box(self.0[0].domain())?)
    }
}

impl Whole for Product {
    type Value = f32;

    fn values(n: usize) -> Vec<Vec<f32>> {
        two(n)
    }

    fn of(acc: &TileAcc, n: usize, format: Format, values: &[Vec<f32>]) -> Result<Product> {
        let [a, b] = matrices(acc, n, format, values)?;
        // It sums without writing an array.
        Ok(Product { arrays: [TileArray::builder([1; 2]).build(acc)?, a, b], sum: 0.0 })
    }

    fn result(&self) -> Result<Vec<f32>> {
        Ok(vec![self.sum])
    }
}

/// Fig. 6.8 to 6.10.
impl Whole for Matrices {
    type Value = f32;

    fn values(n: usize) -> Vec<Vec<f32>> {
        two(n)
    }

    fn of(acc: &TileAcc, n: usize, format: Format, values: &[Vec<f32>]) -> Result<Matrices> {
        let [a, b] = matrices(acc, n, format, values)?;
        Ok(Matrices([TileArray::builder([n; 2]).build(acc)?, a, b]))
    }

    fn result(&self) -> Result<Vec<f32>> {
        Ok(self.0[0].read_box(self.0[0].domain())?)
    }
}

/// Fig. 6.12.
impl<const BOTH: bool> Whole for Chip<BOTH> {
    type Value = f64;

    fn values(n: usize) -> Vec<Vec<f64>> {
        vec![watts(n), start(n)]
    }

    fn of(acc: &TileAcc, n: usize, format: Format, values: &[Vec<f64>]) -> Result<Self> {
        Chip::of(acc, n, format, &values[0], &values[1])
    }

    fn result(&self) -> Result<Vec<f64>> {
        Ok(self.heat.read_box(self.heat.domain())?)
    }
}

/// The parts of a run, in seconds: arrays made of values; copies to the device and kernels; values of the result.
const PARTS: [&str; 3] = ["arrays of values", "copies and kernels", "values of the result"];

/// A run, its seconds in all and by part, and its result.
fn timed<P: Whole>(
    acc: &TileAcc,
    (n, steps): (usize, usize),
    format: Format,
    values: &[Vec<P::Value>],
) -> Result<([f64; 4], Vec<P::Value>)> {
    let clock = Instant::now();
    let mut program = P::of(acc, n, format, values)?;
    let built = clock.elapsed().as_secs_f64();
    program.run(steps)?;
    let ran = clock.elapsed().as_secs_f64();
    let result = black_box(program.result()?);
    let all = clock.elapsed().as_secs_f64();
    Ok(([all, built, ran - built, all - ran], result))
}

/// Times a program of so many steps in each format, and says what its parts take.
fn in_formats<P: Whole>(
    bench: &Bench,
    output: &mut Output,
    (name, n, steps): (&str, usize, usize),
    formats: &[Kept<'_>],
) -> Result<()> {
    let (acc, cpu) = (bench.accelerator(Math::Exact)?, TileAcc::builder().device(Device::Cpu).build()?);
    let bits = |values: Vec<P::Value>| values.into_iter().map(ScalarElement::bits).collect::<Vec<u64>>();
    let mut checks = Vec::new();
    let small = P::values(P::CHECKED.0);
    for (format_name, format, _) in formats {
        let found = |acc| -> Result<Vec<u64>> { Ok(bits(timed::<P>(acc, P::CHECKED, *format, &small)?.1)) };
        let same = found(&acc)? == found(&cpu)?;
        let check = if same { "same bits" } else { "OTHER BITS" };
        checks.push(output.checked(&format!("{name}, {format_name}"), same, check.into()));
    }
    let values = P::values(n);
    let mut times = vec![<[Vec<f64>; 4]>::default(); formats.len()];
    // Values that come and go.
    let mut bytes = 0;
    // The first round compiles and takes memory.
    for round in 0..=bench.few() {
        for ((_, format, _), times) in formats.iter().zip(&mut times) {
            let (seconds, result) = timed::<P>(&acc, (n, steps), *format, &values)?;
            bytes = values.iter().chain([&result]).map(|values| size_of_val(&values[..])).sum();
            if round > 0 {
                times.iter_mut().zip(seconds).for_each(|(times, seconds)| times.push(seconds));
            }
        }
    }
    let cells = n * n * steps;
    for (((format_name, _, goal), [all, parts @ ..]), check) in formats.iter().zip(&times).zip(checks) {
        let steps = if steps == 1 { String::new() } else { format!(", {steps} steps") };
        let case = format!("whole, {name} {n}^2{steps}, {format_name}");
        for (part, seconds) in PARTS.iter().zip(parts) {
            output.figure(&format!("{case}: {part}"), median(seconds) * 1e3, "ms")?;
        }
        let work = Work { case, check, cells, bytes };
        output.row(&Row { goal: *goal, ..Row::new(&work, all, Some(("raw", &times[0][0]))) })?;
    }
    Ok(())
}

/// Whole programs, with what they take of the host.
pub fn whole(bench: &Bench, output: &mut Output) -> Result<()> {
    let singles = [("raw", Format::Raw, None), ("16 bits", range(16), None), ("halves", Format::Half, None)];
    let doubles = [("raw", Format::Raw, None), ("32 bits", range(32), None), ("16 bits", range(16), None)];
    let n = bench.size;
    in_formats::<Add>(bench, output, ("matrix add f32", 16 * n, 1), &singles)?;
    in_formats::<Product>(bench, output, ("vector product f32", 16 * n, 1), &singles)?;
    for n in [4 * n, 8 * n] {
        in_formats::<Matrices>(bench, output, ("matrix multiply f32", n, 1), &singles)?;
    }
    for steps in [100, 700] {
        in_formats::<Chip<false>>(bench, output, ("hotspot f64, power", n, steps), &doubles)?;
    }
    in_formats::<Chip<true>>(bench, output, ("hotspot f64, all", 4 * n, 700), &doubles)
}
