/* test_loss_scaler.c - the scale of the loss in fp16-mixed: its rules; and on the cpu device, steps
 * that overflow are skipped and counted, the scale recovers, and clipping sees unscaled gradients.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/optimizer/loss_scaler.h"
#include "recorded_run.h"
#include "training_run.h"

static bool is_scale(const tide_loss_scaler *scaler, double scale) {
    return !((double)scaler->scale < scale) && !((double)scaler->scale > scale);
}

static void it_halves_and_counts(void **state) {
    (void)state;
    tide_loss_scaler scaler = tide_loss_scaler_make(true);
    assert_true(is_scale(&scaler, 65536));
    tide_loss_scaler_update(&scaler, true);
    tide_loss_scaler_update(&scaler, true);
    tide_loss_scaler_update(&scaler, false);
    assert_true(is_scale(&scaler, 16384));
    assert_int_equal(scaler.n_skipped, 2);
}

/* 2000 clean steps in a row, and a skipped one starts the count again. */
static void it_doubles_after_2000_clean_steps(void **state) {
    (void)state;
    tide_loss_scaler scaler = tide_loss_scaler_make(true);
    for (int i = 0; i < 1999; i++) {
        tide_loss_scaler_update(&scaler, false);
    }
    assert_true(is_scale(&scaler, 65536));
    tide_loss_scaler_update(&scaler, true);
    for (int i = 0; i < 1999; i++) {
        tide_loss_scaler_update(&scaler, false);
    }
    assert_true(is_scale(&scaler, 32768));
    tide_loss_scaler_update(&scaler, false);
    assert_true(is_scale(&scaler, 65536));
    for (int i = 0; i < 2000; i++) {
        tide_loss_scaler_update(&scaler, false);
    }
    assert_true(is_scale(&scaler, 131072));
    scaler.scale = 0x1p127F; /* twice that is infinite */
    scaler.n_clean = 1999;
    tide_loss_scaler_update(&scaler, false);
    assert_true(is_scale(&scaler, 0x1p127));
    assert_int_equal(scaler.n_clean, 0);
}

static void it_is_1_where_nothing_is_scaled(void **state) {
    (void)state;
    tide_loss_scaler scaler = tide_loss_scaler_make(false);
    tide_loss_scaler_update(&scaler, true);
    assert_true(is_scale(&scaler, 1));
    assert_int_equal(scaler.n_skipped, 0);
}

/* ---- on the cpu device ---- */

/* One row of 5000 logits: the gradient of the target's is (p - 1) times the scale, and at 65536
 * that rounds to infinity, because a probability p of a fresh model, about 1 / 5000, is below the
 * required 16 / 65536. At 32768 it is finite. */
static tide_transformer_config overflowing(void) {
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = tiny_model();
    config.model.vocab_size = 5000;
    config.model.context_length = 1;
    config.model.batch_size = 1;
    config.precision = TIDE_PRECISION_FP16_MIXED;
    return config;
}

/* All numbers of the parameters, one after the other. The caller frees them. */
static float *weights_of(const training *run, size_t *ret_n) {
    float *all = NULL;
    size_t n = 0;
    for (size_t i = 0; i < tide_transformer_n_parameters(run->transformer); i++) {
        const tide_parameter *parameter = tide_transformer_parameter(run->transformer, i);
        all = realloc(all, (n + parameter->n_elements) * sizeof(*all));
        assert_non_null(all);
        memcpy(all + n, parameter->value.array.data, parameter->n_elements * sizeof(*all));
        n += parameter->n_elements;
    }
    *ret_n = n;
    return all;
}

static void a_step_that_overflows_is_skipped(void **state) {
    (void)state;
    const tide_transformer_config config = overflowing();
    training run = training_start("cpu", &config);
    const tide_loss_scaler *scaler = tide_transformer_loss_scaler(run.transformer);
    size_t n = 0;
    float *before = weights_of(&run, &n);
    training_step(&run);
    float *skipped = weights_of(&run, &n);
    assert_memory_equal(before, skipped, n * sizeof(*before));
    assert_int_equal(scaler->n_skipped, 1);
    assert_true(is_scale(scaler, 32768));
    const tide_parameter *head =
        tide_transformer_parameter(run.transformer, tide_parameter_lm_head(&config.model));
    const float *moment = head->exp_avg.array.data; /* it exists, but nothing was added to it */
    for (size_t i = 0; i < head->n_elements; i++) {
        assert_true(fabsf(moment[i]) <= 0);
    }
    training_step(&run);
    float *taken = weights_of(&run, &n);
    assert_int_equal(scaler->n_skipped, 1);
    assert_true(is_scale(scaler, 32768));
    size_t n_moved = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(taken[i]));
        n_moved += taken[i] < skipped[i] || taken[i] > skipped[i];
    }
    assert_true(n_moved > 0);
    free(before);
    free(skipped);
    free(taken);
    training_end(&run);
}

/* AdamW counts the steps that it performed: after a skipped one it still corrects the bias of its
 * first step, so each clear gradient moves its weight by nearly lr. With t = 2 the step would be
 * sqrt(1 - 0.999^2) / (1 - 0.9^2) / (sqrt(1 - 0.999) / (1 - 0.9)) = 0.744 times as long. */
static void a_skipped_step_is_not_counted(void **state) {
    (void)state;
    tide_transformer_config config = overflowing();
    config.adamw.weight_decay = 0;
    training run = training_start("cpu", &config);
    size_t n = 0;
    training_step(&run);
    float *before = weights_of(&run, &n);
    training_step(&run);
    float *after = weights_of(&run, &n);
    double longest = 0;
    for (size_t i = 0; i < n; i++) {
        longest = fmax(longest, fabs((double)after[i] - (double)before[i]));
    }
    assert_true(longest > 0.99 * config.adamw.lr && longest < 1.01 * config.adamw.lr);
    free(before);
    free(after);
    training_end(&run);
}

/* The norm at which gradients are clipped is that of the unscaled ones: after the optimizer's part
 * the gradients are gone, so the test reads AdamW's first moment, 0.1 of the clipped gradients. */
static void clipping_sees_unscaled_gradients(void **state) {
    (void)state;
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = tiny_model();
    config.precision = TIDE_PRECISION_FP16_MIXED;
    config.clip_grad_norm = 0.25; /* of about 2 */
    training run = training_start("cpu", &config);
    double squares = 0;
    training_step(&run);
    assert_int_equal(tide_transformer_loss_scaler(run.transformer)->n_skipped, 0);
    for (size_t i = 0; i < tide_transformer_n_parameters(run.transformer); i++) {
        const tide_parameter *parameter = tide_transformer_parameter(run.transformer, i);
        const float *moment = parameter->exp_avg.array.data;
        for (size_t k = 0; k < parameter->n_elements; k++) {
            squares += (double)moment[k] * (double)moment[k];
        }
    }
    /* fp32: the norm, the factor, the product and the moment are rounded, 2^-24 each; and eps of
     * the clipping, 1e-6 of a norm above 0.25, takes off 4e-6 at most. */
    assert_true(fabs(sqrt(squares) - 0.1 * 0.25) < 5e-6 * 0.1 * 0.25);
    training_end(&run);
}

/* AdamW sees the gradients without the scale, and a norm that only the scaled ones exceed clips
 * nothing: the first moment of lm_head is 0.1 of its gradient / 65536. 1 - 0.9 is rounded to fp32,
 * the product and the moment likewise: 2^-24 of the moment each. */
static void moments_are_of_unscaled_gradients(void **state) {
    (void)state;
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = tiny_model();
    config.precision = TIDE_PRECISION_FP16_MIXED;
    config.clip_grad_norm = 100;
    training run = training_start("cpu", &config);
    const tide_parameter *head =
        tide_transformer_parameter(run.transformer, tide_parameter_lm_head(&config.model));
    float *scaled = malloc(head->n_elements * sizeof(*scaled));
    assert_non_null(scaled);
    training_half_step(&run);
    memcpy(scaled, head->gradient.array.data, head->n_elements * sizeof(*scaled));
    assert_int_equal(tide_transformer_optimize(run.transformer, NULL), TIDE_OK);
    const float *moment = head->exp_avg.array.data;
    for (size_t i = 0; i < head->n_elements; i++) {
        double want = 0.1 * (double)scaled[i] / 65536;
        assert_true(fabs((double)moment[i] - want) <= 3 * 0x1p-24 * fabs(want));
    }
    free(scaled);
    training_end(&run);
}

/* Small gradients that would be lost: with the scale the gradients of fp16-mixed are as near to
 * those of fp32 as 11 bits are (test_reference_bf16.c), and the scale is in them. */
static void gradients_carry_the_scale(void **state) {
    (void)state;
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = tiny_model();
    double norms[2];
    for (int i = 0; i < 2; i++) {
        config.precision = i == 0 ? TIDE_PRECISION_FP32 : TIDE_PRECISION_FP16_MIXED;
        training run = training_start("cpu", &config);
        training_half_step(&run);
        const tide_parameter *head =
            tide_transformer_parameter(run.transformer, tide_parameter_lm_head(&config.model));
        const float *gradient = head->gradient.array.data;
        norms[i] = 0;
        for (size_t k = 0; k < head->n_elements; k++) {
            norms[i] += (double)gradient[k] * (double)gradient[k];
        }
        training_end(&run);
    }
    double ratio = sqrt(norms[1] / norms[0]) / 65536;
    assert_true(ratio > 0.99 && ratio < 1.01);
}

/* The whole run: a workload counts skipped steps, and reports none on a device that computes
 * nothing. */
static void a_run_reports_scale_and_skipped_steps(void **state) {
    (void)state;
    static const char *const DEVICES[] = {"cpu", "virtual"};
    for (int i = 0; i < 2; i++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        const tide_transformer_config shape = overflowing();
        config.model = shape.model;
        config.precision = TIDE_PRECISION_FP16_MIXED;
        config.warmup_steps = 1;
        config.steps = 3;
        recorded_run run;
        recorded_run_start(&run, DEVICES[i], &config, TIDE_UNLIMITED, TIDE_OK);
        assert_true(run.result.scales_loss == (i == 0));
        if (i == 0) {
            assert_int_equal(run.result.n_skipped_steps, 1);
            assert_true(run.result.loss_scale > 32767 && run.result.loss_scale < 32769);
            assert_true(isfinite(run.result.loss));
        }
        recorded_run_end(&run);
        config.mode = TIDE_FORWARD_BACKWARD;
        recorded_run_start(&run, DEVICES[i], &config, TIDE_UNLIMITED, TIDE_OK);
        assert_false(run.result.scales_loss);
        recorded_run_end(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_halves_and_counts),
        cmocka_unit_test(it_doubles_after_2000_clean_steps),
        cmocka_unit_test(it_is_1_where_nothing_is_scaled),
        cmocka_unit_test(a_step_that_overflows_is_skipped),
        cmocka_unit_test(a_skipped_step_is_not_counted),
        cmocka_unit_test(clipping_sees_unscaled_gradients),
        cmocka_unit_test(moments_are_of_unscaled_gradients),
        cmocka_unit_test(gradients_carry_the_scale),
        cmocka_unit_test(a_run_reports_scale_and_skipped_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
