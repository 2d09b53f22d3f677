/* test_folder.c - the folder of a run is removed, and its processes end, however the run ends. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/launch_internal.h"

/* What the child reports before it is killed. */
typedef struct news {
    char folder[TIDE_LAUNCH_PATH_BYTES];
    pid_t program;
} news;

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

enum { N_LOOKS = 10000 }; /* each after 10 ms: longer than needed on the busiest machine */

static bool is_gone(const char *path) {
    for (int i = 0; i < N_LOOKS && exists(path); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return !exists(path);
}

/* Whether the process is sleep by now: only then does its initial environment have the run's
 * folder. */
static bool has_run_folder(pid_t program) {
    static const char NAME[] = "TIDEMARK_RUN_FOLDER=";
    char path[64];
    char text[sizeof(NAME)] = "";
    snprintf(path, sizeof(path), "/proc/%ld/environ", (long)program);
    FILE *file = fopen(path, "r");
    size_t n = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file != NULL) {
        assert_int_equal(fclose(file), 0);
    }
    return n == sizeof(text) - 1 && strcmp(text, NAME) == 0;
}

static void fill(const tide_launch *launch) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/writes", launch->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/writes/file", launch->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* Makes the folder and a process of the run, reports both, and waits to be killed. */
static void begin_and_wait(int to) {
    tide_launch launch = {.alive_fd = -1, .cleaner = -1, .objects = "/nowhere"};
    news heard = {.program = 0};
    char marker[TIDE_LAUNCH_PATH_BYTES + 32];
    if (tide_launch_make_folder(&launch, true, NULL) != TIDE_OK) {
        _exit(1);
    }
    fill(&launch);
    snprintf(marker, sizeof(marker), "TIDEMARK_RUN_FOLDER=%s", launch.folder);
    heard.program = fork();
    if (heard.program == 0) {
        execle("/bin/sleep", "sleep", "1000", (char *)NULL, (char *[]){marker, NULL});
        _exit(1);
    }
    memcpy(heard.folder, launch.folder, sizeof(heard.folder));
    if (write(to, &heard, sizeof(heard)) != (ssize_t)sizeof(heard)) {
        _exit(1);
    }
    (void)pause();
    _exit(1);
}

static void test_a_killed_run_leaves_nothing(void **state) {
    (void)state;
    int ends[2];
    news heard = {.program = 0};
    char process[64];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        begin_and_wait(ends[1]);
    }
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(read(ends[0], &heard, sizeof(heard)), sizeof(heard));
    snprintf(process, sizeof(process), "/proc/%ld/exe", (long)heard.program);
    char target[64];
    for (int i = 0; i < N_LOOKS && !has_run_folder(heard.program); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_true(exists(heard.folder));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(is_gone(heard.folder));
    /* It is a zombie, without an executable, until init reaps it. */
    for (int i = 0; i < N_LOOKS && readlink(process, target, sizeof(target)) > 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(readlink(process, target, sizeof(target)), -1);
    assert_int_equal(close(ends[0]), 0);
}

static void test_the_folder_is_private_and_removed_at_the_end(void **state) {
    (void)state;
    tide_launch launch = {.alive_fd = -1, .cleaner = -1, .objects = "/nowhere"};
    char folder[TIDE_LAUNCH_PATH_BYTES];
    struct stat info;
    tide_error error = {""};
    assert_int_equal(tide_launch_make_folder(&launch, true, &error), TIDE_OK);
    memcpy(folder, launch.folder, sizeof(folder));
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    fill(&launch);
    tide_launch_close(&launch);
    assert_false(exists(folder));
    assert_string_equal(launch.folder, "");
    tide_launch_close(&launch); /* twice is harmless */
}

static void test_a_place_that_takes_no_folder_is_named(void **state) {
    (void)state;
    tide_launch launch = {.alive_fd = -1, .cleaner = -1, .objects = "/nowhere"};
    tide_error error = {""};
    setenv("TMPDIR", "/no/such/place", 1);
    assert_int_equal(tide_launch_make_folder(&launch, true, &error), TIDE_IO);
    unsetenv("TMPDIR");
    assert_non_null(strstr(error.message, "no folder for the run can be made in /no/such/place"));
    assert_string_equal(launch.folder, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_run_leaves_nothing),
        cmocka_unit_test(test_the_folder_is_private_and_removed_at_the_end),
        cmocka_unit_test(test_a_place_that_takes_no_folder_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
