/* test_pairs.c - steps with and without recording after a run: every second step leaves rows,
 * scopes and stacks, the others leave nothing, and the allocator behaves the same in all of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recorded_run.h"

enum { N_PAIRS = 3 };

/* A run whose workload outlives the call. */
typedef struct open_run {
    tide_device *device;         /* all owned */
    tide_recorder *recorder;     /* NULL: no pairs were requested */
    tide_cache *cache;           /* on the device */
    tide_workload *workload;     /* on the cache */
    tide_workload_result result; /* of tide_workload_run */
} open_run;

static open_run start(const char *device, bool is_recorded) {
    open_run run = {.device = NULL};
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.warmup_steps = 1;
    config.steps = 2;
    assert_int_equal(tide_device_open(device, NULL, &run.device, NULL), TIDE_OK);
    if (is_recorded) {
        assert_int_equal(tide_recorder_create(NULL, &run.recorder, NULL), TIDE_OK);
    }
    assert_int_equal(tide_cache_create(run.device, run.recorder, NULL, &run.cache, NULL), TIDE_OK);
    assert_int_equal(tide_workload_create(&config, run.cache, run.recorder, &run.workload, NULL),
                     TIDE_OK);
    return run;
}

static void finish(open_run *run) {
    tide_workload_result_fini(&run->result);
    tide_workload_destroy(run->workload);
    tide_cache_destroy(run->cache);
    tide_recorder_destroy(run->recorder);
    tide_device_close(run->device);
}

/* Counts the rows whose outermost scope is this one. */
static size_t rows_in(const tide_recording *recording, const char *step) {
    size_t n = 0;
    for (size_t i = 0; i < recording->n_events; i++) {
        char path[SCOPE_PATH];
        scope_path(recording, recording->events[i].scope, path);
        n += strncmp(path, step, strlen(step)) == 0;
    }
    return n;
}

static size_t scopes_named(const tide_recording *recording, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < recording->n_scopes; i++) {
        n += strcmp(recording->strings[recording->scopes[i].name], name) == 0;
    }
    return n;
}

static int64_t allocations(tide_cache *cache) {
    tide_cache_stats stats;
    tide_cache_get_stats(cache, &stats);
    return stats.allocation[TIDE_POOL_ALL].allocated;
}

static void every_other_step_is_recorded(void **state) {
    (void)state;
    open_run run = start("cpu", true);
    tide_cache_stats before;
    tide_cache_stats after;
    tide_recording first;
    tide_recording second;
    assert_int_equal(tide_workload_run(run.workload, &run.result, NULL), TIDE_OK);
    tide_cache_get_stats(run.cache, &before);
    assert_int_equal(tide_recorder_copy(run.recorder, NULL, &first, NULL), TIDE_OK);
    size_t n_step = rows_in(&first, "step 1");
    assert_true(n_step > 50);

    tide_workload_pairs pairs;
    int64_t n_before = allocations(run.cache);
    assert_int_equal(tide_workload_run_pairs(run.workload, N_PAIRS, &pairs, NULL), TIDE_OK);
    assert_int_equal(pairs.n_pairs, N_PAIRS);
    for (size_t i = 0; i < N_PAIRS; i++) {
        assert_true(pairs.recorded_ms[i] > 0.0 && pairs.unrecorded_ms[i] > 0.0);
    }
    /* One step before the pairs, and one of each pair; the numbers of pairs start at 0. */
    assert_int_equal(tide_recorder_copy(run.recorder, NULL, &second, NULL), TIDE_OK);
    assert_int_equal(second.n_events, first.n_events + (N_PAIRS + 1) * n_step);
    assert_int_equal(second.n_scopes - first.n_scopes,
                     (N_PAIRS + 1) * (first.n_scopes / 3)); /* 3 steps and "setup", rounded off */
    assert_int_equal(scopes_named(&second, "pair"), N_PAIRS + 1);
    assert_int_equal(rows_in(&second, "pair 0"), 2 * n_step);
    assert_int_equal(rows_in(&second, "pair 1"), n_step);
    assert_int_equal(second.n_scopes_dropped, 0);
    assert_int_equal(second.n_dropped, 0);
    /* The others did the same. */
    size_t n_allocs = 0;
    for (size_t i = 0; i < first.n_events; i++) {
        char path[SCOPE_PATH];
        scope_path(&first, first.events[i].scope, path);
        n_allocs += strncmp(path, "step 1", 6) == 0 && first.events[i].action == TIDE_ACTION_ALLOC;
    }
    assert_int_equal(allocations(run.cache) - n_before, (int64_t)((2 * N_PAIRS + 1) * n_allocs));
    tide_cache_get_stats(run.cache, &after);
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        assert_int_equal(after.allocated_bytes[pool].current, before.allocated_bytes[pool].current);
        assert_int_equal(after.allocated_bytes[pool].peak, before.allocated_bytes[pool].peak);
        assert_int_equal(after.reserved_bytes[pool].peak, before.reserved_bytes[pool].peak);
    }
    assert_int_equal(tide_cache_check(run.cache, NULL), TIDE_OK);
    tide_workload_pairs_fini(&pairs);
    tide_recording_fini(&first);
    tide_recording_fini(&second);
    finish(&run);
}

static void refuses(open_run *run) {
    tide_workload_pairs pairs;
    tide_error error = {""};
    assert_int_equal(tide_workload_run_pairs(run->workload, 1, &pairs, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "on a device that computes"));
    assert_int_equal(pairs.n_pairs, 0);
    tide_workload_pairs_fini(&pairs);
}

static void without_a_run_or_times_or_recorder_there_are_no_pairs(void **state) {
    (void)state;
    static const char *const DEVICES[] = {"cpu", "virtual", "cpu"};
    for (size_t i = 0; i < 3; i++) {
        open_run run = start(DEVICES[i], i != 2);
        if (i > 0) {
            assert_int_equal(tide_workload_run(run.workload, &run.result, NULL), TIDE_OK);
        }
        refuses(&run);
        finish(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_other_step_is_recorded),
        cmocka_unit_test(without_a_run_or_times_or_recorder_there_are_no_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
