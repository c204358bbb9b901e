//! Random kernels over integers.

use super::*;

pub static TRIPLE: ElementType = ElementType::Array { element: &INT, len: 3 };
pub const INTS: [ScalarType; 8] = {
    use ScalarType::*;
    [I64, U64, I32, U32, U8, I8, U16, I16]
};

/// Entries of the captured array, which follow the other captures.
pub const ENTRIES: usize = 4;

/// Makes a kernel from a stream of decisions; all 0 is the simplest.
struct Maker {
    stream: std::vec::IntoIter<u32>,
    b: Builder,
    /// Locals in scope.
    scope: Vec<LocalId>,
    captures: Vec<(ScalarType, ExprId)>,
    /// A captured array.
    entries: ExprId,
    budget: u32,
}

impl Maker {
    fn pick(&mut self, n: u32) -> u32 {
        self.stream.next().unwrap_or(0) % n
    }

    fn lit(&mut self, ty: ScalarType, n: i64) -> ExprId {
        self.b.literal(Value::from_bits(ty, n as u64))
    }

    fn leaf(&mut self, ty: ScalarType) -> ExprId {
        match self.pick(8) {
            0 | 1 => {
                let n = self.pick(5) as i64 - if ty.is_signed_int() { 2 } else { 0 };
                self.lit(ty, n)
            }
            2 | 3 if ty == ScalarType::I64 => {
                let axis = self.pick(2);
                self.b.at(axis)
            }
            2 | 3 => {
                let axis = self.pick(2);
                let at = self.b.at(axis);
                self.b.cast(at, Type::Scalar(ty))
            }
            4 => {
                let n = self.pick(self.captures.len() as u32) as usize;
                let (of, capture) = self.captures[n];
                if of == ty { capture } else { self.b.cast(capture, Type::Scalar(ty)) }
            }
            7 if self.pick(4) == 0 => {
                let n = self.stream.next().unwrap_or(0) as i64;
                self.lit(ty, n.wrapping_mul(0x1234_5678_9ABC))
            }
            _ => self.variable(ty).unwrap_or_else(|| self.lit(ty, 1)),
        }
    }

    /// A variable in scope, cast if need be.
    fn variable(&mut self, ty: ScalarType) -> Option<ExprId> {
        let n = (!self.scope.is_empty()).then(|| self.pick(self.scope.len() as u32))?;
        let local = self.scope[n as usize];
        let value = self.b.get(local);
        Some(if self.b.ty(value) == Type::Scalar(ty) { value } else { self.b.cast(value, Type::Scalar(ty)) })
    }

    fn int(&mut self, ty: ScalarType, depth: u32) -> ExprId {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.pick(24) {
            0..=3 => self.leaf(ty),
            4..=6 => {
                let (a, b) = (self.int(ty, depth - 1), self.int(ty, depth - 1));
                let op = [BinaryOp::Add, BinaryOp::Sub][self.pick(2) as usize];
                self.b.binary(op, a, b)
            }
            7 => {
                let a = self.int(ty, depth - 1);
                let n = self.pick(5) as i64;
                let b = self.lit(ty, n);
                let op = [BinaryOp::Mul, BinaryOp::Shl][self.pick(2) as usize];
                self.b.binary(op, a, b)
            }
            8 | 21..=23 => {
                let (a, b) = (self.int(ty, depth - 1), self.int(ty, depth - 1));
                use BinaryOp::{BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr};
                let all = [Mul, Div, Rem, BitAnd, BitOr, BitXor, Shr, Shl];
                match self.pick(10) as usize {
                    n @ 0..8 => self.b.binary(all[n], a, b),
                    8 => self.b.expr(Type::Scalar(ty), ExprKind::Method(Method::DivEuclid, vec![a, b])),
                    _ => self.b.expr(Type::Scalar(ty), ExprKind::Method(Method::RemEuclid, vec![a, b])),
                }
            }
            9 if ty.is_signed_int() => {
                let a = self.int(ty, depth - 1);
                self.b.expr(Type::Scalar(ty), ExprKind::Unary(UnaryOp::Neg, a))
            }
            10 | 11 => {
                let from = INTS[self.pick(INTS.len() as u32) as usize];
                let a = self.int(from, depth - 1);
                self.b.cast(a, Type::Scalar(ty))
            }
            12 if ty == ScalarType::I64 => self.load(depth - 1),
            13 => {
                let (a, b) = (self.int(ty, depth - 1), self.int(ty, depth - 1));
                let m = [Method::Min, Method::Max, Method::WrappingSub, Method::Clamp][self.pick(4) as usize];
                let mut args = vec![a, b];
                if m == Method::Clamp {
                    args.push(self.int(ty, depth - 1));
                }
                self.b.expr(Type::Scalar(ty), ExprKind::Method(m, args))
            }
            16 | 17 => {
                let a = self.int(ty, depth - 1);
                let n = 1 + self.pick(8) as i64;
                let b = self.lit(ty, n);
                let all = [BinaryOp::Div, BinaryOp::Rem, BinaryOp::Shr, BinaryOp::BitAnd];
                let op = all[self.pick(4) as usize];
                if op == BinaryOp::BitAnd && self.pick(2) == 0 {
                    return self.b.binary(op, b, a);
                }
                self.b.binary(op, a, b)
            }
            18 => {
                let a = self.int(ty, depth - 1);
                let n = 1 + self.pick(5) as i64;
                let b = self.lit(ty, n);
                let m = [Method::DivEuclid, Method::RemEuclid][self.pick(2) as usize];
                self.b.expr(Type::Scalar(ty), ExprKind::Method(m, vec![a, b]))
            }
            19 | 20 if ty == ScalarType::I64 => {
                let index = match self.pick(3) {
                    0 => self.variable(ScalarType::U64).unwrap_or_else(|| self.lit(ScalarType::U64, 3)),
                    1 => {
                        let n = self.pick(5) as i64;
                        self.lit(ScalarType::U64, n)
                    }
                    _ => {
                        let (a, four) = (self.int(ScalarType::U64, depth - 1), self.lit(ScalarType::U64, 4));
                        self.b.binary(BinaryOp::Rem, a, four)
                    }
                };
                let entries = self.entries;
                self.b.expr(Type::Scalar(ty), ExprKind::Entry(entries, index))
            }
            14 | 15 => {
                let n = 1 + self.pick(3);
                let entries = (0..n).map(|_| self.leaf(ty)).collect();
                let array = self.b.array(entries);
                let index = match self.pick(2) {
                    0 => self.variable(ScalarType::U64).unwrap_or_else(|| self.lit(ScalarType::U64, 0)),
                    _ => self.int(ScalarType::U64, depth - 1),
                };
                self.b.expr(Type::Scalar(ty), ExprKind::Entry(array, index))
            }
            _ => self.leaf(ty),
        }
    }

    fn component(&mut self) -> Component {
        match self.pick(5) {
            3 => {
                let index = self.variable(ScalarType::U64).unwrap_or_else(|| self.lit(ScalarType::U64, 2));
                Component { base: 0, dynamic: vec![(index, 1, 3)] }
            }
            4 => {
                let index = self.int(ScalarType::U64, 1);
                let base = self.pick(2);
                Component { base, dynamic: vec![(index, 1, 3 - base)] }
            }
            n => fixed(n),
        }
    }

    fn load(&mut self, depth: u32) -> ExprId {
        match self.pick(4) {
            0 => {
                let index = vec![self.int(ScalarType::I64, depth), self.int(ScalarType::I64, depth)];
                let component = self.component();
                self.b.load(0, index, component)
            }
            1 => {
                let (dy, dx) = (self.pick(3) as i64 - 1, self.pick(3) as i64 - 1);
                let index = vec![self.b.off(0, dy), self.b.off(1, dx)];
                let component = self.component();
                self.b.load(0, index, component)
            }
            2 => {
                let index = vec![self.b.at(0), self.b.at(1)];
                let component = self.component();
                self.b.load(1, index, component)
            }
            _ => {
                let index = vec![self.int(ScalarType::I64, depth)];
                self.b.load(2, index, fixed(0))
            }
        }
    }

    fn cond(&mut self) -> ExprId {
        let ty = INTS[self.pick(INTS.len() as u32) as usize];
        let (a, b) = (self.int(ty, 1), self.int(ty, 1));
        let less = self.b.less(a, b);
        match self.pick(4) {
            0 => {
                let value = self.load(1);
                let zero = self.b.int(2);
                let other = self.b.less(value, zero);
                self.b.expr(BOOL, ExprKind::And(less, other))
            }
            _ => less,
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool) -> Block {
        let scope = self.scope.len();
        let n = 1 + self.pick(4);
        let mut block = Vec::new();
        for _ in 0..n {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let s = self.stmt(depth, in_loop, &mut block);
            block.push(s);
        }
        self.scope.truncate(scope);
        block
    }

    fn stmt(&mut self, depth: u32, in_loop: bool, before: &mut Block) -> Stmt {
        match self.pick(if depth == 0 { 7 } else { 13 }) {
            0..=2 => {
                let component = self.component();
                self.b.store_at(1, component)
            }
            3 => {
                let ty = INTS[self.pick(INTS.len() as u32) as usize];
                let value = self.int(ty, 2);
                let local = self.b.local("x", Type::Scalar(ty));
                self.scope.push(local);
                stmt(StmtKind::Let(local, Some(value)))
            }
            4 if !self.scope.is_empty() => {
                let n = self.pick(self.scope.len() as u32);
                let local = self.scope[n as usize];
                let ty = self.b.kernel.body.locals[local as usize].ty.scalar().unwrap();
                let value = self.int(ty, 2);
                stmt(StmtKind::Assign(local, Vec::new(), value))
            }
            4..=6 => {
                let value = self.load(2);
                self.b.eval(value)
            }
            7 | 8 => {
                let cond = self.cond();
                let (a, mut b) = (self.block(depth - 1, in_loop), Vec::new());
                if self.pick(2) == 1 {
                    b = self.block(depth - 1, in_loop);
                }
                stmt(StmtKind::If(cond, a, b))
            }
            9 | 10 => {
                // The whole range of components, which must-write has to see.
                let (lo, hi) = (self.lit(ScalarType::U64, 0), self.lit(ScalarType::U64, 3));
                self.for_loop(ScalarType::U64, lo, hi, false, depth)
            }
            11 => {
                let ty = INTS[self.pick(INTS.len() as u32) as usize];
                let (lo, hi) = (self.int(ty, 1), self.int(ty, 1));
                let inclusive = self.pick(2) == 1;
                self.for_loop(ty, lo, hi, inclusive, depth)
            }
            _ => match self.pick(3) {
                0 => {
                    let cond = self.cond();
                    let kind = match self.pick(3) {
                        0 if in_loop => StmtKind::Break,
                        1 if in_loop => StmtKind::Continue,
                        _ => StmtKind::Return(None),
                    };
                    stmt(StmtKind::If(cond, vec![stmt(kind)], Vec::new()))
                }
                _ => {
                    let counter = self.b.local("n", I64);
                    let zero = self.b.int(0);
                    before.push(stmt(StmtKind::Let(counter, Some(zero))));
                    self.scope.push(counter);
                    let (get, one, three) = (self.b.get(counter), self.b.int(1), self.b.int(3));
                    let next = self.b.add(get, one);
                    let mut head = self.block(0, true);
                    head.push(stmt(StmtKind::Assign(counter, Vec::new(), next)));
                    let cond = match self.pick(3) {
                        0 => self.b.literal(Value::Bool(true)),
                        _ => self.b.less(get, three),
                    };
                    let body = self.block(depth - 1, true);
                    stmt(StmtKind::While { head, cond, body })
                }
            },
        }
    }

    fn for_loop(&mut self, ty: ScalarType, lo: ExprId, hi: ExprId, inclusive: bool, depth: u32) -> Stmt {
        let local = self.b.local("q", Type::Scalar(ty));
        self.scope.push(local);
        let mut body = self.block(depth - 1, true);
        if self.pick(2) == 1 {
            let q = self.b.get(local);
            let q = self.b.cast(q, U64);
            body.push(self.b.store_at(1, Component { base: 0, dynamic: vec![(q, 1, 3)] }));
        }
        self.scope.pop();
        stmt(StmtKind::For { local, lo, hi, inclusive, body })
    }
}

/// The kernel that a stream of decisions makes: `u` read, `next` written, `a` a whole array of one axis, five captures,
/// and an array of [`ENTRIES`].
pub fn make(stream: Vec<u32>) -> Kernel {
    let mut b = Builder::new(2);
    b.arg("u", Access::Read, TRIPLE, 2);
    b.arg("next", Access::Write, TRIPLE, 2);
    b.arg("a", Access::All, INT, 1);
    let captures = INTS.iter().map(|ty| (*ty, b.capture("c", Type::Scalar(*ty)))).collect();
    let entries = b.capture("t", Type::Array(Arc::new(I64), ENTRIES));
    let mut maker = Maker { stream: stream.into_iter(), b, scope: Vec::new(), captures, entries, budget: 40 };
    let block = maker.block(3, false);
    maker.b.finish(block)
}
