//! Whole arrays of several regions as native kernels read them: boxes of cells are cut where the regions that they read
//! change, so that one region has all that most parts read. To find the region of a cell takes several times as long as
//! to read it.

use smallvec::SmallVec;
use tida_kernels::analysis::{Analysis, Interval};

use crate::error::Error;
use crate::grid::GridBox;

/// The ends of the regions of a whole array along each axis; none of another argument, or where there is one region.
pub type Ends<'a> = Option<SmallVec<[&'a [i64]; 4]>>;

/// The region that has all that is read of each argument, where there is one.
pub type Alone = SmallVec<[Option<usize>; 8]>;

/// What decides which regions a box of cells reads.
pub(super) struct Regions<'a, 'e> {
    pub analysis: &'a Analysis,
    pub captures: &'a [Option<Interval>],
    pub ends: &'a [Ends<'e>],
    /// Axes of a cell.
    pub rank: usize,
}

impl Regions<'_, '_> {
    /// The first region that a box of cells reads of an argument, and how many it reads; none if that is not known.
    fn read(&self, arg: usize, cells: &GridBox<4>) -> Option<(usize, usize)> {
        let ends = self.ends.get(arg)?.as_ref()?;
        let read =
            self.analysis.read_box(arg, &cells.lo[4 - self.rank..], &cells.hi[4 - self.rank..], self.captures)?;
        if read.len() != ends.len() {
            return None;
        }
        let (mut first, mut count) = (0, 1);
        for (along, ends) in read.iter().zip(ends) {
            let [lo, hi] = [along.lo, along.hi].map(|at| ends.partition_point(|end| *end <= at));
            if along.is_empty() || hi >= ends.len() {
                return None;
            }
            (first, count) = (first * ends.len() + lo, count * (hi + 1 - lo));
        }
        Some((first, count))
    }

    /// Runs the parts of a box, each with the regions that have all it reads.
    pub fn each(
        &self,
        cells: GridBox<4>,
        run: &mut dyn FnMut(GridBox<4>, &Alone) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // What a cell alone reads of one region can come from one region for many.
        let corners = [cells.lo, cells.hi.map(|end| end - 1)].map(|at| GridBox::new(at, at.map(|x| x + 1)));
        let alone = |arg: usize| corners.iter().any(|cell| self.read(arg, cell).is_some_and(|(_, count)| count == 1));
        let args: SmallVec<[usize; 8]> = (0..self.ends.len()).filter(|arg| alone(*arg)).collect();
        self.parts(cells, &args, run)
    }

    fn parts(
        &self,
        cells: GridBox<4>,
        args: &[usize],
        run: &mut dyn FnMut(GridBox<4>, &Alone) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some([first, second]) = self.cut(&cells, args) {
            self.parts(first, args, run)?;
            return self.parts(second, args, run);
        }
        let mut alone: Alone = SmallVec::from_elem(None, self.ends.len());
        for &arg in args {
            alone[arg] = self.read(arg, &cells).filter(|(_, count)| *count == 1).map(|(region, _)| region);
        }
        run(cells, &alone)
    }

    /// Two parts of a box of which one reads fewer regions.
    fn cut(&self, cells: &GridBox<4>, args: &[usize]) -> Option<[GridBox<4>; 2]> {
        let count = |cells: &GridBox<4>| {
            args.iter()
                .map(|arg| self.read(*arg, cells).map_or(usize::MAX, |(_, count)| count))
                .fold(0, usize::saturating_add)
        };
        let all = count(cells);
        if all <= args.len() {
            return None;
        }
        let at = |axis: usize, place: i64| {
            let mut parts = [*cells; 2];
            parts[0].hi[axis] = place;
            parts[1].lo[axis] = place;
            parts
        };
        for axis in 4 - self.rank..4 {
            let (lo, hi) = (cells.lo[axis], cells.hi[axis]);
            if hi - lo < 2 {
                continue;
            }
            // What a larger part reads is no less: the longest part at either end that reads as little as the first
            // cells there.
            let least = count(&at(axis, lo + 1)[0]);
            if least < all {
                return Some(at(axis, last(lo + 1, hi - 1, |place| count(&at(axis, place)[0]) <= least)));
            }
            let least = count(&at(axis, hi - 1)[1]);
            if least < all {
                return Some(at(axis, -last(1 - hi, -lo - 1, |place| count(&at(axis, -place)[1]) <= least)));
            }
        }
        None
    }
}

/// The last number from `lo` to `hi` for which this holds, if it holds for `lo` and for all up to some number.
fn last(mut lo: i64, mut hi: i64, holds: impl Fn(i64) -> bool) -> i64 {
    while lo < hi {
        let middle = hi - (hi - lo) / 2;
        if holds(middle) {
            lo = middle;
        } else {
            hi = middle - 1;
        }
    }
    lo
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::*;
    use crate::compute::args::{Args, HeldArgs, Views};
    use crate::compute::ask::Ask;
    use crate::compute::launch::quote;
    use crate::compute::view::{Checked, Proven};
    use crate::grid::narrow;
    use crate::launch::prepare::prepare;
    use crate::prelude::*;

    /// The parts of a box, each with the region of the second argument that it reads alone.
    fn parts<A, R, N>(args: A, cells: GridBox<2>, kernel: N) -> Vec<(GridBox<2>, Option<usize>)>
    where
        A: Args<2>,
        N: for<'b> Fn(Ask<'b, Views<A, Proven, 2>, Views<A, Checked, 2>, R, 2>) + Send + Sync + 'static,
    {
        let mut quoted = quote(&kernel).unwrap();
        let views = TypeId::of::<Views<A, Proven, 2>>();
        let prepared = prepare(&mut quoted, views, 2, <A::Held as HeldArgs<2>>::BINDINGS, || None).unwrap();
        let held = args.hold(0);
        let ends = held.ends();
        let mut parts = Vec::new();
        let mut add = |part: GridBox<4>, alone: &Alone| {
            parts.push((narrow(&part), alone[1]));
            Ok(())
        };
        Regions { analysis: &prepared.analysis, captures: &[], ends: &ends, rank: 2 }
            .each(cells.widen(), &mut add)
            .unwrap();
        parts
    }

    /// Each cell is in one part, and each part reads what it says: `reads` gives the first and the last row and column
    /// of a cell.
    #[track_caller]
    fn right(parts: &[(GridBox<2>, Option<usize>)], cells: GridBox<2>, reads: impl Fn([i64; 2]) -> [[i64; 2]; 2]) {
        // Regions of 16 rows and 64 columns, two along the columns.
        let region = |[j, i]: [i64; 2]| (j / 16 * 2 + i / 64) as usize;
        for j in cells.lo[0]..cells.hi[0] {
            for i in cells.lo[1]..cells.hi[1] {
                let inside = |part: &GridBox<2>| (0..2).all(|d| (part.lo[d]..part.hi[d]).contains(&[j, i][d]));
                let of: Vec<_> = parts.iter().filter(|(part, _)| inside(part)).collect();
                let [(_, alone)] = of[..] else { panic!("{j}, {i} is in {} parts", of.len()) };
                let read = reads([j, i]).map(region);
                assert!(alone.is_none_or(|alone| read == [alone; 2]), "{j}, {i} reads {read:?}, not {alone:?} alone");
            }
        }
    }

    #[test]
    fn boxes_are_cut_where_the_regions_that_they_read_change() {
        let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
        let e = TileArray::<f64, 2>::builder([48, 128]).regions([3, 2]).build(&acc).unwrap();
        let mut u = TileArray::<f64, 2>::builder([96, 256]).build(&acc).unwrap();
        for (lo, hi, count) in
            [([0, 0], [96, 256], 6), ([0, 0], [32, 128], 1), ([31, 5], [33, 120], 2), ([40, 130], [41, 131], 1)]
        {
            let cells = GridBox::new(lo, hi);
            let found = parts((&mut u, all(&e)), cells, kernel!(|u, e, at| u[at] = e[[at[0] / 2, at[1] / 2]]));
            right(&found, cells, |at| [at.map(|x| x / 2); 2]);
            assert!(found.len() == count && found.iter().all(|(_, alone)| alone.is_some()), "{found:?}");
        }
        // Rows and columns beside a cut read several regions; four parts between them do not.
        let cells = GridBox::new([1, 0], [48, 128]);
        let found = parts(
            (&mut u, all(&e)),
            cells,
            kernel!(|u, e, at| u[at] = e[[at[0] - 1, at[1]]] + e[[at[0], (at[1] + 1).min(127)]]),
        );
        right(&found, cells, |[j, i]| [[j - 1, i], [j, (i + 1).min(127)]]);
        let alone: usize = found.iter().filter(|(_, alone)| alone.is_some()).map(|(part, _)| part.cells()).sum();
        assert!(alone > 45 * 126 && found.len() < 24, "{found:?}");
        // What depends on all of the array is left whole.
        let found = parts(
            (&mut u, all(&e)),
            cells,
            kernel!(|u, e, at| {
                let mut sum = 0.0;
                for k in 0..128 {
                    sum += e[[at[0], k]];
                }
                u[at] = sum;
            }),
        );
        assert_eq!(found, [(cells, None)]);
    }
}
