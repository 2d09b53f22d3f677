/* out (n) from words of a stream of random numbers: (word / 2^32 + offset) * scale in double,
 * rounded to fp32 and then to out's type, or low + word mod n_values. The bits are those of the cpu
 * twin, because no operation before the roundings can be inexact in different ways: the sum and the
 * product round once each, and no product is followed by a sum. */
#include "model/decode/operators.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/philox.h"
#include "model/ops_cuda/vector.h"

static __device__ __forceinline__ float share(const tide_decode_fill &given, uint32_t word) {
    return static_cast<float>((static_cast<double>(word) / 4294967296.0 + given.offset) *
                              given.scale);
}

static __device__ __forceinline__ int64_t whole(const tide_decode_fill &given, uint32_t word) {
    return given.low + static_cast<int64_t>(word % given.n_values);
}

static __device__ __forceinline__ void make(float *to, const tide_decode_fill &given,
                                            uint32_t word) {
    tide_write(to, share(given, word));
}
static __device__ __forceinline__ void make(__nv_bfloat16 *to, const tide_decode_fill &given,
                                            uint32_t word) {
    tide_write(to, share(given, word));
}
static __device__ __forceinline__ void make(int8_t *to, const tide_decode_fill &given,
                                            uint32_t word) {
    *to = static_cast<int8_t>(whole(given, word));
}
static __device__ __forceinline__ void make(int32_t *to, const tide_decode_fill &given,
                                            uint32_t word) {
    *to = static_cast<int32_t>(whole(given, word));
}

/* A thread has four elements, whose words are of one block of the stream or of two. */
template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_decode_fill_kernel(T *out, tide_decode_fill given) {
    const unsigned shift = static_cast<unsigned>(given.first % 4);
    for (size_t i = 4 * tide_thread(); i < given.n; i += 4 * tide_n_threads()) {
        const uint64_t block = (given.first + i) / 4;
        const tide_philox_block one =
            tide_cuda_philox(given.random.seed, given.random.stream, block);
        const tide_philox_block two =
            shift == 0 ? one : tide_cuda_philox(given.random.seed, given.random.stream, block + 1);
#pragma unroll
        for (unsigned w = 0; w < 8; w++) {
            const size_t at = i + w - shift;
            if (w >= shift && w < shift + 4 && at < given.n) {
                make(out + at, given, w < 4 ? one.words[w] : two.words[w - 4]);
            }
        }
    }
}

template <typename T> static int launch(const tide_ops *ops, const tide_decode_fill *call) {
    return TIDE_LAUNCH(tide_decode_fill_kernel<T>,
                       tide_cuda_grid(ops, (call->n + 3) / 4, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), static_cast<T *>(call->out.data), *call);
}

extern "C" tide_status tide_cuda_decode_fill(tide_ops *ops, const tide_decode_fill *call,
                                             tide_error *error) {
    int result = 0;
    if (call->n == 0) {
        return TIDE_OK;
    }
    switch (call->out.dtype) {
    case TIDE_INT8:
        result = launch<int8_t>(ops, call);
        break;
    case TIDE_INT32:
        result = launch<int32_t>(ops, call);
        break;
    case TIDE_BF16:
        result = launch<__nv_bfloat16>(ops, call);
        break;
    default:
        TIDE_TRY(tide_cuda_need_floats("fill of a stream", &call->out, 1, error));
        result = launch<float>(ops, call);
        break;
    }
    return tide_cuda_launched(ops, "decode_fill", result, error);
}
