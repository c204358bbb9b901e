//! What stands for the writer in a build without devices that run text: texts that are empty. Simulated devices run
//! native kernels, and look at no text.

use super::Source;
use super::copies::{CopySource, Kind};
use crate::analysis::Analysis;
use crate::ir::Kernel;
use crate::plan::{Dialect, Plan};

/// No text.
pub fn emit(_: &Kernel, _: &Analysis, _: &Plan) -> Source {
    Source::default()
}

/// No text.
pub fn copies(_: Dialect, _: &Kind) -> CopySource {
    CopySource { text: String::new(), entry: "" }
}

pub mod fold {
    //! Instead of the kernels of a reduction.

    pub use super::super::sizes::fold::*;
    use crate::element::ScalarType;
    use crate::emit::Source;
    use crate::plan::{Dialect, FoldOp};

    /// No text.
    pub fn fold_values(_: Dialect, _: ScalarType, _: FoldOp) -> Source {
        Source::default()
    }

    /// No text.
    pub fn fold_tree_twice(_: Dialect, _: ScalarType, _: FoldOp) -> Source {
        Source::default()
    }
}

pub mod scan {
    //! Instead of the kernels of a scan.

    pub use super::super::sizes::scan::*;
    use crate::element::ScalarType;
    use crate::emit::Source;
    use crate::plan::Dialect;

    /// No text.
    pub fn scan_sums(_: Dialect, _: ScalarType) -> Source {
        Source::default()
    }

    /// No text.
    pub fn scan_cells(_: Dialect, _: ScalarType) -> Source {
        Source::default()
    }

    /// No text.
    pub fn scan_lines(_: Dialect, _: ScalarType) -> Source {
        Source::default()
    }
}

pub mod link {
    //! Instead of what packs for the link.

    pub use super::super::sizes::link::*;
    use crate::codec::Codec;
    use crate::plan::Dialect;

    /// No text.
    pub fn codes(_: Dialect, _: &Codec) -> LinkSource {
        LinkSource { text: String::new() }
    }

    /// No text.
    pub fn frames(_: usize) -> LinkSource {
        LinkSource { text: String::new() }
    }
}
