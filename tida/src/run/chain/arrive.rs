//! Running a chain of arrays that come from the host and stay on the device as a whole.
//!
//! If the host waits for what the chain makes, its work runs over planes while they come and go (`run.rs`), so that
//! both directions of the link and the kernels are busy at once; planes that are done stay in the arrays' own memory
//! too. Else the arrays are brought there as a whole, and the links run one after the other.

use std::any::Any;
use std::sync::Arc;

use super::run::{RUN, Running, begin_folds, end_fold, failed, failure, fix_ghosts, skip_dependents, told, wait};
use super::segments::Segment;
use super::{Chain, Link, LinkWork, Ready};
use crate::device::core::DeviceCore;
use crate::device::timeline::{Label, SpanKind};
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::Which;
use crate::memory::ghosts::planes::Planar;
use crate::memory::node::{Done, Queue};
use crate::memory::touched::touched;

/// Runs a chain, and gives the result of each of its nodes, in order.
pub(super) fn run(device: &Arc<DeviceCore>, ready: &Ready) -> Vec<Result<(), Error>> {
    let chain = &ready.chain;
    let mut results: Vec<Result<(), Error>> = chain.links.iter().map(|link| failure(ready, link)).collect();
    skip_dependents(chain, &mut results);
    for tracker in &chain.arrays {
        if let Err(error) = tracker.storage().settle_ghosts_now(device) {
            return failed(chain, results, &error);
        }
    }
    if results.iter().all(Result::is_ok)
        && let Some(planars) = streams(chain)
    {
        match stream(device, chain, &planars, &mut results) {
            Ok(true) => return results,
            Ok(false) => {}
            Err(error) => return failed(chain, results, &error),
        }
    }
    match whole(device, chain, &mut results) {
        Ok(()) => results,
        Err(error) => failed(chain, results, &error),
    }
}

/// The planes of a chain's arrays, if its work is to run while they arrive.
fn streams(chain: &Chain) -> Option<Vec<&Arc<Planar>>> {
    let sweeps = chain.links.iter().any(|link| link.work.is_sweep());
    if !chain.is_waited_for || !sweeps || chain.links.len() > chain.most_links() {
        return None;
    }
    // Ghosts of fixed value are set on the host.
    let is_fixed_there = |link: &Link| match &link.work {
        LinkWork::Ghosts { array, fixed: true } => !chain.arrays[*array].storage().on_device().contains(&true),
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
    chain.links.iter().for_each(|link| fix_ghosts(link, chain, planars));
    let segment = Segment { links: 0..chain.links.len(), period: None };
    let mut running = match Running::prepare(device, chain, planars, &segment, results) {
        Ok(Some(running)) if running.passes() == 1 => running,
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::Memory => {
            tracing::info!(%error, "no room for windows: arrays go to the device as a whole before work runs");
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let put = running.put().and_then(|()| running.leave_whole());
    running.finish(put, results)?;
    for (number, tracker) in chain.arrays.iter().enumerate() {
        let written = chain.links.iter().any(|link| link.work.writes(number));
        tracker.storage().arrived(written, told_host(chain, number));
    }
    skip_dependents(chain, results);
    Ok(true)
}

/// Whether the host is given what a chain makes of an array. Not if ghosts come last: it would not be given those.
pub(super) fn told_host(chain: &Chain, array: usize) -> bool {
    let last = chain.links.iter().rev().find(|link| link.work.writes(array));
    chain.wanted.contains(&array) && last.is_some_and(|link| link.work.is_sweep())
}

/// Runs the links one after the other, on whole arrays.
fn whole(device: &Arc<DeviceCore>, chain: &Chain, results: &mut [Result<(), Error>]) -> Result<(), Error> {
    let mut done: Vec<(usize, Done)> = Vec::new();
    let mut held: Vec<Box<dyn Any>> = Vec::new();
    let queue = Queue { device, stream: RUN, rings: &[], refilled: &[] };
    for (number, link) in chain.links.iter().enumerate() {
        if results[number].is_err() {
            continue;
        }
        let put = match &link.work {
            LinkWork::Sweep { launch, boxes, arrays, .. } => {
                let bring = || {
                    touched(arrays).try_for_each(|(tracker, region, mode)| {
                        // SAFETY: the graph keeps all work that conflicts away until the chain has finished.
                        unsafe { tracker.to_device(&queue, region, mode) }
                    })
                };
                bring().and_then(|()| {
                    device.count_launch();
                    let label = Label { name: link.node.name, recorded: link.node.recorded };
                    // SAFETY: as above; the boxes do not overlap.
                    let sweep = || unsafe { launch.clone().enqueue(&queue, boxes) };
                    begin_folds(device, chain, number..number + 1, results)?;
                    done.push((number, device.timed(SpanKind::Kernel, label, RUN, 0, sweep)?));
                    done.extend(end_fold(device, chain, number)?);
                    Ok(())
                })
            }
            LinkWork::Ghosts { array, .. } => fill(&queue, chain, *array, link).map(|copies| held.extend(copies)),
        };
        if let Err(error) = put {
            results[number] = Err(link.node.failed(error));
            skip_dependents(chain, results);
        }
    }
    let waited = wait(device);
    told(chain, results, done);
    skip_dependents(chain, results);
    waited
}

/// Fills an array's ghosts, where it is; gives what has to be held meanwhile.
fn fill(queue: &Queue<'_>, chain: &Chain, array: usize, link: &Link) -> Result<Option<Box<dyn Any>>, Error> {
    let (device, storage) = (queue.device, chain.arrays[array].storage());
    let Some(planar) = chain.arrays[array].planar() else { return Ok(None) };
    let regions = 0..planar.facts().layout.regions.len();
    // Where there is nothing else to do, it may be the host that goes on.
    let sweeps = chain.links.iter().any(|link| link.work.is_sweep());
    if !sweeps && !storage.on_device().contains(&true) {
        regions.for_each(|region| storage.touch_host(region));
        // SAFETY: the graph keeps all other work away, and nothing that this chain put into a stream uses the array.
        unsafe { planar.regional.fill_on_host(storage, Which::All) };
        return Ok(None);
    }
    for region in regions {
        // SAFETY: as above.
        unsafe { storage.to_device(queue, region, true)? };
    }
    storage.filled(true);
    device.count_launch();
    let label = Label { name: link.node.name, recorded: link.node.recorded };
    // SAFETY: the storage is that of this array; as above.
    let put = || unsafe { planar.regional.fill_on_device(device, queue.stream, storage, true) };
    Ok(Some(Box::new(device.timed(SpanKind::Ghost, label, queue.stream, 0, put)?)))
}
