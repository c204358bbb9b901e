//! What ran when, and what was counted.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.

use std::time::Instant;

use tida::acc::{Span, SpanKind};
use tida::prelude::*;

use tida_tests::{on_a_device, unhurried};

const STEPS: usize = 12;

/// Some steps of the heat equation.
fn heat(acc: &TileAcc) -> Vec<f64> {
    let mut u = TileArray::<f64, 2>::builder([96, 128])
        .regions([3, 1])
        .ghost(1)
        .boundary_axis(0, Boundary::Periodic)
        // No sweep does what a fill does there.
        .boundary_axis(1, Boundary::ReflectOdd)
        .build(acc)
        .unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17) % 97) as f64 / 97.0).unwrap();
    let mut next = u.like().unwrap();
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let around = u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]];
                    next[at] = u[at] + 0.2 * (around - 4.0 * u[at]);
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

fn of(spans: &[Span], kinds: &[SpanKind]) -> Vec<Span> {
    spans.iter().filter(|span| kinds.contains(&span.kind)).cloned().collect()
}

#[test]
fn a_device_says_what_ran_when() {
    if on_a_device(TileAcc::builder()).is_none() {
        return;
    }
    let run = |timeline: bool| {
        let began = Instant::now();
        let acc = on_a_device(unhurried().timeline(timeline)).unwrap();
        let u = heat(&acc);
        (acc, u, began.elapsed().as_secs_f64())
    };
    let (acc, with, took) = run(true);
    let (timeline, stats) = (acc.timeline().unwrap(), acc.stats());
    assert_eq!(timeline.untimed(), 0);
    assert_eq!(timeline.device(), acc.device_name().unwrap());
    let error = timeline.clock_error().unwrap();
    assert!(error > 0.0 && error < 0.1, "{error}");

    let spans = timeline.spans();
    for span in spans {
        assert!(span.start > -error && span.start <= span.end && span.end < took + error, "{span:?} of {took} s");
    }
    assert!(spans.windows(2).all(|pair| pair[0].start <= pair[1].start));
    // Each sweep needs the one before: they follow each other, in whatever streams.
    let swept = of(spans, &[SpanKind::Kernel]);
    assert_eq!(swept.len(), STEPS);
    assert!(swept.windows(2).all(|pair| pair[0].end <= pair[1].start && pair[0].end < pair[1].end), "{swept:?}");
    assert!(swept.iter().all(|span| span.name.starts_with("timeline.rs:") && span.end > span.start), "{swept:?}");
    let filled = of(spans, &[SpanKind::Ghost]);
    assert_eq!(filled.len(), STEPS);
    assert_eq!(stats.launches, (swept.len() + filled.len()) as u64);

    let bytes = |kind| of(spans, &[kind]).iter().map(|span| span.bytes).sum::<u64>();
    assert_eq!((bytes(SpanKind::H2d), bytes(SpanKind::D2h)), (stats.h2d_bytes, stats.d2h_bytes));
    assert_eq!((stats.h2d_bytes, stats.d2h_bytes), acc.bytes_copied());
    // The array once in each direction.
    assert!(stats.h2d_bytes >= 96 * 128 * 8 && stats.d2h_bytes >= 96 * 128 * 8);
    let names: Vec<_> = of(spans, &[SpanKind::D2h]).iter().map(|span| span.name.clone()).collect();
    assert!(["R0", "R1", "R2"].iter().all(|region| names.iter().any(|name| name == region)), "{names:?}");

    let busy = stats.busy.unwrap();
    assert_eq!(Some(busy), timeline.busy());
    for part in [busy.h2d, busy.d2h, busy.kernels] {
        assert!(part > 0.0 && part <= 1.0, "{busy:?}");
    }
    assert!(busy.seconds <= took + 2.0 * error, "{busy:?}");
    eprintln!("{stats}, clocks {error} s apart at most");

    // The bits do not depend on it.
    let (plain, without, _) = run(false);
    assert_eq!(without, with);
    assert_eq!((plain.stats().launches, plain.stats().busy), (2 * STEPS as u64, None));
}

#[test]
fn the_host_says_what_ran_when() {
    let began = Instant::now();
    let acc = unhurried().device(Device::Cpu).threads(2).timeline(true).build().unwrap();
    heat(&acc);
    let (timeline, stats, took) = (acc.timeline().unwrap(), acc.stats(), began.elapsed().as_secs_f64());
    let spans = timeline.spans();
    assert!(spans.iter().all(|span| span.kind == SpanKind::Cpu && span.lane < 2));
    assert!(spans.iter().all(|span| 0.0 <= span.start && span.start <= span.end && span.end <= took));
    // One for each sweep and each ghost fill.
    assert_eq!(spans.iter().filter(|span| span.name.starts_with("timeline.rs:")).count(), STEPS);
    assert_eq!(spans.iter().filter(|span| span.name.starts_with("fill_ghosts timeline.rs:")).count(), STEPS);
    assert_eq!((timeline.device(), timeline.clock_error(), timeline.untimed()), ("cpu", None, 0));
    assert_eq!((stats.h2d_bytes, stats.d2h_bytes, stats.launches), (0, 0, 0));
    let busy = stats.busy.unwrap();
    assert!(busy.cpu > 0.0 && busy.kernels == 0.0 && busy.overlap.is_none(), "{busy:?}");
}

#[test]
fn nothing_is_taken_down_unless_asked_for() {
    let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    heat(&acc);
    assert_eq!(acc.stats().busy, None);
    let error = acc.timeline().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("timeline(true)"), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).timeline(true).build().unwrap();
    let timeline = acc.timeline().unwrap();
    let error = timeline.write_svg("/no such folder/timeline.svg").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("/no such folder/timeline.svg"), "{error}");
}
