/* test_workload.c - runs through their public interface: samples, scopes, refusals, out of memory
 * anywhere, failing host memory, tensors beyond 4 GiB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "recorded_run.h"

static tide_workload_config tiny_run(tide_mode mode) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.mode = mode;
    config.warmup_steps = 2;
    config.steps = 3;
    return config;
}

static void virtual_runs_have_no_times(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    assert_int_equal(run.result.n_samples, 3);
    assert_true(isnan(run.result.loss));
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        for (size_t sample = 0; sample < 3; sample++) {
            assert_true(run.result.host_ms[i][sample] == -1);
            assert_true(run.result.device_ms[i][sample] == -1);
        }
    }
    recorded_run_end(&run);
}

/* The scopes outside operators, in order: setup, then each step with its phases and layers. */
static void scopes_are_nested_and_numbered(void **state) {
    (void)state;
    static const char *const STEP[] = {
        "",          "/forward",          "/forward/layer 0",  "/forward/layer 1",
        "/backward", "/backward/layer 1", "/backward/layer 0", "/optimizer"};
    static const char *const STEPS[] = {"warmup 0", "warmup 1", "step 0", "step 1", "step 2"};
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *recording = &run.state.recording;
    size_t n = 0;
    for (uint32_t i = 0; i < recording->n_scopes; i++) {
        char path[SCOPE_PATH];
        char expected[SCOPE_PATH] = "setup";
        scope_path(recording, i, path);
        assert_true(recording->scopes[i].duration_ns >= 0);
        if (recording->scopes[i].kind == TIDE_SCOPE_OPERATOR) {
            continue;
        }
        if (n > 0) {
            (void)snprintf(expected, sizeof(expected), "%s%s", STEPS[(n - 1) / 8],
                           STEP[(n - 1) % 8]);
        }
        assert_string_equal(path, expected);
        n++;
    }
    assert_int_equal(n, 1 + 5 * 8);
    recorded_run_end(&run);
}

/* A captured step runs no operator and its replays run all of them: the losses are those of the run
 * without a graph, bit by bit, and the peak of requested bytes is the same. Replays record nothing,
 * and the blocks of the private pool are in its own segments. */
static void replays_are_the_steps(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    recorded_run eager;
    recorded_run graph;
    recorded_run_start(&eager, "cpu", &config, TIDE_UNLIMITED, TIDE_OK);
    config.cuda_graph = true;
    recorded_run_start(&graph, "cpu", &config, TIDE_UNLIMITED, TIDE_OK);
    assert_int_equal(graph.result.n_losses, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_true(graph.result.losses[i] == eager.result.losses[i]);
    }
    tide_cache_stats with;
    tide_cache_stats without;
    tide_cache_get_stats(graph.cache, &with);
    tide_cache_get_stats(eager.cache, &without);
    assert_int_equal(with.requested_bytes[TIDE_POOL_ALL].peak, /* and the size of the step */
                     without.requested_bytes[TIDE_POOL_ALL].peak + (int64_t)sizeof(float));
    const tide_recording *recording = &graph.state.recording;
    for (size_t i = 0; i < recording->n_events; i++) {
        char path[SCOPE_PATH];
        scope_path(recording, recording->events[i].scope, path);
        assert_true(strncmp(path, "step", 4) != 0);
    }
    for (uint32_t i = 0; i < recording->n_scopes; i++) {
        char path[SCOPE_PATH];
        scope_path(recording, i, path);
        assert_true(strncmp(path, "step", 4) != 0 || strchr(path, '/') == NULL);
    }
    size_t n_private = 0;
    for (size_t i = 0; i < graph.state.n_segments; i++) {
        n_private += graph.state.segments[i].pool_id[0] == 1;
    }
    assert_true(n_private > 0 && n_private < graph.state.n_segments);
    assert_int_equal(tide_cache_check(graph.cache, NULL), TIDE_OK);
    recorded_run_end(&graph);
    recorded_run_end(&eager);
}

static void bad_runs_are_refused(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_workload *workload = NULL;
    tide_error error = {""};
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    config.keep_graph = true;
    assert_int_equal(tide_workload_create(&config, cache, NULL, &workload, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "forward only"));
    config = tiny_run(TIDE_TRAIN);
    config.steps = 0;
    assert_int_equal(tide_workload_create(&config, cache, NULL, &workload, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "0 measured steps"));
    config = tiny_run(TIDE_TRAIN);
    config.clip_grad_norm = -1;
    assert_int_equal(tide_workload_create(&config, cache, NULL, &workload, &error), TIDE_INVALID);
    config = tiny_run(TIDE_TRAIN);
    config.model.n_heads = 5;
    assert_int_equal(tide_workload_create(&config, cache, NULL, &workload, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "5 heads"));
    tide_cache_destroy(cache);
    tide_device_close(device);
}

static uint64_t alive_bytes(const tide_cache_state *state) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < state->n_blocks; i++) {
        bytes += state->blocks[i].requested_bytes;
    }
    return bytes;
}

/* Wherever memory runs out, under every limit, the run reports it, its allocations stay alive for
 * the snapshot, its scopes are closed, and destroying it leaks nothing. */
static void out_of_memory_leaves_a_snapshot_and_no_leak(void **state) {
    (void)state;
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.warmup_steps = 0;
    config.steps = 2;
    config.precision = TIDE_PRECISION_BF16_MIXED;
    config.clip_grad_norm = 1;
    size_t n_failed = 0;
    for (size_t limit = (size_t)2 << 20;; limit += (size_t)97 << 20) {
        recorded_run run;
        bool fits = tide_workload_requested_peak_bytes(&config) < limit / 10 * 9;
        if (fits) {
            break;
        }
        recorded_run_start(&run, "virtual", &config, limit, TIDE_DEVICE_OOM);
        const tide_recording *recording = &run.state.recording;
        const tide_event *last = &recording->events[recording->n_events - 1];
        assert_int_equal(last->action, TIDE_ACTION_OOM);
        assert_true(last->requested_bytes > 0);
        assert_true(limit < ((size_t)4 << 20) || alive_bytes(&run.state) > 0);
        for (size_t i = 0; i < recording->n_scopes; i++) {
            assert_true(recording->scopes[i].duration_ns >= 0);
        }
        tide_cache_stats stats;
        tide_cache_get_stats(run.cache, &stats);
        assert_true(stats.requested_bytes[TIDE_POOL_ALL].current == 0);
        assert_int_equal(tide_cache_check(run.cache, NULL), TIDE_OK);
        recorded_run_end(&run);
        n_failed++;
    }
    assert_true(n_failed > 10);
}

/* A heap that fails its n-th allocation and counts the live ones. */
typedef struct failing_heap {
    size_t n_until_failure; /* 0: never */
    size_t n_alive;
} failing_heap;

static void *failing_alloc(void *ctx, size_t n_bytes) {
    failing_heap *heap = ctx;
    if (heap->n_until_failure > 0 && --heap->n_until_failure == 0) {
        return NULL;
    }
    heap->n_alive++;
    return malloc(n_bytes);
}

static void *failing_resize(void *ctx, void *memory, size_t n_bytes) {
    failing_heap *heap = ctx;
    if (heap->n_until_failure > 0 && --heap->n_until_failure == 0) {
        return NULL;
    }
    heap->n_alive += memory == NULL;
    return realloc(memory, n_bytes);
}

static void failing_release(void *ctx, void *memory) {
    failing_heap *heap = ctx;
    heap->n_alive -= memory != NULL;
    free(memory);
}

/* Creates and runs a workload whose host memory fails at the n-th allocation; true when the run
 * completed. */
static bool survives(tide_device *device, size_t n) {
    failing_heap heap = {0, 0};
    const tide_hostmem mem = {failing_alloc, failing_resize, failing_release, &heap};
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    tide_cache_config cache_config;
    tide_cache *cache = NULL;
    tide_workload *workload = NULL;
    tide_workload_result result = {.mem = NULL};
    tide_cache_config_init(&cache_config);
    cache_config.mem = &mem;
    assert_int_equal(tide_cache_create(device, NULL, &cache_config, &cache, NULL), TIDE_OK);
    heap.n_until_failure = n;
    tide_status status = tide_workload_create(&config, cache, NULL, &workload, NULL);
    if (status == TIDE_OK) {
        status = tide_workload_run(workload, &result, NULL);
        tide_workload_result_fini(&result);
    }
    tide_workload_destroy(workload);
    tide_cache_destroy(cache);
    assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
    assert_int_equal(heap.n_alive, 0);
    return status == TIDE_OK;
}

static void failing_host_memory_leaks_nothing(void **state) {
    (void)state;
    static const char *const DEVICES[] = {"virtual", "cpu"};
    for (size_t i = 0; i < 2; i++) {
        tide_device *device = NULL;
        assert_int_equal(tide_device_open(DEVICES[i], NULL, &device, NULL), TIDE_OK);
        size_t n = 1;
        while (!survives(device, n)) {
            n++;
            assert_true(n < 10000);
        }
        assert_true(n > 6); /* operators, parameters, activations, ... */
        tide_device_close(device);
    }
}

static void tensors_beyond_4_gib_have_their_size(void **state) {
    (void)state;
    tide_workload_config config;
    tide_workload_config_init(&config);
    assert_int_equal(tide_model_config_preset("10B", &config.model, NULL), TIDE_OK);
    config.model.vocab_size = 300000;
    config.model.n_layers = 2;
    config.model.context_length = 16384;
    config.model.batch_size = 3;
    config.attention = TIDE_ATTENTION_NAIVE;
    config.warmup_steps = 0;
    config.steps = 2;
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    static const struct {
        const char *name;
        uint64_t bytes;
    } ROWS[] = {
        {"lm_head.weight", UINT64_C(4) * 300000 * 4608},
        {"logits", UINT64_C(4) * 3 * 16384 * 300000},
        {"layers.1.attn.probs", UINT64_C(4) * 3 * 36 * 16384 * 16384},
        {"lm_head.weight.exp_avg_sq", UINT64_C(4) * 300000 * 4608},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        size_t event = find_event(&run.state.recording, TIDE_ACTION_ALLOC, ROWS[i].name, 0);
        assert_true(event < run.state.recording.n_events);
        assert_true(run.state.recording.events[event].requested_bytes == ROWS[i].bytes);
    }
    tide_cache_stats stats;
    tide_cache_get_stats(run.cache, &stats);
    assert_true((uint64_t)stats.requested_bytes[TIDE_POOL_ALL].peak ==
                tide_workload_requested_peak_bytes(&config));
    recorded_run_end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(virtual_runs_have_no_times),
        cmocka_unit_test(scopes_are_nested_and_numbered),
        cmocka_unit_test(replays_are_the_steps),
        cmocka_unit_test(bad_runs_are_refused),
        cmocka_unit_test(out_of_memory_leaves_a_snapshot_and_no_leak),
        cmocka_unit_test(failing_host_memory_leaks_nothing),
        cmocka_unit_test(tensors_beyond_4_gib_have_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
