//! Arrays on a simulated device: what fails, what is counted, and the bits of the CPU.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{SimDevice, all, table};

fn simulate(device: SimDevice) -> TileAcc {
    TileAcc::builder().threads(2).simulate(device).build().unwrap()
}

fn start(acc: &TileAcc) -> TileArray<f64, 2> {
    let mut u = TileArray::<f64, 2>::builder([24, 128])
        .regions([3, 2])
        .ghost(1)
        .boundary(Boundary::Periodic)
        .build(acc)
        .unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17) % 97) as f64 / 97.0).unwrap();
    u
}

/// Of one region: a sweep over it is one kernel, however long the recorder pauses.
fn small(acc: &TileAcc) -> TileArray<f64, 2> {
    let mut u = TileArray::<f64, 2>::builder([8, 30]).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|[j, i]| (j * 30 + i) as f64).unwrap();
    u
}

fn values(u: &TileArray<f64, 2>) -> Result<Vec<f64>, Error> {
    u.read_box(u.domain())
}

fn plus_one(to: &mut TileArray<f64, 2>, from: &TileArray<f64, 2>) {
    for tile in TileIter::new(from) {
        compute(&tile, (&mut *to, from), kernel!(|to, from, at| to[at] = from[at] + 1.0)).unwrap();
    }
}

/// All kinds of arguments, ghosts, copies and reductions.
fn program(acc: &TileAcc) -> (Vec<f64>, Vec<f64>, ([usize; 2], f64), f64) {
    let mut u = start(acc);
    let mut next = u.like().unwrap();
    let weights = [0.5, 0.25, 0.125];
    for step in 0..5i64 {
        u.fill_ghosts().unwrap();
        let total = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        for tile in TileIter::new(&u).tile_size([5, 50]) {
            compute(
                &tile,
                (&mut next, &u, all(&u), table(&weights)),
                kernel!(|next, u, whole, weights, at| {
                    let far = whole[[(at[0] + step) % 24, (at[1] * 7) % 128]];
                    let around = u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]];
                    next[at] = weights[(at[1] % 3) as usize] * around + 0.1 * far + total / 1e6;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let mut copy = u.like().unwrap();
    copy.copy_from(&u).unwrap();
    let twin = copy.clone();
    let most = reduce(&twin, ArgMax, kernel!(|u, at| u[at])).unwrap();
    (values(&u).unwrap(), values(&twin).unwrap(), most, norm(&u).unwrap())
}

#[test]
fn the_bits_are_those_of_the_cpu() {
    let cpu = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let expected = program(&cpu);
    assert!(cpu.simulated().is_none());
    for device in [
        SimDevice::new(),
        SimDevice::new().copy_engines(1).upload(1e9, 1e-3).download(1e6, 0.0),
        SimDevice::new().kernels(1e6, 0.0),
    ] {
        let acc = simulate(device);
        assert_eq!(acc.device(), Device::Sim);
        assert_eq!(program(&acc), expected);
        let report = acc.simulated().unwrap();
        assert!(report.makespan >= report.kernel_busy && report.makespan >= report.upload_busy, "{report:?}");
        // Copies within the device take next to nothing.
        let busy = report.kernel_busy + report.upload_busy + report.download_busy;
        assert!(report.makespan <= 1.0001 * busy, "{report:?}");
        assert_eq!((report.uploaded, report.downloaded), acc.bytes_copied());
    }
}

#[test]
fn a_kernel_that_fails_poisons_what_depends_on_it_alone() {
    let acc = simulate(SimDevice::new().fail_kernel(2));
    let a = small(&acc);
    let [mut before, mut failed, mut after, mut beside] = [(); 4].map(|()| a.like().unwrap());
    plus_one(&mut before, &a);
    acc.sync().unwrap();
    plus_one(&mut failed, &a);
    plus_one(&mut after, &failed);
    let error = values(&after).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.found().contains("fails") && error.recorded().is_some(), "{error}");
    plus_one(&mut beside, &before);
    assert!(values(&failed).is_err());
    acc.sync().unwrap();
    let expected: Vec<f64> = values(&a).unwrap().iter().map(|x| x + 1.0 + 1.0).collect();
    assert_eq!(values(&beside).unwrap(), expected);
    // What is overwritten is whole again.
    plus_one(&mut failed, &before);
    assert_eq!(values(&failed).unwrap(), expected);
    acc.sync().unwrap();
}

#[test]
fn a_ghost_fill_that_fails_poisons_its_array() {
    let acc = simulate(SimDevice::new().fail_kernel(1));
    let (mut u, v) = (small(&acc), small(&acc));
    let mut next = v.like().unwrap();
    u.fill_ghosts().unwrap();
    assert_eq!(acc.sync().unwrap_err().kind(), ErrorKind::Device);
    plus_one(&mut next, &v);
    assert_eq!(values(&u).unwrap_err().kind(), ErrorKind::Device);
    assert!(values(&next).is_ok());
}

/// Whatever fails, ghost fills and copies too: the right values or an error, with a timeline and where arrays stream
/// in.
#[test]
fn no_failure_is_lost() {
    let run = |device: SimDevice, timeline: bool, streams: bool| -> Result<f64, Error> {
        let builder = TileAcc::builder().simulate(device).timeline(timeline);
        let acc = if streams { builder.stream_from(0) } else { builder }.build()?;
        let mut u =
            TileArray::<f64, 2>::builder([8, 130]).regions([2, 1]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
        u.fill(|_| 1.0)?;
        let mut v = u.like()?;
        for _ in 0..2 {
            u.fill_ghosts()?;
            for tile in TileIter::new(&v) {
                compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at + [1, 0]]))?;
            }
            std::mem::swap(&mut u, &mut v);
        }
        let sum = u.to_ndarray()?.sum();
        acc.sync()?;
        Ok(sum)
    };
    for (timeline, streams) in [(false, false), (true, false), (false, true), (true, true)] {
        assert_eq!(run(SimDevice::new(), timeline, streams).unwrap(), 1040.0);
        let failed: Vec<bool> = (1..20)
            .map(|n| match run(SimDevice::new().fail_kernel(n), timeline, streams) {
                Ok(sum) => {
                    assert_eq!(sum, 1040.0, "kernel {n}, timeline {timeline}, streams {streams}");
                    false
                }
                Err(_) => true,
            })
            .collect();
        // All that there were failed, and told.
        let kernels = failed.iter().take_while(|failed| **failed).count();
        assert!(
            kernels >= 6 && !failed[kernels..].contains(&true),
            "{failed:?}, timeline {timeline}, streams {streams}"
        );
    }
}

#[test]
fn memory_that_is_refused_is_an_error_of_the_work_that_needs_it() {
    let acc = simulate(SimDevice::new().fail_allocation(2));
    let a = small(&acc);
    let mut b = a.like().unwrap();
    plus_one(&mut b, &a);
    assert_eq!(values(&b).unwrap_err().kind(), ErrorKind::Memory);
    plus_one(&mut b, &a);
    assert_eq!(values(&b).unwrap()[0], values(&a).unwrap()[0] + 1.0);
}

#[test]
fn faults_come_out_at_reads() {
    let acc = simulate(SimDevice::new());
    let mut u = TileArray::<i64, 1>::builder([100]).regions([2]).build(&acc).unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 1 / (at[0] - 50))).unwrap();
    }
    assert_eq!(u.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
}

#[test]
fn a_null_device_counts_and_computes_nothing() {
    let run = |device: SimDevice| {
        let acc = simulate(device);
        let mut u = start(&acc);
        let mut next = u.like().unwrap();
        for _ in 0..3 {
            u.fill_ghosts().unwrap();
            plus_one(&mut next, &u);
            std::mem::swap(&mut u, &mut next);
        }
        let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        (values(&u).unwrap(), sum, acc.simulated().unwrap())
    };
    let (_, sum, real) = run(SimDevice::new().kernels(1e9, 0.0));
    let (unchanged, nothing, null) = run(SimDevice::new().kernels(1e9, 0.0).null());
    assert!(sum > 0.0 && nothing == 0.0);
    assert!(unchanged.iter().all(|x| *x == 0.0), "the newer array was never written on the host");
    assert_eq!(null.cells, real.cells);
    assert_eq!((null.uploaded, null.downloaded), (real.uploaded, real.downloaded));
    // How tiles make sweeps is a matter of chance, and picoseconds are rounded for each.
    assert!((null.kernel_busy - real.kernel_busy).abs() < 1e-9 && null.kernel_busy > 0.0);
}

#[test]
fn each_accelerator_has_a_device_of_its_own() {
    let (one, other) = (simulate(SimDevice::new()), simulate(SimDevice::new()));
    let mut next = start(&one).like().unwrap();
    plus_one(&mut next, &start(&one));
    one.sync().unwrap();
    assert!(one.simulated().unwrap().kernels > 0);
    assert_eq!(other.simulated().unwrap().kernels, 0);
    let both = TileAcc::builder().simulate(SimDevice::new()).device(Device::Cpu).build();
    assert_eq!(both.unwrap_err().kind(), ErrorKind::Argument);
    let wrong = TileAcc::builder().simulate(SimDevice::new().copy_engines(7)).build();
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Argument);
    let small = simulate(SimDevice::new().memory(12345));
    assert_eq!(small.device_memory(), Some((12345, Some(12345))));
}
