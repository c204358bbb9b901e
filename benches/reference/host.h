// What the programs that time whole runs share: memory of the host, values to start from, clocks, and what is printed.
//
// A run goes from values on the host to values on the host. Memory is allocated and pinned, values are written, and
// kernels are chosen outside the clock. Each line that is printed is one JSON object.

#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t result_ = (call);                                                           \
        if (result_ != cudaSuccess) {                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result_));    \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

enum Memory { PAGEABLE, PINNED, MANAGED };

struct Options {
    int size = 512;
    // Steps of the runs, one after the other.
    std::vector<int> steps = {1};
    Memory memory = PINNED;
    int rounds = 3;
    // Times that a cell repeats the computation in one step, where a kernel has that.
    unsigned long long iterations = 32;
};

inline Options options(int count, char **words) {
    Options found;
    for (int i = 1; i + 1 < count; i += 2) {
        std::string flag = words[i], value = words[i + 1];
        if (flag == "--size") found.size = atoi(value.c_str());
        else if (flag == "--rounds") found.rounds = std::max(1, atoi(value.c_str()));
        else if (flag == "--iterations") found.iterations = strtoull(value.c_str(), nullptr, 10);
        else if (flag == "--memory" && value == "pageable") found.memory = PAGEABLE;
        else if (flag == "--memory" && value == "pinned") found.memory = PINNED;
        else if (flag == "--memory" && value == "managed") found.memory = MANAGED;
        else if (flag == "--steps") {
            found.steps.clear();
            for (const char *at = value.c_str(); *at; at += strcspn(at, ","), at += *at == ',')
                found.steps.push_back(atoi(at));
        } else {
            fprintf(stderr, "unknown: %s %s; flags: --size N --steps N,N.. --memory pageable|pinned|managed --rounds N "
                            "--iterations N\n", flag.c_str(), value.c_str());
            exit(2);
        }
    }
    return found;
}

// Calls f(i) for all i below n, by all threads, each with a stretch of its own.
template <class F> void each(size_t n, F f) {
    size_t threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> all;
    for (size_t t = 0; t < threads; t++)
        all.emplace_back([=] { for (size_t i = n * t / threads; i < n * (t + 1) / threads; i++) f(i); });
    for (auto &thread : all) thread.join();
}

// splitmix64.
inline uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// A number in 0 .. 1 for each cell, the same as the benches take.
inline double noise(uint64_t cell) { return double(mixed((cell + 1) * 0x9e3779b97f4a7c15ull) >> 40) / double(1 << 24); }

// One cell's part of a checksum: the sum over all cells says whether two results have the same bits.
inline uint64_t mark(uint64_t cell, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mixed(bits ^ (cell * 0x9e3779b97f4a7c15ull));
}

// The checksum of `n` planes of `plane` cells each; at(cell) is a cell's value. And the plain sum of the values.
struct Sums { uint64_t checksum = 0; double sum = 0; };

template <class F> Sums sums(size_t n, size_t plane, F at) {
    std::vector<Sums> parts(n);
    Sums *part = parts.data();
    each(n, [=](size_t k) {
        for (size_t cell = k * plane; cell < (k + 1) * plane; cell++) {
            double value = at(cell);
            part[k].checksum += mark(cell, value);
            part[k].sum += value;
        }
    });
    Sums all;
    for (auto &p : parts) all.checksum += p.checksum, all.sum += p.sum;
    return all;
}

inline double *host_memory(Memory memory, size_t count) {
    void *found = nullptr;
    if (memory == PAGEABLE) {
        if (!(found = malloc(count * sizeof(double)))) exit(1);
    } else if (memory == PINNED) CHECK(cudaMallocHost(&found, count * sizeof(double)));
    else CHECK(cudaMallocManaged(&found, count * sizeof(double)));
    return (double *)found;
}

inline void free_host(Memory memory, double *held) {
    if (memory == PAGEABLE) free(held);
    else if (memory == PINNED) CHECK(cudaFreeHost(held));
    else CHECK(cudaFree(held));
}

// Reads a value of each page, so that managed memory is at the host again.
inline void touch_pages(const double *values, size_t count) {
    volatile double seen = 0;
    for (size_t i = 0; i < count; i += 512) seen = values[i];
    (void)seen;
}

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds that the fastest of some launches takes.
template <class F> double fastest(F launch) {
    double best = 1e30;
    for (int round = 0; round < 4; round++) {
        CHECK(cudaDeviceSynchronize());
        double start = now();
        launch();
        CHECK(cudaDeviceSynchronize());
        if (round > 0) best = std::min(best, now() - start);
    }
    return best;
}

inline void print(const std::string &form, int steps, const std::vector<double> &seconds, Sums found) {
    printf("{\"form\":\"%s\",\"steps\":%d,\"checksum\":\"%016llx\",\"sum\":%.17g,\"seconds\":[", form.c_str(), steps,
           (unsigned long long)found.checksum, found.sum);
    for (size_t i = 0; i < seconds.size(); i++) printf("%s%.9f", i ? "," : "", seconds[i]);
    printf("]}\n");
    fflush(stdout);
}
