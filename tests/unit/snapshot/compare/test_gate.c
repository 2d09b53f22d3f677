/* test_gate.c - the conditions of --fail-if: their syntax, mistakes in them, and their
 * verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/compare/gate.h"
#include "support/event_rows.h"

#define MIB (UINT64_C(1) << 20)

static const tide_snapshot_device DEVICE = {"virtual", "v", -1, -1, -1, -1, -1, -1};
static const tide_stream_row STREAM = {0, 0};

/* Activations of n_mib that stay and a freed parameter of 1 MiB, in a segment of n_mib + 1. */
typedef struct made_run {
    uint64_t n_mib;
    double ms[3];    /* of the phase forward; none if the first is below 0 */
    bool by_host;    /* only by the host's clock */
    bool is_step;    /* the phase is the step */
    double range[2]; /* in ms, of the forecast of the step; measured if both are 0 */
    uint64_t n_lost; /* events */
    const char *outcome;
} made_run;

static tide_event row(tide_action action, uint64_t address, uint64_t bytes, int category) {
    return (tide_event){.address = address,
                        .requested_bytes = bytes,
                        .block_bytes = bytes,
                        .stack = TIDE_NONE,
                        .scope = TIDE_NONE,
                        .name = TIDE_NONE,
                        .action = (uint8_t)action,
                        .category = (uint8_t)category};
}

static tide_snapshot *make(const made_run *of) {
    static const double NOT_MEASURED[] = {-1.0, -1.0, -1.0};
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    tide_event *events = tide_arena_alloc(&made->arena, 4, sizeof(*events));
    tide_snapshot_phase *phase = tide_arena_alloc(&made->arena, 1, sizeof(*phase));
    assert_true(events != NULL && phase != NULL);
    events[0] = row(TIDE_ACTION_SEGMENT_ALLOC, 0, (of->n_mib + 1) * MIB, 0);
    events[1] = row(TIDE_ACTION_ALLOC, 0, of->n_mib * MIB, TIDE_ACTIVATION);
    events[2] = row(TIDE_ACTION_ALLOC, of->n_mib * MIB, MIB, TIDE_PARAMETER);
    events[3] = row(TIDE_ACTION_FREE, of->n_mib * MIB, MIB, TIDE_PARAMETER);
    if (of->range[0] + of->range[1] != 0.0) {
        made->forecast = (tide_snapshot_forecast){
            .card = "h100-80", .bound = "", .low_ms = of->range[0], .high_ms = of->range[1]};
    }
    *phase = (tide_snapshot_phase){of->is_step ? "step" : "forward", of->ms[0] >= 0.0 ? 3 : 0,
                                   of->ms, of->by_host ? NOT_MEASURED : of->ms};
    made->timing.phases = phase;
    made->timing.n_phases = 1;
    made->devices = &DEVICE;
    made->n_devices = 1;
    made->streams = &STREAM;
    made->n_streams = 1;
    event_rows_set(made, events, of->n_mib > 0 ? 4 : 0);
    made->n_dropped = of->n_lost;
    made->run.outcome = of->outcome != NULL ? of->outcome : "completed";
    return made;
}

static const made_run BASE = {.n_mib = 99, .ms = {10.0, 30.0, 11.0}};

/* The verdict on `other` against `base`; the words go to the caller. */
static tide_gate_verdict judge(const char *condition, const made_run *base, const made_run *other,
                               char words[TIDE_GATE_WORDS_BYTES]) {
    tide_snapshot *snapshots[] = {make(base), make(other)};
    tide_compare_input inputs[] = {{"a", snapshots[0], NULL}, {"b", snapshots[1], NULL}};
    tide_compare *compare = NULL;
    tide_gate gate;
    tide_error error = {""};
    if (tide_gate_parse(condition, &gate, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    tide_gate_result result = tide_gate_judge(&gate, compare, 1);
    memcpy(words, result.words, sizeof(result.words));
    tide_compare_destroy(compare);
    tide_snapshot_destroy(snapshots[0]);
    tide_snapshot_destroy(snapshots[1]);
    return result.verdict;
}

static void assert_verdicts(const made_run *other, const char *const *conditions,
                            tide_gate_verdict expected) {
    char words[TIDE_GATE_WORDS_BYTES];
    for (size_t i = 0; conditions[i] != NULL; i++) {
        if (judge(conditions[i], &BASE, other, words) != expected) {
            fail_msg("%s: %s", conditions[i], words);
        }
    }
}

/* The other peaks at 103 MiB against 100: 3 % more. Each condition is at its edge. */
static void conditions_hold_beyond_their_bounds(void **state) {
    (void)state;
    const made_run other = {.n_mib = 102, .ms = {12.0, 9.0, 40.0}};
    assert_verdicts(&other,
                    (const char *const[]){"peak_allocated > +2%",
                                          "peak_allocated>=+3%",
                                          "  peak_allocated  >  +2.9 %  ",
                                          "peak_requested > +2MiB",
                                          "peak_active >= +3145728",
                                          "peak_reserved <= 103MiB",
                                          "peak_allocated < 103.5 MiB",
                                          "end_allocated > +3%",
                                          "category:activation >= +3MiB",
                                          "category:parameter >= 1MiB",
                                          "category:gradient <= 0",
                                          "n_allocs >= 2",
                                          "n_allocs <= +0",
                                          "n_device_allocs > -1",
                                          "time_forward > +5%",
                                          "time_forward >= +1ms",
                                          "time_forward > 11999us",
                                          "time_forward < 0.0121s",
                                          "peak_allocated > -5%",
                                          "peak_allocated >= 103MiB",
                                          NULL},
                    TIDE_GATE_HOLDS);
    assert_verdicts(&other,
                    (const char *const[]){"peak_allocated > +3%", "peak_allocated < +3%",
                                          "peak_requested > +3MiB", "peak_allocated > 103MiB",
                                          "peak_reserved < 103MiB", "end_allocated > 102MiB",
                                          "category:activation > 102MiB", "category:gradient > +0%",
                                          "n_allocs > +0", "n_allocs > 2", "n_device_allocs > 1",
                                          "time_forward > +1ms", "time_forward > 12ms",
                                          "time_forward < 12ms", NULL},
                    TIDE_GATE_PASSES);
}

static void a_run_does_not_fail_by_itself(void **state) {
    (void)state;
    assert_verdicts(&BASE,
                    (const char *const[]){"peak_allocated > +0%", "peak_reserved > +0",
                                          "n_allocs > +0", "n_device_allocs > +0",
                                          "time_forward > +0%", "category:activation < -0%", NULL},
                    TIDE_GATE_PASSES);
}

static void assert_unknown(const char *condition, const made_run *base, const made_run *other,
                           const char *reason) {
    char words[TIDE_GATE_WORDS_BYTES];
    assert_int_equal(judge(condition, base, other, words), TIDE_GATE_UNKNOWN);
    if (strstr(words, reason) == NULL) {
        fail_msg("'%s' does not say '%s'", words, reason);
    }
}

/* A condition on data that a file lacks must not pass silently. */
static void missing_data_cannot_be_judged(void **state) {
    (void)state;
    const made_run no_times = {.n_mib = 50, .ms = {-1.0}};
    const made_run by_host = {.n_mib = 50, .ms = {1.0, 1.0, 1.0}, .by_host = true};
    const made_run lossy = {.n_mib = 50, .ms = {1.0, 1.0, 1.0}, .n_lost = 7};
    const made_run oom = {.n_mib = 50, .ms = {-1.0}, .outcome = "oom"};
    const made_run crashed = {.n_mib = 50, .ms = {-1.0}, .outcome = "crashed"};
    const made_run empty = {.n_mib = 0, .ms = {-1.0}};
    char words[TIDE_GATE_WORDS_BYTES];
    assert_unknown("time_forward > +5%", &BASE, &no_times, "b cannot be judged, as its times");
    assert_unknown("time_forward > 5ms", &BASE, &no_times, "were not computed");
    assert_unknown("time_forward > +5%", &no_times, &BASE, "by its base a: its times were not");
    assert_unknown("time_backward > +5%", &BASE, &BASE, "it has no phase backward");
    assert_unknown("time_forward > +5%", &BASE, &by_host, "by another clock than the base's");
    assert_unknown("peak_allocated > +5%", &BASE, &lossy, "lost 7 events");
    assert_unknown("peak_allocated > 1GiB", &BASE, &oom, "ran out of memory");
    assert_unknown("n_allocs > +5%", &oom, &BASE, "by its base a: it ran out of memory");
    assert_unknown("category:input > +5%", &BASE, &crashed, "crashed before its end");
    assert_unknown("end_allocated > +5%", &BASE, &empty, "no recorded allocations");
    /* Absolute bounds need no figure of the base; times need no events. */
    assert_int_equal(judge("peak_allocated > 50MiB", &oom, &BASE, words), TIDE_GATE_HOLDS);
    assert_int_equal(judge("time_forward < 5ms", &BASE, &lossy, words), TIDE_GATE_HOLDS);
}

/* A run with a step of that time, forecast with that range. */
static made_run step(double ms, double low_ms, double high_ms) {
    return (made_run){.n_mib = 50, .ms = {ms, ms, ms}, .is_step = true, .range = {low_ms, high_ms}};
}

/* The range of a forecast decides, not its middle alone. */
static void forecasts_are_judged_by_their_ranges(void **state) {
    (void)state;
    const made_run forecast = step(100.0, 90.0, 110.0);
    const struct {
        const char *condition;
        made_run other;
        tide_gate_verdict verdict;
    } cases[] = {
        {"time_step > +5%", step(120.0, 111.0, 130.0), TIDE_GATE_HOLDS},
        {"time_step > +5%", step(120.0, 110.0, 130.0), TIDE_GATE_PASSES},  /* they touch */
        {"time_step > +5%", step(104.0, 111.0, 130.0), TIDE_GATE_PASSES},  /* below the bound */
        {"time_step >= +20%", step(120.0, 111.0, 130.0), TIDE_GATE_HOLDS}, /* at the bound */
        {"time_step > +3ms", step(120.0, 111.0, 130.0), TIDE_GATE_HOLDS},
        {"time_step < -5%", step(80.0, 70.0, 89.0), TIDE_GATE_HOLDS},
        {"time_step < -5%", step(80.0, 70.0, 90.0), TIDE_GATE_PASSES},
        {"time_step > 110ms", step(120.0, 111.0, 130.0), TIDE_GATE_HOLDS},
        {"time_step > 115ms", step(120.0, 111.0, 130.0), TIDE_GATE_PASSES},
        {"time_step <= 130ms", step(120.0, 111.0, 130.0), TIDE_GATE_HOLDS},
        {"time_step < 125ms", step(120.0, 111.0, 130.0), TIDE_GATE_PASSES},
    };
    char words[TIDE_GATE_WORDS_BYTES];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (judge(cases[i].condition, &forecast, &cases[i].other, words) != cases[i].verdict) {
            fail_msg("case %zu, %s: %s", i, cases[i].condition, words);
        }
    }
    const made_run measured = step(120.0, 0.0, 0.0);
    const made_run guessed = step(120.0, 90.0, -1.0);
    assert_int_equal(judge("time_step > +5%", &measured, &measured, words), TIDE_GATE_PASSES);
    assert_unknown("time_step > +5%", &forecast, &measured, "one of the two times is a forecast");
    assert_unknown("time_step > +5%", &measured, &forecast, "one of the two times is a forecast");
    assert_unknown("time_step > 5ms", &forecast, &guessed, "its forecast has no upper end");
    assert_unknown("time_step > +5%", &guessed, &forecast, "by its base a: its forecast has no");
}

static void messages_state_the_figures(void **state) {
    (void)state;
    const made_run other = {.n_mib = 102, .ms = {12.0, 9.0, 40.0}};
    char words[TIDE_GATE_WORDS_BYTES];
    assert_int_equal(judge("peak_allocated > +2%", &BASE, &other, words), TIDE_GATE_HOLDS);
    assert_string_equal(words, "b has 103.00 MiB, a 100.00 MiB (+3.00 %, +3145728 bytes)");
    assert_int_equal(judge("time_forward > +2%", &BASE, &other, words), TIDE_GATE_HOLDS);
    assert_string_equal(words, "b has 12.000 ms, a 11.000 ms (+9.09 %, +1.000 ms)");
    assert_int_equal(judge("n_allocs >= 1", &BASE, &other, words), TIDE_GATE_HOLDS);
    assert_string_equal(words, "b has 2, a 2 (+0.00 %, +0)");
}

/* The message names the position of each mistake. */
static void malformed_conditions_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"", "at character 1 is an unknown quantity '' (valid: peak_allocated, "},
        {"peak_alocated > +2%",
         "at character 1 is an unknown quantity 'peak_alocated': did you mean peak_allocated?"},
        {" time_ > 3ms", "at character 2 is an unknown quantity 'time_'"},
        {"category: > 3", "at character 1 is an unknown quantity 'category:'"},
        {"category:activations > 3",
         "at character 10 is an unknown category 'activations': did you mean activation?"},
        {"peak_allocated", "at character 15 an operator is missing"},
        {"peak_allocated == 3", "at character 16 an operator is missing"},
        {"peak_allocated => 3", "at character 16 an operator is missing"},
        {"peak_allocated >> 3", "at character 16 an operator is missing"},
        {"peak_allocated +2%", "at character 16 an operator is missing"},
        {"peak_allocated >", "at character 17 a bound is missing: +2% or -2% of the base, +100MiB"},
        {"peak_allocated > 2%", "at character 18 a percentage needs its sign"},
        {"peak_allocated > +2GBs", "at character 18 a bound is missing"},
        {"peak_allocated > +2ms", "at character 18 a bound is missing"},
        {"peak_allocated > ++2%", "at character 18 a bound is missing"},
        {"peak_allocated > nan", "at character 18 a bound is missing"},
        {"peak_allocated > +2% > 3", "at character 18 a bound is missing"},
        {"time_step > 5", "at character 13 a bound is missing: +2% or -2% of the base, +3ms"},
        {"n_allocs > 5MiB", "at character 12 a bound is missing: +2% or -2% of the base, +10"},
        {"n_allocs > 1.5", "at character 12 a bound is missing"},
    };
    tide_gate gate;
    char longer[TIDE_GATE_TEXT_BYTES + 1];
    tide_error error;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_gate_parse(CASES[i].text, &gate, &error), TIDE_INVALID);
        if (strstr(error.message, CASES[i].message) == NULL ||
            strstr(error.message, "for example 'peak_allocated > +2%'") == NULL) {
            fail_msg("'%s': %s", CASES[i].text, error.message);
        }
    }
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(tide_gate_parse(longer, &gate, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "longer than 159 characters"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_hold_beyond_their_bounds),
        cmocka_unit_test(a_run_does_not_fail_by_itself),
        cmocka_unit_test(missing_data_cannot_be_judged),
        cmocka_unit_test(forecasts_are_judged_by_their_ranges),
        cmocka_unit_test(messages_state_the_figures),
        cmocka_unit_test(malformed_conditions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
