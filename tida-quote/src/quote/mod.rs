//! A kernel as data: the untyped syntax tree that `kernel!` and `#[kernel_fn]` leave in the binary.
//!
//! Names are already resolved by the macro: a variable is an argument, the cell `at`, a capture, or a numbered local.
//! Types are not known here; `tida_kernels::ir` finds them at launch. The tree travels as bytes
//! ([`KernelTree::encode`]), since a static byte string costs the user's compiler nothing.

#[doc(hidden)]
pub mod build;
mod codec;
#[doc(hidden)]
pub mod walk;

use crate::element::{ElementType, ScalarType};

/// A place in the user's source: 1-based line, 1-based column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// Number of a local variable in its tree's table of locals.
pub type LocalId = u32;

/// A quoted kernel closure.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTree {
    /// Names of the array arguments, in order.
    pub args: Vec<String>,
    /// Name of the cell variable (`at`).
    pub at: String,
    /// Source text of the captured paths, such as `alpha` or `self.alpha`, in order of first use.
    pub captures: Vec<String>,
    /// The body and its tables.
    pub code: Code,
    /// What a `group_kernel!` has beside; `at` is then the cell of a thread.
    pub group: Option<GroupTree>,
    /// How the native form runs it.
    pub native: NativeForm,
    /// The same, if [`StaticKernel::few`].
    pub native_if_few: NativeForm,
}

/// How the native form of a kernel runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NativeForm {
    /// Most rows, and cells of each, that take the loops of the kernel together; none if it has no such loop.
    pub block: Option<[u32; 2]>,
    /// The first loop that each cell takes by itself, which keeps the compiler from making vectors of cells.
    pub alone: Option<Span>,
}

/// What a kernel over groups of cells has beside its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupTree {
    /// The arrays that the threads of a group share. The body's accesses count them after the arguments.
    pub arrays: Vec<GroupArray>,
    /// Locals of which each thread has its own.
    pub privates: Vec<LocalId>,
    /// The local that holds the group's cells along each axis, if the body names it.
    pub len: Option<LocalId>,
}

/// An array that the threads of a group share (Lashgar ch. 6).
#[derive(Clone, Debug, PartialEq)]
pub struct GroupArray {
    /// Name in the user's source.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// What it holds at the start.
    pub kind: GroupArrayKind,
}

/// What an array of a group holds at its start.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupArrayKind {
    /// The cells of an argument: those of the group, so many before and so many after.
    Fetch {
        /// Number of the argument.
        arg: u32,
        /// Cells before, along each axis.
        before: Vec<u32>,
        /// Cells after.
        after: Vec<u32>,
    },
    /// Zeros: a slot for each cell of the group, for so many before and so many after.
    Channel {
        /// What a slot holds: as written, or of a type parameter.
        ty: NumberType,
        /// Slots before, along each axis.
        before: Vec<u32>,
        /// Slots after.
        after: Vec<u32>,
    },
    /// Zeros, of this shape.
    Shared {
        /// What a slot holds: as written, or of a type parameter.
        ty: NumberType,
        /// Slots along each axis.
        shape: Vec<u32>,
    },
}

/// A quoted `#[kernel_fn]`.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionTree {
    /// Name of the function.
    pub name: String,
    /// Parameters: the locals that hold them (entries of `code.locals`) and their types, in order.
    pub params: Vec<(LocalId, TypeTree)>,
    /// Result type; `None` for `()`.
    pub result: Option<TypeTree>,
    /// The body and its tables.
    pub code: Code,
}

/// A body with the tables its numbers point into.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// Local variables: `let`s, `for` variables, parameters of a function.
    pub locals: Vec<Local>,
    /// Source paths of the `#[kernel_fn]` functions called; the macro passes their quotations in the same order.
    pub functions: Vec<String>,
    /// Source paths of the structs named in struct literals or types, and of type parameters; their element types are
    /// passed in the same order.
    pub structs: Vec<String>,
    /// Source paths of the constants named, in the order of the table passed with the tree.
    pub constants: Vec<String>,
    /// Names of the methods called, one for each call; rustc finds whose they are, and their quotations are passed in
    /// the same order.
    pub methods: Vec<String>,
    /// How many of its numbers have a type that is inferred.
    pub numbers: u32,
    /// The body.
    pub body: Block,
}

/// The type of a number in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// Written as its suffix, by the user or by the macro, in the native form too.
    Written(ScalarType),
    /// Found by inference: this one of [`Code::numbers`]. The native form says what rustc took it for.
    Inferred(u32),
    /// The type with this number in [`Code::structs`], which is a scalar: `T::lit(0.1)`.
    Of(u32),
}

/// A local variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Name in the user's source.
    pub name: String,
    /// Declared `mut`.
    pub mutable: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A type written in a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeTree {
    /// A scalar; `usize` is `U64`, `isize` is `I64`.
    Scalar(ScalarType),
    /// `[T; n]`.
    Array(Box<TypeTree>, usize),
    /// `(A, B, ..)`; the empty tuple is `()`.
    Tuple(Vec<TypeTree>),
    /// A struct of `Code::structs`, or a type parameter, which is a scalar.
    Struct(u32),
    /// `_`.
    Infer,
    /// `[T; N]`: a constant of the table passed with the tree.
    ArrayOf(Box<TypeTree>, u32),
}

/// Statements, then an optional value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Statements in order.
    pub stmts: Vec<Stmt>,
    /// Value of the block, where it has one.
    pub value: Option<Box<Expr>>,
}

/// A statement with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: StmtKind,
}

/// The statements of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let pattern: ty = init;` (`init` may be missing: `let x;`).
    Let {
        /// What is bound.
        pattern: Pattern,
        /// Written type, if any.
        ty: Option<TypeTree>,
        /// Initial value, if any.
        init: Option<Expr>,
    },
    /// `place = value;` or `place op= value;`.
    Assign {
        /// What is written.
        place: Place,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// The value.
        value: Expr,
    },
    /// An expression for its effects (`if`, a block, a call), its value dropped.
    Expr(Expr),
    /// `for local in range`.
    For {
        /// The loop variable.
        local: LocalId,
        /// The values that it takes in turn.
        range: Range,
        /// Body.
        body: Block,
    },
    /// `while cond { .. }`; `loop` is `while true`.
    While {
        /// Condition.
        cond: Expr,
        /// Body.
        body: Block,
    },
    /// `group.each(|t| ..)`: runs for each thread of a group, and ends when all have run.
    Phase {
        /// The thread: a point.
        thread: LocalId,
        /// Threads before the first cell, along each axis; nothing for those of the cells alone.
        before: Vec<u32>,
        /// Threads after the last cell.
        after: Vec<u32>,
        /// What each does.
        body: Block,
    },
    /// `break`, of the loop that has so many between it and this.
    Break(u32),
    /// `continue`, of the loop that has so many between it and this.
    Continue(u32),
    /// `return value`.
    Return(Option<Expr>),
}

/// The integers that a loop takes in turn: `lo..hi`, some of them, in some order.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub lo: Expr,
    /// The bound.
    pub hi: Expr,
    /// `..=`.
    pub inclusive: bool,
    /// `.step_by(by)`, a `U64`.
    pub by: Option<Expr>,
    /// Which comes first.
    pub order: Order,
}

/// In which order a loop takes the values of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the least up.
    Up,
    /// `.rev()`, before `.step_by(by)` if there is one: from the last of the range down.
    Down,
    /// `.step_by(by).rev()`: what is taken from the least up, the other way round.
    Back,
}

impl Range {
    /// `lo..hi`.
    pub fn plain(lo: Expr, hi: Expr, inclusive: bool) -> Range {
        Range { lo, hi, inclusive, by: None, order: Order::Up }
    }

    /// What it is made of, in the order of evaluation.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        [&self.lo, &self.hi].into_iter().chain(&self.by)
    }

    /// The same, to change.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        [&mut self.lo, &mut self.hi].into_iter().chain(&mut self.by)
    }
}

/// What a `let` binds.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// One variable.
    Local(LocalId),
    /// `_`.
    Ignore,
    /// `(a, b)`.
    Tuple(Vec<Pattern>),
    /// `[a, b]`; also takes a point such as `at` apart.
    Array(Vec<Pattern>),
    /// `Wave { h, .. }`: a struct of `Code::structs`, and the fields named.
    Struct(u32, Vec<(String, Pattern)>),
}

/// A place that can be assigned.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A local variable or a part of it.
    Local {
        /// The variable.
        local: LocalId,
        /// Fields and entries inside it.
        path: Vec<Projection>,
    },
    /// A cell of an array argument, or a part of it.
    Element {
        /// Number of the argument.
        arg: u32,
        /// The cell: a point.
        index: Box<Expr>,
        /// Fields and entries inside the element.
        path: Vec<Projection>,
    },
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// `.name` of a struct.
    Field(String),
    /// `.0` of a tuple.
    Tuple(u32),
    /// `[index]` of a fixed-size array.
    Index(Box<Expr>),
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// The expressions of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer literal.
    Int(u64, NumberType),
    /// A float literal: its digits as written (without `_` and suffix), so that `f32` rounds once.
    Float(String, NumberType),
    /// `true` or `false`.
    Bool(bool),
    /// A local variable.
    Local(LocalId),
    /// A captured value, by number.
    Capture(u32),
    /// The cell `at`: a point, `[i64; D]`.
    At,
    /// A read of an array argument, `u[index].x[q]`; `table[i]` too, with a number as index.
    Load {
        /// Number of the argument.
        arg: u32,
        /// The cell (a point), or the position in a table.
        index: Box<Expr>,
        /// Fields and entries inside the element.
        path: Vec<Projection>,
    },
    /// `-x`, `!x`.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic and bit operations on scalars of one type.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `point + [..]` (`minus` false) or `point - [..]`, axis by axis, wrapping.
    Shift {
        /// Subtract rather than add.
        minus: bool,
        /// A point.
        point: Box<Expr>,
        /// The offset, a point too.
        offset: Box<Expr>,
    },
    /// A comparison of two scalars of one type.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `a && b`, lazily.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`, lazily.
    Or(Box<Expr>, Box<Expr>),
    /// `x as T`.
    Cast(Box<Expr>, TypeTree),
    /// `if cond { .. } else { .. }`; without `else` its value is `()`.
    If {
        /// Condition.
        cond: Box<Expr>,
        /// Taken when true.
        then: Block,
        /// Taken when false.
        otherwise: Option<Block>,
    },
    /// `{ .. }`.
    Block(Block),
    /// `x.method(args)`; the receiver is `args[0]`.
    Method(Method, Vec<Expr>),
    /// A call of a `#[kernel_fn]`, by number in `Code::functions`.
    Call(u32, Vec<Expr>),
    /// A call of a method of a struct, by number in `Code::methods`; the receiver is the first argument.
    Invoke(u32, Vec<Expr>),
    /// `(a, b)`; empty is `()`.
    Tuple(Vec<Expr>),
    /// `[a, b, c]`.
    Array(Vec<Expr>),
    /// `[x; n]`.
    Repeat(Box<Expr>, usize),
    /// A struct literal of `Code::structs`, every field named once, in the order written.
    Struct(u32, Vec<(String, Expr)>),
    /// A part of a value that is not an array argument: `p.x`, `t.0`, `w[q]`, `at[0]`.
    Project(Box<Expr>, Projection),
    /// A constant of the program, by its number in the table passed with the tree.
    Constant(u32),
    /// `unit(axis)`: the point that is 1 along that axis, and 0 along the others.
    Unit(Box<Expr>),
    /// `[x; N]`: a constant of that table.
    RepeatOf(Box<Expr>, u32),
    /// How many entries a fixed-size array has, a `U64`; the array is not evaluated.
    Length(Box<Expr>),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`; integers wrap.
    Neg,
    /// `!x`: logical on `bool`, bitwise on integers.
    Not,
}

/// Binary operators on two values of one scalar type; shifts take any integer type on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl BinaryOp {
    /// The operator as written.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
        }
    }
}

impl CompareOp {
    /// The operator as written.
    pub const fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        }
    }
}

macro_rules! methods {
    ($($variant:ident $name:literal $args:literal $class:ident $exact:literal,)*) => {
        /// The methods a kernel may call on a scalar. `tida_kernels::scalar` says what each means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Method { $($variant,)* }

        impl Method {
            /// Every method.
            pub const ALL: &[Method] = &[$(Method::$variant,)*];

            /// The method's name in Rust.
            pub const fn name(self) -> &'static str { match self { $(Method::$variant => $name,)* } }

            /// Number of arguments, the receiver not counted.
            pub const fn args(self) -> usize { match self { $(Method::$variant => $args,)* } }

            /// What types it takes and gives.
            pub const fn class(self) -> MethodClass { match self { $(Method::$variant => MethodClass::$class,)* } }

            /// Whether every device gives the same bits; otherwise the device's own library decides (DESIGN table).
            pub const fn is_exact(self) -> bool { match self { $(Method::$variant => $exact,)* } }

            /// The method of that name.
            pub fn from_name(name: &str) -> Option<Method> {
                match name { $($name => Some(Method::$variant),)* _ => None }
            }
        }
    };
}

/// Types that a [`Method`] takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodClass {
    /// Float receiver and arguments of its type, result of the same type.
    Float,
    /// Float receiver, `bool` result.
    FloatTest,
    /// Number (float or integer) receiver, arguments of its type, result of the same type.
    Number,
    /// Float receiver, `i32` argument, result of the receiver's type.
    FloatInt,
    /// Integer receiver, arguments of its type, result of the same type.
    Int,
    /// Integer receiver, `u32` argument, result of the receiver's type.
    IntU32,
    /// Integer receiver, `u32` result.
    IntCount,
}

methods! {
    Sqrt "sqrt" 0 Float true,
    Floor "floor" 0 Float true,
    Ceil "ceil" 0 Float true,
    Round "round" 0 Float true,
    Trunc "trunc" 0 Float true,
    Fract "fract" 0 Float true,
    Recip "recip" 0 Float true,
    Copysign "copysign" 1 Float true,
    MulAdd "mul_add" 2 Float true,
    Powi "powi" 1 FloatInt true,
    IsNan "is_nan" 0 FloatTest true,
    IsFinite "is_finite" 0 FloatTest true,
    IsInfinite "is_infinite" 0 FloatTest true,
    Abs "abs" 0 Number true,
    Signum "signum" 0 Number true,
    Min "min" 1 Number true,
    Max "max" 1 Number true,
    Clamp "clamp" 2 Number true,
    RemEuclid "rem_euclid" 1 Number true,
    DivEuclid "div_euclid" 1 Number true,
    WrappingAdd "wrapping_add" 1 Int true,
    WrappingSub "wrapping_sub" 1 Int true,
    WrappingMul "wrapping_mul" 1 Int true,
    WrappingNeg "wrapping_neg" 0 Int true,
    WrappingAbs "wrapping_abs" 0 Int true,
    WrappingShl "wrapping_shl" 1 IntU32 true,
    WrappingShr "wrapping_shr" 1 IntU32 true,
    WrappingPow "wrapping_pow" 1 IntU32 true,
    Pow "pow" 1 IntU32 true,
    RotateLeft "rotate_left" 1 IntU32 true,
    RotateRight "rotate_right" 1 IntU32 true,
    CountOnes "count_ones" 0 IntCount true,
    LeadingZeros "leading_zeros" 0 IntCount true,
    TrailingZeros "trailing_zeros" 0 IntCount true,
    Sin "sin" 0 Float false,
    Cos "cos" 0 Float false,
    Tan "tan" 0 Float false,
    Asin "asin" 0 Float false,
    Acos "acos" 0 Float false,
    Atan "atan" 0 Float false,
    Atan2 "atan2" 1 Float false,
    Sinh "sinh" 0 Float false,
    Cosh "cosh" 0 Float false,
    Tanh "tanh" 0 Float false,
    Exp "exp" 0 Float false,
    Exp2 "exp2" 0 Float false,
    ExpM1 "exp_m1" 0 Float false,
    Ln "ln" 0 Float false,
    Ln1p "ln_1p" 0 Float false,
    Log2 "log2" 0 Float false,
    Log10 "log10" 0 Float false,
    Powf "powf" 1 Float false,
    Cbrt "cbrt" 0 Float false,
    Hypot "hypot" 1 Float false,
}

/// The value of a constant of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// Its type.
    pub ty: ElementType,
    /// The bits of its components, zero-extended, in order.
    pub bits: Vec<u64>,
}

/// What `kernel!` leaves in the binary: a static that the closure answers with when asked.
#[derive(Debug)]
pub struct StaticKernel {
    /// `file!()` of the kernel.
    pub file: &'static str,
    /// Line of the `kernel!`.
    pub line: u32,
    /// The encoded [`KernelTree`].
    pub tree: &'static [u8],
    /// Quotations of the functions called, in the order of `Code::functions`.
    pub functions: &'static [&'static StaticFunction],
    /// Element types of the structs named, in the order of `Code::structs`.
    pub structs: &'static [ElementType],
    /// Values of the constants that [`ExprKind::Constant`] names.
    pub constants: &'static [fn() -> Constant],
    /// Whether loops that constants bound are short.
    pub few: bool,
}

/// What `#[kernel_fn]` leaves in the binary.
#[derive(Debug)]
pub struct StaticFunction {
    /// `file!()` of the function.
    pub file: &'static str,
    /// The encoded [`FunctionTree`].
    pub tree: &'static [u8],
    /// What rustc took the numbers of the native form for, in the order of [`Code::numbers`].
    pub numbers: fn() -> Vec<ScalarType>,
    /// Quotations of the methods called, in the order of `Code::methods`.
    pub methods: fn() -> Vec<&'static StaticFunction>,
    /// Quotations of the functions called, in the order of `Code::functions`.
    pub functions: &'static [&'static StaticFunction],
    /// Element types of the structs named, in the order of `Code::structs`.
    pub structs: &'static [ElementType],
    /// Values of the constants that [`ExprKind::Constant`] names.
    pub constants: &'static [fn() -> Constant],
}
