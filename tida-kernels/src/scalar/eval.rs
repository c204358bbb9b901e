//! The operations on [`Value`]s: the functions of `ops`, chosen by type.
//!
//! Total: operands of types that an operation does not have give the first operand (or `false`), which typing rules
//! out.

use super::{Value, ops};
use crate::element::ScalarType;
use crate::quote::{BinaryOp, CompareOp, Method, UnaryOp};

/// Gives `$value` for a number, with `$variant` and the value bound.
macro_rules! on {
    (numbers $v:expr, $a:ident => $r:expr, else $e:expr) => {
        match $v {
            Value::U8($a) => Value::U8($r),
            Value::I32($a) => Value::I32($r),
            Value::U32($a) => Value::U32($r),
            Value::I64($a) => Value::I64($r),
            Value::U64($a) => Value::U64($r),
            Value::F32($a) => Value::F32($r),
            Value::F64($a) => Value::F64($r),
            _ => $e,
        }
    };
    (numbers2 $v:expr, $w:expr, $a:ident $b:ident => $r:expr, else $e:expr) => {
        match ($v, $w) {
            (Value::U8($a), Value::U8($b)) => Value::U8($r),
            (Value::I32($a), Value::I32($b)) => Value::I32($r),
            (Value::U32($a), Value::U32($b)) => Value::U32($r),
            (Value::I64($a), Value::I64($b)) => Value::I64($r),
            (Value::U64($a), Value::U64($b)) => Value::U64($r),
            (Value::F32($a), Value::F32($b)) => Value::F32($r),
            (Value::F64($a), Value::F64($b)) => Value::F64($r),
            _ => $e,
        }
    };
    (bits $v:expr, $a:ident => $r:expr, else $e:expr) => {
        match $v {
            Value::Bool($a) => Value::Bool($r),
            Value::U8($a) => Value::U8($r),
            Value::I32($a) => Value::I32($r),
            Value::U32($a) => Value::U32($r),
            Value::I64($a) => Value::I64($r),
            Value::U64($a) => Value::U64($r),
            _ => $e,
        }
    };
    (bits2 $v:expr, $w:expr, $a:ident $b:ident => $r:expr, else $e:expr) => {
        match ($v, $w) {
            (Value::Bool($a), Value::Bool($b)) => Value::Bool($r),
            (Value::U8($a), Value::U8($b)) => Value::U8($r),
            (Value::I32($a), Value::I32($b)) => Value::I32($r),
            (Value::U32($a), Value::U32($b)) => Value::U32($r),
            (Value::I64($a), Value::I64($b)) => Value::I64($r),
            (Value::U64($a), Value::U64($b)) => Value::U64($r),
            _ => $e,
        }
    };
    (ints $v:expr, $a:ident => $r:expr, else $e:expr) => {
        match $v {
            Value::U8($a) => Value::U8($r),
            Value::I32($a) => Value::I32($r),
            Value::U32($a) => Value::U32($r),
            Value::I64($a) => Value::I64($r),
            Value::U64($a) => Value::U64($r),
            _ => $e,
        }
    };
    (ints2 $v:expr, $w:expr, $a:ident $b:ident => $r:expr, else $e:expr) => {
        match ($v, $w) {
            (Value::U8($a), Value::U8($b)) => Value::U8($r),
            (Value::I32($a), Value::I32($b)) => Value::I32($r),
            (Value::U32($a), Value::U32($b)) => Value::U32($r),
            (Value::I64($a), Value::I64($b)) => Value::I64($r),
            (Value::U64($a), Value::U64($b)) => Value::U64($r),
            _ => $e,
        }
    };
    (floats $v:expr, $a:ident => $r:expr, else $e:expr) => {
        match $v {
            Value::F32($a) => Value::F32($r),
            Value::F64($a) => Value::F64($r),
            _ => $e,
        }
    };
    (floats2 $v:expr, $w:expr, $a:ident $b:ident => $r:expr, else $e:expr) => {
        match ($v, $w) {
            (Value::F32($a), Value::F32($b)) => Value::F32($r),
            (Value::F64($a), Value::F64($b)) => Value::F64($r),
            _ => $e,
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
        BinaryOp::Add => on!(numbers2 x, y, a b => ops::add(a, b), else x),
        BinaryOp::Sub => on!(numbers2 x, y, a b => ops::sub(a, b), else x),
        BinaryOp::Mul => on!(numbers2 x, y, a b => ops::mul(a, b), else x),
        BinaryOp::Div => on!(numbers2 x, y, a b => ops::div(a, b), else x),
        BinaryOp::Rem => on!(numbers2 x, y, a b => ops::rem(a, b), else x),
        BinaryOp::BitAnd => on!(bits2 x, y, a b => ops::bitand(a, b), else x),
        BinaryOp::BitOr => on!(bits2 x, y, a b => ops::bitor(a, b), else x),
        BinaryOp::BitXor => on!(bits2 x, y, a b => ops::bitxor(a, b), else x),
        // The low 32 bits of the shift are what the masking looks at, for every type on the right.
        BinaryOp::Shl => on!(ints x, a => ops::shl(a, y.bits() as u32), else x),
        BinaryOp::Shr => on!(ints x, a => ops::shr(a, y.bits() as u32), else x),
    }
}

/// A comparison of two values of one type.
pub fn compare(op: CompareOp, x: Value, y: Value) -> bool {
    macro_rules! by {
        ($($variant:ident)*) => {
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
    by!(Bool U8 I32 U32 I64 U64 F32 F64)
}

/// `x as to`.
pub fn cast(x: Value, to: ScalarType) -> Value {
    macro_rules! from {
        ($a:expr) => {
            match to {
                ScalarType::U8 => Value::U8($a as u8),
                ScalarType::U16 => Value::U16($a as u16),
                ScalarType::I32 => Value::I32($a as i32),
                ScalarType::U32 => Value::U32($a as u32),
                ScalarType::I64 => Value::I64($a as i64),
                ScalarType::U64 => Value::U64($a as u64),
                ScalarType::F32 => Value::F32($a as f32),
                ScalarType::F64 => Value::F64($a as f64),
                ScalarType::Bool => Value::Bool(false),
            }
        };
    }
    match x {
        Value::Bool(a) if to == ScalarType::Bool => Value::Bool(a),
        Value::Bool(a) => from!(a as u8),
        Value::U8(a) => from!(a),
        Value::U16(a) => from!(a),
        Value::I32(a) => from!(a),
        Value::U32(a) => from!(a),
        Value::I64(a) => from!(a),
        Value::U64(a) => from!(a),
        Value::F32(a) => from!(a),
        Value::F64(a) => from!(a),
    }
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
            on!(floats2 x, y, a b => ops::$name(a, b), else x)
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
    macro_rules! count {
        ($name:ident) => {
            match x {
                Value::U8(a) => Value::U32(ops::$name(a)),
                Value::I32(a) => Value::U32(ops::$name(a)),
                Value::U32(a) => Value::U32(ops::$name(a)),
                Value::I64(a) => Value::U32(ops::$name(a)),
                Value::U64(a) => Value::U32(ops::$name(a)),
                _ => Value::U32(0),
            }
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
        Method::Min => on!(numbers2 x, y, a b => ops::min(a, b), else x),
        Method::Max => on!(numbers2 x, y, a b => ops::max(a, b), else x),
        Method::Clamp => clamp(x, y, z),
        Method::RemEuclid => on!(ints2 x, y, a b => ops::rem_euclid(a, b), else x),
        Method::DivEuclid => on!(ints2 x, y, a b => ops::div_euclid(a, b), else x),
        Method::WrappingAdd => on!(ints2 x, y, a b => ops::wrapping_add(a, b), else x),
        Method::WrappingSub => on!(ints2 x, y, a b => ops::wrapping_sub(a, b), else x),
        Method::WrappingMul => on!(ints2 x, y, a b => ops::wrapping_mul(a, b), else x),
        Method::Pow => on!(ints x, a => ops::pow(a, y.bits() as u32), else x),
        Method::RotateLeft => on!(ints x, a => ops::rotate_left(a, y.bits() as u32), else x),
        Method::RotateRight => on!(ints x, a => ops::rotate_right(a, y.bits() as u32), else x),
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
        ($($variant:ident)*) => {
            match (x, lo, hi) {
                $((Value::$variant(x), Value::$variant(lo), Value::$variant(hi)) => {
                    Value::$variant(ops::clamp(x, lo, hi))
                })*
                _ => x,
            }
        };
    }
    by!(U8 I32 U32 I64 U64 F32 F64)
}
