//! What the scheduler knows of a recorded kernel: it runs over boxes, on the host or on a device.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::plan::fuse::Faces;

use super::blocks::BlockList;
use super::device::OnDevice;
use super::faces::FaceLaunch;
use super::fused::OneStep;
use super::needs::Needs;
use super::rolling::Scratch;
use super::site::Site;
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};
use crate::program::colour::CellColour;
use crate::program::order::{Carry, Order};

/// How steps of a sweep may run as one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fusible {
    /// The argument that is written.
    pub out: usize,
    /// The one that alternates with it.
    pub inp: usize,
    /// Cells that a step reads around each, along each of four axes (leading axes 0).
    pub halo: [i64; 4],
    /// Components of a cell.
    pub components: usize,
}

/// Steps that run as one launch, or as one for each part of their planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    pub steps: u32,
    /// Alternating kernels.
    pub kernels: usize,
    /// The box of each step.
    pub cells: GridBox<4>,
    /// Planes of the first axis that a launch leaves, mostly: those of the box, or fewer.
    pub planes: i64,
    /// What lies beyond the box.
    pub faces: Faces,
}

impl Together {
    /// A box like those that launches leave, whose planes are along this axis.
    pub fn usual(&self, axis: usize) -> GridBox<4> {
        let mut cells = self.cells;
        cells.hi[axis] = cells.hi[axis].min(cells.lo[axis].saturating_add(self.planes));
        cells
    }
}

/// Runs a kernel over boxes of cells. One per sweep.
pub(crate) trait Launch: Send + Sync {
    /// Runs over a box inside one region.
    ///
    /// # Safety
    /// No one else writes what this reads or accesses what it writes.
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error>;

    /// The same for arrays where `sites` says: on a device that runs native forms.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run_on(&self, _region: usize, _cells: GridBox<4>, _sites: &[Option<Site>]) -> Result<(), Error> {
        let advice = "run these tiles on another device";
        Err(Error::new(ErrorKind::Device, "run a kernel in its native form", "no such form of it", advice))
    }

    /// Boxes that it runs over start at multiples of this along each axis.
    fn grain(&self) -> [i64; 4] {
        [1; 4]
    }

    /// Puts the commands that run it over boxes of regions into a stream of the device. The data is there.
    ///
    /// # Safety
    /// As [`Launch::run`], until the node of `queue` has finished.
    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error>;

    /// The same over all boxes of a list, whose tables on the device are made once.
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    unsafe fn enqueue_list(self: Arc<Self>, queue: &Queue<'_>, list: &Arc<BlockList>) -> Result<Done, Error> {
        // SAFETY: handed on.
        unsafe { self.enqueue(queue, list.spans()) }
    }

    /// What it is as a step, if several may run as one launch on a device.
    fn step(&self) -> Option<OneStep<'_>> {
        None
    }

    /// Kernels that have set the ghosts that it reads around its cells, in order, which as a step it computes itself.
    fn ghosts(&self) -> &[Arc<FaceLaunch>] {
        &[]
    }

    /// What it is as a step by itself that computes these ghosts, if it can be: a kernel with more captured values.
    fn alone(&self) -> Option<OneStep<'_>> {
        None
    }

    /// The components that it negates of what it reads beyond faces where a fill mirrors, which as a step it computes
    /// itself: as bits, by axis of four and side.
    fn negated(&self) -> [[u64; 2]; 4] {
        [[0; 2]; 4]
    }

    /// Which of its captured values say, of each table that these kernels take entries of, where those begin in that
    /// argument, and the number of the last one. These tables are its last arguments.
    fn set_tables(&self) -> Range<usize> {
        0..0
    }

    /// What it is as one of several sweeps that run as one.
    fn part(&self) -> Option<OneStep<'_>> {
        None
    }

    /// What it is as a kernel that sets ghosts, whose work a sweep before it may do.
    fn beside(&self) -> Option<OneStep<'_>> {
        None
    }

    /// What it is as one of several sweeps with an order that run as one, line by line.
    fn line(&self) -> Option<OneStep<'_>> {
        None
    }

    /// Whether no cell can fail, nothing is counted, and all values that it has captured are known.
    fn is_sure(&self) -> bool {
        false
    }

    /// Rows that it sweeps through all planes of a box before the next ones.
    fn rows(&self) -> i64 {
        i64::MAX
    }

    /// What keeps its arrays from streaming plane by plane.
    fn needs(&self) -> Option<Needs> {
        None
    }

    /// How its cells run in order, if they do.
    fn order(&self) -> Option<Order> {
        None
    }

    /// What is carried to the first planes of a region that it runs over, from the one before.
    fn carry(&self) -> Option<Carry> {
        None
    }

    /// The colour of the cells that it runs over, if not all are.
    fn colour(&self) -> Option<CellColour> {
        None
    }

    /// What it is given.
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        SmallVec::new()
    }
}

/// What a launch does that folds what it finds, besides running over boxes: see [`Launch`]. One per reduction.
pub(crate) trait Fold: Launch {
    /// Bytes of the device's memory that it has from its beginning to its end: fewer, if its planes come one after the
    /// other.
    fn bytes(&self, by_planes: bool) -> u64;

    /// Entries of a [`Scratch`] that it has use for if planes come one after the other.
    fn scratch(&self) -> Option<u64>;

    /// Takes that memory, before it runs over any box. With a scratch its planes come one after the other.
    ///
    /// # Errors
    /// Memory that the device does not have, and what its compiler refuses.
    fn begin(&self, device: &DeviceCore, scratch: Option<&Arc<Scratch>>) -> Result<(), Error>;

    /// Puts the commands into a stream that make one value of what was found, once it has run over all boxes there.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// All boxes have run, or run before in this stream. What it gives is called after what those gave.
    unsafe fn end(self: Arc<Self>, queue: &Queue<'_>) -> Result<Done, Error>;
}
