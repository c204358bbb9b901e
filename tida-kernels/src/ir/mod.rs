//! The typed form of a kernel.
//!
//! Made from a quotation by [`lower()`], for the element types of one launch. Expressions live in an arena, have a type
//! and no effects; effects are statements. A value that needed statements (`if` as a value, a block) has become a
//! local. Loads are of single components: what a kernel does not use of an element it does not load.

mod coded;
mod cycle;
mod faces;
mod ghosts;
mod join;
mod lower;
mod merge;
mod parts;
mod print;
mod tables;
mod unroll;

pub use coded::{Coded, NotCoded, coded};
pub use cycle::{Cycle, cycle};
pub use faces::{FaceKernel, reads_beside, reads_inwards, with_faces, with_opposite};
pub use ghosts::{Beside, GhostKernel, can_compute, with_ghosts, with_ghosts_alone};
pub use join::{Joined, join, join_value};
pub use lower::{Binding, LowerInput, lower, lower_group};
pub use parts::parts_of_value;
pub use unroll::{bounding, specialised, unrolled};

use std::sync::Arc;

use crate::codec::Codec;
use crate::element::{ElementType, ScalarType};
pub use crate::quote::{BinaryOp, CompareOp, LocalId, Method, Span, UnaryOp};
use crate::quote::{Constant, NativeForm};
use crate::scalar::Value;

/// Number of an expression in its body's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// The type of an expression or a local.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar.
    Scalar(ScalarType),
    /// `[T; n]`; a point is `[i64; D]`.
    Array(Arc<Type>, usize),
    /// `(A, B)`; the empty tuple is `()`.
    Tuple(Arc<[Type]>),
    /// A `#[derive(Element)]` struct: its name and its fields.
    Struct(&'static str, Arc<[(&'static str, Type)]>),
}

/// How an argument may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `&u`: read around `at`.
    Read,
    /// `&mut u`: written at `at`.
    Write,
    /// `all(&a)`: the whole array, read only, any shape.
    All,
    /// `table(&s)`: a constant table, indexed by one number.
    Table,
    /// An array of a group: [`Group::arrays`] says which, after the arguments of a launch.
    Shared,
}

/// An argument of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// Name in the user's source.
    pub name: String,
    /// How it may be used.
    pub access: Access,
    /// What its cells hold.
    pub element: ElementType,
    /// Number of axes; 1 for a table.
    pub rank: usize,
}

/// A captured scalar or array of scalars, passed at each launch; also a constant table, which has the same values at
/// each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Capture {
    /// Source text, such as `self.alpha`.
    pub name: String,
    /// Its type: a scalar or an array of scalars.
    pub ty: Type,
    /// Its values, if it is a constant table.
    pub known: Option<Arc<Constant>>,
    /// If the text of a launch over a whole domain knows it: whether what is so many cells away from a cell, along this
    /// axis and on this side, lies beyond a face (axis, side, cells).
    pub beyond: Option<(usize, usize, i64)>,
}

impl Capture {
    /// A value that each launch gives.
    pub fn of_launch(name: impl Into<String>, ty: Type) -> Capture {
        Capture { name: name.into(), ty, known: None, beyond: None }
    }

    /// The values of a constant table.
    pub fn values(&self) -> Option<impl Iterator<Item = Value>> {
        let known = self.known.as_deref()?;
        let ty = known.ty.innermost()?;
        Some(known.bits.iter().map(move |bits| Value::from_bits(ty, *bits)))
    }
}

/// A typed kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Source file.
    pub file: String,
    /// Line of the `kernel!`.
    pub line: u32,
    /// Number of axes of the cell `at`.
    pub rank: usize,
    /// Array arguments, in order.
    pub args: Vec<Arg>,
    /// Captured values, in order.
    pub captures: Vec<Capture>,
    /// What the numbers without a type of their own were taken for. The native form has to take them for the same.
    pub numbers: Vec<ScalarType>,
    /// Type of the value a cell gives; `()` for `compute`.
    pub result: Type,
    /// The closure's body.
    pub body: Body,
    /// Functions called, each once, callees before callers.
    pub functions: Vec<Function>,
    /// What a kernel over groups of cells has beside.
    pub group: Option<Group>,
    /// How the native form runs it.
    pub native: NativeForm,
}

/// What a kernel over groups of cells has beside.
#[derive(Clone, Debug)]
pub struct Group {
    /// Cells of a whole group along each axis: its threads.
    pub extent: Vec<u32>,
    /// The arrays that its threads share: [`Kernel::args`] has them after the arguments.
    pub arrays: Vec<GroupArray>,
    /// Locals of which each thread has its own.
    pub privates: Vec<LocalId>,
    /// The local that holds the group's cells along each axis.
    pub len: Option<LocalId>,
}

/// An array that the threads of a group share.
#[derive(Clone, Debug)]
pub struct GroupArray {
    /// Where it is declared.
    pub span: Span,
    /// What a slot holds.
    pub ty: ScalarType,
    /// Index of the first slot along each axis.
    pub lo: Vec<i64>,
    /// Slots along each axis.
    pub shape: Vec<u32>,
    /// The argument whose cells it holds at the start, at the same indexes from the group's first cell; else zeros.
    pub fetch: Option<u32>,
    /// How memory holds those cells, if not as they are ([`coded()`] puts it in).
    pub codec: Option<Codec>,
}

impl GroupArray {
    /// Slots in all.
    pub fn slots(&self) -> u64 {
        self.shape.iter().fold(1, |n, axis| n.saturating_mul(u64::from(*axis)))
    }

    /// Where a slot is, if there is one of this index.
    pub fn slot(&self, index: &[i64]) -> Option<usize> {
        let mut slot = 0usize;
        for ((i, lo), n) in index.iter().zip(&self.lo).zip(&self.shape) {
            let along = i.checked_sub(*lo).filter(|along| (0..i64::from(*n)).contains(along))?;
            slot = slot * *n as usize + along as usize;
        }
        Some(slot)
    }
}

impl Group {
    /// Bytes of its arrays.
    pub fn bytes(&self) -> u64 {
        let bytes = |array: &GroupArray| array.slots().saturating_mul(array.ty.size() as u64).next_multiple_of(16);
        self.arrays.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Threads of a whole group along x (the last axis), y and z.
    pub fn block(&self) -> [u32; 3] {
        let along = |from_last: usize| self.extent.len().checked_sub(from_last + 1).map_or(1, |axis| self.extent[axis]);
        [along(0), along(1), along(2)]
    }
}

/// A typed `#[kernel_fn]`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name in the user's source.
    pub name: String,
    /// Source file.
    pub file: String,
    /// Parameters: locals of the body, in order.
    pub params: Vec<LocalId>,
    /// Result type.
    pub result: Type,
    /// The body. It has no array arguments, no captures and no `at`.
    pub body: Body,
}

/// Code with its tables.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Local variables; those the lowering made have names starting with `_`.
    pub locals: Vec<Local>,
    /// The arena.
    pub exprs: Vec<Expr>,
    /// Statements.
    pub block: Block,
}

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Name in the user's source, or one made by the lowering.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its type.
    pub ty: Type,
    /// Its place in the source.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// Which component of an element: `base + Σ index·stride`, each index below its `len`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Component {
    /// The constant part.
    pub base: u32,
    /// Run-time entries: index expression (`U64`), stride in components, number of entries.
    pub dynamic: Vec<(ExprId, u32, u32)>,
}

/// Expressions. Operands are of one type unless said; results are defined by [`crate::scalar`].
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant scalar.
    Literal(crate::scalar::Value),
    /// A captured value, whole.
    Capture(u32),
    /// Coordinate of the cell along an axis (`I64`).
    Coordinate(u32),
    /// A local variable, whole.
    Local(LocalId),
    /// One component of a cell. `index` has one `I64` per axis of the argument (one `U64` for a table).
    Load {
        /// Argument number.
        arg: u32,
        /// The cell.
        index: Vec<ExprId>,
        /// Which component.
        component: Component,
    },
    /// A unary operation.
    Unary(UnaryOp, ExprId),
    /// A binary operation.
    Binary(BinaryOp, ExprId, ExprId),
    /// A comparison; `Bool`.
    Compare(CompareOp, ExprId, ExprId),
    /// Lazy and.
    And(ExprId, ExprId),
    /// Lazy or.
    Or(ExprId, ExprId),
    /// A cast between scalars, as Rust's `as`.
    Cast(ExprId),
    /// The value of a code ([`coded()`] puts them in).
    Decode(Codec, ExprId),
    /// The code of a value; if it saturates it is counted for an argument, or not.
    Encode {
        /// Of what it is the code.
        codec: Codec,
        /// The value.
        value: ExprId,
        /// The argument.
        counted: Option<u32>,
    },
    /// A method of a scalar; the receiver is first.
    Method(Method, Vec<ExprId>),
    /// A call of `Kernel::functions[n]`.
    Call(u32, Vec<ExprId>),
    /// An array, tuple or struct from its parts, in order (struct: declaration order).
    Construct(Vec<ExprId>),
    /// Part `n` of a tuple or struct, or constant entry `n` of an array.
    Part(ExprId, u32),
    /// Run-time entry of an array: array, index (`U64`).
    Entry(ExprId, ExprId),
}

impl ExprKind {
    /// Calls `f` with each operand, in the order of evaluation.
    pub(crate) fn operands(&self, mut f: impl FnMut(ExprId)) {
        match self {
            ExprKind::Literal(_) | ExprKind::Capture(_) | ExprKind::Coordinate(_) | ExprKind::Local(_) => {}
            ExprKind::Load { index, component: Component { dynamic, .. }, .. } => {
                index.iter().for_each(|id| f(*id));
                dynamic.iter().for_each(|(id, ..)| f(*id));
            }
            ExprKind::Unary(_, x)
            | ExprKind::Cast(x)
            | ExprKind::Part(x, _)
            | ExprKind::Decode(_, x)
            | ExprKind::Encode { value: x, .. } => f(*x),
            ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Entry(a, b) => {
                f(*a);
                f(*b);
            }
            ExprKind::Method(_, args) | ExprKind::Call(_, args) | ExprKind::Construct(args) => {
                args.iter().for_each(|id| f(*id));
            }
        }
    }
}

impl ExprKind {
    /// As [`ExprKind::operands`], to change them.
    fn operands_mut(&mut self, mut f: impl FnMut(&mut ExprId)) {
        match self {
            ExprKind::Literal(_) | ExprKind::Capture(_) | ExprKind::Coordinate(_) | ExprKind::Local(_) => {}
            ExprKind::Load { index, component: Component { dynamic, .. }, .. } => {
                index.iter_mut().for_each(&mut f);
                dynamic.iter_mut().for_each(|(id, ..)| f(id));
            }
            ExprKind::Unary(_, x)
            | ExprKind::Cast(x)
            | ExprKind::Part(x, _)
            | ExprKind::Decode(_, x)
            | ExprKind::Encode { value: x, .. } => f(x),
            ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Entry(a, b) => {
                f(a);
                f(b);
            }
            ExprKind::Method(_, args) | ExprKind::Call(_, args) | ExprKind::Construct(args) => {
                args.iter_mut().for_each(f);
            }
        }
    }
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: StmtKind,
}

/// Whether some statement of a block, or of a block in it, is such.
pub(crate) fn holds(block: &Block, is: &dyn Fn(&StmtKind) -> bool) -> bool {
    block.iter().any(|stmt| stmt.holds(is))
}

impl Stmt {
    /// Whether it, or some statement in it, is such.
    pub(crate) fn holds(&self, is: &dyn Fn(&StmtKind) -> bool) -> bool {
        is(&self.kind)
            || match &self.kind {
                StmtKind::If(_, then, otherwise) => holds(then, is) || holds(otherwise, is),
                StmtKind::For { body, .. } => holds(body, is),
                StmtKind::While { head, body, .. } => holds(head, is) || holds(body, is),
                StmtKind::Phase { body, .. } => holds(body, is),
                _ => false,
            }
    }
}

/// Whether a loop stands in a block.
pub(crate) fn has_loop(block: &Block) -> bool {
    holds(block, &|kind| matches!(kind, StmtKind::For { .. } | StmtKind::While { .. }))
}

/// Whether a `while` stands in a block.
pub(crate) fn has_while(block: &Block) -> bool {
    holds(block, &|kind| matches!(kind, StmtKind::While { .. }))
}

/// One step into a local.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Part `n` of a tuple, struct or array.
    Part(u32),
    /// Run-time entry of an array (`U64`).
    Entry(ExprId),
}

/// The statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Declares a local; without a value it is assigned before it is read.
    Let(LocalId, Option<ExprId>),
    /// Assigns a local or a part of it.
    Assign(LocalId, Vec<Step>, ExprId),
    /// Writes one component of a cell.
    Store {
        /// Argument number.
        arg: u32,
        /// The cell.
        index: Vec<ExprId>,
        /// Which component.
        component: Component,
        /// The value.
        value: ExprId,
    },
    /// An expression whose value is dropped: a read, a call, or what can fault. Reads in it count as reads.
    Eval(ExprId),
    /// A branch.
    If(ExprId, Block, Block),
    /// `for local in lo..hi` (`..=`); the bounds are evaluated once; the local is new in each iteration.
    For {
        /// The loop variable.
        local: LocalId,
        /// First value.
        lo: ExprId,
        /// Bound.
        hi: ExprId,
        /// `..=`.
        inclusive: bool,
        /// Body.
        body: Block,
    },
    /// `head` runs before each test of `cond`.
    While {
        /// Statements that `cond` needs.
        head: Block,
        /// Condition.
        cond: ExprId,
        /// Body.
        body: Block,
    },
    /// Runs for each thread of a group, and ends when all have run.
    Phase {
        /// The thread: a point, from 0 at the group's first cell.
        thread: LocalId,
        /// Threads before the first cell and after the last, along each axis.
        around: Vec<[u32; 2]>,
        /// What each does.
        body: Block,
    },
    /// Leaves the innermost loop.
    Break,
    /// Next iteration of the innermost loop.
    Continue,
    /// Ends the cell or the function.
    Return(Option<ExprId>),
}

impl Type {
    /// `()`.
    pub fn unit() -> Type {
        Type::Tuple(Arc::from([]))
    }

    /// The scalar type, if it is one.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Type::Scalar(s) => Some(*s),
            _ => None,
        }
    }

    /// The type of values of an element.
    pub fn of_element(element: &ElementType) -> Type {
        match element {
            ElementType::Scalar(s) => Type::Scalar(*s),
            ElementType::Array { element, len } => Type::Array(Arc::new(Type::of_element(element)), *len),
            ElementType::Struct { name, fields } => {
                Type::Struct(name, fields.iter().map(|(n, f)| (*n, Type::of_element(f))).collect())
            }
        }
    }

    /// Number of scalar leaves.
    pub fn components(&self) -> usize {
        match self {
            Type::Scalar(_) => 1,
            Type::Array(t, n) => t.components() * n,
            Type::Tuple(ts) => ts.iter().map(Type::components).sum(),
            Type::Struct(_, fs) => fs.iter().map(|(_, t)| t.components()).sum(),
        }
    }
}

impl std::ops::Index<ExprId> for Body {
    type Output = Expr;
    fn index(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }
}
