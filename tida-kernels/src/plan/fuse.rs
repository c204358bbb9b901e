//! Several steps of a stencil in one launch.
//!
//! A loop that writes `v` from `u`, then `u` from `v`, and so on, reads and writes all cells of both in each step.
//! Blocks that take several steps at once read and write them once. A block streams along axis 0; each of its threads
//! keeps, for every step, the planes of its own cells that the next step reads in registers, and hands what its
//! neighbours read to them through shared memory (Lashgar ch. 6, "channels"). What neighbouring blocks would have to
//! tell each other they compute twice: the tiles of blocks overlap (the thesis's ghost-zone optimisation).

mod choice;

use std::collections::BTreeMap;

use super::reads::{Reads, coordinates, expressions};
use crate::analysis::{Analysis, ArgUse, ArrayAccess, IndexForm};
use crate::element::{ElementType, ScalarType};
use crate::ir::{Access, Arg, ExprId, ExprKind, Kernel, StmtKind, has_while, holds};

pub use choice::{Asked, Chosen, LAUNCH, LONGEST, Parts, Target, choose, single, why_none, worth_a_trial};

/// What lies beyond a face of the box that is swept, between steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Face {
    /// What memory holds there: in each of the two arrays, no step changes it.
    #[default]
    Memory,
    /// What memory holds there: the same in both arrays, and no step changes it.
    Constant,
    /// The cells at the other end of the box (both faces of the axis).
    Wrap,
    /// The same of the first axis, where memory has the planes of the other end after the last one, and before the
    /// first.
    Follow,
    /// The cell as far inside of the face.
    Even,
    /// The cell next to the face.
    Nearest,
}

impl Face {
    /// Whether a cell beyond it is one of those inside.
    pub fn mirrors(self) -> bool {
        matches!(self, Face::Even | Face::Nearest)
    }

    /// Whether memory says what is beyond it.
    pub fn is_held(self) -> bool {
        matches!(self, Face::Memory | Face::Constant)
    }

    /// Whether what is beyond it are cells of the other end.
    pub fn wraps(self) -> bool {
        matches!(self, Face::Wrap | Face::Follow)
    }
}

/// A cell next to a face that mirrors, and what it reads in the place of what lies beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instead {
    /// The upper face, else the lower.
    pub upper: bool,
    /// Cells between the face and the cell.
    pub from: i64,
    /// The offset that it reads.
    pub by: i64,
}

/// What cells next to the faces of an axis read in the place of what is `by` cells away.
pub(crate) fn instead(faces: [Face; 2], by: i64) -> Vec<Instead> {
    let upper = by > 0;
    let face = faces[usize::from(upper)];
    let of = |from: i64| {
        // As if the face was the lower one.
        let beyond = -by.abs() + from;
        let inside = if face == Face::Even { -1 - beyond } else { 0 };
        let by = inside - from;
        Instead { upper, from, by: if upper { -by } else { by } }
    };
    let cells = if face.mirrors() { by.abs() } else { 0 };
    (0..cells).map(of).collect()
}

/// The faces of a box of four axes: the lower one of each axis, and the upper. A cell that is outside along several
/// axes is what the first of them says.
pub type Faces = [[Face; 2]; 4];

/// Cells beyond the own one that a step reads along each of four axes, below and above.
pub type Reach = [[u8; 2]; 4];

/// How steps run together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fused {
    /// The argument that a step writes.
    pub out: u8,
    /// The argument that it reads in the other's place.
    pub inp: u8,
    /// Steps of a launch.
    pub depth: u8,
    /// Cells of a thread, along y (1 in two axes) and x.
    pub cells: [u8; 2],
    /// The cells of a tile along x are those of a warp, whose threads tell each other by shuffles what they read along
    /// it. In two axes each warp of a block has a tile of its own, and waits for no other.
    pub shuffled: bool,
    /// What lies around, along the axes of the kernel as the last of four.
    pub faces: Faces,
    /// What a step reads around its cell.
    pub reach: Reach,
    /// Planes whose text is one: registers then need no moves.
    pub unrolled: bool,
    /// Blocks that a multiprocessor should have room for.
    pub held: u8,
    /// Each step is given captured values of its own.
    pub varied: bool,
    /// Alternating kernels, the steps of a [`cycle`](crate::ir::cycle()): its last captured value says which; 1 for
    /// a kernel that repeats.
    pub kernels: u8,
    /// The faces beyond which a step computes the ghosts that it reads, as bits: those of axis `n` are `2 n` and
    /// `2 n + 1`. The last captured values say which of these a cell reads ([`with_ghosts`](crate::ir::with_ghosts)).
    pub computes: u8,
}

/// What a kernel reads of the array that it is to continue from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The argument that is written, and the one that alternates with it.
    pub pair: (usize, usize),
    /// Axes.
    pub rank: usize,
    /// What a cell is: its components are all of one type.
    pub element: ElementType,
    /// That type.
    pub scalar: ScalarType,
    /// The offsets of the reads, each once; then those that stand for them beyond faces ([`Steps::between`]).
    pub offsets: Vec<[i64; 3]>,
    /// How many offsets a cell reads.
    pub read: usize,
    /// Which components it reads at each of these, as bits; all, of cells that have more than there are bits.
    pub parts: Vec<u64>,
    /// For each expression that reads it, the number of its offset.
    pub reads: BTreeMap<ExprId, usize>,
    /// Operations on a cell.
    pub work: u32,
    /// Bytes of a cell that are read of other arrays.
    pub others: u32,
    /// Axes whose coordinates are part of what a cell computes, as bits.
    pub coordinates: u8,
    /// See [`Fused::computes`].
    pub computes: u8,
}

/// The furthest read.
pub(crate) const FURTHEST: i64 = 4;

/// Iterations of the longest loop of a body.
const TURNS: i64 = 64;

/// The steps of a kernel that may run together: it writes one array in every cell and reads around it another one of
/// the same type, at offsets that are constants. Or it reads but one of that type, at the cell alone: of use between
/// steps of kernels that read around it.
///
/// # Errors
/// Why they may not.
pub fn fusible(kernel: &Kernel, analysis: &Analysis) -> Result<Steps, &'static str> {
    let mut written = (0..kernel.args.len()).filter(|n| kernel.args[*n].access == Access::Write);
    let out = written.next().filter(|_| written.next().is_none()).ok_or("it does not write one array alone")?;
    let like =
        |n: &usize| kernel.args[*n].access == Access::Read && kernel.args[*n].element == kernel.args[out].element;
    let mut candidates = Vec::new();
    let mut why = "it reads no array of the type of the one that it writes";
    for inp in (0..kernel.args.len()).filter(like) {
        match steps(kernel, analysis, (out, inp)) {
            Ok(steps) => candidates.push(steps),
            Err(found) => why = found,
        }
    }
    let wide: Vec<&Steps> = candidates.iter().filter(|steps| steps.reads_around()).collect();
    match (wide.as_slice(), candidates.as_slice()) {
        ([one], _) => Ok((*one).clone()),
        ([], [one]) => Ok(one.clone()),
        (_, []) => Err(why),
        _ => Err("several arrays could be the one that alternates with what it writes"),
    }
}

/// The axes whose coordinates a cell computes with, as bits, of a kernel that may run in cells whose values are of no
/// use: whatever these read, the kernel ends, fails nowhere, reads where it may, and writes nothing but its own cell.
pub fn harmless(kernel: &Kernel, analysis: &Analysis) -> Option<u8> {
    let writes = |usage: &ArgUse| usage.accesses.iter().all(|access| access.at_cell);
    is_harmless(kernel, analysis, &writes).then(|| coordinates(kernel))
}

/// How far around it a cell reads what is written, as offsets along each of four axes, of a kernel that is harmless but
/// for that. It has no loop and no function that a device computes in its own way, so that cells that run for nothing
/// take little time.
pub fn harmless_around(kernel: &Kernel, analysis: &Analysis) -> Option<[(i64, i64); 4]> {
    let mut around = [(0, 0); 4];
    let written = kernel.args.iter().zip(&analysis.args).filter(|(arg, _)| arg.access == Access::Write);
    for access in written.flat_map(|(_, usage)| &usage.accesses) {
        let offsets = access.offsets()?;
        let first = 4usize.checked_sub(offsets.len())?;
        for ((lo, hi), offset) in around[first..].iter_mut().zip(offsets) {
            (*lo, *hi) = ((*lo).min(offset), (*hi).max(offset));
        }
    }
    let fast = analysis.loops.is_empty() && !analysis.uses_inexact;
    (fast && is_harmless(kernel, analysis, &|_| true)).then_some(around)
}

/// Whether a kernel ends, fails nowhere and reads where it may in cells whose values are of no use, if `writes` says so
/// of each argument that is written.
fn is_harmless(kernel: &Kernel, analysis: &Analysis, writes: &dyn Fn(&ArgUse) -> bool) -> bool {
    let turns = (0..analysis.loops.len()).all(|n| analysis.turns(n as u32).is_some_and(|turns| turns <= TURNS));
    let endless = has_while(&kernel.body.block) || kernel.functions.iter().any(|f| crate::ir::has_loop(&f.body.block));
    let sound = analysis.complete && !analysis.may_fault && turns && !endless;
    let knows = |(arg, usage): (&Arg, &ArgUse)| {
        let affine = |form: &IndexForm| matches!(form, IndexForm::Affine(_));
        let known = |access: &ArrayAccess| access.index.iter().all(affine) && access.component.is_some();
        match arg.access {
            Access::Write => writes(usage),
            // A table's index is checked by its length alone.
            Access::Table => true,
            _ => usage.accesses.iter().all(known),
        }
    };
    sound && kernel.args.iter().zip(&analysis.args).all(knows)
}

/// The same for the argument that is written and the one that alternates with it.
///
/// # Errors
/// As `fusible`.
pub fn steps(kernel: &Kernel, analysis: &Analysis, (out, inp): (usize, usize)) -> Result<Steps, &'static str> {
    let (Some(written), Some(read)) = (kernel.args.get(out), kernel.args.get(inp)) else {
        return Err("it has no such arguments");
    };
    let element = written.element;
    let scalar = uniform(&element).ok_or("the components of a cell are of several types")?;
    let rank = kernel.rank;
    let alike = written.access == Access::Write
        && read.access == Access::Read
        && read.element == written.element
        && written.rank == rank
        && read.rank == rank;
    let alone = kernel.args.iter().filter(|arg| arg.access == Access::Write).count() == 1;
    let only_written = analysis.args.get(out).is_some_and(|usage| usage.must_write && !usage.read);
    let computed = |kind: &StmtKind| matches!(kind, StmtKind::Store { component, .. } if !component.dynamic.is_empty());
    if !(2..=3).contains(&rank) {
        return Err("it has not two or three axes");
    }
    if !alike || !alone || !only_written || holds(&kernel.body.block, &computed) {
        return Err("it does not write all of every cell of one array, or reads that array");
    }
    // What threads at the edge of a tile compute is of no use.
    let coordinates = harmless(kernel, analysis)
        .ok_or("it has a loop of unknown length, may fail, or reads at a place or component that is no sum")?;
    let of = Reads::of(analysis);
    let (offsets, reads) = (Vec::new(), BTreeMap::new());
    let (work, others, computes, read, parts, pair) = (0, 0, 0, 0, Vec::new(), (out, inp));
    let mut found =
        Steps { pair, rank, element, scalar, offsets, read, parts, reads, work, others, coordinates, computes };
    for id in expressions(&kernel.body, &kernel.body.block) {
        let (arg, part) = match &kernel.body[id].kind {
            // An entry that a cell computes would have to be looked up in registers.
            ExprKind::Load { arg, component, .. } if *arg as usize == inp && !component.dynamic.is_empty() => {
                return Err("it computes which component of a cell it reads");
            }
            ExprKind::Load { arg, component, .. } => (*arg as usize, component.base),
            ExprKind::Binary(..) | ExprKind::Method(..) | ExprKind::Call(..) | ExprKind::Compare(..) => {
                // Those of `I64` are mostly those of indexes.
                found.work += u32::from(kernel.body[id].ty.scalar().is_some_and(|ty| ty != ScalarType::I64));
                continue;
            }
            _ => continue,
        };
        if arg != inp {
            continue;
        }
        let far = "it reads at a place that is no constant from the cell";
        let (_, access) = of.get(id).ok_or(far)?;
        let mut offset = [0; 3];
        for (axis, by) in access.offsets().ok_or(far)?.into_iter().enumerate() {
            let near = Some(by).filter(|by| by.abs() <= FURTHEST);
            offset[3 - rank + axis] = near.ok_or("it reads further away than four cells")?;
        }
        let known = found.offsets.iter().position(|other| *other == offset);
        let number = known.unwrap_or(found.offsets.len());
        if known.is_none() {
            found.offsets.push(offset);
            found.parts.push(0);
        }
        found.parts[number] |= 1_u64.checked_shl(part).unwrap_or(u64::MAX);
        found.reads.insert(id, number);
    }
    let others = kernel.args.iter().enumerate().filter(|(n, arg)| *n != inp && arg.access == Access::Read);
    found.others = others.map(|(_, arg)| arg.element.bytes() as u32).sum();
    found.read = found.offsets.len();
    if found.read > 0 { Ok(found) } else { Err("it does not read the array that alternates with what it writes") }
}

/// The scalar type of all components, if they have one.
pub(crate) fn uniform(element: &ElementType) -> Option<ScalarType> {
    let types = element.component_types();
    let first = *types.first()?;
    types.iter().all(|ty| *ty == first).then_some(first)
}

impl Steps {
    /// Values of a cell.
    pub fn components(&self) -> usize {
        self.element.components()
    }

    /// Bytes of a cell.
    pub fn bytes(&self) -> usize {
        self.element.bytes()
    }

    /// Whether a step reads other cells than its own.
    pub fn reads_around(&self) -> bool {
        self.offsets.iter().any(|offset| *offset != [0; 3])
    }

    /// What a step reads around its cell.
    pub fn reach(&self) -> Reach {
        let mut reach = Reach::default();
        for offset in &self.offsets {
            for (axis, by) in offset.iter().enumerate() {
                let [below, above] = &mut reach[axis + 1];
                *below = (*below).max((-by).clamp(0, FURTHEST) as u8);
                *above = (*above).max((*by).clamp(0, FURTHEST) as u8);
            }
        }
        reach
    }

    /// Whether steps between such faces can find all that they read with the block's threads.
    pub fn knows(&self, faces: &Faces, extent: &[i64]) -> bool {
        let reach = self.reach();
        let wraps = |face: &Face| face.wraps();
        (0..self.rank).all(|axis| {
            let sides = faces[4 - self.rank + axis];
            // Planes that follow the last one are computed as such: their cells have other coordinates.
            if faces[4 - self.rank + axis].contains(&Face::Follow) && self.coordinates >> axis & 1 == 1 {
                return false;
            }
            let short =
                (0..2).any(|side| sides[side].mirrors() && i64::from(reach[4 - self.rank + axis][side]) > extent[axis]);
            !short && sides.iter().any(wraps) == sides.iter().all(wraps)
        }) && self.between(faces).reach() == reach
    }

    /// The same between such faces: threads find what stands for a read beyond them as they find what is read. They
    /// [know](Steps::knows) it if it lies no further away than what a step reads, since memory may end there.
    pub fn between(&self, faces: &Faces) -> Steps {
        let mut all = self.offsets.clone();
        for axis in 3 - self.rank..3 {
            let more: Vec<[i64; 3]> = all
                .iter()
                .flat_map(|known| {
                    let stands = instead(faces[axis + 1], known[axis]);
                    stands.into_iter().map(move |case| {
                        let mut other = *known;
                        other[axis] = case.by;
                        other
                    })
                })
                .collect();
            all.extend(more);
        }
        let mut found = self.clone();
        for offset in all {
            if !found.offsets.contains(&offset) {
                found.offsets.push(offset);
            }
        }
        found
    }

    /// Values of a cell that a thread keeps between faces: of each component those of the planes up to the lowest one
    /// that is read of it, or is kept for others, or for what is beyond faces. Those that stand for cells beyond faces
    /// are not counted: few blocks have these.
    pub(crate) fn kept(&self, fused: &Fused) -> u64 {
        let stream = self.stream(fused);
        let handed = stream.handed.map(|(_, highest)| highest + 1);
        let kept = |part: usize| {
            let bit = 1_u64.checked_shl(part as u32).unwrap_or(u64::MAX);
            let read = self.offsets.iter().zip(&self.parts).filter(|(_, parts)| **parts & bit != 0);
            let places = read.flat_map(|(offset, _)| (0..fused.each()).map(|cell| self.place(offset, cell, fused)));
            let own = places.filter(|place| fused.at_once(place)).map(|place| place.plane);
            let lowest = own.chain(handed).chain(self.again(fused, stream.lag)).min().unwrap_or(stream.lag);
            (stream.lag - lowest.min(stream.lag) + 1) as u64
        };
        // A value alone is kept as the text has it.
        if self.components() == 1 { stream.kept() as u64 } else { (0..self.components()).map(kept).sum() }
    }

    /// The plane that is kept longest for cells beyond faces where memory says what there is.
    fn again(&self, fused: &Fused, lag: i64) -> Option<i64> {
        // Beyond such faces each step has what the second before it has.
        let faces = fused.faces[4 - self.rank..].as_flattened();
        let memory = fused.depth > 2 && faces.contains(&Face::Memory);
        // Where that is the same in both arrays, it has what the step before has.
        let constant = fused.depth > 1 && faces.contains(&Face::Constant);
        memory.then_some(-lag).or(constant.then_some(0))
    }

    /// The axis of the offsets that a block streams along.
    fn along(&self) -> usize {
        3 - self.rank
    }

    /// How planes follow one another.
    pub(crate) fn stream(&self, fused: &Fused) -> Stream {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for place in self.places(fused) {
            if fused.at_once(&place) { own.push(place.plane) } else { others.push(place.plane) }
        }
        let highest = |of: &[i64]| of.iter().max().copied();
        let lag = 1.max(highest(&own).unwrap_or(1)).max(highest(&others).map_or(1, |by| by + 1));
        let handed = others.iter().min().copied().zip(highest(&others));
        // What other threads read is kept until it is handed to them.
        let late = handed.map(|(_, highest)| highest + 1);
        let lowest = own.into_iter().chain(late).chain(self.again(fused, lag)).min().unwrap_or(lag);
        Stream { lag, lowest, handed }
    }

    /// Where the cells of a thread find what they read.
    fn places<'a>(&'a self, fused: &'a Fused) -> impl Iterator<Item = Place> + 'a {
        let each = move |cell| self.offsets.iter().map(move |offset| self.place(offset, cell, fused));
        (0..fused.each()).flat_map(each)
    }

    /// What a thread gets by shuffles: each cell of another thread along x with the planes of it that are read, the
    /// lowest and the highest.
    pub(crate) fn shuffles(&self, fused: &Fused) -> BTreeMap<(i64, i64), [i64; 2]> {
        let mut found = BTreeMap::new();
        for place in self.places(fused).filter(|place| fused.at_once(place) && !place.is_own()) {
            let planes = found.entry((place.cell, place.thread[1])).or_insert([place.plane; 2]);
            *planes = [planes[0].min(place.plane), planes[1].max(place.plane)];
        }
        found
    }
}

/// How planes follow one another: see [`Steps::stream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    /// Planes that a step is behind the one before it.
    pub lag: i64,
    /// The lowest plane, from that of the next step's cell, that a thread keeps; the highest is `lag`.
    pub lowest: i64,
    /// The planes that other threads read, from the lowest to the highest, if any do.
    pub handed: Option<(i64, i64)>,
}

impl Stream {
    /// Planes that a thread keeps.
    pub fn kept(&self) -> i64 {
        self.lag - self.lowest + 1
    }

    /// Planes in shared memory: those that are read, and the one that is written meanwhile.
    pub fn slots(&self) -> i64 {
        self.handed.map_or(0, |(lowest, highest)| highest - lowest + 2)
    }

    /// How many planes after it was found a plane is written there.
    pub fn late(&self) -> i64 {
        self.handed.map_or(0, |(_, highest)| self.lag - 1 - highest)
    }
}

/// Where the cell at an offset from one of a thread's cells is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Plane from that of the cell.
    pub plane: i64,
    /// Which of the cells of the thread that has it.
    pub cell: i64,
    /// That thread, from this one along y and x.
    pub thread: [i64; 2],
}

impl Place {
    /// Whether it is a cell of the thread itself.
    pub fn is_own(&self) -> bool {
        self.thread == [0; 2]
    }
}

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;

impl Fused {
    /// Cells of a thread.
    pub fn each(&self) -> i64 {
        self.cells.map(|n| i64::from(n.max(1))).iter().product()
    }

    /// Of what a kernel's last captured values say whether it lies beyond a face, one after the other: the axis of the
    /// kernel, the side, and how many cells away from the cell that way.
    pub fn beyond(&self, rank: usize) -> Vec<(usize, usize, i64)> {
        let sides = (0..2 * rank).filter(|side| self.computes >> side & 1 == 1);
        let reach = |side: usize| i64::from(self.reach[4 - rank + side / 2][side % 2]);
        sides.flat_map(|side| (1..=reach(side)).map(move |by| (side / 2, side % 2, by))).collect()
    }

    /// Whether a thread has what is there without waiting for the block: in its own registers, or in those of its warp.
    pub(crate) fn at_once(&self, place: &Place) -> bool {
        place.is_own() || self.shuffled && place.thread[0] == 0
    }

    /// Threads of a block along x that a tile has.
    pub(crate) fn row(&self, block: [u32; 3]) -> u32 {
        if self.shuffled { WARP } else { block[0] }
    }

    /// Tiles of a block.
    pub(crate) fn tiles(&self, block: [u32; 3]) -> u32 {
        block[0] / self.row(block).max(1)
    }

    /// Whether blocks of this shape can have tiles of this form.
    pub fn suits(&self, rank: usize, block: [u32; 3]) -> bool {
        let [y, x] = self.cells;
        let rows = if rank == 2 { block[0].is_multiple_of(WARP) } else { block[0] == WARP };
        let warps = rows && WARP.is_multiple_of(x.max(1).into());
        y > 0 && x > 0 && (rank == 3 || y == 1) && (!self.shuffled || warps)
    }

    /// Whether both arrays have the same beyond all faces where memory says what there is.
    pub(crate) fn alike(&self, rank: usize) -> bool {
        !self.faces[4 - rank..].as_flattened().contains(&Face::Memory)
    }

    /// Cells of a tile along y and x, of blocks of so many threads.
    pub fn tile(&self, rank: usize, block: [u32; 3]) -> [i64; 2] {
        let [cy, cx] = self.cells.map(|n| i64::from(n.max(1)));
        let y = if rank == 2 { 1 } else { i64::from(block[1]) };
        [y * cy, i64::from(self.row(block)) * cx]
    }

    /// Cells of a tile that a launch writes, along y and x.
    pub fn core(&self, rank: usize, block: [u32; 3]) -> [i64; 2] {
        let mut core = self.tile(rank, block);
        for (cells, axis) in core.iter_mut().zip([2, 3]).filter(|(_, axis)| *axis > 4 - rank) {
            *cells -= self.margin(axis, 0) + self.margin(axis, 1);
        }
        core
    }

    /// Cells of a tile beyond its core along an axis of four, below (0) or above (1).
    pub fn margin(&self, axis: usize, side: usize) -> i64 {
        i64::from(self.depth) * i64::from(self.reach[axis][side])
    }

    /// Blocks along x, y and z that cover a box of these extents (axes of the kernel), of chunks of so many planes.
    /// None where tiles have no core.
    pub fn blocks(&self, block: [u32; 3], planes: u32, extent: &[i64]) -> Option<[u64; 3]> {
        let rank = extent.len();
        let [y, x] = self.core(rank, block);
        if x < 1 || y < 1 || planes == 0 {
            return None;
        }
        let count = |cells: i64, of: i64| cells.max(0).unsigned_abs().div_ceil(of.unsigned_abs());
        let across = if rank == 2 { 1 } else { count(extent[1], y) };
        Some([count(extent[rank - 1], x * i64::from(self.tiles(block))), across, count(extent[0], planes.into())])
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self, steps: &Steps, block: [u32; 3]) -> u64 {
        let held = Held::of(steps, self, block);
        held.values().unsigned_abs() * steps.bytes() as u64 * u64::from(self.tiles(block))
    }
}

/// What the threads of a tile have in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The cells of a thread that others read.
    pub cells: Vec<i64>,
    /// Values beyond both ends of what threads hold, for reads past the tile.
    pub gap: i64,
    /// Values from one plane to the next.
    pub plane: i64,
    /// Values from one step to the next.
    pub step: i64,
    /// Steps.
    pub depth: i64,
    /// Planes on their way between memory and threads.
    pub way: Option<Way>,
}

/// Planes on their way between memory and the threads of a row, in shared memory: neighbouring threads reach into
/// memory at neighbouring cells, and compute cells that follow one another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Values from one cell of a thread to the next.
    pub row: i64,
    /// Values of a plane of a row's threads.
    pub slot: i64,
    /// Where the first one is.
    pub start: i64,
    /// Planes that come.
    pub coming: i64,
    /// They come by copies that no thread waits for, and each warp has its own.
    pub ahead: bool,
    /// Planes that leave: none, if threads store what they have computed.
    pub leaving: i64,
    /// Rows of threads.
    pub rows: i64,
}

/// Bytes in which all banks of shared memory are once.
const BANKS: i64 = 128;

/// Planes that copies which no thread waits for are ahead, and the one that is taken: in two axes and in three.
const AHEAD: [i64; 2] = [4, 3];

impl Held {
    pub fn of(steps: &Steps, fused: &Fused, block: [u32; 3]) -> Held {
        let (x, y) = (i64::from(fused.row(block)), i64::from(if steps.rank == 2 { 1 } else { block[1] }));
        let (mut cells, mut gap) = (Vec::new(), 0);
        for place in steps.places(fused).filter(|place| !fused.at_once(place)) {
            gap = gap.max((place.thread[0] * x + place.thread[1]).abs());
            if !cells.contains(&place.cell) {
                cells.push(place.cell);
            }
        }
        cells.sort_unstable();
        let plane = x * y * cells.len() as i64 + gap;
        let slots = steps.stream(fused).slots();
        let mut held = Held { plane, step: plane * slots, gap, cells, depth: fused.depth.into(), way: None };
        let (cx, start) = (i64::from(fused.cells[1]), held.values());
        let row = x + (BANKS / steps.bytes() as i64 / cx).max(1);
        let slot = row * fused.each();
        if fused.shuffled {
            let (coming, leaving) = if steps.rank == 2 { (AHEAD[0], 2) } else { (AHEAD[1], 0) };
            held.way = Some(Way { row, slot, start, coming, ahead: true, leaving, rows: y });
        } else if steps.rank == 2 && cx > 1 && x % cx == 0 {
            held.way = Some(Way { row, slot, start, coming: 2, ahead: false, leaving: 2, rows: 1 });
        }
        held
    }

    /// Values of all steps, and of planes that come and go.
    pub fn values(&self) -> i64 {
        let steps = if self.cells.is_empty() { 0 } else { self.step * self.depth + self.gap };
        steps + self.way.map_or(0, |way| (way.coming + way.leaving) * way.slot * way.rows)
    }
}

impl Steps {
    /// Where a thread finds the cell at an offset from its cell of this number: those along x follow one another.
    pub(crate) fn place(&self, offset: &[i64; 3], cell: i64, fused: &Fused) -> Place {
        let [cy, cx] = fused.cells.map(|n| i64::from(n.max(1)));
        let by_y = if self.rank == 2 { 0 } else { offset[1] };
        let (y, x) = (cell.div_euclid(cx) + by_y, cell.rem_euclid(cx) + offset[2]);
        Place {
            plane: offset[self.along()],
            cell: y.rem_euclid(cy) * cx + x.rem_euclid(cx),
            thread: [y.div_euclid(cy), x.div_euclid(cx)],
        }
    }
}
