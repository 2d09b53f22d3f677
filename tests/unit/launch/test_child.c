/* test_child.c - a run's program is watched, and a signal can request an action meanwhile. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/launch_internal.h"
#include "programs/launch/left/left.h"

extern char **environ;

typedef struct seen {
    int n_looks, n_asked;
    const tide_launch *launch;
    int answer_fd; /* gets a line for each signal; 0: no file */
} seen;

static void watch(void *ctx, const tide_launch *launch, bool was_asked) {
    seen *of = ctx;
    of->n_looks++;
    of->n_asked += was_asked;
    if (was_asked && of->answer_fd > 0) {
        assert_int_equal(write(of->answer_fd, "\n", 1), 1);
    }
    of->launch = launch;
}

/* Runs a shell command. */
static tide_launch run(char *line, int asked_by, seen *ret_seen) {
    char *arguments[] = {"sh", "-c", line, NULL};
    const tide_launch_config config = {
        .arguments = arguments, .watch = watch, .asked_by = asked_by, .ctx = ret_seen};
    tide_launch launch = {.alive_fd = -1, .cleaner = -1, .exit_status = -1};
    *ret_seen = (seen){.answer_fd = ret_seen->answer_fd};
    assert_int_equal(tide_launch_child("/bin/sh", environ, &config, &launch, NULL), TIDE_OK);
    assert_ptr_equal(ret_seen->launch, &launch);
    return launch;
}

static void a_signal_asks_and_is_not_passed_on(void **state) {
    (void)state;
    enum { ANSWERS = 8 }; /* where the program reads the answers; the shell knows single digits */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], ANSWERS), ANSWERS);
    seen found = {.answer_fd = ends[1]};
    tide_launch launch = run("trap 'exit 9' USR1; kill -USR1 $PPID; read line <&8; "
                             "kill -USR1 $PPID; read line <&8; exit 7",
                             SIGUSR1, &found);
    assert_int_equal(close(ends[0]) + close(ends[1]) + close(ANSWERS), 0);
    assert_int_equal(launch.exit_status, 7);
    assert_int_equal(found.n_asked, 2);
    assert_true(found.n_looks > found.n_asked);
    assert_int_equal(raise(SIGUSR1), 0); /* it comes too late, and does not end this process */
}

static void other_signals_are_passed_on(void **state) {
    (void)state;
    seen found = {.answer_fd = 0};
    /* A minute and more, so that a failing test ends. */
    tide_launch launch = run("trap 'exit 9' TERM; kill -TERM $PPID; i=0; "
                             "while [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done; exit 7",
                             SIGUSR1, &found);
    assert_int_equal(launch.exit_status, 9);
    assert_int_equal(found.n_asked, 0);
}

/* The program inherits what this process did with the signal before. */
static void the_program_has_the_signal_as_it_was(void **state) {
    (void)state;
    seen found = {.answer_fd = 0};
    (void)signal(SIGUSR2, SIG_DFL);
    assert_int_equal(run("kill -USR2 $$; exit 3", SIGUSR2, &found).signal_number, SIGUSR2);
    (void)signal(SIGUSR2, SIG_IGN);
    assert_int_equal(run("kill -USR2 $$; exit 3", SIGUSR2, &found).exit_status, 3);
    (void)signal(SIGUSR2, SIG_DFL);
}

/* It is watched once more after its end, to see its last actions. */
static void a_short_program_is_looked_at(void **state) {
    (void)state;
    seen found = {.answer_fd = 0};
    assert_int_equal(run("exit 4", 0, &found).exit_status, 4);
    assert_true(found.n_looks >= 1);
}

static void failures_are_counted(void **state) {
    (void)state;
    char folder[] = "/tmp/tidemark-test-XXXXXX";
    char command[256];
    tide_launch launch = {.alive_fd = -1};
    tide_left_failures found[4];
    assert_non_null(mkdtemp(folder));
    snprintf(launch.folder, sizeof(launch.folder), "%s", folder);
    assert_int_equal(tide_left_count_failures(&launch, found, 4), 0);
    snprintf(command, sizeof(command), "cd %s; echo >>71.oom; echo >>71.oom; echo >x.oom; echo >5",
             folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(tide_left_count_failures(&launch, found, 4), 1);
    assert_int_equal(found[0].pid, 71);
    assert_int_equal(found[0].n, 2);
    assert_int_equal(tide_left_count_failures(&launch, found, 0), 0);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_asks_and_is_not_passed_on),
        cmocka_unit_test(other_signals_are_passed_on),
        cmocka_unit_test(the_program_has_the_signal_as_it_was),
        cmocka_unit_test(a_short_program_is_looked_at),
        cmocka_unit_test(failures_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
