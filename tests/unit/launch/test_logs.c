/* test_logs.c - finding the logs of running processes, and those that ended processes left. */
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

#include "programs/launch/logs/logs.h"

static char state_folder[] = "/tmp/tidemark-test-XXXXXX";
static tide_logs_list found;

/* A log of a run; with `is_written`, held open as a recorder does. The descriptor stays open. */
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
    snprintf(state_folder, sizeof(state_folder), "/tmp/tidemark-test-XXXXXX");
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
    make_log("run-later", "200.log", 1, 50); /* the run found stays the same */
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

/* ---- recover --last ---- */

/* A file in the folder of all logs with this time of change. */
static void put_file(const char *name, int seconds) {
    char path[512];
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000 + seconds}};
    snprintf(path, sizeof(path), "%s/tidemark/%s", state_folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_folder(const char *name) {
    char path[512];
    snprintf(path, sizeof(path), "%s/tidemark/%s", state_folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int exists(const char *name) {
    char path[512];
    snprintf(path, sizeof(path), "%s/tidemark/%s", state_folder, name);
    return access(path, F_OK) == 0;
}

static void the_last_log_is_the_newest_of_all_runs(void **state) {
    (void)state;
    char path[TIDE_LAUNCH_PATH_BYTES];
    tide_error error = {""};
    assert_int_equal(tide_logs_last(path, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "no run has left a log in "));
    assert_non_null(strstr(error.message, state_folder));
    make_folder("run-a");
    make_folder("run-b");
    make_folder("run-b/4.log"); /* no file */
    put_file("run-a/1.log", 10);
    put_file("run-a/2.log", 30);
    put_file("run-b/3.log", 20);
    put_file("run-b/notes.txt", 90);
    put_file("run-b/.log", 90); /* not the end of any name */
    assert_int_equal(tide_logs_last(path, &error), TIDE_OK);
    assert_true(ends_with(path, "/run-a/2.log"));
    assert_true(exists("run-a/2.log")); /* only looked up */
}

static void the_folder_follows_from_the_environment(void **state) {
    (void)state;
    char folder[TIDE_LAUNCH_PATH_BYTES];
    char begin[512];
    tide_error error = {""};
    assert_int_equal(tide_logs_make(folder, &error), TIDE_OK);
    snprintf(begin, sizeof(begin), "%s/tidemark/run-", state_folder);
    assert_int_equal(strncmp(folder, begin, strlen(begin)), 0);
    struct stat info;
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    tide_logs_remove(folder);
    assert_int_equal(access(folder, F_OK), -1);
    /* A relative path there is ignored, as the specification requires. */
    assert_int_equal(setenv("XDG_STATE_HOME", "here", 1), 0);
    assert_int_equal(setenv("HOME", state_folder, 1), 0);
    assert_int_equal(tide_logs_make(folder, &error), TIDE_OK);
    snprintf(begin, sizeof(begin), "%s/.local/state/tidemark/run-", state_folder);
    assert_int_equal(strncmp(folder, begin, strlen(begin)), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(tide_logs_make(folder, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "--log names a file"));
    assert_int_equal(setenv("XDG_STATE_HOME", "/proc/nowhere", 1), 0);
    assert_int_equal(tide_logs_make(folder, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "/proc/nowhere"));
    assert_int_equal(tide_logs_last(folder, &error), TIDE_INVALID);
}

/* Our own logs are in it; other files are ignored. */
static void only_logs_are_removed(void **state) {
    (void)state;
    char folder[TIDE_LAUNCH_PATH_BYTES];
    make_folder("run-c");
    make_folder("run-d");
    put_file("run-c/1.log", 10);
    put_file("run-c/1.log.old", 10);
    put_file("run-c/.tidemark-0123456789abcdef.tmp", 10);
    put_file("run-d/1.log", 10);
    put_file("run-d/diary.logbook", 10);
    put_file("run-d/1.json", 10);
    snprintf(folder, sizeof(folder), "%s/tidemark/run-c", state_folder);
    tide_logs_remove(folder);
    assert_false(exists("run-c"));
    snprintf(folder, sizeof(folder), "%s/tidemark/run-d", state_folder);
    tide_logs_remove(folder);
    assert_false(exists("run-d/1.log"));
    assert_true(exists("run-d/diary.logbook"));
    assert_true(exists("run-d/1.json"));
    tide_logs_remove("");
    tide_logs_remove("/tmp/tidemark-there-is-no-such-folder");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(running_logs_of_the_newest_run_are_found),
        IN_FOLDER(the_last_log_is_the_newest_of_all_runs),
        IN_FOLDER(only_logs_are_removed),
        IN_FOLDER(the_folder_follows_from_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
