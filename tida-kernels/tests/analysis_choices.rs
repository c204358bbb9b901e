//! Indexes that are no sums: quotients, bounds, entries of arrays, and what only run time tells.

mod analysis_support;

use analysis_support::*;
use tida_kernels::analysis::{Interval, Precalculability, Symbol, Why};
use tida_kernels::element::ScalarType;
use tida_kernels::ir::*;
use tida_kernels::scalar::Value;

#[test]
fn quotients_and_bounds_have_ranges() {
    // What a read of `u[at0, at1 op by]` may touch over at1 in lo..hi.
    let range = |op: BinaryOp, by: i64, lo: i64, hi: i64| {
        let (_, found) = reads_at(|b, _| {
            let (x, by) = (b.at(1), b.int(by));
            b.binary(op, x, by)
        });
        assert_eq!(first(&found).precalculable, Precalculability::Static);
        assert!(!found.may_fault && !found.moves_evenly(first(&found)));
        found.range(first(&found), &[0, lo], &[1, hi], &[]).map(|r| (r[1].lo, r[1].hi))
    };
    use BinaryOp::{BitAnd, Div, Rem, Shr};
    assert_eq!(range(Div, 2, -3, 6), Some((-1, 2)));
    assert_eq!(range(Shr, 1, -3, 6), Some((-2, 2)));
    assert_eq!(range(Rem, 4, 0, 9), Some((0, 3)));
    assert_eq!(range(Rem, 4, 5, 7), Some((1, 2)));
    assert_eq!(range(Rem, 4, -2, 3), Some((-2, 2)));
    assert_eq!(range(BitAnd, 3, -2, 3), Some((0, 3)));
    assert_eq!(range(BitAnd, 3, 5, 7), Some((1, 2)));
    assert_eq!(range(BitAnd, 5, 0, 4), Some((0, 3)));
    let method = |method: Method, by: i64| {
        let (_, found) = reads_at(|b, _| {
            let (x, by) = (b.at(1), b.int(by));
            b.expr(I64, ExprKind::Method(method, vec![x, by]))
        });
        found.range(first(&found), &[0, -3], &[1, 6], &[]).map(|r| (r[1].lo, r[1].hi))
    };
    assert_eq!(method(Method::DivEuclid, 2), Some((-2, 2)));
    assert_eq!(method(Method::RemEuclid, 2), Some((0, 1)));
    assert_eq!(method(Method::Max, 0), Some((0, 5)));
    assert_eq!(method(Method::Min, 4), Some((-3, 4)));
    let (_, found) = reads_at(|b, _| {
        let args = vec![b.at(1), b.int(-1), b.int(3)];
        b.expr(I64, ExprKind::Method(Method::Clamp, args))
    });
    let clamped = |lo, hi| found.range(first(&found), &[0, lo], &[1, hi], &[]).map(|r| (r[1].lo, r[1].hi));
    assert_eq!([clamped(-3, 6), clamped(1, 3), clamped(8, 9)], [Some((-1, 3)), Some((1, 2)), Some((3, 3))]);
    // So has what bounds a value that only run time tells.
    let told = |method: Method, by: &[i64]| {
        let (_, found) = reads_at(|b, _| {
            let x = b.at(1);
            let other = b.expr(I64, ExprKind::Unary(UnaryOp::Not, x));
            let args = [other].into_iter().chain(by.iter().map(|by| b.int(*by))).collect();
            b.expr(I64, ExprKind::Method(method, args))
        });
        let access = first(&found);
        assert!(found.is_told(access) && !found.moves_evenly(access));
        assert_eq!(access.precalculable, Precalculability::No(Why::Operator));
        found.range(access, &[0, 0], &[1, 1], &[]).map(|r| (r[1].lo, r[1].hi))
    };
    assert_eq!(told(Method::Clamp, &[-1, 3]), Some((-1, 3)));
    assert_eq!(told(Method::RemEuclid, &[5]), Some((0, 4)));
    assert_eq!([told(Method::Max, &[0]), told(Method::Min, &[4])], [None, None]);
    // Of numbers it is a number.
    let (_, found) = reads_at(|b, _| {
        let (x, three) = (b.at(1), b.int(7));
        let two = b.int(2);
        let quotient = b.binary(BinaryOp::Div, three, two);
        b.add(x, quotient)
    });
    assert_eq!(first(&found).index[1], form(3, &[(Symbol::At(1), 1)]));
}

/// A cast that widens what only run time tells has the numbers of the type before it, if these are few.
#[test]
fn values_of_few_numbers_have_ranges() {
    use ScalarType::{Bool, I8, I16, I32, U8, U16, U64};
    let range = |through: &[ScalarType]| {
        let (_, found) = reads_at(|b, _| {
            let x = b.at(1);
            let told = b.expr(I64, ExprKind::Unary(UnaryOp::Not, x));
            let small = through.iter().fold(told, |value, ty| b.cast(value, Type::Scalar(*ty)));
            b.cast(small, I64)
        });
        let access = first(&found);
        assert_eq!(access.precalculable, Precalculability::No(Why::Operator));
        let range = found.range(access, &[0, 0], &[1, 1], &[]).map(|r| (r[1].lo, r[1].hi));
        assert_eq!((found.is_told(access), found.moves_evenly(access)), (range.is_some(), range.is_none()));
        range
    };
    assert_eq!([range(&[U8]), range(&[I8])], [Some((0, 255)), Some((-128, 127))]);
    assert_eq!([range(&[U16]), range(&[I16])], [Some((0, 65535)), Some((-32768, 32767))]);
    assert_eq!([range(&[I32]), range(&[U64]), range(&[])], [None; 3]);
    // What is cut off is not known; what is widened twice is.
    assert_eq!([range(&[U8, I8]), range(&[U8, U16])], [Some((-128, 127)), Some((0, 255))]);
    // The other way round, 255 is another number.
    assert_eq!(range(&[U16, U8]), Some((0, 255)));
    let (_, found) = reads_at(|b, _| {
        let (x, y) = (b.at(0), b.at(1));
        let less = b.expr(Type::Scalar(Bool), ExprKind::Compare(CompareOp::Lt, x, y));
        b.cast(less, I64)
    });
    let values = found.range(first(&found), &[0, 0], &[1, 1], &[]).map(|r| (r[1].lo, r[1].hi));
    assert_eq!(values, Some((0, 1)));
}

/// What `u[[at[0], op(at[1], n)]]` may touch over so many cells, `n` being captured.
#[test]
fn operations_with_captured_numbers_have_ranges() {
    let range = |op: BinaryOp, n: i64, lo: i64, hi: i64| {
        let (_, found) = reads_at(|b, _| {
            let (x, n) = (b.at(1), b.capture("n", I64));
            b.binary(op, x, n)
        });
        assert_eq!(first(&found).precalculable, Precalculability::QuasiStatic);
        let of = Some(Interval::point(n));
        found.range(first(&found), &[0, lo], &[1, hi], &[of]).map(|r| (r[1].lo, r[1].hi))
    };
    use BinaryOp::{BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr};
    assert_eq!(range(BitXor, 4, 0, 16), Some((0, 15)));
    assert_eq!([range(BitXor, 4, -1, 16), range(BitXor, -4, 0, 16)], [None, None]);
    assert_eq!(range(BitOr, 4, 1, 4), Some((4, 7)));
    assert_eq!([range(BitAnd, 7, 0, 16), range(BitAnd, -8, 0, 16)], [Some((0, 7)), Some((0, 15))]);
    assert_eq!([range(Div, 4, -5, 16), range(Div, 0, 0, 16)], [Some((-1, 3)), None]);
    assert_eq!([range(Rem, 4, -5, 16), range(Rem, 40, 0, 16)], [Some((-3, 3)), Some((0, 15))]);
    assert_eq!([range(Mul, -3, 0, 16), range(Mul, i64::MAX, 0, 16)], [Some((-45, 0)), None]);
    assert_eq!([range(Shl, 3, 1, 3), range(Shr, 1, -3, 6)], [Some((8, 16)), Some((-2, 2))]);
    assert_eq!([range(Shl, 64, 1, 3), range(Shr, -1, 1, 3)], [None, None]);
    // A stage of a Fourier transform of 16 numbers: `u[(at & (l - 1)) + l * (at / (2 l))]`.
    let (_, found) = reads_at(|b, _| {
        let (x, l) = (b.at(1), b.capture("l", I64));
        let (one, two) = (b.int(1), b.int(2));
        let (mask, twice) = (b.binary(BinaryOp::Sub, l, one), b.binary(Mul, two, l));
        let (within, block) = (b.binary(BitAnd, x, mask), b.binary(Div, x, twice));
        let start = b.binary(Mul, l, block);
        b.add(within, start)
    });
    for l in [1, 2, 4, 8] {
        let read = found.range(first(&found), &[0, 0], &[1, 16], &[Some(Interval::point(l))]);
        assert_eq!(read.map(|r| (r[1].lo, r[1].hi)), Some((0, 7)), "{l}");
    }
}

#[test]
fn entries_of_captured_arrays_have_ranges() {
    let (_, found) = reads_at(|b, _| {
        let of = Type::Array(std::sync::Arc::new(I64), 3);
        let t = b.capture("t", of);
        let index = b.literal(Value::U64(2));
        let entry = b.expr(I64, ExprKind::Entry(t, index));
        let at = b.at(1);
        b.add(at, entry)
    });
    let access = first(&found);
    let range = |t| found.range(access, &[0, 0], &[1, 4], &[t]);
    assert_eq!(range(Some(between(-1, 2))), Some(vec![between(0, 0), between(-1, 5)]));
    assert_eq!(range(None), None);
    // What this entry is.
    assert_eq!(found.entries, [(0, 2)]);
    let exact = [Some(between(-1, 2)), Some(between(1, 1))];
    assert_eq!(found.range(access, &[0, 0], &[1, 4], &exact), Some(vec![between(0, 0), between(1, 4)]));
    assert_eq!(access.precalculable, Precalculability::QuasiStatic);
    assert!(found.moves_evenly(access) && !found.may_fault);
}
