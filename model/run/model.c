/* Our own model as a kind of workload. */
#include "model/run/model.h"

#include <stdio.h>
#include <string.h>

#include "model/run/session_internal.h"
#include "snapshot/document/implementation.h"

_Static_assert(sizeof(tide_workload_config) <= (size_t)TIDE_RUN_OTHER_BYTES, "it has room");

/* The member of tide_run_workload.of that holds our configuration has the alignment of its
 * neighbour in the union. */
_Static_assert(_Alignof(tide_workload_config) <= _Alignof(tide_run_program), "it is aligned");

tide_workload_config *tide_run_model_of(tide_run_workload *workload) {
    return (tide_workload_config *)(void *)workload->of.other;
}

const tide_workload_config *tide_run_workload_model(const tide_run_workload *workload) {
    return workload->kind == &tide_run_model_kind
               ? (const tide_workload_config *)(const void *)workload->of.other
               : NULL;
}

#define OF_MODEL(key, kind, member) TIDE_JSON_FIELD(tide_workload_config, kind, key, member)
#define OF_MODEL_CHOICE(key, member, n) TIDE_JSON_FIELD_CHOICE(tide_workload_config, key, member, n)

/* AdamW's settings are the same in every run, so no option sets them. */
static const tide_json_field FIELDS[] = {
    OF_MODEL_CHOICE("architecture", architecture, TIDE_N_ARCHITECTURES),
    OF_MODEL("size", TIDE_JSON_FIELD_TEXT, model.size),
    OF_MODEL("vocab_size", TIDE_JSON_FIELD_COUNT, model.vocab_size),
    OF_MODEL("d_model", TIDE_JSON_FIELD_COUNT, model.d_model),
    OF_MODEL("d_ff", TIDE_JSON_FIELD_COUNT, model.d_ff),
    OF_MODEL("n_layers", TIDE_JSON_FIELD_COUNT, model.n_layers),
    OF_MODEL("n_heads", TIDE_JSON_FIELD_COUNT, model.n_heads),
    OF_MODEL("context_length", TIDE_JSON_FIELD_COUNT, model.context_length),
    OF_MODEL("batch_size", TIDE_JSON_FIELD_COUNT, model.batch_size),
    OF_MODEL("rope_theta", TIDE_JSON_FIELD_REAL, model.rope_theta),
    OF_MODEL("no_head", TIDE_JSON_FIELD_FLAG, model.no_head),
    OF_MODEL("new_tokens", TIDE_JSON_FIELD_COUNT, new_tokens),
    OF_MODEL_CHOICE("mode", mode, TIDE_N_MODES),
    OF_MODEL("keep_graph", TIDE_JSON_FIELD_FLAG, keep_graph),
    OF_MODEL_CHOICE("precision", precision, TIDE_N_PRECISIONS),
    OF_MODEL_CHOICE("attention", attention, TIDE_N_ATTENTIONS),
    OF_MODEL_CHOICE("recompute", recompute, TIDE_N_RECOMPUTES),
    OF_MODEL_CHOICE("emulate", emulate, TIDE_N_EMULATIONS),
    OF_MODEL_CHOICE("edition", edition, TIDE_N_EDITIONS),
    OF_MODEL("clip_grad_norm", TIDE_JSON_FIELD_REAL, clip_grad_norm),
    OF_MODEL("seed", TIDE_JSON_FIELD_COUNT, seed),
    OF_MODEL("warmup_steps", TIDE_JSON_FIELD_COUNT, warmup_steps),
    OF_MODEL("steps", TIDE_JSON_FIELD_COUNT, steps),
    OF_MODEL("profiler_range", TIDE_JSON_FIELD_FLAG, profiler_range),
    OF_MODEL("times_all_scopes", TIDE_JSON_FIELD_FLAG, times_all_scopes),
    OF_MODEL("cuda_graph", TIDE_JSON_FIELD_FLAG, cuda_graph),
    OF_MODEL("sync_phases", TIDE_JSON_FIELD_FLAG, sync_phases),
    OF_MODEL("trace_kernels", TIDE_JSON_FIELD_FLAG, trace_kernels),
};

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

size_t tide_run_model_dimensions(const tide_model_config *model,
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

const char *tide_run_model_implementation(const tide_workload_config *workload) {
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

tide_status tide_run_model_set(tide_run_workload *workload, tide_run_quantity quantity,
                               uint64_t value, tide_error *error) {
    if (value > SIZE_MAX) {
        return tide_fail(error, TIDE_LIMIT, "more than this machine can count");
    }
    return set_in_model(tide_run_model_of(workload), quantity, (size_t)value, error);
}

/* ---- the kind ---- */

static void init(tide_run_workload *workload) {
    tide_workload_config_init(tide_run_model_of(workload));
}

static tide_status check(const tide_run_workload *workload, tide_error *error) {
    return check_model(tide_run_workload_model(workload), error);
}

static void name(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    name_model(tide_run_workload_model(workload), ret_name);
}

static tide_run_labels label(const tide_run_workload *workload) {
    return label_model(tide_run_workload_model(workload));
}

static int64_t count_tokens(const tide_run_workload *workload) {
    const tide_workload_config *of = tide_run_workload_model(workload);
    size_t n_each = of->architecture == TIDE_MLP      ? 1
                    : of->architecture == TIDE_DECODE ? of->new_tokens
                                                      : of->model.context_length;
    return (int64_t)(of->model.batch_size * n_each);
}

static double count_flops(const tide_run_workload *workload) {
    const tide_workload_config *of = tide_run_workload_model(workload);
    return tide_workload_step_flops(of) * (double)(of->warmup_steps + of->steps);
}

const tide_run_kind tide_run_model_kind = {
    .name = "model",
    .fields = FIELDS,
    .n_fields = sizeof(FIELDS) / sizeof(FIELDS[0]),
    .is_in_this_process = true,
    .init = init,
    .check = check,
    .name_of = name,
    .labels = label,
    .n_tokens = count_tokens,
    .flops = count_flops,
    .here = tide_run_model_here,
};

void tide_run_model_init(tide_run_config *config) {
    tide_run_config_init(config);
    tide_run_workload_init(&config->workload, &tide_run_model_kind);
}
