/* test_fit.c - the value that a search finds fits, and the next one does not; the same for the
 * bytes that the next value needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/run/fit.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* The quantity to maximise: on a card, or within a limit (0: none). */
static tide_fit_question question_of(tide_run_quantity quantity, const char *device,
                                     uint64_t limit_bytes) {
    tide_fit_question question = {.quantity = quantity, .multiple_of = 1};
    tide_run_model_init(&question.config);
    question.config.limits.device = device;
    if (limit_bytes != 0) {
        question.config.limits.memory_limit_bytes = limit_bytes;
    }
    tide_run_model_of(&question.config.workload)->warmup_steps = 0;
    tide_run_model_of(&question.config.workload)->steps = 15;
    return question;
}

static tide_workload_config *model_of(tide_fit_question *question) {
    return tide_run_model_of(&question->config.workload);
}

static void set_size(tide_fit_question *question, const char *size) {
    assert_int_equal(tide_model_config_preset(size, &model_of(question)->model, NULL), TIDE_OK);
}

static bool fits(const tide_fit_question *question, const tide_run_limits *limits, uint64_t value) {
    tide_run_config config;
    tide_run_memory memory;
    bool is_fitting = false;
    assert_int_equal(tide_fit_apply(question, value, &config, NULL), TIDE_OK);
    config.limits = *limits;
    assert_int_equal(tide_run_try(&config, &is_fitting, &memory, NULL), TIDE_OK);
    assert_true(memory.reserved_peak_bytes >= memory.allocated_peak_bytes);
    assert_true(memory.allocated_peak_bytes >= memory.requested_peak_bytes);
    return is_fitting;
}

/* The largest value, found by trying all values up to where none can fit. */
static uint64_t largest_by_trying(const tide_fit_question *question, uint64_t usable_bytes) {
    uint64_t largest = 0;
    for (uint64_t value = question->multiple_of;; value += question->multiple_of) {
        tide_run_config config;
        if (tide_fit_apply(question, value, &config, NULL) != TIDE_OK ||
            tide_workload_requested_peak_bytes(tide_run_model_of(&config.workload)) >
                usable_bytes) {
            return largest;
        }
        largest = fits(question, &question->config.limits, value) ? value : largest;
    }
}

/* The answer holds on both sides, and so does the need of the next value. */
static tide_fit_answer check(const tide_fit_question *question) {
    tide_fit_answer answer;
    assert_int_equal(tide_fit_search(question, &answer, NULL), TIDE_OK);
    if (answer.value != 0) {
        assert_true(fits(question, &question->config.limits, answer.value));
        assert_true(answer.memory.reserved_peak_bytes > 0);
        assert_true((uint64_t)answer.memory.reserved_peak_bytes <= answer.usable_bytes);
    }
    if (answer.next_value != 0) {
        tide_run_limits limits = question->config.limits;
        assert_true(answer.next_value > answer.value);
        assert_false(fits(question, &question->config.limits, answer.next_value));
        assert_true((uint64_t)answer.next_memory.reserved_peak_bytes > answer.usable_bytes);
        limits.ignores_device = true;
        limits.memory_limit_bytes = answer.needed_bytes;
        assert_true(fits(question, &limits, answer.next_value));
        limits.memory_limit_bytes = answer.needed_bytes - TIDE_FIT_GRAIN;
        assert_false(fits(question, &limits, answer.next_value));
    }
    return answer;
}

static void the_named_batch_is_the_largest(void **state) {
    (void)state;
    static const struct {
        const char *size;
        tide_mode mode;
        tide_precision precision;
        tide_attention attention;
        tide_recompute recompute;
        size_t context;
        uint64_t limit_bytes;
    } CASES[] = {
        {"small", TIDE_TRAIN, TIDE_PRECISION_FP32, 0, 0, 128, 4 * GIB},
        {"small", TIDE_TRAIN, TIDE_PRECISION_BF16_MIXED, 1, 0, 512, 8 * GIB},
        {"small", TIDE_FORWARD, TIDE_PRECISION_BF16_TRUE, 0, 0, 1000, 3 * GIB},
        {"medium", TIDE_FORWARD_BACKWARD, TIDE_PRECISION_FP32, 0, 1, 256, 10 * GIB},
        {"2.7B", TIDE_TRAIN, TIDE_PRECISION_FP32, 0, 0, 512, 60 * GIB},
        {"2.7B", TIDE_TRAIN, TIDE_PRECISION_BF16_MIXED, 0, 1, 2048, 80 * GIB},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_fit_question question =
            question_of(TIDE_RUN_QUANTITY_BATCH, "virtual", CASES[i].limit_bytes);
        set_size(&question, CASES[i].size);
        tide_run_model_of(&question.config.workload)->mode = CASES[i].mode;
        tide_run_model_of(&question.config.workload)->precision = CASES[i].precision;
        tide_run_model_of(&question.config.workload)->attention = CASES[i].attention;
        tide_run_model_of(&question.config.workload)->recompute = CASES[i].recompute;
        tide_run_model_of(&question.config.workload)->model.context_length = CASES[i].context;
        tide_fit_answer answer = check(&question);
        assert_true(answer.value > 1);
        assert_int_equal(answer.usable_bytes, CASES[i].limit_bytes);
        uint64_t largest = largest_by_trying(&question, answer.usable_bytes);
        assert_true(!answer.is_every_one_seen || answer.value == largest);
    }
}

/* Segments are multiples of 2 MiB, so that under pressure an even context may fit above odd ones
 * that do not: bisection alone ends far below the answer. */
static void a_value_above_those_that_do_not_fit_is_found(void **state) {
    (void)state;
    tide_fit_question question =
        question_of(TIDE_RUN_QUANTITY_CONTEXT, "virtual", UINT64_C(9306353664));
    set_size(&question, "large");
    tide_run_model_of(&question.config.workload)->mode = TIDE_FORWARD_BACKWARD;
    question.multiple_of = 8;
    tide_fit_answer answer = check(&question);
    assert_true(answer.is_every_one_seen);
    assert_int_equal(answer.value, largest_by_trying(&question, answer.usable_bytes));
    assert_true(answer.lowest_unfit > 0 && answer.lowest_unfit < answer.value);
    assert_false(fits(&question, &question.config.limits, answer.lowest_unfit));
}

static void contexts_and_layers_are_found(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_RUN_QUANTITY_CONTEXT, "virtual:h100-80", 0);
    set_size(&question, "xl");
    tide_run_model_of(&question.config.workload)->attention = TIDE_ATTENTION_NAIVE;
    tide_fit_answer any = check(&question);
    question.multiple_of = 128;
    tide_fit_answer rounded = check(&question);
    assert_int_equal(rounded.value % 128, 0);
    assert_int_equal(rounded.next_value, rounded.value + 128);
    assert_true(rounded.value <= any.value && any.value < rounded.next_value + 128);
    question = question_of(TIDE_RUN_QUANTITY_LAYERS, "virtual:rtx4060", 0);
    tide_fit_answer layers = check(&question);
    assert_true(layers.value > 12);
}

static void the_largest_preset_is_found(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_RUN_QUANTITY_PRESET, "virtual:h100-80", 0);
    tide_fit_answer answer = check(&question);
    assert_string_equal(tide_model_preset_name((size_t)answer.value - 1), "2.7B");
    assert_int_equal(answer.next_value, answer.value + 1);
    tide_run_model_of(&question.config.workload)->mode = TIDE_FORWARD;
    tide_run_model_of(&question.config.workload)->precision = TIDE_PRECISION_BF16_TRUE;
    answer = check(&question); /* the largest possible */
    assert_int_equal(answer.next_value, 0);
    assert_null(tide_model_preset_name((size_t)answer.value));
}

static void nothing_may_fit(void **state) {
    (void)state;
    /* With the closed forms only, and with runs of what they do not rule out. */
    tide_fit_question question = question_of(TIDE_RUN_QUANTITY_BATCH, "virtual:rtx4060", 0);
    set_size(&question, "2.7B");
    tide_fit_answer answer = check(&question);
    assert_int_equal(answer.value, 0);
    assert_int_equal(answer.next_value, 1);
    assert_true(answer.needed_bytes > 50 * GIB);
    question.quantity = TIDE_RUN_QUANTITY_PRESET;
    question.config.limits.memory_limit_bytes = 64 * MIB;
    answer = check(&question);
    assert_int_equal(answer.value, 0);
}

static void everything_may_fit(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_RUN_QUANTITY_BATCH, "virtual", (uint64_t)1 << 61);
    tide_run_model_of(&question.config.workload)->mode = TIDE_FORWARD;
    tide_run_model_of(&question.config.workload)->model = (tide_model_config){.size = "custom",
                                                                              .vocab_size = 2,
                                                                              .d_model = 2,
                                                                              .d_ff = 1,
                                                                              .n_layers = 1,
                                                                              .n_heads = 1,
                                                                              .context_length = 1,
                                                                              .batch_size = 1,
                                                                              .rope_theta = 10000};
    tide_fit_answer answer = check(&question);
    assert_int_equal(answer.next_value, 0);
    assert_int_equal(answer.value, INT32_MAX);
    assert_true(answer.is_every_one_seen);
    tide_error error = {""};
    question.config.limits.memory_limit_bytes = TIDE_RUN_UNLIMITED;
    assert_int_equal(tide_fit_search(&question, &answer, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "no end"));
}

/* The same questions for PyTorch's allocations, which are larger. */
static void pytorch_forecasts_are_searched_too(void **state) {
    (void)state;
    static const tide_run_quantity WHATS[] = {TIDE_RUN_QUANTITY_BATCH, TIDE_RUN_QUANTITY_CONTEXT};
    for (size_t i = 0; i < 2; i++) {
        tide_fit_question question = question_of(WHATS[i], "virtual:rtx4060", 0);
        tide_run_model_of(&question.config.workload)->mode = i == 0 ? TIDE_TRAIN : TIDE_FORWARD;
        tide_run_model_of(&question.config.workload)->precision =
            i == 0 ? TIDE_PRECISION_FP32 : TIDE_PRECISION_BF16_MIXED;
        tide_run_model_of(&question.config.workload)->attention = TIDE_ATTENTION_NAIVE;
        tide_fit_answer own = check(&question);
        tide_run_model_of(&question.config.workload)->emulate = TIDE_EMULATE_PYTORCH;
        tide_fit_answer eager = check(&question);
        assert_true(eager.value > 0 && eager.value < own.value);
    }
}

static void invalid_limits_are_refused(void **state) {
    (void)state;
    tide_fit_answer answer;
    tide_error error = {""};
    tide_fit_question question = question_of(TIDE_RUN_QUANTITY_BATCH, "virtual:none", 0);
    assert_int_equal(tide_fit_search(&question, &answer, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "there is no card"));
    question = question_of(TIDE_RUN_QUANTITY_BATCH, "virtual:t4-16", 0);
    tide_run_model_of(&question.config.workload)->model.n_heads = 7;
    assert_int_equal(tide_fit_search(&question, &answer, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "heads"));
}

static void names_convert_both_ways(void **state) {
    (void)state;
    for (int i = 0; i < TIDE_N_RUN_QUANTITIES; i++) {
        assert_int_equal(tide_fit_quantity_from_name(tide_fit_quantity_name((size_t)i)), i);
    }
    assert_null(tide_fit_quantity_name(TIDE_N_RUN_QUANTITIES));
    assert_int_equal(tide_fit_quantity_from_name("width"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_batch_is_the_largest),
        cmocka_unit_test(a_value_above_those_that_do_not_fit_is_found),
        cmocka_unit_test(contexts_and_layers_are_found),
        cmocka_unit_test(the_largest_preset_is_found),
        cmocka_unit_test(nothing_may_fit),
        cmocka_unit_test(everything_may_fit),
        cmocka_unit_test(pytorch_forecasts_are_searched_too),
        cmocka_unit_test(invalid_limits_are_refused),
        cmocka_unit_test(names_convert_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
