/* Gradients *= factor; found_inf = 1 if an element of them is infinite or NaN.
 *
 * The result stays on the device: AdamW reads it there, so the host does not wait. */
#include <float.h>

#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/tensor_list.h"
#include "model/ops_cuda/vector.h"

/* Elements of one block. */
enum { CHUNK = 1 << 14 };

/* Whether all N are finite. */
template <size_t N, typename T>
static __device__ __forceinline__ bool unscale(tide_view<T> x, float factor, size_t at) {
    float number[N];
    bool is_finite = true;
    tide_load(number, x, at);
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        is_finite = is_finite && fabsf(number[k]) <= FLT_MAX; /* false for NaN */
        number[k] *= factor;
    }
    tide_store(x, at, number);
    return is_finite;
}

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_unscale_kernel(const tide_tensor_list<1> list, float factor, float *found_inf) {
    constexpr size_t N = TIDE_COMMON_PACK<T>;
    const tide_list_item item = tide_list_find(list, blockIdx.x);
    const tide_list_share share = tide_list_share_of(list, item, CHUNK, N);
    const tide_view<T> x = tide_list_view<T>(list, 0, item.tensor);
    bool is_finite = true;
    for (size_t i = threadIdx.x; i < share.n_packs; i += TIDE_BLOCK) {
        is_finite = unscale<N>(x, factor, share.begin + i * N) && is_finite;
    }
    for (size_t i = share.n_packs * N + threadIdx.x; i < share.n; i += TIDE_BLOCK) {
        is_finite = unscale<1>(x, factor, share.begin + i) && is_finite;
    }
    if (!is_finite) {
        atomicExch(found_inf, 1.0F); /* many threads may find one */
    }
}

/* The gradients of one type. */
template <typename T>
static tide_status unscale_all(const tide_ops *ops, const tide_unscale *call, tide_error *error) {
    return tide_list_each<1>(
        call->parameters, call->n_parameters, CHUNK,
        [](const tide_parameter_arrays &given, tide_array(&arrays)[1]) {
            arrays[0] = given.gradient;
            return tide_is<T>(given.gradient);
        },
        [=](const tide_tensor_list<1> &list) {
            const int result = TIDE_LAUNCH((tide_unscale_kernel<T>), tide_list_n_blocks(list),
                                           TIDE_BLOCK, 0, tide_cuda_stream(ops), list,
                                           static_cast<float>(call->factor), call->found_inf);
            return tide_cuda_launched(ops, "unscale", result, error);
        });
}

extern "C" tide_status tide_cuda_unscale(tide_ops *ops, const tide_unscale *call,
                                         tide_error *error) {
    for (size_t i = 0; i < call->n_parameters; i++) {
        TIDE_TRY(tide_cuda_need_floats("unscale", &call->parameters[i].gradient, 1, error));
    }
    TIDE_TRY(unscale_all<float>(ops, call, error));
    TIDE_TRY(unscale_all<__half>(ops, call, error));
    return unscale_all<__nv_bfloat16>(ops, call, error);
}
