//! The operations on [`Value`]s: the functions of `ops`, chosen by type.
//!
//! Total: operands of types that an operation does not have give the first operand (or `false`), which typing rules
//! out.

use super::{Value, ops};
use crate::each_scalar;
use crate::element::ScalarType;
use crate::quote::{BinaryOp, CompareOp, Method, UnaryOp};

/// Gives the value of an operation on values of one type, if the type is of a class:
/// `on!(integers x, a => a + 1, else x)`.
macro_rules! on {
    ($class:ident $x:expr, $a:ident => $result:expr, else $other:expr) => {
        each_scalar!($class one!($x, $a, $result, $other))
    };
    ($class:ident $x:expr, $y:expr, $a:ident $b:ident => $result:expr, else $other:expr) => {
        each_scalar!($class two!(($x, $y), $a $b, $result, $other))
    };
}

macro_rules! one {
    (($x:expr, $a:ident, $result:expr, $other:expr) $($t:ident $variant:ident)*) => {
        match $x {
            $(Value::$variant($a) => Value::$variant($result),)*
            _ => $other,
        }
    };
}

macro_rules! two {
    (($both:expr, $a:ident $b:ident, $result:expr, $other:expr) $($t:ident $variant:ident)*) => {
        match $both {
            $((Value::$variant($a), Value::$variant($b)) => Value::$variant($result),)*
            _ => $other,
        }
    };
}

/// `-x`, `!x`.
pub fn unary(op: UnaryOp, x: Value) -> Value {
    match op {
        UnaryOp::Neg => on!(numbers x, a => ops::neg(a), else x),
        UnaryOp::Not => on!(bits x, a => ops::not(a), else x),
    }
}

/// An operator on two values of one type; shifts take any integer on the right.
pub fn binary(op: BinaryOp, x: Value, y: Value) -> Value {
    match op {
        BinaryOp::Add => on!(numbers x, y, a b => ops::add(a, b), else x),
        BinaryOp::Sub => on!(numbers x, y, a b => ops::sub(a, b), else x),
        BinaryOp::Mul => on!(numbers x, y, a b => ops::mul(a, b), else x),
        BinaryOp::Div => on!(numbers x, y, a b => ops::div(a, b), else x),
        BinaryOp::Rem => on!(numbers x, y, a b => ops::rem(a, b), else x),
        BinaryOp::BitAnd => on!(bits x, y, a b => ops::bitand(a, b), else x),
        BinaryOp::BitOr => on!(bits x, y, a b => ops::bitor(a, b), else x),
        BinaryOp::BitXor => on!(bits x, y, a b => ops::bitxor(a, b), else x),
        // The low 32 bits of the shift are what the masking looks at, for every type on the right.
        BinaryOp::Shl => on!(integers x, a => ops::shl(a, y.bits() as u32), else x),
        BinaryOp::Shr => on!(integers x, a => ops::shr(a, y.bits() as u32), else x),
    }
}

/// A comparison of two values of one type.
pub fn compare(op: CompareOp, x: Value, y: Value) -> bool {
    macro_rules! by {
        (() $($t:ident $variant:ident)*) => {
            match (x, y) {
                $((Value::$variant(a), Value::$variant(b)) => match op {
                    CompareOp::Eq => ops::eq(a, b),
                    CompareOp::Ne => ops::ne(a, b),
                    CompareOp::Lt => ops::lt(a, b),
                    CompareOp::Le => ops::le(a, b),
                    CompareOp::Gt => ops::gt(a, b),
                    CompareOp::Ge => ops::ge(a, b),
                },)*
                _ => false,
            }
        };
    }
    each_scalar!(all by!())
}

/// `x as to`.
pub fn cast(x: Value, to: ScalarType) -> Value {
    /// The cast of a number.
    macro_rules! to {
        (($a:expr) $($t:ident $variant:ident)*) => {
            match to {
                $(ScalarType::$variant => Value::$variant($a as $t),)*
                ScalarType::Bool => Value::Bool(false),
            }
        };
    }
    macro_rules! from {
        (() $($t:ident $variant:ident)*) => {
            match x {
                Value::Bool(a) if to == ScalarType::Bool => Value::Bool(a),
                Value::Bool(a) => each_scalar!(numbers to!(a as u8)),
                $(Value::$variant(a) => each_scalar!(numbers to!(a)),)*
            }
        };
    }
    each_scalar!(numbers from!())
}

/// `args[0].method(args[1], ..)`.
pub fn method(method: Method, args: &[Value]) -> Value {
    let missing = Value::Bool(false);
    let x = args.first().copied().unwrap_or(missing);
    let y = args.get(1).copied().unwrap_or(missing);
    let z = args.get(2).copied().unwrap_or(missing);
    macro_rules! float {
        ($name:ident) => {
            on!(floats x, a => ops::$name(a), else x)
        };
    }
    macro_rules! float2 {
        ($name:ident) => {
            on!(floats x, y, a b => ops::$name(a, b), else x)
        };
    }
    macro_rules! test {
        ($name:ident) => {
            match x {
                Value::F32(a) => Value::Bool(ops::$name(a)),
                Value::F64(a) => Value::Bool(ops::$name(a)),
                _ => missing,
            }
        };
    }
    macro_rules! counted {
        (($name:ident) $($t:ident $variant:ident)*) => {
            match x {
                $(Value::$variant(a) => Value::U32(ops::$name(a)),)*
                _ => Value::U32(0),
            }
        };
    }
    macro_rules! count {
        ($name:ident) => {
            each_scalar!(integers counted!($name))
        };
    }
    match method {
        Method::Sqrt => float!(sqrt),
        Method::Floor => float!(floor),
        Method::Ceil => float!(ceil),
        Method::Round => float!(round),
        Method::Trunc => float!(trunc),
        Method::Fract => float!(fract),
        Method::Recip => float!(recip),
        Method::Copysign => float2!(copysign),
        Method::MulAdd => match (x, y, z) {
            (Value::F32(a), Value::F32(b), Value::F32(c)) => Value::F32(ops::mul_add(a, b, c)),
            (Value::F64(a), Value::F64(b), Value::F64(c)) => Value::F64(ops::mul_add(a, b, c)),
            _ => x,
        },
        Method::Powi => {
            let n = y.bits() as i32;
            on!(floats x, a => ops::powi(a, n), else x)
        }
        Method::IsNan => test!(is_nan),
        Method::IsFinite => test!(is_finite),
        Method::IsInfinite => test!(is_infinite),
        Method::Abs => on!(numbers x, a => ops::abs(a), else x),
        Method::Signum => on!(numbers x, a => ops::signum(a), else x),
        Method::Min => on!(numbers x, y, a b => ops::min(a, b), else x),
        Method::Max => on!(numbers x, y, a b => ops::max(a, b), else x),
        Method::Clamp => clamp(x, y, z),
        Method::RemEuclid => on!(numbers x, y, a b => ops::rem_euclid(a, b), else x),
        Method::DivEuclid => on!(numbers x, y, a b => ops::div_euclid(a, b), else x),
        Method::WrappingAdd => on!(integers x, y, a b => ops::wrapping_add(a, b), else x),
        Method::WrappingSub => on!(integers x, y, a b => ops::wrapping_sub(a, b), else x),
        Method::WrappingMul => on!(integers x, y, a b => ops::wrapping_mul(a, b), else x),
        Method::WrappingNeg => on!(integers x, a => ops::wrapping_neg(a), else x),
        Method::WrappingAbs => on!(integers x, a => ops::wrapping_abs(a), else x),
        Method::WrappingShl => on!(integers x, a => ops::wrapping_shl(a, y.bits() as u32), else x),
        Method::WrappingShr => on!(integers x, a => ops::wrapping_shr(a, y.bits() as u32), else x),
        Method::Pow | Method::WrappingPow => on!(integers x, a => ops::pow(a, y.bits() as u32), else x),
        Method::RotateLeft => on!(integers x, a => ops::rotate_left(a, y.bits() as u32), else x),
        Method::RotateRight => on!(integers x, a => ops::rotate_right(a, y.bits() as u32), else x),
        Method::CountOnes => count!(count_ones),
        Method::LeadingZeros => count!(leading_zeros),
        Method::TrailingZeros => count!(trailing_zeros),
        Method::Sin => float!(sin),
        Method::Cos => float!(cos),
        Method::Tan => float!(tan),
        Method::Asin => float!(asin),
        Method::Acos => float!(acos),
        Method::Atan => float!(atan),
        Method::Atan2 => float2!(atan2),
        Method::Sinh => float!(sinh),
        Method::Cosh => float!(cosh),
        Method::Tanh => float!(tanh),
        Method::Exp => float!(exp),
        Method::Exp2 => float!(exp2),
        Method::ExpM1 => float!(exp_m1),
        Method::Ln => float!(ln),
        Method::Ln1p => float!(ln_1p),
        Method::Log2 => float!(log2),
        Method::Log10 => float!(log10),
        Method::Powf => float2!(powf),
        Method::Cbrt => float!(cbrt),
        Method::Hypot => float2!(hypot),
    }
}

fn clamp(x: Value, lo: Value, hi: Value) -> Value {
    macro_rules! by {
        (() $($t:ident $variant:ident)*) => {
            match (x, lo, hi) {
                $((Value::$variant(x), Value::$variant(lo), Value::$variant(hi)) => {
                    Value::$variant(ops::clamp(x, lo, hi))
                })*
                _ => x,
            }
        };
    }
    each_scalar!(numbers by!())
}
