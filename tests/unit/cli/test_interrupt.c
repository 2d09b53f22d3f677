/* test_interrupt.c - the first signal is noted, the second one has its usual effect, and what was
 * ignored stays so.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/interrupt.h"

/* Runs in a process of its own, which ends with the status 0 unless a signal ends it. */
static int wait_status_of(void (*body)(void)) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void one_signal(void) {
    tide_interrupt_begin(NULL);
    if (tide_interrupt_signal() != 0 || raise(SIGTERM) != 0 || tide_interrupt_signal() != SIGTERM) {
        _exit(1);
    }
}

static void told_signal(void) {
    char text[16] = "";
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) {
        _exit(2);
    }
    tide_interrupt_begin("stopping\n");
    if (raise(SIGINT) != 0 || read(ends[0], text, sizeof(text) - 1) != 9 ||
        strcmp(text, "stopping\n") != 0) {
        _exit(1);
    }
}

static void two_signals(void) {
    tide_interrupt_begin(NULL);
    (void)raise(SIGINT);
    (void)raise(SIGINT);
}

static void two_kinds_of_signals(void) {
    tide_interrupt_begin(NULL);
    (void)raise(SIGINT);
    (void)raise(SIGTERM);
}

static void ignored_signal(void) {
    (void)signal(SIGINT, SIG_IGN);
    tide_interrupt_begin(NULL);
    if (raise(SIGINT) != 0 || tide_interrupt_signal() != 0) {
        _exit(1);
    }
}

static void the_first_signal_is_answered_at_once(void **state) {
    (void)state;
    int status = wait_status_of(told_signal);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_first_signal_is_noted(void **state) {
    (void)state;
    int status = wait_status_of(one_signal);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_second_one_ends_the_process(void **state) {
    (void)state;
    int status = wait_status_of(two_signals);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    status = wait_status_of(two_kinds_of_signals);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void an_ignored_one_stays_so(void **state) {
    (void)state;
    int status = wait_status_of(ignored_signal);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_signal_is_noted),
        cmocka_unit_test(the_first_signal_is_answered_at_once),
        cmocka_unit_test(the_second_one_ends_the_process),
        cmocka_unit_test(an_ignored_one_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
