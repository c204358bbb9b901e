//! A kernel on the device: from a plan to source text, from a box to the words of its geometry, and the launch.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::{FaultRecord, Field, Param, emit};
use tida_kernels::plan::auto::{Boxes, march};
use tida_kernels::plan::cache::{Cache, Cached};
use tida_kernels::plan::registers::USUAL;
use tida_kernels::plan::{Dialect, Goal, Math, Plan, SEGMENT};
use tida_kernels::scalar::Fault;

use super::args::OnDevice;
use super::cache::{Asked, Hints, Tiles, tiles};
use super::capture::{CapturedValue, Captures};
use super::check::integer;
use super::launch::fault_error;
use super::prepare::Prepared;
use super::registers::{Counted, Without, settle};
use crate::acc::boxes::union;
use crate::acc::device::{DeviceCore, Ready};
use crate::acc::node::{Done, Queue, Ring};
use crate::array::GridBox;
use crate::array::layout::{WideLayout, WideRegion};
use crate::array::storage::Storage;
use crate::backend::{Argument, Facts, Memory};
use crate::error::{Error, ErrorKind};

/// An argument as the device needs it.
#[derive(Debug)]
pub(crate) enum DeviceArg<'a> {
    /// An array with the tile's cuts.
    Tiled(DeviceArray<'a>),
    /// A whole array, of so many axes.
    Whole(DeviceArray<'a>, usize),
    /// The values of a table, one after the other, and their number.
    Table(Vec<u8>, usize),
}

/// An array as the device needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceArray<'a> {
    pub storage: &'a Arc<Storage>,
    pub layout: &'a Arc<WideLayout>,
    pub element: ElementType,
    /// The planes or the region that the device holds, if not all; `layout` is then that of the ring.
    pub ring: Option<&'a Ring>,
}

impl<'a> DeviceArray<'a> {
    /// The array as the commands of `queue` find it.
    pub fn placed(self, queue: &'a Queue<'_>) -> DeviceArray<'a> {
        match queue.ring(self.storage) {
            Some(ring) => DeviceArray { layout: &ring.layout, ring: Some(ring), ..self },
            None => self,
        }
    }

    /// Its memory on the device.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn memory(&self, device: &DeviceCore) -> Result<Arc<Memory>, Error> {
        match self.ring {
            Some(ring) => Ok(ring.memory.clone()),
            None => self.storage.device_memory(device),
        }
    }

    /// Its regions for who reads it as a whole: one, where they lie in a row.
    fn as_whole(&self) -> &WideLayout {
        let row = self.storage.row().filter(|_| self.ring.is_none());
        row.map_or(self.layout, |row| &row.whole)
    }

    /// Where a region starts in that memory, in bytes.
    pub fn start(&self, region: usize) -> usize {
        self.ring.map_or_else(|| self.storage.offset(region), |ring| ring.start)
    }
}

impl<'a> DeviceArg<'a> {
    /// The argument as the commands of `queue` find it.
    pub fn placed(self, queue: &'a Queue<'_>) -> DeviceArg<'a> {
        match self {
            DeviceArg::Tiled(array) => DeviceArg::Tiled(array.placed(queue)),
            other => other,
        }
    }
    /// The same for a shorter time.
    pub fn reborrow(&self) -> DeviceArg<'_> {
        match self {
            DeviceArg::Tiled(array) => DeviceArg::Tiled(*array),
            DeviceArg::Whole(array, rank) => DeviceArg::Whole(*array, *rank),
            DeviceArg::Table(bytes, length) => DeviceArg::Table(bytes.clone(), *length),
        }
    }
}

/// The arguments of one kernel.
pub(crate) type DeviceArgs<'a> = SmallVec<[DeviceArg<'a>; 8]>;

/// The whole box that a reduction folds; its last axis is the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub cells: GridBox<4>,
}

/// A kernel to launch over boxes.
pub(crate) struct DeviceLaunch<'a> {
    pub prepared: &'a Arc<Prepared>,
    pub captures: &'a Captures,
    pub args: DeviceArgs<'a>,
    pub goal: Goal,
    pub checked: bool,
    /// Bit `n` keeps argument `n` to its valid cells.
    pub valid_only: u16,
    /// Threads of a block, if asked for.
    pub block: Option<[u32; 3]>,
    /// Cells along the first axis that a thread takes, if asked for.
    pub march: Option<u32>,
    /// What is to be cached, if asked for.
    pub cache: Hints,
    /// What a reduction folds, and where it puts what it finds.
    pub fold: Option<(Line, &'a Memory)>,
    /// What its plan goes without.
    pub without: Without,
}

/// A sweep to launch: what is not its arguments.
pub(crate) struct SweepLaunch<'a> {
    pub prepared: &'a Arc<Prepared>,
    pub captures: &'a Captures,
    pub checked: bool,
    pub valid_only: u16,
    pub block: Option<[u32; 3]>,
    pub march: Option<u32>,
    pub cache: Hints,
}

impl SweepLaunch<'_> {
    /// Puts the launches into a stream. `held` is kept until they are done.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    pub unsafe fn enqueue(
        self,
        queue: &Queue<'_>,
        args: SmallVec<[OnDevice<'_>; 8]>,
        boxes: &[(usize, GridBox<4>)],
        held: Arc<dyn Any + Send + Sync>,
    ) -> Result<Done, Error> {
        let launch = DeviceLaunch {
            prepared: self.prepared,
            captures: self.captures,
            args: args.into_iter().map(|arg| arg.0.placed(queue)).collect(),
            goal: Goal::Sweep,
            checked: self.checked,
            valid_only: self.valid_only,
            block: self.block,
            march: self.march.or(queue.device.march()),
            cache: self.cache,
            fold: None,
            without: queue.device.without(),
        };
        // SAFETY: handed on.
        let launched = unsafe { launch.enqueue(queue, boxes)? };
        let (device, prepared) = (queue.device.clone(), self.prepared.clone());
        Ok(Box::new(move || {
            let finished = launched.finish(&device, &prepared);
            drop(held);
            finished
        }))
    }
}

/// What a launch leaves: the record of its faults, if it can have any, and what must live until it is done.
#[derive(Debug)]
pub(crate) struct Launched {
    fault: Option<Memory>,
    _held: SmallVec<[Arc<Memory>; 8]>,
}

impl Launched {
    /// Once the launch is done: the error of a fault that a cell raised.
    pub fn finish(self, device: &DeviceCore, prepared: &Prepared) -> Result<(), Error> {
        let Some(memory) = self.fault else { return Ok(()) };
        let mut record = FaultRecord::default();
        // SAFETY: the record has as many bytes, any of which make one; the launch that wrote it is done.
        let read = unsafe {
            let to = (&raw mut record).cast();
            device.download_now(&memory, 0, to, size_of::<FaultRecord>())
        };
        device.give_fault_record(memory);
        read?;
        let [a, b, rest @ ..] = record.data;
        let fault = match record.kind {
            _ if record.claimed == 0 => return Ok(()),
            1 => Fault::Division,
            2 => Fault::Entry { index: a as u64, len: b as u64 },
            _ => Fault::OutOfRange { arg: a as u32, index: [b, rest[0], rest[1], rest[2]] },
        };
        Err(fault_error(fault, prepared))
    }
}

/// Most boxes whose geometry is passed by value.
const FEW: usize = 32;
/// Most bytes of such geometry: parameters of a kernel have 4 KiB at least.
const BY_VALUE: usize = 3 << 10;

/// Most bytes of a captured value passed at launch.
const CAPTURE: usize = 64;

impl DeviceLaunch<'_> {
    /// Puts the launches that run the kernel over the boxes into a stream.
    ///
    /// # Safety
    /// The boxes were checked; the data is on the device, for commands of `queue`; no one else touches it until they are
    /// done. Who calls keeps the arrays until then.
    pub unsafe fn enqueue(&self, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Launched, Error> {
        let mut launched = Launched { fault: None, _held: SmallVec::new() };
        // SAFETY: handed on.
        queue.enqueue(|| unsafe { self.put(queue, boxes, &mut launched) })?;
        Ok(launched)
    }

    /// As [`DeviceLaunch::enqueue`]; what must live until the launches are done goes into `launched`.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn put(
        &self,
        queue: &Queue<'_>,
        boxes: &[(usize, GridBox<4>)],
        Launched { fault, _held: held }: &mut Launched,
    ) -> Result<(), Error> {
        let device = queue.device;
        let boxes = &*self.joined(boxes);
        let rank = self.prepared.kernel.rank;
        let limits = device.backend().facts().grid;
        let extent = |cells: &GridBox<4>| -> SmallVec<[i64; 4]> {
            (4 - rank..4).map(|axis| cells.hi[axis] - cells.lo[axis]).collect()
        };
        let largest = boxes.iter().max_by_key(|(_, cells)| cells.cells()).map(|(_, cells)| extent(cells));
        let Some(largest) = largest else { return Ok(()) };
        let cells = boxes.iter().map(|(_, cells)| cells.cells() as u64).sum();
        let mut plan = self.plan(device.backend().facts(), device.math(), (&largest, cells), boxes.len() > 1);
        let blocks = |plan: &Plan, cells: &GridBox<4>| match plan.goal {
            Goal::Segments(_) => plan.segment_blocks(cells.lo[3], &extent(cells)),
            _ => plan.blocks(&extent(cells)),
        };
        let mut fitting: SmallVec<[(usize, GridBox<4>); 8]> = SmallVec::new();
        for (region, cells) in boxes {
            cut_to_fit(cells, &|cells| blocks(&plan, cells), limits, &mut |part| fitting.push((*region, part)));
        }
        plan.many = fitting.len() > 1;
        plan.by_value = if plan.many { self.by_value(&plan, fitting.len()) } else { 0 };
        let ready = self.ready(device, &plan)?;

        let mut arrays: SmallVec<[Option<Arc<Memory>>; 8]> = SmallVec::new();
        let mut wholes: SmallVec<[Option<Arc<Memory>>; 8]> = SmallVec::new();
        for arg in &self.args {
            let (memory, whole) = match arg {
                DeviceArg::Tiled(array) => (array.memory(device)?, None),
                DeviceArg::Whole(array, rank) => {
                    let words = whole_words(array, *rank);
                    (array.storage.device_memory(device)?, Some(device.constants(as_bytes(&words))?))
                }
                DeviceArg::Table(bytes, _) => (device.constants(bytes)?, None),
            };
            held.push(memory.clone());
            held.extend(whole.clone());
            arrays.push(Some(memory));
            wholes.push(whole);
        }
        let has = |wanted: Param| ready.source.params.contains(&wanted);
        if has(Param::Fault) {
            *fault = Some(device.fault_record(queue.stream)?);
        }
        let captures: SmallVec<[SmallVec<[u8; CAPTURE]>; 8]> = self.captures.list.iter().map(capture_bytes).collect();
        let lengths: SmallVec<[[u8; 8]; 8]> = self.args.iter().map(length_bytes).collect();

        let launch = |part: &[(usize, GridBox<4>)]| -> Result<Option<Arc<Memory>>, Error> {
            let mut words = Vec::with_capacity(part.len() * ready.source.geometry.len());
            let mut grid = [1u64; 3];
            for (region, cells) in part {
                words.extend(ready.source.geometry.iter().map(|field| self.word(*field, &plan, *region, cells)));
                let needed = blocks(&plan, cells);
                (0..3).for_each(|d| grid[d] = grid[d].max(needed[d]));
            }
            if plan.many {
                grid[2] = grid[2].next_power_of_two();
            }
            let march = plan.march.unwrap_or(1).to_ne_bytes();
            let log_tiles = grid[2].max(1).ilog2().to_ne_bytes();
            grid[2] *= part.len() as u64;
            let regions = plan.points_to_regions().then(|| part.first().map(|(region, _)| *region)).flatten();
            let table = if plan.many && plan.by_value == 0 { Some(device.constants(as_bytes(&words))?) } else { None };
            words.resize(words.len().max(usize::from(plan.by_value) * ready.source.geometry.len()), 0);
            let mut arguments: SmallVec<[Argument<'_>; 16]> = SmallVec::new();
            for param in &ready.source.params {
                let argument = match param {
                    Param::Array(n) => arrays.get(*n as usize).and_then(|m| m.as_deref()).map(|memory| {
                        match (self.args.get(*n as usize), regions) {
                            (Some(DeviceArg::Tiled(array)), Some(region)) => Argument::At(memory, array.start(region)),
                            _ => Argument::Memory(memory),
                        }
                    }),
                    Param::Whole(n) => wholes.get(*n as usize).and_then(|m| m.as_deref()).map(Argument::Memory),
                    Param::Capture(n) => captures.get(*n as usize).map(|bytes| Argument::Bytes(bytes)),
                    Param::Length(n) => lengths.get(*n as usize).map(|bytes| Argument::Bytes(bytes)),
                    Param::Geometry => Some(Argument::Bytes(as_bytes(&words))),
                    Param::Boxes => table.as_deref().map(Argument::Memory),
                    Param::LogTiles => Some(Argument::Bytes(&log_tiles)),
                    Param::March => Some(Argument::Bytes(&march)),
                    Param::Fault => fault.as_ref().map(Argument::Memory),
                    Param::Out => self.fold.map(|(_, out)| Argument::Memory(out)),
                };
                arguments.push(argument.ok_or_else(|| self.missing(*param))?);
            }
            // SAFETY: the arguments are those that the source names; every access was proven or is checked as it happens,
            // for the tiles that these boxes are part of; the rest is the caller's promise.
            unsafe {
                let grid = grid.map(|n| n as u32);
                device.backend().launch(queue.stream, &*ready.kernel, grid, plan.block, &arguments)?
            };
            drop(arguments);
            Ok(table)
        };
        if plan.many {
            let tiles = fitting.iter().map(|(_, cells)| blocks(&plan, cells)[2]).max().unwrap_or(1).max(1);
            let tiles = tiles.next_power_of_two();
            let at_once = ((limits[2] / tiles) as usize).max(1);
            for part in fitting.chunks(at_once) {
                held.extend(launch(part)?);
            }
        } else {
            for one in &fitting {
                held.extend(launch(std::slice::from_ref(one))?);
            }
        }
        Ok(())
    }

    /// Boxes of neighbouring regions as one, where all arrays of a sweep lie in rows: the first region's geometry goes on.
    fn joined<'b>(&self, boxes: &'b [(usize, GridBox<4>)]) -> Cow<'b, [(usize, GridBox<4>)]> {
        let mut rows: SmallVec<[&WideLayout; 8]> = SmallVec::new();
        for arg in &self.args {
            match arg {
                DeviceArg::Tiled(array) if array.ring.is_none() && array.storage.row().is_some() => {
                    rows.push(array.layout);
                }
                DeviceArg::Tiled(_) => return Cow::Borrowed(boxes),
                _ => {}
            }
        }
        if boxes.len() < 2 || self.goal != Goal::Sweep || self.checked || rows.is_empty() {
            return Cow::Borrowed(boxes);
        }
        let axis = 4 - self.prepared.kernel.rank;
        // Positions are those of one region, so that they fit as many bits.
        let near = |first: usize, last: usize| {
            rows.iter().all(|row| {
                let (first, last) = (&row.regions[first], &row.regions[last]);
                let planes = last.grown.hi[axis] - first.origin[axis] + 1;
                planes.checked_mul(first.strides[axis]).is_some_and(|most| most <= i64::from(i32::MAX))
            })
        };
        let mut joined: Vec<(usize, GridBox<4>)> = Vec::with_capacity(boxes.len());
        let mut last = 0;
        for (region, cells) in boxes {
            if let Some((first, known)) = joined.last_mut()
                && *region == last + 1
                && known.hi[axis] == cells.lo[axis]
                && let Some(both) = union(known, cells)
                && near(*first, *region)
            {
                *known = both;
            } else {
                joined.push((*region, *cells));
            }
            last = *region;
        }
        Cow::Owned(joined)
    }

    /// The plan for boxes of about this extent, and of so many cells in all.
    pub fn plan(&self, facts: &Facts, math: Math, (extent, cells): (&[i64], u64), many: bool) -> Plan {
        let mut groups: Vec<u8> = Vec::with_capacity(self.args.len());
        let mut layouts: SmallVec<[&Arc<WideLayout>; 8]> = SmallVec::new();
        let (mut narrow, mut bytes, mut beyond) = (!self.without.small, 0, 0);
        for arg in &self.args {
            let DeviceArg::Tiled(array) = arg else {
                groups.push(0);
                continue;
            };
            narrow &= array.layout.largest <= i32::MAX as usize;
            bytes += array.element.bytes() as u64;
            let steps = array.layout.regions.iter().map(|region| region.strides[4 - self.prepared.kernel.rank]);
            beyond = steps.fold(beyond, |most, step| most.max(array.layout.largest as i64 + step));
            let same = layouts.iter().position(|other| other.same(array.layout)).filter(|_| !self.without.dim);
            groups.push(same.unwrap_or(layouts.len()) as u8);
            if same.is_none() {
                layouts.push(array.layout);
            }
        }
        let tiles = self.tiles(facts, extent);
        let march = self.march(facts, &Boxes { extent, cells, bytes }).filter(|_| tiles.is_none());
        narrow &= march.is_none() || beyond <= i64::from(i32::MAX);
        let mut threads: SmallVec<[i64; 4]> = extent.into();
        if let (Some(cells), Some(along)) = (march, threads.first_mut()) {
            *along = (*along + i64::from(cells) - 1) / i64::from(cells);
        }
        let mut block = match (self.goal, &tiles) {
            (Goal::Segments(_), _) => [256, 1, 1],
            (_, Some(tiles)) => tiles.block,
            _ => self.block.unwrap_or_else(|| self.prepared.usual_block(facts, &threads)),
        };
        while block.iter().product::<u32>() > facts.block_threads && !matches!(self.goal, Goal::Segments(_)) {
            if let Some(most) = block.iter_mut().max() {
                *most /= 2;
            }
        }
        let (mut cache, width) = tiles.map_or((Vec::new(), 1), |tiles| (tiles.cache, tiles.width));
        // Reads of a whole array with one region need not look for it.
        for (arg, of) in self.args.iter().enumerate().filter(|_| self.goal == Goal::Sweep && !self.checked) {
            let known = cache.iter().any(|cached| cached.arg as usize == arg);
            if matches!(of, DeviceArg::Whole(..)) && !known && !self.is_cut(arg) {
                cache.push(Cached { arg: arg as u8, how: Cache::None, cut: false });
            }
        }
        Plan {
            dialect: facts.dialect,
            math,
            goal: self.goal,
            block,
            many,
            by_value: 0,
            narrow,
            checked: self.checked,
            groups,
            march,
            cache,
            width,
            registers: if self.without.registers { 0 } else { USUAL },
            latency: facts.machine.latency,
        }
    }

    /// What the sweep has tiles for.
    fn tiles(&self, facts: &Facts, extent: &[i64]) -> Option<Tiles> {
        if self.goal != Goal::Sweep {
            return None;
        }
        let usual = self.prepared.usual_block(facts, extent);
        let captured = |capture: &CapturedValue| match capture {
            CapturedValue::Scalar(value) => integer(*value),
            _ => None,
        };
        let captures: SmallVec<[Option<i64>; 8]> = self.captures.list.iter().map(captured).collect();
        let asked = Asked { hints: &self.cache, block: self.block, usual, checked: self.checked, captures: &captures };
        let cut = |arg: usize| self.is_cut(arg);
        // What does not fit here, by boxes larger than those that were checked, goes without.
        tiles(self.prepared, facts, asked, &cut).ok().flatten()
    }

    /// Whether an argument is a whole array of several regions.
    fn is_cut(&self, arg: usize) -> bool {
        matches!(self.args.get(arg), Some(DeviceArg::Whole(array, _)) if array.as_whole().regions.len() != 1)
    }

    /// How many cells along the first axis a thread takes, if it marches.
    fn march(&self, facts: &Facts, boxes: &Boxes<'_>) -> Option<u32> {
        if self.goal != Goal::Sweep || self.checked || self.prepared.kernel.rank < 2 {
            return None;
        }
        let planes = boxes.extent.first().map_or(1, |n| (*n).clamp(1, i64::from(i32::MAX / 2)) as u32);
        match self.march {
            Some(cells) => Some(cells.min(planes)).filter(|cells| *cells > 1),
            // A CPU behind OpenCL has its caches.
            None if facts.gpu => march(&facts.machine, &self.prepared.saving, boxes),
            None => None,
        }
    }

    /// For how many boxes geometry is passed by value: 0 for a table in memory.
    fn by_value(&self, plan: &Plan, boxes: usize) -> u8 {
        let (rank, args) = (self.prepared.kernel.rank, self.args.len());
        // More words than any kernel of these arguments has: extents and origins, each region's start and bounds, each
        // layout's position, strides and plane, and what reductions add.
        let words = 2 * rank + args * (1 + 2 * rank) + args * (2 * rank + 1) + 6 + rank;
        let room = boxes.next_power_of_two();
        let fits = boxes <= FEW && room * words * size_of::<i64>() <= BY_VALUE;
        if plan.dialect == Dialect::Cuda && fits { room as u8 } else { 0 }
    }

    /// The compiled kernel of a plan.
    pub fn ready(&self, device: &DeviceCore, plan: &Plan) -> Result<Arc<Ready>, Error> {
        // The text does not say how long a march is.
        let plan = &Plan { march: plan.march.map(|_| 1), ..plan.clone() };
        device.ready(Arc::as_ptr(self.prepared) as usize, plan, || {
            let settled = settle(self.prepared, plan, Counted::on(device.backend().facts(), Counted::ToRun), |plan| {
                let source = emit(&self.prepared.kernel, &self.prepared.analysis, plan);
                match device.kernel(&source.text, &source.entry, plan.block) {
                    Ok(kernel) => Ok((kernel.facts(), Ready { source, kernel })),
                    Err(error) if error.kind() == ErrorKind::Kernel => {
                        Err(not_compiled(self.prepared, &source, &error))
                    }
                    Err(error) => Err(error),
                }
            });
            settled.map(|settled| settled.made)
        })
    }

    /// A word of the geometry of a box.
    fn word(&self, field: Field, plan: &Plan, region: usize, cells: &GridBox<4>) -> i64 {
        let rank = self.prepared.kernel.rank;
        let axis = |d: u32| 4 - rank + d as usize;
        let array = |arg: u32| match self.args.get(arg as usize) {
            Some(DeviceArg::Tiled(array)) => Some(array),
            _ => None,
        };
        let of_arg = |arg: u32| array(arg).and_then(|array| array.layout.regions.get(region));
        let of_group = |group: u32| {
            let tiled = self.args.iter().zip(&plan.groups);
            let mut tiled = tiled.filter(|(arg, g)| matches!(arg, DeviceArg::Tiled(_)) && **g as u32 == group);
            tiled.next().and_then(|(arg, _)| match arg {
                DeviceArg::Tiled(array) => array.layout.regions.get(region),
                _ => None,
            })
        };
        let bounds = |arg: u32| of_arg(arg).map(|r| if self.valid_only & (1 << arg) != 0 { r.valid } else { r.grown });
        let whole = || self.fold.map_or(*cells, |(line, _)| line.cells);
        let rows = |d: usize| (d + 1..3).map(|d| whole().hi[d] - whole().lo[d]).product::<i64>();
        match field {
            Field::Extent(d) => cells.hi[axis(d)] - cells.lo[axis(d)],
            Field::Lo(d) => cells.lo[axis(d)],
            Field::Base(arg) => array(arg).map_or(0, |a| base(a, region)),
            Field::First(group) => of_group(group).map_or(0, |r| first(r, cells)),
            Field::Stride(group, d) => of_group(group).map_or(0, |r| r.strides[axis(d)]),
            Field::Origin(group, d) => of_group(group).map_or(0, |r| r.origin[axis(d)]),
            Field::Plane(group) => of_group(group).map_or(0, |r| r.cells),
            Field::BoundLo(arg, d) => bounds(arg).map_or(0, |b| b.lo[axis(d)]),
            Field::BoundHi(arg, d) => bounds(arg).map_or(0, |b| b.hi[axis(d)]),
            Field::FirstRow => (4 - rank..3).map(|d| (cells.lo[d] - whole().lo[d]) * rows(d)).sum(),
            Field::RowStep(d) => rows(axis(d)),
            Field::Segments => segments(&whole()),
            Field::FirstSegment => whole().lo[3].div_euclid(SEGMENT),
            Field::LineLo => whole().lo[3],
            Field::LineCells => whole().hi[3] - whole().lo[3],
        }
    }

    fn missing(&self, param: Param) -> Error {
        Error::new(
            ErrorKind::Kernel,
            format!("launch the kernel at {}", self.prepared.place()),
            format!("no value for its parameter {param:?}"),
            "report this: the emitted source asks for what the launch does not have",
        )
    }
}

/// Segments in a row of the box.
pub(crate) fn segments(whole: &GridBox<4>) -> i64 {
    (whole.hi[3] - 1).div_euclid(SEGMENT) - whole.lo[3].div_euclid(SEGMENT) + 1
}

/// Where a region starts, in units of the pointer that the kernel is given.
fn base(array: &DeviceArray<'_>, region: usize) -> i64 {
    (array.start(region) / unit(&array.element)) as i64
}

/// Where the first cell of a box is in an array's memory, in bytes.
pub(crate) fn base_bytes(array: &DeviceArray<'_>, region: usize, cells: &GridBox<4>) -> usize {
    let size = array.element.component_types().first().map_or(1, |ty| ty.size());
    let position = array.layout.regions.get(region).map_or(0, |r| first(r, cells));
    array.start(region) + position as usize * size
}

/// Bytes of what the pointer to an element points to: its scalar type if it has only one, else bytes.
fn unit(element: &ElementType) -> usize {
    let types = element.component_types();
    match types.first() {
        Some(first) if types.iter().all(|ty| ty == first) => first.size(),
        _ => 1,
    }
}

/// Position of the first cell of a box in a plane.
fn first(region: &WideRegion, cells: &GridBox<4>) -> i64 {
    (0..4).map(|d| (cells.lo[d] - region.origin[d]) * region.strides[d]).sum()
}

/// The words of [`Param::Whole`].
fn whole_words(array: &DeviceArray<'_>, rank: usize) -> Vec<i64> {
    let regions = &array.as_whole().regions;
    let axes = 4 - rank..4;
    let ends = |axis: usize| {
        let mut ends: Vec<i64> = regions.iter().map(|r| r.valid.hi[axis]).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    };
    let ends: SmallVec<[Vec<i64>; 4]> = axes.clone().map(ends).collect();
    let mut words: Vec<i64> = ends.iter().map(|ends| ends.len() as i64).collect();
    words.extend(ends.iter().map(|ends| ends.last().copied().unwrap_or(0)));
    words.extend(ends.iter().flatten());
    for (number, region) in regions.iter().enumerate() {
        words.push(base(array, number));
        words.extend(axes.clone().map(|axis| region.origin[axis]));
        words.extend(axes.clone().take(rank - 1).map(|axis| region.strides[axis]));
        words.push(region.cells);
    }
    words
}

fn as_bytes(words: &[i64]) -> &[u8] {
    // SAFETY: any bytes of initialised words are bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// A scalar's bits as it is stored.
pub(crate) fn push_bits(ty: ScalarType, bits: u64, out: &mut impl Extend<u8>) {
    match ty.size() {
        1 => out.extend([bits as u8]),
        4 => out.extend((bits as u32).to_ne_bytes()),
        _ => out.extend(bits.to_ne_bytes()),
    }
}

pub(crate) fn capture_bytes(capture: &CapturedValue) -> SmallVec<[u8; CAPTURE]> {
    let mut bytes = SmallVec::new();
    match capture {
        CapturedValue::Scalar(v) => push_bits(v.ty(), v.bits(), &mut bytes),
        CapturedValue::Array(ty, values) => values.iter().for_each(|v| push_bits(*ty, v.bits(), &mut bytes)),
        CapturedValue::Deferred(ty, _, value) => push_bits(*ty, value.bits(), &mut bytes),
    }
    bytes
}

fn length_bytes(arg: &DeviceArg<'_>) -> [u8; 8] {
    match arg {
        DeviceArg::Table(_, length) => (*length as u64).to_ne_bytes(),
        _ => [0; 8],
    }
}

/// Cuts a box until the blocks of each part are no more than a launch can have.
fn cut_to_fit(
    cells: &GridBox<4>,
    blocks: &dyn Fn(&GridBox<4>) -> [u64; 3],
    limits: [u64; 3],
    give: &mut dyn FnMut(GridBox<4>),
) {
    let needed = blocks(cells);
    let Some(over) = (0..3).find(|&d| needed[d] > limits[d]) else { return give(*cells) };
    let extent = cells.extent();
    let axis = match over {
        0 => 3,
        1 => 2,
        _ if extent[0] > 1 => 0,
        _ => 1,
    };
    // Parts of reductions start where segments do.
    let mut middle = cells.lo[axis] + extent[axis] as i64 / 2;
    if axis == 3 {
        middle = middle.div_euclid(SEGMENT) * SEGMENT;
    }
    if middle <= cells.lo[axis] || middle >= cells.hi[axis] {
        return give(*cells);
    }
    let (mut low, mut high) = (*cells, *cells);
    low.hi[axis] = middle;
    high.lo[axis] = middle;
    cut_to_fit(&low, blocks, limits, give);
    cut_to_fit(&high, blocks, limits, give);
}

/// The error of emitted source that a device's compiler refuses, with the user's line.
fn not_compiled(prepared: &Prepared, source: &tida_kernels::emit::Source, error: &Error) -> Error {
    let log = error.found();
    // `file(12): error: ..` and `file:12:7: error: ..`
    let line_of = |line: &str| -> Option<usize> {
        let before = &line[..line.find("error")?];
        before.split(['(', ')', ':']).filter_map(|part| part.trim().parse().ok()).find(|n: &usize| *n > 0)
    };
    let first = log.lines().find(|line| line.contains("error")).unwrap_or(log);
    let place = line_of(first).and_then(|n| source.lines.get(n - 1).cloned().flatten());
    let place = place.map_or_else(|| prepared.place(), |(file, span)| format!("{file}:{}:{}", span.line, span.column));
    Error::new(
        ErrorKind::Kernel,
        format!("compile the kernel at {place} for the device"),
        format!("that its compiler refused the emitted source: {}", first.trim()),
        "report this with the output of `tida::explain`; until then run these tiles with `.device(Device::Cpu)`",
    )
}
