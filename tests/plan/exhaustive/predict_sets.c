/* predict_sets.c - what a plan predicts of each combination of changes, beside what its run showed.
 *
 *     predict_sets SNAPSHOT < RUNS > TABLE
 *
 * SNAPSHOT is of the observed, unchanged program. A line of RUNS has a list of changes ("-": the
 * unchanged program, which comes first), the path of its snapshot, its peaks of allocated and of
 * reserved bytes, and the card's time of a step in ms, with spaces in between. All changes that run
 * alone make up the sets of the others. The table is read by unit.plan.exhaustive; record.py starts
 * this program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/plan/plan_internal.h"
#include "replay/runs.h"
#include "snapshot/analysis/lifetimes.h"

enum { LINE_BYTES = 4096 };

static void stop(const char *what, const tide_error *error) {
    (void)fprintf(stderr, "predict_sets: %s: %s\n", what, error->message);
    exit(1);
}

/* The least that the allocator reserved, as recorded or under a setting that a plan replays. */
static int64_t least_reserved(const tide_plan_run *run) {
    const tide_replay_runs_options options = {.limit_bytes = UINT64_MAX};
    tide_error error = {""};
    tide_snapshot *snapshot = NULL;
    tide_lifetimes lifetimes;
    tide_replay_runs runs;
    int64_t least = run->memory.reserved_peak_bytes;
    if (tide_snapshot_load(run->snapshot_path, NULL, &snapshot, &error) != TIDE_OK ||
        tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), &error) != TIDE_OK ||
        tide_replay_runs_init(&runs, snapshot, &options, &error) != TIDE_OK ||
        tide_replay_runs_add(&runs, NULL, &error) != TIDE_OK ||
        tide_replay_runs_add_grid(&runs, &error) != TIDE_OK ||
        tide_replay_runs_replay(&runs, NULL, &error) != TIDE_OK) {
        stop(run->snapshot_path, &error);
    }
    size_t device = tide_lifetimes_main_device(&lifetimes);
    for (size_t i = 1; i < runs.n_entries; i++) {
        const tide_replay_figures *figures = &runs.entries[i].replay->by_device[device];
        bool is_less = figures->n_ooms == 0 && figures->peak_reserved_bytes < least;
        least = is_less ? figures->peak_reserved_bytes : least;
    }
    tide_replay_runs_fini(&runs);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
    return least;
}

static void copy(char *to, size_t n_bytes, const char *text) {
    (void)snprintf(to, n_bytes, "%.*s", (int)n_bytes - 1, text);
}

static void read_runs(tide_plan_runs *runs) {
    char line[LINE_BYTES];
    while (fgets(line, sizeof(line), stdin) != NULL && runs->n < TIDE_PLAN_ROWS) {
        tide_plan_run *row = &runs->rows[runs->n++];
        *row = (tide_plan_run){.is_done = true, .is_complete = true};
        char *path = strchr(line, ' ');
        char *rest = path != NULL ? strchr(path + 1, ' ') : NULL;
        if (rest == NULL) {
            (void)fputs("predict_sets: a line without a path\n", stderr);
            exit(1);
        }
        *path = *rest = '\0';
        if (strcmp(line, "-") != 0) {
            copy(row->changes, sizeof(row->changes), line);
        }
        copy(row->snapshot_path, sizeof(row->snapshot_path), path + 1);
        row->memory.allocated_peak_bytes = strtoll(rest + 1, &rest, 10);
        row->memory.reserved_peak_bytes = strtoll(rest, &rest, 10);
        row->gpu_ms = strtod(rest, NULL);
    }
}

/* Each change that was run alone is a change of the sets. */
static void take_singles(tide_plan *plan) {
    for (size_t i = 1; i < plan->runs.n; i++) {
        for (size_t k = 0; k < plan->candidates.n; k++) {
            tide_plan_candidate *candidate = &plan->candidates.rows[k];
            if (strcmp(candidate->name, plan->runs.rows[i].changes) == 0 &&
                plan->n_combined < TIDE_PLAN_CHANGES) {
                candidate->row = i;
                tide_plan_learn(plan, candidate);
                plan->combined[plan->n_combined++] = k;
            }
        }
    }
}

static tide_plan_set set_of(const tide_plan *plan, const tide_plan_run *run) {
    tide_plan_set set = 0;
    for (size_t i = 0; i < plan->n_combined; i++) {
        const char *name = plan->candidates.rows[plan->combined[i]].name;
        for (const char *at = run->changes; *at != '\0';) {
            size_t n = strcspn(at, ",");
            bool is_same = strncmp(at, name, n) == 0 && name[n] == '\0';
            set |= is_same ? (tide_plan_set)1 << i : 0;
            at += n + (at[n] == ',');
        }
    }
    return set;
}

static void print_table(const tide_plan *plan) {
    for (size_t i = 0; i < plan->n_combined; i++) {
        const tide_plan_candidate *row = &plan->candidates.rows[plan->combined[i]];
        bool may_matter = tide_plan_may_matter(row->lowest_bytes, plan->candidates.peak_bytes);
        (void)printf("change\t%s\t%d\t%s\n", row->name, row->change->group,
                     tide_plan_is_useful(plan, row) ? "useful"
                     : may_matter                   ? "useless"
                                                    : "later");
    }
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *run = &plan->runs.rows[i];
        tide_plan_set set = set_of(plan, run);
        int64_t lowest = 0;
        int64_t expected = 0;
        tide_plan_predict(plan, set, &lowest, &expected);
        (void)printf("%" PRIu32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
                     "\t%.6f\n",
                     set, lowest, expected, run->memory.allocated_peak_bytes,
                     run->memory.reserved_peak_bytes, least_reserved(run), run->gpu_ms);
    }
}

int main(int argc, char **argv) {
    const tide_plan_own own = {.patch_path = NULL};
    const tide_plan_options options = {
        .own = NULL, .allowed = {.own = &own, .words = "precision,optimizer,compile"}};
    tide_plan plan = {.options = &options, .runs = {.n_jobs = 1, .n_most = TIDE_PLAN_ROWS}};
    tide_error error = {""};
    if (argc != 2) {
        (void)fputs("predict_sets SNAPSHOT < RUNS > TABLE\n", stderr);
        return 2;
    }
    if (tide_plan_runs_init(&plan.runs) != TIDE_OK ||
        tide_snapshot_load(argv[1], NULL, &plan.snapshot, &error) != TIDE_OK ||
        tide_plan_timeline_init(&plan.timeline, plan.snapshot, &error) != TIDE_OK ||
        tide_plan_candidates_init(&plan.candidates, &plan.timeline, &options.allowed) != TIDE_OK) {
        stop(argv[1], &error);
    }
    read_runs(&plan.runs);
    take_singles(&plan);
    print_table(&plan);
    tide_plan_fini(&plan);
    return 0;
}
