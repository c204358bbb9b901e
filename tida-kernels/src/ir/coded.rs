//! Kernels of arrays that hold codes (Salehi ch. 4): what a kernel loads of them is decoded, what it stores encoded. Of
//! arrays that hold values and are packed for the link alone, loads stay, and what is stored is rounded: encoded and
//! decoded.
//!
//! Everything after this pass sees arrays of narrower scalars and a little more arithmetic. So what moves or shares
//! what memory holds (registers of a march, tiles, steps of one launch) does so with codes.

use std::sync::Arc;

use super::lower::compact::compact;
use super::{
    Access, Arg, Block, Body, Component, Expr, ExprId, ExprKind, Kernel, Local, LocalId, Span, Stmt, StmtKind, Type,
};
use crate::codec::Codec;
use crate::element::{ElementType, ScalarType};
use crate::scalar::Value;

/// What memory holds of an argument whose cells are coded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coded {
    /// The element with the types of codes.
    pub element: ElementType,
    /// By component: how it is kept, if not as it is.
    pub codecs: Vec<Option<Codec>>,
    /// Values that saturate as they are stored are counted.
    pub counted: bool,
    /// Memory holds values, and stores round them; the element is theirs.
    pub rounded: bool,
}

/// A kernel that cannot have an argument coded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCoded {
    /// The argument.
    pub arg: usize,
    /// What was found.
    pub found: String,
}

/// The kernel for arguments of which some are coded. `overwrites` says of which all cells are written before they are
/// read; `elsewhere` lists, of those that are written, the reads of other cells than that.
///
/// The codec defines what an array holds: a cell is rounded once, when the kernel is done with it. What the kernel
/// reads back of a cell that it writes is what it wrote.
///
/// In a kernel over groups each thread keeps what it reads back of its cell until the last phase has ended, and what is
/// fetched is decoded as it is.
///
/// # Errors
/// A kernel that reads back components that it chooses at run time.
pub fn coded(
    kernel: &Kernel,
    args: &[Option<Coded>],
    overwrites: &[bool],
    elsewhere: &[Vec<ExprId>],
) -> Result<Kernel, NotCoded> {
    let mut made = kernel.clone();
    for (number, (arg, coded)) in made.args.iter_mut().zip(args).enumerate() {
        let Some(coded) = coded else { continue };
        arg.element = coded.element;
        let in_group = made.group.is_some();
        let mut pass = Pass { body: &mut made.body, arg: number as u32, coded, rank: made.rank, in_group };
        let known = overwrites.get(number).copied().unwrap_or(false);
        let far = elsewhere.get(number).map_or(&[][..], Vec::as_slice);
        let kept = pass.run(arg, known, far).map_err(|found| NotCoded { arg: number, found })?;
        let Some(group) = &mut made.group else { continue };
        group.privates.extend(kept.iter().map(|kept| kept.local));
        for array in group.arrays.iter_mut().filter(|array| array.fetch == Some(number as u32)) {
            array.codec = coded.codecs.first().copied().flatten().filter(|_| !coded.rounded);
        }
    }
    made.body = compact(&made.body);
    Ok(made)
}

struct Pass<'a> {
    body: &'a mut Body,
    arg: u32,
    coded: &'a Coded,
    rank: usize,
    in_group: bool,
}

/// A component that is read back.
struct Kept {
    component: u32,
    codec: Codec,
    local: LocalId,
}

impl Pass<'_> {
    fn codec(&self, component: &Component) -> Option<Codec> {
        self.coded.codecs.get(component.base as usize).copied().flatten()
    }

    /// Gives what is kept in locals.
    fn run(&mut self, arg: &Arg, overwritten: bool, far: &[ExprId]) -> Result<Vec<Kept>, String> {
        let mut loads: Vec<ExprId> = Vec::new();
        for (n, expr) in self.body.exprs.iter().enumerate() {
            if let ExprKind::Load { arg, component, .. } = &expr.kind
                && *arg == self.arg
                && self.codec(component).is_some()
                && !far.contains(&ExprId(n as u32))
            {
                loads.push(ExprId(n as u32));
            }
        }
        let mut kept = Vec::new();
        if arg.access == Access::Write && !loads.is_empty() {
            kept = self.kept(&arg.name, &loads)?;
        }
        for id in loads {
            self.load(id, &kept);
        }
        far.iter().for_each(|id| self.load(*id, &[]));
        let mut block = std::mem::take(&mut self.body.block);
        self.stores(&mut block, &kept);
        if !kept.is_empty() {
            let span = block.first().map_or_else(Span::default, |stmt| stmt.span);
            let end = self.ends(span, &kept);
            leave(&mut block, &end, false);
            block.extend(end);
            let first = self.starts(span, &kept, overwritten);
            block.splice(0..0, first);
        }
        self.body.block = block;
        Ok(kept)
    }

    /// The components that are both read and written, each with a local of its own.
    fn kept(&mut self, name: &str, loads: &[ExprId]) -> Result<Vec<Kept>, String> {
        let dynamic =
            || format!("a component of `{name}`, kept in fewer bits, that is chosen at run time and read back");
        let mut stored: Vec<u32> = Vec::new();
        let mut chosen = false;
        stores(&self.body.block, self.arg, &mut |component| {
            chosen |= !component.dynamic.is_empty();
            stored.push(component.base);
        });
        let mut kept: Vec<Kept> = Vec::new();
        for id in loads {
            let ExprKind::Load { component, .. } = self.body[*id].kind.clone() else { continue };
            if stored.is_empty() {
                break;
            }
            if chosen || !component.dynamic.is_empty() {
                return Err(dynamic());
            }
            let known = kept.iter().any(|kept| kept.component == component.base);
            if let (Some(codec), true, false) = (self.codec(&component), stored.contains(&component.base), known) {
                let local = self.body.locals.len() as LocalId;
                let name =
                    if self.coded.codecs.len() == 1 { format!("{name}_here") } else { format!("{name}_here{local}") };
                self.body.locals.push(Local { name, ty: Type::Scalar(codec.value()) });
                kept.push(Kept { component: component.base, codec, local });
            }
        }
        Ok(kept)
    }

    fn push(&mut self, span: Span, ty: ScalarType, kind: ExprKind) -> ExprId {
        self.body.exprs.push(Expr { ty: Type::Scalar(ty), span, kind });
        ExprId((self.body.exprs.len() - 1) as u32)
    }

    /// What was a load of a value becomes one of a code.
    fn load(&mut self, id: ExprId, kept: &[Kept]) {
        let Expr { span, kind, .. } = self.body[id].clone();
        let ExprKind::Load { component, .. } = &kind else { return };
        if let Some(kept) = kept.iter().find(|kept| kept.component == component.base && component.dynamic.is_empty()) {
            self.body.exprs[id.0 as usize].kind = ExprKind::Local(kept.local);
        } else if let Some(codec) = self.codec(component) {
            if self.coded.rounded {
                return;
            }
            let code = self.push(span, codec.code(), kind);
            self.body.exprs[id.0 as usize].kind = ExprKind::Decode(codec, code);
        }
    }

    /// What memory is to hold of a value.
    fn encoded(&mut self, span: Span, codec: Codec, value: ExprId) -> ExprId {
        let counted = self.coded.counted.then_some(self.arg);
        let code = self.push(span, codec.code(), ExprKind::Encode { codec, value, counted });
        match self.coded.rounded {
            true => self.push(span, codec.value(), ExprKind::Decode(codec, code)),
            false => code,
        }
    }

    fn stores(&mut self, block: &mut Block, kept: &[Kept]) {
        for stmt in block {
            let span = stmt.span;
            match &mut stmt.kind {
                StmtKind::Store { arg, component, value, .. } if *arg == self.arg => {
                    if let Some(kept) = kept.iter().find(|kept| kept.component == component.base) {
                        stmt.kind = StmtKind::Assign(kept.local, Vec::new(), *value);
                    } else if let Some(codec) = self.codec(component) {
                        *value = self.encoded(span, codec, *value);
                    }
                }
                StmtKind::If(_, then, otherwise) => {
                    self.stores(then, kept);
                    self.stores(otherwise, kept);
                }
                StmtKind::For { body, .. } | StmtKind::Phase { body, .. } => self.stores(body, kept),
                StmtKind::While { head, body, .. } => {
                    self.stores(head, kept);
                    self.stores(body, kept);
                }
                _ => {}
            }
        }
    }

    fn here(&mut self, span: Span) -> Vec<ExprId> {
        (0..self.rank as u32).map(|axis| self.push(span, ScalarType::I64, ExprKind::Coordinate(axis))).collect()
    }

    /// Statements that each thread runs for its cell.
    fn by_threads(&mut self, span: Span, block: Block) -> Block {
        if !self.in_group {
            return block;
        }
        let thread = self.body.locals.len() as LocalId;
        let point = Type::Array(Arc::new(Type::Scalar(ScalarType::I64)), self.rank);
        self.body.locals.push(Local { name: "_t".into(), ty: point });
        vec![Stmt { span, kind: StmtKind::Phase { thread, around: vec![[0, 0]; self.rank], body: block } }]
    }

    /// What is read back starts as what memory holds, unless it is written first.
    fn starts(&mut self, span: Span, kept: &[Kept], overwritten: bool) -> Block {
        let (mut block, mut held) = (Vec::new(), Vec::new());
        for Kept { component, codec, local } in kept {
            let mut value = self.push(span, codec.value(), ExprKind::Literal(Value::from_bits(codec.value(), 0)));
            if !overwritten {
                let (index, component) = (self.here(span), Component { base: *component, dynamic: Vec::new() });
                let load = ExprKind::Load { arg: self.arg, index, component };
                let read = match self.coded.rounded {
                    true => self.push(span, codec.value(), load),
                    false => {
                        let code = self.push(span, codec.code(), load);
                        self.push(span, codec.value(), ExprKind::Decode(*codec, code))
                    }
                };
                match self.in_group {
                    true => held.push(Stmt { span, kind: StmtKind::Assign(*local, Vec::new(), read) }),
                    false => value = read,
                }
            }
            block.push(Stmt { span, kind: StmtKind::Let(*local, Some(value)) });
        }
        if !held.is_empty() {
            block.extend(self.by_threads(span, held));
        }
        block
    }

    /// Stores what was read back.
    fn ends(&mut self, span: Span, kept: &[Kept]) -> Block {
        let mut block = Vec::new();
        for Kept { component, codec, local } in kept {
            let value = self.push(span, codec.value(), ExprKind::Local(*local));
            let (value, index) = (self.encoded(span, *codec, value), self.here(span));
            let component = Component { base: *component, dynamic: Vec::new() };
            block.push(Stmt { span, kind: StmtKind::Store { arg: self.arg, index, component, value } });
        }
        self.by_threads(span, block)
    }
}

/// Calls `f` with each component of an argument that is stored.
fn stores(block: &Block, of: u32, f: &mut impl FnMut(&Component)) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Store { arg, component, .. } if *arg == of => f(component),
            StmtKind::If(_, then, otherwise) => {
                stores(then, of, f);
                stores(otherwise, of, f);
            }
            StmtKind::For { body, .. } | StmtKind::Phase { body, .. } => stores(body, of, f),
            StmtKind::While { head, body, .. } => {
                stores(head, of, f);
                stores(body, of, f);
            }
            _ => {}
        }
    }
}

/// Puts statements before each place where the cell ends early, or the group.
fn leave(block: &mut Block, end: &Block, in_loop: bool) {
    let mut at = 0;
    while at < block.len() {
        match &mut block[at].kind {
            StmtKind::If(_, then, otherwise) => {
                leave(then, end, in_loop);
                leave(otherwise, end, in_loop);
            }
            StmtKind::For { body, .. } => leave(body, end, true),
            StmtKind::While { head, body, .. } => {
                leave(head, end, true);
                leave(body, end, true);
            }
            StmtKind::Return(_) => {
                block.splice(at..at, end.iter().cloned());
                at += end.len();
            }
            StmtKind::Break | StmtKind::Continue if !in_loop => {
                block.splice(at..at, end.iter().cloned());
                at += end.len();
            }
            _ => {}
        }
        at += 1;
    }
}
