/* test_device_clock.c - device times of a run's scopes, the profiler's range and traced kernels: on
 * a device with its own clock every scope has times within those of its parent; on other devices no
 * scope has them. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "common/clock.h"
#include "device/host_internal.h"
#include "fake_cupti/fake_cupti.h"
#include "recorded_run.h"

/* The calls to the profiler, 'B' and 'E', with a digit for the number of measured steps done by
 * then. */
static char profiled[16];
static size_t n_steps_done;

static tide_status watched_range(tide_device *device, bool begins, tide_error *error) {
    (void)device;
    (void)error;
    size_t n = strlen(profiled);
    (void)snprintf(profiled + n, sizeof(profiled) - n, "%c%zu", begins ? 'B' : 'E', n_steps_done);
    return TIDE_OK;
}

/* Replaces the device's own function; NULL: keep it. */
static tide_status (*record_event)(tide_device *device, tide_device_event *event,
                                   tide_stream stream, tide_error *error);

static bool count_steps(void *ctx, size_t n_done, size_t n_total) {
    const size_t *stop_after = ctx;
    (void)n_total;
    n_steps_done = n_done;
    return n_done < *stop_after;
}

static const tide_fake_cupti *cupti;

/* A kernel is launched between the steps and belongs to none of them. */
static bool launch_kernel(void *ctx, size_t n_done, size_t n_total) {
    (void)ctx;
    (void)n_total;
    cupti->launch("between", n_done);
    return true;
}

static tide_workload_config make_config(size_t *stop_after) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.warmup_steps = 1;
    config.steps = 3;
    config.progress = count_steps;
    config.progress_ctx = stop_after;
    profiled[0] = '\0';
    n_steps_done = 0;
    return config;
}

static tide_status (*synchronize)(tide_device *device, tide_error *error); /* the same */

/* A run on the cpu, whose device claims to be another kind once the operators are open. */
static void run_as(recorded_run *run, tide_device_kind kind, const tide_workload_config *config,
                   size_t limit_bytes, tide_status expected) {
    tide_workload *workload = NULL;
    tide_cache_config cache_config;
    tide_error error = {""};
    tide_cache_config_init(&cache_config);
    cache_config.memory_limit_bytes = limit_bytes;
    assert_int_equal(tide_device_open("cpu", NULL, &run->device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(NULL, &run->recorder, NULL), TIDE_OK);
    assert_int_equal(
        tide_cache_create(run->device, run->recorder, &cache_config, &run->cache, NULL), TIDE_OK);
    const tide_device_table *right = run->device->table;
    tide_device_table table = *right;
    table.profiler_range = watched_range;
    table.event_record = record_event != NULL ? record_event : table.event_record;
    table.synchronize = synchronize != NULL ? synchronize : table.synchronize;
    assert_int_equal(tide_workload_create(config, run->cache, run->recorder, &workload, NULL),
                     TIDE_OK);
    run->device->table = &table;
    run->device->info.kind = kind;
    assert_int_equal(tide_workload_run(workload, &run->result, &error), expected);
    run->device->info.kind = TIDE_DEVICE_CPU;
    run->device->table = right;
    assert_int_equal(tide_cache_copy_state(run->cache, tide_hostmem_default(), &run->state, NULL),
                     TIDE_OK);
    tide_workload_destroy(workload);
}

static void every_scope_has_device_times(void **state) {
    (void)state;
    recorded_run run;
    size_t stop_after = SIZE_MAX;
    tide_workload_config config = make_config(&stop_after);
    config.times_all_scopes = true;
    run_as(&run, TIDE_DEVICE_CUDA, &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *recording = &run.state.recording;
    int64_t slack_ns = recording->device_uncertainty_ns;
    assert_true(recording->n_scopes > 100);
    assert_in_range(slack_ns, 1, 1000000);
    for (size_t i = 0; i < recording->n_scopes; i++) {
        const tide_scope_row *row = &recording->scopes[i];
        /* This device executes work immediately, so its times equal the host's up to the cost of
         * reading the clock. */
        assert_true(row->device_begin_ns >= row->begin_ns - slack_ns);
        assert_true(row->device_duration_ns >= 0);
        if (row->parent != TIDE_NONE) {
            const tide_scope_row *parent = &recording->scopes[row->parent];
            assert_true(row->device_begin_ns >= parent->device_begin_ns);
            /* The runtime returns times in single precision. */
            assert_true(row->device_begin_ns + row->device_duration_ns <=
                        parent->device_begin_ns + parent->device_duration_ns + 1000);
        }
    }
    assert_string_equal(profiled, ""); /* no recording was asked for */
    recorded_run_end(&run);
}

/* The clock of a device on which an event takes 20 us and all else nothing: the time of a step does
 * not depend on the load of the machine. */
static int64_t made_ns;

struct tide_device_event { /* as in device/host.c */
    int64_t time_ns;
};

static tide_status slow_record(tide_device *device, tide_device_event *event, tide_stream stream,
                               tide_error *error) {
    tide_status status = tide_device_host_event_record(device, event, stream, error);
    made_ns += 20000;
    event->time_ns = made_ns;
    return status;
}

/* In a step this short even a few events would take too large a share: warm-up steps have times for
 * all scopes, measured steps only those of their phases. */
static void what_measured_steps_cannot_bear_is_timed_in_warmup(void **state) {
    (void)state;
    for (size_t n_warmup = 0; n_warmup < 3; n_warmup++) {
        recorded_run run;
        size_t stop_after = SIZE_MAX;
        tide_workload_config config = make_config(&stop_after);
        config.warmup_steps = n_warmup;
        record_event = slow_record;
        run_as(&run, TIDE_DEVICE_CUDA, &config, TIDE_UNLIMITED, TIDE_OK);
        record_event = NULL;
        const tide_recording *recording = &run.state.recording;
        size_t n_steps = 0;
        size_t n_left_out = 0;
        for (size_t i = 0; i < recording->n_scopes; i++) {
            const tide_scope_row *row = &recording->scopes[i];
            n_steps += row->kind == TIDE_SCOPE_STEP;
            const size_t n_full = n_warmup > 0 ? n_warmup : 1;
            /* The first step may be slow, so that the next one may still time its layers. */
            if (n_steps == n_full + 1 && row->kind == TIDE_SCOPE_LAYER) {
                continue;
            }
            const bool is_timed = n_steps <= n_full || row->kind <= TIDE_SCOPE_PHASE;
            assert_int_equal(row->device_begin_ns >= 0, is_timed);
            assert_int_equal(row->device_duration_ns >= 0, is_timed);
            n_left_out += !is_timed;
        }
        assert_int_equal(n_steps, n_warmup + 3);
        assert_true(n_left_out > 30);
        recorded_run_end(&run);
    }
}

static void the_hosts_clock_is_the_only_one_elsewhere(void **state) {
    (void)state;
    static const char *const DEVICES[] = {"cpu", "virtual"};
    for (size_t d = 0; d < 2; d++) {
        recorded_run run;
        size_t stop_after = SIZE_MAX;
        tide_workload_config config = make_config(&stop_after);
        recorded_run_start(&run, DEVICES[d], &config, TIDE_UNLIMITED, TIDE_OK);
        const tide_recording *recording = &run.state.recording;
        assert_true(recording->device_uncertainty_ns == -1);
        for (size_t i = 0; i < recording->n_scopes; i++) {
            assert_true(recording->scopes[i].device_begin_ns == -1);
            assert_true(recording->scopes[i].device_duration_ns == -1);
        }
        recorded_run_end(&run);
    }
}

/* Scopes that ended before memory ran out have their times; those still open have none. */
static void a_run_out_of_memory_keeps_its_times(void **state) {
    (void)state;
    recorded_run run;
    size_t stop_after = SIZE_MAX;
    tide_workload_config config = make_config(&stop_after);
    config.model.d_model = 240;
    config.model.d_ff = 2000;
    config.model.n_layers = 6;
    run_as(&run, TIDE_DEVICE_CUDA, &config, (size_t)64 << 20, TIDE_DEVICE_OOM);
    const tide_recording *recording = &run.state.recording;
    size_t n_timed = 0;
    for (size_t i = 0; i < recording->n_scopes; i++) {
        const tide_scope_row *row = &recording->scopes[i];
        assert_int_equal(row->device_duration_ns >= 0, row->duration_ns >= 0);
        n_timed += row->device_duration_ns >= 0;
    }
    assert_true(n_timed > 30);
    assert_true(recording->device_uncertainty_ns > 0);
    recorded_run_end(&run);
}

static void the_profiler_sees_the_measured_steps(void **state) {
    (void)state;
    static const struct {
        size_t stop_after;
        const char *expected;
    } CASES[] = {{SIZE_MAX, "B1E4"}, {2, "B1E2"}, {1, ""}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        recorded_run run;
        size_t stop_after = CASES[i].stop_after;
        tide_workload_config config = make_config(&stop_after);
        config.profiler_range = true;
        run_as(&run, TIDE_DEVICE_CUDA, &config, TIDE_UNLIMITED, TIDE_OK);
        assert_string_equal(profiled, CASES[i].expected);
        recorded_run_end(&run);
    }
}

/* How often the host waited for the device, and the duration of each wait. */
static size_t n_waits;
static const int64_t WAIT_NS = 3000000;

static tide_status slow_wait(tide_device *device, tide_error *error) {
    (void)device;
    (void)error;
    int64_t end_ns = tide_clock_now_ns() + WAIT_NS;
    while (tide_clock_now_ns() < end_ns) {
    }
    n_waits++;
    return TIDE_OK;
}

/* Kernels continue after the events of their phase, until the wait for the device: with sync_phases
 * the host's time of a phase contains that wait, and the device's does not. */
static void a_phase_ends_when_the_device_is_done(void **state) {
    (void)state;
    size_t n_waits_of[2];
    for (size_t is_synced = 0; is_synced < 2; is_synced++) {
        recorded_run run;
        size_t stop_after = SIZE_MAX;
        tide_workload_config config = make_config(&stop_after);
        config.sync_phases = is_synced == 1;
        n_waits = 0;
        synchronize = slow_wait;
        run_as(&run, TIDE_DEVICE_CUDA, &config, TIDE_UNLIMITED, TIDE_OK);
        synchronize = NULL;
        n_waits_of[is_synced] = n_waits;
        for (size_t i = 0; i < run.result.n_samples && is_synced == 1; i++) {
            const tide_workload_result *result = &run.result;
            for (size_t phase = 0; phase < TIDE_N_TIMED; phase++) {
                assert_true(result->host_ms[phase][i] >= (double)WAIT_NS * 1e-6);
                assert_true(phase == TIDE_TIMED_STEP ||
                            result->device_ms[phase][i] <
                                result->host_ms[phase][i] - 0.9e-6 * (double)WAIT_NS);
            }
            assert_true(result->host_ms[TIDE_TIMED_STEP][i] >= 4e-6 * (double)WAIT_NS);
        }
        recorded_run_end(&run);
    }
    assert_int_equal(n_waits_of[1] - n_waits_of[0], 3 * 4); /* phases of four steps */
}

static void kernels_of_the_measured_steps_are_traced(void **state) {
    (void)state;
    recorded_run run;
    size_t stop_after = SIZE_MAX;
    tide_workload_config config = make_config(&stop_after);
    config.progress = launch_kernel;
    config.trace_kernels = true;
    run_as(&run, TIDE_DEVICE_CUDA, &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *recording = &run.state.recording;
    assert_int_equal(recording->n_kernels, 1);
    const tide_kernel_row *row = &recording->kernels[0];
    assert_string_equal(recording->strings[row->name], "between");
    assert_true(row->n_launches == 3 && row->min_ns == 2 && row->max_ns == 4); /* not the warm-up */
    assert_true(cupti->n_enabled == 0 && cupti->n_pushed == 0);
    recorded_run_end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scope_has_device_times),
        cmocka_unit_test(what_measured_steps_cannot_bear_is_timed_in_warmup),
        cmocka_unit_test(the_hosts_clock_is_the_only_one_elsewhere),
        cmocka_unit_test(a_run_out_of_memory_keeps_its_times),
        cmocka_unit_test(the_profiler_sees_the_measured_steps),
        cmocka_unit_test(a_phase_ends_when_the_device_is_done),
        cmocka_unit_test(kernels_of_the_measured_steps_are_traced),
    };
    tide_fake_cupti_getter getter = NULL;
    void *library = dlopen(TIDE_FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "tide_fake_cupti_state") : NULL;
    if (symbol == NULL || setenv("TIDEMARK_CUPTI", TIDE_FAKE_CUPTI, 1) != 0) {
        return 1;
    }
    memcpy(&getter, &symbol, sizeof(symbol));
    cupti = getter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
