/* compute.c - calls of operators on a model's tensors; on a device that does not compute, nothing.
 */
#include "model/decode/decode_internal.h"

static int32_t *tokens_at(const tide_decode *decode, size_t position) {
    return (int32_t *)decode->tokens.array.data + position;
}

static size_t tokens_stride(const tide_decode *decode) {
    return decode->config.P + decode->config.N;
}

static tide_array row_of(const tide_tensor *tensor, size_t n) {
    char *data = tensor->array.data;
    return (tide_array){data + n * tide_dtype_bytes(tensor->array.dtype), tensor->array.dtype};
}

tide_status tide_decode_run_embed(const tide_decode *decode, const tide_decode_range *range,
                                  tide_tensor *out, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_decode_embed call = {.out = out->array,
                                    .table = decode->embedding.array,
                                    .tokens = tokens_at(decode, range->position),
                                    .B = decode->config.B,
                                    .n = range->n_tokens,
                                    .C = decode->config.C,
                                    .stride = tokens_stride(decode)};
    return decode->table->embed(decode->ops, &call, error);
}

tide_status tide_decode_run_norm(const tide_decode *decode, const tide_tensor *x,
                                 const tide_tensor *weight, size_t stride, tide_tensor *out,
                                 tide_error *error) {
    size_t C = decode->config.C;
    size_t n_rows = out->n_elements / C;
    size_t n_calls = stride == 1 ? 1 : n_rows; /* rows that are not contiguous need separate
                                                  calls */
    for (size_t i = 0; decode->ops != NULL && i < n_calls; i++) {
        const tide_rmsnorm_forward call = {.out = row_of(out, i * C),
                                           .x = row_of(x, ((i + 1) * stride - 1) * C),
                                           .weight = weight->array,
                                           .R = n_rows / n_calls,
                                           .C = C};
        TIDE_TRY(decode->ops->table->rmsnorm_forward(decode->ops, &call, error));
    }
    return TIDE_OK;
}

static tide_status multiply(const tide_decode *decode, const tide_decode_linear *linear,
                            tide_decode_product call, tide_error *error) {
    call.weight = linear->weight.array;
    call.scale = linear->scale.array.data;
    call.n_matrices = linear->n_matrices;
    call.m = linear->m;
    call.k = linear->k;
    return decode->table->product(decode->ops, &call, error);
}

tide_status tide_decode_run_linear(const tide_decode *decode, const tide_decode_linear *linear,
                                   const tide_tensor *x, bool accumulate, tide_tensor *out,
                                   tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    return multiply(decode, linear,
                    (tide_decode_product){.out = out->array,
                                          .x = x->array,
                                          .n_rows = out->n_elements / linear->m,
                                          .n_shares = 1,
                                          .accumulate = accumulate},
                    error);
}

tide_status tide_decode_run_expert(const tide_decode *decode, const tide_decode_linear *linear,
                                   const tide_tensor *x, const tide_tensor *chosen,
                                   tide_tensor *out, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    return multiply(
        decode, linear,
        (tide_decode_product){.out = out->array,
                              .x = x->array,
                              .chosen = chosen->array.data,
                              .n_rows = chosen->n_elements,
                              .n_shares = chosen->n_elements * linear->k / x->n_elements},
        error);
}

static tide_decode_heads heads_of(const tide_decode *decode, const tide_decode_range *range,
                                  const tide_decode_layer *layer, const tide_tensor *qkv) {
    const tide_decode_config *config = &decode->config;
    return (tide_decode_heads){.qkv = qkv->array,
                               .keys = layer->k_cache.array,
                               .values = layer->v_cache.array,
                               .B = config->B,
                               .n = range->n_tokens,
                               .position = range->position,
                               .S = tide_decode_n_positions(config),
                               .H = config->H,
                               .K = config->K,
                               .D = config->C / config->H};
}

tide_status tide_decode_run_rotate(const tide_decode *decode, const tide_decode_range *range,
                                   tide_decode_layer *layer, tide_tensor *qkv, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_decode_rotate call = {.heads = heads_of(decode, range, layer, qkv),
                                     .table = decode->rope.array.data};
    return decode->table->rotate(decode->ops, &call, error);
}

tide_status tide_decode_run_attention(const tide_decode *decode, const tide_decode_range *range,
                                      const tide_decode_layer *layer, const tide_tensor *qkv,
                                      tide_tensor *out, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_decode_attention call = {.heads = heads_of(decode, range, layer, qkv),
                                        .out = out->array};
    return decode->table->attention(decode->ops, &call, error);
}

tide_status tide_decode_run_swiglu(const tide_decode *decode, tide_tensor *gate,
                                   const tide_tensor *up, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_swiglu_forward call = {
        .out = gate->array, .gate = gate->array, .up = up->array, .n = gate->n_elements};
    return decode->ops->table->swiglu_forward(decode->ops, &call, error);
}

tide_status tide_decode_run_choose(const tide_decode *decode, const tide_tensor *scores,
                                   tide_tensor *chosen, tide_tensor *shares, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_decode_choose call = {.chosen = chosen->array.data,
                                     .shares = shares->array.data,
                                     .scores = scores->array,
                                     .R = scores->n_elements / decode->config.E,
                                     .E = decode->config.E,
                                     .A = decode->config.A};
    return decode->table->choose(decode->ops, &call, error);
}

tide_status tide_decode_run_combine(const tide_decode *decode, const tide_tensor *outs,
                                    const tide_tensor *shares, tide_tensor *x, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_decode_combine call = {.x = x->array,
                                      .outs = outs->array,
                                      .shares = shares->array.data,
                                      .R = x->n_elements / decode->config.C,
                                      .A = decode->config.A,
                                      .C = decode->config.C};
    return decode->table->combine(decode->ops, &call, error);
}

tide_status tide_decode_run_next(tide_decode *decode, const tide_decode_range *range,
                                 const tide_tensor *logits, tide_error *error) {
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    const tide_decode_next call = {.tokens = tokens_at(decode, range->position + range->n_tokens),
                                   .logits = logits->array,
                                   .B = decode->config.B,
                                   .V = decode->config.V,
                                   .stride = tokens_stride(decode)};
    TIDE_TRY(decode->table->next(decode->ops, &call, error));
    if (decode->see_logits != NULL) {
        decode->see_logits(decode->see_logits_ctx, logits);
    }
    return TIDE_OK;
}
