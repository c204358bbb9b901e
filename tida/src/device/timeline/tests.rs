use serde_json::Value;

use super::stats::{common, length, union};
use super::*;

fn span(kind: SpanKind, name: &'static str, lane: usize, (start, end): (f64, f64), bytes: u64) -> Span {
    Span { kind, place: 0, name: name.into(), lane, start, end, bytes }
}

/// Two streams that copy and compute in turn, as in TiDA-acc's Figure 7, and a thread.
fn made_up() -> Timeline {
    use SpanKind::*;
    let spans = vec![
        span(H2d, "R0", 0, (0.001, 0.002), 1_000_000),
        span(Kernel, "heat.rs:73", 0, (0.002, 0.004), 0),
        span(H2d, "R1", 1, (0.002, 0.003), 1_000_000),
        span(Kernel, "heat.rs:73", 1, (0.0035, 0.0055), 0),
        span(D2h, "R0", 0, (0.004, 0.005), 500),
        span(H2d, "R2", 2, (0.0045, 0.006), 1_500_000),
        span(Cpu, "a \"closure\" <of> tabs\t& é", 1, (0.005, 0.0055), 0),
        span(Ghost, "heat.rs:71", 1, (0.0055, 0.006), 0),
        span(Files, "snapshot 10", 0, (0.001, 0.0035), 0),
    ];
    Timeline { device: "a <made-up> \"device\"".into(), spans, clock_error: Some(5e-6), untimed: 0 }
}

#[test]
fn intervals_unite() {
    assert_eq!(union(vec![]), []);
    assert_eq!(union(vec![(3.0, 4.0), (0.0, 1.0), (0.5, 2.0), (0.6, 0.7), (2.0, 2.5)]), [(0.0, 2.5), (3.0, 4.0)]);
    assert_eq!(length(&[(0.0, 2.5), (3.0, 4.0)]), 3.5);
    assert_eq!(common(&[(0.0, 2.5), (3.0, 4.0)], &[(1.0, 2.0), (2.25, 3.25), (3.5, 9.0)]), 1.0 + 0.25 + 0.25 + 0.5);
    assert_eq!(common(&[(0.0, 1.0)], &[(1.0, 2.0)]), 0.0);
    assert_eq!(common(&[], &[(1.0, 2.0)]), 0.0);
}

#[test]
fn sums_of_made_up_spans() {
    let busy = made_up().busy().unwrap();
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
    // From 1 to 6 ms.
    close(busy.seconds, 0.005);
    // 1 to 3 and 4.5 to 6 ms.
    close(busy.h2d, 3.5 / 5.0);
    close(busy.d2h, 1.0 / 5.0);
    // 2 to 6 ms.
    close(busy.kernels, 4.0 / 5.0);
    close(busy.cpu, 0.5 / 5.0);
    // The link is busy from 1 to 3 and from 4 to 6 ms; kernels beside it but for the first.
    close(busy.overlap.unwrap(), 3.0 / 4.0);
    // 4.5 to 5 ms.
    close(busy.both_ways.unwrap(), 0.5 / 4.0);
    // 1 to 3.5 ms, kernels beside it from 2 on.
    close(busy.files, 2.5 / 5.0);
    close(busy.files_overlap.unwrap(), 1.5 / 2.5);
}

#[test]
fn sums_without_copies_and_without_spans() {
    let mut timeline = made_up();
    timeline.spans.retain(|span| span.kind == SpanKind::Cpu);
    let busy = timeline.busy().unwrap();
    assert_eq!((busy.cpu, busy.h2d, busy.overlap, busy.both_ways), (1.0, 0.0, None, None));
    timeline.spans.clear();
    assert_eq!(timeline.busy(), None);
    assert!(length(&[]).is_sign_positive());
    assert!(timeline.svg().ends_with("</svg>\n"));
    serde_json::from_str::<Value>(&timeline.chrome()).unwrap();
}

#[test]
fn a_summary_to_read() {
    let stats = Stats { h2d_bytes: 3_500_000, d2h_bytes: 500, launches: 1, ..Stats::default() };
    insta::assert_snapshot!(stats, @"3.5 MB to the device, 500 B from it; 1 launch, 0 evictions");
    let stats = Stats { evictions: 1, passes: 2, steps: 95, busy: made_up().busy(), ..stats };
    assert_eq!(stats.steps_per_residency(), Some(47.5));
    insta::assert_snapshot!(stats, @r"
    3.5 MB to the device, 500 B from it; 1 launch, 1 eviction, 47.5 steps a pass in 2 passes
    busy in 0.005 s: kernels 80 %, the host 10 %, the link 70 % to the device, 20 % from it
    of the link's busy time: 75 % beside kernels, 13 % both ways
    files were written or read in 50 % of the time, 60 % of that beside computing
    ");
}

#[test]
fn the_file_for_chrome() {
    let text = made_up().chrome();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let spans: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(spans.len(), 9);
    assert!(spans.iter().any(|event| event["name"] == "a \"closure\" <of> tabs\t& é" && event["pid"] == 1));
    insta::assert_snapshot!(text);
}

#[test]
fn the_picture() {
    insta::assert_snapshot!(made_up().svg());
}

/// As many spans as a long run has make a picture of some thousand boxes at most, with nothing left out.
#[test]
fn a_long_run_makes_a_small_picture() {
    let mut timeline = made_up();
    timeline.spans = (0..100_000)
        .map(|n| {
            let start = f64::from(n) * 1e-5;
            span(
                if n % 2 == 0 { SpanKind::H2d } else { SpanKind::D2h },
                "R0",
                n as usize % 2,
                (start, start + 9e-6),
                10,
            )
        })
        .collect();
    let picture = timeline.svg();
    assert!(picture.len() < 2_000_000, "{}", picture.len());
    let counted: usize = picture
        .lines()
        .filter_map(|line| line.split(" and more: ").nth(1)?.split(' ').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(counted + picture.matches(" us, 10 B").count(), 100_000);
}
