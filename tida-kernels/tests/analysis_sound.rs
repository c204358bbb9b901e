//! What the analysis says against what random kernels do.

mod analysis_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use analysis_support::random::{INTS, TRIPLE, make};
use analysis_support::*;
use proptest::prelude::*;
use tida_kernels::analysis::{Analysis, ArrayAccess, Choice, IndexForm, Interval, Symbol, analyse};
use tida_kernels::ir::*;
use tida_kernels::scalar::Value;
use tida_kernels::{ElementType, ScalarType};

/// How often the statements that the test is about were met; a test of nothing would not be one.
static RANGES: AtomicUsize = AtomicUsize::new(0);
static LOOP_RANGES: AtomicUsize = AtomicUsize::new(0);
static OF_TWO: AtomicUsize = AtomicUsize::new(0);
static MUST_WRITES: AtomicUsize = AtomicUsize::new(0);
static HALOS: AtomicUsize = AtomicUsize::new(0);
static EVEN: AtomicUsize = AtomicUsize::new(0);
static NO_FAULTS: AtomicUsize = AtomicUsize::new(0);
static DECIDED: AtomicUsize = AtomicUsize::new(0);

fn check(kernel: &Kernel, origin: [i64; 2], captures: &[i128]) -> Result<(), TestCaseError> {
    let found = analyse(kernel);
    prop_assert!(found.complete);
    let (lo, hi) = (origin, [origin[0] + 2, origin[1] + 3]);
    let (numbers, entries) = captures.split_at(INTS.len());
    let mut known: Vec<Option<Interval>> =
        numbers.iter().map(|c| i64::try_from(*c).ok().map(Interval::point)).collect();
    known.push(Interval::around(entries.iter().map(|c| *c as i64)));
    known.extend(found.entries.iter().map(|(_, place)| Some(Interval::point(*entries.get(*place as usize)? as i64))));
    for access in found.args.iter().flat_map(|usage| &usage.accesses).filter(|access| found.moves_evenly(access)) {
        let planes = |from: i64, to: i64| Some(found.range(access, &[from, lo[1]], &[to, hi[1]], &known)?[0]);
        let reach = |plane: i64| {
            let along = planes(plane, plane.checked_add(1)?).filter(|along| !along.is_empty())?;
            Some((along.lo.checked_sub(plane)?, along.hi.checked_sub(plane)?))
        };
        let Some(end) = lo[0].checked_add(9).filter(|end| planes(lo[0], *end).is_some()) else { continue };
        let here = reach(lo[0]).filter(|here| reach(lo[0] + 1) == Some(*here) && reach(end - 1) == Some(*here));
        if let Some(here) = here {
            EVEN.fetch_add(1, Ordering::Relaxed);
            for plane in lo[0]..end {
                prop_assert!(reach(plane).is_none_or(|there| there == here), "not even: {access:?}");
            }
        }
    }
    for i in lo[0]..hi[0] {
        for j in lo[1]..hi[1] {
            let at = [i, j];
            let Some((touched, fault)) = Machine::run(kernel, captures, &at) else { continue };
            prop_assert!(found.may_fault || !fault, "faults");
            NO_FAULTS.fetch_add(usize::from(!found.may_fault), Ordering::Relaxed);
            let decided = !found.faults_with(&lo, &hi, &known);
            prop_assert!(!decided || !fault, "faults with these captures: {:?}", found.demands);
            DECIDED.fetch_add(usize::from(decided && found.may_fault), Ordering::Relaxed);
            let mut written = [false; 3];
            for touch in &touched {
                let usage = &found.args[touch.arg];
                let flag = if touch.write { usage.may_write } else { usage.read };
                prop_assert!(flag, "not noted: {touch:?}");
                let same = usage.accesses.iter().find(|a| a.span.line == touch.line && a.write == touch.write);
                let access = same.ok_or_else(|| TestCaseError::fail(format!("unknown access {touch:?}")))?;
                if let Some(c) = access.component {
                    prop_assert_eq!(c as i128, touch.component);
                }
                if let Some(ranges) = found.range(access, &lo, &hi, &known) {
                    RANGES.fetch_add(1, Ordering::Relaxed);
                    OF_TWO.fetch_add(usize::from(is_of_two(&found, access)), Ordering::Relaxed);
                    LOOP_RANGES.fetch_add(usize::from(!access.loops.is_empty()), Ordering::Relaxed);
                    for (x, range) in touch.index.iter().zip(&ranges) {
                        prop_assert!(range.lo <= *x && *x <= range.hi, "{touch:?} at {at:?} outside {ranges:?}");
                    }
                }
                if let (false, Some(boxed)) = (touch.write, found.read_box(touch.arg, &lo, &hi, &known)) {
                    let inside = touch.index.iter().zip(&boxed).all(|(x, b)| b.lo <= *x && *x <= b.hi);
                    prop_assert!(inside, "{touch:?} at {at:?} outside the box {boxed:?}");
                }
                if access.at_cell {
                    prop_assert_eq!(&touch.index[..], &at[..]);
                }
                if let (false, Some(halo)) = (touch.write, found.halo(touch.arg)) {
                    HALOS.fetch_add(1, Ordering::Relaxed);
                    for (axis, (lo, hi)) in halo.iter().enumerate() {
                        let offset = touch.index[axis].wrapping_sub(at[axis]);
                        prop_assert!((*lo..=*hi).contains(&offset), "{touch:?} at {at:?} outside halo {halo:?}");
                    }
                }
                if touch.arg == 1 {
                    if touch.write {
                        written[touch.component as usize] = true;
                    } else {
                        let old = touch.index != at || !written[touch.component as usize];
                        prop_assert!(!old || usage.reads_old, "reads an old value: {touch:?}");
                    }
                }
            }
            let must = found.args[1].must_write;
            MUST_WRITES.fetch_add(usize::from(must), Ordering::Relaxed);
            prop_assert!(!must || written == [true; 3], "must-written, but only {written:?} at {at:?}");
            for (n, usage) in found.args.iter().enumerate() {
                for access in usage.accesses.iter().filter(|a| !a.conditional) {
                    let happened = touched.iter().any(|t| t.arg == n && t.line == access.span.line);
                    prop_assert!(happened, "unconditional, but did not happen: {access:?}");
                }
            }
        }
    }
    Ok(())
}

/// Whether an index has a product, a quotient or the like of two numbers that are not known before.
fn is_of_two(found: &Analysis, access: &ArrayAccess) -> bool {
    let forms = access.index.iter().filter_map(|index| match index {
        IndexForm::Affine(form) => Some(form),
        IndexForm::Opaque(_) => None,
    });
    forms.flat_map(|form| &form.terms).any(|(symbol, _)| match symbol {
        Symbol::Choice(n) => matches!(found.choices.get(*n as usize), Some(Choice::OfTwo(..))),
        _ => false,
    })
}

#[test]
fn random_kernels_do_what_the_analysis_says() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(3000));
    let origin = prop_oneof![4 => -3i64..6, 1 => Just(i64::MAX - 9), 1 => Just(i64::MIN), 1 => Just(1i64 << 31)];
    let captures = [
        prop_oneof![4 => -3i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => 0i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => -3i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => 0i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => 0i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => -3i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => 0i64..6, 1 => any::<i64>()].boxed(),
        prop_oneof![4 => -3i64..6, 1 => any::<i64>()].boxed(),
    ];
    let entries = proptest::array::uniform4(prop_oneof![8 => -2i64..3, 1 => any::<i64>()]);
    let stream = proptest::collection::vec(any::<u32>(), 0..400);
    let result =
        runner.run(&(stream, [origin.clone(), origin], captures, entries), |(stream, origin, captures, entries)| {
            let mut captures: Vec<i128> = captures.iter().zip(INTS).map(|(c, ty)| wrap(ty, *c as i128)).collect();
            captures.extend(entries.map(i128::from));
            check(&make(stream), origin, &captures)
        });
    if let Err(error) = result {
        if let proptest::test_runner::TestError::Fail(_, (stream, ..)) = &error {
            let kernel = make(stream.clone());
            panic!("{error}\n{:?}\n{}", kernel.body, analyse(&kernel).report(&kernel));
        }
        panic!("{error}");
    }
    for (count, least) in [
        (&RANGES, 5000),
        (&LOOP_RANGES, 1000),
        (&OF_TWO, 500),
        (&MUST_WRITES, 500),
        (&HALOS, 500),
        (&NO_FAULTS, 500),
        (&DECIDED, 100),
        (&EVEN, 500),
    ] {
        let count = count.load(Ordering::Relaxed);
        assert!(count >= least, "met only {count} times");
    }
}

/// Code that may be wrong in any way.
struct Junk(std::vec::IntoIter<u32>);

impl Junk {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.next().unwrap_or(0) % n
    }

    fn id(&mut self) -> ExprId {
        ExprId(if self.pick(40) == 0 { u32::MAX } else { self.pick(24) })
    }

    fn ids(&mut self) -> Vec<ExprId> {
        (0..self.pick(4)).map(|_| self.id()).collect()
    }

    fn ty(&mut self, depth: u32) -> Type {
        match self.pick(12) {
            0..=4 => I64,
            5 if depth > 0 => Type::Array(Arc::new(self.ty(depth - 1)), self.pick(4) as usize),
            6 if depth > 0 => Type::Tuple((0..self.pick(3)).map(|_| self.ty(depth - 1)).collect()),
            7 => Type::Scalar(ScalarType::F64),
            8 => BOOL,
            n => Type::Scalar(INTS[n as usize % INTS.len()]),
        }
    }

    fn value(&mut self) -> Value {
        let bits = if self.pick(3) == 0 { u64::MAX - self.pick(3) as u64 } else { self.pick(5) as u64 };
        let all = ScalarType::ALL;
        Value::from_bits(all[self.pick(all.len() as u32) as usize], bits)
    }

    fn component(&mut self) -> Component {
        let number = |junk: &mut Junk| if junk.pick(9) == 0 { u32::MAX } else { junk.pick(4) };
        let base = number(self);
        Component { base, dynamic: (0..self.pick(3)).map(|_| (self.id(), number(self), number(self))).collect() }
    }

    fn expr(&mut self) -> Expr {
        let kind = match self.pick(18) {
            0 | 1 => ExprKind::Literal(self.value()),
            2 => ExprKind::Capture(self.pick(5)),
            3 | 4 => ExprKind::Coordinate(self.pick(4)),
            5 => ExprKind::Local(self.pick(7)),
            6 | 7 => ExprKind::Load { arg: self.pick(5), index: self.ids(), component: self.component() },
            8 => ExprKind::Unary([UnaryOp::Neg, UnaryOp::Not][self.pick(2) as usize], self.id()),
            9 | 10 => {
                let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Shl, BinaryOp::Rem];
                ExprKind::Binary(ops[self.pick(5) as usize], self.id(), self.id())
            }
            11 => ExprKind::Compare(CompareOp::Lt, self.id(), self.id()),
            12 => ExprKind::And(self.id(), self.id()),
            13 => ExprKind::Cast(self.id()),
            14 => {
                let n = self.pick(Method::ALL.len() as u32) as usize;
                ExprKind::Method(Method::ALL[n], self.ids())
            }
            15 => match self.pick(2) {
                0 => ExprKind::Call(self.pick(3), self.ids()),
                _ => ExprKind::Part(self.id(), self.pick(4)),
            },
            16 => ExprKind::Construct(self.ids()),
            _ => ExprKind::Entry(self.id(), self.id()),
        };
        Expr { ty: self.ty(2), span: Span::default(), kind }
    }

    fn block(&mut self, depth: u32) -> Block {
        (0..self.pick(5)).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        let n = self.pick(if depth == 0 { 7 } else { 12 });
        stmt(match n {
            0 | 1 => {
                StmtKind::Store { arg: self.pick(5), index: self.ids(), component: self.component(), value: self.id() }
            }
            2 => StmtKind::Let(self.pick(7), (self.pick(2) == 0).then(|| self.id())),
            3 => {
                let steps = (0..self.pick(3)).map(|n| if n == 0 { Step::Part(n) } else { Step::Entry(self.id()) });
                let steps = steps.collect();
                StmtKind::Assign(self.pick(7), steps, self.id())
            }
            4 => StmtKind::Eval(self.id()),
            5 => [StmtKind::Break, StmtKind::Continue][self.pick(2) as usize].clone(),
            6 => StmtKind::Return((self.pick(2) == 0).then(|| self.id())),
            7 | 8 => StmtKind::If(self.id(), self.block(depth - 1), self.block(depth - 1)),
            9 | 10 => StmtKind::For {
                local: self.pick(7),
                lo: self.id(),
                hi: self.id(),
                inclusive: self.pick(2) == 0,
                body: self.block(depth - 1),
            },
            _ => StmtKind::While { head: self.block(depth - 1), cond: self.id(), body: self.block(depth - 1) },
        })
    }

    fn body(&mut self) -> Body {
        Body {
            locals: (0..5).map(|_| Local { name: "x".into(), ty: self.ty(2) }).collect(),
            exprs: (0..22).map(|_| self.expr()).collect(),
            block: self.block(3),
        }
    }
}

static HUGE: ElementType =
    ElementType::Array { element: &ElementType::Array { element: &INT, len: usize::MAX }, len: usize::MAX };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_code_is_analysed(stream in proptest::collection::vec(any::<u32>(), 0..900), extreme in any::<[i64; 4]>()) {
        let mut junk = Junk(stream.into_iter());
        let mut b = Builder::new(junk.pick(4) as usize);
        b.arg("u", Access::Read, TRIPLE, 2);
        b.arg("next", Access::Write, TRIPLE, junk.pick(3) as usize);
        b.arg("huge", Access::Write, HUGE, usize::MAX);
        b.capture("c", I64);
        b.capture("d", Type::Array(Arc::new(I64), 3));
        let mut kernel = b.finish(Vec::new());
        kernel.body = junk.body();
        let params = vec![0, 9];
        kernel.functions.push(Function { name: "f".into(), file: String::new(), params, result: I64, body: junk.body() });
        let found = analyse(&kernel);
        prop_assert_eq!(found.args.len(), 3);
        prop_assert!(!found.report(&kernel).is_empty());
        for arg in 0..4 {
            let _ = (found.halo(arg), found.writes_only_at(arg).is_ok(), found.reads_only_at(arg).is_ok());
        }
        let (lo, hi) = (&extreme[..2], &extreme[2..]);
        for access in found.args.iter().flat_map(|a| &a.accesses) {
            if let Some(ranges) = found.range(access, lo, hi, &[Some(Interval::point(i64::MIN)), None]) {
                prop_assert_eq!(ranges.len(), access.index.len());
            }
            let _ = found.range(access, lo, &[], &[]);
        }
        if !found.complete {
            prop_assert!(found.args.iter().all(|a| a.read && !a.must_write));
        }
    }
}
