//! Where native kernels find arrays on a simulated device.

use std::ptr;
use std::sync::Arc;

use smallvec::SmallVec;

use super::decoded::Decoded;
use super::launch::narrow;
use crate::backend::Memory;
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::device::{DeviceArg, DeviceArray, OnDevice};
use crate::memory::layout::{Raw, WideLayout, WideRegion};
use crate::memory::node::{Done, Queue};
use crate::memory::storage::Storage;

/// Where a kernel that runs natively finds an array.
#[derive(Clone, Debug)]
pub(crate) enum Site {
    /// An array, or planes of it, in memory that the host can address.
    Device(OnSim),
    /// The decoded values of one that holds codes.
    Decoded(Decoded),
}

/// An array, or planes of it, in memory of a simulated device.
#[derive(Clone, Debug)]
pub(crate) struct OnSim {
    memory: Arc<Memory>,
    layout: Arc<WideLayout>,
    /// Says where regions start; none if all start at the same byte, as in a ring.
    storage: Option<Arc<Storage>>,
    /// That byte.
    start: usize,
}

/// One entry for each argument of a kernel; none for tables.
pub(crate) type Sites = SmallVec<[Option<Site>; 8]>;

/// Where the commands of `queue` find the arguments of a kernel. Only for a simulated device.
///
/// # Errors
/// Memory that the device does not have.
pub(crate) fn sites<'a>(queue: &Queue<'_>, args: impl IntoIterator<Item = OnDevice<'a>>) -> Result<Sites, Error> {
    let site = |array: &DeviceArray<'_>| -> Result<Option<Site>, Error> {
        let storage = array.ring.is_none().then(|| array.storage.clone());
        let start = array.ring.map_or(0, |ring| ring.start);
        Ok(Some(Site::Device(OnSim {
            memory: array.memory(queue.device)?,
            layout: array.layout.clone(),
            storage,
            start,
        })))
    };
    let args = args.into_iter().map(|arg| match arg.0 {
        DeviceArg::Tiled(array) => site(&array.placed(queue)),
        DeviceArg::Whole(array, _) => site(&array),
        DeviceArg::Table(..) => Ok(None),
    });
    args.collect()
}

/// Puts a kernel that runs natively into the stream of a simulated device, box by box; nothing on any other device.
/// `kernel` is kept until it is done.
///
/// # Errors
/// Memory that the device does not have, and failures that it was told to simulate.
///
/// # Safety
/// `run` may run over these boxes until the node of `queue` has finished.
pub(crate) unsafe fn simulated<'a, K: Send + Sync + 'static>(
    queue: &Queue<'_>,
    args: impl IntoIterator<Item = OnDevice<'a>>,
    boxes: &[(usize, GridBox<4>)],
    kernel: Arc<K>,
    run: impl Fn(&K, usize, GridBox<4>, &[Option<Site>]) -> Result<(), Error> + Send + 'static,
) -> Result<Option<Done>, Error> {
    let Some(sim) = queue.device.backend().simulated() else { return Ok(None) };
    let (this, sites, boxes) = (kernel.clone(), sites(queue, args)?, boxes.to_vec());
    let cells = boxes.iter().map(|(_, cells)| cells.cells() as u64).sum();
    let all = move || boxes.iter().try_for_each(|(region, cells)| run(&this, *region, *cells, &sites));
    // SAFETY: handed on.
    let outcome = unsafe { sim.kernel(queue.stream, cells, Box::new(all))? };
    Ok(Some(Box::new(move || {
        let ended = outcome.take();
        drop(kernel);
        ended
    })))
}

impl Site {
    /// Memory of a region, as views see it.
    pub fn raw<const D: usize>(&self, region: usize, valid_only: bool) -> Raw<D> {
        let site = match self {
            Site::Device(site) => site,
            Site::Decoded(decoded) => return decoded.raw(region),
        };
        let r = &site.layout.regions[region];
        Raw {
            base: site.base(region),
            cells: r.cells as usize,
            origin: std::array::from_fn(|d| r.origin[4 - D + d]),
            strides: std::array::from_fn(|d| r.strides[4 - D + d] as usize),
            bounds: narrow(if valid_only { &r.valid } else { &r.grown }),
        }
    }
}

impl OnSim {
    /// First byte of a region.
    fn base(&self, region: usize) -> *mut u8 {
        let start = self.storage.as_ref().map_or(self.start, |storage| storage.offset(region));
        ptr::with_exposed_provenance_mut(self.memory.raw() as usize + start)
    }

    /// A region: its first byte, and how it lies.
    pub fn region(&self, region: usize) -> (*mut u8, &WideRegion) {
        (self.base(region), &self.layout.regions[region])
    }
}
