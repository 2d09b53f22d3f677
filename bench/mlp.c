/* mlp.c - linear layers with GELU: a run of several steps, and forward and backward of one,
 * each timed by itself.
 */
#include "bench/mlp_internal.h"
#include "common/plural.h"

#include <stdio.h>

static const char *const DTYPES[] = {"fp32", "tf32", "bf16", NULL};

/* One row: what is timed, of how many FLOP. */
static tide_status measure_row(tide_bench_mlp_state *state, tide_bench_run *run,
                               const tide_timing_subject *subject, const char *what,
                               const char *dtype, double flops, tide_bench_tables *tables,
                               tide_error *error) {
    char label[48];
    tide_timing timing;
    bool is_run = subject->prepare == NULL; /* only it can be called twice in a row */
    (void)snprintf(label, sizeof(label), "%s: %s", state->shape.name, what);
    TIDE_TRY(tide_bench_place_measure(&state->place, subject,
                                      is_run ? (size_t)run->settings->calls : 1, &timing, error));
    (void)tide_bench_tables_row(tables, run, label, dtype, flops, &timing, is_run);
    tide_timing_fini(&timing);
    return TIDE_OK;
}

static tide_status measure_open(tide_bench_mlp_state *state, tide_bench_run *run, const char *dtype,
                                tide_bench_tables *tables, tide_error *error) {
    double n_steps = (double)state->shape.n_steps;
    char what[24];
    const tide_timing_subject steps = {NULL, tide_bench_mlp_run, state};
    const tide_timing_subject forward = {tide_bench_mlp_clear, tide_bench_mlp_forward, state};
    const tide_timing_subject backward = {tide_bench_mlp_half, tide_bench_mlp_backward, state};
    (void)snprintf(what, sizeof(what), "%zu step%s", state->shape.n_steps,
                   tide_plural(state->shape.n_steps, "", "s"));
    TIDE_TRY(measure_row(state, run, &steps, what, dtype,
                         n_steps * (state->forward_flops + state->backward_flops), tables, error));
    TIDE_TRY(
        measure_row(state, run, &forward, "forward", dtype, state->forward_flops, tables, error));
    return measure_row(state, run, &backward, "backward", dtype, state->backward_flops, tables,
                       error);
}

static tide_status run_shape(tide_bench_run *run, const tide_bench_mlp_shape *shape,
                             const char *dtype, tide_bench_tables *tables, tide_error *error) {
    tide_bench_mlp_state state;
    tide_bench_show_case(run, "mlp", shape->name, dtype);
    tide_status status = tide_bench_mlp_open(&state, run, shape, dtype, error);
    if (status == TIDE_OK) {
        status = measure_open(&state, run, dtype, tables, error);
    }
    tide_bench_mlp_close(&state);
    if (tide_bench_is_unfit(run, shape->name, dtype, status, error)) {
        tide_bench_tables_unfit(tables, shape->name, dtype);
        status = TIDE_OK;
    }
    return status;
}

static bool is_default(const tide_bench_run *run) {
    const tide_bench_settings *settings = run->settings;
    return !run->is_brief && settings->dim == TIDE_BENCH_NOT_GIVEN &&
           settings->layers == TIDE_BENCH_NOT_GIVEN && settings->batch == TIDE_BENCH_NOT_GIVEN &&
           settings->steps == TIDE_BENCH_NOT_GIVEN;
}

static tide_status run_mlp(tide_bench_run *run, tide_error *error) {
    tide_bench_mlp_shape shapes[2] = {{NULL, 0, 0, 0, 0}, {"profiling case", 128, 16, 128, 5}};
    size_t n_shapes = is_default(run) ? 2 : 1;
    const char *dtypes[4] = {NULL};
    size_t n_dtypes = 0;
    tide_bench_tables tables;
    TIDE_TRY(tide_bench_mlp_base(run, &shapes[0], error));
    TIDE_TRY(tide_bench_choose_dtypes(run, DTYPES, 1, dtypes, &n_dtypes, error));
    for (size_t i = 0; i < n_shapes; i++) {
        tide_report_say(run->report, "shape",
                        "%s: %zu layer%s of width %zu, batch %zu, %zu step%s of forward, loss and "
                        "backward",
                        shapes[i].name, shapes[i].n_layers,
                        tide_plural(shapes[i].n_layers, "", "s"), shapes[i].dim, shapes[i].batch,
                        shapes[i].n_steps, tide_plural(shapes[i].n_steps, "", "s"));
    }
    tide_bench_tables_begin(&tables, run, TIDE_RATE_FLOPS, "mlp",
                            "MLP, time of a run and of one step", true);
    for (size_t i = 0; i < n_shapes * n_dtypes; i++) {
        TIDE_TRY(run_shape(run, &shapes[i / n_dtypes], dtypes[i % n_dtypes], &tables, error));
    }
    return TIDE_OK;
}

const tide_bench tide_bench_mlp = {
    .name = "mlp",
    .summary = "linear layers with GELU, forward and backward: time and TFLOP/s of the products",
    .takes = TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_DTYPE | TIDE_BENCH_TAKES_BATCH |
             TIDE_BENCH_TAKES_MODEL | TIDE_BENCH_TAKES_TARGET,
    .run = run_mlp,
};
