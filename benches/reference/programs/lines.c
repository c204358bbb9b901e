// Recurrences along an axis: tridiagonal systems by Thomas' algorithm, and sums of rows and columns.
#include "programs.h"

// As in Rust.
enum { N = 160, SIDE = 2048 };
static const double rate = 0.3;

typedef double Plane[N][N];

// A row of cells after the row `before` of the same lines, none before the first.
static void forward_row(double *restrict c, double *restrict d, const double *restrict u, const double *restrict before_c,
                        const double *restrict before_d) {
    for (int i = 0; i < N; i++) {
        double scale = 1.0 / (1.0 + 2.0 * rate + rate * (before_c ? before_c[i] : 0.0));
        c[i] = -rate * scale;
        d[i] = scale * (u[i] + rate * (before_d ? before_d[i] : 0.0));
    }
}

static void backward_row(double *restrict x, const double *restrict c, const double *restrict d,
                         const double *restrict after) {
    for (int i = 0; i < N; i++) x[i] = d[i] - c[i] * (after ? after[i] : 0.0);
}

static void along_0(Plane *x, Plane *c, Plane *d, const Plane *u) {
#pragma omp parallel for
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < N; k++)
            forward_row(c[k][j], d[k][j], u[k][j], k ? c[k - 1][j] : 0, k ? d[k - 1][j] : 0);
        for (int k = N - 1; k >= 0; k--) backward_row(x[k][j], c[k][j], d[k][j], k < N - 1 ? x[k + 1][j] : 0);
    }
}

static void along_1(Plane *x, Plane *c, Plane *d, const Plane *u) {
#pragma omp parallel for
    for (int k = 0; k < N; k++) {
        for (int j = 0; j < N; j++)
            forward_row(c[k][j], d[k][j], u[k][j], j ? c[k][j - 1] : 0, j ? d[k][j - 1] : 0);
        for (int j = N - 1; j >= 0; j--) backward_row(x[k][j], c[k][j], d[k][j], j < N - 1 ? x[k][j + 1] : 0);
    }
}

static void along_2(Plane *x, Plane *c, Plane *d, const Plane *u) {
#pragma omp parallel for collapse(2)
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++) {
            double before_c = 0, before_d = 0, after = 0;
            for (int i = 0; i < N; i++) {
                double scale = 1.0 / (1.0 + 2.0 * rate + rate * before_c);
                c[k][j][i] = before_c = -rate * scale;
                d[k][j][i] = before_d = scale * (u[k][j][i] + rate * before_d);
            }
            for (int i = N - 1; i >= 0; i--) x[k][j][i] = after = d[k][j][i] - c[k][j][i] * after;
        }
}

static void thomas(void (*along)(Plane *, Plane *, Plane *, const Plane *)) {
    size_t cells = (size_t)N * N * N;
    Plane *x = room(cells * sizeof(double)), *c = room(cells * sizeof(double)), *d = room(cells * sizeof(double));
    Plane *u = room(cells * sizeof(double));
#pragma omp parallel for
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                u[k][j][i] = random_at(((size_t)k * N + j) * N + i);
                x[k][j][i] = c[k][j][i] = d[k][j][i] = 0;
            }
    along(x, c, d, u);
    print_check(&x[0][0][0], cells);
    TIME(along(x, c, d, u));
}

void thomas_0(void) { thomas(along_0); }

void thomas_1(void) { thomas(along_1); }

void thomas_2(void) { thomas(along_2); }

// A step along one axis after the other, in place.
void adi(void) {
    size_t cells = (size_t)N * N * N;
    Plane *u = room(cells * sizeof(double)), *c = room(cells * sizeof(double)), *d = room(cells * sizeof(double));
#pragma omp parallel for
    for (size_t i = 0; i < cells; i++) {
        (&u[0][0][0])[i] = random_at(i);
        (&c[0][0][0])[i] = (&d[0][0][0])[i] = 0;
    }
    along_0(u, c, d, u);
    along_1(u, c, d, u);
    along_2(u, c, d, u);
    print_check(&u[0][0][0], cells);
    TIME({
        along_0(u, c, d, u);
        along_1(u, c, d, u);
        along_2(u, c, d, u);
    });
}

// Columns in blocks, so that threads have some each.
static void columns(double *restrict sum, const double *restrict u) {
#pragma omp parallel for
    for (int b = 0; b < SIDE; b += 256) {
        for (int i = b; i < b + 256; i++) sum[i] = u[i];
        for (size_t j = 1; j < SIDE; j++)
            for (int i = b; i < b + 256; i++) sum[j * SIDE + i] = u[j * SIDE + i] + sum[(j - 1) * SIDE + i];
    }
}

static void rows(double *restrict sum, const double *restrict u) {
#pragma omp parallel for
    for (size_t j = 0; j < SIDE; j++) {
        double s = 0;
        for (int i = 0; i < SIDE; i++) sum[j * SIDE + i] = s = u[j * SIDE + i] + s;
    }
}

static void sums(void (*along)(double *restrict, const double *restrict)) {
    size_t cells = (size_t)SIDE * SIDE;
    double *u = room(cells * sizeof *u), *sum = room(cells * sizeof *sum);
#pragma omp parallel for
    for (size_t i = 0; i < cells; i++) {
        u[i] = random_at(i);
        sum[i] = 0;
    }
    along(sum, u);
    print_check(sum, cells);
    TIME(along(sum, u));
}

void sums_0(void) { sums(columns); }

void sums_1(void) { sums(rows); }

// All sums of one line, which threads share: each sums its part, and then goes through it on top of what is before it.
static void line(double *restrict sum, const double *restrict u) {
    size_t cells = (size_t)SIDE * SIDE;
    double parts[omp_get_max_threads() + 1];
#pragma omp parallel
    {
        size_t t = omp_get_thread_num(), threads = omp_get_num_threads();
        size_t from = cells * t / threads, to = cells * (t + 1) / threads;
        double s = 0;
        if (t + 1 < threads) {
#pragma omp simd reduction(+ : s)
            for (size_t i = from; i < to; i++) s += u[i];
        }
        parts[t] = s;
#pragma omp barrier
        s = 0;
        for (size_t before = 0; before < t; before++) s += parts[before];
        for (size_t i = from; i < to; i++) sum[i] = s = u[i] + s;
    }
}

void scan_line(void) { sums(line); }
