// Programs as they are written in C with OpenMP: what `benches/programs` is measured against.
//
//     gcc -O3 -march=native -fno-math-errno -fopenmp *.c -lm -o programs
//     programs ROW THREADS [SECONDS]
//
// Roots need not set errno, so that loops with them become vectors; this changes no value.
#include "programs.h"
#include <string.h>

static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {
    {"gemm", gemm},
    {"gemm-blocked", gemm_blocked},
    {"covariance", covariance},
    {"covariance-half", covariance_half},
    {"2mm", two_mm},
    {"correlation", correlation},
    {"prolong", prolong},
    {"dot-128", dot_128},
    {"dot-256", dot_256},
    {"norm-128", norm_128},
    {"norm-256", norm_256},
    {"polynomial", polynomial},
    {"polynomial-unfused", polynomial_unfused},
    {"cg", cg},
    {"cg-joined", cg_joined},
    {"thomas-0", thomas_0},
    {"thomas-1", thomas_1},
    {"thomas-2", thomas_2},
    {"adi", adi},
    {"sums-0", sums_0},
    {"sums-1", sums_1},
    {"scan-line", scan_line},
    {"sor-2d", sor_2d},
    {"sor-3d", sor_3d},
    {"lbm-f64", lbm_f64},
    {"lbm-f32", lbm_f32},
    {"lbm-cavity", lbm_cavity},
    {"lbm-solid", lbm_solid},
    {"shallow", shallow},
    {"gray-scott", gray_scott},
    {"euler-faces", euler_faces},
    {"euler-one", euler_one},
    {"multigrid-3d", multigrid_3d},
    {"multigrid-2d", multigrid_2d},
    {"small-64", small_64},
    {"small-128", small_128},
    {"jacobi-2d", jacobi_2d},
    {"heat-3d", heat_3d_256},
    {"heat-3d-640", heat_3d_640},
    {"fdtd-2d", fdtd_2d},
    {"material", material},
    {"maxwell", maxwell},
    {"taps", taps},
    {"windows", windows},
    {"escape", escape},
    {"automaton-u8", automaton_uint8_t},
    {"automaton-i32", automaton_int32_t},
    {"star-2-f64", star_2_f64},
    {"star-2-f32", star_2_f32},
    {"star-4-f64", star_4_f64},
    {"star-4-f32", star_4_f32},
};

void *room(size_t bytes) {
    void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    if (!memory) {
        fprintf(stderr, "programs: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

void print_check(const double *values, size_t n) {
    double size = 0, weighted = 0;
    for (size_t i = 0; i < n; i++) {
        size += fabs(values[i]);
        weighted += values[i] * random_at(i);
    }
    printf("{\"check\": [%.17g, %.17g, %.17g, %.17g, %.17g], ", size / n, weighted / n, values[n / 3], values[n / 2],
           values[n - 1]);
}

double seconds_to_run = 1.0;

int main(int argc, char **argv) {
    int threads = argc == 3 || argc == 4 ? atoi(argv[2]) : 0;
    if (argc == 4) seconds_to_run = atof(argv[3]);
    for (size_t i = 0; threads > 0 && i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(argv[1], rows[i].name)) {
            omp_set_num_threads(threads);
            rows[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: programs ROW THREADS [SECONDS]\n");
    return 2;
}
