/* test_writes.c - files that a run kept away are counted, reported, and moved to a user's
 * folder.
 */
#define _GNU_SOURCE /* mkdtemp, realpath, asprintf */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/writes/writes.h"
#include "programs/scratch/marks.h"

enum { PATH_BYTES = 4096 };

/* The user's folder, in which the program runs, and FOLDER of the view beside it. */
typedef struct ground {
    char top[PATH_BYTES];
    char user[PATH_BYTES];
    char folder[PATH_BYTES];
} ground;

/* Makes the folders on the way to a file, then the file. A NULL content makes the link `target`. */
static void make(const char *folder, const char *name, const char *content, const char *target) {
    char path[3 * PATH_BYTES];
    snprintf(path, sizeof(path), "%s%s", folder, name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    if (content == NULL) {
        assert_int_equal(symlink(target, path), 0);
        return;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool has(const char *folder, const char *name) {
    char path[3 * PATH_BYTES];
    struct stat status;
    snprintf(path, sizeof(path), "%.8000s%.4000s", folder, name);
    return lstat(path, &status) == 0;
}

/* The path of the copy of a user's file, below FOLDER. */
static const char *copy_of(const ground *g, const char *name) {
    static char path[2 * PATH_BYTES];
    snprintf(path, sizeof(path), "/files%s%s", g->user, name);
    return path;
}

static int set_up(void **state) {
    ground *g = calloc(1, sizeof(*g));
    assert_non_null(g);
    char made[] = "/var/tmp/tide_writes_XXXXXX";
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, g->top));
    snprintf(g->user, sizeof(g->user), "%.1000s/user", g->top);
    snprintf(g->folder, sizeof(g->folder), "%.1000s/writes", g->top);
    setenv("TMPDIR", "/tmp/of_this_test", 1);
    make(g->user, "/changed.pt", "weights", NULL);
    make(g->user, "/deleted.txt", "old", NULL);
    *state = g;
    return 0;
}

static int tear_down(void **state) {
    ground *g = *state;
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof(command), "rm -rf '%s'", g->top);
    assert_int_equal(system(command), 0);
    free(g);
    return 0;
}

static void write_some(ground *g) {
    make(g->folder, copy_of(g, "/changed.pt"), "zeros zeros zeros", NULL);
    make(g->folder, copy_of(g, "/out/new.pt"), "zeros", NULL);
    make(g->folder, copy_of(g, "/out/" TIDE_SCRATCH_COVERS), "", NULL);
    make(g->folder, copy_of(g, "/out/latest"), NULL, "new.pt");
    make(g->folder, copy_of(g, "/deleted.txt"), NULL, TIDE_SCRATCH_GONE);
    make(g->folder, copy_of(g, "/never_was"), NULL, TIDE_SCRATCH_GONE);
    make(g->folder, copy_of(g, "/__pycache__/train.pyc"), "code", NULL);
    make(g->folder, "/files/tmp/of_this_test/x", "temporary", NULL);
}

static void marks_are_those_of_the_view(void **state) {
    (void)state;
    assert_string_equal(TIDE_WRITES_GONE, TIDE_SCRATCH_GONE);
    assert_string_equal(TIDE_WRITES_COVERS, TIDE_SCRATCH_COVERS);
}

static void nothing_was_written(void **state) {
    const ground *g = *state;
    tide_writes writes;
    char text[TIDE_WRITES_TEXT_BYTES];
    assert_int_equal(tide_writes_count("/no/such/folder", g->user, &writes, NULL), TIDE_OK);
    assert_string_equal(tide_writes_sentence(&writes, NULL, text), "");
    assert_string_equal(tide_writes_unseen(&writes, text), "");
    assert_false(writes.is_view);
    make(g->folder, "/state", "", NULL);
    assert_int_equal(tide_writes_count(g->folder, g->user, &writes, NULL), TIDE_OK);
    assert_true(writes.is_view);
}

static void all_kinds_are_counted(void **state) {
    ground *g = *state;
    tide_writes writes;
    char text[TIDE_WRITES_TEXT_BYTES];
    write_some(g);
    assert_int_equal(tide_writes_count(g->folder, g->user, &writes, NULL), TIDE_OK);
    assert_int_equal(writes.n_files, 3);
    assert_int_equal(writes.n_changed, 1);
    assert_int_equal(writes.n_deleted, 1);
    assert_int_equal(writes.n_passing, 2);
    assert_int_equal(writes.n_bytes, 22);
    assert_string_equal(tide_writes_sentence(&writes, NULL, text),
                        "changed.pt and 2 more files (22 B) were not written to your disk "
                        "(`--keep-writes DIR` keeps them); 1 deletion was kept away; 2 temporary "
                        "files were dropped");
    assert_non_null(strstr(tide_writes_sentence(&writes, "kept", text),
                           "changed.pt and 2 more files (22 B) were written to kept instead; 1"));
    /* Seen from another folder, the path is absolute. */
    assert_int_equal(tide_writes_count(g->folder, "/elsewhere", &writes, NULL), TIDE_OK);
    assert_memory_equal(writes.largest, g->user, strlen(g->user));
}

static void programs_that_were_not_served_are_told(void **state) {
    ground *g = *state;
    tide_writes writes;
    char text[TIDE_WRITES_TEXT_BYTES];
    make(g->folder, "/unseen",
         "/bin/b\tis linked statically\n/bin/a\tis linked statically\n/bin/b\tis linked "
         "statically\n",
         NULL);
    assert_int_equal(tide_writes_count(g->folder, g->user, &writes, NULL), TIDE_OK);
    assert_string_equal(tide_writes_unseen(&writes, text),
                        "/bin/a is linked statically, /bin/b is linked statically: what they wrote "
                        "is real");
    make(g->folder, "/unseen", "/1\tx\n/2\tx\n/3\tx\n/4\tx\n/5\tx\n/6\tx\n", NULL);
    assert_int_equal(tide_writes_count(g->folder, g->user, &writes, NULL), TIDE_OK);
    assert_string_equal(tide_writes_unseen(&writes, text),
                        "/1 x, /2 x, /3 x, /4 x and 2 more programs cannot see the view: what they "
                        "wrote is real");
}

#define TEMPORARY "/tmp/of_this_test/x"

static void check_kept(const char *kept) {
    char path[3 * PATH_BYTES];
    char text[64] = "";
    assert_true(has(kept, "/changed.pt") && has(kept, "/out/new.pt") && has(kept, "/out/latest"));
    assert_false(has(kept, "/deleted.txt") || has(kept, "/never_was"));
    assert_false(has(kept, "/out/" TIDE_SCRATCH_COVERS));
    assert_false(has(kept, "/elsewhere/changed.pt") || has(kept, "/elsewhere/home"));
    assert_true(has(kept, "/elsewhere" TEMPORARY));
    snprintf(path, sizeof(path), "%s/changed.pt", kept);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "zeros zeros zeros");
}

static void writes_are_kept(void **state) {
    ground *g = *state;
    char kept[2 * PATH_BYTES];
    write_some(g);
    snprintf(kept, sizeof(kept), "%s/kept", g->top);
    assert_int_equal(tide_writes_keep(g->folder, g->user, kept, NULL), TIDE_OK);
    check_kept(kept);
}

/* The program's own folder "elsewhere" is not mixed with files of other folders. */
static void a_name_of_the_programs_is_not_used(void **state) {
    ground *g = *state;
    char kept[2 * PATH_BYTES];
    write_some(g);
    make(g->folder, copy_of(g, "/elsewhere"), "mine", NULL);
    snprintf(kept, sizeof(kept), "%s/kept", g->top);
    assert_int_equal(tide_writes_keep(g->folder, g->user, kept, NULL), TIDE_OK);
    assert_true(has(kept, "/elsewhere") && has(kept, "/elsewhere-2" TEMPORARY));
}

/* The program was started in the root, or wrote nothing in its folder. */
static void all_files_may_be_elsewhere_or_none(void **state) {
    ground *g = *state;
    char kept[2 * PATH_BYTES];
    char path[4 * PATH_BYTES];
    write_some(g);
    snprintf(kept, sizeof(kept), "%s/none", g->top);
    assert_int_equal(tide_writes_keep(g->folder, "/no/such/folder", kept, NULL), TIDE_OK);
    snprintf(path, sizeof(path), "%s/elsewhere%s", kept, g->user);
    assert_true(has(path, "/changed.pt"));
    write_some(g);
    snprintf(kept, sizeof(kept), "%s/root", g->top);
    assert_int_equal(tide_writes_keep(g->folder, "/", kept, NULL), TIDE_OK);
    snprintf(path, sizeof(path), "%s%s", kept, g->user);
    assert_true(has(path, "/changed.pt"));
    assert_false(has(kept, "/elsewhere"));
}

/* /dev/shm is a separate file system. */
static void writes_are_kept_on_another_file_system(void **state) {
    ground *g = *state;
    char kept[] = "/dev/shm/tide_writes_XXXXXX";
    char command[64];
    struct stat here;
    struct stat there;
    if (stat("/dev/shm", &there) != 0 || stat(g->top, &here) != 0 || here.st_dev == there.st_dev ||
        mkdtemp(kept) == NULL) {
        skip();
    }
    write_some(g);
    tide_status status = tide_writes_keep(g->folder, g->user, kept, NULL);
    if (status == TIDE_OK) {
        check_kept(kept);
    }
    snprintf(command, sizeof(command), "rm -rf '%s'", kept);
    assert_int_equal(system(command), 0);
    assert_int_equal(status, TIDE_OK);
}

static void nothing_of_the_users_is_replaced(void **state) {
    ground *g = *state;
    tide_error error = {""};
    char file[2 * PATH_BYTES];
    write_some(g);
    assert_int_equal(tide_writes_keep(g->folder, g->user, g->user, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "is not empty"));
    snprintf(file, sizeof(file), "%s/changed.pt", g->user);
    assert_int_equal(tide_writes_check_target(file, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "is not a folder"));
    assert_true(has(g->user, "/deleted.txt"));
    /* A failed attempt loses nothing: the written files are still there. */
    assert_true(has(g->folder, copy_of(g, "/out/new.pt")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_those_of_the_view),
        cmocka_unit_test_setup_teardown(nothing_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_kinds_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_that_were_not_served_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_of_the_programs_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_files_may_be_elsewhere_or_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_are_kept_on_another_file_system, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_of_the_users_is_replaced, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
