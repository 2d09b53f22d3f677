#include "model/eager/eager.h"

#include "model/eager/internal.h"

bool tide_eager_knows(tide_precision precision) {
    return precision != TIDE_PRECISION_BF16_TRUE;
}

static tide_status check_config(const tide_eager_config *config, const tide_cache *cache,
                                tide_error *error) {
    TIDE_TRY(tide_model_config_check(&config->model, error));
    if (!tide_eager_knows(config->precision)) {
        return tide_fail(
            error, TIDE_UNSUPPORTED,
            "what PyTorch keeps is known for fp32, tf32, bf16-mixed and fp16-mixed, not "
            "for %s: choose one of them",
            tide_precision_name((int)config->precision));
    }
    if (tide_device_get_info(tide_cache_device(cache))->computes) {
        return tide_fail(
            error, TIDE_UNSUPPORTED,
            "PyTorch's allocations are made without computing: choose --device virtual "
            "or virtual:CARD");
    }
    return TIDE_OK;
}

static tide_status no_memory(tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the run");
}

static tide_status build(tide_eager *e, tide_error *error) {
    const tide_model_config *m = &e->config.model;
    TIDE_TRY(tide_parameters_create(e->mem, m, &e->parameters, error));
    e->n_parameters = tide_model_n_tensors(m);
    tide_eager_tensor **tables[] = {&e->values, &e->casts, &e->gradients, &e->moments,
                                    &e->second_moments};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        *tables[i] = tide_hostmem_zeroed(e->mem, e->n_parameters, sizeof(tide_eager_tensor));
        if (*tables[i] == NULL) {
            return no_memory(error);
        }
    }
    return TIDE_OK;
}

tide_status tide_eager_create(const tide_eager_config *config, tide_cache *cache,
                              tide_recorder *recorder, tide_eager **ret_eager, tide_error *error) {
    TIDE_TRY(check_config(config, cache, error));
    const tide_hostmem *mem = tide_cache_get_config(cache)->mem;
    tide_eager *e = tide_hostmem_zeroed(mem, 1, sizeof(*e));
    if (e == NULL) {
        return no_memory(error);
    }
    e->config = *config;
    e->mem = mem;
    e->cache = cache;
    e->recorder = recorder;
    e->layer = -1;
    e->layer_scope = TIDE_NONE;
    e->operator_scope = TIDE_NONE;
    tide_arena_init(&e->arena, mem);
    tide_status status = build(e, error);
    if (status != TIDE_OK) {
        tide_eager_destroy(e);
        return status;
    }
    *ret_eager = e;
    return TIDE_OK;
}

void tide_eager_destroy(tide_eager *e) {
    if (e == NULL) {
        return;
    }
    const tide_hostmem *mem = e->mem;
    for (const tide_eager_storage *storage = e->live; storage != NULL; storage = storage->next) {
        /* Fails only after the device is lost, and then its memory is lost anyway. */
        tide_status status = tide_cache_release(e->cache, storage->address, NULL);
        (void)status;
    }
    mem->release(mem->ctx, e->second_moments);
    mem->release(mem->ctx, e->moments);
    mem->release(mem->ctx, e->gradients);
    mem->release(mem->ctx, e->casts);
    mem->release(mem->ctx, e->values);
    mem->release(mem->ctx, e->parameters);
    mem->release(mem->ctx, e->tape);
    mem->release(mem->ctx, e->free_nodes);
    tide_arena_fini(&e->arena);
    mem->release(mem->ctx, e);
}

/* The end of a call: ends its scopes and reports the first failure. */
static tide_status finish(tide_eager *e, tide_error *error) {
    tide_eager_enter(e, -1, NULL);
    if (e->status != TIDE_OK && error != NULL) {
        *error = e->error;
    }
    return e->status;
}

/* ---- setup ---- */

static void make_parameter(tide_eager *e, size_t i) {
    const tide_parameter *parameter = &e->parameters[i];
    if (e->status != TIDE_OK) {
        return;
    }
    tide_eager_shape shape =
        tide_eager_shape_of(TIDE_EAGER_FP32, (uint8_t)parameter->n_dims, parameter->shape);
    tide_eager_tensor value = tide_eager_new(e, &shape, TIDE_PARAMETER, parameter->name, "");
    value.name = "weight";
    value.node = e->status == TIDE_OK ? tide_eager_leaf(e, i) : NULL;
    e->values[i] = value;
}

tide_status tide_eager_setup(tide_eager *e, tide_error *error) {
    const tide_model_config *m = &e->config.model;
    const size_t rope[] = {2, m->context_length, m->d_model / m->n_heads / 2};
    const size_t ids[] = {m->batch_size, m->context_length};
    tide_eager_shape rope_shape = tide_eager_shape_of(TIDE_EAGER_FP32, 3, rope);
    tide_eager_shape ids_shape = tide_eager_shape_of(TIDE_EAGER_INT64, 2, ids);
    make_parameter(e, tide_parameter_token_embeddings());
    if (e->status == TIDE_OK) {
        e->rope = tide_eager_new(e, &rope_shape, TIDE_INPUT, "rope", "");
    }
    for (size_t i = 1; i < e->n_parameters; i++) {
        make_parameter(e, i);
    }
    if (e->status == TIDE_OK) {
        e->tokens = tide_eager_new(e, &ids_shape, TIDE_INPUT, "tokens", "");
    }
    if (e->status == TIDE_OK) {
        e->targets = tide_eager_new(e, &ids_shape, TIDE_INPUT, "targets", "");
    }
    return finish(e, error);
}

/* ---- a step ---- */

void tide_eager_log_to(tide_eager *e, tide_launch_list *launches) {
    e->launches = launches;
}

tide_status tide_eager_forward(tide_eager *e, tide_error *error) {
    for (size_t i = 0; i < e->n_parameters; i++) {
        tide_eager_drop(e, &e->gradients[i]);
    }
    e->records = e->config.keeps_graph;
    e->in_backward = false;
    e->makes_kept = true;
    tide_eager_model_forward(e);
    e->makes_kept = false;
    if (!e->config.keeps_graph) {
        tide_eager_end_autocast(e);
    }
    return finish(e, error);
}

tide_status tide_eager_loss(tide_eager *e, tide_error *error) {
    e->makes_kept = true;
    tide_eager_model_loss(e);
    e->makes_kept = false;
    tide_eager_end_autocast(e);
    return finish(e, error);
}

tide_status tide_eager_backward(tide_eager *e, tide_error *error) {
    tide_eager_enter(e, -1, "loss");
    tide_eager_tensor root = tide_eager_scaled_loss(e);
    if (e->status == TIDE_OK) {
        e->root_gradient = tide_eager_new(e, &root.shape, TIDE_TEMPORARY, root.name, ".grad");
        tide_eager_log_elements(e, &e->root_gradient, NULL, NULL, "fill");
    }
    e->in_backward = true;
    if (root.node != NULL) {
        tide_eager_tensor grad = tide_eager_retain(&e->root_gradient);
        tide_eager_send(e, root.node, root.output, &grad);
    }
    tide_eager_run_backward(e, 0);
    e->logits.node = NULL;
    e->loss.node = NULL;
    tide_eager_drop(e, &e->root_gradient);
    tide_eager_drop(e, &root);
    e->in_backward = false;
    return finish(e, error);
}

tide_status tide_eager_optimize(tide_eager *e, tide_error *error) {
    e->in_optimizer = true;
    tide_eager_unscale(e);
    tide_eager_adamw(e);
    tide_eager_update_scale(e);
    e->in_optimizer = false;
    return finish(e, error);
}

tide_status tide_eager_end_step(tide_eager *e, tide_error *error) {
    if (e->n_tape > 0 || !e->config.keeps_graph) {
        /* A tensor's end releases its graph before its memory. */
        tide_eager_end_autocast(e);
        tide_eager_forget(e, 0);
        tide_eager_drop(e, &e->logits);
    }
    return finish(e, error);
}

/* ---- figures ---- */

/* The bytes that the blocks keep, without logits and statistics. */
static uint64_t least_kept(const tide_eager_config *config) {
    const tide_model_config *m = &config->model;
    uint64_t T = (uint64_t)m->batch_size * m->context_length;
    uint64_t N = T * m->d_model;
    uint64_t F = T * m->d_ff;
    uint64_t scores =
        config->attention == TIDE_ATTENTION_NAIVE ? T * m->n_heads * m->context_length : 0;
    uint64_t d = m->d_model;
    if (config->recompute == TIDE_RECOMPUTE_BLOCK) {
        return m->n_layers * 4 * N;
    }
    return tide_precision_is_mixed(config->precision)
               ? m->n_layers * (34 * N + 10 * F + 6 * scores + 2 * (4 * d * d + 3 * d * m->d_ff))
               : m->n_layers * (40 * N + 20 * F + 8 * scores);
}

uint64_t tide_eager_least_bytes(const tide_eager_config *config, tide_mode mode, size_t n_steps) {
    uint64_t parameters = 4 * tide_model_n_parameters(&config->model);
    uint64_t at_end = parameters * (mode == TIDE_TRAIN ? 4 : mode == TIDE_FORWARD_BACKWARD ? 2 : 1);
    uint64_t state = mode == TIDE_TRAIN && n_steps > 1 ? 2 * parameters : 0;
    uint64_t after_forward = parameters + state + (config->keeps_graph ? least_kept(config) : 0);
    return at_end > after_forward ? at_end : after_forward;
}

uint64_t tide_eager_kept_bytes(const tide_eager *e) {
    uint64_t n_bytes = 0;
    for (const tide_eager_storage *storage = e->live; storage != NULL; storage = storage->next) {
        n_bytes += storage->is_kept ? storage->n_bytes : 0;
    }
    return n_bytes;
}

uint64_t tide_eager_peak_bytes(const tide_eager *e) {
    return e->peak_bytes;
}
