//! The table of kernels: each in tida's words, and as a plain function of one cell.

use std::any::Any;

use tida::prelude::*;
use tida::{Number, all, table};

use crate::program::{Program, Tiles, cuts};
use crate::value::Value;

macro_rules! table_of_kernels {
    ($($kernel:ident $name:literal $writes:literal $reads:literal),* $(,)?) => {
        /// A kernel of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kernel {
            $($kernel),*
        }

        impl Kernel {
            pub const ALL: &[Kernel] = &[$(Kernel::$kernel),*];

            /// How texts of programs call it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kernel::$kernel => $name),*
                }
            }

            /// Arrays that it writes, which come first.
            pub fn writes(self) -> usize {
                match self {
                    $(Kernel::$kernel => $writes),*
                }
            }

            /// Arrays that it reads.
            pub fn reads(self) -> usize {
                match self {
                    $(Kernel::$kernel => $reads),*
                }
            }
        }
    };
}

table_of_kernels! {
    Star "star" 1 1,
    Tilt "tilt" 1 1,
    Corners "corners" 1 1,
    Wide "wide" 1 1,
    Scale "scale" 1 0,
    Add "add" 1 1,
    Some "some" 1 1,
    Both "both" 2 1,
    Blend "blend" 1 2,
    Leave "leave" 1 1,
    Walk "walk" 1 1,
    Choose "choose" 1 1,
    Weights "weights" 1 1,
    Far "far" 1 1,
    Checked "checked" 1 1,
    Group "group" 1 1,
}

/// What a kernel does to a cell: the new values, none where it keeps the old one.
pub type New<T> = [Option<T>; 2];

/// A cell and where the arrays are read.
pub struct Cell<'a, T> {
    pub at: [i64; 4],
    pub axes: usize,
    /// Values along each axis.
    pub shape: [i64; 4],
    pub value: u8,
    /// The value of an array, counted from the first argument, at an offset.
    pub read: &'a dyn Fn(usize, [i64; 4]) -> T,
    /// The same of a place in the whole array.
    pub whole: &'a dyn Fn(usize, [i64; 4]) -> T,
}

impl<T: Value> Cell<'_, T> {
    fn get(&self, argument: usize, offsets: &[(usize, i64)]) -> T {
        let mut by = [0; 4];
        offsets.iter().for_each(|(axis, n)| by[*axis] += n);
        (self.read)(argument, by)
    }
}

/// A table: what cells are divided by.
const DIVISORS: [i8; 3] = [2, 4, 8];

impl Kernel {
    /// How far its reads go along each axis.
    pub fn reach(self, axes: usize) -> Vec<[usize; 2]> {
        let mut reach = vec![[0; 2]; axes];
        match self {
            Kernel::Star | Kernel::Corners | Kernel::Both | Kernel::Leave | Kernel::Choose | Kernel::Group => {
                reach = vec![[1; 2]; axes]
            }
            Kernel::Wide => reach = vec![[2; 2]; axes],
            Kernel::Walk => reach[axes - 1] = [2, 2],
            Kernel::Checked => reach[axes - 1] = [0, 1],
            Kernel::Tilt => {
                reach[0][0] = 1;
                reach[axes - 1][1] = 1;
            }
            _ => {}
        }
        reach
    }

    /// Whether it writes each cell, and reads nothing of what it writes.
    pub fn is_whole(self) -> bool {
        !matches!(self, Kernel::Scale | Kernel::Add | Kernel::Some | Kernel::Leave)
    }

    /// Whether a program may have it over such tiles.
    pub fn has(self, program: &Program, tiles: &Tiles) -> bool {
        let is_simple = matches!(self, Kernel::Star | Kernel::Tilt | Kernel::Scale | Kernel::Add | Kernel::Some);
        let whole = |program: &Program| {
            let cuts = cuts(program.shape[0], program.regions[0], false);
            let nodes = program.arrays.iter().any(|array| array.nodes.contains(&true));
            program.region_count() == 1 || (!nodes && cuts[..cuts.len() - 1].iter().all(|cut| cut % 4 == 0))
        };
        let fits = match self {
            // Groups start at multiples of their extent, and none is cut.
            Kernel::Group => program.axes() == 2 && tiles.size.is_none() && tiles.within.is_none() && whole(program),
            _ => true,
        };
        fits && (is_simple || program.scalar.is_number())
    }

    /// What it makes of a cell, by plain Rust.
    pub fn plain<T: Value>(self, cell: &Cell<'_, T>) -> New<T> {
        let u = |offsets: &[(usize, i64)]| cell.get(self.writes(), offsets);
        let last = cell.axes - 1;
        let value = T::small(cell.value);
        let new = match self {
            Kernel::Star => {
                let mut sum = u(&[]).over(2);
                for d in 0..cell.axes {
                    sum = sum.plus(u(&[(d, 1)]).over(16).plus(u(&[(d, -1)]).over(16)));
                }
                sum
            }
            Kernel::Tilt => u(&[(0, -1)]).over(2).plus(u(&[(last, 1)]).over(2)),
            Kernel::Corners => {
                let mut sum = u(&[]).over(4);
                for d in 0..cell.axes {
                    for e in 0..cell.axes {
                        sum = sum.plus(u(&[(d, 1), (e, -1)]).over(32));
                    }
                }
                sum
            }
            Kernel::Wide => {
                let mut sum = u(&[]).over(4);
                for d in 0..cell.axes {
                    sum = sum.plus(u(&[(d, 2)]).over(16).plus(u(&[(d, -2)]).over(16)));
                }
                sum
            }
            Kernel::Scale => cell.get(0, &[]).over(2).plus(value),
            Kernel::Add => cell.get(0, &[]).over(2).plus(u(&[]).over(2)),
            Kernel::Some => {
                return [((cell.at[0] + cell.at[last]) % 3 == 0).then(|| u(&[])), None];
            }
            Kernel::Both => {
                let sum = u(&[(0, 1)]).over(2).plus(u(&[(0, -1)]).over(2));
                return [Some(sum), Some(u(&[]).over(2).plus(value))];
            }
            Kernel::Blend => u(&[]).over(2).plus(cell.get(2, &[]).over(4)).plus(value.over(2)),
            Kernel::Leave => {
                let (high, low) = (u(&[(last, 1)]), u(&[(0, -1)]));
                if high.is_below(low) {
                    return [None, None];
                }
                high.over(2)
            }
            Kernel::Walk => {
                let mut most = u(&[]);
                for n in 1..3 {
                    let right = u(&[(last, n)]);
                    if most.is_below(right) {
                        most = right;
                    }
                    let left = u(&[(last, -n)]);
                    if most.is_below(left) {
                        most = left.over(2);
                    }
                }
                most
            }
            Kernel::Choose => match cell.at[0] % 3 {
                0 => u(&[(0, 1)]),
                1 => u(&[(last, -1)]).over(2),
                _ => u(&[]).over(2).plus(value),
            },
            Kernel::Weights => u(&[]).over(DIVISORS[cell.at[last] as usize % 3]).plus(value.over(2)),
            Kernel::Far => {
                let mut at = cell.at;
                at[0] = (at[0] * 5 + i64::from(cell.value)) % cell.shape[0];
                u(&[]).over(2).plus((cell.whole)(1, at).over(2))
            }
            Kernel::Group => u(&[]).over(2).plus(u(&[(0, -1)]).over(4)).plus(u(&[(1, 1)]).over(4)),
            Kernel::Checked => u(&[(last, cell.at[0] * cell.at[0] % 2)]),
        };
        [Some(new), None]
    }
}

/// The arrays of a sweep.
pub struct Arguments<'a, T: Element, const D: usize> {
    pub writes: &'a mut [TileArray<T, D>],
    pub reads: &'a [&'a TileArray<T, D>],
}

/// Records a kernel over a tile.
pub fn record<T: Number + Value, const D: usize>(
    kernel: Kernel,
    tile: &Tile<D>,
    arguments: Arguments<'_, T, D>,
    n: u8,
) -> tida::Result<()> {
    let value = T::small(n);
    let Arguments { writes, reads } = arguments;
    let to = &mut writes[0];
    let u = reads.first().copied();
    match kernel {
        Kernel::Scale => compute(tile, to, kernel!(|u, at| u[at] = u[at] / T::lit(2) + value)),
        Kernel::Star => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                let mut sum = u[at] / T::lit(2);
                for d in 0..D {
                    sum += u[at + unit(d)] / T::lit(16) + u[at - unit(d)] / T::lit(16);
                }
                to[at] = sum;
            }),
        ),
        Kernel::Tilt => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| to[at] = u[at - unit(0)] / T::lit(2) + u[at + unit(D - 1)] / T::lit(2)),
        ),
        Kernel::Corners => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                let mut sum = u[at] / T::lit(4);
                for d in 0..D {
                    for e in 0..D {
                        sum += u[at + unit(d) - unit(e)] / T::lit(32);
                    }
                }
                to[at] = sum;
            }),
        ),
        Kernel::Wide => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                let mut sum = u[at] / T::lit(4);
                for d in 0..D {
                    sum += u[at + unit(d) + unit(d)] / T::lit(16) + u[at - unit(d) - unit(d)] / T::lit(16);
                }
                to[at] = sum;
            }),
        ),
        Kernel::Add => {
            compute(tile, (to, u.unwrap()), kernel!(|to, u, at| to[at] = to[at] / T::lit(2) + u[at] / T::lit(2)))
        }
        Kernel::Some => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                if (at[0] + at[D - 1]) % 3 == 0 {
                    to[at] = u[at];
                }
            }),
        ),
        _ => record_others(kernel, tile, Arguments { writes, reads }, n),
    }
}

/// The second half of the table.
fn record_others<T: Number + Value, const D: usize>(
    kernel: Kernel,
    tile: &Tile<D>,
    arguments: Arguments<'_, T, D>,
    n: u8,
) -> tida::Result<()> {
    let value = T::small(n);
    let Arguments { writes, reads } = arguments;
    let (to, more) = writes.split_first_mut().unwrap();
    let u = reads.first().copied();
    match kernel {
        Kernel::Both => compute(
            tile,
            (to, &mut more[0], u.unwrap()),
            kernel!(|to, more, u, at| {
                to[at] = u[at + unit(0)] / T::lit(2) + u[at - unit(0)] / T::lit(2);
                more[at] = u[at] / T::lit(2) + value;
            }),
        ),
        Kernel::Blend => compute(
            tile,
            (to, u.unwrap(), reads[1]),
            kernel!(|to, u, v, at| to[at] = u[at] / T::lit(2) + v[at] / T::lit(4) + value / T::lit(2)),
        ),
        Kernel::Leave => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                let high = u[at + unit(D - 1)];
                if high < u[at - unit(0)] {
                    return;
                }
                to[at] = high / T::lit(2);
            }),
        ),
        Kernel::Walk => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                let mut most = u[at];
                for n in 1..3 {
                    let mut place = at;
                    place[D - 1] = at[D - 1] + n;
                    let right = u[place];
                    if most < right {
                        most = right;
                    }
                    place[D - 1] = at[D - 1] - n;
                    let left = u[place];
                    if most < left {
                        most = left / T::lit(2);
                    }
                }
                to[at] = most;
            }),
        ),
        Kernel::Choose => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                to[at] = match at[0] % 3 {
                    0 => u[at + unit(0)],
                    1 => u[at - unit(D - 1)] / T::lit(2),
                    _ => u[at] / T::lit(2) + value,
                };
            }),
        ),
        Kernel::Weights => {
            let divisors = DIVISORS.map(T::whole);
            compute(
                tile,
                (to, u.unwrap(), table(&divisors)),
                kernel!(|to, u, divisors, at| to[at] = u[at] / divisors[(at[D - 1] % 3) as usize] + value / T::lit(2)),
            )
        }
        Kernel::Far => {
            let (n, size) = (i64::from(n), u.unwrap().shape()[0] as i64);
            compute(
                tile,
                (to, u.unwrap(), all(u.unwrap())),
                kernel!(|to, u, whole, at| {
                    let mut p = at;
                    p[0] = (at[0] * 5 + n) % size;
                    to[at] = u[at] / T::lit(2) + whole[p] / T::lit(2);
                }),
            )
        }
        Kernel::Group => grouped(tile, to, u.unwrap()),
        _ => compute(
            tile,
            (to, u.unwrap()),
            kernel!(|to, u, at| {
                let mut place = at;
                place[D - 1] += at[0] * at[0] % 2;
                to[at] = u[place];
            }),
        ),
    }
}

/// The kernel over groups, of two axes.
fn grouped<T: Number + Value, const D: usize>(
    tile: &Tile<D>,
    to: &mut TileArray<T, D>,
    u: &TileArray<T, D>,
) -> tida::Result<()> {
    let (tile, to, u): (&dyn Any, &mut dyn Any, &dyn Any) = (tile, to, u);
    let (Some(tile), Some(to), Some(u)) =
        (tile.downcast_ref::<Tile<2>>(), to.downcast_mut::<TileArray<T, 2>>(), u.downcast_ref::<TileArray<T, 2>>())
    else {
        return Ok(());
    };
    compute_groups(
        tile,
        [4, 16],
        (to, u),
        group_kernel!(|to, u, group| {
            let s = group.fetch(u, [1, 1], [1, 1]);
            group.each(|t| {
                to[t.at()] = s[t] / T::lit(2) + s[t - [1, 0]] / T::lit(4) + s[t + [0, 1]] / T::lit(4);
            });
        }),
    )
}
