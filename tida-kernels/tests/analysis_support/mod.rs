//! Kernels built by hand, and a small evaluator of integer kernels that notes every access.
#![allow(dead_code)]

pub mod random;

use std::sync::Arc;

use tida_kernels::analysis::{Analysis, ArrayAccess, IndexForm, Interval, NormalForm, Symbol, analyse};
use tida_kernels::ir::*;
use tida_kernels::scalar::Value;
use tida_kernels::{ElementType, ScalarType};

pub const I64: Type = Type::Scalar(ScalarType::I64);
pub const U64: Type = Type::Scalar(ScalarType::U64);
pub const BOOL: Type = Type::Scalar(ScalarType::Bool);
pub static INT: ElementType = ElementType::Scalar(ScalarType::I64);

/// Builds a kernel; every load and store gets a line of its own.
pub struct Builder {
    pub kernel: Kernel,
    line: u32,
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { span: Span::default(), kind }
}

pub fn fixed(base: u32) -> Component {
    Component { base, dynamic: Vec::new() }
}

impl Builder {
    pub fn new(rank: usize) -> Builder {
        let kernel = Kernel {
            file: "test.rs".into(),
            line: 1,
            rank,
            args: Vec::new(),
            captures: Vec::new(),
            numbers: vec![],
            result: Type::unit(),
            body: Body::default(),
            functions: Vec::new(),
            group: None,
            native: Default::default(),
        };
        Builder { kernel, line: 0 }
    }

    pub fn arg(&mut self, name: &str, access: Access, element: ElementType, rank: usize) -> u32 {
        self.kernel.args.push(Arg { name: name.into(), access, element, rank });
        self.kernel.args.len() as u32 - 1
    }

    pub fn capture(&mut self, name: &str, ty: Type) -> ExprId {
        self.kernel.captures.push(Capture::of_launch(name, ty.clone()));
        let n = self.kernel.captures.len() as u32 - 1;
        self.expr(ty, ExprKind::Capture(n))
    }

    pub fn local(&mut self, name: &str, ty: Type) -> LocalId {
        self.kernel.body.locals.push(Local { name: name.into(), ty });
        self.kernel.body.locals.len() as u32 - 1
    }

    pub fn line(&mut self) -> Span {
        self.line += 1;
        Span { line: self.line, column: 1 }
    }

    pub fn expr(&mut self, ty: Type, kind: ExprKind) -> ExprId {
        let span = if matches!(kind, ExprKind::Load { .. }) { self.line() } else { Span::default() };
        self.kernel.body.exprs.push(Expr { ty, span, kind });
        ExprId(self.kernel.body.exprs.len() as u32 - 1)
    }

    pub fn ty(&self, id: ExprId) -> Type {
        self.kernel.body[id].ty.clone()
    }

    pub fn int(&mut self, n: i64) -> ExprId {
        self.literal(Value::I64(n))
    }

    pub fn literal(&mut self, value: Value) -> ExprId {
        self.expr(Type::Scalar(value.ty()), ExprKind::Literal(value))
    }

    pub fn at(&mut self, axis: u32) -> ExprId {
        self.expr(I64, ExprKind::Coordinate(axis))
    }

    pub fn get(&mut self, local: LocalId) -> ExprId {
        let ty = self.kernel.body.locals[local as usize].ty.clone();
        self.expr(ty, ExprKind::Local(local))
    }

    pub fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let ty = self.ty(a);
        self.expr(ty, ExprKind::Binary(op, a, b))
    }

    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Add, a, b)
    }

    /// A coordinate plus a constant.
    pub fn off(&mut self, axis: u32, by: i64) -> ExprId {
        let (a, b) = (self.at(axis), self.int(by));
        self.add(a, b)
    }

    pub fn cast(&mut self, a: ExprId, ty: Type) -> ExprId {
        self.expr(ty, ExprKind::Cast(a))
    }

    pub fn less(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.expr(BOOL, ExprKind::Compare(CompareOp::Lt, a, b))
    }

    pub fn array(&mut self, parts: Vec<ExprId>) -> ExprId {
        let ty = Type::Array(Arc::new(self.ty(parts[0])), parts.len());
        self.expr(ty, ExprKind::Construct(parts))
    }

    pub fn load(&mut self, arg: u32, index: Vec<ExprId>, component: Component) -> ExprId {
        self.expr(I64, ExprKind::Load { arg, index, component })
    }

    pub fn eval(&mut self, value: ExprId) -> Stmt {
        stmt(StmtKind::Eval(value))
    }

    pub fn store(&mut self, arg: u32, index: Vec<ExprId>, component: Component, value: ExprId) -> Stmt {
        Stmt { span: self.line(), kind: StmtKind::Store { arg, index, component, value } }
    }

    /// `arg[at].component = 1`.
    pub fn store_at(&mut self, arg: u32, component: Component) -> Stmt {
        let index = (0..self.kernel.rank as u32).map(|a| self.at(a)).collect();
        let value = self.int(1);
        self.store(arg, index, component, value)
    }

    pub fn finish(mut self, block: Block) -> Kernel {
        self.kernel.body.block = block;
        self.kernel
    }
}

/// A run-time value.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    Int(ScalarType, i128),
    Parts(Vec<Run>),
}

/// An access that happened.
#[derive(Clone, Debug)]
pub struct Touch {
    pub line: u32,
    pub arg: usize,
    pub write: bool,
    pub component: i128,
    pub index: Vec<i64>,
}

pub enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// Runs one cell.
pub struct Machine<'a> {
    pub kernel: &'a Kernel,
    pub captures: &'a [i128],
    pub at: &'a [i64],
    pub locals: Vec<Run>,
    pub touched: Vec<Touch>,
    pub fuel: u32,
    pub fault: bool,
}

pub fn wrap(ty: ScalarType, v: i128) -> i128 {
    match Value::from_bits(ty, v as u64) {
        Value::Bool(v) => v.into(),
        value => value.integer().unwrap_or_else(|| panic!("{ty:?} is not an integer")),
    }
}

impl<'a> Machine<'a> {
    /// What the cell touched, and whether it faulted; `None` if it ran too long.
    pub fn run(kernel: &'a Kernel, captures: &'a [i128], at: &'a [i64]) -> Option<(Vec<Touch>, bool)> {
        let locals = vec![Run::Int(ScalarType::I64, 0); kernel.body.locals.len()];
        let mut machine = Machine { kernel, captures, at, locals, touched: Vec::new(), fuel: 3000, fault: false };
        machine.block(&kernel.body.block)?;
        Some((machine.touched, machine.fault))
    }

    fn int(&mut self, id: ExprId) -> i128 {
        match self.value(id) {
            Run::Int(_, v) => v,
            other => panic!("{other:?} is not a scalar"),
        }
    }

    fn component(&mut self, c: &Component) -> i128 {
        let mut n = c.base as i128;
        for &(index, stride, len) in &c.dynamic {
            let i = self.int(index);
            let inside = i < len as i128;
            self.fault |= !inside;
            n += if inside { i * stride as i128 } else { 0 };
        }
        n
    }

    fn value(&mut self, id: ExprId) -> Run {
        let expr = &self.kernel.body[id];
        let ty = expr.ty.scalar();
        let int = |v: i128| Run::Int(ty.unwrap(), wrap(ty.unwrap(), v));
        match &expr.kind {
            ExprKind::Literal(v) => int(v.bits() as i128),
            ExprKind::Capture(n) => match &expr.ty {
                // The last one: its entries follow the other captures.
                Type::Array(of, len) => {
                    let entries = &self.captures[*n as usize..*n as usize + len];
                    Run::Parts(entries.iter().map(|v| Run::Int(of.scalar().unwrap(), *v)).collect())
                }
                _ => int(self.captures[*n as usize]),
            },
            ExprKind::Coordinate(axis) => int(self.at[*axis as usize] as i128),
            ExprKind::Local(n) => self.locals[*n as usize].clone(),
            ExprKind::Load { arg, index, component } => {
                let index: Vec<i64> = index.iter().map(|i| self.int(*i) as i64).collect();
                let component = self.component(component);
                let seed = index.iter().fold(component as i64 + 7, |h, i| h.wrapping_mul(31).wrapping_add(*i));
                self.touched.push(Touch { line: expr.span.line, arg: *arg as usize, write: false, component, index });
                int((seed % 5) as i128)
            }
            ExprKind::Unary(UnaryOp::Neg, a) => int(-self.int(*a)),
            ExprKind::Unary(UnaryOp::Not, a) => {
                let v = self.int(*a);
                int(if ty == Some(ScalarType::Bool) { 1 - v } else { !v })
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.int(*a), self.int(*b));
                let width = ty.unwrap().size() as i128 * 8;
                int(match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    // Of the low 64 bits, so that nothing overflows here.
                    BinaryOp::Mul => (a as i64).wrapping_mul(b as i64) as i128,
                    BinaryOp::Div | BinaryOp::Rem => {
                        let minus_one = b == -1 && wrap(ty.unwrap(), -a) == a && a != 0;
                        self.fault |= b == 0 || minus_one;
                        match op {
                            _ if b == 0 => 0,
                            BinaryOp::Div => a / b,
                            _ => a % b,
                        }
                    }
                    BinaryOp::BitAnd => a & b,
                    BinaryOp::BitOr => a | b,
                    BinaryOp::BitXor => a ^ b,
                    BinaryOp::Shl => ((a as i64) << (b & (width - 1))) as i128,
                    BinaryOp::Shr => a >> (b & (width - 1)),
                })
            }
            ExprKind::Compare(op, a, b) => {
                let (a, b) = (self.int(*a), self.int(*b));
                int(match op {
                    CompareOp::Eq => a == b,
                    CompareOp::Ne => a != b,
                    CompareOp::Lt => a < b,
                    CompareOp::Le => a <= b,
                    CompareOp::Gt => a > b,
                    CompareOp::Ge => a >= b,
                } as i128)
            }
            ExprKind::And(a, b) => int((self.int(*a) != 0 && self.int(*b) != 0) as i128),
            ExprKind::Or(a, b) => int((self.int(*a) != 0 || self.int(*b) != 0) as i128),
            ExprKind::Cast(a) => int(self.int(*a)),
            ExprKind::Decode(..) | ExprKind::Encode { .. } => panic!("codes are not evaluated"),
            ExprKind::Method(m, args) => {
                let v: Vec<i128> = args.iter().map(|a| self.int(*a)).collect();
                int(match m {
                    Method::Min => v[0].min(v[1]),
                    Method::Max => v[0].max(v[1]),
                    Method::Clamp => v[0].max(v[1]).min(v[2]),
                    Method::DivEuclid | Method::RemEuclid => {
                        let minus_one = v[1] == -1 && wrap(ty.unwrap(), -v[0]) == v[0] && v[0] != 0;
                        self.fault |= v[1] == 0 || minus_one;
                        match m {
                            _ if v[1] == 0 => 0,
                            Method::DivEuclid => v[0].div_euclid(v[1]),
                            _ => v[0].rem_euclid(v[1]),
                        }
                    }
                    Method::WrappingAdd => v[0] + v[1],
                    Method::WrappingSub => v[0] - v[1],
                    other => panic!("{other:?} is not evaluated"),
                })
            }
            ExprKind::Construct(parts) => Run::Parts(parts.iter().map(|p| self.value(*p)).collect()),
            ExprKind::Part(a, n) => match self.value(*a) {
                Run::Parts(parts) => parts[*n as usize].clone(),
                other => panic!("{other:?} has no parts"),
            },
            ExprKind::Entry(a, index) => {
                let (a, i) = (self.value(*a), self.int(*index));
                let Run::Parts(parts) = a else { panic!("{a:?} has no entries") };
                self.fault |= i >= parts.len() as i128;
                parts[if i < parts.len() as i128 { i as usize } else { 0 }].clone()
            }
            ExprKind::Call(..) => panic!("calls are not evaluated"),
        }
    }

    fn block(&mut self, block: &Block) -> Option<Flow> {
        for stmt in block {
            match self.stmt(stmt)? {
                Flow::Next => {}
                other => return Some(other),
            }
        }
        Some(Flow::Next)
    }

    fn assign(&mut self, place: &mut Run, steps: &[Step], value: Run) {
        let Some((step, rest)) = steps.split_first() else {
            *place = value;
            return;
        };
        let n = match step {
            Step::Part(n) => *n as i128,
            Step::Entry(i) => self.int(*i),
        };
        let Run::Parts(parts) = place else { panic!("{place:?} has no parts") };
        self.fault |= n >= parts.len() as i128;
        if let Some(part) = parts.get_mut(usize::try_from(n).unwrap_or(usize::MAX)) {
            self.assign(part, rest, value);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<Flow> {
        self.fuel = self.fuel.checked_sub(1)?;
        match &stmt.kind {
            StmtKind::Let(local, value) => {
                if let Some(value) = value {
                    self.locals[*local as usize] = self.value(*value);
                }
            }
            StmtKind::Assign(local, steps, value) => {
                let value = self.value(*value);
                let mut place = self.locals[*local as usize].clone();
                self.assign(&mut place, steps, value);
                self.locals[*local as usize] = place;
            }
            StmtKind::Store { arg, index, component, value } => {
                let index: Vec<i64> = index.iter().map(|i| self.int(*i) as i64).collect();
                let component = self.component(component);
                self.value(*value);
                self.touched.push(Touch { line: stmt.span.line, arg: *arg as usize, write: true, component, index });
            }
            StmtKind::Eval(value) => {
                self.value(*value);
            }
            StmtKind::If(cond, a, b) => {
                let taken = self.int(*cond) != 0;
                return self.block(if taken { a } else { b });
            }
            StmtKind::For { local, lo, hi, inclusive, body } => {
                let ty = self.kernel.body[*lo].ty.scalar().unwrap();
                let (lo, hi) = (self.int(*lo), self.int(*hi));
                for q in lo..hi + *inclusive as i128 {
                    self.fuel = self.fuel.checked_sub(1)?;
                    self.locals[*local as usize] = Run::Int(ty, q);
                    match self.block(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        Flow::Return => return Some(Flow::Return),
                    }
                }
            }
            StmtKind::While { head, cond, body } => loop {
                self.fuel = self.fuel.checked_sub(1)?;
                match self.block(head)? {
                    Flow::Next => {}
                    Flow::Continue => continue,
                    Flow::Break => break,
                    Flow::Return => return Some(Flow::Return),
                }
                if self.int(*cond) == 0 {
                    break;
                }
                match self.block(body)? {
                    Flow::Next | Flow::Continue => {}
                    Flow::Break => break,
                    Flow::Return => return Some(Flow::Return),
                }
            },
            StmtKind::Phase { .. } => panic!("kernels of cells have no phases"),
            StmtKind::Break => return Some(Flow::Break),
            StmtKind::Continue => return Some(Flow::Continue),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.value(*value);
                }
                return Some(Flow::Return);
            }
        }
        Some(Flow::Next)
    }
}

/// A kernel of rank 2 with `u` read and `next` written.
pub fn pair(element: ElementType) -> Builder {
    let mut b = Builder::new(2);
    b.arg("u", Access::Read, element, 2);
    b.arg("next", Access::Write, element, 2);
    b
}

/// Reads `u[index]` in a statement.
pub fn read(b: &mut Builder, index: [ExprId; 2]) -> Stmt {
    let value = b.load(0, index.to_vec(), fixed(0));
    b.eval(value)
}

pub fn first(found: &Analysis) -> &ArrayAccess {
    &found.args[0].accesses[0]
}

pub fn form(constant: i64, terms: &[(Symbol, i64)]) -> IndexForm {
    IndexForm::Affine(NormalForm { constant, terms: terms.to_vec() })
}

pub fn between(lo: i64, hi: i64) -> Interval {
    Interval { lo, hi }
}

/// The one read of `u[at0, index]`, analysed.
pub fn reads_at(make: impl FnOnce(&mut Builder, &mut Block) -> ExprId) -> (Kernel, Analysis) {
    let mut b = pair(INT);
    let mut block = Vec::new();
    let at = b.at(0);
    let index = make(&mut b, &mut block);
    block.push(read(&mut b, [at, index]));
    let kernel = b.finish(block);
    let found = analyse(&kernel);
    (kernel, found)
}
