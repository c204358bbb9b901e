//! From a box to the words of its geometry, and parts of boxes that a launch can have.

use smallvec::SmallVec;
use tida_kernels::element::ElementType;
use tida_kernels::emit::Field;
use tida_kernels::plan::{Along, Colours, Dialect, Plan, SEGMENT, lines};

use super::device::{DeviceArg, DeviceArray, DeviceLaunch};
use super::prepare::Prepared;
use crate::grid::GridBox;
use crate::memory::layout::WideRegion;
use crate::program::colour::CellColour;
use crate::program::order::Order;

/// How the cells of a kernel run along an axis; in chunks or ahead of their use, where so many lines may.
pub(super) fn along(Order { axis, backward }: &Order, prepared: &Prepared, lines: Option<(u64, Dialect)>) -> Along {
    let axis = (axis + prepared.kernel.rank).saturating_sub(4) as u32;
    let mut along = Along::new(axis, *backward);
    if let Some((lines, dialect)) = lines {
        let (kernel, analysis) = (&prepared.kernel, &prepared.analysis);
        [along.rows, along.columns] = lines::chunk(kernel, analysis, &along, lines);
        along.ahead = lines::ahead(kernel, analysis, &along, lines);
        along.ring = lines::ring(kernel, analysis, &along, dialect);
    }
    along
}

impl DeviceLaunch<'_> {
    /// A word of the geometry of a box.
    pub(super) fn word(&self, field: Field, plan: &Plan, region: usize, cells: &GridBox<4>) -> i64 {
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
        // Several steps know the whole box, of which they leave some planes.
        let over = self.within.as_ref().unwrap_or(cells);
        let rows = |d: usize| (d + 1..3).map(|d| whole().hi[d] - whole().lo[d]).product::<i64>();
        match field {
            Field::Extent(d) => over.hi[axis(d)] - over.lo[axis(d)],
            Field::Lo(d) => over.lo[axis(d)],
            Field::Colour(d) => self.colour.map_or(0, |colour| colour.of_box(over, axis(d))),
            Field::Base(arg) => array(arg).map_or(0, |a| base(a, region)),
            Field::First(group) => of_group(group).map_or(0, |r| first(r, over)),
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
            Field::PartLo => cells.lo[axis(0)] - over.lo[axis(0)],
            Field::PartHi => cells.hi[axis(0)] - over.lo[axis(0)],
        }
    }
}

/// The colours of a sweep over cells of one, along the axes of a kernel.
pub(super) fn colours(colour: &CellColour, rank: usize) -> Colours {
    let every = |axis: usize| colour.every.get(4 - rank + axis).map_or(1, |every| *every as u32);
    Colours { every: std::array::from_fn(every), slanted: colour.slanted }
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

/// The words of [`Param::Whole`](tida_kernels::emit::Param::Whole).
pub(super) fn whole_words(array: &DeviceArray<'_>, rank: usize) -> Vec<i64> {
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

/// Cuts a box until the blocks of each part are no more than a launch can have.
pub(super) fn cut_to_fit(
    cells: &GridBox<4>,
    blocks: &dyn Fn(&GridBox<4>) -> [u64; 3],
    (limits, grain): ([u64; 3], [i64; 4]),
    give: &mut dyn FnMut(GridBox<4>),
) {
    let needed = blocks(cells);
    let Some(over) = (0..3).find(|&d| needed[d] > limits[d]) else { return give(*cells) };
    let extent = cells.extent();
    // Threads lie along the axes that may be cut.
    let mut axes = (0..4).rev().filter(|axis| grain[*axis] < i64::MAX).skip(over);
    let Some(axis) =
        axes.next().map(|first| axes.filter(|_| over == 2).find(|axis| extent[*axis] > 1).unwrap_or(first))
    else {
        return give(*cells);
    };
    // Parts of reductions start where segments do.
    let mut middle = cells.lo[axis] + extent[axis] as i64 / 2;
    if axis == 3 {
        middle = middle.div_euclid(SEGMENT) * SEGMENT;
    }
    middle = middle.div_euclid(grain[axis]) * grain[axis];
    if middle <= cells.lo[axis] || middle >= cells.hi[axis] {
        return give(*cells);
    }
    let (mut low, mut high) = (*cells, *cells);
    low.hi[axis] = middle;
    high.lo[axis] = middle;
    cut_to_fit(&low, blocks, (limits, grain), give);
    cut_to_fit(&high, blocks, (limits, grain), give);
}
