//! What is said once of a kernel that runs slower than it could.

use std::sync::atomic::Ordering;

use tracing::warn;

use super::check::Checked;
use crate::launch::needs::checked_read;
use crate::launch::prepare::Prepared;

impl Prepared {
    /// Warns of a launch that checks its reads, and of one on the CPU with a loop that keeps cells from being vectors:
    /// once for each kernel.
    pub fn warn_if_slow(&self, checked: &Checked<'_>) {
        if checked.run_checked && !self.said.checks.swap(true, Ordering::Relaxed) {
            let read = checked.unproven.and_then(|unproven| checked_read(self, unproven));
            let read = read.unwrap_or_else(|| "a read".into());
            warn!(
                kernel = %self.place(),
                "{read} could not be proven in range: each cell checks it, which is slower; write the index as `at` plus \
                 constants, quotients, remainders and bounds of it"
            );
        }
        let alone = self.kernel.native.alone.filter(|_| !checked.key.on_device);
        if let Some(span) = alone
            && !self.said.alone.swap(true, Ordering::Relaxed)
        {
            let place = format!("{}:{}:{}", self.kernel.file, span.line, span.column);
            warn!(
                kernel = %self.place(),
                "each cell takes the loop at {place} by itself, without vectors, which is slower; let it turn equally often in \
                 all cells, without `break`, `continue` and `return`, outside of `if`, and let no name of the kernel hide another"
            );
        }
    }
}
