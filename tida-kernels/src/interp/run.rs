//! The machine: locals are flat rows of scalars, expressions are walked.

use std::collections::HashMap;

use super::Memory;
use super::group::each_point;
use crate::element::ScalarType;
use crate::ir::{Block, Body, Component, ExprId, ExprKind, Group, Kernel, LocalId, Step, StmtKind, Type};
use crate::quote::BinaryOp;
use crate::scalar::{Fault, Value, eval, fault};

/// A kernel with what is worked out once for all cells.
#[derive(Debug)]
pub(super) struct Program<'a> {
    kernel: &'a Kernel,
    body: Layout,
    functions: Vec<Layout>,
    /// First scalar of each capture.
    captures: Vec<usize>,
}

/// Where the locals of a body lie.
#[derive(Debug)]
struct Layout {
    /// First scalar of each local.
    starts: Vec<usize>,
    /// All locals, zeros.
    zeros: Vec<Value>,
}

/// A cell ran too long.
#[derive(Debug)]
pub(super) struct OutOfFuel {
    /// Statements run.
    pub run: u64,
}

impl Layout {
    fn of(body: &Body) -> Layout {
        let mut zeros = Vec::new();
        let mut starts = Vec::with_capacity(body.locals.len());
        for local in &body.locals {
            starts.push(zeros.len());
            zero_of(&local.ty, &mut zeros);
        }
        Layout { starts, zeros }
    }
}

impl<'a> Program<'a> {
    pub fn new(kernel: &'a Kernel) -> Self {
        let mut captures = Vec::with_capacity(kernel.captures.len());
        let mut start = 0;
        for capture in &kernel.captures {
            captures.push(start);
            start += capture.ty.components();
        }
        Program {
            kernel,
            body: Layout::of(&kernel.body),
            functions: kernel.functions.iter().map(|f| Layout::of(&f.body)).collect(),
            captures,
        }
    }

    /// Runs one cell.
    pub fn cell(
        &self,
        captures: &[Value],
        at: &[i64],
        memory: &mut dyn Memory,
        fuel: u64,
    ) -> Result<(Vec<Value>, Option<Fault>), OutOfFuel> {
        // Faults are kept per thread; what the thread had before stays its own.
        let before = fault::take();
        let mut machine = Machine { program: self, captures, at: at.to_vec(), memory, fuel, run: 0, threads: None };
        let mut frame = Frame { body: &self.kernel.body, layout: &self.body, locals: self.body.zeros.clone() };
        let mut result = Vec::new();
        let ended = machine.block(&mut frame, &self.kernel.body.block, &mut result);
        let first = fault::take();
        if let Some(before) = before {
            fault::raise(before);
        }
        ended?;
        fill(&self.kernel.result, &mut result);
        Ok((result, first))
    }
}

impl<'a> Program<'a> {
    /// Runs one group of `len` cells from `lo` on.
    pub fn group(
        &self,
        group: &'a Group,
        captures: &[Value],
        (lo, len): (&[i64], &[i64]),
        memory: &mut dyn Memory,
        fuel: u64,
    ) -> Result<Option<Fault>, OutOfFuel> {
        let before = fault::take();
        let threads = Threads { group, lo, len, own: HashMap::new() };
        let mut machine =
            Machine { program: self, captures, at: lo.to_vec(), memory, fuel, run: 0, threads: Some(threads) };
        let mut frame = Frame { body: &self.kernel.body, layout: &self.body, locals: self.body.zeros.clone() };
        if let Some(start) = group.len.and_then(|local| self.body.starts.get(local as usize)) {
            for (slot, len) in frame.locals.iter_mut().skip(*start).zip(len) {
                *slot = Value::I64(*len);
            }
        }
        let ended = machine.block(&mut frame, &self.kernel.body.block, &mut Vec::new());
        let first = fault::take();
        if let Some(before) = before {
            fault::raise(before);
        }
        ended.map(|_| first)
    }
}

/// The threads of a group.
struct Threads<'a> {
    group: &'a Group,
    /// The group's first cell.
    lo: &'a [i64],
    /// Its cells along each axis.
    len: &'a [i64],
    /// What each thread that has run has in the locals of its own.
    own: HashMap<Vec<i64>, Vec<Value>>,
}

/// How a block was left.
#[derive(Clone, Copy, PartialEq)]
enum Left {
    AtEnd,
    Break,
    Continue,
    Return,
}

/// The locals of a running body.
struct Frame<'a> {
    body: &'a Body,
    layout: &'a Layout,
    locals: Vec<Value>,
}

/// A row of scalars.
#[derive(Clone, Copy)]
enum Row {
    Locals,
    Captures,
}

impl Row {
    fn of<'v>(self, captures: &'v [Value], locals: &'v [Value]) -> &'v [Value] {
        match self {
            Row::Locals => locals,
            Row::Captures => captures,
        }
    }
}

struct Machine<'a, 'm> {
    program: &'a Program<'a>,
    captures: &'m [Value],
    at: Vec<i64>,
    memory: &'m mut dyn Memory,
    fuel: u64,
    run: u64,
    /// Of a kernel over groups.
    threads: Option<Threads<'m>>,
}

type Ran<T> = Result<T, OutOfFuel>;

impl<'a> Machine<'a, '_> {
    fn tick(&mut self) -> Ran<()> {
        if self.run >= self.fuel {
            return Err(OutOfFuel { run: self.run });
        }
        self.run += 1;
        Ok(())
    }

    fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block, result: &mut Vec<Value>) -> Ran<Left> {
        for stmt in block {
            self.tick()?;
            let left = self.stmt(frame, &stmt.kind, result)?;
            if left != Left::AtEnd {
                return Ok(left);
            }
        }
        Ok(Left::AtEnd)
    }

    fn stmt(&mut self, frame: &mut Frame<'a>, stmt: &'a StmtKind, result: &mut Vec<Value>) -> Ran<Left> {
        match stmt {
            StmtKind::Let(_, None) => {}
            StmtKind::Let(local, Some(value)) => {
                let start = frame.layout.starts.get(*local as usize).copied().unwrap_or(usize::MAX);
                self.assign(frame, start, *value)?;
            }
            StmtKind::Assign(local, steps, value) => {
                let start = self.place(frame, *local, steps)?;
                self.assign(frame, start, *value)?;
            }
            StmtKind::Store { arg, index, component, value } => {
                let value = self.scalar(frame, *value)?;
                let index = self.index(frame, index)?;
                let component = self.component(frame, component)?;
                if !self.memory.store(*arg as usize, component, &index, value) {
                    fault::raise(out_of_range(*arg, &index));
                }
            }
            StmtKind::Eval(value) => {
                self.value(frame, *value, &mut Vec::new())?;
            }
            StmtKind::If(cond, then, otherwise) => {
                let taken = if self.condition(frame, *cond)? { then } else { otherwise };
                return self.block(frame, taken, result);
            }
            StmtKind::For { local, lo, hi, inclusive, body } => {
                return self.for_loop(frame, *local, [*lo, *hi], *inclusive, body, result);
            }
            StmtKind::While { head, cond, body } => loop {
                self.tick()?;
                let left = self.block(frame, head, result)?;
                if left == Left::Return {
                    return Ok(left);
                }
                // A `break` or `continue` in a condition acts on this loop.
                if left == Left::Break {
                    break;
                }
                if left == Left::Continue {
                    continue;
                }
                if !self.condition(frame, *cond)? {
                    break;
                }
                match self.block(frame, body, result)? {
                    Left::Break => break,
                    Left::Return => return Ok(Left::Return),
                    Left::AtEnd | Left::Continue => {}
                }
            },
            StmtKind::Phase { thread, around, body } => self.phase(frame, *thread, around, body, result)?,
            StmtKind::Break => return Ok(Left::Break),
            StmtKind::Continue => return Ok(Left::Continue),
            StmtKind::Return(value) => {
                let mut given = Vec::new();
                if let Some(value) = value {
                    self.value(frame, *value, &mut given)?;
                }
                *result = given;
                return Ok(Left::Return);
            }
        }
        Ok(Left::AtEnd)
    }

    /// Runs a phase thread by thread.
    fn phase(
        &mut self,
        frame: &mut Frame<'a>,
        thread: LocalId,
        around: &[[u32; 2]],
        body: &'a Block,
        result: &mut Vec<Value>,
    ) -> Ran<()> {
        let Some(mut threads) = self.threads.take() else { return Ok(()) };
        let layout = frame.layout;
        let start = |local: LocalId| layout.starts.get(local as usize).copied().unwrap_or(usize::MAX);
        let privates = threads.group.privates.iter().flat_map(|local| {
            let size = frame.body.locals.get(*local as usize).map_or(0, |local| local.ty.components());
            start(*local)..start(*local).saturating_add(size)
        });
        let privates: Vec<usize> = privates.collect();
        let values = |frame: &Frame<'a>| -> Vec<Value> {
            privates.iter().filter_map(|n| frame.locals.get(*n)).copied().collect()
        };
        // What a thread has that has not run in a phase yet.
        let fresh = values(frame);
        let lo: Vec<i64> = around.iter().map(|n| -i64::from(n[0])).collect();
        let hi: Vec<i64> = around.iter().zip(threads.len).map(|(n, len)| len + i64::from(n[1])).collect();
        let ran = each_point(&lo, &hi, |t| {
            self.tick()?;
            let own = threads.own.get(t).unwrap_or(&fresh).clone();
            for (n, value) in privates.iter().zip(own) {
                if let Some(slot) = frame.locals.get_mut(*n) {
                    *slot = value;
                }
            }
            for (slot, t) in frame.locals.iter_mut().skip(start(thread)).zip(t) {
                *slot = Value::I64(*t);
            }
            self.at = t.iter().zip(threads.lo).map(|(t, lo)| t + lo).collect();
            self.block(frame, body, result)?;
            threads.own.insert(t.to_vec(), values(frame));
            Ok(())
        });
        for (n, value) in privates.iter().zip(fresh) {
            if let Some(slot) = frame.locals.get_mut(*n) {
                *slot = value;
            }
        }
        self.threads = Some(threads);
        ran
    }

    fn for_loop(
        &mut self,
        frame: &mut Frame<'a>,
        local: LocalId,
        [lo, hi]: [ExprId; 2],
        inclusive: bool,
        body: &'a Block,
        result: &mut Vec<Value>,
    ) -> Ran<Left> {
        let (first, bound) = (self.scalar(frame, lo)?, self.scalar(frame, hi)?);
        let ty = first.ty();
        let last = if inclusive { wide(bound) } else { wide(bound) - 1 };
        let start = frame.layout.starts.get(local as usize).copied().unwrap_or(usize::MAX);
        let mut n = wide(first);
        while n <= last {
            self.tick()?;
            if let Some(slot) = frame.locals.get_mut(start) {
                *slot = Value::from_bits(ty, n as u64);
            }
            match self.block(frame, body, result)? {
                Left::Break => break,
                Left::Return => return Ok(Left::Return),
                Left::AtEnd | Left::Continue => {}
            }
            n += 1;
        }
        Ok(Left::AtEnd)
    }

    /// Evaluates `value` and writes it to the locals from `start`.
    fn assign(&mut self, frame: &mut Frame<'a>, start: usize, value: ExprId) -> Ran<()> {
        if is_scalar(frame, value) {
            let value = self.scalar(frame, value)?;
            if let Some(slot) = frame.locals.get_mut(start) {
                *slot = value;
            }
            return Ok(());
        }
        let mut values = Vec::new();
        self.value(frame, value, &mut values)?;
        for (n, value) in values.into_iter().enumerate() {
            if let Some(slot) = frame.locals.get_mut(start.saturating_add(n)) {
                *slot = value;
            }
        }
        Ok(())
    }

    /// First scalar of a part of a local.
    fn place(&mut self, frame: &mut Frame<'a>, local: LocalId, steps: &[Step]) -> Ran<usize> {
        let (Some(start), Some(local)) =
            (frame.layout.starts.get(local as usize), frame.body.locals.get(local as usize))
        else {
            return Ok(usize::MAX);
        };
        let (mut start, mut ty) = (*start, &local.ty);
        for step in steps {
            let n = match step {
                Step::Part(n) => *n as usize,
                Step::Entry(index) => {
                    let index = self.scalar(frame, *index)?.bits();
                    entry(index, if let Type::Array(_, len) = ty { *len as u64 } else { 0 })
                }
            };
            let Some((before, part)) = part(ty, n) else { return Ok(usize::MAX) };
            start += before;
            ty = part;
        }
        Ok(start)
    }

    fn condition(&mut self, frame: &mut Frame<'a>, id: ExprId) -> Ran<bool> {
        Ok(self.scalar(frame, id)? == Value::Bool(true))
    }

    fn index(&mut self, frame: &mut Frame<'a>, index: &[ExprId]) -> Ran<Vec<i64>> {
        index.iter().map(|id| Ok(self.scalar(frame, *id)?.bits() as i64)).collect()
    }

    fn component(&mut self, frame: &mut Frame<'a>, component: &Component) -> Ran<usize> {
        let mut at = component.base as usize;
        for (index, stride, len) in &component.dynamic {
            let index = self.scalar(frame, *index)?.bits();
            at += entry(index, *len as u64) * *stride as usize;
        }
        Ok(at)
    }

    /// The value of an expression of scalar type.
    fn scalar(&mut self, frame: &mut Frame<'a>, id: ExprId) -> Ran<Value> {
        let expr = &frame.body[id];
        Ok(match &expr.kind {
            ExprKind::Literal(value) => *value,
            ExprKind::Coordinate(axis) => Value::I64(self.at.get(*axis as usize).copied().unwrap_or(0)),
            ExprKind::Local(local) => {
                let start = frame.layout.starts.get(*local as usize);
                start.and_then(|start| frame.locals.get(*start)).copied().unwrap_or(Value::Bool(false))
            }
            ExprKind::Load { arg, index, component } => self.load(frame, *arg, index, component)?,
            ExprKind::Unary(op, x) => eval::unary(*op, self.scalar(frame, *x)?),
            ExprKind::Binary(op, a, b) => self.binary(frame, *op, *a, *b)?,
            ExprKind::Compare(op, a, b) => {
                let a = self.scalar(frame, *a)?;
                Value::Bool(eval::compare(*op, a, self.scalar(frame, *b)?))
            }
            ExprKind::And(a, b) => Value::Bool(self.condition(frame, *a)? && self.condition(frame, *b)?),
            ExprKind::Or(a, b) => Value::Bool(self.condition(frame, *a)? || self.condition(frame, *b)?),
            ExprKind::Cast(x) => {
                let x = self.scalar(frame, *x)?;
                eval::cast(x, expr.ty.scalar().unwrap_or(ScalarType::Bool))
            }
            ExprKind::Decode(codec, x) => codec.decode(self.scalar(frame, *x)?.bits() as u32),
            ExprKind::Encode { codec, value, .. } => codec.stored(codec.encode(self.scalar(frame, *value)?).0),
            ExprKind::Method(method, args) => {
                let mut values = [Value::Bool(false); 3];
                for (value, arg) in values.iter_mut().zip(args) {
                    *value = self.scalar(frame, *arg)?;
                }
                eval::method(*method, &values)
            }
            ExprKind::Capture(_)
            | ExprKind::Part(..)
            | ExprKind::Entry(..)
            | ExprKind::Call(..)
            | ExprKind::Construct(_) => {
                if let Some((row, start)) = self.located(frame, id)? {
                    return Ok(row.of(self.captures, &frame.locals).get(start).copied().unwrap_or(Value::Bool(false)));
                }
                let mut values = Vec::new();
                self.value(frame, id, &mut values)?;
                values.first().copied().unwrap_or(Value::Bool(false))
            }
        })
    }

    fn binary(&mut self, frame: &mut Frame<'a>, op: BinaryOp, a: ExprId, b: ExprId) -> Ran<Value> {
        let a = self.scalar(frame, a)?;
        let b = self.scalar(frame, b)?;
        Ok(eval::binary(op, a, b))
    }

    fn load(&mut self, frame: &mut Frame<'a>, arg: u32, index: &[ExprId], component: &Component) -> Ran<Value> {
        let index = self.index(frame, index)?;
        // A cell that is not there is found before an entry that is not.
        if !component.dynamic.is_empty() && self.memory.load(arg as usize, component.base as usize, &index).is_none() {
            fault::raise(out_of_range(arg, &index));
        }
        let at = self.component(frame, component)?;
        if let Some(value) = self.memory.load(arg as usize, at, &index) {
            return Ok(value);
        }
        fault::raise(out_of_range(arg, &index));
        let types = self.program.kernel.args.get(arg as usize).map(|a| a.element.component_types());
        let ty = types.and_then(|types| types.get(at).copied()).unwrap_or(ScalarType::Bool);
        Ok(Value::from_bits(ty, 0))
    }

    /// The scalars of any expression, added to `out`.
    fn value(&mut self, frame: &mut Frame<'a>, id: ExprId, out: &mut Vec<Value>) -> Ran<()> {
        let expr = &frame.body[id];
        match &expr.kind {
            ExprKind::Construct(parts) => {
                for part in parts {
                    self.value(frame, *part, out)?;
                }
            }
            ExprKind::Local(_) | ExprKind::Capture(_) => {
                self.copy_located(frame, id, out)?;
            }
            ExprKind::Part(whole, n) => {
                if self.copy_located(frame, id, out)? {
                    return Ok(());
                }
                let at =
                    part(&frame.body[*whole].ty, *n as usize).map(|(before, part)| before..before + part.components());
                let mut values = Vec::new();
                self.value(frame, *whole, &mut values)?;
                out.extend_from_slice(values.get(at.unwrap_or(0..0)).unwrap_or_default());
            }
            ExprKind::Entry(whole, index) => {
                if self.copy_located(frame, id, out)? {
                    return Ok(());
                }
                // The array comes first, as in Rust.
                let mut values = Vec::new();
                self.value(frame, *whole, &mut values)?;
                let index = self.scalar(frame, *index)?.bits();
                if let Type::Array(of, len) = &frame.body[*whole].ty {
                    let size = of.components();
                    let start = entry(index, *len as u64) * size;
                    out.extend_from_slice(values.get(start..start + size).unwrap_or_default());
                }
            }
            ExprKind::Call(n, args) => self.call(frame, *n, args, out)?,
            _ => out.push(self.scalar(frame, id)?),
        }
        Ok(())
    }

    /// Where a local, a capture or a part of one lies.
    fn located(&mut self, frame: &mut Frame<'a>, id: ExprId) -> Ran<Option<(Row, usize)>> {
        Ok(match &frame.body[id].kind {
            ExprKind::Local(local) => frame.layout.starts.get(*local as usize).map(|start| (Row::Locals, *start)),
            ExprKind::Capture(n) => self.program.captures.get(*n as usize).map(|start| (Row::Captures, *start)),
            ExprKind::Part(whole, n) => {
                let before = part(&frame.body[*whole].ty, *n as usize).map(|(before, _)| before);
                self.located(frame, *whole)?.zip(before).map(|((row, start), before)| (row, start + before))
            }
            ExprKind::Entry(whole, index) => {
                let Some((row, start)) = self.located(frame, *whole)? else { return Ok(None) };
                let Type::Array(of, len) = &frame.body[*whole].ty else { return Ok(None) };
                let index = self.scalar(frame, *index)?.bits();
                Some((row, start + entry(index, *len as u64) * of.components()))
            }
            _ => None,
        })
    }

    /// Copies a local, a capture or a part of one; `false` if the expression is none.
    fn copy_located(&mut self, frame: &mut Frame<'a>, id: ExprId, out: &mut Vec<Value>) -> Ran<bool> {
        let Some((row, start)) = self.located(frame, id)? else { return Ok(false) };
        let ty = &frame.body[id].ty;
        let given = out.len();
        let end = start.saturating_add(ty.components());
        out.extend_from_slice(row.of(self.captures, &frame.locals).get(start..end).unwrap_or_default());
        fill_from(ty, given, out);
        Ok(true)
    }

    fn call(&mut self, frame: &mut Frame<'a>, number: u32, args: &[ExprId], out: &mut Vec<Value>) -> Ran<()> {
        let program = self.program;
        let called = program.kernel.functions.get(number as usize).zip(program.functions.get(number as usize));
        let Some((function, layout)) = called else { return Ok(()) };
        let mut inner = Frame { body: &function.body, layout, locals: layout.zeros.clone() };
        for (param, arg) in function.params.iter().zip(args) {
            let mut values = Vec::new();
            self.value(frame, *arg, &mut values)?;
            let start = layout.starts.get(*param as usize).copied().unwrap_or(usize::MAX);
            for (n, value) in values.into_iter().enumerate() {
                if let Some(slot) = inner.locals.get_mut(start.saturating_add(n)) {
                    *slot = value;
                }
            }
        }
        self.tick()?;
        let mut result = Vec::new();
        self.block(&mut inner, &function.body.block, &mut result)?;
        fill(&function.result, &mut result);
        out.append(&mut result);
        Ok(())
    }
}

fn is_scalar(frame: &Frame<'_>, id: ExprId) -> bool {
    matches!(frame.body[id].ty, Type::Scalar(_))
}

/// Integers of every type, without loss; the bits of what is none.
fn wide(value: Value) -> i128 {
    value.integer().unwrap_or_else(|| value.bits().into())
}

/// Entry `index` of `len`; outside it is entry 0 and a fault.
fn entry(index: u64, len: u64) -> usize {
    if index < len {
        return index as usize;
    }
    fault::raise(Fault::Entry { index, len });
    0
}

fn out_of_range(arg: u32, index: &[i64]) -> Fault {
    let mut axes = [0; 4];
    axes.iter_mut().zip(index).for_each(|(axis, i)| *axis = *i);
    Fault::OutOfRange { arg, index: axes }
}

/// Part `n` of a type, and how many scalars come before it.
fn part(ty: &Type, n: usize) -> Option<(usize, &Type)> {
    match ty {
        Type::Scalar(_) => None,
        Type::Array(of, len) => (n < *len).then(|| (n * of.components(), &**of)),
        Type::Tuple(parts) => {
            let before = parts.iter().take(n).map(Type::components).sum();
            parts.get(n).map(|part| (before, part))
        }
        Type::Struct(_, fields) => {
            let before = fields.iter().take(n).map(|(_, t)| t.components()).sum();
            fields.get(n).map(|(_, part)| (before, part))
        }
    }
}

fn zero_of(ty: &Type, out: &mut Vec<Value>) {
    match ty {
        Type::Scalar(s) => out.push(Value::from_bits(*s, 0)),
        Type::Array(of, len) => (0..*len).for_each(|_| zero_of(of, out)),
        Type::Tuple(parts) => parts.iter().for_each(|part| zero_of(part, out)),
        Type::Struct(_, fields) => fields.iter().for_each(|(_, t)| zero_of(t, out)),
    }
}

/// Makes `values` a value of the type: zeros where there are too few.
fn fill(ty: &Type, values: &mut Vec<Value>) {
    fill_from(ty, 0, values);
}

fn fill_from(ty: &Type, given: usize, values: &mut Vec<Value>) {
    let want = ty.components();
    let have = values.len() - given;
    if have < want {
        let mut zeros = Vec::with_capacity(want);
        zero_of(ty, &mut zeros);
        values.extend(zeros.into_iter().skip(have));
    }
}
