//! What crosses the link, counted on a simulated device: for each place where arrays may be and each way in which a
//! sweep uses one, the bytes are a formula. What is overwritten or discarded does not move.
#![cfg(feature = "ndarray")]

use tida::SimDevice;
use tida::prelude::*;

/// Rows of the arrays, and of a region.
const ROWS: i64 = 64;
const OF_REGION: i64 = 16;
const COLUMNS: usize = 256;
const ROW: u64 = COLUMNS as u64 * 8;
/// Rows that are written where not all are: of two regions, all of the first and half of the second.
const PART: i64 = 24;

type Array = TileArray<f64, 2>;

/// Where the arrays are while sweeps run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Whole on the device, in regions of some columns.
    InCore(usize),
    /// As planes, with memory for this part of one array.
    Planes(u64),
    /// As planes of arrays that lie in files, with memory for half of one.
    Files,
    /// As regions, with memory for one of two arrays.
    Regions,
    /// Whole on the device, where they come plane by plane while work runs.
    Arriving,
    /// Three regions of four on the device, the last one on the host.
    Both,
    /// On the host, there is no device.
    Host,
}

/// What a program does with `v`, which the host has filled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Overwritten,
    OverwrittenInPart,
    Read,
    Discarded,
    DiscardedAndOverwrittenInPart,
    /// Overwritten by a sweep, then by the host, then read by a sweep.
    WrittenByTheHostBetween,
    /// Overwritten by a sweep, then filled with one value, then read by a sweep.
    FilledBetween,
}

const PLACES: [Place; 9] = [
    Place::InCore(1),
    Place::InCore(2),
    Place::Planes(2),
    Place::Planes(4),
    Place::Files,
    Place::Regions,
    Place::Arriving,
    Place::Both,
    Place::Host,
];
const USES: [Use; 7] = [
    Use::Overwritten,
    Use::OverwrittenInPart,
    Use::Read,
    Use::Discarded,
    Use::DiscardedAndOverwrittenInPart,
    Use::WrittenByTheHostBetween,
    Use::FilledBetween,
];

impl Place {
    fn acc(self) -> TileAcc {
        let all = ROWS as u64 * ROW;
        let builder = TileAcc::builder().threads(2);
        let sim = builder.clone().simulate(SimDevice::new()).stream_from(u64::MAX);
        let acc = match self {
            Place::InCore(_) => sim.build(),
            Place::Both => sim.hybrid_share(0.75).build(),
            Place::Planes(part) => sim.memory_limit(all / part + 4096).build(),
            Place::Files => sim.memory_limit(all / 2 + 4096).backed_by(std::env::temp_dir()).build(),
            Place::Regions => sim.memory_limit(all + 4096).build(),
            Place::Arriving => sim.stream_from(1u64).build(),
            Place::Host => builder.device(Device::Cpu).build(),
        };
        acc.unwrap()
    }

    fn array(self, acc: &TileAcc, value: f64) -> Array {
        let columns = match self {
            Place::InCore(columns) => columns,
            Place::Regions => 4,
            _ => 1,
        };
        let builder = Array::builder([ROWS as usize, COLUMNS]).regions([(ROWS / OF_REGION) as usize, columns]);
        let mut array = builder.build(acc).unwrap();
        array.fill_value(value).unwrap();
        array
    }

    fn tiles(self, u: &Array) -> TileIter<2> {
        match self {
            Place::Both => TileIter::new(u).device(Device::Hybrid),
            _ => TileIter::new(u),
        }
    }

    /// Rows that go to the device and come back, of all arrays together.
    fn rows(self, of: Use) -> (i64, i64) {
        // Regions come and go whole, planes as they are needed.
        let regions = |rows: i64| (rows + OF_REGION - 1) / OF_REGION * OF_REGION;
        let touched = match self {
            Place::InCore(_) | Place::Regions | Place::Both => regions(PART),
            _ => PART,
        };
        // What is overwritten in part comes: the rest of those regions, or nothing where planes come.
        let rest = match self {
            Place::InCore(_) | Place::Regions | Place::Both => regions(PART) - PART / OF_REGION * OF_REGION,
            _ => 0,
        };
        // What the host sweeps stays there.
        let all = if self == Place::Both { ROWS - OF_REGION } else { ROWS };
        match (self, of) {
            (Place::Host, _) => (0, 0),
            (_, Use::Overwritten | Use::Discarded) => (all, all),
            // Both arrays stay on the device as a whole: what was not overwritten comes too.
            (Place::Arriving, Use::OverwrittenInPart) => (ROWS + ROWS - PART, PART),
            // Of those rows, the ones of regions that the host has been given some rows of.
            (Place::Arriving, Use::DiscardedAndOverwrittenInPart) => (ROWS + regions(PART) - PART, PART),
            (_, Use::OverwrittenInPart) => (touched + rest, touched),
            (_, Use::DiscardedAndOverwrittenInPart) => (touched, touched),
            (_, Use::Read) => (2 * all, all),
            // `u` stays on the device, what the sweep left in `v` is replaced unread.
            (Place::InCore(_) | Place::Arriving | Place::Both, Use::WrittenByTheHostBetween) => (2 * all, all),
            // `v` is filled where it is.
            (Place::InCore(_) | Place::Arriving, Use::FilledBetween) => (all, 2 * all),
            (Place::Both, Use::FilledBetween) => (2 * all, all),
            // Each chain leaves what it has written on the host.
            (_, Use::WrittenByTheHostBetween | Use::FilledBetween) => (3 * all, 2 * all),
        }
    }
}

/// `v = u + 1` in the first rows.
fn overwrite(place: Place, v: &mut Array, u: &Array, rows: i64) {
    for tile in place.tiles(u).within([0, 0], [rows, COLUMNS as i64]) {
        compute(&tile, (&mut *v, u), kernel!(|v, u, at| v[at] = u[at] + 1.0)).unwrap();
    }
}

/// Runs a program; gives what it left in the arrays, from the first row on, and in the last one.
fn run(place: Place, of: Use, acc: &TileAcc, [u, v]: &mut [Array; 2]) -> Vec<f64> {
    let ends = |array: &Array| {
        let all = array.read_box(array.domain()).unwrap();
        [all[0], all[(PART as usize - 1) * COLUMNS], all[all.len() - 1]]
    };
    match of {
        Use::Overwritten => overwrite(place, v, u, ROWS),
        Use::OverwrittenInPart => overwrite(place, v, u, PART),
        Use::Read => {
            let mut sum = place.array(acc, 0.0);
            for tile in place.tiles(u) {
                compute(&tile, (&mut sum, &*u, &*v), kernel!(|sum, u, v, at| sum[at] = u[at] + v[at])).unwrap();
            }
            return ends(&sum).to_vec();
        }
        Use::Discarded => {
            v.discard();
            overwrite(place, v, u, ROWS);
        }
        Use::DiscardedAndOverwrittenInPart => {
            v.discard();
            overwrite(place, v, u, PART);
            // The rest has any value.
            return ends(v)[..2].to_vec();
        }
        Use::WrittenByTheHostBetween | Use::FilledBetween => {
            overwrite(place, v, u, ROWS);
            // Whatever is recorded so far runs.
            acc.sync().unwrap();
            match of {
                Use::FilledBetween => v.fill_value(2.0).unwrap(),
                _ => v.fill(|_| 2.0).unwrap(),
            }
            for tile in place.tiles(u) {
                compute(&tile, (&mut *u, &*v), kernel!(|u, v, at| u[at] = u[at] + v[at])).unwrap();
            }
            return [ends(u), ends(v)].concat();
        }
    }
    ends(v).to_vec()
}

#[test]
fn what_moves_is_what_is_needed() {
    for place in PLACES {
        for of in USES {
            let acc = place.acc();
            let mut arrays = [place.array(&acc, 1.0), place.array(&acc, 7.0)];
            let before = acc.stats();
            let found = run(place, of, &acc, &mut arrays);
            let after = acc.stats();
            let expected: &[f64] = match of {
                Use::Overwritten | Use::Discarded => &[2.0; 3],
                Use::OverwrittenInPart => &[2.0, 2.0, 7.0],
                Use::DiscardedAndOverwrittenInPart => &[2.0; 2],
                Use::Read => &[8.0; 3],
                Use::WrittenByTheHostBetween | Use::FilledBetween => &[3.0, 3.0, 3.0, 2.0, 2.0, 2.0],
            };
            assert_eq!(found, expected, "{place:?}, {of:?}");
            let moved = (after.h2d_bytes - before.h2d_bytes, after.d2h_bytes - before.d2h_bytes);
            let (up, down) = place.rows(of);
            assert_eq!(moved, (up as u64 * ROW, down as u64 * ROW), "up and down, {place:?}, {of:?}");
        }
    }
}

/// How a step of a program touches an array with ghosts.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A sweep overwrites all cells, there.
    Sweep(Option<Device>),
    /// The host overwrites all cells.
    Host,
    Fill,
    /// The user sets the ghosts at one corner.
    SetGhosts,
    /// Ghosts may be older than the cells.
    AllowOld,
    /// A sweep reads ghosts, there, where they may be read.
    Look(Option<Device>),
    Discard,
}

const PROGRAMS: [&[Step]; 8] = {
    use Step::*;
    const CPU: Option<Device> = Some(Device::Cpu);
    [
        // The host sets fixed ghosts, then the device overwrites what they belong to.
        &[Sweep(CPU), Fill, Sweep(None), Fill, Look(None), Sweep(None), Fill, Look(CPU)],
        // The other way round.
        &[Sweep(None), Fill, Host, Fill, Look(CPU), Look(None), Host, Fill, Look(None)],
        &[Host, Fill, Look(None), Sweep(CPU), Fill, Look(CPU), Sweep(None), Fill, Look(CPU)],
        // What the user sets is kept.
        &[Fill, SetGhosts, Sweep(None), AllowOld, Look(None), Look(CPU)],
        &[Sweep(None), Fill, SetGhosts, Host, AllowOld, Look(None), Sweep(CPU), AllowOld, Look(CPU)],
        &[Fill, AllowOld, Sweep(None), AllowOld, Look(None), Host, AllowOld, Look(CPU), Sweep(None), Fill, Look(None)],
        // What is discarded is whole again once it is overwritten.
        &[Sweep(None), Fill, Discard, Sweep(None), Fill, Look(None), Discard, Sweep(CPU), Fill, Look(CPU)],
        &[Host, Fill, Discard, Host, Fill, Look(None), Sweep(None), Discard, Discard, Sweep(None), Fill, Look(CPU)],
    ]
};

fn tiles(v: &TileArray<[f64; 2], 2>, device: Option<Device>) -> TileIter<2> {
    let tiles = TileIter::new(v);
    match device {
        Some(device) => tiles.device(device),
        None => tiles,
    }
}

/// Runs a program; gives what was seen.
fn with_ghosts(
    acc: &TileAcc,
    regions: [usize; 2],
    faces: Boundary<[f64; 2]>,
    storage: Option<Format>,
    steps: &[Step],
) -> Vec<[u64; 2]> {
    let mut builder = TileArray::<[f64; 2], 2>::builder([12, 80]).regions(regions).ghost(1).boundary(faces);
    if let Some(storage) = storage {
        builder = builder.storage(storage);
    }
    let mut v = builder.build(acc).unwrap();
    let mut seen = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let number = number as f64;
        match step {
            Step::Sweep(device) => {
                for tile in tiles(&v, *device) {
                    compute(
                        &tile,
                        &mut v,
                        kernel!(|v, at| {
                            let x = (at[0] * 80 + at[1]) as f64 + 500.0 * number;
                            v[at] = [x, 1.0 - x];
                        }),
                    )
                    .unwrap();
                }
            }
            Step::Host => v.fill(|[j, i]| [(j * 3 + i) as f64 + number, -(i as f64)]).unwrap(),
            Step::Fill => v.fill_ghosts().unwrap(),
            Step::SetGhosts => v.with_grown_component_mut(0, 1, |mut cells| cells[[0, 0]] = 77.0).unwrap(),
            Step::AllowOld => v.allow_stale_ghosts(),
            Step::Discard => v.discard(),
            Step::Look(device) => {
                let mut sum = v.like().unwrap();
                for tile in tiles(&v, *device) {
                    compute(
                        &tile,
                        (&mut sum, &v),
                        kernel!(|sum, v, at| {
                            let (a, b, c) = (v[at + [1, 1]], v[at - [1, 0]], v[at - [1, 1]]);
                            sum[at] = [a[0] + 3.0 * b[0] + 7.0 * c[0], a[1] + 3.0 * b[1] + 7.0 * c[1]];
                        }),
                    )
                    .unwrap();
                }
                seen.extend(sum.read_box(sum.domain()).unwrap().iter().map(|cell| cell.map(f64::to_bits)));
            }
        }
    }
    seen.extend(v.read_box(v.domain()).unwrap().iter().map(|cell| cell.map(f64::to_bits)));
    seen
}

#[test]
fn ghosts_have_their_values_where_their_cells_did_not_move() {
    let cpu = tida_tests::on_cpu();
    let sim = TileAcc::builder().threads(2).simulate(SimDevice::new()).build().unwrap();
    let devices = [Some(sim), tida_tests::on_a_device(TileAcc::builder())];
    let faces = [Boundary::Fixed([3.0, 5.0]), Boundary::Open, Boundary::ReflectOdd, Boundary::Extrapolate(0)];
    for (acc, faces) in devices.iter().flatten().flat_map(|acc| faces.map(|faces| (acc, faces))) {
        for regions in [[1, 1], [3, 1], [2, 2]] {
            for (number, steps) in PROGRAMS.iter().enumerate() {
                // Older ghosts between regions have no value where those lie in a row.
                if regions == [3, 1] && steps.iter().any(|step| matches!(step, Step::AllowOld)) {
                    continue;
                }
                let coded = Some(Format::Range { bits: 16, min: -60000.0, max: 60000.0 });
                for storage in [None, coded.filter(|_| regions == [2, 2])] {
                    let expected = with_ghosts(&cpu, regions, faces, storage, steps);
                    let found = with_ghosts(acc, regions, faces, storage, steps);
                    let first = found.iter().zip(&expected).position(|(a, b)| a != b);
                    let what = format!("program {number}, {regions:?}, {faces:?}, {storage:?}, {:?}", acc.device());
                    assert_eq!(first, None, "the first cell that differs: {what}");
                }
            }
        }
    }
}
