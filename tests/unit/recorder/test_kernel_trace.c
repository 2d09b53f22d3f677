/* test_kernel_trace.c - kernels count for the scope in which they were launched, and failures are
 * reported. Our own library replaces CUPTI and delivers made-up records.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "fake_cupti/fake_cupti.h"
#include "recorder/cupti_internal.h"
#include "recorder/kernel_trace.h"
#include "recorder/recorder.h"
#include "support/hostmem_fault.h"

#ifndef TIDEMARK_HAVE_CUPTI_HEADER
#define TIDEMARK_HAVE_CUPTI_HEADER 0
#endif

#if TIDEMARK_HAVE_CUPTI_HEADER
#include <cupti.h>

/* Our declarations agree with the toolkit's. */
_Static_assert((int)TIDE_CUPTI_ACTIVITY_KIND_DRIVER == (int)CUPTI_ACTIVITY_KIND_DRIVER, "");
_Static_assert((int)TIDE_CUPTI_ACTIVITY_KIND_RUNTIME == (int)CUPTI_ACTIVITY_KIND_RUNTIME, "");
_Static_assert((int)TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ==
                   (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
               "");
_Static_assert((int)TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION ==
                   (int)CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
               "");
_Static_assert((int)TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 ==
                   (int)CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
               "");
_Static_assert((int)TIDE_CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == (int)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED,
               "");
_Static_assert((int)TIDE_CUPTI_ERROR_MAX_LIMIT_REACHED == (int)CUPTI_ERROR_MAX_LIMIT_REACHED, "");
_Static_assert((int)TIDE_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ==
                   (int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
               "");
_Static_assert((int)TIDE_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ==
                   (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
               "");
_Static_assert((int)TIDE_CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES ==
                   (int)CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
               "");
_Static_assert((int)TIDE_CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED ==
                   (int)CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
               "");
_Static_assert(offsetof(tide_cupti_kernel, start_ns) == offsetof(CUpti_ActivityKernel9, start), "");
_Static_assert(offsetof(tide_cupti_kernel, end_ns) == offsetof(CUpti_ActivityKernel9, end), "");
_Static_assert(offsetof(tide_cupti_kernel, correlation) ==
                   offsetof(CUpti_ActivityKernel9, correlationId),
               "");
_Static_assert(offsetof(tide_cupti_kernel, name) == offsetof(CUpti_ActivityKernel9, name), "");
_Static_assert(offsetof(tide_cupti_kernel, name) == offsetof(CUpti_ActivityKernel3, name), "");
_Static_assert(sizeof(tide_cupti_external) == sizeof(CUpti_ActivityExternalCorrelation), "");
_Static_assert(offsetof(tide_cupti_external, external) ==
                   offsetof(CUpti_ActivityExternalCorrelation, externalId),
               "");
_Static_assert(offsetof(tide_cupti_external, correlation) ==
                   offsetof(CUpti_ActivityExternalCorrelation, correlationId),
               "");
#endif

static tide_fake_cupti *fake;

static int start(void **state) {
    (void)state;
    fake->fail_function = NULL;
    fake->fail_with = 0;
    fake->late_kernels = fake->late_calls = false;
    fake->n_refused = 0;
    return setenv("TIDEMARK_CUPTI", TIDE_FAKE_CUPTI, 1);
}

static void expect_row(const tide_recording *recording, size_t i, const char *name,
                       const char *phase, const char *path) {
    const tide_kernel_row *row = &recording->kernels[i];
    assert_true(i < recording->n_kernels);
    assert_string_equal(recording->strings[row->name], name);
    assert_string_equal(row->phase == TIDE_NONE ? "" : recording->strings[row->phase], phase);
    assert_string_equal(recording->strings[row->path], path);
}

static void expect_times(const tide_recording *recording, size_t i, uint64_t n_launches,
                         int64_t total_ns, int64_t min_ns, int64_t max_ns) {
    const tide_kernel_row *row = &recording->kernels[i];
    assert_true(row->n_launches == n_launches && row->total_ns == total_ns);
    assert_true(row->min_ns == min_ns && row->max_ns == max_ns);
}

/* One step with two layers. The kernel runs once in each layer, for `work` ns in the first. */
static void run_step(tide_recorder *recorder, int index, uint64_t work) {
    tide_scope step = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", index);
    tide_scope forward = tide_scope_begin(recorder, TIDE_SCOPE_PHASE, "forward", -1);
    for (int l = 0; l < 2; l++) {
        tide_scope layer = tide_scope_begin(recorder, TIDE_SCOPE_LAYER, "layer", l);
        tide_scope attention = tide_scope_begin(recorder, TIDE_SCOPE_OPERATOR, "attention", -1);
        fake->launch("_Z7rmsnormIfEvPfPKfm", work + (uint64_t)l);
        fake->launch("sm90_gemm", 7);
        if (l == 0) {
            tide_scope_end(recorder, attention);
        }
        tide_scope_end(recorder, layer); /* in the second layer this also ends attention */
    }
    fake->launch("sm90_gemm", 9);
    tide_scope_end(recorder, forward);
    tide_scope_end(recorder, step);
}

static void kernels_are_counted_where_they_were_launched(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    tide_kernel_trace *trace = NULL;
    tide_recording recording;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    assert_int_equal(tide_kernel_trace_create(recorder, &trace, NULL), TIDE_OK);
    run_step(recorder, 0, 1000); /* not traced yet */
    assert_int_equal(tide_kernel_trace_begin(trace, NULL), TIDE_OK);
    assert_int_equal(fake->n_enabled, 4);
    fake->launch("outside", 5);
    run_step(recorder, 1, 100);
    fake->flush_elsewhere();
    assert_int_equal(tide_kernel_trace_collect(trace, NULL), TIDE_OK);
    run_step(recorder, 2, 200);
    assert_int_equal(tide_kernel_trace_end(trace, NULL), TIDE_OK);
    assert_int_equal(tide_kernel_trace_end(trace, NULL), TIDE_OK);
    run_step(recorder, 3, 1000); /* no longer traced */
    tide_kernel_trace_destroy(trace);
    assert_true(fake->n_enabled == 0 && fake->n_pushed == 0 && fake->n_buffers == 0);
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    assert_int_equal(recording.n_kernels, 4);
    expect_row(&recording, 0, "void rmsnorm<float>", "forward", "forward > layer > attention");
    expect_times(&recording, 0, 4, 602, 100, 201);
    expect_row(&recording, 1, "sm90_gemm", "forward", "forward > layer > attention");
    expect_times(&recording, 1, 4, 28, 7, 7);
    expect_row(&recording, 2, "sm90_gemm", "forward", "forward");
    expect_times(&recording, 2, 2, 18, 9, 9);
    expect_row(&recording, 3, "outside", "", ""); /* only the last collection can decide */
    expect_times(&recording, 3, 1, 5, 5, 5);
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

/* A kernel's two records are matched whichever arrives a collection later, even at the very end. */
static void records_may_come_late(void **state) {
    (void)state;
    for (int late = 0; late < 2; late++) {
        tide_recorder *recorder = NULL;
        tide_kernel_trace *trace = NULL;
        tide_recording recording;
        fake->late_kernels = late == 0;
        fake->late_calls = late == 1;
        assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
        assert_int_equal(tide_kernel_trace_create(recorder, &trace, NULL), TIDE_OK);
        assert_int_equal(tide_kernel_trace_begin(trace, NULL), TIDE_OK);
        for (int i = 0; i < 5; i++) {
            run_step(recorder, i, 100);
            fake->launch("outside", 5);
            assert_int_equal(tide_kernel_trace_collect(trace, NULL), TIDE_OK);
        }
        assert_int_equal(tide_kernel_trace_end(trace, NULL), TIDE_OK);
        tide_kernel_trace_destroy(trace);
        assert_true(fake->n_enabled == 0 && fake->n_pushed == 0 && fake->n_buffers == 0);
        assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
        assert_int_equal(recording.n_kernels, 4);
        expect_row(&recording, 0, "void rmsnorm<float>", "forward", "forward > layer > attention");
        expect_times(&recording, 0, 10, 1005, 100, 101);
        expect_row(&recording, 1, "sm90_gemm", "forward", "forward > layer > attention");
        expect_times(&recording, 1, 10, 70, 7, 7);
        expect_row(&recording, 2, "sm90_gemm", "forward", "forward");
        expect_times(&recording, 2, 5, 45, 9, 9);
        expect_row(&recording, 3, "outside", "", "");
        expect_times(&recording, 3, 5, 25, 5, 5);
        tide_recording_fini(&recording);
        tide_recorder_destroy(recorder);
    }
}

/* Records for more than one buffer. */
static void buffers_follow_each_other(void **state) {
    (void)state;
    enum { N_LAUNCHES = 20000 };
    tide_recorder *recorder = NULL;
    tide_kernel_trace *trace = NULL;
    tide_recording recording;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    assert_int_equal(tide_kernel_trace_create(recorder, &trace, NULL), TIDE_OK);
    assert_int_equal(tide_kernel_trace_begin(trace, NULL), TIDE_OK);
    tide_scope scope = tide_scope_begin(recorder, TIDE_SCOPE_PHASE, "phase", -1);
    for (int i = 0; i < N_LAUNCHES; i++) {
        fake->launch("kernel", 3);
    }
    tide_scope_end(recorder, scope);
    assert_int_equal(tide_kernel_trace_end(trace, NULL), TIDE_OK);
    tide_kernel_trace_destroy(trace);
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    assert_int_equal(recording.n_kernels, 1);
    expect_row(&recording, 0, "kernel", "phase", "phase");
    expect_times(&recording, 0, N_LAUNCHES, 3 * N_LAUNCHES, 3, 3);
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void refusals_of_cupti_are_reported(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    tide_kernel_trace *trace = NULL;
    tide_kernel_trace *second = NULL;
    tide_error error = {""};
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    fake->fail_function = "cuptiActivityRegisterCallbacks";
    assert_int_equal(tide_kernel_trace_create(recorder, &trace, &error), TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "cuptiActivityRegisterCallbacks answers "
                                          "CUPTI_ERROR_UNKNOWN (999)"));
    fake->fail_function = "cuptiActivityEnable";
    assert_int_equal(tide_kernel_trace_create(recorder, &trace, &error), TIDE_OK);
    assert_int_equal(tide_kernel_trace_create(recorder, &second, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "traced already"));
    assert_int_equal(tide_kernel_trace_begin(trace, &error), TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "cuptiActivityEnable"));
    static const struct {
        int result;
        const char *words;
    } CASES[] = {{35, "NVreg_RestrictProfilingToAdminUsers=0"},
                 {39, "not under nsys"},
                 {40, "hypervisor"},
                 {41, "confidential computing"},
                 {999, "may be older"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        fake->fail_with = CASES[i].result;
        assert_int_equal(tide_kernel_trace_begin(trace, &error), TIDE_DEVICE_FAILED);
        if (strstr(error.message, CASES[i].words) == NULL) {
            fail_msg("\"%s\" is not in: %s", CASES[i].words, error.message);
        }
        assert_int_equal(fake->n_enabled, 0);
    }
    fake->fail_function = "cuptiActivityFlushAll";
    assert_int_equal(tide_kernel_trace_begin(trace, &error), TIDE_OK);
    assert_int_equal(tide_kernel_trace_collect(trace, &error), TIDE_DEVICE_FAILED);
    tide_kernel_trace_destroy(trace);
    tide_recorder_destroy(recorder);
    assert_int_equal(fake->n_enabled, 0);
}

static void a_missing_library_is_reported(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    tide_kernel_trace *trace = NULL;
    tide_error error = {""};
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    assert_int_equal(setenv("TIDEMARK_CUPTI", "/nowhere/libcupti.so", 1), 0);
    assert_int_equal(tide_kernel_trace_create(recorder, &trace, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "TIDEMARK_CUPTI names, /nowhere/libcupti.so"));
    assert_int_equal(setenv("TIDEMARK_CUPTI", "libm.so.6", 1), 0); /* not a CUPTI */
    assert_int_equal(tide_kernel_trace_create(recorder, &trace, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "has no cuptiActivityRegisterCallbacks"));
    tide_recorder_destroy(recorder);
}

static void host_memory_may_run_out_anywhere(void **state) {
    (void)state;
    for (size_t n = 1;; n++) {
        tide_hostmem_fault fault;
        tide_recorder *recorder = NULL;
        tide_recorder_config config;
        tide_kernel_trace *trace = NULL;
        tide_hostmem_fault_init(&fault, 0);
        tide_recorder_config_init(&config);
        config.mem = &fault.mem;
        config.capture_stacks = false;
        assert_int_equal(tide_recorder_create(&config, &recorder, NULL), TIDE_OK);
        fault.fail_call = fault.n_calls + n;
        tide_status status = tide_kernel_trace_create(recorder, &trace, NULL);
        if (status == TIDE_OK) {
            assert_int_equal(tide_kernel_trace_begin(trace, NULL), TIDE_OK);
            run_step(recorder, 0, 1);
            status = tide_kernel_trace_end(trace, NULL);
        }
        tide_kernel_trace_destroy(trace);
        bool failed = fault.n_calls >= fault.fail_call;
        tide_recorder_destroy(recorder);
        assert_int_equal(fault.n_live, 0);
        if (!failed) {
            assert_int_equal(status, TIDE_OK);
            assert_true(n > 10);
            break;
        }
        assert_true(status == TIDE_NO_MEMORY ||
                    status == TIDE_OK); /* TIDE_OK: a scope was dropped instead */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kernels_are_counted_where_they_were_launched, start),
        cmocka_unit_test_setup(records_may_come_late, start),
        cmocka_unit_test_setup(buffers_follow_each_other, start),
        cmocka_unit_test_setup(refusals_of_cupti_are_reported, start),
        cmocka_unit_test_setup(a_missing_library_is_reported, start),
        cmocka_unit_test_setup(host_memory_may_run_out_anywhere, start),
    };
    tide_fake_cupti_getter getter = NULL;
    void *library = dlopen(TIDE_FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "tide_fake_cupti_state") : NULL;
    if (symbol == NULL) {
        return 1;
    }
    memcpy(&getter, &symbol, sizeof(symbol));
    fake = getter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
