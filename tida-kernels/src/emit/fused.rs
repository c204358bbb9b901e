//! Several steps of a stencil in one launch: see [`fuse`](crate::plan::fuse).
//!
//! A block takes the planes of a chunk one after the other. In each iteration step 0, which is memory, gives one plane
//! further, and each step finds the plane that lies `lag` behind that of the step before. What a step reads of its own
//! cells is in registers, `kept_{step}_{cell}_{plane}`; what it reads of other threads' cells they have put into shared
//! memory in iterations before this one, so that one barrier for each plane serves all steps.

mod cells;
mod memory;
mod near;
mod staged;

use std::collections::BTreeMap;

use self::memory::{Spot, cell_functions};
use super::kernel::{Declared, capture_type, params, top};
use super::shared::Shared;
use super::text::Text;
use super::types::memory as type_of;
use super::{Field, Param};
use crate::plan::Dialect;
use crate::plan::fuse::{Face, Fused, Held, Place, Steps, Stream, instead};

/// What all parts of the text need.
struct Streams<'s> {
    steps: &'s Steps,
    fused: &'s Fused,
    stream: Stream,
    held: Held,
    /// What a thread gets by shuffles, with the planes of it.
    shuffles: BTreeMap<(i64, i64), [i64; 2]>,
    block: [u32; 3],
    rank: usize,
    /// The type of a cell: that of its value, or a struct of the values of its components.
    ty: String,
    /// The type of a value in memory.
    one: &'static str,
    /// Values from a component to the next in memory, of both arrays, if cells have several.
    between: Option<[String; 2]>,
    /// The function of a step takes the numbers of its cell.
    placed: bool,
    /// It is told where to count what saturates: of each step the block counts the cells whose results it would store,
    /// so that those which several blocks compute are counted once.
    counts: bool,
    /// Arrays, distances between planes and positions of the two arrays: first the one that is read.
    arrays: [String; 2],
    strides: [String; 2],
    positions: [String; 2],
    /// What else the function of a step is given.
    rest: Vec<Declared>,
    /// The text is for blocks away from faces.
    away: bool,
}

/// Writes the body of the entry; gives the function of a step.
pub(super) fn steps(shared: &mut Shared<'_>, main: &mut Text, body: Text) -> Text {
    let plan = shared.plan;
    let (Some(steps), Some(fused)) = (shared.fused.clone(), &plan.fused) else { return Text::default() };
    let rank = steps.rank;
    let one = type_of(steps.scalar);
    let several = steps.components() > 1;
    let ty = if several { shared.own("Cell") } else { one.to_owned() };
    let (function, [placed, counts], rest) = function(shared, &steps, body, &ty);
    let names = |what: &str, shared: &mut Shared<'_>| {
        let (inp, out) =
            (format!("{}_{what}", shared.args[steps.pair.1]), format!("{}_{what}", shared.args[steps.pair.0]));
        [shared.own(&inp), shared.own(&out)]
    };
    let (arrays, mut positions) = (names("cells", shared), names("at", shared));
    let groups = [steps.pair.1, steps.pair.0].map(|arg| shared.group(arg));
    if groups[0] == groups[1] {
        positions = [positions[0].clone(), positions[0].clone()];
    }
    let strides = groups.map(|group| shared.stride(group, 0));
    let between = several.then(|| groups.map(|group| shared.field(Field::Plane(group.into()))));
    let streams = Streams {
        stream: steps.stream(fused),
        held: Held::of(&steps, fused, plan.block),
        shuffles: steps.shuffles(fused),
        steps: &steps,
        fused,
        block: plan.block,
        rank,
        ty,
        one,
        between,
        placed,
        counts,
        arrays,
        strides,
        positions,
        rest,
        away: false,
    };
    streams.threads(shared, main, groups);
    // Blocks away from faces have a text of their own: compilers would rather ask in each step than jump.
    match streams.near(shared).filter(|_| fused.unrolled) {
        Some(near) => {
            main.block(format!("if ({near})"), |text| streams.planes(shared, text));
            main.block("else", |text| Streams { away: true, ..streams }.planes(shared, text));
        }
        None => streams.planes(shared, main),
    }
    let mut all = varied(shared);
    all.append(cell_functions(shared, &steps));
    all.append(numbers(shared, main));
    all.append(function);
    all
}

/// Bytes of shared memory that every block of CUDA has.
const USUAL: u64 = 48 << 10;

/// Bytes of shared memory that a launch has to ask for.
pub(super) fn asked(shared: &Shared<'_>) -> u32 {
    let (Some(steps), Some(fused)) = (&shared.fused, &shared.plan.fused) else { return 0 };
    let bytes = fused.shared(steps, shared.plan.block);
    if shared.dialect() == Dialect::Cuda && bytes > USUAL { bytes as u32 } else { 0 }
}

/// Values of planes move to the variables of the planes below.
fn moved_down(names: &[String]) -> String {
    names.windows(2).map(|pair| format!("{} = {}; ", pair[0], pair[1])).collect()
}

/// Whether a captured value says which of several kernels a step is of.
fn selects(shared: &Shared<'_>, capture: usize) -> bool {
    shared.plan.fused.as_ref().is_some_and(|fused| fused.kernels > 1) && capture + 1 == shared.kernel.captures.len()
}

/// The face that a captured value is of which says whether a cell so far away lies beyond it: its axis, its side and
/// how far that is.
fn tells_beyond(shared: &Shared<'_>, capture: usize) -> Option<(usize, usize, i64)> {
    let (fused, rank) = (shared.plan.fused.as_ref()?, shared.kernel.rank);
    let all = fused.beyond(rank);
    let first = shared.kernel.captures.len().checked_sub(all.len())?;
    all.get(capture.checked_sub(first)?).copied()
}

/// Whether the text knows a captured value.
pub(super) fn is_known(shared: &Shared<'_>, capture: usize) -> bool {
    let of_launch = || shared.kernel.captures.get(capture).is_some_and(|of| of.beyond.is_some());
    selects(shared, capture) || tells_beyond(shared, capture).is_some() || of_launch()
}

/// The type of a captured value of which each step has its own.
pub(super) fn by_step(shared: &mut Shared<'_>, capture: usize) -> Option<String> {
    let varied = shared.plan.fused.as_ref().is_some_and(|fused| fused.varied) && !is_known(shared, capture);
    varied.then(|| shared.own(&format!("StepsOf{capture}")))
}

/// Such types.
fn varied(shared: &mut Shared<'_>) -> Text {
    let mut text = Text::default();
    let Some(fused) = &shared.plan.fused else { return text };
    for capture in shared.used.captures.clone() {
        let Some(name) = by_step(shared, capture) else { continue };
        let ty = shared.kernel.captures.get(capture).map_or_else(String::new, |of| capture_type(shared, &of.ty));
        text.line(format!("typedef struct {{ {ty} of[{}]; }} {name};", fused.depth));
        text.line("");
    }
    text
}

/// Functions of numbers of cells that the text calls.
fn numbers(shared: &Shared<'_>, main: &Text) -> Text {
    let (mut text, device) = (Text::default(), shared.dialect().device());
    if main.has_word("tida_between") {
        text.block(format!("{device} i32 tida_between(i32 n, i32 lo, i32 hi)"), |text| {
            text.line("return n < lo ? lo : n > hi ? hi : n;");
        });
        text.line("");
    }
    if main.has_word("tida_around") {
        text.block(format!("{device} i32 tida_around(i32 n, i32 cells)"), |text| {
            text.line("n %= cells;");
            text.line("return n < 0 ? n + cells : n;");
        });
        text.line("");
    }
    text
}

/// The function of a step: what a cell becomes. Whether it takes the numbers of its cell, and the place of what counts,
/// and what else it is given.
fn function(shared: &mut Shared<'_>, steps: &Steps, body: Text, ty: &str) -> (Text, [bool; 2], Vec<Declared>) {
    // (OpenCL has a function `step` of two numbers.)
    let (name, made) = (shared.own("one_step"), shared.own("made"));
    let given: Vec<String> = steps.offsets[..steps.read]
        .iter()
        .map(|offset| format!("const {ty} {}", shared.given(steps.pair.1, &offset[3 - steps.rank..])))
        .collect();
    let mut inner = Text { depth: 1, ..Text::default() };
    top(shared, &mut inner);
    inner.line(format!("{ty} {made} = {};", if steps.components() > 1 { "{0}" } else { "0" }));
    inner.append(body);
    inner.line(format!("return {made};"));
    let placed = (0..steps.rank).any(|axis| {
        let t = shared.own(&format!("t{axis}"));
        inner.has_word(&t)
    });
    let place = shared.own("place");
    let counts = inner.has_word(&place);
    let mut rest = params(shared, false);
    rest.retain(|param| inner.has_word(&param.name));
    let mut all = given;
    if placed {
        all.extend((0..steps.rank).map(|axis| format!("const i32 {}", shared.own(&format!("t{axis}")))));
    }
    all.extend(counts.then(|| format!("const u32 {place}")));
    all.extend(rest.iter().map(|param| param.text.clone()));
    let mut text = Text::default();
    let inline = if shared.dialect() == Dialect::Cuda { " __forceinline__" } else { "" };
    text.line(format!("{}{inline} {ty} {name}({}) {{", shared.dialect().device(), all.join(", ")));
    text.append(inner);
    text.line("}");
    text.line("");
    (text, [placed, counts], rest)
}

impl Streams<'_> {
    fn cells(&self) -> i64 {
        self.fused.each()
    }

    fn depth(&self) -> i64 {
        self.fused.depth.into()
    }

    /// Faces of an axis of the kernel.
    fn faces(&self, axis: usize) -> [Face; 2] {
        self.fused.faces[4 - self.rank + axis]
    }

    fn wraps(&self, axis: usize) -> bool {
        self.faces(axis)[0].wraps()
    }

    /// Whether the planes of the other end are elsewhere in memory.
    fn jumps(&self) -> bool {
        self.faces(0)[0] == Face::Wrap
    }

    /// Cells beyond the box that memory holds for a step, below and above.
    fn reach(&self, axis: usize) -> [i64; 2] {
        self.fused.reach[4 - self.rank + axis].map(i64::from)
    }

    /// Cells of a thread along an axis.
    fn along(&self, axis: usize) -> i64 {
        let from_last = self.rank - 1 - axis;
        [1, 0].get(from_last).map_or(1, |n| self.fused.cells[*n].max(1).into())
    }

    /// The number along an axis of one of the thread's cells.
    fn number(&self, axis: usize, cell: i64) -> i64 {
        let [_, x] = self.fused.cells;
        if axis + 1 == self.rank { cell % i64::from(x.max(1)) } else { cell / i64::from(x.max(1)) }
    }

    /// The axes but the first, and the numbers of the thread's cells along them.
    fn across(&self) -> impl Iterator<Item = (usize, i64)> + use<> {
        let along: Vec<(usize, i64)> = (1..self.rank).map(|axis| (axis, self.along(axis))).collect();
        along.into_iter().flat_map(|(axis, cells)| (0..cells).map(move |number| (axis, number)))
    }

    /// The variable of that name of a cell along an axis.
    fn of(&self, shared: &mut Shared<'_>, name: &str, axis: usize, cell: i64) -> String {
        self.numbered(shared, name, axis, self.number(axis, cell))
    }

    /// The same by the number along the axis.
    fn numbered(&self, shared: &mut Shared<'_>, name: &str, axis: usize, number: i64) -> String {
        let number = if self.along(axis) > 1 { format!("_{number}") } else { String::new() };
        shared.own(&format!("{name}{axis}{number}"))
    }

    /// The number in the box of the cell that stands for one beyond a face, for what memory holds (`held`) or for what
    /// it has neighbours of.
    fn inside(&self, shared: &mut Shared<'_>, axis: usize, number: &str, held: bool) -> String {
        let cells = shared.own(&format!("n{axis}"));
        let [below, above] = if held { self.reach(axis) } else { [0, 0] };
        if self.wraps(axis) && (axis > 0 || !held || self.jumps()) {
            return format!("tida_around({number}, {cells})");
        }
        if axis == 0 {
            // What is computed from others is of no use.
            let [lo, hi] = if held { [0, 0] } else { self.reach(0) };
            let (from, end) = (shared.own("from"), shared.own("end"));
            let [first, past] = self.reach(0).map(|reach| self.depth() * reach);
            if self.away {
                // Planes come in order from the first one on.
                let last = format!("{end} + {}", past - 1 - hi);
                return match held {
                    true => format!("({number} < {end} + {past} ? {number} : {last})"),
                    false => format!("tida_between({number}, {from} - {}, {last})", first - lo),
                };
            }
            let lowest = shared.own("lowest") + &if lo > 0 { format!(" + {lo}") } else { String::new() };
            let highest = shared.own("highest") + &if hi > 0 { format!(" - {hi}") } else { String::new() };
            return format!("tida_between({number}, {lowest}, {highest})");
        }
        format!("tida_between({number}, {}, {cells} - 1 + {above})", -below)
    }

    /// Whether faces of these axes mirror.
    fn mirrors(&self, mut axes: std::ops::Range<usize>) -> bool {
        axes.any(|axis| (0..2).any(|side| self.faces(axis)[side].mirrors() && self.reach(axis)[side] > 0))
    }

    /// Where a cell is in memory, on a plane of this number.
    fn at(&self, array: usize, cell: i64, plane: &str) -> Spot {
        let [pointer, position, stride] = [&self.arrays, &self.positions, &self.strides].map(|names| &names[array]);
        Spot { array, pointer: pointer.clone(), position: format!("{position}_{cell} + {plane} * {stride}") }
    }

    /// What a variable starts with.
    fn zero(&self) -> &'static str {
        if self.between.is_some() { " = {0}" } else { " = 0" }
    }

    fn kept(&self, shared: &mut Shared<'_>, step: i64, cell: i64, plane: i64) -> String {
        shared.own(&format!("kept_{step}_{cell}_{plane}"))
    }

    /// Planes, one after the other.
    fn planes(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let Stream { lag, .. } = self.stream;
        let (kept, depth, cells) = (self.stream.kept(), self.depth(), self.cells());
        for step in 0..depth {
            for cell in 0..cells {
                let names: Vec<String> =
                    (0..kept).map(|plane| self.kept(shared, step, cell, plane) + self.zero()).collect();
                text.line(format!("{} {};", self.ty, names.join(", ")));
            }
        }
        let remembers = (0..self.rank).any(|axis| self.remembers(axis));
        if !self.away && depth > 1 && remembers && !self.fused.alike(self.rank) {
            let names: Vec<String> =
                (0..cells).map(|cell| shared.own(&format!("ahead_{cell}")) + self.zero()).collect();
            text.line(format!("{} {};", self.ty, names.join(", ")));
        }
        self.told_before(shared, text);
        for slot in 0..self.stream.slots() {
            let start = slot * self.held.plane + self.held.gap;
            text.line(format!("i32 {} = {} + {start};", shared.own(&format!("slot_{slot}")), shared.own("thread")));
        }
        let warm = depth * self.reach(0)[0];
        let (from, end, newest) = (shared.own("from"), shared.own("end"), shared.own("newest"));
        let source = shared.own("source");
        let first = self.inside(shared, 0, &format!("{from} - {warm}"), true);
        text.line(format!("i32 {source} = {first};"));
        let first = format!("{from} - {warm}");
        match self.ahead() {
            Some(way) => self.send_first(shared, text, way, &first),
            None => {
                for cell in 0..cells {
                    let (next, value) = (shared.own(&format!("next_{cell}")), self.fetched(shared, cell, &source));
                    text.line(format!("{} {next} = {value};", self.ty));
                }
            }
        }
        if self.comes_late() {
            self.stage_first(shared, text, &first);
        }
        let turns = if self.fused.unrolled { kept } else { 1 };
        let past = format!("{end} + {}", depth * lag + i64::from(self.leaves_late().is_some()));
        if turns == 1 {
            let head = format!("for (i32 {newest} = {first}; {newest} < {past}; {newest}++)");
            return text.block(head, |text| self.plane(shared, text));
        }
        let (turn, base) = (shared.own("turn"), shared.own("base"));
        text.block(format!("for (i32 {base} = {first}; {base} < {past}; {base} += {turns})"), |text| {
            text.line("#pragma unroll");
            text.block(format!("for (i32 {turn} = 0; {turn} < {turns}; {turn}++)"), |text| {
                text.line(format!("const i32 {newest} = {base} + {turn};"));
                self.plane(shared, text);
            });
        });
    }

    /// One plane of each step.
    fn plane(&self, shared: &mut Shared<'_>, text: &mut Text) {
        if let Some(way) = self.ahead() {
            self.arrive(shared, text, way);
        }
        for cell in 0..self.cells() {
            let next = self.staged(shared, cell);
            self.keep(shared, text, 0, cell, &next);
        }
        self.stage(shared, text);
        // What the next iterations need is under way during this one.
        let newest = shared.own("newest");
        match self.ahead() {
            Some(way) => {
                self.next_place(shared, text, way, "take");
                self.turn_source(shared, text, &format!("{newest} + {}", way.coming - 1));
                self.send(shared, text, way);
            }
            None => self.fetch(shared, text, &format!("{newest} + {}", if self.comes_late() { 2 } else { 1 })),
        }
        self.hand(shared, text, 0);
        // Most blocks and planes are away from faces.
        let tests = self.edge(shared);
        if !tests.is_empty() {
            text.line(format!("const bool {} = {};", shared.own("edge"), tests.join(" || ")));
        }
        for step in 1..=self.depth() {
            text.block("", |text| self.step(shared, text, step));
        }
        let slots = self.stream.slots();
        if slots > 0 {
            let oldest = shared.own("oldest");
            let names: Vec<String> = (0..slots).map(|slot| shared.own(&format!("slot_{slot}"))).collect();
            let mut moves = format!("const i32 {oldest} = {};", names[names.len() - 1]);
            for pair in names.windows(2).rev() {
                moves += &format!(" {} = {};", pair[1], pair[0]);
            }
            text.line(format!("{moves} {} = {oldest};", names[0]));
        }
        self.turn_stage(shared, text);
        // Warps that have nothing but copies to wait for do so where they take them.
        if self.stream.slots() > 0 || self.comes_late() {
            text.line(shared.dialect().barrier());
        }
    }

    /// The plane of memory to reach for becomes the one of this number, after the one before it.
    fn turn_source(&self, shared: &mut Shared<'_>, text: &mut Text, plane: &str) {
        let (source, n0) = (shared.own("source"), shared.own("n0"));
        let next = match self.jumps() {
            true => format!("{source} + 1 == {n0} ? 0 : {source} + 1"),
            false => self.inside(shared, 0, plane, true),
        };
        text.line(format!("{source} = {next};"));
    }

    /// The next plane of memory gets under way.
    fn fetch(&self, shared: &mut Shared<'_>, text: &mut Text, plane: &str) {
        self.turn_source(shared, text, plane);
        let source = shared.own("source");
        for cell in 0..self.cells() {
            let (next, value) = (shared.own(&format!("next_{cell}")), self.fetched(shared, cell, &source));
            text.line(format!("{next} = {value};"));
        }
    }

    /// What a thread fetches for a cell of its own, or for the one that it stages.
    fn fetched(&self, shared: &mut Shared<'_>, cell: i64, plane: &str) -> String {
        let spot = if self.comes_late() { self.in_line(shared, 0, cell, plane) } else { self.at(0, cell, plane) };
        spot.value(self, shared)
    }

    /// A value becomes the highest plane that a thread keeps of a cell.
    fn keep(&self, shared: &mut Shared<'_>, text: &mut Text, step: i64, cell: i64, value: &str) {
        let names: Vec<String> = (0..self.stream.kept()).map(|plane| self.kept(shared, step, cell, plane)).collect();
        text.line(format!("{}{} = {value};", moved_down(&names), names[names.len() - 1]));
    }

    /// What other threads will read of a step.
    fn hand(&self, shared: &mut Shared<'_>, text: &mut Text, step: i64) {
        let [x, y, _] = self.block.map(i64::from);
        let plane = self.stream.kept() - 1 - self.stream.late();
        for (number, cell) in self.held.cells.iter().enumerate() {
            let start = step * self.held.step + number as i64 * x * y;
            let value = self.kept(shared, step, *cell, plane);
            let (planes, slot) = (shared.own("planes"), shared.own("slot_0"));
            text.line(format!("{planes}[{slot} + {start}] = {value};"));
        }
    }

    /// Where a step finds what it reads, of the step before it.
    fn read(&self, shared: &mut Shared<'_>, step: i64, place: &Place, names: &mut BTreeMap<Place, String>) -> String {
        if place.is_own() {
            return self.kept(shared, step - 1, place.cell, place.plane - self.stream.lowest);
        }
        if let Some(told) = self.told(shared, step - 1, place) {
            return told;
        }
        let number = names.len();
        names.entry(*place).or_insert_with(|| shared.own(&format!("near_{number}"))).clone()
    }

    /// A call of the function of a step, for a cell that reads these values; near to faces across these axes alone.
    fn call(
        &self,
        shared: &mut Shared<'_>,
        (step, cell): (i64, i64),
        near: &[usize],
        mut given: Vec<String>,
    ) -> String {
        if self.placed {
            given.push(shared.own("in0"));
            given.extend((1..self.rank).map(|axis| self.of(shared, "in", axis, cell)));
        }
        given.extend(self.counts.then(|| shared.own(&format!("place_{cell}"))));
        let number = step - 1;
        for Declared { param, name, .. } in &self.rest {
            let beyond = match param {
                Param::Capture(n) => tells_beyond(shared, *n as usize),
                _ => None,
            };
            given.push(match (param, beyond) {
                (_, Some((axis, side, by))) if near.contains(&axis) => self.is_beyond(shared, cell, (axis, side), by),
                (_, Some(_)) => "0".into(),
                (Param::Capture(n), _) if selects(shared, *n as usize) => {
                    (number % i64::from(self.fused.kernels)).to_string()
                }
                (Param::Capture(_), _) if self.fused.varied => format!("{name}.of[{number}]"),
                _ => name.clone(),
            });
        }
        format!("{}({})", shared.own("one_step"), given.join(", "))
    }

    /// A plane of a step.
    fn step(&self, shared: &mut Shared<'_>, text: &mut Text, step: i64) {
        let (plane, newest) = (shared.own("plane"), shared.own("newest"));
        text.line(format!("const i32 {plane} = {newest} - {};", step * self.stream.lag));
        let mut names = BTreeMap::new();
        let (mut calls, mut again) = (Vec::new(), [Vec::new(), Vec::new()]);
        self.ask(shared, text, step);
        self.counters(shared, text, step);
        let mirrors = self.beside_faces(shared);
        for cell in 0..self.cells() {
            let value = shared.own(&format!("value_{cell}"));
            let offsets = &self.steps.offsets[..self.steps.read];
            let places = offsets.iter().map(|offset| self.steps.place(offset, cell, self.fused));
            let given: Vec<String> = places.map(|place| self.read(shared, step, &place, &mut names)).collect();
            let plain = self.call(shared, (step, cell), &[], given);
            let head = if mirrors.is_empty() { format!("{} {value}", self.ty) } else { value.clone() };
            calls.push(format!("{head} = {plain};"));
            for (calls, (_, axes)) in again.iter_mut().zip(&mirrors) {
                let mirrored = |offset: &[i64; 3]| self.mirrored(shared, (step, cell), (*offset, 0), axes, &mut names);
                let given: Vec<String> = offsets.iter().map(mirrored).collect();
                calls.push(format!("{value} = {};", self.call(shared, (step, cell), axes, given)));
            }
        }
        let [x, y, _] = self.block.map(i64::from);
        for (place, name) in &names {
            let number = self.held.cells.iter().position(|cell| *cell == place.cell).unwrap_or_default() as i64;
            let [by_y, by_x] = place.thread;
            let at = (step - 1) * self.held.step + number * x * y + by_y * x + by_x;
            let slot = self.stream.handed.map_or(0, |(_, highest)| 1 + highest - place.plane);
            let (planes, slot) = (shared.own("planes"), shared.own(&format!("slot_{slot}")));
            let sign = if at < 0 { '-' } else { '+' };
            text.line(format!("const {} {name} = {planes}[{slot} {sign} {}];", self.ty, at.abs()));
        }
        if self.placed {
            let (in0, inside) = (shared.own("in0"), self.inside(shared, 0, &plane, false));
            text.line(format!("const i32 {in0} = {inside};"));
        }
        if mirrors.is_empty() {
            calls.iter().for_each(|call| text.line(call));
        } else {
            let values: Vec<String> = (0..self.cells()).map(|cell| shared.own(&format!("value_{cell}"))).collect();
            text.line(format!("{} {};", self.ty, values.join(", ")));
            for (number, (calls, (test, _))) in again.into_iter().zip(&mirrors).enumerate() {
                let head = if number == 0 { format!("if ({test})") } else { format!("else if ({test})") };
                text.block(head, |text| calls.iter().for_each(|call| text.line(call)));
            }
            text.block("else", |text| calls.iter().for_each(|call| text.line(call)));
        }
        if step == self.depth() {
            return self.store(shared, text);
        }
        self.beyond(shared, text, step);
        for cell in 0..self.cells() {
            let value = shared.own(&format!("value_{cell}"));
            self.keep(shared, text, step, cell, &value);
        }
        self.hand(shared, text, step);
    }

    /// The test of blocks that have cells beyond faces, or next to them; none where all faces wrap.
    fn near(&self, shared: &mut Shared<'_>) -> Option<String> {
        let across = (1..self.rank).any(|axis| self.remembers(axis)) || self.mirrors(1..self.rank);
        let (from, end, n0) = (shared.own("from"), shared.own("end"), shared.own("n0"));
        let [below, above] = self.reach(0).map(|reach| (self.depth() + 1) * reach);
        let along = if self.wraps(0) { None } else { Some(format!("{from} < {below} || {end} + {above} > {n0}")) };
        let tests: Vec<String> = across.then(|| shared.own("ghosts")).into_iter().chain(along).collect();
        (!tests.is_empty()).then(|| tests.join(" || "))
    }

    /// Tests of the planes and threads that have cells beyond faces where memory says what there is; none where no face
    /// is such.
    fn edge(&self, shared: &mut Shared<'_>) -> Vec<String> {
        if self.away {
            return Vec::new();
        }
        let (newest, n0, lag) = (shared.own("newest"), shared.own("n0"), self.stream.lag);
        let across = (1..self.rank).any(|axis| self.remembers(axis));
        let mut tests: Vec<String> = across.then(|| shared.own("ghosts")).into_iter().collect();
        let faces = self.faces(0);
        // The last step is the first to come there.
        match faces[0] {
            face if face.is_held() => tests.push(format!("{newest} < {}", (self.depth() - 1) * lag)),
            _ => {}
        }
        match faces[1] {
            // A plane earlier, since step 1 fetches ahead.
            face if face.is_held() => tests.push(format!("{newest} >= {n0} + {}", lag - 1)),
            _ => {}
        }
        tests
    }

    /// What a cell reads at an offset, with what stands for cells beyond faces across these axes that mirror.
    fn mirrored(
        &self,
        shared: &mut Shared<'_>,
        (step, cell): (i64, i64),
        (offset, axis): ([i64; 3], usize),
        axes: &[usize],
        names: &mut BTreeMap<Place, String>,
    ) -> String {
        if axis == self.rank {
            let place = self.steps.place(&offset, cell, self.fused);
            return self.read(shared, step, &place, names);
        }
        let along = 3 - self.rank + axis;
        let number = if axis == 0 { shared.own("plane") } else { self.of(shared, "t", axis, cell) };
        let mut text = self.mirrored(shared, (step, cell), (offset, axis + 1), axes, names);
        for case in instead(self.faces(axis), offset[along]).into_iter().filter(|_| axes.contains(&axis)) {
            let mut other = offset;
            other[along] = case.by;
            let value = self.mirrored(shared, (step, cell), (other, axis + 1), axes, names);
            let test = match case.upper {
                true => format!("{number} == {} - {}", shared.own(&format!("n{axis}")), case.from + 1),
                false => format!("{number} == {}", case.from),
            };
            text = format!("({test} ? {value} : {text})");
        }
        text
    }

    /// Tests of a cell beyond faces where memory says what there is, on a plane of this number.
    fn is_ghost(&self, shared: &mut Shared<'_>, cell: i64, plane: &str) -> Vec<String> {
        let across = (1..self.rank).any(|axis| self.remembers(axis));
        let n0 = shared.own("n0");
        let [lo, hi] = self.faces(0).map(Face::is_held);
        let ghost = across.then(|| shared.own(&format!("ghost_{cell}")));
        let along = [lo.then(|| format!("{plane} < 0")), hi.then(|| format!("{plane} >= {n0}"))];
        ghost.into_iter().chain(along.into_iter().flatten()).collect()
    }

    /// Cells beyond faces: what memory has there. Steps of even numbers have there what step 0 has, others what is in
    /// the array that the launch writes, as step 1 fetched it. Where both arrays have the same there, all have what the
    /// step before has.
    fn beyond(&self, shared: &mut Shared<'_>, text: &mut Text, step: i64) {
        if self.away || !(0..self.rank).any(|axis| self.remembers(axis)) {
            return;
        }
        let (plane, edge) = (shared.own("plane"), shared.own("edge"));
        let alike = self.fused.alike(self.rank);
        text.block(format!("if ({edge})"), |text| {
            for cell in 0..self.cells() {
                let known = match step {
                    _ if alike => self.kept(shared, step - 1, cell, -self.stream.lowest),
                    1 => shared.own(&format!("ahead_{cell}")),
                    _ => self.kept(shared, step - 2, cell, -self.stream.lag - self.stream.lowest),
                };
                let (value, test) = (shared.own(&format!("value_{cell}")), self.is_ghost(shared, cell, &plane));
                text.line(format!("if ({}) {value} = {known};", test.join(" || ")));
            }
        });
        if step > 1 || alike {
            return;
        }
        let coming = shared.own("coming");
        text.line(format!("const i32 {coming} = {plane} + 1;"));
        text.block(format!("if ({edge})"), |text| {
            let (inside, held) = (self.inside(shared, 0, &coming, true), shared.own("held0"));
            text.line(format!("const i32 {held} = {inside};"));
            for cell in 0..self.cells() {
                let (ahead, from) = (shared.own(&format!("ahead_{cell}")), self.at(1, cell, &held).value(self, shared));
                let test = self.is_ghost(shared, cell, &coming);
                text.line(format!("if ({}) {ahead} = {from};", test.join(" || ")));
            }
        });
    }

    /// What the last step leaves.
    fn store(&self, shared: &mut Shared<'_>, text: &mut Text) {
        if let Some(way) = self.leaves_late() {
            return self.stage_last(shared, text, way);
        }
        let (plane, from, end) = (shared.own("plane"), shared.own("from"), shared.own("end"));
        text.block(format!("if ({plane} >= {from} && {plane} < {end})"), |text| {
            for cell in 0..self.cells() {
                let mine: Vec<String> = (1..self.rank).map(|axis| self.of(shared, "mine", axis, cell)).collect();
                let value = shared.own(&format!("value_{cell}"));
                let left = self.at(1, cell, &plane).set(self, shared, &value);
                text.line(format!("if ({}) {left}", mine.join(" && ")));
            }
        });
    }
}
