// Micro-benchmarks of memory (Lashgar 2017, ch. 4). Compiled when the bench runs.

// Words of `in` that loads come from: a line of 128 bytes for each of 1024 threads and 4 loads. A word behind them lies on
// the same page of 2 MiB.
#define BEHIND (1 << 18)

__device__ static int load(const int *at) {
    int value;
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

// Threads of one block make N independent loads each, and wait for all of them: the cycles from the first to the last
// (Listing 4.1). `share` neighbours load from one address, each of which has a line of its own. Each word holds its number.
template <int N>
__device__ void loads(const int *in, int *out, long long *cycles, int share, int slot) {
    const int lines = (blockDim.x + share - 1) / share;
    // The first read of a page finds out where it is: not what is measured.
    const int *at = in + (load(in + BEHIND) - BEHIND) + threadIdx.x / share * 32;
    int *sums = out + slot * 1024;
    int values[N], sum = 0;
    __syncthreads();
    const long long start = clock64();
#pragma unroll
    for (int n = 0; n < N; n++) values[n] = load(at + n * lines * 32);
#pragma unroll
    for (int n = 0; n < N; n++) sum += values[n];
    // Never so, and known only when all values are there; a barrier does not wait for loads.
    if (sum < 0) sums[threadIdx.x] = sum;
    __syncthreads();
    const long long took = clock64() - start;
    sums[threadIdx.x] = sum;
    if (threadIdx.x == 0) cycles[slot] = took;
}

#define LOADS(n)                                                                                                   \
    extern "C" __global__ void loads_##n(const int *in, int *out, long long *cycles, int share, int slot) {       \
        loads<n>(in, out, cycles, share, slot);                                                                    \
    }
LOADS(1)
LOADS(2)
LOADS(3)
LOADS(4)

// 16 bytes.
struct __align__(16) Pair {
    unsigned long long a, b;
    __device__ Pair operator+(const Pair &other) const { return {a + other.a, b + other.b}; }
};

// A block of SIDE x SIDE threads adds each cell's neighbours in shared memory, `rounds` times over: the cycles of that
// (Listing 4.2, with sums that wrap around instead of a product with 0.8). XY: neighbours of a warp are in one column.
template <typename T, int SIDE, int PAD, bool XY>
__device__ void banks(T *cells, long long *cycles, int rounds) {
    __shared__ T tile[SIDE][SIDE + PAD];
    const int row = XY ? threadIdx.x : threadIdx.y, column = XY ? threadIdx.y : threadIdx.x;
    const int below = row == SIDE - 1 ? row : row + 1, above = row == 0 ? 0 : row - 1;
    const int right = column == SIDE - 1 ? column : column + 1, left = column == 0 ? 0 : column - 1;
    T *own = cells + threadIdx.y * SIDE + threadIdx.x;
    tile[row][column] = *own;
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        const T sum =
            (T)(tile[row][column] + tile[below][column] + tile[above][column] + tile[row][right] + tile[row][left]);
        __syncthreads();
        tile[row][column] = sum;
        __syncthreads();
    }
    const long long took = clock64() - start;
    *own = tile[row][column];
    if (threadIdx.x == 0 && threadIdx.y == 0) *cycles = took;
}

#define ONE(name, type, side, pad, xy)                                                                             \
    extern "C" __global__ void __launch_bounds__(side *side) name(type *cells, long long *cycles, int rounds) {   \
        banks<type, side, pad, xy>(cells, cycles, rounds);                                                         \
    }
#define BANKS(bytes, type)                                                                                         \
    ONE(xy_##bytes##_16_0, type, 16, 0, true)                                                                      \
    ONE(xy_##bytes##_16_1, type, 16, 1, true)                                                                      \
    ONE(yx_##bytes##_16_0, type, 16, 0, false)                                                                     \
    ONE(yx_##bytes##_16_1, type, 16, 1, false)                                                                     \
    ONE(xy_##bytes##_32_0, type, 32, 0, true)                                                                      \
    ONE(xy_##bytes##_32_1, type, 32, 1, true)                                                                      \
    ONE(yx_##bytes##_32_0, type, 32, 0, false)                                                                     \
    ONE(yx_##bytes##_32_1, type, 32, 1, false)
BANKS(1, unsigned char)
BANKS(2, unsigned short)
BANKS(4, unsigned)
BANKS(8, unsigned long long)
BANKS(16, Pair)
