/* test_area_words.c - figures of cuDNN's work areas: in a file, and as a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/snapshot.h"
#include "snapshot/explain/words/area_words.h"
#include "support/snapshot_files.h"

#define MIB (INT64_C(1) << 20)

static const tide_snapshot_work_areas ROW = {.device = 0,
                                             .n_calls = 474,
                                             .likely_bytes = 148 * MIB - 1,
                                             .most_bytes = 303 * MIB,
                                             .allocated_none_bytes = 2883 * MIB,
                                             .allocated_likely_bytes = 2896 * MIB,
                                             .allocated_most_bytes = 2938 * MIB,
                                             .reserved_none_bytes = 3290 * MIB,
                                             .reserved_likely_bytes = 3396 * MIB,
                                             .reserved_most_bytes = 3410 * MIB,
                                             .is_most_refused = true,
                                             .is_benchmark = false};

static const char *words_of(const tide_snapshot_work_areas *row) {
    static char text[512];
    tide_text to = tide_text_in(text, sizeof(text));
    tide_area_words_add(row, &to);
    return text;
}

static void the_sentence_has_three_peaks(void **state) {
    (void)state;
    tide_snapshot_work_areas row = ROW;
    assert_string_equal(
        words_of(&row),
        "cuDNN's work areas: likely 148 MiB at once; the reserved peak is 3,290 MiB "
        "without, 3,396 likely, 3,410 at most.");
    assert_int_equal(tide_area_margin_bytes(&row), 14 * MIB);
    row.reserved_most_bytes = 3300 * MIB;
    assert_string_equal(
        words_of(&row),
        "cuDNN's work areas: likely 148 MiB at once; the reserved peak is 3,290 MiB "
        "without, 3,396 likely, 3,300 with the largest.");
    assert_int_equal(tide_area_margin_bytes(&row), 0);
}

static void no_likely_area(void **state) {
    (void)state;
    tide_snapshot_work_areas row = ROW;
    row.likely_bytes = 0;
    row.reserved_likely_bytes = row.reserved_none_bytes;
    assert_string_equal(words_of(&row), "cuDNN's work areas: likely none; the reserved peak is "
                                        "3,290 MiB without, 3,410 at most.");
}

static void a_small_likely_area(void **state) {
    (void)state;
    tide_snapshot_work_areas row = ROW;
    row.likely_bytes = 16;
    assert_string_equal(words_of(&row), "cuDNN's work areas: likely under 1 MiB at once; the "
                                        "reserved peak is 3,290 MiB without, 3,396 likely, 3,410 "
                                        "at most.");
}

static void plans_that_are_tried(void **state) {
    (void)state;
    tide_snapshot_work_areas row = ROW;
    row.is_benchmark = true;
    row.reserved_none_bytes = row.reserved_likely_bytes = row.reserved_most_bytes;
    assert_string_equal(
        words_of(&row),
        "cuDNN's work areas: likely 148 MiB at once; the reserved peak is 3,410 MiB without, 3,410 "
        "likely, 3,410 at most. With torch.backends.cudnn.benchmark, as here, PyTorch tries all "
        "plans at the first call of a shape; their area may take all free memory, and is freed "
        "before the next request.");
    assert_int_equal(tide_area_margin_bytes(&row), 0); /* which never makes a program fail */
}

static void nothing_is_printed_without_a_difference(void **state) {
    (void)state;
    tide_snapshot_work_areas row = ROW;
    row.reserved_none_bytes = row.reserved_likely_bytes = row.reserved_most_bytes;
    assert_string_equal(words_of(&row), "");
    row.reserved_none_bytes -= 34 * MIB; /* less than 1 % */
    row.reserved_most_bytes += 34 * MIB;
    assert_string_equal(words_of(&row), "");
    row.reserved_none_bytes -= MIB;
    assert_string_not_equal(words_of(&row), "");
    row = ROW;
    row.reserved_most_bytes = -1; /* of another writer */
    assert_string_equal(words_of(&row), "");
    assert_int_equal(tide_area_margin_bytes(&row), 0);
}

static void every_member_returns_from_a_file(void **state) {
    (void)state;
    tide_snapshot_work_areas rows[] = {ROW, TIDE_SNAPSHOT_NO_WORK_AREAS};
    rows[1].is_benchmark = true;
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = NULL;
    tide_snapshot *read = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->work_areas = rows;
    made->n_work_areas = 2;
    snapshot_path(path, "areas.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, NULL), TIDE_OK);
    snapshot_remove(path);
    assert_int_equal(read->n_work_areas, 2);
    for (size_t i = 0; i < 2; i++) {
        const tide_snapshot_work_areas *row = &read->work_areas[i];
        assert_memory_equal(row, &rows[i], offsetof(tide_snapshot_work_areas, is_most_refused));
        assert_int_equal(row->is_most_refused, rows[i].is_most_refused);
        assert_int_equal(row->is_benchmark, rows[i].is_benchmark);
    }
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sentence_has_three_peaks),
        cmocka_unit_test(no_likely_area),
        cmocka_unit_test(a_small_likely_area),
        cmocka_unit_test(plans_that_are_tried),
        cmocka_unit_test(nothing_is_printed_without_a_difference),
        cmocka_unit_test(every_member_returns_from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
