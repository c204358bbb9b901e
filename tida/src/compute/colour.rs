//! Sweeps over cells of one colour, in place: each cell may read cells of other colours of what it writes.

use std::panic::Location;

use super::along::{Direction, fresh, refuse_codes};
use super::args::{Args, Views};
use super::ask::Ask;
use super::check::{OneColour, Rule};
use super::launch::record;
use super::view::{Checked, Coloured, Proven};
use crate::error::{Error, ErrorKind};
use crate::program::colour::CellColour;
use crate::sealed::Sealed;
use crate::tile::{Tile, TileIter};

/// Which cells [`sweep_colour`] runs over: one of the colours of a grid.
///
/// ```
/// use tida::prelude::*;
/// let black: Colour<2> = Colour::red_black(1);
/// assert!(black.has([0, 1]) && !black.has([1, 1]));
/// // Three colours, each along diagonals.
/// let third = Colour::of_sum(2, 3);
/// assert!(third.has([1, 1]) && third.has([0, 2]) && !third.has([0, 1]));
/// // Four colours: all eight cells around one have another.
/// let corner = Colour::of_axes([0, 1], [2, 2]);
/// assert!(corner.has([2, 3]) && !corner.has([2, 2]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour<const D: usize> {
    colour: [usize; D],
    colours: [usize; D],
    slanted: bool,
}

impl<const D: usize> Colour<D> {
    /// The cells whose coordinates have an even sum (0, red) or an odd one (1, black). Of cells that share a face one
    /// is red and the other black.
    pub fn red_black(colour: usize) -> Self {
        Colour::of_sum(colour, 2)
    }

    /// The cells whose coordinates have a sum that is `colour` modulo `colours`.
    pub fn of_sum(colour: usize, colours: usize) -> Self {
        let last = |n: usize, others: usize| std::array::from_fn(|d| if d + 1 == D { n } else { others });
        Colour { colour: last(colour, 0), colours: last(colours, 1), slanted: true }
    }

    /// The cells whose coordinate is `colour[d]` modulo `colours[d]`, along each axis `d`. With `[2, 2]` there are four
    /// colours, and all eight cells around a cell have other colours than it.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// let colour = Colour::of_axes([0, 1], [2, 2]);
    /// assert!(colour.has([4, 7]) && !colour.has([4, 8]) && !colour.has([5, 7]));
    /// assert!(Colour::of_sum(1, 3).has([2, 2])); // 4 is 1 modulo 3
    /// ```
    pub fn of_axes(colour: [usize; D], colours: [usize; D]) -> Self {
        Colour { colour, colours, slanted: false }
    }

    /// Whether a cell has it.
    pub fn has(&self, at: [i64; D]) -> bool {
        let is = |n: i64, d: usize| {
            let (of, colour) = (self.colours[d].max(1) as i64, self.colour[d] as i64);
            n.rem_euclid(of) == colour
        };
        match self.slanted {
            true => D > 0 && is(at.iter().fold(0, |sum: i64, n| sum.wrapping_add(*n)), D - 1),
            false => (0..D).all(|d| is(at[d], d)),
        }
    }

    /// The same for cells of four axes.
    ///
    /// # Errors
    /// No colours, many more than any grid has, or one beyond them.
    fn of_cells(&self) -> Result<CellColour, Error> {
        let wrong = (0..D).find(|d| !(1..=MOST).contains(&self.colours[*d]) || self.colour[*d] >= self.colours[*d]);
        if let Some(axis) = wrong {
            return Err(refused(
                ErrorKind::Argument,
                format!("colour {} of {}", self.colour[axis], self.colours[axis]),
                format!("count colours from 0, and take 1 to {MOST} of them"),
            ));
        }
        let wide = |of: &[usize; D], others: i64| {
            std::array::from_fn(|d| (d + D).checked_sub(4).map_or(others, |axis| of[axis] as i64))
        };
        Ok(CellColour { every: wide(&self.colours, 1), first: wide(&self.colour, 0), slanted: self.slanted })
    }
}

/// Most colours along an axis.
const MOST: usize = 1 << 16;

/// The row loop of kernels over one colour.
pub(super) struct ByColour;

impl Sealed for ByColour {}

impl Direction for ByColour {
    type Proven = Coloured<Proven>;
    type Checked = Coloured<Checked>;
    const BACKWARD: bool = false;
}

/// Records a kernel over the cells of one [`Colour`], and returns: Gauss-Seidel and SOR in place, on one array. Each
/// cell may read cells of other colours of what it writes.
///
/// The kernel runs for those cells of `tiles` that have the colour. `args` and the kernel are as in
/// [`compute`](crate::compute()), with one difference. In a `&mut` array the kernel may also read cells of other
/// colours, at distances from `at` that are the same for all cells. Nothing writes these meanwhile. Cells of the other
/// colours keep their values.
///
/// A read beyond the face of the domain finds the ghost, as it was filled before the call: fill ghosts before each
/// colour. So it does not matter which colour the cell has that a ghost is a copy of: it may be the one that runs, at a
/// mirror or at the ends of a periodic axis with an odd number of cells. There the ghost has the value from before the
/// call. How the array is cut changes no bit.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// // The steady temperature of a plate between two sides, by red-black SOR.
/// let mut u = TileArray::<f64, 2>::builder([16, 16]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
/// u.fill_value(0.0)?;
/// let (omega, heat) = (1.7, 1.0);
/// for _ in 0..100 {
///     for colour in [0, 1] {
///         u.fill_ghosts()?;
///         sweep_colour(Colour::red_black(colour), u.tiles(), &mut u, kernel!(|u, at| {
///             let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
///             u[at] += omega * (0.25 * (around + heat) - u[at]);
///         }))?;
///     }
/// }
/// u.fill_ghosts()?;
/// let mut rest = u.like()?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut rest, &u), kernel!(|rest, u, at| {
///         let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
///         rest[at] = (around + heat - 4.0 * u[at]).abs();
///     }))?;
/// }
/// assert!(reduce(&rest, Max, kernel!(|rest, at| rest[at]))? < 1e-9);
/// # Ok(()) }
/// ```
///
/// On a device there are threads for the cells of the colour alone, and on the CPU a loop that steps over the others.
///
/// # Errors
/// Those of [`compute`](crate::compute()); a colour that is none of its colours; a read of a `&mut` array that may be
/// of a cell of the same colour; ghosts that are older than the cells; grown tiles; a `&mut` array kept in fewer bits
/// ([`storage`](crate::array::TileArrayBuilder::storage)).
#[track_caller]
pub fn sweep_colour<const D: usize, A, N>(
    colour: Colour<D>,
    tiles: TileIter<D>,
    args: A,
    kernel: N,
) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Coloured<Proven>, D>, Views<A, Coloured<Checked>, D>, (), D>)
        + Clone
        + Send
        + Sync
        + 'static,
{
    let recorded = Location::caller();
    cells(colour, tiles, &args, kernel, recorded).map_err(|e| e.recorded_at(recorded))
}

fn cells<const D: usize, A, N>(
    colour: Colour<D>,
    tiles: TileIter<D>,
    args: &A,
    kernel: N,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Coloured<Proven>, D>, Views<A, Coloured<Checked>, D>, (), D>)
        + Clone
        + Send
        + Sync
        + 'static,
{
    let colour = colour.of_cells()?;
    let infos = args.infos(0);
    refuse_codes::<D, A>(&infos, |found, advice| refused(ErrorKind::Argument, found, advice))?;
    let mut tiles = tiles.by_regions();
    let one = OneColour { colour, fresh: fresh(&infos) };
    tiles.try_for_each(|tile: Tile<D>| {
        if tile.grown {
            let advice = "leave out `.grown(..)`: ghosts are read as they are";
            return Err(refused(ErrorKind::Argument, "grown tiles".into(), advice));
        }
        tile.is_a_box(|| "sweep over the cells of one colour".into())?;
        let (infos, hold) = (args.infos(tile.place), || args.hold(tile.place));
        record::<ByColour, D, _, _>(&tile, Rule::Colour(one), &infos, hold, kernel.clone(), recorded)
    })
}

fn refused(kind: ErrorKind, found: String, advice: impl Into<String>) -> Error {
    Error::new(kind, "sweep over the cells of one colour", found, advice)
}
