// The product of two square matrices by hand, C = A B. Compiled when the bench runs.
//
// Rows of the matrices are n elements from one another. Each cell adds its products in the order of k, so that all of
// these give the same bits without contraction.

// One thread a cell, from memory.
extern "C" __global__ void gemm(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[j * n + k] * b[k * n + i];
    c[j * n + i] = sum;
}

// Squares of rows and columns in shared memory, one thread a cell; n is a multiple of W.
template <int W>
__device__ void tiled(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int n) {
    __shared__ __align__(16) float left[W][W], right[W][W];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * W + x, j = blockIdx.y * W + y;
    float sum = 0.0f;
    for (int first = 0; first < n; first += W) {
        left[y][x] = a[j * n + first + x];
        right[y][x] = b[(first + y) * n + i];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < W; k++) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c[j * n + i] = sum;
}

extern "C" __global__ void gemm_tiled_16(float *__restrict__ c, const float *__restrict__ a,
                                         const float *__restrict__ b, int n) {
    tiled<16>(c, a, b, n);
}

extern "C" __global__ void gemm_tiled_32(float *__restrict__ c, const float *__restrict__ a,
                                         const float *__restrict__ b, int n) {
    tiled<32>(c, a, b, n);
}
