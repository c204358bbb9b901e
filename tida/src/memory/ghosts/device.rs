//! Ghost fills and copies between arrays on a device (TiDA-acc §IV-B, "Ghost Cell Update").
//!
//! The boxes of a plan become tables, which stay on the device: a fill is then one launch for each phase and kind of
//! component, whatever the number of regions.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::copies::{self, BoxCopy, Kind, Place, THREADS, Table};

use super::fill::{Packed, Way};
use super::plan::{From, GhostCopy, GhostPlan, Source};
use super::planes::Part;
use crate::backend::{Argument, Backend, Kernel, Memory, Native};
use crate::device::compiler::Own;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::layout::{Layout, Region};
use crate::memory::row::Row;

/// Copies of boxes, ready to be launched on one device.
#[derive(Debug)]
pub(crate) struct DeviceCopies {
    backend: Arc<dyn Backend>,
    /// One after the other.
    launches: Vec<Launch>,
    /// The same as they are listed, for a device that runs native forms.
    native: Vec<(Kind, Arc<[BoxCopy]>)>,
}

#[derive(Debug)]
struct Launch {
    kernel: Arc<dyn Kernel>,
    table: Arc<Memory>,
    /// What the table is copied from, where no one waited for the copy.
    _source: Vec<u8>,
    pieces: u32,
    blocks: u32,
}

/// A plan's copies on the device last asked for: without fixed values, and with them.
#[derive(Debug, Default)]
pub(super) struct DeviceGhosts([Mutex<Option<Arc<DeviceCopies>>>; 2]);

/// Copies, of which none may write what another touches, and what their kernel is for.
pub(super) type Job = (Kind, Vec<BoxCopy>);

/// What the kernel is for that does the copies of a component, of which some are computed or none.
pub(super) fn kind<const D: usize>(layout: &Layout<D>, position: usize, scalar: ScalarType, computed: bool) -> Kind {
    let codec = layout.coding.as_ref().and_then(|coding| coding.codec(position)).filter(|_| computed);
    match codec {
        Some(codec) if layout.rounds().is_some() => Kind::Rounded(*codec),
        Some(codec) => Kind::Codes(*codec),
        None => Kind::Scalar(copies::kernel_type(scalar, computed)),
    }
}

impl<const D: usize> GhostPlan<D> {
    /// What fills the ghosts of arrays of this plan's layout and of type `element` in a device's memory, those of fixed
    /// value only if `fixed`. Made once, then looked up. Each array's memory is both target and source.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub(crate) fn on_device(
        &self,
        device: &DeviceCore,
        layout: &Layout<D>,
        element: &ElementType,
        fixed: bool,
    ) -> Result<Arc<DeviceCopies>, Error> {
        let mut known = self.device.0[usize::from(fixed)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copies) = known.as_ref().filter(|copies| Arc::ptr_eq(&copies.backend, device.backend())) {
            return Ok(copies.clone());
        }
        let copies = Arc::new(DeviceCopies::new(device, self.jobs(layout, element, fixed))?);
        *known = Some(copies.clone());
        Ok(copies)
    }

    fn jobs(&self, layout: &Layout<D>, element: &ElementType, fixed: bool) -> Vec<Job> {
        let offsets = layout.device_offsets(element.bytes());
        let phases = self.phases.iter().flat_map(|phase| {
            let constant: &[_] = if fixed { &phase.fixed } else { &[] };
            let copies: Vec<&GhostCopy<D>> = phase.moving.iter().chain(constant).collect();
            self.phase_jobs(layout, &offsets, element, &copies)
        });
        phases.collect()
    }

    /// The copies of one part of a fill that set ghosts of `planes`, of an array of one region that starts the memory.
    pub(super) fn jobs_of(
        &self,
        part: Part,
        layout: &Layout<D>,
        element: &ElementType,
        planes: Range<i64>,
    ) -> Vec<Job> {
        let phases = self.part(part).flat_map(|phase| {
            let within = phase.moving.iter().filter_map(|copy| {
                let mut copy = copy.clone();
                copy.cells.lo[0] = copy.cells.lo[0].max(planes.start);
                copy.cells.hi[0] = copy.cells.hi[0].min(planes.end);
                (!copy.cells.is_empty()).then_some(copy)
            });
            let within: Vec<GhostCopy<D>> = within.collect();
            self.phase_jobs(layout, &[0], element, &within.iter().collect::<Vec<_>>())
        });
        phases.collect()
    }

    pub(super) fn phase_jobs(
        &self,
        layout: &Layout<D>,
        offsets: &[usize],
        element: &ElementType,
        copies: &[&GhostCopy<D>],
    ) -> Vec<Job> {
        let computed = copies.iter().any(|copy| matches!(copy.from, From::Negated(_) | From::Line { .. }));
        let mut sorted = Sorted::default();
        for (position, component) in element.placed_components().enumerate() {
            let memory = Planes { layout, offsets, row: None, component };
            let kernel = kind(layout, position, component.0, computed);
            let boxes =
                copies.iter().filter_map(|copy| memory.ghost_copy(copy, |v| self.fixed[v].get(position).copied()));
            sorted.list(kernel).extend(boxes);
        }
        sorted.0
    }
}

/// What moves copies' values between an array of a layout and a block in which they lie packed, on a device.
pub(super) fn packed_jobs<const D: usize>(
    layout: &Layout<D>,
    element: &ElementType,
    copies: &[Packed<D>],
    way: Way,
) -> Vec<Job> {
    let offsets = layout.device_offsets(element.bytes());
    let computed = copies.iter().any(|packed| matches!(packed.copy.from, From::Negated(_) | From::Line { .. }));
    let mut sorted = Sorted::default();
    for (position, component) in element.placed_components().enumerate() {
        let memory = Planes { layout, offsets: &offsets, row: None, component };
        let kernel = kind(layout, position, component.0, computed && way == Way::In);
        let boxes = copies.iter().filter_map(|Packed { copy, at }| {
            let ghosts = memory.ghost_copy(copy, |_| None)?;
            let block = packed(&copy.cells, *at.get(position)?, component.0);
            Some(match way {
                Way::In => BoxCopy { to: block, ..ghosts },
                Way::Out => BoxCopy { from: copies::From::Box(block), ..ghosts },
            })
        });
        sorted.list(kernel).extend(boxes);
    }
    sorted.0
}

impl DeviceCopies {
    /// What copies all valid values between arrays of one shape and centring, both of type `element`: their layouts,
    /// and their rows if they lie in one.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub(crate) fn between<const D: usize>(
        device: &DeviceCore,
        to: (&Layout<D>, Option<&Row>),
        from: (&Layout<D>, Option<&Row>),
        element: &ElementType,
    ) -> Result<DeviceCopies, Error> {
        DeviceCopies::new(device, jobs_between(to, from, element))
    }

    pub(super) fn new(device: &DeviceCore, jobs: Vec<Job>) -> Result<DeviceCopies, Error> {
        DeviceCopies::with_blocks(device, jobs, device.backend().facts().grid[0])
    }

    /// What is to run in one stream, which brings its tables too: no one waits for those.
    pub(super) fn in_stream(device: &DeviceCore, stream: usize, jobs: Vec<Job>) -> Result<DeviceCopies, Error> {
        let most_blocks = device.backend().facts().grid[0];
        let mut tables: Vec<(Arc<Memory>, Vec<u8>)> = Vec::new();
        let made = DeviceCopies::made(device, jobs, most_blocks, |bytes| {
            let table = Arc::new(Memory::new(device.backend(), bytes.len())?);
            // SAFETY: the new memory has as many bytes, and no one else knows it; both stay until the copies that read
            // the table are done (`run`), or else until the stream is.
            unsafe { device.backend().upload(stream, &table, 0, bytes.as_ptr(), bytes.len())? };
            tables.push((table.clone(), bytes));
            Ok(table)
        });
        match made {
            Ok(mut copies) => {
                for (launch, (_, source)) in copies.launches.iter_mut().zip(tables) {
                    launch._source = source;
                }
                Ok(copies)
            }
            Err(error) => {
                let _ = device.backend().record(stream).and_then(|event| event.finish());
                Err(error)
            }
        }
    }

    /// In launches of so many blocks at most.
    fn with_blocks(device: &DeviceCore, jobs: Vec<Job>, most_blocks: u64) -> Result<DeviceCopies, Error> {
        DeviceCopies::made(device, jobs, most_blocks, |bytes| device.constants(&bytes))
    }

    fn made(
        device: &DeviceCore,
        jobs: Vec<Job>,
        most_blocks: u64,
        mut table_of: impl FnMut(Vec<u8>) -> Result<Arc<Memory>, Error>,
    ) -> Result<DeviceCopies, Error> {
        let backend = device.backend().clone();
        if backend.facts().native {
            let native = jobs.into_iter().filter(|(_, list)| !list.is_empty());
            let native = native.map(|(scalar, list)| (scalar, list.into())).collect();
            return Ok(DeviceCopies { backend, launches: Vec::new(), native });
        }
        let mut launch = |(scalar, table): (Kind, Table)| {
            let kernel = device.compiler().own(Own::Copies(scalar))?;
            let Table { bytes, pieces, blocks } = table;
            Ok(Launch { kernel, table: table_of(bytes)?, _source: Vec::new(), pieces, blocks })
        };
        let tables = jobs.into_iter().flat_map(|(scalar, list)| {
            copies::tables(&list, scalar.scalar(), most_blocks).into_iter().map(move |table| (scalar, table))
        });
        let launches = tables.map(&mut launch).collect::<Result<_, Error>>()?;
        Ok(DeviceCopies { backend, launches, native: Vec::new() })
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.launches.is_empty() && self.native.is_empty()
    }

    /// Puts the copies into a stream. Returns before they are done.
    ///
    /// # Errors
    /// What the driver reports of the launches.
    ///
    /// # Safety
    /// The memories are those of arrays of the layouts and the element type that the copies were made for, with the
    /// regions at [`Layout::device_offsets`]. Until the copies are done, both live, no other work writes them or reads
    /// what is written, and this value is not dropped.
    pub(crate) unsafe fn run(&self, stream: usize, to: &Memory, from: &Memory) -> Result<(), Error> {
        for (kind, list) in &self.native {
            // SAFETY: as below.
            unsafe { self.backend.launch_native(stream, Native::Boxes { kind: *kind, list, to, from })? };
        }
        for Launch { kernel, table, pieces, blocks, .. } in &self.launches {
            let pieces = pieces.to_ne_bytes();
            let arguments =
                [Argument::Memory(to), Argument::Memory(from), Argument::Memory(table), Argument::Bytes(&pieces)];
            // SAFETY: the table names places inside arrays of these layouts; the rest is the caller's promise.
            unsafe { self.backend.launch(stream, &**kernel, [*blocks, 1, 1], [THREADS, 1, 1], &arguments)? };
        }
        Ok(())
    }
}

fn jobs_between<const D: usize>(
    (to, to_row): (&Layout<D>, Option<&Row>),
    (from, from_row): (&Layout<D>, Option<&Row>),
    element: &ElementType,
) -> Vec<Job> {
    let (to_offsets, from_offsets) = (to.device_offsets(element.bytes()), from.device_offsets(element.bytes()));
    let mut sorted = Sorted::default();
    for component in element.placed_components() {
        let target = Planes { layout: to, offsets: &to_offsets, row: to_row, component };
        let source = Planes { layout: from, offsets: &from_offsets, row: from_row, component };
        let list = sorted.list(Kind::Scalar(copies::kernel_type(component.0, false)));
        for (number, region) in to.regions.iter().enumerate() {
            list.extend(from.owners(&region.valid).map(|owner| {
                let cells = from.regions[owner].valid.intersect(&region.valid);
                let from = copies::From::Box(source.place(owner, cells.lo));
                BoxCopy { extent: extent(&cells), to: target.place(number, cells.lo), from }
            }));
        }
    }
    sorted.0
}

/// Copies by the scalar type of their kernel.
#[derive(Default)]
pub(super) struct Sorted(pub(super) Vec<Job>);

impl Sorted {
    pub(super) fn list(&mut self, kernel: Kind) -> &mut Vec<BoxCopy> {
        let known = self.0.iter().position(|(scalar, _)| *scalar == kernel);
        let at = known.unwrap_or_else(|| {
            self.0.push((kernel, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// A component of an element: its type, and the bytes of those before it.
pub(super) type Component = (ScalarType, usize);

/// One component in an array's memory.
struct Planes<'a, const D: usize> {
    layout: &'a Layout<D>,
    offsets: &'a [usize],
    /// Where regions are instead, if they lie in one.
    row: Option<&'a Row>,
    component: Component,
}

impl<const D: usize> Planes<'_, D> {
    fn place(&self, region: usize, at: [i64; D]) -> Place {
        let of = &self.layout.regions[region];
        let mut place = place(of, self.offsets[region], at, self.component);
        if let Some(row) = self.row {
            let (ty, before) = self.component;
            place.first = (row.place(region, before, ty.size(), of.position(at)) / ty.size()) as u64;
        }
        place
    }

    fn ghost_copy(&self, copy: &GhostCopy<D>, fixed: impl Fn(usize) -> Option<u64>) -> Option<BoxCopy> {
        let to = self.place(copy.region, copy.cells.lo);
        box_copy(copy, self.component.0, to, |from| self.place(from.region, copy.read_by(from).lo), fixed)
    }
}

/// Where the cells from `lo` on of a component are, of a region whose memory starts at byte `start`.
pub(super) fn place<const D: usize>(region: &Region<D>, start: usize, lo: [i64; D], (ty, before): Component) -> Place {
    placed(region, start + region.cells * before, lo, ty.size())
}

/// The same of a component of values of `size` bytes that starts at byte `start`.
pub(super) fn placed<const D: usize>(region: &Region<D>, start: usize, lo: [i64; D], size: usize) -> Place {
    // Planes start at multiples of 128 bytes, so at multiples of their values too.
    let first = start / size + region.position(lo);
    let mut steps = [0; 4];
    (0..D).for_each(|d| steps[4 - D + d] = region.strides[d] as u64);
    Place { first: first as u64, steps }
}

/// Where the cells of a box are that lie packed, row by row, from byte `start` on.
pub(super) fn packed<const D: usize>(cells: &GridBox<D>, start: usize, ty: ScalarType) -> Place {
    Place { first: (start / ty.size()) as u64, steps: cells.widen().packed_strides().map(|step| step as u64) }
}

/// A component of a copy, of type `ty`; none if it has no such values. `at` says where the cells are that it reads,
/// `fixed` the bits of fixed values.
pub(super) fn box_copy<const D: usize>(
    copy: &GhostCopy<D>,
    ty: ScalarType,
    to: Place,
    at: impl Fn(&Source<D>) -> Place,
    fixed: impl Fn(usize) -> Option<u64>,
) -> Option<BoxCopy> {
    let computed = ty != ScalarType::Bool;
    let from = match &copy.from {
        From::Box(source) => copies::From::Box(at(source)),
        From::Negated(source) if computed => copies::From::Negated(at(source)),
        From::Line { near, far, distance } if computed => {
            copies::From::Line { near: at(near), far: at(far), distance: *distance }
        }
        // The builder refuses these.
        From::Negated(_) | From::Line { .. } => return None,
        From::Fixed(value) => copies::From::Constant(fixed(*value)?),
    };
    Some(BoxCopy { extent: extent(&copy.cells), to, from })
}

fn extent<const D: usize>(cells: &GridBox<D>) -> [u64; 4] {
    cells.widen().extent().map(|n| n as u64)
}

#[cfg(test)]
mod tests;
