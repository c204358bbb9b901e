//! Running a chain of arrays that come from the host and stay on the device as a whole.
//!
//! If the host waits for what the chain makes, its work runs over planes while they come and go (`planes.rs`), so that
//! both directions of the link and the kernels are busy at once; planes that are done stay in the arrays' own memory
//! too. Else its links are work like any other whose arrays have room (`record/in_core.rs`).

use std::sync::Arc;

use super::planes::{Windows, fix_ghosts};
use super::segments::{Segment, scaled};
use super::{Chain, Link};
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::planes::Planar;

/// Runs a chain over planes, if that can be done; says whether it did. If not, nothing has run.
///
/// # Errors
/// What the driver reports.
pub(super) fn run(device: &Arc<DeviceCore>, chain: &Chain, results: &mut [Result<(), Error>]) -> Result<bool, Error> {
    match streams(chain).filter(|_| results.iter().all(Result::is_ok)) {
        Some(planars) => stream(device, chain, &planars, results),
        None => Ok(false),
    }
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
    chain.arrays.iter().try_for_each(|tracker| tracker.storage().materialize_ghosts_now(device))?;
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
    Ok(true)
}

/// Whether the host is given what a chain makes of an array. Not if ghosts come last: it would not be given those.
pub(super) fn told_host(chain: &Chain, array: usize) -> bool {
    let last = chain.links.iter().rev().find(|link| link.writes(array));
    chain.wanted.contains(&array) && last.is_some_and(|link| link.op.is_sweep())
}
