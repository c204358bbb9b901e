//! The kernels of a process.

use std::fmt;
use std::sync::Arc;

use tida_kernels::analysis::{Precalculability, Why};
use tida_kernels::ir::Access;

use super::groups;
use crate::launch::prepare::{Prepared, prepared};

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
/// assert!(kernels[0].place().contains(".rs:") && kernels[0].reads().all == 0);
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

    /// How many arrays it takes, how many reads it has, and what decides where they are. What groups share does not
    /// count.
    pub fn reads(&self) -> ReadCounts {
        let Prepared { kernel, analysis, .. } = &*self.prepared;
        let arrays = kernel.args.iter().take_while(|arg| arg.access != Access::Shared).count();
        let mut counts = ReadCounts { arrays, ..ReadCounts::default() };
        let accesses = analysis.args.iter().take(arrays).flat_map(|arg| &arg.accesses);
        for read in accesses.filter(|access| !access.write) {
            counts.all += 1;
            *match read.precalculable {
                Precalculability::Static => &mut counts.by_block,
                Precalculability::QuasiStatic => &mut counts.by_launch,
                Precalculability::No(Why::Induction) => &mut counts.induction,
                Precalculability::No(Why::Indirect) => &mut counts.indirect,
                Precalculability::No(Why::Control) => &mut counts.control,
                Precalculability::No(Why::Operator) => &mut counts.operator,
            } += 1;
        }
        counts
    }
}

/// How many reads a kernel has, and what decides which box of cells the threads of a block read by each (Lashgar §7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReadCounts {
    /// Arrays that it takes, tables too.
    pub arrays: usize,
    /// All reads.
    pub all: usize,
    /// Those that the block alone decides.
    pub by_block: usize,
    /// Those that the block decides, and what is known at launch.
    pub by_launch: usize,
    /// Those at an index that changes from iteration to iteration.
    pub induction: usize,
    /// Those at an index that was read from an array.
    pub indirect: usize,
    /// Those at an index that a condition chooses.
    pub control: usize,
    /// Those at an index by an operator or a call that is no sum of the cell's coordinates.
    pub operator: usize,
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
