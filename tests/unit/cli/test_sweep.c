/* The grid of a sweep, its parts, the file of its rows, and the estimate of the time left. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
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

#include "cli/sweep/internal.h"

/* ---- what the tests begin with ---- */

static void parse(int argc, char **argv, tide_sweep_options *ret) {
    tide_operands operands;
    tide_error error = {""};
    *ret = (tide_sweep_options){.resumes = false};
    tide_run_options_init(&ret->grid);
    tide_status status =
        tide_options_parse(&tide_sweep_option_table, argc, argv, ret, &operands, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
}

/* 2 sizes x 2 modes x 3 contexts = 12 cells. */
static void small_grid(tide_sweep_options *ret) {
    static char *argv[] = {"sweep",     "--size",  "small,medium", "--mode", "forward,train",
                           "--context", "16,8,32", "--steps",      "2"};
    parse(sizeof(argv) / sizeof(argv[0]), argv, ret);
}

static void begin(const tide_sweep_options *options, size_t shard, size_t n_shards,
                  tide_sweep *ret) {
    cJSON *header = NULL;
    assert_int_equal(tide_sweep_header(options, "virtual", shard, n_shards, &header, NULL),
                     TIDE_OK);
    assert_int_equal(tide_sweep_init(ret, header, NULL), TIDE_OK);
}

/* A row that says what no other one says. */
static tide_sweep_row *make_row(const tide_sweep_options *options, size_t cell,
                                tide_outcome outcome) {
    tide_run_config config;
    assert_int_equal(tide_run_options_configure(&options->grid, cell, "virtual", &config, NULL),
                     TIDE_OK);
    tide_sweep_row *row = tide_sweep_row_create(cell, &config.workload);
    assert_non_null(row);
    row->result.outcome = outcome;
    row->result.memory.requested_peak_bytes = 1000 + (int64_t)cell;
    return row;
}

/* A folder of its own, and the name of a file in it that is not there. */
static void name_file(char path[64]) {
    char folder[] = "/tmp/tidemark-sweep-XXXXXX";
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, 64, "%s/rows", folder);
}

static void remove_file(const char *path) {
    char folder[64];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strlen(path) - strlen("/rows")), path);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left in it */
}

/* A file with rows of the cells 0 .. n_rows - 1. */
static void write_file(const char *path, const tide_sweep_options *options, size_t n_rows) {
    tide_sweep sweep;
    tide_sweep_file file;
    begin(options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, NULL), TIDE_OK);
    for (size_t i = 0; i < n_rows; i++) {
        tide_sweep_row *row = make_row(options, i, TIDE_OUTCOME_COMPLETED);
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

/* ---- the grid ---- */

static void shards_are_numbered_from_one(void **state) {
    (void)state;
    size_t shard = 0;
    size_t n_shards = 0;
    tide_error error;
    assert_int_equal(tide_sweep_parse_shard(NULL, &shard, &n_shards, NULL), TIDE_OK);
    assert_true(shard == 1 && n_shards == 1);
    assert_int_equal(tide_sweep_parse_shard("3/12", &shard, &n_shards, NULL), TIDE_OK);
    assert_true(shard == 3 && n_shards == 12);
    static const char *const BAD[] = {"",    "3",    "0/2",  "3/2", "1/2/3", "1/ 2",
                                      "a/b", "-1/2", "1/2x", "/2",  "1/",    "1/99999999999999999"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        assert_int_equal(tide_sweep_parse_shard(BAD[i], &shard, &n_shards, &error), TIDE_INVALID);
        assert_true(strstr(error.message, "I/N") != NULL);
    }
    assert_true(shard == 3 && n_shards == 12);
}

static void cells_stand_in_the_order_of_the_lists(void **state) {
    (void)state;
    static const char *const NAMES[] = {
        "small-forward-c16-b4-fp32",  "small-forward-c8-b4-fp32",  "small-forward-c32-b4-fp32",
        "small-train-c16-b4-fp32",    "small-train-c8-b4-fp32",    "small-train-c32-b4-fp32",
        "medium-forward-c16-b4-fp32", "medium-forward-c8-b4-fp32", "medium-forward-c32-b4-fp32",
        "medium-train-c16-b4-fp32",   "medium-train-c8-b4-fp32",   "medium-train-c32-b4-fp32"};
    tide_sweep_options options;
    tide_sweep sweep;
    small_grid(&options);
    begin(&options, 1, 1, &sweep);
    assert_int_equal(sweep.n_cells, 12);
    for (size_t i = 0; i < sweep.n_cells; i++) {
        assert_string_equal(sweep.names[i], NAMES[i]);
    }
    tide_sweep_fini(&sweep);
}

static void every_cell_belongs_to_one_part(void **state) {
    (void)state;
    tide_sweep_options options;
    size_t n_owners[12] = {0};
    size_t n_cells = 0;
    small_grid(&options);
    for (size_t shard = 1; shard <= 5; shard++) {
        tide_sweep sweep;
        begin(&options, shard, 5, &sweep);
        for (size_t i = 0; i < sweep.n_cells; i++) {
            n_owners[i] += tide_sweep_owns(&sweep, i);
        }
        n_cells += tide_sweep_n_owned(&sweep);
        assert_int_equal(tide_sweep_n_missing(&sweep), tide_sweep_n_owned(&sweep));
        tide_sweep_fini(&sweep);
    }
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(n_owners[i], 1);
    }
    assert_int_equal(n_cells, 12);
}

static void a_grid_without_a_cell_that_makes_sense_is_refused(void **state) {
    (void)state;
    tide_sweep_options options;
    tide_error error = {""};
    cJSON *header = NULL;
    static char *none[] = {"sweep", "--heads", "7"};
    static char *some[] = {"sweep", "--context", "0,16"};
    parse(3, none, &options);
    assert_int_equal(tide_sweep_header(&options, "virtual", 1, 1, &header, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "heads") != NULL);
    static char *same[] = {"sweep", "--size", "small,large", "--layers", "2"};
    parse(5, same, &options); /* two cells of one name */
    assert_int_equal(tide_sweep_header(&options, "virtual", 1, 1, &header, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "--size") != NULL);
    parse(3, some, &options);
    assert_int_equal(tide_sweep_header(&options, "virtual", 1, 1, &header, &error), TIDE_OK);
    cJSON_Delete(header);
}

static void grids_that_differ_are_told_apart(void **state) {
    (void)state;
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep other;
    tide_error error = {""};
    small_grid(&options);
    begin(&options, 1, 3, &sweep);
    begin(&options, 2, 3, &other); /* another part of the same grid */
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_OK);
    tide_sweep_fini(&other);
    options.grid.seed = 9;
    begin(&options, 1, 3, &other);
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "seed is 9 there and 0 here") != NULL);
    tide_sweep_fini(&other);
    small_grid(&options);
    options.snapshots = "snapshots"; /* recording takes time: the times are not the same */
    begin(&options, 1, 3, &other);
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_INVALID);
    tide_sweep_fini(&other);
    tide_sweep_fini(&sweep);
}

static void headers_are_not_trusted(void **state) {
    (void)state;
    static const char *const BAD[] = {
        "{}",
        "[]",
        "7",
        "{\"format\":\"tidemark-sweep\",\"version\":2,\"shard\":1,\"shards\":1,\"grid\":{},"
        "\"cells\":[\"a\"]}",
        "{\"format\":\"tidemark-sweep\",\"version\":1,\"shard\":2,\"shards\":1,\"grid\":{},"
        "\"cells\":[\"a\"]}",
        "{\"format\":\"tidemark-sweep\",\"version\":1,\"shard\":1,\"shards\":1,\"grid\":{},"
        "\"cells\":[]}",
        "{\"format\":\"tidemark-sweep\",\"version\":1,\"shard\":1,\"shards\":1,\"grid\":{},"
        "\"cells\":[7]}",
        "{\"format\":\"tidemark-sweep\",\"version\":1,\"shard\":1,\"shards\":1,\"cells\":[\"a\"]}"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        tide_sweep sweep;
        tide_error error = {""};
        assert_int_equal(tide_sweep_init(&sweep, cJSON_Parse(BAD[i]), &error), TIDE_FORMAT);
        assert_true(error.message[0] != '\0');
        tide_sweep_fini(&sweep);
    }
}

/* ---- rows ---- */

static void a_row_survives_json(void **state) {
    (void)state;
    tide_sweep_options options;
    small_grid(&options);
    tide_sweep_row *row = make_row(&options, 4, TIDE_OUTCOME_OOM);
    tide_sweep_row *back = NULL;
    tide_run_result *result = &row->result;
    result->mem = tide_hostmem_default();
    result->n_samples = 3;
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        result->host_ms[i] = tide_hostmem_zeroed(result->mem, 3, sizeof(double));
        result->device_ms[i] = tide_hostmem_zeroed(result->mem, 3, sizeof(double));
        assert_non_null(result->host_ms[i]);
        assert_non_null(result->device_ms[i]);
        for (size_t k = 0; k < 3; k++) {
            result->host_ms[i][k] = 1.0 / 3.0 + (double)k;
            result->device_ms[i][k] = 0.1 + (double)(k * i);
        }
    }
    result->asked_bytes = INT64_C(1) << 52;
    result->n_tokens = 32;
    result->flops = 6e12;
    result->stated_peak_flops = 4e15;
    (void)snprintf(result->reason, sizeof(result->reason), "out of \"memory\"\n<here>");
    (void)snprintf(result->environment.host.cpu, TIDE_HOST_TEXT, "a \\ processor");
    cJSON *json = tide_sweep_row_to_json(row);
    assert_non_null(json);
    assert_int_equal(tide_sweep_row_from_json(json, &back, NULL), TIDE_OK);
    assert_string_equal(back->name, row->name);
    assert_string_equal(back->mode, "train");
    assert_int_equal(back->context_length, 8);
    assert_int_equal(back->result.outcome, TIDE_OUTCOME_OOM);
    assert_int_equal(back->result.asked_bytes, INT64_C(1) << 52);
    assert_string_equal(back->result.reason, result->reason);
    assert_string_equal(back->result.environment.host.cpu, "a \\ processor");
    assert_true(back->result.host_ms[0][2] == result->host_ms[0][2]); /* to the last bit */
    /* Derived from the samples: the step's are 0.1, 3.1, 6.1 ms. */
    assert_true(fabs(back->result.ms[TIDE_TIMED_STEP].mean - 3.1) < 1e-12);
    assert_true(fabs(back->result.ms[TIDE_TIMED_STEP].std - 3.0) < 1e-12);
    assert_true(fabs(back->result.tokens_per_second - 32.0 / 3.1e-3) < 1e-6);
    assert_true(fabs(back->result.peak_share - 6e12 / 3.1e-3 / 4e15) < 1e-9);
    /* Each key is needed. */
    for (int i = 0; i < cJSON_GetArraySize(json); i++) {
        cJSON *part = cJSON_Duplicate(json, true);
        tide_sweep_row *none = NULL;
        cJSON_DeleteItemFromArray(part, i);
        assert_int_equal(tide_sweep_row_from_json(part, &none, NULL), TIDE_FORMAT);
        assert_null(none);
        cJSON_Delete(part);
    }
    cJSON_Delete(json);
    tide_sweep_row_destroy(back);
    tide_sweep_row_destroy(row);
}

static void a_cell_has_one_row(void **state) {
    (void)state;
    tide_sweep_options options;
    tide_sweep sweep;
    small_grid(&options);
    begin(&options, 1, 1, &sweep);
    tide_sweep_row *row = make_row(&options, 3, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(tide_sweep_add(&sweep, row, NULL), TIDE_OK);
    tide_sweep_row *second = make_row(&options, 3, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(tide_sweep_add(&sweep, second, NULL), TIDE_INVALID);
    second->cell = 5; /* where a cell of another name is */
    assert_int_equal(tide_sweep_add(&sweep, second, NULL), TIDE_FORMAT);
    second->cell = 12;
    assert_int_equal(tide_sweep_add(&sweep, second, NULL), TIDE_FORMAT);
    assert_int_equal(sweep.n_rows, 1);
    assert_int_equal(tide_sweep_n_missing(&sweep), 11);
    tide_sweep_row_destroy(second);
    tide_sweep_fini(&sweep);
}

/* ---- the file ---- */

static void a_file_is_gone_on_with_only_when_asked(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    name_file(path);
    small_grid(&options);
    write_file(path, &options, 5);
    off_t n_bytes = bytes_of(path);
    begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "--resume") != NULL);
    assert_int_equal(bytes_of(path), n_bytes);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_OK);
    assert_int_equal(sweep.n_rows, 5);
    assert_int_equal(tide_sweep_n_missing(&sweep), 7);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(sweep.rows[i]->result.memory.requested_peak_bytes, 1000 + i);
    }
    /* Nobody else may write it meanwhile. */
    tide_sweep second;
    tide_sweep_file other;
    begin(&options, 1, 1, &second);
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
    small_grid(&options);
    write_file(path, &options, 2);
    off_t n_bytes = bytes_of(path);
    options.grid.steps = 3;
    begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "steps is 2 there and 3 here") != NULL);
    tide_sweep_fini(&sweep);
    options.grid.steps = 2;
    begin(&options, 2, 3, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "another part") != NULL);
    tide_sweep_fini(&sweep);
    append_text(path, "not a row\n");
    begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_FORMAT);
    assert_true(strstr(error.message, "line 4") != NULL);
    tide_sweep_fini(&sweep);
    assert_int_equal(bytes_of(path), n_bytes + 10);
    remove_file(path);
}

/* As kill -9 or a full disk leaves it: the last line ends anywhere. */
static void half_a_row_is_left_out(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    name_file(path);
    small_grid(&options);
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
        if (cut < n_two_rows + 97) { /* the last one: go on behind it */
            begin(&options, 1, 1, &sweep);
            assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, NULL), TIDE_OK);
            tide_sweep_row *row = make_row(&options, 2, TIDE_OUTCOME_COMPLETED);
            assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
            tide_sweep_row_destroy(row);
            tide_sweep_file_close(&file);
            tide_sweep_fini(&sweep);
        }
    }
    assert_int_equal(bytes_of(path), n_bytes);
    remove_file(path);
}

/* A full disk, here a limit of the process, takes half a row: nothing of it stays. */
static void a_row_that_does_not_fit_the_disk_is_taken_back(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    struct rlimit before;
    name_file(path);
    small_grid(&options);
    write_file(path, &options, 1);
    off_t n_bytes = bytes_of(path);
    begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, NULL), TIDE_OK);
    tide_sweep_row *row = make_row(&options, 1, TIDE_OUTCOME_COMPLETED);
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
    /* With room again it goes on. */
    assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
    assert_true(bytes_of(path) > n_bytes);
    tide_sweep_row_destroy(row);
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    remove_file(path);
}

static void half_a_header_is_begun_anew(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    name_file(path);
    small_grid(&options);
    append_text(path, "{\"format\":\"tidemark-sw");
    begin(&options, 1, 1, &sweep);
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

/* Whatever it is that --resume is given: only what a sweep began is gone on with. */
static void what_no_sweep_wrote_stays(void **state) {
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
    small_grid(&options);
    for (size_t i = 0; i < sizeof(FOREIGN) / sizeof(FOREIGN[0]); i++) {
        tide_error error = {""};
        append_text(path, FOREIGN[i]);
        begin(&options, 1, 1, &sweep);
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
        begin(&options, 1, 1, &sweep);
        assert_int_equal(tide_sweep_file_open(path, true, &sweep, &file, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, "last line"));
        assert_int_equal(bytes_of(path), n_bytes + (off_t)strlen(TAILS[i]));
        assert_int_equal(truncate(path, n_bytes), 0);
        tide_sweep_fini(&sweep);
    }
    remove_file(path);
}

/* A full disk, here a limit of the process, leaves no file of a sweep that could not begin. */
static void a_header_that_does_not_fit_leaves_no_file(void **state) {
    (void)state;
    char path[64];
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep_file file;
    tide_error error = {""};
    struct rlimit before;
    name_file(path);
    small_grid(&options);
    begin(&options, 1, 1, &sweep);
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
    small_grid(&options);
    begin(&options, 1, 1, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, NULL), TIDE_OK);
    static const tide_outcome OUTCOMES[] = {TIDE_OUTCOME_CRASHED, TIDE_OUTCOME_OOM,
                                            TIDE_OUTCOME_FAILED, TIDE_OUTCOME_COMPLETED};
    for (size_t i = 0; i < 4; i++) {
        tide_sweep_row *row = make_row(&options, i, OUTCOMES[i]);
        assert_int_equal(tide_sweep_file_append(&file, row, NULL), TIDE_OK);
        assert_int_equal(tide_sweep_add(&sweep, row, NULL), TIDE_OK);
    }
    assert_int_equal(tide_sweep_forget_failed(&sweep), 2);
    assert_true(sweep.rows[0] == NULL && sweep.rows[1] != NULL && sweep.rows[2] == NULL);
    tide_sweep_row *again = make_row(&options, 0, TIDE_OUTCOME_COMPLETED);
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
    begin(options, shard, 3, &sweep);
    assert_int_equal(tide_sweep_file_open(path, false, &sweep, &file, NULL), TIDE_OK);
    for (size_t i = 0; i < sweep.n_cells; i++) {
        if (tide_sweep_owns(&sweep, i)) {
            tide_sweep_row *row = make_row(options, i, TIDE_OUTCOME_COMPLETED);
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
    small_grid(&options);
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
    /* Written, it is a sweep of the whole grid, and no older file gives way to it. */
    assert_int_equal(tide_sweep_write(paths[3], &sweep, &error), TIDE_OK);
    assert_int_equal(tide_sweep_write(paths[0], &sweep, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "not replaced") != NULL);
    tide_sweep_fini(&sweep);
    begin(&options, 1, 1, &sweep);
    tide_sweep_file file;
    assert_int_equal(tide_sweep_file_open(paths[3], true, &sweep, &file, &error), TIDE_OK);
    assert_int_equal(tide_sweep_n_missing(&sweep), 0);
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    /* A cell twice, by its name and both files. */
    const char *const twice[] = {paths[0], paths[3]};
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

/* ---- the time left ---- */

static void the_time_left_is_work_left_at_the_pace_so_far(void **state) {
    (void)state;
    tide_sweep_pace pace = {.missing_work = 30.0};
    char text[32];
    assert_true(tide_sweep_left_s(&pace) < 0.0);
    assert_string_equal(tide_sweep_format_s(tide_sweep_left_s(&pace), text), "");
    pace.done_work = 10.0;
    pace.done_s = 20.0;
    pace.running_s = 12.0;
    assert_true(fabs(tide_sweep_left_s(&pace) - 48.0) < 1e-9);
    pace.running_s = 100.0; /* slower than the others: never below 0 */
    assert_true(tide_sweep_left_s(&pace) >= 0.0 && tide_sweep_left_s(&pace) < 1e-9);
    assert_string_equal(tide_sweep_format_s(0.2, text), "1 s");
    assert_string_equal(tide_sweep_format_s(99.0, text), "99 s");
    assert_string_equal(tide_sweep_format_s(100.0, text), "2 min");
    assert_string_equal(tide_sweep_format_s(3600.0, text), "60 min");
    assert_string_equal(tide_sweep_format_s(7261.0, text), "2 h 2 min");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_numbered_from_one),
        cmocka_unit_test(cells_stand_in_the_order_of_the_lists),
        cmocka_unit_test(every_cell_belongs_to_one_part),
        cmocka_unit_test(a_grid_without_a_cell_that_makes_sense_is_refused),
        cmocka_unit_test(grids_that_differ_are_told_apart),
        cmocka_unit_test(headers_are_not_trusted),
        cmocka_unit_test(a_row_survives_json),
        cmocka_unit_test(a_cell_has_one_row),
        cmocka_unit_test(a_file_is_gone_on_with_only_when_asked),
        cmocka_unit_test(a_foreign_file_is_refused_and_stays),
        cmocka_unit_test(half_a_row_is_left_out),
        cmocka_unit_test(a_row_that_does_not_fit_the_disk_is_taken_back),
        cmocka_unit_test(half_a_header_is_begun_anew),
        cmocka_unit_test(what_no_sweep_wrote_stays),
        cmocka_unit_test(a_header_that_does_not_fit_leaves_no_file),
        cmocka_unit_test(a_crashed_cell_may_be_tried_again),
        cmocka_unit_test(parts_are_joined_in_grid_order),
        cmocka_unit_test(the_time_left_is_work_left_at_the_pace_so_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
