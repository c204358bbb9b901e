//! Kernels that walk along arrays, with launches of them, run from tiles and compared with the interpreter.

use super::compare::{contents, same};
use super::host::{Grid, Grids, Launch, Rng, source};
use super::pocl;
use super::samples::{CELL, F32, F64, I32, bind, typed};
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::Source;
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::plan::Plan;
use tida_kernels::plan::cache::{Cache, Cached};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

pub fn axis(n: u64) -> Expr {
    project(at(), entry(int(n)))
}

pub fn index(of: Vec<Expr>) -> Expr {
    array(of)
}

pub fn long(ty: ScalarType) -> Type {
    Type::Scalar(ty)
}

/// `C = A B`: rows of one, columns of the other.
pub fn gemm() -> Kernel {
    gemm_of(ScalarType::F32)
}

/// The same of another type.
pub fn gemm_of(ty: ScalarType) -> Kernel {
    gemm_by(ty, BinaryOp::Mul)
}

/// The same with something else than products.
pub fn gemm_by(ty: ScalarType, op: BinaryOp) -> Kernel {
    let of = ElementType::Scalar(ty);
    let zero = if ty.is_float() { float_of("0.0", ty) } else { int_of(0, ty) };
    let turn = set_part(
        0,
        vec![],
        Some(BinaryOp::Add),
        binary(op, load(1, index(vec![axis(0), local(1)])), load(2, index(vec![local(1), axis(1)]))),
    );
    let walk = for_(1, int_of(0, ScalarType::I64), capture(0), block(vec![turn]));
    let body = block(vec![let_(0, zero), walk, store(0, at(), local(0))]);
    let args = [("c", bind(Access::Write, of, 2)), ("a", bind(Access::All, of, 2)), ("b", bind(Access::All, of, 2))];
    typed("gemm.rs", 2, &args, &[("length", long(ScalarType::I64))], &["sum", "k"], body, vec![], None)
}

/// `y = y + A x`: each cell goes along a row.
pub fn matvec() -> Kernel {
    let turn = mul(load(1, index(vec![axis(0), local(1)])), load(2, index(vec![local(1)])));
    let turn = set_part(0, vec![], Some(BinaryOp::Add), turn);
    let walk = for_(1, int_of(0, ScalarType::I64), capture(0), block(vec![turn]));
    let body = block(vec![let_(0, load(0, at())), walk, store(0, at(), local(0))]);
    let args = [("y", bind(Access::Write, F32, 1)), ("a", bind(Access::All, F32, 2)), ("x", bind(Access::All, F32, 1))];
    typed("matvec.rs", 1, &args, &[("length", long(ScalarType::I64))], &["sum", "k"], body, vec![], None)
}

/// Every cell reads the same bodies at the same time.
pub fn nbody() -> Kernel {
    let part = |index: Expr, n: &str| load_part(1, index, vec![field(n)]);
    let v = |index: Expr, n: u64| load_part(1, index, vec![field("v"), entry(int(n))]);
    let far = sub(v(index(vec![local(1)]), 0), v(at(), 0));
    let turn = block(vec![
        let_(2, far),
        set_part(
            0,
            vec![],
            Some(BinaryOp::Add),
            div(part(index(vec![local(1)]), "rho"), add(mul(local(2), local(2)), float(0.5))),
        ),
    ]);
    let walk = for_(1, int_of(0, ScalarType::I64), capture(0), turn);
    let body = block(vec![let_(0, float(0.0)), walk, store(0, at(), local(0))]);
    let args = [("pull", bind(Access::Write, F64, 1)), ("bodies", bind(Access::All, CELL, 1))];
    typed("nbody.rs", 1, &args, &[("count", long(ScalarType::I64))], &["sum", "j", "d"], body, vec![], None)
}

/// Rows and columns from cells that a region holds, and a stencil.
pub fn jacobi() -> Kernel {
    let u = |o: &[i64]| load(1, at_plus(o));
    let sum = add(add(u(&[-1, 0]), u(&[1, 0])), add(u(&[0, -1]), u(&[0, 2])));
    let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
    typed("jacobi.rs", 2, &args, &[], &[], block(vec![store(0, at(), sub(sum, u(&[0, 0])))]), vec![], None)
}

/// The whole array of one region, or of several.
pub fn whole(element: ElementType, shape: &[i64], cut: bool, rng: &mut Rng) -> Grid {
    let ends: Vec<Vec<i64>> = shape.iter().map(|n| if cut && *n > 2 { vec![*n / 3, *n] } else { vec![*n] }).collect();
    Grid::whole(element, &ends, rng)
}

pub fn cached(kernel: &Kernel, launch: &Launch, how: Cache) -> Vec<Cached> {
    let of = |(n, grid): (usize, &Grid)| Cached { arg: n as u8, how, cut: grid.regions.len() > 1 };
    let reads = launch.grids.0.iter().enumerate().filter(|(n, _)| kernel.args[*n].access != Access::Write);
    reads.map(of).collect()
}

/// Runs a launch as the plan says, and compares with the interpreter.
pub fn check(kernel: &Kernel, launch: &Launch, plan: &Plan, expected: &Grids, label: &str) -> Source {
    let source = source(kernel, plan);
    let mut found = launch.clone();
    let (_, raised) = pocl::run(kernel, plan, &source, &mut found, 0);
    assert!(raised.is_none(), "{label}: {raised:?}\n{}", source.text);
    for arg in 0..launch.grids.0.len() {
        if expected.0[arg].bytes == found.grids.0[arg].bytes {
            continue;
        }
        for (a, b) in contents(expected, arg).into_iter().zip(contents(&found.grids, arg)) {
            let place = a.0;
            assert!(same(a.2, b.2), "{label}: {arg} at {place:?}: {:?}, not {:?}\n{}", b.2, a.2, source.text);
        }
    }
    source
}

pub fn expected(kernel: &Kernel, launch: &Launch) -> Grids {
    let mut grids = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let (_, fault) = run_box(kernel, &launch.captures, lo, hi, &mut grids, 1_000_000).unwrap();
    assert!(fault.is_none(), "{fault:?}\n{kernel}");
    grids
}

/// A launch over `0..extent`, cut into two boxes along axis 0.
pub fn launch(kernel: &Kernel, grids: Vec<Grid>, extent: &[i64], captures: Vec<Value>) -> Launch {
    let (lo, hi) = (vec![0; kernel.rank], extent.to_vec());
    let (mut a, mut b) = (hi.clone(), lo.clone());
    (a[0], b[0]) = (extent[0] / 3, extent[0] / 3);
    let boxes = vec![(lo.clone(), a), (b, hi.clone())].into_iter().filter(|(lo, hi)| lo[0] < hi[0]).collect();
    Launch { captures, grids: Grids(grids), whole: (lo, hi), boxes }
}

pub fn written(element: ElementType, extent: &[i64], rng: &mut Rng) -> Grid {
    Grid::tiled(Access::Write, element, &vec![0; extent.len()], extent, rng)
}

pub fn product(n: [i64; 3], cut: bool, rng: &mut Rng) -> (Kernel, Launch) {
    product_of(gemm(), n, cut, rng)
}

pub fn product_of(kernel: Kernel, n: [i64; 3], cut: bool, rng: &mut Rng) -> (Kernel, Launch) {
    let grids = vec![
        written(kernel.args[0].element, &[n[0], n[1]], rng),
        whole(kernel.args[1].element, &[n[0], n[2]], cut, rng),
        whole(kernel.args[2].element, &[n[2], n[1]], cut, rng),
    ];
    let launch = launch(&kernel, grids, &[n[0], n[1]], vec![Value::I64(n[2])]);
    (kernel, launch)
}

pub fn bodies(n: i64, cut: bool, rng: &mut Rng) -> (Kernel, Launch) {
    let kernel = nbody();
    let grids = vec![written(F64, &[n], rng), whole(CELL, &[n], cut, rng)];
    let launch = launch(&kernel, grids, &[n], vec![Value::I64(n)]);
    (kernel, launch)
}

pub fn rows(n: [i64; 2], rng: &mut Rng) -> (Kernel, Launch) {
    let kernel = matvec();
    let grids = vec![written(F32, &n[..1], rng), whole(F32, &n, false, rng), whole(F32, &n[1..], false, rng)];
    let launch = launch(&kernel, grids, &n[..1], vec![Value::I64(n[1])]);
    (kernel, launch)
}

/// The interval of a form over a box and the counters of loops.
struct Range {
    lo: i64,
    hi: i64,
}

impl Range {
    fn plus(self, by: i64, lo: i64, hi: i64) -> Range {
        Range { lo: self.lo + (by * lo).min(by * hi), hi: self.hi + (by * lo).max(by * hi) }
    }
}

/// A kernel with walks and reads around the cell, and a launch of it: what is read is held, and no more.
pub fn random(rng: &mut Rng) -> (Kernel, Launch) {
    let rank = 1 + rng.below(3) as usize;
    let extent: Vec<i64> = [vec![5, 6, 19], vec![7, 21], vec![83]][3 - rank].clone();
    let pick = |rng: &mut Rng, of: &[i64]| of[rng.below(of.len() as u64) as usize];
    // Counters of two loops, one in the other, and one that comes after them.
    let captured: Vec<i64> = (0..3).map(|_| 1 + rng.below(21) as i64).collect();
    let starts: Vec<i64> = (0..3).map(|_| rng.below(4) as i64).collect();
    let inclusive: Vec<bool> = (0..3).map(|_| rng.below(3) == 0).collect();
    let last = |n: usize| if inclusive[n] { captured[n] } else { captured[n] - 1 };
    let mut shapes: Vec<(Access, ElementType, usize, Vec<Range>)> = Vec::new();
    for _ in 0..2 + rng.below(2) {
        let element = [F64, F32, I32, CELL][rng.below(4) as usize];
        let (access, of) = match rng.below(4) {
            0 => (Access::Read, rank),
            1 => (Access::Table, 1),
            _ => (Access::All, 1 + rng.below(2) as usize),
        };
        let element = if access == Access::Table { F64 } else { element };
        shapes.push((access, element, of, Vec::new()));
    }
    // An index: along each axis multiples of the cell's coordinates and of the counters, made to start at 0 or above.
    let mut read = |rng: &mut Rng, loops: &[(u32, usize)]| {
        let n = rng.below(shapes.len() as u64) as usize;
        let (access, element, of, ranges) = &mut shapes[n];
        let mut index = Vec::new();
        for axis_of in 0..*of {
            let (mut form, mut range) = (signed(0), Range { lo: 0, hi: 0 });
            let mut term = |by: i64, of: Expr, lo: i64, hi: i64, range: Range| {
                let part = if by == 1 { of } else { mul(signed(by), of) };
                form = add(form.clone(), part);
                range.plus(by, lo, hi)
            };
            let along = if *access == Access::Read { axis_of } else { rng.below(rank as u64) as usize };
            if *access == Access::Read || rng.below(2) == 0 {
                let by = if *access == Access::Read { 1 } else { pick(rng, &[1, 1, 1, 2, -1]) };
                range = term(by, axis(along as u64), 0, extent[along] - 1, range);
            }
            for (local_, number) in loops {
                if *access != Access::Read && rng.below(2) == 0 {
                    let by = pick(rng, &[1, 1, 1, 3, -2]);
                    let counter = cast(local(*local_), ScalarType::I64);
                    range = term(by, counter, starts[*number], last(*number).max(starts[*number]), range);
                }
            }
            let by = rng.below(4) as i64 - if *access == Access::Read { 2 } else { 0 };
            let by = if *access == Access::Read { by } else { by - range.lo };
            let (lo, hi) = (range.lo + by, range.hi + by);
            let place = add(form, signed(by));
            index.push(if *access == Access::Table { cast(place, ScalarType::U64) } else { place });
            match ranges.get_mut(axis_of) {
                Some(known) => *known = Range { lo: known.lo.min(lo), hi: known.hi.max(hi) },
                None => ranges.push(Range { lo, hi }),
            }
        }
        let path = if *element == CELL {
            vec![vec![field("rho")], vec![field("kind")]][rng.below(2) as usize].clone()
        } else {
            vec![]
        };
        let place = if *access == Access::Table { index.remove(0) } else { array(index) };
        cast(load_part(n as u32 + 1, place, path), ScalarType::F64)
    };
    let sum = |rng: &mut Rng, count: u64, read: &mut dyn FnMut(&mut Rng) -> Expr| {
        let mut all = read(rng);
        for n in 0..count {
            let value = read(rng);
            all = if n % 2 == 0 { add(all, value) } else { sub(all, mul(capture(3), value)) };
        }
        all
    };
    let types = [ScalarType::I64, ScalarType::I32, ScalarType::U64];
    let counter: Vec<ScalarType> = (0..3).map(|_| types[rng.below(3) as usize]).collect();
    let for_of = |n: usize, local_: u32, body: Vec<Stmt>| {
        let (lo, hi) = (int_of(starts[n] as u64, counter[n]), cast(capture(n as u32), counter[n]));
        stmt(StmtKind::For {
            local: local_,
            range: tida_kernels::quote::Range::plain(lo, hi, inclusive[n]),
            body: block(body),
        })
    };
    let add_to = |value: Expr| set_part(0, vec![], Some(BinaryOp::Add), value);
    let mut body = vec![let_(0, sum(rng, 1, &mut |rng| read(rng, &[])))];
    let inner = add_to(sum(rng, 1, &mut |rng| read(rng, &[(1, 0), (2, 1)])));
    let mut turns = vec![inner];
    if rng.below(2) == 0 {
        // Some iterations end early.
        let odd = compare(CompareOp::Eq, cast(local(2), ScalarType::I64), axis(0));
        turns.push(eval(if_then(odd, block(vec![stmt(StmtKind::Continue(0))]))));
        turns.push(add_to(sum(rng, 0, &mut |rng| read(rng, &[(1, 0), (2, 1)]))));
    }
    let mut around = vec![for_of(1, 2, turns)];
    if rng.below(3) == 0 {
        around.push(add_to(sum(rng, 0, &mut |rng| read(rng, &[(1, 0)]))));
    }
    body.push(for_of(0, 1, around));
    let mut after = vec![add_to(sum(rng, 1, &mut |rng| read(rng, &[(3, 2)])))];
    if rng.below(2) == 0 {
        let more = compare(CompareOp::Gt, local(0), float(0.0));
        after.push(eval(if_then(more, block(vec![add_to(sum(rng, 0, &mut |rng| read(rng, &[(3, 2)])))]))));
    }
    if rng.below(4) == 0 {
        after.push(eval(if_then(compare(CompareOp::Gt, local(0), float(1e30)), block(vec![stmt(StmtKind::Break(0))]))));
    }
    body.push(for_of(2, 3, after));
    if rng.below(3) == 0 {
        body.push(eval(if_then(compare(CompareOp::Lt, local(0), float(0.0)), block(vec![return_(None)]))));
    }
    body.push(store(0, at(), add(local(0), load(0, at()))));
    let names = ["a", "b", "c"];
    let mut args = vec![("out", bind(Access::Write, F64, rank))];
    args.extend(shapes.iter().zip(names).map(|((access, element, of, _), name)| (name, bind(*access, *element, *of))));
    let int = Type::Scalar(ScalarType::I64);
    let captures = [("n0", int.clone()), ("n1", int.clone()), ("n2", int), ("w", Type::Scalar(ScalarType::F64))];
    let kernel = typed("random.rs", rank, &args, &captures, &["sum", "i", "k", "i"], block(body), vec![], None);
    let cut = rng.below(3) == 0;
    let mut grids = vec![written(F64, &extent, rng)];
    for (access, element, of, ranges) in &shapes {
        let end = |axis: usize| ranges.get(axis).map_or(0, |range| range.hi.max(0)) + 1;
        grids.push(match access {
            Access::Read => {
                let lo: Vec<i64> = (0..rank).map(|d| ranges.get(d).map_or(0, |range| range.lo.min(0))).collect();
                let hi: Vec<i64> = (0..rank).map(|d| end(d).max(extent[d])).collect();
                Grid::tiled(Access::Read, *element, &lo, &hi, rng)
            }
            Access::Table => Grid::table(&(0..end(0)).map(|_| rng.value(ScalarType::F64)).collect::<Vec<_>>()),
            _ => whole(*element, &(0..*of).map(end).collect::<Vec<_>>(), cut, rng),
        });
    }
    let captures = captured.iter().map(|n| Value::I64(*n)).chain([Value::F64(0.75)]).collect();
    let launch = launch(&kernel, grids, &extent, captures);
    (kernel, launch)
}
