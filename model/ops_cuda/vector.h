/* vector.h - how kernels read and write arrays of every type: in packs of N neighbours, as fp32
 * numbers, widened on the way in and rounded once on the way out. For .cu files.
 *
 * A tide_view is an array whose type is known when the kernel is compiled: float, __nv_bfloat16 or
 * __half. tide_view<tide_any> learns it from the array, at the cost of a branch per pack that does
 * not diverge. Kernels of many arrays have an instance for each combination of types that the model
 * uses, and one of tide_any for all others.
 *
 * A pack of more than one element is moved 16 bytes at a time: the array must be aligned to 16
 * bytes, which launchers check with tide_is_aligned, and `at` a multiple of N.
 *
 *   float a[N];
 *   tide_load(a, x, at);
 *   tide_store(x, at, a); */
#ifndef TIDE_MODEL_OPS_CUDA_VECTOR_H
#define TIDE_MODEL_OPS_CUDA_VECTOR_H

#include <type_traits>

#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/storage.h"
#include "model/tensor.h"

/* Any type. */
struct tide_any {};

template <typename T> struct tide_view { T *data; /* device memory, borrowed */ };

template <> struct tide_view<tide_any> {
    void *data;    /* device memory, borrowed */
    unsigned type; /* TIDE_FP32, TIDE_BF16 or TIDE_FP16 */
};

/* Elements that a kernel on arrays of these types takes at a time: accesses are 16 bytes each, and
 * if all arrays are fp32 one access per array is enough. */
template <typename... T>
constexpr size_t TIDE_COMMON_PACK = (std::is_same<T, float>::value && ...) ? 4 : 8;

template <typename T> static inline tide_view<T> tide_view_of(tide_array array) {
    if constexpr (std::is_same<T, tide_any>::value) {
        return {array.data, static_cast<unsigned>(array.dtype)};
    } else {
        return {static_cast<T *>(array.data)};
    }
}

/* Whether the array has the type T. */
template <typename T> static inline bool tide_is(tide_array array) {
    return array.dtype == (std::is_same<T, float>::value    ? TIDE_FP32
                           : std::is_same<T, __half>::value ? TIDE_FP16
                                                            : TIDE_BF16);
}

/* run(number), where the type of the number is that of an array of floats: how launchers choose an
 * instance. */
template <typename Run> static inline int tide_by_type(tide_dtype dtype, Run run) {
    return dtype == TIDE_FP32   ? run(float())
           : dtype == TIDE_FP16 ? run(__half())
                                : run(__nv_bfloat16());
}

/* Bit i: array i is of the type. (A shifted condition would be shorter, but gcc 12 with
 * -fsanitize=undefined compiles it to all ones.) */
template <size_t N>
static inline unsigned tide_types(const tide_array (&arrays)[N], tide_dtype dtype = TIDE_BF16) {
    unsigned types = 0;
    for (size_t i = 0; i < N; i++) {
        if (arrays[i].dtype == dtype) {
            types |= 1U << i;
        }
    }
    return types;
}

static inline bool tide_is_aligned(const void *data) {
    return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

/* Packs of N in n elements of arrays; 0 if an array is not aligned. */
template <typename... Arrays>
static inline size_t tide_n_common_packs(size_t n, size_t N, Arrays... arrays) {
    return (tide_is_aligned(arrays.data) && ...) ? n / N : 0;
}

/* TIDE_UNSUPPORTED, naming the operator and the array, unless every array is fp32, bf16 or fp16.
 */
static inline tide_status tide_cuda_need_floats(const char *operator_name, const tide_array *arrays,
                                                size_t n_arrays, tide_error *error) {
    for (size_t i = 0; i < n_arrays; i++) {
        if (arrays[i].dtype != TIDE_FP32 && arrays[i].dtype != TIDE_BF16 &&
            arrays[i].dtype != TIDE_FP16) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "%s: array %zu of %zu is %s, and device cuda computes on fp32, "
                             "bf16 and fp16 only: pass it as one of these",
                             operator_name, i + 1, n_arrays, tide_dtype_name(arrays[i].dtype));
        }
    }
    return TIDE_OK;
}

template <size_t N, typename T>
static __device__ __forceinline__ void tide_load(float (&out)[N], tide_view<T> x, size_t at) {
    static_assert(N == 1 || N % TIDE_PACK<T> == 0, "whole accesses");
    if constexpr (N == 1) {
        out[0] = tide_read(x.data + at);
    } else {
#pragma unroll
        for (size_t i = 0; i < N; i += TIDE_PACK<T>) {
            float pack[TIDE_PACK<T>];
            tide_read_pack(x.data + at + i, pack);
#pragma unroll
            for (size_t k = 0; k < TIDE_PACK<T>; k++) {
                out[i + k] = pack[k];
            }
        }
    }
}

template <size_t N, typename T>
static __device__ __forceinline__ void tide_store(tide_view<T> x, size_t at, const float (&in)[N]) {
    static_assert(N == 1 || N % TIDE_PACK<T> == 0, "whole accesses");
    if constexpr (N == 1) {
        tide_write(x.data + at, in[0]);
    } else {
#pragma unroll
        for (size_t i = 0; i < N; i += TIDE_PACK<T>) {
            float pack[TIDE_PACK<T>];
#pragma unroll
            for (size_t k = 0; k < TIDE_PACK<T>; k++) {
                pack[k] = in[i + k];
            }
            tide_write_pack(x.data + at + i, pack);
        }
    }
}

template <size_t N>
static __device__ __forceinline__ void tide_load(float (&out)[N], tide_view<tide_any> x,
                                                 size_t at) {
    if (x.type == TIDE_FP16) {
        tide_load(out, tide_view<__half>{static_cast<__half *>(x.data)}, at);
    } else if (x.type == TIDE_BF16) {
        tide_load(out, tide_view<__nv_bfloat16>{static_cast<__nv_bfloat16 *>(x.data)}, at);
    } else {
        tide_load(out, tide_view<float>{static_cast<float *>(x.data)}, at);
    }
}

template <size_t N>
static __device__ __forceinline__ void tide_store(tide_view<tide_any> x, size_t at,
                                                  const float (&in)[N]) {
    if (x.type == TIDE_FP16) {
        tide_store(tide_view<__half>{static_cast<__half *>(x.data)}, at, in);
    } else if (x.type == TIDE_BF16) {
        tide_store(tide_view<__nv_bfloat16>{static_cast<__nv_bfloat16 *>(x.data)}, at, in);
    } else {
        tide_store(tide_view<float>{static_cast<float *>(x.data)}, at, in);
    }
}

/* Threads of a block of the kernels that go element by element. */
enum { TIDE_BLOCK = 256 };

/* This thread's number in a one-dimensional grid, and the number of all of them. */
static __device__ __forceinline__ size_t tide_thread() {
    return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ size_t tide_n_threads() {
    return static_cast<size_t>(gridDim.x) * blockDim.x;
}

/* Threads of a block that works on a row of n_packs: whole warps, one pack a thread if `most`, a
 * multiple of 32, allows it, and otherwise as few turns as `most` threads need, with the packs
 * spread evenly over them: 320 packs are two turns of 160 threads, not one of 256 and one of 64. */
static inline unsigned tide_row_threads(size_t n_packs, unsigned most) {
    const size_t n_turns = n_packs <= most ? 1 : (n_packs + most - 1) / most;
    const size_t n = (n_packs + n_turns - 1) / n_turns;
    return n == 0 ? 32 : static_cast<unsigned>((n + 31) / 32 * 32);
}

#endif
