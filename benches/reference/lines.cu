// Sums along each axis of n x n values by hand, a thread a line: how many values have to be under way where lines are
// few. `lines [N] [f32 or f64]` prints the share of a copy's speed of each form, whose values are compared with the
// host's.
//
// nvcc -O3 -arch=native -fmad=false -o lines lines.cu

#include "host.h"

#include <cuda_pipeline.h>

// What a copy of as many bytes takes is what all else is compared with.
template <class T> __global__ void copied(T *__restrict__ to, const T *__restrict__ from, size_t cells) {
    size_t cell = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (cell < cells) to[cell] = from[cell];
}

// Along axis 0: what the cell before wrote is read back from memory.
template <class T> __global__ void simple(T *__restrict__ sum, const T *__restrict__ u, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) {
        int place = (j + 1) * stride + i;
        sum[place] = u[j * n + i] + sum[place - stride];
    }
}

// Along axis 0: CELLS values of the line are fetched while those before them are added.
template <class T, int CELLS> __global__ void ahead(T *__restrict__ sum, const T *__restrict__ u, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T next[CELLS], now[CELLS], held[CELLS + 1];
    held[CELLS] = sum[i];
    int first = 0;
    if (CELLS <= n) {
#pragma unroll
        for (int c = 0; c < CELLS; c++) next[c] = u[c * n + i];
    }
    for (; first + CELLS <= n; first += CELLS) {
#pragma unroll
        for (int c = 0; c < CELLS; c++) now[c] = next[c];
        if (first + 2 * CELLS <= n) {
#pragma unroll
            for (int c = 0; c < CELLS; c++) next[c] = u[(first + CELLS + c) * n + i];
        }
        held[0] = held[CELLS];
#pragma unroll
        for (int c = 0; c < CELLS; c++) held[c + 1] = now[c] + held[c];
#pragma unroll
        for (int c = 0; c < CELLS; c++) sum[(first + c + 1) * stride + i] = held[c + 1];
    }
    T before = held[CELLS];
    for (; first < n; first++) sum[(first + 1) * stride + i] = before = u[first * n + i] + before;
}

// Along the last axis: a warp has 32 lines; the next COLUMNS of them lie in registers while the others are added.
template <class T, int COLUMNS> __global__ void rows(T *__restrict__ sum, const T *__restrict__ u, int n, int stride) {
    __shared__ T tile[32 * (COLUMNS + 1)], out[32 * (COLUMNS + 1)];
    int thread = threadIdx.x, line = blockIdx.x * 32, own = thread * (COLUMNS + 1);
    T next[COLUMNS], before = line + thread < n ? sum[(line + thread) * stride] : T(0);
    const int each = COLUMNS / 32;
    auto fetch = [&](int first) {
#pragma unroll
        for (int v = 0; v < COLUMNS; v++) {
            int row = v / each, column = v % each * 32 + thread;
            if (line + row < n && first + column < n) next[v] = u[(line + row) * n + first + column];
        }
    };
    fetch(0);
    for (int first = 0; first < n; first += COLUMNS) {
#pragma unroll
        for (int v = 0; v < COLUMNS; v++) tile[v / each * (COLUMNS + 1) + v % each * 32 + thread] = next[v];
        __syncwarp();
        fetch(first + COLUMNS);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) out[own + c] = before = tile[own + c] + before;
        __syncwarp();
#pragma unroll
        for (int v = 0; v < COLUMNS; v++) {
            int row = v / each, column = v % each * 32 + thread;
            if (line + row < n && first + column < n)
                sum[(line + row) * stride + 1 + first + column] = out[row * (COLUMNS + 1) + column];
        }
        __syncwarp();
    }
}

// The same with a ring of chunks that are copied to shared memory beside the adding. ROWS lines of a block, WARPS that
// fetch and store.
template <class T, int COLUMNS, int RING, int ROWS, int WARPS>
__global__ void ring(T *__restrict__ sum, const T *__restrict__ u, int n, int stride, int before_first) {
    const int PITCH = COLUMNS + 1, THREADS = 32 * WARPS;
    extern __shared__ char memory[];
    T *tile = (T *)memory, *out = tile + RING * ROWS * PITCH;
    int thread = threadIdx.x, line = blockIdx.x * ROWS, own = thread * PITCH;
    bool mine = thread < ROWS && line + thread < n;
    T before = mine ? sum[(line + thread) * stride + before_first - 1] : T(0);
    auto fetch = [&](int first, int slot) {
#pragma unroll
        for (int v = 0; v < COLUMNS * ROWS / THREADS; v++) {
            int row = (v * THREADS + thread) / COLUMNS, column = (v * THREADS + thread) % COLUMNS;
            if (line + row < n && first + column < n)
                __pipeline_memcpy_async(&tile[slot * ROWS * PITCH + row * PITCH + column],
                                        &u[(line + row) * n + first + column], sizeof(T));
        }
        __pipeline_commit();
    };
    for (int slot = 0; slot < RING - 1; slot++) fetch(slot * COLUMNS, slot);
    int slot = 0;
    for (int first = 0; first < n; first += COLUMNS) {
        __pipeline_wait_prior(RING - 2);
        __syncthreads();
        fetch(first + (RING - 1) * COLUMNS, slot == 0 ? RING - 1 : slot - 1);
        const T *from = tile + slot * ROWS * PITCH;
        if (mine) {
#pragma unroll 8
            for (int c = 0; c < COLUMNS; c++) out[own + c] = before = from[own + c] + before;
        }
        __syncthreads();
#pragma unroll
        for (int v = 0; v < COLUMNS * ROWS / THREADS; v++) {
            int row = (v * THREADS + thread) / COLUMNS, column = (v * THREADS + thread) % COLUMNS;
            if (line + row < n && first + column < n)
                sum[(line + row) * stride + before_first + first + column] = out[row * PITCH + column];
        }
        slot = slot + 1 == RING ? 0 : slot + 1;
    }
}

template <class T> struct Bench {
    int n, stride, rounds;
    T *u, *sum;
    std::vector<T> values;
    double copy = 1;

    template <class F> double seconds(F run) {
        cudaEvent_t from, to;
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
        std::vector<float> times;
        for (int round = 0; round < rounds; round++) {
            CHECK(cudaEventRecord(from));
            for (int i = 0; i < 4; i++) run();
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            float time;
            CHECK(cudaEventElapsedTime(&time, from, to));
            times.push_back(time / 4);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2] * 1e-3;
    }

    template <class F> void one(const char *name, int last, F run) {
        CHECK(cudaMemset(sum, 0, sizeof(T) * stride * (n + 1)));
        run();
        CHECK(cudaDeviceSynchronize());
        std::vector<T> found(size_t(stride) * (n + 1)), expected(values);
        CHECK(cudaMemcpy(found.data(), sum, found.size() * sizeof(T), cudaMemcpyDeviceToHost));
        bool same = true;
        for (size_t j = 0; j < size_t(n); j++)
            for (size_t i = 0; i < size_t(n); i++) {
                size_t at = j * n + i;
                bool has = last ? i > 0 : j > 0;
                expected[at] += has ? expected[at - (last ? 1 : n)] : T(0);
                same &= expected[at] == found[last ? j * stride + last + i : (j + 1) * stride + i];
            }
        double speed = 2.0 * n * n * sizeof(T) / seconds(run) * 1e-9;
        printf("%-44s %6.0f GB/s %5.2f%s\n", name, speed, speed / copy, same ? "" : "  OTHER VALUES");
    }

    void all() {
        size_t cells = size_t(n) * n;
        copy = 2.0 * cells * sizeof(T) / seconds([&] { copied<<<(cells + 255) / 256, 256>>>(sum, u, cells); }) * 1e-9;
        printf("copy %.0f GB/s\n", copy);
#define ACROSS(name, threads, ...) \
    one(name, 0, [&] { __VA_ARGS__<<<(n + threads - 1) / threads, threads>>>(sum, u, n, stride); })
#define ALONG(name, ...) one(name, 1, [&] { __VA_ARGS__<<<(n + 31) / 32, 32>>>(sum, u, n, stride); })
        ACROSS("axis 0, memory", 64, simple<T>);
        ACROSS("axis 0, ahead 8", 64, ahead<T, 8>);
        ACROSS("axis 0, ahead 16", 64, ahead<T, 16>);
        ACROSS("axis 0, ahead 16 of 32", 32, ahead<T, 16>);
        ACROSS("axis 0, ahead 32", 64, ahead<T, 32>);
        ACROSS("axis 0, ahead 32 of 32", 32, ahead<T, 32>);
        ACROSS("axis 0, ahead 64 of 32", 32, ahead<T, 64>);
        ALONG("axis 1, registers 32", rows<T, 32>);
        if (sizeof(T) == 4) ALONG("axis 1, registers 64", rows<T, 64>);
#define RING(columns, deep, rows, warps, first)                                                                 \
    {                                                                                                           \
        auto kernel = ring<T, columns, deep, rows, warps>;                                                      \
        int bytes = (deep + 1) * rows * (columns + 1) * sizeof(T);                                              \
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));                \
        one("axis 1, ring " #deep " x " #columns ", " #rows " rows, " #warps " warps, at " #first, first, [&] { \
            kernel<<<(n + rows - 1) / rows, 32 * warps, bytes>>>(sum, u, n, stride, first);                     \
        });                                                                                                     \
    }
        RING(32, 2, 32, 1, 1)
        RING(32, 2, 32, 1, 16)
        RING(64, 2, 32, 1, 1)
        RING(64, 2, 32, 1, 16)
        RING(64, 3, 32, 1, 1)
        RING(64, 2, 16, 1, 1)
        RING(64, 2, 16, 1, 16)
        RING(128, 2, 16, 1, 1)
        RING(128, 2, 16, 4, 1)
        RING(64, 2, 32, 2, 1)
        RING(64, 2, 32, 4, 1)
        RING(32, 4, 32, 4, 1)
        RING(128, 2, 32, 4, 1)
    }
};

template <class T> void bench(int n) {
    Bench<T> of{n, n + 16, 7};
    of.values.resize(size_t(n) * n);
    for (size_t cell = 0; cell < of.values.size(); cell++) of.values[cell] = T(noise(cell));
    CHECK(cudaMalloc(&of.u, of.values.size() * sizeof(T)));
    CHECK(cudaMalloc(&of.sum, size_t(n + 1) * of.stride * sizeof(T)));
    CHECK(cudaMemcpy(of.u, of.values.data(), of.values.size() * sizeof(T), cudaMemcpyHostToDevice));
    of.all();
}

int main(int count, char **words) {
    int n = count > 1 ? atoi(words[1]) : 9472;
    bool narrow = count > 2 && std::string(words[2]) == "f32", wide = count > 2 && std::string(words[2]) == "f64";
    if (!narrow) printf("f64, %d lines of %d\n", n, n), bench<double>(n);
    if (!wide) printf("f32, %d lines of %d\n", n, n), bench<float>(n);
}
