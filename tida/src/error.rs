//! The error type: what was tried, what was found, what to do.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Why a call of tida failed.
///
/// Its text says what was tried, what was found and what to do. For recorded work it names the kernel and the line
/// that recorded it. Cheap to clone: one failure can poison many arrays.
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
}

/// What sort of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A shape, size or count that cannot be: zero, too large, or of the wrong length.
    Shape,
    /// Ghost cells that are missing, too narrow, or wider than a region.
    Ghost,
    /// Ghost cells older than the cells beside them.
    StaleGhost,
    /// Arrays whose regions are cut differently.
    Cuts,
    /// A boundary condition that the array cannot have.
    Boundary,
    /// An access that would race: a write away from `at`, or a read of a written array away from `at`.
    Race,
    /// A kernel that cannot be typed for its arguments.
    Kernel,
    /// A read outside an array, found at run time.
    OutOfRange,
    /// An integer division by zero, or of `MIN` by -1.
    Division,
    /// A native kernel panicked.
    Panic,
    /// A device that is not there, or not in this build.
    Device,
    /// Memory that could not be had.
    Memory,
    /// Reading or writing a file failed.
    Io,
    /// A file that is not what it should be.
    Format,
    /// Any other argument that does not fit.
    Argument,
}

impl Error {
    /// An error from its three parts: "tried to {tried}; found {found}; {advice}".
    pub(crate) fn new(
        kind: ErrorKind,
        tried: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Error {
        Error {
            inner: Arc::new(Inner {
                kind,
                tried: tried.into(),
                found: found.into(),
                advice: advice.into(),
                recorded: None,
            }),
        }
    }

    /// The same error with the line that recorded the work.
    pub(crate) fn recorded_at(self, location: &'static Location<'static>) -> Error {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        inner.recorded.get_or_insert(location);
        Error { inner: Arc::new(inner) }
    }

    /// What sort of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What was tried.
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

    /// The line of the user's source that recorded the failed work, if it was recorded.
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
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.inner.kind)
    }
}

impl std::error::Error for Error {}

impl From<tida_kernels::KernelError> for Error {
    fn from(e: tida_kernels::KernelError) -> Error {
        let place = format!("{}:{}:{}", e.file, e.span.line, e.span.column);
        Error::new(ErrorKind::Kernel, format!("{} at {place}", e.tried), e.found, e.advice)
    }
}
