//! `explain`: what tida found out about a kernel.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use tida_kernels::analysis::Analysis;
use tida_kernels::ir::Kernel;
use tida_kernels::scalar::Value;

use super::args::{Args, HeldArgs, Views};
use super::ask::Ask;
use super::capture::CapturedValue;
use super::launch::quote;
use super::prepare::{Prepared, prepare};
use super::view::{Checked, Proven};
use crate::error::Error;

/// What tida found out about a kernel: what it reads and writes and where, and its typed form. Printed with `{}`.
#[derive(Clone)]
pub struct Explanation {
    prepared: Arc<Prepared>,
    captures: Vec<Value>,
}

/// Types and analyses a kernel for these arguments, and runs nothing.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([64]).ghost(1).build(&acc)?;
/// let mut next = u.like()?;
/// let text = tida::explain((&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1]] + u[at + [1]]))?.to_string();
/// assert!(text.contains("next") && text.contains("halo"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// A kernel that cannot be typed for the arguments, or that would race.
pub fn explain<const D: usize, A, R, N>(_args: A, kernel: N) -> Result<Explanation, Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    let quoted = quote(&kernel)?;
    let prepared = prepare(&quoted, TypeId::of::<Views<A, Proven, D>>(), D, <A::Held as HeldArgs<D>>::BINDINGS, None)?;
    let mut captures = Vec::new();
    for capture in &quoted.captures.list {
        match capture {
            CapturedValue::Scalar(v) => captures.push(*v),
            CapturedValue::Array(_, values) => captures.extend(values.iter().copied()),
            CapturedValue::Deferred(ty, ..) => captures.push(Value::from_bits(*ty, 0)),
        }
    }
    Ok(Explanation { prepared, captures })
}

impl Explanation {
    /// The typed kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.prepared.kernel
    }

    /// What it reads and writes.
    pub fn analysis(&self) -> &Analysis {
        &self.prepared.analysis
    }

    /// The captured scalars, arrays one entry after the other; a deferred scalar is 0.
    pub fn captures(&self) -> &[Value] {
        &self.captures
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.prepared.analysis.report(&self.prepared.kernel))
    }
}

impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
