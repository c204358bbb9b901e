//! The typed form as text, for `explain` and for tests.

use std::fmt::{self, Display, Formatter, Write};

use super::*;
use crate::scalar::Value;

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(s) => f.write_str(s.name()),
            Type::Array(t, n) => write!(f, "[{t}; {n}]"),
            Type::Struct(name, _) => f.write_str(name),
            Type::Tuple(parts) => {
                f.write_char('(')?;
                separated(f, parts.iter(), |f, part| write!(f, "{part}"))?;
                f.write_str(if parts.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

fn separated<T>(
    f: &mut Formatter<'_>,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (n, item) in items.enumerate() {
        if n > 0 {
            f.write_str(", ")?;
        }
        each(f, item)?;
    }
    Ok(())
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (n, function) in self.functions.iter().enumerate() {
            write!(f, "fn {}#{n}(", function.name)?;
            separated(f, function.params.iter(), |f, param| {
                let name = Printer { kernel: self, body: &function.body };
                name.local(f, *param)?;
                match function.body.locals.get(*param as usize) {
                    Some(local) => write!(f, ": {}", local.ty),
                    None => Ok(()),
                }
            })?;
            writeln!(f, ") -> {} {{", function.result)?;
            Printer { kernel: self, body: &function.body }.block(f, &function.body.block, 1)?;
            writeln!(f, "}}")?;
        }
        f.write_str("kernel(")?;
        separated(f, self.args.iter(), |f, arg| {
            let access = match arg.access {
                Access::Read => "&",
                Access::Write => "&mut ",
                Access::All => "all ",
                Access::Table => "table ",
                Access::Shared => "shared ",
            };
            write!(f, "{}: {access}{}^{}", arg.name, arg.element, arg.rank)
        })?;
        write!(f, "; at: {}) -> {}", self.rank, self.result)?;
        if !self.captures.is_empty() {
            f.write_str(" captures ")?;
            separated(f, self.captures.iter(), |f, c| write!(f, "{}: {}", c.name, c.ty))?;
        }
        writeln!(f, " {{")?;
        Printer { kernel: self, body: &self.body }.block(f, &self.body.block, 1)?;
        writeln!(f, "}}")
    }
}

struct Printer<'a> {
    kernel: &'a Kernel,
    body: &'a Body,
}

impl Printer<'_> {
    fn block(&self, f: &mut Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
        block.iter().try_for_each(|stmt| self.stmt(f, stmt, depth))
    }

    fn local(&self, f: &mut Formatter<'_>, id: LocalId) -> fmt::Result {
        match self.body.locals.get(id as usize) {
            // Two locals can have one name; the lowering's own end in their number already.
            Some(local) if self.body.locals.iter().filter(|l| l.name == local.name).count() > 1 => {
                write!(f, "{}.{id}", local.name)
            }
            Some(local) => f.write_str(&local.name),
            None => write!(f, "?{id}"),
        }
    }

    fn stmt(&self, f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
        let indent = |f: &mut Formatter<'_>| write!(f, "{:1$}", "", depth * 4);
        indent(f)?;
        match &stmt.kind {
            StmtKind::Let(id, value) => {
                f.write_str("let ")?;
                self.local(f, *id)?;
                if let Some(local) = self.body.locals.get(*id as usize) {
                    write!(f, ": {}", local.ty)?;
                }
                if let Some(value) = value {
                    f.write_str(" = ")?;
                    self.expr(f, *value)?;
                }
                writeln!(f, ";")
            }
            StmtKind::Assign(id, steps, value) => {
                self.local(f, *id)?;
                for step in steps {
                    match step {
                        Step::Part(n) => write!(f, ".{n}")?,
                        Step::Entry(index) => {
                            f.write_char('[')?;
                            self.expr(f, *index)?;
                            f.write_char(']')?;
                        }
                    }
                }
                f.write_str(" = ")?;
                self.expr(f, *value)?;
                writeln!(f, ";")
            }
            StmtKind::Store { arg, index, component, value } => {
                self.cell(f, *arg, index, component)?;
                f.write_str(" = ")?;
                self.expr(f, *value)?;
                writeln!(f, ";")
            }
            StmtKind::Eval(value) => {
                f.write_str("eval ")?;
                self.expr(f, *value)?;
                writeln!(f, ";")
            }
            StmtKind::If(cond, then, otherwise) => {
                f.write_str("if ")?;
                self.expr(f, *cond)?;
                writeln!(f, " {{")?;
                self.block(f, then, depth + 1)?;
                if !otherwise.is_empty() {
                    indent(f)?;
                    writeln!(f, "}} else {{")?;
                    self.block(f, otherwise, depth + 1)?;
                }
                indent(f)?;
                writeln!(f, "}}")
            }
            StmtKind::For { local, lo, hi, inclusive, body } => {
                f.write_str("for ")?;
                self.local(f, *local)?;
                f.write_str(" in ")?;
                self.expr(f, *lo)?;
                f.write_str(if *inclusive { "..=" } else { ".." })?;
                self.expr(f, *hi)?;
                writeln!(f, " {{")?;
                self.block(f, body, depth + 1)?;
                indent(f)?;
                writeln!(f, "}}")
            }
            StmtKind::Phase { thread, around, body } => {
                f.write_str("each ")?;
                self.local(f, *thread)?;
                if around.iter().any(|n| *n != [0, 0]) {
                    write!(f, " around {around:?}")?;
                }
                writeln!(f, " {{")?;
                self.block(f, body, depth + 1)?;
                indent(f)?;
                writeln!(f, "}}")
            }
            StmtKind::While { head, cond, body } => {
                if head.is_empty() {
                    f.write_str("while ")?;
                } else {
                    writeln!(f, "while {{")?;
                    self.block(f, head, depth + 1)?;
                    indent(f)?;
                    f.write_str("} ")?;
                }
                self.expr(f, *cond)?;
                writeln!(f, " {{")?;
                self.block(f, body, depth + 1)?;
                indent(f)?;
                writeln!(f, "}}")
            }
            StmtKind::Break => writeln!(f, "break;"),
            StmtKind::Continue => writeln!(f, "continue;"),
            StmtKind::Return(None) => writeln!(f, "return;"),
            StmtKind::Return(Some(value)) => {
                f.write_str("return ")?;
                self.expr(f, *value)?;
                writeln!(f, ";")
            }
        }
    }

    fn all(&self, f: &mut Formatter<'_>, ids: &[ExprId]) -> fmt::Result {
        separated(f, ids.iter(), |f, id| self.expr(f, *id))
    }

    fn cell(&self, f: &mut Formatter<'_>, arg: u32, index: &[ExprId], component: &Component) -> fmt::Result {
        match self.kernel.args.get(arg as usize) {
            Some(arg) => f.write_str(&arg.name)?,
            None => write!(f, "?{arg}")?,
        }
        f.write_char('[')?;
        self.all(f, index)?;
        f.write_char(']')?;
        let single = self.kernel.args.get(arg as usize).is_some_and(|a| matches!(a.element, ElementType::Scalar(_)));
        if single {
            return Ok(());
        }
        write!(f, "#{}", component.base)?;
        for (entry, stride, len) in &component.dynamic {
            f.write_char('+')?;
            self.expr(f, *entry)?;
            write!(f, "<{len}*{stride}")?;
        }
        Ok(())
    }

    fn expr(&self, f: &mut Formatter<'_>, id: ExprId) -> fmt::Result {
        let Some(expr) = self.body.exprs.get(id.0 as usize) else {
            return write!(f, "?{}", id.0);
        };
        match &expr.kind {
            ExprKind::Literal(value) => literal(f, *value),
            ExprKind::Capture(n) => match self.kernel.captures.get(*n as usize) {
                Some(capture) => f.write_str(&capture.name),
                None => write!(f, "?{n}"),
            },
            ExprKind::Coordinate(axis) => write!(f, "at.{axis}"),
            ExprKind::Local(id) => self.local(f, *id),
            ExprKind::Load { arg, index, component } => self.cell(f, *arg, index, component),
            ExprKind::Unary(op, x) => {
                f.write_char(if *op == UnaryOp::Neg { '-' } else { '!' })?;
                self.expr(f, *x)
            }
            ExprKind::Binary(op, a, b) => self.infix(f, op.symbol(), *a, *b),
            ExprKind::Compare(op, a, b) => self.infix(f, op.symbol(), *a, *b),
            ExprKind::And(a, b) => self.infix(f, "&&", *a, *b),
            ExprKind::Or(a, b) => self.infix(f, "||", *a, *b),
            ExprKind::Cast(x) => {
                f.write_char('(')?;
                self.expr(f, *x)?;
                write!(f, " as {})", expr.ty)
            }
            ExprKind::Decode(_, x) => {
                f.write_str("decode(")?;
                self.expr(f, *x)?;
                f.write_char(')')
            }
            ExprKind::Encode { value, .. } => {
                f.write_str("encode(")?;
                self.expr(f, *value)?;
                f.write_char(')')
            }
            ExprKind::Method(method, args) => {
                write!(f, "{}(", method.name())?;
                self.all(f, args)?;
                f.write_char(')')
            }
            ExprKind::Call(n, args) => {
                match self.kernel.functions.get(*n as usize) {
                    Some(function) => write!(f, "{}#{n}(", function.name)?,
                    None => write!(f, "?{n}(")?,
                }
                self.all(f, args)?;
                f.write_char(')')
            }
            ExprKind::Construct(parts) => {
                let (open, close) = match &expr.ty {
                    Type::Array(..) => ("[", "]"),
                    Type::Struct(name, _) => {
                        f.write_str(name)?;
                        ("{", "}")
                    }
                    _ => ("(", ")"),
                };
                f.write_str(open)?;
                self.all(f, parts)?;
                f.write_str(close)
            }
            ExprKind::Part(whole, n) => {
                self.expr(f, *whole)?;
                write!(f, ".{n}")
            }
            ExprKind::Entry(whole, index) => {
                self.expr(f, *whole)?;
                f.write_char('[')?;
                self.expr(f, *index)?;
                f.write_char(']')
            }
        }
    }

    fn infix(&self, f: &mut Formatter<'_>, symbol: &str, a: ExprId, b: ExprId) -> fmt::Result {
        f.write_char('(')?;
        self.expr(f, a)?;
        write!(f, " {symbol} ")?;
        self.expr(f, b)?;
        f.write_char(')')
    }
}

/// A number with its type, except for the types that literals have by themselves and `i64`, the type of coordinates.
fn literal(f: &mut Formatter<'_>, value: Value) -> fmt::Result {
    match value {
        Value::Bool(v) => write!(f, "{v}"),
        Value::F64(v) => write!(f, "{v:?}"),
        Value::F32(v) => write!(f, "{v:?}f32"),
        Value::I64(v) => write!(f, "{v}"),
        integer => write!(f, "{}{}", integer.integer().unwrap_or_default(), integer.ty().name()),
    }
}
