//! What every backend has to do, tested on each one that opens here.
//!
//! A device that is not there skips its tests and says so; `TIDA_REQUIRE_CUDA` or `TIDA_REQUIRE_OPENCL` in the
//! environment makes that a failure.

use std::sync::{Arc, OnceLock};
use std::thread;

use tida_kernels::plan::{Dialect, Math};

use super::{Argument, Backend, COPIES, Code, Kernel, Memory, STREAMS, STRIPS, cuda, disk, host, opencl, sim};
use crate::acc::settings;
use crate::error::{Error, ErrorKind};

type Device = Arc<dyn Backend>;

/// Runs each function on every device that opens.
macro_rules! contract {
    ($($name:ident)*) => {
        mod on_cuda {
            $(#[test] fn $name() { if let Some(device) = super::cuda_device() { super::$name(device) } })*
        }
        mod on_opencl {
            $(#[test] fn $name() { if let Some(device) = super::opencl_device() { super::$name(device) } })*
        }
    };
}

contract! {
    facts_are_sensible
    copies_go_both_ways
    zeros_and_copies_on_the_device
    every_stream_works
    kernels_run
    streams_wait_for_each_other
    timed_events_say_when
    calls_come_from_many_threads
    pinned_memory_copies_the_same
    memory_that_is_not_pinned_copies_the_same
    an_upload_reads_what_downloads_before_it_wrote
    neighbours_of_pinned_memory_copy_the_same
    too_much_memory_is_an_error
    memory_comes_back
    bad_text_is_an_error
    a_missing_entry_is_an_error
    the_second_compile_is_from_disk
    exact_math_does_not_contract
    kernels_say_what_they_use
    only_cuda_takes_ptx
}

/// What needs no compiler, on a simulated device and on the host as a device.
macro_rules! without_compiler {
    ($($name:ident)*) => {
        mod on_sim {
            $(#[test] fn $name() { super::$name(super::sim_device()) })*
        }
        mod on_host {
            $(#[test] fn $name() { super::$name(super::host_device()) })*
        }
    };
}

without_compiler! {
    facts_are_sensible
    copies_go_both_ways
    zeros_and_copies_on_the_device
    every_stream_works
    pinned_memory_copies_the_same
    memory_that_is_not_pinned_copies_the_same
    an_upload_reads_what_downloads_before_it_wrote
    neighbours_of_pinned_memory_copy_the_same
    too_much_memory_is_an_error
    memory_comes_back
}

fn sim_device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| sim::open(sim::SimDevice::new().memory(64 << 20), None).unwrap())
}

fn host_device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| host::open(64 << 20, Some(2)).unwrap())
}

fn cuda_device() -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    DEVICE
        .get_or_init(|| opened("CUDA", "TIDA_REQUIRE_CUDA", settings::cuda_device(None).and_then(cuda::open)))
        .as_ref()
}

fn opencl_device() -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    DEVICE
        .get_or_init(|| {
            opened(
                "OpenCL",
                "TIDA_REQUIRE_OPENCL",
                opencl::open(
                    true,
                    crate::backend::chosen::Opening::default(),
                    settings::opencl_device(None).as_ref(),
                    0,
                ),
            )
        })
        .as_ref()
}

fn opened(what: &str, required: &str, device: Result<Device, Error>) -> Option<Device> {
    match device {
        Ok(device) => Some(device),
        Err(e) if std::env::var_os(required).is_some() => panic!("{required} is set: {e}"),
        Err(e) => {
            eprintln!("SKIPPED: {what} is not tested: {e}");
            None
        }
    }
}

/// `out[i] = 3 * in[i] + add` for `i < n`.
fn affine(device: &Device) -> (&'static str, &'static str) {
    match device.facts().dialect {
        Dialect::Cuda => (
            "extern \"C\" __global__ void affine(int* out, const int* in, unsigned long long n, int add) {\n\
             unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n\
             if (i < n) out[i] = 3 * in[i] + add;\n}\n",
            "affine",
        ),
        Dialect::OpenCl => (
            "__kernel void affine(__global int* out, __global const int* in, ulong n, int add) {\n\
             size_t i = get_global_id(0);\n\
             if (i < n) out[i] = 3 * in[i] + add;\n}\n",
            "affine",
        ),
    }
}

const BLOCK: [u32; 3] = [64, 1, 1];

fn compile(device: &Device, (text, entry): (&str, &str)) -> Result<Arc<dyn Kernel>, Error> {
    let code = Code { text, entry, math: Math::Exact, block: BLOCK, shared: 0 };
    device.kept(&code).map_or_else(|| device.compile(&code), Ok)
}

fn blocks(n: usize) -> [u32; 3] {
    [(n as u32).div_ceil(BLOCK[0]), 1, 1]
}

fn finish(device: &Device, stream: usize) {
    let event = device.record(stream).unwrap();
    event.finish().unwrap();
    assert!(event.is_done());
}

/// New memory that holds these values.
fn filled(device: &Device, stream: usize, values: &[i32]) -> Memory {
    let memory = Memory::new(device, size_of_val(values)).unwrap();
    // SAFETY: the memory is new and of that size; `values` lives until the copy is done, just below.
    unsafe { device.upload(stream, &memory, 0, values.as_ptr().cast(), size_of_val(values)).unwrap() };
    finish(device, stream);
    memory
}

/// The first `n` values of memory, behind the work of a stream.
fn values(device: &Device, stream: usize, memory: &Memory, n: usize) -> Vec<i32> {
    let mut values = vec![-1; n];
    // SAFETY: both have the bytes, and live until the copy is done, just below.
    unsafe { device.download(stream, memory, 0, values.as_mut_ptr().cast(), n * 4).unwrap() };
    finish(device, stream);
    values
}

fn launch_affine(device: &Device, stream: usize, kernel: &dyn Kernel, out: &Memory, from: &Memory, n: usize, add: i32) {
    let (count, add) = ((n as u64).to_ne_bytes(), add.to_ne_bytes());
    let arguments = [Argument::Memory(out), Argument::Memory(from), Argument::Bytes(&count), Argument::Bytes(&add)];
    // SAFETY: the parameters of `affine`; the callers' memory has `n` values and lives until they have waited.
    unsafe { device.launch(stream, kernel, blocks(n), BLOCK, &arguments).unwrap() };
}

/// A device that reaches another one reads what that has written, once it has waited for its event.
fn reads_beside(one: &Device, other: &Device) {
    assert!(one.reaches(&**other) && other.reaches(&**one));
    let count = 1 << 12;
    let ours: Vec<i32> = (0..count).collect();
    let from = filled(one, 0, &vec![-7; ours.len()]);
    let to = filled(other, 0, &vec![-8; ours.len()]);
    let bytes = from.bytes();
    for round in 0..4 {
        let new: Vec<i32> = ours.iter().map(|n| n + round).collect();
        let event = {
            // SAFETY: the memory has so many bytes; all live until the copies are done, below.
            unsafe { one.upload(1, &from, 0, new.as_ptr().cast(), bytes).unwrap() };
            one.mark(1).unwrap()
        };
        one.flush(1).unwrap();
        other.wait(STRIPS, &*event).unwrap();
        // SAFETY: as above.
        unsafe { other.copy(STRIPS, (&from, 0), (&to, 0), bytes).unwrap() };
        let taken = other.mark(STRIPS).unwrap();
        other.flush(STRIPS).unwrap();
        assert_eq!(values(other, STRIPS, &to, new.len()), new);
        // The one that gives overwrites it after that.
        one.wait(1, &*taken).unwrap();
    }
    finish(one, 1);
}

#[test]
fn simulated_devices_read_beside() {
    let all = || sim::SimCluster::of(3, sim::SimDevice::new()).no_link([0, 2]).into_devices(true).unwrap().into_iter();
    let [first, second, third] = all().collect::<Vec<_>>().try_into().unwrap();
    let one = sim::open(first, None).unwrap();
    let [other, apart] = [second, third].map(|spec| sim::open(spec, Some(&*one)).unwrap());
    assert!(one.reaches(&*other) && other.reaches(&*apart) && !one.reaches(&*apart) && !apart.reaches(&*one));
    reads_beside(&one, &other);
    reads_beside(&one, &one);
    // One that does not wait finds what nobody has written yet.
    let from = filled(&one, 0, &[1; 64]);
    let to = filled(&other, 0, &[2; 64]);
    // SAFETY: both memories have so many bytes, and live until all is done.
    unsafe {
        one.upload(1, &from, 0, [3; 64].as_ptr().cast(), from.bytes()).unwrap();
        other.copy(STRIPS, (&from, 0), (&to, 0), from.bytes()).unwrap();
    }
    assert_ne!(values(&other, STRIPS, &to, 64), [3; 64]);
    finish(&one, 1);
    let alone = sim::open(sim::SimDevice::new(), None).unwrap();
    assert!(!one.reaches(&*alone) && !alone.reaches(&**host_device()));
}

#[test]
fn cuda_devices_read_beside() {
    let Some(one) = cuda_device() else { return };
    reads_beside(one, one);
    let second = super::chosen::Chosen { which: 1, by_builder: true };
    match cuda::open(Some(second)) {
        Ok(other) if one.reaches(&*other) => reads_beside(one, &other),
        _ => eprintln!("SKIPPED: no second CUDA device that this one reaches"),
    }
}

fn facts_are_sensible(device: &Device) {
    let facts = device.facts();
    eprintln!("{facts:?}, {:?} bytes free", device.free_memory());
    assert!(!facts.name.is_empty() && !facts.target.is_empty());
    assert!(facts.memory > 0 && facts.block_threads > 0);
    assert!(facts.grid.iter().all(|n| *n > 0));
    assert!(device.free_memory().is_none_or(|free| free <= facts.memory));
}

fn copies_go_both_ways(device: &Device) {
    let there: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8).collect();
    let memory = Memory::new(device, 6000).unwrap();
    let mut back = vec![0u8; 4000];
    // SAFETY: all stretches lie in their memory, and everything lives until the copies are done.
    unsafe {
        device.upload(0, &memory, 1000, there.as_ptr(), 5000).unwrap();
        device.download(0, &memory, 1500, back.as_mut_ptr(), 4000).unwrap();
        device.upload(0, &memory, 6000, there.as_ptr(), 0).unwrap();
    }
    finish(device, 0);
    assert_eq!(back, there[500..4500]);
}

fn zeros_and_copies_on_the_device(device: &Device) {
    let from = filled(device, 1, &(0..1000).collect::<Vec<_>>());
    let to = filled(device, 1, &[9; 1000]);
    // SAFETY: all stretches lie in their memory, which lives until the work is done.
    unsafe {
        device.copy(1, (&from, 400), (&to, 800), 1200).unwrap();
        device.zero(1, &to, 1000, 7).unwrap();
        device.zero(1, &to, 3600, 400).unwrap();
        device.zero(1, &to, 4000, 0).unwrap();
    }
    let mut expected = vec![9; 1000];
    expected[200..500].copy_from_slice(&(100..400).collect::<Vec<i32>>());
    let mut bytes: Vec<u8> = expected.iter().flat_map(|v| v.to_ne_bytes()).collect();
    bytes[1000..1007].fill(0);
    bytes[3600..].fill(0);
    let found: Vec<u8> = values(device, 1, &to, 1000).iter().flat_map(|v| v.to_ne_bytes()).collect();
    assert_eq!(found, bytes);
}

fn every_stream_works(device: &Device) {
    for stream in 0..=COPIES {
        let memory = filled(device, stream, &[stream as i32; 10]);
        assert_eq!(values(device, stream, &memory, 10), [stream as i32; 10]);
        device.flush(stream).unwrap();
    }
}

fn kernels_run(device: &Device) {
    let kernel = compile(device, affine(device)).unwrap();
    for n in [1, 63, 64, 65, 100_003] {
        let from: Vec<i32> = (0..n as i32).collect();
        let (source, out) = (filled(device, 0, &from), filled(device, 0, &vec![7; n + 1]));
        launch_affine(device, 0, &*kernel, &out, &source, n, -5);
        let found = values(device, 0, &out, n + 1);
        assert!(from.iter().zip(&found).all(|(from, found)| *found == 3 * from - 5), "{n}");
        assert_eq!(found[n], 7, "written past the end");
    }
}

fn streams_wait_for_each_other(device: &Device) {
    let kernel = compile(device, affine(device)).unwrap();
    let n = 1 << 20;
    let from: Vec<i32> = (0..n as i32).collect();
    let (a, b) = (filled(device, 0, &from), filled(device, 0, &vec![0; n]));
    let mut expected = from;
    // Each launch reads what the one before wrote, in another stream.
    for step in 0..12 {
        let (out, source) = if step % 2 == 0 { (&b, &a) } else { (&a, &b) };
        launch_affine(device, step % COPIES, &*kernel, out, source, n, step as i32);
        let event = device.record(step % COPIES).unwrap();
        device.flush(step % COPIES).unwrap();
        device.wait((step + 1) % COPIES, &*event).unwrap();
        expected.iter_mut().for_each(|v| *v = v.wrapping_mul(3).wrapping_add(step as i32));
    }
    assert!(values(device, 12 % COPIES, &a, n) == expected);
}

/// The times of events follow the order of work within a stream and across streams, and are about those of the host.
fn timed_events_say_when(device: &Device) {
    let device = &match device.facts().dialect {
        // Its queues take times, or do not, from the start.
        Dialect::OpenCl => {
            opencl::open(true, crate::backend::chosen::Opening { timed: true, ..Default::default() }, None, 0).unwrap()
        }
        Dialect::Cuda => device.clone(),
    };
    let kernel = compile(device, affine(device)).unwrap();
    let n = 1 << 22;
    let (a, b) = (filled(device, 0, &vec![1; n]), filled(device, 0, &vec![0; n]));
    let began = std::time::Instant::now();
    let mut events = vec![device.record_timed(0).unwrap()];
    for step in 0..6 {
        launch_affine(device, step % COPIES, &*kernel, &b, &a, n, step as i32);
        let event = device.record_timed(step % COPIES).unwrap();
        device.flush(step % COPIES).unwrap();
        device.wait((step + 1) % COPIES, &*event).unwrap();
        events.push(event);
    }
    events.iter().for_each(|event| event.finish().unwrap());
    let host = began.elapsed().as_secs_f64();
    let times: Vec<f64> = events.iter().map(|event| event.time().unwrap()).collect();
    eprintln!("{times:?}, {host} by the host's clock");
    assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
    let took = times[6] - times[0];
    assert!(took > 0.0 && took <= host * 1.01 + 1e-4, "{took} by the device's clock, {host} by the host's");
    let plain = device.record(0).unwrap();
    plain.finish().unwrap();
    assert!(device.facts().dialect == Dialect::OpenCl || plain.time().is_none());
}

fn calls_come_from_many_threads(device: &Device) {
    thread::scope(|scope| {
        for t in 0..8usize {
            scope.spawn(move || {
                let kernel = compile(device, affine(device)).unwrap();
                for round in 0..10 {
                    let n = 1000 + t;
                    let from: Vec<i32> = (0..n as i32).map(|i| i + round).collect();
                    let (source, out) = (filled(device, t % 3, &from), filled(device, t % 3, &vec![0; n]));
                    launch_affine(device, t % 3, &*kernel, &out, &source, n, t as i32);
                    let found = values(device, t % 3, &out, n);
                    assert!(from.iter().zip(&found).all(|(from, found)| *found == 3 * from + t as i32));
                }
            });
        }
    });
}

fn pinned_memory_copies_the_same(device: &Device) {
    let mut host: Vec<i32> = (0..300_000).collect();
    let there = host.clone();
    let memory = Memory::new(device, host.len() * 4).unwrap();
    let base: *mut u8 = host.as_mut_ptr().cast();
    for _ in 0..3 {
        // SAFETY: `host` is neither moved nor dropped before it is unpinned, after all copies.
        unsafe {
            let pinned = device.pin(base, 1_200_000);
            eprintln!("pinned: {pinned}");
            device.upload(COPIES, &memory, 0, base, 1_200_000).unwrap();
            finish(device, COPIES);
            std::ptr::write_bytes(base, 0, 1_200_000);
            device.download(COPIES, &memory, 4, base.add(4), 1_199_992).unwrap();
            finish(device, COPIES);
            if pinned {
                device.unpin(base);
            }
        }
        assert!(host[1..299_999] == there[1..299_999]);
        host.copy_from_slice(&there);
    }
}

/// Copies of many pieces, of several threads at once, in streams that wait for one another.
fn memory_that_is_not_pinned_copies_the_same(device: &Device) {
    std::thread::scope(|scope| {
        for t in 0..3usize {
            scope.spawn(move || {
                let small = device.facts().memory < 1 << 30;
                let bytes = if small { 3_000_001 } else { 37_000_001 } + 4096 * t;
                let (up_stream, down_stream) = (t, (t + 2) % (STREAMS + 1));
                let memory = Memory::new(device, bytes + 100).unwrap();
                for round in 0..3 {
                    let from: Vec<u8> = (0..bytes).map(|i| (i.wrapping_mul(31 + round) % 251 + t) as u8).collect();
                    let mut to = vec![0xa5u8; bytes];
                    // SAFETY: both vectors are there, and left alone, until the last copy is done; the memory has the
                    // bytes.
                    unsafe {
                        device.upload(up_stream, &memory, 17, from.as_ptr(), bytes).unwrap();
                        let up = device.record(up_stream).unwrap();
                        device.flush(up_stream).unwrap();
                        device.wait(down_stream, &*up).unwrap();
                        let most = bytes - 5000;
                        device.download(down_stream, &memory, 17, to.as_mut_ptr(), most).unwrap();
                        device.download(down_stream, &memory, 17 + most, to.as_mut_ptr().add(most), 5000).unwrap();
                    }
                    finish(device, down_stream);
                    assert!(from == to, "thread {t}, round {round}");
                }
            });
        }
    });
}

/// A driver may read memory that is not pinned at the call.
fn an_upload_reads_what_downloads_before_it_wrote(device: &Device) {
    let small = device.facts().memory < 1 << 30;
    let long = if small { 1 << 20 } else { 64 << 20 };
    let slow = [(); 2].map(|()| Memory::new(device, long).unwrap());
    // Of the download, and of the upload after it, which takes its end.
    for (down, up) in [(256, 256), (16 << 10, 16 << 10), (3 << 20, 3 << 20), (3 << 20, 1 << 10)] {
        let values: Vec<i32> = (0..down as i32 / 4).collect();
        let (from, to) = (filled(device, 0, &values), filled(device, 0, &vec![-1; up / 4]));
        let mut host = vec![-2i32; down / 4];
        // SAFETY: all memories have the bytes, and live, left alone, until all is done.
        unsafe {
            (0..16).for_each(|n| device.copy(1, (&slow[n % 2], 0), (&slow[1 - n % 2], 0), long).unwrap());
            device.download(1, &from, 0, host.as_mut_ptr().cast(), down).unwrap();
            let there = device.record(1).unwrap();
            device.flush(1).unwrap();
            device.wait(2, &*there).unwrap();
            device.upload(2, &to, 0, host.as_ptr().cast::<u8>().add(down - up), up).unwrap();
        }
        finish(device, 2);
        assert!(self::values(device, 2, &to, up / 4) == values[(down - up) / 4..], "{down} bytes, then {up}");
        assert!(host == values);
    }
}

/// Blocks of the host that share pages: some pinned, some not, and a copy of all at once.
fn neighbours_of_pinned_memory_copy_the_same(device: &Device) {
    let mut host: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    let there = host.clone();
    let memory = Memory::new(device, host.len()).unwrap();
    let base = host.as_mut_ptr();
    let cuts = [0usize, 10_000, 30_500, 60_001, 100_000];
    // SAFETY: `host` is neither moved nor dropped before all is unpinned, after all copies; stretches lie in both.
    unsafe {
        let pinned = [0, 1, 3].map(|k| (cuts[k], device.pin(base.add(cuts[k]), cuts[k + 1] - cuts[k])));
        device.upload(0, &memory, 0, base, there.len()).unwrap();
        finish(device, 0);
        std::ptr::write_bytes(base, 0, there.len());
        for (from, to) in cuts.iter().zip(&cuts[1..]) {
            device.download(0, &memory, *from, base.add(*from), to - from).unwrap();
        }
        finish(device, 0);
        assert!(std::slice::from_raw_parts(base, there.len()) == there);
        std::ptr::write_bytes(base, 0, there.len());
        device.download(0, &memory, 0, base, there.len()).unwrap();
        for (cut, _) in pinned.iter().filter(|(_, pinned)| *pinned) {
            finish(device, 0);
            device.unpin(base.add(*cut));
        }
        finish(device, 0);
    }
    assert!(host == there);
}

fn too_much_memory_is_an_error(device: &Device) {
    let bytes = (device.facts().memory as usize).saturating_mul(3);
    let e = Memory::new(device, bytes).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Memory, "{e}");
    assert!(e.to_string().contains(&bytes.to_string()), "{e}");
    eprintln!("{e}");
    assert_eq!(values(device, 0, &filled(device, 0, &[5; 10]), 10), [5; 10]);
}

/// Memory that is dropped can be had again, also in other sizes.
fn memory_comes_back(device: &Device) {
    let part = (device.facts().memory / 20) as usize;
    for k in 0..60 {
        drop(Memory::new(device, part - 4096 * (k % 7)).unwrap_or_else(|e| panic!("{k}: {e}")));
    }
}

fn bad_text_is_an_error(device: &Device) {
    let (text, entry) = affine(device);
    let e = compile(device, (&text.replace("add;", "add + not_declared;"), entry)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Kernel, "{e}");
    assert!(e.found().contains("not_declared"), "{e}");
    // Again: a failure must not be taken from disk as a success.
    assert!(compile(device, (&text.replace("add;", "add + not_declared;"), entry)).is_err());
}

fn a_missing_entry_is_an_error(device: &Device) {
    let e = compile(device, (affine(device).0, "not_there")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Kernel, "{e}");
    assert!(e.to_string().contains("not_there"), "{e}");
}

fn the_second_compile_is_from_disk(device: &Device) {
    if disk::folder().is_none() {
        return eprintln!("SKIPPED: no folder for compiled kernels");
    }
    let (text, entry) = affine(device);
    // Of its own, so that a test beside this one does not write it at the same time.
    let text = format!("{text}// from disk\n");
    compile(device, (&text, entry)).unwrap();
    let before = disk::hits();
    let kernel = compile(device, (&text, entry)).unwrap();
    assert_eq!(disk::hits(), before + 1);
    let (source, out) = (filled(device, 0, &[1, 2, 3]), filled(device, 0, &[0; 3]));
    launch_affine(device, 0, &*kernel, &out, &source, 3, 1);
    assert_eq!(values(device, 0, &out, 3), [4, 7, 10]);
}

fn exact_math_does_not_contract(device: &Device) {
    let text = match device.facts().dialect {
        Dialect::Cuda => {
            "extern \"C\" __global__ void muladd(float* x) { x[3] = x[0] * x[1] + x[2]; x[4] = x[0] / x[5]; }"
        }
        Dialect::OpenCl => {
            "#pragma OPENCL FP_CONTRACT OFF\n\
             __kernel void muladd(__global float* x) { x[3] = x[0] * x[1] + x[2]; x[4] = x[0] / x[5]; }"
        }
    };
    let kernel = compile(device, (text, "muladd")).unwrap();
    let (a, b, denormal) = (1.0f32 + f32::EPSILON, 1.0f32 - f32::EPSILON / 2.0, 3.0e38f32);
    let x = [a, b, -1.0, 0.0, 0.0, denormal].map(|v| v.to_bits() as i32);
    let memory = filled(device, 0, &x);
    // SAFETY: its one parameter has six values, and lives until they are read back.
    unsafe { device.launch(0, &*kernel, [1; 3], [1; 3], &[Argument::Memory(&memory)]).unwrap() };
    let found = values(device, 0, &memory, 6);
    assert_ne!(a * b - 1.0, a.mul_add(b, -1.0), "the values do not tell the two apart");
    assert_eq!(found[3] as u32, (a * b - 1.0).to_bits());
    assert_eq!(found[4] as u32, (a / denormal).to_bits(), "a quotient below the normal range");
}

fn kernels_say_what_they_use(device: &Device) {
    let facts = compile(device, affine(device)).unwrap().facts();
    eprintln!("{facts:?}");
    assert!(facts.registers.is_none_or(|n| n > 0));
    assert!(facts.occupancy.is_none_or(|part| part > 0.0 && part <= 1.0));
}

fn only_cuda_takes_ptx(device: &Device) {
    let ptx = "\
        .version 7.0\n.target sm_75\n.address_size 64\n\
        .visible .entry store(.param .u64 out, .param .u32 value) {\n\
        .reg .b64 %a;\n.reg .b32 %v;\n\
        ld.param.u64 %a, [out];\nld.param.u32 %v, [value];\nst.global.u32 [%a], %v;\nret;\n}\n";
    if device.facts().dialect != Dialect::Cuda {
        let e = device.load_ptx(ptx, "store").unwrap_err();
        assert!(e.to_string().contains("PTX") && e.kind() == ErrorKind::Device, "{e}");
        return;
    }
    let kernel = device.load_ptx(ptx, "store").unwrap();
    let memory = filled(device, 0, &[0, 6]);
    let value = 77i32.to_ne_bytes();
    let arguments = [Argument::Memory(&memory), Argument::Bytes(&value)];
    // SAFETY: the parameters of `store`; the memory lives until it is read back.
    unsafe { device.launch(0, &*kernel, [1; 3], [1; 3], &arguments).unwrap() };
    assert_eq!(values(device, 0, &memory, 2), [77, 6]);

    let e = device.load_ptx(&ptx.replace("st.global.u32", "st.nowhere"), "store").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Kernel);
    assert!(e.found().contains("nowhere"), "{e}");
    assert!(device.load_ptx("a\0b", "store").is_err());
}
