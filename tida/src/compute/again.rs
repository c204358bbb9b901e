//! What decides how a call of `compute` runs, and what it takes over of one that came before.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use super::args::{ArgInfo, TiledInfo};
use super::check::{Line, OneColour, Rule};
use super::launch::launch_written;
use crate::launch::capture::{CapturedValue, Captures};
use crate::program::colour::CellColour;
use crate::record::driver::Core;
use crate::record::known::{Call, Found};
use crate::record::recording::TileWork;
use crate::tile::Tile;

/// A call of a kernel over a tile.
#[derive(Clone, Copy)]
pub(super) struct Calls<'a, const D: usize> {
    pub tile: &'a Tile<D>,
    pub rule: Rule,
    pub infos: &'a [ArgInfo<'a, D>],
}

impl<'a, const D: usize> Calls<'a, D> {
    /// Writes down what decides how it runs, and says where it is looked up. Nothing if it is not: on a device, where
    /// rounds do more; on several places; of a loop that asks for something; if it sets ghosts, or waits for a value
    /// that it captures.
    pub fn describe(&self, captures: &Captures, call: &mut Call) -> Option<&'a Arc<Core>> {
        let Calls { tile, infos, .. } = self;
        let core = infos.iter().find_map(|info| match info {
            ArgInfo::Tiled(tiled) => Some(tiled.acc.core()),
            _ => None,
        })?;
        let asks = tile.device.is_some() || tile.block.is_some() || tile.march.is_some() || !tile.cache.is_empty();
        let other = asks || tile.grown || tile.listed.is_some() || tile.alike.is_some();
        if other || core.device.is_some() || core.is_one_of_several() || tile.cells.is_empty() {
            return None;
        }
        let region = [address(&tile.layout), tile.region as u64];
        let boxes = [tile.cells.lo, tile.cells.hi, tile.all.lo, tile.all.hi];
        let all = call.add_all(region)
            && call.add_all(boxes.into_iter().flatten().map(|at| at as u64))
            && add_rule(call, &self.rule)
            && infos.iter().all(|info| add_arg(call, info))
            && add_captures(call, captures);
        all.then_some(core)
    }

    /// Records it, with what was found of one that came before.
    pub fn record_as(&self, core: &Arc<Core>, found: &Found, recorded: &'static Location<'static>) {
        let tile = self.tile;
        let work = TileWork {
            key: found.key.clone(),
            region: tile.region,
            cells: tile.cells.widen(),
            touches: &found.touches,
            after: &[],
            name: "a kernel",
            recorded,
            access: found.access,
            listed: None,
            pace: None,
            known: Some(&found.sweep),
        };
        let side = core.record_tile(work, &|| found.sweep.launch.clone());
        launch_written(self.infos, &found.prepared, (tile, self.rule), side);
    }

    /// What its words are addresses of, but for what it touches.
    pub fn held(&self) -> SmallVec<[Arc<dyn Any + Send + Sync>; 4]> {
        let layouts = self.infos.iter().filter_map(|info| match info {
            ArgInfo::Tiled(tiled) => Some(tiled.layout),
            _ => None,
        });
        layouts.chain([&self.tile.layout]).map(|layout| layout.clone() as Arc<dyn Any + Send + Sync>).collect()
    }
}

fn address<T>(of: &Arc<T>) -> u64 {
    Arc::as_ptr(of) as usize as u64
}

/// Adds what a launch is besides cells that know nothing of one another; says whether it may be looked up.
fn add_rule(call: &mut Call, rule: &Rule) -> bool {
    match rule {
        Rule::Cells => call.add(0),
        Rule::Face(_) => false,
        Rule::Line(Line { axis, backward, fresh }) => {
            call.add_all([1, *axis as u64, u64::from(*backward), u64::from(*fresh)])
        }
        Rule::Colour(OneColour { colour: CellColour { every, first, slanted }, fresh }) => {
            call.add_all([2, u64::from(*slanted), u64::from(*fresh)])
                && call.add_all(every.iter().chain(first).map(|n| *n as u64))
        }
    }
}

/// Adds an argument, and what of it checks look at that changes as work is recorded.
fn add_arg<const D: usize>(call: &mut Call, info: &ArgInfo<'_, D>) -> bool {
    match info {
        ArgInfo::Tiled(TiledInfo { layout, tracker, open, level, whole, .. }) => {
            let (ages, storage) = (&tracker.ages, tracker.storage());
            let mut bits = level.map_or(0, |level| 1 + level as u64);
            let now = [ages.ghosts_fresh(), ages.keeps_ghosts(), storage.stays_in_row()];
            now.into_iter().for_each(|bit| bits = bits << 1 | u64::from(bit));
            for [low, high] in open {
                bits = bits << 2 | u64::from(*low) << 1 | u64::from(*high);
            }
            whole.ranks() == 1 && storage.coding().is_none() && call.add_all([address(tracker), address(layout), bits])
        }
        ArgInfo::Whole { tracker, shape, .. } => {
            let shape = shape.map(|n| n as u64);
            tracker.storage().coding().is_none() && call.add(address(tracker)) && call.add_all(shape)
        }
        ArgInfo::Table { len, bits } => call.add(*len as u64) && call.add_all(bits.iter().copied()),
        ArgInfo::Refused { .. } => false,
    }
}

/// Adds captured values. Their types are those of the kernel.
fn add_captures(call: &mut Call, captures: &Captures) -> bool {
    captures.list.iter().all(|value| match value {
        CapturedValue::Scalar(value) => call.add(value.bits()),
        CapturedValue::Array(_, values) => {
            call.add(values.len() as u64) && call.add_all(values.iter().map(|v| v.bits()))
        }
        CapturedValue::Deferred(_) => false,
    })
}
