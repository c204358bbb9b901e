// What a read costs here: chains of cells that hold the address of the next one, so that each read waits for the one
// before it. One warp; each of its threads follows a chain of its own.

enum { LINK, SHARED, MEMORY };

__device__ static unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Cells of one step are `apart` from one another, steps `pitch`: 1 is a warp that reads neighbours, 16 one that reads 32
// lines of 128 bytes. `steps` is a power of two. A chain goes through the steps with a stride, and ends where it began.
extern "C" __global__ void tida_profile(unsigned long long *result, unsigned long long *cells, unsigned apart,
                                        unsigned pitch, unsigned steps, unsigned reads, unsigned what) {
    const unsigned lane = threadIdx.x;
    if (what == LINK) {
        const unsigned next = (blockIdx.x + 97) & (steps - 1);
        cells[(unsigned long long)blockIdx.x * pitch + lane * apart] =
            (unsigned long long)(cells + (unsigned long long)next * pitch + lane * apart);
        return;
    }
    unsigned long long start, end, took;
    if (what == SHARED) {
        // Its four bytes of each of 32 rows: every thread has a bank of its own.
        __shared__ unsigned rows[32 * 32];
        const unsigned base = (unsigned)__cvta_generic_to_shared(rows);
        for (unsigned row = 0; row < 32; row++) rows[row * 32 + lane] = base + (((row + 1) & 31) * 32 + lane) * 4;
        __syncthreads();
        unsigned at = base + lane * 4;
        start = at;
        took = nanoseconds();
        for (unsigned read = 0; read < reads; read++)
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(at) : "memory");
        took = nanoseconds() - took;
        end = at;
    } else {
        unsigned long long at = (unsigned long long)(cells + lane * apart);
        start = at;
        took = nanoseconds();
        for (unsigned read = 0; read < reads; read++)
            asm volatile("ld.global.u64 %0, [%1];" : "=l"(at) : "l"(at) : "memory");
        took = nanoseconds() - took;
        end = at;
    }
    const int round = __all_sync(0xffffffffu, start == end);
    if (lane == 0) {
        result[0] = took;
        result[1] = round;
    }
}
