//! `scan`: the sums of all cells up to each one, the same bits for any regions, tiles and threads.
//!
//! The order is fixed: lines are taken in blocks of 64 cells. In a block each cell adds what lies 1, 2, 4, 8, 16 and 32
//! cells before it, in turn. The sums of whole blocks are a line that is summed in the same way, and what lies before a
//! block is added to its cells, as the left operand.

use super::args::all;
use super::groups::compute_groups;
use super::launch::compute;
use super::real::Number;
use super::reduce::Sum;
use crate::array::TileArray;
use crate::error::{Error, ErrorKind};
use crate::sealed::Sealed;
use crate::{group_kernel, kernel};

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
/// Those of [`compute`](crate::compute()); arrays of different shapes. The sums of blocks are read as a whole
/// ([`all`]), so arrays need room on the device as those do, and lie on one place.
#[track_caller]
pub fn scan<A: Summable>(_: Sum, kind: Scan, to: &mut A, of: &A) -> Result<(), Error> {
    to.sums(kind, of)
}

macro_rules! lines {
    ($d:literal, $last:literal, $group:tt, |$at:ident, $by:ident| $back:tt, $place:tt) => {
        impl<T: Number> Summable for TileArray<T, $d> {
            #[track_caller]
            fn sums(&mut self, kind: Scan, of: &Self) -> Result<(), Error> {
                let (domain, given) = (self.domain(), of.domain());
                if domain != given {
                    let found = format!("sums of {:?} cells, {:?} to sum", domain.hi, given.hi);
                    let tried = "sum cells up to each one";
                    return Err(Error::new(ErrorKind::Argument, tried, found, "give both arrays one shape"));
                }
                for tile in self.tiles() {
                    compute_groups(
                        &tile,
                        $group,
                        (&mut *self, of),
                        group_kernel!(T; |to, of, group| {
                            let sums = group.shared::<T>($group);
                            let next = group.shared::<T>($group);
                            group.each(|t| sums[t] = of[t.at()]);
                            let mut $by = 1;
                            while $by < 64 {
                                group.each(|t| {
                                    if t[$last] >= $by {
                                        next[t] = sums[t - $back] + sums[t];
                                    } else {
                                        next[t] = sums[t];
                                    }
                                });
                                group.each(|t| sums[t] = next[t]);
                                $by *= 2;
                            }
                            group.each(|t| to[t.at()] = sums[t]);
                        }),
                    )?;
                }
                let mut shape = domain.hi.map(|n| n as usize);
                if shape[$last] > BLOCK {
                    shape[$last] /= BLOCK;
                    let mut blocks = TileArray::<T, $d>::builder(shape).build(self.acc())?;
                    for tile in blocks.tiles() {
                        compute(&tile, (&mut blocks, all(&*self)), kernel!(|blocks, sums, $at| {
                            let $by = 64 * $at[$last] + 63;
                            blocks[$at] = sums[$place];
                        }))?;
                    }
                    let mut before = blocks.like()?;
                    before.sums(Scan::Inclusive, &blocks)?;
                    let (mut lo, hi) = (domain.lo, domain.hi);
                    lo[$last] += BLOCK as i64;
                    for tile in self.tiles().within(lo, hi) {
                        compute(&tile, (&mut *self, all(&before)), kernel!(|sums, before, $at| {
                            let $by = $at[$last] / 64 - 1;
                            sums[$at] = before[$place] + sums[$at];
                        }))?;
                    }
                }
                if kind == Scan::Exclusive {
                    let mut moved = self.like()?;
                    let (mut lo, hi) = (domain.lo, domain.hi);
                    lo[$last] += 1;
                    for tile in moved.tiles().within(lo, hi) {
                        compute(&tile, (&mut moved, all(&*self)), kernel!(|moved, sums, $at| {
                            let $by = $at[$last] - 1;
                            moved[$at] = sums[$place];
                        }))?;
                    }
                    self.copy_from(&moved)?;
                }
                Ok(())
            }
        }
    };
}

lines!(1, 0, [64], |at, by| [by], [by]);
lines!(2, 1, [1, 64], |at, by| [0, by], [at[0], by]);
lines!(3, 2, [1, 1, 64], |at, by| [0, 0, by], [at[0], at[1], by]);
