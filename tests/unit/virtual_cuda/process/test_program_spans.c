/* test_program_spans.c - spans of the program's clock and of the real one, with a factor that does
 * not divide a nanosecond. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#define HOST 0.3
#include "unit/virtual_cuda/process/test_clock.h"
#include "unit/virtual_cuda/test_folder.h"
#include "programs/virtual_cuda/process/program_clock.h"

static char folder[CLOCK_FOLDER];

static long real_ns(long ns) {
    return tide_vc_clock_real_span((struct timespec){.tv_nsec = ns}).tv_nsec;
}

static long program_ns(long ns) {
    return tide_vc_clock_program_span((struct timespec){.tv_nsec = ns}).tv_nsec;
}

/* 1 ns of the program is 3.33 real ones: 3 would be 0.9. */
static void no_wait_is_too_short(void **state) {
    (void)state;
    assert_int_equal(real_ns(1), 4);
    assert_int_equal(real_ns(2), 7);
    assert_int_equal(real_ns(3000), 10000);
    for (long ns = 1; ns < 1000; ns++) {
        assert_true(HOST * (double)real_ns(ns) >= (double)ns - 1e-9);
        assert_int_equal(program_ns(real_ns(ns)), ns); /* a timer reports its own interval */
    }
}

/* For a timer 0 means stopped. */
static void only_nothing_is_0(void **state) {
    (void)state;
    assert_int_equal(program_ns(1), 1);
    assert_int_equal(program_ns(3), 1);
    assert_int_equal(program_ns(4), 1);
    assert_int_equal(program_ns(7), 2);
    assert_int_equal(program_ns(0), 0);
    assert_int_equal(real_ns(0), 0);
}

/* An invalid span is an error, which the C library reports. */
static void others_stay_as_they_are(void **state) {
    const struct timespec LONGEST = {.tv_sec = INT64_MAX};
    (void)state;
    assert_int_equal(real_ns(-1), -1);
    assert_int_equal(program_ns(1000000000), 1000000000);
    assert_true(tide_vc_clock_real_span(LONGEST).tv_sec == INT64_MAX);
}

static int tear_down(void **state) {
    (void)state;
    return remove_folder(folder);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!clock_begin(argv, folder)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wait_is_too_short),
        cmocka_unit_test(only_nothing_is_0),
        cmocka_unit_test(others_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
