#include "model/decode/decode.h"

#include <stdio.h>

#include "model/decode/decode_internal.h"

enum { NAME_BYTES = 64 };

/* Opens the operators of the device; none if nothing is computed. */
static tide_status open_ops(tide_decode *decode, tide_error *error) {
    tide_device *device = tide_cache_device(decode->cache);
    const tide_device_info *info = tide_device_get_info(device);
    if (!info->computes) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_decode_find_table(info, &decode->table, error));
    return tide_ops_open(decode->mem, device, TIDE_PRECISION_FP32, &decode->ops, error);
}

/* A token of one of the large models takes the loops of the cpu device minutes. */
static tide_status check_device(const tide_decode_config *config, const tide_device_info *device,
                                tide_error *error) {
    static const uint64_t MOST_PARAMETERS = 100000000;
    uint64_t n_parameters = tide_decode_n_parameters(config);
    if (device->kind != TIDE_DEVICE_CPU || n_parameters <= MOST_PARAMETERS) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_UNSUPPORTED,
                     "%s has %.1f million parameters, and the cpu device computes language models "
                     "of at most %.0f million: choose a tiny one, cuda, or virtual, which makes "
                     "the allocations of all",
                     config->name, (double)n_parameters * 1e-6, (double)MOST_PARAMETERS * 1e-6);
}

tide_status tide_decode_create(const tide_decode_config *config, tide_cache *cache,
                               tide_recorder *recorder, tide_decode **ret_decode,
                               tide_error *error) {
    TIDE_TRY(tide_decode_check(config, error));
    TIDE_TRY(check_device(config, tide_device_get_info(tide_cache_device(cache)), error));
    const tide_hostmem *mem = tide_cache_get_config(cache)->mem;
    tide_decode *decode = tide_hostmem_zeroed(mem, 1, sizeof(*decode));
    if (decode == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the model");
    }
    decode->mem = mem;
    decode->config = *config;
    decode->cache = cache;
    decode->recorder = recorder;
    decode->layers = tide_hostmem_zeroed(mem, config->L, sizeof(*decode->layers));
    tide_status status = TIDE_OK;
    if (decode->layers == NULL) {
        status = tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for %zu layers",
                           config->L);
    } else {
        status = open_ops(decode, error);
    }
    if (status != TIDE_OK) {
        tide_decode_destroy(decode);
        return status;
    }
    *ret_decode = decode;
    return TIDE_OK;
}

static void drop_linear(tide_decode *decode, tide_decode_linear *linear) {
    tide_tensor_drop(decode->cache, &linear->weight);
    tide_tensor_drop(decode->cache, &linear->scale);
}

static void drop_layer(tide_decode *decode, tide_decode_layer *layer) {
    tide_decode_linear *linears[] = {&layer->qkv, &layer->wo, &layer->gate,
                                     &layer->w1,  &layer->w3, &layer->w2};
    for (size_t i = 0; i < sizeof(linears) / sizeof(linears[0]); i++) {
        drop_linear(decode, linears[i]);
    }
    tide_tensor_drop(decode->cache, &layer->attention_norm);
    tide_tensor_drop(decode->cache, &layer->ffn_norm);
    tide_tensor_drop(decode->cache, &layer->k_cache);
    tide_tensor_drop(decode->cache, &layer->v_cache);
}

void tide_decode_destroy(tide_decode *decode) {
    if (decode == NULL) {
        return;
    }
    for (size_t l = 0; decode->layers != NULL && l < decode->config.L; l++) {
        drop_layer(decode, &decode->layers[l]);
    }
    drop_linear(decode, &decode->head);
    tide_tensor_drop(decode->cache, &decode->embedding);
    tide_tensor_drop(decode->cache, &decode->final_norm);
    tide_tensor_drop(decode->cache, &decode->tokens);
    tide_tensor_drop(decode->cache, &decode->rope);
    tide_ops_close(decode->ops);
    decode->mem->release(decode->mem->ctx, decode->layers);
    decode->mem->release(decode->mem->ctx, decode);
}

/* ---- setup ---- */

static tide_status alloc(tide_decode *decode, tide_tensor *tensor, size_t n, tide_category category,
                         const char *name, tide_error *error) {
    return tide_tensor_alloc(decode->cache, tensor, n, decode->config.type, category, name, error);
}

/* A weight of n_matrices (m, k), with scales if it is int8. */
static tide_status alloc_linear(tide_decode *decode, tide_decode_linear *linear, tide_dtype type,
                                const char *name, tide_error *error) {
    char text[NAME_BYTES + 8];
    size_t n = linear->n_matrices * linear->m;
    (void)snprintf(text, sizeof(text), "%s.weight", name);
    TIDE_TRY(tide_tensor_alloc(decode->cache, &linear->weight, n * linear->k, type, TIDE_PARAMETER,
                               text, error));
    if (type != TIDE_INT8) {
        return TIDE_OK;
    }
    (void)snprintf(text, sizeof(text), "%s.scale", name);
    return tide_tensor_alloc(decode->cache, &linear->scale, n, TIDE_BF16, TIDE_PARAMETER, text,
                             error);
}

static tide_status alloc_linears(tide_decode *decode, size_t l, tide_error *error) {
    const tide_decode_config *config = &decode->config;
    tide_decode_layer *layer = &decode->layers[l];
    size_t C = config->C;
    size_t F = config->F;
    size_t n_experts = config->E > 0 ? config->E : 1;
    const struct {
        tide_decode_linear *linear;
        const char *name;
        size_t n_matrices, m, k;
        tide_dtype type;
    } all[] = {
        {&layer->qkv, "attn.qkv", 1, C + 2 * (C / config->H) * config->K, C, config->weight_type},
        {&layer->wo, "attn.wo", 1, C, C, config->weight_type},
        {&layer->gate, "ffn.gate", config->E > 0, config->E, C, config->type},
        {&layer->w1, "ffn.w1", n_experts, F, C, config->weight_type},
        {&layer->w3, "ffn.w3", n_experts, F, C, config->weight_type},
        {&layer->w2, "ffn.w2", n_experts, C, F, config->weight_type},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "layers.%zu.%s", l, all[i].name);
        all[i].linear->n_matrices = all[i].n_matrices;
        all[i].linear->m = all[i].m;
        all[i].linear->k = all[i].k;
        if (all[i].n_matrices > 0) {
            TIDE_TRY(alloc_linear(decode, all[i].linear, all[i].type, name, error));
        }
    }
    return TIDE_OK;
}

static tide_status alloc_layer(tide_decode *decode, size_t l, tide_error *error) {
    const tide_decode_config *config = &decode->config;
    tide_decode_layer *layer = &decode->layers[l];
    size_t n_cached =
        config->B * tide_decode_n_positions(config) * config->K * (config->C / config->H);
    const struct {
        tide_tensor *tensor;
        const char *name;
        size_t n;
        tide_category category;
    } all[] = {
        {&layer->attention_norm, "attn.norm.weight", config->C, TIDE_PARAMETER},
        {&layer->ffn_norm, "ffn.norm.weight", config->C, TIDE_PARAMETER},
        {&layer->k_cache, "k_cache", n_cached, TIDE_KV_CACHE},
        {&layer->v_cache, "v_cache", n_cached, TIDE_KV_CACHE},
    };
    TIDE_TRY(alloc_linears(decode, l, error));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "layers.%zu.%s", l, all[i].name);
        TIDE_TRY(alloc(decode, all[i].tensor, all[i].n, all[i].category, name, error));
    }
    return TIDE_OK;
}

tide_status tide_decode_setup(tide_decode *decode, tide_error *error) {
    const tide_decode_config *config = &decode->config;
    size_t n_rope = tide_decode_n_positions(config) * (config->C / config->H);
    TIDE_TRY(tide_tensor_alloc(decode->cache, &decode->tokens, config->B * (config->P + config->N),
                               TIDE_INT32, TIDE_INPUT, "tokens", error));
    TIDE_TRY(tide_tensor_alloc(decode->cache, &decode->rope, n_rope, TIDE_FP32, TIDE_INPUT, "rope",
                               error));
    TIDE_TRY(alloc(decode, &decode->embedding, config->V * config->C, TIDE_PARAMETER,
                   "token_embeddings.weight", error));
    for (size_t l = 0; l < config->L; l++) {
        TIDE_TRY(alloc_layer(decode, l, error));
    }
    TIDE_TRY(alloc(decode, &decode->final_norm, config->C, TIDE_PARAMETER, "norm.weight", error));
    decode->head.n_matrices = 1;
    decode->head.m = config->V;
    decode->head.k = config->C;
    TIDE_TRY(alloc_linear(decode, &decode->head, config->weight_type, "lm_head", error));
    return tide_decode_fill_model(decode, error);
}

/* ---- generation ---- */

tide_status tide_decode_generate(tide_decode *decode, tide_error *error) {
    const tide_decode_config *config = &decode->config;
    tide_decode_range range = {.position = 0, .n_tokens = config->P};
    tide_scope scope = tide_scope_begin(decode->recorder, TIDE_SCOPE_USER, "prefill", -1);
    TIDE_TRY(tide_decode_pass(decode, &range, error));
    tide_scope_end(decode->recorder, scope);
    for (size_t i = 1; i < config->N; i++) {
        range = (tide_decode_range){.position = config->P + i - 1, .n_tokens = 1};
        scope = tide_scope_begin(decode->recorder, TIDE_SCOPE_USER, "decode", (int32_t)i);
        TIDE_TRY(tide_decode_pass(decode, &range, error));
        tide_scope_end(decode->recorder, scope);
    }
    return TIDE_OK;
}

const char *tide_decode_computed_by(const tide_decode *decode) {
    const tide_device_info *info = tide_device_get_info(tide_cache_device(decode->cache));
    return info->kind == TIDE_DEVICE_CPU ? "plain loops, 1 thread" : info->name;
}

const tide_tensor *tide_decode_tokens(const tide_decode *decode) {
    return &decode->tokens;
}
