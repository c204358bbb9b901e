// Grids that a core's first caches hold: jacobi-2d, where each sweep reads what the one before it has left.
#include "programs.h"

enum { STEPS = 1000 };

static void averaged(double *restrict next, const double *restrict u, int n) {
#pragma omp parallel for
    for (int j = 1; j < n - 1; j++)
        for (int i = j * n + 1; i < j * n + n - 1; i++)
            next[i] = 0.2 * (u[i] + u[i - 1] + u[i + 1] + u[i + n] + u[i - n]);
}

static void averages(double **u, double **next, int n) {
    for (int step = 0; step < STEPS; step++) {
        averaged(*next, *u, n);
        double *swap = *u;
        *u = *next;
        *next = swap;
    }
}

static void jacobi(int n) {
    size_t cells = (size_t)n * n;
    double *u = room(cells * sizeof *u), *next = room(cells * sizeof *next);
    for (size_t i = 0; i < cells; i++) u[i] = next[i] = random_at(i);
    averages(&u, &next, n);
    print_check(u, cells);
    TIME(averages(&u, &next, n));
}

void small_64(void) { jacobi(64); }

void small_128(void) { jacobi(128); }
