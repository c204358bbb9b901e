//! Files of arrays: what is opened to be read, what is written whole or not at all, and what errors of the system mean.

mod part;
mod whole;

pub(super) use whole::write_whole;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// Bytes read or written at once.
pub(super) const BUFFER: usize = 1 << 20;

/// Opens a file to be read, and gives its length in bytes. Links are followed.
///
/// # Errors
/// What is not there, may not be read, or is no regular file: a pipe would wait for who writes it, and never say how
/// long it is.
pub(super) fn open(path: &Path, tried: &str) -> Result<(File, u64), Error> {
    let failed = |e: io::Error| reading_failed(tried, &e);
    let advice = "give the path of a file, into which what comes from there was copied";
    // Looked at before it is opened, since that alone may wait; and after, since another may be there by then.
    check_is_file(&fs::metadata(path).map_err(failed)?, tried, advice)?;
    let file = open_at_once(OpenOptions::new().read(true), path).map_err(failed)?;
    let is = file.metadata().map_err(failed)?;
    check_is_file(&is, tried, advice)?;
    Ok((file, is.len()))
}

/// Opens what is a regular file, without waiting if it is none by now.
fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Who has a lease on it is asked to give it back; that has to be waited for.
        match options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => options.custom_flags(libc::O_NOCTTY),
            opened => return opened,
        };
    }
    options.open(path)
}

fn check_is_file(is: &Metadata, tried: &str, advice: &str) -> Result<(), Error> {
    if is.is_file() {
        return Ok(());
    }
    let found = format!("{}, which is no regular file", kind(is));
    Err(Error::new(ErrorKind::Io, tried, found, advice))
}

/// What is there instead of a regular file.
fn kind(is: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let ty = is.file_type();
        if ty.is_fifo() {
            return "a pipe";
        } else if ty.is_socket() {
            return "a socket";
        } else if ty.is_char_device() || ty.is_block_device() {
            return "a device";
        }
    }
    if is.is_dir() { "a folder" } else { "something" }
}

/// The error of a failed read, or of a file cut short.
pub(super) fn reading_failed(tried: &str, e: &io::Error) -> Error {
    let (found, advice) = match e.kind() {
        io::ErrorKind::UnexpectedEof => {
            return Error::new(ErrorKind::Format, tried, "a file that ends before its last value", "give a whole file");
        }
        io::ErrorKind::InvalidData => {
            return Error::new(ErrorKind::Format, tried, format!("damaged data: {e}"), "give a whole file")
                .of_system(e);
        }
        io::ErrorKind::NotFound => ("no file of that name", "check the path"),
        io::ErrorKind::PermissionDenied => ("no permission to read it", "give a file that this user may read"),
        _ => match of_path(e) {
            Some(known) => known,
            None => return Error::new(ErrorKind::Io, tried, e.to_string(), "check the path and the disk").of_system(e),
        },
    };
    Error::new(ErrorKind::Io, tried, format!("{found} ({e})"), advice).of_system(e)
}

/// The error of a failed write.
pub(super) fn writing_failed(tried: &str, e: &io::Error) -> Error {
    let (found, advice) = match e.kind() {
        io::ErrorKind::StorageFull => ("no space left on the disk", "free some of it, or save to another disk"),
        io::ErrorKind::QuotaExceeded => {
            ("no space left of what this user may use", "remove files, ask for a larger quota, or save to another disk")
        }
        io::ErrorKind::FileTooLarge => (
            "a file larger than the system allows",
            "raise the limit (`ulimit -f`), save to another file system, or save the arrays to several files",
        ),
        io::ErrorKind::ReadOnlyFilesystem => ("a file system that is read-only", "save to another one"),
        io::ErrorKind::PermissionDenied => {
            ("no permission to write in its folder", "give a path in a folder that this user may write")
        }
        _ => match of_path(e) {
            Some(known) => known,
            None => {
                let advice = "check the path, its permissions and the space left";
                return Error::new(ErrorKind::Io, tried, e.to_string(), advice).of_system(e);
            }
        },
    };
    Error::new(ErrorKind::Io, tried, format!("{found} ({e})"), advice).of_system(e)
}

/// What an error says of a path alone, and what to do.
fn of_path(e: &io::Error) -> Option<(&'static str, &'static str)> {
    #[cfg(unix)]
    if e.raw_os_error() == Some(libc::ELOOP) {
        return Some(LINKS);
    }
    match e.kind() {
        io::ErrorKind::InvalidFilename => {
            Some(("a name or path longer than the file system allows", "use a shorter one"))
        }
        io::ErrorKind::NotADirectory => Some(("a file where the path names a folder", "check the path")),
        _ => None,
    }
}

/// Links that lead nowhere, and what to do.
const LINKS: (&str, &str) = ("symbolic links that lead in a circle, or too many", "give the path of the file itself");
