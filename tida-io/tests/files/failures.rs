//! Disks that fail, files that are damaged, and calls that do not go together.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use crate::support::Folder;
use tida::ErrorKind;
use tida::prelude::*;
use tida_io::{ArrayInfo, Error, Part, RegionSink, Snapshot, Snapshots, vtk, zarr};

fn array(acc: &TileAcc) -> TileArray<f64, 2> {
    TileArray::builder([16, 64]).regions([2, 1]).build(acc).unwrap()
}

/// A store of three snapshots of an array `u` that is `n` everywhere in snapshot `n`.
fn three(path: &Path, acc: &TileAcc) -> TileArray<f64, 2> {
    let mut u = array(acc);
    let mut snapshots = zarr::create(path).snapshot_every(1).unwrap();
    for step in 0..3 {
        u.fill_value(step as f64).unwrap();
        snapshots.step(step, step as f64, &[("u", &u)]).unwrap();
    }
    snapshots.finish().unwrap();
    u
}

/// Checks that the store has so many snapshots, and that they are whole.
fn holds(path: &Path, count: u64, acc: &TileAcc) {
    let store = zarr::open(path).unwrap();
    assert_eq!(store.snapshots().len() as u64, count);
    let mut u = array(acc);
    for index in 0..count {
        store.read(index, &mut [("u", &mut u)]).unwrap();
        assert_eq!(u.read_box(u.domain()).unwrap(), [index as f64; 16 * 64]);
    }
}

fn says(error: &Error, kind: ErrorKind, parts: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn a_failing_disk_loses_nothing_that_was_whole() {
    let (folder, acc) = (Folder::new("failing"), TileAcc::auto().unwrap());
    let path = folder.path("u.zarr");
    let mut u = three(&path, &acc);
    // Where the folder of the next snapshot belongs is a file.
    fs::write(path.join("u/c/3"), b"in the way").unwrap();
    let mut snapshots = zarr::append(&path).snapshot_every(1).unwrap();
    let (mut told, begun) = (None, std::time::Instant::now());
    for step in 3.. {
        assert!(begun.elapsed().as_secs() < 60, "the loop is not told while it runs");
        u.fill_value(step as f64).unwrap();
        if let Err(e) = snapshots.step(step, step as f64, &[("u", &u)]) {
            told = Some(e);
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let told = told.unwrap();
    says(&told, ErrorKind::Io, &["write", "u.zarr/u/c/3"]);
    let again = snapshots.step(1 << 40, 0.0, &[("u", &u)]).unwrap_err();
    assert_eq!(again.to_string(), told.to_string());
    assert!(snapshots.finish().is_err());
    holds(&path, 3, &acc);
    // It can be gone on with.
    fs::remove_file(path.join("u/c/3")).unwrap();
    let mut snapshots = zarr::append(&path).snapshot_every(1).unwrap();
    u.fill_value(3.0).unwrap();
    assert!(snapshots.step(3, 3.0, &[("u", &u)]).unwrap());
    snapshots.finish().unwrap();
    holds(&path, 4, &acc);
}

/// Set for the process whose files may not become large: the folder.
const LIMITED: &str = "TIDA_TEST_IO_LIMITED";

/// What that process does: its limit lets a small store be written, and no large one.
#[test]
fn writes_within_a_limit() {
    let Some(folder) = std::env::var_os(LIMITED) else { return };
    let (folder, acc) = (Path::new(&folder), TileAcc::auto().unwrap());
    let path = folder.join("u.zarr");
    let mut u = three(&path, &acc);
    let mut large = TileArray::<f64, 2>::builder([256, 1024]).build(&acc).unwrap();
    large.fill(|[j, i]| ((j * 1024 + i) as f64).sin()).unwrap();
    let e = zarr::create(folder.join("large.zarr")).save(&[("large", &large)]).unwrap_err();
    says(&e, ErrorKind::Io, &["write", "large"]);
    let list = folder.join("large.pvd");
    let mut images = vtk::create(&list).snapshot_every(1).unwrap();
    images.step(0, 0.0, &[("large", &large)]).unwrap();
    says(&images.finish().unwrap_err(), ErrorKind::Io, &["write", ".vti"]);
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("large.zarr")), "{names:?}");
    assert_eq!(fs::read_dir(folder.join("large")).unwrap().count(), 0);
    assert!(!fs::read_to_string(&list).unwrap().contains("DataSet "));
    u.fill_value(3.0).unwrap();
    let mut snapshots = zarr::append(&path).snapshot_every(1).unwrap();
    snapshots.step(3, 3.0, &[("u", &u)]).unwrap();
    snapshots.finish().unwrap();
    holds(&path, 4, &acc);
}

#[test]
fn files_that_may_not_grow_are_an_error() {
    let folder = Folder::new("limited");
    // 64 blocks of 1024 bytes; a signal that nobody handles would end the process.
    let script =
        format!("trap '' XFSZ; ulimit -f 64; exec '{}' writes_within", std::env::current_exe().unwrap().display());
    let output = Command::new("bash").arg("-c").arg(script).env(LIMITED, &folder.0).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

#[test]
fn damaged_stores_say_so() {
    let (folder, acc) = (Folder::new("damaged"), TileAcc::auto().unwrap());
    let path = folder.path("u.zarr");
    let mut u = three(&path, &acc);
    let read = |u: &mut TileArray<f64, 2>| zarr::open(&path).and_then(|store| store.read(1, &mut [("u", u)]));
    let chunk = path.join("u/c/1/1/0");
    let whole = fs::read(&chunk).unwrap();
    // Cut short, damaged, gone.
    fs::write(&chunk, &whole[..whole.len() / 2]).unwrap();
    says(&read(&mut u).unwrap_err(), ErrorKind::Format, &["damaged or cut short", "\"u\"", "from a copy"]);
    let mut damaged = whole.clone();
    let middle = damaged.len() - 6;
    damaged[middle] ^= 0x10;
    fs::write(&chunk, &damaged).unwrap();
    says(&read(&mut u).unwrap_err(), ErrorKind::Format, &["damaged or cut short"]);
    fs::remove_file(&chunk).unwrap();
    says(&read(&mut u).unwrap_err(), ErrorKind::Format, &["no file", "u/c/1/1/0", "another snapshot"]);
    fs::write(&chunk, &whole).unwrap();
    read(&mut u).unwrap();
    // The other snapshots are read all the same, and those that there are.
    let store = zarr::open(&path).unwrap();
    says(&store.read(3, &mut [("u", &mut u)]).unwrap_err(), ErrorKind::OutOfRange, &["3 snapshots", "number 3"]);
    says(&store.read(0, &mut [("v", &mut u)]).unwrap_err(), ErrorKind::Format, &["no array \"v\"", "step, time, u"]);
    let mut other = TileArray::<f32, 2>::builder([16, 64]).build(&acc).unwrap();
    let e = store.read(0, &mut [("u", &mut other)]).unwrap_err();
    says(&e, ErrorKind::Format, &["of float64", "not float32"]);
    let mut other = TileArray::<f64, 2>::builder([16, 65]).build(&acc).unwrap();
    let e = store.read(0, &mut [("u", &mut other)]).unwrap_err();
    says(&e, ErrorKind::Format, &["[3, 16, 64]", "[16, 65]"]);
    let mut other = TileArray::<[f64; 2], 2>::builder([16, 64]).build(&acc).unwrap();
    says(&store.read(0, &mut [("u", &mut other)]).unwrap_err(), ErrorKind::Format, &["[16, 64, 2]"]);
    says(&store.load(&mut [("u", &mut u)]).unwrap_err(), ErrorKind::Format, &["[3, 16, 64]"]);
    // Metadata.
    let root = path.join("zarr.json");
    let text = fs::read_to_string(&root).unwrap();
    fs::write(&root, &text[..text.len() / 2]).unwrap();
    says(&zarr::open(&path).unwrap_err(), ErrorKind::Format, &["zarr.json is no JSON"]);
    fs::write(&root, text.replace("\"zstd\"", "\"zstandard of another name\"")).unwrap();
    says(&read(&mut u).unwrap_err(), ErrorKind::Format, &["metadata of \"u\"", "zstandard"]);
    fs::write(&root, text.replace("\"version\": 1", "\"version\": 99")).unwrap();
    says(&zarr::open(&path).unwrap_err(), ErrorKind::Format, &["version", "99"]);
    fs::remove_file(&root).unwrap();
    says(&zarr::open(&path).unwrap_err(), ErrorKind::Io, &["no file", "zarr.json"]);
    says(&zarr::open(folder.path("none.zarr")).unwrap_err(), ErrorKind::Io, &["none.zarr"]);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let (folder, acc) = (Folder::new("together"), TileAcc::auto().unwrap());
    let path = folder.path("u.zarr");
    let mut u = three(&path, &acc);
    let v = TileArray::<f32, 2>::builder([16, 64]).build(&acc).unwrap();
    let refused = |writer: zarr::Writer, arrays: &[(&str, &dyn tida_io::Stored)]| {
        let mut snapshots = writer.snapshot_every(1).unwrap();
        snapshots.step(9, 9.0, arrays).unwrap_err()
    };
    says(&refused(zarr::create(&path), &[("u", &u)]), ErrorKind::Io, &["already", "zarr::append"]);
    says(&refused(zarr::append(&path), &[("u", &v)]), ErrorKind::Format, &["of float64", "not float32"]);
    says(&refused(zarr::append(&path), &[("v", &v)]), ErrorKind::Format, &["no array \"v\""]);
    says(&refused(zarr::append(folder.path("no.zarr")), &[("u", &u)]), ErrorKind::Io, &["no.zarr"]);
    let new = || zarr::create(folder.path("new.zarr"));
    says(&refused(new(), &[("a/b", &u)]), ErrorKind::Argument, &["a/b"]);
    says(&refused(new(), &[("u", &u), ("u", &v)]), ErrorKind::Argument, &["two arrays"]);
    says(&refused(new(), &[]), ErrorKind::Argument, &["no arrays"]);
    says(&refused(new().chunks(&[3, 8]).shards(&[8, 16]), &[("u", &u)]), ErrorKind::Argument, &["shards of [8, 16]"]);
    says(&refused(new().chunks(&[0, 8]), &[("u", &u)]), ErrorKind::Argument, &["extent of 0"]);
    assert!(new().snapshot_every(0).is_err());
    let mut w =
        TileArray::<f64, 2>::builder([16, 64]).centering([Centering::Face, Centering::Cell]).build(&acc).unwrap();
    w.fill_value(0.0).unwrap();
    let mut images = vtk::create(folder.path("w.pvd")).snapshot_every(1).unwrap();
    says(&images.step(0, 0.0, &[("w", &w)]).unwrap_err(), ErrorKind::Argument, &["face-centred on some"]);

    // Two programs, or two parts of one; and other arrays in the middle.
    let mut first = zarr::append(&path).snapshot_every(1).unwrap();
    u.fill_value(3.0).unwrap();
    first.step(3, 3.0, &[("u", &u)]).unwrap();
    says(&refused(zarr::append(&path), &[("u", &u)]), ErrorKind::Io, &["another program"]);
    let e = first.step(4, 4.0, &[("u", &u), ("v", &v)]).unwrap_err();
    says(&e, ErrorKind::Argument, &["other arrays", "u [16, 64], v [16, 64] instead of u [16, 64]"]);
    // It goes on with its own.
    u.fill_value(4.0).unwrap();
    first.step(4, 4.0, &[("u", &u)]).unwrap();
    first.finish().unwrap();
    holds(&path, 5, &acc);
}

#[test]
fn failed_work_makes_no_snapshot() {
    let (folder, acc) = (Folder::new("failed"), TileAcc::auto().unwrap());
    let path = folder.path("u.zarr");
    let mut u = TileArray::<i64, 1>::builder([64]).build(&acc).unwrap();
    let mut snapshots = zarr::create(&path).snapshot_every(1).unwrap();
    snapshots.step(0, 0.0, &[("u", &u)]).unwrap();
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 100 / (at[0] - 40))).unwrap();
    }
    snapshots.step(1, 1.0, &[("u", &u)]).unwrap();
    let e = snapshots.finish().unwrap_err();
    says(&e, ErrorKind::Division, &["kernel"]);
    assert_eq!(zarr::open(&path).unwrap().snapshots().len(), 1);
    // It was told.
    acc.sync().unwrap();
}

/// Counts the bytes that wait.
struct Slow {
    part: usize,
    /// Snapshots that count.
    committed: AtomicU64,
    /// Calls of `write` that are under way, of those of each snapshot that have returned.
    writing: AtomicUsize,
    written: [AtomicUsize; 5],
    seen: std::sync::mpsc::Sender<(u64, usize)>,
}

impl RegionSink for Slow {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> tida_io::Result<Vec<Vec<usize>>> {
        Ok(arrays.iter().map(|array| vec![self.part, array.shape[1]]).collect())
    }

    fn last(&self) -> Option<Snapshot> {
        None
    }

    fn write(&self, snapshot: &Snapshot, part: &Part) -> tida_io::Result<()> {
        assert!(self.writing.fetch_add(1, Ordering::SeqCst) < 2, "more parts than there are threads");
        std::thread::sleep(std::time::Duration::from_millis(2));
        // Parts of earlier snapshots are taken before what overwrites them.
        let values = part.fields[0].chunks_exact(8).map(|value| f64::from_ne_bytes(value.try_into().unwrap()));
        assert!(values.into_iter().all(|value| value == snapshot.step as f64));
        self.seen.send((snapshot.index, part.cells.count())).unwrap();
        self.written[snapshot.index as usize].fetch_add(1, Ordering::SeqCst);
        self.writing.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn commit(&self, snapshot: &Snapshot) -> tida_io::Result<()> {
        assert_eq!(self.committed.fetch_add(1, Ordering::SeqCst), snapshot.index);
        assert_eq!(self.written[snapshot.index as usize].load(Ordering::SeqCst), 16_usize.div_ceil(self.part));
        Ok(())
    }

    fn abandon(&self, _: &Snapshot) {}
}

#[test]
fn sinks_get_each_snapshot_as_it_was_within_the_budget() {
    let acc = TileAcc::auto().unwrap();
    let (seen, parts) = std::sync::mpsc::channel();
    let (committed, writing, written) = Default::default();
    let sink = Slow { part: 3, committed, writing, written, seen };
    // A budget of two parts.
    let mut snapshots = Snapshots::every(2, sink).unwrap().budget(2 * 3 * 64 * 8).threads(2);
    let mut u = array(&acc);
    for step in 0..10_u64 {
        let value = step as f64;
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = value)).unwrap();
        }
        snapshots.step(step, value, &[("u", &u)]).unwrap();
        // All but two of the parts are written.
        let written = parts.try_iter().count();
        assert!(step % 2 == 1 || step == 0 || written >= 1, "step {step}");
    }
    assert_eq!(snapshots.finish().unwrap().map(|last| last.step), Some(8));
}

#[test]
fn a_panic_of_a_sink_is_an_error() {
    struct Panics;
    impl RegionSink for Panics {
        fn begin(&mut self, arrays: &[ArrayInfo]) -> tida_io::Result<Vec<Vec<usize>>> {
            Ok(arrays.iter().map(|array| array.region.clone()).collect())
        }
        fn last(&self) -> Option<Snapshot> {
            None
        }
        fn write(&self, _: &Snapshot, _: &Part) -> tida_io::Result<()> {
            std::panic::panic_any("on purpose")
        }
        fn commit(&self, _: &Snapshot) -> tida_io::Result<()> {
            Ok(())
        }
        fn abandon(&self, _: &Snapshot) {}
    }
    let acc = TileAcc::auto().unwrap();
    let u = array(&acc);
    let mut snapshots = Snapshots::every(1, Panics).unwrap();
    snapshots.step(0, 0.0, &[("u", &u)]).unwrap();
    says(&snapshots.finish().unwrap_err(), ErrorKind::Panic, &["panicked: on purpose"]);
}

/// Lets parts be written only once so many threads write at the same time; then one of them fails.
struct Meets {
    threads: usize,
    here: Mutex<usize>,
    come: Condvar,
    abandoned: std::sync::mpsc::Sender<u64>,
}

impl RegionSink for Meets {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> tida_io::Result<Vec<Vec<usize>>> {
        Ok(arrays.iter().map(|array| vec![1, array.shape[1]]).collect())
    }

    fn last(&self) -> Option<Snapshot> {
        None
    }

    fn write(&self, _: &Snapshot, part: &Part) -> tida_io::Result<()> {
        let mut here = self.here.lock().unwrap();
        *here += 1;
        self.come.notify_all();
        let wait = std::time::Duration::from_secs(60);
        let (here, waited) = self.come.wait_timeout_while(here, wait, |here| *here < self.threads).unwrap();
        assert!(!waited.timed_out(), "{here} threads write, and not {}", self.threads);
        match part.cells.start[0] {
            2 => Err(Error::io("write", std::io::ErrorKind::StorageFull.into())),
            _ => Ok(()),
        }
    }

    fn commit(&self, _: &Snapshot) -> tida_io::Result<()> {
        panic!("a snapshot counts of which a part was not written")
    }

    fn abandon(&self, snapshot: &Snapshot) {
        self.abandoned.send(snapshot.index).unwrap();
    }
}

#[test]
fn several_threads_write_and_one_failure_ends_all() {
    let acc = TileAcc::auto().unwrap();
    let u = array(&acc);
    let (abandoned, told) = std::sync::mpsc::channel();
    let sink = Meets { threads: 3, here: Mutex::new(0), come: Condvar::new(), abandoned };
    let mut snapshots = Snapshots::every(1, sink).unwrap().threads(3);
    let failed = (0..).find_map(|step| snapshots.step(step, 0.0, &[("u", &u)]).err()).unwrap();
    says(&failed, ErrorKind::Io, &["write"]);
    assert!(snapshots.finish().is_err());
    let told: Vec<u64> = told.iter().collect();
    assert!(told.iter().copied().eq(0..told.len() as u64) && !told.is_empty(), "{told:?}");
}

/// Paths are for people, wherever the store lies.
#[test]
fn relative_paths_do() {
    let (folder, acc) = (Folder::new("relative"), TileAcc::auto().unwrap());
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let path = up.join(folder.0.strip_prefix("/").unwrap()).join("u.zarr");
    three(&path, &acc);
    holds(&path, 3, &acc);
}
