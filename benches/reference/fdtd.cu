// Polybench's fdtd-2d by hand, in f64: three sweeps a step over n rows of n. Compiled when the bench runs.
//
// A thread takes `depth` cells of a column, one after the other, and holds what the next one needs again.

extern "C" __global__ void fdtd_ey(double *__restrict__ ey, const double *__restrict__ hz, int n, int depth, double sent) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = (blockIdx.y * blockDim.y + threadIdx.y) * depth, end = min(j + depth, n);
    if (i >= n || j >= n) return;
    int c = j * n + i;
    double before = j > 0 ? hz[c - n] : 0.0;
#pragma unroll 4
    for (; j < end; j++, c += n) {
        double here = hz[c];
        ey[c] = j > 0 ? ey[c] - 0.5 * (here - before) : sent;
        before = here;
    }
}

extern "C" __global__ void fdtd_ex(double *__restrict__ ex, const double *__restrict__ hz, int n, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = (blockIdx.y * blockDim.y + threadIdx.y) * depth, end = min(j + depth, n);
    if (i < 1 || i >= n) return;
    int c = j * n + i;
#pragma unroll 4
    for (; j < end; j++, c += n) ex[c] = ex[c] - 0.5 * (hz[c] - hz[c - 1]);
}

extern "C" __global__ void fdtd_hz(double *__restrict__ hz, const double *__restrict__ ex, const double *__restrict__ ey,
                                   int n, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = (blockIdx.y * blockDim.y + threadIdx.y) * depth, end = min(j + depth, n - 1);
    if (i >= n - 1 || j >= n - 1) return;
    int c = j * n + i;
    double here = ey[c];
#pragma unroll 4
    for (; j < end; j++, c += n) {
        double next = ey[c + n];
        hz[c] = hz[c] - 0.7 * (ex[c + 1] - ex[c] + next - here);
        here = next;
    }
}
