/* What `tidemark profile` prints on stdout: a short summary of a single run, a table of a list. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/profile_internal.h"
#include "common/bytes.h"
#include "common/statistics.h"
#include "snapshot/summary.h"

enum { CELL_BYTES = 160 };

/* ---- times ---- */

static const tide_snapshot_phase *find_phase(const tide_snapshot *snapshot, const char *name) {
    for (size_t i = 0; i < snapshot->timing.n_phases; i++) {
        if (strcmp(snapshot->timing.phases[i].name, name) == 0) {
            return &snapshot->timing.phases[i];
        }
    }
    return NULL;
}

/* By the device's clock; by the host's where the device has none. */
static tide_statistics phase_statistics(const tide_snapshot_phase *phase) {
    tide_statistics device = tide_statistics_of(phase->device_ms, phase->n_samples);
    return device.mean >= 0.0 ? device : tide_statistics_of(phase->host_ms, phase->n_samples);
}

/* Tokens of a step over the mean time of a step; -1 without times. */
static double tokens_per_second(const tide_snapshot *snapshot) {
    const tide_snapshot_phase *step = find_phase(snapshot, "step");
    double mean_ms = step != NULL ? phase_statistics(step).mean : -1.0;
    double n_tokens = (double)snapshot->run.batch_size * (double)snapshot->run.context_length;
    return mean_ms > 0.0 ? n_tokens / (mean_ms * 1e-3) : -1.0;
}

static void print_timing(const tide_snapshot *snapshot, bool computes) {
    const tide_snapshot_timing *timing = &snapshot->timing;
    printf("\ntime of %" PRId64 " measured step%s after %" PRId64 " of warm-up",
           timing->measured_steps, timing->measured_steps == 1 ? "" : "s", timing->warmup_steps);
    if (!computes) {
        printf(": not computed (the virtual device has no times)\n");
        return;
    }
    printf(", mean ± std in ms\n");
    for (size_t i = 0; i < timing->n_phases; i++) {
        tide_statistics ms = phase_statistics(&timing->phases[i]);
        if (ms.mean < 0.0) {
            printf("  %-16s %12s\n", timing->phases[i].name, "no sample");
        } else {
            printf("  %-16s %12.2f ± %.2f\n", timing->phases[i].name, ms.mean, ms.std);
        }
    }
    double rate = tokens_per_second(snapshot);
    if (rate >= 0.0) {
        printf("  %-16s %12.0f\n", "tokens/s", rate);
    }
}

/* ---- a single run ---- */

/* "in step 1, backward, layer 11". */
static void print_where(const tide_summary_peak *peak) {
    if (peak->step >= 0) {
        printf(" in %s %" PRId64, peak->step_name, peak->step);
    }
    if (peak->phase[0] != '\0') {
        printf("%s %s", peak->step >= 0 ? "," : " in", peak->phase);
    }
}

static void print_peak(const tide_summary_device *device) {
    const tide_summary_peak *peak = &device->peak;
    char text[TIDE_BYTES_TEXT];
    printf("peak: %s", tide_bytes_format(peak->totals.allocated_bytes, text));
    printf(" (%" PRId64 " bytes) allocated", peak->totals.allocated_bytes);
    print_where(peak);
    printf("; %s reserved at most\n",
           tide_bytes_format(device->max[TIDE_MAX_RESERVED].bytes, text));
    for (size_t i = 0; i < peak->by_category.n_shares; i++) {
        const tide_share *share = &peak->by_category.shares[i];
        if (share->bytes > 0) {
            double percent = 100.0 * (double)share->bytes / (double)peak->totals.allocated_bytes;
            printf("  %-16s %12s %6.1f %%\n", share->label, tide_bytes_format(share->bytes, text),
                   percent);
        }
    }
    printf("  %-16s %12" PRId64 " bytes\n", "requested", peak->asked_bytes);
    printf("  %-16s %12" PRId64 " bytes\n", "rounding", peak->rounding_bytes);
    printf("  %-16s %12" PRId64 " bytes\n", "unsplit tails", peak->unsplit_bytes);
}

tide_status tide_profile_print_single(const tide_profile_plan *plan, tide_error *error) {
    const tide_profile_run *run = &plan->runs[0];
    printf("%s on %s\n", run->name, plan->device);
    if (plan->options->no_record) {
        char allocated[TIDE_BYTES_TEXT];
        char reserved[TIDE_BYTES_TEXT];
        printf("peak: %s allocated, %s reserved at most; allocations were not recorded\n",
               tide_bytes_format(run->allocated_peak_bytes, allocated),
               tide_bytes_format(run->reserved_peak_bytes, reserved));
    } else {
        tide_summary *summary = NULL;
        TIDE_TRY(tide_summary_create(run->snapshot, &summary, error));
        if (summary->n_devices > 0) {
            print_peak(&summary->devices[tide_summary_main_device(summary)]);
        }
        tide_summary_destroy(summary);
    }
    print_timing(run->snapshot, plan->kind != TIDE_DEVICE_VIRTUAL);
    if (run->is_saved) {
        printf("\nsnapshot: %s\n", run->path);
    }
    return TIDE_OK;
}

/* ---- a list ---- */

enum { COLUMN_RUN = 0, COLUMN_ALLOCATED, COLUMN_RESERVED, COLUMN_TIMES };

/* "12.34 ± 0.05", "not computed", "-". */
static void format_time(const tide_profile_run *run, const char *phase_name, bool computes,
                        char cell[CELL_BYTES]) {
    const tide_snapshot_phase *phase =
        run->snapshot != NULL ? find_phase(run->snapshot, phase_name) : NULL;
    tide_statistics ms = {.mean = -1.0};
    if (phase != NULL) {
        ms = phase_statistics(phase);
    }
    if (ms.mean >= 0.0) {
        snprintf(cell, CELL_BYTES, "%.2f ± %.2f", ms.mean, ms.std);
    } else {
        snprintf(cell, CELL_BYTES, "%s", phase != NULL && !computes ? "not computed" : "-");
    }
}

static void format_outcome(const tide_profile_run *run, char cell[CELL_BYTES]) {
    char first[TIDE_BYTES_TEXT];
    char second[TIDE_BYTES_TEXT];
    switch (run->outcome) {
    case TIDE_RUN_COMPLETED:
        snprintf(cell, CELL_BYTES, "fits");
        break;
    case TIDE_RUN_OOM:
        snprintf(cell, CELL_BYTES, "does not fit: asked for %s with %s free",
                 tide_bytes_format((int64_t)run->oom.requested_bytes, first),
                 tide_bytes_format((int64_t)run->oom.free_bytes, second));
        break;
    case TIDE_RUN_NO_HOST:
        snprintf(cell, CELL_BYTES, "not started: needs %s, the host has %s free",
                 tide_bytes_format((int64_t)run->need_bytes, first),
                 tide_bytes_format((int64_t)run->available_bytes, second));
        break;
    case TIDE_RUN_FAILED:
        snprintf(cell, CELL_BYTES, "failed: %s", tide_status_text(run->status));
        break;
    }
}

enum { N_TIMES = 4, N_COLUMNS = COLUMN_TIMES + N_TIMES + 2 };

static const char *const TIMES[N_TIMES] = {"forward", "backward", "optimizer", "step"};

static void fill_row(const tide_profile_plan *plan, const tide_profile_run *run,
                     char cells[N_COLUMNS][CELL_BYTES]) {
    char text[TIDE_BYTES_TEXT];
    bool was_run = run->allocated_peak_bytes > 0;
    snprintf(cells[COLUMN_RUN], CELL_BYTES, "%s", run->name);
    snprintf(cells[COLUMN_ALLOCATED], CELL_BYTES, "%s",
             tide_bytes_format(was_run ? run->allocated_peak_bytes : -1, text));
    snprintf(cells[COLUMN_RESERVED], CELL_BYTES, "%s",
             tide_bytes_format(was_run ? run->reserved_peak_bytes : -1, text));
    for (size_t i = 0; i < N_TIMES; i++) {
        format_time(run, TIMES[i], plan->kind != TIDE_DEVICE_VIRTUAL, cells[COLUMN_TIMES + i]);
    }
    double rate = run->snapshot != NULL ? tokens_per_second(run->snapshot) : -1.0;
    snprintf(cells[N_COLUMNS - 2], CELL_BYTES, rate >= 0.0 ? "%.0f" : "-", rate);
    format_outcome(run, cells[N_COLUMNS - 1]);
}

tide_status tide_profile_print_list(const tide_profile_plan *plan, tide_error *error) {
    static const char *const HEAD[N_COLUMNS] = {"run",     "allocated", "reserved",
                                                "forward", "backward",  "optimizer",
                                                "step",    "tokens/s",  "outcome"};
    (void)error;
    for (size_t c = 0; c < N_COLUMNS; c++) {
        printf("%s%s", c > 0 ? "  " : "", HEAD[c]);
    }
    printf("\n");
    for (size_t i = 0; i < plan->n_runs; i++) {
        char cells[N_COLUMNS][CELL_BYTES];
        fill_row(plan, &plan->runs[i], cells);
        for (size_t c = 0; c < N_COLUMNS; c++) {
            printf("%s%s", c > 0 ? "  " : "", cells[c]);
        }
        printf("\n");
    }
    return TIDE_OK;
}
