// Euler's equations in two axes by hand, in f64, periodic: what flows through faces (MUSCL with minmod, HLL), and the updates of
// the two stages of Heun's method. Compiled when the bench runs.
//
// Density, momenta along x and y, and energy lie in four planes of n rows of n; so do the flows through the low faces of cells.

struct State {
    double v[4];
};

__device__ __forceinline__ double minmod(double a, double b) {
    if (a * b <= 0.0) return 0.0;
    return fabs(a) < fabs(b) ? a : b;
}

// What flows through a face along the first momentum, between states to its left and right.
__device__ __forceinline__ State hll(const State &l, const State &r) {
    const double gamma = 1.4;
    double ul = l.v[1] / l.v[0], ur = r.v[1] / r.v[0];
    double pl = (gamma - 1.0) * (l.v[3] - 0.5 * (l.v[1] * l.v[1] + l.v[2] * l.v[2]) / l.v[0]);
    double pr = (gamma - 1.0) * (r.v[3] - 0.5 * (r.v[1] * r.v[1] + r.v[2] * r.v[2]) / r.v[0]);
    double cl = sqrt(gamma * pl / l.v[0]), cr = sqrt(gamma * pr / r.v[0]);
    double low = fmin(fmin(ul - cl, ur - cr), 0.0), high = fmax(fmax(ul + cl, ur + cr), 0.0);
    State fl = {{l.v[1], l.v[1] * ul + pl, l.v[2] * ul, (l.v[3] + pl) * ul}};
    State fr = {{r.v[1], r.v[1] * ur + pr, r.v[2] * ur, (r.v[3] + pr) * ur}};
    State f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        f.v[k] = (high * fl.v[k] - low * fr.v[k] + low * high * (r.v[k] - l.v[k])) / (high - low);
    }
    return f;
}

// Through the face between the second and the third of four cells in a row; `turned` if the row is along y.
template <bool turned>
__device__ __forceinline__ void through(double *__restrict__ flow, const double *__restrict__ q, int plane, int cell, int a,
                                        int b, int c, int d) {
    State l, r;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int from = turned && (k == 1 || k == 2) ? 3 - k : k;
        const double *p = q + from * plane;
        double qa = p[a], qb = p[b], qc = p[c], qd = p[d];
        l.v[k] = qb + 0.5 * minmod(qb - qa, qc - qb);
        r.v[k] = qc - 0.5 * minmod(qc - qb, qd - qc);
    }
    State f = hll(l, r);
#pragma unroll
    for (int k = 0; k < 4; k++) flow[(turned && (k == 1 || k == 2) ? 3 - k : k) * plane + cell] = f.v[k];
}

#define CELL                                                                                                           \
    int x = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    int y = blockIdx.y * blockDim.y + threadIdx.y;                                                                     \
    if (x >= n || y >= n) return;                                                                                      \
    int plane = n * n, c = y * n + x;

__device__ __forceinline__ int wrapped(int place, int n) { return place < 0 ? place + n : place >= n ? place - n : place; }

extern "C" __global__ void euler_flow_x(double *__restrict__ flow, const double *__restrict__ q, int n) {
    CELL
    int row = y * n;
    through<false>(flow, q, plane, c, row + wrapped(x - 2, n), row + wrapped(x - 1, n), c, row + wrapped(x + 1, n));
}

extern "C" __global__ void euler_flow_y(double *__restrict__ flow, const double *__restrict__ q, int n) {
    CELL
    through<true>(flow, q, plane, c, wrapped(y - 2, n) * n + x, wrapped(y - 1, n) * n + x, c, wrapped(y + 1, n) * n + x);
}

extern "C" __global__ void euler_first(double *__restrict__ half, const double *__restrict__ q,
                                       const double *__restrict__ fx, const double *__restrict__ fy, int n, double ratio) {
    CELL
    int e = y * n + wrapped(x + 1, n), t = wrapped(y + 1, n) * n + x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int p = k * plane;
        half[p + c] = q[p + c] - ratio * (fx[p + e] - fx[p + c] + fy[p + t] - fy[p + c]);
    }
}

extern "C" __global__ void euler_second(double *__restrict__ q, const double *__restrict__ half,
                                        const double *__restrict__ fx, const double *__restrict__ fy, int n, double ratio) {
    CELL
    int e = y * n + wrapped(x + 1, n), t = wrapped(y + 1, n) * n + x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int p = k * plane;
        double stepped = half[p + c] - ratio * (fx[p + e] - fx[p + c] + fy[p + t] - fy[p + c]);
        q[p + c] = 0.5 * (q[p + c] + stepped);
    }
}
