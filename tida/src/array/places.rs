//! Arrays on several places: which part of an array each has.
//!
//! Such an array is several ordinary arrays, one a place. Each has a run of planes of the first axis, at the
//! coordinates of the whole, and the planes of its neighbours next to them as ghosts ([`Layout::part`]). The array
//! itself has no memory: what is done with it is done with its parts.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use super::TileArray;
use super::strips::Route;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::ages::Ages;
use crate::memory::element::Element;
use crate::memory::layout::{Centering, Cuts, Layout};
use crate::ranks::World;

/// How an array lies on several places.
#[derive(Debug)]
pub(crate) struct Placed<const D: usize> {
    pub parts: Vec<PartOf<D>>,
    /// Each part is all of the array: places have equal copies of it. These are the parts on this rank's places.
    pub everywhere: bool,
    /// What goes from one part to another when ghosts are filled.
    pub routes: Vec<Route>,
    /// The regions of this rank: all of them without ranks.
    pub here: Range<usize>,
    /// There are several ranks.
    pub is_on_ranks: bool,
}

/// The part of an array on a place.
#[derive(Debug)]
pub(crate) struct PartOf<const D: usize> {
    pub place: usize,
    pub layout: Arc<Layout<D>>,
    /// Its first region, of those of the array.
    pub first: usize,
}

impl<const D: usize> Placed<D> {
    /// The parts that have each cell once.
    pub fn owners(&self) -> &[PartOf<D>] {
        if self.everywhere { &self.parts[..1.min(self.parts.len())] } else { &self.parts }
    }

    /// The part that has a region.
    pub fn part_of(&self, region: usize) -> Option<&PartOf<D>> {
        let parts = self.owners();
        let after = parts.partition_point(|part| part.first <= region);
        parts[..after].last()
    }

    /// The number of the part that has a region, and the region's number there.
    fn number_of(&self, region: usize) -> Option<(usize, usize)> {
        let part = self.part_of(region)?;
        Some((if self.everywhere { 0 } else { part.place }, region - part.first))
    }

    /// The numbers of the parts of this rank that have a region, and the region's number there.
    fn numbers_of(&self, acc: &TileAcc, region: usize) -> Vec<(usize, usize)> {
        let here = self.parts_here(acc);
        match self.everywhere {
            true => here.map(|part| (part, region)).collect(),
            false => self.number_of(region).into_iter().filter(|(part, _)| here.contains(part)).collect(),
        }
    }

    /// The parts of this rank.
    fn parts_here(&self, acc: &TileAcc) -> Range<usize> {
        if self.everywhere {
            return 0..self.parts.len();
        }
        let here = acc.places_here();
        here.start.min(self.parts.len())..here.end.min(self.parts.len())
    }

    /// What this rank's parts, of the first so many, have of a box, each with the part's number, in the order of rows.
    fn within(&self, acc: &TileAcc, parts: usize, cells: &GridBox<D>) -> Vec<(usize, GridBox<D>)> {
        let here = self.parts_here(acc);
        let numbers = here.start..here.end.min(parts);
        let parts = numbers.map(|number| (number, self.parts[number].layout.owned.intersect(cells)));
        parts.filter(|(_, cells)| !cells.is_empty()).collect()
    }

    /// The part of a box that a rank has: a run of its rows.
    fn of_rank(&self, acc: &TileAcc, rank: usize, cells: &GridBox<D>) -> GridBox<D> {
        let parts = self.owners().iter().enumerate().filter(|(number, _)| acc.rank_of(*number) == rank);
        let parts = parts.map(|(_, part)| part.layout.owned.intersect(cells));
        let all = parts.filter(|part| !part.is_empty()).reduce(|mut all, part| {
            all.hi[0] = part.hi[0];
            all
        });
        all.unwrap_or(GridBox { lo: cells.lo, hi: cells.lo })
    }

    /// The parts that have some of a box, by their numbers.
    fn with_some_of(&self, cells: &GridBox<D>) -> impl Iterator<Item = usize> {
        let parts = self.owners().iter().enumerate();
        parts.filter(|(_, part)| part.layout.owned.overlaps(cells)).map(|(number, _)| number)
    }

    /// The cells of each part, and those of them that are its own.
    fn held(&self) -> Vec<[GridBox<D>; 2]> {
        self.parts.iter().map(|part| [part.layout.owned, part.layout.held]).collect()
    }

    /// Cells of the first axis on each place.
    pub fn cells(&self) -> Vec<usize> {
        let of = |at: &[i64]| at.first().zip(at.last()).map_or(0, |(first, last)| (last - first) as usize);
        self.parts.iter().map(|part| of(&part.layout.cuts.at[0])).collect()
    }
}

/// Fewest planes of a part, where nobody says how many.
const FEWEST: usize = 4;

/// Fewest blocks of a part that are not cut, where there may be larger ones: so no part has more than a 32nd more than
/// its share.
const BLOCKS: usize = 32;

/// Cuts an array for so many places, where the first axis is cut at multiples of `unit` cells: gives the layers of
/// regions that each place has. Cuts finer where there are fewer layers than places, at multiples of `unit` times a
/// power of two that grows with the array: groups of cells then end at the cuts of long arrays, and an array of half
/// the cells is cut at half of them.
pub(super) fn share<const D: usize>(cuts: &mut Cuts<D>, places: usize, unit: usize) -> Vec<Range<usize>> {
    let cells = cuts.cells[0];
    let parts = places.min(cells.div_ceil(unit)).min(cells / FEWEST).max(1);
    let layers = cuts.at[0].len() - 1;
    if layers < parts {
        let mut block = unit;
        while cells / block / 2 >= BLOCKS * parts {
            block *= 2;
        }
        let blocks = cells.div_ceil(block);
        cuts.at[0] = (0..=parts).map(|n| (n * blocks / parts * block).min(cells) as i64).collect();
    }
    let layers = cuts.at[0].len() - 1;
    (0..parts).map(|n| n * layers / parts..(n + 1) * layers / parts).collect()
}

/// The same, where each place has so many cells of the first axis. None if that cannot be.
pub(super) fn share_as<const D: usize>(
    cuts: &mut Cuts<D>,
    cells: &[usize],
    places: usize,
    unit: usize,
) -> Option<Vec<Range<usize>>> {
    let mut ends = vec![0i64];
    for count in cells {
        let end = ends.last()?.checked_add(i64::try_from(*count).ok()?)?;
        ends.push(end);
    }
    let end = cuts.cells[0] as i64;
    let inner = ends.get(1..cells.len()).unwrap_or_default();
    let fits = ends.last() == Some(&end) && inner.iter().all(|at| *at % unit as i64 == 0);
    if cells.is_empty() || cells.len() > places || cells.contains(&0) || !fits {
        return None;
    }
    cuts.at[0].extend(inner);
    cuts.at[0].sort_unstable();
    cuts.at[0].dedup();
    let layer = |at: &i64| cuts.at[0].partition_point(|cut| cut < at);
    Some(ends.windows(2).map(|part| layer(&part[0])..layer(&part[1])).collect())
}

/// Is given a part and what it has of a box.
type OfPart<'a, A, const D: usize> = &'a mut dyn FnMut(&A, GridBox<D>) -> Result<(), Error>;

/// The same of a part that is to be changed.
type OfPartMut<'a, A, const D: usize> = &'a mut dyn FnMut(&mut A, GridBox<D>) -> Result<(), Error>;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The part on a place; the array itself, if it lies on one. What is everywhere has parts on this rank's places.
    pub(crate) fn on(&self, place: usize) -> &TileArray<T, D> {
        let part = match self.copy_here() {
            Some(copy) if place < self.acc.all_places() => {
                let number = place.checked_sub(self.acc.places_here().start);
                Some(number.and_then(|number| self.parts.get(number)).unwrap_or(copy))
            }
            Some(_) => None,
            None => self.parts.get(place),
        };
        part.unwrap_or(self)
    }

    /// What this rank reads of an array that is everywhere: one of its copies.
    pub(super) fn copy_here(&self) -> Option<&TileArray<T, D>> {
        self.parts.first().filter(|_| self.is_everywhere())
    }

    /// Whether it lies on the places of an accelerator of several, perhaps on one of them alone.
    pub(crate) fn is_parted(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Whether each place has all of it.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.placed.as_ref().is_some_and(|placed| placed.everywhere)
    }

    /// The parts that have each cell once, to read from.
    pub(super) fn owners(&self) -> &[TileArray<T, D>] {
        if self.is_everywhere() { &self.parts[..1.min(self.parts.len())] } else { &self.parts }
    }

    /// The number of the part that has a region, and the region's number there.
    pub(super) fn part_of(&self, region: usize) -> Option<(usize, usize)> {
        self.placed.as_ref().filter(|_| region < self.regions())?.number_of(region)
    }

    /// The parts of this rank.
    pub(crate) fn parts_here(&self) -> Range<usize> {
        self.placed.as_ref().map_or(0..0, |placed| placed.parts_here(&self.acc))
    }

    /// The parts of a box that this rank has, each with the number of the array's part that has it, in the order of
    /// rows.
    pub(super) fn of_parts(&self, cells: &GridBox<D>) -> Vec<(usize, GridBox<D>)> {
        self.within(self.owners().len(), cells)
    }

    /// The same of a box that changes: with all parts that have some of it.
    pub(super) fn changed_parts(&self, cells: &GridBox<D>) -> Vec<(usize, GridBox<D>)> {
        self.within(self.parts.len(), cells)
    }

    fn within(&self, parts: usize, cells: &GridBox<D>) -> Vec<(usize, GridBox<D>)> {
        self.placed.as_ref().map_or_else(Vec::new, |placed| placed.within(&self.acc, parts, cells))
    }

    /// The numbers of the parts of this rank that have a region, and the region's number there.
    pub(super) fn parts_of(&self, region: usize) -> Vec<(usize, usize)> {
        let placed = self.placed.as_ref().filter(|_| region < self.regions());
        placed.map_or_else(Vec::new, |placed| placed.numbers_of(&self.acc, region))
    }

    /// The parts of this rank, all cells of which are to be changed, each with that of an array that
    /// [lies](TileArray::lies_as) alike.
    pub(crate) fn parts_beside<'a>(
        &'a mut self,
        other: &'a TileArray<T, D>,
    ) -> impl Iterator<Item = (&'a mut TileArray<T, D>, &'a TileArray<T, D>)> {
        self.written_on_ranks(&self.layout.domain());
        let here = self.parts_here();
        self.parts[here.clone()].iter_mut().zip(&other.parts[here])
    }

    /// Whether places have parts of the same cells of both arrays.
    pub(crate) fn lies_as(&self, other: &TileArray<T, D>) -> bool {
        match (&self.placed, &other.placed) {
            (Some(own), Some(other)) => own.everywhere == other.everywhere && own.held() == other.held(),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Gives all places of an array that is everywhere what the first one has: the cells of a region, or its ghosts
    /// too, or all cells.
    ///
    /// # Errors
    /// Failed work on the array.
    #[track_caller]
    pub(super) fn spread(&mut self, region: Option<usize>, grown: bool) -> Result<(), Error> {
        if !self.is_everywhere() {
            return Ok(());
        }
        let of_region = |number: usize| if grown { self.grown_box(number) } else { self.region_box(number) };
        let cells = region.and_then(of_region).unwrap_or(self.layout.domain());
        let Some((first, others)) = self.parts.split_first_mut() else { return Ok(()) };
        match region.filter(|_| grown) {
            Some(region) => {
                let values = first.read_grown_box(region, cells)?;
                for other in others {
                    other.write_grown_box(region, cells, &values)?;
                }
            }
            None => {
                let values = first.read_box(cells)?;
                for other in others {
                    other.write_box(cells, &values)?;
                }
            }
        }
        Ok(())
    }

    /// The part of a box that a rank has: a run of its rows.
    pub(super) fn of_rank(&self, rank: usize, cells: &GridBox<D>) -> GridBox<D> {
        let nothing = GridBox { lo: cells.lo, hi: cells.lo };
        self.placed.as_ref().map_or(nothing, |placed| placed.of_rank(&self.acc, rank, cells))
    }

    /// That this rank has a part; `what` the caller wants of it.
    ///
    /// # Errors
    /// The rank that has it.
    pub(super) fn check_here(&self, part: usize, what: &dyn Fn() -> String) -> Result<(), Error> {
        if self.acc.world().is_none() || self.parts_here().contains(&part) {
            return Ok(());
        }
        Err(lies_elsewhere(&self.acc, part, what()))
    }

    /// That this rank has all of a box; `tried` says what the caller wants of it.
    ///
    /// # Errors
    /// The rank that has some of it.
    pub(super) fn check_box_here(&self, cells: &GridBox<D>, tried: &str) -> Result<(), Error> {
        let Some(placed) = &self.placed else { return Ok(()) };
        let tried = || format!("{tried} in the box {:?}..{:?}", cells.lo, cells.hi);
        placed.with_some_of(cells).try_for_each(|number| self.check_here(number, &tried))
    }

    /// Says that this rank makes a call that all ranks make, if the array lies on several.
    pub(crate) fn shared_call(&self, what: &str, recorded: &Location<'_>) -> Option<(&Arc<World>, u64)> {
        let world = self.acc.world().filter(|_| self.is_parted())?;
        let call = world.call(format_args!("{what} of {} {:?}", T::TYPE, self.layout.shape), recorded);
        Some((world, call))
    }

    /// Runs `f` on each part that has some of a box; gives the failure of the work that was recorded first.
    ///
    /// # Errors
    /// Those of `f`.
    pub(super) fn each_part_of(&self, cells: &GridBox<D>, f: OfPart<'_, TileArray<T, D>, D>) -> Result<(), Error> {
        let failed = self.of_parts(cells).into_iter().filter_map(|(number, cells)| f(&self.parts[number], cells).err());
        Error::earliest(failed).map_or(Ok(()), Err)
    }

    /// As [`each_part_of`](Self::each_part_of), of parts that are to be changed.
    ///
    /// # Errors
    /// Those of `f`.
    pub(super) fn each_part_mut(
        &mut self,
        cells: &GridBox<D>,
        f: OfPartMut<'_, TileArray<T, D>, D>,
    ) -> Result<(), Error> {
        self.written_on_ranks(cells);
        let parts = self.changed_parts(cells);
        let failed = parts.into_iter().filter_map(|(number, cells)| f(&mut self.parts[number], cells).err());
        Error::earliest(failed).map_or(Ok(()), Err)
    }

    /// Says that cells of a box are written, those of other ranks too: all make the call.
    pub(super) fn written_on_ranks(&self, cells: &GridBox<D>) {
        if self.acc.ranks() > 1 && !cells.is_empty() {
            self.tracker.ages.cells_written();
        }
    }

    /// Starts what all places have recorded: the host is about to wait for one of them, whose work may need theirs.
    ///
    /// # Errors
    /// A call from inside a kernel.
    #[track_caller]
    pub(crate) fn start_all(&self) -> Result<(), Error> {
        if self.is_parted() { self.acc.flush() } else { Ok(()) }
    }

    /// An array of zeros that lies as this one does, whose parts share these ages.
    pub(super) fn like_of(&self, ages: &Arc<Ages>) -> Result<TileArray<T, D>, Error> {
        if let Some(copies) = self.tracker.ages.copies() {
            ages.hold_copies(copies.like());
        }
        let parts = self.parts.iter().map(|part| part.like_of(ages)).collect::<Result<Vec<_>, _>>()?;
        let bare = self.untyped().like(!parts.is_empty(), &self.layout, ages)?;
        Ok(TileArray { parts, placed: self.placed.clone(), ..TileArray::of_bare(bare, &self.boundaries) })
    }
}

/// The error of who wants a part that another rank has.
fn lies_elsewhere(acc: &TileAcc, part: usize, tried: String) -> Error {
    let found = format!("that it lies on rank {}, and this is rank {}", acc.rank_of(part), acc.rank());
    let advice = "go over the tiles of the array, which are those of this rank; `read_box` gives all ranks the values";
    Error::new(ErrorKind::Ranks, tried, found, advice)
}

/// Whether a reduction of arrays so centred has segments that two places have a part of.
pub(crate) fn shares_segments<const D: usize>(centering: &[Centering; D]) -> bool {
    D == 1 && centering[0] == Centering::Face
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(cells: usize, at: Vec<i64>) -> Cuts<2> {
        Cuts { cells: [cells, 64], at: [at, vec![0, 64]] }
    }

    #[test]
    fn places_have_runs_of_layers() {
        let shared = |cells: usize, at: Vec<i64>, places: usize| {
            let mut cuts = cuts(cells, at);
            let layers = share(&mut cuts, places, 1);
            (layers, cuts.at[0].clone())
        };
        assert_eq!(shared(32, vec![0, 32], 4), (vec![0..1, 1..2, 2..3, 3..4], vec![0, 8, 16, 24, 32]));
        assert_eq!(shared(32, vec![0, 8, 16, 32], 2), (vec![0..1, 1..3], vec![0, 8, 16, 32]));
        assert_eq!(shared(9, vec![0, 9], 4), (vec![0..1, 1..2], vec![0, 4, 9]));
        assert_eq!(shared(3, vec![0, 3], 4), (Vec::from([0; 1].map(|n| n..1)), vec![0, 3]));
        let mut line = Cuts { cells: [150], at: [vec![0, 150]] };
        assert_eq!((share(&mut line, 8, 64), line.at[0].clone()), (vec![0..1, 1..2, 2..3], vec![0, 64, 128, 150]));
        // Places that a block of 16 cells has none for have nothing.
        let mut groups = cuts(40, vec![0, 40]);
        assert_eq!((share(&mut groups, 5, 16), groups.at[0].clone()), (vec![0..1, 1..2, 2..3], vec![0, 16, 32, 40]));
    }

    /// Parts of long arrays end at multiples of powers of two, and none has more than a 32nd more than its share.
    #[test]
    fn parts_end_at_multiples_and_are_even() {
        for (cells, places) in (1..=16).flat_map(|places| (4 * places..3000).map(move |cells| (cells, places))) {
            let mut cut = cuts(cells, vec![0, cells as i64]);
            assert_eq!(share(&mut cut, places, 1).len(), places);
            let block = (cells / 32 / places).max(1);
            let block = 1 << block.ilog2();
            let inner = &cut.at[0][1..places];
            assert!(inner.iter().all(|at| at % block == 0), "{cells} on {places}: {inner:?} and {block}");
            let most = cut.at[0].windows(2).map(|at| at[1] - at[0]).max().unwrap();
            assert!((most - 1) as usize * 32 * places <= cells * 33, "{cells} on {places}: {most}");
            // An array of twice the cells is cut at twice the places.
            let mut fine = cuts(2 * cells, vec![0, 2 * cells as i64]);
            share(&mut fine, places, 1);
            let doubled = cut.at[0].iter().zip(&fine.at[0]).all(|(coarse, fine)| 2 * coarse == *fine);
            assert!(doubled || cells < 32 * places, "{cells} on {places}: {:?} and {:?}", cut.at[0], fine.at[0]);
        }
    }

    #[test]
    fn places_have_what_the_user_says() {
        let mut cut = cuts(10, vec![0, 5, 10]);
        assert_eq!(share_as(&mut cut, &[3, 5, 2], 3, 1), Some(vec![0..1, 1..3, 3..4]));
        assert_eq!(cut.at[0], [0, 3, 5, 8, 10]);
        for bad in [&[3, 5][..], &[10, 0], &[], &[2, 2, 6], &[5, 6], &[usize::MAX, 1]] {
            assert_eq!(share_as(&mut cuts(10, vec![0, 10]), bad, 2, 1), None, "{bad:?}");
        }
        let mut line = Cuts { cells: [150], at: [vec![0, 150]] };
        assert_eq!(share_as(&mut line, &[100, 50], 2, 64), None);
        assert_eq!(share_as(&mut line, &[128, 22], 2, 64), Some(vec![0..1, 1..2]));
    }
}
