//! Operations with two numbers of which neither is known before: what they give for the numbers of two intervals.

use super::Interval;
use super::symbolic::int_type;
use crate::element::ScalarType;
use crate::ir::BinaryOp;

/// An operation with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// The product.
    Product,
    /// The quotient, rounded towards 0.
    Quotient,
    /// What that leaves, with the sign of the dividend.
    Rest,
    /// The quotient, rounded down.
    Floor,
    /// What that leaves, from 0 on.
    Modulo,
    /// The bits that both have.
    And,
    /// The bits that one has.
    Or,
    /// The bits that one alone has.
    Xor,
    /// The first, of so many bits, shifted to the left by the second.
    Left(u32),
    /// The same to the right.
    Right(u32),
}

/// The operation that an operator is, the first number being of this type.
pub(super) fn pair_of(op: BinaryOp, ty: ScalarType) -> Option<Pair> {
    let (width, ..) = int_type(ty)?;
    match op {
        BinaryOp::Mul => Some(Pair::Product),
        BinaryOp::Div => Some(Pair::Quotient),
        BinaryOp::Rem => Some(Pair::Rest),
        BinaryOp::BitAnd => Some(Pair::And),
        BinaryOp::BitOr => Some(Pair::Or),
        BinaryOp::BitXor => Some(Pair::Xor),
        BinaryOp::Shl => Some(Pair::Left(width)),
        BinaryOp::Shr => Some(Pair::Right(width)),
        BinaryOp::Add | BinaryOp::Sub => None,
    }
}

impl Pair {
    /// Whether it shifts: the second number may have another type.
    pub(super) fn shifts(self) -> bool {
        matches!(self, Pair::Left(_) | Pair::Right(_))
    }

    /// Whether it may give a number that its type does not have, and wrap.
    pub(super) fn may_wrap(self) -> bool {
        matches!(self, Pair::Product | Pair::Left(_))
    }

    /// What it gives for the numbers of two intervals; `None` if that is not known. Nothing is known of a divisor that
    /// may be 0.
    pub(super) fn values(self, a: Interval, b: Interval) -> Option<Interval> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        // (What shifts by as much as there are bits, or more, starts from 0 again.)
        let shifts = |width: u32| b.lo >= 0 && b.hi < i64::from(width.min(63));
        let natural = a.lo >= 0 && b.lo >= 0;
        match self {
            Pair::Product => corners(a, b, |a, b| a * b),
            Pair::Quotient if b.lo > 0 => corners(a, b, |a, b| a / b),
            Pair::Floor if b.lo > 0 => corners(a, b, i128::div_euclid),
            Pair::Rest if b.lo > 0 && a.lo >= 0 && a.hi < b.lo => Some(a),
            Pair::Rest if b.lo > 0 => {
                Some(Interval { lo: (1 - b.hi).max(a.lo.min(0)), hi: (b.hi - 1).min(a.hi.max(0)) })
            }
            Pair::Modulo if b.lo > 0 && a.lo >= 0 && a.hi < b.lo => Some(a),
            Pair::Modulo if b.lo > 0 => Some(Interval { lo: 0, hi: b.hi - 1 }),
            Pair::And if natural => Some(Interval { lo: 0, hi: a.hi.min(b.hi) }),
            Pair::And if a.lo >= 0 => Some(Interval { lo: 0, hi: a.hi }),
            Pair::And if b.lo >= 0 => Some(Interval { lo: 0, hi: b.hi }),
            Pair::Or if natural => Some(Interval { lo: a.lo.max(b.lo), hi: bits(a.hi.max(b.hi)) }),
            Pair::Xor if natural => Some(Interval { lo: 0, hi: bits(a.hi.max(b.hi)) }),
            Pair::Left(width) if shifts(width) => corners(a, b, |a, b| a << b),
            Pair::Right(width) if shifts(width) => corners(a, b, |a, b| a >> b),
            _ => None,
        }
    }

    pub(super) fn text(self, a: &str, b: &str) -> String {
        let operator = match self {
            Pair::Product => "*",
            Pair::Quotient => "/",
            Pair::Rest => "%",
            Pair::Floor => return format!("floor(({a}) / ({b}))"),
            Pair::Modulo => "mod",
            Pair::And => "&",
            Pair::Or => "|",
            Pair::Xor => "^",
            Pair::Left(_) => "<<",
            Pair::Right(_) => ">>",
        };
        format!("(({a}) {operator} ({b}))")
    }
}

/// The interval of what a function gives that, along each of its numbers, rises or falls.
fn corners(a: Interval, b: Interval, of: impl Fn(i128, i128) -> i128) -> Option<Interval> {
    let mut ends = [a.lo, a.hi].into_iter().flat_map(|a| [b.lo, b.hi].map(|b| of(i128::from(a), i128::from(b))));
    let first = ends.next()?;
    let (lo, hi) = ends.fold((first, first), |(lo, hi), end| (lo.min(end), hi.max(end)));
    Some(Interval { lo: i64::try_from(lo).ok()?, hi: i64::try_from(hi).ok()? })
}

/// The greatest number that has no more bits than this one, which is not negative.
fn bits(most: i64) -> i64 {
    most.checked_ilog2().map_or(0, |log| i64::MAX >> (62 - log.min(62)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_all_that_small_numbers_give() {
        let of: [(Pair, fn(i64, i64) -> Option<i64>); 10] = [
            (Pair::Product, |a, b| Some(a * b)),
            (Pair::Quotient, |a, b| a.checked_div(b)),
            (Pair::Rest, |a, b| a.checked_rem(b)),
            (Pair::Floor, |a, b| a.checked_div_euclid(b)),
            (Pair::Modulo, |a, b| a.checked_rem_euclid(b)),
            (Pair::And, |a, b| Some(a & b)),
            (Pair::Or, |a, b| Some(a | b)),
            (Pair::Xor, |a, b| Some(a ^ b)),
            (Pair::Left(64), |a, b| Some(a << b)),
            (Pair::Right(64), |a, b| Some(a >> b)),
        ];
        let intervals = (-7i64..=9).flat_map(|lo| (lo..=9).map(move |hi| Interval { lo, hi }));
        let intervals: Vec<Interval> = intervals.collect();
        for (pair, of) in of {
            let mut known = 0;
            for a in &intervals {
                for b in &intervals {
                    let Some(values) = pair.values(*a, *b) else { continue };
                    known += 1;
                    for x in a.lo..=a.hi {
                        for y in b.lo..=b.hi {
                            let value = of(x, y).expect("what is known is given");
                            assert!(values.lo <= value && value <= values.hi, "{x} {pair:?} {y} of {a:?}, {b:?}");
                        }
                    }
                }
            }
            assert!(known > 1000, "{pair:?}: {known}");
        }
        let both = |pair: Pair, a: i64, b: i64| {
            pair.values(Interval { lo: 0, hi: a }, Interval { lo: 0, hi: b }).map(|of| (of.lo, of.hi))
        };
        assert_eq!([both(Pair::Xor, 15, 8), both(Pair::Or, 3, 4)], [Some((0, 15)), Some((0, 7))]);
        assert_eq!([both(Pair::Xor, i64::MAX, 1), both(Pair::Xor, 0, 0)], [Some((0, i64::MAX)), Some((0, 0))]);
        assert_eq!([both(Pair::Right(8), 100, 8), both(Pair::Right(8), 100, 7)], [None, Some((0, 100))]);
        assert_eq!([both(Pair::Product, 1 << 40, 1 << 40), both(Pair::Left(64), 2, 63)], [None, None]);
    }
}
