//! Adding into cells from a list: which entries belong to each cell, in the order of the list.

use std::panic::Location;

use super::args::all;
use super::launch::compute;
use super::real::Number;
use crate::acc::TileAcc;
use crate::array::TileArray;
use crate::error::{Error, ErrorKind};
use crate::kernel;
use crate::memory::element::Element;
use crate::tile::TileIter;

/// For each cell of a grid the entries of a list that belong to it, in the order of the list: particles, sources,
/// samples of a histogram. With them a scatter is a pull: each cell goes through its own entries. So sums have the same
/// bits everywhere.
///
/// The entries of a cell are `order[[first[at] + k]]` for `k` below `count[at]`.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut mass = TileArray::<f64, 1>::builder([4]).build(&acc)?;
/// // Particles at these places, each in the cell below it.
/// let (places, masses) = ([1.5, 3.25, 1.75], [1.0, 2.0, 4.0]);
/// let lists = CellLists::new(&mass, places.iter().map(|x: &f64| [x.floor() as i64]))?;
/// let masses = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &masses)?;
/// accumulate(mass.tiles(), &mut mass, &lists, &masses)?;
/// assert_eq!(mass.read_box(mass.domain())?, [0.0, 5.0, 0.0, 2.0]);
/// // How many are in each cell: a histogram.
/// assert_eq!(lists.count().read_box(mass.domain())?, [0, 2, 0, 1]);
///
/// // A kernel of your own: how far the particles of a cell lie above it, by their mass.
/// let places = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &places)?;
/// let mut moment = mass.like()?;
/// for tile in TileIter::new(&moment) {
///     let (first, count, order) = (lists.first(), lists.count(), all(lists.order()));
///     compute(&tile, (&mut moment, first, count, order, all(&places), all(&masses)),
///         kernel!(|moment, first, count, order, x, m, at| {
///             let mut sum = 0.0;
///             for k in first[at]..first[at] + count[at] {
///                 let n = order[[k as i64]] as i64;
///                 sum += m[[n]] * (x[[n]] - at[0] as f64);
///             }
///             moment[at] = sum;
///         }))?;
/// }
/// assert_eq!(moment.read_box(moment.domain())?, [0.0, 3.5, 0.0, 0.5]);
/// # Ok(()) }
/// ```
pub struct CellLists<const D: usize> {
    first: TileArray<u32, D>,
    count: TileArray<u32, D>,
    order: TileArray<u32, 1>,
    entries: usize,
}

impl<const D: usize> CellLists<D> {
    /// The entries of each cell of `grid`, where `cells` says for one entry after the other which cell it belongs to.
    /// They are sorted now, on the host, in time that grows with cells and entries. The lists have the cuts of `grid`.
    ///
    /// An entry that adds to several cells is several entries: for each of them one.
    ///
    /// # Errors
    /// A cell outside the domain, more than 2^32 - 1 entries, and memory that the system does not have.
    pub fn new<T: Element>(
        grid: &TileArray<T, D>,
        cells: impl IntoIterator<Item = [i64; D]>,
    ) -> Result<CellLists<D>, Error> {
        let domain = grid.domain();
        let extent = domain.extent();
        let number = |at: [usize; D]| (0..D).fold(0, |n, d| n * extent[d] + at[d]);
        let mut places = Vec::new();
        let mut starts = reserved(domain.cells())?;
        for at in cells {
            if !domain.contains(at) {
                let found = format!("entry {} in cell {at:?} of a domain of {:?} cells", places.len(), grid.shape());
                return Err(refused(ErrorKind::Argument, found, "leave such entries out, or move them inside"));
            }
            places.try_reserve(1).map_err(|_| no_memory(places.len()))?;
            let place = number(at.map(|x| x as usize));
            places.push(place);
            starts[place] += 1;
        }
        let Ok(entries) = u32::try_from(places.len()) else {
            let found = format!("{} entries", places.len());
            return Err(refused(ErrorKind::Argument, found, "make several lists of at most 2^32 - 1 entries each"));
        };
        let mut count = grid.cut_alike::<u32>()?;
        count.fill(|at| starts[number(at)])?;
        let mut sum = 0;
        starts.iter_mut().for_each(|start| sum += std::mem::replace(start, sum));
        let mut first = grid.cut_alike::<u32>()?;
        first.fill(|at| starts[number(at)])?;
        let mut sorted = reserved(places.len())?;
        for (entry, place) in (0..entries).zip(places) {
            let start = &mut starts[place];
            sorted[*start as usize] = entry;
            *start += 1;
        }
        Ok(CellLists { first, count, order: line(&grid.acc, &sorted)?, entries: entries as usize })
    }

    /// Where the entries of each cell begin in [`order`](CellLists::order).
    pub fn first(&self) -> &TileArray<u32, D> {
        &self.first
    }

    /// How many entries each cell has: a histogram.
    pub fn count(&self) -> &TileArray<u32, D> {
        &self.count
    }

    /// The numbers of the entries, cell by cell, each cell's in the order of the list. (One 0 if there is no entry.)
    pub fn order(&self) -> &TileArray<u32, 1> {
        &self.order
    }

    /// How many entries there are.
    pub fn entries(&self) -> usize {
        self.entries
    }
}

impl<const D: usize> std::fmt::Debug for CellLists<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CellLists").field("cells", &self.first.shape()).field("entries", &self.entries).finish()
    }
}

/// Adds values to the cells that they belong to: to each cell those of its entries in `lists`, one after the other in
/// the order of the list. Recorded: returns at once. `values` has one value for each entry. The bits do not depend on
/// the device, nor on how arrays are cut, nor on the number of threads.
///
/// On several places, or ranks, build `values` with [`everywhere`](crate::array::TileArrayBuilder::everywhere): each
/// reads all of them. Others are copied into such an array first, for which the call waits.
///
/// A cell that has no entry keeps its value. For sums of something else than one value an entry, such as weights by the
/// distance from the cell, go through [`CellLists`] in a kernel of your own.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut heat = TileArray::<f32, 2>::builder([3, 4]).build(&acc)?;
/// let lists = CellLists::new(&heat, [[2, 1], [0, 0], [2, 1]])?;
/// let mut sources = TileArray::<f32, 1>::builder([3]).build_slice(&acc, &[0.5, 1.0, 0.25])?;
/// for _ in 0..2 {
///     accumulate(heat.tiles(), &mut heat, &lists, &sources)?;
///     for tile in TileIter::new(&sources) {
///         compute(&tile, &mut sources, kernel!(|s, at| s[at] *= 0.5))?;
///     }
/// }
/// assert_eq!(heat.read_box(GridBox::new([2, 0], [3, 3]))?, [0.0, 1.125, 0.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`compute`](crate::compute()); lists of a grid that is cut otherwise; another number of values than of
/// entries.
#[track_caller]
pub fn accumulate<T: Number, const D: usize>(
    tiles: TileIter<D>,
    to: &mut TileArray<T, D>,
    lists: &CellLists<D>,
    values: &TileArray<T, 1>,
) -> Result<(), Error> {
    let recorded = Location::caller();
    let given = values.shape()[0];
    if lists.entries != given && lists.entries > 0 {
        let found = format!("{given} values for {} entries", lists.entries);
        let advice = "give one value for each entry, in the order of the list";
        return Err(refused(ErrorKind::Argument, found, advice).recorded_at(recorded));
    }
    let table = table_of(values)?;
    let values = table.as_ref().unwrap_or(values);
    for tile in tiles {
        compute(
            &tile,
            (&mut *to, &lists.first, &lists.count, all(&lists.order), all(values)),
            kernel!(|to, first, count, order, values, at| {
                let mut sum = to[at];
                for k in first[at]..first[at] + count[at] {
                    sum += values[[order[[k as i64]] as i64]];
                }
                to[at] = sum;
            }),
        )?;
    }
    Ok(())
}

/// The values as an array that each place has all of, where none has.
#[track_caller]
fn table_of<T: Number>(values: &TileArray<T, 1>) -> Result<Option<TileArray<T, 1>>, Error> {
    if !values.is_parted() || values.is_everywhere() {
        return Ok(None);
    }
    let alike = TileArray::builder(values.domain_cells()).centering(values.centering());
    let mut table = alike.everywhere().build(&values.acc)?;
    table.copy_from(values)?;
    Ok(Some(table))
}

/// An array of these values, or of one 0, on each place.
fn line(acc: &TileAcc, values: &[u32]) -> Result<TileArray<u32, 1>, Error> {
    match values {
        [] => TileArray::builder([1]).everywhere().build(acc),
        _ => TileArray::builder([values.len()]).everywhere().build_slice(acc, values),
    }
}

/// So many zeros.
fn reserved(n: usize) -> Result<Vec<u32>, Error> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(n).map_err(|_| no_memory(n))?;
    zeros.resize(n, 0);
    Ok(zeros)
}

fn no_memory(n: usize) -> Error {
    refused(ErrorKind::Memory, format!("no memory for {n} numbers"), "make lists of fewer entries")
}

fn refused(kind: ErrorKind, found: String, advice: &str) -> Error {
    Error::new(kind, "sort the entries of a list by cell", found, advice)
}
