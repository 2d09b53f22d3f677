/* test_cell.c - values as cells, structs as rows, and texts that a report keeps. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/table.h"

typedef struct run {
    const char *name;
    char path[16];
    int64_t n_bytes, n_steps;
    double ms, tokens_per_second, flops, share;
} run;

static const tide_field FIELDS[] = {
    {"name", "name", TIDE_FIELD_TEXT, offsetof(run, name)},
    {"path", "path", TIDE_FIELD_CHARS, offsetof(run, path)},
    {"n_bytes", "bytes", TIDE_FIELD_BYTES, offsetof(run, n_bytes)},
    {"n_steps", "steps", TIDE_FIELD_COUNT, offsetof(run, n_steps)},
    {"ms", "time", TIDE_FIELD_MS, offsetof(run, ms)},
    {"rate", "tokens/s", TIDE_FIELD_RATE, offsetof(run, tokens_per_second)},
    {"tflops", "TFLOP/s", TIDE_FIELD_TERA, offsetof(run, flops)},
    {"share_percent", "share", TIDE_FIELD_SHARE, offsetof(run, share)},
};

static void assert_prints(const tide_report *report, tide_format_kind kind, const char *expected) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    assert_non_null(out);
    assert_int_equal(tide_report_print(report, (tide_format){.kind = kind}, out, stderr, NULL),
                     TIDE_OK);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void a_struct_is_a_row(void **state) {
    const run known = {"a", "a.json", 1536, 3, 12.5, 1999.5, 2.5e12, 0.125};
    const run unknown = {NULL, "", -1, -1, -1.0, -1.0, -1.0, -1.0};
    tide_report report;
    (void)state;
    tide_report_init(&report, "test");
    tide_table *table = tide_report_table(&report, "runs", "Runs");
    tide_table_fields(table, TIDE_ITEMS(FIELDS));
    tide_table_row_begin(table);
    tide_table_cells_of(table, TIDE_ITEMS(FIELDS), &known);
    tide_table_row_begin(table);
    tide_table_cells_of(table, TIDE_ITEMS(FIELDS), &unknown);
    assert_prints(&report, TIDE_FORMAT_TEXT,
                  "\nRuns\n"
                  "  name  path       bytes  steps       time  tokens/s  TFLOP/s   share\n"
                  "  a     a.json  1.50 KiB      3  12.500 ms      2000    2.500  12.5 %\n"
                  "  -     -              -      -          -         -        -       -\n");
    tide_report_fini(&report);
}

static void values_are_cells(void **state) {
    tide_report report;
    (void)state;
    tide_report_init(&report, "test");
    tide_table *table = tide_report_table(&report, "values", "Values");
    TIDE_COLUMNS(table, TIDE_TEXT("what", "what"), TIDE_NUMBER("n", "n"),
                 TIDE_NUMBER("share_percent", "share"));
    TIDE_ROW(table, tide_as_text(""), tide_as_count(-2), tide_as_share(1.0, 8.0));
    TIDE_ROW(table, tide_as_words(""), tide_as_bytes(-2), tide_as_share(1.0, 0.0));
    TIDE_ROW(table, tide_as_words("b"), tide_as_change(-512));
    TIDE_CELLS(table, tide_as_none(), tide_as_text("beyond the last column"));
    assert_prints(&report, TIDE_FORMAT_CSV, "what,n,share_percent\n,-2,12.5\n,,0\nb,-512,\n");
    assert_prints(&report, TIDE_FORMAT_TEXT,
                  "\nValues\n"
                  "  what       n   share\n"
                  "            -2  12.5 %\n"
                  "  -          -   0.0 %\n"
                  "  b     -512 B       -\n");
    tide_report_fini(&report);
}

/* The cell is in the table before its storage has another text. */
static void a_cell_keeps_its_text(void **state) {
    tide_report report;
    char text[] = "first";
    (void)state;
    tide_report_init(&report, "test");
    tide_table *table = tide_report_table(&report, "texts", "Texts");
    tide_table_column(table, "text", "text", false);
    TIDE_ROW(table, tide_as_text(text));
    memcpy(text, "other", sizeof(text));
    TIDE_ROW(table, tide_as_text(text));
    assert_prints(&report, TIDE_FORMAT_CSV, "text\nfirst\nother\n");
    tide_report_fini(&report);
}

static void a_report_keeps_texts(void **state) {
    tide_report report;
    (void)state;
    tide_report_init(&report, "test");
    const char *first = tide_report_text(&report, "%d of %s", 3, "4");
    const char *second = tide_report_bytes(&report, 1536);
    assert_string_equal(first, "3 of 4");
    assert_string_equal(second, "1.50 KiB");
    tide_report_say(&report, "both", "%s, %s", first, second);
    assert_prints(&report, TIDE_FORMAT_TEXT, "3 of 4, 1.50 KiB\n");
    tide_report_fini(&report);
}

/* Without memory the table is missing, and adding to it is harmless. */
static void no_table_is_accepted(void **state) {
    const run known = {"a", "a.json", 1, 1, 1.0, 1.0, 1.0, 1.0};
    (void)state;
    TIDE_COLUMNS(NULL, TIDE_TEXT("a", "a"));
    tide_table_fields(NULL, TIDE_ITEMS(FIELDS));
    TIDE_ROW(NULL, tide_as_text("a"), tide_as_none());
    tide_table_cells_of(NULL, TIDE_ITEMS(FIELDS), &known);
    assert_int_equal(tide_as_field(&FIELDS[5], &known).kind, TIDE_CELL_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_is_a_row),     cmocka_unit_test(values_are_cells),
        cmocka_unit_test(a_cell_keeps_its_text), cmocka_unit_test(a_report_keeps_texts),
        cmocka_unit_test(no_table_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
