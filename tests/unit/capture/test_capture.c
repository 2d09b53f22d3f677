/* test_capture.c - snapshots of a live cache: whole recordings, rings that lost their beginning,
 * logs that stopped, descriptions and settings, and failures.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/host.h"
#include "common/map.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/validate.h"
#include "support/hostmem_fault.h"

typedef struct fixture {
    tide_device *device;
    tide_recorder *recorder;
    tide_cache *cache;
} fixture;

static fixture create_fixture(size_t n_events, tide_full_policy policy) {
    fixture f = {NULL, NULL, NULL};
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = n_events * sizeof(tide_event);
    config.full_policy = policy;
    assert_int_equal(tide_device_open("virtual", NULL, &f.device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(&config, &f.recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(f.device, f.recorder, NULL, &f.cache, NULL), TIDE_OK);
    return f;
}

static void destroy_fixture(fixture *f) {
    tide_cache_destroy(f->cache);
    tide_recorder_destroy(f->recorder);
    tide_device_close(f->device);
}

static tide_snapshot *capture(const fixture *f) {
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    tide_status status = tide_capture(f->recorder, f->cache, NULL, &snapshot, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
    char place[TIDE_PLACE_BYTES] = "";
    status = tide_snapshot_validate(snapshot, place, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
    return snapshot;
}

/* Runs the first `n_steps` of a history of allocations and releases in all pools. */
static void run_history(tide_cache *cache, size_t n_steps) {
    static const size_t SIZES[] = {300, 5000, 700000, 3 << 20, 12 << 20, 1 << 20};
    uint64_t live[16] = {0};
    uint64_t random = 42;
    for (size_t i = 0; i < n_steps; i++) {
        random = tide_hash_u64(random + i);
        uint64_t *slot = &live[random % 16];
        if (*slot != 0) {
            assert_int_equal(tide_cache_release(cache, *slot, NULL), TIDE_OK);
            *slot = 0;
        } else {
            char name[32];
            (void)snprintf(name, sizeof(name), "tensor.%d", (int)(random / 16 % 9));
            tide_tag tag = {(tide_category)(random / 256 % TIDE_N_CATEGORIES), name};
            size_t n_bytes = SIZES[random / 4096 % 6] + random / 65536 % 1000;
            assert_int_equal(tide_cache_alloc(cache, n_bytes, 0, &tag, slot, NULL), TIDE_OK);
        }
        if (i % 37 == 36) {
            assert_int_equal(tide_cache_empty(cache, NULL), TIDE_OK);
        }
    }
}

/* The expected boundary at a row of a whole recording, derived from the rows before it, and each
 * block is searched by address among all rows. */
typedef struct expected {
    size_t n_segments;
    size_t n_live;
    uint64_t reserved_bytes, live_bytes;
} expected;

/* Finds the alloc row of the block that is alive at `address` before `row`. */
static bool live_at(const tide_snapshot *whole, size_t row, uint64_t address,
                    tide_event *ret_event) {
    for (size_t i = row; i > 0; i--) {
        const tide_event event = tide_event_at(whole, i - 1);
        if (event.address == address && event.action == TIDE_ACTION_ALLOC) {
            *ret_event = event;
            return true;
        }
        if (event.address == address && event.action == TIDE_ACTION_FREE) {
            return false;
        }
    }
    return false;
}

static expected expect_at(const tide_snapshot *whole, size_t row) {
    expected e = {0, 0, 0, 0};
    for (size_t i = 0; i < row; i++) {
        const tide_event event = tide_event_at(whole, i);
        switch (event.action) {
        case TIDE_ACTION_ALLOC:
            e.n_live++;
            e.live_bytes += event.block_bytes;
            break;
        case TIDE_ACTION_FREE:
            e.n_live--;
            e.live_bytes -= event.block_bytes;
            break;
        case TIDE_ACTION_SEGMENT_ALLOC:
            e.n_segments++;
            e.reserved_bytes += event.block_bytes;
            break;
        case TIDE_ACTION_SEGMENT_FREE:
            e.n_segments--;
            e.reserved_bytes -= event.block_bytes;
            break;
        default:
            break;
        }
    }
    return e;
}

/* Expects that each block of a boundary of `snapshot` matches the block in `whole` before its row
 * `row`, and that none is missing. tide_snapshot_validate checks the tiling. */
static void expect_boundary(const tide_snapshot *snapshot, const tide_segment_row *segments,
                            size_t n_segments, const tide_block_row *blocks,
                            const tide_snapshot *whole, size_t row) {
    expected e = expect_at(whole, row);
    expected found = {n_segments, 0, 0, 0};
    for (size_t s = 0; s < n_segments; s++) {
        found.reserved_bytes += segments[s].total_bytes;
        bool was_free = false;
        for (size_t i = 0; i < segments[s].n_blocks; i++) {
            const tide_block_row *block = &blocks[segments[s].first_block + i];
            bool is_free = block->state == TIDE_BLOCK_FREE;
            assert_false(is_free && was_free); /* coalesced */
            was_free = is_free;
            if (is_free) {
                continue;
            }
            found.n_live++;
            found.live_bytes += block->block_bytes;
            tide_event alloc = {0};
            assert_true(live_at(whole, row, segments[s].address + block->offset_bytes, &alloc));
            assert_int_equal(block->block_bytes, alloc.block_bytes);
            assert_int_equal(block->requested_bytes, alloc.requested_bytes);
            assert_int_equal(block->category, alloc.category);
            assert_string_equal(tide_snapshot_text(snapshot, block->name),
                                tide_snapshot_text(whole, alloc.name));
        }
    }
    assert_memory_equal(&found, &e, sizeof(e));
}

static void a_whole_recording_starts_with_nothing(void **state) {
    (void)state;
    fixture f = create_fixture(10000, TIDE_FULL_KEEP_NEWEST);
    run_history(f.cache, 200);
    tide_snapshot *snapshot = capture(&f);
    assert_true(snapshot->n_events > 200);
    assert_int_equal(snapshot->n_dropped, 0);
    assert_int_equal(snapshot->n_start_segments, 0);
    assert_int_equal(snapshot->n_start_blocks, 0);
    assert_string_equal(snapshot->full_policy, "keep-newest");
    assert_true(strcmp(snapshot->clock_source, "monotonic") == 0 ||
                strcmp(snapshot->clock_source, "tsc") == 0);
    expect_boundary(snapshot, snapshot->end_segments, snapshot->n_end_segments,
                    snapshot->end_blocks, snapshot, snapshot->n_events);
    tide_snapshot_destroy(snapshot);
    destroy_fixture(&f);
}

/* Compares what a log of n_events keeps of the history with a recording that kept everything. */
static void compare_with_whole(size_t n_events, tide_full_policy policy, size_t n_steps) {
    fixture all = create_fixture(10000, TIDE_FULL_KEEP_NEWEST);
    fixture few = create_fixture(n_events, policy);
    run_history(all.cache, n_steps);
    run_history(few.cache, n_steps);
    tide_snapshot *whole = capture(&all);
    tide_snapshot *part = capture(&few);
    size_t n_whole = whole->n_events;
    size_t n_kept = n_whole < n_events ? n_whole : n_events;
    assert_int_equal(part->n_events, n_kept);
    assert_int_equal(part->n_dropped, n_whole - n_kept);
    size_t first = policy == TIDE_FULL_STOP ? 0 : n_whole - n_kept;
    for (size_t i = 0; i < n_kept; i++) {
        assert_true(part->events.address[i] == whole->events.address[first + i]);
        assert_int_equal(part->events.action[i], whole->events.action[first + i]);
    }
    expect_boundary(part, part->start_segments, part->n_start_segments, part->start_blocks, whole,
                    first);
    expect_boundary(part, part->end_segments, part->n_end_segments, part->end_blocks, whole,
                    first + n_kept);
    tide_snapshot_destroy(part);
    tide_snapshot_destroy(whole);
    destroy_fixture(&few);
    destroy_fixture(&all);
}

static void a_ring_knows_what_was_there_before(void **state) {
    (void)state;
    for (size_t n_steps = 20; n_steps <= 200; n_steps += 45) {
        compare_with_whole(1, TIDE_FULL_KEEP_NEWEST, n_steps);
        compare_with_whole(16, TIDE_FULL_KEEP_NEWEST, n_steps);
        compare_with_whole(101, TIDE_FULL_KEEP_NEWEST, n_steps);
    }
}

static void a_log_that_stopped_ends_where_it_stopped(void **state) {
    (void)state;
    for (size_t n_steps = 20; n_steps <= 200; n_steps += 45) {
        compare_with_whole(1, TIDE_FULL_STOP, n_steps);
        compare_with_whole(16, TIDE_FULL_STOP, n_steps);
        compare_with_whole(101, TIDE_FULL_STOP, n_steps);
    }
}

static const tide_snapshot_setting *find_setting(const tide_snapshot *snapshot, const char *name) {
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        if (strcmp(snapshot->settings[i].name, name) == 0) {
            return &snapshot->settings[i];
        }
    }
    fail_msg("no setting %s", name);
    return NULL;
}

static void settings_are_complete(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_cache_config config;
    tide_cache_config_init(&config);
    config.max_split_bytes = (size_t)200 << 20;
    config.roundup_power2_divisions[1] = 4;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(device, NULL, &config, &cache, NULL), TIDE_OK);
    tide_snapshot *snapshot = NULL;
    assert_int_equal(tide_capture(NULL, cache, NULL, &snapshot, NULL), TIDE_OK);
    assert_true(find_setting(snapshot, "max_split_size")->number == 209715200.0);
    assert_true(find_setting(snapshot, "min_block_size")->number == 512.0);
    assert_true(find_setting(snapshot, "small_size")->number == 1048576.0);
    assert_true(find_setting(snapshot, "small_buffer")->number == 2097152.0);
    assert_true(find_setting(snapshot, "large_segment_size")->number == 20971520.0);
    assert_true(find_setting(snapshot, "min_large_alloc")->number == 10485760.0);
    assert_true(find_setting(snapshot, "round_large")->number == 2097152.0);
    assert_true(find_setting(snapshot, "max_non_split_rounding")->number == 20971520.0);
    assert_true(find_setting(snapshot, "memory_limit")->number == -1.0);
    assert_true(find_setting(snapshot, "garbage_collection_threshold")->number == 0.0);
    const char *divisions = find_setting(snapshot, "roundup_power2_divisions")->text;
    assert_non_null(divisions);
    assert_memory_equal(divisions, "[1:0,2:4,4:0,8:0,", 17);
    /* The allocator can read the written settings back. */
    char conf[600];
    (void)snprintf(conf, sizeof(conf), "roundup_power2_divisions:%s", divisions);
    tide_cache_config again;
    tide_cache_config_init(&again);
    tide_error error = {""};
    assert_int_equal(tide_cache_config_parse(&again, conf, &error), TIDE_OK);
    assert_memory_equal(again.roundup_power2_divisions, config.roundup_power2_divisions,
                        sizeof(config.roundup_power2_divisions));
    assert_int_equal(snapshot->n_devices, 1);
    assert_string_equal(snapshot->devices[0].kind, "virtual");
    tide_snapshot_destroy(snapshot);
    tide_cache_destroy(cache);
    tide_device_close(device);
}

static void descriptions_are_copied(void **state) {
    (void)state;
    fixture f = create_fixture(100, TIDE_FULL_STOP);
    char command[] = "tidemark profile";
    double samples[] = {1.5, 2.5};
    tide_snapshot_phase phase = {"forward", 2, samples, NULL};
    tide_snapshot_run run = {.command = command,
                             .started_unix_us = -1,
                             .model = {"small", 768, 3072, 12, 12, 10000, 1},
                             .precision = "fp32",
                             .seed = 7};
    double recorded[] = {3.0, 4.0};
    double unrecorded[] = {2.0, 3.0};
    tide_snapshot_timing timing = {.warmup_steps = 1,
                                   .measured_steps = 2,
                                   .phases = &phase,
                                   .n_phases = 1,
                                   .flops = 1e9,
                                   .stated_peak_flops = -1.0,
                                   .recorder_ns_per_event = 250.0,
                                   .recorded_step_ms = recorded,
                                   .unrecorded_step_ms = unrecorded,
                                   .n_recorder_pairs = 2};
    tide_capture_options options = {NULL, &run, &timing};
    tide_snapshot *snapshot = NULL;
    assert_int_equal(tide_capture(f.recorder, f.cache, &options, &snapshot, NULL), TIDE_OK);
    command[0] = '?';
    samples[0] = 0.0;
    recorded[1] = 0.0;
    unrecorded[1] = 0.0;
    phase.name = "?";
    destroy_fixture(&f); /* the snapshot must own all that it points to */
    assert_string_equal(snapshot->run.command, "tidemark profile");
    assert_string_equal(snapshot->run.model.size, "small");
    assert_string_equal(snapshot->run.mode, "");
    assert_int_equal(snapshot->run.seed, 7);
    assert_true(snapshot->run.started_unix_us > 0); /* the recorder's creation */
    assert_int_equal(snapshot->timing.n_phases, 1);
    assert_string_equal(snapshot->timing.phases[0].name, "forward");
    assert_true(snapshot->timing.phases[0].host_ms[0] == 1.5);
    assert_true(snapshot->timing.phases[0].device_ms == NULL);
    assert_true(snapshot->timing.recorder_ns_per_event == 250.0);
    assert_int_equal(snapshot->timing.n_recorder_pairs, 2);
    assert_true(snapshot->timing.recorded_step_ms[1] == 4.0);
    assert_true(snapshot->timing.unrecorded_step_ms[1] == 3.0);
    tide_snapshot_destroy(snapshot);
}

static void another_recorder_is_refused(void **state) {
    (void)state;
    fixture f = create_fixture(1000, TIDE_FULL_STOP);
    fixture other = create_fixture(1000, TIDE_FULL_STOP);
    run_history(f.cache, 5);
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_int_equal(tide_capture(other.recorder, f.cache, NULL, &snapshot, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "another recorder"));
    assert_int_equal(tide_capture(NULL, f.cache, NULL, &snapshot, NULL), TIDE_INVALID);
    assert_int_equal(tide_capture(f.recorder, other.cache, NULL, &snapshot, NULL), TIDE_INVALID);
    assert_null(snapshot);
    destroy_fixture(&other);
    destroy_fixture(&f);
}

static void no_memory_leaves_nothing_behind(void **state) {
    (void)state;
    fixture f = create_fixture(16, TIDE_FULL_KEEP_NEWEST);
    run_history(f.cache, 60);
    for (size_t n = 0; n < 10000; n++) {
        tide_hostmem_fault heap;
        tide_hostmem_fault_init(&heap, n + 1);
        heap.fails_on = true;
        tide_capture_options options = {&heap.mem, NULL, NULL};
        tide_snapshot *snapshot = NULL;
        tide_error error = {""};
        tide_status status = tide_capture(f.recorder, f.cache, &options, &snapshot, &error);
        if (status == TIDE_OK) {
            assert_true(n > 10); /* otherwise no allocation failed at all */
            tide_snapshot_destroy(snapshot);
            assert_int_equal(heap.n_live, 0);
            destroy_fixture(&f);
            return;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        assert_non_null(strstr(error.message, "memory"));
        assert_int_equal(heap.n_live, 0);
    }
    fail_msg("never enough memory");
}

static void a_file_is_written_and_read(void **state) {
    (void)state;
    char path[] = "/tmp/tidemark-capture-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(close(descriptor), 0);
    fixture f = create_fixture(16, TIDE_FULL_KEEP_NEWEST);
    tide_scope scope = tide_scope_begin(f.recorder, TIDE_SCOPE_STEP, "step", 0);
    run_history(f.cache, 60);
    tide_scope_end(f.recorder, scope);
    tide_error error = {""};
    tide_status status = tide_snapshot_write(f.recorder, f.cache, path, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
    tide_snapshot *read = NULL;
    status = tide_snapshot_load(path, NULL, &read, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
    tide_snapshot *live = capture(&f);
    assert_int_equal(read->n_events, live->n_events);
    assert_int_equal(read->n_stacks, live->n_stacks);
    assert_int_equal(read->n_frames, live->n_frames);
    assert_int_equal(read->n_start_blocks, live->n_start_blocks);
    assert_int_equal(read->n_end_blocks, live->n_end_blocks);
    for (size_t i = 0; i < live->n_events; i++) {
        assert_true(tide_index_at(&read->events.stack, i) == tide_index_at(&live->events.stack, i));
        assert_true(tide_index_at(&read->events.scope, i) == 0);
        assert_string_equal(tide_snapshot_text(read, tide_index_at(&read->events.name, i)),
                            tide_snapshot_text(live, tide_index_at(&live->events.name, i)));
    }
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(live);
    assert_int_equal(tide_snapshot_write(f.recorder, f.cache, "/no/such/folder/x.json.gz", &error),
                     TIDE_IO);
    destroy_fixture(&f);
    assert_int_equal(remove(path), 0);
}

/* On a device without a capacity neither the request nor the free bytes fit into the numbers of a
 * file.
 */
static void an_absurd_request_does_not_spoil_the_file(void **state) {
    (void)state;
    char path[] = "/tmp/tidemark-capture-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(close(descriptor), 0);
    fixture f = create_fixture(16, TIDE_FULL_KEEP_NEWEST);
    uint64_t address = 0;
    assert_int_equal(tide_cache_alloc(f.cache, SIZE_MAX, 0, NULL, &address, NULL), TIDE_DEVICE_OOM);
    tide_error error = {""};
    tide_status status = tide_snapshot_write(f.recorder, f.cache, path, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
    tide_snapshot *read = NULL;
    tide_summary *summary = NULL;
    assert_int_equal(tide_snapshot_load(path, NULL, &read, NULL), TIDE_OK);
    assert_int_equal(tide_summary_create(read, &summary, NULL), TIDE_OK);
    assert_int_equal(summary->devices[0].n_oom, 1);
    assert_true(summary->devices[0].oom_requested_bytes == INT64_MAX);
    assert_int_equal(summary->devices[0].oom_free_bytes, -1);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(read);
    destroy_fixture(&f);
    assert_int_equal(remove(path), 0);
}

static void the_host_is_described(void **state) {
    (void)state;
    tide_host_info info;
    tide_host_get_info(&info);
    assert_true(info.name[0] != '\0');
    assert_non_null(strstr(info.os, "Linux"));
    assert_null(strchr(info.os, '"'));
    assert_true(info.n_cpus > 0);
    assert_true(info.total_bytes > 1 << 20);
    print_message("%s | %s | %s | %d CPUs | %.1f GiB\n", info.name, info.os, info.cpu,
                  (int)info.n_cpus, (double)info.total_bytes / (1 << 30));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_recording_starts_with_nothing),
        cmocka_unit_test(a_ring_knows_what_was_there_before),
        cmocka_unit_test(a_log_that_stopped_ends_where_it_stopped),
        cmocka_unit_test(settings_are_complete),
        cmocka_unit_test(descriptions_are_copied),
        cmocka_unit_test(another_recorder_is_refused),
        cmocka_unit_test(no_memory_leaves_nothing_behind),
        cmocka_unit_test(a_file_is_written_and_read),
        cmocka_unit_test(an_absurd_request_does_not_spoil_the_file),
        cmocka_unit_test(the_host_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
