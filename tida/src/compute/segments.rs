//! Segments of a sum that are folded while their values are in registers.
//!
//! A segment has 64 cells, and is folded by halves, whatever runs it. The first three halvings leave eight values, each
//! of them made of eight cells that are eight apart. Written out, all of that is vectors, and no value goes through
//! memory. So the processor goes on reading while it folds.

use std::hint::black_box;

use crate::grid::GridBox;

/// Cells of a segment.
pub(super) const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// Values that are left of a segment after three halvings.
pub(super) const LANES: usize = SEGMENT / 8;

/// What two values become. The compiler sees which function it is, and inlines it.
pub(crate) type Combine<R> = fn(R, R) -> R;

/// What goes through memory: no part of it is in two lines of the cache, so that it can be read as soon as it is
/// written.
#[repr(align(64))]
struct InLines<T>(T);

/// Runs the cells of a box whose rows are whole segments, and folds each segment before the next one runs.
///
/// # Safety
/// `to` has room for what all segments fold to, one after the other.
#[inline(always)]
pub(super) unsafe fn segments<V, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    GridBox { lo, hi }: GridBox<D>,
    combine: Combine<R>,
    mut to: *mut R,
) {
    if (0..D).any(|d| hi[d] <= lo[d]) {
        return;
    }
    // The compiler does not know that it is 0. Else it has another form of the first cell's place than of the others',
    // and gathers them.
    let zero = black_box(0);
    let mut at = lo;
    loop {
        let mut first = at;
        while first[D - 1] < hi[D - 1] {
            let lanes = upper(
                combine,
                #[inline(always)]
                |n| {
                    let mut here = first;
                    here[D - 1] += zero + n as i64;
                    cell(views, here)
                },
            );
            let InLines(lanes) = black_box(InLines(lanes));
            // SAFETY: the caller's promise: each segment comes once.
            unsafe {
                to.write(rest(combine, lanes));
                to = to.add(1);
            }
            first[D - 1] += SEGMENT as i64;
        }
        let mut axis = D - 1;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < hi[axis] {
                break;
            }
            at[axis] = lo[axis];
        }
    }
}

/// The first three halvings of 64 values, which `value` gives by their numbers.
///
/// In a build for debugging it is a loop. Without optimisation it gains nothing to have 64 copies of a kernel, and they
/// took most of the time to build a program.
#[inline(always)]
pub(super) fn upper<T>(combine: impl Fn(T, T) -> T, value: impl Fn(usize) -> T) -> [T; LANES] {
    if cfg!(debug_assertions) { in_a_loop(combine, value) } else { written_out(combine, value) }
}

/// [`upper`], lane by lane.
#[inline(always)]
fn in_a_loop<T>(combine: impl Fn(T, T) -> T, value: impl Fn(usize) -> T) -> [T; LANES] {
    std::array::from_fn(|lane| {
        let [a, b, c, d, e, f, g, h]: [T; SEGMENT / LANES] = std::array::from_fn(|n| value(lane + n * LANES));
        let [a, b, c, d] = [combine(a, e), combine(b, f), combine(c, g), combine(d, h)];
        combine(combine(a, c), combine(b, d))
    })
}

/// [`upper`], with no loop: the compiler makes vectors of lanes that it sees side by side.
#[inline(always)]
fn written_out<T>(combine: impl Fn(T, T) -> T, value: impl Fn(usize) -> T) -> [T; LANES] {
    let (combine, value) = (&combine, &value);
    [
        lane(combine, value, 0),
        lane(combine, value, 1),
        lane(combine, value, 2),
        lane(combine, value, 3),
        lane(combine, value, 4),
        lane(combine, value, 5),
        lane(combine, value, 6),
        lane(combine, value, 7),
    ]
}

/// One of the eight.
#[inline(always)]
fn lane<T>(combine: &impl Fn(T, T) -> T, value: &impl Fn(usize) -> T, lane: usize) -> T {
    let [a, b, c, d] = [value(lane), value(lane + LANES), value(lane + 2 * LANES), value(lane + 3 * LANES)];
    let a = combine(a, value(lane + 4 * LANES));
    let b = combine(b, value(lane + 5 * LANES));
    let c = combine(c, value(lane + 6 * LANES));
    let d = combine(d, value(lane + 7 * LANES));
    combine(combine(a, c), combine(b, d))
}

/// The other three. What is between them goes through memory: the compiler would make vectors of parts that lie astride
/// of what was stored, which the processor cannot read before that is in the cache.
#[inline(always)]
pub(super) fn rest<T>(combine: impl Fn(T, T) -> T, lanes: [T; LANES]) -> T {
    let [a, b, c, d, e, f, g, h] = lanes;
    let InLines([a, b, c, d]) = black_box(InLines([combine(a, e), combine(b, f), combine(c, g), combine(d, h)]));
    let InLines([a, b]) = black_box(InLines([combine(a, c), combine(b, d)]));
    combine(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts say which values met, and in which order.
    #[test]
    fn lanes_are_the_same_in_a_loop_and_written_out() {
        let combine = |a: String, b: String| format!("({a} {b})");
        let value = |n: usize| n.to_string();
        let lanes = written_out(combine, value);
        assert_eq!(lanes[3], "(((3 35) (19 51)) ((11 43) (27 59)))");
        assert_eq!(in_a_loop(combine, value), lanes);
        assert_eq!(upper(combine, value), lanes);
        let numbers = |n: usize| 1.0 / (n as f64 - 20.3);
        let sums = [written_out(|a, b| a + b, numbers), in_a_loop(|a, b| a + b, numbers)];
        assert_eq!(sums[0].map(f64::to_bits), sums[1].map(f64::to_bits));
    }
}
