#include "model/optimizer/optimizer.h"

#include <stdio.h>

tide_status tide_optimizer_init(tide_optimizer *optimizer, tide_error *error) {
    const tide_hostmem *mem = tide_cache_get_config(optimizer->cache)->mem;
    optimizer->norm_scratch = (tide_tensor){0};
    optimizer->norm = (tide_tensor){0};
    optimizer->found_inf = (tide_tensor){0};
    optimizer->step_size = (tide_tensor){0};
    optimizer->arrays =
        tide_hostmem_zeroed(mem, optimizer->n_parameters, sizeof(*optimizer->arrays));
    if (optimizer->arrays == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the optimizer");
    }
    return TIDE_OK;
}

void tide_optimizer_fini(tide_optimizer *optimizer) {
    if (optimizer->arrays == NULL) {
        return;
    }
    tide_tensor_drop(optimizer->cache, &optimizer->found_inf);
    tide_tensor_drop(optimizer->cache, &optimizer->step_size);
    tide_tensor_drop(optimizer->cache, &optimizer->norm);
    tide_tensor_drop(optimizer->cache, &optimizer->norm_scratch);
    const tide_hostmem *mem = tide_cache_get_config(optimizer->cache)->mem;
    mem->release(mem->ctx, optimizer->arrays);
    optimizer->arrays = NULL;
}

static void collect(tide_optimizer *optimizer) {
    for (size_t i = 0; i < optimizer->n_parameters; i++) {
        const tide_parameter *parameter = &optimizer->parameters[i];
        optimizer->arrays[i] = (tide_parameter_arrays){
            .parameter = parameter->value.array,
            .gradient = parameter->gradient.array,
            .exp_avg = parameter->exp_avg.array,
            .exp_avg_sq = parameter->exp_avg_sq.array,
            .n_elements = parameter->n_elements,
        };
    }
}

/* Divides the gradients by the scale of the loss. */
static tide_status unscale_gradients(tide_optimizer *optimizer, tide_error *error) {
    tide_ops *ops = optimizer->ops;
    tide_tensor *found_inf = &optimizer->found_inf;
    tide_scope scope = tide_scope_begin(optimizer->recorder, TIDE_SCOPE_OPERATOR, "unscale", -1);
    TIDE_TRY(tide_tensor_alloc(optimizer->cache, found_inf, 1, TIDE_FP32, TIDE_TEMPORARY,
                               "scaler.found_inf", error));
    TIDE_TRY(
        ops->table->fill(ops, &(tide_fill){.out = found_inf->array, .value = 0, .n = 1}, error));
    collect(optimizer);
    const tide_unscale call = {
        .parameters = optimizer->arrays,
        .n_parameters = optimizer->n_parameters,
        .factor = 1 / (double)optimizer->scaler.scale,
        .found_inf = found_inf->array.data,
    };
    TIDE_TRY(ops->table->unscale(ops, &call, error));
    tide_scope_end(optimizer->recorder, scope);
    return TIDE_OK;
}

static tide_status clip_gradients(tide_optimizer *optimizer, tide_error *error) {
    tide_cache *cache = optimizer->cache;
    tide_ops *ops = optimizer->ops;
    size_t n = optimizer->n_parameters;
    tide_scope scope = tide_scope_begin(optimizer->recorder, TIDE_SCOPE_OPERATOR, "clip", -1);
    collect(optimizer);
    TIDE_TRY(tide_tensor_alloc(cache, &optimizer->norm_scratch,
                               tide_ops_norm_scratch_elements(optimizer->arrays, n), TIDE_FP32,
                               TIDE_TEMPORARY, "clip.scratch", error));
    TIDE_TRY(tide_tensor_alloc(cache, &optimizer->norm, 1, TIDE_FP32, TIDE_TEMPORARY, "clip.norm",
                               error));
    const tide_global_norm norm = {
        .parameters = optimizer->arrays,
        .n_parameters = n,
        .scratch = optimizer->norm_scratch.array.data,
        .norm = optimizer->norm.array.data,
    };
    TIDE_TRY(ops->table->global_norm(ops, &norm, error));
    TIDE_TRY(tide_tensor_release(cache, &optimizer->norm_scratch, error));
    const tide_clip clip = {
        .parameters = optimizer->arrays,
        .n_parameters = n,
        .norm = optimizer->norm.array.data,
        .max_norm = optimizer->clip_grad_norm,
    };
    TIDE_TRY(ops->table->clip(ops, &clip, error));
    TIDE_TRY(tide_tensor_release(cache, &optimizer->norm, error));
    tide_scope_end(optimizer->recorder, scope);
    return TIDE_OK;
}

/* Allocates one tensor of optimizer state, of the gradient's type, and fills it with zeros. */
static tide_status make_state(tide_optimizer *optimizer, const tide_parameter *parameter,
                              tide_tensor *state, const char *suffix, tide_error *error) {
    char name[TIDE_PARAMETER_NAME + 16];
    (void)snprintf(name, sizeof(name), "%s%s", parameter->name, suffix);
    TIDE_TRY(tide_tensor_alloc(optimizer->cache, state, parameter->n_elements,
                               parameter->gradient.array.dtype, TIDE_OPTIMIZER_STATE, name, error));
    return optimizer->ops->table->fill(
        optimizer->ops, &(tide_fill){.out = state->array, .value = 0, .n = parameter->n_elements},
        error);
}

tide_status tide_optimizer_begin_replay(tide_optimizer *optimizer, tide_error *error) {
    optimizer->n_steps++;
    if (optimizer->step_size.address == 0) {
        return TIDE_OK;
    }
    optimizer->next_step_size = (float)tide_adamw_step_size(&optimizer->adamw, optimizer->n_steps);
    return tide_device_copy(tide_cache_device(optimizer->cache), optimizer->step_size.array.data,
                            &optimizer->next_step_size, sizeof(optimizer->next_step_size),
                            TIDE_COPY_TO_DEVICE, optimizer->ops->stream, error);
}

/* A captured step does not run, so it is not counted. */
static tide_status count_step(tide_optimizer *optimizer, tide_error *error) {
    if (optimizer->is_capturable && optimizer->step_size.address == 0) {
        TIDE_TRY(tide_tensor_alloc(optimizer->cache, &optimizer->step_size, 1, TIDE_FP32,
                                   TIDE_OPTIMIZER_STATE, "adamw.step_size", error));
    }
    return tide_ops_is_captured(optimizer->ops) ? TIDE_OK
                                                : tide_optimizer_begin_replay(optimizer, error);
}

static tide_status update_parameters(tide_optimizer *optimizer, tide_error *error) {
    tide_ops *ops = optimizer->ops;
    tide_scope scope = tide_scope_begin(optimizer->recorder, TIDE_SCOPE_OPERATOR, "adamw", -1);
    for (size_t i = 0; i < optimizer->n_parameters; i++) {
        tide_parameter *parameter = &optimizer->parameters[i];
        if (parameter->exp_avg.address != 0) {
            continue; /* of an earlier step, which may have been skipped */
        }
        TIDE_TRY(make_state(optimizer, parameter, &parameter->exp_avg, ".exp_avg", error));
        TIDE_TRY(make_state(optimizer, parameter, &parameter->exp_avg_sq, ".exp_avg_sq", error));
    }
    collect(optimizer);
    TIDE_TRY(count_step(optimizer, error));
    const tide_adamw call = {
        .settings = optimizer->adamw,
        .t = optimizer->n_steps,
        .step_size = optimizer->step_size.array.data,
        .found_inf = optimizer->found_inf.array.data,
        .parameters = optimizer->arrays,
        .n_parameters = optimizer->n_parameters,
    };
    TIDE_TRY(ops->table->adamw(ops, &call, error));
    tide_scope_end(optimizer->recorder, scope);
    return TIDE_OK;
}

tide_status tide_optimizer_step(tide_optimizer *optimizer, tide_error *error) {
    if (optimizer->scaler.is_on) {
        TIDE_TRY(unscale_gradients(optimizer, error));
    }
    if (optimizer->clip_grad_norm > 0) {
        TIDE_TRY(clip_gradients(optimizer, error));
    }
    return update_parameters(optimizer, error);
}

tide_status tide_optimizer_end_step(tide_optimizer *optimizer, tide_error *error) {
    tide_device *device = tide_cache_device(optimizer->cache);
    float found_inf = 0;
    if (optimizer->found_inf.address == 0) {
        return TIDE_OK;
    }
    if (tide_device_get_info(device)->computes) {
        TIDE_TRY(tide_device_copy(device, &found_inf, optimizer->found_inf.array.data,
                                  sizeof(found_inf), TIDE_COPY_TO_HOST, optimizer->ops->stream,
                                  error));
        TIDE_TRY(tide_device_synchronize(device, error));
    }
    optimizer->n_steps -= found_inf != 0;
    tide_loss_scaler_update(&optimizer->scaler, found_inf != 0);
    return tide_tensor_release(optimizer->cache, &optimizer->found_inf, error);
}

tide_status tide_optimizer_release_gradients(tide_optimizer *optimizer, tide_error *error) {
    for (size_t i = 0; i < optimizer->n_parameters; i++) {
        TIDE_TRY(tide_tensor_release(optimizer->cache, &optimizer->parameters[i].gradient, error));
    }
    return TIDE_OK;
}
