//! What is looked at of arrays when a chain is done, and the planes that operations have no need to do for that.

use std::borrow::Cow;
use std::ops::Range;

use super::scale::{down, up};
use super::{Access, PlaneOp, hull, hull_of};

/// What is looked at of an array when all is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The planes that are as program order leaves them; any others may hold anything. On an unwrapped axis all are.
    pub planes: Range<i64>,
    /// Whether these are stored: else no one looks at them.
    pub stored: bool,
}

impl Kept {
    /// All of it.
    pub const ALL: Kept = Kept { planes: EVERYWHERE, stored: true };
}

/// All planes that there may be.
const EVERYWHERE: Range<i64> = -(1 << 60)..1 << 60;

/// The operations without the planes that are of no use for what is kept: each needs what those after it read.
pub(super) fn trimmed<'a>(ops: &'a [PlaneOp], kept: &[Kept]) -> Cow<'a, [PlaneOp]> {
    if kept.iter().all(|kept| kept.planes == EVERYWHERE) {
        return Cow::Borrowed(ops);
    }
    let mut needed: Vec<Range<i64>> = kept.iter().map(|kept| kept.planes.clone()).collect();
    let mut ops = ops.to_vec();
    for op in ops.iter_mut().rev() {
        let written = op.accesses.iter().filter(|access| access.write.is_some());
        let of = hull_of(written.map(|access| needed[access.array].clone()));
        let of = down(of.start, op.scale).max(op.planes.start)..up(of.end, op.scale).min(op.planes.end);
        // What folds writes nothing; what reads its own planes as it goes needs all that come before.
        let in_order = |access: &Access| access.write.is_some() && access.around().is_some_and(|read| read != (0, 0));
        let in_order = op.steps == 1 && op.accesses.iter().any(in_order);
        if !of.is_empty() && !in_order && !op.runs_at_once() {
            op.planes = of;
        }
        for access in &op.accesses {
            needed[access.array] = hull(&needed[access.array], &access.touched(&op.planes));
        }
    }
    Cow::Owned(ops)
}
