// Work without neighbours by hand, in f64: the compute-bound kernel of TiDA-acc (VI-B), a sum, a copy. Compiled when
// the bench runs. Counts are of cells; those of `sum` and `copy` are even.

// Each cell adds sqrt(sin^2 + cos^2) of itself, again and again: one thread a cell.
extern "C" __global__ void sin_cos(double *__restrict__ u, unsigned n, unsigned long long iterations) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    double x = u[c];
    for (unsigned long long t = 0; t < iterations; t++) {
        double s = sin(x), k = cos(x);
        x = x + sqrt(s * s + k * k);
    }
    u[c] = x;
}

// The same with one reduction of the argument for both functions.
extern "C" __global__ void sin_cos_paired(double *__restrict__ u, unsigned n, unsigned long long iterations) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    double x = u[c];
    for (unsigned long long t = 0; t < iterations; t++) {
        double s, k;
        sincos(x, &s, &k);
        x = x + sqrt(s * s + k * k);
    }
    u[c] = x;
}

// Adds all cells to `out`, in any order. Blocks are whole warps.
extern "C" __global__ void sum(const double2 *__restrict__ u, unsigned n, double *__restrict__ out) {
    __shared__ double parts[32];
    double s = 0;
    unsigned stride = gridDim.x * blockDim.x;
#pragma unroll 4
    for (unsigned c = blockIdx.x * blockDim.x + threadIdx.x; c < n / 2; c += stride) {
        double2 v = u[c];
        s += v.x + v.y;
    }
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    s = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

extern "C" __global__ void copy(double2 *__restrict__ o, const double2 *__restrict__ u, unsigned n) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n / 2) o[c] = u[c];
}
