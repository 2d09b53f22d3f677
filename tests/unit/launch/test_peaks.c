/* test_peaks.c - when growth from step to step is worth a word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launch/peaks.h"
#include "support/made_snapshot.h"

enum { MAX_STEPS = 6 };

#define MIB (INT64_C(1) << 20)

static void growth_is_told_by_rule(void **state) {
    (void)state;
    static const struct {
        size_t n_steps;
        int64_t peaks[MAX_STEPS];
        int64_t growth;
    } CASES[] = {
        {0, {0}, 0},
        {1, {100}, 0},
        {2, {10 * MIB, 30 * MIB}, 0},                          /* optimizer state */
        {3, {10 * MIB, 30 * MIB, 30 * MIB}, 0},                /* and then it repeats */
        {3, {10 * MIB, 30 * MIB, 36 * MIB}, 6 * MIB},          /* it grows on */
        {3, {10 * MIB, 30 * MIB, 32 * MIB}, 2 * MIB},          /* by a segment */
        {3, {10 * MIB, 30 * MIB, 32 * MIB - 512}, 0},          /* by less, once */
        {4, {1, 30 * MIB, 30 * MIB, 30 * MIB + 512}, 0},       /* once, later */
        {4, {1, 3 * MIB, 3 * MIB + 512, 3 * MIB + 1024}, 512}, /* by little, again and again */
        {4, {1, 30 * MIB, 34 * MIB, 40 * MIB}, 5 * MIB},       /* the mean of the two */
        {4, {90 * MIB, 30 * MIB, 34 * MIB, 40 * MIB}, 0},      /* no more than the first took */
        {4, {1, 50 * MIB, 30 * MIB, 40 * MIB}, 0},             /* lengths that go up and down */
        {5, {1, 50 * MIB, 30 * MIB, 40 * MIB, 50 * MIB}, 0},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_left_growth_of(CASES[i].peaks, CASES[i].n_steps), CASES[i].growth);
    }
}

/* Three steps of 10, 20 and 30 MiB; the last buys its memory from a pool: none, a graph's, the
 * user's. */
static void a_capture_is_no_growth(void **state) {
    (void)state;
    static const char *const STRINGS[] = {"step"};
    static const tide_snapshot_pool POOLS[] = {{{1, 0}}, {{0, 1}}};
    static const int64_t GROWTH[] = {10 * MIB, 0, 10 * MIB};
    tide_scope_row scopes[3];
    tide_event events[9];
    for (size_t i = 0; i < 3; i++) {
        uint64_t address = (i + 1) << 30;
        uint64_t n_bytes = (uint64_t)(10 * MIB) * (i + 1);
        scopes[i] = (tide_scope_row){.begin_ns = (int64_t)i * 100,
                                     .duration_ns = 50,
                                     .device_begin_ns = -1,
                                     .device_duration_ns = -1,
                                     .parent = TIDE_NONE,
                                     .index = (int32_t)i,
                                     .kind = TIDE_SCOPE_STEP};
        events[3 * i] = made_event(TIDE_ACTION_SEGMENT_ALLOC, address, n_bytes, n_bytes);
        events[3 * i + 1] = made_event(TIDE_ACTION_ALLOC, address, n_bytes, n_bytes);
        events[3 * i + 2] = made_event(TIDE_ACTION_FREE_COMPLETED, address, n_bytes, n_bytes);
        for (size_t k = 0; k < 3; k++) {
            events[3 * i + k].time_ns = (int64_t)(i * 100 + k);
            events[3 * i + k].scope = (uint32_t)i;
        }
    }
    for (uint16_t pool = 0; pool < 3; pool++) {
        const made_tables tables = {
            .strings = STRINGS, .n_strings = 1, .scopes = scopes, .n_scopes = 3, .n_devices = 1};
        tide_snapshot *made = made_snapshot(NULL, &tables, events, 9);
        const uint16_t event_pool[9] = {[6] = pool};
        int64_t last_step = -1;
        made->pools = POOLS;
        made->n_pools = 2;
        made->event_pool = event_pool;
        assert_int_equal(tide_left_growth(made, 0, &last_step), GROWTH[pool]);
        tide_snapshot_destroy(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(growth_is_told_by_rule),
                                       cmocka_unit_test(a_capture_is_no_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
