/* test_sweep_file.c - the file of a sweep's rows: a sweep continues it only if asked, it keeps no
 * half rows and leaves other files alone, and parts of a grid are joined. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweep_fixture.h"

/* A fresh folder, and the name of a file in it that does not exist. */
static void name_file(char path[64]) {
    char folder[] = "/tmp/tidemark-sweep-XXXXXX";
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, 64, "%s/rows", folder);
}

static void remove_file(const char *path) {
    char folder[64];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strlen(path) - strlen("/rows")), path);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else is in it */
}

/* A file with rows of the cells 0 .. n_rows - 1. */
static void write_file(const char *path, const tide_sweep_options *options, size_t n_rows) {
    tide_sweep sweep;
    tide_sweep_file file;
    sweep_begin(options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, NULL), TIDE_OK);
    for (size_t i = 0; i < n_rows; i++) {
        tide_sweep_row *row = sweep_make_row(options, i, TIDE_OUTCOME_COMPLETED);
        assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
        tide_sweep_row_destroy(row);
    }
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
}

static off_t bytes_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

static void append_text(const char *path, const char *text) {
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- the file ---- */

static void a_file_is_continued_only_when_asked(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    name_file(path);
    sweep_small_grid(&options);
    write_file(path, &options, 5);
    off_t n_bytes = bytes_of(path);
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "--resume") != NULL);
    assert_int_equal(bytes_of(path), n_bytes);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_OK);
    assert_int_equal(sweep.n_rows, 5);
    assert_int_equal(tide_sweep_n_missing(&sweep), 7);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(sweep.rows[i]->result.memory.requested_peak_bytes, 1000 + i);
    }
    /* No other sweep may write the file at the same time. */
    tide_sweep second;
    tide_sweep_file other;
    sweep_begin(&options, 1, 1, &second);
    assert_int_equal(tide_sweep_file_open(path, true, &second, &other, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "another sweep is writing it") != NULL);
    tide_sweep_fini(&second);
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    remove_file(path);
}

static void a_foreign_file_is_refused_and_stays(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    name_file(path);
    sweep_small_grid(&options);
    write_file(path, &options, 2);
    off_t n_bytes = bytes_of(path);
    options.grid.steps = 3;
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "steps is 2 there and 3 here") != NULL);
    tide_sweep_fini(&sweep);
    options.grid.steps = 2;
    sweep_begin(&options, 2, 3, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "another part") != NULL);
    tide_sweep_fini(&sweep);
    append_text(path, "not a row\n");
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_FORMAT);
    assert_true(strstr(error.message, "line 4") != NULL);
    tide_sweep_fini(&sweep);
    assert_int_equal(bytes_of(path), n_bytes + 10);
    remove_file(path);
}

/* As kill -9 or a full disk leaves it: the last line may end anywhere. */
static void a_partial_row_is_ignored(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    name_file(path);
    sweep_small_grid(&options);
    write_file(path, &options, 2);
    off_t n_two_rows = bytes_of(path);
    (void)unlink(path);
    write_file(path, &options, 3);
    off_t n_bytes = bytes_of(path);
    for (off_t cut = n_bytes - 1; cut > n_two_rows; cut -= 97) {
        tide_sweep sweep;
        tide_sweep_file file;
        size_t n_good_bytes = 0;
        bool was_cut = false;
        assert_int_equal(truncate(path, cut), 0);
        assert_int_equal(tide_sweep_read(path, &sweep, &n_good_bytes, &was_cut, NULL), TIDE_OK);
        assert_true(was_cut);
        assert_int_equal(n_good_bytes, n_two_rows);
        assert_int_equal(sweep.n_rows, 2);
        tide_sweep_fini(&sweep);
        if (cut < n_two_rows + 97) { /* the last cut: continue the file after it */
            sweep_begin(&options, 1, 1, &sweep);
            assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, NULL), TIDE_OK);
            tide_sweep_row *row = sweep_make_row(&options, 2, TIDE_OUTCOME_COMPLETED);
            assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
            tide_sweep_row_destroy(row);
            tide_sweep_file_close(&file);
            tide_sweep_fini(&sweep);
        }
    }
    assert_int_equal(bytes_of(path), n_bytes);
    remove_file(path);
}

/* A full disk, here a limit of the process, cuts a row in half: nothing of that row stays. */
static void a_row_that_does_not_fit_the_disk_is_taken_back(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    struct rlimit before;
    name_file(path);
    sweep_small_grid(&options);
    write_file(path, &options, 1);
    off_t n_bytes = bytes_of(path);
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, NULL), TIDE_OK);
    tide_sweep_row *row = sweep_make_row(&options, 1, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = (rlim_t)n_bytes + 100, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tide_status status = tide_sweep_file_append(&file, row, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, TIDE_IO);
    assert_true(strstr(error.message, path) != NULL);
    assert_int_equal(bytes_of(path), n_bytes);
    /* With room again it continues. */
    assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
    assert_true(bytes_of(path) > n_bytes);
    tide_sweep_row_destroy(row);
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    remove_file(path);
}

static void a_partial_header_is_replaced(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    name_file(path);
    sweep_small_grid(&options);
    append_text(path, "{\"format\":\"tidemark-sw");
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, NULL), TIDE_OK);
    tide_sweep_file_close(&file);
    assert_int_equal(tide_sweep_n_missing(&sweep), 12);
    tide_sweep_fini(&sweep);
    size_t n_good_bytes = 0;
    bool was_cut = true;
    assert_int_equal(tide_sweep_read(path, &sweep, &n_good_bytes, &was_cut, NULL), TIDE_OK);
    assert_false(was_cut);
    tide_sweep_fini(&sweep);
    remove_file(path);
}

/* --resume continues only files that a sweep began. */
static void resume_leaves_other_files_unchanged(void **state) {
    (void)state;
    static const char *const FOREIGN[] = {
        "notes without an end",  "notes\nwith two lines\n", "{", "{}", "{}\n", "\n",
        "{\"format\":\"other\"", "[1, 2]\n{\"cell\":0}\n"};
    static const char *const TAILS[] = {"notes", "{\"cell\":0,\"name\":\"other",
                                        "{\"cell\":12,\"name\":\"", " "};
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    name_file(path);
    sweep_small_grid(&options);
    for (size_t i = 0; i < sizeof(FOREIGN) / sizeof(FOREIGN[0]); i++) {
        tide_error error = {""};
        append_text(path, FOREIGN[i]);
        sweep_begin(&options, 1, 1, &sweep);
        tide_status status = tide_sweep_file_open(path, true, &sweep, &file, &error);
        if (strcmp(FOREIGN[i], "{") == 0) { /* what the header begins with */
            assert_int_equal(status, TIDE_OK);
            tide_sweep_file_close(&file);
        } else {
            assert_int_equal(status, TIDE_FORMAT);
            assert_non_null(strstr(error.message, path));
            assert_int_equal(bytes_of(path), strlen(FOREIGN[i]));
        }
        tide_sweep_fini(&sweep);
        (void)unlink(path);
    }
    write_file(path, &options, 2);
    off_t n_bytes = bytes_of(path);
    for (size_t i = 0; i < sizeof(TAILS) / sizeof(TAILS[0]); i++) {
        tide_error error = {""};
        append_text(path, TAILS[i]);
        sweep_begin(&options, 1, 1, &sweep);
        assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, "last line"));
        assert_int_equal(bytes_of(path), n_bytes + (off_t)strlen(TAILS[i]));
        assert_int_equal(truncate(path, n_bytes), 0);
        tide_sweep_fini(&sweep);
    }
    remove_file(path);
}

/* A full disk, here a limit of the process, leaves no file if the sweep could not begin. */
static void a_header_that_does_not_fit_leaves_no_file(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    struct rlimit before;
    name_file(path);
    sweep_small_grid(&options);
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tide_status status = tide_sweep_file_open(path, false, &sweep, &file, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, TIDE_IO);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(access(path, F_OK), -1);
    tide_sweep_fini(&sweep);
    remove_file(path); /* and nothing else */
}

static void a_crashed_cell_may_be_tried_again(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    name_file(path);
    sweep_small_grid(&options);
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, NULL), TIDE_OK);
    static const tide_outcome OUTCOMES[] = {TIDE_OUTCOME_CRASHED, TIDE_OUTCOME_OOM,
                                            TIDE_OUTCOME_FAILED, TIDE_OUTCOME_COMPLETED};
    for (size_t i = 0; i < 4; i++) {
        tide_sweep_row *row = sweep_make_row(&options, i, OUTCOMES[i]);
        assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
        assert_int_equal(tide_sweep_add(&sweep, row, NULL), TIDE_OK);
    }
    assert_int_equal(tide_sweep_forget_failed(&sweep), 2);
    assert_true(sweep.rows[0] == NULL && sweep.rows[1] != NULL && sweep.rows[2] == NULL);
    tide_sweep_row *again = sweep_make_row(&options, 0, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(tide_sweep_file_append(&file, again, NULL), TIDE_OK);
    tide_sweep_row_destroy(again);
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    size_t n_good_bytes = 0;
    bool was_cut = true;
    assert_int_equal(tide_sweep_read(path, &sweep, &n_good_bytes, &was_cut, NULL), TIDE_OK);
    assert_int_equal(sweep.n_rows, 4);
    assert_int_equal(sweep.rows[0]->result.outcome, TIDE_OUTCOME_COMPLETED);
    tide_sweep_fini(&sweep);
    remove_file(path);
}

/* ---- parts ---- */

static void write_part(const char *path, const tide_sweep_options *options, size_t shard) {
    tide_sweep sweep;
    tide_sweep_file file;
    sweep_begin(options, shard, 3, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, NULL), TIDE_OK);
    for (size_t i = 0; i < sweep.n_cells; i++) {
        if (tide_sweep_owns(&sweep, i)) {
            tide_sweep_row *row = sweep_make_row(options, i, TIDE_OUTCOME_COMPLETED);
            assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
            tide_sweep_row_destroy(row);
        }
    }
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
}

static void parts_are_joined_in_grid_order(void **state) {
    (void)state;
    char paths[4][64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_error error = {""};
    sweep_small_grid(&options);
    for (size_t i = 0; i < 3; i++) {
        name_file(paths[i]);
        write_part(paths[i], &options, i + 1);
    }
    name_file(paths[3]);
    const char *const all[] = {paths[2], paths[0], paths[1]};
    assert_int_equal(tide_sweep_merge(all, 3, &sweep, &error), TIDE_OK);
    assert_int_equal(sweep.n_rows, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(sweep.rows[i]->result.memory.requested_peak_bytes, 1000 + i);
    }
    /* The joined file is a sweep of the whole grid, and never replaces an older file. */
    assert_int_equal(tide_sweep_write(paths[3], &sweep, &error), TIDE_OK);
    assert_int_equal(tide_sweep_write(paths[0], &sweep, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "not replaced") != NULL);
    tide_sweep_fini(&sweep);
    sweep_begin(&options, 1, 1, &sweep);
    tide_sweep_file file;
    assert_int_equal(tide_sweep_file_open(paths[3], true, &sweep, &file, &error), TIDE_OK);
    assert_int_equal(tide_sweep_n_missing(&sweep), 0);
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    /* A cell that occurs twice with the same figures is kept once; with different figures it is
     * refused, by its name and both files. */
    const char *const twice[] = {paths[0], paths[3]};
    assert_int_equal(tide_sweep_merge(twice, 2, &sweep, &error), TIDE_OK);
    assert_int_equal(sweep.n_rows, 12);
    sweep.rows[0]->result.memory.requested_peak_bytes++;
    (void)unlink(paths[3]);
    assert_int_equal(tide_sweep_write(paths[3], &sweep, &error), TIDE_OK);
    tide_sweep_fini(&sweep);
    assert_int_equal(tide_sweep_merge(twice, 2, &sweep, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "small-forward-c16-b4-fp32") != NULL);
    assert_true(strstr(error.message, paths[0]) != NULL);
    assert_true(strstr(error.message, paths[3]) != NULL);
    tide_sweep_fini(&sweep);
    /* One part alone has its own rows. */
    assert_int_equal(tide_sweep_merge(twice, 1, &sweep, &error), TIDE_OK);
    assert_int_equal(sweep.n_rows, 4);
    assert_int_equal(tide_sweep_n_missing(&sweep), 8);
    tide_sweep_fini(&sweep);
    /* Another grid. */
    (void)unlink(paths[1]);
    options.grid.seed = 5;
    write_part(paths[1], &options, 2);
    const char *const foreign[] = {paths[0], paths[1]};
    assert_int_equal(tide_sweep_merge(foreign, 2, &sweep, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "seed") != NULL && strstr(error.message, paths[1]) != NULL);
    tide_sweep_fini(&sweep);
    for (size_t i = 0; i < 4; i++) {
        remove_file(paths[i]);
    }
}

/* Files of single cells do not name the other cells; a folder means all its files. */
static void files_of_cells_are_joined(void **state) {
    (void)state;
    char folder[] = "/tmp/tidemark-sweep-XXXXXX";
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_error error = {""};
    sweep_small_grid(&options);
    assert_non_null(mkdtemp(folder));
    const char *const paths[] = {folder};
    for (size_t cell = 12; cell > 0; cell--) {
        cJSON *header = NULL;
        tide_sweep_file file;
        options.cell = "any"; /* the part below says which one */
        assert_int_equal(tide_sweep_header(&options, "virtual", cell, 12, &header, &error),
                         TIDE_OK);
        assert_int_equal(tide_sweep_init(&sweep, header, &error), TIDE_OK);
        assert_int_equal(tide_sweep_n_owned(&sweep), 1);
        assert_false(tide_sweep_has_names(&sweep));
        (void)snprintf(path, sizeof(path), "%s/%zu.jsonl", folder, cell);
        assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, &error), TIDE_OK);
        tide_sweep_row *row = sweep_make_row(&options, cell - 1, TIDE_OUTCOME_COMPLETED);
        assert_int_equal(tide_sweep_file_append(&file, row, &error), TIDE_OK);
        tide_sweep_row_destroy(row);
        tide_sweep_file_close(&file);
        tide_sweep_fini(&sweep);
        assert_int_equal(tide_sweep_merge(paths, 1, &sweep, &error), TIDE_OK);
        assert_int_equal(sweep.n_rows, 13 - cell);
        /* All names are known once all rows are. */
        assert_int_equal(tide_sweep_has_names(&sweep), cell == 1);
        assert_string_equal(tide_sweep_cell_name(&sweep, 0),
                            cell == 1 ? "small-forward-c16-b4-fp32" : "");
        tide_sweep_fini(&sweep);
    }
    for (size_t cell = 12; cell > 0; cell--) {
        (void)snprintf(path, sizeof(path), "%s/%zu.jsonl", folder, cell);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_continued_only_when_asked),
        cmocka_unit_test(a_foreign_file_is_refused_and_stays),
        cmocka_unit_test(a_partial_row_is_ignored),
        cmocka_unit_test(a_row_that_does_not_fit_the_disk_is_taken_back),
        cmocka_unit_test(a_partial_header_is_replaced),
        cmocka_unit_test(resume_leaves_other_files_unchanged),
        cmocka_unit_test(a_header_that_does_not_fit_leaves_no_file),
        cmocka_unit_test(a_crashed_cell_may_be_tried_again),
        cmocka_unit_test(parts_are_joined_in_grid_order),
        cmocka_unit_test(files_of_cells_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
