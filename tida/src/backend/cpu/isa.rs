//! One compiled form of each loop per instruction set, chosen at run time.
//!
//! A kernel and its row loop inline into a function that may use the instruction set, so that the loop vectorises for
//! it without any compiler flag of the user's. Wider vectors never change a bit: Rust contracts nothing.

/// Runs a closure compiled for the widest vectors there are. It should be `#[inline(always)]`.
#[inline]
pub(crate) fn vectorised<T>(f: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2")
        {
            // SAFETY: every feature named was just found.
            return unsafe { with_avx512(f) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2") {
            // SAFETY: every feature named was just found.
            return unsafe { with_avx2(f) };
        }
    }
    f()
}

/// # Safety
/// The processor has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,bmi2")]
unsafe fn with_avx512<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// # Safety
/// The processor has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn with_avx2<T>(f: impl FnOnce() -> T) -> T {
    f()
}
