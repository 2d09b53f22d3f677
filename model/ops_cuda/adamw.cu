/* The course's AdamW on each parameter p (n) with gradient g, and moments m and v:
 *
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
 *   p = p - lr weight_decay p
 *
 * The arithmetic is fp32, and a bf16 result is rounded once: p is updated with m and v before their
 * own rounding. One launch updates up to TIDE_LIST_TENSORS parameters whose arrays are all fp32,
 * all bf16, or mixed: hundreds of small parameters would otherwise cost a launch each. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/tensor_list.h"
#include "model/ops_cuda/vector.h"

/* Elements of one block: enough for a few tens of accesses per thread, few enough for small models
 * to fill the GPU. */
enum { CHUNK = 1 << 13 };

enum { P = 0, G, M, V, N_ARRAYS };

typedef tide_tensor_list<N_ARRAYS> tensor_list;

/* The factors of one step; as in ops_cpu/kernels.h. */
struct factors {
    float beta1, one_minus_beta1; /* of m */
    float beta2, one_minus_beta2; /* of v */
    float step;                   /* lr with both bias corrections */
    float eps;                    /* added to the uncorrected sqrt(v) */
    float decay;                  /* lr weight_decay */
};

/* The arrays of one parameter, all of one of the three kinds of type. */
template <typename T> struct parameter { tide_view<T> p, g, m, v; /* (n) */ };

template <size_t N, typename T>
static __device__ __forceinline__ void update(const parameter<T> &arrays, const factors &f,
                                              size_t at) {
    float p[N], g[N], m[N], v[N];
    tide_load(p, arrays.p, at);
    tide_load(g, arrays.g, at);
    tide_load(m, arrays.m, at);
    tide_load(v, arrays.v, at);
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        m[k] = f.beta1 * m[k] + f.one_minus_beta1 * g[k];
        v[k] = f.beta2 * v[k] + f.one_minus_beta2 * (g[k] * g[k]);
        /* eps is added to the uncorrected square root, and the decay follows the update: ops.h,
         * tide_adamw. */
        const float moved = p[k] - f.step * m[k] / (sqrtf(v[k]) + f.eps);
        p[k] = moved - f.decay * moved;
    }
    tide_store(arrays.p, at, p);
    tide_store(arrays.m, at, m);
    tide_store(arrays.v, at, v);
}

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_adamw_kernel(const tensor_list list, factors f, const float *found_inf,
                      const float *step_size) {
    constexpr size_t N = TIDE_COMMON_PACK<T>;
    if (found_inf != nullptr && *found_inf != 0) {
        return; /* the step is skipped */
    }
    if (step_size != nullptr) {
        f.step = *step_size;
    }
    const tide_list_item item = tide_list_find(list, blockIdx.x);
    const tide_list_share share = tide_list_share_of(list, item, CHUNK, N);
    const parameter<T> arrays = {
        tide_list_view<T>(list, P, item.tensor), tide_list_view<T>(list, G, item.tensor),
        tide_list_view<T>(list, M, item.tensor), tide_list_view<T>(list, V, item.tensor)};
    for (size_t i = threadIdx.x; i < share.n_packs; i += TIDE_BLOCK) {
        update<N>(arrays, f, share.begin + i * N);
    }
    for (size_t i = share.n_packs * N + threadIdx.x; i < share.n; i += TIDE_BLOCK) {
        update<1>(arrays, f, share.begin + i);
    }
}

enum { ALL_FP32 = 0, ALL_BF16 = (1 << N_ARRAYS) - 1, MIXED };

/* The parameters whose arrays are all fp32, all bf16, or neither. */
template <typename T>
static tide_status update_all(const tide_ops *ops, const tide_adamw *call, unsigned kind,
                              const factors &f, tide_error *error) {
    return tide_list_each<N_ARRAYS>(
        call->parameters, call->n_parameters, CHUNK,
        [kind](const tide_parameter_arrays &given, tide_array(&arrays)[N_ARRAYS]) {
            arrays[P] = given.parameter;
            arrays[G] = given.gradient;
            arrays[M] = given.exp_avg;
            arrays[V] = given.exp_avg_sq;
            const unsigned types = tide_types(arrays);
            const bool is_mixed =
                (types != ALL_FP32 && types != ALL_BF16) || tide_types(arrays, TIDE_FP16) != 0;
            return is_mixed ? kind == MIXED : kind == types;
        },
        [ops, call, &f, error](const tensor_list &list) {
            const int result =
                TIDE_LAUNCH((tide_adamw_kernel<T>), tide_list_n_blocks(list), TIDE_BLOCK, 0,
                            tide_cuda_stream(ops), list, f, call->found_inf, call->step_size);
            return tide_cuda_launched(ops, "adamw", result, error);
        });
}

static factors make_factors(const tide_adamw *call) {
    const tide_adamw_settings *adamw = &call->settings;
    return {static_cast<float>(adamw->beta1),
            static_cast<float>(1 - adamw->beta1),
            static_cast<float>(adamw->beta2),
            static_cast<float>(1 - adamw->beta2),
            static_cast<float>(tide_adamw_step_size(adamw, call->t)),
            static_cast<float>(adamw->eps),
            static_cast<float>(adamw->lr * adamw->weight_decay)};
}

extern "C" tide_status tide_cuda_adamw(tide_ops *ops, const tide_adamw *call, tide_error *error) {
    const factors f = make_factors(call);
    for (size_t i = 0; i < call->n_parameters; i++) {
        const tide_parameter_arrays *given = &call->parameters[i];
        const tide_array arrays[] = {given->parameter, given->gradient, given->exp_avg,
                                     given->exp_avg_sq};
        TIDE_TRY(tide_cuda_need_floats("adamw", arrays, 4, error));
    }
    TIDE_TRY(update_all<float>(ops, call, ALL_FP32, f, error));
    TIDE_TRY(update_all<__nv_bfloat16>(ops, call, ALL_BF16, f, error));
    return update_all<tide_any>(ops, call, MIXED, f, error);
}
