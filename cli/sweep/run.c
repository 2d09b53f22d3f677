/* Runs the cells of a sweep that have no row yet, several at a time. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sweep/internal.h"
#include "common/clock.h"

/* ---- the remaining time ---- */

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

enum { TICK_MS = 100 };

/* A cell that is running. */
typedef struct job {
    tide_run_process *process; /* owned; NULL: the configuration was refused, as stated in the
                                  row */
    tide_sweep_row *row;       /* owned; NULL: no cell is running here */
    double work;               /* of the cell */
    int64_t begin_ns;          /* when it began */
} job;

/* A running sweep. */
typedef struct runner {
    const tide_sweep_options *options; /* borrowed, like every pointer here */
    const char *device;                /* never "auto" */
    tide_device_kind kind;             /* of that device */
    tide_sweep *sweep;
    tide_sweep_file *file;
    tide_progress progress; /* on a terminal */
    tide_sweep_pace pace;   /* of the cells run so far */
    size_t n_owned;         /* cells of this part */
    size_t n_run;           /* cells that were run so far */
    size_t next;            /* no cell before this one has yet to be begun */
    job jobs[TIDE_SWEEP_MAX_JOBS];
    size_t n_jobs; /* number of jobs that may be used */
} runner;

static double work_of(const runner *run, const tide_run_workload *workload) {
    return run->kind == TIDE_DEVICE_VIRTUAL ? 1.0 : tide_run_workload_flops(workload);
}

/* The number of running cells, and the one that has been running for the longest time. */
static size_t count_running(const runner *run, const job **ret_oldest) {
    size_t n = 0;
    for (size_t i = 0; i < run->n_jobs; i++) {
        const job *one = &run->jobs[i];
        if (one->row != NULL) {
            *ret_oldest = n == 0 || one->begin_ns < (*ret_oldest)->begin_ns ? one : *ret_oldest;
            n++;
        }
    }
    return n;
}

static void show(runner *run) {
    char left[32];
    const job *oldest = NULL;
    size_t n_running = count_running(run, &oldest);
    if (n_running == 0) {
        return;
    }
    int64_t now_ns = tide_clock_now_ns();
    run->pace.running_s = 0.0;
    for (size_t i = 0; i < run->n_jobs; i++) {
        const job *one = &run->jobs[i];
        run->pace.running_s += one->row != NULL ? (double)(now_ns - one->begin_ns) * 1e-9 : 0.0;
    }
    double left_s = tide_sweep_left_s(&run->pace);
    tide_sweep_format_s(left_s < 0.0 ? left_s : left_s / (double)run->n_jobs, left);
    tide_progress_say(&run->progress, "cell %zu of %zu: %s, %.0f s%s%s%s",
                      run->n_owned - tide_sweep_n_missing(run->sweep) + 1, run->n_owned,
                      oldest->row->name, floor((double)(now_ns - oldest->begin_ns) * 1e-9),
                      left[0] != '\0' ? "; about " : "", left,
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

/* The path of the snapshot, if requested. */
static tide_status configure_snapshot(const runner *run, const char *name,
                                      char path[TIDE_PATH_BYTES], tide_run_config *config,
                                      tide_error *error) {
    if (run->options->snapshots != NULL) {
        TIDE_TRY(tide_sweep_name_snapshot(run->options, name, path, error));
        config->recording.is_on = true;
        config->recording.snapshot_path = path;
    }
    return TIDE_OK;
}

/* Begins a cell; a configuration that is refused is not run. */
static tide_status begin_cell(runner *run, size_t cell, job *ret, tide_error *error) {
    tide_run_config config;
    tide_error refusal = {""};
    char path[TIDE_PATH_BYTES];
    tide_status status = tide_sweep_configure(run->options, cell, run->device, &config, &refusal);
    tide_sweep_row *row = tide_sweep_row_create(cell, &config.workload);
    if (row == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_sweep_name_cell(run->options, cell, &config.workload, row->name);
    if (tide_run_workload_is_program(&config.workload)) {
        (void)snprintf(row->device, sizeof(row->device), "%s", config.limits.device);
    }
    *ret = (job){.row = row, .begin_ns = tide_clock_now_ns()};
    if (status != TIDE_OK) {
        tide_run_result_refuse(&row->result, status, refusal.message);
        return TIDE_OK;
    }
    status = configure_snapshot(run, row->name, path, &config, error);
    if (status == TIDE_OK) {
        ret->work = work_of(run, &config.workload);
        ret->process = tide_run_process_start(&config, NULL);
        status = ret->process != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    }
    if (status != TIDE_OK) {
        tide_sweep_row_destroy(row);
        *ret = (job){.row = NULL};
    }
    return status;
}

/* Completes the row of a cell whose process has written everything. */
static void finish_cell(runner *run, job *of) {
    tide_run_result *result = &of->row->result;
    if (of->process != NULL) {
        tide_run_process_finish(of->process, tide_interrupt_signal() != 0, result);
        of->process = NULL;
        run->pace.missing_work -= of->work;
        if (result->outcome == TIDE_OUTCOME_COMPLETED) {
            run->pace.done_work += of->work;
            run->pace.done_s += (double)(tide_clock_now_ns() - of->begin_ns) * 1e-9;
        }
    }
    if (run->options->grid.strip_private) {
        result->environment.host.name[0] = '\0';
    }
}

/* Reports a failed cell immediately, so a long sweep can be stopped early. */
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

/* A program that fails immediately will fail in every cell, so the others are not tried. */
static bool is_hopeless(runner *run, const tide_sweep_row *row) {
    if (run->options->program.arguments == NULL || run->n_run > 1 || !tide_sweep_is_failed(row) ||
        tide_sweep_n_missing(run->sweep) == 0) {
        return false;
    }
    tide_cli_note("sweep", "the first cell failed, so that no other was tried: --resume goes on "
                           "after it, and with --retry begins with it");
    return true;
}

/* Keeps the row of a cell that has ended, unless it was stopped. *ret_goes_on: whether to begin
 * others. */
static tide_status keep_row(runner *run, job *of, bool *ret_goes_on, tide_error *error) {
    tide_sweep_row *row = of->row;
    of->row = NULL;
    *ret_goes_on = row->result.outcome != TIDE_OUTCOME_STOPPED;
    if (!*ret_goes_on) {
        tide_sweep_row_destroy(row);
        return TIDE_OK;
    }
    tide_status status = tide_sweep_file_append(run->file, row, error);
    if (status == TIDE_OK) {
        status = tide_sweep_add(run->sweep, row, error);
    }
    if (status != TIDE_OK) {
        tide_sweep_row_destroy(row);
        return status;
    }
    run->n_run++;
    tell(run, row);
    *ret_goes_on = !is_hopeless(run, row);
    return TIDE_OK;
}

/* The next cell that has no row and is not running; n_cells if there is none. */
static size_t next_cell(runner *run) {
    const tide_sweep *sweep = run->sweep;
    while (run->next < sweep->n_cells &&
           (!tide_sweep_owns(sweep, run->next) || sweep->rows[run->next] != NULL)) {
        run->next++;
    }
    return run->next < sweep->n_cells ? run->next++ : sweep->n_cells;
}

/* Begins a cell in each free place. The first cell of a command runs without others, because if it
 * fails, no other is tried. */
static tide_status begin_cells(runner *run, tide_error *error) {
    bool is_first = run->options->program.arguments != NULL && run->n_run == 0;
    for (size_t i = 0; i < (is_first ? 1 : run->n_jobs); i++) {
        if (run->jobs[i].row != NULL) {
            continue;
        }
        size_t cell = next_cell(run);
        if (cell == run->sweep->n_cells) {
            return TIDE_OK;
        }
        TIDE_TRY(begin_cell(run, cell, &run->jobs[i], error));
    }
    return TIDE_OK;
}

/* Waits until a subprocess writes, at most for a tick. Stores in *ret_ended a place whose cell has
 * ended; NULL if none has. */
static void attend(runner *run, job **ret_ended) {
    struct pollfd waits[TIDE_SWEEP_MAX_JOBS];
    *ret_ended = NULL;
    for (size_t i = 0; i < run->n_jobs; i++) {
        const job *one = &run->jobs[i];
        bool is_running = one->row != NULL && one->process != NULL;
        waits[i] = (struct pollfd){.fd = is_running ? tide_run_process_fd(one->process) : -1,
                                   .events = POLLIN};
        if (one->row != NULL && waits[i].fd < 0) { /* refused, or could not be started */
            *ret_ended = &run->jobs[i];
            return;
        }
    }
    int n_ready = poll(waits, (nfds_t)run->n_jobs, TICK_MS);
    for (size_t i = 0; i < run->n_jobs; i++) {
        job *one = &run->jobs[i];
        if (one->row != NULL && tide_interrupt_signal() != 0) {
            tide_run_process_stop(one->process);
        }
        if (n_ready > 0 && waits[i].revents != 0 && !tide_run_process_attend(one->process) &&
            *ret_ended == NULL) {
            *ret_ended = one; /* another one that has ended is found in the next round */
        }
    }
    show(run);
}

/* Ends the cells that are still running after a failure; they have no rows. */
static void abandon_cells(runner *run) {
    for (size_t i = 0; i < run->n_jobs; i++) {
        job *one = &run->jobs[i];
        if (one->process != NULL) {
            tide_run_process_stop(one->process);
            tide_run_process_finish(one->process, true, &one->row->result);
        }
        tide_sweep_row_destroy(one->row);
        *one = (job){.row = NULL};
    }
}

static tide_status run_cells(runner *run, tide_error *error) {
    bool goes_on = true;
    tide_status status = TIDE_OK;
    while (status == TIDE_OK) {
        job *ended = NULL;
        const job *oldest = NULL;
        if (goes_on && tide_interrupt_signal() == 0) {
            status = begin_cells(run, error);
        }
        if (status != TIDE_OK || count_running(run, &oldest) == 0) {
            break;
        }
        attend(run, &ended);
        if (ended != NULL) {
            bool others = true;
            finish_cell(run, ended);
            status = keep_row(run, ended, &others, error);
            goes_on = goes_on && others;
        }
    }
    abandon_cells(run);
    return status;
}

tide_status tide_sweep_run(const tide_sweep_options *options, const char *device,
                           tide_device_kind kind, tide_sweep *sweep, tide_sweep_file *file,
                           tide_error *error) {
    runner run = {.options = options,
                  .device = device,
                  .kind = kind,
                  .sweep = sweep,
                  .file = file,
                  .n_owned = tide_sweep_n_owned(sweep),
                  .n_jobs = (size_t)options->n_jobs};
    run.pace.missing_work = missing_work(&run);
    tide_progress_begin(&run.progress, "sweep");
    tide_status status = run_cells(&run, error);
    tide_progress_end(&run.progress);
    return status;
}
