//! What is carried from region to region in sweeps with an order: the last planes of the region before lie together
//! with the first ones that are computed, which then go to their own region.

use smallvec::SmallVec;
use tida_kernels::plan::fuse::Faces;

use super::around::{Around, Source};
use super::device::{DeviceArg, DeviceArray, OnDevice};
use super::pieces::Boxes;
use super::prepare::ArgPlan;
use super::site::{Own, Site, Sites};
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::bridge::{Bridge, Span};
use crate::memory::node::{Near, Queue, Ring};
use crate::program::order::{Carry, Order};

/// The arrays of which a kernel reads other cells than it writes, with their numbers.
fn carried<'a>(
    args: impl IntoIterator<Item = OnDevice<'a>>,
    plans: &[ArgPlan],
) -> impl Iterator<Item = (usize, DeviceArray<'a>)> {
    let all = args.into_iter().zip(plans).enumerate();
    all.filter_map(|(n, (arg, plan))| match arg.0 {
        DeviceArg::Tiled(array) if plan.reads_around_writes() => Some((n, array)),
        _ => None,
    })
}

/// Whether what a box of a region reads before it is another region's, of arrays that are carried.
pub(crate) fn crosses<'a>(
    args: impl IntoIterator<Item = OnDevice<'a>>,
    plans: &[ArgPlan],
    (region, cells): (usize, &GridBox<4>),
    (order, carry): (Order, Carry),
) -> bool {
    let before = order.before(cells, carry.planes);
    let other = carry.before(region);
    carried(args, plans).any(|(_, array)| {
        let region = other.and_then(|other| array.regions.regions.get(other));
        region.is_some_and(|region| before.overlaps(&region.valid))
    })
}

/// Whether commands of `queue` find the planes before in windows, so that nothing is carried.
pub(crate) fn is_in_window<'a>(
    queue: &Queue<'_>,
    args: impl IntoIterator<Item = OnDevice<'a>>,
    plans: &[ArgPlan],
) -> bool {
    carried(args, plans)
        .any(|(_, array)| queue.ring(array.storage).is_some_and(|ring| matches!(ring.near, Near::Planes)))
}

/// The first planes of a box of a region, with those before.
struct Parts {
    both: GridBox<4>,
    head: GridBox<4>,
    rest: GridBox<4>,
}

impl Parts {
    fn of(cells: &GridBox<4>, (order, carry): (Order, Carry)) -> Parts {
        let (head, rest) = order.parted(cells, carry.planes);
        let before = order.before(cells, carry.planes);
        let lo = std::array::from_fn(|d| before.lo[d].min(head.lo[d]));
        let hi = std::array::from_fn(|d| before.hi[d].max(head.hi[d]));
        Parts { both: GridBox::new(lo, hi), head, rest }
    }

    /// Where the values of an array are from that lie together for a region.
    fn sources(&self, array: &DeviceArray<'_>, region: usize, carry: Carry) -> Boxes {
        let regions = [Some(region), carry.before(region)].into_iter().flatten();
        let part = |region: usize| Some((region, self.both.intersect(&array.regions.regions.get(region)?.valid)));
        regions.filter_map(part).filter(|(_, cells)| !cells.is_empty()).collect()
    }
}

/// What is carried to a box of cells of a region, on the host.
pub(crate) struct OnHost<'a> {
    arrays: Vec<(usize, DeviceArray<'a>, Own)>,
    region: usize,
    /// The cells that read it, and those after them.
    pub head: GridBox<4>,
    pub rest: GridBox<4>,
}

impl<'a> OnHost<'a> {
    /// Takes what is carried.
    ///
    /// # Safety
    /// The arrays are on the host, and no one else writes what is read.
    pub unsafe fn take(
        args: impl IntoIterator<Item = OnDevice<'a>>,
        plans: &[ArgPlan],
        (region, cells): (usize, &GridBox<4>),
        along: (Order, Carry),
    ) -> OnHost<'a> {
        let parts = Parts::of(cells, along);
        let mut arrays = Vec::new();
        for (n, array) in carried(args, plans) {
            let own = Own::new(parts.both, &array.element);
            for (from, cells) in parts.sources(&array, region, along.1) {
                // SAFETY: the caller's promise; the new memory is no one else's.
                unsafe { copy((&array, from), &own, &cells, false) };
            }
            arrays.push((n, array, own));
        }
        OnHost { arrays, region, head: parts.head, rest: parts.rest }
    }

    /// Where a kernel of so many arguments finds them.
    pub fn sites(&self, args: usize) -> Sites {
        let mut sites: Sites = (0..args).map(|_| None).collect();
        for (n, _, own) in &self.arrays {
            sites[*n] = Some(Site::Own(own.clone()));
        }
        sites
    }

    /// Puts what the kernel has written into the arrays.
    ///
    /// # Safety
    /// As [`OnHost::take`]; no one else touches the cells.
    pub unsafe fn give(&self) {
        for (_, array, own) in &self.arrays {
            // SAFETY: the caller's promise.
            unsafe { copy((array, self.region), own, &self.head, true) };
        }
    }
}

/// Copies a box between a region of an array on the host and planes that lie together, `back` to the region.
///
/// # Safety
/// As [`OnHost::take`] and [`OnHost::give`].
unsafe fn copy((array, region): (&DeviceArray<'_>, usize), own: &Own, cells: &GridBox<4>, back: bool) {
    let Some(of) = array.regions.regions.get(region) else { return };
    let bytes = of.cells as usize * array.element.bytes();
    let there = Source { base: array.storage.base(region), region: of, bytes };
    let here = own.source();
    let (to, from) = if back { (&there, &here) } else { (&here, &there) };
    // SAFETY: the caller's promise.
    unsafe { Around::new(*cells, Faces::default(), [[0; 2]; 4]).fill(to, cells, (Some(from), from), &array.element) };
}

/// What is carried to boxes of cells of regions, on a device: to be held until its commands are done.
pub(crate) struct ThroughDevice {
    along: (Order, Carry),
    parts: Vec<(usize, Parts)>,
    bridges: Vec<Bridge>,
}

impl ThroughDevice {
    /// Nothing yet, for boxes of regions.
    pub fn new(boxes: &[(usize, GridBox<4>)], along: (Order, Carry)) -> ThroughDevice {
        let parts = boxes.iter().map(|(region, cells)| (*region, Parts::of(cells, along))).collect();
        ThroughDevice { along, parts, bridges: Vec::new() }
    }

    /// Puts into the stream what brings it together.
    ///
    /// # Errors
    /// Memory that the device does not have, and what it refuses.
    ///
    /// # Safety
    /// The arrays are there, for commands of `queue`, and no one else writes what is read until they are done.
    pub unsafe fn bring<'a>(
        &mut self,
        queue: &Queue<'_>,
        args: impl IntoIterator<Item = OnDevice<'a>>,
        plans: &[ArgPlan],
    ) -> Result<(), Error> {
        for (_, array) in carried(args, plans) {
            let array = array.placed(queue);
            if array.ring.is_none() {
                // Ghosts that are owed have values of cells as they are before these are written.
                array.storage.materialize_ghosts(queue.device, queue.stream)?;
            }
            let span = |(region, parts): &(usize, Parts)| Span {
                region: *region,
                cells: parts.both,
                from: parts.sources(&array, *region, self.along.1).into_vec(),
                back: parts.head,
            };
            let spans: Vec<Span> = self.parts.iter().map(span).collect();
            self.bridges.push(Bridge::new(
                queue.device,
                array.storage,
                (array.layout, &array.element),
                array.ring,
                &spans,
            )?);
            if let Some(bridge) = self.bridges.last() {
                // SAFETY: the caller's promise.
                unsafe { bridge.bring(queue.stream)? };
            }
        }
        Ok(())
    }

    /// The boxes of the cells that read it.
    pub fn heads(&self) -> Boxes {
        self.parts.iter().map(|(region, parts)| (*region, parts.head)).collect()
    }

    /// Those of the cells after them.
    pub fn rest(&self) -> Boxes {
        let rest = self.parts.iter().map(|(region, parts)| (*region, parts.rest));
        rest.filter(|(_, cells)| !cells.is_empty()).collect()
    }

    /// Where commands find arrays while planes lie together: these, and others as those of `queue` do.
    pub fn rings(&self, queue: &Queue<'_>) -> SmallVec<[Ring; 4]> {
        // Of two the first is found.
        self.bridges.iter().map(|bridge| &bridge.ring).chain(queue.rings).cloned().collect()
    }

    /// Puts into the stream what takes that back which was written.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// As [`ThroughDevice::bring`]; no one else touches the cells.
    pub unsafe fn give(&self, queue: &Queue<'_>) -> Result<(), Error> {
        // SAFETY: handed on.
        self.bridges.iter().try_for_each(|bridge| unsafe { bridge.give(queue.stream) })
    }
}
