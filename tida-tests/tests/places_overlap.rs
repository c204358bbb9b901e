//! Places that have planes of their neighbours as cells: the bits of one place, fewer messages, fused steps, and planes
//! that stream.

use tida::array::StripFault;
use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder, fill_ghosts};
use tida_tests::on_cpu;
use tida_tests::overlap::{cuts, heat, steps};
use tida_tests::several::{Dice, accelerators, bits};

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
        assert!(got == expected, "seed {seed}: {places} places with {overlap} planes give other bits");
        let stats = acc.stats();
        (passes, fused) = (passes + stats.passes, fused + stats.fused_steps);
    }
    println!("{passes} passes, {fused} fused steps");
    assert!(passes > 100 && fused > 0, "{passes} passes, {fused} fused steps");
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
