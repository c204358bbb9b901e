// Multigrid for Poisson's equation: V-cycles with two sweeps of Jacobi's iteration before and after each coarser grid. A grid has
// 2^k + 1 nodes along each axis, and the outer ones stay at 0.
#include "programs.h"
#include <string.h>

enum { CYCLES = 2, SWEEPS = 2, LEVELS = 16 };

// A grid: the solution, its next sweep, the right side times the square of the distance between nodes, and the residual.
typedef struct {
    size_t n;
    double *u, *next, *f, *r;
} Level;

static void swapped(Level *level) {
    double *swap = level->u;
    level->u = level->next;
    level->next = swap;
}

static void sweep_3(double *restrict next, const double *restrict u, const double *restrict f, size_t n) {
    const double damped = 6.0 / 7 / 6;
#pragma omp parallel for
    for (size_t k = 1; k < n - 1; k++)
        for (size_t j = 1; j < n - 1; j++)
            for (size_t i = (k * n + j) * n + 1; i < (k * n + j) * n + n - 1; i++) {
                double around = u[i - n * n] + u[i + n * n] + u[i - n] + u[i + n] + u[i - 1] + u[i + 1];
                next[i] = u[i] + damped * (f[i] - (6 * u[i] - around));
            }
}

static void residual_3(double *restrict r, const double *restrict u, const double *restrict f, size_t n) {
#pragma omp parallel for
    for (size_t k = 1; k < n - 1; k++)
        for (size_t j = 1; j < n - 1; j++)
            for (size_t i = (k * n + j) * n + 1; i < (k * n + j) * n + n - 1; i++) {
                double around = u[i - n * n] + u[i + n * n] + u[i - n] + u[i + n] + u[i - 1] + u[i + 1];
                r[i] = f[i] - (6 * u[i] - around);
            }
}

// Full weighting of the 27 nodes around, for a coarse grid of n nodes.
static void restrict_3(double *restrict f, double *restrict u, const double *restrict r, size_t n) {
    const size_t y = 2 * n - 1, z = y * y;
#pragma omp parallel for
    for (size_t k = 1; k < n - 1; k++)
        for (size_t j = 1; j < n - 1; j++)
            for (size_t i = 1; i < n - 1; i++) {
                const double *c = r + 2 * k * z + 2 * j * y + 2 * i;
                double corners = c[-z - y - 1] + c[-z - y + 1] + c[-z + y - 1] + c[-z + y + 1] + c[z - y - 1] +
                                 c[z - y + 1] + c[z + y - 1] + c[z + y + 1];
                double edges = c[-z - y] + c[-z + y] + c[z - y] + c[z + y] + c[-z - 1] + c[-z + 1] + c[z - 1] +
                               c[z + 1] + c[-y - 1] + c[-y + 1] + c[y - 1] + c[y + 1];
                double faces = c[-z] + c[z] + c[-y] + c[y] + c[-1] + c[1];
                f[(k * n + j) * n + i] = (8 * c[0] + 4 * faces + 2 * edges + corners) / 16;
                u[(k * n + j) * n + i] = 0;
            }
}

// Adds the mean of the coarse nodes around, for a fine grid of n nodes.
static void correct_3(double *restrict u, const double *restrict e, size_t n) {
    const size_t y = n / 2 + 1, z = y * y;
#pragma omp parallel for
    for (size_t k = 1; k < n - 1; k++)
        for (size_t j = 1; j < n - 1; j++) {
            const double *a = e + k / 2 * z + j / 2 * y, *b = e + k / 2 * z + (j + 1) / 2 * y;
            const double *c = e + (k + 1) / 2 * z + j / 2 * y, *d = e + (k + 1) / 2 * z + (j + 1) / 2 * y;
            double *row = u + (k * n + j) * n;
            for (size_t i = 1; i < n - 1; i++) {
                size_t left = i / 2, right = (i + 1) / 2;
                row[i] += (a[left] + a[right] + b[left] + b[right] + c[left] + c[right] + d[left] + d[right]) / 8;
            }
        }
}

static void sweep_2(double *restrict next, const double *restrict u, const double *restrict f, size_t n) {
    const double damped = 4.0 / 5 / 4;
#pragma omp parallel for
    for (size_t j = 1; j < n - 1; j++)
        for (size_t i = j * n + 1; i < j * n + n - 1; i++)
            next[i] = u[i] + damped * (f[i] - (4 * u[i] - (u[i - n] + u[i + n] + u[i - 1] + u[i + 1])));
}

static void residual_2(double *restrict r, const double *restrict u, const double *restrict f, size_t n) {
#pragma omp parallel for
    for (size_t j = 1; j < n - 1; j++)
        for (size_t i = j * n + 1; i < j * n + n - 1; i++)
            r[i] = f[i] - (4 * u[i] - (u[i - n] + u[i + n] + u[i - 1] + u[i + 1]));
}

static void restrict_2(double *restrict f, double *restrict u, const double *restrict r, size_t n) {
    const size_t y = 2 * n - 1;
#pragma omp parallel for
    for (size_t j = 1; j < n - 1; j++)
        for (size_t i = 1; i < n - 1; i++) {
            const double *c = r + 2 * j * y + 2 * i;
            double corners = c[-y - 1] + c[-y + 1] + c[y - 1] + c[y + 1], sides = c[-y] + c[y] + c[-1] + c[1];
            f[j * n + i] = (4 * c[0] + 2 * sides + corners) / 4;
            u[j * n + i] = 0;
        }
}

static void correct_2(double *restrict u, const double *restrict e, size_t n) {
    const size_t y = n / 2 + 1;
#pragma omp parallel for
    for (size_t j = 1; j < n - 1; j++) {
        const double *a = e + j / 2 * y, *b = e + (j + 1) / 2 * y;
        double *row = u + j * n;
        for (size_t i = 1; i < n - 1; i++)
            row[i] += (a[i / 2] + a[(i + 1) / 2] + b[i / 2] + b[(i + 1) / 2]) / 4;
    }
}

static void smooth(Level *level, int axes) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        (axes == 3 ? sweep_3 : sweep_2)(level->next, level->u, level->f, level->n);
        swapped(level);
    }
}

static void cycle(Level *fine, int axes) {
    Level *coarse = fine + 1;
    smooth(fine, axes);
    if (fine->n > 3) {
        (axes == 3 ? residual_3 : residual_2)(fine->r, fine->u, fine->f, fine->n);
        (axes == 3 ? restrict_3 : restrict_2)(coarse->f, coarse->u, fine->r, coarse->n);
        cycle(coarse, axes);
        (axes == 3 ? correct_3 : correct_2)(fine->u, coarse->u, fine->n);
    }
    smooth(fine, axes);
}

static void cycles(Level *finest, int axes) {
    for (int n = 0; n < CYCLES; n++) cycle(finest, axes);
}

static void solved(int axes, size_t n) {
    Level levels[LEVELS];
    size_t cells = axes == 3 ? n * n * n : n * n, length = n;
    for (int level = 0; length >= 3; level++, length = length / 2 + 1) {
        size_t bytes = (axes == 3 ? length * length * length : length * length) * sizeof(double);
        double *arrays[4];
        for (int array = 0; array < 4; array++) arrays[array] = memset(room(bytes), 0, bytes);
        levels[level] = (Level){length, arrays[0], arrays[1], arrays[2], arrays[3]};
        if (length == 3) break;
    }
    for (size_t i = 0; i < cells; i++) levels[0].f[i] = random_at(i) - 0.5;
    cycles(levels, axes);
    print_check(levels[0].u, cells);
    TIME(cycles(levels, axes));
}

void multigrid_3d(void) { solved(3, 129); }

void multigrid_2d(void) { solved(2, 1025); }
