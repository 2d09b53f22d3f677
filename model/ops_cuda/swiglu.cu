/* out (n) = silu(gate (n)) * up (n), silu(x) = x s(x), s(x) = 1 / (1 + exp(-x)).
 *
 * Backward: dup = dout * silu(gate); dgate = dout * up * s (1 + gate (1 - s)).
 *
 * Each thread takes a pack of 16 bytes per array. Elements that fill no pack are handled one by
 * one, as are all elements if an array is not aligned. Outputs may share the memory of inputs. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/vector.h"

enum { BLOCK = 256 };

static __device__ __forceinline__ float sigmoid(float x) {
    return 1.0F / (1.0F + expf(-x));
}

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    tide_swiglu_forward_kernel(T *out, const T *gate, const T *up, size_t n_packs, size_t n) {
    const size_t step = static_cast<size_t>(gridDim.x) * BLOCK;
    const size_t first = static_cast<size_t>(blockIdx.x) * BLOCK + threadIdx.x;
    for (size_t i = first; i < n_packs; i += step) {
        float g[TIDE_PACK<T>], u[TIDE_PACK<T>];
        tide_read_pack(gate + i * TIDE_PACK<T>, g);
        tide_read_pack(up + i * TIDE_PACK<T>, u);
#pragma unroll
        for (int k = 0; k < TIDE_PACK<T>; k++) {
            u[k] *= g[k] * sigmoid(g[k]);
        }
        tide_write_pack(out + i * TIDE_PACK<T>, u);
    }
    for (size_t i = n_packs * TIDE_PACK<T> + first; i < n; i += step) {
        const float g = tide_read(gate + i);
        tide_write(out + i, g * sigmoid(g) * tide_read(up + i));
    }
}

template <typename T>
static int launch_forward(const tide_ops *ops, const tide_swiglu_forward *call) {
    const size_t n = call->n;
    const size_t n_packs = tide_n_packs<T>(n, call->out.data, call->gate.data, call->up.data);
    return TIDE_LAUNCH(
        (tide_swiglu_forward_kernel<T>), tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, BLOCK),
        BLOCK, 0, tide_cuda_stream(ops), static_cast<T *>(call->out.data),
        static_cast<const T *>(call->gate.data), static_cast<const T *>(call->up.data), n_packs, n);
}

extern "C" tide_status tide_cuda_swiglu_forward(tide_ops *ops, const tide_swiglu_forward *call,
                                                tide_error *error) {
    const tide_array all[] = {call->out, call->gate, call->up};
    TIDE_TRY(tide_cuda_need_one_type("swiglu", all, 3, error));
    if (call->n == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->out.dtype, [=](auto number) { return launch_forward<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "swiglu_forward", result, error);
}

/* The operands of backward, all (n). */
template <typename T> struct backward_arrays {
    T *dgate, *dup;     /* written */
    const T *dout;      /* read */
    const T *gate, *up; /* read */
};

/* Turns gate into dgate and up into dup. */
static __device__ __forceinline__ void differentiate(float dout, float &gate, float &up) {
    const float s = sigmoid(gate);
    const float silu = gate * s;
    gate = dout * up * s * (1.0F + gate * (1.0F - s));
    up = dout * silu;
}

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    tide_swiglu_backward_kernel(const backward_arrays<T> arrays, size_t n_packs, size_t n) {
    const size_t step = static_cast<size_t>(gridDim.x) * BLOCK;
    const size_t first = static_cast<size_t>(blockIdx.x) * BLOCK + threadIdx.x;
    for (size_t i = first; i < n_packs; i += step) {
        float dout[TIDE_PACK<T>], gate[TIDE_PACK<T>], up[TIDE_PACK<T>];
        tide_read_pack(arrays.dout + i * TIDE_PACK<T>, dout);
        tide_read_pack(arrays.gate + i * TIDE_PACK<T>, gate);
        tide_read_pack(arrays.up + i * TIDE_PACK<T>, up);
#pragma unroll
        for (int k = 0; k < TIDE_PACK<T>; k++) {
            differentiate(dout[k], gate[k], up[k]);
        }
        tide_write_pack(arrays.dgate + i * TIDE_PACK<T>, gate);
        tide_write_pack(arrays.dup + i * TIDE_PACK<T>, up);
    }
    for (size_t i = n_packs * TIDE_PACK<T> + first; i < n; i += step) {
        float gate = tide_read(arrays.gate + i);
        float up = tide_read(arrays.up + i);
        differentiate(tide_read(arrays.dout + i), gate, up);
        tide_write(arrays.dgate + i, gate);
        tide_write(arrays.dup + i, up);
    }
}

template <typename T>
static int launch_backward(const tide_ops *ops, const tide_swiglu_backward *call) {
    const size_t n = call->n;
    const backward_arrays<T> arrays = {
        static_cast<T *>(call->dgate.data), static_cast<T *>(call->dup.data),
        static_cast<const T *>(call->dout.data), static_cast<const T *>(call->gate.data),
        static_cast<const T *>(call->up.data)};
    const size_t n_packs =
        tide_n_packs<T>(n, arrays.dgate, arrays.dup, arrays.dout, arrays.gate, arrays.up);
    return TIDE_LAUNCH((tide_swiglu_backward_kernel<T>),
                       tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, BLOCK), BLOCK, 0,
                       tide_cuda_stream(ops), arrays, n_packs, n);
}

extern "C" tide_status tide_cuda_swiglu_backward(tide_ops *ops, const tide_swiglu_backward *call,
                                                 tide_error *error) {
    const tide_array all[] = {call->dgate, call->dup, call->dout, call->gate, call->up};
    TIDE_TRY(tide_cuda_need_one_type("swiglu", all, 5, error));
    if (call->n == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(call->dgate.dtype, [=](auto number) {
        return launch_backward<decltype(number)>(ops, call);
    });
    return tide_cuda_launched(ops, "swiglu_backward", result, error);
}
