//! Compiled kernels on disk, so that a program's second run compiles nothing, and the plans that timed trials found.
//!
//! The folder is `$TIDA_CACHE_DIR`, else `$XDG_CACHE_HOME/tida`, else `$HOME/.cache/tida`; an empty `TIDA_CACHE_DIR`
//! turns the cache off. It has to be its user's alone ([`mod@folder`]); one that is not is not used, which a `tracing`
//! event says once. Kernels are never removed: they take some kilobytes each, and any file may be deleted at any time.
//! What programs left that ended while they wrote is removed an hour later, by the first store of another one. Whatever
//! goes wrong with a file means no more than compiling again.
//!
//! What comes from the disk is believed: a device runs it. The hash in each file finds damage, and is no signature. So
//! a kernel is only as trustworthy as the folder, and whoever can write there (the user, and root) can run code as the
//! user.

mod folder;
#[cfg(all(test, unix))]
mod hostile;

use std::ffi::OsString;
use std::fmt;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use siphasher::sip128::{Hasher128, SipHasher24};
use tracing::{debug, warn};

use self::folder::Folder;

/// What compiled bytes are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    /// The key of all that decides the bytes: source text, options, target, the compiler's version. This crate's own
    /// version is always part of it.
    pub fn new(parts: &[&str]) -> Key {
        let mut hasher = SipHasher24::new();
        for part in [env!("CARGO_PKG_VERSION")].iter().chain(parts) {
            // With the length, so that where one part ends and the next starts makes a difference.
            hasher.write_u64((part.len() as u64).to_le());
            hasher.write(part.as_bytes());
        }
        Key(hasher.finish128().as_u128())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What was stored for a key.
pub(crate) fn load(key: Key) -> Option<Vec<u8>> {
    let bytes = load_from(&folder()?, key);
    #[cfg(test)]
    HITS.set(HITS.get() + bytes.is_some() as usize);
    bytes
}

/// Keeps bytes for a key, if that can be done.
pub(crate) fn store(key: Key, bytes: &[u8]) {
    if let Some(folder) = folder() {
        store_in(&folder, key, bytes);
    }
}

/// The folder of the cache; nothing if it is off, not the user's alone, or the environment names none.
pub(crate) fn folder() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    let path = folder_of(|name| std::env::var_os(name))?;
    match Folder::open(&path) {
        Ok(_) => Some(path),
        Err(error) => {
            SAID.call_once(|| warn!(%error, "compiled kernels are not kept on disk"));
            None
        }
    }
}

fn folder_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(chosen) = variable("TIDA_CACHE_DIR") {
        return (!chosen.is_empty()).then(|| chosen.into());
    }
    // As the XDG specification says, a path that is not absolute counts as unset.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))).map(|base| base.join("tida"))
}

/// First bytes of a file: what it is, and the version of its form.
const MAGIC: [u8; 8] = *b"tidakrn1";
/// Bytes before the content: the magic, the content's length and its hash.
const HEADER: usize = 8 + 8 + 16;

fn header(content: &[u8]) -> [u8; HEADER] {
    let mut hasher = SipHasher24::new();
    hasher.write(content);
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
    header[16..].copy_from_slice(&hasher.finish128().as_u128().to_le_bytes());
    header
}

/// Most bytes of a file: hundreds of times what a large kernel takes, and little beside a program's arrays.
const MOST: u64 = 64 << 20;

fn name(key: Key) -> String {
    format!("{key}.kernel")
}

/// What was stored in a folder for a key.
pub(super) fn load_from(folder: &Path, key: Key) -> Option<Vec<u8>> {
    let path = || folder.join(name(key)).display().to_string();
    let opened = Folder::open(folder).inspect_err(|error| debug!(%error, "no compiled kernels")).ok()??;
    let mut file = match opened.read(&name(key), MOST) {
        Ok(file) => file,
        Err(e) => {
            if e.kind() != io::ErrorKind::NotFound {
                debug!(path = path(), error = %e, "a compiled kernel could not be read");
            }
            return None;
        }
    };
    if file.len() < HEADER || file[..HEADER] != header(&file[HEADER..]) {
        debug!(path = path(), "a file of compiled kernels is not what was written");
        return None;
    }
    file.drain(..HEADER);
    Some(file)
}

/// Keeps bytes for a key in a folder, if that can be done.
pub(super) fn store_in(folder: &Path, key: Key, content: &[u8]) {
    static FIRST: Once = Once::new();
    if (HEADER + content.len()) as u64 > MOST {
        return debug!(bytes = content.len(), "a compiled kernel is too long to be kept");
    }
    let opened = match Folder::make(folder) {
        Ok(opened) => opened,
        Err(error) => return debug!(%error, "a compiled kernel could not be kept"),
    };
    FIRST.call_once(|| opened.remove_leftovers());
    if let Err(e) = opened.write(&name(key), &[&header(content), content]) {
        debug!(folder = %folder.display(), %key, error = %e, "a compiled kernel could not be kept");
    }
}

#[cfg(test)]
thread_local! {
    static HITS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How often the calling thread has found something.
#[cfg(test)]
pub(crate) fn hits() -> usize {
    HITS.get()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder that is gone when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            Folder(std::env::temp_dir().join(format!("tida-disk-{name}-{}", std::process::id())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_stored_is_found() {
        let folder = Folder::new("found");
        let (a, b) = (Key::new(&["a"]), Key::new(&["b"]));
        assert_eq!(load_from(&folder.0, a), None);
        store_in(&folder.0, a, b"first");
        store_in(&folder.0, b, b"");
        assert_eq!(load_from(&folder.0, a).unwrap(), b"first");
        assert_eq!(load_from(&folder.0, b).unwrap(), b"");
        store_in(&folder.0, a, b"second");
        assert_eq!(load_from(&folder.0, a).unwrap(), b"second");
        // Nothing is left of the writing.
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
    }

    #[test]
    fn damaged_files_are_not_believed() {
        let folder = Folder::new("damaged");
        let key = Key::new(&["k"]);
        let content = b"some compiled bytes";
        store_in(&folder.0, key, content);
        let whole = fs::read(folder.0.join(name(key))).unwrap();
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            fs::write(folder.0.join(name(key)), bad).unwrap();
            assert_eq!(load_from(&folder.0, key), None, "byte {at} changed");
            fs::write(folder.0.join(name(key)), &whole[..at]).unwrap();
            assert_eq!(load_from(&folder.0, key), None, "cut at {at}");
        }
        fs::write(folder.0.join(name(key)), [&whole[..], b"x"].concat()).unwrap();
        assert_eq!(load_from(&folder.0, key), None, "longer");
        store_in(&folder.0, key, content);
        assert_eq!(load_from(&folder.0, key).unwrap(), content);
    }

    #[test]
    fn keys_tell_parts_apart() {
        let keys = [&["ab", "c"][..], &["a", "bc"], &["abc"], &["abc", ""], &["c", "ab"], &[]].map(Key::new);
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b), "{i}");
        }
        // The same in every process.
        assert_eq!(Key::new(&["ab", "c"]), keys[0]);
        assert_eq!(keys[0].to_string().len(), 32);
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_cache() {
        let folder = Folder::new("file");
        fs::write(&folder.0, "a file where the folder should be").unwrap();
        let key = Key::new(&["k"]);
        store_in(&folder.0, key, b"bytes");
        assert_eq!(load_from(&folder.0, key), None);
        fs::remove_file(&folder.0).unwrap();
    }

    #[test]
    fn the_environment_names_the_folder() {
        let folder = |variables: &[(&str, &str)]| {
            folder_of(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[("HOME", "/home/u")]), Some("/home/u/.cache/tida".into()));
        assert_eq!(folder(&[("HOME", "/home/u"), ("XDG_CACHE_HOME", "/x")]), Some("/x/tida".into()));
        assert_eq!(folder(&[("HOME", "/home/u"), ("XDG_CACHE_HOME", "")]), Some("/home/u/.cache/tida".into()));
        assert_eq!(folder(&[("HOME", "/home/u"), ("TIDA_CACHE_DIR", "/c")]), Some("/c".into()));
        // It is not taken then, and that is said: another folder is not what was asked for.
        assert_eq!(folder(&[("HOME", "/home/u"), ("TIDA_CACHE_DIR", "here")]), Some("here".into()));
        assert_eq!(folder(&[("HOME", "/home/u"), ("TIDA_CACHE_DIR", "")]), None);
    }

    #[test]
    fn many_writers_leave_a_whole_file() {
        let folder = Folder::new("writers");
        let key = Key::new(&["k"]);
        std::thread::scope(|scope| {
            for t in 0..4u8 {
                let folder = &folder.0;
                scope.spawn(move || {
                    for _ in 0..50 {
                        store_in(folder, key, &[t; 10_000]);
                        let found = load_from(folder, key).expect("a whole file");
                        assert!(found.len() == 10_000 && found.iter().all(|b| *b == found[0]));
                    }
                });
            }
        });
    }
}
