//! A scalar that recorded work will give.

use std::sync::{Arc, OnceLock, Weak};

use super::reduce::Reducible;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::launch::capture::{Capture, Captured, CapturedParam, CapturedValue, Captures, Deferred, LaterBits};
use crate::memory::node::Node;
use crate::record::driver::Core;

/// The result of [`reduce_later`](super::reduce_later): a value that is not there yet. Later kernels capture it by
/// name, as they would a number, and the host can wait for it.
///
/// A kernel on another accelerator may capture it too. Recording that kernel then waits for the value.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).build_slice(&acc, &[1.0, 2.0, 3.0, 6.0])?;
/// let sum: Scalar<f64> = reduce_later(&u, Sum, kernel!(|u, at| u[at]))?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] / sum))?; // nobody waits
/// }
/// assert_eq!(u.read_box(u.domain())?[3], 0.5);
/// assert_eq!((sum.get()?, sum.try_get()), (12.0, Some(12.0)));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Scalar<T> {
    acc: TileAcc,
    node: Arc<Node>,
    value: Arc<OnceLock<T>>,
}

impl<T: Copy> Scalar<T> {
    pub(crate) fn new(acc: TileAcc, node: Arc<Node>, value: Arc<OnceLock<T>>) -> Self {
        Scalar { acc, node, value }
    }

    /// Waits for the value, and gives it.
    ///
    /// # Errors
    /// The failure of the reduction, or of work that it depends on.
    #[track_caller]
    pub fn get(&self) -> Result<T, Error> {
        self.acc.wait_node(&self.node)?;
        self.value.get().copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Panic,
                "get a value of `reduce_later`",
                "no value",
                "report this as a bug of tida: a reduction gave nothing",
            )
        })
    }

    /// The value, if it is there already.
    pub fn try_get(&self) -> Option<T> {
        self.value.get().copied()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Scalar<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Scalar").field(&self.value.get()).finish()
    }
}

/// What a kernel holds of a deferred scalar.
#[derive(Debug)]
pub struct Later<T> {
    home: Weak<Core>,
    node: Arc<Node>,
    value: Arc<OnceLock<T>>,
}

impl<T> Clone for Later<T> {
    fn clone(&self) -> Self {
        Later { home: self.home.clone(), node: self.node.clone(), value: self.value.clone() }
    }
}

impl<T: crate::memory::element::ScalarElement> LaterBits for OnceLock<T> {
    fn bits(&self) -> u64 {
        self.get().map_or(0, |value| crate::memory::element::ScalarElement::bits(*value))
    }
}

impl<T: Reducible> Capture for Scalar<T> {
    type Held = Later<T>;
    fn hold(&self) -> Later<T> {
        let home = Arc::downgrade(self.acc.core());
        Later { home, node: self.node.clone(), value: self.value.clone() }
    }
}

impl<T: Reducible> CapturedParam for Later<T> {
    fn describe(&self, list: &mut Captures) {
        list.list.push(CapturedValue::Deferred(Deferred {
            ty: T::SCALAR,
            node: self.node.clone(),
            bits: self.value.clone(),
            home: self.home.clone(),
        }));
    }
    fn is(&self, described: &CapturedValue) -> bool {
        let CapturedValue::Deferred(known) = described else { return false };
        known.ty == T::SCALAR && Arc::ptr_eq(&known.node, &self.node)
    }
}

impl<T: Reducible> Captured for Later<T> {
    type Value = T;
    /// A kernel runs after the reduction, and not at all if that failed: the value is there.
    fn value(&self) -> T {
        self.value.get().copied().unwrap_or(T::ZERO)
    }
}
