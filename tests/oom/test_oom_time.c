/* test_oom_time.c - a run of our own model on a virtual card whose time is forecast, in which the
 * n-th host allocation fails, for every n: nothing leaks, and the run reports why it has no
 * forecast, or fails with a message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/run/model.h"
#include "support/hostmem_fault.h"
#include "support/tiny_workload.h"

enum { MAX_CALLS = 5000 };

static tide_hostmem_fault heap;

/* NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): a name of the linker's
 */
const tide_hostmem *__wrap_tide_hostmem_default(void);

const tide_hostmem *__wrap_tide_hostmem_default(void) {
    return &heap.mem;
}
/* NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier) */

static void configure(tide_run_config *config) {
    tide_run_model_init(config);
    *tide_run_model_of(&config->workload) = tiny_workload(1);
    tide_run_model_of(&config->workload)->warmup_steps = 1;
    config->limits.device = "virtual:h100-80";
    config->recording.is_on = true;
    config->recording.keeps_snapshot = true;
    config->recording.ns_per_event = 1.0; /* not measured anew */
    config->recording.recorder.capture_stacks = false;
    config->recording.recorder.log_bytes = (size_t)1 << 20;
    config->recording.forecasts_time = true;
}

/* Whether the run has everything that a run without a failure has. */
static bool run_once(size_t fail_call, size_t *ret_without_forecast) {
    tide_run_config config;
    tide_run_result result;
    tide_hostmem_fault_init(&heap, fail_call);
    configure(&config);
    tide_run_here(&config, NULL, &result);
    bool is_whole = result.outcome == TIDE_OUTCOME_COMPLETED && result.time != NULL &&
                    result.snapshot != NULL && result.snapshot->forecast.card[0] != '\0';
    if (result.outcome == TIDE_OUTCOME_COMPLETED && result.time == NULL) {
        assert_string_not_equal(result.no_forecast, "");
        (*ret_without_forecast)++;
    }
    if (result.outcome != TIDE_OUTCOME_COMPLETED) {
        assert_int_equal(result.status, TIDE_NO_MEMORY);
        assert_string_not_equal(result.error.message, "");
    }
    tide_run_result_fini(&result);
    assert_int_equal(heap.n_live, 0);
    return is_whole;
}

static void any_host_allocation_may_fail(void **state) {
    (void)state;
    size_t n = 1;
    size_t n_without = 0;
    size_t n_failed = 0;
    bool is_whole = false;
    do { /* to the first run that makes fewer calls than the one that would fail */
        is_whole = run_once(n, &n_without);
        n_failed += !is_whole;
        assert_true(n < MAX_CALLS);
        n++;
    } while (heap.n_calls >= n - 1);
    assert_true(is_whole);
    assert_true(n_failed > 100);
    assert_int_equal(n_without, 0); /* without memory a run fails, like its snapshot */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_host_allocation_may_fail)};
    return cmocka_run_group_tests_name("run.oom_time", tests, NULL, NULL);
}
