//! Files of NetCDF that tida writes and reads, and those of Python's `netCDF4`, `h5py` and `xarray`.
#![cfg(feature = "netcdf")]

use crate::support::{Arrays, Folder, SHAPE, python};
use tida::ErrorKind;
use tida::num_complex::Complex64;
use tida::prelude::*;
use tida_io::netcdf::{self, Writer};

/// Writes snapshots of steps 0, 2 and 4; gives their bits.
fn write(arrays: &mut Arrays, writer: Writer, each: impl Fn(u64, &Arrays)) -> Vec<String> {
    let mut snapshots = writer.snapshot_every(2).unwrap();
    let mut wanted = Vec::new();
    for step in 0..5 {
        if snapshots.step(step, step as f64 * 0.5, &arrays.list()).unwrap() {
            each(step, arrays);
            wanted.push(arrays.bits().unwrap());
        }
        arrays.step().unwrap();
    }
    let last = snapshots.finish().unwrap().unwrap();
    assert_eq!((last.index, last.step, last.time), (2, 4, 2.0));
    wanted
}

#[test]
fn snapshots_come_back_on_any_cut() {
    let folder = Folder::new("netcdf-back");
    let acc = TileAcc::auto().unwrap();
    for (number, deflate) in [None, Some(2)].into_iter().enumerate() {
        let path = folder.path(&format!("{number}"));
        let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
        arrays.fill().unwrap();
        let writer = netcdf::create(&path).spacing(&[0.5, 0.25]);
        let writer = if let Some(level) = deflate { writer.deflate(level) } else { writer };
        let wanted = write(&mut arrays, writer, |_, _| ());
        let series = netcdf::open(&path).unwrap();
        let steps: Vec<_> = series.snapshots().map(|snapshot| (snapshot.index, snapshot.step, snapshot.time)).collect();
        assert_eq!(steps, [(0, 0, 0.0), (1, 2, 1.0), (2, 4, 2.0)]);
        for regions in [[1, 1], [2, 2]] {
            let mut again = Arrays::new(&acc, regions).unwrap();
            for (index, wanted) in wanted.iter().enumerate() {
                series.read(index as u64, &mut again.list_mut()).unwrap();
                assert!(again.bits().unwrap() == *wanted, "snapshot {index}, regions {regions:?}");
            }
        }
    }
}

#[test]
fn a_series_goes_on() {
    let folder = Folder::new("netcdf-on");
    let acc = TileAcc::auto().unwrap();
    let path = folder.path("series");
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    write(&mut arrays, netcdf::create(&path), |_, _| ());
    // What a program that was killed has left.
    let left = path.join(".00000006.nc.1.part");
    std::fs::write(&left, "half").unwrap();
    assert_eq!(netcdf::open(&path).unwrap().last().unwrap().step, 4);
    let mut snapshots = netcdf::append(&path).snapshot_every(2).unwrap();
    assert!(!snapshots.step(4, 2.0, &arrays.list()).unwrap(), "it is there already");
    assert!(snapshots.step(6, 3.0, &arrays.list()).unwrap());
    snapshots.finish().unwrap();
    let last = netcdf::open(&path).unwrap().last().unwrap();
    assert_eq!((last.index, last.step, last.time), (3, 6, 3.0));
    assert!(!left.exists());
    // Arrays of another shape do not go with it.
    let other = TileArray::<f64, 2>::builder([4, 4]).build(&acc).unwrap();
    let mut snapshots = netcdf::append(&path).snapshot_every(2).unwrap();
    let e = snapshots.step(8, 4.0, &[("u", &other)]).unwrap_err();
    assert!(e.kind() == ErrorKind::Format && e.found().contains("[1, 23, 136]"), "{e}");
}

#[test]
fn one_state_and_boxes_come_back() {
    let folder = Folder::new("netcdf-state");
    let acc = TileAcc::auto().unwrap();
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    let path = folder.path("state.nc");
    netcdf::create(&path).spacing(&[0.5, 0.25]).origin(&[1.0, 0.0]).save(&arrays.list()).unwrap();
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "nothing but the file is left");
    let file = netcdf::open(&path).unwrap();
    let mut again = Arrays::new(&acc, [1, 1]).unwrap();
    file.load(&mut again.list_mut()).unwrap();
    assert_eq!(again.bits().unwrap(), arrays.bits().unwrap());
    let mut y = TileArray::<f64, 1>::builder([SHAPE[0]]).build(&acc).unwrap();
    file.load(&mut [("y", &mut y)]).unwrap();
    assert_eq!(y.read_box(GridBox::new([0], [2])).unwrap(), [1.25, 1.75]);

    let mut part = TileArray::<f64, 2>::builder(SHAPE).regions([2, 2]).build(&acc).unwrap();
    part.fill_value(-1.0).unwrap();
    file.read_box(None, ("u", &mut part), &[3, 60], &[15, 20]).unwrap();
    let inside = GridBox::new([3, 60], [18, 80]);
    assert_eq!(part.read_box(inside).unwrap(), arrays.u.read_box(inside).unwrap());
    assert_eq!(part.read_box(GridBox::new([2, 60], [3, 61])).unwrap(), [-1.0]);

    let e = netcdf::create(&path).save(&arrays.list()).unwrap_err();
    assert!(e.kind() == ErrorKind::Io && e.found().contains("already"), "{e}");
    let e = file.load(&mut [("v", &mut part)]).unwrap_err();
    assert!(e.kind() == ErrorKind::Format && e.found().contains("no variable \"v\""), "{e}");
    let mut wrong = TileArray::<f32, 2>::builder(SHAPE).build(&acc).unwrap();
    let e = file.load(&mut [("u", &mut wrong)]).unwrap_err();
    assert!(e.kind() == ErrorKind::Format && e.found().contains("f32"), "{e}");
    let e = netcdf::create(folder.path("new")).deflate(10).snapshot_every(1).unwrap().step(0, 0.0, &arrays.list());
    assert_eq!(e.unwrap_err().kind(), ErrorKind::Argument);
    std::fs::write(folder.path("text.nc"), "no such file").unwrap();
    assert_eq!(netcdf::open(folder.path("text.nc")).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(netcdf::open(folder.path("none")).unwrap_err().kind(), ErrorKind::Io);
}

/// The disk is full in the middle of a snapshot.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_what_was_whole() {
    let folder = Folder::new("netcdf-full");
    let acc = TileAcc::auto().unwrap();
    let path = folder.path("series");
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    write(&mut arrays, netcdf::create(&path), |_, _| ());
    // A file that takes nothing stands where the next snapshot is to be written.
    let next = path.join(format!(".00000006.nc.{}.part", std::process::id()));
    let mut snapshots = netcdf::append(&path).snapshot_every(2).unwrap();
    // (The first call removes what is left of other programs, and finds that it has nothing to do.)
    assert!(!snapshots.step(4, 2.0, &arrays.list()).unwrap());
    std::os::unix::fs::symlink("/dev/full", &next).unwrap();
    let told = snapshots.step(6, 3.0, &arrays.list()).and_then(|_| snapshots.finish());
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Io);
    let series = netcdf::open(&path).unwrap();
    assert_eq!(series.last().unwrap().step, 4);
    let mut again = Arrays::new(&acc, [1, 1]).unwrap();
    series.read(2, &mut again.list_mut()).unwrap();
}

#[test]
fn python_reads_the_same_bits() {
    let folder = Folder::new("netcdf-python");
    let acc = TileAcc::auto().unwrap();
    let mut arrays = Arrays::new(&acc, [3, 2]).unwrap();
    arrays.fill().unwrap();
    let writer = netcdf::create(folder.path("series")).spacing(&[0.5, 0.25]).origin(&[-1.0, 0.0]);
    let writer = writer.unit("u", "K").time_unit("s").attribute("title", "a test").deflate(1);
    write(&mut arrays, writer, |step, arrays| arrays.save_npy(&folder.path(&format!("step-{step}"))).unwrap());
    python("read_netcdf.py", &folder.0);
}

#[test]
fn tida_reads_what_python_writes() {
    let folder = Folder::new("netcdf-of-python");
    if !python("write_netcdf.py", &folder.0) {
        return;
    }
    fn check<T: Element>(folder: &Folder, file: &str, name: &str, place: Option<u64>) {
        let acc = TileAcc::auto().unwrap();
        let new = || TileArray::<T, 2>::builder([11, 70]).regions([2, 1]).build(&acc).unwrap();
        let (mut wanted, mut found) = (new(), new());
        wanted.load_npy(folder.path(&format!("{name}.npy"))).unwrap();
        let file = netcdf::open(folder.path(file)).unwrap();
        match place {
            Some(place) => file.read(place, &mut [(name, &mut found)]).unwrap(),
            None => file.load(&mut [(name, &mut found)]).unwrap(),
        }
        let all = found.domain();
        assert_eq!(found.read_box(all).unwrap(), wanted.read_box(all).unwrap(), "{name}");
    }
    for file in ["netcdf4.nc", "h5py.h5"] {
        check::<f64>(&folder, file, "f8", Some(1));
        check::<f32>(&folder, file, "f4", Some(1));
        check::<i16>(&folder, file, "i2", Some(1));
        check::<[f32; 2]>(&folder, file, "vec", Some(1));
        check::<f64>(&folder, file, "flat", None);
    }
    check::<f64>(&folder, "xarray.nc", "f8", Some(1));
    check::<Complex64>(&folder, "netcdf4.nc", "c16", Some(1));
}
