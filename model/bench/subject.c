/* subject.c - benchmarks of one operation at several sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/bench/subject_internal.h"

/* Random numbers of the tensors of a case. */
enum { SEED = 8 };

tide_status tide_bench_case_alloc(tide_bench_case *on, size_t i, tide_dtype dtype, size_t n,
                                  tide_error *error) {
    char name[16];
    (void)snprintf(name, sizeof(name), "bench.%zu", i);
    return tide_tensor_alloc(on->place.cache, &on->tensors[i], n, dtype, TIDE_ACTIVATION, name,
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

tide_status tide_bench_case_fill(tide_bench_case *on, size_t i, tide_dtype dtype, size_t n,
                                 double value, tide_error *error) {
    tide_ops *ops = on->place.ops;
    TIDE_TRY(tide_bench_case_alloc(on, i, dtype, n, error));
    const tide_fill call = {.out = on->tensors[i].array, .value = value, .n = n};
    return ops->table->fill(ops, &call, error);
}

static tide_status refuse_dtype(const char *wanted, const char *const *valid, tide_error *error) {
    char names[64] = "";
    for (size_t i = 0; i < TIDE_BENCH_MAX_DTYPES && valid[i] != NULL; i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "", valid[i]);
    }
    return tide_fail(error, TIDE_INVALID, "--dtype %s: this benchmark computes only %s", wanted,
                     names);
}

tide_status tide_bench_choose_dtypes(const tide_bench_run *run, const char *const *valid,
                                     size_t n_defaults,
                                     const char *ret_dtypes[TIDE_BENCH_MAX_DTYPES], size_t *ret_n,
                                     tide_error *error) {
    const tide_bench_settings *settings = run->settings;
    const char *const *wanted = settings->n_dtypes > 0 ? settings->dtypes : valid;
    const size_t n = settings->n_dtypes > 0 ? settings->n_dtypes : n_defaults;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < TIDE_BENCH_MAX_DTYPES && valid[k] != NULL && strcmp(valid[k], wanted[i]) != 0) {
            k++;
        }
        if (k == TIDE_BENCH_MAX_DTYPES || valid[k] == NULL) {
            return refuse_dtype(wanted[i], valid, error);
        }
        ret_dtypes[i] = valid[k]; /* static, unlike the caller's */
    }
    *ret_n = n;
    return TIDE_OK;
}

unsigned tide_bench_subject_takes(const tide_bench_subject *subject) {
    return TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_SIZES | TIDE_BENCH_TAKES_TARGET |
           (subject->dtypes[1] != NULL ? TIDE_BENCH_TAKES_DTYPE : 0u) |
           (subject->sizes->cuda_batch > 0 ? TIDE_BENCH_TAKES_BATCH : 0u) |
           (subject->flushes ? TIDE_BENCH_TAKES_FLUSH : 0u) |
           (subject->rate == TIDE_RATE_SHARE ? TIDE_BENCH_TAKES_PEAK : 0u);
}

/* The sizes, types and batch of a subject that are measured. */
typedef struct selection {
    size_t sizes[TIDE_BENCH_MAX_SIZES];
    size_t n_sizes;
    size_t batch;
    const char *dtypes[TIDE_BENCH_MAX_DTYPES]; /* static */
    size_t n_dtypes;
} selection;

static tide_status select_sizes(const tide_bench_run *run, const tide_bench_sizes *sizes,
                                bool is_cpu, selection *ret, tide_error *error) {
    const tide_bench_settings *settings = run->settings;
    const size_t *defaults = is_cpu ? sizes->cpu : sizes->cuda;
    for (size_t i = 0; i < settings->n_sizes; i++) {
        const uint64_t size = settings->sizes[i];
        if (size == 0 || size > sizes->most) {
            return tide_fail(error, TIDE_INVALID,
                             "--sizes %" PRIu64 ": a size must be between 1 and %zu", size,
                             sizes->most);
        }
        ret->sizes[ret->n_sizes++] = (size_t)size;
    }
    if (ret->n_sizes == 0 && settings->is_brief) {
        ret->sizes[ret->n_sizes++] = sizes->brief;
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
    const tide_bench_sizes *sizes = subject->sizes;
    bool is_cpu = strcmp(run->settings->device, "cpu") == 0;
    uint64_t batch = run->settings->batch;
    *ret = (selection){.n_sizes = 0};
    TIDE_TRY(select_sizes(run, sizes, is_cpu, ret, error));
    if (batch != TIDE_BENCH_NOT_GIVEN && (batch == 0 || batch > sizes->most)) {
        return tide_fail(error, TIDE_INVALID, "--batch must be between 1 and %zu", sizes->most);
    }
    ret->batch = batch != TIDE_BENCH_NOT_GIVEN ? (size_t)batch
                 : run->settings->is_brief     ? sizes->brief_batch
                 : is_cpu                      ? sizes->cpu_batch
                                               : sizes->cuda_batch;
    return tide_bench_choose_dtypes(run, subject->dtypes, subject->n_defaults, ret->dtypes,
                                    &ret->n_dtypes, error);
}

static tide_status measure_case(tide_bench_case *on, tide_bench_run *run,
                                const tide_bench_subject *subject, tide_timing *ret_timing,
                                tide_error *error) {
    const tide_timing_subject timed = {.call = subject->call, .ctx = on};
    on->storage =
        tide_bench_precision(on->dtype) == TIDE_PRECISION_BF16_TRUE ? TIDE_BF16 : TIDE_FP32;
    TIDE_TRY(tide_bench_place_open(&on->place, run, on->dtype, subject->flushes, error));
    TIDE_TRY(subject->setup(on, error));
    return tide_bench_place_measure(&on->place, &timed, (size_t)run->settings->calls, ret_timing,
                                    error);
}

static void close_case(tide_bench_case *on) {
    for (size_t i = TIDE_BENCH_CASE_TENSORS; on->place.cache != NULL && i > 0; i--) {
        tide_tensor_drop(on->place.cache, &on->tensors[i - 1]);
    }
    tide_bench_place_close(&on->place);
}

/* *ret_figure is unchanged if the device has no memory for the case. */
static tide_status run_case(tide_bench_case *on, tide_bench_run *run,
                            const tide_bench_subject *subject, bool is_judged, double *ret_figure,
                            tide_error *error) {
    char label[TIDE_BENCH_LABEL_BYTES];
    tide_timing timing;
    (void)snprintf(label, sizeof(label), "%s=%zu", subject->sizes->name, on->size);
    tide_bench_show_case(run, subject->name, label, on->dtype);
    tide_status status = measure_case(on, run, subject, &timing, error);
    if (status == TIDE_OK) {
        *ret_figure = tide_bench_add_figure(run, label, on->dtype, on->work, &timing, is_judged);
    } else if (tide_bench_add_unfit(run, label, on->dtype, status, error) != NULL) {
        status = TIDE_OK;
    } else {
        tide_error_prefix(error, "%s %s %s", subject->name, label, on->dtype);
    }
    close_case(on);
    return status;
}

/* Adds the mean of the figures of the n sizes that fit, of n_asked. Only the mean is judged. */
static void add_mean(tide_bench_run *run, double sum, size_t n, size_t n_asked) {
    char of[32] = "";
    tide_bench_record record = run->records[run->n_records - 1];
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
    tide_bench_say(run, "mean", "%s, %s: %.3f %s on average over %s%zu sizes", record.name,
                   record.dtype, record.actual, unit, of, n_asked);
}

/* The target that the experiment's authors state for the record. 0: none, also if other sizes than
 * theirs are measured, or if the figure is of another kind. */
static double stated_target(const tide_bench_run *run, const tide_bench_subject *subject,
                            const tide_bench_record *record) {
    const tide_bench_settings *settings = run->settings;
    const bool is_rate = strcmp(record->metric, "TFLOP/s") == 0;
    if (settings->n_sizes > 0 || settings->batch != TIDE_BENCH_NOT_GIVEN || is_rate) {
        return 0.0;
    }
    for (size_t i = 0; i < TIDE_BENCH_MAX_DTYPES && subject->stated[i].dtype != NULL; i++) {
        if (strcmp(subject->stated[i].dtype, record->dtype) == 0) {
            return subject->stated[i].target;
        }
    }
    return 0.0;
}

/* Gives the last record, which is judged, its stated target, and compares them in a sentence. */
static void compare_with_stated(tide_bench_run *run, const tide_bench_subject *subject) {
    tide_bench_record *record = &run->records[run->n_records - 1];
    const char *device = run->environment.device_name;
    record->stated_target = stated_target(run, subject, record);
    if (record->stated_target <= 0.0 || run->settings->is_brief) {
        return;
    }
    const bool is_met = record->actual >= record->stated_target;
    const bool is_same = tide_bench_is_stated_card(device);
    tide_bench_say(
        run, "stated_target",
        "%s, %s: %.3f %s the target of %g, which is stated for the " TIDE_BENCH_STATED_CARD "%s%s",
        record->name, tide_bench_record_dtype(record->dtype), record->actual,
        is_met ? "reaches" : "misses", record->stated_target,
        is_same ? "" : "; this device is another one: ", is_same ? "" : device);
}

static tide_status run_sizes(tide_bench_run *run, const tide_bench_subject *subject,
                             const selection *selected, const char *dtype, tide_error *error) {
    bool is_single = selected->n_sizes == 1;
    size_t n_unfit_before = run->n_unfit;
    double sum = 0.0;
    for (size_t i = 0; i < selected->n_sizes; i++) {
        tide_bench_case on = {.size = selected->sizes[i], .batch = selected->batch, .dtype = dtype};
        double figure = 0.0;
        TIDE_TRY(run_case(&on, run, subject, is_single, &figure, error));
        sum += figure;
    }
    size_t n_measured = selected->n_sizes - (run->n_unfit - n_unfit_before);
    if (!is_single && n_measured > 0) {
        add_mean(run, sum, n_measured, selected->n_sizes);
    }
    if (n_measured == selected->n_sizes) { /* the target applies to all of them */
        compare_with_stated(run, subject);
    }
    return TIDE_OK;
}

/* A share can only be judged if the peak is known. */
static tide_status check_share(const tide_bench_run *run, const tide_bench_subject *subject,
                               tide_error *error) {
    bool is_judged = subject->rate == TIDE_RATE_SHARE && run->settings->target > 0.0;
    for (size_t i = 0; is_judged && i < run->n_records; i++) {
        if (strcmp(run->records[i].metric, "TFLOP/s") == 0) {
            return tide_fail(error, TIDE_INVALID,
                             "--target is a share of the device's peak rate, which is not known "
                             "for %s: give it with --peak-tflops",
                             run->environment.device_name);
        }
    }
    return TIDE_OK;
}

tide_status tide_bench_run_subject(tide_bench_run *run, const tide_bench_subject *subject,
                                   tide_error *error) {
    _Static_assert(TIDE_BENCH_MAX_SIZES * TIDE_BENCH_MAX_DTYPES <= TIDE_BENCH_MAX_ROWS,
                   "each case has a row");
    selection selected;
    TIDE_TRY(select_cases(run, subject, &selected, error));
    if (selected.batch > 0) {
        tide_bench_say(run, "batch", "rows of the input: %zu", selected.batch);
    }
    run->heading =
        (tide_bench_heading){.name = subject->name, .title = subject->title, .rate = subject->rate};
    for (size_t i = 0; i < selected.n_dtypes; i++) {
        TIDE_TRY(run_sizes(run, subject, &selected, selected.dtypes[i], error));
    }
    return check_share(run, subject, error);
}
