//! A random program as data: arrays, operations over them, and how it runs.

use crate::configuration::Configuration;
use crate::kernels::Kernel;

/// Elements that arrays have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    F64,
    F32,
    I32,
    U8,
    I16,
    /// `[f64; 2]`.
    Pair,
    /// A struct with fields of several types.
    Wave,
}

/// What fills the ghosts outside a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Periodic,
    Fixed,
    Even,
    Odd,
    Near,
    Line,
    Open,
    /// A kernel sets them after each fill, from cells inwards. No program has open faces besides.
    Inward,
}

/// How components are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Raw,
    Half,
    F32,
    Bfloat,
    Range8,
    Range16,
    Range32,
    Scaled,
}

/// One array. All have the shape and the cuts of their program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    pub ghost: Vec<[usize; 2]>,
    pub faces: Vec<[Face; 2]>,
    pub storage: Storage,
    /// Along these axes values sit on faces.
    pub nodes: Vec<bool>,
    /// Packed on the link.
    pub packed: bool,
}

/// Sixteenths of each axis.
pub type Part = Vec<[u8; 2]>;

/// What a loop over tiles says of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiles {
    pub size: Option<Vec<usize>>,
    pub within: Option<Part>,
    pub march: Option<usize>,
    pub side: Side,
}

/// Where a loop over tiles runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    #[default]
    Unsaid,
    Cpu,
    Both,
}

/// One operation. Arrays are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// A kernel over tiles: what it writes first, then what it reads.
    Sweep {
        kernel: Kernel,
        arrays: Vec<usize>,
        /// What its kernel captures in the first turn of a loop, and after how many turns that is one more: never, if
        /// that is 0.
        value: [u8; 2],
        tiles: Tiles,
        discard: bool,
    },
    /// Two kernels over each tile: the second one reads at its cell what the first one wrote.
    Two {
        to: usize,
        via: usize,
        from: usize,
        tiles: Tiles,
    },
    /// A recurrence along an axis, in place: each cell reads the one before it.
    Line {
        to: usize,
        from: usize,
        axis: usize,
        backward: bool,
        /// The kernel names the axis by a constant of the program, if it is the first or the last one.
        named: bool,
        tiles: Tiles,
    },
    /// A relaxation of the cells of one colour, in place: each cell reads those beside it along all axes. Colours are
    /// those of the sum of the coordinates, or of each axis.
    Colour {
        to: usize,
        from: usize,
        colour: usize,
        colours: usize,
        axes: bool,
        tiles: Tiles,
    },
    /// Two steps of a stencil with one fill of ghosts: the first over tiles that are grown by one cell.
    Grown {
        to: usize,
        from: usize,
    },
    Ghosts {
        of: usize,
    },
    /// Ghosts of two arrays at once.
    BothGhosts {
        a: usize,
        b: usize,
    },
    Swap {
        a: usize,
        b: usize,
    },
    Copy {
        to: usize,
        from: usize,
    },
    /// Replaces an array by a copy of another one.
    Clone {
        to: usize,
        from: usize,
    },
    /// Replaces an array by a new one of its kind, which holds zeros.
    New {
        of: usize,
    },
    /// Through an array of other cuts and back.
    Recut {
        of: usize,
        regions: usize,
    },
    Read {
        of: usize,
        part: Part,
    },
    /// All that memory holds, ghosts too.
    Look {
        of: usize,
    },
    Write {
        to: usize,
        part: Part,
    },
    /// The host changes a region.
    Touch {
        to: usize,
        region: usize,
    },
    /// The largest value.
    Max {
        of: usize,
    },
    /// The sum of all: as on the CPU.
    Sum {
        of: usize,
    },
    /// A sweep whose value is a reduction that nobody waits for.
    Later {
        to: usize,
        from: usize,
    },
    Sync,
    /// Starts what waits.
    Flush,
    Repeat {
        times: usize,
        ops: Vec<Op>,
    },
}

/// A program: the same bits wherever it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub scalar: Scalar,
    pub shape: Vec<usize>,
    pub regions: Vec<usize>,
    pub arrays: Vec<Array>,
    pub configuration: Configuration,
    pub seed: u64,
    pub ops: Vec<Op>,
}

/// An operation that is done as it stands, with the values that a loop around it gave it.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    Ghosts(usize),
    Op { op: &'a Op, value: u8 },
}

impl Program {
    pub fn axes(&self) -> usize {
        self.shape.len()
    }

    /// Values along each axis of an array with values on these faces.
    pub fn values(&self, nodes: &[bool]) -> Vec<i64> {
        self.shape.iter().zip(nodes).map(|(cells, nodes)| *cells as i64 + i64::from(*nodes)).collect()
    }

    /// What is done in which order: loops written out, and ghosts filled before a kernel reads ghosts that are older
    /// than the cells. What cannot be done (a reach beyond the ghosts, an array that is read and written) is left out,
    /// so that a program from which anything was taken is a program still.
    pub fn steps(&self) -> Vec<Step<'_>> {
        let mut steps =
            Steps { program: self, fresh: vec![false; self.arrays.len()], places: Vec::new(), list: vec![] };
        steps.places = (0..self.arrays.len()).collect();
        steps.ops(&self.ops, 0);
        steps.list
    }
}

struct Steps<'a> {
    program: &'a Program,
    /// Of each place: whether ghosts are as new as the cells.
    fresh: Vec<bool>,
    /// Which of the program's arrays is at each place: arrays are swapped with their ghosts.
    places: Vec<usize>,
    list: Vec<Step<'a>>,
}

impl<'a> Steps<'a> {
    fn ops(&mut self, ops: &'a [Op], round: usize) {
        for op in ops {
            match op {
                Op::Repeat { times, ops } => (0..*times).for_each(|n| self.ops(ops, round + n)),
                _ => self.op(op, round),
            }
        }
    }

    fn array(&self, place: usize) -> &'a Array {
        &self.program.arrays[self.places[place]]
    }

    fn is_open(&self, place: usize) -> bool {
        self.array(place).faces.iter().flatten().any(|face| *face == Face::Open)
    }

    fn holds(&self, place: usize, reach: &[[usize; 2]]) -> bool {
        self.array(place).ghost.iter().zip(reach).all(|(ghost, reach)| reach[0] <= ghost[0] && reach[1] <= ghost[1])
    }

    /// What a kernel that writes one array needs of the ghosts of another one: what it reaches, and one more where
    /// one array has values on faces and the other has none there.
    fn reach(&self, kernel: Kernel, to: usize, from: usize) -> Vec<[usize; 2]> {
        let mut reach = kernel.reach(self.program.axes());
        for ((reach, to), from) in reach.iter_mut().zip(&self.array(to).nodes).zip(&self.array(from).nodes) {
            reach[1] += usize::from(*to && !from);
            reach[0] += usize::from(!to && *from);
        }
        reach
    }

    fn alike(&self, a: usize, b: usize) -> bool {
        self.array(a).nodes == self.array(b).nodes
    }

    fn filled(&mut self, place: usize) {
        if !std::mem::replace(&mut self.fresh[place], true) {
            self.list.push(Step::Ghosts(place));
        }
    }

    fn op(&mut self, op: &'a Op, round: usize) {
        let axes = self.program.axes();
        let mut value = 0;
        match op {
            Op::Sweep { kernel, arrays, value: [first, turns], tiles, .. } => {
                let (writes, reads) = arrays.split_at(kernel.writes());
                let reach: Vec<_> = reads.iter().map(|place| self.reach(*kernel, arrays[0], *place)).collect();
                let apart = (0..writes.len()).all(|n| !arrays[n + 1..].contains(&arrays[n]));
                // What is read as a whole has the same cells.
                let alike = match kernel {
                    Kernel::Far => arrays,
                    _ => writes,
                };
                let alike = alike.iter().all(|place| self.alike(arrays[0], *place));
                let held = reads.iter().zip(&reach).all(|(place, reach)| self.holds(*place, reach));
                if !apart || !alike || !held || !kernel.has(self.program, tiles) {
                    return;
                }
                for (place, reach) in reads.iter().zip(&reach) {
                    if reach.iter().flatten().any(|n| *n > 0) {
                        self.filled(*place);
                    }
                }
                value = (usize::from(*first) + round.checked_div(usize::from(*turns)).unwrap_or(0)) as u8 % 64;
                arrays[..kernel.writes()].iter().for_each(|place| self.fresh[*place] = false);
            }
            Op::Grown { to, from } => {
                let (reach, twice) = (vec![[1; 2]; axes], vec![[2; 2]; axes]);
                let fit = to != from && self.alike(*to, *from) && self.holds(*to, &reach) && self.holds(*from, &twice);
                let inward = |place: usize| self.array(place).faces.iter().flatten().any(|face| *face == Face::Inward);
                if !fit || [*to, *from].into_iter().any(|place| self.is_open(place) || inward(place)) {
                    return;
                }
                self.filled(*from);
                self.fresh[*to] = false;
                self.fresh[*from] = false;
            }
            Op::Line { to, from, axis, backward, .. } => {
                let (array, axis) = (self.array(*to), axis % axes);
                let held = array.ghost[axis][usize::from(*backward)] > 0 && array.storage == Storage::Raw;
                if to == from || !self.alike(*to, *from) || !held || !self.program.scalar.is_number() {
                    return;
                }
                self.filled(*to);
                self.fresh[*to] = false;
            }
            Op::Colour { to, from, .. } => {
                let held = self.holds(*to, &vec![[1; 2]; axes]) && self.array(*to).storage == Storage::Raw;
                if to == from || !self.alike(*to, *from) || !held || !self.program.scalar.is_number() {
                    return;
                }
                self.filled(*to);
                self.fresh[*to] = false;
            }
            Op::Two { to, via, from, .. } => {
                let apart = to != via && via != from && from != to;
                let reach = self.reach(Kernel::Star, *via, *from);
                if !apart || !self.alike(*to, *via) || !self.holds(*from, &reach) {
                    return;
                }
                self.filled(*from);
                self.fresh[*to] = false;
                self.fresh[*via] = false;
            }
            Op::Ghosts { of } => self.fresh[*of] = true,
            Op::BothGhosts { a, b } => {
                if a == b {
                    return;
                }
                self.fresh[*a] = true;
                self.fresh[*b] = true;
            }
            Op::Swap { a, b } => {
                self.fresh.swap(*a, *b);
                self.places.swap(*a, *b);
            }
            Op::Copy { to, from } => {
                if to == from || !self.alike(*to, *from) {
                    return;
                }
                self.fresh[*to] = false;
            }
            Op::Later { .. } | Op::Max { .. } | Op::Sum { .. } if !self.program.scalar.is_number() => return,
            Op::Later { to, .. } => self.fresh[*to] = false,
            Op::Clone { to, from } => {
                if to == from {
                    return;
                }
                self.fresh[*to] = self.fresh[*from];
                self.places[*to] = self.places[*from];
            }
            Op::New { of } if self.is_open(*of) => return,
            Op::New { of } | Op::Recut { of, .. } => self.fresh[*of] = false,
            Op::Write { to, .. } | Op::Touch { to, .. } => self.fresh[*to] = false,
            Op::Look { of } => self.filled(*of),
            Op::Sum { .. } | Op::Max { .. } | Op::Read { .. } | Op::Sync | Op::Flush | Op::Repeat { .. } => {}
        }
        self.list.push(Step::Op { op, value });
    }
}

/// Which cells have a colour of so many: by the sum of their coordinates, or along each of these axes. Any number
/// is a colour.
pub fn has_colour(at: [i64; 4], (colour, colours, axes): (usize, usize, Option<usize>)) -> bool {
    let n = colours as i64;
    match axes {
        None => at.iter().sum::<i64>().rem_euclid(n) == colour as i64 % n,
        Some(axes) => (0..axes).all(|d| at[d].rem_euclid(n) == along(colour, colours, d) as i64),
    }
}

/// The colour along an axis, where each axis has so many.
pub fn along(colour: usize, colours: usize, axis: usize) -> usize {
    colour / colours.pow(axis as u32) % colours
}

impl Scalar {
    /// Whether it is one number.
    pub fn is_number(self) -> bool {
        !matches!(self, Scalar::Pair | Scalar::Wave)
    }
}

/// Where an axis is cut: the start of each region, and the end.
pub fn cuts(cells: usize, regions: usize, is_last: bool) -> Vec<usize> {
    let block = if is_last { 64 } else { 1 };
    let blocks = cells.div_ceil(block);
    (0..=regions).map(|r| (r * blocks / regions * block).min(cells)).collect()
}

impl Program {
    /// Whether there are kernels for its elements and axes: each pair takes time to compile.
    fn is_compiled(&self) -> bool {
        let axes = self.axes();
        match self.scalar {
            Scalar::F64 => true,
            Scalar::F32 => axes < 4,
            Scalar::I32 => axes == 1 || axes == 3,
            Scalar::U8 => axes < 3,
            Scalar::Pair => axes == 2 || axes == 3,
            Scalar::I16 | Scalar::Wave => axes == 2,
        }
    }

    /// Leaves out what arrays in files do not have: cuts along other axes, one axis, a first one that is periodic,
    /// packing, views of regions, ghosts that kernels set between several of them, loops on other sides, and places.
    pub fn lie_in_files(&mut self) {
        if self.axes() == 1 {
            self.configuration.files = false;
            return;
        }
        (self.configuration.parts, self.configuration.overlap) = (1, 0);
        self.regions[1..].fill(1);
        let several = self.regions[0] > 1;
        for array in &mut self.arrays {
            array.packed = false;
            array.faces[0].iter_mut().filter(|face| **face == Face::Periodic).for_each(|face| *face = Face::Fixed);
            let near = |face: &&mut Face| **face == Face::Open || (several && **face == Face::Inward);
            array.faces.iter_mut().flatten().filter(near).for_each(|face| *face = Face::Near);
        }
        self.ops.iter_mut().for_each(|op| op.lie_in_files(several));
    }

    /// Whether its arrays can be: cuts, and ghosts no wider than the thinnest region.
    pub fn fits(&self) -> bool {
        (0..self.axes()).all(|d| {
            let is_last = d + 1 == self.axes();
            let most = if is_last { self.shape[d].div_ceil(64) } else { self.shape[d] };
            if self.shape[d] == 0 || self.regions[d] == 0 || self.regions[d] > most {
                return false;
            }
            let cuts = cuts(self.shape[d], self.regions[d], is_last);
            let thinnest = cuts.windows(2).map(|ends| ends[1] - ends[0]).min().unwrap_or(0);
            self.arrays.iter().all(|array| {
                let widest = array.ghost[d][0].max(array.ghost[d][1]);
                let line = array.faces[d].contains(&Face::Line);
                widest <= thinnest && (!line || thinnest > 1)
            })
        }) && self.is_compiled() && !self.arrays.is_empty()
            // Only numbers are written behind open faces.
            && (self.scalar.is_number() || !(self.has(Face::Open) || self.has(Face::Inward)))
            && !(self.has(Face::Open) && self.has(Face::Inward))
    }

    /// Whether some array has a face of this kind.
    pub fn has(&self, face: Face) -> bool {
        self.arrays.iter().flat_map(|array| array.faces.iter().flatten()).any(|of| *of == face)
    }

    /// The first cell of a region of an array with values on these faces.
    pub fn corner(&self, region: usize, nodes: &[bool]) -> [i64; 4] {
        let (mut at, mut rest) = ([0; 4], region);
        for d in (0..self.axes()).rev() {
            let cuts = cuts(self.shape[d], self.regions[d], d + 1 == self.axes());
            let r = rest % self.regions[d];
            rest /= self.regions[d];
            at[d] = cuts[r] as i64 + i64::from(nodes[d] && r > 0);
        }
        at
    }

    /// Whether a sweep needs whole arrays.
    pub fn needs_whole(&self) -> bool {
        let needs = |step: &Step<'_>| matches!(step, Step::Op { op: Op::Sweep { kernel: Kernel::Far, .. }, .. });
        self.steps().iter().any(needs)
    }

    /// How many places share its arrays: no more than there are regions along the first axis, and one alone where it
    /// does what several cannot.
    pub fn places(&self) -> usize {
        let line = self.axes() == 1 && self.arrays.iter().any(|array| array.nodes[0]);
        let alone = |step: &Step<'_>| match step {
            Step::Op { op: Op::Grown { .. }, .. } => true,
            Step::Op { op: Op::Max { .. } | Op::Sum { .. } | Op::Later { .. }, .. } => line,
            _ => false,
        };
        let one = self.needs_whole() || self.steps().iter().any(alone);
        if one { 1 } else { self.configuration.parts.min(self.regions[0]).max(1) }
    }

    /// The planes that places have of one another as cells.
    pub fn overlap(&self) -> usize {
        let ghosts = self.arrays.iter().flat_map(|array| array.ghost[0]).max().unwrap_or(0);
        let cuts = cuts(self.shape[0], self.regions[0], self.axes() == 1);
        let thinnest = cuts.windows(2).map(|ends| ends[1] - ends[0]).min().unwrap_or(0);
        let planes = self.configuration.overlap.min(thinnest);
        let along = self.axes() > 1 && self.regions[1..].iter().all(|regions| *regions == 1);
        if self.places() > 1 && along && planes >= ghosts { planes } else { 0 }
    }

    /// How many regions it has.
    pub fn region_count(&self) -> usize {
        self.regions.iter().product()
    }
}

impl Op {
    /// See [`Program::lie_in_files`].
    fn lie_in_files(&mut self, several: bool) {
        match self {
            Op::Sweep { tiles, .. } | Op::Line { tiles, .. } | Op::Colour { tiles, .. } | Op::Two { tiles, .. } => {
                tiles.side = Side::Unsaid;
            }
            Op::Touch { to, .. } => *self = Op::Ghosts { of: *to },
            Op::Grown { to, .. } if several => *self = Op::Ghosts { of: *to },
            Op::Repeat { ops, .. } => ops.iter_mut().for_each(|op| op.lie_in_files(several)),
            _ => {}
        }
    }

    /// The arrays that it names.
    pub fn arrays(&self) -> Vec<usize> {
        match self {
            Op::Sweep { arrays, .. } => arrays.clone(),
            Op::Grown { to, from } | Op::Copy { to, from } | Op::Clone { to, from } | Op::Later { to, from } => {
                vec![*to, *from]
            }
            Op::Swap { a, b } | Op::BothGhosts { a, b } => vec![*a, *b],
            Op::Line { to, from, .. } | Op::Colour { to, from, .. } => vec![*to, *from],
            Op::Two { to, via, from, .. } => vec![*to, *via, *from],
            Op::Ghosts { of }
            | Op::New { of }
            | Op::Recut { of, .. }
            | Op::Read { of, .. }
            | Op::Look { of }
            | Op::Max { of }
            | Op::Sum { of } => vec![*of],
            Op::Write { to, .. } | Op::Touch { to, .. } => vec![*to],
            Op::Sync | Op::Flush => Vec::new(),
            Op::Repeat { ops, .. } => ops.iter().flat_map(Op::arrays).collect(),
        }
    }
}

impl Program {
    /// Whether its parts go together, for one that somebody wrote.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        let axes = self.axes();
        let of_arrays = |array: &Array| [array.ghost.len(), array.faces.len(), array.nodes.len()] == [axes; 3];
        if !(1..=4).contains(&axes) || self.regions.len() != axes || !self.arrays.iter().all(of_arrays) {
            return Err("shape, regions, ghosts and faces have not the same axes".into());
        }
        if !self.fits() {
            return Err(
                "more regions than there can be, ghosts wider than a region, or no kernels for such arrays".into()
            );
        }
        match self.ops.iter().flat_map(Op::arrays).find(|n| *n >= self.arrays.len()) {
            Some(n) => Err(format!("there is no array {n}")),
            None => Ok(()),
        }
    }
}
