//! `scan`: the sums of all cells up to each one, the same bits for any regions, tiles and threads.
//!
//! The order is fixed: lines are taken in blocks of 64 cells. In a block each cell adds what lies 1, 2, 4, 8, 16 and 32
//! cells before it, in turn. The sums of whole blocks are a line that is summed in the same way, and what lies before a
//! block is added to its cells, as the left operand.
//!
//! Lines that are not cut, and are not too long for one thread of the CPU, are one step ([`whole`]). Others are summed
//! level by level, by kernels over groups: all cells are read twice and written once, for the sums of blocks, and for
//! those of all cells. The CPU runs these steps as plain loops ([`plain`]).

mod plain;
mod whole;

use std::panic::Location;

use super::args::all;
use super::groups::{Step, compute_scanned};
use super::real::Number;
use super::reduce::Sum;
use crate::array::{Fillable, TileArray, gathered};
use crate::error::{Error, ErrorKind};
use crate::group_kernel;
use crate::launch::scanned::{Scanned, Sums};
use crate::sealed::Sealed;

/// Cells of a block.
const BLOCK: usize = 64;

/// What [`scan`] leaves in a cell: with its own value, or without.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 2>::builder([2, 2]).build_slice(&acc, &[1.0, 2.0, 3.0, 4.0])?;
/// let mut sums = u.like()?;
/// scan(Sum, Scan::Inclusive, &mut sums, &u)?;
/// assert_eq!(sums.read_box(sums.domain())?, [1.0, 3.0, 3.0, 7.0]);
/// scan(Sum, Scan::Exclusive, &mut sums, &u)?;
/// assert_eq!(sums.read_box(sums.domain())?, [0.0, 1.0, 0.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scan {
    /// The sum of all cells up to this one.
    #[default]
    Inclusive,
    /// The sum of all cells before this one; 0 in the first cell.
    Exclusive,
}

/// An array whose lines [`scan`] sums: numbers, along one to three axes. No other type implements it.
#[diagnostic::on_unimplemented(
    message = "`scan` does not sum the lines of `{Self}`",
    label = "no array of numbers of one to three axes",
    note = "`sweep_along` runs any recurrence along any axis"
)]
pub trait Summable: Sized + Sealed {
    #[doc(hidden)]
    fn sums(&mut self, kind: Scan, of: &Self) -> Result<(), Error>;
}

/// Records the sums of all cells up to each one, along lines of the last axis, and returns. Unlike
/// [`sweep_along`](crate::sweep_along()), which goes through a line cell by cell, it is parallel within a line: for one
/// long line, or few. All other recurrences, and other axes, are those of `sweep_along`.
///
/// `to` takes the sums of the cells of `of`; both have the same shape. Ghosts are neither read nor set.
///
/// Where several [places](crate::TileAcc::places) or ranks have parts of one line, an array of one axis, all are told
/// the sums of blocks, and the call waits for these. Of arrays of more axes each sums the lines that it has.
///
/// The order of additions is fixed, so sums of floats have the same bits on every device, however arrays are cut: in
/// blocks of 64 cells each cell adds what lies 1, 2, 4, .. 32 cells before it, in turn; the sums of blocks are summed
/// in the same way. (So they are other bits than those of a loop.)
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let counts = TileArray::<u32, 1>::builder([5]).build_slice(&acc, &[3, 0, 2, 4, 1])?;
/// let mut first = counts.like()?;
/// scan(Sum, Scan::Exclusive, &mut first, &counts)?;
/// assert_eq!(first.read_box(first.domain())?, [0, 3, 3, 5, 9]);
/// scan(Sum, Scan::Inclusive, &mut first, &counts)?;
/// assert_eq!(first.read_box(first.domain())?, [3, 3, 5, 9, 10]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`compute`](crate::compute()); arrays of different shapes; on several places, arrays of which these have
/// unlike parts. Where lines are cut, or several places have parts of one, the sums of blocks are read as a whole
/// ([`all`]), so arrays need room on the device as those do. Rows that are not cut go region by region.
#[track_caller]
pub fn scan<A: Summable>(_: Sum, kind: Scan, to: &mut A, of: &A) -> Result<(), Error> {
    to.sums(kind, of)
}

/// The steps of a sum, of arrays of so many axes. Arrays are parts of others here, too: what they own is summed.
trait Steps: Sized {
    /// Sums all lines, of which each lies in one region.
    fn lines(&mut self, kind: Scan, of: &Self) -> Result<(), Error>;
    /// The sums of whole blocks of 64 cells, as an array of the same place, if lines have more cells than a block.
    fn blocks(&self) -> Result<Option<Self>, Error>;
    /// Sums each block of 64 cells of `of`, on top of what is before it: `sums` of these `blocks`. `first` is the row
    /// at which both begin.
    fn blockwise(&mut self, kind: Scan, of: &Self, before: [&Self; 2], first: i64) -> Result<(), Error>;
}

macro_rules! lines {
    (
        $d:literal, $last:literal, $group:tt, $back:tt,
        |$at:ident, $by:ident, $first:ident| $end:tt, $before:tt
    ) => {
        impl<T: Number> Summable for TileArray<T, $d> {
            #[track_caller]
            fn sums(&mut self, kind: Scan, of: &Self) -> Result<(), Error> {
                sums(self, kind, of, Location::caller())
            }
        }

        impl<T: Number> Steps for TileArray<T, $d> {
            fn lines(&mut self, kind: Scan, of: &Self) -> Result<(), Error> {
                let own = self.layout.owned;
                let exclusive = kind == Scan::Exclusive;
                let lines = if exclusive { whole::lines::<T, $d, true> } else { whole::lines::<T, $d, false> };
                for tile in self.tiles().within(own.lo, own.hi) {
                    let scanned = Scanned { axes: $d, first: 0, sums: Sums::OfLines { exclusive } };
                    compute_scanned(
                        &tile,
                        $group,
                        (&mut *self, of),
                        group_kernel!(T; |to, of, group| group.each(|t| to[t.at()] = of[t.at()])),
                        Step { scanned, plain: Box::new(lines), lines: true },
                    )?;
                }
                Ok(())
            }

            fn blocks(&self) -> Result<Option<Self>, Error> {
                let own = self.layout.owned;
                let mut shape = own.extent();
                shape[$last] = own.hi[$last] as usize / BLOCK - own.lo[$last] as usize / BLOCK;
                if self.layout.shape[$last] <= BLOCK || shape[$last] == 0 {
                    return Ok(None);
                }
                let mut blocks = TileArray::<T, $d>::builder(shape).regions([1; $d]).build(self.acc())?;
                let $first = own.lo[0];
                for tile in blocks.tiles() {
                    let args = (&mut blocks, all(self));
                    let scanned = Scanned { axes: $d, first: $first, sums: Sums::OfBlocks };
                    compute_scanned(&tile, $group, args, group_kernel!(T; |blocks, of, group| {
                        group.each(|t| {
                            let $at = t.at();
                            // Neighbours first: so the last cell of a block adds what lies 1, 2, .. 32 before it.
                            let mut block = T::lit(0);
                            for half in 0..2 {
                                let mut sum = T::lit(0);
                                for quarter in 0..2 {
                                    let mut part = T::lit(0);
                                    for eighth in 0..2 {
                                        let from = 64 * $at[$last] + 32 * half + 16 * quarter + 8 * eighth;
                                        let $by = from;
                                        let a = of[$end];
                                        let $by = from + 1;
                                        let b = of[$end];
                                        let $by = from + 2;
                                        let c = of[$end];
                                        let $by = from + 3;
                                        let d = of[$end];
                                        let $by = from + 4;
                                        let e = of[$end];
                                        let $by = from + 5;
                                        let f = of[$end];
                                        let $by = from + 6;
                                        let g = of[$end];
                                        let $by = from + 7;
                                        let h = of[$end];
                                        let eight = ((a + b) + (c + d)) + ((e + f) + (g + h));
                                        part = if eighth == 0 { eight } else { part + eight };
                                    }
                                    sum = if quarter == 0 { part } else { sum + part };
                                }
                                block = if half == 0 { sum } else { block + sum };
                            }
                            blocks[t.at()] = block;
                        });
                    }), Step {
                        scanned,
                        plain: Box::new(move |views, cells| plain::blocks(views, cells, $first)),
                        lines: false,
                    })?;
                }
                Ok(Some(blocks))
            }

            fn blockwise(
                &mut self,
                kind: Scan,
                of: &Self,
                [blocks, sums]: [&Self; 2],
                $first: i64,
            ) -> Result<(), Error> {
                let own = self.layout.owned;
                let exclusive = kind == Scan::Exclusive;
                for tile in self.tiles().within(own.lo, own.hi) {
                    let scanned = Scanned { axes: $d, first: $first, sums: Sums::UpTo { exclusive } };
                    compute_scanned(
                        &tile,
                        $group,
                        (&mut *self, of, all(blocks), all(sums)),
                        group_kernel!(T; |to, of, blocks, sums, group| {
                            let a = group.shared::<T>($group);
                            let b = group.shared::<T>($group);
                            group.each(|t| a[t] = of[t.at()]);
                            let mut $by = 1;
                            while $by < 64 {
                                group.each(|t| b[t] = if t[$last] >= $by { a[t - $back] + a[t] } else { a[t] });
                                $by *= 2;
                                group.each(|t| a[t] = if t[$last] >= $by { b[t - $back] + b[t] } else { b[t] });
                                $by *= 2;
                            }
                            group.each(|t| {
                                let $at = t.at();
                                let block = $at[$last] / 64;
                                let $by = (block - 1).max(0);
                                let whole = blocks[$before];
                                let up_to = sums[$before];
                                let mut sum = a[t];
                                if exclusive {
                                    let $by = 1;
                                    if t[$last] > 0 {
                                        sum = a[t - $back];
                                    }
                                }
                                if block > 0 {
                                    sum = up_to + sum;
                                }
                                if exclusive && t[$last] == 0 {
                                    sum = T::lit(0);
                                    if block > 0 {
                                        sum = whole;
                                    }
                                    if block > 1 {
                                        let $by = (block - 2).max(0);
                                        sum = sums[$before] + whole;
                                    }
                                }
                                to[t.at()] = sum;
                            });
                        }),
                        Step {
                            scanned,
                            plain: Box::new(move |views, cells| plain::blockwise(views, cells, (exclusive, $first))),
                            lines: false,
                        },
                    )?;
                }
                Ok(())
            }
        }
    };
}

lines!(1, 0, [64], [by], |at, by, first| [by + first], [by - first]);
lines!(2, 1, [1, 64], [0, by], |at, by, first| [at[0] + first, by], [at[0] - first, by]);
lines!(3, 2, [1, 1, 64], [0, 0, by], |at, by, first| [at[0] + first, at[1], by], [at[0] - first, at[1], by]);

/// Sums lines, wherever arrays lie.
fn sums<T: Number, const D: usize>(
    to: &mut TileArray<T, D>,
    kind: Scan,
    of: &TileArray<T, D>,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    TileArray<T, D>: Steps,
{
    let error = |kind, found: String, advice: &str| Error::new(kind, "sum cells up to each one", found, advice);
    let (domain, given) = (to.domain(), of.domain());
    if domain != given {
        let found = format!("sums of {:?} cells, {:?} to sum", domain.hi, given.hi);
        return Err(error(ErrorKind::Argument, found, "give both arrays one shape").recorded_at(recorded));
    }
    if !to.lies_as(of) {
        let found = "arrays of which places have unlike parts".into();
        let advice = "build one by `like()` of the other, or `copy_from` it into an array that is";
        return Err(error(ErrorKind::Cuts, found, advice).recorded_at(recorded));
    }
    match to.places() {
        1 if !to.is_parted() => in_lines(to, kind, of),
        2.. if D == 1 && !to.is_everywhere() => through_places(to, kind, of, recorded),
        // Each has all of its lines.
        _ => to.parts_beside(of).try_for_each(|(to, of)| in_lines(to, kind, of)),
    }
}

/// Sums lines of which one place has all: those of an array, or of a part of one.
fn in_lines<T: Number, const D: usize>(to: &mut TileArray<T, D>, kind: Scan, of: &TileArray<T, D>) -> Result<(), Error>
where
    TileArray<T, D>: Steps,
{
    if whole::fit(to, of) {
        return to.lines(kind, of);
    }
    let own = to.layout.owned;
    let (blocks, sums) = match of.blocks()? {
        Some(blocks) => {
            let mut sums = blocks.like()?;
            in_lines(&mut sums, Scan::Inclusive, &blocks)?;
            (blocks, sums)
        }
        None => {
            // There is nothing before any block.
            let mut shape = own.extent();
            shape[D - 1] = 1;
            let none = TileArray::builder(shape).regions([1; D]).build(to.acc())?;
            (none.like()?, none)
        }
    };
    to.blockwise(kind, of, [&blocks, &sums], own.lo[0])
}

/// Sums one line of which several places have parts: all are told the sums of blocks, for which they wait.
fn through_places<T: Number, const D: usize>(
    to: &mut TileArray<T, D>,
    kind: Scan,
    of: &TileArray<T, D>,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    TileArray<T, D>: Steps,
{
    let call = to.shared_call("scan", recorded).map(|(world, call)| (world.clone(), call));
    let told = |own, call| gathered(call, own, ("scan", recorded));
    // All are recorded before one is waited for.
    let blocks = of.parts_here();
    let blocks = of.parts[blocks].iter().filter_map(|of| of.blocks().transpose()).collect::<Result<Vec<_>, _>>();
    let own = blocks.and_then(|all| {
        of.start_all()?;
        let values = all.iter().map(|blocks| blocks.read_box(blocks.domain())).collect::<Result<Vec<_>, _>>();
        Ok(values?.concat())
    });
    let all = told(own, call.as_ref().map(|(world, call)| (&**world, *call)))?;
    to.parts_beside(of).try_for_each(|(to, of)| {
        let mut blocks = TileArray::<T, D>::builder([all.len().max(1); D]).regions([1; D]).build(to.acc())?;
        if !all.is_empty() {
            blocks.write_box(blocks.domain(), &all)?;
        }
        let mut sums = blocks.like()?;
        in_lines(&mut sums, Scan::Inclusive, &blocks)?;
        to.blockwise(kind, of, [&blocks, &sums], 0)
    })
}
