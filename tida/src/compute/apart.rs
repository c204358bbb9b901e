//! Two reads between which each cell chooses, kept apart.
//!
//! Of `if solid[at] == 1 { u[at] } else { u[at + [0, 1]] }` the compiler makes one read, whose address each cell
//! chooses. Vectors of that are gathers; where the machine has none, or they are slow, there are no vectors. So one of
//! the two values goes through an operation that changes nothing, which the compiler does not know: then the two stay
//! two, and vectors of them are reads with masks. A cell reads what it read before, and nothing else.

use std::any::Any;
use std::hint::black_box;

/// What [`apart`] takes. The compiler does not know that it is 0.
#[inline(always)]
pub fn nothing() -> u64 {
    black_box(0)
}

/// The value: each number in the way that the compiler can make vectors of.
#[inline(always)]
pub fn apart<T: Copy + 'static>(mut value: T, nothing: u64) -> T {
    macro_rules! integers {
        ($any:ident: $($t:ident)*) => {$(
            if let Some(number) = $any.downcast_mut::<$t>() {
                *number ^= nothing as $t;
            }
        )*};
    }
    let any: &mut dyn Any = &mut value;
    if let Some(number) = any.downcast_mut::<f64>() {
        *number = f64::from_bits(number.to_bits() ^ nothing);
    } else if let Some(number) = any.downcast_mut::<f32>() {
        *number = f32::from_bits(number.to_bits() ^ nothing as u32);
    }
    integers!(any: i8 i16 i32 i64 u8 u16 u32 u64);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_what_they_are() {
        let nothing = nothing();
        assert_eq!(apart(-0.0f64, nothing).to_bits(), (-0.0f64).to_bits());
        assert_eq!(apart(f64::from_bits(0x7ff4_0000_0000_0001), nothing).to_bits(), 0x7ff4_0000_0000_0001);
        assert_eq!(apart(f32::from_bits(0x7fa0_0001), nothing).to_bits(), 0x7fa0_0001);
        assert_eq!((apart(-3i8, nothing), apart(u64::MAX, nothing), apart(-7i32, nothing)), (-3, u64::MAX, -7));
        assert_eq!((apart(true, nothing), apart([1.5f64, 2.0], nothing)), (true, [1.5, 2.0]));
        // Another number would change them.
        assert_ne!((apart(1.0f64, 1), apart(1u8, 1)), (1.0, 1));
    }
}
