// Strips between two processes by hand, on one GPU that both share, or on two: what `benches/ranks.rs strip` is
// compared with.
//
//     nvcc -O3 -arch=native -o strips_ipc strips_ipc.cu
//     strips_ipc WAY[:CHANGE..] [BYTES [ROUNDS [FIRST [SECOND]]]]
//
// The processes open each other's memory by CUDA IPC. Each has a strip for the other one, of 2 MiB if nothing else is
// said. They begin a round at once, and are done when both have the other's strip in their own memory and know it.
//
//     events   a kernel packs the strip into a mailbox, an event that both processes have is recorded, a kernel of the
//              other process waits for the event on the device, and unpacks from the mailbox
//     flags    the same, where the host waits for the packing and tells the other process
//     copies   as `events`, and a copy engine unpacks
//     engines  as `flags`, and copy engines pack and unpack
//     pull     nobody packs: a kernel reads the strip where it is, which was there before the round
//     fetch    as `pull`, by a copy engine
//     push     nobody unpacks: a kernel writes the strip where it is to be, once the other process says that it may
//     put      as `push`, by a copy engine
//     staged   by way of memory of the host that both have, in four pieces: one process copies them there, the other
//              one from there
//     alone    one process packs and unpacks by itself: what the two kernels take
//
// Changes of a way:
//
//     one      from the first process to the second alone
//     turns    as `one`, then the other way: never do both have work at once
//     1 to 16  that many pieces, of what is staged
//     word     the stream writes a word into memory of the host that both have, in place of an event
//     rows     strip and ghosts are rows of 4 KiB with 16 bytes between, as of an array that has ghosts on all sides
//     peer, batch   which call copies: cudaMemcpyPeerAsync (without `rows`), or that for batches of copies, which asks
//              to run beside kernels; else cudaMemcpyAsync, or cudaMemcpy2DAsync
//     busy     each process has a kernel of 0.4 ms and one block in another stream when a round begins
//
// FIRST and SECOND are the devices of the two. Prints the median of the rounds, and those a tenth from the ends; fails
// if a number of a strip is not the other's of that round.
#include <cuda.h>
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

// What the processes have in common. It is memory of the host that both devices reach.
struct alignas(4096) Shared {
    cudaIpcMemHandle_t memory[2];
    cudaIpcEventHandle_t event[2];
    volatile long there[2], given[2], taken[2], may[2], failed;
    // Which piece of all rounds is there, written by a stream of this process.
    alignas(64) volatile unsigned word[2][16];
};

static Shared *shared;

// How something is moved, and how the other process is told.
enum Move { NOTHING, KERNEL, ENGINE };
enum Told { BY_EVENT, BY_HOST, BY_WORD };
enum Turn { BOTH, ONE, TURNS };
enum Call { PLAIN, PEER, BATCH };

// Bytes of a row, and from one to the next where there is something between.
const size_t ROW = 4096, APART = 4096 + 16;

struct Way {
    const char *name;
    Move pack, unpack;
    Told told;
    Turn turn;
    Call call;
    bool busy, rows;
    unsigned pieces;
};

static const Way WAYS[] = {
    {"events", KERNEL, KERNEL, BY_EVENT},  {"flags", KERNEL, KERNEL, BY_HOST}, {"copies", KERNEL, ENGINE, BY_EVENT},
    {"engines", ENGINE, ENGINE, BY_HOST},  {"pull", NOTHING, KERNEL, BY_HOST}, {"fetch", NOTHING, ENGINE, BY_HOST},
    {"push", KERNEL, NOTHING, BY_HOST},    {"put", ENGINE, NOTHING, BY_HOST},  {"staged", ENGINE, ENGINE, BY_WORD},
    {"alone", KERNEL, KERNEL, BY_HOST},
};

// Finds a way, and changes it; whether it is known.
static bool find(char *text, Way *way) {
    char *part = strtok(text, ":");
    bool known = false;
    for (const Way &of : WAYS)
        if (part && !strcmp(of.name, part)) *way = of, known = true;
    while (known && (part = strtok(NULL, ":"))) {
        if (!strcmp(part, "one")) way->turn = ONE;
        else if (!strcmp(part, "turns")) way->turn = TURNS;
        else if (!strcmp(part, "word")) way->told = BY_WORD;
        else if (!strcmp(part, "rows")) way->rows = true;
        else if (atoi(part) > 0 && atoi(part) <= 16) way->pieces = (unsigned)atoi(part);
        else if (!strcmp(part, "peer")) way->call = PEER;
        else if (!strcmp(part, "batch")) way->call = BATCH;
        else if (!strcmp(part, "busy")) way->busy = true;
        else known = false;
    }
    return known;
}

// Where a number is, if rows begin so many bytes after one another.
__host__ __device__ size_t place(size_t at, size_t pitch) {
    const size_t of_row = ROW / sizeof(double);
    return at / of_row * (pitch / sizeof(double)) + at % of_row;
}

__global__ void set(double *strip, size_t count, size_t pitch, double value) {
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (at < count) strip[place(at, pitch)] = value + (double)(at % 1024);
}

__global__ void move(double *__restrict__ to, size_t to_pitch, const double *__restrict__ from, size_t from_pitch,
                     size_t count) {
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (at < count) to[place(at, to_pitch)] = from[place(at, from_pitch)];
}

__global__ void spin(unsigned long nanoseconds) {
    unsigned long start, time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    while (time - start < nanoseconds);
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Waits until a number of the other process is this one, for 20 s at most.
template <class Number> static void await(volatile Number *number, Number value) {
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

// What a process has.
struct Process {
    cudaStream_t stream;
    decltype(&cuStreamWriteValue32) write_word;
    CUdeviceptr word;
};

// Memory that begins somewhere, on a device or the host, with rows that begin so many bytes after one another.
struct Place {
    void *start;
    size_t pitch;
    int device;

    Place after(size_t bytes) const { return {(char *)start + bytes / ROW * pitch, pitch, device}; }
};

// Copies by an engine, if the driver takes one for this.
static void copy(const Way &way, cudaStream_t stream, Place to, Place from, size_t bytes) {
    bool rows = to.pitch != ROW || from.pitch != ROW;
    if (rows && way.call == BATCH) {
        cudaMemcpy3DBatchOp one = {};
        one.src.type = one.dst.type = cudaMemcpyOperandTypePointer;
        auto &source = one.src.op.ptr, &target = one.dst.op.ptr;
        source.ptr = from.start, source.rowLength = from.pitch, source.layerHeight = bytes / ROW;
        target.ptr = to.start, target.rowLength = to.pitch, target.layerHeight = bytes / ROW;
        one.extent = make_cudaExtent(ROW, bytes / ROW, 1);
        one.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        one.flags = cudaMemcpyFlagPreferOverlapWithCompute;
        CHECK(cudaMemcpy3DBatchAsync(1, &one, 0, stream));
    } else if (rows) {
        size_t count = bytes / ROW;
        CHECK(cudaMemcpy2DAsync(to.start, to.pitch, from.start, from.pitch, ROW, count, cudaMemcpyDefault, stream));
    } else if (way.call == PEER) {
        CHECK(cudaMemcpyPeerAsync(to.start, to.device, from.start, from.device, bytes, stream));
    } else if (way.call == BATCH) {
        cudaMemcpyAttributes attributes = {};
        attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
        size_t first = 0;
        CHECK(cudaMemcpyBatchAsync(&to.start, &from.start, &bytes, 1, &attributes, &first, 1, stream));
    } else {
        CHECK(cudaMemcpyAsync(to.start, from.start, bytes, cudaMemcpyDefault, stream));
    }
}

static void write_word(Process &of, unsigned value) {
    CUresult code = of.write_word(of.stream, of.word, value, 0);
    if (code != CUDA_SUCCESS) {
        fprintf(stderr, "cuStreamWriteValue32: %d\n", (int)code);
        _exit(2);
    }
}

static Process start(int me, int device) {
    Process of = {};
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&of.stream, cudaStreamNonBlocking));
    CHECK(cudaHostRegister(shared, sizeof(Shared), cudaHostRegisterMapped));
    void *word;
    CHECK(cudaHostGetDevicePointer(&word, (void *)&shared->word[me][0], 0));
    of.word = (CUdeviceptr)word;
    cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    CHECK(cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &function, 12000, cudaEnableDefault, &found));
    of.write_word = (decltype(of.write_word))function;
    if (!function) _exit(2);
    return of;
}

static int run(int me, const Way &way, size_t bytes, int rounds, const int *devices) {
    const int warm_up = 20, other = 1 - me, threads = 256;
    const bool is_alone = !strcmp(way.name, "alone"), is_staged = !strcmp(way.name, "staged");
    const unsigned pieces = !is_staged ? 1 : way.pieces ? way.pieces : 4;
    const size_t count = bytes / sizeof(double), piece = bytes / pieces;
    unsigned blocks = (unsigned)((count + threads - 1) / threads);
    Process of = start(me, devices[me]);
    cudaStream_t stream = of.stream, beside;
    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    // The strip, the mailbox and the ghosts, in one memory that the other process opens.
    const size_t pitch = way.rows ? APART : ROW, room = bytes / ROW * pitch;
    char *own, *theirs = NULL;
    CHECK(cudaMalloc((void **)&own, 3 * room));
    enum { STRIP, MAILBOX, GHOSTS };
    auto part = [&](int number, int process) -> Place {
        char *of = (process == me ? own : theirs) + number * room;
        return {of, number == MAILBOX ? ROW : pitch, devices[process]};
    };
    double *strip = (double *)part(STRIP, me).start, *ghosts = (double *)part(GHOSTS, me).start;
    cudaEvent_t packed, of_other = NULL;
    CHECK(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming | cudaEventInterprocess));
    // What is staged lies behind the rest.
    char *stage = (char *)shared + sizeof(Shared);
    if (is_staged) CHECK(cudaHostRegister(stage, 2 * bytes, cudaHostRegisterDefault));
    Place given_stage = {stage + me * bytes, ROW, 0}, taken_stage = {stage + other * bytes, ROW, 0};
    if (!is_alone) {
        CHECK(cudaIpcGetMemHandle(&shared->memory[me], own));
        CHECK(cudaIpcGetEventHandle(&shared->event[me], packed));
        tell(&shared->there[me], 1L);
        await(&shared->there[other], 1L);
        CHECK(cudaIpcOpenMemHandle((void **)&theirs, shared->memory[other], cudaIpcMemLazyEnablePeerAccess));
        CHECK(cudaIpcOpenEventHandle(&of_other, shared->event[other]));
    }
    double *seconds = (double *)malloc(rounds * sizeof(double)), *got = (double *)malloc(room);
    for (int round = 0; round < rounds + warm_up; round++) {
        double value = 1e6 * (round + 1);
        set<<<blocks, threads, 0, stream>>>(strip, count, pitch, value + me * 5e5);
        CHECK(cudaMemsetAsync(own + room, 0, 2 * room, stream));
        CHECK(cudaDeviceSynchronize());
        if (!is_alone) {
            tell(&shared->there[me], round + 2L);
            await(&shared->there[other], round + 2L);
        }
        if (way.busy) spin<<<1, 32, 0, beside>>>(400000);
        double start = now();
        unsigned word = (round + 1) * pieces;
        auto move_by = [&](Move how, Place to, Place from) {
            if (how == ENGINE) copy(way, stream, to, from, bytes);
            if (how != KERNEL) return;
            move<<<blocks, threads, 0, stream>>>((double *)to.start, to.pitch, (double *)from.start, from.pitch, count);
        };
        auto give = [&] {
            for (unsigned n = 0; is_staged && n < pieces; n++) {
                copy(way, stream, given_stage.after(piece * n), part(STRIP, me).after(piece * n), piece);
                write_word(of, word - pieces + n + 1);
            }
            if (is_staged) return;
            if (way.unpack == NOTHING) {
                await(&shared->may[other], round + 1L);
                move_by(way.pack, part(GHOSTS, other), part(STRIP, me));
            } else {
                move_by(way.pack, part(MAILBOX, me), part(STRIP, me));
            }
            if (way.told == BY_WORD) write_word(of, word);
            else if (way.told == BY_EVENT) CHECK(cudaEventRecord(packed, stream));
            else if (way.pack != NOTHING) CHECK(cudaStreamSynchronize(stream));
            if (way.told != BY_WORD) tell(&shared->given[me], round + 1L);
        };
        auto take = [&] {
            for (unsigned n = 0; is_staged && n < pieces; n++) {
                await(&shared->word[other][0], word - pieces + n + 1);
                copy(way, stream, part(GHOSTS, me).after(piece * n), taken_stage.after(piece * n), piece);
            }
            if (!is_staged && way.told == BY_WORD) await(&shared->word[other][0], word);
            else if (!is_staged) await(&shared->given[other], round + 1L);
            if (way.unpack == NOTHING) return;
            if (way.told == BY_EVENT) CHECK(cudaStreamWaitEvent(stream, of_other, 0));
            if (!is_staged) move_by(way.unpack, part(GHOSTS, me), part(way.pack == NOTHING ? STRIP : MAILBOX, other));
            CHECK(cudaStreamSynchronize(stream));
        };
        bool takes = true;
        if (is_alone) {
            move_by(KERNEL, part(MAILBOX, me), part(STRIP, me));
            move_by(KERNEL, part(GHOSTS, me), part(MAILBOX, me));
            CHECK(cudaStreamSynchronize(stream));
        } else {
            tell(&shared->may[me], round + 1L);
            if (way.turn == BOTH) {
                give();
                take();
            } else {
                if (me == 0) give();
                else take(), tell(&shared->taken[1], round + 1L);
                if (way.turn == TURNS && me == 1) give();
                if (way.turn == TURNS && me == 0) take();
                if (way.turn == ONE && me == 0) await(&shared->taken[1], round + 1L);
                takes = way.turn == TURNS || me == 1;
            }
        }
        if (round >= warm_up) seconds[round - warm_up] = now() - start;
        // Nobody sets a strip or a mailbox while it is read.
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(got, ghosts, room, cudaMemcpyDeviceToHost));
        double expected = value + (is_alone ? me : other) * 5e5;
        for (size_t at = 0; takes && at < count; at++) {
            double number = got[place(at, pitch)];
            if (number == expected + (double)(at % 1024)) continue;
            fprintf(stderr, "%s: number %zu of process %d in round %d is %f\n", way.name, at, me, round, number);
            shared->failed = 1;
            return 1;
        }
        if (!is_alone) {
            tell(&shared->taken[me], round + 1L);
            await(&shared->taken[other], round + 1L);
        }
    }
    qsort(seconds, rounds, sizeof(double), by_size);
    if (me == (way.turn == ONE ? 1 : 0)) {
        int mps = 0;
        CHECK(cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, devices[me]));
        printf("%zu bytes: %.1f us, median; %.1f to %.1f in the middle%s\n", bytes, seconds[rounds / 2] * 1e6,
               seconds[rounds / 10] * 1e6, seconds[rounds - 1 - rounds / 10] * 1e6, mps ? "; by MPS" : "");
        fflush(stdout);
    }
    if (!is_alone) {
        CHECK(cudaIpcCloseMemHandle(theirs));
        tell(&shared->there[me], rounds + warm_up + 2L);
        await(&shared->there[other], rounds + warm_up + 2L);
    }
    CHECK(cudaFree(own));
    return 0;
}

int main(int argc, char **argv) {
    char text[64] = "events";
    if (argc > 1) snprintf(text, sizeof text, "%s", argv[1]);
    Way way = {};
    bool is_known = find(text, &way);
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 2 << 20;
    int rounds = argc > 3 ? atoi(argv[3]) : 300;
    if (!is_known || bytes < 16 * ROW || bytes % (16 * ROW) || rounds < 10) {
        fprintf(stderr, "strips_ipc WAY[:CHANGE..] [BYTES [ROUNDS [FIRST [SECOND]]]]: a way and changes of the list at "
                        "the head of the source; multiples of 64 KiB, at least 10 rounds\n");
        return 2;
    }
    int devices[2] = {argc > 4 ? atoi(argv[4]) : 0, argc > 5 ? atoi(argv[5]) : 0};
    size_t room = sizeof(Shared) + 2 * bytes;
    shared = (Shared *)mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    printf("%-24s ", argc > 1 ? argv[1] : text);
    fflush(stdout);
    if (!strcmp(way.name, "alone")) return run(0, way, bytes, rounds, devices);
    // Before CUDA starts in either.
    pid_t child = fork();
    if (child < 0) return 2;
    int failed = run(child == 0, way, bytes, rounds, devices);
    if (child == 0) _exit(failed);
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) failed = 1;
    return failed;
}
