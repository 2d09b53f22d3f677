/* test_tick_clock.c - the time by ticks is between two readings of the real clock, and never goes
 * back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/tick_clock_friend.h"

enum {
    WITHIN_NS = 20000, /* allowed error; with a wrong length of a tick it is soon larger */
    LONG_NS = 120000000,
    PATIENCE_S = 60, /* a busy machine may interrupt each try to read both clocks for a while */
    OLD_ANCHOR_NS = 20000000, /* longer than an anchor is used */
    AHEAD_NS = 1000000000
};

/* Whether the length of a tick is unknown, but may be known soon. */
static bool shall_wait(const tide_tick_clock *clock, int64_t begin_ns) {
    return clock->has_ticks && atomic_load(&clock->tick_ns) == 0 &&
           tide_clock_now_ns() - begin_ns < PATIENCE_S * INT64_C(1000000000);
}

/* Both ways of reading give a time between two readings of the real clock. */
static void reads_the_real_clock(void **state) {
    (void)state;
    tide_tick_clock clock;
    tide_tick_clock_init(&clock);
    int64_t begin_ns = tide_clock_now_ns();
    int64_t last_ns = 0;
    while (tide_clock_now_ns() - begin_ns < LONG_NS || shall_wait(&clock, begin_ns)) {
        int64_t before_ns = tide_clock_now_ns();
        int64_t ns = tide_tick_clock_read_and_anchor(&clock);
        int64_t read_ns = tide_tick_clock_read(&clock);
        int64_t after_ns = tide_clock_now_ns();
        assert_true(ns >= before_ns - WITHIN_NS && ns <= after_ns + WITHIN_NS);
        assert_true(read_ns >= before_ns - WITHIN_NS && read_ns <= after_ns + WITHIN_NS);
        assert_true(ns >= last_ns);
        last_ns = ns;
    }
    /* By now the length of a tick must be known, if there are ticks. */
    assert_int_equal(clock.has_ticks, atomic_load(&clock.tick_ns) != 0);
    assert_string_equal(tide_tick_clock_source(&clock), clock.has_ticks ? "tsc" : "monotonic");
}

static void without_a_counter_the_real_clock_is_read(void **state) {
    (void)state;
    tide_tick_clock clock;
    memset(&clock, 0, sizeof(clock));
    for (int i = 0; i < 1000; i++) {
        int64_t before_ns = tide_clock_now_ns();
        int64_t ns = tide_tick_clock_read_and_anchor(&clock);
        int64_t read_ns = tide_tick_clock_read(&clock);
        assert_true(before_ns <= ns && ns <= read_ns && read_ns <= tide_clock_now_ns());
    }
    assert_int_equal(atomic_load(&clock.tick_ns), 0);
}

/* After a suspension of the machine the anchor is too old, and the clock takes a new one. */
static void an_old_anchor_is_dropped(void **state) {
    (void)state;
    tide_tick_clock clock;
    tide_tick_clock_init(&clock);
    if (!clock.has_ticks) {
        skip();
    }
    atomic_store(&clock.tick_ns, UINT64_C(1) << 31);
    atomic_store(&clock.ticks, 1); /* the first tick of the counter */
    int64_t before_ns = tide_clock_now_ns();
    int64_t ns = tide_tick_clock_read_and_anchor(&clock);
    assert_true(ns >= before_ns - WITHIN_NS && ns <= tide_clock_now_ns() + WITHIN_NS);
    ns = tide_tick_clock_read(&clock);
    assert_true(ns >= before_ns - WITHIN_NS && ns <= tide_clock_now_ns() + WITHIN_NS);
}

/* An anchor may be ahead of the real clock. When it is too old to be used, later times must not
 * fall below those read by it. */
static void never_goes_back_behind_an_anchor(void **state) {
    (void)state;
    tide_tick_clock clock;
    tide_tick_clock_init(&clock);
    int64_t begin_ns = tide_clock_now_ns();
    while (shall_wait(&clock, begin_ns)) {
        (void)tide_tick_clock_read_and_anchor(&clock);
    }
    atomic_fetch_add(&clock.ns, AHEAD_NS);
    int64_t last_ns = tide_tick_clock_read(&clock);
    begin_ns = tide_clock_now_ns();
    while (tide_clock_now_ns() - begin_ns < OLD_ANCHOR_NS) {
        int64_t ns = tide_tick_clock_read(&clock);
        assert_true(ns >= last_ns);
        last_ns = ns;
    }
    assert_true(tide_tick_clock_read_and_anchor(&clock) >= last_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_real_clock),
        cmocka_unit_test(without_a_counter_the_real_clock_is_read),
        cmocka_unit_test(an_old_anchor_is_dropped),
        cmocka_unit_test(never_goes_back_behind_an_anchor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
