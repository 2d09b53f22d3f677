/* device.cu - kernels that call device functions and store their results. */
#include "device.h"

#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/mma.h"

static __global__ void shuffles(int *out) {
    const int lane = static_cast<int>(threadIdx.x);
    const int mine = 100 + lane;
    out[lane] = __shfl_sync(0xFFFFFFFFU, mine, 5, 8);
    out[32 + lane] = __shfl_xor_sync(0xFFFFFFFFU, mine, 3);
    out[64 + lane] = __shfl_up_sync(0xFFFFFFFFU, mine, 2);
    out[96 + lane] = __shfl_down_sync(0xFFFFFFFFU, mine, 2);
    out[128 + lane] = __shfl_up_sync(0xFFFFFFFFU, mine, 3, 8);
    out[160 + lane] = __shfl_down_sync(0xFFFFFFFFU, mine, 3, 8);
}

extern "C" int device_shuffles(int *out) {
    return TIDE_LAUNCH(shuffles, 1, 32, 0, nullptr, out);
}

static __global__ void votes(unsigned *out) {
    const unsigned lane = threadIdx.x;
    const int odd = lane % 2 == 1;
    const unsigned ballot = __ballot_sync(0xFFFFFFFFU, odd);
    const int any = __any_sync(0xFFFFFFFFU, odd);
    const int all = __all_sync(0xFFFFFFFFU, odd);
    if (lane == 0) {
        out[0] = ballot;
        out[1] = static_cast<unsigned>(any);
        out[2] = static_cast<unsigned>(all);
    }
    if (lane < 16) {
        const unsigned below = __ballot_sync(0xFFFFU, odd);
        const int any_above = __any_sync(0xFFFFU, lane > 20);
        const int all_below = __all_sync(0xFFFFU, lane < 16);
        if (lane == 7) {
            out[3] = below;
            out[4] = static_cast<unsigned>(any_above);
            out[5] = static_cast<unsigned>(all_below);
        }
    }
}

extern "C" int device_votes(unsigned *out) {
    return TIDE_LAUNCH(votes, 1, 32, 0, nullptr, out);
}

static __global__ void atomics(unsigned *out) {
    const unsigned number = blockIdx.x * blockDim.x + threadIdx.x + 1;
    atomicAdd(&out[0], number);
    atomicMax(&out[1], number);
    atomicMin(&out[2], number);
    atomicAdd(&out[3], 1U);
}

extern "C" int device_atomics(unsigned *out, unsigned blocks) {
    return TIDE_LAUNCH(atomics, blocks, 64, 0, nullptr, out);
}

static __global__ void indices(int *out) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
        static_cast<int>(blockIdx.x * 100000 + blockIdx.y * 10000 + blockIdx.z * 1000 +
                         threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z);
}

extern "C" int device_indices(int *out) {
    return TIDE_LAUNCH(indices, dim3(3, 2, 2), dim3(4, 2, 3), 0, nullptr, out);
}

static __global__ void bf16(uint16_t *bits, float *back, const float *x, int n) {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
        const __nv_bfloat16 narrow = __float2bfloat16_rn(x[i]);
        bits[i] = __bfloat16_as_ushort(narrow);
        back[i] = __bfloat162float(narrow);
    }
}

extern "C" int device_bf16(uint16_t *bits, float *back, const float *x, int n) {
    return TIDE_LAUNCH(bf16, 1, 64, 0, nullptr, bits, back, x, n);
}

static __device__ unsigned two(unsigned short low, unsigned short high) {
    return low | static_cast<unsigned>(high) << 16;
}

static __device__ void store_product(float *d, const float (&part)[4]) {
    const unsigned g = threadIdx.x / 4;
    const unsigned t = threadIdx.x % 4 * 2;
    d[g * 8 + t] = part[0];
    d[g * 8 + t + 1] = part[1];
    d[(g + 8) * 8 + t] = part[2];
    d[(g + 8) * 8 + t + 1] = part[3];
}

static __global__ void product(float *d, const uint16_t *a, const uint16_t *b) {
    const unsigned g = threadIdx.x / 4;
    const unsigned t = threadIdx.x % 4 * 2;
    const uint16_t *upper = a + g * 16;
    const uint16_t *lower = a + (g + 8) * 16;
    const unsigned of_a[4] = {two(upper[t], upper[t + 1]), two(lower[t], lower[t + 1]),
                              two(upper[t + 8], upper[t + 9]), two(lower[t + 8], lower[t + 9])};
    const unsigned of_b[2] = {two(b[t * 8 + g], b[(t + 1) * 8 + g]),
                              two(b[(t + 8) * 8 + g], b[(t + 9) * 8 + g])};
    float sums[4] = {0, 0, 0, 0};
    tide_mma(sums, of_a, of_b);
    store_product(d, sums);
}

extern "C" int device_product(float *d, const uint16_t *a, const uint16_t *b) {
    return TIDE_LAUNCH(product, 1, 32, 0, nullptr, d, a, b);
}

static __global__ void product_loaded(float *d, const uint16_t *a, const uint16_t *b,
                                      const uint16_t *b_transposed, int use_transposed) {
    TIDE_SHARED(uint16_t, tile_a, [16][16]);
    TIDE_SHARED(uint16_t, tile_b, [16][8]);
    TIDE_SHARED(uint16_t, tile_bt, [8][16]);
    const unsigned lane = threadIdx.x;
    for (unsigned i = lane; i < 256; i += 32) {
        tile_a[i / 16][i % 16] = a[i];
    }
    for (unsigned i = lane; i < 128; i += 32) {
        tile_b[i / 8][i % 8] = b[i];
        tile_bt[i / 16][i % 16] = b_transposed[i];
    }
    __syncwarp();
    unsigned of_a[4];
    unsigned of_b[2];
    float sums[4] = {0, 0, 0, 0};
    tide_load_matrices(of_a, &tile_a[lane % 16][lane / 16 * 8]);
    if (use_transposed) {
        tide_load_matrices(of_b, &tile_bt[lane % 8][lane / 8 % 2 * 8]);
    } else {
        tide_load_matrices_transposed(of_b, &tile_b[lane % 16][0]);
    }
    tide_mma(sums, of_a, of_b);
    store_product(d, sums);
}

extern "C" int device_product_loaded(float *d, const uint16_t *a, const uint16_t *b,
                                     const uint16_t *b_transposed, int use_transposed) {
    return TIDE_LAUNCH(product_loaded, 1, 32, 0, nullptr, d, a, b, b_transposed, use_transposed);
}

static __global__ void product_tf32(float *d, const float *a, const float *b, int loaded) {
    TIDE_SHARED(float, tile_a, [16][8]);
    TIDE_SHARED(float, tile_bt, [8][8]);
    const unsigned lane = threadIdx.x;
    const unsigned g = lane / 4;
    const unsigned t = lane % 4;
    for (unsigned i = lane; i < 128; i += 32) {
        tile_a[i / 8][i % 8] = __uint_as_float(tide_to_tf32(a[i]));
    }
    for (unsigned i = lane; i < 64; i += 32) {
        tile_bt[i / 8][i % 8] = __uint_as_float(tide_to_tf32(b[i % 8 * 8 + i / 8]));
    }
    __syncwarp();
    unsigned of_a[4] = {tide_to_tf32(a[g * 8 + t]), tide_to_tf32(a[(g + 8) * 8 + t]),
                        tide_to_tf32(a[g * 8 + t + 4]), tide_to_tf32(a[(g + 8) * 8 + t + 4])};
    unsigned of_b[2] = {tide_to_tf32(b[t * 8 + g]), tide_to_tf32(b[(t + 4) * 8 + g])};
    if (loaded) {
        tide_load_matrices(of_a, &tile_a[lane % 16][lane / 16 * 4]);
        tide_load_matrices(of_b, &tile_bt[lane % 8][lane / 8 % 2 * 4]);
    }
    float sums[4] = {0, 0, 0, 0};
    tide_mma_tf32(sums, of_a, of_b);
    store_product(d, sums);
}

extern "C" int device_product_tf32(float *d, const float *a, const float *b, int loaded) {
    return TIDE_LAUNCH(product_tf32, 1, 32, 0, nullptr, d, a, b, loaded);
}

static __global__ void tf32(uint32_t *out, const float *x, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (t < n) {
        out[t] = tide_to_tf32(x[t]);
    }
}

extern "C" int device_tf32(uint32_t *out, const float *x, int n) {
    return TIDE_LAUNCH(tf32, 1, 64, 0, nullptr, out, x, n);
}

static __global__ void load(uint32_t *out, const uint16_t *matrices, int n_matrices,
                            int transposed) {
    TIDE_SHARED(uint16_t, tile, [32][8]);
    const unsigned lane = threadIdx.x;
    const unsigned n = static_cast<unsigned>(n_matrices);
    for (unsigned i = lane; i < n * 64; i += 32) {
        tile[i / 8][i % 8] = matrices[i];
    }
    __syncwarp();
    unsigned four[4] = {0, 0, 0, 0};
    unsigned pair[2] = {0, 0};
    if (n == 4 && transposed) {
        tide_load_matrices_transposed(four, &tile[lane][0]);
    } else if (n == 4) {
        tide_load_matrices(four, &tile[lane][0]);
    } else if (transposed) {
        tide_load_matrices_transposed(pair, &tile[lane][0]);
    } else {
        tide_load_matrices(pair, &tile[lane][0]);
    }
    for (unsigned i = 0; i < n; i++) {
        out[lane * n + i] = n == 4 ? four[i] : pair[i % 2];
    }
}

extern "C" int device_load(uint32_t *out, const uint16_t *matrices, int n_matrices,
                           int transposed) {
    return TIDE_LAUNCH(load, 1, 32, 0, nullptr, out, matrices, n_matrices, transposed);
}

enum { COPY_THREADS = 64, COPY_ROUNDS = 16 };

static __global__ void copy(float *out, const float *x, int n) {
    TIDE_SHARED(float, tile, [COPY_ROUNDS][COPY_THREADS * 4]);
    const int t = static_cast<int>(threadIdx.x);
    for (int round = 0; round < COPY_ROUNDS + 2; round++) {
        if (round < COPY_ROUNDS) {
            const int at = (round * COPY_THREADS + t) * 4;
            const int left = at < n ? n - at : 0;
            tide_copy_begin(&tile[round][t * 4], x + (left > 0 ? at : 0),
                            static_cast<unsigned>(left < 4 ? left : 4) * 4);
        }
        tide_copy_commit(); /* an empty group is one too */
        if (round < 2) {
            continue;
        }
        tide_copy_wait<2>();
        __syncthreads();
        for (int k = t; k < COPY_THREADS * 4; k += COPY_THREADS) {
            const int at = (round - 2) * COPY_THREADS * 4 + k;
            if (at < n) {
                out[at] = tile[round - 2][k];
            } else if (tile[round - 2][k] != 0) {
                out[0] = -1; /* what is beyond the end must be 0 */
            }
        }
    }
}

extern "C" int device_copy(float *out, const float *x, int n) {
    return TIDE_LAUNCH(copy, 1, COPY_THREADS, 0, nullptr, out, x, n);
}

static __global__ void powers(float *out, const float *x, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (t < n) {
        out[t] = tide_exp2(x[t]);
    }
}

extern "C" int device_exp2(float *out, const float *x, int n) {
    return TIDE_LAUNCH(powers, 1, 64, 0, nullptr, out, x, n);
}
