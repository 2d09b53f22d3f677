/* test_streams.c - snapshots of blocks that wait for another stream: in the state, in the rows and
 * in the figures computed from them. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/validate.h"
#include "support/device_fault.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    tide_device *inner;       /* owned */
    tide_device_fault device; /* delays the stream */
    tide_recorder *recorder;  /* owned */
    tide_cache *cache;        /* owned */
} fixture;

static void fixture_open(fixture *on, size_t n_events) {
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = n_events * sizeof(tide_event);
    assert_int_equal(tide_device_open("virtual", NULL, &on->inner, NULL), TIDE_OK);
    tide_device_fault_init(&on->device, on->inner);
    assert_int_equal(tide_recorder_create(&config, &on->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(&on->device.base, on->recorder, NULL, &on->cache, NULL),
                     TIDE_OK);
}

static void fixture_close(fixture *on) {
    tide_cache_destroy(on->cache);
    tide_recorder_destroy(on->recorder);
    tide_device_close(on->inner);
}

static uint64_t alloc(fixture *on, size_t n_bytes, tide_category category) {
    uint64_t address = 0;
    const tide_tag tag = {category, "block"};
    assert_int_equal(tide_cache_alloc(on->cache, n_bytes, 0, &tag, &address, NULL), TIDE_OK);
    return address;
}

static void release(fixture *on, uint64_t address) {
    assert_int_equal(tide_cache_release(on->cache, address, NULL), TIDE_OK);
}

/* Rows 0 to 4: a segment of 20 MiB; 4 MiB that another stream uses; 8 MiB; the 4 MiB released, but
 * waiting; 6 MiB. */
static uint64_t first_half(fixture *on) {
    uint64_t used = alloc(on, (size_t)(4 * MIB), TIDE_INPUT);
    (void)alloc(on, (size_t)(8 * MIB), TIDE_PARAMETER);
    assert_int_equal(tide_cache_record_stream(on->cache, used, 1, NULL), TIDE_OK);
    on->device.held_streams = 1 << 1;
    release(on, used);
    return alloc(on, (size_t)(6 * MIB), TIDE_ACTIVATION);
}

/* Rows 5 to 8: the 6 MiB released; the 4 MiB done; a segment of 2 MiB; 512 bytes. */
static void second_half(fixture *on, uint64_t last) {
    release(on, last);
    on->device.held_streams = 0;
    (void)alloc(on, 512, TIDE_TEMPORARY);
}

static tide_snapshot *capture(const fixture *on) {
    tide_snapshot *snapshot = NULL;
    char place[TIDE_PLACE_BYTES] = "";
    tide_error error = {""};
    assert_int_equal(tide_capture(on->recorder, on->cache, NULL, &snapshot, &error), TIDE_OK);
    if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
        fail_msg("%s: %s", place, error.message);
    }
    return snapshot;
}

static void expect_totals(const tide_totals *totals, int64_t requested, int64_t allocated,
                          int64_t active, int64_t reserved) {
    assert_int_equal(totals->requested_bytes, requested);
    assert_int_equal(totals->allocated_bytes, allocated);
    assert_int_equal(totals->active_bytes, active);
    assert_int_equal(totals->reserved_bytes, reserved);
}

static const tide_summary_device *only_device(const tide_summary *summary) {
    assert_int_equal(summary->n_devices, 1);
    assert_int_equal(summary->devices[0].n_unmatched, 0);
    return &summary->devices[0];
}

/* At the peak the 4 MiB are active and requested, but not allocated, and count in no category. */
static void expect_peak(const tide_summary_device *device, int64_t event) {
    const tide_summary_peak *peak = &device->peak;
    assert_int_equal(peak->event, event);
    expect_totals(&peak->totals, 18 * MIB, 14 * MIB, 18 * MIB, 20 * MIB);
    assert_int_equal(peak->account.asked_bytes, 14 * MIB);
    assert_int_equal(peak->n_blocks, 2);
    assert_int_equal(peak->blocks[0].block_bytes, 8 * MIB);
    assert_int_equal(peak->blocks[1].block_bytes, 6 * MIB);
    int64_t sum = 0;
    for (size_t i = 0; i < peak->by_category.n_shares; i++) {
        sum += peak->by_category.shares[i].bytes;
    }
    assert_int_equal(sum, 14 * MIB);
    assert_int_equal(device->max[TIDE_MAX_ALLOCATED].bytes, 14 * MIB);
    assert_int_equal(device->max[TIDE_MAX_ACTIVE].bytes, 18 * MIB);
    assert_int_equal(device->max[TIDE_MAX_ACTIVE].event, event);
}

static void expect_whole(const tide_snapshot *snapshot) {
    static const uint8_t ACTIONS[] = {
        TIDE_ACTION_SEGMENT_ALLOC,  TIDE_ACTION_ALLOC,         TIDE_ACTION_ALLOC,
        TIDE_ACTION_FREE_REQUESTED, TIDE_ACTION_ALLOC,         TIDE_ACTION_FREE,
        TIDE_ACTION_FREE_COMPLETED, TIDE_ACTION_SEGMENT_ALLOC, TIDE_ACTION_ALLOC};
    tide_summary *summary = NULL;
    assert_int_equal(snapshot->n_events, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(snapshot->events.action[i], ACTIONS[i]);
    }
    for (size_t i = 3; i <= 6; i += 3) { /* both rows of the release repeat the block */
        assert_true(snapshot->events.address[i] == snapshot->events.address[1]);
        assert_int_equal(tide_bytes_at(&snapshot->events.block_bytes, i), 4 * MIB);
        assert_int_equal(snapshot->events.category[i], TIDE_INPUT);
        assert_int_equal(tide_index_at(&snapshot->events.name, i),
                         tide_index_at(&snapshot->events.name, 1));
    }
    assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
    const tide_summary_device *device = only_device(summary);
    expect_peak(device, 4);
    expect_totals(&device->end, 8 * MIB + 512, 8 * MIB + 512, 8 * MIB + 512, 22 * MIB);
    assert_int_equal(device->counts[TIDE_ACTION_FREE_REQUESTED], 1);
    assert_int_equal(device->counts[TIDE_ACTION_FREE_COMPLETED], 1);
    tide_summary_destroy(summary);
}

static void both_halves_of_a_release_count(void **state) {
    (void)state;
    char folder[] = "/tmp/tide-streams-XXXXXX";
    char path[64];
    fixture on = {.inner = NULL};
    tide_error error = {""};
    tide_snapshot *snapshot = NULL;
    fixture_open(&on, 100);
    second_half(&on, first_half(&on));
    snapshot = capture(&on);
    expect_whole(snapshot);
    tide_snapshot_destroy(snapshot);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.json.gz", folder);
    assert_int_equal(tide_snapshot_write(on.recorder, on.cache, path, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &snapshot, &error), TIDE_OK);
    expect_whole(snapshot);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    fixture_close(&on);
}

static void what_still_waits_at_the_end_is_in_the_state(void **state) {
    (void)state;
    fixture on = {.inner = NULL};
    tide_summary *summary = NULL;
    fixture_open(&on, 100);
    (void)first_half(&on);
    tide_snapshot *snapshot = capture(&on);
    assert_int_equal(snapshot->n_end_segments, 1);
    assert_int_equal(snapshot->n_end_blocks, 4);
    assert_int_equal(snapshot->end_blocks[0].state, TIDE_BLOCK_PENDING_FREE);
    assert_int_equal(snapshot->end_blocks[0].requested_bytes, 4 * MIB);
    assert_int_equal(snapshot->end_blocks[1].state, TIDE_BLOCK_ALLOCATED);
    assert_int_equal(snapshot->end_blocks[3].state, TIDE_BLOCK_FREE);
    assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
    expect_peak(only_device(summary), 4);
    expect_totals(&only_device(summary)->end, 18 * MIB, 14 * MIB, 18 * MIB, 20 * MIB);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    fixture_close(&on);
}

/* A log that kept rows 5 to 8 begins with a block that waits. */
static void what_waited_before_the_first_row_is_in_the_state(void **state) {
    (void)state;
    fixture on = {.inner = NULL};
    tide_summary *summary = NULL;
    fixture_open(&on, 4);
    second_half(&on, first_half(&on));
    tide_snapshot *snapshot = capture(&on);
    assert_int_equal(snapshot->n_events, 4);
    assert_int_equal(snapshot->n_dropped, 5);
    assert_int_equal(snapshot->n_start_blocks, 4);
    assert_int_equal(snapshot->start_blocks[0].state, TIDE_BLOCK_PENDING_FREE);
    assert_int_equal(snapshot->start_blocks[2].state, TIDE_BLOCK_ALLOCATED);
    assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
    expect_peak(only_device(summary), -1);
    expect_totals(&only_device(summary)->end, 8 * MIB + 512, 8 * MIB + 512, 8 * MIB + 512,
                  22 * MIB);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_halves_of_a_release_count),
        cmocka_unit_test(what_still_waits_at_the_end_is_in_the_state),
        cmocka_unit_test(what_waited_before_the_first_row_is_in_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
