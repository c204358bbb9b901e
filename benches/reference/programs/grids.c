// Prolongation, sums of products, and a loop of many operations.
#include "programs.h"

static void prolonged(int n, double *restrict fine, const double *restrict coarse) {
    int m = n / 2;
#pragma omp parallel for
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) {
            double *restrict to = fine + ((size_t)k * n + j) * n;
            const double *restrict from = coarse + ((size_t)(k / 2) * m + j / 2) * m;
            for (int i = 0; i < m; i++) to[2 * i] = to[2 * i + 1] = from[i];
        }
}

void prolong(void) {
    size_t n = 256, m = n / 2;
    double *fine = room(n * n * n * sizeof *fine), *coarse = room(m * m * m * sizeof *coarse);
    for (size_t k = 0; k < m; k++)
        for (size_t j = 0; j < m; j++)
            for (size_t i = 0; i < m; i++) coarse[(k * m + j) * m + i] = random_at((k * n + j) * n + i);
    prolonged(n, fine, coarse);
    print_check(fine, n * n * n);
    TIME(prolonged(n, fine, coarse));
}

static double product(size_t n, const double *restrict a, const double *restrict b) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s)
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static double squares(size_t n, const double *restrict a) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s)
    for (size_t i = 0; i < n; i++) s += a[i] * a[i];
    return s;
}

// As many as in Rust.
enum { SUMS = 10 };

// The sum is kept where the compiler has to write it.
static volatile double kept;

static void dots(size_t n) {
    size_t cells = n * n * n;
    double *a = room(cells * sizeof *a), *b = room(cells * sizeof *b);
#pragma omp parallel for
    for (size_t i = 0; i < cells; i++) {
        a[i] = random_at(i);
        b[i] = random_at(7 * i);
    }
    double s = product(cells, a, b);
    print_check(&s, 1);
    TIME(for (int n = 0; n < SUMS; n++) kept = product(cells, a, b));
}

static void norms(size_t n) {
    size_t cells = n * n * n;
    double *a = room(cells * sizeof *a);
#pragma omp parallel for
    for (size_t i = 0; i < cells; i++) a[i] = random_at(i);
    double s = sqrt(squares(cells, a));
    print_check(&s, 1);
    TIME(for (int n = 0; n < SUMS; n++) kept = sqrt(squares(cells, a)));
}

void dot_128(void) { dots(128); }

void dot_256(void) { dots(256); }

void norm_128(void) { norms(128); }

void norm_256(void) { norms(256); }

// A polynomial of degree 128 by Horner's rule.
#define S1(C) s = s * x + (C);
#define S2(C) S1(C) S1((C) + 0.001)
#define S4(C) S2(C) S2((C) + 0.002)
#define S8(C) S4(C) S4((C) + 0.004)
#define S16(C) S8(C) S8((C) + 0.008)
#define S32(C) S16(C) S16((C) + 0.016)
#define S64(C) S32(C) S32((C) + 0.032)

enum { SIDE = 1024 };

static void fused(double *restrict y, const double *restrict u) {
    for (int i = 0; i < SIDE; i++) {
        double x = u[i], s = 0.5;
        S64(0.1) S64(0.164)
        y[i] = s;
    }
}

// Rounds each product, as `s * x + c` does in Rust.
__attribute__((noinline, optimize("fp-contract=off"))) static void unfused(double *restrict y, const double *restrict u) {
    for (int i = 0; i < SIDE; i++) {
        double x = u[i], s = 0.5;
        S64(0.1) S64(0.164)
        y[i] = s;
    }
}

static void each_row(void (*row)(double *restrict, const double *restrict), double *y, const double *u) {
#pragma omp parallel for
    for (int j = 0; j < SIDE; j++) row(y + j * SIDE, u + j * SIDE);
}

static void polynomials(void (*row)(double *restrict, const double *restrict)) {
    size_t cells = SIDE * SIDE;
    double *u = room(cells * sizeof *u), *y = room(cells * sizeof *y);
    for (size_t i = 0; i < cells; i++) {
        u[i] = random_at(i);
        y[i] = 0;
    }
    each_row(row, y, u);
    print_check(y, cells);
    TIME(each_row(row, y, u));
}

void polynomial(void) { polynomials(fused); }

void polynomial_unfused(void) { polynomials(unfused); }
