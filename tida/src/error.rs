//! The error type: what was tried, what was found, what to do.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tida_kernels::KernelError;

/// Why a call of tida failed.
///
/// Its text says what was tried, what was found and what to do. For recorded work it names the kernel and the line that
/// recorded it. Cheap to clone: one failure can spoil many arrays.
///
/// Every read of what failed work spoiled gives its error. [`TileAcc::sync`](crate::TileAcc::sync) gives the errors
/// that nobody was told of yet: the first, which has the [`others`](Error::others) with it.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let error: Error = TileArray::<f64, 1>::builder([0]).build(&acc).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Shape);
/// assert_eq!(error.tried(), "build an array of f64 with shape [0]");
/// assert_eq!(error.found(), "0 cells on axis 0");
/// assert_eq!(error.advice(), "give every axis at least one cell");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    tried: String,
    found: String,
    advice: String,
    recorded: Option<&'static Location<'static>>,
    failure: Option<Arc<Failure>>,
    /// Where a fault was raised: a cell, or one that stands for a part of a row. Faults of a sweep are told apart by
    /// it.
    cell: Option<[i64; 4]>,
    others: Others,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// A failure of recorded work.
#[derive(Debug)]
struct Failure {
    /// The number of the node that failed: nodes are counted as they are recorded.
    node: u64,
    /// Someone was told of it.
    told: AtomicBool,
}

/// Failures that are told with another one.
#[derive(Clone, Debug, Default)]
struct Others {
    errors: Vec<Error>,
    /// All of them, also those that were not kept.
    count: u64,
}

/// What sort of failure an [`Error`] is.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
/// let mut next = u.like()?;
/// u.fill_value(1.0)?; // and the ghosts are older now
/// let tile = TileIter::new(&u).next().unwrap();
/// let error = compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1]])).unwrap_err();
/// match error.kind() {
///     ErrorKind::StaleGhost | ErrorKind::Ghost => println!("fill the ghosts first: {error}"),
///     _ => return Err(error),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A shape, size or count that cannot be: zero, too large, or of the wrong length.
    Shape,
    /// Ghost cells that are missing, too narrow, wider than a region, or read before they are set.
    Ghost,
    /// Ghost cells older than the cells beside them.
    StaleGhost,
    /// Arrays whose regions are cut differently, or not at half and double the places (`coarse`, `fine`); regions that
    /// are thinner than a [`sweep_along`](crate::sweep_along()) reads back.
    Cuts,
    /// A boundary condition that the array cannot have.
    Boundary,
    /// An access that would race: a write away from `at`, or a read away from `at` of what the same loop writes.
    Race,
    /// A kernel that cannot be typed for its arguments, that keeps too much in a cell, or that the device's compiler
    /// refuses.
    Kernel,
    /// A read outside an array, found at run time; values that an array's [`Format`](crate::Format) cannot hold.
    OutOfRange,
    /// An integer division by zero, or of `MIN` by -1.
    Division,
    /// Recorded work panicked, such as a native kernel. (A panic of a closure that runs in a call, such as that of
    /// [`fill`](crate::TileArray::fill), goes on in the caller.)
    Panic,
    /// A device that is not there, not in this build, or that cannot do what was asked.
    Device,
    /// Memory that the host or the device does not have.
    Memory,
    /// Reading or writing a file failed.
    Io,
    /// A file that is not what it should be: another type or shape, or cut short.
    Format,
    /// Anything else that does not fit: a setting, a variable of the environment, arrays of two accelerators.
    Argument,
    /// Ranks that cannot start, do not run the same program, or have ended; what arrays on several ranks do not do.
    Ranks,
}

impl ErrorKind {
    const ALL: [ErrorKind; 16] = [
        ErrorKind::Ranks,
        ErrorKind::Shape,
        ErrorKind::Ghost,
        ErrorKind::StaleGhost,
        ErrorKind::Cuts,
        ErrorKind::Boundary,
        ErrorKind::Race,
        ErrorKind::Kernel,
        ErrorKind::OutOfRange,
        ErrorKind::Division,
        ErrorKind::Panic,
        ErrorKind::Device,
        ErrorKind::Memory,
        ErrorKind::Io,
        ErrorKind::Format,
        ErrorKind::Argument,
    ];

    /// A number for it, the same in all processes of a program.
    pub(crate) fn number(self) -> u64 {
        ErrorKind::ALL.iter().position(|kind| *kind == self).unwrap_or(0) as u64
    }

    /// The kind of a number.
    pub(crate) fn of_number(number: u64) -> ErrorKind {
        ErrorKind::ALL.get(number as usize).copied().unwrap_or(ErrorKind::Ranks)
    }
}

/// The error that was made last, if that is kept.
static LAST: Mutex<Option<Error>> = Mutex::new(None);
static KEEPS_LAST: AtomicBool = AtomicBool::new(false);

/// From now on the last error is kept: a rank that ends before the others says why.
#[cfg(feature = "mpi")]
pub(crate) fn keep_last() {
    KEEPS_LAST.store(true, Ordering::Relaxed);
}

/// The error that was made last, if that is kept.
pub(crate) fn last_error() -> Option<Error> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Error {
    /// An error from its three parts: "tried to {tried}; found {found}; {advice}".
    pub(crate) fn new(
        kind: ErrorKind,
        tried: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Error {
        Error::kept(Inner {
            kind,
            tried: tried.into(),
            found: found.into(),
            advice: advice.into(),
            recorded: None,
            failure: None,
            cell: None,
            others: Others::default(),
            source: None,
        })
    }

    fn kept(inner: Inner) -> Error {
        let error = Error { inner: Arc::new(inner) };
        if KEEPS_LAST.load(Ordering::Relaxed) {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
        error
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Error {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        change(&mut inner);
        Error::kept(inner)
    }

    /// The same error with more that was found, and what to do of that.
    pub(crate) fn because(self, found: &str, advice: &str) -> Error {
        self.with(|inner| {
            inner.found = format!("{}; {found}", inner.found);
            inner.advice = advice.into();
        })
    }

    /// The same error with what it came from.
    pub(crate) fn caused_by(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.with(|inner| inner.source = Some(Arc::new(source)))
    }

    /// The same error with what the system said.
    pub(crate) fn of_system(self, e: &std::io::Error) -> Error {
        self.caused_by(match e.raw_os_error() {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => std::io::Error::new(e.kind(), e.to_string()),
        })
    }

    /// A kernel that cannot be typed.
    pub(crate) fn of_kernel(e: KernelError) -> Error {
        let place = format!("{}:{}:{}", e.file, e.span.line, e.span.column);
        Error::new(ErrorKind::Kernel, format!("{} at {place}", e.tried), &e.found, &e.advice).caused_by(e)
    }

    /// The same error with the line that recorded the work.
    pub(crate) fn recorded_at(self, location: &'static Location<'static>) -> Error {
        self.with(|inner| {
            inner.recorded.get_or_insert(location);
        })
    }

    /// The same error as the failure of a node; as that of another node, if it is one already.
    pub(crate) fn failed_by(self, node: u64) -> Error {
        self.with(|inner| {
            inner.failure.get_or_insert_with(|| Arc::new(Failure { node, told: AtomicBool::new(false) }));
        })
    }

    /// The same error as a fault that was raised at a cell.
    pub(crate) fn at_cell(self, cell: [i64; 4]) -> Error {
        self.with(|inner| inner.cell = Some(cell))
    }

    /// Whether it is to be told rather than another: the failure of work that was recorded before, or, of one piece of
    /// work, no fault or that of an earlier cell in row-major order. So the error does not depend on what ran first.
    pub(crate) fn is_before(&self, other: &Error) -> bool {
        let place = |error: &Error| {
            let node = error.inner.failure.as_ref().map_or(u64::MAX, |failure| failure.node);
            (node, error.inner.cell)
        };
        place(self) < place(other)
    }

    /// That which is to be told.
    pub(crate) fn earliest(errors: impl IntoIterator<Item = Error>) -> Option<Error> {
        errors.into_iter().reduce(|first, next| if next.is_before(&first) { next } else { first })
    }

    /// Whether both are one failure of recorded work.
    pub(crate) fn is_same_failure(&self, other: &Error) -> bool {
        match (&self.inner.failure, &other.inner.failure) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The same error, as it is given to the user: he is told of it now.
    pub(crate) fn told(self) -> Error {
        self.inner.failure.iter().for_each(|failure| failure.told.store(true, Ordering::Relaxed));
        self
    }

    /// Whether someone was told of it.
    pub(crate) fn is_told(&self) -> bool {
        self.inner.failure.as_ref().is_some_and(|failure| failure.told.load(Ordering::Relaxed))
    }

    /// The same error, told together with others, and so many more that were not kept.
    pub(crate) fn with_others(self, errors: Vec<Error>, more: u64) -> Error {
        let count = errors.len() as u64 + more;
        self.with(|inner| inner.others = Others { errors, count })
    }

    /// Other failures of recorded work that nobody was told of before, in the order in which the work was recorded.
    /// Only an error that [`TileAcc::sync`](crate::TileAcc::sync) gives has them, at most 63. The error's text says how
    /// many there were.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let builder = TileArray::<i32, 1>::builder([4]);
    /// let mut arrays = [builder.build(&acc)?, builder.build(&acc)?];
    /// for array in &mut arrays {
    ///     for tile in TileIter::new(array) {
    ///         compute(&tile, &mut *array, kernel!(|array, at| array[at] = 4 / (at[0] as i32 - 1)))?; // divides by 0
    ///     }
    /// }
    /// let error = acc.sync().unwrap_err();
    /// assert_eq!((error.kind(), error.others().len()), (ErrorKind::Division, 1));
    /// # Ok(()) }
    /// ```
    pub fn others(&self) -> &[Error] {
        &self.inner.others.errors
    }

    /// What sort of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What was tried.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let error = TileAcc::builder().threads(0).build().unwrap_err();
    /// let text = format!("tried to {}; found {}; {}", error.tried(), error.found(), error.advice());
    /// assert_eq!(error.to_string(), text);
    /// assert!(error.recorded().is_none()); // no line recorded work that failed
    /// # Ok(()) }
    /// ```
    pub fn tried(&self) -> &str {
        &self.inner.tried
    }

    /// What was found.
    pub fn found(&self) -> &str {
        &self.inner.found
    }

    /// What to do.
    pub fn advice(&self) -> &str {
        &self.inner.advice
    }

    /// The line of the user's source that recorded the failed work; `None` for a failure that was not of recorded work.
    pub fn recorded(&self) -> Option<&'static Location<'static>> {
        self.inner.recorded
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { tried, found, advice, recorded, .. } = &*self.inner;
        write!(f, "tried to {tried}; found {found}; {advice}")?;
        if let Some(location) = recorded {
            write!(f, " (recorded at {location})")?;
        }
        match self.inner.others.count {
            0 => Ok(()),
            1 => write!(f, "; 1 more piece of recorded work failed"),
            more => write!(f, "; {more} more pieces of recorded work failed"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.inner.kind)
    }
}

impl std::error::Error for Error {
    /// What the system said of a file ([`std::io::Error`]), or the kernel compiler of a kernel; its text is part of
    /// this error's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source: &(dyn std::error::Error + 'static) = self.inner.source.as_deref()?;
        Some(source)
    }
}

/// The error of a native kernel or host closure that panicked.
pub(crate) fn panicked(name: &str, payload: Box<dyn std::any::Any + Send>) -> Error {
    let message = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into());
    Error::new(
        ErrorKind::Panic,
        format!("run {name}"),
        format!("a panic: {message}"),
        "fix the panic; arrays that it would have written cannot be read until they are overwritten",
    )
}
