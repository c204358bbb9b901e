//! Places that have planes of their neighbours as cells: the bits of one place, fewer messages, fused steps, and planes
//! that stream.

use tida::array::StripFault;
use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder, fill_ghosts};
use tida_tests::on_cpu;
use tida_tests::overlap::{cuts, heat, spread, steps};
use tida_tests::several::{Dice, accelerators, bits, everything, step, value};

/// How many random programs: `TIDA_PLACES_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_PLACES_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
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
            assert!(got == expected, "seed {seed}: {places} places of {name} with {overlap} planes give other bits");
        }
    }
}

/// The same where places have room for the regions of a kernel alone: planes stream, and regions where they cannot.
#[test]
fn planes_as_cells_stream_with_the_bits_of_one_place() {
    let mut passes = 0;
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
        assert!(got == expected, "seed {seed}: {places} places with {overlap} planes give other bits");
        passes += acc.stats().passes;
    }
    // Few of these steps share launches, on a fast machine none: that they do is tested in `places_stream` and below.
    println!("{passes} passes");
    assert!(passes > 100, "{passes} passes");
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

/// Steps share launches up to where planes are given, whose cells those launches compute first, and from there on. The
/// first step is not known to be one of several, and the last ones are followed by none.
#[test]
fn launches_end_where_planes_are_given() {
    for periodic in [false, true] {
        let expected = heat(&on_cpu(), 0, (24, periodic));
        let expected = bits(&expected.read_box(expected.domain()).unwrap());
        for (overlap, fused) in [(3, 6 * 3), (6, 6 * 3), (4, 6 * 3)] {
            for edges_from in [0, u64::MAX] {
                let acc = unhurried("sim:3").fuse(Fuse::Steps(3)).edges_from(edges_from).build().unwrap();
                let u = heat(&acc, overlap, (24, periodic));
                let what = format!("{overlap} planes, periodic: {periodic}, edges from {edges_from}");
                println!("{what}: {} fused steps", acc.stats().fused_steps);
                assert_eq!(acc.stats().fused_steps, 3 * fused, "{what}");
                assert!(bits(&u.read_box(u.domain()).unwrap()) == expected, "{what}");
            }
        }
    }
}

/// Who waits for one place alone gets what it waits for, though other places hold steps back that its planes come from;
/// so does who waits for room to record more.
#[test]
fn who_waits_at_one_place_does_not_wait_for_steps_that_are_held() {
    let builder = |acc: &TileAcc, overlap: usize| {
        let builder = TileArray::<f64, 3>::builder([36, 16, 64]).ghost(1).boundary(Boundary::Periodic);
        builder.overlap(overlap).build(acc).unwrap()
    };
    let run = |acc: &TileAcc, overlap: usize, (steps, from): (usize, i64)| {
        let (mut u, mut next) = (builder(acc, overlap), builder(acc, overlap));
        u.fill(|at| value(at, 7)).unwrap();
        (0..steps).for_each(|_| step(&mut u, &mut next));
        bits(&u.read_box(GridBox::new([from, 0, 0], [from + 1, 16, 64])).unwrap())
    };
    for steps in [4, 7, 8, 60] {
        for from in [0, 13, 35] {
            let expected = run(&on_cpu(), 0, (steps, from));
            for look_ahead in [20, 1000] {
                let builder = unhurried("sim:3").fuse(Fuse::Steps(3)).edges_from(0).look_ahead(look_ahead);
                let values = run(&builder.build().unwrap(), 3, (steps, from));
                assert!(values == expected, "{steps} steps, plane {from}, look-ahead of {look_ahead}");
            }
        }
    }
}

/// Runs of steps that are held back over strips, and what may come between them: who waits at one place, steps over the
/// planes of one place, other kernels, other arrays.
fn held(acc: &TileAcc, (places, overlap): (usize, usize), mut dice: Dice) -> Vec<u64> {
    let rows = places * (overlap + 1 + dice.roll(12));
    let ends = dice.pick(&[Boundary::Periodic, Boundary::ReflectEven, Boundary::Fixed(0.5)]);
    let builder = TileArray::<f64, 2>::builder([rows, 70]).regions([places, 1]).ghost(1).boundary(ends);
    let builder = builder.overlap(overlap);
    let (mut u, mut v) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    let salt = dice.roll(100);
    u.fill(|at| value(at, salt)).unwrap();
    let mut seen = Vec::new();
    for _ in 0..5 + dice.roll(8) {
        let (steps, wide) = (1 + dice.roll(14), dice.roll(5) == 0);
        for _ in 0..steps {
            u.fill_ghosts().unwrap();
            for tile in v.tiles() {
                if wide {
                    compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at - [1, 1]] - 0.1 * u[at])).unwrap();
                } else {
                    spread(&tile, &mut v, &u);
                }
            }
            std::mem::swap(&mut u, &mut v);
        }
        let row = dice.roll(rows) as i64;
        match dice.roll(9) {
            0 => seen.extend(bits(&u.read_box(GridBox::new([row, 0], [row + 1, 70])).unwrap())),
            1 => seen.extend(bits(&v.read_box(GridBox::new([row, 5], [rows as i64, 9])).unwrap())),
            2 => seen.push(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap().to_bits()),
            3 => {
                let tile = v.tiles().nth(dice.roll(places)).unwrap();
                compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at] * 0.5)).unwrap();
            }
            4 => {
                u.fill_ghosts().unwrap();
                let tile = v.tiles().nth(dice.roll(places)).unwrap();
                compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at - [1, 0]] + 0.1 * u[at + [1, 0]]))
                    .unwrap();
            }
            5 => {
                for tile in u.tiles() {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 1.0)).unwrap();
                }
            }
            6 => {
                let mut w = u.clone();
                fill_ghosts((&mut u, &mut w)).unwrap();
                v.copy_from(&w).unwrap();
            }
            7 => acc.flush().unwrap(),
            _ => u.fill_ghosts().unwrap(),
        }
    }
    u.fill_ghosts().unwrap();
    seen.extend(everything(&u));
    seen.extend(bits(&v.read_box(v.domain()).unwrap()));
    seen
}

/// The bits of one place, with room and without, whenever what is held back starts.
#[test]
fn steps_that_are_held_over_strips_give_the_bits_of_one_place() {
    let (mut fused, mut passes) = (0, 0);
    for seed in 0..2 * programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 5);
        let (places, overlap) = (2 + dice.roll(5), dice.pick(&[2, 3, 3, 4, 6, 6, 7, 9]));
        let program = dice.roll(1 << 20) as u64;
        let expected = held(&on_cpu(), (places, overlap), Dice(program));
        let name = format!("sim:{places}");
        let (steps, edges) = (dice.pick(&[1, 3, 3, 3, 5]), dice.pick(&[0, 0, u64::MAX]));
        let builder = || unhurried(&name).fuse(Fuse::Steps(steps)).edges_from(edges);
        // For about three quarters of both arrays of a place.
        let room = 640 * 3 * (3 * overlap + 6) as u64 / 2;
        let all = [
            builder(),
            builder().look_ahead(8 + dice.roll(60)),
            TileAcc::builder().devices([&name]).threads(2).fuse(Fuse::Steps(steps)).edges_from(edges),
            builder().memory_limit(room),
        ];
        for (number, builder) in all.into_iter().enumerate() {
            let acc = builder.build().unwrap();
            let got = held(&acc, (places, overlap), Dice(program));
            let at = got.iter().zip(&expected).position(|(got, expected)| got != expected);
            assert!(got == expected, "seed {seed}, accelerator {number}: other bits at {at:?} of {}", expected.len());
            fused += acc.stats().fused_steps;
            passes += acc.stats().passes;
        }
    }
    println!("{fused} fused steps, {passes} passes");
    assert!(fused > 0 && passes > 0, "{fused} fused steps, {passes} passes");
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
