//! The error type: what was tried, what was found, what to do.

use std::fmt;
use std::io;
use std::sync::Arc;

use tida::ErrorKind;

/// Why a file could not be written or read.
///
/// Its text says what was tried, what was found and what to do. Cheap to clone: a writer that failed says it at every
/// later call.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

struct Inner {
    kind: ErrorKind,
    tried: String,
    found: String,
    advice: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        tried: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Error {
        Error::made(kind, [tried.into(), found.into(), advice.into()], None)
    }

    fn made(
        kind: ErrorKind,
        [tried, found, advice]: [String; 3],
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error { inner: Arc::new(Inner { kind, tried, found, advice, source }) }
    }

    /// What is not what it should be in a file.
    pub(crate) fn format(tried: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::new(ErrorKind::Format, tried, found, advice)
    }

    /// What a library said.
    #[cfg(feature = "netcdf")]
    pub(crate) fn of(
        kind: ErrorKind,
        texts: [String; 3],
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        Error::made(kind, texts, Some(Box::new(source)))
    }

    /// What the system said of a file, with what was tried (`"write u.raw"`): the error of a sink or source of one's
    /// own. Its kind is [`ErrorKind::Io`].
    pub fn io(tried: impl Into<String>, e: io::Error) -> Error {
        let (found, advice) = match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (format!("no space left ({e})"), "free some, or write elsewhere; what was whole before is still there")
            }
            io::ErrorKind::NotFound => (format!("no such file or folder ({e})"), "check the path"),
            io::ErrorKind::PermissionDenied => (format!("no permission ({e})"), "allow it, or give another path"),
            _ => (e.to_string(), "check the disk and the path"),
        };
        let texts = [tried.into(), found, advice.into()];
        Error::made(ErrorKind::Io, texts, Some(Box::new(e)))
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
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tried to {}; found {}; {}", self.inner.tried, self.inner.found, self.inner.advice)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.inner.kind).field("text", &self.to_string()).finish()
    }
}

impl std::error::Error for Error {
    /// What the system said of a file, or tida of an array; its text is part of this error's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source: &(dyn std::error::Error + 'static) = self.inner.source.as_deref()?;
        Some(source)
    }
}

impl From<tida::Error> for Error {
    fn from(e: tida::Error) -> Error {
        let texts = [e.tried(), e.found(), e.advice()].map(str::to_owned);
        Error::made(e.kind(), texts, Some(Box::new(e)))
    }
}
