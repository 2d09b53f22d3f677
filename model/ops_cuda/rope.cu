/* x (B, T, H, D) in place: the pair (x[2i], x[2i + 1]) is rotated by the angle t theta^(-2i / D)
 * whose cosine and sine are in table (2, T, D / 2); inverse: by the negative angle.
 *
 * A block takes the heads of one token: threadIdx.x counts packs of a head, whose angles the thread
 * reads once, and threadIdx.y counts heads. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/vector.h"

enum { BLOCK = 256, MOST_ACROSS = 32 };

template <size_t N, typename X>
static __device__ __forceinline__ void
rotate(tide_view<X> x, size_t at, const float (&cosines)[N / 2], const float (&sines)[N / 2]) {
    float pair[N];
    if constexpr (N == 2) { /* no pack: load each separately */
        float even[1], odd[1];
        tide_load(even, x, at);
        tide_load(odd, x, at + 1);
        pair[0] = even[0];
        pair[1] = odd[0];
    } else {
        tide_load(pair, x, at);
    }
#pragma unroll
    for (size_t k = 0; k < N; k += 2) {
        const float even = pair[k];
        const float odd = pair[k + 1];
        pair[k] = cosines[k / 2] * even - sines[k / 2] * odd;
        pair[k + 1] = sines[k / 2] * even + cosines[k / 2] * odd;
    }
    if constexpr (N == 2) {
        const float even[1] = {pair[0]}, odd[1] = {pair[1]};
        tide_store(x, at, even);
        tide_store(x, at + 1, odd);
    } else {
        tide_store(x, at, pair);
    }
}

/* N elements of a head at a time: 2, or a pack, of which D is then a multiple. */
template <size_t N, typename X>
static __global__ void __launch_bounds__(BLOCK)
    tide_rope_kernel(tide_view<X> x, const float *table, float sign, size_t n_rows, size_t T,
                     size_t H, size_t D) {
    for (size_t row = blockIdx.x; row < n_rows; row += gridDim.x) { /* x[b][t][:][:] */
        const float *angles = table + row % T * (D / 2);
        for (size_t d = threadIdx.x * N; d < D; d += blockDim.x * N) {
            float cosines[N / 2];
            float sines[N / 2];
#pragma unroll
            for (size_t k = 0; k < N / 2; k++) {
                cosines[k] = angles[d / 2 + k];
                sines[k] = sign * angles[T * (D / 2) + d / 2 + k];
            }
            for (size_t h = threadIdx.y; h < H; h += blockDim.y) {
                rotate<N>(x, (row * H + h) * D + d, cosines, sines);
            }
        }
    }
}

template <size_t N, typename X> static int launch(const tide_ops *ops, const tide_rope *call) {
    const size_t n_rows = call->B * call->T;
    const size_t n_packs = call->D / N; /* of a head */
    const size_t across = n_packs < MOST_ACROSS ? n_packs : static_cast<size_t>(MOST_ACROSS);
    const size_t most_down = BLOCK / across;
    const size_t down = call->H < most_down ? call->H : most_down;
    const float sign = call->inverse ? -1.0F : 1.0F;
    const dim3 block(static_cast<unsigned>(across), static_cast<unsigned>(down), 1);
    return TIDE_LAUNCH((tide_rope_kernel<N, X>), tide_cuda_grid(ops, n_rows, 1), block, 0,
                       tide_cuda_stream(ops), tide_view_of<X>(call->x), call->table, sign, n_rows,
                       call->T, call->H, call->D);
}

template <typename X> static int launch_of(const tide_ops *ops, const tide_rope *call) {
    constexpr size_t N = TIDE_PACK<X>;
    return call->D % N == 0 && tide_is_aligned(call->x.data) ? launch<N, X>(ops, call)
                                                             : launch<2, X>(ops, call);
}

extern "C" tide_status tide_cuda_rope(tide_ops *ops, const tide_rope *call, tide_error *error) {
    TIDE_TRY(tide_cuda_need_floats("rope", &call->x, 1, error));
    if (call->B * call->T * call->H * (call->D / 2) == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->x.dtype, [=](auto number) { return launch_of<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "rope", result, error);
}
