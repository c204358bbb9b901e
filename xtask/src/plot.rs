//! `cargo xtask plot`: bars and lines from what `cargo xtask bench ooc -- --json FILE` or `bench micro` wrote, as SVG
//! files.
//!
//! Each plot has groups along the axis (numbers of steps) and in each group a bar a series (a program). Heights are
//! what was measured or, as in TiDA-acc's Figures 5 and 6, speed-ups over one of the series. Where all groups are
//! numbers (of threads), each series is a line.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use crate::Result;

/// Flags of `cargo xtask plot`.
#[derive(Args)]
pub struct Options {
    /// Files with one JSON object a line; of what was measured twice, the last counts
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder for the pictures [default: that of the paper, in docs/papers]
    #[arg(long)]
    into: Option<PathBuf>,
}

/// A line that belongs to a plot.
#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Point {
    plot: String,
    group: String,
    series: String,
    value: f64,
    min: f64,
    max: f64,
    unit: String,
}

/// How a plot is drawn; one that is not named here shows what was measured.
struct Style {
    plot: &'static str,
    title: &'static str,
    /// The series that the others' speed is divided by.
    over: Option<&'static str>,
}

const STYLES: &[Style] = &[
    Style { plot: "figure 1", title: "Heat f64, transfers included, by kind of host memory", over: None },
    Style {
        plot: "figure 5",
        title: "Heat f64, transfers included: speed-up over CUDA with pageable memory",
        over: Some("CUDA, pageable"),
    },
    Style {
        plot: "figure 6",
        title: "sincos f64, transfers included: speed-up over CUDA with pageable memory",
        over: Some("CUDA, pageable"),
    },
    Style {
        plot: "figure 8",
        title: "sincos f64, transfers included: speed over that with memory for all regions",
        over: Some("tida, 16 regions"),
    },
    Style { plot: "many steps", title: "Heat f64, memory for a part of the arrays", over: None },
    Style { plot: "one step a pass", title: "Heat f64, one step a pass over the link", over: None },
    Style { plot: "latency", title: "Latency of reads that wait for one another", over: None },
];

/// Draws each plot into a file of its own.
pub fn write(options: &Options) -> Result<()> {
    let mut points = Vec::new();
    for file in &options.files {
        let text =
            std::fs::read_to_string(file).map_err(|e| format!("tried to read {}; found: {e}", file.display()))?;
        read(&text, &mut points).map_err(|e| format!("tried to read {}; found: {e}", file.display()))?;
    }
    if points.is_empty() {
        return Err(
            "tried to draw plots; found no point in these files; write them by `bench ooc -- --json FILE`".into()
        );
    }
    for plot in distinct(points.iter().map(|point| point.plot.as_str())) {
        let of: Vec<Point> = points.iter().filter(|point| point.plot == plot).cloned().collect();
        let folder = options.into.clone().unwrap_or_else(|| paper(plot).into());
        let folder = crate::shell::root().join(folder);
        std::fs::create_dir_all(&folder).map_err(|e| format!("tried to create {}; found: {e}", folder.display()))?;
        let path = folder.join(format!("{}.svg", plot.replace(',', "").replace(' ', "-")));
        std::fs::write(&path, drawn(plot, &of))
            .map_err(|e| format!("tried to write {}; found: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Where the pictures of a paper are. Its plots of micro-benchmarks are named after what they measure.
fn paper(plot: &str) -> &'static str {
    match ["thread latency", "banks", "latency"].iter().any(|micro| plot.starts_with(micro)) {
        true => "docs/papers/ipmacc",
        false => "docs/papers/tida-acc",
    }
}

/// Adds the points of a file; other lines are left out.
fn read(text: &str, points: &mut Vec<Point>) -> Result<()> {
    for (number, line) in text.lines().enumerate() {
        let value: serde_json::Value = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", number + 1))?;
        if value.get("plot").is_none() {
            continue;
        }
        let point: Point = serde_json::from_value(value).map_err(|e| format!("line {}: {e}", number + 1))?;
        let same = |old: &Point| old.plot == point.plot && old.group == point.group && old.series == point.series;
        match points.iter_mut().find(|old| same(old)) {
            Some(old) => *old = point,
            None => points.push(point),
        }
    }
    Ok(())
}

/// Each once, in the order in which they come.
fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for word in words {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// A bar: its height, and that of the lowest and the highest round.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    height: f64,
    low: f64,
    high: f64,
}

/// The bar of a point; none if there is nothing to divide by.
fn bar(point: &Point, points: &[Point], over: Option<&str>) -> Option<Bar> {
    let Some(over) = over else { return Some(Bar { height: point.value, low: point.min, high: point.max }) };
    let base = points.iter().find(|other| other.group == point.group && other.series == over)?;
    // Of seconds, fewer are faster.
    Some(Bar { height: base.value / point.value, low: base.value / point.max, high: base.value / point.min })
}

/// Pixels: left of the axis, of the groups, above and below.
const LEFT: f64 = 70.0;
const WIDE: f64 = 760.0;
const HIGH: f64 = 300.0;
const ABOVE: f64 = 40.0;
const BELOW: f64 = 40.0;
/// Of a line of the legend.
const LINE: f64 = 18.0;
/// Apart also for eyes that do not tell red from green.
const COLOURS: [&str; 7] = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#bbbbbb"];

/// The picture of one plot.
fn drawn(plot: &str, points: &[Point]) -> String {
    let style = STYLES.iter().find(|style| style.plot == plot);
    // Where the series to divide by was not measured, times are drawn.
    let over = style.and_then(|style| style.over).filter(|over| points.iter().any(|point| point.series == *over));
    let groups = distinct(points.iter().map(|point| point.group.as_str()));
    let series = distinct(points.iter().map(|point| point.series.as_str()));
    let unit = match (over, points.first()) {
        (Some(over), _) => format!("x the speed of {over}"),
        (None, Some(point)) => point.unit.clone(),
        (None, None) => String::new(),
    };
    let bars: Vec<(usize, usize, Bar)> = points
        .iter()
        .filter_map(|point| {
            let place = |words: &[&str], word: &str| words.iter().position(|w| *w == word);
            Some((place(&groups, &point.group)?, place(&series, &point.series)?, bar(point, points, over)?))
        })
        .collect();
    let numbers: Option<Vec<f64>> = groups.iter().map(|group| group.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() > 1);
    // Lines show no highest rounds.
    let most = |bar: &Bar| if numbers.is_some() { bar.height } else { bar.high };
    let top = bars.iter().map(|(.., bar)| most(bar)).fold(0.0, f64::max);
    let step = tick(top);
    let top = if top > 0.0 { (top / step).ceil() * step } else { 1.0 };
    let (bottom, height) = (ABOVE + HIGH, ABOVE + HIGH + BELOW + LINE * series.len() as f64);
    let y = |value: f64| bottom - HIGH * value / top;
    let width = LEFT + WIDE + 20.0;

    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        // Into a string: it cannot fail.
        let _ = writeln!(text, "{line}");
    };
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">"#
    ));
    line(format_args!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##));
    let title = style.filter(|style| style.over == over).map_or(plot, |style| style.title);
    line(format_args!(r#"<text x="{LEFT}" y="18" font-size="13">{}</text>"#, escaped(title)));
    line(format_args!(r#"<text x="{LEFT}" y="33">{}</text>"#, escaped(&unit)));
    for mark in 0..=(top / step).round() as usize {
        let value = mark as f64 * step;
        let at = y(value);
        line(format_args!(r##"<path d="M{LEFT} {at:.2}h{WIDE}" stroke="#dddddd"/>"##));
        line(format_args!(r#"<text x="{}" y="{:.2}" text-anchor="end">{}</text>"#, LEFT - 6.0, at + 4.0, short(value)));
    }
    if let Some(numbers) = numbers {
        lines(&numbers, series.len(), &bars, y, &mut line);
    } else {
        columns(&groups, &series, &bars, y, &mut line);
    }
    line(format_args!(r##"<path d="M{LEFT} {bottom}h{WIDE}" stroke="#000000"/>"##));
    for (place, name) in series.iter().enumerate() {
        let at = bottom + BELOW - 8.0 + LINE * place as f64;
        let fill = COLOURS[place % COLOURS.len()];
        line(format_args!(r#"<rect x="{LEFT}" y="{at}" width="12" height="12" fill="{fill}"/>"#));
        line(format_args!(r#"<text x="{}" y="{}">{}</text>"#, LEFT + 18.0, at + 10.0, escaped(name)));
    }
    text.push_str("</svg>\n");
    text
}

/// A line a series over groups that are numbers, with marks at round ones.
fn lines(
    numbers: &[f64],
    series: usize,
    bars: &[(usize, usize, Bar)],
    y: impl Fn(f64) -> f64,
    line: &mut dyn FnMut(std::fmt::Arguments<'_>),
) {
    let most = numbers.iter().copied().fold(0.0, f64::max);
    let x = |number: f64| LEFT + if most > 0.0 { WIDE * number / most } else { 0.0 };
    let step = tick(most);
    for mark in 0..=(most / step).floor() as usize {
        let number = mark as f64 * step;
        line(format_args!(
            r#"<text x="{:.2}" y="{}" text-anchor="middle">{number}</text>"#,
            x(number),
            ABOVE + HIGH + 16.0
        ));
    }
    for place in 0..series {
        let mut points: Vec<(f64, f64)> = bars
            .iter()
            .filter(|bar| bar.1 == place)
            .map(|(group, _, bar)| (x(numbers[*group]), y(bar.height)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let colour = COLOURS[place % COLOURS.len()];
        line(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#,
            points.join(" ")
        ));
    }
}

/// In each group a bar a series.
fn columns(
    groups: &[&str],
    series: &[&str],
    bars: &[(usize, usize, Bar)],
    y: impl Fn(f64) -> f64,
    line: &mut dyn FnMut(std::fmt::Arguments<'_>),
) {
    let bottom = ABOVE + HIGH;
    let group_wide = WIDE / groups.len().max(1) as f64;
    let bar_wide = 0.8 * group_wide / series.len().max(1) as f64;
    for (place, group) in groups.iter().enumerate() {
        let middle = LEFT + group_wide * (place as f64 + 0.5);
        line(format_args!(
            r#"<text x="{middle:.2}" y="{}" text-anchor="middle">{}</text>"#,
            bottom + 16.0,
            escaped(group)
        ));
    }
    for &(group, series_place, Bar { height, low, high }) in bars {
        let left = LEFT + group_wide * (group as f64 + 0.1) + bar_wide * series_place as f64;
        let (middle, wide) = (left + bar_wide / 2.0, 0.9 * bar_wide);
        let fill = COLOURS[series_place % COLOURS.len()];
        let title = format!(
            "{}, {}: {} ({} to {})",
            series[series_place],
            groups[group],
            short(height),
            short(low),
            short(high)
        );
        line(format_args!(
            r#"<rect x="{left:.2}" y="{:.2}" width="{wide:.2}" height="{:.2}" fill="{fill}"><title>{}</title></rect>"#,
            y(height),
            bottom - y(height),
            escaped(&title)
        ));
        line(format_args!(r##"<path d="M{middle:.2} {:.2}V{:.2}" stroke="#000000"/>"##, y(low), y(high)));
        line(format_args!(
            r#"<text x="{middle:.2}" y="{:.2}" text-anchor="middle" font-size="9">{}</text>"#,
            y(high) - 3.0,
            short(height)
        ));
    }
}

/// Distance of marks along an axis up to `top`: at most ten of them, at round numbers.
fn tick(top: f64) -> f64 {
    if !(top > 0.0 && top.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf((top / 10.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| top / step <= 10.0).unwrap_or(power)
}

/// Three figures.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Text within XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(plot: &str, group: &str, series: &str, value: f64) -> String {
        let (min, max) = (0.5 * value, 2.0 * value);
        format!(
            r#"{{"plot":"{plot}","group":"{group}","series":"{series}","value":{value},"min":{min},"max":{max},"unit":"s"}}"#
        )
    }

    fn made_up() -> Vec<Point> {
        let lines = [
            point("figure 5", "1 step", "CUDA, pageable", 9.0),
            r#"{"case":"a row","seconds":1.0}"#.to_owned(),
            point("figure 5", "1 step", "CUDA, pageable", 8.0),
            point("figure 5", "1 step", "tida & co", 2.0),
            point("figure 5", "10 steps", "tida & co", 4.0),
        ];
        let mut points = Vec::new();
        read(&lines.join("\n"), &mut points).unwrap();
        points
    }

    #[test]
    fn what_was_measured_last_counts_and_other_lines_do_not() {
        let points = made_up();
        assert_eq!(points.len(), 3);
        assert_eq!(points[0].value, 8.0);
        assert_eq!(read("{", &mut Vec::new()).unwrap_err().split(':').next(), Some("line 1"));
        assert!(read(r#"{"plot":"figure 5"}"#, &mut Vec::new()).is_err());
    }

    #[test]
    fn speed_ups_are_of_the_same_group() {
        let points = made_up();
        let over = Some("CUDA, pageable");
        assert_eq!(bar(&points[1], &points, over), Some(Bar { height: 4.0, low: 2.0, high: 8.0 }));
        assert_eq!(bar(&points[2], &points, over), None);
        assert_eq!(bar(&points[2], &points, None), Some(Bar { height: 4.0, low: 2.0, high: 8.0 }));
    }

    #[test]
    fn bars_have_the_heights_of_their_values() {
        let points = made_up();
        let picture = drawn("figure 5", &points);
        // Two bars have something to divide by: of height 1 and 4, below an axis to 8.
        let heights: Vec<f64> = picture
            .lines()
            .filter(|line| line.contains("<title>"))
            .map(|line| line.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(heights, [37.5, 150.0]);
        assert!(picture.contains("speed-up over CUDA with pageable memory") && picture.contains("tida &amp; co"));
        assert_eq!(picture.matches("<svg").count(), picture.matches("</svg>").count());
        // Without the other side, the times themselves.
        let alone: Vec<Point> = points.into_iter().filter(|point| point.series == "tida & co").collect();
        let picture = drawn("figure 5", &alone);
        assert!(picture.contains(">s</text>") && !picture.contains("speed-up"));
    }

    #[test]
    fn groups_that_are_numbers_make_lines() {
        let lines =
            [("2", 5.0), ("8", 10.0), ("4", 7.5)].map(|(group, value)| point("thread latency", group, "1", value));
        let mut points = Vec::new();
        read(&lines.join("\n"), &mut points).unwrap();
        let picture = drawn("thread latency", &points);
        // From the left, whatever the order of measuring; of an axis to 8 and one to 10.
        let drawn: Vec<&str> =
            picture.split("polyline points=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
        assert_eq!(drawn, ["260.0,190.0 450.0,115.0 830.0,40.0"]);
        assert!(!picture.contains("<title>"));
        // One number alone is a bar.
        assert!(super::drawn("thread latency", &points[..1]).contains("<title>"));
    }

    #[test]
    fn pictures_lie_beside_their_paper() {
        assert!(paper("thread latency, all unique").ends_with("ipmacc") && paper("banks, 32 x 32").ends_with("ipmacc"));
        assert!(paper("figure 5").ends_with("tida-acc") && paper("one step a pass").ends_with("tida-acc"));
    }

    #[test]
    fn marks_are_at_round_numbers() {
        assert_eq!([8.0, 10.0, 11.0, 40.0, 175.0].map(tick), [1.0, 1.0, 2.0, 5.0, 20.0]);
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(tick), [1.0; 3]);
    }

    #[test]
    fn empty_plots_are_pictures_too() {
        assert!(drawn("none", &[]).ends_with("</svg>\n"));
    }
}
