//! Values that are no sums: entries of arrays, products, quotients, remainders, bits, lower and upper bounds of forms.

use super::eval::constant_of;
use super::pairs::{Pair, pair_of};
use super::range::Known;
use super::symbolic::{Affine, Val, int_type};
use super::walk::Walker;
use super::{Analysis, ArrayAccess, Fit, IndexForm, Interval, NormalForm, Precalculability, Symbol, Why};
use crate::element::ScalarType;
use crate::ir::{BinaryOp, ExprId, Method};

/// What [`Symbol::Choice`] stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Some number.
    Within(Interval),
    /// A number that only run time tells, such as one made from a value of an array.
    Told(Interval, Why),
    /// Some entry of a captured array of integers, by the number of the capture.
    Entry(u32),
    /// One entry of a captured array of integers: the capture, and the number in [`Analysis::entries`].
    EntryAt(u32, u32),
    /// What an operation gives for the exact values of forms.
    Of(Op, NormalForm),
    /// What an operation gives for the exact values of two.
    OfTwo(Pair, NormalForm, NormalForm),
    /// The lesser of two.
    Least(NormalForm, NormalForm),
    /// The greater of two.
    Greatest(NormalForm, NormalForm),
}

/// An operation with a number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The quotient, rounded towards 0.
    Div(i64),
    /// What that leaves, with the sign of the dividend.
    Rem(i64),
    /// The quotient, rounded down.
    Floor(i64),
    /// What that leaves, from 0 on.
    Modulo(i64),
    /// The bits that the number has too.
    Mask(i64),
}

/// Forms with more symbols than this, those of the choices in them included, are given up.
const MAX_WEIGHT: usize = 64;

impl Interval {
    /// One number.
    pub const fn point(value: i64) -> Interval {
        Interval { lo: value, hi: value }
    }

    /// The number, if there is one alone.
    pub fn as_point(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The smallest interval around these numbers.
    pub fn around(values: impl Iterator<Item = i64>) -> Option<Interval> {
        values.map(Interval::point).reduce(|a, b| Interval { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) })
    }
}

impl Op {
    /// What it gives for the numbers of an interval that is not empty.
    fn values(self, of: Interval) -> Interval {
        let Interval { lo, hi } = of;
        // What is not constant along the interval has every residue, or nearly.
        match self {
            Op::Div(by) => Interval { lo: lo / by, hi: hi / by },
            Op::Floor(by) => Interval { lo: lo.div_euclid(by), hi: hi.div_euclid(by) },
            Op::Modulo(by) if lo.div_euclid(by) == hi.div_euclid(by) => {
                Interval { lo: lo.rem_euclid(by), hi: hi.rem_euclid(by) }
            }
            Op::Modulo(by) => Interval { lo: 0, hi: by - 1 },
            // On either side of 0 the quotient is the same only where the sign is.
            Op::Rem(by) if lo / by == hi / by && (lo >= 0 || hi <= 0) => Interval { lo: lo % by, hi: hi % by },
            Op::Rem(by) => Interval { lo: (1 - by).max(lo.min(0)), hi: (by - 1).min(hi.max(0)) },
            Op::Mask(bits) if lo >= 0 => Interval { lo: 0, hi: bits.min(hi) },
            Op::Mask(bits) => Interval { lo: 0, hi: bits },
        }
    }

    /// How far what it gives moves, if what it takes moves so far and is positive or not.
    fn move_of(self, moved: i64, positive: bool) -> Option<i64> {
        match self {
            _ if moved == 0 => Some(0),
            // What is below 0 is rounded to the other side.
            Op::Div(by) => (positive && moved % by == 0).then_some(moved / by),
            Op::Floor(by) => (moved % by == 0).then_some(moved / by),
            Op::Rem(by) => (positive && moved % by == 0).then_some(0),
            Op::Modulo(by) => (moved % by == 0).then_some(0),
            Op::Mask(bits) => (bits.count_ones() == bits.trailing_ones() && moved % (bits + 1) == 0).then_some(0),
        }
    }

    fn text(self, of: &str) -> String {
        match self {
            Op::Div(by) => format!("({of}) / {by}"),
            Op::Rem(by) => format!("({of}) % {by}"),
            Op::Floor(by) => format!("floor(({of}) / {by})"),
            Op::Modulo(by) => format!("({of}) mod {by}"),
            Op::Mask(bits) => format!("(({of}) & {bits})"),
        }
    }
}

impl Choice {
    fn forms(&self) -> impl Iterator<Item = &NormalForm> {
        let (first, second) = match self {
            Choice::Within(_) | Choice::Told(..) | Choice::Entry(_) | Choice::EntryAt(..) => (None, None),
            Choice::Of(_, form) => (Some(form), None),
            Choice::OfTwo(_, a, b) | Choice::Least(a, b) | Choice::Greatest(a, b) => (Some(a), Some(b)),
        };
        first.into_iter().chain(second)
    }

    /// How far it moves as the cell moves so many cells along an axis, if that is the same wherever the cell is.
    pub(super) fn move_of(&self, known: &Known<'_>, step: (u32, i64)) -> Option<i64> {
        match self {
            // Its interval has all that it may be.
            Choice::Within(_) | Choice::Entry(_) | Choice::EntryAt(..) => Some(0),
            Choice::Told(..) => None,
            Choice::Of(op, form) => {
                let (moved, positive) = known.move_of_operand(form, step)?;
                op.move_of(moved, positive)
            }
            Choice::OfTwo(_, a, b) => {
                let ((a, _), (b, _)) = (known.move_of_operand(a, step)?, known.move_of_operand(b, step)?);
                (a == 0 && b == 0).then_some(0)
            }
            Choice::Least(a, b) | Choice::Greatest(a, b) => {
                let ((a, _), (b, _)) = (known.move_of_operand(a, step)?, known.move_of_operand(b, step)?);
                (a == b).then_some(a)
            }
        }
    }

    /// Its values; `None` if they are not known.
    pub(super) fn values(&self, known: &Known<'_>) -> Option<Interval> {
        let both = |a: &NormalForm, b: &NormalForm| Some((known.operand(a)?, known.operand(b)?));
        match self {
            Choice::Within(values) | Choice::Told(values, _) => Some(*values),
            Choice::Entry(capture) => known.captures.get(*capture as usize).copied().flatten(),
            // Where it is not told, it lies between the bounds of all.
            Choice::EntryAt(capture, n) => {
                let of = |n: usize| known.captures.get(n).copied().flatten();
                of(known.entries_from + *n as usize).or_else(|| of(*capture as usize))
            }
            Choice::Of(op, form) => known.operand(form).filter(|of| !of.is_empty()).map(|of| op.values(of)),
            Choice::OfTwo(pair, a, b) => both(a, b).and_then(|(a, b)| pair.values(a, b)),
            Choice::Least(a, b) => both(a, b).map(|(a, b)| Interval { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) }),
            Choice::Greatest(a, b) => both(a, b).map(|(a, b)| Interval { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) }),
        }
    }
}

impl Analysis {
    /// Whether the index of an access moves with the cell as sums do: by as much from each cell to the next.
    pub fn moves_evenly(&self, access: &ArrayAccess) -> bool {
        let loops = access.loops.iter().filter_map(|n| self.loops.get(*n as usize));
        let forms = access.index.iter().chain(loops.flat_map(|info| [&info.lo, &info.last]));
        forms.filter_map(affine).all(|form| self.is_even(form, |_| true))
    }

    /// Whether the cells that neighbors along an axis read do not lie evenly, so that vectors of cells have to gather
    /// them.
    pub fn is_gathered(&self, access: &ArrayAccess, axis: usize) -> bool {
        access
            .index
            .iter()
            .any(|form| affine(form).is_none_or(|form| !self.is_even(form, |along| along == axis as u32)))
    }

    /// Whether a form moves evenly as the cell moves along these axes.
    fn is_even(&self, form: &NormalForm, axes: impl Fn(u32) -> bool + Copy) -> bool {
        let even = |symbol| !matches!(symbol, Symbol::Choice(_)) || !self.depends_on_cell(symbol, axes);
        form.terms.iter().all(|(symbol, _)| even(*symbol))
    }

    fn depends_on_cell(&self, symbol: Symbol, axes: impl Fn(u32) -> bool + Copy) -> bool {
        let any = |form: &NormalForm| form.terms.iter().any(|(symbol, _)| self.depends_on_cell(*symbol, axes));
        match symbol {
            Symbol::At(axis) => axes(axis),
            Symbol::Thread(..) => true,
            Symbol::Capture(_) => false,
            Symbol::Loop(n) => {
                let ends = self.loops.get(n as usize).map(|info| [&info.lo, &info.last]);
                ends.is_none_or(|ends| ends.into_iter().any(|end| affine(end).is_none_or(any)))
            }
            Symbol::Choice(n) => {
                let choice = self.choices.get(n as usize);
                choice.is_none_or(|choice| matches!(choice, Choice::Told(..)) || choice.forms().any(any))
            }
        }
    }

    /// Whether run time may tell the index of an access, so that its range says less than is so.
    pub fn is_told(&self, access: &ArrayAccess) -> bool {
        access.index.iter().filter_map(affine).any(|form| self.has_told(form))
    }

    fn has_told(&self, form: &NormalForm) -> bool {
        form.terms.iter().any(|(symbol, _)| match symbol {
            Symbol::Choice(n) => self.choices.get(*n as usize).is_none_or(|choice| {
                // (What two numbers give has a range of all that any two of theirs give: those of one cell may not.)
                matches!(choice, Choice::Told(..) | Choice::OfTwo(..)) || choice.forms().any(|form| self.has_told(form))
            }),
            _ => false,
        })
    }

    /// A choice as text.
    pub(super) fn choice_text(
        &self,
        n: u32,
        text: impl Fn(&NormalForm) -> String,
        name: impl Fn(u32) -> String,
    ) -> String {
        match self.choices.get(n as usize) {
            Some(Choice::Within(values)) => format!("({}..={})", values.lo, values.hi),
            Some(Choice::Told(..)) => "(a value)".into(),
            Some(Choice::Entry(capture)) => format!("{}[..]", name(*capture)),
            Some(Choice::EntryAt(capture, n)) => {
                let place = self.entries.get(*n as usize).map_or(0, |(_, place)| *place);
                format!("{}[{place}]", name(*capture))
            }
            Some(Choice::Of(op, form)) => op.text(&text(form)),
            Some(Choice::OfTwo(pair, a, b)) => pair.text(&text(a), &text(b)),
            Some(Choice::Least(a, b)) => format!("min({}, {})", text(a), text(b)),
            Some(Choice::Greatest(a, b)) => format!("max({}, {})", text(a), text(b)),
            None => format!("choice{n}"),
        }
    }
}

impl Walker<'_> {
    /// A symbol for what is chosen.
    pub fn choice(&mut self, choice: Choice) -> NormalForm {
        let n = self.out.choices.len() as u32;
        self.out.choices.push(choice);
        NormalForm::symbol(Symbol::Choice(n))
    }

    fn weight(&self, form: &NormalForm) -> usize {
        let of = |symbol: &Symbol| match symbol {
            Symbol::Choice(n) => {
                self.out.choices.get(*n as usize).map_or(0, |choice| choice.forms().map(|form| self.weight(form)).sum())
            }
            _ => 0,
        };
        form.terms.iter().map(|(symbol, _)| 1 + of(symbol)).fold(1, usize::saturating_add)
    }

    /// A value as a form that is exactly what it is, if these conditions hold.
    fn exact(&self, value: &Val, ty: ScalarType) -> Option<(NormalForm, Vec<Fit>)> {
        let Val::Affine(Affine { form, fits }) = value else { return None };
        let light = self.weight(form) <= MAX_WEIGHT;
        let fits: Vec<Fit> = fits.iter().cloned().chain(self.require(form, ty)).collect();
        light.then(|| (form.clone(), fits))
    }

    /// A quotient, a remainder, or what shifts to the right and masks leave, of a form and a number.
    pub fn divided(&mut self, op: BinaryOp, a: ExprId, b: ExprId, ty: ScalarType) -> Option<Val> {
        let (x, y) = (self.known_value(a), self.known_value(b));
        let int = self.int_of(b)?;
        let (x, by) = match (op, constant_of(&y), constant_of(&x)) {
            (BinaryOp::BitAnd, None, Some(by)) => (y, by),
            (_, Some(by), _) => (x, by),
            _ => {
                // What these leave has a range whatever the numbers are.
                let x = if matches!(op, BinaryOp::Rem | BinaryOp::BitAnd) { self.told(x, ty) } else { x };
                let y = if op == BinaryOp::BitAnd { self.told(y, ty) } else { y };
                return self.of_two(pair_of(op, ty)?, [&x, &y], [ty, int]);
            }
        };
        let op = match op {
            BinaryOp::Div if int == ty && by > 0 => Op::Div(by),
            BinaryOp::Rem if int == ty && by > 0 => Op::Rem(by),
            BinaryOp::Shr => Op::Floor(1 << shift(by, ty)?),
            BinaryOp::BitAnd if int == ty && by >= 0 => match by.checked_add(1) {
                Some(next) if next.count_ones() == 1 => Op::Modulo(next),
                _ => Op::Mask(by),
            },
            BinaryOp::BitAnd => return self.of_two(Pair::And, [&x, &Val::constant(by)], [ty, int]),
            _ => return None,
        };
        let x = if matches!(op, Op::Rem(_) | Op::Modulo(_) | Op::Mask(_)) { self.told(x, ty) } else { x };
        self.of(op, &x, ty)
    }

    /// The same by methods, the lesser and the greater of two, and both of three.
    pub fn method_value(&mut self, method: Method, args: &[ExprId], ty: ScalarType) -> Option<Val> {
        if args.iter().any(|arg| self.int_of(*arg) != Some(ty)) {
            return None;
        }
        let (&[a, b, ..], third) = (args, args.get(2)) else { return None };
        let (x, y) = (self.known_value(a), self.known_value(b));
        if let (Method::Clamp, Some(most)) = (method, third) {
            // What the greater of both is above `i64` the lesser of that and `most` is not.
            let x = self.told(x, ty);
            let raised = self.bounded(Method::Max, &x, &y, ty)?;
            let most = self.known_value(*most);
            return self.bounded(Method::Min, &raised, &most, ty);
        }
        let positive = constant_of(&y).filter(|by| *by > 0);
        match method {
            Method::DivEuclid if positive.is_none() => self.of_two(Pair::Floor, [&x, &y], [ty; 2]),
            Method::RemEuclid if positive.is_none() => {
                let x = self.told(x, ty);
                self.of_two(Pair::Modulo, [&x, &y], [ty; 2])
            }
            Method::DivEuclid => self.of(Op::Floor(positive?), &x, ty),
            Method::RemEuclid => {
                let x = self.told(x, ty);
                self.of(Op::Modulo(positive?), &x, ty)
            }
            Method::Max if ty == ScalarType::U64 => self.bounded(method, &x, &y, ty),
            Method::Min | Method::Max => {
                let (x, y) = (self.told(x, ty), self.told(y, ty));
                self.bounded(method, &x, &y, ty)
            }
            _ => None,
        }
    }

    /// A value that is no form as a number of its type: what bounds it has a range. Of `u64` those up to the greatest
    /// `i64` alone.
    pub fn told(&mut self, value: Val, ty: ScalarType) -> Val {
        let Some((_, lo, hi)) = int_type(ty) else { return value };
        let [lo, hi] = [lo, hi].map(|end| i64::try_from(end).unwrap_or(i64::MAX));
        self.told_within(value, Interval { lo, hi })
    }

    /// A value that is no form as one of these numbers.
    pub fn told_within(&mut self, value: Val, numbers: Interval) -> Val {
        match value {
            Val::Opaque(why) => Val::Affine(Affine::new(self.choice(Choice::Told(numbers, why)))),
            form => form,
        }
    }

    /// The lesser or the greater of two.
    fn bounded(&mut self, method: Method, x: &Val, y: &Val, ty: ScalarType) -> Option<Val> {
        let ((a, fits), (b, more)) = (self.exact(x, ty)?, self.exact(y, ty)?);
        let choice = if method == Method::Min { Choice::Least(a, b) } else { Choice::Greatest(a, b) };
        let form = self.choice(choice);
        Affine { form, fits }.with_fits(&more).map(Val::Affine)
    }

    fn of(&mut self, op: Op, x: &Val, ty: ScalarType) -> Option<Val> {
        let (form, fits) = self.exact(x, ty)?;
        let form = match form.as_constant() {
            Some(of) => NormalForm::constant(op.values(Interval::point(of)).as_point()?),
            None => self.choice(Choice::Of(op, form)),
        };
        Affine { form, fits: Vec::new() }.with_fits(&fits).map(Val::Affine)
    }

    /// What an operation gives for two numbers of these types, of which neither is known before.
    pub fn of_two(&mut self, pair: Pair, [x, y]: [&Val; 2], [ty, other]: [ScalarType; 2]) -> Option<Val> {
        if ty != other && !pair.shifts() {
            return None;
        }
        let ((a, fits), (b, more)) = (self.exact(x, ty)?, self.exact(y, other)?);
        let form = self.choice(Choice::OfTwo(pair, a, b));
        let fit = if pair.may_wrap() { self.require(&form, ty) } else { None };
        Affine { form, fits }.with_fits(&more)?.with_fits(fit.as_slice()).map(Val::Affine)
    }

    /// What the block index alone decides of a choice.
    pub fn precalculable_choice(&self, n: u32) -> Precalculability {
        match self.out.choices.get(n as usize) {
            Some(Choice::Within(_)) => Precalculability::Static,
            Some(Choice::Told(_, why)) => Precalculability::No(*why),
            Some(Choice::Entry(_) | Choice::EntryAt(..)) => Precalculability::QuasiStatic,
            Some(choice) => {
                let forms: Vec<IndexForm> = choice.forms().cloned().map(IndexForm::Affine).collect();
                self.precalculable(&forms)
            }
            None => Precalculability::No(Why::Operator),
        }
    }
}

/// How far a shift by a number goes.
pub(super) fn shift(by: i64, ty: ScalarType) -> Option<u32> {
    let (width, ..) = int_type(ty)?;
    u32::try_from(by & (i64::from(width) - 1)).ok().filter(|by| *by < 62)
}

fn affine(form: &IndexForm) -> Option<&NormalForm> {
    match form {
        IndexForm::Affine(form) => Some(form),
        IndexForm::Opaque(_) => None,
    }
}
