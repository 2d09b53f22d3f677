/* test_summary.c - peaks, splits and totals of small recordings with known figures, and compared
 * with a second way to count. test_stored_summary.c compares them with the stored summary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/scope_paths.h"
#include "snapshot/analysis/summary.h"
#include "support/made_snapshot.h"
#include "support/synthetic.h"

enum { KIB = 1024 };

static const char *const STRINGS[] = {"step",  "forward", "layer", "attention",
                                      "setup", "w",       "x",     "y"};
enum { STEP = 0, FORWARD, LAYER, ATTENTION, SETUP, NAME_W, NAME_X, NAME_Y };

/* setup; step 0 > forward > layer 3 > attention; step 1 the same, and layer 4 in it. */
static const tide_scope_row SCOPES[] = {
    {0, 10, -1, -1, TIDE_NONE, SETUP, -1, 0, TIDE_SCOPE_PHASE},
    {10, 10, -1, -1, TIDE_NONE, STEP, 0, 0, TIDE_SCOPE_STEP},
    {10, 10, -1, -1, 1, FORWARD, -1, 0, TIDE_SCOPE_PHASE},
    {10, 10, -1, -1, 2, LAYER, 3, 0, TIDE_SCOPE_LAYER},
    {10, 10, -1, -1, 3, ATTENTION, -1, 0, TIDE_SCOPE_OPERATOR},
    {20, 10, -1, -1, TIDE_NONE, STEP, 1, 0, TIDE_SCOPE_STEP},
    {20, 10, -1, -1, 5, FORWARD, -1, 0, TIDE_SCOPE_PHASE},
    {20, 10, -1, -1, 6, LAYER, 3, 0, TIDE_SCOPE_LAYER},
    {20, 10, -1, -1, 7, ATTENTION, -1, 0, TIDE_SCOPE_OPERATOR},
    {20, 10, -1, -1, 6, LAYER, 4, 0, TIDE_SCOPE_LAYER},
};

static const tide_frame_row FRAMES[] = {{SETUP, STEP, 1, false}};
static const tide_stack_row STACKS[] = {{TIDE_NONE, 0}, {0, 0}};

static tide_snapshot *recording(const tide_event *events, size_t n_events) {
    static const made_tables TABLES = {.strings = STRINGS,
                                       .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                       .scopes = SCOPES,
                                       .n_scopes = sizeof(SCOPES) / sizeof(SCOPES[0]),
                                       .frames = FRAMES,
                                       .n_frames = sizeof(FRAMES) / sizeof(FRAMES[0]),
                                       .stacks = STACKS,
                                       .n_stacks = sizeof(STACKS) / sizeof(STACKS[0]),
                                       .n_devices = 1};
    return made_snapshot(NULL, &TABLES, events, n_events);
}

static tide_summary *summarise(const tide_snapshot *snapshot) {
    tide_summary *summary = NULL;
    tide_error error = {""};
    if (tide_summary_create(snapshot, &summary, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return summary;
}

static tide_event alloc(uint64_t address, uint64_t requested, uint64_t block, int category,
                        uint32_t scope, uint32_t name) {
    return (tide_event){.time_ns = (int64_t)address,
                        .address = address,
                        .requested_bytes = requested,
                        .block_bytes = block,
                        .stack = address % 2048 == 0 ? 1 : TIDE_NONE,
                        .scope = scope,
                        .name = name,
                        .action = TIDE_ACTION_ALLOC,
                        .category = (uint8_t)category};
}

static int64_t sum_of(const tide_split *split) {
    int64_t sum = 0;
    for (size_t i = 0; i < split->n_shares; i++) {
        sum += split->shares[i].bytes;
    }
    return sum;
}

static void assert_adds_up(const tide_summary_peak *peak) {
    int64_t all = peak->totals.allocated_bytes;
    assert_true(sum_of(&peak->by_category) == all);
    assert_true(sum_of(&peak->by_phase) == all);
    assert_true(sum_of(&peak->by_scope) == all);
    assert_true(sum_of(&peak->by_stack) == all);
    assert_true(peak->account.asked_bytes + peak->account.rounding_bytes +
                    peak->account.unsplit_bytes ==
                all);
    int64_t blocks = 0;
    for (size_t i = 0; i < peak->n_blocks; i++) {
        blocks += (int64_t)peak->blocks[i].block_bytes;
        assert_true(i == 0 || peak->blocks[i].block_bytes <= peak->blocks[i - 1].block_bytes);
    }
    assert_true(blocks == all);
    assert_true((int64_t)peak->n_blocks == peak->totals.n_blocks);
}

static void a_known_recording(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 0, 16 * KIB, 16 * KIB),
        alloc(0, 1000, KIB, TIDE_PARAMETER, 0, NAME_W),
        alloc(4096, 600, 4 * KIB, TIDE_ACTIVATION, 4, NAME_X), /* the rest is not split off */
        made_event(TIDE_ACTION_FREE, 0, KIB, KIB),
        alloc(1024, 512, 512, TIDE_ACTIVATION, 8, NAME_Y),
        alloc(512, 1, 512, TIDE_TEMPORARY, TIDE_NONE, TIDE_NONE), /* the same height again */
        made_event(TIDE_ACTION_FREE, 512, 512, 512),
        made_event(TIDE_ACTION_MARK, 0, 0, 0),
        made_event(TIDE_ACTION_OOM, 0, 99 * KIB, 99 * KIB),
    };
    tide_snapshot *made = recording(events, sizeof(events) / sizeof(events[0]));
    tide_summary *summary = summarise(made);
    const tide_summary_device *device = &summary->devices[0];
    const tide_summary_peak *peak = &device->peak;
    assert_int_equal(peak->event, 2); /* not 5: the first of equal peaks */
    assert_int_equal(peak->totals.allocated_bytes, 5 * KIB);
    assert_int_equal(peak->totals.requested_bytes, 1600);
    assert_int_equal(peak->totals.reserved_bytes, 16 * KIB);
    assert_int_equal(peak->account.asked_bytes, 1600);
    assert_int_equal(peak->account.rounding_bytes, 24 + 424);
    assert_int_equal(peak->account.unsplit_bytes, 3 * KIB);
    assert_int_equal(peak->step, 0);
    assert_string_equal(peak->step_name, "step");
    assert_string_equal(peak->phase, "forward");
    assert_string_equal(peak->scope_path, "forward > layer 3 > attention");
    assert_int_equal(peak->by_category.shares[TIDE_PARAMETER].bytes, KIB);
    assert_string_equal(peak->by_category.shares[TIDE_PARAMETER].largest_name, "w");
    assert_int_equal(peak->by_category.shares[TIDE_ACTIVATION].bytes, 4 * KIB);
    assert_int_equal(peak->by_category.shares[TIDE_ACTIVATION].requested_bytes, 600);
    assert_int_equal(peak->by_scope.n_shares, 2);
    assert_string_equal(peak->by_scope.shares[0].label, "forward > layer 3 > attention");
    assert_string_equal(peak->by_scope.shares[1].label, "setup");
    assert_string_equal(peak->by_phase.shares[0].label, "forward");
    assert_adds_up(peak);
    assert_int_equal(device->max[TIDE_MAX_REQUESTED].bytes, 1600);
    assert_int_equal(device->max[TIDE_MAX_RESERVED].event, 0);
    assert_int_equal(device->counts[TIDE_ACTION_ALLOC], 4);
    assert_int_equal(device->counts[TIDE_ACTION_FREE], 2);
    assert_int_equal(device->n_oom, 1);
    assert_int_equal(device->oom_event, 8);
    assert_int_equal(device->oom_requested_bytes, 99 * KIB);
    assert_int_equal(device->end.allocated_bytes, 4 * KIB + 512);
    assert_int_equal(device->end.n_blocks, 2);
    assert_int_equal(device->n_unmatched, 0);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

/* A pending free reduces allocated bytes immediately, active and requested bytes at its completion.
 */
static void pending_frees(void **state) {
    (void)state;
    const tide_event events[] = {
        alloc(0, 1000, KIB, TIDE_TEMPORARY, 4, NAME_W),
        made_event(TIDE_ACTION_FREE_REQUESTED, 0, KIB, KIB),
        alloc(2048, 3000, 3 * KIB, TIDE_ACTIVATION, 8, NAME_X),
        made_event(TIDE_ACTION_FREE_COMPLETED, 0, KIB, KIB),
    };
    tide_snapshot *made = recording(events, sizeof(events) / sizeof(events[0]));
    tide_summary *summary = summarise(made);
    const tide_summary_device *device = &summary->devices[0];
    assert_int_equal(device->peak.event, 2);
    assert_int_equal(device->peak.totals.allocated_bytes, 3 * KIB);
    assert_int_equal(device->peak.totals.active_bytes, 4 * KIB);
    assert_int_equal(device->peak.totals.requested_bytes, 4000);
    assert_int_equal(device->peak.n_blocks, 1);
    assert_int_equal(device->max[TIDE_MAX_ACTIVE].bytes, 4 * KIB);
    assert_int_equal(device->end.active_bytes, 3 * KIB);
    assert_int_equal(device->end.requested_bytes, 3000);
    assert_adds_up(&device->peak);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

static void what_stood_at_the_start_counts(void **state) {
    (void)state;
    const tide_segment_row segment = {.address = 8192, .total_bytes = 4 * KIB, .n_blocks = 3};
    const tide_block_row blocks[] = {
        {0, KIB, 1000, 1, 0, NAME_W, TIDE_BLOCK_ALLOCATED, TIDE_PARAMETER},
        {KIB, KIB, 1024, TIDE_NONE, TIDE_NONE, TIDE_NONE, TIDE_BLOCK_PENDING_FREE, TIDE_UNKNOWN},
        {2 * KIB, 2 * KIB, 0, TIDE_NONE, TIDE_NONE, TIDE_NONE, TIDE_BLOCK_FREE, TIDE_UNKNOWN}};
    const tide_event events[] = {
        made_event(TIDE_ACTION_FREE, 8192, KIB, KIB),
        made_event(TIDE_ACTION_FREE_COMPLETED, 8192 + KIB, KIB, KIB),
        made_event(TIDE_ACTION_SEGMENT_FREE, 8192, 4 * KIB, 4 * KIB),
        made_event(TIDE_ACTION_FREE, 77, KIB, KIB), /* an unknown block */
    };
    tide_snapshot *made = recording(events, sizeof(events) / sizeof(events[0]));
    made->start_segments = &segment;
    made->n_start_segments = 1;
    made->start_blocks = blocks;
    made->n_start_blocks = 3;
    tide_summary *summary = summarise(made);
    const tide_summary_device *device = &summary->devices[0];
    assert_int_equal(device->peak.event, -1);
    assert_int_equal(device->peak.time_ns, -1);
    assert_int_equal(device->peak.step, -1);
    assert_int_equal(device->peak.totals.allocated_bytes, KIB);
    assert_int_equal(device->peak.totals.active_bytes, 2 * KIB);
    assert_int_equal(device->peak.totals.reserved_bytes, 4 * KIB);
    assert_string_equal(device->peak.by_scope.shares[0].label, "setup");
    assert_int_equal(device->n_unmatched, 1);
    assert_int_equal(device->end.active_bytes, 0);
    assert_int_equal(device->end.reserved_bytes, 0);
    assert_int_equal(device->end.n_segments, 0);
    assert_adds_up(&device->peak);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

static void equal_paths_of_steps_are_one(void **state) {
    (void)state;
    const tide_event events[] = {
        alloc(0, 512, 512, TIDE_ACTIVATION, 4, NAME_X),
        alloc(512, 512, 512, TIDE_ACTIVATION, 8, NAME_Y),
        alloc(1024, 512, 512, TIDE_ACTIVATION, 7, NAME_Y),
        alloc(2048, 512, 512, TIDE_ACTIVATION, 1, NAME_Y), /* only in the step */
        alloc(4096, 512, 512, TIDE_ACTIVATION, 9, NAME_Y), /* another layer */
    };
    tide_snapshot *made = recording(events, 5);
    tide_summary *summary = summarise(made);
    const tide_summary_peak *peak = &summary->devices[0].peak;
    assert_int_equal(peak->by_scope.n_shares, 4);
    assert_int_equal(peak->by_scope.shares[0].n_blocks, 2);
    assert_string_equal(peak->by_scope.shares[0].largest_name, "x");
    assert_int_equal(peak->by_phase.n_shares, 2);
    assert_int_equal(peak->by_phase.shares[0].bytes, 2048);
    assert_string_equal(peak->by_phase.shares[1].label, "");
    assert_string_equal(peak->scope_path, "forward > layer 4");
    assert_int_equal(peak->step, 1);
    assert_adds_up(peak);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

/* The text of a path stays short, however deep and long a file nests its names. */
static void deep_scopes_have_short_texts(void **state) {
    (void)state;
    enum { DEPTH = 5000, LONG = 3000 };
    static tide_scope_row scopes[DEPTH];
    static char name[LONG + 1];
    memset(name, 'n', LONG);
    const char *strings[] = {name, "inner"};
    for (uint32_t i = 0; i < DEPTH; i++) {
        scopes[i] = (tide_scope_row){.parent = i == 0 ? TIDE_NONE : i - 1,
                                     .name = i + 1 == DEPTH,
                                     .index = -1,
                                     .kind = i == 0 ? TIDE_SCOPE_PHASE : TIDE_SCOPE_OPERATOR};
    }
    const tide_event event = alloc(0, 512, 512, TIDE_ACTIVATION, DEPTH - 1, TIDE_NONE);
    tide_snapshot *made = recording(&event, 1);
    made->strings = strings;
    made->n_strings = 2;
    made->frames = NULL;
    made->n_frames = 0;
    made->n_stacks = 0;
    made->scopes = scopes;
    made->n_scopes = DEPTH;
    tide_summary *summary = summarise(made);
    const tide_summary_peak *peak = &summary->devices[0].peak;
    assert_true(strlen(peak->by_scope.shares[0].label) == TIDE_SCOPE_PATH_BYTES - 1);
    assert_true(strlen(peak->by_phase.shares[0].label) == TIDE_SCOPE_NAME_BYTES);
    assert_adds_up(peak);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

static void contradictions_are_counted(void **state) {
    (void)state;
    const tide_event events[] = {
        alloc(0, 512, 512, TIDE_ACTIVATION, 4, NAME_X),
        alloc(0, 1024, 1024, TIDE_GRADIENT, 4, NAME_Y),    /* on top of it */
        made_event(TIDE_ACTION_SEGMENT_FREE, 0, 512, 512), /* never allocated */
        made_event(TIDE_ACTION_FREE, 0, 1024, 1024),
        made_event(TIDE_ACTION_FREE, 0, 1024, 1024), /* twice */
    };
    tide_snapshot *made = recording(events, 5);
    tide_summary *summary = summarise(made);
    const tide_summary_device *device = &summary->devices[0];
    assert_int_equal(device->n_unmatched, 3);
    assert_int_equal(device->peak.totals.allocated_bytes, 1024);
    assert_int_equal(device->end.allocated_bytes, 0);
    assert_int_equal(device->end.active_bytes, 0);
    assert_adds_up(&device->peak);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

static void sums_beyond_the_limit_are_refused(void **state) {
    (void)state;
    const tide_event events[] = {
        alloc(0, 0, INT64_MAX, TIDE_ACTIVATION, 4, NAME_X),
        alloc(512, 0, 1, TIDE_GRADIENT, 4, NAME_Y),
    };
    tide_snapshot *made = recording(events, 2);
    tide_summary *summary = NULL;
    tide_error error = {""};
    assert_int_equal(tide_summary_create(made, &summary, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "2^63"));
    assert_null(summary);
    tide_snapshot_destroy(made);
}

static void devices_are_kept_apart(void **state) {
    (void)state;
    tide_event events[] = {
        alloc(0, 512, 512, TIDE_ACTIVATION, 4, NAME_X),
        alloc(0, 2048, 2048, TIDE_GRADIENT, 4, NAME_Y),
        made_event(TIDE_ACTION_FREE, 0, 512, 512),
    };
    events[1].device = 1;
    tide_snapshot *made = recording(events, 3);
    made->n_devices = 2;
    tide_summary *summary = summarise(made);
    assert_int_equal(summary->devices[0].peak.totals.allocated_bytes, 512);
    assert_int_equal(summary->devices[0].end.allocated_bytes, 0);
    assert_int_equal(summary->devices[1].peak.totals.allocated_bytes, 2048);
    assert_int_equal(summary->devices[1].end.allocated_bytes, 2048);
    assert_int_equal(tide_summary_main_device(summary), 1);
    assert_adds_up(&summary->devices[1].peak);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

/* A second way to count: it keeps no table of live blocks and trusts the sizes in each row. */
static void recounted_rows_agree(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        tide_snapshot *made = synthetic_create(&(synthetic_config){.seed = seed,
                                                                   .n_events = 2000 * seed,
                                                                   .n_layers = (size_t)seed,
                                                                   .element_bytes = 4,
                                                                   .two_streams = seed % 2 == 0,
                                                                   .precision = "fp32"});
        int64_t allocated = 0, active = 0, highest = 0, highest_active = 0;
        int64_t event = -1;
        for (size_t i = 0; i < made->n_events; i++) {
            const tide_event e = tide_event_at(made, i);
            int64_t n_bytes = (int64_t)e.block_bytes;
            allocated += e.action == TIDE_ACTION_ALLOC ? n_bytes : 0;
            active += e.action == TIDE_ACTION_ALLOC ? n_bytes : 0;
            allocated -= e.action == TIDE_ACTION_FREE || e.action == TIDE_ACTION_FREE_REQUESTED
                             ? n_bytes
                             : 0;
            active -= e.action == TIDE_ACTION_FREE || e.action == TIDE_ACTION_FREE_COMPLETED
                          ? n_bytes
                          : 0;
            event = allocated > highest ? (int64_t)i : event;
            highest = allocated > highest ? allocated : highest;
            highest_active = active > highest_active ? active : highest_active;
        }
        tide_summary *summary = summarise(made);
        const tide_summary_device *device = &summary->devices[0];
        assert_int_equal(device->peak.event, event);
        assert_int_equal(device->peak.totals.allocated_bytes, highest);
        assert_int_equal(device->max[TIDE_MAX_ACTIVE].bytes, highest_active);
        assert_int_equal(device->end.allocated_bytes, allocated);
        assert_int_equal(device->end.active_bytes, active);
        assert_adds_up(&device->peak);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(made);
    }
}

/* The totals after the last event equal those of the recorded end. */
static void the_end_agrees(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    tide_summary *summary = summarise(made);
    const tide_totals *end = &summary->devices[0].end;
    int64_t reserved = 0, allocated = 0, requested = 0, n_blocks = 0;
    for (size_t i = 0; i < made->n_end_segments; i++) {
        reserved += (int64_t)made->end_segments[i].total_bytes;
    }
    for (size_t i = 0; i < made->n_end_blocks; i++) {
        bool live = made->end_blocks[i].state == TIDE_BLOCK_ALLOCATED;
        allocated += live ? (int64_t)made->end_blocks[i].block_bytes : 0;
        requested += live ? (int64_t)made->end_blocks[i].requested_bytes : 0;
        n_blocks += live;
    }
    assert_true(end->reserved_bytes == reserved && end->allocated_bytes == allocated);
    assert_true(end->requested_bytes == requested && end->n_blocks == n_blocks);
    assert_true(end->n_segments == (int64_t)made->n_end_segments);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_recording),
        cmocka_unit_test(pending_frees),
        cmocka_unit_test(what_stood_at_the_start_counts),
        cmocka_unit_test(equal_paths_of_steps_are_one),
        cmocka_unit_test(deep_scopes_have_short_texts),
        cmocka_unit_test(contradictions_are_counted),
        cmocka_unit_test(sums_beyond_the_limit_are_refused),
        cmocka_unit_test(devices_are_kept_apart),
        cmocka_unit_test(recounted_rows_agree),
        cmocka_unit_test(the_end_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
