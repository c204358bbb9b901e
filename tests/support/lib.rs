//! What the examples, the benches and the tests of tida share: one set of flags, one report, and plain loops to
//! compare with.

pub mod colour;
pub mod flags;
pub mod npy;
pub mod oracle;
pub mod progress;
pub mod real;
pub mod report;

/// The result of an example: any error, with its text.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
