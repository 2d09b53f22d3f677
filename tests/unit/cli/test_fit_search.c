/* test_fit_search.c - the value that a search names fits, and the next one does not; so with the
 * bytes that the next one needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/fit/search.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* What to find the largest of: on a card, or within a limit (0: none). */
static tide_fit_question question_of(tide_fit_what what, const char *device, uint64_t limit_bytes) {
    tide_fit_question question = {.room = {.device = device}, .what = what, .multiple_of = 1};
    tide_cache_config_init(&question.room.cache);
    if (limit_bytes != 0) {
        question.room.cache.memory_limit_bytes = (size_t)limit_bytes;
    }
    tide_workload_config_init(&question.workload);
    question.workload.warmup_steps = 0;
    question.workload.steps = 15;
    return question;
}

static void set_size(tide_fit_question *question, const char *size) {
    assert_int_equal(tide_model_config_preset(size, &question->workload.model, NULL), TIDE_OK);
}

static bool fits(const tide_fit_question *question, const tide_dry_room *room, uint64_t value) {
    tide_workload_config workload;
    tide_dry_run run;
    assert_int_equal(tide_fit_apply(question, value, &workload, NULL), TIDE_OK);
    assert_int_equal(tide_dry_run_do(room, &workload, &run, NULL), TIDE_OK);
    assert_true(run.reserved_bytes >= run.allocated_bytes);
    assert_true(run.allocated_bytes >= run.requested_bytes);
    assert_int_equal(run.fits, run.out_of_memory.requested_bytes == 0);
    return run.fits;
}

/* The largest one, by trying all values up to where none can fit. */
static uint64_t largest_by_trying(const tide_fit_question *question, uint64_t usable_bytes) {
    uint64_t largest = 0;
    for (uint64_t value = question->multiple_of;; value += question->multiple_of) {
        tide_workload_config workload;
        if (tide_fit_apply(question, value, &workload, NULL) != TIDE_OK ||
            tide_workload_requested_peak_bytes(&workload) > usable_bytes) {
            return largest;
        }
        largest = fits(question, &question->room, value) ? value : largest;
    }
}

/* The answer holds: to both sides, and so does what the next value needs. */
static tide_fit_answer check(const tide_fit_question *question) {
    tide_fit_answer answer;
    assert_int_equal(tide_fit_search(question, &answer, NULL), TIDE_OK);
    if (answer.value != 0) {
        assert_true(fits(question, &question->room, answer.value));
        assert_true(answer.run.fits);
        assert_true(answer.run.reserved_bytes <= answer.usable_bytes);
    }
    if (answer.next_value != 0) {
        tide_dry_room room = question->room;
        assert_true(answer.next_value > answer.value);
        assert_false(fits(question, &question->room, answer.next_value));
        assert_true(answer.next_run.fits);
        room.capacity_bytes = UINT64_MAX;
        room.cache.memory_limit_bytes = (size_t)answer.needed_bytes;
        assert_true(fits(question, &room, answer.next_value));
        room.cache.memory_limit_bytes = (size_t)(answer.needed_bytes - TIDE_FIT_GRAIN);
        assert_false(fits(question, &room, answer.next_value));
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
        tide_fit_question question = question_of(TIDE_FIT_BATCH, "virtual", CASES[i].limit_bytes);
        set_size(&question, CASES[i].size);
        question.workload.mode = CASES[i].mode;
        question.workload.precision = CASES[i].precision;
        question.workload.attention = CASES[i].attention;
        question.workload.recompute = CASES[i].recompute;
        question.workload.model.context_length = CASES[i].context;
        tide_fit_answer answer = check(&question);
        assert_true(answer.value > 1);
        assert_int_equal(answer.usable_bytes, CASES[i].limit_bytes);
        uint64_t largest = largest_by_trying(&question, answer.usable_bytes);
        assert_true(!answer.is_every_one_seen || answer.value == largest);
    }
}

/* Segments are multiples of 2 MiB, so that under pressure an even context may fit above odd ones
 * that do not: bisection alone ends far below. */
static void a_value_above_those_that_do_not_fit_is_found(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_FIT_CONTEXT, "virtual", UINT64_C(9306353664));
    set_size(&question, "large");
    question.workload.mode = TIDE_FORWARD_BACKWARD;
    question.multiple_of = 8;
    tide_fit_answer answer = check(&question);
    assert_true(answer.is_every_one_seen);
    assert_int_equal(answer.value, largest_by_trying(&question, answer.usable_bytes));
    assert_true(answer.lowest_unfit > 0 && answer.lowest_unfit < answer.value);
    assert_false(fits(&question, &question.room, answer.lowest_unfit));
}

static void contexts_and_layers_are_found(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_FIT_CONTEXT, "virtual:h100-80", 0);
    set_size(&question, "xl");
    question.workload.attention = TIDE_ATTENTION_NAIVE;
    tide_fit_answer any = check(&question);
    question.multiple_of = 128;
    tide_fit_answer rounded = check(&question);
    assert_int_equal(rounded.value % 128, 0);
    assert_int_equal(rounded.next_value, rounded.value + 128);
    assert_true(rounded.value <= any.value && any.value < rounded.next_value + 128);
    question = question_of(TIDE_FIT_LAYERS, "virtual:rtx4060", 0);
    tide_fit_answer layers = check(&question);
    assert_true(layers.value > 12);
}

static void the_largest_preset_is_found(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_FIT_MODEL, "virtual:h100-80", 0);
    tide_fit_answer answer = check(&question);
    assert_string_equal(tide_model_preset_name((size_t)answer.value - 1), "2.7B");
    assert_int_equal(answer.next_value, answer.value + 1);
    question.workload.mode = TIDE_FORWARD;
    question.workload.precision = TIDE_PRECISION_BF16_TRUE;
    answer = check(&question); /* the largest there is */
    assert_int_equal(answer.next_value, 0);
    assert_null(tide_model_preset_name((size_t)answer.value));
}

static void nothing_may_fit(void **state) {
    (void)state;
    /* By the closed forms alone, and by a run that they do not rule out. */
    tide_fit_question question = question_of(TIDE_FIT_BATCH, "virtual:rtx4060", 0);
    set_size(&question, "2.7B");
    tide_fit_answer answer = check(&question);
    assert_int_equal(answer.value, 0);
    assert_int_equal(answer.next_value, 1);
    assert_true(answer.needed_bytes > 50 * GIB);
    question.what = TIDE_FIT_MODEL;
    question.room.cache.memory_limit_bytes = (size_t)(64 * MIB);
    answer = check(&question);
    assert_int_equal(answer.value, 0);
}

static void everything_may_fit(void **state) {
    (void)state;
    tide_fit_question question = question_of(TIDE_FIT_BATCH, "virtual", (uint64_t)1 << 61);
    question.workload.mode = TIDE_FORWARD;
    question.workload.model = (tide_model_config){.size = "custom",
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
    question.room.cache.memory_limit_bytes = TIDE_UNLIMITED;
    assert_int_equal(tide_fit_search(&question, &answer, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "no end"));
}

/* The same questions of PyTorch's allocations, which are larger. */
static void pytorch_is_asked_too(void **state) {
    (void)state;
    static const tide_fit_what WHATS[] = {TIDE_FIT_BATCH, TIDE_FIT_CONTEXT};
    for (size_t i = 0; i < 2; i++) {
        tide_fit_question question = question_of(WHATS[i], "virtual:rtx4060", 0);
        question.workload.mode = i == 0 ? TIDE_TRAIN : TIDE_FORWARD;
        question.workload.precision = i == 0 ? TIDE_PRECISION_FP32 : TIDE_PRECISION_BF16_MIXED;
        question.workload.attention = TIDE_ATTENTION_NAIVE;
        tide_fit_answer own = check(&question);
        question.workload.emulate = TIDE_EMULATE_PYTORCH;
        tide_fit_answer eager = check(&question);
        assert_true(eager.value > 0 && eager.value < own.value);
    }
}

static void a_room_without_sense_is_refused(void **state) {
    (void)state;
    tide_fit_answer answer;
    tide_error error = {""};
    tide_fit_question question = question_of(TIDE_FIT_BATCH, "virtual:none", 0);
    assert_int_equal(tide_fit_search(&question, &answer, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "unknown card"));
    question = question_of(TIDE_FIT_BATCH, "virtual:t4-16", 0);
    question.workload.model.n_heads = 7;
    assert_int_equal(tide_fit_search(&question, &answer, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "heads"));
}

static void names_go_both_ways(void **state) {
    (void)state;
    for (int i = 0; i < TIDE_N_FIT_WHATS; i++) {
        assert_int_equal(tide_fit_what_from_name(tide_fit_what_name((size_t)i)), i);
    }
    assert_null(tide_fit_what_name(TIDE_N_FIT_WHATS));
    assert_int_equal(tide_fit_what_from_name("width"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_batch_is_the_largest),
        cmocka_unit_test(a_value_above_those_that_do_not_fit_is_found),
        cmocka_unit_test(contexts_and_layers_are_found),
        cmocka_unit_test(the_largest_preset_is_found),
        cmocka_unit_test(nothing_may_fit),
        cmocka_unit_test(everything_may_fit),
        cmocka_unit_test(pytorch_is_asked_too),
        cmocka_unit_test(a_room_without_sense_is_refused),
        cmocka_unit_test(names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
