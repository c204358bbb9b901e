// Conjugate gradients for Poisson's equation in a cube, 0 at its faces. Arrays have a layer of ghosts, all of them 0.
#include "programs.h"
#include <string.h>

enum { N = 128, ROW = N + 2, PLANE = ROW * ROW, STEPS = 50 };
static const size_t cells = (size_t)PLANE * ROW;

#define EACH_ROW                                                                                                       \
    for (int k = 1; k <= N; k++)                                                                                       \
        for (int j = 1; j <= N; j++)

static size_t first(int k, int j) { return (size_t)k * PLANE + (size_t)j * ROW + 1; }

static double at(const double *restrict p, size_t i) {
    return 6.0 * p[i] - p[i - 1] - p[i + 1] - p[i - ROW] - p[i + ROW] - p[i - PLANE] - p[i + PLANE];
}

static void applied(double *restrict q, const double *restrict p) {
#pragma omp parallel for
    EACH_ROW {
        size_t row = first(k, j);
        for (size_t i = row; i < row + N; i++) q[i] = at(p, i);
    }
}

static double dot(const double *restrict a, const double *restrict b) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    EACH_ROW {
        size_t row = first(k, j);
#pragma omp simd reduction(+ : s)
        for (size_t i = row; i < row + N; i++) s += a[i] * b[i];
    }
    return s;
}

// y = alpha x + y
static void axpy(double alpha, const double *restrict x, double *restrict y) {
#pragma omp parallel for
    EACH_ROW {
        size_t row = first(k, j);
        for (size_t i = row; i < row + N; i++) y[i] += alpha * x[i];
    }
}

// p = r + beta p
static void turned(double *restrict p, const double *restrict r, double beta) {
#pragma omp parallel for
    EACH_ROW {
        size_t row = first(k, j);
        for (size_t i = row; i < row + N; i++) p[i] = r[i] + beta * p[i];
    }
}

// What joins two of the operations in one loop.
static double applied_dot(double *restrict q, const double *restrict p) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    EACH_ROW {
        size_t row = first(k, j);
#pragma omp simd reduction(+ : s)
        for (size_t i = row; i < row + N; i++) {
            q[i] = at(p, i);
            s += p[i] * q[i];
        }
    }
    return s;
}

static double moved_dot(double alpha, double *restrict x, double *restrict r, const double *restrict p,
                        const double *restrict q) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    EACH_ROW {
        size_t row = first(k, j);
#pragma omp simd reduction(+ : s)
        for (size_t i = row; i < row + N; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            s += r[i] * r[i];
        }
    }
    return s;
}

static void copied(double *restrict to, const double *restrict from) {
#pragma omp parallel for
    for (size_t i = 0; i < cells; i++) to[i] = from[i];
}

static void solve(int joined, double *x, double *r, double *p, double *q, const double *b) {
#pragma omp parallel for
    for (size_t i = 0; i < cells; i++) x[i] = 0;
    copied(r, b);
    copied(p, b);
    double rr = dot(r, r);
    for (int step = 0; step < STEPS; step++) {
        double next;
        if (joined) {
            double alpha = rr / applied_dot(q, p);
            next = moved_dot(alpha, x, r, p, q);
        } else {
            applied(q, p);
            double alpha = rr / dot(p, q);
            axpy(alpha, p, x);
            axpy(-alpha, q, r);
            next = dot(r, r);
        }
        turned(p, r, next / rr);
        rr = next;
    }
}

static void solved(int joined) {
    double *arrays[5];
    for (int n = 0; n < 5; n++) {
        arrays[n] = room(cells * sizeof(double));
        memset(arrays[n], 0, cells * sizeof(double));
    }
    double *b = arrays[0], *x = arrays[1], *r = arrays[2], *p = arrays[3], *q = arrays[4];
    EACH_ROW for (int i = 0; i < N; i++) b[first(k, j) + i] = random_at(((size_t)(k - 1) * N + j - 1) * N + i);
    solve(joined, x, r, p, q, b);
    double *result = room((size_t)N * N * N * sizeof *result), *end = result;
    EACH_ROW for (int i = 0; i < N; i++) *end++ = x[first(k, j) + i];
    print_check(result, (size_t)N * N * N);
    TIME(solve(joined, x, r, p, q, b));
}

void cg(void) { solved(0); }

void cg_joined(void) { solved(1); }
