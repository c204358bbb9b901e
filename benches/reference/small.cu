// Sweeps of small grids by hand, one launch a step. Compiled when the bench runs.

// PolyBench's jacobi-2d of `n` rows of `n`: the mean of a cell and its four neighbours; the outer cells stay.
extern "C" __global__ void jacobi(double *__restrict__ next, const double *__restrict__ u, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= n - 1 || j >= n - 1) return;
    const double *c = u + (size_t)j * n + i;
    next[(size_t)j * n + i] = 0.2 * (c[0] + c[-1] + c[1] + c[n] + c[-n]);
}
