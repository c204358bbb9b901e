//! Kernels that pack what moves between host and device, plane by plane: values of windows into stages that are copied,
//! and back.

use super::helpers::{Helper, Helpers};
use crate::codec::Codec;
use crate::element::ScalarType;
use crate::plan::Dialect;

pub use super::sizes::link::*;

/// Codes for the link.
pub fn codes(dialect: Dialect, codec: &Codec) -> LinkSource {
    let mut helpers = Helpers::default();
    let (decode, encode) = (helpers.need(Helper::Decode(0, *codec)), helpers.need(Helper::Encode(0, *codec, false)));
    let mut text = match dialect {
        Dialect::Cuda => CUDA.to_owned(),
        Dialect::OpenCl => OPENCL.to_owned(),
    };
    if codec.value() == ScalarType::F64 {
        text += match dialect {
            Dialect::Cuda => "typedef double f64;\n",
            Dialect::OpenCl => "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double f64;\n",
        };
    }
    text += "typedef float f32;\n\n";
    for (line, _) in helpers.text(dialect).lines {
        text += &line;
        text.push('\n');
    }
    let (value, code) = (codec.value().name(), codec.code().name());
    for (name, to, from, calls) in
        [(PACK, "stage[s + n]", "values[v + n]", &encode), (UNPACK, "values[v + n]", "stage[s + n]", &decode)]
    {
        text += &format!(
            "\nKERNEL {name}(GLOBAL {value} *values, GLOBAL {code} *stage, i64 first, i64 step, i64 stage_first, i64 stage_step, \
             u32 count) {{\n    \
             const i64 v = first + PLANE * step, s = stage_first + PLANE * stage_step;\n    \
             const u32 start = BLOCK * {BLOCK_CODES}u + THREAD, end = start + {BLOCK_CODES}u < count ? start + {BLOCK_CODES}u : count;\n    \
             for (u32 n = start; n < end; n += {THREADS}u) {to} = {calls}({from});\n}}\n"
        );
    }
    LinkSource { text }
}

/// Frames for the link, of values of 4 or 8 bytes: for CUDA, whose kernels reach memory of the host.
pub fn frames(bytes: usize) -> LinkSource {
    let of = if bytes == 8 {
        "typedef u64 Word;\ntypedef i64 Signed;\n"
    } else {
        "typedef u32 Word;\ntypedef int Signed;\n"
    };
    LinkSource { text: format!("{CUDA}#define BITS {}\n{of}{FRAMES}", 8 * bytes) }
}

const CUDA: &str = "// Packing for the link.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define KERNEL extern \"C\" __global__ void __launch_bounds__(256)
#define INLINE __device__ __forceinline__
#define GLOBAL
#define BLOCK blockIdx.x
#define PLANE (i64)blockIdx.y
#define THREAD threadIdx.x
";

const OPENCL: &str = "// Packing for the link.
#pragma OPENCL FP_CONTRACT OFF
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef long i64;
#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
#define GLOBAL __global
#define BLOCK (u32)get_group_id(0)
#define PLANE (i64)get_group_id(1)
#define THREAD (u32)get_local_id(0)
";

/// As `tida_kernels::frames`, a warp for each frame.
const FRAMES: &str = "
enum { ROWS = 32, HEAD = 64, FRAME = 1024 * sizeof(Word) };
#define ALL 0xffffffffu

// Integers whose order is that of the values, so that neighbours differ by little.
INLINE Word ordered(Word x) { return x ^ (Word)((Signed)x >> (BITS - 1)) >> 1; }
// Differences of either sign in turn.
INLINE Word folded(Word x) { return x << 1 ^ (Word)((Signed)x >> (BITS - 1)); }
INLINE Word unfolded(Word x) { return x >> 1 ^ (Word)(0 - (x & 1)); }

// Of all threads of a warp.
INLINE u32 all_or(u32 x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL, x);
#else
    for (u32 by = 16; by; by >>= 1) x |= __shfl_xor_sync(ALL, x, by);
    return x;
#endif
}
INLINE u32 all_sum(u32 x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, x);
#else
    for (u32 by = 16; by; by >>= 1) x += __shfl_xor_sync(ALL, x, by);
    return x;
#endif
}

// Bits of the largest.
INLINE u32 bits_of(Word x) {
    const u32 low = all_or((u32)x);
#if BITS == 64
    const u32 high = all_or((u32)(x >> 32));
    if (high) return 64 - __clz(high);
#endif
    return 32 - __clz(low);
}

// Bit n of lane b's is bit b of lane n's.
INLINE u32 transposed(u32 x, u32 lane) {
    u32 mask = 0x0000ffffu;
#pragma unroll
    for (u32 by = 16; by; by >>= 1, mask ^= mask << by) {
        const u32 y = __shfl_xor_sync(ALL, x, by);
        x = lane & by ? (x & ~mask) | (y & ~mask) >> by : (x & mask) | (y & mask) << by;
    }
    return x;
}

// The value of the lane before; the first has `carry`.
INLINE Word before(Word x, Word carry, u32 lane) {
    const Word y = __shfl_up_sync(ALL, x, 1);
    return lane ? y : carry;
}

template <typename T> INLINE T summed(T x, u32 lane) {
#pragma unroll
    for (u32 by = 1; by < 32; by <<= 1) {
        const T y = __shfl_up_sync(ALL, x, by);
        if (lane >= by) x += y;
    }
    return x;
}

// Where a unit of 4 bytes of a frame lies that stays as it was.
INLINE u32 *place_of(u32 unit, u32 *slot, u32 rate, u32 *rest, u32 *apart) {
    if (unit == 0) return apart;
    return unit < rate / 4 ? slot + unit : rest + (unit - rate / 4);
}

INLINE void pack(const Word *values, u32 *slot, u32 rate, u32 *rest, u32 *apart, u32 lane) {
    Word x[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) x[row] = values[row * 32 + lane];
#pragma unroll
    for (int row = 0; row < ROWS; row++) x[row] = ordered(x[row]);
    const Word base = __shfl_sync(ALL, x[0], 0), slope = __shfl_sync(ALL, x[0], 1) - base;
    Word last = base - slope, fall = slope;
    u32 one = 0, two = 0;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const Word step = x[row] - before(x[row], last, lane);
        const Word bend = step - before(step, fall, lane);
        last = __shfl_sync(ALL, x[row], 31);
        fall = __shfl_sync(ALL, step, 31);
        const u32 of_step = bits_of(folded(step)), of_bend = bits_of(folded(bend));
        if (lane == row) one = of_step, two = of_bend;
    }
    const u32 order = all_sum(two) < all_sum(one) ? 2 : 1;
    const u32 bits = order == 2 ? two : one, end = summed(bits, lane), start = end - bits;
    const u32 bytes = HEAD + 4 * __shfl_sync(ALL, end, 31);
    if (bytes > rate) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const Word was = ordered(x[row]);
            const u32 unit = (row * 32 + lane) * (BITS / 32);
            *place_of(unit, slot, rate, rest, apart) = (u32)was;
#if BITS == 64
            *place_of(unit + 1, slot, rate, rest, apart) = (u32)(was >> 32);
#endif
        }
        if (lane == 0) slot[0] = ALL;
        return;
    }
    ((u8 *)slot)[lane] = bits;
    if (lane == 0) {
        const i64 first = (Signed)base, second = (Signed)slope;
        slot[8] = (u32)first, slot[9] = (u32)(first >> 32);
        slot[10] = (u32)second, slot[11] = (u32)(second >> 32);
        slot[12] = order | bytes << 8;
        slot[13] = slot[14] = slot[15] = 0;
    }
    u32 *planes = slot + HEAD / 4;
    last = base - slope, fall = slope;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        Word left = x[row] - before(x[row], last, lane);
        last = __shfl_sync(ALL, x[row], 31);
        if (order == 2) {
            const Word step = left;
            left = step - before(step, fall, lane);
            fall = __shfl_sync(ALL, step, 31);
        }
        left = folded(left);
        const u32 wide = __shfl_sync(ALL, bits, row), at = __shfl_sync(ALL, start, row);
        const u32 low = transposed((u32)left, lane);
        if (lane < wide) planes[at + lane] = low;
#if BITS == 64
        if (wide > 32) {
            const u32 high = transposed((u32)(left >> 32), lane);
            if (lane + 32 < wide) planes[at + 32 + lane] = high;
        }
#endif
    }
}

INLINE void unpack(Word *values, u32 *slot, u32 rate, u32 *rest, u32 *apart, u32 lane) {
    if (slot[0] == ALL) {
        for (int row = 0; row < ROWS; row++) {
            const u32 unit = (row * 32 + lane) * (BITS / 32);
            Word was = *place_of(unit, slot, rate, rest, apart);
#if BITS == 64
            was |= (u64)*place_of(unit + 1, slot, rate, rest, apart) << 32;
#endif
            values[row * 32 + lane] = was;
        }
        return;
    }
    const u32 said = ((u8 *)slot)[lane], bits = said < BITS ? said : BITS;
    const u32 order = slot[12] & 255, start = summed(bits, lane) - bits, room = rate / 4 - HEAD / 4;
    const u32 *planes = slot + HEAD / 4;
    const Word base = (Word)(slot[8] | (u64)slot[9] << 32), slope = (Word)(slot[10] | (u64)slot[11] << 32);
    Word last = base - slope, fall = slope;
#pragma unroll 4
    for (int row = 0; row < ROWS; row++) {
        const u32 wide = __shfl_sync(ALL, bits, row), at = __shfl_sync(ALL, start, row) + lane;
        Word x = transposed(lane < wide && at < room ? planes[at] : 0, lane);
#if BITS == 64
        if (wide > 32) x |= (u64)transposed(lane + 32 < wide && at + 32 < room ? planes[at + 32] : 0, lane) << 32;
#endif
        x = unfolded(x);
        if (order == 2) {
            x = fall + summed(x, lane);
            fall = __shfl_sync(ALL, x, 31);
        }
        x = last + summed(x, lane);
        last = __shfl_sync(ALL, x, 31);
        values[row * 32 + lane] = ordered(x);
    }
}

#define ARGUMENTS Word *values, u8 *stage, i64 first, i64 step, i64 stage_first, i64 stage_step, \\
    u32 tail, u32 frames, u32 rate, u64 rest, i64 rest_step, u64 apart, i64 apart_at

#define FRAME_OF_WARP \\
    const u32 frame = BLOCK * 8 + THREAD / 32, lane = THREAD & 31; \\
    if (frame > frames) return; \\
    values += first + PLANE * step; \\
    stage += stage_first + PLANE * stage_step; \\
    u32 *slot = (u32 *)(stage + tail * sizeof(Word) + (u64)frame * rate); \\
    u32 *over = (u32 *)(rest + PLANE * rest_step + (u64)frame * (FRAME - rate)); \\
    u32 *four = (u32 *)apart + (apart_at + PLANE * rest_step) / 4096 + frame;

KERNEL tida_pack(ARGUMENTS) {
    FRAME_OF_WARP
    if (frame < frames) return pack(values + tail + frame * 1024, slot, rate, over, four, lane);
    for (u32 n = lane; n < tail; n += 32) ((Word *)stage)[n] = values[n];
}

KERNEL tida_unpack(ARGUMENTS) {
    FRAME_OF_WARP
    if (frame < frames) return unpack(values + tail + frame * 1024, slot, rate, over, four, lane);
    for (u32 n = lane; n < tail; n += 32) values[n] = ((Word *)stage)[n];
}
";

/// The helpers of codes are those of kernels.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Format;

    #[test]
    fn both_kernels_are_there() {
        let codec = Codec::new(ScalarType::F64, &Format::F32).unwrap().unwrap();
        for text in
            [codes(Dialect::Cuda, &codec).text, codes(Dialect::OpenCl, &codec).text, frames(4).text, frames(8).text]
        {
            assert!(text.contains(&format!(" {PACK}(")) && text.contains(&format!(" {UNPACK}(")));
        }
    }
}
