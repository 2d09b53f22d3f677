/* test_bench.c - rounds of samples, their figures, the verdict on targets, and a run as data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/bench/run_internal.h"

/* Samples with known values, and the order in which they were requested. */
typedef struct script {
    const double *samples; /* the first one warms up */
    size_t n_done;
    char *order; /* shared by all scripts: one letter each */
    char letter;
    size_t fail_at; /* the sample that fails; 0: none */
} script;

static tide_status play(void *ctx, double *ret_ns, tide_error *error) {
    script *at = ctx;
    size_t n = strlen(at->order);
    at->order[n] = at->letter;
    at->order[n + 1] = '\0';
    *ret_ns = at->samples[at->n_done++];
    return at->fail_at == at->n_done ? tide_fail(error, TIDE_DEVICE_FAILED, "no more") : TIDE_OK;
}

static const double SLOW[] = {900.0, 20.0, 60.0, 30.0};
static const double FAST[] = {900.0, 10.0, 20.0, 30.0};

static void ratios_are_taken_within_a_round(void **state) {
    (void)state;
    char order[32] = "";
    script slow = {SLOW, 0, order, 's', 0};
    script fast = {FAST, 0, order, 'f', 0};
    tide_bench_group group = {.name = "work",
                              .variants = {{.name = "fast", .sample = play, .ctx = &fast},
                                           {.name = "slow", .sample = play, .ctx = &slow}},
                              .n_variants = 2};
    assert_int_equal(tide_bench_measure(&group, 3, NULL), TIDE_OK);
    assert_string_equal(order, "fsfssffs");
    assert_int_equal(group.n_rounds, 3);
    assert_true(tide_bench_min(&group, 1) == 20.0);
    assert_true(tide_bench_median(&group, 1) == 30.0);
    assert_true(tide_bench_added(&group, 1, 0) == 10.0);
    assert_true(tide_bench_ratio(&group, 1, 0) == 2.0); /* of 2, 3 and 1 */
}

static void a_failed_sample_ends_the_benchmark(void **state) {
    (void)state;
    char order[32] = "";
    script slow = {SLOW, 0, order, 's', 3};
    tide_bench_group group = {.name = "work",
                              .variants = {{.name = "slow", .sample = play, .ctx = &slow}},
                              .n_variants = 1};
    tide_error error = {""};
    assert_int_equal(tide_bench_measure(&group, 3, &error), TIDE_DEVICE_FAILED);
    assert_string_equal(error.message, "no more");
    assert_int_equal(group.n_rounds, 1);
}

/* Whether a target of 10, measured as `measured`, counts as missed. */
static bool is_missed(double measured) {
    tide_bench_run run = {.mem = NULL};
    tide_bench_add_target(&run, "always", "ns", 10.0, 1.0);
    tide_bench_add_target(&run, "a pair", "ns", 10.0, measured);
    return tide_bench_some_target_is_missed(&run);
}

static void a_target_is_a_bound(void **state) {
    (void)state;
    assert_false(is_missed(9.9));
    assert_false(is_missed(10.0));
    assert_true(is_missed(10.1));
    assert_true(is_missed(-1.0));
}

static const tide_bench *find(const char *name) {
    for (size_t i = 0; tide_bench_at(i) != NULL; i++) {
        if (strcmp(tide_bench_at(i)->name, name) == 0) {
            return tide_bench_at(i);
        }
    }
    return NULL;
}

/* The settings follow from the kind of operation. */
static void a_subject_takes_what_it_can_use(void **state) {
    (void)state;
    const unsigned always =
        TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_SIZES | TIDE_BENCH_TAKES_TARGET;
    assert_int_equal(tide_bench_takes(find("copy")), always | TIDE_BENCH_TAKES_FLUSH);
    assert_int_equal(tide_bench_takes(find("matmul")), always | TIDE_BENCH_TAKES_DTYPE);
    assert_int_equal(tide_bench_takes(find("mlp-norm")), always | TIDE_BENCH_TAKES_DTYPE |
                                                             TIDE_BENCH_TAKES_FLUSH |
                                                             TIDE_BENCH_TAKES_PEAK);
    assert_int_equal(tide_bench_takes(find("allocator")), TIDE_BENCH_TAKES_GATE);
}

/* The settings of a brief measurement on the cpu. */
static tide_bench_settings brief(const char *dtype) {
    return (tide_bench_settings){.n_rounds = 3,
                                 .is_brief = true,
                                 .device = "cpu",
                                 .dtypes = {dtype},
                                 .n_dtypes = 1,
                                 .batch = TIDE_BENCH_NOT_GIVEN,
                                 .dim = TIDE_BENCH_NOT_GIVEN,
                                 .layers = TIDE_BENCH_NOT_GIVEN,
                                 .steps = TIDE_BENCH_NOT_GIVEN,
                                 .calls = 1};
}

static void keep_text(void *ctx, const char *text) {
    (void)snprintf(ctx, 128, "%s", text);
}

static void a_run_leaves_rows_and_records(void **state) {
    (void)state;
    char shown[128] = "";
    tide_bench_settings settings = brief("fp32");
    settings.sizes[0] = 8;
    settings.sizes[1] = 16;
    settings.n_sizes = 2;
    settings.target = 1e9;
    settings.show = keep_text;
    settings.show_ctx = shown;
    tide_bench_run *run = NULL;
    assert_int_equal(tide_bench_run_create(tide_hostmem_default(), &settings, &run), TIDE_OK);
    assert_int_equal(tide_bench_run_measure(run, find("matmul"), NULL), TIDE_OK);
    assert_string_equal(shown, "matmul n=16, fp32");
    assert_int_equal(run->n_rows, 2);
    assert_string_equal(run->rows[1].label, "n=16");
    assert_int_equal(run->rows[1].timing.n_samples, 3);
    assert_true(run->rows[1].us.median > 0.0);
    /* 2 n^3 FLOP; FLOP per us / 1e6 are TFLOP/s */
    const double tflops = 2.0 * 16 * 16 * 16 / run->rows[1].us.median / 1e6;
    assert_true(run->rows[1].rate > 0.999 * tflops && run->rows[1].rate < 1.001 * tflops);
    assert_int_equal(run->n_records, 3); /* also the mean, which alone is judged */
    assert_string_equal(run->records[2].label, "mean of 2 sizes");
    assert_false(tide_bench_record_is_missed(run, &run->records[0]));
    assert_true(tide_bench_record_is_missed(run, &run->records[2]));
    assert_true(tide_bench_some_record_is_missed(run));
    assert_int_equal(run->n_notes, 1);
    assert_true(run->notes[0].is_below);
    assert_string_equal(run->environment.device_kind, "cpu");
    tide_bench_run_destroy(run);
}

/* The target is for another card: it is compared, but only --target affects the exit status. */
static void a_stated_target_is_shown_and_decides_nothing(void **state) {
    (void)state;
    tide_bench_settings settings = brief("int8");
    tide_bench_run *run = NULL;
    assert_int_equal(tide_bench_run_create(tide_hostmem_default(), &settings, &run), TIDE_OK);
    assert_int_equal(tide_bench_run_measure(run, find("gather-gemv"), NULL), TIDE_OK);
    tide_bench_record *record = &run->records[run->n_records - 1];
    assert_true(tide_bench_record_target_is_stated(run, record));
    assert_true(tide_bench_record_target(run, record) == 990.0);
    record->actual = 1.0;
    assert_false(tide_bench_some_record_is_missed(run));
    settings.target = 5.0; /* the caller's comes first and decides */
    assert_true(tide_bench_record_target(run, record) == 5.0);
    assert_false(tide_bench_record_target_is_stated(run, record));
    assert_true(tide_bench_some_record_is_missed(run));
    tide_bench_run_destroy(run);
}

/* The target holds for the experiment's own sizes; other sizes have none. */
static void other_sizes_have_no_stated_target(void **state) {
    (void)state;
    tide_bench_settings settings = brief("bf16");
    tide_bench_run *run = NULL;
    settings.sizes[0] = 32;
    settings.n_sizes = 1;
    assert_int_equal(tide_bench_run_create(tide_hostmem_default(), &settings, &run), TIDE_OK);
    assert_int_equal(tide_bench_run_measure(run, find("gemv"), NULL), TIDE_OK);
    assert_true(tide_bench_record_target(run, &run->records[0]) == 0.0);
    tide_bench_run_destroy(run);
}

/* Two products of a vector, 64 -> 128 -> 64 in a brief run; bf16 is asked for 0.8 of the peak. */
static void mlp_norm_is_a_share_of_the_peak(void **state) {
    (void)state;
    tide_bench_settings settings = brief("bf16");
    settings.peak_tflops = 0.5;
    tide_bench_run *run = NULL;
    assert_int_equal(tide_bench_run_create(tide_hostmem_default(), &settings, &run), TIDE_OK);
    assert_int_equal(tide_bench_run_measure(run, find("mlp-norm"), NULL), TIDE_OK);
    const double share = 4.0 * 64 * 128 / run->rows[0].us.median / 1e6 / 0.5;
    const tide_bench_record *record = &run->records[0];
    assert_true(record->actual > 0.999 * share && record->actual < 1.001 * share);
    assert_string_equal(record->name, "mlp_layer_norm_gelu");
    assert_string_equal(record->metric, "flops_utilization");
    assert_true(tide_bench_record_target(run, record) == 0.8);
    tide_bench_run_destroy(run);
    settings.peak_tflops = 0.0; /* a processor has no stated peak: 0.8 is not a TFLOP/s */
    assert_int_equal(tide_bench_run_create(tide_hostmem_default(), &settings, &run), TIDE_OK);
    assert_int_equal(tide_bench_run_measure(run, find("mlp-norm"), NULL), TIDE_OK);
    assert_true(tide_bench_record_target(run, &run->records[0]) == 0.0);
    tide_bench_run_destroy(run);
}

static void the_suite_is_that_of_gpt_fast(void **state) {
    (void)state;
    static const char *const NAMES[] = {"mlp-norm", "layernorm", "gather-gemv", "gemv"};
    const tide_bench *suite = find("suite");
    const unsigned takes = tide_bench_takes(suite);
    unsigned taken_by_parts = 0;
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(suite->parts[i]->name, NAMES[i]);
        taken_by_parts |= tide_bench_takes(suite->parts[i]);
    }
    assert_null(suite->parts[4]);
    assert_int_equal(takes & ~taken_by_parts, 0); /* no setting without an effect */
}

static void the_card_of_stated_targets_is_known_by_its_name(void **state) {
    (void)state;
    assert_true(tide_bench_is_stated_card("NVIDIA A100-SXM4-40GB"));
    assert_true(tide_bench_is_stated_card("NVIDIA A100-PCIE-40GB"));
    assert_false(tide_bench_is_stated_card("NVIDIA A100-SXM4-80GB"));
    assert_false(tide_bench_is_stated_card("NVIDIA H100 80GB HBM3"));
    assert_false(tide_bench_is_stated_card("CPU"));
}

static void a_setting_that_makes_no_sense_is_named(void **state) {
    (void)state;
    tide_bench_settings settings = brief("int4");
    tide_error error = {""};
    tide_bench_run *run = NULL;
    assert_int_equal(tide_bench_run_create(tide_hostmem_default(), &settings, &run), TIDE_OK);
    assert_int_equal(tide_bench_run_measure(run, find("gemv"), &error), TIDE_INVALID);
    assert_string_equal(error.message,
                        "--dtype int4: this benchmark computes only bf16, int8, fp32");
    assert_int_equal(run->n_rows, 0);
    tide_bench_run_destroy(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_taken_within_a_round),
        cmocka_unit_test(a_failed_sample_ends_the_benchmark),
        cmocka_unit_test(a_target_is_a_bound),
        cmocka_unit_test(a_subject_takes_what_it_can_use),
        cmocka_unit_test(a_run_leaves_rows_and_records),
        cmocka_unit_test(a_stated_target_is_shown_and_decides_nothing),
        cmocka_unit_test(other_sizes_have_no_stated_target),
        cmocka_unit_test(mlp_norm_is_a_share_of_the_peak),
        cmocka_unit_test(the_suite_is_that_of_gpt_fast),
        cmocka_unit_test(the_card_of_stated_targets_is_known_by_its_name),
        cmocka_unit_test(a_setting_that_makes_no_sense_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
