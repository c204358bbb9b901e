// Several steps in one launch, by hand: tiles that overlap and march along the slowest axis (Lashgar ch. 6 calls the cells
// around a tile a ghost zone). fused.cu times them; the benches compile those that they compare with.
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
    AHEAD,  // neighbours within a warp by shuffles; cells come by copies that no thread waits for, a few planes ahead
};

// A number that is a type.
template <int N> struct Is { static constexpr int value = N; };

// Neighbouring values that are moved together.
template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };

// x * y + z, rounded once with -DMULTIPLY_ADD.
template <typename T> __device__ __forceinline__ T multiply_add(T x, T y, T z) {
#ifdef MULTIPLY_ADD
    return fma(x, y, z);
#else
    return x * y + z;
#endif
}

template <typename T> struct Heat7 {
    T a;
    __device__ T operator()(T mid, T east, T west, T south, T north, T above, T below) const {
        return multiply_add(a, multiply_add(T(-6), mid, east + west + south + north + above + below), mid);
    }
};

// Rows of 2-D stencils: [0] west, [1] own, [2] east.
template <typename T> struct Heat5 {
    static constexpr bool CORNERS = false, SOURCE = false;
    T a;
    __device__ T operator()(const T *, const T *mid, const T *, T north, T south, T) const {
        return multiply_add(a, multiply_add(T(-4), mid[1], mid[2] + mid[0] + south + north), mid[1]);
    }
};

template <typename T> struct Mean9 {
    static constexpr bool CORNERS = true, SOURCE = false;
    T own, side, corner;
    __device__ T operator()(const T *up, const T *mid, const T *down, T, T, T) const {
        T sides = up[1] + mid[0] + mid[2] + down[1];
        T corners = up[0] + up[2] + down[0] + down[2];
        return multiply_add(corner, corners, multiply_add(side, sides, own * mid[1]));
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

__host__ __device__ constexpr int up_to(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
__host__ __device__ constexpr int least(int a, int b) { return a < b ? a : b; }

// What a kernel takes and how its tiles lie: K levels, TX x TY threads with CX x CY cells each.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M> struct Tile3 {
    static constexpr int WX = TX * CX, WY = TY * CY, HALO_X = M == AHEAD ? K : up_to(K, CX), CORE_X = WX - 2 * HALO_X, CORE_Y = WY - 2 * K;
    static constexpr int THREADS = TX * TY;
    // Of one level and one of its two planes. All cells, and a row before and after, which are read and do not count; or
    // the first and the last row of each thread.
    static constexpr int PLANE = M == SHARED ? TX * (WY + 2) : TX * CX * 2 * (TY + 2);
    // A warp's own: the planes that come.
    static constexpr int COMING = 3, SLOT = CY * WX;
    static constexpr size_t BYTES = sizeof(T) * (M == AHEAD ? WX * 2 * (TY + 2) * 2 * K + COMING * SLOT * TY : PLANE * 2 * K);
    static_assert(CORE_X > 0 && CORE_Y > 0 && (M == SHARED ? CX == 1 : TX == 32), "a tile that this form cannot have");
};

template <typename T, int K, int C, int THREADS_, Mode M> struct Tile2 {
    static constexpr bool WARP = M == ALONE || M == AHEAD;
    static constexpr int THREADS = THREADS_, VECTOR = M == AHEAD ? 1 : least(C, 16 / sizeof(T)), HALO = up_to(K, VECTOR);
    static constexpr int WIDTH = (WARP ? 32 : THREADS) * C, CORE = WIDTH - 2 * HALO;
    static constexpr int TILES = WARP ? THREADS / 32 : 1;
    // Of one level and one of its two rows: the first cells, then the last ones. A value before and after is read and does
    // not count.
    static constexpr int EDGES = M == SHARED ? THREADS + 2 : THREADS / 32 + 2;
    // A warp's own: the rows that come and the two that leave, the cells of a thread ROW values apart.
    static constexpr int COMING = 4, ROW = 32 + 128 / sizeof(T) / least(C, 128 / sizeof(T)), SLOT = ROW * C;
    static constexpr size_t BYTES =
        M == ALONE ? 0 : sizeof(T) * (M == AHEAD ? TILES * (COMING + 2) * SLOT : EDGES * 2 * 2 * K);
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
        if constexpr (M == ALONE) __syncwarp();
        else __syncthreads();
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

// A value of memory that is copied to shared memory while the thread goes on.
template <typename T> __device__ __forceinline__ void copy_ahead(T *to, const T *from) {
    unsigned place = (unsigned)__cvta_generic_to_shared(to);
    if constexpr (sizeof(T) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(place), "l"(from));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
// All of a thread's copies are here but those of the newest groups.
template <int GROUPS> __device__ __forceinline__ void wait_but() { asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS)); }

// 3-D as march3: a warp has a row of the tile's threads.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M>
__device__ __forceinline__ void ahead3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch,
                                       int deep, Heat7<T> stencil) {
    using Tile = Tile3<T, K, CX, CY, TX, TY, M>;
    using Cells = Pack<T, CX>;
    constexpr int WX = Tile::WX, EDGE = WX * 2 * (TY + 2), P = Tile::COMING;
    T *shared = shared_memory<T>();
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    T *own = shared + EDGE * 2 * K + ty * P * Tile::SLOT;
    const int left = blockIdx.x * Tile::CORE_X + 1 - K, top = blockIdx.y * Tile::CORE_Y + 1 - K;
    const int x = left + tx * CX, y = top + ty * CY;
    const int first = blockIdx.z * deep + 1, end = min(first + deep, nz - 1);
    const size_t plane = (size_t)pitch * ny;
    const bool rim = left < 1 || top < 1 || left + WX > nx - 1 || top + Tile::WY > ny - 1;
    int from_x[CX];
    unsigned kept = 0;
#pragma unroll
    for (int d = 0; d < CX; d++) from_x[d] = min(max(left + tx + 32 * d, 0), nx - 1);
#pragma unroll
    for (int c = 0; c < CY; c++)
#pragma unroll
        for (int d = 0; d < CX; d++) {
            int i = tx * CX + d, j = ty * CY + c;
            bool core = i >= K && i < WX - K && j >= K && j < Tile::WY - K;
            kept |= unsigned(core && x + d < nx - 1 && y + c < ny - 1) << (c * CX + d);
        }
    auto fetch = [&](int k, int slot) {
        const T *from = u + min(max(k, 0), nz - 1) * plane;
#pragma unroll
        for (int c = 0; c < CY; c++) {
            const T *row = from + (size_t)min(max(y + c, 0), ny - 1) * pitch;
#pragma unroll
            for (int d = 0; d < CX; d++) copy_ahead(own + (slot * CY + c) * WX + tx + 32 * d, row + from_x[d]);
        }
        commit();
    };
    Cells queue[2][K][CY];
    auto inner = [&](int c, int d) { return x + d >= 1 && x + d < nx - 1 && y + c >= 1 && y + c < ny - 1; };
    auto level = [&](int t, int p) { return shared + (t * 2 + p) * EDGE + (ty + 1) * 2 * WX + tx * CX; };
    int take = 0, put = P - 1;
    auto advance = [&](int i, auto parity, auto careful) {
        constexpr int Q = decltype(parity)::value;
        Cells fresh[CY];
        wait_but<P - 2>();
        __syncwarp();
#pragma unroll
        for (int c = 0; c < CY; c++) fresh[c] = *reinterpret_cast<Cells *>(own + (take * CY + c) * WX + tx * CX);
        fetch(i + P - 1, put);
        take = take + 1 == P ? 0 : take + 1;
        put = put + 1 == P ? 0 : put + 1;
#pragma unroll
        for (int t = 0; t < K; t++) {
            Cells next[CY], *old = queue[Q][t], *mid = queue[1 - Q][t], north, south;
            T *mine = level(t, Q);
            const T *theirs = level(t, 1 - Q);
            *reinterpret_cast<Cells *>(mine) = fresh[0];
            *reinterpret_cast<Cells *>(mine + WX) = fresh[CY - 1];
            north = *reinterpret_cast<const Cells *>(theirs - WX);
            south = *reinterpret_cast<const Cells *>(theirs + 2 * WX);
#pragma unroll
            for (int c = 0; c < CY; c++) {
                T west = __shfl_up_sync(~0u, mid[c].at[CX - 1], 1), east = __shfl_down_sync(~0u, mid[c].at[0], 1);
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
            for (int c = 0; c < CY; c++) queue[Q][t][c] = fresh[c], fresh[c] = next[c];
        }
        int k = i - K;
        if (k >= first && k < end) {
            T *to = o + k * plane + (size_t)y * pitch + x;
#pragma unroll
            for (int c = 0; c < CY; c++)
#pragma unroll
                for (int d = 0; d < CX; d++)
                    if (kept >> (c * CX + d) & 1) to[(size_t)c * pitch + d] = fresh[c].at[d];
        }
        __syncthreads();
    };
#pragma unroll
    for (int c = 0; c < CY; c++)
#pragma unroll
        for (int t = 0; t < K; t++) queue[0][t][c] = queue[1][t][c] = Cells{};
#pragma unroll
    for (int p = 0; p < P - 1; p++) fetch(first - K + p, p);
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

// 2-D as march2: a warp is a tile of its own. Rows come and leave through its shared memory, where neighbouring threads reach
// for neighbouring cells of memory.
template <class S, typename T, int K, int C, int THREADS, Mode M>
__device__ __forceinline__ void ahead2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx,
                                       int ny, int pitch, int deep, S stencil) {
    using Tile = Tile2<T, K, C, THREADS, M>;
    constexpr int E = S::CORNERS ? 1 : 0, P = Tile::COMING, SLOT = Tile::SLOT, ROW = Tile::ROW;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T *mine = shared_memory<T>() + warp * (P + 2) * SLOT;
    const int left = (blockIdx.x * Tile::TILES + warp) * Tile::CORE + 1 - K, x = left + lane * C;
    const int first = blockIdx.y * deep + 1, end = min(first + deep, ny - 1);
    const bool rim = left < 1 || left + Tile::WIDTH > nx - 1;
    if (left + K >= nx - 1) return;
    const int line = lane % C * ROW + lane / C;
    int from_x[C];
    bool stored[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
        int e = lane + 32 * c;
        from_x[c] = min(max(left + e, 0), nx - 1);
        stored[c] = e >= K && e < Tile::WIDTH - K && left + e < nx - 1;
    }
    auto fetch = [&](int j, T *slot) {
        const T *row = u + (size_t)min(max(j, 0), ny - 1) * pitch;
#pragma unroll
        for (int c = 0; c < C; c++) copy_ahead(slot + line + c * (32 / C), row + from_x[c]);
        commit();
    };
    T queue[2][K][C + 2 * E];
    auto inner = [&](int c) { return x + c >= 1 && x + c < nx - 1; };
    T *take = mine, *put = mine + (P - 1) * SLOT, *const past = mine + P * SLOT;
    auto advance = [&](int i, auto parity, auto careful) {
        constexpr int Q = decltype(parity)::value;
        wait_but<P - 2>();
        __syncwarp();
        T fresh[C + 2 * E];
#pragma unroll
        for (int c = 0; c < C; c++) fresh[c + E] = take[c * ROW + lane];
        fetch(i + P - 1, put);
        take = take + SLOT == past ? mine : take + SLOT;
        put = put + SLOT == past ? mine : put + SLOT;
        // The row before leaves.
        int k = i - K - 1;
        if (k >= first && k < end) {
            T *to = o + (size_t)k * pitch + left + lane;
            const T *leaves = mine + (P + 1 - Q) * SLOT + line;
#pragma unroll
            for (int c = 0; c < C; c++)
                if (stored[c]) to[32 * c] = leaves[c * (32 / C)];
        }
#pragma unroll
        for (int t = 0; t < K; t++) {
            T next[C], *old = queue[Q][t], *mid = queue[1 - Q][t];
            [[maybe_unused]] T west, east;
            if constexpr (S::CORNERS) {
                fresh[0] = __shfl_up_sync(~0u, fresh[C], 1);
                fresh[C + 1] = __shfl_down_sync(~0u, fresh[1], 1);
            } else {
                west = __shfl_up_sync(~0u, mid[C - 1], 1);
                east = __shfl_down_sync(~0u, mid[0], 1);
            }
#pragma unroll
            for (int c = 0; c < C; c++) {
                T v = mid[c + E];
                if constexpr (S::CORNERS) next[c] = stencil(old + c, mid + c, fresh + c, T(0), T(0), T(0));
                else {
                    T row[3] = {c > 0 ? mid[c - 1] : west, v, c + 1 < C ? mid[c + 1] : east}, power = T(0);
                    if constexpr (S::SOURCE)
                        power = source[(size_t)min(max(i - t - 1, 0), ny - 1) * pitch + min(max(x + c, 0), nx - 1)];
                    next[c] = stencil(nullptr, row, nullptr, old[c], fresh[c], power);
                }
                if constexpr (decltype(careful)::value) {
                    int q = i - t - 1;
                    if (!inner(c) || q < 1 || q >= ny - 1) next[c] = v;
                }
            }
#pragma unroll
            for (int c = 0; c < C + 2 * E; c++) queue[Q][t][c] = fresh[c];
#pragma unroll
            for (int c = 0; c < C; c++) fresh[c + E] = next[c];
        }
        T *to = mine + (P + Q) * SLOT;
#pragma unroll
        for (int c = 0; c < C; c++) to[c * ROW + lane] = fresh[c + E];
    };
#pragma unroll
    for (int c = 0; c < C + 2 * E; c++)
#pragma unroll
        for (int t = 0; t < K; t++) queue[0][t][c] = queue[1][t][c] = T(0);
#pragma unroll
    for (int p = 0; p < P - 1; p++) fetch(first - K + p, mine + p * SLOT);
    for (int i = first - K; i < end + K + 1; i += 2) {
        if (rim || i - K < 1 || i + 1 > ny - 1) {
            advance(i, Is<0>{}, Is<1>{});
            advance(i + 1, Is<1>{}, Is<1>{});
        } else {
            advance(i, Is<0>{}, Is<0>{});
            advance(i + 1, Is<1>{}, Is<0>{});
        }
    }
}

// The form that a mode says.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M>
__device__ __forceinline__ void steps3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch,
                                       int deep, Heat7<T> stencil) {
    if constexpr (M == AHEAD) ahead3<T, K, CX, CY, TX, TY, M>(o, u, nx, ny, nz, pitch, deep, stencil);
    else march3<T, K, CX, CY, TX, TY, M>(o, u, nx, ny, nz, pitch, deep, stencil);
}
template <class S, typename T, int K, int C, int THREADS, Mode M>
__device__ __forceinline__ void steps2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx,
                                       int ny, int pitch, int deep, S stencil) {
    if constexpr (M == AHEAD) ahead2<S, T, K, C, THREADS, M>(o, u, source, nx, ny, pitch, deep, stencil);
    else march2<S, T, K, C, THREADS, M>(o, u, source, nx, ny, pitch, deep, stencil);
}

// With as many registers as leave room for so many blocks on a processor.
template <typename T, int K, int CX, int CY, int TX, int TY, Mode M, int BLOCKS>
__global__ void __launch_bounds__(TX *TY, BLOCKS)
    fused3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch, int deep, Heat7<T> stencil) {
    steps3<T, K, CX, CY, TX, TY, M>(o, u, nx, ny, nz, pitch, deep, stencil);
}

template <class S, typename T, int K, int C, int THREADS, Mode M, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    fused2(T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ source, int nx, int ny, int pitch, int deep,
           S stencil) {
    steps2<S, T, K, C, THREADS, M>(o, u, source, nx, ny, pitch, deep, stencil);
}

// One step, for comparison: 3-D threads march as those of heat.cu do, 2-D ones have a cell each.
template <typename T>
__device__ __forceinline__ void step3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch, int deep,
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

template <typename T>
__global__ void single3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int pitch, int deep,
                        Heat7<T> stencil) {
    step3<T>(o, u, nx, ny, nz, pitch, deep, stencil);
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
    steps3<REAL, FORM3>(o, u, nx, ny, nz, pitch, deep, s);
}
extern "C" __global__ void single(REAL *__restrict__ o, const REAL *__restrict__ u, int nx, int ny, int nz, int pitch,
                                  int deep, Heat7<REAL> s) {
    step3<REAL>(o, u, nx, ny, nz, pitch, deep, s);
}
#endif
#ifdef FORM2
extern "C" __global__ void __launch_bounds__(BOUNDS)
    fused(REAL *__restrict__ o, const REAL *__restrict__ u, const REAL *__restrict__ source, int nx, int ny, int pitch,
          int deep, STENCIL s) {
    steps2<STENCIL, REAL, FORM2>(o, u, source, nx, ny, pitch, deep, s);
}
extern "C" __global__ void single(REAL *__restrict__ o, const REAL *__restrict__ u, const REAL *__restrict__ source, int nx,
                                  int ny, int pitch, int, STENCIL s) {
    step2<STENCIL, REAL>(o, u, source, nx, ny, pitch, s);
}
#endif
