/* test_categories.c - a file may have categories of its own. Their names survive the reader, the
 * summary, the writer, the comparison and the replay, which number them differently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/categories.h"
#include "snapshot/compare/compare.h"
#include "snapshot/compare/compare_rows.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

/* The text of a run with its table of categories replaced, from malloc. */
static char *document_with(const char *categories, size_t *ret_bytes) {
    char path[SNAPSHOT_PATH_BYTES];
    char *text = NULL;
    size_t n_bytes = 0;
    const synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    snapshot_path(path, "made.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    tide_snapshot_destroy(made);
    assert_int_equal(snapshot_unzip(path, SIZE_MAX / 2, &text, &n_bytes, NULL), TIDE_OK);
    snapshot_remove(path);
    char *begin = strstr(text, "\"categories\":[");
    assert_non_null(begin);
    begin += strlen("\"categories\":[");
    const char *end = strchr(begin, ']');
    assert_non_null(end);
    size_t n_room = n_bytes + strlen(categories) + 1;
    char *changed = malloc(n_room);
    assert_non_null(changed);
    int n = snprintf(changed, n_room, "%.*s%s%s", (int)(begin - text), text, categories, end);
    assert_true(n > 0 && (size_t)n < n_room);
    *ret_bytes = (size_t)n;
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    return changed;
}

static tide_status load_with(const char *categories, tide_snapshot **ret_snapshot,
                             tide_error *error) {
    char path[SNAPSHOT_PATH_BYTES];
    size_t n_bytes = 0;
    char *text = document_with(categories, &n_bytes);
    snapshot_path(path, "own.json");
    snapshot_write_file(path, text, n_bytes);
    tide_status status = tide_snapshot_load(path, NULL, ret_snapshot, error);
    snapshot_remove(path);
    free(text);
    return status;
}

/* Activations and temporaries under names that only this file uses. */
#define OWN                                                                                        \
    "\"unknown\",\"parameter\",\"gradient\",\"optimizer_state\",\"kv cache\",\"communication\","   \
    "\"workspace\",\"input\",\"weight_copy\""
#define OWN_SWAPPED                                                                                \
    "\"unknown\",\"parameter\",\"gradient\",\"optimizer_state\",\"communication\",\"kv cache\","   \
    "\"workspace\",\"input\",\"weight_copy\""

static tide_snapshot *load_own(const char *categories) {
    tide_snapshot *read = NULL;
    tide_error error = {""};
    if (load_with(categories, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return read;
}

static const tide_share *share_named(const tide_summary *summary, const char *name) {
    const tide_split *split = &summary->devices[0].peak.by_category;
    for (size_t i = 0; i < split->n_shares; i++) {
        if (strcmp(split->shares[i].label, name) == 0) {
            return &split->shares[i];
        }
    }
    fail_msg("no category '%s'", name);
    return NULL;
}

static void words_of_the_file_stay(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *read = load_own(OWN);
    tide_snapshot *again = NULL;
    tide_summary *summary = NULL;
    assert_int_equal(tide_snapshot_n_categories(read), TIDE_N_CATEGORIES + 2);
    snapshot_path(path, "again.json.gz");
    assert_int_equal(tide_snapshot_save(read, path, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &again, NULL), TIDE_OK);
    assert_int_equal(tide_summary_create(again, &summary, NULL), TIDE_OK);
    assert_true(share_named(summary, "kv cache")->bytes > 0);
    assert_int_equal(share_named(summary, "activation")->bytes, 0);
    assert_int_equal(share_named(summary, "unknown")->bytes, 0);
    for (size_t i = 0; i < read->n_events; i++) {
        assert_string_equal(tide_snapshot_category(read, read->events.category[i]),
                            tide_snapshot_category(again, again->events.category[i]));
    }
    tide_summary_destroy(summary);
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(read);
    snapshot_remove(path);
}

/* The same word twice is one category; "" means unknown. */
static void words_are_met_once(void **state) {
    (void)state;
    tide_snapshot *read = load_own("\"\",\"kv cache\",\"kv cache\",\"\",\"kv cache\",\"x\"");
    assert_int_equal(read->n_own_categories, 2);
    for (size_t i = 0; i < read->n_events; i++) {
        assert_int_not_equal(read->events.category[i], TIDE_OPTIMIZER_STATE);
    }
    tide_snapshot_destroy(read);
}

static void words_have_limits(void **state) {
    (void)state;
    char names[4096];
    char expected[64];
    size_t n = 0;
    tide_snapshot *read = NULL;
    tide_error error = {""};
    for (int i = 0; i <= TIDE_OWN_CATEGORIES; i++) {
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s\"own %d\"", i > 0 ? "," : "", i);
    }
    assert_int_equal(load_with(names, &read, &error), TIDE_LIMIT);
    snprintf(expected, sizeof(expected), "categories[%d]", TIDE_OWN_CATEGORIES);
    assert_non_null(strstr(error.message, expected));
    snprintf(expected, sizeof(expected), "more than the limit of %d categories",
             TIDE_OWN_CATEGORIES);
    assert_non_null(strstr(error.message, expected));
    snprintf(names, sizeof(names), "\"%0*d\"", TIDE_CATEGORY_BYTES + 1, 7);
    assert_int_equal(load_with(names, &read, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "a category's name of 129 bytes: the limit is 128"));
    assert_null(read);
}

/* Two files number the same names differently: in the comparison each name is one category. */
static void comparisons_go_by_the_word(void **state) {
    (void)state;
    tide_snapshot *one = load_own(OWN);
    tide_snapshot *other = load_own(OWN_SWAPPED);
    tide_compare *compare = NULL;
    tide_compare_rows *rows = NULL;
    const tide_compare_input inputs[] = {{"a", one, NULL}, {"b", other, NULL}};
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    assert_int_equal(tide_compare_rows_create(compare, &rows), TIDE_OK);
    assert_int_equal(compare->n_categories, TIDE_N_CATEGORIES + 2);
    assert_string_equal(compare->categories[TIDE_N_CATEGORIES], "kv cache");
    /* The number that one file gives to the cache is communication in the other. */
    assert_true(compare->runs[0].category_bytes[TIDE_N_CATEGORIES] > 0);
    assert_true(compare->runs[0].category_bytes[TIDE_N_CATEGORIES] ==
                compare->runs[1].category_bytes[TIDE_N_CATEGORIES + 1]);
    for (size_t run = 0; run < 2; run++) {
        int64_t of_rows = 0;
        int64_t of_kinds = 0;
        for (size_t i = 0; i < rows->n_rows; i++) {
            of_rows += rows->rows[i].category == TIDE_N_CATEGORIES ? rows->rows[i].bytes[run] : 0;
        }
        for (size_t kind = 0; kind < TIDE_N_LAYER_KINDS; kind++) {
            of_kinds += rows->kinds[run].bytes[kind][TIDE_N_CATEGORIES];
        }
        assert_true(of_rows == compare->runs[run].category_bytes[TIDE_N_CATEGORIES]);
        assert_true(of_kinds == of_rows);
    }
    tide_compare_rows_destroy(rows);
    tide_compare_destroy(compare);
    tide_snapshot_destroy(one);
    tide_snapshot_destroy(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_file_stay),
        cmocka_unit_test(words_are_met_once),
        cmocka_unit_test(words_have_limits),
        cmocka_unit_test(comparisons_go_by_the_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
