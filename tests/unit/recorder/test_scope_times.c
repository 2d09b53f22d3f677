/* test_scope_times.c - device times of scopes. The test's device does its work after the host
 * submits it, and its clock has another origin and speed. The recorded times must be within the
 * stated uncertainty of the true ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "common/clock.h"
#include "device/device_friend.h"
#include "recorder/recorder.h"
#include "recorder/scope_times.h"
#include "support/device_fault.h"
#include "support/hostmem_fault.h"

/* Owned by the test's device. */
struct tide_device_event {
    int64_t host_ns; /* when the device reached it, by the host's clock; the code under test cannot
                        see this */
};

/* A device with one stream, which does its work in order. */
typedef struct late_device {
    tide_device base;
    int64_t busy_until_ns; /* by the host's clock */
    int64_t last_ns;       /* when the latest event was reached */
    int64_t record_ns;     /* time that an event takes on the device */
    double speed;          /* of its clock, relative to the host's */
    size_t n_records;      /* events recorded so far */
} late_device;

enum { LATENCY_NS = 4000 }; /* from a call to its execution on an idle device */

static tide_status late_create(tide_device *device, tide_device_event **ret_event,
                               tide_error *error) {
    (void)error;
    *ret_event = tide_hostmem_zeroed(device->mem, 1, sizeof(**ret_event));
    return *ret_event != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static void late_destroy(tide_device *device, tide_device_event *event) {
    device->mem->release(device->mem->ctx, event);
}

static void submit(late_device *late, int64_t work_ns) {
    if (work_ns > 0) {
        tide_device_count_work(&late->base);
    }
    int64_t start_ns = tide_clock_now_ns() + LATENCY_NS;
    late->busy_until_ns =
        (start_ns > late->busy_until_ns ? start_ns : late->busy_until_ns) + work_ns;
}

static tide_status late_record(tide_device *device, tide_device_event *event, tide_stream stream,
                               tide_error *error) {
    late_device *late = (late_device *)device;
    (void)stream;
    (void)error;
    late->busy_until_ns += late->record_ns;
    submit(late, 0);
    event->host_ns = late->last_ns = late->busy_until_ns;
    late->n_records++;
    return TIDE_OK;
}

/* Milliseconds of the device's clock in single precision, which is what the CUDA runtime returns.
 */
static tide_status late_elapsed(tide_device *device, const tide_device_event *begin,
                                const tide_device_event *end, double *ret_ms, tide_error *error) {
    late_device *late = (late_device *)device;
    (void)error;
    assert_true(tide_clock_now_ns() >= end->host_ns); /* the caller must have waited for it */
    *ret_ms = (double)(float)((double)(end->host_ns - begin->host_ns) * late->speed * 1e-6);
    return TIDE_OK;
}

static tide_status late_synchronize(tide_device *device, tide_error *error) {
    (void)error;
    while (tide_clock_now_ns() < ((late_device *)device)->busy_until_ns) {
    }
    return TIDE_OK;
}

static const tide_device_table LATE_TABLE = {
    .event_create = late_create,
    .event_destroy = late_destroy,
    .event_record = late_record,
    .event_elapsed = late_elapsed,
    .synchronize = late_synchronize,
};

static late_device make_device(double speed) {
    return (late_device){.base = {.table = &LATE_TABLE,
                                  .mem = tide_hostmem_default(),
                                  .info = {.kind = TIDE_DEVICE_CUDA, .spec = "late"}},
                         .speed = speed};
}

/* The host's time at which the recorder's clock was 0. The two readings are at most a few hundred
 * ns apart. */
enum { EPOCH_TOLERANCE_NS = 2000 };

static int64_t epoch_of(const tide_recorder *recorder) {
    int64_t epoch_ns = INT64_MAX;
    for (int i = 0; i < 100; i++) {
        int64_t recorder_ns = tide_recorder_now_ns(recorder);
        int64_t candidate_ns = tide_clock_now_ns() - recorder_ns;
        epoch_ns = candidate_ns < epoch_ns ? candidate_ns : epoch_ns;
    }
    return epoch_ns;
}

static void expect_near(int64_t actual_ns, int64_t expected_ns, int64_t tolerance_ns) {
    if (actual_ns < expected_ns - tolerance_ns || actual_ns > expected_ns + tolerance_ns) {
        fail_msg("%lld ns is %lld ns from %lld, beyond %lld", (long long)actual_ns,
                 (long long)(actual_ns - expected_ns), (long long)expected_ns,
                 (long long)tolerance_ns);
    }
}

/* Events for the anchor, and for measuring the cost of an event. */
enum { N_STEPS = 12, WORK_NS = 3000000, N_RECORDS_BEFORE = 16 + 32 };

/* A scope, and the times at which the device reached its events. */
typedef struct truth {
    tide_scope scope;
    int64_t begin_ns;
    int64_t end_ns;
} truth;

static void recorded_times_are_within_their_uncertainty(void **state) {
    (void)state;
    late_device late =
        make_device(1.02); /* two percent fast: it is off by a millisecond after 50 ms */
    tide_recorder *recorder = NULL;
    tide_scope_times *times = NULL;
    tide_recording recording;
    truth outer[N_STEPS], inner[N_STEPS];
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    tide_scope before = tide_scope_begin(recorder, TIDE_SCOPE_USER, "before", -1);
    int64_t epoch_ns = epoch_of(recorder);
    assert_int_equal(tide_scope_times_create(recorder, &late.base, 0, &times, NULL), TIDE_OK);
    for (int i = 0; i < N_STEPS; i++) {
        outer[i].scope = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", i);
        outer[i].begin_ns = late.last_ns;
        submit(&late, WORK_NS / 3);
        inner[i].scope = tide_scope_begin(recorder, TIDE_SCOPE_OPERATOR, "inner", -1);
        inner[i].begin_ns = late.last_ns;
        submit(&late, WORK_NS);
        /* Ending the outer scope also ends the inner one. */
        if (i % 2 == 0) {
            tide_scope_end(recorder, inner[i].scope);
            inner[i].end_ns = late.last_ns;
        }
        submit(&late, WORK_NS / 3);
        if (i % 3 == 0) {
            assert_int_equal(tide_device_synchronize(&late.base, NULL), TIDE_OK);
            assert_int_equal(tide_scope_times_collect(times, NULL), TIDE_OK);
        }
        tide_scope_end(recorder, outer[i].scope);
        outer[i].end_ns = late.last_ns;
        inner[i].end_ns = i % 2 == 0 ? inner[i].end_ns : late.last_ns;
    }
    /* A step that ends both scopes at the same time takes 2 events, other steps take 3 or 4: scopes
     * that end together share one. */
    assert_int_equal(late.n_records, N_RECORDS_BEFORE + N_STEPS / 2 * 4 + N_STEPS / 2 * 3);
    assert_int_equal(tide_scope_times_finish(times, NULL), TIDE_OK);
    tide_scope_end(recorder, before);
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    int64_t uncertainty_ns = recording.device_uncertainty_ns;
    assert_in_range(uncertainty_ns, TIDE_EVENT_RESOLUTION_NS + LATENCY_NS / 2, 400000);
    int64_t tolerance_ns = uncertainty_ns + EPOCH_TOLERANCE_NS;
    size_t n_short = 0;
    for (int i = 0; i < N_STEPS; i++) {
        const truth *const truths[] = {&outer[i], &inner[i]};
        for (int k = 0; k < 2; k++) {
            const tide_scope_row *row = &recording.scopes[truths[k]->scope];
            expect_near(row->device_begin_ns, truths[k]->begin_ns - epoch_ns, tolerance_ns);
            expect_near(row->device_begin_ns + row->device_duration_ns,
                        truths[k]->end_ns - epoch_ns, tolerance_ns);
        }
        /* The host left the scope long before the device did. */
        const tide_scope_row *row = &recording.scopes[inner[i].scope];
        assert_true(row->device_duration_ns > WORK_NS / 100 * 99);
        n_short += i % 2 == 0 && i % 3 != 0 && row->duration_ns < WORK_NS / 3;
    }
    assert_true(n_short > 0); /* not all: on a busy machine this thread may not run for a while */
    assert_true(recording.scopes[before].device_begin_ns == -1); /* opened before */
    tide_recording_fini(&recording);
    tide_scope_times_destroy(times);
    tide_recorder_destroy(recorder);
}

static void wait_ns(int64_t n_ns) {
    int64_t end_ns = tide_clock_now_ns() + n_ns;
    while (tide_clock_now_ns() < end_ns) {
    }
}

/* An end and a begin without work in between share an event. With work, or after a while, they have
 * two. */
static void neighbours_share_an_event(void **state) {
    (void)state;
    static const struct {
        int64_t work_ns, wait_ns;
        size_t n_records; /* events of all three scopes */
        bool counts;
    } CASES[] = {{0, 0, 3, true}, {50000, 0, 4, true}, {0, 50000, 4, true}, {0, 0, 6, false}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        late_device late = make_device(1);
        tide_recorder *recorder = NULL;
        tide_scope_times *times = NULL;
        tide_recording recording;
        late.base.counts_work = CASES[i].counts;
        assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
        assert_int_equal(tide_scope_times_create(recorder, &late.base, 0, &times, NULL), TIDE_OK);
        size_t n_met = 0;
        for (int try = 0; try < 50;
             try++) { /* on a busy machine this thread may not run for a while */
            size_t n_before = late.n_records;
            tide_scope first = tide_scope_begin(recorder, TIDE_SCOPE_USER, "first", -1);
            submit(&late, 20000);
            wait_ns(CASES[i].wait_ns);
            tide_scope_end(recorder, first);
            submit(&late, CASES[i].work_ns);
            wait_ns(CASES[i].wait_ns);
            tide_scope second = tide_scope_begin(recorder, TIDE_SCOPE_USER, "second", -1);
            tide_scope inner = tide_scope_begin(recorder, TIDE_SCOPE_USER, "inner", -1);
            submit(&late, 20000);
            tide_scope_end(recorder, inner);
            tide_scope_end(recorder, second);
            submit(&late, 1);
            n_met += late.n_records - n_before == CASES[i].n_records;
            assert_int_equal(tide_device_synchronize(&late.base, NULL), TIDE_OK);
            assert_int_equal(tide_scope_times_collect(times, NULL), TIDE_OK);
        }
        assert_true(n_met > 0);
        assert_int_equal(tide_scope_times_finish(times, NULL), TIDE_OK);
        assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
        for (size_t s = 0; s < recording.n_scopes; s++) {
            assert_true(recording.scopes[s].device_duration_ns >= 20000 - 1000);
        }
        tide_recording_fini(&recording);
        tide_scope_times_destroy(times);
        tide_recorder_destroy(recorder);
    }
}

/* Runs a step of 2 phases of 3 layers of 2 operators, with work in each. Returns its first scope.
 */
static tide_scope run_tree(tide_recorder *recorder, late_device *late) {
    tide_scope step = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", -1);
    for (int p = 0; p < 2; p++) {
        tide_scope phase = tide_scope_begin(recorder, TIDE_SCOPE_PHASE, "phase", -1);
        for (int l = 0; l < 3; l++) {
            tide_scope layer = tide_scope_begin(recorder, TIDE_SCOPE_LAYER, "layer", l);
            for (int o = 0; o < 2; o++) {
                tide_scope operator= tide_scope_begin(
                    recorder, o == 0 ? TIDE_SCOPE_OPERATOR : TIDE_SCOPE_USER, "operator", -1);
                submit(late, 1000);
                tide_scope_end(recorder, operator);
            }
            tide_scope_end(recorder, layer);
        }
        tide_scope_end(recorder, phase);
    }
    tide_scope_end(recorder, step);
    return step;
}

/* Scopes that are deeper than the share allows are not timed, and stay untimed. */
static void scopes_that_cost_too_much_are_left_out(void **state) {
    (void)state;
    enum { RECORD_NS = 100000, N_SCOPES = 1 + 2 + 6 + 12 };
    static const struct {
        int64_t events;          /* how many the share of the span allows */
        tide_scope_kind deepest; /* kind of scope that is timed then */
    } CASES[] = {{1000, TIDE_SCOPE_USER},
                 {10, TIDE_SCOPE_LAYER},
                 {3, TIDE_SCOPE_PHASE},
                 {0, TIDE_SCOPE_PHASE},
                 {1000, TIDE_SCOPE_PHASE}};
    late_device late = make_device(1);
    tide_recorder *recorder = NULL;
    tide_scope_times *times = NULL;
    tide_recording recording;
    tide_scope steps[sizeof(CASES) / sizeof(CASES[0])];
    late.record_ns = RECORD_NS;
    late.base.counts_work = true;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    assert_int_equal(tide_scope_times_create(recorder, &late.base, 0, &times, NULL), TIDE_OK);
    (void)run_tree(recorder, &late);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_device_synchronize(&late.base, NULL), TIDE_OK);
        assert_int_equal(tide_scope_times_collect(times, NULL), TIDE_OK);
        tide_scope_times_limit(times, CASES[i].events * RECORD_NS * 100, 0.01);
        steps[i] = run_tree(recorder, &late);
    }
    assert_int_equal(tide_device_synchronize(&late.base, NULL), TIDE_OK);
    assert_int_equal(tide_scope_times_finish(times, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        for (size_t s = steps[i]; s < steps[i] + N_SCOPES; s++) {
            const tide_scope_row *row = &recording.scopes[s];
            const bool is_timed = row->kind <= CASES[i].deepest;
            assert_int_equal(row->device_begin_ns >= 0, is_timed);
            assert_int_equal(row->device_duration_ns >= 0, is_timed);
        }
    }
    tide_recording_fini(&recording);
    tide_scope_times_destroy(times);
    tide_recorder_destroy(recorder);
}

static void *open_elsewhere(void *recorder) {
    tide_scope scope = tide_scope_begin(recorder, TIDE_SCOPE_USER, "elsewhere", -1);
    tide_scope_end(recorder, scope);
    return NULL;
}

static void only_scopes_of_the_owner_are_timed(void **state) {
    (void)state;
    late_device late = make_device(1);
    tide_recorder *recorder = NULL;
    tide_scope_times *times = NULL;
    tide_scope_times *second = NULL;
    tide_recording recording;
    tide_error error = {""};
    pthread_t thread;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    assert_int_equal(tide_scope_times_create(recorder, &late.base, 0, &times, NULL), TIDE_OK);
    assert_int_equal(tide_scope_times_create(recorder, &late.base, 0, &second, &error),
                     TIDE_INVALID);
    assert_non_null(strstr(error.message, "timed already"));
    tide_scope open = tide_scope_begin(recorder, TIDE_SCOPE_USER, "open", -1);
    assert_int_equal(pthread_create(&thread, NULL, open_elsewhere, recorder), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    tide_scope closed = tide_scope_begin(recorder, TIDE_SCOPE_USER, "closed", -1);
    tide_scope_end(recorder, closed);
    assert_int_equal(tide_scope_times_finish(times, NULL), TIDE_OK);
    tide_scope_times_destroy(times);
    tide_scope_end(recorder, open);
    tide_scope after = tide_scope_begin(recorder, TIDE_SCOPE_USER, "after", -1);
    tide_scope_end(recorder, after);
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    assert_true(recording.scopes[open].device_duration_ns == -1); /* still open at the end */
    assert_true(recording.scopes[1].device_begin_ns == -1);       /* another thread's */
    assert_true(recording.scopes[closed].device_begin_ns >= 0);
    assert_true(recording.scopes[after].device_begin_ns == -1);
    tide_recording_fini(&recording);
    /* After it was detached, another object can be attached. */
    assert_int_equal(tide_scope_times_create(recorder, &late.base, 0, &second, NULL), TIDE_OK);
    tide_scope_times_destroy(second);
    tide_recorder_destroy(recorder);
}

/* Times a few scopes and returns the first failure. */
static tide_status use(tide_recorder *recorder, tide_device *device) {
    tide_scope_times *times = NULL;
    TIDE_TRY(tide_scope_times_create(recorder, device, 0, &times, NULL));
    tide_status status = TIDE_OK;
    for (int i = 0; i < 3 && status == TIDE_OK; i++) {
        tide_scope outer = tide_scope_begin(recorder, TIDE_SCOPE_USER, "outer", i);
        tide_scope inner = tide_scope_begin(recorder, TIDE_SCOPE_USER, "inner", i);
        tide_scope_end(recorder, inner);
        tide_scope_end(recorder, outer);
        status = tide_device_synchronize(device, NULL);
        if (status == TIDE_OK) {
            status = tide_scope_times_collect(times, NULL);
        }
    }
    tide_status finished = tide_scope_times_finish(times, NULL);
    tide_scope_times_destroy(times);
    return status == TIDE_OK ? finished : status;
}

static void every_failing_call_is_reported(void **state) {
    (void)state;
    late_device late = make_device(1);
    size_t n_failures = 0;
    for (size_t n = 1;; n++) {
        tide_recorder *recorder = NULL;
        tide_device_fault fault;
        tide_device_fault_init(&fault, &late.base);
        fault.fail_call = n;
        fault.fail_status = TIDE_DEVICE_FAILED;
        assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
        tide_status status = use(recorder, &fault.base);
        assert_int_equal(fault.n_events, 0);
        tide_recorder_destroy(recorder);
        if (fault.n_calls < n) {
            assert_int_equal(status, TIDE_OK);
            break;
        }
        assert_int_equal(status, TIDE_DEVICE_FAILED);
        n_failures++;
    }
    assert_true(n_failures > 60);
}

static void host_memory_may_run_out_anywhere(void **state) {
    (void)state;
    late_device late = make_device(1);
    for (size_t n = 1;; n++) {
        tide_hostmem_fault fault;
        tide_recorder *recorder = NULL;
        tide_recorder_config config;
        tide_hostmem_fault_init(&fault, 0);
        tide_recorder_config_init(&config);
        config.mem = &fault.mem;
        config.capture_stacks = false;
        assert_int_equal(tide_recorder_create(&config, &recorder, NULL), TIDE_OK);
        fault.fail_call = fault.n_calls + n;
        tide_status status = use(recorder, &late.base);
        bool failed = fault.n_calls >= fault.fail_call;
        tide_recorder_destroy(recorder);
        assert_int_equal(fault.n_live, 0);
        if (!failed) {
            assert_int_equal(status, TIDE_OK);
            assert_true(n > 4);
            break;
        }
        /* Without memory for a string, a row or a thread's state, the scope counts as dropped. */
        assert_true(status == TIDE_NO_MEMORY || status == TIDE_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_times_are_within_their_uncertainty),
        cmocka_unit_test(neighbours_share_an_event),
        cmocka_unit_test(scopes_that_cost_too_much_are_left_out),
        cmocka_unit_test(only_scopes_of_the_owner_are_timed),
        cmocka_unit_test(every_failing_call_is_reported),
        cmocka_unit_test(host_memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
