// Star stencils on 3 axes by hand, and the step of an acoustic wave. Compiled when the bench runs, with -DREAL=float or
// -DREAL=double, -DRADIUS, -DTABLE (the RADIUS + 1 coefficients), and -DACOUSTIC for the wave.
//
// Pointers are those of the first inner cell of nx, ny, nz; rows are `pitch` elements from one another, planes `plane`. There
// are RADIUS cells on every side of the inner ones, and after the last row memory enough for a block that reaches beyond it.
// Sums are taken in one order everywhere: the middle, then from the nearest neighbours to the farthest.

typedef REAL T;
constexpr int R = RADIUS;

struct Fields {
    T *__restrict__ o;
    const T *__restrict__ u;
    const T *__restrict__ before;
    const T *__restrict__ velocity;
    const T *__restrict__ sponge;
    T square;
};

// What becomes of a cell `c` that holds v, given the star's sum.
__device__ __forceinline__ void store(const Fields &f, int c, T v, T sum) {
#ifdef ACOUSTIC
    T velocity = f.velocity[c];
    f.o[c] = (T(2) * v - f.before[c] + velocity * velocity * f.square * sum) * f.sponge[c];
#else
    f.o[c] = sum;
#endif
}

#define PARAMETERS                                                                                                     \
    T *__restrict__ o, const T *__restrict__ u, const T *__restrict__ before, const T *__restrict__ velocity,          \
        const T *__restrict__ sponge, T square, int nx, int ny, int nz, int pitch, int plane, int depth

// One thread a cell.
extern "C" __global__ void star_cell(PARAMETERS) {
    constexpr T C[] = {TABLE};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    int c = k * plane + j * pitch + i;
    T sum = C[0] * u[c];
#pragma unroll
    for (int r = 1; r <= R; r++) {
        sum += C[r] * (u[c + r] + u[c - r] + u[c + r * pitch] + u[c - r * pitch] + u[c + r * plane] + u[c - r * plane]);
    }
    Fields f = {o, u, before, velocity, sponge, square};
    store(f, c, u[c], sum);
}

// A thread marches along z over `depth` cells. Cells of its column are in registers, a ring of 2 R + 1; its neighbours along x
// and y come from memory, where the cache has them.
extern "C" __global__ void star_march(PARAMETERS) {
    constexpr T C[] = {TABLE};
    constexpr int N = 2 * R + 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int k = blockIdx.z * depth, end = min(k + depth, nz);
    int c = k * plane + j * pitch + i;
    Fields f = {o, u, before, velocity, sponge, square};
    T q[N];
#pragma unroll
    for (int r = 0; r < N - 1; r++) q[r] = u[c + (r - R) * plane];
    while (true) {
#pragma unroll
        for (int p = 0; p < N; p++) {
            if (k >= end) return;
            q[(p + N - 1) % N] = u[c + R * plane];
            T v = q[(p + R) % N], sum = C[0] * v;
#pragma unroll
            for (int r = 1; r <= R; r++) {
                sum += C[r] * (u[c + r] + u[c - r] + u[c + r * pitch] + u[c - r * pitch] + q[(p + R + r) % N] +
                               q[(p + R - r) % N]);
            }
            store(f, c, v, sum);
            c += plane;
            k++;
        }
    }
}

// 16 bytes of cells.
constexpr int V = 16 / sizeof(T);
struct alignas(16) Group {
    T at[V];
};

// The same for cells side by side.
__device__ __forceinline__ void stores(const Fields &f, int c, const Group &v, const Group &sum) {
    Group to = sum;
#ifdef ACOUSTIC
    Group velocity = *(const Group *)(f.velocity + c), before = *(const Group *)(f.before + c);
    Group sponge = *(const Group *)(f.sponge + c);
#pragma unroll
    for (int e = 0; e < V; e++) {
        T speed = velocity.at[e] * velocity.at[e] * f.square;
        to.at[e] = (T(2) * v.at[e] - before.at[e] + speed * sum.at[e]) * sponge.at[e];
    }
#endif
    *(Group *)(f.o + c) = to;
}

__device__ __forceinline__ void copy_ahead(T *to, const T *from) {
    unsigned place = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}

// The same with a plane in shared memory, S of them in turn, so that there is one barrier a plane. A thread has V cells along x
// and CY rows of them, and its column in registers; what its neighbours have it reads 16 bytes at once. What lies around the
// block's cells comes by asynchronous copies, S - 1 planes ahead. All threads of a block march, also those beyond the last cell;
// these store nothing. nx is a multiple of V.
template <int X, int Y, int CY, int S, int UNROLL>
__device__ __forceinline__ void shared_march(const Fields &f, int nx, int ny, int nz, int pitch, int plane, int depth) {
    constexpr T C[] = {TABLE};
    constexpr int N = 2 * R + 1, A = S - 1, H = (R + V - 1) / V * V;
    constexpr int ROWS = Y * CY, COLUMNS = X * V, P = COLUMNS + 2 * H, SIZE = (ROWS + 2 * R) * P;
    constexpr int THREADS = X * Y, OF_ROW = 2 * H / V, ABOVE = 2 * R * X, ASIDE = ROWS * OF_ROW;
    __shared__ __align__(16) T tile[S * SIZE];
    int x = threadIdx.x, y = threadIdx.y, thread = y * X + x;
    int first_i = blockIdx.x * COLUMNS, first_j = blockIdx.y * ROWS;
    int k = blockIdx.z * depth, end = min(k + depth, nz);
    int corner = k * plane + first_j * pitch + first_i, own = corner + y * CY * pitch + x * V;
    const T *__restrict__ u = f.u;
    T *mine = tile + (y * CY + R) * P + H + x * V;
    auto around = [&](int from, T *to) {
#pragma unroll
        for (int n = thread; n < ABOVE; n += THREADS) {
            int row = n / X < R ? n / X - R : n / X - R + ROWS, column = n % X * V;
            copy_ahead(to + (row + R) * P + H + column, u + from + row * pitch + column);
        }
#pragma unroll
        for (int n = thread; n < ASIDE; n += THREADS) {
            int row = n / OF_ROW, g = n % OF_ROW;
            int column = g < OF_ROW / 2 ? g * V - H : (g - OF_ROW / 2) * V + COLUMNS;
            copy_ahead(to + (row + R) * P + H + column, u + from + row * pitch + column);
        }
    };
    // The newest place is for what comes next.
    Group q[CY][N + 1];
#pragma unroll
    for (int c = 0; c < CY; c++) {
#pragma unroll
        for (int r = 0; r < N; r++) q[c][r + 1] = *(const Group *)(u + own + c * pitch + (r - R) * plane);
    }
#pragma unroll
    for (int s = 0; s < A; s++) {
        if (s == 0 || k + s < end) around(corner + s * plane, tile + s * SIZE);
        asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
        for (int c = 0; c < CY; c++) *(Group *)(mine + s * SIZE + c * P) = q[c][R + 1 + s];
    }
    int turn = 0;
#pragma unroll UNROLL
    for (; k < end; k++) {
#pragma unroll
        for (int c = 0; c < CY; c++) {
#pragma unroll
            for (int r = 0; r < N; r++) q[c][r] = q[c][r + 1];
            if (k + 1 < end) q[c][N] = *(const Group *)(u + own + c * pitch + (R + 1) * plane);
            if (k + 2 < end) {
                asm volatile("prefetch.global.L2 [%0];" ::"l"(u + own + c * pitch + (R + 2) * plane));
            }
        }
        asm volatile("cp.async.wait_group %0;" ::"n"(S - 2) : "memory");
        __syncthreads();
        int to = turn + A >= S ? turn + A - S : turn + A;
        if (k + A < end) {
            around(corner + A * plane, tile + to * SIZE);
#pragma unroll
            for (int c = 0; c < CY; c++) *(Group *)(mine + to * SIZE + c * P) = q[c][R + A];
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        const T *t = mine + turn * SIZE;
        Group row[CY][2 * (H / V) + 1], column[CY + 2 * R];
#pragma unroll
        for (int c = 0; c < CY; c++) {
            row[c][H / V] = q[c][R];
#pragma unroll
            for (int g = 0; g < H / V; g++) {
                row[c][g] = *(const Group *)(t + c * P + g * V - H);
                row[c][g + H / V + 1] = *(const Group *)(t + c * P + (g + 1) * V);
            }
        }
#pragma unroll
        for (int r = 0; r < CY + 2 * R; r++) {
            column[r] = r >= R && r < R + CY ? q[r - R][R] : *(const Group *)(t + (r - R) * P);
        }
#pragma unroll
        for (int c = 0; c < CY; c++) {
            Group sum;
#pragma unroll
            for (int e = 0; e < V; e++) {
                sum.at[e] = C[0] * q[c][R].at[e];
#pragma unroll
                for (int r = 1; r <= R; r++) {
                    constexpr int M = H;
                    sum.at[e] += C[r] * (row[c][(M + e + r) / V].at[(M + e + r) % V] +
                                         row[c][(M + e - r) / V].at[(M + e - r) % V] + column[R + c + r].at[e] +
                                         column[R + c - r].at[e] + q[c][R + r].at[e] + q[c][R - r].at[e]);
                }
            }
            if (first_i + x * V < nx && first_j + y * CY + c < ny) {
                stores(f, own + c * pitch, q[c][R], sum);
            }
        }
        own += plane;
        corner += plane;
        turn = turn + 1 == S ? 0 : turn + 1;
    }
}

#define SHARED(X, Y, CY, S, BLOCKS)                                                                                    \
    extern "C" __global__ __launch_bounds__(X *Y, BLOCKS) void star_shared_##X##x##Y##x##CY##_##BLOCKS(PARAMETERS) {    \
        Fields f = {o, u, before, velocity, sponge, square};                                                           \
        shared_march<X, Y, CY, S, (R > 4 ? 2 : 4)>(f, nx, ny, nz, pitch, plane, depth);                                 \
    }

SHARED(32, 8, 1, 2, 3)
SHARED(32, 4, 1, 2, 6)
SHARED(32, 4, 2, 2, 4)
SHARED(16, 8, 1, 2, 6)
SHARED(16, 8, 2, 2, 4)
SHARED(32, 8, 2, 2, 1)
SHARED(16, 16, 2, 2, 1)
