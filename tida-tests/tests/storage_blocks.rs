//! Arrays kept in fewer bits where the threads of a block work together: kernels over groups, and steps that run as one
//! launch.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one; a simulated one is tested beside it.

use std::time::Duration;

use tida::acc::TileAccBuilder;
use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, value};

fn range(bits: u32) -> Format {
    Format::Range { bits, min: -1.0, max: 2.0 }
}

fn accelerators() -> Vec<TileAcc> {
    let sim = TileAcc::builder().device(Device::Sim).threads(2).build().unwrap();
    [on_cpu(), sim].into_iter().chain(on_a_device(TileAcc::builder())).collect()
}

/// A line of groups of 64 cells, in a format, or raw: what was read of it, and what saturated.
fn line(acc: &TileAcc, n: usize, format: Option<(Format, Compress)>) -> TileArray<f64, 1> {
    let builder = TileArray::<f64, 1>::builder([n]).region_size([320]).ghost(2).boundary(Boundary::Periodic);
    let mut u = match format {
        Some((format, compress)) => {
            builder.storage(format).compress(compress).saturation(Saturation::Warn).build(acc).unwrap()
        }
        None => builder.build(acc).unwrap(),
    };
    u.fill(|[i]| value(7, [0, 0, i]) - 0.5).unwrap();
    u.fill_ghosts().unwrap();
    u
}

/// What the cells of an array are after they were kept in a format once.
fn rounded(acc: &TileAcc, values: &[f64], format: Format) -> Vec<f64> {
    let builder = TileArray::<f64, 1>::builder([values.len()]).storage(format).saturation(Saturation::Ignore);
    let mut kept = builder.build(acc).unwrap();
    kept.fill(|[i]| values[i]).unwrap();
    kept.read_box(kept.domain()).unwrap()
}

/// Runs a kernel over groups of arrays in formats, and compares with the same of raw arrays of the same values, rounded
/// once.
fn same_as_raw(formats: [Format; 2], run: impl Fn(&Tile<1>, &mut TileArray<f64, 1>, &TileArray<f64, 1>)) {
    let (n, host) = (1500, on_cpu());
    for format in formats {
        let coded = line(&host, n, Some((format, Compress::Device)));
        let values = coded.read_box(coded.domain()).unwrap();
        let mut raw = line(&host, n, None);
        raw.fill(|[i]| values[i]).unwrap();
        raw.fill_ghosts().unwrap();
        let mut next = raw.like().unwrap();
        next.copy_from(&raw).unwrap();
        TileIter::new(&raw).for_each(|tile| run(&tile, &mut next, &raw));
        let wanted = next.read_box(next.domain()).unwrap();
        let over = match format {
            Format::Range { .. } => wanted.iter().filter(|x| !(-1.0..=2.0).contains(*x)).count() as u64,
            _ => 0,
        };
        let wanted = rounded(&host, &wanted, format);
        let all = accelerators().into_iter().flat_map(|acc| [(acc.clone(), Compress::Device), (acc, Compress::Link)]);
        for (acc, compress) in all {
            let u = line(&acc, n, Some((format, compress)));
            let mut next = u.like().unwrap();
            next.copy_from(&u).unwrap();
            TileIter::new(&u).for_each(|tile| run(&tile, &mut next, &u));
            assert!(next.read_box(next.domain()).unwrap() == wanted, "{format} on {:?}, {compress:?}", acc.device());
            assert_eq!(next.storage_report().unwrap().saturated, over, "{format} on {:?}, {compress:?}", acc.device());
        }
    }
}

#[test]
fn groups_fetch_values_and_store_codes() {
    same_as_raw([range(16), Format::F32], |tile, b, a| {
        compute_groups(
            tile,
            [64],
            (b, a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [2], [1]);
                let c = group.channel::<f64>([0], [1]);
                group.each(|t| c[t] = s[t - [2]] + 2.0 * s[t] - s[t + [1]]);
                group.each(|t| b[t.at()] = 0.75 * c[t] + c[t + [1]] + a[t.at()]);
            }),
        )
        .unwrap();
    });
}

/// What threads read back of their cells is what they wrote: it is rounded when the last phase has ended.
#[test]
fn cells_of_groups_are_rounded_once() {
    same_as_raw([range(32), Format::Half], |tile, b, a| {
        compute_groups(
            tile,
            [64],
            (b, a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(b, [0], [0]);
                group.each(|t| b[t.at()] = b[t.at()] + 0.1 * a[t.at()]);
                for turn in 0..3 {
                    group.each(|t| {
                        let more = if turn == 1 { s[t] } else { 0.25 };
                        b[t.at()] = 0.7 * b[t.at()] + 0.3 * more;
                    });
                }
                group.each(|t| s[t] = b[t.at()]);
                group.each(|t| {
                    let n = group.len()[0];
                    if t[0] + 1 < n {
                        b[t.at()] = s[t] * 1.5 - s[t + [1]];
                    }
                });
            }),
        )
        .unwrap();
    });
}

/// In place, over two axes, whole arrays too.
#[test]
fn groups_of_planes_change_codes_in_place() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f32, 2>::builder([100, 75]).regions([2, 1]).region_size([48, 75]).storage(range(8));
        let mut u = builder.saturation(Saturation::Ignore).build(acc).unwrap();
        u.fill(|[j, i]| value(3, [0, j, i]) as f32 - 0.5).unwrap();
        let whole = TileArray::<f32, 1>::builder([75]).storage(Format::Half).build(acc).unwrap();
        let mut whole = whole;
        whole.fill(|[i]| value(4, [0, 0, i]) as f32).unwrap();
        for _ in 0..3 {
            for tile in TileIter::new(&u).tile_size([24, 75]) {
                compute_groups(
                    &tile,
                    [8, 16],
                    (&mut u, all(&whole)),
                    group_kernel!(|u, whole, group| {
                        let s = group.fetch(u, [0, 0], [0, 0]);
                        let [h, w] = group.len();
                        group.each(|t| {
                            let turned = s[[h - 1 - t[0], w - 1 - t[1]]];
                            u[t.at()] = 0.5 * turned + 0.4 * whole[[t.at()[1]]];
                        });
                    }),
                )
                .unwrap();
            }
        }
        u.read_box(u.domain()).unwrap()
    };
    let wanted = run(&on_cpu());
    for acc in accelerators() {
        assert!(run(&acc) == wanted, "{:?}", acc.device());
    }
}

/// The cells of both arrays after some steps, and what saturated of each; or what was found to be wrong.
type Left = tida::Result<([Vec<u32>; 2], [u64; 2])>;

fn left<const D: usize>(u: &TileArray<f32, D>, next: &TileArray<f32, D>) -> Left {
    let bits = |of: &TileArray<f32, D>| -> tida::Result<Vec<u32>> {
        Ok(of.read_box(of.domain())?.iter().map(|x| x.to_bits()).collect())
    };
    let counted = |of: &TileArray<f32, D>| Ok::<u64, Error>(of.storage_report()?.saturated);
    Ok(([bits(u)?, bits(next)?], [counted(u)?, counted(next)?]))
}

/// Steps that push ever more cells over the end of the range.
fn steps2(acc: &TileAcc, face: Boundary<f32>, saturation: Saturation, steps: usize) -> Left {
    let builder = TileArray::<f32, 2>::builder([70, 150]).ghost(1).boundary(face);
    let mut u = builder.storage(range(16)).saturation(saturation).build(acc)?;
    u.fill(|[y, x]| value(5, [0, y, x]) as f32)?;
    let mut next = u.like()?;
    for _ in 0..steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let side = u[at - [0, 1]] + u[at + [0, 1]];
                    let sum = 0.6 * u[at] + 0.1 * (u[at - [1, 0]] + u[at + [1, 0]] + side);
                    let [y, x] = [at[0], at[1]];
                    next[at] = sum + if (y + 2 * x) % 7 == 0 { 0.4 } else { -0.03 };
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    left(&u, &next)
}

fn steps3(acc: &TileAcc, (shape, regions): ([usize; 3], usize), face: Boundary<f32>, steps: usize) -> Left {
    let builder = TileArray::<f32, 3>::builder(shape).regions([regions, 1, 1]).ghost(1).boundary(face);
    let mut u = builder.storage(range(16)).saturation(Saturation::Warn).build(acc)?;
    u.fill(|[z, y, x]| value(6, [z, y, x]) as f32)?;
    let mut next = u.like()?;
    for _ in 0..steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let near = u[at - [0, 0, 1]] + u[at + [0, 0, 1]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                    let sum = 0.5 * u[at] + 0.1 * (near + u[at - [1, 0, 0]] + u[at + [1, 0, 0]]);
                    next[at] = sum + if (at[1] + 2 * at[2]) % 5 == 0 { 0.3 } else { -0.1 };
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    left(&u, &next)
}

/// So many steps run together, however long the recorder waits for them.
fn together(depth: u32) -> TileAccBuilder {
    TileAcc::builder().fuse(tida::Fuse::Steps(depth)).compile(tida::Compile::Wait).patience(Duration::from_secs(600))
}

/// Blocks that compute cells twice count them once.
#[test]
fn steps_of_one_launch_count_what_single_steps_do() {
    let host = on_cpu();
    let check = |axes: usize, face: Boundary<f32>, depth: u32| {
        let run = |acc: &TileAcc| match axes {
            2 => steps2(acc, face, Saturation::Warn, 9).unwrap(),
            _ => steps3(acc, ([20, 37, 41], 1), face, 9).unwrap(),
        };
        let Some(acc) = on_a_device(together(depth)) else { return };
        let (wanted, found) = (run(&host), run(&acc));
        assert!(wanted.1.iter().all(|n| *n > 0), "{:?}", wanted.1);
        assert_eq!(wanted.1, found.1, "{axes} axes, {face:?}, {depth} steps");
        assert!(wanted.0 == found.0, "{axes} axes, {face:?}, {depth} steps");
        let fused = acc.stats().fused_steps;
        assert!(fused >= depth.into() || acc.device() == Device::Sim, "{axes} axes, {face:?}, {depth} steps");
    };
    check(2, Boundary::Periodic, 5);
    check(2, Boundary::ReflectEven, 3);
    check(3, Boundary::Periodic, 3);
}

/// So do launches that leave some planes of arrays which stream through the device's memory.
#[test]
fn planes_of_a_window_are_counted_once() {
    for (face, planes) in [(Boundary::Fixed(1.9), 30), (Boundary::Periodic, 40)] {
        let run = |acc: &TileAcc| steps3(acc, ([60, 9, 20], 3), face, 21).unwrap();
        let wanted = run(&on_cpu());
        let Some(acc) = on_a_device(together(3).memory_limit(11 * 64 * 2 * 2 * planes)) else { return };
        let (found, stats) = (run(&acc), acc.stats());
        assert_eq!(wanted.1, found.1, "{face:?}: {stats}");
        assert!(wanted.0 == found.0, "{face:?}: {stats}");
        assert!(stats.passes > 0 && stats.fused_steps >= 12 || acc.device() == Device::Sim, "{face:?}: {stats}");
    }
}

/// The first step with such values is told of, with as many as it has by itself.
#[test]
fn steps_of_one_launch_fail_as_single_steps_do() {
    let run = |fuse| {
        let acc = on_a_device(together(1).fuse(fuse))?;
        let error = steps2(&acc, Boundary::Periodic, Saturation::Error, 9).unwrap_err();
        Some((error.found().to_owned(), acc.stats().fused_steps, acc.device()))
    };
    let (Some(wanted), Some(found)) = (run(tida::Fuse::Off), run(tida::Fuse::Steps(3))) else { return };
    assert_eq!(wanted.0, found.0);
    assert!(wanted.0.contains("values that the format of an array, "), "{}", wanted.0);
    assert!(found.1 >= 3 || found.2 == Device::Sim, "{found:?}");
}

/// A product of matrices whose factors hold codes, from tiles that hold their values, and from lines.
#[test]
fn tiles_hold_values() {
    macro_rules! product {
        ($t:ty, $format:expr, $how:expr) => {{
            let run = |acc: &TileAcc| {
                let factor = |shape: [usize; 2], seed: u64| {
                    let mut factor = TileArray::<$t, 2>::builder(shape).storage($format).build(acc).unwrap();
                    factor.fill(|[y, x]| value(seed, [0, y, x]) as $t - 0.7).unwrap();
                    factor
                };
                let (a, b) = (factor([45, 100], 1), factor([100, 52], 2));
                let builder = TileArray::<$t, 2>::builder([45, 52]).storage($format);
                let mut c = builder.saturation(Saturation::Warn).build(acc).unwrap();
                let n = 100i64;
                for tile in TileIter::new(&c).cache(1, $how).cache(2, $how).thread_block([8, 16]) {
                    compute(
                        &tile,
                        (&mut c, all(&a), all(&b)),
                        kernel!(|c, a, b, at| {
                            let mut sum = 0.0;
                            for k in 0..n {
                                sum += a[[at[0], k]] * b[[k, at[1]]];
                            }
                            c[at] = sum * 0.1;
                        }),
                    )
                    .unwrap();
                }
                (c.read_box(c.domain()).unwrap(), c.storage_report().unwrap().saturated)
            };
            let Some(acc) = on_a_device(TileAcc::builder()) else { return };
            assert!(run(&acc) == run(&on_cpu()), "{} {:?}", $format, $how);
        }};
    }
    product!(f32, range(16), Cache::Preload);
    product!(f64, range(32), Cache::Preload);
    product!(f32, Format::Half, Cache::TaggedLines);
}
