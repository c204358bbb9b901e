// Programs whose threads talk through shared memory, by hand: those of Lashgar ch. 6, as Rodinia and NVIDIA's samples have them.
// The kernels are compiled when a bench runs, too. As a program it times them for the sizes of Figures 6.1, 6.2, 6.3 and
// 6.6, and compares every result:
//
//     nvcc -O3 -arch=sm_90 --fmad=false channels.cu -o channels && ./channels [hotspot|pathfinder|stencil|reduction|dyadic]
//
// `zone` kernels have the ghost-zone optimisation: a block makes `steps` steps of its cells, and of as many around them as
// those need, so the block's core is smaller than the block by `steps` on each side. Beyond the edge is the edge.

// A step of Hotspot, one thread a cell.
extern "C" __global__ void hotspot_step(float *__restrict__ next, const float *__restrict__ chip,
                                        const float *__restrict__ power, int ny, int nx, float step, float x, float y,
                                        float air, float ambient) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    const float *row = chip + (size_t)j * nx;
    float own = row[i];
    float along = (chip[(size_t)min(j + 1, ny - 1) * nx + i] + chip[(size_t)max(j - 1, 0) * nx + i] - 2.0f * own) * y;
    float across = (row[min(i + 1, nx - 1)] + row[max(i - 1, 0)] - 2.0f * own) * x;
    next[(size_t)j * nx + i] = own + step * (power[(size_t)j * nx + i] + along + across + (ambient - own) * air);
}

// Shared memory: two planes of the block. One barrier a step.
extern "C" __global__ void hotspot_zone(float *__restrict__ next, const float *__restrict__ chip,
                                        const float *__restrict__ power, int ny, int nx, int steps, float step, float x,
                                        float y, float air, float ambient) {
    extern __shared__ float planes[];
    int tx = threadIdx.x, ty = threadIdx.y, wide = blockDim.x, high = blockDim.y;
    int i = blockIdx.x * (wide - 2 * steps) - steps + tx, j = blockIdx.y * (high - 2 * steps) - steps + ty;
    bool within = i >= 0 && j >= 0 && i < nx && j < ny;
    size_t cell = (size_t)j * nx + i;
    int place = ty * wide + tx;
    // Neighbours beyond the edge of the chip are the cell itself. Those beyond the block's are for cells that do not count.
    int south = j + 1 < ny && ty + 1 < high ? place + wide : place, north = j > 0 && ty > 0 ? place - wide : place;
    int east = i + 1 < nx && tx + 1 < wide ? place + 1 : place, west = i > 0 && tx > 0 ? place - 1 : place;
    float own = within ? chip[cell] : 0.0f, source = within ? power[cell] : 0.0f;
    for (int s = 0; s < steps; s++) {
        float *plane = planes + (s & 1) * wide * high;
        plane[place] = own;
        __syncthreads();
        float along = (plane[south] + plane[north] - 2.0f * own) * y;
        float across = (plane[east] + plane[west] - 2.0f * own) * x;
        own = own + step * (source + along + across + (ambient - own) * air);
    }
    bool core = tx >= steps && ty >= steps && tx < wide - steps && ty < high - steps;
    if (within && core) next[cell] = own;
}

// A row of Pathfinder: `wall` is the row.
extern "C" __global__ void pathfinder_step(int *__restrict__ next, const int *__restrict__ way, const int *__restrict__ wall,
                                           int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    next[i] = wall[i] + min(min(way[max(i - 1, 0)], way[i]), way[min(i + 1, n - 1)]);
}

// `steps` rows of it: `wall` is the first of them. Shared memory: two rows of the block.
extern "C" __global__ void pathfinder_zone(int *__restrict__ next, const int *__restrict__ way, const int *__restrict__ wall,
                                           int n, int steps) {
    extern __shared__ int rows[];
    int t = threadIdx.x, wide = blockDim.x, i = blockIdx.x * (wide - 2 * steps) - steps + t;
    bool within = i >= 0 && i < n;
    int west = i > 0 && t > 0 ? t - 1 : t, east = i + 1 < n && t + 1 < wide ? t + 1 : t;
    int own = within ? way[i] : 0;
    for (int s = 0; s < steps; s++) {
        int *row = rows + (s & 1) * wide;
        row[t] = own;
        int price = within ? wall[(size_t)s * n + i] : 0;
        __syncthreads();
        own = price + min(min(row[west], own), row[east]);
    }
    if (within && t >= steps && t < wide - steps) next[i] = own;
}

// The mean of three, in whole numbers (Listings 6.2 and 6.3).
extern "C" __global__ void stencil_step(int *__restrict__ next, const int *__restrict__ u, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    next[i] = (u[max(i - 1, 0)] + u[i] + u[min(i + 1, n - 1)]) / 3;
}

extern "C" __global__ void stencil_zone(int *__restrict__ next, const int *__restrict__ u, int n, int steps) {
    extern __shared__ int rows[];
    int t = threadIdx.x, wide = blockDim.x, i = blockIdx.x * (wide - 2 * steps) - steps + t;
    bool within = i >= 0 && i < n;
    int west = i > 0 && t > 0 ? t - 1 : t, east = i + 1 < n && t + 1 < wide ? t + 1 : t;
    int own = within ? u[i] : 0;
    for (int s = 0; s < steps; s++) {
        int *row = rows + (s & 1) * wide;
        row[t] = own;
        __syncthreads();
        own = (row[west] + own + row[east]) / 3;
    }
    if (within && t >= steps && t < wide - steps) next[i] = own;
}

// The sum of each block's cells (Listing 6.6): `sums` has one for each block.
extern "C" __global__ void reduce_tile(int *__restrict__ sums, const int *__restrict__ u, int n) {
    extern __shared__ int tile[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? u[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) tile[t] += tile[t + half];
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
}

// Four values of a fast Walsh-Hadamard transform, two levels at once.
__device__ void of_four(float *a, float *b, float *c, float *d) {
    float sum = *a + *c, less = *a - *c, other = *b + *d, fewer = *b - *d;
    *a = sum + other;
    *b = sum - other;
    *c = less + fewer;
    *d = less - fewer;
}

// Two levels over all, for transforms larger than a block's: one thread for four values, `stride` apart.
extern "C" __global__ void fwht_level(float *__restrict__ u, unsigned stride) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, low = t & (stride - 1), i = (t - low) * 4 + low;
    of_four(u + i, u + i + stride, u + i + 2 * stride, u + i + 3 * stride);
}

// All levels of a block's 2^levels values, which shared memory holds.
extern "C" __global__ void fwht_block(float *__restrict__ u, int levels) {
    extern __shared__ float held[];
    unsigned n = 1u << levels, t = threadIdx.x;
    u += (size_t)blockIdx.x * n;
    for (unsigned i = t; i < n; i += blockDim.x) held[i] = u[i];
    for (unsigned stride = n / 4; stride > 0; stride /= 4) {
        __syncthreads();
        unsigned low = t & (stride - 1), i = (t - low) * 4 + low;
        of_four(held + i, held + i + stride, held + i + 2 * stride, held + i + 3 * stride);
    }
    __syncthreads();
    if (levels & 1) {
        for (unsigned i = t; i < n / 2; i += blockDim.x) {
            float a = held[2 * i], b = held[2 * i + 1];
            held[2 * i] = a + b;
            held[2 * i + 1] = a - b;
        }
        __syncthreads();
    }
    for (unsigned i = t; i < n; i += blockDim.x) u[i] = held[i];
}

// Products of two transforms.
extern "C" __global__ void fwht_product(float *__restrict__ a, const float *__restrict__ b, unsigned n, float part) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * b[i] * part;
}

#ifndef __CUDACC_RTC__

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t result_ = (call);                                                        \
        if (result_ != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result_)); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

// Memory of the GPU that holds these values.
template <typename T> struct Array {
    T *at;
    size_t n;
    explicit Array(const std::vector<T> &values) : n(values.size()) {
        CHECK(cudaMalloc(&at, n * sizeof(T)));
        set(values);
    }
    Array(const Array &) = delete;
    ~Array() { cudaFree(at); }
    void set(const std::vector<T> &values) { CHECK(cudaMemcpy(at, values.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> get() const {
        std::vector<T> values(n);
        CHECK(cudaMemcpy(values.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
};

// Microseconds of a run, the median of nine.
template <class F> double timed(F run) {
    static cudaEvent_t start = nullptr, stop = nullptr;
    if (!start) {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
    }
    std::vector<double> all;
    for (int round = 0; round < 11; round++) {
        float took;
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(start));
        run();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&took, start, stop));
        if (round > 1) all.push_back(took * 1e3);
    }
    CHECK(cudaGetLastError());
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

int apart(int n, int each) { return (n + each - 1) / each; }

void said(const char *program, const std::string &size, const std::string &form, double micros, double single, bool same) {
    printf("%-10s %-10s %-34s %10.1f us  %5.2f of single steps  %s\n", program, size.c_str(), form.c_str(), micros,
           single / micros, same ? "same bits" : "DIFFERS");
    fflush(stdout);
}

template <typename T> bool equal(const std::vector<T> &a, const std::vector<T> &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

unsigned hash(unsigned i) {
    i = (i ^ (i >> 16)) * 0x7feb352du;
    i = (i ^ (i >> 15)) * 0x846ca68bu;
    return i ^ (i >> 16);
}

template <typename T> std::vector<T> values(size_t n, unsigned below) {
    std::vector<T> made(n);
    for (size_t i = 0; i < n; i++) made[i] = T(hash((unsigned)i) % below);
    return made;
}

// 12 iterations (Fig. 6.1), halo 1, 2 and more, blocks of 8, 16 and 32 squared (Fig. 6.6).
void hotspot() {
    const int iterations = 12;
    for (int n : {128, 256, 512, 1024, 2048, 4096}) {
        // Rodinia's constants of a chip of 16 by 16 by 0.5 mm.
        float side = 0.016f / n, step = 0.001f / (3.0e6f / (0.5f * 0.0005f * 1.75e6f)) / (0.5f * 1.75e6f * 0.0005f * side * side);
        float x = 2.0f * 100.0f * 0.0005f, y = x, air = 100.0f * side * side / 0.0005f, ambient = 80.0f;
        auto start = values<float>((size_t)n * n, 1000), power = values<float>((size_t)n * n, 100);
        for (auto &v : start) v = 320.0f + v / 100;
        for (auto &v : power) v = v / 100 * 3.0e6f * side * side;
        Array<float> from(start), a(start), b(start), source(power);
        float *result = nullptr;
        auto run = [&](auto launch, int of) {
            const float *u = from.at;
            for (int done = 0; done < iterations; done += of) {
                float *to = u == a.at ? b.at : a.at;
                launch(to, u, std::min(of, iterations - done));
                u = result = to;
            }
        };
        auto found = [&] { return (result == a.at ? a : b).get(); };
        double single = 1e30;
        for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(64, 4)})
            single = std::min(single, timed([&] {
                run([&](float *to, const float *u, int) {
                    hotspot_step<<<dim3(apart(n, block.x), apart(n, block.y)), block>>>(to, u, source.at, n, n, step, x, y, air, ambient);
                }, 1);
            }));
        auto expected = found();
        std::string size = std::to_string(n) + "^2";
        said("hotspot", size, "single steps", single, single, true);
        for (int wide : {8, 16, 32})
            for (int steps : {1, 2, 3, 4, 6}) {
                int core = wide - 2 * steps;
                if (core < 2) continue;
                double took = timed([&] {
                    run([&](float *to, const float *u, int some) {
                        int core = wide - 2 * some;
                        dim3 grid(apart(n, core), apart(n, core)), block(wide, wide);
                        hotspot_zone<<<grid, block, 2 * wide * wide * sizeof(float)>>>(to, u, source.at, n, n, some, step, x, y, air, ambient);
                    }, steps);
                });
                std::string form = "halo " + std::to_string(steps) + ", " + std::to_string(wide) + "x" + std::to_string(wide);
                said("hotspot", size, form, took, single, equal(found(), expected));
            }
    }
}

// 1-D programs of whole numbers: `iterations` steps one by one, and so many at once.
template <class F, class G>
void in_a_row(const char *program, int n, int iterations, std::vector<int> halos, std::vector<int> blocks, F step, G zone) {
    auto start = values<int>(n, 10);
    Array<int> from(start), a(start), b(start);
    int *result = nullptr;
    auto run = [&](auto launch, int of) {
        const int *u = from.at;
        for (int done = 0; done < iterations; done += of) {
            int *to = u == a.at ? b.at : a.at;
            launch(to, u, done, std::min(of, iterations - done));
            u = result = to;
        }
    };
    auto found = [&] { return (result == a.at ? a : b).get(); };
    double single = timed([&] { run([&](int *to, const int *u, int done, int) { step(to, u, done); }, 1); });
    auto expected = found();
    std::string size = n >= 1 << 20 ? std::to_string(n >> 20) + "M" : std::to_string(n >> 10) + "K";
    said(program, size, "single steps", single, single, true);
    for (int wide : blocks)
        for (int halo : halos) {
            if (wide - 2 * halo < 8) continue;
            double took = timed([&] {
                run([&](int *to, const int *u, int done, int some) { zone(to, u, done, some, wide); }, halo);
            });
            std::string form = "halo " + std::to_string(halo) + ", " + std::to_string(wide);
            said(program, size, form, took, single, equal(found(), expected));
        }
}

// 120 rows (Fig. 6.2), halo 2, 12 and more, blocks of 64 to 1024 (Fig. 6.6).
void pathfinder() {
    const int iterations = 120;
    for (int n : {128 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20}) {
        Array<int> wall(values<int>((size_t)iterations * n, 10));
        in_a_row(
            "pathfinder", n, iterations, {2, 6, 12, 20}, {64, 128, 256, 512, 1024},
            [&](int *to, const int *u, int done) {
                pathfinder_step<<<apart(n, 256), 256>>>(to, u, wall.at + (size_t)done * n, n);
            },
            [&](int *to, const int *u, int done, int steps, int wide) {
                int core = wide - 2 * steps;
                pathfinder_zone<<<apart(n, core), wide, 2 * wide * sizeof(int)>>>(to, u, wall.at + (size_t)done * n, n, steps);
            });
    }
}

void stencil() {
    for (int n : {1 << 10, 16 << 10, 128 << 10, 2 << 20, 16 << 20})
        in_a_row(
            "stencil", n, 36, {2, 6, 12, 18}, {128, 256, 512, 1024},
            [&](int *to, const int *u, int) { stencil_step<<<apart(n, 256), 256>>>(to, u, n); },
            [&](int *to, const int *u, int, int steps, int wide) {
                int core = wide - 2 * steps;
                stencil_zone<<<apart(n, core), wide, 2 * wide * sizeof(int)>>>(to, u, n, steps);
            });
}

// Blocks' sums, of those again, until one is left.
void reduction() {
    for (int n : {1 << 16, 1 << 20, 1 << 24, 1 << 26}) {
        auto start = values<int>(n, 10);
        long long expected = 0;
        for (int v : start) expected += v;
        Array<int> from(start), a(std::vector<int>(apart(n, 128))), b(std::vector<int>(apart(n, 128)));
        int *result = nullptr;
        for (int wide : {256, 128, 512, 1024}) {
            double took = timed([&] {
                const int *u = from.at;
                for (int left = n; left > 1; left = apart(left, wide)) {
                    int *to = u == a.at ? b.at : a.at;
                    reduce_tile<<<apart(left, wide), wide, wide * sizeof(int)>>>(to, u, left);
                    u = result = to;
                }
            });
            int got;
            CHECK(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));
            printf("%-10s 2^%-8d tiles of %-25d %10.1f us  %7.1f GB/s  %s\n", "reduction", (int)std::lround(std::log2(n)), wide,
                   took, n * 4e-3 / took, got == expected ? "same sum" : "DIFFERS");
            fflush(stdout);
        }
    }
}

void transform(float *u, int levels, int of_block) {
    int left = levels;
    for (; left > of_block; left -= 2) {
        unsigned blocks = (1u << levels) / 4 / 256;
        fwht_level<<<blocks, 256>>>(u, 1u << (left - 2));
    }
    unsigned n = 1u << left, blocks = 1u << (levels - left);
    fwht_block<<<blocks, n / 4, n * sizeof(float)>>>(u, left);
}

// Dyadic convolution of 2^13 values, compared with the sum itself, and of 2M to 64M (Fig. 6.3).
void dyadic() {
    const int of_block = 11;
    for (int levels : {13, 14, 21, 22, 23, 24, 25, 26}) {
        unsigned n = 1u << levels;
        auto x = values<float>(n, 2), y = values<float>(n, 3);
        Array<float> a(x), b(y);
        auto run = [&] {
            transform(a.at, levels, of_block);
            transform(b.at, levels, of_block);
            fwht_product<<<apart(n, 256), 256>>>(a.at, b.at, n, 1.0f / n);
            transform(a.at, levels, of_block);
        };
        std::string check = "not compared";
        if (levels < 16) {
            run();
            auto found = a.get();
            double most = 0;
            for (unsigned k = 0; k < n; k += 61) {
                double expected = 0;
                for (unsigned i = 0; i < n; i++) expected += (double)x[i] * y[i ^ k];
                most = std::max(most, std::fabs(found[k] - expected) / expected);
            }
            check = (most < 1e-4 ? "right to " : "DIFFERS by ") + std::to_string(most);
        }
        // Of zeros, which stay what they are however often it runs.
        CHECK(cudaMemset(a.at, 0, n * sizeof(float)));
        CHECK(cudaMemset(b.at, 0, n * sizeof(float)));
        double took = timed(run);
        unsigned block = 1u << of_block, blocks = n / block;
        double part = timed([&] { fwht_block<<<blocks, block / 4, block * sizeof(float)>>>(a.at, of_block); });
        printf("%-10s 2^%-8d blocks of 2^%-24d %10.1f us  of it in blocks %.0f%%  %s\n", "dyadic", levels, of_block, took,
               300 * part / took, check.c_str());
        fflush(stdout);
    }
}

int main(int count, char **words) {
    std::string only = count > 1 ? words[1] : "";
    auto wanted = [&](const char *name) { return only.empty() || only == name; };
    if (wanted("hotspot")) hotspot();
    if (wanted("pathfinder")) pathfinder();
    if (wanted("stencil")) stencil();
    if (wanted("reduction")) reduction();
    if (wanted("dyadic")) dyadic();
}

#endif
