//! Files in place of the host's memory: the values of arrays of an accelerator with a folder for them lie there
//! ([`TileAccBuilder::backed_by`](crate::TileAccBuilder::backed_by)).
//!
//! A file has no name any more once it is open, so that nothing is left of it when the program ends, whichever way.
//! Its room is taken at once. It is read and written by `pread` and `pwrite`, past the system's cache where the file
//! system allows that, and never mapped: a file that is cut short, or a full disk, would end the program then.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind};

/// What copies past the system's cache start and end at multiples of, in the file and in memory.
pub(crate) const ALIGN: usize = 4096;

/// Bytes that a copy takes at once where it needs memory of its own.
const BOUNCE: usize = 1 << 20;

/// Bytes that may wait in the system's cache for the disk, where files cannot be written past it.
const WRITE_BEHIND: u64 = 64 << 20;

/// Blocks that are kept, for the writes that go on where others ended: of each component of some arrays.
const EDGES: usize = 32;

/// How often another name is tried for a new file.
const TRIES: usize = 64;

/// A failure that is made on purpose, for tests: what follows after so many reads or writes fails.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailAfter {
    pub reads: Option<u64>,
    pub writes: Option<u64>,
}

/// A folder for the values of arrays.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    fails: FailAfter,
    reads: AtomicU64,
    writes: AtomicU64,
    /// Bytes read and written so far.
    read: AtomicU64,
    written: AtomicU64,
}

impl Folder {
    /// # Errors
    /// No such folder, or one that no file can be made in.
    pub fn new(path: &Path, fails: FailAfter) -> Result<Arc<Folder>, Error> {
        let folder = Folder {
            path: path.to_owned(),
            fails,
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
        };
        let tried = || format!("keep arrays in files of the folder {}", path.display());
        nameless(path).map_err(|e| {
            Error::new(ErrorKind::Io, tried(), e.to_string(), "give a folder of a local disk that may be written")
        })?;
        Ok(Arc::new(folder))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes read from files and written to them so far.
    pub fn moved(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }

    fn fails(&self, writes: bool) -> io::Result<()> {
        let (count, after) = match writes {
            true => (&self.writes, self.fails.writes),
            false => (&self.reads, self.fails.reads),
        };
        let before = count.fetch_add(1, Ordering::Relaxed);
        match after {
            Some(after) if before >= after => Err(io::Error::other("a failure that a test asked for")),
            _ => Ok(()),
        }
    }
}

/// The file of one array.
#[derive(Debug)]
pub(crate) struct Backing {
    folder: Arc<Folder>,
    file: File,
    /// Copies go past the system's cache.
    direct: bool,
    /// Where each region starts, and where the last one ends.
    starts: Vec<u64>,
    /// The last blocks that were written and that others may have a part of, by their places; held while they change.
    edges: Mutex<VecDeque<(u64, Blocks)>>,
    /// Writes that were tried so far.
    writes: AtomicU64,
    /// Bytes written since the system was last asked to put all on the disk.
    behind: AtomicU64,
}

impl Backing {
    /// A file for regions of so many bytes, all zeros.
    ///
    /// # Errors
    /// A disk without room: what was asked for, and what is free.
    pub fn new(folder: &Arc<Folder>, sizes: impl Iterator<Item = usize>) -> Result<Backing, Error> {
        let mut starts = vec![0];
        let mut end = 0u64;
        for bytes in sizes {
            end = end.saturating_add(bytes as u64).saturating_add(ALIGN as u64 - 1) / ALIGN as u64 * ALIGN as u64;
            starts.push(end);
        }
        let path = &folder.path;
        let failed = |e: io::Error| {
            let tried = format!("make a file of {end} bytes for an array in the folder {}", path.display());
            let found = match free(path) {
                Some(free) => format!("{e}, with {free} bytes free there"),
                None => e.to_string(),
            };
            Error::new(ErrorKind::Io, tried, found, "free room on that disk, or give a folder of another one")
        };
        let (file, direct) = nameless(path).map_err(failed)?;
        preallocate(&file, end).map_err(failed)?;
        let (edges, [writes, behind]) = (Mutex::default(), [const { AtomicU64::new(0) }; 2]);
        Ok(Backing { folder: folder.clone(), file, direct, starts, edges, writes, behind })
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// Where byte `at` of a region is in the file.
    fn place(&self, region: usize, at: usize) -> u64 {
        self.starts.get(region).copied().unwrap_or(0) + at as u64
    }

    /// How much of what is copied from or to byte `at` of a region comes before it, in memory that starts at a multiple
    /// of [`ALIGN`].
    pub fn lead(&self, region: usize, at: usize) -> usize {
        (self.place(region, at) % ALIGN as u64) as usize
    }

    /// Reads bytes of a region from `at` on into memory that has [`lead`](Self::lead) bytes before them, starts at a
    /// multiple of [`ALIGN`] and is as long as all blocks that they touch.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_blocks(&self, region: usize, at: usize, bytes: usize, to: &mut [u8]) -> Result<(), Error> {
        let start = self.place(region, at) - self.lead(region, at) as u64;
        let blocks = (self.lead(region, at) + bytes).next_multiple_of(ALIGN).min(to.len());
        self.pread(&mut to[..blocks], start).map_err(|e| self.failed("read", bytes, &e))
    }

    /// Writes bytes of a region from `at` on out of such memory; what lies around them there is overwritten.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_blocks(&self, region: usize, at: usize, bytes: usize, from: &mut [u8]) -> Result<(), Error> {
        let lead = self.lead(region, at);
        let start = self.place(region, at) - lead as u64;
        let blocks = (lead + bytes).next_multiple_of(ALIGN).min(from.len());
        let from = &mut from[..blocks];
        let written = self.write_whole(start, lead, bytes, from);
        written.map_err(|e| self.failed("write", bytes, &e))
    }

    fn write_whole(&self, start: u64, lead: usize, bytes: usize, from: &mut [u8]) -> io::Result<()> {
        let end = lead + bytes;
        if !self.direct {
            return self.pwrite(&from[lead..end], start + lead as u64);
        }
        // Of the first and the last block others may have the rest.
        let first = (lead > 0).then_some(0);
        let last = (!end.is_multiple_of(ALIGN)).then_some(end / ALIGN * ALIGN).filter(|last| first != Some(*last));
        let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        for at in first.into_iter().chain(last) {
            let place = start + at as u64;
            let mut block = match edges.iter().position(|(known, _)| *known == place) {
                Some(known) => edges.remove(known).map(|(_, block)| block),
                None => None,
            };
            if block.is_none() {
                self.pread(block.insert(Blocks::new(ALIGN)).bytes(), place)?;
            }
            let others = [at..lead.max(at).min(at + ALIGN), end.max(at).min(at + ALIGN)..at + ALIGN];
            for range in others {
                if let Some(block) = &mut block {
                    from[range.clone()].copy_from_slice(&block.bytes()[range.start - at..range.end - at]);
                }
            }
        }
        // What is written whole is not known any more until it is.
        let inside = start..start + from.len() as u64;
        edges.retain(|(place, _)| !inside.contains(place));
        if first.is_none() && last.is_none() {
            drop(edges);
            return self.pwrite(from, start);
        }
        self.pwrite(from, start)?;
        for at in first.into_iter().chain(last) {
            let mut block = Blocks::new(ALIGN);
            block.bytes().copy_from_slice(&from[at..at + ALIGN]);
            edges.push_front((start + at as u64, block));
        }
        edges.truncate(EDGES);
        Ok(())
    }

    /// Writes that were tried so far.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Reads bytes of a region into any memory.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, region: usize, at: usize, to: &mut [u8]) -> Result<(), Error> {
        let mut through = Blocks::new(to.len().min(BOUNCE) + 2 * ALIGN);
        for (n, to) in to.chunks_mut(BOUNCE).enumerate() {
            let at = at + n * BOUNCE;
            self.read_blocks(region, at, to.len(), through.bytes())?;
            to.copy_from_slice(&through.bytes()[self.lead(region, at)..][..to.len()]);
        }
        Ok(())
    }

    /// Writes bytes of a region out of any memory.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, region: usize, at: usize, from: &[u8]) -> Result<(), Error> {
        let mut through = Blocks::new(from.len().min(BOUNCE) + 2 * ALIGN);
        for (n, from) in from.chunks(BOUNCE).enumerate() {
            let at = at + n * BOUNCE;
            through.bytes()[self.lead(region, at)..][..from.len()].copy_from_slice(from);
            self.write_blocks(region, at, from.len(), through.bytes())?;
        }
        Ok(())
    }

    /// Sets the bytes of a region to those of the same region of another file.
    ///
    /// # Errors
    /// What the system says.
    pub fn copy_from(&self, from: &Backing, region: usize, bytes: usize) -> Result<(), Error> {
        let mut through = vec![0; bytes.min(BOUNCE)];
        for at in (0..bytes).step_by(BOUNCE) {
            let through = &mut through[..BOUNCE.min(bytes - at)];
            from.read(region, at, through)?;
            self.write(region, at, through)?;
        }
        self.settle()
    }

    /// Waits until all that was written is on the disk, where it may wait for that: a failure is told then.
    ///
    /// # Errors
    /// What the system says.
    pub fn settle(&self) -> Result<(), Error> {
        if self.direct || self.behind.swap(0, Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.file.sync_data().map_err(|e| self.failed("put onto the disk", 0, &e))
    }

    fn pread(&self, to: &mut [u8], at: u64) -> io::Result<()> {
        self.folder.fails(false)?;
        self.folder.read.fetch_add(to.len() as u64, Ordering::Relaxed);
        read_exact_at(&self.file, to, at)
    }

    fn pwrite(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.folder.fails(true)?;
        self.folder.written.fetch_add(from.len() as u64, Ordering::Relaxed);
        write_all_at(&self.file, from, at)?;
        let behind = self.behind.fetch_add(from.len() as u64, Ordering::Relaxed) + from.len() as u64;
        if !self.direct && behind >= WRITE_BEHIND {
            self.behind.store(0, Ordering::Relaxed);
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn failed(&self, what: &str, bytes: usize, e: &io::Error) -> Error {
        let end = self.starts.last().copied().unwrap_or(0);
        let folder = self.folder.path.display();
        let tried = format!("{what} {bytes} bytes of the file of {end} bytes of an array in the folder {folder}");
        let advice = "see to the disk (room, errors in the system's log), or give a folder of another one";
        Error::new(ErrorKind::Io, tried, e.to_string(), advice)
    }
}

/// Memory of whole blocks, zero at first.
#[derive(Debug)]
pub(crate) struct Blocks(Vec<Block>);

#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
struct Block([u8; ALIGN]);

impl Blocks {
    /// At least so many bytes.
    pub fn new(bytes: usize) -> Blocks {
        Blocks(vec![Block([0; ALIGN]); bytes.div_ceil(ALIGN)])
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: blocks are bytes that follow one another without gaps.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * ALIGN) }
    }
}

/// A new file of a folder, without a name, and whether copies go past the system's cache.
fn nameless(folder: &Path) -> io::Result<(File, bool)> {
    let mut last = io::Error::other("no name that is free");
    for _ in 0..TRIES {
        let name = format!(".tida-{:016x}.backing", RandomState::new().build_hasher().finish());
        let path = folder.join(name);
        match open_new(&path) {
            Ok((file, direct)) => {
                std::fs::remove_file(&path)?;
                return Ok((file, direct));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

#[cfg(unix)]
fn open_new(path: &Path) -> io::Result<(File, bool)> {
    use std::os::unix::fs::OpenOptionsExt;
    let open = |flags: i32| {
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(flags).open(path)
    };
    #[cfg(target_os = "linux")]
    match open(libc::O_DIRECT) {
        // The file system has none; it may have made the file all the same.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            let _ = std::fs::remove_file(path);
        }
        opened => return opened.map(|file| (file, true)),
    }
    open(0).map(|file| (file, false))
}

#[cfg(not(unix))]
fn open_new(path: &Path) -> io::Result<(File, bool)> {
    let _ = (path, OpenOptions::new());
    Err(io::Error::new(io::ErrorKind::Unsupported, "a system that cannot read a file from an offset"))
}

#[cfg(unix)]
fn read_exact_at(file: &File, to: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, to, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, from: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, from, at)
}

#[cfg(not(unix))]
fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn write_all_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Takes the room of a file, which then holds zeros.
#[cfg(target_os = "linux")]
fn preallocate(file: &File, bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let length = i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    if length == 0 {
        return Ok(());
    }
    // SAFETY: the file is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[cfg(not(target_os = "linux"))]
fn preallocate(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// Bytes that are free on the disk of a folder, if the system says.
#[cfg(target_os = "linux")]
fn free(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut stats = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero, and the place for the answer is valid.
    let code = unsafe { libc::statvfs(path.as_ptr(), stats.as_mut_ptr()) };
    // SAFETY: all zeros is a valid value; the call has filled it.
    let stats = unsafe { stats.assume_init() };
    #[allow(clippy::unnecessary_cast)] // Not the same types on every system.
    (code == 0).then(|| stats.f_bavail as u64 * stats.f_frsize as u64)
}

#[cfg(not(target_os = "linux"))]
fn free(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(fails: FailAfter) -> Arc<Folder> {
        Folder::new(&std::env::temp_dir(), fails).unwrap()
    }

    #[test]
    fn bytes_come_back_from_any_place() {
        let backing = Backing::new(&folder(FailAfter::default()), [10_000, 3 << 20].into_iter()).unwrap();
        let (mut known, mut seed) = ([vec![0u8; 10_000], vec![0u8; 3 << 20]], 7usize);
        for round in 0..40 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let region = round % 2;
            let at = (seed >> 20) % known[region].len();
            let bytes = (seed >> 7) % (known[region].len() - at).min(if round > 30 { usize::MAX } else { 9000 });
            let values: Vec<u8> = (0..bytes).map(|n| (n * 31 + round) as u8).collect();
            known[region][at..at + bytes].copy_from_slice(&values);
            backing.write(region, at, &values).unwrap();
            let mut all = vec![1; known[region].len()];
            backing.read(region, 0, &mut all).unwrap();
            assert!(all == known[region], "round {round}");
        }
        backing.settle().unwrap();
    }

    #[test]
    fn nothing_is_left_in_the_folder() {
        let path = std::env::temp_dir().join(format!("tida-backing-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Folder::new(&path, FailAfter::default()).unwrap();
        let backing = Backing::new(&folder, [5000].into_iter()).unwrap();
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        backing.write(0, 4990, &[3; 10]).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn failures_say_what_failed() {
        let fails = FailAfter { reads: Some(1), writes: Some(1) };
        let backing = Backing::new(&folder(fails), [ALIGN].into_iter()).unwrap();
        backing.write(0, 0, &[1; ALIGN]).unwrap();
        let e = backing.write(0, 0, &[1; ALIGN]).unwrap_err();
        assert_eq!(
            (e.kind(), e.tried().starts_with("write 4096 bytes of the file of 4096 bytes")),
            (ErrorKind::Io, true),
            "{e}"
        );
        backing.read(0, 0, &mut [0; 8]).unwrap();
        assert_eq!(backing.read(0, 0, &mut [0; 8]).unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn more_than_the_disk_has_is_an_error_at_once() {
        let e = Backing::new(&folder(FailAfter::default()), [1 << 50].into_iter()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.tried().contains("1125899906842624"), "{e}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let e = Folder::new(Path::new("/not/there"), FailAfter::default()).unwrap_err();
        assert!(e.to_string().contains("/not/there"), "{e}");
    }
}
