/* mean (R) = mean_c(x); rstd (R) = 1 / sqrt(mean_c((x - mean)^2) + 1e-5); out (R, C) =
 * (x (R, C) - mean) * rstd * weight (C) + bias (C).
 *
 * A block per row, in three passes over it: the second and third pass find a row of up to 16384
 * numbers in the multiprocessor's cache or in the second level. Sums are computed in double, over a
 * tree that depends only on C, and squares around the mean: if the mean is large compared with the
 * spread, mean(x^2) - mean(x)^2 would lose all digits. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/row_packs.h"
#include "model/ops_cuda/vector.h"

static constexpr double EPSILON = 1e-5;

enum { ROW_BLOCK = 256 }; /* most threads of a block */

/* power 1: the sum of x; 2: of (x - mean)^2. */
template <typename X, int power> struct sum_of_powers {
    tide_view<X> x; /* (R, C) */
    size_t begin;   /* of the row */
    double mean;    /* of the row; power 2 */
    double *sum;    /* this thread's */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float number[N];
        tide_load(number, x, begin + c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            const double distance = static_cast<double>(number[k]) - mean;
            *sum += power == 1 ? static_cast<double>(number[k]) : distance * distance;
        }
    }
};

template <typename X, typename W> struct normalise {
    tide_view<X> out, x;       /* (R, C) */
    tide_view<W> weight, bias; /* (C) */
    size_t begin;              /* of the row */
    float mean, rstd;          /* of the row */

    template <size_t N> __device__ __forceinline__ void at(size_t c) const {
        float number[N], factor[N], offset[N];
        tide_load(number, x, begin + c);
        tide_load(factor, weight, c);
        tide_load(offset, bias, c);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            number[k] = factor[k] * ((number[k] - mean) * rstd) + offset[k];
        }
        tide_store(out, begin + c, number);
    }
};

/* A block takes rows blockIdx.x, blockIdx.x + gridDim.x, ... */
template <typename X, typename W>
static __global__ void __launch_bounds__(ROW_BLOCK)
    tide_layernorm_forward_kernel(tide_view<X> out, tide_view<X> x, tide_view<W> weight,
                                  tide_view<W> bias, tide_row_packs shape) {
    constexpr size_t N = TIDE_COMMON_PACK<X, W>;
    const double n = static_cast<double>(shape.C);
    for (size_t r = blockIdx.x; r < shape.R; r += gridDim.x) {
        const size_t begin = r * shape.C;
        double sum = 0;
        double squares = 0;
        tide_each_pack<N>(shape, sum_of_powers<X, 1>{x, begin, 0, &sum});
        const double mean = tide_block_sum(sum) / n;
        tide_each_pack<N>(shape, sum_of_powers<X, 2>{x, begin, mean, &squares});
        const double rstd = 1 / sqrt(tide_block_sum(squares) / n + EPSILON);
        tide_each_pack<N>(shape,
                          normalise<X, W>{out, x, weight, bias, begin, static_cast<float>(mean),
                                          static_cast<float>(rstd)});
    }
}

template <typename X, typename W>
static int launch(const tide_ops *ops, const tide_layernorm_forward *call) {
    constexpr size_t N = TIDE_COMMON_PACK<X, W>;
    const size_t n_packs =
        tide_n_common_packs(call->C, N, call->out, call->x, call->weight, call->bias);
    const tide_row_packs shape = {call->C % N == 0 ? n_packs : 0, call->R, call->C};
    return TIDE_LAUNCH((tide_layernorm_forward_kernel<X, W>), tide_cuda_grid(ops, call->R, 1),
                       tide_row_threads(shape.n_packs > 0 ? shape.n_packs : call->C, ROW_BLOCK), 0,
                       tide_cuda_stream(ops), tide_view_of<X>(call->out), tide_view_of<X>(call->x),
                       tide_view_of<W>(call->weight), tide_view_of<W>(call->bias), shape);
}

template <typename X>
static int launch_for_weight(const tide_ops *ops, const tide_layernorm_forward *call) {
    return tide_by_type(call->weight.dtype,
                        [=](auto number) { return launch<X, decltype(number)>(ops, call); });
}

extern "C" tide_status
tide_cuda_layernorm_forward(tide_ops *ops, const tide_layernorm_forward *call, tide_error *error) {
    const tide_array rows[] = {call->out, call->x};
    const tide_array weights[] = {call->weight, call->bias};
    TIDE_TRY(tide_cuda_need_one_type("layernorm", rows, 2, error));
    TIDE_TRY(tide_cuda_need_one_type("layernorm's weight and bias", weights, 2, error));
    if (call->R * call->C == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->x.dtype, [=](auto number) { return launch_for_weight<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "layernorm_forward", result, error);
}
