//! Running a chain of arrays that come from the host and stay on the device as a whole.
//!
//! If the host waits for what the chain makes, its work runs over planes while they come and go (`planes.rs`), so that
//! both directions of the link and the kernels are busy at once; planes that are done stay in the arrays' own memory
//! too. Else the arrays are brought there as a whole, and the links run one after the other.

use std::any::Any;
use std::sync::Arc;

use super::outcome::skip_dependents;
use super::planes::{Windows, begin_folds, fix_ghosts};
use super::segments::{Segment, scaled};
use super::streams::{RUN, Streams};
use super::{Chain, Link};
use crate::device::core::DeviceCore;
use crate::device::timeline::{Label, SpanKind};
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::Which;
use crate::memory::ghosts::planes::Planar;
use crate::memory::node::Queue;
use crate::memory::tracker::Tracker;
use crate::run::op::Op;

/// Runs a chain.
///
/// # Errors
/// Memory that the device does not have, and what the driver reports.
pub(super) fn run(device: &Arc<DeviceCore>, chain: &Chain, results: &mut [Result<(), Error>]) -> Result<(), Error> {
    chain.arrays.iter().try_for_each(|tracker| tracker.storage().materialize_ghosts_now(device))?;
    if results.iter().all(Result::is_ok)
        && let Some(planars) = streams(chain)
        && stream(device, chain, &planars, results)?
    {
        return Ok(());
    }
    whole(device, chain, results)
}

/// The planes of a chain's arrays, if its work is to run while they arrive.
fn streams(chain: &Chain) -> Option<Vec<&Arc<Planar>>> {
    let sweeps = chain.links.iter().any(|link| link.op.is_sweep());
    if !chain.is_waited_for || !sweeps || chain.links.len() > chain.most_links() {
        return None;
    }
    // Ghosts of fixed value are set on the host.
    let is_fixed_there = |link: &Link| match link.filled() {
        Some((array, true)) => chain.arrays[array].storage().count_on_device() == 0,
        _ => true,
    };
    if !chain.links.iter().all(is_fixed_there) {
        return None;
    }
    chain.arrays.iter().map(|tracker| tracker.planar().filter(|planar| !planar.facts().is_ring())).collect()
}

/// Runs the links over planes; `false` if there is no room for windows besides the arrays.
fn stream(
    device: &Arc<DeviceCore>,
    chain: &Chain,
    planars: &[&Arc<Planar>],
    results: &mut [Result<(), Error>],
) -> Result<bool, Error> {
    chain.links.iter().try_for_each(|link| fix_ghosts(link, chain, planars))?;
    let all = Segment { links: 0..chain.links.len(), ..Segment::default() };
    let [segment] = &scaled(&chain.links, all, planars.len())[..] else { return Ok(false) };
    let windows = match Windows::prepare(device, chain, planars, segment, results) {
        Ok(Some(windows)) if windows.passes() == 1 => windows,
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::Memory => {
            tracing::info!(%error, "no room for windows: arrays go to the device as a whole before work runs");
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    windows.run(device, results)?;
    for (number, tracker) in chain.arrays.iter().enumerate() {
        let written = chain.links.iter().any(|link| link.writes(number));
        tracker.storage().arrived(written, told_host(chain, number));
    }
    skip_dependents(chain, results);
    Ok(true)
}

/// Whether the host is given what a chain makes of an array. Not if ghosts come last: it would not be given those.
pub(super) fn told_host(chain: &Chain, array: usize) -> bool {
    let last = chain.links.iter().rev().find(|link| link.writes(array));
    chain.wanted.contains(&array) && last.is_some_and(|link| link.op.is_sweep())
}

/// Runs the links one after the other, on whole arrays.
fn whole(device: &Arc<DeviceCore>, chain: &Chain, results: &mut [Result<(), Error>]) -> Result<(), Error> {
    let mut streams = Streams::new(device);
    let queue = Queue { device, stream: RUN, rings: &[], refilled: &[], lane: None, notes: None };
    for (number, link) in chain.links.iter().enumerate() {
        if results[number].is_err() {
            continue;
        }
        let put = match &link.op {
            Op::Sweep(sweep) | Op::Fold(sweep, _) => sweep.bring(&queue).and_then(|()| {
                device.counts.launch(1);
                let label = Label { name: link.node.name, recorded: link.node.recorded };
                // SAFETY: the graph keeps all work that conflicts away until the chain has finished.
                let sweep = || unsafe { sweep.enqueue(&queue) };
                begin_folds(device, chain, number..number + 1, results)?;
                streams.tells(number, device.timed(SpanKind::Kernel, label, RUN, 0, sweep)?);
                streams.end_fold(number, link)
            }),
            Op::Fill { tracker, .. } => fill(&queue, chain, tracker, link).map(|copies| streams.hold(copies)),
        };
        if let Err(error) = put {
            results[number] = Err(link.node.failed(error));
            skip_dependents(chain, results);
        }
    }
    let waited = streams.finish(chain, Ok(()), results);
    skip_dependents(chain, results);
    waited
}

/// Fills an array's ghosts, where it is; gives what has to be held meanwhile.
fn fill(queue: &Queue<'_>, chain: &Chain, tracker: &Arc<Tracker>, link: &Link) -> Result<Option<Box<dyn Any>>, Error> {
    let (device, storage) = (queue.device, tracker.storage());
    let Some(planar) = tracker.planar() else { return Ok(None) };
    let regions = 0..planar.facts().layout.regions.len();
    // Where there is nothing else to do, it may be the host that goes on.
    let sweeps = chain.links.iter().any(|link| link.op.is_sweep());
    if !sweeps && storage.count_on_device() == 0 {
        regions.for_each(|region| storage.touch_host(region));
        // SAFETY: the graph keeps all other work away, and nothing that this chain put into a stream uses the array.
        unsafe { planar.regional.fill_on_host(storage, Which::All) };
        return Ok(None);
    }
    for region in regions {
        // SAFETY: as above.
        unsafe { storage.to_device(queue, region, true, None)? };
    }
    storage.filled(true);
    device.counts.launch(1);
    let label = Label { name: link.node.name, recorded: link.node.recorded };
    // SAFETY: the storage is that of this array; as above.
    let put = || unsafe { planar.regional.fill_on_device(device, queue.stream, storage, true) };
    Ok(Some(Box::new(device.timed(SpanKind::Ghost, label, queue.stream, 0, put)?)))
}
