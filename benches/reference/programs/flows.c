// Several arrays at once: shallow water in two axes, and the reaction of Gray and Scott in three. Arrays have a layer of ghosts.
#include "programs.h"
#include <string.h>

enum { STEPS = 10 };

// Shallow water in a periodic basin.
enum { WATER = 1024, W = WATER + 2, WATER_CELLS = W * W };

static void basin_ghosts(double *p) {
    for (int y = 1; y <= WATER; y++) {
        p[y * W] = p[y * W + WATER];
        p[y * W + WATER + 1] = p[y * W + 1];
    }
    memcpy(p, p + WATER * W, W * sizeof *p);
    memcpy(p + (WATER + 1) * W, p + W, W * sizeof *p);
}

// What flows through a face, from the height, the discharge through the face and that along it, on both sides.
static inline void through(double h, double q, double t, double k, double p, double s, double gravity,
                           double *restrict flux_h, double *restrict flux_q, double *restrict flux_t) {
    double u = q / h, v = p / k;
    double a = fabs(u) + sqrt(gravity * h), b = fabs(v) + sqrt(gravity * k), wave = a > b ? a : b;
    *flux_h = 0.5 * (q + p - wave * (k - h));
    *flux_q = 0.5 * (q * u + p * v + 0.5 * gravity * (h * h + k * k) - wave * (p - q));
    *flux_t = 0.5 * (t * u + s * v - wave * (s - t));
}

// One row; what stands W cells before and after each is the row below and above.
static void flow_row(double *restrict next_h, double *restrict next_u, double *restrict next_v,
                     const double *restrict h, const double *restrict u, const double *restrict v) {
    const double gravity = 9.81, ratio = 0.05;
    for (int i = 1; i <= WATER; i++) {
        int w = i - 1, e = i + 1, s = i - W, n = i + W;
        double west_h, west_u, west_v, east_h, east_u, east_v, south_h, south_u, south_v, north_h, north_u, north_v;
        through(h[w], u[w], v[w], h[i], u[i], v[i], gravity, &west_h, &west_u, &west_v);
        through(h[i], u[i], v[i], h[e], u[e], v[e], gravity, &east_h, &east_u, &east_v);
        through(h[s], v[s], u[s], h[i], v[i], u[i], gravity, &south_h, &south_v, &south_u);
        through(h[i], v[i], u[i], h[n], v[n], u[n], gravity, &north_h, &north_v, &north_u);
        next_h[i] = h[i] - ratio * (east_h - west_h + north_h - south_h);
        next_u[i] = u[i] - ratio * (east_u - west_u + north_u - south_u);
        next_v[i] = v[i] - ratio * (east_v - west_v + north_v - south_v);
    }
}

static void flow(double *next[3], double *now[3]) {
#pragma omp parallel for
    for (int y = 1; y <= WATER; y++) {
        int row = y * W;
        flow_row(next[0] + row, next[1] + row, next[2] + row, now[0] + row, now[1] + row, now[2] + row);
    }
}

static void basin_steps(double *now[3], double *next[3]) {
    for (int step = 0; step < STEPS; step++) {
        for (int n = 0; n < 3; n++) basin_ghosts(now[n]);
        flow(next, now);
        for (int n = 0; n < 3; n++) {
            double *swap = now[n];
            now[n] = next[n];
            next[n] = swap;
        }
    }
}

void shallow(void) {
    double *now[3], *next[3], *result = room(3 * (size_t)WATER * WATER * sizeof *result), *end = result;
    for (int n = 0; n < 3; n++) {
        now[n] = room(WATER_CELLS * sizeof(double));
        next[n] = room(WATER_CELLS * sizeof(double));
        for (int i = 0; i < WATER_CELLS; i++) now[n][i] = next[n][i] = 1.0;
        for (int y = 0; y < WATER; y++)
            for (int x = 0; x < WATER; x++)
                now[n][(y + 1) * W + x + 1] = (n == 0) + 0.1 * random_at(((size_t)n * WATER + y) * WATER + x);
    }
    basin_steps(now, next);
    for (int n = 0; n < 3; n++)
        for (int y = 1; y <= WATER; y++)
            for (int x = 1; x <= WATER; x++) *end++ = now[n][y * W + x];
    print_check(result, 3 * (size_t)WATER * WATER);
    TIME(basin_steps(now, next));
}

// The reaction of Gray and Scott in a periodic box.
enum { BOX = 128, R = BOX + 2, PLANE = R * R, BOX_CELLS = PLANE * R };

static void box_ghosts(double *p) {
    for (int k = 1; k <= BOX; k++) {
        for (int j = 1; j <= BOX; j++) {
            double *row = p + k * PLANE + j * R;
            row[0] = row[BOX];
            row[BOX + 1] = row[1];
        }
        memcpy(p + k * PLANE, p + k * PLANE + BOX * R, R * sizeof *p);
        memcpy(p + k * PLANE + (BOX + 1) * R, p + k * PLANE + R, R * sizeof *p);
    }
    memcpy(p, p + BOX * PLANE, PLANE * sizeof *p);
    memcpy(p + (BOX + 1) * PLANE, p + PLANE, PLANE * sizeof *p);
}

static void react(double *restrict next_u, double *restrict next_v, const double *restrict u, const double *restrict v) {
    const double spread_u = 0.16, spread_v = 0.08, feed = 0.035, kill = 0.065, dt = 0.5;
#pragma omp parallel for
    for (int k = 1; k <= BOX; k++)
        for (int j = 1; j <= BOX; j++)
            for (int i = 1; i <= BOX; i++) {
                int c = k * PLANE + j * R + i;
                double a = u[c], b = v[c];
                double around_u = u[c - 1] + u[c + 1] + u[c - R] + u[c + R] + u[c - PLANE] + u[c + PLANE];
                double around_v = v[c - 1] + v[c + 1] + v[c - R] + v[c + R] + v[c - PLANE] + v[c + PLANE];
                double made = a * b * b;
                next_u[c] = a + dt * (spread_u * (around_u - 6.0 * a) - made + feed * (1.0 - a));
                next_v[c] = b + dt * (spread_v * (around_v - 6.0 * b) + made - (feed + kill) * b);
            }
}

static void box_steps(double *now[2], double *next[2]) {
    for (int step = 0; step < STEPS; step++) {
        box_ghosts(now[0]);
        box_ghosts(now[1]);
        react(next[0], next[1], now[0], now[1]);
        for (int n = 0; n < 2; n++) {
            double *swap = now[n];
            now[n] = next[n];
            next[n] = swap;
        }
    }
}

void gray_scott(void) {
    size_t cells = (size_t)BOX * BOX * BOX;
    double *now[2], *next[2], *result = room(2 * cells * sizeof *result);
    for (int n = 0; n < 2; n++) {
        now[n] = room(BOX_CELLS * sizeof(double));
        next[n] = room(BOX_CELLS * sizeof(double));
        memset(now[n], 0, BOX_CELLS * sizeof(double));
        memset(next[n], 0, BOX_CELLS * sizeof(double));
    }
#define INNER(I) (((I) / BOX / BOX + 1) * PLANE + ((I) / BOX % BOX + 1) * R + (I) % BOX + 1)
    for (size_t i = 0; i < cells; i++) {
        now[0][INNER(i)] = 1.0 - 0.5 * random_at(i);
        now[1][INNER(i)] = 0.25 + 0.25 * random_at(7 * i);
    }
    box_steps(now, next);
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < cells; i++) result[n * cells + i] = now[n][INNER(i)];
    print_check(result, 2 * cells);
    TIME(box_steps(now, next));
}
