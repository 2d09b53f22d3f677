/* workload_models.c - the models that a workload can run, each as the pieces of a step, and their
 * closed forms. */
#include "model/memory/memory_model.h"
#include "model/workload/workload_internal.h"

/* One phase of a model, called on the workload that owns the model. */
#define DRIVER_PHASE(model, phase)                                                                 \
    static tide_status model##_##phase(tide_workload *workload, tide_error *error) {               \
        return tide_##model##_##phase(workload->model, error);                                     \
    }
#define DRIVER_PHASES(model)                                                                       \
    DRIVER_PHASE(model, forward)                                                                   \
    DRIVER_PHASE(model, loss)                                                                      \
    DRIVER_PHASE(model, backward)                                                                  \
    DRIVER_PHASE(model, optimize)                                                                  \
    DRIVER_PHASE(model, end_step)
#define DRIVER_PHASE_ENTRIES(model)                                                                \
    .forward = model##_forward, .loss = model##_loss, .backward = model##_backward,                \
    .optimize = model##_optimize, .end_step = model##_end_step

/* The parts that only a model that computes has: weights to fill, a loss and its scale, operators,
 * and steps that can be captured. */
#define DRIVER_VALUES(model)                                                                       \
    DRIVER_PHASE(model, begin_replay)                                                              \
    static tide_status model##_setup(tide_workload *workload, tide_error *error) {                 \
        TIDE_TRY(tide_##model##_setup(workload->model, error));                                    \
        return tide_##model##_fill(workload->model, error);                                        \
    }                                                                                              \
    static const tide_tensor *model##_loss_value(const tide_workload *workload) {                  \
        return tide_##model##_loss_value(workload->model);                                         \
    }                                                                                              \
    static tide_ops *model##_ops(const tide_workload *workload) {                                  \
        return tide_##model##_ops(workload->model);                                                \
    }                                                                                              \
    static const tide_loss_scaler *model##_loss_scaler(const tide_workload *workload) {            \
        return tide_##model##_loss_scaler(workload->model);                                        \
    }
#define DRIVER_VALUE_ENTRIES(model)                                                                \
    .setup = model##_setup, .begin_replay = model##_begin_replay,                                  \
    .loss_value = model##_loss_value, .ops = model##_ops, .loss_scaler = model##_loss_scaler

/* ---- our own transformer ---- */

static bool keeps_graph(const tide_workload_config *config) {
    return config->mode != TIDE_FORWARD || config->keep_graph;
}

static tide_status transformer_create(tide_workload *workload, tide_error *error) {
    const tide_workload_config *config = &workload->config;
    const tide_transformer_config transformer = {.model = config->model,
                                                 .precision = config->precision,
                                                 .attention = config->attention,
                                                 .recompute = config->recompute,
                                                 .keep_for_backward = keeps_graph(config),
                                                 .clip_grad_norm = config->clip_grad_norm,
                                                 .seed = config->seed,
                                                 .adamw = config->adamw,
                                                 .stream = workload->stream,
                                                 .is_captured = config->cuda_graph};
    return tide_transformer_create(&transformer, workload->cache, workload->recorder,
                                   &workload->transformer, error);
}

DRIVER_PHASES(transformer)
DRIVER_VALUES(transformer)

static const tide_driver OWN_TRANSFORMER = {.create = transformer_create,
                                            DRIVER_PHASE_ENTRIES(transformer),
                                            DRIVER_VALUE_ENTRIES(transformer)};

/* ---- PyTorch's allocations for it ---- */

static tide_eager_config eager_config(const tide_workload_config *config) {
    return (tide_eager_config){.model = config->model,
                               .edition = config->edition,
                               .precision = config->precision,
                               .attention = config->attention,
                               .recompute = config->recompute,
                               .keeps_graph = keeps_graph(config)};
}

static tide_status eager_create(tide_workload *workload, tide_error *error) {
    const tide_eager_config eager = eager_config(&workload->config);
    return tide_eager_create(&eager, workload->cache, workload->recorder, &workload->eager, error);
}

static tide_status eager_setup(tide_workload *workload, tide_error *error) {
    return tide_eager_setup(workload->eager, error);
}

DRIVER_PHASES(eager)

static const tide_driver EAGER_TRANSFORMER = {
    .create = eager_create, .setup = eager_setup, DRIVER_PHASE_ENTRIES(eager)};

/* ---- the MLP ---- */

void tide_workload_mlp(const tide_workload_config *config, tide_mlp_config *ret_mlp) {
    *ret_mlp = (tide_mlp_config){.C = config->model.d_model,
                                 .n_layers = config->model.n_layers,
                                 .R = config->model.batch_size,
                                 .precision = config->precision,
                                 .keep_for_backward = keeps_graph(config),
                                 .clip_grad_norm = config->clip_grad_norm,
                                 .seed = config->seed,
                                 .adamw = config->adamw,
                                 .is_captured = config->cuda_graph};
}

static tide_status mlp_create(tide_workload *workload, tide_error *error) {
    tide_mlp_config mlp;
    tide_workload_mlp(&workload->config, &mlp);
    mlp.stream = workload->stream;
    return tide_mlp_create(&mlp, workload->cache, workload->recorder, &workload->mlp, error);
}

DRIVER_PHASES(mlp)
DRIVER_VALUES(mlp)

static const tide_driver MLP = {
    .create = mlp_create, DRIVER_PHASE_ENTRIES(mlp), DRIVER_VALUE_ENTRIES(mlp)};

/* ---- language models ---- */

tide_status tide_workload_decode(const tide_workload_config *config, tide_decode_config *ret_decode,
                                 tide_error *error) {
    TIDE_TRY(tide_decode_preset(config->model.size, ret_decode, error));
    ret_decode->L = config->model.n_layers;
    ret_decode->B = config->model.batch_size;
    ret_decode->P = config->model.context_length;
    ret_decode->N = config->new_tokens;
    ret_decode->seed = config->seed;
    return TIDE_OK;
}

static tide_status decode_create(tide_workload *workload, tide_error *error) {
    tide_decode_config decode;
    TIDE_TRY(tide_workload_decode(&workload->config, &decode, error));
    return tide_decode_create(&decode, workload->cache, workload->recorder, &workload->decode,
                              error);
}

static tide_status decode_setup(tide_workload *workload, tide_error *error) {
    return tide_decode_setup(workload->decode, error);
}

static tide_status decode_forward(tide_workload *workload, tide_error *error) {
    return tide_decode_generate(workload->decode, error);
}

/* Nothing of a step is kept to its end. */
static tide_status decode_end_step(tide_workload *workload, tide_error *error) {
    (void)workload;
    (void)error;
    return TIDE_OK;
}

/* It has only mode forward (tide_workload_create). */
static const tide_driver DECODE = {.create = decode_create,
                                   .setup = decode_setup,
                                   .forward = decode_forward,
                                   .end_step = decode_end_step};

const tide_driver *tide_driver_of(const tide_workload_config *config) {
    return config->architecture == TIDE_DECODE       ? &DECODE
           : config->architecture == TIDE_MLP        ? &MLP
           : config->emulate == TIDE_EMULATE_PYTORCH ? &EAGER_TRANSFORMER
                                                     : &OWN_TRANSFORMER;
}

void tide_driver_destroy(tide_workload *workload) {
    tide_decode_destroy(workload->decode);
    tide_mlp_destroy(workload->mlp);
    tide_eager_destroy(workload->eager);
    tide_transformer_destroy(workload->transformer);
}

/* ---- closed forms ---- */

/* Whether the workload is a language model; returns its configuration. */
static bool is_decode(const tide_workload_config *config, tide_decode_config *ret_decode) {
    return config->architecture == TIDE_DECODE &&
           tide_workload_decode(config, ret_decode, NULL) == TIDE_OK &&
           tide_decode_check(ret_decode, NULL) == TIDE_OK;
}

static uint64_t mlp_peak_bytes(const tide_workload_config *config) {
    tide_mlp_config mlp;
    tide_workload_mlp(config, &mlp);
    return tide_mlp_config_check(&mlp, NULL) == TIDE_OK
               ? tide_mlp_requested_peak_bytes(&mlp, config->mode,
                                               config->warmup_steps + config->steps)
               : 0;
}

uint64_t tide_workload_requested_peak_bytes(const tide_workload_config *config) {
    tide_decode_config decode;
    if (config->architecture == TIDE_DECODE) {
        return is_decode(config, &decode) ? tide_decode_peak_bytes(&decode) : 0;
    }
    if (config->architecture == TIDE_MLP) {
        return mlp_peak_bytes(config);
    }
    if (tide_model_config_check(&config->model, NULL) != TIDE_OK) {
        return 0;
    }
    if (config->emulate == TIDE_EMULATE_PYTORCH) {
        const tide_eager_config eager = eager_config(config);
        return tide_eager_least_bytes(&eager, config->mode, config->warmup_steps + config->steps);
    }
    const tide_memory_model_run run = {
        .model = config->model,
        .mode = config->mode,
        .keep_graph = config->keep_graph,
        .precision = config->precision,
        .attention = config->attention,
        .recompute = config->recompute,
        .clips = config->clip_grad_norm > 0,
        .is_captured = config->cuda_graph,
        .workspace_bytes = 0,
        .n_steps = config->warmup_steps + config->steps,
    };
    tide_memory_model model;
    tide_memory_model_derive(&run, &model);
    return model.peak_bytes;
}

double tide_workload_step_flops(const tide_workload_config *config) {
    tide_decode_config decode;
    if (config->architecture == TIDE_DECODE) {
        return is_decode(config, &decode) ? tide_decode_flops(&decode) : 0.0;
    }
    if (config->architecture != TIDE_MLP) { /* backward costs twice as much as forward */
        return tide_model_forward_flops(&config->model) *
               (config->mode == TIDE_FORWARD ? 1.0 : 3.0);
    }
    tide_mlp_config mlp;
    tide_workload_mlp(config, &mlp);
    return tide_mlp_forward_flops(&mlp) +
           (config->mode == TIDE_FORWARD ? 0.0 : tide_mlp_backward_flops(&mlp));
}

uint64_t tide_workload_n_parameters(const tide_workload_config *config) {
    tide_decode_config decode;
    if (config->architecture == TIDE_DECODE) {
        return is_decode(config, &decode) ? tide_decode_n_parameters(&decode) : 0;
    }
    if (config->architecture != TIDE_MLP) {
        return tide_model_n_parameters(&config->model);
    }
    tide_mlp_config mlp;
    tide_workload_mlp(config, &mlp);
    return tide_mlp_n_parameters(&mlp);
}
