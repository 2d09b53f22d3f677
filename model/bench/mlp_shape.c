/* mlp_shape.c - the MLP that benchmarks time. */
#include "model/bench/mlp_internal.h"

#include <stdio.h>

#include "common/text/plural.h"

enum { MAX_STEPS = 100000 };

static tide_status set_number(const char *option, uint64_t given, size_t most, size_t *number,
                              tide_error *error) {
    if (given == TIDE_BENCH_NOT_GIVEN) {
        return TIDE_OK;
    }
    if (given == 0 || given > most) {
        return tide_fail(error, TIDE_INVALID, "--%s must be between 1 and %zu", option, most);
    }
    *number = (size_t)given;
    return TIDE_OK;
}

tide_status tide_bench_mlp_base(const tide_bench_run *run, tide_bench_mlp_shape *ret_shape,
                                tide_error *error) {
    static const tide_bench_mlp_shape BASE = {"base", 256, 4, 256, 2};
    static const tide_bench_mlp_shape BRIEF = {"brief", 16, 2, 8, 2};
    static const size_t MOST = 1 << 20; /* five times this still does not overflow */
    const tide_bench_settings *settings = run->settings;
    tide_bench_mlp_shape shape = settings->is_brief ? BRIEF : BASE;
    TIDE_TRY(set_number("dim", settings->dim, MOST, &shape.dim, error));
    TIDE_TRY(set_number("layers", settings->layers, 10000, &shape.n_layers, error));
    TIDE_TRY(set_number("batch", settings->batch, MOST, &shape.batch, error));
    TIDE_TRY(set_number("steps", settings->steps, MAX_STEPS, &shape.n_steps, error));
    *ret_shape = shape;
    return TIDE_OK;
}

void tide_bench_mlp_describe(const tide_bench_mlp_shape *shape,
                             char ret_text[TIDE_BENCH_SHAPE_BYTES]) {
    (void)snprintf(ret_text, TIDE_BENCH_SHAPE_BYTES,
                   "%zu layer%s of width %zu, batch %zu, %zu step%s", shape->n_layers,
                   tide_plural(shape->n_layers, "", "s"), shape->dim, shape->batch, shape->n_steps,
                   tide_plural(shape->n_steps, "", "s"));
}

tide_status tide_bench_mlp_dtypes(const tide_bench_run *run,
                                  const char *ret_dtypes[TIDE_BENCH_MAX_DTYPES], size_t *ret_n,
                                  tide_error *error) {
    static const char *const VALID[] = {"fp32", "tf32", "bf16", NULL};
    return tide_bench_choose_dtypes(run, VALID, 1, ret_dtypes, ret_n, error);
}

tide_status tide_bench_mlp_open(tide_bench_mlp_state *state, tide_bench_run *run,
                                const tide_bench_mlp_shape *shape, const char *dtype,
                                tide_error *error) {
    tide_mlp_config config;
    *state = (tide_bench_mlp_state){.shape = *shape};
    tide_mlp_config_init(&config);
    config.C = shape->dim;
    config.n_layers = shape->n_layers;
    config.R = shape->batch;
    config.precision = tide_bench_precision(dtype);
    state->forward_flops = tide_mlp_forward_flops(&config);
    state->backward_flops = tide_mlp_backward_flops(&config);
    TIDE_TRY(tide_bench_place_open(&state->place, run, dtype, false, error));
    TIDE_TRY(tide_mlp_create(&config, state->place.cache, NULL, &state->mlp, error));
    TIDE_TRY(tide_mlp_setup(state->mlp, error));
    return tide_mlp_fill(state->mlp, error);
}

void tide_bench_mlp_close(tide_bench_mlp_state *state) {
    tide_mlp_destroy(state->mlp);
    state->mlp = NULL;
    tide_bench_place_close(&state->place);
}

tide_status tide_bench_mlp_run(void *ctx, tide_error *error) {
    tide_bench_mlp_state *state = ctx;
    for (size_t i = 0; i < state->shape.n_steps; i++) {
        TIDE_TRY(tide_mlp_forward(state->mlp, error));
        TIDE_TRY(tide_mlp_loss(state->mlp, error));
        TIDE_TRY(tide_mlp_backward(state->mlp, error));
        TIDE_TRY(tide_mlp_end_step(state->mlp, error));
    }
    return TIDE_OK;
}

tide_status tide_bench_mlp_clear(void *ctx, tide_error *error) {
    return tide_mlp_end_step(((tide_bench_mlp_state *)ctx)->mlp, error);
}

tide_status tide_bench_mlp_forward(void *ctx, tide_error *error) {
    tide_bench_mlp_state *state = ctx;
    TIDE_TRY(tide_mlp_forward(state->mlp, error));
    return tide_mlp_loss(state->mlp, error);
}

tide_status tide_bench_mlp_half(void *ctx, tide_error *error) {
    TIDE_TRY(tide_bench_mlp_clear(ctx, error));
    return tide_bench_mlp_forward(ctx, error);
}

tide_status tide_bench_mlp_backward(void *ctx, tide_error *error) {
    return tide_mlp_backward(((tide_bench_mlp_state *)ctx)->mlp, error);
}
