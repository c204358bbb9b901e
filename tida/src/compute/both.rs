//! `a && b`, `a || b` and `if c { a } else { b }` where `a` or `b` read an array.
//!
//! As Rust says it, `b` is not read where `a` or `c` decide so. Then the compiler may not read it, and makes vectors
//! with masks, or none: for numbers of 8 and 16 bits most processors have no reads with masks. Where every read was
//! proven in range, a read more changes nothing. There both are computed.

/// `a && b`.
#[inline(always)]
pub fn and(proven: bool, a: bool, b: impl FnOnce() -> bool) -> bool {
    if proven { a & b() } else { a && b() }
}

/// `a || b`.
#[inline(always)]
pub fn or(proven: bool, a: bool, b: impl FnOnce() -> bool) -> bool {
    if proven { a | b() } else { a || b() }
}

/// `if test { yes } else { no }`.
#[inline(always)]
pub fn choose<T>(proven: bool, test: bool, yes: impl FnOnce() -> T, no: impl FnOnce() -> T) -> T {
    if proven {
        let (yes, no) = (yes(), no());
        if test { yes } else { no }
    } else if test {
        yes()
    } else {
        no()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_second_one_is_computed_where_reads_are_proven_or_it_decides() {
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            for proven in [false, true] {
                let computed = Cell::new(0);
                let second = || {
                    computed.set(computed.get() + 1);
                    b
                };
                assert_eq!((and(proven, a, second), or(proven, a, second)), (a && b, a || b));
                assert_eq!(computed.get(), if proven { 2 } else { 1 });
                let third = || {
                    computed.set(computed.get() + 1);
                    !b
                };
                computed.set(0);
                assert_eq!(choose(proven, a, second, third), if a { b } else { !b });
                assert_eq!(computed.get(), if proven { 2 } else { 1 });
            }
        }
    }
}
