// The heat sweep in C with OpenMP: what the CPU backend is measured against.
//
//     gcc -O3 -march=native -fopenmp heat_omp.c -o heat_omp
//     heat_omp N STEPS DIMS(2|3) f64|f32 [REPS]
//
// Runs STEPS sweeps REPS times (1 if not given) and prints the cells per second of the fastest. The outermost layer of
// cells is fixed; all N^DIMS cells are counted all the same.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAT(NAME, T)                                                                                                  \
    static double NAME(int n, int steps, int dims, int reps) {                                                         \
        size_t p = (size_t)n * n, cells = dims == 3 ? p * n : p;                                                       \
        T *u = malloc(cells * sizeof(T)), *w = malloc(cells * sizeof(T));                                              \
        if (!u || !w) {                                                                                                \
            fprintf(stderr, "heat_omp: no memory for two arrays of %zu cells\n", cells);                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
        const T a = (T)0.1;                                                                                            \
        /* Also places each page near the thread that sweeps it. */                                                    \
        _Pragma("omp parallel for") for (size_t i = 0; i < cells; i++) {                                               \
            u[i] = (T)((i * 2654435761u % 1000) * 1e-3);                                                               \
            w[i] = u[i];                                                                                               \
        }                                                                                                              \
        double best = 1e9;                                                                                             \
        for (int rep = 0; rep < reps; rep++) {                                                                         \
            double seconds = omp_get_wtime();                                                                          \
            for (int s = 0; s < steps; s++) {                                                                          \
                if (dims == 3) {                                                                                       \
                    _Pragma("omp parallel for") for (int k = 1; k < n - 1; k++) for (int j = 1; j < n - 1; j++) {      \
                        const T *restrict x = u + k * p + (size_t)j * n;                                               \
                        T *restrict y = w + k * p + (size_t)j * n;                                                     \
                        for (int i = 1; i < n - 1; i++)                                                                \
                            y[i] = x[i] + a * (x[i + 1] + x[i - 1] + x[i + n] + x[i - n] + x[i + p] + x[i - p] -       \
                                               (T)6 * x[i]);                                                           \
                    }                                                                                                  \
                } else {                                                                                               \
                    _Pragma("omp parallel for") for (int j = 1; j < n - 1; j++) {                                      \
                        const T *restrict x = u + (size_t)j * n;                                                       \
                        T *restrict y = w + (size_t)j * n;                                                             \
                        for (int i = 1; i < n - 1; i++)                                                                \
                            y[i] = x[i] + a * (x[i + 1] + x[i - 1] + x[i + n] + x[i - n] - (T)4 * x[i]);               \
                    }                                                                                                  \
                }                                                                                                      \
                T *swap = u;                                                                                           \
                u = w;                                                                                                 \
                w = swap;                                                                                              \
            }                                                                                                          \
            seconds = omp_get_wtime() - seconds;                                                                       \
            if (seconds < best) best = seconds;                                                                        \
        }                                                                                                              \
        free(u);                                                                                                       \
        free(w);                                                                                                       \
        return (double)cells * steps / best;                                                                           \
    }

HEAT(heat_f64, double)
HEAT(heat_f32, float)

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 0, dims = argc > 3 ? atoi(argv[3]) : 0;
    int reps = argc > 5 ? atoi(argv[5]) : 1;
    int f32 = argc > 4 && !strcmp(argv[4], "f32"), f64 = argc > 4 && !strcmp(argv[4], "f64");
    if (n < 3 || steps < 1 || (dims != 2 && dims != 3) || reps < 1 || !(f32 || f64)) {
        fprintf(stderr, "usage: heat_omp N STEPS DIMS(2|3) f64|f32 [REPS]\n");
        return 2;
    }
    printf("%.6e\n", f64 ? heat_f64(n, steps, dims, reps) : heat_f32(n, steps, dims, reps));
    return 0;
}
