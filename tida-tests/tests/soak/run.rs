//! A program by tida, on an accelerator of its configuration, and the comparison with plain loops.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Dim, Dimension, IxDyn};
use tida::prelude::*;
use tida::{Number, SimDevice};

use crate::composites::Wave;
use crate::configuration::Configuration;
use crate::kernels::{Arguments, Kernel, record};
use crate::oracle::{Field, Plain, Seen, fixed, open, part, places};
use crate::program::{Array, Face, Op, Part, Program, Scalar, Side as Where, Step, Storage, Tiles, along};
use crate::value::{Value, format, random};

/// A sweep that waits for a reduction.
pub type Later<T, const D: usize> = Box<dyn Fn(&mut TileArray<T, D>) -> tida::Result<()>>;

/// An element with its kernels.
pub trait Subject: Value {
    /// Records a kernel over a tile.
    fn record<const D: usize>(
        kernel: Kernel,
        tile: &Tile<D>,
        arguments: Arguments<'_, Self, D>,
        n: u8,
    ) -> tida::Result<()>;

    /// The largest value, of numbers.
    fn most<const D: usize>(array: &TileArray<Self, D>) -> tida::Result<Self> {
        array.read_box(array.domain()).map(|values| values[0])
    }

    /// The sum, of numbers.
    fn sum<const D: usize>(array: &TileArray<Self, D>) -> tida::Result<Self> {
        Self::most(array)
    }

    /// Sets the ghosts beyond a face from cells inwards, of numbers.
    fn inward<const D: usize>(_: &mut TileArray<Self, D>, _: (usize, Side), _: [i64; D]) -> tida::Result<()> {
        Ok(())
    }

    /// A recurrence along an axis, of numbers; `by` leads to the cell before.
    fn recur<const D: usize>(
        _: (usize, bool, bool),
        _: TileIter<D>,
        _: (&mut TileArray<Self, D>, &TileArray<Self, D>),
        _: [i64; D],
    ) -> tida::Result<()> {
        Ok(())
    }

    /// A relaxation of one colour, of numbers.
    fn relax<const D: usize>(
        _: Colour<D>,
        _: TileIter<D>,
        _: (&mut TileArray<Self, D>, &TileArray<Self, D>),
    ) -> tida::Result<()> {
        Ok(())
    }

    /// A sweep with the largest value, of numbers.
    fn later<const D: usize>(_: &TileArray<Self, D>) -> tida::Result<Later<Self, D>> {
        Ok(Box::new(|_| Ok(())))
    }
}

macro_rules! numbers {
    ($($T:ty)*) => {$(
        impl Subject for $T {
            fn record<const D: usize>(
                kernel: Kernel,
                tile: &Tile<D>,
                arguments: Arguments<'_, Self, D>,
                n: u8,
            ) -> tida::Result<()> {
                record(kernel, tile, arguments, n)
            }

            fn most<const D: usize>(array: &TileArray<Self, D>) -> tida::Result<Self> {
                reduce(array, Max, kernel!(|u, at| u[at]))
            }

            fn sum<const D: usize>(array: &TileArray<Self, D>) -> tida::Result<Self> {
                reduce(array, Sum, kernel!(|u, at| u[at]))
            }

            fn inward<const D: usize>(
                array: &mut TileArray<Self, D>,
                face: (usize, Side),
                by: [i64; D],
            ) -> tida::Result<()> {
                inward(array, face, by)
            }

            fn recur<const D: usize>(
                along: (usize, bool, bool),
                tiles: TileIter<D>,
                arrays: (&mut TileArray<Self, D>, &TileArray<Self, D>),
                by: [i64; D],
            ) -> tida::Result<()> {
                line(along, tiles, arrays, by)
            }

            fn relax<const D: usize>(
                colour: Colour<D>,
                tiles: TileIter<D>,
                arrays: (&mut TileArray<Self, D>, &TileArray<Self, D>),
            ) -> tida::Result<()> {
                relax(colour, tiles, arrays)
            }

            fn later<const D: usize>(from: &TileArray<Self, D>) -> tida::Result<Later<Self, D>> {
                later(from)
            }
        }
    )*};
}

numbers!(f64 f32 i32 u8 i16);

fn relax<T: Number + Value, const D: usize>(
    colour: Colour<D>,
    tiles: TileIter<D>,
    arrays: (&mut TileArray<T, D>, &TileArray<T, D>),
) -> tida::Result<()> {
    sweep_colour(
        colour,
        tiles,
        arrays,
        kernel!(|to, from, at| {
            let mut sum = to[at] / T::lit(4) + from[at] / T::lit(4);
            for d in 0..D {
                sum += to[at + unit(d)] / T::lit(16) + to[at - unit(d)] / T::lit(16);
            }
            to[at] = sum;
        }),
    )
}

fn inward<T: Number + Value, const D: usize>(
    array: &mut TileArray<T, D>,
    face: (usize, Side),
    by: [i64; D],
) -> tida::Result<()> {
    let value = T::small(1);
    fill_ghosts_with(face, array, kernel!(|u, at| u[at] = u[at + by] / T::lit(2) + value))
}

/// The cell before is named by a captured step, or by constants of the program where the axis is the first or the last.
macro_rules! recurrence {
    ($axis:expr, $order:expr, $tiles:expr, $arrays:expr, |$at:ident| $before:expr) => {
        sweep_along(
            $axis,
            $order,
            $tiles,
            $arrays,
            kernel!(|u, v, $at| {
                u[$at] = u[$at] / T::lit(4) + u[$before] / T::lit(2) + v[$at] / T::lit(4);
            }),
        )
    };
}

fn line<T: Number + Value, const D: usize>(
    (axis, backward, named): (usize, bool, bool),
    tiles: TileIter<D>,
    arrays: (&mut TileArray<T, D>, &TileArray<T, D>),
    by: [i64; D],
) -> tida::Result<()> {
    let (first, last) = (named && axis == 0, named && axis + 1 == D);
    match (first, last, backward) {
        (_, true, false) => recurrence!(axis, Forward, tiles, arrays, |at| at - unit(D - 1)),
        (_, true, true) => recurrence!(axis, Backward, tiles, arrays, |at| at + unit(D - 1)),
        (true, _, false) => recurrence!(axis, Forward, tiles, arrays, |at| at - unit(1 - 1)),
        (true, _, true) => recurrence!(axis, Backward, tiles, arrays, |at| at + unit(1 - 1)),
        (_, _, false) => recurrence!(axis, Forward, tiles, arrays, |at| at + by),
        (_, _, true) => recurrence!(axis, Backward, tiles, arrays, |at| at + by),
    }
}

/// What kernels set of a fill, if the program has such faces: all that are open.
fn set_inwards<T: Subject, const D: usize>(program: &Program, array: &mut TileArray<T, D>) -> tida::Result<()> {
    if !program.has(Face::Inward) {
        return Ok(());
    }
    let (faces, ghost) = (array.boundaries(), array.ghost());
    for axis in (0..D).rev() {
        for (n, side) in [Side::Low, Side::High].into_iter().enumerate() {
            if faces[axis][n] == Boundary::Open && ghost[axis][n] > 0 {
                let width = ghost[axis][n] as i64;
                let by = std::array::from_fn(|d| if d == axis { [width, -width][n] } else { 0 });
                T::inward(array, (axis, side), by)?;
            }
        }
    }
    Ok(())
}

fn later<T: Number + Value, const D: usize>(from: &TileArray<T, D>) -> tida::Result<Later<T, D>> {
    let most = reduce_later(from, Max, kernel!(|u, at| u[at]))?;
    Ok(Box::new(move |to| {
        let tiles = to.tiles();
        tiles.into_iter().try_for_each(|tile| {
            compute(&tile, &mut *to, kernel!(|to, at| to[at] = to[at] / T::lit(2) + (most + T::lit(0)) / T::lit(2)))
        })
    }))
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The bits of plain loops.
    Same,
    /// No room, as was foretold.
    NoRoom,
    /// Other bits, an error or a panic: what and where.
    Wrong(String),
}

/// Programs so far with several steps in one launch, with sweeps that ran as one, or with a reduction, and with chains.
pub static DONE: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Runs a program and compares.
pub fn run(program: &Program, device: &SimDevice) -> Outcome {
    let caught = catch_unwind(AssertUnwindSafe(|| match (program.scalar, program.axes()) {
        (Scalar::F64, 1) => compared::<f64, 1>(program, device),
        (Scalar::F64, 2) => compared::<f64, 2>(program, device),
        (Scalar::F64, 3) => compared::<f64, 3>(program, device),
        (Scalar::F64, _) => compared::<f64, 4>(program, device),
        (Scalar::F32, 1) => compared::<f32, 1>(program, device),
        (Scalar::F32, 2) => compared::<f32, 2>(program, device),
        (Scalar::F32, _) => compared::<f32, 3>(program, device),
        (Scalar::I32, 1) => compared::<i32, 1>(program, device),
        (Scalar::I32, _) => compared::<i32, 3>(program, device),
        (Scalar::U8, 1) => compared::<u8, 1>(program, device),
        (Scalar::U8, _) => compared::<u8, 2>(program, device),
        (Scalar::I16, _) => compared::<i16, 2>(program, device),
        (Scalar::Pair, 2) => compared::<[f64; 2], 2>(program, device),
        (Scalar::Pair, _) => compared::<[f64; 2], 3>(program, device),
        (Scalar::Wave, _) => compared::<Wave, 2>(program, device),
    }));
    caught.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
        Outcome::Wrong(format!("a panic: {}", text.unwrap_or_default()))
    })
}

fn compared<T: Subject, const D: usize>(program: &Program, device: &SimDevice) -> Outcome
where
    Dim<[usize; D]>: Dimension,
{
    let (expected, fields) = Plain::<T>::new(program).run();
    let found = Tida::<T, D>::new(program, device).and_then(|tida| tida.run(&fields));
    let (found, wrong) = match found {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::Memory && program.configuration.room > 1 => {
            // Windows of planes may need more than there is; regions do not. From files come planes alone.
            if error.tried().contains("a window of planes") || program.configuration.files {
                return Outcome::NoRoom;
            }
            return Outcome::Wrong(format!("an error: {error}"));
        }
        Err(error) => return Outcome::Wrong(format!("an error: {error}")),
    };
    for ((what, found), (_, expected)) in found.iter().zip(&expected) {
        if let Some(n) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
            let (found, expected) = (found[n], expected[n]);
            return Outcome::Wrong(format!(
                "{what}: value {n} has the bits {found:#x}, where plain loops have {expected:#x}"
            ));
        }
    }
    match wrong {
        Some(wrong) => Outcome::Wrong(wrong),
        None if found.len() != expected.len() => Outcome::Wrong("something was not seen".into()),
        None => Outcome::Same,
    }
}

/// Bytes of arrays that a configuration has room for: its part of all, and no less than a kernel's regions.
fn limit<T>(program: &Program) -> u64 {
    let axes = program.axes();
    // Rows are aligned for the smallest component, and all components have as many values in a row.
    let (least, element) = match program.scalar {
        Scalar::Pair => (8, 16),
        Scalar::Wave => (1, 17),
        _ => (size_of::<T>(), size_of::<T>()),
    };
    let row = |extent: usize| (extent.next_multiple_of(128 / least) + 128 / least) * element;
    let bytes = |array: &Array| {
        let extent = |d: usize, cells: usize| cells + 1 + array.ghost[d].iter().sum::<usize>();
        let largest: usize = (0..axes)
            .map(|d| {
                let cuts = crate::program::cuts(program.shape[d], program.regions[d], d + 1 == axes);
                let cells = cuts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
                if d + 1 == axes { row(extent(d, cells)) } else { extent(d, cells) }
            })
            .product();
        largest.next_multiple_of(1024) + 128 * element + 1024
    };
    let regions = program.region_count();
    let all: usize = program.arrays.iter().map(|array| bytes(array) * regions).sum();
    let largest = program.arrays.iter().map(bytes).max().unwrap_or(0);
    // What is read as a whole is there as a whole, beside what is written.
    let whole = if program.needs_whole() { 3 * largest * regions } else { 0 };
    // Regions at borders have more planes.
    let grown = if program.overlap() > 0 { 3 } else { 1 };
    // Each place has its part of the arrays.
    let part = all / (program.configuration.room * program.places());
    (part.max(4 * largest).max(whole) * grown) as u64
}

fn index<const D: usize>(at: [i64; 4]) -> [i64; D] {
    std::array::from_fn(|d| at[d])
}

fn wide<const D: usize>(at: [i64; D]) -> [i64; 4] {
    std::array::from_fn(|d| at.get(d).copied().unwrap_or(0))
}

/// The places of a box, and how far each is from its corner.
fn within<const D: usize>(cells: GridBox<D>) -> impl Iterator<Item = ([i64; 4], IxDyn)> {
    let hi = std::array::from_fn(|d| cells.hi.get(d).copied().unwrap_or(1));
    places([wide(cells.lo), hi])
        .map(move |at| (at, IxDyn(&std::array::from_fn::<usize, D, _>(|d| (at[d] - cells.lo[d]) as usize))))
}

struct Tida<'a, T: Element, const D: usize> {
    program: &'a Program,
    acc: TileAcc,
    arrays: Vec<Option<TileArray<T, D>>>,
    seen: Seen,
    /// Values that come later, each with its place among what is seen.
    late: Vec<(usize, tida::array::BoxValues<T>)>,
}

impl<'a, T: Subject, const D: usize> Tida<'a, T, D>
where
    Dim<[usize; D]>: Dimension,
{
    fn new(program: &'a Program, device: &SimDevice) -> tida::Result<Self> {
        let configuration = Configuration { parts: program.places(), ..program.configuration.clone() };
        let acc = configuration.build(limit::<T>(program), device)?;
        let mut arrays = Vec::new();
        for (n, array) in program.arrays.iter().enumerate() {
            let mut of = build::<T, D>(program, array, &acc, None)?;
            of.fill(|at| T::start(random(program.seed, n, wide(at.map(|x| x as i64)))))?;
            if array.faces.iter().flatten().any(|face| *face == Face::Open) {
                fill_open(&mut of)?;
            }
            arrays.push(Some(of));
        }
        Ok(Tida { program, acc, arrays, seen: Vec::new(), late: Vec::new() })
    }

    /// Runs all of it; what was seen on the way, and what is wrong with what is left.
    fn run(mut self, fields: &[Field<T>]) -> tida::Result<(Seen, Option<String>)> {
        for (n, step) in self.program.steps().iter().enumerate() {
            match step {
                Step::Ghosts(of) => self.fill(*of)?,
                Step::Op { op, value } => self.op(n, op, *value)?,
            }
        }
        for (place, values) in std::mem::take(&mut self.late) {
            self.seen[place].1 = values.get()?.iter().map(|value| (*value).seen()).collect();
        }
        let wrong = (0..self.arrays.len()).try_fold(None, |wrong: Option<String>, n| {
            let found = self.compare(n, &fields[n])?;
            Ok(wrong.or(found))
        })?;
        self.acc.sync()?;
        let stats = self.acc.stats();
        for (count, here) in DONE.iter().zip([stats.fused, stats.joined, stats.passes]) {
            count.fetch_add(u64::from(here > 0), Ordering::Relaxed);
        }
        Ok((self.seen, wrong))
    }

    /// All cells, then all ghosts too.
    fn compare(&mut self, n: usize, field: &Field<T>) -> tida::Result<Option<String>> {
        let array = self.array_mut(n);
        let domain = array.domain();
        let values = array.read_box(domain)?;
        let differs = |at: [i64; 4], found: T| {
            let expected = field.value(at);
            (expected.seen() != found.seen()).then(|| {
                let at: [i64; D] = index(at);
                format!("in the end array {n} has {found:?} at {at:?}, where plain loops have {expected:?}")
            })
        };
        let wrong = within(domain).zip(values).find_map(|((at, _), found)| differs(at, found));
        if wrong.is_some() {
            return Ok(wrong);
        }
        self.fill(n)?;
        let in_files = self.program.configuration.files;
        let array = self.array_mut(n);
        // Files keep no ghosts between regions.
        if in_files && array.regions() > 1 {
            return Ok(None);
        }
        for region in 0..array.regions() {
            let held = array.grown_box(region).unwrap();
            // Those beyond its high end along the last axis, as a box.
            let mut side = held;
            side.lo[D - 1] = array.region_box(region).unwrap().hi[D - 1];
            let values = array.read_grown_box(region, side)?;
            let ghosts = within(side).zip(values).filter(|((at, _), _)| !field.is_open(*at));
            if let Some(wrong) = ghosts.into_iter().find_map(|((at, _), found)| differs(at, found)) {
                return Ok(Some(format!("{wrong} (a box of ghosts of region {region})")));
            }
            if in_files {
                continue;
            }
            let wrong = array.with_grown_component::<T::First, _>(region, 0, |view| {
                let view = view.into_dyn();
                within(held).filter(|(at, _)| !field.is_open(*at)).find_map(|(at, n)| {
                    let expected = field.value(at);
                    differs(at, expected.with_first(view[n]))
                })
            })?;
            if let Some(wrong) = wrong {
                return Ok(Some(format!("{wrong} (ghosts of region {region})")));
            }
        }
        Ok(None)
    }

    fn array(&self, n: usize) -> &TileArray<T, D> {
        self.arrays[n].as_ref().unwrap()
    }

    fn fill(&mut self, n: usize) -> tida::Result<()> {
        let (program, array) = (self.program, self.array_mut(n));
        array.fill_ghosts()?;
        set_inwards(program, array)
    }

    fn array_mut(&mut self, n: usize) -> &mut TileArray<T, D> {
        self.arrays[n].as_mut().unwrap()
    }

    fn see(&mut self, n: usize, what: &str, of: usize, bits: Vec<u64>) {
        self.seen.push((format!("step {n}: {what} {of}"), bits));
    }

    fn part(&self, array: usize, of: &Part) -> GridBox<D> {
        self.part_of(self.array(array), of)
    }

    fn part_of(&self, array: &TileArray<T, D>, of: &Part) -> GridBox<D> {
        let [lo, hi] = part(of, &array.shape().map(|n| n as i64));
        GridBox::new(index(lo), index(hi))
    }

    fn op(&mut self, n: usize, op: &Op, value: u8) -> tida::Result<()> {
        match op {
            Op::Sweep { kernel, arrays, tiles, discard, .. } => self.sweep(*kernel, arrays, value, tiles, *discard)?,
            Op::Two { to, via, from, tiles } => self.two([*to, *via, *from], tiles)?,
            Op::BothGhosts { a, b } => {
                let [a, b] = self.arrays.get_disjoint_mut([*a, *b]).unwrap();
                let (a, b) = (a.as_mut().unwrap(), b.as_mut().unwrap());
                fill_ghosts((&mut *a, &mut *b))?;
                set_inwards(self.program, a)?;
                set_inwards(self.program, b)?;
            }
            Op::Line { to, from, axis, backward, named, tiles } => {
                let axis = axis % D;
                let mut target = self.arrays[*to].take().unwrap();
                let by = std::array::from_fn(|d| if d == axis { if *backward { 1 } else { -1 } } else { 0 });
                let tiles = self.tiles(&target, tiles);
                let done = T::recur((axis, *backward, *named), tiles, (&mut target, self.array(*from)), by);
                self.arrays[*to] = Some(target);
                done?;
            }
            Op::Colour { to, from, colour, colours, axes, tiles } => {
                let mut target = self.arrays[*to].take().unwrap();
                let colour = match axes {
                    true => Colour::of_axes(std::array::from_fn(|d| along(*colour, *colours, d)), [*colours; D]),
                    false => Colour::of_sum(*colour % *colours, *colours),
                };
                let tiles = self.tiles(&target, tiles);
                let done = T::relax(colour, tiles, (&mut target, self.array(*from)));
                self.arrays[*to] = Some(target);
                done?;
            }
            Op::Grown { to, from } => self.grown(*to, *from)?,
            Op::Ghosts { of } => self.fill(*of)?,
            Op::Swap { a, b } => self.arrays.swap(*a, *b),
            Op::Copy { to, from } => {
                let mut target = self.arrays[*to].take().unwrap();
                let done = target.copy_from(self.array(*from));
                self.arrays[*to] = Some(target);
                done?;
            }
            Op::Clone { to, from } => self.arrays[*to] = Some(self.array(*from).try_clone()?),
            Op::New { of } => self.arrays[*of] = Some(self.array(*of).like()?),
            Op::Recut { of, regions } => {
                let on_faces = |centering| centering == Centering::Face;
                let nodes = self.array(*of).centering().map(on_faces).to_vec();
                let spec = Array { packed: false, nodes, ..self.program.arrays[0].clone() };
                let mut there = build::<T, D>(self.program, &spec, &self.acc, Some(*regions))?;
                there.copy_from(self.array(*of))?;
                for tile in there.tiles() {
                    let arguments = Arguments { writes: std::slice::from_mut(&mut there), reads: &[] };
                    T::record(Kernel::Scale, &tile, arguments, 5)?;
                }
                self.array_mut(*of).copy_from(&there)?;
            }
            Op::Read { of, part } if n % 2 == 1 => {
                self.late.push((self.seen.len(), self.array(*of).read_box_later(self.part(*of, part))?));
                self.see(n, "read", *of, Vec::new());
            }
            Op::Read { of, part } => {
                let values = self.array(*of).read_box(self.part(*of, part))?;
                self.see(n, "read", *of, values.into_iter().map(Value::seen).collect());
            }
            Op::Look { of } => {
                let values = self.array(*of).to_ndarray()?;
                self.see(n, "look", *of, values.iter().map(|x| x.seen()).collect());
            }
            Op::Write { to, part } => {
                let cells = self.part(*to, part);
                let seed = self.program.seed;
                let values: Vec<T> = within(cells).map(|(at, _)| T::start(random(seed, 1000 + n, at))).collect();
                self.array_mut(*to).write_box(cells, &values)?;
            }
            Op::Touch { to, region } => {
                let region = region % self.program.region_count();
                let set = Value::small((n % 64) as u8);
                self.array_mut(*to)
                    .with_component_mut::<T::First, _>(region, 0, |view| view.into_dyn()[IxDyn(&[0; D])] = set)?;
            }
            Op::Max { of } => {
                let most = T::most(self.array(*of))?.plus(T::whole(0));
                self.see(n, "max", *of, vec![most.seen()]);
            }
            Op::Sum { of } => {
                let array = self.array(*of);
                let nodes = array.centering().map(|centering| centering == Centering::Face).to_vec();
                let spec = Array { nodes, ..self.program.arrays[0].clone() };
                let spec = Array { storage: Storage::Raw, packed: false, ..spec };
                let cpu = TileAcc::builder().device(Device::Cpu).threads(1).build()?;
                let mut there = build::<T, D>(self.program, &spec, &cpu, None)?;
                let sum = T::sum(array)?;
                there.write_box(array.domain(), &array.read_box(array.domain())?)?;
                let same = sum.seen() == T::sum(&there)?.seen();
                self.see(n, "sum", *of, vec![u64::from(same)]);
            }
            Op::Later { to, from } => {
                let later = T::later(self.array(*from))?;
                later(self.array_mut(*to))?;
            }
            Op::Sync => self.acc.sync()?,
            Op::Flush => self.acc.flush()?,
            Op::Repeat { .. } => {}
        }
        Ok(())
    }

    fn sweep(&mut self, kernel: Kernel, arrays: &[usize], n: u8, tiles: &Tiles, discard: bool) -> tida::Result<()> {
        let (to, from) = arrays.split_at(kernel.writes());
        let mut writes: Vec<TileArray<T, D>> = to.iter().map(|place| self.arrays[*place].take().unwrap()).collect();
        let open = |array: &TileArray<T, D>| array.boundaries().iter().flatten().any(|b| *b == Boundary::Open);
        if discard && kernel.is_whole() && tiles.within.is_none() {
            writes.iter_mut().filter(|array| !open(array)).for_each(TileArray::discard);
        }
        let reads: Vec<&TileArray<T, D>> = from.iter().map(|place| self.array(*place)).collect();
        let done = self
            .tiles(&writes[0], tiles)
            .try_for_each(|tile| T::record(kernel, &tile, Arguments { writes: &mut writes, reads: &reads }, n));
        to.iter().zip(writes).for_each(|(place, array)| self.arrays[*place] = Some(array));
        done
    }

    fn tiles(&self, of: &TileArray<T, D>, tiles: &Tiles) -> TileIter<D> {
        let mut iter = of.tiles();
        if let Some(size) = &tiles.size {
            iter = iter.tile_size(std::array::from_fn(|d| size[d]));
        }
        if let Some(within) = &tiles.within {
            let part = self.part_of(of, within);
            iter = iter.within(part.lo, part.hi);
        }
        if let Some(cells) = tiles.march {
            iter = iter.march(cells);
        }
        match tiles.side {
            Where::Cpu => iter.device(Device::Cpu),
            Where::Both if self.acc.device() != Device::Cpu => iter.device(Device::Hybrid),
            _ => iter,
        }
    }

    fn two(&mut self, [to, via, from]: [usize; 3], tiles: &Tiles) -> tida::Result<()> {
        let (mut next, mut mid) = (self.arrays[to].take().unwrap(), self.arrays[via].take().unwrap());
        let done = self.tiles(&mid, tiles).try_for_each(|tile| {
            let writes = std::slice::from_mut(&mut mid);
            T::record(Kernel::Star, &tile, Arguments { writes, reads: &[self.array(from)] }, 0)?;
            T::record(Kernel::Add, &tile, Arguments { writes: std::slice::from_mut(&mut next), reads: &[&mid] }, 0)
        });
        (self.arrays[to], self.arrays[via]) = (Some(next), Some(mid));
        done
    }

    fn grown(&mut self, to: usize, from: usize) -> tida::Result<()> {
        let (mut next, mut u) = (self.arrays[to].take().unwrap(), self.arrays[from].take().unwrap());
        let star = |tiles: TileIter<D>, to: &mut TileArray<T, D>, from: &TileArray<T, D>| {
            tiles.into_iter().try_for_each(|tile| {
                T::record(Kernel::Star, &tile, Arguments { writes: std::slice::from_mut(to), reads: &[from] }, 0)
            })
        };
        let done = star(next.tiles().grown(1), &mut next, &u).and_then(|()| {
            next.allow_stale_ghosts();
            star(u.tiles(), &mut u, &next)
        });
        (self.arrays[to], self.arrays[from]) = (Some(next), Some(u));
        done
    }
}

/// Builds an array; one that is cut along its first axis alone, if a number of regions is given.
fn build<T: Subject, const D: usize>(
    program: &Program,
    array: &Array,
    acc: &TileAcc,
    recut: Option<usize>,
) -> tida::Result<TileArray<T, D>> {
    let nodes = std::array::from_fn(|d| if array.nodes[d] { Centering::Face } else { Centering::Cell });
    let shape = std::array::from_fn(|d| program.shape[d]);
    let mut builder = TileArray::<T, D>::builder(shape).centering(nodes).saturation(Saturation::Warn);
    if let Some(regions) = recut {
        let mut cut = [1; D];
        cut[0] = regions.min(if D == 1 { shape[0].div_ceil(64) } else { shape[0] }).max(1);
        return builder.regions(cut).build(acc);
    }
    builder = builder
        .regions(std::array::from_fn(|d| program.regions[d]))
        .ghost(std::array::from_fn::<[usize; 2], D, _>(|d| array.ghost[d]))
        .overlap(program.overlap());
    if array.storage != Storage::Raw {
        builder = builder.storage(format(array.storage));
    }
    if array.packed {
        builder = builder.compress(Compress::Link);
    }
    for (axis, faces) in array.faces.iter().enumerate() {
        for (side, face) in [Side::Low, Side::High].into_iter().zip(faces) {
            let boundary = match face {
                Face::Periodic => Boundary::Periodic,
                Face::Fixed => Boundary::Fixed(fixed()),
                Face::Even => Boundary::ReflectEven,
                Face::Odd => Boundary::ReflectOdd,
                Face::Near => Boundary::Extrapolate(0),
                Face::Line => Boundary::Extrapolate(1),
                Face::Open | Face::Inward => Boundary::Open,
            };
            builder = builder.boundary_face(axis, side, boundary);
        }
    }
    builder.build(acc)
}

/// Writes what belongs behind open faces.
fn fill_open<T: Subject, const D: usize>(array: &mut TileArray<T, D>) -> tida::Result<()>
where
    Dim<[usize; D]>: Dimension,
{
    let domain = array.domain();
    for region in 0..array.regions() {
        let held = array.grown_box(region).unwrap();
        array.with_grown_component_mut::<T::First, _>(region, 0, |view| {
            let mut view = view.into_dyn();
            within(held).filter(|(at, _)| !domain.contains(index(*at))).for_each(|(at, n)| view[n] = open(at));
        })?;
    }
    Ok(())
}
