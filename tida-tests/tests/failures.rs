//! What becomes of failures: each is told, none comes twice without cause, none hangs, and nothing else suffers.
#![cfg(feature = "ndarray")]

use std::sync::mpsc;
use std::time::Duration;

use tida::__private::Ask;
use tida::SimDevice;
use tida::prelude::*;

/// A closure that `fill` calls may wait for recorded work.
#[test]
fn a_fill_by_what_recorded_work_gives_ends() {
    in_time(|| {
        for turn in 0..40 {
            let acc = cpu();
            let (mut u, mut v) = (ones(&acc, [256, 256]), ones(&acc, [256, 256]));
            if turn % 2 == 0 {
                let sum = reduce_later(&v, Sum, kernel!(|v, at| v[at])).unwrap();
                u.fill(|_| sum.get().unwrap()).unwrap();
                assert_eq!(u.read_box(GridBox::new([9, 9], [10, 10])).unwrap(), [65536.0]);
            } else {
                for tile in v.tiles() {
                    compute(&tile, &mut v, kernel!(|v, at| v[at] = 2.0)).unwrap();
                }
                let row = |j: usize| GridBox::new([j as i64, 0], [j as i64 + 1, 1]);
                u.fill(|[j, i]| if i == 0 { v.read_box(row(j)).unwrap()[0] } else { 0.0 }).unwrap();
                assert_eq!(u.read_box(GridBox::new([9, 0], [10, 2])).unwrap(), [2.0, 0.0]);
            }
        }
    });
}

/// Fills of two accelerators that read each other's arrays.
#[test]
fn fills_of_two_accelerators_end() {
    in_time(|| {
        let (a, b) = (cpu(), cpu());
        let sums = [&a, &b].map(|acc| {
            let v = ones(acc, [256, 256]);
            reduce_later(&v, Sum, kernel!(|v, at| v[at])).unwrap()
        });
        std::thread::scope(|scope| {
            for (acc, other) in [(&a, &sums[1]), (&b, &sums[0])] {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let mut u = ones(acc, [256, 256]);
                        u.fill(|_| other.get().unwrap()).unwrap();
                    }
                });
            }
        });
    });
}

/// Runs `f` on a thread of its own; a hang is a failure of the test.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(f()));
    told.recv_timeout(Duration::from_secs(60)).expect("it comes back within a minute")
}

fn cpu() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

/// An array of ones on an accelerator.
fn ones<const D: usize>(acc: &TileAcc, shape: [usize; D]) -> TileArray<f64, D> {
    let mut u = TileArray::<f64, D>::builder(shape).build(acc).unwrap();
    u.fill_value(1.0).unwrap();
    u
}

/// Divides by what is captured: a failure if that is 0.
fn divide(u: &mut TileArray<f64, 1>, by: i32) {
    for tile in u.tiles() {
        compute(&tile, &mut *u, kernel!(|u, at| u[at] = u[at] + (7 / by) as f64)).unwrap();
    }
}

#[test]
fn a_value_of_another_accelerator_is_waited_for() {
    let (of_a, of_b) = in_time(|| {
        let (a, b) = (cpu(), cpu());
        let (mut u, v) = (ones(&a, [64]), ones(&b, [64]));
        let sum = reduce_later(&v, Sum, kernel!(|v, at| v[at])).unwrap();
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = sum)).unwrap();
        }
        (u.to_ndarray().unwrap()[0], sum.get().unwrap())
    });
    assert_eq!((of_a, of_b), (64.0, 64.0));
}

#[test]
fn a_value_of_another_accelerator_that_fails_is_an_error() {
    let error = in_time(|| {
        let (a, b) = (cpu(), cpu());
        let (mut u, v) = (ones(&a, [64]), ones(&b, [64]));
        let none = 0i32;
        let sum = reduce_later(&v, Sum, kernel!(|v, at| v[at] + (1 / none) as f64)).unwrap();
        let tile = u.tiles().next().unwrap();
        compute(&tile, &mut u, kernel!(|u, at| u[at] = sum)).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Division, "{error}");
}

/// A closure around a kernel that does something each time that it is to run.
fn around<P, C, const D: usize>(
    kernel: impl for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync + 'static,
    first: impl Fn() + Send + Sync + 'static,
) -> impl for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync + 'static {
    move |ask| match ask {
        Ask::Quote(answer) => kernel(Ask::Quote(answer)),
        run => {
            first();
            kernel(run)
        }
    }
}

#[test]
fn a_kernel_that_waits_for_work_is_told_so() {
    let said = in_time(|| {
        let acc = cpu();
        let (tell, told) = mpsc::channel();
        let mut u = ones(&acc, [64]);
        let other = ones(&acc, [64]);
        let (inner, value) = (acc.clone(), reduce_later(&other, Sum, kernel!(|v, at| v[at])).unwrap());
        let first = move || {
            let value = value.get().map(drop);
            let mut late = TileArray::<f64, 1>::builder([8]).build(&inner).unwrap();
            let tile = late.tiles().next().unwrap();
            let recorded = compute(&tile, &mut late, kernel!(|u, at| u[at] = 2.0));
            let filled = late.fill_ghosts();
            let read = other.to_ndarray().map(drop);
            let all = [inner.sync(), value, recorded, filled, read];
            tell.send(all.map(|said| said.map_err(|e| e.to_string()))).unwrap();
        };
        let tile = u.tiles().next().unwrap();
        compute(&tile, &mut u, around(kernel!(|u, at| u[at] = 5.0), first)).unwrap();
        acc.sync().unwrap();
        assert_eq!(u.to_ndarray().unwrap()[0], 5.0);
        told.recv().unwrap()
    });
    for said in said {
        assert!(said.as_ref().is_err_and(|text| text.contains("runs a kernel")), "{said:?}");
    }
}

#[test]
fn a_failure_that_was_told_is_told() {
    let acc = cpu();
    let mut u = ones(&acc, [64]);
    divide(&mut u, 0);
    assert_eq!(u.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    // Nothing else has failed.
    let mut v = ones(&acc, [64]);
    divide(&mut v, 1);
    acc.sync().unwrap();
    // What was spoiled stays so.
    assert_eq!(u.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    acc.sync().unwrap();
    u.fill_value(2.0).unwrap();
    assert_eq!(u.to_ndarray().unwrap()[3], 2.0);
}

#[test]
fn failures_that_nobody_read_are_told_once_and_all() {
    let acc = cpu();
    let mut arrays: Vec<TileArray<f64, 1>> = (0..4).map(|_| ones(&acc, [64])).collect();
    for u in &mut arrays {
        divide(u, 0);
    }
    // Of the first one more work that fails with it: that is no failure of its own.
    divide(&mut arrays[0], 1);
    assert_eq!(arrays[2].to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    let error = acc.sync().unwrap_err();
    assert_eq!(error.others().len(), 2, "{error}");
    assert!(error.to_string().contains("2 more"), "{error}");
    let lines: Vec<u32> = error.others().iter().map(|e| e.recorded().unwrap().line()).collect();
    assert_eq!(lines, [error.recorded().unwrap().line(); 2]);
    acc.sync().unwrap();
    for u in &arrays {
        assert_eq!(u.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    }
    acc.sync().unwrap();
}

#[test]
fn a_value_that_failed_is_told() {
    let acc = cpu();
    let (v, none) = (ones(&acc, [64]), 0i32);
    let sum = reduce_later(&v, Sum, kernel!(|v, at| v[at] + (1 / none) as f64)).unwrap();
    assert_eq!(sum.get().unwrap_err().kind(), ErrorKind::Division);
    acc.sync().unwrap();
}

/// Eight arrays of which some fit, then work that fails, then work that needs the room of what failed.
fn evicted(acc: &TileAcc) {
    let build = |ghost| TileArray::<f64, 2>::builder([40, 150]).ghost(ghost).build(acc).unwrap();
    let mut sources: Vec<TileArray<f64, 2>> = (0..8).map(|_| build(0)).collect();
    for k in &mut sources {
        k.fill_value(3.0).unwrap();
        for tile in k.tiles() {
            compute(&tile, &mut *k, kernel!(|k, at| k[at] = k[at] + 1.0)).unwrap();
        }
    }
    acc.sync().unwrap();
    let mut kept = Vec::new();
    for n in 0..12 {
        let by = i32::from(n % 2 == 1);
        let mut e = build(1);
        for tile in e.tiles() {
            let x = &sources[n % 8];
            compute(
                &tile,
                (&mut e, all(x)),
                kernel!(|e, x, at| e[at] = x[[at[0] * at[1] % 40, at[1]]] + (7 / by) as f64),
            )
            .unwrap();
        }
        kept.push(e);
    }
    for (n, e) in kept.iter().enumerate() {
        match e.read_box(e.domain()) {
            Ok(values) => {
                assert_eq!(n % 2, 1);
                assert!(values.iter().all(|v| *v == 11.0), "{n}");
            }
            Err(error) => assert_eq!((n % 2, error.kind()), (0, ErrorKind::Division), "{n}: {error}"),
        }
    }
}

#[test]
fn arrays_that_failed_give_their_room_back() {
    // 48,000 bytes an array and somewhat more with ghosts: five of them.
    let limit = 5 * 56_000;
    evicted(&TileAcc::builder().simulate(SimDevice::new().memory(64 << 20)).memory_limit(limit).build().unwrap());
    if std::env::var("TIDA_DEVICE").is_ok_and(|device| device == "opencl") {
        evicted(&TileAcc::builder().device(Device::OpenCl).memory_limit(limit).build().unwrap());
    }
}

/// Two kernels write an array, each a region, and its ghosts are filled next. Then others read it.
#[test]
fn a_failure_is_told_though_ghosts_are_filled_next() {
    let run = |device: SimDevice| -> Result<f64, Error> {
        let acc = TileAcc::builder().simulate(device).build()?;
        let mut u =
            TileArray::<f64, 2>::builder([8, 130]).regions([2, 1]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
        u.fill_value(1.0)?;
        let mut v = u.like()?;
        for (n, tile) in u.tiles().enumerate() {
            match n {
                0 => compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at]))?,
                _ => compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = 2.0 * u[at]))?,
            }
        }
        v.fill_ghosts()?;
        for tile in v.tiles() {
            compute(&tile, (&mut u, &v), kernel!(|u, v, at| u[at] = v[at - [1, 0]]))?;
        }
        reduce(&u, Sum, kernel!(|u, at| u[at]))
    };
    assert_eq!(run(SimDevice::new()).unwrap(), 1560.0);
    for n in 1..=3 {
        let sum = run(SimDevice::new().fail_kernel(n));
        assert!(sum.is_err(), "kernel {n} failed: {sum:?}");
    }
}

/// Twelve steps on six regions, and their sum.
fn steps(acc: &TileAcc) -> Result<(Vec<f64>, f64), Error> {
    let shape = [48, 64];
    let mut u = TileArray::<f64, 2>::builder(shape).regions([6, 1]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    u.fill(|[j, i]| ((j * 7 + i * 3) % 11) as f64)?;
    let mut v = u.like()?;
    for _ in 0..12 {
        u.fill_ghosts()?;
        for tile in u.tiles() {
            compute(
                &tile,
                (&mut v, &u),
                kernel!(|v, u, at| {
                    let beside = u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                    v[at] = 0.5 * u[at] + 0.125 * beside;
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut v);
    }
    let sum: f64 = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
    Ok((u.read_box(u.domain())?, sum))
}

/// A kernel, an allocation or some of both fail, early or late, with much memory and little: what a program is told is
/// right or an error, and the accelerator goes on.
#[test]
fn whatever_fails_no_wrong_value_is_read() {
    let want = steps(&cpu()).unwrap();
    for (limit, fuse) in
        [None, Some(34_000), Some(110_000)].into_iter().flat_map(|l| [(l, Fuse::Off), (l, Fuse::Steps(3))])
    {
        let (mut right, mut failed) = (0, 0);
        let numbers = || (1..12).chain((12..40).step_by(3));
        for (kind, n) in (0..3).flat_map(|kind| numbers().map(move |n| (kind, n))) {
            let device = match kind {
                0 => SimDevice::new().fail_kernel(n),
                1 => SimDevice::new().fail_allocation(n),
                _ => SimDevice::new().fail_kernel(n).fail_allocation(n / 2 + 1).fail_kernel(n + 1),
            };
            let builder = TileAcc::builder().simulate(device).threads(2).fuse(fuse);
            let builder = match limit {
                Some(limit) => builder.memory_limit(limit),
                None => builder,
            };
            let acc = builder.build().unwrap();
            let what = format!("limit {limit:?}, {fuse:?}, kind {kind}, {n}");
            match steps(&acc) {
                Ok(got) => {
                    assert!(got == want, "{what}");
                    right += 1;
                }
                Err(_) => failed += 1,
            }
            // At most three commands fail.
            let healed = (0..4).find_map(|_| steps(&acc).ok());
            assert!(healed.as_ref() == Some(&want), "after {what}");
        }
        assert!(right > 10 && failed > 10, "{right} and {failed}");
    }
}
