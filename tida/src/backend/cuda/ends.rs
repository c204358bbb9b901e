//! Ends of nodes. Many are in a stream at once, and most are looked at when others after them are done too: one event
//! stands for all that a stream got before it. An event takes the driver about as long as a third of a launch, and
//! looking at it takes the lock that who launches needs.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Context;
use super::stream::CudaEvent;
use crate::backend::{Event, pause};
use crate::error::Error;

/// So many ends have an event of their own between them, at least.
const TOGETHER: u64 = 8;

/// An end so long after the last event has its own: what took so long may be waited for by others than books.
const APART: Duration = Duration::from_micros(20);

/// While so many ends come after the one that is waited for, nobody looks more often than this: who launches needs the
/// driver's lock.
const PATIENT: Duration = Duration::from_micros(12);

/// The ends of one stream.
#[derive(Debug)]
pub(super) struct Ends {
    context: Arc<Context>,
    stream: usize,
    marks: Mutex<Marks>,
    /// All ends up to this one are known to be done.
    done: AtomicU64,
}

#[derive(Debug, Default)]
struct Marks {
    /// Ends so far.
    count: u64,
    /// Events that are not known to be done, oldest first, each with the last end before it.
    events: VecDeque<(u64, Arc<CudaEvent>)>,
    last: Option<Instant>,
}

impl Ends {
    pub fn new(context: &Arc<Context>, stream: usize) -> Ends {
        Ends { context: context.clone(), stream, marks: Mutex::default(), done: AtomicU64::new(0) }
    }

    /// The end of what the stream has so far.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn end(self: &Arc<Ends>) -> Result<CudaEnd, Error> {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.count += 1;
        let number = marks.count;
        let marked = marks.events.back().map_or(self.done.load(Ordering::Acquire), |(last, _)| *last);
        if number - marked >= TOGETHER || marks.last.is_none_or(|last| last.elapsed() >= APART) {
            self.mark(&mut marks)?;
        }
        Ok(CudaEnd { of: self.clone(), number })
    }

    /// Whether many ends come after this one.
    fn has_more(&self, number: u64) -> bool {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.count - number >= TOGETHER
    }

    /// An event after all ends so far.
    fn mark(&self, marks: &mut Marks) -> Result<Arc<CudaEvent>, Error> {
        // Under the lock: what was counted was put into the stream before.
        let event = Arc::new(CudaEvent::record(&self.context, self.stream)?);
        marks.events.push_back((marks.count, event.clone()));
        marks.last = Some(Instant::now());
        Ok(event)
    }

    /// All ends up to one were seen to be done.
    fn saw(&self, number: u64) {
        self.done.fetch_max(number, Ordering::AcqRel);
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        while marks.events.front().is_some_and(|(last, _)| *last <= number) {
            marks.events.pop_front();
        }
    }
}

/// The end of a node.
#[derive(Debug)]
pub(super) struct CudaEnd {
    of: Arc<Ends>,
    number: u64,
}

impl CudaEnd {
    fn is_known(&self) -> bool {
        self.of.done.load(Ordering::Acquire) >= self.number
    }

    /// The first event after it, with the last end before that; nothing if it is known to be done.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn event(&self) -> Result<Option<(u64, Arc<CudaEvent>)>, Error> {
        if self.is_known() {
            return Ok(None);
        }
        let mut marks = self.of.marks.lock().unwrap_or_else(PoisonError::into_inner);
        // Someone may have seen it meanwhile.
        if self.is_known() {
            return Ok(None);
        }
        if let Some((last, event)) = marks.events.iter().find(|(last, _)| *last >= self.number) {
            return Ok(Some((*last, event.clone())));
        }
        let event = self.of.mark(&mut marks)?;
        Ok(Some((marks.count, event)))
    }
}

impl Event for CudaEnd {
    fn is_done(&self) -> bool {
        match self.event() {
            Ok(Some((last, event))) => {
                let done = event.is_done();
                // Failed work is not written down: whoever finishes it is told.
                if done && event.finish().is_ok() {
                    self.of.saw(last);
                }
                done
            }
            // Failed work is done too: `finish` says so.
            Ok(None) | Err(_) => true,
        }
    }

    fn finish(&self) -> Result<(), Error> {
        if let Some((last, event)) = self.event()? {
            while self.of.has_more(self.number) && !event.is_done() {
                let looked = Instant::now();
                while looked.elapsed() < PATIENT {
                    pause();
                }
            }
            event.finish()?;
            self.of.saw(last);
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
