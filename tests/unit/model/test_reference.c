/* test_reference.c - the transformer against recorded PyTorch results, with right and with wrong
 * operators. */
#include "unit/model/ops/ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "model/reference/reference.h"
#include "model/reference/safetensors.h"

#define GOLDEN(name) TIDE_REFERENCE_DIR "/" name ".safetensors"

static tide_reference *open_golden(const char *path) {
    tide_reference *reference = NULL;
    tide_error error = {""};
    if (tide_reference_open(tide_hostmem_default(), path, &reference, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return reference;
}

static void check_all_ways(tide_device *device, const char *path) {
    tide_reference *reference = open_golden(path);
    for (int attention = 0; attention < TIDE_N_ATTENTIONS; attention++) {
        for (int recompute = 0; recompute < TIDE_N_RECOMPUTES; recompute++) {
            const tide_reference_run run = {.device = device,
                                            .attention = (tide_attention)attention,
                                            .recompute = (tide_recompute)recompute};
            tide_reference_report report;
            tide_error error = {""};
            if (tide_reference_check(reference, &run, &report, &error) != TIDE_OK) {
                fail_msg("%s: attention %d, recompute %d: %s", path, attention, recompute,
                         error.message);
            }
            size_t n_tensors = tide_model_n_tensors(&tide_reference_get_info(reference)->model);
            assert_int_equal(report.n_rows, 3 + 3 * n_tensors);
            assert_int_equal(report.n_failed, 0);
            for (size_t i = 0; i < report.n_rows; i++) {
                /* A tolerance that accepts everything tests nothing. The tolerances of "edge" are
                 * the widest, because rounding decides the sign of whole steps there. */
                bool whole = strncmp(report.rows[i].name, "param/", 6) == 0;
                if (!(report.rows[i].tolerance < (whole ? 0.04 : 0.02))) {
                    fail_msg("%s: %s is allowed %g", path, report.rows[i].name,
                             report.rows[i].tolerance);
                }
            }
            tide_reference_report_fini(&report);
        }
    }
    tide_reference_close(reference);
}

static void golden_files(void **state) {
    ops_fixture *fixture = *state;
    check_all_ways(fixture->device, GOLDEN("tiny_fp32"));
    check_all_ways(fixture->device, GOLDEN("odd_fp32"));
    check_all_ways(fixture->device, GOLDEN("edge_fp32"));
}

/* Wrong operators. Each is the right one with a fault; `right` is the original table. */
static const tide_ops_table *right;

static tide_status wrong_swiglu_backward(tide_ops *ops, const tide_swiglu_backward *call,
                                         tide_error *error) {
    TIDE_TRY(right->swiglu_backward(ops, call, error));
    float *d = call->dgate.data;
    for (size_t i = 0; i < call->n; i++) {
        d[i] *= 1.0001F;
    }
    return TIDE_OK;
}

static tide_status wrong_rope(tide_ops *ops, const tide_rope *call, tide_error *error) {
    tide_rope wrong = *call;
    wrong.inverse = !call->inverse;
    return right->rope(ops, &wrong, error);
}

/* RoPE's gradient does not rotate back. */
static tide_status wrong_rope_backward(tide_ops *ops, const tide_rope *call, tide_error *error) {
    tide_rope wrong = *call;
    wrong.inverse = false;
    return right->rope(ops, &wrong, error);
}

/* The factor 1 / sqrt(D) is missing. */
static tide_status wrong_attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                           tide_error *error) {
    size_t n = call->B * call->T * call->H * call->D;
    float scale = sqrtf((float)call->D);
    float *q = call->q.data;
    for (size_t i = 0; i < n; i++) {
        q[i] *= scale;
    }
    tide_status status = right->attention_forward(ops, call, error);
    for (size_t i = 0; i < n; i++) {
        q[i] /= scale;
    }
    return status;
}

static tide_status wrong_embedding_backward(tide_ops *ops, const tide_embedding_backward *call,
                                            tide_error *error) {
    TIDE_TRY(right->embedding_backward(ops, call, error));
    const int32_t *tokens = call->tokens;
    for (size_t r = 1; r < call->R; r++) {
        for (size_t before = 0; before < r; before++) {
            if (tokens[before] == tokens[r]) { /* overwrites instead of adding */
                memcpy((float *)call->dtable.data + (size_t)tokens[r] * call->C,
                       (float *)call->dout.data + r * call->C, call->C * sizeof(float));
            }
        }
    }
    return TIDE_OK;
}

static tide_status wrong_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                          tide_error *error) {
    tide_rmsnorm_backward wrong = *call;
    wrong.accumulate = false;
    return right->rmsnorm_backward(ops, &wrong, error);
}

static tide_status wrong_cross_entropy(tide_ops *ops, const tide_cross_entropy *call,
                                       tide_error *error) {
    TIDE_TRY(right->cross_entropy(ops, call, error));
    *call->loss *= 1.00001F;
    return TIDE_OK;
}

static tide_status wrong_adamw_decay(tide_ops *ops, const tide_adamw *call, tide_error *error) {
    tide_adamw wrong = *call;
    wrong.settings.weight_decay = 0;
    return right->adamw(ops, &wrong, error);
}

static tide_status wrong_adamw_step(tide_ops *ops, const tide_adamw *call, tide_error *error) {
    tide_adamw wrong = *call;
    wrong.t = 1; /* the same bias correction for ever */
    return right->adamw(ops, &wrong, error);
}

static tide_status wrong_matmul(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    TIDE_TRY(right->matmul(ops, call, error));
    if (call->kind == TIDE_MATMUL_TN) { /* one row of every weight's gradient is lost */
        memset(call->out.data, 0, call->n * sizeof(float));
    }
    return TIDE_OK;
}

static void use_table(void *ctx, tide_transformer *transformer) {
    tide_transformer_ops(transformer)->table = ctx;
}

static void check_rejected(tide_device *device, const tide_reference *reference, const char *what,
                           const tide_ops_table *wrong) {
    for (int attention = 0; attention < TIDE_N_ATTENTIONS; attention++) {
        tide_ops_table table = *wrong;
        const tide_reference_run run = {.device = device,
                                        .attention = (tide_attention)attention,
                                        .prepare = use_table,
                                        .prepare_ctx = &table};
        tide_reference_report report = {.n_rows = 0};
        tide_error error = {""};
        tide_status status = tide_reference_check(reference, &run, &report, &error);
        if (status != TIDE_GATE) {
            fail_msg("%s passes as %s: %s", what, tide_status_text(status), error.message);
        }
        assert_true(report.n_failed > 0);
        assert_non_null(strstr(error.message, "beyond their tolerance"));
        tide_reference_report_fini(&report);
    }
}

static void wrong_operators_are_rejected(void **state) {
    ops_fixture *fixture = *state;
    right = fixture->ops->table;
    static const char *const FILES[] = {GOLDEN("tiny_fp32"), GOLDEN("odd_fp32")};
    for (size_t f = 0; f < 2; f++) {
        tide_reference *reference = open_golden(FILES[f]);
        tide_ops_table wrong = *right;
#define REJECT(operator, fault)                                                                    \
    wrong = *right;                                                                                \
    wrong.operator=(fault);                                                                        \
    check_rejected(fixture->device, reference, #fault, &wrong)
        REJECT(swiglu_backward, wrong_swiglu_backward);
        REJECT(rope, wrong_rope);
        REJECT(rope, wrong_rope_backward);
        REJECT(attention_forward, wrong_attention_forward);
        REJECT(embedding_backward, wrong_embedding_backward);
        REJECT(rmsnorm_backward, wrong_rmsnorm_backward);
        REJECT(cross_entropy, wrong_cross_entropy);
        REJECT(adamw, wrong_adamw_decay);
        REJECT(adamw, wrong_adamw_step);
        REJECT(matmul, wrong_matmul);
#undef REJECT
        tide_reference_close(reference);
    }
}

static tide_reference_report report_with_threads(const tide_reference_run *run,
                                                 const tide_reference *reference, int n_threads) {
#ifdef _OPENMP
    int before = omp_get_max_threads();
    omp_set_num_threads(n_threads);
#endif
    tide_reference_report report;
    assert_int_equal(tide_reference_check(reference, run, &report, NULL), TIDE_OK);
#ifdef _OPENMP
    omp_set_num_threads(before);
#else
    (void)n_threads;
#endif
    return report;
}

/* Errors of all results, down to the last bit. */
static void threads_do_not_matter(void **state) {
    ops_fixture *fixture = *state;
    tide_reference *reference = open_golden(GOLDEN("odd_fp32"));
    for (int attention = 0; attention < TIDE_N_ATTENTIONS; attention++) {
        const tide_reference_run run = {.device = fixture->device,
                                        .attention = (tide_attention)attention};
        tide_reference_report one = report_with_threads(&run, reference, 1);
        for (int n_threads = 2; n_threads <= 4; n_threads += 2) {
            tide_reference_report many = report_with_threads(&run, reference, n_threads);
            assert_int_equal(one.n_rows, many.n_rows);
            for (size_t i = 0; i < one.n_rows; i++) {
                assert_memory_equal(&one.rows[i].error, &many.rows[i].error, sizeof(double));
            }
            tide_reference_report_fini(&many);
        }
        tide_reference_report_fini(&one);
    }
    tide_reference_close(reference);
}

static void what_cannot_be_compared_is_refused(void **state) {
    ops_fixture *fixture = *state;
    tide_reference *bf16 = open_golden(GOLDEN("tiny_bf16_mixed"));
    tide_reference *fp32_file = open_golden(GOLDEN("tiny_fp32"));
    tide_reference_report report = {.n_rows = 77};
    tide_error error = {""};
    tide_reference_run run = {.device = fixture->device};
    static const tide_precision OTHERS[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_TRUE};
    for (size_t i = 0; i < 2; i++) {
        run.precision = &OTHERS[i];
        assert_int_equal(tide_reference_check(bf16, &run, &report, &error), TIDE_UNSUPPORTED);
        assert_non_null(strstr(error.message, "holds results of bf16-mixed"));
    }
    static const tide_precision TF32 = TIDE_PRECISION_TF32;
    run.precision = &TF32;
    assert_int_equal(tide_reference_check(fp32_file, &run, &report, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "tf32"));
    run.precision = NULL;
    tide_device *nothing = NULL;
    assert_int_equal(tide_device_open("virtual", NULL, &nothing, NULL), TIDE_OK);
    run.device = nothing;
    assert_int_equal(tide_reference_check(fp32_file, &run, &report, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "virtual"));
    assert_int_equal(report.n_rows, 77);
    tide_device_close(nothing);
    tide_reference_close(fp32_file);
    tide_reference_close(bf16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files),
        cmocka_unit_test(wrong_operators_are_rejected),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
