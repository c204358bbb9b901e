//! Calls that several places do together: boundaries by kernels, whole small arrays, other resolutions, active blocks,
//! sweeps along the axis that is parted, recorded reads, reductions. They give the bits of one place.

use tida::num_complex::Complex64;
use tida::prelude::*;
use tida::{fill_ghosts, fill_ghosts_with};
use tida_tests::calls::calls;
use tida_tests::on_cpu;
use tida_tests::several::{Dice, accelerators, bits, everything, value};

/// How many random programs of each kind: `TIDA_PLACES_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_PLACES_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(5)
}

/// More axes than any array has.
const LARGE: usize = 5;

/// Runs random programs on all kinds of places, and compares what they see with one place.
/// [`LARGE`] arrays have no room in little memory.
fn compare(axes: usize, run: impl Fn(&TileAcc, usize, Dice) -> Vec<u64>) {
    compare_some(programs(), axes, run);
}

/// The same with so many programs.
fn compare_some(programs: u64, axes: usize, run: impl Fn(&TileAcc, usize, Dice) -> Vec<u64>) {
    for seed in 0..programs {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + axes as u64);
        let places = 1 + dice.roll(6);
        let program = dice.roll(1 << 20) as u64;
        let expected = run(&on_cpu(), places, Dice(program));
        for (name, acc) in accelerators(places, axes.min(3)) {
            if axes > 3 && name.contains("little") {
                continue;
            }
            let got = run(&acc, places, Dice(program));
            let at = got.iter().zip(&expected).position(|(got, expected)| got != expected);
            assert!(
                got == expected,
                "seed {seed}: {places} places of {name} give other bits at {at:?} of {}",
                expected.len()
            );
        }
    }
}

/// Some cells of an axis of regions that several places can have.
fn planes(dice: &mut Dice, places: usize) -> (usize, usize) {
    let regions = places + dice.roll(3);
    (4 * regions + dice.roll(5), regions)
}

/// A random box inside a domain.
fn some_box<const D: usize>(dice: &mut Dice, domain: GridBox<D>) -> GridBox<D> {
    let mut cells = domain;
    for d in 0..D {
        cells.lo[d] = dice.roll(domain.hi[d] as usize) as i64;
        cells.hi[d] = cells.lo[d] + 1 + dice.roll((domain.hi[d] - cells.lo[d]) as usize) as i64;
    }
    cells
}

/// Steps whose ghosts beyond some faces are set by kernels, which read around themselves.
fn faces(acc: &TileAcc, places: usize, mut dice: Dice) -> Vec<u64> {
    let (planes, regions) = planes(&mut dice, places);
    let others = [Boundary::ReflectEven, Boundary::Extrapolate(1), Boundary::Fixed(0.5), Boundary::Open];
    let mut builder = TileArray::<f64, 3>::builder([planes, 7, 70]).regions([regions, 1 + dice.roll(2), 1]).ghost(2);
    let open: Vec<bool> = (0..3).map(|_| dice.roll(3) > 0).collect();
    for (axis, open) in open.iter().enumerate() {
        let other = dice.pick(&others);
        builder = match (open, dice.roll(2)) {
            (true, _) => builder.boundary_axis(axis, Boundary::Open),
            (false, 0) => builder.boundary_axis(axis, Boundary::Periodic),
            (false, _) => builder.boundary_axis(axis, other),
        };
    }
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(at, 5)).unwrap();
    let mut next = u.like().unwrap();
    fill_ghosts((&mut u, &mut next)).unwrap();
    let mut seen = Vec::new();
    for step in 0..4 {
        u.fill_ghosts().unwrap();
        let time = 0.25 * f64::from(step);
        for axis in (0..3).rev().filter(|axis| open[*axis]) {
            for side in [Side::Low, Side::High] {
                let mut inwards = [0; 3];
                inwards[axis] = if side == Side::Low { 2 } else { -2 };
                let (n, along) = (u.domain().hi[1], axis as i64);
                // Beyond the first axis nothing of it is read along itself.
                fill_ghosts_with(
                    (axis, side),
                    &mut u,
                    kernel!(|u, at| {
                        let inside = u[at + inwards];
                        let row = (at[1] + 1).clamp(0, n - 1);
                        u[at] = if along == 2 { 0.5 * inside + time } else { inside - time + row as f64 };
                    }),
                )
                .unwrap();
            }
        }
        for tile in next.tiles() {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let around = u[at - [2, 0, 0]] + u[at + [1, 0, 0]] - u[at + [0, 2, 0]] + u[at - [0, 1, 1]];
                    next[at] = 0.3 * around + 0.1 * u[at + [1, 1, 0]] - 0.2 * u[at + [-1, 0, 2]];
                }),
            )
            .unwrap();
        }
        if dice.roll(2) == 0 {
            seen.extend(everything(&u));
        }
        std::mem::swap(&mut u, &mut next);
    }
    seen.extend(bits(&u.read_box(u.domain()).unwrap()));
    seen
}

#[test]
fn boundaries_by_kernels_have_the_bits_of_one_place() {
    compare(3, faces);
}

/// Kernels that read small arrays as a whole, which the host, kernels by way of others, and files write.
fn tables(acc: &TileAcc, places: usize, mut dice: Dice) -> Vec<u64> {
    let (planes, regions) = planes(&mut dice, places);
    let builder = TileArray::<f64, 2>::builder([planes, 70]).regions([regions, 1]).ghost(1);
    let mut u = builder.boundary(Boundary::Periodic).build(acc).unwrap();
    let of = TileArray::<f64, 2>::builder([planes, 3]).ghost(1).boundary(Boundary::Fixed(4.0));
    let mut wide = of.build(acc).unwrap();
    let mut table = of.clone().regions([1 + dice.roll(3), 1]).everywhere().build(acc).unwrap();
    let mut spare = table.like().unwrap();
    table.fill(|at| value(at, 2)).unwrap();
    spare.fill_ghosts().unwrap();
    let (salt, mut seen) = (dice.roll(100), Vec::new());
    u.fill(|at| value(at, salt)).unwrap();
    for step in 0..8 {
        match dice.roll(6) {
            0 => {
                for tile in wide.tiles() {
                    compute(&tile, &mut wide, kernel!(|w, at| w[at] = w[at] * 0.5 + at[1] as f64)).unwrap();
                }
                table.copy_from(&wide).unwrap();
            }
            1 => {
                let cells = some_box(&mut dice, table.domain());
                let values: Vec<f64> = (0..cells.cells()).map(|n| value([n], step)).collect();
                table.write_box(cells, &values).unwrap();
                spare.copy_box_from(&table, cells).unwrap();
            }
            2 => {
                std::mem::swap(&mut table, &mut spare);
                table.with_region_mut(0, |mut view| view.map_inplace(|x| *x += 0.25)).unwrap();
                wide.copy_from(&table).unwrap();
            }
            3 => {
                spare = table.clone();
                seen.push(reduce(&table, Sum, kernel!(|t, at| t[at])).unwrap().to_bits());
                table.fill_ghosts().unwrap();
                seen.extend(everything(&table));
                let later = table.read_box_later(table.domain()).unwrap();
                table.fill(|at| value(at, step)).unwrap();
                seen.extend(bits(later.get().unwrap()));
            }
            _ => {
                let last = planes as i64 - 1;
                for tile in u.tiles() {
                    compute(
                        &tile,
                        (&mut u, all(&table)),
                        kernel!(|u, t, at| u[at] = 0.5 * u[at] + t[[last - at[0], at[1] % 3]]),
                    )
                    .unwrap();
                }
                let most = reduce((&u, all(&table)), Max, kernel!(|u, t, at| u[at] * t[[at[0], 1]])).unwrap();
                seen.push(most.to_bits());
            }
        }
    }
    seen.extend(bits(&u.read_box(u.domain()).unwrap()));
    seen.extend(bits(&table.read_box(table.domain()).unwrap()));
    seen
}

#[test]
fn whole_arrays_have_the_bits_of_one_place() {
    compare(2, tables);
}

/// The same calls as those of ranks, with lists and sums of lines. Each program makes all of them, so a few do.
#[test]
fn calls_of_all_places_have_the_bits_of_one_place() {
    compare_some(programs().div_ceil(4), 2, |acc, places, dice| calls(acc, places, dice).unwrap());
}

/// What is everywhere is read by kernels alone, and files have it once.
#[test]
fn what_is_everywhere_is_not_written_by_kernels() {
    let acc = TileAcc::builder().devices(["cpu:2"]).threads(2).build().unwrap();
    let builder = TileArray::<f64, 2>::builder([16, 64]).everywhere();
    let mut table = builder.build(&acc).unwrap();
    table.fill(|at| value(at, 1)).unwrap();
    let tile = table.tiles().next().unwrap();
    let error = compute(&tile, &mut table, kernel!(|t, at| t[at] = 1.0)).unwrap_err();
    assert!(error.to_string().contains("everywhere"), "{error}");
    assert_eq!(table.tiles().count(), 1);
    assert!(builder.clone().distribute([8, 8]).build(&acc).is_err());
    let path = std::env::temp_dir().join(format!("tida-everywhere-{}.npy", std::process::id()));
    table.save_npy(&path).unwrap();
    let mut other = TileArray::<f64, 2>::builder([16, 64]).everywhere().build(&acc).unwrap();
    other.load_npy(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut u = TileArray::<f64, 2>::builder([16, 64]).build(&acc).unwrap();
    for tile in u.tiles() {
        compute(&tile, (&mut u, all(&other)), kernel!(|u, o, at| u[at] = o[[at[0], at[1]]])).unwrap();
    }
    assert_eq!(u.read_box(u.domain()).unwrap(), table.read_box(table.domain()).unwrap());
}

/// Restriction and prolongation between two grids, each with what lies beyond the borders.
fn levels(acc: &TileAcc, places: usize, mut dice: Dice) -> Vec<u64> {
    let regions = places + dice.roll(2);
    let planes = 4 * regions;
    let faces = if dice.roll(2) == 0 { Boundary::Periodic } else { Boundary::ReflectEven };
    let nodes = dice.roll(2) == 0;
    let centering = if nodes { Centering::Face } else { Centering::Cell };
    let of = |n: usize, last: usize| {
        let builder = TileArray::<f64, 2>::builder([n, last]).regions([regions, 1]).ghost(1);
        builder.boundary(faces).centering([centering, Centering::Cell]).build(acc).unwrap()
    };
    let (mut f, mut c) = (of(2 * planes, 128), of(planes, 64));
    let salt = dice.roll(50);
    f.fill(|at| value(at, salt)).unwrap();
    for _ in 0..3 {
        f.fill_ghosts().unwrap();
        for tile in c.tiles() {
            compute(
                &tile,
                (&mut c, fine(&f)),
                kernel!(|c, f, at| {
                    let (row, column) = (2 * at[0], 2 * at[1]);
                    c[at] = 0.25 * (f[[row, column]] + f[[row, column + 1]]) + 0.5 * f[[row - 1, column]];
                }),
            )
            .unwrap();
        }
        c.fill_ghosts().unwrap();
        for tile in f.tiles() {
            compute(
                &tile,
                (&mut f, coarse(&c)),
                kernel!(|f, c, at| {
                    f[at] = f[at] * 0.5 + c[[at[0] / 2, at[1] / 2]] - 0.125 * c[[(at[0] + 1) / 2, at[1] / 2]];
                }),
            )
            .unwrap();
        }
    }
    [bits(&f.read_box(f.domain()).unwrap()), bits(&c.read_box(c.domain()).unwrap())].concat()
}

#[test]
fn resolutions_have_the_bits_of_one_place() {
    compare(2, levels);
    // Grids whose parts do not lie beside one another.
    let acc = TileAcc::builder().devices(["cpu:2"]).threads(2).build().unwrap();
    let mut f = TileArray::<f64, 2>::builder([32, 64]).distribute([20, 12]).build(&acc).unwrap();
    let c = TileArray::<f64, 2>::builder([16, 64]).build(&acc).unwrap();
    let tile = f.tiles().next().unwrap();
    let error = compute(&tile, (&mut f, coarse(&c)), kernel!(|f, c, at| f[at] = c[[at[0] / 2, at[1]]])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cuts, "{error}");
}

/// Steps over the blocks that a mask leaves.
fn blocks(acc: &TileAcc, places: usize, mut dice: Dice) -> Vec<u64> {
    let (planes, regions) = planes(&mut dice, places);
    let builder = TileArray::<f64, 2>::builder([planes, 130]).regions([regions, 1 + dice.roll(2)]).ghost(1);
    let builder = builder.boundary_axis(0, Boundary::Periodic).boundary_axis(1, Boundary::Fixed(1.0));
    let mut u = builder.build(acc).unwrap();
    let mut solid = u.cut_mask();
    let (rare, salt) = (1 + dice.roll(6), dice.roll(1000));
    solid.fill(|at| (value(at, salt) as usize).is_multiple_of(rare)).unwrap();
    let active = ActiveBlocks::new(&solid, [1 + dice.roll(4), 8 << dice.roll(3)], |solid| solid).unwrap();
    u.fill(|at| value(at, 8)).unwrap();
    let mut next = u.clone();
    for _ in 0..4 {
        u.fill_ghosts().unwrap();
        let mut tiles = next.tiles().active(&active);
        if dice.roll(3) == 0 {
            let domain = next.domain();
            tiles = tiles.within(domain.lo.map(|x| x + 1), domain.hi.map(|x| x - 2));
        }
        if dice.roll(3) == 0 {
            tiles = tiles.tile_size([3, 64]);
        }
        for tile in tiles {
            compute(
                &tile,
                (&mut next, &u, &solid),
                kernel!(|next, u, s, at| {
                    if s[at] {
                        next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
                    }
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let counts = [active.len() as u64, active.cells() as u64, u64::from(active.is_empty())];
    [counts.to_vec(), bits(&u.read_box(u.domain()).unwrap()), bits(&next.read_box(u.domain()).unwrap())].concat()
}

/// A mask with the cuts of an array.
trait CutMask {
    fn cut_mask(&self) -> TileArray<bool, 2>;
}

impl CutMask for TileArray<f64, 2> {
    fn cut_mask(&self) -> TileArray<bool, 2> {
        let along = |axis: usize| {
            let mut ends: Vec<i64> =
                (0..self.regions()).filter_map(|n| self.region_box(n)).map(|cells| cells.hi[axis]).collect();
            ends.sort_unstable();
            ends.dedup();
            ends.len()
        };
        let builder = TileArray::<bool, 2>::builder(self.domain_cells()).regions([along(0), along(1)]);
        builder.build(self.acc()).unwrap()
    }
}

#[test]
fn active_blocks_have_the_bits_of_one_place() {
    compare(2, blocks);
}

/// Sweeps whose cells run in order along the axis that is parted.
fn lines(acc: &TileAcc, places: usize, mut dice: Dice) -> Vec<u64> {
    let (planes, regions) = planes(&mut dice, places);
    let ends = dice.pick(&[Boundary::Periodic, Boundary::ReflectOdd, Boundary::Open]);
    let builder = TileArray::<f64, 2>::builder([planes, 70]).regions([regions, 1 + dice.roll(2)]).ghost(2);
    let mut u = builder.boundary_axis(0, ends).boundary_axis(1, Boundary::Extrapolate(0)).build(acc).unwrap();
    let salt = dice.roll(100);
    u.fill(|at| value(at, salt)).unwrap();
    let mut v = u.like().unwrap();
    v.fill(|at| value(at, salt + 1)).unwrap();
    fill_ghosts((&mut u, &mut v)).unwrap();
    let mut seen = Vec::new();
    for _ in 0..6 {
        let mut tiles = u.tiles();
        if dice.roll(2) == 0 {
            let some = some_box(&mut dice, u.domain());
            tiles = tiles.within(some.lo, some.hi);
        }
        match dice.roll(5) {
            0 => sweep_along(0, Forward, tiles, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.3 * u[at - [2, 0]])),
            1 => sweep_along(0, Backward, tiles, &mut u, kernel!(|u, at| u[at] -= 0.4 * u[at + [1, 0]])),
            2 => sweep_along(
                0,
                Forward,
                tiles,
                (&mut u, &mut v),
                kernel!(|u, v, at| {
                    let before = u[at - [1, 0]];
                    u[at] = v[at - [1, 0]] + 0.25 * before;
                    v[at] = 0.5 * v[at - [2, 0]] + at[1] as f64;
                }),
            ),
            3 => sweep_along(
                0,
                Backward,
                tiles,
                (&mut u, &v),
                kernel!(|u, v, at| u[at] = v[at + [1, 0]] - v[at - [0, 1]] + 0.5 * u[at + [2, 0]]),
            ),
            _ => {
                std::mem::swap(&mut u, &mut v);
                Ok(())
            }
        }
        .unwrap();
        fill_ghosts((&mut u, &mut v)).unwrap();
        if dice.roll(3) == 0 {
            seen.extend(everything(&u));
        }
    }
    seen.extend(bits(&u.read_box(u.domain()).unwrap()));
    seen.extend(bits(&v.read_box(v.domain()).unwrap()));
    seen
}

#[test]
fn lines_through_all_places_have_the_bits_of_one_place() {
    compare(2, lines);
    // A cell before is read that no ghost has.
    let acc = TileAcc::builder().devices(["cpu:2"]).threads(2).build().unwrap();
    let mut u = TileArray::<f64, 2>::builder([16, 64]).ghost(1).build(&acc).unwrap();
    let tiles = u.tiles().within([2, 0], [16, 64]);
    let error = sweep_along(0, Forward, tiles, &mut u, kernel!(|u, at| u[at] += u[at - [2, 0]])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ghost, "{error}");
}

/// Boxes that several places have parts of, read while later steps run.
fn reads(acc: &TileAcc, places: usize, mut dice: Dice) -> Vec<u64> {
    let (planes, regions) = planes(&mut dice, places);
    let mut u = TileArray::<f64, 2>::builder([planes, 70]).regions([regions, 1]).build(acc).unwrap();
    u.fill(|at| value(at, 2)).unwrap();
    let mut later = Vec::new();
    for _ in 0..8 {
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + at[0] as f64)).unwrap();
        }
        let cells = some_box(&mut dice, u.domain());
        later.push(u.read_box_later(cells).unwrap());
        if dice.roll(3) == 0 {
            later.push(u.read_box_later(GridBox::new([3, 3], [3, 5])).unwrap());
        }
    }
    later.iter().flat_map(|values| bits(values.get().unwrap())).collect()
}

#[test]
fn recorded_reads_have_the_bits_of_one_place() {
    compare(2, reads);
}

/// Reductions of so many cells that a place has whole groups of the tree.
fn sums(acc: &TileAcc, _: usize, mut dice: Dice) -> Vec<u64> {
    let shape = dice.pick(&[[160, 128, 64], [40, 600, 20], [35, 513, 33], [9, 7, 5]]);
    let regions = [1 + dice.roll(5), 1, 1];
    let mut u = TileArray::<f64, 3>::builder(shape).regions(regions).build(acc).unwrap();
    u.fill(|[i, j, k]| ((i * 7919 + j * 104_729 + k * 31) % 10_007) as f64 * 1e-3).unwrap();
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] * 1.1)).unwrap();
    }
    let mut cells = u.domain();
    if dice.roll(2) == 0 {
        cells = some_box(&mut dice, cells);
    }
    let sum = reduce_over(cells, &u, Sum, kernel!(|u, at| u[at])).unwrap();
    let later = reduce_over_later(cells, &u, Max, kernel!(|u, at| u[at] - 0.1 * at[0] as f64)).unwrap();
    let (at, least) = reduce_over(cells, &u, ArgMin, kernel!(|u, at| u[at])).unwrap();
    let (last, most) = reduce(&u, ArgMax, kernel!(|u, at| -u[at] + at[0] as f64)).unwrap();
    let pair = reduce(&u, Sum, kernel!(|u, at| Complex64::new(u[at], 1.0))).unwrap();
    let mut line = TileArray::<f32, 1>::builder([700_001]).regions([1 + dice.roll(4)]).build(acc).unwrap();
    line.fill(|[i]| (i * 7919 % 1009) as f32).unwrap();
    for tile in line.tiles() {
        compute(&tile, &mut line, kernel!(|u, at| u[at] = u[at] * 1.1)).unwrap();
    }
    let part = some_box(&mut dice, line.domain());
    let of_line = reduce_over(part, &line, Sum, kernel!(|u, at| u[at])).unwrap();
    let (first, lowest) = reduce_over(part, &line, ArgMin, kernel!(|u, at| u[at])).unwrap();
    let all = [sum, later.get().unwrap(), least, most, pair.re, pair.im, f64::from(of_line), f64::from(lowest)];
    let places = at.into_iter().chain(last).chain(first).map(|x| x as u64);
    bits(&all).into_iter().chain(places).collect()
}

#[test]
fn reductions_have_the_bits_of_one_place() {
    compare(LARGE, sums);
}

/// A reduction of arrays on devices brings few values to the host, and no array.
#[test]
fn reductions_leave_arrays_on_their_devices() {
    let kinds = std::env::var_os("TIDA_REQUIRE_OPENCL").map(|_| "opencl:0,0");
    for kind in ["sim:3"].into_iter().chain(kinds) {
        let acc = TileAcc::builder().devices([kind]).threads(2).build().unwrap();
        let mut u = TileArray::<f64, 3>::builder([96, 128, 128]).build(&acc).unwrap();
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64)).unwrap();
        }
        acc.sync().unwrap();
        let before = acc.bytes_copied();
        let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        assert_eq!(sum, 128.0 * 128.0 * 48.0 * 95.0, "{kind}");
        let after = acc.bytes_copied();
        // Segments at both ends of what a place has, and groups of 4096.
        let most = 3 * 2 * 4096 * 8;
        assert!(after.0 == before.0 && after.1 - before.1 <= most, "{kind}: {before:?} {after:?}");
    }
}
