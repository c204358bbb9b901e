//! Records what runs when.
//!
//! Work on the device goes between two events made by `Backend::record_timed`, best by
//! [`DeviceCore::timed`](crate::device::core::DeviceCore::timed). Who marks them otherwise calls [`Recorder::span`]
//! with both. Events are asked for their times later: some hundred at a time once they are done, so that the driver has
//! them back, and the rest when the timeline is wanted. Work on the host is recorded by [`host_span`].

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::{self, Display};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::stats::Busy;
use super::{Span, SpanKind, Timeline};
use crate::backend::{Backend, COPIES, Event};
use crate::error::Error;

/// Events are asked for their times when so many spans wait for theirs.
const SETTLE: usize = 256;

/// How often both clocks are read; the best reading counts.
const READINGS: usize = 8;

/// Records what runs when. All spans of an accelerator share one.
#[derive(Debug)]
pub(crate) struct Recorder {
    device: String,
    zero: Instant,
    /// What the device's clock says, on the axis of the host's.
    clock: Option<Clock>,
    records: Mutex<Records>,
}

/// The device's clock beside the host's.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Seconds from the device's time to the axis.
    offset: f64,
    /// Seconds by which that may be wrong.
    error: f64,
}

#[derive(Debug)]
struct Records {
    /// Spans with their times.
    spans: Vec<Span>,
    /// Spans whose events may not be done yet.
    pending: Vec<Pending>,
    /// Number of pending spans at which they are looked at again.
    settle_at: usize,
    untimed: u64,
}

#[derive(Debug)]
struct Pending {
    /// Without its times.
    span: Span,
    start: Arc<dyn Event>,
    end: Arc<dyn Event>,
}

thread_local! {
    /// The stream and the start of the span whose commands this thread puts into a stream now.
    static STARTED: RefCell<Option<(usize, Arc<dyn Event>)>> = const { RefCell::new(None) };
}

impl Recorder {
    /// Starts the axis of time now, and reads the clock of the device.
    pub fn new(backend: Option<&dyn Backend>) -> Recorder {
        let zero = Instant::now();
        Recorder {
            device: backend.map_or_else(|| "cpu".into(), |backend| backend.facts().name.clone()),
            zero,
            clock: backend.and_then(|backend| Clock::read(backend, zero)),
            records: Mutex::new(Records { spans: Vec::new(), pending: Vec::new(), settle_at: SETTLE, untimed: 0 }),
        }
    }

    /// When its axis of time started.
    pub fn zero(&self) -> Instant {
        self.zero
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records work of the device between two events of its own made by [`Backend::record_timed`].
    ///
    /// `lane` is the stream that it ran in, `bytes` what it copied over the link.
    pub fn span(
        &self,
        kind: SpanKind,
        name: impl Into<Cow<'static, str>>,
        lane: usize,
        bytes: u64,
        start: Arc<dyn Event>,
        end: Arc<dyn Event>,
    ) {
        let span = Span { kind, place: 0, name: name.into(), lane, start: 0.0, end: 0.0, bytes };
        let mut records = self.lock();
        records.pending.push(Pending { span, start, end });
        if records.pending.len() >= records.settle_at {
            records.settle(self.clock, false);
            records.settle_at = SETTLE.max(2 * records.pending.len());
        }
    }

    /// Records work of the host. `lane` is the number of a thread.
    pub fn host_span(&self, name: impl Into<Cow<'static, str>>, lane: usize, start: Instant, end: Instant) {
        self.timed_by_host(SpanKind::Cpu, name.into(), lane, (start, end));
    }

    /// Records that a kernel was compiled.
    pub fn compile_span(&self, name: impl Into<Cow<'static, str>>, lane: usize, start: Instant, end: Instant) {
        self.timed_by_host(SpanKind::Compile, name.into(), lane, (start, end));
    }

    /// Records that files were written or read.
    pub fn file_span(&self, name: impl Into<Cow<'static, str>>, start: Instant, end: Instant) {
        self.timed_by_host(SpanKind::Files, name.into(), 0, (start, end));
    }

    fn timed_by_host(&self, kind: SpanKind, name: Cow<'static, str>, lane: usize, (start, end): (Instant, Instant)) {
        let at = |instant: Instant| instant.saturating_duration_since(self.zero).as_secs_f64();
        let span = Span { kind, place: 0, name, lane, start: at(start), end: at(end), bytes: 0 };
        self.lock().spans.push(span);
    }

    /// Runs `f`, which puts commands into a stream, as a span. That the events cannot be marked is no failure: then the
    /// span is missing.
    pub fn around<T>(
        &self,
        backend: &dyn Backend,
        (kind, name): (SpanKind, impl Display),
        (stream, bytes): (usize, usize),
        f: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = backend.record_timed(stream).ok().map(|event| (stream, event));
        let outer = STARTED.replace(start);
        let result = f();
        let start = STARTED.replace(outer);
        if let (Ok(_), Some((_, start)), Ok(end)) = (&result, start, backend.record_timed(stream)) {
            self.span(kind, name.to_string(), stream, bytes as u64, start, end);
        }
        result
    }

    /// Everything so far. Waits for the work of all spans.
    pub fn timeline(&self) -> Timeline {
        let mut records = self.lock();
        records.settle(self.clock, true);
        let mut spans = records.spans.clone();
        spans.sort_by(|a, b| a.start.total_cmp(&b.start));
        Timeline {
            device: self.device.clone(),
            spans,
            clock_error: self.clock.map(|clock| clock.error),
            untimed: records.untimed,
        }
    }

    /// The sum of what is done so far.
    pub fn busy(&self) -> Option<Busy> {
        let mut records = self.lock();
        records.settle(self.clock, false);
        Busy::of(&records.spans)
    }
}

/// Lets the span that this thread is in start anew: after what made the host wait (a compiler, say) while the device
/// had nothing of it yet.
pub(crate) fn restart(backend: &dyn Backend) {
    STARTED.with_borrow_mut(|started| {
        if let Some((stream, event)) = started
            && let Ok(now) = backend.record_timed(*stream)
        {
            *event = now;
        }
    });
}

/// What a timeline says of a node: its name, unless that is of any sweep, and the line that recorded it.
pub(crate) struct Label<'a> {
    pub name: &'a str,
    pub recorded: &'a Location<'a>,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.recorded.file().rsplit(['/', '\\']).next().unwrap_or_default();
        match self.name {
            "a kernel" => write!(f, "{file}:{}", self.recorded.line()),
            name => write!(f, "{name} {file}:{}", self.recorded.line()),
        }
    }
}

/// Runs `f`; with a recorder, as a span of the host.
pub(crate) fn host_span<T>(recorder: Option<&Recorder>, name: impl Display, f: impl FnOnce() -> T) -> T {
    let Some(recorder) = recorder else { return f() };
    let start = Instant::now();
    let result = f();
    let lane = rayon::current_thread_index().unwrap_or(0);
    recorder.host_span(name.to_string(), lane, start, Instant::now());
    result
}

impl Records {
    /// Takes the times of spans that are done; with `wait`, of all.
    fn settle(&mut self, clock: Option<Clock>, wait: bool) {
        let Records { spans, pending, untimed, .. } = self;
        pending.retain(|Pending { span, start, end }| {
            if wait {
                // Work that failed has no time; who recorded it learns why.
                let _ = start.finish().and_then(|()| end.finish());
            } else if !(start.is_done() && end.is_done()) {
                return true;
            }
            let at = |event: &Arc<dyn Event>| {
                clock.and_then(|clock| Some(event.time()? + clock.offset)).filter(|time| time.is_finite())
            };
            match (at(start), at(end)) {
                (Some(start), Some(end)) => spans.push(Span { start, end: end.max(start), ..span.clone() }),
                _ => *untimed += 1,
            }
            false
        });
    }
}

impl Clock {
    /// Reads both clocks: a mark in an idle stream is passed after it was put there and before it is seen to be done.
    /// `None` if the device does not tell its time.
    fn read(backend: &dyn Backend, zero: Instant) -> Option<Clock> {
        let mut best: Option<Clock> = None;
        for _ in 0..READINGS {
            let before = zero.elapsed();
            let event = backend.record_timed(COPIES).ok()?;
            backend.flush(COPIES).ok()?;
            event.finish().ok()?;
            let after = zero.elapsed();
            let middle = (before + after) / 2;
            let clock = Clock { offset: seconds(middle) - event.time()?, error: seconds(after - middle) };
            best = best.filter(|best| best.error <= clock.error).or(Some(clock));
        }
        best
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
