// The product of a matrix and a vector by hand, y = A x. Compiled when the bench runs.
//
// The rows of the matrix are n elements from one another. Each cell adds its products in the order of k, so that both
// of these give the same bits without contraction.

// One thread a row, from memory: the threads of a warp read lines of their own.
extern "C" __global__ void matvec(float *__restrict__ y, const float *__restrict__ a, const float *__restrict__ x,
                                  int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[(size_t)i * n + k] * x[k];
    y[i] = sum;
}

// Neighbouring threads fetch along the rows, and each goes along its own in shared memory. Blocks of T threads; the
// rows are a multiple of T, n is one of W.
template <int T, int W>
__device__ void tiled(float *__restrict__ y, const float *__restrict__ a, const float *__restrict__ x, int n) {
    __shared__ float left[T][W + 1], right[W];
    int t = threadIdx.x, first = blockIdx.x * T;
    const float *from = a + (size_t)(first + t / W) * n + t % W;
    float sum = 0.0f;
    for (int k = 0; k < n; k += W) {
#pragma unroll
        for (int turn = 0; turn < W; turn++) {
            left[t / W + turn * (T / W)][t % W] = from[k + (size_t)turn * (T / W) * n];
        }
        if (t < W) right[t] = x[k + t];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < W; i++) sum += left[t][i] * right[i];
        __syncthreads();
    }
    y[first + t] = sum;
}

extern "C" __global__ void __launch_bounds__(64) matvec_tiled(float *__restrict__ y, const float *__restrict__ a,
                                                              const float *__restrict__ x, int rows, int n) {
    tiled<64, 32>(y, a, x, n);
}
