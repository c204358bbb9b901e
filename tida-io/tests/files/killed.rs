//! Programs that are killed while they write, and started again: what counts is whole.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, python};
use tida::prelude::*;
#[cfg(feature = "netcdf")]
use tida_io::netcdf;
use tida_io::{vtk, zarr};

/// Set for the process that writes: the folder.
const WRITES: &str = "TIDA_TEST_IO_WRITES";

const SHAPE: [usize; 3] = [24, 20, 64];

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Pair {
    a: f64,
    b: u32,
}

fn value([k, j, i]: [usize; 3], step: u64) -> f64 {
    (k * 10_000 + j * 100 + i) as f64 + step as f64 * 1e6
}

/// What the process does: goes on with its files, until it is killed.
#[test]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(WRITES) else { return };
    let folder = Path::new(&folder);
    let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let mut u = TileArray::<f64, 3>::builder(SHAPE).regions([3, 2, 1]).build(&acc).unwrap();
    let mut pair = TileArray::<Pair, 3>::builder(SHAPE).regions([3, 2, 1]).build(&acc).unwrap();
    let (store, list) = (folder.join("killed.zarr"), folder.join("killed.pvd"));
    let writer = if store.exists() { zarr::append(&store) } else { zarr::create(&store).shards_of_regions() };
    let mut snapshots = writer.snapshot_every(1).unwrap().budget(400_000);
    let writer = if list.exists() { vtk::append(&list) } else { vtk::create(&list) };
    let mut images = writer.snapshot_every(2).unwrap();
    #[cfg(feature = "netcdf")]
    let mut files = {
        let series = folder.join("killed-nc");
        let writer = if series.exists() { netcdf::append(&series) } else { netcdf::create(&series) };
        writer.snapshot_every(2).unwrap()
    };
    let first = if store.exists() { zarr::open(&store).unwrap().snapshots().len() as u64 } else { 0 };
    for step in first.. {
        u.fill(|at| value(at, step)).unwrap();
        for tile in pair.tiles() {
            let n = step as u32;
            compute(
                &tile,
                (&mut pair, &u),
                kernel!(|pair, u, at| {
                    pair[at].a = u[at] * 0.5;
                    pair[at].b = n + 7;
                }),
            )
            .unwrap();
        }
        assert!(snapshots.step(step, step as f64, &[("u", &u), ("pair", &pair)]).unwrap());
        images.step(step, step as f64, &[("u", &u)]).unwrap();
        #[cfg(feature = "netcdf")]
        files.step(step, step as f64, &[("u", &u), ("pair", &pair)]).unwrap();
    }
}

fn start(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.arg("writes_until_it_is_killed").env(WRITES, folder).stdout(Stdio::null()).stderr(Stdio::inherit());
    child.spawn().unwrap()
}

/// Checks that all that counts is whole, of the store from this snapshot on; gives how many snapshots do.
fn check(folder: &Path, from: usize) -> usize {
    let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let store = folder.join("killed.zarr");
    let count = if store.exists() {
        let store = zarr::open(&store).unwrap();
        let mut u = TileArray::<f64, 3>::builder(SHAPE).build(&acc).unwrap();
        let mut pair = TileArray::<Pair, 3>::builder(SHAPE).build(&acc).unwrap();
        for (index, snapshot) in store.snapshots().iter().enumerate().skip(from) {
            assert_eq!((snapshot.index, snapshot.step, snapshot.time), (index as u64, index as u64, index as f64));
            store.read(snapshot.index, &mut [("u", &mut u), ("pair", &mut pair)]).unwrap();
            check_values(&u, &pair, snapshot.step);
        }
        store.snapshots().len()
    } else {
        0
    };
    let list = folder.join("killed.pvd");
    if list.exists() {
        let text = std::fs::read_to_string(&list).unwrap();
        assert!(text.ends_with("</VTKFile>\n"), "{text}");
        let files = text.split("file=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        for file in files {
            let step: u64 = file.rsplit('/').next().unwrap().strip_suffix(".vti").unwrap().parse().unwrap();
            let image = std::fs::read(folder.join(file)).unwrap();
            let end = b"\n  </AppendedData>\n</VTKFile>\n";
            assert!(image.ends_with(end), "{file}");
            let values = &image[..image.len() - end.len()];
            let values = &values[values.len() - SHAPE.iter().product::<usize>() * 8..];
            let (first, last) = (&values[..8], &values[values.len() - 8..]);
            assert_eq!(f64::from_ne_bytes(first.try_into().unwrap()), value([0; 3], step));
            assert_eq!(f64::from_ne_bytes(last.try_into().unwrap()), value(SHAPE.map(|n| n - 1), step));
        }
    }
    count
}

fn check_values(u: &TileArray<f64, 3>, pair: &TileArray<Pair, 3>, step: u64) {
    let (u, pair) = (u.to_ndarray().unwrap(), pair.to_ndarray().unwrap());
    for ((k, j, i), found) in u.indexed_iter() {
        let wanted = value([k, j, i], step);
        assert_eq!(*found, wanted);
        assert_eq!(pair[[k, j, i]], Pair { a: wanted * 0.5, b: step as u32 + 7 });
    }
}

/// Checks all files of NetCDF; gives how many there are.
#[cfg(feature = "netcdf")]
fn check_netcdf(folder: &Path) -> usize {
    let path = folder.join("killed-nc");
    if !path.exists() {
        return 0;
    }
    let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let (mut u, mut pair) = (
        TileArray::<f64, 3>::builder(SHAPE).build(&acc).unwrap(),
        TileArray::<Pair, 3>::builder(SHAPE).build(&acc).unwrap(),
    );
    let series = netcdf::open(&path).unwrap();
    for snapshot in series.snapshots() {
        assert_eq!((snapshot.step % 2, snapshot.time), (0, snapshot.step as f64));
        series.read(snapshot.index, &mut [("u", &mut u), ("pair", &mut pair)]).unwrap();
        check_values(&u, &pair, snapshot.step);
    }
    series.snapshots().count()
}

fn killed(times: u64) {
    let folder = Folder::new(&format!("killed-{times}"));
    let (mut random, mut counts) = (0x9e37_79b9_7f4a_7c15_u64, Vec::new());
    #[cfg(feature = "netcdf")]
    let mut files = 0;
    for _ in 0..times {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = start(&folder.0);
        std::thread::sleep(Duration::from_micros(30_000 + random % 400_000));
        assert!(child.try_wait().unwrap().is_none(), "the process has ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        let known = counts.last().copied().unwrap_or(0_usize);
        counts.push(check(&folder.0, known.saturating_sub(2)));
        assert!(counts.is_sorted(), "snapshots that counted are gone: {counts:?}");
        #[cfg(feature = "netcdf")]
        {
            let now = check_netcdf(&folder.0);
            assert!(now >= files, "files that counted are gone: {now} of {files}");
            files = now;
        }
    }
    #[cfg(feature = "netcdf")]
    println!("files of NetCDF in the end: {files}");
    // Given time it writes some.
    let mut child = start(&folder.0);
    let (begun, before) = (Instant::now(), counts.last().copied().unwrap_or(0));
    let there = || zarr::open(folder.path("killed.zarr")).map_or(0, |store| store.snapshots().len());
    while there() < before + 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no snapshots in a minute");
        assert!(child.try_wait().unwrap().is_none(), "the process has ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(check(&folder.0, 0) >= before + 3);
    python("killed.py", &folder.0);
    // What killed programs leave goes with the next: there is no more than of the last two.
    let images = std::fs::read_dir(folder.path("killed")).unwrap();
    let parts = images.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part"));
    assert!(parts.count() <= 4);
    println!("snapshots that counted after each of {times} kills: {counts:?}");
}

#[test]
fn killed_programs_leave_whole_snapshots_alone() {
    killed(4);
}

/// `cargo test -p tida-io --test files -- --ignored --nocapture`
#[test]
#[ignore = "takes a minute"]
fn killed_fifty_times() {
    killed(50);
}
