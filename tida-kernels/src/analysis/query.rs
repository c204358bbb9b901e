//! What a launch asks of an analysis.

use super::{Analysis, ArrayAccess, IndexForm, NormalForm, Symbol};

/// Exactly the coordinate of `at` along this axis.
pub fn is_at(form: &IndexForm, axis: usize) -> bool {
    match form {
        IndexForm::Affine(form) => *form == NormalForm::symbol(Symbol::At(axis as u32)),
        IndexForm::Opaque(_) => false,
    }
}

/// Exactly the cell `at` of a kernel of this rank.
pub(super) fn is_cell(index: &[IndexForm], rank: usize) -> bool {
    index.len() == rank && index.iter().enumerate().all(|(axis, form)| is_at(form, axis))
}

impl Analysis {
    /// The iterations of a loop, if constants decide them.
    pub fn turns(&self, number: u32) -> Option<i64> {
        let info = self.loops.get(number as usize)?;
        let (IndexForm::Affine(lo), IndexForm::Affine(last)) = (&info.lo, &info.last) else { return None };
        last.sub(lo)?.as_constant()?.checked_add(1)
    }

    /// The lowest and the highest offset from `at` along each axis over all reads of the argument; (0, 0) without
    /// reads. `None` if some read is not `at` plus what constants bound.
    pub fn halo(&self, arg: usize) -> Option<Vec<(i64, i64)>> {
        let usage = self.args.get(arg)?;
        let mut halo: Option<Vec<(i64, i64)>> = None;
        for access in usage.accesses.iter().filter(|a| !a.write) {
            let offsets = access.index.iter().enumerate().map(|(axis, form)| match form {
                IndexForm::Affine(form) => {
                    let offset = form.sub(&NormalForm::symbol(Symbol::At(axis as u32)))?;
                    Some(IndexForm::Affine(offset))
                }
                IndexForm::Opaque(_) => None,
            });
            let offsets: Vec<IndexForm> = offsets.collect::<Option<_>>()?;
            let ranges = self.range_of(access, &offsets, None, &[])?;
            if ranges.iter().any(|r| r.is_empty()) {
                continue;
            }
            match &mut halo {
                None => halo = Some(ranges.iter().map(|r| (r.lo, r.hi)).collect()),
                Some(halo) => halo.iter_mut().zip(&ranges).for_each(|(h, r)| *h = (h.0.min(r.lo), h.1.max(r.hi))),
            }
        }
        let rank = usage.accesses.first().map_or(0, |a| a.index.len());
        Some(halo.unwrap_or_else(|| vec![(0, 0); rank]))
    }

    /// Whether every write of the argument goes to `at`.
    ///
    /// # Errors
    /// The first write that may not.
    pub fn writes_only_at(&self, arg: usize) -> Result<(), &ArrayAccess> {
        self.only_at(arg, true)
    }

    /// Whether every read of the argument is of `at`, as it must be for an argument that is written too.
    ///
    /// # Errors
    /// The first read that may not be.
    pub fn reads_only_at(&self, arg: usize) -> Result<(), &ArrayAccess> {
        self.only_at(arg, false)
    }

    fn only_at(&self, arg: usize, write: bool) -> Result<(), &ArrayAccess> {
        let accesses = self.args.get(arg).map_or(&[][..], |usage| &usage.accesses);
        accesses.iter().filter(|a| a.write == write).find(|a| !a.at_cell).map_or(Ok(()), Err)
    }
}
