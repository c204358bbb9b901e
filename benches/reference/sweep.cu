// Loops along an axis inside a thread by hand, in f64: with what an iteration read kept in registers for the next ones, and
// read again (SAFARA's Figs. 5 and 6); and a value that is written again and again (Lashgar's Fig. 5.7). Compiled when the
// bench runs.

// `a` has n planes of `threads` values: a thread goes down its column, side by side with its neighbours.
extern "C" __global__ void columns_plain(double *__restrict__ next, const double *__restrict__ a, int threads, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    double sum = 0.0;
    for (long long k = 2; k < n - 2; k++) {
        const double *p = a + k * threads + t;
        sum = sum * 0.5 + (p[-2 * threads] - 8.0 * p[-threads] + 8.0 * p[threads] - p[2 * threads]);
    }
    next[t] = sum;
}

extern "C" __global__ void columns_kept(double *__restrict__ next, const double *__restrict__ a, int threads, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    double sum = 0.0, m2 = a[t], m1 = a[threads + t], c = a[2 * (long long)threads + t], p1 = a[3 * (long long)threads + t];
#pragma unroll 4
    for (long long k = 2; k < n - 2; k++) {
        double p2 = a[(k + 2) * threads + t];
        sum = sum * 0.5 + (m2 - 8.0 * m1 + 8.0 * p1 - p2);
        m2 = m1;
        m1 = c;
        c = p1;
        p1 = p2;
    }
    next[t] = sum;
}

// `b` has a row of n values for each thread: neighbours read from lines of their own.
extern "C" __global__ void rows_plain(double *__restrict__ next, const double *__restrict__ b, int threads, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    const double *p = b + (long long)t * n;
    double sum = 0.0;
    for (int k = 1; k < n - 1; k++) sum = sum * 0.5 + (p[k - 1] - 2.0 * p[k] + p[k + 1]);
    next[t] = sum;
}

extern "C" __global__ void rows_kept(double *__restrict__ next, const double *__restrict__ b, int threads, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    const double *p = b + (long long)t * n;
    double sum = 0.0, low = p[0], middle = p[1];
#pragma unroll 4
    for (int k = 1; k < n - 1; k++) {
        double high = p[k + 1];
        sum = sum * 0.5 + (low - 2.0 * middle + high);
        low = middle;
        middle = high;
    }
    next[t] = sum;
}

// A stencil on one axis that writes its cell `writes` times. `u` has a cell before the first and one after the last; the
// pointers are those of the first.
extern "C" __global__ void write_through(double *__restrict__ out, const double *__restrict__ u, int n, int writes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile double *cell = out + i;
    for (int t = 0; t < writes; t++) *cell = *cell * 0.5 + (u[i - 1] + u[i] + u[i + 1]);
}

extern "C" __global__ void write_back(double *__restrict__ out, const double *__restrict__ u, int n, int writes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double cell = out[i];
    for (int t = 0; t < writes; t++) cell = cell * 0.5 + (u[i - 1] + u[i] + u[i + 1]);
    out[i] = cell;
}
