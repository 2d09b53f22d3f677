#include <stdio.h>

#include "device/cuda_friend.h"
#include "model/ops_cuda/ops_cuda_friend.h"

/* Blocks for each multiprocessor in a grid that loops: enough to fill it with blocks of 256. */
enum { BLOCKS_PER_MULTIPROCESSOR = 16 };

static void close_ops(tide_ops *ops) {
    tide_ops_cuda *cuda = (tide_ops_cuda *)(void *)ops;
    tide_cuda_make_current(ops);
    tide_cuda_plans_fini(cuda);
    (void)cuda->cublas.destroy(cuda->handle); /* no caller could handle a failure */
    (void)cudaGetLastError();
    ops->mem->release(ops->mem->ctx, cuda);
}

static const char *describe(const tide_ops *ops) {
    return tide_ops_cuda_of(ops)->description;
}

static tide_status use_workspace(tide_ops *ops, void *workspace, size_t n_bytes,
                                 tide_error *error) {
    tide_ops_cuda *cuda = (tide_ops_cuda *)(void *)ops;
    tide_cuda_make_current(ops);
    TIDE_TRY(tide_cuda_multiplied(ops, "cublasSetWorkspace",
                                  cuda->cublas.set_workspace(cuda->handle, workspace, n_bytes),
                                  error));
    cuda->workspace = workspace;
    cuda->workspace_bytes = n_bytes;
    return TIDE_OK;
}

static tide_status use_stream(tide_ops *ops, tide_stream stream, tide_error *error) {
    const tide_ops_cuda *cuda = tide_ops_cuda_of(ops);
    (void)stream; /* tide_ops_use_stream has set it */
    return tide_cuda_multiplied(ops, "cublasSetStream",
                                cuda->cublas.set_stream(cuda->handle, tide_cuda_stream(ops)),
                                error);
}

#define OPERATOR_ENTRY(x) .x = tide_cuda_##x,
static const tide_ops_table CUDA_TABLE = {.close = close_ops,
                                          .describe = describe,
                                          .use_workspace = use_workspace,
                                          .use_stream = use_stream,
                                          TIDE_OPERATORS(OPERATOR_ENTRY)};
#undef OPERATOR_ENTRY

static tide_status check_device(const tide_device_info *info, tide_error *error) {
    if (info->compute_capability < TIDE_CUDA_LOWEST_CAPABILITY) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s, %s, has compute capability %d.%d, and device cuda needs %d.%d: use "
                         "cpu, or virtual:CARD for the memory of a card",
                         info->spec, info->name, info->compute_capability / 10,
                         info->compute_capability % 10, TIDE_CUDA_LOWEST_CAPABILITY / 10,
                         TIDE_CUDA_LOWEST_CAPABILITY % 10);
    }
    return TIDE_OK;
}

/* Creates the handle on the operators' stream. The math mode makes cuBLAS keep sums of bf16
 * products in fp32 to their end, even if it splits a sum. */
static tide_status open_cublas(tide_ops_cuda *cuda, tide_error *error) {
    const int mode =
        TIDE_CUBLAS_DEFAULT_MATH | TIDE_CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    TIDE_TRY(tide_cublas_load(&cuda->cublas, error));
    TIDE_TRY(tide_cuda_multiplied(&cuda->ops, "cublasCreate", cuda->cublas.create(&cuda->handle),
                                  error));
    int result = cuda->cublas.set_stream(cuda->handle, tide_cuda_stream(&cuda->ops));
    if (result == 0) {
        result = cuda->cublas.set_math_mode(cuda->handle, mode);
    }
    tide_status status = tide_cuda_multiplied(&cuda->ops, "a new cuBLAS handle", result, error);
    if (status != TIDE_OK) {
        (void)cuda->cublas.destroy(cuda->handle); /* the first failure is reported */
    }
    return status;
}

static void write_description(tide_ops_cuda *cuda) {
    int version = 0;
    const char *name = tide_device_get_info(cuda->ops.device)->name;
    if (cuda->cublas.get_version(cuda->handle, &version) != 0) {
        version = 0;
    }
    (void)snprintf(cuda->description, sizeof(cuda->description), "%.120s, cuBLAS %d.%d.%d", name,
                   version / 10000, version / 100 % 100, version % 100);
}

tide_status tide_ops_cuda_open(const tide_hostmem *mem, tide_device *device,
                               tide_precision precision, tide_ops **ret_ops, tide_error *error) {
    int n_multiprocessors = 0;
    int ordinal = 0;
    TIDE_TRY(check_device(tide_device_get_info(device), error));
    TIDE_TRY(tide_device_synchronize(device, error)); /* makes the device the current one */
    TIDE_TRY(tide_device_cuda_answer(device, "cudaGetDevice", (int)cudaGetDevice(&ordinal), error));
    TIDE_TRY(tide_device_cuda_answer(
        device, "cudaDeviceGetAttribute",
        (int)cudaDeviceGetAttribute(&n_multiprocessors, cudaDevAttrMultiProcessorCount, ordinal),
        error));
    tide_ops_cuda *cuda = tide_hostmem_zeroed(mem, 1, sizeof(*cuda));
    if (cuda == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY,
                         "the host has no memory left for the operators of device cuda");
    }
    cuda->ops = (tide_ops){.table = &CUDA_TABLE, .mem = mem, .device = device, .stream = 0};
    cuda->ordinal = ordinal;
    cuda->max_blocks = (unsigned)(n_multiprocessors * BLOCKS_PER_MULTIPROCESSOR);
    cuda->fp32_compute_type = precision == TIDE_PRECISION_TF32 ? TIDE_CUBLAS_COMPUTE_32F_FAST_TF32
                                                               : TIDE_CUBLAS_COMPUTE_32F;
    tide_status status = open_cublas(cuda, error);
    if (status != TIDE_OK) {
        mem->release(mem->ctx, cuda);
        return status;
    }
    write_description(cuda);
    *ret_ops = &cuda->ops;
    return TIDE_OK;
}
