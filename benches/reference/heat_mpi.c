// Heat of 7 points by hand in C over MPI: what `benches/ranks.rs` compares tida's ranks with.
//
//     mpicc -O3 -march=native -ffp-contract=off -o heat_mpi heat_mpi.c
//     mpirun -n 2 heat_mpi 256 50 5
//
// The grid has so many cells of 8 bytes along each axis and one ghost cell around it, which stays 0; ranks have slabs
// along the first axis. A step sends its outermost planes without waiting, computes the planes between, waits, and
// computes the outermost ones. Prints the median seconds of a step, and the wrapping sum of all cells' bits, which no
// order changes.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t n, row, plane;

static void planes(double *restrict next, const double *restrict u, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (size_t j = 1; j <= n; j++) {
            const double *restrict c = u + i * plane + j * row;
            double *restrict o = next + i * plane + j * row;
            for (size_t k = 1; k <= n; k++) {
                double around = c[k - plane] + c[k + plane] + c[k - row] + c[k + row];
                o[k] = c[k] + 0.1 * (around + c[k - 1] + c[k + 1] - 6.0 * c[k]);
            }
        }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = argc > 1 ? (size_t)atol(argv[1]) : 256;
    int steps = argc > 2 ? atoi(argv[2]) : 50, rounds = argc > 3 ? atoi(argv[3]) : 5;
    // Rows start at multiples of 64 bytes.
    row = (n + 2 + 7) / 8 * 8;
    plane = row * (n + 2);
    size_t first = n * rank / ranks, own = n * (rank + 1) / ranks - first;
    size_t bytes = ((own + 2) * plane * sizeof(double) + 63) / 64 * 64;
    double *u = aligned_alloc(64, bytes), *next = aligned_alloc(64, bytes);
    memset(u, 0, bytes);
    memset(next, 0, bytes);
    for (size_t i = 1; i <= own; i++)
        for (size_t j = 1; j <= n; j++)
            for (size_t k = 1; k <= n; k++)
                u[i * plane + j * row + k] = (double)(((first + i - 1) * 31 + (j - 1) * 17 + (k - 1) * 7) % 101) / 101.0;
    int low = rank > 0 ? rank - 1 : MPI_PROC_NULL, high = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    double *seconds = malloc(rounds * sizeof(double));
    for (int round = -1; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int step = 0; step < steps; step++) {
            MPI_Request all[4];
            int count = (int)plane;
            MPI_Irecv(u, count, MPI_DOUBLE, low, 1, MPI_COMM_WORLD, &all[0]);
            MPI_Irecv(u + (own + 1) * plane, count, MPI_DOUBLE, high, 2, MPI_COMM_WORLD, &all[1]);
            MPI_Isend(u + plane, count, MPI_DOUBLE, low, 2, MPI_COMM_WORLD, &all[2]);
            MPI_Isend(u + own * plane, count, MPI_DOUBLE, high, 1, MPI_COMM_WORLD, &all[3]);
            planes(next, u, 2, own);
            MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
            planes(next, u, 1, 2);
            if (own > 1) planes(next, u, own, own + 1);
            double *other = u;
            u = next;
            next = other;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (round >= 0) seconds[round] = (MPI_Wtime() - start) / steps;
    }
    uint64_t sum = 0, all = 0;
    for (size_t i = 1; i <= own; i++)
        for (size_t j = 1; j <= n; j++)
            for (size_t k = 1; k <= n; k++) {
                uint64_t bits;
                memcpy(&bits, &u[i * plane + j * row + k], 8);
                sum += bits;
            }
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    qsort(seconds, rounds, sizeof(double), by_size);
    if (rank == 0) printf("%.9f s a step, bits %016llx\n", seconds[rounds / 2], (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
