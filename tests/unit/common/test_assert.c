/* test_assert.c - TIDE_ASSERT ends the process in this build, and evaluates nothing in others. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef TIDEMARK_ASSERTS
#define TIDEMARK_ASSERTS
#endif
#include "common/assert.h"

static int status_of(int value) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        TIDE_ASSERT(value == 1);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void ends_the_process(void **state) {
    (void)state;
    int status = status_of(1);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = status_of(2);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#undef TIDE_COMMON_ASSERT_H
#undef TIDEMARK_ASSERTS
#undef TIDE_ASSERT
#include "common/assert.h"

static void evaluates_nothing(void **state) {
    (void)state;
    int n = 0;
    TIDE_ASSERT(++n > 1);
    assert_int_equal(n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_the_process),
        cmocka_unit_test(evaluates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
