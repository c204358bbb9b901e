//! Launches that follow one another in a stream, run together: lanes of rows, in each of which all launches do their
//! rows one after the other and find what those before them wrote in a cache.
//!
//! Launch `i` does in a lane the rows of the lane, moved down by its lag. So it comes after all that it needs in this
//! lane and those before it, if each lane does its steps (a plane of a launch) in the order of the launches, and a step
//! after the same step of the lane before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use crate::backend::{InLane, NativeWork};
use crate::error::{Error, panicked};
use crate::grid::GridBox;
use crate::parallel::lanes::Lanes;

/// Lanes for each thread: more fill the threads better at both ends, and share less.
const EACH: i64 = 2;

/// One plane of one launch.
struct Step {
    launch: usize,
    region: usize,
    cells: GridBox<4>,
}

/// Runs launches together, in the current thread pool. How each ended is known then.
pub(super) fn run(works: Vec<NativeWork>) {
    let launches: Vec<&InLane> = works.iter().filter_map(|work| work.in_lane.as_ref()).collect();
    let failed: Vec<Mutex<Option<Error>>> = launches.iter().map(|_| Mutex::default()).collect();
    let levels = launches.iter().flat_map(|InLane { lane, boxes, .. }| {
        boxes.iter().map(move |(_, cells)| (cells.lo[lane.axis] + lane.lag, cells.hi[lane.axis] + lane.lag))
    });
    let (start, end) = levels.fold((i64::MAX, i64::MIN), |(start, end), (lo, hi)| (start.min(lo), end.max(hi)));
    // One of the pool's threads gives the others their work.
    let threads = rayon::current_num_threads().saturating_sub(1).max(1);
    let height = (end.saturating_sub(start).max(1) as u64).div_ceil(threads as u64 * EACH as u64) as i64;
    let count = (end.saturating_sub(start).max(0) as u64).div_ceil(height as u64) as usize;
    let steps: Vec<Step> = launches.iter().enumerate().flat_map(|(launch, of)| planes(launch, of)).collect();
    let part = |lane: usize, step: usize| {
        let Step { launch, region, mut cells } = steps[step];
        let InLane { lane: of, run, .. } = launches[launch];
        let first = start + lane as i64 * height - of.lag;
        cells.lo[of.axis] = cells.lo[of.axis].max(first);
        cells.hi[of.axis] = cells.hi[of.axis].min(first + height);
        if cells.is_empty() {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| run(region, cells)));
        if let Err(error) = result.unwrap_or_else(|payload| Err(panicked("a kernel", payload))) {
            let mut failed = failed[launch].lock().unwrap_or_else(PoisonError::into_inner);
            *failed = Error::earliest(failed.take().into_iter().chain([error]));
        }
    };
    let side_by_side = Lanes::new(count);
    rayon::scope(|scope| {
        (0..threads.min(count)).for_each(|_| scope.spawn(|_| side_by_side.work(steps.len(), part)));
    });
    for (work, failed) in works.iter().zip(failed) {
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        work.outcome.set(failed.map_or(Ok(()), Err));
    }
}

/// The planes of a launch, box by box: whole rows of one plane are memory of their own for a kernel.
fn planes(launch: usize, InLane { lane, boxes, .. }: &InLane) -> impl Iterator<Item = Step> {
    let axis = lane.axis - 1;
    boxes.iter().flat_map(move |(region, cells)| {
        (cells.lo[axis]..cells.hi[axis]).map(move |plane| {
            let mut cells = *cells;
            (cells.lo[axis], cells.hi[axis]) = (plane, plane + 1);
            Step { launch, region: *region, cells }
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::backend::{Lane, Outcome};
    use crate::error::ErrorKind;

    const PLANES: i64 = 7;
    const ROWS: i64 = 40;

    type Rows = Arc<Vec<AtomicU64>>;

    fn at(plane: i64, row: i64) -> usize {
        (plane * ROWS + row) as usize
    }

    /// A launch that reads the rows and planes around each of `from` and writes that of `to`.
    fn launch(number: i64, from: &Rows, to: &Rows, fails: Option<i64>) -> NativeWork {
        let (from, to) = (from.clone(), to.clone());
        let run = move |_: usize, cells: GridBox<4>| {
            for plane in cells.lo[1]..cells.hi[1] {
                for row in cells.lo[2]..cells.hi[2] {
                    if fails == Some(row) {
                        return Err(Error::new(ErrorKind::Division, "divide", format!("row {row}"), "do not"));
                    }
                    let near =
                        (plane - 1..=plane + 1).flat_map(|plane| (row - 1..=row + 1).map(move |row| at(plane, row)));
                    let seen = near.map(|place| from[place].load(Ordering::Relaxed));
                    let value = seen.fold(number as u64 + 1, |sum, value| sum.wrapping_mul(31).wrapping_add(value));
                    to[at(plane, row)].store(value, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let boxes = vec![(0, GridBox::new([0, 1, 1, 0], [1, PLANES - 1, ROWS - 1, 1]))];
        let in_lane = Some(InLane { lane: Lane { axis: 2, lag: number }, boxes, run: Box::new(run) });
        NativeWork { in_lane, ..NativeWork::over((1, 8), Box::new(|_| Ok(()))) }
    }

    fn rows() -> [Rows; 2] {
        [0, 1].map(|of| Arc::new((0..PLANES * ROWS).map(|n| AtomicU64::new((n * n + of) as u64)).collect()))
    }

    fn values([a, b]: &[Rows; 2]) -> Vec<u64> {
        a.iter().chain(b.iter()).map(|value| value.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn launches_find_what_those_before_them_have_written() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for count in 2..12 {
                let [together, apart] = [rows(), rows()];
                let works = |of: &[Rows; 2]| -> Vec<NativeWork> {
                    let work = |n: usize| launch(n as i64, &of[n % 2], &of[(n + 1) % 2], None);
                    (0..count).map(work).collect()
                };
                for InLane { boxes, run, .. } in works(&apart).into_iter().filter_map(|work| work.in_lane) {
                    boxes.iter().for_each(|(region, cells)| run(*region, *cells).unwrap());
                }
                pool.install(|| run(works(&together)));
                assert!(values(&together) == values(&apart), "{count} launches, {threads} threads");
            }
        }
    }

    #[test]
    fn a_launch_that_fails_leaves_the_others() {
        let [from, to] = rows();
        let works: Vec<NativeWork> = [None, Some(9), None].map(|fails| launch(0, &from, &to, fails)).into();
        let outcomes: Vec<Arc<Outcome>> = works.iter().map(|work| work.outcome.clone()).collect();
        run(works);
        let ended: Vec<bool> = outcomes.iter().map(|outcome| outcome.take().is_ok()).collect();
        assert_eq!(ended, [true, false, true]);
    }
}
