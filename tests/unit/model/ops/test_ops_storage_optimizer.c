/* test_ops_storage_optimizer.c - AdamW, the global norm and clipping on fp32 and bf16 arrays, in
 * every combination: compared with double, computed from the stored numbers. */
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>

/* Three parameters of different sizes; each step starts from the numbers that the previous one
 * stored. */
static void check_adamw(tide_ops *ops, unsigned combination) {
    static const size_t N[] = {1, 1025, 40001};
    const tide_adamw_settings adamw = {
        .lr = 0.3, .beta1 = 0.8, .beta2 = 0.95, .eps = 0.1, .weight_decay = 0.2};
    operands all[3] = {{.n = 0}};
    tide_parameter_arrays parameters[3];
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < 4; i++) { /* parameter, gradient, moments */
            add_operand(&all[p], combination, N[p], 1);
        }
        assert_int_equal(
            ops->table->fill(ops, &(tide_fill){.out = all[p].array[3], .value = 0.25, .n = N[p]},
                             NULL),
            TIDE_OK);
        const tide_array *array = all[p].array;
        parameters[p] = (tide_parameter_arrays){array[0], array[1], array[2], array[3], N[p]};
    }
    for (int64_t t = 1; t <= 3; t++) {
        double step =
            adamw.lr * sqrt(1 - pow(adamw.beta2, (double)t)) / (1 - pow(adamw.beta1, (double)t));
        for (size_t p = 0; p < 3; p++) {
            for (size_t i = 0; i < 4; i++) {
                free(all[p].wide[i]);
                all[p].wide[i] = widen_stored(all[p].array[i], N[p]);
            }
            for (size_t i = 0; i < N[p]; i++) {
                double g = all[p].wide[1][i];
                double m = adamw.beta1 * all[p].wide[2][i] + (1 - adamw.beta1) * g;
                double v = adamw.beta2 * all[p].wide[3][i] + (1 - adamw.beta2) * g * g;
                all[p].want[2][i] = m;
                all[p].want[3][i] = v;
                all[p].want[0][i] = (all[p].wide[0][i] - step * m / (sqrt(v) + adamw.eps)) *
                                    (1 - adamw.lr * adamw.weight_decay);
            }
        }
        assert_int_equal(ops->table->adamw(ops,
                                           &(tide_adamw){.settings = adamw,
                                                         .t = t,
                                                         .parameters = parameters,
                                                         .n_parameters = 3},
                                           NULL),
                         TIDE_OK);
        for (size_t p = 0; p < 3; p++) { /* three, four and about ten roundings */
            assert_stored("AdamW's m", all[p].array[2], all[p].want[2], N[p], sum_tolerance(0, 4));
            assert_stored("AdamW's v", all[p].array[3], all[p].want[3], N[p], sum_tolerance(0, 4));
            assert_stored("AdamW's p", all[p].array[0], all[p].want[0], N[p], sum_tolerance(0, 20));
            assert_stored("AdamW's gradient", all[p].array[1], all[p].wide[1], N[p], 0);
        }
    }
    for (size_t p = 0; p < 3; p++) {
        free_operands(&all[p]);
    }
}

static void adamw(void **state) {
    for (unsigned combination = 0; combination < 1U << 4; combination++) {
        check_adamw(fixture_ops(state), combination);
    }
}

static void norm_and_clip(void **state) {
    tide_ops *ops = fixture_ops(state);
    static const size_t N[] = {33, TIDE_NORM_CHUNK + 1025};
    for (unsigned combination = 0; combination < 1U << 2; combination++) {
        operands all = {.n = 0};
        tide_parameter_arrays parameters[2];
        double sum = 0;
        for (size_t p = 0; p < 2; p++) {
            add_operand(&all, combination, N[p], 1);
            parameters[p] = (tide_parameter_arrays){.gradient = all.array[p], .n_elements = N[p]};
            for (size_t i = 0; i < N[p]; i++) {
                sum += all.wide[p][i] * all.wide[p][i];
            }
        }
        float *scratch = zeros(tide_ops_norm_scratch_elements(parameters, 2));
        float norm = 0;
        double want = sqrt(sum);
        assert_int_equal(ops->table->global_norm(ops,
                                                 &(tide_global_norm){.parameters = parameters,
                                                                     .n_parameters = 2,
                                                                     .scratch = scratch,
                                                                     .norm = &norm},
                                                 NULL),
                         TIDE_OK);
        assert_stored("global norm", fp32(&norm), &want, 1, sum_tolerance(0, 2));
        assert_int_equal(ops->table->clip(ops,
                                          &(tide_clip){.parameters = parameters,
                                                       .n_parameters = 2,
                                                       .norm = &norm,
                                                       .max_norm = 0.5},
                                          NULL),
                         TIDE_OK);
        for (size_t p = 0; p < 2; p++) {
            for (size_t i = 0; i < N[p]; i++) {
                all.want[p][i] *= 0.5 / (want + 1e-6);
            }
            assert_stored("clipped gradient", all.array[p], all.want[p], N[p], sum_tolerance(0, 3));
        }
        free(scratch);
        free_operands(&all);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw),
        cmocka_unit_test(norm_and_clip),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
