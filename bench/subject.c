/* subject.c - benchmarks of one operation at several sizes. */
#include <stdio.h>
#include <string.h>

#include "bench/place_internal.h"

/* Random numbers of the tensors of a case. */
enum { SEED = 8 };

tide_status tide_bench_case_alloc(tide_bench_case *on, size_t i, tide_dtype dtype, size_t n,
                                  tide_error *error) {
    static const char *const NAMES[TIDE_BENCH_CASE_TENSORS] = {
        "bench.0", "bench.1", "bench.2", "bench.3", "bench.4", "bench.5", "bench.6", "bench.7"};
    return tide_tensor_alloc(on->place.cache, &on->tensors[i], n, dtype, TIDE_ACTIVATION, NAMES[i],
                             error);
}

tide_status tide_bench_case_random(tide_bench_case *on, size_t i, tide_dtype dtype, size_t n,
                                   double sigma, tide_error *error) {
    tide_ops *ops = on->place.ops;
    const tide_random random = {SEED, i};
    if (dtype == TIDE_INT8) { /* the bytes of random numbers of 31 bits */
        size_t n_words = (n + 3) / 4;
        TIDE_TRY(tide_bench_case_alloc(on, i, dtype, 4 * n_words, error));
        const tide_fill_tokens call = {
            .out = on->tensors[i].array.data,
            .bound = INT32_MAX,
            .random = random,
            .n = n_words,
        };
        return ops->table->fill_tokens(ops, &call, error);
    }
    TIDE_TRY(tide_bench_case_alloc(on, i, dtype, n, error));
    const tide_fill_normal call = {
        .out = on->tensors[i].array,
        .sigma = sigma,
        .random = random,
        .n = n,
    };
    return ops->table->fill_normal(ops, &call, error);
}

static tide_status refuse_dtype(const char *wanted, const char *const *valid, tide_error *error) {
    char names[64] = "";
    for (size_t i = 0; i < 4 && valid[i] != NULL; i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "", valid[i]);
    }
    return tide_fail(error, TIDE_INVALID, "--dtype %s: this benchmark computes only %s", wanted,
                     names);
}

tide_status tide_bench_choose_dtypes(const tide_bench_run *run, const char *const *valid,
                                     size_t n_defaults, const char *ret_dtypes[4], size_t *ret_n,
                                     tide_error *error) {
    const tide_option_list *asked = &run->settings->dtypes;
    for (size_t i = 0; i < (asked->n > 0 ? asked->n : n_defaults); i++) {
        const char *wanted = asked->n > 0 ? asked->texts[i] : valid[i];
        size_t k = 0;
        while (k < 4 && valid[k] != NULL && strcmp(valid[k], wanted) != 0) {
            k++;
        }
        if (k == 4 || valid[k] == NULL) {
            return refuse_dtype(wanted, valid, error);
        }
        ret_dtypes[i] = valid[k];
    }
    *ret_n = asked->n > 0 ? asked->n : n_defaults;
    return TIDE_OK;
}

/* The sizes, types and batch of a subject that are measured. */
typedef struct selection {
    size_t sizes[TIDE_OPTION_LIST_ITEMS];
    size_t n_sizes;
    size_t batch;
    const char *dtypes[4]; /* static */
    size_t n_dtypes;
} selection;

static tide_status select_sizes(const tide_bench_run *run, const tide_bench_subject *subject,
                                bool is_cpu, selection *ret, tide_error *error) {
    const tide_option_list *asked = &run->settings->sizes;
    const size_t *defaults = is_cpu ? subject->cpu_sizes : subject->cuda_sizes;
    for (size_t i = 0; i < asked->n; i++) {
        if (asked->counts[i] == 0 || asked->counts[i] > subject->max_size) {
            return tide_fail(error, TIDE_INVALID, "--sizes %s: a size must be between 1 and %zu",
                             asked->texts[i], subject->max_size);
        }
        ret->sizes[ret->n_sizes++] = (size_t)asked->counts[i];
    }
    if (asked->n == 0 && run->is_brief) {
        ret->sizes[ret->n_sizes++] = subject->brief_size;
    }
    if (ret->n_sizes > 0) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < TIDE_BENCH_DEFAULT_SIZES && defaults[i] != 0; i++) {
        ret->sizes[ret->n_sizes++] = defaults[i];
    }
    return TIDE_OK;
}

static tide_status select_cases(const tide_bench_run *run, const tide_bench_subject *subject,
                                selection *ret, tide_error *error) {
    bool is_cpu = strcmp(run->settings->device, "cpu") == 0;
    uint64_t batch = run->settings->batch;
    *ret = (selection){.n_sizes = 0};
    TIDE_TRY(select_sizes(run, subject, is_cpu, ret, error));
    if (batch != TIDE_BENCH_NOT_GIVEN && (batch == 0 || batch > subject->max_size)) {
        return tide_fail(error, TIDE_INVALID, "--batch must be between 1 and %zu",
                         subject->max_size);
    }
    ret->batch = batch != TIDE_BENCH_NOT_GIVEN ? (size_t)batch
                 : run->is_brief               ? subject->brief_batch
                 : is_cpu                      ? subject->cpu_batch
                                               : subject->cuda_batch;
    return tide_bench_choose_dtypes(run, subject->dtypes, subject->n_defaults, ret->dtypes,
                                    &ret->n_dtypes, error);
}

/* Measures a case that is set up, and adds its row. */
static tide_status measure_case(tide_bench_case *on, tide_bench_run *run,
                                const tide_bench_subject *subject, const char *label,
                                tide_bench_tables *tables, bool is_judged, double *ret_figure,
                                tide_error *error) {
    const tide_timing_subject timed = {.call = subject->call, .ctx = on};
    tide_timing timing;
    TIDE_TRY(
        tide_bench_place_measure(&on->place, &timed, (size_t)run->settings->calls, &timing, error));
    *ret_figure =
        tide_bench_tables_row(tables, run, label, on->dtype, on->work, &timing, is_judged);
    tide_timing_fini(&timing);
    return TIDE_OK;
}

static tide_status open_and_measure(tide_bench_case *on, tide_bench_run *run,
                                    const tide_bench_subject *subject, const char *label,
                                    tide_bench_tables *tables, bool is_judged, double *ret_figure,
                                    tide_error *error) {
    on->storage =
        tide_bench_precision(on->dtype) == TIDE_PRECISION_BF16_TRUE ? TIDE_BF16 : TIDE_FP32;
    TIDE_TRY(tide_bench_place_open(&on->place, run, on->dtype, subject->flushes, error));
    TIDE_TRY(subject->setup(on, error));
    return measure_case(on, run, subject, label, tables, is_judged, ret_figure, error);
}

/* *ret_figure is left as it is where the device has no memory for the case. */
static tide_status run_case(tide_bench_case *on, tide_bench_run *run,
                            const tide_bench_subject *subject, tide_bench_tables *tables,
                            bool is_judged, double *ret_figure, tide_error *error) {
    char label[48];
    (void)snprintf(label, sizeof(label), "%s=%zu", subject->size_name, on->size);
    tide_bench_show_case(run, subject->name, label, on->dtype);
    tide_status status =
        open_and_measure(on, run, subject, label, tables, is_judged, ret_figure, error);
    if (tide_bench_is_unfit(run, label, on->dtype, status, error)) {
        tide_bench_tables_unfit(tables, label, on->dtype);
        status = TIDE_OK;
    }
    if (status != TIDE_OK) {
        tide_error_prefix(error, "%s %s=%zu %s", subject->name, subject->size_name, on->size,
                          on->dtype);
    }
    for (size_t i = TIDE_BENCH_CASE_TENSORS; on->place.cache != NULL && i > 0; i--) {
        tide_tensor_drop(on->place.cache, &on->tensors[i - 1]);
    }
    tide_bench_place_close(&on->place);
    return status;
}

/* Adds the mean of the figures of the n sizes that fit, of n_asked. Only the mean is judged. */
static void add_mean(tide_bench_run *run, double sum, size_t n, size_t n_asked) {
    char of[32] = "";
    const tide_bench_record *last = &run->records->records[run->records->n_records - 1];
    tide_bench_record record = *last;
    if (n < n_asked) {
        (void)snprintf(of, sizeof(of), "%zu of ", n);
    }
    (void)snprintf(record.label, sizeof(record.label), "mean of %s%zu sizes", of, n_asked);
    record.actual = sum / (double)n;
    record.is_judged = true;
    record.n_samples = 0;
    record.n_calls = 0;
    record.us = tide_statistics_of(NULL, 0);
    const char *unit = strstr(record.metric, "GB/s") != NULL   ? "GB/s"
                       : strcmp(record.metric, "TFLOP/s") == 0 ? "TFLOP/s"
                                                               : "of the peak";
    tide_bench_add_record(run, &record);
    tide_report_say(run->report, "mean", "%s, %s: %.3f %s on average over %s%zu sizes", record.name,
                    record.dtype, record.actual, unit, of, n_asked);
}

static tide_status run_sizes(tide_bench_run *run, const tide_bench_subject *subject,
                             const selection *selected, const char *dtype,
                             tide_bench_tables *tables, tide_error *error) {
    bool is_single = selected->n_sizes == 1;
    size_t n_unfit_before = run->n_unfit;
    double sum = 0.0;
    for (size_t i = 0; i < selected->n_sizes; i++) {
        tide_bench_case on = {.size = selected->sizes[i], .batch = selected->batch, .dtype = dtype};
        double figure = 0.0;
        TIDE_TRY(run_case(&on, run, subject, tables, is_single, &figure, error));
        sum += figure;
    }
    size_t n_measured = selected->n_sizes - (run->n_unfit - n_unfit_before);
    if (!is_single && n_measured > 0) {
        add_mean(run, sum, n_measured, selected->n_sizes);
    }
    return TIDE_OK;
}

/* A share can only be judged if the peak is known. */
static tide_status check_share(const tide_bench_run *run, const tide_bench_subject *subject,
                               tide_error *error) {
    const tide_bench_records *all = run->records;
    bool is_judged = subject->rate == TIDE_RATE_SHARE && run->settings->target > 0.0;
    for (size_t i = 0; is_judged && i < all->n_records; i++) {
        if (strcmp(all->records[i].metric, "TFLOP/s") == 0) {
            return tide_fail(error, TIDE_INVALID,
                             "--target is a share of the device's peak rate, which is not known "
                             "for %s: give it with --peak-tflops",
                             all->environment.device_name);
        }
    }
    return TIDE_OK;
}

tide_status tide_bench_run_subject(tide_bench_run *run, const tide_bench_subject *subject,
                                   tide_error *error) {
    tide_bench_tables tables;
    selection selected;
    TIDE_TRY(select_cases(run, subject, &selected, error));
    if (selected.batch > 0) {
        tide_report_say(run->report, "batch", "rows of the input: %zu", selected.batch);
    }
    tide_bench_tables_begin(&tables, run, subject->rate, subject->name, subject->title, false);
    for (size_t i = 0; i < selected.n_dtypes; i++) {
        TIDE_TRY(run_sizes(run, subject, &selected, selected.dtypes[i], &tables, error));
    }
    return check_share(run, subject, error);
}
