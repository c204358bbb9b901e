//! Edges of a picture by Sobel's filter: Lashgar §7.4 and §7.5 (EDS).
//!
//! Bytes in, bytes out. Pixels outside the picture are dark: a boundary here, and so nothing in the kernel, where the
//! paper's baseline checks each index.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "sobel",
        about: "The edges of a picture; a step filters it once",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 10,
        ghost: 1,
        dtypes: &[],
        boundaries: &[Edge::Fixed, Edge::Reflect],
        library: false,
        look: Look::greys("edge").still(),
    },
    small: "--size 130 --steps 2",
    input: true,
    run,
};

/// Two discs on a shade that gets lighter, with some noise.
fn pixel([y, x]: [f64; 2]) -> u8 {
    let disc = |cy: f64, cx: f64, r: f64| (y - cy).hypot(x - cx) < r;
    let shade = if disc(0.4, 0.35, 0.2) {
        220.0
    } else if disc(0.65, 0.7, 0.15) {
        10.0
    } else {
        60.0 + 80.0 * x
    };
    (shade + 8.0 * plain::random((y * 1e9) as usize ^ (x * 1e6) as usize)) as u8
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut picture = settings.array::<u8, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut picture, pixel)?;
    let mut edges = picture.like()?;
    let start = settings.start(&picture)?;
    let tile_size = settings.tile()?;

    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        picture.fill_ghosts()?;
        for tile in TileIter::new(&edges).tile_size(tile_size) {
            compute(
                &tile,
                (&mut edges, &picture),
                kernel!(|edges, picture, at| {
                    let mut across = 0;
                    let mut down = 0;
                    for d in -1..=1 {
                        let weight = if d == 0 { 2 } else { 1 };
                        across += weight * (picture[at + [d, 1]] as i32 - picture[at + [d, -1]] as i32);
                        down += weight * (picture[at + [1, d]] as i32 - picture[at + [-1, d]] as i32);
                    }
                    edges[at] = (across.abs() + down.abs()).min(255) as u8;
                }),
            )?;
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&edges, settings.steps, seconds, || {
        filtered(&settings.shape, &start, settings.steps, settings.edge.outside())
    })
}

/// The same by plain loops: the two masks written out. Without a step there are no edges.
fn filtered(shape: &[usize], start: &[u8], steps: u64, outside: Outside<u8>) -> Vec<u8> {
    if steps == 0 {
        return vec![0; start.len()];
    }
    let mut picture = Grid::new(shape, 1, start);
    picture.fill_ghosts(outside);
    let [_, ny, nx] = picture.shape();
    let row = picture.stride(1);
    let mut edges = Vec::with_capacity(start.len());
    for j in 0..ny {
        for i in 0..nx {
            let p = picture.position(0, j, i);
            let v = |q: usize| i32::from(picture.data[q]);
            let (nw, n, ne) = (v(p - row - 1), v(p - row), v(p - row + 1));
            let (sw, s, se) = (v(p + row - 1), v(p + row), v(p + row + 1));
            let across = ne + 2 * v(p + 1) + se - nw - 2 * v(p - 1) - sw;
            let down = sw + 2 * s + se - nw - 2 * n - ne;
            edges.push((across.abs() + down.abs()).min(255) as u8);
        }
    }
    edges
}
