// Programs as someone writes them who has just read the guide of tida: coefficients in an array, six fields, a filter by
// a table, a window by loops, a loop that ends early, and an automaton.
#include "programs.h"
#include <string.h>

enum { STEPS = 4 };

// Copies the outermost cells of a square to the other side: `width` ghosts around `n` x `n` cells.
#define WRAP(T)                                                                                                        \
    static void wrap_##T(T *u, int n, int width) {                                                                     \
        int row = n + 2 * width;                                                                                       \
        for (int j = width; j < n + width; j++)                                                                        \
            for (int g = 0; g < width; g++) {                                                                          \
                u[j * row + g] = u[j * row + n + g];                                                                   \
                u[j * row + width + n + g] = u[j * row + width + g];                                                   \
            }                                                                                                          \
        for (int g = 0; g < width; g++) {                                                                              \
            memcpy(u + g * row, u + (n + g) * row, row * sizeof(T));                                                   \
            memcpy(u + (width + n + g) * row, u + (width + g) * row, row * sizeof(T));                                 \
        }                                                                                                              \
    }

WRAP(double)
WRAP(float)
WRAP(uint8_t)
WRAP(int32_t)

// Prints the check of the inner cells.
#define CHECK(T)                                                                                                       \
    static void check_##T(const T *u, int n, int width) {                                                              \
        double *values = room((size_t)n * n * sizeof *values);                                                         \
        for (int j = 0; j < n; j++)                                                                                    \
            for (int i = 0; i < n; i++) values[j * n + i] = u[(j + width) * (n + 2 * width) + i + width];              \
        print_check(values, (size_t)n * n);                                                                            \
        free(values);                                                                                                  \
    }

CHECK(double)
CHECK(float)
CHECK(uint8_t)
CHECK(int32_t)

enum { M = 1024, MROW = M + 2 };

static double flow(const double *restrict u, const double *restrict k, int at, int side) {
    double mean = 2.0 * k[at] * k[side] / (k[at] + k[side]);
    return mean * (u[side] - u[at]);
}

static void diffused(double *restrict next, const double *restrict u, const double *restrict k) {
    const double rate = 0.1;
#pragma omp parallel for
    for (int j = 1; j <= M; j++)
        for (int at = j * MROW + 1; at <= j * MROW + M; at++) {
            double all = flow(u, k, at, at + 1);
            all += flow(u, k, at, at - 1);
            all += flow(u, k, at, at + MROW);
            all += flow(u, k, at, at - MROW);
            next[at] = u[at] + rate * all;
        }
}

static void diffuse(double **u, double **next, const double *k) {
    for (int step = 0; step < STEPS; step++) {
        wrap_double(*u, M, 1);
        diffused(*next, *u, k);
        double *swap = *u;
        *u = *next;
        *next = swap;
    }
}

void material(void) {
    size_t bytes = (size_t)MROW * MROW * sizeof(double);
    double *u = room(bytes), *next = room(bytes), *k = room(bytes);
    memset(next, 0, bytes);
    for (int j = 0; j < M; j++)
        for (int i = 0; i < M; i++) {
            u[(j + 1) * MROW + i + 1] = random_at((size_t)j * M + i);
            k[(j + 1) * MROW + i + 1] = 0.1 + random_at(7 * ((size_t)j * M + i));
        }
    wrap_double(k, M, 1);
    diffuse(&u, &next, k);
    check_double(u, M, 1);
    TIME(diffuse(&u, &next, k));
}

enum { N = 128, ROW = N + 2, PLANE = ROW * ROW, CELLS = PLANE * ROW };

static void magnetic(double *restrict hx, double *restrict hy, double *restrict hz, const double *restrict ex,
                     const double *restrict ey, const double *restrict ez) {
    const double c = 0.5;
#pragma omp parallel for
    for (int k = 1; k <= N; k++)
        for (int j = 1; j <= N; j++)
            for (int i = k * PLANE + j * ROW + 1; i <= k * PLANE + j * ROW + N; i++) {
                hx[i] += c * ((ey[i + PLANE] - ey[i]) - (ez[i + ROW] - ez[i]));
                hy[i] += c * ((ez[i + 1] - ez[i]) - (ex[i + PLANE] - ex[i]));
                hz[i] += c * ((ex[i + ROW] - ex[i]) - (ey[i + 1] - ey[i]));
            }
}

static void electric(double *restrict ex, double *restrict ey, double *restrict ez, const double *restrict hx,
                     const double *restrict hy, const double *restrict hz) {
    const double c = 0.5;
#pragma omp parallel for
    for (int k = 1; k <= N; k++)
        for (int j = 1; j <= N; j++)
            for (int i = k * PLANE + j * ROW + 1; i <= k * PLANE + j * ROW + N; i++) {
                ex[i] += c * ((hz[i] - hz[i - ROW]) - (hy[i] - hy[i - PLANE]));
                ey[i] += c * ((hx[i] - hx[i - PLANE]) - (hz[i] - hz[i - 1]));
                ez[i] += c * ((hy[i] - hy[i - 1]) - (hx[i] - hx[i - ROW]));
            }
}

static void radiate(double *const *f) {
    for (int step = 0; step < STEPS; step++) {
        magnetic(f[3], f[4], f[5], f[0], f[1], f[2]);
        electric(f[0], f[1], f[2], f[3], f[4], f[5]);
    }
}

void maxwell(void) {
    double *f[6], *values = room(6 * (size_t)N * N * N * sizeof *values), *end = values;
    for (int part = 0; part < 6; part++) {
        f[part] = room((size_t)CELLS * sizeof(double));
        memset(f[part], 0, (size_t)CELLS * sizeof(double));
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                for (int i = 0; i < N; i++)
                    f[part][(k + 1) * PLANE + (j + 1) * ROW + i + 1] = random_at(((size_t)k * N + j) * N + i + 3 * part);
    }
    radiate(f);
    for (int part = 0; part < 6; part++)
        for (int k = 1; k <= N; k++)
            for (int j = 1; j <= N; j++)
                for (int i = 1; i <= N; i++) *end++ = f[part][k * PLANE + j * ROW + i];
    print_check(values, 6 * (size_t)N * N * N);
    TIME(radiate(f));
}

enum { W = 2048, TAPROW = W + 8, WINROW = W + 4 };

static void filtered(float *restrict next, const float *restrict u, const float *restrict weights) {
#pragma omp parallel for
    for (int j = 4; j < W + 4; j++)
        for (int i = j * TAPROW + 4; i < j * TAPROW + 4 + W; i++) {
            float sum = 0;
            for (int tap = 0; tap < 8; tap++) sum += weights[tap] * u[i + tap - 4];
            next[i] = sum;
        }
}

void taps(void) {
    size_t bytes = (size_t)TAPROW * TAPROW * sizeof(float);
    float *u = room(bytes), *next = room(bytes), weights[8];
    memset(u, 0, bytes), memset(next, 0, bytes);
    for (int tap = 0; tap < 8; tap++) weights[tap] = 0.25f + 0.5f * (float)random_at(tap + 1);
    for (int j = 0; j < W; j++)
        for (int i = 0; i < W; i++) u[(j + 4) * TAPROW + i + 4] = random_at((size_t)j * W + i);
    filtered(next, u, weights);
    check_float(next, W, 4);
    TIME(filtered(next, u, weights));
}

static void raised(float *restrict high, const float *restrict u) {
#pragma omp parallel for
    for (int j = 2; j < W + 2; j++)
        for (int i = j * WINROW + 2; i < j * WINROW + 2 + W; i++) {
            float highest = u[i];
            for (int dj = -2; dj <= 2; dj++)
                for (int di = -2; di <= 2; di++) {
                    float value = u[i + dj * WINROW + di];
                    highest = value > highest ? value : highest;
                }
            high[i] = highest;
        }
}

static void lowered(float *restrict low, const float *restrict high) {
#pragma omp parallel for
    for (int j = 2; j < W + 2; j++)
        for (int i = j * WINROW + 2; i < j * WINROW + 2 + W; i++) {
            float lowest = high[i];
            for (int dj = -2; dj <= 2; dj++)
                for (int di = -2; di <= 2; di++) {
                    float value = high[i + dj * WINROW + di];
                    lowest = value < lowest ? value : lowest;
                }
            low[i] = lowest;
        }
}

static void closed(float *low, float *high, const float *u) {
    raised(high, u);
    wrap_float(high, W, 2);
    lowered(low, high);
}

void windows(void) {
    size_t bytes = (size_t)WINROW * WINROW * sizeof(float);
    float *u = room(bytes), *high = room(bytes), *low = room(bytes);
    memset(high, 0, bytes), memset(low, 0, bytes);
    for (int j = 0; j < W; j++)
        for (int i = 0; i < W; i++) u[(j + 2) * WINROW + i + 2] = random_at((size_t)j * W + i);
    wrap_float(u, W, 2);
    closed(low, high, u);
    check_float(low, W, 2);
    TIME(closed(low, high, u));
}

enum { E = 512 };

static void counted(int32_t *restrict counts) {
    const double width = 3.0 / E;
#pragma omp parallel for schedule(dynamic)
    for (int j = 0; j < E; j++)
        for (int i = 0; i < E; i++) {
            double re = i * width - 2.0, im = j * width - 1.5, x = 0, y = 0;
            int turns = 0;
            for (int n = 0; n < 100; n++) {
                if (x * x + y * y > 4.0) break;
                double next = x * x - y * y + re;
                y = 2.0 * x * y + im;
                x = next;
                turns++;
            }
            counts[j * E + i] = turns;
        }
}

void escape(void) {
    int32_t *counts = room((size_t)E * E * sizeof *counts);
    counted(counts);
    check_int32_t(counts, E, 0);
    TIME(counted(counts));
}

enum { LIFEROW = W + 2 };

#define AUTOMATON(T)                                                                                                   \
    static void lived_##T(T *restrict next, const T *restrict u) {                                                     \
        _Pragma("omp parallel for") for (int j = 1; j <= W; j++) {                                                     \
            for (int i = j * LIFEROW + 1; i <= j * LIFEROW + W; i++) {                                                 \
                int living = 0;                                                                                        \
                T age = u[i], older = age + 1 < 100 ? age + 1 : 100;                                                   \
                for (int dj = -1; dj <= 1; dj++)                                                                       \
                    for (int di = -1; di <= 1; di++)                                                                   \
                        if (u[i + dj * LIFEROW + di] > 0) living++;                                                    \
                next[i] = living == 3 || (living == 4 && age > 0) ? older : 0;                                         \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void live_##T(T **u, T **next) {                                                                            \
        for (int step = 0; step < STEPS; step++) {                                                                     \
            wrap_##T(*u, W, 1);                                                                                        \
            lived_##T(*next, *u);                                                                                      \
            T *swap = *u;                                                                                              \
            *u = *next;                                                                                                \
            *next = swap;                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    void automaton_##T(void) {                                                                                         \
        size_t bytes = (size_t)LIFEROW * LIFEROW * sizeof(T);                                                          \
        T *u = room(bytes), *next = room(bytes);                                                                       \
        memset(next, 0, bytes);                                                                                        \
        for (int j = 0; j < W; j++)                                                                                    \
            for (int i = 0; i < W; i++)                                                                                \
                u[(j + 1) * LIFEROW + i + 1] = random_at((size_t)j * W + i) < 0.3 ? 1 : 0;                             \
        live_##T(&u, &next);                                                                                           \
        check_##T(u, W, 1);                                                                                            \
        TIME(live_##T(&u, &next));                                                                                     \
    }

AUTOMATON(uint8_t)
AUTOMATON(int32_t)
