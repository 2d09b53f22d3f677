/* test_logs.c - the logs that running processes write are found. */
#define _DEFAULT_SOURCE /* flock */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/logs.h"

static char state_folder[] = "/tmp/tidemark-test-XXXXXX";
static tide_logs_list found;

/* A log of a run; with `is_written`, as a recorder holds it. The descriptor stays open. */
static void make_log(const char *run, const char *name, int is_written, int seconds) {
    char path[512];
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000 + seconds}};
    snprintf(path, sizeof(path), "%s/tidemark/%s", state_folder, run);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/tidemark/%s/%s", state_folder, run, name);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(is_written ? flock(fd, LOCK_EX | LOCK_NB) : close(fd), 0);
    snprintf(path, sizeof(path), "%s/tidemark/%s", state_folder, run);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int set_up(void **state) {
    char path[512];
    (void)state;
    assert_non_null(mkdtemp(state_folder));
    assert_int_equal(setenv("XDG_STATE_HOME", state_folder, 1), 0);
    snprintf(path, sizeof(path), "%s/tidemark", state_folder);
    return mkdir(path, 0700);
}

static int tear_down(void **state) {
    char command[512];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", state_folder);
    return system(command);
}

static int ends_with(const char *text, const char *end) {
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void running_logs_of_the_newest_run_are_found(void **state) {
    (void)state;
    char folder[TIDE_LAUNCH_PATH_BYTES] = "";
    tide_error error = {""};
    assert_int_equal(tide_logs_find_running(-1, folder, &found, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "no run is going on"));
    make_log("run-old", "7.log", 1, 10);
    make_log("run-new", "100.log", 1, 20);
    make_log("run-new", "99.log", 1, 20);
    make_log("run-new", "98.log", 0, 20); /* its process has ended */
    make_log("run-new", "notes.log", 1, 20);
    make_log("run-ended", "5.log", 0, 30);
    make_log("other", "6.log", 1, 40);
    assert_int_equal(tide_logs_find_running(-1, folder, &found, &error), TIDE_OK);
    assert_true(ends_with(folder, "/run-new"));
    assert_int_equal(found.n, 2);
    assert_true(ends_with(found.paths[0], "/run-new/99.log"));
    assert_true(ends_with(found.paths[1], "/run-new/100.log"));
    make_log("run-later", "200.log", 1, 50); /* the run stays the one that was found */
    assert_int_equal(tide_logs_find_running(-1, folder, &found, &error), TIDE_OK);
    assert_true(ends_with(found.paths[0], "/run-new/99.log"));
    folder[0] = '\0';
    assert_int_equal(tide_logs_find_running(7, folder, &found, &error), TIDE_OK);
    assert_int_equal(found.n, 1);
    assert_true(ends_with(found.paths[0], "/run-old/7.log"));
    folder[0] = '\0';
    assert_int_equal(tide_logs_find_running(5, folder, &found, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "process 5 writes no log"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(running_logs_of_the_newest_run_are_found)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
