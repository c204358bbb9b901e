//! In-order queues, markers in them, and downloads that are under way.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opencl3::command_queue::{
    CL_QUEUE_PROFILING_ENABLE, create_command_queue, enqueue_barrier_with_wait_list, enqueue_fill_buffer,
    enqueue_marker_with_wait_list, flush, release_command_queue,
};
use opencl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, get_event_data, get_event_profiling_data,
    release_event, wait_for_events,
};
use opencl3::types::{cl_command_queue, cl_event, cl_int};

use super::probe::Device;
use super::{Handle, failed};
use crate::backend::Event;
use crate::error::Error;

/// A queue whose commands run one after another.
#[derive(Debug)]
pub(super) struct Queue {
    handle: Handle,
    device: &'static Device,
}

impl Queue {
    /// With `timed`, its markers take the time, which may cost the device something for every command.
    pub fn new(context: &Handle, device: &'static Device, timed: bool) -> Result<Queue, Error> {
        let properties = if timed { CL_QUEUE_PROFILING_ENABLE } else { 0 };
        // OpenCL 1.2's call; the newer one is missing from drivers of that version. In order: out of order is asked
        // for.
        #[allow(deprecated)]
        // SAFETY: the context is alive, and the device is its own.
        let raw = unsafe { create_command_queue(context.raw, device.id(), properties) };
        let raw = raw.map_err(|code| failed(format!("make a queue on the device {}", device.facts.name), code))?;
        // SAFETY: just made, and given back by this handle alone.
        Ok(Queue { handle: unsafe { Handle::new(raw, release_command_queue) }, device })
    }

    /// Calls what enqueues a command, and lets its event go.
    pub fn submit(
        &self,
        tried: impl FnOnce() -> String,
        enqueue: impl FnOnce(cl_command_queue) -> Result<cl_event, cl_int>,
    ) -> Result<(), Error> {
        self.event_of(tried, enqueue).map(drop)
    }

    /// The same, and gives the event.
    pub fn event_of(
        &self,
        tried: impl FnOnce() -> String,
        enqueue: impl FnOnce(cl_command_queue) -> Result<cl_event, cl_int>,
    ) -> Result<Handle, Error> {
        let event = enqueue(self.handle.raw).map_err(|code| failed(tried(), code))?;
        // SAFETY: each enqueued command gives a reference to its event.
        Ok(unsafe { Handle::new(event, release_event) })
    }

    /// Writes the first byte of a buffer, and waits for it.
    pub fn touch(&self, buffer: &Handle) -> Result<(), cl_int> {
        let zero = 0_u8;
        let from = (&raw const zero).cast();
        // SAFETY: both are alive, a buffer has a byte, and the pattern is taken before the call returns.
        let event = unsafe { enqueue_fill_buffer(self.handle.raw, buffer.raw, from, 1, 0, 1, 0, ptr::null())? };
        // SAFETY: each enqueued command gives a reference to its event.
        let event = unsafe { Handle::new(event, release_event) };
        outcome(event.raw)
    }

    /// Marks the end of what is queued, and sends it to the device: another queue that waits for the marker would
    /// else wait for ever (OpenCL 1.2, section 5.13).
    pub fn record(&self) -> Result<Marker, Error> {
        let tried = || format!("mark the work of the device {}", self.device.facts.name);
        // SAFETY: the queue is alive, and the list is empty.
        let event = self.event_of(tried, |raw| unsafe { enqueue_marker_with_wait_list(raw, 0, ptr::null()) })?;
        self.flush()?;
        Ok(Marker { event, device: self.device })
    }

    /// Lets what is queued later wait for a marker of another queue of the context.
    pub fn wait(&self, marker: &Marker) -> Result<(), Error> {
        let tried = || format!("wait for work of the device {} on it", self.device.facts.name);
        // SAFETY: the queue and the event are alive; the driver checks that they have one context.
        self.submit(tried, |raw| unsafe { enqueue_barrier_with_wait_list(raw, 1, &raw const marker.event.raw) })
    }

    /// Sends what is queued to the device.
    pub fn flush(&self) -> Result<(), Error> {
        let tried = || format!("send work to the device {}", self.device.facts.name);
        flush(self.handle.raw).map_err(|code| failed(tried(), code))
    }
}

/// Downloads that may not be done, and the bytes of the host's memory that they write.
///
/// A driver may read the host's memory when an upload is asked for, before what its queue waits for is done (NVIDIA's
/// does). So an upload of what a download writes waits for that, on the host.
#[derive(Debug, Default)]
pub(super) struct Downloads(Mutex<VecDeque<Download>>);

#[derive(Debug)]
struct Download {
    stream: usize,
    bytes: Range<usize>,
    event: Arc<Handle>,
}

impl Downloads {
    /// Adds one to those of a stream, and forgets the oldest that are done.
    pub fn add(&self, stream: usize, bytes: Range<usize>, event: Handle) {
        let mut all = self.lock();
        while all.front().is_some_and(|oldest| is_over(&oldest.event)) {
            all.pop_front();
        }
        all.push_back(Download { stream, bytes, event: Arc::new(event) });
    }

    /// The stream and the event of the last that writes any of these bytes: those before it were waited for by whoever
    /// asked for it.
    pub fn last_into(&self, bytes: &Range<usize>) -> Option<(usize, Arc<Handle>)> {
        let all = self.lock();
        let mut last_first = all.iter().rev();
        let found = last_first.find(|one| one.bytes.start < bytes.end && bytes.start < one.bytes.end)?;
        Some((found.stream, found.event.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Download>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what an event stands for is done, well or not.
fn is_over(event: &Handle) -> bool {
    status(event.raw).is_ok_and(|status| status <= CL_COMPLETE)
}

/// A point in a queue's work.
#[derive(Debug)]
pub(super) struct Marker {
    event: Handle,
    device: &'static Device,
}

/// Above [`CL_COMPLETE`] while there is work to do, below it where that failed.
fn status(event: cl_event) -> Result<cl_int, cl_int> {
    let bytes = get_event_data(event, CL_EVENT_COMMAND_EXECUTION_STATUS)?;
    Ok(bytes.as_slice().try_into().map_or(CL_COMPLETE, cl_int::from_ne_bytes))
}

/// Waits for an event, whatever became of it: its marker says that.
pub(super) fn wait_for(event: &Handle) {
    let _ = wait_for_events(&[event.raw]);
}

/// Waits for an event.
fn outcome(event: cl_event) -> Result<(), cl_int> {
    verdict(wait_for_events(&[event]), status(event))
}

/// What became of an event that was waited for. Its status says what went wrong, the wait only that something did.
fn verdict(waited: Result<(), cl_int>, status: Result<cl_int, cl_int>) -> Result<(), cl_int> {
    match status {
        Ok(status) if status < CL_COMPLETE => Err(status),
        _ => waited,
    }
}

impl Event for Marker {
    fn is_done(&self) -> bool {
        match status(self.event.raw) {
            // Asking for the status makes nothing visible, waiting does (OpenCL 1.2, section 5.9).
            Ok(CL_COMPLETE) => {
                let _ = wait_for_events(&[self.event.raw]);
                true
            }
            Ok(status) => status < CL_COMPLETE,
            // `finish` will say why.
            Err(_) => true,
        }
    }

    fn finish(&self) -> Result<(), Error> {
        outcome(self.event.raw)
            .map_err(|code| failed(format!("run work on the device {}", self.device.facts.name), code))
    }

    fn time(&self) -> Option<f64> {
        // Not there while it is not done, nor in a queue that does not take times.
        let bytes = get_event_profiling_data(self.event.raw, CL_PROFILING_COMMAND_END).ok()?;
        // Nanoseconds; drivers that take no time of markers leave a 0.
        let end = u64::from_ne_bytes(bytes.as_slice().try_into().ok()?);
        (end > 0).then(|| end as f64 / 1e9)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use opencl3::context::context::{create_context, release_context};
    use opencl3::error_codes::{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_OUT_OF_RESOURCES};
    use opencl3::event::{create_user_event, set_user_event_status};

    use super::*;
    use crate::backend::opencl::probe;

    /// Two queues of one context, the second behind a gate that the test opens.
    fn gated() -> Option<(Queue, Queue, Marker)> {
        let device = match probe::devices().and_then(|devices| probe::choose(devices, true, None, 0)) {
            Ok(device) => device,
            Err(e) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("{e}"),
            Err(e) => {
                eprintln!("SKIPPED: OpenCL is not tested: {e}");
                return None;
            }
        };
        let context = create_context(&[device.id()], ptr::null(), None, ptr::null_mut()).unwrap();
        // SAFETY: just made, and given back by this handle alone; the queues hold the context by themselves.
        let context = unsafe { Handle::new(context, release_context) };
        let [first, second] = [false; 2].map(|timed| Queue::new(&context, device, timed).unwrap());
        // SAFETY: as above.
        let gate = unsafe { Handle::new(create_user_event(context.raw).unwrap(), release_event) };
        let gate = Marker { event: gate, device };
        second.wait(&gate).unwrap();
        Some((first, second, gate))
    }

    #[test]
    fn a_marker_is_done_when_the_work_before_it_is() {
        let Some((first, second, gate)) = gated() else { return };
        let behind = second.record().unwrap();
        first.wait(&behind).unwrap();
        let last = first.record().unwrap();
        assert!(!behind.is_done() && !last.is_done());
        set_user_event_status(gate.event.raw, CL_COMPLETE).unwrap();
        last.finish().unwrap();
        assert!(behind.is_done() && last.is_done());
    }

    // PoCL 3.1 aborts the process where a user event that work waits for is made to fail, so no real one is.
    #[test]
    fn the_status_of_failed_work_says_why() {
        let in_list = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        assert_eq!(verdict(Ok(()), Ok(CL_COMPLETE)), Ok(()));
        assert_eq!(verdict(Err(in_list), Ok(CL_OUT_OF_RESOURCES)), Err(CL_OUT_OF_RESOURCES));
        // Some drivers say so in the status alone.
        assert_eq!(verdict(Ok(()), Ok(CL_OUT_OF_RESOURCES)), Err(CL_OUT_OF_RESOURCES));
        assert_eq!(verdict(Err(CL_OUT_OF_RESOURCES), Err(in_list)), Err(CL_OUT_OF_RESOURCES));
    }
}
