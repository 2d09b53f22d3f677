/* out (A, m) = weight (matrix chosen (A), m, k) x (k) + bias (matrix chosen (A), m); weights fp32,
 * bf16 or int8, cast to fp32 at their use.
 *
 * A warp per row: its lanes take the row's packs of 16 bytes in turn, so the weights arrive in
 * whole cache lines: they are read once and their bandwidth limits the operator. x stays in the
 * cache of the multiprocessor. Rows are summed in fp32, by lane and then over a tree, in an order
 * that depends only on k and the alignment. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"
#include "model/ops_cuda/weights.h"

enum { WARPS = 8, BLOCK = WARPS * TIDE_WARP };

template <typename W> struct shape {
    tide_view<tide_any> out;  /* (n_chosen, m) */
    tide_view<tide_any> bias; /* (matrices, m); data null: none */
    tide_weights<W> weight;   /* (matrices, m, k) */
    const int32_t *chosen;    /* (n_chosen); NULL: 0, 1, ... */
    size_t n_chosen, m, k;    /* as in tide_gemv */
    size_t n_whole; /* TIDE_PRODUCTS of a row; 0 unless k is a multiple and everything is aligned */
};

/* The products of weights at .. at + N with x. */
template <typename W, typename X>
static __device__ __forceinline__ float multiply(const tide_weights<W> &weight, tide_view<X> x,
                                                 size_t at, size_t of_x) {
    constexpr size_t N = TIDE_PRODUCTS<W, X>;
    constexpr size_t PACK = tide_weights<W>::PACK;
    float number[N];
    float sum = 0;
    tide_load(number, x, of_x);
#pragma unroll
    for (size_t i = 0; i < N; i += PACK) {
        float w[PACK];
        weight.load(w, at + i);
#pragma unroll
        for (size_t l = 0; l < PACK; l++) {
            sum += w[l] * number[i + l];
        }
    }
    return sum;
}

/* The whole row that begins at weight `begin`, times x; the same in every lane. */
template <typename W, typename X>
static __device__ __forceinline__ float multiply_row(const shape<W> &given, tide_view<X> x,
                                                     size_t begin) {
    constexpr size_t N = TIDE_PRODUCTS<W, X>;
    float sum = 0;
#pragma unroll 4
    for (size_t i = tide_lane(); i < given.n_whole; i += TIDE_WARP) {
        sum += multiply(given.weight, x, begin + i * N, i * N);
    }
    for (size_t i = given.n_whole * N + tide_lane(); i < given.k; i += TIDE_WARP) {
        sum += given.weight.one(begin + i) * tide_read(x.data + i);
    }
    return tide_warp_sum(sum);
}

/* Warp w of the grid takes rows w, w + warps of the grid, ... of all matrices chosen. */
template <typename W, typename X>
static __global__ void __launch_bounds__(BLOCK) tide_gemv_kernel(shape<W> given, tide_view<X> x) {
    const size_t n_warps = static_cast<size_t>(gridDim.x) * WARPS;
    const size_t n_rows = given.n_chosen * given.m;
    size_t row = static_cast<size_t>(blockIdx.x) * WARPS + threadIdx.x / TIDE_WARP;
    for (; row < n_rows; row += n_warps) {
        const size_t a = row / given.m;
        const size_t matrix = given.chosen != nullptr ? static_cast<size_t>(given.chosen[a]) : a;
        const size_t of_matrices = matrix * given.m + row % given.m;
        float sum[1] = {multiply_row(given, x, of_matrices * given.k)};
        if (tide_lane() == 0) {
            if (given.bias.data != nullptr) {
                float bias[1];
                tide_load(bias, given.bias, of_matrices);
                sum[0] += bias[0];
            }
            tide_store(given.out, row, sum);
        }
    }
}

template <typename W, typename X> static int launch(const tide_ops *ops, const tide_gemv *call) {
    constexpr size_t N = TIDE_PRODUCTS<W, X>;
    const bool is_whole =
        call->k % N == 0 && tide_is_aligned(call->weight.data) && tide_is_aligned(call->x.data);
    const shape<W> given = {tide_view_of<tide_any>(call->out),
                            tide_view_of<tide_any>(call->bias),
                            {static_cast<const W *>(call->weight.data)},
                            call->chosen,
                            call->n_chosen,
                            call->m,
                            call->k,
                            is_whole ? call->k / N : 0};
    return TIDE_LAUNCH((tide_gemv_kernel<W, X>),
                       tide_cuda_grid(ops, call->n_chosen * call->m, WARPS), BLOCK, 0,
                       tide_cuda_stream(ops), given, tide_view_of<X>(call->x));
}

template <typename W> static int launch_for_x(const tide_ops *ops, const tide_gemv *call) {
    return tide_by_type(call->x.dtype,
                        [=](auto number) { return launch<W, decltype(number)>(ops, call); });
}

extern "C" tide_status tide_cuda_gemv(tide_ops *ops, const tide_gemv *call, tide_error *error) {
    const tide_array arrays[] = {call->out, call->x};
    TIDE_TRY(tide_cuda_need_floats("gemv", arrays, 2, error));
    if (call->weight.dtype != TIDE_INT8) {
        TIDE_TRY(tide_cuda_need_floats("gemv's weight", &call->weight, 1, error));
    }
    if (call->bias.data != nullptr) {
        TIDE_TRY(tide_cuda_need_floats("gemv's bias", &call->bias, 1, error));
    }
    if (call->n_chosen * call->m == 0) {
        return TIDE_OK;
    }
    const int result = call->weight.dtype == TIDE_INT8
                           ? launch_for_x<int8_t>(ops, call)
                           : tide_by_type(call->weight.dtype, [=](auto number) {
                                 return launch_for_x<decltype(number)>(ops, call);
                             });
    return tide_cuda_launched(ops, "gemv", result, error);
}
