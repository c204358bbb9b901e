// Euler's equations of a gas in two axes: slopes limited by minmod (MUSCL), fluxes after Harten, Lax and van Leer (HLL), and two
// stages a step (Heun). Density, momenta and energy have a plane each, with two layers of ghosts.
#include "programs.h"
#include <string.h>

enum { N = 1024, STEPS = 4, Y = N + 4 };
static const size_t PLANE = (size_t)Y * Y;

// The time step over a cell's width.
static const double ratio = 0.1;

// Density, momentum through the face, momentum along it, energy.
typedef struct {
    double d, p, t, e;
} State;

// The smaller slope, or none where the slopes differ in sign.
static inline double minmod(double a, double b) {
    double less = fabs(a) < fabs(b) ? a : b;
    return a * b <= 0 ? 0 : less;
}

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double greatest(double a, double b) { return a > b ? a : b; }

static inline State hll(State l, State r) {
    const double gamma = 1.4;
    double ul = l.p / l.d, ur = r.p / r.d;
    double pl = (gamma - 1) * (l.e - 0.5 * (l.p * l.p + l.t * l.t) / l.d);
    double pr = (gamma - 1) * (r.e - 0.5 * (r.p * r.p + r.t * r.t) / r.d);
    double cl = sqrt(gamma * pl / l.d), cr = sqrt(gamma * pr / r.d);
    double low = least(least(ul - cl, ur - cr), 0), high = greatest(greatest(ul + cl, ur + cr), 0);
    State f;
    f.d = (high * l.p - low * r.p + low * high * (r.d - l.d)) / (high - low);
    f.p = (high * (l.p * ul + pl) - low * (r.p * ur + pr) + low * high * (r.p - l.p)) / (high - low);
    f.t = (high * (l.t * ul) - low * (r.t * ur) + low * high * (r.t - l.t)) / (high - low);
    f.e = (high * ((l.e + pl) * ul) - low * ((r.e + pr) * ur) + low * high * (r.e - l.e)) / (high - low);
    return f;
}

// What flows through the face between b and c, four cells in a row.
static inline State through(State a, State b, State c, State d) {
    State l, r;
    l.d = b.d + 0.5 * minmod(b.d - a.d, c.d - b.d);
    l.p = b.p + 0.5 * minmod(b.p - a.p, c.p - b.p);
    l.t = b.t + 0.5 * minmod(b.t - a.t, c.t - b.t);
    l.e = b.e + 0.5 * minmod(b.e - a.e, c.e - b.e);
    r.d = c.d - 0.5 * minmod(c.d - b.d, d.d - c.d);
    r.p = c.p - 0.5 * minmod(c.p - b.p, d.p - c.p);
    r.t = c.t - 0.5 * minmod(c.t - b.t, d.t - c.t);
    r.e = c.e - 0.5 * minmod(c.e - b.e, d.e - c.e);
    return hll(l, r);
}

// The state of a cell of a row; the momentum through the faces comes first.
#define STATE(i) ((State){d[i], p[i], t[i], e[i]})

// What flows through the faces of a row of cells; `step` cells lie from a cell to the next across a face.
static inline void flows_of_row(double *restrict fd, double *restrict fp, double *restrict ft, double *restrict fe,
                                const double *restrict d, const double *restrict p, const double *restrict t,
                                const double *restrict e, int step) {
    for (int i = 2; i < N + 3; i++) {
        State f = through(STATE(i - 2 * step), STATE(i - step), STATE(i), STATE(i + step));
        fd[i] = f.d;
        fp[i] = f.p;
        ft[i] = f.t;
        fe[i] = f.e;
    }
}

static void flows_x(double *restrict f, const double *restrict q) {
    flows_of_row(f, f + PLANE, f + 2 * PLANE, f + 3 * PLANE, q, q + PLANE, q + 2 * PLANE, q + 3 * PLANE, 1);
}

static void flows_y(double *restrict f, const double *restrict q) {
    flows_of_row(f, f + 2 * PLANE, f + PLANE, f + 3 * PLANE, q, q + 2 * PLANE, q + PLANE, q + 3 * PLANE, Y);
}

// What flows through the faces before all cells, and behind the last.
static void flows(double *fx, double *fy, const double *q) {
#pragma omp parallel for
    for (int y = 2; y < N + 3; y++) {
        flows_x(fx + (size_t)y * Y, q + (size_t)y * Y);
        flows_y(fy + (size_t)y * Y, q + (size_t)y * Y);
    }
}

static void first_by_faces(double *restrict half, const double *restrict q, const double *restrict fx,
                           const double *restrict fy) {
#pragma omp parallel for
    for (int y = 2; y < N + 2; y++)
        for (int k = 0; k < 4; k++)
            for (size_t i = k * PLANE + (size_t)y * Y + 2; i < k * PLANE + (size_t)y * Y + N + 2; i++)
                half[i] = q[i] - ratio * (fx[i + 1] - fx[i] + fy[i + Y] - fy[i]);
}

static void second_by_faces(double *restrict q, const double *restrict half, const double *restrict fx,
                            const double *restrict fy) {
#pragma omp parallel for
    for (int y = 2; y < N + 2; y++)
        for (int k = 0; k < 4; k++)
            for (size_t i = k * PLANE + (size_t)y * Y + 2; i < k * PLANE + (size_t)y * Y + N + 2; i++)
                q[i] = 0.5 * (q[i] + (half[i] - ratio * (fx[i + 1] - fx[i] + fy[i + Y] - fy[i])));
}

// One row of a stage. The second takes the mean of the gas before the step, which it writes, and of the second gas, which flows.
static inline void stage_of_row(double *restrict nd, double *restrict np, double *restrict nt, double *restrict ne,
                                const double *restrict d, const double *restrict p, const double *restrict t,
                                const double *restrict e, int second) {
    for (int i = 2; i < N + 2; i++) {
        State w = through(STATE(i - 2), STATE(i - 1), STATE(i), STATE(i + 1));
        State o = through(STATE(i - 1), STATE(i), STATE(i + 1), STATE(i + 2));
#define TURNED(i) ((State){d[i], t[i], p[i], e[i]})
        State s = through(TURNED(i - 2 * Y), TURNED(i - Y), TURNED(i), TURNED(i + Y));
        State n = through(TURNED(i - Y), TURNED(i), TURNED(i + Y), TURNED(i + 2 * Y));
        double gd = d[i] - ratio * (o.d - w.d + (n.d - s.d)), gp = p[i] - ratio * (o.p - w.p + (n.t - s.t));
        double gt = t[i] - ratio * (o.t - w.t + (n.p - s.p)), ge = e[i] - ratio * (o.e - w.e + (n.e - s.e));
        nd[i] = second ? 0.5 * (nd[i] + gd) : gd;
        np[i] = second ? 0.5 * (np[i] + gp) : gp;
        nt[i] = second ? 0.5 * (nt[i] + gt) : gt;
        ne[i] = second ? 0.5 * (ne[i] + ge) : ge;
    }
}

static void first_row(double *restrict n, const double *restrict q) {
    stage_of_row(n, n + PLANE, n + 2 * PLANE, n + 3 * PLANE, q, q + PLANE, q + 2 * PLANE, q + 3 * PLANE, 0);
}

static void second_row(double *restrict n, const double *restrict q) {
    stage_of_row(n, n + PLANE, n + 2 * PLANE, n + 3 * PLANE, q, q + PLANE, q + 2 * PLANE, q + 3 * PLANE, 1);
}

static void first_in_one(double *half, const double *q) {
#pragma omp parallel for
    for (int y = 2; y < N + 2; y++) first_row(half + (size_t)y * Y, q + (size_t)y * Y);
}

static void second_in_one(double *q, const double *half) {
#pragma omp parallel for
    for (int y = 2; y < N + 2; y++) second_row(q + (size_t)y * Y, half + (size_t)y * Y);
}

static void ghosts(double *q) {
    for (int k = 0; k < 4; k++) {
        double *p = q + k * PLANE;
        for (int y = 2; y < N + 2; y++) {
            memcpy(p + y * Y, p + y * Y + N, 2 * sizeof *p);
            memcpy(p + y * Y + N + 2, p + y * Y + 2, 2 * sizeof *p);
        }
        memcpy(p, p + N * Y, 2 * Y * sizeof *p);
        memcpy(p + (N + 2) * Y, p + 2 * Y, 2 * Y * sizeof *p);
    }
}

static double *q, *half, *fx, *fy;

static void by_faces(void) {
    for (int step = 0; step < STEPS; step++) {
        ghosts(q);
        flows(fx, fy, q);
        first_by_faces(half, q, fx, fy);
        ghosts(half);
        flows(fx, fy, half);
        second_by_faces(q, half, fx, fy);
    }
}

static void in_one(void) {
    for (int step = 0; step < STEPS; step++) {
        ghosts(q);
        first_in_one(half, q);
        ghosts(half);
        second_in_one(q, half);
    }
}

static void stepped(void (*steps)(void)) {
    double **arrays[4] = {&q, &half, &fx, &fy};
    for (int n = 0; n < 4; n++) {
        *arrays[n] = room(4 * PLANE * sizeof(double));
#pragma omp parallel for
        for (size_t i = 0; i < 4 * PLANE; i++) (*arrays[n])[i] = 1;
    }
    for (size_t y = 0; y < N; y++)
        for (size_t x = 0; x < N; x++)
            for (int k = 0; k < 4; k++) {
                static const double least[4] = {1.0, -0.1, -0.1, 2.5};
                q[k * PLANE + (y + 2) * Y + x + 2] = least[k] + 0.2 * random_at((y * N + x) * 4 + k);
            }
    steps();
    double *result = room((size_t)4 * N * N * sizeof *result), *end = result;
    for (size_t y = 2; y < N + 2; y++)
        for (size_t x = 2; x < N + 2; x++)
            for (int k = 0; k < 4; k++) *end++ = q[k * PLANE + y * Y + x];
    print_check(result, (size_t)4 * N * N);
    free(result);
    TIME(steps());
}

void euler_faces(void) { stepped(by_faces); }

void euler_one(void) { stepped(in_one); }
