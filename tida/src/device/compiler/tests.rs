//! Programs whose kernels are compiled beside them, on OpenCL: what runs until then, and what takes over.

mod as_gpu;

use std::time::Duration;

use crate::acc::{Compile, Fuse, TileAccBuilder};
use crate::device::timeline::{SpanKind, Stats};
use crate::error::ErrorKind;
use crate::prelude::*;

use super::*;

type Plane = TileArray<f32, 2>;

/// An accelerator on OpenCL, if there is one.
fn acc(compile: Compile, built: impl Fn(TileAccBuilder) -> TileAccBuilder) -> Option<TileAcc> {
    let builder = TileAcc::builder().device(Device::OpenCl).threads(2).pause(Duration::from_secs(600));
    match built(builder.compile(compile)).build() {
        Ok(acc) => Some(acc),
        Err(e) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("TIDA_REQUIRE_OPENCL is set: {e}"),
        Err(e) => {
            eprintln!("SKIPPED: {e}");
            None
        }
    }
}

fn on_cpu() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

fn compiler(acc: &TileAcc) -> &Arc<Compiler> {
    acc.core().device.as_ref().unwrap().compiler()
}

/// Two alternating arrays.
struct Pair {
    u: Plane,
    next: Plane,
}

impl Pair {
    fn new(acc: &TileAcc, shape: [usize; 2]) -> Pair {
        let mut u = TileArray::builder(shape).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
        u.fill(|[j, i]| ((7 * j + 3 * i) % 32) as f32 / 8.0).unwrap();
        let next = u.like().unwrap();
        Pair { u, next }
    }

    /// Steps, each recorded by the closure for its tile.
    fn steps(&mut self, count: usize, record: impl Fn(&Tile<2>, &mut Plane, &Plane)) {
        for _ in 0..count {
            self.u.fill_ghosts().unwrap();
            for tile in TileIter::new(&self.u) {
                record(&tile, &mut self.next, &self.u);
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
    }

    fn bits(&self) -> Vec<u32> {
        self.u.read_box(self.u.domain()).unwrap().iter().map(|x| x.to_bits()).collect()
    }
}

/// What launches of several steps did since some counts.
fn fused(acc: &TileAcc, since: &Stats) -> (u64, u64) {
    acc.sync().unwrap();
    let stats = acc.stats();
    (stats.fused - since.fused, stats.fused_steps - since.fused_steps)
}

#[test]
fn steps_run_by_themselves_until_their_launch_is_compiled() {
    let kernel = |tile: &Tile<2>, next: &mut Plane, u: &Plane| {
        compute(
            tile,
            (next, u),
            kernel!(|next, u, at| next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at])),
        )
        .unwrap();
    };
    let three = |builder: TileAccBuilder| builder.fuse(Fuse::Steps(3)).timeline(true);
    let Some(acc) = acc(Compile::Beside, three) else { return };
    let held = compiler(&acc).hold();
    let mut pair = Pair::new(&acc, [48, 64]);
    pair.steps(30, kernel);
    assert_eq!(fused(&acc, &Stats::default()), (0, 0));
    assert!(compiler(&acc).is_busy());
    let single = pair.bits();
    drop(held);
    // One kernel: while that of three steps is compiled none of fewer is begun.
    assert_eq!(acc.warm_up().unwrap(), 1);
    assert!(!compiler(&acc).is_busy());
    let before = acc.stats();
    pair.steps(30, kernel);
    let together = fused(&acc, &before);
    let several = pair.bits();
    assert_eq!(acc.warm_up().unwrap(), 0);
    assert_eq!(acc.stats().compiled, before.compiled);

    // As many as a program has that waits, with the same bits as on the CPU.
    let waits = super::tests::acc(Compile::Wait, three).unwrap();
    let mut same = Pair::new(&waits, [48, 64]);
    same.steps(30, kernel);
    let (launches, steps) = fused(&waits, &Stats::default());
    assert_eq!((together, launches > 5, steps), ((launches, steps), true, 3 * launches));
    let mut plain = Pair::new(&on_cpu(), [48, 64]);
    plain.steps(30, kernel);
    assert_eq!((&single, &same.bits()), (&plain.bits(), &plain.bits()));
    plain.steps(30, kernel);
    assert_eq!(several, plain.bits());

    // Compilations are in the timeline, on rows of their own.
    let timeline = acc.timeline().unwrap();
    let compiled: Vec<_> = timeline.spans().iter().filter(|span| span.kind == SpanKind::Compile).collect();
    let (count, seconds) = (acc.stats().compiled, acc.stats().compile_seconds);
    assert_eq!(compiled.len() as u64, count);
    let sum: f64 = compiled.iter().map(|span| span.end - span.start).sum();
    // (Tida's own kernels beside those of this file.)
    let known = |name: &str| name.contains("tests_rs") || name.starts_with("tida_");
    assert!((sum - seconds).abs() < 1e-6 && compiled.iter().all(|span| known(&span.name)), "{compiled:?}");
    if count > 0 {
        assert!(timeline.svg().contains("compiler 0") && timeline.chrome().contains("compiler 0"));
    }
}

/// A sum and a difference of one array.
fn sum_and_difference(tile: &Tile<2>, [sum, difference]: [&mut Plane; 2], u: &Plane) {
    compute(tile, (sum, u), kernel!(|sum, u, at| sum[at] = u[at + [0, 1]] + u[at - [0, 1]])).unwrap();
    compute(tile, (difference, u), kernel!(|difference, u, at| difference[at] = u[at + [1, 0]] - u[at])).unwrap();
}

#[test]
fn sweeps_run_by_themselves_until_they_are_compiled_as_one() {
    let Some(acc) = acc(Compile::Beside, |builder| builder) else { return };
    let held = compiler(&acc).hold();
    let run = |acc: &TileAcc, times: usize| {
        let Pair { mut u, next: mut sum } = Pair::new(acc, [32, 40]);
        let mut difference = u.like().unwrap();
        u.fill_ghosts().unwrap();
        for _ in 0..times {
            for tile in TileIter::new(&u) {
                sum_and_difference(&tile, [&mut sum, &mut difference], &u);
            }
            acc.sync().unwrap();
        }
        let bits = |array: &Plane| -> Vec<u32> {
            array.read_box(array.domain()).unwrap().iter().map(|x| x.to_bits()).collect()
        };
        (bits(&sum), bits(&difference))
    };
    let apart = run(&acc, 3);
    assert_eq!(acc.stats().joined, 0);
    drop(held);
    assert_eq!(acc.warm_up().unwrap(), 1);
    let together = run(&acc, 3);
    assert_eq!(acc.stats().joined, 3);
    let plain = run(&on_cpu(), 1);
    assert_eq!((&apart, &together), (&plain, &plain));
}

#[test]
fn plans_are_tried_once_all_are_compiled() {
    let kernel = |tile: &Tile<2>, next: &mut Plane, u: &Plane| {
        compute(tile, (next, u), kernel!(|next, u, at| next[at] = 0.5 * u[at + [1, 0]] - 0.25 * u[at + [0, 1]]))
            .unwrap();
    };
    // Without what was found before and is on disk.
    if crate::backend::disk::folder().is_some() {
        let name = "device::compiler::tests::plans_are_tried_once_all_are_compiled";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args([name, "--exact", "--nocapture"]).env("TIDA_CACHE_DIR", "").output().unwrap();
        let said = String::from_utf8_lossy(&child.stderr).into_owned() + &String::from_utf8_lossy(&child.stdout);
        return assert!(child.status.success() && said.contains("1 passed"), "{said}");
    }
    let Some(acc) = acc(Compile::Beside, |builder| builder.tune(true)) else { return };
    let held = compiler(&acc).hold();
    let mut pair = Pair::new(&acc, [256, 256]);
    pair.steps(4, kernel);
    acc.sync().unwrap();
    // The chosen plan alone, to see that it can be tried.
    assert!(acc.stats().trials <= 2, "{}", acc.stats().trials);
    drop(held);
    let (mut rounds, mut compiled) = (0, 0);
    loop {
        let ready = acc.warm_up().unwrap();
        if ready == 0 {
            break;
        }
        (rounds, compiled) = (rounds + 1, compiled + ready);
        assert!(rounds < 10);
        pair.steps(4, kernel);
    }
    assert!(compiled > 2 && acc.stats().trials > 2 * compiled, "{compiled} {}", acc.stats().trials);
    let trials = acc.stats().trials;
    let steps = 4 * (rounds + 1);
    pair.steps(4, kernel);
    acc.sync().unwrap();
    assert_eq!(acc.stats().trials, trials);
    let mut plain = Pair::new(&on_cpu(), [256, 256]);
    plain.steps(steps + 4, kernel);
    assert_eq!(pair.bits(), plain.bits());
}

#[test]
fn a_kernel_runs_without_kept_values_until_it_is_known_how_many_it_has_room_for() {
    let device = match crate::backend::opencl::open(true, crate::backend::chosen::Opening::default(), None, 0) {
        Ok(device) => Arc::new(as_gpu::AsGpu::new(device)),
        Err(e) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("TIDA_REQUIRE_OPENCL is set: {e}"),
        Err(e) => return eprintln!("SKIPPED: {e}"),
    };
    let opened = Arc::new(Opened::new(device));
    let of = |how| TileAcc::builder().opened(opened.clone()).fuse(Fuse::Off).compile(how).threads(2).build().unwrap();
    let run = |acc: &TileAcc, times: usize| {
        let array = |n: usize| {
            let mut array = TileArray::<f64, 2>::builder([8, 48]).build(acc).unwrap();
            array.fill(|[j, k]| ((5 * j + 3 * k + n) % 16) as f64 / 4.0).unwrap();
            array
        };
        let [a, b, c, d] = [1, 2, 3, 4].map(array);
        let mut out = TileArray::<f64, 1>::builder([8]).build(acc).unwrap();
        for _ in 0..times {
            for tile in TileIter::new(&out) {
                compute(
                    &tile,
                    (&mut out, all(&a), all(&b), all(&c), all(&d)),
                    kernel!(|out, a, b, c, d, at| {
                        let [i] = at;
                        let mut s = 0.0;
                        for k in 0..40 {
                            s += a[[i, k]] * a[[i, k + 8]] + b[[i, k]] * b[[i, k + 8]];
                            s = 0.5 * s + c[[i, k]] * c[[i, k + 8]] + d[[i, k]] * d[[i, k + 8]];
                        }
                        out[at] = s;
                    }),
                )
                .unwrap();
            }
            acc.sync().unwrap();
        }
        out.read_box(out.domain()).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    let acc = of(Compile::Auto);
    let held = compiler(&acc).hold();
    let plain = run(&acc, 2);
    // Once, in the loop.
    assert_eq!(acc.stats().compiled, 1);
    drop(held);
    assert_eq!(acc.warm_up().unwrap(), 1);
    // The first one is not compiled again.
    assert_eq!(acc.stats().compiled, 2);
    let kept = run(&acc, 2);
    assert_eq!((acc.stats().compiled, acc.warm_up().unwrap()), (2, 0));
    assert_eq!((&plain, &kept), (&run(&on_cpu(), 1), &plain));
    // Who waits has what was found.
    let waits = of(Compile::Wait);
    assert_eq!((run(&waits, 1), waits.stats().compiled), (kept, 0));
}

#[test]
fn what_cannot_be_compiled_beside_is_done_without() {
    let refused = || Err(Error::new(ErrorKind::Kernel, "compile", "a compiler that refuses", "nothing"));
    let panics = || panic!("a fault in a compiler");
    for (fault, shape) in [(refused as fn() -> _, [24, 40]), (panics, [24, 72])] {
        let kernel = |tile: &Tile<2>, next: &mut Plane, u: &Plane| {
            compute(
                tile,
                (next, u),
                kernel!(|next, u, at| next[at] = 0.75 * u[at] + 0.125 * (u[at - [0, 1]] - u[at + [1, 1]])),
            )
            .unwrap();
        };
        // Blocks of a shape of their own, so that what one fault leaves is not known to the other.
        let steps = if shape[1] == 40 { 3 } else { 5 };
        let Some(acc) = acc(Compile::Beside, |builder| builder.fuse(Fuse::Steps(steps))) else { return };
        compiler(&acc).fail(fault);
        // What is on disk needs no compiler.
        let held = compiler(&acc).hold();
        let mut pair = Pair::new(&acc, shape);
        pair.steps(12, kernel);
        acc.sync().unwrap();
        drop(held);
        assert_eq!(acc.warm_up().unwrap(), 1);
        pair.steps(12, kernel);
        // It is not begun again, and the program does not fail.
        assert_eq!(acc.warm_up().unwrap(), 0);
        assert_eq!(fused(&acc, &Stats::default()), (0, 0));
        let mut plain = Pair::new(&on_cpu(), shape);
        plain.steps(24, kernel);
        assert_eq!(pair.bits(), plain.bits());
    }
}

#[test]
fn an_accelerator_that_goes_waits_for_its_compiler() {
    let kernel = |tile: &Tile<2>, next: &mut Plane, u: &Plane| {
        compute(tile, (next, u), kernel!(|next, u, at| next[at] = u[at - [1, 1]] + 0.125 * u[at])).unwrap();
    };
    let Some(acc) = acc(Compile::Beside, |builder| builder.fuse(Fuse::Steps(3))) else { return };
    let compiler = compiler(&acc).clone();
    let held = compiler.hold();
    let mut pair = Pair::new(&acc, [40, 40]);
    pair.steps(12, kernel);
    acc.sync().unwrap();
    assert!(compiler.is_busy());
    let goes = std::thread::spawn(move || drop((pair, acc)));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!goes.is_finished());
    drop(held);
    goes.join().unwrap();
    assert!(!compiler.is_busy());
    // Nothing is begun any more.
    assert!(compiler.beside((0, any_plan()), || None, |_| panic!("it is not asked for")).is_none());
    assert!(!compiler.is_busy());
}

fn any_plan() -> Plan {
    Plan {
        dialect: tida_kernels::plan::Dialect::OpenCl,
        math: Math::Exact,
        goal: tida_kernels::plan::Goal::Sweep,
        block: [64, 1, 1],
        many: false,
        by_value: 0,
        narrow: true,
        joint: false,
        stream: false,
        checked: false,
        groups: Vec::new(),
        march: None,
        side: 1,
        rows: 0,
        fused: None,
        cache: Vec::new(),
        width: 1,
        cells: [1, 1],
        registers: 0,
        latency: tida_kernels::plan::auto::Latency::TYPICAL,
        ghosts: Vec::new(),
        along: None,
        colours: None,
    }
}

#[test]
fn rows_of_the_timeline_are_taken_and_given_back() {
    let rows = Mutex::new(0);
    let (first, second) = (Row::take(&rows), Row::take(&rows));
    assert_eq!((first.number, second.number), (0, 1));
    drop(first);
    assert_eq!((Row::take(&rows).number, second.number), (0, 1));
    let all: Vec<_> = (0..70).map(|_| Row::take(&rows)).collect();
    assert_eq!(all.last().map(|row| row.number), Some(63));
}
