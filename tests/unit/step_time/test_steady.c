/* test_steady.c - the host's usual time between rows, and how long threads waited for a processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/step_time/steady.h"
#include "support/made_launches.h"

static made_launches made;
static tide_time_log read_log;
static tide_time_ranges ranges;

static tide_run_launch named(const char *name) {
    tide_run_launch row = made_kernel(TIDE_RUN_VECTORISED, 8);
    row.name = made_launches_text(&made, name);
    return row;
}

/* A step of two kernels; the host takes `a` us after the first and `b` us after the second. */
static void step(const char *second, int64_t a, int64_t b) {
    made_launches_mark(&made, "step begins");
    made_launches_add(&made, named("first"), a);
    made_launches_add(&made, named(second), b);
    made_launches_mark(&made, "step ends");
}

static void level(void) {
    assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
    assert_int_equal(tide_time_ranges_init(&read_log, &ranges), TIDE_OK);
    assert_int_equal(tide_time_log_steady(&read_log, &ranges), TIDE_OK);
}

static int end(void **state) {
    (void)state;
    tide_time_ranges_fini(&ranges);
    tide_time_log_fini(&read_log);
    return 0;
}

/* Gaps of step i in us: from its first kernel to the second, and from that to its end. */
static void expect(size_t i, int64_t a, int64_t b) {
    const tide_run_launch *rows = &read_log.rows[ranges.steps[i].first];
    assert_int_equal(rows[2].host_ns - rows[1].host_ns, 1000 * a);
    assert_int_equal(rows[3].host_ns - rows[2].host_ns, 1000 * b);
}

static void a_slow_moment_does_not_count(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    step("second", 1, 1); /* the first step does not count */
    step("second", 10, 27);
    step("second", 90, 21);
    step("second", 11, 20);
    step("second", 12, 95);
    step("second", 13, 22);
    level();
    assert_int_equal(ranges.n_steps, 6);
    for (size_t i = 0; i < 6; i++) {
        expect(i, 11, 21); /* of 10 11 12 13 90 and of 20 21 22 27 95 */
    }
}

static void two_steps_are_enough(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    step("second", 30, 40);
    step("second", 10, 50);
    level();
    expect(0, 10, 40);
    expect(1, 10, 40);
}

static void other_steps_keep_their_times(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    step("second", 30, 40);
    step("other", 10, 50);
    step("another", 20, 60);
    level();
    expect(0, 30, 40);
    expect(1, 10, 50);
    expect(2, 20, 60);
}

/* Rows of two threads: the second is logged after a later one. */
static void the_clock_never_goes_back(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, named("a"), 10);
    made_launches_add(&made, named("b"), -4);
    made_launches_add(&made, named("c"), 6);
    made_launches_add(&made, named("d"), 0);
    level();
    static const int64_t WANTED_NS[] = {0, 10000, 10000, 12000};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(read_log.rows[i].host_ns - read_log.rows[0].host_ns, WANTED_NS[i]);
    }
}

static void mark(int64_t waited_us, int64_t us) {
    tide_run_launch row = {.kind = TIDE_RUN_LAUNCH_MARK,
                           .bytes = (uint64_t)waited_us * 1000,
                           .name = made_launches_text(&made, "somewhere")};
    made_launches_add(&made, row, us);
}

static void waiting_is_a_share_of_real_time(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    level();
    assert_float_equal(read_log.waited_share, 0.0, 0.0);
    (void)end(NULL);
    made_launches_begin(&made, "h100-80");
    mark(5, 30);
    mark(15, 60);
    mark(15, 1000); /* nothing follows */
    level();
    /* 90 us of its own and 10 us of waiting. */
    assert_float_equal(read_log.waited_share, 0.1, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_slow_moment_does_not_count, end),
        cmocka_unit_test_teardown(two_steps_are_enough, end),
        cmocka_unit_test_teardown(other_steps_keep_their_times, end),
        cmocka_unit_test_teardown(the_clock_never_goes_back, end),
        cmocka_unit_test_teardown(waiting_is_a_share_of_real_time, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
