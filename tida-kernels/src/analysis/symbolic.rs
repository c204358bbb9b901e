//! Symbolic values: affine forms, why-nots, and arrays and tuples of them.

use std::rc::Rc;

use super::{Fit, NormalForm, Symbol, Why};
use crate::element::ScalarType;

/// Beyond this many terms a form is given up.
const MAX_TERMS: usize = 32;
/// Beyond this many conditions a value is given up.
const MAX_FITS: usize = 16;
/// Beyond this many leaves an array or tuple is given up.
const MAX_LEAVES: usize = 4096;
/// Nested deeper than this they are given up.
const MAX_DEPTH: usize = 16;

impl NormalForm {
    /// A constant.
    pub fn constant(constant: i64) -> NormalForm {
        NormalForm { constant, terms: Vec::new() }
    }

    /// One symbol.
    pub fn symbol(symbol: Symbol) -> NormalForm {
        NormalForm { constant: 0, terms: vec![(symbol, 1)] }
    }

    /// Whether sums of a few such forms of coordinates wrap nowhere: arrays have at most 2^40 cells along an axis.
    pub fn is_near(&self) -> bool {
        self.constant.unsigned_abs() <= 1 << 60 && self.terms.iter().all(|(_, by)| by.unsigned_abs() <= 1 << 40)
    }

    /// The value, if there are no symbols.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Coefficient of a symbol; 0 if it does not occur.
    pub fn coefficient(&self, symbol: Symbol) -> i64 {
        self.terms.iter().find(|t| t.0 == symbol).map_or(0, |t| t.1)
    }

    /// The sum; `None` if a number overflows.
    pub fn add(&self, other: &NormalForm) -> Option<NormalForm> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let term = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(&&x), Some(&&y)) if x.0 == y.0 => {
                    a.next();
                    b.next();
                    (x.0, x.1.checked_add(y.1)?)
                }
                (Some(&&x), other) if other.is_none_or(|y| x.0 < y.0) => {
                    a.next();
                    x
                }
                (_, Some(&&y)) => {
                    b.next();
                    y
                }
                (Some(&&x), None) => {
                    a.next();
                    x
                }
            };
            if term.1 != 0 {
                terms.push(term);
            }
        }
        let constant = self.constant.checked_add(other.constant)?;
        (terms.len() <= MAX_TERMS).then_some(NormalForm { constant, terms })
    }

    /// The product with a number; `None` if a number overflows.
    pub fn scale(&self, by: i64) -> Option<NormalForm> {
        if by == 0 {
            return Some(NormalForm::default());
        }
        let terms = self.terms.iter().map(|&(s, c)| Some((s, c.checked_mul(by)?))).collect::<Option<_>>()?;
        Some(NormalForm { constant: self.constant.checked_mul(by)?, terms })
    }

    /// The difference; `None` if a number overflows.
    pub fn sub(&self, other: &NormalForm) -> Option<NormalForm> {
        self.add(&other.scale(-1)?)
    }

    /// The form with a number in place of a symbol; `None` if a number overflows.
    pub fn substitute(&self, symbol: Symbol, value: i64) -> Option<NormalForm> {
        let mut out = self.clone();
        let coefficient = self.coefficient(symbol);
        out.terms.retain(|t| t.0 != symbol);
        out.constant = out.constant.checked_add(coefficient.checked_mul(value)?)?;
        Some(out)
    }
}

/// An integer that equals `form` modulo two to the width of its type, if all of `fits` hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affine {
    pub form: NormalForm,
    pub fits: Vec<Fit>,
}

impl Affine {
    pub fn new(form: NormalForm) -> Affine {
        Affine { form, fits: Vec::new() }
    }

    /// `form` made from two values.
    pub fn from_two(form: Option<NormalForm>, a: &Affine, b: &Affine) -> Option<Affine> {
        Affine { form: form?, fits: a.fits.clone() }.with_fits(&b.fits)
    }

    /// The value with more conditions.
    pub fn with_fits(mut self, fits: &[Fit]) -> Option<Affine> {
        for fit in fits {
            if !self.fits.contains(fit) {
                self.fits.push(fit.clone());
            }
        }
        (self.fits.len() <= MAX_FITS).then_some(self)
    }
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    /// An integer in normal form.
    Affine(Affine),
    /// Not that, and why.
    Opaque(Why),
    /// A captured array of integers, or an array in it, by number; and the integers before it, unless an index that is
    /// no constant chose it.
    Entries(u32, Option<u32>),
    /// An array, tuple or struct: its parts and their size.
    Parts(Rc<[Val]>, Size),
}

/// Size of an array, tuple or struct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    leaves: usize,
    depth: usize,
}

impl Val {
    pub fn symbol(symbol: Symbol) -> Val {
        Val::Affine(Affine::new(NormalForm::symbol(symbol)))
    }

    pub fn constant(constant: i64) -> Val {
        Val::Affine(Affine::new(NormalForm::constant(constant)))
    }

    pub fn or_opaque(affine: Option<Affine>) -> Val {
        affine.map_or(Val::Opaque(Why::Operator), Val::Affine)
    }

    pub fn parts(parts: Vec<Val>) -> Val {
        let leaves = parts.iter().map(|v| v.size().leaves).fold(1, usize::saturating_add);
        let depth = parts.iter().map(|v| v.size().depth).max().unwrap_or(0) + 1;
        if leaves > MAX_LEAVES || depth > MAX_DEPTH {
            return Val::Opaque(parts.iter().fold(Why::Operator, |why, v| v.why(why)));
        }
        Val::Parts(parts.into(), Size { leaves, depth })
    }

    fn size(&self) -> Size {
        match self {
            Val::Parts(_, size) => *size,
            _ => Size { leaves: 1, depth: 0 },
        }
    }

    /// The strongest reason among `why` and those of the value's parts.
    pub fn why(&self, why: Why) -> Why {
        match self {
            Val::Affine(_) | Val::Entries(..) => why,
            Val::Opaque(own) => own.or(why),
            Val::Parts(parts, _) => parts.iter().fold(why, |w, v| v.why(w)),
        }
    }

    pub fn part(&self, n: u32) -> Val {
        match self {
            Val::Parts(parts, _) => parts.get(n as usize).cloned().unwrap_or(Val::Opaque(Why::Operator)),
            other => Val::Opaque(other.why(Why::Operator)),
        }
    }

    /// The value where two paths meet.
    pub fn merge(&self, other: &Val) -> Val {
        match (self, other) {
            (a, b) if a == b => a.clone(),
            (Val::Affine(a), Val::Affine(b)) if a.form == b.form => {
                Affine::with_fits(a.clone(), &b.fits).map_or(Val::Opaque(Why::Control), Val::Affine)
            }
            (Val::Parts(a, _), Val::Parts(b, _)) if a.len() == b.len() => {
                Val::parts(a.iter().zip(b.iter()).map(|(a, b)| a.merge(b)).collect())
            }
            (a, b) => Val::Opaque(b.why(a.why(Why::Control))),
        }
    }
}

impl Why {
    /// The stronger of two reasons: what no planning could remove comes first.
    pub(super) fn or(self, other: Why) -> Why {
        let rank = |why| match why {
            Why::Indirect => 0,
            Why::Control => 1,
            Why::Induction => 2,
            Why::Operator => 3,
        };
        if rank(self) <= rank(other) { self } else { other }
    }
}

/// Width of an integer type in bits, and its lowest and highest values; `None` for others.
pub(super) fn int_type(ty: ScalarType) -> Option<(u32, i128, i128)> {
    ty.bounds().map(|(lowest, highest)| (8 * ty.size() as u32, lowest, highest))
}
