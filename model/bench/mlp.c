/* mlp.c - linear layers with GELU: a run of several steps, and forward and backward of one, each
 * timed separately.
 */
#include <stdio.h>

#include "model/bench/mlp_internal.h"
#include "common/text/plural.h"

/* One row: the timed subject and its FLOP. */
static tide_status measure_row(tide_bench_mlp_state *state, const tide_timing_subject *subject,
                               const char *what, const char *dtype, double flops,
                               tide_error *error) {
    char label[TIDE_BENCH_LABEL_BYTES];
    tide_timing timing;
    tide_bench_run *run = state->place.run;
    bool is_run = subject->prepare == NULL; /* only it can be called twice in a row */
    (void)snprintf(label, sizeof(label), "%s: %s", state->shape.name, what);
    TIDE_TRY(tide_bench_place_measure(&state->place, subject,
                                      is_run ? (size_t)run->settings->calls : 1, &timing, error));
    (void)tide_bench_add_figure(run, label, dtype, flops, &timing, is_run);
    return TIDE_OK;
}

static tide_status measure_open(tide_bench_mlp_state *state, const char *dtype, tide_error *error) {
    double n_steps = (double)state->shape.n_steps;
    double step_flops = state->forward_flops + state->backward_flops;
    char what[24];
    const tide_timing_subject steps = {NULL, tide_bench_mlp_run, state};
    const tide_timing_subject forward = {tide_bench_mlp_clear, tide_bench_mlp_forward, state};
    const tide_timing_subject backward = {tide_bench_mlp_half, tide_bench_mlp_backward, state};
    (void)snprintf(what, sizeof(what), "%zu step%s", state->shape.n_steps,
                   tide_plural(state->shape.n_steps, "", "s"));
    TIDE_TRY(measure_row(state, &steps, what, dtype, n_steps * step_flops, error));
    TIDE_TRY(measure_row(state, &forward, "forward", dtype, state->forward_flops, error));
    return measure_row(state, &backward, "backward", dtype, state->backward_flops, error);
}

static tide_status run_shape(tide_bench_run *run, const tide_bench_mlp_shape *shape,
                             const char *dtype, tide_error *error) {
    tide_bench_mlp_state state;
    tide_bench_show_case(run, "mlp", shape->name, dtype);
    tide_status status = tide_bench_mlp_open(&state, run, shape, dtype, error);
    if (status == TIDE_OK) {
        status = measure_open(&state, dtype, error);
    }
    tide_bench_mlp_close(&state);
    return tide_bench_add_unfit(run, shape->name, dtype, status, error) != NULL ? TIDE_OK : status;
}

static bool is_default(const tide_bench_run *run) {
    const tide_bench_settings *settings = run->settings;
    return !settings->is_brief && settings->dim == TIDE_BENCH_NOT_GIVEN &&
           settings->layers == TIDE_BENCH_NOT_GIVEN && settings->batch == TIDE_BENCH_NOT_GIVEN &&
           settings->steps == TIDE_BENCH_NOT_GIVEN;
}

static tide_status run_mlp(tide_bench_run *run, tide_error *error) {
    enum { MAX_SHAPES = 2, ROWS_OF_A_SHAPE = 3 };
    _Static_assert(MAX_SHAPES * ROWS_OF_A_SHAPE * TIDE_BENCH_MAX_DTYPES <= TIDE_BENCH_MAX_ROWS,
                   "each case has its rows");
    tide_bench_mlp_shape shapes[MAX_SHAPES] = {{.name = NULL}, {"profiling case", 128, 16, 128, 5}};
    size_t n_shapes = is_default(run) ? MAX_SHAPES : 1;
    const char *dtypes[TIDE_BENCH_MAX_DTYPES] = {NULL};
    size_t n_dtypes = 0;
    TIDE_TRY(tide_bench_mlp_base(run, &shapes[0], error));
    TIDE_TRY(tide_bench_mlp_dtypes(run, dtypes, &n_dtypes, error));
    for (size_t i = 0; i < n_shapes; i++) {
        char text[TIDE_BENCH_SHAPE_BYTES];
        tide_bench_mlp_describe(&shapes[i], text);
        tide_bench_say(run, "shape", "%s: %s of forward, loss and backward", shapes[i].name, text);
    }
    run->heading = (tide_bench_heading){.name = "mlp",
                                        .title = "MLP, time of a run and of one step",
                                        .rate = TIDE_RATE_FLOPS,
                                        .is_model = true};
    for (size_t i = 0; i < n_shapes * n_dtypes; i++) {
        TIDE_TRY(run_shape(run, &shapes[i / n_dtypes], dtypes[i % n_dtypes], error));
    }
    return TIDE_OK;
}

const tide_bench tide_bench_mlp = {
    .name = "mlp",
    .summary = "linear layers with GELU, forward and backward: time and TFLOP/s of the products",
    .takes = TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_DTYPE | TIDE_BENCH_TAKES_BATCH |
             TIDE_BENCH_TAKES_MODEL | TIDE_BENCH_TAKES_TARGET,
    .run = run_mlp,
    .n_rounds = TIDE_BENCH_MLP_ROUNDS,
    .n_warmup = TIDE_BENCH_MLP_WARMUP,
};
