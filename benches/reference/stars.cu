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

// The same with the plane in shared memory: two of them in turn, so that there is one barrier a plane. All threads of a block
// march, also those beyond the last cell; these store nothing.
template <int X, int Y>
__device__ __forceinline__ void shared_march(const Fields &f, int nx, int ny, int nz, int pitch, int plane, int depth) {
    constexpr T C[] = {TABLE};
    constexpr int N = 2 * R + 1;
    __shared__ T tile[2][Y + 2 * R][X + 2 * R];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * X + x, j = blockIdx.y * Y + y;
    bool inside = i < nx && j < ny;
    int k = blockIdx.z * depth, end = min(k + depth, nz);
    int c = k * plane + j * pitch + i;
    const T *__restrict__ u = f.u;
    T q[N];
#pragma unroll
    for (int r = 0; r < N - 1; r++) q[r] = u[c + (r - R) * plane];
    int turn = 0;
    while (true) {
#pragma unroll
        for (int p = 0; p < N; p++) {
            if (k >= end) return;
            auto &t = tile[turn];
            turn ^= 1;
            T v = q[(p + R) % N];
            t[y + R][x + R] = v;
            for (int d = x; d < R; d += X) {
                t[y + R][d] = u[c - x + d - R];
                t[y + R][d + R + X] = u[c - x + d + X];
            }
            for (int d = y; d < R; d += Y) {
                t[d][x + R] = u[c + (d - y - R) * pitch];
                t[d + R + Y][x + R] = u[c + (d - y + Y) * pitch];
            }
            q[(p + N - 1) % N] = u[c + R * plane];
            __syncthreads();
            T sum = C[0] * v;
#pragma unroll
            for (int r = 1; r <= R; r++) {
                sum += C[r] * (t[y + R][x + R + r] + t[y + R][x + R - r] + t[y + R + r][x + R] + t[y + R - r][x + R] +
                               q[(p + R + r) % N] + q[(p + R - r) % N]);
            }
            if (inside) store(f, c, v, sum);
            c += plane;
            k++;
        }
    }
}

#define SHARED(X, Y)                                                                                                   \
    extern "C" __global__ __launch_bounds__(X *Y) void star_shared_##X##x##Y(PARAMETERS) {                             \
        Fields f = {o, u, before, velocity, sponge, square};                                                           \
        shared_march<X, Y>(f, nx, ny, nz, pitch, plane, depth);                                                        \
    }

SHARED(32, 8)
SHARED(32, 16)
SHARED(64, 8)
SHARED(64, 16)
