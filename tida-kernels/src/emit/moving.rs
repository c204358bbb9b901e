//! Cells of a tile that are found before the first strip of a walk: their places in memory move on by the same distance
//! with each strip.

use super::Field;
use super::cache::{Reached, Shape, Strip, in_memory, number, reach, single_names, threads_of};
use super::shared::Shared;
use super::text::Text;
use super::types::memory;
use super::wide::side_by_side;
use crate::ir::Access;
use crate::plan::Dialect;
use crate::plan::cache::Cache;

/// Most cells of a tile that a thread finds each for itself, where they are not equally far from one another.
const FOUND: i64 = 4;
/// Most turns of a fetch that are written out.
const TURNS: i64 = 32;
/// Most turns whose codes wait in registers.
const STAGED: i64 = 16;

/// The places of a tile's cells.
pub(super) struct Moving {
    at: (usize, usize),
    cells: Vec<Found>,
    /// By how much pointers move.
    step: String,
    /// Values of one half of the tile.
    size: i64,
    /// Where a thread fetches cells that are equally far from one another.
    even: Option<Even>,
    /// Values that are copied at once, and what says whether they can be.
    each: i64,
    wide: Option<String>,
    /// Codes wait in registers while a strip is worked on.
    staged: bool,
}

impl Moving {
    /// What says whether these places can be fetched from, if that is known at run time alone.
    pub fn wide(&self) -> Option<&str> {
        self.wide.as_deref()
    }

    /// Whether codes wait in registers: see [`load`] and [`leave`].
    pub fn is_staged(&self) -> bool {
        self.staged
    }
}

/// A cell that a thread found.
struct Found {
    component: u32,
    test: String,
    place: String,
    pointer: String,
}

/// How a thread gets from one of its cells to the next.
struct Even {
    turns: i64,
    /// Distance in the tile, and in memory.
    place: i64,
    distance: String,
}

/// Declares what a tile of full strips needs of the first one; none if its cells are to be found anew for each strip.
/// `each` values are copied at once.
pub(super) fn begin(
    shared: &mut Shared<'_>,
    text: &mut Text,
    at: (usize, usize),
    strip: &Strip,
    each: i64,
) -> Option<Moving> {
    let tile = shared.tile(at).clone();
    let walk = shared.scopes[at.0].walk.clone()?;
    let access = shared.kernel.args[tile.arg].access;
    let placed = access != Access::All || shared.is_single(tile.arg);
    let all = threads_of(shared);
    let Shape { mut extent, steps, cells: size } = shared.shape(at);
    if let Some(last) = extent.last_mut() {
        *last /= each;
    }
    let turns = (extent.iter().product::<i64>() + all - 1) / all;
    // The axis along which the threads of a block, together, move on from turn to turn.
    let last = extent.len().saturating_sub(1);
    let along = extent.iter().position(|n| *n > 1).unwrap_or(last);
    let inner_cells: i64 = extent.iter().skip(along + 1).product();
    let evenly = turns > 1 && all % inner_cells == 0;
    let asked = matches!(shared.plan.cached(tile.arg), Cache::Tile | Cache::Preload | Cache::Tma);
    if !asked || shared.plan.checked || !placed || (turns > FOUND && !evenly) {
        return None;
    }
    let by = all / inner_cells * if along == last { each } else { 1 };
    let Reached { from, held } = reach(shared, text, at, strip);
    let (thread, mut cells) = (shared.own("thread"), Vec::new());
    for turn in 0..if evenly { 1 } else { turns } {
        let mark = |word: &str| if evenly || turns == 1 { word.to_owned() } else { format!("{word}_{turn}") };
        let inner: Vec<String> = (0..extent.len()).map(|axis| shared.of_tile(at, &mark(&format!("n{axis}")))).collect();
        let of_thread = if turn == 0 { thread.clone() } else { format!("{} + {thread}", turn * all) };
        let n = shared.of_tile(at, &mark("n"));
        number(text, &extent, each, of_thread, (&n, &inner));
        let reached = Reached { from: from.clone(), held: held.clone() };
        let (_, place, index) = reached.cell(shared.dialect(), &steps, &inner);
        // With turns, the number along that axis is of the turn.
        let mut numbers = inner;
        if let Some(number) = numbers.get_mut(along).filter(|_| evenly) {
            *number += &format!(" + {} * {by}", shared.own("turn"));
        }
        let (test, ..) = reached.cell(shared.dialect(), &steps, &numbers);
        for component in &tile.components {
            let (value, _) = in_memory(shared, tile.arg, *component, &index);
            let ty = shared.dialect().pointer(memory(shared.component_type(tile.arg, *component)), false);
            let pointer = shared.of_tile(at, &mark(&format!("at{component}")));
            text.line(format!("{ty} {pointer} = &{value};"));
            cells.push(Found { component: *component, test: test.clone(), place: place.clone(), pointer });
        }
    }
    let width = i64::from(shared.plan.width);
    let mut terms = Vec::new();
    for (axis, side) in tile.sides.iter().enumerate() {
        let by = side.along(Some(&walk)) * width;
        if by != 0 {
            terms.push(distance(shared, tile.arg, axis, by));
        }
    }
    let step = if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") };
    let even =
        evenly.then(|| Even { turns, place: by * steps[along], distance: distance(shared, tile.arg, along, by) });
    let wide = (each > 1).then(|| aligned(shared, text, at, (&from, &held), each));
    Some(Moving { at, cells, step, size, even, each, wide, staged: staged(shared, at, each) })
}

/// Whether the codes of a tile wait in registers while the strip before is worked on.
fn staged(shared: &Shared<'_>, at: (usize, usize), each: i64) -> bool {
    let (tile, cells) = (shared.tile(at), shared.shape(at).extent.iter().product::<i64>());
    let coded = tile.components.iter().all(|component| tile.codecs.contains_key(component));
    coded && shared.is_ahead(at) && cells <= each * threads_of(shared) * STAGED
}

/// How many values of a tile can be copied at once: 16 bytes where rows of the tile start at multiples of that, if
/// those in memory turn out to. Codes of as many values are read at once.
pub(super) fn at_once(shared: &Shared<'_>, at: (usize, usize)) -> i64 {
    let tile = shared.tile(at);
    let Shape { extent, steps, cells } = shared.shape(at);
    let walk = shared.scopes[at.0].walk.as_ref();
    let all = |each: i64| {
        let alike = |component: &u32| shared.held_type(at, *component).size() as i64 * each == 16;
        let rows = steps.iter().rev().skip(1).all(|step| step % each == 0) && cells % each == 0;
        let moves = tile
            .sides
            .last()
            .is_some_and(|side| side.spread == 0 && (side.along(walk) * i64::from(shared.plan.width)) % each == 0);
        let last = extent.last().is_some_and(|last| last % each == 0);
        rows && moves && last && tile.components.iter().all(alike)
    };
    let copied = shared.is_ahead(at) && shared.dialect() == Dialect::Cuda && tile.codecs.is_empty();
    [4, 2].into_iter().find(|each| (copied || staged(shared, at, *each)) && all(*each)).unwrap_or(1)
}

/// Declares whether the rows of a tile start in memory at multiples of what is copied at once, and are whole.
fn aligned(
    shared: &mut Shared<'_>,
    text: &mut Text,
    at: (usize, usize),
    (from, held): (&[String], &[String]),
    each: i64,
) -> String {
    let tile = shared.tile(at).clone();
    let mut tests = Vec::new();
    for component in &tile.components {
        let (value, _) = in_memory(shared, tile.arg, *component, from);
        let bytes = shared.component_type(tile.arg, *component).size() as i64 * each;
        tests.push(format!("((size_t)&{value} & {}) == 0", bytes - 1));
    }
    for axis in 0..from.len().saturating_sub(1) {
        tests.extend(stride(shared, tile.arg, axis).map(|stride| format!("{stride} % {each} == 0")));
    }
    if let (Some(held), Some(extent)) = (held.last(), shared.shape(at).extent.last()) {
        tests.extend((*held != extent.to_string()).then(|| format!("{held} == {extent}")));
    }
    let name = shared.of_tile(at, "wide");
    text.line(format!("const bool {name} = {};", tests.join(" && ")));
    name
}

/// The distance between neighbours along an axis of an argument; none for the last, where it is 1.
fn stride(shared: &mut Shared<'_>, arg: usize, axis: usize) -> Option<String> {
    let rank = shared.kernel.args[arg].rank;
    match shared.kernel.args[arg].access {
        _ if axis + 1 == rank => None,
        Access::All => single_names(shared, arg).get(1 + rank + axis).cloned(),
        _ => {
            let group = u32::from(shared.group(arg));
            Some(shared.field(Field::Stride(group, axis as u32)))
        }
    }
}

/// So many cells along an axis of an argument, in values.
fn distance(shared: &mut Shared<'_>, arg: usize, axis: usize, by: i64) -> String {
    stride(shared, arg, axis).map_or_else(|| by.to_string(), |stride| format!("{by} * {stride}"))
}

/// Brings the next strip's cells, into a half of the tile if it has two, and goes on to those of the one after if `on`.
pub(super) fn next(shared: &mut Shared<'_>, text: &mut Text, moving: &Moving, half: Option<&str>, on: bool) {
    let half = match half {
        None | Some("0") => String::new(),
        Some(half) => format!("{half} * {} + ", moving.size),
    };
    let turn = shared.own("turn");
    let (mut more, mut from) = (String::new(), String::new());
    if let Some(even) = &moving.even {
        more = format!(" + {turn} * {}", even.place);
        from = format!("{turn} * ({})", even.distance);
    }
    let go_on = |text: &mut Text, cell: &Found| {
        if on {
            text.line(format!("{} += {};", cell.pointer, moving.step));
        }
    };
    let mut lines = Vec::new();
    for Found { component, test, place, pointer } in &moving.cells {
        let name = shared.tile_name(moving.at, *component);
        let target = format!("{name}[{half}{place}{more}]");
        let source = if from.is_empty() { format!("*{pointer}") } else { format!("{pointer}[{from}]") };
        let address = if from.is_empty() { pointer.clone() } else { format!("{pointer} + {from}") };
        lines.push(match shared.ahead(moving.at, *component, moving.each) {
            Some(helper) => format!("if ({test}) {helper}(&{target}, {address});"),
            None => format!("if ({test}) {target} = {};", shared.decoded(moving.at, *component, source)),
        });
    }
    match &moving.even {
        Some(even) => {
            text.line(if even.turns <= TURNS { "#pragma unroll".into() } else { format!("#pragma unroll {TURNS}") });
            text.block(format!("for (i32 {turn} = 0; {turn} < {}; {turn}++)", even.turns), |text| {
                lines.iter().for_each(|line| text.line(line));
            });
            moving.cells.iter().for_each(|cell| go_on(text, cell));
        }
        None => {
            for (line, cell) in lines.iter().zip(&moving.cells) {
                text.line(line);
                go_on(text, cell);
            }
        }
    }
}

/// The registers that the codes of a cell, or of several side by side, wait in: their type and name, and that of the
/// turn.
fn waiting(shared: &mut Shared<'_>, moving: &Moving, cell: usize) -> (String, String, String) {
    let component = moving.cells[cell].component;
    let ty = memory(shared.component_type(shared.tile(moving.at).arg, component));
    let ty = if moving.each > 1 { side_by_side(shared, ty, moving.each as usize) } else { ty.to_owned() };
    let name = shared.of_tile(moving.at, &format!("next{cell}"));
    match &moving.even {
        Some(_) => (ty, name.clone(), format!("{name}[{}]", shared.own("turn"))),
        None => (ty, name.clone(), name),
    }
}

/// Declares the registers that the codes of a strip wait in.
pub(super) fn registers(shared: &mut Shared<'_>, text: &mut Text, moving: &Moving) {
    for cell in 0..moving.cells.len() {
        let (ty, name, _) = waiting(shared, moving, cell);
        text.line(match &moving.even {
            Some(even) => format!("{ty} {name}[{}];", even.turns),
            None => format!("{ty} {name};"),
        });
    }
}

/// Runs through the turns of a fetch.
fn each_turn(shared: &mut Shared<'_>, text: &mut Text, moving: &Moving, lines: Vec<String>) {
    let turn = shared.own("turn");
    let Some(even) = &moving.even else { return lines.iter().for_each(|line| text.line(line)) };
    text.line("#pragma unroll");
    text.block(format!("for (i32 {turn} = 0; {turn} < {}; {turn}++)", even.turns), |text| {
        lines.iter().for_each(|line| text.line(line));
    });
}

/// Reads the codes of the next strip, which wait in registers, and goes on to those of the one after.
pub(super) fn load(shared: &mut Shared<'_>, text: &mut Text, moving: &Moving) {
    let turn = shared.own("turn");
    let mut lines = Vec::new();
    for (cell, Found { test, pointer, .. }) in moving.cells.iter().enumerate() {
        let (ty, _, to) = waiting(shared, moving, cell);
        let from = match &moving.even {
            Some(even) => format!("{pointer} + {turn} * ({})", even.distance),
            None => pointer.clone(),
        };
        lines.push(format!("if ({test}) {to} = *({})({from});", shared.dialect().pointer(&ty, false)));
    }
    each_turn(shared, text, moving, lines);
    moving.cells.iter().for_each(|cell| text.line(format!("{} += {};", cell.pointer, moving.step)));
}

/// Decodes what waits in registers, into a half of the tile.
pub(super) fn leave(shared: &mut Shared<'_>, text: &mut Text, moving: &Moving, half: &str) {
    let half = if half == "0" { String::new() } else { format!("{half} * {} + ", moving.size) };
    let turn = shared.own("turn");
    let more = moving.even.as_ref().map_or(String::new(), |even| format!(" + {turn} * {}", even.place));
    let mut lines = Vec::new();
    for (cell, Found { component, test, place, .. }) in moving.cells.iter().enumerate() {
        let (_, _, from) = waiting(shared, moving, cell);
        let to = format!("{}[{half}{place}{more}]", shared.tile_name(moving.at, *component));
        if moving.each == 1 {
            lines.push(format!("if ({test}) {to} = {};", shared.decoded(moving.at, *component, from)));
            continue;
        }
        let value = memory(shared.held_type(moving.at, *component));
        let (many, values) = (side_by_side(shared, value, moving.each as usize), shared.own("values"));
        let space = if shared.dialect() == Dialect::OpenCl { "__local " } else { "" };
        lines.push(format!("if ({test}) {{"));
        lines.push(format!("    {many} {values};"));
        for n in 0..moving.each {
            let value = shared.decoded(moving.at, *component, format!("{from}.at[{n}]"));
            lines.push(format!("    {values}.at[{n}] = {value};"));
        }
        lines.push(format!("    *({space}{many}*)&{to} = {values};"));
        lines.push("}".into());
    }
    each_turn(shared, text, moving, lines);
}
