#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One preset size. Every size has V = 10000 and theta = 10000. */
typedef struct preset {
    const char *name;                        /* as --size takes it */
    size_t d_model, d_ff, n_layers, n_heads; /* C, F, L, H */
} preset;

static const preset PRESETS[] = {
    {"small", 768, 3072, 12, 12}, {"medium", 1024, 4096, 24, 16}, {"large", 1280, 5120, 36, 20},
    {"xl", 1600, 6400, 48, 25},   {"2.7B", 2560, 10240, 32, 32},  {"10B", 4608, 12288, 50, 36},
};
enum { N_PRESETS = sizeof(PRESETS) / sizeof(PRESETS[0]) };

static const char *const ARCHITECTURES[TIDE_N_ARCHITECTURES] = {"transformer", "mlp", "decode"};
static const char *const MODES[] = {"forward", "forward-backward", "train"};
static const char *const PRECISIONS[] = {"fp32", "tf32", "bf16-mixed", "bf16-true", "fp16-mixed"};
static const char *const ATTENTIONS[] = {"flash", "naive"};
static const char *const RECOMPUTES[] = {"none", "block"};
static const char *const EDITIONS[] = {"2025", "2026"};
static const char *const EMULATIONS[] = {"none", "pytorch"};
static const char *const COMPONENTS[] = {"embedding", "attention", "ffn", "norms", "lm_head"};

static const char *name_of(const char *const *names, int n, int i) {
    return i >= 0 && i < n ? names[i] : "?";
}

static int number_of(const char *const *names, int n, const char *name) {
    for (int i = 0; name != NULL && i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *tide_architecture_name(int architecture) {
    return name_of(ARCHITECTURES, TIDE_N_ARCHITECTURES, architecture);
}

const char *tide_mode_name(int mode) {
    return name_of(MODES, TIDE_N_MODES, mode);
}

const char *tide_precision_name(int precision) {
    return name_of(PRECISIONS, TIDE_N_PRECISIONS, precision);
}

const char *tide_attention_name(int attention) {
    return name_of(ATTENTIONS, TIDE_N_ATTENTIONS, attention);
}

const char *tide_recompute_name(int recompute) {
    return name_of(RECOMPUTES, TIDE_N_RECOMPUTES, recompute);
}

const char *tide_edition_name(int edition) {
    return name_of(EDITIONS, TIDE_N_EDITIONS, edition);
}

const char *tide_emulation_name(int emulation) {
    return name_of(EMULATIONS, TIDE_N_EMULATIONS, emulation);
}

const char *tide_component_name(int component) {
    return name_of(COMPONENTS, TIDE_N_COMPONENTS, component);
}

int tide_architecture_from_name(const char *name) {
    return number_of(ARCHITECTURES, TIDE_N_ARCHITECTURES, name);
}

int tide_mode_from_name(const char *name) {
    return number_of(MODES, TIDE_N_MODES, name);
}

int tide_precision_from_name(const char *name) {
    if (name != NULL && strcmp(name, "bf16") == 0) {
        return TIDE_PRECISION_BF16_MIXED;
    }
    if (name != NULL && strcmp(name, "fp16") == 0) {
        return TIDE_PRECISION_FP16_MIXED;
    }
    return number_of(PRECISIONS, TIDE_N_PRECISIONS, name);
}

int tide_attention_from_name(const char *name) {
    return number_of(ATTENTIONS, TIDE_N_ATTENTIONS, name);
}

int tide_recompute_from_name(const char *name) {
    return number_of(RECOMPUTES, TIDE_N_RECOMPUTES, name);
}

int tide_edition_from_name(const char *name) {
    return number_of(EDITIONS, TIDE_N_EDITIONS, name);
}

int tide_emulation_from_name(const char *name) {
    return number_of(EMULATIONS, TIDE_N_EMULATIONS, name);
}

const char *tide_model_preset_name(size_t i) {
    return i < N_PRESETS ? PRESETS[i].name : NULL;
}

static tide_status unknown_size(const char *size, tide_error *error) {
    char list[128] = "";
    for (size_t i = 0; i < N_PRESETS; i++) {
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof(list) - used, "%s%s", i == 0 ? "" : ", ",
                       PRESETS[i].name);
    }
    return tide_fail(error, TIDE_INVALID, "unknown size \"%s\": the sizes are %s", size, list);
}

tide_status tide_model_config_preset(const char *size, tide_model_config *ret_config,
                                     tide_error *error) {
    if (size == NULL) {
        return unknown_size("", error);
    }
    for (size_t i = 0; i < N_PRESETS; i++) {
        const preset *row = &PRESETS[i];
        if (strcmp(row->name, size) != 0) {
            continue;
        }
        tide_model_config config = {
            .vocab_size = 10000,
            .d_model = row->d_model,
            .d_ff = row->d_ff,
            .n_layers = row->n_layers,
            .n_heads = row->n_heads,
            .context_length = 128,
            .batch_size = 4,
            .rope_theta = 10000.0,
        };
        (void)snprintf(config.size, sizeof(config.size), "%s", row->name);
        *ret_config = config;
        return TIDE_OK;
    }
    return unknown_size(size, error);
}

void tide_model_config_name(tide_model_config *config, const char *name) {
    static const char END[] = "-no-head";
    size_t n = strlen(name);
    size_t n_end = config->no_head ? sizeof(END) - 1 : 0;
    size_t room = sizeof(config->size) - 1 - n_end;
    size_t n_kept = n < room ? n : room;
    memmove(config->size, name, n_kept); /* `name` may be config->size itself */
    memcpy(config->size + n_kept, END, n_end);
    config->size[n_kept + n_end] = '\0';
}

/* Saturating product and sum: an overflow yields UINT64_MAX and stays there. */
static uint64_t times(uint64_t a, uint64_t b) {
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* A bound on all elements alive at the same time: parameters with gradient, two moments and a bf16
 * copy; three times the saved tensors of a block, for every block; three times the logits; tables
 * and
 * inputs. */
static uint64_t total_elements(const tide_model_config *config) {
    uint64_t C = config->d_model;
    uint64_t F = config->d_ff;
    uint64_t R = times(config->batch_size, config->context_length);
    uint64_t per_layer = plus(plus(times(4, times(C, C)), times(3, times(C, F))), times(2, C));
    uint64_t parameters =
        plus(plus(times(2, times(config->vocab_size, C)), times(config->n_layers, per_layer)), C);
    uint64_t rows = plus(plus(times(8, C), times(3, F)), plus(2, config->n_heads));
    uint64_t scores = times(times(R, config->context_length), config->n_heads);
    uint64_t saved = times(plus(times(R, rows), scores), plus(config->n_layers, 1));
    uint64_t logits = times(R, plus(config->vocab_size, 2));
    uint64_t table = times(config->context_length, C);
    return plus(plus(times(5, parameters), times(3, saved)), plus(times(3, logits), table));
}

/* Each dimension, and the number of rows, fits the 32-bit integers of cuBLAS. */
static const uint64_t MAX_DIMENSION = INT32_MAX;
/* Host tables need a few kilobytes per layer: this many layers need about 250 MiB. */
static const uint64_t MAX_LAYERS = 1 << 16;
/* The limit of all elements together. Times 4 bytes each, it stays within a signed 64-bit count. */
static const uint64_t MAX_ELEMENTS = UINT64_C(1) << 60;

static tide_status check_dimensions(const tide_model_config *config, tide_error *error) {
    const struct {
        const char *name;
        size_t value;
        uint64_t limit;
    } dimensions[] = {
        {"vocab_size", config->vocab_size, MAX_DIMENSION},
        {"d_model", config->d_model, MAX_DIMENSION},
        {"d_ff", config->d_ff, MAX_DIMENSION},
        {"layers", config->n_layers, MAX_LAYERS},
        {"heads", config->n_heads, MAX_DIMENSION},
        {"context", config->context_length, MAX_DIMENSION},
        {"batch", config->batch_size, MAX_DIMENSION},
    };
    for (size_t i = 0; i < sizeof(dimensions) / sizeof(dimensions[0]); i++) {
        if (dimensions[i].value == 0) {
            return tide_fail(error, TIDE_INVALID, "%s is 0: it must be at least 1",
                             dimensions[i].name);
        }
        if (dimensions[i].value > dimensions[i].limit) {
            return tide_fail(error, TIDE_LIMIT, "%s is %zu: the limit is %llu", dimensions[i].name,
                             dimensions[i].value, (unsigned long long)dimensions[i].limit);
        }
    }
    return TIDE_OK;
}

tide_status tide_model_config_check(const tide_model_config *config, tide_error *error) {
    TIDE_TRY(check_dimensions(config, error));
    if (config->d_model % config->n_heads != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "%zu heads do not divide d_model %zu: choose heads that do",
                         config->n_heads, config->d_model);
    }
    if (config->d_model / config->n_heads % 2 != 0) {
        return tide_fail(
            error, TIDE_INVALID,
            "d_model %zu with n_heads %zu gives a head size of %zu: RoPE rotates pairs, "
            "so it must be even",
            config->d_model, config->n_heads, config->d_model / config->n_heads);
    }
    if (!isfinite(config->rope_theta) || config->rope_theta <= 0) {
        return tide_fail(error, TIDE_INVALID, "rope_theta is %g: it must be above 0 and finite",
                         config->rope_theta);
    }
    uint64_t rows = times(config->batch_size, config->context_length);
    if (rows > MAX_DIMENSION) {
        return tide_fail(error, TIDE_LIMIT,
                         "batch %zu times context %zu is beyond the limit of %llu tokens: lower "
                         "one of them",
                         config->batch_size, config->context_length,
                         (unsigned long long)MAX_DIMENSION);
    }
    if (total_elements(config) >= MAX_ELEMENTS) {
        return tide_fail(error, TIDE_LIMIT,
                         "this model, batch and context need more than the limit of 2^60 array "
                         "elements: lower the context, the batch or the model's dimensions");
    }
    return TIDE_OK;
}

uint64_t tide_model_n_component_parameters(const tide_model_config *config,
                                           tide_model_component component) {
    uint64_t C = config->d_model;
    uint64_t L = config->n_layers;
    switch (component) {
    case TIDE_COMPONENT_ATTENTION:
        return L * 4 * C * C;
    case TIDE_COMPONENT_FFN:
        return L * 3 * C * config->d_ff;
    case TIDE_COMPONENT_NORMS:
        return (2 * L + 1) * C;
    case TIDE_COMPONENT_EMBEDDING:
        return config->vocab_size * C;
    case TIDE_COMPONENT_HEAD:
        return config->no_head ? 0 : config->vocab_size * C;
    default:
        return 0;
    }
}

uint64_t tide_model_n_parameters(const tide_model_config *config) {
    uint64_t n = 0;
    for (int i = 0; i < TIDE_N_COMPONENTS; i++) {
        n += tide_model_n_component_parameters(config, (tide_model_component)i);
    }
    return n;
}

size_t tide_model_n_tensors(const tide_model_config *config) {
    return 9 * config->n_layers + (config->no_head ? 2 : 3);
}

double tide_model_forward_flops(const tide_model_config *config) {
    double C = (double)config->d_model;
    double F = (double)config->d_ff;
    double L = (double)config->n_layers;
    double T = (double)config->context_length;
    double R = (double)config->batch_size * T;
    return 2 * R * L * (4 * C * C + 3 * C * F) + 4 * R * T * C * L +
           (config->no_head ? 0.0 : 2 * R * (double)config->vocab_size * C);
}
