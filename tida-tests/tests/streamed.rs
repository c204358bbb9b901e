//! Reports of work over arrays that stream say in which pieces, in how many passes and with which bytes it ran, and
//! which line ended it.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{SimDevice, Streamed, StreamedBy, TileAccBuilder, all};
use tida_tests::folder::Folder;

type Array = TileArray<f64, 2>;

/// Neither a silence nor a pause of a busy machine ends what a test expects together.
fn builder() -> TileAccBuilder {
    let long = std::time::Duration::from_secs(60);
    TileAcc::builder().threads(2).simulate(SimDevice::new()).patience(long).pause(long)
}

fn two(acc: &TileAcc, regions: [usize; 2]) -> (Array, Array) {
    let mut u = Array::builder([64, 128]).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|[row, column]| (row * column) as f64).unwrap();
    let next = u.like().unwrap();
    (u, next)
}

/// The line of the last sweep.
fn steps(u: &mut Array, next: &mut Array, steps: usize) -> u32 {
    let mut line = 0;
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(u) {
            line = line!() + 1;
            compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1, 0]] + u[at])))
                .unwrap();
        }
        std::mem::swap(u, next);
    }
    line
}

/// Bytes of both arrays' cells.
const CELLS: u64 = 2 * 64 * 128 * 8;

fn said(report: &Streamed, wanted: &[&str]) {
    let text = report.to_string();
    assert!(wanted.iter().all(|part| text.contains(part)), "{wanted:?} in: {text}");
}

#[test]
fn planes_and_the_read_that_ends_them() {
    let acc = builder().memory_limit(CELLS / 2).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    let step = steps(&mut u, &mut next, 5);
    let read = line!() + 1;
    u.read_box(u.domain()).unwrap();
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.sweeps, report.ghost_fills), (StreamedBy::Planes, 5, 4));
    let stats = acc.stats();
    assert_eq!((report.passes, report.h2d_bytes, report.d2h_bytes), (stats.passes, stats.h2d_bytes, stats.d2h_bytes));
    assert!(report.passes > 0 && report.h2d_bytes > 0);
    // The first fill is done on the host, before there is a chain.
    assert_eq!(report.recorded.map(|place| place.line()), [step; 2]);
    said(report, &["5 sweeps and 4 ghost fills", "by planes", &format!("streamed.rs:{read}:"), "host waits"]);
}

#[test]
fn regions_and_a_sync() {
    let acc = builder().memory_limit(CELLS / 2).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 2]);
    steps(&mut u, &mut next, 2);
    let sync = line!() + 1;
    acc.sync().unwrap();
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.sweeps), (StreamedBy::Regions, 2));
    said(report, &["by regions", &format!("streamed.rs:{sync}:")]);
}

/// The line is named that broke a loop's passes.
#[test]
fn work_that_cannot_stream_with_the_rest() {
    // `all` has room in half of it.
    let acc = builder().memory_limit(180_000u64).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    let more = u.like().unwrap();
    let step = |u: &Array, next: &mut Array| {
        for tile in TileIter::new(u) {
            compute(&tile, (&mut *next, u, &more), kernel!(|next, u, m, at| next[at] = u[at] + m[at])).unwrap();
        }
    };
    step(&u, &mut next);
    let whole = line!() + 2;
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut u, all(&next)), kernel!(|u, next, at| u[at] = next[[at[0], 0]])).unwrap();
    }
    acc.sync().unwrap();
    let copy = line!() + 2;
    step(&u, &mut next);
    u.copy_from(&next).unwrap();
    acc.sync().unwrap();
    let all = acc.streamed();
    said(&all[0], &[&format!("streamed.rs:{whole}:"), "as a whole"]);
    said(&all[all.len() - 1], &[&format!("streamed.rs:{copy}:"), "works on its arrays"]);
}

#[test]
fn the_look_ahead_and_silence() {
    let acc = builder().memory_limit(CELLS / 2).look_ahead(6).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    steps(&mut u, &mut next, 6);
    acc.sync().unwrap();
    said(&acc.streamed()[0], &["look_ahead"]);
    let short = std::time::Duration::from_millis(1);
    let acc = builder().memory_limit(CELLS / 2).pause(short).patience(short).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    steps(&mut u, &mut next, 1);
    while acc.streamed().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    said(&acc.streamed()[0], &["patience"]);
}

/// Nothing is told of arrays that have room.
#[test]
fn nothing_of_what_has_room() {
    let acc = builder().build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    steps(&mut u, &mut next, 3);
    acc.sync().unwrap();
    assert!(acc.streamed().is_empty());
}

/// `next = u + 1`, in the first rows; the line of it.
fn add_one(u: &Array, next: &mut Array, rows: i64) -> u32 {
    for tile in TileIter::new(u).within([0, 0], [rows, 128]) {
        compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at] + 1.0)).unwrap();
    }
    line!() - 2
}

/// Arrays of one size that have no ghosts, and bytes of a row.
fn plain(acc: &TileAcc) -> (Array, Array) {
    let mut u = Array::builder([64, 128]).regions([4, 1]).build(acc).unwrap();
    u.fill(|[row, column]| (row * column) as f64).unwrap();
    let next = u.like().unwrap();
    (u, next)
}

const ROW: u64 = 128 * 8;

/// Planes that come while work runs and stay, since the host reads what becomes of them.
#[test]
fn arrays_that_arrive_and_the_read_that_ends_them() {
    let acc = builder().stream_from(1u64).build().unwrap();
    let (u, mut next) = plain(&acc);
    let step = add_one(&u, &mut next, 64);
    let read = line!() + 1;
    assert_eq!(next.read_box(GridBox::new([3, 5], [4, 6])).unwrap(), [16.0]);
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.sweeps, report.passes), (StreamedBy::Arriving, 1, 1));
    // The box that is read moves by itself.
    assert_eq!((report.h2d_bytes, report.d2h_bytes), (64 * ROW, 0), "{report}");
    assert_eq!(report.recorded.map(|place| place.line()), [step; 2]);
    said(report, &["by planes that stay", &format!("streamed.rs:{read}:"), "host waits"]);
}

/// Nobody waits for a result: the arrays come as a whole before the work runs.
#[test]
fn arrays_that_arrive_and_a_flush() {
    let acc = builder().stream_from(1u64).build().unwrap();
    let (u, mut next) = plain(&acc);
    add_one(&u, &mut next, 64);
    let flush = line!() + 1;
    acc.flush().unwrap();
    acc.sync().unwrap();
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.passes, report.h2d_bytes), (StreamedBy::Arriving, 0, 64 * ROW), "{report}");
    said(report, &["0 passes", &format!("streamed.rs:{flush}:"), "the program starts its work"]);
}

/// What comes as a whole runs as it would if nothing streamed: as many launches, and the same bytes. Ghosts that no
/// sweep needs are not filled.
#[test]
fn arrays_that_arrive_as_a_whole_run_as_others() {
    let run = |stream_from: u64, regions: [usize; 2]| {
        let acc = builder().stream_from(stream_from).build().unwrap();
        let array = Array::builder([64, 128]).regions(regions).ghost(1).boundary_axis(0, Boundary::ReflectEven);
        let mut u = array.boundary_axis(1, Boundary::Periodic).build(&acc).unwrap();
        u.fill(|[row, column]| (row * column) as f64).unwrap();
        let [mut v, mut w] = [u.like().unwrap(), u.like().unwrap()];
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = 0.5 * (u[at - [1, 0]] + u[at]))).unwrap();
        }
        v.fill_ghosts().unwrap();
        for tile in TileIter::new(&v) {
            compute(&tile, (&mut w, &v), kernel!(|w, v, at| w[at] = v[at + [0, 1]] - v[at])).unwrap();
        }
        w.fill_ghosts().unwrap();
        // From the second fill on, who reads ghosts may do without.
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at + [0, 1]] - u[at - [0, 1]])).unwrap();
        }
        v.fill_ghosts().unwrap();
        for tile in TileIter::new(&v) {
            compute(&tile, (&mut w, &v), kernel!(|w, v, at| w[at] = v[at] + v[at - [1, 0]])).unwrap();
        }
        w.fill_ghosts().unwrap();
        let sum = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        acc.flush().unwrap();
        acc.sync().unwrap();
        let (streamed, stats) = (acc.streamed().len(), acc.stats());
        let found = (sum.get().unwrap().to_bits(), v.to_ndarray().unwrap(), w.to_ndarray().unwrap());
        (streamed, (stats.launches, stats.h2d_bytes, stats.d2h_bytes), found)
    };
    for regions in [[1, 1], [4, 1]] {
        let (arriving, in_core) = (run(1, regions), run(u64::MAX, regions));
        assert_eq!((arriving.0, in_core.0), (1, 0), "{regions:?}");
        assert_eq!(arriving.1, in_core.1, "launches, and bytes up and down, of {regions:?}");
        assert_eq!(arriving.2, in_core.2, "values of {regions:?}");
    }
}

/// Of work that waits together for arrays that come as a whole, one fails: so does what needs it, and nothing else.
#[test]
fn of_what_arrives_as_a_whole_each_fails_by_itself() {
    let acc = builder().stream_from(1u64).build().unwrap();
    let (u, mut bad) = plain(&acc);
    let [mut after, mut good] = [u.like().unwrap(), u.like().unwrap()];
    let zero = 0i64;
    let failing = line!() + 2;
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut bad, &u), kernel!(|bad, u, at| bad[at] = u[at] + (1 / zero) as f64)).unwrap();
    }
    add_one(&bad, &mut after, 64);
    add_one(&u, &mut good, 64);
    acc.flush().unwrap();
    let cell = GridBox::new([3, 5], [4, 6]);
    assert_eq!(good.read_box(cell).unwrap(), [16.0]);
    for failed in [&after, &bad] {
        let error = failed.read_box(cell).unwrap_err();
        assert!(error.to_string().contains(&format!("streamed.rs:{failing}:")), "{error}");
    }
    let all = acc.streamed();
    assert_eq!(all.iter().map(|report| (report.by, report.passes)).collect::<Vec<_>>(), [(StreamedBy::Arriving, 0)]);
    assert!(acc.sync().is_ok(), "both failures were told");
}

/// What was read from files and written to them, with a device behind and without one.
#[test]
fn arrays_in_files() {
    let folder = Folder::new();
    let device = builder().backed_by(&folder.0).memory_limit("96 KiB").build().unwrap();
    let host = TileAcc::builder().threads(2).device(Device::Cpu).backed_by(&folder.0).memory_limit("96 KiB");
    let long = std::time::Duration::from_secs(60);
    let host = host.patience(long).pause(long).build().unwrap();
    for acc in [device, host] {
        let (u, mut next) = plain(&acc);
        let before = acc.stats();
        let step = add_one(&u, &mut next, 64);
        acc.sync().unwrap();
        let (all, after) = (acc.streamed(), acc.stats());
        let report = all.last().unwrap_or_else(|| panic!("nothing streamed on {:?}", acc.device()));
        assert_eq!((report.by, report.sweeps, report.passes), (StreamedBy::Planes, 1, 1), "{report}");
        assert_eq!(report.recorded.map(|place| place.line()), [step; 2]);
        let in_files =
            (after.file_read_bytes - before.file_read_bytes, after.file_written_bytes - before.file_written_bytes);
        assert_eq!((report.file_read_bytes, report.file_written_bytes), in_files, "{report}");
        // Files are read and written in blocks of the disk.
        assert!(in_files.0 >= 64 * ROW && in_files.1 >= 64 * ROW, "{report}");
        said(report, &["bytes read from files", "bytes written to them", "host waits"]);
    }
}

/// On the CPU, arrays that are larger than its caches.
#[test]
fn blocks_that_fit_a_cache() {
    let acc = TileAcc::builder().threads(2).device(Device::Cpu).patience(std::time::Duration::from_secs(60));
    let acc = acc.pause(std::time::Duration::from_secs(60)).caches(64 << 10, 512 << 10).build().unwrap();
    // Both arrays together have a quarter more than the cache.
    let mut u = TileArray::<f64, 3>::builder([20, 64, 32]).build(&acc).unwrap();
    u.fill_value(1.0).unwrap();
    let mut next = u.like().unwrap();
    for _ in 0..2 {
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + 1.0)).unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let read = line!() + 1;
    assert_eq!(u.read_box(GridBox::new([3, 5, 7], [4, 6, 8])).unwrap(), [3.0]);
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.sweeps, report.passes), (StreamedBy::Blocks, 2, 1), "{report}");
    assert_eq!((report.h2d_bytes, report.d2h_bytes), (0, 0));
    said(report, &["by blocks that fit a cache", &format!("streamed.rs:{read}:"), "host waits"]);
}
