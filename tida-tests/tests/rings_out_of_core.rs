//! Arrays larger than the memory limit whose first axis is periodic, in chains with work that cannot run over the
//! unwrapped axis: the same bits as with all of them at hand.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use tida::acc::SpanKind;
use tida::prelude::*;
use tida::{Fuse, SimDevice};

use tida_tests::on_a_device;

/// Arrays of 60 planes, periodic along the second axis, and room for less than one of them.
fn beside(acc: &TileAcc, ends: Boundary<f64>, salt: usize) -> TileArray<f64, 2> {
    let builder = TileArray::<f64, 2>::builder([60, 40]).regions([3, 1]).ghost(1);
    let mut u = builder.boundary_axis(0, ends).boundary_axis(1, Boundary::Periodic).build(acc).unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17 + salt) % 97) as f64 / 97.0).unwrap();
    u
}

fn same_bits_beside<const N: usize>(run: impl Fn(&TileAcc) -> [TileArray<f64, 2>; N]) {
    let Some(acc) = on_a_device(TileAcc::builder().memory_limit(20_000)) else { return };
    let on_cpu = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let bits = |u: &TileArray<f64, 2>| u.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let (expected, found) = (run(&on_cpu), run(&acc));
    for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let first =
            bits(found).iter().zip(bits(expected)).position(|(a, b)| *a != b).map(|cell| [cell / 40, cell % 40]);
        assert_eq!(first, None, "the first cell that differs of array {n}");
    }
    println!("{}", acc.stats());
    assert!(acc.stats().passes > 0, "{}", acc.stats());
}

fn upwind(next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>) {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| next[at] = 0.5 * u[at - [1, 0]] + 0.3 * u[at + [1, 1]] + 0.2 * u[at]),
        )
        .unwrap();
    }
}

/// Work that cannot run over the unwrapped axis, between work that can: ghosts at ends that belong together and at ends
/// that do not, in one chain.
#[test]
fn periodic_arrays_beside_others_give_the_same_bits() {
    same_bits_beside(|acc| {
        let (mut u, mut wall) = (beside(acc, Boundary::Periodic, 1), beside(acc, Boundary::ReflectEven, 2));
        let (mut next, mut sum) = (u.like().unwrap(), u.like().unwrap());
        for step in 0..12 {
            u.fill_ghosts().unwrap();
            upwind(&mut next, &u);
            std::mem::swap(&mut u, &mut next);
            if step % 4 == 2 {
                // Its ends are walls; the ghosts of `next` were filled before.
                u.fill_ghosts().unwrap();
                wall.fill_ghosts().unwrap();
                for tile in TileIter::new(&u) {
                    compute(
                        &tile,
                        (&mut sum, &u, &next, &wall),
                        kernel!(|sum, u, old, w, at| {
                            sum[at] = w[at + [1, 0]] - w[at - [1, 0]]
                                + u[at - [1, 0]]
                                + 2.0 * old[at + [1, 0]]
                                + old[at - [1, 0]];
                        }),
                    )
                    .unwrap();
                }
                for tile in TileIter::new(&wall) {
                    compute(
                        &tile,
                        (&mut wall, &u),
                        kernel!(|w, u, at| w[at] += 0.1 * (u[at + [1, 0]] - u[at - [1, 0]])),
                    )
                    .unwrap();
                }
            }
        }
        [u, next, wall, sum]
    });
}

/// Sweeps of some planes, which are overwritten: the others keep what they have.
#[test]
fn parts_of_periodic_arrays_give_the_same_bits() {
    same_bits_beside(|acc| {
        let (mut u, mut some) = (beside(acc, Boundary::Periodic, 1), beside(acc, Boundary::Periodic, 2));
        let mut next = u.like().unwrap();
        for step in 0..9 {
            let scale = 0.1 * step as f64;
            for tile in TileIter::new(&some).within([10 + step, 0], [37 + step, 40]) {
                compute(&tile, &mut some, kernel!(|some, at| some[at] = scale * at[0] as f64)).unwrap();
            }
            some.fill_ghosts().unwrap();
            u.fill_ghosts().unwrap();
            upwind(&mut next, &u);
            for tile in TileIter::new(&next) {
                compute(
                    &tile,
                    (&mut next, &some),
                    kernel!(|next, some, at| next[at] += 0.1 * (some[at + [1, 0]] - some[at - [1, 0]])),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        [u, next, some]
    });
}

/// Ghosts that one chain has filled, and a later one reads that cannot run over the unwrapped axis.
#[test]
fn ghosts_of_an_earlier_chain_are_there() {
    same_bits_beside(|acc| {
        let (mut u, mut wall) = (beside(acc, Boundary::Periodic, 1), beside(acc, Boundary::ReflectEven, 2));
        let (mut next, mut seen) = (u.like().unwrap(), wall.like().unwrap());
        for _ in 0..3 {
            u.fill_ghosts().unwrap();
            upwind(&mut next, &u);
            std::mem::swap(&mut u, &mut next);
        }
        u.fill_ghosts().unwrap();
        acc.sync().unwrap();
        wall.fill_ghosts().unwrap();
        upwind(&mut seen, &wall);
        for tile in TileIter::new(&seen) {
            compute(
                &tile,
                (&mut seen, &wall, &u),
                kernel!(|seen, w, u, at| {
                    seen[at] += w[at - [1, 0]] + 2.0 * u[at + [1, 0]] + 3.0 * u[at - [1, 1]];
                }),
            )
            .unwrap();
        }
        [u, next, wall, seen]
    });
}

/// Ghosts that one chain has filled, and that a later one has set on the host, are not set there again for who looks.
#[test]
fn ghosts_that_a_later_chain_has_set_on_the_host_are_not_set_again() {
    for later in [false, true] {
        let Some(acc) = on_a_device(TileAcc::builder().memory_limit(20_000).timeline(true)) else { return };
        let (mut u, mut wall) = (beside(&acc, Boundary::Periodic, 1), beside(&acc, Boundary::ReflectEven, 2));
        let (mut next, mut seen) = (u.like().unwrap(), wall.like().unwrap());
        for _ in 0..3 {
            u.fill_ghosts().unwrap();
            upwind(&mut next, &u);
            std::mem::swap(&mut u, &mut next);
        }
        u.fill_ghosts().unwrap();
        acc.sync().unwrap();
        wall.fill_ghosts().unwrap();
        upwind(&mut seen, &wall);
        for tile in TileIter::new(&seen).filter(|_| later) {
            compute(
                &tile,
                (&mut seen, &wall, &u),
                kernel!(|seen, w, u, at| seen[at] += w[at - [1, 0]] + u[at + [1, 0]]),
            )
            .unwrap();
        }
        acc.sync().unwrap();
        let fills = || {
            let timeline = acc.timeline().unwrap();
            let is_fill = |span: &&tida::acc::Span| span.kind == SpanKind::Cpu && span.name.starts_with("fill_ghosts");
            timeline.spans().iter().filter(is_fill).count()
        };
        let before = fills();
        u.read_grown_box(0, u.grown_box(0).unwrap()).unwrap();
        assert_eq!(fills() - before, usize::from(!later), "a later chain: {later}");
    }
}

/// Several threads look at once at an array whose ghosts a chain has filled, but not on the host: one of them fills
/// those, and the others wait for it.
#[test]
fn threads_that_look_at_once_find_the_ghosts_of_a_chain() {
    let run = |acc: &TileAcc| {
        let mut u = beside(acc, Boundary::Periodic, 1);
        let mut next = u.like().unwrap();
        let mut seen = Vec::new();
        for _ in 0..8 {
            u.fill_ghosts().unwrap();
            upwind(&mut next, &u);
            std::mem::swap(&mut u, &mut next);
            u.fill_ghosts().unwrap();
            acc.sync().unwrap();
            let look = |region: usize| u.read_grown_box(region, u.grown_box(region).unwrap()).unwrap();
            seen.push(std::thread::scope(|scope| {
                let threads = [0, 1, 2, 2, 1, 0].map(|region| scope.spawn(move || look(region)));
                threads.map(|thread| thread.join().unwrap())
            }));
        }
        seen
    };
    let Some(acc) = on_a_device(TileAcc::builder().memory_limit(20_000)) else { return };
    let expected = run(&TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap());
    assert_eq!(run(&acc), expected);
    assert!(acc.stats().passes >= 8, "{}", acc.stats());
}

/// The ghosts of an array that one chain has filled on the unwrapped axis alone. That chain ends while a sweep gets its
/// place in it, since steps that are held back give their room then, and the sweep opens another one.
#[test]
fn ghosts_of_a_chain_that_ends_while_work_gets_its_place_are_there() {
    type Array = TileArray<f32, 2>;
    fn step(to: &mut Array, from: &mut Array) {
        from.fill_ghosts().unwrap();
        for tile in TileIter::new(&*from) {
            compute(&tile, (&mut *to, &*from), kernel!(|to, u, at| to[at] = 0.5 * u[at] + u[at - [1, 1]])).unwrap();
        }
    }
    let run = |acc: &TileAcc| {
        let array = |n: usize, along: usize| {
            let builder = Array::builder([13, 36]).regions([3, 1]).ghost([2, along]).boundary(Boundary::Periodic);
            let mut array = builder.build(acc).unwrap();
            array.fill(|[j, i]| ((j * 36 + i) * 7 % 101 + n * 13) as f32).unwrap();
            array
        };
        let (mut seen, mut u, mut next, mut other) = (array(0, 1), array(1, 1), array(2, 2), array(3, 2));
        {
            // It leaves first when a chain takes room.
            let mut there = Array::builder([13, 36]).build(acc).unwrap();
            there.copy_from(&u).unwrap();
            for tile in TileIter::new(&there) {
                compute(&tile, &mut there, kernel!(|u, at| u[at] = u[at] / 2.0 + 5.0)).unwrap();
            }
            u.copy_from(&there).unwrap();
        }
        step(&mut next, &mut u);
        step(&mut u, &mut next);
        other.fill_ghosts().unwrap();
        for tile in TileIter::new(&other) {
            compute(&tile, (&mut seen, &other), kernel!(|seen, u, at| seen[at] = u[at] + u[at + [1, -1]])).unwrap();
        }
        seen.fill_ghosts().unwrap();
        for tile in TileIter::new(&seen) {
            compute(&tile, (&mut next, &seen), kernel!(|next, u, at| next[at] = u[at - [1, 0]] + u[at + [0, 1]]))
                .unwrap();
        }
        next.read_box(next.domain()).unwrap()
    };
    let expected = run(&TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap());
    let mut streamed = 0;
    for limit in (28_672..34_816).step_by(512) {
        let builder = TileAcc::builder().threads(1).memory_limit(limit as u64).join(false);
        let builder = builder.fuse(Fuse::Steps(5)).pause(std::time::Duration::from_secs(600));
        let sim = builder.clone().simulate(SimDevice::new()).build().ok();
        for acc in [sim, on_a_device(builder)].into_iter().flatten() {
            assert_eq!(run(&acc), expected, "{:?} with room for {limit} bytes", acc.device());
            streamed += acc.stats().passes;
        }
    }
    assert!(streamed > 0);
}
