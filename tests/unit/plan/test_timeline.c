/* test_timeline.c - peaks of a made training run with shares of its blocks, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/plan/changes.h"
#include "programs/plan/timeline.h"
#include "training.h"

typedef struct made {
    tide_snapshot *snapshot;
    tide_plan_timeline timeline;
} made;

static made make(void) {
    made of = {.snapshot = made_training(NULL, 0)};
    tide_error error = {""};
    assert_int_equal(tide_plan_timeline_init(&of.timeline, of.snapshot, &error), TIDE_OK);
    return of;
}

static void destroy(made *of) {
    tide_plan_timeline_fini(&of->timeline);
    tide_snapshot_destroy(of->snapshot);
}

/* The lowest peak in MiB with one change. */
static int64_t lowest(const made *of, const char *words, const char *detail, double worth) {
    const char *argument = "";
    const tide_plan_change *change = tide_plan_change_of(words, &argument);
    tide_plan_shares shares;
    const tide_plan_shares *list = &shares;
    assert_non_null(change);
    assert_int_equal(tide_plan_shares_init(&shares, &of->timeline), TIDE_OK);
    assert_int_equal(change->leave(&of->timeline, argument, detail, &shares), TIDE_OK);
    int64_t bytes = tide_plan_peak(&of->timeline, &list, &worth, 1, NULL);
    tide_plan_shares_fini(&shares, of->timeline.mem);
    return bytes / MIB;
}

static void test_walk_without_changes_gives_the_peak(void **state) {
    (void)state;
    made of = make();
    size_t place = 0;
    assert_int_equal(tide_plan_peak(&of.timeline, NULL, NULL, 0, &place), TRAINING_PEAK_MIB * MIB);
    const tide_plan_block *block = &of.timeline.blocks[of.timeline.places[place]];
    assert_int_equal(block->category, TIDE_TEMPORARY);
    assert_string_equal(block->phase, "optimizer");
    assert_int_equal(block->step, 0);
    destroy(&of);
}

static void test_peak_moves_when_blocks_shrink(void **state) {
    (void)state;
    made of = make();
    /* The peak is the optimizer's without its temporary, then the backward pass without the state.
     */
    assert_int_equal(lowest(&of, "fused", "", 1.0), TRAINING_PEAK_MIB - 50);
    assert_int_equal(lowest(&of, "adafactor", "", 1.0), 100 + 28 + 30 + 40);
    assert_int_equal(lowest(&of, "optimizer_in_backward", "", 1.0), 100 + 200);
    destroy(&of);
}

static void test_activations_do_not_matter_at_the_optimizer(void **state) {
    (void)state;
    made of = make();
    assert_int_equal(lowest(&of, "checkpoint:Block", "h.0 h.1", 1.0), TRAINING_PEAK_MIB);
    assert_int_equal(lowest(&of, "offload_activations", "", 1.0), TRAINING_PEAK_MIB);
    destroy(&of);
}

/* Without optimizer state the peak is where the second gradient is: 4 MiB and 10 of the first block
 * are computed again. */
static void test_recomputed_blocks_are_there_again_in_their_backward_pass(void **state) {
    (void)state;
    made of = make();
    const char *argument = "";
    tide_plan_shares shares[2];
    const tide_plan_shares *list[] = {&shares[0], &shares[1]};
    const double worth[] = {1.0, 1.0};
    const tide_plan_change *state_change = tide_plan_change_of("adafactor", &argument);
    const tide_plan_change *change = tide_plan_change_of("checkpoint:Block", &argument);
    assert_string_equal(argument, "Block");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tide_plan_shares_init(&shares[i], &of.timeline), TIDE_OK);
    }
    assert_int_equal(state_change->leave(&of.timeline, "", "", &shares[0]), TIDE_OK);
    assert_int_equal(change->leave(&of.timeline, "Block", "h.0 h.1", &shares[1]), TIDE_OK);
    assert_int_equal(tide_plan_peak(&of.timeline, list, worth, 2, NULL) / MIB,
                     100 + 4 + 10 + 2 * 40);
    for (size_t i = 0; i < 2; i++) {
        tide_plan_shares_fini(&shares[i], of.timeline.mem);
    }
    destroy(&of);
}

/* A step of two forward and backward passes of one block. The 10 MiB of one pass are alive again in
 * the backward pass of the block, so the peak stays at the logits, and is 10 MiB lower. */
static void test_accumulated_gradients_need_one_recomputation_at_a_time(void **state) {
    (void)state;
    enum { N_OF_PASS = 4, N = 2 * N_OF_PASS };
    static const struct {
        const char *phase, *layer;
        int64_t mib;
        uint32_t born, died; /* of the first pass */
        tide_category category;
    } PASS[N_OF_PASS] = {{"forward", "h.0.mlp", 10, 0, 6, TIDE_ACTIVATION},
                         {"forward", "h.0", 4, 1, 4, TIDE_ACTIVATION},
                         {"forward", "", 60, 2, 3, TIDE_ACTIVATION},
                         {"backward", "h.0.mlp", 40, 5, 7, TIDE_TEMPORARY}};
    tide_plan_block blocks[N];
    uint32_t places[2 * N];
    for (uint32_t i = 0; i < N; i++) {
        uint32_t shift = i / N_OF_PASS * 2 * N_OF_PASS;
        blocks[i] = (tide_plan_block){.bytes = PASS[i % N_OF_PASS].mib * MIB,
                                      .phase = PASS[i % N_OF_PASS].phase,
                                      .layer = PASS[i % N_OF_PASS].layer,
                                      .operation = "",
                                      .born = PASS[i % N_OF_PASS].born + shift,
                                      .died = PASS[i % N_OF_PASS].died + shift,
                                      .stack = TIDE_NONE,
                                      .category = (uint8_t)PASS[i % N_OF_PASS].category};
        places[blocks[i].born] = places[blocks[i].died] = i;
    }
    made of = {.timeline = {.mem = tide_hostmem_default(),
                            .blocks = blocks,
                            .n_blocks = N,
                            .places = places,
                            .n_places = 2 * (size_t)N}};
    assert_int_equal(tide_plan_peak(&of.timeline, NULL, NULL, 0, NULL), (10 + 4 + 60) * MIB);
    assert_int_equal(lowest(&of, "checkpoint:Block", "h.0", 1.0), 4 + 60);
}

/* A step of the forward and backward passes of some modules. */
typedef struct made_block {
    const char *phase, *layer;
    int64_t mib;
    uint32_t born, died, node;
    tide_category category;
} made_block;

enum { MOST_MADE = 8 };

static tide_plan_timeline make_of(const made_block *rows, size_t n, tide_plan_block *blocks,
                                  uint32_t *places) {
    assert_true(n <= MOST_MADE);
    for (uint32_t i = 0; i < n; i++) {
        blocks[i] = (tide_plan_block){.bytes = rows[i].mib * MIB,
                                      .phase = rows[i].phase,
                                      .layer = rows[i].layer,
                                      .operation = "",
                                      .born = rows[i].born,
                                      .died = rows[i].died,
                                      .stack = TIDE_NONE,
                                      .node = rows[i].node,
                                      .category = (uint8_t)rows[i].category};
        places[rows[i].born] = places[rows[i].died] = i;
    }
    return (tide_plan_timeline){.mem = tide_hostmem_default(),
                                .blocks = blocks,
                                .n_blocks = n,
                                .places = places,
                                .n_places = 2 * n};
}

/* Nothing keeps the output of a module that a residual connection adds: its last activation is the
 * input of its last product, which the product frees in the backward pass. Each of the two modules
 * keeps 30 MiB, of which 20 are that input. The 70 MiB of the last module's gradient are the peak
 * with both checkpoints: its 10 MiB, which are still needed, are computed again. */
static void test_last_activation_is_not_always_the_output(void **state) {
    (void)state;
    static const made_block ROWS[] = {
        {"forward", "attn", 10, 0, 15, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "attn", 20, 1, 13, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "attn", 5, 2, 3, TIDE_NONE, TIDE_TEMPORARY}, /* the output */
        {"forward", "mlp", 10, 4, 11, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "mlp", 20, 5, 7, TIDE_NONE, TIDE_ACTIVATION},
        {"backward", "mlp", 70, 6, 9, 1, TIDE_TEMPORARY},
        {"backward", "mlp", 1, 8, 10, 2, TIDE_TEMPORARY},
        {"backward", "attn", 70, 12, 14, 3, TIDE_TEMPORARY},
    };
    tide_plan_block blocks[MOST_MADE];
    uint32_t places[2 * MOST_MADE];
    made of = {.timeline = make_of(ROWS, MOST_MADE, blocks, places)};
    assert_int_equal(tide_plan_peak(&of.timeline, NULL, NULL, 0, NULL), (60 + 70) * MIB);
    assert_int_equal(lowest(&of, "checkpoint:MLP", "mlp", 1.0), 30 + 10 + 70);
    assert_int_equal(lowest(&of, "checkpoint:Attention", "attn", 1.0), 30 + 70);
    static const char *const WORDS[] = {"checkpoint:Attention", "checkpoint:MLP"};
    static const char *const PATHS[] = {"attn", "mlp"};
    static const double WORTH[] = {1.0, 1.0};
    tide_plan_shares shares[2];
    const tide_plan_shares *list[] = {&shares[0], &shares[1]};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tide_plan_shares_init(&shares[i], &of.timeline), TIDE_OK);
        assert_int_equal(tide_plan_leave_recomputed(&of.timeline, WORDS[i], PATHS[i], &shares[i]),
                         TIDE_OK);
    }
    assert_int_equal(tide_plan_peak(&of.timeline, list, WORTH, 2, NULL) / MIB, 10 + 70);
    list[0] = &shares[1]; /* in the other order */
    list[1] = &shares[0];
    assert_int_equal(tide_plan_peak(&of.timeline, list, WORTH, 2, NULL) / MIB, 10 + 70);
    for (size_t i = 0; i < 2; i++) {
        tide_plan_shares_fini(&shares[i], of.timeline.mem);
    }
}

/* The first operation of the backward pass, whose gradient has 50 MiB, needs nothing of the forward
 * pass: the 30 MiB are computed again for the second. */
static void test_recomputation_waits_for_what_is_needed(void **state) {
    (void)state;
    static const made_block ROWS[] = {
        {"forward", "mlp", 10, 0, 7, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "mlp", 20, 1, 5, TIDE_NONE, TIDE_ACTIVATION},
        {"backward", "mlp", 50, 2, 3, 1, TIDE_TEMPORARY},
        {"backward", "mlp", 5, 4, 6, 2, TIDE_TEMPORARY},
    };
    tide_plan_block blocks[MOST_MADE];
    uint32_t places[2 * MOST_MADE];
    made of = {.timeline = make_of(ROWS, sizeof(ROWS) / sizeof(ROWS[0]), blocks, places)};
    assert_int_equal(lowest(&of, "checkpoint:MLP", "mlp", 1.0), 50);
}

/* Modules within modules: what both compute again counts once. */
static void test_block_of_two_checkpoints_counts_once(void **state) {
    (void)state;
    static const made_block ROWS[] = {
        {"forward", "h.mlp", 10, 0, 3, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "h.mlp", 20, 1, 5, TIDE_NONE, TIDE_ACTIVATION},
        {"backward", "h.mlp", 7, 2, 4, TIDE_NONE, TIDE_TEMPORARY},
    };
    tide_plan_block blocks[MOST_MADE];
    uint32_t places[2 * MOST_MADE];
    const double worth[] = {1.0, 1.0};
    tide_plan_shares shares[2];
    const tide_plan_shares *list[] = {&shares[0], &shares[1]};
    tide_plan_timeline timeline = make_of(ROWS, sizeof(ROWS) / sizeof(ROWS[0]), blocks, places);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tide_plan_shares_init(&shares[i], &timeline), TIDE_OK);
        assert_int_equal(
            tide_plan_leave_recomputed(&timeline, "", i == 0 ? "h" : "h.mlp", &shares[i]), TIDE_OK);
    }
    assert_int_equal(tide_plan_peak(&timeline, list, worth, 2, NULL) / MIB, 10 + 20 + 7);
    for (size_t i = 0; i < 2; i++) {
        tide_plan_shares_fini(&shares[i], timeline.mem);
    }
}

/* Modules that are called without their parent have one path. Any activation may be of them. */
static void test_modules_without_paths_of_their_own_may_leave_all(void **state) {
    (void)state;
    static const made_block ROWS[] = {
        {"forward", "Mixer", 10, 0, 7, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "net.3", 20, 1, 5, TIDE_NONE, TIDE_ACTIVATION},
        {"backward", "net.3", 50, 2, 3, 1, TIDE_TEMPORARY},
        {"backward", "Mixer", 5, 4, 6, 2, TIDE_TEMPORARY},
    };
    tide_plan_block blocks[MOST_MADE];
    uint32_t places[2 * MOST_MADE];
    made of = {.timeline = make_of(ROWS, sizeof(ROWS) / sizeof(ROWS[0]), blocks, places)};
    assert_int_equal(lowest(&of, "checkpoint:Wide", "Wide Wide", 1.0), 50);
    assert_int_equal(lowest(&of, "checkpoint_half:Wide", "Wide Wide", 1.0), 50);
    assert_int_equal(lowest(&of, "checkpoint:Wide", "Wide Other", 1.0), 80);
    assert_true(tide_plan_paths_differ(""));
    assert_true(tide_plan_paths_differ("h.1 h.11 h"));
    assert_false(tide_plan_paths_differ("a h.1 b h.1"));
}

/* What is recorded before the first module of a step may be of a module: here 20 MiB, but not the
 * loss' 30. */
static void test_what_precedes_the_modules_may_be_of_them(void **state) {
    (void)state;
    static const made_block ROWS[] = {
        {"forward", "", 20, 0, 7, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "h.0", 10, 1, 6, TIDE_NONE, TIDE_ACTIVATION},
        {"forward", "", 30, 2, 3, TIDE_NONE, TIDE_ACTIVATION},
        {"backward", "h.0", 5, 4, 5, TIDE_NONE, TIDE_TEMPORARY},
    };
    tide_plan_block blocks[MOST_MADE];
    uint32_t places[2 * MOST_MADE];
    made of = {.timeline = make_of(ROWS, sizeof(ROWS) / sizeof(ROWS[0]), blocks, places)};
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        blocks[i].step = 1;
    }
    assert_int_equal(tide_plan_peak(&of.timeline, NULL, NULL, 0, NULL), 60 * MIB);
    assert_int_equal(lowest(&of, "checkpoint:Block", "h.0", 1.0), 30);
}

/* Half of the batch: of the 14 MiB of the first block, 7 are alive at the second gradient. */
static void test_recomputed_blocks_shrink_with_other_changes(void **state) {
    (void)state;
    static const char *const WORDS[] = {"adafactor", "checkpoint:Block", "micro_batch:2"};
    enum { N = sizeof(WORDS) / sizeof(WORDS[0]) };
    made of = make();
    tide_plan_shares shares[N];
    const tide_plan_shares *list[N];
    const double worth[N] = {1.0, 1.0, 1.0};
    for (size_t i = 0; i < N; i++) {
        const char *argument = "";
        const tide_plan_change *change = tide_plan_change_of(WORDS[i], &argument);
        assert_int_equal(tide_plan_shares_init(&shares[i], &of.timeline), TIDE_OK);
        assert_int_equal(change->leave(&of.timeline, argument, "h.0 h.1", &shares[i]), TIDE_OK);
        list[i] = &shares[i];
    }
    assert_int_equal(tide_plan_peak(&of.timeline, list, worth, N, NULL) / MIB, 100 + 7 + 2 * 40);
    for (size_t i = 0; i < N; i++) {
        tide_plan_shares_fini(&shares[i], of.timeline.mem);
    }
    destroy(&of);
}

/* What was freed in the forward pass is not alive in the backward pass. */
static void test_only_what_was_kept_is_there_again(void **state) {
    (void)state;
    made of = make();
    tide_plan_shares shares;
    assert_int_equal(tide_plan_shares_init(&shares, &of.timeline), TIDE_OK);
    assert_int_equal(tide_plan_leave_recomputed(&of.timeline, "Block", "h.0 h.1", &shares),
                     TIDE_OK);
    assert_int_equal(shares.n_turns, 2 * 4);
    tide_plan_shares_fini(&shares, of.timeline.mem);
    of.timeline.blocks[1].died = of.timeline.blocks[2].born; /* the 10 MiB of h.0 */
    assert_int_equal(tide_plan_shares_init(&shares, &of.timeline), TIDE_OK);
    assert_int_equal(tide_plan_leave_recomputed(&of.timeline, "Block", "h.0 h.1", &shares),
                     TIDE_OK);
    assert_int_equal(shares.n_turns, 2 * 3);
    tide_plan_shares_fini(&shares, of.timeline.mem);
    destroy(&of);
}

/* The last operation before the end of the second block frees what it uses while it runs: here it
 * is the first of the backward pass. */
static void test_what_is_there_again_ends_in_its_last_operation(void **state) {
    (void)state;
    made of = make();
    tide_plan_shares shares;
    of.timeline.blocks[6].node = 5; /* the gradient of h.1 */
    assert_int_equal(tide_plan_shares_init(&shares, &of.timeline), TIDE_OK);
    assert_int_equal(tide_plan_leave_recomputed(&of.timeline, "Block", "h.0 h.1", &shares),
                     TIDE_OK);
    assert_int_equal(shares.n_turns, 2 * 2);
    assert_int_equal(shares.turns[0].block, 1); /* of h.0, which has no such operation */
    assert_int_equal(shares.turns[1].block, 2);
    assert_int_equal(shares.again[3].from, TIDE_NONE);
    tide_plan_shares_fini(&shares, of.timeline.mem);
    destroy(&of);
}

static void test_worth_scales_what_a_change_saves(void **state) {
    (void)state;
    made of = make();
    assert_int_equal(lowest(&of, "fused", "", 0.5), TRAINING_PEAK_MIB - 25);
    assert_int_equal(lowest(&of, "fused", "", 0.0), TRAINING_PEAK_MIB);
    destroy(&of);
}

static void test_a_name_is_not_the_beginning_of_another(void **state) {
    (void)state;
    assert_true(tide_plan_is_within("h.1", "h.1", 3));
    assert_true(tide_plan_is_within("h.1.mlp", "h.1", 3));
    assert_false(tide_plan_is_within("h.11", "h.1", 3));
    const char *argument = "";
    assert_null(tide_plan_change_of("check", &argument));
    assert_null(tide_plan_change_of("fusedx", &argument));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_without_changes_gives_the_peak),
        cmocka_unit_test(test_peak_moves_when_blocks_shrink),
        cmocka_unit_test(test_activations_do_not_matter_at_the_optimizer),
        cmocka_unit_test(test_recomputed_blocks_are_there_again_in_their_backward_pass),
        cmocka_unit_test(test_accumulated_gradients_need_one_recomputation_at_a_time),
        cmocka_unit_test(test_last_activation_is_not_always_the_output),
        cmocka_unit_test(test_recomputation_waits_for_what_is_needed),
        cmocka_unit_test(test_block_of_two_checkpoints_counts_once),
        cmocka_unit_test(test_modules_without_paths_of_their_own_may_leave_all),
        cmocka_unit_test(test_what_precedes_the_modules_may_be_of_them),
        cmocka_unit_test(test_recomputed_blocks_shrink_with_other_changes),
        cmocka_unit_test(test_only_what_was_kept_is_there_again),
        cmocka_unit_test(test_what_is_there_again_ends_in_its_last_operation),
        cmocka_unit_test(test_worth_scales_what_a_change_saves),
        cmocka_unit_test(test_a_name_is_not_the_beginning_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
