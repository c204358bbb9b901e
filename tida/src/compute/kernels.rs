//! The kernels of a process.

use std::fmt;
use std::sync::Arc;

use tida_kernels::analysis::Analysis;
use tida_kernels::ir::Kernel;

use super::prepare::{Prepared, prepared};

/// A kernel that this process has recorded or explained, typed for the arguments of some call. Printed with `{}`: what it reads
/// and writes, and where.
#[derive(Clone)]
pub struct KernelReport {
    prepared: Arc<Prepared>,
}

/// All kernels that this process has recorded or explained so far, by their places in the source. A kernel is there once for each
/// types of its arguments and captures.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([64]).build(&acc)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 2.0))?;
/// }
/// let kernels = tida::kernels();
/// assert_eq!(kernels.len(), 1);
/// assert!(kernels[0].place().contains(".rs:") && kernels[0].analysis().complete);
/// # Ok(()) }
/// ```
pub fn kernels() -> Vec<KernelReport> {
    let mut all: Vec<_> = prepared().into_iter().map(|prepared| KernelReport { prepared }).collect();
    all.sort_by(|a, b| {
        let key = |report: &KernelReport| (report.prepared.kernel.file.clone(), report.prepared.kernel.line);
        key(a).cmp(&key(b))
    });
    all
}

impl KernelReport {
    /// Where it stands: the file and the line.
    pub fn place(&self) -> String {
        self.prepared.place()
    }

    /// The typed kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.prepared.kernel
    }

    /// What it reads and writes.
    pub fn analysis(&self) -> &Analysis {
        &self.prepared.analysis
    }
}

impl fmt::Display for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.prepared.analysis.report(&self.prepared.kernel))
    }
}

impl fmt::Debug for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
