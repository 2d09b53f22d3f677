/* test_plan_report.c - the sentences of `tidemark plan`, about plans that were made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "made_plan.h"

static void has(made_plan *of, const char *words) {
    const char *text = made_plan_print(of, false);
    if (strstr(text, words) == NULL) {
        fail_msg("no \"%s\" in:\n%s", words, text);
    }
}

static void lacks(made_plan *of, const char *words) {
    const char *text = made_plan_print(of, false);
    if (strstr(text, words) != NULL) {
        fail_msg("\"%s\" in:\n%s", words, text);
    }
}

static void test_program_that_does_not_fit(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    has(&of, "train.py does not fit virtual:rtx4090: it needs 12.00 GiB allocated and 14.00 GiB "
             "reserved, and 10.00 GiB of the card are there for PyTorch");
    has(&of,
        "fits, and is the fastest of what was tried: checkpoint each Block + optimizer with "
        "fused=True: 7.00 GiB "
        "allocated, 8.00 GiB reserved; the card works 110 ms a step (99.0 to 121), 10 % longer "
        "than unchanged");
    has(&of, "it also fits without this: optimizer with fused=True");
    has(&of, "not run: optimizer with foreach=False (cannot lower the peak)");
    has(&of, "not possible here: micro_batch (odd batch)");
    has(&of, "6 runs in 12 s; no other combination is expected to fit and to be faster");
    lacks(&of, "near the limit");
    lacks(&of, "PYTORCH_CUDA_ALLOC_CONF");
}

static void test_times_that_are_unknown_or_equal(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.rows[MADE_BOTH].gpu_ms = -1.0;
    has(&of, "no time of the card is forecast, because too much of it would be a guess");
    of.rows[MADE_BOTH].gpu_ms = 100.3;
    has(&of, ", as long as unchanged");
    of.rows[MADE_BOTH].gpu_ms = 80.0;
    has(&of, "20 % shorter than unchanged");
}

/* A reason stands once, and a difference of a sum's rounding is none. */
static void test_equal_reasons_and_times(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    tide_plan_candidate *compiled = made_plan_add(&of, "compile", 12, 100.0);
    compiled->state = TIDE_PLAN_IMPOSSIBLE;
    (void)snprintf(compiled->reason, sizeof(compiled->reason), "odd batch");
    of.rows[MADE_FUSED].gpu_ms = 100.0 + 3e-13;
    has(&of, "not possible here: micro_batch, torch.compile (odd batch)");
    has(&of, "+0 ms");
    lacks(&of, "e-13");
}

static void test_setting_of_the_allocator(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.rows[MADE_BOTH].memory.reserved_peak_bytes = 11 * GIB;
    of.rows[MADE_BOTH].fitting_reserved_bytes = 9 * GIB;
    (void)snprintf(of.rows[MADE_BOTH].fitting_setting, TIDE_PLAN_SETTING_BYTES,
                   "expandable_segments:True");
    has(&of,
        ", with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: 7.00 GiB allocated, 9.00 GiB "
        "reserved");
}

static void test_proof(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.rows[MADE_PROOF].is_near = 1;
    has(&of, "near the limit: 1.00 GiB are left");
    of.plan.safe.verified_row = SIZE_MAX;
    has(&of, "not run under the card's own limit, because no run was left");
}

static void test_nothing_fits(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.plan.safe = (tide_plan_answer){.verified_row = SIZE_MAX, .diff_row = SIZE_MAX};
    of.plan.room_bytes = 5 * GIB;
    has(&of, "nothing that was tried fits; the least is 8.00 GiB reserved, with checkpoint:Block");
    has(&of, "the search is not complete: raise --runs to continue it");
}

static void test_program_that_fits(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.plan.fits_unchanged = true;
    of.plan.limited_row = SIZE_MAX;
    of.plan.safe.set = 0;
    of.plan.safe.row = MADE_UNCHANGED;
    has(&of,
        "train.py fits virtual:rtx4090: it needs 12.00 GiB allocated and 14.00 GiB reserved of "
        "10.00 GiB; the card works 100 ms a step (90.0 to 110)");
    lacks(&of, "fastest");
    of.plan.limited_row = MADE_LIMITED;
    has(&of, "only because PyTorch empties its cache");
}

static void test_changed_numbers_have_an_answer_of_their_own(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.plan.all = of.plan.safe;
    lacks(&of, "with --allow precision");
    of.plan.all.set = 1;
    of.plan.all.row = MADE_CHECKPOINT;
    has(&of, "with --allow precision: checkpoint each Block: 7.00 GiB allocated");
}

static void test_search_that_was_cut(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.plan.is_cut = true;
    has(&of, "more changes help than it combines");
    lacks(&of, "no other combination");
}

static void test_refusals_and_failures_differ(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.candidates[2].state = TIDE_PLAN_REFUSED;
    of.candidates[3].state = TIDE_PLAN_FAILED;
    has(&of, "not applied in its run: optimizer with foreach=False");
    has(&of, "the program failed with: micro_batch (odd batch)");
}

static void test_patch_of_the_best(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.options.diff_path = "plan.diff";
    of.plan.safe.diff_row = MADE_PROOF;
    has(&of, "plan.diff is the change: the patched program has the same peaks, to the byte");
    of.rows[MADE_PROOF].memory.allocated_peak_bytes += 512;
    has(&of, "plan.diff is not quite the change");
    of.rows[MADE_PROOF].is_complete = false;
    has(&of, "plan.diff is not the change: the patched program fails");
    of.plan.safe.diff_row = SIZE_MAX;
    of.plan.safe.has_diff = true;
    has(&of, "plan.diff was written, but the patched program was not run");
    of.plan.safe.has_diff = false;
    (void)snprintf(of.plan.safe.no_diff, sizeof(of.plan.safe.no_diff), "by hand");
    has(&of, "no patch in plan.diff: by hand");
}

/* What is fastest is a claim about all runs that fit. */
static void test_only_the_fastest_is_called_so(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.rows[MADE_CHECKPOINT].gpu_ms = 109.0;
    has(&of, "\nfits: checkpoint each Block + optimizer");
    lacks(&of, "fastest");
    of.rows[MADE_CHECKPOINT].gpu_ms = -1.0; /* its time is unknown */
    has(&of, "\nfits: checkpoint each Block + optimizer");
    of.rows[MADE_CHECKPOINT].gpu_ms = 109.0;
    of.rows[MADE_CHECKPOINT].is_refuted = true; /* not under the card's own limit */
    has(&of, "\nfits, and is the fastest of what was tried: checkpoint");
    of.rows[MADE_BOTH].gpu_ms = -1.0;
    has(&of, "\nfits: checkpoint each Block + optimizer");
    made_plan_init(&of);
    (void)made_plan_add(&of, "bf16", 6, 60.0);
    has(&of, "\nfits, and is the fastest of what was tried and keeps the numbers: checkpoint");
    made_plan_init(&of);
    of.plan.fits_unchanged = true;
    has(&of, "\nfits with its cache, and is the fastest of what was tried and does: checkpoint");
    (void)made_plan_add(&of, "bf16", 6, 60.0);
    has(&of, "\nfits with its cache, and is the fastest of what was tried, does and keeps the "
             "numbers: checkpoint");
    of.rows[MADE_CHECKPOINT].gpu_ms = 109.0;
    has(&of, "\nfits with its cache: checkpoint");
}

/* With --try nothing is searched, and the answer is the fastest list that fits. */
static void test_named_lists_have_an_answer(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.options.allowed.n_names = 2;
    of.rows[MADE_LIMITED].n_launches = -1;
    of.rows[MADE_BOTH].n_launches = 77;
    has(&of, "fits, and is the fastest of what was tried: checkpoint each Block + optimizer with "
             "fused=True: 7.00 GiB allocated, 8.00 GiB reserved");
    has(&of, "  77  ");
    lacks(&of, "-1");
    lacks(&of, "nothing that was tried fits");
    lacks(&of, "no other combination");
    of.plan.safe.has_best = false;
    of.plan.room_bytes = 5 * GIB;
    has(&of, "nothing that was tried fits; the least is 8.00 GiB reserved, with checkpoint:Block");
}

/* Two checkpoints have one effect. */
static void test_an_effect_is_printed_once(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.candidates[1] = made_plan_candidate("checkpoint:Other", TIDE_PLAN_RAN, MADE_FUSED);
    has(&of, "\n    same numbers; the forward pass of each block runs twice; it also fits");
}

static void test_changed_numbers_without_permission(void **state) {
    (void)state;
    made_plan of;
    made_plan_init(&of);
    of.plan.all = of.plan.safe;
    of.plan.all.set = 1;
    of.plan.all.row = MADE_CHECKPOINT;
    of.input.allow = NULL; /* BatchNorm in a checkpointed block */
    has(&of, "with changed numbers: checkpoint each Block: 7.00 GiB allocated");
    lacks(&of, "--allow");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_that_does_not_fit),
        cmocka_unit_test(test_times_that_are_unknown_or_equal),
        cmocka_unit_test(test_equal_reasons_and_times),
        cmocka_unit_test(test_setting_of_the_allocator),
        cmocka_unit_test(test_proof),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_program_that_fits),
        cmocka_unit_test(test_changed_numbers_have_an_answer_of_their_own),
        cmocka_unit_test(test_search_that_was_cut),
        cmocka_unit_test(test_refusals_and_failures_differ),
        cmocka_unit_test(test_patch_of_the_best),
        cmocka_unit_test(test_only_the_fastest_is_called_so),
        cmocka_unit_test(test_named_lists_have_an_answer),
        cmocka_unit_test(test_an_effect_is_printed_once),
        cmocka_unit_test(test_changed_numbers_without_permission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
