//! Trees by hand, for tests: `assign(0, at(), add(load(1, at()), float(1.0)))`.
//!
//! Everything stands at line 1; numbers mean what they mean in the tree.

#![allow(missing_docs)]

use super::*;
use crate::element::{ElementType, ScalarType};

const SPAN: Span = Span { line: 1, column: 1 };

pub fn expr(kind: ExprKind) -> Expr {
    Expr { span: SPAN, kind }
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { span: SPAN, kind }
}

// Leaves.

pub fn int(n: u64) -> Expr {
    expr(ExprKind::Int(n, NumberType::Inferred(0)))
}

pub fn int_of(n: u64, ty: ScalarType) -> Expr {
    expr(ExprKind::Int(n, NumberType::Written(ty)))
}

pub fn float(x: f64) -> Expr {
    expr(ExprKind::Float(format!("{x:?}"), NumberType::Inferred(0)))
}

pub fn float_of(digits: &str, ty: ScalarType) -> Expr {
    expr(ExprKind::Float(digits.to_owned(), NumberType::Written(ty)))
}

pub fn boolean(b: bool) -> Expr {
    expr(ExprKind::Bool(b))
}

pub fn local(id: LocalId) -> Expr {
    expr(ExprKind::Local(id))
}

pub fn capture(n: u32) -> Expr {
    expr(ExprKind::Capture(n))
}

pub fn at() -> Expr {
    expr(ExprKind::At)
}

// Points.

/// `[a, b, ..]`, literals.
pub fn point(axes: &[i64]) -> Expr {
    array(axes.iter().map(|n| signed(*n)).collect())
}

/// A literal, negated if below zero.
pub fn signed(n: i64) -> Expr {
    let magnitude = int(n.unsigned_abs());
    if n < 0 { unary(UnaryOp::Neg, magnitude) } else { magnitude }
}

/// `at + [..]`.
pub fn at_plus(offset: &[i64]) -> Expr {
    shift(false, at(), point(offset))
}

pub fn shift(minus: bool, from: Expr, offset: Expr) -> Expr {
    expr(ExprKind::Shift { minus, point: Box::new(from), offset: Box::new(offset) })
}

// Reads.

pub fn load(arg: u32, index: Expr) -> Expr {
    load_part(arg, index, Vec::new())
}

pub fn load_part(arg: u32, index: Expr, path: Vec<Projection>) -> Expr {
    expr(ExprKind::Load { arg, index: Box::new(index), path })
}

pub fn field(name: &str) -> Projection {
    Projection::Field(name.to_owned())
}

pub fn entry(index: Expr) -> Projection {
    Projection::Index(Box::new(index))
}

pub fn project(whole: Expr, step: Projection) -> Expr {
    expr(ExprKind::Project(Box::new(whole), step))
}

// Operators.

pub fn unary(op: UnaryOp, x: Expr) -> Expr {
    expr(ExprKind::Unary(op, Box::new(x)))
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

pub fn sub(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Sub, a, b)
}

pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Mul, a, b)
}

pub fn div(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Div, a, b)
}

pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Compare(op, Box::new(a), Box::new(b)))
}

pub fn and(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::And(Box::new(a), Box::new(b)))
}

pub fn or(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Or(Box::new(a), Box::new(b)))
}

pub fn cast(x: Expr, ty: ScalarType) -> Expr {
    expr(ExprKind::Cast(Box::new(x), TypeTree::Scalar(ty)))
}

pub fn method(method: Method, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Method(method, args))
}

pub fn call(function: u32, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Call(function, args))
}

// Values made of parts.

pub fn tuple(parts: Vec<Expr>) -> Expr {
    expr(ExprKind::Tuple(parts))
}

pub fn array(parts: Vec<Expr>) -> Expr {
    expr(ExprKind::Array(parts))
}

pub fn repeat(x: Expr, n: usize) -> Expr {
    expr(ExprKind::Repeat(Box::new(x), n))
}

pub fn structure(number: u32, fields: Vec<(&str, Expr)>) -> Expr {
    expr(ExprKind::Struct(number, fields.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()))
}

// Control.

pub fn if_else(cond: Expr, then: Block, otherwise: Block) -> Expr {
    expr(ExprKind::If { cond: Box::new(cond), then, otherwise: Some(otherwise) })
}

pub fn if_then(cond: Expr, then: Block) -> Expr {
    expr(ExprKind::If { cond: Box::new(cond), then, otherwise: None })
}

pub fn block_value(block: Block) -> Expr {
    expr(ExprKind::Block(block))
}

/// Statements without a value.
pub fn block(stmts: Vec<Stmt>) -> Block {
    Block { stmts, value: None }
}

/// Statements, then a value.
pub fn value_block(stmts: Vec<Stmt>, value: Expr) -> Block {
    Block { stmts, value: Some(Box::new(value)) }
}

// Statements.

pub fn let_(id: LocalId, init: Expr) -> Stmt {
    let_pattern(Pattern::Local(id), None, Some(init))
}

pub fn let_pattern(pattern: Pattern, ty: Option<TypeTree>, init: Option<Expr>) -> Stmt {
    stmt(StmtKind::Let { pattern, ty, init })
}

pub fn set(id: LocalId, value: Expr) -> Stmt {
    set_part(id, Vec::new(), None, value)
}

pub fn set_part(local: LocalId, path: Vec<Projection>, op: Option<BinaryOp>, value: Expr) -> Stmt {
    stmt(StmtKind::Assign { place: Place::Local { local, path }, op, value })
}

/// `arg[index] = value`.
pub fn store(arg: u32, index: Expr, value: Expr) -> Stmt {
    store_part(arg, index, Vec::new(), None, value)
}

pub fn store_part(arg: u32, index: Expr, path: Vec<Projection>, op: Option<BinaryOp>, value: Expr) -> Stmt {
    stmt(StmtKind::Assign { place: Place::Element { arg, index: Box::new(index), path }, op, value })
}

pub fn eval(e: Expr) -> Stmt {
    stmt(StmtKind::Expr(e))
}

pub fn for_(local: LocalId, lo: Expr, hi: Expr, body: Block) -> Stmt {
    stmt(StmtKind::For { local, range: Range::plain(lo, hi, false), body })
}

pub fn while_(cond: Expr, body: Block) -> Stmt {
    stmt(StmtKind::While { cond, body })
}

pub fn return_(value: Option<Expr>) -> Stmt {
    stmt(StmtKind::Return(value))
}

// Whole trees.

/// A body with locals of these names.
pub fn code(locals: &[&str], body: Block) -> Code {
    let locals = locals.iter().map(|name| Local { name: (*name).to_owned(), mutable: true, span: SPAN }).collect();
    Code {
        locals,
        functions: Vec::new(),
        structs: Vec::new(),
        constants: Vec::new(),
        methods: Vec::new(),
        numbers: 0,
        body,
    }
}

/// A kernel with arguments and captures of these names.
pub fn kernel(args: &[&str], captures: &[&str], code: Code) -> KernelTree {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    KernelTree {
        args: owned(args),
        at: "at".to_owned(),
        captures: owned(captures),
        code,
        group: None,
        native: NativeForm::default(),
        native_if_few: NativeForm::default(),
    }
}

/// The tree as the macro would leave it. The memory is never given back: for tests.
pub fn leak_kernel(
    tree: &KernelTree,
    functions: Vec<&'static StaticFunction>,
    structs: Vec<ElementType>,
) -> &'static StaticKernel {
    Box::leak(Box::new(StaticKernel {
        file: "kernel.rs",
        line: 1,
        tree: tree.encode().leak(),
        functions: functions.leak(),
        structs: structs.leak(),
        constants: &[|| number(2), || number(0), || number(3), pair, unlike_its_type],
        few: false,
    }))
}

/// The function as the macro would leave it. The memory is never given back: for tests.
pub fn leak_function(
    tree: &FunctionTree,
    functions: Vec<&'static StaticFunction>,
    structs: Vec<ElementType>,
) -> &'static StaticFunction {
    Box::leak(Box::new(StaticFunction {
        file: "function.rs",
        tree: tree.encode().leak(),
        numbers: Vec::new,
        methods: Vec::new,
        functions: functions.leak(),
        structs: structs.leak(),
        constants: &[|| number(2), || number(0), || number(3), pair, unlike_its_type],
    }))
}

/// A constant of type `[f64; 2]`.
fn pair() -> Constant {
    let ty = ElementType::Array { element: &ElementType::Scalar(ScalarType::F64), len: 2 };
    Constant { ty, bits: [0.5f64, f64::NAN].map(f64::to_bits).to_vec() }
}

/// What no macro makes.
fn unlike_its_type() -> Constant {
    Constant { bits: Vec::new(), ..pair() }
}

/// A constant of type `usize`.
fn number(value: u64) -> Constant {
    Constant { ty: ElementType::Scalar(ScalarType::U64), bits: vec![value] }
}
