#include "model/layers/transformer.h"

#include <math.h>

#include "model/precision.h"
#include "model/layers/transformer_internal.h"

/* Random streams of the inputs. Parameters use their index as stream, which is far smaller. */
static const uint64_t TOKENS_STREAM = UINT64_C(1) << 32;
static const uint64_t TARGETS_STREAM = (UINT64_C(1) << 32) + 1;

void tide_transformer_config_init(tide_transformer_config *config) {
    *config = (tide_transformer_config){.keep_for_backward = true};
    /* The first preset always exists. */
    tide_status status = tide_model_config_preset(tide_model_preset_name(0), &config->model, NULL);
    (void)status;
    tide_adamw_settings_init(&config->adamw);
}

static tide_status check_config(const tide_transformer_config *config, tide_error *error) {
    TIDE_TRY(tide_model_config_check(&config->model, error));
    if (!isfinite(config->clip_grad_norm) || config->clip_grad_norm < 0) {
        return tide_fail(error, TIDE_INVALID,
                         "the gradient norm to clip at is %g: it must be above 0, or 0 for no "
                         "clipping",
                         config->clip_grad_norm);
    }
    return TIDE_OK;
}

/* Makes everything that create owns beyond the struct itself. On failure the caller destroys the
 * transformer. */
static tide_status build(tide_transformer *t, tide_error *error) {
    const tide_hostmem *mem = tide_cache_get_config(t->cache)->mem;
    const tide_transformer_config *config = &t->config;
    TIDE_TRY(tide_ops_open(mem, tide_cache_device(t->cache), config->precision, &t->ops, error));
    t->ops->recorder = t->recorder;
    if (config->stream != 0) {
        TIDE_TRY(tide_ops_use_stream(t->ops, config->stream, error));
    }
    TIDE_TRY(tide_parameters_create(mem, &config->model, &t->parameters, error));
    t->n_parameters = tide_model_n_tensors(&config->model);
    TIDE_TRY(
        tide_activations_init(&t->activations, &config->model, config->precision, t->cache, error));
    t->linears = (tide_linears){.cache = t->cache,
                                .ops = t->ops,
                                .parameters = t->parameters,
                                .R = t->R,
                                .parameter_type = t->parameter_type,
                                .copies_weights = t->copies_weights,
                                .copy_type = tide_precision_activation_type(config->precision),
                                .keeps_copies = config->keep_for_backward};
    if (t->copies_weights && config->keep_for_backward) {
        TIDE_TRY(tide_copies_ahead_init(&t->copies, &t->linears, error));
    }
    t->optimizer = (tide_optimizer){
        .cache = t->cache,
        .recorder = t->recorder,
        .ops = t->ops,
        .adamw = config->adamw,
        .is_capturable = config->is_captured,
        .clip_grad_norm = config->clip_grad_norm,
        .scaler = tide_loss_scaler_make(tide_precision_scales_loss(config->precision)),
        .parameters = t->parameters,
        .n_parameters = t->n_parameters,
    };
    return tide_optimizer_init(&t->optimizer, error);
}

tide_status tide_transformer_create(const tide_transformer_config *config, tide_cache *cache,
                                    tide_recorder *recorder, tide_transformer **ret_transformer,
                                    tide_error *error) {
    TIDE_TRY(check_config(config, error));
    const tide_hostmem *mem = tide_cache_get_config(cache)->mem;
    tide_transformer *t = tide_hostmem_zeroed(mem, 1, sizeof(*t));
    if (t == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the transformer");
    }
    t->config = *config;
    t->cache = cache;
    t->recorder = recorder;
    t->R = config->model.batch_size * config->model.context_length;
    t->copies_weights = tide_precision_is_mixed(config->precision);
    t->parameter_type = tide_precision_parameter_type(config->precision);
    tide_status status = build(t, error);
    if (status != TIDE_OK) {
        tide_transformer_destroy(t);
        return status;
    }
    *ret_transformer = t;
    return TIDE_OK;
}

static void drop_parameter(tide_cache *cache, tide_parameter *parameter) {
    tide_tensor_drop(cache, &parameter->gradient);
    tide_tensor_drop(cache, &parameter->copy);
    tide_tensor_drop(cache, &parameter->exp_avg);
    tide_tensor_drop(cache, &parameter->exp_avg_sq);
    tide_tensor_drop(cache, &parameter->value);
}

void tide_transformer_destroy(tide_transformer *t) {
    if (t == NULL) {
        return;
    }
    const tide_hostmem *mem = tide_cache_get_config(t->cache)->mem;
    tide_copies_ahead_drop(&t->copies);
    tide_optimizer_fini(&t->optimizer);
    tide_activations_fini(&t->activations);
    for (size_t i = t->n_parameters; i > 0; i--) {
        drop_parameter(t->cache, &t->parameters[i - 1]);
    }
    tide_tensor_drop(t->cache, &t->rope);
    tide_tensor_drop(t->cache, &t->targets);
    tide_tensor_drop(t->cache, &t->tokens);
    tide_tensor_drop(t->cache, &t->workspace);
    mem->release(mem->ctx, t->parameters);
    tide_copies_ahead_fini(&t->copies);
    tide_ops_close(t->ops);
    mem->release(mem->ctx, t);
}

static tide_status alloc_inputs(tide_transformer *t, tide_error *error) {
    const tide_model_config *model = &t->config.model;
    size_t D = model->d_model / model->n_heads;
    TIDE_TRY(
        tide_tensor_alloc(t->cache, &t->tokens, t->R, TIDE_INT32, TIDE_INPUT, "tokens", error));
    TIDE_TRY(
        tide_tensor_alloc(t->cache, &t->targets, t->R, TIDE_INT32, TIDE_INPUT, "targets", error));
    TIDE_TRY(tide_tensor_alloc(t->cache, &t->rope, model->context_length * D, TIDE_FP32, TIDE_INPUT,
                               "rope", error));
    const tide_fill_rope call = {
        .table = t->rope.array.data,
        .T = model->context_length,
        .D = D,
        .theta = model->rope_theta,
    };
    return t->ops->table->fill_rope(t->ops, &call, error);
}

tide_status tide_transformer_setup(tide_transformer *t, tide_error *error) {
    TIDE_TRY(tide_ops_alloc_workspace(t->ops, t->cache, &t->workspace, error));
    TIDE_TRY(alloc_inputs(t, error));
    for (size_t i = 0; i < t->n_parameters; i++) {
        tide_parameter *parameter = &t->parameters[i];
        TIDE_TRY(tide_tensor_alloc(t->cache, &parameter->value, parameter->n_elements,
                                   t->parameter_type, TIDE_PARAMETER, parameter->name, error));
    }
    return TIDE_OK;
}

tide_status tide_transformer_fill(tide_transformer *t, tide_error *error) {
    const tide_ops_table *table = t->ops->table;
    size_t V = t->config.model.vocab_size;
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tide_parameter *parameter = &t->parameters[i];
        if (parameter->sigma > 0) {
            const tide_fill_normal normal = {
                .out = parameter->value.array,
                .sigma = parameter->sigma,
                .random = {t->config.seed, i},
                .n = parameter->n_elements,
            };
            TIDE_TRY(table->fill_normal(t->ops, &normal, error));
        } else {
            const tide_fill ones = {
                .out = parameter->value.array,
                .value = 1,
                .n = parameter->n_elements,
            };
            TIDE_TRY(table->fill(t->ops, &ones, error));
        }
    }
    const tide_fill_tokens tokens = {
        .out = t->tokens.array.data,
        .bound = V,
        .random = {t->config.seed, TOKENS_STREAM},
        .n = t->R,
    };
    TIDE_TRY(table->fill_tokens(t->ops, &tokens, error));
    const tide_fill_tokens targets = {
        .out = t->targets.array.data,
        .bound = V,
        .random = {t->config.seed, TARGETS_STREAM},
        .n = t->R,
    };
    return table->fill_tokens(t->ops, &targets, error);
}

tide_status tide_transformer_optimize(tide_transformer *t, tide_error *error) {
    TIDE_TRY(tide_optimizer_step(&t->optimizer, error));
    return tide_optimizer_release_gradients(&t->optimizer, error);
}

tide_status tide_transformer_begin_replay(tide_transformer *t, tide_error *error) {
    return tide_optimizer_begin_replay(&t->optimizer, error);
}

tide_status tide_transformer_end_step(tide_transformer *t, tide_error *error) {
    TIDE_TRY(tide_optimizer_end_step(&t->optimizer, error));
    TIDE_TRY(tide_activations_release_all(&t->activations, error));
    TIDE_TRY(tide_copies_ahead_wait(&t->copies, error)); /* of a forward pass that failed */
    for (size_t i = 0; i < t->n_parameters; i++) {
        TIDE_TRY(tide_tensor_release(t->cache, &t->parameters[i].copy, error));
    }
    return tide_optimizer_release_gradients(&t->optimizer, error);
}

tide_ops *tide_transformer_ops(const tide_transformer *t) {
    return t->ops;
}

size_t tide_transformer_n_parameters(const tide_transformer *t) {
    return t->n_parameters;
}

const tide_parameter *tide_transformer_parameter(const tide_transformer *t, size_t i) {
    return i < t->n_parameters ? &t->parameters[i] : NULL;
}

const tide_tensor *tide_transformer_tokens(const tide_transformer *t) {
    return &t->tokens;
}

const tide_tensor *tide_transformer_targets(const tide_transformer *t) {
    return &t->targets;
}

const tide_tensor *tide_transformer_logits(const tide_transformer *t) {
    return tide_activation(&t->activations, TIDE_SLOT_LOGITS, 0);
}

const tide_tensor *tide_transformer_loss_value(const tide_transformer *t) {
    return tide_activation(&t->activations, TIDE_SLOT_LOSS, 0);
}

const tide_loss_scaler *tide_transformer_loss_scaler(const tide_transformer *t) {
    return &t->optimizer.scaler;
}
