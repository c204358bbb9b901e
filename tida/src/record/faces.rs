//! Kernels that set ghosts right after the sweep that wrote the cells beside them, or after the kernel of the opposite
//! face: one launch does the work of both (`launch/faces.rs`).
//!
//! Nothing waits for it: the sweep is open until something else is recorded, which such a kernel is. It has no node.
//! That of the sweep waits for those who read the ghosts before, and is waited for by those who read them later.

use std::sync::Arc;

use super::driver::{Core, Recorder};
use super::recording::{GiveLaunch, TileWork, add_touches};
use super::sweep::{LoopAsked, OpenSweep};
use crate::launch::faces::{Domain, FaceLaunch, Goes, may_set};
use crate::launch::step::Launch;
use crate::memory::tracker::BoxTouch;
use crate::run::steps::identity;

/// Kernels whose work a sweep does, at most: both faces of the last axis.
const MOST: usize = 2;

impl Core {
    /// Has the last open sweep do the work of a kernel that sets ghosts, if it may; says whether it does.
    pub(super) fn set_by_sweep(&self, recorder: &mut Recorder, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> bool {
        let Some(device) = self.device.as_ref().filter(|_| self.rules.joins && tile.key.on_device) else {
            return false;
        };
        let native = device.backend().facts().native;
        let Some(sweep) = recorder.open.last_mut() else { return false };
        let asked = &tile.key;
        let usual = sweep.is_plain() && sweep.ends.is_none() && sweep.key.on_device && tile.after.is_empty();
        let alone = asked.asked != LoopAsked::default();
        if !usual || !sweep.work.refilled.is_empty() || tile.listed.is_some() || tile.pace.is_some() || alone {
            return false;
        }
        // A native form has no place beside its cells.
        let joined = || beside(sweep, tile, launch).filter(|_| !native);
        // A sweep of a part computes the planes first that others wait for.
        let after = || after(sweep, tile, launch).filter(|_| !self.rules.is_place);
        // Steps may compute what it sets: by itself it is between them.
        let between = sweep.work.turn.is_some() || sweep.work.sets.is_some();
        let apart = || opposite(sweep, tile, launch).filter(|_| !native && !between);
        let Some(face) = joined().or_else(after).or_else(apart) else { return false };
        let inwards = |touch: &BoxTouch| BoxTouch { read: None, ..touch.clone() };
        let writes = tile.touches.iter().filter(|touch| touch.write.is_some());
        let touches: Vec<BoxTouch> = match face.goes {
            // It reads what the sweep leaves, and ghosts.
            Goes::Beside(_) | Goes::After(..) => writes.map(inwards).collect(),
            Goes::Opposite(..) => tile.touches.to_vec(),
        };
        add_touches(&sweep.node, if matches!(face.goes, Goes::After(..)) { tile.touches } else { &touches });
        let work = Arc::make_mut(&mut sweep.work);
        work.touch(&touches);
        let (face, array) = (Arc::new(face), asked.args.first().copied().unwrap_or_default());
        if self.rules.is_place {
            // Steps before it and after it are no steps of one launch.
            recorder.fusing.forget();
        } else {
            recorder.fusing.set(tile, array, &face);
        }
        work.faces.push(face);
        true
    }

    /// What a kernel that sets ghosts by itself sets, and of which array, if it is between steps that may run as one
    /// launch.
    pub(super) fn set_between(
        &self,
        recorder: &mut Recorder,
        tile: &TileWork<'_>,
        launch: GiveLaunch<'_>,
    ) -> Option<(usize, Arc<FaceLaunch>)> {
        let usual = tile.access.is_face && tile.key.on_device && tile.after.is_empty() && tile.pace.is_none();
        if !usual || self.rules.is_place {
            return None;
        }
        let of = |domain: Domain| FaceLaunch::after(&launch(), (tile.region, tile.cells), &domain);
        let Some(face) = domain_of(tile).and_then(of).map(Arc::new) else {
            let why = "it has other arguments than an array of one region, or may fail";
            recorder.fusing.tell_after(tile, why);
            return None;
        };
        let array = *tile.key.args.first()?;
        recorder.fusing.set(tile, array, &face).then_some((array, face))
    }
}

/// The domain of the only array that a tile touches, its first argument, if that is one region.
fn domain_of(tile: &TileWork<'_>) -> Option<Domain> {
    let (array, touch) = (tile.key.args.first()?, tile.touches.iter().find(|touch| touch.write.is_some())?);
    if !tile.touches.iter().all(|other| Arc::ptr_eq(&other.tracker, &touch.tracker)) {
        return None;
    }
    let [one] = &touch.tracker.regional()?.layout.regions[..] else { return None };
    let facts = touch.tracker.planar().map(|planar| planar.facts());
    (identity(&touch.tracker) == *array).then(|| Domain::of(one.valid, facts))
}

/// The domain of the array that a step reads around its cells, if that is one region beyond whose faces a fill negates.
pub(super) fn negated_of(tile: &TileWork<'_>, array: usize) -> Option<Domain> {
    let touch = tile.touches.iter().find(|touch| identity(&touch.tracker) == array)?;
    let [one] = &touch.tracker.regional()?.layout.regions[..] else { return None };
    let domain = Domain::of(one.valid, Some(touch.tracker.planar()?.facts()));
    domain.negates().then_some(domain)
}

/// A kernel that sets ghosts of the last axis beside the cells that the sweep leaves, each from that cell.
fn beside(sweep: &OpenSweep, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> Option<FaceLaunch> {
    let domain = left_by(sweep, tile)?;
    let faces = &sweep.work.faces;
    let more = faces.len() < MOST && faces.iter().all(|face| matches!(face.goes, Goes::Beside(_)));
    let fits = more && may_set(&*sweep.work.launch, *tile.key.args.first()?, &sweep.key.args);
    let face = FaceLaunch::beside(launch, (tile.region, tile.cells), &domain).filter(|_| fits)?;
    // Each face once: the second of two calls for one would have to come after the first.
    faces.iter().all(|known| known.goes != face.goes).then_some(face)
}

/// A kernel that sets ghosts of what the sweep leaves, by a launch of its own after that.
fn after(sweep: &OpenSweep, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> Option<FaceLaunch> {
    let domain = left_by(sweep, tile)?;
    let alone = sweep.work.faces.iter().any(|face| matches!(face.goes, Goes::Opposite(..)));
    FaceLaunch::after(launch, (tile.region, tile.cells), &domain).filter(|_| !alone)
}

/// The cells that the sweep leaves of an array whose ghosts a kernel sets, if they are all of one region.
fn left_by(sweep: &OpenSweep, tile: &TileWork<'_>) -> Option<Domain> {
    let [(region, cells)] = sweep.work.boxes() else { return None };
    let domain = domain_of(tile).filter(|domain| *region == tile.region && domain.cells == *cells)?;
    let writes = |touch: &BoxTouch| sweep.work.array(&touch.tracker).is_some_and(|array| array.write);
    tile.touches.iter().all(writes).then_some(domain)
}

/// A kernel that sets the ghosts opposite to those that the sweep sets, of the same arrays.
fn opposite(sweep: &OpenSweep, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> Option<FaceLaunch> {
    // A sweep of the same kernel takes it as a tile.
    let fits = sweep.work.faces.is_empty() && sweep.key != tile.key && sweep.key.args == tile.key.args;
    let apart = fits && !sweep.conflicts(tile.touches, true, false);
    let swept = (&sweep.work.launch, sweep.work.boxes());
    apart.then(|| FaceLaunch::opposite(launch, (tile.region, tile.cells), &swept)).flatten()
}
