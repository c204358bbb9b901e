//! A folder that is its user's alone, and the files in it.
//!
//! A folder is used if it belongs to the user that the program runs as (the effective one), no one else may write to
//! it, and its path is absolute and does not end in a symbolic link. Links further up are followed. What tida makes is
//! for the user alone: folders, with all that are missing on the way there, of mode 700, files of mode 600.
//!
//! Folders further up are not looked at: who may write there can take the folder away or put another one in its place,
//! and that one is refused unless it is the user's alone too. On Unix the folder is opened once and its files are
//! opened, renamed and removed relative to it, so what was looked at is what is used. Nobody but the user (and root)
//! can then change a file between the look at it and its use. Elsewhere neither owner nor mode is looked at: folders
//! there are used by their path, and it is the system's rules for a user's own folders that keep others out.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind};

/// A file under way this old was left by a program that ended too soon: writing one takes less than a second.
const LEFT: Duration = Duration::from_secs(3600);

/// The end of the name of a file under way.
const PART: &str = ".part";

/// A folder that is its user's alone.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// What is used is what was looked at, wherever the path leads by now.
    #[cfg(unix)]
    opened: File,
}

impl Folder {
    /// A folder that may be used; none if it is not there.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]: a folder that is not the user's alone.
    pub fn open(path: &Path) -> Result<Option<Folder>, Error> {
        if !path.is_absolute() {
            return Err(refused(path, "a path that is not absolute", "name it by its whole path"));
        }
        // Without a slash or a dot at the end, which would follow a link.
        let path: PathBuf = path.components().collect();
        match system::open_folder(&path) {
            Ok(opened) => opened.look(&path).map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    refused(&path, "a symbolic link", "name the folder that it leads to, or make a folder of it")
                }
                Ok(found) if !found.is_dir() => refused(&path, "something that is no folder", "take it away"),
                _ => refused(&path, &e.to_string(), "make it one that its user can read and write"),
            }),
        }
    }

    /// As [`Folder::open`]; a folder that is not there is made.
    ///
    /// # Errors
    /// As [`Folder::open`], and if it cannot be made.
    pub fn make(path: &Path) -> Result<Folder, Error> {
        if let Some(folder) = Folder::open(path)? {
            return Ok(folder);
        }
        let failed = |found: String| refused(path, &found, "make it one that its user can write");
        system::make_folder(path).map_err(|e| failed(e.to_string()))?;
        Folder::open(path)?.ok_or_else(|| failed("that it is gone again".into()))
    }

    /// The content of a file of at most so many bytes.
    ///
    /// # Errors
    /// What the system says; a file that is too long, not the user's alone, or no plain file.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let file = self.open_file(name)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("no plain file"));
        }
        system::belongs_to_the_user_alone(&found).map_err(io::Error::other)?;
        read_at_most(file, found.len(), most)
    }

    /// Writes a file, whole or not at all. Who reads it meanwhile meets what was there before, whoever else writes it.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, name: &str, content: &[&[u8]]) -> io::Result<()> {
        let part = part_name(name);
        let mut file = self.create_file(&part)?;
        let written = content.iter().try_for_each(|piece| file.write_all(piece));
        drop(file);
        let written = written.and_then(|()| self.rename(&part, name));
        if written.is_err() {
            // It may be gone already.
            let _ = self.remove(&part);
        }
        written
    }

    /// Removes files that programs which ended too soon left under way. Those of programs that write now are younger.
    pub fn remove_leftovers(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_part(&name) && self.is_left(&name) {
                // Another program may have removed it.
                let _ = self.remove(&name);
            }
        }
    }

    /// Whether a file is older than any that is being written.
    fn is_left(&self, name: &str) -> bool {
        let found = self.open_file(name).and_then(|file| file.metadata());
        let age = |found: fs::Metadata| found.modified().ok().filter(|_| found.is_file())?.elapsed().ok();
        found.ok().and_then(age).is_some_and(|age| age > LEFT)
    }
}

fn refused(path: &Path, found: &str, advice: &str) -> Error {
    let tried = format!("use the folder {} for compiled kernels", path.display());
    let advice = format!("{advice}, name another one in TIDA_CACHE_DIR, or set that to nothing for no such folder");
    Error::new(ErrorKind::Io, tried, found, advice)
}

/// What a file of this length has in it; it may grow meanwhile.
fn read_at_most(file: impl Read, length: u64, most: u64) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::other(format!("more than {most} bytes"));
    if length > most {
        return Err(too_long());
    }
    let mut content = Vec::new();
    content.try_reserve_exact(usize::try_from(length).map_err(io::Error::other)?)?;
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most { Err(too_long()) } else { Ok(content) }
}

/// A name that nobody can foresee, so that nothing lies there.
fn part_name(name: &str) -> String {
    let stem = name.split('.').next().unwrap_or_default();
    // Each has keys that the system chose at random.
    let [a, b] = [(); 2].map(|()| RandomState::new().hash_one(std::process::id()));
    format!("{stem}.{a:016x}{b:016x}{PART}")
}

/// Whether a file has a name such as [`part_name`] gives to the files of [`super::Key`]s.
fn is_part(name: &str) -> bool {
    let number = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_suffix(PART).and_then(|name| name.split_once('.')).is_some_and(|(a, b)| number(a) && number(b))
}

#[cfg(unix)]
mod system {
    use std::ffi::{CString, c_int};
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    use super::*;

    /// Those besides the owner may write.
    const OTHERS_WRITE: u32 = 0o022;

    /// A folder that was opened and not looked at.
    pub struct Opened(File);

    pub fn open_folder(path: &Path) -> io::Result<Opened> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        OpenOptions::new().read(true).custom_flags(flags).open(path).map(Opened)
    }

    pub fn make_folder(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// What is wrong with a file or folder, if others own it or may write to it.
    pub fn belongs_to_the_user_alone(found: &fs::Metadata) -> Result<(), String> {
        // SAFETY: only asks.
        let user = unsafe { libc::geteuid() };
        if found.uid() != user {
            return Err(format!("that it belongs to user {}, where this program runs as user {user}", found.uid()));
        }
        if found.mode() & OTHERS_WRITE != 0 {
            return Err(format!("that others may write to it (mode {:03o})", found.mode() & 0o7777));
        }
        Ok(())
    }

    impl Opened {
        pub fn look(self, path: &Path) -> Result<Folder, Error> {
            let found = self.0.metadata().map_err(|e| e.to_string());
            found
                .and_then(|found| belongs_to_the_user_alone(&found))
                .map_err(|found| refused(path, &found, "make it its user's alone (chown, chmod 700)"))?;
            Ok(Folder { path: path.to_owned(), opened: self.0 })
        }
    }

    impl Folder {
        /// Opens a file to read it, without waiting for a writer if it is a pipe.
        pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
            self.open_at(name, libc::O_RDONLY | libc::O_NONBLOCK)
        }

        /// Makes a file where there is nothing.
        pub(super) fn create_file(&self, name: &str) -> io::Result<File> {
            self.open_at(name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)
        }

        fn open_at(&self, name: &str, flags: c_int) -> io::Result<File> {
            let name = CString::new(name)?;
            let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            let mode: libc::c_uint = 0o600;
            // SAFETY: the folder is open and the name ends in a zero.
            let opened = unsafe { libc::openat(self.opened.as_raw_fd(), name.as_ptr(), flags, mode) };
            if opened < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: just opened, and no one else's.
            Ok(unsafe { File::from_raw_fd(opened) })
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            let (from, to, folder) = (CString::new(from)?, CString::new(to)?, self.opened.as_raw_fd());
            // SAFETY: the folder is open and the names end in a zero.
            done(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
        }

        pub(super) fn remove(&self, name: &str) -> io::Result<()> {
            let name = CString::new(name)?;
            // SAFETY: the folder is open and the name ends in a zero.
            done(unsafe { libc::unlinkat(self.opened.as_raw_fd(), name.as_ptr(), 0) })
        }
    }

    fn done(code: c_int) -> io::Result<()> {
        if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(not(unix))]
mod system {
    use super::*;

    /// A folder that is there.
    pub struct Opened;

    pub fn open_folder(path: &Path) -> io::Result<Opened> {
        let found = fs::symlink_metadata(path)?;
        if found.is_dir() { Ok(Opened) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub fn belongs_to_the_user_alone(_: &fs::Metadata) -> Result<(), String> {
        Ok(())
    }

    impl Opened {
        pub fn look(self, path: &Path) -> Result<Folder, Error> {
            Ok(Folder { path: path.to_owned() })
        }
    }

    impl Folder {
        pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
            let path = self.path.join(name);
            match fs::symlink_metadata(&path)?.is_file() {
                true => File::open(path),
                false => Err(io::Error::other("no plain file")),
            }
        }

        pub(super) fn create_file(&self, name: &str) -> io::Result<File> {
            OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            fs::rename(self.path.join(from), self.path.join(to))
        }

        pub(super) fn remove(&self, name: &str) -> io::Result<()> {
            fs::remove_file(self.path.join(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_while_it_is_read_is_read_up_to_the_bound() {
        assert_eq!(read_at_most(&b"12345"[..], 5, 5).unwrap(), b"12345");
        // It was shorter when it was looked at.
        assert_eq!(read_at_most(&b"12345"[..], 2, 5).unwrap(), b"12345");
        assert!(read_at_most(&b"123456"[..], 2, 5).is_err());
        let error = read_at_most(io::repeat(0), 2, 5).unwrap_err();
        assert_eq!(error.to_string(), "more than 5 bytes");
        assert!(read_at_most(io::repeat(0), u64::MAX, 5).is_err());
    }

    #[test]
    fn names_of_files_under_way_are_of_their_own() {
        let key = "0123456789abcdef0123456789abcdef";
        let names: Vec<String> = (0..100).map(|_| part_name(&format!("{key}.kernel"))).collect();
        for (n, name) in names.iter().enumerate() {
            assert!(is_part(name) && name.starts_with(key) && !names[..n].contains(name), "{name}");
        }
        for other in ["", ".part", "a.b.part", &format!("{key}.kernel"), &format!("{key}.part"), &names[0][1..]] {
            assert!(!is_part(other), "{other}");
        }
    }
}
