//! The error type: what was tried, what was found, what to do.

use std::fmt;

/// Why a picture could not be made or written.
///
/// Its text says what was tried, what was found and what to do.
#[derive(Debug)]
pub struct Error {
    tried: String,
    found: String,
    advice: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(tried: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error { tried: tried.into(), found: found.into(), advice: advice.into(), source: None }
    }

    /// The same error with what it came from.
    pub(crate) fn caused_by(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { source: Some(Box::new(source)), ..self }
    }

    /// What was tried.
    pub fn tried(&self) -> &str {
        &self.tried
    }

    /// What was found.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// What to do.
    pub fn advice(&self) -> &str {
        &self.advice
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tried to {}; found {}; {}", self.tried, self.found, self.advice)
    }
}

impl std::error::Error for Error {
    /// What the system said of a file, or tida of an array; its text is part of this error's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source: &(dyn std::error::Error + 'static) = self.source.as_deref()?;
        Some(source)
    }
}

impl From<tida::Error> for Error {
    fn from(e: tida::Error) -> Error {
        Error::new(e.tried(), e.found(), e.advice()).caused_by(e)
    }
}
