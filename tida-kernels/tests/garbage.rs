//! Trees that no macro makes: typing never panics, and what it accepts runs.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::{Memory, run_cell};
use tida_kernels::ir::{Access, Binding, LowerInput, Type, lower};
use tida_kernels::quote::build::{leak_function, leak_kernel, local, value_block};
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

const F64: ElementType = ElementType::Scalar(ScalarType::F64);
const I32: ElementType = ElementType::Scalar(ScalarType::I32);
const V3: ElementType = ElementType::Array { element: &F64, len: 3 };
const CELL: ElementType = ElementType::Struct { name: "Cell", fields: &[("x", F64), ("v", V3), ("k", I32)] };
const EMPTY: ElementType = ElementType::Array { element: &F64, len: 0 };
const ELEMENTS: [ElementType; 5] = [F64, CELL, V3, I32, F64];

/// Makes trees out of bytes: a few of everything, mostly plausible, sometimes not.
struct Maker<'a> {
    bytes: std::slice::Iter<'a, u8>,
    depth: u32,
}

impl Maker<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn below(&mut self, n: u8) -> u8 {
        self.byte() % n
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.byte() as usize % from.len()].clone()
    }

    /// Mostly a small number, sometimes one far out of range.
    fn number(&mut self, n: u8) -> u32 {
        if self.below(40) == 39 { u32::MAX - 3 } else { self.below(n) as u32 }
    }

    fn scalar(&mut self) -> ScalarType {
        self.pick(ScalarType::ALL)
    }

    fn span(&mut self) -> Span {
        Span { line: 1, column: 1 }
    }

    fn many<T>(&mut self, most: u8, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }

    fn ty(&mut self) -> TypeTree {
        match self.below(9) {
            0..=3 => TypeTree::Scalar(self.scalar()),
            4 => TypeTree::Array(Box::new(TypeTree::Scalar(self.scalar())), self.number(4) as usize),
            5 => TypeTree::Tuple(vec![TypeTree::Scalar(self.scalar()), TypeTree::Infer]),
            6 => TypeTree::Struct(self.number(3)),
            7 => TypeTree::ArrayOf(Box::new(TypeTree::Scalar(self.scalar())), self.number(3)),
            _ => TypeTree::Infer,
        }
    }

    fn projection(&mut self) -> Projection {
        match self.below(4) {
            0 => Projection::Field(self.pick(&["x", "v", "k", "mass"]).to_owned()),
            1 => Projection::Tuple(self.number(3)),
            _ => Projection::Index(self.boxed()),
        }
    }

    fn pattern(&mut self) -> Pattern {
        match self.below(7) {
            0..=2 => Pattern::Local(self.number(5)),
            3 => Pattern::Ignore,
            4 => Pattern::Tuple(vec![Pattern::Local(self.number(5)), Pattern::Local(self.number(5))]),
            5 => Pattern::Struct(
                self.number(3),
                vec![(self.pick(&["x", "v", "y"]).into(), Pattern::Local(self.number(5)))],
            ),
            _ => Pattern::Array(vec![Pattern::Local(self.number(5)), Pattern::Ignore]),
        }
    }

    fn point(&mut self) -> Box<Expr> {
        let kind = match self.below(8) {
            0..=5 => ExprKind::At,
            6 => return self.boxed(),
            _ => ExprKind::Array(vec![self.expr(), self.expr()]),
        };
        Box::new(Expr { span: self.span(), kind })
    }

    fn block(&mut self) -> Block {
        let stmts = self.many(2, Self::stmt);
        let value = (self.below(2) == 0).then(|| self.boxed());
        Block { stmts, value }
    }

    fn stmt(&mut self) -> Stmt {
        let span = self.span();
        self.depth += 1;
        let kind = if self.depth > 6 { StmtKind::Return(None) } else { self.stmt_kind() };
        self.depth -= 1;
        Stmt { span, kind }
    }

    fn stmt_kind(&mut self) -> StmtKind {
        match self.below(12) {
            0..=3 => StmtKind::Let {
                pattern: self.pattern(),
                ty: (self.below(6) == 5).then(|| self.ty()),
                init: (self.below(8) != 7).then(|| self.expr()),
            },
            4..=6 => StmtKind::Assign {
                place: match self.below(2) {
                    0 => Place::Local { local: self.number(5), path: self.many(1, Self::projection) },
                    _ => {
                        let path = self.many(1, Self::projection);
                        Place::Element { arg: self.number(5), index: self.point(), path }
                    }
                },
                op: (self.below(2) == 1).then(|| self.operator()),
                value: self.expr(),
            },
            7 => StmtKind::Expr(self.expr()),
            8 => StmtKind::For {
                local: self.number(5),
                range: Range {
                    lo: self.expr(),
                    hi: self.expr(),
                    inclusive: self.below(2) == 0,
                    by: (self.below(2) == 0).then(|| self.expr()),
                    order: self.pick(&[Order::Up, Order::Down, Order::Back]),
                },
                body: Block { value: None, ..self.block() },
            },
            9 => StmtKind::While { cond: self.expr(), body: Block { value: None, ..self.block() } },
            10 => match self.below(2) {
                0 => StmtKind::Break(self.number(3)),
                _ => StmtKind::Continue(self.number(3)),
            },
            _ => StmtKind::Return((self.below(2) == 1).then(|| self.expr())),
        }
    }

    fn operator(&mut self) -> BinaryOp {
        use BinaryOp::*;
        self.pick(&[Add, Sub, Mul, Div, Rem, BitAnd, BitOr, BitXor, Shl, Shr])
    }

    fn expr(&mut self) -> Expr {
        let span = self.span();
        self.depth += 1;
        let kind = if self.depth > 6 { self.leaf() } else { self.kind() };
        self.depth -= 1;
        Expr { span, kind }
    }

    fn boxed(&mut self) -> Box<Expr> {
        Box::new(self.expr())
    }

    fn number_type(&mut self) -> NumberType {
        match self.below(8) {
            6 => NumberType::Of(self.number(3)),
            7 => NumberType::Written(self.scalar()),
            _ => NumberType::Inferred(self.number(3)),
        }
    }

    fn leaf(&mut self) -> ExprKind {
        match self.below(10) {
            0 | 1 => ExprKind::Int(self.byte() as u64, self.number_type()),
            2 => ExprKind::Float(self.pick(&["1.5", "1e300", "1.5", "x"]).into(), self.number_type()),
            3 => ExprKind::Bool(self.below(2) == 0),
            4 | 5 => ExprKind::Local(self.number(5)),
            6 => ExprKind::Capture(self.number(3)),
            7 => ExprKind::Constant(self.number(6)),
            _ => ExprKind::At,
        }
    }

    fn kind(&mut self) -> ExprKind {
        match self.below(28) {
            0..=5 => self.leaf(),
            6..=8 => {
                let path = self.many(2, Self::projection);
                ExprKind::Load { arg: self.number(5), index: self.point(), path }
            }
            9 => ExprKind::Unary(self.pick(&[UnaryOp::Neg, UnaryOp::Not]), self.boxed()),
            10..=12 => ExprKind::Binary(self.operator(), self.boxed(), self.boxed()),
            13 => ExprKind::Shift { minus: self.below(2) == 0, point: self.point(), offset: self.point() },
            14 => {
                use CompareOp::*;
                ExprKind::Compare(self.pick(&[Eq, Ne, Lt, Le, Gt, Ge]), self.boxed(), self.boxed())
            }
            15 => ExprKind::And(self.boxed(), self.boxed()),
            16 => ExprKind::Or(self.boxed(), self.boxed()),
            17 => ExprKind::Cast(self.boxed(), self.ty()),
            18 => ExprKind::If {
                cond: self.boxed(),
                then: self.block(),
                otherwise: (self.below(3) != 2).then(|| self.block()),
            },
            19 => ExprKind::Block(self.block()),
            20 => {
                let method = self.pick(Method::ALL);
                let count = method.args() + 1 - (self.below(30) == 29) as usize;
                ExprKind::Method(method, (0..count).map(|_| self.expr()).collect())
            }
            21 if self.below(3) == 0 => ExprKind::Invoke(self.number(2), vec![self.expr(), self.expr()]),
            21 => ExprKind::Call(self.number(2), vec![self.expr(), self.expr()]),
            22 => ExprKind::Tuple(self.many(3, Self::expr)),
            23 => match self.below(3) {
                0 => ExprKind::Repeat(self.boxed(), self.number(5) as usize),
                _ => ExprKind::Array(self.many(3, Self::expr)),
            },
            24 => {
                let fields = ["x", "v", "k"].map(|name| (name.to_owned(), self.expr()));
                ExprKind::Struct(self.number(2), fields.into())
            }
            25 => ExprKind::Unit(self.boxed()),
            26 => ExprKind::RepeatOf(self.boxed(), self.number(3)),
            _ => ExprKind::Project(self.boxed(), self.projection()),
        }
    }

    fn code(&mut self) -> Code {
        let span = self.span();
        let locals = ["a", "b", "c", "d", "e"].map(|name| Local { name: name.into(), mutable: true, span });
        Code {
            locals: locals.into(),
            functions: vec![],
            structs: vec![],
            constants: vec![],
            methods: vec![],
            numbers: self.number(2),
            body: self.block(),
        }
    }
}

/// Endless arrays of zeros, with a hole.
struct Zeros;

fn component(arg: usize, component: usize) -> ScalarType {
    ELEMENTS[arg].component_types()[component]
}

impl Memory for Zeros {
    fn load(&self, arg: usize, n: usize, index: &[i64]) -> Option<Value> {
        (index != [3, 3]).then(|| Value::from_bits(component(arg, n), 0))
    }

    fn store(&mut self, arg: usize, n: usize, index: &[i64], value: Value) -> bool {
        assert_eq!(component(arg, n), value.ty(), "a store of the wrong type");
        index != [3, 3]
    }
}

/// Whether the tree that the bytes make has types.
fn check(bytes: &[u8]) -> Result<bool, TestCaseError> {
    let mut maker = Maker { bytes: bytes.iter(), depth: 0 };
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    let tree = KernelTree {
        group: None,
        native: NativeForm::default(),
        native_if_few: NativeForm::default(),
        args: names(&["u", "v", "w", "t", "a"]),
        at: "at".into(),
        captures: names(&["dt", "n", "k"]),
        code: maker.code(),
    };
    prop_assert_eq!(KernelTree::decode(&tree.encode()), Some(tree.clone()));
    let wild = FunctionTree {
        name: "f".into(),
        params: vec![(0, maker.ty()), (1, maker.ty())],
        result: Some(maker.ty()),
        code: maker.code(),
    };
    prop_assert_eq!(FunctionTree::decode(&wild.encode()), Some(wild.clone()));
    let scalar = |s| TypeTree::Scalar(s);
    let sane = FunctionTree {
        name: "g".into(),
        params: vec![(0, scalar(ScalarType::F64)), (1, scalar(ScalarType::I32))],
        result: Some(scalar(ScalarType::F64)),
        code: Code { body: value_block(vec![], local(0)), ..wild.code.clone() },
    };
    let structs = vec![CELL, EMPTY];
    let function = match maker.below(4) {
        3 => leak_function(&wild, vec![], structs.clone()),
        _ => leak_function(&sane, vec![], vec![]),
    };
    let kernel = leak_kernel(&tree, vec![function], structs);
    let mut args = ELEMENTS.map(|element| Binding { access: Access::Write, element, rank: 2 });
    args[3].access = Access::Table;
    args[4].access = Access::All;
    let captures = [ScalarType::F64, ScalarType::U64, ScalarType::I32].map(Type::Scalar);
    match lower(&LowerInput { kernel, methods: &[], rank: 2, args: &args, captures: &captures, result: None }) {
        Ok(typed) => {
            prop_assert!(!typed.to_string().is_empty());
            prop_assert_eq!(support::valid(&typed), Ok(()), "{}", typed);
            let held = [Value::F64(0.5), Value::U64(2), Value::I32(-1)];
            if let Ok((values, _)) = run_cell(&typed, &held, &[3, 2], &mut Zeros, 2000) {
                prop_assert_eq!(values.len(), typed.result.components());
            }
            Ok(true)
        }
        Err(error) => {
            prop_assert!(!error.tried.is_empty() && !error.found.is_empty() && !error.advice.is_empty());
            Ok(false)
        }
    }
}

#[test]
fn any_tree_is_typed_or_refused() {
    let cases = 4000;
    let accepted = AtomicUsize::new(0);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let bytes = proptest::collection::vec(any::<u8>(), 0..400);
    let outcome = runner.run(&bytes, |bytes| {
        accepted.fetch_add(check(&bytes)? as usize, Ordering::Relaxed);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    // Random trees seldom have types; enough of them must, or nothing was run.
    let accepted = accepted.into_inner();
    println!("{accepted} of {cases} trees had types");
    assert!(accepted >= cases as usize / 50, "{accepted} of {cases} trees had types");
}

/// Every way to nest, as deep as it goes, on the stack of a test's thread.
#[test]
fn deep_trees_fit_the_stack() {
    use tida_kernels::quote::build::*;
    type Wrap = fn(Expr) -> Expr;
    let wraps: [Wrap; 9] = [
        |e| add(e, float(1.0)),
        |e| add(float(1.0), e),
        |e| method(Method::Max, vec![float(1.0), e]),
        |e| if_else(boolean(true), value_block(vec![], e), value_block(vec![], float(0.0))),
        |e| block_value(value_block(vec![let_(0, float(0.0))], e)),
        |e| block_value(value_block(vec![while_(boolean(false), block(vec![let_(0, float(0.0))]))], e)),
        |e| project(tuple(vec![e, int(0)]), Projection::Tuple(0)),
        |e| load_part(2, at(), vec![entry(cast(e, ScalarType::U64))]),
        |e| {
            let index = entry(cast(e, ScalarType::U64));
            project(array(vec![float(1.0), float(2.0)]), index)
        },
    ];
    let args = ELEMENTS.map(|element| Binding { access: Access::Write, element, rank: 2 });
    for (n, wrap) in wraps.into_iter().enumerate() {
        let mut deepest = 0;
        for depth in [60, 90, 180] {
            let body = (0..depth).fold(float(1.0), |e, _| wrap(e));
            let tree = kernel(&["u", "v", "w", "t", "a"], &[], code(&["x"], value_block(vec![], body)));
            let kernel = leak_kernel(&tree, vec![], vec![]);
            let result = Some(Type::Scalar(ScalarType::F64));
            if let Ok(typed) = lower(&LowerInput { kernel, methods: &[], rank: 2, args: &args, captures: &[], result })
            {
                assert_eq!(support::valid(&typed), Ok(()));
                assert!(run_cell(&typed, &[], &[0, 0], &mut Zeros, 10_000).is_ok());
                deepest = depth;
            }
        }
        assert!(deepest >= 60, "way {n} of nesting went {deepest} deep");
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_do_not(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        if let Some(tree) = KernelTree::decode(&bytes) {
            prop_assert_eq!(KernelTree::decode(&tree.encode()), Some(tree));
        }
        if let Some(tree) = FunctionTree::decode(&bytes) {
            prop_assert_eq!(FunctionTree::decode(&tree.encode()), Some(tree));
        }
    }

    #[test]
    fn deep_bytes_do_not_exhaust_the_stack(unit in proptest::collection::vec(0u8..30, 1..6)) {
        let bytes: Vec<u8> = [0u8; 7].into_iter().chain(unit.into_iter().cycle().take(200_000)).collect();
        let _ = KernelTree::decode(&bytes);
    }
}
