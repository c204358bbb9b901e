// The lattice Boltzmann method in two axes with nine velocities (D2Q9), collisions after Bhatnagar, Gross and Krook. Each population
// has a plane of its own, with a layer of ghosts.
#include "programs.h"

enum { N = 2048, STEPS = 5 };
// Cells from row to row and from plane to plane.
static const size_t Y = N + 2, PLANE = (size_t)(N + 2) * (N + 2);

static const double weights[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                  1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

#define LATTICE(T, NAME)                                                                                               \
    static void NAME##_ghosts(T *f) {                                                                                  \
        for (int k = 0; k < 9; k++) {                                                                                  \
            T *p = f + k * PLANE;                                                                                      \
            for (size_t y = 1; y <= N; y++) {                                                                          \
                p[y * Y] = p[y * Y + N];                                                                               \
                p[y * Y + N + 1] = p[y * Y + 1];                                                                       \
            }                                                                                                          \
            for (size_t x = 0; x < N + 2; x++) {                                                                       \
                p[x] = p[N * Y + x];                                                                                   \
                p[(N + 1) * Y + x] = p[Y + x];                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_step(T *restrict next, const T *restrict f) {                                                   \
        const T omega = (T)1.2, keep = 1 - omega, one = 1, drag = (T)1.5, three = 3, square = (T)4.5;                  \
        const T w0 = (T)weights[0], w1 = (T)weights[1], w5 = (T)weights[5];                                            \
        _Pragma("omp parallel for") for (size_t y = 1; y <= N; y++) {                                                  \
            for (size_t i = y * Y + 1; i <= y * Y + N; i++) {                                                          \
                T f0 = f[i], f1 = f[1 * PLANE + i - 1], f2 = f[2 * PLANE + i - Y];                                     \
                T f3 = f[3 * PLANE + i + 1], f4 = f[4 * PLANE + i + Y], f5 = f[5 * PLANE + i - Y - 1];                 \
                T f6 = f[6 * PLANE + i - Y + 1], f7 = f[7 * PLANE + i + Y + 1], f8 = f[8 * PLANE + i + Y - 1];         \
                T rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;                                                    \
                T ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho, uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;                  \
                T sum = ux + uy, difference = ux - uy, base = one - drag * (ux * ux + uy * uy);                        \
                T rest = omega * w0 * rho, near = omega * w1 * rho, far = omega * w5 * rho;                            \
                next[i] = keep * f0 + rest * base;                                                                     \
                next[1 * PLANE + i] = keep * f1 + near * (base + three * ux + square * ux * ux);                       \
                next[2 * PLANE + i] = keep * f2 + near * (base + three * uy + square * uy * uy);                       \
                next[3 * PLANE + i] = keep * f3 + near * (base - three * ux + square * ux * ux);                       \
                next[4 * PLANE + i] = keep * f4 + near * (base - three * uy + square * uy * uy);                       \
                next[5 * PLANE + i] = keep * f5 + far * (base + three * sum + square * sum * sum);                     \
                next[6 * PLANE + i] = keep * f6 + far * (base - three * difference + square * difference * difference); \
                next[7 * PLANE + i] = keep * f7 + far * (base - three * sum + square * sum * sum);                     \
                next[8 * PLANE + i] = keep * f8 + far * (base + three * difference + square * difference * difference); \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_steps(T **f, T **next) {                                                                        \
        for (int step = 0; step < STEPS; step++) {                                                                     \
            NAME##_ghosts(*f);                                                                                         \
            NAME##_step(*next, *f);                                                                                    \
            T *swap = *f;                                                                                              \
            *f = *next;                                                                                                \
            *next = swap;                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    void NAME(void) {                                                                                                  \
        T *f = room(9 * PLANE * sizeof *f), *next = room(9 * PLANE * sizeof *next);                                    \
        _Pragma("omp parallel for") for (size_t i = 0; i < 9 * PLANE; i++) f[i] = next[i] = 0;                         \
        for (size_t y = 0; y < N; y++)                                                                                 \
            for (size_t x = 0; x < N; x++)                                                                             \
                for (int k = 0; k < 9; k++)                                                                            \
                    f[k * PLANE + (y + 1) * Y + x + 1] = (T)(weights[k] * (1.0 + 0.1 * random_at(y * N + x)));         \
        NAME##_steps(&f, &next);                                                                                       \
        double *result = room((size_t)9 * N * N * sizeof *result), *end = result;                                      \
        for (size_t y = 1; y <= N; y++)                                                                                \
            for (size_t x = 1; x <= N; x++)                                                                            \
                for (int k = 0; k < 9; k++) *end++ = f[k * PLANE + y * Y + x];                                         \
        print_check(result, (size_t)9 * N * N);                                                                        \
        free(result);                                                                                                  \
        TIME(NAME##_steps(&f, &next));                                                                                 \
    }

LATTICE(double, lbm_f64)
LATTICE(float, lbm_f32)
