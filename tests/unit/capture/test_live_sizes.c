/* test_live_sizes.c - the blocks derived from the rows of a live recording: PyTorch reports the
 * requested sizes, and the block sizes follow from the neighbours at the time of the allocation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/recover.h"
#include "common/text/text.h"
#include "support/made_log.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

enum { TEXT_BYTES = 1024 };

static tide_snapshot *recover(const made_log *log, tide_recover_notes *ret_notes) {
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_error error = {""};
    if (tide_recover_with_notes(log->path, NULL, &snapshot, &report, ret_notes, &error) !=
        TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(report.n_damaged + report.n_unfit + report.n_missing, 0);
    assert_int_equal(report.n_references_lost, 0);
    made_log_remove(log);
    return snapshot;
}

/* "4096 3072+ | 512": the blocks of each segment in KiB, in use with a plus, waiting for a stream
 * with a star. */
static void say_blocks(const tide_segment_row *segments, size_t n_segments,
                       const tide_block_row *blocks, char ret_text[TEXT_BYTES]) {
    tide_text text = tide_text_in(ret_text, TEXT_BYTES);
    for (size_t i = 0; i < n_segments; i++) {
        tide_text_add(&text, "%s", i > 0 ? " |" : "");
        for (size_t b = 0; b < segments[i].n_blocks; b++) {
            const tide_block_row *block = &blocks[segments[i].first_block + b];
            tide_text_add(&text, "%s%.8g%s", text.n_used > 0 ? " " : "",
                          (double)block->block_bytes / (double)KIB,
                          block->state == TIDE_BLOCK_ALLOCATED      ? "+"
                          : block->state == TIDE_BLOCK_PENDING_FREE ? "*"
                                                                    : "");
        }
    }
}

static void expect_blocks(const tide_snapshot *snapshot, const char *start, const char *end) {
    char text[TEXT_BYTES];
    say_blocks(snapshot->start_segments, snapshot->n_start_segments, snapshot->start_blocks, text);
    assert_string_equal(text, start);
    say_blocks(snapshot->end_segments, snapshot->n_end_segments, snapshot->end_blocks, text);
    assert_string_equal(text, end);
}

/* Closes the log; releases what was recovered. */
static void expect(made_log *log, const char *start, const char *end) {
    made_log_close(log);
    tide_snapshot *snapshot = recover(log, NULL);
    expect_blocks(snapshot, start, end);
    tide_snapshot_destroy(snapshot);
}

static void open_log(made_log *log) {
    made_log_open(log, 64, 0);
}

/* A ring whose base gets everything before its newest `n_kept` rows. */
static void open_ring(made_log *log, size_t n_kept) {
    made_log_open(log, n_kept, 64);
}

static void alloc(made_log *log, uint64_t offset, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_ALLOC, AT + offset, n_bytes);
}

static void release(made_log *log, uint64_t offset, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_FREE, AT + offset, n_bytes);
}

static void buy(made_log *log, uint64_t offset, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_SEGMENT_ALLOC, AT + offset, n_bytes);
}

/* ---- one block ---- */

static void a_small_request_is_rounded(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 2 * MIB);
    alloc(&log, 0, 1);
    alloc(&log, 512, 513);
    alloc(&log, 512 * 3, MIB);
    expect(&log, "", "0.5+ 1+ 1024+ 1022.5");
}

static void a_small_block_leaves_the_rest_free_however_little_that_is(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 2 * MIB);
    alloc(&log, 0, MIB);
    alloc(&log, MIB, MIB - 512);
    expect(&log, "", "1024+ 1023.5+ 0.5");
}

static void a_large_block_keeps_a_rest_of_a_mebibyte(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 19 * MIB); /* 1 MiB remains */
    buy(&log, 64 * MIB, 20 * MIB);
    alloc(&log, 64 * MIB, 19 * MIB - 512); /* more than 1 MiB remains */
    expect(&log, "", "20480+ | 19455.5+ 1024.5");
}

static void a_large_block_ends_at_its_neighbour(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 4 * MIB);
    alloc(&log, 4 * MIB, 2 * MIB);
    release(&log, 0, 4 * MIB);
    alloc(&log, 0, 3 * MIB + 1); /* it gets the memory of the one before */
    expect(&log, "", "4096+ 2048+ 14336");
}

static void a_segment_ends_where_the_next_begins(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 20 * MIB);
    buy(&log, 20 * MIB, 20 * MIB);
    alloc(&log, 0, 11 * MIB);
    alloc(&log, 11 * MIB, 8 * MIB + 1);
    alloc(&log, 20 * MIB, 2 * MIB);
    expect(&log, "", "11264+ 9216+ | 2048+ 18432");
}

static void a_segment_that_is_gone_ends_nothing(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 10 * MIB);
    alloc(&log, 0, 10 * MIB);
    release(&log, 0, 10 * MIB);
    made_log_event(&log, TIDE_ACTION_SEGMENT_FREE, AT, 10 * MIB);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 9 * MIB + 512 * KIB); /* a segment of 10 MiB would be whole */
    expect(&log, "", "9728+ 10752");
}

static void a_block_that_waits_for_a_stream_is_a_neighbour(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 4 * MIB);
    alloc(&log, 4 * MIB, 2 * MIB);
    made_log_event(&log, TIDE_ACTION_FREE_REQUESTED, AT + 4 * MIB, 2 * MIB);
    release(&log, 0, 4 * MIB);
    alloc(&log, 0, 3 * MIB + 512 * KIB);
    expect(&log, "", "4096+ 2048* 14336");
}

static void a_free_repeats_what_its_block_was(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 19 * MIB + 1);
    made_log_event(&log, TIDE_ACTION_FREE_REQUESTED, AT, 19 * MIB + 1);
    made_log_event(&log, TIDE_ACTION_FREE_COMPLETED, AT, 19 * MIB + 1);
    made_log_close(&log);
    tide_snapshot *snapshot = recover(&log, NULL);
    assert_int_equal(snapshot->n_events, 4);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(tide_bytes_at(&snapshot->events.block_bytes, i), 20 * MIB);
        assert_int_equal(tide_bytes_at(&snapshot->events.requested_bytes, i), 19 * MIB + 1);
    }
    tide_snapshot_destroy(snapshot);
}

/* ---- settings ---- */

static void requests_may_be_rounded_to_parts_of_a_power_of_two(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "environment.PYTORCH_CUDA_ALLOC_CONF",
                  "roundup_power2_divisions:[256:1,512:2,>:4],backend:native");
    buy(&log, 0, 1024 * MIB);
    alloc(&log, 0, 600 * MIB); /* 512, 640, 768 ... with four parts */
    alloc(&log, 640 * MIB, 300 * MIB);
    expect(&log, "", "655360+ 307200+ 86016");
}

static void an_oversized_block_is_never_split(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "environment.PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:20");
    buy(&log, 0, 100 * MIB);
    alloc(&log, 0, 90 * MIB);
    buy(&log, 200 * MIB, 20 * MIB);
    alloc(&log, 200 * MIB, 4 * MIB);
    expect(&log, "", "102400+ | 4096+ 16384");
}

static void the_newer_name_of_the_settings_counts_too(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "environment.PYTORCH_ALLOC_CONF", "max_split_size_mb:20");
    buy(&log, 0, 100 * MIB);
    alloc(&log, 0, 90 * MIB);
    expect(&log, "", "102400+");
}

static double setting_of(const tide_snapshot *snapshot, const char *name) {
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        if (strcmp(snapshot->settings[i].name, name) == 0) {
            return snapshot->settings[i].number;
        }
    }
    return -2.0;
}

/* A replay begins with them. PyTorch reads the general variable only if the one of CUDA is not set.
 * Without any in the environment, the document states none. */
static void the_document_states_the_settings(void **state) {
    (void)state;
    for (int has_any = 0; has_any < 2; has_any++) {
        made_log log;
        open_log(&log);
        if (has_any) {
            made_log_text(&log, "environment.PYTORCH_CUDA_ALLOC_CONF",
                          "backend:native,max_split_size_mb:20,expandable_segments:True");
            made_log_text(&log, "environment.PYTORCH_ALLOC_CONF", "max_split_size_mb:32");
        }
        buy(&log, 0, 100 * MIB);
        made_log_close(&log);
        tide_snapshot *snapshot = recover(&log, NULL);
        assert_true(setting_of(snapshot, "max_split_size") == (has_any ? 20.0 * MIB : -2.0));
        assert_true(setting_of(snapshot, "expandable_segments") == (has_any ? 1.0 : -2.0));
        assert_true(has_any || snapshot->n_settings == 0);
        tide_snapshot_destroy(snapshot);
    }
}

/* ---- mapped memory ---- */

static void mapped_memory_is_split_to_the_last_bytes(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "environment.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    made_log_event(&log, TIDE_ACTION_SEGMENT_MAP, AT, 20 * MIB);
    alloc(&log, 0, 19 * MIB + 512 * KIB);
    made_log_event(&log, TIDE_ACTION_SEGMENT_MAP, AT + 20 * MIB, 20 * MIB);
    alloc(&log, 19 * MIB + 512 * KIB, 20 * MIB);
    expect(&log, "", "19968+ 20480+ 512");
}

static void memory_that_was_unmapped_ends_the_segment(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_event(&log, TIDE_ACTION_SEGMENT_MAP, AT, 40 * MIB);
    alloc(&log, 0, 2 * MIB);
    alloc(&log, 36 * MIB, 4 * MIB);
    made_log_event(&log, TIDE_ACTION_SEGMENT_UNMAP, AT + 20 * MIB, 10 * MIB);
    expect(&log, "", "2048+ 18432 | 6144 4096+");
}

/* Pools with an allocator of the program are bought in one piece whatever the settings are, and
 * their blocks are split like other such memory. */
static void the_settings_do_not_split_memory_that_came_in_one_piece(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "environment.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 19 * MIB + 512 * KIB);
    expect(&log, "", "20480+");
}

/* ---- what a ring has dropped ---- */

static void the_ring_keeps_what_stands_before_its_rows(void **state) {
    (void)state;
    made_log log;
    open_ring(&log, 2);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 4 * MIB);
    alloc(&log, 4 * MIB, 2 * MIB);
    made_log_event(&log, TIDE_ACTION_FREE_REQUESTED, AT, 4 * MIB);
    alloc(&log, 6 * MIB, 3 * MIB);
    release(&log, 4 * MIB, 2 * MIB);
    expect(&log, "4096* 2048+ 14336", "4096* 2048 3072+ 11264");
}

/* The neighbour at which the block ends is gone, and so is its row. */
static void a_block_of_the_base_ends_where_it_ended_at_its_birth(void **state) {
    (void)state;
    made_log log;
    open_ring(&log, 2);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 4 * MIB);
    alloc(&log, 4 * MIB, 2 * MIB);
    release(&log, 0, 4 * MIB);
    alloc(&log, 0, 3 * MIB + 512 * KIB); /* 4 MiB: half a MiB is not split off */
    release(&log, 4 * MIB, 2 * MIB);
    alloc(&log, 4 * MIB, 3 * MIB);
    alloc(&log, 7 * MIB, 2 * MIB);
    release(&log, 0, 3 * MIB + 512 * KIB);
    expect(&log, "4096+ 3072+ 13312", "4096 3072+ 2048+ 11264");
}

/* The neighbour was allocated later, so it did not bound the block before it. */
static void a_block_of_the_base_does_not_end_at_a_later_neighbour(void **state) {
    (void)state;
    made_log log;
    open_ring(&log, 1);
    buy(&log, 0, 20 * MIB);
    alloc(&log, 0, 4 * MIB);
    alloc(&log, 4 * MIB, 4 * MIB);
    alloc(&log, 8 * MIB, 2 * MIB);
    release(&log, 4 * MIB, 4 * MIB);
    alloc(&log, 4 * MIB, 2 * MIB);
    alloc(&log, 6 * MIB, 2 * MIB);
    expect(&log, "4096+ 2048+ 2048 2048+ 10240", "4096+ 2048+ 2048+ 2048+ 10240");
}

/* A pool that does not split returns whole segments, whatever size is requested; the next block at
 * the address may be in another pool. */
static void a_pool_that_does_not_split(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    uint16_t whole = made_log_pool(&log, 3, 7);
    uint16_t other = made_log_pool(&log, 3, 8);
    made_log_text(&log, "pool.3.7.no_split", "1");
    for (size_t i = 0; i < 3; i++) {
        tide_live_row segment = made_row(TIDE_ACTION_SEGMENT_ALLOC, AT + i * 20 * MIB, 20 * MIB);
        tide_live_row block = made_row(TIDE_ACTION_ALLOC, AT + i * 20 * MIB, MIB + 1);
        segment.pool = block.pool = i == 0 ? whole : i == 1 ? other : 0;
        made_log_add(&log, segment);
        made_log_add(&log, block);
    }
    made_log_event(&log, TIDE_ACTION_FREE, AT, MIB + 1);
    tide_live_row again = made_row(TIDE_ACTION_ALLOC, AT, 100);
    again.pool = whole;
    made_log_add(&log, again);
    expect(&log, "", "20480+ | 1024.5+ 19455.5 | 1024.5+ 19455.5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_that_does_not_split),
        cmocka_unit_test(a_small_request_is_rounded),
        cmocka_unit_test(a_small_block_leaves_the_rest_free_however_little_that_is),
        cmocka_unit_test(a_large_block_keeps_a_rest_of_a_mebibyte),
        cmocka_unit_test(a_large_block_ends_at_its_neighbour),
        cmocka_unit_test(a_segment_ends_where_the_next_begins),
        cmocka_unit_test(a_segment_that_is_gone_ends_nothing),
        cmocka_unit_test(a_block_that_waits_for_a_stream_is_a_neighbour),
        cmocka_unit_test(a_free_repeats_what_its_block_was),
        cmocka_unit_test(requests_may_be_rounded_to_parts_of_a_power_of_two),
        cmocka_unit_test(an_oversized_block_is_never_split),
        cmocka_unit_test(the_newer_name_of_the_settings_counts_too),
        cmocka_unit_test(the_document_states_the_settings),
        cmocka_unit_test(mapped_memory_is_split_to_the_last_bytes),
        cmocka_unit_test(memory_that_was_unmapped_ends_the_segment),
        cmocka_unit_test(the_settings_do_not_split_memory_that_came_in_one_piece),
        cmocka_unit_test(the_ring_keeps_what_stands_before_its_rows),
        cmocka_unit_test(a_block_of_the_base_ends_where_it_ended_at_its_birth),
        cmocka_unit_test(a_block_of_the_base_does_not_end_at_a_later_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
