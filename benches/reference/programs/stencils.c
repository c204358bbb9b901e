// Sweeps beyond the caches: stars, jacobi-2d, heat-3d and fdtd-2d of PolyBench.
#include "programs.h"
#include <string.h>

enum { STEPS = 4, SIDE = 4096, SQUARE = SIDE * SIDE };

static void averaged(double *restrict next, const double *restrict u) {
#pragma omp parallel for
    for (int j = 1; j < SIDE - 1; j++)
        for (int i = j * SIDE + 1; i < j * SIDE + SIDE - 1; i++)
            next[i] = 0.2 * (u[i] + u[i - 1] + u[i + 1] + u[i + SIDE] + u[i - SIDE]);
}

static void averages(double **u, double **next) {
    for (int step = 0; step < STEPS; step++) {
        averaged(*next, *u);
        double *swap = *u;
        *u = *next;
        *next = swap;
    }
}

void jacobi_2d(void) {
    double *u = room(SQUARE * sizeof *u), *next = room(SQUARE * sizeof *next);
#pragma omp parallel for
    for (int i = 0; i < SQUARE; i++) u[i] = next[i] = random_at(i);
    averages(&u, &next);
    print_check(u, SQUARE);
    TIME(averages(&u, &next));
}

// So many cells a side, which the compiler knows.
#define HEAT(CUBE)                                                                                                     \
    static void heated_##CUBE(double *restrict next, const double *restrict u) {                                       \
        _Pragma("omp parallel for") for (size_t k = 1; k < CUBE - 1; k++) {                                            \
            for (size_t j = 1; j < CUBE - 1; j++) {                                                                    \
                size_t row = (k * CUBE + j) * CUBE;                                                                    \
                for (size_t i = row + 1; i < row + CUBE - 1; i++)                                                      \
                    next[i] = 0.125 * (u[i + CUBE * CUBE] - 2.0 * u[i] + u[i - CUBE * CUBE]) +                         \
                              0.125 * (u[i + CUBE] - 2.0 * u[i] + u[i - CUBE]) +                                       \
                              0.125 * (u[i + 1] - 2.0 * u[i] + u[i - 1]) + u[i];                                       \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void heat_##CUBE(double **u, double **next) {                                                               \
        for (int step = 0; step < STEPS; step++) {                                                                     \
            heated_##CUBE(*next, *u);                                                                                  \
            double *swap = *u;                                                                                         \
            *u = *next;                                                                                                \
            *next = swap;                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    void heat_3d_##CUBE(void) {                                                                                        \
        const size_t cells = (size_t)CUBE * CUBE * CUBE;                                                               \
        double *u = room(cells * sizeof *u), *next = room(cells * sizeof *next);                                       \
        _Pragma("omp parallel for") for (size_t i = 0; i < cells; i++) u[i] = next[i] = random_at(i);                  \
        heat_##CUBE(&u, &next);                                                                                        \
        print_check(u, cells);                                                                                         \
        TIME(heat_##CUBE(&u, &next));                                                                                  \
    }

HEAT(256)
HEAT(640)

// Three loops a step, none of them joined.
static void electromagnetic(double *restrict ex, double *restrict ey, double *restrict hz, double sent) {
    for (int i = 0; i < SIDE; i++) ey[i] = sent;
#pragma omp parallel for
    for (int j = 1; j < SIDE; j++)
        for (int i = j * SIDE; i < j * SIDE + SIDE; i++) ey[i] -= 0.5 * (hz[i] - hz[i - SIDE]);
#pragma omp parallel for
    for (int j = 0; j < SIDE; j++)
        for (int i = j * SIDE + 1; i < j * SIDE + SIDE; i++) ex[i] -= 0.5 * (hz[i] - hz[i - 1]);
#pragma omp parallel for
    for (int j = 0; j < SIDE - 1; j++)
        for (int i = j * SIDE; i < j * SIDE + SIDE - 1; i++)
            hz[i] -= 0.7 * (ex[i + 1] - ex[i] + ey[i + SIDE] - ey[i]);
}

static void steps(double *fields) {
    for (int step = 0; step < STEPS; step++)
        electromagnetic(fields, fields + SQUARE, fields + 2 * (size_t)SQUARE, step);
}

void fdtd_2d(void) {
    double *fields = room(3 * (size_t)SQUARE * sizeof *fields);
    for (size_t field = 0; field < 3; field++) {
#pragma omp parallel for
        for (size_t i = 0; i < SQUARE; i++) fields[field * SQUARE + i] = random_at(3 * i + field);
    }
    steps(fields);
    print_check(fields, 3 * (size_t)SQUARE);
    TIME(steps(fields));
}

// A star in three axes, with a layer of ghosts as wide as it, all of them 0.
#define STAR(T, RADIUS, NAME)                                                                                          \
    enum { NAME##_ROW = 256 + 2 * RADIUS, NAME##_PLANE = NAME##_ROW * NAME##_ROW };                                    \
    static const size_t NAME##_cells = (size_t)NAME##_PLANE * NAME##_ROW;                                              \
    static size_t NAME##_first(int k, int j) {                                                                         \
        return (size_t)(k + RADIUS) * NAME##_PLANE + (size_t)(j + RADIUS) * NAME##_ROW + RADIUS;                       \
    }                                                                                                                  \
    static void NAME##_step(T *restrict next, const T *restrict u) {                                                   \
        const T near = (T)1 / (6 * RADIUS);                                                                            \
        _Pragma("omp parallel for") for (int k = 0; k < 256; k++) for (int j = 0; j < 256; j++) {                      \
            size_t row = NAME##_first(k, j);                                                                           \
            for (size_t i = row; i < row + 256; i++) {                                                                 \
                T s = u[i];                                                                                            \
                for (int r = 1; r <= RADIUS; r++) {                                                                    \
                    s += u[i - r] + u[i + r];                                                                          \
                    s += u[i - r * NAME##_ROW] + u[i + r * NAME##_ROW];                                                \
                    s += u[i - r * NAME##_PLANE] + u[i + r * NAME##_PLANE];                                            \
                }                                                                                                      \
                next[i] = near * s;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_steps(T **u, T **next) {                                                                        \
        for (int step = 0; step < STEPS; step++) {                                                                     \
            NAME##_step(*next, *u);                                                                                    \
            T *swap = *u;                                                                                              \
            *u = *next;                                                                                                \
            *next = swap;                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    void NAME(void) {                                                                                                  \
        T *u = room(NAME##_cells * sizeof *u), *next = room(NAME##_cells * sizeof *next);                              \
        _Pragma("omp parallel for") for (size_t i = 0; i < NAME##_cells; i++) u[i] = next[i] = 0;                      \
        for (int k = 0; k < 256; k++)                                                                                  \
            for (int j = 0; j < 256; j++)                                                                              \
                for (int i = 0; i < 256; i++)                                                                          \
                    u[NAME##_first(k, j) + i] = (T)random_at(((size_t)k * 256 + j) * 256 + i);                         \
        NAME##_steps(&u, &next);                                                                                       \
        double *result = room((size_t)256 * 256 * 256 * sizeof *result), *end = result;                                \
        for (int k = 0; k < 256; k++)                                                                                  \
            for (int j = 0; j < 256; j++)                                                                              \
                for (int i = 0; i < 256; i++) *end++ = u[NAME##_first(k, j) + i];                                      \
        print_check(result, (size_t)256 * 256 * 256);                                                                  \
        free(result);                                                                                                  \
        TIME(NAME##_steps(&u, &next));                                                                                 \
    }

STAR(double, 2, star_2_f64)
STAR(float, 2, star_2_f32)
STAR(double, 4, star_4_f64)
STAR(float, 4, star_4_f32)
