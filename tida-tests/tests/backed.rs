//! Arrays whose values lie in files: the same bits as in memory, on the CPU and on devices, and errors that lose
//! nothing.

use std::path::Path;

use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida::{SimDevice, Stats};
use tida_tests::expect;
use tida_tests::folder::Folder;

/// An accelerator whose arrays lie in files of a folder.
fn backed(folder: &Path) -> TileAccBuilder {
    TileAcc::builder().threads(2).backed_by(folder)
}

/// What runs such arrays: the CPU, a simulated device, and OpenCL and CUDA where they are, each with so many bytes for
/// arrays.
fn in_files(folder: &Path, memory: u64) -> Vec<TileAcc> {
    let cpu = backed(folder).device(Device::Cpu).memory_limit(memory).build().unwrap();
    let sim = backed(folder).simulate(SimDevice::new()).memory_limit(memory).build().unwrap();
    let driven = |device: Device| backed(folder).device(device).memory_limit(memory).build().ok();
    [Some(cpu), Some(sim), driven(Device::OpenCl), driven(Device::Cuda)].into_iter().flatten().collect()
}

fn in_memory() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

const MIB: u64 = 1 << 20;

fn value([i, j, k]: [usize; 3]) -> f64 {
    ((i * 31 + j * 17 + k * 7) % 101) as f64 / 101.0
}

/// The cells of an array, row-major.
fn points([n, m, l]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..n * m * l).map(move |at| [at / (m * l), at / l % m, at % l])
}

/// Steps of heat between faces of fixed value, from `u` to `next` and back; the newest values are in `u` at the end.
fn steps(u: &mut TileArray<f64, 3>, next: &mut TileArray<f64, 3>, steps: usize) -> tida::Result<()> {
    for _ in 0..steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&*next) {
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(|next, u, at| {
                    let around = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    next[at] = u[at] + 0.1 * (around + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * u[at]);
                }),
            )?;
        }
        std::mem::swap(u, next);
    }
    Ok(())
}

fn pair(acc: &TileAcc, shape: [usize; 3], regions: usize, boundary: Boundary<f64>) -> [TileArray<f64, 3>; 2] {
    let builder = TileArray::<f64, 3>::builder(shape).regions([regions, 1, 1]).ghost(1).boundary(boundary);
    let mut pair = [builder.build(acc).unwrap(), builder.build(acc).unwrap()];
    pair[0].fill(value).unwrap();
    pair
}

/// Heat, and the sum of its values.
fn heat(acc: &TileAcc, regions: usize, boundary: Boundary<f64>, count: usize) -> (Vec<f64>, f64) {
    let [mut u, mut next] = pair(acc, [48, 24, 40], regions, boundary);
    steps(&mut u, &mut next, count).unwrap();
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    (u.read_box(u.domain()).unwrap(), sum)
}

#[test]
fn heat_has_the_bits_of_memory() {
    let folder = Folder::new();
    for boundary in [Boundary::Fixed(0.25), Boundary::ReflectEven] {
        for (regions, count) in [(1, 1), (1, 7), (4, 5)] {
            let known = heat(&in_memory(), regions, boundary, count);
            // An array takes about 0.6 MB: a window of planes, most of one, and room for all.
            for memory in [MIB / 4, MIB / 2, 4 * MIB] {
                for acc in in_files(&folder.0, memory) {
                    let found = heat(&acc, regions, boundary, count);
                    let Stats { passes, file_written_bytes, .. } = acc.stats();
                    assert!(found == known, "{acc}: {regions} regions, {count} steps, {memory} bytes");
                    assert_eq!(passes > 0, memory < MIB, "{acc}, {memory} bytes");
                    assert!(file_written_bytes >= 48 * 24 * 40 * 8);
                }
            }
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn steps_share_a_pass_over_the_file() {
    let folder = Folder::new();
    let long = std::time::Duration::from_secs(600);
    let builder = backed(&folder.0).device(Device::Cpu).memory_limit(3 * MIB);
    let acc = builder.pause(long).patience(long).build().unwrap();
    let [mut u, mut next] = pair(&acc, [128, 62, 64], 1, Boundary::Fixed(0.0));
    steps(&mut u, &mut next, 2).unwrap();
    acc.sync().unwrap();
    let before = acc.stats();
    steps(&mut u, &mut next, 8).unwrap();
    acc.sync().unwrap();
    let after = acc.stats();
    assert_eq!((after.passes - before.passes, after.steps - before.steps), (1, 8));
    // Once in and, of both arrays, once out; what is left are blocks at the ends of stretches.
    // Rows start at multiples of 128 bytes, with a line before them, and planes are not of whole pages.
    let array = 130 * (64 * 96 + 16) * 8;
    let (read, written) =
        (after.file_read_bytes - before.file_read_bytes, after.file_written_bytes - before.file_written_bytes);
    assert!(read >= array && read < array * 12 / 10, "{read} bytes read, of {array}");
    assert!(written >= array && written < 2 * array * 11 / 10, "{written} bytes written, of {array}");
    // Of what is discarded at the end nothing goes out.
    steps(&mut u, &mut next, 8).unwrap();
    next.discard();
    acc.sync().unwrap();
    let written = acc.stats().file_written_bytes - after.file_written_bytes;
    assert!(written >= array * 9 / 10 && written < array * 11 / 10, "{written} bytes written, of {array}");
}

#[test]
fn what_is_discarded_and_used_again_is_whole() {
    let folder = Folder::new();
    let run = |acc: &TileAcc| {
        let [mut u, mut next] = pair(acc, [48, 24, 40], 1, Boundary::Fixed(0.25));
        let all = |array: &TileArray<f64, 3>| array.read_box(array.domain()).unwrap();
        let mut seen = Vec::new();
        for count in [1, 4, 3] {
            // In the middle of a chain, where both arrays are written again, and at its end.
            steps(&mut u, &mut next, 2).unwrap();
            next.discard();
            steps(&mut u, &mut next, count).unwrap();
            seen.push(all(&next));
            steps(&mut u, &mut next, count).unwrap();
            next.discard();
            seen.push(all(&u));
            // The host writes what was discarded.
            next.fill(value).unwrap();
            seen.push(all(&next));
        }
        seen
    };
    let known = run(&in_memory());
    for memory in [MIB / 4, MIB / 2, 4 * MIB] {
        for acc in in_files(&folder.0, memory) {
            assert!(run(&acc) == known, "{acc}, {memory} bytes");
        }
    }
}

#[test]
fn boxes_are_read_and_written_in_the_file() {
    let folder = Folder::new();
    for acc in in_files(&folder.0, MIB / 4) {
        let mut u = TileArray::<f64, 3>::builder([48, 24, 40]).regions([3, 1, 1]).ghost(1).build(&acc).unwrap();
        let mut known = TileArray::<f64, 3>::builder([48, 24, 40]).build(&in_memory()).unwrap();
        u.fill(value).unwrap();
        known.fill(value).unwrap();
        let boxes = [
            GridBox::new([0, 0, 0], [1, 1, 1]),
            GridBox::new([15, 3, 5], [33, 20, 31]),
            GridBox::new([47, 0, 0], [48, 24, 40]),
            GridBox::new([0, 0, 39], [48, 24, 40]),
        ];
        for (round, cells) in boxes.into_iter().cycle().take(8).enumerate() {
            let values: Vec<f64> = (0..cells.cells()).map(|n| n as f64 + 0.5 * round as f64).collect();
            assert!(u.read_box(cells).unwrap() == known.read_box(cells).unwrap());
            u.write_box(cells, &values).unwrap();
            known.write_box(cells, &values).unwrap();
            let later = u.read_box_later(cells).unwrap();
            for tile in u.tiles() {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.25 * u[at] + 1.0)).unwrap();
            }
            assert!(later.get().unwrap() == values);
            for tile in known.tiles() {
                compute(&tile, &mut known, kernel!(|u, at| u[at] = 1.25 * u[at] + 1.0)).unwrap();
            }
            assert!(u.read_box(u.domain()).unwrap() == known.read_box(u.domain()).unwrap(), "{acc}, {cells:?}");
        }
        u.write_grown_box(0, GridBox::new([-1, -1, -1], [0, 2, 2]), &[3.0; 9]).unwrap();
        assert_eq!(u.read_grown_box(0, GridBox::new([-1, 1, 0], [0, 2, 3])).unwrap(), [3.0, 3.0, 0.0]);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Cell {
    mass: f64,
    kind: u8,
    speed: [f32; 2],
}

fn cell([i, j]: [usize; 2]) -> Cell {
    Cell { mass: i as f64 + 0.25, kind: j as u8, speed: [i as f32, -(j as f32)] }
}

#[test]
fn elements_of_several_components_and_codes_lie_in_files() {
    let folder = Folder::new();
    for acc in in_files(&folder.0, MIB / 4) {
        let run = |acc: &TileAcc| {
            let mut u =
                TileArray::<Cell, 2>::builder([300, 200]).field_storage("speed", Format::Half).build(acc).unwrap();
            u.fill(cell).unwrap();
            for tile in u.tiles() {
                compute(
                    &tile,
                    &mut u,
                    kernel!(|u, at| {
                        u[at].mass = u[at].mass * 3.0;
                        u[at].speed[0] = u[at].speed[0] + 0.125f32;
                    }),
                )
                .unwrap();
            }
            let most = reduce(&u, Max, kernel!(|u, at| u[at].mass)).unwrap();
            (u.read_box(u.domain()).unwrap(), most)
        };
        assert!(run(&acc) == run(&in_memory()), "{acc}");
    }
}

#[test]
fn files_of_numpy_and_copies_are_those_of_memory() {
    let folder = Folder::new();
    let (one, other) = (folder.0.join("one.npy"), folder.0.join("other.npy"));
    for acc in in_files(&folder.0, MIB / 4) {
        let [mut u, mut next] = pair(&acc, [48, 24, 40], 2, Boundary::Fixed(1.0));
        let [mut v, mut rest] = pair(&in_memory(), [48, 24, 40], 1, Boundary::Fixed(1.0));
        steps(&mut u, &mut next, 3).unwrap();
        steps(&mut v, &mut rest, 3).unwrap();
        u.save_npy(&one).unwrap();
        v.save_npy(&other).unwrap();
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&other).unwrap(), "{acc}");
        u.fill_value(0.0).unwrap();
        u.load_npy(&other).unwrap();
        let (copy, mut third) = (u.try_clone().unwrap(), next.like().unwrap());
        third.copy_from(&copy).unwrap();
        u.fill_value(9.0).unwrap();
        for array in [&copy, &third] {
            assert!(array.read_box(array.domain()).unwrap() == v.read_box(v.domain()).unwrap());
        }
        assert_eq!(u.read_box(GridBox::new([47, 23, 38], [48, 24, 40])).unwrap(), [9.0; 2]);
    }
}

#[test]
fn values_are_taken_and_set_as_bytes() {
    let folder = Folder::new();
    for acc in in_files(&folder.0, MIB / 4) {
        let [mut u, _] = pair(&acc, [48, 24, 40], 3, Boundary::Fixed(1.0));
        let field = TileArray::<f64, 3>::fields().remove(0);
        let cells = GridBox::new([14, 2, 3], [35, 20, 9]);
        let (send, receive) = std::sync::mpsc::channel();
        let of = field.clone();
        let recorded = u.with_box_later(cells, move |values| {
            let mut bytes = vec![0; cells.cells() * 8];
            send.send(values.copy(&of, &mut bytes).map(|()| bytes)).unwrap();
        });
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.0)).unwrap();
        }
        recorded.unwrap().wait().unwrap();
        let bytes = receive.recv().unwrap().unwrap();
        u.write_box_field(cells, &field, &bytes).unwrap();
        let known = |at: [usize; 3]| if cells.contains(at.map(|x| x as i64)) { value(at) } else { 0.0 };
        let all: Vec<f64> = points([48, 24, 40]).map(known).collect();
        assert!(u.read_box(u.domain()).unwrap() == all, "{acc}");
    }
}

#[test]
fn whole_arrays_and_arrays_of_one_axis_have_room_or_an_error() {
    let folder = Folder::new();
    for acc in in_files(&folder.0, MIB / 2) {
        let table = TileArray::<f64, 1>::builder([64]).build_slice(&acc, &[2.0; 64]).unwrap();
        let [mut u, _] = pair(&acc, [96, 24, 40], 1, Boundary::Fixed(1.0));
        for tile in u.tiles() {
            compute(&tile, (&mut u, all(&table)), kernel!(|u, table, at| u[at] = table[[at[2] % 64]])).unwrap();
        }
        assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap(), 2.0 * (96 * 24 * 40) as f64);
        let long = TileArray::<f64, 1>::builder([1 << 20]).build(&acc).map(drop);
        expect(long, ErrorKind::Argument, &["8388608 bytes in one axis", "give it a second axis"]);
    }
}

#[test]
fn what_cannot_run_says_so_before_anything_is_touched() {
    let folder = Folder::new();
    let acc = backed(&folder.0).device(Device::Cpu).memory_limit(MIB / 4).build().unwrap();
    let builder = TileArray::<f64, 3>::builder([48, 24, 128]).ghost(1);
    let cut = builder.clone().regions([1, 2, 1]).build(&acc).map(drop);
    expect(cut, ErrorKind::Argument, &["[1, 2, 1] regions", "cut it along its first axis alone"]);
    let ring = builder.clone().boundary(Boundary::Periodic).build(&acc).map(drop);
    expect(ring, ErrorKind::Argument, &["first axis that is periodic"]);
    let link = builder.clone().compress(Compress::Link).build(&acc).map(drop);
    expect(link, ErrorKind::Argument, &["Compress::Link"]);
    let mut u = builder.build(&acc).unwrap();
    expect(u.with_region(0, |_| ()), ErrorKind::Argument, &["view region 0", "read_box"]);
    expect(u.with_region_mut(0, |_| ()), ErrorKind::Argument, &["view region 0", "read_box"]);
    let missing = backed(Path::new("/not/there")).device(Device::Cpu).build().map(drop);
    expect(missing, ErrorKind::Io, &["/not/there", "local disk"]);
    let both = backed(&folder.0).device(Device::Hybrid).simulate(SimDevice::new()).build().map(drop);
    expect(both, ErrorKind::Argument, &["hybrid"]);
    let sim = backed(&folder.0).simulate(SimDevice::new()).build().unwrap();
    let mut v = TileArray::<f64, 1>::builder([64]).build(&sim).unwrap();
    let tile = TileIter::new(&v).device(Device::Cpu).next().unwrap();
    let on_host = compute(&tile, &mut v, kernel!(|v, at| v[at] = 1.0));
    expect(on_host, ErrorKind::Device, &["on the device `cpu`", "backed_by"]);
    // An index that is no sum cannot stream, and the array has no room as a whole.
    u.fill_value(1.0).unwrap();
    let mut other = u.like().unwrap();
    for tile in other.tiles() {
        compute(&tile, (&mut other, &u), kernel!(|other, u, at| other[at] = u[[47 - at[0], at[1], at[2]]])).unwrap();
    }
    expect(other.read_box(GridBox::new([0; 3], [1; 3])).map(drop), ErrorKind::Memory, &["room"]);
    assert!(u.read_box(u.domain()).unwrap() == vec![1.0; 48 * 24 * 128]);
    let error = TileArray::<u8, 2>::builder([1 << 35, 1 << 20]).build(&acc).map(drop);
    expect(error, ErrorKind::Io, &["bytes for an array", "free there", "free room on that disk"]);
}

#[test]
fn ghosts_between_regions_have_no_values_in_a_file() {
    let folder = Folder::new();
    for acc in in_files(&folder.0, MIB / 4) {
        let [mut u, mut next] = pair(&acc, [48, 24, 40], 3, Boundary::Fixed(0.5));
        steps(&mut u, &mut next, 2).unwrap();
        let between = u.read_grown_box(1, GridBox::new([15, 0, 0], [17, 1, 1])).map(drop);
        expect(between, ErrorKind::Ghost, &["ghosts between regions", "backed_by"]);
        u.allow_stale_ghosts();
        let tile = TileIter::new(&u).grown(1).next().unwrap();
        let grown = compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0));
        expect(grown, ErrorKind::Ghost, &["over grown tiles", "one region"]);
        // Values of before are there, and outside the domain the fixed one is.
        assert_eq!(u.read_grown_box(0, GridBox::new([-1, 0, 0], [0, 1, 2])).unwrap(), [0.5; 2]);
        steps(&mut u, &mut next, 1).unwrap();
        let [mut v, mut rest] = pair(&in_memory(), [48, 24, 40], 1, Boundary::Fixed(0.5));
        steps(&mut v, &mut rest, 3).unwrap();
        assert!(u.read_box(u.domain()).unwrap() == v.read_box(v.domain()).unwrap(), "{acc}");
    }
}

#[test]
fn the_host_overwrites_what_is_whole_in_memory() {
    let folder = Folder::new();
    for acc in in_files(&folder.0, 4 * MIB) {
        let [mut u, mut next] = pair(&acc, [48, 24, 40], 2, Boundary::Fixed(0.5));
        let [mut v, mut rest] = pair(&in_memory(), [48, 24, 40], 2, Boundary::Fixed(0.5));
        for round in 0..3 {
            for (one, other) in [(&mut u, &mut next), (&mut v, &mut rest)] {
                steps(one, other, 3).unwrap();
                one.fill(|at| value(at) + round as f64).unwrap();
                steps(one, other, 2).unwrap();
                other.write_box(GridBox::new([3, 0, 0], [40, 24, 40]), &[round as f64; 37 * 24 * 40]).unwrap();
            }
        }
        assert!(u.read_box(u.domain()).unwrap() == v.read_box(v.domain()).unwrap(), "{acc}");
        assert!(next.read_box(next.domain()).unwrap() == rest.read_box(rest.domain()).unwrap(), "{acc}");
    }
}

/// Runs steps with a disk that fails after so many reads or writes; gives the error, and whether the values of before
/// the last step are whole still.
fn failing(folder: &Path, device: TileAccBuilder, reads: Option<u64>, writes: Option<u64>) -> (Option<Error>, bool) {
    let acc = device.threads(2).backed_by(folder).memory_limit(MIB / 4).fail_files(reads, writes).build().unwrap();
    let builder = TileArray::<f64, 3>::builder([48, 24, 40]).ghost(1).boundary(Boundary::Fixed(0.25));
    let (mut u, mut next) = (builder.build(&acc).unwrap(), builder.build(&acc).unwrap());
    if let Err(error) = u.fill(value) {
        return (Some(error), true);
    }
    let known: Vec<f64> = points([48, 24, 40]).map(value).collect();
    let failed = steps(&mut u, &mut next, 1).and_then(|()| acc.sync()).err();
    if failed.is_none() {
        return (None, true);
    }
    // `next` was read alone, and is `u` after one step. Reads may fail on.
    let whole = reads.is_some() || next.read_box(next.domain()).unwrap() == known;
    let lost = u.read_box(u.domain()).is_err();
    (failed, whole && lost)
}

#[test]
fn a_failing_disk_is_an_error_of_the_work_and_loses_nothing_else() {
    let folder = Folder::new();
    for (what, kinds) in [("write", [false, true]), ("read", [true, false])] {
        let mut failures = [0; 2];
        for after in (0..60).step_by(3) {
            for (number, failures) in failures.iter_mut().enumerate() {
                let device = match number {
                    0 => TileAcc::builder().device(Device::Cpu),
                    _ => TileAcc::builder().simulate(SimDevice::new()),
                };
                let [reads, writes] = kinds.map(|on| on.then_some(after));
                let (error, whole) = failing(&folder.0, device, reads, writes);
                assert!(whole, "{what} fails after {after} on {number}");
                if let Some(error) = error {
                    *failures += 1;
                    let text = error.to_string();
                    assert_eq!(error.kind(), ErrorKind::Io, "{text}");
                    // To write a part of a block reads the rest of it.
                    assert!(
                        (text.contains(what) || text.contains("write")) && text.contains("see to the disk"),
                        "{text}"
                    );
                }
            }
        }
        assert!(failures.iter().all(|count| *count >= 3), "{what}: {failures:?}");
    }
}

#[test]
fn work_goes_on_after_a_disk_has_failed() {
    let folder = Folder::new();
    let acc = backed(&folder.0).device(Device::Cpu).memory_limit(MIB / 4);
    let acc = acc.fail_files(None, Some(40)).build().unwrap();
    let [mut u, mut next] = pair(&acc, [48, 24, 40], 1, Boundary::Fixed(0.25));
    let mut failed = None;
    for _ in 0..20 {
        failed = steps(&mut u, &mut next, 1).and_then(|()| acc.sync()).err();
        if failed.is_some() {
            break;
        }
    }
    assert_eq!(failed.unwrap().kind(), ErrorKind::Io);
    // Arrays that were written are lost; others can be read, as often as it takes.
    assert!(u.read_box(u.domain()).is_err());
    assert!(next.read_box(next.domain()).is_ok() && next.read_box(next.domain()).is_ok());
}

/// A disk of so many bytes at a folder, if this user may mount one.
struct SmallDisk<'a>(&'a Folder);

impl SmallDisk<'_> {
    fn mount(folder: &Folder, bytes: u64) -> Option<SmallDisk<'_>> {
        let size = format!("size={bytes}");
        let mut mount = std::process::Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "tida-test"]).arg(&folder.0).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0.0).output();
    }
}

#[test]
fn a_full_disk_is_an_error_of_who_builds_and_leaves_arrays_whole() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 2 * MIB) else {
        eprintln!("skipped: this user may not mount a small disk");
        return;
    };
    let acc = backed(&folder.0).device(Device::Cpu).memory_limit(MIB / 4).build().unwrap();
    let [mut u, mut next] = pair(&acc, [48, 24, 40], 1, Boundary::Fixed(0.25));
    let third = TileArray::<f64, 3>::builder([192, 24, 40]).build(&acc).map(drop);
    expect(third, ErrorKind::Io, &["make a file of", "bytes for an array", "free there", "free room on that disk"]);
    steps(&mut u, &mut next, 3).unwrap();
    drop(next.like().unwrap());
    drop(next);
    let known = heat(&in_memory(), 1, Boundary::Fixed(0.25), 3).0;
    assert!(u.read_box(u.domain()).unwrap() == known);
}

/// Work of other kinds on arrays in files: recurrences along each axis, ghosts by kernels, another resolution.
#[test]
fn other_work_has_the_bits_of_memory() {
    let shape = [48, 24, 64];
    let folder = Folder::new();
    let run = |acc: &TileAcc, what: usize| -> tida::Result<Vec<f64>> {
        let mut u = TileArray::<f64, 3>::builder(shape).ghost(1).boundary(Boundary::Open).build(acc)?;
        u.fill(value)?;
        match what {
            0..=2 => {
                let mut by = [0; 3];
                by[what] = 1;
                let tiles = u.tiles().within([1; 3], shape.map(|n| n as i64));
                sweep_along(what, Forward, tiles, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.25 * u[at - by]))?;
            }
            3 => {
                let tiles = u.tiles().within([0; 3], shape.map(|n| n as i64 - 1));
                sweep_along(
                    0,
                    Backward,
                    tiles,
                    &mut u,
                    kernel!(|u, at| u[at] = 0.5 * u[at] + 0.25 * u[at + [1, 0, 0]]),
                )?;
            }
            4 => {
                let mut next = u.like()?;
                for _ in 0..3 {
                    u.fill_ghosts()?;
                    for axis in (0..3).rev() {
                        let mut by = [0; 3];
                        by[axis] = 1;
                        fill_ghosts_with((axis, Side::Low), &mut u, kernel!(|u, at| u[at] = 0.5 * u[at + by]))?;
                        fill_ghosts_with((axis, Side::High), &mut u, kernel!(|u, at| u[at] = 0.25 * u[at - by]))?;
                    }
                    for tile in next.tiles() {
                        compute(
                            &tile,
                            (&mut next, &u),
                            kernel!(|next, u, at| {
                                next[at] = 0.25
                                    * (u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 0, 1]]);
                            }),
                        )?;
                    }
                    std::mem::swap(&mut u, &mut next);
                }
            }
            _ => {
                let mut fine = TileArray::<f64, 3>::builder(shape.map(|n| 2 * n)).build(acc)?;
                for tile in fine.tiles() {
                    compute(
                        &tile,
                        (&mut fine, coarse(&u)),
                        kernel!(|fine, u, at| fine[at] = u[[at[0] / 2, at[1] / 2, at[2] / 2]]),
                    )?;
                }
                return fine.read_box(fine.domain());
            }
        }
        u.read_box(u.domain())
    };
    for what in 0..6 {
        let wanted = run(&in_memory(), what).unwrap();
        for acc in in_files(&folder.0, 3 * MIB / 4) {
            match run(&acc, what) {
                Ok(found) => assert!(what != 3 && found == wanted, "work {what} on {acc}"),
                // Planes go upwards, and there is one region.
                Err(e) => assert!(what == 3 && e.kind() == ErrorKind::Memory, "work {what} on {acc}: {e}"),
            }
        }
    }
}
