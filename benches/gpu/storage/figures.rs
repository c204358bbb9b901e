//! The micro-benchmarks and the programs of Salehi ch. 6, raw and in fewer bits.

use tida::array::StorageErrors;
use tida::prelude::*;
use tida_suite::Result;

use super::{Program, bits, flushed_formats, formats};
use crate::Bench;
use crate::heat::noise;
use crate::measure::Output;

/// A range that holds what [`noise`] gives.
pub(super) const fn range(bits: u32) -> Format {
    Format::Range { bits, min: -1.0, max: 3.0 }
}

fn line(acc: &TileAcc, n: usize, format: Format) -> Result<TileArray<f64, 1>> {
    let mut made = TileArray::<f64, 1>::builder([n]).storage(format).saturation(Saturation::Ignore).build(acc)?;
    made.fill(|[i]| noise(i))?;
    Ok(made)
}

/// Salehi Fig. 6.1: a copy, element by element.
struct Copied([TileArray<f64, 1>; 2]);

impl Program for Copied {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Copied> {
        let from = line(acc, n, format)?;
        Ok(Copied([from.like()?, from]))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let [to, from] = &mut self.0;
        for _ in 0..steps {
            for tile in TileIter::new(to) {
                compute(&tile, (&mut *to, &*from), kernel!(|to, from, at| to[at] = from[at]))?;
            }
        }
        Ok(to.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0[0])
    }
}

/// Salehi Fig. 6.2: the last element first.
struct Reversed([TileArray<f64, 1>; 2]);

impl Program for Reversed {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Reversed> {
        let from = line(acc, n, format)?;
        Ok(Reversed([from.like()?, from]))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let [to, from] = &mut self.0;
        let last = from.shape()[0] as i64 - 1;
        for _ in 0..steps {
            for tile in TileIter::new(to) {
                compute(&tile, (&mut *to, all(from)), kernel!(|to, from, at| to[at] = from[[last - at[0]]]))?;
            }
        }
        Ok(to.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0[0])
    }
}

/// Salehi Fig. 6.3: neighbouring threads read elements that lie `STRIDE` apart. They are written side by side, where
/// the thesis writes them as far apart.
struct Strided<const STRIDE: i64>([TileArray<f64, 1>; 2]);

impl<const STRIDE: i64> Program for Strided<STRIDE> {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Self> {
        let to = line(acc, n, format)?;
        Ok(Strided([to, line(acc, n * STRIDE as usize, format)?]))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let [to, from] = &mut self.0;
        let stride = STRIDE;
        for _ in 0..steps {
            for tile in TileIter::new(to) {
                compute(&tile, (&mut *to, all(from)), kernel!(|to, from, at| to[at] = from[[stride * at[0]]]))?;
            }
        }
        Ok(to.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0[0])
    }
}

/// Salehi Fig. 6.4: each thread reads an element that an array of random numbers names.
struct Shuffled([TileArray<f64, 1>; 2], TileArray<u32, 1>);

impl Program for Shuffled {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Shuffled> {
        let from = line(acc, n, format)?;
        let mut which = TileArray::<u32, 1>::builder([n]).build(acc)?;
        // The noise has 24 bits: two of them make one that reaches every element.
        let random = |i: usize| noise(i) + noise(n + i) / f64::from(1 << 24);
        which.fill(|[i]| ((random(i) * n as f64) as u32).min(n as u32 - 1))?;
        Ok(Shuffled([from.like()?, from], which))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let ([to, from], which) = (&mut self.0, &self.1);
        for _ in 0..steps {
            for tile in TileIter::new(to) {
                compute(
                    &tile,
                    (&mut *to, all(from), which),
                    kernel!(|to, from, which, at| to[at] = from[[which[at] as i64]]),
                )?;
            }
        }
        Ok(to.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0[0])
    }
}

/// Salehi Fig. 6.7: the product of two matrices, each cell a row times a column. Factors alone have the format.
pub(super) struct Matrices(pub(super) [TileArray<f32, 2>; 3]);

impl Program for Matrices {
    const CHECKED: (usize, usize) = (96, 1);

    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Matrices> {
        let [_, a, b] = super::matrices(acc, n, format)?;
        Ok(Matrices([TileArray::builder([n; 2]).build(acc)?, a, b]))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.0;
        let length = a.shape()[1] as i64;
        for _ in 0..steps {
            for tile in TileIter::new(c) {
                compute(
                    &tile,
                    (&mut *c, all(a), all(b)),
                    kernel!(|c, a, b, at| {
                        let [row, column] = at;
                        let mut sum = 0.0;
                        for k in 0..length {
                            sum += a[[row, k]] * b[[k, column]];
                        }
                        c[at] = sum;
                    }),
                )?;
            }
        }
        Ok(c.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0[0])
    }

    fn against(&self, raw: &Self) -> Result<Option<StorageErrors>> {
        Ok(Some(self.0[0].storage_report_against(&raw.0[0])?))
    }
}

/// Salehi Fig. 6.11: temperatures of a chip whose blocks draw power. Power alone has the format, as in the thesis, or
/// temperatures too.
pub(super) struct Chip<const BOTH: bool> {
    pub(super) heat: TileArray<f64, 2>,
    next: TileArray<f64, 2>,
    power: TileArray<f64, 2>,
}

impl<const BOTH: bool> Chip<BOTH> {
    /// Of the power that each cell draws, and the temperatures at the start.
    pub(super) fn of(acc: &TileAcc, n: usize, format: Format, watts: &[f64], start: &[f64]) -> Result<Self> {
        let found = |format| match format {
            Format::Range { bits, .. } => Format::FoundRange { bits },
            format => format,
        };
        let power = TileArray::<f64, 2>::builder([n; 2]).storage(found(format)).build_slice(acc, watts)?;
        let kept = match format {
            Format::Range { bits, .. } if BOTH => Format::Range { bits, min: 300.0, max: 400.0 },
            _ => Format::Raw,
        };
        let builder = TileArray::<f64, 2>::builder([n; 2]).ghost(1).boundary(Boundary::ReflectEven);
        let heat = builder.storage(kept).saturation(Saturation::Ignore).build_slice(acc, start)?;
        let next = heat.like()?;
        Ok(Chip { heat, next, power })
    }
}

/// What each cell of a chip draws.
pub(super) fn watts(n: usize) -> Vec<f64> {
    (0..n * n).map(|cell| 0.01 * noise(cell)).collect()
}

/// Temperatures at the start.
pub(super) fn start(n: usize) -> Vec<f64> {
    (0..n * n).map(|cell| 320.0 + (5 * (cell / n) + 3 * (cell % n)) as f64 / n as f64).collect()
}

impl<const BOTH: bool> Program for Chip<BOTH> {
    const CHECKED: (usize, usize) = (64, 1000);

    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Self> {
        Chip::of(acc, n, format, &watts(n), &start(n))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let (step, across, air, ambient) = (1.0, 0.1, 1e-4, 300.0);
        for _ in 0..steps {
            self.heat.fill_ghosts()?;
            for tile in TileIter::new(&self.heat) {
                compute(
                    &tile,
                    (&mut self.next, &self.heat, &self.power),
                    kernel!(|next, heat, power, at| {
                        let own = heat[at];
                        let y = heat[at + [1, 0]] + heat[at - [1, 0]] - 2.0 * own;
                        let x = heat[at + [0, 1]] + heat[at - [0, 1]] - 2.0 * own;
                        next[at] = own + step * (power[at] + (y + x) * across + (ambient - own) * air);
                    }),
                )?;
            }
            std::mem::swap(&mut self.heat, &mut self.next);
        }
        Ok(self.heat.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.heat)
    }

    fn against(&self, raw: &Self) -> Result<Option<StorageErrors>> {
        Ok(Some(self.heat.storage_report_against(&raw.heat)?))
    }
}

/// Degrees north and east.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Place {
    latitude: f32,
    longitude: f32,
}

/// Where what a format of places holds lies.
const DEGREES: (f64, f64) = (-180.0, 180.0);

fn place(i: usize) -> Place {
    let degrees = |i: usize, most: f64| ((2.0 * noise(i) - 1.0) * most) as f32;
    Place { latitude: degrees(2 * i, 90.0), longitude: degrees(2 * i + 1, 180.0) }
}

fn of_places(format: Format) -> Format {
    match format {
        Format::Range { bits, .. } => Format::Range { bits, min: DEGREES.0, max: DEGREES.1 },
        format => format,
    }
}

/// Salehi Fig. 6.13, with the arrays' transformation: distances to a target of places whose fields have planes of their
/// own.
struct Planes(TileArray<f32, 1>, TileArray<Place, 1>);

impl Program for Planes {
    const CHECKED: (usize, usize) = (5000, 1);

    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Planes> {
        let places: Vec<Place> = (0..n).map(place).collect();
        let kept = TileArray::<Place, 1>::builder([n]).storage(of_places(format)).build_slice(acc, &places)?;
        Ok(Planes(TileArray::builder([n]).build(acc)?, kept))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let (latitude, longitude) = (48.5f32, -123.4f32);
        for _ in 0..steps {
            for tile in TileIter::new(&self.0) {
                compute(
                    &tile,
                    (&mut self.0, &self.1),
                    kernel!(|distance, places, at| {
                        let (y, x) = (latitude - places[at].latitude, longitude - places[at].longitude);
                        distance[at] = (y * y + x * x).sqrt();
                    }),
                )?;
            }
        }
        Ok(self.0.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0)
    }

    fn against(&self, raw: &Self) -> Result<Option<StorageErrors>> {
        Ok(Some(self.0.storage_report_against(&raw.0)?))
    }
}

/// The same without it: latitude and longitude of a place lie side by side.
struct Records(TileArray<f32, 1>, TileArray<f32, 1>);

impl Program for Records {
    const CHECKED: (usize, usize) = (5000, 1);

    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Records> {
        let places: Vec<f32> = (0..n).map(place).flat_map(|place| [place.latitude, place.longitude]).collect();
        let kept = TileArray::<f32, 1>::builder([2 * n]).storage(of_places(format)).build_slice(acc, &places)?;
        Ok(Records(TileArray::builder([n]).build(acc)?, kept))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let (latitude, longitude) = (48.5f32, -123.4f32);
        for _ in 0..steps {
            for tile in TileIter::new(&self.0) {
                compute(
                    &tile,
                    (&mut self.0, all(&self.1)),
                    kernel!(|distance, places, at| {
                        let (y, x) = (latitude - places[[2 * at[0]]], longitude - places[[2 * at[0] + 1]]);
                        distance[at] = (y * y + x * x).sqrt();
                    }),
                )?;
            }
        }
        Ok(self.0.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0)
    }

    fn against(&self, raw: &Self) -> Result<Option<StorageErrors>> {
        Ok(Some(self.0.storage_report_against(&raw.0)?))
    }
}

/// Salehi Fig. 6.14: each cell of a dyadic convolution adds up the data at its number exclusive-or that of a cell of
/// the other sequence. Data alone has the format. Lengths are powers of two.
struct Dyadic {
    result: TileArray<f32, 1>,
    data: TileArray<f32, 1>,
    other: TileArray<f32, 1>,
}

/// Cells of the other sequence.
const OTHER: usize = 128;

impl Program for Dyadic {
    const CHECKED: (usize, usize) = (4096, 1);

    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Dyadic> {
        let mut data = TileArray::<f32, 1>::builder([n]).storage(format).saturation(Saturation::Ignore).build(acc)?;
        data.fill(|[i]| noise(i) as f32)?;
        let mut other = TileArray::<f32, 1>::builder([OTHER]).build(acc)?;
        other.fill(|[i]| noise(n + i) as f32)?;
        Ok(Dyadic { result: TileArray::builder([n]).build(acc)?, data, other })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let length = OTHER as i64;
        for _ in 0..steps {
            for tile in TileIter::new(&self.result) {
                compute(
                    &tile,
                    (&mut self.result, all(&self.data), all(&self.other)),
                    kernel!(|result, data, other, at| {
                        let mut sum = 0.0;
                        for j in 0..length {
                            sum += data[[at[0] ^ j]] as f64 * other[[j]] as f64;
                        }
                        result[at] = sum as f32;
                    }),
                )?;
            }
        }
        Ok(self.result.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.result)
    }

    fn against(&self, raw: &Self) -> Result<Option<StorageErrors>> {
        Ok(Some(self.result.storage_report_against(&raw.result)?))
    }
}

/// The arrays of the patterns of access.
const PATTERNS: [(&str, Format, Option<f64>); 3] =
    [("raw", Format::Raw, None), ("2:1", range(32), None), ("4:1", range(16), None)];

/// Salehi Fig. 6.1 to 6.4, for sizes through the second-level cache: `f64` raw, at 2:1 and at 4:1.
pub fn micro(bench: &Bench, output: &mut Output) -> Result<()> {
    let kept = PATTERNS;
    // Of each array 2^16 bytes raw at least, 2^29 at the usual size.
    let most = (bench.size.pow(3) / 2).max(1 << 13);
    for n in (13..).step_by(2).map(|power| 1usize << power).take_while(|n| *n < most).chain([most]) {
        formats::<Copied>(bench, output, ("copy f64", n, 1, 16), &kept)?;
        formats::<Reversed>(bench, output, ("reversed copy f64", n, 1, 16), &kept)?;
        formats::<Strided<2>>(bench, output, ("stride 2 f64", n / 2, 1, 16), &kept)?;
        formats::<Strided<8>>(bench, output, ("stride 8 f64", n / 8, 1, 16), &kept)?;
        formats::<Strided<32>>(bench, output, ("stride 32 f64", n / 32, 1, 16), &kept)?;
        formats::<Shuffled>(bench, output, ("random reads f64", n, 1, 20), &kept)?;
    }
    Ok(())
}

/// The same for the larger sizes as the thesis has it: nothing is left in a cache when a kernel starts.
pub fn flushed(bench: &Bench, output: &mut Output) -> Result<()> {
    let most = (bench.size.pow(3) / 2).max(1 << 13);
    for n in [most / 32, most / 8, most / 2, most] {
        flushed_formats::<Copied>(bench, output, ("copy f64", n, 1, 16), &PATTERNS)?;
        flushed_formats::<Reversed>(bench, output, ("reversed copy f64", n, 1, 16), &PATTERNS)?;
        flushed_formats::<Strided<2>>(bench, output, ("stride 2 f64", n / 2, 1, 16), &PATTERNS)?;
        flushed_formats::<Strided<8>>(bench, output, ("stride 8 f64", n / 8, 1, 16), &PATTERNS)?;
        flushed_formats::<Strided<32>>(bench, output, ("stride 32 f64", n / 32, 1, 16), &PATTERNS)?;
        flushed_formats::<Shuffled>(bench, output, ("random reads f64", n, 1, 20), &PATTERNS)?;
    }
    Ok(())
}

/// Salehi Fig. 6.7, 6.11, 6.13 and 6.14, with the errors of each format.
pub fn programs(bench: &Bench, output: &mut Output) -> Result<()> {
    let singles = [("raw", Format::Raw, None), ("16 bits", range(16), None), ("8 bits", range(8), None)];
    let doubles = [("raw", Format::Raw, None), ("32 bits", range(32), None), ("16 bits", range(16), None)];
    let n = bench.size;
    formats::<Matrices>(bench, output, ("matrix multiply f32", 4 * n, 2, 12), &singles)?;
    formats::<Chip<false>>(bench, output, ("hotspot f64, power", 16 * n, 2, 24), &doubles)?;
    formats::<Chip<true>>(bench, output, ("hotspot f64, all", 16 * n, 2, 24), &doubles)?;
    let places = n.pow(3) / 2;
    formats::<Planes>(bench, output, ("nearest neighbour, planes", places, 1, 12), &singles)?;
    formats::<Records>(bench, output, ("nearest neighbour, records", places, 1, 12), &singles)?;
    let data = (n.pow(3) / 8).next_power_of_two();
    formats::<Dyadic>(bench, output, ("dyadic convolution f32", data, 1, 8), &singles)
}
