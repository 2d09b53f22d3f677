/* test_combine.c - what a plan learns of a run, from which run it continues, and which list of
 * --try is the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/plan/plan_internal.h"
#include "training.h"

static const tide_snapshot_setting FACTS[] = {
    {"can.fused", "AdamW train.py:1", 0.0},
    {"can.adafactor", "AdamW train.py:1", 0.0},
    {"can.chunked_loss", "31457280 train.py:20", 0.0},
    {"can.optimizer_in_backward", "AdamW train.py:1", 0.0},
};

static const tide_plan_own OWN = {.patch_path = NULL};
static const tide_plan_options OPTIONS = {.allowed = {.own = &OWN, .words = "optimizer"}};

static void add_run(tide_plan *plan, const char *changes, int64_t mib) {
    size_t row = tide_plan_runs_add(&plan->runs, changes, "", TIDE_PLAN_WITHOUT_LIMIT);
    tide_plan_run *made = &plan->runs.rows[row];
    made->is_done = made->is_complete = true;
    made->memory.allocated_peak_bytes = made->memory.reserved_peak_bytes = mib * MIB;
    made->gpu_ms = 10.0;
}

static size_t number_of(const tide_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->candidates.n; i++) {
        if (strcmp(plan->candidates.rows[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no candidate %s", name);
    return SIZE_MAX;
}

/* A plan after its first run. */
static void make(tide_plan *plan) {
    *plan = (tide_plan){.options = &OPTIONS, .runs = {.n_jobs = 1, .n_most = 16}};
    assert_int_equal(tide_plan_runs_init(&plan->runs), TIDE_OK);
    plan->snapshot = made_training(FACTS, sizeof(FACTS) / sizeof(FACTS[0]));
    assert_int_equal(tide_plan_timeline_init(&plan->timeline, plan->snapshot, NULL), TIDE_OK);
    assert_int_equal(
        tide_plan_candidates_init(&plan->candidates, &plan->timeline, &OPTIONS.allowed), TIDE_OK);
    add_run(plan, "", TRAINING_PEAK_MIB);
}

/* Communicators of NCCL take 50 MiB of the room of the sharded program alone. */
static void test_memory_besides_pytorch_is_missing_in_the_room(void **state) {
    (void)state;
    tide_plan plan;
    make(&plan);
    plan.room_bytes = 400 * MIB;
    add_run(&plan, "fully_shard:Block", 380);
    tide_plan_run *sharded = &plan.runs.rows[1];
    plan.runs.rows[0].others_bytes = 100 * MIB;
    sharded->others_bytes = -1; /* unknown */
    assert_int_equal(tide_plan_room_of(&plan, sharded), 400 * MIB);
    assert_true(tide_plan_fits(&plan, sharded));
    sharded->others_bytes = 150 * MIB;
    assert_int_equal(tide_plan_room_of(&plan, sharded), 350 * MIB);
    assert_false(tide_plan_fits(&plan, sharded));
    assert_int_equal(tide_plan_room_of(&plan, &plan.runs.rows[0]), 400 * MIB);
    tide_plan_fini(&plan);
}

/* Adafactor could save 232 MiB, where the peak is the backward pass. Half of the states and of the
 * temporary memory of the optimizer save 125 MiB. */
static void test_part_that_counts_saves_what_the_run_saved(void **state) {
    (void)state;
    tide_plan plan;
    make(&plan);
    size_t number = number_of(&plan, "adafactor");
    tide_plan_candidate *candidate = &plan.candidates.rows[number];
    const tide_plan_shares *shares = &candidate->shares;
    add_run(&plan, "adafactor", TRAINING_PEAK_MIB - 125);
    candidate->row = 1;
    tide_plan_learn(&plan, candidate);
    assert_int_equal(candidate->state, TIDE_PLAN_RAN);
    assert_int_equal(candidate->saved_bytes, 125 * MIB);
    assert_true(candidate->worth > 0.499 && candidate->worth < 0.501);
    int64_t peak = tide_plan_peak(&plan.timeline, &shares, &candidate->worth, 1, NULL);
    assert_int_equal((peak + MIB / 2) / MIB, TRAINING_PEAK_MIB - 125);
    plan.runs.rows[1].memory.allocated_peak_bytes = TRAINING_PEAK_MIB * MIB;
    tide_plan_learn(&plan, candidate);
    assert_true(candidate->worth <= 0.0);
    int64_t lowest = candidate->lowest_bytes; /* reached nearly, and not quite */
    plan.runs.rows[1].memory.allocated_peak_bytes = lowest + lowest / 2000;
    tide_plan_learn(&plan, candidate);
    assert_true(candidate->worth >= 1.0);
    plan.runs.rows[1].memory.allocated_peak_bytes = lowest + lowest / 500;
    tide_plan_learn(&plan, candidate);
    assert_true(candidate->worth < 1.0);
    plan.runs.rows[1].memory.allocated_peak_bytes = 0;
    tide_plan_learn(&plan, candidate);
    assert_true(candidate->worth >= 1.0);
    tide_plan_fini(&plan);
}

/* A change that is not combined needs least: no set of the plan has it. */
static void test_plan_goes_on_from_a_combination(void **state) {
    (void)state;
    tide_plan plan;
    tide_plan_set set = 99;
    make(&plan);
    plan.combined[0] = number_of(&plan, "fused");
    plan.combined[1] = number_of(&plan, "adafactor");
    plan.combined[2] = number_of(&plan, "chunked_loss");
    plan.n_combined = 3;
    tide_plan_answer answer = {.has_best = false};
    add_run(&plan, "optimizer_in_backward", 50);
    assert_int_equal(tide_plan_next_start(&plan, &answer, &set), 0);
    assert_int_equal(set, 0);
    add_run(&plan, "adafactor", 300);
    add_run(&plan, "fused,chunked_loss", 200);
    add_run(&plan, "chunked_loss", 400);
    assert_int_equal(tide_plan_next_start(&plan, &answer, &set), 3);
    assert_int_equal(set, 1 + 4);
    plan.runs.rows[3].is_complete = false;
    assert_int_equal(tide_plan_next_start(&plan, &answer, &set), 2);
    assert_int_equal(set, 2);
    answer = (tide_plan_answer){.has_best = true, .row = 4, .set = 4};
    assert_int_equal(tide_plan_next_start(&plan, &answer, &set), 4);
    assert_int_equal(set, 4);
    tide_plan_fini(&plan);
}

static void test_bound_of_a_list_is_known_if_all_its_changes_are(void **state) {
    (void)state;
    tide_plan plan;
    make(&plan);
    assert_int_equal(tide_plan_lowest(&plan, ""), TRAINING_PEAK_MIB * MIB);
    assert_int_equal(tide_plan_lowest(&plan, "fused"), (TRAINING_PEAK_MIB - 50) * MIB);
    assert_int_equal(tide_plan_lowest(&plan, "fused,optimizer_in_backward"),
                     (100 + 200) * MIB); /* neither temporary memory nor gradients */
    assert_int_equal(tide_plan_lowest(&plan, "fuse"), -1);
    assert_int_equal(tide_plan_lowest(&plan, "fused,bf16"), -1);
    tide_plan_fini(&plan);
}

/* Of the lists of --try the fastest that fits is the answer. No run is left for its proof. */
static void test_fastest_list_that_fits_is_the_answer(void **state) {
    (void)state;
    tide_plan plan;
    make(&plan);
    plan.room_bytes = 300 * MIB;
    plan.runs.n_most = 5;
    add_run(&plan, "optimizer_in_backward", 290);
    add_run(&plan, "fused,chunked_loss", 250);
    add_run(&plan, "fused", 310);
    add_run(&plan, "adafactor", 200);
    plan.runs.rows[2].gpu_ms = 9.0;
    plan.runs.rows[3].gpu_ms = 8.0; /* it does not fit */
    plan.runs.rows[4].gpu_ms = -1.0;
    assert_int_equal(tide_plan_choose_named(&plan, NULL), TIDE_OK);
    assert_true(plan.safe.has_best);
    assert_int_equal(plan.safe.row, 2);
    assert_int_equal(plan.safe.verified_row, SIZE_MAX);
    char words[TIDE_PLAN_LIST_BYTES];
    tide_plan_set_words(&plan, plan.safe.set, words);
    assert_string_equal(words, "fused,chunked_loss");
    assert_int_equal(plan.safe.known & plan.safe.set, plan.safe.set);
    /* Without chunked_loss it was run, without fused the bound is above the room. */
    assert_int_equal(plan.safe.needed, plan.safe.set);
    plan.runs.rows[2].is_refuted = true;
    assert_int_equal(tide_plan_choose_named(&plan, NULL), TIDE_OK);
    assert_int_equal(plan.safe.row, 1);
    plan.safe.has_best = false;
    plan.room_bytes = 100 * MIB;
    assert_int_equal(tide_plan_choose_named(&plan, NULL), TIDE_OK);
    assert_false(plan.safe.has_best);
    tide_plan_fini(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_of_a_list_is_known_if_all_its_changes_are),
        cmocka_unit_test(test_memory_besides_pytorch_is_missing_in_the_room),
        cmocka_unit_test(test_part_that_counts_saves_what_the_run_saved),
        cmocka_unit_test(test_plan_goes_on_from_a_combination),
        cmocka_unit_test(test_fastest_list_that_fits_is_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
