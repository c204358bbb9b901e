//! Sweeps with an order: wherever they run and however arrays are cut, they have the bits of plain loops.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

mod programs;

use tida::SimDevice;
use tida::prelude::*;
use tida_tests::{everywhere, expect, on_a_device, unhurried, value};

use programs::{ALONG, BESIDE, How, Program, SHAPE};

/// Cuts along each axis, along several, and into many regions.
const CUTS: [[usize; 3]; 6] = [[1, 1, 1], [4, 1, 1], [1, 3, 1], [1, 1, 3], [2, 2, 3], [4, 3, 2]];

fn same(program: &Program, acc: &TileAcc, how: How, what: &str) {
    let (found, wanted) = ((program.run)(acc, how), (program.plain)());
    let each = wanted.len() / SHAPE.iter().product::<usize>();
    let wrong = (0..wanted.len()).find(|n| found[*n] != wanted[*n]).map(|n| {
        let cell = n / each;
        let at = [cell / SHAPE[2] / SHAPE[1], cell / SHAPE[2] % SHAPE[1], cell % SHAPE[2]];
        (at, n % each, f64::from_bits(found[n]), f64::from_bits(wanted[n]))
    });
    assert_eq!(wrong, None, "{} {how:?} {what}", program.name);
}

fn programs() -> impl Iterator<Item = &'static Program> {
    ALONG.iter().chain([&BESIDE])
}

#[test]
fn on_the_cpu() {
    let accs = [1, 3].map(|threads| TileAcc::builder().device(Device::Cpu).threads(threads).build().unwrap());
    for (n, program) in programs().enumerate() {
        // Each cut with one thread or with three, by turns.
        for (m, regions) in CUTS.into_iter().enumerate() {
            same(program, &accs[(n + m) % 2], How { regions, on: None, tile: None }, "on the CPU");
        }
        let tile = Some([5, 3, 70]);
        same(program, &accs[n % 2], How { regions: [2, 1, 2], on: None, tile }, "by tiles");
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
    for program in programs() {
        for (acc, what) in devices(u64::MAX) {
            for regions in [CUTS[0], CUTS[1], CUTS[4]] {
                same(program, &acc, How { regions, on: None, tile: None }, what);
            }
            assert!(acc.stats().launches > 0);
            // Some loops here and some there.
            same(program, &acc, How { regions: [2, 1, 2], on: Some(Device::Cpu), tile: None }, what);
            same(program, &acc, How { regions: [4, 1, 1], on: Some(Device::Hybrid), tile: None }, what);
        }
    }
}

/// Planes go upwards through the device; where they cannot, regions come and go, two at a time along the axis.
#[test]
fn out_of_core() {
    for program in programs() {
        let bytes = program.numbers * SHAPE.iter().product::<usize>() as u64 * 8 * 4 / 3;
        for (acc, what) in devices(bytes * 3 / 8) {
            same(program, &acc, How { regions: [8, 1, 1], on: None, tile: None }, what);
        }
        for (acc, what) in devices(bytes * 3 / 4) {
            for regions in [[4, 1, 1], [1, 3, 1], [4, 3, 1], [4, 1, 3]] {
                same(program, &acc, How { regions, on: None, tile: None }, what);
            }
        }
    }
}

/// What goes upwards shares a pass over the link with what is recorded beside it, and brings each plane once.
#[test]
fn passes_are_shared() {
    let bytes = SHAPE.iter().product::<usize>() as u64 * 8;
    for regions in [[1, 1, 1], [4, 1, 1]] {
        let builder = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(bytes / 2);
        let acc = builder.look_ahead(1000).pause(std::time::Duration::from_secs(600)).build().unwrap();
        let mut u = TileArray::<f64, 3>::builder(SHAPE).regions(regions).build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        let [rows, columns] = [[1, 0, 0], [0, 0, 1]].map(|lo| u.tiles().within(lo, SHAPE.map(|n| n as i64)));
        sweep_along(0, Forward, rows.clone(), &mut u, kernel!(|u, at| u[at] += u[at - [1, 0, 0]])).unwrap();
        sweep_along(2, Forward, columns, &mut u, kernel!(|u, at| u[at] += u[at - [0, 0, 1]])).unwrap();
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] *= 0.5)).unwrap();
        }
        sweep_along(0, Forward, rows, &mut u, kernel!(|u, at| u[at] -= u[at - [1, 0, 0]])).unwrap();
        acc.sync().unwrap();
        let stats = acc.stats();
        assert_eq!(stats.passes, 1, "{stats:?}");
        let whole = bytes..bytes * 11 / 10;
        assert!(whole.contains(&stats.h2d_bytes) && whole.contains(&stats.d2h_bytes), "{stats:?}");
        let values = u.read_box(u.domain()).unwrap();
        assert_eq!((values[0], values[199], values[1200]), (0.5, 100.0, 0.5));
    }
    // Planes go upwards alone.
    for (acc, _) in devices(bytes / 2) {
        let mut u = TileArray::<f64, 3>::builder(SHAPE).build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        let rows = u.tiles().within([0; 3], [23, 6, 200]);
        sweep_along(0, Backward, rows, &mut u, kernel!(|u, at| u[at] += u[at + [1, 0, 0]])).unwrap();
        let parts = ["backward along the first axis", "smaller regions"];
        expect(u.read_box(u.domain()).map(drop), ErrorKind::Memory, &parts);
        let _ = acc.sync();
    }
}

/// Lines along the last axis run together where a cell waits long for the one before it: as many as there are, some
/// left over, both ways, and cells beside them that are left out.
#[test]
fn lines_together() {
    for (lines, regions) in [(21, [1, 1]), (21, [2, 2]), (8, [1, 1]), (5, [1, 2])] {
        let shape = [2, lines, 130];
        let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
        let value = |[k, j, i]: [usize; 3]| 1.0 + ((k * 7 + j * 5 + i * 3) % 11) as f64;
        let of = |n: usize| value([n / 130 / lines, n / 130 % lines, n % 130]);
        let build = || TileArray::<f64, 3>::builder(shape).regions([1, regions[0], regions[1]]);
        let (mut c, mut d) = (build().build(&acc).unwrap(), build().build(&acc).unwrap());
        let mut u = c.like().unwrap();
        u.fill(value).unwrap();
        c.fill_value(0.5).unwrap();
        d.fill_value(0.25).unwrap();
        let (first, last) = ([0, 1, 1], [2, lines as i64, 129]);
        let cells = u.tiles().within(first, last);
        sweep_along(
            2,
            Forward,
            cells.clone(),
            (&mut c, &mut d, &u),
            kernel!(|c, d, u, at| {
                let before = at - [0, 0, 1];
                let scale = 1.0 / (3.0 + c[before]);
                c[at] = -scale;
                d[at] = if d[before] > 0.5 { scale * (u[at] + d[before]) } else { u[at] };
            }),
        )
        .unwrap();
        let args = (&mut u, &c, &d);
        sweep_along(2, Backward, cells, args, kernel!(|u, c, d, at| u[at] = d[at] - c[at] * u[at + [0, 0, 1]] / u[at]))
            .unwrap();

        let count = 2 * lines * 130;
        let (mut a, mut b) = (vec![0.5; count], vec![0.25; count]);
        let mut x: Vec<f64> = (0..count).map(of).collect();
        for row in (0..count).step_by(130).filter(|row| row / 130 % lines > 0) {
            for n in row + 1..row + 129 {
                let scale = 1.0 / (3.0 + a[n - 1]);
                a[n] = -scale;
                b[n] = if b[n - 1] > 0.5 { scale * (x[n] + b[n - 1]) } else { x[n] };
            }
            for n in (row + 1..row + 129).rev() {
                x[n] = b[n] - a[n] * x[n + 1] / x[n];
            }
        }
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        for (array, plain) in [(&c, a), (&d, b), (&u, x)] {
            assert_eq!(
                bits(array.read_box(array.domain()).unwrap()),
                bits(plain),
                "{lines} lines, regions {regions:?}"
            );
        }
    }
}

/// On the host sweeps along one axis run as one, some lines after the others, if they read of one another on their own
/// lines alone.
#[test]
fn sweeps_along_one_axis_are_joined() {
    joined::<0>([1, 1, 1], 2);
    joined::<1>([2, 1, 1], 2);
    joined::<2>([1, 2, 1], 2);
    // Values are carried from region to region.
    joined::<0>([2, 1, 1], 0);
    // What reads across lines comes after all of them.
    let acc = unhurried().device(Device::Cpu).threads(2).build().unwrap();
    let mut c = TileArray::<f64, 2>::builder([300, 400]).ghost(1).build(&acc).unwrap();
    let mut d = c.like().unwrap();
    let (cells, same) = (c.tiles().within([0, 0], [300, 399]), c.tiles().within([0, 0], [300, 399]));
    sweep_along(0, Forward, c.tiles(), &mut c, kernel!(|c, at| c[at] = 1.0 + at[1] as f64)).unwrap();
    acc.sync().unwrap();
    sweep_along(0, Forward, cells, &mut c, kernel!(|c, at| c[at] += c[at - [1, 0]])).unwrap();
    sweep_along(0, Forward, same, (&mut d, &c), kernel!(|d, c, at| d[at] = c[at + [0, 1]] + d[at - [1, 0]])).unwrap();
    assert_eq!(d.read_box(GridBox::new([299, 7], [300, 8])).unwrap(), [9.0 * 300.0 * 301.0 / 2.0]);
    assert_eq!(acc.stats().joined, 0);
}

fn joined<const AXIS: usize>(regions: [usize; 3], count: u64) {
    let shape = [40, 36, 70];
    let acc = unhurried().device(Device::Cpu).threads(2).build().unwrap();
    let build = || TileArray::<f64, 3>::builder(shape).regions(regions).ghost(1).build(&acc).unwrap();
    let (mut c, mut d, mut u) = (build(), build(), build());
    u.fill(|at| value(5, at)).unwrap();
    let before = acc.stats().joined;
    let (cells, args) = (u.tiles(), (&mut c, &u));
    sweep_along(AXIS, Forward, cells, args, kernel!(|c, u, at| c[at] = u[at] + 0.5 * c[at - unit(AXIS)])).unwrap();
    let (cells, args) = (u.tiles(), (&mut d, &c, &u));
    sweep_along(AXIS, Backward, cells, args, kernel!(|d, c, u, at| d[at] = c[at] - u[at] * d[at + unit(AXIS)]))
        .unwrap();
    // It writes what the first one reads.
    let cells = u.tiles();
    sweep_along(AXIS, Forward, cells, (&mut u, &d), kernel!(|u, d, at| u[at] = d[at] - u[at - unit(AXIS)])).unwrap();
    acc.sync().unwrap();
    assert_eq!(acc.stats().joined - before, count, "axis {AXIS}, regions {regions:?}");

    let place = |at: [usize; 3]| (at[0] * shape[1] + at[1]) * shape[2] + at[2];
    let beside = |list: &[f64], mut at: [usize; 3], up: bool| {
        at[AXIS] = if up { at[AXIS] + 1 } else { at[AXIS].wrapping_sub(1) };
        if at[AXIS] < shape[AXIS] { list[place(at)] } else { 0.0 }
    };
    let all = (0..shape[0]).flat_map(|i| (0..shape[1]).flat_map(move |j| (0..shape[2]).map(move |k| [i, j, k])));
    let cells: Vec<[usize; 3]> = all.collect();
    let first: Vec<f64> = cells.iter().map(|at| value(5, *at)).collect();
    let (mut pc, mut pd, mut pu) = (vec![0.0; first.len()], vec![0.0; first.len()], first.clone());
    cells.iter().for_each(|&at| pc[place(at)] = first[place(at)] + 0.5 * beside(&pc, at, false));
    for &at in cells.iter().rev() {
        pd[place(at)] = pc[place(at)] - first[place(at)] * beside(&pd, at, true);
    }
    cells.iter().for_each(|&at| pu[place(at)] = pd[place(at)] - beside(&pu, at, false));
    let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for (array, plain) in [(&c, &pc), (&d, &pd), (&u, &pu)] {
        assert_eq!(bits(&array.read_box(array.domain()).unwrap()), bits(plain), "axis {AXIS}, regions {regions:?}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    for acc in everywhere() {
        let build = || TileArray::<f64, 2>::builder([8, 64]).regions([4, 1]).ghost(1).boundary(Boundary::Fixed(1.0));
        let mut u = build().build(&acc).unwrap();
        let v = u.like().unwrap();
        let all = u.tiles();
        // Across lines, at the cell after, at no distance of its own.
        let across = sweep_along(0, Forward, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at - [1, 1]]));
        expect(across, ErrorKind::Race, &["forward along axis 0", "`u[at + [-1, -1]]`", "`u[at - [1, 0]]`"]);
        let across = sweep_along(1, Backward, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at + [1, 0]]));
        expect(across, ErrorKind::Race, &["backward along axis 1", "`u[at + [0, 1]]`"]);
        let after = sweep_along(0, Forward, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at + [1, 0]]));
        expect(after, ErrorKind::Race, &["not of a cell before its own"]);
        let anywhere = sweep_along(0, Forward, all.clone(), &mut u, kernel!(|u, at| u[at] = u[[at[0] / 2 - 1, at[1]]]));
        expect(anywhere, ErrorKind::Race, &["the same for all cells"]);
        // Beyond the ghosts, stale ghosts, thin regions.
        let beyond = sweep_along(0, Forward, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at - [2, 0]]));
        expect(beyond, ErrorKind::Ghost, &["ghost width 1"]);
        u.fill_value(1.0).unwrap();
        let stale = sweep_along(0, Forward, all.clone(), &mut u, kernel!(|u, at| u[at] = u[at - [1, 0]]));
        expect(stale, ErrorKind::StaleGhost, &["u.fill_ghosts()"]);
        let within = all.clone().within([3, 0], [8, 64]);
        let thin = sweep_along(0, Forward, within, &mut u, kernel!(|u, at| u[at] = u[at - [3, 0]]));
        expect(thin, ErrorKind::Cuts, &["3 cells before the cell", "regions of at least 3 cells along axis 0"]);
        // What is no such sweep.
        let axis = sweep_along(2, Forward, all.clone(), &mut u, kernel!(|u, at| u[at] = 1.0));
        expect(axis, ErrorKind::Argument, &["along axis 2", "2 axes"]);
        let grown = sweep_along(0, Forward, all.clone().grown(1), &mut u, kernel!(|u, at| u[at] = 1.0));
        expect(grown, ErrorKind::Argument, &["grown tiles"]);
        let mut short = build().storage(Format::F32).build(&acc).unwrap();
        let coded = sweep_along(0, Forward, all.clone(), (&mut short, &v), kernel!(|s, v, at| s[at] = v[at]));
        expect(coded, ErrorKind::Argument, &["argument 0", "fewer bits"]);
        // Without an order the error names this form.
        let seidel = compute(&u.tiles().next().unwrap(), &mut u, kernel!(|u, at| u[at] = u[at - [1, 0]]));
        expect(seidel, ErrorKind::Race, &["`sweep_along(axis, Forward, ..)`"]);
        acc.sync().unwrap();
    }
}

/// A read that a condition keeps inside runs checked; one that it does not keep there fails, for all that depends on
/// it.
#[test]
fn reads_under_conditions() {
    for acc in everywhere() {
        for regions in [[1, 1], [2, 3]] {
            let mut u = TileArray::<i64, 2>::builder([6, 192]).regions(regions).build(&acc).unwrap();
            u.fill(|[row, column]| (row * 192 + column) as i64).unwrap();
            let mut sums: Vec<i64> = (0..6 * 192).collect();
            sweep_along(
                1,
                Forward,
                u.tiles(),
                &mut u,
                kernel!(|u, at| {
                    if at[1] > 0 {
                        u[at] += u[at - [0, 1]];
                    }
                }),
            )
            .unwrap();
            (0..6 * 192).filter(|n| n % 192 > 0).for_each(|n| sums[n] += sums[n - 1]);
            assert_eq!(u.read_box(u.domain()).unwrap(), sums);
            sweep_along(
                1,
                Backward,
                u.tiles(),
                &mut u,
                kernel!(|u, at| {
                    if at[1] < 191 || at[0] == 4 {
                        u[at] += u[at + [0, 1]];
                    }
                }),
            )
            .unwrap();
            let error = u.read_box(u.domain()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
            assert!(error.found().contains("[4, 192]"), "{error}");
            let _ = acc.sync();
        }
    }
}

/// A prefix sum over one axis is one line.
#[test]
fn one_line() {
    for acc in everywhere() {
        for regions in [1, 7] {
            let mut u = TileArray::<f32, 1>::builder([1000]).regions([regions]).ghost(1).build(&acc).unwrap();
            u.fill(|[n]| (n % 13) as f32 * 0.37).unwrap();
            u.fill_ghosts().unwrap();
            sweep_along(0, Forward, u.tiles(), &mut u, kernel!(|u, at| u[at] += u[at - [1]])).unwrap();
            let mut sum = 0.0f32;
            let sums: Vec<f32> = (0..1000)
                .map(|n| {
                    sum += (n % 13) as f32 * 0.37;
                    sum
                })
                .collect();
            assert_eq!(u.read_box(u.domain()).unwrap(), sums);
            // In a loop of the kernel.
            sweep_along(
                0,
                Backward,
                u.tiles().within([0], [997]),
                &mut u,
                kernel!(|u, at| {
                    for k in 1..=3 {
                        u[at] = 0.5 * u[at] - u[at + [k]];
                    }
                }),
            )
            .unwrap();
            let mut wanted = sums;
            for n in (0..997).rev() {
                (1..=3).for_each(|k| wanted[n] = 0.5 * wanted[n] - wanted[n + k]);
            }
            assert_eq!(u.read_box(u.domain()).unwrap(), wanted);
        }
    }
}
