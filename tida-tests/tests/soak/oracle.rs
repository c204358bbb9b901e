//! A program by plain loops: whole fields without regions, tiles or devices.

use tida_kernels::codec::Codec;

use crate::kernels::{Cell, Kernel};
use crate::program::{Array, Face, Op, Part, Program, Step, has_colour};
use crate::value::{Value, random};

/// What was seen of an array: when, and the bits.
pub type Seen = Vec<(String, Vec<u64>)>;

/// A field with its boundary.
#[derive(Clone)]
pub struct Field<T> {
    /// Values along each axis, 1 along those that there are not.
    pub shape: [i64; 4],
    axes: usize,
    cells: [i64; 4],
    nodes: Vec<bool>,
    faces: Vec<[Face; 2]>,
    ghost: Vec<[usize; 2]>,
    pub codec: Option<Codec>,
    fixed: T,
    values: Vec<T>,
}

fn four<T: Copy>(of: &[T], rest: T) -> [T; 4] {
    std::array::from_fn(|d| of.get(d).copied().unwrap_or(rest))
}

/// What an open ghost holds.
pub fn open<T: Value>(at: [i64; 4]) -> T {
    T::start(random(77, 0, at))
}

/// What faces of a fixed value have.
pub fn fixed<T: Value>() -> T {
    T::small(23)
}

/// The cells of a part of a field.
pub fn part(part: &Part, shape: &[i64]) -> [[i64; 4]; 2] {
    let end = |side: usize| {
        four(&shape.iter().zip(part).map(|(n, ends)| n * i64::from(ends[side]) / 16).collect::<Vec<_>>(), side as i64)
    };
    [end(0), end(1)]
}

/// All places of a box in row-major order.
pub fn places([lo, hi]: [[i64; 4]; 2]) -> impl Iterator<Item = [i64; 4]> {
    let axis = move |d: usize| lo[d]..hi[d];
    axis(0).flat_map(move |a| axis(1).flat_map(move |b| axis(2).flat_map(move |c| axis(3).map(move |d| [a, b, c, d]))))
}

impl<T: Value> Field<T> {
    pub fn new(program: &Program, array: &Array, number: usize) -> Field<T> {
        let shape = four(&program.values(&array.nodes), 1);
        let codec = T::codec(array.storage);
        let values =
            places([[0; 4], shape]).map(|at| T::start(random(program.seed, number, at)).rounded(&codec)).collect();
        Field {
            shape,
            axes: program.axes(),
            cells: four(&program.shape.iter().map(|n| *n as i64).collect::<Vec<_>>(), 1),
            nodes: array.nodes.clone(),
            faces: array.faces.clone(),
            ghost: array.ghost.clone(),
            codec,
            fixed: fixed(),
            values,
        }
    }

    fn position(&self, at: [i64; 4]) -> usize {
        at.iter().zip(self.shape).fold(0, |n, (x, size)| n * size as usize + *x as usize)
    }

    fn set(&mut self, at: [i64; 4], value: T) {
        let position = self.position(at);
        self.values[position] = value.rounded(&self.codec);
    }

    /// The value of a cell or a ghost.
    pub fn value(&self, at: [i64; 4]) -> T {
        match (0..self.axes).find(|d| at[*d] < 0 || at[*d] >= self.shape[*d]) {
            Some(axis) => self.ghost(at, axis),
            None => self.values[self.position(at)],
        }
    }

    /// Whether a place is outside of a face whose ghosts the user fills.
    pub fn is_open(&self, at: [i64; 4]) -> bool {
        let axis = (0..self.axes).find(|d| at[*d] < 0 || at[*d] >= self.shape[*d]);
        axis.is_some_and(|axis| self.faces[axis][usize::from(at[axis] >= 0)] == Face::Open)
    }

    /// The value of a ghost that is outside along this axis, by the definition of the boundaries.
    fn ghost(&self, at: [i64; 4], axis: usize) -> T {
        let last = self.shape[axis] - 1;
        let low = at[axis] < 0;
        let distance = if low { -at[axis] } else { at[axis] - last };
        let moved = |to: i64| {
            let mut at = at;
            at[axis] = to;
            self.value(at)
        };
        let inwards = |n: i64| moved(if low { n } else { last - n });
        let mirror = if self.nodes[axis] { distance } else { distance - 1 };
        let value = match self.faces[axis][usize::from(!low)] {
            Face::Periodic => moved(if low { at[axis] + self.cells[axis] } else { at[axis] - self.cells[axis] }),
            Face::Fixed => self.fixed,
            Face::Even => inwards(mirror),
            Face::Odd => inwards(mirror).negated(),
            Face::Near => inwards(0),
            Face::Line => T::line(inwards(0), inwards(1), distance),
            Face::Open => open(at),
            Face::Inward => {
                let [low_width, high_width] = self.ghost[axis].map(|n| n as i64);
                moved(at[axis] + if low { low_width } else { -high_width }).over(2).plus(T::small(1))
            }
        };
        value.rounded(&self.codec)
    }

    fn bits(&self, cells: [[i64; 4]; 2]) -> Vec<u64> {
        places(cells).map(|at| self.values[self.position(at)].seen()).collect()
    }
}

/// The program's fields.
pub struct Plain<'a, T> {
    program: &'a Program,
    pub fields: Vec<Field<T>>,
    pub seen: Seen,
}

fn add(a: [i64; 4], b: [i64; 4]) -> [i64; 4] {
    std::array::from_fn(|d| a[d] + b[d])
}

impl<'a, T: Value> Plain<'a, T> {
    pub fn new(program: &'a Program) -> Self {
        let fields = program.arrays.iter().enumerate().map(|(n, array)| Field::new(program, array, n)).collect();
        Plain { program, fields, seen: Vec::new() }
    }

    /// Runs all of it; what was seen on the way and in the end.
    pub fn run(mut self) -> (Seen, Vec<Field<T>>) {
        for (n, step) in self.program.steps().iter().enumerate() {
            if let Step::Op { op, value } = step {
                self.op(n, op, *value);
            }
        }
        (self.seen, self.fields)
    }

    /// All cells of an array.
    fn all(&self, of: usize) -> [[i64; 4]; 2] {
        [[0; 4], self.fields[of].shape]
    }

    fn part(&self, of: usize, of_it: &Part) -> [[i64; 4]; 2] {
        part(of_it, &self.program.values(&self.fields[of].nodes))
    }

    fn op(&mut self, n: usize, op: &Op, value: u8) {
        match op {
            Op::Sweep { kernel, arrays, tiles, .. } => {
                let cells = tiles.within.as_ref().map_or(self.all(arrays[0]), |within| self.part(arrays[0], within));
                self.sweep(*kernel, arrays, value, cells);
            }
            Op::Line { to, from, axis, backward, tiles, .. } => {
                let cells = tiles.within.as_ref().map_or(self.all(*to), |within| self.part(*to, within));
                self.line([*to, *from], (axis % self.program.axes(), *backward), cells);
            }
            Op::Colour { to, from, colour, colours, axes, tiles } => {
                let cells = tiles.within.as_ref().map_or(self.all(*to), |within| self.part(*to, within));
                let axes = axes.then(|| self.program.axes());
                self.colour([*to, *from], (*colour, *colours, axes), cells);
            }
            Op::Grown { to, from } => self.grown(*to, *from),
            Op::Swap { a, b } => self.fields.swap(*a, *b),
            Op::Copy { to, from } => {
                for at in places(self.all(*to)) {
                    let value = self.fields[*from].value(at);
                    self.fields[*to].set(at, value);
                }
            }
            Op::Clone { to, from } => self.fields[*to] = self.fields[*from].clone(),
            Op::New { of } => {
                places(self.all(*of)).for_each(|at| self.fields[*of].set(at, T::whole(0)));
            }
            // What goes there and back is what it was, but for one sweep there.
            Op::Recut { of, .. } => self.sweep(Kernel::Scale, &[*of], 5, self.all(*of)),
            Op::Read { of, part: of_it } => {
                let bits = self.fields[*of].bits(self.part(*of, of_it));
                self.see(n, "read", *of, bits);
            }
            Op::Look { of } => {
                let bits = self.fields[*of].bits(self.all(*of));
                self.see(n, "look", *of, bits);
            }
            Op::Write { to, part: of_it } => {
                for at in places(self.part(*to, of_it)) {
                    self.fields[*to].set(at, T::start(random(self.program.seed, 1000 + n, at)));
                }
            }
            Op::Touch { to, region } => {
                let at = self.program.corner(*region % self.program.region_count(), &self.fields[*to].nodes);
                let old = self.fields[*to].value(at);
                self.fields[*to].set(at, old.with_first(Value::small((n % 64) as u8)));
            }
            Op::Max { of } => {
                let most = self.most(*of);
                self.see(n, "max", *of, vec![most.seen()]);
            }
            // Whose order tida says: that of the CPU.
            Op::Sum { of } => self.see(n, "sum", *of, vec![1]),
            Op::Later { to, from } => {
                let most = self.most(*from);
                for at in places(self.all(*to)) {
                    let value = self.fields[*to].value(at).over(2).plus(most.over(2));
                    self.fields[*to].set(at, value);
                }
            }
            Op::Two { to, via, from, tiles } => {
                let cells = tiles.within.as_ref().map_or(self.all(*via), |within| self.part(*via, within));
                self.sweep(Kernel::Star, &[*via, *from], 0, cells);
                self.sweep(Kernel::Add, &[*to, *via], 0, cells);
            }
            Op::Ghosts { .. } | Op::BothGhosts { .. } | Op::Sync | Op::Flush | Op::Repeat { .. } => {}
        }
    }

    fn see(&mut self, n: usize, what: &str, of: usize, bits: Vec<u64>) {
        self.seen.push((format!("step {n}: {what} {of}"), bits));
    }

    fn most(&self, of: usize) -> T {
        let values = &self.fields[of].values;
        // Which of two zeros is the greater one is not said.
        values.iter().copied().reduce(|a, b| if a.is_below(b) { b } else { a }).unwrap().plus(T::whole(0))
    }

    fn sweep(&mut self, kernel: Kernel, arrays: &[usize], value: u8, cells: [[i64; 4]; 2]) {
        let mut changed = Vec::new();
        for at in places(cells) {
            let new = kernel.plain(&Cell {
                at,
                axes: self.program.axes(),
                shape: self.fields[arrays[1.min(arrays.len() - 1)]].shape,
                value,
                read: &|argument, by| self.fields[arrays[argument]].value(add(at, by)),
                whole: &|argument, at| self.fields[arrays[argument]].value(at),
            });
            changed.extend(new.into_iter().enumerate().filter_map(|(to, new)| new.map(|new| (arrays[to], at, new))));
        }
        changed.into_iter().for_each(|(to, at, new)| self.fields[to].set(at, new));
    }

    /// A recurrence along an axis: ghosts have the values of the cells as they were.
    fn line(&mut self, [to, from]: [usize; 2], (axis, backward): (usize, bool), cells: [[i64; 4]; 2]) {
        let before = self.fields[to].clone();
        let mut order: Vec<[i64; 4]> = places(cells).collect();
        order.sort_by_key(|at| if backward { -at[axis] } else { at[axis] });
        for at in order {
            let mut near = at;
            near[axis] += if backward { 1 } else { -1 };
            let is_ghost = near[axis] < 0 || near[axis] >= before.shape[axis];
            let near = if is_ghost { before.value(near) } else { self.fields[to].value(near) };
            let value = self.fields[to].value(at).over(4).plus(near.over(2)).plus(self.fields[from].value(at).over(4));
            self.fields[to].set(at, value);
        }
    }

    /// A relaxation of one colour: ghosts have the values of the cells as they were.
    fn colour(&mut self, [to, from]: [usize; 2], colour: (usize, usize, Option<usize>), cells: [[i64; 4]; 2]) {
        let before = self.fields[to].clone();
        for at in places(cells).filter(|at| has_colour(*at, colour)) {
            let field = &self.fields[to];
            let near = |axis: usize, by: i64| {
                let mut near = at;
                near[axis] += by;
                let is_ghost = near[axis] < 0 || near[axis] >= before.shape[axis];
                if is_ghost { before.value(near) } else { field.value(near) }
            };
            let mut sum = field.value(at).over(4).plus(self.fields[from].value(at).over(4));
            for axis in 0..self.program.axes() {
                sum = sum.plus(near(axis, 1).over(16).plus(near(axis, -1).over(16)));
            }
            self.fields[to].set(at, sum);
        }
    }

    /// Two steps of the star: what lies between them is there one cell around the field too.
    fn grown(&mut self, to: usize, from: usize) {
        let [lo, hi] = self.all(to);
        let grow =
            |at: [i64; 4], by: i64| std::array::from_fn(|d| if d < self.program.axes() { at[d] + by } else { at[d] });
        let around = [grow(lo, -1), grow(hi, 1)];
        let star = |read: &dyn Fn([i64; 4]) -> T, at| {
            let read = |_: usize, by| read(add(at, by));
            let axes = self.program.axes();
            let new =
                Kernel::Star.plain(&Cell { at, axes, shape: hi, value: 0, read: &read, whole: &|_, at| read(0, at) });
            new[0].unwrap()
        };
        let codec = self.fields[to].codec;
        let between: Vec<T> =
            places(around).map(|at| star(&|at| self.fields[from].value(at), at).rounded(&codec)).collect();
        let position = |at: [i64; 4]| {
            (0..4).fold(0, |n, d| n * (around[1][d] - around[0][d]) as usize + (at[d] - around[0][d]) as usize)
        };
        let after: Vec<T> = places([lo, hi]).map(|at| star(&|at| between[position(at)], at)).collect();
        for (at, after) in places([lo, hi]).zip(after) {
            self.fields[to].set(at, between[position(at)]);
            self.fields[from].set(at, after);
        }
    }
}
