//! What crosses the link. A table has the roads that work takes as its rows and the ways in which a program uses an
//! array as its columns; each cell is a formula for the bytes that go to the device and come from it. A simulated
//! device and an OpenCL one move the same. What is overwritten or discarded does not move.
#![cfg(feature = "ndarray")]

use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida::{SimDevice, StreamedBy};
use tida_tests::folder::Folder;

/// Planes of the arrays, and of a region.
const PLANES: u64 = 64;
const OF_REGION: u64 = 16;
const COLUMNS: u64 = 256;
/// Planes that are written where not all are: of two regions, all of the first and half of the second.
const PART: u64 = 24;

type Array = TileArray<f64, 2>;

/// Where arrays are while sweeps run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Road {
    /// Whole on the device, in regions of planes.
    InCore,
    /// Whole on the device, in regions of halves of planes.
    InCoreOfHalves,
    /// As planes, with memory for a quarter of two arrays.
    Quarter,
    /// As planes, with memory for an eighth of two arrays.
    Eighth,
    /// As planes of arrays that lie in files, with memory for a quarter of two.
    Files,
    /// As regions, with memory for one of two arrays.
    Regions,
    /// Whole on the device, where they come plane by plane while work runs, since the host waits for it.
    Arriving,
    /// Whole on the device, where they come before work runs, since nobody waits for it.
    ArrivingUnwanted,
    /// Three regions of four on the device, the last one on the host.
    Both,
    /// On the host, in blocks that fit its caches.
    Waves,
}

/// What a program does with `v`, which the host has filled. It has `u` too, which the host has filled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    /// A sweep overwrites all of it.
    Overwritten,
    /// A sweep overwrites some planes.
    InPart,
    /// A sweep reads it, and writes a third array.
    Read,
    /// It is discarded, then a sweep overwrites some planes.
    Discarded,
    /// A sweep overwrites it, another one reads that and writes a third array, then it is discarded.
    DiscardedAfter,
    /// A sweep overwrites it, then the host does, then a sweep reads it and writes `u`.
    HostBetween,
    /// A sweep overwrites it, then it is filled with one value, then a sweep reads it and writes `u`.
    FilledBetween,
}

const USES: [Use; 7] = [
    Use::Overwritten,
    Use::InPart,
    Use::Read,
    Use::Discarded,
    Use::DiscardedAfter,
    Use::HostBetween,
    Use::FilledBetween,
];

/// Sizes of an array as the link sees it, in bytes.
struct Sizes {
    /// Planes of ghosts beyond an end, and columns of ghosts beside a plane.
    ghosts: u64,
    /// A plane, with its ghosts at the edges.
    plane: u64,
    /// All of it where regions of planes lie in a row on the device, with ghosts beyond the ends alone.
    row: u64,
    /// Its first two regions there.
    two_of_row: u64,
    /// All regions of planes, each with its ghosts.
    regions: u64,
    /// The same where regions are halves and quarters of planes.
    halves: u64,
    quarters: u64,
}

/// Bytes to the device and from it until the batch has run, and from it when the host then reads.
type Moved = [u64; 3];
type Cell = fn(&Sizes) -> Moved;

/// The table: a row for each road, a cell for each of [`USES`]. Where arrays have ghosts, what is more than the cells
/// is what moves today, and is not always needed: decision 0091 says where.
const TABLE: &[Row] = &[
    Row {
        road: Road::InCore,
        moved: [
            |s| [s.row, 0, s.row],
            |s| [s.read(s.row) + OF_REGION * s.plane, 0, s.two_of_row],
            |s| [2 * s.row, 0, s.row],
            |s| [s.read(s.row), 0, s.two_of_row],
            |s| [s.row, 0, s.row],
            |s| [2 * s.row, 0, s.regions],
            |s| [s.row, 0, s.row + s.regions],
        ],
    },
    Row {
        road: Road::InCoreOfHalves,
        moved: [
            |s| [s.halves, 0, s.halves],
            |s| [s.read(s.halves) + s.halves / 4, 0, s.halves / 2],
            |s| [2 * s.halves, 0, s.halves],
            |s| [s.read(s.halves), 0, s.halves / 2],
            |s| [s.halves, 0, s.halves],
            |s| [2 * s.halves, 0, s.halves],
            |s| [s.halves, 0, 2 * s.halves],
        ],
    },
    Row {
        road: Road::Quarter,
        moved: [
            |s| [s.plane * (PLANES + 3 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (PART + 3 * s.ghosts), s.plane * PART, 0],
            |s| [s.plane * (2 * PLANES + 3 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (PART + 3 * s.ghosts), s.plane * PART, 0],
            |s| [s.plane * (PLANES + 4 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (3 * PLANES + 5 * s.ghosts), s.plane * 2 * PLANES, 0],
            |s| [s.plane * (3 * PLANES + 5 * s.ghosts), s.plane * 2 * PLANES, 0],
        ],
    },
    Row {
        road: Road::Eighth,
        moved: [
            |s| [s.plane * (PLANES + 3 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (PART + 3 * s.ghosts), s.plane * PART, 0],
            |s| [s.plane * (2 * PLANES + 3 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (PART + 3 * s.ghosts), s.plane * PART, 0],
            |s| [s.plane * (PLANES + 4 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (3 * PLANES + 5 * s.ghosts), s.plane * 2 * PLANES, 0],
            |s| [s.plane * (3 * PLANES + 5 * s.ghosts), s.plane * 2 * PLANES, 0],
        ],
    },
    Row {
        road: Road::Files,
        moved: [
            |s| [s.plane * (PLANES + 3 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (PART + 3 * s.ghosts), s.plane * PART, 0],
            |s| [s.plane * (2 * PLANES + 3 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (PART + 3 * s.ghosts), s.plane * PART, 0],
            |s| [s.plane * (PLANES + 4 * s.ghosts), s.plane * PLANES, 0],
            |s| [s.plane * (3 * PLANES + 5 * s.ghosts), s.plane * 2 * PLANES, 0],
            |s| [s.plane * (3 * PLANES + 5 * s.ghosts), s.plane * 2 * PLANES, 0],
        ],
    },
    Row {
        road: Road::Regions,
        moved: [
            |s| [s.quarters, s.quarters, 0],
            |s| [s.quarters / 4 * 3, s.quarters / 2, 0],
            |s| [2 * s.quarters, s.quarters, 0],
            |s| [s.quarters / 2, s.quarters / 2, 0],
            |s| [s.quarters, 2 * s.quarters, 0],
            |s| [3 * s.quarters, 2 * s.quarters, 0],
            |s| [3 * s.quarters, 2 * s.quarters, 0],
        ],
    },
    Row {
        road: Road::Arriving,
        moved: [
            |s| [s.plane * (PLANES + 6 * s.ghosts), 0, s.plane * PLANES],
            |s| [s.plane * (2 * PLANES - PART + 6 * s.ghosts), 0, s.plane * PART],
            |s| [s.plane * (2 * PLANES + 9 * s.ghosts), 0, s.plane * PLANES],
            |s| [s.plane * (PLANES + 2 * OF_REGION - PART + 5 * s.ghosts), 0, s.plane * PART],
            |s| [s.plane * (PLANES + 9 * s.ghosts), 0, s.plane * PLANES],
            |s| [s.row + s.plane * (PLANES + 3 * s.ghosts), 0, s.plane * (PLANES + 2 * s.ghosts)],
            |s| [s.plane * (PLANES + 6 * s.ghosts), 0, s.plane * PLANES + s.regions],
        ],
    },
    Row {
        road: Road::ArrivingUnwanted,
        moved: [
            |s| [s.row, 0, s.row],
            |s| [s.read(s.row) + OF_REGION * s.plane, 0, s.two_of_row],
            |s| [2 * s.row, 0, s.row],
            |s| [s.read(s.row), 0, s.two_of_row],
            |s| [s.row, 0, s.row],
            |s| [2 * s.row, 0, s.regions],
            |s| [s.row, 0, s.row + s.regions],
        ],
    },
    Row {
        road: Road::Both,
        moved: [
            |s| [s.three() + s.filled(s.row), s.filled(s.regions), s.three()],
            |s| [s.three() + s.filled(s.row), s.filled(s.regions), s.regions / 2],
            |s| [2 * s.three(), 0, s.three()],
            |s| [s.regions / 2 + s.filled(s.row), s.filled(s.regions), s.regions / 2],
            |s| [s.three() + s.filled(s.row), s.filled(s.regions), s.three()],
            |s| [2 * s.three() + s.filled(s.row), s.filled(s.regions), s.three()],
            |s| [2 * s.three() + s.filled(s.row), s.filled(s.regions), s.three()],
        ],
    },
    Row { road: Road::Waves, moved: [|_| [0; 3]; 7] },
];

/// A row of the table: what each of [`USES`] moves.
struct Row {
    road: Road,
    moved: [Cell; 7],
}

impl Sizes {
    fn of(ghosts: u64) -> Sizes {
        // Planes of some columns; rows are aligned to 128 bytes, and memory to 1 KiB.
        let plane = |columns: u64| ((columns + 2 * ghosts) * 8).next_multiple_of(128);
        let memory = |planes: u64, columns: u64| ((planes + 2 * ghosts) * plane(columns)).next_multiple_of(1024);
        let all = |columns: u64| PLANES / OF_REGION * (COLUMNS / columns) * memory(OF_REGION, columns);
        // Ghosts stand before the first cell of an aligned row.
        let before = if ghosts > 0 { 128 - ghosts * 8 } else { 0 };
        Sizes {
            ghosts,
            plane: plane(COLUMNS),
            row: memory(PLANES, COLUMNS),
            two_of_row: (2 * OF_REGION + ghosts) * plane(COLUMNS) + before,
            regions: all(COLUMNS),
            halves: all(COLUMNS / 2),
            quarters: all(COLUMNS / 4),
        }
    }

    /// What comes of `u` for a part of it, of so many bytes in all: the regions of that part, or all regions where
    /// their ghosts are filled.
    fn read(&self, all: u64) -> u64 {
        if self.ghosts > 0 { all } else { all / 2 }
    }

    /// What the fill of ghosts moves, if there are ghosts.
    fn filled(&self, bytes: u64) -> u64 {
        if self.ghosts > 0 { bytes } else { 0 }
    }

    /// Three regions of planes.
    fn three(&self) -> u64 {
        self.regions / 4 * 3
    }
}

impl Road {
    fn acc(self, device: &TileAccBuilder, folder: &Folder) -> Option<TileAcc> {
        let both = 2 * PLANES * COLUMNS * 8;
        // Nothing starts by itself.
        let for_ever = std::time::Duration::from_secs(600);
        let builder = device.clone().threads(2).pause(for_ever).patience(for_ever);
        let never = builder.clone().stream_from(u64::MAX);
        let built = match self {
            Road::InCore | Road::InCoreOfHalves => never.build(),
            Road::Both => never.hybrid_share(0.75).build(),
            Road::Quarter => never.memory_limit(both / 4 + 4096).build(),
            Road::Eighth => never.memory_limit(both / 8 + 4096).build(),
            Road::Files => never.memory_limit(both / 4 + 4096).backed_by(&folder.0).build(),
            Road::Regions => never.memory_limit(both / 2 + 4096).build(),
            Road::Arriving | Road::ArrivingUnwanted => builder.stream_from(1u64).build(),
            // The host is the same beside any device: its caches hold half of an array.
            Road::Waves => TileAcc::builder().device(Device::Cpu).threads(2).caches(4096, both as usize / 4).build(),
        };
        match built {
            Err(error) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_none() => {
                println!("skipped: {error}");
                None
            }
            built => Some(built.unwrap()),
        }
    }

    fn array(self, acc: &TileAcc, ghosts: u64, value: f64) -> Array {
        let columns = match self {
            Road::InCoreOfHalves => 2,
            Road::Regions => 4,
            _ => 1,
        };
        let builder = Array::builder([PLANES as usize, COLUMNS as usize]);
        let regions = if self == Road::Waves { 1 } else { (PLANES / OF_REGION) as usize };
        let builder = builder.regions([regions, columns]).ghost(ghosts as usize);
        let mut array = builder.boundary(Boundary::Fixed(value)).build(acc).unwrap();
        array.fill_value(value).unwrap();
        array
    }

    fn tiles(self, of: &Array) -> TileIter<2> {
        match self {
            Road::Both => TileIter::new(of).device(Device::Hybrid),
            _ => TileIter::new(of),
        }
    }

    /// How work streams, if it does.
    fn streams(self) -> Option<StreamedBy> {
        match self {
            Road::InCore | Road::InCoreOfHalves | Road::Both => None,
            Road::Quarter | Road::Eighth | Road::Files => Some(StreamedBy::Planes),
            Road::Regions => Some(StreamedBy::Regions),
            Road::Arriving | Road::ArrivingUnwanted => Some(StreamedBy::Arriving),
            Road::Waves => Some(StreamedBy::Blocks),
        }
    }
}

/// A program, and where it runs.
struct Program<'a> {
    road: Road,
    ghosts: u64,
    acc: &'a TileAcc,
    u: Array,
    v: Array,
}

impl Program<'_> {
    fn new(road: Road, ghosts: u64, acc: &TileAcc) -> Program<'_> {
        let [u, v] = [1.0, 7.0].map(|value| road.array(acc, ghosts, value));
        Program { road, ghosts, acc, u, v }
    }

    /// `v` is one more than the mean of `u` and, where arrays have ghosts, its neighbours, in the first planes.
    fn overwrite(&mut self, planes: u64) {
        let (v, u) = (&mut self.v, &mut self.u);
        if self.ghosts > 0 {
            u.fill_ghosts().unwrap();
        }
        for tile in self.road.tiles(u).within([0, 0], [planes as i64, COLUMNS as i64]) {
            match self.ghosts {
                0 => compute(&tile, (&mut *v, &*u), kernel!(|v, u, at| v[at] = u[at] + 1.0)),
                _ => compute(
                    &tile,
                    (&mut *v, &*u),
                    kernel!(|v, u, at| v[at] = 0.5 * (u[at - [1, 0]] + u[at + [0, 1]]) + 1.0),
                ),
            }
            .unwrap();
        }
    }

    /// A third array is `u` and `v` together.
    fn read(&self) -> Array {
        let mut sum = self.road.array(self.acc, self.ghosts, 0.0);
        for tile in self.road.tiles(&self.u) {
            compute(&tile, (&mut sum, &self.u, &self.v), kernel!(|sum, u, v, at| sum[at] = u[at] + v[at])).unwrap();
        }
        sum
    }

    /// The host or the library overwrites `v`, then a sweep adds it to `u`.
    fn overwrite_between(&mut self, write: impl FnOnce(&mut Array)) {
        self.overwrite(PLANES);
        write(&mut self.v);
        for tile in self.road.tiles(&self.u) {
            compute(&tile, (&mut self.u, &self.v), kernel!(|u, v, at| u[at] = u[at] + v[at])).unwrap();
        }
    }

    /// Records it; gives the third array, if there is one.
    fn record(&mut self, of: Use) -> Option<Array> {
        match of {
            Use::Overwritten => self.overwrite(PLANES),
            Use::InPart => self.overwrite(PART),
            Use::Read => return Some(self.read()),
            Use::Discarded => {
                self.v.discard();
                self.overwrite(PART);
            }
            Use::DiscardedAfter => {
                self.overwrite(PLANES);
                let sum = self.read();
                self.v.discard();
                return Some(sum);
            }
            Use::HostBetween => self.overwrite_between(|v| v.fill(|_| 2.0).unwrap()),
            Use::FilledBetween => self.overwrite_between(|v| v.fill_value(2.0).unwrap()),
        }
        None
    }

    /// Runs it. Gives what moved, and what it left in the first plane, the last one that is written in part, and the
    /// last one.
    fn run(&mut self, of: Use) -> (Moved, Vec<f64>) {
        let before = self.acc.stats();
        let third = self.record(of);
        // There the read of the host is what starts the batch.
        let wanted = self.road == Road::Arriving;
        if !wanted {
            self.acc.flush().unwrap();
            self.acc.sync().unwrap();
        }
        let mut batch = self.acc.stats();
        let written: &[&Array] = match &third {
            Some(third) => &[third],
            None if matches!(of, Use::HostBetween | Use::FilledBetween) => &[&self.u, &self.v],
            None => &[&self.v],
        };
        let planes = [0, PART as usize - 1, PLANES as usize - 1];
        let mut found = Vec::new();
        for array in written {
            let all = array.read_box(array.domain()).unwrap();
            found.extend(planes.map(|plane| all[plane * COLUMNS as usize]));
        }
        if of == Use::Discarded {
            // The rest has any value.
            found.pop();
        }
        let after = self.acc.stats();
        if wanted {
            (batch.h2d_bytes, batch.d2h_bytes) = (after.h2d_bytes, before.d2h_bytes);
        }
        assert_eq!(after.h2d_bytes, batch.h2d_bytes, "reading moves nothing to the device");
        let moved =
            [batch.h2d_bytes - before.h2d_bytes, batch.d2h_bytes - before.d2h_bytes, after.d2h_bytes - batch.d2h_bytes];
        (moved, found)
    }
}

impl Use {
    /// What a program leaves.
    fn leaves(self) -> &'static [f64] {
        match self {
            Use::Overwritten => &[2.0; 3],
            Use::InPart => &[2.0, 2.0, 7.0],
            Use::Discarded => &[2.0; 2],
            Use::Read => &[8.0; 3],
            Use::DiscardedAfter => &[3.0; 3],
            Use::HostBetween | Use::FilledBetween => &[3.0, 3.0, 3.0, 2.0, 2.0, 2.0],
        }
    }
}

/// Every cell of the table, on a device.
fn moves_what_the_table_says(device: &TileAccBuilder, most_of_tables: u64) {
    let (folder, mut wrong) = (Folder::new(), Vec::new());
    for Row { road, moved } in TABLE {
        for (of, ghosts) in USES.into_iter().zip(moved).flat_map(|cell| [(cell, 0), (cell, 1)]) {
            let (of, formula) = of;
            let Some(acc) = road.acc(device, &folder) else { continue };
            let (found, left) = Program::new(*road, ghosts, &acc).run(of);
            assert_eq!(left, of.leaves(), "{road:?}, {of:?}, {ghosts} ghosts");
            let streamed: Vec<_> = acc.streamed().iter().map(|report| report.by).collect();
            let takes = |by: &StreamedBy| Some(*by) == road.streams();
            if !streamed.iter().all(takes) || streamed.is_empty() != road.streams().is_none() {
                wrong.push(format!("{road:?}, {of:?}, {ghosts} ghosts: takes another road: {streamed:?}"));
            }
            let said = formula(&Sizes::of(ghosts));
            // The kernels of a device read tables of boxes, which come beside arrays and are small.
            let tables = found[0].checked_sub(said[0]).is_some_and(|more| more <= most_of_tables);
            if found[1..] != said[1..] || !tables {
                wrong.push(format!("{road:?}, {of:?}, {ghosts} ghosts: {found:?} moved, the table says {said:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "up, down, down for the host:\n{}", wrong.join("\n"));
}

#[test]
fn a_simulated_device_moves_what_the_table_says() {
    moves_what_the_table_says(&TileAcc::builder().simulate(SimDevice::new()), 0);
}

#[test]
fn an_opencl_device_moves_what_the_table_says() {
    moves_what_the_table_says(&TileAcc::builder().device(Device::OpenCl), 8 << 10);
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
