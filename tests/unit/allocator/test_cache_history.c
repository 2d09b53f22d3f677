/* test_cache_history.c - what the message of a refused release reports about the block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"

static uint64_t alloc_named(fixture *on, size_t n_bytes, tide_category category, const char *name) {
    uint64_t address = 0;
    const tide_tag tag = {category, name};
    assert_int_equal(tide_cache_alloc(on->cache, n_bytes, 0, &tag, &address, &on->error), TIDE_OK);
    return address;
}

/* Expects that the release is refused, that the cache stays consistent, and that the message
 * contains the texts in this order. The list ends with NULL. */
static void expect_refusal(fixture *on, uint64_t address, const char *const *texts) {
    assert_int_equal(tide_cache_release(on->cache, address, &on->error), TIDE_INVALID);
    const char *rest = on->error.message;
    for (size_t i = 0; texts[i] != NULL; i++) {
        const char *found = strstr(rest, texts[i]);
        if (found == NULL) {
            fail_msg("no \"%s\" in: %s", texts[i], on->error.message);
            return;
        }
        rest = found + strlen(texts[i]);
    }
    fixture_check(on);
}

static bool message_has(const fixture *on, const char *text) {
    return strstr(on->error.message, text) != NULL;
}

/* Events: 0 segment, 1 alloc, 2 alloc, 3 free. Leaves both scopes closed. */
static void two_blocks(fixture *on, uint64_t *ret_freed, uint64_t *ret_live) {
    tide_scope step = tide_scope_begin(on->recorder, TIDE_SCOPE_STEP, "step", 3);
    tide_scope forward = tide_scope_begin(on->recorder, TIDE_SCOPE_PHASE, "forward", -1);
    *ret_freed = alloc_named(on, 1000, TIDE_ACTIVATION, "layers.0.attn.q");
    *ret_live = alloc_named(on, 2000, TIDE_GRADIENT, "logits.grad");
    tide_scope_end(on->recorder, forward);
    (void)tide_scope_begin(on->recorder, TIDE_SCOPE_PHASE, "backward", -1);
    fixture_release(on, *ret_freed);
    tide_scope_end(on->recorder, step);
}

static void a_freed_block_names_both_ends_of_its_life(void **state) {
    (void)state;
    fixture on;
    uint64_t freed = 0;
    uint64_t live = 0;
    fixture_open(&on, 0, 0, "");
    two_blocks(&on, &freed, &live);
    expect_refusal(&on, freed,
                   (const char *const[]){"it is free already; release each block once\n",
                                         "the block: activation layers.0.attn.q, 1000 bytes, "
                                         "allocated as event 1, ",
                                         " ms ago, in step 3/forward\n", "released as event 3, ",
                                         " ms ago, in step 3/backward", NULL});
    assert_false(message_has(&on, "call stack")); /* the recorder captures no stacks */
    /* The same for an address inside the block. */
    expect_refusal(&on, freed + 512,
                   (const char *const[]){"it is free already, 512 bytes inside its block;",
                                         "layers.0.attn.q, 1000 bytes", NULL});
    /* The latest block at an address counts, not an earlier one. */
    uint64_t again = alloc_named(&on, 700, TIDE_TEMPORARY, "scratch");
    assert_true(again == freed);
    fixture_release(&on, again);
    expect_refusal(&on, freed,
                   (const char *const[]){"temporary scratch, 700 bytes, allocated as event 4, ",
                                         "released as event 5, ", NULL});
    fixture_close(&on);
}

static void a_misaligned_address_names_the_live_block(void **state) {
    (void)state;
    fixture on;
    uint64_t freed = 0;
    uint64_t live = 0;
    fixture_open(&on, 0, 0, "");
    two_blocks(&on, &freed, &live);
    expect_refusal(&on, live + 8,
                   (const char *const[]){"it is 8 bytes inside the block at 0x70000000",
                                         "the block: gradient logits.grad, 2000 bytes, allocated "
                                         "as event 2, ",
                                         " ms ago, in step 3/forward", NULL});
    assert_false(message_has(&on, "released as"));
    fixture_release(&on, live);
    fixture_close(&on);
}

static void a_returned_segment_is_told_from_a_foreign_address(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = alloc_named(&on, 4 * MIB, TIDE_PARAMETER, "lm_head.weight");
    expect_refusal(&on, block + 8 * MIB,
                   (const char *const[]){"no block was handed out there", NULL});
    fixture_release(&on, block);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    expect_refusal(&on, block,
                   (const char *const[]){"it is free already; release each block once\n",
                                         "parameter lm_head.weight, 4194304 bytes, allocated as "
                                         "event 1, ",
                                         "\n  released as event 2, ",
                                         "\n  its segment went back to the device as event 3, ",
                                         NULL});
    expect_refusal(&on, block + ((uint64_t)1 << 40),
                   (const char *const[]){"it is in no segment of this cache; release it where it "
                                         "was allocated",
                                         NULL});
    assert_false(message_has(&on, "\n"));
    /* The address is in a new segment now, so blocks of the old one are not its history. */
    uint64_t other = alloc_named(&on, 2 * MIB, TIDE_INPUT, "tokens");
    assert_true(other == block);
    expect_refusal(&on, block + 3 * MIB,
                   (const char *const[]){"no block was handed out there", NULL});
    assert_false(message_has(&on, "lm_head"));
    fixture_close(&on);
}

static void call_stacks_are_found_by_their_events(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    tide_cache_destroy(on.cache);
    tide_recorder_destroy(on.recorder);
    assert_int_equal(tide_recorder_create(NULL, &on.recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(&on.device.base, on.recorder, NULL, &on.cache, NULL),
                     TIDE_OK);
    if (tide_recorder_stacks_missing(on.recorder) == NULL) {
        uint64_t block = alloc_named(&on, 100, TIDE_WORKSPACE, "gemm");
        fixture_release(&on, block);
        expect_refusal(
            &on, block,
            (const char *const[]){"allocated as event 1, ", "\n  released as event 2, ",
                                  "\n  their call stacks: in a snapshot, at these events", NULL});
    }
    fixture_close(&on);
}

/* A second cache is refused: an address would have two histories, and a snapshot would mix the
 * events of both. */
static void a_recorder_serves_one_cache(void **state) {
    (void)state;
    fixture on;
    tide_cache *second = NULL;
    fixture_open(&on, 0, 0, "");
    assert_int_equal(tide_cache_create(&on.device.base, on.recorder, NULL, &second, &on.error),
                     TIDE_INVALID);
    assert_true(message_has(&on, "create a recorder for each cache"));
    assert_null(second);
    /* A later cache is refused also: destroying the first one recorded no rows. */
    tide_cache_destroy(on.cache);
    assert_int_equal(tide_cache_create(&on.device.base, on.recorder, NULL, &on.cache, &on.error),
                     TIDE_INVALID);
    assert_int_equal(tide_cache_create(&on.device.base, NULL, NULL, &on.cache, NULL), TIDE_OK);
    fixture_close(&on);
}

/* A log of two rows, which has lost the block's beginning or its end. */
static void small_log(tide_full_policy policy, bool has_recorder, const char *const *texts) {
    fixture on;
    fixture_open(&on, 0, 0, "");
    tide_cache_destroy(on.cache);
    tide_recorder_destroy(on.recorder);
    on.recorder = NULL;
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = 2 * sizeof(tide_event);
    config.full_policy = policy;
    config.capture_stacks = false;
    if (has_recorder) {
        assert_int_equal(tide_recorder_create(&config, &on.recorder, NULL), TIDE_OK);
    }
    assert_int_equal(tide_cache_create(&on.device.base, on.recorder, NULL, &on.cache, NULL),
                     TIDE_OK);
    uint64_t first = alloc_named(&on, 100, TIDE_INPUT, "first");
    uint64_t second = alloc_named(&on, 200, TIDE_OPTIMIZER_STATE, "second");
    fixture_release(&on, first);
    expect_refusal(&on, first, texts);
    if (!has_recorder || policy == TIDE_FULL_STOP) {
        assert_false(message_has(&on, "\n"));
        expect_refusal(&on, second + 1,
                       (const char *const[]){"the block: optimizer_state", "200 bytes", NULL});
    }
    fixture_close(&on);
}

static void what_the_log_lost_is_left_out(void **state) {
    (void)state;
    small_log(TIDE_FULL_KEEP_NEWEST, true,
              (const char *const[]){"the block: input first, 100 bytes\n", "released as event 3, ",
                                    NULL});
    small_log(TIDE_FULL_STOP, true, (const char *const[]){"it is free already", NULL});
    small_log(TIDE_FULL_STOP, false, (const char *const[]){"it is free already", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freed_block_names_both_ends_of_its_life),
        cmocka_unit_test(a_misaligned_address_names_the_live_block),
        cmocka_unit_test(a_returned_segment_is_told_from_a_foreign_address),
        cmocka_unit_test(call_stacks_are_found_by_their_events),
        cmocka_unit_test(what_the_log_lost_is_left_out),
        cmocka_unit_test(a_recorder_serves_one_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
