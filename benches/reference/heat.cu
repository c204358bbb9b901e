// The heat sweep by hand, on 3 and 2 axes. Compiled when the bench runs, with -DREAL=double or -DREAL=float.
//
// nx, ny and nz count the outermost layer of cells, which stays as it is. A row is `pitch` elements from the next; the
// array starts `lead` elements into its memory, so that rows of inner cells can start where memory transactions do.
// Thread 0 of block 0 has the cell (first, first, first): 0 as in textbooks, or 1 to start with the inner cells.
// The sum is taken in one order everywhere, so that all of these give the same bits without contraction.

typedef REAL T;

// One thread a cell.
extern "C" __global__ void heat3(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int first,
                                 int pitch, int lead, int depth, T a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    int j = blockIdx.y * blockDim.y + threadIdx.y + first;
    int k = blockIdx.z * blockDim.z + threadIdx.z + first;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
    int p = pitch * ny, c = lead + k * p + j * pitch + i;
    T v = u[c];
    o[c] = v + a * (u[c + 1] + u[c - 1] + u[c + pitch] + u[c - pitch] + u[c + p] + u[c - p] - T(6) * v);
}

// A thread marches along z over `depth` cells and holds what it passed in registers.
extern "C" __global__ void heat3_march(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int first,
                                       int pitch, int lead, int depth, T a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    int j = blockIdx.y * blockDim.y + threadIdx.y + first;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int start = blockIdx.z * depth + first, end = min(start + depth, nz - 1);
    start = max(start, 1);
    int p = pitch * ny, c = lead + start * p + j * pitch + i;
    T below = u[c - p], v = u[c];
#pragma unroll 4
    for (int k = start; k < end; k++) {
        T above = u[c + p];
        o[c] = v + a * (u[c + 1] + u[c - 1] + u[c + pitch] + u[c - pitch] + above + below - T(6) * v);
        below = v;
        v = above;
        c += p;
    }
}

// One thread a cell, on 2 axes.
extern "C" __global__ void heat2(T *__restrict__ o, const T *__restrict__ u, int nx, int ny, int nz, int first,
                                 int pitch, int lead, int depth, T a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    int j = blockIdx.y * blockDim.y + threadIdx.y + first;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int c = lead + j * pitch + i;
    T v = u[c];
    o[c] = v + a * (u[c + 1] + u[c - 1] + u[c + pitch] + u[c - pitch] - T(4) * v);
}
