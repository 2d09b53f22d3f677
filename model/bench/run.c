/* run.c - a measurement: the list of benchmarks, and the results that they add. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/bench/place_internal.h"
#include "model/bench/run_internal.h"
#include "model/bench/subject_internal.h"
#include "common/clock.h"
#include "model/peak.h"

const tide_bench *tide_bench_at(size_t i) {
    static const tide_bench *const ALL[] = {
        &tide_bench_allocator,   &tide_bench_recorder,      &tide_bench_symbols,
        &tide_bench_matmul,      &tide_bench_mlp,           &tide_bench_mlp_scaling,
        &tide_bench_mlp_norm,    &tide_bench_layernorm,     &tide_bench_gemv,
        &tide_bench_gather_gemv, &tide_bench_layer_forward, &tide_bench_layer_backward,
        &tide_bench_copy,        &tide_bench_suite};
    return i < sizeof(ALL) / sizeof(ALL[0]) ? ALL[i] : NULL;
}

unsigned tide_bench_takes(const tide_bench *bench) {
    return bench->subject != NULL ? tide_bench_subject_takes(bench->subject) : bench->takes;
}

tide_status tide_bench_run_create(const tide_hostmem *mem, const tide_bench_settings *settings,
                                  tide_bench_run **ret_run) {
    tide_bench_run *run = tide_hostmem_zeroed(mem, 1, sizeof(*run));
    if (run == NULL) {
        return TIDE_NO_MEMORY;
    }
    run->mem = mem;
    run->settings = settings;
    run->flush_bytes = -1;
    run->started_unix_us = tide_clock_unix_us();
    *ret_run = run;
    return TIDE_OK;
}

void tide_bench_run_destroy(tide_bench_run *run) {
    if (run == NULL) {
        return;
    }
    for (size_t i = 0; i < run->n_rows; i++) {
        tide_timing_fini(&run->rows[i].timing);
    }
    run->mem->release(run->mem->ctx, run);
}

tide_status tide_bench_run_measure(tide_bench_run *run, const tide_bench *bench,
                                   tide_error *error) {
    return bench->subject != NULL ? tide_bench_run_subject(run, bench->subject, error)
                                  : bench->run(run, error);
}

/* ---- sentences, groups and targets ---- */

void tide_bench_say(tide_bench_run *run, const char *key, const char *format, ...) {
    if (run->n_notes == TIDE_BENCH_MAX_NOTES) {
        return;
    }
    tide_bench_note *note = &run->notes[run->n_notes++];
    va_list arguments;
    note->key = key;
    note->is_below = run->heading.title != NULL;
    va_start(arguments, format);
    (void)vsnprintf(note->text, sizeof(note->text), format, arguments);
    va_end(arguments);
}

tide_bench_group *tide_bench_add_groups(tide_bench_run *run, const char *key, const char *title,
                                        size_t n, size_t base) {
    tide_bench_group *first = &run->groups[run->n_groups];
    run->sets[run->n_sets++] = (tide_bench_group_set){key, title, n, base};
    run->n_groups += n;
    return first;
}

void tide_bench_add_target(tide_bench_run *run, const char *what, const char *unit, double bound,
                           double measured) {
    if (run->n_targets < TIDE_BENCH_MAX_TARGETS) {
        tide_bench_target *target = &run->targets[run->n_targets++];
        *target = (tide_bench_target){.bound = bound, .measured = measured, .unit = unit};
        (void)snprintf(target->what, sizeof(target->what), "%s", what);
    }
}

bool tide_bench_target_is_met(const tide_bench_target *target) {
    return target->measured >= 0.0 && target->measured <= target->bound;
}

bool tide_bench_some_target_is_missed(const tide_bench_run *run) {
    for (size_t i = 0; i < run->n_targets; i++) {
        if (!tide_bench_target_is_met(&run->targets[i])) {
            return true;
        }
    }
    return false;
}

/* ---- rows ---- */

void tide_bench_show_case(const tide_bench_run *run, const char *name, const char *label,
                          const char *dtype) {
    char text[128];
    if (run->settings->show != NULL) {
        (void)snprintf(text, sizeof(text), "%s %s, %s", name, label, dtype);
        run->settings->show(run->settings->show_ctx, text);
    }
}

static tide_bench_row *new_row(tide_bench_run *run, const char *label, const char *dtype) {
    tide_bench_row *row = &run->rows[run->n_rows++];
    *row = (tide_bench_row){.dtype = dtype, .rate = -1.0, .share = -1.0, .ratio = -1.0};
    (void)snprintf(row->label, sizeof(row->label), "%s", label);
    return row;
}

static double times_1000(double ms) {
    return ms < 0.0 ? ms : ms * 1e3;
}

tide_bench_row *tide_bench_add_row(tide_bench_run *run, const char *label, const char *dtype,
                                   const tide_timing *timing) {
    tide_statistics ms = tide_statistics_of(timing->device_ms, timing->n_samples);
    tide_bench_row *row = new_row(run, label, dtype);
    row->timing = *timing;
    row->us = (tide_statistics){times_1000(ms.mean), times_1000(ms.std), times_1000(ms.median),
                                times_1000(ms.min), times_1000(ms.max)};
    return row;
}

/* The peak that the user or the vendor states; -1: unknown. */
static double peak_flops(const tide_bench_run *run, const char *dtype) {
    return run->settings->peak_tflops > 0.0
               ? run->settings->peak_tflops * 1e12
               : tide_stated_peak_flops(run->environment.device_name, tide_bench_precision(dtype));
}

double tide_bench_add_figure(tide_bench_run *run, const char *label, const char *dtype, double work,
                             const tide_timing *timing, bool is_judged) {
    const tide_bench_heading *heading = &run->heading;
    tide_bench_row *row = tide_bench_add_row(run, label, dtype, timing);
    const bool is_bytes = heading->rate == TIDE_RATE_BYTES;
    const double seconds = row->us.median * 1e-6;
    row->rate = seconds > 0.0 ? work / seconds / (is_bytes ? 1e9 : 1e12) : -1.0;
    row->share = tide_stated_peak_share(work, seconds, peak_flops(run, dtype));
    const bool is_share = heading->rate == TIDE_RATE_SHARE && row->share >= 0.0;
    tide_bench_record record = {.name = heading->name,
                                .metric = is_share   ? "flops_utilization"
                                          : is_bytes ? "memory_bandwidth(GB/s)"
                                                     : "TFLOP/s",
                                .dtype = dtype,
                                .actual = is_share ? row->share : row->rate,
                                .is_judged = is_judged,
                                .is_model = heading->is_model,
                                .n_samples = timing->n_samples,
                                .n_calls = timing->n_calls,
                                .us = row->us};
    (void)snprintf(record.label, sizeof(record.label), "%s", label);
    tide_bench_add_record(run, &record);
    return record.actual;
}

tide_bench_row *tide_bench_add_unfit(tide_bench_run *run, const char *label, const char *dtype,
                                     tide_status status, tide_error *error) {
    if (status != TIDE_DEVICE_OOM) {
        return NULL;
    }
    tide_bench_say(run, "outcome", "%s, %s: %.*s", label, dtype, (int)strcspn(error->message, "\n"),
                   error->message);
    *error = (tide_error){""};
    run->n_unfit++;
    tide_bench_row *row = new_row(run, label, dtype);
    row->is_unfit = true;
    return row;
}

/* ---- records ---- */

void tide_bench_add_record(tide_bench_run *run, const tide_bench_record *record) {
    if (run->n_records < TIDE_BENCH_MAX_RECORDS) {
        run->records[run->n_records++] = *record;
    }
}

bool tide_bench_record_is_missed(const tide_bench_run *run, const tide_bench_record *record) {
    return run->settings->target > 0.0 && record->is_judged &&
           !(record->actual >= run->settings->target);
}

double tide_bench_record_target(const tide_bench_run *run, const tide_bench_record *record) {
    const double given = record->is_judged ? run->settings->target : 0.0;
    return given > 0.0 ? given : record->stated_target;
}

bool tide_bench_record_target_is_stated(const tide_bench_run *run,
                                        const tide_bench_record *record) {
    return record->stated_target > 0.0 && !(record->is_judged && run->settings->target > 0.0);
}

bool tide_bench_is_stated_card(const char *device_name) {
    /* Drivers report "NVIDIA A100-SXM4-40GB" and "NVIDIA A100-PCIE-40GB"; some parts are
     * renamed. */
    return strstr(device_name, "A100-") != NULL && strstr(device_name, "-40GB") != NULL;
}

const char *tide_bench_record_dtype(const char *dtype) {
    return strcmp(dtype, "bf16") == 0   ? "bfloat16"
           : strcmp(dtype, "fp32") == 0 ? "float32"
                                        : dtype; /* PyTorch has no type for TF32 */
}

bool tide_bench_some_record_is_missed(const tide_bench_run *run) {
    for (size_t i = 0; i < run->n_records; i++) {
        if (tide_bench_record_is_missed(run, &run->records[i])) {
            return true;
        }
    }
    return false;
}
