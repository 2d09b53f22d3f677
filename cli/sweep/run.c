/* Runs the cells of a sweep that have no row yet. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sweep/internal.h"
#include "common/clock.h"

/* ---- the time left ---- */

double tide_sweep_left_s(const tide_sweep_pace *pace) {
    if (!(pace->done_work > 0.0) || !(pace->done_s >= 0.0)) {
        return -1.0;
    }
    double left_s = pace->done_s / pace->done_work * pace->missing_work - pace->running_s;
    return left_s > 0.0 ? left_s : 0.0;
}

char *tide_sweep_format_s(double seconds, char text[32]) {
    double rounded = ceil(seconds);
    if (!(seconds >= 0.0)) {
        text[0] = '\0';
    } else if (rounded < 100.0) {
        (void)snprintf(text, 32, "%.0f s", rounded);
    } else if (rounded < 6000.0) {
        (void)snprintf(text, 32, "%.0f min", ceil(rounded / 60.0));
    } else {
        double minutes = ceil(rounded / 60.0);
        (void)snprintf(text, 32, "%.0f h %.0f min", floor(minutes / 60.0), fmod(minutes, 60.0));
    }
    return text;
}

/* ---- the cells ---- */

/* A running sweep. */
typedef struct runner {
    const tide_sweep_options *options; /* borrowed, like every pointer here */
    const char *device;                /* never "auto" */
    tide_device_kind kind;             /* of that device */
    tide_sweep *sweep;
    tide_sweep_file *file;
    tide_progress progress; /* on a terminal */
    tide_sweep_pace pace;   /* of what was run so far */
    size_t n_owned;         /* cells of this part */
    const char *name;       /* of the cell that is running */
    int64_t cell_begin_ns;  /* when it began */
} runner;

static double work_of(const runner *run, const tide_run_workload *workload) {
    return run->kind == TIDE_DEVICE_VIRTUAL ? 1.0 : tide_run_workload_flops(workload);
}

static void show(void *ctx) {
    runner *run = ctx;
    char left[32];
    run->pace.running_s = (double)(tide_clock_now_ns() - run->cell_begin_ns) * 1e-9;
    tide_sweep_format_s(tide_sweep_left_s(&run->pace), left);
    tide_progress_say(&run->progress, "cell %zu of %zu: %s, %.0f s%s%s%s",
                      run->n_owned - tide_sweep_n_missing(run->sweep) + 1, run->n_owned, run->name,
                      floor(run->pace.running_s), left[0] != '\0' ? "; about " : "", left,
                      left[0] != '\0' ? " left for all" : "");
}

tide_status tide_sweep_name_snapshot(const tide_sweep_options *options, const char *name,
                                     char path[TIDE_PATH_BYTES], tide_error *error) {
    const char *folder = options->snapshots;
    size_t n = strlen(folder);
    bool needs_slash = n > 0 && folder[n - 1] != '/';
    int n_written =
        snprintf(path, TIDE_PATH_BYTES, "%s%s%s.json.gz", folder, needs_slash ? "/" : "", name);
    if (n_written < 0 || n_written >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "--snapshots: the path is longer than %d bytes",
                         (int)TIDE_PATH_BYTES);
    }
    return TIDE_OK;
}

/* Where the snapshot goes, if one is wanted. */
static tide_status configure_snapshot(const runner *run, char path[TIDE_PATH_BYTES],
                                      tide_run_config *config, tide_error *error) {
    if (run->options->snapshots != NULL) {
        TIDE_TRY(tide_sweep_name_snapshot(run->options, run->name, path, error));
        config->recording.is_on = true;
        config->recording.snapshot_path = path;
    }
    return TIDE_OK;
}

static void run_cell(runner *run, const tide_run_config *config, tide_run_result *ret_result) {
    const tide_run_hooks hooks = {
        .ctx = run, .tick = show, .shall_stop = tide_interrupt_shall_stop};
    double work = work_of(run, &config->workload);
    tide_run_in_subprocess(config, &hooks, NULL, ret_result);
    run->pace.missing_work -= work;
    if (ret_result->outcome == TIDE_OUTCOME_COMPLETED) {
        run->pace.done_work += work;
        run->pace.done_s += (double)(tide_clock_now_ns() - run->cell_begin_ns) * 1e-9;
    }
}

/* The row of a cell; a configuration that is refused is not run. */
static tide_status make_row(runner *run, size_t cell, tide_sweep_row **ret_row, tide_error *error) {
    tide_run_config config;
    tide_error refusal = {""};
    char path[TIDE_PATH_BYTES];
    tide_status status = tide_sweep_configure(run->options, cell, run->device, &config, &refusal);
    tide_sweep_row *row = tide_sweep_row_create(cell, &config.workload);
    if (row == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (config.workload.kind == TIDE_RUN_PROGRAM) {
        (void)snprintf(row->device, sizeof(row->device), "%s", config.limits.device);
    }
    run->name = row->name;
    run->cell_begin_ns = tide_clock_now_ns();
    if (status != TIDE_OK) {
        tide_run_result_refuse(&row->result, status, refusal.message);
    } else {
        status = configure_snapshot(run, path, &config, error);
        if (status != TIDE_OK) {
            tide_sweep_row_destroy(row);
            return status;
        }
        run_cell(run, &config, &row->result);
    }
    if (run->options->grid.strip_private) {
        row->result.environment.host.name[0] = '\0';
    }
    *ret_row = row;
    return TIDE_OK;
}

/* Reports a failed cell at once, so that a long sweep can be stopped early. */
static void tell(runner *run, const tide_sweep_row *row) {
    if (tide_sweep_is_failed(row)) {
        tide_progress_end(&run->progress);
        tide_cli_note("sweep", "%s: %s: %s", row->name, tide_outcome_name((int)row->result.outcome),
                      row->result.reason);
    }
}

static double missing_work(const runner *run) {
    double work = 0.0;
    for (size_t i = 0; i < run->sweep->n_cells; i++) {
        tide_run_config config;
        if (tide_sweep_owns(run->sweep, i) && run->sweep->rows[i] == NULL &&
            tide_sweep_configure(run->options, i, run->device, &config, NULL) == TIDE_OK) {
            work += work_of(run, &config.workload);
        }
    }
    return work;
}

/* A program that fails at once will fail in every cell: the others are not tried then. */
static bool is_hopeless(runner *run, const tide_sweep_row *row, size_t n_run) {
    if (run->options->program.arguments == NULL || n_run > 1 || !tide_sweep_is_failed(row) ||
        tide_sweep_n_missing(run->sweep) == 0) {
        return false;
    }
    tide_cli_note("sweep", "the first cell failed, so that no other was tried: --resume goes on "
                           "behind it, and with --retry begins with it");
    return true;
}

static tide_status run_cells(runner *run, tide_error *error) {
    tide_sweep *sweep = run->sweep;
    size_t n_run = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        tide_sweep_row *row = NULL;
        if (!tide_sweep_owns(sweep, i) || sweep->rows[i] != NULL) {
            continue;
        }
        if (tide_interrupt_signal() != 0) {
            return TIDE_OK;
        }
        TIDE_TRY(make_row(run, i, &row, error));
        tide_status status = TIDE_OK;
        if (row->result.outcome == TIDE_OUTCOME_STOPPED) {
            tide_sweep_row_destroy(row);
            return TIDE_OK;
        }
        status = tide_sweep_file_append(run->file, row, error);
        if (status == TIDE_OK) {
            status = tide_sweep_add(sweep, row, error);
        }
        if (status != TIDE_OK) {
            tide_sweep_row_destroy(row);
            return status;
        }
        tell(run, row);
        if (is_hopeless(run, row, ++n_run)) {
            return TIDE_OK;
        }
    }
    return TIDE_OK;
}

tide_status tide_sweep_run(const tide_sweep_options *options, const char *device,
                           tide_device_kind kind, tide_sweep *sweep, tide_sweep_file *file,
                           tide_error *error) {
    runner run = {.options = options,
                  .device = device,
                  .kind = kind,
                  .sweep = sweep,
                  .file = file,
                  .n_owned = tide_sweep_n_owned(sweep)};
    run.pace.missing_work = missing_work(&run);
    tide_progress_begin(&run.progress, "sweep");
    tide_status status = run_cells(&run, error);
    tide_progress_end(&run.progress);
    return status;
}
