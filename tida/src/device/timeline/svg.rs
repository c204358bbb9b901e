//! A timeline as a picture: rows of boxes, time from left to right (TiDA-acc, Figure 7).

use std::fmt::{self, Write};

use super::stats::Bytes;
use super::{Span, SpanKind, Timeline};

/// Pixels of the rows' names, of the time axis, and of what is right of it.
const NAMES: f64 = 80.0;
const AXIS: f64 = 1100.0;
const RIGHT: f64 = 20.0;
/// Pixels of a row, and of the box in it.
const ROW: f64 = 30.0;
const BOX: f64 = 22.0;
/// Pixels above the rows and below them.
const ABOVE: f64 = 40.0;
const BELOW: f64 = 40.0;
/// Pixels of a letter, about.
const LETTER: f64 = 6.5;
/// Boxes narrower than this join neighbours of their kind that are nearer than half of it.
const NARROW: f64 = 1.0;

/// The colour of a kind: apart also for eyes that do not tell red from green.
fn colour(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::H2d => "#56b4e9",
        SpanKind::Kernel => "#e69f00",
        SpanKind::D2h => "#009e73",
        SpanKind::Ghost => "#cc79a7",
        SpanKind::Strips => "#d55e00",
        SpanKind::Cpu => "#bbbbbb",
        SpanKind::Compile => "#f0e442",
        SpanKind::Files => "#0072b2",
    }
}

/// Spans drawn as one box.
struct Drawn<'a> {
    first: &'a Span,
    left: f64,
    right: f64,
    count: usize,
    bytes: u64,
}

pub(super) fn write(timeline: &Timeline) -> String {
    let lanes = timeline.lanes();
    let spans = timeline.spans();
    let first = spans.iter().map(|span| span.start).fold(f64::INFINITY, f64::min);
    let last = spans.iter().map(|span| span.end).fold(f64::NEG_INFINITY, f64::max);
    let (first, last) = if first < last { (first, last) } else { (0.0, 1.0) };
    let scale = AXIS / (last - first);
    let x = |time: f64| NAMES + (time - first) * scale;
    let width = NAMES + AXIS + RIGHT;
    let bottom = ABOVE + ROW * lanes.len() as f64;
    let height = bottom + BELOW;

    let mut text = String::new();
    let mut line = |line: fmt::Arguments<'_>| {
        // Into a string: it cannot fail.
        let _ = writeln!(text, "{line}");
    };
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">"#
    ));
    line(format_args!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##));
    line(format_args!(r#"<text x="8" y="22" font-size="13">{}</text>"#, escaped(timeline.device())));
    for (place, kind) in SpanKind::ALL.into_iter().enumerate() {
        let at = width - 70.0 * (SpanKind::ALL.len() - place) as f64;
        line(format_args!(r#"<rect x="{at}" y="12" width="12" height="12" fill="{}"/>"#, colour(kind)));
        line(format_args!(r#"<text x="{}" y="22">{}</text>"#, at + 16.0, kind.name()));
    }
    for (place, (lane, spans)) in lanes.iter().enumerate() {
        let top = ABOVE + ROW * place as f64;
        line(format_args!(r#"<text x="8" y="{}">{}</text>"#, top + 0.65 * ROW, lane.name()));
        for drawn in drawn(spans, x) {
            let (top, wide) = (top + (ROW - BOX) / 2.0, (drawn.right - drawn.left).max(0.5));
            let (fill, left) = (colour(drawn.first.kind), drawn.left);
            let title = escaped(&title(&drawn));
            line(format_args!(
                r#"<rect x="{left:.2}" y="{top}" width="{wide:.2}" height="{BOX}" fill="{fill}"><title>{title}</title></rect>"#
            ));
            let label = label(&drawn, ((wide - 4.0) / LETTER).max(0.0) as usize);
            if !label.is_empty() {
                line(format_args!(r#"<text x="{:.2}" y="{}">{}</text>"#, left + 2.0, top + 15.0, escaped(&label)));
            }
        }
    }
    line(format_args!(r##"<path d="M{NAMES} {bottom}h{AXIS}" stroke="#000000" fill="none"/>"##));
    let (step, unit, unit_seconds) = ticks(last - first);
    let marks = ((last - first) / step) as usize;
    for mark in 0..=marks {
        let time = step * mark as f64;
        let at = x(first + time);
        let number = (time / unit_seconds * 1e6).round() / 1e6;
        line(format_args!(r##"<path d="M{at:.2} {bottom}v5" stroke="#000000"/>"##));
        line(format_args!(r#"<text x="{at:.2}" y="{}" text-anchor="middle">{number} {unit}</text>"#, bottom + 18.0));
    }
    text.push_str("</svg>\n");
    text
}

/// The boxes of a row.
fn drawn<'a>(spans: &[&'a Span], x: impl Fn(f64) -> f64) -> Vec<Drawn<'a>> {
    let mut boxes: Vec<Drawn<'a>> = Vec::new();
    for span in spans {
        let (left, right) = (x(span.start), x(span.end));
        match boxes.last_mut() {
            Some(last) if last.first.kind == span.kind && right - left < NARROW && left - last.right < NARROW / 2.0 => {
                last.right = last.right.max(right);
                last.count += 1;
                last.bytes += span.bytes;
            }
            _ => boxes.push(Drawn { first: span, left, right, count: 1, bytes: span.bytes }),
        }
    }
    boxes
}

/// What a box says when it is pointed at.
fn title(drawn: &Drawn<'_>) -> String {
    let Drawn { first, count, bytes, .. } = drawn;
    let mut title = match count {
        1 => format!("{} {}: {:.3} us", first.kind.name(), first.name, (first.end - first.start) * 1e6),
        _ => format!("{} and more: {count} spans", first.kind.name()),
    };
    if *bytes > 0 {
        // Into a string: it cannot fail.
        let _ = write!(title, ", {}", Bytes(*bytes));
    }
    title
}

/// What is written in a box with room for so many letters: kind and name, else the kind, else nothing.
fn label(drawn: &Drawn<'_>, letters: usize) -> String {
    let kind = drawn.first.kind.name();
    let whole = format!("{kind} {}", drawn.first.name);
    let choices = if drawn.count == 1 { [whole.as_str(), kind] } else { [kind, kind] };
    choices.into_iter().find(|text| text.chars().count() <= letters).unwrap_or_default().to_owned()
}

/// Distance of the marks below an axis of so many seconds, at most about 10; their unit and its seconds.
fn ticks(seconds: f64) -> (f64, &'static str, f64) {
    let mut step = 10f64.powf((seconds / 10.0).log10().floor());
    for factor in [2.0, 2.5, 2.0] {
        if seconds / step > 10.0 {
            step *= factor;
        }
    }
    match step {
        _ if step >= 0.1 => (step, "s", 1.0),
        _ if step >= 1e-4 => (step, "ms", 1e-3),
        _ => (step, "us", 1e-6),
    }
}

/// Text within XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // XML has no control characters.
            c if c < ' ' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
