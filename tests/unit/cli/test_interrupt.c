/* test_interrupt.c - the program notes the first signal, the second one has its default effect, and
 * ignored signals stay ignored. No signal that ends the process leaves an unfinished file.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/interrupt.h"
#include "common/files/temporary_file.h"

/* Runs in its own process, which exits with 0 unless a signal ends it. */
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

static void lost_connection(void) {
    tide_interrupt_clean_up();
    tide_interrupt_begin(NULL);
    if (raise(SIGHUP) != 0 || tide_interrupt_signal() != SIGHUP) {
        _exit(1);
    }
}

/* An unfinished file, in a process that the signal `ending` ends. */
static char unfinished[64];
static int ending;

static void end_in_the_midst(void) {
    tide_temporary_file file;
    tide_interrupt_clean_up();
    if (tide_temporary_file_open(unfinished, 0600, &file) != 0 || access(file.path, F_OK) != 0) {
        _exit(1);
    }
    (void)raise(ending);
}

/* The parent has the file. */
static void end_in_a_fork(void) {
    tide_interrupt_clean_up();
    (void)raise(SIGTERM);
}

static size_t count_files(const char *folder) {
    size_t n = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    while (readdir(listing) != NULL) {
        n++;
    }
    assert_int_equal(closedir(listing), 0);
    return n - 2; /* "." and ".." */
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

static void the_second_signal_ends_the_process(void **state) {
    (void)state;
    int status = wait_status_of(two_signals);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    status = wait_status_of(two_kinds_of_signals);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void an_ignored_signal_stays_ignored(void **state) {
    (void)state;
    int status = wait_status_of(ignored_signal);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_lost_connection_interrupts(void **state) {
    (void)state;
    int status = wait_status_of(lost_connection);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void unfinished_files_are_removed(void **state) {
    (void)state;
    static const int ENDINGS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    char folder[] = "/tmp/tidemark-interrupt-XXXXXX";
    tide_temporary_file mine;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(unfinished, sizeof(unfinished), "%s/run.json.gz", folder);
    for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++) {
        ending = ENDINGS[i];
        int status = wait_status_of(end_in_the_midst);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), ending);
        assert_int_equal(count_files(folder), 0);
    }
    assert_int_equal(tide_temporary_file_open(unfinished, 0600, &mine), 0);
    int status = wait_status_of(end_in_a_fork);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_files(folder), 1);
    assert_int_equal(close(mine.fd), 0);
    tide_temporary_file_remove(&mine);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_signal_is_noted),
        cmocka_unit_test(the_first_signal_is_answered_at_once),
        cmocka_unit_test(the_second_signal_ends_the_process),
        cmocka_unit_test(an_ignored_signal_stays_ignored),
        cmocka_unit_test(a_lost_connection_interrupts),
        cmocka_unit_test(unfinished_files_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
