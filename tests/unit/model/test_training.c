/* test_training.c - training on the cpu device as a whole: all ways to compute a step agree, the
 * loss falls, and a run is reproducible to the bit. Other tests check single operators and
 * gradients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "recorded_run.h"

static tide_workload_config tiny_training(size_t steps) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.warmup_steps = 0;
    config.steps = steps;
    config.adamw.lr = 0.01;
    return config;
}

static double loss_after(const tide_workload_config *config) {
    recorded_run run;
    recorded_run_start(&run, "cpu", config, TIDE_UNLIMITED, TIDE_OK);
    double loss = run.result.loss;
    recorded_run_end(&run);
    return loss;
}

/* The model memorises 20 tokens: with 97 words the loss starts near log(97) = 4.6 and approaches 0.
 */
static void training_learns(void **state) {
    (void)state;
    static const tide_precision COMPUTED[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                              TIDE_PRECISION_BF16_TRUE, TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < sizeof(COMPUTED) / sizeof(COMPUTED[0]); i++) {
        tide_workload_config config = tiny_training(1);
        config.precision = COMPUTED[i];
        double first = loss_after(&config);
        config.steps = 60;
        double last = loss_after(&config);
        assert_true(first > 3.5 && first < 7);
        assert_true(last < 0.1 * first);
    }
}

/* fp32 masters take steps far below the spacing of bf16 numbers: with a learning rate of 1e-4,
 * elements above 0.06 would never change in bf16. bf16-mixed follows fp32 to within the roundings
 * of a loss, 0.1 %; bf16-true lags further. */
static void masters_keep_small_steps(void **state) {
    (void)state;
    tide_workload_config config = tiny_training(1);
    config.adamw.lr = 1e-4;
    double first = loss_after(&config);
    config.steps = 40;
    double fp32 = loss_after(&config);
    config.precision = TIDE_PRECISION_BF16_MIXED;
    double mixed = loss_after(&config);
    config.precision = TIDE_PRECISION_BF16_TRUE;
    double narrow = loss_after(&config);
    assert_true(fp32 < 0.97 * first);
    assert_true(fabs(mixed - fp32) < 0.001 * fp32);
    assert_true(narrow - fp32 > 0.25 * (first - fp32));
}

/* Both attentions and recompute differ at most in the order of their sums: after 5 steps the losses
 * differ only by rounding, 2^-24 per sum over a few hundred sums. */
static void variants_agree(void **state) {
    (void)state;
    tide_workload_config config = tiny_training(5);
    config.clip_grad_norm = 0.5;
    double base = loss_after(&config);
    for (int variant = 1; variant < 4; variant++) {
        config.attention = (variant & 1) != 0 ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
        config.recompute = (variant & 2) != 0 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE;
        assert_true(fabs(loss_after(&config) - base) < 2e-5 * base);
    }
    config.clip_grad_norm = 0;
    assert_true(fabs(loss_after(&config) - base) > 1e-4 * base);
}

/* Recompute repeats the same sums, so the bits are the same. */
static void runs_repeat_themselves(void **state) {
    (void)state;
    static const tide_precision COMPUTED[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                              TIDE_PRECISION_BF16_TRUE, TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < sizeof(COMPUTED) / sizeof(COMPUTED[0]); i++) {
        tide_workload_config config = tiny_training(3);
        config.precision = COMPUTED[i];
        double base = loss_after(&config);
        assert_true(loss_after(&config) == base);
        config.recompute = TIDE_RECOMPUTE_BLOCK;
        assert_true(loss_after(&config) == base);
        config.seed = 1;
        assert_true(loss_after(&config) != base);
    }
}

/* The loss of a step does not depend on whether backward follows, only the losses of later steps
 * do. */
static void forward_backward_does_not_learn(void **state) {
    (void)state;
    tide_workload_config config = tiny_training(1);
    double first = loss_after(&config);
    config.mode = TIDE_FORWARD_BACKWARD;
    config.steps = 4;
    assert_true(loss_after(&config) == first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_learns),
        cmocka_unit_test(masters_keep_small_steps),
        cmocka_unit_test(variants_agree),
        cmocka_unit_test(runs_repeat_themselves),
        cmocka_unit_test(forward_backward_does_not_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
