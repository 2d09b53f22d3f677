/* Gradients *= min(1, max_norm / (norm + 1e-6)).
 *
 * The kernel reads the norm on the device, so the host never waits for it; if there is nothing to
 * clip, every block ends immediately. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/tensor_list.h"
#include "model/ops_cuda/vector.h"

static constexpr double EPSILON = 1e-6;

/* Elements of one block. */
enum { CHUNK = 1 << 14 };

template <size_t N, typename T>
static __device__ __forceinline__ void scale(tide_view<T> x, float factor, size_t at) {
    float number[N];
    tide_load(number, x, at);
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        number[k] *= factor;
    }
    tide_store(x, at, number);
}

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_clip_kernel(const tide_tensor_list<1> list, const float *norm, double max_norm) {
    constexpr size_t N = TIDE_COMMON_PACK<T>;
    const double ratio = max_norm / (static_cast<double>(*norm) + EPSILON);
    if (ratio >= 1) {
        return;
    }
    const float factor = static_cast<float>(ratio);
    const tide_list_item item = tide_list_find(list, blockIdx.x);
    const tide_list_share share = tide_list_share_of(list, item, CHUNK, N);
    const tide_view<T> x = tide_list_view<T>(list, 0, item.tensor);
    for (size_t i = threadIdx.x; i < share.n_packs; i += TIDE_BLOCK) {
        scale<N>(x, factor, share.begin + i * N);
    }
    for (size_t i = share.n_packs * N + threadIdx.x; i < share.n; i += TIDE_BLOCK) {
        scale<1>(x, factor, share.begin + i);
    }
}

/* The gradients of one type. */
template <typename T>
static tide_status clip_all(const tide_ops *ops, const tide_clip *call, tide_error *error) {
    return tide_list_each<1>(
        call->parameters, call->n_parameters, CHUNK,
        [](const tide_parameter_arrays &given, tide_array(&arrays)[1]) {
            arrays[0] = given.gradient;
            return tide_is<T>(given.gradient);
        },
        [=](const tide_tensor_list<1> &list) {
            const int result =
                TIDE_LAUNCH((tide_clip_kernel<T>), tide_list_n_blocks(list), TIDE_BLOCK, 0,
                            tide_cuda_stream(ops), list, call->norm, call->max_norm);
            return tide_cuda_launched(ops, "clip", result, error);
        });
}

extern "C" tide_status tide_cuda_clip(tide_ops *ops, const tide_clip *call, tide_error *error) {
    for (size_t i = 0; i < call->n_parameters; i++) {
        TIDE_TRY(tide_cuda_need_floats("clip", &call->parameters[i].gradient, 1, error));
    }
    TIDE_TRY(clip_all<float>(ops, call, error));
    TIDE_TRY(clip_all<__half>(ops, call, error));
    return clip_all<__nv_bfloat16>(ops, call, error);
}
