//! Stores that tida writes and reads.

mod support;

use support::{Arrays, Folder, SHAPE};
use tida::ErrorKind;
use tida::prelude::*;
use tida_io::zarr::{self, Writer};

/// Ways to cut and pack.
fn ways(path: &std::path::Path) -> Vec<(&'static str, Writer)> {
    let new = || zarr::create(path);
    vec![
        ("regions", new()),
        ("parts of regions", new().chunks(&[8, 50])),
        ("chunks of several regions", new().chunks(&[10, 70]).unpacked()),
        ("shards", new().chunks(&[4, 16]).shards(&[8, 32]).zstd(3)),
        ("shards of regions", new().chunks(&[2, 6]).shards_of_regions()),
    ]
}

#[test]
fn snapshots_come_back_on_any_cut() {
    let folder = Folder::new("back");
    let acc = TileAcc::auto().unwrap();
    for (name, _) in ways(&folder.path("none")) {
        let path = folder.path(&name.replace(' ', "-"));
        let writer = ways(&path).into_iter().find(|(n, _)| *n == name).unwrap().1;
        let regions = if name == "shards of regions" { [1, 1] } else { [3, 2] };
        let mut arrays = Arrays::new(&acc, regions).unwrap();
        arrays.fill().unwrap();
        let shards = name == "shards of regions";
        let mut snapshots = (if shards { writer.chunks(&[23, 17]) } else { writer }).snapshot_every(2).unwrap();
        let mut wanted = Vec::new();
        for step in 0..5 {
            if snapshots.step(step, step as f64 * 0.5, &arrays.list()).unwrap() {
                wanted.push(arrays.bits().unwrap());
            }
            arrays.step().unwrap();
        }
        let last = snapshots.finish().unwrap().unwrap();
        assert_eq!((last.index, last.step, last.time), (2, 4, 2.0), "{name}");

        let store = zarr::open(&path).unwrap();
        assert_eq!(store.last(), Some(last), "{name}");
        for regions in [[1, 1], [2, 2]] {
            let mut again = Arrays::new(&acc, regions).unwrap();
            for (index, wanted) in wanted.iter().enumerate() {
                store.read(index as u64, &mut again.list_mut()).unwrap();
                assert!(again.bits().unwrap() == *wanted, "{name}, snapshot {index}, regions {regions:?}");
            }
        }
    }
}

#[test]
fn one_state_comes_back() {
    let folder = Folder::new("state");
    let acc = TileAcc::auto().unwrap();
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    let path = folder.path("state.zarr");
    zarr::create(&path).spacing(&[0.5, 0.25]).origin(&[1.0, 0.0]).save(&arrays.list()).unwrap();
    let store = zarr::open(&path).unwrap();
    let mut again = Arrays::new(&acc, [1, 1]).unwrap();
    store.load(&mut again.list_mut()).unwrap();
    assert_eq!(again.bits().unwrap(), arrays.bits().unwrap());
    assert_eq!((store.last(), store.shape("u").unwrap()), (None, SHAPE.to_vec()));
    let mut y = TileArray::<f64, 1>::builder([SHAPE[0]]).build(&acc).unwrap();
    store.load(&mut [("y", &mut y)]).unwrap();
    assert_eq!(y.read_box(GridBox::new([0], [2])).unwrap(), [1.25, 1.75]);
    // Nothing but the store is left, and it is not replaced.
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    let e = zarr::create(&path).save(&arrays.list()).unwrap_err();
    assert!(e.kind() == ErrorKind::Io && e.found().contains("already"), "{e}");
}

#[test]
fn writing_is_in_the_timeline() {
    let folder = Folder::new("timeline");
    let acc = TileAcc::builder().timeline(true).build().unwrap();
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    let mut snapshots = zarr::create(folder.path("u.zarr")).snapshot_every(1).unwrap();
    for step in 0..3 {
        snapshots.step(step, step as f64, &arrays.list()).unwrap();
        arrays.step().unwrap();
    }
    snapshots.finish().unwrap();
    let timeline = acc.timeline().unwrap();
    let files = || timeline.spans().iter().filter(|span| span.kind == tida::acc::SpanKind::Files);
    for step in 0..3 {
        assert_eq!(files().filter(|span| span.name == format!("commit of step {step}")).count(), 1);
        assert!(files().any(|span| span.name == format!("snapshot of step {step}")));
    }
    let busy = timeline.busy().unwrap();
    assert!(busy.files > 0.0 && busy.files_overlap.is_some(), "{busy:?}");
}

#[test]
fn a_box_is_read_alone() {
    let folder = Folder::new("box");
    let acc = TileAcc::auto().unwrap();
    let mut u = TileArray::<f32, 2>::builder([20, 30]).regions([2, 1]).build(&acc).unwrap();
    u.fill(|[j, i]| (100 * j + i) as f32).unwrap();
    let path = folder.path("u.zarr");
    zarr::create(&path).chunks(&[7, 7]).save(&[("u", &u)]).unwrap();
    let store = zarr::open(&path).unwrap();
    let mut v = TileArray::<f32, 2>::builder([20, 30]).build(&acc).unwrap();
    v.fill_value(-1.0).unwrap();
    store.read_box(None, ("u", &mut v), &[6, 13], &[2, 9]).unwrap();
    let all = v.read_box(v.domain()).unwrap();
    for (n, value) in all.iter().enumerate() {
        let (j, i) = (n / 30, n % 30);
        let wanted = if (6..8).contains(&j) && (13..22).contains(&i) { (100 * j + i) as f32 } else { -1.0 };
        assert_eq!(*value, wanted, "{j} {i}");
    }
    let e = store.read_box(None, ("u", &mut v), &[19, 0], &[2, 30]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutOfRange);
}

#[test]
fn a_program_goes_on_with_its_store() {
    let folder = Folder::new("on");
    let acc = TileAcc::auto().unwrap();
    let path = folder.path("u.zarr");
    let mut u = TileArray::<f64, 1>::builder([300]).regions([4]).build(&acc).unwrap();
    for last in [3, 7] {
        let fresh = !path.exists();
        let writer = if fresh { zarr::create(&path) } else { zarr::append(&path) };
        let mut snapshots = writer.snapshot_every(1).unwrap();
        for step in 0..=last {
            u.fill_value(step as f64).unwrap();
            let took = snapshots.step(step, step as f64, &[("u", &u)]).unwrap();
            assert_eq!(took, fresh || step > 3, "step {step}");
        }
        snapshots.finish().unwrap();
    }
    let store = zarr::open(&path).unwrap();
    let steps: Vec<u64> = store.snapshots().iter().map(|snapshot| snapshot.step).collect();
    assert_eq!(steps, (0..=7).collect::<Vec<_>>());
    for step in steps {
        store.read(step, &mut [("u", &mut u)]).unwrap();
        assert_eq!(u.read_box(u.domain()).unwrap(), [step as f64; 300]);
    }
}

/// Steps of `u` with a snapshot after each third, on an accelerator; gives the bits of the snapshots.
fn snapshots_of(acc: &TileAcc, path: &std::path::Path, regions: [usize; 2], codes: bool) -> Vec<Vec<u64>> {
    let builder = TileArray::<f64, 2>::builder([64, 128]).regions(regions).ghost(1).boundary(Boundary::Periodic);
    let builder = if codes { builder.storage(Format::F32) } else { builder };
    let mut u = builder.build(acc).unwrap();
    u.fill(|[j, i]| ((j * 128 + i) as f64).sin()).unwrap();
    let mut next = u.like().unwrap();
    let mut snapshots = zarr::create(path).snapshot_every(3).unwrap();
    let mut read = Vec::new();
    for step in 0..13 {
        snapshots.step(step, step as f64, &[("u", &u)]).unwrap();
        // Reading waits, which snapshots must not need: all but these two come from the store alone.
        if step == 6 || step == 12 {
            read.push(u.read_box(u.domain()).unwrap());
        }
        u.fill_ghosts().unwrap();
        for tile in u.tiles() {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    snapshots.finish().unwrap();
    let store = zarr::open(path).unwrap();
    let mut again = TileArray::<f64, 2>::builder([64, 128]).build(acc).unwrap();
    let mut bits = Vec::new();
    for snapshot in store.snapshots() {
        store.read(snapshot.index, &mut [("u", &mut again)]).unwrap();
        bits.push(again.read_box(again.domain()).unwrap());
    }
    assert_eq!((bits.len(), &bits[2], &bits[4]), (5, &read[0], &read[1]));
    bits.into_iter().map(|values| values.into_iter().map(f64::to_bits).collect()).collect()
}

#[test]
fn snapshots_are_the_same_wherever_arrays_are() {
    let folder = Folder::new("wherever");
    let cpu = TileAcc::builder().device(Device::Cpu).build().unwrap();
    let all = 2 * 64 * 128 * 8;
    let sim = || TileAcc::builder().simulate(tida::SimDevice::new());
    for codes in [false, true] {
        let wanted = snapshots_of(&cpu, &folder.path(&format!("first-{codes}.zarr")), [1, 1], codes);
        let places = [
            ("cpu", cpu.clone(), [8, 2]),
            ("one thread", TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap(), [4, 1]),
            ("device", sim().build().unwrap(), [4, 1]),
            ("planes", sim().memory_limit(all / 2).build().unwrap(), [8, 1]),
            ("regions", sim().memory_limit(all / 2).build().unwrap(), [4, 2]),
        ];
        for (name, acc, regions) in places {
            let path = folder.path(&format!("{}-{codes}.zarr", name.replace(' ', "-")));
            assert!(snapshots_of(&acc, &path, regions, codes) == wanted, "{name}, codes {codes}");
        }
    }
}

#[test]
fn times_of_many_snapshots_take_several_files() {
    let folder = Folder::new("many");
    let acc = TileAcc::builder().device(Device::Cpu).build().unwrap();
    let path = folder.path("u.zarr");
    let mut u = TileArray::<u32, 1>::builder([1]).build(&acc).unwrap();
    for steps in [0..255_u64, 255..262] {
        let writer = if path.exists() { zarr::append(&path) } else { zarr::create(&path) };
        let mut snapshots = writer.snapshot_every(1).unwrap();
        for step in steps {
            u.fill_value(step as u32 * 3).unwrap();
            snapshots.step(step, 0.5 * step as f64, &[("u", &u)]).unwrap();
        }
        snapshots.finish().unwrap();
    }
    let store = zarr::open(&path).unwrap();
    let all: Vec<(u64, f64)> = store.snapshots().iter().map(|s| (s.step, s.time)).collect();
    assert_eq!(all, (0..262).map(|step| (step, 0.5 * step as f64)).collect::<Vec<_>>());
    for index in [0, 254, 255, 256, 261] {
        store.read(index, &mut [("u", &mut u)]).unwrap();
        assert_eq!(u.read_box(u.domain()).unwrap(), [index as u32 * 3]);
    }
}
