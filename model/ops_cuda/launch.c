/* launch.c - the shared parts of all launchers of the cuda operators. */
#include "device/cuda_friend.h"
#include "model/ops_cuda/ops_cuda_friend.h"

void tide_cuda_make_current(const tide_ops *ops) {
    tide_device_cuda_make_current(tide_ops_cuda_of(ops)->ordinal);
}

cudaStream_t tide_cuda_stream(const tide_ops *ops) {
    tide_cuda_make_current(ops);
    return (cudaStream_t)(uintptr_t)ops->stream; /* NOLINT(performance-no-int-to-ptr): a handle */
}

unsigned tide_cuda_grid(const tide_ops *ops, size_t n_items, unsigned n_threads) {
    const size_t n_blocks = n_items / n_threads + (n_items % n_threads != 0);
    const unsigned max_blocks = tide_ops_cuda_of(ops)->max_blocks;
    if (n_blocks == 0) {
        return 1;
    }
    return n_blocks < max_blocks ? (unsigned)n_blocks : max_blocks;
}

tide_status tide_cuda_need_one_type(const char *operator_name, const tide_array *arrays,
                                    size_t n_arrays, tide_error *error) {
    for (size_t i = 0; i < n_arrays; i++) {
        if (arrays[i].dtype != TIDE_FP32 && arrays[i].dtype != TIDE_BF16 &&
            arrays[i].dtype != TIDE_FP16) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "%s: array %zu of %zu is %s, and device cuda computes on fp32, "
                             "bf16 and fp16 only: pass it as one of these",
                             operator_name, i + 1, n_arrays, tide_dtype_name(arrays[i].dtype));
        }
        if (arrays[i].dtype != arrays[0].dtype) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "%s: array %zu of %zu differs in type from the first: device cuda "
                             "needs one type for all of them",
                             operator_name, i + 1, n_arrays);
        }
    }
    return TIDE_OK;
}

tide_status tide_cuda_launched(const tide_ops *ops, const char *launch_name, int result,
                               tide_error *error) {
    tide_device_count_work(ops->device);
    return tide_device_cuda_answer(ops->device, launch_name, result, error);
}

tide_status tide_cuda_multiplied(const tide_ops *ops, const char *call, int result,
                                 tide_error *error) {
    tide_device_count_work(ops->device);
    if (result == 0) {
        return TIDE_OK;
    }
    /* cuBLAS contains its own copy of the runtime. If the failing call went through ours, our last
     * error has the reason; otherwise ours still reports an ended context at its next call. */
    TIDE_TRY(tide_device_cuda_answer(ops->device, call, (int)cudaGetLastError(), error));
    TIDE_TRY(tide_device_cuda_answer(ops->device, call, (int)cudaDeviceSynchronize(), error));
    return tide_fail(
        error, result == TIDE_CUBLAS_STATUS_ALLOC_FAILED ? TIDE_DEVICE_OOM : TIDE_DEVICE_FAILED,
        "%s: cuBLAS answers %s (%d)", call, tide_ops_cuda_of(ops)->cublas.get_status_string(result),
        result);
}
