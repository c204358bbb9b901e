//! The classes of accesses, one small kernel each.

mod analysis_support;

use analysis_support::*;
use tida_kernels::analysis::{Analysis, IndexForm, Interval, Precalculability, Symbol, Why, analyse, is_at, latency};
use tida_kernels::ir::*;
use tida_kernels::scalar::Value;
use tida_kernels::{ElementType, ScalarType};

static NINE: ElementType = ElementType::Array { element: &INT, len: 9 };

fn for_stmt(local: LocalId, lo: ExprId, hi: ExprId, body: Block) -> Stmt {
    stmt(StmtKind::For { local, lo, hi, inclusive: false, body })
}

#[test]
fn a_stencil_has_its_halo_and_must_writes() {
    let mut b = pair(INT);
    let mut sum = b.int(0);
    for (dy, dx) in [(0, 0), (0, 1), (0, -1), (1, 0), (-2, 0)] {
        let index = vec![b.off(0, dy), b.off(1, dx)];
        let value = b.load(0, index, fixed(0));
        sum = b.add(sum, value);
    }
    let index = vec![b.at(0), b.at(1)];
    let store = b.store(1, index, fixed(0), sum);
    let kernel = b.finish(vec![store]);
    let found = analyse(&kernel);
    assert!(found.complete && !found.may_fault && !found.uses_inexact);
    let [u, next] = &found.args[..] else { panic!("two arguments") };
    assert!(u.read && u.reads_old && !u.may_write && !u.must_write);
    assert!(!next.read && !next.reads_old && next.may_write && next.must_write);
    assert_eq!(u.accesses.len(), 5);
    assert!(u.accesses.iter().all(|a| a.precalculable == Precalculability::Static && !a.conditional));
    assert_eq!(u.accesses[4].index, [form(-2, &[(Symbol::At(0), 1)]), form(0, &[(Symbol::At(1), 1)])]);
    assert!(is_at(&u.accesses[4].index[1], 1) && !is_at(&u.accesses[4].index[1], 0));
    assert_eq!(found.halo(0), Some(vec![(-2, 1), (-1, 1)]));
    assert_eq!(found.halo(1), Some(vec![(0, 0), (0, 0)]));
    assert_eq!(found.range(&u.accesses[4], &[0, 0], &[8, 9], &[]), Some(vec![between(-2, 5), between(0, 8)]));
    assert_eq!(found.read_box(0, &[0, 0], &[8, 9], &[]), Some(vec![between(-2, 8), between(-1, 9)]));
    assert_eq!(found.read_box(1, &[0, 0], &[8, 9], &[]), Some(vec![Interval::EMPTY; 2]));
    assert!(found.writes_only_at(1).is_ok());
    assert_eq!(found.reads_only_at(0).unwrap_err().span, u.accesses[1].span);
}

/// What waits for the cell before counts, the longest way alone: through locals, operands and conditions.
#[test]
fn cells_wait_for_what_they_read_of_their_own() {
    let made = |steps: &dyn Fn(&mut Builder, ExprId, ExprId, &mut Block) -> ExprId| {
        let mut b = pair(INT);
        let mut block = Vec::new();
        let before = vec![b.off(0, -1), b.at(1)];
        let before = b.load(1, before, fixed(0));
        let other = vec![b.at(0), b.at(1)];
        let other = b.load(0, other, fixed(0));
        let value = steps(&mut b, before, other, &mut block);
        let index = vec![b.at(0), b.at(1)];
        block.push(b.store(1, index, fixed(0), value));
        latency(&b.finish(block))
    };
    assert_eq!(made(&|_, before, _, _| before), 0);
    let sum = made(&|b, before, other, _| b.add(before, other));
    assert!(sum > 0);
    // Quotients of other arrays do not count, nor do locals that hold such.
    let quotient = |b: &mut Builder, x, y| b.binary(BinaryOp::Div, x, y);
    let beside = made(&|b, before, other, block| {
        let (local, divided) = (b.local("n", I64), quotient(b, other, other));
        block.push(stmt(StmtKind::Let(local, Some(divided))));
        let get = b.get(local);
        b.add(before, get)
    });
    assert_eq!(beside, sum);
    let through = made(&|b, before, other, block| {
        let (local, divided) = (b.local("n", I64), quotient(b, other, before));
        block.push(stmt(StmtKind::Let(local, Some(divided))));
        let get = b.get(local);
        b.add(other, get)
    });
    assert!(through > 3 * sum, "{through} {sum}");
    // A loop takes as long as it likes.
    let looped = made(&|b, _, other, block| {
        let local = b.local("n", I64);
        let (lo, hi) = (b.int(0), b.int(3));
        block.push(for_stmt(local, lo, hi, Vec::new()));
        other
    });
    assert!(looped > through);
}

#[test]
fn induction_is_not_precalculable() {
    let (_, found) = reads_at(|b, block| {
        let n = b.local("n", I64);
        let zero = b.int(0);
        block.push(stmt(StmtKind::Let(n, Some(zero))));
        let (get, one, three) = (b.get(n), b.int(1), b.int(3));
        let next = b.add(get, one);
        let cond = b.less(get, three);
        let body = vec![stmt(StmtKind::Assign(n, Vec::new(), next))];
        block.push(stmt(StmtKind::While { head: Vec::new(), cond, body }));
        b.get(n)
    });
    assert_eq!(first(&found).index[1], IndexForm::Opaque(Why::Induction));
    assert_eq!(first(&found).precalculable, Precalculability::No(Why::Induction));
    assert_eq!(found.range(first(&found), &[0, 0], &[4, 4], &[]), None);
    assert_eq!(found.halo(0), None);
}

#[test]
fn indirect_control_and_other_methods_are_not_precalculable() {
    let (_, indirect) = reads_at(|b, _| {
        let index = vec![b.at(0), b.at(1)];
        let value = b.load(0, index, fixed(0));
        let at = b.at(1);
        b.add(at, value)
    });
    let access = &indirect.args[0].accesses[1];
    assert_eq!(access.precalculable, Precalculability::No(Why::Indirect));

    let (_, control) = reads_at(|b, block| {
        let x = b.local("x", I64);
        block.push(stmt(StmtKind::Let(x, None)));
        let (at, zero, one) = (b.at(0), b.int(0), b.int(1));
        let cond = b.less(at, zero);
        let set = |value| vec![stmt(StmtKind::Assign(x, Vec::new(), value))];
        block.push(stmt(StmtKind::If(cond, set(zero), set(one))));
        b.get(x)
    });
    assert_eq!(first(&control).precalculable, Precalculability::No(Why::Control));

    let (_, agreed) = reads_at(|b, block| {
        let x = b.local("x", I64);
        block.push(stmt(StmtKind::Let(x, None)));
        let (at, zero) = (b.at(0), b.int(0));
        let cond = b.less(at, zero);
        let (one, other) = (b.off(1, 3), b.off(1, 3));
        let set = |value| vec![stmt(StmtKind::Assign(x, Vec::new(), value))];
        block.push(stmt(StmtKind::If(cond, set(one), set(other))));
        b.get(x)
    });
    assert_eq!(first(&agreed).index[1], form(3, &[(Symbol::At(1), 1)]));

    for op in [BinaryOp::BitAnd, BinaryOp::Div, BinaryOp::Shr, BinaryOp::Mul] {
        let (_, found) = reads_at(|b, _| {
            let (x, y) = (b.at(1), b.at(0));
            b.binary(op, x, y)
        });
        // What two coordinates give has a range, but is no sum.
        assert_eq!(first(&found).precalculable, Precalculability::Static);
        assert!(!found.moves_evenly(first(&found)));
        assert_eq!(found.may_fault, op == BinaryOp::Div);
    }
    let (_, found) = reads_at(|b, _| {
        let x = b.at(1);
        b.expr(I64, ExprKind::Method(Method::Abs, vec![x]))
    });
    assert_eq!(first(&found).precalculable, Precalculability::No(Why::Operator));
}

#[test]
fn multiples_are_affine_and_overflow_is_not() {
    let scaled = |by: i64| {
        reads_at(|b, _| {
            let (x, k) = (b.off(1, 2), b.int(by));
            let twice = b.binary(BinaryOp::Mul, x, k);
            let one = b.int(1);
            let doubled = b.binary(BinaryOp::Shl, twice, one);
            b.expr(I64, ExprKind::Unary(UnaryOp::Neg, doubled))
        })
        .1
    };
    assert_eq!(first(&scaled(3)).index[1], form(-12, &[(Symbol::At(1), -6)]));
    let found = scaled(3);
    assert_eq!(found.range(first(&found), &[0, 0], &[1, 3], &[]), Some(vec![between(0, 0), between(-24, -12)]));
    assert_eq!(first(&scaled(i64::MAX)).index[1], IndexForm::Opaque(Why::Operator));
    assert_eq!(found.range(first(&found), &[0, 0], &[1, i64::MAX], &[]), None);
    assert_eq!(found.range(first(&found), &[0, i64::MIN], &[1, 0], &[]), None);
}

#[test]
fn captures_are_quasi_static() {
    let (_, found) = reads_at(|b, _| {
        let k = b.capture("k", Type::Scalar(ScalarType::I32));
        let wide = b.cast(k, I64);
        let at = b.at(1);
        b.add(at, wide)
    });
    let access = first(&found);
    assert_eq!(access.precalculable, Precalculability::QuasiStatic);
    assert_eq!(access.index[1], form(0, &[(Symbol::At(1), 1), (Symbol::Capture(0), 1)]));
    assert_eq!(
        found.range(access, &[0, 0], &[2, 2], &[Some(Interval::point(-7))]),
        Some(vec![between(0, 1), between(-7, -6)])
    );
    assert_eq!(found.range(access, &[0, 0], &[2, 2], &[None]), None);
    assert_eq!(found.range(access, &[0, 0], &[2, 2], &[]), None);
    assert_eq!(found.halo(0), None);
}

#[test]
fn narrow_arithmetic_that_can_wrap_is_refused() {
    let (_, found) = reads_at(|b, _| {
        let k = b.capture("k", Type::Scalar(ScalarType::I32));
        let one = b.literal(Value::I32(1));
        let next = b.add(k, one);
        b.cast(next, I64)
    });
    let access = first(&found);
    let range = |k: i32| found.range(access, &[0, 0], &[1, 1], &[Some(Interval::point(k.into()))]);
    assert_eq!(range(41), Some(vec![between(0, 0), between(42, 42)]));
    assert_eq!(range(i32::MAX), None);

    // A detour through u64 keeps the value; one through u32 only where it fits.
    let detour = |ty| {
        reads_at(move |b, _| {
            let at = b.off(1, -1);
            let other = b.cast(at, Type::Scalar(ty));
            b.cast(other, I64)
        })
        .1
    };
    let wide = detour(ScalarType::U64);
    assert_eq!(wide.range(first(&wide), &[0, 0], &[1, 4], &[]), Some(vec![between(0, 0), between(-1, 2)]));
    let narrow = detour(ScalarType::U32);
    assert_eq!(narrow.range(first(&narrow), &[0, 0], &[1, 4], &[]), None);
    assert_eq!(narrow.range(first(&narrow), &[0, 1], &[1, 4], &[]), Some(vec![between(0, 0), between(0, 2)]));

    // A constant that wraps has the value it wraps to.
    let (_, found) = reads_at(|b, _| {
        let (a, c) = (b.literal(Value::U8(200)), b.literal(Value::U8(100)));
        let sum = b.add(a, c);
        b.cast(sum, I64)
    });
    assert_eq!(first(&found).index[1], form(44, &[]));
}

/// `for q in 0..bound { u[at0, at1 - q as i64] }` with a `u64` loop.
fn looped(bound: impl FnOnce(&mut Builder) -> ExprId) -> (Kernel, Analysis) {
    let mut b = pair(INT);
    let q = b.local("q", U64);
    let (lo, hi) = (b.literal(Value::U64(0)), bound(&mut b));
    let (y, x, get) = (b.at(0), b.at(1), b.get(q));
    let wide = b.cast(get, I64);
    let index = b.binary(BinaryOp::Sub, x, wide);
    let body = vec![read(&mut b, [y, index])];
    let kernel = b.finish(vec![for_stmt(q, lo, hi, body)]);
    let found = analyse(&kernel);
    (kernel, found)
}

#[test]
fn loops_have_ranges() {
    let (_, found) = looped(|b| b.literal(Value::U64(5)));
    let access = first(&found);
    assert_eq!(access.index[1], form(0, &[(Symbol::At(1), 1), (Symbol::Loop(0), -1)]));
    assert_eq!(access.precalculable, Precalculability::Static);
    assert!(!access.conditional);
    assert_eq!(found.halo(0), Some(vec![(0, 0), (-4, 0)]));
    assert_eq!(found.range(access, &[0, 0], &[1, 3], &[]), Some(vec![between(0, 0), between(-4, 2)]));

    let (_, found) = looped(|b| b.capture("n", U64));
    let access = first(&found);
    assert_eq!(access.precalculable, Precalculability::QuasiStatic);
    assert!(access.conditional);
    assert_eq!(found.halo(0), None);
    assert_eq!(
        found.range(access, &[0, 0], &[1, 3], &[Some(Interval::point(3))]),
        Some(vec![between(0, 0), between(-2, 2)])
    );
    let empty = found.range(access, &[0, 0], &[1, 3], &[Some(Interval::point(0))]).expect("known");
    assert!(empty.iter().all(Interval::is_empty));

    // A bound below 0 in i64 is huge in u64.
    let (_, found) = looped(|b| {
        let at = b.at(0);
        b.cast(at, U64)
    });
    let access = first(&found);
    assert_eq!(found.range(access, &[1, 0], &[4, 1], &[]), Some(vec![between(1, 3), between(-2, 0)]));
    assert_eq!(found.range(access, &[-1, 0], &[4, 1], &[]), None);

    let (_, found) = looped(|b| {
        let index = vec![b.at(0), b.at(1)];
        let value = b.load(0, index, fixed(0));
        b.cast(value, U64)
    });
    let access = &found.args[0].accesses[1];
    assert_eq!(access.precalculable, Precalculability::No(Why::Induction));
    assert_eq!(found.range(access, &[0, 0], &[1, 1], &[]), None);
    assert_eq!(found.halo(0), None);
}

#[test]
fn inner_loops_may_depend_on_outer_ones() {
    let mut b = pair(INT);
    let (i, j) = (b.local("i", I64), b.local("j", I64));
    let (zero, four) = (b.int(0), b.int(4));
    let (get_i, get_j, y, x) = (b.get(i), b.get(j), b.at(0), b.at(1));
    let index = b.add(x, get_j);
    let inner = vec![read(&mut b, [y, index])];
    let outer = vec![stmt(StmtKind::For { local: j, lo: zero, hi: get_i, inclusive: true, body: inner })];
    let kernel = b.finish(vec![for_stmt(i, zero, four, outer)]);
    let found = analyse(&kernel);
    assert_eq!(first(&found).loops, [0, 1]);
    assert_eq!(found.halo(0), Some(vec![(0, 0), (0, 3)]));
}

#[test]
fn entries_of_constant_arrays_have_bounds() {
    let mut b = pair(INT);
    let q = b.local("q", U64);
    let (lo, hi) = (b.literal(Value::U64(0)), b.literal(Value::U64(3)));
    let rows = [[0, 1], [-1, 0], [2, -3]].map(|row| {
        let row = row.map(|n| b.int(n)).to_vec();
        b.array(row)
    });
    let table = b.array(rows.to_vec());
    let get = b.get(q);
    let row = b.expr(b.ty(rows[0]), ExprKind::Entry(table, get));
    let index = [0, 1].map(|axis| {
        let part = b.expr(I64, ExprKind::Part(row, axis));
        let at = b.at(axis);
        b.add(at, part)
    });
    let body = vec![read(&mut b, index)];
    let kernel = b.finish(vec![for_stmt(q, lo, hi, body)]);
    let found = analyse(&kernel);
    assert_eq!(found.halo(0), Some(vec![(-1, 2), (-3, 1)]));
    assert!(!found.may_fault);
    assert_eq!(first(&found).precalculable, Precalculability::Static);

    // One iteration too many.
    let mut kernel = kernel;
    kernel.body.exprs[hi.0 as usize].kind = ExprKind::Literal(Value::U64(4));
    let found = analyse(&kernel);
    assert_eq!(found.halo(0), None);
    assert!(found.may_fault);
}

/// `for q in 0..n { next[at][base + q] = 1; extra }`.
fn filled(n: u64, base: u32, len: u32, extra: impl FnOnce(&mut Builder) -> Block) -> Analysis {
    let mut b = pair(NINE);
    let q = b.local("q", U64);
    let (lo, hi, get) = (b.literal(Value::U64(0)), b.literal(Value::U64(n)), b.get(q));
    let mut body = vec![b.store_at(1, Component { base, dynamic: vec![(get, 1, len)] })];
    body.splice(0..0, extra(&mut b));
    analyse(&b.finish(vec![for_stmt(q, lo, hi, body)]))
}

#[test]
fn a_loop_over_all_components_must_write() {
    assert!(filled(9, 0, 9, |_| Vec::new()).args[1].must_write);
    assert!(!filled(8, 0, 9, |_| Vec::new()).args[1].must_write);
    assert!(!filled(8, 1, 8, |_| Vec::new()).args[1].must_write);
    assert!(filled(8, 1, 8, |b| vec![b.store_at(1, fixed(0))]).args[1].must_write);
    let leave = |kind: StmtKind| {
        filled(9, 0, 9, |b| {
            let (at, zero) = (b.at(0), b.int(0));
            let cond = b.less(at, zero);
            vec![stmt(StmtKind::If(cond, vec![stmt(kind)], Vec::new()))]
        })
    };
    for kind in [StmtKind::Break, StmtKind::Continue, StmtKind::Return(None)] {
        let found = leave(kind);
        assert!(!found.args[1].must_write && found.args[1].may_write);
        assert!(found.args[1].accesses[0].conditional);
    }
}

#[test]
fn two_loops_over_a_matrix_must_write() {
    let mut b = pair(NINE);
    let (i, j) = (b.local("i", U64), b.local("j", U64));
    let (lo, hi) = (b.literal(Value::U64(0)), b.literal(Value::U64(3)));
    let (get_i, get_j) = (b.get(i), b.get(j));
    let store = b.store_at(1, Component { base: 0, dynamic: vec![(get_i, 3, 3), (get_j, 1, 3)] });
    let inner = vec![for_stmt(j, lo, hi, vec![store])];
    let found = analyse(&b.finish(vec![for_stmt(i, lo, hi, inner)]));
    assert!(found.args[1].must_write && !found.may_fault);
}

#[test]
fn every_path_must_write() {
    let branch = |both: bool, early: bool| {
        let mut b = pair(INT);
        let (at, zero) = (b.at(0), b.int(0));
        let cond = b.less(at, zero);
        let mut then = vec![b.store_at(1, fixed(0))];
        if early {
            then.push(stmt(StmtKind::Return(None)));
        }
        let otherwise = if both { vec![b.store_at(1, fixed(0))] } else { Vec::new() };
        analyse(&b.finish(vec![stmt(StmtKind::If(cond, then, otherwise))]))
    };
    assert!(branch(true, false).args[1].must_write);
    assert!(branch(true, true).args[1].must_write);
    assert!(!branch(false, false).args[1].must_write);
    assert!(!branch(false, true).args[1].must_write);

    // A return before the write; the write is conditional then.
    let mut b = pair(INT);
    let (at, zero) = (b.at(0), b.int(0));
    let cond = b.less(at, zero);
    let leave = stmt(StmtKind::If(cond, vec![stmt(StmtKind::Return(None))], Vec::new()));
    let store = b.store_at(1, fixed(0));
    let found = analyse(&b.finish(vec![leave, store]));
    assert!(!found.args[1].must_write && found.args[1].accesses[0].conditional);

    // A loop that may not run, and one that leaves in its middle.
    let mut b = pair(INT);
    let n = b.capture("n", I64);
    let (q, zero) = (b.local("q", I64), b.int(0));
    let store = b.store_at(1, fixed(0));
    assert!(!analyse(&b.finish(vec![for_stmt(q, zero, n, vec![store])])).args[1].must_write);
    for (bounds, breaks) in [((0, 2), false), ((0, 2), true), ((2, 2), false)] {
        let mut b = pair(INT);
        let (q, lo, hi) = (b.local("q", I64), b.int(bounds.0), b.int(bounds.1));
        let (at, zero) = (b.at(0), b.int(0));
        let cond = b.less(at, zero);
        let leave = stmt(StmtKind::If(cond, vec![stmt(StmtKind::Break)], Vec::new()));
        let mut body = if breaks { vec![leave] } else { Vec::new() };
        body.push(b.store_at(1, fixed(0)));
        let found = analyse(&b.finish(vec![for_stmt(q, lo, hi, body)]));
        assert_eq!(found.args[1].must_write, bounds.0 < bounds.1 && !breaks);
    }
    let mut b = pair(INT);
    let yes = b.literal(Value::Bool(true));
    let body = vec![b.store_at(1, fixed(0)), stmt(StmtKind::Break)];
    let found = analyse(&b.finish(vec![stmt(StmtKind::While { head: Vec::new(), cond: yes, body })]));
    assert!(found.args[1].must_write);
}

#[test]
fn reads_of_a_written_array() {
    let order = |read_first: bool, dx: i64| {
        let mut b = pair(INT);
        let index = vec![b.at(0), b.off(1, dx)];
        let value = b.load(1, index, fixed(0));
        let mut block = vec![b.eval(value), b.store_at(1, fixed(0))];
        if !read_first {
            block.reverse();
        }
        let kernel = b.finish(block);
        let found = analyse(&kernel);
        (kernel, found)
    };
    let (_, found) = order(true, 0);
    assert!(found.args[1].reads_old && found.args[1].reads_own && !found.args[1].must_write);
    assert!(found.reads_only_at(1).is_ok());
    let (_, found) = order(false, 0);
    assert!(found.args[1].read && !found.args[1].reads_old && found.args[1].must_write);
    // Another cell is old whenever it is read; the cell itself is overwritten unread.
    let (kernel, found) = order(false, 1);
    assert!(found.args[1].reads_old && !found.args[1].reads_own && found.args[1].must_write);
    let offending = found.reads_only_at(1).unwrap_err();
    assert_eq!(found.offset_text(offending, &kernel), "[0, 1]");
    assert_eq!(found.index_text(offending, &kernel), "[at[0], at[1] + 1]");
}

#[test]
fn writes_elsewhere_are_found() {
    let mut b = pair(INT);
    let index = vec![b.at(1), b.at(0)];
    let one = b.int(1);
    let (good, bad) = (b.store_at(1, fixed(0)), b.store(1, index, fixed(0), one));
    let kernel = b.finish(vec![good, bad]);
    let found = analyse(&kernel);
    let offending = found.writes_only_at(1).unwrap_err();
    assert_eq!(found.index_text(offending, &kernel), "[at[1], at[0]]");
    assert_eq!(offending.span.line, 2);

    // The same coordinate after a detour that may cut it is not the same cell.
    let mut b = pair(INT);
    let index = [0, 1].map(|axis| {
        let at = b.at(axis);
        let short = b.cast(at, Type::Scalar(ScalarType::I32));
        b.cast(short, I64)
    });
    let one = b.int(1);
    let store = b.store(1, index.to_vec(), fixed(0), one);
    let found = analyse(&b.finish(vec![store]));
    assert!(found.writes_only_at(1).is_err() && !found.args[1].must_write);

    // Two cells would write one element of an array with fewer axes.
    let mut b = Builder::new(2);
    b.arg("row", Access::Write, INT, 1);
    let (index, one) = (vec![b.at(0)], b.int(1));
    let store = b.store(0, index, fixed(0), one);
    assert!(analyse(&b.finish(vec![store])).writes_only_at(0).is_err());
}

fn function(name: &str, body: Body) -> Function {
    let (file, params, result) = (String::new(), Vec::new(), Type::Scalar(ScalarType::F64));
    Function { name: name.into(), file, params, result, body }
}

#[test]
fn functions_called_count() {
    let float = Type::Scalar(ScalarType::F64);
    let expr = |kind| Expr { ty: float.clone(), span: Span::default(), kind };
    let sine = Body {
        locals: Vec::new(),
        exprs: vec![expr(ExprKind::Literal(Value::F64(1.0))), expr(ExprKind::Method(Method::Sin, vec![ExprId(0)]))],
        block: vec![stmt(StmtKind::Return(Some(ExprId(1))))],
    };
    let through = Body {
        locals: Vec::new(),
        exprs: vec![expr(ExprKind::Call(0, Vec::new()))],
        block: vec![stmt(StmtKind::Return(Some(ExprId(0))))],
    };
    for calls in [false, true] {
        let mut b = pair(INT);
        b.kernel.functions = vec![function("sine", sine.clone()), function("through", through.clone())];
        let call = b.expr(float.clone(), ExprKind::Call(1, Vec::new()));
        let block = if calls { vec![b.eval(call)] } else { Vec::new() };
        let found = analyse(&b.finish(block));
        assert_eq!((found.uses_inexact, found.complete), (calls, true));
    }
}

#[test]
fn faults_are_seen() {
    let divided = |by: i64| {
        let mut b = pair(INT);
        let (at, by) = (b.at(0), b.int(by));
        let value = b.binary(BinaryOp::Rem, at, by);
        let s = b.eval(value);
        analyse(&b.finish(vec![s])).may_fault
    };
    assert!(!divided(2) && divided(0) && divided(-1));
    let entry = |index: u64| {
        let mut b = pair(NINE);
        let index = b.literal(Value::U64(index));
        let s = b.store_at(1, Component { base: 0, dynamic: vec![(index, 1, 9)] });
        analyse(&b.finish(vec![s])).may_fault
    };
    assert!(!entry(8) && entry(9) && entry(u64::MAX));
}

#[test]
fn code_that_is_not_well_formed_counts_as_anything() {
    let mut b = pair(INT);
    let a = b.at(0);
    let cycle = b.add(a, ExprId(2));
    let other = b.add(cycle, a);
    assert_eq!((cycle, other), (ExprId(1), ExprId(2)));
    let s = b.eval(other);
    let found = analyse(&b.finish(vec![s]));
    assert!(!found.complete && found.args.iter().all(|a| a.read && !a.must_write));
    assert!(found.writes_only_at(1).is_err() && found.reads_only_at(0).is_err());

    let mut b = pair(INT);
    let yes = b.literal(Value::Bool(true));
    let mut block = vec![b.store_at(1, fixed(0))];
    for _ in 0..300 {
        block = vec![stmt(StmtKind::If(yes, block, Vec::new()))];
    }
    assert!(!analyse(&b.finish(block)).complete);
}

#[test]
fn long_expressions_are_analysed() {
    let (_, found) = reads_at(|b, _| {
        let one = b.int(1);
        let mut x = b.at(1);
        for _ in 0..100_000 {
            x = b.add(x, one);
        }
        x
    });
    assert_eq!(first(&found).index[1], form(100_000, &[(Symbol::At(1), 1)]));

    // Shared twice at each step: 2^40 leaves.
    let doubled = |times: usize| {
        let (_, found) = reads_at(|b, _| {
            let mut x = b.at(1);
            for _ in 0..times {
                x = b.add(x, x);
            }
            x
        });
        first(&found).index[1].clone()
    };
    assert_eq!(doubled(40), form(0, &[(Symbol::At(1), 1 << 40)]));
    // So far away no cell is: what adds to such forms need not think of wrapping.
    assert_eq!(doubled(41), IndexForm::Opaque(Why::Operator));
    assert_eq!(doubled(60), IndexForm::Opaque(Why::Operator));
}

#[test]
fn the_report_shows_it_all() {
    let (kernel, found) = looped(|b| b.capture("self.n", U64));
    let expected = "\
kernel at test.rs:1, rank 2
  u (& i64, rank 2): read
        1:1   read  [at[0], at[1] - q], quasi-static, conditional
  next (&mut i64, rank 2): unused
  for q in 0..=self.n - 1, quasi-static
";
    assert_eq!(found.report(&kernel), expected);
    let (kernel, found) = reads_at(|b, _| {
        let (x, y) = (b.at(1), b.at(0));
        b.binary(BinaryOp::Rem, x, y)
    });
    let report = found.report(&kernel);
    assert!(report.contains("read  [at[0], ((at[1]) % (at[0]))], static"), "{report}");
    assert!(report.contains("can raise a fault"), "{report}");
    let (kernel, found) = reads_at(|b, _| {
        let x = b.at(1);
        b.expr(I64, ExprKind::Method(Method::Abs, vec![x]))
    });
    let report = found.report(&kernel);
    assert!(report.contains("read  [at[0], ?], not precalculable (operator: "), "{report}");
}
