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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
