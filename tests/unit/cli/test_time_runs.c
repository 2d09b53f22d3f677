/* test_time_runs.c - the sentence beside a table of forecasts names what the forecasts guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/time_runs.h"

static void add(tide_time_runs *to, double low_ms, int64_t n_guessed, int64_t n_launches) {
    const tide_run_result result = {
        .program = {.step_low_ms = low_ms, .n_guessed = n_guessed, .n_launches = n_launches}};
    tide_time_runs_add(to, &result);
}

static bool says(const tide_time_runs *of, const char *what) {
    char words[TIDE_TIME_WORDS];
    tide_time_runs_words(of, "virtual:h100-80", words);
    return strstr(words, what) != NULL;
}

static void nothing_guessed(void **state) {
    (void)state;
    tide_time_runs of = {.n = 0};
    add(&of, -1.0, -1, -1); /* a cell that ran out of memory */
    assert_int_equal(of.n, 0);
    assert_true(says(&of, "times: not computed"));
    add(&of, 3.0, 0, 456);
    assert_int_equal(of.n, 1);
    assert_true(says(&of, "; no launch is guessed; tidemark's own kernels"));
}

static void the_step_with_most_guesses_is_named(void **state) {
    (void)state;
    tide_time_runs of = {.n = 0};
    add(&of, 3.0, 2, 100);
    add(&of, 3.0, 5, 200);
    add(&of, 3.0, 0, 300);
    assert_false(says(&of, "no launch is guessed"));
    assert_true(says(&of, "launches are guessed in 2 of 3 forecasts, at most 5 of 200 in a step"));
}

static void rows_of_an_older_version_are_no_proof(void **state) {
    (void)state;
    tide_time_runs of = {.n = 0};
    add(&of, 3.0, 0, 100);
    add(&of, 3.0, -1, -1);
    assert_false(says(&of, "no launch is guessed"));
    assert_true(says(&of, "1 of 2 forecasts is of an older version"));
}

static void says_of_a_command(const tide_time_runs *of, const char *device, const char *what) {
    char words[TIDE_TIME_WORDS];
    tide_time_runs_command_words(of, device, words);
    assert_string_equal(words, what);
}

static void a_command_tells_what_nobody_has_compared(void **state) {
    (void)state;
    tide_time_runs of = {.n = 0};
    add(&of, 3.0, 0, 100);
    says_of_a_command(&of, "virtual:h100-80x8",
                      "the forecast is a model: no launch is guessed; `tidemark run --time` shows "
                      "which kernels were never compared with a published time");
    add(&of, 3.0, 1, 90);
    says_of_a_command(
        &of, "virtual:l40s-48",
        "the forecast is a model: launches are guessed in 1 of 2 forecasts, at most 1 "
        "of 90 in a step; no published time of this card was compared");
}

/* More than a tenth of the time in which the program was ready and had no processor. */
static void a_busy_machine_is_named(void **state) {
    (void)state;
    char words[TIDE_TIME_WORDS];
    tide_time_forecast of = {.host = {.factor = 0.5}, .waited_share = 0.1};
    tide_time_words_host(&of, words);
    assert_null(strstr(words, "busy"));
    of.waited_share = 0.23;
    tide_time_words_host(&of, words);
    assert_non_null(strstr(words,
                           "this machine was busy: the program waited 23 % of the time for a "
                           "processor, which the forecast leaves out"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_machine_is_named),
        cmocka_unit_test(nothing_guessed),
        cmocka_unit_test(the_step_with_most_guesses_is_named),
        cmocka_unit_test(rows_of_an_older_version_are_no_proof),
        cmocka_unit_test(a_command_tells_what_nobody_has_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
