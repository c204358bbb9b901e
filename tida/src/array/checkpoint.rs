//! Saving and restoring sets of arrays.
//!
//! A checkpoint is an uncompressed `.npz` file, which `numpy.load` reads: one `.npy` file an array, or one a component
//! (`name.0.npy`, `name.1.npy`, ..) where the components of its elements are of several types. Zip keeps a checksum of
//! each.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

use zip::read::ZipFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::TileArray;
use super::files::{self, BUFFER, reading_failed, write_whole, writing_failed};
use super::npy::{MAGIC, NpyPart};
use super::ranks::write_shared;
use crate::error::{Error, ErrorKind};
use crate::memory::element::Element;
use crate::ranks::World;
use crate::sealed::Sealed;

/// An array of any element type and number of axes, to be saved or restored with others: a [`TileArray`], and nothing
/// else.
pub trait Saved: Sealed {
    /// Its files, to be written or checked.
    #[doc(hidden)]
    fn kept(&self) -> Kept<'_>;
    /// Its files, to be read.
    #[doc(hidden)]
    fn kept_mut(&mut self) -> KeptMut<'_>;
}

/// The files that an array is kept as. What is done with them is no one else's: it takes the right order.
#[doc(hidden)]
pub struct Kept<'a>(&'a dyn Files);

/// The same, to be read.
#[doc(hidden)]
pub struct KeptMut<'a>(&'a mut dyn Files);

/// The files that an array is kept as, by their numbers.
trait Files {
    /// What follows the array's name in each file's.
    fn suffixes(&self) -> Vec<String>;
    /// Waits until the array's values can be read.
    #[track_caller]
    fn ready(&self) -> Result<(), Error>;
    /// Waits until they can be replaced.
    #[track_caller]
    fn make_way(&mut self) -> Result<(), Error>;
    fn write(&self, part: usize, file: &mut dyn Write, tried: &str) -> Result<(), Error>;
    /// Checks all of a file but its values, of which it may read some.
    fn check(&self, part: usize, file: &mut dyn Read, length: u64, tried: &str) -> Result<(), Error>;
    fn read(&mut self, part: usize, file: &mut dyn Read, length: u64, tried: &str) -> Result<(), Error>;
    /// The ranks that it lies on, if it does not lie on one.
    fn world(&self) -> Option<&Arc<World>>;
}

impl<T: Element, const D: usize> Saved for TileArray<T, D> {
    fn kept(&self) -> Kept<'_> {
        Kept(self)
    }

    fn kept_mut(&mut self) -> KeptMut<'_> {
        KeptMut(self)
    }
}

impl<T: Element, const D: usize> Files for TileArray<T, D> {
    fn suffixes(&self) -> Vec<String> {
        match NpyPart::all::<T>().len() {
            1 => vec![".npy".into()],
            parts => (0..parts).map(|n| format!(".{n}.npy")).collect(),
        }
    }

    #[track_caller]
    fn ready(&self) -> Result<(), Error> {
        self.wait_to_read()
    }

    #[track_caller]
    fn make_way(&mut self) -> Result<(), Error> {
        TileArray::make_way(self)
    }

    fn world(&self) -> Option<&Arc<World>> {
        self.acc.world().filter(|_| self.is_parted())
    }

    fn write(&self, part: usize, file: &mut dyn Write, tried: &str) -> Result<(), Error> {
        self.write_npy_part(part, file, tried)
    }

    fn check(&self, part: usize, file: &mut dyn Read, length: u64, tried: &str) -> Result<(), Error> {
        self.check_npy_part(part, file, length, tried)
    }

    fn read(&mut self, part: usize, file: &mut dyn Read, length: u64, tried: &str) -> Result<(), Error> {
        self.read_npy_part(part, file, length, tried)
    }
}

impl std::fmt::Debug for Kept<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for KeptMut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptMut").finish_non_exhaustive()
    }
}

/// Longest name of an array, in bytes: that of its file has to fit into a zip archive.
const LONGEST_NAME: usize = 60_000;

/// Saves the valid values of a set of arrays to one file, each under a name. Cuts and ghosts are not kept: the arrays
/// restored may be cut otherwise.
///
/// The file is a `.npz` of NumPy, whatever its name, without compression. It appears whole or not at all, and replaces
/// what it replaces as [`TileArray::save_npy`] says; the last checkpoint stays until the next one is on the disk.
///
/// ```
/// # use tida::prelude::*;
/// # let dir = std::env::temp_dir().join(format!("tida-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("step.npz");
/// # let acc = TileAcc::auto()?;
/// # let mut u = TileArray::<f64, 2>::builder([4, 4]).build(&acc)?;
/// # let mut age = TileArray::<u32, 1>::builder([9]).build(&acc)?;
/// tida::save(&path, &[("u", &u), ("age", &age)])?;
/// tida::restore(&path, &mut [("u", &mut u), ("age", &mut age)])?;
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), tida::Error>(())
/// ```
///
/// # Errors
/// Names that are empty, not unique, too long, or hold `/`, `\` or a control character; a destination that is no
/// regular file, or that cannot be written, as for [`TileArray::save_npy`]; failed work that the values need.
#[track_caller]
pub fn save(path: impl AsRef<Path>, arrays: &[(&str, &dyn Saved)]) -> Result<(), Error> {
    let path = path.as_ref();
    let tried = format!("save {} arrays to {}", arrays.len(), path.display());
    let (mut names, mut ready, mut world) = (HashSet::new(), Ok(()), None);
    for (name, array) in arrays {
        check_name(name, &tried)?;
        let Kept(array) = array.kept();
        ready = ready.and(array.ready());
        world = world.or(array.world());
        for file in array.suffixes().iter().map(|suffix| format!("{name}{suffix}")) {
            if !names.insert(file.clone()) {
                let found = format!("{file:?} twice");
                return Err(Error::new(ErrorKind::Argument, tried, found, "give each array a name of its own"));
            }
        }
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let failed = |e: ZipError| match e {
        ZipError::Io(e) => writing_failed(&tried, &e),
        e => {
            let advice = "use shorter names, or save fewer arrays to a file";
            Error::new(ErrorKind::Argument, &*tried, e.to_string(), advice)
        }
    };
    let write = |file: &mut BufWriter<&File>| {
        let mut zip = ZipWriter::new(UntilFailure::new(file));
        let mut written = Ok(());
        for (name, array) in arrays {
            let Kept(array) = array.kept();
            for (part, suffix) in array.suffixes().iter().enumerate() {
                let started = zip.start_file(format!("{name}{suffix}"), options).map_err(failed);
                // Other ranks give their values even if there is no room for them.
                written = written.and(started).and(array.write(part, &mut zip, &tried));
                if written.is_err() && world.is_none() {
                    return written;
                }
            }
        }
        written.and(zip.finish().map(|_| ()).map_err(failed))
    };
    let Some(world) = world else {
        ready?;
        return write_whole(path, &tried, write);
    };
    world.call(format_args!("save {} arrays", arrays.len()), Location::caller());
    let no_file = || {
        let files = |array: &dyn Files| {
            (0..array.suffixes().len()).try_for_each(|part| array.write(part, &mut io::sink(), &tried))
        };
        arrays.iter().try_for_each(|(_, array)| files(array.kept().0))
    };
    write_shared(world, ready, (path, &tried), (write, no_file), Location::caller())
}

/// Sets the valid values of a set of arrays from a file that [`save`] or `numpy.savez` wrote, each by its name. Ghosts
/// have to be filled afterwards.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let dir = std::env::temp_dir().join(format!("tida-doc-restore-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("step.npz");
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
/// u.fill(|[row, _]| row as f64)?;
/// tida::save(&path, &[("u", &u)])?;
///
/// let mut again = TileArray::<f64, 2>::builder([4, 8]).ghost(1).build(&acc)?; // cut otherwise
/// tida::restore(&path, &mut [("u", &mut again)])?;
/// assert_eq!(again.read_box(u.domain())?, u.read_box(u.domain())?);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok(()) }
/// ```
///
/// Everything is checked before the first value is set: names, shapes, types and checksums. So a file that is not right
/// leaves all arrays as they are. Arrays in the file that are not asked for are left out. If an array's format cannot
/// hold a value, all arrays are set, and the error comes at the end.
///
/// # Errors
/// A file that cannot be read, is no regular file or no such file, is compressed, damaged, lacks a name, or holds
/// another shape or type; values that an array's format cannot hold, as for [`fill`](TileArray::fill).
#[track_caller]
pub fn restore(path: impl AsRef<Path>, arrays: &mut [(&str, &mut dyn Saved)]) -> Result<(), Error> {
    let path = path.as_ref();
    let tried = format!("restore {} arrays from {}", arrays.len(), path.display());
    let mut zip = open(path, &tried)?;
    for (name, array) in arrays.iter() {
        let tried = format!("restore {name:?} from {}", path.display());
        let Kept(array) = array.kept();
        for (part, suffix) in array.suffixes().iter().enumerate() {
            let mut entry = entry(&mut zip, &format!("{name}{suffix}"), &tried)?;
            let length = entry.size();
            array.check(part, &mut entry, length, &tried)?;
            // The checksum is compared at the end.
            io::copy(&mut entry, &mut io::sink()).map_err(|e| reading_failed(&tried, &e))?;
        }
    }
    for (_, array) in arrays.iter_mut() {
        array.kept_mut().0.make_way()?;
    }
    // An array may not be able to hold its values; the others are set all the same.
    let mut restored = Ok(());
    for (name, array) in arrays.iter_mut() {
        let KeptMut(array) = array.kept_mut();
        for (part, suffix) in array.suffixes().iter().enumerate() {
            let entry = entry(&mut zip, &format!("{name}{suffix}"), &tried)?;
            let (length, mut entry) = (entry.size(), BufReader::with_capacity(1 << 16, entry));
            restored = restored.and(array.read(part, &mut entry, length, &tried));
            // Someone may have changed the file since.
            let checked = io::copy(&mut entry, &mut io::sink()).map(|_| ());
            restored = restored.and(checked.map_err(|e| reading_failed(&tried, &e)));
        }
    }
    restored
}

fn check_name(name: &str, tried: &str) -> Result<(), Error> {
    let (found, advice) = if name.len() > LONGEST_NAME {
        (format!("an array name of {} bytes", name.len()), "use a shorter name")
    } else if name.is_empty() || name.contains(|c: char| c == '/' || c == '\\' || c.is_control()) {
        (format!("the array name {name:?}"), "use names without slashes and control characters")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Argument, tried, found, advice))
}

/// A file of [`save`] or of `numpy.savez`.
type Archive = ZipArchive<BufReader<File>>;

fn open(path: &Path, tried: &str) -> Result<Archive, Error> {
    let (file, _) = files::open(path, tried)?;
    let mut file = BufReader::with_capacity(BUFFER, file);
    let mut start = Vec::new();
    let looked = file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start).and_then(|_| file.rewind());
    looked.map_err(|e| reading_failed(tried, &e))?;
    if start == MAGIC {
        let advice = "read it by `TileArray::load_npy`, or give a file written by `save`";
        return Err(Error::new(ErrorKind::Format, tried, "a .npy file of one array", advice));
    }
    ZipArchive::new(file).map_err(|e| reading_zip_failed(tried, e))
}

/// One file of an archive, as it was written: not compressed.
fn entry<'a>(zip: &'a mut Archive, name: &str, tried: &str) -> Result<ZipFile<'a, BufReader<File>>, Error> {
    let Some(number) = zip.index_for_name(name) else {
        let mut names: Vec<String> = zip.file_names().flatten().take(9).map(|name| format!("{name:?}")).collect();
        if names.len() > 8 {
            names[8] = "others".into();
        }
        let found = match names.is_empty() {
            true => format!("no {name:?}, and no other file in it"),
            false => format!("no {name:?} in it, but {}", names.join(", ")),
        };
        return Err(Error::new(ErrorKind::Format, tried, found, "restore names that were saved, into the same types"));
    };
    let raw = zip.by_index_raw(number).map_err(|e| reading_zip_failed(tried, e))?;
    let (method, encrypted) = (raw.compression(), raw.encrypted());
    drop(raw);
    if method != CompressionMethod::Stored {
        let found = format!("that {name:?} in it is compressed ({method})");
        let advice = "write it by `numpy.savez`, not `savez_compressed`, or by `save`";
        return Err(Error::new(ErrorKind::Format, tried, found, advice));
    }
    if encrypted {
        let found = format!("that {name:?} in it is encrypted");
        return Err(Error::new(ErrorKind::Format, tried, found, "give a file without a password"));
    }
    zip.by_index(number).map_err(|e| reading_zip_failed(tried, e))
}

fn reading_zip_failed(tried: &str, e: ZipError) -> Error {
    match e {
        ZipError::Io(e) => reading_failed(tried, &e),
        e => Error::new(ErrorKind::Format, tried, e.to_string(), "give a file written by `save`"),
    }
}

/// A file that only looks as if it took more once writing to it has failed: a zip writer that is dropped then still
/// writes its end, and complains on the terminal if that fails.
struct UntilFailure<W> {
    file: W,
    failed: bool,
    /// Where it is, and where it ends.
    at: u64,
    end: u64,
}

impl<W> UntilFailure<W> {
    fn new(file: W) -> UntilFailure<W> {
        UntilFailure { file, failed: false, at: 0, end: 0 }
    }

    fn tried<R>(&mut self, done: io::Result<R>) -> io::Result<R> {
        self.failed |= done.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted);
        done
    }
}

impl<W: Write> Write for UntilFailure<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = if self.failed { Ok(bytes.len()) } else { self.file.write(bytes) };
        let count = self.tried(done)?;
        self.at += count as u64;
        self.end = self.end.max(self.at);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = if self.failed { Ok(()) } else { self.file.flush() };
        self.tried(done)
    }
}

impl<W: Seek> Seek for UntilFailure<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let done = match to {
            _ if !self.failed => self.file.seek(to),
            SeekFrom::Start(at) => Ok(at),
            SeekFrom::Current(by) => Ok(self.at.saturating_add_signed(by)),
            SeekFrom::End(by) => Ok(self.end.saturating_add_signed(by)),
        };
        self.at = self.tried(done)?;
        Ok(self.at)
    }
}
