/* norm (1) = sqrt of the sum of squares of all gradients: one partial sum per chunk of
 * TIDE_NORM_CHUNK elements of each gradient, each by one block; one more block adds them.
 *
 * Both sums are computed in double over trees of fixed shape. That costs one conversion and one
 * fused multiply-add per number but no time, because the operator is memory-bound. Partial sums are
 * rounded to fp32, as in the cpu twin. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/tensor_list.h"
#include "model/ops_cuda/vector.h"

/* A chunk is 16 packs for each of its threads. */
enum { CHUNK_BLOCK = 512, SUM_BLOCK = 256 };

template <size_t N, typename T>
static __device__ __forceinline__ double squares(tide_view<T> x, size_t at) {
    float number[N];
    tide_load(number, x, at);
    double sum = 0;
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        sum += static_cast<double>(number[k]) * static_cast<double>(number[k]);
    }
    return sum;
}

/* partials[b] = the sum of block b's chunk. */
static __global__ void __launch_bounds__(CHUNK_BLOCK)
    tide_norm_partials_kernel(const tide_tensor_list<1> list, float *partials) {
    constexpr size_t N = TIDE_COMMON_PACK<tide_any>;
    const tide_list_item item = tide_list_find(list, blockIdx.x);
    const tide_list_share share = tide_list_share_of(list, item, TIDE_NORM_CHUNK, N);
    const tide_view<tide_any> x = tide_list_view<tide_any>(list, 0, item.tensor);
    double sum = 0;
    for (size_t i = threadIdx.x; i < share.n_packs; i += CHUNK_BLOCK) {
        sum += squares<N>(x, share.begin + i * N);
    }
    for (size_t i = share.n_packs * N + threadIdx.x; i < share.n; i += CHUNK_BLOCK) {
        sum += squares<1>(x, share.begin + i);
    }
    sum = tide_block_sum(sum);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = static_cast<float>(sum);
    }
}

static __global__ void __launch_bounds__(SUM_BLOCK)
    tide_norm_total_kernel(float *norm, const float *partials, size_t n_partials) {
    double sum = 0;
    for (size_t i = threadIdx.x; i < n_partials; i += SUM_BLOCK) {
        sum += static_cast<double>(partials[i]);
    }
    sum = tide_block_sum(sum);
    if (threadIdx.x == 0) {
        *norm = static_cast<float>(sqrt(sum));
    }
}

extern "C" tide_status tide_cuda_global_norm(tide_ops *ops, const tide_global_norm *call,
                                             tide_error *error) {
    for (size_t i = 0; i < call->n_parameters; i++) {
        TIDE_TRY(tide_cuda_need_floats("global_norm", &call->parameters[i].gradient, 1, error));
    }
    float *partials = call->scratch; /* of the next list */
    TIDE_TRY(tide_list_each<1>(
        call->parameters, call->n_parameters, TIDE_NORM_CHUNK,
        [](const tide_parameter_arrays &given, tide_array(&arrays)[1]) {
            arrays[0] = given.gradient;
            return true;
        },
        [ops, &partials, error](const tide_tensor_list<1> &list) {
            const uint32_t n_blocks = tide_list_n_blocks(list);
            const int result = TIDE_LAUNCH(tide_norm_partials_kernel, n_blocks, CHUNK_BLOCK, 0,
                                           tide_cuda_stream(ops), list, partials);
            partials += n_blocks;
            return tide_cuda_launched(ops, "global_norm: partial sums", result, error);
        }));
    const int result = TIDE_LAUNCH(tide_norm_total_kernel, 1, SUM_BLOCK, 0, tide_cuda_stream(ops),
                                   call->norm, static_cast<const float *>(call->scratch),
                                   static_cast<size_t>(partials - call->scratch));
    return tide_cuda_launched(ops, "global_norm", result, error);
}
