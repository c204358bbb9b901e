//! Where native kernels find arrays on a device that runs them.

use std::ptr;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ElementType;

use super::around::{Around, Source};
use super::decoded::Decoded;
use super::device::{DeviceArg, DeviceArray, OnDevice};
use crate::backend::Memory;
use crate::error::Error;
use crate::grid::{GridBox, narrow};
use crate::memory::layout::{Raw, WideLayout, WideRegion};
use crate::memory::node::Queue;
use crate::memory::rows::Shared;
use crate::memory::storage::Storage;

/// Where a kernel that runs natively finds an array.
#[derive(Clone, Debug)]
pub(crate) enum Site {
    /// An array, or planes of it, in memory that the host can address.
    Device(OnHost),
    /// Values that a launch keeps to itself.
    Own(Own),
    /// The decoded values of one that holds codes.
    Decoded(Decoded),
}

/// An array, or planes of it, in memory of a device that the host can address.
#[derive(Clone, Debug)]
pub(crate) struct OnHost {
    memory: Arc<Memory>,
    layout: Arc<WideLayout>,
    /// Says where regions start; none if all start at the same byte, as in a ring.
    storage: Option<Arc<Storage>>,
    /// That byte.
    start: usize,
    /// What memory holds of an element.
    element: ElementType,
}

/// One entry for each argument of a kernel; none for tables.
pub(crate) type Sites = SmallVec<[Option<Site>; 8]>;

/// Where the commands of `queue` find the arguments of a kernel.
///
/// # Errors
/// Memory that the device does not have.
pub(crate) fn sites<'a>(queue: &Queue<'_>, args: impl IntoIterator<Item = OnDevice<'a>>) -> Result<Sites, Error> {
    let args = args.into_iter().map(|arg| match arg.0 {
        DeviceArg::Tiled(array) => OnHost::of(&array.placed(queue), queue).map(|site| Some(Site::Device(site))),
        DeviceArg::Whole(array, _) => OnHost::of(&array, queue).map(|site| Some(Site::Device(site))),
        DeviceArg::Table(..) => Ok(None),
    });
    args.collect()
}

impl Site {
    /// Memory of a region, as views see it.
    pub fn raw<const D: usize>(&self, region: usize, valid_only: bool) -> Raw<D> {
        let (base, r) = match self {
            Site::Device(site) => site.region(region),
            Site::Own(own) => own.region(),
            Site::Decoded(decoded) => return decoded.raw(region),
        };
        Raw {
            base,
            cells: r.cells as usize,
            origin: std::array::from_fn(|d| r.origin[4 - D + d]),
            strides: std::array::from_fn(|d| r.strides[4 - D + d] as usize),
            bounds: narrow(if valid_only { &r.valid } else { &r.grown }),
        }
    }

    /// Whether what saturates there is no one's: it is computed a second time.
    pub fn is_spare(&self) -> bool {
        matches!(self, Site::Own(own) if own.spare)
    }
}

impl OnHost {
    /// Where the commands of `queue` find an array.
    ///
    /// # Errors
    /// Memory that the device does not have.
    fn of(array: &DeviceArray<'_>, queue: &Queue<'_>) -> Result<OnHost, Error> {
        let storage = array.ring.is_none().then(|| array.storage.clone());
        let start = array.ring.map_or(0, |ring| ring.start);
        let memory = array.memory(queue.device)?;
        Ok(OnHost { memory, layout: array.layout.clone(), storage, start, element: array.element })
    }

    /// The same of an array as one region, where its regions lie in a row.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn whole(array: &DeviceArray<'_>, queue: &Queue<'_>) -> Result<OnHost, Error> {
        let here = OnHost::of(array, queue)?;
        Ok(match array.storage.row().filter(|_| array.ring.is_none()) {
            Some(row) => OnHost { layout: row.whole.clone(), storage: None, start: row.offset(0), ..here },
            None => here,
        })
    }

    /// First byte of a region.
    fn base(&self, region: usize) -> *mut u8 {
        let start = self.storage.as_ref().map_or(self.start, |storage| storage.offset(region));
        ptr::with_exposed_provenance_mut(self.memory.raw() as usize + start)
    }

    /// A region: its first byte, and how it lies. Of an array as one region that one.
    pub fn region(&self, region: usize) -> (*mut u8, &WideRegion) {
        let region = region.min(self.layout.regions.len() - 1);
        (self.base(region), &self.layout.regions[region])
    }

    /// What a region holds, for copies.
    pub fn source(&self, region: usize) -> Source<'_> {
        let (base, of) = self.region(region);
        let first = base.addr() - self.memory.raw() as usize;
        Source { base, region: of, bytes: self.memory.bytes() - first }
    }

    /// What memory holds of an element.
    pub fn element(&self) -> &ElementType {
        &self.element
    }

    /// A box of the array as a launch may read it that keeps to `around`: what lies there is what the array is to have
    /// there, whatever its ghosts hold now.
    ///
    /// # Safety
    /// The memory is there, and no one writes it meanwhile.
    pub unsafe fn read_around(&self, region: usize, cells: GridBox<4>, around: &Around) -> Own {
        let own = Own::new(cells, &self.element);
        let from = self.source(region);
        // SAFETY: the caller's promise; the new memory is no one else's.
        unsafe { around.fill(&own.source(), &cells, (Some(&from), &from), &self.element) };
        own
    }
}

/// A box of an array, as memory of a device holds it, that a launch keeps to itself.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    block: Arc<Block>,
    spare: bool,
}

#[derive(Debug)]
struct Block {
    base: Shared<u8>,
    bytes: usize,
    region: WideRegion,
    _memory: Vec<u64>,
}

/// What is in such memory before anyone has written it: no number that a program would expect.
const NOTHING: u64 = u64::MAX;

/// Rows have multiples of so many values.
const LINE: usize = 16;

impl Own {
    /// Room for a box of an array.
    pub fn new(cells: GridBox<4>, element: &ElementType) -> Own {
        let extent = if cells.is_empty() { [0; 4] } else { cells.extent() };
        let row = extent[3].next_multiple_of(LINE);
        let strides = [extent[1] * extent[2] * row, extent[2] * row, row, 1];
        let values = extent[0] * strides[0];
        let mut memory = vec![NOTHING; values * element.bytes() / 8 + LINE];
        let base = memory.as_mut_ptr().cast::<u8>();
        let skip = base.align_offset(128);
        let region = WideRegion {
            valid: cells,
            grown: cells,
            origin: cells.lo,
            strides: strides.map(|step| step as i64),
            cells: values as i64,
        };
        let base = Shared::new(base.wrapping_add(skip));
        let bytes = memory.len() * 8 - skip;
        Own { block: Arc::new(Block { base, bytes, region, _memory: memory }), spare: false }
    }

    /// The same memory, for cells that others compute too.
    pub fn spare(&self) -> Own {
        Own { spare: true, ..self.clone() }
    }

    /// Its first byte, and how it lies.
    pub fn region(&self) -> (*mut u8, &WideRegion) {
        (self.block.base.get(), &self.block.region)
    }

    /// What it holds, for copies.
    pub fn source(&self) -> Source<'_> {
        let (base, region) = self.region();
        Source { base, region, bytes: self.block.bytes }
    }
}
