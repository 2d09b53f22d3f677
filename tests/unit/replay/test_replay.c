/* test_replay.c - replays of made-up recordings. Verification finds every wrong number, other
 * settings give the results of a run under them, memory runs out under limits, files that
 * contradict themselves are refused, and nothing leaks when host memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache_internal.h"
#include "capture/capture.h"
#include "replay/replay.h"
#include "snapshot/analysis/summary.h"
#include "support/event_rows.h"
#include "support/device_fault.h"
#include "support/hostmem_fault.h"

#define MIB ((size_t)1 << 20)

enum { N_BLOCKS = 40 };

typedef struct recording {
    tide_device *device;     /* owned */
    tide_recorder *recorder; /* owned */
    tide_cache *cache;       /* owned */
} recording;

static void open_recording(recording *on, const char *settings) {
    tide_recorder_config config;
    tide_cache_config cache;
    tide_error error = {""};
    tide_recorder_config_init(&config);
    config.capture_stacks = false;
    tide_cache_config_init(&cache);
    if (tide_cache_config_parse(&cache, settings, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(tide_device_open("virtual", NULL, &on->device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(&config, &on->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(on->device, on->recorder, &cache, &on->cache, NULL),
                     TIDE_OK);
}

static tide_snapshot *close_recording(recording *on) {
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    if (tide_capture(on->recorder, on->cache, NULL, &snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    tide_cache_destroy(on->cache);
    tide_recorder_destroy(on->recorder);
    tide_device_close(on->device);
    return snapshot;
}

static uint64_t alloc_one(recording *on, size_t n_bytes, const char *name) {
    uint64_t address = 0;
    const tide_tag tag = {TIDE_ACTIVATION, name};
    assert_int_equal(tide_cache_alloc(on->cache, n_bytes, 0, &tag, &address, NULL), TIDE_OK);
    return address;
}

/* Blocks of many sizes in two steps, every second one is released in between. */
static tide_snapshot *record(const char *settings) {
    recording on;
    uint64_t addresses[N_BLOCKS];
    open_recording(&on, settings);
    for (int32_t number = 0; number < 2; number++) {
        tide_scope scope = tide_scope_begin(on.recorder, TIDE_SCOPE_STEP, "step", number);
        for (size_t i = 0; i < N_BLOCKS; i++) {
            addresses[i] = alloc_one(&on, (i + 1) * (i + 1) * 12345, i % 2 == 0 ? "even" : "odd");
        }
        for (size_t i = 0; i < N_BLOCKS; i += 2) {
            assert_int_equal(tide_cache_release(on.cache, addresses[i], NULL), TIDE_OK);
        }
        for (size_t i = 0; i < N_BLOCKS; i += 2) {
            addresses[i] = alloc_one(&on, (i + 1) * 54321, "again");
        }
        for (size_t i = 0; i < N_BLOCKS; i++) {
            assert_int_equal(tide_cache_release(on.cache, addresses[i], NULL), TIDE_OK);
        }
        tide_scope_end(on.recorder, scope);
    }
    return close_recording(&on);
}

static tide_replay *replay_with(const tide_snapshot *snapshot, const char *settings,
                                size_t limit_bytes, tide_replay_options options) {
    tide_cache_config config;
    tide_replay *replay = NULL;
    tide_error error = {""};
    assert_int_equal(tide_replay_settings(snapshot, &config, NULL, NULL), TIDE_OK);
    assert_int_equal(tide_cache_config_parse(&config, settings, NULL), TIDE_OK);
    config.memory_limit_bytes = limit_bytes == 0 ? config.memory_limit_bytes : limit_bytes;
    options.config = &config;
    if (tide_replay_run(snapshot, &options, &replay, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return replay;
}

/* ---- verification ---- */

static void same_settings_come_out(void **state) {
    (void)state;
    static const char *const SETTINGS[] = {"", "expandable_segments:True",
                                           "roundup_power2_divisions:8", "max_split_size_mb:32"};
    for (size_t i = 0; i < sizeof(SETTINGS) / sizeof(SETTINGS[0]); i++) {
        tide_snapshot *snapshot = record(SETTINGS[i]);
        bool is_told = false;
        tide_cache_config config;
        assert_int_equal(tide_replay_settings(snapshot, &config, &is_told, NULL), TIDE_OK);
        assert_true(is_told);
        tide_replay *replay = replay_with(snapshot, "", 0, (tide_replay_options){.verify = true});
        assert_true(tide_replay_is_same(&replay->verified));
        assert_int_equal(replay->verified.n_allocs_same, 120);
        assert_true(replay->verified.n_segments_same > 0);
        tide_replay_destroy(replay);
        tide_snapshot_destroy(snapshot);
    }
}

/* The n-th row of an action. */
static size_t find_row(const tide_snapshot *snapshot, tide_action action, size_t n) {
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.action[i] == action && n-- == 0) {
            return i;
        }
    }
    fail_msg("no such row");
    return 0;
}

/* Replaces a row by another one. */
static void set_row(tide_snapshot *snapshot, size_t row, tide_event event) {
    tide_event *rows = event_rows_of(snapshot);
    rows[row] = event;
    event_rows_set(snapshot, rows, snapshot->n_events);
    free(rows);
}

static void goes_red_at(tide_snapshot *snapshot, size_t row, const char *what) {
    char place[64];
    tide_replay *replay = replay_with(snapshot, "", 0, (tide_replay_options){.verify = true});
    snprintf(place, sizeof(place), "event %zu on device 0: ", row);
    assert_false(tide_replay_is_same(&replay->verified));
    if (strncmp(replay->verified.first_difference, place, strlen(place)) != 0 ||
        strstr(replay->verified.first_difference, what) == NULL) {
        fail_msg("\"%s\" is not \"%s... %s\"", replay->verified.first_difference, place, what);
    }
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
}

/* One wrong number, in the recording or in the replayed events, is found at its row. */
static void faults_are_found(void **state) {
    (void)state;
    tide_snapshot *snapshot = record("");
    size_t row = find_row(snapshot, TIDE_ACTION_ALLOC, 70);
    tide_event event = tide_event_at(snapshot, row);
    event.block_bytes += 512;
    set_row(snapshot, row, event);
    goes_red_at(snapshot, row, "in a block of");

    snapshot = record("");
    row = find_row(snapshot, TIDE_ACTION_SEGMENT_ALLOC, 3);
    event = tide_event_at(snapshot, row);
    event.block_bytes += 2 * MIB;
    event.requested_bytes += 2 * MIB;
    set_row(snapshot, row, event);
    goes_red_at(snapshot, row, "segment_alloc of");

    snapshot = record("");
    row = find_row(snapshot, TIDE_ACTION_SEGMENT_ALLOC, 3);
    event = tide_event_at(snapshot, row);
    event.action = TIDE_ACTION_MARK;
    set_row(snapshot, row, event);
    size_t next = row + 1;
    goes_red_at(snapshot, next, "recorded nothing, replayed segment_alloc");

    snapshot = record("");
    row = find_row(snapshot, TIDE_ACTION_ALLOC, 100);
    event = tide_event_at(snapshot, row);
    event.requested_bytes *= 2;
    event.block_bytes *= 2;
    set_row(snapshot, row, event);
    tide_replay *replay = replay_with(snapshot, "", 0, (tide_replay_options){.verify = true});
    assert_false(tide_replay_is_same(&replay->verified));
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
}

/* Replaying under settings that differ in one value is detected, because the addresses differ. */
static void wrong_settings_are_found(void **state) {
    (void)state;
    static const char *const SETTINGS[] = {"roundup_power2_divisions:4", "max_split_size_mb:20",
                                           "large_segment_size_mb:22", "expandable_segments:True"};
    tide_snapshot *snapshot = record("");
    for (size_t i = 0; i < sizeof(SETTINGS) / sizeof(SETTINGS[0]); i++) {
        tide_replay *replay =
            replay_with(snapshot, SETTINGS[i], 0, (tide_replay_options){.verify = true});
        if (tide_replay_is_same(&replay->verified)) {
            fail_msg("%s gives the same", SETTINGS[i]);
        }
        assert_string_not_equal(replay->verified.first_difference, "");
        tide_replay_destroy(replay);
    }
    tide_snapshot_destroy(snapshot);
}

/* ---- other settings ---- */

static bool is_same_row(const tide_event *a, const tide_event *b) {
    return a->action == b->action && a->address == b->address &&
           a->requested_bytes == b->requested_bytes && a->block_bytes == b->block_bytes &&
           a->category == b->category && a->stream == b->stream;
}

static void same_texts(const tide_snapshot *a, uint32_t of_a, const tide_snapshot *b,
                       uint32_t of_b) {
    assert_string_equal(tide_snapshot_text(a, of_a), tide_snapshot_text(b, of_b));
}

/* A replay under other settings equals a run of the program under them: rows, names, start and
 * end. */
static void replay_is_the_run_itself(void **state) {
    (void)state;
    static const char *const SETTINGS[] = {"expandable_segments:True", "roundup_power2_divisions:4",
                                           "large_segment_size_mb:64", "max_split_size_mb:24"};
    tide_snapshot *base = record("");
    for (size_t i = 0; i < sizeof(SETTINGS) / sizeof(SETTINGS[0]); i++) {
        tide_snapshot *expected = record(SETTINGS[i]);
        tide_snapshot *found = NULL;
        tide_replay *replay =
            replay_with(base, SETTINGS[i], 0, (tide_replay_options){.keep_rows = true});
        assert_int_equal(tide_replay_snapshot(replay, &found, NULL), TIDE_OK);
        assert_int_equal(found->n_events, expected->n_events);
        for (size_t r = 0; r < found->n_events; r++) {
            const tide_event is = tide_event_at(found, r);
            const tide_event should_be = tide_event_at(expected, r);
            if (!is_same_row(&is, &should_be)) {
                fail_msg("%s: row %zu differs", SETTINGS[i], r);
            }
            same_texts(found, tide_index_at(&found->events.name, r), expected,
                       tide_index_at(&expected->events.name, r));
            assert_int_equal(tide_index_at(&found->events.scope, r),
                             tide_index_at(&expected->events.scope, r));
        }
        assert_int_equal(found->n_end_segments, expected->n_end_segments);
        assert_int_equal(found->n_end_blocks, expected->n_end_blocks);
        tide_replay_figures recorded; /* of the only device */
        assert_int_equal(tide_replay_recorded(expected, &recorded, NULL), TIDE_OK);
        assert_int_equal(recorded.peak_reserved_bytes, replay->figures.peak_reserved_bytes);
        assert_int_equal(recorded.peak_allocated_bytes, replay->figures.peak_allocated_bytes);
        assert_int_equal(recorded.max_cached_bytes, replay->figures.max_cached_bytes);
        assert_int_equal(recorded.mean_cached_bytes, replay->figures.mean_cached_bytes);
        assert_int_equal(recorded.n_segment_allocs, replay->figures.n_segment_allocs);
        tide_summary *summary = NULL;
        assert_int_equal(tide_summary_create(found, &summary, NULL), TIDE_OK);
        assert_int_equal(summary->devices[0].n_unmatched, 0);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(found);
        tide_replay_destroy(replay);
        tide_snapshot_destroy(expected);
    }
    tide_snapshot_destroy(base);
}

static void limits_run_out(void **state) {
    (void)state;
    tide_snapshot *snapshot = record("");
    tide_replay *free_run = replay_with(snapshot, "", 0, (tide_replay_options){.n_samples = 7});
    assert_int_equal(free_run->figures.n_ooms, 0);
    assert_int_equal(free_run->n_samples, 7);
    size_t peak_bytes = (size_t)free_run->figures.peak_reserved_bytes;
    tide_replay *enough = replay_with(snapshot, "", peak_bytes, (tide_replay_options){0});
    assert_int_equal(enough->figures.n_ooms, 0);
    tide_replay *less = replay_with(snapshot, "", peak_bytes / 2, (tide_replay_options){0});
    assert_true(less->figures.n_ooms > 0);
    assert_true(less->figures.peak_reserved_bytes <= (int64_t)(peak_bytes / 2));
    assert_int_equal(less->n_lost, less->figures.n_ooms);
    const tide_replay_oom *oom = &less->oom_by_device[0];
    const tide_event event = tide_event_at(snapshot, (size_t)oom->event);
    assert_int_equal(event.action, TIDE_ACTION_ALLOC);
    assert_int_equal(oom->requested_bytes, event.requested_bytes);
    assert_int_equal(oom->scope, event.scope);
    assert_int_equal(oom->reserved_bytes + oom->free_bytes, peak_bytes / 2);
    tide_replay_destroy(less);
    tide_replay_destroy(enough);
    tide_replay_destroy(free_run);
    tide_snapshot_destroy(snapshot);
}

/* Requests that ran out of memory when recorded succeed with more memory. Their blocks are released
 * at once, because the program never used them. */
static void recorded_ooms_succeed(void **state) {
    (void)state;
    recording on;
    uint64_t address = 0;
    open_recording(&on, "");
    on.cache->config.memory_limit_bytes = 30 * MIB;
    (void)alloc_one(&on, 25 * MIB, "held");
    assert_int_equal(tide_cache_alloc(on.cache, 20 * MIB, 0, NULL, &address, NULL),
                     TIDE_DEVICE_OOM);
    tide_snapshot *snapshot = close_recording(&on);
    tide_replay *replay = replay_with(snapshot, "", 0, (tide_replay_options){.verify = true});
    assert_true(tide_replay_is_same(&replay->verified));
    assert_int_equal(replay->verified.n_ooms_same, 1);
    tide_replay_destroy(replay);
    replay = replay_with(snapshot, "", 100 * MIB, (tide_replay_options){0});
    assert_int_equal(replay->figures.n_ooms, 0);
    assert_int_equal(replay->n_succeeded, 1);
    assert_int_equal(replay->figures.end_reserved_bytes, 46 * MIB);
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
}

/* Emptying the cache is a request of the program and is replayed. Releases by the allocator itself
 * are not. */
static void emptying_is_replayed(void **state) {
    (void)state;
    recording on;
    open_recording(&on, "");
    uint64_t address = alloc_one(&on, 30 * MIB, "a");
    assert_int_equal(tide_cache_release(on.cache, address, NULL), TIDE_OK);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    address = alloc_one(&on, 40 * MIB, "b");
    assert_int_equal(tide_cache_release(on.cache, address, NULL), TIDE_OK);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    tide_snapshot *snapshot = close_recording(&on);
    tide_replay *replay = replay_with(snapshot, "", 0, (tide_replay_options){.verify = true});
    assert_true(tide_replay_is_same(&replay->verified));
    assert_int_equal(replay->verified.n_returns_same, 2);
    tide_replay_destroy(replay);
    replay = replay_with(snapshot, "expandable_segments:True", 0, (tide_replay_options){0});
    assert_int_equal(replay->figures.end_reserved_bytes, 0);
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
}

/* ---- contradictions ---- */

static void refused(const tide_snapshot *snapshot, const char *what) {
    tide_replay *replay = NULL;
    for (int verify = 0; verify < 2; verify++) {
        tide_error error = {""};
        assert_int_equal(tide_replay_run(snapshot, &(tide_replay_options){.verify = verify == 1},
                                         &replay, &error),
                         TIDE_FORMAT);
        if (strstr(error.message, what) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", error.message, what);
        }
    }
}

static void contradictions_are_refused(void **state) {
    (void)state;
    tide_snapshot *snapshot = record("");
    size_t row = find_row(snapshot, TIDE_ACTION_FREE, 5);
    const tide_event free_row = tide_event_at(snapshot, row);
    tide_event event = free_row;
    event.address += 512;
    set_row(snapshot, row, event);
    refused(snapshot, "no block is alive there");
    event = free_row;
    event.action = TIDE_ACTION_FREE_COMPLETED;
    set_row(snapshot, row, event);
    refused(snapshot, "no block waits there");
    event.action = TIDE_ACTION_FREE_REQUESTED;
    set_row(snapshot, row, event);
    set_row(snapshot, row + 1, event);
    refused(snapshot, "its free was requested before");
    tide_snapshot_destroy(snapshot);

    snapshot = record("");
    row = find_row(snapshot, TIDE_ACTION_ALLOC, 9);
    event = tide_event_at(snapshot, row);
    event.requested_bytes = 0;
    set_row(snapshot, row, event);
    refused(snapshot, "it asks for 0 bytes");
    event.requested_bytes = 600;
    event.address = snapshot->events.address[find_row(snapshot, TIDE_ACTION_ALLOC, 3)];
    set_row(snapshot, row, event);
    refused(snapshot, "a block is alive there");
    tide_snapshot_destroy(snapshot);
}

/* ---- failures ---- */

static void fail_each_call(const tide_snapshot *snapshot, bool verify) {
    bool succeeded = false;
    for (size_t n = 1; !succeeded; n++) {
        tide_hostmem_fault fault;
        tide_replay *replay = NULL;
        tide_error error = {""};
        tide_hostmem_fault_init(&fault, n);
        tide_status status = tide_replay_run(
            snapshot,
            &(tide_replay_options){
                .mem = &fault.mem, .verify = verify, .keep_rows = true, .n_samples = 3},
            &replay, &error);
        assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
        succeeded = status == TIDE_OK && fault.n_calls < n;
        if (status == TIDE_OK) {
            tide_replay_destroy(replay);
        } else {
            assert_string_not_equal(error.message, "");
        }
        assert_int_equal(fault.n_live, 0);
    }
}

/* Each host allocation fails in turn; nothing leaks, and no run is left incomplete. */
static void no_host_memory(void **state) {
    (void)state;
    tide_snapshot *snapshot = record("expandable_segments:True");
    fail_each_call(snapshot, false);
    fail_each_call(snapshot, true);
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_settings_come_out),   cmocka_unit_test(faults_are_found),
        cmocka_unit_test(wrong_settings_are_found), cmocka_unit_test(replay_is_the_run_itself),
        cmocka_unit_test(limits_run_out),           cmocka_unit_test(recorded_ooms_succeed),
        cmocka_unit_test(emptying_is_replayed),     cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
