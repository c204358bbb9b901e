//! Folders and files that others prepared: none is used, none harms, and the program goes on.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use super::*;

/// A place that is empty, and gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tida-disk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key() -> Key {
    Key::new(&["k"])
}

fn file(folder: &Path) -> PathBuf {
    folder.join(format!("{}.kernel", key()))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// A folder with a kernel in it that is found.
fn filled(scratch: &Scratch) -> PathBuf {
    let folder = scratch.join("tida");
    store_in(&folder, key(), b"good");
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"good"[..]));
    folder
}

/// What `load_from` gives, if it comes back at all.
fn loaded(folder: &Path) -> Option<Vec<u8>> {
    let (give, take) = mpsc::channel();
    let folder = folder.to_owned();
    std::thread::spawn(move || give.send(load_from(&folder, key())));
    take.recv_timeout(Duration::from_secs(20)).expect("it does not come back")
}

/// Gives a file to another user, if this one may.
fn give_away(path: &Path) -> bool {
    match std::os::unix::fs::lchown(path, Some(12_345), None) {
        Ok(()) => true,
        Err(e) => {
            eprintln!("SKIPPED: a file cannot be given to another user: {e}");
            false
        }
    }
}

#[test]
fn what_is_made_is_for_the_user_alone() {
    let scratch = Scratch::new("modes");
    let folder = scratch.join("a").join("b");
    store_in(&folder, key(), b"good");
    assert_eq!(mode(&scratch.join("a")), 0o700, "a folder on the way");
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&file(&folder)), 0o600);
}

#[test]
fn links_in_the_place_of_kernels_are_not_followed() {
    let scratch = Scratch::new("link");
    let folder = filled(&scratch);
    // A kernel that would be believed, elsewhere.
    let elsewhere = scratch.join("elsewhere");
    fs::rename(file(&folder), &elsewhere).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    symlink(&elsewhere, file(&folder)).unwrap();
    assert_eq!(load_from(&folder, key()), None);
    // Storing takes the link away and leaves what it leads to.
    store_in(&folder, key(), b"new");
    assert!(fs::symlink_metadata(file(&folder)).unwrap().is_file());
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"new"[..]));
    // One that leads nowhere.
    fs::remove_file(file(&folder)).unwrap();
    symlink(scratch.join("nowhere"), file(&folder)).unwrap();
    assert_eq!(load_from(&folder, key()), None);
    store_in(&folder, key(), b"new");
    assert!(!scratch.join("nowhere").exists());
}

#[test]
fn files_under_way_have_names_that_no_one_foresees() {
    let scratch = Scratch::new("foreseen");
    let folder = filled(&scratch);
    let victim = scratch.join("victim");
    fs::write(&victim, "precious").unwrap();
    // Names that were given once: the process and a count.
    for n in 0..10_000 {
        symlink(&victim, folder.join(format!("{}.{}-{n}", key(), std::process::id()))).unwrap();
    }
    store_in(&folder, key(), b"new");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"new"[..]));
}

#[test]
fn a_pipe_in_the_place_of_a_kernel_is_no_kernel() {
    let scratch = Scratch::new("pipe");
    let folder = filled(&scratch);
    fs::remove_file(file(&folder)).unwrap();
    let name = CString::new(file(&folder).to_str().unwrap()).unwrap();
    // SAFETY: the name ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert_eq!(loaded(&folder), None);
    store_in(&folder, key(), b"new");
    assert_eq!(loaded(&folder).as_deref(), Some(&b"new"[..]));
    // Nor is a folder, which cannot be replaced: then nothing is kept.
    fs::remove_file(file(&folder)).unwrap();
    fs::create_dir(file(&folder)).unwrap();
    store_in(&folder, key(), b"new");
    assert_eq!(loaded(&folder), None);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_pipe_in_the_place_of_the_folder_is_no_folder() {
    let scratch = Scratch::new("pipe-folder");
    let folder = scratch.join("tida");
    let name = CString::new(folder.to_str().unwrap()).unwrap();
    // SAFETY: the name ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert_eq!(loaded(&folder), None);
    store_in(&folder, key(), b"new");
    assert!(!fs::symlink_metadata(&folder).unwrap().is_dir());
}

#[test]
fn files_are_read_up_to_a_bound() {
    let scratch = Scratch::new("huge");
    let folder = filled(&scratch);
    // As long as can be, and a byte more.
    for (bytes, found) in [((64 << 20) - HEADER, true), ((64 << 20) - HEADER + 1, false)] {
        let content = vec![7; bytes];
        let mut huge = File::create(file(&folder)).unwrap();
        huge.write_all(&header(&content)).unwrap();
        huge.write_all(&content).unwrap();
        drop(huge);
        assert_eq!(load_from(&folder, key()).is_some(), found, "{bytes}");
        // What would not be read is not written.
        fs::remove_file(file(&folder)).unwrap();
        store_in(&folder, key(), &content);
        assert_eq!(file(&folder).exists(), found, "{bytes}");
    }
    // One that has holes: no memory is asked for.
    File::create(file(&folder)).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(loaded(&folder), None);
}

#[test]
fn folders_that_others_can_write_are_not_used() {
    let scratch = Scratch::new("others");
    let folder = filled(&scratch);
    for open in [0o770, 0o720, 0o707, 0o702, 0o777, 0o1777, 0o2775] {
        set_mode(&folder, open);
        assert_eq!(load_from(&folder, key()), None, "{open:o}");
        store_in(&folder, key(), b"new");
        set_mode(&folder, 0o700);
        assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"good"[..]), "{open:o}");
    }
    // Others may look.
    set_mode(&folder, 0o755);
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"good"[..]));
}

#[test]
fn files_that_others_can_write_are_not_used() {
    let scratch = Scratch::new("others-file");
    let folder = filled(&scratch);
    for open in [0o660, 0o606, 0o602, 0o666] {
        set_mode(&file(&folder), open);
        assert_eq!(load_from(&folder, key()), None, "{open:o}");
    }
    store_in(&folder, key(), b"new");
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"new"[..]));
}

#[test]
fn what_belongs_to_another_user_is_not_used() {
    let scratch = Scratch::new("owner");
    let folder = filled(&scratch);
    if !give_away(&file(&folder)) {
        return;
    }
    assert_eq!(load_from(&folder, key()), None, "a file");
    store_in(&folder, key(), b"new");
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"new"[..]));
    assert!(give_away(&folder));
    assert_eq!(load_from(&folder, key()), None, "a folder");
    store_in(&folder, Key::new(&["other"]), b"new");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_a_link_is_not_used() {
    let scratch = Scratch::new("link-folder");
    let folder = filled(&scratch);
    let link = scratch.join("link");
    symlink(&folder, &link).unwrap();
    for path in [link.clone(), link.join(""), link.join("."), link.join("./.")] {
        assert_eq!(load_from(&path, key()), None, "{}", path.display());
        store_in(&path, key(), b"new");
        assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"good"[..]), "{}", path.display());
    }
    // Links further up are followed: homes are often behind one.
    let up = scratch.join("up");
    symlink(&scratch.0, &up).unwrap();
    assert_eq!(load_from(&up.join("tida"), key()).as_deref(), Some(&b"good"[..]));
    assert_eq!(load_from(&up.join("tida/"), key()).as_deref(), Some(&b"good"[..]));
}

#[test]
fn a_relative_path_is_no_folder() {
    let name = format!("tida-disk-relative-{}", std::process::id());
    let folder = Path::new(&name);
    store_in(folder, key(), b"new");
    let made = folder.exists();
    let _ = fs::remove_dir_all(folder);
    assert!(!made);
    assert_eq!(load_from(folder, key()), None);
}

#[test]
fn what_killed_programs_left_is_removed_and_nothing_else() {
    let scratch = Scratch::new("left");
    let folder = filled(&scratch);
    let hours_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
    let part = |n: u128| format!("{}.{n:032x}.part", key());
    let put = |name: &str, old: bool| {
        let file = File::create(folder.join(name)).unwrap();
        if old {
            file.set_modified(hours_ago).unwrap();
        }
    };
    let goes = [part(1), part(u128::MAX)];
    let stays = [format!("{}.part", key()), "notes.part".into(), format!("{}.kernel", Key::new(&["old"]))];
    goes.iter().chain(&stays).for_each(|name| put(name, true));
    // One that is being written, and one from a clock that is ahead.
    put(&part(2), false);
    put(&part(3), false);
    File::open(folder.join(part(3))).unwrap().set_modified(SystemTime::now() + Duration::from_secs(9000)).unwrap();
    // A link of that name, and a folder.
    symlink(file(&folder), folder.join(part(4))).unwrap();
    fs::create_dir(folder.join(part(5))).unwrap();
    Folder::open(&folder).unwrap().unwrap().remove_leftovers();
    for name in &goes {
        assert!(!folder.join(name).exists(), "{name}");
    }
    let stays = stays.into_iter().chain((2..=5).map(part));
    for name in stays {
        assert!(fs::symlink_metadata(folder.join(&name)).is_ok(), "{name}");
    }
    assert_eq!(load_from(&folder, key()).as_deref(), Some(&b"good"[..]));
}

#[test]
fn writers_and_removers_leave_each_other_alone() {
    let scratch = Scratch::new("beside");
    let folder = filled(&scratch);
    std::thread::scope(|scope| {
        for t in 0..4u8 {
            let folder = &folder;
            scope.spawn(move || {
                for n in 0..50 {
                    store_in(folder, key(), &[t; 10_000]);
                    let found = load_from(folder, key()).expect("a whole file");
                    assert!(found.len() == 10_000 && found.iter().all(|b| *b == found[0]), "{t} {n}");
                    Folder::open(folder).unwrap().unwrap().remove_leftovers();
                }
            });
        }
    });
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

/// Counts what is said.
struct Listener;

static SAID: AtomicUsize = AtomicUsize::new(0);

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
                self.0 += &format!("{}={value:?} ", field.name());
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        println!("<{}>", text.0.trim());
        SAID.fetch_add(1, Ordering::SeqCst);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// A process of [`that_a_folder_is_refused_is_said_once`].
#[test]
#[ignore = "runs as a child"]
fn child_asks_for_its_folder() {
    tracing::subscriber::set_global_default(Listener).unwrap();
    for _ in 0..3 {
        assert_eq!(load(key()), None);
        store(key(), b"new");
        println!("folder: {}", folder().is_some());
    }
    println!("said {} times", SAID.load(Ordering::SeqCst));
}

/// What such a process prints with this as its cache.
fn in_child(folder: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "backend::disk::hostile::child_asks_for_its_folder", "--ignored", "--nocapture"]);
    let output = child.env("TIDA_CACHE_DIR", folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn that_a_folder_is_refused_is_said_once() {
    let scratch = Scratch::new("said");
    let folder = filled(&scratch);
    set_mode(&folder, 0o777);
    let said = |folder: &str, found: &str| {
        let text = in_child(folder);
        assert!(text.contains("folder: false") && text.contains("said 1 times"), "{text}");
        let wanted = format!("tried to use the folder {folder} for compiled kernels; found {found}");
        assert!(text.contains(&wanted), "{wanted:?} is not in: {text}");
        assert!(text.contains("TIDA_CACHE_DIR"), "{text}");
    };
    said(folder.to_str().unwrap(), "that others may write to it (mode 777); make it its user's alone");
    said("here", "a path that is not absolute; name it by its whole path");
    let link = scratch.join("link");
    symlink(&folder, &link).unwrap();
    said(link.to_str().unwrap(), "a symbolic link; name the folder that it leads to");
    let plain = scratch.join("plain");
    fs::write(&plain, "").unwrap();
    said(plain.to_str().unwrap(), "something that is no folder; take it away");
    // No cache was asked for, or one that is not there yet: nothing to say.
    assert!(in_child("").contains("said 0 times"));
}
