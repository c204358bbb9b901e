//! Kernels that set ghosts right after the sweep that wrote the cells beside them: the sweep does their work too
//! (`launch/faces.rs`).
//!
//! Nothing waits for it: the sweep is open until something else is recorded, which such a kernel is. It has no node.
//! That of the sweep waits for those who read the ghosts before, and is waited for by those who read them later.

use std::sync::Arc;

use super::driver::{Core, Recorder};
use super::recording::{TileWork, add_touches};
use crate::launch::faces::{FaceLaunch, may_set};
use crate::launch::step::Launch;
use crate::memory::tracker::BoxTouch;
use crate::run::steps::identity;

/// Kernels whose work a sweep does, at most: with both faces of the axis it took 655 µs where it takes 579 with one,
/// 566 with none, and a face by itself 25 (docs/decisions/0073-faces.md).
const MOST: usize = 1;

impl Core {
    /// Has the last open sweep do the work of a kernel that sets ghosts, if it may; says whether it does.
    pub(super) fn set_by_sweep(&self, recorder: &mut Recorder, tile: &TileWork<'_>, launch: &Arc<dyn Launch>) -> bool {
        let Some(device) = self.device.as_ref().filter(|_| self.rules.joins && tile.key.on_device) else {
            return false;
        };
        let facts = device.backend().facts();
        // A native form has no place beside its cells.
        let Some(sweep) = recorder.open.last_mut().filter(|_| !facts.native) else { return false };
        let ([array], [(region, domain)]) = (&tile.key.args[..], sweep.work.boxes()) else { return false };
        let Some(touch) = tile.touches.iter().find(|touch| touch.write.is_some()) else { return false };
        let layout = touch.tracker.regional().map(|regional| &regional.layout.regions);
        let whole = layout.is_some_and(|regions| matches!(&regions[..], [one] if one.valid == *domain));
        let usual = sweep.is_plain() && sweep.ends.is_none() && sweep.key.on_device && tile.after.is_empty();
        let alone = usual
            && sweep.work.refilled.is_empty()
            && sweep.faces.len() < MOST
            && tile.listed.is_none()
            && tile.pace.is_none();
        if !(whole && alone && *region == tile.region && identity(&touch.tracker) == *array) {
            return false;
        }
        if !may_set(&*sweep.work.launch, *array, &sweep.key.args) {
            return false;
        }
        let Some(face) = FaceLaunch::new(launch, (tile.region, tile.cells), domain) else { return false };
        let asked = &tile.key;
        if asked.block.is_some() || asked.march.is_some() || asked.cache != Default::default() {
            return false;
        }
        let writes = tile.touches.iter().filter(|touch| touch.write.is_some());
        let writes: Vec<BoxTouch> = writes.map(|touch| BoxTouch { read: None, ..touch.clone() }).collect();
        add_touches(&sweep.node, &writes);
        sweep.work.touch(&writes);
        sweep.faces.push(face);
        // Steps before it and after it are no steps of one launch.
        recorder.fusing.opened(tile, &**launch, sweep.node.number);
        true
    }
}
