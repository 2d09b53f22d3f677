/* test_causes_pieces.c - the cause of reserved memory whose free pieces serve nothing: it fires on
 * its facts, and is silent where one of them is missing.
 */
#include "causes_fixture.h"

#include <string.h>

#define FIRST (UINT64_C(1) << 40) /* an address */
#define NEXT (UINT64_C(1) << 36)  /* from one segment to the next: 64 GiB */

static recording made;

static int start(void **state) {
    (void)state;
    begin_recording(&made);
    return 0;
}

/* Batches of these sizes, one after the other, each in a segment of its own, and a larger one. */
static void batches(uint64_t first_bytes, uint64_t step_bytes) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t n_bytes = first_bytes + i * step_bytes;
        alloc_alone(&made, FIRST + i * NEXT, n_bytes, AT_FORWARD);
        drop(&made, FIRST + i * NEXT, n_bytes);
    }
    alloc_alone(&made, FIRST + 8 * NEXT, 900 * MIB, AT_FORWARD);
}

static void reserved_for_varying_sizes(void **state) {
    (void)state;
    batches(100 * MIB, 100 * MIB);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "reserved_in_pieces");
    assert_string_equal(cause->words,
                        "The allocator reserved 900.00 MiB more for run (model.py:5), while "
                        "3.52 GiB of what it had reserved was free, in pieces of at most 800.00 "
                        "MiB. The sizes of the same tensors change from pass to pass, and a piece "
                        "of another size often fits none of them.");
    assert_true(cause->is_of_reserved);
    assert_non_null(strstr(cause->cure, "begin with the largest"));
    end_explained(&of);
    batches(800 * MIB, 0);
    assert_silent(&made, "reserved_in_pieces");
    batches(100 * MIB, 100 * MIB);
    fail_request(&made, 24 * GIB, GIB, AT_FORWARD); /* the failure has causes of its own */
    assert_silent(&made, "reserved_in_pieces");
}

static void assert_cure(const char *part) {
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "reserved_in_pieces")->cure, part));
    end_explained(&of);
}

/* Batches of these sizes, in MiB, one after the other, each in a segment of its own. */
static void batches_of(const uint64_t *mib, size_t n) {
    begin_recording(&made);
    for (size_t i = 0; i < n; i++) {
        alloc_alone(&made, FIRST + i * NEXT, mib[i] * MIB, AT_FORWARD);
        drop(&made, FIRST + i * NEXT, mib[i] * MIB);
    }
}

/* Tensors that get longer by as much each time are those of a cache, unless they are trained. */
static void reserved_for_a_cache_that_gets_longer(void **state) {
    (void)state;
    static const tide_scope_row backward = {
        .parent = TIDE_NONE, .name = FIXTURE_BACKWARD, .kind = TIDE_SCOPE_PHASE};
    static const uint64_t longer[] = {500, 510, 520, 530, 540, 550, 560, 570, 580, 590, 600};
    static const uint64_t uneven[] = {500, 510, 530, 540, 570, 580, 620, 630, 680, 690, 700};
    static const uint64_t doubled[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
    batches_of(longer, sizeof(longer) / sizeof(longer[0]));
    assert_cure("if they are a cache");
    made.scopes = &backward;
    made.n_scopes = 1;
    assert_cure("begin with the largest size");
    batches_of(uneven, sizeof(uneven) / sizeof(uneven[0]));
    assert_cure("begin with the largest size");
    batches_of(doubled, sizeof(doubled) / sizeof(doubled[0]));
    assert_cure("begin with the largest size");
}

/* The largest batch came first, so the others made no difference. */
static void reserved_before_the_sizes_change(void **state) {
    (void)state;
    static const uint64_t falling[] = {900, 800, 700, 600, 500, 400, 300};
    begin_recording(&made);
    for (uint64_t i = 0; i < 3; i++) { /* free, in pieces */
        alloc_alone(&made, FIRST + (i + 50) * NEXT, 850 * MIB, AT_MAIN);
        drop(&made, FIRST + (i + 50) * NEXT, 850 * MIB);
    }
    for (uint64_t i = 0; i < sizeof(falling) / sizeof(falling[0]); i++) {
        if (i == 0) {
            buy(&made, FIRST, falling[i] * MIB, AT_FORWARD);
        }
        alloc(&made, FIRST, falling[i] * MIB, AT_FORWARD);
        drop(&made, FIRST, falling[i] * MIB);
    }
    assert_silent(&made, "reserved_in_pieces");
}

/* Segments of 6 GiB, each with a block that stays, and a larger one. */
static void held_segments(uint64_t held_bytes, uint64_t bought_bytes) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 3; i++) {
        buy(&made, FIRST + i * NEXT, 6 * GIB, AT_MAIN);
        alloc(&made, FIRST + i * NEXT, held_bytes, AT_RUN);
    }
    alloc_alone(&made, FIRST + 3 * NEXT, bought_bytes, AT_MAIN);
}

static void reserved_for_blocks_that_stay(void **state) {
    (void)state;
    held_segments(100 * MIB, 7 * GIB);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "reserved_in_pieces");
    assert_non_null(strstr(cause->words, "7.00 GiB more for main (train.py:10), while 17.71 GiB"));
    assert_non_null(strstr(cause->words, "3 blocks from run (model.py:5) stay alive"));
    assert_int_equal(cause->bytes, 3 * (6 * GIB - 100 * MIB));
    end_explained(&of);
    held_segments(4 * GIB, 7 * GIB); /* the segments are mostly used */
    assert_silent(&made, "reserved_in_pieces");
    held_segments(100 * MIB, 24 * GIB); /* what was free would not have gone far */
    assert_silent(&made, "reserved_in_pieces");
}

/* Tensors of one line that are far larger than all others come first, though less memory is theirs
 * than is free in pieces. */
static void pieces_after_a_blow_up(void **state) {
    (void)state;
    static const tide_source_row line = {FIXTURE_TRAIN, 10, "d = x[:, None] - x[None]", false};
    begin_recording(&made);
    for (uint64_t i = 0; i < 6; i++) {
        buy(&made, FIRST + i * NEXT, 6 * GIB, AT_RUN);
        alloc(&made, FIRST + i * NEXT, 800 * MIB, AT_RUN);
    }
    for (uint64_t i = 0; i < 40; i++) {
        alloc(&made, FIRST + GIB, MIB, AT_RUN);
        drop(&made, FIRST + GIB, MIB);
    }
    alloc_alone(&made, FIRST + 6 * NEXT, 7 * GIB, AT_MAIN);
    made.source = &line;
    made.n_source = 1;
    explained of;
    explain(&made, &of);
    assert_string_equal(of.causes.causes[0].id, "blow_up");
    assert_non_null(strstr(of.causes.causes[0].cure, "torch.cdist"));
    assert_string_equal(of.causes.causes[1].id, "reserved_in_pieces");
    assert_true(of.causes.causes[1].share > of.causes.causes[0].share);
    end_explained(&of);
    made.n_source = 0; /* outside of modules, the text of the line is the evidence */
    assert_silent(&made, "blow_up");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reserved_for_varying_sizes, start),
        cmocka_unit_test_setup(reserved_for_a_cache_that_gets_longer, start),
        cmocka_unit_test_setup(reserved_before_the_sizes_change, start),
        cmocka_unit_test_setup(reserved_for_blocks_that_stay, start),
        cmocka_unit_test_setup(pieces_after_a_blow_up, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
