// Prolongation and a product of matrices by hand, in f64. Compiled when the bench runs.

// Each cell of a fine grid of n cells along each axis takes the value of the coarse cell that it lies in: a thread writes two
// cells of a row, past the caches if that is asked for.
template <bool PAST> __device__ __forceinline__ void put(double2 *to, double2 both) {
    if (PAST) __stcs(to, both);
    else *to = both;
}

template <bool PAST>
__device__ __forceinline__ void pair(double2 *__restrict__ fine, const double *__restrict__ coarse, int n) {
    int h = n / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= h || j >= n || k >= n) return;
    double v = coarse[((k / 2) * h + j / 2) * h + i];
    put<PAST>(fine + (k * n + j) * h + i, make_double2(v, v));
}

extern "C" __global__ void prolong_pair(double2 *__restrict__ fine, const double *__restrict__ coarse, int n) {
    pair<false>(fine, coarse, n);
}

extern "C" __global__ void prolong_pair_past(double2 *__restrict__ fine, const double *__restrict__ coarse, int n) {
    pair<true>(fine, coarse, n);
}

// The same, with a thread for each coarse cell: it writes all eight cells.
template <bool PAST>
__device__ __forceinline__ void eight(double2 *__restrict__ fine, const double *__restrict__ coarse, int n) {
    int h = n / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= h || j >= h || k >= h) return;
    double v = coarse[(k * h + j) * h + i];
    double2 both = make_double2(v, v);
    double2 *to = fine + (2 * k * n + 2 * j) * h + i;
    put<PAST>(to, both);
    put<PAST>(to + h, both);
    put<PAST>(to + n * h, both);
    put<PAST>(to + n * h + h, both);
}

extern "C" __global__ void prolong_eight(double2 *__restrict__ fine, const double *__restrict__ coarse, int n) {
    eight<false>(fine, coarse, n);
}

extern "C" __global__ void prolong_eight_past(double2 *__restrict__ fine, const double *__restrict__ coarse, int n) {
    eight<true>(fine, coarse, n);
}

// C = A B, for n rows of n. A block of (BM / TM) (BN / TN) threads makes BM x BN cells of C, TM x TN of them a thread, in
// registers; strips of BK columns of A and rows of B lie in shared memory, and the next strips are on their way while these are
// used. Products are added in the order of k. BM, BN and BK divide n.
template <int BM, int BN, int BK, int TM, int TN>
__device__ __forceinline__ void product(double *__restrict__ c, const double *__restrict__ a,
                                        const double *__restrict__ b, int n) {
    constexpr int X = BN / TN, Y = BM / TM, THREADS = X * Y;
    constexpr int OF_A = BM * BK / THREADS, OF_B = BN * BK / THREADS;
    __shared__ double left[2][BK][BM + 2], right[2][BK][BN];
    int t = threadIdx.x, x = t % X, y = t / X;
    const double *from_a = a + (long long)blockIdx.y * BM * n;
    const double *from_b = b + blockIdx.x * BN;
    double sum[TM][TN] = {}, next_a[OF_A], next_b[OF_B];
    auto fetch = [&](int k) {
#pragma unroll
        for (int q = 0; q < OF_A; q++) {
            int e = t + q * THREADS;
            next_a[q] = from_a[(long long)(e / BK) * n + k + e % BK];
        }
#pragma unroll
        for (int q = 0; q < OF_B; q++) {
            int e = t + q * THREADS;
            next_b[q] = from_b[(long long)(k + e / BN) * n + e % BN];
        }
    };
    auto put = [&](int turn) {
#pragma unroll
        for (int q = 0; q < OF_A; q++) {
            int e = t + q * THREADS;
            left[turn][e % BK][e / BK] = next_a[q];
        }
#pragma unroll
        for (int q = 0; q < OF_B; q++) {
            int e = t + q * THREADS;
            right[turn][e / BN][e % BN] = next_b[q];
        }
    };
    fetch(0);
    put(0);
    __syncthreads();
    int turn = 0;
    for (int first = BK; first <= n; first += BK) {
        if (first < n) fetch(first);
#pragma unroll
        for (int k = 0; k < BK; k++) {
            double of_a[TM], of_b[TN];
#pragma unroll
            for (int r = 0; r < TM; r++) of_a[r] = left[turn][k][y * TM + r];
#pragma unroll
            for (int s = 0; s < TN; s++) of_b[s] = right[turn][k][x + s * X];
#pragma unroll
            for (int r = 0; r < TM; r++) {
#pragma unroll
                for (int s = 0; s < TN; s++) sum[r][s] += of_a[r] * of_b[s];
            }
        }
        turn ^= 1;
        if (first < n) put(turn);
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < TM; r++) {
#pragma unroll
        for (int s = 0; s < TN; s++) {
            c[((long long)blockIdx.y * BM + y * TM + r) * n + blockIdx.x * BN + x + s * X] = sum[r][s];
        }
    }
}

#define PRODUCT(BM, BN, BK, TM, TN)                                                                                    \
    extern "C" __global__ __launch_bounds__(BM *BN / TM / TN) void product_##BM##x##BN##x##BK##_##TM##x##TN(           \
        double *__restrict__ c, const double *__restrict__ a, const double *__restrict__ b, int n) {                   \
        product<BM, BN, BK, TM, TN>(c, a, b, n);                                                                       \
    }

PRODUCT(64, 64, 16, 4, 4)
PRODUCT(64, 64, 8, 8, 4)
PRODUCT(128, 64, 8, 8, 4)
PRODUCT(64, 64, 8, 8, 8)
PRODUCT(128, 128, 8, 8, 8)
