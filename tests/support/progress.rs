//! A progress bar on a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts the steps of a run: on a terminal as a bar on standard error, elsewhere (or if `quiet`) not at all.
///
/// It counts steps as they are recorded, so it runs ahead of the work by the look-ahead at most.
pub fn steps(count: u64, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr_with_hz(8));
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} step {pos} of {len}, {eta} left") {
        bar.set_style(style);
    }
    bar
}
