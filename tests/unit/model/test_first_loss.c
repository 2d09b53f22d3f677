/* test_first_loss.c - the expected loss of the first step: runs of all shapes are near it, and a
 * broken forward pass at a real size is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/workload/first_loss.h"
#include "recorded_run.h"

/* V, C, T, B: vocabularies and widths far apart, few rows and many. */
static const size_t SHAPES[][4] = {{97, 24, 10, 2},   {2000, 32, 40, 4}, {16, 96, 33, 3},
                                   {500, 64, 16, 1},  {1, 24, 10, 2},    {3000, 192, 64, 2},
                                   {640, 384, 48, 2}, {97, 24, 1, 1}};

static void first_losses_are_near(void **state) {
    (void)state;
    static const tide_precision COMPUTED[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                              TIDE_PRECISION_BF16_TRUE, TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < sizeof(SHAPES) / sizeof(SHAPES[0]); i++) {
        for (uint64_t seed = 0; seed < 6; seed++) {
            tide_workload_config config;
            recorded_run run;
            tide_workload_config_init(&config);
            config.model = tiny_model();
            config.model.vocab_size = SHAPES[i][0];
            config.model.d_model = SHAPES[i][1];
            config.model.n_heads = 2;
            config.model.context_length = SHAPES[i][2];
            config.model.batch_size = SHAPES[i][3];
            config.mode = TIDE_FORWARD_BACKWARD;
            config.precision = COMPUTED[seed % 4];
            config.attention = seed % 2 == 0 ? TIDE_ATTENTION_FLASH : TIDE_ATTENTION_NAIVE;
            config.seed = seed;
            config.warmup_steps = 1;
            config.steps = 1;
            recorded_run_start(&run, "cpu", &config, TIDE_UNLIMITED, TIDE_OK);
            tide_first_loss first = tide_first_loss_of(&config.model, config.precision);
            assert_int_equal(run.result.n_losses, 2);
            if (!tide_first_loss_is_near(&first, run.result.losses[0])) {
                fail_msg("shape %zu, seed %d: %.6f is not %.6f +- %.6f", i, (int)seed,
                         run.result.losses[0], first.expected, first.tolerance);
            }
            /* Without an update the second step computes the same loss. */
            assert_true(run.result.losses[1] == run.result.losses[0]);
            recorded_run_end(&run);
        }
    }
}

/* At the size of 2.7B a wrong forward pass is detected. */
static void broken_passes_are_far(void **state) {
    (void)state;
    tide_model_config model;
    assert_int_equal(tide_model_config_preset("2.7B", &model, NULL), TIDE_OK);
    model.context_length = 512;
    tide_first_loss first = tide_first_loss_of(&model, TIDE_PRECISION_BF16_MIXED);
    double share = 2560.0 / 12560.0;
    assert_true(fabs(first.expected - (log(10000.0) + share)) < 1e-12);
    assert_true(first.tolerance < 0.12);
    /* The expectation itself, computed with truncated weights, is near. */
    assert_true(tide_first_loss_is_near(&first, log(10000.0) + 0.9733 * share));
    /* Logits of 0; logits twice as large; a sum of logits instead of a mean of losses; not a
     * number. */
    assert_false(tide_first_loss_is_near(&first, log(10000.0)));
    assert_false(tide_first_loss_is_near(&first, log(10000.0) + 4 * share));
    assert_false(tide_first_loss_is_near(&first, 0.0));
    assert_false(tide_first_loss_is_near(&first, (double)NAN));
    assert_false(tide_first_loss_is_near(&first, (double)INFINITY));
}

/* A run that computes nothing, or stops at the logits, has no loss in any step. */
static void other_runs_have_none(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        tide_workload_config config;
        recorded_run run;
        tide_workload_config_init(&config);
        config.model = tiny_model();
        config.mode = i == 0 ? TIDE_FORWARD : TIDE_TRAIN;
        config.warmup_steps = 0;
        config.steps = 2;
        recorded_run_start(&run, i == 0 ? "cpu" : "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
        assert_int_equal(run.result.n_losses, 0);
        assert_null(run.result.losses);
        recorded_run_end(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_losses_are_near),
        cmocka_unit_test(broken_passes_are_far),
        cmocka_unit_test(other_runs_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
