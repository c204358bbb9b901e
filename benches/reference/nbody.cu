// Bodies that pull one another, by hand. Compiled when the bench runs.
//
// A body is x, y, z and mass. Each adds up the pulls of all in their order, so that both of these give the same bits
// without contraction. The pulls are three planes of n values.

__device__ __forceinline__ void pull(float4 own, float4 other, float softening, float &x, float &y, float &z) {
    float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    float square = dx * dx + dy * dy + dz * dz + softening;
    float strength = other.w / (square * sqrtf(square));
    x += strength * dx;
    y += strength * dy;
    z += strength * dz;
}

// From memory.
extern "C" __global__ void nbody(float *__restrict__ pulls, const float4 *__restrict__ bodies, int n, float softening) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 own = bodies[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int j = 0; j < n; j++) pull(own, bodies[j], softening, x, y, z);
    pulls[i] = x;
    pulls[n + i] = y;
    pulls[2 * n + i] = z;
}

// As many bodies in shared memory as a block has threads; n is a multiple of that.
extern "C" __global__ void nbody_tiled(float *__restrict__ pulls, const float4 *__restrict__ bodies, int n,
                                       float softening) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 own = bodies[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int first = 0; first < n; first += 256) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 256; j++) pull(own, tile[j], softening, x, y, z);
        __syncthreads();
    }
    pulls[i] = x;
    pulls[n + i] = y;
    pulls[2 * n + i] = z;
}
