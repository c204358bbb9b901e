//! Places that have planes of their neighbours as cells: the bits of one place, fewer messages, fused steps, and planes
//! that stream.

use tida::array::StripFault;
use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder, fill_ghosts};
use tida_tests::on_cpu;
use tida_tests::several::{Dice, accelerators, bits, everything, value};

/// How many random programs: `TIDA_PLACES_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_PLACES_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// Regions and rows of the arrays of [`steps`].
fn cuts(places: usize, dice: &mut Dice) -> (usize, usize) {
    let regions = places * (1 + dice.roll(2));
    (regions, 8 * regions + dice.roll(7))
}

/// Steps of several kernels on arrays that have so many planes of their neighbours, with all that may tear these.
fn steps(acc: &TileAcc, (places, overlap): (usize, usize), mut dice: Dice) -> Vec<u64> {
    let (regions, rows) = cuts(places, &mut dice);
    let ends = dice.pick(&[Boundary::Periodic, Boundary::ReflectEven, Boundary::Fixed(0.5)]);
    let sides = dice.pick(&[Boundary::Periodic, Boundary::ReflectEven, Boundary::Extrapolate(1), Boundary::Open]);
    let builder = TileArray::<f64, 2>::builder([rows, 70]).regions([regions, 1]).ghost([2, 1]).overlap(overlap);
    let centering = [dice.pick(&[Centering::Cell, Centering::Face]), Centering::Cell];
    let builder = builder.boundary_axis(0, ends).boundary_axis(1, sides).centering(centering);
    let (mut u, mut v) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    let source = TileArray::<f64, 2>::builder([rows, 70]).regions([regions, 1]).centering(centering);
    let mut source = source.overlap(overlap).build(acc).unwrap();
    let salt = dice.roll(100);
    u.fill(|at| value(at, salt)).unwrap();
    source.fill(|at| value(at, salt + 1)).unwrap();
    let mut seen = Vec::new();
    for step in 0..14 + dice.roll(20) {
        let what = dice.roll(24);
        match what {
            0 => {
                let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
                seen.push(sum.to_bits());
            }
            1 => {
                let cells = GridBox::new([dice.roll(rows) as i64, 3], [rows as i64, 9]);
                let values: Vec<f64> = (0..cells.cells()).map(|n| value([n], step)).collect();
                u.write_box(cells, &values).unwrap();
            }
            2 => u = u.clone(),
            3 => {
                source.fill(|at| value(at, step)).unwrap();
                v.copy_from(&u).unwrap();
            }
            4 => {
                // One region alone.
                let number = dice.roll(regions);
                let tile = u.tiles().nth(number).unwrap();
                compute(&tile, (&mut u, &source), kernel!(|u, s, at| u[at] = s[at] * 0.5)).unwrap();
            }
            5 => {
                let last = dice.roll(rows - 1) as i64;
                for tile in u.tiles().within([0, 0], [last + 1, 70]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 1.0)).unwrap();
                }
            }
            6 => {
                for tile in u.tiles().tile_size([3, 70]) {
                    compute(&tile, (&mut u, &source), kernel!(|u, s, at| u[at] = s[at] + at[0] as f64)).unwrap();
                }
            }
            7 => {
                u.fill_ghosts().unwrap();
                sweep_along(0, Forward, u.tiles(), &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.3 * u[at - [2, 0]]))
                    .unwrap();
            }
            8 => {
                u.fill_ghosts().unwrap();
                sweep_colour(
                    Colour::red_black(step % 2),
                    u.tiles(),
                    &mut u,
                    kernel!(|u, at| u[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]])),
                )
                .unwrap();
            }
            9 => {
                let region = dice.roll(regions);
                let grown = u.grown_box(region).unwrap();
                let values: Vec<f64> = (0..grown.cells()).map(|n| value([n], step)).collect();
                u.write_grown_box(region, grown, &values).unwrap();
            }
            10 if sides == Boundary::Open => {
                u.fill_ghosts().unwrap();
                fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| u[at] = 0.5 * u[at + [0, 1]])).unwrap();
                let mut next = u.like().unwrap();
                for tile in next.tiles() {
                    compute(&tile, (&mut next, &u), kernel!(|n, u, at| n[at] = u[at - [1, 1]] + u[at + [2, 0]]))
                        .unwrap();
                }
                u = next;
            }
            11 => {
                // It computes with the coordinate.
                u.fill_ghosts().unwrap();
                for tile in v.tiles() {
                    compute(
                        &tile,
                        (&mut v, &u),
                        kernel!(|v, u, at| v[at] = 0.3 * (u[at - [1, 0]] + u[at + [1, 0]]) + 0.01 * at[0] as f64),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut u, &mut v);
            }
            12 => {
                u.fill_ghosts().unwrap();
                for tile in v.tiles() {
                    compute(&tile, (&mut v, &u, &source), kernel!(|v, u, s, at| v[at] = u[at + [2, 1]] - 0.2 * s[at]))
                        .unwrap();
                }
                std::mem::swap(&mut u, &mut v);
            }
            _ => {
                u.fill_ghosts().unwrap();
                for tile in v.tiles() {
                    compute(
                        &tile,
                        (&mut v, &u),
                        kernel!(|v, u, at| {
                            let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                            v[at] = u[at] + 0.1 * (around - 4.0 * u[at]);
                        }),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut u, &mut v);
            }
        }
    }
    u.fill_ghosts().unwrap();
    seen.extend(everything(&u));
    seen.extend(bits(&v.read_box(v.domain()).unwrap()));
    seen
}

#[test]
fn planes_as_cells_give_the_bits_of_one_place() {
    for seed in 0..programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 77);
        let (places, overlap) = (1 + dice.roll(6), 2 + dice.roll(7));
        let program = dice.roll(1 << 20) as u64;
        let expected = steps(&on_cpu(), (places, overlap), Dice(program));
        for (name, acc) in accelerators(places, 2) {
            let got = steps(&acc, (places, overlap), Dice(program));
            let at = got.iter().zip(&expected).position(|(got, expected)| got != expected);
            assert!(
                got == expected,
                "seed {seed}: {places} places of {name} with {overlap} planes give other bits at {at:?} of {}",
                expected.len()
            );
        }
    }
}

/// The same where places have room for the regions of a kernel alone: planes stream, and regions where they cannot.
#[test]
fn planes_as_cells_stream_with_the_bits_of_one_place() {
    let (mut passes, mut fused) = (0, 0);
    for seed in 0..4 * programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 78);
        let (places, overlap) = (2 + dice.roll(3), 2 + dice.roll(7));
        let program = dice.roll(1 << 20) as u64;
        let expected = steps(&on_cpu(), (places, overlap), Dice(program));
        let (regions, rows) = cuts(places, &mut Dice(program));
        // Three arrays, of which a sweep reads ghosts too; rows have 70 cells and two ghosts, and are aligned.
        let region = (rows.div_ceil(regions) + 2 * overlap + 5) * 112 * 8;
        let devices = [format!("sim:{places}")];
        let builder = TileAcc::builder().devices(devices).simulate(SimDevice::new()).threads(2);
        let acc = builder.memory_limit(3 * region as u64).fuse(Fuse::Steps(3)).build().unwrap();
        let got = steps(&acc, (places, overlap), Dice(program));
        let at = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        assert!(
            got == expected,
            "seed {seed}: {places} places with {overlap} planes give other bits at {at:?} of {}",
            expected.len()
        );
        let stats = acc.stats();
        (passes, fused) = (passes + stats.passes, fused + stats.fused_steps);
    }
    println!("{passes} passes, {fused} fused steps");
    assert!(passes > 100 && fused > 0, "{passes} passes, {fused} fused steps");
}

/// So many steps of heat in three axes, with a source.
fn heat(acc: &TileAcc, overlap: usize, (steps, periodic): (usize, bool)) -> TileArray<f64, 3> {
    let ends = if periodic { Boundary::Periodic } else { Boundary::ReflectEven };
    let shape = [48, 16, 64];
    let regions = if overlap == 0 { [12, 1, 1] } else { [4, 1, 1] };
    let builder = TileArray::<f64, 3>::builder(shape).regions(regions).ghost(1).boundary(ends).overlap(overlap);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    let mut source = TileArray::<f64, 3>::builder(shape).regions(regions).overlap(overlap).build(acc).unwrap();
    u.fill(|at| value(at, 4)).unwrap();
    source.fill(|at| value(at, 5)).unwrap();
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in next.tiles() {
            compute(
                &tile,
                (&mut next, &u, &source),
                kernel!(|next, u, s, at| {
                    let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                    let around = around + u[at - [0, 0, 1]] + u[at + [0, 0, 1]];
                    next[at] = u[at] + 0.1 * (around - 6.0 * u[at]) + 0.001 * s[at];
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync().unwrap();
    u
}

/// Accelerators of places whose work starts when it is enough or asked for.
fn unhurried(kind: &str) -> TileAccBuilder {
    tida_tests::unhurried().devices([kind]).threads(2)
}

/// Messages go every so many steps, and launches do several steps each.
#[test]
fn messages_are_few_and_steps_fuse() {
    for periodic in [false, true] {
        let expected = heat(&on_cpu(), 0, (24, periodic));
        let expected = bits(&expected.read_box(expected.domain()).unwrap());
        let mut counts = Vec::new();
        for overlap in [0, 1, 4, 8] {
            let acc = unhurried("sim:3").fuse(Fuse::Steps(3)).build().unwrap();
            let u = heat(&acc, overlap, (24, periodic));
            counts.push((acc.stats().launches, acc.stats().fused_steps));
            assert!(bits(&u.read_box(u.domain()).unwrap()) == expected, "{overlap} planes, periodic: {periodic}");
        }
        println!("launches and fused steps without, and with 1, 4 and 8 planes: {counts:?}");
        assert_eq!(counts[0].1, 0, "{counts:?}");
        assert!(counts[3].1 > 0 && counts[3].0 < counts[0].0, "{counts:?}");
    }
}

/// One sweep of two fields, each of which reads both: so many steps from the same values.
fn react(acc: &TileAcc, overlap: usize, steps: usize) -> [TileArray<f64, 3>; 2] {
    let builder = TileArray::<f64, 3>::builder([48, 16, 64]).ghost(1).boundary(Boundary::Periodic).overlap(overlap);
    let field = |salt: i64| {
        let mut u = builder.clone().build(acc).unwrap();
        for tile in u.tiles() {
            compute(
                &tile,
                &mut u,
                kernel!(|u, at| u[at] = ((at[0] * 7 + at[1] * 5 + at[2] + salt) % 31) as f64 / 31.0),
            )
            .unwrap();
        }
        u
    };
    let (mut now, mut next) = ([field(1), field(9)], [field(0), field(0)]);
    for _ in 0..steps {
        let ([u, v], [un, vn]) = (&mut now, &mut next);
        fill_ghosts((&mut *u, &mut *v)).unwrap();
        for tile in un.tiles() {
            compute(
                &tile,
                (&mut *un, &mut *vn, &*u, &*v),
                kernel!(|un, vn, u, v, at| {
                    let both = u[at] * v[at] * v[at];
                    un[at] = u[at] + 0.1 * (u[at - [1, 0, 0]] + u[at + [1, 0, 0]] - 2.0 * u[at]) - both;
                    vn[at] = v[at] + 0.05 * (v[at - [1, 0, 1]] + v[at + [1, 1, 0]] - 2.0 * v[at]) + both;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut now, &mut next);
    }
    acc.sync().unwrap();
    now
}

/// Planes that are cells go from device to device, none by way of the host; those of two fields that one sweep writes
/// every so many steps too.
#[test]
fn planes_go_from_device_to_device() {
    let values = |fields: &[TileArray<f64, 3>; 2]| fields.each_ref().map(|u| bits(&u.read_box(u.domain()).unwrap()));
    let expected = values(&react(&on_cpu(), 0, 8));
    let acc = unhurried("sim:3").build().unwrap();
    let fields = react(&acc, 4, 8);
    // Twice: 4 planes of 16 times 64 numbers on two sides of each of 3 places, of both fields.
    assert_eq!(acc.stats().strip_bytes, 2 * 4 * 16 * 64 * 8 * 2 * 3 * 2);
    assert_eq!(acc.bytes_copied(), (0, 0));
    assert!(values(&fields) == expected);
}

/// Planes that are taken for good when they are not are seen in the values.
#[test]
fn a_plane_too_many_is_found() {
    let run = |acc: &TileAcc| {
        let u = heat(acc, 4, (9, true));
        bits(&u.read_box(u.domain()).unwrap())
    };
    let expected = run(&on_cpu());
    for kind in ["cpu:3", "sim:3"] {
        let builder = || TileAcc::builder().devices([kind]).threads(2);
        assert!(run(&builder().build().unwrap()) == expected, "{kind}");
        for fault in [StripFault::Deep, StripFault::Shallow, StripFault::Lost] {
            assert!(run(&builder().plant_strips(fault).build().unwrap()) != expected, "{fault:?} on {kind}");
        }
    }
}

/// Arrays that have no room stream by planes, several steps a pass.
#[test]
fn planes_stream_on_several_places() {
    let expected = heat(&on_cpu(), 0, (16, false));
    let expected = bits(&expected.read_box(expected.domain()).unwrap());
    for overlap in [0, 8] {
        let acc = unhurried("sim:2").simulate(SimDevice::new()).memory_limit(500u64 << 10).build().unwrap();
        let u = heat(&acc, overlap, (16, false));
        println!("{overlap} planes: {} passes, {:?} bytes", acc.streamed().len(), acc.bytes_copied());
        assert!(bits(&u.read_box(u.domain()).unwrap()) == expected, "{overlap} planes");
    }
}

/// What cannot be is an error when it is built.
#[test]
fn planes_have_to_be_there() {
    let acc = TileAcc::builder().devices(["cpu:2"]).threads(2).build().unwrap();
    let builder = TileArray::<f64, 2>::builder([16, 64]).ghost(2);
    assert_eq!(builder.clone().overlap(9).build(&acc).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(builder.clone().overlap(1).build(&acc).unwrap_err().kind(), ErrorKind::Argument);
    assert!(builder.clone().overlap(8).build(&acc).is_ok());
    // On one place there are none.
    assert!(builder.overlap(9).build(&on_cpu()).is_ok());
}
