/* test_timing_core.c - the arithmetic of the timing core, on a simulated device and clock whose
 * times are exact, and the buffer that empties the caches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/statistics.h"
#include "device/device_friend.h"
#include "model/workload/timing.h"

/* A host that submits work to a device, in ns. */
typedef struct machine {
    tide_device device; /* first member */
    int64_t host_ns;    /* the host's clock */
    int64_t busy_until; /* when the device has finished what was submitted */
    char order[256];    /* what happened, a letter each */
    size_t n_order;
    size_t n_events;     /* that are alive */
    size_t fail_at;      /* the letter, counted from 1, at which a call fails; 0: none */
    const int64_t *work; /* ns on the device of the n-th call */
    size_t n_calls;      /* so far */
    int64_t prepare_ns;  /* of work that `prepare` submits */
    int64_t flush_ns;    /* the same of `flush` */

} machine;

struct tide_device_event {
    int64_t time_ns; /* when the device reaches it */
};

enum { SUBMIT_NS = 1000 }; /* time that the host takes to submit anything */

static tide_status note(machine *m, char letter, tide_error *error) {
    assert_true(m->n_order + 1 < sizeof(m->order));
    m->order[m->n_order++] = letter;
    return m->n_order == m->fail_at ? tide_fail(error, TIDE_DEVICE_FAILED, "at %c", letter)
                                    : TIDE_OK;
}

/* Submits work of n_ns nanoseconds. A cpu does it immediately. */
static void submit(machine *m, int64_t work_ns) {
    m->host_ns += SUBMIT_NS;
    m->busy_until = (m->busy_until > m->host_ns ? m->busy_until : m->host_ns) + work_ns;
    if (m->device.info.kind == TIDE_DEVICE_CPU) {
        m->host_ns = m->busy_until;
    }
}

static tide_status event_create(tide_device *device, tide_device_event **ret_event,
                                tide_error *error) {
    (void)error;
    machine *m = (machine *)device;
    *ret_event = device->mem->alloc(device->mem->ctx, sizeof(**ret_event));
    m->n_events++;
    return TIDE_OK;
}

static void event_destroy(tide_device *device, tide_device_event *event) {
    ((machine *)device)->n_events--;
    device->mem->release(device->mem->ctx, event);
}

static tide_status event_record(tide_device *device, tide_device_event *event, tide_stream stream,
                                tide_error *error) {
    machine *m = (machine *)device;
    assert_int_equal(stream, 7);
    TIDE_TRY(note(m, 'R', error));
    submit(m, 0);
    event->time_ns = m->busy_until;
    return TIDE_OK;
}

static tide_status event_elapsed(tide_device *device, const tide_device_event *begin,
                                 const tide_device_event *end, double *ret_ms, tide_error *error) {
    (void)error;
    machine *m = (machine *)device;
    assert_true(end->time_ns <= m->host_ns); /* reached */
    *ret_ms = (double)(end->time_ns - begin->time_ns) * 1e-6;
    return TIDE_OK;
}

static tide_status synchronize(tide_device *device, tide_error *error) {
    machine *m = (machine *)device;
    TIDE_TRY(note(m, 'S', error));
    m->host_ns = m->busy_until > m->host_ns ? m->busy_until : m->host_ns;
    return TIDE_OK;
}

static const tide_device_table TABLE = {.event_create = event_create,
                                        .event_destroy = event_destroy,
                                        .event_record = event_record,
                                        .event_elapsed = event_elapsed,
                                        .synchronize = synchronize};

static int64_t clock_of(void *ctx) {
    return ((machine *)ctx)->host_ns;
}

static tide_status prepare(void *ctx, tide_error *error) {
    machine *m = ctx;
    submit(m, m->prepare_ns);
    return note(m, 'p', error);
}

static tide_status call(void *ctx, tide_error *error) {
    machine *m = ctx;
    submit(m, m->work[m->n_calls++]);
    return note(m, 'c', error);
}

static tide_status flush(void *ctx, tide_error *error) {
    machine *m = ctx;
    submit(m, m->flush_ns);
    return note(m, 'f', error);
}

static machine machine_of(tide_device_kind kind, const int64_t *work) {
    return (machine){.device = {.table = &TABLE,
                                .mem = tide_hostmem_default(),
                                .info = {.kind = kind, .spec = "a device", .computes = true}},
                     .host_ns = 5000000000,
                     .work = work};
}

static tide_timing_config config_of(machine *m, size_t n_warmup, size_t n_samples, size_t n_calls) {
    return (tide_timing_config){.device = &m->device,
                                .stream = 7,
                                .n_warmup = n_warmup,
                                .n_samples = n_samples,
                                .n_calls = n_calls,
                                .now_ns = clock_of,
                                .now_ctx = m};
}

static void assert_ns(double ms, double ns) {
    assert_true(fabs(ms * 1e6 - ns) <= 1e-3);
}

static const int64_t WORK[] = {90000000, 80000000, 2000000, 4000000, 3000000, 7000000};

/* A launch on an idle device includes the launch latency. */
static void samples_come_after_the_warm_up(void **state) {
    (void)state;
    machine m = machine_of(TIDE_DEVICE_CUDA, WORK);
    tide_timing_config config = config_of(&m, 2, 4, 1);
    const tide_timing_subject subject = {.call = call, .ctx = &m};
    tide_timing timing;
    assert_int_equal(tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, NULL),
                     TIDE_OK);
    assert_string_equal(m.order, "ccS" /* and four times: */ "SRcRS"
                                 "SRcRS"
                                 "SRcRS"
                                 "SRcRS");
    assert_int_equal(timing.n_samples, 4);
    for (size_t i = 0; i < 4; i++) {
        double work_ns = (double)WORK[2 + i];
        assert_ns(timing.device_ms[i], SUBMIT_NS + work_ns);
        assert_ns(timing.host_ms[i], 2 * SUBMIT_NS + work_ns);
    }
    tide_statistics ms = tide_statistics_of(timing.device_ms, timing.n_samples);
    assert_ns(ms.min, 2001000);
    assert_ns(ms.max, 7001000);
    assert_ns(ms.mean, 4001000);
    assert_ns(ms.median, 3501000);
    assert_ns(ms.std, 2160246.899469287); /* sqrt(14 / 3) ms */
    assert_ns(tide_statistics_population_std(timing.device_ms, 4), 1870828.693386971); /* 14 / 4 */
    tide_timing_fini(&timing);
    tide_timing_fini(&timing); /* allowed */
    assert_int_equal(m.n_events, 0);
}

static void no_warm_up_shows_the_first_call(void **state) {
    (void)state;
    machine m = machine_of(TIDE_DEVICE_CPU, WORK);
    tide_timing_config config = config_of(&m, 0, 6, 1);
    const tide_timing_subject subject = {.call = call, .ctx = &m};
    tide_timing timing;
    assert_int_equal(tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, NULL),
                     TIDE_OK);
    assert_true(timing.device_ms[0] > 90.0);
    assert_int_equal(m.n_calls, 6);
    tide_timing_fini(&timing);
}

/* Best of 2 repeats of 3 runs, divided by 3. */
static void a_sample_is_divided_by_its_calls(void **state) {
    (void)state;
    machine m = machine_of(TIDE_DEVICE_CUDA, WORK);
    tide_timing_config config = config_of(&m, 0, 2, 3);
    const tide_timing_subject subject = {.prepare = prepare, .call = call, .ctx = &m};
    tide_timing timing;
    assert_int_equal(tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, NULL),
                     TIDE_OK);
    assert_string_equal(m.order, "SpSRcccRSpSRcccRS");
    /* The first of three calls waits for its submission; the device has received the others by
     * then. */
    assert_ns(timing.device_ms[0], (90000000.0 + 80000000.0 + 2000000.0 + SUBMIT_NS) / 3);
    assert_ns(timing.device_ms[1], (4000000.0 + 3000000.0 + 7000000.0 + SUBMIT_NS) / 3);
    assert_ns(tide_statistics_of(timing.device_ms, 2).min, (14000000.0 + SUBMIT_NS) / 3);
    tide_timing_fini(&timing);
}

/* The device is busy with the flush while the sample is submitted, so the sample does not include
 * the submission. The host's clock, which cannot separate the flush from the call, gives no sample.
 */
static void a_flush_hides_the_submission(void **state) {
    (void)state;
    machine m = machine_of(TIDE_DEVICE_CUDA, WORK);
    m.flush_ns = 50000;
    m.prepare_ns = 333000;
    tide_timing_config config = config_of(&m, 1, 2, 1);
    config.flush = flush;
    config.flush_ctx = &m;
    const tide_timing_subject subject = {.prepare = prepare, .call = call, .ctx = &m};
    tide_timing timing;
    assert_int_equal(tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, NULL),
                     TIDE_OK);
    assert_string_equal(m.order, "pcSpSfRcRSpSfRcRS");
    assert_ns(timing.device_ms[0], 80000000);
    assert_ns(timing.device_ms[1], 2000000);
    assert_true(timing.host_ms[0] < 0.0 && timing.host_ms[1] < 0.0);
    assert_ns(tide_statistics_of(timing.host_ms, 2).mean * 1e-6, -1);
    tide_timing_fini(&timing);
}

static void a_cpu_flushes_before_the_sample(void **state) {
    (void)state;
    machine m = machine_of(TIDE_DEVICE_CPU, WORK);
    m.flush_ns = 50000;
    tide_timing_config config = config_of(&m, 0, 2, 1);
    config.flush = flush;
    config.flush_ctx = &m;
    const tide_timing_subject subject = {.call = call, .ctx = &m};
    tide_timing timing;
    assert_int_equal(tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, NULL),
                     TIDE_OK);
    assert_string_equal(m.order, "SfSRcRSfSRcRS");
    assert_ns(timing.host_ms[1], 80000000 + 3 * SUBMIT_NS);
    assert_ns(timing.device_ms[1], 80000000 + 2 * SUBMIT_NS);
    tide_timing_fini(&timing);
}

/* Any failing call ends the measurement, and nothing leaks. */
static void a_failure_ends_it(void **state) {
    (void)state;
    for (size_t fail_at = 1; fail_at <= 17; fail_at++) {
        machine m = machine_of(TIDE_DEVICE_CUDA, WORK);
        m.fail_at = fail_at;
        tide_timing_config config = config_of(&m, 1, 2, 1);
        config.flush = flush;
        config.flush_ctx = &m;
        const tide_timing_subject subject = {.prepare = prepare, .call = call, .ctx = &m};
        tide_timing timing;
        tide_error error = {""};
        assert_int_equal(
            tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, &error),
            TIDE_DEVICE_FAILED);
        assert_int_equal(m.n_order, fail_at);
        assert_int_equal(m.n_events, 0);
    }
}

static void what_cannot_be_measured_is_refused(void **state) {
    (void)state;
    machine m = machine_of(TIDE_DEVICE_VIRTUAL, WORK);
    m.device.info.computes = false;
    const tide_timing_subject subject = {.call = call, .ctx = &m};
    tide_timing timing;
    tide_error error = {""};
    tide_timing_config config = config_of(&m, 0, 1, 1);
    assert_int_equal(
        tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, &error),
        TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "a device"));
    config = config_of(&m, 0, 0, 1);
    assert_int_equal(
        tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, &error),
        TIDE_INVALID);
    config = config_of(&m, 0, 1, 0);
    assert_int_equal(
        tide_timing_measure(tide_hostmem_default(), &config, &subject, &timing, &error),
        TIDE_INVALID);
    assert_int_equal(m.n_order, 0);
}

static void quantiles(void **state) {
    (void)state;
    static const double SAMPLES[] = {40, -1, 10, 20, 30, 50};
    assert_true(tide_statistics_quantile(SAMPLES, 6, 0.0) == 10.0);
    assert_true(tide_statistics_quantile(SAMPLES, 6, 0.25) == 20.0);
    assert_true(tide_statistics_quantile(SAMPLES, 6, 0.5) == 30.0);
    assert_true(tide_statistics_quantile(SAMPLES, 6, 0.625) == 35.0);
    assert_true(tide_statistics_quantile(SAMPLES, 6, 1.0) == 50.0);
    assert_true(tide_statistics_quantile(SAMPLES + 1, 1, 0.5) == -1.0);
    assert_true(tide_statistics_of(SAMPLES, 2).std == -1.0); /* one that was measured */
    assert_true(tide_statistics_population_std(SAMPLES, 2) == 0.0);
    assert_true(fabs(tide_statistics_of(SAMPLES, 6).std - 15.811388300841896) <= 1e-12);
}

static void exponents(void **state) {
    (void)state;
    static const double FACTORS[] = {1, 2, 3, 4, 5};
    static const double SQUARES[] = {3, 12, 27, 48, 75};
    static const double FLAT[] = {7, 7, 7, 7, 7};
    static const double NOISY[] = {1, 2.2, 2.9, 4.1, 4.8};
    assert_true(fabs(tide_statistics_exponent(FACTORS, SQUARES, 5) - 2) < 1e-12);
    assert_true(fabs(tide_statistics_exponent(FACTORS, FLAT, 5)) < 1e-12);
    assert_true(fabs(tide_statistics_exponent(FACTORS, NOISY, 5) - 0.97152) < 1e-5);
    assert_true(isnan(tide_statistics_exponent(FACTORS, SQUARES, 1)));
    assert_true(isnan(tide_statistics_exponent(FLAT, SQUARES, 5)));
    assert_true(isnan(tide_statistics_exponent(FACTORS, (const double[]){1, 0}, 2)));
}

/* The whole buffer, which is larger than the cache, is written with a new number each time. */
static void the_flush_writes_more_than_the_cache(void **state) {
    (void)state;
    assert_int_equal(tide_timing_flush_bytes(-1), 2 * (size_t)TIDE_TIMING_CACHE_BYTES);
    assert_int_equal(tide_timing_flush_bytes(32 << 20), 64 << 20);
    assert_int_equal(tide_timing_flush_bytes(INT64_MAX), 1 << 30);
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_ops *ops = NULL;
    tide_timing_flush flush_of = {.cache = NULL};
    tide_timing_flush_fini(&flush_of); /* allowed */
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    device->info.cache_bytes = 1 << 20; /* a small one, for the test's sake */
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
    assert_int_equal(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, NULL),
                     TIDE_OK);
    assert_int_equal(tide_timing_flush_init(&flush_of, cache, ops, NULL), TIDE_OK);
    assert_int_equal(flush_of.buffer.n_elements * sizeof(float), 2 << 20);
    const float *numbers = flush_of.buffer.array.data;
    for (int turn = 1; turn <= 2; turn++) {
        assert_int_equal(tide_timing_flush_call(&flush_of, NULL), TIDE_OK);
        for (size_t i = 0; i < flush_of.buffer.n_elements; i++) {
            assert_true(numbers[i] == (float)turn);
        }
    }
    tide_timing_flush_fini(&flush_of);
    tide_ops_close(ops);
    tide_cache_destroy(cache);
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_after_the_warm_up),
        cmocka_unit_test(no_warm_up_shows_the_first_call),
        cmocka_unit_test(a_sample_is_divided_by_its_calls),
        cmocka_unit_test(a_flush_hides_the_submission),
        cmocka_unit_test(a_cpu_flushes_before_the_sample),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(exponents),
        cmocka_unit_test(the_flush_writes_more_than_the_cache),
    };
    return cmocka_run_group_tests_name("model.timing_core", tests, NULL, NULL);
}
