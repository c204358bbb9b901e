//! Streams, and events in them.

use std::any::Any;
use std::hint;
use std::ptr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult, CUstream, CUstream_flags};

use super::Context;
use super::probe::call;
use crate::backend::{COPIES, Event};
use crate::error::{Error, ErrorKind};

/// How long a thread looks for the end of work before it sleeps: waking up takes about as long.
const SPIN: Duration = Duration::from_micros(50);

/// Events kept to be used again.
const MOST_EVENTS: usize = 1024;

impl Context {
    /// Makes the streams, which do not wait for the default stream.
    pub(super) fn make_streams(&mut self) -> Result<(), Error> {
        let driver = self.enter()?;
        for _ in 0..=COPIES {
            let mut stream = ptr::null_mut();
            // SAFETY: the place for the answer is valid; destroyed when the context is dropped.
            unsafe { call!(driver, cuStreamCreate(&mut stream, CUstream_flags::CU_STREAM_NON_BLOCKING as u32)) }?;
            self.streams.push(stream);
        }
        Ok(())
    }

    /// The handle of a stream.
    pub(super) fn stream(&self, number: usize) -> Result<CUstream, Error> {
        self.streams.get(number).copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Argument,
                format!("use stream {number} of a CUDA device"),
                format!("streams 0 to {COPIES}"),
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

    /// An event to record, new or used before.
    fn event(&self) -> Result<CUevent, Error> {
        if let Some(event) = self.events.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(event);
        }
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32 | CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let (driver, mut event) = (self.enter()?, ptr::null_mut());
        // SAFETY: the place for the answer is valid, and the context current.
        unsafe { call!(driver, cuEventCreate(&mut event, flags)) }?;
        Ok(event)
    }

    /// Takes an event back.
    fn give_back(&self, event: CUevent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
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
        for event in std::mem::take(self.events.get_mut().unwrap_or_else(PoisonError::into_inner)) {
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
}

// SAFETY: the driver's functions on events are thread-safe.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Marks the end of what a stream has so far.
    pub fn record(context: &Arc<Context>, stream: usize) -> Result<CudaEvent, Error> {
        let (driver, stream) = (context.enter()?, context.stream(stream)?);
        let event = CudaEvent { context: context.clone(), raw: context.event()? };
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
        self.context.give_back(self.raw);
    }
}

const NOT_READY: u32 = CUresult::CUDA_ERROR_NOT_READY as u32;

impl Event for CudaEvent {
    fn is_done(&self) -> bool {
        // Failed work is done too: `finish` says so.
        self.query().map_or(true, |code| code != NOT_READY)
    }

    fn finish(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.query()? {
                NOT_READY if start.elapsed() < SPIN => hint::spin_loop(),
                NOT_READY => break,
                code => return self.context.driver.check("cuEventQuery", code),
            }
        }
        // SAFETY: the event is alive; `query` has made its context current.
        unsafe { call!(self.context.driver, cuEventSynchronize(self.raw)) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
