//! The clock, and what a wait that is missing leads to.

use std::sync::Mutex;

use super::*;
use crate::backend::Outcome;

/// One byte or cell takes a nanosecond, and nothing else takes time.
fn plain() -> SimDevice {
    SimDevice::new().upload(1e9, 0.0).download(1e9, 0.0).kernels(1e9, 0.0).memory_speed(1e9)
}

fn device(spec: SimDevice) -> Arc<dyn Backend> {
    open(spec, None).unwrap()
}

fn sim(device: &Arc<dyn Backend>) -> &Sim {
    device.simulated().unwrap()
}

/// Nanoseconds until all is done.
fn makespan(device: &Arc<dyn Backend>) -> u64 {
    (sim(device).report().makespan * 1e9).round() as u64
}

fn upload(device: &Arc<dyn Backend>, stream: usize, to: &Memory, from: &[u8]) {
    // SAFETY: the tests keep both until they have waited, and no memory is shorter than what is copied.
    unsafe { device.upload(stream, to, 0, from.as_ptr(), from.len()).unwrap() }
}

fn download(device: &Arc<dyn Backend>, stream: usize, from: &Memory, to: &mut [u8]) {
    // SAFETY: as for `upload`.
    unsafe { device.download(stream, from, 0, to.as_mut_ptr(), to.len()).unwrap() }
}

fn kernel(device: &Arc<dyn Backend>, stream: usize, cells: u64, run: impl FnOnce() + Send + 'static) -> Arc<Outcome> {
    let run = move |_| {
        run();
        Ok(())
    };
    let work = NativeWork::over(cells, Box::new(run));
    let outcome = work.outcome.clone();
    // SAFETY: the tests keep what the kernel uses until they have waited.
    unsafe { device.launch_native(stream, Native::Work(work)).unwrap() };
    outcome
}

/// Lets `to` wait for all that `from` has so far.
fn after(device: &Arc<dyn Backend>, to: usize, from: usize) {
    let event = device.record(from).unwrap();
    device.wait(to, &*event).unwrap();
}

fn finish(device: &Arc<dyn Backend>, stream: usize) {
    device.record(stream).unwrap().finish().unwrap();
}

/// The first byte of memory, by a kernel's eyes.
fn first(memory: &Memory) -> u8 {
    // SAFETY: memory of the simulated device is the host's; one lock keeps all commands apart.
    unsafe { std::ptr::with_exposed_provenance::<u8>(memory.raw() as usize).read() }
}

#[test]
fn engines_work_at_once_and_each_on_one_command() {
    for (engines, expected) in [(2, 4000), (1, 5000)] {
        let device = device(plain().copy_engines(engines));
        let (a, b) = (Memory::new(&device, 2000).unwrap(), Memory::new(&device, 2000).unwrap());
        let (from, mut to) = (vec![1; 2000], vec![0; 2000]);
        upload(&device, 0, &a, &from);
        download(&device, 1, &b, &mut to);
        for stream in 0..3 {
            kernel(&device, stream, 1000, || ());
        }
        // With one engine the download waits for the upload, and its stream's kernel for it.
        let report = sim(&device).report();
        assert_eq!(makespan(&device), expected, "{report:?}");
        assert!((report.upload_busy - 2e-6).abs() < 1e-12 && (report.kernel_busy - 3e-6).abs() < 1e-12);
        assert_eq!((report.uploaded, report.downloaded, report.kernels, report.cells), (2000, 2000, 3, 3000));
    }
}

#[test]
fn latency_counts_for_each_command() {
    let device = device(plain().upload(1e9, 5e-6).kernels(1e9, 2e-6));
    let memory = Memory::new(&device, 1000).unwrap();
    let from = vec![1; 1000];
    upload(&device, 0, &memory, &from);
    upload(&device, 0, &memory, &from);
    kernel(&device, 0, 500, || ());
    assert_eq!(makespan(&device), 2 * 6000 + 2500);
}

#[test]
fn a_pipeline_is_as_long_as_its_slowest_part() {
    let device = device(plain());
    let memories: Vec<_> = (0..10).map(|_| Memory::new(&device, 1000).unwrap()).collect();
    let (from, mut to) = (vec![1; 1000], vec![0; 1000]);
    for memory in &memories {
        upload(&device, 0, memory, &from);
        after(&device, 1, 0);
        kernel(&device, 1, 2000, || ());
        after(&device, 2, 1);
        download(&device, 2, memory, &mut to);
    }
    assert_eq!(makespan(&device), 1000 + 10 * 2000 + 1000);
}

#[test]
fn what_is_ready_first_is_served_first() {
    let device = device(plain());
    let memory = Memory::new(&device, 10_000).unwrap();
    let from = vec![1; 10_000];
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name| {
        let order = order.clone();
        move || order.lock().unwrap().push(name)
    };
    upload(&device, 0, &memory, &from);
    kernel(&device, 0, 1000, note("behind the upload"));
    kernel(&device, 1, 5000, note("at once"));
    assert_eq!(makespan(&device), 11_000);
    assert_eq!(*order.lock().unwrap(), ["at once", "behind the upload"]);
}

#[test]
fn commands_come_after_what_the_host_has_waited_for() {
    let cases = [
        (false, false, false, 1000),
        (true, false, false, 2000),
        (false, true, false, 2000),
        (false, false, true, 2000),
    ];
    for (wait, caught_up, after, expected) in cases {
        let device = device(plain());
        let memory = Memory::new(&device, 1000).unwrap();
        let from = vec![1; 1000];
        upload(&device, 0, &memory, &from);
        let event = device.record(0).unwrap();
        assert!(event.time().is_none());
        if wait {
            event.finish().unwrap()
        } else {
            event.settle().unwrap()
        }
        assert!((event.time().unwrap() - 1e-6).abs() < 1e-15);
        if caught_up {
            device.caught_up();
        }
        if after {
            device.after(1, &*event).unwrap();
        }
        kernel(&device, 1, 1000, || ());
        assert_eq!(makespan(&device), expected);
    }
}

#[test]
fn a_download_that_does_not_wait_finds_poison() {
    for waits in [false, true] {
        let device = device(plain());
        let memory = Memory::new(&device, 1000).unwrap();
        let (from, mut to) = (vec![7; 1000], vec![0; 1000]);
        upload(&device, 0, &memory, &from);
        if waits {
            after(&device, 1, 0);
        }
        download(&device, 1, &memory, &mut to);
        finish(&device, 1);
        finish(&device, 0);
        assert_eq!(to, vec![if waits { 7 } else { memory::POISON }; 1000]);
    }
}

/// Pairs of a kernel and a copy of what it reads, with the wait between them and without it.
#[test]
fn kernels_that_run_too_early_or_too_late_find_poison() {
    for (early, waits) in [(true, false), (false, false), (true, true), (false, true)] {
        let device = device(plain());
        let memory = Arc::new(Memory::new(&device, 1000).unwrap());
        let (old, new) = (vec![1; 1000], vec![2; 1000]);
        upload(&device, 0, &memory, &old);
        finish(&device, 0);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..12 {
            let (known, memory_there) = (seen.clone(), memory.clone());
            let read = move || known.lock().unwrap().push(first(&memory_there));
            if early {
                // The kernel is to read what the upload brings.
                upload(&device, 0, &memory, &new);
                if waits {
                    after(&device, 1, 0);
                }
                kernel(&device, 1, 1500, read);
            } else {
                // The upload is to overwrite what the kernel has read.
                kernel(&device, 1, 1500, read);
                if waits {
                    after(&device, 0, 1);
                }
                upload(&device, 0, &memory, &new);
            }
            finish(&device, 0);
            finish(&device, 1);
            upload(&device, 0, &memory, &old);
            finish(&device, 0);
        }
        let right = if early { 2 } else { 1 };
        let wrong = seen.lock().unwrap().iter().filter(|value| **value != right).count();
        assert_eq!(seen.lock().unwrap().len(), 12);
        // Either half of the kernels shows one of the two mistakes; no more than chance decides which.
        assert!(if waits { wrong == 0 } else { (2..=12).contains(&wrong) }, "{early} {waits}: {wrong}");
    }
}

#[test]
fn a_download_of_what_changes_meanwhile_is_torn() {
    let device = device(plain());
    let memory = Memory::new(&device, 1000).unwrap();
    let (from, mut to) = (vec![7; 1000], vec![0; 1000]);
    upload(&device, 0, &memory, &from);
    finish(&device, 0);
    download(&device, 0, &memory, &mut to);
    // SAFETY: the memory lives until the commands are done.
    unsafe { device.zero(1, &memory, 10, 100).unwrap() };
    finish(&device, 0);
    assert_eq!(to, vec![memory::POISON; 1000]);
}

#[test]
fn memory_is_poison_before_it_is_written_and_where_it_is_no_ones() {
    let device = device(plain());
    let memory = Memory::new(&device, 100).unwrap();
    let (from, mut to) = (vec![7; 100], vec![0; 100]);
    download(&device, 0, &memory, &mut to);
    finish(&device, 0);
    assert_eq!(to, [memory::POISON; 100]);
    upload(&device, 0, &memory, &from);
    // SAFETY: the memory lives until the commands are done.
    unsafe { device.poison(0, &memory, 10, 20).unwrap() };
    download(&device, 0, &memory, &mut to);
    finish(&device, 0);
    assert!(to.iter().enumerate().all(|(i, x)| *x == if (10..30).contains(&i) { memory::POISON } else { 7 }));
}

#[test]
fn memory_that_is_given_back_too_early_is_an_error() {
    let device = device(plain());
    let memory = Memory::new(&device, 100).unwrap();
    let from = vec![7; 100];
    upload(&device, 0, &memory, &from);
    drop(memory);
    let error = device.record(0).unwrap().finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    assert_eq!(device.free_memory(), Some(device.facts().memory));
    // Said once.
    finish(&device, 0);
}

#[test]
fn failures_are_those_that_were_asked_for() {
    let device = device(plain().fail_kernel(2).fail_allocation(2));
    let ran = Arc::new(Mutex::new(Vec::new()));
    let outcomes: Vec<_> = (0..3)
        .map(|n| {
            let ran = ran.clone();
            kernel(&device, n, 10, move || ran.lock().unwrap().push(n))
        })
        .collect();
    assert!(outcomes[0].take().is_err(), "not yet");
    (0..3).for_each(|stream| finish(&device, stream));
    assert_eq!(outcomes.iter().map(|outcome| outcome.take().is_ok()).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(*ran.lock().unwrap(), [0, 2]);
    let panics = kernel(&device, 0, 1, || panic!("on purpose"));
    finish(&device, 0);
    assert_eq!(panics.take().unwrap_err().kind(), ErrorKind::Panic);

    let asked: Vec<_> = (0..3).map(|_| Memory::new(&device, 100)).collect();
    assert_eq!(asked.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(asked[1].as_ref().unwrap_err().kind(), ErrorKind::Memory);
}

#[test]
fn a_null_device_has_a_clock_and_nothing_else() {
    let device = device(plain().memory(1 << 50).null().fail_kernel(2));
    let memory = Memory::new(&device, 1 << 45).unwrap();
    assert_eq!(device.free_memory(), Some((1 << 50) - (1 << 45)));
    let mut host = vec![3; 1000];
    download(&device, 0, &memory, &mut host);
    let done = kernel(&device, 0, 1000, || panic!("it must not run"));
    let fails = kernel(&device, 0, 1000, || ());
    finish(&device, 0);
    assert!(done.take().is_ok() && fails.take().is_err());
    assert_eq!(host, vec![3; 1000]);
    assert_eq!(makespan(&device), 3000);
}

#[test]
fn who_asks_again_and_again_gets_an_answer() {
    let device = device(plain());
    for _ in 0..5 {
        kernel(&device, 0, 100, || ());
    }
    let event = device.record(0).unwrap();
    assert!(!event.is_done());
    let asked = (0..100).take_while(|_| !event.is_done()).count();
    assert!((1..20).contains(&asked), "{asked}");
    assert!((event.time().unwrap() - 5e-7).abs() < 1e-15);
}

#[test]
fn what_cannot_be_simulated_is_an_error() {
    let specs = [
        plain().upload(0.0, 0.0),
        plain().download(f64::INFINITY, 0.0),
        plain().kernels(1e9, -1e-9),
        plain().upload(1e9, f64::NAN),
        plain().memory_speed(-1.0),
        plain().copy_engines(3),
        plain().copy_engines(0),
    ];
    for spec in specs {
        assert_eq!(open(spec.clone(), None).unwrap_err().kind(), ErrorKind::Argument, "{spec:?}");
    }
    let (one, other) = (device(plain()), device(plain()));
    let event = one.record(0).unwrap();
    assert_eq!(other.wait(0, &*event).unwrap_err().kind(), ErrorKind::Argument);
    assert!(one.record(99).is_err());
}
