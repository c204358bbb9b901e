//! Files that are whole or not there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tida::ErrorKind;

use crate::{Error, Result};

/// What writing a file is for messages.
fn writing(path: &Path) -> String {
    format!("write {}", path.display())
}

/// The name of what is written beside a path and then takes its place: of this process, so that two do not meet.
pub(crate) fn beside(path: &Path) -> PathBuf {
    beside_of(path, std::process::id())
}

/// The same of another process, whose number this is.
pub(crate) fn beside_of(path: &Path, process: u32) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{process}{PART}"));
    path.with_file_name(name)
}

/// Replaces files, each at once: who reads one finds what was there or all that is new, whatever ends the program or
/// the machine.
pub(crate) fn replace(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    let made = |(path, bytes): &(PathBuf, Vec<u8>)| {
        let part = beside(path);
        match in_folder(&part, || fs::write(&part, bytes)) {
            Ok(()) => Ok(part),
            Err(e) => {
                // What is left of it has no use.
                let _ = fs::remove_file(&part);
                Err(Error::io(writing(path), e))
            }
        }
    };
    let mut parts = Vec::new();
    let done = files.iter().try_for_each(|file| made(file).map(|part| parts.push(part))).and_then(|()| {
        sync(&parts)?;
        for (part, (path, _)) in parts.iter().zip(files) {
            fs::rename(part, path).map_err(|e| Error::io(writing(path), e))?;
        }
        let folders: BTreeSet<&Path> = files.iter().map(|(path, _)| folder(path)).collect();
        sync(&folders.into_iter().map(Path::to_path_buf).collect::<Vec<_>>())
    });
    if done.is_err() {
        parts.iter().for_each(|part| drop(fs::remove_file(part)));
    }
    done
}

/// Writes a file that nobody reads yet, of some bytes and more behind them; [`sync`] puts it onto the disk, as far as
/// it is not there already.
pub(crate) fn write(path: &Path, bytes: &[u8], behind: &[u8]) -> Result<()> {
    let write = || match bytes.len() < LARGE || !past_cache(path, bytes, behind)? {
        true => {
            let mut file = File::create(path)?;
            file.write_all(bytes)?;
            file.write_all(behind)
        }
        false => Ok(()),
    };
    in_folder(path, write).map_err(|e| Error::io(writing(path), e))
}

/// Bytes of a file that goes past the system's cache: the disk has it at once, and the processor copies it no second
/// time.
const LARGE: usize = 256 << 10;

/// Bytes that are written past the cache at once, where they have to be copied before.
#[cfg(target_os = "linux")]
const STAGE: usize = 4 << 20;

/// What is written past the cache starts at multiples of this, in the file and in memory.
pub(crate) const BLOCK: usize = 4096;

/// Writes a file past the system's cache; says if the file system has no such way.
#[cfg(target_os = "linux")]
fn past_cache(path: &Path, bytes: &[u8], behind: &[u8]) -> io::Result<bool> {
    use std::cell::RefCell;
    use std::os::unix::fs::OpenOptionsExt;

    thread_local! {
        /// What is written next, where it lies at no multiple of a block.
        static STAGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let unknown = |e: &io::Error| e.kind() == io::ErrorKind::InvalidInput;
    let file = match OpenOptions::new().write(true).create(true).truncate(true).custom_flags(libc::O_DIRECT).open(path)
    {
        Err(e) if unknown(&e) => return Ok(false),
        opened => opened?,
    };
    let written = STAGED.with_borrow_mut(|staged| {
        // Whole blocks go from where they are, if they lie at multiples of one.
        let whole = if bytes.as_ptr().align_offset(BLOCK) == 0 { bytes.len() / BLOCK * BLOCK } else { 0 };
        write_at(&file, &bytes[..whole], 0)?;
        staged.resize(STAGE + BLOCK, 0);
        let start = staged.as_ptr().align_offset(BLOCK).min(BLOCK);
        let (mut rest, mut at) = ([&bytes[whole..], behind], whole);
        while rest.iter().any(|rest| !rest.is_empty()) {
            let mut filled = 0;
            for rest in &mut rest {
                let (now, later) = rest.split_at(rest.len().min(STAGE - filled));
                staged[start + filled..][..now.len()].copy_from_slice(now);
                (filled, *rest) = (filled + now.len(), later);
            }
            write_at(&file, &staged[start..start + filled.next_multiple_of(BLOCK)], at as u64)?;
            at += filled;
        }
        // The last block is whole.
        file.set_len((bytes.len() + behind.len()) as u64)
    });
    match written {
        Err(e) if unknown(&e) => Ok(false),
        written => written.map(|()| true),
    }
}

#[cfg(not(target_os = "linux"))]
fn past_cache(_: &Path, _: &[u8], _: &[u8]) -> io::Result<bool> {
    Ok(false)
}

/// Writes bytes to a place of a file, which several threads may do at once.
#[cfg(unix)]
pub(crate) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
pub(crate) fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => (bytes, at) = (&bytes[count..], at + count as u64),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "a system that cannot write a file at an offset"))
}

/// Calls `write`, which makes a file, and makes the folder for it if need be.
fn in_folder(path: &Path, write: impl Fn() -> io::Result<()>) -> io::Result<()> {
    match write() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => fs::create_dir_all(folder(path)).and_then(|()| write()),
        done => done,
    }
}

/// Threads that wait for the disk, which does for several what it does for one.
const WAITING: usize = 8;

/// Puts files and folders onto the disk.
pub(crate) fn sync(paths: &[PathBuf]) -> Result<()> {
    let some = |paths: &[PathBuf]| paths.iter().try_for_each(|path| sync_one(path));
    let count = paths.len().div_ceil(WAITING).max(1);
    if paths.len() <= 2 {
        return some(paths);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = paths
            .chunks(count)
            .map(|paths| {
                // Where no thread is to be had, this one waits.
                let thread = std::thread::Builder::new().name("tida-io-sync".into());
                thread.spawn_scoped(scope, move || some(paths)).map_err(|_| paths)
            })
            .collect();
        let done = threads.into_iter().map(|thread| match thread {
            Ok(thread) => {
                thread.join().unwrap_or_else(|_| Err(Error::io("wait for the disk", io::ErrorKind::Other.into())))
            }
            Err(paths) => some(paths),
        });
        done.fold(Ok(()), Result::and)
    })
}

/// Puts a file, or the names in a folder, onto the disk. Where the system has no such thing for folders, or the file
/// system needs none, nothing happens.
fn sync_one(path: &Path) -> Result<()> {
    let synced = match path.is_dir() {
        true if cfg!(not(unix)) => Ok(()),
        true => match File::open(path).and_then(|folder| folder.sync_all()) {
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        },
        false => OpenOptions::new().write(true).open(path).and_then(|file| file.sync_all()),
    };
    synced.map_err(|e| Error::io(writing(path), e))
}

/// Gives what was written beside a path its name.
pub(crate) fn place(part: &Path, path: &Path) -> Result<()> {
    fs::rename(part, path).map_err(|e| Error::io(writing(path), e))?;
    sync_one(folder(path))
}

/// The folder that holds a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Locks a folder against other programs that write there.
pub(crate) fn locked(folder: &Path, tried: &str) -> Result<Option<File>> {
    if cfg!(not(unix)) {
        // Folders are no files there.
        return Ok(None);
    }
    let file = File::open(folder).map_err(|e| Error::io(tried, e))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let advice = "end that program, or write elsewhere";
            Err(Error::new(ErrorKind::Io, tried, "that another program writes it", advice))
        }
        // A file system without locks has none for others either.
        _ => Ok(Some(file)),
    }
}

/// The end of the names of what is written beside a path.
const PART: &str = ".part";

/// Removes what programs that were killed have left in folders that are locked, as well as it can.
pub(crate) fn clean(folders: impl Iterator<Item = PathBuf>) {
    for entry in folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(PART) && entry.file_type().is_ok_and(|is| is.is_file()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Values;

    #[test]
    fn files_of_any_length_are_what_was_written() {
        let name = format!("tida-io-disk-{}", std::process::id());
        // Beside the program is a disk; in memory there may be no way past the cache.
        let here = std::env::current_exe().unwrap().with_file_name(&name);
        for folder in [here, std::env::temp_dir().join(&name)] {
            for bytes in [0, LARGE - 1, LARGE, LARGE + 1, (4 << 20) + 4097] {
                let value = |n: usize| (n * 31 + n / 4096) as u8;
                let path = folder.join("inside").join(bytes.to_string());
                // Values go from where they are, or are copied before; what was there before is gone, however long it
                // was.
                for (lead, behind) in [(0, 0), (1, 4), (0, 5000)] {
                    let mut values = Values::with(Vec::new(), bytes + lead).unwrap();
                    values.iter_mut().enumerate().for_each(|(n, to)| *to = value(n));
                    let tail: Vec<u8> = (0..behind).map(|n| value(bytes + lead + n)).collect();
                    write(&path, &values[lead..], &tail).unwrap();
                    let wanted: Vec<u8> = (lead..lead + bytes + behind).map(value).collect();
                    assert!(fs::read(&path).unwrap() == wanted, "{bytes} bytes in {}", path.display());
                    fs::write(&path, vec![1; bytes + 10_000]).unwrap();
                }
            }
            fs::remove_dir_all(&folder).unwrap();
        }
    }
}
