//! What each scalar operation means, on every backend.
//!
//! The native form of a kernel calls these functions, the interpreter calls them too, and the emitted sources spell
//! them out. Integers wrap, shifts mask, casts from floats saturate; division by zero and `MIN / -1` raise a
//! [`Fault`] and give 0 and `MIN`. `min`, `max`, `clamp`, `signum`, `powi` and `%` have one definition here.

use crate::each_scalar;
use crate::element::ScalarType;

macro_rules! value {
    (() $($t:ident $variant:ident)*) => {
        /// One scalar value with its type.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Value {
            $($variant($t),)*
        }

        impl Value {
            /// The type of the value.
            pub fn ty(self) -> ScalarType {
                match self { $(Value::$variant(_) => ScalarType::$variant,)* }
            }
        }
    };
}

macro_rules! integer_of {
    (($value:expr) $($t:ident $variant:ident)*) => {
        match $value {
            $(Value::$variant(v) => Some(i128::from(v)),)*
            Value::Bool(_) | Value::F32(_) | Value::F64(_) => None,
        }
    };
}

macro_rules! integer_of_bits {
    (($ty:expr, $bits:expr) $($t:ident $variant:ident)*) => {
        match $ty {
            ScalarType::Bool => Value::Bool($bits & 1 != 0),
            ScalarType::F32 => Value::F32(f32::from_bits($bits as u32)),
            ScalarType::F64 => Value::F64(f64::from_bits($bits)),
            $(ScalarType::$variant => Value::$variant($bits as $t),)*
        }
    };
}

each_scalar!(all value!());

impl Value {
    /// The number that an integer is.
    pub fn integer(self) -> Option<i128> {
        each_scalar!(integers integer_of!(self))
    }

    /// The bits of the value, zero-extended.
    pub fn bits(self) -> u64 {
        let bits = match self {
            Value::Bool(v) => v.into(),
            Value::F32(v) => v.to_bits().into(),
            Value::F64(v) => v.to_bits(),
            integer => integer.integer().unwrap_or_default() as u64,
        };
        bits & (u64::MAX >> (64 - 8 * self.ty().size()))
    }

    /// The value of a type from its bits.
    pub fn from_bits(ty: ScalarType, bits: u64) -> Value {
        each_scalar!(integers integer_of_bits!(ty, bits))
    }
}

/// A run-time error of a cell. The first one of a launch is kept; the launch's results are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An integer was divided by zero, or `MIN` by -1.
    Division,
    /// An entry of a fixed-size array or an element outside it.
    Entry {
        /// The index.
        index: u64,
        /// Number of entries.
        len: u64,
    },
    /// A read of an argument outside what it holds.
    OutOfRange {
        /// Argument number.
        arg: u32,
        /// The cell asked for; axes past the argument's rank are 0.
        index: [i64; 4],
    },
}

pub mod fault {
    //! The first fault of the thread's current launch.
    //!
    //! Kept per thread, so that the hot path of a kernel carries nothing: whoever runs cells takes it afterwards.

    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static FIRST: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Keeps `fault` if it is the first since [`take`].
    #[cold]
    #[inline(never)]
    pub fn raise(fault: Fault) {
        FIRST.with(|first| {
            if first.get().is_none() {
                first.set(Some(fault));
            }
        });
    }

    /// Whether something was raised on this thread since it was taken.
    #[inline]
    pub fn is_raised() -> bool {
        FIRST.with(|first| first.get().is_some())
    }

    /// Takes what was raised on this thread since the last call.
    pub fn take() -> Option<Fault> {
        FIRST.with(|first| first.take())
    }
}

mod cast;
pub mod eval;
pub mod ops;
mod turns;
