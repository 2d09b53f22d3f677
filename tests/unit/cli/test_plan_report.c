/* test_plan_report.c - the sentences of `tidemark plan`, about plans that were made by hand. */
#define _GNU_SOURCE /* open_memstream */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/plan/internal.h"

#define GIB ((int64_t)1 << 30)

enum { UNCHANGED = 0, LIMITED, CHECKPOINT, FUSED, BOTH, PROOF, N_RUNS };

/* A plan of two changes: the checkpoint makes the program fit, fused makes it faster. */
typedef struct made {
    tide_plan_options options;
    tide_plan plan;
    tide_plan_run rows[N_RUNS];
    tide_plan_candidate candidates[4];
    tide_snapshot snapshot;
    char text[8192];
} made;

static tide_plan_run run_of(const char *changes, int64_t allocated, int64_t reserved, double ms) {
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

static tide_plan_candidate candidate_of(const char *name, const char *title, tide_plan_state state,
                                        size_t row) {
    const char *argument = "";
    tide_plan_candidate candidate = {
        .change = tide_plan_change_of(name, &argument), .state = state, .row = row};
    assert_non_null(candidate.change);
    candidate.risk = candidate.change->text->risk;
    (void)snprintf(candidate.name, sizeof(candidate.name), "%s", name);
    (void)snprintf(candidate.title, sizeof(candidate.title), "%s", title);
    return candidate;
}

static void make(made *of) {
    *of = (made){.plan = {.base_row = UNCHANGED,
                          .limited_row = LIMITED,
                          .room_bytes = 10 * GIB,
                          .combined = {0, 1},
                          .n_combined = 2,
                          .safe = {.has_best = true,
                                   .row = BOTH,
                                   .set = 3,
                                   .verified_row = PROOF,
                                   .diff_row = SIZE_MAX,
                                   .is_whole = true,
                                   .n_tried = 1,
                                   .needed = 1,
                                   .known = 3},
                          .all = {.verified_row = SIZE_MAX, .diff_row = SIZE_MAX}}};
    of->rows[UNCHANGED] = run_of("", 12, 14, 100.0);
    of->rows[LIMITED] = run_of("", 9, 10, -1.0);
    of->rows[LIMITED].is_complete = false;
    of->rows[LIMITED].limit = TIDE_PLAN_WITH_LIMIT;
    of->rows[CHECKPOINT] = run_of("checkpoint:Block", 7, 8, 120.0);
    of->rows[FUSED] = run_of("fused", 12, 13, 90.0);
    of->rows[BOTH] = run_of("checkpoint:Block,fused", 7, 8, 110.0);
    of->rows[PROOF] = of->rows[BOTH];
    of->rows[PROOF].limit = TIDE_PLAN_WITH_LIMIT;
    of->rows[PROOF].margin_bytes = GIB;
    of->candidates[0] = candidate_of("checkpoint:Block", "checkpoint each Block", TIDE_PLAN_RAN, 2);
    of->candidates[1] = candidate_of("fused", "optimizer with fused=True", TIDE_PLAN_RAN, FUSED);
    of->candidates[2] =
        candidate_of("no_foreach", "optimizer with foreach=False", TIDE_PLAN_POINTLESS, SIZE_MAX);
    of->candidates[3] = candidate_of("micro_batch", "micro_batch", TIDE_PLAN_IMPOSSIBLE, SIZE_MAX);
    (void)snprintf(of->candidates[3].reason, sizeof(of->candidates[3].reason), "odd batch");
    of->plan.options = &of->options;
    of->plan.runs = (tide_plan_runs){.rows = of->rows, .n = N_RUNS};
    of->plan.candidates = (tide_plan_candidates){.rows = of->candidates, .n = 4};
    of->plan.snapshot = &of->snapshot;
}

static const char *print(made *of) {
    const tide_plan_report_input input = {.plan = &of->plan,
                                          .card = "virtual:rtx4090",
                                          .program = "train.py",
                                          .allow = "precision",
                                          .seconds = 12.4};
    char *text = NULL;
    size_t n = 0;
    tide_report report;
    FILE *stream = open_memstream(&text, &n);
    assert_non_null(stream);
    tide_report_init(&report, "plan");
    tide_plan_report_answer(&input, &report);
    tide_plan_report_tables(&input, false, &report);
    tide_plan_report_left_out(&input, &report);
    assert_int_equal(tide_report_print(&report, (tide_format){0}, stream, stream, NULL), TIDE_OK);
    tide_report_fini(&report);
    assert_int_equal(fclose(stream), 0);
    (void)snprintf(of->text, sizeof(of->text), "%s", text);
    free(text);
    return of->text;
}

static void has(made *of, const char *words) {
    const char *text = print(of);
    if (strstr(text, words) == NULL) {
        fail_msg("no \"%s\" in:\n%s", words, text);
    }
}

static void lacks(made *of, const char *words) {
    const char *text = print(of);
    if (strstr(text, words) != NULL) {
        fail_msg("\"%s\" in:\n%s", words, text);
    }
}

static void test_program_that_does_not_fit(void **state) {
    (void)state;
    made of;
    make(&of);
    has(&of, "train.py does not fit virtual:rtx4090: it needs 12.00 GiB allocated and 14.00 GiB "
             "reserved, and 10.00 GiB of the card are there for PyTorch");
    has(&of,
        "fits, and is fastest: checkpoint each Block + optimizer with fused=True: 7.00 GiB "
        "allocated, 8.00 GiB reserved; the card works 110 ms a step (99.0 to 121), 10 % longer "
        "than unchanged");
    has(&of, "it also fits without this: optimizer with fused=True");
    has(&of, "not run, because they cannot lower the peak: optimizer with foreach=False");
    has(&of, "not possible here: micro_batch (odd batch)");
    has(&of, "6 runs in 12 s; no other combination is expected to fit and to be faster");
    lacks(&of, "near the limit");
    lacks(&of, "PYTORCH_CUDA_ALLOC_CONF");
}

static void test_times_that_are_unknown_or_equal(void **state) {
    (void)state;
    made of;
    make(&of);
    of.rows[BOTH].gpu_ms = -1.0;
    has(&of, "no time of the card is forecast, because too much of it would be a guess");
    of.rows[BOTH].gpu_ms = 100.3;
    has(&of, ", as long as unchanged");
    of.rows[BOTH].gpu_ms = 80.0;
    has(&of, "20 % shorter than unchanged");
}

static void test_setting_of_the_allocator(void **state) {
    (void)state;
    made of;
    make(&of);
    of.rows[BOTH].memory.reserved_peak_bytes = 11 * GIB;
    of.rows[BOTH].fitting_reserved_bytes = 9 * GIB;
    (void)snprintf(of.rows[BOTH].fitting_setting, TIDE_PLAN_SETTING_BYTES,
                   "expandable_segments:True");
    has(&of,
        ", with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: 7.00 GiB allocated, 9.00 GiB "
        "reserved");
}

static void test_proof(void **state) {
    (void)state;
    made of;
    make(&of);
    of.rows[PROOF].is_near = 1;
    has(&of, "near the limit: 1.00 GiB are left");
    of.plan.safe.verified_row = SIZE_MAX;
    has(&of, "not run under the card's own limit, because no run was left");
}

static void test_nothing_fits(void **state) {
    (void)state;
    made of;
    make(&of);
    of.plan.safe = (tide_plan_answer){.verified_row = SIZE_MAX, .diff_row = SIZE_MAX};
    of.plan.room_bytes = 5 * GIB;
    has(&of, "nothing that was tried fits; the least is 8.00 GiB reserved, with checkpoint:Block");
    has(&of, "the search is not complete: a larger --runs goes on");
}

static void test_program_that_fits(void **state) {
    (void)state;
    made of;
    make(&of);
    of.plan.fits_unchanged = true;
    of.plan.limited_row = SIZE_MAX;
    of.plan.safe.set = 0;
    of.plan.safe.row = UNCHANGED;
    has(&of,
        "train.py fits virtual:rtx4090: it needs 12.00 GiB allocated and 14.00 GiB reserved of "
        "10.00 GiB; the card works 100 ms a step (90.0 to 110)");
    lacks(&of, "is fastest");
    of.plan.limited_row = LIMITED;
    has(&of, "only because PyTorch empties its cache");
}

static void test_changed_numbers_have_an_answer_of_their_own(void **state) {
    (void)state;
    made of;
    make(&of);
    of.plan.all = of.plan.safe;
    lacks(&of, "with --allow precision");
    of.plan.all.set = 1;
    of.plan.all.row = CHECKPOINT;
    has(&of, "with --allow precision: checkpoint each Block: 7.00 GiB allocated");
}

static void test_search_that_was_cut(void **state) {
    (void)state;
    made of;
    make(&of);
    of.plan.is_cut = true;
    has(&of, "more changes help than it combines");
    lacks(&of, "no other combination");
}

static void test_refusals_and_failures_differ(void **state) {
    (void)state;
    made of;
    make(&of);
    of.candidates[2].state = TIDE_PLAN_REFUSED;
    of.candidates[3].state = TIDE_PLAN_FAILED;
    has(&of, "not applied in its run: optimizer with foreach=False");
    has(&of, "the program failed with: micro_batch (odd batch)");
}

static void test_patch_of_the_best(void **state) {
    (void)state;
    made of;
    make(&of);
    of.options.diff_path = "plan.diff";
    of.plan.safe.diff_row = PROOF;
    has(&of, "plan.diff is the change: the patched program has the same peaks, to the byte");
    of.rows[PROOF].memory.allocated_peak_bytes += 512;
    has(&of, "plan.diff is not quite the change");
    of.rows[PROOF].is_complete = false;
    has(&of, "plan.diff is not the change: the patched program fails");
    of.plan.safe.diff_row = SIZE_MAX;
    of.plan.safe.has_diff = true;
    has(&of, "plan.diff was written, but the patched program was not run");
    of.plan.safe.has_diff = false;
    (void)snprintf(of.plan.safe.no_diff, sizeof(of.plan.safe.no_diff), "by hand");
    has(&of, "no patch in plan.diff: by hand");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_that_does_not_fit),
        cmocka_unit_test(test_times_that_are_unknown_or_equal),
        cmocka_unit_test(test_setting_of_the_allocator),
        cmocka_unit_test(test_proof),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_program_that_fits),
        cmocka_unit_test(test_changed_numbers_have_an_answer_of_their_own),
        cmocka_unit_test(test_search_that_was_cut),
        cmocka_unit_test(test_refusals_and_failures_differ),
        cmocka_unit_test(test_patch_of_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
