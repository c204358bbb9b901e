//! A block that marches with the planes around its cells in shared memory (see [`crate::plan::planes`]).
//!
//! Where memory lies as wide copies want it, the block copies the next plane while it computes. Else each thread reads
//! what it needs by itself, row by row of its cells.

use super::Field;
use super::access::around;
use super::helpers::Helper;
use super::kernel::{pointers, positions};
use super::march;
use super::segments::choose_box;
use super::shared::Shared;
use super::side;
use super::text::Text;
use super::wide::{component_type, side_by_side};
use crate::plan::Dialect;
use crate::plan::planes::{Planes, Tile};
use crate::plan::wide::{AHEAD, Row, Side};

/// Cells along the march that the compiler is asked to take at once, of short columns and of long ones: so registers
/// need few moves.
const UNROLL: usize = 4;
const UNROLL_LONG: usize = 2;
const LONG: usize = 12;

/// What a block is, and the names of what all parts of its text use.
struct Block<'a> {
    side: &'a Side,
    planes: &'a Planes,
    /// Cells of a thread along the last axis; cells of the block along the last axis and the one before.
    cells: usize,
    columns: usize,
    rows: usize,
    /// Threads of the block, along the last axis and the one before.
    threads: [usize; 2],
    /// The thread's place in the block; the block's first cell, and the thread's first row.
    x: String,
    y: String,
    first_column: String,
    first_row: String,
    own_row: String,
    /// Names of the march.
    t: [String; 3],
    end: String,
    extent: [String; 3],
}

impl Block<'_> {
    fn pitch(&self, tile: &Tile) -> usize {
        tile.pitch(self.cells, self.columns)
    }

    /// Values of a plane of a tile.
    fn size(&self, tile: &Tile) -> usize {
        self.pitch(tile) * tile.height(self.rows)
    }

    /// The rows of the kernel that a tile serves.
    fn rows_of<'b>(&'b self, tile: &'b Tile) -> impl Iterator<Item = &'b Row> {
        self.side.rows.iter().filter(|row| (row.arg, row.component) == (tile.arg, tile.component))
    }

    /// The rows that no tile serves.
    fn others(&self) -> impl Iterator<Item = &Row> {
        let served = |row: &Row| self.planes.tiles.iter().any(|t| (t.arg, t.component) == (row.arg, row.component));
        self.side.rows.iter().filter(move |row| !served(row))
    }
}

/// The body of a block from its first cells on.
pub(super) fn along(shared: &mut Shared<'_>, text: &mut Text, body: &Text) {
    let (Some(side), Some(planes)) = (shared.side.clone(), shared.planes.clone()) else { return };
    let dialect = shared.dialect();
    let [threads_x, threads_y, _] = shared.plan.block.map(|n| n as usize);
    let cells = side.cells;
    let block = Block {
        cells,
        columns: threads_x * cells,
        rows: threads_y * planes.rows,
        threads: [threads_x, threads_y],
        x: shared.own("thread_x"),
        y: shared.own("thread_y"),
        first_column: shared.own("first_column"),
        first_row: shared.own("first_row"),
        own_row: shared.own("own_row"),
        t: ["t0", "t1", "t2"].map(|name| shared.own(name)),
        end: shared.own("end"),
        extent: [0, 1, 2].map(|axis| format!("(i32){}", shared.field(Field::Extent(axis)))),
        side: &side,
        planes: &planes,
    };
    for tile in &planes.tiles {
        let (ty, name) = (component_type(shared, tile.arg, tile.component), tile_name(shared, tile));
        let values = block.size(tile) * tile.slots();
        text.line(match dialect {
            Dialect::Cuda => format!("__shared__ __align__(16) {ty} {name}[{values}];"),
            Dialect::OpenCl => format!("__local {ty} {name}[{values}] __attribute__((aligned(16)));"),
        });
    }
    place(shared, text, &block);
    let tests = side::tests(shared, &side);
    pointers(shared, text);
    let [start, whole, left] = ["start", "whole", "left"].map(|name| shared.own(name));
    positions(shared, text, "", &start);
    let Block { own_row, t, extent, .. } = &block;
    let tests = tests.join(" && ");
    text.line(format!("const bool {whole} = {} % {cells} == 0 && {tests};", extent[2]));
    text.line(format!("if ({whole}) {{"));
    text.depth += 1;
    wide(shared, text, &block, body);
    text.depth -= 1;
    text.line("} else {");
    text.depth += 1;
    let row = shared.own("row_number");
    text.block(format!("for (i32 {row} = 0; {row} < {}; {row}++)", planes.rows), |text| {
        text.line(format!("const i32 {} = {own_row} + {row};", t[1]));
        text.line(format!("if ({} >= {} || {} >= {}) continue;", t[1], extent[1], t[2], extent[2]));
        text.line(format!("const i32 {left} = {} - {};", extent[2], t[2]));
        positions(shared, text, "", &start);
        side::value_by_value(shared, text, &side, body);
    });
    text.depth -= 1;
    text.line("}");
}

/// Where the thread stands. A block without a cell ends; a thread without one stays to help.
fn place(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>) {
    let dialect = shared.dialect();
    let along_z = choose_box(shared, text);
    let [start, march] = ["start", "march"].map(|name| shared.own(name));
    let Block { x, y, first_column, first_row, own_row, t, end, extent, .. } = block;
    text.line(format!("const i32 {x} = (i32){};", dialect.thread(0)));
    text.line(format!("const i32 {y} = (i32){};", dialect.thread(1)));
    text.line(format!("const i32 {start} = (i32)({along_z}) * {march};"));
    text.line(format!("const i32 {first_row} = (i32){} * {};", dialect.block(1), block.rows));
    text.line(format!("const i32 {first_column} = (i32){} * {};", dialect.block(0), block.columns));
    text.line(format!(
        "if ({start} >= {} || {first_row} >= {} || {first_column} >= {}) return;",
        extent[0], extent[1], extent[2]
    ));
    text.line(format!("const i32 {end} = {0} - {start} < {march} ? {0} : {start} + {march};", extent[0]));
    text.line(format!("const i32 {own_row} = {first_row} + {y} * {};", block.planes.rows));
    text.line(format!("const i32 {} = {own_row};", t[1]));
    text.line(format!("const i32 {} = {first_column} + {x} * {};", t[2], block.cells));
}

/// The march where memory lies as wide copies want it.
fn wide(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, body: &Text) {
    let cuda = shared.dialect() == Dialect::Cuda;
    let Block { x, y, planes, cells, t, end, .. } = block;
    let start = shared.own("start");
    for tile in &planes.tiles {
        sides(shared, text, block, tile);
        let (mine, turn) = (own(shared, tile, "mine"), own(shared, tile, "turn"));
        let (pitch, rows) = (block.pitch(tile), planes.rows);
        text.line(format!("const i32 {mine} = {y} * {} + {x} * {cells} + {};", rows * pitch, tile.before(*cells)));
        text.line(format!("i32 {turn} = 0;"));
        column(shared, text, block, tile);
        for plane in tile.planes.0..=tile.planes.1 {
            let slot = (plane - tile.planes.0) as usize * block.size(tile);
            copy(shared, text, block, tile, (plane, &slot.to_string()), 1);
        }
    }
    if cuda {
        let commit = shared.helper(Helper::Commit);
        text.line(format!("{commit}();"));
    }
    let long = planes.tiles.iter().any(|tile| tile.queue() > LONG);
    if cuda {
        text.line(format!("#pragma unroll {}", if long { UNROLL_LONG } else { UNROLL }));
    }
    let next = march::next(shared);
    text.block(format!("for (i32 {0} = {start}; {0} < {end}; {next})", t[0]), |text| {
        for tile in &planes.tiles {
            move_on(shared, text, block, tile);
        }
        for row in block.others().cloned().collect::<Vec<_>>() {
            other(shared, text, block, &row);
        }
        ask_ahead(shared, text, block);
        if cuda {
            let wait = shared.helper(Helper::Wait);
            text.line(format!("{wait}();"));
        }
        text.line(shared.dialect().barrier());
        text.block(format!("if ({} + 1 < {end})", t[0]), |text| {
            for tile in &planes.tiles {
                let next = tile.planes.1 + 1;
                let slot = slot(shared, block, tile, next);
                copy(shared, text, block, tile, (next, &slot), 0);
            }
            if cuda {
                let commit = shared.helper(Helper::Commit);
                text.line(format!("{commit}();"));
            }
        });
        for tile in &planes.tiles {
            for plane in tile.planes.0..=tile.planes.1 {
                window(shared, text, block, tile, plane);
            }
        }
        for row in 0..planes.rows {
            text.block("", |text| cells_of_row(shared, text, block, row, body));
        }
        for tile in &planes.tiles {
            let turn = own(shared, tile, "turn");
            text.line(format!("{turn} = {};", slot(shared, block, tile, tile.planes.0 + 1)));
        }
    });
}

/// A name of a tile's own.
fn own(shared: &mut Shared<'_>, tile: &Tile, what: &str) -> String {
    let plane = shared.plane_name(tile.arg, tile.component);
    shared.own(&format!("{plane}_{what}"))
}

fn tile_name(shared: &mut Shared<'_>, tile: &Tile) -> String {
    own(shared, tile, "tile")
}

/// Where a plane of the tile lies, as the number of a value.
fn slot(shared: &mut Shared<'_>, block: &Block<'_>, tile: &Tile, plane: i64) -> String {
    let turn = own(shared, tile, "turn");
    let (size, all) = (block.size(tile), block.size(tile) * tile.slots());
    match (plane - tile.planes.0) as usize * size {
        0 => turn,
        after => format!("({turn} < {0} ? {turn} + {after} : {turn} - {0})", all - after),
    }
}

/// Copies a value, or values side by side, to shared memory.
fn move_values(shared: &mut Shared<'_>, tile: &Tile, values: usize, to: &str, from: &str) -> String {
    let (name, plane) = (tile_name(shared, tile), shared.plane(tile.arg, tile.component));
    let ty = component_type(shared, tile.arg, tile.component);
    match shared.dialect() {
        Dialect::Cuda => {
            let ahead = shared.helper(Helper::Ahead((values * tile.bytes) as u8));
            format!("{ahead}({name} + ({to}), {plane} + ({from}));")
        }
        Dialect::OpenCl if values == 1 => format!("{name}[{to}] = {plane}[{from}];"),
        Dialect::OpenCl => {
            let many = side_by_side(shared, ty, values);
            format!("*(__local {many}*)({name} + ({to})) = *(const __global {many}*)({plane} + ({from}));")
        }
    }
}

/// How many values the copies of a tile's sides move at once.
fn unit(block: &Block<'_>, tile: &Tile) -> usize {
    let whole = |by: i64| by.unsigned_abs().is_multiple_of(block.cells as u64);
    if whole(tile.along.0) && whole(tile.along.1) { block.cells } else { 1 }
}

/// Copies of a thread along the tile's sides: how many of them, of how many units in all, and those of a row.
fn of_sides(block: &Block<'_>, tile: &Tile) -> (usize, usize, usize) {
    let of_row = (tile.along.1 - tile.along.0) as usize / unit(block, tile);
    let all = of_row * (block.rows + (tile.reach.1 - tile.reach.0) as usize);
    (all.div_ceil(block.threads[0] * block.threads[1]), all, of_row)
}

/// What each thread copies of the columns beside the block's cells: where it lies from the thread's cell, where it
/// goes, and whether there is any. The last columns are those beside the box, where that ends before the block.
fn sides(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, tile: &Tile) {
    let (times, all, of_row) = of_sides(block, tile);
    let (unit, threads) = (unit(block, tile) as i64, block.threads[0] * block.threads[1]);
    let Block { x, y, first_column, first_row, extent, columns, cells, .. } = block;
    let stride = stride(shared, tile);
    for n in 0..times {
        let [number, row, at, from, to, has] =
            ["number", "side_row", "side_at", "from", "to", "has"].map(|what| own(shared, tile, &format!("{what}{n}")));
        let (low, _) = tile.along;
        text.line(format!("const i32 {number} = {y} * {} + {x} + {};", block.threads[0], n * threads));
        text.line(format!("const i32 {row} = {number} / {of_row} + {};", tile.reach.0));
        text.line(format!("i32 {at} = {number} % {of_row} * {unit} + {low};"));
        let width = format!("({0} - {first_column} < {columns} ? {0} - {first_column} : {columns})", extent[2]);
        text.line(format!("if ({at} >= 0) {at} += {width};"));
        text.line(format!(
            "const bool {has} = {number} < {all} && {first_row} + {row} < {} + {};",
            extent[1], tile.reach.1
        ));
        text.line(format!(
            "const i32 {from} = ({row} - {y} * {}) * {stride} + {at} - {x} * {cells};",
            block.planes.rows
        ));
        let (pitch, before) = (block.pitch(tile), tile.before(*cells));
        text.line(format!("const i32 {to} = ({row} + {}) * {pitch} + {at} + {before};", -tile.across.0));
    }
}

/// The distance between rows of the argument of a tile.
fn stride(shared: &mut Shared<'_>, tile: &Tile) -> String {
    let group = shared.group(tile.arg);
    shared.stride(group, 1)
}

/// Copies a plane, so far from the cell, into the tile: rows above and below the block's, each thread the cells at its
/// place in some of them; what it has of the sides; and the block's own rows, from the columns if they have them, which
/// are `moved` places on.
fn copy(
    shared: &mut Shared<'_>,
    text: &mut Text,
    block: &Block<'_>,
    tile: &Tile,
    (plane, slot): (i64, &str),
    moved: usize,
) {
    let (group, stride) = (shared.group(tile.arg), stride(shared, tile));
    let base = around(shared, group, &[plane, 0, 0]);
    let Block { x, y, first_row, own_row, extent, t, cells, planes, rows, .. } = block;
    let (pitch, before, threads) = (block.pitch(tile), tile.before(*cells), block.threads[1]);
    let (low, high) = tile.across;
    let kept = tile.column.filter(|(low, high)| (*low..=*high).contains(&plane));
    // The rows that are copied from memory: all, or those beside the block's own.
    let (count, apart) = match kept {
        Some(_) => ((high - low) as usize, true),
        None => (tile.height(*rows), false),
    };
    for n in 0..count.div_ceil(threads) {
        let number = if n == 0 { y.clone() } else { format!("({y} + {})", n * threads) };
        let past = if apart { format!(" + ({number} < {} ? 0 : {rows})", -low) } else { String::new() };
        let row = format!("({number}{past})");
        let mut tests =
            vec![format!("{first_row} + {row} < {} + {}", extent[1], high - low), format!("{} < {}", t[2], extent[2])];
        if (n + 1) * threads > count {
            tests.push(format!("{number} < {count}"));
        }
        let to = format!("{slot} + {row} * {pitch} + {x} * {cells} + {before}");
        let from = format!("{base} + ({row} + {low} - {y} * {}) * {stride}", planes.rows);
        let one = move_values(shared, tile, *cells, &to, &from);
        text.line(format!("if ({}) {one}", tests.join(" && ")));
    }
    for n in 0..of_sides(block, tile).0 {
        let [from, to, has] = ["from", "to", "has"].map(|what| own(shared, tile, &format!("{what}{n}")));
        let one = move_values(shared, tile, unit(block, tile), &format!("{slot} + {to}"), &format!("{base} + {from}"));
        text.line(format!("if ({has}) {one}"));
    }
    let Some((lowest, _)) = kept else { return };
    let (column, mine, name) = (own(shared, tile, "column"), own(shared, tile, "mine"), tile_name(shared, tile));
    let ty = component_type(shared, tile.arg, tile.component);
    let (many, values) = (side_by_side(shared, ty, *cells), shared.own("row"));
    let space = if shared.dialect() == Dialect::OpenCl { "__local " } else { "" };
    for row in 0..planes.rows {
        let to = format!("{slot} + {mine} + {}", (row as i64 - low) * pitch as i64);
        text.line(format!("if ({}) {{", has_cells(block, row)));
        text.line(format!("    {many} {values};"));
        for n in 0..*cells {
            let place = (plane - lowest) as usize + moved;
            text.line(format!("    {values}.at[{n}] = {column}[{row}][{place}][{n}];"));
        }
        text.line(format!("    *({space}{many}*)({name} + ({to})) = {values};"));
        // Rows of the block beyond the box that its last rows read.
        let from = around(shared, group, &[plane, row as i64, 0]);
        let one = move_values(shared, tile, *cells, &to, &from);
        let more = if row == 0 { String::new() } else { format!(" + {row}") };
        text.line(format!("}} else if ({own_row}{more} < {} + {high} && {} < {}) {one}", extent[1], t[2], extent[2]));
    }
}

/// Whether the thread has cells in the row of its rows with this number.
fn has_cells(block: &Block<'_>, row: usize) -> String {
    let Block { own_row, t, extent, .. } = block;
    let more = if row == 0 { String::new() } else { format!(" + {row}") };
    format!("{own_row}{more} < {} && {} < {}", extent[1], t[2], extent[2])
}

/// Reads values side by side from memory into an array of the thread.
fn take(shared: &mut Shared<'_>, text: &mut Text, (arg, component): (usize, usize), offsets: &[i64], to: &str) {
    let (plane, group) = (shared.plane(arg, component), shared.group(arg));
    let (ty, cells) = (component_type(shared, arg, component), shared.side.as_ref().map_or(1, |side| side.cells));
    let many = side_by_side(shared, ty, cells);
    let (pointer, from, row) =
        (shared.dialect().pointer(&many, false), around(shared, group, offsets), shared.own("row"));
    text.line(format!("const {many} {row} = *({pointer})({plane} + ({from}));"));
    for n in 0..cells {
        text.line(format!("{to}[{n}] = {row}.at[{n}];"));
    }
}

/// The column of the first cell: the newest place of each queue is for what comes next.
fn column(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, tile: &Tile) {
    let Some((low, high)) = tile.column else { return };
    let (ty, name) = (component_type(shared, tile.arg, tile.component), own(shared, tile, "column"));
    text.line(format!("{ty} {name}[{}][{}][{}];", block.planes.rows, tile.queue(), block.cells));
    for row in 0..block.planes.rows {
        text.block(format!("if ({})", has_cells(block, row)), |text| {
            for plane in low..=high {
                let to = format!("{name}[{row}][{}]", plane - low + 1);
                text.block("", |text| {
                    take(shared, text, (tile.arg, tile.component), &[plane, row as i64, 0], &to);
                });
            }
        });
    }
}

/// Takes the columns to the next cell, and reads what the cell after it has at their end.
fn move_on(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, tile: &Tile) {
    let Some((_, high)) = tile.column else { return };
    let (name, [n, e], last) = (own(shared, tile, "column"), ["n", "e"].map(|name| shared.own(name)), tile.queue() - 1);
    let (t, end) = (&block.t[0], &block.end);
    for row in 0..block.planes.rows {
        text.line("#pragma unroll");
        text.block(format!("for (i32 {n} = 0; {n} < {last}; {n}++)"), |text| {
            text.line("#pragma unroll");
            let of = format!("{name}[{row}]");
            text.line(format!("for (i32 {e} = 0; {e} < {}; {e}++) {of}[{n}][{e}] = {of}[{n} + 1][{e}];", block.cells));
        });
        text.block(format!("if ({t} + 1 < {end} && {})", has_cells(block, row)), |text| {
            let to = format!("{name}[{row}][{last}]");
            take(shared, text, (tile.arg, tile.component), &[high + 1, row as i64, 0], &to);
        });
    }
}

/// Reads what no tile has, of all rows of the thread.
fn other(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, row: &Row) {
    let (ty, name) = (component_type(shared, row.arg, row.component), other_name(shared, row));
    let held = row.held(block.cells);
    text.line(format!("{ty} {name}[{}][{}];", block.planes.rows, held.end - held.start));
    for n in 0..block.planes.rows {
        text.block(format!("if ({})", has_cells(block, n)), |text| {
            let moved = Row { before: vec![row.before[0], row.before[1] + n as i64], ..row.clone() };
            side::fill_named(shared, text, &format!("{name}[{n}]"), &moved, block.cells);
        });
    }
}

/// Asks for what no thread has read yet, planes ahead.
fn ask_ahead(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>) {
    if shared.dialect() != Dialect::Cuda {
        return;
    }
    for row in 0..block.planes.rows {
        let there = format!("{} + {AHEAD} < {} && {}", block.t[0], block.end, has_cells(block, row));
        text.block(format!("if ({there})"), |text| {
            side::ask(shared, text, block.side, row as i64);
        });
    }
}

/// What holds a row that no tile serves, for all rows of the thread.
fn other_name(shared: &mut Shared<'_>, row: &Row) -> String {
    let name = shared.row_name(row);
    shared.own(&format!("{name}_rows"))
}

/// What holds the part of a plane of a tile that a thread reads.
fn window_name(shared: &mut Shared<'_>, tile: &Tile, plane: i64) -> String {
    own(shared, tile, &format!("window{}", plane - tile.planes.0))
}

/// Reads the part of a plane of the tile that the cells of the thread need: all of it before the first of them, since
/// they share it.
fn window(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, tile: &Tile, plane: i64) {
    let cells = block.cells as i64;
    let (ty, name, tile_at) =
        (component_type(shared, tile.arg, tile.component), window_name(shared, tile, plane), tile_name(shared, tile));
    let (before, pitch) = (tile.before(block.cells) as i64, block.pitch(tile) as i64);
    let (rows, low) = (block.planes.rows as i64, tile.across.0);
    let width = before + cells + (tile.along.1 + cells - 1) / cells * cells;
    text.line(format!("{ty} {name}[{}][{width}];", rows + tile.across.1 - low));
    let column = own(shared, tile, "column");
    let (many, row_name) = (side_by_side(shared, ty, block.cells), shared.own("row"));
    let (mine, at) = (own(shared, tile, "mine"), slot(shared, block, tile, plane));
    let space = if shared.dialect() == Dialect::OpenCl { "__local " } else { "" };
    for across in low..tile.across.1 + rows {
        let here = |row: &&Row| row.before[0] == plane && (0..rows).any(|own| row.before[1] + own == across);
        let Some((from, to)) =
            block.rows_of(tile).filter(here).map(|row| row.along).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        else {
            continue;
        };
        let groups = from.div_euclid(cells)..(cells + to + cells - 1).div_euclid(cells);
        for group in groups {
            let (row, at_column) = (across - low, group * cells);
            // The thread may lack its further rows, and so their columns; the tile has what lies there.
            let kept = tile.column.filter(|(low, high)| (*low..=*high).contains(&plane));
            if let Some((lowest, _)) = kept.filter(|_| group == 0 && across == 0) {
                for n in 0..cells {
                    let value = format!("{column}[{across}][{}][{n}]", plane - lowest);
                    text.line(format!("{name}[{row}][{}] = {value};", before + n));
                }
                continue;
            }
            text.block("", |text| {
                let from = format!("{tile_at} + {at} + {mine} + ({})", row * pitch + at_column);
                text.line(format!("const {many} {row_name} = *(const {space}{many}*)({from});"));
                for n in 0..cells {
                    text.line(format!("{name}[{row}][{}] = {row_name}.at[{n}];", before + at_column + n));
                }
            });
        }
    }
}

/// Computes and stores the cells of one of the thread's rows.
fn cells_of_row(shared: &mut Shared<'_>, text: &mut Text, block: &Block<'_>, number: usize, body: &Text) {
    let cells = block.cells;
    for row in &block.side.rows {
        let (ty, name) = (component_type(shared, row.arg, row.component), shared.row_name(row));
        let held = row.held(cells);
        text.line(format!("{ty} {name}[{}];", held.end - held.start));
        let tile = block.planes.tiles.iter().find(|tile| (tile.arg, tile.component) == (row.arg, row.component));
        for n in held.clone() {
            let to = n - held.start;
            let value = match tile {
                None => format!("{}[{number}][{to}]", other_name(shared, row)),
                Some(tile) if (tile.planes.0..=tile.planes.1).contains(&row.before[0]) => {
                    let (window, before) = (window_name(shared, tile, row.before[0]), tile.before(cells) as i64);
                    format!("{window}[{}][{}]", row.before[1] + number as i64 - tile.across.0, before + n)
                }
                Some(tile) => {
                    let (column, low) = (own(shared, tile, "column"), tile.column.map_or(0, |(low, _)| low));
                    format!("{column}[{number}][{}][{n}]", row.before[0] - low)
                }
            };
            text.line(format!("{name}[{to}] = {value};"));
        }
    }
    text.block(format!("if ({})", has_cells(block, number)), |text| {
        text.line(format!("const i32 {} = {} + {number};", block.t[1], block.own_row));
        side::whole_row(shared, text, block.side, body, number as i64);
    });
}
