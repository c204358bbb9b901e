//! Files that appear whole or not at all, and where.
//!
//! What is written goes into a part beside its destination (`part.rs`), onto the disk, and then by one rename to its
//! name: who looks there meets what was there before or all that is new, whatever ends the program or the machine.
//! After a failure the part is removed, and what was there before stays.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::part::Part;
use super::{BUFFER, LINKS, check_is_file, open_at_once, writing_failed};
use crate::error::{Error, ErrorKind};

/// Most links that are followed; Linux follows as many.
const MOST_LINKS: usize = 40;

/// Where a file is to be written.
struct Destination {
    path: PathBuf,
    /// The file that is there.
    replaced: Option<Metadata>,
}

/// Writes a file whole or not at all.
///
/// # Errors
/// Those of `write`; a destination that is no file, or that may not be written; no room for a second file beside the
/// old one.
pub(in crate::array) fn write_whole(
    path: &Path,
    tried: &str,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |e: io::Error| writing_failed(tried, &e);
    let to = Destination::find(path, tried)?;
    let part = Part::beside(&to.path, to.replaced.is_some()).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            let found = format!("no folder {}", folder(&to.path).display());
            Error::new(ErrorKind::Io, tried, found, "make it first, by `std::fs::create_dir_all`, or check the path")
        }
        _ => failed(e),
    })?;
    if let Some(old) = &to.replaced {
        keep_permissions(part.file(), old);
    }
    let mut file = BufWriter::with_capacity(BUFFER, part.file());
    let written = write(&mut file).and_then(|()| file.flush().map_err(failed));
    // After a failure what is left in the buffer has no use.
    let _ = file.into_parts();
    written?;
    part.file().sync_all().map_err(failed)?;
    part.place(&to.path).map_err(failed)?;
    sync_folder(folder(&to.path)).map_err(|e| {
        let found = format!("the file in its place, but perhaps not after a loss of power: {e}");
        Error::new(ErrorKind::Io, tried, found, "check the disk, and save again")
    })
}

impl Destination {
    /// What `path` leads to. Links are followed: the last one of a chain may lead to a file that is not there yet.
    fn find(path: &Path, tried: &str) -> Result<Destination, Error> {
        let failed = |e: io::Error| writing_failed(tried, &e);
        // As the system sees it, which knows links that are more than their text.
        if let Ok(is) = fs::metadata(path) {
            check_replaceable(&is, tried)?;
        }
        let mut at = path.to_path_buf();
        for _ in 0..=MOST_LINKS {
            check_name(&at, tried)?;
            match fs::symlink_metadata(&at) {
                Ok(is) if is.is_symlink() => at = folder(&at).join(fs::read_link(&at).map_err(failed)?),
                Ok(is) => {
                    check_replaceable(&is, tried)?;
                    let replaced = Some(writable(&at, tried)?);
                    return Ok(Destination { path: at, replaced });
                }
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
                // A link of `/proc` to a file that was deleted leads to it, and not to where it says.
                Err(_) if at != path && fs::metadata(path).is_ok() => {
                    let found = format!("a link to a file that is not at {}", at.display());
                    return Err(Error::new(ErrorKind::Io, tried, found, "give the path of a file that has a name"));
                }
                Err(_) => return Ok(Destination { path: at, replaced: None }),
            }
        }
        Err(Error::new(ErrorKind::Io, tried, LINKS.0, LINKS.1))
    }
}

/// The folder that holds a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn check_replaceable(is: &Metadata, tried: &str) -> Result<(), Error> {
    check_is_file(is, tried, "give the path of a file, which is made or replaced")
}

/// Checks that a path ends in the name of a file: `a/..` and `a/` do not.
fn check_name(path: &Path, tried: &str) -> Result<(), Error> {
    let whole = path.as_os_str().as_encoded_bytes();
    if path.file_name().is_some_and(|name| whole.ends_with(name.as_encoded_bytes())) {
        return Ok(());
    }
    let found = format!("the path {path:?}, which does not end in the name of a file");
    Err(Error::new(ErrorKind::Io, tried, found, "give the path of a file"))
}

/// The file at `path`, which is to be replaced; nothing of it is changed.
fn writable(path: &Path, tried: &str) -> Result<Metadata, Error> {
    let file = open_at_once(OpenOptions::new().write(true), path).map_err(|e| match e.kind() {
        io::ErrorKind::PermissionDenied => {
            let found = format!("a file that there is no permission to write ({e})");
            Error::new(ErrorKind::Io, tried, found, "allow it (`chmod u+w`), or give another path")
        }
        _ => writing_failed(tried, &e),
    })?;
    let is = file.metadata().map_err(|e| writing_failed(tried, &e))?;
    check_replaceable(&is, tried)?;
    Ok(is)
}

/// Gives a new file, which only its owner may touch so far, the permissions of the one that it replaces, and its owner
/// and group where the system allows.
#[cfg(unix)]
fn keep_permissions(file: &File, old: &Metadata) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let Ok(new) = file.metadata() else { return };
    let mut mode = old.mode() & 0o777;
    if new.uid() != old.uid() {
        // Only root may.
        let _ = fchown(file, Some(old.uid()), None);
    }
    if new.gid() != old.gid() && fchown(file, None, Some(old.gid())).is_err() {
        // Another group: it may do what everyone may.
        mode &= 0o707 | mode << 3;
    }
    // A file system that has no modes of its own gives all files the same.
    let _ = file.set_permissions(fs::Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn keep_permissions(_: &File, _: &Metadata) {}

/// Puts the names of a folder onto the disk. Some file systems cannot, or need not, and say so by an error; and a
/// folder that may not be read cannot be opened for it.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    let Ok(folder) = File::open(folder) else { return Ok(()) };
    match folder.sync_all() {
        Err(e) if !matches!(e.raw_os_error(), Some(libc::EIO | libc::ENOSPC | libc::EDQUOT)) => Ok(()),
        done => done,
    }
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_appear_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("tida-whole-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let put = |text: &'static [u8]| {
            move |file: &mut BufWriter<&File>| file.write_all(text).map_err(|e| writing_failed("write", &e))
        };
        write_whole(&path, "write", put(b"one")).unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"one".to_vec(), vec!["file".to_owned()]));
        // What fails after some bytes, of which more than one buffer were written.
        let e = write_whole(&path, "write", |file| {
            file.write_all(&vec![0; 3 * BUFFER + 1]).unwrap();
            Err(writing_failed("write", &io::ErrorKind::StorageFull.into()))
        });
        let e = e.unwrap_err();
        assert!(e.kind() == ErrorKind::Io && e.found().contains("no space left") && e.advice().contains("free"), "{e}");
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"one".to_vec(), vec!["file".to_owned()]));
        // A panic.
        let panics = || write_whole(&path, "write", |_| std::panic::panic_any("on purpose"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"one".to_vec(), vec!["file".to_owned()]));
        // One within another: who is done last is there in the end, and neither disturbs the other.
        write_whole(&path, "write", |file| {
            put(b"two")(file)?;
            write_whole(&path, "write", put(b"three"))?;
            assert_eq!((fs::read(&path).unwrap(), names(&folder).len()), (b"three".to_vec(), 2));
            put(b"!")(file)
        })
        .unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"two!".to_vec(), vec!["file".to_owned()]));
        // The destination became a folder meanwhile.
        let e = write_whole(&path, "write", |file| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            put(b"four")(file)
        });
        assert_eq!(e.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(names(&folder), ["file"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
