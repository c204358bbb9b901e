//! Sweeps over the cells of one colour: wherever they run and however arrays are cut, they have the bits of plain
//! loops.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

use tida::SimDevice;
use tida::prelude::*;
use tida_tests::{everywhere, expect, on_a_device, value};

/// How an array lies and what is beyond it.
#[derive(Clone, Copy, Debug)]
struct How {
    shape: [usize; 3],
    regions: [usize; 3],
    /// Beyond each axis.
    beyond: [Boundary<f64>; 3],
    /// Where it runs, if not where the accelerator says.
    on: Option<Device>,
    tile: Option<[usize; 3]>,
}

/// What a program leaves in its arrays, as bits.
type Found = Vec<u64>;

/// A program, and the same as plain loops.
struct Program {
    name: &'static str,
    run: fn(&TileAcc, How) -> Found,
    plain: fn(How) -> Found,
    /// Arrays of `f64` that it has.
    arrays: u64,
}

/// Cells of plain loops, and the values that their ghosts had when they were filled.
struct Grid {
    how: How,
    cells: Vec<f64>,
    filled: Vec<f64>,
}

impl Grid {
    fn new(how: How, seed: u64) -> Grid {
        let cells: Vec<f64> = all(how.shape).map(|at| value(seed, at.map(|n| n as usize))).collect();
        Grid { how, filled: cells.clone(), cells }
    }

    fn place(&self, at: [i64; 3]) -> usize {
        let [_, rows, columns] = self.how.shape;
        (at[0] as usize * rows + at[1] as usize) * columns + at[2] as usize
    }

    fn fill_ghosts(&mut self) {
        self.filled.clone_from(&self.cells);
    }

    fn at(&mut self, at: [i64; 3]) -> &mut f64 {
        let place = self.place(at);
        &mut self.cells[place]
    }

    fn get(&self, at: [i64; 3]) -> f64 {
        let [n, m, k] = self.how.shape;
        let (n, m, k) = (n as i64, m as i64, k as i64);
        // (Most cells are no ghosts, and plain loops take as long as what they are compared with.)
        if 0 <= at[0] && at[0] < n && 0 <= at[1] && at[1] < m && 0 <= at[2] && at[2] < k {
            return self.cells[self.place(at)];
        }
        let (mut inside, mut ghost) = (at, false);
        // An edge has what the first axis says.
        for (d, n) in [n, m, k].into_iter().enumerate() {
            if (0..n).contains(&at[d]) {
                continue;
            }
            ghost = true;
            inside[d] = match self.how.beyond[d] {
                Boundary::Periodic => at[d].rem_euclid(n),
                Boundary::ReflectEven if at[d] < 0 => -1 - at[d],
                Boundary::ReflectEven => 2 * n - 1 - at[d],
                Boundary::Fixed(value) => return value,
                _ => unreachable!(),
            };
        }
        let place = self.place(inside);
        if ghost { self.filled[place] } else { self.cells[place] }
    }

    fn bits(&self) -> Found {
        self.cells.iter().map(|x| x.to_bits()).collect()
    }
}

fn all(shape: [usize; 3]) -> impl Iterator<Item = [i64; 3]> {
    let [n, m, l] = shape.map(|n| n as i64);
    (0..n).flat_map(move |i| (0..m).flat_map(move |j| (0..l).map(move |k| [i, j, k])))
}

fn array(acc: &TileAcc, how: How, seed: u64) -> TileArray<f64, 3> {
    let builder = TileArray::<f64, 3>::builder(how.shape).regions(how.regions).ghost(1);
    let builder = (0..3).fold(builder, |builder, d| builder.boundary_axis(d, how.beyond[d]));
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(seed, at)).unwrap();
    u
}

fn tiles(u: &TileArray<f64, 3>, how: How) -> TileIter<3> {
    let tiles = if let Some(size) = how.tile { u.tiles().tile_size(size) } else { u.tiles() };
    if let Some(device) = how.on { tiles.device(device) } else { tiles }
}

fn bits(u: &TileArray<f64, 3>) -> Found {
    u.read_box(u.domain()).unwrap().iter().map(|x| x.to_bits()).collect()
}

fn plus(at: [i64; 3], by: [i64; 3]) -> [i64; 3] {
    std::array::from_fn(|d| at[d] + by[d])
}

/// Red-black SOR, between other sweeps.
fn sor(acc: &TileAcc, how: How) -> Found {
    let (mut u, f) = (array(acc, how, 1), array(acc, how, 2));
    for turn in 0..3 {
        let omega = 1.5 + 0.125 * f64::from(turn);
        for colour in [0, 1] {
            u.fill_ghosts().unwrap();
            sweep_colour(
                Colour::red_black(colour),
                tiles(&u, how),
                (&mut u, &f),
                kernel!(|u, f, at| {
                    let mut around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]];
                    around += u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                    around += u[at - [0, 0, 1]] + u[at + [0, 0, 1]];
                    u[at] += omega * ((around + f[at]) * 0.125 - u[at]);
                }),
            )
            .unwrap();
        }
        for tile in tiles(&u, how) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] *= 0.75)).unwrap();
        }
    }
    bits(&u)
}

fn plain_sor(how: How) -> Found {
    let (mut u, f) = (Grid::new(how, 1), Grid::new(how, 2));
    for turn in 0..3 {
        let omega = 1.5 + 0.125 * f64::from(turn);
        for colour in [0, 1] {
            u.fill_ghosts();
            for at in all(how.shape).filter(|at| at.iter().sum::<i64>() % 2 == colour) {
                let mut around = u.get(plus(at, [-1, 0, 0])) + u.get(plus(at, [1, 0, 0]));
                around += u.get(plus(at, [0, -1, 0])) + u.get(plus(at, [0, 1, 0]));
                around += u.get(plus(at, [0, 0, -1])) + u.get(plus(at, [0, 0, 1]));
                *u.at(at) += omega * ((around + f.get(at)) * 0.125 - u.get(at));
            }
        }
        u.cells.iter_mut().for_each(|x| *x *= 0.75);
    }
    u.bits()
}

/// Eight colours, such that all cells around one have others: a sum over a block, in loops. Two arrays are written.
fn block(acc: &TileAcc, how: How) -> Found {
    let (mut u, mut v) = (array(acc, how, 3), array(acc, how, 4));
    for n in 0..8 {
        u.fill_ghosts().unwrap();
        v.fill_ghosts().unwrap();
        sweep_colour(
            Colour::of_axes([n / 4, n / 2 % 2, n % 2], [2; 3]),
            tiles(&u, how),
            (&mut u, &mut v),
            kernel!(|u, v, at| {
                let mut sum = 0.0;
                for i in -1..=1 {
                    for j in -1..=1 {
                        sum += u[at + [i, j, 1]] - 0.5 * v[at + [i, j, -1]];
                    }
                }
                u[at] = 0.25 * u[at] + 0.0625 * sum;
                v[at] -= 0.125 * (u[at + [1, 1, 0]] + u[at]);
            }),
        )
        .unwrap();
    }
    let mut found = bits(&u);
    found.extend(bits(&v));
    found
}

fn plain_block(how: How) -> Found {
    let (mut u, mut v) = (Grid::new(how, 3), Grid::new(how, 4));
    for n in 0..8 {
        u.fill_ghosts();
        v.fill_ghosts();
        let runs = |at: &[i64; 3]| [at[0] % 2, at[1] % 2, at[2] % 2] == [n / 4, n / 2 % 2, n % 2];
        for at in all(how.shape).filter(runs) {
            let mut sum = 0.0;
            for i in -1..=1 {
                for j in -1..=1 {
                    sum += u.get(plus(at, [i, j, 1])) - 0.5 * v.get(plus(at, [i, j, -1]));
                }
            }
            *u.at(at) = 0.25 * u.get(at) + 0.0625 * sum;
            *v.at(at) -= 0.125 * (u.get(plus(at, [1, 1, 0])) + u.get(at));
        }
    }
    let mut found = u.bits();
    found.extend(v.bits());
    found
}

/// Diagonals of three colours; every third cell along one axis; one that reads no other cell. On parts of the domain.
fn others(acc: &TileAcc, how: How) -> Found {
    let mut u = array(acc, how, 5);
    for colour in [2, 0, 1] {
        u.fill_ghosts().unwrap();
        let part = tiles(&u, how).within([1, 0, 2], how.shape.map(|n| n as i64));
        sweep_colour(
            Colour::of_sum(colour, 3),
            part,
            &mut u,
            kernel!(|u, at| u[at] = 0.5 * (u[at - [0, 0, 1]] + u[at + [1, 1, 0]]) - 0.25 * u[at - [1, 0, 0]]),
        )
        .unwrap();
        sweep_colour(
            Colour::of_axes([0, colour, 0], [1, 3, 1]),
            tiles(&u, how),
            &mut u,
            kernel!(|u, at| u[at] = (at[1] + 2 * at[2]) as f64 * 0.125),
        )
        .unwrap();
    }
    bits(&u)
}

fn plain_others(how: How) -> Found {
    let mut u = Grid::new(how, 5);
    for colour in [2, 0, 1] {
        u.fill_ghosts();
        let part = all(how.shape).filter(|at| at[0] >= 1 && at[2] >= 2);
        for at in part.filter(|at| at.iter().sum::<i64>() % 3 == colour) {
            let sum = u.get(plus(at, [0, 0, -1])) + u.get(plus(at, [1, 1, 0]));
            *u.at(at) = 0.5 * sum - 0.25 * u.get(plus(at, [-1, 0, 0]));
        }
        for at in all(how.shape).filter(|at| at[1] % 3 == colour) {
            *u.at(at) = (at[1] + 2 * at[2]) as f64 * 0.125;
        }
    }
    u.bits()
}

const PROGRAMS: [Program; 3] = [
    Program { name: "sor", run: sor, plain: plain_sor, arrays: 2 },
    Program { name: "block", run: block, plain: plain_block, arrays: 2 },
    Program { name: "others", run: others, plain: plain_others, arrays: 1 },
];

const CUTS: [[usize; 3]; 6] = [[1, 1, 1], [4, 1, 1], [1, 3, 1], [1, 1, 3], [2, 2, 3], [4, 3, 2]];

/// Faces, and sizes beside them: odd ones, so that ends of a periodic axis have one colour, and even ones.
fn faces() -> [How; 4] {
    let how = |shape, beyond| How { shape, regions: [1; 3], beyond, on: None, tile: None };
    let (fixed, periodic, mirror) = (Boundary::Fixed(0.5), Boundary::Periodic, Boundary::ReflectEven);
    [
        how([24, 6, 200], [fixed; 3]),
        how([23, 7, 129], [periodic; 3]),
        how([24, 6, 192], [periodic, mirror, fixed]),
        how([21, 9, 131], [mirror, fixed, periodic]),
    ]
}

fn same(program: &Program, acc: &TileAcc, how: How, what: &str) {
    let (found, wanted) = ((program.run)(acc, how), (program.plain)(how));
    let wrong = (0..wanted.len()).find(|n| found[*n] != wanted[*n]).map(|n| {
        let cells = how.shape.iter().product::<usize>();
        let (array, n) = (n / cells, n % cells);
        let at = [n / how.shape[2] / how.shape[1], n / how.shape[2] % how.shape[1], n % how.shape[2]];
        (array, at, f64::from_bits(found[array * cells + n]), f64::from_bits(wanted[array * cells + n]))
    });
    assert_eq!(wrong, None, "{} {how:?} {what}", program.name);
    assert_eq!(found.len(), wanted.len());
}

#[test]
fn on_the_cpu() {
    let accs = [1, 3].map(|threads| TileAcc::builder().device(Device::Cpu).threads(threads).build().unwrap());
    for (number, program) in PROGRAMS.iter().enumerate() {
        for (n, how) in faces().into_iter().enumerate() {
            // One thread or three, by turns, and each cut with half of the faces.
            let acc = &accs[(number + n / 2) % 2];
            for regions in CUTS.into_iter().skip(n % 2).step_by(2) {
                same(program, acc, How { regions, ..how }, "on the CPU");
            }
            same(program, acc, How { regions: [2, 1, 2], tile: Some([5, 3, 70]), ..how }, "by tiles");
        }
    }
}

/// The device, and a simulated one, with so much memory.
fn devices(limit: u64) -> impl Iterator<Item = (TileAcc, &'static str)> {
    let there = on_a_device(TileAcc::builder().memory_limit(limit)).map(|acc| (acc, "on a device"));
    let simulated = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(limit).build().unwrap();
    there.into_iter().chain([(simulated, "simulated")])
}

#[test]
fn on_a_device_with_room() {
    for program in &PROGRAMS {
        for (acc, what) in devices(u64::MAX) {
            for (n, how) in faces().into_iter().enumerate() {
                for regions in [CUTS[n % 2], CUTS[4]] {
                    same(program, &acc, How { regions, ..how }, what);
                }
            }
            assert!(acc.stats().launches > 0);
            let how = faces()[1];
            same(program, &acc, How { regions: [2, 1, 2], on: Some(Device::Cpu), ..how }, what);
            same(program, &acc, How { regions: [4, 1, 1], on: Some(Device::Hybrid), ..how }, what);
        }
    }
}

/// Planes go through the device, or regions come and go.
#[test]
fn out_of_core() {
    for program in &PROGRAMS {
        for how in faces() {
            let bytes = program.arrays * how.shape.iter().product::<usize>() as u64 * 8;
            for (acc, what) in devices(bytes / 2) {
                for regions in [[1, 1, 1], [8, 1, 1]] {
                    same(program, &acc, How { regions, ..how }, what);
                }
                assert!(acc.stats().passes > 0, "{} {how:?}", program.name);
            }
            // Regions of few cells have many ghosts.
            for (acc, what) in devices(bytes * 5 / 4) {
                for regions in [[1, 3, 1], [4, 3, 1], [4, 1, 3]] {
                    same(program, &acc, How { regions, ..how }, what);
                }
            }
        }
    }
}

/// Sweeps over all colours share a pass over the link, and each plane comes and goes once.
#[test]
fn passes_are_shared() {
    let shape = [48, 16, 128];
    let bytes = shape.iter().product::<usize>() as u64 * 8;
    let builder = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(bytes / 2);
    let acc = builder.look_ahead(1000).pause(std::time::Duration::from_secs(600)).build().unwrap();
    let mut u = TileArray::<f64, 3>::builder(shape).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc).unwrap();
    u.fill_value(1.0).unwrap();
    for turn in 0..4 {
        u.fill_ghosts().unwrap();
        sweep_colour(
            Colour::red_black(turn % 2),
            u.tiles(),
            &mut u,
            kernel!(|u, at| u[at] = 0.5 * (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])),
        )
        .unwrap();
    }
    acc.sync().unwrap();
    let stats = acc.stats();
    assert_eq!(stats.passes, 1, "{stats:?}");
    assert!(stats.h2d_bytes < 2 * bytes && stats.d2h_bytes < 2 * bytes, "{stats:?}");
}

#[test]
fn lines_and_four_axes() {
    for acc in everywhere() {
        for regions in [1, 5] {
            let builder = TileArray::<f32, 1>::builder([1001]).regions([regions]).ghost(1);
            let mut u = builder.boundary(Boundary::Periodic).build(&acc).unwrap();
            u.fill(|[n]| (n % 13) as f32 * 0.37).unwrap();
            let mut plain: Vec<f32> = (0..1001).map(|n| (n % 13) as f32 * 0.37).collect();
            for colour in [0, 1, 2, 3] {
                u.fill_ghosts().unwrap();
                sweep_colour(
                    Colour::of_sum(colour, 4),
                    u.tiles(),
                    &mut u,
                    kernel!(|u, at| u[at] = 0.5 * (u[at - [1]] + u[at + [1]]) + 0.25 * u[at]),
                )
                .unwrap();
                let before = plain.clone();
                for n in (0..1001).filter(|n| n % 4 == colour) {
                    plain[n] = 0.5 * (before[(n + 1000) % 1001] + before[(n + 1) % 1001]) + 0.25 * before[n];
                }
            }
            assert_eq!(u.read_box(u.domain()).unwrap(), plain);
        }
        let shape = [3, 4, 5, 66];
        let at = |n: usize| [n / 66 / 5 / 4, n / 66 / 5 % 4, n / 66 % 5, n % 66];
        let mut u = TileArray::<i64, 4>::builder(shape).regions([1, 2, 1, 1]).build(&acc).unwrap();
        u.fill_value(1).unwrap();
        let axes = Colour::of_axes([1, 0, 2, 1], [2, 1, 3, 2]);
        sweep_colour(axes, u.tiles(), &mut u, kernel!(|u, at| u[at] += at[0] + 10 * at[3])).unwrap();
        let sum = Colour::of_sum(1, 5);
        sweep_colour(sum, u.tiles(), &mut u, kernel!(|u, at| u[at] *= 3 + at[1])).unwrap();
        let found = u.read_box(u.domain()).unwrap();
        for (n, found) in found.into_iter().enumerate() {
            let at = at(n).map(|n| n as i64);
            let mut value = 1;
            value += if axes.has(at) { at[0] + 10 * at[3] } else { 0 };
            value *= if sum.has(at) { 3 + at[1] } else { 1 };
            assert_eq!(found, value, "{at:?}");
        }
    }
}

/// Rows of which all cells run, though every second one alone writes: elements of several components, one of which is
/// written under a condition; reads three cells away; small numbers; and a kernel that reads what it has written.
#[test]
fn rows_of_which_all_cells_run() {
    let shape = [9usize, 301];
    let (rows, columns) = (1..8usize, 3..298usize);
    let inner = |u: TileIter<2>| u.within([1, 3], [8, 298]);
    let seed = |j: usize, i: usize| ((j * 301 + i) * 2_654_435_761 % 1000) as f32 * 1e-3;
    for acc in everywhere() {
        let build = || TileArray::<[f32; 2], 2>::builder(shape).build(&acc);
        let (mut u, mut v) = (build().unwrap(), build().unwrap());
        u.fill(|[j, i]| [seed(j, i), seed(i, j)]).unwrap();
        v.fill(|[j, i]| [seed(j + 7, i), 0.0]).unwrap();
        let mut codes = TileArray::<u8, 2>::builder(shape).build(&acc).unwrap();
        codes.fill(|[j, i]| (seed(j, i) * 255.0) as u8).unwrap();
        let [mut plain_u, mut plain_v] = [&u, &v].map(|u| u.read_box(u.domain()).unwrap());
        let mut plain_codes = codes.read_box(codes.domain()).unwrap();
        for colour in [0, 1, 1, 0] {
            let one = Colour::red_black(colour);
            sweep_colour(
                one,
                inner(u.tiles()),
                (&mut u, &v),
                kernel!(|u, v, at| {
                    u[at][0] = 0.5 * (u[at - [0, 3]][1] + u[at + [1, 0]][0]) - 0.125 * u[at][0];
                    if v[at][0] > 0.5 {
                        u[at][1] += 0.25 * v[at + [0, 1]][0];
                    }
                }),
            )
            .unwrap();
            sweep_colour(
                one,
                inner(u.tiles()),
                (&mut u, &mut v),
                kernel!(|u, v, at| {
                    u[at][1] = 0.75 * u[at][1] + 0.125 * u[at + [0, 3]][0];
                    v[at] = [u[at][1], u[at - [0, 1]][0]];
                }),
            )
            .unwrap();
            sweep_colour(
                one,
                inner(codes.tiles()),
                &mut codes,
                kernel!(|codes, at| codes[at] = (codes[at - [0, 1]] ^ codes[at + [1, 0]]) >> 1),
            )
            .unwrap();
            for sweep in 0..3 {
                let cells = rows.clone().flat_map(|j| columns.clone().map(move |i| (j, i)));
                for (j, i) in cells.filter(|(j, i)| (i + j) % 2 == colour) {
                    let n = j * 301 + i;
                    match sweep {
                        0 => {
                            let around = plain_u[n - 3][1] + plain_u[n + 301][0];
                            plain_u[n][0] = 0.5 * around - 0.125 * plain_u[n][0];
                            if plain_v[n][0] > 0.5 {
                                plain_u[n][1] += 0.25 * plain_v[n + 1][0];
                            }
                        }
                        1 => {
                            plain_u[n][1] = 0.75 * plain_u[n][1] + 0.125 * plain_u[n + 3][0];
                            plain_v[n] = [plain_u[n][1], plain_u[n - 1][0]];
                        }
                        _ => plain_codes[n] = (plain_codes[n - 1] ^ plain_codes[n + 301]) >> 1,
                    }
                }
            }
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), plain_u);
        assert_eq!(v.read_box(v.domain()).unwrap(), plain_v);
        assert_eq!(codes.read_box(codes.domain()).unwrap(), plain_codes);
    }
}

/// The first cell that fails is one of the colour.
#[test]
fn cells_that_fail() {
    for acc in everywhere() {
        let mut u = TileArray::<i64, 2>::builder([6, 65]).build(&acc).unwrap();
        u.fill(|[row, column]| if row == 3 { 0 } else { column as i64 + 1 }).unwrap();
        sweep_colour(Colour::of_axes([0, 0], [2, 1]), u.tiles(), &mut u, kernel!(|u, at| u[at] = 60 / u[at])).unwrap();
        assert_eq!(u.read_box(GridBox::new([0, 0], [1, 3])).unwrap(), [60, 30, 20]);
        let mut v = u.like().unwrap();
        v.copy_from(&u).unwrap();
        sweep_colour(Colour::red_black(1), u.tiles(), &mut u, kernel!(|u, at| u[at] = 60 / u[at])).unwrap();
        let error = u.read_box(u.domain()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Division, "{error}");
        let _ = acc.sync();
        assert!(v.read_box(v.domain()).is_ok());
    }
}

/// A read that a condition keeps inside runs checked.
#[test]
fn reads_under_conditions() {
    for acc in everywhere() {
        for regions in [[1, 1], [2, 1]] {
            let mut u = TileArray::<i64, 2>::builder([6, 130]).regions(regions).ghost(1).build(&acc).unwrap();
            u.fill(|[row, column]| (row * 130 + column) as i64).unwrap();
            u.fill_ghosts().unwrap();
            sweep_colour(
                Colour::red_black(0),
                u.tiles(),
                &mut u,
                kernel!(|u, at| {
                    if at[1] > 2 {
                        u[at] += u[at - [0, 3]];
                    }
                }),
            )
            .unwrap();
            let mut plain: Vec<i64> = (0..6 * 130).collect();
            for n in (0..6 * 130).filter(|n| n % 130 > 2 && (n / 130 + n % 130) % 2 == 0) {
                plain[n] += plain[n - 3];
            }
            assert_eq!(u.read_box(u.domain()).unwrap(), plain);
        }
    }
}

/// Loops say where the other colours lie: over a list, and over distances. So they do in sweeps with an order.
#[test]
fn loops_read_other_colours() {
    for acc in everywhere() {
        let mut u = TileArray::<i64, 2>::builder([6, 130]).regions([2, 1]).ghost(1).boundary(Boundary::Fixed(7));
        let start = |[row, column]: [usize; 2]| (row * 31 + column * 17) as i64 % 23;
        let mut loops = u.build(&acc).unwrap();
        let mut written = loops.like().unwrap();
        u = u.ghost([3, 0]);
        let mut lines = u.build(&acc).unwrap();
        loops.fill(start).unwrap();
        written.fill(start).unwrap();
        lines.fill(start).unwrap();
        for colour in [0, 1] {
            fill_ghosts((&mut loops, &mut written)).unwrap();
            sweep_colour(
                Colour::red_black(colour),
                loops.tiles(),
                &mut loops,
                kernel!(|u, at| {
                    let mut same = 0;
                    let mut sum = 0;
                    for (j, i) in [(0, 1), (0, -1), (1, 0), (-1, 0)] {
                        let other = u[at + [j, i]];
                        if other % 3 == u[at] % 3 {
                            same += 1;
                        }
                        sum += j * other;
                    }
                    for d in [-1, 1] {
                        sum += 3 * u[at + [0, d]];
                    }
                    u[at] += 100 * same + sum;
                }),
            )
            .unwrap();
            sweep_colour(
                Colour::red_black(colour),
                written.tiles(),
                &mut written,
                kernel!(|u, at| {
                    let (e, w, s, n) = (u[at + [0, 1]], u[at - [0, 1]], u[at + [1, 0]], u[at - [1, 0]]);
                    let c = u[at] % 3;
                    let mut same = if e % 3 == c { 100 } else { 0 };
                    same += if w % 3 == c { 100 } else { 0 };
                    same += if s % 3 == c { 100 } else { 0 };
                    same += if n % 3 == c { 100 } else { 0 };
                    u[at] += same + (s - n) + 3 * w + 3 * e;
                }),
            )
            .unwrap();
        }
        assert_eq!(loops.read_box(loops.domain()).unwrap(), written.read_box(written.domain()).unwrap(), "on {acc}");
        lines.fill_ghosts().unwrap();
        sweep_along(
            0,
            Forward,
            lines.tiles(),
            &mut lines,
            kernel!(|u, at| {
                for r in 1..=3 {
                    u[at] += r * u[at - [r, 0]] % 5;
                }
            }),
        )
        .unwrap();
        let mut plain = vec![[7; 130]; 3];
        for row in 0..6 {
            let mut line: [i64; 130] = std::array::from_fn(|column| start([row, column]));
            for (column, x) in line.iter_mut().enumerate() {
                (1..=3).for_each(|r| *x += r * plain[row + 3 - r as usize][column] % 5);
            }
            plain.push(line);
        }
        assert_eq!(lines.read_box(lines.domain()).unwrap(), plain[3..].concat(), "on {acc}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    for acc in everywhere() {
        let build = || TileArray::<f64, 2>::builder([8, 64]).regions([4, 1]).ghost(1).boundary(Boundary::Fixed(1.0));
        let mut u = build().build(&acc).unwrap();
        u.fill_ghosts().unwrap();
        let v = u.like().unwrap();
        let all = u.tiles();
        let red = Colour::red_black(0);
        // The same colour; no distance of its own; too far.
        let corner = sweep_colour(red, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at - [1, 1]]));
        expect(
            corner,
            ErrorKind::Race,
            &["for one colour", "`u[at + [-1, -1]]`", "the sum of the coordinates, modulo 2"],
        );
        let beside = Colour::of_axes([0, 0], [2, 1]);
        let beside = sweep_colour(beside, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at - [0, 1]]));
        expect(beside, ErrorKind::Race, &["the coordinates, modulo [2, 1]", "take more colours"]);
        let mirrored = sweep_colour(red, all.clone(), &mut u, kernel!(|u, at| u[at] = u[[at[0], 63 - at[1]]]));
        expect(mirrored, ErrorKind::Race, &["the same for all cells", "a second array"]);
        let beyond = sweep_colour(red, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at - [3, 0]]));
        expect(beyond, ErrorKind::Ghost, &["ghost width 1"]);
        // Ghosts that another colour has made old.
        let next =
            |u: &mut TileArray<f64, 2>| sweep_colour(red, u.tiles(), u, kernel!(|u, at| u[at] = 0.5 * u[at - [1, 0]]));
        next(&mut u).unwrap();
        expect(next(&mut u), ErrorKind::StaleGhost, &["u.fill_ghosts()"]);
        // What is no such sweep.
        let none = |colour| sweep_colour(colour, v.tiles(), &v, kernel!(|v, at| ()));
        expect(none(Colour::red_black(2)), ErrorKind::Argument, &["colour 2 of 2"]);
        expect(none(Colour::of_axes([0, 0], [1, 0])), ErrorKind::Argument, &["colour 0 of 0"]);
        let grown = sweep_colour(red, all.clone().grown(1), &mut u, kernel!(|u, at| u[at] = 1.0));
        expect(grown, ErrorKind::Argument, &["grown tiles"]);
        let mut short = build().storage(Format::F32).build(&acc).unwrap();
        let coded = sweep_colour(red, all.clone(), (&mut short, &v), kernel!(|s, v, at| s[at] = v[at]));
        expect(coded, ErrorKind::Argument, &["argument 0", "fewer bits"]);
        // Without a colour the error names this form.
        let seidel = compute(&u.tiles().next().unwrap(), &mut u, kernel!(|u, at| u[at] = u[at - [1, 0]]));
        expect(
            seidel,
            ErrorKind::Race,
            &["`sweep_along(axis, Forward, ..)`", "`sweep_colour(Colour::red_black(0), ..)`"],
        );
        acc.sync().unwrap();
    }
}
