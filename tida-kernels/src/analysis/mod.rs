//! What a kernel reads and writes, and where.
//!
//! Total: it always returns, with what it found and why it stopped. It decides safety (which reads stay within which
//! box), movement (what is overwritten before it is read) and feeds the kernel plans. Normal forms follow MESI-CUDA
//! §4; precalculability follows Lashgar §7.2.
//!
//! Integers of a kernel wrap. A symbolic value is therefore kept as a form that the run-time value equals *modulo two
//! to the width of its type*: sums, differences and products with constants keep that, whatever wraps on the way, and
//! casts between types of one width do too. Where a value is widened, and where a loop takes its bounds, the form must
//! also be exact; that is a [`Fit`], checked at once if constants decide it and else by [`Analysis::range`], for the
//! box and the captures of a launch. So what `range` answers is sound, without a guess about magnitudes.

mod choice;
mod eval;
mod faults;
mod group;
mod pairs;
mod query;
mod range;
mod recurrence;
mod report;
mod symbolic;
mod walk;
mod written;

pub use choice::{Choice, Op};
pub use faults::Demand;
pub use group::{Phase, Unsafe};
pub use pairs::Pair;
pub use query::is_at;
pub use recurrence::latency;
pub use walk::analyse;

use crate::element::ScalarType;
use crate::ir::{ExprId, Span};

/// Everything found about one kernel.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// One entry per argument.
    pub args: Vec<ArgUse>,
    /// The `for` loops of the body, in order of appearance; [`Symbol::Loop`] numbers them.
    pub loops: Vec<LoopInfo>,
    /// The phases of a kernel over groups, in order of appearance.
    pub phases: Vec<Phase>,
    /// Whether any method or function used is inexact between devices (`sin`, `exp`, ..).
    pub uses_inexact: bool,
    /// What [`Symbol::Choice`] numbers.
    pub choices: Vec<Choice>,
    /// Entries of captured arrays of integers at places that are known: the capture, and the integers before the entry.
    /// Where values of captures are given, those of these entries may follow them.
    pub entries: Vec<(u32, u32)>,
    /// How many values the kernel captures.
    pub captures: usize,
    /// Whether a cell can raise a fault that has nothing to do with array reads (integer division, run-time entries),
    /// as far as constants decide it. [`Analysis::faults_with`] knows more.
    pub may_fault: bool,
    /// What keeps cells from such faults if captured values, or where the cells are, make it so.
    pub demands: Vec<Demand>,
    /// Some fault is kept away by no demand.
    pub faults_anyhow: bool,
    /// Some value that saturates as it is stored is counted.
    pub counts: bool,
    /// False if the walk had to stop (code that is not well formed, or nested too deep); then every argument counts as
    /// read and written anywhere.
    pub complete: bool,
}

/// How one argument is used.
#[derive(Clone, Debug)]
pub struct ArgUse {
    /// Any component of any cell may be read.
    pub read: bool,
    /// Some component may be written at `at`.
    pub may_write: bool,
    /// Every component of the cell `at` is written on every path, before any read of `at`. (A launch makes sure that
    /// reads of other cells find none that it writes.)
    pub must_write: bool,
    /// A value from before the launch may be read: a component at `at` before its write, or another cell.
    pub reads_old: bool,
    /// A component at `at` may be read before its write.
    pub reads_own: bool,
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
    /// The expression of a read.
    pub expr: Option<ExprId>,
    /// The component, if constant.
    pub component: Option<u32>,
    /// Index along each axis of the argument.
    pub index: Vec<IndexForm>,
    /// Exactly the cell `at`, in an argument with as many axes.
    pub at_cell: bool,
    /// What must hold for the index to be exact.
    pub fits: Vec<Fit>,
    /// The `for` loops around the access, outermost first.
    pub loops: Vec<u32>,
    /// Runs only under a condition or in a loop that may not run.
    pub conditional: bool,
    /// Whether the block index alone decides the box read (Lashgar §7.2).
    pub precalculable: Precalculability,
}

impl ArrayAccess {
    /// The constants that it adds to the axes of `at`, if it does nothing else.
    pub fn offsets(&self) -> Option<Vec<i64>> {
        let offset = |(axis, form): (usize, &IndexForm)| match form {
            IndexForm::Affine(form) if form.terms == [(Symbol::At(axis as u32), 1)] => Some(form.constant),
            _ => None,
        };
        self.index.iter().enumerate().map(offset).collect::<Option<Vec<i64>>>().filter(|_| self.fits.is_empty())
    }
}

/// An index along one axis.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexForm {
    /// `constant + Σ coefficient · symbol`, modulo 2^64 and where [`ArrayAccess::fits`] hold; exact wherever
    /// [`Analysis::range`] gives a range.
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
    /// What is no sum: an entry of an array, such as `c[q]`, a quotient, a bound. [`Analysis::choices`] has what.
    Choice(u32),
    /// Coordinate of the thread in its group, in a phase by number in [`Analysis::phases`], along an axis.
    Thread(u32, u32),
}

/// The form's value must be one of the type's, or what was made from it is not exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The form.
    pub form: NormalForm,
    /// The type.
    pub ty: ScalarType,
}

/// A `for` loop.
#[derive(Clone, Debug)]
pub struct LoopInfo {
    /// Name of its variable.
    pub name: String,
    /// First value, if affine in captures, `at` and outer loops.
    pub lo: IndexForm,
    /// Last value (inclusive), if affine; one less than `lo` or lower if the loop does not run.
    pub last: IndexForm,
    /// What must hold for both to be exact.
    pub fits: Vec<Fit>,
    /// Whether the block index alone decides the bounds.
    pub precalculable: Precalculability,
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
