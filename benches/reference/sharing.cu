// Ways to find how much of a range a block shares, and where its tile moves (Lashgar §5.3.2, Fig. 5.5 and 5.6): a product of
// matrices, blocks of 32 x 32. WIDTH 0: fixed; 1: from the kernel's arguments; 2: agreed on by the threads.
// SCOPE 0: each thread finds the tile's place (private); 1: one does, and tells the others (communicating).
// Compiled when the bench runs.

#define W 32

extern "C" __global__ void product(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int n) {
    __shared__ float ta[W][W], tb[W][W];
#if WIDTH == 2
    __shared__ int lowest, highest;
#endif
#if SCOPE == 1
    __shared__ const float *pa, *pb;
#endif
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * W + x, row = blockIdx.y * W + y;
    float sum = 0;
    for (int k = 0; k < n; k += W) {
#if WIDTH == 0
        const int width = W;
#elif WIDTH == 1
        int width = min(W, n - k);
#else
        // The iterations that the threads want next: the lowest and the highest of them.
        if (x == 0 && y == 0) lowest = 0x7fffffff, highest = -1;
        __syncthreads();
        int mine = min(k + (y * W + x) % W, n - 1);
        atomicMin(&lowest, mine);
        atomicMax(&highest, mine);
        __syncthreads();
        int width = highest - lowest + 1;
#endif
#if SCOPE == 1
        if (x == 0 && y == 0) pa = a + (size_t)(blockIdx.y * W) * n + k, pb = b + (size_t)k * n + blockIdx.x * W;
        __syncthreads();
        const float *from_a = pa + (size_t)y * n + x, *from_b = pb + (size_t)y * n + x;
#else
        const float *from_a = a + (size_t)row * n + k + x, *from_b = b + (size_t)(k + y) * n + column;
#endif
        if (x < width) ta[y][x] = *from_a;
        if (y < width) tb[y][x] = *from_b;
        __syncthreads();
#if WIDTH == 0
#pragma unroll
#endif
        for (int i = 0; i < width; i++) sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    c[(size_t)row * n + column] = sum;
}

// N bodies, blocks of 256: x, y, z, mass one after the other.
extern "C" __global__ void pulls(float *__restrict__ out, const float4 *__restrict__ bodies, int n, float softening) {
    __shared__ float4 tile[256];
#if WIDTH == 2
    __shared__ int lowest, highest;
#endif
#if SCOPE == 1
    __shared__ const float4 *place;
#endif
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float4 own = bodies[i];
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < n; j += 256) {
#if WIDTH == 0
        const int width = 256;
#elif WIDTH == 1
        int width = min(256, n - j);
#else
        if (t == 0) lowest = 0x7fffffff, highest = -1;
        __syncthreads();
        int mine = min(j + t, n - 1);
        atomicMin(&lowest, mine);
        atomicMax(&highest, mine);
        __syncthreads();
        int width = highest - lowest + 1;
#endif
#if SCOPE == 1
        if (t == 0) place = bodies + j;
        __syncthreads();
        if (t < width) tile[t] = place[t];
#else
        if (t < width) tile[t] = bodies[j + t];
#endif
        __syncthreads();
#pragma unroll 8
        for (int q = 0; q < width; q++) {
            float4 other = tile[q];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float square = dx * dx + dy * dy + dz * dz + softening;
            float strength = other.w / (square * sqrtf(square));
            fx += strength * dx, fy += strength * dy, fz += strength * dz;
        }
        __syncthreads();
    }
    out[i] = fx, out[n + i] = fy, out[2 * n + i] = fz;
}
