//! What a kernel reads and writes, and where.
//!
//! Total: it always returns, with what it found and why it stopped. It decides safety (which reads stay within which
//! box), movement (what is overwritten before it is read) and feeds the kernel plans. Normal forms follow MESI-CUDA
//! §4; precalculability follows Lashgar §7.2.

mod find;

pub use find::analyse;

use crate::ir::Span;

/// Everything found about one kernel.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// One entry per argument.
    pub args: Vec<ArgUse>,
    /// The `for` loops of the body, in order of appearance; [`Symbol::Loop`] numbers them.
    pub loops: Vec<LoopInfo>,
    /// Whether any method or function used is inexact between devices (`sin`, `exp`, ..).
    pub uses_inexact: bool,
    /// Whether a cell can raise a fault that has nothing to do with array reads (integer division, run-time entries).
    pub may_fault: bool,
}

/// How one argument is used.
#[derive(Clone, Debug)]
pub struct ArgUse {
    /// Any component of any cell may be read.
    pub read: bool,
    /// Some component may be written at `at`.
    pub may_write: bool,
    /// Every component of the cell `at` is written on every path, before any read of it.
    pub must_write: bool,
    /// Every access, in order of appearance.
    pub accesses: Vec<ArrayAccess>,
}

/// One access of an array.
#[derive(Clone, Debug)]
pub struct ArrayAccess {
    /// Where it stands.
    pub span: Span,
    /// Write rather than read.
    pub write: bool,
    /// The component, if constant.
    pub component: Option<u32>,
    /// Index along each axis of the argument.
    pub index: Vec<IndexForm>,
    /// Runs only under a condition or in a loop that may not run.
    pub conditional: bool,
    /// Whether the block index alone decides the box read (Lashgar §7.2).
    pub precalculable: Precalculability,
}

/// An index along one axis.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexForm {
    /// `constant + Σ coefficient · symbol`, exact (no wrap-around for coordinates and captures below 2^31).
    Affine(NormalForm),
    /// Not affine, and why.
    Opaque(Why),
}

/// `constant + Σ coefficient · symbol`. Terms are sorted by symbol; no coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalForm {
    /// The constant.
    pub constant: i64,
    /// The terms.
    pub terms: Vec<(Symbol, i64)>,
}

/// What an affine index is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// Coordinate of `at` along an axis.
    At(u32),
    /// Variable of a `for` loop, by number in [`Analysis::loops`].
    Loop(u32),
    /// A captured integer scalar, by number: known at launch.
    Capture(u32),
}

/// A `for` loop.
#[derive(Clone, Debug)]
pub struct LoopInfo {
    /// Name of its variable.
    pub name: String,
    /// First value, if affine in captures, `at` and outer loops.
    pub lo: IndexForm,
    /// Last value (inclusive), if affine.
    pub last: IndexForm,
}

/// Why an index is not affine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It depends on a variable that changes from iteration to iteration.
    Induction,
    /// It depends on a value read from an array.
    Indirect,
    /// It depends on a value chosen by a condition.
    Control,
    /// An operator or a call that is not affine.
    Operator,
}

/// Whether the box an access touches is known from the block index alone (Lashgar §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precalculability {
    /// From the block index and constants.
    Static,
    /// From the block index and values known at launch.
    QuasiStatic,
    /// Not, and why.
    No(Why),
}

/// A range of indexes, both ends included; empty if `lo > hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lowest.
    pub lo: i64,
    /// Highest.
    pub hi: i64,
}
