// A part of a staggered seismic step by hand, in f32, as SAFARA's Fig. 8: the slopes of three fields along k, and of two
// each along j and i, drive a stress. Compiled when the bench runs.
//
// All arrays have one layout: rows `pitch` apart, planes `plane` apart, and cells before the first on each axis. The
// pointers are those of cell (0, 0, 0). A thread takes `length` cells along k.

#define ARRAYS \
    float *__restrict__ s, const float *__restrict__ z1, const float *__restrict__ z2, const float *__restrict__ z3, \
        const float *__restrict__ y1, const float *__restrict__ y2, const float *__restrict__ x1, \
        const float *__restrict__ x2, int nz, int ny, int nx, int pitch, int plane, int length, float h, float c

#define CELL \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    int j = blockIdx.y * blockDim.y + threadIdx.y; \
    if (i >= nx || j >= ny) return; \
    int first = blockIdx.z * length, end = min(nz, first + length); \
    int p = j * pitch + i + first * plane;

#define ACROSS \
    float dy = (y1[p] - y1[p - pitch]) / h + (y2[p] - y2[p - pitch]) / h; \
    float dx = (x1[p] - x1[p - 1]) / h + (x2[p] - x2[p - 1]) / h;

// All from memory.
extern "C" __global__ void seismic_plain(ARRAYS) {
    CELL
    for (int k = first; k < end; k++, p += plane) {
        float dz = (z1[p] - z1[p - plane]) / h + (z2[p] - z2[p - plane]) / h + (z3[p] - z3[p - plane]) / h;
        ACROSS
        s[p] = s[p] + c * (dz + dy + dx);
    }
}

// What a cell read along k is the next one's in registers.
extern "C" __global__ void seismic_kept(ARRAYS) {
    CELL
    if (first >= end) return;
    float a1 = z1[p - plane], a2 = z2[p - plane], a3 = z3[p - plane];
#pragma unroll 4
    for (int k = first; k < end; k++, p += plane) {
        float b1 = z1[p], b2 = z2[p], b3 = z3[p];
        float dz = (b1 - a1) / h + (b2 - a2) / h + (b3 - a3) / h;
        a1 = b1;
        a2 = b2;
        a3 = b3;
        ACROSS
        s[p] = s[p] + c * (dz + dy + dx);
    }
}
