//! What Python's programs read of tida's files, and tida of theirs.
//!
//! The packages lie in the folder that `TIDA_PYTHON` names; without it the tests are skipped, unless
//! `TIDA_REQUIRE_PYTHON` is set.

use crate::support::{Arrays, Folder, python};
use tida::num_complex::Complex64;
use tida::prelude::*;
use tida_io::{vtk, zarr};

#[test]
fn zarr_and_xarray_read_the_same_bits() {
    let folder = Folder::new("python-reads");
    let acc = TileAcc::auto().unwrap();
    for (number, shards) in [false, true].into_iter().enumerate() {
        let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
        arrays.fill().unwrap();
        let path = folder.path(&format!("{number}.zarr"));
        let writer = zarr::create(&path).spacing(&[0.5, 0.25]).origin(&[-1.0, 0.0]).unit("u", "K").time_unit("s");
        let writer = if shards { writer.chunks(&[4, 32]).shards(&[8, 64]) } else { writer };
        let mut snapshots = writer.snapshot_every(2).unwrap();
        for step in 0..5 {
            if snapshots.step(step, step as f64 * 0.5, &arrays.list()).unwrap() {
                arrays.save_npy(&folder.path(&format!("step-{step}"))).unwrap();
            }
            arrays.step().unwrap();
        }
        snapshots.finish().unwrap();
    }
    python("read_zarr.py", &folder.0);
}

#[test]
fn tida_reads_what_zarr_and_xarray_write() {
    let folder = Folder::new("python-writes");
    if !python("write_zarr.py", &folder.0) {
        return;
    }
    fn check<T: Element>(folder: &Folder, store: &str, name: &str, snapshot: Option<u64>) {
        let acc = TileAcc::auto().unwrap();
        let wanted = TileArray::<T, 2>::builder([11, 70]).build_npy(&acc, folder.path(&format!("{name}.npy"))).unwrap();
        let mut found = TileArray::<T, 2>::builder([11, 70]).regions([3, 1]).ghost(1).build(&acc).unwrap();
        let store = zarr::open(folder.path(store)).unwrap();
        let name = if store.arrays().any(|path| path.is_empty()) { "" } else { name };
        match snapshot {
            Some(snapshot) => store.read(snapshot, &mut [(name, &mut found)]).unwrap(),
            None => store.load(&mut [(name, &mut found)]).unwrap(),
        }
        let all = wanted.domain();
        // As text the bits of floats are told apart.
        assert_eq!(format!("{:?}", found.read_box(all).unwrap()), format!("{:?}", wanted.read_box(all).unwrap()));
    }
    check::<f64>(&folder, "python.zarr", "f8", Some(1));
    check::<f32>(&folder, "python.zarr", "f4", Some(1));
    check::<i16>(&folder, "python.zarr", "i2", Some(1));
    check::<bool>(&folder, "python.zarr", "b1", Some(1));
    check::<Complex64>(&folder, "python.zarr", "c16", Some(1));
    check::<[f32; 2]>(&folder, "python.zarr", "vec", Some(1));
    check::<f64>(&folder, "xarray.zarr", "f8", Some(1));
    check::<f64>(&folder, "big.zarr", "f8", None);

    let acc = TileAcc::auto().unwrap();
    let mut gaps = TileArray::<f64, 2>::builder([11, 70]).build(&acc).unwrap();
    gaps.fill_value(9.0).unwrap();
    zarr::open(folder.path("python.zarr")).unwrap().load(&mut [("gaps", &mut gaps)]).unwrap();
    let values = gaps.read_box(gaps.domain()).unwrap();
    assert_eq!((values[0], values[8 * 70]), (0.0, 3.0));
    let e = zarr::open(folder.path("old.zarr")).unwrap_err();
    assert!(e.found().contains("Zarr 2"), "{e}");
}

#[test]
fn vtk_reads_the_same_bits() {
    let folder = Folder::new("vtk");
    let acc = TileAcc::auto().unwrap();
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    let writer = vtk::create(folder.path("series.pvd")).spacing(&[0.5, 0.25]).origin(&[-1.0, 0.0]);
    let mut snapshots = writer.snapshot_every(2).unwrap();
    for step in 0..5 {
        if snapshots.step(step, step as f64 * 0.5, &arrays.list()).unwrap() {
            arrays.save_npy(&folder.path(&format!("step-{step}"))).unwrap();
        }
        arrays.step().unwrap();
    }
    snapshots.finish().unwrap();

    // Three axes, cut along all, with values at corners.
    let middle = TileArray::<f32, 3>::builder([7, 9, 70]).regions([2, 3, 1]);
    let corner = TileArray::<f64, 3>::builder([7, 9, 70]).regions([3, 2, 1]).centering([Centering::Face; 3]);
    let (mut middle, mut corner) = (middle.build(&acc).unwrap(), corner.build(&acc).unwrap());
    middle.fill(|[k, j, i]| (k * 1000 + j * 100 + i) as f32).unwrap();
    corner.fill(|[k, j, i]| ((k * 10 + j) * 100 + i) as f64 / 7.0).unwrap();
    middle.save_npy(folder.path("middle.npy")).unwrap();
    corner.save_npy(folder.path("corner.npy")).unwrap();
    let mut snapshots = vtk::create(folder.path("points.pvd")).snapshot_every(1).unwrap();
    snapshots.step(0, 0.0, &[("middle", &middle), ("corner", &corner)]).unwrap();
    snapshots.finish().unwrap();
    python("read_vtk.py", &folder.0);
}
