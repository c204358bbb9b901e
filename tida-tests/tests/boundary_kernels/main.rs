//! Boundaries that kernels set, reading cells inwards: on every road they have the bits of plain loops.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

mod programs;

use std::mem::swap;
use std::time::Duration;

use tida::acc::Compile;
use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder};
use tida_tests::{expect, on_a_device, on_cpu};

use programs::{
    COLUMNS, N, PROGRAMS, Plain, Program, ROWS, STEPS, first, lattice, nine, plain_robin_in, robin_in, two, wide,
};

const CUTS: [[usize; 2]; 4] = [[1, 1], [10, 1], [6, 2], [1, 4]];

/// Bytes of the cells of one array, with one layer of ghosts.
fn bytes(components: usize) -> u64 {
    ((ROWS + 2) * (COLUMNS + 2) * 8 * components) as u64
}

fn same(program: &Program, acc: &TileAcc, on: Option<Device>, cuts: &[[usize; 2]], what: &str) {
    let wanted = (program.plain)();
    for regions in cuts.iter().copied() {
        let found = (program.run)(acc, regions, on);
        let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
        let at = wrong.map(|n| {
            let cell = n / program.components;
            ([cell / COLUMNS, cell % COLUMNS], n % program.components, found[n], wanted[n])
        });
        assert_eq!(at, None, "{} {regions:?} {what}", program.name);
    }
}

fn simulated() -> TileAccBuilder {
    TileAcc::builder().threads(2).simulate(SimDevice::new())
}

#[test]
fn on_the_cpu() {
    PROGRAMS.iter().for_each(|program| same(program, &on_cpu(), None, &CUTS, "on the CPU"));
}

#[test]
fn on_a_device_with_room() {
    for program in &PROGRAMS {
        if let Some(acc) = on_a_device(TileAcc::builder()) {
            same(program, &acc, None, &CUTS, "in core");
        }
        same(program, &simulated().build().unwrap(), None, &CUTS, "simulated, in core");
    }
}

#[test]
fn out_of_core() {
    for program in &PROGRAMS {
        // Two arrays: three quarters of their memory, half, and a quarter.
        for quarters in [3, 2, 1] {
            let limit = bytes(program.components) * quarters / 2;
            // Two of four regions are as much as a quarter has. What reads along the first axis, bounded, goes by
            // regions.
            let last = if quarters == 1 { 3 } else { 4 };
            let cuts = &CUTS[usize::from(program.name == "along the face")..last];
            if let Some(acc) = on_a_device(TileAcc::builder().memory_limit(limit)) {
                same(program, &acc, None, cuts, &format!("in {quarters} quarters"));
            }
            let acc = simulated().memory_limit(limit).build().unwrap();
            same(program, &acc, None, cuts, &format!("simulated, in {quarters} quarters"));
        }
    }
}

#[test]
fn on_both_sides() {
    for program in &PROGRAMS {
        for acc in on_a_device(TileAcc::builder()).into_iter().chain([simulated().build().unwrap()]) {
            same(program, &acc, Some(Device::Hybrid), &CUTS[..3], "on both sides");
        }
    }
}

/// Cut over several places, in regions of rows and of parts of rows.
#[test]
fn on_places() {
    for program in &PROGRAMS {
        for devices in [&["sim:2"][..], &["sim:3"], &["sim", "cpu"]] {
            let acc = TileAcc::builder().threads(2).devices(devices.iter().copied()).build().unwrap();
            same(program, &acc, None, &CUTS[1..3], &format!("on {devices:?}"));
        }
    }
}

/// Ghosts are rounded as cells are, and what is read inwards is what memory holds.
#[test]
fn in_fewer_bits() {
    let wanted = plain_robin_in(|x| f64::from(x as f32));
    let limits = [u64::MAX, bytes(1) / 2];
    let devices = limits.map(|limit| {
        let there = on_a_device(TileAcc::builder().memory_limit(limit));
        there.into_iter().chain([simulated().memory_limit(limit).build().unwrap()])
    });
    for acc in devices.into_iter().flatten().chain([on_cpu()]) {
        for (regions, on) in [([1, 1], None), ([4, 2], None), ([6, 1], Some(Device::Cpu)), ([6, 1], None)] {
            let found = robin_in(Format::F32, &acc, regions, on);
            let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
            assert_eq!(wrong, None, "{regions:?} {on:?} {:?}", acc.device());
        }
    }
}

/// What a step of a program is.
type Step<T> = fn(&mut TileArray<T, 2>, &TileArray<T, 2>, Option<Device>);

/// The same steps with fixed values beyond the faces, or periodic along the first axis.
fn fixed<const C: usize, T: Element>(
    acc: &TileAcc,
    (regions, ghost, periodic): ([usize; 2], usize, bool),
    of: fn([f64; C]) -> T,
    step: Step<T>,
) {
    let builder = TileArray::<T, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(ghost);
    let mut builder = builder.boundary(Boundary::Fixed(of([0.5; C])));
    if periodic {
        builder = builder.boundary_axis(0, Boundary::Periodic);
    }
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| of(first(at.map(|n| n as i64)))).unwrap();
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        step(&mut next, &u, None);
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap();
}

/// Where fixed values take one pass over the link, such boundaries take no more.
#[test]
fn passes_are_shared() {
    for (program, without, with) in passes_of([1, 1]) {
        println!("{}: {with:?}, fixed {without:?}", program.name);
        assert_eq!(without[0], 1, "{}", program.name);
        assert_eq!(with[0], 1, "{}: {with:?} {without:?}", program.name);
        // Ghosts that were set come home.
        let ghosts = 2 * 4 * (2 * (ROWS + COLUMNS + 4) * program.components) as u64 * 64;
        assert!(with[1] <= without[1] && with[2] <= without[2] + ghosts, "{}: {with:?} {without:?}", program.name);
    }
}

/// Arrays cut along two axes go by regions. Each call for a face fills ghosts between regions once more, so steps share
/// fewer passes than between fixed values.
#[test]
fn passes_by_regions_are_counted() {
    for (program, without, with) in passes_of([6, 2]) {
        println!("{}: {with:?}, fixed {without:?}", program.name);
        assert!(with[0] <= 3 * without[0], "{}: {with:?} {without:?}", program.name);
    }
}

/// Passes, and bytes up and down, at half of the memory, of each program and of its steps between fixed values.
fn passes_of(regions: [usize; 2]) -> Vec<(&'static Program, [u64; 3], [u64; 3])> {
    let mut found = Vec::new();
    let counted = |components: usize, run: &dyn Fn(&TileAcc)| {
        let long = std::time::Duration::from_secs(600);
        let builder = simulated().memory_limit(bytes(components)).look_ahead(1000).pause(long).patience(long);
        let acc = builder.build().unwrap();
        run(&acc);
        let stats = acc.stats();
        [stats.passes, stats.h2d_bytes, stats.d2h_bytes]
    };
    let one = |ghost, periodic, step: Step<f64>| {
        counted(1, &move |acc| fixed(acc, (regions, ghost, periodic), |[value]: [f64; 1]| value, step))
    };
    let waves = || counted(2, &|acc| fixed(acc, (regions, 1, false), |values: [f64; 2]| values, two));
    let flow = || counted(9, &|acc| fixed(acc, (regions, 1, false), |values: [f64; 9]| values, lattice));
    for program in &PROGRAMS {
        let without = match program.name {
            "Robin" => one(1, false, nine),
            "inflow that changes" => one(1, true, nine),
            "sponge" => one(2, false, wide),
            "moving lid" | "outflow" => waves(),
            "Zou-He" => flow(),
            // What reads along the first axis, bounded, goes by regions.
            _ => continue,
        };
        let with = counted(program.components, &|acc| drop((program.run)(acc, regions, None)));
        found.push((program, without, with));
    }
    found
}

/// How the steps of a program run together, of one region: whether several are one launch on a device, and whether they
/// go over blocks of the CPU's caches together.
struct Together {
    program: &'static str,
    launches: bool,
    blocks: bool,
}

/// What holds today. On every road they have the bits of plain loops (the tests above), and one pass over the link
/// ([`passes_are_shared`]).
const TOGETHER: [Together; 7] = [
    Together { program: "Robin", launches: true, blocks: true },
    Together { program: "inflow that changes", launches: true, blocks: true },
    Together { program: "moving lid", launches: true, blocks: true },
    Together { program: "Zou-He", launches: true, blocks: true },
    Together { program: "sponge", launches: true, blocks: true },
    Together { program: "outflow", launches: true, blocks: true },
    // Reads along the face, as far as there are cells.
    Together { program: "along the face", launches: false, blocks: false },
];

#[test]
fn what_runs_together_is_as_the_table_says() {
    let pause = Duration::from_secs(600);
    let fuses = |builder: TileAccBuilder| builder.fuse(Fuse::Steps(3)).pause(pause).compile(Compile::Wait);
    for (row, program) in TOGETHER.iter().zip(&PROGRAMS) {
        assert_eq!(row.program, program.name);
        let devices = on_a_device(fuses(TileAcc::builder())).into_iter();
        for acc in devices.chain([fuses(simulated()).build().unwrap()]) {
            same(program, &acc, None, &[[1, 1]], "steps in a launch");
            let steps = acc.stats().fused_steps;
            assert_eq!(steps > 0, row.launches, "{}: {steps} steps in launches, {:?}", row.program, acc.device());
        }
        let acc = TileAcc::builder().device(Device::Cpu).threads(1).look_ahead(1000).pause(pause);
        let acc = acc.caches(128 << 10, 1).build().unwrap();
        same(program, &acc, None, &[[1, 1]], "in blocks of the CPU's caches");
        let stats = acc.stats();
        assert_eq!(stats.steps_per_residency() >= Some(2.0), row.blocks, "{}: {stats:?}", row.program);
    }
}

/// A loop may read cells of an array that none of its tiles writes; and loops run as if one after the other.
#[test]
fn loops_that_read_beside_what_they_write() {
    let limited = |builder: TileAccBuilder| builder.memory_limit(bytes(1) / 2);
    let devices = [on_a_device(TileAcc::builder()), on_a_device(limited(TileAcc::builder()))].into_iter().flatten();
    let simulated = [simulated(), limited(simulated())].map(|builder| builder.build().unwrap());
    for acc in devices.chain(simulated).chain([on_cpu()]) {
        for regions in [[1, 1], [6, 1], [4, 2]] {
            let mut u = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1).build(&acc).unwrap();
            u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
            let mut plain = Plain::<1>::new(1);
            for turn in 0..12 {
                let column = [0, 1, 2, 1, 0, 3][turn % 6];
                for tile in TileIter::new(&u).within([0, column], [N[0], column + 1]).tile_size([3, 100]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + u[at + [0, 1]])).unwrap();
                }
                (0..N[0]).for_each(|row| {
                    let right = plain.get([row, column + 1])[0];
                    let here = &mut plain.at([row, column])[0];
                    *here = 0.5 * *here + right;
                });
                for tile in TileIter::new(&u).within([0, 0], [1, N[1]]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at + [2, 0]] - u[at + [1, 0]])).unwrap();
                }
                (0..N[1]).for_each(|column| {
                    *plain.at([0, column]) = [plain.get([2, column])[0] - plain.get([1, column])[0]];
                });
            }
            let (found, wanted) = (u.read_box(u.domain()).unwrap(), plain.all());
            let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
            assert_eq!(wrong.map(|n| [n / COLUMNS, n % COLUMNS]), None, "{regions:?} {:?}", acc.device());
        }
    }
}

#[test]
fn what_cannot_be_is_said() {
    let acc = on_cpu();
    let build = |boundary: Boundary<f64>| {
        let builder = TileArray::<f64, 2>::builder([8, 64]).ghost([[1, 1], [2, 0]]).boundary_axis(0, boundary);
        let mut u = builder.build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        u.fill_ghosts().unwrap();
        u
    };
    let mut u = build(Boundary::Open);
    let inwards = |u: &mut TileArray<f64, 2>, face| fill_ghosts_with(face, u, kernel!(|u, at| u[at] = 2.0));
    expect(inwards(&mut u, (1, Side::High)), ErrorKind::Ghost, &["the high face of axis 1", "no ghosts"]);
    expect(inwards(&mut u, (2, Side::Low)), ErrorKind::Argument, &["2 axes"]);
    let mut fixed = build(Boundary::Fixed(1.0));
    expect(inwards(&mut fixed, (0, Side::Low)), ErrorKind::Boundary, &["a fill sets", "Boundary::Open"]);
    // Axis after axis, the last one first.
    inwards(&mut u, (0, Side::Low)).unwrap();
    inwards(&mut u, (0, Side::High)).unwrap();
    expect(
        inwards(&mut u, (1, Side::Low)),
        ErrorKind::Ghost,
        &["beyond axis 0 were set before", "the last axis first"],
    );
    u.fill_ghosts().unwrap();
    inwards(&mut u, (1, Side::Low)).unwrap();
    // Ghosts that are set later, or together.
    let later = fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| u[at] = u[at + [1, 2]]));
    expect(later, ErrorKind::Ghost, &["`u[at + [1, 2]]`", "beyond axis 0, which are set after"]);
    let together = fill_ghosts_with((0, Side::Low), &mut u, kernel!(|u, at| u[at] = u[at + [9, 0]]));
    expect(together, ErrorKind::Ghost, &["set together with those beyond axis 0"]);
    let own = fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| u[at] = u[at + [0, 1]]));
    expect(own, ErrorKind::Race, &["`u[at + [0, 1]]`", "none of its tiles writes"]);
    // Older than the cells.
    u.fill_value(2.0).unwrap();
    expect(inwards(&mut u, (1, Side::Low)), ErrorKind::StaleGhost, &["call `fill_ghosts` first"]);
    let none = fill_ghosts_with((0, Side::Low), &u, kernel!(|u, at| {}));
    expect(none, ErrorKind::Argument, &["no `&mut` array"]);
    // Ghosts of what a loop writes.
    u.fill_ghosts().unwrap();
    let first = TileIter::new(&u).within([0, 0], [1, 64]).next().unwrap();
    let ghosts = compute(&first, &mut u, kernel!(|u, at| u[at] = u[at - [1, 0]]));
    expect(ghosts, ErrorKind::Race, &["`u[at + [-1, 0]]`", "older than the cells of `u`"]);
}
