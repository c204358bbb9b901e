// The lattice Boltzmann method with walls half way between cells: what would come from a wall is what went there. Each population has a
// plane of its own, with a layer of ghosts.
#include "programs.h"

enum { N = 2048, STEPS = 5, Y = N + 2 };
static const size_t PLANE = (size_t)Y * Y;

static const double weights[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                  1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

static inline void collide(double *restrict next, size_t i, double f0, double f1, double f2, double f3, double f4,
                           double f5, double f6, double f7, double f8) {
    const double omega = 1.2, keep = 1 - omega;
    double rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    double ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho, uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
    double sum = ux + uy, difference = ux - uy, base = 1 - 1.5 * (ux * ux + uy * uy);
    double rest = omega * weights[0] * rho, near = omega * weights[1] * rho, far = omega * weights[5] * rho;
    next[i] = keep * f0 + rest * base;
    next[1 * PLANE + i] = keep * f1 + near * (base + 3 * ux + 4.5 * ux * ux);
    next[2 * PLANE + i] = keep * f2 + near * (base + 3 * uy + 4.5 * uy * uy);
    next[3 * PLANE + i] = keep * f3 + near * (base - 3 * ux + 4.5 * ux * ux);
    next[4 * PLANE + i] = keep * f4 + near * (base - 3 * uy + 4.5 * uy * uy);
    next[5 * PLANE + i] = keep * f5 + far * (base + 3 * sum + 4.5 * sum * sum);
    next[6 * PLANE + i] = keep * f6 + far * (base - 3 * difference + 4.5 * difference * difference);
    next[7 * PLANE + i] = keep * f7 + far * (base - 3 * sum + 4.5 * sum * sum);
    next[8 * PLANE + i] = keep * f8 + far * (base + 3 * difference + 4.5 * difference * difference);
}

// A cavity whose lid, the wall behind the last row, moves along x.
static void cavity_step(double *restrict next, const double *restrict f) {
#pragma omp parallel for
    for (int y = 1; y <= N; y++) {
        const double pushed = y == N ? 0.05 / 6 : 0;
        for (int x = 1; x <= N; x++) {
            size_t i = (size_t)y * Y + x;
            double f1 = x == 1 ? f[3 * PLANE + i] : f[1 * PLANE + i - 1];
            double f2 = y == 1 ? f[4 * PLANE + i] : f[2 * PLANE + i - Y];
            double f3 = x == N ? f[1 * PLANE + i] : f[3 * PLANE + i + 1];
            double f4 = y == N ? f[2 * PLANE + i] : f[4 * PLANE + i + Y];
            double f5 = x == 1 || y == 1 ? f[7 * PLANE + i] : f[5 * PLANE + i - Y - 1];
            double f6 = x == N || y == 1 ? f[8 * PLANE + i] : f[6 * PLANE + i - Y + 1];
            double f7 = x == N || y == N ? f[5 * PLANE + i] - pushed : f[7 * PLANE + i + Y + 1];
            double f8 = x == 1 || y == N ? f[6 * PLANE + i] + pushed : f[8 * PLANE + i + Y - 1];
            collide(next, i, f[i], f1, f2, f3, f4, f5, f6, f7, f8);
        }
    }
}

static unsigned char *solid;

// What comes from a place, or goes there if that is solid.
static inline double back(const double *restrict f, size_t i, unsigned char solid, int from, int to, ptrdiff_t off) {
    double comes = f[from * PLANE + i - off], went = f[to * PLANE + i];
    return solid ? went : comes;
}

// A periodic box with obstacles, which a second array marks.
static void solid_step(double *restrict next, const double *restrict f, const unsigned char *restrict solid) {
#pragma omp parallel for
    for (int y = 1; y <= N; y++)
        for (size_t i = (size_t)y * Y + 1; i <= (size_t)y * Y + N; i++) {
            double f1 = back(f, i, solid[i - 1], 1, 3, 1), f2 = back(f, i, solid[i - Y], 2, 4, Y);
            double f3 = back(f, i, solid[i + 1], 3, 1, -1), f4 = back(f, i, solid[i + Y], 4, 2, -Y);
            double f5 = back(f, i, solid[i - Y - 1], 5, 7, Y + 1), f6 = back(f, i, solid[i - Y + 1], 6, 8, Y - 1);
            double f7 = back(f, i, solid[i + Y + 1], 7, 5, -Y - 1), f8 = back(f, i, solid[i + Y - 1], 8, 6, 1 - Y);
            collide(next, i, f[i], f1, f2, f3, f4, f5, f6, f7, f8);
        }
}

static void ghosts(double *f) {
    for (int k = 0; k < 9; k++) {
        double *p = f + k * PLANE;
        for (size_t y = 1; y <= N; y++) {
            p[y * Y] = p[y * Y + N];
            p[y * Y + N + 1] = p[y * Y + 1];
        }
        for (size_t x = 0; x < Y; x++) {
            p[x] = p[(size_t)N * Y + x];
            p[(size_t)(N + 1) * Y + x] = p[Y + x];
        }
    }
}

static void cavity_steps(double **f, double **next) {
    for (int step = 0; step < STEPS; step++) {
        cavity_step(*next, *f);
        double *swap = *f;
        *f = *next;
        *next = swap;
    }
}

static void solid_steps(double **f, double **next) {
    for (int step = 0; step < STEPS; step++) {
        ghosts(*f);
        solid_step(*next, *f, solid);
        double *swap = *f;
        *f = *next;
        *next = swap;
    }
}

static void stepped(void (*steps)(double **, double **)) {
    double *f = room(9 * PLANE * sizeof *f), *next = room(9 * PLANE * sizeof *next);
#pragma omp parallel for
    for (size_t i = 0; i < 9 * PLANE; i++) f[i] = next[i] = 0;
    for (size_t y = 0; y < N; y++)
        for (size_t x = 0; x < N; x++)
            for (int k = 0; k < 9; k++)
                f[k * PLANE + (y + 1) * Y + x + 1] = weights[k] * (1.0 + 0.1 * random_at(y * N + x));
    steps(&f, &next);
    double *result = room((size_t)9 * N * N * sizeof *result), *end = result;
    for (size_t y = 1; y <= N; y++)
        for (size_t x = 1; x <= N; x++)
            for (int k = 0; k < 9; k++) *end++ = f[k * PLANE + y * Y + x];
    print_check(result, (size_t)9 * N * N);
    free(result);
    TIME(steps(&f, &next));
}

void lbm_cavity(void) { stepped(cavity_steps); }

void lbm_solid(void) {
    solid = room(PLANE);
    for (int y = 0; y < Y; y++)
        for (int x = 0; x < Y; x++) {
            int a = (y + N - 1) % (N / 2) - N / 4, b = (x + N - 1) % (N / 2) - N / 4;
            solid[(size_t)y * Y + x] = a * a + b * b < N * N / 256;
        }
    stepped(solid_steps);
}
