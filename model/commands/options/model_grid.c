/* The runs that lists of options name, and their order. */
#include <stdio.h>
#include <string.h>

#include "model/commands/options/model_options.h"

static tide_status as_size(const char *option, uint64_t count, size_t *ret_size,
                           tide_error *error) {
    if (count == TIDE_NOT_GIVEN) {
        return TIDE_OK;
    }
    if (count > SIZE_MAX) {
        return tide_fail(error, TIDE_LIMIT, "--%s: %llu is beyond what this machine can count",
                         option, (unsigned long long)count);
    }
    *ret_size = (size_t)count;
    return TIDE_OK;
}

bool tide_run_options_is_custom(const tide_run_options *options) {
    return options->d_model != TIDE_NOT_GIVEN || options->n_layers != TIDE_NOT_GIVEN ||
           options->n_heads != TIDE_NOT_GIVEN || options->d_ff != TIDE_NOT_GIVEN ||
           options->vocab_size != TIDE_NOT_GIVEN;
}

static tide_status apply_dimensions(const tide_run_options *options, tide_model_config *model,
                                    tide_error *error) {
    TIDE_TRY(as_size("d-model", options->d_model, &model->d_model, error));
    TIDE_TRY(as_size("layers", options->n_layers, &model->n_layers, error));
    TIDE_TRY(as_size("heads", options->n_heads, &model->n_heads, error));
    TIDE_TRY(as_size("d-ff", options->d_ff, &model->d_ff, error));
    TIDE_TRY(as_size("vocab", options->vocab_size, &model->vocab_size, error));
    if (tide_run_options_is_custom(options)) {
        tide_model_config_name(model, "custom");
    }
    return TIDE_OK;
}

/* For each list the index of the item that a run takes; 0 for a list that was not given. */
typedef struct choice {
    size_t model, mode, context, batch, precision, attention, recompute;
} choice;

size_t tide_run_options_n_models(const tide_run_options *options) {
    return options->sizes.n > 0     ? options->sizes.n
           : options->configs.n > 0 ? options->configs.n
                                    : 1;
}

size_t tide_run_options_n_runs(const tide_run_options *options) {
    const tide_option_list *lists[] = {&options->contexts,   &options->batches,
                                       &options->modes,      &options->precisions,
                                       &options->attentions, &options->recomputes};
    size_t n = tide_run_options_n_models(options);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        n *= lists[i]->n > 0 ? lists[i]->n : 1; /* at most 16^7, which fits */
    }
    return n;
}

/* The last lists vary fastest. */
static void choose(const tide_run_options *options, size_t number, choice *ret) {
    const tide_option_list *lists[] = {&options->recomputes, &options->attentions,
                                       &options->precisions, &options->batches,
                                       &options->contexts,   &options->modes};
    size_t *indices[] = {&ret->recompute, &ret->attention, &ret->precision,
                         &ret->batch,     &ret->context,   &ret->mode};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        size_t n = lists[i]->n > 0 ? lists[i]->n : 1;
        *indices[i] = number % n;
        number /= n;
    }
    ret->model = number % tide_run_options_n_models(options);
}

static tide_status configure_model(const tide_run_options *options, const choice *chosen,
                                   tide_model_config *model, tide_error *error) {
    const char *path = tide_option_files_at(&options->configs, chosen->model);
    if (options->sizes.n > 0) {
        TIDE_TRY(tide_model_config_preset(options->sizes.texts[chosen->model], model, error));
    }
    if (options->sizes.n > 0 && options->configs.n > 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--size and --config exclude each other: write the size into the file");
    }
    if (path != NULL) {
        TIDE_TRY(tide_model_file_read(path, model, error));
    }
    if (options->no_head && !model->no_head) {
        model->no_head = true;
        tide_model_config_name(model, model->size);
    }
    TIDE_TRY(apply_dimensions(options, model, error));
    if (options->configs.n > 1) {
        char name[TIDE_MODEL_NAME_BYTES];
        TIDE_TRY(tide_model_file_name(path, name, error));
        tide_model_config_name(model, name);
        if (strncmp(model->size, name, strlen(name)) !=
            0) { /* the name was cut, and is not the only one */
            return tide_fail(error, TIDE_LIMIT,
                             "--config: the name of %s is too long with -no-head after it: rename "
                             "the file",
                             path);
        }
    }
    if (options->contexts.n > 0) {
        model->context_length = (size_t)options->contexts.counts[chosen->context];
    }
    if (options->batches.n > 0) {
        model->batch_size = (size_t)options->batches.counts[chosen->batch];
    }
    return TIDE_OK;
}

/* Width, layers and batch; a transformer's other dimensions are 0. */
static tide_status configure_mlp(const tide_run_options *options, const choice *chosen,
                                 tide_model_config *model, tide_error *error) {
    *model = (tide_model_config){.size = "mlp", .d_model = 256, .n_layers = 4, .batch_size = 256};
    TIDE_TRY(as_size("d-model", options->d_model, &model->d_model, error));
    TIDE_TRY(as_size("layers", options->n_layers, &model->n_layers, error));
    if (options->batches.n > 0) {
        model->batch_size = (size_t)options->batches.counts[chosen->batch];
    }
    return TIDE_OK;
}

/* The preset, with the batch, the prompt and the layers of the command line. The preset determines
 * the types; precision only selects which peak of the card is stated. */
static tide_status configure_decode(const tide_run_options *options, const choice *chosen,
                                    tide_workload_config *workload, tide_error *error) {
    tide_model_config *model = &workload->model;
    tide_decode_config preset;
    TIDE_TRY(tide_decode_preset(options->language_model != NULL ? options->language_model
                                                                : tide_decode_preset_name(0),
                                &preset, error));
    *model = (tide_model_config){.vocab_size = preset.V,
                                 .d_model = preset.C,
                                 .d_ff = preset.F,
                                 .n_layers = preset.L,
                                 .n_heads = preset.H,
                                 .context_length = preset.P,
                                 .batch_size = preset.B,
                                 .rope_theta = preset.rope_theta};
    snprintf(model->size, sizeof(model->size), "%s", preset.name);
    TIDE_TRY(as_size("layers", options->n_layers, &model->n_layers, error));
    workload->new_tokens = preset.N;
    TIDE_TRY(as_size("new-tokens", options->new_tokens, &workload->new_tokens, error));
    workload->mode = TIDE_FORWARD;
    workload->precision = preset.type == TIDE_FP32 ? TIDE_PRECISION_FP32 : TIDE_PRECISION_BF16_TRUE;
    if (options->contexts.n > 0) {
        model->context_length = (size_t)options->contexts.counts[chosen->context];
    }
    if (options->batches.n > 0) {
        model->batch_size = (size_t)options->batches.counts[chosen->batch];
    }
    return TIDE_OK;
}

/* The shape of the architecture. */
static tide_status configure_shape(const tide_run_options *options, const choice *chosen,
                                   tide_workload_config *workload, tide_error *error) {
    switch (workload->architecture) {
    case TIDE_MLP:
        return configure_mlp(options, chosen, &workload->model, error);
    case TIDE_DECODE:
        return configure_decode(options, chosen, workload, error);
    default:
        return configure_model(options, chosen, &workload->model, error);
    }
}

/* The items that a run takes from the lists of names; the default if a list is empty. */
static void configure_names(const tide_run_options *options, const choice *chosen,
                            tide_workload_config *workload) {
    workload->architecture = (tide_architecture)tide_architecture_from_name(options->workload);
    workload->emulate = (tide_emulation)tide_emulation_from_name(options->emulate);
    workload->edition = options->edition != NULL
                            ? (tide_edition)tide_edition_from_name(options->edition)
                            : TIDE_EDITION_2026;
    if (workload->emulate == TIDE_EMULATE_PYTORCH) {
        workload->attention = TIDE_ATTENTION_NAIVE; /* as in the assignment's code */
    }
    if (options->modes.n > 0) {
        workload->mode = (tide_mode)tide_mode_from_name(options->modes.texts[chosen->mode]);
    }
    if (options->precisions.n > 0) {
        workload->precision =
            (tide_precision)tide_precision_from_name(options->precisions.texts[chosen->precision]);
    }
    if (options->attentions.n > 0) {
        workload->attention =
            (tide_attention)tide_attention_from_name(options->attentions.texts[chosen->attention]);
    }
    if (options->recomputes.n > 0) {
        workload->recompute =
            (tide_recompute)tide_recompute_from_name(options->recomputes.texts[chosen->recompute]);
    }
}

tide_status tide_run_options_configure(const tide_run_options *options, size_t number,
                                       const char *device, tide_run_config *ret_config,
                                       tide_error *error) {
    tide_workload_config *workload = tide_run_model_of(&ret_config->workload);
    choice chosen;
    choose(options, number, &chosen);
    tide_run_model_init(ret_config);
    ret_config->limits.device = device;
    ret_config->limits.memory_limit_bytes = options->memory_limit_bytes;
    ret_config->limits.spill_bytes = options->spill_bytes;
    ret_config->limits.alloc_conf = options->alloc_conf;
    ret_config->recording.strip_private = options->strip_private;
    configure_names(options, &chosen, workload);
    workload->keep_graph = options->keep_graph;
    workload->clip_grad_norm = options->clip_grad_norm;
    workload->seed = options->seed;
    workload->warmup_steps = (size_t)options->warmup_steps;
    workload->steps = (size_t)options->steps;
    TIDE_TRY(configure_shape(options, &chosen, workload, error));
    TIDE_TRY(tide_run_workload_check(&ret_config->workload, error));
    if (workload->model.no_head && workload->mode != TIDE_FORWARD) {
        return tide_fail(
            error, TIDE_INVALID,
            "--no-head needs --mode forward: mode %s needs a loss, and a model without "
            "its head has no logits to take it from",
            tide_mode_name((int)workload->mode));
    }
    if (workload->keep_graph && workload->mode != TIDE_FORWARD) {
        return tide_fail(error, TIDE_INVALID,
                         "--keep-graph needs --mode forward: mode %s keeps the graph anyway",
                         tide_mode_name((int)workload->mode));
    }
    return TIDE_OK;
}
