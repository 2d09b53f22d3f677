/* pass.c - one pass of a language model over the tokens of a range: its allocations and releases.
 * On a device that does not compute, it only allocates. */
#include <stdio.h>

#include "model/decode/decode_internal.h"

/* A pass on its way. */
typedef struct pass {
    tide_decode *decode;            /* borrowed, as the range */
    const tide_decode_range *range; /* which tokens */
    size_t R;                       /* rows: B times the tokens of the range */
    size_t l;                       /* the layer */
    tide_tensor x;                  /* owned; (R, C) */
} pass;

static tide_status alloc(pass *of, tide_tensor *tensor, size_t n, tide_dtype type, const char *name,
                         tide_error *error) {
    char text[64];
    (void)snprintf(text, sizeof(text), "layers.%zu.%s", of->l, name);
    return tide_tensor_alloc(of->decode->cache, tensor, n, type, TIDE_ACTIVATION, text, error);
}

static tide_status release(pass *of, tide_tensor *tensor, tide_error *error) {
    return tide_tensor_release(of->decode->cache, tensor, error);
}

/* x += attention(norm(x)) Wo^T. The caller drops the tensors. */
static tide_status attention(pass *of, tide_tensor tensors[3], tide_error *error) {
    tide_decode *decode = of->decode;
    const tide_decode_config *config = &decode->config;
    tide_decode_layer *layer = &decode->layers[of->l];
    tide_tensor *norm = &tensors[0];
    tide_tensor *qkv = &tensors[1];
    tide_tensor *out = &tensors[2];
    TIDE_TRY(alloc(of, norm, of->R * config->C, config->type, "attn.norm", error));
    TIDE_TRY(alloc(of, qkv, of->R * layer->qkv.m, config->type, "attn.qkv", error));
    TIDE_TRY(tide_decode_run_norm(decode, &of->x, &layer->attention_norm, 1, norm, error));
    TIDE_TRY(tide_decode_run_linear(decode, &layer->qkv, norm, false, qkv, error));
    TIDE_TRY(tide_decode_run_rotate(decode, of->range, layer, qkv, error));
    TIDE_TRY(release(of, norm, error));
    TIDE_TRY(alloc(of, out, of->R * config->C, config->type, "attn.out", error));
    TIDE_TRY(tide_decode_run_attention(decode, of->range, layer, qkv, out, error));
    TIDE_TRY(tide_decode_run_linear(decode, &layer->wo, out, true, &of->x, error));
    TIDE_TRY(release(of, qkv, error));
    return release(of, out, error);
}

/* x += (silu(norm(x) W1^T) * (norm(x) W3^T)) W2^T. */
static tide_status dense(pass *of, tide_tensor tensors[3], tide_error *error) {
    tide_decode *decode = of->decode;
    const tide_decode_config *config = &decode->config;
    const tide_decode_layer *layer = &decode->layers[of->l];
    tide_tensor *norm = &tensors[0];
    tide_tensor *gate = &tensors[1];
    tide_tensor *up = &tensors[2];
    TIDE_TRY(alloc(of, norm, of->R * config->C, config->type, "ffn.norm", error));
    TIDE_TRY(alloc(of, gate, of->R * config->F, config->type, "ffn.w1", error));
    TIDE_TRY(alloc(of, up, of->R * config->F, config->type, "ffn.w3", error));
    TIDE_TRY(tide_decode_run_norm(decode, &of->x, &layer->ffn_norm, 1, norm, error));
    TIDE_TRY(tide_decode_run_linear(decode, &layer->w1, norm, false, gate, error));
    TIDE_TRY(tide_decode_run_linear(decode, &layer->w3, norm, false, up, error));
    TIDE_TRY(tide_decode_run_swiglu(decode, gate, up, error));
    TIDE_TRY(tide_decode_run_linear(decode, &layer->w2, gate, true, &of->x, error));
    TIDE_TRY(release(of, norm, error));
    TIDE_TRY(release(of, up, error));
    return release(of, gate, error);
}

/* The experts of each row: tensors[1] chosen, tensors[2] shares. */
static tide_status choose(pass *of, tide_tensor tensors[6], tide_error *error) {
    tide_decode *decode = of->decode;
    const tide_decode_config *config = &decode->config;
    const tide_decode_layer *layer = &decode->layers[of->l];
    tide_tensor *scores = &tensors[3];
    TIDE_TRY(alloc(of, &tensors[0], of->R * config->C, config->type, "ffn.norm", error));
    TIDE_TRY(alloc(of, scores, of->R * config->E, config->type, "ffn.scores", error));
    TIDE_TRY(alloc(of, &tensors[1], of->R * config->A, TIDE_INT32, "ffn.chosen", error));
    TIDE_TRY(alloc(of, &tensors[2], of->R * config->A, TIDE_FP32, "ffn.shares", error));
    TIDE_TRY(tide_decode_run_norm(decode, &of->x, &layer->ffn_norm, 1, &tensors[0], error));
    TIDE_TRY(tide_decode_run_linear(decode, &layer->gate, &tensors[0], false, scores, error));
    TIDE_TRY(tide_decode_run_choose(decode, scores, &tensors[1], &tensors[2], error));
    return release(of, scores, error);
}

static tide_status experts(pass *of, tide_tensor tensors[6], tide_error *error) {
    tide_decode *decode = of->decode;
    const tide_decode_config *config = &decode->config;
    const tide_decode_layer *layer = &decode->layers[of->l];
    tide_tensor *norm = &tensors[0];
    tide_tensor *chosen = &tensors[1];
    tide_tensor *gate = &tensors[3];
    tide_tensor *up = &tensors[4];
    tide_tensor *outs = &tensors[5];
    size_t n = of->R * config->A;
    TIDE_TRY(choose(of, tensors, error));
    TIDE_TRY(alloc(of, gate, n * config->F, config->type, "ffn.w1", error));
    TIDE_TRY(alloc(of, up, n * config->F, config->type, "ffn.w3", error));
    TIDE_TRY(tide_decode_run_expert(decode, &layer->w1, norm, chosen, gate, error));
    TIDE_TRY(tide_decode_run_expert(decode, &layer->w3, norm, chosen, up, error));
    TIDE_TRY(tide_decode_run_swiglu(decode, gate, up, error));
    TIDE_TRY(release(of, norm, error));
    TIDE_TRY(release(of, up, error));
    TIDE_TRY(alloc(of, outs, n * config->C, config->type, "ffn.w2", error));
    TIDE_TRY(tide_decode_run_expert(decode, &layer->w2, gate, chosen, outs, error));
    TIDE_TRY(tide_decode_run_combine(decode, outs, &tensors[2], &of->x, error));
    TIDE_TRY(release(of, gate, error));
    TIDE_TRY(release(of, outs, error));
    TIDE_TRY(release(of, chosen, error));
    return release(of, &tensors[2], error);
}

static tide_status run_layer(pass *of, tide_error *error) {
    enum { N = 6 };
    tide_decode *decode = of->decode;
    tide_tensor tensors[N] = {{.address = 0}};
    tide_scope layer =
        tide_scope_begin(decode->recorder, TIDE_SCOPE_LAYER, "layer", (int32_t)of->l);
    tide_scope scope = tide_scope_begin(decode->recorder, TIDE_SCOPE_OPERATOR, "attention", -1);
    tide_status status = attention(of, tensors, error);
    tide_scope_end(decode->recorder, scope);
    if (status == TIDE_OK) {
        scope = tide_scope_begin(decode->recorder, TIDE_SCOPE_OPERATOR, "ffn", -1);
        status = decode->config.E > 0 ? experts(of, tensors, error) : dense(of, tensors, error);
        tide_scope_end(decode->recorder, scope);
    }
    tide_scope_end(decode->recorder, layer);
    for (size_t i = 0; i < N; i++) {
        tide_tensor_drop(decode->cache, &tensors[i]);
    }
    return status;
}

/* The next tokens, from the last row of each sequence. */
static tide_status run_head(pass *of, tide_tensor *last, tide_tensor *logits, tide_error *error) {
    tide_decode *decode = of->decode;
    const tide_decode_config *config = &decode->config;
    TIDE_TRY(tide_tensor_alloc(decode->cache, last, config->B * config->C, config->type,
                               TIDE_ACTIVATION, "norm", error));
    TIDE_TRY(tide_decode_run_norm(decode, &of->x, &decode->final_norm, of->range->n_tokens, last,
                                  error));
    TIDE_TRY(release(of, &of->x, error));
    TIDE_TRY(tide_tensor_alloc(decode->cache, logits, config->B * config->V, config->type,
                               TIDE_ACTIVATION, "logits", error));
    TIDE_TRY(tide_decode_run_linear(decode, &decode->head, last, false, logits, error));
    TIDE_TRY(tide_decode_run_next(decode, of->range, logits, error));
    TIDE_TRY(release(of, last, error));
    return release(of, logits, error);
}

static tide_status run_pass(pass *of, tide_error *error) {
    tide_decode *decode = of->decode;
    tide_tensor last = {.address = 0};
    tide_tensor logits = {.address = 0};
    TIDE_TRY(tide_tensor_alloc(decode->cache, &of->x, of->R * decode->config.C, decode->config.type,
                               TIDE_ACTIVATION, "x", error));
    TIDE_TRY(tide_decode_run_embed(decode, of->range, &of->x, error));
    for (of->l = 0; of->l < decode->config.L; of->l++) {
        TIDE_TRY(run_layer(of, error));
    }
    tide_scope scope = tide_scope_begin(decode->recorder, TIDE_SCOPE_OPERATOR, "lm_head", -1);
    tide_status status = run_head(of, &last, &logits, error);
    tide_scope_end(decode->recorder, scope);
    tide_tensor_drop(decode->cache, &last);
    tide_tensor_drop(decode->cache, &logits);
    return status;
}

tide_status tide_decode_pass(tide_decode *decode, const tide_decode_range *range,
                             tide_error *error) {
    pass of = {.decode = decode, .range = range, .R = decode->config.B * range->n_tokens};
    tide_status status = run_pass(&of, error);
    tide_tensor_drop(decode->cache, &of.x);
    return status;
}
