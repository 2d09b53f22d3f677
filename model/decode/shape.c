#include "model/decode/shape.h"

#include <stdio.h>
#include <string.h>

/* Shapes as published by their authors: Llama 2 7B, Mixtral 8x7B. The tiny ones are for tests and
 * for the cpu device. */
static const tide_decode_config PRESETS[] = {
    {"llama-2-7B-bf16", 32000, 4096, 11008, 32, 32, 32, 0, 1, 4096, 1e4, TIDE_BF16, TIDE_BF16, 1, 6,
     200, 0},
    {"llama-2-7B-int8", 32000, 4096, 11008, 32, 32, 32, 0, 1, 4096, 1e4, TIDE_INT8, TIDE_BF16, 1, 6,
     200, 0},
    {"mixtral-8x7B-int8", 32000, 4096, 14336, 32, 32, 8, 8, 2, 32768, 1e6, TIDE_INT8, TIDE_BF16, 1,
     6, 200, 0},
    {"tiny-fp32", 97, 48, 80, 3, 6, 6, 0, 1, 4096, 1e4, TIDE_FP32, TIDE_FP32, 1, 6, 10, 0},
    {"tiny-int8", 97, 48, 80, 3, 6, 2, 0, 1, 4096, 1e4, TIDE_INT8, TIDE_FP32, 1, 6, 10, 0},
    {"tiny-moe-int8", 97, 48, 80, 3, 6, 2, 4, 2, 4096, 1e4, TIDE_INT8, TIDE_FP32, 1, 6, 10, 0},
};
enum { N_PRESETS = sizeof(PRESETS) / sizeof(PRESETS[0]) };

/* benchmarks/gpt_fast/generate.py of PyTorch, whose Mixtral has 16 of the 32 layers. */
static const tide_decode_target TARGETS[] = {
    {"llama-2-7B-bf16", 32, 94, 1253},
    {"llama-2-7B-int8", 32, 144, 957},
    {"mixtral-8x7B-int8", 16, 175, 1130},
};

const tide_decode_target *tide_decode_target_of(const char *model, size_t L) {
    for (size_t i = 0; i < sizeof(TARGETS) / sizeof(TARGETS[0]); i++) {
        if (strcmp(TARGETS[i].model, model) == 0 && TARGETS[i].L == L) {
            return &TARGETS[i];
        }
    }
    return NULL;
}

const char *tide_decode_preset_name(size_t i) {
    return i < N_PRESETS ? PRESETS[i].name : NULL;
}

tide_status tide_decode_preset(const char *name, tide_decode_config *ret_config,
                               tide_error *error) {
    char list[256] = "";
    for (size_t i = 0; i < N_PRESETS; i++) {
        size_t used = strlen(list);
        if (strcmp(PRESETS[i].name, name) == 0) {
            *ret_config = PRESETS[i];
            return TIDE_OK;
        }
        (void)snprintf(list + used, sizeof(list) - used, "%s%.31s", i == 0 ? "" : ", ",
                       PRESETS[i].name);
    }
    return tide_fail(error, TIDE_INVALID, "unknown language model \"%.64s\": the models are %s",
                     name, list);
}

static tide_status check_counts(const tide_decode_config *config, tide_error *error) {
    const struct {
        const char *name;
        size_t value;
    } all[] = {
        {"vocab_size", config->V}, {"d_model", config->C}, {"d_ff", config->F},
        {"layers", config->L},     {"heads", config->H},   {"key and value heads", config->K},
        {"batch", config->B},      {"prompt", config->P},  {"new tokens", config->N}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].value == 0) {
            return tide_fail(error, TIDE_INVALID, "%s is 0: it must be at least 1", all[i].name);
        }
        if (all[i].value > INT32_MAX) {
            return tide_fail(error, TIDE_LIMIT, "%s is %zu: the limit is %d", all[i].name,
                             all[i].value, (int)INT32_MAX);
        }
    }
    return TIDE_OK;
}

tide_status tide_decode_check(const tide_decode_config *config, tide_error *error) {
    static const size_t MAX_LAYERS = 1 << 16;                 /* of the host's tables */
    static const double MAX_ELEMENTS = 1152921504606846976.0; /* 2^60: bytes stay below 2^63 */
    TIDE_TRY(check_counts(config, error));
    if (config->C % config->H != 0 || config->C / config->H % 2 != 0 ||
        config->H % config->K != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "%zu heads must divide d_model %zu into even parts, and %zu key and value "
                         "heads must divide the heads",
                         config->H, config->C, config->K);
    }
    if (config->C / config->H > TIDE_DECODE_MAX_HEAD) {
        return tide_fail(error, TIDE_INVALID, "heads have %zu channels: the limit is %d",
                         config->C / config->H, (int)TIDE_DECODE_MAX_HEAD);
    }
    if (config->A == 0 || (config->E > 0 && config->A > config->E)) {
        return tide_fail(error, TIDE_INVALID, "a token uses %zu of %zu experts", config->A,
                         config->E);
    }
    if (config->P + config->N > config->max_positions) {
        return tide_fail(error, TIDE_INVALID,
                         "a prompt of %zu tokens and %zu new ones are more than the %zu positions "
                         "of %s",
                         config->P, config->N, config->max_positions, config->name);
    }
    double C = (double)config->C;
    double F = (double)config->F;
    double E = config->E > 0 ? (double)config->E : 1.0;
    double R = (double)config->B * (double)(config->P + config->N + 8);
    double n_layer = 4 * C * C + 3 * E * C * F + E * C + 2 * C + 2 * R * C;
    double n_row = 4 * C + 2 * (double)config->A * (F + C) + E + (double)config->V;
    if (config->L > MAX_LAYERS || R > INT32_MAX ||
        (double)config->L * n_layer + 2 * (double)config->V * C + R * n_row > MAX_ELEMENTS) {
        return tide_fail(error, TIDE_LIMIT,
                         "%s with batch %zu and %zu positions is more than can be counted",
                         config->name, config->B, config->P + config->N);
    }
    return TIDE_OK;
}

/* ---- closed forms ---- */

size_t tide_decode_n_positions(const tide_decode_config *config) {
    return (config->P + config->N + 7) / 8 * 8;
}

/* Channels of all heads of keys, or of values. */
static uint64_t kv_channels(const tide_decode_config *config) {
    return config->C / config->H * config->K;
}

/* A linear layer with its scales. */
static uint64_t linear_bytes(const tide_decode_config *config, uint64_t n_out, uint64_t n_in) {
    uint64_t n_scale_bytes =
        config->weight_type == TIDE_INT8 ? n_out * tide_dtype_bytes(TIDE_BF16) : 0;
    return n_out * n_in * tide_dtype_bytes(config->weight_type) + n_scale_bytes;
}

/* A layer with `n_experts` counted experts; the gate of the experts stays in the type of the
 * activations. */
static uint64_t layer_bytes(const tide_decode_config *config, uint64_t n_experts) {
    uint64_t C = config->C;
    uint64_t F = config->F;
    return linear_bytes(config, C + 2 * kv_channels(config), C) + linear_bytes(config, C, C) +
           n_experts * (2 * linear_bytes(config, F, C) + linear_bytes(config, C, F)) +
           (config->E * C + 2 * C) * tide_dtype_bytes(config->type);
}

/* Everything but the embedding. */
static uint64_t bytes_without_embedding(const tide_decode_config *config, uint64_t n_experts) {
    return config->L * layer_bytes(config, n_experts) + linear_bytes(config, config->V, config->C) +
           config->C * tide_dtype_bytes(config->type);
}

uint64_t tide_decode_n_parameters(const tide_decode_config *config) {
    uint64_t C = config->C;
    uint64_t n_experts = config->E > 0 ? config->E : 1;
    return 2 * config->V * C +
           config->L * (2 * C * C + 2 * C * kv_channels(config) + 3 * n_experts * C * config->F +
                        config->E * C + 2 * C) +
           C;
}

uint64_t tide_decode_weight_bytes(const tide_decode_config *config) {
    return config->V * config->C * tide_dtype_bytes(config->type) +
           bytes_without_embedding(config, config->E > 0 ? config->E : 1);
}

uint64_t tide_decode_cache_bytes(const tide_decode_config *config) {
    return 2 * config->L * config->B * tide_decode_n_positions(config) * kv_channels(config) *
           tide_dtype_bytes(config->type);
}

uint64_t tide_decode_read_bytes(const tide_decode_config *config) {
    return bytes_without_embedding(config, config->A);
}

uint64_t tide_decode_token_bytes(const tide_decode_config *config, size_t position) {
    uint64_t e = tide_dtype_bytes(config->type);
    uint64_t n_moved = 2 * config->L * kv_channels(config) * (position + 1) * e;
    return tide_decode_read_bytes(config) + config->B * (config->C * e + n_moved);
}

double tide_decode_mean_token_bytes(const tide_decode_config *config) {
    /* The bytes are linear in the position, so the mean is that of the first and the last. */
    size_t last = config->N > 1 ? config->P + config->N - 2 : config->P - 1;
    size_t first = config->N > 1 ? config->P : last;
    return ((double)tide_decode_token_bytes(config, first) +
            (double)tide_decode_token_bytes(config, last)) /
           2;
}

static uint64_t largest(const uint64_t *values, size_t n) {
    uint64_t ret = 0;
    for (size_t i = 0; i < n; i++) {
        ret = values[i] > ret ? values[i] : ret;
    }
    return ret;
}

uint64_t tide_decode_peak_bytes(const tide_decode_config *config) {
    uint64_t e = tide_dtype_bytes(config->type);
    uint64_t R = config->B * config->P; /* the prompt has the most rows */
    uint64_t C = config->C;
    uint64_t A = config->A;
    uint64_t chosen = config->E > 0 ? 8 * R * A : 0; /* numbers and shares of the experts */
    const uint64_t sets[] = {
        e * R * (3 * C + 2 * kv_channels(config)),    /* x, norm or attention, q k v */
        e * R * (2 * C + config->E) + chosen,         /* x, norm, scores of the experts */
        e * R * (2 * C + 2 * A * config->F) + chosen, /* x, norm, gate, up */
        config->E > 0 ? e * R * (C + A * (config->F + C)) + chosen : 0, /* x, gate, outputs */
        e * (R + config->B) * C,                                        /* x, last rows */
        e * config->B * (C + config->V),                                /* last rows, logits */
    };
    return tide_decode_weight_bytes(config) + tide_decode_cache_bytes(config) +
           4 * config->B * (config->P + config->N) +
           4 * tide_decode_n_positions(config) * (C / config->H) +
           largest(sets, sizeof(sets) / sizeof(sets[0]));
}

double tide_decode_flops(const tide_decode_config *config) {
    double C = (double)config->C;
    double P = (double)config->P;
    double n_last = (double)(config->N - 1);
    double per_token = 2 * C * C + 2 * C * (double)kv_channels(config) +
                       3 * (double)config->A * C * (double)config->F + (double)config->E * C;
    /* For each token the positions up to itself: prefill P (P + 1) / 2, decode the others. */
    double n_pairs = (P + n_last) * (P + n_last + 1) / 2;
    return (double)config->B *
           (2 * (P + n_last) * (double)config->L * per_token + 4 * n_pairs * C * (double)config->L +
            2 * (double)config->N * (double)config->V * C);
}
