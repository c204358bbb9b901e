//! Names that C takes: the user's own where they can be kept.

use std::collections::HashSet;

/// Names in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    used: HashSet<String>,
}

/// What must not be the name of a variable, a function or a type: words of C, C++, CUDA and OpenCL, functions that
/// emitted text calls, and macros that compilers define.
const RESERVED: &str = "\
    alignas alignof and and_eq asm atomic_cancel auto bitand bitor bool break case catch char class compl concept \
    const const_cast constexpr continue co_await co_return co_yield decltype default delete do double dynamic_cast else \
    enum explicit export extern false final float for friend goto if import inline int long module mutable namespace \
    new noexcept not not_eq nullptr operator or or_eq override private protected public register reinterpret_cast \
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this \
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor \
    xor_eq kernel global local constant generic read_only write_only read_write uniform pipe half uchar ushort uint \
    ulong size_t ptrdiff_t intptr_t uintptr_t image2d_t image3d_t sampler_t event_t queue_t quad complex imaginary \
    i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 unit Geometry Fault Partial TensorMap box fault threadIdx blockIdx blockDim gridDim warpSize dim3 \
    get_global_id get_local_id get_group_id barrier atomicCAS atomic_cmpxchg popcount clz as_float as_double as_uint \
    as_ulong sqrt floor ceil round trunc fabs copysign fma fmod fmin fmax isnan isinf isfinite sin cos tan asin acos \
    atan atan2 sinh cosh tanh exp exp2 expm1 log log1p log2 log10 pow cbrt hypot linux unix NULL NAN INFINITY \
    HUGE_VAL HUGE_VALF MAXFLOAT CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX INT_MIN LONG_MAX LONG_MIN SCHAR_MAX SCHAR_MIN \
    SHRT_MAX SHRT_MIN UCHAR_MAX UINT_MAX ULONG_MAX USHRT_MAX FLT_DIG FLT_EPSILON FLT_MANT_DIG FLT_MAX FLT_MAX_10_EXP \
    FLT_MAX_EXP FLT_MIN FLT_MIN_10_EXP FLT_MIN_EXP FLT_RADIX DBL_DIG DBL_EPSILON DBL_MANT_DIG DBL_MAX DBL_MAX_10_EXP \
    DBL_MAX_EXP DBL_MIN DBL_MIN_10_EXP DBL_MIN_EXP M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI \
    M_2_SQRTPI M_SQRT2 M_SQRT1_2";

impl Names {
    pub fn new() -> Names {
        Names { used: RESERVED.split_whitespace().map(str::to_owned).collect() }
    }

    /// The name as C takes it, or one like it that nothing else has.
    pub fn fresh(&mut self, name: &str) -> String {
        let plain = legal(name);
        let mut chosen = plain.clone();
        let mut n = 2;
        while self.used.contains(&chosen) {
            chosen = format!("{plain}_{n}");
            n += 1;
        }
        self.used.insert(chosen.clone());
        chosen
    }
}

/// A C identifier like `name`: `self.alpha` is `self_alpha`.
pub(super) fn legal(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name).trim_start_matches('_');
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c),
            c if c.is_ascii() => {
                if !out.ends_with('_') {
                    out.push('_');
                }
            }
            c => out.push_str(&format!("u{:x}", c as u32)),
        }
    }
    let out = out.trim_matches('_');
    let starts_well = out.starts_with(|c: char| c.is_ascii_alphabetic());
    match out {
        "" => "unnamed".into(),
        // Helpers have this prefix, and vector types look like `x86`: what starts with a digit is no name.
        _ if out.starts_with("tida_") || !starts_well => format!("my_{out}"),
        _ => out.into(),
    }
}
