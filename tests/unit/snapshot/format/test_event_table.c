/* test_event_table.c - events as columns: rows of any width are read back, and the fast path
 * through a column of the file agrees with the slow path at every place where it can end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "snapshot/format/json_reader.h"
#include "support/event_rows.h"
#include "support/made_snapshot.h"
#include "support/snapshot_files.h"

/* ---- widths ---- */

static tide_event event_of(uint64_t n_bytes, uint32_t index) {
    return (tide_event){.time_ns = 5,
                        .address = UINT64_C(1) << 40,
                        .requested_bytes = n_bytes,
                        .block_bytes = n_bytes,
                        .stack = index,
                        .scope = index,
                        .name = index,
                        .action = TIDE_ACTION_MARK,
                        .category = 3,
                        .device = 1,
                        .stream = 2};
}

/* The largest number of each width, the next one, and those around them. */
static void each_width_holds_its_numbers(void **state) {
    (void)state;
    static const struct {
        uint64_t largest;
        size_t bytes_width, index_width;
    } CASES[] = {{0, 1, 1},
                 {UINT8_MAX - 1, 1, 1},
                 {UINT8_MAX, 1, 2},
                 {UINT8_MAX + 1, 2, 2},
                 {UINT16_MAX - 1, 2, 2},
                 {UINT16_MAX, 2, 4},
                 {UINT16_MAX + 1, 4, 4},
                 {UINT32_MAX - 1, 4, 4},
                 {UINT32_MAX, 4, 0},
                 {UINT64_C(1) << 32, 8, 0},
                 {INT64_MAX, 8, 0}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool has_index = CASES[i].index_width > 0;
        const tide_event rows[] = {
            event_of(0, TIDE_NONE),
            event_of(CASES[i].largest, has_index ? (uint32_t)CASES[i].largest : 0), event_of(1, 0)};
        const made_tables tables = {.n_devices = 2};
        tide_snapshot *made = made_snapshot(NULL, &tables, rows, 3);
        assert_int_equal(made->events.requested_bytes.width, CASES[i].bytes_width);
        assert_int_equal(made->events.block_bytes.width, CASES[i].bytes_width);
        assert_int_equal(made->events.stack.width, has_index ? CASES[i].index_width : 1);
        tide_event *found = event_rows_of(made);
        assert_memory_equal(found, rows, sizeof(rows));
        free(found);
        tide_snapshot_destroy(made);
    }
}

/* ---- from a file and back ---- */

enum { N_FILE_ROWS = 1500 }; /* three batches of the reader */

/* Writes the rows to a file and expects the same rows from the file. */
static void come_back(const made_tables *tables, const tide_event *rows) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = made_snapshot(NULL, tables, rows, N_FILE_ROWS);
    tide_snapshot *read = NULL;
    tide_error error = {""};
    snapshot_path(path, "widths.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, &error), TIDE_OK);
    assert_int_equal(read->n_events, N_FILE_ROWS);
    assert_int_equal(read->events.block_bytes.width, made->events.block_bytes.width);
    assert_int_equal(read->events.name.width, made->events.name.width);
    tide_event *found = event_rows_of(read);
    assert_memory_equal(found, rows, N_FILE_ROWS * sizeof(*rows));
    free(found);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
    snapshot_remove(path);
}

/* A column begins narrow and becomes wider at the row `at`. */
static void columns_widen_at_any_row(void **state) {
    (void)state;
    static const size_t AT[] = {0, 1, 511, 512, 513, 1023, 1024, 1499};
    static const uint64_t LARGEST[] = {255, 256, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32};
    tide_event *rows = calloc(N_FILE_ROWS, sizeof(*rows));
    assert_non_null(rows);
    for (size_t a = 0; a < sizeof(AT) / sizeof(AT[0]); a++) {
        for (size_t l = 0; l < sizeof(LARGEST) / sizeof(LARGEST[0]); l++) {
            for (size_t i = 0; i < N_FILE_ROWS; i++) {
                rows[i] = made_event(TIDE_ACTION_ALLOC, i * 1024, i % 7, i % 7 + 1);
            }
            rows[AT[a]].block_bytes = LARGEST[l];
            rows[AT[a]].requested_bytes = LARGEST[l] - 1;
            const made_tables tables = {.n_devices = 1};
            come_back(&tables, rows);
        }
    }
    free(rows);
}

/* The same for indices, where the largest number of a width means none. */
static void indices_widen_at_any_row(void **state) {
    (void)state;
    enum { N_STRINGS = 66000 };
    static const size_t AT[] = {0, 513};
    static const uint32_t LARGEST[] = {254, 255, 256, 65534, 65535, 65536};
    static const char *strings[N_STRINGS];
    static tide_event rows[N_FILE_ROWS];
    for (size_t i = 0; i < N_STRINGS; i++) {
        strings[i] = "";
    }
    for (size_t a = 0; a < sizeof(AT) / sizeof(AT[0]); a++) {
        for (size_t l = 0; l < sizeof(LARGEST) / sizeof(LARGEST[0]); l++) {
            for (size_t i = 0; i < N_FILE_ROWS; i++) {
                rows[i] = made_event(TIDE_ACTION_ALLOC, i * 1024, 1, 1);
                rows[i].name = i % 3 == 0 ? TIDE_NONE : (uint32_t)i % 200;
            }
            rows[AT[a]].name = LARGEST[l];
            const made_tables tables = {.n_devices = 1, .strings = strings, .n_strings = N_STRINGS};
            come_back(&tables, rows);
        }
    }
}

static void no_events_come_back(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    const made_tables tables = {.n_devices = 1};
    tide_snapshot *made = made_snapshot(NULL, &tables, NULL, 0);
    tide_snapshot *read = NULL;
    tide_error error = {""};
    snapshot_path(path, "none.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, &error), TIDE_OK);
    assert_int_equal(read->n_events, 0);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
    snapshot_remove(path);
}

typedef struct whole_text {
    char bytes[1 << 18];
    size_t n_bytes;
} whole_text;

static tide_status append(void *ctx, const char *bytes, size_t n_bytes) {
    whole_text *to = ctx;
    assert_true(to->n_bytes + n_bytes < sizeof(to->bytes));
    memcpy(to->bytes + to->n_bytes, bytes, n_bytes);
    to->n_bytes += n_bytes;
    return TIDE_OK;
}

/* Replaces the difference in the row `bad` of a file: `with` takes the sum out of its range. */
static void refuse_sum(const char *column, const char *from, const char *with, size_t bad) {
    static const char *const STRING = "";
    static const tide_scope_row SCOPE = {.parent = TIDE_NONE, .index = -1};
    static tide_event rows[N_FILE_ROWS];
    static whole_text to;
    char path[SNAPSHOT_PATH_BYTES];
    char place[128];
    tide_error error = {""};
    tide_snapshot *read = NULL;
    for (size_t i = 0; i < N_FILE_ROWS; i++) {
        rows[i] = made_event(TIDE_ACTION_ALLOC, i * 1024, 1, 1);
        rows[i].scope = i < bad ? TIDE_NONE : 0;
        rows[i].time_ns = i < bad ? 1 : 8;
    }
    const made_tables tables = {
        .n_devices = 1, .strings = &STRING, .n_strings = 1, .scopes = &SCOPE, .n_scopes = 1};
    tide_snapshot *made = made_snapshot(NULL, &tables, rows, N_FILE_ROWS);
    to.n_bytes = 0;
    assert_int_equal(tide_snapshot_write_to(made, append, &to, &error), TIDE_OK);
    to.bytes[to.n_bytes] = '\0';
    char *at = strstr(strstr(to.bytes, column), from) + 1;
    size_t n_with = strlen(with);
    memmove(at + n_with, at + 1, to.n_bytes - (size_t)(at + 1 - to.bytes));
    memcpy(at, with, n_with);
    snapshot_path(path, "sums.json");
    snapshot_write_file(path, to.bytes, to.n_bytes + n_with - 1);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, &error), TIDE_FORMAT);
    snprintf(place, sizeof(place),
             "byte %zu, events.%s[%zu]: the value it leads to is out of range",
             (size_t)(at - to.bytes), column, bad);
    if (strstr(error.message, place) == NULL) {
        fail_msg("\"%s\" is not \"%s\"", error.message, place);
    }
    tide_snapshot_destroy(made);
    snapshot_remove(path);
}

/* A sum of differences that leaves its range, or that of 64 bits, is refused at its row, even after
 * the first batch. */
static void sums_are_refused_at_any_row(void **state) {
    (void)state;
    static const size_t BAD[] = {1, 511, 512, 700, 1024, 1499};
    for (size_t b = 0; b < sizeof(BAD) / sizeof(BAD[0]); b++) {
        refuse_sum("scope_delta", ",1", "-7", BAD[b]);
        refuse_sum("scope_delta", ",1", "9223372036854775807", BAD[b]);
        refuse_sum("time_delta", ",7", "-2", BAD[b]);
        refuse_sum("time_delta", ",7", "9223372036854775807", BAD[b]);
    }
}

/* ---- the numbers of a column ---- */

/* Returns the text in pieces of a few bytes. */
typedef struct dribble {
    const char *text;
    size_t n_bytes, at, piece;
} dribble;

static tide_status read_piece(void *ctx, char *to, size_t n_room, size_t *ret_bytes,
                              tide_error *error) {
    dribble *from = ctx;
    size_t n = from->n_bytes - from->at;
    (void)error;
    n = n < from->piece ? n : from->piece;
    n = n < n_room ? n : n_room;
    memcpy(to, from->text + from->at, n);
    from->at += n;
    *ret_bytes = n;
    return TIDE_OK;
}

enum { N_NUMBERS = 3000, TEXT_BYTES = N_NUMBERS * 24 };

static int64_t number_of(uint64_t *random) {
    *random = tide_hash_u64(*random + 1);
    uint64_t magnitude = *random >> (1 + (*random & 63) % 63);
    return *random & 64 ? -(int64_t)magnitude : (int64_t)magnitude;
}

/* Numbers cut at any place by a source give the same as a whole text. */
static void numbers_survive_the_ends_of_windows(void **state) {
    (void)state;
    static const size_t PIECES[] = {1, 2, 3, 7, 19, 20, 21, 22, 23, 64, 4096, TEXT_BYTES};
    static char text[TEXT_BYTES];
    static int64_t numbers[N_NUMBERS];
    uint64_t random = 7;
    size_t n_bytes = 0;
    for (size_t i = 0; i < N_NUMBERS; i++) {
        numbers[i] = number_of(&random);
        const char *space = random % 50 == 0 ? " " : random % 51 == 0 ? "\n" : "";
        n_bytes += (size_t)snprintf(text + n_bytes, sizeof(text) - n_bytes, "%c%s%" PRId64 "%s",
                                    i == 0 ? '[' : ',', space, numbers[i], space);
    }
    text[n_bytes++] = ']';
    for (size_t p = 0; p < sizeof(PIECES) / sizeof(PIECES[0]); p++) {
        dribble from = {.text = text, .n_bytes = n_bytes, .piece = PIECES[p]};
        const tide_source source = {.read = read_piece, .ctx = &from};
        tide_json_column column = {.mem = tide_hostmem_default()};
        tide_json json;
        tide_error error = {""};
        tide_json_open(&json, &source, column.mem, &error);
        tide_json_get_column(&json, INT64_MIN, INT64_MAX, NULL, &column);
        tide_json_expect_end(&json);
        assert_int_equal(tide_json_status(&json), TIDE_OK);
        assert_int_equal(column.n_values, N_NUMBERS);
        assert_memory_equal(column.values, numbers, sizeof(numbers));
        free(column.values);
        tide_json_close(&json);
    }
}

/* Anything but a plain number in range is refused with its byte and place, wherever in a long
 * column it is. */
static void odd_numbers_keep_their_place(void **state) {
    (void)state;
    static const struct {
        const char *item;
        const char *message; /* after the place */
    } CASES[] = {
        {"01", "an integer within 2^63 was expected, not '0'"},
        {"1.5", "1.5 is not an integer within 2^63"},
        {"1e2", "1e2 is not"},
        {"-", "an integer within 2^63 was expected, not '-'"},
        {"1001", "1001 is out of range: -1 to 1000 is allowed"},
        {"-2", "-2 is out of range: -1 to 1000 is allowed"},
        {"9223372036854775808", "9223372036854775808 is not an integer within 2^63"},
        {"1 2", "',' or ']' was expected, not '2'"},
        {"", "an integer within 2^63 was expected, not ','"},
        {"\"1\"", "an integer within 2^63 was expected, not '\"'"},
    };
    static char text[TEXT_BYTES];
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        for (size_t bad = 1; bad < 1200; bad += 133) {
            size_t n_bytes = 0;
            size_t at = 0;
            for (size_t k = 0; k < 1200; k++) {
                text[n_bytes++] = k == 0 ? '[' : ',';
                at = k == bad ? n_bytes : at;
                n_bytes += (size_t)sprintf(text + n_bytes, "%s", k == bad ? CASES[i].item : "17");
            }
            text[n_bytes++] = ']';
            tide_json_column column = {.mem = tide_hostmem_default()};
            tide_json json;
            tide_error error = {""};
            char place[64];
            tide_json_init(&json, text, n_bytes, &error);
            tide_json_get_column(&json, -1, 1000, NULL, &column);
            assert_int_equal(tide_json_status(&json), TIDE_FORMAT);
            at += strcmp(CASES[i].item, "1 2") == 0 ? 2 : 0;
            snprintf(place, sizeof(place), "byte %zu, [%zu]: ", at, bad);
            if (strncmp(error.message, place, strlen(place)) != 0 ||
                strstr(error.message, CASES[i].message) == NULL) {
                fail_msg("'%s' at %zu: \"%s\" is not \"%s%s\"", CASES[i].item, bad, error.message,
                         place, CASES[i].message);
            }
            free(column.values);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_width_holds_its_numbers),
        cmocka_unit_test(indices_widen_at_any_row),
        cmocka_unit_test(no_events_come_back),
        cmocka_unit_test(sums_are_refused_at_any_row),
        cmocka_unit_test(columns_widen_at_any_row),
        cmocka_unit_test(numbers_survive_the_ends_of_windows),
        cmocka_unit_test(odd_numbers_keep_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
