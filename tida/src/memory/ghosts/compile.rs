//! From copies of ghosts to copies of boxes in memory: the one compiler of all fills. It is told where the values of
//! each region lie, and knows nothing of devices.
//!
//! What copies read of regions whose values lie elsewhere comes in **strips**: the boxes that they read there, packed
//! one after the other.

use std::ops::Range;

use smallvec::SmallVec;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::copies::{BoxCopy, From, Kind, Place, kernel_type};

use super::super::layout::{Layout, WideLayout, WideRegion};
use super::super::parts::PackedBox;
use super::super::row::Row;
use super::super::storage::device_offsets;
use super::plan::{Component, GhostCopy, GhostPlan, Phase, Source};
use crate::grid::GridBox;

/// Copies, of which none may write what another touches, and what their kernel is for.
pub(super) type Job = (Kind, Vec<BoxCopy>);

/// How the values of a region lie in a memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    /// The byte at which its first component starts.
    pub start: usize,
    /// Values of each component.
    pub cells: usize,
    /// How much further than the layout says a value is, in values: in a window, where other planes come first.
    pub shift: i64,
}

/// Where a box of a region's cells is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Where {
    /// With the other values of its region.
    Region(Site),
    /// In a strip, from this byte on.
    Strip(usize),
}

/// Boxes in strips, and their components, start at multiples of so many bytes: as many as a thread copies at once.
const ALIGN: usize = 16;

/// Strips by their numbers, and their bytes.
pub(crate) type Strips = SmallVec<[(usize, usize); 4]>;

/// What puts into their strips what copies read of regions that are `wanted`.
pub(super) fn packs<'a>(
    copies: impl IntoIterator<Item = &'a GhostCopy>,
    wanted: impl Fn(usize) -> bool,
) -> Vec<GhostCopy> {
    let mut packs = Vec::new();
    for copy in copies {
        let sources = copy.sources().filter(|source| source.packed.is_some() && wanted(source.region));
        packs.extend(sources.map(|source| {
            let from = From::Box(Source { region: source.region, shift: [0; 4], packed: None });
            GhostCopy {
                region: source.region,
                cells: copy.read_by(source),
                of: copy.of.clone(),
                packed: source.packed,
                from,
            }
        }));
    }
    packs
}

impl GhostPlan {
    /// Gives all that copies read of regions elsewhere a place in a strip: in that of the `number` of the region, if it
    /// has one.
    pub(super) fn through_strips<'a>(
        &self,
        copies: impl IntoIterator<Item = &'a mut GhostCopy>,
        number: impl Fn(usize) -> Option<usize>,
    ) -> Strips {
        let mut strips = Strips::new();
        for copy in copies {
            let bytes = self.packed_bytes(&copy.cells, copy.of.clone());
            let mut place = |source: Source| {
                let Some(number) = number(source.region) else { return source };
                let known = strips.iter().position(|(known, _)| *known == number).unwrap_or(strips.len());
                if known == strips.len() {
                    strips.push((number, 0));
                }
                strips[known].1 += bytes;
                Source { packed: Some(strips[known].1 - bytes), ..source }
            };
            copy.from = copy.from.map(&mut place);
        }
        strips
    }

    /// Bytes of some components of a box in a strip.
    fn packed_bytes(&self, cells: &GridBox<4>, components: Range<usize>) -> usize {
        let of = |(ty, _): &Component| (cells.cells() * ty.size()).next_multiple_of(ALIGN);
        self.components[components].iter().map(of).sum()
    }

    /// Where the cells of a box are of component `number`, in a strip that has those from `of` on, from byte `start`.
    fn packed(&self, cells: &GridBox<4>, start: usize, of: usize, number: usize) -> Place {
        let first = (start + self.packed_bytes(cells, of..number)) / self.components[number].0.size();
        Place { first: first as u64, steps: cells.packed_strides().map(|step| step as u64) }
    }

    /// What the kernel is for that does copies of component `number`, of which some are `computed` or none.
    fn kind(&self, number: usize, computed: bool) -> Kind {
        let coding = self.coding.as_ref().filter(|_| computed);
        match coding.and_then(|coding| Some((coding.rounds(), *coding.codec(number)?))) {
            Some((true, codec)) => Kind::Rounded(codec),
            Some((false, codec)) => Kind::Codes(codec),
            None => Kind::Scalar(kernel_type(self.components[number].0, computed)),
        }
    }

    /// Component `number` of a copy; none if it has no such values. `at` says where boxes of a region are, with their
    /// place in its strip if they have one.
    fn set(&self, copy: &GhostCopy, number: usize, at: impl Fn(usize, Option<usize>) -> Where) -> Option<BoxCopy> {
        let component = self.components[number];
        if !copy.of.contains(&number) {
            return None;
        }
        // The builder refuses these.
        if component.0 == ScalarType::Bool && copy.from.is_computed() {
            return None;
        }
        let place = |region: usize, cells: &GridBox<4>, packed: Option<usize>| match at(region, packed) {
            Where::Region(site) => place(&self.layout.regions[region], cells.lo, site, component),
            Where::Strip(start) => self.packed(cells, start, copy.of.start, number),
        };
        let from = match copy.from.map(|source| place(source.region, &copy.read_by(&source), source.packed)) {
            From::Constant(value) => From::Constant(*self.fixed.get(value as usize)?.get(number)?),
            from => from,
        };
        Some(BoxCopy { extent: extent(&copy.cells), to: place(copy.region, &copy.cells, copy.packed), from })
    }

    /// All components of copies of one phase, in the memories of a device. `at` says where boxes of a region are, with
    /// their place in its strip if they have one.
    pub(super) fn jobs<'a>(
        &self,
        copies: impl IntoIterator<Item = &'a GhostCopy, IntoIter: Clone>,
        at: impl Fn(usize, Option<usize>) -> Where,
    ) -> Vec<Job> {
        let (copies, mut jobs) = (copies.into_iter(), Jobs::default());
        for number in 0..self.components.len() {
            let computed = copies.clone().any(|copy| copy.from.is_computed() && copy.of.contains(&number));
            let boxes = copies.clone().filter_map(|copy| self.set(copy, number, &at));
            jobs.list(self.kind(number, computed)).extend(boxes);
        }
        jobs.0
    }

    /// What fills the ghosts of all regions in a device's memory, those of fixed value only if `fixed`.
    pub(super) fn fill_jobs(&self, fixed: bool, sites: &[Site]) -> Vec<Job> {
        let phase = |phase: &Phase| {
            let constant: &[_] = if fixed { &phase.fixed } else { &[] };
            self.jobs(phase.moving.iter().chain(constant), |region, _| Where::Region(sites[region]))
        };
        self.phases.iter().flat_map(phase).collect()
    }

    /// All components of a copy on the host, where each region has memory of its own; of what has its place in a strip,
    /// there if `strips` are used.
    pub(super) fn on_host<'a>(
        &'a self,
        copy: &'a GhostCopy,
        strips: bool,
    ) -> impl Iterator<Item = (Kind, BoxCopy)> + 'a {
        let at = move |region: usize, packed: Option<usize>| match packed.filter(|_| strips) {
            Some(start) => Where::Strip(start),
            None => Where::Region(self.own(region)),
        };
        let kind = move |number| self.kind(number, copy.from.is_computed());
        copy.of.clone().filter_map(move |number| Some((kind(number), self.set(copy, number, at)?)))
    }

    /// How each region lies in a device's memory where they come one after the other.
    pub(super) fn sites(&self) -> Vec<Site> {
        sites(&self.layout, None, self.components.iter().map(|(ty, _)| ty.size()).sum())
    }

    /// How a region's values lie in the host's memory of it.
    fn own(&self, region: usize) -> Site {
        Site { start: 0, cells: self.layout.regions[region].cells as usize, shift: 0 }
    }
}

/// Where the cells from `lo` on are of a component, in a region.
fn place(of: &WideRegion, lo: [i64; 4], site: Site, (ty, before): Component) -> Place {
    // Components start at multiples of their values.
    let first = (site.start + site.cells * before) / ty.size();
    let first = (first as i64 + of.position(lo) as i64 + site.shift) as u64;
    Place { first, steps: of.strides.map(|step| step as u64) }
}

fn extent(cells: &GridBox<4>) -> [u64; 4] {
    cells.extent().map(|n| n as u64)
}

/// Copies by what their kernel is for.
#[derive(Default)]
struct Jobs(Vec<Job>);

impl Jobs {
    fn list(&mut self, kernel: Kind) -> &mut Vec<BoxCopy> {
        let known = self.0.iter().position(|(kind, _)| *kind == kernel);
        let at = known.unwrap_or_else(|| {
            self.0.push((kernel, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// What copies the valid values of a box between arrays of one shape and centring, both of type `element`: their
/// layouts, and their rows if they lie in one.
pub(super) fn between<const D: usize>(
    (to, to_row): (&Layout<D>, Option<&Row>),
    (from, from_row): (&Layout<D>, Option<&Row>),
    element: &ElementType,
    cells: &GridBox<D>,
) -> Vec<Job> {
    let bytes = element.bytes();
    let (targets, sources) = (sites(&to.wide, to_row, bytes), sites(&from.wide, from_row, bytes));
    let mut jobs = Jobs::default();
    for component in element.placed_components() {
        let list = jobs.list(Kind::Scalar(kernel_type(component.0, false)));
        for number in to.owners(cells) {
            let part = to.regions[number].valid.intersect(cells);
            list.extend(from.owners(&part).map(|owner| {
                let cells = from.regions[owner].valid.intersect(&part).widen();
                let source = place(&from.wide.regions[owner], cells.lo, sources[owner], component);
                let to = place(&to.wide.regions[number], cells.lo, targets[number], component);
                BoxCopy { extent: extent(&cells), to, from: From::Box(source) }
            }));
        }
    }
    jobs.0
}

/// What copies parts of an array's regions, of elements of this type, from its memory into one where they lie packed;
/// or out of that, without `packs`. `site` says how a region lies.
pub(super) fn of_parts(
    (layout, element): (&WideLayout, &ElementType),
    parts: &[PackedBox],
    packs: bool,
    site: impl Fn(usize) -> Site,
) -> Vec<Job> {
    let mut jobs = Jobs::default();
    for (ty, before) in element.placed_components() {
        let list = jobs.list(Kind::Scalar(kernel_type(ty, false)));
        list.extend(parts.iter().map(|part| {
            let there = place(&layout.regions[part.region], part.cells.lo, site(part.region), (ty, before));
            let first = (part.start + part.values * before) / ty.size();
            let packed = Place { first: first as u64, steps: part.cells.packed_strides().map(|step| step as u64) };
            let (to, from) = if packs { (packed, there) } else { (there, packed) };
            BoxCopy { extent: extent(&part.cells), to, from: From::Box(from) }
        }));
    }
    jobs.0
}

/// A box of a region, and how that lies.
pub(crate) type BoxIn = (WideRegion, Site, GridBox<4>);

/// What copies boxes of elements of this type from regions of one array to those of another.
pub(super) fn across(element: &ElementType, pairs: &[(BoxIn, BoxIn)]) -> Vec<Job> {
    let mut jobs = Jobs::default();
    for component in element.placed_components() {
        let list = jobs.list(Kind::Scalar(kernel_type(component.0, false)));
        list.extend(pairs.iter().map(|((target, to, cells), (source, from, given))| {
            let (to, from) = (place(target, cells.lo, *to, component), place(source, given.lo, *from, component));
            BoxCopy { extent: extent(cells), to, from: From::Box(from) }
        }));
    }
    jobs.0
}

/// A region, and how it lies.
pub(crate) type Lies<'a> = (&'a WideRegion, Site);

/// What copies boxes of elements of this type between planes that lie together and regions: each box with both. To the
/// planes, or `back`.
pub(super) fn of_spans(element: &ElementType, pairs: &[(Lies<'_>, Lies<'_>, GridBox<4>)], back: bool) -> Vec<Job> {
    let mut jobs = Jobs::default();
    for component in element.placed_components() {
        let list = jobs.list(Kind::Scalar(kernel_type(component.0, false)));
        list.extend(pairs.iter().map(|((together, here), (region, there), cells)| {
            let here = place(together, cells.lo, *here, component);
            let there = place(region, cells.lo, *there, component);
            let (to, from) = if back { (there, here) } else { (here, there) };
            BoxCopy { extent: extent(cells), to, from: From::Box(from) }
        }));
    }
    jobs.0
}

/// How each region of an array of elements of so many bytes lies in a device's memory: in a row, or one after the
/// other.
pub(super) fn sites(layout: &WideLayout, row: Option<&Row>, bytes: usize) -> Vec<Site> {
    let cells = |region: &WideRegion| region.cells as usize;
    let starts = device_offsets(layout.regions.iter().map(|region| cells(region) * bytes));
    let site = |(number, (region, start))| match row {
        Some(row) => Site { start: row.offset(number), cells: row.cells, shift: 0 },
        None => Site { start, cells: cells(region), shift: 0 },
    };
    layout.regions.iter().zip(starts).enumerate().map(site).collect()
}

#[cfg(test)]
mod tests;
