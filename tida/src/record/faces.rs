//! Kernels that set ghosts right after the sweep that wrote the cells beside them, or after the kernel of the opposite
//! face: one launch does the work of both (`launch/faces.rs`).
//!
//! Nothing waits for it: the sweep is open until something else is recorded, which such a kernel is. It has no node.
//! That of the sweep waits for those who read the ghosts before, and is waited for by those who read them later.

use std::sync::Arc;

use super::driver::{Core, Recorder};
use super::recording::{TileWork, add_touches};
use super::sweep::OpenSweep;
use crate::launch::faces::{FaceLaunch, Goes, may_set};
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
        let facts = device.backend().facts();
        // A native form has no place beside its cells.
        let Some(sweep) = recorder.open.last_mut().filter(|_| !facts.native) else { return false };
        let asked = &tile.key;
        let usual = sweep.is_plain() && sweep.ends.is_none() && sweep.key.on_device && tile.after.is_empty();
        let alone = asked.block.is_some() || asked.march.is_some() || asked.cache != Default::default();
        if !usual || !sweep.work.refilled.is_empty() || tile.listed.is_some() || tile.pace.is_some() || alone {
            return false;
        }
        let found = beside(sweep, tile, launch).or_else(|| opposite(sweep, tile, launch));
        let Some(face) = found else { return false };
        let writes = tile.touches.iter().filter(|touch| touch.write.is_some());
        let touches: Vec<BoxTouch> = match face.goes {
            // It reads what the sweep leaves.
            Goes::Beside(_) => writes.map(|touch| BoxTouch { read: None, ..touch.clone() }).collect(),
            Goes::Opposite(..) => tile.touches.to_vec(),
        };
        add_touches(&sweep.node, &touches);
        sweep.work.touch(&touches);
        sweep.faces.push(face);
        // Steps before it and after it are no steps of one launch.
        recorder.fusing.opened(tile, &**launch, sweep.node.number);
        true
    }
}

/// A kernel that sets ghosts of the last axis beside the cells that the sweep leaves, each from that cell.
fn beside(sweep: &OpenSweep, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> Option<FaceLaunch> {
    let ([array], [(region, domain)]) = (&tile.key.args[..], sweep.work.boxes()) else { return None };
    let touch = tile.touches.iter().find(|touch| touch.write.is_some())?;
    let layout = touch.tracker.regional().map(|regional| &regional.layout.regions);
    let whole = layout.is_some_and(|regions| matches!(&regions[..], [one] if one.valid == *domain));
    let more = sweep.faces.len() < MOST && sweep.faces.iter().all(|face| matches!(face.goes, Goes::Beside(_)));
    if !(whole && more && *region == tile.region && identity(&touch.tracker) == *array) {
        return None;
    }
    let fits = may_set(&*sweep.work.launch, *array, &sweep.key.args);
    let face = FaceLaunch::beside(launch, (tile.region, tile.cells), domain).filter(|_| fits)?;
    // Each face once: the second of two calls for one would have to come after the first.
    sweep.faces.iter().all(|known| known.goes != face.goes).then_some(face)
}

/// A kernel that sets the ghosts opposite to those that the sweep sets, of the same arrays.
fn opposite(sweep: &OpenSweep, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> Option<FaceLaunch> {
    // A sweep of the same kernel takes it as a tile.
    let fits = sweep.faces.is_empty() && sweep.key != tile.key && sweep.key.args == tile.key.args;
    let apart = fits && !sweep.conflicts(tile.touches, true, false);
    let swept = (&sweep.work.launch, sweep.work.boxes());
    apart.then(|| FaceLaunch::opposite(launch, (tile.region, tile.cells), &swept)).flatten()
}
