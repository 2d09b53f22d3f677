/* test_timing.c - where the device's clock is read: each phase has two events of its own around
 * exactly what it allocates and releases, a step synchronises once, and the samples contain no
 * warm-up step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_friend.h"
#include "recorded_run.h"

enum { MAX_CALLS = 400 };

/* The calls that the workload made to the device. */
typedef struct call {
    char what;              /* 'R' record, 'S' synchronise, 'C' copy to the host, 'E' elapsed */
    const void *event;      /* recorded; of elapsed: the one at the beginning */
    const void *end;        /* of elapsed */
    int64_t n_cache_events; /* allocations and releases up to there */
} call;

/* Its calls, and the table that answers them. */
static struct {
    const tide_device_table *right; /* the device's own */
    tide_cache *cache;              /* of the run */
    call calls[MAX_CALLS];          /* n_calls in their order */
    size_t n_calls;
} watch;

static void note(char what, const void *event, const void *end) {
    tide_cache_stats stats;
    tide_cache_get_stats(watch.cache, &stats);
    const tide_stat *allocation = &stats.allocation[TIDE_POOL_ALL];
    assert_true(watch.n_calls < MAX_CALLS);
    watch.calls[watch.n_calls++] =
        (call){what, event, end, allocation->allocated + allocation->freed};
}

static tide_status watched_record(tide_device *device, tide_device_event *event, tide_stream stream,
                                  tide_error *error) {
    note('R', event, NULL);
    return watch.right->event_record(device, event, stream, error);
}

static tide_status watched_elapsed(tide_device *device, const tide_device_event *begin,
                                   const tide_device_event *end, double *ret_ms,
                                   tide_error *error) {
    note('E', begin, end);
    return watch.right->event_elapsed(device, begin, end, ret_ms, error);
}

static tide_status watched_synchronize(tide_device *device, tide_error *error) {
    note('S', NULL, NULL);
    return watch.right->synchronize(device, error);
}

static tide_status watched_copy(tide_device *device, void *dst, const void *src, size_t n_bytes,
                                tide_copy_direction direction, tide_stream stream,
                                tide_error *error) {
    if (direction == TIDE_COPY_TO_HOST) {
        note('C', NULL, NULL);
    }
    return watch.right->copy(device, dst, src, n_bytes, direction, stream, error);
}

/* A recorded run on the cpu whose device calls are in `watch`. */
static void run_watched(recorded_run *run, const tide_workload_config *config) {
    tide_workload *workload = NULL;
    assert_int_equal(tide_device_open("cpu", NULL, &run->device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(NULL, &run->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(run->device, run->recorder, NULL, &run->cache, NULL),
                     TIDE_OK);
    tide_device_table table = *run->device->table;
    table.event_record = watched_record;
    table.event_elapsed = watched_elapsed;
    table.synchronize = watched_synchronize;
    table.copy = watched_copy;
    watch.right = run->device->table;
    watch.cache = run->cache;
    watch.n_calls = 0;
    run->device->table = &table;
    assert_int_equal(tide_workload_create(config, run->cache, run->recorder, &workload, NULL),
                     TIDE_OK);
    assert_int_equal(tide_workload_run(workload, &run->result, NULL), TIDE_OK);
    run->device->table = watch.right;
    assert_int_equal(tide_cache_copy_state(run->cache, tide_hostmem_default(), &run->state, NULL),
                     TIDE_OK);
    tide_workload_destroy(workload);
}

/* Allocations and releases before the first and up to the last one of a scope: those of `path` and
 * below. */
typedef struct span {
    int64_t begin, end;
} span;

static span span_of(const tide_recording *recording, const char *path) {
    span found = {-1, -1};
    int64_t n = 0;
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        if (event->action != TIDE_ACTION_ALLOC && event->action != TIDE_ACTION_FREE) {
            continue;
        }
        char actual[SCOPE_PATH];
        scope_path(recording, event->scope, actual);
        if (strncmp(actual, path, strlen(path)) == 0) {
            found.begin = found.begin < 0 ? n : found.begin;
            found.end = n + 1;
        }
        n++;
    }
    assert_true(found.begin >= 0);
    return found;
}

static void expect_call(size_t *at, char what, int64_t n_cache_events) {
    assert_true(*at < watch.n_calls);
    assert_int_equal(watch.calls[*at].what, what);
    assert_int_equal(watch.calls[*at].n_cache_events, n_cache_events);
    (*at)++;
}

/* The calls of one step from number *at on; 'E' only where it is measured. */
static void expect_step(const recorded_run *run, const char *step, size_t n_phases, bool measured,
                        size_t *at) {
    static const char *const PHASES[] = {"forward", "backward", "optimizer"};
    const tide_recording *recording = &run->state.recording;
    const call *first = &watch.calls[*at];
    span spans[3];
    for (size_t p = 0; p < n_phases; p++) {
        char path[SCOPE_PATH];
        (void)snprintf(path, sizeof(path), "%s/%s", step, PHASES[p]);
        spans[p] = span_of(recording, path);
    }
    expect_call(at, 'R', spans[0].begin);
    for (size_t p = 0; p < n_phases; p++) {
        expect_call(at, 'R', spans[p].begin);
        expect_call(at, 'R', spans[p].end);
    }
    /* Outside the step's interval: the releases at its end. */
    int64_t end = spans[n_phases - 1].end;
    expect_call(at, 'R', end);
    if (n_phases > 1) {
        expect_call(at, 'C', end);
    }
    expect_call(at, 'S', end);
    assert_true(span_of(recording, step).end > end);
    size_t n_records = 2 * n_phases + 2;
    for (size_t i = 0; i < n_records; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_ptr_not_equal(first[i].event, first[k].event);
        }
    }
    for (size_t p = 0; measured && p <= n_phases; p++) { /* the step comes last */
        const call *elapsed = &watch.calls[*at];
        expect_call(at, 'E', span_of(recording, step).end);
        size_t begin = p < n_phases ? 1 + 2 * p : 0;
        size_t last = p < n_phases ? 2 + 2 * p : n_records - 1;
        assert_ptr_equal(elapsed->event, first[begin].event);
        assert_ptr_equal(elapsed->end, first[last].event);
    }
}

static void check_mode(tide_mode mode, size_t n_phases, size_t warmup_steps) {
    static const char *const WARMUPS[] = {"warmup 0", "warmup 1"};
    static const char *const STEPS[] = {"step 0", "step 1", "step 2"};
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.mode = mode;
    config.warmup_steps = warmup_steps;
    config.steps = 3;
    recorded_run run;
    run_watched(&run, &config);
    size_t at = 0;
    for (size_t i = 0; i < warmup_steps; i++) {
        expect_step(&run, WARMUPS[i], n_phases, false, &at);
    }
    for (size_t i = 0; i < config.steps; i++) {
        expect_step(&run, STEPS[i], n_phases, true, &at);
    }
    assert_int_equal(at, watch.n_calls);
    assert_int_equal(run.result.n_samples, config.steps);
    recorded_run_end(&run);
}

static void phases_stand_between_their_own_events(void **state) {
    (void)state;
    for (size_t warmup_steps = 0; warmup_steps <= 2; warmup_steps += 2) {
        check_mode(TIDE_FORWARD, 1, warmup_steps);
        check_mode(TIDE_FORWARD_BACKWARD, 2, warmup_steps);
        check_mode(TIDE_TRAIN, 3, warmup_steps);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_stand_between_their_own_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
