/* ops_virtual.c - the operators of the virtual device: nothing is computed, every call returns at
 * once. */
#include "model/ops.h"

/* The arrays of the virtual device are addresses without memory, so no argument is looked at. */
#define IGNORE_CALL(ops, call, error) ((void)(ops), (void)(call), (void)(error))

static void close_ops(tide_ops *ops) {
    ops->mem->release(ops->mem->ctx, ops);
}

static const char *describe(const tide_ops *ops) {
    (void)ops;
    return "virtual: nothing is computed";
}

static tide_status embedding_forward(tide_ops *ops, tide_array out, tide_array table,
                                     const int32_t *tokens, size_t R, size_t C, tide_error *error) {
    (void)out, (void)table, (void)R, (void)C;
    IGNORE_CALL(ops, tokens, error);
    return TIDE_OK;
}

static tide_status embedding_backward(tide_ops *ops, tide_array dtable, tide_array dout,
                                      const int32_t *tokens, size_t R, size_t C, size_t V,
                                      tide_error *error) {
    (void)dtable, (void)dout, (void)R, (void)C, (void)V;
    IGNORE_CALL(ops, tokens, error);
    return TIDE_OK;
}

static tide_status rmsnorm_forward(tide_ops *ops, const tide_rmsnorm_forward *call,
                                   tide_error *error) {
    IGNORE_CALL(ops, call, error);
    return TIDE_OK;
}

static tide_status rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                    tide_error *error) {
    IGNORE_CALL(ops, call, error);
    return TIDE_OK;
}

static tide_status matmul(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    IGNORE_CALL(ops, call, error);
    return TIDE_OK;
}

static tide_status rope(tide_ops *ops, tide_array x, const float *table, size_t B, size_t T,
                        size_t H, size_t D, bool inverse, tide_error *error) {
    (void)x, (void)B, (void)T, (void)H, (void)D, (void)inverse;
    IGNORE_CALL(ops, table, error);
    return TIDE_OK;
}

/* A part takes no time, but has its scope, as on devices that compute. */
static void pass_part(const tide_ops *ops, tide_attention_part part) {
    tide_ops_part_end(ops, tide_ops_part_begin(ops, part));
}

static tide_status attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                     tide_error *error) {
    (void)error;
    if (call->kind == TIDE_ATTENTION_NAIVE) {
        pass_part(ops, TIDE_PART_SCORES);
        pass_part(ops, TIDE_PART_SOFTMAX);
        pass_part(ops, TIDE_PART_VALUE);
    }
    return TIDE_OK;
}

static tide_status attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                      tide_error *error) {
    (void)error;
    if (call->kind == TIDE_ATTENTION_NAIVE) {
        pass_part(ops, TIDE_PART_VALUE);
        pass_part(ops, TIDE_PART_SOFTMAX);
        pass_part(ops, TIDE_PART_SCORES);
    }
    return TIDE_OK;
}

static tide_status swiglu_forward(tide_ops *ops, tide_array out, tide_array gate, tide_array up,
                                  size_t n, tide_error *error) {
    (void)out, (void)gate, (void)up;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status swiglu_backward(tide_ops *ops, tide_array dgate, tide_array dup, tide_array dout,
                                   tide_array gate, tide_array up, size_t n, tide_error *error) {
    (void)dgate, (void)dup, (void)dout, (void)gate, (void)up;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status gelu_forward(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                tide_error *error) {
    (void)out, (void)x;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status gelu_backward(tide_ops *ops, tide_array dx, tide_array dout, tide_array x,
                                 size_t n, tide_error *error) {
    (void)dx, (void)dout, (void)x;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status layernorm_forward(tide_ops *ops, const tide_layernorm_forward *call,
                                     tide_error *error) {
    IGNORE_CALL(ops, call, error);
    return TIDE_OK;
}

static tide_status gemv(tide_ops *ops, const tide_gemv *call, tide_error *error) {
    IGNORE_CALL(ops, call, error);
    return TIDE_OK;
}

static tide_status residual_add(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                tide_error *error) {
    (void)out, (void)x;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status cross_entropy(tide_ops *ops, const tide_cross_entropy *call, tide_error *error) {
    IGNORE_CALL(ops, call, error);
    return TIDE_OK;
}

static tide_status cast(tide_ops *ops, tide_array out, tide_array x, size_t n, tide_error *error) {
    (void)out, (void)x;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status fill(tide_ops *ops, tide_array out, double value, size_t n, tide_error *error) {
    (void)out, (void)value;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status fill_normal(tide_ops *ops, tide_array out, double sigma, tide_random random,
                               size_t n, tide_error *error) {
    (void)out, (void)sigma, (void)random;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status fill_tokens(tide_ops *ops, int32_t *out, size_t bound, tide_random random,
                               size_t n, tide_error *error) {
    (void)out, (void)bound, (void)random;
    IGNORE_CALL(ops, n, error);
    return TIDE_OK;
}

static tide_status fill_rope(tide_ops *ops, float *table, size_t T, size_t D, double theta,
                             tide_error *error) {
    (void)T, (void)D, (void)theta;
    IGNORE_CALL(ops, table, error);
    return TIDE_OK;
}

static tide_status global_norm(tide_ops *ops, const tide_parameter_arrays *parameters,
                               size_t n_parameters, float *scratch, float *norm,
                               tide_error *error) {
    (void)n_parameters, (void)scratch, (void)norm;
    IGNORE_CALL(ops, parameters, error);
    return TIDE_OK;
}

static tide_status clip(tide_ops *ops, const tide_parameter_arrays *parameters, size_t n_parameters,
                        const float *norm, double max_norm, tide_error *error) {
    (void)n_parameters, (void)norm, (void)max_norm;
    IGNORE_CALL(ops, parameters, error);
    return TIDE_OK;
}

static tide_status adamw(tide_ops *ops, const tide_adamw *settings,
                         const tide_parameter_arrays *parameters, size_t n_parameters,
                         tide_error *error) {
    (void)settings, (void)n_parameters;
    IGNORE_CALL(ops, parameters, error);
    return TIDE_OK;
}

static const tide_ops_table TABLE = {
    .close = close_ops,
    .describe = describe,
    .embedding_forward = embedding_forward,
    .embedding_backward = embedding_backward,
    .rmsnorm_forward = rmsnorm_forward,
    .rmsnorm_backward = rmsnorm_backward,
    .matmul = matmul,
    .rope = rope,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .swiglu_forward = swiglu_forward,
    .swiglu_backward = swiglu_backward,
    .gelu_forward = gelu_forward,
    .gelu_backward = gelu_backward,
    .layernorm_forward = layernorm_forward,
    .gemv = gemv,
    .residual_add = residual_add,
    .cross_entropy = cross_entropy,
    .cast = cast,
    .fill = fill,
    .fill_normal = fill_normal,
    .fill_tokens = fill_tokens,
    .fill_rope = fill_rope,
    .global_norm = global_norm,
    .clip = clip,
    .adamw = adamw,
};

tide_status tide_ops_virtual_open(const tide_hostmem *mem, tide_device *device, tide_ops **ret_ops,
                                  tide_error *error) {
    tide_ops *ops = mem->alloc(mem->ctx, sizeof(*ops));
    if (ops == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the operators");
    }
    *ops = (tide_ops){.table = &TABLE, .mem = mem, .device = device, .stream = 0};
    *ret_ops = ops;
    return TIDE_OK;
}
