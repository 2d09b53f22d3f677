/* bugs.cu - kernels with one planted bug each, and a correct one. Those with barriers reverse n
 * numbers through shared memory. */
#include "bugs.h"

#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/mma.h"

static __global__ void correct(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    for (int turn = 0; turn < 2; turn++) {
        tile[t] = in[t];
        __syncthreads();
        out[t] = tile[n - 1 - t];
        __syncthreads();
    }
    tile[t] = out[t];
    __syncwarp();
    out[t] = tile[t ^ 1] + __shfl_xor_sync(0xFFFFFFFFU, out[t], 2);
    __syncwarp();
    tile[t] = 0;
}

static __global__ void missing_barrier(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    tile[t] = in[t];
    out[t] = tile[n - 1 - t];
}

static __global__ void missing_barrier_on_reuse(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    for (int turn = 0; turn < 2; turn++) {
        tile[t] = in[t];
        __syncthreads();
        out[t] = tile[n - 1 - t];
    }
}

static __global__ void missing_syncwarp(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    tile[t] = in[t];
    out[t] = tile[t ^ 1];
}

/* A shuffle lets lanes meet, but orders no memory. */
static __global__ void shuffle_for_syncwarp(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    tile[t] = in[t];
    const float other = __shfl_xor_sync(0xFFFFFFFFU, in[t], 1);
    out[t] = tile[t ^ 1] + other;
}

static __global__ void blocks_race(float *out, const float *in, int n) {
    (void)n;
    if (threadIdx.x == 0) {
        out[0] += in[blockIdx.x];
    }
}

static __global__ void shared_unwritten(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    if (t % 2 == 0) {
        tile[t] = in[t];
    }
    __syncthreads();
    out[t] = tile[t];
}

static __global__ void shared_static_outside(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS - 8]);
    const int t = static_cast<int>(threadIdx.x);
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[n - 1 - t];
}

static __global__ void shared_dynamic(float *out, const float *in, int n) {
    TIDE_DYNAMIC_SHARED(float, buffer);
    const int t = static_cast<int>(threadIdx.x);
    buffer[t] = in[t];
    __syncthreads();
    out[t] = buffer[n - 1 - t];
}

static __global__ void global_read_outside(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    out[t] = in[t + 1];
}

static __global__ void global_write_outside(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    out[t + 1] = in[t];
}

static __global__ void misaligned_pack(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (4 * t + 5 <= n) {
        tide_store16(out + 4 * t, tide_load16(in + 4 * t + 1));
    }
}

static __global__ void misaligned_float4(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (4 * t + 5 <= n) {
        const float4 four = *reinterpret_cast<const float4 *>(in + 4 * t + 1);
        out[t] = four.x + four.y + four.z + four.w;
    }
}

static __global__ void pack_outside(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (4 * t <= n) {
        const uint4 four = tide_load16(in + 4 * t);
        out[t] = static_cast<float>(four.x);
    }
}

static __global__ void copy(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (t < n) {
        out[t] = in[t];
    }
}

struct copied {
    float *out;
    const float *in;
};

static __global__ void copy_struct(const copied arrays) {
    arrays.out[threadIdx.x] = arrays.in[threadIdx.x];
}

static __global__ void divergent_barrier(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (t < n / 2) {
        out[t] = in[t];
        __syncthreads();
    } else {
        out[t] = 0;
        __syncthreads();
    }
}

static __global__ void return_before_barrier(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= n - 7) {
        return;
    }
    out[t] = in[t];
    __syncthreads();
}

static __global__ void divergent_shuffle(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    float x = in[t];
    if (t % 32 < 16) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, 1);
    }
    out[t] = x;
}

static __global__ void shuffle_from_idle_lane(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    float x = in[t];
    if (t % 32 < 16) {
        x += __shfl_down_sync(0x0000FFFFU, x, 8);
    }
    out[t] = x;
}

static __global__ void wait_for_ever(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    if (t == 0) {
        __syncwarp();
    } else {
        __syncthreads();
    }
    out[t] = in[t];
}

static __global__ void shared_sum(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [8 << 10]);
    TIDE_DYNAMIC_SHARED(float, buffer);
    const int t = static_cast<int>(threadIdx.x);
    (void)n;
    tile[t] = in[t];
    buffer[t] = in[t];
    out[t] = tile[t] + buffer[t];
}

static __global__ void missing_copy_wait(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    if (4 * t < n) {
        tide_copy_begin(tile + 4 * t, in + 4 * t);
    }
    tide_copy_commit();
    __syncthreads();
    out[t] = tile[n - 1 - t];
}

static __global__ void copy_without_barrier(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS]);
    const int t = static_cast<int>(threadIdx.x);
    if (4 * t < n) {
        tide_copy_begin(tile + 4 * t, in + 4 * t);
    }
    tide_copy_commit();
    tide_copy_wait<0>();
    out[t] = tile[n - 1 - t];
}

static __global__ void matrix_of_half_a_warp(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    const unsigned a[4] = {0, 0, 0, 0};
    const unsigned b[2] = {0, 0};
    float d[4] = {0, 0, 0, 0};
    (void)n;
    if (t % 32 < 16) {
        tide_mma(d, a, b);
    }
    out[t] = in[t] + d[0];
}

static __global__ void matrix_row_misaligned(float *out, const float *in, int n) {
    TIDE_SHARED(float, tile, [BUG_THREADS + 4]);
    const int t = static_cast<int>(threadIdx.x);
    unsigned rows[4];
    (void)n;
    tile[t] = in[t];
    __syncwarp();
    tide_load_matrices(rows, tile + t % 32 + 4);
    out[t] = static_cast<float>(rows[0]);
}

static __global__ void matrix_not_rounded(float *out, const float *in, int n) {
    const int t = static_cast<int>(threadIdx.x);
    const unsigned third = __float_as_uint(in[t] / 3);
    const unsigned a[4] = {third, third, third, third};
    const unsigned b[2] = {tide_to_tf32(in[t]), tide_to_tf32(in[t])};
    float d[4] = {0, 0, 0, 0};
    (void)n;
    tide_mma_tf32(d, a, b);
    out[t] = d[0];
}

typedef void (*bug_kernel)(float *, const float *, int);

struct bug_case {
    bug_kernel kernel;
    dim3 grid, block;
    size_t shared_bytes;
};

extern "C" int bug_launch(bug planted, float *out, const float *in, const float *host, int n) {
    static const bug_case cases[N_BUGS] = {
        {correct, 1, BUG_THREADS, 0},
        {missing_barrier, 1, BUG_THREADS, 0},
        {missing_barrier_on_reuse, 1, BUG_THREADS, 0},
        {missing_syncwarp, 1, BUG_THREADS, 0},
        {shuffle_for_syncwarp, 1, BUG_THREADS, 0},
        {blocks_race, 4, BUG_THREADS, 0},
        {shared_unwritten, 1, BUG_THREADS, 0},
        {shared_static_outside, 1, BUG_THREADS, 0},
        {shared_dynamic, 1, BUG_THREADS, (BUG_THREADS - 8) * sizeof(float)},
        {global_read_outside, 1, BUG_THREADS, 0},
        {global_write_outside, 1, BUG_THREADS, 0},
        {misaligned_pack, 1, BUG_THREADS, 0},
        {misaligned_float4, 1, BUG_THREADS, 0},
        {pack_outside, 1, BUG_THREADS, 0},
        {copy, 1, BUG_THREADS, 0},
        {nullptr, 1, BUG_THREADS, 0},
        {divergent_barrier, 1, BUG_THREADS, 0},
        {return_before_barrier, 1, BUG_THREADS, 0},
        {divergent_shuffle, 1, BUG_THREADS, 0},
        {shuffle_from_idle_lane, 1, BUG_THREADS, 0},
        {wait_for_ever, 1, BUG_THREADS, 0},
        {copy, 1, 1056, 0},
        {copy, {1, 65536}, BUG_THREADS, 0},
        {copy, 0, BUG_THREADS, 0},
        {copy, 1, BUG_THREADS, (48 << 10) + 1},
        {shared_sum, 1, BUG_THREADS, 20 << 10},
        {shared_dynamic, 1, BUG_THREADS, 0},
        {missing_copy_wait, 1, BUG_THREADS, 0},
        {copy_without_barrier, 1, BUG_THREADS, 0},
        {matrix_of_half_a_warp, 1, BUG_THREADS, 0},
        {matrix_row_misaligned, 1, BUG_THREADS, 0},
        {matrix_not_rounded, 1, BUG_THREADS, 0},
    };
    const bug_case &given = cases[planted];
    if (planted == BUG_HOST_POINTER_IN_STRUCT) {
        const copied arrays = {out, host};
        return TIDE_LAUNCH(copy_struct, given.grid, given.block, 0, nullptr, arrays);
    }
    return TIDE_LAUNCH(given.kernel, given.grid, given.block, given.shared_bytes, nullptr, out,
                       planted == BUG_HOST_POINTER ? host : in, n);
}

static __global__ void touch_last(float *out, size_t n_floats) {
    TIDE_DYNAMIC_SHARED(float, buffer);
    buffer[n_floats - 1] = 1;
    out[0] = buffer[n_floats - 1];
}

extern "C" int shared_launch(float *out, size_t n_bytes, int opt_in) {
    if (opt_in) {
        const int result = cudaFuncSetAttribute(
            touch_last, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(n_bytes));
        if (result != cudaSuccess) {
            return result;
        }
    }
    return TIDE_LAUNCH(touch_last, 1, 1, n_bytes, nullptr, out, n_bytes / sizeof(float));
}
