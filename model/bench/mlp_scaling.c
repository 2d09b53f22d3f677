/* mlp_scaling.c - how the time of an MLP grows with its steps, layers, batch and width: one
 * of them made 2 to 5 times as much, the others as in the base.
 */
#include <stdio.h>
#include <string.h>

#include "model/bench/mlp_internal.h"
#include "common/statistics.h"

enum { N_FACTORS = 5 };

/* A quantity that is varied, its place in a shape, and how the time should grow with it. */
static const struct varied {
    const char *name;
    size_t offset;   /* in tide_bench_mlp_shape */
    double expected; /* exponent if the products dominate */
} VARIED[TIDE_BENCH_MAX_VARIED] = {
    {"steps", offsetof(tide_bench_mlp_shape, n_steps), 1.0},
    {"layers", offsetof(tide_bench_mlp_shape, n_layers), 1.0},
    {"batch", offsetof(tide_bench_mlp_shape, batch), 1.0},
    {"dim", offsetof(tide_bench_mlp_shape, dim), 2.0},
};

static size_t *number_of(tide_bench_mlp_shape *shape, const struct varied *varied) {
    return (size_t *)(void *)((char *)shape + varied->offset);
}

static tide_status time_shape(tide_bench_run *run, const tide_bench_mlp_shape *shape,
                              const char *dtype, tide_timing *ret_timing, tide_error *error) {
    tide_bench_mlp_state state;
    const tide_timing_subject steps = {NULL, tide_bench_mlp_run, &state};
    tide_status status = tide_bench_mlp_open(&state, run, shape, dtype, error);
    if (status == TIDE_OK) {
        status = tide_bench_place_measure(&state.place, &steps, (size_t)run->settings->calls,
                                          ret_timing, error);
    }
    tide_bench_mlp_close(&state);
    return status;
}

/* The row of the base with one quantity `factor` times as large. */
static tide_status add_case(tide_bench_run *run, const tide_bench_mlp_shape *base,
                            const char *dtype, const struct varied *varied, size_t factor,
                            tide_bench_row **ret_row, tide_error *error) {
    char label[TIDE_BENCH_LABEL_BYTES];
    tide_timing timing;
    tide_bench_mlp_shape shape = *base;
    size_t *number = number_of(&shape, varied);
    *number *= factor;
    (void)snprintf(label, sizeof(label), "%s %zu", varied->name, *number);
    tide_bench_show_case(run, "mlp-scaling", label, dtype);
    tide_status status = time_shape(run, &shape, dtype, &timing, error);
    tide_bench_row *row = status == TIDE_OK
                              ? tide_bench_add_row(run, label, dtype, &timing)
                              : tide_bench_add_unfit(run, label, dtype, status, error);
    if (row == NULL) {
        return status;
    }
    row->varied = varied->name;
    row->value = *number;
    row->factor = factor;
    *ret_row = row;
    return TIDE_OK;
}

static void add_exponent(tide_bench_run *run, const char *dtype, const struct varied *varied,
                         double exponent) {
    tide_bench_record record = {.name = run->heading.name,
                                .metric = "exponent",
                                .dtype = dtype,
                                .actual = exponent,
                                .is_model = true,
                                .us = tide_statistics_of(NULL, 0)};
    (void)snprintf(record.label, sizeof(record.label), "%s", varied->name);
    tide_bench_add_record(run, &record);
    run->exponents[run->n_exponents++] =
        (tide_bench_exponent){varied->name, exponent, varied->expected};
}

/* Measures the base again next to each compared case, so a machine that has become slower is slower
 * for both. A case that does not fit is a row, and the exponent is that of the others. */
static tide_status vary(tide_bench_run *run, const tide_bench_mlp_shape *base, const char *dtype,
                        const struct varied *varied, tide_error *error) {
    double factors[N_FACTORS];
    double medians_us[N_FACTORS] = {0.0};
    double base_us = 0.0; /* the base did not fit */
    size_t n = 0;
    for (size_t factor = 1; factor <= N_FACTORS; factor++) {
        tide_bench_row *row = NULL;
        TIDE_TRY(add_case(run, base, dtype, varied, factor, &row, error));
        if (row == NULL || row->is_unfit) {
            continue;
        }
        base_us = factor == 1 ? row->us.median : base_us;
        row->ratio = factor == 1 ? 1.0 : base_us > 0.0 ? row->us.median / base_us : -1.0;
        factors[n] = (double)factor;
        medians_us[n++] = row->us.median;
    }
    if (n > 1) {
        add_exponent(run, dtype, varied, tide_statistics_exponent(factors, medians_us, n));
    }
    return TIDE_OK;
}

static bool is_asked_for(const tide_bench_run *run, const char *name) {
    const tide_bench_settings *settings = run->settings;
    for (size_t i = 0; i < settings->n_vary; i++) {
        if (strcmp(settings->vary[i], name) == 0) {
            return true;
        }
    }
    return settings->n_vary == 0;
}

static tide_status run_mlp_scaling(tide_bench_run *run, tide_error *error) {
    _Static_assert(TIDE_BENCH_MAX_VARIED * N_FACTORS <= TIDE_BENCH_MAX_ROWS, "each case has a row");
    tide_bench_mlp_shape base;
    const char *dtypes[TIDE_BENCH_MAX_DTYPES] = {NULL};
    size_t n_dtypes = 0;
    char text[TIDE_BENCH_SHAPE_BYTES];
    TIDE_TRY(tide_bench_mlp_base(run, &base, error));
    TIDE_TRY(tide_bench_mlp_dtypes(run, dtypes, &n_dtypes, error));
    if (n_dtypes > 1) {
        return tide_fail(error, TIDE_INVALID, "--dtype: mlp-scaling takes one at a time");
    }
    tide_bench_mlp_describe(&base, text);
    tide_bench_say(run, "shape", "base: %s, %s", text, dtypes[0]);
    run->heading = (tide_bench_heading){.name = "mlp_scaling",
                                        .title = "Time of a run, and its ratio to the base's",
                                        .is_model = true,
                                        .is_scaling = true};
    for (size_t i = 0; i < TIDE_BENCH_MAX_VARIED; i++) {
        if (is_asked_for(run, VARIED[i].name)) {
            TIDE_TRY(vary(run, &base, dtypes[0], &VARIED[i], error));
        }
    }
    return TIDE_OK;
}

const tide_bench tide_bench_mlp_scaling = {
    .name = "mlp-scaling",
    .summary = "how the MLP's time grows with steps, layers, batch and width",
    .takes = TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_DTYPE | TIDE_BENCH_TAKES_BATCH |
             TIDE_BENCH_TAKES_MODEL | TIDE_BENCH_TAKES_VARY,
    .run = run_mlp_scaling,
    .n_rounds = TIDE_BENCH_MLP_ROUNDS,
    .n_warmup = TIDE_BENCH_MLP_WARMUP,
};
