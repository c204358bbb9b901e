//! A reduction of arrays that stream: each of its segments is folded while what it reads is on the device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::whole::Reducing;
use crate::backend::{Flaws, Native, NativeWork};
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::folded::{Cells, Lists};
use crate::launch::native::moved;
use crate::launch::prepare::Prepared;
use crate::launch::rolling::Scratch;
use crate::launch::site::sites;
use crate::launch::step::{Fold, Launch};
use crate::memory::node::{Done, Queue};

/// A reduction that runs piece by piece.
pub(super) struct InPieces<const D: usize> {
    folds: Arc<dyn Reducing<D>>,
    /// What a device folds by itself: a kernel that gives a scalar, and its cells.
    parts: SmallVec<[(Arc<Prepared>, Cells); 2]>,
    /// Where it puts what it finds.
    lists: OnceLock<SmallVec<[Lists; 2]>>,
    /// Some cell has raised a fault: there is no value.
    failed: AtomicBool,
}

impl<const D: usize> InPieces<D> {
    pub fn new(folds: Arc<dyn Reducing<D>>, parts: SmallVec<[(Arc<Prepared>, Cells); 2]>) -> Self {
        InPieces { folds, parts, lists: OnceLock::new(), failed: AtomicBool::new(false) }
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl<const D: usize> Launch for InPieces<D> {
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error> {
        self.folds.fold(region, &cells, None)
    }

    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        if queue.device.backend().facts().native {
            let sites = sites(queue, self.folds.args())?;
            let all: u64 = boxes.iter().map(|(_, cells)| cells.cells() as u64).sum();
            let moves = all * moved(self.folds.args().iter().map(|arg| &arg.0));
            let (this, boxes) = (self.clone(), boxes.to_vec());
            let run = move |_: Flaws| {
                let fold = |(region, cells): &(usize, GridBox<4>)| this.folds.fold(*region, cells, Some(&sites)).err();
                let failed = Error::earliest(boxes.iter().filter_map(fold));
                this.failed.fetch_or(failed.is_some(), Ordering::Relaxed);
                failed.map_or(Ok(()), Err)
            };
            // SAFETY: the caller's promise, until the node has finished, which keeps the arrays.
            let done = unsafe { natively(queue, (all, moves), Box::new(run))? };
            return Ok(Box::new(move || {
                let ended = done();
                drop(self);
                ended
            }));
        }
        let lists = self.lists.get().ok_or_else(not_begun)?;
        let mut launched = SmallVec::<[Vec<_>; 2]>::new();
        queue.enqueue(|| {
            for ((prepared, cells), lists) in self.parts.iter().zip(lists) {
                let launch = self.folds.frame().launch(queue, self.folds.args(), (prepared, cells));
                launched.push(Vec::new());
                let Some(launched) = launched.last_mut() else { continue };
                // SAFETY: the caller's promise; `check` has proven every access in range, or has it checked; `self`
                // holds the lists, and is held below.
                unsafe { cells.pieces(queue, &launch, boxes, lists, launched)? };
            }
            Ok(())
        })?;
        let device = queue.device.clone();
        Ok(Box::new(move || {
            let launched = launched.into_iter().zip(&self.parts);
            let ended = launched.flat_map(|(all, (prepared, _))| all.into_iter().map(move |one| (one, prepared)));
            // All of them, so that each gives back what it has.
            let failed = Error::earliest(ended.filter_map(|(one, prepared)| one.finish(&device, prepared).err()));
            self.failed.fetch_or(failed.is_some(), Ordering::Relaxed);
            failed.map_or(Ok(()), Err)
        }))
    }
}

impl<const D: usize> Fold for InPieces<D> {
    fn bytes(&self, by_planes: bool) -> u64 {
        self.parts.iter().map(|(_, cells)| cells.list_bytes(by_planes)).sum()
    }

    fn scratch(&self) -> Option<u64> {
        self.parts.iter().filter_map(|(_, cells)| cells.scratch()).max()
    }

    fn begin(&self, device: &DeviceCore, scratch: Option<&Arc<Scratch>>) -> Result<(), Error> {
        if device.backend().facts().native {
            return self.folds.begin();
        }
        let lists = self.parts.iter().map(|(_, cells)| cells.lists(device, scratch)).collect::<Result<_, _>>()?;
        let _ = self.lists.set(lists);
        Ok(())
    }

    unsafe fn end(self: Arc<Self>, queue: &Queue<'_>) -> Result<Done, Error> {
        if queue.device.backend().facts().native {
            let this = self.clone();
            let run = move |_: Flaws| {
                if !this.has_failed() {
                    this.folds.end();
                }
                Ok(())
            };
            let slots = self.folds.frame().slots() as u64;
            // SAFETY: it touches nothing but what `self` has.
            let done = unsafe { natively(queue, (slots, slots * size_of::<u64>() as u64), Box::new(run))? };
            return Ok(Box::new(move || {
                done()?;
                if !self.has_failed() {
                    // A device that computes nothing gives what no cells give.
                    self.folds.give(None);
                }
                Ok(())
            }));
        }
        let lists = self.lists.get().ok_or_else(not_begun)?;
        queue.enqueue(|| {
            let mut parts = self.parts.iter().zip(lists);
            // SAFETY: the first kernels have been put into this stream, for all cells; `self` holds the lists, and is
            // held below.
            parts.try_for_each(|((_, cells), lists)| unsafe { cells.rest(queue, lists) })
        })?;
        let device = queue.device.clone();
        Ok(Box::new(move || {
            let (mut all, mut place) = ([0; 2], 0);
            for (lists, bits) in self.lists.get().ok_or_else(not_begun)?.iter().zip(&mut all) {
                (*bits, place) = lists.take(&device)?;
            }
            if !self.has_failed() {
                self.folds.give(Some((all, place)));
            }
            Ok(())
        }))
    }
}

fn not_begun() -> Error {
    Error::new(ErrorKind::Memory, "reduce on the device", "no memory for what it finds", "report this as a bug of tida")
}

/// Puts native work over so many cells, which moves so many bytes, into a stream.
///
/// # Safety
/// Nobody writes what it reads until it is done.
unsafe fn natively(
    queue: &Queue<'_>,
    size: (u64, u64),
    run: Box<dyn FnOnce(Flaws) -> Result<(), Error> + Send>,
) -> Result<Done, Error> {
    let work = NativeWork::over(size, run);
    let outcome = work.outcome.clone();
    // SAFETY: the caller's promise.
    unsafe { queue.device.backend().launch_native(queue.stream, Native::Work(work))? };
    Ok(Box::new(move || outcome.take()))
}
