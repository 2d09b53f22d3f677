/* test_candidates.c - which changes a made training run offers, and why others are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/plan/candidates.h"
#include "training.h"

/* A block holds 28 of the 430 MiB, at the peak of the activations none: see `can`. */
static const tide_snapshot_setting FACTS[] = {
    {"can.fused", "AdamW train.py:12", 0.0},
    {"can.optimizer_in_backward", "AdamW train.py:12", 0.0},
    {"can.chunked_loss", "31457280 train.py:20", 0.0},
    {"can.adafactor", "AdamW train.py:12", 0.0},
    {"can.fully_shard:Block", "h.0 h.1", 0.0},
    {"can.later_change", "x", 0.0},
    {"cannot.micro_batch", "train.py:18 makes its batches itself", 0.0},
    {"model", "GPT train.py:11", 0.0},
};

enum { N_FACTS = sizeof(FACTS) / sizeof(FACTS[0]) };

typedef struct made {
    tide_snapshot *snapshot;
    tide_plan_timeline timeline;
    tide_plan_candidates candidates;
} made;

static made make(const tide_plan_allowed *restricted) {
    static const tide_plan_own NONE = {.patch_path = NULL};
    tide_plan_allowed allowed = *restricted;
    allowed.own = allowed.own != NULL ? allowed.own : &NONE;
    made of = {.snapshot = made_training(FACTS, N_FACTS)};
    tide_error error = {""};
    assert_int_equal(tide_plan_timeline_init(&of.timeline, of.snapshot, &error), TIDE_OK);
    assert_int_equal(tide_plan_candidates_init(&of.candidates, &of.timeline, &allowed), TIDE_OK);
    return of;
}

static void destroy(made *of) {
    tide_plan_candidates_fini(&of->candidates);
    tide_plan_timeline_fini(&of->timeline);
    tide_snapshot_destroy(of->snapshot);
}

static const tide_plan_candidate *find(const made *of, const char *name) {
    for (size_t i = 0; i < of->candidates.n; i++) {
        if (strcmp(of->candidates.rows[i].name, name) == 0) {
            return &of->candidates.rows[i];
        }
    }
    return NULL;
}

static tide_plan_state state_of(const made *of, const char *name) {
    const tide_plan_candidate *row = find(of, name);
    assert_non_null(row);
    return row->state;
}

static void test_states_follow_from_bounds_and_permission(void **state) {
    (void)state;
    const tide_plan_allowed nothing = {.words = NULL};
    made of = make(&nothing);
    assert_int_equal(state_of(&of, "fused"), TIDE_PLAN_OPEN);
    assert_int_equal(state_of(&of, "optimizer_in_backward"), TIDE_PLAN_OPEN);
    assert_int_equal(state_of(&of, "chunked_loss"),
                     TIDE_PLAN_POINTLESS); /* freed before the peak */
    assert_int_equal(state_of(&of, "adafactor"), TIDE_PLAN_NOT_ALLOWED);
    assert_int_equal(state_of(&of, "micro_batch"), TIDE_PLAN_IMPOSSIBLE);
    assert_string_equal(find(&of, "micro_batch")->reason, "train.py:18 makes its batches itself");
    assert_null(find(&of, "later_change"));
    assert_null(find(&of, "fully_shard:Block")); /* one rank */
    destroy(&of);
}

static void test_permission_is_a_whole_word(void **state) {
    (void)state;
    const tide_plan_allowed other = {.words = "precision,optimizers"};
    made of = make(&other);
    assert_int_equal(state_of(&of, "adafactor"), TIDE_PLAN_NOT_ALLOWED);
    destroy(&of);
    const tide_plan_allowed right = {.words = "precision,optimizer"};
    of = make(&right);
    assert_int_equal(state_of(&of, "adafactor"), TIDE_PLAN_OPEN);
    destroy(&of);
}

static void test_bound_of_another_run_may_matter(void **state) {
    (void)state;
    const tide_plan_allowed nothing = {.words = NULL};
    made of = make(&nothing);
    int64_t bytes = 0;
    assert_int_equal(tide_plan_could_reach(find(&of, "chunked_loss"), &of.timeline, &bytes),
                     TIDE_OK);
    assert_int_equal(bytes, TRAINING_PEAK_MIB * MIB);
    assert_false(tide_plan_may_matter(bytes, of.candidates.peak_bytes));
    assert_true(tide_plan_may_matter(99, 100));
    destroy(&of);
}

static void test_names_restrict_and_are_checked(void **state) {
    (void)state;
    const char *const names[] = {"fused,chunked_loss"};
    const tide_plan_allowed named = {.names = names, .n_names = 1};
    made of = make(&named);
    assert_int_equal(state_of(&of, "chunked_loss"), TIDE_PLAN_OPEN);
    assert_int_equal(state_of(&of, "optimizer_in_backward"), TIDE_PLAN_NOT_ALLOWED);
    destroy(&of);
    static const char *const WRONG[] = {"fusedd",          "patch",           "smaller_batch",
                                        "smaller_batch:5", "smaller_batch:0", "smaller_batch:2x"};
    const tide_plan_own own = {.batch_name = "batch", .least_batch = 1, .batch = 8};
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        tide_error error = {""};
        const tide_plan_allowed wrong = {.own = &own, .names = &WRONG[i], .n_names = 1};
        assert_int_equal(tide_plan_check_names(&wrong, &error), TIDE_INVALID);
    }
    static const char *const RIGHT[] = {"fused,smaller_batch:4"};
    const tide_plan_allowed right = {.own = &own, .names = RIGHT, .n_names = 1};
    assert_int_equal(tide_plan_check_names(&right, NULL), TIDE_OK);
}

static tide_plan_candidate made_of(const char *words, char *detail) {
    const char *argument = "";
    return (tide_plan_candidate){.change = tide_plan_change_of(words, &argument), .detail = detail};
}

static void test_checkpoints_of_separate_modules_are_made_together(void **state) {
    (void)state;
    char attn[] = "h.0.attn h.1.attn";
    char mlp[] = "h.0.mlp h.1.mlp";
    char all[] = "h.0 h.1";
    char long_names[] = "h.0.attn2 h.1.attn2";
    const tide_plan_candidate one = made_of("checkpoint:Attention", attn);
    const tide_plan_candidate other = made_of("checkpoint:MLP", mlp);
    const tide_plan_candidate half = made_of("checkpoint_half:Attention", attn);
    const tide_plan_candidate outer = made_of("checkpoint:Block", all);
    const tide_plan_candidate like = made_of("checkpoint:Other", long_names);
    const tide_plan_candidate library = made_of("checkpoint_library", mlp);
    const tide_plan_candidate fused = made_of("fused", mlp);
    const tide_plan_candidate adafactor = made_of("adafactor", attn);
    assert_false(tide_plan_excludes(&one, &other));
    assert_false(tide_plan_excludes(&half, &other));
    assert_false(tide_plan_excludes(&one, &like));
    assert_false(tide_plan_excludes(&one, &fused));
    assert_true(tide_plan_excludes(&one, &half));
    assert_true(tide_plan_excludes(&one, &outer));
    assert_true(tide_plan_excludes(&outer, &one));
    assert_true(tide_plan_excludes(&one, &library));
    assert_true(tide_plan_excludes(&fused, &adafactor));
}

static void test_sharding_needs_ranks(void **state) {
    (void)state;
    const tide_plan_allowed ranks = {.n_ranks = 8};
    made of = make(&ranks);
    /* Of 430 MiB, 1/8 of all; the backward pass with all activations is the new peak. */
    assert_int_equal(state_of(&of, "fully_shard:Block"), TIDE_PLAN_OPEN);
    assert_true(find(&of, "fully_shard:Block")->lowest_bytes < of.candidates.peak_bytes);
    destroy(&of);
}

static void test_own_options_replace_those_of_a_loader(void **state) {
    (void)state;
    const tide_plan_own own = {
        .batch_name = "batch", .accumulate_name = "accum", .least_batch = 2, .batch = 12};
    const tide_plan_allowed allowed = {.own = &own};
    made of = make(&allowed);
    assert_null(find(&of, "micro_batch"));
    assert_non_null(find(&of, "smaller_batch:2"));
    assert_non_null(find(&of, "smaller_batch:4"));
    assert_null(find(&of, "smaller_batch:8")); /* 12 / 8 is no whole number */
    destroy(&of);
}

static void test_own_changes_are_made_in_the_command(void **state) {
    (void)state;
    char others[64];
    tide_run_config config;
    tide_plan_own own = {.batch_name = "batch",
                         .accumulate_name = "accum",
                         .least_batch = 1,
                         .batch = 8,
                         .patched_command = (char[]){"[\"sh\"]"}};
    tide_run_config_init(&config);
    tide_plan_own_apply(&own, "fused,smaller_batch:2,bf16", &config, others);
    assert_string_equal(others, "fused,bf16");
    assert_string_equal(config.workload.of.program.values, "batch=4,accum=2");
    tide_plan_own_apply(&own, "patch", &config, others);
    assert_string_equal(others, "");
    assert_string_equal(config.workload.of.program.values, "batch=8,accum=1");
    assert_string_equal(config.workload.of.program.command, "[\"sh\"]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_follow_from_bounds_and_permission),
        cmocka_unit_test(test_permission_is_a_whole_word),
        cmocka_unit_test(test_bound_of_another_run_may_matter),
        cmocka_unit_test(test_names_restrict_and_are_checked),
        cmocka_unit_test(test_checkpoints_of_separate_modules_are_made_together),
        cmocka_unit_test(test_sharding_needs_ranks),
        cmocka_unit_test(test_own_options_replace_those_of_a_loader),
        cmocka_unit_test(test_own_changes_are_made_in_the_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
