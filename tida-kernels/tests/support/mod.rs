//! Whether a typed kernel keeps the promises of its types.

use tida_kernels::element::ScalarType;
use tida_kernels::ir::{Block, Body, Component, Expr, ExprId, ExprKind, Kernel, Local, LocalId, Step, StmtKind, Type};
use tida_kernels::quote::{BinaryOp, MethodClass};

type Valid = Result<(), String>;

/// Operands of the types their operators want, stores of the types of their components, and the lowering's own locals
/// (names with `_`) used only where they are declared.
pub fn valid(kernel: &Kernel) -> Valid {
    for function in &kernel.functions {
        let mut seen = function.params.clone();
        Check { kernel, body: &function.body, result: &function.result }.block(&function.body.block, &mut seen)?;
    }
    Check { kernel, body: &kernel.body, result: &kernel.result }.block(&kernel.body.block, &mut Vec::new())
}

struct Check<'a> {
    kernel: &'a Kernel,
    body: &'a Body,
    result: &'a Type,
}

fn same(a: &Type, b: &Type, what: &str) -> Valid {
    if a == b { Ok(()) } else { Err(format!("{what}: {a} for {b}")) }
}

fn part(ty: &Type, n: u32) -> Result<Type, String> {
    let n = n as usize;
    let found = match ty {
        Type::Array(t, len) if n < *len => Some((**t).clone()),
        Type::Tuple(ts) => ts.get(n).cloned(),
        Type::Struct(_, fs) => fs.get(n).map(|f| f.1.clone()),
        _ => None,
    };
    found.ok_or_else(|| format!("part {n} of {ty}"))
}

impl Check<'_> {
    fn block(&self, block: &Block, seen: &mut Vec<LocalId>) -> Valid {
        let outside = seen.len();
        for stmt in block {
            self.stmt(&stmt.kind, seen).map_err(|e| format!("{e} in {:?}", stmt.kind))?;
        }
        seen.truncate(outside);
        Ok(())
    }

    fn local(&self, id: LocalId, seen: &[LocalId]) -> Result<&Local, String> {
        let local = self.body.locals.get(id as usize).ok_or_else(|| format!("no local {id}"))?;
        if local.name.starts_with('_') && !seen.contains(&id) {
            return Err(format!("{} used where it is not declared", local.name));
        }
        Ok(local)
    }

    fn stmt(&self, stmt: &StmtKind, seen: &mut Vec<LocalId>) -> Valid {
        match stmt {
            StmtKind::Let(id, value) => {
                let value = value.map(|v| self.expr(v, seen)).transpose()?;
                seen.push(*id);
                match value {
                    Some(ty) => same(&ty, &self.local(*id, seen)?.ty, "let"),
                    None => Ok(()),
                }
            }
            StmtKind::Assign(id, steps, value) => {
                let mut ty = self.local(*id, seen)?.ty.clone();
                for step in steps {
                    ty = match step {
                        Step::Part(n) => part(&ty, *n)?,
                        Step::Entry(index) => {
                            same(&self.expr(*index, seen)?, &Type::Scalar(ScalarType::U64), "entry")?;
                            part(&ty, 0)?
                        }
                    };
                }
                same(&self.expr(*value, seen)?, &ty, "assign")
            }
            StmtKind::Store { arg, index, component, value } => {
                let ty = self.cell(*arg, index, component, seen)?;
                same(&self.expr(*value, seen)?, &ty, "store")
            }
            StmtKind::Eval(value) => self.expr(*value, seen).map(drop),
            StmtKind::If(cond, then, otherwise) => {
                self.condition(*cond, seen)?;
                self.block(then, seen)?;
                self.block(otherwise, seen)
            }
            StmtKind::For { local, lo, hi, body, .. } => {
                let ty = self.expr(*lo, seen)?;
                same(&self.expr(*hi, seen)?, &ty, "bound")?;
                let outside = seen.len();
                seen.push(*local);
                same(&self.local(*local, seen)?.ty, &ty, "loop variable")?;
                self.block(body, seen)?;
                seen.truncate(outside);
                Ok(())
            }
            StmtKind::While { head, cond, body } => {
                let outside = seen.len();
                // What the head declares, the condition sees.
                for stmt in head {
                    self.stmt(&stmt.kind, seen)?;
                }
                self.condition(*cond, seen)?;
                seen.truncate(outside);
                self.block(body, seen)
            }
            StmtKind::Phase { .. } => Err("a phase in a kernel of cells".into()),
            StmtKind::Break | StmtKind::Continue => Ok(()),
            StmtKind::Return(None) => same(self.result, &Type::unit(), "return"),
            StmtKind::Return(Some(value)) => same(&self.expr(*value, seen)?, self.result, "return"),
        }
    }

    fn condition(&self, id: ExprId, seen: &[LocalId]) -> Valid {
        same(&self.expr(id, seen)?, &Type::Scalar(ScalarType::Bool), "condition")
    }

    fn cell(&self, arg: u32, index: &[ExprId], at: &Component, seen: &[LocalId]) -> Result<Type, String> {
        let arg = self.kernel.args.get(arg as usize).ok_or("no such argument")?;
        let axis = match arg.access {
            tida_kernels::ir::Access::Table => ScalarType::U64,
            _ => ScalarType::I64,
        };
        if index.len() != arg.rank {
            return Err("wrong number of axes".into());
        }
        for i in index {
            same(&self.expr(*i, seen)?, &Type::Scalar(axis), "index")?;
        }
        let mut last = at.base;
        for (entry, stride, len) in &at.dynamic {
            same(&self.expr(*entry, seen)?, &Type::Scalar(ScalarType::U64), "entry")?;
            last += stride * (len.checked_sub(1).ok_or("an entry of nothing")?);
        }
        let types = arg.element.component_types();
        let first = types.get(at.base as usize).ok_or("no such component")?;
        types.get(last as usize).ok_or("no such last component")?;
        Ok(Type::Scalar(*first))
    }

    fn expr(&self, id: ExprId, seen: &[LocalId]) -> Result<Type, String> {
        let Expr { ty, kind, .. } = self.body.exprs.get(id.0 as usize).ok_or("no such expression")?;
        let scalar = |s| Type::Scalar(s);
        let of = |id: &ExprId| self.expr(*id, seen);
        let found = match kind {
            ExprKind::Literal(value) => scalar(value.ty()),
            ExprKind::Capture(n) => self.kernel.captures.get(*n as usize).ok_or("no such capture")?.ty.clone(),
            ExprKind::Coordinate(axis) if (*axis as usize) < self.kernel.rank => scalar(ScalarType::I64),
            ExprKind::Coordinate(_) => return Err("no such axis".into()),
            ExprKind::Local(id) => self.local(*id, seen)?.ty.clone(),
            ExprKind::Load { arg, index, component } => self.cell(*arg, index, component, seen)?,
            ExprKind::Unary(_, x) => of(x)?,
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                if !matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
                    same(&a, &b, "operands")?;
                }
                a
            }
            ExprKind::Compare(_, a, b) => {
                same(&of(a)?, &of(b)?, "compared")?;
                scalar(ScalarType::Bool)
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.condition(*a, seen)?;
                self.condition(*b, seen)?;
                scalar(ScalarType::Bool)
            }
            ExprKind::Cast(x) => {
                of(x)?.scalar().ok_or("a cast of no scalar")?;
                ty.clone()
            }
            ExprKind::Decode(codec, x) => {
                same(&of(x)?, &scalar(codec.code()), "decoded")?;
                scalar(codec.value())
            }
            ExprKind::Encode { codec, value, .. } => {
                same(&of(value)?, &scalar(codec.value()), "encoded")?;
                scalar(codec.code())
            }
            ExprKind::Method(method, args) => {
                let first = of(&args[0])?;
                for arg in &args[1..] {
                    let want = match method.class() {
                        MethodClass::FloatInt => scalar(ScalarType::I32),
                        MethodClass::IntU32 => scalar(ScalarType::U32),
                        _ => first.clone(),
                    };
                    same(&of(arg)?, &want, "argument")?;
                }
                match method.class() {
                    MethodClass::FloatTest => scalar(ScalarType::Bool),
                    MethodClass::IntCount => scalar(ScalarType::U32),
                    _ => first,
                }
            }
            ExprKind::Call(n, args) => {
                let function = self.kernel.functions.get(*n as usize).ok_or("no such function")?;
                for (arg, param) in args.iter().zip(&function.params) {
                    same(&of(arg)?, &function.body.locals[*param as usize].ty, "argument")?;
                }
                function.result.clone()
            }
            ExprKind::Construct(parts) => {
                for (n, p) in parts.iter().enumerate() {
                    same(&of(p)?, &part(ty, n as u32)?, "part")?;
                }
                if part(ty, parts.len() as u32).is_ok() {
                    return Err("too few parts".into());
                }
                ty.clone()
            }
            ExprKind::Part(whole, n) => part(&of(whole)?, *n)?,
            ExprKind::Entry(whole, index) => {
                same(&of(index)?, &scalar(ScalarType::U64), "entry")?;
                part(&of(whole)?, 0)?
            }
        };
        same(&found, ty, "expression")?;
        Ok(found)
    }
}
