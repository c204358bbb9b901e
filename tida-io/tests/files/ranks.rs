//! Files of several ranks, which are threads here: the bits of one process, on any number of ranks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use crate::support::{Arrays, Folder};
use tida::ErrorKind;
use tida::acc::FakeRank;
use tida::prelude::*;
#[cfg(feature = "netcdf")]
use tida_io::netcdf;
use tida_io::{ArrayInfo, Part, RegionSink, Snapshot, Snapshots, vtk, zarr};

/// Runs on so many ranks of so many places each; gives what each gives.
fn on_ranks<R: Send>(
    (ranks, kind): (usize, &str),
    seed: u64,
    run: impl Fn(&TileAcc) -> tida_io::Result<R> + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let of = |rank: FakeRank| {
            let run = &run;
            scope.spawn(move || {
                let acc = TileAcc::builder().threads(1).devices([kind]).fake_ranks(rank).build().unwrap();
                run(&acc).unwrap()
            })
        };
        let threads: Vec<_> = FakeRank::all(ranks, seed, 12).into_iter().map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn alone() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).ranks(tida::Ranks::Off).build().unwrap()
}

/// Ways to cut a store into files: by regions, into chunks that ranks share, into shards.
fn ways(path: &Path) -> [zarr::Writer; 4] {
    let new = || zarr::create(path);
    [new(), new().unpacked().chunks(&[5, 68]), new().chunks(&[23, 60]), new().chunks(&[4, 34]).shards(&[12, 68])]
}

const STEPS: u64 = 3;

/// Takes a snapshot of every second step.
fn steps(acc: &TileAcc, mut snapshots: Snapshots, from: u64) -> tida_io::Result<u64> {
    let mut arrays = Arrays::new(acc, [3, 2])?;
    arrays.fill()?;
    for step in 0..from + STEPS {
        if step >= from {
            snapshots.step(step, step as f64 * 0.5, &arrays.list())?;
        }
        arrays.step()?;
    }
    Ok(snapshots.finish()?.unwrap().index)
}

/// The bits of a snapshot.
fn read(acc: &TileAcc, path: &Path, snapshot: u64) -> tida_io::Result<String> {
    let mut arrays = Arrays::new(acc, [2, 1])?;
    zarr::open(path)?.read(snapshot, &mut arrays.list_mut())?;
    // Ghosts are old now, on each rank.
    arrays.step()?;
    Ok(arrays.bits()?)
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true => all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes))),
            false => drop(all.insert(name, std::fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn three_ranks_write_a_store_that_others_read_and_go_on_with() {
    let folder = Folder::new("ranks");
    for way in 0..4 {
        let at = |name: &str| folder.path(&format!("{name}-{way}.zarr"));
        let (one, three) = (at("one"), at("three"));
        let writer = |path: &Path| ways(path).into_iter().nth(way).unwrap().snapshot_every(2).unwrap().budget(60_000);
        assert_eq!(steps(&alone(), writer(&one), 0).unwrap(), 1);
        let kind = if way == 1 { "sim:1" } else { "cpu:1" };
        assert_eq!(on_ranks((3, kind), way as u64, |acc| steps(acc, writer(&three), 0)), [1, 1, 1]);
        assert!(files(&one) == files(&three), "way {way}: other files than those of one process");
        if way > 1 {
            continue;
        }
        let expected = read(&alone(), &one, 1).unwrap();
        for bits in on_ranks((5, "cpu:1"), 4, |acc| read(acc, &three, 1)) {
            assert!(bits == expected, "way {way}: five ranks read other bits");
        }
        assert!(read(&alone(), &three, 1).unwrap() == expected, "way {way}: one rank reads other bits");
        // Two ranks with two places each go on with it.
        let more = |path: &Path| zarr::append(path).snapshot_every(2).unwrap();
        steps(&alone(), more(&one), 4).unwrap();
        assert_eq!(on_ranks((2, "cpu:2"), 5, |acc| steps(acc, more(&three), 4)), [3, 3]);
        assert!(files(&one) == files(&three), "way {way}: other files after more snapshots");
    }
}

#[test]
fn one_state_and_boxes_of_it() {
    let folder = Folder::new("ranks-state");
    let path = folder.path("state.zarr");
    let save = |acc: &TileAcc| {
        let mut arrays = Arrays::new(acc, [3, 2])?;
        arrays.fill()?;
        zarr::create(&path).chunks(&[7, 136]).save(&arrays.list())
    };
    on_ranks((3, "cpu:1"), 1, save);
    // What is there is there for all.
    for e in on_ranks((3, "cpu:1"), 2, |acc| Ok(save(acc).unwrap_err())) {
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.found().contains("something is there already"), "{e}");
    }
    let read = |acc: &TileAcc| {
        let mut arrays = Arrays::new(acc, [1, 1])?;
        let store = zarr::open(&path)?;
        store.read_box(None, ("u", &mut arrays.u), &[5, 3], &[11, 40])?;
        let e = store.load(&mut [("missing", &mut arrays.wave)]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Format);
        Ok(arrays.bits()?)
    };
    let expected = read(&alone()).unwrap();
    for bits in on_ranks((5, "cpu:1"), 3, read) {
        assert!(bits == expected);
    }
}

#[test]
fn images_are_those_of_one_process() {
    let folder = Folder::new("ranks-vtk");
    let write = |acc: &TileAcc, name: &str| {
        let mut u = TileArray::<f64, 3>::builder([24, 8, 64]).regions([6, 1, 1]).build(acc)?;
        let mut images = vtk::create(folder.path(name).join("u.pvd")).snapshot_every(1)?;
        for step in 0..3 {
            u.fill(|[k, j, i]| (k * 1000 + j * 100 + i) as f64 + step as f64)?;
            images.step(step, step as f64, &[("u", &u)])?;
        }
        images.finish()
    };
    for name in ["one", "three"] {
        std::fs::create_dir_all(folder.path(name)).unwrap();
    }
    write(&alone(), "one").unwrap();
    on_ranks((3, "cpu:1"), 1, |acc| write(acc, "three"));
    let (one, three) = (files(&folder.path("one")), files(&folder.path("three")));
    assert_eq!(one.len(), 4);
    assert!(one == three, "{:?} and {:?}", one.keys(), three.keys());
}

#[cfg(feature = "netcdf")]
#[test]
fn the_first_rank_writes_netcdf() {
    let folder = Folder::new("ranks-netcdf");
    let write = |acc: &TileAcc| steps(acc, netcdf::create(folder.path("series")).snapshot_every(2)?, 0);
    let read = |acc: &TileAcc| {
        let mut arrays = Arrays::new(acc, [1, 1])?;
        let series = netcdf::open(folder.path("series"))?;
        series.read(1, &mut arrays.list_mut()[..1])?;
        Ok(arrays.u.read_box(arrays.u.domain())?)
    };
    on_ranks((3, "cpu:1"), 1, write);
    let mut arrays = Arrays::new(&alone(), [1, 1]).unwrap();
    arrays.fill().unwrap();
    (0..2).for_each(|_| arrays.step().unwrap());
    let expected = arrays.u.read_box(arrays.u.domain()).unwrap();
    for u in on_ranks((5, "cpu:1"), 1, read).into_iter().chain([read(&alone()).unwrap()]) {
        assert_eq!(u, expected);
    }
}

/// Chunks of several places of one process.
#[test]
fn chunks_that_places_share() {
    let folder = Folder::new("ranks-places");
    let write = |acc: &TileAcc, name: &str| {
        let snapshots = zarr::create(folder.path(name)).unpacked().chunks(&[9, 50]).snapshot_every(1).unwrap();
        steps(acc, snapshots.budget(20_000), 0).unwrap()
    };
    write(&alone(), "one");
    for kind in ["cpu:3", "sim:2"] {
        write(&TileAcc::builder().threads(1).devices([kind]).build().unwrap(), kind);
        assert!(files(&folder.path("one")) == files(&folder.path(kind)), "{kind}");
    }
}

/// Notes what comes, on which rank; one rank's disk fails at a step.
struct Fails<'a> {
    at: &'a Mutex<Vec<(usize, u64)>>,
    counted: &'a Mutex<Vec<u64>>,
    rank: usize,
    fails: Option<usize>,
    all_write: bool,
}

impl RegionSink for Fails<'static> {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> tida_io::Result<Vec<Vec<usize>>> {
        Ok(arrays.iter().map(|array| vec![6, array.shape[1]]).collect())
    }

    fn last(&self) -> Option<Snapshot> {
        None
    }

    fn write(&self, snapshot: &Snapshot, part: &Part) -> tida_io::Result<()> {
        let wanted = |n: usize| ((part.cells.start[0] * 64 + n) as f32).to_ne_bytes();
        for (n, value) in part.fields[0].chunks_exact(4).enumerate() {
            assert_eq!(value, wanted(n));
        }
        if self.fails == Some(self.rank) && snapshot.step == 2 {
            return Err(tida_io::Error::io("write a part", std::io::ErrorKind::StorageFull.into()));
        }
        self.at.lock().unwrap().push((self.rank, snapshot.step));
        Ok(())
    }

    fn commit(&self, snapshot: &Snapshot) -> tida_io::Result<()> {
        assert_eq!(self.rank, 0);
        let whole = self.at.lock().unwrap().iter().filter(|(_, step)| *step == snapshot.step).count();
        assert_eq!(whole, 4, "parts of step {}", snapshot.step);
        self.counted.lock().unwrap().push(snapshot.step);
        Ok(())
    }

    fn abandon(&self, _: &Snapshot) {
        assert_eq!(self.rank, 0);
    }

    fn shared(&self) -> Option<String> {
        self.all_write.then(|| "told".into())
    }

    fn join(&mut self, arrays: &[ArrayInfo], told: &str) -> tida_io::Result<()> {
        assert_eq!((arrays.len(), told), (1, "told"));
        Ok(())
    }
}

/// Takes six snapshots by such a sink; gives what all ranks say, who wrote, and what counts.
#[allow(clippy::type_complexity)]
fn fails(fails: Option<usize>, all_write: bool) -> (Vec<Result<u64, String>>, Vec<(usize, u64)>, Vec<u64>) {
    let at: &'static Mutex<_> = Box::leak(Box::default());
    let counted: &'static Mutex<_> = Box::leak(Box::default());
    let said = on_ranks((3, "cpu:1"), 7, |acc| {
        let mut u = TileArray::<f32, 2>::builder([24, 64]).build(acc)?;
        u.fill(|[j, i]| (j * 64 + i) as f32)?;
        let sink = Fails { at, counted, rank: acc.rank(), fails, all_write };
        let mut snapshots = Snapshots::every(1, sink)?.budget(3000);
        for step in 0..6 {
            if let Err(e) = snapshots.step(step, 0.0, &[("u", &u)]) {
                assert_eq!(snapshots.step(step + 1, 0.0, &[("u", &u)]).unwrap_err().to_string(), e.to_string());
                return Ok(Err(e.to_string()));
            }
        }
        Ok(snapshots.finish().map(|last| last.unwrap().step).map_err(|e| e.to_string()))
    });
    let (mut at, counted) = (at.lock().unwrap().clone(), counted.lock().unwrap().clone());
    at.sort_unstable();
    (said, at, counted)
}

#[test]
fn a_failure_of_one_rank_is_that_of_all() {
    for rank in 0..3 {
        let (said, _, counted) = fails(Some(rank), true);
        assert_eq!(counted, [0, 1], "rank {rank} fails");
        for said in said {
            let e = said.unwrap_err();
            assert!(e.contains("no space left"), "{e}");
        }
    }
}

#[test]
fn each_rank_writes_what_it_has_or_the_first_one_all() {
    let (said, at, counted) = fails(None, true);
    assert!(said.iter().all(|said| *said == Ok(5)) && counted == [0, 1, 2, 3, 4, 5]);
    // Parts of six rows, of which ranks have 8 each: the two in the middle lie on two ranks.
    let of = |rank: usize| at.iter().filter(|(at, _)| *at == rank).count();
    assert_eq!([of(0), of(1), of(2)], [6, 12, 6]);
    let (said, at, counted) = fails(None, false);
    assert!(said.iter().all(|said| *said == Ok(5)) && counted == [0, 1, 2, 3, 4, 5]);
    assert!(at.len() == 24 && at.iter().all(|(rank, _)| *rank == 0));
}

#[test]
fn arrays_of_one_rank_beside_those_of_all_are_refused() {
    let folder = Folder::new("ranks-mixed");
    let refused = on_ranks((2, "cpu:1"), 1, |acc| {
        let u = TileArray::<f32, 1>::builder([64]).build(acc)?;
        let own = TileArray::<f32, 1>::builder([64]).build(&acc.places()[0])?;
        let mut snapshots = zarr::create(folder.path("mixed.zarr")).snapshot_every(1)?;
        Ok(snapshots.step(0, 0.0, &[("u", &u), ("own", &own)]).unwrap_err())
    });
    for e in refused {
        assert_eq!(e.kind(), ErrorKind::Ranks);
        assert!(e.found().contains("arrays on 2 ranks beside arrays on 1"), "{e}");
    }
}
