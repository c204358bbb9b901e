//! The streams of a chain on a device: what was put there, what waits for what, and what is held until all is done.
//!
//! Planes and regions both go through here. Copies to the device are in one stream, kernels in another, copies to the
//! host in a third. Events alone order them (TiDA-acc §IV-B).

use std::any::Any;
use std::sync::Arc;

use super::outcome::told;
use super::{Chain, Link};
use crate::backend::{Event, PACKS};
use crate::device::core::DeviceCore;
use crate::device::timeline::SpanKind;
use crate::error::Error;
use crate::memory::node::{Done, Queue};

/// The stream of kernels, and those of copies to the device and to the host.
pub(super) const RUN: usize = 0;
pub(super) const UP: usize = 1;
pub(super) const DOWN: usize = 2;

/// The end of what was put into a stream; nothing if that was nothing.
type Mark = Option<Arc<dyn Event>>;

/// The streams of a chain that runs.
pub(super) struct Streams<'a> {
    pub device: &'a Arc<DeviceCore>,
    /// The ends of loads, runs and stores, each numbered from 0.
    loads: Vec<Mark>,
    runs: Vec<Mark>,
    stores: Vec<Mark>,
    /// Ends that tell of failures.
    marks: Vec<Arc<dyn Event>>,
    /// What tells how launches went, with the number of the link.
    done: Vec<(usize, Done)>,
    held: Vec<Box<dyn Any>>,
}

fn of(marks: &[Mark], number: Option<usize>) -> Option<&Arc<dyn Event>> {
    number.and_then(|number| marks.get(number)).and_then(|mark| mark.as_ref())
}

impl<'a> Streams<'a> {
    pub fn new(device: &'a Arc<DeviceCore>) -> Streams<'a> {
        let (loads, runs, stores) = Default::default();
        Streams { device, loads, runs, stores, marks: Vec::new(), done: Vec::new(), held: Vec::new() }
    }

    /// Lets a stream wait for the run and the store of these numbers.
    ///
    /// # Errors
    /// What the driver reports. So do the others.
    pub fn wait(&self, stream: usize, run: Option<usize>, store: Option<usize>) -> Result<(), Error> {
        let marks = [of(&self.runs, run), of(&self.stores, store)];
        marks.into_iter().flatten().try_for_each(|mark| self.device.backend().wait(stream, &**mark))
    }

    /// The same for the host and a load, a run or a store, whose ends tell of failures.
    pub fn wait_on_host(&self, load: Option<usize>, store: Option<usize>) -> Result<(), Error> {
        let marks = [of(&self.loads, load), of(&self.stores, store)];
        marks.into_iter().flatten().try_for_each(|mark| mark.finish())
    }

    /// What was put into a stream so far.
    fn mark(&mut self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        let backend = self.device.backend();
        let mark = backend.record(stream)?;
        backend.flush(stream)?;
        self.marks.push(mark.clone());
        Ok(mark)
    }

    /// Ends a load, for which kernels wait that come later, and what `unpacks` it before them.
    pub fn loaded(&mut self, unpacks: bool) -> Result<(), Error> {
        let mut mark = self.mark(UP)?;
        if unpacks {
            self.device.backend().wait(PACKS[0], &*mark)?;
            mark = self.mark(PACKS[0])?;
        }
        self.device.backend().wait(RUN, &*mark)?;
        self.loads.push(Some(mark));
        Ok(())
    }

    /// Ends a run.
    pub fn ran(&mut self) -> Result<(), Error> {
        let mark = self.mark(RUN)?;
        self.runs.push(Some(mark));
        Ok(())
    }

    /// A load, or a run, that has put nothing into a stream.
    pub fn nothing_loaded(&mut self) {
        self.loads.push(None);
    }

    pub fn nothing_ran(&mut self) {
        self.runs.push(None);
    }

    /// Ends a store. One that is not marked ends with the next that is.
    pub fn stored(&mut self, marked: bool) -> Result<(), Error> {
        let mark = if marked { Some(self.mark(DOWN)?) } else { self.stores.last().cloned().flatten() };
        self.stores.push(mark);
        Ok(())
    }

    /// Number of runs so far.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Adds what tells how a launch of a link went.
    pub fn tells(&mut self, link: usize, done: Done) {
        self.done.push((link, done));
    }

    /// Holds something until all is done.
    pub fn hold(&mut self, what: impl Any) {
        self.held.push(Box::new(what));
    }

    /// Ends the reduction of a link, whose boxes have all been put into the stream of kernels.
    pub fn end_fold(&mut self, link: usize, of: &Link) -> Result<(), Error> {
        let Some(fold) = of.op.fold() else { return Ok(()) };
        let recorded = of.node.recorded;
        let name = format_args!("{}:{} folds", recorded.file(), recorded.line());
        let queue = Queue { device: self.device, stream: RUN, rings: &[], refilled: &[], lane: None, notes: None };
        // SAFETY: its boxes come before in this stream, and what they gave before this.
        let end = || unsafe { fold.clone().end(&queue) };
        let done = self.device.timed(SpanKind::Kernel, name, RUN, 0, end)?;
        self.tells(link, done);
        Ok(())
    }

    /// Waits until all is done that was put into the streams, and gives the nodes of a chain their results.
    ///
    /// # Errors
    /// `put`, or what a command says at its end.
    pub fn finish(self, chain: &Chain, put: Result<(), Error>, results: &mut [Result<(), Error>]) -> Result<(), Error> {
        let backend = self.device.backend();
        let mut waited = Ok(());
        for stream in [UP, RUN, DOWN, PACKS[0], PACKS[1]] {
            waited = waited.and(backend.record(stream).and_then(|event| event.finish()));
        }
        // It may have been told to the mark after it alone.
        let waited = waited.and_then(|()| self.marks.iter().try_for_each(|mark| mark.finish()));
        told(chain, results, self.done);
        put.and(waited)
    }
}
