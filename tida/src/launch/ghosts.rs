//! What a launch makes of ghosts that are owed: it reads the cells that they are to have the values of, has them
//! filled, or none of them is needed any more.

use std::sync::Arc;

use tida_kernels::plan::fuse::Faces;
use tida_kernels::plan::ghosts::{Ghosts, reads_near};

use super::device::{DeviceArg, DeviceLaunch};
use super::prepare::ArgPlan;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::Queue;

impl DeviceLaunch<'_> {
    /// The ghosts that a launch over this box alone need not read: those that are owed, of arrays whose domain it is,
    /// or of one region, all of it along the axes that have such ghosts.
    pub(super) fn ghosts_inside(&self, cells: &GridBox<4>) -> Vec<Ghosts> {
        let kernel = &self.prepared.kernel;
        let all = self.args.iter().zip(&kernel.args).zip(&self.prepared.analysis.args).enumerate();
        all.filter_map(|(number, ((arg, of), usage))| {
            let DeviceArg::Tiled(array) = arg else { return None };
            let owed = array.storage.owed_ghosts().filter(|_| array.ring.is_none())?;
            let near = || reads_near(of.access, usage.accesses.iter());
            let faces = owed.faces[4 - kernel.rank..].to_vec();
            // Each face by itself: the box reaches from the one to the other, or there is nothing owed beyond them.
            let spans = |axis: usize| {
                let (lo, hi) = (cells.lo[axis] == owed.domain.lo[axis], cells.hi[axis] == owed.domain.hi[axis]);
                (lo && hi) || owed.faces[axis].iter().all(|beyond| beyond.layers == 0)
            };
            // Between regions, what is owed may have memory of its own.
            let found = owed.domain == *cells || (owed.is_of_one_region() && owed.domain.contains_box(cells));
            let found = found && (0..4).all(spans);
            (found && near()).then_some(Ghosts { arg: u8::try_from(number).ok()?, faces })
        })
        .collect()
    }

    /// Whether several steps in one launch find cells instead of an argument's ghosts: those that are owed have the
    /// values that the steps know by themselves.
    pub(super) fn steps_know(&self, number: usize, faces: &Faces) -> bool {
        let Some(DeviceArg::Tiled(array)) = self.args.get(number) else { return false };
        let owed = array.storage.owed_ghosts();
        owed.is_some_and(|owed| {
            let mut sides = owed.faces.as_flattened().iter().zip(faces.as_flattened());
            sides.all(|(beyond, face)| beyond.layers == 0 || beyond.is_of(*face))
        })
    }

    /// Before a launch: has the ghosts filled that are owed and that it may read, or leaves as they are; but for those
    /// of arguments of which it reads `inside`.
    ///
    /// # Errors
    /// What the device refuses.
    pub(super) fn materialize_ghosts(
        &self,
        queue: &Queue<'_>,
        boxes: &[(usize, GridBox<4>)],
        inside: impl Fn(usize) -> bool,
    ) -> Result<(), Error> {
        for (number, arg) in self.args.iter().enumerate() {
            let (DeviceArg::Tiled(array) | DeviceArg::Whole(array, _)) = arg else { continue };
            if array.ring.is_some() || inside(number) {
                continue;
            }
            // Of what most kernels write they read no other cell.
            let unread = |of: &ArgPlan| of.written && !of.reads_around_writes();
            let written = matches!(arg, DeviceArg::Tiled(_)) && self.prepared.args.get(number).is_some_and(unread);
            let refilled = written && queue.refilled.iter().any(|other| Arc::ptr_eq(other, array.storage));
            let within = || {
                let ends = array.regions.regions.first().zip(array.regions.regions.last());
                let domain = ends.map(|(first, last)| GridBox::new(first.valid.lo, last.valid.hi));
                boxes.iter().all(|(_, cells)| domain.is_some_and(|domain| domain.contains_box(cells)))
            };
            if refilled && within() {
                array.storage.forget_ghosts();
                continue;
            }
            if array.storage.settled_ghosts().is_none_or(|owed| owed.is_some()) {
                queue.notes.iter().for_each(|notes| notes.leaves_out());
            }
            array.storage.materialize_ghosts(queue.device, queue.stream)?;
        }
        Ok(())
    }
}
