/* test_faults.c - a training run on the cuda device in which the n-th call of the runtime, of
 * cuBLAS or the n-th launch fails: out of memory, for another reason, or with the device lost for
 * good. The status is clear, the cache keeps its invariants, nothing leaks, and work that can
 * continue does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "model/workload/workload.h"
#include "support/hostmem_fault.h"
#include "support/tiny_workload.h"

#define MIB ((size_t)1 << 20)

/* One run: all owned. */
typedef struct run {
    tide_hostmem_fault heap; /* the heap of everything else */
    tide_device *device;     /* NULL: not opened */
    tide_recorder *recorder; /* NULL: not created, as the two below */
    tide_cache *cache;
    tide_workload *workload;
    tide_error error; /* of the call that failed first */
    bool has_graph;   /* the measured step is the replay of a captured one */
} run;

static bool with_graph; /* of the runs of a sweep */

static tide_status go(run *on) {
    const tide_device_options options = {.mem = &on->heap.mem};
    TIDE_TRY(tide_device_open("cuda", &options, &on->device, &on->error));
    tide_recorder_config recording;
    tide_recorder_config_init(&recording);
    recording.mem = &on->heap.mem;
    recording.log_bytes = MIB;
    recording.capture_stacks = false;
    TIDE_TRY(tide_recorder_create(&recording, &on->recorder, &on->error));
    tide_cache_config settings;
    tide_cache_config_init(&settings);
    settings.mem = &on->heap.mem;
    TIDE_TRY(tide_cache_create(on->device, on->recorder, &settings, &on->cache, &on->error));
    tide_workload_config config = tiny_workload(1);
    config.cuda_graph = on->has_graph;
    config.warmup_steps = on->has_graph ? 1 : 0;
    TIDE_TRY(tide_workload_create(&config, on->cache, on->recorder, &on->workload, &on->error));
    tide_workload_result result;
    tide_status status = tide_workload_run(on->workload, &result, &on->error);
    tide_workload_result_fini(&result);
    return status;
}

/* Two blocks on two streams. Both streams use one of them, and it is released while they still run.
 */
static tide_status use_streams(run *on) {
    tide_stream stream = 0;
    uint64_t address = 0;
    TIDE_TRY(tide_device_stream_create(on->device, &stream, &on->error));
    tide_status status = tide_cache_alloc(on->cache, 5000, 0, NULL, &address, &on->error);
    if (status == TIDE_OK) {
        status = tide_cache_record_stream(on->cache, address, stream, &on->error);
        tide_status released = tide_cache_release(on->cache, address, &on->error);
        status = status == TIDE_OK ? released : status;
    }
    uint64_t other = 0;
    if (status == TIDE_OK) {
        status = tide_cache_alloc(on->cache, 5000, stream, NULL, &other, &on->error);
    }
    if (status == TIDE_OK) {
        status = tide_cache_release(on->cache, other, &on->error);
    }
    tide_status emptied = tide_cache_empty(on->cache, NULL);
    tide_status destroyed = tide_device_stream_destroy(on->device, stream, NULL);
    if (status != TIDE_OK) {
        return status;
    }
    return emptied != TIDE_OK ? emptied : destroyed;
}

static void expect_whole_cache(run *on) {
    tide_error error = {""};
    if (on->cache != NULL && tide_cache_check(on->cache, &error) != TIDE_OK) {
        fail_msg("%s: %s", tide_fake_cudart_state()->failed_in, error.message);
    }
}

/* A lost device reports that, and where it was lost. */
static void expect_lost(run *on) {
    uint64_t address = 0;
    tide_error error = {""};
    assert_int_equal(tide_device_synchronize(on->device, &error), TIDE_DEVICE_LOST);
    assert_non_null(strstr(error.message, "cuda:0 is lost since "));
    if (on->cache != NULL) {
        assert_int_equal(tide_cache_alloc(on->cache, 900 * MIB, 0, NULL, &address, &error),
                         TIDE_DEVICE_LOST);
    }
}

/* False when the run ended before the n-th call. */
static bool run_once(size_t n, const char *function, cudaError_t failure, tide_status expected) {
    static run on;
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    on = (run){.has_graph = with_graph};
    tide_hostmem_fault_init(&on.heap, 0);
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->compute_capability = 86; /* a smaller workspace: runs are shorter */
    tide_fake_cudart_fail(function, n, failure);
    tide_status status = go(&on);
    tide_workload_destroy(on.workload);
    expect_whole_cache(&on);
    if (status == TIDE_OK) {
        status = use_streams(&on);
    }
    expect_whole_cache(&on);
    const char *failed_in = fake->failed_in;
    const bool is_absent = on.device == NULL && status == TIDE_DEVICE_ABSENT;
    if (status != TIDE_OK && status != expected && !is_absent) {
        fail_msg("call %zu, %s: %s: %s", n, failed_in, tide_status_text(status), on.error.message);
    }
    assert_true(failed_in != NULL || status == TIDE_OK);
    if (status == TIDE_DEVICE_LOST && on.device != NULL) {
        expect_lost(&on);
    }
    tide_cache_destroy(on.cache);
    tide_recorder_destroy(on.recorder);
    tide_device_close(on.device);
    assert_int_equal(on.heap.n_live, 0);
    assert_int_equal(tide_fake_cublas_state()->n_handles, 0);
    if (fake->n_mistakes + tide_fake_cublas_state()->n_mistakes > 0) {
        fail_msg("call %zu, %s: %s %s", n, failed_in, fake->mistake,
                 tide_fake_cublas_state()->mistake);
    }
    if (fake->failed_in == NULL) {
        assert_int_equal(fake->n_segments + fake->n_streams + fake->n_events + fake->n_graphs, 0);
    } else if (expected != TIDE_DEVICE_LOST) {
        /* A failed release is not tried again; everything else was released. */
        const size_t n_left = fake->n_segments + fake->n_streams + fake->n_events + fake->n_graphs;
        if (n_left > 2) {
            fail_msg("call %zu, %s: %zu things of the device are left", n, failed_in, n_left);
        }
    }
    return fake->failed_in != NULL;
}

/* Fails every call at the begin, where the device, the operators and the model are made, then ever
 * fewer, because steps repeat the same calls. Returns how many failed. */
static size_t sweep(const char *function, cudaError_t failure, tide_status expected) {
    size_t n_failed = 0;
    for (size_t n = 1; run_once(n, function, failure, expected);) {
        n_failed++;
        n += function != NULL || n < 100 ? 1 : 1 + n / 60;
    }
    return n_failed;
}

static void every_segment_may_be_refused(void **state) {
    (void)state;
    size_t n = sweep("cudaMalloc", cudaErrorMemoryAllocation, TIDE_DEVICE_OOM);
    assert_true(n >= 2);
}

static void every_release_may_fail(void **state) {
    (void)state;
    assert_true(sweep("cudaFree", cudaErrorUnknown, TIDE_DEVICE_FAILED) >= 2);
    assert_true(sweep("cudaFree", cudaErrorIllegalAddress, TIDE_DEVICE_LOST) >= 2);
}

static void calls_may_run_out_of_memory(void **state) {
    (void)state;
    assert_true(sweep(NULL, cudaErrorMemoryAllocation, TIDE_DEVICE_OOM) > 120);
}

static void calls_may_fail(void **state) {
    (void)state;
    assert_true(sweep(NULL, cudaErrorUnknown, TIDE_DEVICE_FAILED) > 120);
    assert_true(sweep("cudaSetDevice", cudaErrorUnknown, TIDE_DEVICE_FAILED) >
                120); /* to the end */
}

static void calls_may_lose_the_device(void **state) {
    (void)state;
    assert_true(sweep(NULL, cudaErrorIllegalAddress, TIDE_DEVICE_LOST) > 120);
}

/* The same with a captured step, whose capture must end whatever fails in it. */
static void calls_of_a_captured_step_may_fail(void **state) {
    (void)state;
    with_graph = true;
    assert_true(sweep("cudaMalloc", cudaErrorMemoryAllocation, TIDE_DEVICE_OOM) >= 2);
    assert_true(sweep(NULL, cudaErrorUnknown, TIDE_DEVICE_FAILED) > 120);
    assert_int_equal(sweep("cudaStreamBeginCapture", cudaErrorUnknown, TIDE_DEVICE_FAILED), 1);
    assert_int_equal(sweep("cudaStreamEndCapture", cudaErrorUnknown, TIDE_DEVICE_FAILED), 1);
    assert_int_equal(sweep("cudaGraphInstantiate", cudaErrorUnknown, TIDE_DEVICE_FAILED), 1);
    assert_int_equal(sweep("cudaGraphLaunch", cudaErrorIllegalAddress, TIDE_DEVICE_LOST), 1);
    with_graph = false;
}

/* Late events change which memory is reused, never a result. */
static void events_may_be_late(void **state) {
    (void)state;
    for (size_t delay = 1; delay < 4; delay++) {
        static run on;
        on = (run){.has_graph = with_graph};
        tide_hostmem_fault_init(&on.heap, 0);
        tide_fake_cudart_reset();
        tide_fake_cublas_reset();
        tide_fake_cudart_state()->event_delay = delay;
        assert_int_equal(go(&on), TIDE_OK);
        tide_workload_destroy(on.workload);
        assert_int_equal(use_streams(&on), TIDE_OK);
        expect_whole_cache(&on);
        tide_cache_destroy(on.cache);
        tide_recorder_destroy(on.recorder);
        tide_device_close(on.device);
        assert_int_equal(on.heap.n_live, 0);
        assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
        assert_int_equal(tide_fake_cudart_state()->n_events, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_segment_may_be_refused),
        cmocka_unit_test(every_release_may_fail),
        cmocka_unit_test(calls_may_run_out_of_memory),
        cmocka_unit_test(calls_may_fail),
        cmocka_unit_test(calls_may_lose_the_device),
        cmocka_unit_test(calls_of_a_captured_step_may_fail),
        cmocka_unit_test(events_may_be_late),
    };
    return cmocka_run_group_tests_name("ops_cuda.faults", tests, NULL, NULL);
}
