/* The runs that lists of options name: which there are, in which order, and what each is called. */
#include <stdio.h>
#include <string.h>

#include "cli/profile/internal.h"

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

bool tide_profile_is_custom(const tide_profile_options *options) {
    return options->d_model != TIDE_NOT_GIVEN || options->n_layers != TIDE_NOT_GIVEN ||
           options->n_heads != TIDE_NOT_GIVEN || options->d_ff != TIDE_NOT_GIVEN ||
           options->vocab_size != TIDE_NOT_GIVEN;
}

static tide_status apply_dimensions(const tide_profile_options *options, tide_model_config *model,
                                    tide_error *error) {
    TIDE_TRY(as_size("d-model", options->d_model, &model->d_model, error));
    TIDE_TRY(as_size("layers", options->n_layers, &model->n_layers, error));
    TIDE_TRY(as_size("heads", options->n_heads, &model->n_heads, error));
    TIDE_TRY(as_size("d-ff", options->d_ff, &model->d_ff, error));
    TIDE_TRY(as_size("vocab", options->vocab_size, &model->vocab_size, error));
    if (tide_profile_is_custom(options)) {
        snprintf(model->size, sizeof(model->size), "custom");
    }
    return TIDE_OK;
}

/* The value of a list option in this run; `fallback` when it was not given. */
static const char *item(const tide_option_list *list, size_t i, const char *fallback) {
    return list->n > 0 ? list->texts[i] : fallback;
}

/* Which item of each list a run takes: an index; 0 for a list that was not given. */
typedef struct choice {
    size_t size, mode, context, batch, precision, attention, recompute;
} choice;

size_t tide_profile_n_runs(const tide_profile_options *options) {
    const tide_option_list *lists[] = {
        &options->sizes,      &options->contexts,   &options->batches,   &options->modes,
        &options->precisions, &options->attentions, &options->recomputes};
    size_t n = 1;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        n *= lists[i]->n > 0 ? lists[i]->n : 1; /* 16 to the power of 7 at most */
    }
    return n;
}

/* The last lists vary fastest. */
static void choose(const tide_profile_options *options, size_t number, choice *ret) {
    const tide_option_list *lists[] = {
        &options->recomputes, &options->attentions, &options->precisions, &options->batches,
        &options->contexts,   &options->modes,      &options->sizes};
    size_t *indices[] = {&ret->recompute, &ret->attention, &ret->precision, &ret->batch,
                         &ret->context,   &ret->mode,      &ret->size};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        size_t n = lists[i]->n > 0 ? lists[i]->n : 1;
        *indices[i] = number % n;
        number /= n;
    }
}

static tide_status configure_model(const tide_profile_options *options, const choice *chosen,
                                   tide_model_config *model, tide_error *error) {
    TIDE_TRY(tide_model_config_preset(item(&options->sizes, chosen->size, "small"), model, error));
    if (options->config_path != NULL) {
        TIDE_TRY(tide_profile_read_config(options->config_path, model, error));
        if (options->sizes.n > 0) {
            return tide_fail(error, TIDE_INVALID,
                             "--size and --config exclude each other: put the size into the file");
        }
    }
    TIDE_TRY(apply_dimensions(options, model, error));
    if (options->contexts.n > 0) {
        model->context_length = (size_t)options->contexts.counts[chosen->context];
    }
    if (options->batches.n > 0) {
        model->batch_size = (size_t)options->batches.counts[chosen->batch];
    }
    return tide_model_config_check(model, error);
}

/* Width, layers and batch; a transformer's other dimensions are 0. */
static tide_status configure_mlp(const tide_profile_options *options, const choice *chosen,
                                 tide_workload_config *workload, tide_error *error) {
    tide_model_config *model = &workload->model;
    tide_mlp_config mlp;
    *model = (tide_model_config){.size = "mlp", .d_model = 256, .n_layers = 4, .batch_size = 256};
    TIDE_TRY(as_size("d-model", options->d_model, &model->d_model, error));
    TIDE_TRY(as_size("layers", options->n_layers, &model->n_layers, error));
    if (options->batches.n > 0) {
        model->batch_size = (size_t)options->batches.counts[chosen->batch];
    }
    tide_workload_mlp(workload, &mlp);
    return tide_mlp_config_check(&mlp, error);
}

tide_status tide_profile_configure(const tide_profile_options *options, size_t number,
                                   tide_workload_config *workload, tide_error *error) {
    choice chosen;
    choose(options, number, &chosen);
    tide_workload_config_init(workload);
    bool is_pytorch = strcmp(options->emulate, "pytorch") == 0;
    workload->emulate = (tide_emulation)tide_emulation_from_name(options->emulate);
    workload->edition = options->edition != NULL
                            ? (tide_edition)tide_edition_from_name(options->edition)
                            : TIDE_EDITION_2026;
    workload->mode = (tide_mode)tide_mode_from_name(item(&options->modes, chosen.mode, "train"));
    workload->precision = (tide_precision)tide_precision_from_name(
        item(&options->precisions, chosen.precision, "fp32"));
    workload->attention = (tide_attention)tide_attention_from_name(
        item(&options->attentions, chosen.attention, is_pytorch ? "naive" : "flash"));
    workload->recompute = (tide_recompute)tide_recompute_from_name(
        item(&options->recomputes, chosen.recompute, "none"));
    workload->architecture = (tide_architecture)tide_architecture_from_name(options->workload);
    TIDE_TRY(workload->architecture == TIDE_MLP
                 ? configure_mlp(options, &chosen, workload, error)
                 : configure_model(options, &chosen, &workload->model, error));
    workload->keep_graph = options->keep_graph;
    workload->profiler_range = options->profiler_range;
    workload->times_all_scopes = strcmp(options->device_times, "all") == 0;
    workload->trace_kernels = options->kernels;
    workload->clip_grad_norm = options->clip_grad_norm;
    workload->seed = options->seed;
    workload->warmup_steps = (size_t)options->warmup_steps;
    workload->steps = (size_t)options->steps;
    if (workload->keep_graph && workload->mode != TIDE_FORWARD) {
        return tide_fail(error, TIDE_INVALID,
                         "--keep-graph goes with --mode forward: %s keeps what it needs anyway",
                         tide_mode_name((int)workload->mode));
    }
    return TIDE_OK;
}

static void name_mlp(const tide_workload_config *workload, char ret_name[TIDE_PROFILE_NAME_BYTES]) {
    const tide_model_config *model = &workload->model;
    snprintf(ret_name, TIDE_PROFILE_NAME_BYTES, "mlp-%s-d%zu-l%zu-b%zu-%s%s",
             tide_mode_name((int)workload->mode), model->d_model, model->n_layers,
             model->batch_size, tide_precision_name((int)workload->precision),
             workload->keep_graph ? "-keep-graph" : "");
}

void tide_profile_name(const tide_workload_config *workload,
                       char ret_name[TIDE_PROFILE_NAME_BYTES]) {
    if (workload->architecture == TIDE_MLP) {
        name_mlp(workload, ret_name);
        return;
    }
    bool is_pytorch = workload->emulate == TIDE_EMULATE_PYTORCH;
    tide_attention usual = is_pytorch ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
    const char *attention = workload->attention == TIDE_ATTENTION_NAIVE ? "-naive" : "-flash";
    snprintf(ret_name, TIDE_PROFILE_NAME_BYTES, "%s-%s-c%zu-b%zu-%s%s%s%s%s%s",
             workload->model.size, tide_mode_name((int)workload->mode),
             workload->model.context_length, workload->model.batch_size,
             tide_precision_name((int)workload->precision), is_pytorch ? "-eager" : "",
             is_pytorch ? tide_edition_name((int)workload->edition) : "",
             workload->attention != usual ? attention : "",
             workload->recompute == TIDE_RECOMPUTE_BLOCK ? "-recompute" : "",
             workload->keep_graph ? "-keep-graph" : "");
}
