// Several steps in one launch, by hand: which form of fused.cuh is the fastest for each stencil, beside one sweep a launch,
// with the bits of as many single steps. Stands alone:
//
//     nvcc -O3 -arch=sm_90 -std=c++17 --fmad=false --split-compile=0 fused.cu -o fused && ./fused [STENCIL [CELLS OF AN AXIS]]
//
// With -DMULTIPLY_ADD products and the sums they go into are rounded once, as nvcc does by itself without --fmad=false.
// Stencils: heat3_f64, heat3_f32, heat2_f64, heat2_f32, mean9_f64, hotspot_f32; all of them without one.

#include "fused.cuh"

#include <algorithm>
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

// A number in 0 .. 1 for each cell, exact in float too (splitmix64), as the benches take.
template <typename T> __global__ void noise(T *u, size_t n) {
    size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    unsigned long long z = (c + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    u[c] = T(double((z ^ (z >> 31)) >> 40) / double(1 << 24));
}

// Counts the cells whose bits differ.
template <typename T> __global__ void compare(const T *a, const T *b, size_t n, unsigned long long *differ) {
    size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    for (unsigned i = 0; i < sizeof(T) / 4; i++)
        if (reinterpret_cast<const unsigned *>(a + c)[i] != reinterpret_cast<const unsigned *>(b + c)[i]) {
            atomicAdd(differ, 1);
            return;
        }
}

// Rounds of a timing, and the least milliseconds of one.
const int ROUNDS = 5;
const float LEAST = 8;

// Milliseconds of one call, the median of the rounds.
template <class F> double timed(F call) {
    static cudaEvent_t start = nullptr, stop = nullptr;
    if (!start) {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
    }
    auto once = [&](int calls) {
        float took;
        CHECK(cudaEventRecord(start));
        for (int i = 0; i < calls; i++) call();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&took, start, stop));
        return took;
    };
    once(2);
    int calls = std::max(2, (int)(LEAST / std::max(once(2) / 2, 1e-3f)));
    std::vector<double> all;
    for (int round = 0; round < ROUNDS; round++) all.push_back(once(calls) / calls);
    std::sort(all.begin(), all.end());
    return all[ROUNDS / 2];
}

int processors;

// Chunks of the marched axis: such that the blocks fill the processors once, twice and so on, and one alone.
std::vector<int> chunks(int tiles, int resident, int planes, int levels) {
    std::vector<int> found = {1};
    for (int waves : {1, 2, 3, 4, 5, 6}) {
        int many = (int)((long long)waves * resident * processors / tiles);
        if (many > found.back() && planes / many >= 2 * levels) found.push_back(many);
    }
    return found;
}

// The arrays of one stencil: what a step starts from, two to step between, and the fused result.
template <typename T> struct Arrays {
    int nx, ny, nz, pitch;
    size_t count;
    T *u, *a, *b, *fused, *source;
    unsigned long long *differ;
    std::string best;
    double fastest = 0, single = 0, cells;

    // `n` inner cells along each axis.
    Arrays(int dims, int n) : nx(n + 2), ny(n + 2), nz(dims == 3 ? n + 2 : 1), pitch(up_to(n + 2, 32)) {
        count = (size_t)pitch * ny * nz;
        cells = (double)n * n * (dims == 3 ? n : 1);
        for (T **each : {&u, &a, &b, &fused, &source}) {
            CHECK(cudaMalloc(each, count * sizeof(T)));
            noise<<<(count + 255) / 256, 256>>>(*each, count);
        }
        CHECK(cudaMalloc(&differ, sizeof *differ));
        CHECK(cudaDeviceSynchronize());
    }
    ~Arrays() {
        for (T *each : {u, a, b, fused, source}) cudaFree(each);
        cudaFree(differ);
    }
    // The cells of `fused` that differ from those of so many single steps.
    template <class F> unsigned long long wrong(int steps, F step) {
        T *from = u, *to = a;
        for (int s = 0; s < steps; s++) {
            step(to, from);
            from = to;
            to = to == a ? b : a;
        }
        unsigned long long found = 0;
        CHECK(cudaMemset(differ, 0, sizeof *differ));
        compare<<<(count + 255) / 256, 256>>>(from, fused, count, differ);
        CHECK(cudaMemcpy(&found, differ, sizeof found, cudaMemcpyDeviceToHost));
        return found;
    }
    // `chunk` blocks along the marched axis: launch(to, from, chunk).
    template <class F, class G>
    void fuse(const char *stencil, const std::string &form, const void *kernel, int levels, int tiles, int threads,
              size_t bytes, F launch, G step) {
        cudaFuncAttributes facts;
        int resident = 0, planes = nz > 1 ? nz - 2 : ny - 2;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
        CHECK(cudaFuncGetAttributes(&facts, kernel));
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes));
        if (resident == 0) return;
        // What the last form left must not pass for this one's.
        CHECK(cudaMemcpy(fused, u, count * sizeof(T), cudaMemcpyDeviceToDevice));
        double least = 0;
        int of = 0;
        auto deep = [&](int many) { return (planes + many - 1) / many; };
        for (int many : chunks(tiles, resident, planes, levels)) {
            double rate = cells * levels / timed([&] { launch(fused, u, deep(many)); }) / 1e6;
            CHECK(cudaGetLastError());
            if (rate > least) least = rate, of = many;
        }
        unsigned long long differs = wrong(levels, step);
        std::string right = differs ? std::to_string(differs) + " CELLS DIFFER" : "same bits";
        char line[256];
        snprintf(line, sizeof line, "%-14s %-34s chunk %4d, %5d blocks, %d resident, %3d regs, %3zu B spilt, %6zu B shared",
                 stencil, form.c_str(), deep(of), tiles * of, resident, facts.numRegs, facts.localSizeBytes, bytes);
        printf("%s  %7.1f Gcell-steps/s  %s\n", line, least, right.c_str());
        fflush(stdout);
        if (!differs && least > fastest) fastest = least, best = line;
    }
    void said(const char *stencil) {
        printf("BEST %-9s %7.1f Gcell-steps/s, %.2f of one sweep's %.1f: %s\n\n", stencil, fastest, fastest / single, single,
               best.c_str());
    }
};

// The marched 3-D sweeps and the 2-D ones, by their fastest blocks.
template <typename T> void one_sweep(const char *stencil, Arrays<T> &on, Heat7<T> with) {
    for (int x : {32, 64, 128})
        for (int y : {4, 8})
            for (int deep : {16, 32, 64}) {
                dim3 grid((on.nx + x - 1) / x, (on.ny + y - 1) / y, (on.nz - 2 + deep - 1) / deep);
                double took = timed([&] {
                    single3<<<grid, dim3(x, y)>>>(on.fused, on.u, on.nx, on.ny, on.nz, on.pitch, deep, with);
                });
                on.single = std::max(on.single, on.cells / took / 1e6);
            }
    CHECK(cudaGetLastError());
    printf("%-14s one sweep a launch: %.1f Gcell-steps/s\n", stencil, on.single);
}

template <class S, typename T> void one_sweep(const char *stencil, Arrays<T> &on, S with) {
    for (int x : {32, 64, 128, 256})
        for (int y : {1, 2, 4, 8}) {
            if (x * y > 1024) continue;
            dim3 grid((on.nx + x - 1) / x, (on.ny + y - 1) / y);
            double took = timed([&] {
                single2<S, T><<<grid, dim3(x, y)>>>(on.fused, on.u, on.source, on.nx, on.ny, on.pitch, with);
            });
            on.single = std::max(on.single, on.cells / took / 1e6);
        }
    CHECK(cudaGetLastError());
    printf("%-14s one sweep a launch: %.1f Gcell-steps/s\n", stencil, on.single);
}

const char *MODES[] = {"shared", "warps", "alone", "ahead"};

template <typename T, int K, int CX, int CY, int TX, int TY, Mode M, int BLOCKS>
void form3(const char *stencil, Arrays<T> &on, Heat7<T> with) {
    using Tile = Tile3<T, K, CX, CY, TX, TY, M>;
    auto kernel = fused3<T, K, CX, CY, TX, TY, M, BLOCKS>;
    char form[64];
    snprintf(form, sizeof form, "K %2d, %dx%d cells, %dx%d, %s, for %d", K, CX, CY, TX, TY, MODES[M], BLOCKS);
    int x = (on.nx - 1 + Tile::CORE_X - 1) / Tile::CORE_X, y = (on.ny - 1 + Tile::CORE_Y - 1) / Tile::CORE_Y;
    on.fuse(
        stencil, form, (const void *)kernel, K, x * y, Tile::THREADS, Tile::BYTES,
        [&](T *to, const T *from, int deep) {
            dim3 grid(x, y, (on.nz - 2 + deep - 1) / deep);
            kernel<<<grid, Tile::THREADS, Tile::BYTES>>>(to, from, on.nx, on.ny, on.nz, on.pitch, deep, with);
        },
        [&](T *to, const T *from) {
            dim3 grid((on.nx + 31) / 32, (on.ny + 7) / 8, (on.nz - 2 + 31) / 32);
            single3<T><<<grid, dim3(32, 8)>>>(to, from, on.nx, on.ny, on.nz, on.pitch, 32, with);
        });
}

template <class S, typename T, int K, int C, int THREADS, Mode M, int BLOCKS>
void form2(const char *stencil, Arrays<T> &on, S with) {
    using Tile = Tile2<T, K, C, THREADS, M>;
    auto kernel = fused2<S, T, K, C, THREADS, M, BLOCKS>;
    char form[64];
    snprintf(form, sizeof form, "K %2d, %d cells, %d, %s, for %d", K, C, THREADS, MODES[M], BLOCKS);
    int core = Tile::CORE * Tile::TILES, x = (on.nx - 1 + core - 1) / core;
    on.fuse(
        stencil, form, (const void *)kernel, K, x, THREADS, Tile::BYTES,
        [&](T *to, const T *from, int deep) {
            dim3 grid(x, (on.ny - 2 + deep - 1) / deep);
            kernel<<<grid, THREADS, Tile::BYTES>>>(to, from, on.source, on.nx, on.ny, on.pitch, deep, with);
        },
        [&](T *to, const T *from) {
            dim3 grid((on.nx + 63) / 64, (on.ny + 3) / 4);
            single2<S, T><<<grid, dim3(64, 4)>>>(to, from, on.source, on.nx, on.ny, on.pitch, with);
        });
}

// All depths of a form.
template <typename T, int CX, int CY, int TX, int TY, Mode M, int BLOCKS, int... K>
void depths3(const char *stencil, Arrays<T> &on, Heat7<T> with) {
    (form3<T, K, CX, CY, TX, TY, M, BLOCKS>(stencil, on, with), ...);
}
template <class S, typename T, int C, int THREADS, Mode M, int BLOCKS, int... K>
void depths2(const char *stencil, Arrays<T> &on, S with) {
    (form2<S, T, K, C, THREADS, M, BLOCKS>(stencil, on, with), ...);
}

int main(int count, char **words) {
    std::string only = count > 1 ? words[1] : "";
    int asked = count > 2 ? atoi(words[2]) : 0;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    processors = device.multiProcessorCount;
    printf("%s, %d processors\n", device.name, processors);
    auto wanted = [&](const char *name) { return only.empty() || only == "all" || only == name; };
    int n3 = asked ? asked : 512, n2 = asked ? asked : 8192, n2_spot = asked ? asked : 4096;
    if (wanted("heat3_f64")) {
        const char *name = "heat3 f64";
        Arrays<double> on(3, n3);
        Heat7<double> with{0.1};
        one_sweep(name, on, with);
        depths3<double, 1, 4, 32, 8, SHARED, 1, 2, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 16, SHARED, 1, 3, 4>(name, on, with);
        depths3<double, 1, 4, 64, 8, SHARED, 1, 2, 3, 4>(name, on, with);
        depths3<double, 1, 8, 32, 8, SHARED, 1, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 8, WARPS, 1, 2, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 8, WARPS, 2, 3, 4>(name, on, with);
        depths3<double, 1, 4, 32, 16, WARPS, 1, 3, 4>(name, on, with);
        depths3<double, 1, 8, 32, 8, WARPS, 1, 3, 4>(name, on, with);
        depths3<double, 2, 2, 32, 16, WARPS, 1, 2, 3, 4>(name, on, with);
        depths3<double, 2, 2, 32, 8, WARPS, 2, 2, 3>(name, on, with);
        depths3<double, 2, 4, 32, 8, WARPS, 1, 2, 3, 4>(name, on, with);
        depths3<double, 2, 4, 32, 8, WARPS, 2, 2>(name, on, with);
        depths3<double, 2, 3, 32, 12, WARPS, 1, 3, 4>(name, on, with);
        depths3<double, 2, 4, 32, 10, WARPS, 1, 3>(name, on, with);
        depths3<double, 2, 4, 32, 12, WARPS, 1, 2, 3>(name, on, with);
        depths3<double, 1, 4, 32, 16, AHEAD, 1, 3>(name, on, with);
        depths3<double, 2, 4, 32, 8, AHEAD, 1, 3>(name, on, with);
        on.said(name);
    }
    if (wanted("heat3_f32")) {
        const char *name = "heat3 f32";
        Arrays<float> on(3, n3);
        Heat7<float> with{0.1f};
        one_sweep(name, on, with);
        depths3<float, 1, 4, 64, 8, SHARED, 1, 3, 4>(name, on, with);
        depths3<float, 1, 8, 64, 8, SHARED, 1, 3, 4>(name, on, with);
        depths3<float, 2, 4, 32, 8, WARPS, 1, 3, 4, 5>(name, on, with);
        depths3<float, 2, 4, 32, 8, WARPS, 2, 3, 4>(name, on, with);
        depths3<float, 2, 4, 32, 16, WARPS, 1, 3, 4, 5>(name, on, with);
        depths3<float, 2, 3, 32, 16, WARPS, 1, 4>(name, on, with);
        depths3<float, 4, 2, 32, 16, WARPS, 1, 3, 4>(name, on, with);
        depths3<float, 2, 6, 32, 8, WARPS, 1, 4>(name, on, with);
        depths3<float, 2, 4, 32, 12, WARPS, 1, 4, 5>(name, on, with);
        depths3<float, 4, 4, 32, 8, WARPS, 1, 3, 4>(name, on, with);
        depths3<float, 4, 3, 32, 12, WARPS, 1, 4>(name, on, with);
        depths3<float, 2, 8, 32, 8, WARPS, 1, 4>(name, on, with);
        depths3<float, 2, 4, 32, 16, AHEAD, 1, 3, 4>(name, on, with);
        depths3<float, 2, 4, 32, 8, AHEAD, 2, 3>(name, on, with);
        on.said(name);
    }
    if (wanted("heat2_f64")) {
        const char *name = "heat2 f64";
        Arrays<double> on(2, n2);
        Heat5<double> with{0.1};
        using S = Heat5<double>;
        one_sweep(name, on, with);
        depths2<S, double, 4, 128, SHARED, 1, 4, 8>(name, on, with);
        depths2<S, double, 4, 256, SHARED, 1, 4, 8>(name, on, with);
        depths2<S, double, 4, 128, WARPS, 1, 4, 6, 8, 12>(name, on, with);
        depths2<S, double, 4, 128, WARPS, 3, 6, 8>(name, on, with);
        depths2<S, double, 4, 256, WARPS, 1, 6, 8>(name, on, with);
        depths2<S, double, 4, 64, WARPS, 1, 8>(name, on, with);
        depths2<S, double, 8, 128, WARPS, 1, 4, 5>(name, on, with);
        depths2<S, double, 2, 256, WARPS, 1, 8, 12>(name, on, with);
        depths2<S, double, 2, 256, WARPS, 2, 8, 12>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 1, 3, 4, 6, 8>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 3, 4, 6, 8>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 4, 4, 6>(name, on, with);
        depths2<S, double, 8, 128, ALONE, 1, 2, 3, 4>(name, on, with);
        depths2<S, double, 6, 128, ALONE, 1, 4, 5>(name, on, with);
        depths2<S, double, 4, 128, AHEAD, 3, 5>(name, on, with);
        depths2<S, double, 4, 128, AHEAD, 1, 5, 7>(name, on, with);
        on.said(name);
    }
    if (wanted("heat2_f32")) {
        const char *name = "heat2 f32";
        Arrays<float> on(2, n2);
        Heat5<float> with{0.1f};
        using S = Heat5<float>;
        one_sweep(name, on, with);
        depths2<S, float, 4, 128, SHARED, 1, 8>(name, on, with);
        depths2<S, float, 4, 128, WARPS, 1, 8, 12, 16>(name, on, with);
        depths2<S, float, 4, 256, WARPS, 1, 8, 12>(name, on, with);
        depths2<S, float, 8, 128, WARPS, 1, 4, 6, 8>(name, on, with);
        depths2<S, float, 4, 128, ALONE, 1, 4, 8>(name, on, with);
        depths2<S, float, 8, 128, ALONE, 1, 4, 6, 8>(name, on, with);
        depths2<S, float, 8, 128, ALONE, 3, 6, 8>(name, on, with);
        depths2<S, float, 16, 128, ALONE, 1, 3>(name, on, with);
        depths2<S, float, 8, 128, AHEAD, 1, 5, 7>(name, on, with);
        on.said(name);
    }
    if (wanted("mean9_f64")) {
        const char *name = "mean9 f64";
        Arrays<double> on(2, n2);
        Mean9<double> with{0.2, 0.15, 0.05};
        using S = Mean9<double>;
        one_sweep(name, on, with);
        depths2<S, double, 4, 128, ALONE, 1, 2, 3, 4, 5, 6>(name, on, with);
        depths2<S, double, 4, 128, ALONE, 3, 3, 4>(name, on, with);
        depths2<S, double, 4, 64, ALONE, 1, 4>(name, on, with);
        depths2<S, double, 2, 128, ALONE, 1, 4, 6>(name, on, with);
        depths2<S, double, 6, 128, ALONE, 1, 3, 4>(name, on, with);
        depths2<S, double, 8, 128, ALONE, 1, 2, 3>(name, on, with);
        depths2<S, double, 4, 32, AHEAD, 8, 5>(name, on, with);
        depths2<S, double, 4, 128, AHEAD, 3, 3, 4>(name, on, with);
        on.said(name);
    }
    if (wanted("hotspot_f32")) {
        const char *name = "hotspot f32";
        Arrays<float> on(2, n2_spot);
        Hotspot<float> with{0.3f, 0.1f, 0.15f, 0.05f, 0.25f};
        using S = Hotspot<float>;
        one_sweep(name, on, with);
        depths2<S, float, 4, 128, WARPS, 1, 4, 8>(name, on, with);
        depths2<S, float, 4, 128, ALONE, 1, 2, 4, 6, 8>(name, on, with);
        depths2<S, float, 4, 128, ALONE, 4, 4, 8>(name, on, with);
        depths2<S, float, 8, 128, ALONE, 1, 3, 4, 6>(name, on, with);
        depths2<S, float, 4, 128, AHEAD, 3, 3, 5>(name, on, with);
        on.said(name);
    }
}
