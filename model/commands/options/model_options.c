/* The options that describe runs: their defaults, and the values that are refused. */
#include <string.h>

#include "model/commands/options/model_options.h"
#include "model/eager/eager.h"

const tide_option_unneeded TIDE_RUN_UNNEEDED_OPTIONS[] = {
    {"time", "on a virtual card with sourced rates the time is forecast without an option"},
    {NULL, NULL},
};

void tide_model_options_init(tide_run_options *options) {
    tide_run_config usual;
    tide_run_model_init(&usual);
    const tide_workload_config *model = tide_run_workload_model(&usual.workload);
    tide_run_options_init(options);
    options->workload = tide_architecture_name((int)model->architecture);
    options->emulate = tide_emulation_name((int)model->emulate);
    options->seed = model->seed;
    options->warmup_steps = model->warmup_steps;
    options->steps = model->steps;
}

static bool some_run_trains(const tide_run_options *options) {
    for (size_t i = 0; i < options->modes.n; i++) {
        if (strcmp(options->modes.texts[i], "train") == 0) {
            return true;
        }
    }
    return options->modes.n == 0; /* the default */
}

/* PyTorch's allocations are known for some options only. */
static tide_status check_pytorch(const tide_run_options *options, tide_error *error) {
    bool is_pytorch = strcmp(options->emulate, "pytorch") == 0;
    if (!is_pytorch && options->edition != NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "--edition chooses the PyTorch code that is emulated: add --emulate "
                         "pytorch, or leave --edition out");
    }
    if (is_pytorch && options->clip_grad_norm > 0.0) {
        return tide_fail(error, TIDE_INVALID,
                         "--emulate pytorch follows the assignment's training loop, which does not "
                         "clip gradients: leave out --clip-grad-norm");
    }
    for (size_t i = 0; is_pytorch && i < options->precisions.n; i++) {
        int precision = tide_precision_from_name(options->precisions.texts[i]);
        if (!tide_eager_knows((tide_precision)precision)) {
            return tide_fail(error, TIDE_INVALID,
                             "--precision %s: PyTorch's allocations are known only for "
                             "fp32, tf32, bf16-mixed and fp16-mixed; choose one of these",
                             tide_precision_name(precision));
        }
    }
    return TIDE_OK;
}

/* Refuses options of the transformer for an MLP. */
static tide_status check_mlp(const tide_run_options *options, tide_error *error) {
    const struct {
        const char *name;
        bool is_given;
    } others[] = {
        {"size", options->sizes.n > 0},
        {"context", options->contexts.n > 0},
        {"heads", options->n_heads != TIDE_NOT_GIVEN},
        {"d-ff", options->d_ff != TIDE_NOT_GIVEN},
        {"vocab", options->vocab_size != TIDE_NOT_GIVEN},
        {"config", options->configs.n > 0},
        {"no-head", options->no_head},
        {"attention", options->attentions.n > 0},
        {"recompute", options->recomputes.n > 0},
        {"emulate", strcmp(options->emulate, "pytorch") == 0},
    };
    for (size_t i = 0;
         strcmp(options->workload, "mlp") == 0 && i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].is_given) {
            return tide_fail(error, TIDE_INVALID,
                             "--%s applies only to a transformer: --workload mlp takes --d-model, "
                             "--layers and --batch",
                             others[i].name);
        }
    }
    return TIDE_OK;
}

static bool some_run_is_not_forward(const tide_run_options *options) {
    for (size_t i = 0; i < options->modes.n; i++) {
        if (strcmp(options->modes.texts[i], "forward") != 0) {
            return true;
        }
    }
    return false;
}

/* Refuses options of other models for a language model, and its own for others. */
static tide_status check_decode(const tide_run_options *options, tide_error *error) {
    bool is_decode = strcmp(options->workload, "decode") == 0;
    const struct {
        const char *name;
        bool is_given;
    } others[] = {
        {"size", options->sizes.n > 0},
        {"d-model", options->d_model != TIDE_NOT_GIVEN},
        {"heads", options->n_heads != TIDE_NOT_GIVEN},
        {"d-ff", options->d_ff != TIDE_NOT_GIVEN},
        {"vocab", options->vocab_size != TIDE_NOT_GIVEN},
        {"config", options->configs.n > 0},
        {"no-head", options->no_head},
        {"precision", options->precisions.n > 0},
        {"attention", options->attentions.n > 0},
        {"recompute", options->recomputes.n > 0},
        {"emulate", strcmp(options->emulate, "pytorch") == 0},
        {"keep-graph", options->keep_graph},
        {"mode", some_run_is_not_forward(options)},
    };
    if (!is_decode && (options->language_model != NULL || options->new_tokens != TIDE_NOT_GIVEN)) {
        return tide_fail(error, TIDE_INVALID, "--%s goes with --workload decode only",
                         options->language_model != NULL ? "language-model" : "new-tokens");
    }
    for (size_t i = 0; is_decode && i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].is_given) {
            return tide_fail(error, TIDE_INVALID,
                             "--%s does not apply to --workload decode: --language-model chooses "
                             "shape and types, and its mode is forward; it takes --layers, "
                             "--batch, --context and --new-tokens",
                             others[i].name);
        }
    }
    return TIDE_OK;
}

/* The settings of the environment, then those of the command line, so the message names the right
 * source. */
static tide_status check_allocator(const tide_run_options *options, tide_error *error) {
    tide_run_limits limits = {.memory_limit_bytes = options->memory_limit_bytes};
    tide_cache_config cache;
    TIDE_TRY(tide_run_limits_cache(&limits, &cache, error));
    limits.alloc_conf = options->alloc_conf;
    tide_status status = tide_run_limits_cache(&limits, &cache, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "--alloc-conf");
    }
    return status;
}

/* Refuses several files if one cannot be read or two models would have the same name: a grid must
 * not fail in its last row. */
static tide_status check_configs(const tide_run_options *options, tide_error *error) {
    char names[TIDE_OPTION_LIST_ITEMS][TIDE_MODEL_NAME_BYTES];
    for (size_t i = 0; options->configs.n > 1 && i < options->configs.n; i++) {
        const char *path = tide_option_files_at(&options->configs, i);
        tide_model_config model = {0};
        TIDE_TRY(tide_model_file_read(path, &model, error));
        TIDE_TRY(tide_model_file_name(path, names[i], error));
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k]) == 0) {
                return tide_fail(error, TIDE_INVALID,
                                 "--config: %s and %s would both be named %s: rename one of them",
                                 tide_option_files_at(&options->configs, k), path, names[i]);
            }
        }
    }
    return TIDE_OK;
}

tide_status tide_run_options_check(const tide_run_options *options, tide_error *error) {
    if (options->steps == 0) {
        return tide_fail(error, TIDE_INVALID, "--steps 0 measures nothing: use at least 1");
    }
    if (options->steps > TIDE_RUN_MAX_STEPS || options->warmup_steps > TIDE_RUN_MAX_STEPS) {
        return tide_fail(error, TIDE_LIMIT, "--steps and --warmup may be at most %d each",
                         (int)TIDE_RUN_MAX_STEPS);
    }
    TIDE_TRY(check_configs(options, error));
    TIDE_TRY(check_mlp(options, error));
    TIDE_TRY(check_decode(options, error));
    TIDE_TRY(check_pytorch(options, error));
    if (options->clip_grad_norm < 0.0) {
        return tide_fail(error, TIDE_INVALID,
                         "--clip-grad-norm %g: the norm must be above 0; 0 switches clipping off",
                         options->clip_grad_norm);
    }
    if (options->clip_grad_norm > 0.0 && !some_run_trains(options)) {
        return tide_fail(
            error, TIDE_INVALID,
            "--clip-grad-norm needs --mode train, because clipping is part of the optimizer phase");
    }
    if (options->memory_limit_bytes == 0) {
        return tide_fail(error, TIDE_INVALID, "--memory-limit 0: the limit must be above 0");
    }
    return check_allocator(options, error);
}
