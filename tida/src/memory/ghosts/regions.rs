//! Arrays as regions that come to a device and leave it one by one: what a chain needs of them.
//!
//! A ghost fill becomes parts, each of one region: what another region gives it is a *strip*, which comes from wherever
//! that region is.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tida_kernels::element::ElementType;
use tida_kernels::emit::copies::Place;

use super::device::{Component, DeviceCopies, Job, Sorted, box_copy, kind, packed, place, placed};
use super::fill;
use super::plan::{From, GhostCopy, GhostPlan, Phase, Source};
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::layout::{Boundaries, Boundary, Layout, WideLayout};
use crate::memory::storage::Storage;

/// A part of a ghost fill: sets ghosts of one region.
#[derive(Debug)]
pub(crate) struct FillPart {
    pub region: usize,
    /// Regions of whose valid cells it reads, and those of whose ghosts: perhaps itself.
    pub cells: SmallVec<[usize; 8]>,
    pub ghosts: SmallVec<[usize; 4]>,
    /// Other regions that it reads, and bytes of what it reads there.
    pub strips: Vec<(usize, usize)>,
    /// Some copies of some phases, in order.
    copies: Vec<(usize, Range<usize>)>,
}

/// Where the device has what a part of a fill reads or sets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Site {
    /// The region's memory, from this byte on.
    Region(usize),
    /// The strip, from this byte on.
    Strip(usize),
}

/// An array by its regions, whatever its type.
pub(crate) trait Regional: Debug + Send + Sync {
    /// Number of axes.
    fn rank(&self) -> usize;

    fn element(&self) -> ElementType;

    fn layout(&self) -> &Arc<WideLayout>;

    /// A region has ghosts that are left to the user.
    fn has_open(&self, region: usize) -> bool;

    /// It has ghosts of fixed value.
    fn has_fixed(&self, region: usize) -> bool;

    /// It has ghosts outside the domain that a fill sets anew each time.
    fn has_moving_faces(&self, region: usize) -> bool;

    /// The parts of a fill, ghosts of fixed value not included, in an order in which they may be done.
    fn parts(&self) -> &[FillPart];

    /// Does a part in the host's memory.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry. No one else touches what the part sets, or writes what it
    /// reads.
    unsafe fn part_on_host(&self, storage: &Storage, part: &FillPart);

    /// Sets the ghosts of fixed value of a region, or of all, in the host's memory.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry, and no one else touches those regions.
    unsafe fn fix_on_host(&self, storage: &Storage, region: Option<usize>);

    /// Puts what a part reads of another region into `strip`, which has as many bytes as the part says.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry. No one writes what is read.
    unsafe fn pack(&self, storage: &Storage, part: &FillPart, region: usize, strip: &mut [u8]);

    /// What does a part in a device's memory, where `site` says of each region where to find it.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    fn part_on_device(
        &self,
        device: &DeviceCore,
        part: &FillPart,
        site: &dyn Fn(usize) -> Site,
    ) -> Result<DeviceCopies, Error>;

    /// What sets the ghosts of fixed value of a region; none if it has none. `start` says at which byte a component's
    /// values start, from the bytes of the components before it of one cell and those of one value.
    ///
    /// # Errors
    /// As [`DeviceCopies`].
    fn fix_on_device(
        &self,
        device: &DeviceCore,
        region: usize,
        start: &dyn Fn((usize, usize)) -> usize,
    ) -> Result<Option<DeviceCopies>, Error>;
}

/// An array's regions, if they have any memory.
pub(crate) fn regional<T: Element, const D: usize>(
    layout: &Arc<Layout<D>>,
    boundaries: &Arc<Boundaries<T, D>>,
    plan: &Arc<OnceLock<GhostPlan<D>>>,
) -> Option<Arc<dyn Regional>> {
    if T::TYPE.bytes() == 0 {
        return None;
    }
    let (layout, boundaries, plan) = (layout.clone(), boundaries.clone(), plan.clone());
    Some(Arc::new(ArrayRegions { layout, boundaries, plan, parts: OnceLock::new(), moving: OnceLock::new() }))
}

#[derive(Debug)]
struct ArrayRegions<T: Element, const D: usize> {
    layout: Arc<Layout<D>>,
    boundaries: Arc<Boundaries<T, D>>,
    /// That of the array.
    plan: Arc<OnceLock<GhostPlan<D>>>,
    parts: OnceLock<Vec<FillPart>>,
    /// See [`Regional::has_moving_faces`].
    moving: OnceLock<Vec<bool>>,
}

/// Where a box is that a copy reads: by the number of the copy, for each component.
type Places<'a, const D: usize> = &'a dyn Fn(usize, &GhostCopy<D>, &Source<D>, Component) -> Place;

/// Pieces of a strip start at multiples of so many bytes.
const ALIGN: usize = 16;

/// Bytes of a box in a strip.
fn strip_bytes<const D: usize>(cells: &GridBox<D>, element: &ElementType) -> usize {
    element.placed_components().map(|(ty, _)| (cells.cells() * ty.size()).next_multiple_of(ALIGN)).sum()
}

fn add<const N: usize>(list: &mut SmallVec<[usize; N]>, region: usize)
where
    [usize; N]: smallvec::Array<Item = usize>,
{
    if !list.contains(&region) {
        list.push(region);
    }
}

impl<T: Element, const D: usize> ArrayRegions<T, D> {
    fn plan(&self) -> &GhostPlan<D> {
        self.plan.get_or_init(|| GhostPlan::new(&self.layout, &self.boundaries))
    }

    fn make_parts(&self) -> Vec<FillPart> {
        let mut parts: Vec<FillPart> = Vec::new();
        // The part of each region that comes last.
        let mut last: Vec<Option<usize>> = vec![None; self.layout.regions.len()];
        for (number, phase) in self.plan().phases.iter().enumerate() {
            let mut here: Vec<Vec<Range<usize>>> = vec![Vec::new(); last.len()];
            for (at, copy) in phase.moving.iter().enumerate() {
                match here[copy.region].last_mut() {
                    Some(range) if range.end == at => range.end += 1,
                    _ => here[copy.region].push(at..at + 1),
                }
            }
            for (region, ranges) in here.into_iter().enumerate().filter(|(_, ranges)| !ranges.is_empty()) {
                let copies = || ranges.iter().flat_map(|range| &phase.moving[range.clone()]);
                // Ghosts of other regions are there once their parts of the phases before are done.
                let reads_ghosts = |copy: &GhostCopy<D>| {
                    let mut others = copy.sources().filter(|source| source.region != region);
                    others.any(|source| !self.valid(source.region).contains_box(&copy.read_by(source)))
                };
                let far = copies().any(reads_ghosts);
                let at = *last[region].take_if(|_| !far).get_or_insert_with(|| {
                    parts.push(FillPart {
                        region,
                        cells: SmallVec::new(),
                        ghosts: SmallVec::new(),
                        strips: Vec::new(),
                        copies: Vec::new(),
                    });
                    parts.len() - 1
                });
                last[region] = Some(at);
                let part = &mut parts[at];
                for copy in copies() {
                    for source in copy.sources() {
                        let (cells, valid) = (copy.read_by(source), self.valid(source.region));
                        if !valid.contains_box(&cells) {
                            add(&mut part.ghosts, source.region);
                        }
                        if valid.overlaps(&cells) {
                            add(&mut part.cells, source.region);
                        }
                        if source.region != region {
                            let bytes = strip_bytes(&cells, &self.layout.element);
                            match part.strips.iter_mut().find(|(other, _)| *other == source.region) {
                                Some((_, sum)) => *sum += bytes,
                                None => part.strips.push((source.region, bytes)),
                            }
                        }
                    }
                }
                part.copies.extend(ranges.into_iter().map(|range| (number, range)));
            }
        }
        parts
    }

    fn valid(&self, region: usize) -> &GridBox<D> {
        &self.layout.regions[region].valid
    }

    /// Whether a region has ghosts beyond a face of the domain with such a boundary.
    fn has_face(&self, region: usize, is: impl Fn(&Boundary<T>) -> bool) -> bool {
        let (valid, shape) = (self.valid(region), &self.layout.shape);
        (0..D).any(|d| {
            let outside = [valid.lo[d] == 0, valid.hi[d] == shape[d] as i64];
            (0..2).any(|side| outside[side] && self.layout.ghost[d][side] > 0 && is(&self.boundaries[d][side]))
        })
    }

    /// The copies of a part, with the number of their phase.
    fn phases<'a>(&'a self, part: &'a FillPart) -> impl Iterator<Item = (usize, &'a [GhostCopy<D>])> {
        let copies = |(phase, range): &(usize, Range<usize>)| {
            Some((*phase, self.plan().phases.get(*phase)?.moving.get(range.clone())?))
        };
        part.copies.iter().filter_map(copies)
    }

    /// The jobs of copies that may be done at once, of a region whose components start where `start` says; `source`
    /// says where each of their boxes is, by the number of the copy, component by component.
    fn jobs<'a>(
        &self,
        copies: impl Iterator<Item = (usize, &'a GhostCopy<D>)> + Clone,
        start: &dyn Fn((usize, usize)) -> usize,
        source: Places<'_, D>,
    ) -> Vec<Job> {
        let computed = copies.clone().any(|(_, copy)| matches!(copy.from, From::Negated(_) | From::Line { .. }));
        let mut sorted = Sorted::default();
        for (number, copy) in copies {
            for (position, component) in self.layout.element.placed_components().enumerate() {
                let (before, size) = (component.1, component.0.size());
                let to = placed(&self.layout.regions[copy.region], start((before, size)), copy.cells.lo, size);
                let from = |from: &Source<D>| source(number, copy, from, component);
                let fixed = |value: usize| self.plan().fixed.get(value)?.get(position).copied();
                let kernel = kind(&self.layout, position, component.0, computed);
                sorted.list(kernel).extend(box_copy(copy, component.0, to, from, fixed));
            }
        }
        sorted.0
    }

    /// For each copy of a part where its boxes start in the strips of their regions: one after the other.
    fn strip_starts(&self, part: &FillPart) -> Vec<SmallVec<[usize; 2]>> {
        let mut ends: SmallVec<[(usize, usize); 8]> = part.strips.iter().map(|(region, _)| (*region, 0)).collect();
        let starts = |copy: &GhostCopy<D>| {
            let start = |source: &Source<D>| {
                let Some((_, end)) = ends.iter_mut().find(|(region, _)| *region == source.region) else { return 0 };
                let start = *end;
                *end += strip_bytes(&copy.read_by(source), &self.layout.element);
                start
            };
            copy.sources().map(start).collect()
        };
        self.phases(part).flat_map(|(_, copies)| copies).map(starts).collect()
    }
}

impl<T: Element, const D: usize> Regional for ArrayRegions<T, D> {
    fn rank(&self) -> usize {
        D
    }

    fn element(&self) -> ElementType {
        self.layout.element
    }

    fn layout(&self) -> &Arc<WideLayout> {
        &self.layout.wide
    }

    fn has_open(&self, region: usize) -> bool {
        self.has_face(region, |boundary| matches!(boundary, Boundary::Open))
    }

    fn has_fixed(&self, region: usize) -> bool {
        self.has_face(region, |boundary| matches!(boundary, Boundary::Fixed(_)))
    }

    fn has_moving_faces(&self, region: usize) -> bool {
        let moving = self.moving.get_or_init(|| {
            let mut moving = vec![false; self.layout.regions.len()];
            let of_faces = |phase: &&Phase<D>| phase.axis.is_some();
            let copies = self.plan().phases.iter().filter(of_faces).flat_map(|phase| &phase.moving);
            copies.for_each(|copy| moving[copy.region] = true);
            moving
        });
        moving.get(region).copied().unwrap_or(true)
    }

    fn parts(&self) -> &[FillPart] {
        self.parts.get_or_init(|| self.make_parts())
    }

    unsafe fn part_on_host(&self, storage: &Storage, part: &FillPart) {
        let all = [i64::MIN..i64::MAX, i64::MIN..i64::MAX];
        for (_, copies) in self.phases(part) {
            // SAFETY: the plan is that of the layout and `T`; the rest is the caller's promise.
            unsafe { fill::run_part(copies, &self.layout, storage, &self.layout.element, &all) }
        }
    }

    unsafe fn fix_on_host(&self, storage: &Storage, region: Option<usize>) {
        let wanted = |copy: &&GhostCopy<D>| region.is_none_or(|region| copy.region == region);
        for phase in &self.plan().phases {
            let fixed: Vec<GhostCopy<D>> = phase.fixed.iter().filter(wanted).cloned().collect();
            // SAFETY: the plan is that of the layout and `T`; the rest is the caller's promise.
            unsafe { fill::run_copies(self.plan(), &fixed, &self.layout, storage, &self.layout.element) }
        }
    }

    unsafe fn pack(&self, storage: &Storage, part: &FillPart, region: usize, strip: &mut [u8]) {
        let r = &self.layout.regions[region];
        let mut rest = strip;
        for copy in self.phases(part).flat_map(|(_, copies)| copies) {
            for source in copy.sources().filter(|source| source.region == region && region != part.region) {
                let cells = copy.read_by(source);
                let row = cells.extent()[D - 1];
                for (ty, before) in self.layout.element.placed_components() {
                    let bytes = (cells.cells() * ty.size()).next_multiple_of(ALIGN);
                    let Some((piece, others)) = std::mem::take(&mut rest).split_at_mut_checked(bytes) else { return };
                    rest = others;
                    for (at, to) in cells.rows().zip(piece.chunks_exact_mut((row * ty.size()).max(1))) {
                        let from = storage.base(region).wrapping_add(r.cells * before + r.position(at) * ty.size());
                        // SAFETY: the row lies in the region's memory, which no one writes, and `to` has its bytes.
                        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), row * ty.size()) };
                    }
                }
            }
        }
    }

    fn part_on_device(
        &self,
        device: &DeviceCore,
        part: &FillPart,
        site: &dyn Fn(usize) -> Site,
    ) -> Result<DeviceCopies, Error> {
        let Site::Region(at) = site(part.region) else { return DeviceCopies::new(device, Vec::new()) };
        let starts = self.strip_starts(part);
        let source_place = |number: usize, copy: &GhostCopy<D>, source: &Source<D>, component: Component| {
            let cells = copy.read_by(source);
            let strip = match site(source.region) {
                Site::Region(at) => return place(&self.layout.regions[source.region], at, cells.lo, component),
                Site::Strip(strip) => strip,
            };
            let start =
                copy.sources().position(|other| std::ptr::eq(other, source)).and_then(|n| starts[number].get(n));
            let before = self.layout.element.placed_components().take_while(|(_, before)| *before < component.1);
            let before = before.map(|(ty, _)| (cells.cells() * ty.size()).next_multiple_of(ALIGN));
            let first = strip + start.copied().unwrap_or(0) + before.sum::<usize>();
            packed(&cells, first, component.0)
        };
        let mut jobs = Vec::new();
        let numbered: Vec<(usize, (usize, &GhostCopy<D>))> = self
            .phases(part)
            .flat_map(|(phase, copies)| copies.iter().map(move |copy| (phase, copy)))
            .enumerate()
            .collect();
        for phase in numbered.chunk_by(|(_, (one, _)), (_, (other, _))| one == other) {
            let start = |(before, _): (usize, usize)| at + self.layout.regions[part.region].cells * before;
            jobs.extend(self.jobs(phase.iter().map(|(number, (_, copy))| (*number, *copy)), &start, &source_place));
        }
        DeviceCopies::new(device, jobs)
    }

    fn fix_on_device(
        &self,
        device: &DeviceCore,
        region: usize,
        start: &dyn Fn((usize, usize)) -> usize,
    ) -> Result<Option<DeviceCopies>, Error> {
        let fixed = self.plan().phases.iter().flat_map(|phase| &phase.fixed).filter(|copy| copy.region == region);
        let fixed: Vec<&GhostCopy<D>> = fixed.collect();
        if fixed.is_empty() {
            return Ok(None);
        }
        let copies = fixed.iter().map(|copy| (0, *copy));
        let none = |_: usize, _: &GhostCopy<D>, _: &Source<D>, _: Component| Place::default();
        Ok(Some(DeviceCopies::new(device, self.jobs(copies, start, &none))?))
    }
}
