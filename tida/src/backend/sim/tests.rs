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
    let work = NativeWork::over((cells, 8 * cells), Box::new(run));
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

/// Devices of a cluster, opened in their order.
fn opened(cluster: SimCluster) -> Vec<Arc<dyn Backend>> {
    let mut all: Vec<Arc<dyn Backend>> = Vec::new();
    for spec in cluster.into_devices(true).unwrap() {
        let next = open(spec, all.first().map(|first| &**first)).unwrap();
        all.push(next);
    }
    all
}

/// Copies all of some memory from another device.
fn take(device: &Arc<dyn Backend>, stream: usize, to: &Memory, from: &Memory) {
    // SAFETY: both memories have so many bytes, and live until all is done.
    unsafe { device.copy(stream, (from, 0), (to, 0), from.bytes()).unwrap() }
}

/// Two devices that take 1000 bytes of a third one: at once, or one after the other over a link that both share.
#[test]
fn links_are_own_or_shared() {
    for (shared, expected) in [(false, 3000), (true, 6000)] {
        let link = SimLink::new(1e9, 2e-6);
        let link = if shared { link.shared() } else { link };
        let all = opened(SimCluster::of(3, plain()).links(link));
        let memories: Vec<_> = all.iter().map(|device| Memory::new(device, 1000).unwrap()).collect();
        (0..2).for_each(|n| take(&all[n], 0, &memories[n], &memories[2]));
        // Kernels run meanwhile.
        kernel(&all[0], 1, 3000, || ());
        let last = all.iter().map(makespan).max().unwrap();
        assert_eq!(last, expected, "shared: {shared}");
        let report = all[0].simulated().unwrap().report();
        assert_eq!((report.taken, (report.link_busy * 1e9).round() as u64), (1000, 3000));
    }
}

#[test]
fn devices_share_the_way_to_the_host() {
    for (shared, expected) in [(false, 1000), (true, 3000)] {
        let cluster = SimCluster::of(3, plain()).no_links();
        let all = opened(if shared { cluster.shared_host() } else { cluster });
        let memories: Vec<_> = all.iter().map(|device| Memory::new(device, 1000).unwrap()).collect();
        let from = vec![1; 1000];
        all.iter().zip(&memories).for_each(|(device, memory)| upload(device, 0, memory, &from));
        assert_eq!(all.iter().map(makespan).max(), Some(expected), "shared: {shared}");
        assert!(!all[0].reaches(&*all[1]));
    }
}

/// A kernel of a stream that comes first runs at once, and the one that was there ends later by as much.
#[test]
fn kernels_that_come_first_do_not_wait() {
    let device = device(plain());
    kernel(&device, 0, 10_000, || ());
    kernel(&device, 1, 1000, || ());
    kernel(&device, 2, 500, || ());
    after(&device, crate::backend::EDGES, 2);
    kernel(&device, crate::backend::EDGES, 700, || ());
    assert_eq!(makespan(&device), 10_000 + 1000 + 500 + 700);
    let edges = device.record(crate::backend::EDGES).unwrap();
    kernel(&device, 0, 10_000, || ());
    kernel(&device, crate::backend::EDGES, 300, || ());
    let more = device.record(crate::backend::EDGES).unwrap();
    more.finish().unwrap();
    // By the time that the host has waited for.
    assert!((more.time().unwrap() - edges.time().unwrap() - 0.3e-6).abs() < 1e-12);
    assert_eq!(makespan(&device), 12_200 + 10_000 + 300);
}

#[test]
fn kernels_take_the_time_of_their_bytes() {
    let device = device(plain().kernels_by_bytes(1e9, 0.0));
    kernel(&device, 0, 100, || ());
    assert_eq!(makespan(&device), 800);
}

/// Boxes that come over a link are poison until all of them are there, and stay so if what is read changes.
#[test]
fn boxes_that_are_on_their_way_are_poison() {
    use tida_kernels::element::ScalarType;
    use tida_kernels::emit::copies::{BoxCopy, From, Kind, Place};
    for changes in [false, true] {
        // It takes far longer than the others.
        let all = opened(SimCluster::of(2, plain()).links(SimLink::new(1e6, 0.0)));
        let memories: Vec<_> = all.iter().map(|device| Memory::new(device, 100).unwrap()).collect();
        let (from, to) = ([7; 100], [3; 100]);
        upload(&all[0], 0, &memories[0], &from);
        upload(&all[1], 0, &memories[1], &to);
        all.iter().for_each(|device| finish(device, 0));
        let at = |first: u64, step: u64| Place { first, steps: [0, 0, step, 1] };
        let list = [BoxCopy { extent: [1, 1, 4, 5], to: at(50, 10), from: From::Box(at(1, 5)) }];
        let boxes = Native::Boxes {
            kind: Kind::Scalar(ScalarType::U8),
            list: &list.into(),
            to: &memories[1],
            from: &memories[0],
        };
        // SAFETY: the boxes are in the memories, which live until all is done.
        unsafe { all[1].launch_native(0, boxes).unwrap() };
        // One stream reads without waiting, while the boxes are on their way.
        let mut seen = vec![0; 100];
        download(&all[1], 1, &memories[1], &mut seen);
        if changes {
            // SAFETY: as above.
            unsafe { all[0].zero(1, &memories[0], 1, 1).unwrap() };
        }
        all.iter().for_each(|device| [0, 1].into_iter().for_each(|stream| finish(device, stream)));
        assert_eq!((seen[49], seen[50], seen[55], seen[60]), (3, memory::POISON, 3, memory::POISON));
        let mut last = vec![0; 100];
        download(&all[1], 0, &memories[1], &mut last);
        finish(&all[1], 0);
        let there = if changes { memory::POISON } else { 7 };
        assert_eq!((last[49], last[50], last[84], last[55]), (3, there, there, 3));
    }
}
