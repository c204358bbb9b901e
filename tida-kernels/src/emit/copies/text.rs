//! The kernel that copies boxes, as text.

use super::{CopySource, Kind, UNITS, VALUES};
use crate::element::ScalarType;
use crate::plan::Dialect;

/// The kernel that copies boxes of values, or of codes, which ghosts are computed from as the values that they stand
/// for.
pub fn copies(dialect: Dialect, kind: &Kind) -> CopySource {
    let scalar = kind.scalar();
    let head = match dialect {
        Dialect::Cuda => CUDA,
        Dialect::OpenCl => OPENCL,
    };
    let word = match scalar.size() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    };
    let computed = match (scalar, dialect) {
        (ScalarType::F32, Dialect::Cuda) => CUDA_F32,
        (ScalarType::F64, Dialect::Cuda) => CUDA_F64,
        (ScalarType::F32, Dialect::OpenCl) => OPENCL_F32,
        (ScalarType::F64, Dialect::OpenCl) => OPENCL_F64,
        _ => INTEGER,
    };
    let computed = match kind {
        Kind::Scalar(_) => computed.to_owned(),
        Kind::Codes(codec) => super::super::codecs::computed(dialect, codec, false),
        Kind::Rounded(codec) => super::super::codecs::computed(dialect, codec, true),
    };
    let sizes = format!("#define UNITS {UNITS}\n#define VALUES {VALUES}\n");
    CopySource { text: format!("{head}{sizes}typedef {word} Word;\n{computed}{BODY}"), entry: "tida_copies" }
}

const CUDA: &str = r#"// Copies of boxes. The memory written and the memory read may be the same.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef ulonglong2 u64x2;
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define INLINE __device__ __forceinline__
#define GLOBAL
#define RESTRICT __restrict__
#define BLOCK blockIdx.x
#define THREAD threadIdx.x
#define HIGH(a, b) __umulhi(a, b)
"#;

const OPENCL: &str = r#"// Copies of boxes. The memory written and the memory read may be the same.
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef long i64;
typedef ulong2 u64x2;
#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
#define INLINE static inline
#define GLOBAL __global
#define RESTRICT restrict
#define BLOCK get_group_id(0)
#define THREAD get_local_id(0)
#define HIGH(a, b) mul_hi(a, b)
"#;

/// Two's complement: the same for signed and unsigned. The product is wide, since short ones would have a sign.
const INTEGER: &str = "
INLINE Word negated(Word a) { return (Word)(0 - a); }
INLINE Word line(Word near, Word far, i64 distance) {
    return (Word)(near + (Word)((u64)distance * (Word)(near - far)));
}
";

/// No contraction, whatever the compiler is told.
const CUDA_F32: &str = "
INLINE Word negated(Word a) { return a ^ 0x80000000u; }
INLINE Word line(Word near, Word far, i64 distance) {
    float a = __uint_as_float(near), b = __uint_as_float(far);
    return __float_as_uint(__fadd_rn(a, __fmul_rn((float)distance, __fsub_rn(a, b))));
}
";

const CUDA_F64: &str = "
INLINE Word negated(Word a) { return a ^ 0x8000000000000000ull; }
INLINE Word line(Word near, Word far, i64 distance) {
    double a = __longlong_as_double(near), b = __longlong_as_double(far);
    return __double_as_longlong(__dadd_rn(a, __dmul_rn((double)distance, __dsub_rn(a, b))));
}
";

const OPENCL_F32: &str = "#pragma OPENCL FP_CONTRACT OFF

INLINE Word negated(Word a) { return a ^ 0x80000000u; }
INLINE Word line(Word near, Word far, i64 distance) {
    float a = as_float(near), b = as_float(far);
    float product = (float)distance * (a - b);
    return as_uint(a + product);
}
";

const OPENCL_F64: &str = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

INLINE Word negated(Word a) { return a ^ 0x8000000000000000ul; }
INLINE Word line(Word near, Word far, i64 distance) {
    double a = as_double(near), b = as_double(far);
    double product = (double)distance * (a - b);
    return as_ulong(a + product);
}
";

/// Reads all of a thread's units before it writes the first, so that the reads are under way together.
const BODY: &str = "
enum { BOX, NEGATED, LINE, CONSTANT, WIDE };

typedef struct {                    // 96 bytes, in words that one load takes
    u64x2 first;                    // positions of the first unit written, and of the first one read
    uint4 shape;                    // what is done, and two shifts; units; units of a row; rows of a plane
    uint4 to_step, from_step;       // from a plane, a row, a unit to the next; w: how to divide by the row, by the plane
    u64x2 line;                     // position of a line's far source; a constant's bits, or a line's distance
    uint4 far_step;
} Piece;

// n / d for n < 2^31
INLINE u32 quotient(u32 n, u32 inverse, u32 shift) { return inverse ? HIGH(n, inverse) >> shift : n; }

// Plane, row, and place in the row of the unit with number n.
INLINE uint4 place_of(u32 n, uint4 shape, u32 by_row, u32 by_plane) {
    u32 row = quotient(n, by_row, shape.x >> 8 & 31);
    uint4 at;
    at.x = quotient(row, by_plane, shape.x >> 16);
    at.y = row - at.x * shape.w;
    at.z = n - row * shape.z;
    at.w = 0;
    return at;
}

INLINE u32 along(uint4 step, uint4 at) { return at.x * step.x + at.y * step.y + at.z * step.z; }

// Each warp does one piece of the table.
KERNEL tida_copies(GLOBAL Word *to, GLOBAL const Word *from, GLOBAL const Piece *RESTRICT table, u32 pieces) {
    u32 number = (u32)BLOCK * 8 + ((u32)THREAD >> 5), lane = (u32)THREAD & 31;
    if (number >= pieces) return;
    GLOBAL const Piece *RESTRICT piece = table + number;
    u64x2 first = piece->first;
    uint4 shape = piece->shape, to_step = piece->to_step, from_step = piece->from_step;
    u32 units = shape.y, mode = shape.x & 255;
    if (mode == WIDE) {
        // Whole rows of units side by side. Behind the end the last unit is read again.
        GLOBAL uint4 *target = (GLOBAL uint4 *)to + first.x;
        GLOBAL const uint4 *source = (GLOBAL const uint4 *)from + first.y;
        u32 to_gap = to_step.y - shape.z, from_gap = from_step.y - shape.z;
        for (u32 start = lane; start < units; start += UNITS * 32) {
            uint4 words[UNITS];
            u32 rows[UNITS];
#pragma unroll
            for (u32 k = 0; k < UNITS; k++) {
                u32 n = start + k * 32 < units ? start + k * 32 : units - 1;
                rows[k] = HIGH(n, to_step.w) >> (shape.x >> 8 & 31);
                words[k] = source[n + rows[k] * from_gap];
            }
#pragma unroll
            for (u32 k = 0; k < UNITS; k++) {
                u32 n = start + k * 32;
                if (n < units) target[n + rows[k] * to_gap] = words[k];
            }
        }
        return;
    }
    u64x2 further = piece->line;
    uint4 far_step = piece->far_step;
    for (u32 start = lane; start < units; start += VALUES * 32) {
        Word words[VALUES];
        u32 targets[VALUES];
#pragma unroll
        for (u32 k = 0; k < VALUES; k++) {
            u32 n = start + k * 32 < units ? start + k * 32 : units - 1;
            uint4 at = place_of(n, shape, to_step.w, from_step.w);
            targets[k] = along(to_step, at);
            words[k] = mode == CONSTANT ? (Word)further.y : from[first.y + along(from_step, at)];
        }
        if (mode == NEGATED) {
#pragma unroll
            for (u32 k = 0; k < VALUES; k++) words[k] = negated(words[k]);
        }
        if (mode == LINE) {
#pragma unroll
            for (u32 k = 0; k < VALUES; k++) {
                u32 n = start + k * 32 < units ? start + k * 32 : units - 1;
                uint4 at = place_of(n, shape, to_step.w, from_step.w);
                words[k] = line(words[k], from[further.x + along(far_step, at)], (i64)further.y);
            }
        }
#pragma unroll
        for (u32 k = 0; k < VALUES; k++) {
            if (start + k * 32 < units) to[first.x + targets[k]] = words[k];
        }
    }
}
";
