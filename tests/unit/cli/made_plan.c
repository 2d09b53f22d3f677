#define _GNU_SOURCE /* open_memstream, mkdtemp */
#include "made_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/synthetic.h"

tide_plan_run made_plan_run(const char *changes, int64_t allocated, int64_t reserved, double ms) {
    tide_plan_run row = {
        .is_done = true,
        .is_complete = true,
        .memory = {.allocated_peak_bytes = allocated * GIB, .reserved_peak_bytes = reserved * GIB},
        .gpu_ms = ms,
        .gpu_low_ms = ms * 0.9,
        .gpu_high_ms = ms * 1.1};
    (void)snprintf(row.changes, sizeof(row.changes), "%s", changes);
    return row;
}

tide_plan_candidate made_plan_candidate(const char *name, tide_plan_state state, size_t row) {
    const char *argument = "";
    tide_plan_candidate candidate = {
        .change = tide_plan_change_of(name, &argument), .state = state, .row = row};
    assert_non_null(candidate.change);
    candidate.risk = candidate.change->text->risk;
    (void)snprintf(candidate.name, sizeof(candidate.name), "%s", name);
    tide_plan_title(candidate.change->text, argument, candidate.title, sizeof(candidate.title));
    return candidate;
}

static void make_runs(made_plan *of) {
    of->rows[MADE_UNCHANGED] = made_plan_run("", 12, 14, 100.0);
    of->rows[MADE_LIMITED] = made_plan_run("", 9, 10, -1.0);
    of->rows[MADE_LIMITED].is_complete = false;
    of->rows[MADE_LIMITED].limit = TIDE_PLAN_WITH_LIMIT;
    of->rows[MADE_CHECKPOINT] = made_plan_run("checkpoint:Block", 7, 8, 120.0);
    of->rows[MADE_FUSED] = made_plan_run("fused", 12, 13, 90.0);
    of->rows[MADE_BOTH] = made_plan_run("checkpoint:Block,fused", 7, 8, 110.0);
    of->rows[MADE_PROOF] = of->rows[MADE_BOTH];
    of->rows[MADE_PROOF].limit = TIDE_PLAN_WITH_LIMIT;
    of->rows[MADE_PROOF].margin_bytes = GIB;
    of->plan.runs = (tide_plan_runs){.rows = of->rows, .n = MADE_PROOF + 1};
}

static void make_candidates(made_plan *of) {
    of->candidates[0] = made_plan_candidate("checkpoint:Block", TIDE_PLAN_RAN, MADE_CHECKPOINT);
    of->candidates[1] = made_plan_candidate("fused", TIDE_PLAN_RAN, MADE_FUSED);
    of->candidates[2] = made_plan_candidate("no_foreach", TIDE_PLAN_POINTLESS, SIZE_MAX);
    of->candidates[3] = made_plan_candidate("micro_batch", TIDE_PLAN_IMPOSSIBLE, SIZE_MAX);
    (void)snprintf(of->candidates[3].reason, sizeof(of->candidates[3].reason), "odd batch");
    of->plan.candidates = (tide_plan_candidates){.rows = of->candidates, .n = 4};
}

void made_plan_init(made_plan *of) {
    *of = (made_plan){.plan = {.base_row = MADE_UNCHANGED,
                               .limited_row = MADE_LIMITED,
                               .room_bytes = 10 * GIB,
                               .combined = {0, 1},
                               .n_combined = 2,
                               .safe = {.has_best = true,
                                        .row = MADE_BOTH,
                                        .set = 3,
                                        .verified_row = MADE_PROOF,
                                        .diff_row = SIZE_MAX,
                                        .is_whole = true,
                                        .n_tried = 1,
                                        .needed = 1,
                                        .known = 3},
                               .all = {.verified_row = SIZE_MAX, .diff_row = SIZE_MAX}}};
    make_runs(of);
    make_candidates(of);
    of->plan.options = &of->options;
    of->plan.snapshot = &of->snapshot;
    of->input = (tide_plan_report_input){.plan = &of->plan,
                                         .card = "virtual:rtx4090",
                                         .program = "train.py",
                                         .allow = "precision",
                                         .seconds = 12.4,
                                         .folder = of->folder};
}

tide_plan_candidate *made_plan_add(made_plan *of, const char *name, int64_t allocated, double ms) {
    tide_plan *plan = &of->plan;
    assert_true(plan->runs.n < MADE_RUNS && plan->candidates.n < MADE_CANDIDATES);
    of->rows[plan->runs.n] = made_plan_run(name, allocated, allocated + 1, ms);
    of->candidates[plan->candidates.n] = made_plan_candidate(name, TIDE_PLAN_RAN, plan->runs.n++);
    return &of->candidates[plan->candidates.n++];
}

const char *made_plan_print(made_plan *of, bool is_whole) {
    char *text = NULL;
    size_t n = 0;
    tide_report report;
    FILE *stream = open_memstream(&text, &n);
    assert_non_null(stream);
    tide_report_init(&report, "plan");
    tide_plan_report(&of->input, is_whole, &report);
    assert_int_equal(tide_report_print(&report, (tide_format){0}, stream, stream, NULL), TIDE_OK);
    tide_report_fini(&report);
    assert_int_equal(fclose(stream), 0);
    (void)snprintf(of->text, sizeof(of->text), "%s", text);
    free(text);
    return of->text;
}

void made_plan_save_lines(made_plan *of, size_t row, const tide_snapshot_setting *facts,
                          size_t n_facts) {
    const char *under = getenv("TMPDIR");
    synthetic_config config = synthetic_default();
    tide_error error = {""};
    tide_snapshot *snapshot = synthetic_create(&config);
    if (of->folder[0] == '\0') {
        (void)snprintf(of->folder, sizeof(of->folder), "%s/tidemark-made-plan-XXXXXX",
                       under != NULL ? under : "/tmp");
        assert_non_null(mkdtemp(of->folder));
    }
    (void)snprintf(of->rows[row].snapshot_path, sizeof(of->rows[row].snapshot_path),
                   "%s/%03zu.json.gz", of->folder, row);
    snapshot->plan = facts;
    snapshot->n_plan = n_facts;
    if (tide_snapshot_save(snapshot, of->rows[row].snapshot_path, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    tide_snapshot_destroy(snapshot);
}

void made_plan_remove(made_plan *of) {
    tide_plan_folder folder = {.is_own = true};
    (void)snprintf(folder.path, sizeof(folder.path), "%s", of->folder);
    tide_plan_folder_fini(&folder);
    of->folder[0] = '\0';
}
