//! Arrays by their regions, whatever their type: how ghosts are filled, and what a chain needs of regions that come to
//! a device and leave it one by one.
//!
//! There a ghost fill becomes parts, each of one region: what another region gives it is a *strip*, which comes from
//! wherever that region is.

use std::sync::{Arc, LazyLock, OnceLock};

use smallvec::SmallVec;
use tida_kernels::element::ElementType;

use super::super::layout::{Boundary, Kinds, Layout, WideLayout};
use super::super::row::whole;
use super::super::storage::Storage;
use super::Which;
use super::compile::{Site, Strips, Where, packs};
use super::device::{DeviceCopies, Fills};
use super::host::OnHost;
use super::mixed::MixedGhosts;
use super::plan::{GhostCopy, GhostPlan, of_region};
use super::planes::{FaceKinds, face_kinds};
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::parallel;

/// Something that is made when it is first needed.
pub(super) type Lazy<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send + Sync>>;

/// A part of a ghost fill: sets ghosts of one region.
#[derive(Debug, Default)]
pub(crate) struct FillPart {
    pub region: usize,
    /// Regions of whose valid cells it reads, and those of whose ghosts: perhaps itself.
    pub cells: SmallVec<[usize; 8]>,
    pub ghosts: SmallVec<[usize; 4]>,
    /// What it reads of other regions: their numbers, and bytes.
    pub strips: Strips,
    /// Its copies, phase by phase.
    phases: Vec<Vec<GhostCopy>>,
}

/// An array by its regions.
#[derive(Debug)]
pub(crate) struct Regional {
    /// Number of axes.
    pub rank: usize,
    pub element: ElementType,
    pub layout: Arc<WideLayout>,
    /// Faces of the domain whose ghosts are left to the user, and borders, whose ghosts come from another part.
    open: [[bool; 2]; 4],
    /// Borders: there another part has the cells beyond.
    pub borders: [[bool; 2]; 4],
    /// What a fill sets ghosts of a part of an array to, if it is one.
    pub(super) part: Option<FaceKinds>,
    plan: Lazy<GhostPlan>,
    /// That of the same array as one region.
    pub(super) whole: Lazy<Option<GhostPlan>>,
    parts: OnceLock<Vec<FillPart>>,
    /// What was made for devices of both plans, and for regions on both sides.
    fills: [Fills; 2],
    pub(super) mixed: MixedGhosts,
}

/// An array's regions, if they have any memory.
pub(crate) fn regional<const D: usize>(layout: &Arc<Layout<D>>, boundaries: &Arc<Kinds<D>>) -> Option<Arc<Regional>> {
    if layout.element.bytes() == 0 {
        return None;
    }
    let (mut open, mut borders) = ([[false; 2]; 4], [[false; 2]; 4]);
    borders[4 - D..].copy_from_slice(&layout.borders);
    let is_users = |axis: usize, side: usize| boundaries.any(axis, side, |b| matches!(b, Boundary::Open));
    for axis in 0..D {
        let is_open =
            |side: usize| layout.ghost[axis][side] > 0 && (layout.borders[axis][side] || is_users(axis, side));
        open[4 - D + axis] = [0, 1].map(is_open);
    }
    let (element, wide) = (layout.element, layout.wide.clone());
    let part = layout.is_part().then(|| face_kinds(layout, boundaries));
    let (regions, row) = [(); 2].map(|()| (layout.clone(), boundaries.clone())).into();
    Some(Arc::new(Regional {
        rank: D,
        element,
        layout: wide,
        open,
        borders,
        part,
        plan: Lazy::new(Box::new(move || GhostPlan::new(&regions.0, &regions.1))),
        whole: Lazy::new(Box::new(move || Some(GhostPlan::new(&whole(&row.0, &row.0.element)?, &row.1)))),
        parts: OnceLock::new(),
        fills: Default::default(),
        mixed: MixedGhosts::default(),
    }))
}

fn add<const N: usize>(list: &mut SmallVec<[usize; N]>, region: usize)
where
    [usize; N]: smallvec::Array<Item = usize>,
{
    if !list.contains(&region) {
        list.push(region);
    }
}

impl Regional {
    /// How ghosts are filled.
    pub(crate) fn plan(&self) -> &GhostPlan {
        &self.plan
    }

    /// Whether no fill sets ghosts beyond an end along one of four axes, of some components at least: they are left to
    /// the user, or come from another part.
    pub fn is_open(&self, axis: usize, side: usize) -> bool {
        self.open[axis][side]
    }

    /// A region has ghosts that no fill sets.
    pub fn has_open(&self, region: usize) -> bool {
        let Some((first, last)) = self.layout.regions.first().zip(self.layout.regions.last()) else { return false };
        let valid = self.valid(region);
        (0..4).any(|d| {
            let [low, high] = self.open[d];
            (low && valid.lo[d] == first.valid.lo[d]) || (high && valid.hi[d] == last.valid.hi[d])
        })
    }

    /// It has ghosts of fixed value.
    pub fn has_fixed(&self, region: usize) -> bool {
        self.plan.phases.iter().any(|phase| !of_region(&phase.fixed, region).is_empty())
    }

    /// It has ghosts outside the domain that a fill sets anew each time.
    pub fn has_moving_faces(&self, region: usize) -> bool {
        let mut faces = self.plan.phases.iter().filter(|phase| phase.axis.is_some());
        faces.any(|phase| !of_region(&phase.moving, region).is_empty())
    }

    /// The parts of a fill, ghosts of fixed value not included, in an order in which they may be done.
    pub fn parts(&self) -> &[FillPart] {
        self.parts.get_or_init(|| self.make_parts())
    }

    fn make_parts(&self) -> Vec<FillPart> {
        let mut parts: Vec<FillPart> = Vec::new();
        // The part of each region that comes last.
        let mut last: Vec<Option<usize>> = vec![None; self.layout.regions.len()];
        for phase in &self.plan.phases {
            for copies in phase.moving.chunk_by(|one, other| one.region == other.region) {
                let region = copies[0].region;
                // Ghosts of other regions are there once their parts of the phases before are done.
                let reads_ghosts = |copy: &GhostCopy| {
                    let mut others = copy.sources().filter(|source| source.region != region);
                    others.any(|source| !self.valid(source.region).contains_box(&copy.read_by(source)))
                };
                let far = copies.iter().any(reads_ghosts);
                let at = *last[region].take_if(|_| !far).get_or_insert_with(|| {
                    parts.push(FillPart { region, ..FillPart::default() });
                    parts.len() - 1
                });
                last[region] = Some(at);
                let part = &mut parts[at];
                for (source, cells) in copies.iter().flat_map(|copy| copy.sources().map(|s| (s, copy.read_by(s)))) {
                    let valid = self.valid(source.region);
                    if !valid.contains_box(&cells) {
                        add(&mut part.ghosts, source.region);
                    }
                    if valid.overlaps(&cells) {
                        add(&mut part.cells, source.region);
                    }
                }
                part.phases.push(copies.to_vec());
            }
        }
        for part in &mut parts {
            let away = |region| (region != part.region).then_some(region);
            part.strips = self.plan.through_strips(part.phases.iter_mut().flatten(), away);
        }
        parts
    }

    fn valid(&self, region: usize) -> &GridBox<4> {
        &self.layout.regions[region].valid
    }

    /// Fills ghosts in the host's memory: of fixed value, or all.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry, and no one else touches it.
    pub unsafe fn fill_on_host(&self, storage: &Storage, which: Which) {
        if which != Which::Fixed {
            storage.filled(false);
        }
        // SAFETY: the caller's promise.
        unsafe { OnHost::new(&self.plan, storage) }.fill(which);
    }

    /// Fills all ghosts in the host's memory, on threads of their own: those of the pool might turn to work that waits
    /// for this.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry. No one else touches its ghosts, or writes its cells.
    pub(super) unsafe fn fill_apart(&self, storage: &Storage) {
        // SAFETY: the caller's promise.
        let host = unsafe { OnHost::new(&self.plan, storage) };
        for copies in self.plan.phases.iter().flat_map(|phase| [&phase.moving, &phase.fixed]) {
            let cells: usize = copies.iter().map(|copy| copy.cells.cells()).sum();
            parallel::apart(copies, cells * self.element.bytes(), &|copy| host.copy(copy));
        }
        storage.filled(false);
    }

    /// Sets the ghosts of fixed value of a region in the host's memory.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry, and no one else touches the region.
    pub unsafe fn fix_on_host(&self, storage: &Storage, region: usize) {
        // SAFETY: the caller's promise.
        let host = unsafe { OnHost::new(&self.plan, storage) };
        self.plan.phases.iter().for_each(|phase| host.copies(of_region(&phase.fixed, region)));
    }

    /// Does a part in the host's memory.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry. No one else touches what the part sets, or writes what it
    /// reads.
    pub unsafe fn part_on_host(&self, storage: &Storage, part: &FillPart) {
        // SAFETY: the caller's promise.
        let host = unsafe { OnHost::new(&self.plan, storage) };
        part.phases.iter().flatten().for_each(|copy| host.copy(copy));
    }

    /// Puts what a part reads of another region into `strip`, which has as many bytes as the part says and is aligned
    /// as they are.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry. No one writes what is read.
    pub unsafe fn pack(&self, storage: &Storage, part: &FillPart, region: usize, strip: &mut [u8]) {
        // SAFETY: the caller's promise.
        let host = unsafe { OnHost::new(&self.plan, storage).with_strips(strip.as_mut_ptr()) };
        host.copies(&packs(part.phases.iter().flatten(), |of| of == region));
    }

    /// Puts a fill of all ghosts of an array in the device's memory into a stream, those of `fixed` value too. In a
    /// row, those between regions are there. Gives what it uses, which has to be held until it is done.
    ///
    /// # Errors
    /// Memory that the device does not have, no compiler, or launches that failed.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry. Until the fill is done no one else uses it on the device.
    pub unsafe fn fill_on_device(
        &self,
        device: &DeviceCore,
        stream: usize,
        storage: &Storage,
        fixed: bool,
    ) -> Result<Arc<DeviceCopies>, Error> {
        let row = storage.row().and_then(|_| self.whole.as_ref());
        let fills = &self.fills[usize::from(row.is_some())];
        let copies = fills.get(device, row.unwrap_or(&self.plan), fixed)?;
        let memory = storage.device_memory(device)?;
        // SAFETY: the copies were made for arrays of this geometry, whose regions lie so; the rest is the caller's
        // promise.
        unsafe { copies.run(stream, &memory, &memory)? };
        Ok(copies)
    }

    /// What does a part in a device's memory, where `at` says of each region where to find it.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    pub fn part_on_device(
        &self,
        device: &DeviceCore,
        part: &FillPart,
        at: impl Fn(usize) -> Where,
    ) -> Result<DeviceCopies, Error> {
        let at = |region: usize, packed: Option<usize>| match at(region) {
            Where::Strip(start) => Where::Strip(start + packed.unwrap_or(0)),
            region => region,
        };
        DeviceCopies::new(device, part.phases.iter().flat_map(|copies| self.plan.jobs(copies, at)).collect())
    }

    /// What sets the ghosts of fixed value of a region that lies there; none if it has none.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    pub fn fix_on_device(&self, device: &DeviceCore, region: usize, site: Site) -> Result<Option<DeviceCopies>, Error> {
        // What is set beyond one face is not set beyond another.
        let fixed = self.plan.phases.iter().flat_map(|phase| of_region(&phase.fixed, region));
        let jobs = self.plan.jobs(fixed, |_, _| Where::Region(site));
        let some = jobs.iter().any(|(_, boxes)| !boxes.is_empty());
        some.then(|| DeviceCopies::new(device, jobs)).transpose()
    }

    /// How a region lies from byte `start` of a memory on.
    pub fn site(&self, region: usize, start: usize) -> Site {
        Site { start, cells: self.layout.regions[region].cells as usize, shift: 0 }
    }
}
