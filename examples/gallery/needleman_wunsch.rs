//! Needleman and Wunsch's alignment of two sequences: Rodinia's NW, which Lashgar's `fcw` could not express (§6.4).
//!
//! A score needs those above, to the left, and at the corner between. Blocks of 16 x 16 scores run diagonal by
//! diagonal, and inside a block its threads do, through what they share. A block writes one array and reads those of
//! the two diagonals of blocks before it, so nothing that is written is read by others: three arrays take turns, and
//! are put together at the end.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "needleman_wunsch",
        about: "Scores of alignments of two sequences, diagonal by diagonal",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 1,
        ghost: 1,
        dtypes: &[],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("score").still(),
    },
    small: "--size 96",
    input: false,
    run,
};

/// Scores of a block along each axis.
const BLOCK: usize = 16;
/// What a gap costs.
const GAP: i32 = 2;

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(3)?;
    let [height, width] = [settings.shape[0], settings.shape[1]];
    let (down, across) = (sequence(height, 0), sequence(width, height));
    let mut first = TileArray::<i32, 1>::builder([height]).everywhere().build(&acc)?;
    first.write_box(first.domain(), &down)?;
    let mut second = TileArray::<i32, 1>::builder([width]).everywhere().build(&acc)?;
    second.write_box(second.domain(), &across)?;
    // Written by this diagonal of blocks, the one before, and the one before that.
    let mut scores = settings.builder::<i32, 2>(Boundary::Open)?.cut_at_multiples([BLOCK; 2]).build(&acc)?;
    let (mut near, mut corner) = (scores.like()?, scores.like()?);
    near.fill_ghosts()?;
    corner.fill_ghosts()?;
    let mut table = scores.like()?;
    let mut diagonals = vec![Vec::new(); (height.div_ceil(BLOCK) + width.div_ceil(BLOCK)).saturating_sub(1)];
    for tile in TileIter::new(&scores).tile_size([BLOCK, BLOCK]) {
        let [row, column] = tile.cells().lo.map(|lo| lo as usize / BLOCK);
        diagonals[row + column].push(tile);
    }

    let gap = GAP;
    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tiles in &diagonals {
            for tile in tiles {
                compute_groups(
                    tile,
                    [BLOCK, BLOCK],
                    (&mut scores, &near, &corner, all(&first), all(&second)),
                    group_kernel!(|scores, near, corner, first, second, group| {
                        let beside = group.fetch(near, [1, 1], [0, 0]);
                        let across = group.fetch(corner, [1, 1], [0, 0]);
                        let s = group.channel::<i32>([1, 1], [0, 0]);
                        let best = group.private(0);
                        group.each_around([1, 1], [0, 0], |t| {
                            let [row, column] = t.at();
                            s[t] = if row < 0 {
                                (column + 1) as i32 * -gap
                            } else if column < 0 {
                                (row + 1) as i32 * -gap
                            } else if t[0] < 0 && t[1] < 0 {
                                across[t]
                            } else {
                                beside[t]
                            };
                        });
                        for diagonal in 0..31 {
                            group.each(|t| {
                                if t[0] + t[1] == diagonal {
                                    let [row, column] = t.at();
                                    let same = if first[[row]] == second[[column]] { 3 } else { -1 };
                                    let skip = s[t - [1, 0]].max(s[t - [0, 1]]) - gap;
                                    best = (s[t - [1, 1]] + same).max(skip);
                                }
                            });
                            group.each(|t| {
                                if t[0] + t[1] == diagonal {
                                    s[t] = best;
                                }
                            });
                        }
                        group.each(|t| scores[t.at()] = s[t]);
                    }),
                )?;
                compute(tile, (&mut table, &scores), kernel!(|table, scores, at| table[at] = scores[at]))?;
            }
            scores.fill_ghosts()?;
            // What was written last is read next.
            std::mem::swap(&mut near, &mut corner);
            std::mem::swap(&mut scores, &mut near);
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&table, settings.steps, seconds, || aligned(&down, &across))
}

/// Four letters in an order that a hash makes.
fn sequence(letters: usize, from: usize) -> Vec<i32> {
    (from..from + letters).map(|i| (plain::hash(i) % 4) as i32).collect()
}

/// The same by plain loops.
fn aligned(down: &[i32], across: &[i32]) -> Vec<i32> {
    let width = across.len();
    let mut above: Vec<i32> = (0..=width as i32).map(|column| -column * GAP).collect();
    let mut scores = Vec::with_capacity(down.len() * width);
    for (row, a) in down.iter().enumerate() {
        let mut line = vec![-(row as i32 + 1) * GAP];
        for (column, b) in across.iter().enumerate() {
            let same = if a == b { 3 } else { -1 };
            let skip = above[column + 1].max(line[column]) - GAP;
            line.push((above[column] + same).max(skip));
        }
        scores.extend(&line[1..]);
        above = line;
    }
    scores
}
