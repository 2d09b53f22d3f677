/* test_cache_replay.c - the requests of real PyTorch runs give the block addresses that PyTorch
 * gave. Segments come from the file; pickle_trace.py turns it into text. */
#define _POSIX_C_SOURCE 200809L /* popen, access */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator/cache_internal.h"
#include "common/map.h"
#include "support/device_fault.h"

enum { MAX_BLOCKS = 4096, MAX_BOUGHT = 64, CHECK_EVERY = 64 };

typedef struct replay {
    tide_cache *cache;
    tide_device_fault device;
    uint64_t bought[MAX_BOUGHT]; /* addresses of segments, in the order in which they are bought */
    size_t n_bought;
    size_t n_requests;
} replay;

static void shared_file(const char *name, char path[1024]) {
    const char *shared = getenv("TIDEMARK_SHARED");
    snprintf(path, 1024, "%s/pytorch-snapshots/%s", shared != NULL ? shared : TIDE_TEST_SHARED,
             name);
}

static void read_segment(replay *run, FILE *trace, const char *line) {
    static tide_block_row blocks[MAX_BLOCKS];
    uint64_t address = 0;
    size_t total_bytes = 0;
    uint64_t stream = 0;
    char pool[8] = "";
    size_t n_blocks = 0;
    assert_int_equal(sscanf(line, "segment %" SCNu64 " %zu %" SCNu64 " %7s %zu", &address,
                            &total_bytes, &stream, pool, &n_blocks),
                     5);
    assert_true(n_blocks <= MAX_BLOCKS);
    for (size_t i = 0; i < n_blocks; i++) {
        char text[256];
        tide_block_row row = {.stack = TIDE_NONE, .scope = TIDE_NONE, .name = TIDE_NONE};
        assert_non_null(fgets(text, sizeof(text), trace));
        assert_int_equal(sscanf(text, "block %" SCNu64 " %" SCNu64 " %" SCNu64, &row.offset_bytes,
                                &row.block_bytes, &row.requested_bytes),
                         3);
        row.state = row.requested_bytes == 0 ? TIDE_BLOCK_FREE : TIDE_BLOCK_ALLOCATED;
        blocks[i] = row;
    }
    tide_error error = {""};
    if (tide_cache_adopt_segment(run->cache, address, total_bytes, stream,
                                 strcmp(pool, "small") == 0 ? TIDE_POOL_SMALL : TIDE_POOL_LARGE,
                                 blocks, n_blocks, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
}

static void check(replay *run) {
    tide_error error = {""};
    if (tide_cache_check(run->cache, &error) != TIDE_OK) {
        fail_msg("after request %zu: %s", run->n_requests, error.message);
    }
}

static void read_request(replay *run, const char *line) {
    uint64_t recorded = 0;
    uint64_t address = 0;
    size_t n_bytes = 0;
    uint64_t stream = 0;
    tide_error error = {""};
    tide_status status = TIDE_OK;
    if (sscanf(line, "bought %" SCNu64, &recorded) == 1) {
        assert_true(run->n_bought < MAX_BOUGHT);
        run->bought[run->n_bought++] = recorded;
        run->device.n_addresses++;
        return;
    }
    if (sscanf(line, "alloc %" SCNu64 " %zu %" SCNu64, &recorded, &n_bytes, &stream) == 3) {
        status = tide_cache_alloc(run->cache, n_bytes, stream, NULL, &address, &error);
    } else {
        assert_int_equal(sscanf(line, "free %" SCNu64, &recorded), 1);
        address = recorded;
        status = tide_cache_release(run->cache, recorded, &error);
    }
    run->n_requests++;
    if (status != TIDE_OK || address != recorded || run->device.n_addresses != 0) {
        fail_msg("request %zu, \"%.*s\": 0x%" PRIx64 ", recorded 0x%" PRIx64 "; %s",
                 run->n_requests, (int)strcspn(line, "\n"), line, address, recorded, error.message);
    }
    if (run->n_requests % CHECK_EVERY == 0) {
        check(run);
    }
}

/* Replays one file; returns how many requests it had. */
static size_t replay_file(const char *name) {
    char path[1024];
    char command[4096];
    char line[256];
    shared_file(name, path);
    snprintf(command, sizeof(command), "python3 '%s/pickle_trace.py' '%s'", TIDE_TEST_FOLDER, path);
    replay *run = calloc(1, sizeof(*run));
    assert_non_null(run);
    tide_device_fault_init(&run->device, NULL);
    run->device.addresses = run->bought;
    assert_int_equal(tide_cache_create(&run->device.base, NULL, NULL, &run->cache, NULL), TIDE_OK);
    FILE *trace = popen(command, "r");
    assert_non_null(trace);
    while (fgets(line, sizeof(line), trace) != NULL) {
        if (strncmp(line, "segment ", 8) == 0) {
            read_segment(run, trace, line);
        } else {
            read_request(run, line);
        }
    }
    assert_int_equal(pclose(trace), 0);
    check(run);
    size_t n_requests = run->n_requests;
    tide_cache_destroy(run->cache);
    free(run);
    return n_requests;
}

static void training_step_of_a_transformer(void **state) {
    (void)state;
    assert_int_equal(replay_file("medium_fp32_ctx128_training.pickle"), 12831);
}

static void forward_passes_of_transformers(void **state) {
    (void)state;
    assert_int_equal(replay_file("small_fp32_ctx128_forward.pickle"), 1362);
    assert_int_equal(replay_file("2.7B_fp32_ctx512_forward.pickle"), 2828);
    assert_int_equal(replay_file("2.7B_bf16_ctx512_forward.pickle"), 3535);
}

static void other_programs(void **state) {
    (void)state;
    assert_int_equal(replay_file("cnn_snapshot_events.pickle"), 3861);
    assert_int_equal(replay_file("windows_few_frames.pickle"), 3442);
}

enum { MAX_ROWS = 8192, N_RANGES = 2 };
/* How far apart the file's ranges lie: 4560 granules of 20 MiB, 1 1/8 of an A100 of 80 GiB. */
#define RANGE_BYTES INT64_C(95630131200)

/* What the file says happened: rows of one device, offsets from the first address of a pool. */
typedef struct expected_row {
    uint64_t offset_bytes; /* not of an oom */
    uint64_t n_bytes;      /* free rows: 0 */
    tide_action action;
    size_t range; /* 0 small, 1 large */
} expected_row;

typedef struct expandable_replay {
    tide_cache *cache;
    tide_recorder *recorder;
    uint64_t bases[N_RANGES]; /* where the cache's ranges begin; 0: not known yet */
    expected_row rows[MAX_ROWS];
    size_t n_rows;
    expected_row segments[64]; /* at the end */
    size_t n_segments;
} expandable_replay;

static size_t range_of(const char *pool) {
    return strcmp(pool, "small") == 0 ? 0 : 1;
}

/* The request of a line, if it is one; what it should give is kept. */
static void expandable_line(expandable_replay *run, const char *line) {
    char action[16] = "";
    char pool[8] = "";
    expected_row row = {.n_bytes = 0};
    uint64_t free_bytes = 0;
    uint64_t address = 0;
    tide_error error = {""};
    tide_status status = TIDE_OK;
    if (sscanf(line, "oom %" SCNu64 " %" SCNu64, &row.n_bytes, &free_bytes) == 2) {
        row.action = TIDE_ACTION_OOM;
        assert_int_equal(tide_cache_alloc(run->cache, (size_t)row.n_bytes, 0, NULL, &address, NULL),
                         TIDE_DEVICE_OOM);
        run->rows[run->n_rows++] = row;
        return;
    }
    assert_true(sscanf(line, "%15s %7s %" SCNu64 " %" SCNu64, action, pool, &row.offset_bytes,
                       &row.n_bytes) >= 3);
    row.range = range_of(pool);
    if (strcmp(action, "segment") == 0) {
        assert_true(run->n_segments < sizeof(run->segments) / sizeof(run->segments[0]));
        run->segments[run->n_segments++] = row;
        return;
    }
    row.action = strcmp(action, "map") == 0     ? TIDE_ACTION_SEGMENT_MAP
                 : strcmp(action, "unmap") == 0 ? TIDE_ACTION_SEGMENT_UNMAP
                 : strcmp(action, "alloc") == 0 ? TIDE_ACTION_ALLOC
                                                : TIDE_ACTION_FREE;
    assert_true(run->n_rows < MAX_ROWS);
    run->rows[run->n_rows++] = row;
    if (row.action == TIDE_ACTION_ALLOC) {
        status = tide_cache_alloc(run->cache, (size_t)row.n_bytes, 0, NULL, &address, &error);
        if (run->bases[row.range] == 0) {
            run->bases[row.range] = address - row.offset_bytes;
        }
    } else if (row.action == TIDE_ACTION_FREE) {
        address = run->bases[row.range] + row.offset_bytes;
        status = tide_cache_release(run->cache, address, &error);
    } else {
        return;
    }
    if (status != TIDE_OK || address != run->bases[row.range] + row.offset_bytes) {
        fail_msg("row %zu, \"%.*s\": 0x%" PRIx64 " in the range from 0x%" PRIx64 "; %s",
                 run->n_rows, (int)strcspn(line, "\n"), line, address, run->bases[row.range],
                 error.message);
    }
    if (run->n_rows % CHECK_EVERY == 0 && tide_cache_check(run->cache, &error) != TIDE_OK) {
        fail_msg("after row %zu: %s", run->n_rows, error.message);
    }
}

/* Rows and segments of the recording are those of the file, in the same order. */
static void compare_expandable(expandable_replay *run) {
    tide_cache_state now;
    assert_int_equal(tide_cache_copy_state(run->cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.recording.n_events, run->n_rows);
    for (size_t i = 0; i < run->n_rows; i++) {
        const tide_event *found = &now.recording.events[i];
        const expected_row *row = &run->rows[i];
        bool same = found->action == row->action &&
                    (row->action == TIDE_ACTION_FREE || found->requested_bytes == row->n_bytes) &&
                    (row->action == TIDE_ACTION_OOM ||
                     found->address == run->bases[row->range] + row->offset_bytes);
        if (!same) {
            fail_msg("row %zu: %s of %" PRIu64 " bytes, recorded %s of %" PRIu64, i,
                     tide_action_name(found->action), found->requested_bytes,
                     tide_action_name((int)row->action), row->n_bytes);
        }
    }
    assert_int_equal(now.n_segments, run->n_segments);
    for (size_t i = 0; i < run->n_segments; i++) {
        const expected_row *row = &run->segments[i];
        size_t at = 0;
        while (at < now.n_segments &&
               now.segments[at].address != run->bases[row->range] + row->offset_bytes) {
            at++;
        }
        assert_true(at < now.n_segments);
        assert_int_equal(now.segments[at].total_bytes, row->n_bytes);
        assert_true(now.segments[at].is_expandable);
    }
    tide_cache_state_fini(&now);
}

/* One device of the file with expandable segments, whose trace began empty, on a device of this
 * capacity. Returns how many rows it has. */
static size_t replay_expandable(int device, uint64_t capacity_bytes) {
    char path[1024];
    char command[4096];
    char line[256];
    tide_device *inner = NULL;
    tide_device_fault fault;
    tide_recorder_config recording;
    tide_cache_config config;
    tide_device_options options = {.capacity_bytes = capacity_bytes};
    expandable_replay *run = calloc(1, sizeof(*run));
    assert_non_null(run);
    shared_file("expandable_four_devices.pickle", path);
    snprintf(command, sizeof(command), "python3 '%s/pickle_trace.py' '%s' %d", TIDE_TEST_FOLDER,
             path, device);
    tide_recorder_config_init(&recording);
    recording.capture_stacks = false;
    tide_cache_config_init(&config);
    config.expandable_segments = true;
    assert_int_equal(tide_device_open("virtual", &options, &inner, NULL), TIDE_OK);
    tide_device_fault_init(&fault, inner);
    fault.base.info.total_bytes = INT64_C(84987740160);
    assert_int_equal(tide_recorder_create(&recording, &run->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(&fault.base, run->recorder, &config, &run->cache, NULL),
                     TIDE_OK);
    FILE *trace = popen(command, "r");
    assert_non_null(trace);
    while (fgets(line, sizeof(line), trace) != NULL) {
        expandable_line(run, line);
    }
    assert_int_equal(pclose(trace), 0);
    compare_expandable(run);
    size_t n_rows = run->n_rows;
    assert_int_equal(run->bases[0] - run->bases[1], RANGE_BYTES);
    assert_int_equal(fault.n_ranges, 2);
    tide_cache_destroy(run->cache);
    assert_int_equal(fault.n_ranges, 0);
    assert_int_equal(fault.mapped_bytes, 0);
    tide_recorder_destroy(run->recorder);
    tide_device_close(inner);
    free(run);
    return n_rows;
}

static void expandable_segments_on_three_devices(void **state) {
    (void)state;
    assert_int_equal(replay_expandable(0, UINT64_C(84987740160)), 4527);
    /* It ran out of memory with 84,202,749,952 bytes mapped and 95,682,560 free. */
    assert_int_equal(replay_expandable(1, UINT64_C(84202749952) + 95682560), 421);
    assert_int_equal(replay_expandable(2, UINT64_C(84987740160)), 676);
}

int main(void) {
    char path[1024];
    shared_file("medium_fp32_ctx128_training.pickle", path);
    if (access(path, R_OK) != 0) {
        printf("skipped: %s is not here\n", path);
        return 77;
    }
    if (system("python3 -c 'import pickle' > /dev/null 2>&1") != 0) {
        printf("skipped: no python3\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_step_of_a_transformer),
        cmocka_unit_test(forward_passes_of_transformers),
        cmocka_unit_test(other_programs),
        cmocka_unit_test(expandable_segments_on_three_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
