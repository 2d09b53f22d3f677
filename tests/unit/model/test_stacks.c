/* test_stacks.c - every call stack of whole training runs, walked twice: by the program's own
 * unwinder with its per-thread cache, and by libunwind. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recorded_run.h"
#include "recorder/recorder_friend.h"
#include "stack/walk_internal.h"

static void walks_agree(const char *device, const tide_workload_config *config) {
    recorded_run run;
    recorded_run_start(&run, device, config, TIDE_UNLIMITED, TIDE_OK);
    const char *missing = tide_recorder_stacks_missing(run.recorder);
    tide_unwinder_stats stats;
    tide_recorder_get_unwinder_stats(run.recorder, &stats);
    bool is_here = TIDE_HAVE_STACK_WALK && missing == NULL;
    recorded_run_end(&run);
    if (!is_here) {
        skip();
    }
    print_message("%s: %zu captures, %zu remembered, %zu frames walked, %zu left to libunwind\n",
                  device, (size_t)stats.n_captures, (size_t)stats.n_remembered,
                  (size_t)stats.n_frames_walked, (size_t)stats.n_given_up);
    assert_true(stats.n_captures > 500);
    assert_int_equal(stats.n_given_up, 0);
    assert_int_equal(stats.n_checked, stats.n_captures);
    assert_int_equal(stats.n_mismatched, 0);
}

static void a_run_that_computes(void **state) {
    (void)state;
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.warmup_steps = 1;
    config.steps = 2;
    static const tide_precision COMPUTED[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                              TIDE_PRECISION_BF16_TRUE, TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < sizeof(COMPUTED) / sizeof(COMPUTED[0]); i++) {
        config.precision = COMPUTED[i];
        walks_agree("cpu", &config);
    }
}

static void long_virtual_runs(void **state) {
    (void)state;
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model.n_layers = 24;
    config.warmup_steps = 0;
    config.steps = 6;
    walks_agree("virtual", &config);
    config.recompute = TIDE_RECOMPUTE_BLOCK;
    config.precision = TIDE_PRECISION_BF16_MIXED;
    walks_agree("virtual", &config);
}

int main(void) {
    /* Before any recorder. */
    if (setenv("TIDEMARK_UNWINDER", "check", 1) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_computes),
        cmocka_unit_test(long_virtual_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
