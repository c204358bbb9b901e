//! Where files are saved: what is replaced, what is refused, and what stays if it fails.
#![cfg(all(feature = "ndarray", feature = "npz"))]
#![cfg(unix)]

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tida::prelude::*;
use tida_tests::folder::Folder;

fn acc() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap()
}

fn filled(acc: &TileAcc, cells: usize, value: f64) -> TileArray<f64, 1> {
    let mut u = TileArray::builder([cells]).build(acc).unwrap();
    u.fill_value(value).unwrap();
    u
}

type Saver<'a> = Box<dyn Fn(&Path) -> tida::Result<()> + 'a>;

/// Both ways to save.
fn savers(u: &TileArray<f64, 1>) -> [Saver<'_>; 2] {
    [Box::new(|path| u.save_npy(path)), Box::new(|path| tida::save(path, &[("u", u)]))]
}

/// The one value that a saved file holds.
fn value_in(path: &Path) -> f64 {
    let acc = acc();
    if let Ok([cells]) = TileArray::<f64, 1>::npy_shape(path) {
        let u = TileArray::<f64, 1>::builder([cells]).build_npy(&acc, path).unwrap();
        return u.to_ndarray().unwrap()[cells - 1];
    }
    let mut u = filled(&acc, 3, 0.0);
    tida::restore(path, &mut [("u", &mut u)]).unwrap();
    u.to_ndarray().unwrap()[2]
}

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn fifo(path: &Path) {
    // SAFETY: the path ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(c(path).as_ptr(), 0o644) }, 0);
}

#[test]
fn what_is_no_file_is_refused_and_stays() {
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 1.0);
    fs::create_dir(folder.file("dir")).unwrap();
    fifo(&folder.file("fifo"));
    let _socket = UnixListener::bind(folder.file("socket")).unwrap();
    symlink("/dev/full", folder.file("to full")).unwrap();
    symlink("dir", folder.file("to dir")).unwrap();
    let mut cases = vec![
        ("dir", "a folder"),
        ("fifo", "a pipe"),
        ("socket", "a socket"),
        ("to full", "a device"),
        ("to dir", "a folder"),
    ];
    // SAFETY: the path ends with a zero. Only root may.
    if unsafe { libc::mknod(c(&folder.file("full")).as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 7)) } == 0 {
        cases.push(("full", "a device"));
    }
    let before = folder.names();
    for (name, found) in cases {
        let path = folder.file(name);
        for save in savers(&u) {
            let was = (fs::symlink_metadata(&path).unwrap().file_type(), fs::metadata(&path).unwrap().rdev());
            let e = save(&path).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Io, "{e}");
            assert!(e.tried().contains(name) && e.found().starts_with(found) && e.advice().contains("file"), "{e}");
            let is = (fs::symlink_metadata(&path).unwrap().file_type(), fs::metadata(&path).unwrap().rdev());
            assert_eq!(is, was, "{name}");
        }
    }
    assert_eq!(folder.names(), before);
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn paths_that_name_no_file_are_refused() {
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 1.0);
    fs::write(folder.file("file"), b"mine").unwrap();
    for name in ["new.npy/", "new.npy/.", "..", ".", "file/", "file/x.npy", "no/such.npy"] {
        for save in savers(&u) {
            let e = save(&folder.file(name)).unwrap_err();
            assert!(e.kind() == ErrorKind::Io && !e.advice().is_empty(), "{name}: {e}");
        }
    }
    assert!(u.save_npy("").is_err());
    let e = u.save_npy(folder.file("no/such.npy")).unwrap_err();
    assert!(e.found().contains(&format!("no folder {}", folder.file("no").display())), "{e}");
    assert!(e.advice().contains("create_dir_all"), "{e}");
    assert_eq!(folder.names(), ["file"]);
    assert_eq!(fs::read(folder.file("file")).unwrap(), b"mine");
}

#[test]
fn links_are_followed_and_stay() {
    let (acc, folder) = (acc(), Folder::new());
    fs::create_dir(folder.file("far")).unwrap();
    fs::write(folder.file("far/target"), b"old").unwrap();
    symlink("far/target", folder.file("relative")).unwrap();
    symlink(folder.file("far/target"), folder.file("absolute")).unwrap();
    symlink("../relative", folder.file("far/back")).unwrap();
    symlink("far/back", folder.file("chain")).unwrap();
    symlink("far", folder.file("folder")).unwrap();
    symlink("far/made", folder.file("dangling")).unwrap();
    symlink("two", folder.file("one")).unwrap();
    symlink("one", folder.file("two")).unwrap();
    symlink("no/such", folder.file("lost")).unwrap();
    let links = ["relative", "absolute", "chain", "far/back", "dangling", "one", "two", "lost"];
    let before: Vec<_> = links.iter().map(|link| fs::read_link(folder.file(link)).unwrap()).collect();
    let names = folder.names();
    let mut value = 0.0;
    let cases = [
        ("relative", "far/target"),
        ("absolute", "far/target"),
        ("chain", "far/target"),
        ("folder/target", "far/target"),
        ("dangling", "far/made"),
        ("dangling", "far/made"),
    ];
    for (through, target) in cases {
        for which in 0..2 {
            value += 1.0;
            let u = filled(&acc, 3, value);
            savers(&u)[which](&folder.file(through)).unwrap();
            assert!(fs::symlink_metadata(folder.file(target)).unwrap().is_file(), "{through}");
            assert_eq!(value_in(&folder.file(target)), value, "{through}");
        }
    }
    let u = filled(&acc, 3, 1.0);
    for save in savers(&u) {
        let e = save(&folder.file("one")).unwrap_err();
        assert!(e.kind() == ErrorKind::Io && e.found().contains("links"), "{e}");
        let e = save(&folder.file("lost")).unwrap_err();
        assert!(e.found().contains(&format!("no folder {}", folder.file("no").display())), "{e}");
    }
    let after: Vec<_> = links.iter().map(|link| fs::read_link(folder.file(link)).unwrap()).collect();
    assert_eq!(after, before);
    assert_eq!(folder.names(), names, "no part is left");
    assert_eq!(fs::read_dir(folder.file("far")).unwrap().count(), 3, "back, made and target");
}

#[test]
fn the_file_of_an_open_descriptor_is_replaced_where_it_has_a_path() {
    use std::os::fd::AsRawFd;
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 7.0);
    let file = fs::File::create(folder.file("open")).unwrap();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    if !Path::new(&path).exists() {
        return;
    }
    u.save_npy(&path).unwrap();
    assert_eq!(value_in(&folder.file("open")), 7.0);
    // What the link says of a deleted file is no path.
    let file = fs::File::create(folder.file("gone")).unwrap();
    fs::remove_file(folder.file("gone")).unwrap();
    let e = u.save_npy(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Io, "{e}");
    assert_eq!(folder.names(), ["open"]);
}

#[test]
fn the_mode_of_a_file_is_kept() {
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 1.0);
    let path = folder.file("u.npy");
    for mode in [0o600, 0o640, 0o666, 0o777, 0o604] {
        for save in savers(&u) {
            fs::write(&path, b"old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            save(&path).unwrap();
            assert_eq!(value_in(&path), 1.0);
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        }
    }
    // A new file has the mode that any new file has.
    fs::write(folder.file("any"), b"").unwrap();
    u.save_npy(folder.file("new")).unwrap();
    let mode = |name| fs::metadata(folder.file(name)).unwrap().mode();
    assert_eq!(mode("new"), mode("any"));
    // And who it belongs to. Only root may give it away.
    if std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_ok() {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        u.save_npy(&path).unwrap();
        let is = fs::metadata(&path).unwrap();
        assert_eq!((is.uid(), is.gid(), is.mode() & 0o7777), (65534, 65534, 0o640));
    }
}

#[test]
fn the_longest_names_work_and_longer_ones_are_errors() {
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 1.0);
    let longest = ["n".repeat(255), "ä".repeat(127), format!("{}.npy", "x".repeat(251)), "\u{1d11e}".repeat(63)];
    for name in &longest {
        for save in savers(&u) {
            let path = folder.file(name);
            // Some file systems have shorter names.
            if fs::write(&path, b"old").is_ok() {
                save(&path).unwrap();
                assert_eq!(value_in(&path), 1.0);
                assert_eq!(folder.names(), [name.as_str()]);
                fs::remove_file(&path).unwrap();
            }
        }
    }
    for name in ["n".repeat(256), "ä".repeat(128), "n/".repeat(3000) + "n"] {
        for save in savers(&u) {
            let e = save(&folder.file(&name)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Io, "{e}");
            assert!(e.found().contains("longer than"), "{}", e.found());
            assert!(e.advice().contains("shorter"), "{}", e.advice());
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn a_name_that_is_no_text_works() {
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 1.0);
    let path = folder.file(std::ffi::OsStr::from_bytes(b"\xff\xfe.npy"));
    if fs::write(&path, b"old").is_ok() {
        u.save_npy(&path).unwrap();
        assert_eq!(value_in(&path), 1.0);
        assert_eq!(folder.names().len(), 1);
    }
}

/// What a process of its own does: nothing where these tests run.
#[test]
fn child() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let path = variable("TIDA_TEST_PATH");
    let save = |cells| tida::save(&path, &[("u", &filled(&acc(), cells, 5.0))]);
    match variable("TIDA_TEST_CHILD").as_str() {
        "" => {}
        // What went wrong, for the parent.
        "save" => match save(1 << 20) {
            Ok(()) => println!("<saved>"),
            Err(e) => println!("<{:?}|{}|{}>", e.kind(), e.found(), e.advice()),
        },
        "save small" => match save(3) {
            Ok(()) => println!("<saved>"),
            Err(e) => println!("<{:?}|{}|{}>", e.kind(), e.found(), e.advice()),
        },
        "save again and again" => {
            let u = filled(&acc(), 1 << 16, 5.0);
            let seconds: f64 = variable("TIDA_TEST_SECONDS").parse().unwrap();
            let start = Instant::now();
            while start.elapsed().as_secs_f64() < seconds {
                tida::save(&path, &[("u", &u)]).unwrap();
            }
            println!("<saved>");
        }
        other => panic!("{other}"),
    }
}

fn process(does: &str, path: &Path) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env("TIDA_TEST_CHILD", does).env("TIDA_TEST_PATH", path);
    child
}

/// What it said between `<` and `>`.
#[track_caller]
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>')) {
        Some((said, _)) => said.to_owned(),
        None => panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// A limit on the size of files, and what becomes of who passes it: the signal's default is to be killed.
fn limited(mut child: Command, bytes: u64, killed: bool) -> Command {
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: plain system calls, which are allowed between fork and exec.
        unsafe {
            libc::signal(libc::SIGXFSZ, if killed { libc::SIG_DFL } else { libc::SIG_IGN });
            // No core file.
            libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
            match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        }
    };
    // SAFETY: as above.
    unsafe { child.pre_exec(limit) };
    child
}

#[test]
fn what_killed_runs_left_is_removed_by_the_next_save() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    let u = filled(&acc, 3, 1.0);
    tida::save(&path, &[("u", &u)]).unwrap();
    let kill = || {
        let output = limited(process("save", &path), 3 << 20, true).output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGXFSZ), "{output:?}");
    };
    kill();
    assert_eq!(folder.names().len(), 2, "what it was writing is left");
    kill();
    assert_eq!(folder.names().len(), 2, "that one is gone, and the next one left");
    assert_eq!(value_in(&path), 1.0);
    // Files of other names stay, and so does what others left.
    let left = folder.names().into_iter().find(|name| name != "step.npz").unwrap();
    let others =
        [left.replace("step.npz", "step.npy"), format!("{left}~"), "step.npz.tmp".into(), "step.npz.1.2.tmp".into()];
    for name in &others {
        fs::write(folder.file(name), b"mine").unwrap();
    }
    tida::save(&path, &[("u", &filled(&acc, 3, 2.0))]).unwrap();
    assert_eq!(value_in(&path), 2.0);
    let mut expected: Vec<&str> = others.iter().map(String::as_str).chain(["step.npz"]).collect();
    expected.sort();
    assert_eq!(folder.names(), expected);
}

#[test]
fn savers_of_one_file_leave_each_other_alone() {
    let folder = Folder::new();
    let path = folder.file("step.npz");
    let start = Instant::now();
    let forever = |seconds: f64| {
        let mut child = process("save again and again", &path);
        child.env("TIDA_TEST_SECONDS", seconds.to_string()).stdout(std::process::Stdio::piped());
        child.stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let steady = [forever(3.0), forever(3.0)];
    let here = std::thread::spawn({
        let path = path.clone();
        move || {
            let u = filled(&acc(), 1 << 16, 5.0);
            while start.elapsed() < Duration::from_secs(3) {
                tida::save(&path, &[("u", &u)]).unwrap();
            }
        }
    });
    // Others are killed while they save.
    let mut n = 0;
    while start.elapsed() < Duration::from_millis(2500) {
        let mut victim = forever(60.0);
        std::thread::sleep(Duration::from_millis(60 + 37 * (n % 5)));
        victim.kill().unwrap();
        victim.wait().unwrap();
        n += 1;
    }
    here.join().unwrap();
    for child in steady {
        assert_eq!(said(&child.wait_with_output().unwrap()), "saved");
    }
    tida::save(&path, &[("u", &filled(&acc(), 3, 2.0))]).unwrap();
    assert_eq!(value_in(&path), 2.0);
    assert_eq!(folder.names(), ["step.npz"]);
}

#[test]
fn a_file_that_grows_too_large_is_an_error_and_loses_nothing() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    tida::save(&path, &[("u", &filled(&acc, 3, 1.0))]).unwrap();
    let output = limited(process("save", &path), 3 << 20, false).output().unwrap();
    let said = said(&output);
    assert!(said.starts_with("Io|") && said.contains("a file larger than") && said.contains("ulimit -f"), "{said}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("Zip"), "nothing is printed: {text}");
    assert_eq!(value_in(&path), 1.0);
    assert_eq!(folder.names(), ["step.npz"]);
}

/// With a small file system of its own in a folder, which only the child sees; the old file is in it. `read_only`: from
/// then on. The child ends with 99 where that cannot be had.
fn mounted(mut child: Command, folder: &Path, file: &Path, read_only: bool) -> Command {
    let (folder, file, copy) = (c(folder), file.to_owned(), fs::read(file).unwrap());
    // SAFETY: asks only.
    let maps = unsafe { (format!("0 {} 1", libc::geteuid()), format!("0 {} 1", libc::getegid())) };
    // Who is not root may mount in a space of its own users, where the system allows it.
    let space = move || {
        // SAFETY: plain system calls.
        unsafe {
            if libc::unshare(libc::CLONE_NEWNS) == 0 {
                return Ok(());
            }
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS);
        }
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", &maps.0)?;
        fs::write("/proc/self/gid_map", &maps.1)
    };
    let mount = move || {
        let (tmpfs, none) = (c"tmpfs".as_ptr(), std::ptr::null());
        let again = libc::MS_REMOUNT | libc::MS_RDONLY;
        // SAFETY: plain system calls, of texts that end with a zero.
        let had = unsafe {
            space().is_ok()
                && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
                && libc::mount(tmpfs, folder.as_ptr(), tmpfs, 0, c"size=1m".as_ptr().cast()) == 0
                && fs::write(&file, &copy).is_ok()
                && (!read_only || libc::mount(none, folder.as_ptr(), none, again, none.cast()) == 0)
        };
        if !had {
            // SAFETY: ends the child.
            unsafe { libc::_exit(99) };
        }
        Ok(())
    };
    // SAFETY: as above. Files are written, of bytes that are there.
    unsafe { child.pre_exec(mount) };
    child
}

#[test]
fn a_full_or_read_only_disk_is_an_error_and_loses_nothing() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    tida::save(&path, &[("u", &filled(&acc, 3, 1.0))]).unwrap();
    for (read_only, found, advice) in [(false, "no space left", "free some"), (true, "read-only", "another")] {
        let mut look = Command::new("sh");
        // The child becomes a shell that starts it, then looks at what is there.
        let script = r#""$0" child --exact --nocapture; echo "[$(ls "$TIDA_TEST_FOLDER" | wc -l) $(cksum < "$TIDA_TEST_PATH")]""#;
        look.arg("-c").arg(script).arg(std::env::current_exe().unwrap()).env("TIDA_TEST_FOLDER", &folder.0);
        look.env("TIDA_TEST_CHILD", "save").env("TIDA_TEST_PATH", &path);
        let output = mounted(look, &folder.0, &path, read_only).output().unwrap();
        if output.status.code() == Some(99) {
            eprintln!("skipped: no file system can be mounted here");
            return;
        }
        let said = said(&output);
        assert!(said.starts_with("Io|") && said.contains(found) && said.contains(advice), "{said}");
        let sum = Command::new("cksum").stdin(fs::File::open(&path).unwrap()).output().unwrap();
        let expected = format!("[1 {}]", String::from_utf8_lossy(&sum.stdout).trim());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&expected), "{text} {expected}");
    }
}

#[test]
fn files_and_folders_that_may_not_be_written_are_errors() {
    let (acc, folder) = (acc(), Folder::new());
    // SAFETY: asks only.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can become someone else");
        return;
    }
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let path = folder.file("step.npz");
    let as_nobody = || said(&process("save small", &path).uid(65534).gid(65534).output().unwrap());
    // A folder that only its owner may write.
    mode(&folder.0, 0o755);
    let text = as_nobody();
    assert!(text.starts_with("Io|") && text.contains("no permission") && text.contains("folder"), "{text}");
    assert!(folder.names().is_empty());
    // A file that is protected, in a folder that anyone may write.
    tida::save(&path, &[("u", &filled(&acc, 3, 1.0))]).unwrap();
    mode(&folder.0, 0o777);
    mode(&path, 0o444);
    let text = as_nobody();
    assert!(text.starts_with("Io|") && text.contains("no permission to write"), "{text}");
    assert_eq!((value_in(&path), folder.names()), (1.0, vec!["step.npz".to_owned()]));
    // A folder that may be written and not read: it can be neither searched for what was left nor synced.
    mode(&path, 0o666);
    mode(&folder.0, 0o733);
    assert_eq!(as_nobody(), "saved");
    mode(&folder.0, 0o755);
    assert_eq!((value_in(&path), folder.names()), (5.0, vec!["step.npz".to_owned()]));
}

#[test]
fn names_of_arrays_that_no_file_can_hold_are_errors() {
    let (acc, folder) = (acc(), Folder::new());
    let u = filled(&acc, 3, 1.0);
    let e = tida::save(folder.file("step.npz"), &[(&"n".repeat(70_000), &u)]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Argument, "{e}");
    assert!(e.advice().contains("shorter") && e.found().len() < 300, "{e}");
    assert!(folder.names().is_empty());
}
