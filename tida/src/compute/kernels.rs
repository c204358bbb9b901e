//! The kernels of a process.

use std::fmt;
use std::sync::Arc;

use tida_kernels::analysis::Analysis;
use tida_kernels::ir::Kernel;

use super::groups;
use super::prepare::{Prepared, prepared};

/// A kernel that this process has recorded or explained, typed for the arguments of some call; one of [`kernels`].
/// Printed with `{}`: what it reads and writes, and where. A kernel over groups also prints its threads, its phases,
/// and what they share.
#[derive(Clone)]
pub struct KernelReport {
    prepared: Arc<Prepared>,
}

/// All kernels that this process has recorded or explained so far, by their places in the source. A kernel is listed
/// once for each set of types of its arguments and captures, and one over groups also once for each extent of its
/// groups.
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
    let both = prepared().into_iter().chain(groups::prepared());
    let mut all: Vec<_> = both.map(|prepared| KernelReport { prepared }).collect();
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
        let Prepared { kernel, analysis, .. } = &*self.prepared;
        f.write_str(&analysis.report(kernel))?;
        let Some(group) = &kernel.group else { return Ok(()) };
        let [x, y, z] = group.block();
        let phases = analysis.phases.len();
        let s = if phases == 1 { "" } else { "s" };
        writeln!(f, "groups")?;
        writeln!(f, "  threads: {x} x {y} x {z} along x, y and z; x follows the last axis")?;
        writeln!(f, "  work: {phases} phase{s}, {} bytes shared", group.bytes())
    }
}

impl fmt::Debug for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
