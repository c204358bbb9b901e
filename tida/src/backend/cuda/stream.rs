//! Streams, and events in them.

use std::any::Any;
use std::ptr;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Context;
use super::probe::call;
use super::sys::{self, CUevent, CUstream};
use crate::backend::{ALL_STREAMS, Event, STRIPS, looks_for, pause};
use crate::error::{Error, ErrorKind};

/// How long it looks away between two looks at first, and at most: a look takes the driver's lock, which who launches
/// needs.
const AWAY: (Duration, Duration) = (Duration::from_micros(1), Duration::from_micros(4));

/// How long it sleeps between two looks later on: a part of the time that it has waited, at least and at most so long.
/// An event that the driver could sleep for itself would keep the next kernel waiting for 1.3 µs (one H200).
const SLEEP: (u32, Duration, Duration) = (64, Duration::from_micros(20), Duration::from_micros(500));

/// Events kept to be used again, of each sort.
const MOST_EVENTS: usize = 1024;

/// How long an origin is counted from. The driver gives times since an origin in `f32`: within so long to 0.2 us, finer
/// than it takes them (0.5 us).
const ORIGIN: Duration = Duration::from_secs(4);

/// An event that has happened, from which the times of later ones are counted. The context has its handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    raw: CUevent,
    made: Instant,
    /// Seconds after the first origin.
    seconds: f64,
}

impl Context {
    /// Makes the streams, which do not wait for the default stream.
    pub(super) fn make_streams(&mut self) -> Result<(), Error> {
        let driver = self.enter()?;
        let (mut least, mut most) = (0, 0);
        // SAFETY: both places are valid, and the context current.
        unsafe { call!(driver, cuCtxGetStreamPriorityRange(&mut least, &mut most)) }?;
        for number in 0..ALL_STREAMS {
            let (mut stream, priority) = (ptr::null_mut(), if number >= STRIPS { most } else { least });
            // SAFETY: the place for the answer is valid; destroyed when the context is dropped.
            unsafe {
                call!(driver, cuStreamCreateWithPriority(&mut stream, sys::CU_STREAM_NON_BLOCKING, priority))?;
            }
            self.streams.push(stream);
        }
        Ok(())
    }

    /// Whether its kernels may read the memory of another context, from now on.
    pub(super) fn reach(&self, other: &Context) -> bool {
        if self.raw == other.raw {
            return true;
        }
        let Ok(driver) = self.enter() else { return false };
        let mut can = 0;
        // SAFETY: the place for the answer is valid.
        let code = unsafe { (driver.cuDeviceCanAccessPeer)(&mut can, self.device, other.device) };
        if code != 0 || can == 0 {
            return false;
        }
        // SAFETY: this context is current, the other one is alive. That it ends first takes the access with it.
        let code = unsafe { (driver.cuCtxEnablePeerAccess)(other.raw, 0) };
        code == 0 || code == sys::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    }

    /// The handle of a stream.
    pub(super) fn stream(&self, number: usize) -> Result<CUstream, Error> {
        self.streams.get(number).copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Argument,
                format!("use stream {number} of a CUDA device"),
                format!("streams 0 to {}", ALL_STREAMS - 1),
                "use one of these",
            )
        })
    }

    /// Lets a stream wait for an event.
    pub(super) fn wait(&self, stream: usize, event: &CudaEvent) -> Result<(), Error> {
        let (driver, stream) = (self.enter()?, self.stream(stream)?);
        // SAFETY: both handles are alive. The stream keeps the point that the event stands for now: that it is recorded
        // again later changes nothing.
        unsafe { call!(driver, cuStreamWaitEvent(stream, event.raw, 0)) }
    }

    /// An event at the end of what a stream has so far.
    pub(super) fn mark(&self, stream: CUstream) -> Result<CUevent, Error> {
        let event = self.event(false)?;
        // SAFETY: the event is alive and no one else knows it; the stream is this context's.
        let recorded = unsafe { call!(self.enter()?, cuEventRecord(event, stream)) };
        if recorded.is_err() {
            self.give_back(event, false);
        }
        recorded.map(|()| event)
    }

    /// Lets a stream wait for what was marked.
    pub(super) fn follow(&self, stream: CUstream, event: CUevent) -> Result<(), Error> {
        // SAFETY: as in `wait`.
        unsafe { call!(self.enter()?, cuStreamWaitEvent(stream, event, 0)) }
    }

    /// Events to use again, that take the time or do not.
    fn kept_events(&self, timed: bool) -> MutexGuard<'_, Vec<CUevent>> {
        let events = if timed { &self.timed_events } else { &self.events };
        events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event to record, new or used before. That it takes the time costs the device more.
    fn event(&self, timed: bool) -> Result<CUevent, Error> {
        if let Some(event) = self.kept_events(timed).pop() {
            return Ok(event);
        }
        let flags = match timed {
            true => sys::CU_EVENT_BLOCKING_SYNC,
            false => sys::CU_EVENT_DISABLE_TIMING,
        };
        let (driver, mut event) = (self.enter()?, ptr::null_mut());
        // SAFETY: the place for the answer is valid, and the context current.
        unsafe { call!(driver, cuEventCreate(&mut event, flags)) }?;
        Ok(event)
    }

    /// What the times of events that are recorded now are counted from.
    fn origin(&self) -> Result<Origin, Error> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        let last = origins.last().copied();
        if let Some(last) = last.filter(|last| last.made.elapsed() < ORIGIN) {
            return Ok(last);
        }
        let raw = self.event(true)?;
        let mut origin = Origin { raw, made: Instant::now(), seconds: 0.0 };
        // In the list at once: whatever fails below, the context destroys it.
        origins.push(origin);
        let driver = self.enter()?;
        // The default stream: tida's own streams do not wait for it, nor it for them, so that this is done at once.
        // SAFETY: the event is alive and of the current context, which has a default stream.
        unsafe {
            call!(driver, cuEventRecord(raw, ptr::null_mut()))?;
            call!(driver, cuEventSynchronize(raw))?;
        }
        if let Some(last) = last {
            let by_host = || (origin.made - last.made).as_secs_f64();
            origin.seconds = last.seconds + self.seconds_between(last.raw, raw).unwrap_or_else(by_host);
        }
        if let Some(place) = origins.last_mut() {
            *place = origin;
        }
        Ok(origin)
    }

    /// Seconds from one event to another, both of which take the time; `None` if one has not happened.
    fn seconds_between(&self, from: CUevent, to: CUevent) -> Option<f64> {
        let elapsed = self.enter().ok()?.cuEventElapsedTime?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive, and the place for the answer is valid.
        let code = unsafe { elapsed(&mut milliseconds, from, to) };
        (code == 0).then(|| f64::from(milliseconds) / 1e3)
    }

    /// Takes an event back.
    pub(super) fn give_back(&self, event: CUevent, timed: bool) {
        let mut events = self.kept_events(timed);
        if events.len() < MOST_EVENTS {
            return events.push(event);
        }
        drop(events);
        self.destroy(event);
    }

    fn destroy(&self, event: CUevent) {
        if self.enter().is_ok() {
            // SAFETY: made by `event`, and destroyed once: it is in no list and in no `CudaEvent`.
            let code = unsafe { (self.driver.cuEventDestroy_v2)(event) };
            self.ignore("cuEventDestroy", code);
        }
    }

    /// Destroys the events that are kept. For the end of the context.
    pub(super) fn drop_events(&mut self) {
        let origins = std::mem::take(self.origins.get_mut().unwrap_or_else(PoisonError::into_inner));
        let kept = [&mut self.events, &mut self.timed_events];
        let kept = kept.map(|events| std::mem::take(events.get_mut().unwrap_or_else(PoisonError::into_inner)));
        for event in kept.into_iter().flatten().chain(origins.iter().map(|origin| origin.raw)) {
            self.destroy(event);
        }
    }

    /// Destroys the streams. For the end of the context, which is current.
    pub(super) fn drop_streams(&mut self) {
        for stream in std::mem::take(&mut self.streams) {
            // SAFETY: made by `make_streams`, destroyed once, and no longer in the list.
            let code = unsafe { (self.driver.cuStreamDestroy_v2)(stream) };
            self.ignore("cuStreamDestroy", code);
        }
    }
}

/// A recorded event. Its handle goes back to the context when dropped.
#[derive(Debug)]
pub(super) struct CudaEvent {
    context: Arc<Context>,
    raw: CUevent,
    /// If it takes the time: what that is counted from.
    origin: Option<Origin>,
}

// SAFETY: the driver's functions on events are thread-safe.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Marks the end of what a stream has so far.
    pub fn record(context: &Arc<Context>, stream: usize) -> Result<CudaEvent, Error> {
        CudaEvent::record_from(context, stream, None)
    }

    /// As [`CudaEvent::record`], and takes the time.
    pub fn record_timed(context: &Arc<Context>, stream: usize) -> Result<CudaEvent, Error> {
        let origin = context.origin()?;
        CudaEvent::record_from(context, stream, Some(origin))
    }

    fn record_from(context: &Arc<Context>, stream: usize, origin: Option<Origin>) -> Result<CudaEvent, Error> {
        let (driver, stream) = (context.enter()?, context.stream(stream)?);
        let event = CudaEvent { context: context.clone(), raw: context.event(origin.is_some())?, origin };
        // SAFETY: both handles are alive and of the current context; no one else knows the event.
        unsafe { call!(driver, cuEventRecord(event.raw, stream)) }?;
        Ok(event)
    }

    /// The driver's result for the work before the event.
    fn query(&self) -> Result<u32, Error> {
        let driver = self.context.enter()?;
        // SAFETY: the event is alive.
        Ok(unsafe { (driver.cuEventQuery)(self.raw) })
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        self.context.give_back(self.raw, self.origin.is_some());
    }
}

const NOT_READY: u32 = sys::CUDA_ERROR_NOT_READY;

impl Event for CudaEvent {
    fn is_done(&self) -> bool {
        // Failed work is done too: `finish` says so.
        self.query().map_or(true, |code| code != NOT_READY)
    }

    fn finish(&self) -> Result<(), Error> {
        let (start, most) = (Instant::now(), looks_for());
        let mut away = AWAY.0;
        loop {
            match self.query()? {
                NOT_READY if start.elapsed() < most => {
                    let looked = Instant::now();
                    while looked.elapsed() < away {
                        pause();
                    }
                    away = AWAY.1.min(2 * away);
                }
                NOT_READY if self.origin.is_some() => break,
                NOT_READY => std::thread::sleep((start.elapsed() / SLEEP.0).clamp(SLEEP.1, SLEEP.2)),
                code => return self.context.driver.check("cuEventQuery", code),
            }
        }
        // SAFETY: the event is alive; `query` has made its context current.
        unsafe { call!(self.context.driver, cuEventSynchronize(self.raw)) }
    }

    fn time(&self) -> Option<f64> {
        let origin = self.origin?;
        self.context.seconds_between(origin.raw, self.raw).map(|seconds| origin.seconds + seconds)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
