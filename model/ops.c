#include "model/ops.h"

#include <math.h>

#ifndef TIDEMARK_HAVE_CUDA
#define TIDEMARK_HAVE_CUDA 0
#endif

tide_status tide_ops_open(const tide_hostmem *mem, tide_device *device, tide_precision precision,
                          tide_ops **ret_ops, tide_error *error) {
    switch (tide_device_get_info(device)->kind) {
    case TIDE_DEVICE_VIRTUAL:
        return tide_ops_virtual_open(mem, device, precision, ret_ops, error);
    case TIDE_DEVICE_CPU:
        return tide_ops_cpu_open(mem, device, precision, ret_ops, error);
    case TIDE_DEVICE_CUDA:
#if TIDEMARK_HAVE_CUDA
        return tide_ops_cuda_open(mem, device, precision, ret_ops, error);
#else
        break;
#endif
    }
    return tide_fail(error, TIDE_UNSUPPORTED,
                     "this build has no operators for device %s: use cpu or virtual",
                     tide_device_get_info(device)->spec);
}

tide_status tide_ops_use_stream(tide_ops *ops, tide_stream stream, tide_error *error) {
    ops->stream = stream;
    return ops->table->use_stream != NULL ? ops->table->use_stream(ops, stream, error) : TIDE_OK;
}

void tide_ops_begin_capture(tide_ops *ops) {
    ops->computing = ops->table;
    if (tide_device_get_info(ops->device)->kind != TIDE_DEVICE_CUDA) {
        ops->table = tide_ops_virtual_table();
    }
}

void tide_ops_end_capture(tide_ops *ops) {
    ops->table = ops->computing;
    ops->computing = NULL;
}

void tide_ops_close(tide_ops *ops) {
    if (ops != NULL) {
        ops->table->close(ops);
    }
}

tide_status tide_ops_alloc_workspace(tide_ops *ops, tide_cache *cache, tide_tensor *workspace,
                                     tide_error *error) {
    size_t n_bytes = tide_device_get_info(ops->device)->workspace_bytes;
    if (n_bytes == 0) {
        return TIDE_OK;
    }
    /* Tensors count elements of 4 bytes; every card's workspace is a multiple of 4. */
    TIDE_TRY(tide_tensor_alloc(cache, workspace, (n_bytes + 3) / 4, TIDE_FP32, TIDE_WORKSPACE,
                               "gemm.workspace", error));
    return ops->table->use_workspace != NULL
               ? ops->table->use_workspace(ops, workspace->array.data, n_bytes, error)
               : TIDE_OK;
}

tide_scope tide_ops_part_begin(const tide_ops *ops, tide_attention_part part) {
    static const char *const NAMES[] = {[TIDE_PART_SCORES] = "scores",
                                        [TIDE_PART_SOFTMAX] = "softmax",
                                        [TIDE_PART_VALUE] = "value"};
    /* The names in the assignment's scripts, which filters of traces may use. */
    static const char *const RANGES[] = {[TIDE_PART_SCORES] = "computing attention scores",
                                         [TIDE_PART_SOFTMAX] = "computing softmax",
                                         [TIDE_PART_VALUE] = "final matmul"};
    return tide_scope_begin_as(ops->recorder, TIDE_SCOPE_OPERATOR, NAMES[part], -1, RANGES[part]);
}

void tide_ops_part_end(const tide_ops *ops, tide_scope scope) {
    tide_scope_end(ops->recorder, scope);
}

double tide_adamw_step_size(const tide_adamw_settings *settings, int64_t t) {
    return settings->lr * sqrt(1 - pow(settings->beta2, (double)t)) /
           (1 - pow(settings->beta1, (double)t));
}

tide_status tide_ops_check_addend(const tide_matmul *call, tide_error *error) {
    if (call->addend.data == NULL) {
        return TIDE_OK;
    }
    if (call->addend.dtype != call->out.dtype) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "matmul: the addend is %s and out is %s: pass them as one type",
                         tide_dtype_name(call->addend.dtype), tide_dtype_name(call->out.dtype));
    }
    if (call->accumulate || call->addend.data == call->out.data) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "matmul: an addend comes beside out, and out is only written: to add to "
                         "out itself, set accumulate and pass no addend");
    }
    return TIDE_OK;
}

void tide_adamw_settings_init(tide_adamw_settings *settings) {
    *settings = (tide_adamw_settings){
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01};
}

size_t tide_ops_rmsnorm_scratch_elements(size_t R, size_t C) {
    size_t partials = (R + TIDE_RMSNORM_ROWS - 1) / TIDE_RMSNORM_ROWS;
    return (partials < TIDE_RMSNORM_PARTIALS ? partials : TIDE_RMSNORM_PARTIALS) * C;
}

size_t tide_ops_attention_scratch_elements(tide_attention kind, size_t B, size_t T, size_t H) {
    return kind == TIDE_ATTENTION_FLASH ? B * T * H : 0;
}

size_t tide_ops_norm_scratch_elements(const tide_parameter_arrays *parameters,
                                      size_t n_parameters) {
    size_t n_chunks = 0;
    for (size_t i = 0; i < n_parameters; i++) {
        n_chunks += (parameters[i].n_elements + TIDE_NORM_CHUNK - 1) / TIDE_NORM_CHUNK;
    }
    return n_chunks;
}
