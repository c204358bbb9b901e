//! Boxes of cells on the host: cut into pieces, so that every thread has work.

use rayon::prelude::*;
use smallvec::SmallVec;

use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::step::Launch;

/// Boxes of regions; most sweeps have one.
pub(crate) type Boxes = SmallVec<[(usize, GridBox<4>); 1]>;

/// Cells of the smallest piece: below, a piece costs more than it saves.
const SMALL_PIECE: usize = 1 << 14;

/// Runs all boxes of a sweep, split so that every thread has work, in the current thread pool.
///
/// A few pieces a thread even out the threads' speeds; more would read the planes at their ends more often.
///
/// Boxes of a sweep with an order run one after the other where values are carried from one to the next.
pub(crate) fn run_boxes(launch: &dyn Launch, boxes: &[(usize, GridBox<4>)]) -> Result<(), Error> {
    let Some((order, _)) = launch.order().zip(launch.carry()) else { return run_at_once(launch, boxes) };
    let ended =
        order.layers(boxes).iter().fold(None, |failure, boxes| earlier(failure, run_at_once(launch, boxes).err()));
    ended.map_or(Ok(()), Err)
}

/// The same of boxes that know nothing of one another.
fn run_at_once(launch: &dyn Launch, boxes: &[(usize, GridBox<4>)]) -> Result<(), Error> {
    run_pieces(boxes, launch.grain(), &|region, cells| {
        // SAFETY: the graph lets a sweep run only when nothing that conflicts with it runs, its boxes do not overlap,
        // and its kernel writes the cell it runs at alone.
        unsafe { launch.run(region, cells) }
    })
}

/// Calls `run` with pieces of boxes that start at multiples of `grain`, in the current thread pool. The error is that
/// of the first cell in row-major order.
pub(crate) fn run_pieces(
    boxes: &[(usize, GridBox<4>)],
    grain: [i64; 4],
    run: &(dyn Fn(usize, GridBox<4>) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let (pieces, at_least) = pieces(boxes, grain);
    let run = |&(region, cells): &(usize, GridBox<4>)| run(region, cells);
    if let [one] = pieces.as_slice() {
        return run(one);
    }
    // All of them, whatever fails: which failure is told is not to depend on which came first.
    let failures = pieces.par_iter().with_min_len(at_least).filter_map(|piece| run(piece).err());
    failures.map(Some).reduce(|| None, earlier).map_or(Ok(()), Err)
}

/// Bytes of the cells of a part in the arrays of sweeps that run as one, those that several read once for each: what is
/// read should stay in a core's second-level cache. Less than that leaves parts of few rows, which cost more to start
/// than they save.
const PART: usize = 1 << 20;

/// Runs sweeps over the same boxes, part by part: one after the other over each part, so that the later ones find in a
/// cache what the first one read. Gives the result of each.
pub(crate) fn run_together(launches: &[&dyn Launch], boxes: &[(usize, GridBox<4>)]) -> Vec<Result<(), Error>> {
    let parts = launches.iter().filter_map(|launch| launch.part().or_else(|| launch.line()));
    let bytes: usize = parts.map(|part| part.prepared.cell_bytes()).sum();
    let grains = launches.iter().map(|launch| launch.grain());
    let grain = grains.fold([1; 4], |all: [i64; 4], grain| std::array::from_fn(|axis| all[axis].max(grain[axis])));
    let rows = launches.iter().map(|launch| launch.rows()).min().unwrap_or(i64::MAX);
    let cells_at_once = (PART / bytes.max(1)).max(1);
    let (pieces, at_least) = pieces(boxes, grain);
    let run = |(region, cells): &(usize, GridBox<4>)| {
        let mut failures: Vec<Option<Error>> = launches.iter().map(|_| None).collect();
        let mut stripe = *cells;
        while stripe.lo[2] < cells.hi[2] {
            stripe.hi[2] = stripe.lo[2].saturating_add(rows).min(cells.hi[2]);
            split(&stripe, cells_at_once, grain, &mut |part| {
                for (launch, failure) in launches.iter().zip(&mut failures) {
                    // SAFETY: as in `run_boxes`; none of the sweeps writes what another one touches, or only on the
                    // lines of this part, which no other thread runs.
                    let ran = unsafe { launch.run(*region, part) };
                    *failure = earlier(failure.take(), ran.err());
                }
            });
            stripe.lo[2] = stripe.hi[2];
        }
        failures
    };
    let both =
        |a: Vec<Option<Error>>, b: Vec<Option<Error>>| a.into_iter().zip(b).map(|(a, b)| earlier(a, b)).collect();
    let none = || launches.iter().map(|_| None).collect();
    let failures = pieces.par_iter().with_min_len(at_least).map(run).reduce(none, both);
    failures.into_iter().map(|failure| failure.map_or(Ok(()), Err)).collect()
}

/// The failure of the first of two cells in row-major order.
fn earlier(a: Option<Error>, b: Option<Error>) -> Option<Error> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.is_before(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The pieces of a sweep for the threads, and how many of them a thread should take at least.
fn pieces(boxes: &[(usize, GridBox<4>)], grain: [i64; 4]) -> (Boxes, usize) {
    let total: usize = boxes.iter().map(|(_, b)| b.cells()).sum();
    let piece = (total / (rayon::current_num_threads() * 4)).max(SMALL_PIECE);
    let mut pieces = Boxes::with_capacity(boxes.len() + total / piece);
    for (region, cells) in boxes {
        split(cells, piece, grain, &mut |part| pieces.push((*region, part)));
    }
    let at_least = (pieces.len() * SMALL_PIECE / 4 / total.max(1)).max(1);
    (pieces, at_least)
}

/// Cuts a box into parts of about `cells` cells along its slowest axis, and further if one plane is much more.
fn split(b: &GridBox<4>, cells: usize, grain: [i64; 4], give: &mut impl FnMut(GridBox<4>)) {
    let all = b.cells();
    let Some(axis) = (0..4).find(|&d| b.hi[d] - b.lo[d] > grain[d]) else {
        return give(*b);
    };
    if all <= cells + cells / 2 {
        return give(*b);
    }
    let n = (b.hi[axis] - b.lo[axis]) as usize;
    let plane = all / n;
    let parts = all.div_ceil(cells).min(n);
    for p in 0..parts {
        let mut part = *b;
        let cut = |p: usize| match p == parts {
            true => b.hi[axis],
            false => b.lo[axis] + (n * p / parts) as i64 / grain[axis] * grain[axis],
        };
        (part.lo[axis], part.hi[axis]) = (cut(p), cut(p + 1));
        if part.is_empty() {
            continue;
        }
        // Only what became smaller is cut further.
        let narrower = part.hi[axis] - part.lo[axis] <= grain[axis] && axis < 3;
        if plane > 2 * cells && narrower { split(&part, cells, grain, give) } else { give(part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_tile_the_box() {
        for (hi, piece) in
            [([1, 7, 9, 100], 64), ([1, 1, 1, 100_000], 1000), ([2, 3, 500, 64], 4096), ([1, 1, 1, 1], 1)]
        {
            let b = GridBox::new([0; 4], hi);
            let mut parts = Vec::new();
            split(&b, piece, [1; 4], &mut |p| parts.push(p));
            assert_eq!(parts.iter().map(GridBox::cells).sum::<usize>(), b.cells());
            for (i, p) in parts.iter().enumerate() {
                assert!(!p.is_empty() && b.contains_box(p));
                assert!(parts[..i].iter().all(|q| !q.overlaps(p)));
            }
        }
    }
}
