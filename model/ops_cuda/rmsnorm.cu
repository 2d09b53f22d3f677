/* rstd (R) = 1 / sqrt(mean_c(x^2) + 1e-5); out (R, C) = x (R, C) * rstd * weight (C).
 *
 * Backward, with n = x * rstd and dn = dout * weight: dx (= or +=) rstd * (dn - n mean_c(dn * n));
 * dweight (C) = sum_r dout * n. Three launches: one partial sum of dweight per
 * group of rows, in scratch; dx, a block per row; the sum of the partial sums.
 *
 * A row's sum is taken in double, over a tree that depends on C alone. That costs no time, because
 * memory bounds the operator, and rstd and mean differ from the cpu twin's at most in their last
 * rounding. A group's partial sum is fp32, over 64 rows as long as R <= 8192; the groups are added
 * in double, in their order, and rounded once. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_internal.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

static constexpr double EPSILON = 1e-5;

/* Rows: threads of a block. Groups: warps of a block, which take a group's rows in turn. */
enum { ROW_BLOCK = 256, WARPS = 8, GROUP_BLOCK = WARPS * TIDE_WARP, SUM_BLOCK = 64 };

/* The packs of a row: n_packs of N elements; the rest goes one by one. */
struct row_shape {
    size_t n_packs; /* 0 unless C % N is 0 and all is aligned */
    size_t R, C;    /* rows, channels */
};

/* Calls f.at<N>(c) for this thread's packs of a row and f.at<1>(c) for its single elements. */
template <size_t N, typename F> static __device__ __forceinline__ void each(row_shape shape, F f) {
    for (size_t i = threadIdx.x; i < shape.n_packs; i += blockDim.x) {
        f.template at<N>(i * N);
    }
    for (size_t c = shape.n_packs * N + threadIdx.x; c < shape.C; c += blockDim.x) {
        f.template at<1>(c);
    }
}

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
                                tide_view<Weight> weight, row_shape shape) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, X, Weight>;
    for (size_t r = blockIdx.x; r < shape.R; r += gridDim.x) {
        double sum = 0;
        each<N>(shape, sum_of_squares<X>{x, r * shape.C, &sum});
        sum = tide_block_sum(sum);
        const float rstd =
            static_cast<float>(1 / sqrt(sum / static_cast<double>(shape.C) + EPSILON));
        each<N>(shape, normalise<Out, X, Weight>{out, x, weight, r * shape.C, rstd});
        if (threadIdx.x == 0 && rstds != nullptr) {
            rstds[r] = rstd;
        }
    }
}

template <typename... T, typename... Arrays>
static row_shape shape_of(size_t R, size_t C, Arrays... arrays) {
    constexpr size_t N = TIDE_COMMON_PACK<T...>;
    return {C % N == 0 ? tide_n_common_packs(C, N, arrays...) : 0, R, C};
}

template <typename Out, typename X, typename Weight>
static int launch_forward(const tide_ops *ops, const tide_rmsnorm_forward *call) {
    const row_shape shape =
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

/* What backward reads and writes, except dweight. */
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

template <typename Arrays> struct write_dx {
    Arrays arrays;   /* of the call */
    size_t begin;    /* of the row */
    float rstd;      /* of the row */
    float mean;      /* over the row, of dn * n */
    bool accumulate; /* dx += instead of dx = */

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
            dx[k] += rstd * (gradient[k] * factor[k] - number[k] * rstd * mean);
        }
        tide_store(arrays.dx, begin + c, dx);
    }
};

/* dx. A block takes rows blockIdx.x, blockIdx.x + gridDim.x, ... */
template <typename Dx, typename Dout, typename X, typename Weight>
static __global__ void __launch_bounds__(ROW_BLOCK)
    tide_rmsnorm_backward_dx_kernel(backward_arrays<Dx, Dout, X, Weight> arrays, bool accumulate,
                                    row_shape shape) {
    constexpr size_t N = TIDE_COMMON_PACK<Dx, Dout, X, Weight>;
    for (size_t r = blockIdx.x; r < shape.R; r += gridDim.x) {
        const size_t begin = r * shape.C;
        const float rstd = arrays.rstd[r];
        double sum = 0;
        each<N>(shape, sum_of_products<Dout, X, Weight>{arrays.dout, arrays.x, arrays.weight, begin,
                                                        rstd, &sum});
        const float mean = static_cast<float>(tide_block_sum(sum) / static_cast<double>(shape.C));
        each<N>(shape, write_dx<decltype(arrays)>{arrays, begin, rstd, mean, accumulate});
    }
}

/* Channels of one block of the kernel below: a pack per lane. */
template <size_t N> constexpr size_t CHANNELS = N *TIDE_WARP;

/* scratch (n_groups, C): group g's sum of dout * x * rstd, over rows [g n_rows, (g + 1) n_rows). A
 * block takes some channels of a group; warp w takes rows w, w + WARPS, ... of it, and the warps'
 * sums are added in their order. N is 1, or C % N is 0 and all is aligned. */
template <size_t N, typename Dout, typename X>
static __global__ void __launch_bounds__(GROUP_BLOCK)
    tide_rmsnorm_backward_groups_kernel(float *scratch, tide_view<Dout> dout, tide_view<X> x,
                                        const float *rstd, size_t n_rows, size_t R, size_t C) {
    TIDE_SHARED(float, sums, [WARPS][N][TIDE_WARP]);
    const unsigned warp = threadIdx.x / TIDE_WARP;
    const size_t c = static_cast<size_t>(blockIdx.x) * CHANNELS<N> + tide_lane() * N;
    const size_t group = blockIdx.y;
    const size_t end = (group + 1) * n_rows < R ? (group + 1) * n_rows : R;
    float sum[N] = {};
    for (size_t r = group * n_rows + warp; r < end && c < C; r += WARPS) {
        float gradient[N];
        float number[N];
        tide_load(gradient, dout, r * C + c);
        tide_load(number, x, r * C + c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            sum[k] += gradient[k] * (number[k] * rstd[r]);
        }
    }
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        sums[warp][k][tide_lane()] = sum[k];
    }
    __syncthreads();
    /* One thread per channel, which are N k-slices of the lanes. */
    for (unsigned i = threadIdx.x; i < CHANNELS<N>; i += GROUP_BLOCK) {
        float total = 0;
#pragma unroll
        for (unsigned w = 0; w < WARPS; w++) {
            total += sums[w][i % N][i / N];
        }
        const size_t channel = static_cast<size_t>(blockIdx.x) * CHANNELS<N> + i;
        if (channel < C) {
            scratch[group * C + channel] = total;
        }
    }
}

/* dweight (C) = the sum of scratch (n_groups, C), in the order of groups. */
template <typename Dweight>
static __global__ void __launch_bounds__(SUM_BLOCK)
    tide_rmsnorm_backward_dweight_kernel(tide_view<Dweight> dweight, const float *scratch,
                                         size_t n_groups, size_t C) {
    for (size_t c = tide_thread(); c < C; c += tide_n_threads()) {
        double sum = 0;
        for (size_t group = 0; group < n_groups; group++) {
            sum += static_cast<double>(scratch[group * C + c]);
        }
        const float rounded[1] = {static_cast<float>(sum)};
        tide_store(dweight, c, rounded);
    }
}

template <typename Dx, typename Dout, typename X, typename Weight>
static int launch_rows(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    const row_shape shape = shape_of<Dx, Dout, X, Weight>(call->R, call->C, call->dx, call->dout,
                                                          call->x, call->weight);
    const backward_arrays<Dx, Dout, X, Weight> arrays = {
        tide_view_of<Dx>(call->dx), tide_view_of<Dout>(call->dout), tide_view_of<X>(call->x),
        tide_view_of<Weight>(call->weight), call->rstd};
    return TIDE_LAUNCH((tide_rmsnorm_backward_dx_kernel<Dx, Dout, X, Weight>),
                       tide_cuda_grid(ops, call->R, 1),
                       tide_row_threads(shape.n_packs > 0 ? shape.n_packs : call->C, ROW_BLOCK), 0,
                       tide_cuda_stream(ops), arrays, call->accumulate, shape);
}

template <size_t N, typename Dout, typename X>
static int launch_groups(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    const size_t n_groups = tide_ops_rmsnorm_scratch_elements(call->R, 1);
    const size_t n_across = (call->C + CHANNELS<N> - 1) / CHANNELS<N>;
    const dim3 grid(static_cast<unsigned>(n_across), static_cast<unsigned>(n_groups), 1);
    return TIDE_LAUNCH((tide_rmsnorm_backward_groups_kernel<N, Dout, X>), grid, GROUP_BLOCK, 0,
                       tide_cuda_stream(ops), call->scratch, tide_view_of<Dout>(call->dout),
                       tide_view_of<X>(call->x), call->rstd, (call->R + n_groups - 1) / n_groups,
                       call->R, call->C);
}

template <typename Dout, typename X>
static int launch_groups_of(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    constexpr size_t N = TIDE_COMMON_PACK<Dout, X>;
    return call->C % N == 0 && tide_is_aligned(call->dout.data) && tide_is_aligned(call->x.data)
               ? launch_groups<N, Dout, X>(ops, call)
               : launch_groups<1, Dout, X>(ops, call);
}

template <typename Dweight>
static int launch_sum(const tide_ops *ops, const tide_rmsnorm_backward *call) {
    return TIDE_LAUNCH((tide_rmsnorm_backward_dweight_kernel<Dweight>),
                       tide_cuda_grid(ops, call->C, SUM_BLOCK), SUM_BLOCK, 0, tide_cuda_stream(ops),
                       tide_view_of<Dweight>(call->dweight),
                       static_cast<const float *>(call->scratch),
                       tide_ops_rmsnorm_scratch_elements(call->R, 1), call->C);
}

extern "C" tide_status tide_cuda_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                                  tide_error *error) {
    typedef __nv_bfloat16 bf16;
    const tide_array arrays[] = {call->dx, call->dout, call->x, call->weight};
    TIDE_TRY(tide_cuda_need_floats("rmsnorm", arrays, 4, error));
    TIDE_TRY(tide_cuda_need_floats("rmsnorm's dweight", &call->dweight, 1, error));
    if (call->R * call->C == 0) {
        return TIDE_OK;
    }
    int groups_result;
    int rows_result;
    const unsigned FP16_DOUT = 16;
    const unsigned OTHERS = 17;
    const unsigned fp16 = tide_types(arrays, TIDE_FP16);
    const unsigned bf16_arrays = tide_types(arrays);
    switch (fp16 == 0 ? bf16_arrays : fp16 == 2 && bf16_arrays == 0 ? FP16_DOUT : OTHERS) {
    case FP16_DOUT: /* fp16-mixed: dout alone */
        groups_result = launch_groups_of<__half, float>(ops, call);
        rows_result = launch_rows<float, __half, float, float>(ops, call);
        break;
    case 0:
        groups_result = launch_groups_of<float, float>(ops, call);
        rows_result = launch_rows<float, float, float, float>(ops, call);
        break;
    case 2: /* bf16-mixed: dout alone */
        groups_result = launch_groups_of<bf16, float>(ops, call);
        rows_result = launch_rows<float, bf16, float, float>(ops, call);
        break;
    case 15:
        groups_result = launch_groups_of<bf16, bf16>(ops, call);
        rows_result = launch_rows<bf16, bf16, bf16, bf16>(ops, call);
        break;
    default:
        groups_result = launch_groups_of<tide_any, tide_any>(ops, call);
        rows_result = launch_rows<tide_any, tide_any, tide_any, tide_any>(ops, call);
        break;
    }
    TIDE_TRY(tide_cuda_launched(ops, "rmsnorm_backward: groups", groups_result, error));
    TIDE_TRY(tide_cuda_launched(ops, "rmsnorm_backward: dx", rows_result, error));
    const int sum_result = tide_by_type(
        call->dweight.dtype, [=](auto number) { return launch_sum<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "rmsnorm_backward: dweight", sum_result, error);
}
