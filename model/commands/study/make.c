/* Making a study: its cells are filled in from its preset, run, and reported. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "model/commands/study/internal.h"
#include "common/text/plural.h"

enum { DEFAULT_STEPS = 10 };

/* ---- the cells ---- */

static size_t n_warmups(const tide_study_options *options) {
    return options->warmups.n > 0 ? options->warmups.n : 1;
}

static tide_status configure_cell(tide_study_work *work, size_t number, tide_error *error) {
    const tide_study_options *options = work->options;
    tide_study_cell *cell = &work->cells[number];
    size_t warmup = number % n_warmups(options);
    tide_run_result_init(&cell->result);
    TIDE_TRY(tide_run_options_configure(&options->run, number / n_warmups(options), work->device,
                                        &cell->config, error));
    tide_workload_config *model = tide_run_model_of(&cell->config.workload);
    if (options->warmups.n > 0) {
        model->warmup_steps = (size_t)options->warmups.counts[warmup];
    }
    model->trace_kernels = work->study->traces_kernels && work->kind == TIDE_DEVICE_CUDA;
    model->times_all_scopes = work->study->traces_kernels;
    cell->config.recording.is_on = work->study->kind == TIDE_STUDY_RECORDED;
    cell->config.recording.keeps_snapshot = work->study->kind == TIDE_STUDY_RECORDED;
    cell->config.recording.forecasts_time = work->study->kind == TIDE_STUDY_SUBPROCESS;
    tide_run_workload_name(&cell->config.workload, cell->name);
    return tide_study_repeats_init(work, cell, error);
}

static tide_status configure_cells(tide_study_work *work, tide_error *error) {
    work->n_cells = tide_run_options_n_runs(&work->options->run) * n_warmups(work->options);
    if (work->n_cells > TIDE_STUDY_MAX_CELLS) {
        return tide_fail(error, TIDE_LIMIT,
                         "the study has %zu runs, more than the limit of %d: shorten the lists",
                         work->n_cells, (int)TIDE_STUDY_MAX_CELLS);
    }
    work->cells = tide_hostmem_zeroed(tide_hostmem_default(), work->n_cells, sizeof(*work->cells));
    if (work->cells == NULL) {
        size_t n_wanted = work->n_cells;
        work->n_cells = 0;
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu %s", n_wanted,
                         tide_plural(n_wanted, "run", "runs"));
    }
    for (size_t i = 0; i < work->n_cells; i++) {
        TIDE_TRY(configure_cell(work, i, error));
    }
    return TIDE_OK;
}

static void run_cell(const tide_study_work *work, tide_study_cell *cell) {
    const tide_run_hooks hooks = {.shall_stop = tide_interrupt_shall_stop};
    if (work->study->kind == TIDE_STUDY_RECORDED) {
        tide_run_here(&cell->config, &hooks, &cell->result);
    } else if (cell->repeats != NULL) {
        tide_study_run_repeats(work, &hooks, cell);
    } else {
        tide_run_in_subprocess(&cell->config, &hooks, NULL, &cell->result);
    }
}

static void run_cells(tide_study_work *work) {
    tide_progress progress;
    tide_progress_begin(&progress, work->study->name);
    for (; work->n_run < work->n_cells && tide_interrupt_signal() == 0; work->n_run++) {
        tide_progress_update(&progress, work->n_run, work->n_cells);
        run_cell(work, &work->cells[work->n_run]);
        if (work->cells[work->n_run].result.outcome == TIDE_OUTCOME_STOPPED) {
            break;
        }
    }
    tide_progress_end(&progress);
}

/* ---- the study ---- */

/* Fills in the values that the command line leaves open. */
static void fill(const tide_study *study, tide_study_options *options) {
    tide_run_options *run = &options->run;
    study->fill(options);
    run->device = run->device != NULL ? run->device : study->device;
    if (study->is_made_of_others) {
        return;
    }
    run->seed = run->seed != TIDE_NOT_GIVEN ? run->seed : 0;
    run->steps = run->steps != TIDE_NOT_GIVEN ? run->steps : DEFAULT_STEPS;
}

static tide_status check_repeats(const tide_study *study, const tide_study_options *options,
                                 tide_error *error) {
    if (options->repeats != 1 && study->kind != TIDE_STUDY_SUBPROCESS) {
        return tide_fail(error, TIDE_INVALID,
                         "--repeat: study %s runs each case once; studies end-to-end, warmup and "
                         "precision repeat theirs",
                         study->name);
    }
    if (options->repeats < 1 || options->repeats > TIDE_STUDY_MAX_REPEATS) {
        return tide_fail(error, TIDE_LIMIT, "--repeat must be 1 to %d",
                         (int)TIDE_STUDY_MAX_REPEATS);
    }
    return TIDE_OK;
}

static tide_status check(const tide_study *study, const tide_study_options *options,
                         tide_error *error) {
    TIDE_TRY(check_repeats(study, options, error));
    if (options->warmups.n > 1 && !study->takes_warmups && !study->is_made_of_others) {
        return tide_fail(error, TIDE_INVALID,
                         "--warmup: study %s takes one value; use study warmup to compare several",
                         study->name);
    }
    for (size_t i = 0; i < options->warmups.n; i++) {
        if (options->warmups.counts[i] > TIDE_RUN_MAX_STEPS) {
            return tide_fail(error, TIDE_LIMIT, "--warmup may be at most %d",
                             (int)TIDE_RUN_MAX_STEPS);
        }
    }
    for (size_t i = 0; study->needs_backward && i < options->run.modes.n; i++) {
        if (strcmp(options->run.modes.texts[i], tide_mode_name(TIDE_FORWARD)) == 0) {
            return tide_fail(error, TIDE_INVALID,
                             "--mode forward: study %s is about backward, which that mode does not "
                             "run; use forward-backward or train",
                             study->name);
        }
    }
    return study->is_made_of_others ? TIDE_OK : tide_run_options_check(&options->run, error);
}

static tide_status make(tide_study_work *work, tide_error *error) {
    const char *device = work->options->run.device;
    if (work->study->kind != TIDE_STUDY_NOT_RUN) {
        TIDE_TRY(tide_pick_device("study", device, work->device, &work->kind, error));
    }
    if (work->study->needs_times && work->kind == TIDE_DEVICE_VIRTUAL) {
        return tide_fail(error, TIDE_INVALID,
                         "--device %s computes nothing, so nothing takes time there: study %s "
                         "needs cpu or cuda",
                         work->device, work->study->name);
    }
    if (!work->study->is_made_of_others) {
        TIDE_TRY(configure_cells(work, error));
    }
    if (work->study->kind != TIDE_STUDY_NOT_RUN) {
        tide_interrupt_begin(
            "tidemark study: stopping; finished runs are still reported; Ctrl-C again "
            "ends at once\n");
        run_cells(work);
        tide_study_say_setting(work);
    }
    TIDE_TRY(work->study->report(work, error));
    if (work->study->kind != TIDE_STUDY_NOT_RUN) {
        tide_study_say_failures(work);
    }
    return TIDE_OK;
}

tide_status tide_study_make(const tide_study *study, tide_study_options *options,
                            tide_study_work *ret_work, tide_error *error) {
    *ret_work = (tide_study_work){.study = study, .options = options};
    tide_report_init(&ret_work->report, "study");
    fill(study, options);
    TIDE_TRY(check(study, options, error));
    return make(ret_work, error);
}

void tide_study_work_fini(tide_study_work *work) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; i < work->n_cells; i++) {
        tide_run_result_fini(&work->cells[i].result);
        tide_study_repeats_fini(work, &work->cells[i]);
    }
    mem->release(mem->ctx, work->cells);
    work->cells = NULL;
    work->n_cells = 0;
}

int tide_study_exit_status(const tide_study_work *work) {
    int status = work->parts_status;
    if (tide_interrupt_signal() != 0) {
        return TIDE_EXIT_SIGNAL + tide_interrupt_signal();
    }
    for (size_t i = 0; i < work->n_run; i++) {
        switch (work->cells[i].result.outcome) {
        case TIDE_OUTCOME_COMPLETED:
        case TIDE_OUTCOME_UNSUPPORTED:
            break;
        case TIDE_OUTCOME_OOM:
        case TIDE_OUTCOME_NO_HOST:
            status = TIDE_EXIT_DEVICE_OOM;
            break;
        default:
            return TIDE_EXIT_FAILURE;
        }
    }
    return status;
}
