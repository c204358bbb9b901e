//! One compiled form of each loop per instruction set, chosen at run time.
//!
//! A kernel and its row loop inline into a function that may use the instruction set, so that the loop vectorises for
//! it without any compiler flag of the user's. Wider vectors never change a bit: Rust contracts nothing.
//!
//! Which forms there are is chosen when tida is built, by its features.
//!
//! The function takes the memory that is written as `&mut` slices: the compiler then knows that no store changes what
//! the loop reads, and vectorises without comparing addresses in each row.

/// Written arguments whose memory a run can have to itself.
pub(crate) const EXCLUSIVE: usize = 4;

/// Memory of the first arguments that a run writes and no one else touches meanwhile; empty where there is none.
pub(crate) type Exclusive<'a> = [&'a mut [u8]; EXCLUSIVE];

/// Where that memory starts; null where there is none.
pub(crate) type Starts = [*mut u8; EXCLUSIVE];

/// Runs a closure compiled for the widest vectors there are. It should be `#[inline(always)]`.
#[inline]
pub(crate) fn vectorised<T>(f: impl FnOnce() -> T) -> T {
    vectorised_writing(
        [&mut [], &mut [], &mut [], &mut []],
        #[inline(always)]
        |_| f(),
    )
}

/// As [`vectorised`], with memory that the closure alone writes. It must reach that memory by the addresses it is
/// given.
#[inline]
pub(crate) fn vectorised_writing<T>(memory: Exclusive<'_>, f: impl FnOnce(Starts) -> T) -> T {
    let [a, b, c, d] = memory;
    #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
    if has_avx512() {
        // SAFETY: every feature named was just found.
        return unsafe { with_avx512(f, a, b, c, d) };
    }
    #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
    if has_avx2() {
        // SAFETY: every feature named was just found.
        return unsafe { with_avx2(f, a, b, c, d) };
    }
    with_any(f, a, b, c, d)
}

/// The features of [`with_avx512`].
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
#[inline]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && has_avx2()
}

/// The features of [`with_avx2`].
#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
#[inline]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
}

/// Whether vectors of [`vectorised`] can store some of their values alone.
pub(crate) fn stores_some() -> bool {
    #[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
    return has_avx2();
    #[cfg(not(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512"))))]
    false
}

/// The name of the vectors that [`vectorised`] runs with.
pub(crate) fn widest_vectors() -> &'static str {
    #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
    if has_avx512() {
        return "AVX-512";
    }
    #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
    if has_avx2() {
        return "AVX2";
    }
    match std::env::consts::ARCH {
        "x86_64" => "SSE2",
        "aarch64" => "NEON",
        other => other,
    }
}

#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
macro_rules! forms {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        /// # Safety
        /// The processor has the features named.
        $(#[$attribute])*
        #[inline(never)]
        #[allow(unused_unsafe, clippy::missing_safety_doc)]
        unsafe fn $name<T>(
            f: impl FnOnce(Starts) -> T,
            a: &mut [u8],
            b: &mut [u8],
            c: &mut [u8],
            d: &mut [u8],
        ) -> T {
            f([start(a), start(b), start(c), start(d)])
        }
    )*};
}

#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
forms! {
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,bmi2")]
    with_avx512;
}

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
forms! {
    #[target_feature(enable = "avx2,fma,bmi2")]
    with_avx2;
}

/// With the instructions that every processor of the target has.
#[inline(never)]
fn with_any<T>(f: impl FnOnce(Starts) -> T, a: &mut [u8], b: &mut [u8], c: &mut [u8], d: &mut [u8]) -> T {
    f([start(a), start(b), start(c), start(d)])
}

#[inline(always)]
fn start(memory: &mut [u8]) -> *mut u8 {
    if memory.is_empty() { std::ptr::null_mut() } else { memory.as_mut_ptr() }
}
