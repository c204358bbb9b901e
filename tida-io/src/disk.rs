//! Files that are whole or not there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// What writing a file is for messages.
fn writing(path: &Path) -> String {
    format!("write {}", path.display())
}

/// The name of what is written beside a path and then takes its place: of this process, so that two do not meet.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Replaces a file at once: who reads it finds what was there or all that is new, whatever ends the program or the
/// machine.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = beside(path);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&part, path)).and_then(|()| sync_folder(folder(path)));
    placed.map_err(|e| {
        // What is left of it has no use.
        let _ = fs::remove_file(&part);
        Error::io(writing(path), e)
    })
}

/// Writes a file that nobody reads yet, and puts it onto the disk.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let made = File::create(path).or_else(|e| match e.kind() {
        io::ErrorKind::NotFound => fs::create_dir_all(folder(path)).and_then(|()| File::create(path)),
        _ => Err(e),
    });
    let written = made.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|e| Error::io(writing(path), e))
}

/// Gives what was written beside a path its name.
pub(crate) fn place(part: &Path, path: &Path) -> Result<()> {
    let placed = fs::rename(part, path).and_then(|()| sync_folder(folder(path)));
    placed.map_err(|e| Error::io(writing(path), e))
}

/// The folder that holds a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts the names in a folder onto the disk. Where the system has no such thing, or the file system needs none, nothing
/// happens.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}
