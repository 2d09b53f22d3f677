/* test_sweep.c - the grid of a sweep, its rows, and the estimate of the remaining time.
 * test_sweep_file.c tests the file of the rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sweep_fixture.h"

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
    sweep_small_grid(&options);
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(sweep.n_cells, 12);
    for (size_t i = 0; i < sweep.n_cells; i++) {
        assert_string_equal(sweep.names[i], NAMES[i]);
    }
    tide_sweep_fini(&sweep);
}

static void repeats_are_cells_with_their_number_in_the_name(void **state) {
    (void)state;
    tide_sweep_options options;
    tide_sweep sweep;
    char name[TIDE_RUN_NAME_BYTES];
    sweep_small_grid(&options);
    options.n_repeats = 3;
    sweep_begin(&options, 1, 1, &sweep);
    assert_int_equal(sweep.n_cells, 36);
    assert_int_equal(sweep.n_repeats, 3);
    assert_int_equal(tide_sweep_n_distinct(&sweep), 12);
    assert_string_equal(sweep.names[11], "medium-train-c32-b4-fp32-repeat-1");
    assert_string_equal(sweep.names[12], "small-forward-c16-b4-fp32-repeat-2");
    (void)snprintf(name, sizeof(name), "%s", sweep.names[12]);
    tide_sweep_name_once(&sweep, 12, name);
    assert_string_equal(name, "small-forward-c16-b4-fp32");
    /* A name of the maximum length is truncated, so that the repeat's number stays. */
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    tide_sweep_name_repeat(name, 12);
    assert_int_equal(strlen(name), sizeof(name) - 1);
    assert_string_equal(name + sizeof(name) - 1 - strlen("x-repeat-12"), "x-repeat-12");
    tide_sweep_fini(&sweep);
}

static void every_cell_belongs_to_one_part(void **state) {
    (void)state;
    tide_sweep_options options;
    size_t n_owners[12] = {0};
    size_t n_cells = 0;
    sweep_small_grid(&options);
    for (size_t shard = 1; shard <= 5; shard++) {
        tide_sweep sweep;
        sweep_begin(&options, shard, 5, &sweep);
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

static void a_grid_without_valid_cells_is_refused(void **state) {
    (void)state;
    tide_sweep_options options;
    tide_error error = {""};
    cJSON *header = NULL;
    static char *none[] = {"sweep", "--heads", "7"};
    static char *some[] = {"sweep", "--context", "0,16"};
    sweep_parse(3, none, &options);
    assert_int_equal(tide_sweep_header(&options, "virtual", 1, 1, &header, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "heads") != NULL);
    static char *same[] = {"sweep", "--size", "small,large", "--layers", "2"};
    sweep_parse(5, same, &options); /* two cells of one name */
    assert_int_equal(tide_sweep_header(&options, "virtual", 1, 1, &header, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "--size") != NULL);
    sweep_parse(3, some, &options);
    assert_int_equal(tide_sweep_header(&options, "virtual", 1, 1, &header, &error), TIDE_OK);
    cJSON_Delete(header);
}

static void different_grids_are_distinguished(void **state) {
    (void)state;
    tide_sweep_options options;
    tide_sweep sweep;
    tide_sweep other;
    tide_error error = {""};
    sweep_small_grid(&options);
    sweep_begin(&options, 1, 3, &sweep);
    sweep_begin(&options, 2, 3, &other); /* another part of the same grid */
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_OK);
    tide_sweep_fini(&other);
    options.grid.seed = 9;
    sweep_begin(&options, 1, 3, &other);
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "seed is 9 there and 0 here") != NULL);
    tide_sweep_fini(&other);
    sweep_small_grid(&options);
    options.snapshots = "snapshots"; /* recording takes time: the times are not the same */
    sweep_begin(&options, 1, 3, &other);
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_INVALID);
    tide_sweep_fini(&other);
    sweep_small_grid(&options);
    options.grid.spill_bytes = 4096; /* the grid has this key only if it is not 0 */
    sweep_begin(&options, 1, 3, &other);
    assert_int_equal(tide_sweep_check_same(&sweep, &other, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "spill_bytes is 4096 there and missing here") != NULL);
    assert_int_equal(tide_sweep_check_same(&other, &sweep, &error), TIDE_INVALID);
    assert_true(strstr(error.message, "spill_bytes is missing there and 4096 here") != NULL);
    tide_sweep_fini(&other);
    tide_sweep_fini(&sweep);
}

static void invalid_headers_are_refused(void **state) {
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
        "{\"format\":\"tidemark-sweep\",\"version\":1,\"shard\":1,\"shards\":1,"
        "\"grid\":{\"repeats\":2},\"cells\":[\"a\",\"b\",\"c\"]}",
        "{\"format\":\"tidemark-sweep\",\"version\":1,\"shard\":1,\"shards\":1,"
        "\"grid\":{\"repeats\":0},\"cells\":[\"a\"]}",
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

static void a_row_round_trips_through_json(void **state) {
    (void)state;
    tide_sweep_options options;
    sweep_small_grid(&options);
    tide_sweep_row *row = sweep_make_row(&options, 4, TIDE_OUTCOME_OOM);
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
    sweep_small_grid(&options);
    sweep_begin(&options, 1, 1, &sweep);
    tide_sweep_row *row = sweep_make_row(&options, 3, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(tide_sweep_add(&sweep, row, NULL), TIDE_OK);
    tide_sweep_row *second = sweep_make_row(&options, 3, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(tide_sweep_add(&sweep, second, NULL), TIDE_INVALID);
    second->cell = 5; /* in place of a cell of another name */
    assert_int_equal(tide_sweep_add(&sweep, second, NULL), TIDE_FORMAT);
    second->cell = 12;
    assert_int_equal(tide_sweep_add(&sweep, second, NULL), TIDE_FORMAT);
    assert_int_equal(sweep.n_rows, 1);
    assert_int_equal(tide_sweep_n_missing(&sweep), 11);
    tide_sweep_row_destroy(second);
    tide_sweep_fini(&sweep);
}

/* ---- the time left ---- */

static void the_time_left_follows_the_pace_so_far(void **state) {
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
        cmocka_unit_test(repeats_are_cells_with_their_number_in_the_name),
        cmocka_unit_test(every_cell_belongs_to_one_part),
        cmocka_unit_test(a_grid_without_valid_cells_is_refused),
        cmocka_unit_test(different_grids_are_distinguished),
        cmocka_unit_test(invalid_headers_are_refused),
        cmocka_unit_test(a_row_round_trips_through_json),
        cmocka_unit_test(a_cell_has_one_row),
        cmocka_unit_test(the_time_left_follows_the_pace_so_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
