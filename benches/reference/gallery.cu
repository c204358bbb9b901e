// Programs of the gallery by hand, in f32 unless said, as their papers' CUDA versions do them (Lashgar §3.3.1; MESI-CUDA, Table 3).
// Compiled when the bench runs. Arrays "with a ring" have one cell more on each side, which holds what lies outside.

#define AT(array, j, i) array[(j) * (n + 2) + (i)]

// c = a + b; n counts groups of four values.
extern "C" __global__ void matrix_add(float4 *__restrict__ c, const float4 *__restrict__ a, const float4 *__restrict__ b,
                                      unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

extern "C" __global__ void products(float4 *__restrict__ c, const float4 *__restrict__ a, const float4 *__restrict__ b,
                                    unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x * y.x, x.y * y.y, x.z * y.z, x.w * y.w);
}

// The sum of the threads' values, in thread 0. Blocks are whole warps.
__device__ float of_block(float s) {
    __shared__ float parts[32];
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x >= 32) return 0;
    s = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
    return s;
}

// Adds all products to `out`.
extern "C" __global__ void dot(const float4 *__restrict__ a, const float4 *__restrict__ b, unsigned n,
                               float *__restrict__ out) {
    float s = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 x = a[i], y = b[i];
        s += (x.x * y.x + x.y * y.y) + (x.z * y.z + x.w * y.w);
    }
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

extern "C" __global__ void sum(const float4 *__restrict__ a, unsigned n, float *__restrict__ out) {
    float s = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 x = a[i];
        s += (x.x + x.y) + (x.z + x.w);
    }
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// The highest of values that are not negative, whose bits are ordered as they are.
extern "C" __global__ void highest(const float4 *__restrict__ a, unsigned n, int *__restrict__ out) {
    float s = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 x = a[i];
        s = fmaxf(s, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
    }
    for (int d = 16; d > 0; d /= 2) s = fmaxf(s, __shfl_down_sync(0xffffffff, s, d));
    if (threadIdx.x % 32 == 0) atomicMax(out, __float_as_int(s));
}

// Doubles one value: what a launch takes that does nothing.
extern "C" __global__ void one(float *__restrict__ to, const float *__restrict__ from) { *to = *from * 2; }

// Distances of places to a target, and the nearest behind the one found before: distance and number in one word.
extern "C" __global__ void distances(float *__restrict__ d, const float2 *__restrict__ place, float y, float x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = place[i];
    float dy = p.x - y, dx = p.y - x;
    d[i] = sqrtf(dy * dy + dx * dx);
}

extern "C" __global__ void nearest(const float *__restrict__ d, unsigned n, unsigned long long *found, unsigned k) {
    unsigned long long least = ~0ull;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long key = (unsigned long long)__float_as_uint(d[i]) << 32 | i;
        if (k > 0 && key <= found[k - 1]) continue;
        least = key < least ? key : least;
    }
    for (int s = 16; s > 0; s /= 2) {
        unsigned long long other = __shfl_down_sync(0xffffffff, least, s);
        least = other < least ? other : least;
    }
    if (threadIdx.x % 32 == 0) atomicMin(&found[k], least);
}

// Sobel's filter over bytes; dark outside. A block of 32 x 8 has its pixels and those around them in shared memory.
extern "C" __global__ void sobel(unsigned char *__restrict__ edges, const unsigned char *__restrict__ picture, int n) {
    __shared__ unsigned char t[10][36];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int q = threadIdx.y * 32 + threadIdx.x; q < 340; q += 256) {
        int j = y0 + q / 34 - 1, i = x0 + q % 34 - 1;
        t[q / 34][q % 34] = j >= 0 && j < n && i >= 0 && i < n ? picture[j * n + i] : 0;
    }
    __syncthreads();
    int j = y0 + threadIdx.y, i = x0 + threadIdx.x;
    if (j >= n || i >= n) return;
    int y = threadIdx.y, x = threadIdx.x;
    int nw = t[y][x], no = t[y][x + 1], ne = t[y][x + 2], w = t[y + 1][x], e = t[y + 1][x + 2];
    int sw = t[y + 2][x], so = t[y + 2][x + 1], se = t[y + 2][x + 2];
    int across = ne + 2 * e + se - nw - 2 * w - sw, down = sw + 2 * so + se - nw - 2 * no - ne;
    edges[j * n + i] = min(abs(across) + abs(down), 255);
}

extern "C" __global__ void sobel_plain(unsigned char *__restrict__ edges, const unsigned char *__restrict__ picture, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
#define P(dj, di) \
    (j + dj >= 0 && j + dj < n && i + di >= 0 && i + di < n ? (int)picture[(j + dj) * n + i + di] : 0)
    int across = P(-1, 1) + 2 * P(0, 1) + P(1, 1) - P(-1, -1) - 2 * P(0, -1) - P(1, -1);
    int down = P(1, -1) + 2 * P(1, 0) + P(1, 1) - P(-1, -1) - 2 * P(-1, 0) - P(-1, 1);
    edges[j * n + i] = min(abs(across) + abs(down), 255);
}

// A mean of nine, with a ring.
extern "C" __global__ void jacobi9(float *__restrict__ next, const float *__restrict__ u, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > n || j > n) return;
    float sides = AT(u, j - 1, i) + AT(u, j, i - 1) + AT(u, j, i + 1) + AT(u, j + 1, i);
    float corners = AT(u, j - 1, i - 1) + AT(u, j - 1, i + 1) + AT(u, j + 1, i - 1) + AT(u, j + 1, i + 1);
    AT(next, j, i) = 0.2f * AT(u, j, i) + 0.15f * sides + 0.05f * corners;
}

// The same with the cells of a block of 32 x 8 and those around them in shared memory.
extern "C" __global__ void jacobi9_tiled(float *__restrict__ next, const float *__restrict__ u, int n) {
    __shared__ float t[10][34];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int q = threadIdx.y * 32 + threadIdx.x; q < 340; q += 256) {
        int j = min(y0 + q / 34, n + 1), i = min(x0 + q % 34, n + 1);
        t[q / 34][q % 34] = AT(u, j, i);
    }
    __syncthreads();
    int y = threadIdx.y + 1, x = threadIdx.x + 1, j = y0 + y, i = x0 + x;
    if (j > n || i > n) return;
    float sides = t[y - 1][x] + t[y][x - 1] + t[y][x + 1] + t[y + 1][x];
    float corners = t[y - 1][x - 1] + t[y - 1][x + 1] + t[y + 1][x - 1] + t[y + 1][x + 1];
    AT(next, j, i) = 0.2f * t[y][x] + 0.15f * sides + 0.05f * corners;
}

// A step of SRAD (Rodinia), in three kernels: sums of values and squares, coefficients, update. Beyond the edge is the edge.
extern "C" __global__ void srad_sums(const float *__restrict__ u, unsigned n, float *__restrict__ out) {
    float s = 0, q = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = u[i];
        s += x, q += x * x;
    }
    s = of_block(s);
    __syncthreads();
    q = of_block(q);
    if (threadIdx.x == 0) atomicAdd(out, s), atomicAdd(out + 1, q);
}

extern "C" __global__ void srad_coefficients(float *__restrict__ k, const float *__restrict__ u, int n,
                                             const float *__restrict__ sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float pixels = (float)n * (float)n, mean = sums[0] / pixels;
    float speckle = (sums[1] / pixels - mean * mean) / (mean * mean);
    float c = u[j * n + i];
    float no = u[max(j - 1, 0) * n + i] - c, so = u[min(j + 1, n - 1) * n + i] - c;
    float w = u[j * n + max(i - 1, 0)] - c, e = u[j * n + min(i + 1, n - 1)] - c;
    float gradient = (no * no + so * so + w * w + e * e) / (c * c), laplacian = (no + so + w + e) / c;
    float part = 1.0f + 0.25f * laplacian;
    float local = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (part * part);
    float excess = (local - speckle) / (speckle * (1.0f + speckle));
    k[j * n + i] = fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
}

extern "C" __global__ void srad_update(float *__restrict__ next, const float *__restrict__ u, const float *__restrict__ k,
                                       int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float c = u[j * n + i];
    int below = min(j + 1, n - 1) * n + i, right = j * n + min(i + 1, n - 1);
    float no = u[max(j - 1, 0) * n + i] - c, so = u[below] - c;
    float w = u[j * n + max(i - 1, 0)] - c, e = u[right] - c;
    float flow = k[j * n + i] * (no + w) + k[below] * so + k[right] * e;
    next[j * n + i] = c + 0.125f * flow;
}

// The electric field, then the magnetic one (FDTD), with rings.
extern "C" __global__ void electric(float *__restrict__ ex, float *__restrict__ ey, const float *__restrict__ h, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > n || j > n) return;
    float c = AT(h, j, i);
    AT(ex, j, i) = AT(ex, j, i) - 0.5f * (c - AT(h, j, i - 1));
    AT(ey, j, i) = AT(ey, j, i) - 0.5f * (c - AT(h, j - 1, i));
}

extern "C" __global__ void magnetic(float *__restrict__ h, const float *__restrict__ ex, const float *__restrict__ ey, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > n || j > n) return;
    AT(h, j, i) = AT(h, j, i) - 0.4f * (AT(ex, j, i + 1) - AT(ex, j, i) + AT(ey, j + 1, i) - AT(ey, j, i));
}

// Heat in a chip, with rings; and from shared memory.
extern "C" __global__ void hotspot(float *__restrict__ next, const float *__restrict__ t, const float *__restrict__ power,
                                   int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > n || j > n) return;
    float c = AT(t, j, i);
    float down = (AT(t, j + 1, i) + AT(t, j - 1, i) - 2.0f * c) * 0.1f;
    float across = (AT(t, j, i + 1) + AT(t, j, i - 1) - 2.0f * c) * 0.1f;
    AT(next, j, i) = c + 0.5f * (AT(power, j, i) + down + across + (0.25f - c) * 0.01f);
}

extern "C" __global__ void hotspot_tiled(float *__restrict__ next, const float *__restrict__ t,
                                         const float *__restrict__ power, int n) {
    __shared__ float s[10][34];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int q = threadIdx.y * 32 + threadIdx.x; q < 340; q += 256) {
        int j = min(y0 + q / 34, n + 1), i = min(x0 + q % 34, n + 1);
        s[q / 34][q % 34] = AT(t, j, i);
    }
    __syncthreads();
    int y = threadIdx.y + 1, x = threadIdx.x + 1, j = y0 + y, i = x0 + x;
    if (j > n || i > n) return;
    float c = s[y][x];
    float down = (s[y + 1][x] + s[y - 1][x] - 2.0f * c) * 0.1f, across = (s[y][x + 1] + s[y][x - 1] - 2.0f * c) * 0.1f;
    AT(next, j, i) = c + 0.5f * (AT(power, j, i) + down + across + (0.25f - c) * 0.01f);
}

// Point Jacobi of 19 points (Himeno), with rings; coefficients are planes one after the other.
extern "C" __global__ void poisson(float *__restrict__ next, const float *__restrict__ p, const float *__restrict__ a,
                                   const float *__restrict__ b, const float *__restrict__ c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i >= n || j >= n) return;
    int row = n + 2, plane = row * row, at = (k + 1) * plane + (j + 1) * row + i + 1;
    int cell = (k * n + j) * n + i, cells = n * n * n;
    float sum = a[cell] * p[at + plane] + a[cells + cell] * p[at + row] + a[2 * cells + cell] * p[at + 1] +
                b[cell] * (p[at + plane + row] - p[at + plane - row] - p[at - plane + row] + p[at - plane - row]) +
                b[cells + cell] * (p[at + row + 1] - p[at - row + 1] - p[at + row - 1] + p[at - row - 1]) +
                b[2 * cells + cell] * (p[at + plane + 1] - p[at - plane + 1] - p[at + plane - 1] + p[at - plane - 1]) +
                c[cell] * p[at - plane] + c[cells + cell] * p[at - row] + c[2 * cells + cell] * p[at - 1];
    next[at] = p[at] + 0.8f * (sum * a[3 * cells + cell] - p[at]);
}

// Back propagation (Rodinia): sums of 16 hidden units, all that is small in one warp, the weights of the first layer.
extern "C" __global__ void forward(const float *__restrict__ weights, const float *__restrict__ x, unsigned inputs,
                                   float *__restrict__ sums) {
    const float *row = weights + (size_t)blockIdx.y * inputs;
    float s = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < inputs; i += gridDim.x * blockDim.x) s += row[i] * x[i];
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(sums + blockIdx.y, s);
}

extern "C" __global__ void units(const float *__restrict__ sums, float *__restrict__ last_weights,
                                 float *__restrict__ last_changes, float *__restrict__ errors, float *__restrict__ output) {
    unsigned t = threadIdx.x;
    bool in = t < 16;
    float h = in ? 1.0f / (1.0f + expf(-sums[t])) : 0, w = in ? last_weights[t] : 0, s = w * h;
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    float out = 1.0f / (1.0f + expf(-s)), wrong = out * (1.0f - out) * (0.1f - out);
    if (t == 0) *output = out;
    if (!in) return;
    errors[t] = h * (1.0f - h) * (wrong * w);
    float c = 0.3f * wrong * h + 0.3f * last_changes[t];
    last_changes[t] = c;
    last_weights[t] = w + c;
}

extern "C" __global__ void adjust(float *__restrict__ weights, float *__restrict__ changes, const float *__restrict__ errors,
                                  const float *__restrict__ x, unsigned inputs) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= inputs) return;
    size_t p = (size_t)blockIdx.y * inputs + i;
    float c = 0.3f * errors[blockIdx.y] * x[i] + 0.3f * changes[p];
    changes[p] = c;
    weights[p] = weights[p] + c;
}

// A level of a breadth-first search (Rodinia): nodes of the front push into their children; then the front moves on.
extern "C" __global__ void push(const int *__restrict__ first, const int *__restrict__ children, unsigned char *front,
                                unsigned char *reached, const unsigned char *seen, int *level, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !front[i]) return;
    front[i] = 0;
    for (int e = first[i]; e < first[i + 1]; e++) {
        int child = children[e];
        if (seen[child]) continue;
        level[child] = level[i] + 1;
        reached[child] = 1;
    }
}

extern "C" __global__ void move_on(unsigned char *front, unsigned char *reached, unsigned char *seen, int *more, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !reached[i]) return;
    front[i] = seen[i] = 1;
    reached[i] = 0;
    *more = 1;
}
