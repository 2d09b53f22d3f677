/* test_assumed.c - values that were assumed: in a file, as sentences, and the rows that fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/words/assumed_words.h"
#include "support/snapshot_files.h"

#define GIB (INT64_C(1) << 30)

static const tide_snapshot_assumed MASK = {
    "loss.py:31", "mask", 4096, 4096, 8192, 3, INT64_C(481280), INT64_C(1971322880)};

static void every_member_returns_from_a_file(void **state) {
    (void)state;
    const tide_snapshot_assumed rows[] = {MASK, {"", "truth value", 0, 1, 0, 3, 0, 0}};
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = NULL;
    tide_snapshot *again = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->assumed = rows;
    made->n_assumed = 2;
    snapshot_path(path, "assumed.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &again, NULL), TIDE_OK);
    snapshot_remove(path);
    assert_int_equal(again->n_assumed, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(again->assumed[i].place, rows[i].place);
        assert_string_equal(again->assumed[i].what, rows[i].what);
        assert_int_equal(again->assumed[i].given_least, rows[i].given_least);
        assert_int_equal(again->assumed[i].given_most, rows[i].given_most);
        assert_int_equal(again->assumed[i].possible, rows[i].possible);
        assert_int_equal(again->assumed[i].n_times, rows[i].n_times);
        assert_int_equal(again->assumed[i].row_bytes, rows[i].row_bytes);
        assert_int_equal(again->assumed[i].all_bytes, rows[i].all_bytes);
    }
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(made);
}

/* ---- sentences ---- */

static void expect(tide_snapshot_assumed row, const char *sentence) {
    char words[512];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_assumed_words_add(&row, &text);
    assert_string_equal(words, sentence);
}

static void a_read_is_a_sentence(void **state) {
    (void)state;
    expect(MASK, "The mask at loss.py:31 is assumed: 4,096 of 8,192 rows; each row more takes "
                 "470.00 KiB, all of them 1.84 GiB more.");
    expect((tide_snapshot_assumed){"moe.py:9", "mask", 3985, 4216, 16384, 48, 0, 2 * GIB},
           "The mask at moe.py:9 is assumed: 3,985 to 4,216 of 16,384 rows; all rows take 2.00 GiB "
           "more.");
    expect((tide_snapshot_assumed){"box.py:2", "detections", 85, 85, 1000000, 1, 16, 3440},
           "The number of detections that NMS keeps at box.py:2 is assumed: 85 of 1,000,000 "
           "detections; each detection more takes 16 B, all of them 3.36 KiB more.");
    expect((tide_snapshot_assumed){"g.py:5", "unique values", 0, 0, 1, 1, 0, 0},
           "The number of unique values at g.py:5 is assumed: 0 of 1 value.");
    expect((tide_snapshot_assumed){"g.py:6", "nonzero", 7, 7, 9, 1, 0, 0},
           "The result of nonzero at g.py:6 is assumed: 7 of 9 rows.");
    expect((tide_snapshot_assumed){"", "histogram", 7, 7, 9, 1, 0, 0},
           "The histogram at an unknown line is assumed: 7 of 9 rows.");
}

static void a_value_is_a_sentence(void **state) {
    (void)state;
    expect((tide_snapshot_assumed){"t.py:12", "truth value", 1, 1, 0, 1234, 0, 0},
           "A truth value at t.py:12 is assumed true (1,234 times); what the program decides by it "
           "may differ.");
    expect((tide_snapshot_assumed){"t.py:12", "truth value", 0, 0, 0, 1, 0, 0},
           "A truth value at t.py:12 is assumed false; what the program decides by it may differ.");
    expect((tide_snapshot_assumed){"t.py:12", "truth value", 0, 1, 0, 2, 0, 0},
           "A truth value at t.py:12 is assumed true or false (2 times); what the program decides "
           "by it may differ.");
    expect((tide_snapshot_assumed){"t.py:13", "number", -1, -1, 0, 2, 0, 0},
           "A number at t.py:13 is assumed (2 times); what the program decides by it may differ.");
    expect(
        (tide_snapshot_assumed){"t.py:14 (net.py:5)", "values copied to the host", 0, 0, 0, 2, 0,
                                0},
        "Values copied to the host at t.py:14 (net.py:5) are assumed (2 times); what the program "
        "decides by them may differ.");
    expect((tide_snapshot_assumed){"the backward pass", "number", 0, 0, 0, 1, 0, 0},
           "A number in the backward pass is assumed; what the program decides by it may differ.");
    expect((tide_snapshot_assumed){"a library", "truth value", 0, 0, 0, 1, 0, 0},
           "A truth value in a library is assumed false; what the program decides by it may "
           "differ.");
}

static void further_reads_are_counted(void **state) {
    (void)state;
    char words[512] = "";
    tide_text text = tide_text_in(words, sizeof(words));
    tide_assumed_words_add_all(TIDE_ASSUMED_SENTENCES, &text);
    assert_string_equal(words, "");
    tide_assumed_words_add_all(6, &text);
    assert_string_equal(
        words, "6 values are assumed in all; `tidemark explain --format json` lists them.");
}

/* ---- the verdict ---- */

static void expect_limit(const tide_snapshot_assumed *rows, size_t n_rows, int64_t left_bytes,
                         const char *words) {
    char bytes[512] = "";
    tide_text text = tide_text_in(bytes, sizeof(bytes));
    const tide_assumed_limit limit = tide_assumed_limit_of(rows, n_rows, left_bytes);
    assert_true(limit.fits_with_all == (words[0] == '\0'));
    tide_assumed_words_add_limit(&limit, &text);
    assert_string_equal(bytes, words);
}

static void a_run_that_fits_with_all_rows_has_no_condition(void **state) {
    (void)state;
    const tide_snapshot_assumed rows[] = {MASK, {"t.py:1", "number", 5, 5, 0, 1, 0, 0}};
    expect_limit(rows, 2, MASK.all_bytes, "");
    expect_limit(rows, 2, -1, ""); /* unknown */
    expect_limit(NULL, 0, 0, "");
}

static void the_most_rows_that_fit(void **state) {
    (void)state;
    tide_snapshot_assumed row = MASK;
    expect_limit(&row, 1, 100 * MASK.row_bytes + 5,
                 " if the mask at loss.py:31 gives at most 4,196 rows; with all 8,192 it does not");
    row.row_bytes = 0; /* then an equal share of all */
    expect_limit(&row, 1, 100 * MASK.row_bytes + 5,
                 " if the mask at loss.py:31 gives at most 4,196 rows; with all 8,192 it does not");
    row.row_bytes = 1; /* never all rows */
    expect_limit(&row, 1, MASK.all_bytes - 1,
                 " if the mask at loss.py:31 gives at most 8,191 rows; with all 8,192 it does not");
    const tide_snapshot_assumed nms = {"b.py:2", "detections", 0, 0, 9, 1, 10, 90};
    expect_limit(&nms, 1, 19,
                 " if NMS at b.py:2 keeps at most 1 detection; with all 9 it does not");
}

static void several_reads_count_together(void **state) {
    (void)state;
    tide_snapshot_assumed rows[] = {MASK, MASK};
    rows[0].place = "a.py:1";
    expect_limit(rows, 2, MASK.all_bytes,
                 " with the rows that are assumed; with all rows of 2 reads, which take 3.67 GiB "
                 "more where 1.84 GiB are left, it does not");
    rows[1].all_bytes = INT64_MAX; /* the larger one alone is named, wherever it is */
    expect_limit(rows, 2, 0,
                 " if the mask at loss.py:31 gives at most 4,096 rows; with all 8,192 it does not");
}

/* Only a completed run on a virtual card leaves a known rest. */
static void the_bytes_that_are_left(void **state) {
    (void)state;
    const tide_snapshot_device card = {"virtual", "H100", 80 * GIB, 90, -1, -1, -1, -1};
    tide_snapshot_driver_account account = {
        .device = 0, .total_bytes = 80 * GIB, .used_at_peak_bytes = 30 * GIB};
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->devices = &card;
    made->n_devices = 1;
    made->driver_accounts = &account;
    made->n_driver_accounts = 1;
    made->run.outcome = TIDE_SNAPSHOT_COMPLETED;
    assert_int_equal(tide_assumed_left_bytes(made, 0), 50 * GIB);
    assert_int_equal(tide_assumed_left_bytes(made, 1), -1);
    made->run.outcome = TIDE_SNAPSHOT_OOM;
    assert_int_equal(tide_assumed_left_bytes(made, 0), -1);
    made->run.outcome = TIDE_SNAPSHOT_COMPLETED;
    account.used_at_peak_bytes = -1;
    assert_int_equal(tide_assumed_left_bytes(made, 0), -1);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_returns_from_a_file),
        cmocka_unit_test(a_read_is_a_sentence),
        cmocka_unit_test(a_value_is_a_sentence),
        cmocka_unit_test(further_reads_are_counted),
        cmocka_unit_test(a_run_that_fits_with_all_rows_has_no_condition),
        cmocka_unit_test(the_most_rows_that_fit),
        cmocka_unit_test(several_reads_count_together),
        cmocka_unit_test(the_bytes_that_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
