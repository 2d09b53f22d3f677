/* test_reference_bf16.c - the transformer in bf16-mixed and bf16-true against exact results,
 * against PyTorch's autocast and against float64 arithmetic rounded where tidemark stores bf16; and
 * wrong operators must be detected there. */
#include "unit/model/ops/ops_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "model/bf16.h"
#include "model/reference/reference.h"

#define GOLDEN(name) TIDE_REFERENCE_DIR "/" name ".safetensors"

static tide_reference *open_golden(const char *path) {
    tide_reference *reference = NULL;
    tide_error error = {""};
    if (tide_reference_open(tide_hostmem_default(), path, &reference, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return reference;
}

/* A file, and the precision in which it is run. */
typedef struct golden {
    const char *path;
    tide_precision precision;
} golden;

static const golden GOLDENS[] = {
    {GOLDEN("tiny_fp32"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("odd_fp32"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("edge_fp32"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("tiny_bf16_mixed"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("odd_bf16_mixed"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("tiny_fp32"), TIDE_PRECISION_BF16_TRUE},
    {GOLDEN("odd_fp32"), TIDE_PRECISION_BF16_TRUE},
    {GOLDEN("edge_fp32"), TIDE_PRECISION_BF16_TRUE},
    {GOLDEN("tiny_fp32"), TIDE_PRECISION_FP16_MIXED},
    {GOLDEN("odd_fp32"), TIDE_PRECISION_FP16_MIXED},
    {GOLDEN("edge_fp32"), TIDE_PRECISION_FP16_MIXED},
};

static bool is_kind(const tide_reference_row *row, const char *kind) {
    return strncmp(row->name, kind, strlen(kind)) == 0;
}

/* A tolerance far above every error tests nothing: the errors of logits and of the worst gradient
 * are within a factor of 5 of theirs. No tolerance is as wide as the value that it bounds.
 */
static void check_tightness(const golden *file, const tide_reference_report *report) {
    double worst_gradient = 0;
    for (size_t i = 0; i < report->n_rows; i++) {
        const tide_reference_row *row = &report->rows[i];
        if (!(row->tolerance < (is_kind(row, "loss_after") ? 0.1 : 0.03))) {
            fail_msg("%s: %s is allowed %g", file->path, row->name, row->tolerance);
        }
        if (is_kind(row, "grad/")) {
            worst_gradient = fmax(worst_gradient, row->error / row->tolerance);
        }
    }
    assert_string_equal(report->rows[0].name, "logits");
    assert_true(report->rows[0].error > 0.2 * report->rows[0].tolerance);
    assert_true(worst_gradient > 0.2);
}

static void golden_files(void **state) {
    ops_fixture *fixture = *state;
    for (size_t f = 0; f < sizeof(GOLDENS) / sizeof(GOLDENS[0]); f++) {
        tide_reference *reference = open_golden(GOLDENS[f].path);
        for (int variant = 0; variant < 4; variant++) {
            const tide_reference_run run = {.device = fixture->device,
                                            .attention = (tide_attention)(variant & 1),
                                            .recompute = (tide_recompute)(variant >> 1),
                                            .precision = &GOLDENS[f].precision};
            tide_reference_report report;
            tide_error error = {""};
            if (tide_reference_check(reference, &run, &report, &error) != TIDE_OK) {
                fail_msg("%s in %s: variant %d: %s", GOLDENS[f].path,
                         tide_precision_name((int)GOLDENS[f].precision), variant, error.message);
            }
            check_tightness(&GOLDENS[f], &report);
            tide_reference_report_fini(&report);
        }
        tide_reference_close(reference);
    }
}

/* The file rounds where tidemark rounds, so only fp32 arithmetic differs. */
static const char *const STORED[] = {GOLDEN("stored_mixed_flash"), GOLDEN("stored_mixed_naive"),
                                     GOLDEN("stored_mixed_long"), GOLDEN("stored_true_flash"),
                                     GOLDEN("stored_true_naive")};

static void stored_files_are_met_to_fp32(void **state) {
    ops_fixture *fixture = *state;
    for (size_t f = 0; f < sizeof(STORED) / sizeof(STORED[0]); f++) {
        tide_reference *reference = open_golden(STORED[f]);
        const tide_reference_info *info = tide_reference_get_info(reference);
        assert_true(info->own_storage);
        for (int variant = 0; variant < 4; variant++) {
            const tide_reference_run run = {.device = fixture->device,
                                            .attention = (tide_attention)(variant & 1),
                                            .recompute = (tide_recompute)(variant >> 1)};
            tide_reference_report report;
            tide_error error = {""};
            if (tide_reference_check(reference, &run, &report, &error) != TIDE_OK) {
                fail_msg("%s: variant %d: %s", STORED[f], variant, error.message);
            }
            /* With the file's own attention. Parameters may differ by steps whose sign is
             * undecided. */
            for (size_t i = 0; i < report.n_rows && run.attention == info->attention; i++) {
                const tide_reference_row *row = &report.rows[i];
                assert_true(is_kind(row, "param/") || is_kind(row, "loss_after") ||
                            row->tolerance < (is_kind(row, "step/") ? 1e-3 : 1e-5));
            }
            tide_reference_report_fini(&report);
        }
        tide_reference_close(reference);
    }
}

/* Wrong operators. Each is the right one with a fault; `right` is the original table. */
static const tide_ops_table *right;

static float get(tide_array array, size_t i) {
    return array.dtype == TIDE_BF16 ? tide_bf16_to_fp32(((const uint16_t *)array.data)[i])
                                    : ((const float *)array.data)[i];
}

static void set(tide_array array, size_t i, float value) {
    if (array.dtype == TIDE_BF16) {
        ((uint16_t *)array.data)[i] = tide_fp32_to_bf16(value);
    } else {
        ((float *)array.data)[i] = value;
    }
}

static float rounded(float x) {
    return tide_bf16_to_fp32(tide_fp32_to_bf16(x));
}

/* 2 % too large. */
static tide_status wrong_scale(tide_ops *ops, const tide_swiglu_backward *call, tide_error *error) {
    TIDE_TRY(right->swiglu_backward(ops, call, error));
    for (size_t i = 0; i < call->n; i++) {
        set(call->dgate, i, 1.02F * get(call->dgate, i));
        set(call->dup, i, 1.02F * get(call->dup, i));
    }
    return TIDE_OK;
}

/* The first query of every sequence and head also sees the second key. */
static tide_status wrong_mask(tide_ops *ops, const tide_attention_forward *call,
                              tide_error *error) {
    TIDE_TRY(right->attention_forward(ops, call, error));
    size_t C = call->H * call->D;
    for (size_t bh = 0; call->T > 1 && bh < call->B * call->H; bh++) {
        size_t at = bh / call->H * call->T * C + bh % call->H * call->D;
        double score = 0; /* of the second key less that of the first */
        for (size_t d = 0; d < call->D; d++) {
            score += (double)get(call->q, at + d) *
                     ((double)get(call->k, at + C + d) - (double)get(call->k, at + d));
        }
        float p = (float)(1 / (1 + exp(-score / sqrt((double)call->D))));
        for (size_t d = 0; d < call->D; d++) {
            set(call->out, at + d, (1 - p) * get(call->v, at + d) + p * get(call->v, at + C + d));
        }
    }
    return TIDE_OK;
}

/* The copy of a weight is never updated: the first one stays. */
enum { MAX_COPIES = 64 };
typedef struct stale_copies {
    const void *masters[MAX_COPIES]; /* addresses of parameters */
    uint16_t *copies[MAX_COPIES];    /* owned; NULL: none yet */
    size_t n;                        /* parameters */
} stale_copies;
static stale_copies stale;

static tide_status wrong_copy(tide_ops *ops, const tide_cast *call, tide_error *error) {
    TIDE_TRY(right->cast(ops, call, error));
    size_t n_bytes = call->n * sizeof(uint16_t);
    for (size_t i = 0; i < stale.n; i++) {
        if (stale.masters[i] == call->x.data) {
            if (stale.copies[i] == NULL) {
                stale.copies[i] = malloc(n_bytes);
                assert_non_null(stale.copies[i]);
                memcpy(stale.copies[i], call->out.data, n_bytes);
            }
            memcpy(call->out.data, stale.copies[i], n_bytes);
        }
    }
    return TIDE_OK;
}

/* Sums are kept in bf16. */
static tide_status wrong_accumulator(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    (void)ops;
    (void)error;
    bool tn = call->kind == TIDE_MATMUL_TN;
    bool nt = call->kind == TIDE_MATMUL_NT;
    for (size_t i = 0; i < call->m; i++) { /* out[i][:] */
        for (size_t j = 0; j < call->n; j++) {
            float sum = call->accumulate ? get(call->out, i * call->n + j) : 0;
            for (size_t k = 0; k < call->k; k++) {
                float a = get(call->a, tn ? k * call->m + i : i * call->k + k);
                float b = get(call->b, nt ? j * call->k + k : k * call->n + j);
                sum = rounded(sum + a * b);
            }
            set(call->out, i * call->n + j, sum);
        }
    }
    return TIDE_OK;
}

/* Weight gradients are rounded to bf16, as autocast does; fp32 gradients are not rounded here. */
static tide_status wrong_gradient(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    TIDE_TRY(right->matmul(ops, call, error));
    for (size_t i = 0; call->kind == TIDE_MATMUL_TN && i < call->m * call->n; i++) {
        set(call->out, i, rounded(get(call->out, i)));
    }
    return TIDE_OK;
}

static tide_status wrong_decay(tide_ops *ops, const tide_adamw *call, tide_error *error) {
    tide_adamw wrong = *call;
    wrong.settings.weight_decay = 0;
    return right->adamw(ops, &wrong, error);
}

/* The gradient of the residual stream is overwritten instead of added to. */
static tide_status wrong_norm(tide_ops *ops, const tide_rmsnorm_backward *call, tide_error *error) {
    tide_rmsnorm_backward wrong = *call;
    wrong.accumulate = false;
    return right->rmsnorm_backward(ops, &wrong, error);
}

static void use_table(void *ctx, tide_transformer *transformer) {
    tide_transformer_ops(transformer)->table = ctx;
    stale.n = tide_transformer_n_parameters(transformer);
    assert_true(stale.n <= MAX_COPIES);
    for (size_t i = 0; i < stale.n; i++) {
        stale.masters[i] = tide_transformer_parameter(transformer, i)->value.array.data;
        free(stale.copies[i]);
        stale.copies[i] = NULL;
    }
}

/* Under every attention to which the file's tolerances apply, the table must be rejected, or pass.
 */
static void check_table(tide_device *device, const golden *file, const char *what,
                        const tide_ops_table *wrong, tide_status expected) {
    tide_reference *reference = open_golden(file->path);
    const tide_reference_info *info = tide_reference_get_info(reference);
    for (int attention = 0; attention < TIDE_N_ATTENTIONS; attention++) {
        if (info->own_storage && (int)info->attention != attention) {
            continue;
        }
        tide_ops_table table = *wrong;
        const tide_reference_run run = {.device = device,
                                        .attention = (tide_attention)attention,
                                        .precision = &file->precision,
                                        .prepare = use_table,
                                        .prepare_ctx = &table};
        tide_reference_report report = {.n_rows = 0};
        tide_error error = {""};
        tide_status status = tide_reference_check(reference, &run, &report, &error);
        if (status != expected) {
            fail_msg("%s in %s, attention %d: %s: %s", what, file->path, attention,
                     tide_status_text(status), error.message);
        }
        tide_reference_report_fini(&report);
    }
    tide_reference_close(reference);
}

enum { N_FILES = 7 };
static const golden JUDGES[N_FILES] = {
    {GOLDEN("tiny_fp32"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("tiny_bf16_mixed"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("stored_mixed_flash"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("stored_mixed_naive"), TIDE_PRECISION_BF16_MIXED},
    {GOLDEN("tiny_fp32"), TIDE_PRECISION_BF16_TRUE},
    {GOLDEN("stored_true_flash"), TIDE_PRECISION_BF16_TRUE},
    {GOLDEN("stored_true_naive"), TIDE_PRECISION_BF16_TRUE},
};

/* The files in which a fault must show, in the order of JUDGES: 'x'; those that cannot detect it:
 * '.'. bf16's own tolerance hides gradients that are rounded once more, which is what autocast
 * does; bf16-true has no copies and rounds its gradients anyway, and loses a decay of lr 0.00001 in
 * the rounding of the parameter. */
static void check_fault(tide_device *device, const char *what, const tide_ops_table *wrong,
                        const char *seen) {
    assert_int_equal(strlen(seen), N_FILES);
    for (size_t f = 0; f < N_FILES; f++) {
        check_table(device, &JUDGES[f], what, wrong, seen[f] == 'x' ? TIDE_GATE : TIDE_OK);
    }
}

static void wrong_operators_are_rejected(void **state) {
    ops_fixture *fixture = *state;
    right = fixture->ops->table;
    tide_ops_table wrong = *right;
#define FAULT(operator, fault, seen)                                                               \
    wrong = *right;                                                                                \
    wrong.operator=(fault);                                                                        \
    check_fault(fixture->device, #fault, &wrong, seen)
    FAULT(swiglu_backward, wrong_scale, "xxxxxxx");
    FAULT(attention_forward, wrong_mask, "xxxxxxx");
    FAULT(rmsnorm_backward, wrong_norm, "xxxxxxx");
    FAULT(matmul, wrong_accumulator, "xxxxxxx");
    FAULT(adamw, wrong_decay, "xxxx.xx");
    FAULT(cast, wrong_copy, "xxxx...");
    FAULT(matmul, wrong_gradient, "..xx...");
#undef FAULT
    for (size_t i = 0; i < MAX_COPIES; i++) {
        free(stale.copies[i]);
    }
}

/* Errors of all results, down to the last bit. */
static void threads_do_not_matter(void **state) {
    ops_fixture *fixture = *state;
    for (size_t f = 0; f < N_FILES; f++) {
        tide_reference *reference = open_golden(JUDGES[f].path);
        for (int attention = 0; attention < TIDE_N_ATTENTIONS; attention++) {
            tide_reference_report reports[3];
            for (int i = 0; i < 3; i++) {
                const tide_reference_run run = {.device = fixture->device,
                                                .attention = (tide_attention)attention,
                                                .precision = &JUDGES[f].precision};
#ifdef _OPENMP
                int before = omp_get_max_threads();
                omp_set_num_threads(1 << i);
#endif
                assert_int_equal(tide_reference_check(reference, &run, &reports[i], NULL), TIDE_OK);
#ifdef _OPENMP
                omp_set_num_threads(before);
#endif
            }
            for (size_t row = 0; row < reports[0].n_rows; row++) {
                for (int i = 1; i < 3; i++) {
                    assert_memory_equal(&reports[0].rows[row].error, &reports[i].rows[row].error,
                                        sizeof(double));
                }
            }
            for (int i = 0; i < 3; i++) {
                tide_reference_report_fini(&reports[i]);
            }
        }
        tide_reference_close(reference);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files),
        cmocka_unit_test(stored_files_are_met_to_fp32),
        cmocka_unit_test(wrong_operators_are_rejected),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
