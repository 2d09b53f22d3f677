/* test_host_time.c - the host's own time: without logging, and without waiting for a processor. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "programs/virtual_cuda/launches/host_time.h"

enum { MS = 1000000 };

static void the_second_number_is_the_waiting(void **state) {
    (void)state;
    assert_int_equal(tide_vc_host_time_parse("81203 117911 7\n"), 117911);
    assert_int_equal(tide_vc_host_time_parse("0 0 1"), 0);
    assert_int_equal(tide_vc_host_time_parse(""), -1);
    assert_int_equal(tide_vc_host_time_parse("12"), -1);
    assert_int_equal(tide_vc_host_time_parse("12 x"), -1);
    assert_int_equal(tide_vc_host_time_parse("12 -5 1"), -1);
}

/* A row that takes this long to log. Returns the host's own time at its begin. */
static int64_t row(int64_t logging_ns) {
    int64_t began_ns = tide_clock_now_ns();
    int64_t own_ns = tide_vc_host_time_begin(began_ns);
    while (tide_clock_now_ns() - began_ns < logging_ns) {
    }
    (void)tide_vc_host_time_end(began_ns);
    return own_ns;
}

static void logging_does_not_count(void **state) {
    (void)state;
    int64_t began_ns = tide_clock_now_ns();
    int64_t first_ns = row(5 * MS);
    int64_t own_ns = row(0) - first_ns;
    assert_true(own_ns >= 0 && own_ns <= tide_clock_now_ns() - began_ns - 5 * MS);
}

static void sleeping_counts(void **state) {
    (void)state;
    int64_t first_ns = row(0);
    (void)usleep(20000);
    /* Waking up may take a while, which is no sleep. Waits below 20 us of the rows so far are known
     * only now. */
    assert_true(row(0) - first_ns >= 19 * MS);
}

static atomic_bool is_over;

static void *spin(void *none) {
    while (!atomic_load(&is_over)) {
    }
    return none;
}

/* Two threads share one processor, so this one waits for about half of the time. */
static void waiting_for_a_processor_does_not_count(void **state) {
    (void)state;
    cpu_set_t all;
    cpu_set_t one;
    pthread_t other;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    if (access("/proc/thread-self/schedstat", R_OK) != 0 ||
        sched_setaffinity(0, sizeof(one), &one) != 0) {
        skip();
    }
    assert_int_equal(pthread_create(&other, NULL, spin, NULL), 0); /* inherits the processor */
    int64_t began_ns = tide_clock_now_ns();
    int64_t first_ns = row(0);
    int64_t before_ns = tide_vc_host_time_waited_ns();
    int64_t own_ns = 0;
    while (tide_clock_now_ns() - began_ns < 300 * MS) {
        for (int64_t until_ns = tide_clock_now_ns() + 20 * (int64_t)MS;
             tide_clock_now_ns() < until_ns;) {
        }
        int64_t now_ns = row(0) - first_ns;
        assert_true(now_ns >= own_ns); /* it never goes back */
        own_ns = now_ns;
    }
    int64_t real_ns = tide_clock_now_ns() - began_ns;
    int64_t waited_ns = tide_vc_host_time_waited_ns() - before_ns;
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_true(waited_ns > real_ns / 10); /* half, if the other thread alone runs beside it */
    assert_true(own_ns + waited_ns <= real_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_number_is_the_waiting),
        cmocka_unit_test(logging_does_not_count),
        cmocka_unit_test(sleeping_counts),
        cmocka_unit_test(waiting_for_a_processor_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
