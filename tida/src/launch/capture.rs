//! Captured scalars: hoisted by the macro, passed at each launch.

use std::sync::{Arc, Weak};

use smallvec::SmallVec;
use tida_kernels::analysis::{Analysis, Interval};
use tida_kernels::each_scalar;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::quote::Constant;
use tida_kernels::scalar::Value;

use crate::error::Error;
use crate::memory::element::Values;
use crate::memory::node::Node;

/// The captured values of one kernel, described.
#[derive(Debug, Default)]
pub struct Captures {
    pub(crate) list: SmallVec<[CapturedValue; 4]>,
}

impl Captures {
    /// The scalars, arrays one entry after the other; a deferred scalar is 0.
    pub(crate) fn values(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for capture in &self.list {
            match capture {
                CapturedValue::Scalar(v) => all.push(*v),
                CapturedValue::Array(_, values) => all.extend(values.iter().copied()),
                CapturedValue::Deferred(later) => all.push(Value::from_bits(later.ty, 0)),
            }
        }
        all
    }

    /// Whether they are the same values, bit by bit, and the same deferred ones.
    pub(crate) fn same(&self, other: &Captures) -> bool {
        self.list.len() == other.list.len()
            && self.list.iter().zip(&other.list).all(|pair| match pair {
                (CapturedValue::Scalar(a), CapturedValue::Scalar(b)) => same_bits(a, b),
                (CapturedValue::Array(t, a), CapturedValue::Array(s, b)) => {
                    t == s && a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| same_bits(a, b))
                }
                (CapturedValue::Deferred(a), CapturedValue::Deferred(b)) => {
                    a.ty == b.ty && Arc::ptr_eq(&a.node, &b.node)
                }
                _ => false,
            })
    }
}

fn same_bits(a: &Value, b: &Value) -> bool {
    a.ty() == b.ty() && a.bits() == b.bits()
}

/// One captured value.
#[derive(Clone, Debug)]
pub enum CapturedValue {
    /// A scalar.
    Scalar(Value),
    /// An array of scalars, or of arrays of them, or a complex number: its type, and the scalars one after the other.
    Array(ElementType, Arc<[Value]>),
    /// A scalar that recorded work gives, once its node has finished.
    Deferred(Deferred),
}

/// A scalar that recorded work gives.
#[derive(Clone, Debug)]
pub struct Deferred {
    pub(crate) ty: ScalarType,
    /// The work.
    pub(crate) node: Arc<Node>,
    pub(crate) bits: Arc<dyn LaterBits>,
    /// The accelerator that it was recorded on.
    pub(crate) home: Weak<dyn Home>,
}

/// Where work was recorded, which is waited for there.
pub(crate) trait Home: Send + Sync {
    /// Waits for one node and gives its result.
    fn wait_for_value(self: Arc<Self>, node: &Arc<Node>) -> Result<(), Error>;
}

impl Deferred {
    /// Waits for the value if it is another accelerator's: that one would not know that it is waited for.
    ///
    /// # Errors
    /// The failure of the work that gives it.
    pub(crate) fn settle(&self, here: &Arc<impl Home>) -> Result<(), Error> {
        match self.home.upgrade() {
            Some(home) if !std::ptr::addr_eq(Arc::as_ptr(&home), Arc::as_ptr(here)) => home.wait_for_value(&self.node),
            _ => Ok(()),
        }
    }
}

/// A value that is there later.
pub(crate) trait LaterBits: std::fmt::Debug + Send + Sync {
    /// Its bits, zero-extended; 0 before it is there.
    fn bits(&self) -> u64;
}

/// A captured value held by a kernel.
pub trait CapturedParam: std::fmt::Debug + Send + Sync {
    /// Adds its description.
    fn describe(&self, list: &mut Captures);
    /// Whether this describes it, bit by bit.
    fn is(&self, described: &CapturedValue) -> bool;
}

/// What a kernel may capture: numbers and `bool`, complex numbers, arrays of them, and deferred scalars.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot capture a value of type `{Self}`",
    label = "no number, `bool` or fixed-size array of these",
    note = "pass it among the arguments instead, and name it in the kernel's head: a list of numbers (`Vec`, slice) as \
            `table(&w)`, an array with the tile's cuts as `&u`, any other array as `all(&a)`"
)]
pub trait Capture {
    /// What the kernel holds.
    type Held: Captured;
    /// Takes it.
    fn hold(&self) -> Self::Held;
}

/// What the kernel holds gives a plain value when it runs.
pub trait Captured: CapturedParam + Clone + 'static {
    /// The value as the body sees it.
    type Value: Copy;
    /// The value.
    fn value(&self) -> Self::Value;
}

/// Takes a captured place.
#[inline(always)]
pub fn capture<T: Capture + ?Sized>(place: &T) -> T::Held {
    place.hold()
}

/// The value of what a kernel holds. (The traits have no public path: nothing else may say what it holds.)
#[inline(always)]
pub fn value<T: Captured>(held: &T) -> T::Value {
    held.value()
}

/// A plain value.
#[derive(Clone, Copy, Debug)]
pub struct Plain<T>(T);

/// Numbers and `bool`, fixed-size arrays of them, and structs by `#[derive(Element)]`: what a value is, without memory.
///
/// # Safety
/// `TYPE` describes the type, and `values` gives the value's components, in order. Two calls for one value give the
/// same.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot name a constant of type `{Self}`",
    label = "no number or `bool`",
    note = "constants are numbers and `bool`, fixed-size arrays of them, and structs with `#[derive(Element)]`"
)]
pub unsafe trait PlainValue {
    /// What it is made of; `usize` is `u64` in kernels, and `isize` is `i64`.
    const TYPE: ElementType;
    /// Gives its components.
    fn values(&self, to: &mut Values<'_>);
}

// SAFETY: the entries are its components.
unsafe impl<T: PlainValue, const N: usize> PlainValue for [T; N] {
    const TYPE: ElementType = ElementType::Array { element: &T::TYPE, len: N };
    fn values(&self, to: &mut Values<'_>) {
        self.iter().for_each(|value| value.values(to));
    }
}

/// A constant that a body names.
#[inline(always)]
pub fn constant<T: PlainValue>(value: &T) -> &T {
    value
}

/// The same, described.
pub fn described<T: PlainValue>(value: T) -> Constant {
    let mut bits = Vec::new();
    value.values(&mut |value| bits.push(value.bits()));
    Constant { ty: T::TYPE, bits }
}

/// A plain scalar that a kernel captures.
#[diagnostic::on_unimplemented(message = "a kernel cannot capture arrays of `{Self}`", label = "no number or `bool`")]
pub trait PlainScalar: PlainEntry {
    /// The value, described.
    fn described(self) -> Value;
}

/// What captured arrays are made of: plain scalars, complex numbers, and arrays of them.
#[diagnostic::on_unimplemented(message = "a kernel cannot capture arrays of `{Self}`", label = "no number or `bool`")]
pub trait PlainEntry: PlainValue + Copy + std::fmt::Debug + Send + Sync + 'static {}

impl<T: PlainEntry, const N: usize> PlainEntry for [T; N] {}

impl<T: PlainScalar> CapturedParam for Plain<T> {
    fn describe(&self, list: &mut Captures) {
        list.list.push(CapturedValue::Scalar(self.0.described()));
    }
    fn is(&self, described: &CapturedValue) -> bool {
        matches!(described, CapturedValue::Scalar(known) if same_bits(known, &self.0.described()))
    }
}

impl<T: PlainScalar> Captured for Plain<T> {
    type Value = T;
    #[inline(always)]
    fn value(&self) -> T {
        self.0
    }
}

impl<T: PlainEntry, const N: usize> Capture for [T; N] {
    type Held = Plain<[T; N]>;
    #[inline(always)]
    fn hold(&self) -> Plain<[T; N]> {
        Plain::of(*self)
    }
}

impl<T: PlainEntry, const N: usize> CapturedParam for Plain<[T; N]> {
    fn describe(&self, list: &mut Captures) {
        describe_whole(self, list);
    }
    fn is(&self, described: &CapturedValue) -> bool {
        is_whole(self, described)
    }
}

impl<T: PlainEntry, const N: usize> Captured for Plain<[T; N]> {
    type Value = [T; N];
    #[inline(always)]
    fn value(&self) -> [T; N] {
        self.plain()
    }
}

impl<T: Copy> Plain<T> {
    /// Holds a value.
    #[inline(always)]
    pub(crate) fn of(value: T) -> Plain<T> {
        Plain(value)
    }

    /// The value.
    #[inline(always)]
    pub(crate) fn plain(&self) -> T {
        self.0
    }
}

/// Adds the description of a value of several scalars.
pub(crate) fn describe_whole<T: PlainValue>(held: &Plain<T>, list: &mut Captures) {
    let mut values = Vec::with_capacity(T::TYPE.components());
    held.0.values(&mut |value| values.push(value));
    list.list.push(CapturedValue::Array(T::TYPE, values.into()));
}

/// Whether a description is of this value of several scalars.
pub(crate) fn is_whole<T: PlainValue>(held: &Plain<T>, described: &CapturedValue) -> bool {
    let CapturedValue::Array(ty, known) = described else { return false };
    let (mut known, mut same) = (known.iter(), *ty == T::TYPE);
    held.0.values(&mut |value| same &= known.next().is_some_and(|known| same_bits(known, &value)));
    same && known.next().is_none()
}

macro_rules! plain {
    (() $($t:ident $variant:ident)*) => {$(
        impl Capture for $t {
            type Held = Plain<$t>;
            #[inline(always)]
            fn hold(&self) -> Plain<$t> { Plain(*self) }
        }
        // SAFETY: it is its only component.
        unsafe impl PlainValue for $t {
            const TYPE: ElementType = ElementType::Scalar(ScalarType::$variant);
            fn values(&self, to: &mut Values<'_>) { to(self.described()); }
        }
        impl PlainEntry for $t {}
        impl PlainScalar for $t {
            #[inline]
            fn described(self) -> Value {
                // `isize` and `usize` are of 64 bits.
                Value::$variant(self as _)
            }
        }
    )*};
}

each_scalar!(all plain!());
plain! { () isize I64 usize U64 }

/// Most bytes of a captured value that need no memory of their own.
pub(super) const CAPTURE: usize = 64;

/// The bytes of a captured value as a kernel is given them.
pub(crate) fn capture_bytes(capture: &CapturedValue) -> SmallVec<[u8; CAPTURE]> {
    let mut bytes = SmallVec::new();
    match capture {
        CapturedValue::Scalar(v) => push_bits(v.ty(), v.bits(), &mut bytes),
        CapturedValue::Array(_, values) => values.iter().for_each(|v| push_bits(v.ty(), v.bits(), &mut bytes)),
        CapturedValue::Deferred(later) => push_bits(later.ty, later.bits.bits(), &mut bytes),
    }
    bytes
}

/// Captured integers, and around those of arrays; then the entries that the analysis knows the places of.
pub(crate) fn integers(analysis: &Analysis, captures: &Captures) -> SmallVec<[Option<Interval>; 8]> {
    let of = |capture: &CapturedValue| match capture {
        CapturedValue::Scalar(value) => integer(*value).map(Interval::point),
        CapturedValue::Array(of, values) if of.innermost().is_some_and(ScalarType::is_int) => {
            let known = values.iter().all(|value| integer(*value).is_some());
            Interval::around(values.iter().filter_map(|value| integer(*value))).filter(|_| known)
        }
        CapturedValue::Array(..) | CapturedValue::Deferred(_) => None,
    };
    let entry = |(capture, place): &(u32, u32)| match captures.list.get(*capture as usize)? {
        CapturedValue::Array(_, values) => integer(*values.get(*place as usize)?).map(Interval::point),
        CapturedValue::Scalar(_) | CapturedValue::Deferred(_) => None,
    };
    let mut all: SmallVec<[Option<Interval>; 8]> = captures.list.iter().map(of).collect();
    if !analysis.entries.is_empty() {
        // They are counted after all that the kernel captures.
        all.resize(analysis.captures, None);
        all.extend(analysis.entries.iter().map(entry));
    }
    all
}

/// A captured integer that fits an `i64`.
fn integer(value: Value) -> Option<i64> {
    value.integer()?.try_into().ok()
}

/// A scalar's bits as it is stored.
pub(crate) fn push_bits(ty: ScalarType, bits: u64, out: &mut impl Extend<u8>) {
    match ty.size() {
        1 => out.extend([bits as u8]),
        2 => out.extend((bits as u16).to_ne_bytes()),
        4 => out.extend((bits as u32).to_ne_bytes()),
        _ => out.extend(bits.to_ne_bytes()),
    }
}
