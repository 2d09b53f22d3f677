/* The best combination as a patch of the program's files, and the run that shows that it is the
 * same program. */
#include <stdio.h>
#include <string.h>

#include "common/files/output_file.h"
#include "common/hostmem.h"
#include "programs/plan/diff.h"
#include "programs/plan/facts.h"
#include "programs/plan/plan_internal.h"

/* Its lines define a function, whose call is written by hand: the model must return the head's
 * input. */
static bool needs_a_hand(const char *name) {
    return strcmp(name, "linear_loss") == 0;
}

static tide_status collect(const tide_plan *plan, const tide_plan_answer *answer,
                           const tide_snapshot *snapshot, tide_plan_diff *diff, tide_error *error) {
    for (size_t i = 0; i < plan->n_combined; i++) {
        const char *name = plan->candidates.rows[plan->combined[i]].name;
        if (!tide_plan_has(answer->set, i)) {
            continue;
        }
        const char *lines = tide_plan_fact(snapshot, "lines", name);
        const char *place = tide_plan_fact(snapshot, "place", name);
        if (lines == NULL || needs_a_hand(name)) {
            return tide_fail(error, TIDE_UNSUPPORTED, "%s is to be written by hand",
                             plan->candidates.rows[plan->combined[i]].title);
        }
        TIDE_TRY(tide_plan_diff_add(diff, lines, place != NULL ? place : "", error));
    }
    return TIDE_OK;
}

static tide_status write_text(const char *path, const char *text, tide_error *error) {
    tide_output_file file;
    TIDE_TRY(tide_output_file_open(path, &file, error));
    (void)tide_output_file_write(&file, text, strlen(text)); /* commit reports a failure */
    return tide_output_file_commit(&file, error);
}

static tide_status make(const tide_plan *plan, const tide_plan_answer *answer, tide_error *error) {
    tide_plan_diff diff;
    tide_snapshot *snapshot = NULL;
    char *text = NULL;
    TIDE_TRY(
        tide_snapshot_load(plan->runs.rows[answer->row].snapshot_path, NULL, &snapshot, error));
    tide_plan_diff_init(&diff);
    tide_status status = collect(plan, answer, snapshot, &diff, error);
    status = status == TIDE_OK ? tide_plan_diff_text(&diff, &text, error) : status;
    status = status == TIDE_OK ? write_text(plan->options->diff_path, text, error) : status;
    if (text != NULL) {
        diff.mem->release(diff.mem->ctx, text);
    }
    tide_plan_diff_fini(&diff);
    tide_snapshot_destroy(snapshot);
    return status;
}

static tide_status run_patched(tide_plan *plan, tide_plan_answer *answer, tide_error *error) {
    const tide_plan_options *options = plan->options;
    if (!tide_plan_runs_may_add(&plan->runs, 1)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_plan_own_take_diff(options->own, options->diff_path,
                                     options->config->workload.of.program.command, error));
    answer->diff_row = tide_plan_runs_add(&plan->runs, TIDE_PLAN_DIFF, "", TIDE_PLAN_WITHOUT_LIMIT);
    return tide_plan_runs_do(&plan->runs, error);
}

tide_status tide_plan_write_diff(tide_plan *plan, tide_error *error) {
    tide_plan_answer *answer = plan->safe.has_best ? &plan->safe : &plan->all;
    tide_error why = {""};
    if (plan->options->diff_path == NULL || !answer->has_best || answer->set == 0) {
        return TIDE_OK;
    }
    tide_status status = make(plan, answer, &why);
    if (status == TIDE_OK) {
        answer->has_diff = true;
        return run_patched(plan, answer, error);
    }
    (void)snprintf(answer->no_diff, sizeof(answer->no_diff), "%s", why.message);
    return status == TIDE_UNSUPPORTED ? TIDE_OK : tide_fail(error, status, "%s", why.message);
}
