//! The streams of a chain on a device: what was put there, what waits for what, and what is held until all is done.
//!
//! Planes and regions both go through here. Copies to the device are in one stream, kernels in another, copies to the
//! host in a third. Events alone order them (TiDA-acc §IV-B).

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use super::outcome::told;
use super::{Chain, Link};
use crate::backend::{ALL_STREAMS, Event, PACKS};
use crate::device::core::DeviceCore;
use crate::device::timeline::SpanKind;
use crate::error::Error;
use crate::memory::node::{Done, Queue};
use crate::program::steps::After;

/// The stream of kernels, and those of copies to the device and to the host.
pub(super) const RUN: usize = 0;
pub(super) const UP: usize = 1;
pub(super) const DOWN: usize = 2;

/// The end of what was put into a stream; nothing if that was nothing.
type Mark = Option<Arc<dyn Event>>;

/// The streams of a chain that runs.
pub(super) struct Streams<'a> {
    pub device: &'a Arc<DeviceCore>,
    /// The ends of the loads and the runs of steps, and of stores. A store that has no mark ends with the next that
    /// has.
    loads: Vec<Mark>,
    runs: Vec<Mark>,
    stores: Vec<Mark>,
    /// What streams come after so far.
    after: [After; ALL_STREAMS],
    /// Ends that tell of failures.
    marks: Vec<Arc<dyn Event>>,
    /// What tells how launches went, with the number of the link.
    done: Vec<(usize, Done)>,
    held: Vec<Box<dyn Any>>,
}

impl<'a> Streams<'a> {
    pub fn new(device: &'a Arc<DeviceCore>) -> Streams<'a> {
        let (loads, runs, stores, after) = Default::default();
        Streams { device, loads, runs, stores, after, marks: Vec::new(), done: Vec::new(), held: Vec::new() }
    }

    /// The marks of what comes before something.
    fn before(&mut self, after: After) -> Result<SmallVec<[Arc<dyn Event>; 3]>, Error> {
        if after.store.is_some_and(|store| self.stores.get(store).is_some_and(|mark| mark.is_none())) {
            self.mark_stores()?;
        }
        let rows = [(&self.loads, after.load), (&self.runs, after.run), (&self.stores, after.store)];
        Ok(rows.into_iter().filter_map(|(marks, number)| marks.get(number?)?.clone()).collect())
    }

    /// Lets a stream come after this.
    ///
    /// # Errors
    /// What the driver reports. So do the others.
    pub fn wait(&mut self, stream: usize, after: After) -> Result<(), Error> {
        let known = self.after[stream];
        self.after[stream] = known.and(after);
        let marks = self.before(after.besides(known))?;
        marks.iter().try_for_each(|mark| self.device.backend().wait(stream, &**mark))
    }

    /// The same for the host. The ends tell of failures.
    pub fn wait_on_host(&mut self, after: After) -> Result<(), Error> {
        self.before(after)?.iter().try_for_each(|mark| mark.finish())
    }

    /// What was put into a stream so far.
    fn mark(&mut self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        let backend = self.device.backend();
        let mark = backend.record(stream)?;
        backend.flush(stream)?;
        self.marks.push(mark.clone());
        Ok(mark)
    }

    /// Ends the loads of a step, if there are `any`. Kernels that come later wait for them, and what `unpacks` them
    /// before.
    pub fn loaded(&mut self, any: bool, unpacks: bool) -> Result<(), Error> {
        let mut mark = None;
        if any {
            let mut last = self.mark(UP)?;
            if unpacks {
                self.device.backend().wait(PACKS[0], &*last)?;
                last = self.mark(PACKS[0])?;
            }
            self.device.backend().wait(RUN, &*last)?;
            mark = Some(last);
        }
        self.loads.push(mark);
        Ok(())
    }

    /// Ends the runs of a step.
    pub fn ran(&mut self, on_host: bool) -> Result<(), Error> {
        let mark = if on_host { None } else { Some(self.mark(RUN)?) };
        self.runs.push(mark);
        Ok(())
    }

    /// Ends a store.
    pub fn stored(&mut self, marked: bool) -> Result<(), Error> {
        self.stores.push(None);
        if marked { self.mark_stores() } else { self.device.backend().flush(DOWN) }
    }

    /// Marks the end of the stores so far.
    fn mark_stores(&mut self) -> Result<(), Error> {
        let mark = self.mark(DOWN)?;
        let open = self.stores.iter_mut().rev().take_while(|store| store.is_none());
        open.for_each(|store| *store = Some(mark.clone()));
        Ok(())
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
