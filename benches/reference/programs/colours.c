// Relaxation in place, colour by colour: red-black SOR over the inner cells of a square and of a cube.
#include "programs.h"

// As in Rust.
enum { SIDE = 2048, N = 160 };
static const double omega = 1.5;

typedef double Row[SIDE];
typedef double Plane[N][N];

static void square(Row *u, const Row *f) {
    for (int colour = 0; colour < 2; colour++)
#pragma omp parallel for
        for (int j = 1; j < SIDE - 1; j++)
            for (int i = 1 + (j + 1 + colour) % 2; i < SIDE - 1; i += 2) {
                double around = u[j - 1][i] + u[j + 1][i] + u[j][i - 1] + u[j][i + 1];
                u[j][i] += omega * (0.25 * (around + f[j][i]) - u[j][i]);
            }
}

static void cube(Plane *u, const Plane *f) {
    for (int colour = 0; colour < 2; colour++)
#pragma omp parallel for
        for (int k = 1; k < N - 1; k++)
            for (int j = 1; j < N - 1; j++)
                for (int i = 1 + (k + j + 1 + colour) % 2; i < N - 1; i += 2) {
                    double around = (u[k - 1][j][i] + u[k + 1][j][i]) + (u[k][j - 1][i] + u[k][j + 1][i]) +
                                    (u[k][j][i - 1] + u[k][j][i + 1]);
                    u[k][j][i] += omega * ((around + f[k][j][i]) / 6.0 - u[k][j][i]);
                }
}

void sor_2d(void) {
    size_t cells = (size_t)SIDE * SIDE;
    Row *u = room(cells * sizeof(double)), *f = room(cells * sizeof(double));
#pragma omp parallel for
    for (size_t j = 0; j < SIDE; j++)
        for (size_t i = 0; i < SIDE; i++) {
            u[j][i] = random_at(j * SIDE + i);
            f[j][i] = random_at(i * SIDE + j);
        }
    square(u, f);
    print_check(&u[0][0], cells);
    TIME(square(u, f));
}

void sor_3d(void) {
    size_t cells = (size_t)N * N * N;
    Plane *u = room(cells * sizeof(double)), *f = room(cells * sizeof(double));
#pragma omp parallel for
    for (size_t k = 0; k < N; k++)
        for (size_t j = 0; j < N; j++)
            for (size_t i = 0; i < N; i++) {
                u[k][j][i] = random_at((k * N + j) * N + i);
                f[k][j][i] = random_at((i * N + j) * N + k);
            }
    cube(u, f);
    print_check(&u[0][0][0], cells);
    TIME(cube(u, f));
}
