/* test_losses.c - what profile and compare report about losses: the steps shown, an implausible
 * first loss, a loss that is not a number, and the step at which two runs diverge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/words/loss_words.h"
#include "model/commands/profile/internal.h"

static tide_snapshot_timing timing_of(const double *losses, size_t n, int64_t n_warmup) {
    return (tide_snapshot_timing){.warmup_steps = n_warmup, .losses = losses, .n_losses = n};
}

static void steps_are_named(void **state) {
    (void)state;
    static const double LOSSES[] = {9.28, 9.1, 8.5};
    static const double ODD[] = {9.28, (double)NAN, (double)NAN};
    const struct {
        tide_snapshot_timing timing;
        const char *words;
    } CASES[] = {
        {timing_of(LOSSES, 3, 1), "loss: 9.280000 in the run's first step, 9.100000 in the first "
                                  "measured one, 8.500000 in the last"},
        {timing_of(LOSSES, 3, 0), "loss: 9.280000 in the run's first step, 8.500000 in the last"},
        {timing_of(LOSSES, 1, 0), "loss: 9.280000 in the run's first step"},
        {timing_of(LOSSES, 2, 1),
         "loss: 9.280000 in the run's first step, 9.100000 in the first measured one"},
        {timing_of(ODD, 3, 0), "loss: 9.280000 in the run's first step, nan in the last; it is no "
                               "finite number from step 1 of the run on"},
        {timing_of(NULL, 0, 2), ""}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char words[256];
        tide_words_losses(&CASES[i].timing, words, sizeof(words));
        assert_string_equal(words, CASES[i].words);
    }
}

static void runs_are_told_apart(void **state) {
    (void)state;
    static const double A[] = {9.28, 9.1, (double)NAN};
    static const double B[] = {9.28, 9.100001, 8.5};
    char words[256];
    tide_snapshot_timing a = timing_of(A, 3, 1);
    tide_snapshot_timing b = timing_of(B, 3, 1);
    tide_words_same_losses("a", &a, "b", &b, words, sizeof(words));
    assert_string_equal(words, "the losses of a and b differ from step 1 of the run on: 9.100000 "
                               "against 9.100001");
    tide_words_same_losses("a", &a, "a", &a, words, sizeof(words));
    assert_string_equal(words, "the losses of a and a are the same in all 3 steps");
    b.n_losses = 1;
    tide_words_same_losses("a", &a, "b", &b, words, sizeof(words));
    assert_string_equal(words, "the losses of a and b are the same in the first step");
    b.n_losses = 0;
    tide_words_same_losses("a", &a, "b", &b, words, sizeof(words));
    assert_string_equal(words, "");
}

/* The warning of profile for a 2.7B run with these losses. */
static void said_of(const double *losses, size_t n, char *ret_text, size_t n_room) {
    tide_profile_run run = {.name = "2.7B-train"};
    tide_profile_plan plan = {.runs = &run, .n_runs = 1};
    tide_report report;
    FILE *file = tmpfile();
    assert_non_null(file);
    tide_model_config *model = &tide_run_model_of(&run.config.workload)->model;
    tide_run_model_init(&run.config);
    tide_run_result_init(&run.result);
    assert_int_equal(tide_model_config_preset("2.7B", model, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_create(NULL, &run.result.snapshot), TIDE_OK);
    run.result.snapshot->timing = timing_of(losses, n, 0);
    tide_report_init(&report, "test");
    tide_profile_say_loss(&plan, &report);
    assert_int_equal(
        tide_report_print(&report, (tide_format){.kind = TIDE_FORMAT_TEXT}, file, stderr, NULL),
        TIDE_OK);
    tide_report_fini(&report);
    rewind(file);
    ret_text[fread(ret_text, 1, n_room - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    tide_run_result_fini(&run.result);
}

static void an_implausible_first_loss_is_reported(void **state) {
    (void)state;
    static const double GOOD[] = {9.41, 9.2};
    static const double ODD[] = {11.25, 9.2};
    static const double BROKEN[] = {(double)NAN};
    char text[2048];
    said_of(GOOD, 2, text, sizeof(text));
    assert_non_null(strstr(text, "loss: 9.410000"));
    assert_null(strstr(text, "warning"));
    said_of(ODD, 2, text, sizeof(text));
    assert_non_null(strstr(text, "warning: 2.7B-train: the loss of the run's first step is "
                                 "11.250000"));
    assert_non_null(strstr(text, "ln V + C / (C + V) = 9.414162"));
    said_of(BROKEN, 1, text, sizeof(text));
    assert_non_null(strstr(text, "first step is nan"));
    said_of(NULL, 0, text, sizeof(text));
    assert_string_equal(text, "");
}

static void the_scale_of_the_loss_is_told(void **state) {
    (void)state;
    static const double LOSSES[] = {9.41, 9.2, 9.1};
    tide_snapshot_timing timing = {.losses = LOSSES, .n_losses = 3};
    char text[256];
    tide_words_loss_scale(&timing, text, sizeof(text));
    assert_string_equal(text, "");
    timing.scales_loss = true;
    timing.loss_scale = 65536;
    tide_words_loss_scale(&timing, text, sizeof(text));
    assert_string_equal(text, "loss scale: 65536 after the last step; no step was skipped");
    timing.loss_scale = 16384;
    timing.n_skipped_steps = 2;
    tide_words_loss_scale(&timing, text, sizeof(text));
    assert_string_equal(text, "loss scale: 16384 after the last step; 2 of 3 steps were skipped, "
                              "because a gradient held an infinity or a NaN");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_named),
        cmocka_unit_test(the_scale_of_the_loss_is_told),
        cmocka_unit_test(runs_are_told_apart),
        cmocka_unit_test(an_implausible_first_loss_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
