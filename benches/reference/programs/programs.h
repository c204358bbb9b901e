// What the programs in C share: `programs ROW THREADS` prints one line of JSON, as `benches/programs` does.
#pragma once
#include <math.h>
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// A number in 0..1 for each place, the same in Rust.
static inline double random_at(size_t place) {
    return (double)((uint64_t)place * 2654435761u % 1000) * 1e-3;
}

// Memory for so many bytes, at a multiple of 128; ends the program if there is none.
void *room(size_t bytes);

// Prints the first half of the line: numbers made from these values. The mean size, the mean by weights that tell places apart, and three
// of the values.
void print_check(const double *values, size_t n);

// How long a program runs.
extern double seconds_to_run;

// Runs a statement for a second (or as long as asked), three times at least, and prints the other half: the seconds of the fastest run.
#define TIME(...)                                                                                                      \
    do {                                                                                                               \
        double best = 1e9, begin = omp_get_wtime();                                                                    \
        for (int runs = 0; runs < 3 || omp_get_wtime() - begin < seconds_to_run; runs++) {                                        \
            double clock = omp_get_wtime();                                                                            \
            __VA_ARGS__;                                                                                               \
            clock = omp_get_wtime() - clock;                                                                           \
            if (clock < best) best = clock;                                                                            \
        }                                                                                                              \
        printf("\"seconds\": %.6e}\n", best);                                                                          \
    } while (0)

// The rows.
void gemm(void), gemm_blocked(void), covariance(void), covariance_half(void);
void two_mm(void), correlation(void);
void prolong(void), dot_128(void), dot_256(void), norm_128(void), norm_256(void);
void polynomial(void), polynomial_unfused(void);
void cg(void), cg_joined(void);
void thomas_0(void), thomas_1(void), thomas_2(void), adi(void), sums_0(void), sums_1(void), scan_line(void);
void sor_2d(void), sor_3d(void);
void lbm_f64(void), lbm_f32(void);
void lbm_cavity(void), lbm_solid(void);
void shallow(void), gray_scott(void);
void euler_faces(void), euler_one(void);
void multigrid_3d(void), multigrid_2d(void);
void small_64(void), small_128(void);
void jacobi_2d(void), heat_3d_256(void), heat_3d_640(void), fdtd_2d(void);
void material(void), maxwell(void), taps(void), windows(void), escape(void);
void automaton_uint8_t(void), automaton_int32_t(void);
void star_2_f64(void), star_2_f32(void), star_4_f64(void), star_4_f32(void);
