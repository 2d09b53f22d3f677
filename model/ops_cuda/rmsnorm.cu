/* rstd (R) = 1 / sqrt(mean_c(x^2) + 1e-5); out (R, C) = x (R, C) * rstd * weight (C).
 *
 * Backward, with n = x * rstd and dn = dout * weight: dx (= or +=) rstd * (dn - n mean_c(dn * n));
 * dweight (C) = sum_r dout * n. Two launches: dx and, for each block's rows, a partial sum of
 * dweight; then the sum of the partial sums.
 *
 * A block must have few rows to give every multiprocessor a block: 256 blocks are about two for
 * each multiprocessor of an H100. Scratch has room for one partial sum per 64 rows, and a larger
 * scratch would add to the memory of a step. But the gradient dout is dead after this operator, and
 * only the block reads its rows: their memory holds the partial sum, for which two rows of two
 * bytes are enough. Only the last block, which may have a single row, uses scratch. If dout is not
 * aligned to fp32, or a row's sums do not fit shared memory, which happens in no model here, blocks
 * are the groups of 64 rows for which scratch has room.
 *
 * A row's sum is computed in double, over a tree that depends only on C. That costs no time,
 * because the operator is memory-bound, and rstd and mean differ from the cpu twin's at most in
 * their last rounding. A block's partial sum is fp32, over 64 rows as long as R <= 16384 (8192 in
 * the last case); the partial sums are added in double, in an order that depends only on shapes,
 * and rounded once. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/row_packs.h"
#include "model/ops_cuda/vector.h"

static constexpr double EPSILON = 1e-5;

/* Threads of a block: of a row forward, of rows backward, and of the sum of partial sums, in warps.
 */
enum { ROW_BLOCK = 256, BACKWARD_BLOCK = 512, WARPS = 8, SUM_BLOCK = WARPS * TIDE_WARP };
/* Of backward: the most blocks if each has an even number of rows, and the most channels whose sums
 * fit the 48 KiB of shared memory of every launch, together with those of tide_block_sum. */
enum { BACKWARD_BLOCKS = 256, SHARED_CHANNELS = 12 * 1024 - 64 };

template <typename X> struct sum_of_squares {
    tide_view<X> x; /* (R, C) */
    size_t begin;   /* of the row */
    double *sum;    /* this thread's */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float number[N];
        tide_load(number, x, begin + c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            *sum += static_cast<double>(number[k]) * static_cast<double>(number[k]);
        }
    }
};

template <typename Out, typename X, typename Weight> struct normalise {
    tide_view<Out> out;       /* (R, C) */
    tide_view<X> x;           /* (R, C) */
    tide_view<Weight> weight; /* (C) */
    size_t begin;             /* of the row */
    float rstd;               /* of the row */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float number[N];
        float factor[N];
        tide_load(number, x, begin + c);
        tide_load(factor, weight, c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            number[k] = factor[k] * (number[k] * rstd);
        }
        tide_store(out, begin + c, number);
    }
};

/* A block takes rows blockIdx.x, blockIdx.x + gridDim.x, ... */
template <typename Out, typename X, typename Weight>
static __global__ void __launch_bounds__(ROW_BLOCK)
    tide_rmsnorm_forward_kernel(tide_view<Out> out, float *rstds, tide_view<X> x,
                                tide_view<Weight> weight, tide_row_packs shape) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, X, Weight>;
    for (size_t r = blockIdx.x; r < shape.R; r += gridDim.x) {
        double sum = 0;
        tide_each_pack<N>(shape, sum_of_squares<X>{x, r * shape.C, &sum});
        sum = tide_block_sum(sum);
        const float rstd =
            static_cast<float>(1 / sqrt(sum / static_cast<double>(shape.C) + EPSILON));
        tide_each_pack<N>(shape, normalise<Out, X, Weight>{out, x, weight, r * shape.C, rstd});
        if (threadIdx.x == 0 && rstds != nullptr) {
            rstds[r] = rstd;
        }
    }
}

template <typename... T, typename... Arrays>
static tide_row_packs shape_of(size_t R, size_t C, Arrays... arrays) {
    constexpr size_t N = TIDE_COMMON_PACK<T...>;
    return {C % N == 0 ? tide_n_common_packs(C, N, arrays...) : 0, R, C};
}

template <typename Out, typename X, typename Weight>
static int launch_forward(const tide_ops *ops, const tide_rmsnorm_forward *call) {
    const tide_row_packs shape =
        shape_of<Out, X, Weight>(call->R, call->C, call->out, call->x, call->weight);
    return TIDE_LAUNCH((tide_rmsnorm_forward_kernel<Out, X, Weight>),
                       tide_cuda_grid(ops, call->R, 1),
                       tide_row_threads(shape.n_packs > 0 ? shape.n_packs : call->C, ROW_BLOCK), 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(call->out), call->rstd,
                       tide_view_of<X>(call->x), tide_view_of<Weight>(call->weight), shape);
}

extern "C" tide_status tide_cuda_rmsnorm_forward(tide_ops *ops, const tide_rmsnorm_forward *call,
                                                 tide_error *error) {
    typedef __nv_bfloat16 bf16;
    const tide_array arrays[] = {call->out, call->x, call->weight};
    TIDE_TRY(tide_cuda_need_floats("rmsnorm", arrays, 3, error));
    if (call->R * call->C == 0) {
        return TIDE_OK;
    }
    const unsigned types = tide_types(arrays);
    const unsigned fp16 = tide_types(arrays, TIDE_FP16);
    const int result = fp16 == 1 && types == 0 ? launch_forward<__half, float, float>(ops, call)
                       : fp16 != 0  ? launch_forward<tide_any, tide_any, tide_any>(ops, call)
                       : types == 0 ? launch_forward<float, float, float>(ops, call)
                       : types == 1 ? launch_forward<bf16, float, float>(ops, call) /* mixed */
                       : types == 7 ? launch_forward<bf16, bf16, bf16>(ops, call)
                                    : launch_forward<tide_any, tide_any, tide_any>(ops, call);
    return tide_cuda_launched(ops, "rmsnorm_forward", result, error);
}

/* The operands of backward, except dweight. */
template <typename Dx, typename Dout, typename X, typename Weight> struct backward_arrays {
    tide_view<Dx> dx;         /* (R, C) */
    tide_view<Dout> dout;     /* (R, C) */
    tide_view<X> x;           /* (R, C) */
    tide_view<Weight> weight; /* (C) */
    const float *rstd;        /* (R) */
};

template <typename Dout, typename X, typename Weight> struct sum_of_products {
    tide_view<Dout> dout;     /* (R, C) */
    tide_view<X> x;           /* (R, C) */
    tide_view<Weight> weight; /* (C) */
    size_t begin;             /* of the row */
    float rstd;               /* of the row */
    double *sum;              /* of dn * n, this thread's */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float gradient[N];
        float number[N];
        float factor[N];
        tide_load(gradient, dout, begin + c);
        tide_load(number, x, begin + c);
        tide_load(factor, weight, c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            *sum += static_cast<double>(gradient[k] * factor[k]) *
                    static_cast<double>(number[k] * rstd);
        }
    }
};

/* The place of the sum of dout * x * rstd of a block's rows: (C) fp32 for each block. */
struct partial_sums {
    float *first;  /* of block 0 */
    size_t stride; /* elements from block to block */
    float *last;   /* of the last block, which may have too few rows for its own */
    size_t n_rows; /* of a block, except perhaps the last */
};

/* A block's sums while they grow: each thread touches only those of its own channels. In shared
 * memory the numbers of a pack are apart, so the threads of a warp access 32 banks. */
template <bool IN_SHARED> struct channel_sums {
    float *data; /* (C) */
    size_t n;    /* packs of a row, or its channels if there are no packs */

    template <size_t N> __device__ __forceinline__ float &at(size_t c, size_t k) const {
        return data[IN_SHARED ? k * n + c / N : c + k];
    }
};

template <bool IN_SHARED> struct clear_sums {
    channel_sums<IN_SHARED> sums; /* of the block */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            sums.template at<N>(c, k) = 0;
        }
    }
};

template <bool IN_SHARED> struct store_sums {
    channel_sums<IN_SHARED> sums; /* of the block */
    float *partial;               /* (C) written */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float number[N];
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            number[k] = sums.template at<N>(c, k);
        }
        tide_store(tide_view<float>{partial}, c, number);
    }
};

template <bool IN_SHARED, typename Arrays> struct write_dx {
    Arrays arrays;                /* of the call */
    channel_sums<IN_SHARED> sums; /* of the block: dout * n is added */
    size_t begin;                 /* of the row */
    float rstd;                   /* of the row */
    float mean;                   /* over the row, of dn * n */
    bool accumulate;              /* dx += instead of dx = */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float gradient[N];
        float number[N];
        float factor[N];
        float dx[N] = {};
        if (accumulate) {
            tide_load(dx, arrays.dx, begin + c);
        }
        tide_load(gradient, arrays.dout, begin + c);
        tide_load(number, arrays.x, begin + c);
        tide_load(factor, arrays.weight, c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            const float n = number[k] * rstd;
            dx[k] += rstd * (gradient[k] * factor[k] - n * mean);
            sums.template at<N>(c, k) += gradient[k] * n;
        }
        tide_store(arrays.dx, begin + c, dx);
    }
};

template <bool IN_SHARED>
static __device__ __forceinline__ float *memory_of_sums([[maybe_unused]] float *partial) {
    if constexpr (IN_SHARED) {
        TIDE_DYNAMIC_SHARED(float, shared);
        return shared;
    } else {
        return partial;
    }
}

/* dx, and the block's part of dweight. A block takes n_rows rows that follow each other. It reads a
 * row twice, for the mean and then for dx and dweight, but the second time from the cache. */
template <bool IN_SHARED, typename Dx, typename Dout, typename X, typename Weight>
static __global__ void __launch_bounds__(BACKWARD_BLOCK)
    tide_rmsnorm_backward_rows_kernel(backward_arrays<Dx, Dout, X, Weight> arrays,
                                      partial_sums partials, bool accumulate,
                                      tide_row_packs shape) {
    constexpr size_t N = TIDE_COMMON_PACK<Dx, Dout, X, Weight>;
    const size_t r0 = blockIdx.x * partials.n_rows;
    const size_t end = r0 + partials.n_rows < shape.R ? r0 + partials.n_rows : shape.R;
    float *partial =
        blockIdx.x + 1 == gridDim.x ? partials.last : partials.first + blockIdx.x * partials.stride;
    const channel_sums<IN_SHARED> sums = {memory_of_sums<IN_SHARED>(partial),
                                          shape.n_packs > 0 ? shape.n_packs : shape.C};
    tide_each_pack<N>(shape, clear_sums<IN_SHARED>{sums});
    for (size_t r = r0; r < end; r++) {
        const size_t begin = r * shape.C;
        const float rstd = arrays.rstd[r];
        double sum = 0;
        tide_each_pack<N>(shape, sum_of_products<Dout, X, Weight>{
                                     arrays.dout, arrays.x, arrays.weight, begin, rstd, &sum});
        const float mean = static_cast<float>(tide_block_sum(sum) / static_cast<double>(shape.C));
        tide_each_pack<N>(shape, write_dx<IN_SHARED, decltype(arrays)>{arrays, sums, begin, rstd,
                                                                       mean, accumulate});
    }
    if constexpr (IN_SHARED) {
        __syncthreads(); /* all threads have read dout, which the partial sum may overwrite */
        tide_each_pack<N>(shape, store_sums<IN_SHARED>{sums, partial});
    }
}

/* dweight (C) = the sum of n_partials. A block takes 32 channels; warp w adds partial sums w, w +
 * WARPS, ..., and then the warps' sums are added in their order. */
template <typename Dweight>
static __global__ void __launch_bounds__(SUM_BLOCK)
    tide_rmsnorm_backward_dweight_kernel(tide_view<Dweight> dweight, partial_sums partials,
                                         size_t n_partials, size_t C) {
    TIDE_SHARED(double, sums, [WARPS][TIDE_WARP]);
    const unsigned warp = threadIdx.x / TIDE_WARP;
    for (size_t c0 = static_cast<size_t>(blockIdx.x) * TIDE_WARP; c0 < C;
         c0 += static_cast<size_t>(gridDim.x) * TIDE_WARP) {
        const size_t c = c0 + tide_lane();
        double sum = 0;
        if (c < C) {
#pragma unroll 8
            for (size_t i = warp; i < n_partials - 1; i += WARPS) {
                sum += static_cast<double>(partials.first[i * partials.stride + c]);
            }
            if ((n_partials - 1) % WARPS == warp) {
                sum += static_cast<double>(partials.last[c]);
            }
        }
        __syncthreads(); /* warp 0 has read the sums of the channels before */
        sums[warp][tide_lane()] = sum;
        __syncthreads();
        if (warp == 0 && c < C) {
            double total = 0;
#pragma unroll
            for (unsigned w = 0; w < WARPS; w++) {
                total += sums[w][tide_lane()];
            }
            const float rounded[1] = {static_cast<float>(total)};
            tide_store(dweight, c, rounded);
        }
    }
}

static bool fits_shared(size_t C) {
    return C <= SHARED_CHANNELS;
}

/* The distribution of the rows, and the places of the partial sums. */
static partial_sums partials_of(const tide_rmsnorm_backward *call) {
    const size_t n_even = (call->R + 2 * BACKWARD_BLOCKS - 1) / (2 * BACKWARD_BLOCKS) * 2;
    if (fits_shared(call->C) && reinterpret_cast<uintptr_t>(call->dout.data) % sizeof(float) == 0) {
        const size_t n_bytes = n_even * call->C * tide_dtype_bytes(call->dout.dtype);
        return {static_cast<float *>(call->dout.data), n_bytes / sizeof(float), call->scratch,
                n_even};
    }
    const size_t n_groups = tide_ops_rmsnorm_scratch_elements(call->R, 1);
    const size_t n_rows = (call->R + n_groups - 1) / n_groups;
    const size_t n_blocks = (call->R + n_rows - 1) / n_rows;
    return {call->scratch, call->C, call->scratch + (n_blocks - 1) * call->C, n_rows};
}

static size_t n_blocks_of(const tide_rmsnorm_backward *call, partial_sums partials) {
    return (call->R + partials.n_rows - 1) / partials.n_rows;
}

template <bool IN_SHARED, typename Dx, typename Dout, typename X, typename Weight>
static int launch_rows(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    const tide_row_packs shape =
        shape_of<Dx, Dout, X, Weight>(call->R, call->C, call->dx, call->dout, call->x, call->weight,
                                      tide_view<float>{call->scratch});
    const backward_arrays<Dx, Dout, X, Weight> arrays = {
        tide_view_of<Dx>(call->dx), tide_view_of<Dout>(call->dout), tide_view_of<X>(call->x),
        tide_view_of<Weight>(call->weight), call->rstd};
    const partial_sums partials = partials_of(call);
    return TIDE_LAUNCH(
        (tide_rmsnorm_backward_rows_kernel<IN_SHARED, Dx, Dout, X, Weight>),
        static_cast<unsigned>(n_blocks_of(call, partials)),
        tide_row_threads(shape.n_packs > 0 ? shape.n_packs : call->C, BACKWARD_BLOCK),
        IN_SHARED ? call->C * sizeof(float) : 0, tide_cuda_stream(ops), arrays, partials,
        call->accumulate, shape);
}

template <typename Dweight>
static int launch_sum(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    const partial_sums partials = partials_of(call);
    return TIDE_LAUNCH((tide_rmsnorm_backward_dweight_kernel<Dweight>),
                       tide_cuda_grid(ops, call->C, TIDE_WARP), SUM_BLOCK, 0, tide_cuda_stream(ops),
                       tide_view_of<Dweight>(call->dweight), partials, n_blocks_of(call, partials),
                       call->C);
}

/* One row kernel for each combination of types that the model uses, and one for all others. */
static int launch_rows_of(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    typedef __nv_bfloat16 bf16;
    const tide_array arrays[] = {call->dx, call->dout, call->x, call->weight};
    const unsigned fp16 = tide_types(arrays, TIDE_FP16);
    const unsigned bf16_arrays = tide_types(arrays);
    if (!fits_shared(call->C)) {
        return launch_rows<false, tide_any, tide_any, tide_any, tide_any>(ops, call);
    }
    if (fp16 == 2 && bf16_arrays == 0) { /* fp16-mixed: only dout */
        return launch_rows<true, float, __half, float, float>(ops, call);
    }
    switch (fp16 == 0 ? bf16_arrays : 1) {
    case 0:
        return launch_rows<true, float, float, float, float>(ops, call);
    case 2: /* bf16-mixed: only dout */
        return launch_rows<true, float, bf16, float, float>(ops, call);
    case 15:
        return launch_rows<true, bf16, bf16, bf16, bf16>(ops, call);
    default:
        return launch_rows<true, tide_any, tide_any, tide_any, tide_any>(ops, call);
    }
}

extern "C" tide_status tide_cuda_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                                  tide_error *error) {
    const tide_array arrays[] = {call->dx, call->dout, call->x, call->weight};
    TIDE_TRY(tide_cuda_need_floats("rmsnorm", arrays, 4, error));
    TIDE_TRY(tide_cuda_need_floats("rmsnorm's dweight", &call->dweight, 1, error));
    if (call->R * call->C == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_cuda_launched(ops, "rmsnorm_backward: rows", launch_rows_of(ops, call), error));
    const int result = tide_by_type(
        call->dweight.dtype, [=](auto number) { return launch_sum<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "rmsnorm_backward: dweight", result, error);
}
