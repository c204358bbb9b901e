// Work without neighbours by hand, transfers included (TiDA-acc, Figure 6): host to device, kernels, device to host,
// one after the other. `sincos_host --memory pageable|pinned|managed --steps 1,10 ..`; compiled with -fmad=false for
// the bits of the benches, and once more with -use_fast_math.

#include "cells.cu"
#include "host.h"

int main(int count, char **words) {
    Options o = options(count, words);
    size_t n = (size_t)o.size * o.size * o.size;
    bool managed = o.memory == MANAGED;
    double *from = host_memory(o.memory, n), *to = managed ? from : host_memory(o.memory, n), *device = from;
    if (!managed) CHECK(cudaMalloc(&device, n * sizeof(double)));
    auto fill = [=] { each(n, [=](size_t c) { from[c] = noise(c); }); };
    fill();
    if (!managed) {
        each(n, [=](size_t c) { to[c] = 0; });
        CHECK(cudaMemcpy(device, from, n * sizeof(double), cudaMemcpyHostToDevice));
    }

    // The fastest form on data that is there.
    struct Form { bool paired; unsigned block; } best = {false, 256};
    auto launch = [&](Form form) {
        unsigned blocks = (unsigned)((n + form.block - 1) / form.block);
        (form.paired ? sin_cos_paired : sin_cos)<<<blocks, form.block>>>(device, (unsigned)n, o.iterations);
    };
    double least = 1e30;
    for (bool paired : {false, true})
        for (unsigned block : {64u, 128u, 256u, 512u}) {
            double took = fastest([&] { launch({paired, block}); });
            if (took < least) least = took, best = {paired, block};
        }
    CHECK(cudaGetLastError());
    std::string name = std::string(best.paired ? "sin_cos_paired " : "sin_cos ") + std::to_string(best.block);

    for (int steps : o.steps) {
        std::vector<double> seconds;
        for (int round = 0; round <= o.rounds; round++) {
            if (managed) fill();
            CHECK(cudaDeviceSynchronize());
            double start = now();
            if (!managed) CHECK(cudaMemcpy(device, from, n * sizeof(double), cudaMemcpyHostToDevice));
            for (int step = 0; step < steps; step++) launch(best);
            if (managed) {
                CHECK(cudaDeviceSynchronize());
                touch_pages(to, n);
            } else CHECK(cudaMemcpy(to, device, n * sizeof(double), cudaMemcpyDeviceToHost));
            if (round > 0) seconds.push_back(now() - start);
        }
        CHECK(cudaGetLastError());
        print(name, steps, seconds, sums(o.size, (size_t)o.size * o.size, [=](size_t c) { return to[c]; }));
    }
}
