//! Arrays that lie in files: heat on two arrays that together take four times the memory allowed, one step a pass and
//! 20, against the disk alone and against the same steps in memory. 20 steps leave one array, and the other is
//! discarded, or both.
//!
//! `cargo bench --bench backed -- FOLDER [CELLS [MIB]]`: a cube of so many cells along each axis (512), with so many
//! MiB allowed (a quarter of both arrays). The disk alone reads one file and writes another of an array's size at the
//! same time, past the system's cache, in pieces of 8 MiB by one thread each way, as the library does. All in turn, so
//! that a disk that others use too is the same for each; prints the medians and the ratios.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tida::prelude::*;

/// Bytes that a thread reads or writes at once.
const PIECE: usize = 8 << 20;

/// How often each is timed.
const ROUNDS: usize = 5;

/// Steps that share a pass.
const TOGETHER: usize = 20;

fn main() -> tida::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| !one.starts_with("--")).collect();
    let Some(folder) = arguments.first().map(PathBuf::from) else {
        println!("backed: no folder was given, so nothing was measured");
        return Ok(());
    };
    let number = |n: usize, usual: usize| arguments.get(n).and_then(|one| one.parse().ok()).unwrap_or(usual);
    let cells = number(1, 512);
    let bytes = cells.pow(3) * 8;
    let memory = number(2, (bytes / 2) >> 20) << 20;
    println!(
        "two arrays of {cells}^3 f64, {} MiB each, in files of {}; {} MiB of memory allowed",
        bytes >> 20,
        folder.display(),
        memory >> 20
    );
    let in_files = TileAcc::builder().device(Device::Cpu).backed_by(&folder).memory_limit(memory as u64).build()?;
    let in_memory = TileAcc::builder().device(Device::Cpu).build()?;
    let mut disk = Disk::new(&folder, bytes);
    let (mut away, mut here) = (Heat::new(&in_files, cells)?, Heat::new(&in_memory, cells)?);
    // What is set once, and memory that was never touched.
    away.run(2, true)?;
    here.run(2, true)?;
    let mut times: [Vec<f64>; 7] = Default::default();
    for _ in 0..ROUNDS {
        let (disk, disk_of_both) = (disk.copy(1), disk.copy(2));
        let one = away.run(1, true)?;
        let (many, moved) = moved(&in_files, || away.run(TOGETHER, true))?;
        let (both, both_moved) = self::moved(&in_files, || away.run(TOGETHER, false))?;
        let all = [disk, disk_of_both, one, many, both, here.run(1, true)?, here.run(TOGETHER, true)?];
        here.run(TOGETHER, true)?;
        println!("{all:.3?} s; {TOGETHER} steps that leave one array: {moved}; both: {both_moved}");
        times.iter_mut().zip(all).for_each(|(times, time)| times.push(time));
    }
    let [disk, disk_of_both, one, many, both, one_here, many_here] = times.map(median);
    let gigabytes = bytes as f64 / 1e9;
    println!("the disk alone: {disk:.3} s, {:.2} GB/s each way at once", gigabytes / disk);
    println!("the same, and one array more written: {disk_of_both:.3} s");
    println!("one step a pass: {one:.3} s, {:.2} of the disk alone ({one_here:.3} s in memory)", one / disk);
    let larger = |disk: f64, time: f64| time / disk.max(many_here);
    println!("{TOGETHER} steps in memory: {many_here:.3} s");
    println!(
        "{TOGETHER} steps a pass that leave one array: {many:.3} s, {:.2} of the larger of that and the disk alone",
        larger(disk, many)
    );
    println!("that leave both: {both:.3} s, {:.2} of it with one array more written", larger(disk_of_both, both));
    let same = away.u.read_box(away.middle())? == here.u.read_box(here.middle())?;
    println!("the same bits: {same}");
    Ok(())
}

/// The seconds of a call, and what it moves from and to the files.
fn moved(acc: &TileAcc, call: impl FnOnce() -> tida::Result<f64>) -> tida::Result<(f64, String)> {
    let before = acc.stats();
    let seconds = call()?;
    let after = acc.stats();
    let read = (after.file_read_bytes - before.file_read_bytes) >> 20;
    let written = (after.file_written_bytes - before.file_written_bytes) >> 20;
    Ok((seconds, format!("{} passes, {read} MiB read, {written} MiB written", after.passes - before.passes)))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

struct Heat {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
}

impl Heat {
    fn new(acc: &TileAcc, cells: usize) -> tida::Result<Heat> {
        let builder = TileArray::<f64, 3>::builder([cells; 3]).ghost(1).boundary(Boundary::Fixed(0.5));
        let (mut u, next) = (builder.build(acc)?, builder.build(acc)?);
        u.fill(|[i, j, k]| ((i * 7 + j * 5 + k * 3) % 64) as f64 / 64.0)?;
        Ok(Heat { u, next })
    }

    fn middle(&self) -> GridBox<3> {
        let domain = self.u.domain();
        GridBox::new([domain.hi[0] / 2, 0, 0], [domain.hi[0] / 2 + 2, domain.hi[1], domain.hi[2]])
    }

    /// Seconds of so many steps, from the first to the end of all. If they are to leave one array alone, the other is
    /// not needed any more.
    fn run(&mut self, steps: usize, leave_one: bool) -> tida::Result<f64> {
        let start = Instant::now();
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            for tile in self.u.tiles() {
                compute(
                    &tile,
                    (&mut self.next, &self.u),
                    kernel!(|next, u, at| {
                        let around = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        next[at] = u[at] + 0.1 * (around + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
        if leave_one {
            self.next.discard();
        }
        self.u.acc().sync()?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Three files of an array's size.
struct Disk {
    files: [File; 3],
    bytes: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// A piece of memory that a disk reads and writes.
fn piece() -> Vec<Page> {
    vec![Page([7; 4096]); PIECE / 4096]
}

fn bytes_of(pages: &mut [Page]) -> &mut [u8] {
    // SAFETY: pages are bytes that follow one another.
    unsafe { std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), pages.len() * 4096) }
}

impl Disk {
    fn new(folder: &Path, bytes: usize) -> Disk {
        let file = |name: &str| {
            let path = folder.join(format!("tida-bench-{name}-{}", std::process::id()));
            let file = open(&path);
            std::fs::remove_file(&path).unwrap();
            file
        };
        let disk = Disk { files: ["one", "other", "third"].map(file), bytes };
        for file in &disk.files {
            disk.write(file);
        }
        disk
    }

    fn write(&self, file: &File) {
        let mut pages = piece();
        for at in (0..self.bytes).step_by(PIECE) {
            write_at(file, &bytes_of(&mut pages)[..PIECE.min(self.bytes - at)], at as u64);
        }
    }

    fn read(&self, file: &File) {
        let mut pages = piece();
        for at in (0..self.bytes).step_by(PIECE) {
            read_at(file, &mut bytes_of(&mut pages)[..PIECE.min(self.bytes - at)], at as u64);
        }
    }

    /// Seconds in which one is read while so many others are written, one after the other.
    fn copy(&mut self, written: usize) -> f64 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| self.files[1..=written].iter().for_each(|file| self.write(file)));
            self.read(&self.files[0]);
        });
        self.files.rotate_left(1);
        start.elapsed().as_secs_f64()
    }
}

#[cfg(target_os = "linux")]
fn open(path: &Path) -> File {
    use std::os::unix::fs::OpenOptionsExt;
    /// `O_DIRECT` of Linux, which not all processors have in common.
    const DIRECT: i32 = if cfg!(any(target_arch = "aarch64", target_arch = "arm")) { 0o200_000 } else { 0o40_000 };
    OpenOptions::new().read(true).write(true).create_new(true).custom_flags(DIRECT).open(path).unwrap()
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap()
}

#[cfg(unix)]
fn read_at(file: &File, to: &mut [u8], at: u64) {
    std::os::unix::fs::FileExt::read_exact_at(file, to, at).unwrap();
}

#[cfg(unix)]
fn write_at(file: &File, from: &[u8], at: u64) {
    std::os::unix::fs::FileExt::write_all_at(file, from, at).unwrap();
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) {}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: u64) {}
