/* test_work_shares.c - the time of a step in made-up recordings: operators without the operators
 * inside them, kernels by phase, steps of warm-up left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/work_shares.h"

#define MS INT64_C(1000000)

enum { STEP, WARMUP, FORWARD, BACKWARD, LAYER, ATTENTION, SCORES, SOFTMAX, VALUE, FFN, N_TEXTS };
static const char *const TEXTS[N_TEXTS] = {
    "step",      "warmup", "forward", "backward", "layer",
    "attention", "scores", "softmax", "value",    "ffn",
};

static tide_scope_row scope(uint32_t parent, int kind, uint32_t name, int64_t host_ms,
                            int64_t device_ms) {
    return (tide_scope_row){.duration_ns = host_ms < 0 ? -1 : host_ms * MS,
                            .device_begin_ns = -1,
                            .device_duration_ns = device_ms < 0 ? -1 : device_ms * MS,
                            .parent = parent,
                            .name = name,
                            .index = 0,
                            .kind = (uint8_t)kind};
}

/* Two measured steps after one step of warm-up, on a device of that kind. */
static tide_snapshot *make(const char *kind, const tide_scope_row *scopes, size_t n_scopes) {
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    tide_snapshot_device *device = tide_arena_alloc(&made->arena, 1, sizeof(*device));
    assert_non_null(device);
    *device = (tide_snapshot_device){.kind = kind, .name = kind};
    made->devices = device;
    made->n_devices = 1;
    made->timing.measured_steps = 2;
    made->strings = TEXTS;
    made->n_strings = N_TEXTS;
    made->scopes = scopes;
    made->n_scopes = n_scopes;
    return made;
}

static const tide_work_row *find(const tide_work_shares *shares, const char *phase,
                                 const char *name) {
    for (size_t i = 0; i < shares->n_rows; i++) {
        if (strcmp(shares->rows[i].name, name) == 0 &&
            strcmp(shares->phases[shares->rows[i].phase].name, phase) == 0) {
            return &shares->rows[i];
        }
    }
    fail_msg("no row %s in %s", name, phase);
    return NULL;
}

static void operators_count_their_own_time(void **state) {
    (void)state;
    const tide_scope_row scopes[] = {
        scope(TIDE_NONE, TIDE_SCOPE_STEP, WARMUP, 900, -1),
        scope(0, TIDE_SCOPE_PHASE, FORWARD, 900, -1),
        scope(1, TIDE_SCOPE_OPERATOR, FFN, 900, -1),
        scope(TIDE_NONE, TIDE_SCOPE_STEP, STEP, 130, -1),
        scope(3, TIDE_SCOPE_PHASE, FORWARD, 100, -1), /* 4 */
        scope(4, TIDE_SCOPE_LAYER, LAYER, 95, -1),    /* 5 */
        scope(5, TIDE_SCOPE_OPERATOR, ATTENTION, 60, -1),
        scope(6, TIDE_SCOPE_OPERATOR, SCORES, 8, -1),
        scope(6, TIDE_SCOPE_OPERATOR, SOFTMAX, 20, -1),
        scope(6, TIDE_SCOPE_OPERATOR, VALUE, 12, -1),
        scope(5, TIDE_SCOPE_OPERATOR, FFN, 30, -1),
        scope(3, TIDE_SCOPE_PHASE, BACKWARD, 30, -1), /* 11 */
        scope(11, TIDE_SCOPE_LAYER, LAYER, 30, -1),
        scope(12, TIDE_SCOPE_OPERATOR, FFN, 30, -1),
        scope(TIDE_NONE, TIDE_SCOPE_STEP, STEP, 60, -1),
        scope(14, TIDE_SCOPE_PHASE, FORWARD, 60, -1),
        scope(15, TIDE_SCOPE_LAYER, LAYER, 60, -1),
        scope(16, TIDE_SCOPE_OPERATOR, FFN, 50, -1),
    };
    tide_work_shares shares;
    tide_snapshot *made = make("cpu", scopes, sizeof(scopes) / sizeof(scopes[0]));
    assert_int_equal(tide_work_shares_init(&shares, made, false), TIDE_OK);
    assert_false(shares.is_by_kernel);
    assert_int_equal(shares.n_phases, 2);
    assert_string_equal(shares.phases[0].name, "forward");
    assert_float_equal(shares.phases[0].ms, 80, 1e-9); /* (100 + 60) / 2 */
    assert_float_equal(shares.phases[1].ms, 15, 1e-9);
    const tide_work_row *attention = find(&shares, "forward", "layer > attention");
    assert_float_equal(attention->ms, 10, 1e-9); /* (60 - 8 - 20 - 12) / 2 */
    assert_float_equal(attention->n_calls, 0.5, 1e-9);
    assert_true(attention->is_product);
    assert_float_equal(find(&shares, "forward", "layer > ffn")->ms, 40, 1e-9);
    assert_float_equal(find(&shares, "forward", "layer > ffn")->n_calls, 1, 1e-9);
    assert_false(find(&shares, "forward", "layer > attention > softmax")->is_product);
    assert_float_equal(shares.phases[0].product_ms, 60, 1e-9); /* 10 + 4 + 6 + 40 */
    assert_float_equal(shares.softmax_ms, 10, 1e-9);
    assert_float_equal(shares.products_ms, 10, 1e-9);
    double ms = 0;
    assert_string_equal(tide_work_shares_top(&shares, 0, &ms)->name, "layer > ffn");
    assert_float_equal(ms, 40, 1e-9);
    tide_work_shares_top(&shares, SIZE_MAX, &ms); /* both phases together */
    assert_float_equal(ms, 55, 1e-9);
    tide_work_shares_fini(&shares);
    tide_snapshot_destroy(made);
}

static void device_times_take_precedence(void **state) {
    (void)state;
    const tide_scope_row scopes[] = {
        scope(TIDE_NONE, TIDE_SCOPE_STEP, STEP, 1, 100),
        scope(0, TIDE_SCOPE_PHASE, FORWARD, 1, 90),
        scope(1, TIDE_SCOPE_OPERATOR, FFN, 1, 80),
    };
    tide_work_shares shares;
    tide_snapshot *made = make("cuda", scopes, 3);
    assert_int_equal(tide_work_shares_init(&shares, made, false), TIDE_OK);
    assert_float_equal(shares.phases[0].ms, 45, 1e-9);
    assert_float_equal(find(&shares, "forward", "ffn")->ms, 40, 1e-9);
    tide_work_shares_fini(&shares);
    tide_snapshot_destroy(made);
}

static void kernels_count_by_phase(void **state) {
    (void)state;
    static const char *const NAMES[] = {"forward",
                                        "backward",
                                        "forward > layer > attention > softmax",
                                        "forward > layer > attention > scores",
                                        "ampere_sgemm_128x64_tn",
                                        "softmax",
                                        "x",
                                        "nvjet_tst_128x256",
                                        "setup"};
    const tide_kernel_row kernels[] = {
        {.name = 4, .phase = 0, .path = 3, .n_launches = 8, .total_ns = 6 * MS},
        {.name = 4, .phase = 0, .path = 6, .n_launches = 2, .total_ns = 4 * MS},
        {.name = 5, .phase = 0, .path = 2, .n_launches = 4, .total_ns = 16 * MS},
        {.name = 7, .phase = 1, .path = 6, .n_launches = 4, .total_ns = 12 * MS},
        {.name = 6, .phase = TIDE_NONE, .path = 6, .n_launches = 4, .total_ns = 900 * MS},
    };
    tide_work_shares shares;
    tide_snapshot *made = make("cuda", NULL, 0);
    made->strings = NAMES;
    made->n_strings = sizeof(NAMES) / sizeof(NAMES[0]);
    made->kernels = kernels;
    made->n_kernels = sizeof(kernels) / sizeof(kernels[0]);
    assert_int_equal(tide_work_shares_init(&shares, made, true), TIDE_OK);
    assert_true(shares.is_by_kernel);
    assert_int_equal(shares.n_rows, 3);
    const tide_work_row *gemm = find(&shares, "forward", "ampere_sgemm_128x64_tn");
    assert_float_equal(gemm->ms, 5, 1e-9);
    assert_float_equal(gemm->n_calls, 5, 1e-9);
    assert_float_equal(shares.phases[0].ms, 13, 1e-9);
    assert_float_equal(shares.phases[0].product_ms, 5, 1e-9);
    assert_float_equal(shares.phases[1].product_ms, 6, 1e-9);
    assert_float_equal(shares.softmax_ms, 8, 1e-9);
    assert_float_equal(shares.products_ms, 3, 1e-9);
    double ms = 0;
    assert_string_equal(tide_work_shares_top(&shares, 0, &ms)->name, "softmax");
    tide_work_shares_fini(&shares);
    made->n_kernels = 0;
    assert_int_equal(tide_work_shares_init(&shares, made, true), TIDE_OK);
    assert_int_equal(shares.n_phases, 0);
    tide_work_shares_fini(&shares);
    tide_snapshot_destroy(made);
}

static void a_run_without_computation_has_no_shares(void **state) {
    (void)state;
    const tide_scope_row scopes[] = {
        scope(TIDE_NONE, TIDE_SCOPE_STEP, STEP, 1, -1),
        scope(0, TIDE_SCOPE_PHASE, FORWARD, 1, -1),
    };
    tide_work_shares shares;
    tide_snapshot *made = make("virtual", scopes, 2);
    assert_int_equal(tide_work_shares_init(&shares, made, false), TIDE_OK);
    assert_int_equal(shares.n_phases, 0);
    double ms = -1;
    assert_null(tide_work_shares_top(&shares, SIZE_MAX, &ms));
    tide_work_shares_fini(&shares);
    tide_snapshot_destroy(made);
}

static void products_are_known_by_name(void **state) {
    (void)state;
    assert_true(tide_work_is_product("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>"));
    assert_true(tide_work_is_product("sm90_xmma_gemm_bf16bf16_bf16f32"));
    assert_true(tide_work_is_product("void cublasLt::splitKreduce_kernel<32, 16>"));
    assert_true(tide_work_is_product("nvjet_hsh_256x128"));
    assert_false(tide_work_is_product("adamw"));
    assert_false(tide_work_is_product(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_count_their_own_time),
        cmocka_unit_test(device_times_take_precedence),
        cmocka_unit_test(kernels_count_by_phase),
        cmocka_unit_test(a_run_without_computation_has_no_shares),
        cmocka_unit_test(products_are_known_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
