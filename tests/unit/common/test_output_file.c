/* test_output_file.c - a user's file is replaced whole or not at all: links, rights, files that
 * must stay, and leftovers.
 */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/output_file.h"

enum { N_PATH = 256 };

static char folder[] = "/tmp/tidemark-output-XXXXXX";

/* The path of a file in the folder. It is valid until the eighth call from now. */
static const char *at(const char *name) {
    static char paths[8][N_PATH];
    static size_t n;
    char *path = paths[n++ % 8];
    (void)snprintf(path, N_PATH, "%s/%s", folder, name);
    return path;
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_content(const char *path, const char *text) {
    char found[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_string_equal(found, text);
}

static size_t count_files(void) {
    size_t n = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    while (readdir(listing) != NULL) {
        n++;
    }
    assert_int_equal(closedir(listing), 0);
    return n - 2; /* "." and ".." */
}

static tide_status save(const char *path, const char *text, tide_error *error) {
    tide_output_file file;
    TIDE_TRY(tide_output_file_open(path, &file, error));
    (void)tide_output_file_write(&file, text, strlen(text));
    return tide_output_file_commit(&file, error);
}

static void a_file_is_whole_or_as_it_was(void **state) {
    (void)state;
    tide_output_file file;
    put(at("a"), "old");
    assert_int_equal(tide_output_file_open(at("a"), &file, NULL), TIDE_OK);
    assert_true(tide_output_file_write(&file, "half", 4));
    expect_content(at("a"), "old");
    tide_output_file_abandon(&file);
    expect_content(at("a"), "old");
    assert_int_equal(save(at("a"), "new", NULL), TIDE_OK);
    expect_content(at("a"), "new");
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(at("a")), 0);
}

static void links_lead_to_the_file(void **state) {
    (void)state;
    struct stat info;
    assert_int_equal(mkdir(at("sub"), 0700), 0);
    assert_int_equal(symlink("sub/second", at("first")), 0);
    assert_int_equal(symlink("third", at("sub/second")), 0);
    /* First the target does not exist, then it does. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(save(at("first"), i == 0 ? "1" : "2", NULL), TIDE_OK);
        expect_content(at("sub/third"), i == 0 ? "1" : "2");
        assert_int_equal(lstat(at("first"), &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
    assert_int_equal(unlink(at("sub/third")), 0);
    assert_int_equal(unlink(at("sub/second")), 0);
    assert_int_equal(symlink("../first", at("sub/second")), 0);
    tide_error error = {""};
    assert_int_equal(save(at("first"), "x", &error), TIDE_IO);
    assert_non_null(strstr(error.message, "symbolic links"));
    assert_int_equal(unlink(at("sub/second")), 0);
    assert_int_equal(unlink(at("first")), 0);
    assert_int_equal(rmdir(at("sub")), 0);
}

static void rights_are_handed_on(void **state) {
    (void)state;
    static const mode_t MODES[] = {0600, 0664, 0751};
    struct stat info;
    mode_t mask = umask(022);
    for (size_t i = 0; i < sizeof(MODES) / sizeof(MODES[0]); i++) {
        put(at("a"), "old");
        assert_int_equal(chmod(at("a"), MODES[i]), 0);
        assert_int_equal(save(at("a"), "new", NULL), TIDE_OK);
        assert_int_equal(stat(at("a"), &info), 0);
        assert_int_equal(info.st_mode & 0777, MODES[i]);
    }
    assert_int_equal(unlink(at("a")), 0);
    assert_int_equal(save(at("a"), "new", NULL), TIDE_OK);
    assert_int_equal(stat(at("a"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
    (void)umask(mask);
    assert_int_equal(unlink(at("a")), 0);
}

/* Only root can make a file of a group that a user is not in, and then become that user. The new
 * file cannot get that group, so it must not give the older group's rights to the user's group. */
static void rights_of_another_group_are_not_handed_on(void **state) {
    (void)state;
    enum { USER = 65534, OTHER_GROUP = 12345 };
    struct stat info;
    uid_t user = geteuid();
    if (user != 0) {
        print_message("skipped: only root can make a file of another group\n");
        skip();
    }
    put(at("a"), "old");
    assert_int_equal(chown(at("a"), USER, OTHER_GROUP), 0);
    assert_int_equal(chmod(at("a"), 0664), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(seteuid(USER), 0);
    tide_status status = save(at("a"), "new", NULL);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(status, TIDE_OK);
    expect_content(at("a"), "new");
    assert_int_equal(stat(at("a"), &info), 0);
    assert_int_not_equal(info.st_gid, OTHER_GROUP);
    assert_int_equal(info.st_mode & 0777, 0604);
    /* Root may change the group, so the group and its rights stay. */
    assert_int_equal(chown(at("a"), USER, OTHER_GROUP), 0);
    assert_int_equal(chmod(at("a"), 0664), 0);
    assert_int_equal(save(at("a"), "new", NULL), TIDE_OK);
    assert_int_equal(stat(at("a"), &info), 0);
    assert_int_equal(info.st_uid, USER);
    assert_int_equal(info.st_gid, OTHER_GROUP);
    assert_int_equal(info.st_mode & 0777, 0664);
    assert_int_equal(unlink(at("a")), 0);
}

static void a_protected_file_stays(void **state) {
    (void)state;
    tide_error error = {""};
    put(at("a"), "old");
    assert_int_equal(chmod(at("a"), 0444), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    uid_t user = geteuid();
    if (user == 0) { /* root may write anything */
        assert_int_equal(seteuid(65534), 0);
    }
    tide_status status = save(at("a"), "new", &error);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(status, TIDE_IO);
    assert_non_null(strstr(error.message, "Permission denied"));
    expect_content(at("a"), "old");
    assert_int_equal(unlink(at("a")), 0);
}

static void a_new_file_replaces_none(void **state) {
    (void)state;
    tide_output_file file;
    tide_error error = {""};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tide_output_file_open(at("a"), &file, NULL), TIDE_OK);
        assert_true(tide_output_file_write(&file, i == 0 ? "1" : "2", 1));
        assert_int_equal(tide_output_file_commit_new(&file, &error),
                         i == 0 ? TIDE_OK : TIDE_INVALID);
        assert_int_equal(count_files(), 1);
    }
    assert_non_null(strstr(error.message, "is there"));
    expect_content(at("a"), "1");
    assert_int_equal(unlink(at("a")), 0);
}

static void refusals_name_path_and_reason(void **state) {
    (void)state;
    char device[] = "/dev/null";
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    const struct {
        const char *path;
        const char *why;
    } CASES[] = {{folder, "it is a folder"},
                 {device, "device"},
                 {at("pipe"), "pipe"},
                 {at("no/such"), "No such file or directory"},
                 {at("new/"), "No such file or directory"},
                 {at("pipe/x"), "Not a directory"},
                 {"", "no name"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_error error = {""};
        assert_int_equal(save(CASES[i].path, "x", &error), TIDE_IO);
        assert_non_null(strstr(error.message, CASES[i].path));
        assert_non_null(strstr(error.message, CASES[i].why));
    }
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(at("pipe")), 0);
}

static void unfinished_files_are_limited(void **state) {
    (void)state;
    static tide_temporary_file files[TIDE_TEMPORARY_MAX];
    tide_temporary_file more;
    struct stat info;
    for (size_t i = 0; i < TIDE_TEMPORARY_MAX; i++) {
        assert_int_equal(tide_temporary_file_open(at("a"), 0600, &files[i]), 0);
        assert_int_equal(stat(files[i].path, &info), 0);
    }
    assert_int_equal(tide_temporary_file_open(at("a"), 0600, &more), EMFILE);
    for (size_t i = 0; i < TIDE_TEMPORARY_MAX; i++) {
        assert_int_equal(close(files[i].fd), 0);
        tide_temporary_file_remove(&files[i]);
    }
    assert_int_equal(count_files(), 0);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

/* Fails if any other file remains. */
static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_whole_or_as_it_was),
        cmocka_unit_test(links_lead_to_the_file),
        cmocka_unit_test(rights_are_handed_on),
        cmocka_unit_test(rights_of_another_group_are_not_handed_on),
        cmocka_unit_test(a_protected_file_stays),
        cmocka_unit_test(a_new_file_replaces_none),
        cmocka_unit_test(refusals_name_path_and_reason),
        cmocka_unit_test(unfinished_files_are_limited),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
