/* test_recorder_cost.c - the recorder's share of a step: which events count, what they cost, and
 * when comparing recorded with unrecorded steps is conclusive. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "snapshot/explain/recorder_cost.h"
#include "snapshot/document/scope_paths.h"

/* 0 step 0 > 1 forward > 2 operator; 3 step 1 > 4 forward > 5 operator, 6 backward; 7 evaluation */
static const char *const STRINGS[] = {"step", "forward", "matmul", "backward", "evaluation"};
static const tide_scope_row SCOPES[] = {
    {.begin_ns = 0, .parent = TIDE_NONE, .name = 0, .index = 0, .kind = TIDE_SCOPE_STEP},
    {.begin_ns = 1, .parent = 0, .name = 1, .index = -1, .kind = TIDE_SCOPE_PHASE},
    {.begin_ns = 2, .parent = 1, .name = 2, .index = -1, .kind = TIDE_SCOPE_OPERATOR},
    {.begin_ns = 100, .parent = TIDE_NONE, .name = 0, .index = 1, .kind = TIDE_SCOPE_STEP},
    {.begin_ns = 101, .parent = 3, .name = 1, .index = -1, .kind = TIDE_SCOPE_PHASE},
    {.begin_ns = 102, .parent = 4, .name = 2, .index = -1, .kind = TIDE_SCOPE_OPERATOR},
    {.begin_ns = 110, .parent = 3, .name = 3, .index = -1, .kind = TIDE_SCOPE_PHASE},
    {.begin_ns = 200, .parent = TIDE_NONE, .name = 4, .index = 0, .kind = TIDE_SCOPE_STEP},
};
/* Of the last step's events, those in scopes 4, 5, 5 and 6 are in phases; the one in scope 3 is
 * not. */
static const uint32_t EVENT_SCOPES[] = {TIDE_NONE, 2, 2, 0, 4, 5, 5, 6, 3, 7};
enum { N_EVENTS = sizeof(EVENT_SCOPES) / sizeof(EVENT_SCOPES[0]) };

static const double STEP_MS[] = {1.0, 3.0};
static const tide_snapshot_phase PHASES[] = {
    {.name = "step", .n_samples = 2, .host_ms = STEP_MS, .device_ms = STEP_MS}};

/* Only these two columns are read. */
static int64_t times_ns[N_EVENTS];
static uint32_t scopes_of[N_EVENTS];

static tide_snapshot made(void) {
    for (size_t i = 0; i < N_EVENTS; i++) {
        times_ns[i] = (int64_t)i;
        scopes_of[i] = EVENT_SCOPES[i];
    }
    return (tide_snapshot){
        .strings = STRINGS,
        .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
        .scopes = SCOPES,
        .n_scopes = sizeof(SCOPES) / sizeof(SCOPES[0]),
        .events = {.time_ns = times_ns, .scope = {scopes_of, sizeof(scopes_of[0])}},
        .n_events = N_EVENTS,
        .full_policy = "keep-newest",
        .timing = {.phases = PHASES, .n_phases = 1, .recorder_ns_per_event = 500.0}};
}

static void events_of_the_last_steps_phases_count(void **state) {
    (void)state;
    tide_snapshot snapshot = made();
    tide_recorder_cost cost = tide_recorder_cost_of(&snapshot);
    assert_int_equal(cost.n_events, 4);
    assert_true(cost.ns_per_event == 500.0);
    assert_true(cost.step_ms == 2.0);
    assert_true(fabs(cost.event_share - 4 * 500e-6 / 2.0) < 1e-15);
    assert_int_equal(cost.n_pairs, 0);
    assert_false(tide_recorder_cost_shows(&cost));
}

/* If the time grew with depth times events, a small hostile file could hang the program. */
static void nesting_without_end_costs_no_time(void **state) {
    (void)state;
    enum { N = 300000, N_COUNTED = TIDE_SCOPE_PATH_DEPTH };
    tide_scope_row *scopes = calloc(N, sizeof(*scopes));
    int64_t *times = calloc(N, sizeof(*times));
    uint32_t *scope_of = calloc(N, sizeof(*scope_of));
    assert_non_null(scopes);
    assert_true(times != NULL && scope_of != NULL);
    for (uint32_t i = 0; i < N; i++) {
        scopes[i] = (tide_scope_row){
            .parent = i - 1, .name = 1, .index = -1, .kind = (uint8_t)TIDE_SCOPE_OPERATOR};
        scope_of[i] = i;
    }
    scopes[0] = (tide_scope_row){.parent = TIDE_NONE, .kind = TIDE_SCOPE_STEP};
    scopes[1].kind = TIDE_SCOPE_PHASE;
    tide_snapshot snapshot = made();
    snapshot.scopes = scopes;
    snapshot.n_scopes = N;
    snapshot.events = (tide_event_table){.time_ns = times, .scope = {scope_of, sizeof(*scope_of)}};
    snapshot.n_events = N;
    struct timespec begin;
    struct timespec end;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin), 0);
    assert_int_equal(tide_recorder_cost_of(&snapshot).n_events, N_COUNTED);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end), 0);
    assert_true(end.tv_sec - begin.tv_sec <
                10); /* otherwise 45 billion steps, which take minutes */
    free(times);
    free(scope_of);
    free(scopes);
}

static void what_is_not_known_is_not_said(void **state) {
    (void)state;
    tide_snapshot snapshot = made();
    snapshot.timing.recorder_ns_per_event = -1.0;
    assert_true(tide_recorder_cost_of(&snapshot).event_share == -1.0);
    snapshot = made();
    snapshot.timing.n_phases = 0;
    assert_true(tide_recorder_cost_of(&snapshot).event_share == -1.0);
    snapshot = made();
    snapshot.n_scopes = 0;
    for (size_t i = 0; i < N_EVENTS; i++) {
        scopes_of[i] = TIDE_NONE;
    }
    assert_int_equal(tide_recorder_cost_of(&snapshot).n_events, -1);
    /* Lost events may belong to the step or precede it. */
    snapshot = made();
    snapshot.n_dropped = 1;
    assert_int_equal(tide_recorder_cost_of(&snapshot).n_events, 4);
    snapshot.full_policy = "stop";
    assert_int_equal(tide_recorder_cost_of(&snapshot).n_events, -1);
    snapshot.full_policy = "keep-newest";
    times_ns[0] = 101;
    assert_int_equal(tide_recorder_cost_of(&snapshot).n_events, -1);
}

/* Pairs of steps of 100 ms unrecorded, with the given shares of the recorded step. */
static tide_recorder_cost cost_of(const double *shares, size_t n) {
    double recorded[TIDE_RECORDER_MAX_PAIRS];
    double unrecorded[TIDE_RECORDER_MAX_PAIRS];
    for (size_t i = 0; i < n; i++) {
        unrecorded[i] = 100.0;
        recorded[i] = 100.0 / (1.0 - shares[i]);
    }
    tide_snapshot snapshot = made();
    snapshot.timing.recorded_step_ms = recorded;
    snapshot.timing.unrecorded_step_ms = unrecorded;
    snapshot.timing.n_recorder_pairs = n;
    return tide_recorder_cost_of(&snapshot);
}

static void assert_near(double value, double expected) {
    assert_true(fabs(value - expected) < 1e-12);
}

static void the_interval_of_the_median_holds_it_in_95_of_100_cases(void **state) {
    (void)state;
    /* From tables of the sign test: how many values to leave out at each end. */
    static const struct {
        size_t n, outside;
    } KNOWN[] = {{1, 0},  {5, 0},  {6, 0},  {8, 0},  {9, 1},    {11, 1},
                 {12, 2}, {15, 3}, {20, 5}, {30, 9}, {100, 39}, {1000, 468}};
    double shares[TIDE_RECORDER_MAX_PAIRS];
    for (size_t k = 0; k < sizeof(KNOWN) / sizeof(KNOWN[0]); k++) {
        size_t n = KNOWN[k].n;
        for (size_t i = 0; i < n; i++) { /* unsorted; each n is coprime to 7 */
            shares[i] = (double)((i * 7) % n + 1) * 1e-4;
        }
        tide_recorder_cost cost = cost_of(shares, n);
        assert_int_equal(cost.n_pairs, n);
        assert_near(cost.low_share, (double)(KNOWN[k].outside + 1) * 1e-4);
        assert_near(cost.high_share, (double)(n - KNOWN[k].outside) * 1e-4);
        assert_near(cost.pair_share, (double)(n + 1) * 0.5e-4);
        assert_int_equal(tide_recorder_cost_shows(&cost), n >= TIDE_RECORDER_MIN_PAIRS);
    }
}

static void a_share_shows_only_above_0(void **state) {
    (void)state;
    double shares[] = {0.04, 0.05, 0.06, 0.04, 0.05, 0.06, 0.05, 0.05, -1.5};
    tide_recorder_cost cost = cost_of(shares, 9); /* one slow step is left out */
    assert_true(tide_recorder_cost_shows(&cost));
    assert_near(cost.pair_share, 0.05);
    assert_near(cost.low_share, 0.04);
    shares[0] = -0.02;
    cost = cost_of(shares, 9);
    assert_false(tide_recorder_cost_shows(&cost));
    assert_near(cost.low_share, -0.02);
}

static void impossible_times_are_no_pairs(void **state) {
    (void)state;
    const double recorded[] = {1.0, -1.0};
    const double unrecorded[] = {1.0, 1.0};
    tide_snapshot snapshot = made();
    snapshot.timing.recorded_step_ms = recorded;
    snapshot.timing.unrecorded_step_ms = unrecorded;
    snapshot.timing.n_recorder_pairs = 2;
    assert_int_equal(tide_recorder_cost_of(&snapshot).n_pairs, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_the_last_steps_phases_count),
        cmocka_unit_test(nesting_without_end_costs_no_time),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(the_interval_of_the_median_holds_it_in_95_of_100_cases),
        cmocka_unit_test(a_share_shows_only_above_0),
        cmocka_unit_test(impossible_times_are_no_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
