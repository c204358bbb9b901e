//! Statements.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::carried::Row;
use super::ends;
use super::expr::Piece;
use super::helpers::{Helper, bounds};
use super::shared::Shared;
use super::symbols::Known;
use super::text::{Place, Text};
use super::types::part_name;
use crate::element::ScalarType;
use crate::ir::{Access, Block, Body, ExprId, ExprKind, LocalId, Method, Span, Step, Stmt, StmtKind, Type};
use crate::plan::Dialect;
use crate::scalar::Value;

/// What is known of a local before anything is written.
#[derive(Clone, Debug, Default)]
struct Facts {
    assigned: bool,
    /// Used where its declaration is not in scope, or declared where another is.
    astray: bool,
}

/// Writes one body.
#[derive(Debug)]
pub(super) struct Writer<'s, 'a> {
    pub shared: &'s mut Shared<'a>,
    pub body: &'a Body,
    file: String,
    /// What a `return` gives; nothing where it only ends the cell.
    result: Option<Type>,
    locals: Vec<String>,
    facts: Vec<Facts>,
    pub known: Known,
    /// Locals that the text names.
    pub named: BTreeSet<LocalId>,
    /// This is the kernel's own body.
    pub in_kernel: bool,
    /// The text is that of one cell, where a thread has several.
    pub in_run: bool,
    /// What the values of its cell are found by in those of all cells of a thread; outside of runs those of the first
    /// one.
    pub cell: String,
    /// Locals whose `let` is left out, for nothing names them.
    dropped: BTreeSet<LocalId>,
    /// Locals whose `let` could be left out.
    idle: BTreeSet<LocalId>,
    /// What the loops around carry, by number.
    pub carried: BTreeMap<usize, Row>,
    pub text: Text,
    line: u32,
    pub loops: usize,
}

/// The part of a path after the last slash.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

impl<'s, 'a> Writer<'s, 'a> {
    /// The statements of a body whose locals have these names; its parameters are declared. With a `result` every path
    /// returns one.
    pub fn write(
        shared: &'s mut Shared<'a>,
        body: &'a Body,
        file: &str,
        result: Option<&Type>,
        locals: &[String],
        params: &[LocalId],
    ) -> Text {
        let mut facts = vec![Facts::default(); body.locals.len()];
        collect(body, &body.block, &mut params.to_vec(), &mut facts);
        let in_kernel = std::ptr::eq(body, &shared.kernel.body);
        let of_first = shared.of_cell(true);
        let before = shared.mark();
        let mut dropped = BTreeSet::new();
        loop {
            shared.back_to(&before);
            let mut writer = Writer {
                shared: &mut *shared,
                body,
                file: file.to_owned(),
                result: result.cloned(),
                locals: locals.to_vec(),
                facts: facts.clone(),
                known: Known::default(),
                named: BTreeSet::new(),
                in_kernel,
                in_run: false,
                cell: of_first.clone(),
                dropped: dropped.clone(),
                idle: BTreeSet::new(),
                carried: BTreeMap::new(),
                text: Text { depth: 1, ..Text::default() },
                line: 0,
                loops: 0,
            };
            writer.hoisted();
            let for_all = ends::for_all(&*writer.shared).filter(|_| in_kernel);
            match (writer.is_coarse(), for_all.and_then(|n| body.block.split_at_checked(n))) {
                (true, _) => writer.cells(&body.block),
                (false, None) => writer.block(&body.block),
                (false, Some((all, ends))) => {
                    writer.block(all);
                    writer.shared.used.ends = Some(writer.text.lines.len());
                    writer.block(ends);
                }
            }
            if result.is_some() && !matches!(body.block.last(), Some(Stmt { kind: StmtKind::Return(Some(_)), .. })) {
                writer.finish(Span::default());
            }
            let more: BTreeSet<LocalId> = writer.idle.difference(&writer.named).copied().collect();
            if more.is_empty() {
                return writer.text;
            }
            // What only these locals used may be idle now.
            dropped.extend(more);
        }
    }

    fn place(&self, span: Span) -> Place {
        Some((self.file.clone(), span))
    }

    /// Adds a line of a statement; the first of each of the user's lines says which it is.
    pub fn put(&mut self, span: Span, code: impl AsRef<str>) {
        let place = self.place(span);
        let code = code.as_ref();
        if span.line == self.line || span.line == 0 {
            return self.text.placed(code, place);
        }
        self.line = span.line;
        let note = format!("{code}  // {}:{}", file_name(&self.file), span.line);
        self.text.placed(note, place);
    }

    pub fn name(&self, local: LocalId) -> String {
        let name = self.locals.get(local as usize).cloned().unwrap_or_else(|| "missing".into());
        if self.is_spread(local) { name + &self.cell } else { name }
    }

    pub fn ty(&self, local: LocalId) -> Type {
        self.body.locals.get(local as usize).map_or_else(Type::unit, |l| l.ty.clone())
    }

    fn fact(&self, local: LocalId) -> Facts {
        self.facts.get(local as usize).cloned().unwrap_or_default()
    }

    /// Locals that have to live as long as the body start as zeros.
    fn hoisted(&mut self) {
        for local in 0..self.locals.len() as LocalId {
            let ty = self.ty(local);
            if self.is_spread(local) {
                let name = self.locals.get(local as usize).cloned().unwrap_or_default();
                if !self.dropped.contains(&local) {
                    let line = self.spread_declaration(&self.shared.types.name(&ty), &name);
                    self.text.line(line);
                }
            } else if self.is_hoisted(local) {
                let zero = if ty.scalar().is_some() { "0" } else { "{0}" };
                let line = format!("{} {} = {zero};", self.shared.types.name(&ty), self.name(local));
                self.text.line(line);
            }
        }
    }

    pub fn is_hoisted(&self, local: LocalId) -> bool {
        self.fact(local).astray || self.is_spread(local)
    }

    pub fn is_const(&self, local: LocalId) -> bool {
        !self.is_hoisted(local) && !self.fact(local).assigned
    }

    pub fn block(&mut self, block: &'a [Stmt]) {
        let mut rest = block;
        while let [stmt, after @ ..] = rest {
            rest = after;
            if let [next, beyond @ ..] = after
                && self.sin_and_cos(stmt, next)
            {
                rest = beyond;
                continue;
            }
            self.stmt(stmt);
        }
    }

    /// `let s = x.sin(); let c = x.cos();` in either order: CUDA's library finds both for little more than one, the
    /// same bits as one by one. `false` if the statements are something else.
    fn sin_and_cos(&mut self, first: &'a Stmt, second: &'a Stmt) -> bool {
        let method = |stmt: &Stmt| match stmt.kind {
            StmtKind::Let(local, Some(value)) => match &self.body[value].kind {
                ExprKind::Method(method @ (Method::Sin | Method::Cos), args) => match self.body[*args.first()?].kind {
                    ExprKind::Local(of) => Some((local, *method, of, self.body[value].ty.scalar()?)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let (Some((a, one, x, ty)), Some((b, other, y, _))) = (method(first), method(second)) else { return false };
        let declared = |local| self.is_const(local) && !self.is_hoisted(local) && !self.dropped.contains(&local);
        if one == other || x != y || a == y || !declared(a) || !declared(b) || self.shared.dialect() != Dialect::Cuda {
            return false;
        }
        let (name, single) = (self.shared.types.name(&Type::Scalar(ty)), if ty == ScalarType::F32 { "f" } else { "" });
        let (a, b, x) = (self.name(a), self.name(b), self.name(x));
        let (sin, cos) = if one == Method::Sin { (&a, &b) } else { (&b, &a) };
        let call = format!("sincos{single}({x}, &{sin}, &{cos});");
        self.put(first.span, format!("{name} {a}, {b};"));
        self.put(second.span, call);
        true
    }

    pub fn nested(&mut self, block: &'a Block) {
        self.text.depth += 1;
        self.block(block);
        self.text.depth -= 1;
    }

    pub fn stmt(&mut self, stmt: &'a Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let(local, value) => self.let_(span, *local, *value),
            StmtKind::Assign(local, steps, value) => {
                self.named.insert(*local);
                let place = self.steps(*local, steps);
                let value = self.text_of(*value);
                self.put(span, format!("{place} = {value};"));
            }
            StmtKind::Store { component, value, .. } if self.shared.fused.is_some() => {
                let (made, value) = (self.shared.own("made"), self.text_of(*value));
                let made = self.of_cell(made, component);
                self.put(span, format!("{made} = {value};"));
            }
            StmtKind::Store { arg, index, value, .. } if self.slot_write(span, *arg as usize, index, *value) => {}
            StmtKind::Store { arg, index, component, value } => {
                let place = self.store_place(*arg as usize, index, component);
                let value = self.text_of(*value);
                let cell = match self.shared.stay() {
                    true => format!("if ({}) ", self.shared.own("inside")),
                    false => String::new(),
                };
                let streams = self.shared.plan.streams()
                    && self.shared.side.is_none()
                    && self.shared.kernel.args[*arg as usize].access == Access::Write;
                let stored = match streams {
                    true => {
                        let ty = super::wide::component_type(self.shared, *arg as usize, component.base as usize);
                        format!("{}<{ty}>(&{place}, {value});", self.shared.helper(Helper::Stream))
                    }
                    false => format!("{place} = {value};"),
                };
                self.put(span, cell + &stored);
            }
            StmtKind::Eval(value) => self.eval(span, *value),
            StmtKind::If(cond, then, otherwise) => self.if_(span, "", *cond, then, otherwise),
            StmtKind::For { local, lo, hi, inclusive, body } => {
                self.for_(span, *local, [*lo, *hi], *inclusive, body);
            }
            StmtKind::While { head, cond, body } => self.while_(span, head, *cond, body),
            StmtKind::Phase { thread, around, body } => self.phase(span, *thread, around, body),
            // Outside of a loop both end the body.
            StmtKind::Break | StmtKind::Continue if self.loops == 0 => self.finish(span),
            StmtKind::Break => self.put(span, "break;"),
            StmtKind::Continue => self.put(span, "continue;"),
            StmtKind::Return(None) => self.finish(span),
            StmtKind::Return(Some(value)) if self.result.is_some() => {
                let value = self.text_of(*value);
                self.put(span, format!("return {value};"));
            }
            StmtKind::Return(Some(value)) => {
                self.eval(span, *value);
                self.finish(span);
            }
        }
    }

    /// Ends the body without a value: zeros, where there must be one.
    fn finish(&mut self, span: Span) {
        let line = match &self.result {
            None => self.next_cell(),
            Some(Type::Scalar(_)) => "return 0;".into(),
            Some(ty) => format!("{{ const {} zero = {{0}}; return zero; }}", self.shared.types.name(ty)),
        };
        self.put(span, line);
    }

    /// Ends the cell: all that a thread does, or it goes on to the next one.
    fn next_cell(&mut self) -> String {
        if self.shared.fused.is_some() {
            return format!("return {};", self.shared.own("made"));
        }
        let plan = self.shared.plan;
        match (plan.marches(self.shared.kernel.rank).is_some() || plan.along.is_some(), self.loops) {
            (false, _) => "return;".into(),
            (true, 0) => "continue;".into(),
            // Out of the user's loops.
            (true, _) => {
                self.shared.used.leaves = true;
                format!("goto {};", self.shared.own("next_cell"))
            }
        }
    }

    /// Evaluates what can fault, and drops it.
    fn eval(&mut self, span: Span, value: ExprId) {
        let before = (self.shared.used.clone(), self.named.clone());
        self.shared.used.raises = false;
        let text = self.text_of(value);
        if self.shared.used.raises {
            self.put(span, format!("(void)({text});"));
        } else {
            (self.shared.used, self.named) = before;
        }
    }

    fn let_(&mut self, span: Span, local: LocalId, value: Option<ExprId>) {
        let (ty, name) = (self.shared.types.name(&self.ty(local)), self.name(local));
        let Some(value) = value else {
            if !self.is_hoisted(local) {
                self.put(span, format!("{ty} {name};"));
            }
            return;
        };
        // Each cell of a thread may have its own that is never assigned.
        let spread = self.is_spread(local);
        let constant = self.is_const(local) || (spread && !self.fact(local).assigned && !self.fact(local).astray);
        if self.is_hoisted(local) && !constant {
            let value = self.text_of(value);
            return self.put(span, format!("{name} = {value};"));
        }
        if constant {
            self.known.values.insert(local, value);
            self.known.ranges.insert(local, self.known.range(self.body, value));
            if self.dropped.contains(&local) {
                return;
            }
        }
        let raised = std::mem::take(&mut self.shared.used.raises);
        let value = if spread { self.text_of(value) } else { self.initial(value) };
        if constant && !self.shared.used.raises {
            self.idle.insert(local);
        }
        self.shared.used.raises |= raised;
        match (spread, constant) {
            (true, _) => self.put(span, format!("{name} = {value};")),
            (_, true) => self.put(span, format!("const {ty} {name} = {value};")),
            _ => self.put(span, format!("{ty} {name} = {value};")),
        }
    }

    /// A value where a variable is declared: parts stand in braces.
    fn initial(&mut self, value: ExprId) -> String {
        let body = self.body;
        match &body[value].kind {
            ExprKind::Construct(parts) if !parts.is_empty() => {
                let parts: Vec<String> = parts.iter().map(|part| self.initial(*part)).collect();
                match &body[value].ty {
                    Type::Array(..) => format!("{{{{{}}}}}", parts.join(", ")),
                    _ => format!("{{{}}}", parts.join(", ")),
                }
            }
            ExprKind::Construct(_) => "{0}".into(),
            _ => self.text_of(value),
        }
    }

    /// A part of a local, to be assigned.
    fn steps(&mut self, local: LocalId, steps: &[Step]) -> String {
        let mut place = self.name(local);
        let mut ty = self.ty(local);
        for step in steps {
            let next = match (&ty, step) {
                (Type::Array(of, len), Step::Part(n)) if (*n as usize) < *len => {
                    place += &format!(".at[{n}]");
                    (**of).clone()
                }
                (Type::Array(of, len), Step::Entry(index)) => {
                    let index = self.entry(*index, *len as u64).text;
                    place += &format!(".at[{index}]");
                    (**of).clone()
                }
                (Type::Tuple(parts), Step::Part(n)) if (*n as usize) < parts.len() => {
                    place += &format!(".{}", part_name(&ty, *n as usize));
                    parts[*n as usize].clone()
                }
                (Type::Struct(_, fields), Step::Part(n)) if (*n as usize) < fields.len() => {
                    place += &format!(".{}", part_name(&ty, *n as usize));
                    fields[*n as usize].1.clone()
                }
                _ => return place,
            };
            ty = next;
        }
        place
    }

    fn if_(&mut self, span: Span, before: &str, cond: ExprId, then: &'a Block, otherwise: &'a Block) {
        let cond = self.text_of(cond);
        self.put(span, format!("{before}if ({cond}) {{"));
        self.nested(then);
        match otherwise.as_slice() {
            [] => self.text.line("}"),
            [Stmt { span, kind: StmtKind::If(cond, then, otherwise) }] => {
                self.if_(*span, "} else ", *cond, then, otherwise);
            }
            _ => {
                self.text.line("} else {");
                self.nested(otherwise);
                self.text.line("}");
            }
        }
    }

    fn while_(&mut self, span: Span, head: &'a Block, cond: ExprId, body: &'a Block) {
        self.loops += 1;
        if head.is_empty() {
            let cond = self.text_of(cond);
            self.put(span, format!("while ({cond}) {{"));
            self.nested(body);
        } else {
            self.put(span, "while (true) {");
            self.nested(head);
            let endless = matches!(self.body[cond].kind, ExprKind::Literal(Value::Bool(true)));
            self.text.depth += 1;
            if !endless {
                let cond = self.text_of(cond);
                self.put(span, format!("if (!({cond})) break;"));
            }
            self.text.depth -= 1;
            self.nested(body);
        }
        self.text.line("}");
        self.loops -= 1;
    }

    fn for_(&mut self, span: Span, local: LocalId, [lo, hi]: [ExprId; 2], inclusive: bool, body: &'a Block) {
        let of = self.body[lo].ty.scalar().unwrap_or(ScalarType::I64);
        let ty = self.shared.types.name(&self.body[lo].ty);
        let (first, last) = (self.known.range(self.body, lo), self.known.range(self.body, hi));
        let most = bounds(of).1;
        // The bound is evaluated once: what stays the same can stand in the condition.
        let stays = match &self.body[hi].kind {
            _ if self.known.constant(self.body, hi).is_some() => true,
            ExprKind::Capture(_) => true,
            ExprKind::Local(local) => self.is_const(*local),
            _ => false,
        };
        let mut bound = self.text_of(hi);
        let from = self.text_of(lo);
        if let Some(scope) = self.walked((local, lo, hi)) {
            let top = if inclusive { last.1 } else { last.1 - 1 };
            if self.is_const(local) {
                self.known.ranges.insert(local, (first.0, top.max(first.0)));
            }
            let wide = |text: String| if of == ScalarType::I64 { text } else { format!("(i64)({text})") };
            return self.strips(span, scope, [wide(from), wide(bound)], inclusive, body);
        }
        let name = self.name(local);
        if !stays {
            let end = self.shared.names.fresh(&format!("{name}_end"));
            self.put(span, format!("const {ty} {end} = {bound};"));
            bound = end;
        }
        // A body that assigns the variable does not change what comes next.
        let own = self.fact(local).assigned || self.is_hoisted(local);
        let counter = if own { self.shared.names.fresh(&format!("{name}_turn")) } else { name.clone() };
        let mut from = from;
        let apart = self.is_coarse() && !self.in_run;
        let rows = if own || apart { Vec::new() } else { self.rows_of((local, lo, hi)) };
        if !rows.is_empty() {
            // Where the loop does not run nothing is read.
            let certain = if inclusive { first.1 <= last.0 } else { first.1 < last.0 };
            let test = (!certain).then(|| format!(" {} {bound}", if inclusive { "<=" } else { "<" }));
            from = self.enter(span, &rows, (local, lo, from), test);
        }
        if !inclusive || last.1 < most {
            let than = if inclusive { "<=" } else { "<" };
            self.unrolled(&rows, body);
            self.put(span, format!("for ({ty} {counter} = {from}; {counter} {than} {bound}; {counter}++) {{"));
        } else {
            // The bound may be the highest value of its type, which no counter passes.
            let more = self.shared.names.fresh(&format!("{name}_more"));
            self.put(span, format!("bool {more} = {from} <= {bound};"));
            let next = format!("{more} = {counter} < {bound}, {counter} += {more}");
            self.unrolled(&rows, body);
            self.put(span, format!("for ({ty} {counter} = {from}; {more}; {next}) {{"));
        }
        if own {
            let declared = if self.is_hoisted(local) { String::new() } else { format!("{ty} ") };
            self.text.depth += 1;
            self.put(span, format!("{declared}{name} = {counter};"));
            self.text.depth -= 1;
        } else {
            let top = if inclusive { last.1 } else { last.1 - 1 };
            self.known.ranges.insert(local, (first.0, top.max(first.0)));
        }
        self.loops += 1;
        self.hand_on(&rows, &name);
        self.turn(body, false);
        self.loops -= 1;
        self.text.line("}");
        self.leave(&rows);
    }

    /// An index below `len`: what may not be is checked.
    pub fn entry(&mut self, index: ExprId, len: u64) -> Piece {
        let (lo, hi) = self.known.range(self.body, index);
        let piece = self.expr(index);
        if !self.shared.may_fault || (lo >= 0 && hi < i128::from(len)) {
            return piece;
        }
        let helper = self.shared.helper(Helper::Entry);
        let fault = self.shared.fault();
        Piece::whole(format!("{helper}({}, {len}, {fault})", piece.text))
    }
}

/// Finds how locals are used; `scope` are those declared around the block.
fn collect(body: &Body, block: &Block, scope: &mut Vec<LocalId>, facts: &mut [Facts]) {
    let outside = scope.len();
    collect_open(body, block, scope, facts);
    scope.truncate(outside);
}

fn collect_open(body: &Body, block: &Block, scope: &mut Vec<LocalId>, facts: &mut [Facts]) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Let(local, value) => {
                value.iter().for_each(|v| uses(body, *v, scope, facts));
                declare(*local, scope, facts);
            }
            StmtKind::Assign(local, steps, value) => {
                touch(*local, scope, facts, true);
                for step in steps {
                    if let Step::Entry(index) = step {
                        uses(body, *index, scope, facts);
                    }
                }
                uses(body, *value, scope, facts);
            }
            StmtKind::Store { index, component, value, .. } => {
                index.iter().for_each(|i| uses(body, *i, scope, facts));
                component.dynamic.iter().for_each(|d| uses(body, d.0, scope, facts));
                uses(body, *value, scope, facts);
            }
            StmtKind::Eval(value) | StmtKind::Return(Some(value)) => uses(body, *value, scope, facts),
            StmtKind::If(cond, then, otherwise) => {
                uses(body, *cond, scope, facts);
                collect(body, then, scope, facts);
                collect(body, otherwise, scope, facts);
            }
            StmtKind::For { local, lo, hi, body: inner, .. } => {
                uses(body, *lo, scope, facts);
                uses(body, *hi, scope, facts);
                declare(*local, scope, facts);
                collect(body, inner, scope, facts);
                scope.pop();
            }
            StmtKind::Phase { thread, body: inner, .. } => {
                declare(*thread, scope, facts);
                collect(body, inner, scope, facts);
                scope.pop();
            }
            StmtKind::While { head, cond, body: inner } => {
                let outside = scope.len();
                collect_open(body, head, scope, facts);
                uses(body, *cond, scope, facts);
                collect(body, inner, scope, facts);
                scope.truncate(outside);
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
        }
    }
}

fn declare(local: LocalId, scope: &mut Vec<LocalId>, facts: &mut [Facts]) {
    if let Some(fact) = facts.get_mut(local as usize) {
        fact.astray |= scope.contains(&local);
    }
    scope.push(local);
}

fn touch(local: LocalId, scope: &[LocalId], facts: &mut [Facts], write: bool) {
    if let Some(fact) = facts.get_mut(local as usize) {
        fact.assigned |= write;
        fact.astray |= !scope.contains(&local);
    }
}

fn uses(body: &Body, id: ExprId, scope: &[LocalId], facts: &mut [Facts]) {
    let mut seen: HashMap<ExprId, ()> = HashMap::new();
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        if seen.insert(id, ()).is_some() {
            continue;
        }
        let kind = &body[id].kind;
        if let ExprKind::Local(local) = kind {
            touch(*local, scope, facts, false);
        }
        kind.operands(|id| todo.push(id));
    }
}
