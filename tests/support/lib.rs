//! What the examples, the benches and the tests of tida share: one set of flags, one report, and plain loops to
//! compare with.

pub mod flags;
pub mod heat;
pub mod npy;
pub mod oracle;
pub mod pictures;
pub mod progress;
pub mod report;
pub mod setup;
pub mod thomas;
pub mod turns;

use std::process::ExitCode;

/// The result of an example: any error, with its text.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Ends an example: an error is printed to standard error and the process fails.
pub fn exit(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
