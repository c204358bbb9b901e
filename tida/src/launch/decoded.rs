//! Native kernels of arrays that hold codes: they run over values that were decoded for them, piece by piece, in the
//! cache. What they write of arrays that hold values with formats is rounded in place, a piece at a time as well.

use std::sync::{Arc, OnceLock};

use smallvec::{SmallVec, smallvec};

use super::site::{Site, Sites};
use crate::backend::cpu;
use crate::error::Error;
use crate::grid::{GridBox, narrow};
use crate::launch::capture::{Captures, integers};
use crate::launch::device::{DeviceArg, DeviceArray, OnDevice};
use crate::launch::prepare::Prepared;
use crate::memory::coding::Coding;
use crate::memory::layout::{Raw, WideRegion};
use crate::memory::rows::Shared;

/// Bytes of the values of a piece that a kernel runs over: they should stay in a core's second-level cache.
const PIECE: usize = 512 << 10;
/// Rows of decoded values, and their planes, have multiples of so many.
const LINE: usize = 16;

/// The decoded values of an array: boxes of regions that follow one another.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    first: usize,
    parts: Arc<[Part]>,
}

/// Whole arrays, by argument.
pub(crate) type Wholes = OnceLock<Vec<Option<Decoded>>>;

/// Values of one box.
#[derive(Debug)]
struct Part {
    base: Shared<u8>,
    /// Elements in a plane.
    cells: usize,
    strides: [usize; 4],
    bounds: GridBox<4>,
    _memory: Vec<u64>,
}

impl Decoded {
    /// A region as views see it.
    pub fn raw<const D: usize>(&self, region: usize) -> Raw<D> {
        let part = &self.parts[region.saturating_sub(self.first).min(self.parts.len() - 1)];
        Raw {
            base: part.base.get(),
            cells: part.cells,
            origin: std::array::from_fn(|d| part.bounds.lo[4 - D + d]),
            strides: std::array::from_fn(|d| part.strides[4 - D + d]),
            bounds: narrow(&part.bounds),
        }
    }
}

impl Part {
    /// Room for the values of a box.
    fn new(bounds: GridBox<4>, bytes: usize) -> Part {
        let extent = if bounds.is_empty() { [0; 4] } else { bounds.extent() };
        let row = extent[3].next_multiple_of(LINE);
        let strides = [extent[1] * extent[2] * row, extent[2] * row, row, 1];
        let cells = extent[0] * strides[0];
        let mut memory = vec![0u64; cells * bytes / 8 + LINE];
        let base = memory.as_mut_ptr().cast::<u8>();
        let base = Shared::new(base.wrapping_add(base.align_offset(128)));
        Part { base, cells, strides, bounds, _memory: memory }
    }

    fn position(&self, at: [i64; 4]) -> usize {
        (0..4).map(|d| (at[d] - self.bounds.lo[d]) as usize * self.strides[d]).sum()
    }

    /// Calls `f` with each component, where the codes and the values of each row of a box are, and the length of a row.
    #[inline(always)]
    fn rows(
        &self,
        coding: &Coding,
        (base, region): (*mut u8, &WideRegion),
        cells: &GridBox<4>,
        mut f: impl FnMut(usize, *mut u8, *mut u8, usize),
    ) {
        if cells.is_empty() {
            return;
        }
        let length = cells.extent()[3];
        for component in 0..coding.components() {
            let (codes, values) = coding.before(component);
            let (codes, values) =
                (base.wrapping_add(region.cells as usize * codes), self.base.get().wrapping_add(self.cells * values));
            let (code, value) = (coding.code_size(component), coding.size(component));
            for at in cells.rows() {
                let from = codes.wrapping_add(region.position(at) * code);
                f(component, from, values.wrapping_add(self.position(at) * value), length);
            }
        }
    }

    /// Decodes what a region holds of a box.
    ///
    /// # Safety
    /// The region is live memory of codes, which no one writes, and holds the box, as the part does.
    unsafe fn decode(&self, coding: &Coding, region: (*mut u8, &WideRegion), cells: &GridBox<4>) {
        cpu::vectorised(
            #[inline(always)]
            || {
                self.rows(
                    coding,
                    region,
                    cells,
                    #[inline(always)]
                    // SAFETY: the caller's promise; both rows have so many.
                    |component, codes, values, n| unsafe { coding.decode(component, codes, values, n) },
                )
            },
        );
    }

    /// Encodes a box into a region; gives how many values saturated.
    ///
    /// # Safety
    /// As [`Part::decode`], and no one else touches the region's cells of the box.
    unsafe fn encode(&self, coding: &Coding, region: (*mut u8, &WideRegion), cells: &GridBox<4>) -> u64 {
        cpu::vectorised(
            #[inline(always)]
            || {
                let mut saturated = 0;
                self.rows(
                    coding,
                    region,
                    cells,
                    #[inline(always)]
                    // SAFETY: the caller's promise; both rows have so many.
                    |component, codes, values, n| unsafe { saturated += coding.encode(component, values, codes, n) },
                );
                saturated
            },
        )
    }
}

/// Runs a kernel over a piece of a box, with its arguments there.
type RunPiece<'a> = &'a dyn Fn(GridBox<4>, &[Option<Site>]) -> Result<(), Error>;

/// A launch whose arguments hold codes, or values that are rounded.
#[derive(Debug)]
pub(crate) struct Codes<'a> {
    pub prepared: &'a Prepared,
    pub captures: &'a Captures,
    /// Bit `n` keeps argument `n` to its valid cells.
    pub valid_only: u16,
    pub wholes: &'a Wholes,
    /// Pieces start at multiples of so many cells along each axis, for kernels over groups; else 1.
    pub grain: [i64; 4],
}

/// A region of an array, on the host or where `site` says.
fn region<'a>(array: &DeviceArray<'a>, site: Option<&'a Site>, number: usize) -> (*mut u8, &'a WideRegion) {
    match site {
        Some(Site::Device(site)) => site.region(number),
        Some(Site::Own(own)) => own.region(),
        _ => (array.storage.base(number), &array.regions.regions[number]),
    }
}

fn site(sites: Option<&[Option<Site>]>, arg: usize) -> Option<&Site> {
    sites?.get(arg)?.as_ref()
}

impl Codes<'_> {
    /// Runs a kernel over a box, with its arguments decoded, and encodes or rounds what it wrote; `run` is given each
    /// piece of the box and where arguments are, on the host or where `sites` says if they hold values.
    ///
    /// # Errors
    /// Those of `run`; values that saturate, where the array says so.
    ///
    /// # Safety
    /// As [`Launch::run`](crate::launch::step::Launch::run), for arguments of these codings.
    pub unsafe fn each(
        &self,
        args: SmallVec<[OnDevice<'_>; 8]>,
        (number, cells): (usize, GridBox<4>),
        sites: Option<&[Option<Site>]>,
        run: RunPiece<'_>,
    ) -> Result<(), Error> {
        let bytes: usize = self.prepared.kernel.args.iter().map(|arg| arg.element.components() * 8).sum();
        let mut saturated: SmallVec<[u64; 8]> = args.iter().map(|_| 0).collect();
        let outcome = pieces(cells, (PIECE / bytes.max(1)).max(64), &self.grain, &mut |piece| {
            // SAFETY: the caller's promise.
            let here = unsafe { self.decode(&args, &[(number, piece)], sites) };
            run(piece, &here)?;
            for (arg, of) in args.iter().enumerate().filter(|(arg, _)| self.prepared.args[*arg].written) {
                let DeviceArg::Tiled(array) = &of.0 else { continue };
                let region = region(array, site(sites, arg), number);
                if let Some(coding) = array.storage.rounds() {
                    // SAFETY: the caller's promise: these cells are the run's alone.
                    saturated[arg] += unsafe { round(coding, region, &piece) };
                } else if let Some(Some(Site::Decoded(decoded))) = here.get(arg)
                    && let (Some(coding), Some(part)) = (array.storage.codes(), decoded.parts.first())
                {
                    // SAFETY: as above.
                    saturated[arg] += unsafe { part.encode(coding, region, &piece) };
                }
            }
            Ok(())
        });
        for ((arg, of), values) in args.iter().enumerate().zip(saturated) {
            let is_spare = site(sites, arg).is_some_and(Site::is_spare);
            if let (DeviceArg::Tiled(array), false) = (&of.0, is_spare) {
                array.storage.saturate(values, || format!("run the kernel at {}", self.prepared.place()))?;
            }
        }
        outcome
    }

    /// Where the arguments of a reduction are, which reads boxes of regions that follow one another.
    ///
    /// # Safety
    /// As [`Codes::each`].
    pub unsafe fn sites(
        &self,
        args: SmallVec<[OnDevice<'_>; 8]>,
        boxes: &[(usize, GridBox<4>)],
        sites: Option<&[Option<Site>]>,
    ) -> Sites {
        // SAFETY: handed on.
        unsafe { self.decode(&args, boxes, sites) }
    }

    /// # Safety
    /// As [`Codes::each`].
    unsafe fn decode(
        &self,
        args: &[OnDevice<'_>],
        boxes: &[(usize, GridBox<4>)],
        sites: Option<&[Option<Site>]>,
    ) -> Sites {
        let one = |(arg, of): (usize, &OnDevice<'_>)| match &of.0 {
            DeviceArg::Tiled(array) => match array.storage.codes() {
                Some(coding) => {
                    let parts = boxes.iter().map(|(number, cells)| {
                        let region = region(array, site(sites, arg), *number);
                        let boxes = self.reads(arg, region.1, cells);
                        let all = boxes.iter().copied().reduce(hull).unwrap_or(*cells);
                        let part = Part::new(all, coding.value.bytes());
                        let old = usize::from(self.prepared.args[arg].must_write);
                        // SAFETY: the caller's promise; the boxes are inside the region.
                        boxes.iter().skip(old).for_each(|of| unsafe { part.decode(coding, region, of) });
                        part
                    });
                    let first = boxes.first().map_or(0, |(number, _)| *number);
                    Some(Site::Decoded(Decoded { first, parts: parts.collect() }))
                }
                None => site(sites, arg).cloned(),
            },
            DeviceArg::Whole(array, _) if array.storage.codes().is_some() => {
                // SAFETY: the caller's promise: nothing writes them until the last run of the kernel has ended.
                let wholes = self.wholes.get_or_init(|| unsafe { wholes(args, sites) });
                wholes.get(arg).cloned().flatten().map(Site::Decoded)
            }
            _ => site(sites, arg).cloned(),
        };
        args.iter().enumerate().map(one).collect()
    }

    /// What a kernel over these cells accesses of an array: of one that is written, these cells first, then what is
    /// read around them, which nobody writes meanwhile.
    fn reads(&self, arg: usize, region: &WideRegion, cells: &GridBox<4>) -> SmallVec<[GridBox<4>; 4]> {
        if cells.is_empty() {
            return smallvec![*cells];
        }
        match self.prepared.args[arg].written {
            true => [*cells].into_iter().chain(self.boxes(arg, cells).unwrap_or_default()).collect(),
            false => smallvec![self.read(arg, region, cells)],
        }
    }

    /// What a kernel over these cells reads of an array that it does not write.
    fn read(&self, arg: usize, region: &WideRegion, cells: &GridBox<4>) -> GridBox<4> {
        let bounds = if self.valid_only & (1 << arg) != 0 { region.valid } else { region.grown };
        let Some(boxes) = self.boxes(arg, cells) else { return bounds };
        match boxes.into_iter().reduce(hull) {
            Some(read) if bounds.contains_box(&read) => read,
            // What is outside is checked as it happens.
            Some(_) => bounds,
            None => GridBox { lo: cells.lo, hi: cells.lo },
        }
    }

    /// The boxes that reads of an array touch, but for those of a cell that is written; none if some is not known.
    fn boxes(&self, arg: usize, cells: &GridBox<4>) -> Option<SmallVec<[GridBox<4>; 4]>> {
        let (plan, rank) = (&self.prepared.args[arg], self.prepared.kernel.rank);
        let mut boxes = SmallVec::new();
        if let Some(halo) = &plan.halo {
            let mut of = *cells;
            for (d, (low, high)) in halo.iter().enumerate().take(rank) {
                of.lo[4 - rank + d] += low;
                of.hi[4 - rank + d] += high;
            }
            boxes.push(of);
        }
        let integers = integers(&self.prepared.analysis, self.captures);
        for &number in &plan.others {
            let access = &self.prepared.analysis.args[arg].accesses[number];
            let (lo, hi) = (&cells.lo[4 - rank..], &cells.hi[4 - rank..]);
            let range = self.prepared.analysis.range(access, lo, hi, &integers).filter(|range| range.len() == rank)?;
            let mut of = *cells;
            for (d, along) in range.iter().enumerate() {
                (of.lo[4 - rank + d], of.hi[4 - rank + d]) = (along.lo, along.hi.saturating_add(1));
            }
            if !of.is_empty() {
                boxes.push(of);
            }
        }
        Some(boxes)
    }
}

/// The smallest box that has both.
fn hull(one: GridBox<4>, other: GridBox<4>) -> GridBox<4> {
    GridBox {
        lo: std::array::from_fn(|d| one.lo[d].min(other.lo[d])),
        hi: std::array::from_fn(|d| one.hi[d].max(other.hi[d])),
    }
}

/// The whole arrays that hold codes, decoded.
///
/// # Safety
/// As [`Codes::each`].
unsafe fn wholes(args: &[OnDevice<'_>], sites: Option<&[Option<Site>]>) -> Vec<Option<Decoded>> {
    let one = |(arg, of): (usize, &OnDevice<'_>)| {
        let DeviceArg::Whole(array, _) = &of.0 else { return None };
        let coding = array.storage.codes()?;
        let parts = (0..array.regions.regions.len()).map(|number| {
            let region = region(array, site(sites, arg), number);
            let part = Part::new(region.1.valid, coding.value.bytes());
            // SAFETY: the caller's promise; a region holds its valid cells.
            unsafe { part.decode(coding, region, &region.1.valid) };
            part
        });
        Some(Decoded { first: 0, parts: parts.collect() })
    };
    args.iter().enumerate().map(one).collect()
}

/// Rounds the values of a box of a region; gives how many saturated.
///
/// # Safety
/// The region is live memory of values and holds the box, and no one else touches the box.
unsafe fn round(coding: &Coding, (base, region): (*mut u8, &WideRegion), cells: &GridBox<4>) -> u64 {
    cpu::vectorised(
        #[inline(always)]
        || {
            let (mut saturated, length) = (0, cells.extent()[3]);
            for component in (0..coding.components()).filter(|n| coding.codec(*n).is_some()) {
                let plane = base.wrapping_add(region.cells as usize * coding.before(component).1);
                for at in cells.rows() {
                    let first = plane.wrapping_add(region.position(at) * coding.size(component));
                    // SAFETY: the caller's promise; the row is one of the box.
                    saturated += unsafe { coding.round(component, first, length) };
                }
            }
            saturated
        },
    )
}

/// Cuts a box into pieces of so many cells at most, rows last, at multiples of `grain`.
fn pieces(
    cells: GridBox<4>,
    most: usize,
    grain: &[i64; 4],
    run: &mut dyn FnMut(GridBox<4>) -> Result<(), Error>,
) -> Result<(), Error> {
    if cells.is_empty() {
        return Ok(());
    }
    let extent = cells.extent();
    let middle = |d: usize| {
        let (lo, grain) = (cells.lo[d], grain[d].max(1));
        let middle = (lo + extent[d] as i64 / 2).div_euclid(grain) * grain;
        let middle = if middle > lo { middle } else { middle + grain };
        (middle < cells.hi[d]).then_some((d, middle))
    };
    let cut = (0..3).filter_map(middle).max_by_key(|(d, _)| extent[*d]).or_else(|| middle(3));
    let Some((axis, middle)) = cut.filter(|_| cells.cells() > most) else { return run(cells) };
    let (mut low, mut high) = (cells, cells);
    (low.hi[axis], high.lo[axis]) = (middle, middle);
    pieces(low, most, grain, run)?;
    pieces(high, most, grain, run)
}
