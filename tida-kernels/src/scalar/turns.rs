//! The values of loops that do not go up one by one: `.rev()`, `.step_by(n)`, and both.

use super::ops::{Int, cast, div};

/// What a loop takes in turn: so many values, each as far from the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Turns<T> {
    next: T,
    by: T,
    left: u64,
}

impl<T: Int> Iterator for Turns<T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        let value = self.next;
        self.next = value.add(self.by);
        self.left -= 1;
        Some(value)
    }
}

/// How many steps there are from the first value to the last, and whether there are values at all. A step of 0 divides
/// by zero, which is a [`Fault`](super::Fault).
#[inline(always)]
fn steps<T: Int>(lo: T, hi: T, inclusive: bool, by: usize) -> (u64, bool) {
    // Modulo 2^64 this is exact for every type, where there are values.
    let between = cast::<u64, T>(hi).wrapping_sub(cast(lo)).wrapping_sub(u64::from(!inclusive));
    (div(between, by as u64), lo < hi || inclusive && lo == hi)
}

#[inline(always)]
fn turns<T: Int>(first: T, by: T, (steps, any): (u64, bool)) -> Turns<T> {
    // (No one waits for the last of 2^64 turns.)
    Turns { next: first, by, left: if any { steps.saturating_add(1) } else { 0 } }
}

/// The last of a range that has values.
#[inline(always)]
fn top<T: Int>(hi: T, inclusive: bool) -> T {
    if inclusive { hi } else { hi.sub(cast(1u64)) }
}

/// `(lo..hi).rev()`.
#[inline(always)]
pub fn down<T: Int>(lo: T, hi: T, inclusive: bool) -> Turns<T> {
    down_by(lo, hi, inclusive, 1)
}

/// `(lo..hi).step_by(by)`.
#[inline(always)]
pub fn up_by<T: Int>(lo: T, hi: T, inclusive: bool, by: usize) -> Turns<T> {
    turns(lo, cast(by), steps(lo, hi, inclusive, by))
}

/// `(lo..hi).rev().step_by(by)`.
#[inline(always)]
pub fn down_by<T: Int>(lo: T, hi: T, inclusive: bool, by: usize) -> Turns<T> {
    turns(top(hi, inclusive), cast::<T, usize>(by).neg(), steps(lo, hi, inclusive, by))
}

/// `(lo..hi).step_by(by).rev()`.
#[inline(always)]
pub fn back_by<T: Int>(lo: T, hi: T, inclusive: bool, by: usize) -> Turns<T> {
    let steps = steps(lo, hi, inclusive, by);
    let by = cast::<T, usize>(by);
    turns(lo.add(cast::<T, u64>(steps.0).mul(by)), by.neg(), steps)
}

/// Most turns of the loops around a body that the compiler writes out.
const FEW: i128 = 32;

/// Whether loops inside one another, which turn so often, are short enough for the compiler to write them out.
pub const fn few(loops: &[i128]) -> bool {
    let (mut all, mut n) = (1, 0);
    while n < loops.len() && all <= FEW {
        all = whole('*', all, loops[n]);
        n += 1;
    }
    all <= FEW
}

/// How often a loop turns.
pub const fn count(lo: i128, hi: i128, inclusive: bool, by: i128) -> i128 {
    let (values, by) = (whole('+', whole('-', hi, lo), inclusive as i128), if by > 0 { by } else { 1 });
    if values > 0 { (values - 1) / by + 1 } else { 0 }
}

/// A sum, difference, product or quotient of bounds. What does not fit any type of integers is some number.
pub const fn whole(sign: char, a: i128, b: i128) -> i128 {
    match sign {
        '+' => a.saturating_add(b),
        '-' => a.saturating_sub(b),
        '*' => a.saturating_mul(b),
        _ if b != 0 => a.wrapping_div(b),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, fault};
    use super::*;

    /// Every range of a small type, by every step.
    #[test]
    fn the_values_are_those_of_rust() {
        let numbers = [0u8, 1, 2, 3, 5, 100, 127, 128, 200, 253, 254, 255];
        let same = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
            assert_eq!(a.collect::<Vec<_>>(), b.collect::<Vec<_>>());
        };
        for lo in numbers {
            for hi in numbers {
                same(&mut down(lo, hi, false), &mut (lo..hi).rev());
                same(&mut down(lo, hi, true), &mut (lo..=hi).rev());
                for by in [1, 2, 3, 7, 127, 128, 254, 255, 256, 1000, usize::MAX] {
                    same(&mut up_by(lo, hi, false, by), &mut (lo..hi).step_by(by));
                    same(&mut up_by(lo, hi, true, by), &mut (lo..=hi).step_by(by));
                    same(&mut down_by(lo, hi, false, by), &mut (lo..hi).rev().step_by(by));
                    same(&mut down_by(lo, hi, true, by), &mut (lo..=hi).rev().step_by(by));
                    same(&mut back_by(lo, hi, false, by), &mut (lo..hi).step_by(by).rev());
                    same(&mut back_by(lo, hi, true, by), &mut (lo..=hi).step_by(by).rev());
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_largest_types_are_reached() {
        let (lo, hi) = (i64::MIN, i64::MAX);
        assert!(down(lo, hi, true).take(3).eq([hi, hi - 1, hi - 2]));
        assert!(up_by(lo, hi, true, 1 << 63).eq([lo, 0]));
        assert!(up_by(lo, hi, false, usize::MAX).eq([lo]));
        assert!(up_by(lo, hi, true, usize::MAX).eq([lo, hi]));
        assert!(back_by(lo, hi, true, usize::MAX).eq([hi, lo]));
        assert!(down_by(0, u64::MAX, true, usize::MAX).eq([u64::MAX, 0]));
        assert!(up_by(i32::MIN, i32::MAX, true, 1 << 31).eq([i32::MIN, 0]));
    }

    #[test]
    fn a_step_of_zero_is_a_fault() {
        for made in [up_by::<i32>, down_by, back_by] {
            for (lo, hi) in [(2, 9), (9, 2)] {
                let turns = made(lo, hi, false, 0).count();
                assert!(matches!(fault::take(), Some(Fault::Division)));
                assert!(turns <= 1);
            }
        }
    }
}
