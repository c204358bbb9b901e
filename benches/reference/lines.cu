// Sums and both halves of Thomas' algorithm along each axis of two by hand, a thread a line: how many values have to be
// under way where lines are few. `lines [LINES CELLS] [f32 or f64]` prints the share of a copy's speed of each form,
// whose values are compared with those of plain loops.
//
// nvcc -O3 -arch=native -std=c++17 -fmad=false -o lines lines.cu

#include "host.h"

#include <cuda_pipeline.h>

// What a copy of as many bytes takes is what all else is compared with.

template <class T> __global__ void copied(T *__restrict__ to, const T *__restrict__ from, size_t cells) {
    size_t cell = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (cell < cells) to[cell] = from[cell];
}

// What is computed: of F arrays that are read and W that are written, the cell before in what is written.
template <class T> struct Sum {
    static const int F = 1, W = 1;
    static const bool BACK = false;
    static __host__ __device__ void cell(const T *f, T *w) { w[0] = f[0] + w[0]; }
};
template <class T> struct Fwd {
    static const int F = 1, W = 2;
    static const bool BACK = false;
    static __host__ __device__ void cell(const T *f, T *w) {
        const T rate = T(0.3);
        T scale = T(1) / (T(1) + T(2) * rate + rate * w[0]);
        w[0] = -rate * scale;
        w[1] = scale * (f[0] + rate * w[1]);
    }
};
template <class T> struct Bwd {
    static const int F = 2, W = 1;
    static const bool BACK = true;
    static __host__ __device__ void cell(const T *f, T *w) { w[0] = f[1] - f[0] * w[0]; }
};

template <class T> struct Args {
    const T *f[2];
    T *w[2];
};

// Along axis 0: CELLS values of the line are fetched into registers while those before them are computed.
template <class T, class Op, int CELLS, int THREADS>
__global__ void __launch_bounds__(THREADS) ahead(Args<T> a, int lines, int cells, int stride) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= lines) return;
    const T *__restrict__ f[Op::F];
    T *__restrict__ w[Op::W];
    for (int k = 0; k < Op::F; k++) f[k] = a.f[k];
    for (int k = 0; k < Op::W; k++) w[k] = a.w[k];
    T next[CELLS][Op::F], now[CELLS][Op::F], before[Op::W] = {}, held[CELLS][Op::W];
    auto place = [&](int c) { return (Op::BACK ? cells - 1 - c : c) * stride + i; };
    int first = 0;
    if (CELLS <= cells) {
#pragma unroll
        for (int c = 0; c < CELLS; c++)
#pragma unroll
            for (int k = 0; k < Op::F; k++) next[c][k] = f[k][place(c)];
    }
    for (; first + CELLS <= cells; first += CELLS) {
#pragma unroll
        for (int c = 0; c < CELLS; c++)
#pragma unroll
            for (int k = 0; k < Op::F; k++) now[c][k] = next[c][k];
        if (first + 2 * CELLS <= cells) {
#pragma unroll
            for (int c = 0; c < CELLS; c++)
#pragma unroll
                for (int k = 0; k < Op::F; k++) next[c][k] = f[k][place(first + CELLS + c)];
        }
#pragma unroll
        for (int c = 0; c < CELLS; c++) {
            Op::cell(now[c], before);
#pragma unroll
            for (int k = 0; k < Op::W; k++) held[c][k] = before[k];
        }
#pragma unroll
        for (int c = 0; c < CELLS; c++)
#pragma unroll
            for (int k = 0; k < Op::W; k++) w[k][place(first + c)] = held[c][k];
    }
    for (; first < cells; first++) {
        T now[Op::F];
        for (int k = 0; k < Op::F; k++) now[k] = f[k][place(first)];
        Op::cell(now, before);
        for (int k = 0; k < Op::W; k++) w[k][place(first)] = before[k];
    }
}

// The same with GROUPS times GROUP cells of its own line in shared memory, copied there beside the computing: a thread
// waits for what it copied itself, so there is no barrier. This is what tida does.
template <class T, class Op, int GROUP, int GROUPS, int THREADS>
__global__ void __launch_bounds__(THREADS) deep(Args<T> a, int lines, int cells, int stride) {
    extern __shared__ char memory[];
    T *tile = (T *)memory;
    int thread = threadIdx.x, i = blockIdx.x * THREADS + thread;
    if (i >= lines) return;
    auto place = [&](int c) { return (Op::BACK ? cells - 1 - c : c) * stride + i; };
    auto at = [&](int slot, int c, int k) { return ((slot * GROUP + c) * Op::F + k) * THREADS + thread; };
    auto fetch = [&](int group, int slot) {
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            if (group * GROUP + c < cells)
#pragma unroll
                for (int k = 0; k < Op::F; k++)
                    __pipeline_memcpy_async(&tile[at(slot, c, k)], &a.f[k][place(group * GROUP + c)], sizeof(T));
        __pipeline_commit();
    };
    T before[Op::W] = {};
    for (int g = 0; g < GROUPS - 1; g++) fetch(g, g);
    int slot = 0, groups = cells / GROUP;
    for (int g = 0; g < groups; g++) {
        __pipeline_wait_prior(GROUPS - 2);
        fetch(g + GROUPS - 1, slot == 0 ? GROUPS - 1 : slot - 1);
        T held[GROUP][Op::W];
#pragma unroll
        for (int c = 0; c < GROUP; c++) {
            T now[Op::F];
#pragma unroll
            for (int k = 0; k < Op::F; k++) now[k] = tile[at(slot, c, k)];
            Op::cell(now, before);
#pragma unroll
            for (int k = 0; k < Op::W; k++) held[c][k] = before[k];
        }
#pragma unroll
        for (int c = 0; c < GROUP; c++)
#pragma unroll
            for (int k = 0; k < Op::W; k++) a.w[k][place(g * GROUP + c)] = held[c][k];
        slot = slot + 1 == GROUPS ? 0 : slot + 1;
    }
    for (int c = groups * GROUP; c < cells; c++) {
        T now[Op::F];
        for (int k = 0; k < Op::F; k++) now[k] = a.f[k][place(c)];
        Op::cell(now, before);
        for (int k = 0; k < Op::W; k++) a.w[k][place(c)] = before[k];
    }
}

// Along axis 1: a ring of chunks of COLUMNS of ROWS lines in shared memory. All WARPS fetch, the first one computes,
// all store, one after the other.
template <class T, class Op, int COLUMNS, int RING, int ROWS, int WARPS>
__global__ void ring(Args<T> a, int lines, int cells, int stride) {
    const int PITCH = COLUMNS + 1, THREADS = 32 * WARPS, SIZE = ROWS * PITCH;
    extern __shared__ char memory[];
    T *tile = (T *)memory, *out = tile + RING * Op::F * SIZE;
    int thread = threadIdx.x, line = blockIdx.x * ROWS, own = thread * PITCH;
    bool mine = thread < ROWS && line + thread < lines;
    T before[Op::W] = {};
    int chunks = (cells + COLUMNS - 1) / COLUMNS;
    auto start = [&](int chunk) { return (Op::BACK ? chunks - 1 - chunk : chunk) * COLUMNS; };
    auto fetch = [&](int chunk, int slot) {
        if (chunk < chunks) {
            int first = start(chunk);
#pragma unroll
            for (int v = 0; v < COLUMNS * ROWS / THREADS; v++) {
                int row = (v * THREADS + thread) / COLUMNS, column = (v * THREADS + thread) % COLUMNS;
                if (line + row < lines && first + column < cells)
#pragma unroll
                    for (int k = 0; k < Op::F; k++)
                        __pipeline_memcpy_async(&tile[(slot * Op::F + k) * SIZE + row * PITCH + column],
                                                &a.f[k][(line + row) * stride + first + column], sizeof(T));
            }
        }
        __pipeline_commit();
    };
    for (int slot = 0; slot < RING - 1; slot++) fetch(slot, slot);
    int slot = 0;
    for (int chunk = 0; chunk < chunks; chunk++) {
        __pipeline_wait_prior(RING - 2);
        __syncthreads();
        fetch(chunk + RING - 1, slot == 0 ? RING - 1 : slot - 1);
        int first = start(chunk), count = min(COLUMNS, cells - first);
        if (mine) {
#pragma unroll 8
            for (int n = 0; n < count; n++) {
                int c = Op::BACK ? count - 1 - n : n;
                T now[Op::F];
#pragma unroll
                for (int k = 0; k < Op::F; k++) now[k] = tile[(slot * Op::F + k) * SIZE + own + c];
                Op::cell(now, before);
#pragma unroll
                for (int k = 0; k < Op::W; k++) out[k * SIZE + own + c] = before[k];
            }
        }
        __syncthreads();
#pragma unroll
        for (int v = 0; v < COLUMNS * ROWS / THREADS; v++) {
            int row = (v * THREADS + thread) / COLUMNS, column = (v * THREADS + thread) % COLUMNS;
            if (line + row < lines && first + column < cells)
#pragma unroll
                for (int k = 0; k < Op::W; k++)
                    a.w[k][(line + row) * stride + first + column] = out[k * SIZE + row * PITCH + column];
        }
        slot = slot + 1 == RING ? 0 : slot + 1;
    }
}

// The same where the first warp computes a chunk while MOVERS others store the one before and fetch those to come, with
// one barrier a chunk. This is what tida does.
template <class T, class Op, int COLUMNS, int RING, int ROWS, int MOVERS>
__global__ void __launch_bounds__(32 * (MOVERS + 1)) pipe(Args<T> a, int lines, int cells, int stride) {
    const int PITCH = COLUMNS + 1, THREADS = 32 * MOVERS, SIZE = ROWS * PITCH;
    extern __shared__ char memory[];
    T *tile = (T *)memory, *out = tile + RING * Op::F * SIZE;
    int thread = threadIdx.x, line = blockIdx.x * ROWS, own = thread * PITCH;
    bool moves = thread >= 32, mine = thread < ROWS && line + thread < lines;
    int mover = thread - 32;
    T before[Op::W] = {};
    int chunks = (cells + COLUMNS - 1) / COLUMNS;
    auto start = [&](int chunk) { return (Op::BACK ? chunks - 1 - chunk : chunk) * COLUMNS; };
    auto fetch = [&](int chunk, int slot) {
        if (chunk < chunks) {
            int first = start(chunk);
#pragma unroll
            for (int v = 0; v < COLUMNS * ROWS / THREADS; v++) {
                int row = (v * THREADS + mover) / COLUMNS, column = (v * THREADS + mover) % COLUMNS;
                if (line + row < lines && first + column < cells)
#pragma unroll
                    for (int k = 0; k < Op::F; k++)
                        __pipeline_memcpy_async(&tile[(slot * Op::F + k) * SIZE + row * PITCH + column],
                                                &a.f[k][(line + row) * stride + first + column], sizeof(T));
            }
        }
        __pipeline_commit();
    };
    if (moves) {
        for (int slot = 0; slot < RING - 1; slot++) fetch(slot, slot);
        __pipeline_wait_prior(RING - 2);
    }
    __syncthreads();
    int slot = 0;
    for (int chunk = 0; chunk <= chunks; chunk++) {
        if (moves) {
            if (chunk > 0) {
                int first = start(chunk - 1);
                const T *from = out + ((chunk - 1) & 1) * Op::W * SIZE;
#pragma unroll
                for (int v = 0; v < COLUMNS * ROWS / THREADS; v++) {
                    int row = (v * THREADS + mover) / COLUMNS, column = (v * THREADS + mover) % COLUMNS;
                    if (line + row < lines && first + column < cells)
#pragma unroll
                        for (int k = 0; k < Op::W; k++)
                            a.w[k][(line + row) * stride + first + column] = from[k * SIZE + row * PITCH + column];
                }
            }
            fetch(chunk + RING - 1, slot == 0 ? RING - 1 : slot - 1);
            __pipeline_wait_prior(RING - 2);
        } else if (mine && chunk < chunks) {
            int first = start(chunk), count = min(COLUMNS, cells - first);
            T *to = out + (chunk & 1) * Op::W * SIZE;
#pragma unroll 8
            for (int n = 0; n < count; n++) {
                int c = Op::BACK ? count - 1 - n : n;
                T now[Op::F];
#pragma unroll
                for (int k = 0; k < Op::F; k++) now[k] = tile[(slot * Op::F + k) * SIZE + own + c];
                Op::cell(now, before);
#pragma unroll
                for (int k = 0; k < Op::W; k++) to[k * SIZE + own + c] = before[k];
            }
        }
        __syncthreads();
        slot = slot + 1 == RING ? 0 : slot + 1;
    }
}

// Counts values that are others than those of a plain loop.
template <class T, class Op> __global__ void compared(Args<T> a, int lines, int cells, bool last, int *wrong) {
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    T before[Op::W] = {};
    for (int n = 0; n < cells; n++) {
        int c = Op::BACK ? cells - 1 - n : n;
        size_t at = last ? size_t(line) * cells + c : size_t(c) * lines + line;
        T now[Op::F];
        for (int k = 0; k < Op::F; k++) now[k] = a.f[k][at];
        Op::cell(now, before);
        for (int k = 0; k < Op::W; k++) if (!(before[k] == a.w[k][at])) atomicAdd(wrong, 1);
    }
}

template <class T> struct Bench {
    int lines, cells;
    T *f[2], *w[2];
    double copy = 1;

    template <class F> double seconds(F run) {
        cudaEvent_t from, to;
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
        std::vector<float> times;
        for (int round = 0; round < 5; round++) {
            CHECK(cudaEventRecord(from));
            for (int i = 0; i < 3; i++) run();
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            float time;
            CHECK(cudaEventElapsedTime(&time, from, to));
            times.push_back(time / 3);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2] * 1e-3;
    }
    template <class Op, class F> void one(const char *op, const char *name, bool last, F run) {
        size_t all = size_t(lines) * cells;
        for (int k = 0; k < 2; k++) CHECK(cudaMemset(w[k], 0xff, sizeof(T) * all));
        run();
        CHECK(cudaDeviceSynchronize());
        int *wrong, found = 0;
        CHECK(cudaMalloc(&wrong, sizeof(int)));
        CHECK(cudaMemset(wrong, 0, sizeof(int)));
        Args<T> a{{f[0], f[1]}, {w[0], w[1]}};
        compared<T, Op><<<(lines + 63) / 64, 64>>>(a, lines, cells, last, wrong);
        CHECK(cudaMemcpy(&found, wrong, sizeof(int), cudaMemcpyDeviceToHost));
        CHECK(cudaFree(wrong));
        double time = seconds(run), speed = double(Op::F + Op::W) * all * sizeof(T) / time * 1e-9;
        printf("%-9s %-33s %6.0f GB/s %5.2f%s\n", op, name, speed, speed / copy, found == 0 ? "" : "  OTHER VALUES");
    }
    template <class Op, class F> void launch(const char *op, const std::string &name, bool last, int bytes, F kernel,
                                             int blocks, int threads) {
        Args<T> a{{f[0], f[1]}, {w[0], w[1]}};
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        int stride = last ? cells : lines;
        one<Op>(op, name.c_str(), last, [&] { kernel<<<blocks, threads, bytes>>>(a, lines, cells, stride); });
    }

    template <class Op, int CELLS> void registers(const char *op) {
        std::string name = "axis 0, registers " + std::to_string(CELLS);
        launch<Op>(op, name, false, 0, ahead<T, Op, CELLS, 32>, (lines + 31) / 32, 32);
    }

    template <class Op, int GROUP, int GROUPS, int THREADS> void shared(const char *op) {
        std::string name = "axis 0, " + std::to_string(GROUPS) + " x " + std::to_string(GROUP) + ", " +
                           std::to_string(THREADS) + " lines";
        int bytes = GROUP * GROUPS * THREADS * Op::F * sizeof(T);
        launch<Op>(op, name, false, bytes, deep<T, Op, GROUP, GROUPS, THREADS>, (lines + THREADS - 1) / THREADS,
                   THREADS);
    }

    // MOVERS beside the warp that computes; 0 for four warps that do all of it in turn.
    template <class Op, int COLUMNS, int RING, int ROWS, int MOVERS> void chunks(const char *op) {
        std::string name = "axis 1, " + std::to_string(RING) + " x " + std::to_string(COLUMNS) + ", " +
                           std::to_string(ROWS) + " lines, " +
                           (MOVERS ? std::to_string(MOVERS) + " movers" : std::string("in turn"));
        int bytes = (RING * Op::F + (MOVERS ? 2 : 1) * Op::W) * ROWS * (COLUMNS + 1) * sizeof(T);
        int blocks = (lines + ROWS - 1) / ROWS;
        if constexpr (MOVERS == 0) launch<Op>(op, name, true, bytes, ring<T, Op, COLUMNS, RING, ROWS, 4>, blocks, 128);
        else launch<Op>(op, name, true, bytes, pipe<T, Op, COLUMNS, RING, ROWS, MOVERS>, blocks, 32 * (MOVERS + 1));
    }

    template <class Op> void forms(const char *op) {
        registers<Op, 16>(op);
        registers<Op, 32>(op);
        if (sizeof(T) * (2 * Op::F + Op::W) <= 16) registers<Op, 64>(op);
        shared<Op, 8, 8, 32>(op);
        shared<Op, 16, 4, 32>(op);
        shared<Op, 16, 8, 32>(op);
        shared<Op, 16, 6, 16>(op);
        chunks<Op, 32, 4, 32, 0>(op);
        chunks<Op, 32, 4, 16, 0>(op);
        chunks<Op, 32, 3, 32, 4>(op);
        chunks<Op, 32, 4, 32, 4>(op);
        chunks<Op, 16, 4, 32, 4>(op);
        chunks<Op, 32, 4, 16, 4>(op);
        chunks<Op, 32, 4, 32, 2>(op);
        chunks<Op, 64, 3, 16, 4>(op);
    }

    void all() {
        size_t all = size_t(lines) * cells;
        std::vector<T> values(all);
        for (int k = 0; k < 2; k++) {
            for (size_t cell = 0; cell < all; cell++) values[cell] = T(noise(2 * cell + k)) * (k == 0 ? T(0.5) : T(1));
            CHECK(cudaMalloc(&f[k], all * sizeof(T)));
            CHECK(cudaMalloc(&w[k], all * sizeof(T)));
            CHECK(cudaMemcpy(f[k], values.data(), all * sizeof(T), cudaMemcpyHostToDevice));
        }
        copy = 2.0 * all * sizeof(T) / seconds([&] { copied<<<(all + 255) / 256, 256>>>(w[0], f[0], all); }) * 1e-9;
        printf("copy %.0f GB/s\n", copy);
        forms<Sum<T>>("sums");
        forms<Fwd<T>>("forward");
        forms<Bwd<T>>("backward");
    }
};

template <class T> void bench(const char *name, int lines, int cells) {
    printf("%s, %d lines of %d\n", name, lines, cells);
    Bench<T> of{lines, cells};
    of.all();
    for (T *held : {of.f[0], of.f[1], of.w[0], of.w[1]}) CHECK(cudaFree(held));
}

int main(int count, char **words) {
    int lines = count > 2 ? atoi(words[1]) : 9472, cells = count > 2 ? atoi(words[2]) : 9472;
    std::string type = count > 3 ? words[3] : "";
    if (type != "f32") bench<double>("f64", lines, cells);
    if (type != "f64") bench<float>("f32", lines, cells);
}
