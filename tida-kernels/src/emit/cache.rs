//! Tiles in shared memory: who has which cell, what is fetched when, and where reads find it.
//!
//! Threads beyond the end of a box take the last cell of it along and store nothing, so that all threads of a block
//! reach every barrier.

use super::Field;
use super::access::{mention, position, value_at};
use super::body::Writer;
use super::helpers::Helper;
use super::maps::{self, by_map};
use super::moving;
use super::segments::choose_box;
use super::shared::{Reader, Shared, component_path};
use super::text::Text;
use super::types::{integer, memory};
use crate::element::ScalarType;
use crate::ir::{Access, Component, ExprId, ExprKind};
use crate::plan::cache::{Cache, Scope, Tile, threads as width_along};
use crate::plan::{Dialect, Goal};

/// Turns of a fetch that are written out.
const TURNS: i64 = 16;

/// Where a strip starts, and how long it is.
pub(super) struct Strip {
    /// Loops by number, with the value of their variable: the first of the strip for the loop that is walked.
    pub loops: Vec<(u32, String)>,
    /// Iterations.
    pub count: String,
    /// The half of a tile that has two.
    pub half: Option<String>,
}

impl Strip {
    /// Where nothing is walked.
    fn none() -> Strip {
        Strip { loops: Vec::new(), count: "1".into(), half: None }
    }
}

/// The numbers of a tile in its plan.
pub(super) struct Shape {
    pub extent: Vec<i64>,
    /// Distance between neighbours along each axis.
    pub steps: Vec<i64>,
    pub cells: i64,
}

impl Shared<'_> {
    pub(super) fn tile(&self, (scope, tile): (usize, usize)) -> &Tile {
        &self.scopes[scope].tiles[tile]
    }

    pub(super) fn shape(&self, at: (usize, usize)) -> Shape {
        let (walk, plan, rank) = (self.scopes[at.0].walk.as_ref(), self.plan, self.kernel.rank);
        let tile = self.tile(at);
        let span = plan.span();
        let extent = tile.extent(walk, rank, span, plan.width);
        let mut steps = vec![1; extent.len()];
        let mut step = tile.row(walk, (rank, span), &extent);
        for axis in (0..extent.len().saturating_sub(1)).rev() {
            steps[axis] = step;
            step *= extent[axis];
        }
        Shape { cells: tile.cells(walk, rank, span, plan.width), extent, steps }
    }

    /// The tile that a read of the kernel may come from.
    fn tile_of(&self, id: ExprId) -> Option<(usize, usize)> {
        let takes = |tile: &Tile| {
            let checked = self.plan.cached(tile.arg) == Cache::CheckedTile;
            tile.reads.contains_key(&id) || (checked && tile.others.contains(&id))
        };
        let in_scope = |(n, scope): (usize, &Scope)| scope.tiles.iter().position(takes).map(|tile| (n, tile));
        self.scopes.iter().enumerate().find_map(in_scope)
    }

    /// A name for something of a tile: another one for each tile of an argument.
    pub(super) fn of_tile(&mut self, at: (usize, usize), word: &str) -> String {
        let arg = self.tile(at).arg;
        let all = self.scopes.iter().enumerate().flat_map(|(s, scope)| (0..scope.tiles.len()).map(move |t| (s, t)));
        let before = all.take_while(|other| *other != at).filter(|other| self.tile(*other).arg == arg).count();
        let number = if before == 0 { String::new() } else { format!("{}", before + 1) };
        let name = format!("{}_{word}{number}", self.args[arg]);
        self.own(&name)
    }

    pub(super) fn tile_name(&mut self, at: (usize, usize), component: u32) -> String {
        let path = component_path(&self.kernel.args[self.tile(at).arg].element, component as usize);
        self.of_tile(at, &format!("tile{path}"))
    }

    pub(super) fn component_type(&self, arg: usize, component: u32) -> ScalarType {
        let types = self.kernel.args[arg].element.component_types();
        types.get(component as usize).copied().unwrap_or(ScalarType::U8)
    }

    /// What a tile holds of a component.
    pub(super) fn held_type(&self, at: (usize, usize), component: u32) -> ScalarType {
        self.tile(at).scalar(self.kernel, component).unwrap_or(ScalarType::U8)
    }

    /// What a tile holds of a component, of what memory holds of it.
    pub(super) fn decoded(&mut self, at: (usize, usize), component: u32, value: String) -> String {
        let codec = self.tile(at).codecs.get(&component).copied();
        self.value(codec, value)
    }

    /// A name for something of a walk.
    pub(super) fn of_walk(&mut self, scope: usize, word: &str) -> String {
        let walk = |n: usize| self.scopes[n].walk.as_ref().map_or("", |walk| walk.name.as_str());
        let before = (0..scope).filter(|n| walk(*n) == walk(scope)).count();
        let number = if before == 0 { String::new() } else { format!("{}", before + 1) };
        let name = format!("{}{number}_{word}", walk(scope));
        self.own(&name)
    }

    /// Cells of a block along an axis of the kernel.
    pub(super) fn width(&self, axis: usize) -> i64 {
        width_along(self.kernel.rank, self.plan.span(), axis)
    }

    /// Whether the region of a whole array is the same for all cells.
    pub(super) fn is_single(&self, arg: usize) -> bool {
        let cut = self.plan.cache.iter().any(|cached| cached.arg as usize == arg && cached.cut);
        self.kernel.args[arg].access == Access::All && !cut
    }

    pub(super) fn is_ahead(&self, at: (usize, usize)) -> bool {
        self.scopes[at.0].walk.is_some() && self.plan.cached(self.tile(at).arg).is_ahead()
    }

    /// What copies so many values of a tile while the thread goes on, if the language and the values have it. Codes are
    /// decoded on their way.
    pub(super) fn ahead(&mut self, at: (usize, usize), component: u32, values: i64) -> Option<String> {
        let bytes = self.component_type(self.tile(at).arg, component).size() as i64 * values;
        let copied = self.tile(at).codecs.is_empty() && (4..=16).contains(&bytes);
        let has = self.is_ahead(at) && self.dialect() == Dialect::Cuda && copied;
        has.then(|| self.helper(Helper::Ahead(bytes as u8)))
    }
}

/// Blocks that a processor should have room for: fetching ahead takes registers, of which a block of 1024 threads would
/// leave none for another.
pub(super) fn blocks(shared: &Shared<'_>) -> u32 {
    if let Some(coarse) = &shared.coarse {
        return coarse.held(threads_of(shared) as u32, shared.plan.cells_of_thread()).max(1);
    }
    let crowded = threads_of(shared) > 512 && all(shared).into_iter().any(|at| shared.is_ahead(at));
    if crowded { 2 } else { 1 }
}

/// Declares the tiles.
pub(super) fn declare(shared: &mut Shared<'_>, text: &mut Text) {
    for at in all(shared) {
        let cells = shared.shape(at).cells * if shared.is_ahead(at) { 2 } else { 1 };
        let align = if by_map(shared, at) { 128 } else { 16 };
        for component in shared.tile(at).components.clone() {
            let ty = memory(shared.held_type(at, component));
            let name = shared.tile_name(at, component);
            text.line(match shared.dialect() {
                Dialect::Cuda => format!("__shared__ __align__({align}) {ty} {name}[{cells}];"),
                Dialect::OpenCl => format!("__local {ty} {name}[{cells}] __attribute__((aligned(16)));"),
            });
        }
    }
    maps::declare(shared, text);
}

fn all(shared: &Shared<'_>) -> Vec<(usize, usize)> {
    let of = |(n, scope): (usize, &Scope)| (0..scope.tiles.len()).map(move |tile| (n, tile)).collect::<Vec<_>>();
    shared.scopes.iter().enumerate().flat_map(of).collect()
}

/// The tiles whose codes are read several at once, and how many.
pub(super) fn coded(shared: &Shared<'_>) -> Vec<((usize, usize), usize)> {
    let each = |at| (at, moving::at_once(shared, at) as usize);
    let of_codes = all(shared).into_iter().filter(|at| !shared.tile(*at).codecs.is_empty());
    of_codes.map(each).filter(|(_, cells)| *cells > 1).collect()
}

/// Finds the cell of the thread, as [`super::segments::threads`] does: only whole blocks leave.
pub(super) fn threads(shared: &mut Shared<'_>, text: &mut Text) {
    let (dialect, rank) = (shared.dialect(), shared.kernel.rank);
    let [x, y, z] = shared.plan.block;
    let along_z = choose_box(shared, text);
    let int = |text: &str| if text.contains(' ') { format!("(i32)({text})") } else { format!("(i32){text}") };
    if rank >= 4 {
        let (folded, extent) = (shared.own("z"), shared.field(Field::Extent(1)));
        let (first0, first1) = (shared.own("first0"), shared.own("first1"));
        text.line(format!("const i32 {folded} = {};", int(&along_z)));
        text.line(format!("const i32 {first0} = {folded} / (i32){extent};"));
        text.line(format!("const i32 {first1} = {folded} % (i32){extent};"));
    }
    let span = shared.plan.span();
    for (from_last, size) in [(2, span[2]), (1, span[1]), (0, span[0])] {
        let Some(axis) = rank.checked_sub(from_last + 1).filter(|_| rank < 4 || from_last < 2) else { continue };
        let block = if from_last == 2 { along_z.clone() } else { dialect.block(from_last) };
        let block = if size > 1 && block.contains(' ') { format!("({block})") } else { block };
        let first = if size > 1 { format!("{block} * {size}") } else { block };
        let name = shared.own(&format!("first{axis}"));
        text.line(format!("const i32 {name} = {};", int(&first)));
    }
    let beyond: Vec<String> = (0..rank)
        .map(|axis| {
            let (first, extent) = (shared.own(&format!("first{axis}")), shared.field(Field::Extent(axis as u32)));
            format!("{first} >= (i32){extent}")
        })
        .collect();
    text.line(format!("if ({}) return;", beyond.join(" || ")));
    let mut inside = Vec::new();
    for axis in 0..rank {
        let width = shared.width(axis);
        let (first, t) = (shared.own(&format!("first{axis}")), shared.own(&format!("t{axis}")));
        if width == 1 {
            text.line(format!("const i32 {t} = {first};"));
            continue;
        }
        let extent = shared.field(Field::Extent(axis as u32));
        let (cells, place) = (shared.own(&format!("cells{axis}")), shared.own(&format!("in{axis}")));
        let thread = int(&dialect.thread(rank - 1 - axis));
        text.line(format!(
            "const i32 {cells} = (i32){extent} - {first} < {width} ? (i32){extent} - {first} : {width};"
        ));
        if shared.has_several(axis) {
            let own = shared.own(&format!("thread{axis}"));
            text.line(format!("const i32 {own} = {thread};"));
            continue;
        }
        text.line(format!("const i32 {place} = {thread} < {cells} ? {thread} : {cells} - 1;"));
        text.line(format!("const i32 {t} = {first} + {place};"));
        inside.push(format!("{thread} < {cells}"));
    }
    let inside = if inside.is_empty() { "true".into() } else { inside.join(" && ") };
    if shared.coarse.is_none() {
        text.line(format!("const bool {} = {inside};", shared.own("inside")));
    }
    let [a, b, c] = [0, 1, 2].map(|n| int(&dialect.thread(n)));
    let number = match (y, z) {
        (1, 1) => a,
        (_, 1) => format!("{a} + {x} * {b}"),
        _ => format!("{a} + {x} * ({b} + {y} * {c})"),
    };
    text.line(format!("const i32 {} = {number};", shared.own("thread")));
}

/// Where the only region of a whole array lies.
pub(super) fn regions(shared: &mut Shared<'_>, text: &mut Text) {
    for arg in shared.used.single.clone() {
        let rank = shared.kernel.args[arg].rank;
        let words = shared.extra(arg);
        let names = single_names(shared, arg);
        let planes = shared.used.single_planes.contains(&arg);
        // After the numbers of regions, the shape and one end on each axis.
        // Who has a map and no pointer needs to know where cells are counted from alone.
        let mapped = !shared.used.args.contains(&arg);
        let taken = if mapped { 1..rank + 1 } else { 0..2 * rank + usize::from(planes) };
        for (n, name) in names.iter().enumerate().filter(|(n, _)| taken.contains(n)) {
            text.line(format!("const i64 {name} = {words}[{}];", 3 * rank + n));
        }
    }
}

/// What the words of a region are called: base, origins, strides, plane.
pub(super) fn single_names(shared: &mut Shared<'_>, arg: usize) -> Vec<String> {
    let rank = shared.kernel.args[arg].rank;
    let axes = |word: &'static str, count: usize| (0..count).map(move |axis| format!("{word}{axis}"));
    let words = std::iter::once("base".to_owned()).chain(axes("origin", rank)).chain(axes("stride", rank - 1));
    let words: Vec<String> = words.chain(["plane".to_owned()]).collect();
    words.into_iter().map(|word| shared.own(&format!("{}_{word}", shared.args[arg]))).collect()
}

/// Fetches the tiles that serve the whole body.
pub(super) fn around(shared: &mut Shared<'_>) -> Text {
    let mut text = Text { depth: 1, ..Text::default() };
    let of: Vec<usize> = (0..shared.scopes.len()).filter(|n| shared.scopes[*n].walk.is_none()).collect();
    for &scope in &of {
        for tile in 0..shared.scopes[scope].tiles.len() {
            fetch(shared, &mut text, (scope, tile), &Strip::none());
        }
    }
    if !of.is_empty() {
        text.line(shared.dialect().barrier());
    }
    text
}

/// A sum of multiples and a constant.
pub(super) fn sum(dialect: Dialect, ty: ScalarType, terms: &[(i64, String)], constant: i64) -> String {
    let mut text = String::new();
    for (by, of) in terms {
        let part = match by.unsigned_abs() {
            1 => of.clone(),
            n => format!("{n} * {of}"),
        };
        text += &match (text.is_empty(), *by < 0) {
            (true, false) => part,
            (true, true) => format!("-{part}"),
            (false, false) => format!(" + {part}"),
            (false, true) => format!(" - {part}"),
        };
    }
    match (text.is_empty(), constant) {
        (true, _) => integer(dialect, ty, constant.into()),
        (_, 0) => text,
        (_, ..0) => format!("{text} - {}", integer(dialect, ty, -i128::from(constant))),
        _ => format!("{text} + {}", integer(dialect, ty, constant.into())),
    }
}

/// Declares where a tile starts and how many cells it has; gives their names for each axis.
pub(super) fn reach(shared: &mut Shared<'_>, text: &mut Text, at: (usize, usize), strip: &Strip) -> Reached {
    let arg = shared.tile(at).arg;
    let (mut from, mut held) = (Vec::new(), Vec::new());
    for (axis, (low, count)) in ranges(shared, at, strip).into_iter().enumerate() {
        let (from_name, held_name) =
            (shared.of_tile(at, &format!("from{axis}")), shared.of_tile(at, &format!("held{axis}")));
        if shared.plan.checked {
            // Not proven to be held: what is, is fetched.
            let (lo, hi) = bounds(shared, arg, axis);
            let last = shared.of_tile(at, &format!("end{axis}"));
            text.line(format!("i64 {from_name} = {low}, {last} = {from_name} + {count};"));
            text.line(format!("if ({from_name} < {lo}) {from_name} = {lo};"));
            text.line(format!("if ({last} > {hi}) {last} = {hi};"));
            text.line(format!("const i32 {held_name} = {last} > {from_name} ? (i32)({last} - {from_name}) : 0;"));
        } else {
            text.line(format!("const i64 {from_name} = {low};"));
            text.line(format!("const i32 {held_name} = {count};"));
        }
        from.push(from_name);
        held.push(held_name);
    }
    Reached { from, held }
}

/// Along each axis where a tile starts and how many cells it has.
pub(super) fn ranges(shared: &mut Shared<'_>, at: (usize, usize), strip: &Strip) -> Vec<(String, String)> {
    let dialect = shared.dialect();
    let tile = shared.tile(at).clone();
    let walk = shared.scopes[at.0].walk.clone();
    let mut found = Vec::new();
    for side in &tile.sides {
        let (mut low, mut count, mut constant) = (Vec::new(), Vec::new(), side.spread + 1);
        for (along, by) in side.rates() {
            let (lo, first) = (shared.field(Field::Lo(along as u32)), shared.own(&format!("first{along}")));
            let wide = shared.width(along) > 1;
            let cells = shared.own(&format!("cells{along}"));
            let last = if by < 0 && wide { format!(" + {cells} - 1") } else { String::new() };
            let low_end = format!("{lo} + {first}{last}");
            low.push((by, if by == 1 { low_end } else { format!("({low_end})") }));
            if wide {
                count.push((by.abs(), cells));
                constant -= by.abs();
            }
        }
        for (number, name) in &strip.loops {
            let by = side.form.coefficient(crate::analysis::Symbol::Loop(*number));
            let walked = walk.as_ref().is_some_and(|walk| walk.number == *number);
            if by == 0 {
                continue;
            }
            let last = if by < 0 && walked { format!("({name} + {} - 1)", strip.count) } else { name.clone() };
            low.push((by, last));
            if walked {
                count.push((by.abs(), strip.count.clone()));
                constant -= by.abs();
            }
        }
        for (symbol, by) in &side.form.terms {
            if let crate::analysis::Symbol::Capture(n) = symbol {
                low.push((*by, format!("(i64){}", shared.capture(*n as usize))));
            }
        }
        found.push((
            sum(dialect, ScalarType::I64, &low, side.form.constant),
            sum(dialect, ScalarType::I32, &count, constant),
        ));
    }
    found
}

/// What [`reach`] declares.
pub(super) struct Reached {
    pub from: Vec<String>,
    pub held: Vec<String>,
}

impl Reached {
    /// Of the cell with these numbers along each axis: the test whether the tile has it, its place there and its index.
    pub fn cell(&self, dialect: Dialect, steps: &[i64], inner: &[String]) -> (String, String, Vec<String>) {
        let tests: Vec<String> = inner.iter().zip(&self.held).map(|(n, held)| format!("{n} < {held}")).collect();
        let place: Vec<(i64, String)> = steps.iter().copied().zip(inner.iter().cloned()).collect();
        let index = self.from.iter().zip(inner).map(|(from, n)| format!("{from} + {n}")).collect();
        (tests.join(" && "), sum(dialect, ScalarType::I32, &place, 0), index)
    }
}

/// Threads of a block.
pub(super) fn threads_of(shared: &Shared<'_>) -> i64 {
    shared.plan.block.iter().map(|n| i64::from(*n)).product()
}

/// How often each thread of a block fetches a cell of a tile.
pub(super) fn turns(shared: &Shared<'_>, at: (usize, usize)) -> i64 {
    let all = threads_of(shared);
    (shared.shape(at).extent.iter().product::<i64>() + all - 1) / all
}

/// Declares which cell of a tile a thread fetches: its number, and that along each axis. `each` cells of a row have one
/// number.
pub(super) fn number(text: &mut Text, extent: &[i64], each: i64, number: String, (n, inner): (&str, &[String])) {
    let times = |part: String| match each {
        1 => part,
        _ if part.contains(' ') => format!("({part}) * {each}"),
        _ => format!("{part} * {each}"),
    };
    if let [only] = inner {
        text.line(format!("const i32 {only} = {};", times(number)));
        return;
    }
    text.line(format!("const i32 {n} = {number};"));
    let (mut rest, inner_count): (i64, _) = (extent.iter().product(), inner.len());
    for (axis, inner) in inner.iter().enumerate() {
        rest /= extent[axis];
        let part = if axis == 0 { n.to_owned() } else { format!("{n} % {}", rest * extent[axis]) };
        let part = if rest == 1 { part } else { format!("({part}) / {rest}").replace(&format!("({n})"), n) };
        let part = if axis + 1 == inner_count { times(part) } else { part };
        text.line(format!("const i32 {inner} = {part};"));
    }
}

/// Declares where a tile starts and how many cells it has, and brings them there.
pub(super) fn fetch(shared: &mut Shared<'_>, text: &mut Text, at: (usize, usize), strip: &Strip) {
    let dialect = shared.dialect();
    let Shape { extent, steps, cells } = shared.shape(at);
    let tile = shared.tile(at).clone();
    let rank = tile.sides.len();
    let reached = reach(shared, text, at, strip);
    let all = threads_of(shared);
    let turns = turns(shared, at);
    let (thread, turn, n) = (shared.own("thread"), shared.own("turn"), shared.own("n"));
    let inner: Vec<String> = (0..rank).map(|axis| shared.own(&format!("n{axis}"))).collect();
    let head = match turns {
        1 => String::new(),
        _ => {
            if turns <= TURNS {
                text.line("#pragma unroll");
            }
            format!("for (i32 {turn} = 0; {turn} < {turns}; {turn}++)")
        }
    };
    let half = strip.half.as_ref().map_or(String::new(), |half| format!("{half} * {cells} + "));
    text.block(head, |text| {
        let of_thread = if turns == 1 { thread.clone() } else { format!("{turn} * {all} + {thread}") };
        number(text, &extent, 1, of_thread, (&n, &inner));
        let (tests, place, index) = reached.cell(dialect, &steps, &inner);
        let place = format!("{half}{place}");
        text.block(format!("if ({tests})"), |text| {
            for component in &tile.components {
                let name = shared.tile_name(at, *component);
                let (value, is_place) = in_memory(shared, tile.arg, *component, &index);
                let ahead = shared.ahead(at, *component, 1).filter(|_| is_place);
                text.line(match ahead {
                    Some(helper) => format!("{helper}(&{name}[{place}], &{value});"),
                    None => format!("{name}[{place}] = {};", shared.decoded(at, *component, value)),
                });
            }
        });
    });
}

/// The cells of an argument along an axis that may be read.
fn bounds(shared: &mut Shared<'_>, arg: usize, axis: usize) -> (String, String) {
    match shared.kernel.args[arg].access {
        Access::Read | Access::Write | Access::Shared => {
            let (arg, axis) = (arg as u32, axis as u32);
            (shared.field(Field::BoundLo(arg, axis)), shared.field(Field::BoundHi(arg, axis)))
        }
        Access::All => {
            let rank = shared.kernel.args[arg].rank;
            ("0".into(), format!("{}[{}]", shared.extra(arg), rank + axis))
        }
        Access::Table => ("0".into(), format!("(i64){}", shared.extra(arg))),
    }
}

/// A component of a cell that is held, and whether that is a place in memory.
pub(super) fn in_memory(shared: &mut Shared<'_>, arg: usize, component: u32, index: &[String]) -> (String, bool) {
    let reader = Reader { arg, base: component as usize, entries: Vec::new() };
    match shared.kernel.args[arg].access {
        Access::Table => (format!("{}[{}]", shared.arg(arg), index[0]), true),
        Access::Read | Access::Write | Access::Shared => {
            let index: Vec<String> = index.iter().map(|i| format!("({i})")).collect();
            let place = position(shared, arg, &index);
            (format!("{}[{place}]", shared.plane(arg, component as usize)), true)
        }
        Access::All if shared.is_single(arg) => {
            shared.used.single.insert(arg);
            if component > 0 {
                shared.used.single_planes.insert(arg);
            }
            shared.extra(arg);
            let rank = index.len();
            let names = single_names(shared, arg);
            let axis = |d: usize| {
                let step = if d + 1 == rank { String::new() } else { format!(" * {}", names[1 + rank + d]) };
                format!("({} - {}){step}", index[d], names[1 + d])
            };
            let place: Vec<String> = (0..rank).map(axis).collect();
            let pointer = format!("({} + {})", shared.arg(arg), names[0]);
            (value_at(shared, &reader, &pointer, &names[2 * rank], &place.join(" + ")), true)
        }
        Access::All => {
            let mut values = vec![shared.arg(arg), shared.extra(arg)];
            values.extend(index.iter().cloned());
            if shared.plan.checked {
                values.push(shared.fault());
            }
            mention(shared, &reader);
            let name = shared.reader(reader);
            (format!("{name}({})", values.join(", ")), false)
        }
    }
}

impl<'a> Writer<'_, 'a> {
    /// Whether reads of a whole array go to the one region that it has, without looking for it.
    pub fn is_plain(&self, arg: usize) -> bool {
        let plan = self.shared.plan;
        let known = plan.cache.iter().any(|cached| cached.arg as usize == arg);
        known && plan.goal == Goal::Sweep && !plan.checked && self.shared.is_single(arg)
    }

    /// A read of a value from a tile that was fetched as codes, or from lines, if there are some for it.
    pub fn decoded_read(&mut self, id: ExprId) -> Option<String> {
        let ExprKind::Load { arg, index, component } = &self.body[id].kind else { return None };
        let Some(at) = self.shared.tile_of(id) else { return self.tagged_value(*arg as usize, index, component) };
        self.shared.tile(at).codecs.get(&component.base)?;
        self.tile_read(id, *arg as usize, index, component)
    }

    /// A read from a tile, if the plan has one for it: of a value, if memory holds codes.
    pub fn tile_read(&mut self, id: ExprId, arg: usize, index: &[ExprId], component: &Component) -> Option<String> {
        let at = self.shared.tile_of(id)?;
        if self.shared.plan.cached(arg) == Cache::CheckedTile {
            return Some(self.look_up(at, arg, index, component));
        }
        let Shape { steps, cells, .. } = self.shared.shape(at);
        let tile = self.shared.tile(at).clone();
        let offsets = tile.reads.get(&id)?;
        let walk = self.shared.scopes[at.0].walk.clone();
        let (mut terms, mut constant) = (Vec::new(), 0);
        for ((side, step), offset) in tile.sides.iter().zip(&steps).zip(offsets) {
            constant += step * offset;
            for (axis, by) in side.rates() {
                if self.shared.width(axis) == 1 {
                    continue;
                }
                let (place, cells) = (self.shared.own(&format!("in{axis}")), self.shared.own(&format!("cells{axis}")));
                let from = match self.shared.loose_place(axis).filter(|_| by > 0 && walk.is_some()) {
                    Some(place) => place,
                    None if by > 0 => place,
                    None => format!("({cells} - 1 - {place})"),
                };
                terms.push((by.abs() * step, from));
            }
            let by = side.along(walk.as_ref());
            if by != 0 {
                let (turn, count) = (self.shared.of_walk(at.0, "in"), self.shared.of_walk(at.0, "count"));
                let from = if by > 0 { turn } else { format!("({count} - 1 - {turn})") };
                terms.push((by.abs() * step, from));
            }
        }
        if self.shared.is_ahead(at) {
            terms.insert(0, (cells, self.shared.of_walk(at.0, "half")));
        }
        let name = self.shared.tile_name(at, component.base);
        Some(format!("{name}[{}]", sum(self.shared.dialect(), ScalarType::I32, &terms, constant)))
    }

    /// A call of the function that looks whether the tile has a cell.
    fn look_up(&mut self, at: (usize, usize), arg: usize, index: &[ExprId], component: &Component) -> String {
        let (reader, mut given) = self.reading(arg, index, component);
        let rank = self.shared.kernel.args[arg].rank;
        let mut values = vec![self.shared.tile_name(at, component.base)];
        values.extend((0..rank).map(|axis| self.shared.of_tile(at, &format!("from{axis}"))));
        values.extend((0..rank).map(|axis| self.shared.of_tile(at, &format!("held{axis}"))));
        values.append(&mut given);
        let Shape { steps, .. } = self.shared.shape(at);
        let tile = self.shared.tile_name(at, component.base);
        let name = self.shared.own(&format!("look_up_{tile}"));
        let codec = self.shared.tile(at).codecs.get(&component.base).copied();
        self.shared.used.lookups.insert(name.clone(), (reader, steps, codec));
        format!("{name}({})", values.join(", "))
    }
}

/// The functions that look whether a tile has a cell.
pub(super) fn lookups(shared: &mut Shared<'_>) -> Text {
    let mut text = Text::default();
    for (name, (reader, steps, codec)) in shared.used.lookups.clone() {
        let dialect = shared.dialect();
        let of = &shared.kernel.args[reader.arg];
        let ty = memory(shared.value_type(&reader, codec));
        let space = if dialect == Dialect::OpenCl { "const __local " } else { "const " };
        let mut params = vec![format!("{space}{ty}* tile")];
        params.extend((0..of.rank).map(|axis| format!("i64 from{axis}")));
        params.extend((0..of.rank).map(|axis| format!("i32 held{axis}")));
        let (more, names) = super::access::reader_params(shared, &reader);
        params.extend(more);
        let cast = if of.access == Access::Table { "(i64)" } else { "" };
        text.block(format!("{} {ty} {name}({})", dialect.device(), params.join(", ")), |text| {
            let test = |d: usize| format!("{cast}i{d} >= from{d} && {cast}i{d} < from{d} + held{d}");
            let tests: Vec<String> = (0..of.rank).map(test).collect();
            let place: Vec<(i64, String)> =
                steps.iter().enumerate().map(|(d, step)| (*step, format!("({cast}i{d} - from{d})"))).collect();
            let place = sum(dialect, ScalarType::I64, &place, 0);
            text.line(format!("if ({}) return tile[{place}];", tests.join(" && ")));
            let value = format!("{}({})", shared.reader(reader.clone()), names.join(", "));
            text.line(format!("return {};", shared.value(codec, value)));
        });
        text.line("");
    }
    text
}
