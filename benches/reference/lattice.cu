// A step of the lattice Boltzmann method with nine velocities in two axes (D2Q9) by hand, in f32, periodic. Compiled when the
// bench runs.
//
// Populations lie in nine planes of n rows of n. A thread pulls those of its cell, lets them collide, and stores them.

extern "C" __global__ void lattice(float *__restrict__ o, const float *__restrict__ f, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int w = x > 0 ? x - 1 : n - 1, e = x < n - 1 ? x + 1 : 0;
    int s = (y > 0 ? y - 1 : n - 1) * n, t = (y < n - 1 ? y + 1 : 0) * n, m = y * n, plane = n * n;
    float f0 = f[m + x];
    float f1 = f[plane + m + w];
    float f2 = f[2 * plane + s + x];
    float f3 = f[3 * plane + m + e];
    float f4 = f[4 * plane + t + x];
    float f5 = f[5 * plane + s + w];
    float f6 = f[6 * plane + s + e];
    float f7 = f[7 * plane + t + e];
    float f8 = f[8 * plane + t + w];
    constexpr float OMEGA = 1.2, W0 = 4.0 / 9.0, W1 = 1.0 / 9.0, W5 = 1.0 / 36.0, keep = 1.0f - OMEGA;
    float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    float ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho;
    float uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
    float sum = ux + uy, difference = ux - uy;
    float base = 1.0f - 1.5f * (ux * ux + uy * uy);
    float rest = OMEGA * W0 * rho, near = OMEGA * W1 * rho, far = OMEGA * W5 * rho;
    int c = m + x;
    o[c] = keep * f0 + rest * base;
    o[plane + c] = keep * f1 + near * (base + 3.0f * ux + 4.5f * ux * ux);
    o[2 * plane + c] = keep * f2 + near * (base + 3.0f * uy + 4.5f * uy * uy);
    o[3 * plane + c] = keep * f3 + near * (base - 3.0f * ux + 4.5f * ux * ux);
    o[4 * plane + c] = keep * f4 + near * (base - 3.0f * uy + 4.5f * uy * uy);
    o[5 * plane + c] = keep * f5 + far * (base + 3.0f * sum + 4.5f * sum * sum);
    o[6 * plane + c] = keep * f6 + far * (base - 3.0f * difference + 4.5f * difference * difference);
    o[7 * plane + c] = keep * f7 + far * (base - 3.0f * sum + 4.5f * sum * sum);
    o[8 * plane + c] = keep * f8 + far * (base + 3.0f * difference + 4.5f * difference * difference);
}
