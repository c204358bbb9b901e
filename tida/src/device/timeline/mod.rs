//! What ran when: spans of time on the device, on its link and on the host.
//!
//! Recording is off unless [`TileAccBuilder::timeline`](crate::TileAccBuilder::timeline) asks for it. Then each piece
//! of work on the device is put between two events that take the time (`recorder.rs`), which are asked for it later:
//! nothing waits. [`Timeline`] is what came of it; `chrome.rs` and `svg.rs` write it, `stats.rs` sums it up.

mod chrome;
mod recorder;
mod stats;
mod svg;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

pub(crate) use recorder::{Label, Recorder, host_span, restart};
pub use stats::{Busy, Stats};

use crate::error::{Error, ErrorKind};

/// What happens in a span of time.
///
/// ```
/// use tida::acc::SpanKind;
/// let names = ["H2D", "kernel", "D2H", "ghost", "strips", "CPU", "compile", "files"];
/// assert_eq!(SpanKind::ALL.map(SpanKind::name), names);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanKind {
    /// A copy from the host to the device.
    H2d,
    /// Kernels of a sweep, a reduction or a copy on the device.
    Kernel,
    /// A copy from the device to the host.
    D2h,
    /// Filling ghosts on the device.
    Ghost,
    /// Taking cells beside a border from the device of another place.
    Strips,
    /// Work on the host.
    Cpu,
    /// Compiling a kernel, in the program's loop or beside it.
    Compile,
    /// Writing or reading files ([`TileAcc::file_span`](crate::TileAcc::file_span)).
    Files,
}

impl SpanKind {
    /// Every kind, in the order of legends.
    pub const ALL: [SpanKind; 8] = [
        SpanKind::H2d,
        SpanKind::Kernel,
        SpanKind::D2h,
        SpanKind::Ghost,
        SpanKind::Strips,
        SpanKind::Cpu,
        SpanKind::Compile,
        SpanKind::Files,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            SpanKind::H2d => "H2D",
            SpanKind::Kernel => "kernel",
            SpanKind::D2h => "D2H",
            SpanKind::Ghost => "ghost",
            SpanKind::Strips => "strips",
            SpanKind::Cpu => "CPU",
            SpanKind::Compile => "compile",
            SpanKind::Files => "files",
        }
    }
}

/// A span of time in which one thing happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// What happened.
    pub kind: SpanKind,
    /// The number of the [place](crate::TileAcc::places) that it was for; 0 where there is one.
    pub place: usize,
    /// Which: the region of a copy, or what was recorded and the line that recorded it.
    pub name: Cow<'static, str>,
    /// The stream of the device that it ran in; on the host, the number of the thread that started it; of compilations,
    /// how many others were under way.
    pub lane: usize,
    /// Its start in seconds, counted from when the accelerator was built.
    pub start: f64,
    /// Its end in seconds.
    pub end: f64,
    /// Bytes that it copied over the link.
    pub bytes: u64,
}

/// What ran when, from [`TileAcc::timeline`](crate::TileAcc::timeline). Times are in seconds since the accelerator was
/// built.
///
/// A span on the device starts when the stream had done all before it, and ends when the stream had done it, both by
/// the device's clock. Those of the host are by the host's. Both clocks were read when the accelerator was built, to
/// put all spans on one axis: [`Timeline::clock_error`] says how well that went. Spans of several places are on one
/// axis, that of the first.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::builder().device(Device::Cpu).timeline(true).build()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
/// }
/// let timeline = acc.timeline()?;
/// let span = &timeline.spans()[0];
/// assert_eq!((span.kind, span.bytes), (tida::acc::SpanKind::Cpu, 0));
/// assert!(0.0 <= span.start && span.start <= span.end);
/// assert!(timeline.svg().starts_with("<svg"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    device: String,
    spans: Vec<Span>,
    clock_error: Option<f64>,
    untimed: u64,
}

impl Timeline {
    /// All spans, by their start.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).timeline(true).build()?;
    /// let mut u = TileArray::<f64, 1>::builder([1000]).build(&acc)?;
    /// for tile in u.tiles() {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64))?;
    /// }
    /// let timeline = acc.timeline()?;
    /// for span in timeline.spans() {
    ///     println!("{}: {} s, {} bytes", span.name, span.end - span.start, span.bytes);
    /// }
    /// assert!(timeline.spans().iter().any(|span| span.kind == tida::acc::SpanKind::Kernel));
    /// assert!(timeline.busy().unwrap().kernels > 0.0);
    /// # Ok(()) }
    /// ```
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The timelines of several places, each with when it began, as one.
    pub(crate) fn of_places(places: Vec<(Instant, Timeline)>) -> Timeline {
        let began = places.first().map(|(began, _)| *began);
        let devices: Vec<&str> = places.iter().map(|(_, timeline)| timeline.device.as_str()).collect();
        let device = devices.join(", ");
        let clock_error = places.iter().filter_map(|(_, timeline)| timeline.clock_error).reduce(f64::max);
        let untimed = places.iter().map(|(_, timeline)| timeline.untimed).sum();
        let mut spans = Vec::new();
        for (place, (zero, timeline)) in places.into_iter().enumerate() {
            let later = began.map_or(0.0, |began| zero.saturating_duration_since(began).as_secs_f64());
            let moved = |span: Span| Span { place, start: span.start + later, end: span.end + later, ..span };
            spans.extend(timeline.spans.into_iter().map(moved));
        }
        spans.sort_by(|a, b| a.start.total_cmp(&b.start));
        Timeline { device, spans, clock_error, untimed }
    }

    /// The device, by its driver's name for it; `cpu` if there is none. Of several places all of them, with commas.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Seconds by which spans of the device and of the host may be shifted against each other at the start; the clocks
    /// may drift apart later, by some microseconds a second. `None` without a device that tells its time. Spans of one
    /// device are exact among themselves.
    pub fn clock_error(&self) -> Option<f64> {
        self.clock_error
    }

    /// Number of spans that are left out because the device did not tell their times: the work failed, or the driver
    /// takes none.
    pub fn untimed(&self) -> u64 {
        self.untimed
    }

    /// Parts of the time in which the link, kernels and the host were at work; `None` without a span.
    pub fn busy(&self) -> Option<Busy> {
        Busy::of(&self.spans)
    }

    /// The timeline in the JSON format of Chrome's tracer, which `chrome://tracing` and Perfetto show.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().timeline(true).build()?;
    /// assert!(acc.timeline()?.chrome().contains("traceEvents"));
    /// # Ok(()) }
    /// ```
    pub fn chrome(&self) -> String {
        chrome::write(self)
    }

    /// The timeline as an SVG picture in the manner of TiDA-acc's Figure 7: a row for each stream and each thread, time
    /// from left to right. Neighbours of one kind that are narrower than a pixel become one box.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().timeline(true).build()?;
    /// assert!(acc.timeline()?.svg().starts_with("<svg"));
    /// # Ok(()) }
    /// ```
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// Writes [`Timeline::chrome`] into a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_chrome(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        save(path.as_ref(), &self.chrome())
    }

    /// Writes [`Timeline::svg`] into a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_svg(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        save(path.as_ref(), &self.svg())
    }

    /// Rows of spans, place by place: streams of the device first, then threads of the host, compilations, and files.
    fn lanes(&self) -> Vec<(Row, Vec<&Span>)> {
        let mut lanes: Vec<(Row, Vec<&Span>)> = Vec::new();
        let several = self.spans.iter().any(|span| span.place > 0);
        for span in &self.spans {
            let lane = match span.kind {
                SpanKind::Cpu => Lane::Thread(span.lane),
                SpanKind::Compile => Lane::Compiler(span.lane),
                SpanKind::Files => Lane::Files,
                _ => Lane::Stream(span.lane),
            };
            let row = Row { place: span.place, lane, several };
            match lanes.iter_mut().find(|(known, _)| *known == row) {
                Some((_, spans)) => spans.push(span),
                None => lanes.push((row, vec![span])),
            }
        }
        lanes.sort_by_key(|(row, _)| *row);
        lanes
    }
}

/// A row of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    place: usize,
    lane: Lane,
    /// There are rows of other places.
    several: bool,
}

impl Row {
    fn name(&self) -> String {
        let lane = self.lane.name();
        if self.several { format!("{}: {lane}", self.place) } else { lane }
    }
}

/// What a row of a place has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Stream(usize),
    Thread(usize),
    Compiler(usize),
    Files,
}

impl Lane {
    fn name(self) -> String {
        match self {
            Lane::Stream(number) => format!("stream {number}"),
            Lane::Thread(number) => format!("thread {number}"),
            Lane::Compiler(number) => format!("compiler {number}"),
            Lane::Files => "files".into(),
        }
    }
}

fn save(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("write the timeline to {}", path.display()),
            error.to_string(),
            "see that the folder is there and may be written, and that the disk has room",
        )
    })
}
