//! Random programs for several ranks: all of a rank's calls, and what it sees.

use tida::acc::FakeRank;
use tida::prelude::*;
use tida::{Result, fill_ghosts, fill_ghosts_with};

/// Runs on so many ranks, each a thread; gives what each gives.
pub fn on_ranks<R: Send>(
    ranks: usize,
    seed: u64,
    build: impl Fn(tida::TileAccBuilder) -> tida::TileAccBuilder + Sync,
    run: impl Fn(&TileAcc) -> R + Sync,
) -> Vec<R> {
    let all = FakeRank::all(ranks, seed, 12);
    std::thread::scope(|scope| {
        let of = |rank: FakeRank| {
            let (build, run) = (&build, &run);
            let rank = rank.with_devices();
            scope.spawn(move || run(&build(TileAcc::builder().threads(1).fake_ranks(rank)).build().unwrap()))
        };
        let threads: Vec<_> = all.into_iter().map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Numbers that look random, the same each time.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below this one.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }
}

/// What a rank sees of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// What all ranks see.
    pub shared: Vec<u64>,
    /// Cells and ghosts of the regions of this rank.
    pub regions: Vec<(usize, Vec<u64>)>,
}

/// A value that few other cells have.
fn value<const D: usize>(at: [usize; D], salt: usize) -> f64 {
    let n = at.iter().fold(salt + 1, |n, x| n.wrapping_mul(1009).wrapping_add(x + 7));
    (n % 100_003) as f64 / 256.0
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// An array whose form is drawn, and whether it is kept in fewer bits.
fn draw<const D: usize>(dice: &mut Dice, acc: &TileAcc) -> Result<(TileArray<f64, D>, bool)> {
    let (mut cells, mut regions) = ([1; D], [1; D]);
    for d in 0..D {
        regions[d] = 1 + dice.roll(3);
        cells[d] = if d + 1 == D { 64 * (regions[d] - 1) + 3 + dice.roll(61) } else { 4 * regions[d] + dice.roll(20) };
    }
    let ghost: [[usize; 2]; D] = std::array::from_fn(|_| [1 + dice.roll(2), 1 + dice.roll(2)]);
    let centering = std::array::from_fn(|_| match D > 1 && dice.roll(3) == 0 {
        true => Centering::Face,
        false => Centering::Cell,
    });
    let kinds = [
        Boundary::Fixed(2.5),
        Boundary::ReflectEven,
        Boundary::ReflectOdd,
        Boundary::Extrapolate(0),
        Boundary::Extrapolate(1),
    ];
    let mut builder = TileArray::<f64, D>::builder(cells).regions(regions).ghost(ghost).centering(centering);
    for axis in 0..D {
        let faces = match dice.roll(3) {
            0 => [Boundary::Periodic; 2],
            _ => [dice.pick(&kinds), dice.pick(&kinds)],
        };
        builder = builder.boundary_face(axis, Side::Low, faces[0]).boundary_face(axis, Side::High, faces[1]);
    }
    if dice.roll(3) == 0 {
        // No more than a part has at least.
        let planes = ghost[0][0].max(ghost[0][1]) + dice.roll(3);
        builder = builder.overlap(planes.min(4));
    }
    let coded = dice.roll(5) == 0;
    if coded {
        builder = builder.storage(tida::Format::Range { bits: 16, min: -1e4, max: 1e4 });
    }
    Ok((builder.build(acc)?, coded))
}

macro_rules! programs {
    ($(#[$about:meta])* $name:ident, $d:literal, |$next:ident, $u:ident, $at:ident| $star:expr, $corners:expr) => {
        $(#[$about])*
        ///
        /// # Errors
        /// None that is expected.
        pub fn $name(acc: &TileAcc, mut dice: Dice) -> Result<Seen> {
            let (mut u, coded) = draw::<$d>(&mut dice, acc)?;
            let mut v = u.like()?;
            let (salt, mut seen) = (dice.roll(1000), Seen::default());
            u.fill(|at| value(at, salt))?;
            v.fill(|at| value(at, salt + 1))?;
            // Drawn apart from the rest: in place, where values are not kept in fewer bits.
            let mut more = Dice(salt as u64);
            for step in 0..6 + dice.roll(8) {
                match more.roll(4) {
                    _ if coded => {}
                    0 => {
                        u.fill_ghosts()?;
                        let colour = Colour::red_black(more.roll(2));
                        sweep_colour(colour, u.tiles(), &mut u, kernel!(|u, at| {
                            let along = 0.125 * u[at + unit(0)] - 0.25 * u[at - unit(0)];
                            u[at] = 0.5 * u[at] + along + 0.3 * u[at - unit($d - 1)];
                        }))?;
                    }
                    // Along the first axis ranks have parts of the lines.
                    1 if $d > 1 => {
                        u.fill_ghosts()?;
                        sweep_along($d - 1, Forward, u.tiles(), &mut u,
                            kernel!(|u, at| u[at] = 0.5 * u[at] - 0.25 * u[at - unit($d - 1)]))?;
                    }
                    2 if $d > 2 => {
                        u.fill_ghosts()?;
                        sweep_along(1, Backward, u.tiles(), &mut u,
                            kernel!(|u, at| u[at] = 0.5 * u[at] + 0.25 * u[at + unit(1)]))?;
                    }
                    _ => {}
                }
                match dice.roll(9) {
                    0..4 => {
                        match dice.roll(3) {
                            0 => u.fill_ghosts()?,
                            1 => fill_ghosts((&mut u, &mut v))?,
                            // Nothing is new after the first.
                            _ => (0..2).try_for_each(|_| u.fill_ghosts())?,
                        }
                        let mut tiles = v.tiles();
                        match dice.roll(5) {
                            // Few ranks have some of these.
                            0 => {
                                let domain = v.domain();
                                let lo = dice.roll(domain.hi[0] as usize) as i64;
                                let (mut from, mut to) = (domain.lo, domain.hi);
                                (from[0], to[0]) = (lo, lo + 1);
                                tiles = tiles.within(from, to);
                            }
                            1 => tiles = tiles.tile_size([3; $d]),
                            _ => {}
                        }
                        if dice.roll(2) == 0 {
                            for tile in tiles {
                                compute(&tile, (&mut v, &u), kernel!(|$next, $u, $at| $next[$at] = $star))?;
                            }
                        } else {
                            for tile in tiles {
                                compute(&tile, (&mut v, &u), kernel!(|$next, $u, $at| $next[$at] = $corners))?;
                            }
                        }
                        std::mem::swap(&mut u, &mut v);
                    }
                    4 => {
                        let sum = reduce(&u, Sum, kernel!(|u, at| u[at] * 0.37))?;
                        let (at, most) = reduce(&u, ArgMax, kernel!(|u, at| u[at]))?;
                        let mut inner = u.domain();
                        inner.lo[0] += 1;
                        let part = reduce_over(inner, (&u, &v), Sum, kernel!(|u, v, at| u[at] - v[at]))?;
                        seen.shared.extend([sum.to_bits(), most.to_bits(), part.to_bits()]);
                        seen.shared.extend(at.map(|x| x as u64));
                    }
                    5 => {
                        let mut cells = u.domain();
                        for d in 0..$d {
                            cells.lo[d] = dice.roll(cells.hi[d] as usize) as i64;
                            cells.hi[d] = cells.lo[d] + 1 + dice.roll((cells.hi[d] - cells.lo[d]) as usize) as i64;
                        }
                        let values: Vec<f64> = (0..cells.cells()).map(|n| value([n], step)).collect();
                        u.write_box(cells, &values)?;
                        seen.shared.extend(bits(&u.read_box(cells)?));
                        v.copy_box_from(&u, cells)?;
                    }
                    6 => {
                        let later = reduce_later(&u, Max, kernel!(|u, at| u[at]))?;
                        for tile in u.tiles() {
                            compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] - later * 0.5))?;
                        }
                        v = u.clone();
                    }
                    7 => {
                        // By way of an array that lies on one rank alone.
                        let cells = u.domain_cells();
                        let builder = TileArray::<f64, $d>::builder(cells).centering(u.centering());
                        let mut other = builder.distribute([cells[0]]).build(acc)?;
                        other.copy_from(&u)?;
                        v.copy_from(&other)?;
                    }
                    _ => {
                        v.copy_from(&u)?;
                        u.fill_ghosts()?;
                    }
                }
            }
            acc.sync()?;
            fill_ghosts([&mut u, &mut v])?;
            for u in [&u, &v] {
                seen.shared.extend(bits(&u.read_box(u.domain())?));
                for tile in u.tiles().filter(|tile| !tile.cells().is_empty()) {
                    let region = tile.region();
                    let grown = u.grown_box(region).unwrap_or(tile.cells());
                    seen.regions.push((region, bits(&u.read_grown_box(region, grown)?)));
                }
            }
            Ok(seen)
        }
    };
}

programs!(
    /// A random program over lines of cells.
    lines, 1, |next, u, at| u[at - [1]] + 0.5 * u[at] - u[at + [1]], u[at + [1]] * 0.25 - u[at - [1]]);
programs!(
    /// A random program over planes of cells.
    planes,
    2,
    |next, u, at| 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]) - u[at],
    u[at + [1, 1]] - 0.5 * u[at + [-1, 1]] + 0.125 * u[at + [1, -1]] - 0.3 * u[at - [1, 1]]
);
programs!(
    /// A random program over solids of cells.
    solids,
    3,
    |next, u, at| u[at - [1, 0, 0]] + u[at + [1, 0, 0]] - 0.5 * (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
        + u[at + [0, 0, 1]],
    u[at + [1, 1, 1]] - 0.5 * u[at + [-1, 1, -1]] + 0.125 * u[at + [1, -1, 1]] - 0.3 * u[at - [1, 1, 1]]
);

/// A random program whose ghosts are set by kernels beyond some faces.
///
/// # Errors
/// None that is expected.
pub fn faces(acc: &TileAcc, mut dice: Dice) -> Result<Seen> {
    let cells = [8 + dice.roll(30), 70 + dice.roll(60)];
    let regions = [1 + dice.roll(2), 1 + dice.roll(2)];
    let mut builder = TileArray::<f64, 2>::builder(cells).regions(regions).ghost([[1, 2], [2, 1]]);
    let kinds = [Boundary::Open, Boundary::Open, Boundary::ReflectEven, Boundary::Fixed(0.5)];
    let periodic = dice.roll(3);
    let mut open = Vec::new();
    // The last axis first, as they are set.
    for axis in [1, 0] {
        for side in [Side::Low, Side::High] {
            let kind = if axis == periodic { Boundary::Periodic } else { dice.pick(&kinds) };
            builder = builder.boundary_face(axis, side, kind);
            open.extend((kind == Boundary::Open).then_some((axis, side)));
        }
    }
    let mut u = builder.build(acc)?;
    let mut v = u.like()?;
    u.fill(|at| value(at, 3))?;
    let mut seen = Seen::default();
    let set = |u: &mut TileArray<f64, 2>, time: f64| -> Result<()> {
        u.fill_ghosts()?;
        for (axis, side) in &open {
            let face = (*axis, *side);
            match face {
                (0, Side::Low) => fill_ghosts_with(face, &mut *u, kernel!(|u, at| u[at] = u[at + [2, 0]] * time)),
                (0, Side::High) => fill_ghosts_with(face, &mut *u, kernel!(|u, at| u[at] = time - u[at - [2, 0]])),
                (_, Side::Low) => fill_ghosts_with(face, &mut *u, kernel!(|u, at| u[at] = u[at + [0, 2]] + time)),
                (_, Side::High) => fill_ghosts_with(face, &mut *u, kernel!(|u, at| u[at] = 0.5 * u[at - [0, 1]])),
            }?;
        }
        Ok(())
    };
    for step in 0..3 + dice.roll(5) {
        set(&mut u, 0.25 + step as f64)?;
        for tile in v.tiles() {
            compute(
                &tile,
                (&mut v, &u),
                kernel!(|next, u, at| {
                    next[at] =
                        0.3 * (u[at - [1, 1]] + u[at + [1, 0]]) + 0.2 * (u[at - [0, 2]] - u[at + [0, 1]]) + 0.1 * u[at]
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut v);
        if dice.roll(3) == 0 {
            seen.shared.push(reduce(&u, Sum, kernel!(|u, at| u[at]))?.to_bits());
        }
    }
    set(&mut u, 7.0)?;
    seen.shared.extend(bits(&u.read_box(u.domain())?));
    for tile in u.tiles().filter(|tile| !tile.cells().is_empty()) {
        let region = tile.region();
        let grown = u.grown_box(region).unwrap_or(tile.cells());
        seen.regions.push((1000 + region, bits(&u.read_grown_box(region, grown)?)));
    }
    Ok(seen)
}

/// The program of a seed, of one to three axes.
///
/// # Errors
/// None that is expected.
pub fn program(acc: &TileAcc, seed: u64) -> Result<Seen> {
    let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut seen = match seed % 3 {
        0 => lines(acc, dice.clone()),
        1 => planes(acc, dice.clone()),
        _ => solids(acc, dice.clone()),
    }?;
    let faces = faces(acc, dice)?;
    seen.shared.extend(faces.shared);
    seen.regions.extend(faces.regions);
    Ok(seen)
}

/// What one process sees, where its regions are cut as on so many places: ghosts of other cuts are other ones.
///
/// # Errors
/// None that is expected.
pub fn alone(places: usize, seed: u64) -> Result<Seen> {
    let builder = TileAcc::builder().threads(2).ranks(tida::Ranks::Off);
    let acc = match places {
        1 => builder.device(Device::Cpu).build()?,
        _ => builder.devices([format!("cpu:{places}")]).build()?,
    };
    program(&acc, seed)
}

/// What all ranks have seen, and all regions in their order.
///
/// # Panics
/// If what all see differs.
pub fn together(seen: Vec<Seen>, what: &str) -> Seen {
    let shared = seen[0].shared.clone();
    for (rank, other) in seen.iter().enumerate() {
        assert!(other.shared == shared, "{what}: rank {rank} sees other values than rank 0");
    }
    let mut regions: Vec<_> = seen.into_iter().flat_map(|seen| seen.regions).collect();
    regions.sort();
    Seen { shared, regions }
}
