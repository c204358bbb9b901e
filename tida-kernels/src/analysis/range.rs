//! Intervals of forms: which cells an access can touch.

use super::choice::Choice;
use super::symbolic::int_type;
use super::{Analysis, ArrayAccess, Fit, IndexForm, Interval, LoopInfo, NormalForm, Phase, Symbol};

/// Intervals beyond this are given up, so that an index is far from wrapping.
const LIMIT: i128 = 1 << 62;

/// What is known of the symbols.
pub(super) struct Known<'a> {
    /// Box of `at`, half-open.
    pub at: Option<(&'a [i64], &'a [i64])>,
    /// Those of captured values, and of entries from `entries_from` on.
    pub captures: &'a [Option<Interval>],
    pub entries_from: usize,
    pub choices: &'a [Choice],
    pub phases: &'a [Phase],
    /// Interval of each loop's variable, by number; `None` if unknown.
    pub loops: &'a [Option<Interval>],
}

impl Interval {
    /// No index at all.
    pub const EMPTY: Interval = Interval { lo: 0, hi: -1 };

    /// Whether no index is in it.
    pub fn is_empty(&self) -> bool {
        self.lo > self.hi
    }
}

impl Known<'_> {
    fn symbol(&self, symbol: Symbol) -> Option<Interval> {
        match symbol {
            Symbol::At(axis) => {
                let (lo, hi) = self.at?;
                let (lo, hi) = (*lo.get(axis as usize)?, *hi.get(axis as usize)?);
                Some(Interval { lo, hi: hi.checked_sub(1)? })
            }
            Symbol::Loop(n) => self.loops.get(n as usize).copied().flatten(),
            Symbol::Capture(n) => self.captures.get(n as usize).copied().flatten(),
            Symbol::Choice(n) => self.choices.get(n as usize)?.values(self),
            Symbol::Thread(phase, axis) => self.phases.get(phase as usize)?.threads.get(axis as usize).copied(),
        }
    }

    /// The values of a form.
    pub fn form(&self, form: &NormalForm) -> Option<Interval> {
        let (mut lo, mut hi) = (form.constant as i128, form.constant as i128);
        for &(symbol, coefficient) in &form.terms {
            let values = self.symbol(symbol)?;
            let (a, b) = (values.lo as i128 * coefficient as i128, values.hi as i128 * coefficient as i128);
            lo = lo.checked_add(a.min(b))?;
            hi = hi.checked_add(a.max(b))?;
        }
        let inside = |x: i128| (-LIMIT..=LIMIT).contains(&x);
        (inside(lo) && inside(hi)).then_some(Interval { lo: lo as i64, hi: hi as i64 })
    }

    /// How far a form moves as the cell moves so many cells along an axis, if that is the same wherever the cell is.
    fn move_of(&self, form: &NormalForm, step: (u32, i64)) -> Option<i64> {
        let moves = form.terms.iter().map(|&(symbol, coefficient)| {
            let moved = match symbol {
                Symbol::At(axis) => (axis == step.0).then_some(step.1).or(Some(0)),
                Symbol::Capture(_) | Symbol::Loop(_) => Some(0),
                Symbol::Choice(n) => self.choices.get(n as usize)?.move_of(self, step),
                Symbol::Thread(..) => None,
            };
            moved?.checked_mul(coefficient)
        });
        moves.into_iter().try_fold(0i64, |sum, moved| sum.checked_add(moved?))
    }

    /// The same of what an operation takes, and whether that is never below 0.
    pub fn move_of_operand(&self, form: &NormalForm, step: (u32, i64)) -> Option<(i64, bool)> {
        Some((self.move_of(form, step)?, self.operand(form).is_some_and(|of| of.lo >= 0)))
    }

    /// The values of what an operation takes. Bounds hold whatever they bound: of a choice alone nothing is given up.
    pub fn operand(&self, form: &NormalForm) -> Option<Interval> {
        match (form.constant, &form.terms[..]) {
            (0, &[(symbol @ Symbol::Choice(_), 1)]) => self.symbol(symbol),
            _ => self.form(form),
        }
    }

    /// Whether all conditions hold for all values.
    pub fn fit(&self, fits: &[Fit]) -> bool {
        fits.iter().all(|fit| match (self.operand(&fit.form), int_type(fit.ty)) {
            (Some(i), Some((_, min, max))) => min <= i.lo as i128 && i.hi as i128 <= max,
            _ => false,
        })
    }

    /// The values of a loop's first and last value; `None` if unknown.
    pub fn bounds(&self, info: &LoopInfo) -> Option<(Interval, Interval)> {
        match (&info.lo, &info.last) {
            (IndexForm::Affine(lo), IndexForm::Affine(last)) if self.fit(&info.fits) => {
                Some((self.form(lo)?, self.form(last)?))
            }
            _ => None,
        }
    }
}

impl Analysis {
    /// The cells an access can touch, per axis of its argument, when `at` runs over the box `lo..hi` (half-open, not
    /// empty) and captured integers have these values (`captures[n]` is the number itself, or around all entries of an
    /// array; `None` for captures that are no integers, or do not fit an `i64`; then those of [`Analysis::entries`],
    /// if these are given). `None` if an index is not affine or a
    /// bound overflows. Conservative: the interval may be larger than what is touched; all are empty if the access
    /// never runs. An index of a table is `U64`: below 0 means a wrapped one.
    pub fn range(
        &self,
        access: &ArrayAccess,
        lo: &[i64],
        hi: &[i64],
        captures: &[Option<Interval>],
    ) -> Option<Vec<Interval>> {
        if lo.len() != hi.len() {
            return None;
        }
        if lo.iter().zip(hi).any(|(lo, hi)| lo >= hi) {
            return Some(vec![Interval::EMPTY; access.index.len()]);
        }
        self.range_of(access, &access.index, Some((lo, hi)), captures)
    }

    /// The smallest box around what the argument's reads can touch, as [`Analysis::range`] finds it; empty if nothing
    /// is read. `None` if the range of some read is not known.
    pub fn read_box(&self, arg: usize, lo: &[i64], hi: &[i64], captures: &[Option<Interval>]) -> Option<Vec<Interval>> {
        let usage = self.args.get(arg)?;
        let rank = usage.accesses.first().map_or(0, |a| a.index.len());
        let mut hull = vec![Interval::EMPTY; rank];
        for access in usage.accesses.iter().filter(|a| !a.write) {
            let ranges = self.range(access, lo, hi, captures)?;
            if ranges.iter().any(Interval::is_empty) {
                continue;
            }
            for (h, r) in hull.iter_mut().zip(ranges) {
                *h = if h.is_empty() { r } else { Interval { lo: h.lo.min(r.lo), hi: h.hi.max(r.hi) } };
            }
        }
        Some(hull)
    }

    /// How far the index of an access moves along each axis of its argument as the cell moves so many cells along an
    /// axis, if that is the same for all cells of a box (half-open, not empty): of `c[[at[0] / 2]]` one for two,
    /// whatever the cell.
    pub fn moves_by(
        &self,
        access: &ArrayAccess,
        (axis, by): (u32, i64),
        (lo, hi): (&[i64], &[i64]),
        captures: &[Option<Interval>],
    ) -> Option<Vec<i64>> {
        let loops = self.loop_values(&access.loops, Some((lo, hi)), captures)?;
        let known = self.known(Some((lo, hi)), captures, loops.as_deref().unwrap_or_default());
        let of = |form: &IndexForm| match form {
            IndexForm::Affine(form) => known.move_of(form, (axis, by)),
            IndexForm::Opaque(_) => None,
        };
        let turns = access.loops.iter().filter_map(|n| self.loops.get(*n as usize));
        if turns.flat_map(|info| [&info.lo, &info.last]).any(|bound| of(bound) != Some(0)) {
            return None;
        }
        access.index.iter().map(of).collect()
    }

    /// What is known where loops have these values.
    fn known<'a>(
        &'a self,
        at: Option<(&'a [i64], &'a [i64])>,
        captures: &'a [Option<Interval>],
        loops: &'a [Option<Interval>],
    ) -> Known<'a> {
        let Analysis { choices, phases, .. } = self;
        Known { at, captures, entries_from: self.captures, choices, phases, loops }
    }

    /// The values of `forms`, evaluated where `access` stands.
    pub(super) fn range_of(
        &self,
        access: &ArrayAccess,
        forms: &[IndexForm],
        at: Option<(&[i64], &[i64])>,
        captures: &[Option<Interval>],
    ) -> Option<Vec<Interval>> {
        match self.values(&access.loops, &access.fits, forms, at, captures)? {
            Some(values) => Some(values),
            None => Some(vec![Interval::EMPTY; forms.len()]),
        }
    }

    /// The values of `forms` inside these loops, if `fits` hold; no values at all if one of the loops never turns.
    pub(super) fn values(
        &self,
        inside: &[u32],
        fits: &[Fit],
        forms: &[IndexForm],
        at: Option<(&[i64], &[i64])>,
        captures: &[Option<Interval>],
    ) -> Option<Option<Vec<Interval>>> {
        let Some(loops) = self.loop_values(inside, at, captures)? else { return Some(None) };
        let known = self.known(at, captures, &loops);
        if !known.fit(fits) {
            return None;
        }
        let values = forms.iter().map(|form| match form {
            IndexForm::Affine(form) => known.form(form),
            IndexForm::Opaque(_) => None,
        });
        values.collect::<Option<_>>().map(Some)
    }

    /// The values of the variables of these loops, by number, those that are known; none at all if one of the loops
    /// never turns.
    fn loop_values(
        &self,
        inside: &[u32],
        at: Option<(&[i64], &[i64])>,
        captures: &[Option<Interval>],
    ) -> Option<Option<Vec<Option<Interval>>>> {
        let mut loops = vec![None; self.loops.len()];
        for &n in inside {
            let info = self.loops.get(n as usize)?;
            let known = self.known(at, captures, &loops);
            if let Some((first, last)) = known.bounds(info) {
                if first.lo > last.hi {
                    return Some(None);
                }
                loops[n as usize] = Some(Interval { lo: first.lo, hi: last.hi });
            }
        }
        Some(Some(loops))
    }
}
