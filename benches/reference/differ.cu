// Counts the words of two arrays' inner cells that are not the same. Compiled when the bench runs.
//
// A block takes a row of so many words. `pitch` and `plane` are words from a row and a plane to the next.
extern "C" __global__ void differ(const unsigned *__restrict__ a, const unsigned *__restrict__ b, int words, int rows,
                                  long long pitch, long long plane, unsigned *count) {
    long long at = blockIdx.x / rows * plane + blockIdx.x % rows * pitch;
    for (int w = threadIdx.x; w < words; w += blockDim.x) {
        if (a[at + w] != b[at + w]) atomicAdd(count, 1u);
    }
}
