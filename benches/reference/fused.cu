// Several steps in one launch, by hand: overlapped tiles that march along the slowest axis (Lashgar ch. 6 calls the
// cells around a tile a ghost zone). Stands alone, and is compiled when the bench runs:
//
//     nvcc -O3 -arch=sm_90 --fmad=false --split-compile=0 fused.cu -o fused && ./fused [NAME] [CELLS ALONG AN AXIS]
//
// A block has a tile of the faster axes and goes plane by plane (3-D) or row by row (2-D) through its chunk of the
// slowest. In iteration i it loads plane i, and level t + 1 computes plane i - t - 1 from planes of level t: two are in
// registers, the third was made just now. Neighbours within the plane are those of the iteration before, so
// that one barrier an iteration does for all levels. Each level leaves one more cell of the tile's edge behind, and the
// first planes of a chunk only fill the levels.
//
// Arrays count the outermost layer of cells, which stays as it is and which both arrays have. A row is `pitch` elements
// from the next. Sums are taken in the order of heat.cu and of gallery.cu: the same bits as so many single steps.

enum Mode {
    SHARED, // neighbours through shared memory
    WARPS,  // within a warp by shuffles, beyond it through shared memory
    ALONE,  // 2-D alone: a warp is a tile of its own, without shared memory and barriers
};

// A number that is a type.
template <int N> struct Is { static constexpr int value = N; };

// Neighbouring values that are moved together.
template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };

template <typename T> struct Heat7 {
    T a;
    __device__ T operator()(T mid, T east, T west, T south, T north, T above, T below) const {
        return mid + a * (east + west + south + north + above + below - T(6) * mid);
    }
};

// Rows of 2-D stencils: [0] west, [1] own, [2] east.
template <typename T> struct Heat5 {
    static constexpr bool CORNERS = false, SOURCE = false;
    T a;
    __device__ T operator()(const T *, const T *mid, const T *, T north, T south, T) const {
        return mid[1] + a * (mid[2] + mid[0] + south + north - T(4) * mid[1]);
    }
};

template <typename T> struct Mean9 {
    static constexpr bool CORNERS = true, SOURCE = false;
    T own, side, corner;
    __device__ T operator()(const T *up, const T *mid, const T *down, T, T, T) const {
        T sides = up[1] + mid[0] + mid[2] + down[1];
        T corners = up[0] + up[2] + down[0] + down[2];
        return own * mid[1] + side * sides + corner * corners;
    }
};

// A chip's temperatures (Rodinia's Hotspot): each cell has a source of its own.
template <typename T> struct Hotspot {
    static constexpr bool CORNERS = false, SOURCE = true;
    T step, x, y, z, ambient;
    __device__ T operator()(const T *, const T *mid, const T *, T north, T south, T power) const {
        T own = mid[1];
        return own + step * (power + (south + north - T(2) * own) * y + (mid[2] + mid[0] - T(2) * own) * x +
                             (ambient - own) * z);
    }
};

template <typename T> __device__ T *shared_memory() {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    return reinterpret_cast<T *>(shared_bytes);
}

constexpr int up_to(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
constexpr int least(int a, int b) { return a < b ? a : b; }

// What a kernel takes and how its tiles lie: K levels, TX x TY threads with CX x CY cells each.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M> struct Tile3 {
    static constexpr int WX = TX * CX, WY = TY * CY, HALO_X = up_to(K, CX), CORE_X = WX - 2 * HALO_X, CORE_Y = WY - 2 * K;
    static constexpr int THREADS = TX * TY;
    // Of one level and one of its two planes. All cells, and a row before and after, which are read and do not count; or
    // the first and the last row of each thread.
    static constexpr int PLANE = M == SHARED ? TX * (WY + 2) : TX * CX * 2 * (TY + 2);
    static constexpr size_t BYTES = sizeof(T) * PLANE * 2 * K;
    static_assert(CORE_X > 0 && CORE_Y > 0 && (M == SHARED ? CX == 1 : TX == 32), "a tile that this form cannot have");
};

template <typename T, int K, int C, int THREADS_, Mode M> struct Tile2 {
    static constexpr int THREADS = THREADS_, VECTOR = least(C, 16 / sizeof(T)), HALO = up_to(K, VECTOR);
    static constexpr int WIDTH = (M == ALONE ? 32 : THREADS) * C, CORE = WIDTH - 2 * HALO;
    static constexpr int TILES = M == ALONE ? THREADS / 32 : 1;
    // Of one level and one of its two rows: the first cells, then the last ones. A value before and after is read and does
    // not count.
    static constexpr int EDGES = M == SHARED ? THREADS + 2 : THREADS / 32 + 2;
    static constexpr size_t BYTES = M == ALONE ? 0 : sizeof(T) * EDGES * 2 * 2 * K;
    static_assert(CORE > 0 && C % VECTOR == 0, "a tile that this form cannot have");
};

// 3-D, 7 points. blockIdx is the tile along x and y, and the chunk of `deep` planes.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M>
__device__ __forceinline__ void march3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch,
                                       int deep, Heat7<T> stencil) {
    using Tile = Tile3<T, K, CX, CY, TX, TY, M>;
    using Cells = Pack<T, CX>;
    T *shared = shared_memory<T>();
    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX;
    const int left = blockIdx.x * Tile::CORE_X - Tile::HALO_X, top = blockIdx.y * Tile::CORE_Y - K;
    const int x = left + tx * CX, y = top + ty * CY;
    const int first = blockIdx.z * deep + 1, end = min(first + deep, nz - 1);
    const size_t plane = (size_t)pitch * ny;
    // The tile has cells that no step changes, or none.
    const bool rim = left < 1 || top < 1 || left + Tile::WX > nx - 1 || top + Tile::WY > ny - 1;

    Cells queue[2][K][CY], ahead[CY];
    auto load = [&](int k) {
        k = min(max(k, 0), nz - 1);
#pragma unroll
        for (int c = 0; c < CY; c++)
            if ((unsigned)x < (unsigned)pitch && (unsigned)(y + c) < (unsigned)ny)
                ahead[c] = *reinterpret_cast<const Cells *>(u + k * plane + (size_t)(y + c) * pitch + x);
    };
    auto inner = [&](int c, int d) { return x + d >= 1 && x + d < nx - 1 && y + c >= 1 && y + c < ny - 1; };
    // Which cells of this thread are written.
    unsigned kept = 0;
#pragma unroll
    for (int c = 0; c < CY; c++)
#pragma unroll
        for (int d = 0; d < CX; d++) {
            int i = tx * CX + d, j = ty * CY + c;
            bool core = i >= Tile::HALO_X && i < Tile::WX - Tile::HALO_X && j >= K && j < Tile::WY - K;
            kept |= unsigned(core && inner(c, d)) << (c * CX + d);
        }
    // Where a level's plane is, of this iteration (P) or of the one before.
    auto level = [&](int t, int p) { return shared + (t * 2 + p) * Tile::PLANE; };

    auto advance = [&](int i, auto parity, auto careful) {
        constexpr int P = decltype(parity)::value;
        Cells fresh[CY];
#pragma unroll
        for (int c = 0; c < CY; c++) fresh[c] = ahead[c];
        load(i + 1);
#pragma unroll
        for (int t = 0; t < K; t++) {
            Cells next[CY], *old = queue[P][t], *mid = queue[1 - P][t], north, south;
            if constexpr (M == SHARED) {
                T *mine = level(t, P) + TX + ty * CY * TX + tx;
                const T *theirs = level(t, 1 - P) + TX + ty * CY * TX + tx;
#pragma unroll
                for (int c = 0; c < CY; c++) mine[c * TX] = fresh[c].at[0];
                north.at[0] = theirs[-TX];
                south.at[0] = theirs[CY * TX];
            } else {
                // [threads of a column][first, last][cells of a thread][threads of a row]
                constexpr int ROW = TX * CX;
                T *mine = level(t, P) + (ty + 1) * 2 * ROW + tx;
                const T *theirs = level(t, 1 - P) + (ty + 1) * 2 * ROW + tx;
#pragma unroll
                for (int d = 0; d < CX; d++) {
                    mine[d * TX] = fresh[0].at[d];
                    mine[ROW + d * TX] = fresh[CY - 1].at[d];
                    north.at[d] = theirs[d * TX - ROW];
                    south.at[d] = theirs[d * TX + 2 * ROW];
                }
            }
#pragma unroll
            for (int c = 0; c < CY; c++) {
                T west, east;
                if constexpr (M == SHARED) {
                    const T *theirs = level(t, 1 - P) + TX + (ty * CY + c) * TX + tx;
                    west = theirs[-1];
                    east = theirs[1];
                } else {
                    west = __shfl_up_sync(~0u, mid[c].at[CX - 1], 1);
                    east = __shfl_down_sync(~0u, mid[c].at[0], 1);
                }
#pragma unroll
                for (int d = 0; d < CX; d++) {
                    T v = mid[c].at[d];
                    next[c].at[d] = stencil(v, d + 1 < CX ? mid[c].at[d + 1] : east, d > 0 ? mid[c].at[d - 1] : west,
                                            c + 1 < CY ? mid[c + 1].at[d] : south.at[d],
                                            c > 0 ? mid[c - 1].at[d] : north.at[d], fresh[c].at[d], old[c].at[d]);
                    if constexpr (decltype(careful)::value) {
                        int q = i - t - 1;
                        if (!inner(c, d) || q < 1 || q >= nz - 1) next[c].at[d] = v;
                    }
                }
            }
#pragma unroll
            for (int c = 0; c < CY; c++) queue[P][t][c] = fresh[c], fresh[c] = next[c];
        }
        int k = i - K;
        if (k >= first && k < end) {
            T *to = o + k * plane + (size_t)y * pitch + x;
#pragma unroll
            for (int c = 0; c < CY; c++) {
                constexpr unsigned ALL = (1u << CX) - 1;
                unsigned those = kept >> (c * CX) & ALL;
                if (those == ALL) *reinterpret_cast<Cells *>(to + (size_t)c * pitch) = fresh[c];
                else
#pragma unroll
                    for (int d = 0; d < CX; d++)
                        if (those >> d & 1) to[(size_t)c * pitch + d] = fresh[c].at[d];
            }
        }
        __syncthreads();
    };

#pragma unroll
    for (int c = 0; c < CY; c++) {
        ahead[c] = Cells{};
#pragma unroll
        for (int t = 0; t < K; t++) queue[0][t][c] = queue[1][t][c] = Cells{};
    }
    load(first - K);
    for (int i = first - K; i < end + K; i += 2) {
        if (rim || i - K < 1 || i + 1 > nz - 1) {
            advance(i, Is<0>{}, Is<1>{});
            advance(i + 1, Is<1>{}, Is<1>{});
        } else {
            advance(i, Is<0>{}, Is<0>{});
            advance(i + 1, Is<1>{}, Is<0>{});
        }
    }
}

// 2-D, 5 or 9 points. blockIdx is the tile along x, or so many tiles if warps are alone, and the chunk of `deep` rows.
// `source` lies as the arrays do. Nine points need the corners of the row made just now: warps that are alone have them.
template <class S, typename T, int K, int C, int THREADS, Mode M>
__device__ __forceinline__ void march2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx,
                                       int ny, int pitch, int deep, S stencil) {
    using Tile = Tile2<T, K, C, THREADS, M>;
    constexpr int V = Tile::VECTOR, E = S::CORNERS ? 1 : 0;
    static_assert(!S::CORNERS || M == ALONE, "corners are only had within a warp");
    using Vector = Pack<T, V>;
    T *shared = shared_memory<T>();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, place = M == ALONE ? lane : threadIdx.x;
    const int tile = blockIdx.x * Tile::TILES + (M == ALONE ? warp : 0);
    const int left = tile * Tile::CORE - Tile::HALO, x = left + place * C;
    const int first = blockIdx.y * deep + 1, end = min(first + deep, ny - 1);
    const bool rim = left < 1 || left + Tile::WIDTH > nx - 1;
    if (M == ALONE && left + Tile::HALO >= nx - 1) return;

    // With corners, a row has its neighbours' nearest cells too: [0] and [C + 1].
    T queue[2][K][C + 2 * E], ahead[C];
    auto load = [&](T *into, const T *from, int j) {
        from += (size_t)min(max(j, 0), ny - 1) * pitch + x;
#pragma unroll
        for (int v = 0; v < C; v += V)
            if ((unsigned)(x + v) < (unsigned)pitch) {
                Vector got = *reinterpret_cast<const Vector *>(from + v);
#pragma unroll
                for (int c = 0; c < V; c++) into[v + c] = got.at[c];
            }
    };
    auto inner = [&](int c) { return x + c >= 1 && x + c < nx - 1; };
    unsigned kept = 0;
#pragma unroll
    for (int c = 0; c < C; c++) {
        int i = place * C + c;
        kept |= unsigned(i >= Tile::HALO && i < Tile::WIDTH - Tile::HALO && inner(c)) << c;
    }
    auto edges = [&](int t, int p, int side) { return shared + ((t * 2 + p) * 2 + side) * Tile::EDGES + 1; };

    auto advance = [&](int i, auto parity, auto careful) {
        constexpr int P = decltype(parity)::value;
        T fresh[C + 2 * E];
#pragma unroll
        for (int c = 0; c < C; c++) fresh[c + E] = ahead[c];
        load(ahead, u, i + 1);
#pragma unroll
        for (int t = 0; t < K; t++) {
            T next[C], *old = queue[P][t], *mid = queue[1 - P][t], west, east;
            [[maybe_unused]] T power[C];
            if constexpr (S::SOURCE) load(power, source, i - t - 1);
            if constexpr (S::CORNERS) {
                fresh[0] = __shfl_up_sync(~0u, fresh[C], 1);
                fresh[C + 1] = __shfl_down_sync(~0u, fresh[1], 1);
                west = mid[0];
                east = mid[C + 1];
            } else if constexpr (M == SHARED) {
                edges(t, P, 0)[threadIdx.x] = fresh[0];
                edges(t, P, 1)[threadIdx.x] = fresh[C - 1];
                west = edges(t, 1 - P, 1)[(int)threadIdx.x - 1];
                east = edges(t, 1 - P, 0)[threadIdx.x + 1];
            } else {
                west = __shfl_up_sync(~0u, mid[C - 1], 1);
                east = __shfl_down_sync(~0u, mid[0], 1);
                if constexpr (M == WARPS) {
                    if (lane == 0) {
                        edges(t, P, 0)[warp] = fresh[0];
                        west = edges(t, 1 - P, 1)[warp - 1];
                    }
                    if (lane == 31) {
                        edges(t, P, 1)[warp] = fresh[C - 1];
                        east = edges(t, 1 - P, 0)[warp + 1];
                    }
                }
            }
#pragma unroll
            for (int c = 0; c < C; c++) {
                T v = mid[c + E];
                if constexpr (S::CORNERS) next[c] = stencil(old + c, mid + c, fresh + c, T(0), T(0), T(0));
                else {
                    T row[3] = {c > 0 ? mid[c - 1] : west, v, c + 1 < C ? mid[c + 1] : east};
                    next[c] = stencil(nullptr, row, nullptr, old[c], fresh[c], S::SOURCE ? power[c] : T(0));
                }
                if constexpr (decltype(careful)::value) {
                    int q = i - t - 1;
                    if (!inner(c) || q < 1 || q >= ny - 1) next[c] = v;
                }
            }
#pragma unroll
            for (int c = 0; c < C + 2 * E; c++) queue[P][t][c] = fresh[c];
#pragma unroll
            for (int c = 0; c < C; c++) fresh[c + E] = next[c];
        }
        int j = i - K;
        if (j >= first && j < end) {
            T *to = o + (size_t)j * pitch + x;
#pragma unroll
            for (int v = 0; v < C; v += V) {
                constexpr unsigned ALL = (1u << V) - 1;
                unsigned those = kept >> v & ALL;
                if (those == ALL) {
                    Vector put;
#pragma unroll
                    for (int c = 0; c < V; c++) put.at[c] = fresh[v + c + E];
                    *reinterpret_cast<Vector *>(to + v) = put;
                } else
#pragma unroll
                    for (int c = 0; c < V; c++)
                        if (those >> c & 1) to[v + c] = fresh[v + c + E];
            }
        }
        if constexpr (M != ALONE) __syncthreads();
    };

#pragma unroll
    for (int c = 0; c < C; c++) ahead[c] = T(0);
#pragma unroll
    for (int c = 0; c < C + 2 * E; c++)
#pragma unroll
        for (int t = 0; t < K; t++) queue[0][t][c] = queue[1][t][c] = T(0);
    load(ahead, u, first - K);
    for (int i = first - K; i < end + K; i += 2) {
        if (rim || i - K < 1 || i + 1 > ny - 1) {
            advance(i, Is<0>{}, Is<1>{});
            advance(i + 1, Is<1>{}, Is<1>{});
        } else {
            advance(i, Is<0>{}, Is<0>{});
            advance(i + 1, Is<1>{}, Is<0>{});
        }
    }
}

// With as many registers as leave room for so many blocks on a processor.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M, int BLOCKS>
__global__ void __launch_bounds__(TX *TY, BLOCKS)
    fused3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch, int deep, Heat7<T> stencil) {
    march3<T, K, CX, CY, TX, TY, M>(o, u, nx, ny, nz, pitch, deep, stencil);
}

template <class S, typename T, int K, int C, int THREADS, Mode M, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    fused2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx, int ny, int pitch, int deep,
           S stencil) {
    march2<S, T, K, C, THREADS, M>(o, u, source, nx, ny, pitch, deep, stencil);
}

// One step, for comparison: 3-D threads march as those of heat.cu do, 2-D ones have a cell each.
template <typename T>
__global__ void single3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch, int deep,
                        Heat7<T> stencil) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int start = blockIdx.z * deep + 1, end = min(start + deep, nz - 1);
    size_t p = (size_t)pitch * ny, c = start * p + (size_t)j * pitch + i;
    T below = u[c - p], v = u[c];
#pragma unroll 4
    for (int k = start; k < end; k++) {
        T above = u[c + p];
        o[c] = stencil(v, u[c + 1], u[c - 1], u[c + pitch], u[c - pitch], above, below);
        below = v;
        v = above;
        c += p;
    }
}

template <class S, typename T>
__device__ __forceinline__ void step2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx, int ny,
                                      int pitch, S stencil) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    size_t c = (size_t)j * pitch + i;
    const T *up = u + c - pitch - 1, *mid = u + c - 1, *down = u + c + pitch - 1;
    o[c] = stencil(up, mid, down, up[1], down[1], S::SOURCE ? source[c] : T(0));
}

template <class S, typename T>
__global__ void single2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx, int ny, int pitch,
                        S stencil) {
    step2<S, T>(o, u, source, nx, ny, pitch, stencil);
}

// What the bench compiles: -DREAL=double, and -DBOUNDS=threads,blocks with -DFORM3=K,CX,CY,TX,TY,M or with -DFORM2=K,C,THREADS,M
// and -DSTENCIL=Heat5<double>.
#ifdef FORM3
extern "C" __global__ void __launch_bounds__(BOUNDS)
    fused(REAL *__restrict__ o, const REAL *__restrict__ u, int nx, int ny, int nz, int pitch, int deep, Heat7<REAL> s) {
    march3<REAL, FORM3>(o, u, nx, ny, nz, pitch, deep, s);
}
#endif
#ifdef FORM2
extern "C" __global__ void __launch_bounds__(BOUNDS)
    fused(REAL *__restrict__ o, const REAL *__restrict__ u, const REAL *__restrict__ source, int nx, int ny, int pitch,
          int deep, STENCIL s) {
    march2<STENCIL, REAL, FORM2>(o, u, source, nx, ny, pitch, deep, s);
}
extern "C" __global__ void single(REAL *__restrict__ o, const REAL *__restrict__ u, const REAL *__restrict__ source, int nx,
                                  int ny, int pitch, STENCIL s) {
    step2<STENCIL, REAL>(o, u, source, nx, ny, pitch, s);
}
#endif

#ifndef __CUDACC_RTC__

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t result_ = (call);                                                        \
        if (result_ != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result_)); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

// A number in 0 .. 1 for each cell, exact in float too (splitmix64), as the benches take.
template <typename T> __global__ void noise(T *u, size_t n) {
    size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    unsigned long long z = (c + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    u[c] = T(double((z ^ (z >> 31)) >> 40) / double(1 << 24));
}

// Counts the cells whose bits differ.
template <typename T> __global__ void compare(const T *a, const T *b, size_t n, unsigned long long *differ) {
    size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    for (unsigned i = 0; i < sizeof(T) / 4; i++)
        if (reinterpret_cast<const unsigned *>(a + c)[i] != reinterpret_cast<const unsigned *>(b + c)[i]) {
            atomicAdd(differ, 1);
            return;
        }
}

// Rounds of a timing, and the least milliseconds of one.
const int ROUNDS = 5;
const float LEAST = 8;

// Milliseconds of one call, the median of the rounds.
template <class F> double timed(F call) {
    static cudaEvent_t start = nullptr, stop = nullptr;
    if (!start) {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
    }
    auto once = [&](int calls) {
        float took;
        CHECK(cudaEventRecord(start));
        for (int i = 0; i < calls; i++) call();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&took, start, stop));
        return took;
    };
    once(2);
    int calls = std::max(2, (int)(LEAST / std::max(once(2) / 2, 1e-3f)));
    std::vector<double> all;
    for (int round = 0; round < ROUNDS; round++) all.push_back(once(calls) / calls);
    std::sort(all.begin(), all.end());
    return all[ROUNDS / 2];
}

int processors;

// Chunks of the marched axis: such that the blocks fill the processors once, twice and so on, and one alone.
std::vector<int> chunks(int tiles, int resident, int planes, int levels) {
    std::vector<int> found = {1};
    for (int waves : {1, 2, 3, 4, 6}) {
        int many = (int)((long long)waves * resident * processors / tiles);
        if (many > found.back() && planes / many >= 2 * levels) found.push_back(many);
    }
    return found;
}

// The arrays of one stencil: what a step starts from, two to step between, and the fused result.
template <typename T> struct Arrays {
    int nx, ny, nz, pitch;
    size_t count;
    T *u, *a, *b, *fused, *source;
    unsigned long long *differ;
    std::string best;
    double fastest = 0, single = 0, cells;

    // `n` inner cells along each axis.
    Arrays(int dims, int n) : nx(n + 2), ny(n + 2), nz(dims == 3 ? n + 2 : 1), pitch(up_to(n + 2, 32)) {
        count = (size_t)pitch * ny * nz;
        cells = (double)n * n * (dims == 3 ? n : 1);
        for (T **each : {&u, &a, &b, &fused, &source}) {
            CHECK(cudaMalloc(each, count * sizeof(T)));
            noise<<<(count + 255) / 256, 256>>>(*each, count);
        }
        CHECK(cudaMalloc(&differ, sizeof *differ));
        CHECK(cudaDeviceSynchronize());
    }
    ~Arrays() {
        for (T *each : {u, a, b, fused, source}) cudaFree(each);
        cudaFree(differ);
    }
    // The cells of `fused` that differ from those of so many single steps.
    template <class F> unsigned long long wrong(int steps, F step) {
        T *from = u, *to = a;
        for (int s = 0; s < steps; s++) {
            step(to, from);
            from = to;
            to = to == a ? b : a;
        }
        unsigned long long found = 0;
        CHECK(cudaMemset(differ, 0, sizeof *differ));
        compare<<<(count + 255) / 256, 256>>>(from, fused, count, differ);
        CHECK(cudaMemcpy(&found, differ, sizeof found, cudaMemcpyDeviceToHost));
        return found;
    }
    // `chunk` blocks along the marched axis: launch(to, from, chunk).
    template <class F, class G>
    void fuse(const char *stencil, const std::string &form, const void *kernel, int levels, int tiles, int threads,
              size_t bytes, F launch, G step) {
        cudaFuncAttributes facts;
        int resident = 0, planes = nz > 1 ? nz - 2 : ny - 2;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
        CHECK(cudaFuncGetAttributes(&facts, kernel));
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes));
        if (resident == 0) return;
        // What the last form left must not pass for this one's.
        CHECK(cudaMemcpy(fused, u, count * sizeof(T), cudaMemcpyDeviceToDevice));
        double least = 0;
        int of = 0;
        auto deep = [&](int many) { return (planes + many - 1) / many; };
        for (int many : chunks(tiles, resident, planes, levels)) {
            double rate = cells * levels / timed([&] { launch(fused, u, deep(many)); }) / 1e6;
            CHECK(cudaGetLastError());
            if (rate > least) least = rate, of = many;
        }
        unsigned long long differs = wrong(levels, step);
        std::string right = differs ? std::to_string(differs) + " CELLS DIFFER" : "same bits";
        char line[256];
        snprintf(line, sizeof line, "%-14s %-34s chunk %4d, %5d blocks, %d resident, %3d regs, %3zu B spilt, %6zu B shared",
                 stencil, form.c_str(), deep(of), tiles * of, resident, facts.numRegs, facts.localSizeBytes, bytes);
        printf("%s  %7.1f Gcell-steps/s  %s\n", line, least, right.c_str());
        fflush(stdout);
        if (!differs && least > fastest) fastest = least, best = line;
    }
    void said(const char *stencil) {
        printf("BEST %-9s %7.1f Gcell-steps/s, %.2f of one sweep's %.1f: %s\n\n", stencil, fastest, fastest / single, single,
               best.c_str());
    }
};

// The marched 3-D sweeps and the 2-D ones, by their fastest blocks.
template <typename T> void one_sweep(const char *stencil, Arrays<T> &on, Heat7<T> with) {
    for (int x : {32, 64, 128})
        for (int y : {4, 8})
            for (int deep : {16, 32, 64}) {
                dim3 grid((on.nx + x - 1) / x, (on.ny + y - 1) / y, (on.nz - 2 + deep - 1) / deep);
                double took = timed([&] {
                    single3<<<grid, dim3(x, y)>>>(on.fused, on.u, on.nx, on.ny, on.nz, on.pitch, deep, with);
                });
                on.single = std::max(on.single, on.cells / took / 1e6);
            }
    CHECK(cudaGetLastError());
    printf("%-14s one sweep a launch: %.1f Gcell-steps/s\n", stencil, on.single);
}

template <class S, typename T> void one_sweep(const char *stencil, Arrays<T> &on, S with) {
    for (int x : {32, 64, 128, 256})
        for (int y : {1, 2, 4, 8}) {
            if (x * y > 1024) continue;
            dim3 grid((on.nx + x - 1) / x, (on.ny + y - 1) / y);
            double took = timed([&] {
                single2<S, T><<<grid, dim3(x, y)>>>(on.fused, on.u, on.source, on.nx, on.ny, on.pitch, with);
            });
            on.single = std::max(on.single, on.cells / took / 1e6);
        }
    CHECK(cudaGetLastError());
    printf("%-14s one sweep a launch: %.1f Gcell-steps/s\n", stencil, on.single);
}

const char *MODES[] = {"shared", "warps", "alone"};

template <typename T, int K, int CX, int CY, int TX, int TY, Mode M, int BLOCKS>
void form3(const char *stencil, Arrays<T> &on, Heat7<T> with) {
    using Tile = Tile3<T, K, CX, CY, TX, TY, M>;
    auto kernel = fused3<T, K, CX, CY, TX, TY, M, BLOCKS>;
    char form[64];
    snprintf(form, sizeof form, "K %2d, %dx%d cells, %dx%d, %s, for %d", K, CX, CY, TX, TY, MODES[M], BLOCKS);
    int x = (on.nx - 1 + Tile::CORE_X - 1) / Tile::CORE_X, y = (on.ny - 1 + Tile::CORE_Y - 1) / Tile::CORE_Y;
    on.fuse(
        stencil, form, (const void *)kernel, K, x * y, Tile::THREADS, Tile::BYTES,
        [&](T *to, const T *from, int deep) {
            dim3 grid(x, y, (on.nz - 2 + deep - 1) / deep);
            kernel<<<grid, Tile::THREADS, Tile::BYTES>>>(to, from, on.nx, on.ny, on.nz, on.pitch, deep, with);
        },
        [&](T *to, const T *from) {
            dim3 grid((on.nx + 31) / 32, (on.ny + 7) / 8, (on.nz - 2 + 31) / 32);
            single3<T><<<grid, dim3(32, 8)>>>(to, from, on.nx, on.ny, on.nz, on.pitch, 32, with);
        });
}

template <class S, typename T, int K, int C, int THREADS, Mode M, int BLOCKS>
void form2(const char *stencil, Arrays<T> &on, S with) {
    using Tile = Tile2<T, K, C, THREADS, M>;
    auto kernel = fused2<S, T, K, C, THREADS, M, BLOCKS>;
    char form[64];
    snprintf(form, sizeof form, "K %2d, %d cells, %d, %s, for %d", K, C, THREADS, MODES[M], BLOCKS);
    int core = Tile::CORE * Tile::TILES, x = (on.nx - 1 + core - 1) / core;
    on.fuse(
        stencil, form, (const void *)kernel, K, x, THREADS, Tile::BYTES,
        [&](T *to, const T *from, int deep) {
            dim3 grid(x, (on.ny - 2 + deep - 1) / deep);
            kernel<<<grid, THREADS, Tile::BYTES>>>(to, from, on.source, on.nx, on.ny, on.pitch, deep, with);
        },
        [&](T *to, const T *from) {
            dim3 grid((on.nx + 63) / 64, (on.ny + 3) / 4);
            single2<S, T><<<grid, dim3(64, 4)>>>(to, from, on.source, on.nx, on.ny, on.pitch, with);
        });
}

// All depths of a form.
template <typename T, int CX, int CY, int TX, int TY, Mode M, int BLOCKS, int... K>
void depths3(const char *stencil, Arrays<T> &on, Heat7<T> with) {
    (form3<T, K, CX, CY, TX, TY, M, BLOCKS>(stencil, on, with), ...);
}
template <class S, typename T, int C, int THREADS, Mode M, int BLOCKS, int... K>
void depths2(const char *stencil, Arrays<T> &on, S with) {
    (form2<S, T, K, C, THREADS, M, BLOCKS>(stencil, on, with), ...);
}

int main(int count, char **words) {
    std::string only = count > 1 ? words[1] : "";
    int asked = count > 2 ? atoi(words[2]) : 0;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    processors = device.multiProcessorCount;
    printf("%s, %d processors\n", device.name, processors);
    auto wanted = [&](const char *name) { return only.empty() || only == "all" || only == name; };
    int n3 = asked ? asked : 512, n2 = asked ? asked : 8192, n2_spot = asked ? asked : 4096;
    if (wanted("heat3_f64")) {
        const char *name = "heat3 f64";
        Arrays<double> on(3, n3);
        Heat7<double> with{0.1};
        one_sweep(name, on, with);
        depths3<double, 1, 4, 32, 8, SHARED, 1, 2, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 16, SHARED, 1, 3, 4>(name, on, with);
        depths3<double, 1, 4, 64, 8, SHARED, 1, 2, 3, 4>(name, on, with);
        depths3<double, 1, 8, 32, 8, SHARED, 1, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 8, WARPS, 1, 2, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 8, WARPS, 2, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 16, WARPS, 1, 3, 4>(name, on, with);
        depths3<double, 1, 8, 32, 8, WARPS, 1, 3, 4>(name, on, with);
        depths3<double, 2, 2, 32, 16, WARPS, 1, 2, 3, 4>(name, on, with);
        depths3<double, 2, 2, 32, 8, WARPS, 2, 2, 3>(name, on, with);
        depths3<double, 2, 4, 32, 8, WARPS, 1, 2, 3, 4>(name, on, with);
        depths3<double, 2, 4, 32, 8, WARPS, 2, 2>(name, on, with);
        depths3<double, 2, 3, 32, 12, WARPS, 1, 3, 4>(name, on, with);
        depths3<double, 2, 4, 32, 10, WARPS, 1, 3>(name, on, with);
        depths3<double, 2, 4, 32, 12, WARPS, 1, 2, 3>(name, on, with);
        on.said(name);
    }
    if (wanted("heat3_f32")) {
        const char *name = "heat3 f32";
        Arrays<float> on(3, n3);
        Heat7<float> with{0.1f};
        one_sweep(name, on, with);
        depths3<float, 1, 4, 64, 8, SHARED, 1, 3, 4>(name, on, with);
        depths3<float, 1, 8, 64, 8, SHARED, 1, 3, 4>(name, on, with);
        depths3<float, 2, 4, 32, 8, WARPS, 1, 3, 4, 5>(name, on, with);
        depths3<float, 2, 4, 32, 8, WARPS, 2, 3, 4>(name, on, with);
        depths3<float, 2, 4, 32, 16, WARPS, 1, 3, 4, 5>(name, on, with);
        depths3<float, 2, 3, 32, 16, WARPS, 1, 4>(name, on, with);
        depths3<float, 4, 2, 32, 16, WARPS, 1, 3, 4>(name, on, with);
        depths3<float, 2, 6, 32, 8, WARPS, 1, 4>(name, on, with);
        depths3<float, 2, 4, 32, 12, WARPS, 1, 4, 5>(name, on, with);
        depths3<float, 4, 4, 32, 8, WARPS, 1, 3, 4>(name, on, with);
        depths3<float, 4, 3, 32, 12, WARPS, 1, 4>(name, on, with);
        depths3<float, 2, 8, 32, 8, WARPS, 1, 4>(name, on, with);
        on.said(name);
    }
    if (wanted("heat2_f64")) {
        const char *name = "heat2 f64";
        Arrays<double> on(2, n2);
        Heat5<double> with{0.1};
        using S = Heat5<double>;
        one_sweep(name, on, with);
        depths2<S, double, 4, 128, SHARED, 1, 4, 8>(name, on, with);
        depths2<S, double, 4, 256, SHARED, 1, 4, 8>(name, on, with);
        depths2<S, double, 4, 128, WARPS, 1, 4, 6, 8, 12>(name, on, with);
        depths2<S, double, 4, 128, WARPS, 3, 6, 8>(name, on, with);
        depths2<S, double, 4, 256, WARPS, 1, 6, 8>(name, on, with);
        depths2<S, double, 4, 64, WARPS, 1, 8>(name, on, with);
        depths2<S, double, 8, 128, WARPS, 1, 4, 5>(name, on, with);
        depths2<S, double, 2, 256, WARPS, 1, 8, 12>(name, on, with);
        depths2<S, double, 2, 256, WARPS, 2, 8, 12>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 1, 3, 4, 6, 8>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 3, 4, 6, 8>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 4, 4, 6>(name, on, with);
        depths2<S, double, 8, 128, ALONE, 1, 2, 3, 4>(name, on, with);
        depths2<S, double, 6, 128, ALONE, 1, 4, 5>(name, on, with);
        on.said(name);
    }
    if (wanted("heat2_f32")) {
        const char *name = "heat2 f32";
        Arrays<float> on(2, n2);
        Heat5<float> with{0.1f};
        using S = Heat5<float>;
        one_sweep(name, on, with);
        depths2<S, float, 4, 128, SHARED, 1, 8>(name, on, with);
        depths2<S, float, 4, 128, WARPS, 1, 8, 12, 16>(name, on, with);
        depths2<S, float, 4, 256, WARPS, 1, 8, 12>(name, on, with);
        depths2<S, float, 8, 128, WARPS, 1, 4, 6, 8>(name, on, with);
        depths2<S, float, 4, 128, ALONE, 1, 4, 8>(name, on, with);
        depths2<S, float, 8, 128, ALONE, 1, 4, 6, 8>(name, on, with);
        depths2<S, float, 8, 128, ALONE, 3, 6, 8>(name, on, with);
        depths2<S, float, 16, 128, ALONE, 1, 3>(name, on, with);
        on.said(name);
    }
    if (wanted("mean9_f64")) {
        const char *name = "mean9 f64";
        Arrays<double> on(2, n2);
        Mean9<double> with{0.2, 0.15, 0.05};
        using S = Mean9<double>;
        one_sweep(name, on, with);
        depths2<S, double, 4, 128, ALONE, 1, 2, 3, 4, 5, 6>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 3, 3, 4>(name, on, with);
        depths2<S, double, 4, 64, ALONE, 1, 4>(name, on, with);
        depths2<S, double, 2, 128, ALONE, 1, 4, 6>(name, on, with);
        depths2<S, double, 6, 128, ALONE, 1, 3, 4>(name, on, with);
        depths2<S, double, 8, 128, ALONE, 1, 2, 3>(name, on, with);
        on.said(name);
    }
    if (wanted("hotspot_f32")) {
        const char *name = "hotspot f32";
        Arrays<float> on(2, n2_spot);
        Hotspot<float> with{0.3f, 0.1f, 0.15f, 0.05f, 0.25f};
        using S = Hotspot<float>;
        one_sweep(name, on, with);
        depths2<S, float, 4, 128, WARPS, 1, 4, 8>(name, on, with);
        depths2<S, float, 4, 128, ALONE, 1, 2, 4, 6, 8>(name, on, with);
        depths2<S, float, 4, 128, ALONE, 4, 4, 8>(name, on, with);
        depths2<S, float, 8, 128, ALONE, 1, 3, 4, 6>(name, on, with);
        on.said(name);
    }
}

#endif
