#include "run/workload.h"

#include <stdio.h>
#include <string.h>

#include "run/program.h"
#include "snapshot/document/implementation.h"

static const char *const PHASES[TIDE_N_TIMED] = {"forward", "backward", "optimizer", "step"};

const char *tide_run_phase_name(size_t phase) {
    return PHASES[phase];
}

int tide_run_phase_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_TIMED; i++) {
        if (strcmp(PHASES[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- our own model ---- */

static tide_status check_model(const tide_workload_config *model, tide_error *error) {
    tide_mlp_config mlp;
    tide_decode_config decode;
    if (model->architecture == TIDE_DECODE) {
        TIDE_TRY(tide_workload_decode(model, &decode, error));
        return tide_decode_check(&decode, error);
    }
    if (model->architecture != TIDE_MLP) {
        return tide_model_config_check(&model->model, error);
    }
    tide_workload_mlp(model, &mlp);
    return tide_mlp_config_check(&mlp, error);
}

static void name_mlp(const tide_workload_config *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    const tide_model_config *model = &workload->model;
    snprintf(ret_name, TIDE_RUN_NAME_BYTES, "mlp-%s-d%zu-l%zu-b%zu-%s%s%s",
             tide_mode_name((int)workload->mode), model->d_model, model->n_layers,
             model->batch_size, tide_precision_name((int)workload->precision),
             workload->keep_graph ? "-keep-graph" : "", workload->cuda_graph ? "-graph" : "");
}

/* "llama-2-7B-int8-decode-p6-n200-b1": the types are the preset's. The layers are part of the name
 * if they differ from the preset. */
static void name_decode(const tide_workload_config *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    const tide_model_config *model = &workload->model;
    tide_decode_config preset = {.L = 0};
    char layers[32] = "";
    if (tide_decode_preset(model->size, &preset, NULL) != TIDE_OK || preset.L != model->n_layers) {
        snprintf(layers, sizeof(layers), "-l%zu", model->n_layers);
    }
    snprintf(ret_name, TIDE_RUN_NAME_BYTES, "%s%s-decode-p%zu-n%zu-b%zu", model->size, layers,
             model->context_length, workload->new_tokens, model->batch_size);
}

static void name_model(const tide_workload_config *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    if (workload->architecture == TIDE_MLP) {
        name_mlp(workload, ret_name);
        return;
    }
    if (workload->architecture == TIDE_DECODE) {
        name_decode(workload, ret_name);
        return;
    }
    bool is_pytorch = workload->emulate == TIDE_EMULATE_PYTORCH;
    tide_attention usual = is_pytorch ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
    const char *attention = workload->attention == TIDE_ATTENTION_NAIVE ? "-naive" : "-flash";
    snprintf(ret_name, TIDE_RUN_NAME_BYTES, "%s-%s-c%zu-b%zu-%s%s%s%s%s%s%s", workload->model.size,
             tide_mode_name((int)workload->mode), workload->model.context_length,
             workload->model.batch_size, tide_precision_name((int)workload->precision),
             is_pytorch ? "-eager" : "",
             is_pytorch ? tide_edition_name((int)workload->edition) : "",
             workload->attention != usual ? attention : "",
             workload->recompute == TIDE_RECOMPUTE_BLOCK ? "-recompute" : "",
             workload->keep_graph ? "-keep-graph" : "", workload->cuda_graph ? "-graph" : "");
}

static tide_run_labels label_model(const tide_workload_config *workload) {
    bool is_mlp = workload->architecture == TIDE_MLP;
    bool is_transformer = workload->architecture == TIDE_TRANSFORMER;
    return (tide_run_labels){
        .size = workload->model.size,
        .values = "",
        .mode = tide_mode_name((int)workload->mode),
        .precision = tide_precision_name((int)workload->precision),
        .attention = !is_transformer ? "" : tide_attention_name((int)workload->attention),
        .recompute = !is_transformer ? "" : tide_recompute_name((int)workload->recompute),
        .context_length = is_mlp ? 0 : (int64_t)workload->model.context_length,
        .batch_size = (int64_t)workload->model.batch_size,
        .warmup_steps = (int64_t)workload->warmup_steps,
        .steps = (int64_t)workload->steps,
    };
}

static size_t list_dimensions(const tide_model_config *model,
                              tide_run_dimension ret_dimensions[TIDE_RUN_MAX_DIMENSIONS]) {
    const tide_run_dimension all[] = {
        {"vocab_size", (double)model->vocab_size},
        {"d_model", (double)model->d_model},
        {"d_ff", (double)model->d_ff},
        {"n_layers", (double)model->n_layers},
        {"n_heads", (double)model->n_heads},
        {"rope_theta", model->rope_theta},
    };
    _Static_assert(sizeof(all) / sizeof(all[0]) <= TIDE_RUN_MAX_DIMENSIONS, "they have room");
    memcpy(ret_dimensions, all, sizeof(all));
    return sizeof(all) / sizeof(all[0]);
}

static const char *implementation_of(const tide_workload_config *workload) {
    static const char *const PYTORCH[TIDE_N_EDITIONS] = {
        [TIDE_EDITION_2025] = TIDE_IMPLEMENTATION_PYTORCH "2025",
        [TIDE_EDITION_2026] = TIDE_IMPLEMENTATION_PYTORCH "2026"};
    return workload->emulate == TIDE_EMULATE_PYTORCH ? PYTORCH[workload->edition]
                                                     : TIDE_IMPLEMENTATION_OWN;
}

static tide_status set_preset(tide_model_config *model, uint64_t value, tide_error *error) {
    tide_model_config preset;
    const char *name = tide_model_preset_name((size_t)value - 1);
    if (name == NULL) {
        return tide_fail(error, TIDE_LIMIT, "there is no larger preset");
    }
    TIDE_TRY(tide_model_config_preset(name, &preset, error));
    preset.context_length = model->context_length;
    preset.batch_size = model->batch_size;
    preset.no_head = model->no_head;
    tide_model_config_name(&preset, name);
    *model = preset;
    return TIDE_OK;
}

/* A language model keeps its preset's name with any number of layers, and has no larger preset. */
static tide_status set_in_decode(tide_workload_config *workload, tide_run_quantity quantity,
                                 size_t value, tide_error *error) {
    tide_model_config *model = &workload->model;
    if (quantity == TIDE_RUN_QUANTITY_PRESET) {
        return tide_fail(error, TIDE_INVALID, "language models are not ordered by size");
    }
    *(quantity == TIDE_RUN_QUANTITY_BATCH     ? &model->batch_size
      : quantity == TIDE_RUN_QUANTITY_CONTEXT ? &model->context_length
                                              : &model->n_layers) = value;
    return check_model(workload, error);
}

static tide_status set_in_model(tide_workload_config *workload, tide_run_quantity quantity,
                                size_t value, tide_error *error) {
    tide_model_config *model = &workload->model;
    if (workload->architecture == TIDE_DECODE) {
        return set_in_decode(workload, quantity, value, error);
    }
    switch (quantity) {
    case TIDE_RUN_QUANTITY_BATCH:
        model->batch_size = value;
        break;
    case TIDE_RUN_QUANTITY_CONTEXT:
        model->context_length = value;
        break;
    case TIDE_RUN_QUANTITY_LAYERS:
        model->n_layers = value;
        tide_model_config_name(model, "custom");
        break;
    default:
        TIDE_TRY(set_preset(model, value, error));
        break;
    }
    return tide_model_config_check(model, error);
}

/* ---- every kind ---- */

void tide_run_workload_init(tide_run_workload *workload) {
    memset(workload, 0, sizeof(*workload));
    workload->kind = TIDE_RUN_MODEL;
    tide_workload_config_init(&workload->of.model);
}

const tide_workload_config *tide_run_workload_model(const tide_run_workload *workload) {
    return workload->kind == TIDE_RUN_MODEL ? &workload->of.model : NULL;
}

tide_status tide_run_workload_check(const tide_run_workload *workload, tide_error *error) {
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return check_model(&workload->of.model, error);
    case TIDE_RUN_PROGRAM:
        return tide_run_program_check(&workload->of.program, error);
    case TIDE_N_RUN_KINDS:
        break;
    }
    return tide_fail(error, TIDE_INVALID, "there is no such kind of workload");
}

void tide_run_workload_name(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    ret_name[0] = '\0';
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        name_model(&workload->of.model, ret_name);
        break;
    case TIDE_RUN_PROGRAM:
        tide_run_program_name(&workload->of.program, ret_name);
        break;
    case TIDE_N_RUN_KINDS:
        break;
    }
}

void tide_run_workload_labels(const tide_run_workload *workload, tide_run_labels *ret_labels) {
    *ret_labels = (tide_run_labels){"", "", "", "", "", "", 0, 0, 0, 0};
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        *ret_labels = label_model(&workload->of.model);
        break;
    case TIDE_RUN_PROGRAM:
        ret_labels->values = workload->of.program.values;
        ret_labels->steps = (int64_t)workload->of.program.n_steps;
        break;
    case TIDE_N_RUN_KINDS:
        break;
    }
}

size_t tide_run_workload_dimensions(const tide_run_workload *workload,
                                    tide_run_dimension ret_dimensions[TIDE_RUN_MAX_DIMENSIONS]) {
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return list_dimensions(&workload->of.model.model, ret_dimensions);
    case TIDE_RUN_PROGRAM: /* unknown */
    case TIDE_N_RUN_KINDS:
        break;
    }
    return 0;
}

int64_t tide_run_workload_n_tokens(const tide_run_workload *workload) {
    const tide_model_config *model = &workload->of.model.model;
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return (int64_t)(model->batch_size * (workload->of.model.architecture == TIDE_MLP ? 1
                                              : workload->of.model.architecture == TIDE_DECODE
                                                  ? workload->of.model.new_tokens
                                                  : model->context_length));
    case TIDE_RUN_PROGRAM: /* unknown */
    case TIDE_N_RUN_KINDS:
        break;
    }
    return 0;
}

uint64_t tide_run_workload_n_parameters(const tide_run_workload *workload) {
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return tide_workload_n_parameters(&workload->of.model);
    case TIDE_RUN_PROGRAM: /* unknown */
    case TIDE_N_RUN_KINDS:
        break;
    }
    return 0;
}

double tide_run_workload_flops(const tide_run_workload *workload) {
    const tide_workload_config *model = &workload->of.model;
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return tide_workload_step_flops(model) * (double)(model->warmup_steps + model->steps);
    case TIDE_RUN_PROGRAM: /* unknown */
    case TIDE_N_RUN_KINDS:
        break;
    }
    return 0.0;
}

uint64_t tide_run_workload_least_bytes(const tide_run_workload *workload) {
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return tide_workload_requested_peak_bytes(&workload->of.model);
    case TIDE_RUN_PROGRAM: /* unknown */
    case TIDE_N_RUN_KINDS:
        break;
    }
    return 0;
}

const char *tide_run_workload_implementation(const tide_run_workload *workload) {
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return implementation_of(&workload->of.model);
    case TIDE_RUN_PROGRAM: /* unknown */
    case TIDE_N_RUN_KINDS:
        break;
    }
    return "";
}

tide_status tide_run_workload_set(tide_run_workload *workload, tide_run_quantity quantity,
                                  uint64_t value, tide_error *error) {
    if (value > SIZE_MAX) {
        return tide_fail(error, TIDE_LIMIT, "more than this machine can count");
    }
    switch (workload->kind) {
    case TIDE_RUN_MODEL:
        return set_in_model(&workload->of.model, quantity, (size_t)value, error);
    case TIDE_RUN_PROGRAM: /* run/program_fit.h searches with the user's names */
        return tide_fail(error, TIDE_INVALID, "a command has no such quantity");
    case TIDE_N_RUN_KINDS:
        break;
    }
    return tide_fail(error, TIDE_INVALID, "there is no such kind of workload");
}
