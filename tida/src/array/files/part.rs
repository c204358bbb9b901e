//! Files while they are written: where they lie, and how those that a killed program left are told from those of savers
//! that live.
//!
//! A part lies in the folder of its destination, since a rename does not leave a file system. Its name says the
//! destination's, a hash of that and of this machine's name, and a number of its own. It is made with `O_EXCL`: nothing
//! that lies there under that name is ever written through.
//!
//! A saver holds an exclusive lock (`flock`) on its part from before the first byte is written until after the rename.
//! The system lets go of it when the process ends, however it ends. A saver looks first for parts of its destination
//! that no one holds, and removes those. Nobody removes a part that another saver writes:
//!
//! - Who removes a part of someone else holds its lock, and has seen since that the part's name leads to the file that
//!   is locked. So as long as its saver has the lock nobody else removes it. Names are not used again, so the name
//!   leads to no other part by then.
//! - Between the moment when a part is made and the one when its saver has the lock, another may hold it for one that
//!   was left. So a saver that does not get the lock at once, or finds with the lock that the part's name leads to it
//!   no more, gives it up and makes another. Nothing was written to it.
//! - A part that was renamed while another had it open is no part any more: its old name is gone, and that is the one
//!   that would be removed.
//! - Threads of one process are kept apart too: locks belong to open files, not to processes.
//! - Locks may not reach other machines, as on some file systems of networks. So only parts are removed that were made
//!   under this machine's name; those that killed programs on other machines left stay.
//! - Where there are no locks at all, parts have names of another form, which nobody looks for. They stay too.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher24;

use super::whole::folder;

/// How often a part is made anew that someone else took for one that was left.
const TRIES: usize = 64;
/// Bytes of the destination's name in that of its part, at most. The rest takes some 40: shorter together than any file
/// system's limit.
const SHOWN: usize = 64;

/// A file being written, removed if it is not placed.
#[derive(Debug)]
pub(super) struct Part {
    // In this order: it is removed while its lock is held.
    name: Name,
    file: File,
}

/// A file that is removed.
#[derive(Debug)]
struct Name(PathBuf);

impl Drop for Name {
    fn drop(&mut self) {
        // It may have been placed, or removed by another.
        let _ = fs::remove_file(&self.0);
    }
}

/// What became of a new part.
enum Made {
    Ours(Part),
    /// Someone else took it for one that was left, or the name was not free.
    Taken,
    /// It cannot be locked.
    NoLocks,
}

impl Part {
    /// A new, empty file beside its destination. `private`: only its owner may touch it. Parts of the same destination
    /// that killed programs left are removed.
    pub(super) fn beside(path: &Path, private: bool) -> io::Result<Part> {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let folder = folder(path);
        if let Some(host) = host() {
            let prefix = prefix(name, &host);
            remove_left(folder, &prefix);
            for _ in 0..TRIES {
                match Part::make(folder.join(part_name(&prefix, ".tmp")), private)? {
                    Made::Ours(part) => return Ok(part),
                    Made::Taken => {}
                    Made::NoLocks => break,
                }
            }
        }
        for _ in 0..TRIES {
            let path = folder.join(part_name(&prefix(name, b""), ".unlocked.tmp"));
            match open_new(&path, private) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(file) => return Ok(Part { name: Name(path), file }),
            }
        }
        Err(io::Error::other("no name for a temporary file is free"))
    }

    fn make(path: PathBuf, private: bool) -> io::Result<Made> {
        let file = match open_new(&path, private) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Made::Taken),
            Err(e) => return Err(e),
            Ok(file) => file,
        };
        Ok(Part { name: Name(path), file }.claimed())
    }

    /// With its lock, if it can be had.
    fn claimed(self) -> Made {
        match self.file.try_lock() {
            Ok(()) if is_at(&self.file, &self.name.0) => Made::Ours(self),
            Ok(()) | Err(fs::TryLockError::WouldBlock) => Made::Taken,
            Err(fs::TryLockError::Error(_)) => Made::NoLocks,
        }
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name at last.
    pub(super) fn place(self, path: &Path) -> io::Result<()> {
        let Part { name, file } = self;
        // Elsewhere open files may not be renamed.
        let held = cfg!(unix).then_some(file);
        let placed = fs::rename(&name.0, path);
        drop(held);
        placed
    }
}

/// Makes a file where there is nothing.
fn open_new(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    // Read too: some file systems lock only such.
    options.read(true).write(true).create_new(true).open(path)
}

/// What the names of a destination's parts start with.
fn prefix(name: &[u8], host: &[u8]) -> String {
    let mut shown = String::new();
    for c in String::from_utf8_lossy(name).chars() {
        if shown.len() + c.len_utf8() > SHOWN {
            break;
        }
        shown.push(c);
    }
    // The same in every version of the library and the compiler.
    let mut hasher = SipHasher24::new();
    for part in [name, host] {
        hasher.write_u64((part.len() as u64).to_le());
        hasher.write(part);
    }
    format!("{shown}.{:016x}", hasher.finish())
}

/// The name of a part, which no other has.
fn part_name(prefix: &str, end: &str) -> String {
    format!("{prefix}.{:016x}{end}", RandomState::new().build_hasher().finish())
}

/// Whether it is the name of a part.
#[cfg(unix)]
fn is_part(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".tmp"));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// This machine's name, where parts are looked for.
#[cfg(unix)]
fn host() -> Option<Vec<u8>> {
    let mut name = vec![0u8; 256];
    // SAFETY: so many bytes may be written there.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) } != 0;
    name.truncate(name.iter().position(|b| *b == 0)?);
    (!failed).then_some(name)
}

/// Removes parts that no one holds. One that cannot be removed stays.
#[cfg(unix)]
fn remove_left(folder: &Path, prefix: &str) {
    // A folder may allow to make files and not to list them.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_part(name, prefix)) {
            let _ = remove_if_left(&folder.join(entry.file_name()));
        }
    }
}

#[cfg(unix)]
fn remove_if_left(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    // What is no part, whatever its name, is not followed and not waited for.
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    file.try_lock()?;
    if file.metadata()?.is_file() && is_at(&file, path) {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Whether a path leads to an open file, by itself.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |is: fs::Metadata| (is.dev(), is.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(file), Ok(there)) => id(file) == id(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn host() -> Option<Vec<u8>> {
    None
}

#[cfg(not(unix))]
fn remove_left(_: &Path, _: &str) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A folder that is gone when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("tida-part-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn count(&self) -> usize {
            fs::read_dir(&self.0).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The name that a part of this destination may have.
    fn some_part(path: &Path) -> PathBuf {
        let name = path.file_name().unwrap().as_encoded_bytes();
        path.with_file_name(part_name(&prefix(name, &host().unwrap()), ".tmp"))
    }

    #[test]
    fn parts_that_are_held_stay_and_others_go() {
        let folder = Folder::new("held");
        let path = folder.0.join("u.npz");
        let first = Part::beside(&path, false).unwrap();
        let second = Part::beside(&path, true).unwrap();
        let other = Part::beside(&folder.0.join("v.npz"), false).unwrap();
        assert!(first.name.0.exists() && second.name.0.exists() && folder.count() == 3);
        for part in [&first, &second, &other] {
            assert!(part.name.0.extension().unwrap() == "tmp" && part.file.metadata().unwrap().len() == 0);
        }
        fs::write(some_part(&path), b"left").unwrap();
        drop(second);
        assert_eq!(folder.count(), 3);
        let third = Part::beside(&path, false).unwrap();
        assert!(first.name.0.exists() && third.name.0.exists() && other.name.0.exists() && folder.count() == 3);
        // A process that is gone holds nothing: forgetting a part but closing its file is as much.
        let Part { name, file } = third;
        std::mem::forget(name);
        drop(file);
        first.place(&path).unwrap();
        assert_eq!(folder.count(), 3);
        drop(Part::beside(&path, false).unwrap());
        assert!(path.exists() && other.name.0.exists() && folder.count() == 2);
        drop(other);
        assert_eq!(folder.count(), 1);
    }

    #[test]
    fn what_only_has_the_name_of_a_part_is_neither_followed_nor_waited_for() {
        let folder = Folder::new("planted");
        let (path, mine) = (folder.0.join("u.npz"), folder.0.join("mine"));
        fs::write(&mine, b"mine").unwrap();
        symlink(&mine, some_part(&path)).unwrap();
        fs::create_dir(some_part(&path)).unwrap();
        let pipe = std::ffi::CString::new(some_part(&path).to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o644) }, 0);
        drop(Part::beside(&path, false).unwrap());
        assert_eq!((folder.count(), fs::read(&mine).unwrap()), (4, b"mine".to_vec()));
    }

    #[test]
    fn a_new_part_that_another_took_is_left() {
        let folder = Folder::new("taken");
        let path = some_part(&folder.0.join("u.npz"));
        let new = || Part { name: Name(path.clone()), file: open_new(&path, false).unwrap() };
        // It has the lock and is about to remove it.
        let (part, other) = (new(), File::open(&path).unwrap());
        other.try_lock().unwrap();
        assert!(matches!(part.claimed(), Made::Taken));
        assert!(!path.exists());
        // It has removed it, and let go.
        let part = new();
        fs::remove_file(&path).unwrap();
        assert!(matches!(part.claimed(), Made::Taken));
        // And another part has the name now.
        let part = new();
        fs::rename(&path, folder.0.join("elsewhere")).unwrap();
        fs::write(&path, b"").unwrap();
        assert!(!is_at(&part.file, &path));
        std::mem::forget(part);
        // Its name is not free.
        assert!(matches!(Part::make(path.clone(), false).unwrap(), Made::Taken));
        assert!(path.exists(), "it is another's");
        fs::remove_file(&path).unwrap();
        assert!(matches!(new().claimed(), Made::Ours(_)));
    }

    #[test]
    fn parts_of_other_machines_and_of_other_forms_stay() {
        let folder = Folder::new("others");
        let path = folder.0.join("u.npz");
        let ours = prefix(b"u.npz", &host().unwrap());
        let names = [
            part_name(&prefix(b"u.npz", b"another machine"), ".tmp"),
            part_name(&prefix(b"v.npz", &host().unwrap()), ".tmp"),
            part_name(&ours, ".unlocked.tmp"),
            format!("{ours}.tmp"),
            format!("{ours}.123.tmp"),
        ];
        names.iter().for_each(|name| fs::write(folder.0.join(name), b"").unwrap());
        drop(Part::beside(&path, false).unwrap());
        assert_eq!(folder.count(), names.len());
    }

    #[test]
    fn names_of_parts_are_short_and_tell_destinations_apart() {
        let host = b"host".as_slice();
        let long = ["x".repeat(255), "ä".repeat(127), "\u{1d11e}".repeat(63), "\u{1d11e}".repeat(62) + "x"];
        for name in &long {
            let part = part_name(&prefix(name.as_bytes(), host), ".unlocked.tmp");
            assert!(part.len() <= 128, "{part}");
        }
        let names =
            ["u", "v", "u.npy", "x".repeat(255).as_str(), "x".repeat(254).as_str()].map(|n| prefix(n.as_bytes(), host));
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
        assert!(prefix(b"u.npy", host).starts_with("u.npy."));
        assert_ne!(prefix(b"u\xff", host), prefix(b"u\xfe", host));
        // What other versions left is found too.
        assert_eq!(prefix(b"u.npy", host), "u.npy.93b1333ecf11ba1a");
    }
}
