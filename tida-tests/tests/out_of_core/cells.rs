//! Types of cells for random programs, and what these do with arrays of them.

use std::marker::PhantomData;

use tida::prelude::*;
use tida::{Error, Sum};

/// A pair of elements, moved as its components.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
pub struct Wave {
    height: f64,
    flow: [f32; 2],
}

/// How cells of one type are made and mixed: what a program does with arrays of them.
pub trait Cells {
    type Cell: Element;

    fn make(x: f64) -> Self::Cell;
    fn boundary(boundary: &Boundary<f64>) -> Boundary<Self::Cell>;
    fn bits(cell: Self::Cell) -> Vec<u64>;
    fn scale(tile: &Tile<2>, u: &mut Array<Self>) -> Result<(), Error>;
    /// The stencils: of different reach, to one side and to both.
    fn blur(tile: &Tile<2>, to: &mut Array<Self>, from: &Array<Self>, kind: u8) -> Result<(), Error>;
    fn blend(tile: &Tile<2>, to: &mut Array<Self>, u: &Array<Self>, v: &Array<Self>) -> Result<(), Error>;
    /// Differences on the faces of the first or the second axis.
    fn gradient(tile: &Tile<2>, face: &mut Array<Self>, u: &Array<Self>, along: bool) -> Result<(), Error>;
    fn divergence(tile: &Tile<2>, u: &mut Array<Self>, face: &Array<Self>, along: bool) -> Result<(), Error>;
    fn sum(u: &Array<Self>) -> Result<f64, Error>;
}

pub type Array<C> = TileArray<<C as Cells>::Cell, 2>;

pub struct Floats<T>(PhantomData<T>);

impl<T: Real> Cells for Floats<T> {
    type Cell = T;

    fn make(x: f64) -> T {
        T::of(x)
    }

    fn boundary(boundary: &Boundary<f64>) -> Boundary<T> {
        match *boundary {
            Boundary::Fixed(x) => Boundary::Fixed(T::of(x)),
            Boundary::Periodic => Boundary::Periodic,
            Boundary::ReflectEven => Boundary::ReflectEven,
            Boundary::ReflectOdd => Boundary::ReflectOdd,
            Boundary::Extrapolate(order) => Boundary::Extrapolate(order),
            Boundary::Open => Boundary::Open,
            other => panic!("no case has {other:?}"),
        }
    }

    fn bits(x: T) -> Vec<u64> {
        vec![x.to_f64().to_bits()]
    }

    fn scale(tile: &Tile<2>, u: &mut Array<Self>) -> Result<(), Error> {
        compute(tile, u, kernel!(T; |u, at| u[at] = 0.99 * u[at] + 0.01))
    }

    fn blur(tile: &Tile<2>, to: &mut Array<Self>, from: &Array<Self>, kind: u8) -> Result<(), Error> {
        match kind % 6 {
            0 => compute(
                tile,
                (to, from),
                kernel!(T; |to, u, at| {
                                to[at] = 0.25 * (u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]]);
                }),
            ),
            1 => compute(
                tile,
                (to, from),
                kernel!(T; |to, u, at| {
                                to[at] = 0.5 * u[at + [2, 0]] + 0.25 * u[at + [0, 2]] + 0.125 * u[at];
                }),
            ),
            2 => compute(
                tile,
                (to, from),
                kernel!(T; |to, u, at| {
                                to[at] = 0.5 * u[at - [2, 0]] + 0.25 * u[at + [-1, 2]];
                }),
            ),
            3 => compute(
                tile,
                (to, from),
                kernel!(T; |to, u, at| {
                                to[at] = 0.3 * u[at - [2, 1]] + 0.6 * u[at + [2, -1]];
                }),
            ),
            4 => compute(
                tile,
                (to, from),
                kernel!(T; |to, u, at| {
                                to[at] += 0.1 * u[at + [1, 1]];
                }),
            ),
            _ => compute(
                tile,
                (to, from),
                kernel!(T; |to, u, at| {
                                if at[1] % 3 != 0 {
                                    to[at] = 0.9 * u[at - [1, 2]];
                                }
                }),
            ),
        }
    }

    fn blend(tile: &Tile<2>, to: &mut Array<Self>, u: &Array<Self>, v: &Array<Self>) -> Result<(), Error> {
        compute(tile, (to, u, v), kernel!(T; |to, u, v, at| to[at] = 0.5 * u[at] + 0.4 * v[at]))
    }

    fn gradient(tile: &Tile<2>, face: &mut Array<Self>, u: &Array<Self>, along: bool) -> Result<(), Error> {
        match along {
            false => compute(tile, (face, u), kernel!(T; |face, u, at| face[at] = u[at] - u[at - [1, 0]])),
            true => compute(tile, (face, u), kernel!(T; |face, u, at| face[at] = u[at] - u[at - [0, 1]])),
        }
    }

    fn divergence(tile: &Tile<2>, u: &mut Array<Self>, face: &Array<Self>, along: bool) -> Result<(), Error> {
        match along {
            false => compute(tile, (u, face), kernel!(T; |u, face, at| u[at] += 0.1 * (face[at + [1, 0]] - face[at]))),
            true => compute(tile, (u, face), kernel!(T; |u, face, at| u[at] += 0.1 * (face[at + [0, 1]] - face[at]))),
        }
    }

    fn sum(u: &Array<Self>) -> Result<f64, Error> {
        Ok(reduce(u, Sum, kernel!(T; |u, at| u[at]))?.to_f64())
    }
}

pub struct Waves;

impl Cells for Waves {
    type Cell = Wave;

    fn make(x: f64) -> Wave {
        Wave { height: x, flow: [0.5 * x as f32, 1.0 - x as f32] }
    }

    fn boundary(boundary: &Boundary<f64>) -> Boundary<Wave> {
        match *boundary {
            Boundary::Fixed(x) => Boundary::Fixed(Waves::make(x)),
            Boundary::Periodic => Boundary::Periodic,
            Boundary::Extrapolate(_) => Boundary::Extrapolate(0),
            _ => Boundary::ReflectEven,
        }
    }

    fn bits(x: Wave) -> Vec<u64> {
        vec![x.height.to_bits(), u64::from(x.flow[0].to_bits()), u64::from(x.flow[1].to_bits())]
    }

    fn scale(tile: &Tile<2>, u: &mut Array<Self>) -> Result<(), Error> {
        compute(tile, u, kernel!(|u, at| u[at].flow[0] = 0.99 * u[at].flow[0] + u[at].height as f32))
    }

    fn blur(tile: &Tile<2>, to: &mut Array<Self>, from: &Array<Self>, kind: u8) -> Result<(), Error> {
        match kind % 6 {
            0 => compute(
                tile,
                (to, from),
                kernel!(|to, u, at| {
                    to[at].height = 0.5 * (u[at + [1, 0]].height + u[at - [1, 0]].height);
                }),
            ),
            1 => compute(
                tile,
                (to, from),
                kernel!(|to, u, at| {
                    to[at] = Wave { height: 0.5 * u[at + [2, 0]].height, flow: u[at + [0, 2]].flow };
                }),
            ),
            2 => compute(
                tile,
                (to, from),
                kernel!(|to, u, at| {
                    to[at].flow[0] = 0.5 * u[at - [2, 0]].flow[1];
                }),
            ),
            3 => compute(
                tile,
                (to, from),
                kernel!(|to, u, at| {
                    to[at].flow = u[at - [2, 1]].flow;
                    to[at].height = 0.3 * u[at + [2, -1]].height;
                }),
            ),
            4 => compute(
                tile,
                (to, from),
                kernel!(|to, u, at| {
                    to[at].flow[1] += 0.1 * u[at + [1, 1]].flow[0];
                }),
            ),
            _ => compute(
                tile,
                (to, from),
                kernel!(|to, u, at| {
                    if at[1] % 3 != 0 {
                        to[at] = u[at - [1, 2]];
                    }
                }),
            ),
        }
    }

    fn blend(tile: &Tile<2>, to: &mut Array<Self>, u: &Array<Self>, v: &Array<Self>) -> Result<(), Error> {
        compute(
            tile,
            (to, u, v),
            kernel!(|to, u, v, at| {
                to[at].height = 0.5 * u[at].height + 0.4 * v[at].height;
                to[at].flow = u[at].flow;
            }),
        )
    }

    fn gradient(tile: &Tile<2>, face: &mut Array<Self>, u: &Array<Self>, along: bool) -> Result<(), Error> {
        let args = (face, u);
        match along {
            false => compute(tile, args, kernel!(|face, u, at| face[at].height = u[at].height - u[at - [1, 0]].height)),
            true => compute(tile, args, kernel!(|face, u, at| face[at].height = u[at].height - u[at - [0, 1]].height)),
        }
    }

    fn divergence(tile: &Tile<2>, u: &mut Array<Self>, face: &Array<Self>, along: bool) -> Result<(), Error> {
        match along {
            false => compute(
                tile,
                (u, face),
                kernel!(|u, face, at| {
                    u[at].height += 0.1 * (face[at + [1, 0]].height - face[at].height);
                }),
            ),
            true => compute(
                tile,
                (u, face),
                kernel!(|u, face, at| {
                    u[at].height += 0.1 * (face[at + [0, 1]].height - face[at].height);
                }),
            ),
        }
    }

    fn sum(u: &Array<Self>) -> Result<f64, Error> {
        reduce(u, Sum, kernel!(|u, at| u[at].height))
    }
}
