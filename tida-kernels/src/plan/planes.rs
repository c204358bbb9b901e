//! Planes around the cells of a block, in memory that its threads share, as they march (docs/decisions/0076-planes.md).
//!
//! A thread has several cells side by side and several rows of them. What it reads of its own column comes from
//! registers, as it does without; what it reads beside it in a plane comes from a tile, where neighbouring threads
//! read the same. The next plane of the tile is on its way while the threads compute.

use super::wide::{Row, Side};

/// Bytes of the memory that a block may have for its tiles.
const MEMORY: usize = 48 << 10;

/// Bytes of the values that copies to shared memory move one by one.
const COPIED: [usize; 2] = [4, 8];

/// 32-bit registers of a multiprocessor, those of a thread for all but its column, and the most that a thread has.
const REGISTERS: usize = 1 << 16;
const OTHERS: usize = 40;
const MOST: usize = 255;

/// What a block keeps of the planes around its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    /// Rows of cells of a thread.
    pub rows: usize,
    /// What is in tiles, by argument and component.
    pub tiles: Vec<Tile>,
}

/// The planes of a component that a block shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The argument.
    pub arg: usize,
    /// The component.
    pub component: usize,
    /// Bytes of a value.
    pub bytes: usize,
    /// The lowest and the highest plane of the tile, from the cell.
    pub planes: (i64, i64),
    /// The lowest and the highest plane of which a thread keeps its own column in registers: those that the tile has
    /// not, and what lies between them.
    pub column: Option<(i64, i64)>,
    /// Offsets along the axis before the last.
    pub across: (i64, i64),
    /// Offsets along the last axis.
    pub along: (i64, i64),
    /// Offsets along the axis before the last of rows that have others than 0 along the last.
    pub reach: (i64, i64),
}

impl Tile {
    /// Columns before the cells, so that theirs begin at a multiple of so many.
    pub fn before(&self, cells: usize) -> usize {
        (-self.along.0).max(0).unsigned_abs().next_multiple_of(cells as u64) as usize
    }

    /// Values of a row of the tile of a block of so many columns.
    pub fn pitch(&self, cells: usize, columns: usize) -> usize {
        let after = self.along.1.max(0).unsigned_abs().next_multiple_of(cells as u64) as usize;
        self.before(cells) + columns + after
    }

    /// Rows of the tile of a block that has so many.
    pub fn height(&self, rows: usize) -> usize {
        rows + (self.across.1 - self.across.0) as usize
    }

    /// Planes of the tile, with the one that comes next.
    pub fn slots(&self) -> usize {
        (self.planes.1 - self.planes.0) as usize + 2
    }

    /// Values of the column of a cell, with the one that comes next.
    pub fn queue(&self) -> usize {
        self.column.map_or(0, |(low, high)| (high - low) as usize + 2)
    }
}

/// Whether a row is of the cell's own column.
fn is_own(row: &Row) -> bool {
    row.before[1..].iter().all(|by| *by == 0) && row.along == (0, 0)
}

/// What blocks share of a march with cells side by side, where each thread has so many rows of them: if it is of three
/// axes, a wide stencil, and reads of some component more than its own column.
pub fn planes(side: &Side, rows: usize) -> Option<Planes> {
    let shape = side.is_stencil() && !side.alike && rows > 0 && side.rows.iter().all(|row| row.before.len() == 2);
    if !shape {
        return None;
    }
    let mut tiles: Vec<Tile> = Vec::new();
    for row in side.rows.iter().filter(|row| !is_own(row)) {
        let (plane, across) = (row.before[0], row.before[1]);
        let known = tiles.iter_mut().find(|tile| (tile.arg, tile.component) == (row.arg, row.component));
        let wider = |(low, high): (i64, i64), (from, to): (i64, i64)| (low.min(from), high.max(to));
        let reach = if row.along == (0, 0) { (0, 0) } else { (across.min(0), across.max(0)) };
        match known {
            Some(tile) => {
                tile.planes = wider(tile.planes, (plane, plane));
                tile.across = wider(tile.across, (across, across));
                tile.along = wider(tile.along, row.along);
                tile.reach = wider(tile.reach, reach);
            }
            None if !COPIED.contains(&row.bytes) => return None,
            None => tiles.push(Tile {
                arg: row.arg,
                component: row.component,
                bytes: row.bytes,
                planes: (plane, plane),
                column: None,
                across: (across.min(0), across.max(0)),
                along: (row.along.0.min(0), row.along.1.max(0)),
                reach,
            }),
        }
    }
    for tile in &mut tiles {
        let own = |row: &&Row| (row.arg, row.component) == (tile.arg, tile.component) && is_own(row);
        let beyond = |row: &&Row| row.before[0] < tile.planes.0 || row.before[0] > tile.planes.1;
        let column = side.rows.iter().filter(own).filter(beyond).map(|row| row.before[0]);
        tile.column = column.clone().min().zip(column.max());
    }
    (!tiles.is_empty()).then_some(Planes { rows, tiles })
}

impl Planes {
    /// Bytes of the tiles of a block.
    pub fn bytes(&self, cells: usize, block: [u32; 3]) -> usize {
        let [columns, rows] = [block[0] as usize * cells, block[1] as usize * self.rows];
        let of = |tile: &Tile| tile.slots() * tile.height(rows) * tile.pitch(cells, columns) * tile.bytes;
        self.tiles.iter().map(of).sum()
    }

    /// Whether a block of these threads has memory for them.
    pub fn fits(&self, cells: usize, block: [u32; 3]) -> bool {
        block[2] == 1 && self.bytes(cells, block) <= MEMORY
    }

    /// Blocks of these threads that a multiprocessor should hold.
    pub fn blocks(&self, cells: usize, block: [u32; 3]) -> u32 {
        let of = |tile: &Tile| tile.queue() * cells * self.rows * tile.bytes.div_ceil(4);
        let held: usize = self.tiles.iter().map(of).sum::<usize>() + OTHERS;
        let threads = block.iter().product::<u32>().max(1) as usize;
        (REGISTERS / held.min(MOST) / threads).clamp(1, 8) as u32
    }
}

/// The blocks that share planes of a kernel, and how far they march.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of cells of a thread.
    pub rows: u32,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks that a multiprocessor holds.
    pub blocks: u32,
    /// Cells of a march.
    pub march: u32,
}

/// Reads span so many cells along the axis before the last, beyond one, and fewer than so many: others were slower.
const NEAR: u32 = 8;
const FAR: u32 = 12;

/// Bytes of a value of which they were faster.
const BYTES: usize = 8;

/// Rows of a thread, threads of a block and cells of a march.
const ROWS: u32 = 1;
const BLOCK: [u32; 3] = [32, 4, 1];
const MARCH: u32 = 24;

impl Shape {
    /// Of a star of 8-byte values that reaches some four cells: of others marches without shared planes were as fast or
    /// faster (docs/decisions/0076-planes.md).
    pub(super) fn of(side: &Side) -> Option<Shape> {
        let found = planes(side, ROWS as usize)?;
        let [tile] = found.tiles.as_slice() else { return None };
        let span = (tile.across.1 - tile.across.0) as u32;
        if tile.planes.0 != tile.planes.1 || tile.column.is_none() {
            return None;
        }
        if tile.bytes != BYTES || !(NEAR..FAR).contains(&span) {
            return None;
        }
        let blocks = found.blocks(side.cells, BLOCK);
        found.fits(side.cells, BLOCK).then_some(Shape { rows: ROWS, block: BLOCK, blocks, march: MARCH })
    }

    /// How far blocks march over boxes of this extent, of so many cells in all, on a device of so many multiprocessors:
    /// half as far if too few blocks would be left, and not at all where there are fewer still, or rows do not have
    /// whole cells side by side.
    pub fn march(&self, multiprocessors: u32, extent: &[i64], all: u64, cells: u32) -> Option<u32> {
        let &[planes, rows, columns] = extent else { return None };
        let of_block = u64::from(self.rows * self.block[1]) * u64::from(cells * self.block[0]);
        if columns % i64::from(cells) != 0 || rows < i64::from(self.rows * self.block[1]) {
            return None;
        }
        let fitting = |march: &u32| {
            i64::from(*march) <= planes
                && all / (of_block * u64::from(*march)) * 2 >= 3 * u64::from(multiprocessors * self.blocks)
        };
        [self.march, self.march / 2].into_iter().find(fitting)
    }
}
