//! What each scalar operation means, on every backend.
//!
//! The native form of a kernel calls these functions, the interpreter calls them too, and the emitted sources spell
//! them out. Integers wrap, shifts mask, casts from floats saturate; division by zero and `MIN / -1` raise a
//! [`Fault`] and give 0 and `MIN`. `min`, `max`, `clamp`, `signum`, `powi` and `%` have one definition here.

use crate::element::ScalarType;

/// One scalar value with its type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Bool(bool),
    U8(u8),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    U16(u16),
}

impl Value {
    /// The type of the value.
    pub fn ty(self) -> ScalarType {
        match self {
            Value::Bool(_) => ScalarType::Bool,
            Value::U8(_) => ScalarType::U8,
            Value::I32(_) => ScalarType::I32,
            Value::U32(_) => ScalarType::U32,
            Value::I64(_) => ScalarType::I64,
            Value::U64(_) => ScalarType::U64,
            Value::F32(_) => ScalarType::F32,
            Value::F64(_) => ScalarType::F64,
            Value::U16(_) => ScalarType::U16,
        }
    }

    /// The bits of the value, zero-extended.
    pub fn bits(self) -> u64 {
        match self {
            Value::Bool(v) => v as u64,
            Value::U8(v) => v as u64,
            Value::I32(v) => v as u32 as u64,
            Value::U32(v) => v as u64,
            Value::I64(v) => v as u64,
            Value::U64(v) => v,
            Value::F32(v) => v.to_bits() as u64,
            Value::F64(v) => v.to_bits(),
            Value::U16(v) => v as u64,
        }
    }

    /// The value of a type from its bits.
    pub fn from_bits(ty: ScalarType, bits: u64) -> Value {
        match ty {
            ScalarType::Bool => Value::Bool(bits & 1 != 0),
            ScalarType::U8 => Value::U8(bits as u8),
            ScalarType::I32 => Value::I32(bits as i32),
            ScalarType::U32 => Value::U32(bits as u32),
            ScalarType::I64 => Value::I64(bits as i64),
            ScalarType::U64 => Value::U64(bits),
            ScalarType::F32 => Value::F32(f32::from_bits(bits as u32)),
            ScalarType::F64 => Value::F64(f64::from_bits(bits)),
            ScalarType::U16 => Value::U16(bits as u16),
        }
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
