//! Ghost fills and copies between arrays on a device (TiDA-acc §IV-B, "Ghost Cell Update").
//!
//! The boxes of a plan become tables, which stay on the device: a fill is then one launch for each phase and kind of
//! component, whatever the number of regions.

use std::sync::{Arc, Mutex, PoisonError};

use tida_kernels::element::ElementType;
use tida_kernels::emit::copies::{self, BoxCopy, Kind, THREADS, Table};

use super::super::layout::{Layout, WideLayout};
use super::super::parts::PackedBox;
use super::super::row::Row;
use super::compile::{BoxIn, Job, Lies, Site, across, between, of_parts, of_spans};
use super::plan::GhostPlan;
use crate::backend::{Argument, Backend, Kernel, Memory, Native};
use crate::device::compiler::Own;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;

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
pub(super) struct Fills([Mutex<Option<Arc<DeviceCopies>>>; 2]);

impl Fills {
    /// What fills the ghosts of arrays of a plan in a device's memory, where regions come one after the other, those of
    /// fixed value only if `fixed`. Made once, then looked up. Each array's memory is both target and source.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub fn get(&self, device: &DeviceCore, plan: &GhostPlan, fixed: bool) -> Result<Arc<DeviceCopies>, Error> {
        let mut known = self.0[usize::from(fixed)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copies) = known.as_ref().filter(|copies| Arc::ptr_eq(&copies.backend, device.backend())) {
            return Ok(copies.clone());
        }
        let copies = Arc::new(DeviceCopies::new(device, plan.fill_jobs(fixed, &plan.sites()))?);
        *known = Some(copies.clone());
        Ok(copies)
    }
}

impl DeviceCopies {
    /// What copies the valid values of a box between arrays of one shape and centring, both of type `element`: their
    /// layouts, and their rows if they lie in one.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub(crate) fn between<const D: usize>(
        device: &DeviceCore,
        to: (&Layout<D>, Option<&Row>),
        from: (&Layout<D>, Option<&Row>),
        element: &ElementType,
        cells: &GridBox<D>,
    ) -> Result<DeviceCopies, Error> {
        DeviceCopies::new(device, between(to, from, element, cells))
    }

    /// What copies parts of an array's regions, of elements of this type, from its memory into one where they lie
    /// packed; or out of that, without `packs`. `site` says how a region lies.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub(crate) fn of_parts(
        device: &DeviceCore,
        array: (&WideLayout, &ElementType),
        parts: &[PackedBox],
        packs: bool,
        site: impl Fn(usize) -> Site,
    ) -> Result<DeviceCopies, Error> {
        DeviceCopies::new(device, of_parts(array, parts, packs, site))
    }

    /// What copies boxes between planes that lie together and regions, of elements of this type; or `back`.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub(crate) fn of_spans(
        device: &DeviceCore,
        element: &ElementType,
        pairs: &[(Lies<'_>, Lies<'_>, GridBox<4>)],
        back: bool,
    ) -> Result<DeviceCopies, Error> {
        DeviceCopies::new(device, of_spans(element, pairs, back))
    }

    /// What copies boxes of elements of this type from regions of one array to those of another: each with where both
    /// lie.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub(crate) fn across(
        device: &DeviceCore,
        element: &ElementType,
        pairs: &[(BoxIn, BoxIn)],
    ) -> Result<DeviceCopies, Error> {
        DeviceCopies::new(device, across(element, pairs))
    }

    pub(super) fn new(device: &DeviceCore, jobs: Vec<Job>) -> Result<DeviceCopies, Error> {
        DeviceCopies::with_blocks(device, jobs, device.backend().facts().grid[0])
    }

    /// What is to run in one stream, which brings its tables too: no one waits for those.
    pub(super) fn in_stream(device: &DeviceCore, stream: usize, jobs: Vec<Job>) -> Result<DeviceCopies, Error> {
        let most_blocks = device.backend().facts().grid[0];
        let mut tables: Vec<(Arc<Memory>, Vec<u8>)> = Vec::new();
        let made = DeviceCopies::made(device, jobs, most_blocks, |bytes| {
            let table = Arc::new(device.table(bytes.len())?);
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
    /// regions at the places that the copies were made for. Until the copies are done, both live, no other work writes
    /// them or reads what is written, and this value is not dropped.
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

#[cfg(test)]
mod tests;
