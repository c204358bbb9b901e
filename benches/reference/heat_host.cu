// The heat sweep by hand, transfers included (TiDA-acc, Figures 1 and 5): host to device, steps, device to host, one
// after the other. `heat_host --memory pageable|pinned|managed --steps 1,10 ..`; compiled with -fmad=false for the bits
// of the benches. Both layouts of heat.cu are timed, each with its fastest kernel; the arrays of the host lie as those
// of the device do, so that each way is one copy.

#define REAL double
#include "heat.cu"
#include "host.h"

const double ALPHA = 0.1, OUTSIDE = 0.5;

// `n` inner cells along each axis and a layer that stays as it is; see heat.cu.
struct Layout {
    const char *name;
    int n, pitch, lead, first;
    int m() const { return n + 2; }
    size_t count() const { return lead + (size_t)pitch * m() * m(); }
    __host__ size_t place(size_t cell) const {
        size_t i = cell % n, j = cell / n % n, k = cell / n / n;
        return lead + ((k + 1) * m() + j + 1) * pitch + i + 1;
    }
};

struct Form {
    int x, y, z, depth; // depth 0: one thread a cell
    std::string name(const Layout &l) const {
        std::string shape = std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z);
        return (depth ? "heat3_march " + shape + ", " + std::to_string(depth) + " deep, " : "heat3 " + shape + ", ") + l.name;
    }
};

void sweep(const Layout &l, const Form &f, double *o, const double *u) {
    int m = l.m(), threads = m - 2 * l.first, deep = std::max(f.depth, 1), layers = (threads + deep - 1) / deep;
    dim3 block(f.x, f.y, f.z);
    dim3 grid((threads + f.x - 1) / f.x, (threads + f.y - 1) / f.y, (layers + f.z - 1) / f.z);
    (f.depth ? heat3_march : heat3)<<<grid, block>>>(o, u, m, m, m, l.first, l.pitch, l.lead, f.depth, ALPHA);
}

void run(const Options &o, const Layout &l) {
    size_t count = l.count(), bytes = count * sizeof(double), cells = (size_t)l.n * l.n * l.n;
    bool managed = o.memory == MANAGED;
    double *from = host_memory(o.memory, count), *to = host_memory(o.memory, count), *a = from, *b = to;
    auto fill = [=](double *values) {
        each(count, [=](size_t c) { values[c] = OUTSIDE; });
        each(cells, [=](size_t c) { values[l.place(c)] = noise(c); });
    };
    fill(from);
    fill(to);
    if (!managed) {
        // Both have the outermost layer, which no kernel writes.
        for (double **device : {&a, &b}) {
            CHECK(cudaMalloc(device, bytes));
            CHECK(cudaMemcpy(*device, from, bytes, cudaMemcpyHostToDevice));
        }
    }

    std::vector<Form> forms;
    int blocks[][3] = {{32, 8, 1}, {64, 4, 1}, {64, 8, 1}, {128, 4, 1}, {128, 2, 1}, {256, 2, 1}, {32, 4, 4}};
    for (auto &d : blocks) forms.push_back({d[0], d[1], d[2], 0});
    for (int i = 0; i < 4; i++)
        for (int depth : {16, 32, 64}) forms.push_back({blocks[i][0], blocks[i][1], 1, depth});
    double least = 1e30;
    Form best = forms[0];
    for (auto &form : forms) {
        double took = fastest([&] { for (int i = 0; i < 4; i++) sweep(l, form, i % 2 ? a : b, i % 2 ? b : a); });
        if (took < least) least = took, best = form;
    }
    CHECK(cudaGetLastError());

    for (int steps : o.steps) {
        std::vector<double> seconds;
        double *result = to;
        for (int round = 0; round <= o.rounds; round++) {
            if (managed) fill(from), fill(to);
            CHECK(cudaDeviceSynchronize());
            double *u = a, *next = b, start = now();
            if (!managed) CHECK(cudaMemcpy(u, from, bytes, cudaMemcpyHostToDevice));
            for (int step = 0; step < steps; step++) sweep(l, best, next, u), std::swap(u, next);
            if (managed) {
                CHECK(cudaDeviceSynchronize());
                touch_pages(result = u, count);
            } else CHECK(cudaMemcpy(to, u, bytes, cudaMemcpyDeviceToHost));
            if (round > 0) seconds.push_back(now() - start);
        }
        CHECK(cudaGetLastError());
        print(best.name(l), steps, seconds, sums(l.n, (size_t)l.n * l.n, [=](size_t c) { return result[l.place(c)]; }));
    }
    if (!managed) {
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
    }
    free_host(o.memory, from);
    free_host(o.memory, to);
}

int main(int count, char **words) {
    Options o = options(count, words);
    int n = o.size;
    run(o, {"packed", n, n + 2, 0, 0});
    run(o, {"aligned", n, (n + 2 + 15) / 16 * 16, 15, 1});
}
