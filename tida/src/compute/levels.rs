//! Arguments of half or double resolution: [`coarse`] and [`fine`].
//!
//! Each region of the tile's array has a partner in the argument: the region of the same number, which is cut at half
//! or double the places. The kernel reads the partner and its ghosts; the index forms prove that it reads no more.

use super::args::{Arg, ArgInfo, HeldRef, TiledInfo};
use crate::array::TileArray;
use crate::memory::element::Element;
use crate::memory::layout::Cuts;
use crate::program::schedule::Scale;

/// How many values of an argument lie beside a cell of the tile, along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// One beside two cells.
    Coarse,
    /// Two beside each cell.
    Fine,
}

/// An array of half the resolution as an argument. See [`coarse`].
#[derive(Debug)]
pub struct Coarse<'a, T: Element, const D: usize>(&'a TileArray<T, D>);

/// An array of double the resolution as an argument. See [`fine`].
#[derive(Debug)]
pub struct Fine<'a, T: Element, const D: usize>(&'a TileArray<T, D>);

/// An array of half the tile's resolution as an argument of a kernel: read only, by its own coordinates, ghosts
/// included.
///
/// Cell `i` of the tile lies in cell `i / 2` of the argument; of nodes, node `2 * i` of the tile is node `i` of the
/// argument. So along an axis of `n` cells or nodes the argument has `n / 2` of them, or one more or less, and along an
/// axis of equal cuts as many as the tile. It has as many regions, each cut at half of where the tile's array is cut,
/// or next to it. A tile reads the region of its own number and the ghosts around it: fill them as for any other
/// argument.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut c = TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
/// c.fill(|[i]| 4.0 * (i + 1) as f64)?;
/// c.fill_ghosts()?;
/// let mut u = TileArray::<f64, 1>::builder([8]).build(&acc)?;
/// // Linear: three parts of the cell that this one lies in, and one of the next on this side.
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut u, coarse(&c)), kernel!(|u, c, at| {
///         let (left, right) = ((at[0] - 1).div_euclid(2), (at[0] + 1) / 2);
///         u[at] = (2.0 * c[[at[0] / 2]] + c[[left]] + c[[right]]) / 4.0;
///     }))?;
/// }
/// assert_eq!(u.read_box(u.domain())?, [3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 12.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Of the `compute`: cuts that do not go together, and a read beyond the ghosts of the region.
pub fn coarse<T: Element, const D: usize>(array: &TileArray<T, D>) -> Coarse<'_, T, D> {
    Coarse(array)
}

/// An array of double the tile's resolution as an argument of a kernel: read only, by its own coordinates, ghosts
/// included.
///
/// Cell `i` of the tile has cells `2 * i` and `2 * i + 1` of the argument; of nodes, node `i` of the tile is node
/// `2 * i` of the argument. Sizes and cuts are those that [`coarse`] says, seen from the other side.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let f = TileArray::<f64, 1>::builder([6]).build_slice(&acc, &[1.0, 3.0, 5.0, 7.0, 2.0, 2.0])?;
/// let mut c = TileArray::<f64, 1>::builder([3]).build(&acc)?;
/// for tile in TileIter::new(&c) {
///     compute(&tile, (&mut c, fine(&f)), kernel!(|c, f, at| {
///         c[at] = 0.5 * (f[[2 * at[0]]] + f[[2 * at[0] + 1]]);
///     }))?;
/// }
/// assert_eq!(c.read_box(c.domain())?, [2.0, 6.0, 2.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Of the `compute`: cuts that do not go together, and a read beyond the ghosts of the region.
pub fn fine<T: Element, const D: usize>(array: &TileArray<T, D>) -> Fine<'_, T, D> {
    Fine(array)
}

macro_rules! argument {
    ($name:ident) => {
        impl<T: Element, const D: usize> Arg<D> for $name<'_, T, D> {
            type Held = HeldRef<T, D>;
            fn info(&self, place: usize) -> ArgInfo<'_, D> {
                match self.0.info(place) {
                    ArgInfo::Tiled(info) => ArgInfo::Tiled(TiledInfo { level: Some(Level::$name), ..info }),
                    other => other,
                }
            }
            fn hold(&self, place: usize) -> HeldRef<T, D> {
                self.0.hold(place)
            }
        }
    };
}

argument!(Coarse);
argument!(Fine);

impl Level {
    /// How a user passes it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Coarse => "coarse",
            Level::Fine => "fine",
        }
    }

    /// How its planes along the first axis lie beside those of the tile's array, of cuts that go together.
    pub fn scale<const D: usize>(self, tile: &Cuts<D>, argument: &Cuts<D>) -> Scale {
        match self {
            _ if tile.at.first() == argument.at.first() => Scale::Same,
            Level::Coarse => Scale::Coarse,
            Level::Fine => Scale::Fine,
        }
    }

    /// Whether the regions of an argument go with those of the tile's array: along each axis as many, cut at half or
    /// double the places, or at the same ones; not at the same ones along all axes.
    pub fn fits<const D: usize>(self, tile: &Cuts<D>, argument: &Cuts<D>) -> bool {
        let (fine, coarse) = match self {
            Level::Coarse => (tile, argument),
            Level::Fine => (argument, tile),
        };
        let near = |axis: usize| {
            let pairs = fine.at[axis].iter().zip(&coarse.at[axis]);
            fine.at[axis].len() == coarse.at[axis].len() && { pairs }.all(|(f, c)| (f - 2 * c).abs() <= 2)
        };
        let same = |axis: usize| fine.at[axis] == coarse.at[axis];
        (0..D).all(|axis| near(axis) || same(axis)) && (0..D).any(near)
    }
}
