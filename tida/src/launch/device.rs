//! A kernel on the device: from a plan to source text, from a box to the words of its geometry, and the launch.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ElementType;
use tida_kernels::emit::Param;
use tida_kernels::plan::auto::{Boxes, has_room, march, streams};
use tida_kernels::plan::cache::{Cache, Cached};
use tida_kernels::plan::planes::Shape;
use tida_kernels::plan::registers::USUAL;
use tida_kernels::plan::wide::Beside;
use tida_kernels::plan::{Dialect, Goal, Math, Plan, threads};

use super::blocks::BlockList;
use super::cache::{Asked, Tiles, tiles};
use super::capture::{CAPTURE, Captures, integers};
use super::geometry::{along, colours, cut_to_fit, whole_words};
use super::launched::Launched;
use super::maps::Maps;
use super::native::NativeForm;
use super::prepare::Prepared;
use super::tune::tuned;
use crate::backend::{Argument, Facts, Memory};
use crate::device::compiler::Ready;
use crate::device::core::DeviceCore;
use crate::device::plans::{Hints, Wish, Without};
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::grid::boxes::union;
use crate::memory::layout::WideLayout;
use crate::memory::node::{Queue, Ring};
use crate::memory::storage::Storage;
use crate::program::colour::CellColour;
use crate::program::order::Order;

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
    /// What memory holds of an element.
    pub element: ElementType,
    /// Its regions as they lie on the host.
    pub regions: &'a Arc<WideLayout>,
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
    pub fn as_whole(&self) -> &WideLayout {
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
    /// How its cells run in order, if they do.
    pub order: Option<Order>,
    /// The colour of the cells that run, if not all do.
    pub colour: Option<CellColour>,
    /// What a reduction folds, and where it puts what it finds.
    pub fold: Option<(Line, &'a Memory)>,
    /// The box of several steps, of which a launch leaves the planes of the box that it is given.
    pub within: Option<GridBox<4>>,
    /// What each of several steps has captured, if that differs.
    pub varied: Option<&'a [Captures]>,
    /// What its plan goes without.
    pub without: Without,
    /// What it does on a device that runs native forms.
    pub native: NativeForm<'a>,
    /// The list that all its boxes are of.
    pub list: Option<&'a Arc<BlockList>>,
}

/// Extent of a box along the axes of a kernel.
pub(crate) type Extent = SmallVec<[i64; 4]>;

/// Boxes that launches can have, with their regions.
pub(crate) type Fitting = SmallVec<[(usize, GridBox<4>); 8]>;

/// What must live until launches are done.
pub(crate) type Held = SmallVec<[Arc<Memory>; 8]>;

/// What the device needs of an argument.
#[derive(Debug)]
pub struct OnDevice<'a>(pub(crate) DeviceArg<'a>);

/// Launches of a compiled kernel, with what they are given.
#[derive(Debug)]
pub(crate) struct Commands {
    pub plan: Plan,
    pub ready: Arc<Ready>,
    /// Memory of each argument; none of tables that the source does not ask for.
    pub arrays: SmallVec<[Option<Arc<Memory>>; 8]>,
    wholes: SmallVec<[Option<Arc<Memory>>; 8]>,
    maps: Maps,
    captures: SmallVec<[SmallVec<[u8; CAPTURE]>; 8]>,
    lengths: SmallVec<[[u8; 8]; 8]>,
    parts: SmallVec<[Part; 1]>,
}

/// One launch.
#[derive(Clone, Debug)]
pub(super) struct Part {
    words: Vec<i64>,
    table: Option<Arc<Memory>>,
    grid: [u32; 3],
    log_tiles: u32,
    /// The region whose address arrays are given by, if they are.
    region: Option<usize>,
}

impl Commands {
    /// Puts the launches into a stream.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for the `launch` that these are of; what they use lives until they are done. A
    /// kernel that has one is given a record of `fault`s.
    pub unsafe fn put(
        &self,
        launch: &DeviceLaunch<'_>,
        queue: &Queue<'_>,
        fault: Option<&Memory>,
    ) -> Result<(), Error> {
        let march = self.plan.march.unwrap_or(1).to_ne_bytes();
        for part in &self.parts {
            let log_tiles = part.log_tiles.to_ne_bytes();
            let mut arguments: SmallVec<[Argument<'_>; 16]> = SmallVec::new();
            for param in &self.ready.source.params {
                let argument = match param {
                    Param::Array(n) => {
                        let memory = self.arrays.get(*n as usize).and_then(|memory| memory.as_deref());
                        memory.map(|memory| match (launch.args.get(*n as usize), part.region) {
                            (Some(DeviceArg::Tiled(array)), Some(region)) => Argument::At(memory, array.start(region)),
                            _ => Argument::Memory(memory),
                        })
                    }
                    Param::Whole(n) => self.wholes.get(*n as usize).and_then(|m| m.as_deref()).map(Argument::Memory),
                    Param::Map(n) => {
                        self.maps.iter().find(|(arg, _)| arg == n).map(|(_, map)| Argument::Bytes(map.as_bytes()))
                    }
                    Param::Capture(n) => self.captures.get(*n as usize).map(|bytes| Argument::Bytes(bytes)),
                    Param::Length(n) => self.lengths.get(*n as usize).map(|bytes| Argument::Bytes(bytes)),
                    Param::Geometry => Some(Argument::Bytes(as_bytes(&part.words))),
                    Param::Boxes => part.table.as_deref().map(Argument::Memory),
                    Param::LogTiles => Some(Argument::Bytes(&log_tiles)),
                    Param::March => Some(Argument::Bytes(&march)),
                    Param::Fault => fault.map(Argument::Memory),
                    Param::Out => launch.fold.map(|(_, out)| Argument::Memory(out)),
                };
                arguments.push(argument.ok_or_else(|| launch.missing(*param))?);
            }
            if let Some(notes) = queue.notes {
                let tables = self.parts.iter().filter_map(|part| part.table.as_ref());
                let memories = self.arrays.iter().chain(&self.wholes).flatten().chain(tables);
                notes.add(&self.ready, (part.grid, self.plan.block), &arguments, memories);
            }
            // SAFETY: the arguments are those that the source names; every access was proven or is checked as it
            // happens, for the tiles that these boxes are part of; the rest is the caller's promise.
            unsafe {
                let (kernel, block) = (&*self.ready.kernel, self.plan.block);
                queue.device.backend().launch(queue.stream, kernel, part.grid, block, &arguments)?;
            }
        }
        Ok(())
    }
}

/// Most boxes whose geometry is passed by value.
const FEW: usize = 32;
/// Most bytes of such geometry, or of what several steps have captured: parameters of a kernel have 4 KiB at least.
pub(crate) const BY_VALUE: usize = 3 << 10;

impl DeviceLaunch<'_> {
    /// Puts the launches that run the kernel over the boxes into a stream.
    ///
    /// # Safety
    /// The boxes were checked; the data is on the device, for commands of `queue`; no one else touches it until they
    /// are done. Who calls keeps the arrays until then.
    pub unsafe fn enqueue(&self, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Launched, Error> {
        let mut launched = Launched::default();
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
        launched: &mut Launched,
    ) -> Result<(), Error> {
        let each = boxes;
        let joined = self.joined(each);
        let boxes = self.list.map_or(&*joined, |list| list.blocks());
        let wish = match queue.device.asked.tune && self.prepared.kernel.group.is_none() && !self.is_in_place() {
            // SAFETY: handed on.
            true => unsafe { tuned(self, queue, boxes) },
            false => self.wish(),
        };
        let Some(commands) = self.commands(queue.device, boxes, &wish, launched.held())? else { return Ok(()) };
        launched.counts(self, queue, &commands, || self.counting())?;
        self.materialize_ghosts(queue, boxes, |arg| commands.plan.reads_inside(arg))?;
        if queue.device.backend().facts().native {
            // SAFETY: handed on.
            return unsafe { self.put_native(queue, each, &commands.plan, launched) };
        }
        // SAFETY: handed on; who calls keeps `launched`.
        unsafe { commands.put(self, queue, launched.record()) }
    }

    /// The same for a shorter time.
    pub fn reborrow(&self) -> DeviceLaunch<'_> {
        let Self { prepared, captures, goal, checked, valid_only, block, march, cache, order, fold, .. } = *self;
        let args = self.args.iter().map(DeviceArg::reborrow).collect();
        let Self { colour, within, varied, without, native, list, .. } = *self;
        DeviceLaunch {
            prepared,
            captures,
            args,
            goal,
            checked,
            valid_only,
            block,
            march,
            cache,
            order,
            colour,
            fold,
            within,
            varied,
            without,
            native,
            list,
        }
    }

    /// Extent of the largest box along the axes of the kernel, and cells of all; none without boxes.
    pub fn extents(&self, boxes: &[(usize, GridBox<4>)]) -> Option<(Extent, u64)> {
        let largest = boxes.iter().max_by_key(|(_, cells)| cells.cells())?;
        Some((self.extent(&largest.1), boxes.iter().map(|(_, cells)| cells.cells() as u64).sum()))
    }

    pub(super) fn extent(&self, cells: &GridBox<4>) -> Extent {
        (4 - self.prepared.kernel.rank..4).map(|axis| cells.hi[axis] - cells.lo[axis]).collect()
    }

    /// Blocks that cover a box.
    pub(super) fn blocks(&self, plan: &Plan, cells: &GridBox<4>) -> [u64; 3] {
        match plan.goal {
            Goal::Segments(_) => plan.segment_blocks(cells.lo[3], &self.extent(cells)),
            _ => plan.blocks(&self.extent(cells)),
        }
    }

    /// The compiled kernel for boxes that were [`DeviceLaunch::joined`], and what its launches are given; none without
    /// boxes. What must live until they are done goes into `held`.
    ///
    /// # Errors
    /// Memory that the device does not have, or a kernel that its compiler refuses.
    pub fn commands(
        &self,
        device: &DeviceCore,
        boxes: &[(usize, GridBox<4>)],
        wish: &Wish,
        held: &mut Held,
    ) -> Result<Option<Commands>, Error> {
        if let Some(plan) = self.plan_of_list(device, boxes, wish) {
            return self.commands_of(device, plan, boxes, held).map(Some);
        }
        let Some((plan, fitting)) = self.plan_over(device, boxes, wish) else { return Ok(None) };
        self.commands_of(device, plan, &fitting, held).map(Some)
    }

    /// The plan for these boxes, and boxes that launches can have; none without boxes.
    pub fn plan_over(
        &self,
        device: &DeviceCore,
        boxes: &[(usize, GridBox<4>)],
        wish: &Wish,
    ) -> Option<(Plan, Fitting)> {
        let (largest, cells) = self.extents(boxes)?;
        let facts = device.backend().facts();
        let limits = facts.grid;
        let mut plan = self.plan_for(wish, facts, device.asked.math, (&largest, cells), boxes.len() > 1);
        let mut fitting = Fitting::new();
        let grain = self.grain();
        for (region, cells) in boxes {
            cut_to_fit(cells, &|cells| self.blocks(&plan, cells), (limits, grain), &mut |part| {
                fitting.push((*region, part))
            });
        }
        plan.many = fitting.len() > 1;
        plan.by_value = if plan.many { self.by_value(&plan, fitting.len()) } else { 0 };
        if let ([(_, cells)], true) = (&*fitting, plan.may_read_inside(&self.prepared.kernel)) {
            plan.ghosts = self.ghosts_inside(cells);
        }
        Some((plan, fitting))
    }

    /// The same for a plan and boxes that launches can have.
    ///
    /// # Errors
    /// As [`DeviceLaunch::commands`].
    pub fn commands_of(
        &self,
        device: &DeviceCore,
        mut plan: Plan,
        fitting: &[(usize, GridBox<4>)],
        held: &mut Held,
    ) -> Result<Commands, Error> {
        let maps = self.maps(device, &mut plan)?;
        let ready = self.ready(device, &plan)?;

        let mut arrays: SmallVec<[Option<Arc<Memory>>; 8]> = SmallVec::new();
        let mut wholes: SmallVec<[Option<Arc<Memory>>; 8]> = SmallVec::new();
        let asks = |param: Param| ready.source.params.contains(&param);
        for (number, arg) in (0..).zip(&self.args) {
            let (memory, whole) = match arg {
                DeviceArg::Tiled(array) => (Some(array.memory(device)?), None),
                DeviceArg::Whole(array, rank) => {
                    let words = || device.constants(as_bytes(&whole_words(array, *rank)));
                    (Some(array.storage.device_memory(device)?), asks(Param::Whole(number)).then(words).transpose()?)
                }
                DeviceArg::Table(bytes, _) if asks(Param::Array(number)) => (Some(device.constants(bytes)?), None),
                DeviceArg::Table(..) => (None, None),
            };
            held.extend(memory.clone());
            held.extend(whole.clone());
            arrays.push(memory);
            wholes.push(whole);
        }
        let parts = match self.list.filter(|list| list.blocks().as_ptr() == fitting.as_ptr() && plan.many) {
            Some(list) => self.tabled(list, (&plan, &ready), || self.parts(device, &plan, &ready, fitting))?,
            None => self.parts(device, &plan, &ready, fitting)?,
        };
        held.extend(parts.iter().filter_map(|part: &Part| part.table.clone()));
        let captures = self.captured();
        let lengths = self.args.iter().map(length_bytes).collect();
        Ok(Commands { plan, ready, arrays, wholes, maps, captures, lengths, parts })
    }

    /// One launch: of several boxes, or of one.
    pub(super) fn part(
        &self,
        device: &DeviceCore,
        plan: &Plan,
        ready: &Ready,
        part: &[(usize, GridBox<4>)],
    ) -> Result<Part, Error> {
        let mut words = Vec::with_capacity(part.len() * ready.source.geometry.len());
        let mut grid = [1u64; 3];
        for (region, cells) in part {
            words.extend(ready.source.geometry.iter().map(|field| self.word(*field, plan, *region, cells)));
            let needed = self.blocks(plan, cells);
            (0..3).for_each(|d| grid[d] = grid[d].max(needed[d]));
        }
        if plan.many {
            grid[2] = grid[2].next_power_of_two();
        }
        let log_tiles = grid[2].max(1).ilog2();
        grid[2] *= part.len() as u64;
        let region = plan.points_to_regions().then(|| part.first().map(|(region, _)| *region)).flatten();
        let table =
            if ready.source.params.contains(&Param::Boxes) { Some(device.constants(as_bytes(&words))?) } else { None };
        if table.is_some() {
            words.clear();
        }
        words.resize(words.len().max(usize::from(plan.by_value) * ready.source.geometry.len()), 0);
        Ok(Part { words, table, grid: grid.map(|n| n as u32), log_tiles, region })
    }

    /// Boxes of neighbouring regions as one, where all arrays of a sweep lie in rows: the first region's geometry goes
    /// on.
    pub fn joined<'b>(&self, boxes: &'b [(usize, GridBox<4>)]) -> Cow<'b, [(usize, GridBox<4>)]> {
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

    /// Parts of boxes start at multiples of this.
    fn grain(&self) -> [i64; 4] {
        let group = self.prepared.kernel.group.as_ref().map_or(&[][..], |group| &group.extent);
        let whole = |d: usize| self.order.is_some_and(|order| order.axis == d);
        let of_group = |d: usize| (d + group.len()).checked_sub(4).map_or(1, |axis| group[axis].into());
        std::array::from_fn(|d| if whole(d) { i64::MAX } else { of_group(d) })
    }

    /// Whether cells may read others of what it writes.
    fn is_in_place(&self) -> bool {
        self.order.is_some() || self.colour.is_some()
    }

    /// What was asked for.
    pub fn wish(&self) -> Wish {
        let (block, cells) = (self.block.or(self.without.block), self.without.cells);
        Wish { block, march: self.march, cache: self.cache, cells }
    }

    /// The plan for boxes of about this extent, and of so many cells in all.
    pub fn plan(&self, facts: &Facts, math: Math, boxes: (&[i64], u64), many: bool) -> Plan {
        self.plan_for(&self.wish(), facts, math, boxes, many)
    }

    /// As [`DeviceLaunch::plan`], where this is asked for.
    pub fn plan_for(&self, wish: &Wish, facts: &Facts, math: Math, (extent, cells): (&[i64], u64), many: bool) -> Plan {
        let mut groups: Vec<u8> = Vec::with_capacity(self.args.len());
        let mut layouts: SmallVec<[&Arc<WideLayout>; 8]> = SmallVec::new();
        let (mut narrow, mut bytes, mut beyond) = (!self.without.small, 0, 0);
        let mut joint = self.prepared.joint;
        for arg in &self.args {
            let DeviceArg::Tiled(array) = arg else {
                groups.push(0);
                continue;
            };
            narrow &= array.layout.largest <= i32::MAX as usize;
            // Planes of a row of regions are longer than a region's.
            let plane =
                array.layout.regions.iter().map(|region| region.cells).fold(array.layout.largest as i64, i64::max);
            joint &= plane.saturating_mul(array.element.components() as i64) <= i64::from(i32::MAX);
            bytes += array.element.bytes() as u64;
            let steps = array.layout.regions.iter().map(|region| region.strides[4 - self.prepared.kernel.rank]);
            beyond = steps.fold(beyond, |most, step| most.max(array.layout.largest as i64 + step));
            let same = layouts.iter().position(|other| other.same(array.layout)).filter(|_| !self.without.dim);
            groups.push(same.unwrap_or(layouts.len()) as u8);
            if same.is_none() {
                layouts.push(array.layout);
            }
        }
        let chunks = facts.gpu && !self.checked && !self.prepared.is_coded && wish.block.is_none();
        let along = self.order.map(|order| {
            let axis = (order.axis + self.prepared.kernel.rank).saturating_sub(4);
            let lines = cells / extent.get(axis).map_or(1, |n| (*n).max(1) as u64);
            along(&order, self.prepared, chunks.then_some((lines, facts.dialect)))
        });
        let tiles = self.tiles(wish, facts, (extent, cells));
        let march = self.march(wish, facts, &Boxes { extent, cells, bytes }).filter(|_| tiles.is_none());
        narrow &= march.is_none() || beyond <= i64::from(i32::MAX);
        let (mut march, side) = march.map_or((None, 1), |(march, side)| (Some(march), side));
        let planes = self.planes(wish, facts, (extent, cells), side);
        if let Some((_, cells)) = planes {
            march = Some(cells);
        }
        let mut threads = threads(extent, march.unwrap_or(1), side);
        let colours = self.colour.map(|colour| colours(&colour, self.prepared.kernel.rank));
        colours.iter().for_each(|colours| colours.of_one(&mut threads));
        let beside = Beside { cells: side, ..self.prepared.beside };
        let mut block = match (self.goal, &tiles) {
            (Goal::Segments(_), _) => [256, 1, 1],
            (_, Some(tiles)) => tiles.block,
            _ if planes.is_some() => planes.map_or([1; 3], |(shape, _)| shape.block),
            _ => wish.block.unwrap_or_else(|| match &along {
                Some(along) if facts.gpu => Plan::mapping_of_lines(along),
                _ => self.prepared.usual_block(facts, &threads, &beside),
            }),
        };
        while block.iter().product::<u32>() > facts.block_threads && !matches!(self.goal, Goal::Segments(_)) {
            if let Some(most) = block.iter_mut().max() {
                *most /= 2;
            }
        }
        let mut side_by_side = [1, 1];
        let (mut cache, width) = tiles.map_or((Vec::new(), 1), |tiles| {
            side_by_side = tiles.cells;
            (tiles.cache, tiles.width)
        });
        for cached in cache.iter_mut().filter(|cached| cached.how == Cache::Tma) {
            cached.how = self.by_map(facts, cached.arg.into());
        }
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
            joint: joint && narrow,
            stream: self
                .without
                .stream
                .unwrap_or_else(|| beside.alike && streams(&facts.machine, &Boxes { extent, cells, bytes })),
            checked: self.checked,
            groups,
            march,
            side,
            rows: planes.map_or(0, |(shape, _)| shape.rows),
            fused: None,
            cache,
            width,
            cells: side_by_side,
            registers: if self.without.registers { 0 } else { USUAL },
            latency: facts.machine.latency,
            ghosts: Vec::new(),
            along,
            colours,
        }
    }

    /// What the sweep has tiles for.
    fn tiles(&self, wish: &Wish, facts: &Facts, (extent, all): (&[i64], u64)) -> Option<Tiles> {
        if self.goal != Goal::Sweep || self.prepared.kernel.group.is_some() || self.is_in_place() {
            return None;
        }
        let usual = self.prepared.usual_block(facts, extent, &Beside::ONE);
        let captures = integers(&self.prepared.analysis, self.captures);
        let Without { strip, ahead, .. } = self.without;
        let (hints, block, checked, cells) = (&wish.cache, wish.block, self.checked, wish.cells);
        let captures = &captures;
        let asked = Asked { hints, block, usual, extent, all, cells, strip, ahead, checked, captures };
        let cut = |arg: usize| self.is_cut(arg);
        // What does not fit here, by boxes larger than those that were checked, goes without.
        tiles(self.prepared, facts, asked, &cut).ok().flatten()
    }

    /// Whether an argument is a whole array of several regions.
    fn is_cut(&self, arg: usize) -> bool {
        matches!(self.args.get(arg), Some(DeviceArg::Whole(array, _)) if array.as_whole().regions.len() != 1)
    }

    /// How many cells along the first axis a thread takes, and how many side by side, if it marches.
    fn march(&self, wish: &Wish, facts: &Facts, boxes: &Boxes<'_>) -> Option<(u32, u32)> {
        let groups = self.prepared.kernel.group.is_some();
        let other = self.goal != Goal::Sweep || self.is_in_place();
        if other || self.checked || groups || self.prepared.kernel.rank < 2 {
            return None;
        }
        let planes = boxes.extent.first().map_or(1, |n| (*n).clamp(1, i64::from(i32::MAX / 2)) as u32);
        let beside = if self.without.registers { Beside::ONE } else { self.prepared.beside };
        let fits = |cells| !facts.gpu || has_room(&facts.machine, boxes, cells, &beside);
        match wish.march.map(|cells| cells.min(planes)) {
            Some(cells) => (cells > 1).then(|| (cells, if fits(cells) { beside.cells } else { 1 })),
            // A CPU behind OpenCL has its caches.
            None if facts.gpu => march(&facts.machine, &self.prepared.saving, boxes, &beside),
            None => None,
        }
    }

    /// The blocks that share planes around their cells, and how far they march, if that is how a march with so many
    /// cells side by side should run.
    fn planes(&self, wish: &Wish, facts: &Facts, (extent, cells): (&[i64], u64), side: u32) -> Option<(Shape, u32)> {
        let asked = wish.march.is_some() || wish.block.is_some() || self.without.planes;
        let shape = self.prepared.beside.stencil?.planes?;
        let can = facts.gpu && facts.dialect == Dialect::Cuda && side > 1 && side == self.prepared.beside.cells;
        let march = shape.march(facts.machine.multiprocessors, extent, cells, side)?;
        let fits = shape.block.iter().product::<u32>() <= facts.block_threads;
        (can && fits && !asked).then_some((shape, march))
    }

    /// For how many boxes geometry is passed by value: 0 for a table in memory.
    pub(super) fn by_value(&self, plan: &Plan, boxes: usize) -> u8 {
        let (rank, args) = (self.prepared.kernel.rank, self.args.len());
        // More words than any kernel of these arguments has: extents, origins and colours, each region's start and
        // bounds, each layout's position, strides and plane, and what reductions add.
        let words = 3 * rank + args * (1 + 2 * rank) + args * (2 * rank + 1) + 6 + rank;
        let room = boxes.next_power_of_two();
        let fits = boxes <= FEW && room * words * size_of::<i64>() <= BY_VALUE;
        if plan.dialect == Dialect::Cuda && fits { room as u8 } else { 0 }
    }

    fn missing(&self, param: Param) -> Error {
        Error::new(
            ErrorKind::Kernel,
            format!("launch the kernel at {}", self.prepared.place()),
            format!("no value for its parameter {param:?}"),
            "report this as a bug of tida: the emitted source asks for what the launch does not have",
        )
    }
}

fn as_bytes(words: &[i64]) -> &[u8] {
    // SAFETY: any bytes of initialised words are bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn length_bytes(arg: &DeviceArg<'_>) -> [u8; 8] {
    match arg {
        DeviceArg::Table(_, length) => (*length as u64).to_ne_bytes(),
        _ => [0; 8],
    }
}
