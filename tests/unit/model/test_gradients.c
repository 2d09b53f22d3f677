/* test_gradients.c - every parameter's gradient is the slope of the loss: moving the parameter
 * along its gradient changes the loss as the gradient predicts. It runs on the cpu device, with
 * both attentions and both recompute settings.
 *
 * With u = g / |g|, the central difference (loss(p + h u) - loss(p - h u)) / 2h is |g| up to terms
 * of h^2. The loss is an fp32 mean near 5, known to about 5 x 2^-24 x a few = 1e-6; so with h =
 * 0.02 to 0.1 of |p| and slopes above 0.01 the quotient is good to 1 %, and a wrong factor, a
 * missing term or another tensor's gradient is detected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/layers/transformer.h"
#include "recorded_run.h"

typedef struct bench {
    tide_device *device;
    tide_cache *cache;
    tide_transformer *transformer;
} bench;

static void start(bench *b, tide_attention attention, tide_recompute recompute) {
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = tiny_model();
    config.attention = attention;
    config.recompute = recompute;
    assert_int_equal(tide_device_open("cpu", NULL, &b->device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(b->device, NULL, NULL, &b->cache, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_create(&config, b->cache, NULL, &b->transformer, NULL),
                     TIDE_OK);
    assert_int_equal(tide_transformer_setup(b->transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_fill(b->transformer, NULL), TIDE_OK);
}

static void stop(bench *b) {
    tide_transformer_destroy(b->transformer);
    tide_cache_destroy(b->cache);
    tide_device_close(b->device);
}

static void copy(bench *b, void *dst, const void *src, size_t n_elements,
                 tide_copy_direction direction) {
    assert_int_equal(
        tide_device_copy(b->device, dst, src, n_elements * sizeof(float), direction, 0, NULL),
        TIDE_OK);
    assert_int_equal(tide_device_synchronize(b->device, NULL), TIDE_OK);
}

static double loss_of(bench *b) {
    float loss = 0;
    assert_int_equal(tide_transformer_forward(b->transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_loss(b->transformer, NULL), TIDE_OK);
    copy(b, &loss, tide_transformer_loss_value(b->transformer)->array.data, 1, TIDE_COPY_TO_HOST);
    assert_int_equal(tide_transformer_end_step(b->transformer, NULL), TIDE_OK);
    return (double)loss;
}

static float *host_copy(bench *b, const tide_tensor *tensor) {
    float *values = calloc(tensor->n_elements, sizeof(float));
    assert_non_null(values);
    copy(b, values, tensor->array.data, tensor->n_elements, TIDE_COPY_TO_HOST);
    return values;
}

static double norm_of(const float *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)values[i] * (double)values[i];
    }
    return sqrt(sum);
}

/* The loss with parameter + step x gradient / |gradient| in place of the parameter. */
static double loss_at(bench *b, const tide_parameter *parameter, const float *values,
                      const float *gradient, double step) {
    size_t n = parameter->n_elements;
    double norm = norm_of(gradient, n);
    float *moved = calloc(n, sizeof(float));
    assert_non_null(moved);
    for (size_t i = 0; i < n; i++) {
        moved[i] = (float)((double)values[i] + step * (double)gradient[i] / norm);
    }
    copy(b, parameter->value.array.data, moved, n, TIDE_COPY_TO_DEVICE);
    double loss = loss_of(b);
    copy(b, parameter->value.array.data, values, n, TIDE_COPY_TO_DEVICE);
    free(moved);
    return loss;
}

static void check_parameter(bench *b, const tide_parameter *parameter, const float *gradient) {
    size_t n = parameter->n_elements;
    float *values = host_copy(b, &parameter->value);
    double norm = norm_of(gradient, n);
    double h = 0.01 * norm_of(values, n);
    double up = loss_at(b, parameter, values, gradient, h);
    double down = loss_at(b, parameter, values, gradient, -h);
    double slope = (up - down) / (2 * h);
    if (!(norm > 0) || fabs(slope - norm) > 0.01 * norm + 2e-6 / h) {
        fail_msg("%s: the gradient says %g, the loss %g", parameter->name, norm, slope);
    }
    free(values);
}

static void gradients_are_slopes(void **state) {
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        bench b;
        float *gradients[32] = {NULL};
        start(&b, (tide_attention)(variant & 1), (tide_recompute)(variant >> 1));
        size_t n_parameters = tide_transformer_n_parameters(b.transformer);
        assert_int_equal(n_parameters, 21);
        assert_int_equal(tide_transformer_forward(b.transformer, NULL), TIDE_OK);
        assert_int_equal(tide_transformer_loss(b.transformer, NULL), TIDE_OK);
        assert_int_equal(tide_transformer_backward(b.transformer, NULL), TIDE_OK);
        for (size_t i = 0; i < n_parameters; i++) {
            gradients[i] = host_copy(&b, &tide_transformer_parameter(b.transformer, i)->gradient);
        }
        assert_int_equal(tide_transformer_end_step(b.transformer, NULL), TIDE_OK);
        for (size_t i = 0; i < n_parameters; i++) {
            check_parameter(&b, tide_transformer_parameter(b.transformer, i), gradients[i]);
            free(gradients[i]);
        }
        assert_null(tide_transformer_parameter(b.transformer, n_parameters));
        stop(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
