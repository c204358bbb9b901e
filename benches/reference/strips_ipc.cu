// Strips between two processes by hand, on one GPU that both share, or on two: what `benches/ranks.rs strip` is compared
// with.
//
//     nvcc -O3 -arch=native -o strips_ipc strips_ipc.cu
//     strips_ipc WAY [BYTES [ROUNDS [FIRST [SECOND]]]]
//
// The processes open each other's memory by CUDA IPC. Each has a strip for the other one, of 2 MiB if nothing else is
// said. They begin a round at once, and are done when both have the other's strip in their own memory and know it.
//
//     events  a kernel packs the strip into a mailbox, an event that both processes have is recorded, a kernel of the
//             other process waits for the event on the device, and unpacks from the mailbox
//     flags   the same, where the host waits for the packing and tells the other process
//     copies  as `events`, and the copy engine unpacks
//     pull    nobody packs: a kernel reads the strip where it is, which was there before the round
//     oneway  as `events`, from the first process to the second alone
//     turns   as `oneway`, then the other way: never do both have work at once
//     alone   one process packs and unpacks by itself: what the two kernels take
//
// FIRST and SECOND are the devices of the two. Prints the median of the rounds, and those a tenth from the ends; fails
// if a number of a strip is not the other's of that round.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t code = (call);                                                                                     \
        if (code != cudaSuccess) {                                                                                     \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                                              \
            _exit(2);                                                                                                  \
        }                                                                                                              \
    } while (0)

// What the processes have in common.
struct Shared {
    cudaIpcMemHandle_t memory[2];
    cudaIpcEventHandle_t event[2];
    volatile long there[2], given[2], taken[2], failed;
};

static Shared *shared;

__global__ void set(double *strip, size_t count, double value) {
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (at < count) strip[at] = value + (double)(at % 1024);
}

__global__ void move(double *__restrict__ to, const double *__restrict__ from, size_t count) {
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (at < count) to[at] = from[at];
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Waits until a number of the other process is this one, for 20 s at most.
static void await(volatile long *number, long value) {
    double start = now();
    for (long looks = 1; *number < value; looks++) {
        if (shared->failed) _exit(3);
        if (looks % 1000 == 0 && now() - start > 20) {
            fprintf(stderr, "the other process does not come\n");
            shared->failed = 1;
            _exit(3);
        }
    }
    __sync_synchronize();
}

static void tell(volatile long *number, long value) {
    __sync_synchronize();
    *number = value;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run(int me, const char *way, size_t bytes, int rounds, int device) {
    const int warm_up = 20, other = 1 - me, threads = 256;
    size_t count = bytes / sizeof(double);
    unsigned blocks = (unsigned)((count + threads - 1) / threads);
    CHECK(cudaSetDevice(device));
    // The strip, and then the mailbox, in one memory that the other process opens; the ghosts are this one's.
    double *strip, *ghosts, *theirs = NULL;
    CHECK(cudaMalloc((void **)&strip, 2 * count * sizeof(double)));
    CHECK(cudaMalloc((void **)&ghosts, count * sizeof(double)));
    double *mailbox = strip + count;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t packed, of_other = NULL;
    CHECK(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming | cudaEventInterprocess));
    bool is_alone = !strcmp(way, "alone");
    if (!is_alone) {
        CHECK(cudaIpcGetMemHandle(&shared->memory[me], strip));
        CHECK(cudaIpcGetEventHandle(&shared->event[me], packed));
        tell(&shared->there[me], 1);
        await(&shared->there[other], 1);
        CHECK(cudaIpcOpenMemHandle((void **)&theirs, shared->memory[other], cudaIpcMemLazyEnablePeerAccess));
        CHECK(cudaIpcOpenEventHandle(&of_other, shared->event[other]));
    }
    bool flags = !strcmp(way, "flags"), copies = !strcmp(way, "copies"), pull = !strcmp(way, "pull");
    bool turns = !strcmp(way, "turns"), one_way = !strcmp(way, "oneway");
    double *seconds = (double *)malloc(rounds * sizeof(double)), *got = (double *)malloc(count * sizeof(double));
    for (int round = 0; round < rounds + warm_up; round++) {
        double value = 1e6 * (round + 1);
        set<<<blocks, threads, 0, stream>>>(strip, count, value + me * 5e5);
        CHECK(cudaMemsetAsync(ghosts, 0, count * sizeof(double), stream));
        CHECK(cudaMemsetAsync(mailbox, 0, count * sizeof(double), stream));
        CHECK(cudaStreamSynchronize(stream));
        if (!is_alone) {
            tell(&shared->there[me], round + 2);
            await(&shared->there[other], round + 2);
        }
        double start = now();
        auto give = [&] {
            if (!pull) {
                move<<<blocks, threads, 0, stream>>>(mailbox, strip, count);
                if (flags) CHECK(cudaStreamSynchronize(stream));
                else CHECK(cudaEventRecord(packed, stream));
            }
            tell(&shared->given[me], round + 1);
        };
        auto take = [&] {
            await(&shared->given[other], round + 1);
            if (!flags && !pull) CHECK(cudaStreamWaitEvent(stream, of_other, 0));
            const double *from = pull ? theirs : theirs + count;
            if (copies) CHECK(cudaMemcpyAsync(ghosts, from, count * sizeof(double), cudaMemcpyDefault, stream));
            else move<<<blocks, threads, 0, stream>>>(ghosts, from, count);
            CHECK(cudaStreamSynchronize(stream));
        };
        bool takes = true;
        if (is_alone) {
            move<<<blocks, threads, 0, stream>>>(mailbox, strip, count);
            move<<<blocks, threads, 0, stream>>>(ghosts, mailbox, count);
            CHECK(cudaStreamSynchronize(stream));
        } else if (one_way || turns) {
            if (me == 0) give();
            else take(), tell(&shared->taken[1], round + 1);
            if (turns && me == 1) give();
            if (turns && me == 0) take();
            if (!turns && me == 0) await(&shared->taken[1], round + 1);
            takes = turns || me == 1;
        } else {
            give();
            take();
        }
        if (round >= warm_up) seconds[round - warm_up] = now() - start;
        // Nobody sets a strip or a mailbox while it is read.
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(got, ghosts, count * sizeof(double), cudaMemcpyDeviceToHost));
        double expected = value + (is_alone ? me : other) * 5e5;
        for (size_t at = 0; takes && at < count; at++) {
            if (got[at] == expected + (double)(at % 1024)) continue;
            fprintf(stderr, "%s: number %zu of process %d in round %d is %f\n", way, at, me, round, got[at]);
            shared->failed = 1;
            return 1;
        }
        if (!is_alone) {
            tell(&shared->taken[me], round + 1);
            await(&shared->taken[other], round + 1);
        }
    }
    qsort(seconds, rounds, sizeof(double), by_size);
    if (me == (one_way ? 1 : 0)) {
        printf("%-7s %zu bytes: %.1f us, median; %.1f to %.1f in the middle\n", way, bytes, seconds[rounds / 2] * 1e6,
               seconds[rounds / 10] * 1e6, seconds[rounds - 1 - rounds / 10] * 1e6);
        fflush(stdout);
    }
    if (!is_alone) {
        CHECK(cudaIpcCloseMemHandle(theirs));
        tell(&shared->there[me], rounds + warm_up + 2);
        await(&shared->there[other], rounds + warm_up + 2);
    }
    CHECK(cudaFree(strip));
    return 0;
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "events";
    const char *known[] = {"events", "flags", "copies", "pull", "oneway", "turns", "alone"};
    bool is_known = false;
    for (const char *name : known) is_known |= !strcmp(name, way);
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 2 << 20;
    int rounds = argc > 3 ? atoi(argv[3]) : 300;
    if (!is_known || bytes < 8 || rounds < 10) {
        fprintf(stderr, "strips_ipc WAY [BYTES [ROUNDS [FIRST [SECOND]]]]: a way of events, flags, copies, pull, oneway, "
                        "turns, alone; at least 8 bytes and 10 rounds\n");
        return 2;
    }
    int devices[2] = {argc > 4 ? atoi(argv[4]) : 0, argc > 5 ? atoi(argv[5]) : 0};
    shared = (Shared *)mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    if (!strcmp(way, "alone")) return run(0, way, bytes, rounds, devices[0]);
    // Before CUDA starts in either.
    pid_t child = fork();
    if (child < 0) return 2;
    int failed = run(child == 0, way, bytes, rounds, devices[child == 0]);
    if (child == 0) _exit(failed);
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) failed = 1;
    return failed;
}
