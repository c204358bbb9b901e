//! What is OpenCL's own: the choice of a device, its errors, and many small launches from many threads.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tida_kernels::plan::Math;

use super::open;
use crate::acc::settings;
use crate::backend::chosen::Opening;
use crate::backend::{ALL_STREAMS, Argument, Backend, COPIES, Code, Event, Kernel, Memory, STREAMS};
use crate::error::{Error, ErrorKind};

/// Any device; without one, a word about it, or a failure where `TIDA_REQUIRE_OPENCL` is set.
fn device() -> Option<Arc<dyn Backend>> {
    match open(true, Opening::default(), None, 0) {
        Ok(device) => Some(device),
        Err(e) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("{e}"),
        Err(e) => {
            eprintln!("SKIPPED: OpenCL is not tested: {e}");
            None
        }
    }
}

/// `out[i] = 3 * from[i] + add` for `i < n`.
const AFFINE: &str = "__kernel void affine(__global int* out, __global const int* from, int n, int add) {\n\
                      int i = get_global_id(0);\nif (i < n) out[i] = 3 * from[i] + add;\n}\n";

fn compile(device: &Arc<dyn Backend>, text: &str, entry: &str, block: [u32; 3]) -> Result<Arc<dyn Kernel>, Error> {
    device.compile(&Code { text, entry, math: Math::Exact, block, shared: 0 })
}

fn affine(
    device: &Arc<dyn Backend>,
    stream: usize,
    kernel: &dyn Kernel,
    out: &Memory,
    from: &Memory,
    n: i32,
    add: i32,
) -> Result<(), Error> {
    let (count, add) = (n.to_ne_bytes(), add.to_ne_bytes());
    let arguments = [Argument::Memory(out), Argument::Memory(from), Argument::Bytes(&count), Argument::Bytes(&add)];
    let blocks = [(n as u32).div_ceil(32), 1, 1];
    // SAFETY: the parameters of `affine`; the callers' memory has `n` values and lives until they have waited.
    unsafe { device.launch(stream, kernel, blocks, [32, 1, 1], &arguments) }
}

fn upload(device: &Arc<dyn Backend>, stream: usize, values: &[i32]) -> Memory {
    let memory = Memory::new(device, size_of_val(values)).unwrap();
    // SAFETY: new memory of that size; `values` lives until the copy is done, just below.
    unsafe { device.upload(stream, &memory, 0, values.as_ptr().cast(), size_of_val(values)).unwrap() };
    device.record(stream).unwrap().finish().unwrap();
    memory
}

fn download(device: &Arc<dyn Backend>, stream: usize, memory: &Memory, n: usize) -> Vec<i32> {
    let mut values = vec![0; n];
    // SAFETY: both have the bytes, and live until the copy is done, just below.
    unsafe { device.download(stream, memory, 0, values.as_mut_ptr().cast(), 4 * n).unwrap() };
    device.record(stream).unwrap().finish().unwrap();
    values
}

/// One chain of launches per thread, each link in another stream than the one before, all with one kernel object.
#[test]
fn chains_across_streams_from_many_threads_keep_their_order() {
    let Some(device) = &device() else { return };
    let kernel = &*compile(device, AFFINE, "affine", [32, 1, 1]).unwrap();
    const N: usize = 100;
    const LINKS: usize = 600;
    let (done, started) = (&AtomicUsize::new(0), std::time::Instant::now());
    thread::scope(|scope| {
        for t in 0..6usize {
            scope.spawn(move || {
                let mut expected: Vec<i32> = (0..N as i32).map(|i| i * (t as i32 + 1)).collect();
                let mut a = upload(device, COPIES, &expected);
                let mut b = Memory::new(device, 4 * N).unwrap();
                let mut stream = t % STREAMS;
                let mut seed = t as u32 + 1;
                let mut last: Option<Arc<dyn Event>> = None;
                for link in 0..LINKS {
                    seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                    let next = (seed >> 16) as usize % (COPIES + 1);
                    if let Some(event) = &last {
                        device.wait(next, &**event).unwrap();
                    }
                    stream = next;
                    affine(device, stream, kernel, &b, &a, N as i32, link as i32).unwrap();
                    last = Some(device.record(stream).unwrap());
                    std::mem::swap(&mut a, &mut b);
                    expected.iter_mut().for_each(|v| *v = v.wrapping_mul(3).wrapping_add(link as i32));
                    if link % 97 == 0 {
                        assert_eq!(download(device, stream, &a, N), expected, "thread {t}, link {link}");
                    }
                }
                assert_eq!(download(device, stream, &a, N), expected, "thread {t}");
                assert!(last.unwrap().is_done());
                done.fetch_add(LINKS, Ordering::Relaxed);
            });
        }
    });
    eprintln!("{} launches in {:?}", done.load(Ordering::Relaxed), started.elapsed());
    assert_eq!(done.load(Ordering::Relaxed), 6 * LINKS);
}

/// Streams that wait for each other both ways, with nothing waited for on the host until the end.
#[test]
fn two_streams_may_wait_for_each_other_in_turn() {
    let Some(device) = &device() else { return };
    let kernel = &*compile(device, AFFINE, "affine", [32, 1, 1]).unwrap();
    let (a, b) = (upload(device, 0, &[1; 64]), upload(device, 0, &[0; 64]));
    let mut expected = 1_i32;
    for step in 0..2000 {
        let (out, from) = if step % 2 == 0 { (&b, &a) } else { (&a, &b) };
        let stream = step % 2;
        affine(device, stream, kernel, out, from, 64, step as i32).unwrap();
        expected = expected.wrapping_mul(3).wrapping_add(step as i32);
        let event = device.record(stream).unwrap();
        device.wait(1 - stream, &*event).unwrap();
    }
    assert_eq!(download(device, 0, &a, 64), [expected; 64]);
}

#[test]
fn empty_requests_do_nothing() {
    let Some(device) = &device() else { return };
    let kernel = compile(device, AFFINE, "affine", [32, 1, 1]).unwrap();
    let memory = upload(device, 0, &[4, 5]);
    affine(device, 0, &*kernel, &memory, &memory, 0, 9).unwrap();
    // SAFETY: no byte is touched.
    unsafe {
        device.upload(0, &memory, 8, std::ptr::null(), 0).unwrap();
        device.download(0, &memory, 8, std::ptr::null_mut(), 0).unwrap();
        device.copy(0, (&memory, 0), (&memory, 0), 0).unwrap();
        device.zero(0, &memory, 8, 0).unwrap();
    }
    assert_eq!(download(device, 0, &memory, 2), [4, 5]);
}

#[test]
fn wrong_calls_are_errors() {
    let Some(device) = &device() else { return };
    let kernel = compile(device, AFFINE, "affine", [32, 1, 1]).unwrap();
    let memory = upload(device, 0, &[1, 2]);
    // SAFETY: refused before anything runs.
    let few = unsafe { device.launch(0, &*kernel, [1; 3], [1; 3], &[Argument::Memory(&memory)]) }.unwrap_err();
    assert_eq!(few.found(), "1 arguments for a kernel of 4");
    // SAFETY: the driver refuses what lies outside.
    let outside = unsafe { device.zero(0, &memory, 4, 8) }.unwrap_err();
    assert!(outside.to_string().contains("set 8 bytes to zero") && outside.found().contains("CL_INVALID_VALUE"));
    let stream = device.record(ALL_STREAMS).unwrap_err();
    assert_eq!(stream.found(), format!("streams 0 to {}", ALL_STREAMS - 1));
    let other = open(true, Opening::default(), None, 0).unwrap();
    let event = other.record(0).unwrap();
    assert!(device.wait(0, &*event).unwrap_err().found().contains("CL_INVALID_CONTEXT"));
}

#[test]
fn a_block_that_the_kernel_cannot_have_is_an_error() {
    let Some(device) = &device() else { return };
    let most = device.facts().block_threads;
    let e = compile(device, AFFINE, "affine", [most, 2, 1]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Kernel);
    assert!(e.tried().contains(&format!("blocks of [{most}, 2, 1] threads")) && e.advice() == "use smaller blocks");
}

/// Memory is counted for all contexts on the device together.
#[test]
fn memory_that_is_taken_is_not_free() {
    let Some(device) = &device() else { return };
    let other = open(true, Opening::default(), None, 0).unwrap();
    let bytes = 64 << 20;
    let memory = Memory::new(device, bytes).unwrap();
    // Other tests allocate little beside this one.
    assert!(other.free_memory().unwrap() <= other.facts().memory - bytes as u64);
    drop(memory);
    let e = Memory::new(device, device.facts().memory as usize + 1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Memory);
    let (tried, advice) = (e.tried(), e.advice());
    assert!(tried.contains(&format!("allocate {} bytes", device.facts().memory + 1)) && !advice.is_empty(), "{e}");
    assert!(e.found().contains("bytes are free"), "{e}");
}

/// What `open` says, for the processes that [`in_child`] starts.
#[test]
#[ignore = "started by other tests, in an environment of theirs"]
fn child_opens() {
    match open(true, Opening::default(), settings::opencl_device(None).as_ref(), 0) {
        Ok(device) => println!("<{}>", device.facts().name),
        Err(e) => println!("<{:?} {e}>", e.kind()),
    }
}

/// What is opened in a process with this in its environment.
fn in_child(name: &str, value: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "backend::opencl::tests::child_opens", "--ignored", "--nocapture"]);
    // Another loader may find other platforms: only tests of the loader itself choose it.
    if name != "TIDA_OPENCL_DEVICE" {
        child.env_remove("OPENCL_DYLIB_PATH");
    }
    let output = child.env(name, value).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>')).map(|(said, _)| said.to_owned());
    said.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn the_environment_chooses_a_device() {
    if device().is_none() {
        return;
    }
    let said = in_child("TIDA_OPENCL_DEVICE", "no such device");
    assert!(
        said.starts_with(
            "Argument tried to use the OpenCL device that TIDA_OPENCL_DEVICE=no such device names; found the devices 0: "
        ) && said.ends_with("set TIDA_OPENCL_DEVICE to the number of one, or a piece of its name, or unset it"),
        "{said}"
    );
    assert!(in_child("TIDA_OPENCL_DEVICE", "999").contains("TIDA_OPENCL_DEVICE=999 names"));
    let first = in_child("TIDA_OPENCL_DEVICE", "0");
    assert!(
        !first.contains("tried to") || first.contains("found the devices 0: ") && first.contains(", which "),
        "{first}"
    );
    // The first device of such a name, which may be longer. The name is that of a child's device: some loaders cut the
    // text of OCL_ICD_FILENAMES in this process's environment where it lies, so that children have fewer platforms.
    let name = in_child("TIDA_OPENCL_DEVICE", "");
    assert!(!name.contains("tried to"), "{name}");
    let said = in_child("TIDA_OPENCL_DEVICE", &name.to_uppercase());
    assert!(!said.contains("tried to") && said.to_lowercase().contains(&name.to_lowercase()), "{said:?}, not {name:?}");
}

/// A folder of this name beside the test's program, empty.
#[cfg(target_os = "linux")]
fn empty_folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("tida-opencl-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
#[cfg(target_os = "linux")]
fn no_platform_is_an_error() {
    if device().is_none() {
        return;
    }
    let folder = empty_folder("vendors");
    let said = in_child("OCL_ICD_VENDORS", &format!("{}/", folder.display()));
    std::fs::remove_dir_all(&folder).unwrap();
    if !said.contains("tried to") {
        eprintln!("skipped: the loader has platforms of its own");
        return;
    }
    assert_eq!(
        said,
        "Device tried to find an OpenCL device; found the loader libOpenCL.so.1, but no platform; install the \
         device's driver, or PoCL for the CPU (Debian: pocl-opencl-icd); the loader looks in /etc/OpenCL/vendors or \
         OCL_ICD_VENDORS"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn no_loader_is_an_error() {
    // The dynamic linker stops at the first file of the name, and this one is no library.
    let folder = empty_folder("loader");
    std::fs::write(folder.join("libOpenCL.so.1"), b"").unwrap();
    let said = in_child("LD_LIBRARY_PATH", &folder.display().to_string());
    std::fs::remove_dir_all(&folder).unwrap();
    if !said.contains("tried to") {
        eprintln!("skipped: the loader has platforms of its own");
        return;
    }
    assert_eq!(
        said,
        "Device tried to find an OpenCL device; found no loader libOpenCL.so.1 that can be loaded; install one \
         (Debian: ocl-icd-libopencl1), or give its path in OPENCL_DYLIB_PATH"
    );
}
