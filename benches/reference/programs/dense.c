// Matrices.
#include "programs.h"
#include <string.h>

enum { N = 1024, CELLS = N * N };

// C = A B, rows of B added up.
static void product(double *restrict c, const double *restrict a, const double *restrict b) {
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double *restrict row = c + (size_t)i * N;
        for (int j = 0; j < N; j++) row[j] = 0;
        for (int k = 0; k < N; k++) {
            double x = a[(size_t)i * N + k];
            for (int j = 0; j < N; j++) row[j] += x * b[(size_t)k * N + j];
        }
    }
}

// The blocked product: DEPTH rows of a strip of B that is WIDE are copied to lie together, then read for HIGH rows of C at a time, whose
// cells stay in registers meanwhile.
enum { DEPTH = 256, WIDE = 16, HIGH = 4, LANES = 8 };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double))));

static void strip(double *restrict c, const double *restrict a, const double *restrict packed) {
    lanes sum[HIGH][WIDE / LANES];
#pragma GCC unroll 8
    for (int i = 0; i < HIGH; i++)
#pragma GCC unroll 8
        for (int j = 0; j < WIDE / LANES; j++) sum[i][j] = *(lanes *)(c + (size_t)i * N + j * LANES);
    for (int k = 0; k < DEPTH; k++)
#pragma GCC unroll 8
        for (int i = 0; i < HIGH; i++)
#pragma GCC unroll 8
            for (int j = 0; j < WIDE / LANES; j++)
                sum[i][j] += a[(size_t)i * N + k] * *(lanes *)(packed + k * WIDE + j * LANES);
#pragma GCC unroll 8
    for (int i = 0; i < HIGH; i++)
#pragma GCC unroll 8
        for (int j = 0; j < WIDE / LANES; j++) *(lanes *)(c + (size_t)i * N + j * LANES) = sum[i][j];
}

static void blocked(double *restrict c, const double *restrict a, const double *restrict b) {
    static double packed[DEPTH * N] __attribute__((aligned(128)));
    memset(c, 0, CELLS * sizeof(double));
#pragma omp parallel
    for (int k = 0; k < N; k += DEPTH) {
#pragma omp for
        for (int j = 0; j < N; j += WIDE)
            for (int row = 0; row < DEPTH; row++)
                memcpy(packed + (size_t)j * DEPTH + row * WIDE, b + (size_t)(k + row) * N + j, WIDE * sizeof(double));
#pragma omp for
        for (int i = 0; i < N; i += HIGH)
            for (int j = 0; j < N; j += WIDE)
                strip(c + (size_t)i * N + j, a + (size_t)i * N + k, packed + (size_t)j * DEPTH);
    }
}

static void multiplied(void (*multiply)(double *restrict, const double *restrict, const double *restrict)) {
    double *a = room(CELLS * sizeof *a), *b = room(CELLS * sizeof *b), *c = room(CELLS * sizeof *c);
    for (size_t i = 0; i < CELLS; i++) {
        a[i] = random_at(i);
        b[i] = random_at(CELLS + i);
    }
    multiply(c, a, b);
    print_check(c, CELLS);
    TIME(multiply(c, a, b));
}

void gemm(void) { multiplied(product); }

void gemm_blocked(void) { multiplied(blocked); }

// The data less the means of their columns.
static void centre(double *restrict centred, double *restrict mean, const double *restrict data) {
#pragma omp parallel for
    for (int first = 0; first < N; first += 64) {
        for (int j = first; j < first + 64; j++) mean[j] = 0;
        for (int i = 0; i < N; i++)
            for (int j = first; j < first + 64; j++) mean[j] += data[(size_t)i * N + j];
        for (int j = first; j < first + 64; j++) mean[j] /= N;
    }
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) centred[(size_t)i * N + j] = data[(size_t)i * N + j] - mean[j];
}

// Every entry.
static void covariances(double *restrict matrix, const double *restrict data) {
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double *restrict row = matrix + (size_t)i * N;
        for (int j = 0; j < N; j++) row[j] = 0;
        for (int k = 0; k < N; k++) {
            double x = data[(size_t)k * N + i];
            for (int j = 0; j < N; j++) row[j] += x * data[(size_t)k * N + j];
        }
        for (int j = 0; j < N; j++) row[j] /= N - 1.0;
    }
}

// The entries from the diagonal on, each also put where it is mirrored to, as PolyBench does.
static void half_of_covariances(double *restrict matrix, const double *restrict data) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
        double *restrict row = matrix + (size_t)i * N;
        for (int j = i; j < N; j++) row[j] = 0;
        for (int k = 0; k < N; k++) {
            double x = data[(size_t)k * N + i];
            for (int j = i; j < N; j++) row[j] += x * data[(size_t)k * N + j];
        }
        for (int j = i; j < N; j++) row[j] /= N - 1.0;
        for (int j = i + 1; j < N; j++) matrix[(size_t)j * N + i] = row[j];
    }
}

static void covaried(void (*fill)(double *restrict, const double *restrict)) {
    double *data = room(CELLS * sizeof *data), *centred = room(CELLS * sizeof *centred);
    double *matrix = room(CELLS * sizeof *matrix), *mean = room(N * sizeof *mean);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) data[i * N + j] = random_at(i * N + j) + random_at(7 * i) * random_at(11 * j);
    centre(centred, mean, data);
    fill(matrix, centred);
    print_check(matrix, CELLS);
    TIME(centre(centred, mean, data); fill(matrix, centred));
}

void covariance(void) { covaried(covariances); }

void covariance_half(void) { covaried(half_of_covariances); }

// PolyBench's 2mm: D = alpha A B C + beta D, rows of B and of C added up.
static void two_products(double *restrict d, double *restrict first, const double *restrict a, const double *restrict b,
                         const double *restrict c) {
    const double alpha = 1.5, beta = 0.8;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double *restrict row = first + (size_t)i * N;
        for (int j = 0; j < N; j++) row[j] = 0;
        for (int k = 0; k < N; k++) {
            double x = alpha * a[(size_t)i * N + k];
            for (int j = 0; j < N; j++) row[j] += x * b[(size_t)k * N + j];
        }
    }
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double *restrict row = d + (size_t)i * N;
        for (int j = 0; j < N; j++) row[j] *= beta;
        for (int k = 0; k < N; k++) {
            double x = first[(size_t)i * N + k];
            for (int j = 0; j < N; j++) row[j] += x * c[(size_t)k * N + j];
        }
    }
}

void two_mm(void) {
    double *matrices[5];
    for (size_t n = 0; n < 5; n++) {
        matrices[n] = room(CELLS * sizeof(double));
        for (size_t i = 0; i < CELLS; i++) matrices[n][i] = random_at(n * CELLS + i);
    }
    double *a = matrices[0], *b = matrices[1], *c = matrices[2], *d = matrices[3], *first = matrices[4];
    two_products(d, first, a, b, c);
    print_check(d, CELLS);
    TIME(two_products(d, first, a, b, c));
}

// The data less the means of their columns, in parts of their deviations.
static void reduce_columns(double *restrict reduced, double *restrict mean, double *restrict deviation,
                           const double *restrict data) {
#pragma omp parallel for
    for (int first = 0; first < N; first += 64) {
        for (int j = first; j < first + 64; j++) mean[j] = deviation[j] = 0;
        for (int i = 0; i < N; i++)
            for (int j = first; j < first + 64; j++) mean[j] += data[(size_t)i * N + j];
        for (int j = first; j < first + 64; j++) mean[j] /= N;
        for (int i = 0; i < N; i++)
            for (int j = first; j < first + 64; j++) {
                double off = data[(size_t)i * N + j] - mean[j];
                deviation[j] += off * off;
            }
        for (int j = first; j < first + 64; j++) {
            deviation[j] = sqrt(deviation[j] / N);
            if (deviation[j] <= 0.1) deviation[j] = 1;
        }
    }
    const double root = sqrt(N);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            reduced[(size_t)i * N + j] = (data[(size_t)i * N + j] - mean[j]) / (root * deviation[j]);
}

// Every entry.
static void correlations(double *restrict matrix, const double *restrict data) {
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double *restrict row = matrix + (size_t)i * N;
        for (int j = 0; j < N; j++) row[j] = 0;
        for (int k = 0; k < N; k++) {
            double x = data[(size_t)k * N + i];
            for (int j = 0; j < N; j++) row[j] += x * data[(size_t)k * N + j];
        }
        row[i] = 1;
    }
}

void correlation(void) {
    double *data = room(CELLS * sizeof *data), *reduced = room(CELLS * sizeof *reduced);
    double *matrix = room(CELLS * sizeof *matrix), *mean = room(N * sizeof *mean), *deviation = room(N * sizeof *mean);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) data[i * N + j] = random_at(i * N + j) + random_at(7 * i) * random_at(11 * j);
    reduce_columns(reduced, mean, deviation, data);
    correlations(matrix, reduced);
    print_check(matrix, CELLS);
    TIME(reduce_columns(reduced, mean, deviation, data); correlations(matrix, reduced));
}
