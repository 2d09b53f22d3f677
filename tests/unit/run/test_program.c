/* test_program.c - the user's commands as workloads: names in braces, handing over, and the search
 * for the largest value that fits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/runs/program.h"
#include "programs/runs/program_fit.h"
#include "programs/runs/run_friend.h"

/* ---- arguments and names ---- */

static tide_run_program program_of(const char *command, const char *values) {
    tide_run_program program = {.command = command};
    (void)snprintf(program.values, sizeof(program.values), "%s", values);
    return program;
}

static void only_declared_names_are_replaced(void **state) {
    (void)state;
    char **arguments = NULL;
    tide_error error = {""};
    const tide_run_program program =
        program_of("[\"p\",\"--b={batch}{batch}\",\"{other}\",\"{batch\",\"{\\\"a\\\": {ctx}}\"]",
                   "batch=8,ctx=a=b");
    assert_int_equal(tide_run_program_arguments(&program, &arguments, &error), TIDE_OK);
    assert_string_equal(arguments[0], "p");
    assert_string_equal(arguments[1], "--b=88");
    assert_string_equal(arguments[2], "{other}");
    assert_string_equal(arguments[3], "{batch");
    assert_string_equal(arguments[4], "{\"a\": a=b}");
    assert_null(arguments[5]);
    tide_run_program_release(arguments);
}

static void what_is_no_list_of_texts_is_refused(void **state) {
    (void)state;
    static const char *const BAD[] = {"", "{}", "[]", "[1]", "[\"p\"", NULL};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        tide_run_workload workload = {.kind = &tide_run_program_kind};
        tide_error error = {""};
        workload.of.program = program_of(BAD[i], "");
        assert_int_equal(tide_run_workload_check(&workload, &error), TIDE_FORMAT);
        assert_string_not_equal(error.message, "");
    }
}

static void a_name_is_used_only_in_braces(void **state) {
    (void)state;
    char program[] = "p";
    char first[] = "batch";
    char second[] = "{batch_size} {{batch}";
    char *with[] = {program, first, second, NULL};
    char *without[] = {program, first, NULL};
    assert_true(tide_run_program_uses(with, "batch"));
    assert_true(tide_run_program_uses(with, "batch_size"));
    assert_false(tide_run_program_uses(with, "size"));
    assert_false(tide_run_program_uses(without, "batch"));
    char longer[] = "{batch_size}";
    char *other[] = {program, longer, NULL};
    assert_false(tide_run_program_uses(other, "batch"));
}

static void a_command_survives_as_text(void **state) {
    (void)state;
    char first[] = "p \"q\"";
    char second[] = "\n{x}\\";
    char *arguments[] = {first, second, NULL};
    char **again = NULL;
    char *text = tide_run_program_command(arguments);
    assert_non_null(text);
    const tide_run_program program = program_of(text, "");
    assert_int_equal(tide_run_program_arguments(&program, &again, NULL), TIDE_OK);
    assert_string_equal(again[0], first);
    assert_string_equal(again[1], second);
    tide_run_program_release(again);
    cJSON_free(text);
}

static void names_of_runs_are_names_of_files(void **state) {
    (void)state;
    char name[TIDE_RUN_NAME_BYTES];
    tide_run_workload workload = {.kind = &tide_run_program_kind};
    workload.of.program = program_of("[\"p\"]", "batch=8,kind=a/b c");
    tide_run_workload_name(&workload, name);
    assert_string_equal(name, "batch8-kinda_b_c");
    (void)snprintf(workload.of.program.card, sizeof(workload.of.program.card), "h100-80x8");
    tide_run_workload_name(&workload, name);
    assert_string_equal(name, "h100-80x8-batch8-kinda_b_c");
    workload.of.program = program_of("[\"p\"]", "");
    tide_run_workload_name(&workload, name);
    assert_string_equal(name, "run");
    assert_true(tide_run_workload_is_program(&workload));
}

static void a_command_survives_the_handover(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_config back;
    tide_run_config_init(&config);
    config.limits.device = "virtual:h100-80x2";
    config.workload.kind = &tide_run_program_kind;
    config.workload.of.program = program_of("[\"p\",\"{x}\"]", "x=1");
    config.workload.of.program.n_steps = 7;
    config.workload.of.program.n_calls = 8;
    config.workload.of.program.reads = "zero";
    config.workload.of.program.streams = "late";
    config.workload.of.program.changes = "fused";
    config.workload.of.program.writes_are_real = true;
    cJSON *json = tide_run_config_to_json(&config);
    assert_non_null(json);
    assert_int_equal(tide_run_config_from_json(json, NULL, &back, NULL), TIDE_OK);
    assert_ptr_equal(back.workload.kind, &tide_run_program_kind);
    assert_string_equal(back.workload.of.program.command, "[\"p\",\"{x}\"]");
    assert_string_equal(back.workload.of.program.values, "x=1");
    assert_string_equal(back.workload.of.program.card, "");
    assert_int_equal(back.workload.of.program.n_steps, 7);
    assert_int_equal(back.workload.of.program.n_calls, 8);
    assert_string_equal(back.workload.of.program.reads, "zero");
    assert_string_equal(back.workload.of.program.streams, "late");
    assert_string_equal(back.workload.of.program.changes, "fused");
    assert_true(back.workload.of.program.writes_are_real);
    cJSON_Delete(json);
}

static void what_is_known_of_a_command_survives_as_json(void **state) {
    (void)state;
    tide_run_result result;
    tide_run_result back;
    tide_run_result_init(&result);
    result.program = (tide_run_of_program){.n_steps = 3,
                                           .growing_passes = 2,
                                           .growing_bytes = 77,
                                           .margin_bytes = 5,
                                           .unmeasured_bytes = 9,
                                           .is_near = 1,
                                           .n_inexact = 1};
    result.program.assumed = (tide_run_assumed){.n_reads = 4,
                                                .n_rows = 3,
                                                .all_bytes = 99,
                                                .place = "loss.py:31",
                                                .what = "mask",
                                                .given_least = 1,
                                                .given_most = 2,
                                                .possible = 8,
                                                .n_times = 5,
                                                .row_bytes = 7,
                                                .row_all_bytes = 42};
    cJSON *json = tide_run_result_to_json(&result);
    assert_int_equal(tide_run_result_from_json(json, &back, NULL), TIDE_OK);
    assert_memory_equal(&back.program, &result.program, sizeof(result.program));
    cJSON_Delete(json);
    tide_run_result_fini(&back);
    tide_run_result_fini(&result);
}

/* Each set of one import has a result of its own; a part of a part is refused. */
static void parts_travel_with_the_result(void **state) {
    (void)state;
    tide_run_result result;
    tide_run_result back;
    tide_run_result_init(&result);
    result.outcome = TIDE_OUTCOME_COMPLETED;
    result.parts = tide_hostmem_zeroed(tide_hostmem_default(), 2, sizeof(*result.parts));
    assert_non_null(result.parts);
    result.n_parts = 2;
    tide_run_result_init(&result.parts[0]);
    tide_run_result_init(&result.parts[1]);
    result.parts[0].outcome = TIDE_OUTCOME_COMPLETED;
    result.parts[0].memory.reserved_peak_bytes = 4096;
    cJSON *json = tide_run_result_to_json(&result);
    assert_int_equal(tide_run_result_from_json(json, &back, NULL), TIDE_OK);
    assert_int_equal(back.n_parts, 2);
    assert_int_equal(back.parts[0].memory.reserved_peak_bytes, 4096);
    assert_int_equal(back.parts[0].outcome, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(back.parts[1].outcome, TIDE_OUTCOME_FAILED);
    tide_run_result_fini(&back);
    cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "parts"), 0);
    assert_non_null(cJSON_AddArrayToObject(first, "parts"));
    assert_int_equal(tide_run_result_from_json(json, &back, NULL), TIDE_FORMAT);
    tide_run_result_fini(&back);
    cJSON_Delete(json);
    tide_run_result_fini(&result);
}

/* ---- the search ---- */

/* A card with room for `capacity`, and a program that takes base + cost * value, in pieces. */
typedef struct world {
    uint64_t capacity, base, cost, piece;
    int64_t hidden;      /* invisible bytes that are missing on the card */
    int64_t unmeasured;  /* bytes that must be left: else a value is near the limit */
    uint64_t fails_from; /* the program fails from that value on; 0: never */
    size_t n_runs, n_twice;
    bool was_run[5001];
} world;

static void run_in(void *ctx, uint64_t value, tide_run_result *ret) {
    world *in = ctx;
    uint64_t needed = in->base + in->cost * value;
    needed = (needed + in->piece - 1) / in->piece * in->piece;
    in->n_runs++;
    in->n_twice += in->was_run[value];
    in->was_run[value] = true;
    tide_run_result_init(ret);
    if (in->fails_from != 0 && value >= in->fails_from) {
        tide_run_fail(ret, TIDE_OUTCOME_FAILED, TIDE_DEVICE_FAILED, "ValueError: odd");
        return;
    }
    if (needed + (uint64_t)in->hidden > in->capacity) {
        tide_run_fail(ret, TIDE_OUTCOME_OOM, TIDE_DEVICE_OOM, "full");
        return;
    }
    ret->outcome = TIDE_OUTCOME_COMPLETED;
    ret->memory.reserved_peak_bytes = (int64_t)needed;
    ret->program.margin_bytes = (int64_t)(in->capacity - needed);
    ret->program.is_near = ret->program.margin_bytes < in->unmeasured;
}

static tide_status search(world *in, uint64_t low, uint64_t high, uint64_t unit,
                          tide_program_fit_answer *ret, tide_error *error) {
    const tide_program_fit_question question = {
        .low = low, .high = high, .multiple_of = unit, .run = run_in, .ctx = in};
    return tide_program_fit_search(&question, ret, error);
}

/* The answer equals the result of trying every value, and no value is run twice. */
static void the_largest_is_found_in_few_runs(void **state) {
    (void)state;
    static const uint64_t COSTS[] = {17, 90, 331, 999, 3777, 20011, 180007, 900001};
    static const uint64_t UNITS[] = {1, 8};
    for (size_t c = 0; c < sizeof(COSTS) / sizeof(COSTS[0]); c++) {
        for (size_t u = 0; u < 2; u++) {
            for (int64_t hidden = 0; hidden < 200000; hidden += 199999) {
                world in = {.capacity = 1000000,
                            .base = 1200,
                            .cost = COSTS[c],
                            .piece = 256,
                            .hidden = hidden};
                tide_program_fit_answer answer;
                tide_run_result result;
                uint64_t expected = 0;
                uint64_t refused = 0;
                for (uint64_t n = UNITS[u]; n <= 4096 && refused == 0; n += UNITS[u]) {
                    run_in(&in, n, &result);
                    bool fits = result.outcome == TIDE_OUTCOME_COMPLETED;
                    expected = fits ? n : expected;
                    refused = fits ? 0 : n;
                }
                in.n_runs = 0;
                in.n_twice = 0;
                memset(in.was_run, 0, sizeof(in.was_run));
                assert_int_equal(search(&in, 1, 4096, UNITS[u], &answer, NULL), TIDE_OK);
                assert_int_equal(answer.fits, expected != 0);
                assert_int_equal(answer.value, expected);
                assert_int_equal(answer.has_next, refused != 0);
                assert_int_equal(answer.next_value, refused);
                assert_int_equal(answer.n_runs, in.n_runs);
                assert_int_equal(in.n_twice, 0);
                /* Bisection alone would take 12 runs after the low end, each of some seconds. If a
                 * fifth of the card is hidden, guesses are wrong and cost more runs. */
                assert_true(in.n_runs <= (hidden == 0 ? 9 : 26));
            }
        }
    }
}

static void the_ends_of_the_range_are_kept(void **state) {
    (void)state;
    world in = {.capacity = 1000, .cost = 1, .piece = 1};
    tide_program_fit_answer answer;
    assert_int_equal(search(&in, 7, 60, 8, &answer, NULL), TIDE_OK);
    assert_true(answer.fits && !answer.has_next);
    assert_int_equal(answer.value, 56);
    assert_false(in.was_run[7]);
    assert_int_equal(search(&in, 2000, 4000, 1, &answer, NULL), TIDE_OK);
    assert_false(answer.fits);
    assert_int_equal(answer.next_value, 2000);
    assert_int_equal(answer.n_runs, 1);
    memset(in.was_run, 0, sizeof(in.was_run));
    assert_int_equal(search(&in, 0, 0, 1, &answer, NULL), TIDE_OK);
    assert_true(answer.fits);
    assert_int_equal(answer.n_runs, 1);
    assert_int_equal(search(&in, 3, 7, 8, &answer, NULL), TIDE_INVALID);
    assert_int_equal(search(&in, 3, 7, 0, &answer, NULL), TIDE_INVALID);
}

static void a_program_that_fails_ends_the_search(void **state) {
    (void)state;
    world in = {.capacity = 1000000, .cost = 1, .piece = 1, .fails_from = 1};
    tide_program_fit_answer answer;
    tide_error error = {""};
    assert_int_equal(search(&in, 1, 4096, 1, &answer, &error), TIDE_DEVICE_FAILED);
    assert_string_equal(error.message, "failed: ValueError: odd");
    assert_int_equal(answer.next_value, 1);
    assert_int_equal(in.n_runs, 1);
}

/* The largest value, and the largest that leaves what is not measured, which no search for the
 * first needs to have run. */
static void the_largest_with_its_margin_is_found(void **state) {
    (void)state;
    world in = {.capacity = 1000000, .base = 1200, .cost = 1000, .piece = 256, .unmeasured = 0};
    tide_program_fit_answer answer;
    assert_int_equal(search(&in, 1, 4096, 1, &answer, NULL), TIDE_OK);
    assert_int_equal(answer.value, 998);
    assert_true(answer.has_safe);
    assert_int_equal(answer.safe_value, 998); /* nothing is unmeasured */
    for (int64_t unmeasured = 500; unmeasured < 1000000; unmeasured += 49000) {
        in.unmeasured = unmeasured;
        in.n_twice = 0;
        memset(in.was_run, 0, sizeof(in.was_run));
        uint64_t expected = 0;
        for (uint64_t n = 1; n <= 998; n++) {
            uint64_t needed = (in.base + in.cost * n + 255) / 256 * 256;
            expected = (int64_t)(in.capacity - needed) >= unmeasured ? n : expected;
        }
        assert_int_equal(search(&in, 1, 4096, 1, &answer, NULL), TIDE_OK);
        assert_int_equal(answer.value, 998);
        assert_int_equal(answer.result.program.is_near, expected < 998);
        assert_true(answer.has_safe);
        assert_int_equal(answer.safe_value, expected);
        assert_int_equal(in.n_twice, 0);
    }
    in.unmeasured = 999999; /* more than any value leaves */
    assert_int_equal(search(&in, 1, 4096, 1, &answer, NULL), TIDE_OK);
    assert_true(answer.fits);
    assert_false(answer.has_safe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_travel_with_the_result),
        cmocka_unit_test(only_declared_names_are_replaced),
        cmocka_unit_test(what_is_no_list_of_texts_is_refused),
        cmocka_unit_test(a_name_is_used_only_in_braces),
        cmocka_unit_test(a_command_survives_as_text),
        cmocka_unit_test(names_of_runs_are_names_of_files),
        cmocka_unit_test(a_command_survives_the_handover),
        cmocka_unit_test(what_is_known_of_a_command_survives_as_json),
        cmocka_unit_test(the_largest_is_found_in_few_runs),
        cmocka_unit_test(the_largest_with_its_margin_is_found),
        cmocka_unit_test(the_ends_of_the_range_are_kept),
        cmocka_unit_test(a_program_that_fails_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
