/* test_save.c - a snapshot is saved whole or not at all: with contradictory rows, a full disk,
 * places that cannot be written, and links. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/made_snapshot.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

static void contradictions_are_not_written(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    tide_event event = {.stack = 9};
    tide_snapshot *made = made_snapshot(NULL, &(made_tables){.n_devices = 1}, &event, 1);
    snapshot_path(path, "never.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "events.stack[0]"));
    assert_int_equal(snapshot_count_files(), 0);
    snapshot_remove(path);
    tide_snapshot_destroy(made);
}

/* Runs in a process whose files may not exceed 4 KiB, which stops it as a full disk would. */
static void full_disk_keeps_the_old_file(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = synthetic_create(&(synthetic_config){
        .n_events = 20000, .n_layers = 4, .element_bytes = 4, .precision = "fp32"});
    snapshot_path(path, "full.json.gz");
    snapshot_write_file(path, "old", 3);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {4096, 4096};
        tide_error error = {""};
        bool good = signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                    tide_snapshot_save(made, path, &error) == TIDE_IO &&
                    strstr(error.message, path) != NULL &&
                    strstr(error.message, strerror(EFBIG)) != NULL;
        _exit(good ? 0 : 1);
    }
    int result = 1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    size_t n_bytes = 0;
    char *text = snapshot_file_text(path, &n_bytes);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(snapshot_count_files(), 1);
    snapshot_remove(path);
    tide_snapshot_destroy(made);
}

static void unwritable_places_are_named(void **state) {
    (void)state;
    char folder[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    snapshot_path(folder, "folder");
    assert_int_equal(mkdir(folder, 0700), 0);
    const char *const PATHS[] = {"/nowhere/at/all.json.gz", folder, "/dev/null", ""};
    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++) {
        tide_error error = {""};
        assert_int_equal(tide_snapshot_save(made, PATHS[i], &error), TIDE_IO);
        assert_non_null(strstr(error.message, PATHS[i]));
    }
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(rmdir(folder), 0);
    snapshot_remove(folder);
    tide_snapshot_destroy(made);
}

static void links_are_followed(void **state) {
    (void)state;
    char target[SNAPSHOT_PATH_BYTES];
    char link[SNAPSHOT_PATH_BYTES];
    struct stat info;
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    snapshot_path(target, "target.json.gz");
    snapshot_path(link, "link.json.gz");
    snapshot_write_file(target, "old", 3);
    assert_int_equal(symlink("target.json.gz", link), 0);
    assert_int_equal(tide_snapshot_save(made, link, NULL), TIDE_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(target, &info), 0);
    assert_true(info.st_size > 3);
    snapshot_remove(link);
    snapshot_remove(target);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contradictions_are_not_written),
        cmocka_unit_test(full_disk_keeps_the_old_file),
        cmocka_unit_test(unwritable_places_are_named),
        cmocka_unit_test(links_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
